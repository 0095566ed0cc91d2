//! SQL_ID, and PL/SQL's form of static SQL, from which its SQL_ID is computed.

use crate::lexer::{TokenKind, lex};
use md5::{Digest, Md5};
use std::collections::HashMap;

/// SQL_ID of a statement: the last eight bytes of the MD5 of its text and a NUL, as two little-endian words of four
/// bytes, in base 32.
pub fn sql_id(text: &str) -> String {
    let digest = Md5::new().chain_update(text.as_bytes()).chain_update([0]).finalize();
    let word = |i: usize| u64::from(u32::from_le_bytes([digest[i], digest[i + 1], digest[i + 2], digest[i + 3]]));
    types::sql_id_of(word(8) << 32 | word(12))
}

/// Static SQL in the form that PL/SQL executes, and the variables behind its binds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticSql {
    pub text: String,
    /// The source text of the variable for each occurrence of `:B1`, `:B2` ... in the text, including repetitions.
    pub binds: Vec<String>,
}

/// Converts the text of a static SQL statement to the form shown in `v$sql`.
///
/// Upper case outside quotes, single blanks, no comments except hints. The ranges in `removed` (INTO lists) are
/// omitted, and each range in `variables` (PL/SQL variables, ascending) is replaced by `:Bn `, with the *last* distinct
/// variable as `:B1`. All ranges are in bytes.
pub fn normalise_static(text: &str, variables: &[(u32, u32)], removed: &[(u32, u32)]) -> StaticSql {
    let lexed = lex(text);
    let source = |range: (u32, u32)| text[range.0 as usize..range.1 as usize].to_uppercase();
    let numbers = numbers_of(variables.iter().map(|range| source(*range)));
    let mut out = Collapser::default();
    let mut binds = Vec::new();
    let mut hints = lexed.hints.iter().peekable();
    let mut skip_to = 0;
    for (index, token) in lexed.tokens.iter().enumerate() {
        while let Some(hint) = hints.next_if(|hint| hint.before_token as usize <= index) {
            out.blank();
            out.word(&format!("/*+{}*/", &text[hint.start as usize..hint.end as usize]));
            out.blank();
        }
        if token.start < skip_to || token.kind == TokenKind::End {
            continue;
        }
        let gap = index > 0 && lexed.tokens[index - 1].end < token.start;
        if let Some(range) = removed.iter().find(|range| range.0 <= token.start && token.start < range.1) {
            skip_to = range.1;
            out.blank();
            continue;
        }
        if gap {
            out.blank();
        }
        if let Ok(at) = variables.binary_search_by_key(&token.start, |range| range.0) {
            let range = variables[at];
            out.word(&format!(":B{}", numbers[at]));
            out.blank();
            binds.push(text[range.0 as usize..range.1 as usize].to_owned());
            skip_to = range.1;
            continue;
        }
        let piece = &text[token.start as usize..token.end as usize];
        match token.kind {
            TokenKind::String | TokenKind::NationalString | TokenKind::QuotedIdent => out.word(piece),
            _ => out.word(&piece.to_uppercase()),
        }
    }
    out.finish(variables.last().is_some_and(|range| text[range.1 as usize..].trim().is_empty()));
    StaticSql { text: out.text, binds }
}

/// The bind number of each name: the last of the distinct names is number 1.
pub fn numbers_of(names: impl Iterator<Item = String>) -> Vec<usize> {
    let names: Vec<String> = names.collect();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for name in names.iter().rev() {
        let next = numbers.len() + 1;
        numbers.entry(name).or_insert(next);
    }
    names.iter().map(|name| numbers[name.as_str()]).collect()
}

/// Text with single blanks between its parts.
#[derive(Default)]
struct Collapser {
    text: String,
    pending: bool,
}

impl Collapser {
    fn blank(&mut self) {
        self.pending = !self.text.is_empty();
    }
    fn word(&mut self, piece: &str) {
        if std::mem::take(&mut self.pending) {
            self.text.push(' ');
        }
        self.text.push_str(piece);
    }
    /// A bind keeps the blank after it, even at the end of the text.
    fn finish(&mut self, ends_in_bind: bool) {
        if ends_in_bind {
            self.text.push(' ');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_sql_ids() {
        assert_eq!(sql_id("select * from dual"), "a5ks9fhw2v9s1");
        assert_eq!(
            sql_id("SELECT VALUE FROM NLS_DATABASE_PARAMETERS WHERE PARAMETER = 'NLS_CHARACTERSET'"),
            "7mgsfc44trnr8"
        );
        assert_eq!(sql_id("SELECT COUNT(C2) FROM CF1 WHERE CUSTID > :B1 - 256 AND CUSTID < :B1 "), "68vu5q46nu22s");
    }

    /// Ranges of every occurrence of each of `names`, ascending.
    fn places(text: &str, names: &[&str]) -> Vec<(u32, u32)> {
        let mut list: Vec<(u32, u32)> = names
            .iter()
            .flat_map(|name| text.match_indices(name).map(|(at, name)| (at as u32, (at + name.len()) as u32)))
            .collect();
        list.sort();
        list
    }

    #[test]
    fn static_sql_of_the_reader() {
        let text = "SELECT COUNT(c2) into x FROM cf1 where custid > v_r - 256 AND custid < v_r";
        let got = normalise_static(text, &places(text, &["v_r"]), &places(text, &["into x"]));
        assert_eq!(got.text, "SELECT COUNT(C2) FROM CF1 WHERE CUSTID > :B1 - 256 AND CUSTID < :B1 ");
        assert_eq!(got.binds, ["v_r", "v_r"]);
        assert_eq!(sql_id(&got.text), "68vu5q46nu22s");
    }

    #[test]
    fn static_sql_with_quotes_comments_and_two_variables() {
        let text = "select value\n into l_val from nls_database_parameters -- x\n where parameter = 'NLS_characterset'";
        let got = normalise_static(text, &[], &places(text, &["into l_val"]));
        assert_eq!(got.text, "SELECT VALUE FROM NLS_DATABASE_PARAMETERS WHERE PARAMETER = 'NLS_characterset'");
        let text = "update /*+ Full(t) */ t set a=v_one,b = v_two where c=v_one";
        let got = normalise_static(text, &places(text, &["v_one", "v_two"]), &[]);
        assert_eq!(got.text, "UPDATE /*+ Full(t) */ T SET A=:B1 ,B = :B2 WHERE C=:B1 ");
    }
}
