//! Rows of a heap table that are read ahead of a range scan.

use super::sure::{is_sure, is_sure_of};
use crate::ctx::ExecCtx;
use crate::index::Index;
use crate::machine::Machine;
use crate::measure::by_rowid;
use btree::RangeScan;
use buffer_cache::PREFETCH_BLOCKS;
use txn::Snapshot;
use types::{Ora, Result, Rowid, Xid};

/// Rows of a heap table read ahead of a range scan. Adjacent entries often lead to one block, which is then read once
/// for all of them. The read-ahead grows with the number of rows requested.
#[derive(Default)]
pub(super) struct Ahead {
    pub(super) rowids: Vec<Rowid>,
    /// Concatenated keys of the entries whose rows have to be compared with them; for each the row and the end of the
    /// key.
    pub(super) keys: Vec<u8>,
    pub(super) unsure: Vec<(u32, u32)>,
    /// Number of these keys that have been returned.
    pub(super) compared: usize,
    pub(super) rows: Vec<u8>,
    pub(super) found: Vec<(u32, u32)>,
    pub(super) next: usize,
    /// Number of entries of the last read-ahead.
    pub(super) size: usize,
    /// Whether there are no more entries.
    pub(super) ended: bool,
    /// The error of the row after those found.
    pub(super) failed: Option<Ora>,
}

impl Ahead {
    /// Most rows read at a time.
    pub(super) const MOST: usize = 256;

    pub(super) fn restart(&mut self) {
        self.empty();
        (self.size, self.ended, self.failed) = (0, false, None);
    }

    fn empty(&mut self) {
        self.rowids.clear();
        self.keys.clear();
        self.unsure.clear();
        self.rows.clear();
        self.found.clear();
        (self.next, self.compared) = (0, 0);
    }

    /// Adds a row that must be compared with the key of its entry.
    fn push_unsure(&mut self, rowid: Rowid, key: &[u8]) {
        self.keys.extend_from_slice(key);
        self.unsure.push((self.rowids.len() as u32, self.keys.len() as u32));
        self.rowids.push(rowid);
    }

    /// Reads the rows of the added entries.
    fn read(&mut self, table: &heap::HeapTable, s: &Snapshot, cx: &mut ExecCtx<'_>) {
        by_rowid(cx, |cx| self.read_blocks(table, s, cx));
    }

    /// Reads block by block, with prefetching some blocks ahead.
    fn read_blocks(&mut self, table: &heap::HeapTable, s: &Snapshot, cx: &mut ExecCtx<'_>) {
        let heap = cx.shared.heap;
        let mut runs = self.rowids.chunk_by(|a, b| a.rdba == b.rdba);
        let mut from = 0;
        'all: loop {
            let mut window: [&[Rowid]; PREFETCH_BLOCKS] = [&[]; PREFETCH_BLOCKS];
            let count = window.iter_mut().zip(&mut runs).map(|(place, run)| *place = run).count();
            if count > 1 {
                heap.prefetch_rows(&window[..count]);
            }
            for run in &window[..count] {
                if let Err(e) = heap.fetch_in_block(cx.p, s, table, run, &mut self.rows, &mut self.found) {
                    // The rows before the error come first.
                    self.failed = Some(e);
                    break 'all;
                }
                from += run.len();
            }
            if count < PREFETCH_BLOCKS {
                break;
            }
        }
        self.rowids.truncate(from);
        self.found.truncate(from);
    }

    /// Reads ahead once all rows have been returned. False at the end.
    pub(super) fn read_more(
        &mut self,
        range: &mut RangeScan,
        index: &Index,
        verdict: &mut Option<(Xid, bool)>,
        table: &heap::HeapTable,
        m: &Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<bool> {
        if let Some(e) = self.failed.take() {
            return Err(e);
        }
        if self.ended {
            return Ok(false);
        }
        self.empty();
        self.size = (self.size * 4).clamp(1, Ahead::MOST);
        let s = m.snapshot();
        while self.rowids.len() < self.size {
            let most = self.size - self.rowids.len();
            let sure = &mut |xid| is_sure_of(xid, s, verdict, cx);
            range.sure_rows(cx.shared.btree, cx.p, most, sure, &mut self.rowids)?;
            if self.rowids.len() == self.size {
                break;
            }
            let Some(entry) = range.next_entry(cx.shared.btree, cx.p)? else {
                self.ended = true;
                break;
            };
            let rowid = btree::rowid_of(&index.tree, entry.locator);
            if is_sure(&entry, s, verdict, cx) {
                self.rowids.push(rowid);
            } else {
                self.push_unsure(rowid, entry.key);
            }
        }
        self.read(table, s, cx);
        Ok(true)
    }

    /// The next row found, with the key to compare it with; an empty key if none is needed.
    pub(super) fn pop(&mut self) -> Option<(Rowid, &[u8], &[u8])> {
        while self.next < self.rowids.len() {
            let n = self.next;
            self.next += 1;
            let mut key = 0..0;
            if let Some((row, key_end)) = self.unsure.get(self.compared)
                && *row as usize == n
            {
                let key_begin = if self.compared == 0 { 0 } else { self.unsure[self.compared - 1].1 };
                key = key_begin as usize..*key_end as usize;
                self.compared += 1;
            }
            let (begin, end) = self.found[n];
            if begin < end {
                return Some((self.rowids[n], &self.rows[begin as usize..end as usize], &self.keys[key]));
            }
        }
        None
    }
}
