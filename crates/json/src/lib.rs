//! JSON documents, the path language of SQL/JSON, and JSON text: see the README of the crate.

#![forbid(unsafe_code)]

mod document;
mod edit;
mod function;
mod make;
pub mod path;
mod strings;
mod table;
mod write;

pub use document::{Document, Kind, NESTING_MAX, NodeId, Syntax, is_json};
pub use edit::{equal, merge_patch};
pub use function::{Compiled, Function, Operator, Otherwise, Wrapper};
pub use make::{Item, Making, write_item, write_member};
pub use strings::{push_quoted, unescaped};
pub use table::{Column, Columns, Level, TABLE_NESTING_MAX, Table, TableRows};
pub use write::{Layout, WRITTEN_MAX, write};
