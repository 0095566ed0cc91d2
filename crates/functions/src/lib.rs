//! Scalar SQL functions and operators of Latchwork.
//!
//! All functions work on evaluated [`Value`]s: the engine looks a function up by name once ([`lookup`]), asks for its
//! return type, and calls it for every row with a result value whose buffer is reused (F1, F2). Session state comes in
//! as [`FnCtx`]. DECODE, NVL2 and COALESCE are also here, for callers without lazy evaluation; the engine itself
//! evaluates them lazily.

#![forbid(unsafe_code)]

mod args;
mod charset;
pub mod clock;
mod context;
mod convert;
mod date;
mod general;
mod hash;
mod json_cache;
mod numeric;
pub mod ops;
mod raw;
mod regexp;
mod sample;
mod session;
mod sql_json;
mod sql_xml;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod xml_cache;

pub use args::{Eval, Returns};
pub use context::{Clock, FnCache, FnCtx, LOB_MAX, SQL_TEXT_MAX, SessionInfo, TextMax};
pub use general::{common_type, decode_equal};
pub use sql_xml::XmlOp;
pub use table::{
    AT_TIME_ZONE, ATTRIBUTE, CARDINALITY, FnDef, JSON, JSON_ARRAY, JSON_EQUAL, JSON_FINISH, JSON_IS, JSON_ITEM,
    JSON_MEMBER, JSON_MERGEPATCH, JSON_OBJECT, LOCATOR, MEMBER, MULTISET, RETYPE, SAME, SAMPLE, SUBMULTISET,
    TO_CHAR_OF_DIGITS, XML, XML_CAST, XML_ITEM, XML_MAKE, XML_QUERY, XML_QUERY_EXISTS, is_named, lookup, names,
};
pub use xml_cache::QuerySpec;
