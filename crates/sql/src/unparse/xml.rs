//! The functions of SQL/XML as text.

use super::{Quoted, Text};
use crate::ast::*;
use std::fmt::{self, Display, Formatter};

/// The content of the parentheses of a call with clauses.
pub(super) struct XmlCall<'a>(pub &'a Call, pub &'a XmlClauses);

impl Display for XmlCall<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let XmlCall(call, clauses) = self;
        let mut args = call.args.iter();
        match call.name.last() {
            "XMLELEMENT" | "XMLPI" => {
                match clauses.escaping {
                    Some(true) => f.write_str("ENTITYESCAPING ")?,
                    Some(false) => f.write_str("NOENTITYESCAPING ")?,
                    None => {}
                }
                match (&clauses.name, clauses.name.is_none().then(|| args.next()).flatten()) {
                    (Some(name), _) => write!(f, "NAME {}", Quoted(&name.name))?,
                    (None, Some(name)) => write!(f, "EVALNAME {}", name.value)?,
                    (None, None) => {}
                }
                if !clauses.attributes.is_empty() {
                    f.write_str(", XMLATTRIBUTES(")?;
                    values(&clauses.attributes, &mut args, f)?;
                    f.write_str(")")?;
                }
                args.try_for_each(|arg| write!(f, ", {}", arg.value))
            }
            "XMLFOREST" | "XMLCOLATTVAL" => values(&clauses.names, &mut args, f),
            "XMLPARSE" => {
                f.write_str(kind(clauses.document))?;
                args.try_for_each(|arg| arg.value.fmt(f))?;
                f.write_str(if clauses.wellformed { " WELLFORMED" } else { "" })
            }
            "XMLROOT" => {
                args.next().iter().try_for_each(|arg| write!(f, "{}, VERSION ", arg.value))?;
                match args.next() {
                    Some(version) => version.value.fmt(f)?,
                    None => f.write_str("NO VALUE")?,
                }
                match clauses.standalone {
                    Some(true) => f.write_str(", STANDALONE YES"),
                    Some(false) => f.write_str(", STANDALONE NO"),
                    None => Ok(()),
                }
            }
            "XMLSERIALIZE" | "XMLCAST" => {
                f.write_str(kind(clauses.document))?;
                args.try_for_each(|arg| arg.value.fmt(f))?;
                clauses.ty.iter().try_for_each(|ty| write!(f, " AS {ty}"))?;
                match clauses.indent {
                    Some(XmlIndent::No) => f.write_str(" NO INDENT"),
                    Some(XmlIndent::Size(size)) => write!(f, " INDENT SIZE = {size}"),
                    None => Ok(()),
                }
            }
            name => {
                if !clauses.namespaces.is_empty() {
                    f.write_str("XMLNAMESPACES(")?;
                    for (at, (prefix, name)) in clauses.namespaces.iter().enumerate() {
                        f.write_str(if at > 0 { ", " } else { "" })?;
                        match prefix.is_empty() {
                            true => write!(f, "DEFAULT {}", Text(name))?,
                            false => write!(f, "{} AS \"{prefix}\"", Text(name))?,
                        }
                    }
                    f.write_str("), ")?;
                }
                match &clauses.query {
                    Some(query) => Text(&query.text).fmt(f)?,
                    None => args.next().iter().try_for_each(|arg| arg.value.fmt(f))?,
                }
                for (at, (value, alias)) in args.zip(&clauses.passing).enumerate() {
                    write!(f, "{} {}", if at > 0 { "," } else { " PASSING" }, value.value)?;
                    alias.iter().try_for_each(|alias| write!(f, " AS {}", Quoted(&alias.name)))?;
                }
                if name == "XMLQUERY" {
                    f.write_str(" RETURNING CONTENT")?;
                }
                if !clauses.columns.is_empty() {
                    write!(f, " COLUMNS {}", super::List(&clauses.columns))?;
                }
                Ok(())
            }
        }
    }
}

fn kind(document: Option<bool>) -> &'static str {
    match document {
        Some(true) => "DOCUMENT ",
        Some(false) => "CONTENT ",
        None => "",
    }
}

fn values<'a>(names: &'a [XmlName], args: &mut std::slice::Iter<'a, Argument>, f: &mut Formatter<'_>) -> fmt::Result {
    for (at, (name, evaluated, value)) in named_values(names, args).into_iter().enumerate() {
        write!(f, "{}{value}", if at > 0 { ", " } else { "" })?;
        match (name, evaluated) {
            (XmlName::Written(name), _) => write!(f, " AS {}", Quoted(name))?,
            (XmlName::Evaluated, Some(name)) => write!(f, " AS EVALNAME {name}")?,
            _ => {}
        }
    }
    Ok(())
}

impl Display for XmlColumn {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Quoted(&self.name.name))?;
        match &self.kind {
            XmlColumnKind::Ordinality => f.write_str(" FOR ORDINALITY"),
            XmlColumnKind::Value { ty, path, default } => {
                write!(f, " {ty}")?;
                path.iter().try_for_each(|path| write!(f, " PATH {}", Text(&path.text)))?;
                default
                    .iter()
                    .try_for_each(|(minus, literal)| write!(f, " DEFAULT {}{literal}", if *minus { "-" } else { "" }))
            }
        }
    }
}
