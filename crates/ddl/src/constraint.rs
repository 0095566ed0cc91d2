//! Constraints: keys with their indexes, checks, foreign keys.

use crate::columns::{self, column_position};
use crate::expression::{self, Place};
use crate::index::{self, NewIndex};
use crate::index_rows;
use crate::not_null::{require_not_null, set_nullable};
use crate::validation::{Subject, noted, validate};
use crate::work::{Target, Work};
use dictionary::base::{Base, ccol, cdef, con};
use dictionary::image::property;
use dictionary::rows::{Row, blank, int, text};
use dictionary::*;
use sql::ast::{
    self, ConstraintKind, ConstraintSpec, ConstraintState, Ident, IndexTarget, KeyIndex, OnDelete, SegmentOptions,
    UsingIndex,
};
use std::rc::Rc;
use types::{DataType, ObjectId, Ora, Result, Value, Zone};

/// Adds one constraint with its index.
pub fn add(work: &mut Work<'_>, on: &mut Subject<'_>, spec: &ConstraintSpec) -> Result<()> {
    let ConstraintSpec { name: _, kind, state: _, exceptions: _, pos: _ } = spec;
    match kind {
        ConstraintKind::Null => Ok(()),
        ConstraintKind::NotNull => Ok(()),
        ConstraintKind::PrimaryKey { columns, using } => add_key(work, on, spec, columns, using.as_deref(), true),
        ConstraintKind::Unique { columns, using } => add_key(work, on, spec, columns, using.as_deref(), false),
        ConstraintKind::Check { condition, text } => add_check(work, on, spec, condition, text),
        ConstraintKind::References { columns, table, referenced, on_delete } => {
            add_foreign_key(work, on, spec, columns, table, referenced, *on_delete)
        }
    }
}

/// Adds the constraint of a NOT NULL column; the column's definition has the rest.
pub fn add_not_null(
    work: &mut Work<'_>,
    on: &mut Subject<'_>,
    spec: Option<&ConstraintSpec>,
    column: usize,
) -> Result<()> {
    let id = work.host.parts().dict.shared().next_constraint();
    let (name, generated) = name_of(work, on, spec, id)?;
    let condition = format!("\"{}\" IS NOT NULL", on.table.columns[column].name);
    let state = spec.map_or_else(ConstraintState::default, |spec| spec.state);
    let def = definition(id, name, generated, ConstraintKindDef::NotNull { column }, &state);
    // A NOT NULL column of a new table took no NULL; a table in the dictionary has been checked.
    if on.filled && on.table.columns[column].nullable {
        on.validate(work, &def, spec)?;
    }
    set_nullable(work, on, column, &def)?;
    enter(work, on, def, &[column], Some(&condition))
}

/// The given name, or a generated one. ORA-02264 for a name in use.
fn name_of(work: &Work<'_>, on: &Subject<'_>, spec: Option<&ConstraintSpec>, id: u32) -> Result<(String, bool)> {
    let Some(name) = spec.and_then(|spec| spec.name.as_ref()) else {
        return Ok((format!("SYS_C{id:06}"), true));
    };
    let taken = work.image.constraint_named(on.table.owner_id, &name.name).is_some()
        || on.table.constraints.iter().any(|constraint| constraint.name == name.name);
    if taken { Err(Ora::new(2264).at(name.pos.0)) } else { Ok((name.name.clone(), false)) }
}

fn definition(
    id: u32,
    name: String,
    generated: bool,
    kind: ConstraintKindDef,
    state: &ConstraintState,
) -> ConstraintDef {
    let ConstraintState { enabled: _, validated: _, deferrable: _, initially_deferred: _, rely: _ } = state;
    ConstraintDef {
        id,
        name,
        generated,
        kind,
        enabled: state.enabled,
        validated: state.validated,
        deferrable: state.deferrable,
        initially_deferred: state.initially_deferred,
        rely: state.rely,
    }
}

/// Inserts the constraint into the dictionary and the table's definition.
fn enter(
    work: &mut Work<'_>,
    on: &mut Subject<'_>,
    def: ConstraintDef,
    columns: &[usize],
    condition: Option<&str>,
) -> Result<()> {
    let owner = on.table.owner_id;
    work.change().insert(Base::Con, &[int(owner.0), text(def.name.as_str()), int(def.id)])?;
    let mut row = blank(Base::Cdef);
    row[cdef::CON] = int(def.id);
    row[cdef::OBJ] = int(on.table.object.0);
    row[cdef::CONDITION] = condition.map_or(Value::Null, text);
    row[cdef::DEFER] = int(bits(&def));
    row[cdef::MTIME] = Value::Date(work.now);
    row[cdef::ENABLED] = int(i64::from(def.enabled));
    row[cdef::TYPE] = int(match &def.kind {
        ConstraintKindDef::Check { .. } => 1,
        ConstraintKindDef::PrimaryKey { .. } => 2,
        ConstraintKindDef::Unique { .. } => 3,
        ConstraintKindDef::ForeignKey { .. } => 4,
        ConstraintKindDef::NotNull { .. } => 7,
    });
    match &def.kind {
        ConstraintKindDef::PrimaryKey { index, .. } | ConstraintKindDef::Unique { index, .. } => {
            row[cdef::INDEX] = if index.0 == 0 { Value::Null } else { int(index.0) };
        }
        ConstraintKindDef::ForeignKey { table, key, on_delete, .. } => {
            row[cdef::ROBJ] = int(table.0);
            row[cdef::RCON] = int(*key);
            row[cdef::REFACT] = match on_delete {
                OnDeleteDef::Restrict => Value::Null,
                OnDeleteDef::Cascade => int(1),
                OnDeleteDef::SetNull => int(2),
            };
        }
        _ => {}
    }
    work.change().insert(Base::Cdef, &row)?;
    let rows: Vec<Row> = columns
        .iter()
        .enumerate()
        .map(|(i, column)| vec![int(def.id), int(on.table.object.0), int(*column as i64 + 1), int(i as i64 + 1)])
        .collect();
    work.change().insert_many(Base::Ccol, &rows)?;
    on.table.constraints.push(def);
    Ok(())
}

/// DEFER of CDEF$.
pub fn bits(def: &ConstraintDef) -> i64 {
    let all = [
        (def.deferrable, property::CON_DEFERRABLE),
        (def.initially_deferred, property::CON_INITIALLY_DEFERRED),
        (def.validated, property::CON_VALIDATED),
        (def.generated, property::CON_GENERATED),
        (!def.enabled, property::CON_DISABLED),
        (def.rely, property::CON_RELY),
    ];
    all.iter().filter(|(on, _)| *on).map(|(_, bit)| bit).sum()
}

fn positions(table: &TableDef, columns: &[Ident]) -> Result<Vec<usize>> {
    columns::check_names(columns.iter().map(|column| (column.name.as_str(), column.pos.0)))?;
    columns.iter().map(|column| column_position(table, column)).collect()
}

fn add_key(
    work: &mut Work<'_>,
    on: &mut Subject<'_>,
    spec: &ConstraintSpec,
    columns: &[Ident],
    using: Option<&UsingIndex>,
    primary: bool,
) -> Result<()> {
    let pos = spec.pos.0;
    let positions = positions(on.table, columns)?;
    for constraint in &on.table.constraints {
        match &constraint.kind {
            ConstraintKindDef::PrimaryKey { .. } if primary => return Err(Ora::new(2260).at(pos)),
            ConstraintKindDef::PrimaryKey { columns, .. } | ConstraintKindDef::Unique { columns, .. }
                if *columns == positions =>
            {
                return Err(Ora::new(2261).at(pos));
            }
            _ => {}
        }
    }
    for at in &positions {
        let refused = match on.table.columns[*at].data_type {
            DataType::Clob | DataType::Nclob | DataType::Blob | DataType::Bfile => "LOB",
            DataType::Long | DataType::LongRaw => "LONG",
            DataType::Named(_) | DataType::Xml => "ADT",
            // One instant has as many values as there are time zones.
            DataType::Timestamp { zone: Zone::WithTimeZone, .. } => "TIME/TIMESTAMP WITH TIME ZONE",
            _ => continue,
        };
        return Err(Ora::with(2329, &[&refused]).at(pos));
    }
    let id = work.host.parts().dict.shared().next_constraint();
    let (name, generated) = name_of(work, on, Some(spec), id)?;
    if primary && spec.state.enabled {
        require_not_null(work, on, &positions, pos)?;
    }
    if primary && spec.state.deferrable && on.table.options.index_organized {
        return Err(Ora::new(25188).at(pos));
    }
    let index = if spec.state.enabled {
        let wanted = (primary, spec.state.deferrable, spec.state.validated);
        let made = key_index(work, on, &name, &positions, using, wanted, pos);
        made.map_err(|e| noted(work, on.table, &name, &positions, spec.exceptions.as_ref(), e))?
    } else {
        ObjectId(0)
    };
    let kind = if primary {
        ConstraintKindDef::PrimaryKey { columns: positions.clone(), index }
    } else {
        ConstraintKindDef::Unique { columns: positions.clone(), index }
    };
    let def = definition(id, name, generated, kind, &spec.state);
    enter(work, on, def, &positions, None)
}

/// The index that enforces a key: the named one, an existing one on the same columns, or a new one with the
/// constraint's name. A non-unique index is sufficient, since each change checks the other rows of its key. `wanted`: a
/// primary key, deferrable, validated.
///
/// # Errors
/// ORA-01408, ORA-01418, ORA-14196; ORA-02437 and ORA-02299 for duplicate keys.
pub fn key_index(
    work: &mut Work<'_>,
    on: &mut Subject<'_>,
    name: &str,
    columns: &[usize],
    using: Option<&UsingIndex>,
    wanted: (bool, bool, bool),
    pos: u32,
) -> Result<ObjectId> {
    let (primary, deferrable, validated) = wanted;
    let keys: Vec<IndexKey> = columns.iter().map(|column| IndexKey::Column(*column)).collect();
    let same = |index: &IndexDef| index.columns.iter().map(|c| &c.key).eq(keys.iter());
    let usable = |index: &IndexDef| index.is_usable() && index.kind != IndexKind::FunctionBased;
    // A deferrable key may have duplicates for a while, so its index cannot be unique.
    // A local index sees equal keys only in one partition.
    let divided = on.table.partitioning().is_some_and(|of| !of.columns.iter().all(|column| columns.contains(column)));
    let sees_all = |index: &IndexDef| index.local.is_none() || !divided;
    let fits = |index: &IndexDef| same(index) && usable(index) && !(deferrable && index.unique) && sees_all(index);
    let found = match using {
        Some(UsingIndex::Existing(name)) => {
            let target = work.target(name)?;
            let mine = |index: &&Rc<IndexDef>| index.name == target.name && index.owner_id == target.owner;
            let index = on.table.indexes.iter().find(mine).ok_or_else(|| Ora::new(1418).at(target.pos))?;
            if !fits(index) {
                return Err(Ora::new(14196).at(target.pos));
            }
            Some(index.clone())
        }
        Some(UsingIndex::Create(_)) => None,
        _ => {
            let all = || on.table.indexes.iter().filter(|index| fits(index));
            all().find(|index| index.unique).or_else(|| all().next()).cloned()
        }
    };
    if let Some(index) = found {
        if !index.unique && validated {
            let kind = match primary {
                true => ConstraintKindDef::PrimaryKey { columns: columns.to_vec(), index: index.object },
                false => ConstraintKindDef::Unique { columns: columns.to_vec(), index: index.object },
            };
            let state = ConstraintState::default();
            validate(work, on.table, &definition(0, name.to_owned(), false, kind, &state), None, pos)?;
        }
        return Ok(index.object);
    }
    if deferrable && on.table.indexes.iter().any(|index| same(index)) {
        return Err(Ora::new(1408).at(pos));
    }
    let full = format_args!("{}.{}", on.table.owner, name).to_string();
    let (owner, owner_name) = (on.table.owner_id, on.table.owner.clone());
    let mut target = Target { owner, owner_name, name: name.to_owned(), pos };
    let mut options = SegmentOptions::default();
    let (mut unique, mut reverse, mut local) = (!deferrable, false, None);
    match using {
        Some(UsingIndex::Options(given)) => options = given.clone(),
        Some(UsingIndex::Local(given, partitions)) => {
            options = given.clone();
            local = Some(partitions.clone());
        }
        Some(UsingIndex::Create(create)) => {
            target = work.target(&create.name)?;
            if (deferrable && create.unique) || !is_on(work, on.table, create, columns)? {
                return Err(Ora::new(14196).at(target.pos));
            }
            options = create.options.clone();
            local.clone_from(&create.local);
            (unique, reverse) = (create.unique, create.reverse);
        }
        _ => {}
    }
    if local.is_some() && divided {
        return Err(Ora::new(14039).at(pos));
    }
    // An index made by a USING INDEX clause stays with the table, unless it is unique and would still enforce the key.
    let of_key = unique || !matches!(using, Some(UsingIndex::Create(_)));
    work.require_new(&target, ObjectKind::Index)?;
    let (owner, constraint) = full.split_once('.').unwrap_or(("", &full));
    let duplicate = Ora::with(if primary { 2437 } else { 2299 }, &[&owner, &constraint]).at(pos);
    let iot = primary && matches!(on.table.organization, Organization::Index(_));
    let new = NewIndex {
        target,
        unique,
        distinct: validated,
        kind: match (iot, reverse) {
            (true, _) => IndexKind::IotTop,
            (_, true) => IndexKind::Reverse,
            _ => IndexKind::Normal,
        },
        columns: columns.iter().map(|column| (*column, false)).collect(),
        options,
        invisible: false,
        for_key: !matches!(using, Some(UsingIndex::Create(_))),
        local,
        of_key,
        duplicate,
    };
    let index = index::make(work, on.table, new)?;
    on.table.indexes.push(index.clone());
    if iot {
        on.table.organization = Organization::Index(index.segment);
    }
    Ok(index.object)
}

/// Whether an index of a key's clause is on the table and on the key's columns.
fn is_on(work: &Work<'_>, table: &TableDef, create: &ast::CreateIndex, columns: &[usize]) -> Result<bool> {
    let IndexTarget::Table { table: named, columns: keys } = &create.target else { return Ok(false) };
    let named = work.target(named)?;
    let position = |key: &ast::IndexColumn| match &key.expr.kind {
        ast::ExprKind::Name(name) if !key.descending => table.column(name.last()).map(|(at, _)| at),
        _ => None, // not a clause: an expression is no column
    };
    let same = keys.iter().map(position).eq(columns.iter().map(|at| Some(*at)));
    let plain = !create.bitmap && !create.online && create.other.is_none();
    Ok(plain && same && named.owner == table.owner_id && named.name == table.name)
}

fn add_check(
    work: &mut Work<'_>,
    on: &mut Subject<'_>,
    spec: &ConstraintSpec,
    condition: &ast::Expr,
    source: &str,
) -> Result<()> {
    let used = expression::used(Place::Check, &on.table.columns, condition)?.columns;
    let (owner, columns) = (on.table.owner_id, &on.table.columns);
    crate::one_row::check_condition(work, owner, columns, condition)?;
    let whole = ("case when ", condition, " then 1 end");
    if crate::one_row::depends_on_settings(work, owner, columns, whole, false)? {
        return Err(Ora::new(2436).at(condition.pos.0));
    }
    let id = work.host.parts().dict.shared().next_constraint();
    let (name, generated) = name_of(work, on, Some(spec), id)?;
    let kind = ConstraintKindDef::Check { text: source.to_owned() };
    let def = definition(id, name, generated, kind, &spec.state);
    on.validate(work, &def, Some(spec))?;
    enter(work, on, def, &used, Some(source))
}

/// ORA-01031 unless the owner of the table has REFERENCES on the whole parent or on each referenced column. Roles do
/// not count, and there is no ANY privilege.
fn require_references(work: &Work<'_>, owner: UserId, parent: &TableDef, referenced: &[Ident], pos: u32) -> Result<()> {
    if owner == parent.owner_id || owner == UserId::SYS {
        return Ok(());
    }
    let grants = work.image.object_grants(parent.object);
    let has = |column: u32| {
        grants.iter().any(|grant| {
            grant.privilege == ObjectPrivilege::References as u8
                && grant.column == column
                && (grant.grantee == owner || grant.grantee == UserId::PUBLIC)
        })
    };
    let (_, columns) = referenced_key(parent, referenced, pos)?;
    let on_columns = !columns.is_empty() && columns.iter().all(|column| has(*column as u32 + 1));
    if has(0) || on_columns { Ok(()) } else { Err(Ora::new(1031).at(pos)) }
}

fn add_foreign_key(
    work: &mut Work<'_>,
    on: &mut Subject<'_>,
    spec: &ConstraintSpec,
    columns: &[Ident],
    parent: &ast::Name,
    referenced: &[Ident],
    on_delete: OnDelete,
) -> Result<()> {
    let positions = positions(on.table, columns)?;
    let target = work.target(parent)?;
    let itself = target.owner == on.table.owner_id && target.name == on.table.name;
    let parent_table: Rc<TableDef> = if itself {
        Rc::new(on.table.clone())
    } else {
        let object = work.existing(&target, ObjectKind::Table, 942)?;
        work.existing_table(object)?
    };
    if !itself {
        require_references(work, on.table.owner_id, &parent_table, referenced, target.pos)?;
    }
    if on.table.temporary.is_some() || parent_table.temporary.is_some() {
        return Err(Ora::new(14455).at(target.pos));
    }
    let (key, parent_columns) = referenced_key(&parent_table, referenced, target.pos)?;
    if parent_columns.len() != positions.len() {
        return Err(Ora::new(2256).at(target.pos));
    }
    let class = |ty: &DataType| plan_class(ty);
    for (child, parent) in positions.iter().zip(&parent_columns) {
        let (a, b) = (&on.table.columns[*child].data_type, &parent_table.columns[*parent].data_type);
        if class(a) != class(b) {
            return Err(Ora::new(2267).at(spec.pos.0));
        }
    }
    let same = |constraint: &ConstraintDef| {
        matches!(&constraint.kind, ConstraintKindDef::ForeignKey { columns, table, .. }
            if *columns == positions && *table == parent_table.object)
    };
    if on.table.constraints.iter().any(same) {
        return Err(Ora::new(2275).at(spec.pos.0));
    }
    let id = work.host.parts().dict.shared().next_constraint();
    let (name, generated) = name_of(work, on, Some(spec), id)?;
    let on_delete = match on_delete {
        OnDelete::Restrict => OnDeleteDef::Restrict,
        OnDelete::Cascade => OnDeleteDef::Cascade,
        OnDelete::SetNull => OnDeleteDef::SetNull,
    };
    let kind = ConstraintKindDef::ForeignKey { columns: positions.clone(), table: parent_table.object, key, on_delete };
    work.touch(parent_table.object);
    let def = definition(id, name, generated, kind, &spec.state);
    if def.enabled && !parent_table.constraints.iter().any(|c| c.id == key && c.enabled) {
        return Err(Ora::new(2270).at(target.pos));
    }
    on.validate(work, &def, Some(spec))?;
    enter(work, on, def, &positions, None)
}

/// Groups of types whose values compare without conversion.
fn plan_class(ty: &DataType) -> u8 {
    match ty {
        _ if ty.is_numeric() => 1,
        _ if ty.is_text() => 2,
        _ if ty.is_datetime() => 3,
        DataType::Raw { .. } => 4,
        _ => 5,
    }
}

/// The key that a foreign key references: the primary key, or the key on the named columns. ORA-02268, ORA-02270.
fn referenced_key(parent: &TableDef, columns: &[Ident], pos: u32) -> Result<(u32, Vec<usize>)> {
    let wanted = if columns.is_empty() { None } else { Some(positions(parent, columns)?) };
    for constraint in &parent.constraints {
        match (&constraint.kind, &wanted) {
            (ConstraintKindDef::PrimaryKey { columns, .. }, None) => return Ok((constraint.id, columns.clone())),
            (
                ConstraintKindDef::PrimaryKey { columns, .. } | ConstraintKindDef::Unique { columns, .. },
                Some(wanted),
            ) if columns == wanted => {
                return Ok((constraint.id, columns.clone()));
            }
            _ => {}
        }
    }
    Err(Ora::new(if wanted.is_none() { 2268 } else { 2270 }).at(pos))
}

/// ORA-25188 for the key that contains a table's rows.
pub fn require_no_rows_in(table: &TableDef, constraint: &ConstraintDef, pos: u32) -> Result<()> {
    let is_primary = matches!(constraint.kind, ConstraintKindDef::PrimaryKey { .. });
    if is_primary && table.options.index_organized { Err(Ora::new(25188).at(pos)) } else { Ok(()) }
}

/// Removes a constraint, and the key's index unless that is kept.
pub fn remove(work: &mut Work<'_>, table: &mut TableDef, constraint: &ConstraintDef, fate: KeyIndex) -> Result<()> {
    work.change().delete_by(Base::Con, By::new(con::CON, constraint.id))?;
    work.change().delete_by(Base::Cdef, By::new(cdef::CON, constraint.id))?;
    work.change().delete_by(Base::Ccol, By::new(ccol::CON, constraint.id))?;
    table.constraints.retain(|other| other.id != constraint.id);
    match constraint.kind {
        ConstraintKindDef::PrimaryKey { index, .. } | ConstraintKindDef::Unique { index, .. } => {
            release_index(work, table, index, fate)
        }
        _ => Ok(()),
    }
}

/// Decides the fate of a key's index when the key no longer needs it.
pub fn release_index(work: &mut Work<'_>, table: &mut TableDef, object: ObjectId, fate: KeyIndex) -> Result<()> {
    let Some(at) = table.indexes.iter().position(|have| have.object == object) else { return Ok(()) };
    match (fate, table.indexes[at].of_key) {
        (KeyIndex::Drop, _) | (KeyIndex::AsMade, true) => {
            let index = table.indexes.remove(at);
            index_rows::remove(work, &index)
        }
        // From now on it is an ordinary index.
        (KeyIndex::Keep, true) => index_rows::forget_key(work, object),
        (_, false) => Ok(()),
    }
}

/// Removes the foreign keys that reference a key, or any key of a table. Without `cascade`, ORA-02273 or ORA-02449.
pub fn remove_references(
    work: &mut Work<'_>,
    table: &TableDef,
    key: Option<u32>,
    cascade: bool,
    pos: u32,
) -> Result<()> {
    let references: Vec<ForeignKeyTo> = table
        .referenced_by
        .iter()
        .filter(|reference| {
            key.is_none_or(|key| reference.key == key) && (key.is_some() || reference.from_table != table.object)
        })
        .cloned()
        .collect();
    if references.is_empty() {
        return Ok(());
    }
    if !cascade {
        return Err(Ora::new(if key.is_some() { 2273 } else { 2449 }).at(pos));
    }
    references.iter().try_for_each(|reference| remove_reference(work, reference))
}

/// Drops one foreign key of another table.
pub fn remove_reference(work: &mut Work<'_>, reference: &ForeignKeyTo) -> Result<()> {
    let mut from = (*work.existing_table(reference.from_table)?).clone();
    work.lock(from.object)?;
    let found = from.constraints.iter().find(|constraint| constraint.id == reference.constraint).cloned();
    if let Some(constraint) = found {
        remove(work, &mut from, &constraint, KeyIndex::AsMade)?;
    }
    work.touch(from.object);
    Ok(())
}
