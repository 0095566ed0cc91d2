//! Adding and deleting the entries of many rows at once.
//!
//! Sorted by key, the entries of a statement's rows come to each leaf together: those that simply go in between the ones that are there
//! are put there by one change group with one undo record, and those that are there are marked deleted by one. An entry that takes
//! more than that (its key is there already, the leaf is full) goes the way of a single one.

use crate::leaf::Leaf;
use crate::list::{KEY_HEAD, push_key, shared};
use crate::node::{Node, ROWID, Target, XID, flags, locator_of};
use crate::ops::op;
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
    entries: Vec<Place>,
    /// Some row lies before one that was pushed before it.
    rows_mixed: bool,
}

/// Bytes of a key that its place has at hand.
const LEAD: usize = 16;

/// Where an entry of a batch lies.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// The first sixteen bytes of the key, zeros behind a shorter one: they decide nearly always which of two comes first.
    lead: [u64; 2],
    begin: u32,
    /// Bytes of the key, and of key and locator.
    key: u16,
    sort_key: u16,
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
        self.rows_mixed = false;
    }

    /// Adds the entry of a row: key bytes as [`Btree::insert`] takes them.
    pub fn push(&mut self, key: &[u8], row: Rowid) {
        let (begin, locator) = (self.bytes.len(), locator_of(row.rdba, row.slot));
        self.rows_mixed |= self.bytes.last_chunk::<ROWID>().is_some_and(|last| *last >= locator);
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(&locator);
        let mut lead = [0u8; LEAD];
        let n = key.len().min(lead.len());
        lead[..n].copy_from_slice(&key[..n]);
        let word = |at: usize| u64::from_be_bytes(lead[at..at + 8].try_into().expect("eight bytes"));
        let length = |n: usize| u16::try_from(n).unwrap_or(u16::MAX); // refused as too long
        let place = Place {
            lead: [word(0), word(8)],
            begin: begin as u32,
            key: length(key.len()),
            sort_key: length(key.len() + ROWID),
        };
        self.entries.push(place);
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes that the entries take in memory.
    pub fn bytes(&self) -> usize {
        self.bytes.len() + self.entries.len() * size_of::<Place>()
    }

    fn sort_key(&self, i: usize) -> &[u8] {
        let place = &self.entries[i];
        &self.bytes[place.begin as usize..][..place.sort_key.into()]
    }

    fn key(&self, i: usize) -> &[u8] {
        let place = &self.entries[i];
        &self.bytes[place.begin as usize..][..place.key.into()]
    }

    fn sort(&mut self) {
        let Batch { bytes, entries, rows_mixed } = self;
        // A key is told by its length, so one with zeros behind it is no other key.
        let rest = |place: &Place| &bytes[place.begin as usize..][LEAD.min(place.key.into())..place.key.into()];
        let lead = |place: &Place| u128::from(place.lead[0]) << 64 | u128::from(place.lead[1]);
        let by_rest = |a: &Place, b: &Place| match usize::from(a.key.max(b.key)) {
            0..=LEAD => Ordering::Equal,
            _ => rest(a).cmp(rest(b)),
        };
        let by_key = |a: &Place, b: &Place| lead(a).cmp(&lead(b)).then_with(|| by_rest(a, b));
        if !*rows_mixed {
            // Rows of one key are in their order already: a stable sort keeps them so, and has little to do when keys are few. Rows that
            // come in the order of the key are common, and found out quickly.
            if !entries.is_sorted_by(|a, b| by_key(a, b) != Ordering::Greater) {
                entries.sort_by(by_key);
            }
            return;
        }
        let locator = |place: &Place| {
            let end = place.begin as usize + usize::from(place.sort_key);
            crate::node::rowid_of(bytes[..end].last_chunk::<ROWID>().map_or(&[], |locator| locator))
        };
        entries.sort_unstable_by(|a, b| by_key(a, b).then_with(|| locator(a).cmp(&locator(b))));
    }

    /// How many entries from number `from` on lie below a leaf's high key, of at most `most`.
    fn below(&self, from: usize, most: usize, is_below: impl Fn(&[u8]) -> bool) -> usize {
        let (mut low, mut high) = (from, (from + most).min(self.len()));
        if high > low && is_below(self.sort_key(high - 1)) {
            return high - from;
        }
        while low < high {
            let middle = (low + high) / 2;
            if is_below(self.sort_key(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low - from
    }
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
        let expected = self.cache().read(p, leaf, GetKind::Examination, &mut |v: &BlockView| {
            let node = Node::new(*v);
            if !node.is_leaf() || v.obj() != index.object {
                return 0;
            }
            let mut free = node.data.free_bytes();
            let fits = |i: &usize| {
                let left = free.checked_sub(entry_bytes(batch.sort_key(*i)));
                free = left.unwrap_or(0);
                left.is_some()
            };
            let most = (from..batch.len()).take_while(fits).count();
            match node.high() {
                Some((at, len)) => batch.below(from, most, |key| v.compare(at, len, key) == Ordering::Greater),
                None => most,
            }
        })?;
        let (mut undo, ends) = self.undo_of(batch, from, expected, 0);
        let Some(last) = ends.last() else { return Ok(0) };
        let mut c = self.txns.change(p, t, 1, *last as usize)?;
        let b = pin_for(c.group(), index, leaf, first, 0)?;
        let mut redo = Vec::with_capacity(undo.len() + XID + 4 * ends.len());
        redo.extend_from_slice(&c.xid().to_bits().to_le_bytes());
        let added = plan_in(&Leaf::new(c.view(b)), index, batch, from..from + ends.len(), &mut redo);
        if added == 0 {
            return Ok(0);
        }
        undo.truncate(ends[added - 1] as usize);
        c.logical_undo(index.object, Layer::Index, index.root, (crate::undo::op::TAKE_OUT_MANY, &undo))?;
        c.group().change(b, Layer::Index, op::INSERT_EACH, &redo)?;
        c.commit()?;
        Ok(added)
    }

    /// The list of the keys of at most `most` entries from number `from` on, no longer than the undo of one change should be, and where
    /// each ends when it takes `more` bytes besides.
    fn undo_of(&self, batch: &Batch, from: usize, most: usize, more: usize) -> (Vec<u8>, Vec<u32>) {
        let room = self.cache().block_size() / 2;
        let (mut undo, mut ends) = (Vec::with_capacity(512), Vec::with_capacity(most));
        let mut before: &[u8] = &[];
        for i in from..from + most {
            push_key(before, batch.sort_key(i), &mut undo);
            before = batch.sort_key(i);
            let end = undo.len() + more * (ends.len() + 1);
            if end > room {
                break;
            }
            ends.push(end as u32);
        }
        (undo, ends)
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
        let expected = self.cache().read(p, leaf, GetKind::Examination, &mut |v: &BlockView| {
            let node = Node::new(*v);
            match node.high() {
                _ if !node.is_leaf() || v.obj() != index.object => 0,
                Some((at, len)) => {
                    batch.below(from, node.entries(), |key| v.compare(at, len, key) == Ordering::Greater)
                }
                None => node.entries().min(batch.len() - from),
            }
        })?;
        // Neighbours were mostly made by one transaction, which the undo names once.
        let Some(most) = self.undo_of(batch, from, expected, 1).1.last().map(|end| *end as usize + XID) else {
            return Ok((0, false));
        };
        let mut c = self.txns.change(p, t, 1, most)?;
        let b = pin_for(c.group(), index, leaf, first, 0)?;
        let mut redo = vec![flags::DELETED];
        redo.extend_from_slice(&c.xid().to_bits().to_le_bytes());
        let mut undo = Vec::with_capacity(most);
        let done = find_in(&Leaf::new(c.view(b)), batch, from..from + expected, most, &mut redo, &mut undo);
        if done == 0 {
            return Ok((0, false));
        }
        c.logical_undo(index.object, Layer::Index, index.root, (crate::undo::op::PUT_BACK_MANY, &undo))?;
        c.group().change(b, Layer::Index, op::MARK_EACH, &redo)?;
        let leaf = Leaf::new(c.view(b));
        let emptied = b.rdba() != index.root && (0..leaf.entries()).all(|i| leaf.is_deleted(i));
        c.commit()?;
        Ok((done, emptied))
    }
}

/// Finds these entries, alive, in a leaf, until one is not there or their undo would be more than `most` bytes. Appends their directory
/// entries to `redo` and what puts their marks back to `undo`; returns how many there are.
fn find_in(
    leaf: &Leaf,
    batch: &Batch,
    entries: std::ops::Range<usize>,
    most: usize,
    redo: &mut Vec<u8>,
    undo: &mut Vec<u8>,
) -> usize {
    let (mut at, mut last, mut before): (_, _, &[u8]) = (0, None, &[]);
    for i in entries.clone() {
        let sort_key = batch.sort_key(i);
        let there;
        (at, there) = leaf.find_from(at, sort_key);
        let (marked, xid) = leaf.mark(at);
        let known = last == Some(xid);
        let bytes = 1 + if known { 0 } else { XID } + KEY_HEAD + sort_key.len() - shared(before, sort_key);
        if !there || marked & flags::DELETED != 0 || undo.len() + bytes > most {
            return i - entries.start;
        }
        crate::undo::push_marked(marked, (!known).then_some(xid), undo);
        push_key(before, sort_key, undo);
        redo.extend_from_slice(&(at as u16 + 1).to_le_bytes());
        (before, last) = (sort_key, Some(xid));
        at += 1;
    }
    entries.len()
}

fn row_of(index: &Index, sort_key: &[u8]) -> Rowid {
    let (rdba, slot) = crate::node::rowid_of(&sort_key[sort_key.len() - ROWID..]);
    Rowid { obj: index.table, rdba, slot }
}

/// Appends to `redo` as many of these entries as simply go into a leaf, in their order; returns how many.
fn plan_in(leaf: &Leaf, index: &Index, batch: &Batch, entries: std::ops::Range<usize>, redo: &mut Vec<u8>) -> usize {
    let (high, mut free, mut at, mut before): (_, _, _, &[u8]) = (leaf.high(), leaf.free_bytes, 0, &[]);
    for i in entries.clone() {
        let (key, sort_key) = (batch.key(i), batch.sort_key(i));
        let found;
        (at, found) = leaf.find_from(at, sort_key);
        let there = match index.unique {
            true => {
                let around = at > 0 && leaf.has_key(at - 1, key) || leaf.has_key(at, key);
                around || high.is_some_and(|h| h.starts_with(key)) || i > entries.start && batch.key(i - 1) == key
            }
            false => found || i > entries.start && before == sort_key,
        };
        let (need, beyond) = (entry_bytes(sort_key), high.is_some_and(|h| h <= sort_key));
        if there || beyond || free < need {
            return i - entries.start;
        }
        free -= need;
        redo.extend_from_slice(&((at + i - entries.start + 1) as u16).to_le_bytes());
        redo.extend_from_slice(&(key.len() as u16).to_le_bytes());
        push_key(before, sort_key, redo);
        before = sort_key;
    }
    entries.len()
}
