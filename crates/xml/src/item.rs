//! Items: nodes, texts, numbers and truth values.

use crate::document::Document;
use crate::node::{Kind, NodeId};
use crate::write::push_node;
use std::cmp::Ordering;
use std::rc::Rc;
use types::{Ora, Result};

/// Longest text that an expression makes.
const TEXT_MAX: usize = 32_767 * 1024;

/// A document that items belong to. Its number orders the documents of an evaluation.
#[derive(Clone, Debug)]
pub struct Source {
    pub(crate) number: usize,
    pub(crate) document: Rc<Document>,
}

impl Source {
    pub fn new(number: usize, document: Rc<Document>) -> Source {
        Source { number, document }
    }
}

/// An item of a sequence.
#[derive(Clone, Debug)]
pub enum Item {
    Node(Source, NodeId),
    Text(Rc<str>),
    Number(f64),
    Boolean(bool),
}

impl Item {
    pub fn text(text: &str) -> Item {
        Item::Text(text.into())
    }

    /// The node, if it belongs to this document.
    pub fn node_of(&self, document: &Rc<Document>) -> Option<NodeId> {
        match self {
            Item::Node(source, node) if Rc::ptr_eq(&source.document, document) => Some(*node),
            _ => None,
        }
    }

    /// Appends the string value.
    pub fn push_text(&self, out: &mut String) {
        match self {
            Item::Node(source, node) => source.document.push_value(*node, out),
            Item::Text(text) => out.push_str(text),
            Item::Number(n) => out.push_str(&number_text(*n)),
            Item::Boolean(b) => out.push_str(if *b { "true" } else { "false" }),
        }
    }

    pub(crate) fn to_text(&self) -> String {
        let mut out = String::new();
        self.push_text(&mut out);
        out
    }

    pub(crate) fn to_number(&self) -> f64 {
        match self {
            Item::Number(n) => *n,
            Item::Boolean(b) => f64::from(u8::from(*b)),
            other => number_of(&other.to_text()),
        }
    }

    /// Whether the value has no type of its own: it is compared by the type of the other operand.
    pub(crate) fn is_node(&self) -> bool {
        matches!(self, Item::Node(..))
    }

    /// The item, or the text of a node.
    pub(crate) fn into_value(self) -> Item {
        if self.is_node() { Item::text(&self.to_text()) } else { self }
    }

    /// Appends the item as XML.
    pub fn push_xml(&self, out: &mut String) {
        match self {
            Item::Node(source, node) => push_node(&source.document, *node, out),
            other => crate::chars::push_escaped(&other.to_text(), false, out),
        }
    }

    /// Whether the item is an element with elements in it.
    pub fn has_elements(&self) -> bool {
        match self {
            Item::Node(source, node) => {
                let document = &source.document;
                matches!(document.kind(*node), Kind::Root | Kind::Element)
                    && document.children(*node).any(|child| document.kind(child) == Kind::Element)
            }
            _ => false,
        }
    }

    /// The order in the document; `None` unless both are nodes.
    pub(crate) fn document_order(&self, other: &Item) -> Option<Ordering> {
        match (self, other) {
            (Item::Node(a, m), Item::Node(b, n)) => Some((a.number, m).cmp(&(b.number, n))),
            _ => None,
        }
    }
}

/// The string values of all items, one after another.
pub fn text_of_all(items: &[Item]) -> String {
    let mut out = String::new();
    items.iter().for_each(|item| item.push_text(&mut out));
    out
}

/// The number that a text has; NaN for another text.
pub(crate) fn number_of(text: &str) -> f64 {
    let text = text.trim();
    let is_number = |b: u8| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+' | b'e' | b'E');
    if !text.is_empty() && text.bytes().all(is_number) { text.parse().unwrap_or(f64::NAN) } else { f64::NAN }
}

/// A number as text: without exponent as long as its digits are exact.
pub(crate) fn number_text(n: f64) -> String {
    if n.is_nan() {
        "NaN".to_owned()
    } else if n.is_infinite() {
        if n > 0.0 { "INF" } else { "-INF" }.to_owned()
    } else if n == 0.0 {
        "0".to_owned()
    } else if n.abs() >= 1e18 || n.abs() < 1e-9 {
        format!("{n:E}")
    } else {
        n.to_string()
    }
}

/// ORA-19279: several items where one is expected.
#[cold]
pub(crate) fn many() -> Ora {
    Ora::new(19279)
}

#[cold]
pub(crate) fn too_large(what: &str, n: usize) -> Ora {
    Ora::with(4030, &[&n, &"qmxqtm", &what])
}

/// # Errors
/// ORA-04030 for a text that is too long (X3).
pub(crate) fn check_text(n: usize) -> Result<()> {
    if n > TEXT_MAX { Err(too_large("XQuery text", n)) } else { Ok(()) }
}

/// The effective truth value of a sequence.
pub(crate) fn boolean(items: &[Item]) -> bool {
    match items {
        [] => false,
        [Item::Boolean(b)] => *b,
        [Item::Number(n)] => *n != 0.0 && !n.is_nan(),
        [Item::Text(text)] => !text.is_empty(),
        _ => true,
    }
}
