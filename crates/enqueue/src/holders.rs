//! Locks of owners that are no process: those of a transaction that lives without a session.
//!
//! A holder owns locks and asks for none. Its list of locks is changed by one process at a time, which the caller sees
//! to, as the list of a process is changed by that process; each lock changes its owner under the latch of its chain,
//! so a death between two leaves each lock with one of the two owners.

use latch::Where;
use process::Process;

use crate::{EnqueueType, Enqueues, LockId, LockMode};

/// A lock as its owner has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnedLock {
    pub lock: LockId,
    pub kind: EnqueueType,
    pub id1: u64,
    pub id2: u64,
    pub mode: LockMode,
}

impl Enqueues {
    /// The owner number of holder `n`; `None` when there are not so many.
    #[must_use]
    pub fn holder(&self, n: usize) -> Option<u32> {
        let number = self.first_holder as usize + n + 1;
        (number <= self.owners.len()).then_some(number as u32)
    }

    /// Whether an owner is a holder.
    #[must_use]
    pub fn is_holder(&self, owner: u32) -> bool {
        owner > self.first_holder
    }

    /// The locks that an owner has, of one type. For a process itself, or for who has the holder to itself.
    #[must_use]
    pub fn locks_of(&self, owner: u32, kind: EnqueueType) -> Vec<OwnedLock> {
        let owned = |n: u32| {
            let resource = self.resource_of(n);
            let (id1, id2) = (resource.id1(), resource.id2());
            OwnedLock { lock: LockId(n), kind: resource.kind(), id1, id2, mode: self.lock(n).held() }
        };
        self.own(owner).map(owned).filter(|owned| owned.kind == kind).collect()
    }

    /// Gives all locks of a type to another owner, which has none on their resources. Who waits for them goes on
    /// waiting. Latches: gets `enqueue hash chains`.
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
