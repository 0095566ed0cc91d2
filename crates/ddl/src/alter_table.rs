//! ALTER TABLE.

use crate::columns::column_position;
use crate::columns::{self, only_widens};
use crate::constraint;
use crate::constraint_state::{self, StateOptions};
use crate::create_table::bits;
use crate::expression;
use crate::index::refill;
use crate::not_null;
use crate::replace_name::replace_name;
use crate::rows;
use crate::validation::Subject;
use crate::work::{Target, Work, by};
use dictionary::base::{Base, cdef, col, com, con, obj, objauth, tab};
use dictionary::rows::{as_u32, int, text};
use dictionary::*;
use sql::ast::{
    AlterTable, AlterTableAction, ColumnSpec, ConstraintKind, ConstraintRef, ConstraintSpec, Ident, KeyIndex,
    PartitionAction, SegmentOptions, StateClause,
};
use std::rc::Rc;
use types::{Ora, Result, Value, codec};

pub fn alter(work: &mut Work<'_>, alter: &AlterTable) -> Result<()> {
    let AlterTable { name, actions, pos: _ } = alter;
    let target = work.target(name)?;
    let object = work.existing(&target, ObjectKind::Table, 942)?;
    let allowed = work.names.allowed(object, target.owner, ObjectPrivilege::Alter)?;
    if !allowed {
        return Err(Ora::new(1031).at(target.pos));
    }
    let mut table = (*work.existing_table(object)?).clone();
    work.require_unused(&table)?;
    work.lock(object)?;
    for action in actions {
        use AlterTableAction::*;
        if table.options.materialized {
            match action {
                RenameTo(_) => return Err(Ora::new(32318).at(target.pos)),
                AddColumns(_) | ModifyColumns(_) | DropColumns { .. } | RenameColumn { .. } | ReadOnly(_) => {
                    return Err(Ora::unsupported().at(target.pos));
                }
                _ => {} // not a clause: what leaves the columns as the query has them
            }
        }
        if matches!(action, AddColumns(_)) {
            work.note_new_columns(object);
        }
        if matches!(action, ModifyColumns(_) | DropColumns { .. } | RenameColumn { .. } | RenameTo(_)) {
            work.note_redefined(object);
        }
        act(work, &mut table, action, &target)?;
    }
    work.altered(object)
}

fn act(work: &mut Work<'_>, table: &mut TableDef, action: &AlterTableAction, target: &Target) -> Result<()> {
    match action {
        AlterTableAction::AddColumns(specs) => specs.iter().try_for_each(|spec| add_column(work, table, spec)),
        AlterTableAction::ModifyColumns(specs) => specs.iter().try_for_each(|spec| modify_column(work, table, spec)),
        AlterTableAction::AddConstraint(spec) => constraint::add(work, &mut Subject::of(table), spec),
        // SET UNUSED and DROP COLUMN do the same: neither changes the rows.
        AlterTableAction::DropColumns { columns, cascade, unused: _ } => {
            columns.iter().try_for_each(|column| drop_column(work, table, column, *cascade, columns))
        }
        AlterTableAction::DropConstraint { target, cascade, index } => {
            let (constraint, pos) = find_constraint(table, target, &DROP)?;
            constraint::require_no_rows_in(table, &constraint, pos)?;
            constraint::remove_references(work, table, Some(constraint.id), *cascade, pos)?;
            constraint::remove(work, table, &constraint, *index)?;
            let mut on = Subject::of(table);
            match &constraint.kind {
                ConstraintKindDef::NotNull { column } => {
                    not_null::free_columns(work, &mut on, &[*column], constraint.id)
                }
                ConstraintKindDef::PrimaryKey { columns, .. } => {
                    not_null::free_columns(work, &mut on, columns, constraint.id)
                }
                _ => Ok(()),
            }
        }
        AlterTableAction::EnableConstraint { target, enable, validate, cascade, index, using, exceptions } => {
            let (constraint, pos) = find_constraint(table, target, if *enable { &ENABLE } else { &DISABLE })?;
            let clause = StateClause { enabled: Some(*enable), validated: Some(*validate), ..StateClause::default() };
            let state_options = StateOptions {
                cascade: *cascade,
                index: *index,
                using: using.as_deref(),
                exceptions: exceptions.as_ref(),
            };
            let mut on = Subject::of(table);
            constraint_state::change(work, &mut on, &constraint, &clause, &state_options, pos)
        }
        AlterTableAction::ModifyConstraint { target, clause, cascade, exceptions } => {
            let (constraint, pos) = find_constraint(table, target, &MODIFY)?;
            let state_options =
                StateOptions { cascade: *cascade, exceptions: exceptions.as_ref(), ..StateOptions::default() };
            let mut on = Subject::of(table);
            constraint_state::change(work, &mut on, &constraint, clause, &state_options, pos)
        }
        AlterTableAction::RenameColumn { from, to } => rename_column(work, table, from, to),
        AlterTableAction::RenameConstraint { from, to } => rename_constraint(work, table, from, to),
        AlterTableAction::RenameTo(name) => {
            let new = Target { name: name.name.clone(), pos: name.pos.0, ..target.clone() };
            work.require_new(&new, ObjectKind::Table)?;
            crate::partition_rows::rename(work, &crate::partition_rows::objects_of(table), &new.name)?;
            work.update_object(table.object, &mut |row| row[obj::NAME] = text(new.name.as_str()))
        }
        AlterTableAction::Options(options) => set_options(work, table, options),
        AlterTableAction::Move { options, keep } => move_table(work, table, options, *keep),
        AlterTableAction::Lob(lob) => crate::lob_storage::set(work, table, lob),
        AlterTableAction::MinimizeRecords(on) => {
            table.options.minimize_records = *on;
            store_options(work, table)
        }
        AlterTableAction::ReadOnly(on) => {
            table.options.read_only = *on;
            store_options(work, table)
        }
        AlterTableAction::RowMovement(on) => {
            table.options.row_movement = *on;
            store_options(work, table)
        }
        AlterTableAction::Shrink { pos } => crate::shrink::table(work, table, pos.0),
        AlterTableAction::Coalesce { pos } => match table.row_index().cloned() {
            Some(rows) if table.temporary.is_none() => crate::index::coalesce(work, &rows),
            _ => Err(Ora::unsupported().at(pos.0)),
        },
        AlterTableAction::AllTriggers(enable) => crate::trigger::set_all(work, table, *enable),
        AlterTableAction::Partition { action, pos } => match matches!(**action, PartitionAction::Exchange { .. }) {
            true => crate::partition_exchange::exchange(work, table, action, target, pos.0),
            false => crate::partition_alter::act(work, table, action, target, pos.0),
        },
        AlterTableAction::Other { text, pos } => other(text, pos.0),
    }
}

/// Accepts clauses that change nothing because no row could show their effect: space allocated ahead, disabled table
/// locks that do not exist, columns that are gone already. Other clauses are refused.
fn other(text: &str, pos: u32) -> Result<()> {
    const HARMLESS: &[&str] = &["DEALLOCATE UNUSED", "ALLOCATE EXTENT", "ENABLE TABLE LOCK", "DROP UNUSED COLUMNS"];
    if HARMLESS.iter().any(|words| text.starts_with(words)) { Ok(()) } else { Err(Ora::unsupported().at(pos)) }
}

/// The errors for a missing constraint: by its name, as primary key, as unique key; and whether the first contains the
/// name.
type Missing = (u32, u32, u32, bool);
const DROP: Missing = (2443, 2441, 2442, false);
const ENABLE: Missing = (2430, 2432, 2434, true);
const DISABLE: Missing = (2431, 2433, 2435, true);
const MODIFY: Missing = (25129, 25130, 25131, true);
const RENAME: Missing = (23292, 23292, 23292, false);

fn find_constraint(table: &TableDef, wanted: &ConstraintRef, missing: &Missing) -> Result<(ConstraintDef, u32)> {
    let (found, pos, error) = match wanted {
        ConstraintRef::Name(name) => {
            let error = if missing.3 { Ora::with(missing.0, &[&name.name]) } else { Ora::new(missing.0) };
            (table.constraints.iter().find(|have| have.name == name.name), name.pos.0, error)
        }
        ConstraintRef::PrimaryKey => {
            let is_key = |have: &&ConstraintDef| matches!(have.kind, ConstraintKindDef::PrimaryKey { .. });
            (table.constraints.iter().find(is_key), 0, Ora::new(missing.1))
        }
        ConstraintRef::Unique(columns) => {
            let wanted = columns.iter().map(|column| column_position(table, column)).collect::<Result<Vec<_>>>()?;
            let same = |have: &&ConstraintDef| matches!(&have.kind, ConstraintKindDef::Unique { columns, .. } if *columns == wanted);
            let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
            let error = match missing.3 {
                true => Ora::with(missing.2, &[&names.join(",")]),
                false => Ora::new(missing.2),
            };
            (table.constraints.iter().find(same), columns[0].pos.0, error)
        }
    };
    found.map(|found| (found.clone(), pos)).ok_or_else(|| error.at(pos))
}

fn add_column(work: &mut Work<'_>, table: &mut TableDef, spec: &ColumnSpec) -> Result<()> {
    let pos = spec.name.pos.0;
    if table.column(&spec.name.name).is_some() {
        return Err(Ora::new(1430).at(pos));
    }
    if table.columns.len() >= columns::COLUMNS_MAX {
        return Err(Ora::new(1792).at(pos));
    }
    if spec.identity.is_some() && table.columns.iter().any(|column| column.identity.is_some()) {
        return Err(Ora::new(30669).at(pos));
    }
    // The rows would get numbers of the sequence.
    if spec.identity.is_some() && rows::any(work, table)? {
        return Err(Ora::unsupported().at(pos));
    }
    let data_type = match (columns::column_type(work, spec)?, &spec.generated) {
        (Some(data_type), _) => data_type,
        (None, Some(expr)) => crate::one_row::type_of(work, table.owner_id, &table.columns, expr)?,
        (None, None) => return Err(Ora::new(2263).at(pos)),
    };
    if let Some(expr) = &spec.generated {
        expression::check_computed(work, table.owner_id, &table.columns, expr, Some(&data_type), 54002)?;
    }
    if let Some(default) = &spec.default {
        expression::check_default(work, table.owner_id, &table.columns, &default.expr, &data_type)?;
    }
    let mut column = columns::definition(spec, data_type)?;
    if let Some(identity) = &spec.identity {
        let (owner, object) = ((table.owner_id, table.owner.as_str()), table.object);
        crate::create_table::identify(work, owner, object, (spec, identity), &mut column)?;
    }
    let said = |c: &ConstraintSpec| c.kind == ConstraintKind::NotNull && c.state.validated;
    let required = !column.nullable || spec.constraints.iter().any(said);
    let strict = !column.nullable;
    let position = table.columns.len();
    match &spec.default {
        Some(default) if column.default_text.is_some() => {
            let stored = default_value(work, table, &column, &default.text)?;
            if stored.is_none() && required && rows::any(work, table)? {
                return Err(Ora::new(1758).at(pos));
            }
            rows::rewrite(work, table, position + 1, &mut |row| {
                row[position].clone_from(&stored);
                Ok(())
            })?;
        }
        _ if required && rows::any(work, table)? => return Err(Ora::new(1758).at(pos)),
        _ => {}
    }
    // The constraints added below check the rows for the keys of the column.
    column.nullable = !strict;
    if table.visible_columns().any(|(_, other)| other.moved > 0) {
        column.moved = table.last_place();
    }
    let row = columns::row(table.object, position, &column);
    work.change().insert(Base::Col, &row)?;
    columns::note_virtual(work, table.object, &column)?;
    table.columns.push(column);
    work.change()
        .update_by(Base::Tab, by(tab::OBJ, table.object), &mut |row| row[tab::COLS] = int(position as i64 + 1))?;
    let mut on = Subject::of(table);
    for constraint in &spec.constraints {
        expression::check_inline(&on.table.columns, &spec.name.name, constraint)?;
        match constraint.kind {
            ConstraintKind::NotNull => constraint::add_not_null(work, &mut on, Some(constraint), position)?,
            // not a clause: `add` handles every kind
            _ => constraint::add(work, &mut on, constraint)?,
        }
    }
    Ok(())
}

/// The stored form of a column's default.
fn default_value(work: &mut Work<'_>, table: &TableDef, column: &ColumnDef, source: &str) -> Result<Option<Vec<u8>>> {
    let query = sql::parse_query(&format!("select {source} from dual"))?;
    let name = format!("\"{}\".\"{}\".\"{}\"", table.owner, table.name, column.name);
    let data_type = column.data_type;
    let mut stored = None;
    // Evaluated as for later rows.
    work.host.rows_as(table.owner_id, &query, &mut |parts, row| {
        let mut value = row.first().cloned().unwrap_or(Value::Null);
        data_type.assign(&mut value, parts.nls, &name)?;
        if !value.is_null() {
            let mut bytes = Vec::new();
            codec::encode(&value, &mut bytes);
            stored = Some(bytes);
        }
        Ok(())
    })?;
    Ok(stored)
}

fn modify_column(work: &mut Work<'_>, table: &mut TableDef, spec: &ColumnSpec) -> Result<()> {
    let pos = spec.name.pos.0;
    let position = column_position(table, &spec.name)?;
    if spec.generated.is_some() {
        return Err(Ora::unsupported().at(pos));
    }
    if let Some(wanted) = &spec.identity {
        modify_identity(work, table, position, wanted, pos)?;
    }
    if let Some(data_type) = columns::column_type(work, spec)? {
        change_type(work, table, position, data_type, pos)?;
    }
    if let Some(default) = &spec.default {
        let ty = table.columns[position].data_type;
        expression::check_default(work, table.owner_id, &table.columns, &default.expr, &ty)?;
        table.columns[position].default_text = columns::stored_default(&default.expr, &default.text);
        table.columns[position].default_on_null = default.on_null;
    }
    if let Some(visible) = spec.visible {
        if visible && table.columns[position].invisible {
            table.columns[position].moved = table.last_place();
        }
        table.columns[position].invisible = !visible;
        if table.visible_columns().count() == 0 {
            return Err(Ora::new(54039).at(pos));
        }
    }
    columns::update(work, table.object, position, &table.columns[position])?;
    for constraint in &spec.constraints {
        modify_constraint(work, table, position, constraint, pos)?;
    }
    Ok(())
}

/// Changes the sequence of an identity column. START WITH is its next number, START WITH LIMIT VALUE the number behind
/// the greatest value of the column (the least one if the sequence descends).
///
/// # Errors
/// ORA-30673 for another column, and those of a sequence's options.
fn modify_identity(
    work: &mut Work<'_>,
    table: &mut TableDef,
    position: usize,
    wanted: &sql::ast::Identity,
    pos: u32,
) -> Result<()> {
    let sql::ast::Identity { always, on_null, options } = wanted;
    let Some(identity) = table.columns[position].identity.as_mut() else { return Err(Ora::new(30673).at(pos)) };
    (identity.always, identity.on_null) = (*always, *on_null);
    let sequence = identity.sequence;
    table.columns[position].default_on_null = *on_null;
    let mut options = options.clone();
    options.restart = options.start_with.is_some();
    if options.limit_value {
        let known = work.image.sequence(sequence).ok_or_else(|| Ora::new(2289).at(pos))?;
        let step = match &options.increment_by {
            Some(text) => text.parse::<i128>().map_err(|_| Ora::new(4001).at(pos))?,
            None => known.increment,
        };
        let mut limit: Option<types::Number> = None;
        rows::scan(work, table, &mut |_, row| {
            let mut value = Value::Null;
            if let Some(bytes) = rows::stored(row, position)? {
                codec::decode_into(bytes, &types::DataType::NUMBER, &mut value)?;
            }
            if let Value::Number(n) = value {
                let further = limit.as_ref().is_none_or(|last| if step > 0 { n > *last } else { n < *last });
                limit = further.then_some(n).or(limit.take());
            }
            Ok(true)
        })?;
        options.start_with = limit.map(|last| (dictionary::image::big_number(&last.trunc(0)) + step).to_string());
        options.restart = true;
        options.limit_value = false;
    }
    crate::sequence::change(work, sequence, &options, pos)
}

fn change_type(
    work: &mut Work<'_>,
    table: &mut TableDef,
    position: usize,
    data_type: types::DataType,
    pos: u32,
) -> Result<()> {
    let old = table.columns[position].data_type;
    if table.partitioning().is_some_and(|of| of.columns.contains(&position)) && old != data_type {
        return Err(Ora::new(14060).at(pos));
    }
    if !only_widens(&old, &data_type) {
        let mut longest = None;
        rows::scan(work, table, &mut |_, row| {
            if rows::stored(row, position)?.is_some() {
                longest = Some(());
            }
            Ok(longest.is_none())
        })?;
        if longest.is_some() {
            shrink(work, table, position, &old, &data_type, pos)?;
        }
    }
    if let Organization::HashCluster { key_positions, .. } = &table.organization
        && key_positions.contains(&position)
        && old != data_type
    {
        return Err(Ora::new(1463).at(pos));
    }
    table.columns[position].data_type = data_type;
    Ok(())
}

/// Checks a shorter type for a column with values: allowed when every value fits. ORA-01439, ORA-01440, ORA-01441.
fn shrink(
    work: &mut Work<'_>,
    table: &TableDef,
    position: usize,
    old: &types::DataType,
    new: &types::DataType,
    pos: u32,
) -> Result<()> {
    use types::DataType::*;
    match (old, new) {
        (Number { .. }, Number { .. }) => Err(Ora::new(1440).at(pos)),
        (Varchar2 { .. }, Varchar2 { .. }) | (Raw { .. }, Raw { .. }) => {
            let nls = work.host.parts().nls.clone();
            let mut fits = true;
            rows::scan(work, table, &mut |_, row| {
                let mut value = rows::value(row, position, old)?;
                fits = new.assign(&mut value, &nls, &"").is_ok();
                Ok(fits)
            })?;
            if fits { Ok(()) } else { Err(Ora::new(1441).at(pos)) }
        }
        _ => Err(Ora::new(1439).at(pos)),
    }
}

fn modify_constraint(
    work: &mut Work<'_>,
    table: &mut TableDef,
    position: usize,
    spec: &ConstraintSpec,
    pos: u32,
) -> Result<()> {
    match spec.kind {
        ConstraintKind::NotNull => {
            let same =
                |c: &ConstraintDef| matches!(c.kind, ConstraintKindDef::NotNull { column } if column == position);
            if !table.columns[position].nullable || table.constraints.iter().any(same) {
                return Err(Ora::new(1442).at(pos));
            }
            if spec.state.validated && rows::any_null(work, table, position)? {
                let name = spec.name.as_ref().map_or("", |name| name.name.as_str());
                return Err(Ora::with(2296, &[&table.owner, &name]).at(pos));
            }
            constraint::add_not_null(work, &mut Subject::of(table), Some(spec), position)
        }
        ConstraintKind::Null => {
            let found = table.constraints.iter().find(
                |constraint| matches!(constraint.kind, ConstraintKindDef::NotNull { column } if column == position),
            );
            let constraint = found.cloned().ok_or_else(|| Ora::new(1451).at(pos))?;
            constraint::remove(work, table, &constraint, KeyIndex::AsMade)?;
            table.columns[position].nullable = true;
            columns::update(work, table.object, position, &table.columns[position])
        }
        // not a clause: `add` handles every kind
        _ => {
            expression::check_inline(&table.columns, &table.columns[position].name, spec)?;
            constraint::add(work, &mut Subject::of(table), spec)
        }
    }
}

/// Drops a column: its definition stays, hidden, because its values stay in the rows; its name becomes free.
fn drop_column(
    work: &mut Work<'_>,
    table: &mut TableDef,
    column: &Ident,
    cascade: bool,
    dropped: &[Ident],
) -> Result<()> {
    let pos = column.pos.0;
    let position = column_position(table, column)?;
    if table.visible_columns().count() == 1 {
        return Err(Ora::new(12983).at(pos));
    }
    let partitions = table.partitioning().is_some_and(|of| of.columns.contains(&position));
    let is_key = match &table.organization {
        Organization::HashCluster { key_positions, .. } => key_positions.contains(&position),
        _ => false,
    };
    if partitions || is_key {
        return Err(Ora::new(12984).at(pos));
    }
    let going = |table: &TableDef, at: usize| dropped.iter().any(|name| table.columns[at].name == name.name);
    let affected: Vec<ConstraintDef> =
        table.constraints.iter().filter(|have| uses(work, have, position)).cloned().collect();
    for constraint in affected {
        let others = match &constraint.kind {
            ConstraintKindDef::PrimaryKey { columns, .. }
            | ConstraintKindDef::Unique { columns, .. }
            | ConstraintKindDef::ForeignKey { columns, .. } => {
                columns.iter().any(|at| *at != position && !going(table, *at))
            }
            ConstraintKindDef::Check { text } => check_uses_more(table, text, position),
            ConstraintKindDef::NotNull { .. } => false,
        };
        if others && !cascade {
            return Err(Ora::new(12991).at(pos));
        }
        let referenced = table.referenced_by.iter().any(|reference| reference.key == constraint.id);
        if referenced && !cascade {
            return Err(Ora::new(12992).at(pos));
        }
        constraint::remove_references(work, table, Some(constraint.id), true, pos)?;
        constraint::remove(work, table, &constraint, KeyIndex::AsMade)?;
    }
    let on_column = |index: &Rc<IndexDef>| index.columns.iter().any(|c| c.key == IndexKey::Column(position));
    let indexes: Vec<Rc<IndexDef>> = table.indexes.iter().filter(|index| on_column(index)).cloned().collect();
    let name = table.columns[position].name.clone();
    let names = |text: &str| {
        let mut found = false;
        if let Ok(expr) = sql::parse_expression(text) {
            sql::visit_expr(&expr, &mut |e| {
                found |= matches!(&e.kind, sql::ast::ExprKind::Name(n) if n.last() == name);
            });
        }
        found
    };
    if table.columns.iter().any(|c| c.virtual_text.as_deref().is_some_and(names)) {
        return Err(Ora::new(54031).at(pos));
    }
    for index in indexes {
        crate::index_rows::remove(work, &index)?;
        table.indexes.retain(|other| other.object != index.object);
    }
    let hidden = &mut table.columns[position];
    hidden.name = format!("SYS_C{:05}_{}", position + 1, table.object.0);
    hidden.hidden = true;
    hidden.nullable = true;
    hidden.default_text = None;
    hidden.default_on_null = false;
    let identity = hidden.identity.take();
    let object = table.object;
    if let Some(identity) = identity {
        crate::drop::sequence(work, identity.sequence)?;
    }
    columns::update(work, object, position, &table.columns[position])?;
    crate::stats_groups::forget_column(work, object, position)?;
    let mine = |row: &[Value]| as_u32(&row[com::COL]) as usize == position + 1;
    work.change().delete_by(Base::Com, by(com::OBJ, object).and(&mine))?;
    let granted = |row: &[Value]| as_u32(&row[objauth::COL]) as usize == position + 1;
    work.change().delete_by(Base::Objauth, by(objauth::OBJ, object).and(&granted))?;
    Ok(())
}

/// Whether a constraint uses the column; for a check the dictionary has its columns.
fn uses(work: &Work<'_>, constraint: &ConstraintDef, position: usize) -> bool {
    match &constraint.kind {
        ConstraintKindDef::PrimaryKey { columns, .. }
        | ConstraintKindDef::Unique { columns, .. }
        | ConstraintKindDef::ForeignKey { columns, .. } => columns.contains(&position),
        ConstraintKindDef::NotNull { column } => *column == position,
        ConstraintKindDef::Check { .. } => work.image.constraint_columns(constraint.id).contains(&position),
    }
}

fn check_uses_more(table: &TableDef, text: &str, position: usize) -> bool {
    let mut more = false;
    if let Ok(condition) = sql::parse_condition(text) {
        sql::visit_expr(&condition, &mut |expr| {
            if let sql::ast::ExprKind::Name(name) = &expr.kind
                && table.column(name.last()).is_some_and(|(at, _)| at != position)
            {
                more = true;
            }
        });
    }
    more
}

fn rename_column(work: &mut Work<'_>, table: &mut TableDef, from: &Ident, to: &Ident) -> Result<()> {
    let position = column_position(table, from)?;
    if table.column(&to.name).is_some() {
        return Err(Ora::new(957).at(to.pos.0));
    }
    table.columns[position].name = to.name.clone();
    columns::update(work, table.object, position, &table.columns[position])?;
    let object = table.object;
    work.change().update_by(Base::Cdef, by(cdef::OBJ, object), &mut |row| {
        if let Value::Text(condition) = &row[cdef::CONDITION] {
            row[cdef::CONDITION] = text(replace_name(condition, &from.name, &to.name));
        }
    })?;
    work.change().update_by(Base::Col, by(col::OBJ, object), &mut |row| {
        if let Value::Text(expression) = &row[col::VIRTUAL] {
            row[col::VIRTUAL] = text(replace_name(expression, &from.name, &to.name));
        }
    })?;
    crate::trigger::rename_column(work, object, &from.name, &to.name)
}

fn rename_constraint(work: &mut Work<'_>, table: &mut TableDef, from: &Ident, to: &Ident) -> Result<()> {
    let (constraint, _) = find_constraint(table, &ConstraintRef::Name(from.clone()), &RENAME)?;
    if work.image.constraint_named(table.owner_id, &to.name).is_some() {
        return Err(Ora::new(2264).at(to.pos.0));
    }
    let id = constraint.id;
    work.change().update_by(Base::Con, By::new(con::CON, id), &mut |row| {
        row[con::NAME] = text(to.name.as_str());
    })?;
    if let Some(have) = table.constraints.iter_mut().find(|have| have.id == id) {
        have.name.clone_from(&to.name);
        have.generated = false;
    }
    Ok(())
}

fn set_options(work: &mut Work<'_>, table: &mut TableDef, options: &SegmentOptions) -> Result<()> {
    let SegmentOptions {
        tablespace,
        pctfree: _,
        pctused: _,
        initrans: _,
        maxtrans: _,
        storage: _,
        logging: _,
        cache: _,
        parallel,
        compress: _,
        result_cache_force,
        row_movement,
        overflow: _,
        other: _,
    } = options;
    if let Some(name) = tablespace {
        return Err(Ora::new(1735).at(name.pos.0));
    }
    if let Some(on) = *row_movement {
        table.options.row_movement = on;
    }
    if let Some(degree) = *parallel {
        table.options.degree = crate::create_table::degree_of(degree);
    }
    if let Some(cache) = options.cache {
        table.options.cache = cache;
    }
    if let Some(logging) = options.logging {
        table.options.logging = logging;
    }
    if let Some(force) = *result_cache_force {
        table.options.result_cache_force = force;
    }
    if let Some(pctfree) = options.pctfree {
        let value = int(pctfree);
        work.change().update_by(Base::Tab, by(tab::OBJ, table.object), &mut |row| row[tab::PCTFREE] = value.clone())?;
    }
    store_options(work, table)
}

fn store_options(work: &mut Work<'_>, table: &TableDef) -> Result<()> {
    let (property, degree) = (bits(table), table.options.degree);
    work.change().update_by(Base::Tab, by(tab::OBJ, table.object), &mut |row| {
        row[tab::PROPERTY] = int(property);
        row[tab::DEGREE] = int(degree);
    })?;
    Ok(())
}

/// ALTER TABLE MOVE: the rows are packed into a new segment. Their rowids change, so indexes become unusable until a
/// rebuild or, with `keep`, are filled again. Indexes of an index-organised table refer to its key, and stay as they
/// are.
fn move_table(work: &mut Work<'_>, table: &mut TableDef, options: &SegmentOptions, keep: bool) -> Result<()> {
    if table.temporary.is_some() {
        return Err(Ora::new(14451));
    }
    if table.partitioning().is_some() {
        return Err(Ora::new(14511));
    }
    let (Organization::Heap(segment) | Organization::Index(segment)) = &table.organization else {
        return Err(Ora::new(1702));
    };
    let index_organized = table.row_index().cloned();
    let tablespace = match &options.tablespace {
        Some(_) => work.tablespace(options.tablespace.as_ref(), table.owner_id)?,
        None => segment.tablespace,
    };
    // The segments of LOBs lie in the tablespace of their table.
    if tablespace != segment.tablespace {
        crate::lob_storage::require_none(table, options.tablespace.as_ref().map_or(0, |name| name.pos.0))?;
    }
    if let Some(rows) = index_organized {
        refill(work, table, &rows, tablespace, &Ora::new(1452))?;
        let mut options = options.clone();
        options.tablespace = None;
        return set_options(work, table, &options);
    }
    let (moved, old) = crate::create_table::new_segment(work, table, tablespace)?;
    rows::copy_rows(work, table, &moved)?;
    work.drop_segment_later(old)?;
    for index in &table.indexes {
        if !index.is_usable() || !keep {
            crate::index::empty_unusable(work, index)?;
        } else {
            refill(work, &moved, index, index.segment.tablespace, &Ora::new(1452))?;
        }
    }
    let mut options = options.clone();
    options.tablespace = None;
    *table = (*moved).clone();
    set_options(work, table, &options)
}
