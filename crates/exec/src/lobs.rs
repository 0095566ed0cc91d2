//! LOBs of rows, accessed through locators (E32).

use crate::builder::Builder;
use crate::ctx::ExecCtx;
use crate::cursor::Cursor;
use crate::lob_store;
use crate::table::{At, Storage};
use dictionary::TableDef;
use std::rc::Rc;
use txn::Snapshot;
use types::row::{Column, RowReader};
use types::{DataType, LobRow, Ora, Result, Scn, Value, codec};

/// The table and column position of a locator.
///
/// # Errors
/// ORA-22922 if the table or column is gone.
pub fn column_of(row: &LobRow, cx: &mut ExecCtx<'_>) -> Result<(Rc<TableDef>, usize)> {
    let table = cx.host.catalog()?.table_by_id(row.object)?.ok_or_else(|| Ora::new(22922))?;
    let column = usize::from(row.column);
    match table.columns.get(column) {
        Some(c) if plan::is_lob(&c.data_type) => Ok((table, column)),
        _ => Err(Ora::new(22922)),
    }
}

/// The content of a row's LOB as of `scn`, or its current content, with the changes of the session's own transaction.
///
/// # Errors
/// ORA-22922 if the row or column is gone; ORA-01555.
pub fn content(row: &LobRow, scn: Option<Scn>, cx: &mut ExecCtx<'_>) -> Result<Value> {
    let (table, column) = column_of(row, cx)?;
    let storage = storage_of(&table, cx)?;
    let now = cx.shared.txns.snapshot(cx.p, &cx.session.txn);
    let seen = Snapshot { scn: scn.unwrap_or(now.scn), ..now };
    let mut bytes = Vec::new();
    let found = storage.fetch(cx, At::Rowid(row.rowid), &seen, &mut bytes);
    let value = found.and_then(|found| match found {
        true => value_in(&bytes, column, &table.columns[column].data_type, &seen, cx),
        false => Err(Ora::new(22922)),
    });
    cx.shared.txns.release(cx.p, &now);
    value.map_err(|e| if e.is(1410) || e.is(8103) { Ora::new(22922) } else { e })
}

/// The value of a column in the bytes of its row.
fn value_in(bytes: &[u8], column: usize, ty: &DataType, seen: &Snapshot, cx: &ExecCtx<'_>) -> Result<Value> {
    let damaged = || Ora::internal("row bytes are damaged");
    let row = RowReader::new(bytes).ok_or_else(damaged)?;
    let mut value = Value::Null;
    match row.column(column).ok_or_else(damaged)? {
        Column::Null => {}
        Column::Bytes(stored) => codec::decode_into(stored, ty, &mut value)?,
        Column::Out(locator) => lob_store::load(locator, ty, seen, cx, &mut value)?,
    }
    Ok(value)
}

/// Changes the LOB of a row and returns its new content: an update of the column with the privileges in force, which
/// fires no triggers.
///
/// # Errors
/// ORA-22920 if the transaction has not locked the row, ORA-22922 if it is gone; those of `edit` and of the update.
pub fn write(row: &LobRow, edit: &mut dyn FnMut(&mut Value) -> Result<()>, cx: &mut ExecCtx<'_>) -> Result<Value> {
    if !is_locked(row, cx)? {
        return Err(Ora::new(22920));
    }
    let mut content = content(row, None, cx)?;
    if content.is_null() {
        return Err(Ora::new(22922));
    }
    edit(&mut content)?;
    let (table, column) = column_of(row, cx)?;
    let column = &table.columns[column];
    let text = format!("UPDATE \"{}\".\"{}\" SET \"{}\" = :1 WHERE ROWID = :2", table.owner, table.name, column.name);
    let mut cursor = Cursor::compile(cx, &text, &[Some(column.data_type), Some(DataType::Rowid)])?;
    let done = cursor
        .bind_one(0, &content)
        .and_then(|()| cursor.bind_one(1, &Value::Rowid(row.rowid)))
        .and_then(|()| {
            cx.session.without_triggers = true;
            let done = cursor.execute(cx);
            cx.session.without_triggers = false;
            done
        })
        .map(|()| cursor.rows_processed());
    cursor.close(cx);
    match done? {
        1 => Ok(content),
        _ => Err(Ora::new(22922)),
    }
}

/// Whether the session's transaction has locked the row of a LOB.
///
/// # Errors
/// ORA-22922 if the row or column is gone.
pub fn is_locked(row: &LobRow, cx: &mut ExecCtx<'_>) -> Result<bool> {
    let (table, _) = column_of(row, cx)?;
    match storage_of(&table, cx)? {
        Storage::Heap(h) if h.data_object == row.rowid.obj => {}
        Storage::Cluster(c, _) if c.data_object == row.rowid.obj => {}
        Storage::Partitioned(of) if of.of.place_of_data(row.rowid.obj).is_some() => {}
        _ => return Err(Ora::new(22922)),
    }
    cx.shared.heap.is_locked_by(cx.p, &cx.session.txn, row.rowid)
}

fn storage_of(table: &TableDef, cx: &mut ExecCtx<'_>) -> Result<Storage> {
    let mut regs = Vec::new();
    let builder = Builder::new(&mut regs, 0, crate::session_state::Caller::default(), cx);
    Storage::of(table, &builder)
}
