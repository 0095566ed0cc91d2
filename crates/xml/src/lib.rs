//! XML documents, XPath with the part of XQuery that scripts use, and XML text: see the README of the crate.

#![forbid(unsafe_code)]

mod chars;
mod document;
mod edit;
mod error;
mod evaluate;
mod functions;
mod item;
mod make;
mod node;
mod parse;
mod query;
mod reader;
mod steps;
mod table;
mod write;

pub use chars::{is_name, push_escaped, push_unescaped};
pub use document::Document;
pub use edit::{Edit, edit};
pub use error::{failed, unparsed};
pub use evaluate::{Check, Evaluation};
pub use item::{Item, Source, text_of_all};
pub use make::{
    Content, Element, Making, Serialization, check_characters, comment, element, escaped_name, instruction, made_name,
    value_text, without_declaration,
};
pub use node::{Kind, NodeId};
pub use parse::{Namespaces, parse, parse_namespaces};
pub use query::Query;
pub use reader::NESTING_MAX;
pub use table::{Column, Table, TableRows, cast, items_of};
pub use write::{indented, push_node};
