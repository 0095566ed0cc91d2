//! Making room: purging what no snapshot can see any more, and splitting.
//!
//! A split is one change group over the block, its new right sibling and the parent; when the parent is full it is
//! split first, in a group of its own. The root is split by moving its entries into two new blocks below it. A leaf
//! that grows at its right end is not halved: the new key starts an empty block, so that ascending keys fill their
//! blocks.

use crate::leaf::Leaf;
use crate::list::push_row;
use crate::node::{CHILD, Node, Target, flags};
use crate::ops::{self, op};
use crate::row::Head;
use crate::tree::pin_for;
use crate::{Btree, Index};
use block::{BlockKind, BlockView, Data};
use buffer_cache::{BlockRef, ChangeGroup};
use process::Process;
use redo::Layer;
use std::ops::Range;
use types::{Rdba, Result, Scn, Xid};
use wait::Stat;

/// The deleted rows that a purge takes out, of those that no open snapshot sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purge {
    /// Those whose undo retention has expired.
    Expired,
    /// All.
    Unseen,
}

/// The result of splitting one block.
enum Split {
    Done,
    /// The parent at this level has to be split first.
    ParentFull(u16),
}

impl Btree {
    /// Makes room in the leaf for `sort_key`.
    /// Latches and pins: none on entry or return.
    pub(crate) fn make_room(&self, p: &Process, index: &Index, sort_key: &[u8]) -> Result<()> {
        if self.purge(p, index, sort_key)? {
            return Ok(());
        }
        let mut level = 0;
        loop {
            faults::point("index-splitting");
            match self.split(p, index, sort_key, level)? {
                Split::Done if level == 0 => {
                    self.give_back(p, index);
                    return Ok(());
                }
                Split::Done => level -= 1,
                Split::ParentFull(parent) => level = parent,
            }
        }
    }

    /// Takes out of the leaf for `sort_key` what is no longer needed; true when there was something.
    fn purge(&self, p: &Process, index: &Index, sort_key: &[u8]) -> Result<bool> {
        let leaf = self.descend(p, index, Target::At(sort_key), 0, &mut |_, _| {})?;
        self.cache().in_group(p, &self.scn(), &mut |g| {
            let b = pin_for(g, index, leaf, sort_key, 0)?;
            // Deleted rows that flashback queries may need stay for the undo retention, unless they fill half of the
            // leaf (R13).
            Ok(self.purge_leaf(g, b, Purge::Expired)?
                || (Leaf::new(g.view(b)).rows_are_mostly_deleted() && self.purge_leaf(g, b, Purge::Unseen)?))
        })
    }

    /// Takes out the entries of a leaf that are marked deleted and that no snapshot can need (R4), and the padding of
    /// rows whose transactions have ended; true when there was something. Raises the leaf's purge SCN to cover the rows
    /// taken out. Where the retention of undo is guaranteed, rows of expired deletions are taken out and no others.
    pub(crate) fn purge_leaf(&self, g: &mut ChangeGroup, b: BlockRef, which: Purge) -> Result<bool> {
        if Leaf::new(g.view(b)).is_all_live() {
            return Ok(false);
        }
        let which = if self.txns.is_retention_guaranteed() { Purge::Expired } else { which };
        let node = Node::new(g.block(b));
        let mut purged = node.purged();
        let mut row_gone = |head: Head| {
            let retained = if which == Purge::Expired { self.txns.times().retained() } else { Scn::MAX };
            let ended = head.is_deleted().then(|| self.txns.ended_in_history(head.maker())).flatten();
            ended.filter(|scn| *scn <= retained).inspect(|scn| purged = purged.max(*scn)).is_some()
        };
        // Neighbours were usually deleted by one transaction.
        let mut known: Option<(Xid, bool)> = None;
        let mut forgotten = |xid: Xid| match known {
            Some((last, forgotten)) if last == xid => forgotten,
            _ => known.insert((xid, self.txns.is_forgotten(xid))).1,
        };
        let leaf = Leaf::new(g.view(b));
        let mut gone = |i: &usize| match leaf.mark(*i) {
            (mark, _) if mark & flags::ROW != 0 => node.head(*i).is_some_and(&mut row_gone),
            (mark, xid) => mark & flags::DELETED != 0 && forgotten(xid),
        };
        let dead: Vec<usize> = (0..node.entries()).filter(&mut gone).collect();
        let newly = purged > node.purged();
        let rows = (0..leaf.entries()).filter(|i| leaf.mark(*i).0 & flags::ROW != 0);
        let trimmed: Vec<Vec<u8>> = rows
            .filter(|i| dead.binary_search(i).is_err())
            .filter_map(|i| crate::row::trim(&node, i, &|head| self.txns.settled(head.maker())))
            .collect();
        for change in &trimmed {
            g.change(b, Layer::Index, op::ROW, change)?;
        }
        for i in dead.iter().rev() {
            g.change(b, Layer::Index, op::REMOVE, &(*i as u16 + 1).to_le_bytes())?;
        }
        if newly {
            g.change(b, Layer::Index, op::PURGED, &purged.0.to_le_bytes())?;
        }
        Ok(!dead.is_empty() || !trimmed.is_empty())
    }

    /// Splits the block of `level` that `sort_key` belongs to, unless it has room by now.
    fn split(&self, p: &Process, index: &Index, sort_key: &[u8], level: u16) -> Result<Split> {
        let at = self.descend(p, index, Target::At(sort_key), level, &mut |_, _| {})?;
        let parent = match at == index.root {
            true => None,
            false => Some(self.descend(p, index, Target::At(sort_key), level + 1, &mut |_, _| {})?),
        };
        self.cache().in_group(p, &self.scn(), &mut |g| {
            if at == index.root {
                return self.split_root(g, p, index, level);
            }
            let parent = match parent {
                Some(parent) => pin_for(g, index, parent, sort_key, level + 1)?,
                None => return Ok(Split::Done),
            };
            let b = pin_for(g, index, at, sort_key, level)?;
            self.split_block(g, p, index, b, parent, sort_key)
        })
    }

    fn split_block(
        &self,
        g: &mut ChangeGroup,
        p: &Process,
        index: &Index,
        b: BlockRef,
        parent: BlockRef,
        sort_key: &[u8],
    ) -> Result<Split> {
        let node = Node::new(g.block(b));
        let (level, next, purged) = (node.level(), node.data.next(), node.purged());
        let Some((cut, separator)) = cut_of(&node, sort_key) else { return Ok(Split::Done) };
        let above = Node::new(g.block(parent));
        if above.data.free_bytes() < separator.len() + CHILD + 8 {
            return Ok(Split::ParentFull(level + 1));
        }
        let place = above.lower_bound(&separator).max(1);
        let (low, high) = (node.bytes_at(node.low()), node.high().map(|at| node.bytes_at(at)));
        let (moved, at_end) = (entries_of(g.view(b), cut..node.entries()), cut + 1 >= node.entries());
        let right = self.new_block(g, index, level)?;
        faults::point("index-split-half");
        if !moved.is_empty() {
            g.change(right, Layer::Index, op::APPEND_RUN, &moved)?;
        }
        g.change(right, Layer::Index, op::BOUNDS, &ops::bounds(&separator, high.as_deref()))?;
        g.change(right, Layer::Index, op::NEXT, &next.0.to_le_bytes())?;
        inherit(g, right, purged)?;
        if !moved.is_empty() {
            g.change(b, Layer::Index, op::CUT, &(cut as u16 + 1).to_le_bytes())?;
        }
        g.change(b, Layer::Index, op::BOUNDS, &ops::bounds(&low, Some(&separator)))?;
        g.change(b, Layer::Index, op::NEXT, &right.rdba().0.to_le_bytes())?;
        let entry = ops::insert(place + 1, 0, 0, &[&separator, &right.rdba().0.to_le_bytes()]);
        g.change(parent, Layer::Index, op::INSERT, &entry)?;
        p.count(if level == 0 { Stat::LeafNodeSplits } else { Stat::BranchNodeSplits }, 1);
        if at_end {
            p.count(Stat::LeafNode9010Splits, 1);
        }
        Ok(Split::Done)
    }

    /// Moves the entries of the root into two new blocks and makes it their parent.
    fn split_root(&self, g: &mut ChangeGroup, p: &Process, index: &Index, level: u16) -> Result<Split> {
        let root = g.current(index.root)?;
        let node = Node::new(g.block(root));
        // Another session may have split it meanwhile: it then has another level, and the caller looks again.
        if node.level() != level || node.entries() < 2 {
            return Ok(Split::Done);
        }
        let (cut, purged) = (half_of(&node), node.purged());
        let separator = node.bytes_at(node.sort_key(cut));
        let right_entries = entries_of(g.view(root), cut..node.entries());
        let left_entries = entries_of(g.view(root), 0..cut);
        let left = self.new_block(g, index, level)?;
        let right = self.new_block(g, index, level)?;
        g.change(left, Layer::Index, op::APPEND_RUN, &left_entries)?;
        g.change(left, Layer::Index, op::BOUNDS, &ops::bounds(&[], Some(&separator)))?;
        g.change(left, Layer::Index, op::NEXT, &right.rdba().0.to_le_bytes())?;
        g.change(right, Layer::Index, op::APPEND_RUN, &right_entries)?;
        g.change(right, Layer::Index, op::BOUNDS, &ops::bounds(&separator, None))?;
        inherit(g, left, purged)?;
        inherit(g, right, purged)?;
        g.change(root, Layer::Index, op::RESET, &(level + 1).to_le_bytes())?;
        let mut children = Vec::new();
        ops::push_entry(0, 0, &left.rdba().0.to_le_bytes(), &mut children);
        ops::push_entry(0, 0, &[&separator[..], &right.rdba().0.to_le_bytes()].concat(), &mut children);
        g.change(root, Layer::Index, op::APPEND, &children)?;
        p.count(Stat::RootNodeSplits, 1);
        Ok(Split::Done)
    }

    fn new_block(&self, g: &mut ChangeGroup, index: &Index, level: u16) -> Result<BlockRef> {
        let (at, map): (Rdba, Rdba) = self.space().allocate(g, index.segment)?;
        let kind = if level == 0 { BlockKind::IndexLeaf } else { BlockKind::IndexBranch };
        let b = g.format(at, kind, index.object, map, 0)?;
        g.change(b, Layer::Index, op::RESET, &level.to_le_bytes())?;
        Ok(b)
    }
}

/// Raises the purge SCN of a leaf that takes over a part of another leaf's range to that leaf's.
pub(crate) fn inherit(g: &mut ChangeGroup, b: BlockRef, purged: Scn) -> Result<()> {
    match purged > Node::new(g.block(b)).purged() {
        true => g.change(b, Layer::Index, op::PURGED, &purged.0.to_le_bytes()),
        false => Ok(()),
    }
}

/// Entries of a block, in the form of an APPEND_RUN. In a branch the separator of the first one moves up; its copy
/// stays, since the first entry's separator is never read.
pub(crate) fn entries_of(image: &[u8], which: Range<usize>) -> Vec<u8> {
    let mut entries = Vec::with_capacity(image.len());
    let directory = Data::new(BlockView::of_bytes(image)).directory_reader();
    let mut before = None;
    for row in which.filter_map(|i| directory.row(i + 1)) {
        let row = (row.flags, row.extra, &image[row.at..row.at + row.len]);
        push_row(before, row, &mut entries);
        before = Some(row);
    }
    entries
}

/// The entry at which the bytes of a block are halved; each side keeps at least one entry.
fn half_of(node: &Node) -> usize {
    let directory = node.data.directory_reader();
    let sizes = |i: usize| {
        directory.row(i + 1).map_or(0, |row| row.len + block::data::ROW_HEADER_BYTES + block::data::SLOT_BYTES)
    };
    let half = (0..node.entries()).map(sizes).sum::<usize>() / 2;
    let mut sum = 0;
    for i in 0..node.entries() {
        sum += sizes(i);
        if sum > half {
            return i.clamp(1, node.entries() - 1);
        }
    }
    node.entries() - 1
}

/// The entry at which a block is cut to take `sort_key`, and the separator; `None` when it needs no split.
fn cut_of(node: &Node, sort_key: &[u8]) -> Option<(usize, Vec<u8>)> {
    let n = node.entries();
    if n < 2 {
        return None;
    }
    let at_right_end = node.high().is_none() && node.is_leaf() && node.lower_bound(sort_key) == n;
    // The new key becomes the high key of the full block if it fits there; otherwise the last entry moves to the new
    // block.
    if at_right_end && node.data.free_bytes() >= sort_key.len() {
        return Some((n, sort_key.to_vec()));
    }
    let cut = if at_right_end { n - 1 } else { half_of(node) };
    Some((cut, node.bytes_at(node.sort_key(cut))))
}
