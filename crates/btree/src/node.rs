//! Reading the blocks of a tree.
//!
//! ```text
//! slot 0     high key: everything in the block is below it; flag INFINITE in the rightmost block of a level
//! slot 1 …   leaf:   key, rowid (block u32, slot u16, most significant first), xid (u64)
//!            branch: separator (a leaf entry's key and rowid; empty in the first entry), child u32
//! aux16 = level (0 = leaf), next = right sibling
//! ```
//!
//! An entry sorts by its key and then its rowid. Keys are self-delimiting (no key is the beginning of another), so comparing
//! key and rowid as one string of bytes is the same, and that string is called the *sort key* here.

use block::{BlockKind, BlockView, Data, RowAt};
use std::cmp::Ordering;
use types::{Rdba, Xid};

/// Flags of a row in an index block.
pub(crate) mod flags {
    /// Leaf entry: the row was deleted or got another key, by the transaction whose xid the entry has.
    pub const DELETED: u8 = 1;
    /// High key: there is no block to the right.
    pub const INFINITE: u8 = 2;
}

/// Bytes of the rowid at the end of a sort key.
pub(crate) const ROWID: usize = 6;
/// Bytes of the xid behind it.
pub(crate) const XID: usize = 8;
/// Bytes of a child's address.
pub(crate) const CHILD: usize = 4;

/// Where a descent is going.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target<'a> {
    /// To the block that holds, or would hold, this sort key.
    At(&'a [u8]),
    /// To the block that holds the greatest sort key below this one.
    Below(&'a [u8]),
    /// To the rightmost block.
    Last,
}

impl Target<'_> {
    /// True when a block that begins at a separator comparing so with the target may hold it.
    fn reaches(self, separator: Ordering) -> bool {
        match self {
            Target::At(_) => separator != Ordering::Greater,
            Target::Below(_) => separator == Ordering::Less,
            Target::Last => true,
        }
    }
}

/// Reads an index block. Nothing it says is to be trusted before the version check.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a> {
    pub data: Data<'a>,
}

/// What a step of a descent says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Go on in this child; its separator is entry number `at`.
    Child(Rdba, usize),
    /// The block was split: what is wanted moved to its right sibling.
    Right(Rdba),
    /// This leaf is it.
    Leaf,
    /// Not a block of this index.
    Foreign,
}

impl<'a> Node<'a> {
    pub fn new(view: BlockView<'a>) -> Node<'a> {
        Node { data: Data::new(view) }
    }

    pub fn is_leaf(&self) -> bool {
        self.data.view.kind_code() == BlockKind::IndexLeaf as u8
    }

    fn is_branch(&self) -> bool {
        self.data.view.kind_code() == BlockKind::IndexBranch as u8
    }

    pub fn level(&self) -> u16 {
        self.data.aux16()
    }

    /// Number of entries.
    pub fn entries(&self) -> usize {
        self.data.slots().saturating_sub(1)
    }

    /// Entry number `i` from 0.
    pub fn entry(&self, i: usize) -> Option<RowAt> {
        self.data.row(i + 1)
    }

    /// Bytes behind the sort key of an entry.
    fn behind(&self) -> usize {
        if self.is_leaf() { XID } else { CHILD }
    }

    /// Offset and length of an entry's sort key.
    pub fn sort_key(&self, i: usize) -> (usize, usize) {
        self.entry(i).map_or((0, 0), |row| (row.at, row.len.saturating_sub(self.behind())))
    }

    fn compare(&self, i: usize, key: &[u8]) -> Ordering {
        let (at, len) = self.sort_key(i);
        self.data.view.compare(at, len, key)
    }

    /// The first entry that is not below `key`.
    pub fn lower_bound(&self, key: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.entries());
        while low < high {
            let middle = (low + high) / 2;
            if self.compare(middle, key) == Ordering::Less {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// True when entry `i` has exactly this sort key.
    pub fn is_at(&self, i: usize, key: &[u8]) -> bool {
        i < self.entries() && self.compare(i, key) == Ordering::Equal
    }

    /// True when the key of entry `i`, without the rowid, is `key`.
    pub fn has_key(&self, i: usize, key: &[u8]) -> bool {
        let (at, len) = self.sort_key(i);
        i < self.entries() && len == key.len() + ROWID && self.data.view.compare(at, key.len(), key) == Ordering::Equal
    }

    /// The high key; `None` in the rightmost block.
    pub fn high(&self) -> Option<RowAt> {
        self.data.row(0).filter(|row| row.flags & flags::INFINITE == 0)
    }

    /// True when entries with this key may go on in the right sibling: the high key begins with it.
    pub fn goes_on(&self, key: &[u8]) -> bool {
        self.high().is_some_and(|row| {
            row.len >= key.len() && self.data.view.compare(row.at, key.len(), key) == Ordering::Equal
        })
    }

    /// True when what `target` wants lies to the right of this block.
    fn is_beyond(&self, target: Target) -> bool {
        let Some(high) = self.high() else { return false };
        match target {
            Target::At(key) | Target::Below(key) => target.reaches(self.data.view.compare(high.at, high.len, key)),
            Target::Last => true,
        }
    }

    pub fn child(&self, i: usize) -> Rdba {
        match self.entry(i) {
            Some(row) if row.len >= CHILD => Rdba(u32::from_le_bytes(self.bytes(row.at + row.len - CHILD))),
            _ => Rdba::NONE,
        }
    }

    fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        self.data.view.copy_into(at, &mut bytes);
        bytes
    }

    /// Number of the last entry whose separator reaches the target. The first entry's is below everything.
    fn child_for(&self, target: Target) -> usize {
        let key = match target {
            Target::Last => return self.entries().saturating_sub(1),
            Target::At(key) | Target::Below(key) => key,
        };
        let (mut low, mut high) = (1, self.entries());
        while low < high {
            let middle = (low + high) / 2;
            if target.reaches(self.compare(middle, key)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low - 1
    }

    /// Where a descent goes on from this block.
    pub fn step(&self, target: Target) -> Step {
        if !self.is_leaf() && !self.is_branch() {
            return Step::Foreign;
        }
        if self.is_beyond(target) {
            return Step::Right(self.data.next());
        }
        if self.is_leaf() {
            return Step::Leaf;
        }
        let i = self.child_for(target);
        Step::Child(self.child(i), i)
    }

    /// Block and slot of the row that a leaf entry names.
    pub fn rowid(&self, i: usize) -> (Rdba, u16) {
        let (at, len) = self.sort_key(i);
        rowid_of(&self.bytes::<ROWID>(at + len.saturating_sub(ROWID)))
    }

    /// The transaction that made the entry, or deleted it.
    pub fn xid(&self, i: usize) -> Xid {
        let (at, len) = self.sort_key(i);
        Xid::from_bits(u64::from_le_bytes(self.bytes(at + len)))
    }

    pub fn is_deleted(&self, i: usize) -> bool {
        self.entry(i).is_some_and(|row| row.flags & flags::DELETED != 0)
    }
}

/// The rowid at the end of a sort key.
pub(crate) fn rowid_of(bytes: &[u8]) -> (Rdba, u16) {
    let [a, b, c, d, e, f] = *bytes.first_chunk::<ROWID>().unwrap_or(&[0; ROWID]);
    (Rdba(u32::from_be_bytes([a, b, c, d])), u16::from_be_bytes([e, f]))
}

/// Appends a sort key: key and rowid.
pub(crate) fn push_sort_key(key: &[u8], rdba: Rdba, slot: u16, to: &mut Vec<u8>) {
    to.extend_from_slice(key);
    to.extend_from_slice(&rdba.0.to_be_bytes());
    to.extend_from_slice(&slot.to_be_bytes());
}
