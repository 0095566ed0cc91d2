//! The LOB columns of a changed table whose long values lie in segments of their own.

use crate::ctx::ExecCtx;
use crate::lob_store;
use crate::machine::Machine;
use crate::table::{At, Storage};
use dictionary::{LobDef, TableDef};
use plan::Reg;
use txn::{LockWait, Snapshot};
use types::row::{Column, RowReader};
use types::{ObjectId, Ora, Result, Value};

/// The values of one row that are written to segments and removed from them.
#[derive(Default)]
pub(super) struct StoredLobs {
    table: ObjectId,
    stores: Vec<LobDef>,
    /// The bytes of the row before its change; empty for a new row.
    before: Vec<u8>,
    /// The locators that the new row has in place of values, by column.
    locators: Vec<(usize, Vec<u8>)>,
    /// The locators of values that the new row does not have.
    gone: Vec<Vec<u8>>,
}

impl StoredLobs {
    pub(super) fn of(table: &TableDef) -> StoredLobs {
        let stores = if table.temporary.is_some() { Vec::new() } else { table.lobs.clone() };
        StoredLobs { table: table.object, stores, ..StoredLobs::default() }
    }

    /// Whether the table has no such columns, so that nothing need be called.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.stores.is_empty()
    }

    /// Begins a new row.
    pub(super) fn begin(&mut self) {
        self.before.clear();
        self.locators.clear();
        self.gone.clear();
    }

    /// Begins a change of the row at `at`, which is locked first: the lock is that of its LOBs, too. False when the row
    /// has changed since `seen`.
    pub(super) fn lock(
        &mut self,
        storage: &Storage,
        at: At<'_>,
        seen: &Snapshot,
        cx: &mut ExecCtx<'_>,
    ) -> Result<bool> {
        self.begin();
        let is_same = storage.lock_row(cx, at, seen, LockWait::Forever)? == heap::RowOutcome::Done;
        Ok(is_same && storage.fetch(cx, at, seen, &mut self.before)?)
    }

    /// The locator in a column of the row before its change.
    fn locator_before(&self, column: usize) -> Result<Option<&[u8]>> {
        if self.before.is_empty() {
            return Ok(None);
        }
        let damaged = || Ora::internal("row bytes are damaged");
        let row = RowReader::new(&self.before).ok_or_else(damaged)?;
        Ok(match row.column(column).ok_or_else(damaged)? {
            Column::Out(locator) => Some(locator),
            Column::Null | Column::Bytes(_) => None,
        })
    }

    /// Stores the long values of the new row. `set`: the columns that an update changes; the others keep what they
    /// have.
    pub(super) fn place(&mut self, set: Option<&[u16]>, new: &[Reg], m: &Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        for n in 0..self.stores.len() {
            let column = self.stores[n].column;
            let before = self.locator_before(column)?.map(<[u8]>::to_vec);
            if set.is_some_and(|set| !set.contains(&(column as u16))) {
                self.locators.extend(before.map(|locator| (column, locator)));
                continue;
            }
            let value = match new.get(column).map(|reg| m.value(*reg).content()) {
                Some(Value::Text(text)) => text.as_bytes(),
                Some(Value::Raw(bytes)) => bytes,
                _ => &[],
            };
            let most = if self.stores[n].in_row { lob_store::IN_ROW_MAX } else { 0 };
            let locator = match before {
                _ if value.len() <= most => {
                    self.gone.extend(before);
                    continue;
                }
                Some(before) => lob_store::change(&before, value, self.table, cx)?,
                None => lob_store::store(value, &self.stores[n].segment, self.table, cx)?,
            };
            self.locators.push((column, locator));
        }
        Ok(())
    }

    /// The locator that the new row has in a column.
    pub(super) fn locator(&self, column: usize) -> Option<&[u8]> {
        self.locators.iter().find(|(at, _)| *at == column).map(|(_, locator)| &locator[..])
    }

    /// Removes the values that the row no longer has, once it is changed.
    pub(super) fn remove_old(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.gone.drain(..).try_for_each(|locator| lob_store::remove(&locator, self.table, cx))
    }

    /// Removes the values of the row, once it is deleted.
    pub(super) fn remove_all(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        for n in 0..self.stores.len() {
            let before = self.locator_before(self.stores[n].column)?.map(<[u8]>::to_vec);
            self.gone.extend(before);
        }
        self.remove_old(cx)
    }
}
