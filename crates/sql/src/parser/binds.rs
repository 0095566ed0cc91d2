//! The names of bind variables, by name and by position.

use super::names::Names;
use crate::lexer::{Token, TokenKind, lex};

/// The names of a statement's bind variables, in the order of their first occurrence: those that take values, without
/// targets of INTO and indicators.
pub fn bind_names(text: &str) -> Vec<String> {
    // Most texts have no binds.
    if !text.contains([':', '?']) {
        return Vec::new();
    }
    let mut names = Names::default();
    for (_, name) in giving_binds(text) {
        names.number(&name);
    }
    names.into_all()
}

/// A name for each bind position in the text, in order: at its first occurrence the bind's name, at later ones a unique
/// name that no bind can have.
pub fn bind_places(text: &str) -> Vec<String> {
    let places = Places::of(text, &lex(text).tokens);
    giving_binds(text).into_iter().map(|(start, name)| places.name(start, name)).collect()
}

/// Positions of repeated names of binds.
pub(super) struct Places(Vec<u32>);

impl Places {
    pub(super) fn of(text: &str, tokens: &[Token]) -> Places {
        let mut names = Names::default();
        let binds = tokens.iter().filter(|t| t.kind == TokenKind::Bind);
        let is_again = |t: &&Token| !names.add(&bind_name(&text[t.start as usize..t.end as usize]));
        Places(binds.filter(is_again).map(|t| t.start).collect())
    }

    /// The name of the bind that begins at `start`, with binds identified by position.
    pub(super) fn name(&self, start: u32, name: String) -> String {
        if self.0.binary_search(&start).is_ok() { named_place(&name, start) } else { name }
    }
}

/// The name of a repeated bind at a position; it contains a colon, so no bind has it.
pub(super) fn named_place(name: &str, start: u32) -> String {
    format!("{name}:{start}")
}

/// The bind's name for a name of [`bind_places`].
pub fn name_of_place(place: &str) -> &str {
    place.split_once(':').map_or(place, |(name, _)| name)
}

/// Whether a name of [`bind_places`] is that of a repeated bind.
pub fn is_place(name: &str) -> bool {
    name.contains(':')
}

/// The bind variables that take values, with their byte offsets.
fn giving_binds(text: &str) -> Vec<(u32, String)> {
    let mut binds = Vec::new();
    // `into`: between INTO and the end of its targets. `behind_bind`: another bind directly after one is its indicator.
    let (mut into, mut behind_bind) = (false, false);
    for token in lex(text).tokens {
        let source = &text[token.start as usize..token.end as usize];
        let is_word = |word: &str| token.kind == TokenKind::Word && source.eq_ignore_ascii_case(word);
        if token.kind == TokenKind::Bind {
            let name = bind_name(source);
            if !into && !behind_bind {
                binds.push((token.start, name));
            }
            behind_bind = !behind_bind;
        } else if !(behind_bind && is_word("INDICATOR")) {
            behind_bind = false;
            into = is_word("INTO") || into && token.kind == TokenKind::Comma;
        }
    }
    binds
}

/// The name of a bind as written (`:x`, `: "x"`), in upper case unless quoted.
pub(crate) fn bind_name(source: &str) -> String {
    let name = source[1..].trim_start();
    match name.strip_prefix('"') {
        Some(quoted) => quoted.trim_end_matches('"').to_owned(),
        None => name.to_uppercase(),
    }
}
