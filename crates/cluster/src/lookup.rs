//! Finding the rows of a key, and scanning a cluster.

use crate::{Clusters, HashCluster, geometry, tags};
use block::{BlockKind, BlockView, Data};
use buffer_cache::GetKind;
use heap::ops::flags;
use heap::{Piece, PieceAddress, Scan};
use process::Process;
use txn::Snapshot;
use types::{Ora, Rdba, Result, Rowid};
use wait::Stat;

/// Rows copied by a lookup, one after another. The buffers are kept between lookups.
#[derive(Debug, Default, Clone)]
pub struct RowSet {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    rowids: Vec<Rowid>,
    /// Rows of several pieces whose key may lie in another piece: for each the number of rows before it, its rowid and
    /// the address of the next piece.
    scattered: Vec<(Rowid, PieceAddress)>,
}

impl RowSet {
    /// An empty set.
    pub fn new() -> RowSet {
        RowSet::default()
    }

    /// Takes all rows out and keeps the buffers.
    #[inline]
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.rowids.clear();
        self.scattered.clear();
    }

    /// Number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no row.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Row `i`: its rowid and bytes (`types::row`, perhaps with bytes behind the row's end).
    ///
    /// # Panics
    /// When there is no row `i`.
    #[inline]
    pub fn get(&self, i: usize) -> (Rowid, &[u8]) {
        let from = if i == 0 { 0 } else { self.ends[i - 1] as usize };
        (self.rowids[i], &self.bytes[from..self.ends[i] as usize])
    }

    fn close_row(&mut self, rowid: Rowid) {
        self.ends.push(self.bytes.len() as u32);
        self.rowids.push(rowid);
    }

    #[inline]
    fn truncate(&mut self, rows: usize, scattered: usize) {
        self.ends.truncate(rows);
        self.rowids.truncate(rows);
        self.scattered.truncate(scattered);
        self.bytes.truncate(self.ends.last().map_or(0, |e| *e as usize));
    }
}

/// Most blocks of an overflow chain; a longer chain must have a loop.
const CHAIN_MAX: usize = 1 << 22;

impl Clusters {
    /// Copies the rows whose key is `key` (a row of the key's columns: [`HashCluster::key_of`]) into `rows` (cleared
    /// first), as of `s`.
    ///
    /// Latches: none on entry or return; one get of `cache buffers chains` a block in the historical designs.
    /// Statistics: `consistent gets - examination`, one a block: the home block, and its overflow blocks if it has any.
    /// Nothing is allocated once the buffers of `rows` have grown, unless a CR image is needed (C4).
    /// # Errors
    /// ORA-08103 when the cluster was dropped, ORA-01555.
    #[inline]
    pub fn lookup(
        &self,
        p: &Process,
        s: &Snapshot,
        cluster: &HashCluster,
        key: &[u8],
        rows: &mut RowSet,
    ) -> Result<()> {
        rows.clear();
        let columns = key.get(1..).unwrap_or_default();
        let hash = geometry::hash(columns);
        let (tag, leads) = (geometry::tag(hash), cluster.key_leads());
        let home = cluster.home(hash);
        cluster.prefetch(home, self.txns.cache());
        let mut at = home.at;
        let mut tags_at = 0;
        for _ in 0..CHAIN_MAX {
            let (had, scattered) = (rows.len(), rows.scattered.len());
            let next = self.txns.consistent_read(p, at, GetKind::Examination, s, &mut |view: &BlockView<'_>| {
                rows.truncate(had, scattered);
                if view.kind_code() != BlockKind::Cluster as u8 || view.obj() != cluster.data_object {
                    return None;
                }
                tags_at = take_matching(view, at, cluster, tag, leads, columns, key, rows);
                Some(Data::new(*view).next())
            })?;
            if at == home.at {
                home.remember_tags(tags_at);
            }
            at = next.ok_or_else(|| Ora::new(8103))?;
            if at.is_none() {
                return if rows.scattered.is_empty() { Ok(()) } else { self.gather(p, s, cluster, key, rows) };
            }
        }
        Err(Ora::internal("a cluster block's overflow chain has no end"))
    }

    /// Completes rows of several pieces and keeps those with the right key.
    #[cold]
    fn gather(&self, p: &Process, s: &Snapshot, cluster: &HashCluster, key: &[u8], rows: &mut RowSet) -> Result<()> {
        let mut row = Vec::new();
        let mut its_key = Vec::new();
        for (rowid, next) in std::mem::take(&mut rows.scattered) {
            row.clear();
            self.heap.read_rest(p, s, cluster.data_object, next, &mut row)?;
            cluster.key_of(&row, &mut its_key)?;
            if its_key == key {
                rows.bytes.extend_from_slice(&row);
                rows.close_row(rowid);
            }
        }
        Ok(())
    }

    /// Copies the row into `row` (cleared first). False when there is no such row as of `s`.
    ///
    /// # Errors
    /// ORA-01410 when the rowid's block does not belong to the cluster, ORA-08103 when the cluster's segment is gone.
    pub fn fetch_by_rowid(
        &self,
        p: &Process,
        s: &Snapshot,
        cluster: &HashCluster,
        rowid: Rowid,
        row: &mut Vec<u8>,
    ) -> Result<bool> {
        if rowid.obj != cluster.data_object {
            return Err(Ora::new(1410));
        }
        p.count(Stat::TableFetchByRowid, 1);
        match self.heap.read_row(p, s, BlockKind::Cluster, rowid, row)? {
            Piece::Foreign => Err(self.heap.foreign(p, &cluster.as_table())),
            found => Ok(found == Piece::Last),
        }
    }
}

/// Copies the rows of a block whose key is `key` (`columns` is the key without its column count), and returns the
/// offset of the tags. The view may be torn.
#[inline]
#[allow(clippy::too_many_arguments)]
fn take_matching(
    view: &BlockView<'_>,
    at: Rdba,
    cluster: &HashCluster,
    tag: u16,
    leads: bool,
    columns: &[u8],
    key: &[u8],
    rows: &mut RowSet,
) -> usize {
    tags::each_match(view, tag, |slot, row| {
        if row.flags & (flags::HEAD | flags::DELETED) != flags::HEAD {
            return;
        }
        let rowid = Rowid { obj: cluster.data_object, rdba: at, slot };
        if row.flags & flags::LAST == 0 {
            rows.scattered.push((rowid, PieceAddress::read(view, row.at)));
            return;
        }
        let count_bytes = if view.u8(row.at) == 255 { 3 } else { 1 };
        if leads {
            let here = columns.len().min(row.len.saturating_sub(count_bytes));
            if view.compare(row.at + count_bytes, here, columns).is_ne() {
                return;
            }
        }
        let start = rows.bytes.len();
        view.append_to(row.at, row.len, &mut rows.bytes);
        if !leads && !has_key(cluster, &rows.bytes[start..], key) {
            rows.bytes.truncate(start);
            return;
        }
        rows.close_row(rowid);
    })
}

#[cold]
fn has_key(cluster: &HashCluster, row: &[u8], key: &[u8]) -> bool {
    let mut its_key = Vec::with_capacity(key.len());
    cluster.key_of(row, &mut its_key).is_ok() && its_key == key
}

/// A full scan of a cluster. Holds nothing in the SGA between calls; its buffers are kept when it is started again.
#[derive(Default)]
pub struct ClusterScan {
    scan: Scan,
}

impl ClusterScan {
    /// A scan that was not started yet: it has no rows.
    pub fn new() -> ClusterScan {
        ClusterScan::default()
    }

    /// Starts (again) from the first block.
    ///
    /// # Errors
    /// ORA-08103 when the cluster was dropped.
    pub fn start(&mut self, clusters: &Clusters, p: &Process, s: &Snapshot, cluster: &HashCluster) -> Result<()> {
        self.scan.start_kind(&clusters.heap, p, s, &cluster.as_table(), BlockKind::Cluster)
    }

    /// As [`Scan::each_in_block`].
    pub fn each_in_block(
        &mut self,
        clusters: &Clusters,
        p: &Process,
        f: &mut impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<bool> {
        self.scan.each_in_block(&clusters.heap, p, f)
    }

    /// The next row: its rowid and its bytes, valid until the next call.
    pub fn next(&mut self, clusters: &Clusters, p: &Process) -> Result<Option<(Rowid, &[u8])>> {
        self.scan.next(&clusters.heap, p)
    }
}
