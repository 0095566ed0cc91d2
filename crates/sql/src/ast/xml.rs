//! The clauses of the functions of SQL/XML.

use super::{DataTypeName, Expr, Ident, JsonPath, Literal};

/// The clauses of a function of SQL/XML. Its values are the arguments of the call: the evaluated name of the element,
/// then attributes and contents, each after its evaluated name; for a query the values of PASSING.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct XmlClauses {
    /// The name of XMLELEMENT or XMLPI; `None` with EVALNAME.
    pub name: Option<Ident>,
    /// ENTITYESCAPING and NOENTITYESCAPING.
    pub escaping: Option<bool>,
    /// The names in XMLATTRIBUTES.
    pub attributes: Vec<XmlName>,
    /// The names of the contents of XMLFOREST and XMLCOLATTVAL.
    pub names: Vec<XmlName>,
    /// DOCUMENT and CONTENT.
    pub document: Option<bool>,
    /// WELLFORMED.
    pub wellformed: bool,
    /// The type of XMLSERIALIZE and XMLCAST.
    pub ty: Option<DataTypeName>,
    pub indent: Option<XmlIndent>,
    /// VERSION of XMLROOT is an argument, and not NO VALUE.
    pub version: bool,
    /// STANDALONE of XMLROOT: YES, NO.
    pub standalone: Option<bool>,
    /// The expression of XMLQUERY and XMLEXISTS.
    pub query: Option<JsonPath>,
    /// The names in PASSING; `None` for the context item.
    pub passing: Vec<Option<Ident>>,
    /// XMLNAMESPACES: prefixes and names; the empty prefix is DEFAULT.
    pub namespaces: Vec<(String, String)>,
    pub columns: Vec<XmlColumn>,
}

/// The name of an attribute or of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum XmlName {
    /// The value, a column, gives its name.
    Missing,
    Written(String),
    /// AS EVALNAME: the argument before the value.
    Evaluated,
}

/// INDENT of XMLSERIALIZE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XmlIndent {
    No,
    Size(u32),
}

/// A column of XMLTABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct XmlColumn {
    pub name: Ident,
    pub kind: XmlColumnKind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum XmlColumnKind {
    Ordinality,
    Value {
        ty: DataTypeName,
        path: Option<JsonPath>,
        /// A literal, and whether a minus sign stands before it.
        default: Option<(bool, Literal)>,
    },
}

/// The values of a list with their names: an evaluated name is an argument of its own.
pub fn named_values<'a>(
    names: &'a [XmlName],
    args: &mut std::slice::Iter<'a, super::Argument>,
) -> Vec<(&'a XmlName, Option<&'a Expr>, &'a Expr)> {
    let mut all = Vec::with_capacity(names.len());
    for name in names {
        let evaluated = match name {
            XmlName::Evaluated => args.next().map(|a| &a.value),
            XmlName::Missing | XmlName::Written(_) => None,
        };
        let Some(value) = args.next() else { break };
        all.push((name, evaluated, &value.value));
    }
    all
}
