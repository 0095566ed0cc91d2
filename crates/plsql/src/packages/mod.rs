//! The built-in packages.

mod lobs;
mod natives;
pub mod output;
pub mod random;
mod specs;
mod stat_rec;
mod stat_table;
mod stats;

pub(crate) use natives::{is_native, native, random_number, run};

use crate::ty::Ty;

/// The specification of a built-in package.
pub fn specification(name: &str) -> Option<&'static str> {
    let at = specs::SPECIFICATIONS.binary_search_by(|(n, _)| (*n).cmp(name)).ok()?;
    Some(specs::SPECIFICATIONS[at].1)
}

/// Whether a package or type with that name comes with the database.
pub fn is_built_in(name: &str) -> bool {
    specification(name).is_some() || type_source(name).is_some()
}

/// The text of a built-in type.
pub fn type_source(name: &str) -> Option<&'static str> {
    specs::TYPES.iter().find(|(n, _)| *n == name).map(|(_, source)| *source)
}

/// Names of the built-in packages.
pub fn names() -> impl Iterator<Item = &'static str> {
    specs::SPECIFICATIONS.iter().map(|(name, _)| *name)
}

/// Types of built-in packages that are not written in PL/SQL.
pub(crate) fn package_type(path: &[&str]) -> Option<Ty> {
    match path {
        // An object type in Oracle; here its value is the result of the function with that name.
        ["DBMS_XA_XID"] | ["SYS", "DBMS_XA_XID"] => Some(Ty::of(types::DataType::Raw { len: 140 })),
        // Lines of plans and reports are for TABLE(…); PL/SQL only passes them on.
        [name @ ("DBMS_XPLAN_TYPE_TABLE" | "AWRRPT_TEXT_TYPE_TABLE")]
        | ["SYS", name @ ("DBMS_XPLAN_TYPE_TABLE" | "AWRRPT_TEXT_TYPE_TABLE")] => {
            types::TypeId::built_in_named(name).map(|id| Ty::of(types::DataType::Named(id)))
        }
        ["SYS" | "STANDARD", name] | ["SYS", "STANDARD", name] => match *name {
            "NUMBER" => Some(Ty::NUMBER),
            "VARCHAR2" => Some(Ty::TEXT),
            "BOOLEAN" => Some(Ty::BOOLEAN),
            "DATE" => Some(Ty::of(types::DataType::Date)),
            "PLS_INTEGER" | "BINARY_INTEGER" => Some(Ty::INTEGER),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn specifications_are_sorted_and_parse() {
        assert!(super::specs::SPECIFICATIONS.windows(2).all(|w| w[0].0 < w[1].0));
        for (name, text) in super::specs::SPECIFICATIONS {
            let unit = sql::plsql::parse_unit(text).unwrap_or_else(|e| panic!("{name}: {e}"));
            let sql::plsql::ast::Unit::Package(p) = unit else { panic!("{name}") };
            let mut seen = std::collections::HashMap::new();
            for d in &p.declarations {
                if let sql::plsql::ast::Declaration::Subprogram(s) = d {
                    let n = seen.entry(s.name.name.clone()).or_insert(0u32);
                    *n += 1;
                    let native = super::native(name, &s.name.name, *n);
                    assert!(native.is_some_and(super::is_native), "{name}.{} {n}", s.name.name);
                    if *name == "DBMS_STATS" {
                        let place = s.parameters.iter().position(|p| p.name.name == "NO_INVALIDATE");
                        let known = super::stats::no_invalidate_of(&s.name.name, *n);
                        assert_eq!(known, place, "{}", s.name.name);
                    }
                }
            }
        }
    }
}
