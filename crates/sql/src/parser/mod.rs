//! Recursive descent over the token vector.
//!
//! The grammar is split by subject into modules. This module has their common parts: the cursor over the tokens,
//! helpers that report an Oracle error at the current token (Q2), and limits that keep hostile text from exhausting the
//! stack (Q1).

mod admin;
mod alter;
mod audit;
mod binds;
mod create;
mod ddl;
mod dml;
mod expr;
mod hints;
mod index;
mod json;
mod lob_storage;
mod materialized;
mod names;
mod partition;
mod placeholders;
mod predicate;
mod query;
mod statement;
mod table_ref;
mod tablespace;
mod types;
mod xml;

pub use binds::{bind_names, bind_places, is_place, name_of_place};
pub use names::Names;
pub use placeholders::{Outline, Placeholder, outline};
pub use statement::{
    parse_condition, parse_data_type, parse_expression, parse_query, parse_statement, parse_statement_by_place,
};

use crate::ast::{Hints, Ident, Name, Pos, Query, QueryBody};
use crate::keywords::is_reserved;
use crate::lexer::{HintSpan, IDENT_LENGTH_MAX, Lexed, Token, TokenKind, lex, string_contents};
use ::types::{Ora, Result};
use binds::Places;

/// Deepest nesting of parentheses, subqueries, calls and CASE, which count two or three levels each. A small stack ends
/// it earlier.
pub const NESTING_MAX: u32 = 20_000;
/// Most infix operators in one chain.
pub const CHAIN_MAX: u32 = 100_000;
/// Stack bytes for each link of a left-associative chain. The parser does not recurse, but the tree is as deep as the
/// chain is long, and copying, comparing, printing and dropping a tree do.
const LINK_BYTES: usize = if cfg!(debug_assertions) { 4096 } else { 1024 };
/// Stack links for a set operation, which is a row source over its first operand.
const SET_LINKS: u32 = 8;
/// Most expressions in an IN list.
pub const IN_LIST_MAX: usize = 1000;

/// Most binds of a statement.
pub const BINDS_MAX: usize = 65_535;

/// The queries inside expressions and inside FROM. Queries have expressions in them, too: this is the only way from an
/// expression back to the grammar of queries (`query`), which implements it.
pub(crate) trait Queries {
    /// A whole query, without its parentheses.
    fn inner_query(&mut self) -> Result<Query>;
    /// The rest of a query whose first operand, in parentheses, has been parsed.
    fn rest_of_query(&mut self, first: QueryBody, pos: Pos) -> Result<Query>;
}

/// A parser, positioned at a token of a text.
pub struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    hints: Vec<HintSpan>,
    at: usize,
    depth: u32,
    /// Depth of the tree being parsed, in links of chains: the longest path through operands of operands.
    deep: u32,
    /// A cached sequence of opening parentheses: its first token and the token after it.
    parens_seen: std::cell::Cell<(usize, usize)>,
    /// If set, binds are identified by position instead of name.
    places: Option<Places>,
    /// Position of the first bind beyond the limit.
    too_many: Option<u32>,
}

/// Whether a tree as deep as a chain of `links` exceeds the stack. Used by SQL and PL/SQL.
pub(crate) fn chain_is_too_long(links: u32) -> bool {
    const BETWEEN: u32 = 64;
    links > CHAIN_MAX || (links.is_multiple_of(BETWEEN) && is_too_deep(links))
}

/// As [`chain_is_too_long`], for a tree that may have become deeper by several links since the last check.
fn is_too_deep(links: u32) -> bool {
    links > CHAIN_MAX || !os::stack::has_room(links as usize * LINK_BYTES)
}

/// Joins the operands of one associative operator into a tree of logarithmic depth. `join` receives the position of the
/// operator between its operands; there is one more operand than positions.
pub(crate) fn balanced<E, P: Copy + Default>(operands: Vec<E>, places: &[P], join: &mut impl FnMut(E, E, P) -> E) -> E {
    let mut level: Vec<(E, P)> = operands.into_iter().zip(places.iter().copied().chain([P::default()])).collect();
    // Neighbours are joined until one is left; each keeps the position of the operator after it.
    while level.len() > 1 {
        let mut above = Vec::with_capacity(level.len().div_ceil(2));
        let mut rest = level.into_iter();
        while let Some((left, place)) = rest.next() {
            above.push(match rest.next() {
                Some((right, behind)) => (join(left, right, place), behind),
                None => (left, place),
            });
        }
        level = above;
    }
    level.pop().expect("a chain has an operand").0
}

impl<'a> Parser<'a> {
    /// A parser at the first token of `text`.
    pub fn new(text: &'a str) -> Parser<'a> {
        let Lexed { tokens, hints } = lex(text);
        let is_bind = |t: &&Token| t.kind == TokenKind::Bind;
        let is_long = tokens.len() > BINDS_MAX;
        let too_many = if is_long { tokens.iter().filter(is_bind).nth(BINDS_MAX) } else { None }.map(|t| t.start);
        let parens_seen = Default::default();
        Parser { text, tokens, hints, at: 0, depth: 0, deep: 0, parens_seen, places: None, too_many }
    }

    // Looking ahead.

    pub(crate) fn token(&self) -> Token {
        self.tokens[self.at]
    }

    /// The token `ahead` positions further; after the last token the end token.
    pub(crate) fn peek(&self, ahead: usize) -> Token {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    pub(crate) fn kind(&self) -> TokenKind {
        self.token().kind
    }

    pub(crate) fn pos(&self) -> Pos {
        self.token().pos()
    }

    pub(crate) fn at(&self, kind: TokenKind) -> bool {
        self.kind() == kind
    }

    pub(crate) fn source(&self, token: Token) -> &'a str {
        &self.text[token.start as usize..token.end as usize]
    }

    /// The text from `start` to the end of the last token taken.
    pub(crate) fn text_since(&self, start: Pos) -> &'a str {
        let end = self.at.checked_sub(1).map_or(start.0, |last| self.tokens[last].end);
        &self.text[start.offset()..end.max(start.0) as usize]
    }

    /// The text from the current token to the end.
    pub(crate) fn text_from_here(&self) -> &'a str {
        &self.text[self.pos().offset()..]
    }

    pub(crate) fn word_ahead(&self, ahead: usize, word: &str) -> bool {
        let token = self.peek(ahead);
        token.kind == TokenKind::Word && self.source(token).eq_ignore_ascii_case(word)
    }

    pub(crate) fn end_ahead(&self, ahead: usize) -> bool {
        self.kind_ahead(ahead, TokenKind::End)
    }

    pub(crate) fn kind_ahead(&self, ahead: usize, kind: TokenKind) -> bool {
        self.peek(ahead).kind == kind
    }

    pub(crate) fn at_word(&self, word: &str) -> bool {
        self.word_ahead(0, word)
    }

    pub(crate) fn at_words(&self, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(ahead, word)| self.word_ahead(ahead, word))
    }

    pub(crate) fn at_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.at_word(word))
    }

    /// The current word in upper case, if the token is an unquoted word.
    pub(crate) fn word(&self) -> Option<String> {
        self.at(TokenKind::Word).then(|| self.source(self.token()).to_uppercase())
    }

    /// Whether the query continues after a parenthesised query.
    pub(crate) fn at_query_tail(&self) -> bool {
        self.at_any(&["UNION", "MINUS", "INTERSECT", "EXCEPT", "ORDER", "FETCH", "OFFSET"])
    }

    // Consuming tokens.

    pub(crate) fn bump(&mut self) -> Token {
        let token = self.token();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    pub(crate) fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }

    pub(crate) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.bump();
        }
        found
    }

    pub(crate) fn eat_words(&mut self, words: &[&str]) -> bool {
        let found = self.at_words(words);
        if found {
            self.at += words.len();
        }
        found
    }

    /// Takes the current word if it is one of `words`, and returns its index.
    pub(crate) fn eat_any(&mut self, words: &[&str]) -> Option<usize> {
        let found = words.iter().position(|word| self.at_word(word));
        if found.is_some() {
            self.bump();
        }
        found
    }

    pub(crate) fn expect(&mut self, kind: TokenKind, code: u32) -> Result<Token> {
        if self.at(kind) { Ok(self.bump()) } else { self.fail(code) }
    }

    pub(crate) fn expect_word(&mut self, word: &str, code: u32) -> Result<()> {
        if self.eat_word(word) { Ok(()) } else { self.fail(code) }
    }

    pub(crate) fn left_paren(&mut self) -> Result<()> {
        self.expect(TokenKind::LeftParen, 906).map(drop)
    }

    pub(crate) fn right_paren(&mut self) -> Result<()> {
        self.expect(TokenKind::RightParen, 907).map(drop)
    }

    /// `item {, item}`.
    pub(crate) fn comma_list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut list = vec![item(self)?];
        while self.eat(TokenKind::Comma) {
            list.push(item(self)?);
        }
        Ok(list)
    }

    // Errors.

    /// The error with this number at the current token; if the token itself is an error, that one.
    pub(crate) fn error(&self, code: u32) -> Ora {
        let code = match self.kind() {
            TokenKind::Error(lexical) => u32::from(lexical),
            // The semicolon is a token for PL/SQL, but an invalid character in SQL.
            TokenKind::Semicolon => 911,
            _ => code,
        };
        self.error_at(code, self.pos())
    }

    pub(crate) fn error_at(&self, code: u32, pos: Pos) -> Ora {
        Ora::new(code).at(pos.0)
    }

    pub(crate) fn fail<T>(&self, code: u32) -> Result<T> {
        Err(self.error(code))
    }

    /// ORA-02000, which names the missing keyword.
    pub(crate) fn expect_named(&mut self, word: &str) -> Result<()> {
        if self.eat_word(word) {
            return Ok(());
        }
        match self.kind() {
            TokenKind::Error(code) => self.fail(code.into()),
            _ => Err(Ora::with(2000, &[&word]).at(self.pos().0)),
        }
    }

    /// Runs `f` one level deeper.
    pub(crate) fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= NESTING_MAX || os::stack::is_short() {
            return Err(self.too_deep());
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }

    /// Runs `f`, which parses an operand next to earlier ones: the tree gets the depth of the deeper one.
    pub(crate) fn beside<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let before = std::mem::take(&mut self.deep);
        let result = f(self);
        self.deep = self.deep.max(before);
        result
    }

    /// Counts a set operation of a chain.
    pub(crate) fn set_link(&mut self) -> Result<()> {
        self.deep = self.deep.saturating_add(SET_LINKS);
        if is_too_deep(self.deep) { Err(self.too_deep()) } else { Ok(()) }
    }

    /// Counts a link that makes the tree one level deeper.
    pub(crate) fn link(&mut self) -> Result<()> {
        self.deep = self.deep.saturating_add(1);
        if chain_is_too_long(self.deep) { Err(self.too_deep()) } else { Ok(()) }
    }

    /// Oracle reports lack of process memory for an expression that is too deep.
    pub(crate) fn too_deep(&self) -> Ora {
        Ora::with(4030, &[&"64", &"parse heap", &"expression nesting"]).at(self.pos().0)
    }

    // Names.

    /// Whether the current token can be an identifier.
    pub(crate) fn at_ident(&self) -> bool {
        self.ident_ahead(0)
    }

    pub(crate) fn ident_ahead(&self, ahead: usize) -> bool {
        let token = self.peek(ahead);
        match token.kind {
            TokenKind::QuotedIdent => true,
            TokenKind::Word => !is_reserved(&self.source(token).to_ascii_uppercase()),
            _ => false,
        }
    }

    /// An identifier; `code` is the error if there is none.
    pub(crate) fn ident(&mut self, code: u32) -> Result<Ident> {
        if self.at_ident() { self.any_word(code) } else { self.fail(code) }
    }

    /// An identifier that may be a reserved word: after a dot, and where the grammar is unambiguous.
    pub(crate) fn any_word(&mut self, code: u32) -> Result<Ident> {
        let token = self.token();
        let name = match token.kind {
            TokenKind::Word => self.source(token).to_uppercase(),
            TokenKind::QuotedIdent => self.source(token).trim_matches('"').to_owned(),
            _ => return self.fail(code),
        };
        if name.len() > IDENT_LENGTH_MAX {
            return self.fail(972);
        }
        self.bump();
        Ok(Ident { name, pos: token.pos() })
    }

    /// A dotted name with an optional database link.
    pub(crate) fn name(&mut self, code: u32) -> Result<Name> {
        let first = self.ident(code)?;
        self.name_after(first, code)
    }

    pub(crate) fn name_after(&mut self, first: Ident, code: u32) -> Result<Name> {
        let is_word = |kind| matches!(kind, TokenKind::Word | TokenKind::QuotedIdent);
        let mut name = Name::simple(first);
        while self.at(TokenKind::Dot) && is_word(self.peek(1).kind) {
            self.bump();
            let token = self.token();
            name.parts.push(self.any_word(code)?);
            if name.parts.len() > 2 {
                name.written.0.push(self.source(token).trim_matches('"').to_owned());
            }
        }
        if (2..name.parts.len()).all(|at| name.written(at) == name.parts[at].name) {
            name.written.0.clear();
        }
        if self.at(TokenKind::At) && is_word(self.peek(1).kind) {
            self.bump();
            name.link = Some(Box::new(self.nested(|p| p.name(1729))?));
        }
        Ok(name)
    }

    /// `(a, b, c)`.
    pub(crate) fn ident_list(&mut self, code: u32) -> Result<Vec<Ident>> {
        self.left_paren()?;
        let list = self.comma_list(|p| p.ident(code))?;
        self.right_paren()?;
        Ok(list)
    }

    // Literals.

    /// The contents of a string literal; `code` is the error if there is none.
    pub(crate) fn string(&mut self, code: u32) -> Result<String> {
        match self.kind() {
            TokenKind::String | TokenKind::NationalString => {
                let token = self.bump();
                Ok(string_contents(self.source(token)))
            }
            _ => self.fail(code),
        }
    }

    /// A password keeps its case, quoted or not.
    pub(super) fn password(&mut self) -> Result<String> {
        let token = self.token();
        match token.kind {
            TokenKind::Word | TokenKind::QuotedIdent => {
                self.bump();
                Ok(self.source(token).trim_matches('"').to_owned())
            }
            _ => self.fail(988),
        }
    }

    /// A whole number of at most 32 bits.
    pub(crate) fn integer(&mut self, code: u32) -> Result<u32> {
        let here = self.pos();
        let value = self.integer64(code)?;
        u32::try_from(value).map_err(|_| self.error_at(code, here))
    }

    pub(crate) fn integer64(&mut self, code: u32) -> Result<u64> {
        let token = self.token();
        match self.source(token).parse::<u64>() {
            Ok(value) if token.kind == TokenKind::Number => {
                self.bump();
                Ok(value)
            }
            _ => self.fail(code),
        }
    }

    /// A number with an optional sign, as written.
    pub(crate) fn signed_number(&mut self, code: u32) -> Result<String> {
        let mut text = String::new();
        if self.eat(TokenKind::Minus) {
            text.push('-');
        } else {
            self.eat(TokenKind::Plus);
        }
        let token = self.expect(TokenKind::Number, code)?;
        text.push_str(self.source(token));
        Ok(text)
    }

    // Text that is kept as written.

    /// Takes balanced tokens up to a comma or closing parenthesis at this level, or the end.
    pub(crate) fn raw_item(&mut self) -> Result<String> {
        let start = self.pos();
        let mut open = 0u32;
        loop {
            match self.kind() {
                TokenKind::End => break,
                TokenKind::Error(code) => return self.fail(code.into()),
                TokenKind::Comma | TokenKind::RightParen if open == 0 => break,
                TokenKind::LeftParen => open += 1,
                TokenKind::RightParen => open -= 1,
                _ => {}
            }
            self.bump();
        }
        Ok(self.text_since(start).to_owned())
    }

    /// A parenthesised group, parentheses included.
    pub(crate) fn raw_parens(&mut self) -> Result<String> {
        let start = self.pos();
        self.left_paren()?;
        self.comma_list(|p| p.raw_item())?;
        self.right_paren()?;
        Ok(self.text_since(start).to_owned())
    }

    /// The rest in upper case with single blanks, for clauses recognised by their words.
    pub(crate) fn raw_rest_words(&mut self) -> Result<String> {
        let mut words: Vec<String> = Vec::new();
        while !self.at(TokenKind::End) {
            if let TokenKind::Error(code) = self.kind() {
                return self.fail(code.into());
            }
            let token = self.bump();
            words.push(match token.kind {
                TokenKind::Word => self.source(token).to_uppercase(),
                _ => self.source(token).to_owned(),
            });
        }
        Ok(words.join(" "))
    }

    /// The hints in the comments before the current token, which follows SELECT or another verb.
    pub(crate) fn hints_here(&self) -> Hints {
        let mut found = Hints::default();
        for span in self.hints.iter().filter(|span| span.before_token as usize == self.at) {
            let text = &self.text[span.start as usize..span.end as usize];
            if !found.text.is_empty() {
                found.text.push(' ');
            }
            found.text.push_str(text.trim());
            found.list.extend(hints::parse(text, span.start));
        }
        found
    }

    /// Fails unless all tokens have been taken.
    pub(crate) fn expect_end(&self, code: u32) -> Result<()> {
        if self.at(TokenKind::End) { Ok(()) } else { self.fail(code) }
    }
}
