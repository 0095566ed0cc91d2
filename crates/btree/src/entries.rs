//! Adding entries and marking them deleted.

use crate::node::{Node, ROWID, Target, XID, flags};
use crate::ops::{self, op};
use crate::scan::RangeScan;
use crate::tree::{STEPS_MAX, damaged, pin_for};
use crate::{Btree, Index, key_bytes_max, undo_op};
use buffer_cache::BlockRef;
use process::Process;
use redo::Layer;
use txn::{Change, LockWait, Txn};
use types::{Ora, Rdba, Result, Rowid, Xid};

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
        self.insert_at(p, t, index, key, &index.locator(row), wait)
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
        c.logical_undo(index.object, Layer::Index, index.root, (undo_op::TAKE_OUT, sort_key))?;
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
        c.logical_undo(index.object, Layer::Index, index.root, (undo_op::PUT_BACK, &data))?;
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
                    return Ok(Check::Taken(node.row(i, index.table)));
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
        self.delete_at(p, t, index, key, &index.locator(row))
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
                c.logical_undo(index.object, Layer::Index, index.root, (undo_op::PUT_BACK, &before))?;
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
        self.load_at(p, index, key, &index.locator(row))
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
        let mut scan = RangeScan::new();
        scan.start(index, std::ops::Bound::Included(key), std::ops::Bound::Included(key), false);
        while let Some(entry) = scan.next_entry(self, p)? {
            if entry.locator != locator && !entry.deleted {
                return Ok(Inserted::Duplicate(crate::rowid_of(index, entry.locator)));
            }
        }
        Ok(Inserted::Done)
    }
}

/// True when all entries but number `i` are marked deleted.
fn is_last_live(node: &Node, i: usize) -> bool {
    let n = node.entries();
    let dead = |j: usize| j == i || node.is_deleted(j);
    n > 0 && dead(n - 1) && dead(0) && (1..n - 1).all(dead)
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

fn missing(index: &Index, locator: &[u8]) -> Ora {
    let (rdba, slot) = crate::node::rowid_of(locator);
    let text =
        format!("index key not found, obj# {}, file {}, block {} ({slot})", index.object, rdba.file(), rdba.block(),);
    Ora::from_text(types::Facility::Ora, 8102, text)
}
