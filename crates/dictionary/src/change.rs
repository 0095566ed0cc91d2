//! Changing the base tables: DML in the caller's transaction.

use crate::base::Base;
use crate::rows::{Row, encode};
use crate::shared::DictionaryShared;
use heap::RowOutcome;
use process::Process;
use txn::{CommitHook, LockWait, Txn};
use types::{Ora, Result, Rowid, Scn, Value};

/// A change of the dictionary. Nothing is visible to others before [`Change::commit`]; the caller rolls the transaction
/// back when it fails before.
pub struct Change<'a> {
    shared: &'a DictionaryShared,
    p: &'a Process,
    txn: &'a mut Txn,
}

impl<'a> Change<'a> {
    pub fn new(shared: &'a DictionaryShared, p: &'a Process, txn: &'a mut Txn) -> Change<'a> {
        Change { shared, p, txn }
    }

    pub fn process(&self) -> &'a Process {
        self.p
    }

    pub fn txn(&mut self) -> &mut Txn {
        self.txn
    }

    pub fn shared(&self) -> &DictionaryShared {
        self.shared
    }

    /// Inserts a row; missing columns at the end are NULL.
    ///
    /// # Errors
    /// Those of [`heap::Heap::insert`].
    pub fn insert(&mut self, base: Base, row: &[Value]) -> Result<()> {
        let mut bytes = Vec::new();
        encode(base, row, &mut bytes);
        self.shared.heap.insert(self.p, self.txn, &self.shared.base_heap(base), &bytes)?;
        Ok(())
    }

    /// Inserts many rows, a block at a time.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn insert_many(&mut self, base: Base, rows: &[Row]) -> Result<()> {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for row in rows {
            encode(base, row, &mut bytes);
            ends.push(bytes.len() as u32);
        }
        let table = self.shared.base_heap(base);
        self.shared.heap.insert_many(self.p, self.txn, &table, &bytes, &ends, &mut Vec::new())
    }

    /// The rows that `chosen` picks, own changes included.
    fn pick(&mut self, base: Base, chosen: &dyn Fn(&[Value]) -> bool) -> Result<(txn::Snapshot, Vec<(Rowid, Row)>)> {
        let snapshot = self.shared.txns().statement_snapshot(self.p, self.txn);
        let mut found = Vec::new();
        let done = self.shared.scan(self.p, &snapshot, base, &mut |rowid, row| {
            if chosen(row) {
                found.push((rowid, row.to_vec()));
            }
            Ok(())
        });
        self.shared.txns().release(self.p, &snapshot);
        done.map(|()| (snapshot, found))
    }

    /// Rows as this transaction sees them.
    ///
    /// # Errors
    /// Those of reading.
    pub fn select(&mut self, base: Base, chosen: &dyn Fn(&[Value]) -> bool) -> Result<Vec<Row>> {
        Ok(self.pick(base, chosen)?.1.into_iter().map(|(_, row)| row).collect())
    }

    /// Deletes the rows that `chosen` picks; returns how many. Another DDL cannot have changed them: the caller holds
    /// the DD enqueue.
    ///
    /// # Errors
    /// Those of [`heap::Heap::delete`].
    pub fn delete(&mut self, base: Base, chosen: &dyn Fn(&[Value]) -> bool) -> Result<usize> {
        let (snapshot, rows) = self.pick(base, chosen)?;
        let table = self.shared.base_heap(base);
        for (rowid, _) in &rows {
            let done = self.shared.heap.delete(self.p, self.txn, &table, *rowid, &snapshot, LockWait::Forever)?;
            unchanged(done, base)?;
        }
        Ok(rows.len())
    }

    /// Changes the rows that `chosen` picks by `set`; returns how many.
    ///
    /// # Errors
    /// Those of [`heap::Heap::update`].
    pub fn update(
        &mut self,
        base: Base,
        chosen: &dyn Fn(&[Value]) -> bool,
        set: &mut dyn FnMut(&mut Row),
    ) -> Result<usize> {
        let (snapshot, mut rows) = self.pick(base, chosen)?;
        let table = self.shared.base_heap(base);
        let mut bytes = Vec::new();
        for (rowid, row) in &mut rows {
            set(row);
            bytes.clear();
            encode(base, row, &mut bytes);
            let heap = &self.shared.heap;
            let done = heap.update(self.p, self.txn, &table, *rowid, &bytes, &snapshot, LockWait::Forever)?;
            unchanged(done, base)?;
        }
        Ok(rows.len())
    }

    /// Commits, and makes every process read the dictionary again. The caller holds the DD enqueue.
    ///
    /// # Errors
    /// Those of the commit; the transaction is then still open.
    pub fn commit(self, hook: &dyn CommitHook) -> Result<Scn> {
        self.shared.begin_change(self.p);
        let done = self.shared.txns().commit(self.p, self.txn, hook);
        self.shared.end_change();
        done
    }
}

/// A row that changed under a change of the dictionary is a broken invariant of DDL, or two sessions refilling one
/// sequence.
fn unchanged(done: RowOutcome, base: Base) -> Result<()> {
    match done {
        RowOutcome::Done => Ok(()),
        _ => Err(Ora::internal(format_args!("[row of {} changed]", base.table().name))),
    }
}
