//! The buffer cache: blocks of data files in shared memory, and the atomic change of several blocks.
//!
//! A block is found through a hash chain ([`chains`]), read in one of four designs ([`read`]), changed by a change
//! group ([`group`]), replaced by touch count ([`lru`]) and written by DBWn ([`writer`]) in the order of the changes
//! ([`queue`]), each by working set ([`sets`]). [`pins`] has the pins and their cleaning after a death; [`header`] has
//! the table of a buffer's states.
//!
//! The cache knows no undo: the crate above decides which version of a block a query may see.
#![deny(unsafe_code)] // Except the frames, and the layouts of structures in shared memory.

mod advice;
mod apply;
mod chains;
mod config;
mod discard;
mod figures;
#[allow(unsafe_code)] // The frames of the mapping as bytes.
mod frames;
mod group;
mod header;
mod held;
mod lru;
mod pins;
mod queue;
mod read;
mod sets;
mod writer;

pub use advice::{PRESENT as ADVICE_PRESENT, SIZES as ADVICE_SIZES};
pub use apply::{format_vector, is_whole, is_zeros, op, register};
pub use config::{CacheConfig, ChainDesign, GROUP_BLOCKS_MAX};
pub use figures::{CLASSES, FileIo, MULTIBLOCK_MAX};
pub use group::{BlockRef, ChangeGroup, is_retry};
pub use header::BufferInfo;
pub use pins::WRITES_MAX;
pub use read::{Ahead, PREFETCH_BLOCKS, Stamp};
pub use sets::{SetInfo, Share};
pub use writer::Checkpoint;

use datafile::DataFiles;
use figures::{CacheFigures, FileFigures};
use header::{BufferHeader, DIRTY, READING};
use latch::{Generation, Latch, LatchName};
use pins::ProcessArea;
use process::{CleanupOrder, LatchSet, Process, Processes, SegmentStat, SegmentStatistics, SegmentStatisticsLayout};
use redo::{ApplyTable, RedoSink};
use sets::WorkingSet;
use sga::{Sga, SgaBuilder, SgaSlice};
use std::sync::atomic::{AtomicU64, Ordering};
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
    headers: SgaSlice<BufferHeader>,
    chains: SgaSlice<AtomicU64>,
    latches: SgaSlice<Latch>,
    frames: SgaSlice<AtomicU64>,
    sets: SgaSlice<WorkingSet>,
    set_latches: SgaSlice<Latch>,
    areas: SgaSlice<ProcessArea>,
    images: SgaSlice<AtomicU64>,
    figures: SgaSlice<CacheFigures>,
    file_figures: SgaSlice<FileFigures>,
    segment_statistics: SegmentStatisticsLayout,
    advice: cache_advice::ReuseLayout,
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
    design: ChainDesign,
    block_size: usize,
    chain_shift: u32,
    latch_shift: u32,
    /// The most pins that a process holds between its reads.
    held_pins: usize,
    /// Buffers of a working set; the last one may have fewer.
    set_size: usize,
    headers: &'static [BufferHeader],
    chains: &'static [AtomicU64],
    latches: &'static [Latch],
    frames: &'static [AtomicU64],
    sets: &'static [WorkingSet],
    set_latches: &'static [Latch],
    areas: &'static [ProcessArea],
    images: &'static [AtomicU64],
    figures: &'static CacheFigures,
    file_figures: &'static [FileFigures],
    segment_statistics: SegmentStatistics,
    advice: cache_advice::Reuse,
    files: Arc<DataFiles>,
    apply: ApplyTable,
    redo: Box<dyn RedoSink>,
    post_writer: OnceLock<PostWriter>,
    /// This process's memory for the copies that it writes.
    write_images: Mutex<Option<block::Image>>,
}

/// Index of a process's part of the cache's areas.
pub(crate) fn slot_of(p: &Process) -> usize {
    p.number() as usize - 1
}

impl BufferCache {
    /// Formats the cache. Run once, before any other process exists. `apply` contains all layers, including those of
    /// [`register`].
    pub fn create(
        sga: &'static Sga,
        layout: &CacheLayout,
        config: &CacheConfig,
        files: Arc<DataFiles>,
        apply: ApplyTable,
        redo: Box<dyn RedoSink>,
    ) -> BufferCache {
        assert_eq!(files.block_size(), config.block_size, "the cache has the block size of the database");
        let cache = BufferCache {
            design: config.design,
            block_size: config.block_size,
            chain_shift: 64 - config.chains().trailing_zeros(),
            latch_shift: (config.chains() / config.latches()).trailing_zeros(),
            held_pins: config.held_pins(),
            set_size: config.set_size(),
            headers: sga.slice(layout.headers),
            chains: sga.slice(layout.chains),
            latches: sga.slice(layout.latches),
            frames: sga.slice(layout.frames),
            sets: sga.slice(layout.sets),
            set_latches: sga.slice(layout.set_latches),
            areas: sga.slice(layout.areas),
            images: sga.slice(layout.images),
            figures: &sga.slice(layout.figures)[0],
            file_figures: sga.slice(layout.file_figures),
            segment_statistics: SegmentStatistics::new(sga, &layout.segment_statistics),
            advice: cache_advice::Reuse::create(sga, &layout.advice),
            files,
            apply,
            redo,
            post_writer: OnceLock::new(),
            write_images: Mutex::new(None),
        };
        cache.figures.multiblock.store(MULTIBLOCK_MAX as u64, Ordering::Relaxed);
        cache.format_sets();
        cache.format_latches(config.generation);
        cache
    }

    fn format_latches(&self, generation: Generation) {
        let sets = self.sets.len();
        let (lru, queue) = self.set_latches.split_at(sets);
        let all = [
            (LatchName::CacheBuffersChains, self.latches),
            (LatchName::CacheBuffersLruChain, lru),
            (LatchName::CheckpointQueue, queue),
        ];
        for (name, latches) in all {
            latches.iter().zip(1..).for_each(|(latch, child)| latch.format(name, child, generation));
        }
    }

    /// Registers the cache's latches and the hook for the death of a process. Run once, by the supervisor, before it
    /// forks.
    pub fn register_with(self: &Arc<Self>, all: &Processes) {
        let (lru, queue) = self.set_latches.split_at(self.sets.len());
        all.register_children(LatchName::CacheBuffersChains, LatchSet::Plain(self.latches));
        all.register_children(LatchName::CacheBuffersLruChain, LatchSet::Plain(lru));
        all.register_children(LatchName::CheckpointQueue, LatchSet::Plain(queue));
        let cache = Arc::clone(self);
        all.on_death(CleanupOrder::Pins, "buffer pins", move |p, dead| cache.clean_up(p, dead));
        let cache = Arc::clone(self);
        all.on_leave(move |p| {
            cache.end_call(p);
            cache.segment_statistics.leave(p.number());
        });
    }

    /// Sets the function that asks a DBWn for free buffers. Without it, a process that needs a buffer writes dirty ones
    /// itself.
    pub fn set_writer(&self, post: PostWriter) {
        let _ = self.post_writer.set(post);
    }

    fn post_writer(&self, p: &Process, set: Option<usize>) -> bool {
        self.post_writer.get().is_some_and(|post| post(p, set))
    }

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

    /// The design of the chains.
    pub fn design(&self) -> ChainDesign {
        self.design
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

    /// Counts for the segment of the block in a buffer.
    #[inline]
    pub(crate) fn note_buffer(&self, p: &Process, buffer: usize, stat: SegmentStat, n: u64) {
        self.segment_statistics.note(p, block::BlockView::of_frame(self.frame(buffer)).obj(), stat, n);
    }

    /// State of buffer `number`, as `v$bh` shows it: read without a latch, so the parts may be of different moments.
    pub fn info(&self, number: usize) -> Option<BufferInfo> {
        let h = self.headers.get(number)?;
        if !self.is_used(number) {
            return Some(self.unused_info(number, h));
        }
        let (at, state, view) = (h.block(), h.state(), block::BlockView::of_frame(self.frame(number)));
        let status = if at.is_none() {
            "free"
        } else if state.is(READING) {
            "read"
        } else {
            "xcur"
        };
        let (touch, place) = (h.touch.load(Ordering::Relaxed), lru::place_of(h));
        Some(BufferInfo {
            number,
            block: (!at.is_none()).then_some(at),
            obj: view.obj(),
            kind: view.kind(),
            status,
            dirty: state.is(DIRTY),
            shared_pins: state.shared(),
            owner: state.owner(),
            touches: touch & 0xFFFF_FFFF,
            touched_s: touch >> 32,
            hot: place == lru::HOT,
            to_be_written: place == lru::WRITE_LIST,
            queued: state.is(DIRTY),
            set: self.set_of(number),
            class: self.class_number(h),
            address: std::ptr::from_ref(h).addr() as u64,
            frame_address: self.frame(number).as_ptr().addr() as u64,
            latch_address: self.latch_of(number, at).address(),
        })
    }

    /// The data of a buffer that was never used, without reading its header.
    fn unused_info(&self, number: usize, h: &BufferHeader) -> BufferInfo {
        BufferInfo {
            number,
            block: None,
            obj: types::ObjectId(0),
            kind: None,
            status: "free",
            dirty: false,
            shared_pins: 0,
            owner: None,
            touches: 0,
            touched_s: 0,
            hot: false,
            to_be_written: false,
            queued: false,
            set: self.set_of(number),
            class: 1,
            address: std::ptr::from_ref(h).addr() as u64,
            frame_address: self.frame(number).as_ptr().addr() as u64,
            latch_address: self.latch_of(number, types::Rdba(0)).address(),
        }
    }

    /// The object of a block in the cache, read without a latch and so possibly outdated.
    pub fn object_of(&self, at: types::Rdba) -> Option<types::ObjectId> {
        let number = self.find(at)?;
        let h = &self.headers[number];
        let before = h.version.load(Ordering::Acquire); // pairs with the Release that completed the frame
        let object = block::BlockView::of_frame(self.frame(number)).obj();
        std::sync::atomic::fence(Ordering::Acquire); // pairs with the Release fence before a change of the frame
        let is_whole = before.is_multiple_of(2) && h.version.load(Ordering::Relaxed) == before && h.block() == at;
        (is_whole && object.0 != 0).then_some(object)
    }

    /// The process slot that has a block in the cache pinned exclusively, read without a latch and so possibly
    /// outdated.
    pub fn owner_of(&self, at: types::Rdba) -> Option<usize> {
        let h = &self.headers[self.find(at)?];
        let owner = h.state().owner();
        owner.filter(|_| h.block() == at)
    }

    /// Checks chains, lists, pins and every stable frame. Only valid while no other process uses the cache.
    ///
    /// # Errors
    /// A sentence that names the broken rule.
    pub fn assert_invariants(&self) -> Result<(), String> {
        self.check_chains()?;
        self.assert_sets()?;
        for (n, h) in self.used().map(|n| (n, &self.headers[n])) {
            let state = h.state();
            if state.is_pinned() {
                return Err(format!("buffer {n} is pinned: state {:#x}", state.0));
            }
            if h.block().is_none() {
                continue;
            }
            if h.version.load(Ordering::Relaxed) & 1 == 1 {
                return Err(format!("buffer {n} with block {} has an odd version", h.block()));
            }
            let mut image = block::Image::new(self.block_size);
            block::BlockView::of_frame(self.frame(n)).copy_block(image.bytes_mut());
            if image.view().kind() != Some(block::BlockKind::Unformatted) && image.view().rdba() != h.block() {
                return Err(format!("buffer {n} holds {}, header says {}", image.view().rdba(), h.block()));
            }
            block::assert_invariants(image.bytes()).map_err(|e| format!("block {}: {e}", h.block()))?;
        }
        let pinned =
            (0..self.areas.len()).find(|slot| self.areas[*slot].pins().any(|w| w.load(Ordering::Relaxed) != 0));
        pinned.map_or(Ok(()), |slot| Err(format!("process slot {slot} has pins")))
    }
}
