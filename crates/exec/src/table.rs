//! Tables as the executor reaches them: a heap or a hash cluster behind one face.

use crate::code::Builder;
use crate::ctx::ExecCtx;
use cluster::HashCluster;
use dictionary::{Organization, SegmentRef, TableDef};
use heap::{HeapTable, RowOutcome};
use txn::{LockWait, Snapshot};
use types::{Ora, Result, Rowid};

/// Where a table's rows are.
#[derive(Clone, Debug)]
pub enum Storage {
    Heap(HeapTable),
    Cluster(HashCluster, Vec<usize>),
}

impl Storage {
    /// # Errors
    /// ORA-00600 for a fixed table, which has no rows of its own; ORA-08103 for a cluster that is gone.
    pub fn of(table: &TableDef, b: &Builder<'_>) -> Result<Storage> {
        match &table.organization {
            Organization::Heap(s) | Organization::Index(s) => Ok(Storage::Heap(heap_table(table, s))),
            Organization::HashCluster { cluster, key_positions } => {
                let s = &cluster.segment;
                let columns: Vec<u16> = key_positions.iter().map(|&p| p as u16).collect();
                let cluster = b.shared.clusters.describe(b.p, table.object, s.data_object, s.header, &columns)?;
                Ok(Storage::Cluster(cluster, key_positions.clone()))
            }
            Organization::Fixed(_) => Err(Ora::internal("a fixed table has no storage")),
        }
    }

    pub fn insert(&self, cx: &mut ExecCtx<'_>, row: &[u8]) -> Result<Rowid> {
        let t = &mut cx.session.txn;
        match self {
            Storage::Heap(h) => cx.shared.heap.insert(cx.p, t, h, row),
            Storage::Cluster(c, _) => cx.shared.clusters.insert(cx.p, t, c, row),
        }
    }

    pub fn update(&self, cx: &mut ExecCtx<'_>, rowid: Rowid, row: &[u8], seen: &Snapshot) -> Result<RowOutcome> {
        let t = &mut cx.session.txn;
        match self {
            Storage::Heap(h) => cx.shared.heap.update(cx.p, t, h, rowid, row, seen, LockWait::Forever),
            Storage::Cluster(c, _) => cx.shared.clusters.update(cx.p, t, c, rowid, row, seen, LockWait::Forever),
        }
    }

    pub fn delete(&self, cx: &mut ExecCtx<'_>, rowid: Rowid, seen: &Snapshot) -> Result<RowOutcome> {
        let t = &mut cx.session.txn;
        match self {
            Storage::Heap(h) => cx.shared.heap.delete(cx.p, t, h, rowid, seen, LockWait::Forever),
            Storage::Cluster(c, _) => cx.shared.clusters.delete(cx.p, t, c, rowid, seen, LockWait::Forever),
        }
    }

    pub fn lock_row(&self, cx: &mut ExecCtx<'_>, rowid: Rowid, seen: &Snapshot, wait: LockWait) -> Result<RowOutcome> {
        let t = &mut cx.session.txn;
        match self {
            Storage::Heap(h) => cx.shared.heap.lock_row(cx.p, t, h, rowid, seen, wait),
            Storage::Cluster(c, _) => cx.shared.clusters.lock_row(cx.p, t, c, rowid, seen, wait),
        }
    }

    /// Copies a row into `row`. False when there is none as of `s`.
    pub fn fetch(&self, cx: &mut ExecCtx<'_>, rowid: Rowid, s: &Snapshot, row: &mut Vec<u8>) -> Result<bool> {
        match self {
            Storage::Heap(h) => cx.shared.heap.fetch_by_rowid(cx.p, s, h, rowid, row),
            Storage::Cluster(c, _) => cx.shared.clusters.fetch_by_rowid(cx.p, s, c, rowid, row),
        }
    }
}

fn heap_table(table: &TableDef, s: &SegmentRef) -> HeapTable {
    HeapTable {
        object: table.object,
        data_object: s.data_object,
        header: s.header,
        pctfree: s.pctfree,
        initrans: s.initrans,
    }
}
