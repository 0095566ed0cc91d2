//! Scans of index-organised tables: rows in the order of their keys, as of a snapshot.

use crate::row::{HEAD, Head};
use crate::rows::Current;
use crate::{Btree, Index, RangeScan};
use process::Process;
use std::ops::Bound;
use txn::{Sight, Snapshot};
use types::{Ora, Rdba, Result, Scn};
use wait::Stat;

/// A scan of the rows between two keys. It can be restarted and then reuses its memory; it holds nothing in the SGA
/// between calls.
pub struct RowScan {
    range: RangeScan,
    snapshot: Snapshot,
    /// A version of a row that was made from undo, not copied from the leaf.
    row: Vec<u8>,
    key: Vec<u8>,
    /// The leaf cleaned out last.
    cleaned: Rdba,
}

impl Default for RowScan {
    fn default() -> RowScan {
        RowScan {
            range: RangeScan::new(),
            snapshot: Snapshot { scn: Scn::ZERO, xid: None, own: None, serializable: false },
            row: Vec::new(),
            key: Vec::new(),
            cleaned: Rdba::NONE,
        }
    }
}

impl RowScan {
    /// A scan that was not started yet: it has no rows.
    pub fn new() -> RowScan {
        RowScan::default()
    }

    /// Starts (again). Bounds are those of [`RangeScan::start`].
    pub fn start(&mut self, tree: &Index, s: &Snapshot, low: Bound<&[u8]>, high: Bound<&[u8]>, descending: bool) {
        self.snapshot = *s;
        self.cleaned = Rdba::NONE;
        self.range.start(tree, low, high, descending);
    }

    /// The next row: its key and its bytes (`types::row`), valid until the next call.
    ///
    /// Statistics: `consistent gets`, `table scan rows gotten`.
    /// # Errors
    /// ORA-01555; ORA-08103 when the table is gone.
    pub fn next(&mut self, trees: &Btree, p: &Process) -> Result<Option<(&[u8], &[u8])>> {
        let snapshot = self.snapshot;
        loop {
            let more = self.range.fill(trees, p)?;
            // Rows of this snapshot may have been purged from a leaf read so far (R13).
            if self.range.purged() > snapshot.scn {
                return Err(trees.transactions().rows_too_old());
            }
            let Some(entry) = more.then(|| self.range.take()) else { return Ok(None) };
            let damaged = || Ora::internal("an entry of an index-organised table is not a row");
            let head = Head::read(entry.flags, entry.behind).ok_or_else(damaged)?;
            let len = usize::from(head.len);
            let row = entry.behind.get(HEAD..HEAD + len).ok_or_else(damaged)?;
            p.count(Stat::TableScanRowsGotten, 1);
            let txns = trees.transactions();
            if txns.sight(head.maker(), head.uba, &snapshot) != Sight::Visible {
                self.key.clear();
                self.key.extend_from_slice(entry.key);
                self.row.clear();
                self.row.extend_from_slice(row);
                let mut version = Current { head, key: &self.key, row: std::mem::take(&mut self.row), touched: false };
                let seen = trees.as_of(p, &snapshot, &mut version)?;
                self.row = version.row;
                if seen {
                    return Ok(Some((&self.key, &self.row)));
                }
                continue;
            }
            let stale = trees.is_stale(&head, &snapshot);
            let (index, leaf) = self.range.place();
            if let (true, Some(index)) = (stale && leaf != self.cleaned, index) {
                self.cleaned = leaf;
                trees.clean_leaf(p, &index, leaf);
            }
            if head.is_deleted() {
                continue;
            }
            return Ok(self.range.last_row(len));
        }
    }
}
