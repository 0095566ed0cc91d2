//! Resources and locks in the SGA. Every reference is a number + 1 in the array it points into; 0 is none.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use sga::sga_struct;

use crate::{EnqueueType, LockMode};

sga_struct! {
    /// A doubly linked list of locks.
    #[derive(Debug)]
    pub struct List {
        pub(crate) first: AtomicU32,
        pub(crate) last: AtomicU32,
    }

    /// Something that can be locked. Everything in it changes under the latch of its chain.
    #[derive(Debug)]
    pub struct Resource {
        /// The type + 1; 0 while it is free.
        pub(crate) kind: AtomicU32,
        /// The next of its chain, or of the free list.
        pub(crate) next: AtomicU32,
        pub(crate) id1: AtomicU64,
        pub(crate) id2: AtomicU64,
        /// Locks that are owned and ask for nothing.
        pub(crate) owners: List,
        /// Locks that are owned and ask for another mode, first come first.
        pub(crate) converters: List,
        /// Locks that are not owned yet, first come first.
        pub(crate) waiters: List,
        pub(crate) pad: AtomicU64,
    }

    /// One session's lock on a resource, or request for one: a row of `v$lock`.
    #[derive(Debug)]
    pub struct Lock {
        pub(crate) resource: AtomicU32,
        /// The process; 0 while it is free.
        pub(crate) process: AtomicU32,
        pub(crate) held: AtomicU32,
        pub(crate) requested: AtomicU32,
        /// Links in a list of the resource, or in the free list.
        pub(crate) next: AtomicU32,
        pub(crate) previous: AtomicU32,
        /// Links in the list of the process.
        pub(crate) own_next: AtomicU32,
        pub(crate) own_previous: AtomicU32,
        /// Monotonic nanoseconds when the mode was granted or asked for.
        pub(crate) since_ns: AtomicU64,
        /// Counts the requests made with this slot, so that a walk tells one wait from the next.
        pub(crate) serial: AtomicU64,
    }

    /// What was asked of one type in one chain: `v$enqueue_statistics`.
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
        /// The process that found it and has not asked for it yet; 0 for none.
        pub(crate) finder: AtomicU32,
        pub(crate) count: AtomicU32,
        pub(crate) waits: [GraphWait; 8],
    }

    /// Free resources and locks: under the latch `enqueues`.
    #[derive(Debug)]
    pub struct FreeLists {
        pub(crate) resource: AtomicU32,
        pub(crate) lock: AtomicU32,
        /// Never used so far: above these numbers everything is free and in no list.
        pub(crate) resources_used: AtomicU32,
        pub(crate) locks_used: AtomicU32,
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

    /// Nobody waits for it.
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
