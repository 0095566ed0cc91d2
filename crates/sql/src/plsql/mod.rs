//! PL/SQL: its tree and its parser.

pub mod ast;
