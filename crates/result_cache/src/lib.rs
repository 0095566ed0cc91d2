//! The result cache: rows of queries and of PL/SQL functions, kept in shared memory until what they depend on changes.
//!
//! Keys and rows are bytes and dependencies are object numbers; the crate knows neither SQL nor plans. `README.md` has
//! the invariants and the lock order, `layout` the blocks, `cache` the four designs of a hit, `build` the gets of a
//! miss, and `depend` the proof that no stale and no future row is returned.
#![deny(unsafe_code)] // allowed only for the layouts in shared memory

mod build;
mod cache;
mod depend;
mod key;
mod layout;
mod memory;
mod view;

use std::sync::atomic::{AtomicU64, Ordering};

use latch::{DesignWord, InForce, Latch, LatchName};
use process::{Process, Processes};
use sga::{SgaBuilder, SgaSlice};

pub use build::Build;
pub use cache::{Opened, ResultBuffer};
pub use key::Key;
pub use layout::{
    BLOCK_SIZE_BYTES, BLOCKS_PER_CHUNK, DEPENDENCIES_MAX, KEY_BYTES_MAX, Kind, Namespace, RcBlock, RcControl,
    RcProcess, Statistic, Status,
};
pub use memory::Description;
pub use view::{DependencyRow, MemoryRow, ObjectRow};

types::numbered! {
    /// The protection of a hit; see the table in module `cache`.
    #[derive(Debug, PartialEq, Eq)]
    pub enum Design: u32 {
        /// 11.1: exclusive gets, rows copied under the latch.
        ExclusiveLong = 0,
        /// 11.2.0.1: exclusive gets, held only to find and pin.
        ExclusiveShort = 1,
        /// 11.2.0.3: one shared get.
        Shared = 2,
        /// Latchwork: no shared write.
        Versioned = 3,
    }
}

/// Sizes and settings, fixed at start-up.
#[derive(Clone, Debug)]
pub struct Config {
    /// `result_cache_max_size`, bytes; rounded down to whole chunks of 32 KB. Zero disables the cache.
    pub max_size_bytes: u64,
    /// `result_cache_max_result`: the largest share of one result, in percent of the cache.
    pub max_result_percent: u32,
    /// `_result_cache_timeout`: the time in milliseconds that a session waits for another that builds the same result.
    pub timeout_ms: u64,
    pub design: Design,
    /// Process slots of the instance.
    pub processes: u32,
}

/// Where the result cache lies in the SGA.
pub struct Layout {
    design: SgaSlice<DesignWord>,
    control: SgaSlice<RcControl>,
    blocks: SgaSlice<RcBlock>,
    lives: SgaSlice<layout::RcLife>,
    buckets: SgaSlice<AtomicU64>,
    depends: SgaSlice<layout::DependSlot>,
    processes: SgaSlice<RcProcess>,
}

impl Layout {
    /// Reserves the areas.
    pub fn reserve(builder: &mut SgaBuilder, config: &Config) -> Layout {
        let chunks = (config.max_size_bytes as usize / BLOCK_SIZE_BYTES) / BLOCKS_PER_CHUNK as usize;
        let blocks = chunks * BLOCKS_PER_CHUNK as usize;
        Layout {
            design: builder.reserve("Result Cache: Fixed", 1),
            control: builder.reserve("Result Cache: Fixed", 1),
            blocks: builder.reserve("Result Cache: Blocks", blocks),
            lives: builder.reserve("Result Cache: Chunk Maps", blocks),
            buckets: builder.reserve("Result Cache: Hash Table", blocks.next_power_of_two().max(4096)),
            depends: builder.reserve("Result Cache: Dependencies", layout::DEPEND_SLOTS),
            processes: builder.reserve("Result Cache: State Objs", config.processes as usize),
        }
    }
}

/// The result cache: one process's view of the shared structure.
pub struct ResultCache {
    /// `Result Cache: Latch` (11.1) or `Result Cache: RC Latch` (11.2 on): one parent, no children.
    latch: &'static Latch,
    /// `Result Cache: SO Latch`: the dependency table's `pending` and `last_change`.
    so_latch: &'static Latch,
    /// All designs may run side by side: they read the same structure, and every change is made under the latch.
    design: &'static DesignWord,
    control: &'static RcControl,
    blocks: &'static [RcBlock],
    /// For every block, whether an object begins in it.
    lives: &'static [layout::RcLife],
    buckets: &'static [AtomicU64],
    depends: &'static [layout::DependSlot],
    processes: &'static [RcProcess],
}

impl ResultCache {
    /// Formats the areas; run once, before the first process is forked.
    pub fn create(all: &'static Processes, layout: &Layout, config: &Config) -> ResultCache {
        let sga = all.sga();
        let control = &sga.slice(layout.control)[0];
        let design = &sga.slice(layout.design)[0];
        design.format(config.design as u8);
        control.timeout_ms.store(config.timeout_ms, Ordering::Relaxed);
        let blocks = sga.slice(layout.blocks);
        let most = blocks.len() as u64 * u64::from(config.max_result_percent) / 100;
        control.result_blocks_max.store(most, Ordering::Relaxed);
        ResultCache {
            latch: all.latch(LatchName::ResultCache),
            so_latch: all.latch(LatchName::ResultCacheSo),
            design,
            control,
            blocks,
            lives: sga.slice(layout.lives),
            buckets: sga.slice(layout.buckets),
            depends: sga.slice(layout.depends),
            processes: sga.slice(layout.processes),
        }
    }

    /// The design in force, with its epoch.
    pub fn in_force(&self) -> InForce {
        self.design.now()
    }

    /// The design in force.
    #[inline]
    pub fn design(&self) -> Design {
        Design::from_code(self.design.now().code().into()).unwrap_or(Design::Versioned)
    }

    /// Puts another design into force at once: accesses in progress end by the design that they began with. The caller
    /// keeps other switches out.
    pub fn switch(&self, design: Design) {
        self.design.put(design as u8);
    }

    /// Whether the cache has any memory.
    pub fn is_enabled(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// `DBMS_RESULT_CACHE.BYPASS`: while it is on, statements neither read nor fill the cache.
    pub fn set_bypass(&self, on: bool) {
        self.control.bypass.store(on.into(), Ordering::Release);
    }

    /// `DBMS_RESULT_CACHE.STATUS`.
    pub fn status(&self) -> &'static str {
        match (self.is_enabled(), self.control.bypass.load(Ordering::Relaxed)) {
            (false, _) => "DISABLED",
            (true, 0) => "ENABLED",
            (true, _) => "BYPASS",
        }
    }

    fn line(&self, p: &Process) -> &RcProcess {
        &self.processes[p.number() as usize - 1]
    }

    fn count(&self, p: &Process, what: Statistic) {
        self.add(p, what, 1);
    }

    fn add(&self, p: &Process, what: Statistic, more: u64) {
        let figure = &self.line(p).statistics[what as usize];
        figure.store(figure.load(Ordering::Relaxed) + more, Ordering::Relaxed);
    }

    /// Centiseconds of the monotonic clock.
    fn clock_cs(&self) -> u64 {
        os::clock::coarse_ns() / 10_000_000
    }

    /// Seconds since 1970.
    fn wall_clock_s(&self) -> u64 {
        os::clock::wall_ns() / 1_000_000_000
    }
}
