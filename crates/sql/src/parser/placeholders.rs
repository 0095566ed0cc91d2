//! What a statement's text alone says to who serves a driver: what kind it is, and where its bind variables stand.

use super::expr::bind_name;
use crate::lexer::{TokenKind, lex};

/// A bind variable at one place of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placeholder {
    /// As [`super::bind_names`] has it.
    pub name: String,
    /// As [`super::bind_places`] has it: a name that no other place has.
    pub place: String,
    /// A target of RETURNING … INTO, which takes a value instead of giving one.
    pub is_target: bool,
}

/// A statement's text at first sight.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// A block of PL/SQL, or CALL.
    pub is_block: bool,
    pub is_query: bool,
    /// Of a block each name once, of other statements every place; indicators are left out.
    pub placeholders: Vec<Placeholder>,
}

/// Looks at a statement's text without parsing it.
pub fn outline(text: &str) -> Outline {
    let tokens = lex(text).tokens;
    let source = |t: &crate::lexer::Token| &text[t.start as usize..t.end as usize];
    let first = tokens.iter().find(|t| t.kind != TokenKind::LeftParen);
    let begins = |words: &[&str]| {
        first.is_some_and(|t| t.kind == TokenKind::Word && words.iter().any(|w| source(t).eq_ignore_ascii_case(w)))
    };
    let is_labelled = text.trim_start().starts_with("<<");
    let mut outline = Outline {
        is_block: is_labelled || begins(&["BEGIN", "DECLARE", "CALL"]),
        is_query: begins(&["SELECT", "WITH"]),
        placeholders: Vec::new(),
    };
    let (mut into, mut behind_bind) = (false, false);
    let (mut seen, mut given) = (super::Names::default(), super::Names::default());
    for token in &tokens {
        let is_word = |word: &str| token.kind == TokenKind::Word && source(token).eq_ignore_ascii_case(word);
        if token.kind == TokenKind::Bind {
            let name = bind_name(source(token));
            let stands_before = !seen.add(&name);
            let is_target = into && !outline.is_block;
            if !behind_bind && (!outline.is_block || given.add(&name)) {
                let place = if stands_before { super::named_place(&name, token.start) } else { name.clone() };
                outline.placeholders.push(Placeholder { name, place, is_target });
            }
            behind_bind = !behind_bind;
        } else if !(behind_bind && is_word("INDICATOR")) {
            behind_bind = false;
            into = is_word("INTO") || into && token.kind == TokenKind::Comma;
        }
    }
    outline
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str) -> (bool, bool, Vec<(String, bool)>) {
        let o = outline(text);
        (o.is_block, o.is_query, o.placeholders.into_iter().map(|p| (p.name, p.is_target)).collect())
    }

    #[test]
    fn binds_are_found_where_they_stand() {
        let names = |all: &[(&str, bool)]| all.iter().map(|(n, t)| (n.to_string(), *t)).collect::<Vec<_>>();
        assert_eq!(seen("select :a, ':b', :1 from t -- :c"), (false, true, names(&[("A", false), ("1", false)])));
        assert_eq!(seen("(select :a from t where x = :a)"), (false, true, names(&[("A", false), ("A", false)])));
        let insert = "insert into t values (:a, :b) returning x, y into :c, :a";
        assert_eq!(seen(insert).2, names(&[("A", false), ("B", false), ("C", true), ("A", true)]));
        let block = "/* c */ begin select 1 into :x from dual; :Y := :x; end;";
        assert_eq!(seen(block), (true, false, names(&[("X", false), ("Y", false)])));
        assert!(seen("call f(:x) into :y").0);
        assert!(seen("<<l>> begin null; end;").0);
        assert!(seen("with q as (select 1 from dual) select * from q").1);
        assert_eq!(seen(""), (false, false, Vec::new()));
    }
}
