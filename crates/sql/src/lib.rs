//! Lexer, parser and tree of SQL and PL/SQL.

pub mod plsql;
