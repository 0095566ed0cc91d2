//! A row in a leaf of an index-organised table: its bytes, and the vectors that change it.
//!
//! ```text
//! key | word (u64) | uba (9) | length (u16) | row: `length` bytes | padding
//! ```
//!
//! The word is the xid of the transaction that made this version or locked it; after delayed block cleanout it is the
//! commit SCN, with the flag COMMITTED. The uba is the undo record of that change, which holds the version before (R9).
//! So a row carries all that a reader needs, wherever splits move it.
//!
//! A row that became shorter keeps its room as padding until its transaction has ended: rolling back never needs room
//! (R7). An older version is stored as its difference from the next newer one: length of the common prefix, length of
//! the common suffix, and the bytes between. The same form keeps the change vectors of an update small.

use crate::node::{Node, flags};
use block::DataMut;
use txn::Maker;
use types::{Ora, Result, Scn, Uba, Xid};

/// Bytes between key and row.
pub(crate) const HEAD: usize = 8 + Uba::BYTES + 2;

/// The fields before a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub flags: u8,
    pub word: u64,
    pub uba: Uba,
    pub len: u16,
}

impl Head {
    pub fn is_deleted(&self) -> bool {
        self.flags & flags::DELETED != 0
    }

    pub fn maker(&self) -> Maker {
        match (self.flags & flags::COMMITTED != 0, self.flags & flags::UPPER_BOUND != 0) {
            (false, _) => Maker::Transaction(Xid::from_bits(self.word)),
            (true, false) => Maker::Committed(Scn(self.word)),
            (true, true) => Maker::Before(Scn(self.word)),
        }
    }

    /// The same version, with the transaction replaced by its state after it has ended.
    pub fn made_by(mut self, maker: Maker) -> Head {
        let keep = self.flags & !(flags::COMMITTED | flags::UPPER_BOUND);
        (self.flags, self.word) = match maker {
            Maker::Transaction(xid) => (keep, xid.to_bits()),
            Maker::Committed(scn) => (keep | flags::COMMITTED, scn.0),
            Maker::Before(scn) => (keep | flags::COMMITTED | flags::UPPER_BOUND, scn.0),
        };
        self
    }

    /// Reads a head; `flags` come from the entry.
    pub fn read(flags: u8, bytes: &[u8]) -> Option<Head> {
        let (word, rest) = bytes.split_first_chunk::<8>()?;
        let (uba, rest) = rest.split_first_chunk::<{ Uba::BYTES }>()?;
        let (len, _) = rest.split_first_chunk::<2>()?;
        Some(Head { flags, word: u64::from_le_bytes(*word), uba: Uba::from_bytes(*uba), len: u16::from_le_bytes(*len) })
    }

    pub fn push(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.word.to_le_bytes());
        to.extend_from_slice(&self.uba.to_bytes());
        to.extend_from_slice(&self.len.to_le_bytes());
    }
}

impl Node<'_> {
    /// The head of a row; `None` for entries of another kind.
    pub fn head(&self, i: usize) -> Option<Head> {
        let row = self.entry(i).filter(|row| row.flags & flags::ROW != 0)?;
        let key = usize::from(row.extra);
        if row.len < key + HEAD {
            return None;
        }
        let mut bytes = [0; HEAD];
        self.data.view.copy_into(row.at + key, &mut bytes);
        Head::read(row.flags, &bytes)
    }

    /// Bytes of room for the row in its place.
    pub fn room(&self, i: usize) -> usize {
        self.entry(i).map_or(0, |row| row.len.saturating_sub(usize::from(row.extra) + HEAD))
    }

    /// The bytes of a row.
    pub fn row_bytes(&self, i: usize) -> Vec<u8> {
        let (Some(row), Some(head)) = (self.entry(i), self.head(i)) else { return Vec::new() };
        let len = usize::from(head.len).min(self.room(i));
        self.bytes_at((row.at + usize::from(row.extra) + HEAD, len))
    }
}

/// The difference between two versions of a row: the lengths of their common prefix and suffix, and the bytes between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Patch<'a> {
    pub prefix: u16,
    pub suffix: u16,
    pub middle: &'a [u8],
}

impl<'a> Patch<'a> {
    /// The patch that makes `to` from `from`.
    pub fn between(from: &[u8], to: &'a [u8]) -> Patch<'a> {
        let prefix = from.iter().zip(to).take_while(|(a, b)| a == b).count();
        let (from, rest) = (&from[prefix..], &to[prefix..]);
        let suffix = from.iter().rev().zip(rest.iter().rev()).take_while(|(a, b)| a == b).count();
        Patch { prefix: prefix as u16, suffix: suffix as u16, middle: &rest[..rest.len() - suffix] }
    }

    /// Makes the other version from `from`; `None` when the patch does not fit.
    pub fn apply(&self, from: &[u8]) -> Option<Vec<u8>> {
        let head = from.get(..usize::from(self.prefix))?;
        let tail = from.get(from.len().checked_sub(self.suffix.into())?..)?;
        Some([head, self.middle, tail].concat())
    }

    /// True when both versions of `len` bytes are the same.
    pub fn is_identity(&self, len: usize) -> bool {
        self.middle.is_empty() && usize::from(self.prefix) + usize::from(self.suffix) == len
    }

    pub fn push(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.prefix.to_le_bytes());
        to.extend_from_slice(&self.suffix.to_le_bytes());
        to.extend_from_slice(self.middle);
    }

    /// Reads a patch, which must take up all of `bytes`.
    pub fn read(bytes: &'a [u8]) -> Option<Patch<'a>> {
        let (prefix, rest) = bytes.split_first_chunk::<2>()?;
        let (suffix, middle) = rest.split_first_chunk::<2>()?;
        Some(Patch { prefix: u16::from_le_bytes(*prefix), suffix: u16::from_le_bytes(*suffix), middle })
    }
}

fn wrong() -> Ora {
    Ora::internal("row change does not fit its block")
}

/// The data of a ROW vector: slot u16, flags u8, head, room u16, patch.
pub(crate) fn change(slot: usize, head: &Head, room: usize, patch: &Patch<'_>) -> Vec<u8> {
    let mut data = Vec::with_capacity(3 + HEAD + 6 + patch.middle.len());
    data.extend_from_slice(&(slot as u16).to_le_bytes());
    data.push(head.flags);
    head.push(&mut data);
    data.extend_from_slice(&(room as u16).to_le_bytes());
    patch.push(&mut data);
    data
}

/// Applies a ROW vector.
pub(crate) fn apply(d: &mut DataMut, data: &[u8]) -> Result<()> {
    let (fixed, patch) = data.split_at_checked(3 + HEAD + 2).ok_or_else(wrong)?;
    let slot = u16::from_le_bytes([fixed[0], fixed[1]]);
    let head = Head::read(fixed[2], &fixed[3..]).ok_or_else(wrong)?;
    let room = usize::from(u16::from_le_bytes([fixed[3 + HEAD], fixed[4 + HEAD]]));
    let (entry, patch) = (usize::from(slot).checked_sub(1).ok_or_else(wrong)?, Patch::read(patch).ok_or_else(wrong)?);
    let node = Node { data: d.read() };
    let at = node.entry(entry).filter(|row| row.flags & flags::ROW != 0).ok_or_else(wrong)?;
    let unfit = |what: &str| {
        let (now, have) = (node.head(entry), node.room(entry));
        Ora::internal(format_args!("row change: {what}: to {head:?} in {room} by {patch:?}, from {now:?} in {have}"))
    };
    let row = patch.apply(&node.row_bytes(entry)).filter(|row| row.len() == usize::from(head.len));
    let row = row.ok_or_else(|| unfit("another version"))?;
    if row.len() > room {
        return Err(unfit("no room"));
    }
    let mut body = node.bytes_at((at.at, at.extra.into()));
    head.push(&mut body);
    body.extend_from_slice(&row);
    body.resize(usize::from(at.extra) + HEAD + room, 0);
    d.replace(slot, head.flags, 0, at.extra, &body).map_err(|_| wrong())
}

/// Applies a CLEAN vector.
pub(crate) fn apply_clean(d: &mut DataMut, data: &[u8]) -> Result<()> {
    for one in data.chunks_exact(11) {
        let (slot, word) = (u16::from_le_bytes([one[0], one[1]]), &one[3..]);
        let row = d.read().row(slot.into()).ok_or_else(wrong)?;
        d.set_row(slot, one[2], 0).and_then(|()| d.patch(slot, row.extra.into(), word)).map_err(|_| wrong())?;
    }
    Ok(())
}

/// The ROW vector that removes the padding of a row whose transaction has ended; `None` when there is none.
pub(crate) fn trim(node: &Node, i: usize, settled: &dyn Fn(&Head) -> Maker) -> Option<Vec<u8>> {
    let head = node.head(i)?;
    if node.room(i) <= head.len.into() {
        return None;
    }
    let maker = settled(&head);
    if matches!(maker, Maker::Transaction(_)) {
        return None;
    }
    let all = Patch { prefix: head.len, suffix: 0, middle: &[] };
    Some(change(i + 1, &head.made_by(maker), head.len.into(), &all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_patch_makes_the_other_version(
            a in prop::collection::vec(0u8..3, 0..40),
            b in prop::collection::vec(0u8..3, 0..40),
        ) {
            let patch = Patch::between(&a, &b);
            prop_assert_eq!(patch.apply(&a), Some(b.clone()));
            let mut bytes = Vec::new();
            patch.push(&mut bytes);
            prop_assert_eq!(Patch::read(&bytes), Some(patch));
        }
    }
}
