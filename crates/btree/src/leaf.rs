//! A leaf in private memory: the image of a change group.
//!
//! [`crate::node::Node`] reads blocks that other processes may be changing, with one atomic load per word. This type
//! searches the private image of a pinned leaf for many keys with plain loads. The image was checked when the block was
//! read; an offset out of bounds reads as empty all the same.

use crate::node::{XID, first_word, flags};
use block::data::{ITL_BEGIN, ITL_BYTES, ROW_HEADER_BYTES, SLOT_BYTES};
use block::{BlockView, Data};
use std::cmp::Ordering;
use types::Xid;

#[derive(Clone, Copy)]
pub(crate) struct Leaf<'a> {
    bytes: &'a [u8],
    /// Offset of the first entry's directory entry.
    directory: usize,
    entries: usize,
    pub free_bytes: usize,
}

/// The parts of an entry.
struct Parts<'a> {
    flags: u8,
    extra: u16,
    body: &'a [u8],
}

impl<'a> Leaf<'a> {
    /// Reads `image`, which must be aligned to words as images are.
    pub fn new(image: &'a [u8]) -> Leaf<'a> {
        let d = Data::new(BlockView::of_bytes(image));
        Leaf {
            bytes: image,
            directory: ITL_BEGIN + d.itls() * ITL_BYTES + SLOT_BYTES,
            entries: d.slots().saturating_sub(1),
            free_bytes: d.free_bytes(),
        }
    }

    /// Number of entries.
    pub fn entries(&self) -> usize {
        self.entries
    }

    #[inline]
    fn parts_at(&self, slot: usize) -> Option<Parts<'a>> {
        let at = usize::from(u16::from_le_bytes(*self.bytes.get(slot..)?.first_chunk()?));
        let [flags, _lock, l0, l1, e0, e1] = *self.bytes.get(at..)?.first_chunk::<ROW_HEADER_BYTES>()?;
        let body = self.bytes.get(at + ROW_HEADER_BYTES..)?.get(..u16::from_le_bytes([l0, l1]).into())?;
        Some(Parts { flags, extra: u16::from_le_bytes([e0, e1]), body })
    }

    #[inline]
    fn parts(&self, i: usize) -> Parts<'a> {
        let there = if i < self.entries { self.parts_at(self.directory + i * SLOT_BYTES) } else { None };
        there.unwrap_or(Parts { flags: 0, extra: 0, body: &[] })
    }

    /// The sort key of an entry; not for rows of an index-organised table.
    #[inline]
    pub fn sort_key(&self, i: usize) -> &'a [u8] {
        let body = self.parts(i).body;
        &body[..body.len().saturating_sub(XID)]
    }

    /// The high key; `None` in the rightmost leaf.
    pub fn high(&self) -> Option<&'a [u8]> {
        let row = self.parts_at(self.directory - SLOT_BYTES).filter(|row| row.flags & flags::INFINITE == 0)?;
        row.body.get(usize::from(row.extra)..)
    }

    /// The first entry from number `from` on that is not below `key`, and whether it has that key. The search begins
    /// near `from`.
    pub fn find_from(&self, from: usize, key: &[u8]) -> (usize, bool) {
        let (mut low, mut step, mut equal) = (from, 1, false);
        let mut high = loop {
            let at = low + step - 1;
            if at >= self.entries {
                break self.entries;
            }
            match order(self.sort_key(at), key) {
                Ordering::Less => (low, step) = (at + 1, step * 2),
                more => {
                    equal = more == Ordering::Equal;
                    break at;
                }
            }
        };
        while low < high {
            let middle = (low + high) / 2;
            match order(self.sort_key(middle), key) {
                Ordering::Less => low = middle + 1,
                more => (high, equal) = (middle, more == Ordering::Equal),
            }
        }
        (low, equal)
    }

    /// True when the key of entry `i`, without the locator, is `key`. Comparing the first bytes suffices: no key is a
    /// prefix of another.
    pub fn has_key(&self, i: usize, key: &[u8]) -> bool {
        i < self.entries && self.sort_key(i).starts_with(key)
    }

    /// Flags and transaction of an entry.
    pub fn mark(&self, i: usize) -> (u8, Xid) {
        let Parts { flags, body, .. } = self.parts(i);
        let xid = body.last_chunk::<XID>().copied().unwrap_or_default();
        (flags, Xid::from_bits(u64::from_le_bytes(xid)))
    }

    /// Flags and transaction of entry `i`, if it has that sort key.
    #[inline]
    pub fn mark_at(&self, i: usize, sort_key: &[u8]) -> Option<(u8, Xid)> {
        if i >= self.entries {
            return None;
        }
        let Parts { flags, body, .. } = self.parts_at(self.directory + i * SLOT_BYTES)?;
        let (key, xid) = body.split_last_chunk::<XID>()?;
        (order(key, sort_key) == Ordering::Equal).then(|| (flags, Xid::from_bits(u64::from_le_bytes(*xid))))
    }

    pub fn is_deleted(&self, i: usize) -> bool {
        self.parts(i).flags & flags::DELETED != 0
    }

    /// True for a leaf of an index-organised table of which at least half of the rows are marked deleted.
    pub fn rows_are_mostly_deleted(&self) -> bool {
        let both = flags::ROW | flags::DELETED;
        let deleted = (0..self.entries).filter(|i| self.parts(*i).flags & both == both).count();
        deleted > 0 && deleted * 2 >= self.entries
    }

    /// True when all entries are index entries and none is marked deleted.
    pub fn is_all_live(&self) -> bool {
        (0..self.entries).all(|i| self.parts(i).flags & (flags::DELETED | flags::ROW) == 0)
    }
}

/// The order of slices. Most keys differ in their first eight bytes, or have no more.
#[inline]
pub(crate) fn order(a: &[u8], b: &[u8]) -> Ordering {
    match first_word(a).cmp(&first_word(b)) {
        // Padded with zeros the two are equal, so the longer key is above.
        Ordering::Equal if a.len() <= 8 && b.len() <= 8 => a.len().cmp(&b.len()),
        Ordering::Equal => order_rest(a, b),
        other => other,
    }
}

/// The rest of two keys of at most 16 bytes is compared by one load each, of the last eight bytes; the loads may
/// overlap the first word.
fn order_rest(a: &[u8], b: &[u8]) -> Ordering {
    let n = a.len().min(b.len());
    let word = |of: &[u8], at: usize| of[at..].first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
    match n {
        0..8 => a.cmp(b),
        8..=16 => word(a, n - 8).cmp(&word(b, n - 8)).then(a.len().cmp(&b.len())),
        _ => a[8..].cmp(&b[8..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn order_is_that_of_slices(
            same in prop::collection::vec(0u8..2, 0..20),
            a in prop::collection::vec(0u8..2, 0..12),
            b in prop::collection::vec(0u8..2, 0..12),
        ) {
            let (a, b) = ([&same[..], &a].concat(), [&same[..], &b].concat());
            prop_assert_eq!(order(&a, &b), a.cmp(&b));
        }
    }
}
