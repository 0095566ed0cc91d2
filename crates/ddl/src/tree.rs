//! The B-tree below an index: the only place where DDL uses it.

use crate::entries::Entries;
use crate::host::Parts;
use crate::work::Work;
use btree::{Index, Inserted, RangeScan};
use dictionary::{IndexDef, Organization, SegmentRef, TableDef};
use std::ops::Bound;
use types::{ObjectId, Ora, Rdba, Result};

/// Makes the segment of an index, with its root; a failure of the statement removes it.
pub fn create(work: &mut Work<'_>, tablespace: u32, object: ObjectId) -> Result<Rdba> {
    let parts = work.host.parts();
    parts.storage.trees.create_in(parts.p, parts.txn, tablespace, object)
}

/// Loads sorted entries into the index's empty tree. ORA-00600 for a duplicate key in a unique index, which the caller
/// has ruled out.
pub fn load(parts: &Parts<'_>, table: &TableDef, index: &IndexDef, entries: &Entries) -> Result<()> {
    let tree: Index = parts.storage.trees.open(parts.p, index.segment.header, data_object(table), index.unique)?;
    for (key, locator) in entries.iter() {
        parts.p.check_cancel()?;
        if let Inserted::Duplicate(_) = parts.storage.trees.load_at(parts.p, &tree, key, locator)? {
            return Err(Ora::internal(format_args!("[a key of {} stands twice]", index.name)));
        }
    }
    parts.storage.trees.set_created(parts.p, &tree)
}

/// As [`load`], into the empty tree of a partition, whose rows are in `rows`.
pub fn load_partition(
    parts: &Parts<'_>,
    (tree, rows): (&SegmentRef, ObjectId),
    index: &IndexDef,
    entries: &Entries,
) -> Result<()> {
    let tree: Index = parts.storage.trees.open(parts.p, tree.header, rows, index.unique)?;
    for (key, locator) in entries.iter() {
        parts.p.check_cancel()?;
        if let Inserted::Duplicate(_) = parts.storage.trees.load_at(parts.p, &tree, key, locator)? {
            return Err(Ora::internal(format_args!("[a key of {} stands twice]", index.name)));
        }
    }
    parts.storage.trees.set_created(parts.p, &tree)
}

/// Adds the entries of rows without one to an index that other sessions maintain at the same time.
pub fn load_among_others(parts: &Parts<'_>, table: &TableDef, index: &IndexDef, entries: &Entries) -> Result<()> {
    let tree: Index = parts.storage.trees.open(parts.p, index.segment.header, data_object(table), false)?;
    for (key, locator) in entries.iter() {
        faults::point("ddl-index-filling");
        parts.storage.trees.load_at(parts.p, &tree, key, locator)?;
        parts.p.check_cancel()?;
    }
    Ok(())
}

/// Removes all entries from an index that is being built. The caller holds the table in mode S.
pub fn unload(parts: &Parts<'_>, table: &TableDef, index: &IndexDef) -> Result<()> {
    let tree: Index = parts.storage.trees.open(parts.p, index.segment.header, data_object(table), false)?;
    parts.storage.trees.unload(parts.p, &tree)
}

/// Whether an index has duplicate keys. The caller holds the table exclusively.
pub fn has_repeats(parts: &Parts<'_>, table: &TableDef, index: &IndexDef) -> Result<bool> {
    if table.temporary.is_some() {
        return Ok(false); // no session has rows in it
    }
    let tree: Index = parts.storage.trees.open(parts.p, index.segment.header, data_object(table), index.unique)?;
    let (mut scan, mut last) = (RangeScan::new(), None::<Vec<u8>>);
    scan.start(&tree, Bound::Unbounded, Bound::Unbounded, false);
    while let Some(entry) = scan.next_entry(parts.storage.trees, parts.p)? {
        if entry.deleted {
            continue;
        }
        match &mut last {
            Some(last) if last == entry.key => return Ok(true),
            Some(last) => {
                last.clear();
                last.extend_from_slice(entry.key);
            }
            None => last = Some(entry.key.to_vec()),
        }
    }
    Ok(false)
}

/// Loads rows in key order into the empty tree of an index-organised table.
pub fn load_rows(parts: &Parts<'_>, index: &IndexDef, rows: &Entries) -> Result<()> {
    let data = index.segment.data_object;
    let tree: Index = parts.storage.trees.open(parts.p, index.segment.header, data, true)?;
    for (key, row) in rows.iter() {
        parts.p.check_cancel()?;
        if let Inserted::Duplicate(_) = parts.storage.trees.load_row(parts.p, &tree, key, row)? {
            return Err(Ora::internal(format_args!("[a key of {} stands twice]", index.name)));
        }
    }
    parts.storage.trees.set_created(parts.p, &tree)
}

/// The data object number in rowids of the table's rows.
pub fn data_object(table: &TableDef) -> ObjectId {
    match &table.organization {
        Organization::Heap(segment) | Organization::Index(segment) => segment.data_object,
        Organization::HashCluster { cluster, .. } => cluster.segment.data_object,
        Organization::Fixed(_) => table.object,
        Organization::Partitioned(_) => btree::SEVERAL,
    }
}
