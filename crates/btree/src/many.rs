//! Adding and deleting the entries of many rows at once.
//!
//! Sorted by key, the entries of a statement's rows come to each leaf together: those that simply go in between the ones that are there
//! are put there by one change group with one undo record, and those that are there are marked deleted by one. An entry that takes
//! more than that (its key is there already, the leaf is full) goes the way of a single one.

use crate::node::{Node, ROWID, Target, XID, flags, locator_of};
use crate::ops::{self, op};
use crate::tree::{Inserted, entry_bytes, pin_for, too_long};
use crate::{Btree, Index, key_bytes_max};
use block::BlockView;
use buffer_cache::GetKind;
use process::Process;
use redo::Layer;
use std::cmp::Ordering;
use txn::{LockWait, Txn};
use types::{Result, Rowid};

/// Entries to be added together. Keeps its memory when it is cleared.
#[derive(Debug, Default)]
pub struct Batch {
    /// Sort keys, one behind the other in the order pushed.
    bytes: Vec<u8>,
    /// Where each begins, where its key and where its locator ends.
    entries: Vec<(u32, u32, u32)>,
}

impl Batch {
    /// No entries yet.
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Forgets all entries.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
    }

    /// Adds the entry of a row: key bytes as [`Btree::insert`] takes them.
    pub fn push(&mut self, key: &[u8], row: Rowid) {
        let begin = self.bytes.len() as u32;
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(&locator_of(row.rdba, row.slot));
        self.entries.push((begin, begin + key.len() as u32, self.bytes.len() as u32));
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn sort_key(&self, i: usize) -> &[u8] {
        let (begin, _, end) = self.entries[i];
        &self.bytes[begin as usize..end as usize]
    }

    fn key(&self, i: usize) -> &[u8] {
        let (begin, end, _) = self.entries[i];
        &self.bytes[begin as usize..end as usize]
    }

    fn sort(&mut self) {
        let Batch { bytes, entries } = self;
        let of = |&(begin, _, end): &(u32, u32, u32)| &bytes[begin as usize..end as usize];
        // Rows that come in the order of the key are common, and found out quickly.
        if !entries.is_sorted_by(|a, b| of(a) <= of(b)) {
            entries.sort_unstable_by(|a, b| of(a).cmp(of(b)));
        }
    }
}

/// Entries of a batch that one leaf takes together.
#[derive(Debug, Clone, Copy, Default)]
struct Run {
    entries: usize,
    undo_bytes: usize,
}

impl Btree {
    /// Adds the entries of many rows to an index, sorting them. [`Inserted::Duplicate`] when the index is unique and has a key
    /// already, or gets it twice; entries before it have been added, and the caller rolls back.
    ///
    /// Waits and errors as [`Btree::insert`].
    pub fn insert_many(
        &self,
        p: &Process,
        t: &mut Txn,
        index: &Index,
        batch: &mut Batch,
        wait: LockWait,
    ) -> Result<Inserted> {
        let most = key_bytes_max(self.cache().block_size());
        if (0..batch.len()).any(|i| batch.key(i).len() > most) {
            return Err(too_long(most));
        }
        batch.sort();
        let mut from = 0;
        while from < batch.len() {
            let added = self.txns.retrying(p, &mut || self.insert_run(p, t, index, batch, from))?;
            from += added;
            if added == 0 {
                let row = row_of(index, batch.sort_key(from));
                if let Inserted::Duplicate(other) = self.insert(p, t, index, batch.key(from), row, wait)? {
                    return Ok(Inserted::Duplicate(other));
                }
                from += 1;
            }
        }
        Ok(Inserted::Done)
    }

    /// Adds the entries from number `from` on that go into one leaf; returns how many.
    fn insert_run(&self, p: &Process, t: &mut Txn, index: &Index, batch: &Batch, from: usize) -> Result<usize> {
        // As for a single entry of a unique index: the leaf where the key's first entry would be.
        let first = if index.unique { batch.key(from) } else { batch.sort_key(from) };
        let leaf = self.descend(p, index, Target::At(first), 0, &mut |_, _| {})?;
        let most = self.cache().block_size() / 2;
        let mut places = Vec::new();
        let mut look = |v: &BlockView, most: usize| run_in(&Node::new(*v), index, batch, from, most, &mut places);
        let expected = self.cache().read(p, leaf, GetKind::Examination, &mut |v| look(v, most))?;
        if expected.entries == 0 {
            return Ok(0);
        }
        let mut c = self.txns.change(p, t, 1, expected.undo_bytes)?;
        let b = pin_for(c.group(), index, leaf, first, 0)?;
        let run = look(&c.group().block(b), expected.undo_bytes);
        if run.entries == 0 {
            return Ok(0);
        }
        let mut undo = Vec::with_capacity(run.undo_bytes);
        let mut redo = Vec::with_capacity(run.undo_bytes + XID + 4 * run.entries);
        redo.extend_from_slice(&c.xid().to_bits().to_le_bytes());
        for (i, place) in (from..).zip(&places) {
            let sort_key = batch.sort_key(i);
            redo.extend_from_slice(&place.to_le_bytes());
            redo.extend_from_slice(&(batch.key(i).len() as u16).to_le_bytes());
            ops::push_sized(sort_key, &mut redo);
            ops::push_sized(sort_key, &mut undo);
        }
        c.logical_undo(index.object, Layer::Index, index.root, (crate::undo::op::TAKE_OUT_MANY, &undo))?;
        c.group().change(b, Layer::Index, op::INSERT_EACH, &redo)?;
        c.commit()?;
        Ok(run.entries)
    }
}

impl Btree {
    /// Marks the entries of many rows deleted, sorting them.
    ///
    /// # Errors
    /// As [`Btree::delete`].
    pub fn delete_many(&self, p: &Process, t: &mut Txn, index: &Index, batch: &mut Batch) -> Result<()> {
        batch.sort();
        let mut from = 0;
        while from < batch.len() {
            let (done, emptied) = self.txns.retrying(p, &mut || self.delete_run(p, t, index, batch, from))?;
            if emptied {
                self.note_empty(p, index, batch.sort_key(from).to_vec());
            }
            from += done;
            if done == 0 {
                self.delete(p, t, index, batch.key(from), row_of(index, batch.sort_key(from)))?;
                from += 1;
            }
        }
        Ok(())
    }

    /// Marks the entries from number `from` on that are in one leaf; returns how many, and whether none in the leaf is left alive.
    fn delete_run(&self, p: &Process, t: &mut Txn, index: &Index, batch: &Batch, from: usize) -> Result<(usize, bool)> {
        let first = batch.sort_key(from);
        let leaf = self.descend(p, index, Target::At(first), 0, &mut |_, _| {})?;
        let most = self.cache().block_size() / 2;
        let mut found = Vec::new();
        let mut look = |v: &BlockView, most: usize| found_in(&Node::new(*v), index, batch, from, most, &mut found);
        let undo_bytes = self.cache().read(p, leaf, GetKind::Examination, &mut |v| look(v, most))?;
        if undo_bytes == 0 {
            return Ok((0, false));
        }
        let mut c = self.txns.change(p, t, 1, undo_bytes)?;
        let b = pin_for(c.group(), index, leaf, first, 0)?;
        let undo_bytes = look(&c.group().block(b), undo_bytes);
        if undo_bytes == 0 {
            return Ok((0, false));
        }
        let mut redo = vec![flags::DELETED];
        redo.extend_from_slice(&c.xid().to_bits().to_le_bytes());
        let mut undo = Vec::with_capacity(undo_bytes);
        let node = Node::new(c.group().block(b));
        for (i, slot) in (from..).zip(&found) {
            crate::undo::push_marked(0, node.xid(usize::from(*slot) - 1), batch.sort_key(i), &mut undo);
            redo.extend_from_slice(&slot.to_le_bytes());
        }
        c.logical_undo(index.object, Layer::Index, index.root, (crate::undo::op::PUT_BACK_MANY, &undo))?;
        c.group().change(b, Layer::Index, op::MARK_EACH, &redo)?;
        let node = Node::new(c.group().block(b));
        let emptied = b.rdba() != index.root && (0..node.entries()).all(|i| node.is_deleted(i));
        c.commit()?;
        Ok((found.len(), emptied))
    }
}

/// Finds the entries from number `from` on that are alive in a leaf, until one is not there or their undo would be more than `most`
/// bytes. Their directory entries are left in `found`; returns the bytes of undo.
fn found_in(node: &Node, index: &Index, batch: &Batch, from: usize, most: usize, found: &mut Vec<u16>) -> usize {
    found.clear();
    let mut bytes = 0;
    if !node.is_leaf() || node.data.view.obj() != index.object {
        return bytes;
    }
    let mut at = node.lower_bound(batch.sort_key(from));
    for i in from..batch.len() {
        let sort_key = batch.sort_key(i);
        // Rows deleted in the order of the index have their entries side by side.
        if !node.is_at(at, sort_key) {
            at = node.lower_bound_from(at, sort_key);
        }
        let undo = crate::undo::MARKED_HEAD + sort_key.len();
        if !node.is_at(at, sort_key) || node.is_deleted(at) || bytes + undo > most {
            break;
        }
        found.push(at as u16 + 1);
        bytes += undo;
        at += 1;
    }
    bytes
}

fn row_of(index: &Index, sort_key: &[u8]) -> Rowid {
    let (rdba, slot) = crate::node::rowid_of(&sort_key[sort_key.len() - ROWID..]);
    Rowid { obj: index.table, rdba, slot }
}

/// How many entries from number `from` on go into a leaf as it is, with undo of at most `most` bytes. Their directory entries,
/// each counted with those before it in place, are left in `places`.
fn run_in(node: &Node, index: &Index, batch: &Batch, from: usize, most: usize, places: &mut Vec<u16>) -> Run {
    places.clear();
    let mut run = Run::default();
    if !node.is_leaf() || node.data.view.obj() != index.object {
        return run;
    }
    let high = node.high();
    let (mut free, count) = (node.data.free_bytes(), node.entries());
    let mut at = node.lower_bound(batch.sort_key(from));
    for i in from..batch.len() {
        let sort_key = batch.sort_key(i);
        let beyond = high.is_some_and(|h| node.data.view.compare(h.0, h.1, sort_key) != Ordering::Greater);
        at = node.lower_bound_from(at, sort_key);
        let there = match index.unique {
            true => {
                let key = batch.key(i);
                let before = at > 0 && node.has_key(at - 1, key);
                before || node.has_key(at, key) || node.goes_on(key) || i > from && batch.key(i - 1) == key
            }
            false => node.is_at(at, sort_key) || i > from && batch.sort_key(i - 1) == sort_key,
        };
        let (need, undo) = (entry_bytes(sort_key), ops::SIZED_HEAD + sort_key.len());
        if beyond || there || free < need || run.undo_bytes + undo > most || at > count {
            break;
        }
        free -= need;
        places.push((at + run.entries + 1) as u16);
        run.entries += 1;
        run.undo_bytes += undo;
    }
    run
}
