//! `x$kkproc` and `x$kkarg`, the bases of `dba_procedures` and `dba_arguments`: the subprograms of units and their
//! parameters.
//!
//! The rows are read from the sources of the units, including the built-in packages. A unit whose source cannot be
//! parsed has one row.

use crate::column::{Row, Type, Type::*, n, t, yes};
use crate::source::Source;
use dictionary::image::Image;
use dictionary::{ObjectKind, ProcedureDef, UnitKind};
use sql::plsql::ast::{Declaration, Mode, Subprogram, TypeKind, TypeRef, Unit};
use std::collections::HashMap;
use types::{ObjectId, Result, Value};

pub const PROCEDURES: &[(&str, Type)] = &[
    ("OBJ#", N),
    ("NAME", V(128)),
    ("SUBPROGRAM_ID", N),
    ("OVERLOAD", V(40)),
    ("DETERMINISTIC", V(3)),
    ("PIPELINED", V(3)),
    ("PARALLEL", V(3)),
];

pub const ARGUMENTS: &[(&str, Type)] = &[
    ("OBJ#", N),
    ("NAME", V(128)),
    ("SUBPROGRAM_ID", N),
    ("OVERLOAD", V(40)),
    ("ARGUMENT", V(128)),
    ("POSITION", N),
    ("SEQUENCE", N),
    ("DATA_TYPE", V(30)),
    ("PLS_TYPE", V(30)),
    ("TYPE_NAME", V(128)),
    ("TYPE_SUBNAME", V(128)),
    ("DEFAULTED", V(1)),
    ("IN_OUT", V(9)),
];

/// The subprograms of a unit that other units can call; `overload` counts those of one name from 1, and is 0 when there
/// is only one.
struct Shown {
    subprogram: Subprogram,
    id: u32,
    overload: u32,
}

fn shown(source: &str) -> Vec<Shown> {
    match sql::plsql::parse_unit(source) {
        Ok(Unit::Subprogram { subprogram, .. }) => vec![Shown { subprogram, id: 1, overload: 0 }],
        Ok(Unit::Package(package)) => {
            let declared = package.declarations.into_iter();
            let subprograms = declared.filter_map(|d| if let Declaration::Subprogram(s) = d { Some(s) } else { None });
            let mut list: Vec<Shown> =
                (1..).zip(subprograms).map(|(id, s)| Shown { subprogram: s, id, overload: 0 }).collect();
            let mut named: HashMap<String, u32> = HashMap::new();
            list.iter().for_each(|s| *named.entry(s.subprogram.name.name.clone()).or_default() += 1);
            let mut seen: HashMap<String, u32> = HashMap::new();
            for s in list.iter_mut().filter(|s| named[&s.subprogram.name.name] > 1) {
                let count = seen.entry(s.subprogram.name.name.clone()).or_default();
                *count += 1;
                s.overload = *count;
            }
            list
        }
        _ => Vec::new(),
    }
}

/// The callable units with their sources: those of users, and the built-in packages.
fn units(s: &Source<'_>) -> Result<Vec<(ObjectId, bool, String)>> {
    let image = s.instance.storage().dictionary.picture(s.p);
    let mut list = Vec::new();
    for object in image.objects_of_kinds(&[ObjectKind::Procedure, ObjectKind::Function, ObjectKind::Package]) {
        let unit = image.unit(object.object).filter(|unit| !unit.source.is_empty());
        let Some(unit) = unit else { continue };
        let is_package = unit.kind == UnitKind::Package;
        list.push((object.object, is_package, selected(&image, &unit)));
    }
    for (object, name, _) in dictionary::built_in_packages() {
        let source = plsql::packages::specification(name);
        list.extend(source.map(|source| (object, true, source.to_string())));
    }
    image.checked()?;
    Ok(list)
}

/// The text that the directives of a unit select.
fn selected(image: &Image, unit: &ProcedureDef) -> String {
    let as_stored = |unit: &ProcedureDef, kind: sql::plsql::ast::UnitKind| plsql::StoredUnit {
        owner: unit.owner.clone(),
        name: unit.name.clone(),
        kind,
        source: unit.source.clone(),
        settings: unit.settings.clone(),
    };
    let kind = match unit.kind {
        UnitKind::Package => sql::plsql::ast::UnitKind::Package,
        UnitKind::Function => sql::plsql::ast::UnitKind::Function,
        _ => sql::plsql::ast::UnitKind::Procedure,
    };
    let mut stored = |schema: Option<&str>, name: &str| {
        let schema = image.user_named(schema.unwrap_or(&unit.owner))?;
        let package = image.find(schema.id, ObjectKind::Package, name)?;
        Some(as_stored(&*image.unit(package.object)?, sql::plsql::ast::UnitKind::Package))
    };
    plsql::selected_source(&as_stored(unit, kind), &mut stored).into_owned()
}

fn overload(of: &Shown) -> Value {
    if of.overload == 0 { Value::Null } else { t(of.overload.to_string()) }
}

/// A row for each subprogram, and for a package one more without name and number.
pub fn procedures(s: &Source<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (object, is_package, source) in units(s)? {
        s.p.check_cancel()?;
        let shown = shown(&source);
        if is_package || shown.is_empty() {
            let id = if is_package { 0u32 } else { 1 };
            rows.push(vec![n(object.0), Value::Null, n(id), Value::Null, yes(false), yes(false), yes(false)]);
        }
        for one in &shown {
            let attributes = &one.subprogram.attributes;
            let name = if is_package { t(&one.subprogram.name.name) } else { Value::Null };
            rows.push(vec![
                n(object.0),
                name,
                n(one.id),
                overload(one),
                yes(attributes.deterministic),
                yes(attributes.pipelined.is_some()),
                yes(attributes.parallel_enable),
            ]);
        }
    }
    Ok(rows)
}

/// A row for each parameter, preceded by one for the result of a function.
pub fn arguments(s: &Source<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (object, _, source) in units(s)? {
        s.p.check_cancel()?;
        for one in shown(&source) {
            let mut sequence = 0u32;
            let mut row = |name: Value, position: u32, ty: &TypeRef, defaulted: bool, mode: &str| {
                sequence += 1;
                let (data_type, pls_type, type_name, subname) = named(ty);
                rows.push(vec![
                    n(object.0),
                    t(&one.subprogram.name.name),
                    n(one.id),
                    overload(&one),
                    name,
                    n(position),
                    n(sequence),
                    t(data_type),
                    t(pls_type),
                    t(type_name),
                    t(subname),
                    t(if defaulted { "Y" } else { "N" }),
                    t(mode),
                ]);
            };
            if let Some(result) = &one.subprogram.returns {
                row(Value::Null, 0, result, false, "OUT");
            }
            for (position, p) in (1..).zip(&one.subprogram.parameters) {
                let mode = match p.mode {
                    Mode::In => "IN",
                    Mode::Out => "OUT",
                    Mode::InOut => "IN/OUT",
                };
                row(t(&p.name.name), position, &p.ty, p.default.is_some(), mode);
            }
        }
    }
    Ok(rows)
}

/// A type as in ALL_ARGUMENTS: DATA_TYPE, PLS_TYPE, TYPE_NAME and TYPE_SUBNAME. The type behind %TYPE is not looked up.
fn named(ty: &TypeRef) -> (String, String, String, String) {
    let none = String::new;
    match &ty.kind {
        TypeKind::RefCursor => ("REF CURSOR".into(), none(), none(), none()),
        TypeKind::TypeOf(path) | TypeKind::RowTypeOf(path) => {
            let names: Vec<&str> = path.iter().map(|part| part.name.as_str()).collect();
            let kind = if matches!(ty.kind, TypeKind::TypeOf(_)) { "UNDEFINED" } else { "PL/SQL RECORD" };
            let (table, rest) = names.split_first().map_or(("", &[][..]), |(first, rest)| (*first, rest));
            (kind.into(), none(), table.into(), rest.join("."))
        }
        TypeKind::Named { path, .. } => {
            let names: Vec<&str> = path.iter().map(|part| part.name.as_str()).collect();
            match names.as_slice() {
                [name] => match data_type(name) {
                    Some(data_type) => (data_type.into(), (*name).into(), none(), none()),
                    None => ("UNDEFINED".into(), none(), (*name).into(), none()),
                },
                [package, name] => ("UNDEFINED".into(), none(), (*package).into(), (*name).into()),
                _ => ("UNDEFINED".into(), none(), names.join("."), none()),
            }
        }
    }
}

/// The DATA_TYPE of a built-in type.
fn data_type(name: &str) -> Option<&'static str> {
    Some(match name {
        "VARCHAR2" | "VARCHAR" | "STRING" => "VARCHAR2",
        "NVARCHAR2" => "NVARCHAR2",
        "CHAR" | "CHARACTER" => "CHAR",
        "NCHAR" => "NCHAR",
        "NUMBER" | "DEC" | "DECIMAL" | "NUMERIC" | "INTEGER" | "INT" | "SMALLINT" | "REAL" => "NUMBER",
        "FLOAT" | "DOUBLE PRECISION" => "FLOAT",
        "PLS_INTEGER" | "BINARY_INTEGER" | "NATURAL" | "NATURALN" | "POSITIVE" | "POSITIVEN" | "SIGNTYPE"
        | "SIMPLE_INTEGER" => "BINARY_INTEGER",
        "BINARY_FLOAT" => "BINARY_FLOAT",
        "BINARY_DOUBLE" => "BINARY_DOUBLE",
        "BOOLEAN" => "PL/SQL BOOLEAN",
        "DATE" => "DATE",
        "TIMESTAMP" => "TIMESTAMP",
        "TIMESTAMP WITH TIME ZONE" => "TIMESTAMP WITH TIME ZONE",
        "TIMESTAMP WITH LOCAL TIME ZONE" => "TIMESTAMP WITH LOCAL TIME ZONE",
        "INTERVAL DAY TO SECOND" => "INTERVAL DAY TO SECOND",
        "INTERVAL YEAR TO MONTH" => "INTERVAL YEAR TO MONTH",
        "RAW" => "RAW",
        "LONG" => "LONG",
        "LONG RAW" => "LONG RAW",
        "ROWID" => "ROWID",
        "UROWID" => "UROWID",
        "CLOB" => "CLOB",
        "NCLOB" => "NCLOB",
        "BLOB" => "BLOB",
        "BFILE" => "BFILE",
        _ => return None,
    })
}
