//! Creating, finding, inserting, deleting.

use crate::node::{Node, ROWID, Step, Target, XID, flags, locator_of};
use crate::ops::{self, op};
use crate::{Btree, Index, key_bytes_max};
use block::{BlockKind, BlockView, SegmentKind};
use buffer_cache::{BlockRef, BufferCache, ChangeGroup, GetKind};
use process::Process;
use redo::Layer;
use txn::{Change, LockWait, Txn};
use types::{ObjectId, Ora, Rdba, Result, Rowid, Scn, Xid};
use wait::Stat;

/// Most blocks that a descent reads before it reports the tree as damaged.
pub(crate) const STEPS_MAX: usize = 10_000;

/// Flag in the segment header: the leaves have a purge SCN. Trees of older versions do not have it.
const NOTES_PURGES: u32 = 1;

/// The result of an insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// The entry is in the index.
    Done,
    /// The index is unique and another row has the key: ORA-00001. Nothing was changed.
    Duplicate(Rowid),
}

/// The meaning of the entries that have the key of an insert into a unique index.
enum Check {
    Free,
    Taken(Rowid),
    /// The outcome depends on this open transaction: wait for it and look again.
    Undecided(Xid),
}

/// Treatment, by an insert, of other rows that have the key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Others {
    /// They are ignored.
    Ignore,
    /// They are refused.
    Refuse,
    /// They are reported, and the entry is added all the same.
    Report,
}

/// The result of one attempt to insert.
enum Try {
    Done,
    /// The entry is in, beside that of another row with the key.
    DoneBeside,
    Taken(Rowid),
    Wait(Xid),
    /// The leaf is full.
    Split,
}

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

    /// Adds the entry for a row to an index. As [`Btree::insert_at`], for a row in a block.
    ///
    /// # Errors
    /// As [`Btree::insert_at`].
    pub fn insert(
        &self,
        p: &Process,
        t: &mut Txn,
        index: &Index,
        key: &[u8],
        row: Rowid,
        wait: LockWait,
    ) -> Result<Inserted> {
        self.insert_at(p, t, index, key, &locator_of(row.rdba, row.slot), wait)
    }

    /// Adds the entry for a row to an index. The locator is a rowid's six bytes, or the row's primary key.
    ///
    /// Keys are made of parts as `types::codec::push_key_part` writes them; a key of NULLs only must not be inserted
    /// (R8). When the index is unique and the key depends on an open transaction, waits for it according to `wait`
    /// (`enq: TX - row lock contention`). Latches: none on entry or return.
    ///
    /// # Errors
    /// ORA-01450 for a key that is too long; ORA-01654 when the tablespace is full; ORA-00060, ORA-00054, ORA-30006 and
    /// ORA-01013 from waiting; those of the buffer cache.
    pub fn insert_at(
        &self,
        p: &Process,
        t: &mut Txn,
        index: &Index,
        key: &[u8],
        locator: &[u8],
        wait: LockWait,
    ) -> Result<Inserted> {
        let others = if index.unique { Others::Refuse } else { Others::Ignore };
        Ok(match self.insert_beside(p, t, index, (key, locator), others, wait)? {
            Try::Taken(row) => Inserted::Duplicate(row),
            _ => Inserted::Done,
        })
    }

    /// Adds the entry for a row to an index that is not unique but enforces a constraint whose key may occur twice for
    /// a while (R12). True when another row has the key, by a committed change or one of the caller's own: the caller
    /// checks again later ([`Btree::is_repeated`]). When an open transaction of another session has given the key to a
    /// row, or taken it from one, waits for it first; so of two transactions that add a key, the second always sees the
    /// first.
    ///
    /// # Errors
    /// As [`Btree::insert_at`].
    pub fn insert_watched(
        &self,
        p: &Process,
        t: &mut Txn,
        index: &Index,
        key: &[u8],
        locator: &[u8],
        wait: LockWait,
    ) -> Result<bool> {
        let done = self.insert_beside(p, t, index, (key, locator), Others::Report, wait)?;
        Ok(matches!(done, Try::DoneBeside))
    }

    fn insert_beside(
        &self,
        p: &Process,
        t: &mut Txn,
        index: &Index,
        (key, locator): (&[u8], &[u8]),
        others: Others,
        wait: LockWait,
    ) -> Result<Try> {
        let sort_key = self.sort_key(key, locator)?;
        loop {
            let tried = self.txns.retrying(p, &mut || self.try_insert(p, t, index, (key, &sort_key), others))?;
            match tried {
                Try::Wait(xid) => self.txns.wait_for_key(p, xid, wait)?,
                Try::Split => self.make_room(p, index, &sort_key)?,
                done => return Ok(done),
            }
        }
    }

    fn sort_key(&self, key: &[u8], locator: &[u8]) -> Result<Vec<u8>> {
        let most = key_bytes_max(self.cache().block_size());
        if key.len() + locator.len() > most + ROWID {
            return Err(too_long(most));
        }
        Ok([key, locator].concat())
    }

    fn try_insert(
        &self,
        p: &Process,
        t: &mut Txn,
        index: &Index,
        (key, sort_key): (&[u8], &[u8]),
        others: Others,
    ) -> Result<Try> {
        // A unique key is checked and inserted under the pin of the leaf where its first entry would be: every other
        // insert of the key pins that leaf, too (R6).
        let first = if others == Others::Ignore { sort_key } else { key };
        let mut done = Try::Done;
        let leaf = self.leaf_for(p, index, Target::At(first))?;
        let mut c = self.txns.change(p, t, 1, undo_bytes(sort_key))?;
        let mut b = self.pin_leaf(&mut c, index, leaf, first)?;
        if others != Others::Ignore {
            match self.check_unique(&mut c, index, b, key, &sort_key[key.len()..])? {
                Check::Free => {}
                Check::Taken(_) if others == Others::Report => done = Try::DoneBeside,
                Check::Taken(row) => return Ok(Try::Taken(row)),
                Check::Undecided(xid) => return Ok(Try::Wait(xid)),
            }
            b = self.pin_leaf(&mut c, index, b.rdba(), sort_key)?;
        }
        let xid = c.xid();
        let node = Node::new(c.group().block(b));
        let i = node.lower_bound(sort_key);
        if node.is_at(i, sort_key) {
            let before = (node.entry(i).map_or(0, |row| row.flags), node.xid(i));
            return self.mark(c, index, b, i, (0, xid), before, sort_key).map(|()| done);
        }
        if node.data.free_bytes() < entry_bytes(sort_key) {
            return Ok(Try::Split);
        }
        c.logical_undo(index.object, Layer::Index, index.root, (crate::undo::op::TAKE_OUT, sort_key))?;
        let change = ops::insert(i + 1, 0, key.len(), &[sort_key, &xid.to_bits().to_le_bytes()]);
        c.group().change(b, Layer::Index, op::INSERT, &change)?;
        c.commit()?;
        Ok(done)
    }

    /// Sets flags and xid of entry `i`, with the undo that puts `before` back.
    #[allow(clippy::too_many_arguments)]
    fn mark(
        &self,
        mut c: Change,
        index: &Index,
        b: BlockRef,
        i: usize,
        now: (u8, Xid),
        before: (u8, Xid),
        sort_key: &[u8],
    ) -> Result<()> {
        let mut data = vec![before.0];
        data.extend_from_slice(&before.1.to_bits().to_le_bytes());
        data.extend_from_slice(sort_key);
        c.logical_undo(index.object, Layer::Index, index.root, (crate::undo::op::PUT_BACK, &data))?;
        c.group().change(b, Layer::Index, op::MARK, &ops::marking(i + 1, now.0, now.1))?;
        c.commit()?;
        Ok(())
    }

    /// Pins the leaf for a sort key, searching from `leaf` to the right: it may have been split since it was found.
    fn pin_leaf(&self, c: &mut Change, index: &Index, leaf: Rdba, key: &[u8]) -> Result<BlockRef> {
        pin_for(c.group(), index, leaf, key, 0)
    }

    fn check_unique(&self, c: &mut Change, index: &Index, first: BlockRef, key: &[u8], mine: &[u8]) -> Result<Check> {
        let (mut b, own) = (first, c.xid());
        for _ in 0..STEPS_MAX {
            let node = Node::new(c.group().block(b));
            let mut i = node.lower_bound(key);
            while node.has_key(i, key) {
                let xid = node.xid(i);
                let (at, len) = node.locator(i);
                let other = node.data.view.compare(at, len, mine).is_ne();
                if other && xid != own && self.txns.is_active(xid) {
                    return Ok(Check::Undecided(xid));
                }
                if other && !node.is_deleted(i) {
                    let (rdba, slot) = node.rowid(i);
                    return Ok(Check::Taken(Rowid { obj: index.table, rdba, slot }));
                }
                i += 1;
            }
            if i < node.entries() || !node.goes_on(key) {
                return Ok(Check::Free);
            }
            let next = node.data.next();
            b = c.current(next)?;
        }
        Err(damaged(index, first.rdba()))
    }

    /// Marks the entry of a row deleted. As [`Btree::delete_at`], for a row in a block.
    ///
    /// # Errors
    /// As [`Btree::delete_at`].
    pub fn delete(&self, p: &Process, t: &mut Txn, index: &Index, key: &[u8], row: Rowid) -> Result<()> {
        self.delete_at(p, t, index, key, &locator_of(row.rdba, row.slot))
    }

    /// Marks the entry of a row deleted: the row is being deleted, or gets another key.
    ///
    /// # Errors
    /// ORA-08102 when the entry is not there; those of the buffer cache.
    pub fn delete_at(&self, p: &Process, t: &mut Txn, index: &Index, key: &[u8], locator: &[u8]) -> Result<()> {
        let sort_key = self.sort_key(key, locator)?;
        let emptied = self.txns.retrying(p, &mut || {
            let leaf = self.leaf_for(p, index, Target::At(&sort_key))?;
            let mut c = self.txns.change(p, t, 1, undo_bytes(&sort_key))?;
            let b = self.pin_leaf(&mut c, index, leaf, &sort_key)?;
            let node = Node::new(c.group().block(b));
            let i = node.lower_bound(&sort_key);
            if !node.is_at(i, &sort_key) || node.is_deleted(i) {
                return Err(missing(index, locator));
            }
            let emptied = is_last_live(&node, i) && b.rdba() != index.root;
            let (before, xid) = ((0, node.xid(i)), c.xid());
            self.mark(c, index, b, i, (flags::DELETED, xid), before, &sort_key)?;
            Ok(emptied)
        })?;
        if emptied {
            self.note_empty(p, index, sort_key);
        }
        Ok(())
    }

    /// As [`Btree::delete_at`], in an index that is being built: when the entry is not there yet, adds it marked
    /// deleted, so that the builder, which sees the row as it was, does not add it. A rollback turns it into the row's
    /// live entry.
    ///
    /// # Errors
    /// As [`Btree::insert_at`].
    pub fn delete_unbuilt(&self, p: &Process, t: &mut Txn, index: &Index, key: &[u8], locator: &[u8]) -> Result<()> {
        let sort_key = self.sort_key(key, locator)?;
        loop {
            let tried = self.txns.retrying(p, &mut || {
                let leaf = self.leaf_for(p, index, Target::At(&sort_key))?;
                let mut c = self.txns.change(p, t, 1, undo_bytes(&sort_key))?;
                let xid = c.xid();
                let b = self.pin_leaf(&mut c, index, leaf, &sort_key)?;
                let node = Node::new(c.group().block(b));
                let i = node.lower_bound(&sort_key);
                if node.is_at(i, &sort_key) {
                    let before = (node.entry(i).map_or(0, |row| row.flags), node.xid(i));
                    return self.mark(c, index, b, i, (flags::DELETED, xid), before, &sort_key).map(|()| Try::Done);
                }
                if node.data.free_bytes() < entry_bytes(&sort_key) {
                    return Ok(Try::Split);
                }
                let mut before = vec![0; 1 + XID];
                before.extend_from_slice(&sort_key);
                c.logical_undo(index.object, Layer::Index, index.root, (crate::undo::op::PUT_BACK, &before))?;
                let behind = xid.to_bits().to_le_bytes();
                let change = ops::insert(i + 1, flags::DELETED, key.len(), &[&sort_key, &behind]);
                c.group().change(b, Layer::Index, op::INSERT, &change)?;
                c.commit()?;
                Ok(Try::Done)
            })?;
            match tried {
                Try::Split => self.make_room(p, index, &sort_key)?,
                _ => return Ok(()),
            }
        }
    }

    /// Adds an entry without undo, for building an index that no other session can see yet. Entries in ascending order
    /// fill the blocks completely.
    ///
    /// # Errors
    /// As [`Btree::insert`].
    pub fn load(&self, p: &Process, index: &Index, key: &[u8], row: Rowid) -> Result<Inserted> {
        self.load_at(p, index, key, &locator_of(row.rdba, row.slot))
    }

    /// As [`Btree::load`], with any locator.
    ///
    /// # Errors
    /// As [`Btree::insert`].
    pub fn load_at(&self, p: &Process, index: &Index, key: &[u8], locator: &[u8]) -> Result<Inserted> {
        let sort_key = self.sort_key(key, locator)?;
        loop {
            let leaf = self.leaf_for(p, index, Target::At(&sort_key))?;
            let tried = self.cache().in_group(p, &self.scn(), &mut |g| {
                let b = pin_for(g, index, leaf, &sort_key, 0)?;
                let node = Node::new(g.block(b));
                let i = node.lower_bound(&sort_key);
                if node.is_at(i, &sort_key) {
                    return Ok(Try::Done);
                }
                if node.data.free_bytes() < entry_bytes(&sort_key) {
                    return Ok(Try::Split);
                }
                let change = ops::insert(i + 1, 0, key.len(), &[&sort_key, &[0; XID]]);
                g.change(b, Layer::Index, op::INSERT, &change)?;
                Ok(Try::Done)
            })?;
            match tried {
                Try::Split => self.make_room(p, index, &sort_key)?,
                _ => return self.check_loaded(p, index, key, locator),
            }
        }
    }

    /// Whether another row has the key in an index that is being built.
    fn check_loaded(&self, p: &Process, index: &Index, key: &[u8], locator: &[u8]) -> Result<Inserted> {
        if !index.unique {
            return Ok(Inserted::Done);
        }
        let mut scan = crate::RangeScan::new();
        scan.start(index, std::ops::Bound::Included(key), std::ops::Bound::Included(key), false);
        while let Some(entry) = scan.next_entry(self, p)? {
            if entry.locator != locator && !entry.deleted {
                let (rdba, slot) = crate::node::rowid_of(entry.locator);
                return Ok(Inserted::Duplicate(Rowid { obj: index.table, rdba, slot }));
            }
        }
        Ok(Inserted::Done)
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

/// True when all entries but number `i` are marked deleted.
fn is_last_live(node: &Node, i: usize) -> bool {
    let n = node.entries();
    let dead = |j: usize| j == i || node.is_deleted(j);
    n > 0 && dead(n - 1) && dead(0) && (1..n - 1).all(dead)
}

/// Collects the rows of a leaf's entries with `key`. When the entries may continue to the right, `from` is set to the
/// key to continue from.
fn collect(node: &Node, index: &Index, key: &[u8], to: &mut Vec<Rowid>, from: &mut Vec<u8>) -> Step {
    let mut i = node.lower_bound(key);
    while node.has_key(i, key) {
        let (rdba, slot) = node.rowid(i);
        to.push(Rowid { obj: index.table, rdba, slot });
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

/// Bytes of the undo for a change of this entry, its former mark included.
fn undo_bytes(sort_key: &[u8]) -> usize {
    1 + XID + sort_key.len()
}

/// ORA-01450: the key is longer than the maximum.
pub(crate) fn too_long(most: usize) -> Ora {
    Ora::with(1450, &[&most])
}

/// Bytes that an entry takes in a leaf.
pub(crate) fn entry_bytes(sort_key: &[u8]) -> usize {
    block::data::ROW_HEADER_BYTES + block::data::SLOT_BYTES + sort_key.len() + XID
}

pub(crate) fn damaged(index: &Index, at: Rdba) -> Ora {
    Ora::internal(format_args!("index object {} damaged at block {at}", index.object))
}

fn missing(index: &Index, locator: &[u8]) -> Ora {
    let (rdba, slot) = crate::node::rowid_of(locator);
    let text =
        format!("index key not found, obj# {}, file {}, block {} ({slot})", index.object, rdba.file(), rdba.block(),);
    Ora::from_text(types::Facility::Ora, 8102, text)
}
