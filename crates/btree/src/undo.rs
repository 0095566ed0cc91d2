//! Rolling back changes of an index: by key, wherever splits have moved the entry.

use crate::Index;
use crate::list::pop_key;
use crate::node::{Node, Step, Target, XID};
use crate::ops;
use crate::tree::{damaged, leaf_for, pin_for};
use buffer_cache::ChangeGroup;
use process::Process;
use redo::Layer;
use txn::{Rollback, Transactions, UndoLayer, UndoRecord};
use types::{Ora, Rdba, Result, Xid};

/// Operations of undo records of `Layer::Index`.
pub(crate) mod op {
    /// The entry was added: sort key.
    pub const TAKE_OUT: u8 = 1;
    /// The entry was marked or revived: flags u8, xid u64, sort key.
    pub const PUT_BACK: u8 = 2;
    /// Entries were added: sort keys as in [`crate::list`].
    pub const TAKE_OUT_MANY: u8 = 7;
    /// Entries were marked: for each flags u8, xid u64 (left out when [`SAME_XID`] says that it equals the previous
    /// one), and the sort key as in [`crate::list`].
    pub const PUT_BACK_MANY: u8 = 8;
}

pub(crate) struct IndexUndo;

impl UndoLayer for IndexUndo {
    /// Index blocks have no CR images.
    fn undo_image(&self, _: &mut [u8], _: &UndoRecord<'_>) -> Result<()> {
        Ok(())
    }

    /// Reverses undo records of many entries, leaf by leaf: splits may have moved the entries into more leaves than one
    /// group can hold. An entry already in its former state was reversed by an earlier rollback that was interrupted.
    fn prepare(&self, txns: &Transactions, p: &Process, rec: &UndoRecord<'_>) -> Result<()> {
        let many = match rec.op {
            op::TAKE_OUT_MANY => Many::of_added(rec.data),
            op::PUT_BACK_MANY => Many::of_marked(rec.data),
            _ => return Ok(()),
        };
        let many = many.ok_or_else(|| Ora::internal("undo of an index is damaged"))?;
        let index = index_of(rec);
        let mut from = 0;
        while from < many.entries.len() {
            let leaf = find_leaf(txns, p, &index, many.sort_key(from))?;
            let scn = || txns.current_scn();
            from += txns.cache().in_group(p, &scn, &mut |g| match rec.op {
                op::TAKE_OUT_MANY => take_out(g, &index, leaf, &many, from, rec.xid),
                _ => put_back(g, &index, leaf, &many, from, rec.xid),
            })?;
        }
        Ok(())
    }

    fn rollback(&self, txns: &Transactions, p: &Process, rec: &UndoRecord<'_>, undo: &mut Rollback<'_>) -> Result<()> {
        let wrong = || Ora::internal("undo of an index is damaged");
        let (before, sort_key) = match rec.op {
            crate::row_undo::op::TAKE_OUT | crate::row_undo::op::PUT_BACK => {
                return crate::row_undo::rollback(txns, p, rec, undo);
            }
            op::TAKE_OUT => (None, rec.data),
            op::TAKE_OUT_MANY | op::PUT_BACK_MANY => return Ok(()), // done by `prepare`
            op::PUT_BACK => {
                let (head, sort_key) = rec.data.split_at_checked(1 + XID).ok_or_else(wrong)?;
                let xid = Xid::from_bits(u64::from_le_bytes(head[1..].try_into().map_err(|_| wrong())?));
                (Some((head[0], xid)), sort_key)
            }
            _ => return Err(wrong()),
        };
        let index = index_of(rec);
        let leaf = find_leaf(txns, p, &index, sort_key)?;
        let g = undo.group();
        let b = pin_for(g, &index, leaf, sort_key, 0)?;
        let node = Node::new(g.block(b));
        let i = node.lower_bound(sort_key);
        if !node.is_at(i, sort_key) {
            return Err(damaged(&index, leaf));
        }
        match before {
            None => g.change(b, Layer::Index, ops::op::REMOVE, &(i as u16 + 1).to_le_bytes()),
            Some((flags, xid)) => g.change(b, Layer::Index, ops::op::MARK, &ops::marking(i + 1, flags, xid)),
        }
    }
}

/// The index of an undo record. Root and data object are all that a search for the entry needs.
pub(crate) fn index_of(rec: &UndoRecord<'_>) -> Index {
    Index {
        segment: Rdba::NONE,
        root: rec.rdba,
        object: rec.object,
        table: rec.object,
        unique: false,
        created: types::Scn::ZERO,
        notes_purges: false,
    }
}

/// The decoded entries of an undo record of many.
#[derive(Default)]
struct Many {
    bytes: Vec<u8>,
    /// For each entry the end of its sort key, and its former mark if it was marked.
    entries: Vec<(usize, u8, Xid)>,
}

impl Many {
    fn of_added(mut list: &[u8]) -> Option<Many> {
        let (mut many, mut key) = (Many::default(), Vec::new());
        while !list.is_empty() {
            list = pop_key(list, &mut key)?;
            many.push(&key, 0, Xid::default());
        }
        Some(many)
    }

    fn of_marked(mut list: &[u8]) -> Option<Many> {
        let (mut many, mut key, mut xid) = (Many::default(), Vec::new(), Xid::default());
        while let Some((flags, rest)) = list.split_first() {
            list = rest;
            if flags & SAME_XID == 0 {
                let (bits, rest) = list.split_first_chunk::<XID>()?;
                (xid, list) = (Xid::from_bits(u64::from_le_bytes(*bits)), rest);
            }
            list = pop_key(list, &mut key)?;
            many.push(&key, flags & !SAME_XID, xid);
        }
        Some(many)
    }

    fn push(&mut self, key: &[u8], flags: u8, xid: Xid) {
        self.bytes.extend_from_slice(key);
        self.entries.push((self.bytes.len(), flags, xid));
    }

    fn sort_key(&self, n: usize) -> &[u8] {
        let begin = if n == 0 { 0 } else { self.entries[n - 1].0 };
        &self.bytes[begin..self.entries[n].0]
    }
}

/// Flag of an entry that was marked: its transaction is that of the previous entry in the list.
const SAME_XID: u8 = 0x80;

/// Appends the former mark of an entry, in front of its key; without the transaction when it is that of the previous
/// entry.
pub(crate) fn push_marked(flags: u8, xid: Option<Xid>, to: &mut Vec<u8>) {
    match xid {
        Some(xid) => {
            to.push(flags);
            to.extend_from_slice(&xid.to_bits().to_le_bytes());
        }
        None => to.push(flags | SAME_XID),
    }
}

/// Takes out entry number `from` and the following ones in the same leaf; returns how many were processed.
fn take_out(g: &mut ChangeGroup, index: &Index, leaf: Rdba, many: &Many, from: usize, xid: Xid) -> Result<usize> {
    let b = pin_for(g, index, leaf, many.sort_key(from), 0)?;
    let node = Node::new(g.block(b));
    let mut found = Vec::new();
    let here = |n: &usize| matches!(node.step(Target::At(many.sort_key(*n))), Step::Leaf);
    let mut looked = 0;
    for n in (from..many.entries.len()).take_while(here) {
        let i = node.lower_bound(many.sort_key(n));
        if node.is_at(i, many.sort_key(n)) && node.xid(i) == xid {
            found.push(i as u16 + 1);
        }
        looked += 1;
    }
    for slot in found.iter().rev() {
        g.change(b, Layer::Index, ops::op::REMOVE, &slot.to_le_bytes())?;
    }
    Ok(looked)
}

/// Puts back the marks of entry number `from` and of the following ones in the same leaf; returns how many were
/// processed.
fn put_back(g: &mut ChangeGroup, index: &Index, leaf: Rdba, many: &Many, from: usize, xid: Xid) -> Result<usize> {
    let b = pin_for(g, index, leaf, many.sort_key(from), 0)?;
    let mut looked = 0;
    for n in from..many.entries.len() {
        let (sort_key, (_, flags, before)) = (many.sort_key(n), many.entries[n]);
        let node = Node::new(g.block(b));
        if !matches!(node.step(Target::At(sort_key)), Step::Leaf) {
            break;
        }
        let i = node.lower_bound(sort_key);
        if node.is_at(i, sort_key) && node.xid(i) == xid && node.is_deleted(i) {
            g.change(b, Layer::Index, ops::op::MARK, &ops::marking(i + 1, flags, before))?;
        }
        looked += 1;
    }
    Ok(looked)
}

/// As [`leaf_for`], for a sort key. Undo of an index that does not exist means damage.
pub(crate) fn find_leaf(txns: &Transactions, p: &Process, index: &Index, sort_key: &[u8]) -> Result<Rdba> {
    let found = leaf_for(txns.cache(), p, index, Target::At(sort_key));
    found.map_err(|e| if e.is(8103) { damaged(index, index.root) } else { e })
}
