//! The row cache: dictionary rows in shared memory, found by cache and key, until the dictionary changes.
//!
//! Keys and values are bytes; the crate does not know the dictionary or SQL. `README.md` has the invariants and the
//! lock order, `layout` the structure of an object, `get` the four designs of a lookup, `load` the work of a miss,
//! `chain` the changes of chains, and `commit` the proof that no row from before or after the reader's snapshot is
//! returned.
#![deny(unsafe_code)] // allowed only for the layouts in shared memory

mod caches;
mod chain;
mod commit;
mod get;
mod key;
mod layout;
mod load;
mod long;
mod switch;
mod view;

use std::sync::atomic::{AtomicU64, Ordering};

use latch::{DesignWord, Generation, InForce, Latch, LatchName, Structure};
use process::{LatchSet, Process, Processes};
use sga::{SgaBuilder, SgaSlice};

pub use caches::{Cache, Rank};
pub use commit::{CacheSet, Changed};
pub use key::Key;
pub use layout::{BODY_BYTES, CacheLine, KEY_BYTES_MAX, RowBucket, RowControl, RowObject, RowProcess, RowValue};
pub use load::{Found, Load};
pub use long::LONG_BYTES_MAX;
pub use view::{CacheRow, ObjectRow};

types::numbered! {
    /// The protection of a lookup; see the table in module `get`.
    #[derive(Debug, PartialEq, Eq)]
    pub enum Design: u8 {
        /// Up to 12.1: a child latch for each cache, got three times.
        Latch = 0,
        /// 12.2: a mutex in each bucket and each object.
        Mutex = 1,
        /// 12.2 with its later correction: [`Design::Mutex`] with copies of hot objects.
        HotCopies = 2,
        /// Latchwork: no shared write.
        Versioned = 3,
    }
}

/// Sizes and settings, fixed at start-up.
#[derive(Clone, Debug)]
pub struct Config {
    /// The number of objects.
    pub objects: usize,
    pub design: Design,
    /// Process slots of the instance.
    pub processes: usize,
    /// Sleeps for an object and its bucket from which on the object is hot.
    pub hot_copy_sleep_limit: u64,
    /// Copies of a hot object; sessions are spread over them.
    pub hot_copies: u8,
    pub generation: Generation,
}

/// Where the row cache lies in the SGA.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    control: SgaSlice<RowControl>,
    caches: SgaSlice<CacheLine>,
    latches: SgaSlice<Latch>,
    objects: SgaSlice<RowObject>,
    buckets: SgaSlice<RowBucket>,
    processes: SgaSlice<RowProcess>,
}

impl Layout {
    /// Reserves the areas.
    pub fn reserve(builder: &mut SgaBuilder, config: &Config) -> Layout {
        let buckets = Cache::all().map(|cache| cache.buckets() as usize).sum();
        Layout {
            control: builder.reserve("row cache: fixed", 1),
            caches: builder.reserve("row cache: fixed", Cache::COUNT),
            latches: builder.reserve("row cache: latches", Cache::COUNT),
            objects: builder.reserve("row cache: objects", config.objects),
            buckets: builder.reserve("row cache: hash table", buckets),
            processes: builder.reserve("row cache: state objects", config.processes),
        }
    }
}

/// The row cache: one process's view of the shared structure.
pub struct RowCache {
    /// The word of the design in force.
    design: &'static DesignWord,
    /// `row cache objects`: one child for each cache.
    latches: &'static [Latch],
    /// `shared pool`: the free list.
    pool: &'static Latch,
    control: &'static RowControl,
    caches: &'static [CacheLine],
    objects: &'static [RowObject],
    buckets: &'static [RowBucket],
    /// For every cache, its first bucket and the mask of its hash values.
    chains: [(u32, u32); Cache::COUNT],
    processes: &'static [RowProcess],
    hot_copy_sleep_limit: u64,
    hot_copies: u8,
}

impl RowCache {
    /// Formats the areas; run once, before the first process is forked.
    pub fn create(all: &'static Processes, layout: &Layout, config: &Config) -> RowCache {
        let sga = all.sga();
        let latches = sga.slice(layout.latches);
        for (latch, cache) in latches.iter().zip(Cache::all()) {
            latch.format(LatchName::RowCacheObjects, cache.latch_number(), config.generation);
        }
        all.register_children(LatchName::RowCacheObjects, LatchSet::Plain(latches));
        let mut chains = [(0, 0); Cache::COUNT];
        let mut first = 0;
        for (place, cache) in chains.iter_mut().zip(Cache::all()) {
            *place = (first, cache.buckets() - 1);
            first += cache.buckets();
        }
        let design = all.domain().design(Structure::RowCache);
        design.format(config.design as u8);
        let cache = RowCache {
            design,
            latches,
            pool: all.latch(LatchName::SharedPool),
            control: &sga.slice(layout.control)[0],
            caches: sga.slice(layout.caches),
            objects: sga.slice(layout.objects),
            buckets: sga.slice(layout.buckets),
            chains,
            processes: sga.slice(layout.processes),
            hot_copy_sleep_limit: config.hot_copy_sleep_limit,
            hot_copies: config.hot_copies.max(1),
        };
        cache.prepare(config.design);
        cache
    }

    /// The design in force, with its epoch.
    pub fn in_force(&self) -> InForce {
        self.design.now()
    }

    /// The design in force.
    #[inline]
    pub fn design(&self) -> Design {
        Design::from_code(self.design.now().code()).unwrap_or(Design::Versioned)
    }

    /// The child latch of a cache.
    pub fn latch(&self, cache: Cache) -> &'static Latch {
        &self.latches[cache as usize]
    }

    fn line(&self, p: &Process) -> &'static RowProcess {
        &self.processes[p.number() as usize - 1]
    }

    /// The state of a cache. If it is equal at two moments, and [`RowCache::is_settled`], nothing in the cache changed
    /// between them.
    #[inline]
    pub fn state(&self, cache: Cache) -> u64 {
        // Pairs with the Release of the sections in `commit`: a reader of a state sees what was committed before it.
        self.caches[cache as usize].state.load(Ordering::Acquire)
    }

    /// Whether no commit that changes the cache was in progress at that state.
    #[inline]
    pub fn is_settled(state: u64) -> bool {
        state & layout::PENDING == 0
    }

    /// A count that is equal at two moments when no cache was closed as a whole between them, by a commit without keys
    /// or a flush.
    #[inline]
    pub fn closings(&self) -> u64 {
        // Acquire as in [`RowCache::state`].
        self.control.closings.load(Ordering::Acquire)
    }
}

/// Adds to a count in the process's own line.
#[inline]
fn add(figure: &AtomicU64, more: u64) {
    figure.store(figure.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
}
