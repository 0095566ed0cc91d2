//! Locks of owners that are not processes: transactions without a session.
//!
//! A holder owns locks and requests none (invariant 11). One process at a time changes its list of locks; the caller
//! ensures this. Each lock changes its owner under the latch of its chain, so a death between two locks leaves each
//! lock with one of the two owners.

use crate::enqueues::LockId;
use latch::Where;
use process::Process;

use crate::{EnqueueType, Enqueues, LockMode};

/// A lock as seen by its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnedLock {
    pub lock: LockId,
    pub kind: EnqueueType,
    pub id1: u64,
    pub id2: u64,
    pub mode: LockMode,
}

impl Enqueues {
    /// The owner number of holder `n`; `None` beyond the last holder.
    #[must_use]
    pub fn holder(&self, n: usize) -> Option<u32> {
        let number = self.first_holder as usize + n + 1;
        (number <= self.owners.len()).then_some(number as u32)
    }

    /// True when an owner is a holder.
    #[must_use]
    pub fn is_holder(&self, owner: u32) -> bool {
        owner > self.first_holder
    }

    /// The locks of an owner of one type. Only for the process itself, or for a caller with exclusive use of the
    /// holder.
    #[must_use]
    pub fn locks_of(&self, owner: u32, kind: EnqueueType) -> Vec<OwnedLock> {
        let owned = |n: u32| {
            let resource = self.resource_of(n);
            let (id1, id2) = (resource.id1(), resource.id2());
            OwnedLock { lock: LockId(n), kind: resource.kind(), id1, id2, mode: self.lock(n).held() }
        };
        self.own(owner).map(owned).filter(|owned| owned.kind == kind).collect()
    }

    /// Gives all locks of a type to another owner, which has no lock on their resources. Waiters for them continue to
    /// wait. Latches: gets `enqueue hash chains`.
    pub fn hand_over(&self, p: &Process, from: u32, to: u32, kind: EnqueueType) {
        for owned in self.locks_of(from, kind) {
            let LockId(lock) = owned.lock;
            let slot = self.lock(lock);
            let section = self.lock_chain(p, self.resource_of(lock), Where::KsqConvertEnqueue);
            self.unlink_own(&section, lock);
            section.set32(&slot.process, to);
            section.add(&slot.serial, 1);
            self.link_own(&section, lock, to);
        }
    }
}
