//! Rows updated or deleted in batches.
//!
//! UPDATE and DELETE find rows as of their snapshot, so changing the rows found earlier does not affect them. Rows are
//! changed block by block, their index entries leaf by leaf (E10).

use crate::ctx::ExecCtx;
use crate::index::{self, Index};
use btree::Inserted;
use heap::{Changes, HeapTable, RowOutcome};
use txn::{LockWait, Snapshot};
use types::{Result, Rowid};

/// Rows found are changed once there are this many, or this many bytes.
const ROWS_MOST: usize = 1024;
const BYTES_MOST: usize = 128 << 10;
/// The noted entries of an index are changed once they have this many bytes. The more entries, the more fall into one
/// leaf.
const ENTRY_BYTES_MOST: usize = 4 << 20;

/// Noted changes, and what they do to each index. Keeps its memory.
#[derive(Default)]
pub struct Later {
    changes: Changes,
    /// Deleted and inserted entries for each index.
    entries: Vec<(btree::Batch, btree::Batch)>,
}

impl Later {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.changes.clear();
        for (gone, new) in &mut self.entries {
            gone.clear();
            new.clear();
        }
    }

    /// Notes an update. `replaced`: approximate number of changed bytes of the row.
    pub fn update(&mut self, rowid: Rowid, row: &[u8], replaced: usize) {
        self.changes.update(rowid, row, replaced);
    }

    pub fn delete(&mut self, rowid: Rowid) {
        self.changes.delete(rowid);
    }

    /// Notes that index number `n` loses (`gone`) or gets an entry of the row.
    pub fn entry(&mut self, n: usize, gone: bool, key: &[u8], rowid: Rowid) {
        if self.entries.len() <= n {
            self.entries.resize_with(n + 1, Default::default);
        }
        let (old, new) = &mut self.entries[n];
        if gone { old.push(key, rowid) } else { new.push(key, rowid) }
    }

    pub fn is_full(&self) -> bool {
        self.changes.len() >= ROWS_MOST || self.changes.bytes() >= BYTES_MOST
    }

    /// Changes the rows and, if there are many of them, the entries of non-unique indexes. False when a row has changed
    /// since the snapshot. Entries of unique indexes that an update moves wait for [`Later::finish`], because the new
    /// key of a row may be the old key of another (E9).
    pub fn flush(
        &mut self,
        table: &HeapTable,
        indexes: &[Index],
        deleting: bool,
        seen: &Snapshot,
        cx: &mut ExecCtx<'_>,
    ) -> Result<bool> {
        let t = &mut cx.session.txn;
        let done = cx.shared.heap.change_many(cx.p, t, table, &self.changes, seen, LockWait::Forever);
        self.changes.clear();
        if done? != RowOutcome::Done {
            return Ok(false);
        }
        let many = self.entries.iter().any(|(gone, new)| gone.bytes() + new.bytes() >= ENTRY_BYTES_MOST);
        if many {
            self.change_entries(indexes, &|i| deleting || !i.def.unique, cx)?;
        }
        Ok(true)
    }

    /// Changes the remaining entries.
    pub fn finish(&mut self, indexes: &[Index], cx: &mut ExecCtx<'_>) -> Result<()> {
        self.change_entries(indexes, &|_| true, cx)
    }

    fn change_entries(
        &mut self,
        indexes: &[Index],
        which: &dyn Fn(&Index) -> bool,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        let all = || indexes.iter().enumerate().filter(|(_, i)| which(i));
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
