//! Giving blocks back: empty leaves, and for COALESCE leaves whose entries fit beside those of their right sibling.
//!
//! A leaf is merged into its right sibling: the sibling takes over its entries and range, and the parent's entry and
//! the left sibling's link are changed to lead to the sibling. A leaf that is its parent's only child goes with the
//! parent. All of it is one change group (R3). The last child of a block with several stays: its range would have to
//! move into another subtree.
//!
//! The session that deletes the last live entry of a leaf cannot merge it, since older snapshots need the entry. The
//! process notes the leaf and looks at it again later, when it deletes or splits. Besides, every split checks whether
//! the leftmost leaf is empty, so that the index of a queue does not grow even when the sessions that delete end soon.

use crate::node::{Node, Target, flags};
use crate::ops::{self, op};
use crate::split::{Purge, inherit};
use crate::tree::{pin_for, pin_target};
use crate::{Btree, Index};
use block::{BlockState, BlockView, Data};
use buffer_cache::{BlockRef, ChangeGroup, GetKind};
use process::Process;
use redo::Layer;
use std::collections::BTreeSet;
use types::{Rdba, Result};

/// Most leaves that a process remembers.
const EMPTIED_MAX: usize = 256;
/// Leaves that are tried at a time.
const AT_ONCE: usize = 3;
/// Most deleting transactions of a leaf that are checked before the leaf is pinned.
const DELETERS_MAX: usize = 8;
/// Most blocks of one path that are given back together: with their neighbours and space maps they have to fit into a
/// change group.
const CHAIN_MAX: usize = 3;

/// The result of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Merge {
    Done,
    /// Some snapshot may need entries of the leaf.
    NotYet,
    /// The leaf has no right sibling that can take it over.
    Never,
}

impl Btree {
    /// Notes a leaf whose last live entry was just deleted, and tries to give back leaves noted earlier.
    pub(crate) fn note_empty(&self, p: &Process, index: &Index, key: Vec<u8>) {
        if let Ok(mut empty) = self.empty.lock() {
            if empty.len() == EMPTIED_MAX {
                empty.pop_front();
            }
            empty.push_back((*index, key));
        }
        self.try_emptied(p);
    }

    /// Gives back a few leaves that are empty by now. Errors are ignored: the caller's own operation has succeeded.
    pub(crate) fn give_back(&self, p: &Process, index: &Index) {
        self.try_emptied(p);
        for _ in 0..AT_ONCE {
            let look = self.descend(p, index, Target::At(&[]), 0, &mut |_, _| {}).and_then(|leaf| {
                self.cache().read(p, leaf, GetKind::Examination, &mut |v| {
                    let node = Node::new(*v);
                    node.is_leaf() && node.high().is_some() && (0..node.entries()).all(|i| node.is_deleted(i))
                })
            });
            if !matches!(look, Ok(true)) || !matches!(self.merge(p, index, &[], true), Ok(Merge::Done)) {
                return;
            }
        }
    }

    fn try_emptied(&self, p: &Process) {
        for _ in 0..AT_ONCE {
            let Some((index, key)) = self.empty.lock().ok().and_then(|mut empty| empty.pop_front()) else { return };
            if matches!(self.merge(p, &index, &key, true), Ok(Merge::NotYet)) {
                if let Ok(mut empty) = self.empty.lock() {
                    empty.push_back((index, key));
                }
                return;
            }
        }
    }

    /// Merges leaves whose entries fit into their right siblings, and gives the blocks back to the segment: ALTER INDEX
    /// … COALESCE. Returns how many leaves were given back. Other sessions may use the index meanwhile.
    ///
    /// # Errors
    /// ORA-08103 when the index is gone, and those of the buffer cache.
    pub fn coalesce(&self, p: &Process, index: &Index) -> Result<u64> {
        let (mut merged, mut key) = (0, Vec::new());
        loop {
            p.check_cancel()?;
            if self.merge(p, index, &key, false)? == Merge::Done {
                merged += 1;
                continue;
            }
            let leaf = self.descend(p, index, Target::At(&key), 0, &mut |_, _| {})?;
            let high = self.cache().read(p, leaf, GetKind::Examination, &mut |v| {
                let node = Node::new(*v);
                node.high().map(|at| node.bytes_at(at))
            })?;
            match high {
                Some(high) if high > key => key = high,
                // Merged by another session in between.
                Some(_) => {}
                None => return Ok(merged),
            }
        }
    }

    /// Takes every entry out of an index that is being built, without undo. The caller has locked the table against
    /// changes, no transaction has an open change of it, and no session reads the index. The leaves stay, empty.
    ///
    /// # Errors
    /// ORA-08103 when the index is gone, and those of the buffer cache.
    pub fn unload(&self, p: &Process, index: &Index) -> Result<()> {
        let mut key = Vec::new();
        loop {
            p.check_cancel()?;
            let leaf = self.descend(p, index, Target::At(&key), 0, &mut |_, _| {})?;
            let high = self.cache().in_group(p, &self.scn(), &mut |g| {
                let b = pin_for(g, index, leaf, &key, 0)?;
                let node = Node::new(g.block(b));
                let (entries, high) = (node.entries(), node.high().map(|at| node.bytes_at(at)));
                for i in (0..entries).rev() {
                    g.change(b, Layer::Index, op::REMOVE, &(i as u16 + 1).to_le_bytes())?;
                }
                Ok(high)
            })?;
            match high {
                Some(high) => key = high,
                None => return Ok(()),
            }
        }
    }

    /// Whether a merge may find the leaf empty: it has no live entry, and none whose deletion some snapshot does not
    /// see yet. A read first, so that no block is pinned and copied in vain while the transaction that emptied the leaf
    /// is open (R10).
    fn may_be_empty(&self, p: &Process, index: &Index, key: &[u8]) -> Result<bool> {
        let leaf = self.descend(p, index, Target::At(key), 0, &mut |_, _| {})?;
        // Usually one transaction has emptied the leaf and is still open; then the first entry decides.
        let first = self.cache().read(p, leaf, GetKind::Examination, &mut |v| {
            let node = Node::new(*v);
            let entry = node.entry(0).filter(|entry| entry.flags & flags::ROW == 0)?;
            Some((entry.flags & flags::DELETED == 0, node.xid(0)))
        })?;
        if first.is_some_and(|(live, xid)| live || !self.txns.is_forgotten(xid)) {
            return Ok(false);
        }
        let mut deleters = Vec::new();
        let live = self.cache().read(p, leaf, GetKind::Examination, &mut |v| {
            let node = Node::new(*v);
            deleters.clear();
            (0..node.entries()).any(|i| {
                let Some(entry) = node.entry(i) else { return false };
                if entry.flags & flags::ROW != 0 {
                    return false;
                }
                let xid = node.xid(i);
                if deleters.last() != Some(&xid) && deleters.len() < DELETERS_MAX {
                    deleters.push(xid);
                }
                entry.flags & flags::DELETED == 0
            })
        })?;
        Ok(!live && deleters.iter().all(|xid| self.txns.is_forgotten(*xid)))
    }

    /// Merges the leaf of a sort key into its right sibling; with `empty`, only when the leaf has no entries left.
    fn merge(&self, p: &Process, index: &Index, key: &[u8], empty: bool) -> Result<Merge> {
        if empty && !self.may_be_empty(p, index, key)? {
            return Ok(Merge::NotYet);
        }
        self.cache().in_group(p, &self.scn(), &mut |g| {
            let leaf = pin_for(g, index, index.root, key, 0)?;
            if leaf.rdba() == index.root || Node::new(g.block(leaf)).high().is_none() {
                return Ok(Merge::Never);
            }
            let which = if empty { Purge::Expired } else { Purge::Unseen };
            self.purge_leaf(g, leaf, which)?;
            let entries = Node::new(g.block(leaf)).entries();
            if empty && entries > 0 {
                return Ok(Merge::NotYet);
            }
            match self.path_of(g, index, leaf, key)? {
                Some((chain, parent, i)) => self.merge_path(g, index, &chain, parent, i),
                None => Ok(Merge::Never),
            }
        })
    }

    /// The blocks to give back with a leaf, from the leaf up: the leaf and each parent without another child. Then the
    /// first ancestor with another child, and the number of their entry in it. `None` when that entry is its last.
    fn path_of(
        &self,
        g: &mut ChangeGroup,
        index: &Index,
        leaf: BlockRef,
        key: &[u8],
    ) -> Result<Option<(Vec<BlockRef>, BlockRef, usize)>> {
        let mut chain = vec![leaf];
        for level in 1.. {
            let parent = pin_for(g, index, index.root, key, level)?;
            let node = Node::new(g.block(parent));
            let below = chain[chain.len() - 1].rdba();
            let Some(i) = (0..node.entries()).find(|i| node.child(*i) == below) else { return Ok(None) };
            if i + 1 < node.entries() {
                return Ok(Some((chain, parent, i)));
            }
            if node.entries() > 1 || parent.rdba() == index.root || chain.len() == CHAIN_MAX {
                return Ok(None);
            }
            chain.push(parent);
        }
        Ok(None)
    }

    fn merge_path(
        &self,
        g: &mut ChangeGroup,
        index: &Index,
        chain: &[BlockRef],
        parent: BlockRef,
        i: usize,
    ) -> Result<Merge> {
        // The right siblings, from the leaf up.
        let mut at = Node::new(g.block(parent)).child(i + 1);
        let mut rights = Vec::new();
        for level in (0..chain.len()).rev() {
            let b = g.current(at)?;
            let node = Node::new(g.block(b));
            if g.block(b).obj() != index.object || usize::from(node.level()) != level {
                return Err(crate::tree::damaged(index, at));
            }
            at = node.child(0);
            rights.insert(0, b);
        }
        if Node::new(g.block(chain[0])).entries() > 0 {
            self.purge_leaf(g, rights[0], Purge::Unseen)?;
        }
        let leaf = Node::new(g.block(chain[0]));
        let low = leaf.bytes_at(leaf.low());
        let moved = entries_of(g.view(chain[0]));
        let into = Node::new(g.block(rights[0]));
        let need = moved.len() + leaf.entries() * 8 + low.len();
        // A leaf that is left nearly full would soon be split again.
        let keep = if leaf.entries() == 0 { 0 } else { g.view(rights[0]).len() / 10 };
        if into.data.free_bytes() < need + keep
            || rights.iter().any(|r| Node::new(g.block(*r)).data.free_bytes() < low.len())
        {
            return Ok(Merge::Never);
        }
        let mut lefts = Vec::new();
        if !low.is_empty() {
            for (level, b) in chain.iter().enumerate() {
                let left = pin_target(g, index, index.root, Target::Below(&low), level as u16)?;
                if Node::new(g.block(left)).data.next() != b.rdba() {
                    return Err(crate::tree::damaged(index, left.rdba()));
                }
                lefts.push(left);
            }
        }
        // Each space map may need its list of extents, and one of the lists the segment header.
        let maps: BTreeSet<Rdba> = chain.iter().map(|b| g.block(*b).map()).collect();
        if g.blocks_left() < 2 * maps.len() + 1 {
            return Ok(Merge::Never);
        }
        let purged = Node::new(g.block(chain[0])).purged();
        inherit(g, rights[0], purged)?;
        if !moved.is_empty() {
            g.change(rights[0], Layer::Index, op::INSERT_MANY, &[&1u16.to_le_bytes()[..], &moved].concat())?;
        }
        for (level, (b, right)) in chain.iter().zip(&rights).enumerate() {
            let node = Node::new(g.block(*right));
            let high = node.high().map(|at| node.bytes_at(at));
            g.change(*right, Layer::Index, op::BOUNDS, &ops::bounds(&low, high.as_deref()))?;
            if let Some(left) = lefts.get(level) {
                g.change(*left, Layer::Index, op::NEXT, &right.rdba().0.to_le_bytes())?;
            }
            g.change(*b, Layer::Index, op::CUT, &1u16.to_le_bytes())?;
            g.change(*b, Layer::Index, op::BOUNDS, &ops::bounds(&[], Some(&[])))?;
            g.change(*b, Layer::Index, op::NEXT, &right.rdba().0.to_le_bytes())?;
        }
        let top = rights[rights.len() - 1].rdba();
        let child = [&(i as u16 + 1).to_le_bytes()[..], &top.0.to_le_bytes()].concat();
        g.change(parent, Layer::Index, op::CHILD, &child)?;
        g.change(parent, Layer::Index, op::REMOVE, &(i as u16 + 2).to_le_bytes())?;
        for b in chain {
            let map = g.block(*b).map();
            self.space().mark(g, map, b.rdba(), BlockState::Free)?;
        }
        Ok(Merge::Done)
    }
}

/// The entries of a leaf, in the form of an INSERT_MANY without its first bytes.
fn entries_of(image: &[u8]) -> Vec<u8> {
    let mut entries = Vec::with_capacity(image.len());
    let directory = Data::new(BlockView::of_bytes(image)).directory_reader();
    for row in (1..directory.slots()).filter_map(|slot| directory.row(slot)) {
        ops::push_entry(row.flags, row.extra, &image[row.at..row.at + row.len], &mut entries);
    }
    entries
}
