//! Index entries of rows of several partitions.
//!
//! The entries of a local index go to the tree of each partition together. An index over all partitions has locators
//! with the data object, which batches of entries do not have; its entries are changed one by one, in the order of
//! their keys, so that adjacent ones meet the same leaf.

use crate::ctx::ExecCtx;
use crate::index::{self, Index};
use crate::table::At;
use btree::Inserted;
use std::ops::Range;
use types::{Result, Rowid};

/// Entries to be added or deleted. Clearing keeps the memory.
#[derive(Default)]
pub struct Scattered {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

struct Entry {
    row: Rowid,
    begin: usize,
    len: u32,
}

impl Entry {
    fn key(&self) -> Range<usize> {
        self.begin..self.begin + self.len as usize
    }
}

/// Entries of an index over all partitions between two looks for a cancelled call.
const CANCEL_STEP: usize = 1024;

/// Changes the entry with a key and a row, by its number.
type Change<'f> = dyn FnMut(&[u8], Rowid, usize) -> Result<()> + 'f;

impl Scattered {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
    }

    pub fn push(&mut self, key: &[u8], row: Rowid) {
        self.entries.push(Entry { row, begin: self.bytes.len(), len: key.len() as u32 });
        self.bytes.extend_from_slice(key);
    }

    /// Bytes of memory that the entries take.
    pub fn bytes(&self) -> usize {
        self.bytes.len() + self.entries.len() * size_of::<Entry>()
    }

    /// Marks the entries deleted, and forgets them.
    pub fn delete(&mut self, index: &Index, cx: &mut ExecCtx<'_>) -> Result<()> {
        let done = match index.is_local() {
            true => self.each_partition(&mut |place, batch| index::delete_many_at(index, place, batch, cx), index),
            false => self.each(&mut |key, row, n| {
                if n % CANCEL_STEP == 0 {
                    cx.check_cancel()?;
                }
                index::delete(index, key, At::Rowid(row), cx)
            }),
        };
        self.clear();
        done
    }

    /// Adds the entries to the index, and forgets them.
    ///
    /// # Errors
    /// ORA-00001 for a duplicate key.
    pub fn insert(&mut self, index: &Index, cx: &mut ExecCtx<'_>) -> Result<()> {
        let done = match index.is_local() {
            true => self.each_partition(
                &mut |place, batch| match index::insert_many_at(index, place, batch, cx)? {
                    Inserted::Done => Ok(()),
                    Inserted::Duplicate(_) => Err(index.duplicate()),
                },
                index,
            ),
            false => self.each(&mut |key, row, n| {
                if n % CANCEL_STEP == 0 {
                    cx.check_cancel()?;
                }
                index::insert(index, key, At::Rowid(row), cx)
            }),
        };
        self.clear();
        done
    }

    fn each_partition(
        &mut self,
        f: &mut dyn FnMut(usize, &mut btree::Batch) -> Result<()>,
        index: &Index,
    ) -> Result<()> {
        let Scattered { bytes, entries } = self;
        // Rows of one partition keep their order.
        if !entries.is_sorted_by_key(|entry| entry.row.obj) {
            entries.sort_by_key(|entry| entry.row.obj);
        }
        let mut batch = btree::Batch::new();
        for group in entries.chunk_by(|a, b| a.row.obj == b.row.obj) {
            batch.clear();
            group.iter().for_each(|entry| batch.push(&bytes[entry.key()], entry.row));
            f(index.place_of_data(group[0].row.obj)?, &mut batch)?;
        }
        Ok(())
    }

    fn each(&mut self, f: &mut Change<'_>) -> Result<()> {
        let Scattered { bytes, entries } = self;
        entries.sort_unstable_by(|a, b| bytes[a.key()].cmp(&bytes[b.key()]).then(a.row.cmp(&b.row)));
        entries.iter().enumerate().try_for_each(|(n, entry)| f(&bytes[entry.key()], entry.row, n))
    }
}
