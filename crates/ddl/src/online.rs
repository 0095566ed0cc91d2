//! CREATE INDEX … ONLINE and REBUILD ONLINE (L7): the table's rows may be changed while the index is built.
//!
//! 1. The index is inserted, marked as being built, and committed. Statements compiled from now on maintain it; queries
//!    ignore it. The change of a row whose entry is missing leaves an entry that is marked deleted.
//! 2. The builder waits for a moment at which no open transaction has changed the table: all that began before step 1
//!    have then ended. The entries made until then are removed, because a transaction that began before step 1 may have
//!    changed rows without the index, and its rollback would restore the entries of its later changes for rows that
//!    never existed. From now on all sessions that change rows maintain the index.
//! 3. The builder reads the rows as of now and adds the missing entries. Entries of later changes exist already, or are
//!    marked.
//! 4. At another such moment the builder checks a unique key for duplicates, and removes the mark. A rebuild builds a
//!    second index in this way; then the two exchange their segments, and the second one is dropped with the old
//!    segment.
//!
//! Rejected: a journal of changes beside the index, which must be merged at the end; here the index is its own journal.
//!
//! The DD enqueue is held in steps 1 and 4 only. The builder holds the index's OD enqueue all the time, and from step 2
//! on the table in mode SS, so that its definition does not change. In steps 2 and 4 it requests the table in mode S
//! for a fraction of a second at a time: a session that wants to change rows never waits longer, however long an open
//! transaction lasts.
//!
//! Other DDL on the index or its table keeps the mark, whether the builder lives or not: an index without it counts as
//! complete. The builder sees DDL between step 1 and its lock of the table, because it begins with the definitions at
//! that time.
//!
//! A builder that dies leaves a marked index with a valid structure. A process that gets its OD enqueue knows that no
//! builder is left: SMON drops the index, as does a statement that needs its name.

use crate::entries::Entries;
use crate::host::Host;
use crate::index::{self, NewIndex};
use crate::index_rows;
use crate::rows;
use crate::virtual_column;
use crate::work::{Target, Work, by};
use dictionary::base::{Base, ind, obj};
use dictionary::image::property;
use dictionary::rows::{Row, as_i64, int};
use dictionary::{IndexDef, IndexKey, TableDef};
use enqueue::{EnqueueType, LockMode};
use sql::ast::SegmentOptions;
use std::ops::Bound;
use std::rc::Rc;
use types::{Ora, Result};

/// Attempts to drop an unfinished index before that is left to SMON.
const DROP_TRIES: u32 = 5;

/// Drops indexes whose builders have died, without waiting; only for an index whose name is `wanted` the statement
/// waits.
pub fn clean_up(work: &mut Work<'_>, wanted: Option<&Target>) -> Result<()> {
    let mut dropped = false;
    for object in work.image.indexes_building() {
        let Some(index) = work.image.index(object)? else { continue };
        if !work.hold(EnqueueType::Od, object.0.into(), LockMode::Exclusive)? {
            continue;
        }
        match work.lock_shared(index.table) {
            Ok(()) => {
                drop_index(work, &index)?;
                dropped = true;
            }
            Err(e) if wanted.is_some_and(|t| t.owner == index.owner_id && t.name == index.name) => return Err(e),
            Err(e) if e.is(54) => work.forget_busy(),
            Err(e) => return Err(e),
        }
    }
    if !dropped {
        return Ok(());
    }
    // The rest is a separate statement, which may be run again.
    work.commit()?;
    work.begin_again();
    work.refresh()
}

/// Drops the indexes that dead builders left, for SMON; returns their names. An index whose table is changed all the
/// time is left for later.
///
/// # Errors
/// Those of the dictionary and of the storage.
pub fn drop_abandoned(host: &mut dyn Host) -> Result<Vec<String>> {
    let mut told = Vec::new();
    let building = {
        let parts = host.parts();
        parts.dict.image()?.indexes_building()
    };
    for object in building {
        let dropped = Work::run_unlocked(host, &mut |work| {
            if !work.hold(EnqueueType::Od, object.0.into(), LockMode::Exclusive)? {
                return Ok(None);
            }
            let Some(index) = work.image.index(object)? else { return Ok(None) };
            match work.share_table_and_dd(index.table, Some(1)) {
                Err(e) if e.is(54) => return Ok(None),
                done => done?,
            }
            let Some(index) = work.image.index(object)?.filter(|index| index.building) else { return Ok(None) };
            drop_index(work, &index)?;
            work.commit()?;
            Ok(Some(format!("\"{}\".\"{}\"", index.owner, index.name)))
        })?;
        told.extend(dropped);
    }
    Ok(told)
}

fn drop_index(work: &mut Work<'_>, index: &IndexDef) -> Result<()> {
    let table = work.existing_table(index.table)?;
    virtual_column::forget_key(work, &table, index)?;
    work.touch(index.table);
    index_rows::remove(work, index)
}

/// Makes an index on a table in use.
pub fn create(work: &mut Work<'_>, table: &TableDef, new: NewIndex) -> Result<()> {
    let duplicate = new.duplicate.clone();
    refuse_in_doubt(work, table.object)?;
    let index = index::enter_building(work, table, new)?;
    build_entered(work, &index, &mut |work, table, index| finish(work, table, index, &duplicate))
}

/// ORA-01591 before anything is inserted: the wait for an in-doubt transaction could last indefinitely.
fn refuse_in_doubt(work: &mut Work<'_>, table: types::ObjectId) -> Result<()> {
    work.host.parts().storage.heap.transactions().refuse_table_in_doubt(table)
}

/// Rebuilds an index on a table in use.
pub fn rebuild(work: &mut Work<'_>, old: &IndexDef, target: &Target, options: &SegmentOptions) -> Result<()> {
    let tablespace = index::rebuilt_in(work, old, options)?;
    if old.building {
        return Err(Ora::with(8104, &[&old.object.0]).at(target.pos));
    }
    let table = work.existing_table(old.table)?;
    let column = |part: &dictionary::IndexColumnDef| match part.key {
        IndexKey::Column(at) => Ok((at, part.descending)),
        IndexKey::Expression { .. } => Err(Ora::unsupported().at(target.pos)),
    };
    let name = Target { name: format!("SYS_JOURNAL_{}", old.object.0), ..target.clone() };
    // Another session is rebuilding it, or was until now.
    if work.require_new(&name, dictionary::ObjectKind::Index).is_err() {
        return Err(Ora::with(8104, &[&old.object.0]).at(target.pos));
    }
    let given = |n: u8| Some(u32::from(n));
    let new = NewIndex {
        target: name,
        unique: old.unique,
        distinct: old.unique,
        kind: old.kind,
        columns: old.columns.iter().map(column).collect::<Result<_>>()?,
        options: SegmentOptions {
            pctfree: options.pctfree.or(given(old.segment.pctfree)),
            initrans: options.initrans.or(given(old.segment.initrans)),
            ..SegmentOptions::default()
        },
        invisible: false,
        for_key: true,
        local: None,
        of_key: false,
        duplicate: Ora::new(1452),
    };
    let duplicate = new.duplicate.clone();
    refuse_in_doubt(work, table.object)?;
    let index = index::enter_rebuilding(work, &table, new, tablespace)?;
    build_entered(work, &index, &mut |work, table, index| exchange(work, table, index, old, &duplicate))
}

/// The last step of a build, which completes the index.
type End<'e> = dyn FnMut(&mut Work<'_>, &TableDef, &IndexDef) -> Result<()> + 'e;

/// Builds an inserted index, and drops it again on failure. `end` is called when it is filled, at a moment without open
/// changes of the table.
fn build_entered(work: &mut Work<'_>, index: &IndexDef, end: &mut End<'_>) -> Result<()> {
    if !work.hold(EnqueueType::Od, index.object.0.into(), LockMode::Exclusive)? {
        return Err(Ora::internal("[a new index is being built already]"));
    }
    work.hold_tablespace(index.segment.tablespace, LockMode::Share)?;
    work.touch(index.table);
    work.commit()?;
    work.release_dd();
    faults::point("ddl-index-entered");
    let built = kept(work, index).and_then(|(table, index)| {
        build(work, &table, &index)?;
        end(work, &table, &index)
    });
    if built.is_err() {
        // The statement fails; the index is dropped, now or soon.
        work.undo()?;
        work.release_dd();
        let alone = work.share_table_and_dd(index.table, Some(DROP_TRIES));
        if let (Ok(()), Some(index)) = (alone, work.image.index(index.object)?) {
            drop_index(work, &index)?;
            work.commit()?;
        }
    }
    built
}

/// The table and the index at the moment from which their definitions are locked. A statement between the insertion and
/// this moment may have changed their segments, or dropped them.
fn kept(work: &mut Work<'_>, entered: &IndexDef) -> Result<(Rc<TableDef>, Rc<IndexDef>)> {
    work.keep_table(entered.table)?;
    work.refresh()?;
    let index = work.image.index(entered.object)?.filter(|index| index.building).ok_or_else(|| Ora::new(1418))?;
    Ok((work.existing_table(entered.table)?, index))
}

/// Fills an inserted index. On return there are no open changes of the table, and the DD enqueue is held.
fn build(work: &mut Work<'_>, table: &TableDef, index: &IndexDef) -> Result<()> {
    work.share_table(table.object, None)?;
    let emptied = crate::tree::unload(&work.host.parts(), table, index);
    work.end_share(table.object);
    emptied?;
    // While this snapshot is open, no entry is removed that belongs to an old key of a row that the builder reads.
    let held = {
        let parts = work.host.parts();
        parts.storage.heap.transactions().snapshot(parts.p, parts.txn)
    };
    let loaded = add_entries(work, table, index);
    let parts = work.host.parts();
    parts.storage.heap.transactions().release(parts.p, &held);
    loaded?;
    faults::point("ddl-index-filled");
    work.share_table_and_dd(table.object, None)
}

fn add_entries(work: &mut Work<'_>, table: &TableDef, index: &IndexDef) -> Result<()> {
    let mut entries = Entries::default();
    if virtual_column::is_computed(table, index) {
        entries = virtual_column::entries(work, table, index, false)?;
    } else {
        let mut key = Vec::new();
        rows::scan(work, table, &mut |at, row| {
            key.clear();
            if rows::key_of(index, row, &mut key)? {
                entries.push(&key, &at.locator(false), &mut || Ok(()))?;
            }
            Ok(true)
        })?;
    }
    let parts = work.host.parts();
    entries.sort(&mut || parts.p.check_cancel())?;
    crate::tree::load_among_others(&parts, table, index, &entries)
}

/// Called without open changes of the table: the index has the contents of the table.
fn finish(work: &mut Work<'_>, table: &TableDef, index: &IndexDef, duplicate: &Ora) -> Result<()> {
    complete(work, table, index, index.unique.then_some(duplicate))?;
    work.touch(table.object);
    work.change().update_by(Base::Ind, by(ind::OBJ, index.object), &mut set_usable)?;
    Ok(())
}

fn set_usable(row: &mut Row) {
    let built = property::IND_UNUSABLE | property::IND_BUILDING;
    row[ind::FLAGS] = int(as_i64(&row[ind::FLAGS]).unwrap_or(0) & !built);
}

/// Checks a unique index for duplicate keys, and stores the SCN from which the index is complete.
fn complete(work: &mut Work<'_>, table: &TableDef, index: &IndexDef, unique: Option<&Ora>) -> Result<()> {
    let parts = work.host.parts();
    let tree = parts.storage.trees.open(parts.p, index.segment.header, crate::tree::data_object(table), false)?;
    if let Some(duplicate) = unique {
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
    parts.storage.trees.set_created(parts.p, &tree)
}

/// Exchanges the segments of an index and the one built for it, which is dropped with the old segment.
fn exchange(work: &mut Work<'_>, table: &TableDef, built: &IndexDef, old: &IndexDef, duplicate: &Ora) -> Result<()> {
    let Some(now) = work.image.index(old.object)? else { return Err(Ora::new(1418)) };
    // The old index has enforced its keys, unless it was unusable.
    complete(work, table, built, (now.unique && now.unusable).then_some(duplicate))?;
    let (new, data) = (built.segment, built.segment.data_object);
    work.touch(table.object);
    work.change().update_by(Base::Ind, by(ind::OBJ, old.object), &mut |row| {
        row[ind::DATAOBJ] = int(data.0);
        row[ind::TS] = int(new.tablespace);
        row[ind::FILE] = int(new.header.file());
        row[ind::BLOCK] = int(new.header.block());
        row[ind::PCTFREE] = int(new.pctfree);
        row[ind::INITRANS] = int(new.initrans);
        set_usable(row);
    })?;
    work.update_object(old.object, &mut |row| row[obj::DATAOBJ] = int(data.0))?;
    work.change().delete_by(Base::Ind, by(ind::OBJ, built.object))?;
    work.change().delete_by(Base::Icol, by(dictionary::base::icol::OBJ, built.object))?;
    work.delete_object(built.object)?;
    work.drop_segment_later(now.segment.header)
}
