//! The cache: the places of its areas, and the handle that every process inherits.

use crate::area::ProcessArea;
use crate::config::{CacheConfig, ChainDesign, GROUP_BLOCKS_MAX};
use crate::figures::{CacheFigures, FileFigures};
use crate::header::BufferHeader;
use crate::set::WorkingSet;
use datafile::DataFiles;
use latch::{DesignWord, InForce, Latch};
use process::{Process, SegmentStatistics, SegmentStatisticsLayout};
use redo::{ApplyTable, RedoSink};
use sga::{SgaBuilder, SgaSlice};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock};

/// The purpose of a read: it determines the statistics and the latch gets of the historical designs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GetKind {
    /// `db block gets`: the newest version, for a change or where no consistency is needed.
    Current,
    /// `consistent gets`: two latch gets in the historical designs (pin, unpin).
    Consistent,
    /// `consistent gets - examination`: a short look, one latch get in the historical designs.
    Examination,
}

/// The places of the cache's areas in the SGA.
#[derive(Clone, Copy, Debug)]
pub struct CacheLayout {
    pub(crate) design: SgaSlice<DesignWord>,
    pub(crate) headers: SgaSlice<BufferHeader>,
    pub(crate) chains: SgaSlice<AtomicU64>,
    pub(crate) latches: SgaSlice<Latch>,
    pub(crate) frames: SgaSlice<AtomicU64>,
    pub(crate) sets: SgaSlice<WorkingSet>,
    pub(crate) set_latches: SgaSlice<Latch>,
    pub(crate) areas: SgaSlice<ProcessArea>,
    pub(crate) images: SgaSlice<AtomicU64>,
    pub(crate) figures: SgaSlice<CacheFigures>,
    pub(crate) file_figures: SgaSlice<FileFigures>,
    pub(crate) segment_statistics: SegmentStatisticsLayout,
    pub(crate) advice: cache_advice::ReuseLayout,
}

impl CacheLayout {
    /// Reserves the cache's areas.
    ///
    /// # Panics
    /// When the configuration is invalid: block size, no buffers, more than 65,535 processes.
    pub fn reserve(sga: &mut SgaBuilder, config: &CacheConfig) -> CacheLayout {
        assert!(block::is_block_size(config.block_size), "block size {}", config.block_size);
        assert!(config.buffers >= 32 && config.buffers < u32::MAX as usize / 2, "{} buffers", config.buffers);
        assert!((1..u16::MAX as usize).contains(&config.processes), "{} processes", config.processes);
        let (words, sets) = (config.block_size / 8, config.sets());
        CacheLayout {
            design: sga.reserve("buffer headers", 1),
            headers: sga.reserve("buffer headers", config.buffers),
            chains: sga.reserve("db_block_hash_buckets", config.chains()),
            latches: sga.reserve("cache buffers chains latches", config.latches()),
            frames: sga.reserve("buffer_cache", config.buffers * words),
            sets: sga.reserve("buffer working sets", sets),
            set_latches: sga.reserve("cache buffers lru chain latches", 2 * sets),
            areas: sga.reserve("buffer handles", config.processes),
            images: sga.reserve("change group images", config.processes * GROUP_BLOCKS_MAX * words),
            figures: sga.reserve("buffer wait statistics", 1),
            file_figures: sga.reserve("file I/O statistics", types::Rdba::MAX_FILE as usize + 1),
            segment_statistics: SegmentStatisticsLayout::reserve(sga, config.processes),
            advice: cache_advice::ReuseLayout::reserve(sga, "simulator of the buffer cache", config.processes),
        }
    }
}

/// Asks the DBWn of a working set to write, or all of them; true when there is one.
pub type PostWriter = Box<dyn Fn(&Process, Option<usize>) -> bool + Send + Sync>;

/// The buffer cache. Created by the supervisor and inherited by `fork`.
pub struct BufferCache {
    pub(crate) design: &'static DesignWord,
    pub(crate) block_size: usize,
    pub(crate) chain_shift: u32,
    pub(crate) latch_shift: u32,
    /// The most pins that a process holds between its reads.
    pub(crate) held_pins: usize,
    /// Buffers of a working set; the last one may have fewer.
    pub(crate) set_size: usize,
    pub(crate) headers: &'static [BufferHeader],
    pub(crate) chains: &'static [AtomicU64],
    pub(crate) latches: &'static [Latch],
    pub(crate) frames: &'static [AtomicU64],
    pub(crate) sets: &'static [WorkingSet],
    pub(crate) set_latches: &'static [Latch],
    pub(crate) areas: &'static [ProcessArea],
    pub(crate) images: &'static [AtomicU64],
    pub(crate) figures: &'static CacheFigures,
    pub(crate) file_figures: &'static [FileFigures],
    pub(crate) segment_statistics: SegmentStatistics,
    pub(crate) advice: cache_advice::Reuse,
    pub(crate) files: Arc<DataFiles>,
    pub(crate) apply: ApplyTable,
    pub(crate) redo: Box<dyn RedoSink>,
    pub(crate) post_writer: OnceLock<PostWriter>,
    /// This process's memory for the copies that it writes.
    pub(crate) write_images: Mutex<Option<os::blocks::Blocks>>,
    /// Of a process that writes asynchronously.
    pub(crate) async_writer: Mutex<Option<datafile::AsyncWriter>>,
}

/// Index of a process's part of the cache's areas.
pub(crate) fn slot_of(p: &Process) -> usize {
    p.number() as usize - 1
}

impl BufferCache {
    /// The data files below the cache.
    pub fn files(&self) -> &DataFiles {
        &self.files
    }

    /// The end of the redo that is on disk; 0 when there is none.
    pub fn redo_on_disk(&self) -> u64 {
        if self.redo.wanted() { self.redo.on_disk().0 } else { 0 }
    }

    /// The destination of the cache's redo.
    pub fn redo(&self) -> &dyn RedoSink {
        &*self.redo
    }

    /// Block size in bytes.
    pub fn block_size(&self) -> usize {
        self.block_size
    }

    /// The design in force, with its epoch.
    pub fn in_force(&self) -> InForce {
        self.design.now()
    }

    /// The design of the chains in force.
    #[inline]
    pub fn design(&self) -> ChainDesign {
        ChainDesign::of_code(self.design.now().code())
    }

    /// Number of buffers.
    pub fn buffers(&self) -> usize {
        self.headers.len()
    }

    /// The apply functions by layer.
    pub fn apply_table(&self) -> &ApplyTable {
        &self.apply
    }

    /// The statistics by segment.
    #[inline]
    pub fn segment_statistics(&self) -> &SegmentStatistics {
        &self.segment_statistics
    }

    pub(crate) fn post_writer(&self, p: &Process, set: Option<usize>) -> bool {
        self.post_writer.get().is_some_and(|post| post(p, set))
    }

    pub(crate) fn area(&self, p: &Process) -> &'static ProcessArea {
        &self.areas[slot_of(p)]
    }
}
