//! A parsed document: a flat list of nodes over its text.
//!
//! Each node knows its span in the text and the node after its last descendant, so that a subtree is skipped in one
//! step and all descendants are a range. The list is filled without recursion (J1) and its memory is reused by the next
//! document: a scan over documents allocates nothing for each of them (J3). Members keep their order and their
//! duplicates, and numbers stay text, so nothing of a document is lost (J2). Rejected: `serde_json`, whose values
//! allocate for each node, drop duplicates, round numbers, and do not have Oracle's lax syntax.

use crate::strings::{self, Quote};
use memchr::memchr2;
use types::{Ora, Result};

/// Deepest nesting of objects and arrays (J1).
pub const NESTING_MAX: usize = 1024;

/// Nodes whose memory is kept for a smaller document.
const KEPT_MAX: usize = 1 << 16;

/// A node, by its position in the document's list.
pub type NodeId = u32;

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Object,
    Array,
    /// The name of a member; the next node is its value.
    Key,
    Text,
    Number,
    True,
    False,
    Null,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    /// Span of the text; without the quotes for keys and texts.
    start: u32,
    end: u32,
    /// The node after the last descendant.
    next: NodeId,
    /// Elements of an array, members of an object.
    count: u32,
    kind: Kind,
    /// Whether a key or text has a backslash.
    escaped: bool,
}

/// The syntax that a text must have (J4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Syntax {
    /// RFC 8259; otherwise Oracle's lax syntax.
    pub strict: bool,
    pub unique_keys: bool,
    /// Whether the whole document may be a scalar.
    pub scalars: bool,
}

/// A parsed document. It keeps its memory when it is parsed anew.
#[derive(Debug, Default)]
pub struct Document {
    text: String,
    nodes: Vec<Node>,
    open: Vec<NodeId>,
    /// Whether `nodes` are those of `text`.
    is_valid: bool,
    syntax: Syntax,
}

/// Whether a text is JSON of the given syntax.
pub fn is_json(text: &str, syntax: Syntax) -> bool {
    Document::default().parse(text, syntax).is_ok()
}

fn syntax_error() -> Ora {
    Ora::new(40441)
}

/// The place of the parser in the text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Value,
    /// After `[`: a value or `]`.
    FirstValue,
    /// After `{`: a key or `}`.
    FirstKey,
    /// After a comma in an object.
    NextKey,
    /// After a comma in an array.
    NextValue,
    AfterValue,
}

impl Document {
    /// Parses `text`; the same text as the last time is not parsed again.
    ///
    /// # Errors
    /// ORA-40441 for a text that is not JSON.
    pub fn parse(&mut self, text: &str, syntax: Syntax) -> Result<()> {
        if self.is_valid && self.syntax == syntax && self.text == text {
            return Ok(());
        }
        self.is_valid = false;
        if u32::try_from(text.len()).is_err() {
            return Err(syntax_error());
        }
        self.text.clear();
        self.nodes.clear();
        if self.nodes.capacity() > KEPT_MAX {
            // The memory of a large document is not kept for small ones.
            self.text.shrink_to(text.len());
            self.nodes.shrink_to(text.len());
        }
        self.text.push_str(text);
        self.open.clear();
        self.syntax = syntax;
        Parser { text, bytes: text.as_bytes(), at: 0, strict: syntax.strict, nodes: &mut self.nodes }
            .run(&mut self.open, syntax.scalars)?;
        if syntax.unique_keys && !self.has_unique_keys() {
            return Err(syntax_error());
        }
        self.is_valid = true;
        Ok(())
    }

    /// The whole document.
    pub fn root(&self) -> NodeId {
        0
    }

    pub fn kind(&self, node: NodeId) -> Kind {
        self.nodes[node as usize].kind
    }

    /// The number of elements or members.
    pub fn count(&self, node: NodeId) -> u32 {
        self.nodes[node as usize].count
    }

    /// The node after the last descendant of `node`.
    pub fn next(&self, node: NodeId) -> NodeId {
        self.nodes[node as usize].next
    }

    /// The text of a scalar or key as it stands in the document, without quotes.
    pub fn raw(&self, node: NodeId) -> &str {
        let n = &self.nodes[node as usize];
        &self.text[n.start as usize..n.end as usize]
    }

    /// Whether a key or text has a backslash.
    pub fn is_escaped(&self, node: NodeId) -> bool {
        self.nodes[node as usize].escaped
    }

    /// The content of a key or text, or the text of another scalar.
    pub fn content(&self, node: NodeId) -> std::borrow::Cow<'_, str> {
        strings::unescaped(self.raw(node), self.is_escaped(node))
    }

    /// Whether a key or text has this content.
    pub fn has_content(&self, node: NodeId, content: &str) -> bool {
        if self.is_escaped(node) { self.content(node) == content } else { self.raw(node) == content }
    }

    /// The value of the first member with this name.
    pub fn member(&self, object: NodeId, name: &str) -> Option<NodeId> {
        self.members(object).find(|(key, _)| self.has_content(*key, name)).map(|(_, value)| value)
    }

    /// The members of an object: keys and values.
    pub fn members(&self, object: NodeId) -> impl Iterator<Item = (NodeId, NodeId)> {
        let (mut at, end) = (object + 1, if self.kind(object) == Kind::Object { self.next(object) } else { 0 });
        std::iter::from_fn(move || {
            (at < end).then(|| {
                let key = at;
                at = self.next(key + 1);
                (key, key + 1)
            })
        })
    }

    /// The elements of an array.
    pub fn elements(&self, array: NodeId) -> impl Iterator<Item = NodeId> {
        let (mut at, end) = (array + 1, if self.kind(array) == Kind::Array { self.next(array) } else { 0 });
        std::iter::from_fn(move || {
            (at < end).then(|| {
                let element = at;
                at = self.next(element);
                element
            })
        })
    }

    /// Whether no object has two members of one name.
    fn has_unique_keys(&self) -> bool {
        let mut names = Vec::new();
        for node in 0..self.nodes.len() as NodeId {
            if self.kind(node) != Kind::Object {
                continue;
            }
            names.clear();
            names.extend(self.members(node).map(|(key, _)| self.content(key)));
            names.sort_unstable();
            if names.windows(2).any(|pair| pair[0] == pair[1]) {
                return false;
            }
        }
        true
    }
}

struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    strict: bool,
    nodes: &'a mut Vec<Node>,
}

impl Parser<'_> {
    fn run(&mut self, open: &mut Vec<NodeId>, scalars: bool) -> Result<()> {
        let mut state = State::Value;
        loop {
            self.blanks();
            let Some(&byte) = self.bytes.get(self.at) else { break };
            match (state, byte) {
                (State::FirstValue | State::NextValue, b']') | (State::FirstKey | State::NextKey, b'}') => {
                    if self.strict && matches!(state, State::NextValue | State::NextKey) {
                        return Err(syntax_error());
                    }
                    self.close(open);
                    state = State::AfterValue;
                }
                (State::FirstKey | State::NextKey, _) => {
                    self.key()?;
                    self.blanks();
                    if self.bytes.get(self.at) != Some(&b':') {
                        return Err(syntax_error());
                    }
                    self.at += 1;
                    state = State::Value;
                }
                (State::Value | State::FirstValue | State::NextValue, b'{' | b'[') => {
                    if open.len() == NESTING_MAX {
                        return Err(syntax_error());
                    }
                    self.count(open);
                    open.push(self.nodes.len() as NodeId);
                    let object = byte == b'{';
                    self.push(if object { Kind::Object } else { Kind::Array }, self.at, self.at + 1, false);
                    self.at += 1;
                    state = if object { State::FirstKey } else { State::FirstValue };
                }
                (State::Value | State::FirstValue | State::NextValue, _) => {
                    if open.is_empty() && !scalars {
                        return Err(syntax_error());
                    }
                    self.count(open);
                    self.scalar(byte)?;
                    state = State::AfterValue;
                }
                (State::AfterValue, _) => {
                    let Some(&inside) = open.last() else { return Err(syntax_error()) };
                    let object = self.nodes[inside as usize].kind == Kind::Object;
                    match (byte, object) {
                        (b',', true) => {
                            self.at += 1;
                            state = State::NextKey;
                        }
                        (b',', false) => {
                            self.at += 1;
                            state = State::NextValue;
                        }
                        (b'}', true) | (b']', false) => self.close(open),
                        _ => return Err(syntax_error()),
                    }
                }
            }
        }
        if open.is_empty() && state == State::AfterValue { Ok(()) } else { Err(syntax_error()) }
    }

    fn push(&mut self, kind: Kind, start: usize, end: usize, escaped: bool) {
        let next = self.nodes.len() as NodeId + 1;
        self.nodes.push(Node { start: start as u32, end: end as u32, next, count: 0, kind, escaped });
    }

    /// Counts a value in the innermost open object or array.
    fn count(&mut self, open: &[NodeId]) {
        if let Some(&inside) = open.last() {
            self.nodes[inside as usize].count += 1;
        }
    }

    fn close(&mut self, open: &mut Vec<NodeId>) {
        self.at += 1;
        let next = self.nodes.len() as NodeId;
        if let Some(closed) = open.pop() {
            let node = &mut self.nodes[closed as usize];
            (node.end, node.next) = (self.at as u32, next);
        }
    }

    fn blanks(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    fn key(&mut self) -> Result<()> {
        match self.bytes[self.at] {
            b'"' => self.quoted(Kind::Key, Quote::Double),
            b'\'' if !self.strict => self.quoted(Kind::Key, Quote::Single),
            byte if !self.strict && (byte.is_ascii_alphabetic() || byte >= 0x80 || byte == b'_' || byte == b'$') => {
                let is_part = |b: &u8| b.is_ascii_alphanumeric() || *b >= 0x80 || *b == b'_' || *b == b'$';
                let start = self.at;
                while self.bytes.get(self.at).is_some_and(is_part) {
                    self.at += 1;
                }
                self.push(Kind::Key, start, self.at, false);
                Ok(())
            }
            _ => Err(syntax_error()),
        }
    }

    /// A key or text in quotes.
    fn quoted(&mut self, kind: Kind, quote: Quote) -> Result<()> {
        let mark = quote.mark();
        let start = self.at + 1;
        let mut at = start;
        let mut escaped = false;
        loop {
            let found = memchr2(mark, b'\\', &self.bytes[at..]).ok_or_else(syntax_error)?;
            let (from, to) = (at, at + found);
            // A control character is an error in strict syntax only.
            if self.strict && self.bytes[from..to].iter().any(|b| *b < 0x20) {
                return Err(syntax_error());
            }
            if self.bytes[to] == mark {
                self.push(kind, start, to, escaped);
                self.at = to + 1;
                return Ok(());
            }
            escaped = true;
            at = to + strings::escape_length(&self.bytes[to..], self.strict).ok_or_else(syntax_error)?;
        }
    }

    fn scalar(&mut self, byte: u8) -> Result<()> {
        match byte {
            b'"' => self.quoted(Kind::Text, Quote::Double),
            b'\'' if !self.strict => self.quoted(Kind::Text, Quote::Single),
            b'-' | b'0'..=b'9' | b'+' | b'.' => self.number(),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<()> {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_alphabetic) {
            self.at += 1;
        }
        let word = &self.text[start..self.at];
        let is = |name: &str| if self.strict { word == name } else { word.eq_ignore_ascii_case(name) };
        let kind = [("true", Kind::True), ("false", Kind::False), ("null", Kind::Null)].into_iter();
        let kind = kind.into_iter().find(|(name, _)| is(name)).map(|(_, kind)| kind).ok_or_else(syntax_error)?;
        self.push(kind, start, self.at, false);
        Ok(())
    }

    /// Lax syntax also allows a plus sign, leading zeros, and a point without digits on one side.
    fn number(&mut self) -> Result<()> {
        let start = self.at;
        let digits = |p: &mut Self| {
            let from = p.at;
            while p.bytes.get(p.at).is_some_and(u8::is_ascii_digit) {
                p.at += 1;
            }
            p.at - from
        };
        match self.bytes[self.at] {
            b'-' => self.at += 1,
            b'+' if !self.strict => self.at += 1,
            _ => {}
        }
        let first = self.at;
        let whole = digits(self);
        let mut fraction = 0;
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            fraction = digits(self);
            if self.strict && fraction == 0 {
                return Err(syntax_error());
            }
        }
        let has_zeros = whole > 1 && self.bytes[first] == b'0';
        if whole + fraction == 0 || (self.strict && (whole == 0 || has_zeros)) {
            return Err(syntax_error());
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.at) {
                self.at += 1;
            }
            if digits(self) == 0 {
                return Err(syntax_error());
            }
        }
        // A number ends before a delimiter.
        if self.bytes.get(self.at).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'.') {
            return Err(syntax_error());
        }
        self.push(Kind::Number, start, self.at, false);
        Ok(())
    }
}
