//! Lexer, parser and tree of SQL and PL/SQL.
