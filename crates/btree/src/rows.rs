//! Index-organised tables: the rows are the entries of the leaves.
//!
//! A row is found by its primary key and carries its own versions ([`crate::row`]). A change of a row is one change
//! group over the leaf and the undo block. A row is locked by the transaction that its word names, while that
//! transaction is active.

use crate::entries::Inserted;
use crate::node::{Node, Target, flags};
use crate::ops::{self, op};
use crate::row::{self, HEAD, Head, Patch};
use crate::row_undo::{self, Before};
use crate::tree::{STEPS_MAX, damaged, pin_for};
use crate::{Btree, Index, key_bytes_max, node::Step, undo_op};
use block::BlockView;
use buffer_cache::{BlockRef, GetKind};
use process::Process;
use redo::Layer;
use txn::{Change, LockWait, Maker, RowWait, Sight, Snapshot, Txn};
use types::{ObjectId, Ora, Rdba, Result, Rowid, Scn, Uba, Xid};
use wait::Stat;

/// An index-organised table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowTable {
    /// The tree that holds the rows.
    pub tree: Index,
    /// The table's object number: TM enqueue, touched objects.
    pub object: ObjectId,
}

/// The result of changing a row found by a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowOutcome {
    /// Done.
    Done,
    /// The row was changed or deleted by another transaction after the snapshot: start the statement again.
    Changed,
    /// The row is locked and the caller said [`LockWait::SkipLocked`].
    Skipped,
}

/// The change to make to a row.
#[derive(Debug, Clone, Copy)]
pub enum RowAction<'a> {
    /// Replaces the row; its key stays.
    Update(&'a [u8]),
    /// Deletes the row.
    Delete,
    /// Locks the row.
    Lock,
}

/// The result of one attempt.
enum Try {
    Done,
    Emptied,
    Taken,
    Changed,
    Wait(Xid),
    Split,
    MoreUndo(usize),
    /// The row was changed since the snapshot: compare its bytes.
    Compare,
}

/// The current version of a row, from its leaf.
pub(crate) struct Current<'a> {
    pub head: Head,
    pub key: &'a [u8],
    pub row: Vec<u8>,
    /// Between the older version and this one the row was changed or deleted, not only locked.
    pub touched: bool,
}

impl Btree {
    /// Longest row an index-organised table takes with a key of `key` bytes.
    pub fn row_bytes_max(&self, key: usize) -> usize {
        let capacity = block::data::capacity(self.cache().block_size(), 0);
        let overhead = block::data::ROW_HEADER_BYTES + block::data::SLOT_BYTES;
        // Two rows with their keys, and the low and high key, must fit into a block.
        let bounds = 2 * key.max(16) + overhead;
        ((capacity - bounds) / 2).saturating_sub(overhead + key + HEAD)
    }

    fn check_sizes(&self, key: &[u8], row: &[u8]) -> Result<()> {
        let most = key_bytes_max(self.cache().block_size());
        if key.len() > most {
            return Err(Ora::with(1450, &[&most]));
        }
        // ORA-01429: there is no overflow segment.
        if row.len() > self.row_bytes_max(key.len()) { Err(Ora::new(1429)) } else { Ok(()) }
    }

    /// Inserts a row (`types::row` bytes) under its key.
    ///
    /// Waits: `enq: TM - contention`; `enq: TX - row lock contention` while a transaction decides about the key.
    /// # Errors
    /// ORA-01429 for a row that is too long, ORA-01450 for such a key, ORA-01654 when the tablespace is full.
    pub fn insert_row(
        &self,
        p: &Process,
        t: &mut Txn,
        table: &RowTable,
        key: &[u8],
        row: &[u8],
        wait: LockWait,
    ) -> Result<Inserted> {
        self.check_sizes(key, row)?;
        self.txns.touch(p, t, table.object)?;
        let mut undo_bytes = key.len() + 64;
        loop {
            match self.txns.retrying(p, &mut || self.try_insert_row(p, t, table, key, row, undo_bytes))? {
                Try::Done => return Ok(Inserted::Done),
                Try::Wait(xid) => self.txns.wait_for(p, xid, wait)?,
                Try::Split => self.make_room(p, &table.tree, key)?,
                Try::MoreUndo(bytes) => undo_bytes = bytes,
                _ => {
                    let none = Rowid { obj: table.tree.table, rdba: Rdba::NONE, slot: 0 };
                    return Ok(Inserted::Duplicate(none));
                }
            }
        }
    }

    fn try_insert_row(
        &self,
        p: &Process,
        t: &mut Txn,
        table: &RowTable,
        key: &[u8],
        row: &[u8],
        undo_bytes: usize,
    ) -> Result<Try> {
        let index = &table.tree;
        let leaf = self.leaf_for(p, index, Target::At(key))?;
        let mut c = self.txns.change(p, t, 1, undo_bytes)?;
        let b = pin_for(c.group(), index, leaf, key, 0)?;
        let node = Node::new(c.group().block(b));
        let i = node.lower_bound(key);
        if node.is_at(i, key) {
            let Some(head) = node.head(i) else { return Err(damaged(index, b.rdba())) };
            if let Some(holder) = self.holder(&head, c.xid()) {
                return Ok(Try::Wait(holder));
            }
            if !head.is_deleted() {
                return Ok(Try::Taken);
            }
            return self.set_row(c, index, b, i, flags::ROW, Some(row), undo_bytes);
        }
        let bytes = block::data::ROW_HEADER_BYTES + block::data::SLOT_BYTES + key.len() + HEAD + row.len();
        if node.data.free_bytes() < bytes {
            return Ok(Try::Split);
        }
        let word = c.xid().to_bits();
        let uba = c.logical_undo(index.object, Layer::Index, index.root, (undo_op::TAKE_OUT_ROW, key))?;
        let mut head = Vec::with_capacity(HEAD);
        Head { flags: flags::ROW, word, uba, len: row.len() as u16 }.push(&mut head);
        let change = ops::insert(i + 1, flags::ROW, key.len(), &[key, &head, row]);
        c.group().change(b, Layer::Index, op::INSERT, &change)?;
        c.commit()?;
        Ok(Try::Done)
    }

    /// The other transaction that holds the lock of a row, if any.
    fn holder(&self, head: &Head, own: Xid) -> Option<Xid> {
        match head.maker() {
            Maker::Transaction(xid) if xid != own && self.txns.is_active(xid) => Some(xid),
            _ => None,
        }
    }

    /// Makes a new version of row `i`: new flags, and new bytes if given.
    #[allow(clippy::too_many_arguments)]
    fn set_row(
        &self,
        mut c: Change,
        index: &Index,
        b: BlockRef,
        i: usize,
        new_flags: u8,
        row: Option<&[u8]>,
        undo_bytes: usize,
    ) -> Result<Try> {
        let own = c.xid();
        let node = Node::new(c.group().block(b));
        let head = node.head(i).ok_or_else(|| damaged(index, b.rdba()))?;
        let (old, room) = (node.row_bytes(i), node.room(i));
        let key = node.bytes_at(node.sort_key(i));
        let new = row.unwrap_or(&old);
        // The padding left by an ended transaction is released; that of this transaction may be needed to roll back
        // (R7).
        let mine = head.maker() == Maker::Transaction(own);
        let new_room = if mine { room.max(new.len()) } else { old.len().max(new.len()) };
        if new_room > room && node.data.free_bytes() < new_room - room {
            return Ok(Try::Split);
        }
        let before = if mine { head } else { head.made_by(self.txns.settled(head.maker())) };
        let undo = row_undo::put_back(&before, &key, &Patch::between(new, &old));
        if undo.len() > undo_bytes {
            return Ok(Try::MoreUndo(undo.len()));
        }
        let emptied = new_flags & flags::DELETED != 0
            && b.rdba() != index.root
            && (0..node.entries()).all(|j| j == i || node.is_deleted(j));
        let uba = c.logical_undo(index.object, Layer::Index, index.root, (undo_op::PUT_BACK_ROW, &undo))?;
        let head = Head { flags: new_flags, word: own.to_bits(), uba, len: new.len() as u16 };
        let change = row::change(i + 1, &head, new_room, &Patch::between(&old, new));
        c.group().change(b, Layer::Index, op::ROW, &change)?;
        c.commit()?;
        Ok(if emptied { Try::Emptied } else { Try::Done })
    }

    /// Updates, deletes or locks the row that `seen` found under a key.
    ///
    /// Waits: `enq: TX - row lock contention`. Latches: none on entry or return.
    /// # Errors
    /// ORA-00060 (the caller rolls the statement back), ORA-00054, ORA-30006, ORA-01429; ORA-00600 for a damaged leaf.
    #[allow(clippy::too_many_arguments)]
    pub fn change_row(
        &self,
        p: &Process,
        t: &mut Txn,
        table: &RowTable,
        key: &[u8],
        action: RowAction<'_>,
        seen: &Snapshot,
        wait: LockWait,
    ) -> Result<RowOutcome> {
        if let RowAction::Update(row) = action {
            self.check_sizes(key, row)?;
        }
        self.txns.touch(p, t, table.object)?;
        let mut undo_bytes = key.len() + 256;
        let mut verified = None;
        let mut patience = RowWait::new(wait);
        loop {
            let tried =
                self.txns.retrying(p, &mut || self.try_change(p, t, table, key, action, seen, undo_bytes, verified))?;
            match tried {
                Try::Done => return Ok(RowOutcome::Done),
                Try::Emptied => {
                    self.note_empty(p, &table.tree, key.to_vec());
                    return Ok(RowOutcome::Done);
                }
                Try::Changed | Try::Taken => return Ok(RowOutcome::Changed),
                Try::Wait(_) if wait == LockWait::SkipLocked => return Ok(RowOutcome::Skipped),
                Try::Wait(holder) => self.txns.wait_for(p, holder, patience.left()?)?,
                Try::Split => self.make_room(p, &table.tree, key)?,
                Try::MoreUndo(bytes) => undo_bytes = bytes,
                Try::Compare => match self.unchanged_since(p, &table.tree, key, seen)? {
                    Some(uba) => verified = Some(uba),
                    None => return Ok(RowOutcome::Changed),
                },
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn try_change(
        &self,
        p: &Process,
        t: &mut Txn,
        table: &RowTable,
        key: &[u8],
        action: RowAction<'_>,
        seen: &Snapshot,
        undo_bytes: usize,
        verified: Option<Uba>,
    ) -> Result<Try> {
        let index = &table.tree;
        let leaf = self.leaf_for(p, index, Target::At(key))?;
        let mut c = self.txns.change(p, t, 1, undo_bytes)?;
        let own = c.xid();
        let b = pin_for(c.group(), index, leaf, key, 0)?;
        let node = Node::new(c.group().block(b));
        let i = node.lower_bound(key);
        let head = match node.head(i) {
            Some(head) if node.is_at(i, key) => head,
            // The snapshot saw the row. Purging it would have raised the leaf's purge SCN (R13), so without that the
            // leaf is damaged and another snapshot would find the same.
            _ if index.notes_purges && node.purged() <= seen.scn => return Err(damaged(index, b.rdba())),
            _ => return Ok(Try::Changed),
        };
        if let Some(holder) = self.holder(&head, own) {
            return Ok(Try::Wait(holder));
        }
        let mine = head.maker() == Maker::Transaction(own);
        let sight = self.txns.sight(head.maker(), head.uba, seen);
        if head.is_deleted() {
            // Deleted as of the snapshot, or a row with this key was changed by this statement before.
            return if mine || sight == Sight::Visible { Err(damaged(index, b.rdba())) } else { Ok(Try::Changed) };
        }
        let unseen = !mine && sight != Sight::Visible;
        if unseen && verified != Some(head.uba) {
            return Ok(Try::Compare);
        }
        match action {
            RowAction::Lock if mine => Ok(Try::Done),
            RowAction::Lock => self.set_row(c, index, b, i, flags::ROW, None, undo_bytes),
            RowAction::Delete => self.set_row(c, index, b, i, flags::ROW | flags::DELETED, None, undo_bytes),
            RowAction::Update(row) => self.set_row(c, index, b, i, flags::ROW, Some(row), undo_bytes),
        }
    }

    /// Copies the row under a key into `row` (cleared first). False when there is none as of `s`.
    ///
    /// Statistics: `consistent gets`, `index fetch by key`. Latches: none on entry or return.
    /// # Errors
    /// ORA-01555; ORA-08103 when the table is gone.
    pub fn fetch_row(&self, p: &Process, index: &Index, key: &[u8], s: &Snapshot, row: &mut Vec<u8>) -> Result<bool> {
        p.count(Stat::IndexFetchByKey, 1);
        let mut at = index.root;
        for _ in 0..STEPS_MAX {
            let (mut found, mut purged) = (None, Scn::ZERO);
            let step = self.cache().read(p, at, GetKind::Examination, &mut |v: &BlockView| {
                let node = Node::new(*v);
                (found, _) = (None, row.clear());
                if v.obj() != index.object {
                    return Step::Foreign;
                }
                let step = node.step_to(Target::At(key), 0);
                if step == Step::Leaf {
                    purged = node.purged();
                    let i = node.lower_bound(key);
                    if let (Some(head), true) = (node.head(i), node.is_at(i, key)) {
                        let begin = node.entry(i).map_or(0, |entry| entry.at) + key.len() + HEAD;
                        node.data.view.append_to(begin, usize::from(head.len).min(node.room(i)), row);
                        found = Some(head);
                    }
                }
                step
            })?;
            match step {
                Step::Leaf => {
                    let there = match found {
                        Some(head) => self.version_for(p, index, s, at, head, key, row)?,
                        None => false,
                    };
                    // The row may have been purged, also before this read began (R13).
                    return if !there && purged > s.scn { Err(self.txns.rows_too_old()) } else { Ok(there) };
                }
                Step::Child(next, _) | Step::Right(next) if !next.is_none() => at = next,
                Step::Lost => at = index.root,
                Step::Foreign => return Err(Ora::new(8103)),
                _ => return Err(damaged(index, at)),
            }
        }
        Err(damaged(index, at))
    }

    /// The newest undo record of a row that is now what it was as of `seen`, because it was only locked since. In a
    /// serializable transaction a row that was changed and changed back counts as changed.
    fn unchanged_since(&self, p: &Process, index: &Index, key: &[u8], seen: &Snapshot) -> Result<Option<Uba>> {
        let found = self.at_leaf(p, index, key, GetKind::Current, &mut |node| row_at(node, key))?;
        let Some((head, now)) = found else { return Ok(None) };
        let mut version = Current { head, key, row: now.clone(), touched: false };
        let there = self.as_of(p, seen, &mut version)?;
        let changed = if seen.serializable { version.touched } else { version.row != now };
        Ok((there && !changed).then_some(head.uba))
    }

    /// ORA_ROWSCN of the row under a key: when the version that `s` sees was committed, or an upper bound; `None` when
    /// there is none, or when it is the snapshot's own transaction's.
    ///
    /// # Errors
    /// As [`Btree::fetch_row`].
    pub fn row_scn(&self, p: &Process, index: &Index, key: &[u8], s: &Snapshot) -> Result<Option<Scn>> {
        let found = self.at_leaf(p, index, key, GetKind::Examination, &mut |node| row_at(node, key))?;
        let Some((head, row)) = found else { return Ok(None) };
        let mut version = Current { head, key, row, touched: false };
        if !self.as_of(p, s, &mut version)? {
            return Ok(None);
        }
        Ok(match self.txns.settled(version.head.maker()) {
            Maker::Transaction(_) => None,
            // Rows loaded when the tree was built have no SCN of their own.
            Maker::Committed(scn) | Maker::Before(scn) => Some(scn.max(index.created)),
        })
    }

    #[allow(clippy::too_many_arguments)]
    fn version_for(
        &self,
        p: &Process,
        index: &Index,
        s: &Snapshot,
        leaf: Rdba,
        head: Head,
        key: &[u8],
        row: &mut Vec<u8>,
    ) -> Result<bool> {
        if self.txns.sight(head.maker(), head.uba, s) == Sight::Visible {
            if self.is_stale(&head, s) {
                self.clean_leaf(p, index, leaf);
            }
            return Ok(!head.is_deleted());
        }
        let mut version = Current { head, key, row: std::mem::take(row), touched: false };
        let seen = self.as_of(p, s, &mut version)?;
        *row = version.row;
        Ok(seen)
    }

    /// True when a row still names a transaction that has ended.
    pub(crate) fn is_stale(&self, head: &Head, s: &Snapshot) -> bool {
        matches!(head.maker(), Maker::Transaction(xid) if s.xid != Some(xid))
    }

    /// Turns a version of a row into the one that `s` sees; false when `s` sees none.
    pub(crate) fn as_of(&self, p: &Process, s: &Snapshot, version: &mut Current<'_>) -> Result<bool> {
        let mut bytes = Vec::new();
        loop {
            let head = version.head;
            let too_old = || self.txns.version_too_old(p, head.maker(), head.uba);
            let sight = match self.txns.sight(head.maker(), head.uba, s) {
                Sight::Unknown => self.txns.sight_by_undo(p, head.maker(), head.uba, s)?,
                known => known,
            };
            match sight {
                Sight::Visible => return Ok(!head.is_deleted()),
                Sight::Unsettled => {
                    self.txns.let_settle(p)?;
                    continue;
                }
                Sight::Unknown => return Err(too_old()),
                Sight::Invisible => {}
            }
            let rec = self.txns.undo_of_version(p, head.maker(), head.uba, &mut bytes)?;
            if rec.layer != Layer::Index {
                return Err(too_old());
            }
            let before = Before::read(rec.op, rec.data).map_err(|_| too_old())?;
            if before.key != version.key {
                return Err(too_old());
            }
            let Some((older, patch)) = before.version else {
                version.touched = true;
                return Ok(false);
            };
            let same = older.is_deleted() == head.is_deleted() && patch.is_identity(version.row.len());
            version.touched |= !same;
            version.row = patch.apply(&version.row).ok_or_else(too_old)?;
            version.head = older;
        }
    }

    /// Delayed block cleanout: replaces transactions that have ended by their commit SCNs. It only speeds up later
    /// readers, so errors are ignored.
    pub(crate) fn clean_leaf(&self, p: &Process, index: &Index, at: Rdba) {
        let _ = self.cache().in_group(p, &self.scn(), &mut |g| {
            let b = g.current(at)?;
            let view = g.block(b);
            let node = Node::new(view);
            if view.obj() != index.object || !node.is_leaf() {
                return Ok(());
            }
            let mut data = Vec::new();
            for (i, head) in (0..node.entries()).filter_map(|i| Some((i, node.head(i)?))) {
                let settled = self.txns.settled(head.maker());
                if settled != head.maker() {
                    let clean = head.made_by(settled);
                    data.extend_from_slice(&(i as u16 + 1).to_le_bytes());
                    data.push(clean.flags);
                    data.extend_from_slice(&clean.word.to_le_bytes());
                }
            }
            if data.is_empty() { Ok(()) } else { g.change(b, Layer::Index, op::CLEAN, &data) }
        });
    }

    /// Adds a row without undo, to a table that no other session can see yet. Rows in ascending order fill the blocks
    /// completely.
    ///
    /// # Errors
    /// As [`Btree::insert_row`].
    pub fn load_row(&self, p: &Process, index: &Index, key: &[u8], row: &[u8]) -> Result<Inserted> {
        self.check_sizes(key, row)?;
        let entry = flags::ROW | flags::COMMITTED;
        let mut head = Vec::with_capacity(HEAD);
        Head { flags: entry, word: 0, uba: Uba::NONE, len: row.len() as u16 }.push(&mut head);
        let bytes = block::data::ROW_HEADER_BYTES + block::data::SLOT_BYTES + key.len() + HEAD + row.len();
        loop {
            let leaf = self.leaf_for(p, index, Target::At(key))?;
            let tried = self.cache().in_group(p, &self.scn(), &mut |g| {
                let b = pin_for(g, index, leaf, key, 0)?;
                let node = Node::new(g.block(b));
                let i = node.lower_bound(key);
                if node.is_at(i, key) {
                    return Ok(Try::Taken);
                }
                if node.data.free_bytes() < bytes {
                    return Ok(Try::Split);
                }
                g.change(b, Layer::Index, op::INSERT, &ops::insert(i + 1, entry, key.len(), &[key, &head, row]))?;
                Ok(Try::Done)
            })?;
            match tried {
                Try::Split => self.make_room(p, index, key)?,
                Try::Taken => {
                    return Ok(Inserted::Duplicate(Rowid { obj: index.table, rdba: Rdba::NONE, slot: 0 }));
                }
                _ => return Ok(Inserted::Done),
            }
        }
    }
}

/// The row under a key, as stored in its leaf.
fn row_at(node: &Node, key: &[u8]) -> Option<(Head, Vec<u8>)> {
    let i = node.lower_bound(key);
    if node.is_at(i, key) { node.head(i).map(|head| (head, node.row_bytes(i))) } else { None }
}
