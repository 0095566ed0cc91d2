//! Changes of the base tables: DML in the caller's transaction.

use crate::base::{Base, index_columns};
use crate::cached::row_key;
use crate::rows::{Row, as_i64, encode, int};
use crate::shared::{DictionaryShared, key_of};
use btree::Batch;
use heap::RowOutcome;
use process::Process;
use row_cache::{Cache, Changed};
use txn::{CommitHook, LockWait, Txn};
use types::{Ora, Result, Rowid, Scn, Value};

/// A condition on a row.
type Test<'f> = &'f dyn Fn(&[Value]) -> bool;

/// Selects rows by the number in one column, through an index that begins with the column if there is one.
#[derive(Clone, Copy)]
pub struct By<'f> {
    pub column: usize,
    pub number: u32,
    /// A further condition on the rows.
    also: Option<Test<'f>>,
}

impl<'f> By<'f> {
    pub fn new(column: usize, number: u32) -> By<'f> {
        By { column, number, also: None }
    }

    /// Adds the condition `also`.
    #[must_use]
    pub fn and(self, also: Test<'f>) -> By<'f> {
        By { also: Some(also), ..self }
    }
}

#[derive(Clone, Copy)]
enum Which<'f> {
    All(Test<'f>),
    By(By<'f>),
}

impl Which<'_> {
    fn picks(&self, row: &[Value]) -> bool {
        match self {
            Which::All(chosen) => chosen(row),
            Which::By(by) => as_i64(&row[by.column]) == Some(by.number.into()) && by.also.is_none_or(|also| also(row)),
        }
    }

    fn key(&self) -> Option<(usize, u32)> {
        match self {
            Which::All(_) => None,
            Which::By(by) => Some((by.column, by.number)),
        }
    }
}

/// A change of the dictionary. Nothing is visible to other sessions before [`Change::commit`]; when a step before it
/// fails, the caller rolls the transaction back (D1).
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

    /// Inserts a row and its index entries; missing columns at the end are NULL.
    ///
    /// # Errors
    /// Those of [`heap::Heap::insert`] and [`btree::Btree::insert`].
    pub fn insert(&mut self, base: Base, row: &[Value]) -> Result<()> {
        let mut bytes = Vec::new();
        encode(base, row, &mut bytes);
        let rowid = self.shared.heap.insert(self.p, self.txn, &self.shared.base_heap(base), &bytes)?;
        self.note_keys(base, row);
        for index in base.indexes() {
            self.add_entry(*index, row, rowid)?;
        }
        Ok(())
    }

    /// Inserts many rows, a block at a time.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn insert_many(&mut self, base: Base, rows: &[Row]) -> Result<()> {
        let (mut bytes, mut ends, mut rowids) = (Vec::new(), Vec::new(), Vec::new());
        for row in rows {
            encode(base, row, &mut bytes);
            ends.push(bytes.len() as u32);
        }
        let table = self.shared.base_heap(base);
        self.shared.heap.insert_many(self.p, self.txn, &table, &bytes, &ends, &mut rowids)?;
        rows.iter().for_each(|row| self.note_keys(base, row));
        let (mut batch, mut key) = (Batch::new(), Vec::new());
        for index in base.indexes() {
            batch.clear();
            for (row, rowid) in rows.iter().zip(&rowids) {
                key.clear();
                key_of(*index, row, &mut key);
                if !key.is_empty() {
                    batch.push(&key, *rowid);
                }
            }
            let tree = self.shared.tree(*index);
            self.shared.trees.insert_many(self.p, self.txn, &tree, &mut batch, LockWait::Forever)?;
        }
        Ok(())
    }

    /// Records the keys under which the row cache holds a row (D9).
    fn note_keys(&mut self, base: Base, row: &[Value]) {
        const MISSING: &Value = &Value::Null;
        for index in base.indexes() {
            let values = index_columns(*index).iter().map(|column| row.get(*column).unwrap_or(MISSING));
            if let Some((cache, key)) = row_key(*index, values) {
                self.txn.note_key(cache as u8, key);
            }
        }
    }

    fn add_entry(&mut self, index: usize, row: &[Value], rowid: Rowid) -> Result<()> {
        let mut key = Vec::new();
        key_of(index, row, &mut key);
        if !key.is_empty() {
            let tree = self.shared.tree(index);
            self.shared.trees.insert(self.p, self.txn, &tree, &key, rowid, LockWait::Forever)?;
        }
        Ok(())
    }

    fn take_entry(&mut self, index: usize, row: &[Value], rowid: Rowid) -> Result<()> {
        let mut key = Vec::new();
        key_of(index, row, &mut key);
        if !key.is_empty() {
            self.shared.trees.delete(self.p, self.txn, &self.shared.tree(index), &key, rowid)?;
        }
        Ok(())
    }

    /// The rows that `which` selects, including the transaction's own changes.
    fn pick(&mut self, base: Base, which: Which<'_>) -> Result<(txn::Snapshot, Vec<(Rowid, Row)>)> {
        let snapshot = self.shared.txns().statement_snapshot(self.p, self.txn);
        let mut found = Vec::new();
        let mut add = |rowid: Rowid, row: &[Value]| {
            if which.picks(row) {
                found.push((rowid, row.to_vec()));
            }
            Ok(())
        };
        let done = match which.key() {
            Some((column, number)) if base.index_on(&[column]).is_some() => {
                self.shared.scan_by(self.p, &snapshot, base, &[column], &[int(number)], &mut add)
            }
            _ => self.shared.scan(self.p, &snapshot, base, &mut add),
        };
        self.shared.txns().release(self.p, &snapshot);
        done.map(|()| (snapshot, found))
    }

    /// The selected rows as this transaction sees them.
    ///
    /// # Errors
    /// Those of reading.
    pub fn select(&mut self, base: Base, chosen: &dyn Fn(&[Value]) -> bool) -> Result<Vec<Row>> {
        self.select_rows(base, Which::All(chosen))
    }

    /// As [`Self::select`], through an index if there is one.
    ///
    /// # Errors
    /// Those of reading.
    pub fn select_by(&mut self, base: Base, by: By<'_>) -> Result<Vec<Row>> {
        self.select_rows(base, Which::By(by))
    }

    fn select_rows(&mut self, base: Base, which: Which<'_>) -> Result<Vec<Row>> {
        Ok(self.pick(base, which)?.1.into_iter().map(|(_, row)| row).collect())
    }

    /// Deletes the rows for which `chosen` is true; returns their number. The caller holds the DD enqueue, so no other
    /// DDL can have changed them.
    ///
    /// # Errors
    /// Those of [`heap::Heap::delete`].
    pub fn delete(&mut self, base: Base, chosen: &dyn Fn(&[Value]) -> bool) -> Result<usize> {
        self.delete_rows(base, Which::All(chosen))
    }

    /// As [`Self::delete`], through an index if there is one.
    ///
    /// # Errors
    /// As [`Self::delete`].
    pub fn delete_by(&mut self, base: Base, by: By<'_>) -> Result<usize> {
        self.delete_rows(base, Which::By(by))
    }

    fn delete_rows(&mut self, base: Base, which: Which<'_>) -> Result<usize> {
        let (snapshot, rows) = self.pick(base, which)?;
        let table = self.shared.base_heap(base);
        for (rowid, row) in &rows {
            let done = self.shared.heap.delete(self.p, self.txn, &table, *rowid, &snapshot, LockWait::Forever)?;
            unchanged(done, base)?;
            self.note_keys(base, row);
            for index in base.indexes() {
                self.take_entry(*index, row, *rowid)?;
            }
        }
        Ok(rows.len())
    }

    /// Applies `set` to the rows for which `chosen` is true; returns their number.
    ///
    /// # Errors
    /// Those of [`heap::Heap::update`].
    pub fn update(
        &mut self,
        base: Base,
        chosen: &dyn Fn(&[Value]) -> bool,
        set: &mut dyn FnMut(&mut Row),
    ) -> Result<usize> {
        self.update_rows(base, Which::All(chosen), set)
    }

    /// As [`Self::update`], through an index if there is one.
    ///
    /// # Errors
    /// As [`Self::update`].
    pub fn update_by(&mut self, base: Base, by: By<'_>, set: &mut dyn FnMut(&mut Row)) -> Result<usize> {
        self.update_rows(base, Which::By(by), set)
    }

    fn update_rows(&mut self, base: Base, which: Which<'_>, set: &mut dyn FnMut(&mut Row)) -> Result<usize> {
        let (snapshot, mut rows) = self.pick(base, which)?;
        let table = self.shared.base_heap(base);
        let mut bytes = Vec::new();
        for (rowid, row) in &mut rows {
            let old = row.clone();
            set(row);
            bytes.clear();
            encode(base, row, &mut bytes);
            let heap = &self.shared.heap;
            let done = heap.update(self.p, self.txn, &table, *rowid, &bytes, &snapshot, LockWait::Forever)?;
            unchanged(done, base)?;
            self.note_keys(base, &old);
            self.note_keys(base, row);
            for index in base.indexes() {
                if index_columns(*index).iter().any(|column| old[*column] != row[*column]) {
                    self.take_entry(*index, &old, *rowid)?;
                    self.add_entry(*index, row, *rowid)?;
                }
            }
        }
        Ok(rows.len())
    }

    /// Commits and moves the epoch on, so that every process reads the dictionary again (D3). The caller holds the DD
    /// enqueue.
    ///
    /// # Errors
    /// Those of the commit; the transaction is then still open.
    pub fn commit(self, hook: &dyn CommitHook) -> Result<Scn> {
        self.shared.begin_change(self.p);
        let rows = self.shared.row_cache();
        if let Some(rows) = rows {
            let mut changed = Changed::default();
            for (cache, key) in self.txn.keys() {
                if let Some(cache) = Cache::from_index((*cache).into()) {
                    changed.add(cache, key);
                }
            }
            rows.announce(self.p, &changed);
        }
        faults::point("dictionary-announced");
        let done = self.shared.txns().commit(self.p, self.txn, hook);
        faults::point("dictionary-committed");
        // A commit hook has already called this if the commit came that far; the second call is harmless.
        if let Some(rows) = rows {
            rows.after(self.p);
        }
        self.shared.end_change();
        done
    }
}

/// Fails for a row that changed meanwhile: DDL has broken an invariant, or two sessions refilled one sequence.
fn unchanged(done: RowOutcome, base: Base) -> Result<()> {
    match done {
        RowOutcome::Done => Ok(()),
        _ => Err(Ora::internal(format_args!("[row of {} changed]", base.table().name))),
    }
}
