//! Changing the rows of a cluster.

use crate::{Clusters, HashCluster, geometry, rows_of, tags};
use block::{BlockKind, data};
use buffer_cache::{BlockRef, GetKind};
use heap::ops::{self, flags};
use heap::{RowAction, RowOutcome};
use process::Process;
use redo::Layer;
use txn::{Change, ItlGet, LockWait, Snapshot, Txn};
use types::{Ora, Rdba, Result, Rowid, Xid};

/// The result of trying one block for a new row.
enum Try {
    Done(Rowid),
    /// No room; the next overflow block of the chain, if any.
    Full(Rdba),
    WaitItl(Xid),
}

impl Clusters {
    /// Inserts a row (`types::row` bytes) into its key's home block, or into the overflow chain behind it.
    ///
    /// # Errors
    /// ORA-01655 when the tablespace is full.
    pub fn insert(&self, p: &Process, t: &mut Txn, cluster: &HashCluster, row: &[u8]) -> Result<Rowid> {
        self.txns.touch(p, t, cluster.object)?;
        let mut key = Vec::with_capacity(64);
        cluster.key_of(row, &mut key)?;
        let hash = geometry::hash(&key[1..]);
        let longest = data::capacity(self.txns.cache().block_size(), cluster.initrans) / 2;
        let table = cluster.as_table();
        let forward;
        let mut padded = [0; 6];
        let (piece, body): (u8, &[u8]) = if row.len() > longest {
            // All pieces but the head lie in heap blocks (C3).
            forward = self.heap.insert_chain(p, t, &table, row, 0)?.to_bytes();
            (flags::HEAD, &forward)
        } else if row.len() < padded.len() {
            padded[..row.len()].copy_from_slice(row);
            (flags::WHOLE, &padded)
        } else {
            (flags::WHOLE, row)
        };
        let mut at = cluster.home(hash).at;
        loop {
            match self.txns.retrying(p, &mut || self.try_insert(p, t, cluster, at, hash, piece, body))? {
                Try::Done(rowid) => return Ok(rowid),
                Try::WaitItl(holder) => self.txns.wait_for_itl(p, cluster.data_object, holder)?,
                Try::Full(next) if next.is_none() => at = self.add_overflow(p, cluster, at)?,
                Try::Full(next) => at = next,
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn try_insert(
        &self,
        p: &Process,
        t: &mut Txn,
        cluster: &HashCluster,
        at: Rdba,
        hash: u64,
        piece: u8,
        body: &[u8],
    ) -> Result<Try> {
        let mut c = self.txns.change(p, t, 1, 16)?;
        let b = c.current(at)?;
        check_block(&c, b, cluster)?;
        let itl = match c.itl(b)? {
            ItlGet::Got(itl) => itl,
            ItlGet::Full(holder) => return Ok(Try::WaitItl(holder)),
        };
        let Some(slot) = place(&c, b, itl, body.len()) else { return Ok(Try::Full(c.data(b).next())) };
        let mut cv = Vec::with_capacity(body.len() + 8);
        ops::encode_put(&mut cv, slot, piece, itl, geometry::tag(hash), body);
        let mut undo = Vec::with_capacity(8);
        let undo_op = ops::undo_of(&c.data(b), slot, itl, &mut undo);
        c.change(b, itl, cluster.object, Layer::Cluster, (ops::PUT, &cv), (undo_op, &undo))?;
        c.commit()?;
        Ok(Try::Done(Rowid { obj: cluster.data_object, rdba: at, slot }))
    }

    /// Appends a new block to an overflow chain, unless another process has done so meanwhile. Returns the block behind
    /// `at`. No block leaves a chain, so a row's head stays reachable from its home block (C2).
    fn add_overflow(&self, p: &Process, cluster: &HashCluster, at: Rdba) -> Result<Rdba> {
        let cache = self.txns.cache();
        let behind = cache.read(p, at, GetKind::Current, &mut |v| block::Data::new(*v).next())?;
        if !behind.is_none() {
            return Ok(behind);
        }
        cache.in_group(p, &|| self.txns.current_scn(), &mut |g| {
            let b = g.current(at)?;
            let next = block::Data::new(g.block(b)).next();
            if !next.is_none() {
                return Ok(next);
            }
            let (new, map) = self.txns.space().allocate(g, cluster.header)?;
            g.format(new, BlockKind::Cluster, cluster.data_object, map, cluster.initrans)?;
            g.change(b, Layer::Cluster, tags::LINK, &new.0.to_le_bytes())?;
            Ok(new)
        })
    }

    /// Replaces a row found through `seen`; its key stays (a changed key is a delete and an insert, by the caller).
    ///
    /// # Errors
    /// As [`heap::Heap::update`].
    #[allow(clippy::too_many_arguments)]
    pub fn update(
        &self,
        p: &Process,
        t: &mut Txn,
        cluster: &HashCluster,
        rowid: Rowid,
        row: &[u8],
        seen: &Snapshot,
        wait: LockWait,
    ) -> Result<RowOutcome> {
        self.heap.change_row(p, t, &rows_of(&cluster.as_table()), rowid, RowAction::Update(row), seen, wait)
    }

    /// Deletes a row found through `seen`. As [`Clusters::update`].
    pub fn delete(
        &self,
        p: &Process,
        t: &mut Txn,
        cluster: &HashCluster,
        rowid: Rowid,
        seen: &Snapshot,
        wait: LockWait,
    ) -> Result<RowOutcome> {
        self.heap.change_row(p, t, &rows_of(&cluster.as_table()), rowid, RowAction::Delete, seen, wait)
    }

    /// Locks a row found through `seen` (SELECT FOR UPDATE). As [`Clusters::update`].
    pub fn lock_row(
        &self,
        p: &Process,
        t: &mut Txn,
        cluster: &HashCluster,
        rowid: Rowid,
        seen: &Snapshot,
        wait: LockWait,
    ) -> Result<RowOutcome> {
        self.heap.change_row(p, t, &rows_of(&cluster.as_table()), rowid, RowAction::Lock, seen, wait)
    }
}

fn check_block(c: &Change<'_>, b: BlockRef, cluster: &HashCluster) -> Result<()> {
    let view = c.data(b).view;
    if view.kind() == Some(BlockKind::Cluster) && view.obj() == cluster.data_object {
        return Ok(());
    }
    Err(Ora::new(8103))
}

/// A directory entry for a row of `body` bytes, with room for its tag. Entry 0 is the tag array.
fn place(c: &Change<'_>, b: BlockRef, itl: u8, body: usize) -> Option<u16> {
    let d = c.data(b);
    if d.slots() == 0 {
        let room = tags::growth(&d, 1) + body + ops::ROW_OVERHEAD;
        return (d.usable_bytes(0) >= room).then_some(1);
    }
    match heap::place(c, b, itl, body, 0) {
        heap::Place::Full => None,
        heap::Place::Slot(slot) => {
            let more = tags::growth(&d, slot);
            // The growth of the tag array outlives a rollback, as a directory entry does (C6).
            let fits = more == 0
                || (d.usable_bytes(0) >= more + data::SLOT_BYTES
                    && d.usable_bytes(itl) >= more + body + ops::ROW_OVERHEAD);
            fits.then_some(slot)
        }
    }
}
