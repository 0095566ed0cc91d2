//! Rows that are updated or deleted together.
//!
//! UPDATE and DELETE find rows as of their snapshot, so it does not matter to them when the ones found before are
//! changed. They are changed block by block, and their index entries leaf by leaf.

use crate::ctx::ExecCtx;
use crate::index::{self, Index};
use btree::Inserted;
use heap::{Changes, HeapTable, RowOutcome};
use txn::{LockWait, Snapshot};
use types::{Result, Rowid};

/// Rows found are changed when there are so many of them, or so many bytes.
const ROWS_MOST: usize = 1024;
const BYTES_MOST: usize = 128 << 10;
/// Entries of an index are changed when those noted take so many bytes: the more there are, the more of them meet in a
/// leaf.
const ENTRY_BYTES_MOST: usize = 4 << 20;

/// Changes found and not made yet, with what they do to each index. Keeps its memory.
#[derive(Default)]
pub struct Later {
    changes: Changes,
    /// Entries that go and entries that come, for each index.
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

    /// Notes an update; `replaced`: about so many bytes of the row differ from what it was.
    pub fn update(&mut self, rowid: Rowid, row: &[u8], replaced: usize) {
        self.changes.update(rowid, row, replaced);
    }

    pub fn delete(&mut self, rowid: Rowid) {
        self.changes.delete(rowid);
    }

    /// Notes that index number `n` loses an entry of the row, or gets one.
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

    /// Changes the rows, and, when there are many of them, the entries of indexes that are not unique; false when a row
    /// had changed under the statement. Entries of unique indexes that an update moves wait for [`Later::finish`], as
    /// another row's old key may be a row's new one.
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

    /// Changes the entries that are left.
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
