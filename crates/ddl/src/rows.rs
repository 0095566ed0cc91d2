//! The rows of a table in any organization.

use crate::host::Parts;
use crate::work::Work;
use btree::{RowAction, RowScan, RowTable};
use cluster::{ClusterScan, HashCluster};
use dictionary::{IndexDef, IndexKey, Organization, TableDef};
use heap::Scan;
use std::ops::Bound;
use txn::LockWait;
use types::row::Column;
use types::{DataType, Ora, Result, RowReader, RowWriter, Rowid, Value, codec};

/// The place of a row, as index entries store it.
#[derive(Clone, Copy, Debug)]
pub enum At<'a> {
    Rowid(Rowid),
    /// In an index-organised table: the bytes of its primary key.
    Key(&'a [u8]),
}

impl At<'_> {
    /// The locator of the row in the entries of an index.
    pub fn locator(self, several: bool) -> Vec<u8> {
        match self {
            At::Rowid(rowid) => btree::Locator::of(rowid, several).to_vec(),
            At::Key(key) => key.to_vec(),
        }
    }
}

/// The tree that holds the rows of an index-organised table.
pub fn row_table(parts: &Parts<'_>, table: &TableDef) -> Result<Option<RowTable>> {
    let (Organization::Index(s), Some(index)) = (&table.organization, table.row_index()) else { return Ok(None) };
    let tree = parts.storage.trees.open(parts.p, s.header, index.segment.data_object, true)?;
    Ok(Some(RowTable { tree, object: table.object }))
}

/// Makes the key of a row in an index. False when all parts are NULL: such a row has no entry.
pub fn key_of(index: &IndexDef, row: &[u8], key: &mut Vec<u8>) -> Result<bool> {
    let mut any = false;
    for column in &index.columns {
        let IndexKey::Column(position) = column.key else {
            return Err(Ora::unsupported());
        };
        let stored = stored(row, position)?;
        any |= stored.is_some();
        index.push_key_part(stored, column.descending, key);
    }
    Ok(any)
}

/// The hash cluster of a table's rows.
pub fn hash_cluster(parts: &Parts<'_>, table: &TableDef) -> Result<Option<HashCluster>> {
    let Organization::HashCluster { cluster, key_positions } = &table.organization else {
        return Ok(None);
    };
    let keys: Vec<u16> = key_positions.iter().map(|position| *position as u16).collect();
    let segment = &cluster.segment;
    parts.storage.clusters.describe(parts.p, table.object, segment.data_object, segment.header, &keys).map(Some)
}

/// Calls `each` with every row of the table that this transaction sees, until `each` returns false.
pub fn scan(work: &mut Work<'_>, table: &TableDef, each: &mut dyn FnMut(At<'_>, &[u8]) -> Result<bool>) -> Result<()> {
    // DDL on a temporary table requires that no session has rows in it.
    if table.temporary.is_some() {
        return Ok(());
    }
    let parts = work.host.parts();
    let txns = parts.storage.heap.transactions();
    let snapshot = txns.statement_snapshot(parts.p, parts.txn);
    let done = scan_as_of(&parts, &snapshot, table, each);
    txns.release(parts.p, &snapshot);
    done
}

/// Like [`scan`], over a share of the blocks of a heap table.
pub fn scan_sample(
    work: &mut Work<'_>,
    table: &TableDef,
    share: f64,
    each: &mut dyn FnMut(At<'_>, &[u8]) -> Result<bool>,
) -> Result<()> {
    let Some(heap) = table.heap_table() else { return scan(work, table, each) };
    let parts = work.host.parts();
    let txns = parts.storage.heap.transactions();
    let snapshot = txns.statement_snapshot(parts.p, parts.txn);
    let mut scan = Scan::new();
    scan.sample_blocks(share);
    let done = scan.start(parts.storage.heap, parts.p, &snapshot, &heap).and_then(|()| {
        while let Some((rowid, row)) = scan.next(parts.storage.heap, parts.p)? {
            parts.p.check_cancel()?;
            if !each(At::Rowid(rowid), row)? {
                break;
            }
        }
        Ok(())
    });
    txns.release(parts.p, &snapshot);
    done
}

/// As [`scan`], over one partition.
pub fn scan_partition(
    work: &mut Work<'_>,
    heap: &heap::HeapTable,
    each: &mut dyn FnMut(At<'_>, &[u8]) -> Result<bool>,
) -> Result<()> {
    let parts = work.host.parts();
    let txns = parts.storage.heap.transactions();
    let snapshot = txns.statement_snapshot(parts.p, parts.txn);
    let done = scan_heap(&parts, &snapshot, heap, each);
    txns.release(parts.p, &snapshot);
    done.map(drop)
}

/// False when `each` has ended the scan.
fn scan_heap(
    parts: &Parts<'_>,
    snapshot: &txn::Snapshot,
    heap: &heap::HeapTable,
    each: &mut dyn FnMut(At<'_>, &[u8]) -> Result<bool>,
) -> Result<bool> {
    let mut scan = Scan::new();
    scan.start(parts.storage.heap, parts.p, snapshot, heap)?;
    while let Some((rowid, row)) = scan.next(parts.storage.heap, parts.p)? {
        parts.p.check_cancel()?;
        if !each(At::Rowid(rowid), row)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn scan_as_of(
    parts: &Parts<'_>,
    snapshot: &txn::Snapshot,
    table: &TableDef,
    each: &mut dyn FnMut(At<'_>, &[u8]) -> Result<bool>,
) -> Result<()> {
    if let Some(of) = table.partitioning() {
        for place in 0..of.partitions.len() {
            if !scan_heap(parts, snapshot, &of.heap_table(table.object, place), each)? {
                break;
            }
        }
        return Ok(());
    }
    if let Some(heap) = table.heap_table() {
        return scan_heap(parts, snapshot, &heap, each).map(drop);
    }
    if let Some(rows) = row_table(parts, table)? {
        let mut scan = RowScan::new();
        scan.start(&rows.tree, snapshot, Bound::Unbounded, Bound::Unbounded, false);
        while let Some((key, row)) = scan.next(parts.storage.trees, parts.p)? {
            parts.p.check_cancel()?;
            if !each(At::Key(key), row)? {
                break;
            }
        }
        return Ok(());
    }
    let Some(cluster) = hash_cluster(parts, table)? else {
        return Err(Ora::new(1702));
    };
    let mut scan = ClusterScan::new();
    scan.start(parts.storage.clusters, parts.p, snapshot, &cluster)?;
    while let Some((rowid, row)) = scan.next(parts.storage.clusters, parts.p)? {
        parts.p.check_cancel()?;
        if !each(At::Rowid(rowid), row)? {
            break;
        }
    }
    Ok(())
}

/// Whether the table has any row.
pub fn any(work: &mut Work<'_>, table: &TableDef) -> Result<bool> {
    let mut found = false;
    scan(work, table, &mut |_, _| {
        found = true;
        Ok(false)
    })?;
    Ok(found)
}

/// Whether any row has NULL in the column.
pub fn any_null(work: &mut Work<'_>, table: &TableDef, column: usize) -> Result<bool> {
    let mut found = false;
    scan(work, table, &mut |_, row| {
        found = stored(row, column)?.is_none();
        Ok(!found)
    })?;
    Ok(found)
}

/// The stored bytes of one column, `None` for NULL.
pub fn stored(row: &[u8], column: usize) -> Result<Option<&[u8]>> {
    let damaged = || Ora::internal("[damaged row]");
    let reader = RowReader::new(row).ok_or_else(damaged)?;
    Ok(reader.column(column).ok_or_else(damaged)?.bytes())
}

/// The locator of a LOB that is stored apart.
fn locator(row: &[u8], column: usize) -> Result<Option<&[u8]>> {
    let damaged = || Ora::internal("[damaged row]");
    match RowReader::new(row).ok_or_else(damaged)?.column(column).ok_or_else(damaged)? {
        Column::Out(locator) => Ok(Some(locator)),
        Column::Null | Column::Bytes(_) => Ok(None),
    }
}

/// The value of one column.
pub fn value(row: &[u8], column: usize, data_type: &DataType) -> Result<Value> {
    let mut value = Value::Null;
    if let Some(bytes) = stored(row, column)? {
        codec::decode_into(bytes, data_type, &mut value)?;
    }
    Ok(value)
}

/// The stored bytes of a column, `None` for NULL.
pub type Piece = Option<Vec<u8>>;

/// Rewrites every row: `change` gets the row's `columns` stored columns and changes them in place.
pub fn rewrite(
    work: &mut Work<'_>,
    table: &TableDef,
    columns: usize,
    change: &mut dyn FnMut(&mut [Piece]) -> Result<()>,
) -> Result<()> {
    let mut all: Vec<(Option<Rowid>, Vec<u8>, Vec<u8>)> = Vec::new();
    scan(work, table, &mut |at, row| {
        all.push(match at {
            At::Rowid(rowid) => (Some(rowid), Vec::new(), row.to_vec()),
            At::Key(key) => (None, key.to_vec(), row.to_vec()),
        });
        Ok(true)
    })?;
    let parts = work.host.parts();
    let txns = parts.storage.heap.transactions();
    let snapshot = txns.statement_snapshot(parts.p, parts.txn);
    let cluster = hash_cluster(&parts, table)?;
    let rows = row_table(&parts, table)?;
    let mut bytes = Vec::new();
    for (rowid, key, row) in &all {
        let mut pieces: Vec<Piece> = Vec::with_capacity(columns);
        for column in 0..columns {
            pieces.push(stored(row, column)?.map(<[u8]>::to_vec));
        }
        change(&mut pieces)?;
        bytes.clear();
        let mut writer = RowWriter::new(&mut bytes, columns);
        for (column, piece) in pieces.iter().enumerate() {
            // A LOB that is stored apart stays where it is.
            match (piece, locator(row, column)?) {
                (Some(piece), Some(locator)) if piece == locator => writer.out(locator),
                (Some(piece), _) => writer.bytes(piece),
                (None, _) => writer.null(),
            }
        }
        let (p, wait) = (parts.p, LockWait::NoWait);
        let (Some(rowid), false) = (rowid, rows.is_some()) else {
            let rows = rows.as_ref().ok_or_else(|| Ora::new(1702))?;
            let action = RowAction::Update(&bytes);
            parts.storage.trees.change_row(p, parts.txn, rows, key, action, &snapshot, wait)?;
            continue;
        };
        let of_row = table.partitioning().and_then(|of| {
            let place = of.place_of_data(rowid.obj)?;
            Some(of.heap_table(table.object, place))
        });
        match (&cluster, table.heap_table().or(of_row)) {
            (Some(cluster), _) => {
                parts.storage.clusters.update(p, parts.txn, cluster, *rowid, &bytes, &snapshot, wait)?;
            }
            (None, Some(heap)) => {
                parts.storage.heap.update(p, parts.txn, &heap, *rowid, &bytes, &snapshot, wait)?;
            }
            (None, None) => return Err(Ora::new(1702)),
        }
    }
    txns.release(parts.p, &snapshot);
    Ok(())
}

/// Inserts the rows of some segments into others, each into the one that `to` gives for it. The table is locked.
pub fn distribute(
    work: &mut Work<'_>,
    from: &[heap::HeapTable],
    to: &mut dyn FnMut(&[u8]) -> Result<heap::HeapTable>,
) -> Result<()> {
    let parts = work.host.parts();
    let (heap, p) = (parts.storage.heap, parts.p);
    let snapshot = heap.transactions().statement_snapshot(p, parts.txn);
    let mut scan = heap::Scan::new();
    let mut copy = || {
        for segment in from {
            scan.start(heap, p, &snapshot, segment)?;
            while let Some((_, row)) = scan.next(heap, p)? {
                heap.insert(p, parts.txn, &to(row)?, row)?;
                p.check_cancel()?;
            }
        }
        Ok(())
    };
    let done = copy();
    heap.transactions().release(p, &snapshot);
    done
}

/// Rows copied from one segment to another at once.
const BATCH_ROWS: usize = 256;

/// Copies the rows of a heap table into the segment of `to`. The table is locked.
pub fn copy_rows(work: &mut Work<'_>, from: &TableDef, to: &TableDef) -> Result<()> {
    let (Some(from), Some(to)) = (from.heap_table(), to.heap_table()) else { return Err(Ora::new(1702)) };
    let parts = work.host.parts();
    let (heap, p) = (parts.storage.heap, parts.p);
    let snapshot = heap.transactions().statement_snapshot(p, parts.txn);
    let mut scan = heap::Scan::new();
    let mut copy = || {
        scan.start(heap, p, &snapshot, &from)?;
        let (mut bytes, mut ends, mut rowids) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            let row = scan.next(heap, p)?;
            let more = row.is_some();
            if let Some((_, row)) = row {
                bytes.extend_from_slice(row);
                ends.push(bytes.len() as u32);
            }
            if ends.len() >= BATCH_ROWS || (!more && !ends.is_empty()) {
                heap.insert_many(p, parts.txn, &to, &bytes, &ends, &mut rowids)?;
                rowids.clear();
                bytes.clear();
                ends.clear();
                p.check_cancel()?;
            }
            if !more {
                return Ok(());
            }
        }
    };
    let done = copy();
    heap.transactions().release(p, &snapshot);
    done
}
