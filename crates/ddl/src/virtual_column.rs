//! Virtual columns, and the hidden ones that stand for the expressions of function-based indexes.

use crate::columns;
use crate::entries::Entries;
use crate::work::{Target, Work, by};
use dictionary::base::{Base, tab};
use dictionary::rows::int;
use dictionary::{ColumnDef, IndexDef, IndexKey, TableDef, UserId};
use sql::ast::{Expr, ExprKind};
use std::rc::Rc;
use types::{DataType, ObjectId, Ora, Result, Value, codec, urowid};

/// The row source of a query over one row of those of these columns that the expression uses.
fn one_row(columns: &[ColumnDef], expr: &Expr) -> String {
    let mut row: Vec<String> = Vec::new();
    sql::visit_expr(expr, &mut |e| {
        if let ExprKind::Name(name) = &e.kind
            && let Some(c) = columns.iter().find(|c| c.name == name.last() && !c.hidden)
        {
            let column = format!("cast(null as {}) \"{}\"", c.data_type, c.name);
            if !row.contains(&column) {
                row.push(column);
            }
        }
    });
    if row.is_empty() { "dual".to_owned() } else { format!("(select {} from dual)", row.join(", ")) }
}

/// Whether an expression over a row of these columns, of a table of `owner`, depends on the session's time zone or on
/// its formats of dates.
///
/// # Errors
/// Those of compiling it.
pub fn depends_on_settings(
    work: &mut Work<'_>,
    owner: UserId,
    columns: &[ColumnDef],
    (before, expr, after): (&str, &Expr, &str),
) -> Result<bool> {
    let row = one_row(columns, expr);
    // Of two rows nothing is known but their types.
    let row = match row.strip_suffix(')') {
        Some(row) => format!("{row} union all {})", row.trim_start_matches('(')),
        None => row,
    };
    let query = sql::parse_query(&format!("select {before}{expr}{after} x from {row}"))?;
    work.host.depends_on_settings(&query, owner).map_err(|e| e.at(expr.pos.0))
}

/// Compiles a condition over a row of these columns, of a table of `owner`.
///
/// # Errors
/// Those of compiling it.
pub fn check_condition(work: &mut Work<'_>, owner: UserId, columns: &[ColumnDef], condition: &Expr) -> Result<()> {
    let query = sql::parse_query(&format!("select 1 x from {} where {condition}", one_row(columns, condition)))?;
    work.host.describe(&query, Some(owner)).map(|_| ()).map_err(|e| e.at(condition.pos.0))
}

/// The type of an expression over a row of these columns, of a table of `owner`: the functions it calls are the
/// owner's.
pub fn type_of(work: &mut Work<'_>, owner: UserId, columns: &[ColumnDef], expr: &Expr) -> Result<DataType> {
    let query = sql::parse_query(&format!("select {expr} x from {}", one_row(columns, expr)))?;
    let described = work.host.describe(&query, Some(owner)).map_err(|e| e.at(expr.pos.0))?;
    let ty = described.first().map_or(DataType::Null, |d| d.data_type);
    match ty {
        DataType::Null => Ok(DataType::Varchar2 { len: 1, unit: types::LenUnit::Byte }),
        DataType::Varchar2 { len, unit } => Ok(DataType::Varchar2 { len: len.clamp(1, 4000), unit }),
        DataType::Boolean | DataType::PlsInteger | DataType::Cursor => Err(Ora::new(54016).at(expr.pos.0)),
        other => Ok(other),
    }
}

/// The hidden column for the key of a function-based index: one that is there with the same expression, or a new one.
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
    let count = int(position as i64 + 1);
    work.change().update(Base::Tab, &by(tab::OBJ, table.object), &mut |row| row[tab::COLS] = count.clone())?;
    table.columns.push(column);
    Ok(position)
}

/// The functions that an index's keys call are there, DETERMINISTIC, and return what they returned when it was made.
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

/// Disables the indexes whose keys call a unit, or by a synonym, that goes or is replaced: their entries may not be what
/// is returned from now on.
pub fn disable_indexes(work: &mut Work<'_>, changed: ObjectId) -> Result<()> {
    let image = work.image.clone();
    disable_calling(work, &|owner, path| image.called_units(owner, path).contains(&changed))
}

/// As [`disable_indexes`], before there is a unit or a synonym of a name that its owner had none of: calls by that name
/// led to what is public.
pub fn disable_hidden(work: &mut Work<'_>, target: &Target) -> Result<()> {
    disable_calling(work, &|owner, path| owner == target.owner && path.first() == Some(&target.name.as_str()))
}

/// `calls`: by the owner of a table and the names of a call, whether the call is meant.
fn disable_calling(work: &mut Work<'_>, calls: &dyn Fn(UserId, &[&str]) -> bool) -> Result<()> {
    for table in work.image.tables_with_virtuals() {
        let Some(table) = work.image.table(table)? else { continue };
        let is_key = |part: &dictionary::IndexColumnDef| match &part.key {
            IndexKey::Column(at) => {
                table.columns[*at].virtual_text.as_deref().is_some_and(|text| calls_in(&table, text, calls))
            }
            IndexKey::Expression { text, data_type: _ } => calls_in(&table, text, calls),
        };
        let calling = |index: &&Rc<IndexDef>| !index.disabled && index.columns.iter().any(is_key);
        let indexes: Vec<_> = table.indexes.iter().filter(calling).cloned().collect();
        for index in indexes {
            crate::index::disable(work, &index)?;
            work.touch(table.object);
            work.altered(index.object)?;
        }
    }
    Ok(())
}

fn calls_in(table: &TableDef, text: &str, calls: &dyn Fn(UserId, &[&str]) -> bool) -> bool {
    let used = sql::parse_expression(text)
        .and_then(|expr| crate::expression::used(crate::expression::Place::Computed(1743), &table.columns, &expr));
    // An expression that is not understood any more says nothing of what it calls.
    let Ok(used) = used else { return true };
    used.functions.iter().any(|call| {
        let path: Vec<&str> = call.name.parts.iter().map(|part| part.name.as_str()).collect();
        calls(table.owner_id, &path)
    })
}

/// Takes the expressions off the hidden columns that only this index had.
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

/// Whether a part of the index's key is not in the row's bytes.
pub fn is_computed(table: &TableDef, index: &IndexDef) -> bool {
    index.columns.iter().any(|part| match part.key {
        IndexKey::Column(at) => table.columns[at].virtual_text.is_some(),
        IndexKey::Expression { .. } => true,
    })
}

/// The entries of an index with computed keys, of all rows there are; `is_moved`: they are in a segment of which the
/// dictionary knows nothing yet.
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
    let mut entries = Entries::default();
    let (mut value, mut stored) = (Value::Null, Vec::new());
    let mut each = |host: &mut crate::work::Parts<'_>, row: &[Value]| {
        let (Some(rowid), Some(values)) = (row.first(), row.get(1..)) else { return Ok(()) };
        let locator = match rowid {
            Value::Rowid(rowid) => btree::locator_of(*rowid).to_vec(),
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
    // Read ahead in any case: its functions are the owner's, whoever rebuilds the index. Indexes lead to where the rows
    // were.
    let indexes = if is_moved { Vec::new() } else { table.indexes.clone() };
    let ahead = std::rc::Rc::new(TableDef { indexes, ..table.clone() });
    work.host.rows_ahead(&query, &ahead, &mut each)?;
    Ok(entries)
}
