//! Block cleanout: the commit SCN of an ended transaction is written into its entry in a block.
//!
//! A commit cleans out the blocks that it has noted, as far as they are in the cache. Any other block is cleaned out by
//! the first reader or writer that finds the entry of an ended transaction in it (delayed cleanout).

use crate::table::Fate;
use crate::undo::op;
use crate::{Transactions, Txn};
use block::{BlockKind, BlockView, Data, itl_flags};
use buffer_cache::{BlockRef, ChangeGroup};
use process::Process;
use redo::Layer;
use types::{Rdba, Result, Scn, Xid};
use wait::Stat;

impl Transactions {
    /// The CLEANOUT vector for entry `n` of transaction `xid`; `None` while it is active.
    pub(crate) fn cleanout_of(&self, n: u8, xid: Xid) -> Option<[u8; 10]> {
        let (flags, scn) = match self.table().fate(xid) {
            Fate::Committed(scn) => (itl_flags::COMMITTED, scn),
            Fate::Before(scn) => (itl_flags::COMMITTED | itl_flags::UPPER_BOUND, scn),
            Fate::Active | Fate::Unsettled => return None,
        };
        Some(cleanout(n, flags, scn))
    }

    /// Cleans out the first changed blocks in the group of the commit's record: as many as are in the cache and not
    /// pinned, up to one that is not; returns how many. A small transaction then needs no group for its cleanout.
    pub(crate) fn clean_out_first(
        &self,
        g: &mut ChangeGroup<'_>,
        xid: Xid,
        changed: &[(Rdba, u8)],
        scn: Scn,
    ) -> Result<usize> {
        /// The undo header and the blocks of the queue of retired blocks are in the group, too.
        const BLOCKS_MAX: usize = 4;
        for (count, (at, n)) in changed.iter().take(BLOCKS_MAX).enumerate() {
            let Some(b) = g.current_if_free(*at)? else { return Ok(count) };
            if !self.is_ours(g, b, xid, *n) {
                return Ok(count);
            }
            g.change(b, Layer::Transaction, op::ITL_CLEANOUT, &cleanout(*n, itl_flags::COMMITTED, scn))?;
        }
        Ok(changed.len().min(BLOCKS_MAX))
    }

    /// Commit-time cleanout of the changed blocks, as far as they are noted and in the cache. Blocks that fail are left
    /// to delayed cleanout.
    ///
    /// The first `cleaned` blocks were cleaned out in the group of the commit's record.
    pub(crate) fn clean_out_changed(&self, p: &Process, xid: Xid, t: &Txn, cleaned: usize, scn: Scn) {
        p.count(Stat::CommitCleanouts, cleaned as u64);
        p.count(Stat::CommitCleanoutsSuccessfullyCompleted, cleaned as u64);
        for (at, n) in &t.changed[cleaned..] {
            p.count(Stat::CommitCleanouts, 1);
            if let Ok(true) = self.clean_out_one(p, xid, *at, *n, scn) {
                p.count(Stat::CommitCleanoutsSuccessfullyCompleted, 1);
            }
        }
    }

    fn clean_out_one(&self, p: &Process, xid: Xid, at: Rdba, n: u8, scn: Scn) -> Result<bool> {
        let mut g = self.cache().group(p);
        let b = g.current(at)?;
        if !self.is_ours(&g, b, xid, n) {
            return Ok(false);
        }
        let data = cleanout(n, itl_flags::COMMITTED, scn);
        g.change(b, Layer::Transaction, op::ITL_CLEANOUT, &data)?;
        g.commit(self.current_scn())?;
        Ok(true)
    }

    /// Whether entry `n` of a pinned block belongs to the transaction and is not cleaned out.
    fn is_ours(&self, g: &ChangeGroup<'_>, b: BlockRef, xid: Xid, n: u8) -> bool {
        let itl = Some(g.block(b)).filter(has_rows).and_then(|view| Data::new(view).itl(n));
        itl.is_some_and(|itl| itl.xid == xid && !itl.is_committed())
    }

    /// Delayed block cleanout: writes the commit SCNs of ended transactions into a block, so that later readers need
    /// not look them up.
    pub(crate) fn clean_out(&self, p: &Process, at: Rdba) -> Result<()> {
        let mut g = self.cache().group(p);
        let b = g.current(at)?;
        // The segment may have been dropped since the read, and the block may have another kind now.
        let view = g.block(b);
        if !has_rows(&view) {
            return Ok(());
        }
        let d = Data::new(view);
        let stale: Vec<_> = (1..=d.itls() as u8)
            .filter_map(|n| Some((n, d.itl(n)?)))
            .filter(|(_, itl)| !itl.is_unused() && !itl.is_committed())
            .filter_map(|(n, itl)| self.cleanout_of(n, itl.xid))
            .collect();
        for data in &stale {
            g.change(b, Layer::Transaction, op::ITL_CLEANOUT, data)?;
        }
        if stale.is_empty() {
            return Ok(());
        }
        p.count(Stat::DeferredCurrentBlockCleanoutApplications, stale.len() as u64);
        g.commit(self.current_scn())?;
        Ok(())
    }
}

/// Whether the block has a list of interested transactions.
pub(crate) fn has_rows(view: &BlockView<'_>) -> bool {
    view.kind().is_some_and(BlockKind::has_rows)
}

fn cleanout(n: u8, flags: u8, scn: Scn) -> [u8; 10] {
    let mut cv = [n; 10];
    cv[1] = flags;
    cv[2..].copy_from_slice(&scn.0.to_le_bytes());
    cv
}
