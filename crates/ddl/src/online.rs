//! CREATE INDEX … ONLINE: the table's rows may be changed while the index is built.
//!
//! 1. The index is entered, marked as being built, and committed. Statements compiled from now on enter their changes in it; queries
//!    pass it over. A change of a row whose entry is not there yet leaves an entry that is marked deleted.
//! 2. The builder waits for the transactions that began before: it takes the table in mode S for a moment.
//! 3. It reads the rows as of now and adds the entries that are not there. What was changed since is there already, or is marked.
//! 4. It takes the table in mode S again, looks whether a unique key stands twice, and takes the mark off.
//!
//! Rejected: a journal of changes beside the index, which has to be caught up with; here the index is its own journal.
//!
//! A builder that dies leaves an index that is marked, and sound. Since every definition holds the DD enqueue, who holds it next knows that
//! nobody is building: CREATE and ALTER INDEX drop what is left first.

use crate::index::{self, NewIndex};
use crate::rows;
use crate::virtual_column;
use crate::work::{Work, by};
use dictionary::base::{Base, ind};
use dictionary::image::property;
use dictionary::rows::{as_i64, int};
use dictionary::{IndexDef, TableDef};
use std::ops::Bound;
use types::{ObjectId, Ora, Result};

/// Drops indexes whose builders died.
pub fn clean_up(work: &mut Work<'_>) -> Result<()> {
    let left = work.image.indexes_building();
    if left.is_empty() {
        return Ok(());
    }
    for object in left {
        if let Some(index) = work.image.index(object)? {
            work.lock_shared(index.table)?;
            drop_index(work, &index)?;
        }
    }
    work.commit()?;
    work.refresh()
}

fn drop_index(work: &mut Work<'_>, index: &IndexDef) -> Result<()> {
    let table = index::existing_table(work, index.table)?;
    virtual_column::forget_key(work, &table, index)?;
    work.touch(index.table);
    index::remove(work, index)
}

/// Makes an index on a table that is in use.
pub fn create(work: &mut Work<'_>, table: &TableDef, new: NewIndex) -> Result<()> {
    let duplicate = new.duplicate.clone();
    let index = index::enter_building(work, table, new)?;
    work.touch(table.object);
    work.commit()?;
    let built = build(work, table, &index, &duplicate);
    if built.is_err() {
        // The statement fails; the index goes, and nothing else was done.
        work.undo()?;
        work.refresh()?;
        work.lock_shared(table.object)?;
        if let Some(index) = work.image.index(index.object)? {
            drop_index(work, &index)?;
        }
        work.commit()?;
    }
    built
}

fn build(work: &mut Work<'_>, table: &TableDef, index: &IndexDef, duplicate: &Ora) -> Result<()> {
    work.lock_shared(table.object)?;
    work.commit()?;
    // As long as this snapshot is open, no entry goes that says of a row that the builder finds: it has another key by now.
    let held = {
        let parts = work.host.parts();
        parts.storage.heap.transactions().snapshot(parts.p, parts.txn)
    };
    let loaded = add_entries(work, table, index);
    let parts = work.host.parts();
    parts.storage.heap.transactions().release(parts.p, &held);
    loaded?;
    work.lock_shared(table.object)?;
    finish(work, table, index, duplicate)
}

fn add_entries(work: &mut Work<'_>, table: &TableDef, index: &IndexDef) -> Result<()> {
    let mut entries: Vec<crate::tree::Entry> = Vec::new();
    if virtual_column::is_computed(table, index) {
        entries = virtual_column::entries(work, table, index)?;
    } else {
        rows::scan(work, table, &mut |at, row| {
            let mut key = Vec::new();
            if rows::key_of(index, row, &mut key)? {
                entries.push((key, at.locator()));
            }
            Ok(true)
        })?;
    }
    entries.sort_unstable();
    crate::tree::load_among_others(&work.host.parts(), table, index, &entries)
}

/// Nobody has open changes of the table: what is in the index is what is in the table.
fn finish(work: &mut Work<'_>, table: &TableDef, index: &IndexDef, duplicate: &Ora) -> Result<()> {
    let parts = work.host.parts();
    let tree = parts.storage.trees.open(parts.p, index.segment.header, crate::tree::data_object(table), false)?;
    if index.unique {
        let mut scan = btree::RangeScan::new();
        scan.start(&tree, Bound::Unbounded, Bound::Unbounded, false);
        let mut last: Vec<u8> = Vec::new();
        while let Some(entry) = scan.next_entry(parts.storage.trees, parts.p)? {
            if entry.deleted {
                continue;
            }
            if entry.key == last {
                return Err(duplicate.clone());
            }
            last.clear();
            last.extend_from_slice(entry.key);
        }
    }
    parts.storage.trees.set_created(parts.p, &tree)?;
    let object: ObjectId = index.object;
    work.touch(table.object);
    let built = property::IND_UNUSABLE | property::IND_BUILDING;
    work.change().update(Base::Ind, &by(ind::OBJ, object), &mut |row| {
        row[ind::FLAGS] = int(as_i64(&row[ind::FLAGS]).unwrap_or(0) & !built);
    })?;
    Ok(())
}
