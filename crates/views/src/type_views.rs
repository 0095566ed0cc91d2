//! `x$kott`, `x$kota`, `x$kotm`, `x$kotp` and `x$kotc`, the bases of the views of types: the types of schemas, the
//! attributes and methods of object types, the parameters and results of methods, and the elements of collections.
//!
//! The rows are read from the sources of the types. A type whose source cannot be parsed has no rows.

use crate::column::{Row, Type, Type::*, n, t, yes};
use crate::source::Source;
use dictionary::image::Image;
use dictionary::{ObjectKind, UserId};
use sql::plsql::ast::{Method, MethodKind, Mode, ObjectType, TypeDefinition, TypeKind, TypeRef, Unit};
use std::collections::HashMap;
use types::{ObjectId, Result, Value};

pub const TYPES: &[(&str, Type)] = &[
    ("OBJ#", N),
    ("TYPECODE", V(128)),
    ("ATTRIBUTES", N),
    ("METHODS", N),
    ("FINAL", V(3)),
    ("INSTANTIABLE", V(3)),
    ("SUPERTYPE_OWNER", V(128)),
    ("SUPERTYPE_NAME", V(128)),
    ("LOCAL_ATTRIBUTES", N),
    ("LOCAL_METHODS", N),
];

pub const ATTRIBUTES: &[(&str, Type)] = &[
    ("OBJ#", N),
    ("NAME", V(128)),
    ("TYPE_OWNER", V(128)),
    ("TYPE_NAME", V(128)),
    ("LENGTH", N),
    ("PRECISION", N),
    ("SCALE", N),
    ("ATTR_NO", N),
    ("INHERITED", V(3)),
    ("CHAR_USED", V(1)),
];

pub const METHODS: &[(&str, Type)] = &[
    ("OBJ#", N),
    ("NAME", V(128)),
    ("METHOD_NO", N),
    ("METHOD_TYPE", V(6)),
    ("PARAMETERS", N),
    ("RESULTS", N),
    ("FINAL", V(3)),
    ("INSTANTIABLE", V(3)),
    ("OVERRIDING", V(3)),
    ("INHERITED", V(3)),
];

pub const PARAMETERS: &[(&str, Type)] = &[
    ("OBJ#", N),
    ("METHOD", V(128)),
    ("METHOD_NO", N),
    ("NAME", V(128)),
    ("PARAM_NO", N),
    ("PARAM_MODE", V(6)),
    ("TYPE_OWNER", V(128)),
    ("TYPE_NAME", V(128)),
];

pub const COLLECTIONS: &[(&str, Type)] = &[
    ("OBJ#", N),
    ("COLL_TYPE", V(128)),
    ("UPPER_BOUND", N),
    ("TYPE_OWNER", V(128)),
    ("TYPE_NAME", V(128)),
    ("LENGTH", N),
    ("PRECISION", N),
    ("SCALE", N),
    ("NULLS_STORED", V(3)),
    ("CHAR_USED", V(1)),
];

/// Greatest depth of types under one another that is followed.
const LEVELS_MAX: usize = 1000;

/// The types of all schemas by their objects.
struct Types {
    all: Vec<(ObjectId, UserId, String, TypeDefinition)>,
    by_object: HashMap<ObjectId, usize>,
}

impl Types {
    fn read(s: &Source<'_>, image: &Image) -> Result<Types> {
        let mut all = Vec::new();
        for object in image.objects_of_kinds(&[ObjectKind::Type]) {
            s.p.check_cancel()?;
            let Some(unit) = image.unit(object.object) else { continue };
            if let Ok(Unit::Type { schema: _, name, definition }) = sql::plsql::parse_unit(&unit.source) {
                all.push((object.object, object.owner_id, name.name, definition));
            }
        }
        image.checked()?;
        let by_object = all.iter().enumerate().map(|(at, (object, ..))| (*object, at)).collect();
        Ok(Types { all, by_object })
    }

    /// An object type and those above it, the highest first.
    fn line<'t>(&'t self, image: &Image, at: usize) -> Vec<(ObjectId, UserId, &'t ObjectType)> {
        let mut line = Vec::new();
        let mut next = Some(at);
        while let Some(at) = next.filter(|_| line.len() < LEVELS_MAX) {
            let (object, owner, _, TypeDefinition::Object(of)) = &self.all[at] else { break };
            line.push((*object, *owner, &**of));
            let above = of.under.as_ref().and_then(|ty| found(image, *owner, ty));
            next = above.and_then(|object| self.by_object.get(&object).copied());
        }
        line.reverse();
        line
    }
}

/// The type of a schema that a type reference names.
fn found(image: &Image, owner: UserId, ty: &TypeRef) -> Option<ObjectId> {
    let TypeKind::Named { path, sizes: _, unit: _ } = &ty.kind else { return None };
    let def = match path.as_slice() {
        [name] => image.find(owner, ObjectKind::Type, &name.name),
        [schema, name] => image.find(image.user_named(&schema.name)?.id, ObjectKind::Type, &name.name),
        _ => None,
    };
    def.map(|def| def.object)
}

/// Owner and name of a type, and its length, precision, scale and unit of length.
struct Shown {
    owner: Value,
    name: Value,
    length: Value,
    precision: Value,
    scale: Value,
    unit: Value,
}

fn shown(image: &Image, owner: UserId, ty: &TypeRef) -> Shown {
    let null = || Value::Null;
    let mut made =
        Shown { owner: null(), name: null(), length: null(), precision: null(), scale: null(), unit: null() };
    match &ty.kind {
        TypeKind::RefCursor => made.name = t("REF CURSOR"),
        TypeKind::TypeOf(path) | TypeKind::RowTypeOf(path) => {
            let names: Vec<&str> = path.iter().map(|part| part.name.as_str()).collect();
            made.name = t(names.join("."));
        }
        TypeKind::Named { path, sizes, unit } => {
            let Some(name) = path.last().map(|part| part.name.as_str()) else { return made };
            let object = found(image, owner, ty).and_then(|object| image.object(object));
            if let Some(def) = object {
                made.owner = t(image.user_name(def.owner_id));
                made.name = t(&def.name);
                return made;
            }
            made.name = t(match name {
                "INT" | "SMALLINT" => "INTEGER",
                "VARCHAR" => "VARCHAR2",
                "CHARACTER" => "CHAR",
                "NUMERIC" | "DEC" => "DECIMAL",
                name => name,
            });
            let size = |at: usize| sizes.get(at).map_or(Value::Null, |size| Value::Number((*size).into()));
            match name {
                "NUMBER" | "NUMERIC" | "DECIMAL" | "DEC" | "FLOAT" | "TIMESTAMP" => {
                    made.precision = size(0);
                    made.scale = size(1);
                }
                _ => made.length = size(0),
            }
            if matches!(name, "VARCHAR2" | "VARCHAR" | "CHAR" | "CHARACTER" | "NVARCHAR2" | "NCHAR") {
                let is_char = *unit == Some(sql::plsql::ast::LengthUnit::Char);
                made.unit = t(if is_char { "C" } else { "B" });
            }
        }
    }
    made
}

/// A row for each type of a schema.
pub fn types(s: &Source<'_>) -> Result<Vec<Row>> {
    let image = s.instance.storage().dictionary.picture(s.p);
    let all = Types::read(s, &image)?;
    let mut rows = Vec::new();
    for (at, (object, _, _, definition)) in all.all.iter().enumerate() {
        let TypeDefinition::Object(of) = definition else {
            let none = || Value::Null;
            let zero = || n(0u32);
            rows.push(vec![
                n(object.0),
                t("COLLECTION"),
                zero(),
                zero(),
                yes(true),
                yes(true),
                none(),
                none(),
                none(),
                none(),
            ]);
            continue;
        };
        let line = all.line(&image, at);
        let attributes: usize = line.iter().map(|(_, _, of)| of.attributes.len()).sum();
        let methods = methods_of(&line);
        let above = line.iter().rev().nth(1).and_then(|(object, ..)| image.object(*object));
        let local = |count: usize| if above.is_some() { n(count as u32) } else { Value::Null };
        rows.push(vec![
            n(object.0),
            t("OBJECT"),
            n(attributes as u32),
            n(methods.len() as u32),
            yes(of.is_final),
            yes(of.instantiable),
            above.as_ref().map_or(Value::Null, |def| t(image.user_name(def.owner_id))),
            above.as_ref().map_or(Value::Null, |def| t(&def.name)),
            local(of.attributes.len()),
            local(of.methods.len()),
        ]);
    }
    Ok(rows)
}

/// A row for each attribute of an object type, the inherited ones first.
pub fn attributes(s: &Source<'_>) -> Result<Vec<Row>> {
    let image = s.instance.storage().dictionary.picture(s.p);
    let all = Types::read(s, &image)?;
    let mut rows = Vec::new();
    for (at, (object, ..)) in all.all.iter().enumerate() {
        let line = all.line(&image, at);
        let each = line.iter().flat_map(|(of, owner, ty)| ty.attributes.iter().map(move |a| (*of, *owner, a)));
        for (number, (of, owner, a)) in (1u32..).zip(each) {
            let Shown { owner, name, length, precision, scale, unit } = shown(&image, owner, &a.ty);
            let inherited = yes(of != *object);
            rows.push(vec![
                n(object.0),
                t(&a.name.name),
                owner,
                name,
                length,
                precision,
                scale,
                n(number),
                inherited,
                unit,
            ]);
        }
    }
    Ok(rows)
}

/// The methods of a type: those that it inherits and does not override, then its own.
fn methods_of<'t>(line: &[(ObjectId, UserId, &'t ObjectType)]) -> Vec<(ObjectId, UserId, &'t Method)> {
    let heading = |m: &Method| {
        let named = |p: &sql::plsql::ast::Parameter| (p.name.name.clone(), p.mode);
        let own = m.subprogram.parameters.iter().filter(|p| p.name.name != "SELF").map(named);
        (m.subprogram.name.name.clone(), own.collect::<Vec<_>>())
    };
    let mut methods: Vec<(ObjectId, UserId, &Method)> = Vec::new();
    for (depth, (object, owner, of)) in line.iter().enumerate() {
        let is_last = depth + 1 == line.len();
        for m in &of.methods {
            if m.overriding {
                methods.retain(|(_, _, known)| heading(known) != heading(m));
            }
            if is_last || m.kind != MethodKind::Constructor {
                methods.push((*object, *owner, m));
            }
        }
    }
    methods
}

/// The parameters of a method, SELF included: name, mode and type; the type of an unwritten SELF is that of the object.
fn parameters_of(m: &Method) -> Vec<(&str, Mode, Option<&TypeRef>)> {
    let written = m.subprogram.parameters.iter().map(|p| (p.name.name.as_str(), p.mode, Some(&p.ty)));
    let has_self = m.subprogram.parameters.first().is_some_and(|p| p.name.name == "SELF");
    let is_in = m.subprogram.returns.is_some() && m.kind != MethodKind::Constructor;
    let own = (m.kind != MethodKind::Static && !has_self).then_some((
        "SELF",
        if is_in { Mode::In } else { Mode::InOut },
        None,
    ));
    own.into_iter().chain(written).collect()
}

/// A row for each method of an object type.
pub fn methods(s: &Source<'_>) -> Result<Vec<Row>> {
    let image = s.instance.storage().dictionary.picture(s.p);
    let all = Types::read(s, &image)?;
    let mut rows = Vec::new();
    for (at, (object, ..)) in all.all.iter().enumerate() {
        for (number, (of, _, m)) in (1u32..).zip(methods_of(&all.line(&image, at))) {
            rows.push(vec![
                n(object.0),
                t(&m.subprogram.name.name),
                n(number),
                t(match m.kind {
                    MethodKind::Map => "MAP",
                    MethodKind::Order => "ORDER",
                    MethodKind::Member | MethodKind::Static | MethodKind::Constructor => "PUBLIC",
                }),
                n(parameters_of(m).len() as u32),
                n(u32::from(m.subprogram.returns.is_some())),
                yes(m.is_final),
                yes(m.instantiable),
                yes(m.overriding),
                yes(of != *object),
            ]);
        }
    }
    Ok(rows)
}

/// A row for each parameter of a method, and one with number 0 for the result of a function.
pub fn parameters(s: &Source<'_>) -> Result<Vec<Row>> {
    let image = s.instance.storage().dictionary.picture(s.p);
    let all = Types::read(s, &image)?;
    let mut rows = Vec::new();
    for (at, (object, ..)) in all.all.iter().enumerate() {
        for (number, (of, owner, m)) in (1u32..).zip(methods_of(&all.line(&image, at))) {
            let own = |image: &Image| {
                let def = image.object(of);
                let of_owner = t(image.user_name(owner));
                (of_owner, def.map_or(Value::Null, |def| t(&def.name)))
            };
            let mut row = |name: Value, at: u32, mode: &str, (type_owner, type_name): (Value, Value)| {
                let method = t(&m.subprogram.name.name);
                rows.push(vec![n(object.0), method, n(number), name, n(at), t(mode), type_owner, type_name]);
            };
            let of_type = |ty: Option<&TypeRef>| match ty {
                None => own(&image),
                Some(ty) => {
                    let shown = shown(&image, owner, ty);
                    (shown.owner, shown.name)
                }
            };
            if let Some(ty) = &m.subprogram.returns {
                let result = if m.kind == MethodKind::Constructor { None } else { Some(ty) };
                row(Value::Null, 0, "OUT", of_type(result));
            }
            for (place, (name, mode, ty)) in (1u32..).zip(parameters_of(m)) {
                let mode = match mode {
                    Mode::In => "IN",
                    Mode::Out => "OUT",
                    Mode::InOut => "IN/OUT",
                };
                row(t(name), place, mode, of_type(ty));
            }
        }
    }
    Ok(rows)
}

/// A row for each collection type.
pub fn collections(s: &Source<'_>) -> Result<Vec<Row>> {
    let image = s.instance.storage().dictionary.picture(s.p);
    let all = Types::read(s, &image)?;
    let mut rows = Vec::new();
    for (object, owner, _, definition) in &all.all {
        let (kind, limit, element, not_null) = match definition {
            TypeDefinition::NestedTable { element, not_null } => ("TABLE", Value::Null, element, *not_null),
            TypeDefinition::Varray { limit, element, not_null } => ("VARYING ARRAY", n(*limit), element, *not_null),
            TypeDefinition::Object(_)
            | TypeDefinition::Record(_)
            | TypeDefinition::Associative { element: _, not_null: _, index: _ }
            | TypeDefinition::RefCursor { returns: _ } => continue,
        };
        let Shown { owner, name, length, precision, scale, unit } = shown(&image, *owner, element);
        let nulls = yes(!not_null);
        rows.push(vec![n(object.0), t(kind), limit, owner, name, length, precision, scale, nulls, unit]);
    }
    Ok(rows)
}
