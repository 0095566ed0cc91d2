//! Rolling back changes of an index: by key, wherever splits have moved the entry.

use crate::list::pop_key;
use crate::node::{Node, Step, Target, XID};
use crate::tree::{damaged, leaf_for, pin_for};
use crate::undo_op::{PUT_BACK_RANGES, SAME_XID};
use crate::{Index, ops};
use buffer_cache::ChangeGroup;
use process::Process;
use redo::Layer;
use txn::{Transactions, UndoRecord};
use types::{Ora, Rdba, Result, Xid};

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
pub(crate) struct Many {
    bytes: Vec<u8>,
    /// For each entry the end of its sort key, and its former mark if it was marked.
    pub(crate) entries: Vec<(usize, u8, Xid)>,
}

impl Many {
    pub(crate) fn of_added(mut list: &[u8]) -> Option<Many> {
        let (mut many, mut key) = (Many::default(), Vec::new());
        while !list.is_empty() {
            list = pop_key(list, &mut key)?;
            many.push(&key, 0, Xid::default());
        }
        Some(many)
    }

    pub(crate) fn of_marked(mut list: &[u8]) -> Option<Many> {
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

    pub(crate) fn sort_key(&self, n: usize) -> &[u8] {
        let begin = if n == 0 { 0 } else { self.entries[n - 1].0 };
        &self.bytes[begin..self.entries[n].0]
    }
}

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

/// Reverses a record with ranges, leaf by leaf. Newer records of the transaction were reversed before, and older ones
/// have no entry in the ranges, so every entry of the transaction there is of this record (R15).
pub(crate) fn undo_ranges(txns: &Transactions, p: &Process, rec: &UndoRecord<'_>) -> Result<()> {
    let wrong = || Ora::internal("undo of an index is damaged");
    let (mark, mut list) = match rec.op {
        PUT_BACK_RANGES => {
            let (head, list) = rec.data.split_first_chunk::<{ 1 + XID }>().ok_or_else(wrong)?;
            let [flags, xid @ ..] = *head;
            (Some((flags, Xid::from_bits(u64::from_le_bytes(xid)))), list)
        }
        _ => (None, rec.data),
    };
    let (index, mut last) = (index_of(rec), Vec::new());
    while !list.is_empty() {
        list = pop_key(list, &mut last).ok_or_else(wrong)?;
        let mut next = Some(last.clone());
        list = pop_key(list, &mut last).ok_or_else(wrong)?;
        while let Some(from) = next {
            let leaf = find_leaf(txns, p, &index, &from)?;
            let scn = || txns.current_scn();
            next =
                txns.cache().in_group(p, &scn, &mut |g| undo_range(g, &index, leaf, (&from, &last), rec.xid, mark))?;
        }
    }
    Ok(())
}

/// Takes out the entries of a transaction between two keys, or puts back their mark, in one leaf; returns the key to go
/// on from.
fn undo_range(
    g: &mut ChangeGroup,
    index: &Index,
    leaf: Rdba,
    (from, last): (&[u8], &[u8]),
    xid: Xid,
    mark: Option<(u8, Xid)>,
) -> Result<Option<Vec<u8>>> {
    let b = pin_for(g, index, leaf, from, 0)?;
    let node = Node::new(g.block(b));
    let end = node.lower_bound(last) + usize::from(node.is_at(node.lower_bound(last), last));
    let is_one = |i: &usize| node.xid(*i) == xid && (mark.is_none() || node.is_deleted(*i));
    let found: Vec<usize> = (node.lower_bound(from)..end).filter(is_one).collect();
    let high = node.high().map(|high| node.bytes_at(high)).filter(|high| high.as_slice() <= last);
    // From the last to the first, so that the numbers of the others stay.
    for i in found.into_iter().rev() {
        match mark {
            None => g.change(b, Layer::Index, ops::op::REMOVE, &(i as u16 + 1).to_le_bytes())?,
            Some((flags, before)) => {
                g.change(b, Layer::Index, ops::op::MARK, &ops::marking(i + 1, flags, before))?;
            }
        }
    }
    Ok(high)
}

/// Takes out entry number `from` and the following ones in the same leaf; returns how many were processed.
pub(crate) fn take_out(
    g: &mut ChangeGroup,
    index: &Index,
    leaf: Rdba,
    many: &Many,
    from: usize,
    xid: Xid,
) -> Result<usize> {
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
pub(crate) fn put_back(
    g: &mut ChangeGroup,
    index: &Index,
    leaf: Rdba,
    many: &Many,
    from: usize,
    xid: Xid,
) -> Result<usize> {
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
