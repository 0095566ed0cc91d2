//! The parser of PL/SQL: recursive descent over the tokens of the SQL lexer.
//!
//! Keywords are recognised by position: nearly all of PL/SQL's keywords may also be names, so each rule looks for its
//! own words and only a short list is reserved. An error is PLS-00103 at the first unacceptable token, with the tokens
//! that were expected.

mod conditional;
mod decl;
mod expr;
mod object;
mod reserved;
mod sqltext;
mod stmt;
#[cfg(test)]
mod tests;
mod trigger;
mod type_names;
mod unit;

use super::ast::*;
use crate::lexer::{Lexed, Token, TokenKind, lex, string_contents};
use types::Ora;

pub use conditional::{Directives, StaticValue, conditional_flags, select, static_constant};
pub use object::type_is_forced;
pub use reserved::is_reserved;
pub use trigger::parse_trigger_header;
pub use unit::{parse_block, parse_create_header, parse_expression, parse_name_at, parse_unit};

type PResult<T> = Result<T, Ora>;

/// Deepest nesting of expressions, statements and blocks. A small stack ends it earlier.
const DEPTH_MAX: u32 = 10_000;

const STATEMENT_START: &[&str] = &[
    "(",
    "begin",
    "case",
    "declare",
    "exit",
    "for",
    "goto",
    "if",
    "loop",
    "mod",
    "null",
    "pragma",
    "raise",
    "return",
    "select",
    "update",
    "while",
    "with",
    "<an identifier>",
    "<a double-quoted delimited-identifier>",
    "<a bind variable>",
    "<<",
    "continue",
    "close",
    "current",
    "delete",
    "fetch",
    "lock",
    "insert",
    "open",
    "rollback",
    "savepoint",
    "set",
    "sql",
    "execute",
    "commit",
    "forall",
    "merge",
    "pipe",
    "purge",
];

const EXPRESSION_START: &[&str] = &[
    "(",
    "-",
    "+",
    "case",
    "mod",
    "new",
    "not",
    "null",
    "<an identifier>",
    "<a double-quoted delimited-identifier>",
    "<a bind variable>",
    "continue",
    "avg",
    "count",
    "current",
    "exists",
    "max",
    "min",
    "prior",
    "sql",
    "stddev",
    "sum",
    "variance",
    "execute",
    "forall",
    "merge",
    "time",
    "timestamp",
    "interval",
    "date",
    "<a string literal with character set specification>",
    "<a number>",
    "<a single-quoted SQL string>",
    "pipe",
];

const DECLARATION_OR_BEGIN: &[&str] = &[
    "begin",
    "function",
    "pragma",
    "procedure",
    "subtype",
    "type",
    "<an identifier>",
    "<a double-quoted delimited-identifier>",
    "current",
    "cursor",
    "delete",
    "exists",
    "prior",
];

const TYPE_START: &[&str] = &[
    "constant",
    "exception",
    "<an identifier>",
    "<a double-quoted delimited-identifier>",
    "table",
    "long",
    "double",
    "ref",
    "char",
    "time",
    "timestamp",
    "interval",
    "date",
    "binary",
    "national",
    "character",
    "nchar",
];

/// The parser's state: the tokens and the current position.
pub struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    depth: u32,
    /// Depth of the tree being parsed, in links of chains: the longest path.
    deep: u32,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Parser<'a> {
        let Lexed { tokens, .. } = lex(text);
        Parser { text, tokens, at: 0, depth: 0, deep: 0 }
    }

    /// Runs `f` one level deeper. Too deep a nesting is an error, never a stack overflow (Q1).
    fn deeper<T>(&mut self, f: impl FnOnce(&mut Self) -> PResult<T>) -> PResult<T> {
        if self.depth >= DEPTH_MAX || os::stack::is_short() {
            return Err(self.error_at(123, &["nesting too deep"], self.pos()));
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }

    fn token(&self, ahead: usize) -> Token {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    fn token_text(&self, token: Token) -> &'a str {
        &self.text[token.start as usize..token.end as usize]
    }

    fn source(&self, start: Pos, end: Pos) -> &'a str {
        &self.text[start as usize..end as usize]
    }

    fn pos(&self) -> Pos {
        self.token(0).start
    }

    fn current_end(&self) -> Pos {
        self.token(0).end
    }

    fn previous_end(&self) -> Pos {
        if self.at == 0 { 0 } else { self.tokens[self.at - 1].end }
    }

    /// Takes a token and returns its position.
    fn bump(&mut self) -> Pos {
        let pos = self.pos();
        self.skip();
        pos
    }

    fn skip(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    /// Skips `( … )`.
    fn skip_brackets(&mut self) {
        let mut depth = 0u32;
        loop {
            match self.symbol() {
                Some("(") => depth += 1,
                Some(")") if depth <= 1 => {
                    self.skip();
                    return;
                }
                Some(")") => depth -= 1,
                _ if self.at_end() => return,
                _ => {}
            }
            self.skip();
        }
    }

    fn at_end(&self) -> bool {
        self.token(0).kind == TokenKind::End
    }

    fn at_word(&self, word: &str) -> bool {
        self.word_at(0, word)
    }

    /// Whether the token `ahead` is the unquoted word `word`, given in upper case.
    fn word_at(&self, ahead: usize, word: &str) -> bool {
        let token = self.token(ahead);
        token.kind == TokenKind::Word && self.token_text(token).eq_ignore_ascii_case(word)
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.skip();
        }
        found
    }

    fn unquoted_word(&self) -> Option<String> {
        let token = self.token(0);
        (token.kind == TokenKind::Word).then(|| self.token_text(token).to_uppercase())
    }

    fn at_name(&self) -> bool {
        self.name_at(0)
    }

    fn name_at(&self, ahead: usize) -> bool {
        matches!(self.token(ahead).kind, TokenKind::Word | TokenKind::QuotedIdent)
    }

    fn at_bind(&self) -> bool {
        self.token(0).kind == TokenKind::Bind
    }

    fn string_at(&self, ahead: usize) -> bool {
        matches!(self.token(ahead).kind, TokenKind::String | TokenKind::NationalString)
    }

    fn at_symbol(&self, symbol: &str) -> bool {
        self.symbol_at(0, symbol)
    }

    fn symbol_at(&self, ahead: usize, symbol: &str) -> bool {
        symbol_text(self.token(ahead).kind) == Some(symbol)
    }

    fn symbol(&self) -> Option<&'static str> {
        symbol_text(self.token(0).kind)
    }

    fn take_number(&mut self) -> Option<String> {
        let token = self.token(0);
        let number = matches!(token.kind, TokenKind::Number | TokenKind::FloatNumber | TokenKind::DoubleNumber);
        if !number {
            return None;
        }
        self.skip();
        Some(self.token_text(token).to_string())
    }

    fn number_literal(&mut self) -> PResult<String> {
        match self.take_number() {
            Some(text) => Ok(text),
            None => Err(self.unexpected(&["<a number>"])),
        }
    }

    fn take_string(&mut self) -> Option<String> {
        if !self.string_at(0) {
            return None;
        }
        let token = self.token(0);
        self.skip();
        Some(string_contents(self.token_text(token)))
    }

    /// A bind variable's name in the dictionary's form.
    fn take_bind(&mut self) -> Option<String> {
        let token = self.token(0);
        if token.kind != TokenKind::Bind {
            return None;
        }
        self.skip();
        let name = self.token_text(token)[1..].trim();
        Some(match name.strip_prefix('"') {
            Some(quoted) => quoted.trim_end_matches('"').to_string(),
            None => name.to_uppercase(),
        })
    }

    /// A name that is not reserved.
    fn ident(&mut self) -> PResult<Ident> {
        let reserved = self.unquoted_word().is_some_and(|w| is_reserved(&w));
        if reserved || !self.at_name() {
            return Err(self.unexpected(&["<an identifier>", "<a double-quoted delimited-identifier>"]));
        }
        self.any_ident()
    }

    /// A name, reserved or not, as allowed after a dot.
    fn any_ident(&mut self) -> PResult<Ident> {
        let token = self.token(0);
        let text = self.token_text(token);
        let (name, quoted) = match token.kind {
            TokenKind::Word => (text.to_uppercase(), false),
            TokenKind::QuotedIdent => (text[1..text.len() - 1].to_string(), true),
            _ => return Err(self.unexpected(&["<an identifier>", "<a double-quoted delimited-identifier>"])),
        };
        if name.len() > crate::lexer::IDENT_LENGTH_MAX {
            let shown: String = name.chars().take(30).collect();
            return Err(self.error_at(114, &[&shown], token.start));
        }
        self.skip();
        Ok(Ident { name, quoted, pos: token.start })
    }

    /// `a.b.c`
    fn path(&mut self) -> PResult<Path> {
        let mut path = vec![self.ident()?];
        while self.at_symbol(".") {
            self.skip();
            path.push(self.any_ident()?);
        }
        Ok(path)
    }

    fn comma_list<T>(&mut self, mut item: impl FnMut(&mut Self) -> PResult<T>) -> PResult<Vec<T>> {
        let mut list = vec![item(self)?];
        while self.at_symbol(",") {
            self.skip();
            list.push(item(self)?);
        }
        Ok(list)
    }

    fn expect_symbol(&mut self, symbol: &'static str) -> PResult<()> {
        if !self.at_symbol(symbol) {
            return Err(self.unexpected(&[symbol]));
        }
        self.skip();
        Ok(())
    }

    fn expect_semicolon(&mut self) -> PResult<()> {
        self.expect_symbol(";")
    }

    fn expect_word(&mut self, word: &str) -> PResult<()> {
        let lower = word.to_lowercase();
        self.expect_word_or(word, &[&lower])
    }

    fn expect_word_or(&mut self, word: &str, expected: &[&str]) -> PResult<()> {
        if !self.eat_word(word) {
            return Err(self.unexpected(expected));
        }
        Ok(())
    }

    /// PLS-00103 at the current token.
    fn unexpected(&self, expected: &[&str]) -> Ora {
        let token = self.token(0);
        if let TokenKind::Error(code) = token.kind {
            return self.lexical_error(code, token);
        }
        let shown = match token.kind {
            TokenKind::End => "end-of-file".to_string(),
            TokenKind::Bind => String::new(),
            _ => {
                let text = self.token_text(token);
                let text = text.trim_matches('"');
                if token.kind == TokenKind::Word { text.to_uppercase() } else { text.to_string() }
            }
        };
        let list = wrapped(expected);
        self.error_at(103, &[&format!("\"{shown}\""), &list], token.start)
    }

    fn lexical_error(&self, code: u16, token: Token) -> Ora {
        match code {
            1740 | 1741 => self.error_at(112, &[], token.start),
            1742 => self.error_at(111, &[], token.start),
            _ => {
                let shown = self.token_text(token).lines().next().unwrap_or("");
                self.error_at(103, &[&format!("\"{shown}\""), &wrapped(STATEMENT_START)], token.start)
            }
        }
    }

    /// PLS-00113 for the name after `END`.
    fn end_mismatch(&self, word: &Ident, name: &Ident) -> Ora {
        let (line, column) = super::line_column(self.text, name.pos);
        self.error_at(113, &[&word.name, &name.name, &line.to_string(), &column.to_string()], word.pos)
    }

    /// PLS-`code` at `pos`.
    fn error_at(&self, code: u32, args: &[&str], pos: Pos) -> Ora {
        super::error::pls(code, args, pos)
    }
}

/// The list of expected tokens, broken into lines as Oracle prints it.
fn wrapped(expected: &[&str]) -> String {
    let mut text = String::new();
    let mut width = 3;
    for (i, item) in expected.iter().enumerate() {
        if i > 0 {
            if width + item.len() > 68 {
                text.push_str("\n   ");
                width = 3;
            } else {
                text.push(' ');
                width += 1;
            }
        }
        text.push_str(item);
        width += item.len();
    }
    text
}

fn symbol_text(kind: TokenKind) -> Option<&'static str> {
    Some(match kind {
        TokenKind::Comma => ",",
        TokenKind::Dot => ".",
        TokenKind::DotDot => "..",
        TokenKind::LeftParen => "(",
        TokenKind::RightParen => ")",
        TokenKind::Plus => "+",
        TokenKind::Minus => "-",
        TokenKind::Star => "*",
        TokenKind::Slash => "/",
        TokenKind::Eq => "=",
        TokenKind::Ne => "<>",
        TokenKind::Lt => "<",
        TokenKind::Le => "<=",
        TokenKind::Gt => ">",
        TokenKind::Ge => ">=",
        TokenKind::Concat => "||",
        TokenKind::Arrow => "=>",
        TokenKind::Assign => ":=",
        TokenKind::Semicolon => ";",
        TokenKind::Percent => "%",
        TokenKind::At => "@",
        TokenKind::Power => "**",
        TokenKind::LabelStart => "<<",
        TokenKind::LabelEnd => ">>",
        _ => return None,
    })
}
