//! Noted changes of rows and index entries.
//!
//! Rows are changed block by block, their index entries leaf by leaf (E10). The entries of a partitioned table are
//! noted with the data objects of their rows ([`Scattered`]).

use super::scattered::Scattered;
use crate::ctx::ExecCtx;
use crate::index::{self, Index};
use crate::table::Storage;
use btree::Inserted;
use heap::{Changes, RowOutcome};
use std::ops::Range;
use txn::{LockWait, Snapshot};
use types::{Result, Rowid};

/// Rows found are changed once there are this many, or this many bytes.
const ROWS_MOST: usize = 1024;
const BYTES_MOST: usize = 128 << 10;
/// The noted entries of an index are changed once they have this many bytes. The more entries, the more fall into one
/// leaf.
const ENTRY_BYTES_MOST: usize = 4 << 20;
/// Deleted entries that come in the order of the index fall into few leaves; they are changed while they are in the
/// processor's cache.
const ASCENDING_BYTES_MOST: usize = 256 << 10;

/// Noted changes, and what they do to each index. Keeps its memory.
#[derive(Default)]
pub struct Later {
    changes: Changes,
    /// Deleted and inserted entries for each index.
    entries: Vec<(btree::Batch, btree::Batch)>,
    /// The same for the indexes of a partitioned table.
    scattered: Option<Vec<(Scattered, Scattered)>>,
}

impl Later {
    /// Changes of the rows of a table with this storage.
    pub fn of(storage: &Storage) -> Later {
        let scattered = matches!(storage, Storage::Partitioned(_)).then(Vec::new);
        Later { scattered, ..Later::default() }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.changes.clear();
        for (gone, new) in &mut self.entries {
            gone.clear();
            new.clear();
        }
        for (gone, new) in self.scattered.iter_mut().flatten() {
            gone.clear();
            new.clear();
        }
    }

    /// Notes an update. `replaced`: approximate number of changed bytes of the row.
    pub fn update(&mut self, rowid: Rowid, row: &[u8], replaced: usize) {
        self.changes.update(rowid, row, replaced);
    }

    /// Notes an update of a row with the bytes `seen` of an arena: what `come` appends replaces `gone` at offset
    /// `from`.
    #[inline]
    pub fn splice(
        &mut self,
        rowid: Rowid,
        seen: Range<u32>,
        from: usize,
        gone: &[u8],
        come: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        self.changes.splice(rowid, seen, from, gone, come)
    }

    pub fn delete(&mut self, rowid: Rowid) {
        self.changes.delete(rowid);
    }

    /// Notes the deletion of a row of `len` bytes.
    pub fn delete_bytes(&mut self, rowid: Rowid, len: usize) {
        self.changes.delete_bytes(rowid, len);
    }

    /// Notes that index number `n` loses (`gone`) or gets an entry of the row.
    pub fn entry(&mut self, n: usize, gone: bool, key: &[u8], rowid: Rowid) {
        if let Some(all) = &mut self.scattered {
            if all.len() <= n {
                all.resize_with(n + 1, Default::default);
            }
            let (old, new) = &mut all[n];
            return if gone { old.push(key, rowid) } else { new.push(key, rowid) };
        }
        if self.entries.len() <= n {
            self.entries.resize_with(n + 1, Default::default);
        }
        let (old, new) = &mut self.entries[n];
        if gone { old.push(key, rowid) } else { new.push(key, rowid) }
    }

    /// Whether the noted changes should be made.
    pub fn is_full(&self) -> bool {
        self.changes.len() >= ROWS_MOST || self.changes.bytes() >= BYTES_MOST
    }

    /// Changes the rows and, in each index with many of them, the entries. `arena` has the bytes of spliced rows. False
    /// when a row has changed since the snapshot. Entries of unique indexes that an update moves wait for
    /// [`Later::finish`], because the new key of a row may be the old key of another (E9).
    pub fn flush(
        &mut self,
        storage: &Storage,
        indexes: &[Index],
        arena: &[u8],
        deleting: bool,
        seen: &Snapshot,
        cx: &mut ExecCtx<'_>,
    ) -> Result<bool> {
        let t = &mut cx.session.txn;
        let (heap, changes, wait) = (&cx.shared.heap, &self.changes, LockWait::Forever);
        let done = match storage {
            Storage::Heap(table) => heap.change_many(cx.p, t, table, changes, arena, seen, wait),
            Storage::Partitioned(of) => {
                heap.change_many_in(cx.p, t, &|data| of.heap_of(data), changes, arena, seen, wait)
            }
            Storage::Cluster(..) | Storage::Index(_) => Ok(RowOutcome::Done),
        };
        self.changes.clear();
        if done? != RowOutcome::Done {
            return Ok(false);
        }
        let now: Vec<bool> =
            indexes.iter().enumerate().map(|(n, i)| (deleting || !i.def.unique) && self.is_due(n, deleting)).collect();
        if now.contains(&true) {
            self.change_entries(indexes, &|n, _| now[n], cx)?;
        }
        Ok(true)
    }

    /// Whether index number `n` has so many noted entries that they should be changed.
    fn is_due(&self, n: usize, deleting: bool) -> bool {
        if let Some(all) = &self.scattered {
            return all.get(n).is_some_and(|(gone, new)| gone.bytes() + new.bytes() >= ENTRY_BYTES_MOST);
        }
        self.entries.get(n).is_some_and(|(gone, new)| {
            let ascends = || deleting && gone.is_ascending() && gone.bytes() >= ASCENDING_BYTES_MOST;
            gone.bytes() + new.bytes() >= ENTRY_BYTES_MOST || ascends()
        })
    }

    /// Bytes of memory that the noted changes and entries take.
    pub fn bytes(&self) -> usize {
        let entries = self.entries.iter().map(|(gone, new)| gone.bytes() + new.bytes()).sum::<usize>();
        let scattered = self.scattered.iter().flatten().map(|(gone, new)| gone.bytes() + new.bytes()).sum::<usize>();
        self.changes.bytes() + entries + scattered
    }

    /// Changes the remaining entries.
    pub fn finish(&mut self, indexes: &[Index], cx: &mut ExecCtx<'_>) -> Result<()> {
        self.change_entries(indexes, &|_, _| true, cx)
    }

    fn change_entries(
        &mut self,
        indexes: &[Index],
        which: &dyn Fn(usize, &Index) -> bool,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        let all = || indexes.iter().enumerate().filter(|(n, i)| which(*n, i));
        if let Some(scattered) = &mut self.scattered {
            for (n, i) in all() {
                if let Some((gone, _)) = scattered.get_mut(n) {
                    gone.delete(i, cx)?;
                }
            }
            for (n, i) in all() {
                if let Some((_, new)) = scattered.get_mut(n) {
                    new.insert(i, cx)?;
                }
            }
            return Ok(());
        }
        for (n, i) in all() {
            if let Some((gone, _)) = self.entries.get_mut(n) {
                index::delete_many(i, gone, cx)?;
                gone.clear();
            }
        }
        for (n, i) in all() {
            if let Some((_, new)) = self.entries.get_mut(n) {
                if let Inserted::Duplicate(_) = index::insert_many(i, new, cx)? {
                    return Err(i.duplicate());
                }
                new.clear();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{ObjectId, Rdba};

    #[test]
    fn entries_of_an_index_wait_until_that_index_has_many() {
        let mut later = Later::default();
        let row = |n: u32| Rowid { obj: ObjectId(1), rdba: Rdba(n), slot: 0 };
        let mut n = 0u32;
        while !later.is_due(1, false) {
            later.entry(1, true, &n.to_be_bytes(), row(n));
            later.entry(1, false, &(n + 1).to_be_bytes(), row(n));
            if n.is_multiple_of(100) {
                later.entry(0, true, &n.to_be_bytes(), row(n));
            }
            n += 1;
        }
        assert!(later.bytes() >= ENTRY_BYTES_MOST && n > 1000, "{n} rows");
        assert_eq!([0, 1, 2].map(|n| later.is_due(n, false)), [false, true, false]);
    }
}
