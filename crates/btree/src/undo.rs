//! Rolling back changes of an index: by key, wherever splits have moved the entry.

use crate::node::{Node, Target, XID};
use crate::ops;
use crate::tree::{STEPS_MAX, damaged, pin_for};
use crate::{Index, node::Step};
use buffer_cache::{ChangeGroup, GetKind};
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
    /// Entries were added: for each length u16, sort key.
    pub const TAKE_OUT_MANY: u8 = 5;
    /// Entries were marked: for each flags u8, xid u64, length u16, sort key.
    pub const PUT_BACK_MANY: u8 = 6;
}

pub(crate) struct IndexUndo;

impl UndoLayer for IndexUndo {
    /// Index blocks have no CR images.
    fn undo_image(&self, _: &mut [u8], _: &UndoRecord<'_>) -> Result<()> {
        Ok(())
    }

    /// Reverses the records of many entries, leaf by leaf: splits may have put them into more leaves than one group takes.
    /// An entry that is as it was before has been reversed by a roll back that was cut off.
    fn prepare(&self, txns: &Transactions, p: &Process, rec: &UndoRecord<'_>) -> Result<()> {
        let first = match rec.op {
            op::TAKE_OUT_MANY => ops::pop_sized,
            op::PUT_BACK_MANY => pop_marked,
            _ => return Ok(()),
        };
        let index = index_of(rec);
        let mut rest = rec.data;
        while let Some((sort_key, _)) = first(rest) {
            let leaf = find_leaf(txns, p, &index, sort_key)?;
            let scn = || txns.current_scn();
            rest = txns.cache().in_group(p, &scn, &mut |g| match rec.op {
                op::TAKE_OUT_MANY => take_out(g, &index, leaf, rest, rec.xid),
                _ => put_back(g, &index, leaf, rest, rec.xid),
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
            op::TAKE_OUT_MANY | op::PUT_BACK_MANY => return Ok(()), // done before
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

/// The index of an undo record: root and object are all that finding an entry needs.
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

/// Takes the first of these entries and those that follow it in the same leaf out; returns the others.
fn take_out<'r>(g: &mut ChangeGroup, index: &Index, leaf: Rdba, entries: &'r [u8], xid: Xid) -> Result<&'r [u8]> {
    let Some((first, _)) = ops::pop_sized(entries) else { return Ok(entries) };
    let b = pin_for(g, index, leaf, first, 0)?;
    let node = Node::new(g.block(b));
    let (mut rest, mut found) = (entries, Vec::new());
    while let Some((sort_key, tail)) = ops::pop_sized(rest) {
        if !matches!(node.step(Target::At(sort_key)), Step::Leaf) {
            break;
        }
        let i = node.lower_bound(sort_key);
        if node.is_at(i, sort_key) && node.xid(i) == xid {
            found.push(i as u16 + 1);
        }
        rest = tail;
    }
    for slot in found.iter().rev() {
        g.change(b, Layer::Index, ops::op::REMOVE, &slot.to_le_bytes())?;
    }
    Ok(rest)
}

/// Appends an entry as it was before it was marked.
pub(crate) fn push_marked(flags: u8, xid: Xid, sort_key: &[u8], to: &mut Vec<u8>) {
    to.push(flags);
    to.extend_from_slice(&xid.to_bits().to_le_bytes());
    ops::push_sized(sort_key, to);
}

/// Bytes before the sort key of an entry as it was before it was marked.
pub(crate) const MARKED_HEAD: usize = 1 + XID + ops::SIZED_HEAD;

/// The sort key of the first of these entries, and the others.
fn pop_marked(entries: &[u8]) -> Option<(&[u8], &[u8])> {
    ops::pop_sized(entries.get(1 + XID..)?)
}

/// Puts the marks of the first of these entries and of those that follow it in the same leaf back; returns the others.
fn put_back<'r>(g: &mut ChangeGroup, index: &Index, leaf: Rdba, entries: &'r [u8], xid: Xid) -> Result<&'r [u8]> {
    let Some((first, _)) = pop_marked(entries) else { return Ok(entries) };
    let b = pin_for(g, index, leaf, first, 0)?;
    let mut rest = entries;
    while let Some((sort_key, tail)) = pop_marked(rest) {
        let node = Node::new(g.block(b));
        if !matches!(node.step(Target::At(sort_key)), Step::Leaf) {
            break;
        }
        let i = node.lower_bound(sort_key);
        if node.is_at(i, sort_key) && node.xid(i) == xid && node.is_deleted(i) {
            let before = Xid::from_bits(u64::from_le_bytes(rest[1..1 + XID].try_into().expect("a head")));
            g.change(b, Layer::Index, ops::op::MARK, &ops::marking(i + 1, rest[0], before))?;
        }
        rest = tail;
    }
    Ok(rest)
}

pub(crate) fn find_leaf(txns: &Transactions, p: &Process, index: &Index, sort_key: &[u8]) -> Result<Rdba> {
    let mut at = index.root;
    for _ in 0..STEPS_MAX {
        let step = txns.cache().read(p, at, GetKind::Examination, &mut |v| {
            if v.obj() == index.object { Node::new(*v).step_to(Target::At(sort_key), 0) } else { Step::Foreign }
        })?;
        match step {
            Step::Leaf => return Ok(at),
            Step::Child(next, _) | Step::Right(next) if !next.is_none() => at = next,
            Step::Lost => at = index.root,
            _ => return Err(damaged(index, at)),
        }
    }
    Err(damaged(index, at))
}
