//! Range scans, in both directions.
//!
//! A scan copies the wanted entries of one leaf at a time into private memory, together with the stretch of the block
//! that they lie in. Ascending, it then follows the link to the right sibling that the leaf had when it was copied, and
//! takes the entries at or above the leaf's high key: so neither a split nor a merge in between hides or repeats an
//! entry. Descending, it goes down from the root again, to the greatest entry below all entries seen so far: blocks
//! have no links to the left.

use crate::leaf::order;
use crate::node::{Node, ROWID, Step, Target, XID, flags};
use crate::row::HEAD;
use crate::tree::{STEPS_MAX, damaged};
use crate::{Btree, Index};
use block::data::{ITL_BEGIN, ITL_BYTES, ROW_HEADER_BYTES, SLOT_BYTES};
use block::{BlockView, Extent};
use buffer_cache::{GetKind, Stamp};
use process::Process;
use std::cmp::Ordering;
use std::ops::Bound;
use types::{Ora, Rdba, Result, Rowid, Scn, Xid};
use wait::Stat;

/// This many bytes of 0xFF sort behind every continuation of a key prefix: 32 columns that are NULL, and a rowid.
const TAIL: usize = 40;

/// A scan of an index between two bounds. It can be restarted and then reuses its memory.
///
/// It returns candidates: entries whose rows had the key in some version. The caller reads each row as of its snapshot
/// and compares the key; no row comes twice with the same key (R5).
#[derive(Debug)]
pub struct RangeScan {
    index: Option<Index>,
    descending: bool,
    low: Limit,
    high: Limit,
    /// The bytes copied from a leaf, and the positions of the wanted entries in them.
    bytes: Vec<u8>,
    slots: Vec<u8>,
    copied: Vec<Copied>,
    /// Next entry to return: an index of `copied`, counted in the direction of the scan.
    given: usize,
    /// End of the entries to return.
    until: usize,
    ahead: Ahead,
    /// Ascending: the high key of the leaf that was copied, where the next one begins.
    from: Vec<u8>,
    /// The leaf that was copied last.
    leaf: Rdba,
    /// The root, when it was a leaf at the last look: the next scan then begins there and reads only it.
    single: Rdba,
    /// That leaf was small at the last look.
    small: bool,
    /// Set when `copied` holds all entries of the single small leaf: the version of the block they were copied from,
    /// and its purge SCN (R14).
    kept: Option<(Stamp, Scn)>,
    /// The highest purge SCN of the leaves copied since the start.
    purged: Scn,
    /// A leaf that is not in the cache is read together with the blocks behind it.
    reads_ahead: bool,
    /// The extents of the segment, read when first needed.
    extents: Option<Vec<Extent>>,
}

/// An entry in the scan's memory.
#[derive(Debug, Clone, Copy)]
struct Copied {
    begin: u16,
    /// Length of the whole entry, of the key, and of the sort key.
    len: u16,
    key: u16,
    sort_key: u16,
    flags: u8,
}

/// Most entries of a leaf that is kept (R14).
const SMALL_MAX: usize = 32;

/// A stretch of a block is copied as a whole only if it holds at least one wanted entry per this many bytes.
const SPARSE_BYTES: usize = 320;

/// An entry of a leaf, as a scan returns it.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The key, as `types::codec::push_key_part` wrote it.
    pub key: &'a [u8],
    /// The row's address: six bytes of a rowid, or a primary key. Empty when the entry is the row itself.
    pub locator: &'a [u8],
    /// The transaction that made the entry, or deleted it; all zero when the entry was there when the index was built.
    pub xid: Xid,
    /// Marked deleted.
    pub deleted: bool,
    pub(crate) flags: u8,
    /// All bytes of the entry behind the sort key.
    pub(crate) behind: &'a [u8],
}

/// The position at which the scan continues after the copied entries.
#[derive(Debug, Default, PartialEq)]
enum Ahead {
    #[default]
    Nowhere,
    /// Ascending: the leaf where the range begins.
    First,
    /// Ascending: this leaf is next.
    Leaf(Rdba),
    /// Descending: the leaf with the greatest entry below this sort key is next.
    Below(Vec<u8>),
}

/// A bound on keys.
#[derive(Debug, Default)]
struct Limit {
    key: Vec<u8>,
    kind: Kind,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum Kind {
    #[default]
    None,
    Included,
    Excluded,
}

impl Limit {
    fn set(&mut self, bound: Bound<&[u8]>) {
        self.key.clear();
        self.kind = match bound {
            Bound::Unbounded => Kind::None,
            Bound::Included(key) => {
                self.key.extend_from_slice(key);
                Kind::Included
            }
            Bound::Excluded(key) => {
                self.key.extend_from_slice(key);
                Kind::Excluded
            }
        };
    }

    /// The sort key that separates inside from outside: everything outside a lower bound, or inside an upper bound, is
    /// below it.
    fn edge(&self, upper: bool, to: &mut Vec<u8>) {
        to.clear();
        to.extend_from_slice(&self.key);
        if self.kind == if upper { Kind::Included } else { Kind::Excluded } {
            to.extend_from_slice(&[0xFF; TAIL]);
        }
    }
}

impl Default for RangeScan {
    fn default() -> RangeScan {
        RangeScan {
            index: None,
            descending: false,
            low: Limit::default(),
            high: Limit::default(),
            bytes: Vec::new(),
            slots: Vec::new(),
            copied: Vec::new(),
            given: 0,
            until: 0,
            ahead: Ahead::Nowhere,
            from: Vec::new(),
            leaf: Rdba::NONE,
            single: Rdba::NONE,
            small: false,
            kept: None,
            purged: Scn::ZERO,
            reads_ahead: false,
            extents: None,
        }
    }
}

impl RangeScan {
    /// A scan that has not been started.
    pub fn new() -> RangeScan {
        RangeScan::default()
    }

    /// From now on a leaf that is not in the cache is read together with the blocks behind it in its extent, as many at
    /// once as a table scan reads: for scans of a whole index. The leaves are still visited in the order of their keys:
    /// in the order of their places, a concurrent split would hide entries or repeat them.
    pub fn read_ahead(&mut self) {
        self.reads_ahead = true;
    }

    /// Starts a scan of the entries whose keys lie between two bounds. A bound that is a prefix of longer keys stands
    /// for all of them: `Included` takes them in, `Excluded` leaves them out. So a bound on the first columns of a key
    /// works in either direction.
    pub fn start(&mut self, index: &Index, low: Bound<&[u8]>, high: Bound<&[u8]>, descending: bool) {
        let other = self.index.is_none_or(|i| i.root != index.root || i.object != index.object);
        self.index = Some(*index);
        self.descending = descending;
        self.low.set(low);
        self.high.set(high);
        (self.purged, self.extents) = (Scn::ZERO, None);
        (self.given, self.until) = (0, 0);
        if self.kept.is_none() || other || descending {
            self.clear();
        }
        let mut edge = Vec::new();
        self.ahead = if descending {
            match self.high.kind {
                Kind::None => Ahead::Below(Vec::new()),
                _ => {
                    self.high.edge(true, &mut edge);
                    Ahead::Below(edge)
                }
            }
        } else {
            Ahead::First
        };
    }

    /// The next entry: its key, and the rowid of a row that may have it; `None` at the end.
    ///
    /// Statistics: `consistent gets`. Nothing is allocated once the scan's memory has grown to the size of a leaf.
    ///
    /// # Errors
    /// ORA-08103 when the index is gone, and those of the buffer cache.
    pub fn next(&mut self, tree: &Btree, p: &Process) -> Result<Option<(&[u8], Rowid)>> {
        let Some(index) = self.index else { return Ok(None) };
        Ok(self.next_entry(tree, p)?.map(|entry| (entry.key, crate::rowid_of(&index, entry.locator))))
    }

    /// The next entry, with all that the leaf says about it; `None` at the end. As [`RangeScan::next`].
    ///
    /// # Errors
    /// ORA-08103 when the index is gone, and those of the buffer cache.
    pub fn next_entry(&mut self, tree: &Btree, p: &Process) -> Result<Option<Entry<'_>>> {
        Ok(self.fill(tree, p)?.then(|| self.take()))
    }

    /// The next entry, after [`RangeScan::fill`] has returned true.
    pub(crate) fn take(&mut self) -> Entry<'_> {
        let n = self.place_of(self.given);
        self.given += 1;
        self.copied_entry(n)
    }

    /// Passes over entries of one leaf that are not marked deleted and whose makers satisfy `sure`, up to the first
    /// other entry, at most `most`; returns how many. `None` at the end of the scan.
    ///
    /// # Errors
    /// As [`RangeScan::next_entry`].
    pub fn pass_sure(
        &mut self,
        tree: &Btree,
        p: &Process,
        most: usize,
        sure: &mut dyn FnMut(Xid) -> bool,
    ) -> Result<usize> {
        if !self.fill(tree, p)? {
            return Ok(0);
        }
        let (before, mut last) = (self.given, None);
        let until = self.until.min(before.saturating_add(most));
        while self.given < until {
            let c = &self.copied[self.place_of(self.given)];
            let end = usize::from(c.begin) + usize::from(c.len);
            let xid = self.bytes.get(..end).and_then(|b| b.last_chunk::<XID>()).copied().unwrap_or_default();
            let known = last == Some(xid);
            if c.flags & (flags::DELETED | flags::ROW) != 0 || !known && !sure(Xid::from_bits(u64::from_le_bytes(xid)))
            {
                break;
            }
            last = Some(xid);
            self.given += 1;
        }
        Ok(self.given - before)
    }

    /// As [`RangeScan::pass_sure`], in an index over the blocks of one segment, and appends the rowids.
    ///
    /// # Errors
    /// As [`RangeScan::next_entry`].
    pub fn sure_rows(
        &mut self,
        tree: &Btree,
        p: &Process,
        most: usize,
        sure: &mut dyn FnMut(Xid) -> bool,
        to: &mut Vec<Rowid>,
    ) -> Result<()> {
        if !self.fill(tree, p)? {
            return Ok(());
        }
        let Some(index) = self.index else { return Ok(()) };
        let until = self.until.min(self.given.saturating_add(most));
        to.reserve(until - self.given);
        let mut last = None;
        while self.given < until {
            let c = &self.copied[self.place_of(self.given)];
            // Locator and maker are the last bytes of the entry.
            let end = usize::from(c.begin) + usize::from(c.len);
            let tail =
                self.bytes.get(..end).and_then(|b| b.last_chunk::<{ ROWID + XID }>()).copied().unwrap_or_default();
            let (locator, xid) = tail.split_at(ROWID);
            let xid = u64::from_le_bytes(xid.try_into().unwrap_or_default());
            if c.flags & (flags::DELETED | flags::ROW) != 0 || last != Some(xid) && !sure(Xid::from_bits(xid)) {
                break;
            }
            last = Some(xid);
            self.given += 1;
            let (rdba, slot) = crate::node::rowid_of(locator);
            to.push(Rowid { obj: index.table, rdba, slot });
        }
        Ok(())
    }

    /// Index in `copied` of entry number `n`, counted in the direction of the scan.
    fn place_of(&self, n: usize) -> usize {
        if self.descending { self.copied.len() - 1 - n } else { n }
    }

    /// Ensures that there is an entry to return; false at the end.
    pub(crate) fn fill(&mut self, tree: &Btree, p: &Process) -> Result<bool> {
        let Some(index) = self.index else { return Ok(false) };
        while self.given == self.until {
            match std::mem::take(&mut self.ahead) {
                Ahead::Nowhere => return Ok(false),
                Ahead::First => self.first_leaf(tree, p, &index)?,
                Ahead::Leaf(at) => {
                    if self.reads_ahead && !tree.txns.cache().is_cached(at) {
                        self.read_from(tree, p, &index, at)?;
                    }
                    let from = std::mem::take(&mut self.from);
                    self.copy_right(tree, p, &index, at, from, false)?;
                }
                Ahead::Below(key) => self.copy_below(tree, p, &index, key)?,
            }
        }
        Ok(true)
    }

    /// Brings a leaf and the blocks behind it into the cache.
    #[cold]
    fn read_from(&mut self, tree: &Btree, p: &Process, index: &Index, at: Rdba) -> Result<()> {
        let cache = tree.txns.cache();
        let extents = match &mut self.extents {
            Some(extents) => extents,
            none => none.insert(tree.space().extents_of(p, index.segment, index.object)?),
        };
        let is_in = |extent: &&Extent| (extent.start.0..extent.start.0 + extent.blocks).contains(&at.0);
        let Some(extent) = extents.iter().find(is_in) else { return Ok(()) };
        let blocks: Vec<Rdba> = (at.0..extent.start.0 + extent.blocks).map(Rdba).collect();
        cache.read_ahead(p, &blocks)
    }

    fn copied_entry(&self, n: usize) -> Entry<'_> {
        let c = self.copied[n];
        let all = self.bytes.get(c.begin.into()..).and_then(|rest| rest.get(..c.len.into())).unwrap_or_default();
        let (sort_key, behind) = all.split_at(usize::from(c.sort_key).min(all.len()));
        let (key, locator) = sort_key.split_at(usize::from(c.key).min(sort_key.len()));
        let xid = if c.flags & flags::ROW == 0 { behind.first_chunk().copied().unwrap_or_default() } else { [0; XID] };
        Entry {
            key,
            locator,
            xid: Xid::from_bits(u64::from_le_bytes(xid)),
            deleted: c.flags & flags::DELETED != 0,
            flags: c.flags,
            behind,
        }
    }

    /// The leaf that the last entry came from.
    pub fn leaf(&self) -> Rdba {
        self.leaf
    }

    /// The index being scanned and the leaf that the last entry came from.
    pub(crate) fn place(&self) -> (Option<Index>, Rdba) {
        (self.index, self.leaf)
    }

    /// The highest purge SCN of the leaves seen: as of an older SCN they may lack rows.
    pub fn purged(&self) -> Scn {
        self.purged
    }

    /// Key and row of the entry returned last, in an index-organised table; `len` is the length of the row from its
    /// head.
    pub(crate) fn last_row(&self, len: usize) -> Option<(&[u8], &[u8])> {
        let n = self.place_of(self.given.checked_sub(1)?);
        let c = self.copied.get(n)?;
        let begin = c.begin as usize;
        let (key, row) = (begin + usize::from(c.key), begin + usize::from(c.sort_key) + HEAD);
        Some((self.bytes.get(begin..key)?, self.bytes.get(row..row + len)?))
    }

    /// Descends to the leaf where the range begins and copies it.
    fn first_leaf(&mut self, tree: &Btree, p: &Process, index: &Index) -> Result<()> {
        p.count(Stat::IndexScansKdiixs1, 1);
        if self.small && self.single == index.root && self.look_again(tree, p, index)? {
            return Ok(());
        }
        let mut edge = std::mem::take(&mut self.from);
        self.low.edge(false, &mut edge);
        let leaf = match self.single == index.root {
            true => index.root,
            false => tree.leaf_for(p, index, Target::At(&edge))?,
        };
        self.copy_right(tree, p, index, leaf, edge, true)?;
        self.single = if self.leaf == index.root { index.root } else { Rdba::NONE };
        Ok(())
    }

    /// Finds the range in a tree that is one small leaf. All its entries are kept, and each look verifies that the
    /// block is unchanged before it reuses them (R14). False: the leaf no longer qualifies, or the buffer cache has
    /// been switched to a design that cannot say whether it is unchanged; nothing is kept then.
    fn look_again(&mut self, tree: &Btree, p: &Process, index: &Index) -> Result<bool> {
        if !tree.cache().knows_versions() {
            self.clear();
            self.small = false;
            return Ok(false);
        }
        let (mut stamp, mut purged) = self.kept.map_or((None, Scn::ZERO), |(stamp, purged)| (Some(stamp), purged));
        let changed = stamp.is_some();
        let read =
            tree.cache().read_changed(p, index.root, GetKind::Consistent, &mut stamp, &mut |v: &BlockView| {
                let node = Node::new(*v);
                self.clear();
                if v.obj() != index.object || !node.is_single() || node.entries() > SMALL_MAX {
                    return false;
                }
                purged = node.purged();
                self.copy(&node, 0, node.entries());
                true
            })?;
        if read == Some(false) {
            self.clear();
            self.small = false;
            return Ok(false);
        }
        // A leaf that changes between looks is not copied as a whole each time.
        self.small = read.is_none() || !changed;
        self.kept = stamp.map(|stamp| (stamp, purged));
        (self.leaf, self.ahead) = (index.root, Ahead::Nowhere);
        self.purged = self.purged.max(purged);
        self.given = self.begin_in_kept();
        self.until = self.end_in_kept();
        self.let_go_of_nothing(tree, p, index.root);
        Ok(true)
    }

    /// The sort key of a kept entry.
    #[inline]
    fn kept_key(&self, n: usize) -> &[u8] {
        let c = &self.copied[n];
        self.bytes.get(c.begin.into()..).and_then(|rest| rest.get(..c.sort_key.into())).unwrap_or_default()
    }

    /// The index of the range's start among the kept entries: often after the last one, or just before it.
    fn begin_in_kept(&self) -> usize {
        let key = &self.low.key[..];
        let is_before = |n: usize| match self.low.kind {
            Kind::None => false,
            Kind::Included => order(self.kept_key(n), key) == Ordering::Less,
            // All keys with the bound as prefix are outside.
            Kind::Excluded => {
                let entry = self.kept_key(n);
                order(&entry[..entry.len().min(key.len())], key) != Ordering::Greater
            }
        };
        let (mut low, mut high, mut step) = (0, self.copied.len(), 1);
        while low < high {
            let at = high - step.min(high - low);
            if is_before(at) {
                low = at + 1;
                break;
            }
            (high, step) = (at, step * 2);
        }
        while low < high {
            let middle = (low + high) / 2;
            if is_before(middle) { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// The index of the range's end among the kept entries.
    fn end_in_kept(&self) -> usize {
        let from = self.given;
        let key = &self.high.key[..];
        let inside = |n: usize| match self.high.kind {
            Kind::None => true,
            Kind::Excluded => order(self.kept_key(n), key) == Ordering::Less,
            // All keys with the bound as prefix are inside.
            Kind::Included => {
                let entry = self.kept_key(n);
                order(&entry[..entry.len().min(key.len())], key) != Ordering::Greater
            }
        };
        match self.copied.len() {
            n if n > from && inside(n - 1) => n,
            n => (from..n).find(|n| !inside(*n)).unwrap_or(n),
        }
    }

    /// Copies the wanted entries at or above `from` of the leaf that holds it, and notes its right sibling. The search
    /// begins at `at`; `first` says that this is the beginning of the range and not a continuation.
    fn copy_right(
        &mut self,
        tree: &Btree,
        p: &Process,
        index: &Index,
        mut at: Rdba,
        from: Vec<u8>,
        first: bool,
    ) -> Result<()> {
        let (mut purged, mut small) = (Scn::ZERO, false);
        for _ in 0..STEPS_MAX {
            let read = tree.cache().read(p, at, GetKind::Consistent, &mut |v: &BlockView| {
                let node = Node::new(*v);
                self.clear();
                self.from.clear();
                small = node.is_single() && node.entries() <= SMALL_MAX;
                if v.obj() != index.object {
                    return Err(Step::Foreign);
                }
                // Since it was found, the leaf may have been split or merged or, if it is the root, have got a level
                // below it.
                match node.step_to(Target::At(&from), 0) {
                    Step::Leaf => {}
                    step => return Err(step),
                }
                purged = node.purged();
                let begin = match first {
                    true => node.lower_bound(&from),
                    false => node.near_bound(0, &from),
                };
                let end = if begin < node.entries() { self.end_in(&node, begin) } else { begin };
                self.copy(&node, begin, end);
                self.until = self.copied.len();
                match node.high() {
                    Some((at, len)) if end == node.entries() => {
                        node.data.view.append_to(at, len, &mut self.from);
                        Ok(node.data.next())
                    }
                    _ => Ok(Rdba::NONE),
                }
            })?;
            match read {
                Ok(next) => {
                    (self.leaf, self.small) = (at, small && at == index.root && tree.cache().knows_versions());
                    self.purged = self.purged.max(purged);
                    if next.is_none() {
                        self.ahead = Ahead::Nowhere;
                        self.from = from; // keeps the memory for the next scan
                        self.let_go_of_nothing(tree, p, at);
                    } else {
                        self.ahead = Ahead::Leaf(next);
                    }
                    return Ok(());
                }
                Err(Step::Right(next) | Step::Child(next, _)) if !next.is_none() => at = next,
                Err(Step::Lost) => at = index.root,
                Err(Step::Foreign) => return Err(Ora::new(8103)),
                Err(_) => return Err(damaged(index, at)),
            }
        }
        Err(damaged(index, at))
    }

    /// Copies the wanted entries of the leaf with the greatest entry below `key` (empty: of the last leaf), and notes
    /// where to continue to the left.
    fn copy_below(&mut self, tree: &Btree, p: &Process, index: &Index, key: Vec<u8>) -> Result<()> {
        p.count(Stat::IndexScansKdiixs1, 1);
        let mut edge = Vec::new();
        self.low.edge(false, &mut edge);
        let target = if key.is_empty() { Target::Last } else { Target::Below(&key) };
        let mut begin = Vec::new();
        let mut purged = Scn::ZERO;
        let mut at = index.root;
        for _ in 0..STEPS_MAX {
            let step = tree.cache().read(p, at, GetKind::Consistent, &mut |v: &BlockView| {
                let node = Node::new(*v);
                self.clear();
                begin.clear();
                if v.obj() != index.object {
                    return Step::Foreign;
                }
                let step = node.step_to(target, 0);
                if step == Step::Leaf {
                    purged = node.purged();
                    let to = if key.is_empty() { node.entries() } else { node.lower_bound(&key) };
                    self.copy(&node, node.lower_bound(&edge), to);
                    self.until = self.copied.len();
                    let (at, len) = node.low();
                    node.data.view.append_to(at, len, &mut begin);
                }
                step
            })?;
            match step {
                Step::Leaf => {
                    self.leaf = at;
                    self.purged = self.purged.max(purged);
                    let more = !begin.is_empty() && begin > edge;
                    self.ahead = if more { Ahead::Below(begin) } else { Ahead::Nowhere };
                    if !more {
                        self.let_go_of_nothing(tree, p, at);
                    }
                    return Ok(());
                }
                Step::Child(next, _) | Step::Right(next) if !next.is_none() => at = next,
                Step::Lost => at = index.root,
                Step::Foreign => return Err(Ora::new(8103)),
                _ => return Err(damaged(index, at)),
            }
        }
        Err(damaged(index, at))
    }

    /// Releases the pin of the last leaf when a scan ends without an entry, since nothing will come back to it.
    fn let_go_of_nothing(&self, tree: &Btree, p: &Process, at: Rdba) {
        if self.given == self.until {
            tree.cache().let_go(p, at);
        }
    }

    fn clear(&mut self) {
        self.copied.clear();
        (self.given, self.until, self.kept) = (0, 0, None);
    }

    /// Number of the first entry behind the upper bound, from entry `begin` on.
    fn end_in(&self, node: &Node, begin: usize) -> usize {
        if self.high.kind == Kind::None {
            return node.entries();
        }
        let mut edge = [0u8; 256];
        let n = self.high.key.len();
        let tail = if self.high.kind == Kind::Included { TAIL } else { 0 };
        if n + tail <= edge.len() {
            edge[..n].copy_from_slice(&self.high.key);
            edge[n..n + tail].fill(0xFF);
            return node.end_bound(begin, &edge[..n + tail]);
        }
        let mut edge = Vec::new();
        self.high.edge(true, &mut edge);
        node.end_bound(begin, &edge)
    }

    /// Copies entries of a leaf: their stretch of the directory, then the stretch of the block that they lie in. The
    /// copy is decoded in private memory, and every offset and length in it is checked.
    fn copy(&mut self, node: &Node, from: usize, to: usize) {
        let (view, to) = (node.data.view, to.min(node.entries()));
        if from >= to {
            return;
        }
        // Computed once: two reads of the header may return different values.
        let directory = ITL_BEGIN + node.data.itls() * ITL_BYTES;
        let slot = |i: usize| (directory + (i + 1) * SLOT_BYTES).min(view.len());
        let begin = view.copy_words(slot(from), slot(to), &mut self.slots);
        let places = self.slots[slot(from) - begin..slot(to) - begin].chunks_exact(SLOT_BYTES);
        let places = places.map(|place| u16::from_le_bytes([place[0], place[1]]));
        let (least, most) = places.clone().fold((u16::MAX, 0), |(least, most), at| (least.min(at), most.max(at)));
        // The last entry of the stretch determines its end.
        let end = (usize::from(most) + ROW_HEADER_BYTES + usize::from(view.u16(usize::from(most) + 2))).min(view.len());
        let sparse = usize::from(least) < ITL_BEGIN || end - usize::from(least).min(end) > (to - from) * SPARSE_BYTES;
        if sparse {
            return self.copy_singly(node, from, to);
        }
        let begin = view.copy_words(least.into(), end, &mut self.bytes);
        let bytes = &self.bytes[..end.div_ceil(8) * 8 - begin];
        for at in places {
            let at = usize::from(at) - begin;
            let head = bytes.get(at..).and_then(|rest| rest.first_chunk::<ROW_HEADER_BYTES>());
            let [flags, _lock, l0, l1, e0, e1] = head.copied().unwrap_or_default();
            let at = at + ROW_HEADER_BYTES;
            let len = u16::from_le_bytes([l0, l1]).min(bytes.len().saturating_sub(at) as u16);
            self.copied.push(Copied::new(at as u16, len, flags, u16::from_le_bytes([e0, e1])));
        }
    }

    /// Copies entries that lie far apart.
    fn copy_singly(&mut self, node: &Node, from: usize, to: usize) {
        self.bytes.clear();
        let directory = node.data.directory_reader();
        for row in (from..to).filter_map(|i| directory.row(i + 1)) {
            let at = self.bytes.len();
            node.data.view.append_to(row.at, row.len, &mut self.bytes);
            self.copied.push(Copied::new(at as u16, row.len as u16, row.flags, row.extra));
        }
    }
}

impl Copied {
    #[inline]
    fn new(begin: u16, len: u16, flags: u8, extra: u16) -> Copied {
        let sort_key =
            if flags & crate::node::flags::ROW != 0 { extra.min(len) } else { len.saturating_sub(XID as u16) };
        Copied { begin, len, key: extra, sort_key, flags }
    }
}
