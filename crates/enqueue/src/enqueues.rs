//! The enqueues of an instance: the arrays in the SGA, and the ways from one to the other.

use crate::EnqueueType;
use crate::free::Slots;
use crate::slots::{Chain, Graph, Lock, Owner, Resource, TypeCount};
use latch::{Latch, Where};
use process::{Process, Processes, Section};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
/// How long a request may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeout {
    /// NOWAIT: ORA-00054 at once.
    NoWait,
    /// WAIT: ORA-30006 after this time.
    After(Duration),
    /// Without limit.
    Never,
}

/// A lock that a process owns. It is not released by dropping this: locks outlive calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "the lock is kept until it is released"]
pub struct LockId(pub(crate) u32);

/// The enqueues of an instance.
#[derive(Clone, Copy, Debug)]
pub struct Enqueues {
    pub(crate) all: &'static Processes,
    pub(crate) resources: Slots<Resource>,
    pub(crate) locks: Slots<Lock>,
    pub(crate) chains: &'static [Chain],
    /// By chain.
    pub(crate) latches: &'static [Latch],
    /// By process; the holders follow the processes.
    pub(crate) owners: &'static [Owner],
    /// The index of the first holder in `owners`.
    pub(crate) first_holder: u32,
    /// By process and type.
    pub(crate) counts: &'static [TypeCount],
    /// The last deadlocks, each kept for the process that found it (invariant 10).
    pub(crate) graphs: &'static [Graph],
}

impl Enqueues {
    pub(crate) fn resource_of_own(&self, p: &Process, lock: LockId) -> &'static Resource {
        let slot = self.lock(lock.0);
        assert_eq!(slot.process.load(Ordering::Relaxed), p.number(), "a lock is released and converted by its owner");
        self.resource(slot.resource.load(Ordering::Relaxed))
    }

    pub(crate) fn lock_chain<'a>(&self, p: &'a Process, resource: &Resource, at: Where) -> Section<'a> {
        let chain = self.chain_of(resource.kind(), resource.id1(), resource.id2());
        p.lock(&self.latches[chain], at, resource.id1())
    }

    pub(crate) fn chain_of(&self, kind: EnqueueType, id1: u64, id2: u64) -> usize {
        let mixed = (u64::from(kind.code()) << 32 ^ id1 ^ id2.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 40) as usize & (self.chains.len() - 1)
    }

    pub(crate) fn post(&self, numbers: &[u32]) {
        numbers.iter().for_each(|n| self.all.post(*n));
    }

    /// The resource of a lock that is owned or requested.
    pub(crate) fn resource_of(&self, lock: u32) -> &'static Resource {
        self.resource(self.lock(lock).resource.load(Ordering::Relaxed))
    }

    /// The lock with a number from a list.
    pub(crate) fn lock(&self, n: u32) -> &'static Lock {
        self.locks.slot(n)
    }

    /// The resource with a number from a list.
    pub(crate) fn resource(&self, n: u32) -> &'static Resource {
        self.resources.slot(n)
    }

    /// The lock with a number that was read without the latch.
    pub(crate) fn valid_lock(&self, n: &AtomicU32) -> Option<u32> {
        let n = n.load(Ordering::Relaxed);
        (n != 0 && n as usize <= self.locks.all.len()).then_some(n)
    }
}
