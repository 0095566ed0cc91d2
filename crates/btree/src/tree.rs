//! Creating trees, and finding the leaf of a key.

use crate::node::{Node, Step, Target};
use crate::ops::op;
use crate::{Btree, Index};
use block::{BlockKind, BlockView, SegmentKind};
use buffer_cache::{BlockRef, BufferCache, ChangeGroup, GetKind};
use process::Process;
use redo::Layer;
use txn::Txn;
use types::{ObjectId, Ora, Rdba, Result, Rowid, Scn};
use wait::Stat;

/// Most blocks that a descent reads before it reports the tree as damaged.
pub(crate) const STEPS_MAX: usize = 10_000;

/// Flag in the segment header: the leaves have a purge SCN. Trees of older versions do not have it.
const NOTES_PURGES: u32 = 1;

impl Btree {
    /// Creates an empty index in a tablespace and returns the header block of its segment, for [`Btree::open`].
    ///
    /// # Errors
    /// ORA-01654 when the tablespace is full, and those of the buffer cache.
    pub fn create(&self, p: &Process, tablespace: u32, object: ObjectId) -> Result<Rdba> {
        let segment = self.space().create_segment(p, tablespace, SegmentKind::Index, object, &self.scn())?;
        self.plant(p, segment, object)
    }

    /// As [`Btree::create`], in a transaction: a rollback drops the index again.
    ///
    /// # Errors
    /// Those of [`Transactions::create_segment`].
    pub fn create_in(&self, p: &Process, t: &mut Txn, tablespace: u32, object: ObjectId) -> Result<Rdba> {
        let segment = self.txns.create_segment(p, t, tablespace, SegmentKind::Index, object)?;
        self.plant(p, segment, object)
    }

    /// Gives a new segment its root block.
    fn plant(&self, p: &Process, segment: Rdba, object: ObjectId) -> Result<Rdba> {
        let (cache, segments) = (self.cache(), self.space());
        let made = cache.in_group(p, &self.scn(), &mut |g| {
            let (root, map) = segments.allocate(g, segment)?;
            let b = g.format(root, BlockKind::IndexLeaf, object, map, 0)?;
            g.change(b, Layer::Index, op::RESET, &0u16.to_le_bytes())?;
            segments.set_aux(g, segment, root.0, NOTES_PURGES, self.scn()().0)
        });
        made.map(|()| segment)
    }

    /// Finds an index by its segment.
    ///
    /// # Errors
    /// ORA-08103 when there is no index there.
    pub fn open(&self, p: &Process, segment: Rdba, table: ObjectId, unique: bool) -> Result<Index> {
        let segments = self.space();
        let object = segments.object(p, segment)?;
        let (root, notes, created) = segments.aux(p, segment, GetKind::Consistent)?;
        let root = Rdba(root);
        if root.is_none() {
            return Err(Ora::new(8103));
        }
        Ok(Index { segment, root, object, table, unique, created: Scn(created), notes_purges: notes == NOTES_PURGES })
    }

    /// Levels above the leaves: 0 for a tree that is one leaf.
    ///
    /// # Errors
    /// ORA-08103 when the index is gone, and those of the buffer cache.
    pub fn levels(&self, p: &Process, index: &Index) -> Result<u16> {
        let level = self.cache().read(p, index.root, GetKind::Examination, &mut |v: &BlockView| {
            (v.obj() == index.object).then(|| Node::new(*v).level())
        })?;
        level.ok_or_else(|| Ora::new(8103))
    }

    /// Drops an index: its blocks may be used again.
    ///
    /// # Errors
    /// ORA-08103 when there is no index there.
    pub fn drop_index(&self, p: &Process, segment: Rdba) -> Result<()> {
        self.space().drop_segment(p, segment, &self.scn())
    }

    /// Empties an index, whose data object becomes `object`. The caller holds the table exclusively.
    ///
    /// # Errors
    /// ORA-08103 when there is no index there.
    pub fn truncate(&self, p: &Process, segment: Rdba, object: ObjectId) -> Result<()> {
        let (cache, segments) = (self.cache(), self.space());
        segments.truncate(p, segment, object, &self.scn())?;
        cache.in_group(p, &self.scn(), &mut |g| {
            let (root, map) = segments.allocate(g, segment)?;
            let b = g.format(root, BlockKind::IndexLeaf, object, map, 0)?;
            g.change(b, Layer::Index, op::RESET, &0u16.to_le_bytes())?;
            segments.set_aux(g, segment, root.0, NOTES_PURGES, self.scn()().0)
        })
    }

    /// Sets the SCN from which the index is complete: it may lack entries for row versions that only an older snapshot
    /// sees.
    ///
    /// # Errors
    /// ORA-08103 when there is no index there.
    pub fn set_created(&self, p: &Process, index: &Index) -> Result<()> {
        let (cache, segments) = (self.cache(), self.space());
        let notes = if index.notes_purges { NOTES_PURGES } else { 0 };
        cache.in_group(p, &self.scn(), &mut |g| segments.set_aux(g, index.segment, index.root.0, notes, self.scn()().0))
    }

    /// Walks from the root to the leaf for `target`. `see` looks at each branch entry and each high key it passes, with
    /// the last child's number, in the versioned read itself.
    pub(crate) fn descend(
        &self,
        p: &Process,
        index: &Index,
        target: Target,
        level: u16,
        see: &mut dyn FnMut(&Node, Step),
    ) -> Result<Rdba> {
        walk(self.cache(), p, index, target, level, &mut |node, step| {
            see(node, step);
            false
        })
    }

    /// [`leaf_for`] with the tree's own cache.
    pub(crate) fn leaf_for(&self, p: &Process, index: &Index, target: Target) -> Result<Rdba> {
        leaf_for(self.cache(), p, index, target)
    }

    /// Reads the leaf that `key` belongs to; `f` runs in the same versioned read that verifies the leaf.
    pub(crate) fn at_leaf<R>(
        &self,
        p: &Process,
        index: &Index,
        key: &[u8],
        kind: GetKind,
        see: &mut dyn FnMut(&Node) -> R,
    ) -> Result<R> {
        let mut at = self.leaf_for(p, index, Target::At(key))?;
        for _ in 0..STEPS_MAX {
            let seen = self.cache().read(p, at, kind, &mut |v: &BlockView| {
                let node = Node::new(*v);
                if v.obj() != index.object {
                    return Err(Step::Foreign);
                }
                match node.step_to(Target::At(key), 0) {
                    Step::Leaf => Ok(see(&node)),
                    step => Err(step),
                }
            })?;
            match seen {
                Ok(seen) => return Ok(seen),
                Err(Step::Child(next, _) | Step::Right(next)) if !next.is_none() => at = next,
                Err(Step::Lost) => at = index.root,
                Err(Step::Foreign) => return Err(Ora::new(8103)),
                Err(_) => return Err(damaged(index, at)),
            }
        }
        Err(damaged(index, at))
    }

    /// Appends the rowids of all entries with `key`, also of those marked deleted: candidates whose rows the caller
    /// reads.
    ///
    /// Statistics: `consistent gets - examination`, `index fetch by key`. Allocates only when `to` must grow.
    ///
    /// # Errors
    /// ORA-08103 when the index is gone, and those of the buffer cache.
    pub fn probe(&self, p: &Process, index: &Index, key: &[u8], to: &mut Vec<Rowid>) -> Result<()> {
        p.count(Stat::IndexFetchByKey, 1);
        let before = to.len();
        let mut at = index.root;
        // The low end of the next leaf with the key. Empty, and so without allocation, while one leaf has all entries.
        let (mut from, mut next_from) = (Vec::new(), Vec::new());
        for _ in 0..STEPS_MAX {
            let start = to.len();
            let target = Target::At(if from.is_empty() { key } else { &from });
            let step = self.cache().read(p, at, GetKind::Examination, &mut |v: &BlockView| {
                to.truncate(start);
                next_from.clear();
                let node = Node::new(*v);
                if v.obj() != index.object {
                    return Step::Foreign;
                }
                let step = node.step_to(target, 0);
                if step == Step::Leaf { collect(&node, index, key, to, &mut next_from) } else { step }
            })?;
            if !next_from.is_empty() {
                std::mem::swap(&mut from, &mut next_from);
            }
            match step {
                Step::Leaf => return Ok(()),
                Step::Child(next, _) | Step::Right(next) if !next.is_none() => at = next,
                Step::Lost => at = index.root,
                Step::Foreign => return Err(Ora::new(8103)),
                _ => return Err(damaged(index, at)),
            }
        }
        to.truncate(before);
        Err(damaged(index, at))
    }
}

/// As [`Btree::descend`] to a leaf, but takes its address from the branch above without reading the leaf. When the leaf
/// is read it may have been split or merged or, if it is the root, have got a level below it.
pub(crate) fn leaf_for(cache: &BufferCache, p: &Process, index: &Index, target: Target) -> Result<Rdba> {
    let is_above = |node: &Node, step: Step| node.level() == 1 && matches!(step, Step::Child(..));
    walk(cache, p, index, target, 0, &mut |node, step| is_above(node, step))
}

/// Walks from the root to the block of `level` for `target`, or until `is_last` returns true for a step; returns the
/// block that the step leads to.
fn walk(
    cache: &BufferCache,
    p: &Process,
    index: &Index,
    target: Target,
    level: u16,
    is_last: &mut dyn FnMut(&Node, Step) -> bool,
) -> Result<Rdba> {
    let mut at = index.root;
    for _ in 0..STEPS_MAX {
        let (step, ends) = cache.read(p, at, GetKind::Examination, &mut |v: &BlockView| {
            let node = Node::new(*v);
            if v.obj() != index.object {
                return (Step::Foreign, false);
            }
            match node.step_to(target, level) {
                Step::Leaf => (Step::Leaf, true),
                step => (step, is_last(&node, step)),
            }
        })?;
        match step {
            Step::Leaf => return Ok(at),
            Step::Child(next, _) | Step::Right(next) if !next.is_none() => at = next,
            Step::Lost => at = index.root,
            Step::Foreign => return Err(Ora::new(8103)),
            _ => return Err(damaged(index, at)),
        }
        if ends {
            return Ok(at);
        }
    }
    Err(damaged(index, at))
}

/// Collects the rows of a leaf's entries with `key`. When the entries may continue to the right, `from` is set to the
/// key to continue from.
fn collect(node: &Node, index: &Index, key: &[u8], to: &mut Vec<Rowid>, from: &mut Vec<u8>) -> Step {
    let mut i = node.lower_bound(key);
    while node.has_key(i, key) {
        to.push(node.row(i, index.table));
        i += 1;
    }
    if i < node.entries() || !node.goes_on(key) {
        return Step::Leaf;
    }
    if let Some((at, len)) = node.high() {
        node.data.view.append_to(at, len, from);
    }
    Step::Right(node.data.next())
}

/// Pins the block of `level` that a sort key belongs to, searching from `at`: to the right when blocks were split since
/// it was found, and down when it was the root and the tree has grown.
pub(crate) fn pin_for(g: &mut ChangeGroup, index: &Index, at: Rdba, key: &[u8], level: u16) -> Result<BlockRef> {
    pin_target(g, index, at, Target::At(key), level)
}

/// As [`pin_for`], for any target.
pub(crate) fn pin_target(g: &mut ChangeGroup, index: &Index, at: Rdba, target: Target, level: u16) -> Result<BlockRef> {
    let step_at = |v: BlockView| {
        let node = Node::new(v);
        if v.obj() == index.object { node.step_to(target, level) } else { Step::Foreign }
    };
    let mut at = at;
    for _ in 0..STEPS_MAX {
        // A pinned block stays pinned until the group ends, so the block is read before it is pinned.
        let mut step = g.peek(at, &mut |v| step_at(*v))?;
        if step == Step::Leaf {
            let b = g.current(at)?;
            step = step_at(g.block(b));
            if step == Step::Leaf {
                return Ok(b);
            }
        }
        match step {
            Step::Right(next) | Step::Child(next, _) if !next.is_none() => at = next,
            Step::Lost => at = index.root,
            Step::Foreign => return Err(Ora::new(8103)),
            _ => return Err(damaged(index, at)),
        }
    }
    Err(damaged(index, at))
}

pub(crate) fn damaged(index: &Index, at: Rdba) -> Ora {
    Ora::internal(format_args!("index object {} damaged at block {at}", index.object))
}
