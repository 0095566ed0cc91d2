//! Reading the blocks of a tree.
//!
//! ```text
//! slot 0     low key, high key; `extra` = length of the low key: every entry is at or above the low key and below the
//!            high key; flag INFINITE in the rightmost block of a level
//! slot 1 …   leaf:   key, locator, xid (u64); `extra` = length of the key
//!            row:    key, word (u64), uba (9), length (u16), row, padding; `extra` = length of the key; flag ROW
//!            branch: separator (a leaf entry's sort key; empty in the first entry), child u32
//! aux16 = level (0 = leaf), next = right sibling, aux64 = purge SCN
//! ```
//!
//! A locator says where the row is: block u32 and slot u16, most significant first, or, in an index on an
//! index-organised table, the row's primary key. An entry sorts by its key and then its locator. Keys are
//! self-delimiting (no key is the beginning of another), so comparing the two as one string of bytes is the same, and
//! that string is called the *sort key* here (R1). The leaves of an index-organised table hold the rows themselves:
//! their sort key is the primary key alone.
//!
//! The *purge SCN* of a leaf of an index-organised table is the highest commit SCN of a deletion whose row was purged
//! from the leaf's range. As of an older SCN the leaf may lack rows; as of the purge SCN and later it has all of them
//! (R13).
//!
//! A block that was merged into its right sibling keeps its content until it is reused: no entries and an empty high
//! key, so a reader that still has its address goes on to the right. The low key of a reused block shows such a reader
//! that the wanted key is not there, and the descent starts again at the root (R2).

use block::data::SLOT_BYTES;
use block::{BlockKind, BlockView, Data, RowAt};
use std::cmp::Ordering;
use types::{ObjectId, Rdba, Rowid, Scn, Xid};

/// Flags of a row in an index block.
pub(crate) mod flags {
    /// Leaf entry: the row was deleted or got another key, by the transaction whose xid the entry has.
    pub const DELETED: u8 = 1;
    /// High key: there is no block to the right.
    pub const INFINITE: u8 = 2;
    /// Leaf entry: the row itself, of an index-organised table.
    pub const ROW: u8 = 4;
    /// Row: its word is a commit SCN and no longer an xid.
    pub const COMMITTED: u8 = 8;
    /// Row: the SCN is an upper bound of the commit SCN.
    pub const UPPER_BOUND: u8 = 16;
}

/// Bytes of the rowid at the end of a sort key.
pub(crate) const ROWID: usize = 6;
/// Bytes of a data object in a locator.
pub(crate) const OBJECT: usize = 4;
/// The table of an index over the rows of several segments: the partitions of a table (R16).
pub const SEVERAL: ObjectId = ObjectId(0);
/// Bytes of the xid behind the sort key.
pub(crate) const XID: usize = 8;
/// Bytes of a child's address.
pub(crate) const CHILD: usize = 4;

/// The target of a descent.
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
    /// True when a block whose separator compares so with the target may hold the target.
    fn reaches(self, separator: Ordering) -> bool {
        match self {
            Target::At(_) => separator != Ordering::Greater,
            Target::Below(_) => separator == Ordering::Less,
            Target::Last => true,
        }
    }
}

/// Reads an index block. Its content may be torn and must not be trusted before the version check.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a> {
    pub data: Data<'a>,
}

/// The next step of a descent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Go on in this child; its separator is entry number `at`.
    Child(Rdba, usize),
    /// The block was split: the target moved to its right sibling.
    Right(Rdba),
    /// The descent has arrived at this leaf.
    Leaf,
    /// Not a block of this index.
    Foreign,
    /// The block now has another place in the tree: start again at the root.
    Lost,
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

    /// The purge SCN: a snapshot older than this may miss rows here.
    pub fn purged(&self) -> Scn {
        Scn(self.data.aux64())
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
    #[inline]
    pub fn sort_key(&self, i: usize) -> (usize, usize) {
        self.entry(i).map_or((0, 0), |row| {
            let whole = row.len.saturating_sub(self.behind());
            let len = if row.flags & flags::ROW != 0 { whole.min(row.extra.into()) } else { whole };
            (row.at, len)
        })
    }

    /// Length of the key in the sort key of a leaf entry.
    pub fn key_len(&self, i: usize) -> usize {
        self.entry(i).map_or(0, |row| usize::from(row.extra).min(row.len))
    }

    #[inline]
    fn compare(&self, i: usize, key: &[u8]) -> Ordering {
        let (at, len) = self.sort_key(i);
        self.data.view.compare(at, len, key)
    }

    /// Returns a function that compares entries with `key`. Loads the values common to all entries, and the key's first
    /// word, once.
    #[inline]
    fn comparer<'k>(&self, key: &'k [u8]) -> impl Fn(usize) -> Ordering + use<'a, 'k> {
        let (data, directory, behind) = (self.data, self.data.directory(), self.behind());
        let first = first_word(key);
        move |i| {
            let Some(row) = data.row_in(directory, i + 1) else { return data.view.compare(0, 0, key) };
            let whole = row.len.saturating_sub(behind);
            let len = if row.flags & flags::ROW != 0 { whole.min(row.extra.into()) } else { whole };
            let mine = data.view.u64(row.at).swap_bytes();
            let mine = if len < 8 { mine & !(u64::MAX >> (8 * len)) } else { mine };
            match mine.cmp(&first) {
                // Padded with zeros the two are equal, so the longer key is above.
                Ordering::Equal if len <= 8 && key.len() <= 8 => len.cmp(&key.len()),
                Ordering::Equal => data.view.compare(row.at, len, key),
                other => other,
            }
        }
    }

    /// Prefetches an entry that the search may compare soon.
    #[inline]
    fn prefetch(&self, directory: usize, i: usize) {
        let at = self.data.view.u16(directory + (i + 1) * SLOT_BYTES);
        self.data.view.prefetch(at.into());
    }

    /// The first entry that is not below `key`.
    pub fn lower_bound(&self, key: &[u8]) -> usize {
        self.lower_bound_from(0, key)
    }

    /// As [`Node::near_bound`], for scans whose upper bound usually lies beyond the last entry of the leaf.
    pub fn end_bound(&self, from: usize, key: &[u8]) -> usize {
        match self.entries() {
            n if n > from && self.compare(n - 1, key) == Ordering::Less => n,
            _ => self.near_bound(from, key),
        }
    }

    /// The first entry from number `from` on that is not below `key`.
    pub fn lower_bound_from(&self, from: usize, key: &[u8]) -> usize {
        self.bound_between(from, self.entries(), key)
    }

    fn bound_between(&self, mut low: usize, mut high: usize, key: &[u8]) -> usize {
        /// A range of fewer entries lies in few cache lines.
        const NEAR: usize = 12;
        let (compare, directory) = (self.comparer(key), self.data.directory());
        while low < high {
            let middle = (low + high) / 2;
            if high - low > NEAR {
                // Prefetches both possible next entries while this comparison waits for memory.
                self.prefetch(directory, (low + middle) / 2);
                self.prefetch(directory, (middle + 1 + high) / 2);
            }
            if compare(middle) == Ordering::Less {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Whether this is the only leaf of its tree.
    #[inline]
    pub fn is_single(&self) -> bool {
        self.is_leaf() && self.data.row(0).is_some_and(|bounds| bounds.flags & flags::INFINITE != 0 && bounds.len == 0)
    }

    /// As [`Node::lower_bound_from`], for a key that is likely to be near `from`: looks at 1, 2, 4 … entries from
    /// there.
    pub fn near_bound(&self, from: usize, key: &[u8]) -> usize {
        let (compare, end) = (self.comparer(key), self.entries());
        let (mut low, mut step) = (from, 1);
        while low < end {
            let at = (low + step - 1).min(end - 1);
            if compare(at) != Ordering::Less {
                return self.bound_between(low, at, key);
            }
            (low, step) = (at + 1, step * 2);
        }
        end
    }

    /// True when entry `i` has exactly this sort key.
    pub fn is_at(&self, i: usize, key: &[u8]) -> bool {
        i < self.entries() && self.compare(i, key) == Ordering::Equal
    }

    /// True when the key of entry `i`, without the locator, is `key`.
    pub fn has_key(&self, i: usize, key: &[u8]) -> bool {
        let (at, len) = self.sort_key(i);
        // No key is a prefix of another.
        i < self.entries() && len >= key.len() && self.data.view.compare(at, key.len(), key) == Ordering::Equal
    }

    /// Offset and length of the high key; `None` in the rightmost block.
    pub fn high(&self) -> Option<(usize, usize)> {
        Node::high_of(self.data.row(0))
    }

    fn high_of(bounds: Option<RowAt>) -> Option<(usize, usize)> {
        let row = bounds.filter(|row| row.flags & flags::INFINITE == 0)?;
        let low = usize::from(row.extra).min(row.len);
        Some((row.at + low, row.len - low))
    }

    /// Offset and length of the low key.
    pub fn low(&self) -> (usize, usize) {
        Node::low_of(self.data.row(0))
    }

    fn low_of(bounds: Option<RowAt>) -> (usize, usize) {
        bounds.map_or((0, 0), |row| (row.at, usize::from(row.extra).min(row.len)))
    }

    /// Copies bytes of the block.
    pub fn bytes_at(&self, (at, len): (usize, usize)) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(len);
        self.data.view.append_to(at, len, &mut bytes);
        bytes
    }

    /// True when entries with this key may continue in the right sibling: the high key begins with the key.
    pub fn goes_on(&self, key: &[u8]) -> bool {
        self.high()
            .is_some_and(|(at, len)| len >= key.len() && self.data.view.compare(at, key.len(), key) == Ordering::Equal)
    }

    /// True when the target lies to the right of this block.
    fn is_beyond(&self, bounds: Option<RowAt>, target: Target) -> bool {
        let Some((at, len)) = Node::high_of(bounds) else { return false };
        match target {
            Target::At(key) | Target::Below(key) => target.reaches(self.data.view.compare(at, len, key)),
            Target::Last => true,
        }
    }

    /// True when the target lies to the left of this block.
    fn is_before(&self, bounds: Option<RowAt>, target: Target) -> bool {
        let (at, len) = Node::low_of(bounds);
        match target {
            Target::At(key) => len > 0 && self.data.view.compare(at, len, key) == Ordering::Greater,
            Target::Below(key) => len > 0 && self.data.view.compare(at, len, key) != Ordering::Less,
            Target::Last => false,
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

    /// Number of the last entry whose separator reaches the target. The first entry's separator counts as below
    /// everything.
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

    /// The next step of a descent to a leaf.
    pub fn step(&self, target: Target) -> Step {
        if !self.is_leaf() && !self.is_branch() {
            return Step::Foreign;
        }
        let bounds = self.data.row(0);
        if self.is_beyond(bounds, target) {
            return Step::Right(self.data.next());
        }
        if self.is_before(bounds, target) {
            return Step::Lost;
        }
        if self.is_leaf() {
            return Step::Leaf;
        }
        let i = self.child_for(target);
        Step::Child(self.child(i), i)
    }

    /// The next step of a descent to the block of `level`; [`Step::Leaf`] when this is it.
    pub fn step_to(&self, target: Target, level: u16) -> Step {
        match self.step(target) {
            Step::Child(..) if self.level() == level => Step::Leaf,
            Step::Child(..) if self.level() < level => Step::Lost,
            Step::Leaf if level > 0 => Step::Lost,
            step => step,
        }
    }

    /// Offset and length of the locator of a leaf entry.
    pub fn locator(&self, i: usize) -> (usize, usize) {
        let (at, len) = self.sort_key(i);
        let key = self.key_len(i).min(len);
        (at + key, len - key)
    }

    /// Block and slot of the row that a leaf entry names. When the locator is a primary key, its last bytes are
    /// returned instead.
    #[inline]
    pub fn rowid(&self, i: usize) -> (Rdba, u16) {
        let (at, len) = self.sort_key(i);
        if len < ROWID {
            return rowid_of(&[]);
        }
        rowid_of(&self.bytes::<ROWID>(at + len.saturating_sub(ROWID)))
    }

    /// The row that a leaf entry of an index over `table` names.
    #[inline]
    pub fn row(&self, i: usize, table: ObjectId) -> Rowid {
        if table != SEVERAL {
            let (rdba, slot) = self.rowid(i);
            return Rowid { obj: table, rdba, slot };
        }
        let (at, len) = self.locator(i);
        match len == OBJECT + ROWID {
            true => row_at(table, &self.bytes::<{ OBJECT + ROWID }>(at)),
            false => row_at(table, &[]),
        }
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

/// The rowid that a locator names in an index over the rows of `table`.
pub(crate) fn row_at(table: ObjectId, locator: &[u8]) -> Rowid {
    if table == SEVERAL
        && let Some((obj, rest)) = locator.split_first_chunk::<OBJECT>()
    {
        let (rdba, slot) = rowid_of(rest);
        return Rowid { obj: ObjectId(u32::from_be_bytes(*obj)), rdba, slot };
    }
    let (rdba, slot) = rowid_of(locator);
    Rowid { obj: table, rdba, slot }
}

/// The locator of a row in a block.
pub(crate) fn locator_of(rdba: Rdba, slot: u16) -> [u8; ROWID] {
    let ([a, b, c, d], [e, f]) = (rdba.0.to_be_bytes(), slot.to_be_bytes());
    [a, b, c, d, e, f]
}

/// The first eight bytes as a big-endian number; shorter keys are padded with zeros.
#[inline]
pub(crate) fn first_word(key: &[u8]) -> u64 {
    if let Some(eight) = key.first_chunk() {
        return u64::from_be_bytes(*eight);
    }
    // Two loads cover four to seven bytes; the bytes they share are the same in both.
    if let (Some(first), Some(last)) = (key.first_chunk::<4>(), key.last_chunk::<4>()) {
        let (first, last) = (u32::from_be_bytes(*first), u32::from_be_bytes(*last));
        return u64::from(first) << 32 | u64::from(last) << (64 - 8 * key.len());
    }
    key.iter().enumerate().fold(0, |word, (i, byte)| word | u64::from(*byte) << (56 - 8 * i))
}
