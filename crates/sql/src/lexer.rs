//! Text to tokens.
//!
//! The whole text is split into tokens at once, so that the parser can look ahead without limit. Invalid text becomes a
//! [`TokenKind::Error`] token, which is reported only when the parser reaches it, because an earlier syntax error takes
//! precedence. Comments are dropped, except hints, which are kept with the index of the following token.

use crate::ast::Pos;

/// The longest identifier, in bytes.
pub const IDENT_LENGTH_MAX: usize = 128;

/// The kind of a token. The text of words and numbers is found by their span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// An unquoted identifier or keyword.
    Word,
    /// `"..."`.
    QuotedIdent,
    /// `'...'` or `q'[...]'`.
    String,
    /// `n'...'` or `nq'[...]'`.
    NationalString,
    /// Digits, `.5`, `1e9`.
    Number,
    /// A number with the suffix `f` or `F`.
    FloatNumber,
    /// A number with the suffix `d` or `D`.
    DoubleNumber,
    /// `:x`, `:1`, `:"x"`.
    Bind,
    Comma,
    Dot,
    DotDot,
    LeftParen,
    RightParen,
    Plus,
    Minus,
    Star,
    Slash,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Concat,
    /// `=>`.
    Arrow,
    /// `:=`.
    Assign,
    /// A colon that does not begin a bind.
    Colon,
    Semicolon,
    Percent,
    At,
    LeftBracket,
    RightBracket,
    /// `**`.
    Power,
    /// `<<` and `>>` around PL/SQL labels.
    LabelStart,
    LabelEnd,
    /// `?`, used in row patterns; an error everywhere else.
    Question,
    Bar,
    /// Invalid text: the number of the Oracle error to report.
    Error(u16),
    /// The end of the text; always the last token.
    End,
}

/// A token: its kind, and its bytes `start..end` in the text.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    pub kind: TokenKind,
    pub start: u32,
    pub end: u32,
}

impl Token {
    pub fn pos(&self) -> Pos {
        Pos(self.start)
    }
}

/// A hint comment: the span of its text after the `+`, and the index of the token that follows it.
#[derive(Clone, Copy, Debug)]
pub struct HintSpan {
    pub before_token: u32,
    pub start: u32,
    pub end: u32,
}

/// The tokens of a text, ended by [`TokenKind::End`].
#[derive(Clone, Debug)]
pub struct Lexed {
    pub tokens: Vec<Token>,
    pub hints: Vec<HintSpan>,
}

/// Splits `text` into tokens. Never fails: see [`TokenKind::Error`].
pub fn lex(text: &str) -> Lexed {
    let mut lexer = Lexer {
        text,
        bytes: text.as_bytes(),
        at: 0,
        out: Lexed { tokens: Vec::with_capacity(text.len() / 4 + 2), hints: Vec::new() },
    };
    lexer.run();
    lexer.out
}

/// The contents of a string token as written in `source` (with prefix and quotes), with doubled quotes resolved.
pub fn string_contents(source: &str) -> String {
    let body = source.trim_start_matches(['n', 'N']);
    if let Some(rest) = body.strip_prefix(['q', 'Q']) {
        // q'<open>...<close>': the lexer has checked the form.
        let inner = &rest[1..rest.len() - 1];
        let open = inner.chars().next().map_or(0, char::len_utf8);
        let close = inner.chars().next_back().map_or(0, char::len_utf8);
        return inner[open..inner.len() - close].to_owned();
    }
    body[1..body.len() - 1].replace("''", "'")
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    out: Lexed,
}

fn is_word_start(c: char) -> bool {
    c.is_alphabetic()
}

fn is_word_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '#')
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn char_here(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn push(&mut self, kind: TokenKind, start: usize) {
        self.out.tokens.push(Token { kind, start: start as u32, end: self.at as u32 });
    }

    fn run(&mut self) {
        while let Some(c) = self.char_here() {
            let start = self.at;
            if c.is_whitespace() || c == '\0' {
                self.at += c.len_utf8();
            } else if self.comment() {
                // The comment has been skipped, or has become an error token.
            } else {
                let kind = self.token(c);
                self.push(kind, start);
            }
        }
        let end = self.at;
        self.push(TokenKind::End, end);
    }

    /// Skips a comment if one begins here.
    fn comment(&mut self) -> bool {
        let start = self.at;
        let end = match (self.peek(0), self.peek(1)) {
            (b'-', b'-') => self.text[start..].find('\n').map_or(self.text.len(), |n| start + n),
            (b'/', b'*') => match self.text[start + 2..].find("*/") {
                Some(n) => start + 2 + n,
                None => {
                    self.at = self.text.len();
                    self.push(TokenKind::Error(1742), start);
                    return true;
                }
            },
            _ => return false,
        };
        if self.peek(2) == b'+' && end >= start + 3 {
            let before_token = self.out.tokens.len() as u32;
            self.out.hints.push(HintSpan { before_token, start: start as u32 + 3, end: end as u32 });
        }
        self.at = if self.bytes[start] == b'/' { end + 2 } else { end };
        true
    }

    fn token(&mut self, c: char) -> TokenKind {
        if is_word_start(c) {
            return self.word_or_prefixed_string();
        }
        if c.is_ascii_digit() || (c == '.' && self.peek(1).is_ascii_digit()) {
            return self.number();
        }
        match c {
            '\'' => self.string(TokenKind::String),
            '"' => self.quoted_ident(),
            ':' => self.colon(),
            _ => self.punctuation(c),
        }
    }

    fn word_or_prefixed_string(&mut self) -> TokenKind {
        let (first, second, third) = (self.peek(0), self.peek(1), self.peek(2));
        match (first, second, third) {
            (b'n' | b'N', b'\'', _) => {
                self.at += 1;
                return self.string(TokenKind::NationalString);
            }
            (b'q' | b'Q', b'\'', _) => {
                self.at += 1;
                return self.alternative_string(TokenKind::String);
            }
            (b'n' | b'N', b'q' | b'Q', b'\'') => {
                self.at += 2;
                return self.alternative_string(TokenKind::NationalString);
            }
            _ => {}
        }
        self.skip_word();
        TokenKind::Word
    }

    fn skip_word(&mut self) {
        while let Some(c) = self.char_here().filter(|c| is_word_part(*c)) {
            self.at += c.len_utf8();
        }
    }

    /// At the opening quote.
    fn string(&mut self, kind: TokenKind) -> TokenKind {
        self.at += 1;
        loop {
            match self.text[self.at..].find('\'') {
                Some(n) => self.at += n + 1,
                None => {
                    self.at = self.text.len();
                    return TokenKind::Error(1756);
                }
            }
            if self.peek(0) != b'\'' {
                return kind;
            }
            self.at += 1;
        }
    }

    /// At the quote of `q'[...]'`.
    fn alternative_string(&mut self, kind: TokenKind) -> TokenKind {
        self.at += 1;
        let Some(open) = self.char_here().filter(|c| !c.is_whitespace()) else {
            self.at = self.text.len();
            return TokenKind::Error(1756);
        };
        let close = match open {
            '[' => ']',
            '(' => ')',
            '{' => '}',
            '<' => '>',
            other => other,
        };
        self.at += open.len_utf8();
        let mut end = String::from(close);
        end.push('\'');
        match self.text[self.at..].find(&end) {
            Some(n) => {
                self.at += n + end.len();
                kind
            }
            None => {
                self.at = self.text.len();
                TokenKind::Error(1756)
            }
        }
    }

    fn quoted_ident(&mut self) -> TokenKind {
        let start = self.at;
        match self.text[start + 1..].find('"') {
            Some(0) => {
                self.at = start + 2;
                TokenKind::Error(1741)
            }
            Some(n) => {
                self.at = start + n + 2;
                let name = &self.text[start + 1..start + 1 + n];
                if name.contains('\0') { TokenKind::Error(911) } else { TokenKind::QuotedIdent }
            }
            None => {
                self.at = self.text.len();
                TokenKind::Error(1740)
            }
        }
    }

    fn skip_digits(&mut self) {
        while self.peek(0).is_ascii_digit() {
            self.at += 1;
        }
    }

    fn number(&mut self) -> TokenKind {
        self.skip_digits();
        // `1..n` is a range, not the number `1.`.
        if self.peek(0) == b'.' && self.peek(1) != b'.' {
            self.at += 1;
            self.skip_digits();
        }
        if matches!(self.peek(0), b'e' | b'E') {
            let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
            if self.peek(1 + sign).is_ascii_digit() {
                self.at += 1 + sign;
                self.skip_digits();
            }
        }
        let suffix = match self.peek(0) {
            b'f' | b'F' => TokenKind::FloatNumber,
            b'd' | b'D' => TokenKind::DoubleNumber,
            _ => return TokenKind::Number,
        };
        let follows = self.text[self.at + 1..].chars().next();
        if follows.is_some_and(is_word_part) {
            return TokenKind::Number;
        }
        self.at += 1;
        suffix
    }

    fn colon(&mut self) -> TokenKind {
        self.at += 1;
        if self.peek(0) == b'=' {
            self.at += 1;
            return TokenKind::Assign;
        }
        // `'key' : value` in JSON_OBJECT: no bind can follow a text.
        if self.out.tokens.last().is_some_and(|last| last.kind == TokenKind::String) {
            return TokenKind::Colon;
        }
        let after_colon = self.at;
        while self.peek(0).is_ascii_whitespace() {
            self.at += 1;
        }
        match self.char_here() {
            Some('"') => match self.quoted_ident() {
                TokenKind::QuotedIdent => TokenKind::Bind,
                error => error,
            },
            Some(c) if c.is_ascii_digit() => {
                self.skip_digits();
                TokenKind::Bind
            }
            Some(c) if is_word_start(c) => {
                self.skip_word();
                TokenKind::Bind
            }
            _ => {
                self.at = after_colon;
                TokenKind::Colon
            }
        }
    }

    /// Takes the next byte if it is `second`, with blanks allowed before it (`> =` is one operator in Oracle).
    fn second(&mut self, second: u8) -> bool {
        let mut ahead = 0;
        while self.peek(ahead).is_ascii_whitespace() {
            ahead += 1;
        }
        let found = self.peek(ahead) == second;
        if found {
            self.at += ahead + 1;
        }
        found
    }

    fn next_is(&mut self, byte: u8) -> bool {
        let found = self.peek(0) == byte;
        self.at += usize::from(found);
        found
    }

    fn punctuation(&mut self, c: char) -> TokenKind {
        self.at += c.len_utf8();
        match c {
            ',' => TokenKind::Comma,
            '.' if self.next_is(b'.') => TokenKind::DotDot,
            '.' => TokenKind::Dot,
            '(' => TokenKind::LeftParen,
            ')' => TokenKind::RightParen,
            '[' => TokenKind::LeftBracket,
            ']' => TokenKind::RightBracket,
            '+' => TokenKind::Plus,
            '-' => TokenKind::Minus,
            '*' if self.next_is(b'*') => TokenKind::Power,
            '*' => TokenKind::Star,
            '/' => TokenKind::Slash,
            '=' if self.next_is(b'>') => TokenKind::Arrow,
            '=' => TokenKind::Eq,
            '<' if self.next_is(b'<') => TokenKind::LabelStart,
            '<' if self.second(b'=') => TokenKind::Le,
            '<' if self.second(b'>') => TokenKind::Ne,
            '<' => TokenKind::Lt,
            '>' if self.next_is(b'>') => TokenKind::LabelEnd,
            '>' if self.second(b'=') => TokenKind::Ge,
            '>' => TokenKind::Gt,
            '!' | '^' | '~' if self.second(b'=') => TokenKind::Ne,
            '|' if self.second(b'|') => TokenKind::Concat,
            '|' => TokenKind::Bar,
            ';' => TokenKind::Semicolon,
            '%' => TokenKind::Percent,
            '@' => TokenKind::At,
            '?' => TokenKind::Question,
            '$' => {
                // `$IF` and `$$UNIT` of PL/SQL are one token for its parser, and invalid in SQL.
                self.next_is(b'$');
                if self.char_here().is_some_and(is_word_start) {
                    self.skip_word();
                }
                TokenKind::Error(911)
            }
            _ => TokenKind::Error(911),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        lex(text).tokens.iter().map(|token| token.kind).collect()
    }

    #[test]
    fn numbers_stop_where_oracle_stops_them() {
        use TokenKind::*;
        assert_eq!(kinds("1..n"), [Number, DotDot, Word, End]);
        assert_eq!(kinds("1.. 5"), [Number, DotDot, Number, End]);
        assert_eq!(kinds(".5 1e9 1.5E-3"), [Number, Number, Number, End]);
        assert_eq!(kinds("1e"), [Number, Word, End]);
        assert_eq!(kinds("1f 2.5d 3day"), [FloatNumber, DoubleNumber, Number, Word, End]);
        assert_eq!(kinds("t.5"), [Word, Number, End]);
    }

    #[test]
    fn strings_in_all_their_forms() {
        let check = |source: &str, want: &str| {
            let lexed = lex(source);
            assert_eq!(lexed.tokens.len(), 2, "{source}");
            assert_eq!(string_contents(source), want);
        };
        check("'it''s'", "it's");
        check("''", "");
        check("q'[it's]'", "it's");
        check("Q'!a!b!'", "a!b");
        check("nq'{x}'", "x");
        check("N'y'", "y");
        check("q'<<a>>'", "<a>");
    }

    #[test]
    fn errors_wait_for_the_parser() {
        use TokenKind::*;
        assert_eq!(kinds("a 'b"), [Word, Error(1756), End]);
        assert_eq!(kinds("\"\""), [Error(1741), End]);
        assert_eq!(kinds("\"a"), [Error(1740), End]);
        assert_eq!(kinds("/* a"), [Error(1742), End]);
        assert_eq!(kinds("#"), [Error(911), End]);
        assert_eq!(kinds("q'[a]"), [Error(1756), End]);
    }

    #[test]
    fn hints_are_kept_aside() {
        let lexed = lex("select /*+ full(t) */ 1 --+ two\n from");
        let texts: Vec<_> = lexed.hints.iter().map(|h| (h.before_token, h.start, h.end)).collect();
        assert_eq!(texts, [(1, 10, 19), (2, 27, 31)]);
    }

    #[test]
    fn operators_with_blanks_inside() {
        use TokenKind::*;
        assert_eq!(kinds("a < > b ^= c ! = d"), [Word, Ne, Word, Ne, Word, Ne, Word, End]);
        assert_eq!(kinds(":x : y :1 :\"Z\" := :"), [Bind, Bind, Bind, Bind, Assign, Colon, End]);
    }
}
