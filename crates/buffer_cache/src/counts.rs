//! The counts of the cache for the views: I/O by data file and waits by class of block.
//!
//! These are shared words. A process adds to them only after a system call or a sleep, which cost far more. A process
//! that dies between two additions leaves counts that do not quite agree; nothing else depends on them.

use crate::BufferCache;
use crate::figures::{CLASSES, FileIo};
use process::{Process, SegmentStat};
use std::sync::atomic::{AtomicU64, Ordering};

fn add(word: &AtomicU64, n: u64) {
    word.fetch_add(n, Ordering::Relaxed);
}

impl BufferCache {
    pub(crate) fn note_read(&self, file: u32, blocks: u64, ns: u64) {
        let Some(f) = self.file_figures.get(file as usize) else { return };
        add(&f.reads, 1);
        add(&f.read_blocks, blocks);
        add(&f.read_ns, ns);
        if blocks == 1 {
            add(&f.single_reads, 1);
            add(&f.single_ns, ns);
        }
        f.longest_read_ns.fetch_max(ns, Ordering::Relaxed);
        f.note(ns);
    }

    pub(crate) fn note_write(&self, file: u32, blocks: u64, ns: u64) {
        let Some(f) = self.file_figures.get(file as usize) else { return };
        add(&f.writes, 1);
        add(&f.write_blocks, blocks);
        add(&f.write_ns, ns);
        f.longest_write_ns.fetch_max(ns, Ordering::Relaxed);
        f.note(ns);
    }

    pub(crate) fn note_wait(&self, class: u64, ns: u64) {
        let n = (class as usize).clamp(1, CLASSES.len()) - 1;
        add(&self.figures.waits[n], 1);
        add(&self.figures.waited_ns[n], ns);
    }

    /// The I/O of data file `file` so far.
    pub fn file_io(&self, file: u32) -> FileIo {
        let Some(f) = self.file_figures.get(file as usize) else { return FileIo::default() };
        let get = |w: &AtomicU64| w.load(Ordering::Relaxed);
        FileIo {
            reads: get(&f.reads),
            single_reads: get(&f.single_reads),
            read_blocks: get(&f.read_blocks),
            writes: get(&f.writes),
            write_blocks: get(&f.write_blocks),
            read_ns: get(&f.read_ns),
            single_ns: get(&f.single_ns),
            write_ns: get(&f.write_ns),
            last_ns: get(&f.last_ns),
            shortest_ns: Some(get(&f.shortest_ns)).filter(|ns| *ns > 0).map_or(0, |ns| u64::MAX - ns),
            longest_read_ns: get(&f.longest_read_ns),
            longest_write_ns: get(&f.longest_write_ns),
        }
    }

    /// The sums of the reads of all data files so far; the other counts are zero.
    pub fn all_file_io(&self) -> FileIo {
        (0..self.file_figures.len() as u32).map(|file| self.file_io(file)).fold(FileIo::default(), |all, io| FileIo {
            reads: all.reads + io.reads,
            single_reads: all.single_reads + io.single_reads,
            read_blocks: all.read_blocks + io.read_blocks,
            read_ns: all.read_ns + io.read_ns,
            single_ns: all.single_ns + io.single_ns,
            ..all
        })
    }

    /// Waits for buffers by class of block: its name, how many, and their time in nanoseconds.
    pub fn waits_by_class(&self) -> Vec<(&'static str, u64, u64)> {
        let get = |w: &AtomicU64| w.load(Ordering::Relaxed);
        let figures = self.figures.waits.iter().zip(&self.figures.waited_ns);
        CLASSES.iter().zip(figures).map(|(name, (count, ns))| (*name, get(count), get(ns))).collect()
    }
}

impl BufferCache {
    /// Counts for the segment of the block in a buffer.
    #[inline]
    pub(crate) fn note_buffer(&self, p: &Process, buffer: usize, stat: SegmentStat, n: u64) {
        self.segment_statistics.note(p, block::BlockView::of_frame(self.frame(buffer)).obj(), stat, n);
    }
}
