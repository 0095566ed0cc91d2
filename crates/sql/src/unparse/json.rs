//! The functions of SQL/JSON as text.

use super::{Quoted, Text};
use crate::ast::*;
use std::fmt::{self, Display, Formatter};

/// The content of the parentheses of a call with clauses.
pub(super) struct JsonCall<'a>(pub &'a Call, pub &'a JsonClauses);

impl Display for JsonCall<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let JsonCall(call, clauses) = self;
        let name = call.name.last();
        let format = |at: usize| if clauses.formats.get(at) == Some(&true) { " FORMAT JSON" } else { "" };
        let given = call.args.len() - clauses.passing.len().min(call.args.len());
        let comma = |at: usize| if at > 0 { ", " } else { "" };
        match name {
            "JSON_OBJECT" | "JSON_OBJECTAGG" => {
                for (at, pair) in call.args.chunks(2).enumerate() {
                    match pair {
                        [key, value] => {
                            write!(f, "{}KEY {} VALUE {}{}", comma(at), key.value, value.value, format(at))?;
                        }
                        _ => f.write_str("*")?,
                    }
                }
            }
            _ => {
                for (at, arg) in call.args[..given].iter().enumerate() {
                    write!(f, "{}{}{}", comma(at), arg.value, format(at))?;
                }
            }
        }
        if clauses.format {
            f.write_str(" FORMAT JSON")?;
        }
        if let Some(path) = &clauses.path {
            write!(f, ", {}", Text(&path.text))?;
        }
        for (at, name) in clauses.passing.iter().enumerate() {
            let word = if at == 0 { " PASSING" } else { "," };
            write!(f, "{word} {} AS \"{}\"", call.args[given + at].value, name.name)?;
        }
        if !call.within_group.is_empty() {
            write!(f, " ORDER BY {}", super::List(&call.within_group))?;
        }
        self.1.fmt(f)?;
        if !clauses.columns.is_empty() {
            write!(f, " COLUMNS ({})", super::List(&clauses.columns))?;
        }
        Ok(())
    }
}

/// The clauses after the path.
impl Display for JsonClauses {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.null_on_null {
            Some(true) => f.write_str(" NULL ON NULL")?,
            Some(false) => f.write_str(" ABSENT ON NULL")?,
            None => {}
        }
        if let Some(ty) = &self.returning {
            write!(f, " RETURNING {ty}")?;
        }
        let words =
            [(self.truncate, "TRUNCATE"), (self.pretty, "PRETTY"), (self.ascii, "ASCII"), (self.strict, "STRICT")];
        words.iter().filter(|(set, _)| *set).try_for_each(|(_, word)| write!(f, " {word}"))?;
        if self.unique_keys {
            f.write_str(" WITH UNIQUE KEYS")?;
        }
        match self.scalars {
            Some(true) => f.write_str(" ALLOW SCALARS")?,
            Some(false) => f.write_str(" DISALLOW SCALARS")?,
            None => {}
        }
        match self.wrapper {
            Some(JsonWrapper::Without) => f.write_str(" WITHOUT WRAPPER")?,
            Some(JsonWrapper::Conditional) => f.write_str(" WITH CONDITIONAL WRAPPER")?,
            Some(JsonWrapper::Unconditional) => f.write_str(" WITH WRAPPER")?,
            None => {}
        }
        if let Some(otherwise) = &self.on_error {
            write!(f, " {otherwise} ON ERROR")?;
        }
        if let Some(otherwise) = &self.on_empty {
            write!(f, " {otherwise} ON EMPTY")?;
        }
        Ok(())
    }
}

impl Display for JsonOtherwise {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            JsonOtherwise::Null => f.write_str("NULL"),
            JsonOtherwise::Error => f.write_str("ERROR"),
            JsonOtherwise::EmptyArray => f.write_str("EMPTY ARRAY"),
            JsonOtherwise::EmptyObject => f.write_str("EMPTY OBJECT"),
            JsonOtherwise::True => f.write_str("TRUE"),
            JsonOtherwise::False => f.write_str("FALSE"),
            JsonOtherwise::Default(minus, literal) => {
                write!(f, "DEFAULT {}{literal}", if *minus { "-" } else { "" })
            }
        }
    }
}

impl Display for JsonColumn {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            JsonColumn::Ordinality(name) => write!(f, "{} FOR ORDINALITY", Quoted(&name.name)),
            JsonColumn::Value { name, exists, clauses } => {
                write!(f, "{}", Quoted(&name.name))?;
                if let Some(ty) = &clauses.returning {
                    write!(f, " {ty}")?;
                }
                if *exists {
                    f.write_str(" EXISTS")?;
                }
                if clauses.format {
                    f.write_str(" FORMAT JSON")?;
                }
                if let Some(path) = &clauses.path {
                    write!(f, " PATH {}", Text(&path.text))?;
                }
                JsonClauses { returning: None, ..(**clauses).clone() }.fmt(f)
            }
            JsonColumn::Nested { path, columns } => {
                write!(f, "NESTED PATH {} COLUMNS ({})", Text(&path.text), super::List(columns))
            }
        }
    }
}
