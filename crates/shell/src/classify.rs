//! Classification of an input line: a command of the shell, a SQL statement, or a PL/SQL unit.

use crate::text::split_word;

/// The kind of a first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begins {
    /// A shell command; complete with its line (or its continuation lines).
    Command,
    /// SQL: ends with `;` at the end of a line, `/` on a line, or an empty line.
    Sql,
    /// PL/SQL: ends with `/` or `.` on a line of its own.
    PlSql,
    /// A comment or nothing.
    Nothing,
    /// A word that begins none of them.
    Unknown,
}

/// Shell commands: the full name, and the length of the shortest abbreviation.
const COMMANDS: &[(&str, usize)] = &[
    ("accept", 3),
    ("append", 1),
    ("archive", 7),
    ("break", 3),
    ("btitle", 3),
    ("change", 1),
    ("clear", 2),
    ("column", 3),
    ("compute", 4),
    ("connect", 4),
    ("copy", 4),
    ("define", 3),
    ("del", 3),
    ("describe", 4),
    ("disconnect", 4),
    ("document", 3),
    ("edit", 2),
    ("execute", 4),
    ("exit", 4),
    ("get", 3),
    ("help", 4),
    ("history", 4),
    ("host", 2),
    ("input", 1),
    ("list", 1),
    ("oradebug", 8),
    ("password", 5),
    ("pause", 3),
    ("print", 3),
    ("prompt", 3),
    ("quit", 4),
    ("recover", 7),
    ("remark", 3),
    ("repfooter", 4),
    ("repheader", 4),
    ("run", 1),
    ("save", 3),
    ("set", 3),
    ("show", 3),
    ("shutdown", 8),
    ("spool", 3),
    ("start", 3),
    ("startup", 7),
    ("store", 5),
    ("timing", 4),
    ("ttitle", 3),
    ("undefine", 5),
    ("variable", 3),
    ("whenever", 8),
    ("xquery", 6),
];

const SQL: &[&str] = &[
    "alter",
    "analyze",
    "associate",
    "audit",
    "call",
    "comment",
    "commit",
    "create",
    "delete",
    "disassociate",
    "drop",
    "explain",
    "flashback",
    "grant",
    "insert",
    "lock",
    "merge",
    "noaudit",
    "purge",
    "rename",
    "revoke",
    "rollback",
    "savepoint",
    "select",
    "truncate",
    "update",
    "upsert",
    "with",
];

/// The full name of a shell command from its first word.
pub fn command_name(word: &str) -> Option<&'static str> {
    let lower = word.to_ascii_lowercase();
    match lower.as_str() {
        "@" | "@@" => return Some("start"),
        "!" | "$" => return Some("host"),
        "?" => return Some("help"),
        "desc" => return Some("describe"),
        "conn" => return Some("connect"),
        "exec" => return Some("execute"),
        "ed" => return Some("edit"),
        "rem" => return Some("remark"),
        "sho" => return Some("show"),
        "undef" => return Some("undefine"),
        "disc" => return Some("disconnect"),
        _ => {}
    }
    COMMANDS.iter().find(|(full, least)| full.starts_with(&lower) && lower.len() >= *least).map(|(full, _)| *full)
}

/// The full names of the commands.
#[cfg(test)]
pub fn all_commands() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|(full, _)| *full)
}

/// The kind of a line when no statement is being entered.
pub fn begins(line: &str) -> Begins {
    let mut trimmed = line.trim();
    // A loop instead of recursion: a line may have any number of comments.
    while let Some(comment) = trimmed.strip_prefix("/*") {
        match comment.find("*/") {
            Some(end) => trimmed = comment[end + 2..].trim_start(),
            None => return Begins::Sql,
        }
    }
    if trimmed.is_empty() || trimmed.starts_with("--") {
        return Begins::Nothing;
    }
    let change = ["c/", "change/", "chan/"].iter().any(|word| trimmed.to_ascii_lowercase().starts_with(word));
    if trimmed.starts_with('@') || trimmed.starts_with('!') || change {
        return Begins::Command;
    }
    if trimmed.starts_with(|c: char| c.is_ascii_digit()) {
        return Begins::Command;
    }
    let (whole, rest) = split_word(trimmed);
    // A comment may stand right behind the first word.
    let end = whole.find("/*").filter(|at| *at > 0).unwrap_or(whole.len());
    let (word, rest) = if end < whole.len() { (&whole[..end], &trimmed[end..]) } else { (whole, rest) };
    let word = word.trim_end_matches(';').trim_start_matches('(').to_ascii_lowercase();
    match word.as_str() {
        "begin" | "declare" => return Begins::PlSql,
        w if w.starts_with("<<") => return Begins::PlSql,
        "create" if creates_plsql(rest) => return Begins::PlSql,
        // The declarations of WITH FUNCTION contain semicolons.
        "with" if first_words(rest, 1).first().is_some_and(|word| word == "function" || word == "procedure") => {
            return Begins::PlSql;
        }
        w if names_lines(w) => return Begins::Command,
        "" => return if trimmed.starts_with('(') { Begins::Sql } else { Begins::Unknown },
        _ => {}
    }
    // SET is both: SET TRANSACTION, SET ROLE and SET CONSTRAINT(S) are sent to the server.
    if word == "set" {
        let next = split_word(rest).0.to_ascii_lowercase();
        let sql = ["transaction", "role", "constraint", "constraints"].contains(&next.trim_end_matches(';'));
        return if sql { Begins::Sql } else { Begins::Command };
    }
    if SQL.contains(&word.as_str()) {
        return Begins::Sql;
    }
    if command_name(&word).is_some() {
        return Begins::Command;
    }
    if trimmed.starts_with('(') { Begins::Sql } else { Begins::Unknown }
}

/// The first words of a text in lower case, at most `most`; comments stand between words like blanks.
fn first_words(text: &str, most: usize) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = text.trim_start();
    while out.len() < most && !rest.is_empty() {
        if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").map_or("", |(_, rest)| rest).trim_start();
        } else if let Some(comment) = rest.strip_prefix("--") {
            rest = comment.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
        } else {
            let blank = rest.find(|c: char| c.is_whitespace()).unwrap_or(rest.len());
            let word = &rest[..blank];
            let end = ["/*", "--"].iter().filter_map(|mark| word.find(mark)).min().unwrap_or(blank);
            out.push(word[..end].to_ascii_lowercase());
            rest = rest[end..].trim_start();
        }
    }
    out
}

/// Whether the text after `CREATE` is a unit whose text contains semicolons.
pub fn creates_plsql(rest: &str) -> bool {
    let mut words = first_words(rest, 5).into_iter();
    let mut word = words.next();
    if word.as_deref() == Some("or") {
        words.next();
        word = words.next();
    }
    if matches!(word.as_deref(), Some("editionable" | "noneditionable")) {
        word = words.next();
    }
    if word.as_deref() == Some("and") {
        return true;
    }
    matches!(word.as_deref(), Some("procedure" | "function" | "package" | "trigger" | "library" | "type"))
}

/// Whether a line is `LIST`, `DEL` or the like with a number or a star right behind it.
fn names_lines(word: &str) -> bool {
    let letters = word.trim_end_matches(|c: char| c.is_ascii_digit() || c == '*');
    letters.len() < word.len() && ["l", "list", "del"].contains(&letters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_lines() {
        for (line, what) in [
            ("", Begins::Nothing),
            ("--allow jobs to complete", Begins::Nothing),
            ("/* a */", Begins::Nothing),
            ("/* a */ select 1 from dual;", Begins::Sql),
            ("/*/ begin */ select 1 from dual;", Begins::Sql),
            ("/* a */ -- b", Begins::Nothing),
            ("select * from t", Begins::Sql),
            ("SELECT", Begins::Sql),
            ("(select 1 from dual)", Begins::Sql),
            ("with a as", Begins::Sql),
            ("declare", Begins::PlSql),
            ("begin null; end;", Begins::PlSql),
            ("create or replace procedure p(", Begins::PlSql),
            ("create table t (n number);", Begins::Sql),
            ("create trigger/**/t before insert on x", Begins::PlSql),
            ("create/* a */or replace -- b", Begins::Sql),
            ("create/* a */or/**/replace/**/package p", Begins::PlSql),
            ("with function f return number is", Begins::PlSql),
            ("with /* a */ procedure p is", Begins::PlSql),
            ("with functions as (select 1 from dual)", Begins::Sql),
            ("2 from dual", Begins::Command),
            ("l2", Begins::Command),
            ("list*", Begins::Command),
            ("document", Begins::Command),
            ("create or replace view v as", Begins::Sql),
            ("create or replace", Begins::Sql),
            ("set echo on", Begins::Command),
            ("set transaction read only;", Begins::Sql),
            ("commit;", Begins::Sql),
            ("col x format a10", Begins::Command),
            ("exit", Begins::Command),
            ("exit;", Begins::Command),
            ("@script 1 2", Begins::Command),
            ("!ls", Begins::Command),
            ("desc t", Begins::Command),
            ("nonsense here", Begins::Unknown),
        ] {
            assert_eq!(begins(line), what, "{line}");
        }
    }

    #[test]
    fn a_line_of_a_million_comments_is_read_to_its_end() {
        let comments = "/**/".repeat(1_000_000);
        assert_eq!(begins(&comments), Begins::Nothing);
        assert_eq!(begins(&format!("{comments} begin null; end;")), Begins::PlSql);
    }

    #[test]
    fn commands_are_known_by_their_abbreviations() {
        for (word, full) in
            [("col", "column"), ("DEF", "define"), ("l", "list"), ("r", "run"), ("sta", "start"), ("EXEC", "execute")]
        {
            assert_eq!(command_name(word), Some(full));
        }
        assert_eq!(command_name("zzz"), None);
    }
}
