//! Rows inserted in batches.
//!
//! A statement that inserts many rows passes them down in batches: first the rows, then the entries of each index in
//! key order. A failed batch does not tell which of its rows was refused. It is rolled back, and its rows are inserted
//! one by one, so that the error is that of the first bad row, as without batches (E13).

use crate::ctx::ExecCtx;
use crate::index::{self, Index};
use crate::table::{Address, At, Partitioned, Storage};
use btree::Inserted;
use heap::HeapTable;
use types::row::RowReader;
use types::{ObjectId, Ora, Rdba, Result, Rowid};

/// A batch is inserted once it has this many rows or bytes. The larger the batch, the more index entries fall into one
/// leaf.
const ROWS_MOST: usize = 16384;
const BYTES_MOST: usize = 2 << 20;
/// The same for its keys, which may be longer than the rows: an index may have any expressions.
const KEY_BYTES_MOST: usize = 16 << 20;
/// Growth of a batch between two charges.
const CHARGE_STEP: usize = 64 << 10;

/// Rows to be inserted, with their index keys. Keeps its memory.
#[derive(Default)]
pub struct Batch {
    rows: Vec<u8>,
    ends: Vec<u32>,
    /// For each index, the concatenated keys and where each ends; a row without an entry has an empty key.
    keys: Vec<(Vec<u8>, Vec<u32>)>,
    rowids: Vec<Rowid>,
    /// The row inserted last.
    last: Option<Rowid>,
    entries: btree::Batch,
    /// The bytes at the last charge.
    charged: usize,
}

impl Batch {
    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.charged = 0;
        self.rows.clear();
        self.ends.clear();
        self.rowids.clear();
        for (keys, ends) in &mut self.keys {
            keys.clear();
            ends.clear();
        }
    }

    /// The row inserted last, in any batch.
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
        let columns = RowReader::new(row).ok_or_else(|| Ora::internal("inserted row cannot be read"))?;
        for (i, (keys, ends)) in indexes.iter().zip(&mut self.keys) {
            i.key_of(&columns, keys)?;
            ends.push(keys.len() as u32);
        }
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The bytes of row `n`.
    pub fn row(&self, n: usize) -> &[u8] {
        part(&self.rows, &self.ends, n)
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn is_full(&self) -> bool {
        self.ends.len() >= ROWS_MOST || self.rows.len() >= BYTES_MOST || self.key_bytes() >= KEY_BYTES_MOST
    }

    fn key_bytes(&self) -> usize {
        self.keys.iter().map(|(keys, _)| keys.len()).sum()
    }

    /// Bytes of memory that the rows and their keys take.
    pub fn bytes(&self) -> usize {
        let ends = self.ends.len() * (1 + self.keys.len()) * size_of::<u32>();
        self.rows.len() + self.key_bytes() + ends + self.entries.bytes()
    }

    /// Whether the memory of the batch is to be charged again.
    pub fn has_grown(&mut self) -> bool {
        let bytes = self.bytes();
        let has_grown = bytes >= self.charged + CHARGE_STEP;
        if has_grown {
            self.charged = bytes;
        }
        has_grown
    }

    /// Inserts all rows and clears the batch. `refused` receives the number and the error of each row that could not be
    /// inserted and left nothing behind; it returns `Ok` to continue with the others.
    pub fn flush(
        &mut self,
        storage: &Storage,
        indexes: &[Index],
        refused: &mut dyn FnMut(usize, Ora) -> Result<()>,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        if self.ends.is_empty() {
            return Ok(());
        }
        let start = cx.shared.txns.savepoint(&cx.session.txn);
        let together = match storage {
            Storage::Heap(table) => self.insert_together(table, indexes, cx),
            Storage::Partitioned(of) => self.insert_in_partitions(of, indexes, cx),
            _ => Err(Ora::internal("a batch of rows for another organization")),
        };
        let done = match together {
            Ok(()) => Ok(()),
            // The batch may have inserted rows without index entries, so it is rolled back. Errors that end the call
            // are reported once.
            Err(e) => cx.undo_failed(&start, &e).and_then(|()| match e.is_stop() {
                true => Err(e),
                false => self.insert_singly(storage, indexes, refused, cx),
            }),
        };
        self.clear();
        done
    }

    /// ORA-00001 for a duplicate key, in any of the rows.
    fn insert_together(&mut self, table: &HeapTable, indexes: &[Index], cx: &mut ExecCtx<'_>) -> Result<()> {
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
            if index::insert_many(i, &mut self.entries, cx)? != Inserted::Done {
                return Err(i.duplicate());
            }
        }
        self.last = self.rowids.last().copied();
        Ok(())
    }

    /// As [`Batch::insert_together`], for each partition the rows that belong to it. ORA-14400 for a row without a
    /// partition.
    fn insert_in_partitions(&mut self, of: &Partitioned, indexes: &[Index], cx: &mut ExecCtx<'_>) -> Result<()> {
        let row = |n: &u32| part(&self.rows, &self.ends, *n as usize);
        let mut places = Vec::with_capacity(self.ends.len());
        for n in 0..self.ends.len() as u32 {
            places.push((of.place_of(row(&n))?, n));
        }
        // Rows of one partition keep their order.
        places.sort_unstable();
        let none = Rowid { obj: ObjectId(0), rdba: Rdba::NONE, slot: 0 };
        let mut rowids = vec![none; places.len()];
        let (mut rows, mut ends, mut found) = (Vec::new(), Vec::new(), Vec::new());
        for group in places.chunk_by(|a, b| a.0 == b.0) {
            let place = group[0].0;
            rows.clear();
            ends.clear();
            found.clear();
            for (_, n) in group {
                rows.extend_from_slice(row(n));
                ends.push(rows.len() as u32);
            }
            let table = of.of.heap_table(of.table, place);
            cx.shared.heap.insert_many(cx.p, &mut cx.session.txn, &table, &rows, &ends, &mut found)?;
            for ((_, n), rowid) in group.iter().zip(&found) {
                rowids[*n as usize] = *rowid;
            }
            for (i, (keys, key_ends)) in indexes.iter().zip(&self.keys).filter(|(i, _)| i.is_local()) {
                self.entries.clear();
                for (_, n) in group {
                    let key = part(keys, key_ends, *n as usize);
                    if !key.is_empty() {
                        self.entries.push(key, rowids[*n as usize]);
                    }
                }
                if index::insert_many_at(i, place, &mut self.entries, cx)? != Inserted::Done {
                    return Err(i.duplicate());
                }
            }
        }
        for (i, (keys, key_ends)) in indexes.iter().zip(&self.keys).filter(|(i, _)| !i.is_local()) {
            // In the order of the keys, so that adjacent entries meet the same leaf.
            let key = |n: usize| part(keys, key_ends, n);
            let mut order: Vec<usize> = (0..rowids.len()).filter(|n| !key(*n).is_empty()).collect();
            order.sort_unstable_by(|a, b| key(*a).cmp(key(*b)));
            for n in order {
                index::insert(i, key(n), At::Rowid(rowids[n]), cx)?;
            }
            cx.check_cancel()?;
        }
        self.last = rowids.last().copied();
        Ok(())
    }

    fn insert_singly(
        &mut self,
        storage: &Storage,
        indexes: &[Index],
        refused: &mut dyn FnMut(usize, Ora) -> Result<()>,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        for n in 0..self.ends.len() {
            let start = cx.shared.txns.savepoint(&cx.session.txn);
            let inserted = cx.check_cancel().and_then(|()| self.insert_one(n, storage, indexes, cx));
            if let Err(e) = inserted {
                cx.undo_failed(&start, &e)?;
                refused(n, e)?;
            }
        }
        Ok(())
    }

    fn insert_one(&mut self, n: usize, storage: &Storage, indexes: &[Index], cx: &mut ExecCtx<'_>) -> Result<()> {
        let row = part(&self.rows, &self.ends, n);
        let Address::Rowid(rowid) = storage.insert(cx, row, &[])? else { return Err(Ora::new(1410)) };
        for (i, (keys, ends)) in indexes.iter().zip(&self.keys) {
            let key = part(keys, ends, n);
            if !key.is_empty() {
                index::insert(i, key, At::Rowid(rowid), cx)?;
            }
        }
        self.last = Some(rowid);
        Ok(())
    }
}

/// Piece `n` of concatenated pieces.
fn part<'a>(all: &'a [u8], ends: &[u32], n: usize) -> &'a [u8] {
    let begin = if n == 0 { 0 } else { ends[n - 1] };
    &all[begin as usize..ends[n] as usize]
}
