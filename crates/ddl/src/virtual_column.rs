//! Virtual columns, and the hidden columns for the expressions of function-based indexes.

use crate::columns;
use crate::entries::Entries;
use crate::host::Parts;
use crate::one_row::type_of;
use crate::work::{Target, Work, by};
use dictionary::base::{Base, tab};
use dictionary::rows::int;
use dictionary::{ColumnDef, Image, IndexDef, IndexKey, TableDef, UserId};
use sql::ast::Expr;
use std::rc::Rc;
use types::{ObjectId, Ora, Result, Value, codec, urowid};

/// The hidden column for the key of a function-based index: an existing one with the same expression, or a new one.
pub fn for_key(work: &mut Work<'_>, table: &mut TableDef, expr: &Expr) -> Result<usize> {
    let text = expr.to_string();
    if let Some(at) = table.columns.iter().position(|c| c.virtual_text.as_deref() == Some(&text)) {
        return Ok(at);
    }
    crate::expression::check_computed(work, table.owner_id, &table.columns, expr, None, 1743)?;
    let data_type = type_of(work, table.owner_id, &table.columns, expr)?;
    if table.columns.len() >= columns::COLUMNS_MAX {
        return Err(Ora::new(1792).at(expr.pos.0));
    }
    let position = table.columns.len();
    let mut column = ColumnDef::new(format!("SYS_NC{:05}$", position + 1), data_type);
    (column.virtual_text, column.hidden) = (Some(text), true);
    let row = columns::row(table.object, position, &column);
    work.change().insert(Base::Col, &row)?;
    columns::note_virtual(work, table.object, &column)?;
    let count = int(position as i64 + 1);
    work.change().update_by(Base::Tab, by(tab::OBJ, table.object), &mut |row| row[tab::COLS] = count.clone())?;
    table.columns.push(column);
    Ok(position)
}

/// Checks that the functions of an index's keys exist, are DETERMINISTIC, and have the same types as when the index was
/// made. A key on a user's virtual column converts to that column's type, and is not checked.
///
/// # Errors
/// Those of [`crate::expression::check_computed`]; ORA-30554 for a function of another type.
pub fn check_keys(work: &mut Work<'_>, table: &TableDef, index: &IndexDef) -> Result<()> {
    for part in &index.columns {
        let IndexKey::Column(at) = part.key else { continue };
        let column = &table.columns[at];
        let Some(text) = column.virtual_text.as_deref().filter(|_| column.hidden) else { continue };
        let expr = sql::parse_expression(text)?;
        crate::expression::check_computed(work, table.owner_id, &table.columns, &expr, None, 1743)?;
        if type_of(work, table.owner_id, &table.columns, &expr)? != column.data_type {
            return Err(Ora::with(30554, &[&index.owner, &index.name]));
        }
    }
    Ok(())
}

/// Disables the indexes whose keys call a unit or a synonym that is dropped or replaced, or a unit whose text names it:
/// the function may return other values than their entries from now on (L14).
pub fn disable_indexes(work: &mut Work<'_>, changed: ObjectId) -> Result<()> {
    let image = work.image.clone();
    let calling = calling_indexes(&image)?;
    if calling.is_empty() {
        return Ok(());
    }
    let mut all = image.units_naming(changed);
    all.push(changed);
    let leads = |owner, path: &[&str]| image.called_units(owner, path).iter().any(|unit| all.contains(unit));
    disable(work, &calling, &leads)
}

/// Like [`disable_indexes`], for users (`lost`) that have lost the right to call the unit: only for their tables, and
/// for keys that call their units.
pub fn disable_indexes_of(work: &mut Work<'_>, unit: ObjectId, lost: &[UserId]) -> Result<()> {
    let image = work.image.clone();
    let calling = calling_indexes(&image)?;
    if calling.is_empty() {
        return Ok(());
    }
    let owner_of = |unit: ObjectId| image.object(unit).map(|def| def.owner_id);
    let own = owner_of(unit);
    let has_lost = |user| lost.contains(&user) || lost.contains(&UserId::PUBLIC) && Some(user) != own;
    let theirs = image.units_naming(unit).into_iter().filter(|unit| owner_of(*unit).is_some_and(has_lost));
    let theirs: Vec<ObjectId> = theirs.collect();
    let leads = |owner, path: &[&str]| {
        let called = image.called_units(owner, path);
        (has_lost(owner) && called.contains(&unit)) || called.iter().any(|unit| theirs.contains(unit))
    };
    disable(work, &calling, &leads)
}

/// Like [`disable_indexes`], before a new unit or synonym hides a public one with the same name from its owner.
pub fn disable_hidden(work: &mut Work<'_>, target: &Target) -> Result<()> {
    let calling = calling_indexes(&work.image)?;
    disable(work, &calling, &|owner, path| owner == target.owner && path.first() == Some(&target.name.as_str()))
}

/// An enabled index, and the names by which its keys call PL/SQL functions.
struct Calling {
    /// The owner of the table.
    owner: UserId,
    index: Rc<IndexDef>,
    calls: Vec<Vec<String>>,
}

fn calling_indexes(image: &Image) -> Result<Vec<Calling>> {
    let mut all = Vec::new();
    for table in image.tables_with_virtuals() {
        let Some(table) = image.table(table)? else { continue };
        for index in table.indexes.iter().filter(|index| !index.disabled) {
            let mut calls = Vec::new();
            for part in &index.columns {
                match &part.key {
                    IndexKey::Column(at) => {
                        calls.extend(table.columns[*at].virtual_text.iter().flat_map(|text| calls_in(&table, text)))
                    }
                    IndexKey::Expression { text, data_type: _ } => calls.extend(calls_in(&table, text)),
                }
            }
            if !calls.is_empty() {
                all.push(Calling { owner: table.owner_id, index: index.clone(), calls });
            }
        }
    }
    Ok(all)
}

/// The names of the PL/SQL functions that an expression over a row of the table calls. An expression that does not
/// parse any more has none, and cannot be evaluated either.
fn calls_in(table: &TableDef, text: &str) -> Vec<Vec<String>> {
    let place = crate::expression::Place::Computed(1743);
    let used = sql::parse_expression(text).and_then(|e| crate::expression::used(place, &table.columns, &e));
    let calls = used.map(|used| used.functions).unwrap_or_default();
    calls.into_iter().map(|call| call.name.parts.into_iter().map(|part| part.name).collect()).collect()
}

/// `leads`: decides from the owner of a table and the names of a call whether the call is affected.
fn disable(work: &mut Work<'_>, calling: &[Calling], leads: &dyn Fn(UserId, &[&str]) -> bool) -> Result<()> {
    for Calling { owner, index, calls } in calling {
        let is_meant = |call: &Vec<String>| leads(*owner, &call.iter().map(String::as_str).collect::<Vec<_>>());
        if calls.iter().any(is_meant) {
            crate::index_rows::disable(work, index)?;
            work.touch(index.table);
            work.altered(index.object)?;
        }
    }
    Ok(())
}

/// Removes the expressions of the hidden columns that only this index used.
pub fn forget_key(work: &mut Work<'_>, table: &TableDef, index: &IndexDef) -> Result<()> {
    for part in &index.columns {
        let IndexKey::Column(at) = part.key else { continue };
        let column = &table.columns[at];
        let others = table.indexes.iter().filter(|other| other.object != index.object);
        let used = others.flat_map(|other| &other.columns).any(|other| other.key == part.key);
        if !column.hidden || column.virtual_text.is_none() || used {
            continue;
        }
        let mut gone = column.clone();
        gone.name = format!("SYS_C{:05}_{}", at + 1, table.object.0);
        gone.virtual_text = None;
        columns::update(work, table.object, at, &gone)?;
    }
    Ok(())
}

/// Whether a part of the index's key is computed, that is, not in the row's bytes.
pub fn is_computed(table: &TableDef, index: &IndexDef) -> bool {
    index.columns.iter().any(|part| match part.key {
        IndexKey::Column(at) => table.columns[at].virtual_text.is_some(),
        IndexKey::Expression { .. } => true,
    })
}

/// The entries of an index with computed keys, for all rows; `is_moved`: the rows are in a segment that the dictionary
/// does not have yet.
pub fn entries(work: &mut Work<'_>, table: &TableDef, index: &IndexDef, is_moved: bool) -> Result<Entries> {
    let mut parts = Vec::new();
    for part in &index.columns {
        let IndexKey::Column(at) = part.key else { return Err(Ora::unsupported()) };
        let column = &table.columns[at];
        let text = column.virtual_text.clone().unwrap_or_else(|| format!("\"{}\"", column.name));
        parts.push((text, column.data_type, part.descending));
    }
    let list: Vec<&str> = parts.iter().map(|(text, ..)| text.as_str()).collect();
    let text = format!("select rowid, {} from \"{}\".\"{}\"", list.join(", "), table.owner, table.name);
    let query = sql::parse_query(&text)?;
    let several = table.partitioning().is_some();
    let mut entries = Entries::default();
    let (mut value, mut stored) = (Value::Null, Vec::new());
    let mut each = |host: &mut Parts<'_>, row: &[Value]| {
        let (Some(rowid), Some(values)) = (row.first(), row.get(1..)) else { return Ok(()) };
        let locator = match rowid {
            Value::Rowid(rowid) => btree::Locator::of(*rowid, several).to_vec(),
            Value::Text(text) => {
                let mut key = Vec::new();
                urowid::read(text, &mut key).ok_or_else(|| Ora::new(1410))?;
                key
            }
            _ => return Err(Ora::new(1410)),
        };
        let (mut key, mut any) = (Vec::new(), false);
        for (given, (_, data_type, descending)) in values.iter().zip(&parts) {
            value.set(given);
            data_type.assign(&mut value, host.nls, &"")?;
            stored.clear();
            codec::encode(&value, &mut stored);
            any |= !value.is_null();
            index.push_key_part((!value.is_null()).then_some(&stored[..]), *descending, &mut key);
        }
        if any {
            entries.push(&key, &locator, &mut || host.p.check_cancel())?;
        }
        Ok(())
    };
    // Read with the owner's names, because the functions are the owner's, whichever user rebuilds the index. Existing
    // indexes refer to the old places of the rows.
    let indexes = if is_moved { Vec::new() } else { table.indexes.clone() };
    let ahead = std::rc::Rc::new(TableDef { indexes, ..table.clone() });
    work.host.rows_ahead(&query, &ahead, &mut each)?;
    Ok(entries)
}
