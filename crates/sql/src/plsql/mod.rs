//! PL/SQL: its tree and its parser.

pub mod ast;
mod error;
mod events;
mod parser;

pub use error::line_column;
pub use parser::{Directives, StaticValue, conditional_flags, select, static_constant, type_is_forced};
pub use parser::{
    is_reserved, parse_block, parse_create_header, parse_expression, parse_name_at, parse_trigger_header, parse_unit,
};
