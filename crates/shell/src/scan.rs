//! The end of a statement, the statements of a script, and the bind variables that a statement names.

use crate::classify::{Begins, begins};

/// The statements of a script of SQL and PL/SQL only, as the shell would send them.
pub fn split_script(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut lines: Vec<String> = Vec::new();
    let mut plsql = false;
    let mut flush = |lines: &mut Vec<String>| {
        let statement = lines.join("\n").trim().to_string();
        lines.clear();
        if !statement.is_empty() {
            out.push(statement);
        }
    };
    for line in text.lines() {
        let trimmed = line.trim();
        if lines.is_empty() {
            match begins(line) {
                Begins::Nothing => continue,
                kind => plsql = kind == Begins::PlSql,
            }
        }
        if trimmed == "/" || (trimmed.is_empty() && !plsql) {
            flush(&mut lines);
        } else if !plsql && ends_statement(&lines, line, ';') {
            let line = line.trim_end();
            lines.push(line[..line.len() - 1].to_string());
            flush(&mut lines);
        } else {
            lines.push(line.to_string());
            plsql |= begins(&lines.join(" ")) == Begins::PlSql;
        }
    }
    flush(&mut lines);
    out
}

/// Whether a line ends the statement: `mark` is last, outside comments.
pub(crate) fn ends_statement(before: &[String], line: &str, mark: char) -> bool {
    if !line.trim_end().ends_with(mark) {
        return false;
    }
    let mut text = before.join("\n");
    text.push('\n');
    text.push_str(line.trim_end());
    // Only the state at the last character matters, so the whole text is scanned.
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'-' if bytes.get(at + 1) == Some(&b'-') => {
                while at < bytes.len() && bytes[at] != b'\n' {
                    at += 1;
                }
                if at >= bytes.len() {
                    return false;
                }
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => match text[at + 2..].find("*/") {
                Some(end) => at += end + 4,
                None => return false,
            },
            b'q' | b'Q' if bytes.get(at + 1) == Some(&b'\'') && bytes.len() > at + 2 => {
                let open = text[at + 2..].chars().next().unwrap_or('\'');
                let close = match open {
                    '[' => ']',
                    '(' => ')',
                    '{' => '}',
                    '<' => '>',
                    other => other,
                };
                match text[at + 2 + open.len_utf8()..].find(&format!("{close}'")) {
                    Some(end) => at += 2 + open.len_utf8() + end + close.len_utf8() + 1,
                    None => return true,
                }
            }
            // A semicolon at the end of a line ends the statement even inside an open quote, which gives ORA-01756.
            quote @ (b'\'' | b'"') => match text[at + 1..].find(quote as char) {
                Some(end) => at += end + 2,
                None => return true,
            },
            _ => at += 1,
        }
    }
    true
}

/// The bind variables in a statement, outside quotes and comments.
pub fn bind_names(text: &str) -> Vec<String> {
    let bytes = text.as_bytes();
    let mut out: Vec<String> = Vec::new();
    let mut at = 0;
    let lower = text.to_ascii_lowercase();
    // :new and :old in a trigger's text are not binds.
    if begins(text) == Begins::PlSql && lower.trim_start().starts_with("create") {
        return out;
    }
    // A statement that is only explained needs no values.
    if lower.split_whitespace().next() == Some("explain") {
        return out;
    }
    while at < bytes.len() {
        match bytes[at] {
            b'-' if bytes.get(at + 1) == Some(&b'-') => {
                at = text[at..].find('\n').map_or(bytes.len(), |end| at + end);
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at = text[at + 2..].find("*/").map_or(bytes.len(), |end| at + end + 4);
            }
            quote @ (b'\'' | b'"') => {
                at = text[at + 1..].find(quote as char).map_or(bytes.len(), |end| at + end + 2);
                // `'key' : value` of JSON_OBJECT: no bind can follow a text.
                let colon = at + text[at..].len() - text[at..].trim_start().len();
                if quote == b'\'' && bytes.get(colon) == Some(&b':') {
                    at = colon + 1;
                }
            }
            b':' if bytes.get(at + 1).is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_') => {
                let rest = &text[at + 1..];
                let end = rest.find(|c: char| !(c.is_alphanumeric() || "_$#".contains(c))).unwrap_or(rest.len());
                let name = rest[..end].to_string();
                if !out.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
                    out.push(name);
                }
                at += 1 + end;
            }
            _ => at += 1,
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_semicolon_ends_a_statement_unless_it_is_quoted_or_commented() {
        assert!(ends_statement(&[], "select 1 from dual;", ';'));
        assert!(ends_statement(&[], "select ';' from dual;  ", ';'));
        assert!(ends_statement(&[], "select 'a;", ';'));
        assert!(ends_statement(&[], "select q'[it's]' from dual;", ';'));
        assert!(!ends_statement(&[], "select q'[it's]' -- from dual;", ';'));
        assert!(!ends_statement(&[], "select 1 -- no;", ';'));
        assert!(!ends_statement(&["select /* a".into()], "b;", ';'));
        assert!(ends_statement(&["select /* a".into()], "b */ 1 from dual;", ';'));
        assert!(!ends_statement(&[], "select 1 from dual", ';'));
    }

    #[test]
    fn a_script_is_split_into_its_statements() {
        let script = "-- a comment\ncreate table t (n number);\n\ninsert into t\n values (';');\n\
                      create or replace\nprocedure p is\nbegin\n\n  null;\nend;\n/\nselect 1 from dual";
        assert_eq!(
            split_script(script),
            [
                "create table t (n number)",
                "insert into t\n values (';')",
                "create or replace\nprocedure p is\nbegin\n\n  null;\nend;",
                "select 1 from dual"
            ]
        );
    }

    #[test]
    fn bind_variables_are_found_outside_quotes() {
        assert_eq!(bind_names("begin :x := ':y'; :X := :z; end; -- :w"), ["x", "z"]);
        assert_eq!(bind_names("select to_char(d, 'hh24:mi:ss') from t"), Vec::<String>::new());
        assert_eq!(bind_names("select json_object('a':b, 'it''s' : c, 'd' value :e) from t"), ["e"]);
        assert!(bind_names("explain plan for select :x from dual").is_empty());
        assert!(bind_names("create trigger t before insert on x begin :new.a := 1; end;").is_empty());
    }
}
