//! Renaming a column inside stored texts.

use sql::lexer::{TokenKind, lex};

/// `text` with every unqualified identifier `from` replaced by `to`, both in the form of the dictionary.
pub fn replace_name(text: &str, from: &str, to: &str) -> String {
    let quoted = format!("\"{to}\"");
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for token in lex(text).tokens {
        let source = &text[token.start as usize..token.end as usize];
        let same = match token.kind {
            TokenKind::Word => source.to_uppercase() == from,
            TokenKind::QuotedIdent => source.trim_matches('"') == from,
            _ => false,
        };
        if same {
            out.push_str(&text[copied..token.start as usize]);
            out.push_str(&quoted);
            copied = token.end as usize;
        }
    }
    out.push_str(&text[copied..]);
    out
}

#[cfg(test)]
mod tests {
    use super::replace_name;

    #[test]
    fn only_identifiers_are_replaced() {
        assert_eq!(replace_name("a > 0 and b <> 'a'", "A", "C"), "\"C\" > 0 and b <> 'a'");
        assert_eq!(replace_name("\"a\" = A", "A", "x"), "\"a\" = \"x\"");
    }
}
