//! Lexer, parser and tree of SQL and PL/SQL.
//!
//! Text in, tree out: this crate touches no file, socket, clock or dictionary. Names are not resolved and types not checked here.
//! Both languages are parsed by hand-written recursive descent, because hints, byte positions and Oracle's own error numbers matter
//! more than a grammar file would give.
#![forbid(unsafe_code)]

pub mod ast;
mod keywords;
pub mod lexer;
pub mod plsql;

pub use keywords::{is_pseudo_column, is_reserved};
