//! Lexer, parser and tree of SQL and PL/SQL.
//!
//! Text in, tree out: this crate touches no file, socket, clock or dictionary; it neither resolves names nor checks
//! types. Both languages have hand-written recursive-descent parsers, because hints, byte positions and Oracle's error
//! numbers are hard to produce from a grammar file.
#![forbid(unsafe_code)]

pub mod ast;
mod keywords;
pub mod lexer;
mod mask;
mod parser;
pub mod plsql;
mod sql_id;
mod unparse;
mod visit;

pub use keywords::{is_pseudo_column, is_reserved};
pub use mask::mask_passwords;
pub use parser::{
    BINDS_MAX, CHAIN_MAX, IN_LIST_MAX, NESTING_MAX, Names, bind_names, bind_places, is_place, name_of_place,
    parse_condition, parse_data_type, parse_expression, parse_query, parse_statement, parse_statement_by_place,
};
pub use parser::{Outline, Placeholder, outline};
pub use sql_id::{StaticSql, normalise_static, numbers_of, sql_id};
pub use visit::visit_expr;
