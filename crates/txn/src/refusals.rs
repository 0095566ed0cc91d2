//! Refused waits: for transactions that may stay open without limit, and for branches that wait for the own one.

use crate::Transactions;
use crate::branch_table::{BranchEntry, BranchState, is_distributed, owner_of};
use crate::table::NO_SESSION;
use enqueue::EnqueueType;
use process::Process;
use std::sync::atomic::Ordering;
use types::{ObjectId, Ora, Result, Xid};

impl Transactions {
    /// ORA-01591 for a process that would wait for a transaction found prepared at a start.
    pub(crate) fn refuse_in_doubt(&self, holder: Xid) -> Result<()> {
        if self.table().owner(holder) != Some(NO_SESSION) {
            return Ok(());
        }
        let of_it = self.branches().all().find(|(_, e)| e.xid() == Some(holder));
        match of_it {
            Some((_, e)) if e.in_doubt.load(Ordering::Relaxed) != 0 => Err(Ora::with(1591, &[&local_name(holder)])),
            _ => Ok(()),
        }
    }

    /// ORA-01591 where a prepared transaction found at a start has locked the table: the wait could last without limit.
    ///
    /// # Errors
    /// ORA-01591.
    pub fn refuse_table_in_doubt(&self, object: ObjectId) -> Result<()> {
        for (n, e) in self.branches().all().filter(|(_, e)| e.in_doubt.load(Ordering::Relaxed) != 0) {
            let (word, xid) = (e.word.load(Ordering::Acquire), e.xid());
            let Some((holder, xid)) = self.enqueues().holder(n).zip(xid) else { continue };
            let locks = self.enqueues().locks_of(holder, EnqueueType::Tm);
            // A session that ends it changes the word before the locks.
            let is_still = e.word.load(Ordering::SeqCst) == word && BranchState::of(word) == BranchState::Prepared;
            if is_still && locks.iter().any(|lock| lock.id1 == u64::from(object.0)) {
                return Err(Ora::with(1591, &[&local_name(xid)]));
            }
        }
        Ok(())
    }

    /// ORA-00060 for a session in a branch that would wait for another branch of the same global transaction: that
    /// branch ends only after this one votes.
    pub(crate) fn refuse_own_global(&self, p: &Process, holder: Xid) -> Result<()> {
        if !is_distributed(p) {
            return Ok(());
        }
        let own = |e: &BranchEntry| owner_of(e.word.load(Ordering::Acquire)) == p.number();
        let id = self.branches().all().find(|(_, e)| own(e)).and_then(|(_, e)| e.id());
        // Work of the other session outside its branch ends by itself.
        let owner =
            self.table().owner(holder).filter(|_| self.table().entry(holder).is_some_and(|e| !e.is_autonomous()));
        let is_of_holder = |e: &BranchEntry| match owner {
            Some(NO_SESSION) => e.xid() == Some(holder),
            Some(process) => e.state() == BranchState::Attached && owner_of(e.word.load(Ordering::Acquire)) == process,
            None => false,
        };
        let other = self.branches().all().find(|(_, e)| is_of_holder(e)).and_then(|(_, e)| e.id());
        match id.zip(other) {
            Some((a, b)) if a.format == b.format && a.gtrid() == b.gtrid() => Err(Ora::new(60)),
            _ => Ok(()),
        }
    }
}

/// The local number of a transaction: LOCAL_TRAN_ID.
pub(crate) fn local_name(xid: Xid) -> String {
    format!("{}.{}.{}", xid.usn, xid.slot, xid.sqn)
}
