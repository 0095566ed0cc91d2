//! Columns of tables, clusters and views: conversion from a statement to COL$.

use crate::work::{Work, no_column};
use dictionary::base::{Base, col};
use dictionary::image::property;
use dictionary::rows::{Row, as_u32, blank, flag, int, text, type_columns};
use dictionary::{Catalog, ColumnDef, Identity, ObjectPrivilege, TableDef, UnitKind};
use sql::ast::{
    ColumnDefault, ColumnSpec, ConstraintKind, ConstraintSpec, Expr, ExprKind, Ident, Literal, Name, TypeKind,
};
use types::{DataType, LenUnit, ObjectId, Ora, Result, TypeId, Value};

/// The most columns a table may have.
pub const COLUMNS_MAX: usize = 1000;
/// The longest VARCHAR2 and RAW in a table: MAX_STRING_SIZE = STANDARD.
const VARCHAR2_MAX: u32 = 4000;
const RAW_MAX: u32 = 2000;

/// The type of a column. ORA-00902 for an unknown type, ORA-00910 and ORA-00906 for lengths.
pub fn column_type(work: &Work<'_>, spec: &ColumnSpec) -> Result<Option<DataType>> {
    let Some(ty) = &spec.ty else {
        return Ok(None);
    };
    let pos = ty.pos.0;
    match &ty.kind {
        TypeKind::Named { name, args } if args.is_empty() => return named_type(work, name, pos).map(Some),
        TypeKind::Named { name: _, args: _ } | TypeKind::Boolean => return Err(Ora::new(902).at(pos)),
        // not a clause: `plan::data_type` handles the others
        _ => {}
    }
    let data_type = plan::data_type(ty)?;
    let too_long = match data_type {
        DataType::Varchar2 { len, .. } => len > VARCHAR2_MAX,
        DataType::Raw { len } => len > RAW_MAX,
        _ => false,
    };
    if too_long { Err(Ora::new(910).at(pos)) } else { Ok(Some(data_type)) }
}

/// A type of a schema: an object type, or a varray of such types, whose values are stored in the row.
///
/// # Errors
/// ORA-00902 for a name that is no type that the user may use, or a type with errors; ORA-22913 for nested tables.
fn named_type(work: &Work<'_>, name: &Name, pos: u32) -> Result<DataType> {
    let refused = || Ora::new(902).at(pos);
    let found = if name.link.is_some() { None } else { work.names.unit(name.qualifier(), name.last())? };
    let unit = found.filter(|unit| unit.kind == UnitKind::Type && unit.valid).ok_or_else(refused)?;
    if !work.names.allowed(unit.object, unit.owner_id, ObjectPrivilege::Execute)? {
        return Err(refused());
    }
    match nested_table_in(work, unit.object)? {
        Some(false) => Ok(DataType::Named(TypeId(unit.object.0))),
        Some(true) => Err(Ora::new(22913).at(pos)),
        None => Err(refused()),
    }
}

/// Whether values of a type have nested tables in them; `None` for a type that is not stored.
fn nested_table_in(work: &Work<'_>, object: ObjectId) -> Result<Option<bool>> {
    use sql::plsql::ast::{TypeDefinition, TypeKind, TypeRef, Unit};
    let (mut all, mut at) = (vec![object], 0);
    while let Some(object) = all.get(at).copied() {
        at += 1;
        let Some(unit) = work.image.unit(object) else { return Ok(None) };
        let Ok(Unit::Type { schema: _, name: _, definition }) = sql::plsql::parse_unit(&unit.source) else {
            return Ok(None);
        };
        let parts: Vec<&TypeRef> = match &definition {
            TypeDefinition::Object(of) => of.under.iter().chain(of.attributes.iter().map(|a| &a.ty)).collect(),
            TypeDefinition::Varray { limit: _, element, not_null: _ } => vec![element],
            TypeDefinition::NestedTable { element: _, not_null: _ } => return Ok(Some(true)),
            TypeDefinition::Record(_)
            | TypeDefinition::Associative { element: _, not_null: _, index: _ }
            | TypeDefinition::RefCursor { returns: _ } => return Ok(None),
        };
        for ty in parts {
            let TypeKind::Named { path, sizes: _, unit: _ } = &ty.kind else { continue };
            let (owner, name) = match path.as_slice() {
                [name] => (Some(unit.owner_id), name),
                [schema, name] => (work.image.user_named(&schema.name).map(|user| user.id), name),
                _ => continue,
            };
            let part = owner.and_then(|owner| work.image.find(owner, dictionary::ObjectKind::Type, &name.name));
            if let Some(part) = part.filter(|part| !all.contains(&part.object)) {
                all.push(part.object);
            }
        }
    }
    Ok(Some(false))
}

/// A column's definition, including NOT NULL from its inline constraints.
pub fn definition(spec: &ColumnSpec, data_type: DataType) -> Result<ColumnDef> {
    let ColumnSpec { name, ty: _, default: _, generated, identity, visible, constraints, sort: _ } = spec;
    let mut column = ColumnDef::new(name.name.clone(), data_type);
    column.virtual_text = generated.as_ref().map(ToString::to_string);
    if let Some(default) = &spec.default {
        let ColumnDefault { expr, text, on_null } = default;
        column.default_text = stored_default(expr, text);
        column.default_on_null = *on_null;
    }
    column.invisible = *visible == Some(false);
    let required = |c: &ConstraintSpec| match &c.kind {
        ConstraintKind::NotNull => c.state.validated && !c.state.deferrable,
        ConstraintKind::PrimaryKey { columns: _, using: _ } => true,
        ConstraintKind::Null
        | ConstraintKind::Unique { columns: _, using: _ }
        | ConstraintKind::Check { condition: _, text: _ }
        | ConstraintKind::References { columns: _, table: _, referenced: _, on_delete: _ } => false,
    };
    let not_null = constraints.iter().any(|c| c.state.enabled && required(c));
    column.nullable = !(not_null || column.default_on_null || identity.is_some());
    Ok(column)
}

/// `DEFAULT NULL` is no default.
pub fn stored_default(expr: &Expr, text: &str) -> Option<String> {
    let is_null = matches!(&expr.kind, ExprKind::Literal(Literal::Null));
    (!is_null).then(|| text.to_owned())
}

/// ORA-00957 for a repeated name, ORA-01792 for too many columns.
pub fn check_names<'n>(names: impl Iterator<Item = (&'n str, u32)>) -> Result<()> {
    let mut seen: Vec<&str> = Vec::new();
    for (name, pos) in names {
        if seen.contains(&name) {
            return Err(Ora::new(957).at(pos));
        }
        seen.push(name);
    }
    if seen.len() > COLUMNS_MAX { Err(Ora::new(1792)) } else { Ok(()) }
}

/// The row of COL$.
pub fn row(object: ObjectId, position: usize, column: &ColumnDef) -> Row {
    let mut row = blank(Base::Col);
    row[col::OBJ] = int(object.0);
    row[col::COL] = int(position as i64 + 1);
    row[col::NAME] = text(column.name.as_str());
    let ty = type_columns(&column.data_type);
    let places = [col::TYPE, col::LENGTH, col::PRECISION, col::SCALE, col::CHARSETFORM, col::CHARLENGTH];
    for (place, value) in places.into_iter().zip(ty) {
        row[place] = value;
    }
    row[col::NULLS] = flag(!column.nullable);
    row[col::DEFAULT] = column.default_text.as_deref().map_or(Value::Null, text);
    row[col::PROPERTY] = int(bits(column));
    row[col::VIRTUAL] = column.virtual_text.as_deref().map_or(Value::Null, text);
    row[col::SEQ] = column.identity.as_ref().map_or(Value::Null, |identity| int(identity.sequence.0));
    row
}

fn bits(column: &ColumnDef) -> i64 {
    let identity = |f: fn(&Identity) -> bool| column.identity.as_ref().is_some_and(f);
    let all = [
        (column.hidden, property::COL_HIDDEN),
        (column.invisible, property::COL_INVISIBLE),
        (column.default_on_null, property::COL_DEFAULT_ON_NULL),
        (identity(|i| i.always), property::COL_IDENTITY_ALWAYS),
        (identity(|i| i.on_null), property::COL_IDENTITY_ON_NULL),
    ];
    let bits: i64 = all.iter().filter(|(on, _)| *on).map(|(_, bit)| bit).sum();
    bits | i64::from(column.moved) << property::COL_MOVED_SHIFT
}

/// Inserts the columns of an object.
pub fn insert(work: &mut Work<'_>, object: ObjectId, columns: &[ColumnDef]) -> Result<()> {
    let rows: Vec<Row> = columns.iter().enumerate().map(|(i, column)| row(object, i, column)).collect();
    work.change().insert_many(Base::Col, &rows)
}

/// Notes that a table has a virtual column, if the column is one: see [`dictionary::Image::tables_with_virtuals`].
pub fn note_virtual(work: &mut Work<'_>, object: ObjectId, column: &ColumnDef) -> Result<()> {
    if column.virtual_text.is_none() {
        return Ok(());
    }
    let table = crate::work::by(dictionary::base::tab::OBJ, object);
    let set = &mut |row: &mut Row| row[dictionary::base::tab::FLAGS] = int(property::HAS_VIRTUALS);
    work.change().update_by(Base::Tab, table, set).map(drop)
}

/// Replaces the row of one column.
pub fn update(work: &mut Work<'_>, object: ObjectId, position: usize, column: &ColumnDef) -> Result<()> {
    let new = row(object, position, column);
    let mine = |row: &[Value]| as_u32(&row[col::COL]) as usize == position + 1;
    work.change().update_by(Base::Col, crate::work::by(col::OBJ, object).and(&mine), &mut |old| *old = new.clone())?;
    note_virtual(work, object, column)
}

/// Whether stored values of the old type are valid for the new one, so that a column with rows may be changed.
pub fn only_widens(old: &DataType, new: &DataType) -> bool {
    use DataType::*;
    let chars = |len: u32, unit: LenUnit| if unit == LenUnit::Char { u64::from(len) * 4 } else { u64::from(len) };
    match (old, new) {
        _ if old == new => true,
        (Varchar2 { len: a, unit: u }, Varchar2 { len: b, unit: v }) => {
            if u == v {
                b >= a
            } else {
                chars(*b, *v) >= chars(*a, *u)
            }
        }
        (Number { precision: a, scale: s }, Number { precision: b, scale: t }) => match (a, b) {
            (_, None) => t.is_none() || (*t == *s),
            (None, Some(_)) => false,
            (Some(a), Some(b)) => {
                let (s, t) = (i32::from(s.unwrap_or(0)), i32::from(t.unwrap_or(0)));
                t >= s && i32::from(*b) - t >= i32::from(*a) - s
            }
        },
        (Raw { len: a }, Raw { len: b }) | (Nvarchar2 { len: a }, Nvarchar2 { len: b }) => b >= a,
        (Timestamp { digits: a, zone: z }, Timestamp { digits: b, zone: y }) => z == y && b >= a,
        (Float { binary: a }, Float { binary: b }) => b >= a,
        _ => false,
    }
}

/// The position of a visible column. ORA-00904.
pub fn column_position(table: &TableDef, column: &Ident) -> Result<usize> {
    table.column(&column.name).map(|(at, _)| at).ok_or_else(|| no_column(column))
}
