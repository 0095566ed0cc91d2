//! Lexer, parser and tree of SQL and PL/SQL.
//!
//! Text in, tree out: this crate touches no file, socket, clock or dictionary. Names are not resolved and types not
//! checked here. Both languages are parsed by hand-written recursive descent, because hints, byte positions and
//! Oracle's own error numbers matter more than a grammar file would give.
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
