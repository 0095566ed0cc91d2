//! Item methods: `.size()`, `.upper()`.

use crate::document::{Document, Kind, NodeId};
use std::borrow::Cow;
use types::Number;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Abs,
    Boolean,
    BooleanOnly,
    Ceiling,
    Count,
    Date,
    Double,
    Floor,
    Length,
    Lower,
    Number,
    NumberOnly,
    Size,
    String,
    StringOnly,
    Timestamp,
    Type,
    Upper,
}

/// A value that a path gives: a node, or what an item method makes of one.
#[derive(Clone, Debug, PartialEq)]
pub enum Item<'a> {
    Null,
    Text(Cow<'a, str>),
    Number(Number),
    /// A number with the digits of the document.
    Digits(&'a str),
    Boolean(bool),
    /// An object or array.
    Node(NodeId),
}

impl<'a> Item<'a> {
    /// A node as an item.
    pub fn of(document: &'a Document, node: NodeId) -> Item<'a> {
        match document.kind(node) {
            Kind::Object | Kind::Array => Item::Node(node),
            Kind::Key | Kind::Text => Item::Text(document.content(node)),
            Kind::Number => Item::Digits(document.raw(node)),
            Kind::True => Item::Boolean(true),
            Kind::False => Item::Boolean(false),
            Kind::Null => Item::Null,
        }
    }

    /// The number of a number, or of a text that is one.
    pub fn number(&self) -> Option<Number> {
        match self {
            Item::Number(n) => Some(*n),
            Item::Digits(digits) => Number::parse(digits).ok(),
            Item::Text(text) => Number::parse(text.trim()).ok(),
            Item::Null | Item::Boolean(_) | Item::Node(_) => None,
        }
    }

    /// The text of a scalar; `None` for null, an object or an array.
    pub fn text(&self) -> Option<Cow<'_, str>> {
        Some(match self {
            Item::Text(text) => Cow::Borrowed(&**text),
            Item::Number(n) => Cow::Owned(n.to_string()),
            Item::Digits(digits) => Cow::Borrowed(digits),
            Item::Boolean(b) => Cow::Borrowed(if *b { "true" } else { "false" }),
            Item::Null | Item::Node(_) => return None,
        })
    }
}

impl Method {
    pub(super) fn parse(name: &str) -> Option<Method> {
        Some(match name {
            "abs" => Method::Abs,
            "boolean" => Method::Boolean,
            "booleanOnly" => Method::BooleanOnly,
            "ceiling" => Method::Ceiling,
            "count" => Method::Count,
            "date" => Method::Date,
            "double" => Method::Double,
            "floor" => Method::Floor,
            "length" => Method::Length,
            "lower" => Method::Lower,
            "number" => Method::Number,
            "numberOnly" => Method::NumberOnly,
            "size" => Method::Size,
            "string" => Method::String,
            "stringOnly" => Method::StringOnly,
            "timestamp" => Method::Timestamp,
            "type" => Method::Type,
            "upper" => Method::Upper,
            _ => return None,
        })
    }

    /// The data type of the values that the method gives, unless a clause names another one.
    pub fn data_type(self) -> Option<types::DataType> {
        use types::DataType;
        Some(match self {
            Method::Abs | Method::Ceiling | Method::Floor | Method::Number | Method::NumberOnly => DataType::NUMBER,
            Method::Count | Method::Size | Method::Length => DataType::NUMBER,
            Method::Double => DataType::BinaryDouble,
            Method::Date => DataType::Date,
            Method::Timestamp => DataType::TIMESTAMP,
            Method::Boolean
            | Method::BooleanOnly
            | Method::Lower
            | Method::String
            | Method::StringOnly
            | Method::Type
            | Method::Upper => return None,
        })
    }

    /// The value of the method for a node; `None` if it has none.
    pub fn apply<'a>(self, document: &'a Document, node: NodeId) -> Option<Item<'a>> {
        let item = Item::of(document, node);
        let number = |n: Option<Number>| n.map(Item::Number);
        let text = |s: String| Some(Item::Text(Cow::Owned(s)));
        match self {
            Method::Abs => number(item.number().map(|n| n.abs())),
            Method::Ceiling => number(item.number().map(|n| n.ceil())),
            Method::Floor => number(item.number().map(|n| n.floor())),
            Method::Number | Method::Double => number(item.number()),
            Method::NumberOnly => match item {
                Item::Digits(_) => Some(item),
                _ => None,
            },
            Method::String => item.text().map(|s| Item::Text(Cow::Owned(s.into_owned()))),
            Method::StringOnly | Method::Date | Method::Timestamp => match item {
                Item::Text(_) => Some(item),
                _ => None,
            },
            Method::Boolean => match &item {
                Item::Boolean(_) => Some(item),
                Item::Text(text) if text.eq_ignore_ascii_case("true") => Some(Item::Boolean(true)),
                Item::Text(text) if text.eq_ignore_ascii_case("false") => Some(Item::Boolean(false)),
                _ => None,
            },
            Method::BooleanOnly => match item {
                Item::Boolean(_) => Some(item),
                _ => None,
            },
            Method::Upper => item.text().and_then(|s| text(s.to_uppercase())),
            Method::Lower => item.text().and_then(|s| text(s.to_lowercase())),
            Method::Length => match &item {
                Item::Text(text) => Some(Item::Number(Number::from_u64(text.chars().count() as u64))),
                _ => None,
            },
            Method::Size => Some(Item::Number(match document.kind(node) {
                Kind::Array => Number::from_u64(u64::from(document.count(node))),
                _ => Number::from_u64(1),
            })),
            // The evaluation counts the values; see `Path::items`.
            Method::Count => Some(Item::Number(Number::from_u64(1))),
            Method::Type => text(
                match document.kind(node) {
                    Kind::Object => "object",
                    Kind::Array => "array",
                    Kind::Key | Kind::Text => "string",
                    Kind::Number => "number",
                    Kind::True | Kind::False => "boolean",
                    Kind::Null => "null",
                }
                .to_owned(),
            ),
        }
    }
}
