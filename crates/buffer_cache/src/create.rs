//! Creation of the cache, and its registration with the processes.

use crate::cache::{BufferCache, CacheLayout, PostWriter};
use crate::config::{CacheConfig, MULTIBLOCK_MAX};
use datafile::DataFiles;
use latch::{Generation, LatchName};
use process::{CleanupOrder, LatchSet, Processes, SegmentStatistics};
use redo::{ApplyTable, RedoSink};
use sga::Sga;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock};

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
            design: &sga.slice(layout.design)[0],
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
            async_writer: Mutex::new(None),
        };
        cache.design.format(config.design as u8);
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
}
