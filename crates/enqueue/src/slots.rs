//! Resources and locks in the SGA. Every reference is a number + 1 in the array it points into; 0 is none.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use sga::sga_struct;

use crate::modes::Modes;
use crate::{EnqueueType, LockMode};

sga_struct! {
    /// A doubly linked list of locks.
    #[derive(Debug)]
    pub struct List {
        pub(crate) first: AtomicU32,
        pub(crate) last: AtomicU32,
    }

    /// A resource, on one cache line. All its words change under the latch of its chain.
    #[derive(Debug)]
    pub struct Resource {
        /// The type + 1; 0 while it is free.
        pub(crate) kind: AtomicU32,
        /// The next resource of the chain; when free, the next of the batch.
        pub(crate) next: AtomicU32,
        /// In the first resource of a free batch: see [`Slot::batch`].
        pub(crate) id1: AtomicU64,
        pub(crate) id2: AtomicU64,
        /// Locks that are owned and request no other mode.
        pub(crate) owners: List,
        /// Locks that are owned and request another mode, in the order of the requests.
        pub(crate) converters: List,
        /// Requests of locks that are not owned yet, in order.
        pub(crate) waiters: List,
        /// The number of locks owned in each mode: see [`Modes`].
        pub(crate) modes: AtomicU64,
        pub(crate) pad: AtomicU64,
    }

    /// One session's lock on a resource, or request for one: a row of `v$lock`. On one cache line.
    #[derive(Debug)]
    pub struct Lock {
        pub(crate) resource: AtomicU32,
        /// The process; 0 while it is free.
        pub(crate) process: AtomicU32,
        pub(crate) held: AtomicU32,
        pub(crate) requested: AtomicU32,
        /// Links in a list of the resource; when free, the next of the batch.
        pub(crate) next: AtomicU32,
        pub(crate) previous: AtomicU32,
        /// Links in the list of the process.
        pub(crate) own_next: AtomicU32,
        pub(crate) own_previous: AtomicU32,
        /// Monotonic nanoseconds when the mode was granted or requested. In the first lock of a free batch: see
        /// [`Slot::batch`].
        pub(crate) since_ns: AtomicU64,
        /// Counts the requests made with this slot, so that a search can tell one wait from the next.
        pub(crate) serial: AtomicU64,
        pub(crate) pad: [AtomicU64; 2],
    }

    /// The locks of a process or a holder, on one cache line. Only that process writes it.
    #[derive(Debug)]
    pub struct Owner {
        /// Its first lock.
        pub(crate) first: AtomicU32,
        /// The request that it waits for: at most one, since it sleeps (invariant 8).
        pub(crate) request: AtomicU32,
        pub(crate) pad: [AtomicU64; 7],
    }

    /// The free resources or locks of one chain: a batch in use and a whole one. See the module `free`.
    #[derive(Debug)]
    pub struct Stock {
        /// The batch in use: its first slot in the low half, their number in the high half.
        pub(crate) open: AtomicU64,
        /// The first slot of a whole batch.
        pub(crate) whole: AtomicU32,
        pub(crate) pad: AtomicU32,
    }

    /// A hash chain, on one cache line. Protected by its latch.
    #[derive(Debug)]
    pub struct Chain {
        /// Its first resource.
        pub(crate) first: AtomicU32,
        pub(crate) pad: AtomicU32,
        pub(crate) locks: Stock,
        pub(crate) resources: Stock,
        pub(crate) pads: [AtomicU64; 3],
    }

    /// Free resources or locks that belong to no chain. Protected by the latch `enqueues`.
    #[derive(Debug)]
    pub struct Pool {
        /// The first slot of the first batch.
        pub(crate) batches: AtomicU32,
        /// Slots above this number were never used: they are free and in no batch.
        pub(crate) used: AtomicU32,
        /// The highest number in use that was seen.
        pub(crate) most: AtomicU64,
    }

    /// The pools of the instance.
    #[derive(Debug)]
    pub struct Pools {
        pub(crate) locks: Pool,
        pub(crate) resources: Pool,
    }

    /// The requests of one process for one type: `v$enqueue_statistics`. Written by that process alone.
    #[derive(Debug)]
    pub struct TypeCount {
        pub(crate) requests: AtomicU64,
        pub(crate) waits: AtomicU64,
        pub(crate) failures: AtomicU64,
        pub(crate) waited_ns: AtomicU64,
    }

    /// One wait of a deadlock.
    #[derive(Debug)]
    pub struct GraphWait {
        pub(crate) process: AtomicU32,
        pub(crate) kind: AtomicU32,
        pub(crate) held: AtomicU32,
        pub(crate) requested: AtomicU32,
        pub(crate) id1: AtomicU64,
        pub(crate) id2: AtomicU64,
    }

    /// A deadlock that was found. Written under the parent of the `enqueue hash chains` latches.
    #[derive(Debug)]
    pub struct Graph {
        /// The process that found it and has not taken it yet; 0 for none.
        pub(crate) finder: AtomicU32,
        pub(crate) count: AtomicU32,
        pub(crate) waits: [GraphWait; 8],
    }
}

const _: () = assert!(size_of::<Resource>() == 64 && size_of::<Lock>() == 64, "a line each");
const _: () = assert!(size_of::<Owner>() == 64 && size_of::<Chain>() == 64, "a line each");

/// Access to the links of free slots.
pub(crate) trait Slot {
    /// The next slot of the batch.
    fn next(&self) -> &AtomicU32;

    /// A word that is unused while the slot is free. In the first slot of a batch in the pool, its low half is the
    /// first slot of the next batch, its high half the number of slots in this batch.
    fn batch(&self) -> &AtomicU64;
}

impl Slot for Resource {
    fn next(&self) -> &AtomicU32 {
        &self.next
    }

    fn batch(&self) -> &AtomicU64 {
        &self.id1
    }
}

impl Slot for Lock {
    fn next(&self) -> &AtomicU32 {
        &self.next
    }

    fn batch(&self) -> &AtomicU64 {
        &self.since_ns
    }
}

impl Resource {
    pub(crate) fn kind(&self) -> EnqueueType {
        EnqueueType::from_number(self.kind.load(Ordering::Relaxed).wrapping_sub(1))
    }

    pub(crate) fn id1(&self) -> u64 {
        self.id1.load(Ordering::Relaxed)
    }

    pub(crate) fn id2(&self) -> u64 {
        self.id2.load(Ordering::Relaxed)
    }

    pub(crate) fn is(&self, kind: EnqueueType, id1: u64, id2: u64) -> bool {
        self.kind.load(Ordering::Relaxed) == kind as u32 + 1 && self.id1() == id1 && self.id2() == id2
    }

    /// The modes in which the resource is owned.
    pub(crate) fn modes(&self) -> Modes {
        Modes(self.modes.load(Ordering::Relaxed))
    }

    /// True when no request waits for the resource.
    pub(crate) fn has_no_queue(&self) -> bool {
        self.converters.is_empty() && self.waiters.is_empty()
    }

    pub(crate) fn is_unused(&self) -> bool {
        [&self.owners, &self.converters, &self.waiters].iter().all(|list| list.is_empty())
    }
}

impl List {
    pub(crate) fn is_empty(&self) -> bool {
        self.first.load(Ordering::Relaxed) == 0
    }
}

impl Lock {
    pub(crate) fn held(&self) -> LockMode {
        LockMode::from_number(self.held.load(Ordering::Relaxed))
    }

    pub(crate) fn requested(&self) -> LockMode {
        LockMode::from_number(self.requested.load(Ordering::Relaxed))
    }
}
