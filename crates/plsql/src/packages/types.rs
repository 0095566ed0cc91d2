//! Types that come with the database.

use crate::ty::Ty;
use types::{DataType, TypeId};

/// Collection types that come with the database; PL/SQL treats them like user types.
const TYPES: &[(&str, &str)] = &[
    ("DBMSOUTPUT_LINESARRAY", "type dbmsoutput_linesarray as varray(2147483647) of varchar2(32767)"),
    ("ODCIDATELIST", "type odcidatelist as varray(32767) of date"),
    ("ODCINUMBERLIST", "type odcinumberlist as varray(32767) of number"),
    ("ODCIRAWLIST", "type odcirawlist as varray(32767) of raw(2000)"),
    ("ODCIVARCHAR2LIST", "type odcivarchar2list as varray(32767) of varchar2(4000)"),
];

/// The text of a built-in type.
pub fn type_source(name: &str) -> Option<&'static str> {
    TYPES.iter().find(|(n, _)| *n == name).map(|(_, source)| *source)
}

/// Types of built-in packages that are not written in PL/SQL.
pub(crate) fn package_type(path: &[&str]) -> Option<Ty> {
    match path {
        // An object type in Oracle; here its value is the result of the function with that name.
        ["DBMS_XA_XID"] | ["SYS", "DBMS_XA_XID"] => Some(Ty::of(DataType::Raw { len: 140 })),
        // Lines of plans and reports are for TABLE(…); PL/SQL only passes them on.
        [name @ ("DBMS_XPLAN_TYPE_TABLE" | "AWRRPT_TEXT_TYPE_TABLE")]
        | ["SYS", name @ ("DBMS_XPLAN_TYPE_TABLE" | "AWRRPT_TEXT_TYPE_TABLE")] => {
            TypeId::built_in_named(name).map(|id| Ty::of(DataType::Named(id)))
        }
        ["SYS" | "STANDARD", name] | ["SYS", "STANDARD", name] => match *name {
            "NUMBER" => Some(Ty::NUMBER),
            "VARCHAR2" => Some(Ty::TEXT),
            "BOOLEAN" => Some(Ty::BOOLEAN),
            "DATE" => Some(Ty::of(DataType::Date)),
            "PLS_INTEGER" | "BINARY_INTEGER" => Some(Ty::INTEGER),
            _ => None,
        },
        _ => None,
    }
}
