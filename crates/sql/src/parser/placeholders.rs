//! The kind of a statement and the positions of its bind variables, for drivers that have the text alone.

use super::binds::{bind_name, named_place};
use crate::lexer::{TokenKind, lex};

/// A bind variable at one position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placeholder {
    /// Its name, as in [`super::bind_names`].
    pub name: String,
    /// Its unique name, as in [`super::bind_places`].
    pub place: String,
    /// Whether it is a target of RETURNING … INTO, which receives a value.
    pub is_target: bool,
}

/// The kind of a statement, and its binds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// Whether it is a PL/SQL block or CALL.
    pub is_block: bool,
    pub is_query: bool,
    /// In a block each name once, in other statements every position; without indicators.
    pub placeholders: Vec<Placeholder>,
}

/// Examines a statement's text without parsing it.
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
    if defines_trigger(&tokens, text) {
        return outline;
    }
    let (mut into, mut behind_bind) = (false, false);
    let (mut seen, mut given) = (super::Names::default(), super::Names::default());
    for token in &tokens {
        let is_word = |word: &str| token.kind == TokenKind::Word && source(token).eq_ignore_ascii_case(word);
        if token.kind == TokenKind::Bind {
            let name = bind_name(source(token));
            let stands_before = !seen.add(&name);
            let is_target = into && !outline.is_block;
            if !behind_bind && (!outline.is_block || given.add(&name)) {
                let place = if stands_before { named_place(&name, token.start) } else { name.clone() };
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

/// Whether a statement is CREATE TRIGGER, whose `:new` and `:old` are no bind variables.
fn defines_trigger(tokens: &[crate::lexer::Token], text: &str) -> bool {
    let is = |t: &crate::lexer::Token, words: &[&str]| {
        let source = &text[t.start as usize..t.end as usize];
        t.kind == TokenKind::Word && words.iter().any(|word| source.eq_ignore_ascii_case(word))
    };
    let [first, rest @ ..] = tokens else { return false };
    let kind = rest.iter().find(|t| !is(t, &["OR", "REPLACE", "EDITIONABLE", "NONEDITIONABLE"]));
    is(first, &["CREATE"]) && kind.is_some_and(|t| is(t, &["TRIGGER"]))
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
        let trigger =
            "create or replace editionable trigger t before insert on x for each row begin :new.a := :old.b; end;";
        assert_eq!(seen(trigger).2, names(&[]));
        assert_eq!(seen("create table trigger as select :a x from dual").2, names(&[("A", false)]));
        assert_eq!(seen(""), (false, false, Vec::new()));
    }
}
