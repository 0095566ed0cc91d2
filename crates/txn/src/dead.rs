//! Transactions without a process: rollback after the death of a process or instance.

use crate::Transactions;
use crate::branch_table::{BranchEntry, BranchState, owner_of};
use crate::end::Owner;
use crate::table::{Entry, NO_SESSION, State};
use enqueue::EnqueueType;
use process::Process;
use std::sync::atomic::Ordering;
use types::{Facility, Ora, Result, Xid};
use wait::Stat;

impl Transactions {
    /// Completes or rolls back the transactions of a dead process, by PMON. Returns the number.
    ///
    /// # Errors
    /// As [`Self::recover`], which retries transactions that could not be ended.
    pub fn rollback_dead(&self, p: &Process, dead_slot: u32) -> Result<u32> {
        self.table().clear_snapshots(dead_slot);
        let branches = self.branches_of_dead(dead_slot);
        let ended = self.end_all_of_dead(p, dead_slot);
        self.settle_branches(p, dead_slot, &branches);
        ended
    }

    fn end_all_of_dead(&self, p: &Process, dead_slot: u32) -> Result<u32> {
        let owned = self.table().busy().filter(|(_, owner, ..)| *owner == dead_slot);
        // First of all, because the slot of the process may get another owner after a failure.
        let orphans: Vec<_> = owned.inspect(|(.., state, entry)| entry.disown(*state)).collect();
        self.end_orphans(p, orphans.into_iter())
    }

    /// Rolls back the transactions that were active when the instance stopped, and those that could not be rolled back
    /// when their process died. Returns the number. One process at a time: the supervisor at start and stop, PMON in
    /// between.
    ///
    /// # Errors
    /// The error of the first transaction that cannot be rolled back, because of a missing block: it stays DEAD, with
    /// its locks, and is retried next time. All others have been rolled back.
    pub fn recover(&self, p: &Process) -> Result<u32> {
        self.adopt_prepared(p);
        let orphans = self.table().busy().filter(|(_, owner, ..)| *owner == 0);
        self.end_orphans(p, orphans.filter(|(xid, ..)| !self.waits_for_files(*xid)))
    }

    fn end_orphans(&self, p: &Process, all: impl Iterator<Item = (Xid, u32, State, &'static Entry)>) -> Result<u32> {
        let (mut ended, mut failed) = (0, None);
        for (xid, _, state, entry) in all {
            match self.end_orphan(p, xid, state, entry) {
                Ok(()) => ended += 1,
                Err(e) => failed = failed.or(Some(e.because(not_rolled_back(xid)))),
            }
        }
        failed.map_or(Ok(ended), Err)
    }

    fn end_orphan(&self, p: &Process, xid: Xid, state: State, entry: &'static Entry) -> Result<()> {
        if self.table().group(self.table().group_of(xid.usn)).is_none() {
            // Claimed while its tablespace was being dropped; nothing was written.
            self.table().free(xid);
            return Ok(());
        }
        // Files that come back during this are considered in the next round.
        let returns = self.cache().files().returns();
        let chain = self.chain_on_disk(p, xid)?;
        // A COMMITTING transaction is committed when its process had changed the undo header.
        let committed = match state {
            State::Committed => true,
            State::Committing => self.has_ended_in_header(p, xid)?,
            _ => false,
        };
        if committed {
            entry.settle();
            if let Some(chain) = &chain {
                self.end_in_header(p, xid, chain, entry.commit_scn(), &mut |_| Ok(()))?;
            }
            self.table().free(xid);
            return Ok(());
        }
        if chain.is_some() && self.is_prepared_in_header(p, xid)? {
            entry.own(NO_SESSION);
            return Ok(());
        }
        entry.disown(State::Active);
        self.lose_temporary(xid, None);
        let mut chain = chain.unwrap_or_default();
        p.count(Stat::TransactionRollbacks, u64::from(!chain.newest.is_none()));
        match self.undo_all(p, xid, &mut chain, Owner::Dead)? {
            true => self.end_rolled_back(p, xid, &chain)?,
            false => self.wait_for_files(xid, returns),
        }
        Ok(())
    }

    /// The branches in which a dead process was at work. It owns their transactions now.
    fn branches_of_dead(&self, dead: u32) -> Vec<usize> {
        let is_its = |e: &BranchEntry| owner_of(e.word.load(Ordering::Acquire)) == dead;
        let found: Vec<_> = self.branches().all().filter(|(_, e)| is_its(e)).collect();
        for (_, e) in &found {
            if let Some(xid) = e.xid().filter(|xid| self.table().owner(*xid) == Some(NO_SESSION))
                && let Some(entry) = self.table().entry(xid)
            {
                entry.own(dead);
            }
        }
        found.into_iter().map(|(n, _)| n).collect()
    }

    /// Settles those branches, after their transactions have ended or were found prepared.
    fn settle_branches(&self, p: &Process, dead: u32, all: &[usize]) {
        for n in all {
            let entry = self.branches().at(*n);
            let Some(holder) = self.enqueues().holder(*n) else { continue };
            self.table().release_branch(*n);
            let prepared = entry.xid().filter(|xid| self.table().owner(*xid) == Some(NO_SESSION));
            if prepared.is_some() {
                for kind in [EnqueueType::Tx, EnqueueType::Tm] {
                    self.enqueues().hand_over(p, dead, holder, kind);
                }
                entry.set(0, BranchState::Prepared);
            } else {
                self.enqueues().release_all(p, holder);
                entry.free();
            }
        }
    }
}

fn not_rolled_back(xid: Xid) -> Ora {
    Ora::from_text(
        Facility::Ora,
        1578,
        format!("transaction {xid} cannot be rolled back; what it changed stays locked"),
    )
}
