//! Trees as SQL text: queries, DML and expressions.
//!
//! The text parses back to an equal tree (Q4). It may differ from the original text: names are quoted where necessary,
//! and every operand with operators is in parentheses.

mod dml;
mod expr;
mod json;
mod query;
mod xml;

use crate::ast::{Ident, Name};
use crate::keywords::{is_pseudo_column, is_reserved};
use std::fmt::{self, Display, Formatter};

/// Words that cannot be printed unquoted as a name in an expression.
const SPECIAL: &[&str] =
    &["CASE", "CAST", "TRIM", "EXTRACT", "CURSOR", "CONNECT_BY_ROOT", "MULTISET", "BULK", "INTERVAL", "TIMESTAMP"];

fn is_plain(name: &str) -> bool {
    let mut letters = name.bytes();
    letters.next().is_some_and(|first| first.is_ascii_uppercase())
        && letters.all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'$' | b'#'))
}

/// An identifier, quoted if a reserved word would be taken as a keyword.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let bare = is_plain(self.0) && !is_reserved(self.0) && !SPECIAL.contains(&self.0);
        if bare { f.write_str(self.0) } else { write!(f, "\"{}\"", self.0) }
    }
}

/// An alias, always quoted, so that it is not taken as a keyword of the next clause.
struct Alias<'a>(&'a Option<Ident>);

impl Display for Alias<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(alias) => write!(f, " \"{}\"", alias.name),
            None => Ok(()),
        }
    }
}

impl Display for Ident {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Quoted(&self.name).fmt(f)
    }
}

impl Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, part) in self.parts.iter().enumerate() {
            if i > 0 {
                f.write_str(".")?;
            }
            let bare = is_pseudo_column(&part.name) || (i > 0 && is_plain(&part.name));
            match self.written(i) {
                written if written != part.name => f.write_str(written)?,
                _ if bare => f.write_str(&part.name)?,
                _ => part.fmt(f)?,
            }
        }
        match &self.link {
            Some(link) => write!(f, "@{link}"),
            None => Ok(()),
        }
    }
}

/// Items with a separator.
struct List<'a, T>(&'a [T]);

impl<T: Display> Display for List<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, item) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            item.fmt(f)?;
        }
        Ok(())
    }
}

/// A keyword and its operand, or nothing.
struct Clause<'a, T>(&'a str, &'a Option<T>);

impl<T: Display> Display for Clause<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.1 {
            Some(item) => write!(f, " {} {item}", self.0),
            None => Ok(()),
        }
    }
}

/// A string literal.
struct Text<'a>(&'a str);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'", self.0.replace('\'', "''"))
    }
}
