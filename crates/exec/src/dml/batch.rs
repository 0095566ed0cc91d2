//! Rows that are inserted together.
//!
//! A statement that inserts many rows hands them down block by block: the rows of a batch first, then the entries of
//! each index in the order of their keys. What a batch does not say is which of its rows was refused. So when one is,
//! the batch is taken back and its rows are inserted one by one: the error is then that of the first row that has one,
//! as it would be without batches.

use crate::ctx::ExecCtx;
use crate::index::{self, Index};
use btree::Inserted;
use heap::HeapTable;
use txn::Savepoint;
use types::row::RowReader;
use types::{Ora, Result, Rowid};

/// A batch is inserted when it has so many rows or bytes: the more rows there are, the more of their entries meet in a
/// leaf.
const ROWS_MOST: usize = 16384;
const BYTES_MOST: usize = 2 << 20;

/// Rows to be inserted, with their index keys. Keeps its memory.
#[derive(Default)]
pub struct Batch {
    rows: Vec<u8>,
    ends: Vec<u32>,
    /// For each index, the keys one behind the other; that of a row without an entry is empty.
    keys: Vec<(Vec<u8>, Vec<u32>)>,
    rowids: Vec<Rowid>,
    /// The row that was inserted last.
    last: Option<Rowid>,
    entries: btree::Batch,
}

impl Batch {
    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.ends.clear();
        self.rowids.clear();
        for (keys, ends) in &mut self.keys {
            keys.clear();
            ends.clear();
        }
    }

    /// The row that was inserted last, ever.
    pub fn last(&self) -> Option<Rowid> {
        self.last
    }

    /// Adds a row (`types::row` bytes) and its keys.
    pub fn push(&mut self, row: &[u8], indexes: &[Index]) -> Result<()> {
        self.rows.extend_from_slice(row);
        self.ends.push(self.rows.len() as u32);
        self.keys.resize_with(indexes.len(), Default::default);
        if indexes.is_empty() {
            return Ok(());
        }
        let columns = RowReader::new(row).ok_or_else(|| Ora::internal("a row that was just written"))?;
        for (i, (keys, ends)) in indexes.iter().zip(&mut self.keys) {
            i.key_of(&columns, keys)?;
            ends.push(keys.len() as u32);
        }
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn is_full(&self) -> bool {
        self.ends.len() >= ROWS_MOST || self.rows.len() >= BYTES_MOST
    }

    /// Inserts all rows and forgets them. `refused` is told of each row that could not be inserted, of which nothing is
    /// left then, and may let the others follow by swallowing the error.
    pub fn flush(
        &mut self,
        table: &HeapTable,
        indexes: &[Index],
        refused: &mut dyn FnMut(usize, Ora) -> Result<()>,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        if self.ends.is_empty() {
            return Ok(());
        }
        let start = cx.shared.txns.savepoint(&cx.session.txn);
        let done = match self.insert_together(table, indexes, cx) {
            Ok(Inserted::Done) => Ok(()),
            Ok(Inserted::Duplicate(_)) => self.insert_again(&start, table, indexes, refused, cx),
            // It is said once. Rows may be there without their entries.
            Err(e) if e.is_stop() => cx.shared.txns.rollback_to(cx.p, &mut cx.session.txn, &start).and(Err(e)),
            Err(_) => self.insert_again(&start, table, indexes, refused, cx),
        };
        self.clear();
        done
    }

    /// Takes back what has been inserted together and inserts the rows one by one.
    fn insert_again(
        &mut self,
        start: &Savepoint,
        table: &HeapTable,
        indexes: &[Index],
        refused: &mut dyn FnMut(usize, Ora) -> Result<()>,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        cx.shared.txns.rollback_to(cx.p, &mut cx.session.txn, start)?;
        self.insert_singly(table, indexes, refused, cx)
    }

    fn insert_together(&mut self, table: &HeapTable, indexes: &[Index], cx: &mut ExecCtx<'_>) -> Result<Inserted> {
        let t = &mut cx.session.txn;
        self.rowids.clear();
        cx.shared.heap.insert_many(cx.p, t, table, &self.rows, &self.ends, &mut self.rowids)?;
        for (i, (keys, ends)) in indexes.iter().zip(&self.keys) {
            self.entries.clear();
            let mut begin = 0;
            for (&end, &rowid) in ends.iter().zip(&self.rowids) {
                if end > begin {
                    self.entries.push(&keys[begin as usize..end as usize], rowid);
                }
                begin = end;
            }
            let inserted = index::insert_many(i, &mut self.entries, cx)?;
            if inserted != Inserted::Done {
                return Ok(inserted);
            }
        }
        self.last = self.rowids.last().copied();
        Ok(Inserted::Done)
    }

    fn insert_singly(
        &mut self,
        table: &HeapTable,
        indexes: &[Index],
        refused: &mut dyn FnMut(usize, Ora) -> Result<()>,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        for n in 0..self.ends.len() {
            let start = cx.shared.txns.savepoint(&cx.session.txn);
            let inserted = cx.check_cancel().and_then(|()| self.insert_one(n, table, indexes, cx));
            if let Err(e) = inserted {
                cx.shared.txns.rollback_to(cx.p, &mut cx.session.txn, &start)?;
                refused(n, e)?;
            }
        }
        Ok(())
    }

    fn insert_one(&mut self, n: usize, table: &HeapTable, indexes: &[Index], cx: &mut ExecCtx<'_>) -> Result<()> {
        let row = part(&self.rows, &self.ends, n);
        let rowid = cx.shared.heap.insert(cx.p, &mut cx.session.txn, table, row)?;
        for (i, (keys, ends)) in indexes.iter().zip(&self.keys) {
            let key = part(keys, ends, n);
            if !key.is_empty() {
                index::insert(i, key, crate::table::At::Rowid(rowid), cx)?;
            }
        }
        self.last = Some(rowid);
        Ok(())
    }
}

/// Piece `n` of many that lie one behind the other.
fn part<'a>(all: &'a [u8], ends: &[u32], n: usize) -> &'a [u8] {
    let begin = if n == 0 { 0 } else { ends[n - 1] };
    &all[begin as usize..ends[n] as usize]
}
