//! The counts of the cache for the views: I/O by data file and waits by class of block.
//!
//! These are shared words. A process adds to them only after a system call or a sleep, which cost far more. A process
//! that dies between two additions leaves counts that do not quite agree; nothing else depends on them.

use crate::BufferCache;
use sga::SgaLayout;
use std::sync::atomic::{AtomicU64, Ordering};

/// Classes of blocks as the wait events and `v$waitstat` number them, from 1.
pub const CLASSES: [&str; 18] = [
    "data block",
    "sort block",
    "save undo block",
    "segment header",
    "save undo header",
    "free list",
    "extent map",
    "1st level bmb",
    "2nd level bmb",
    "3rd level bmb",
    "bitmap block",
    "bitmap index block",
    "file header block",
    "unused",
    "system undo header",
    "system undo block",
    "undo header",
    "undo block",
];

/// The most blocks of one multiblock read.
pub const MULTIBLOCK_MAX: usize = 32;

/// The I/O of one data file.
#[repr(C, align(64))]
pub(crate) struct FileFigures {
    reads: AtomicU64,
    read_blocks: AtomicU64,
    read_ns: AtomicU64,
    single_reads: AtomicU64,
    single_ns: AtomicU64,
    writes: AtomicU64,
    write_blocks: AtomicU64,
    write_ns: AtomicU64,
    last_ns: AtomicU64,
    longest_read_ns: AtomicU64,
    longest_write_ns: AtomicU64,
    shortest_ns: AtomicU64,
    pad: [AtomicU64; 4],
}

// SAFETY: `repr(C)`, atomics only, every bit pattern is valid.
#[allow(unsafe_code)]
unsafe impl SgaLayout for FileFigures {}

/// Waits by class, and the words shared by all processes.
#[repr(C, align(64))]
pub(crate) struct CacheFigures {
    waits: [AtomicU64; CLASSES.len()],
    waited_ns: [AtomicU64; CLASSES.len()],
    /// Blocks of a multiblock read, unless the process has its own value.
    pub(crate) multiblock: AtomicU64,
    /// Process slots below this number have held pins at some time.
    pub(crate) held_slots: AtomicU64,
    /// Writes of buffers that failed, so that the buffers are dirty again.
    pub(crate) failed_writes: AtomicU64,
    /// 1: every buffer has been used.
    pub(crate) all_used: AtomicU64,
    /// DBWn write all changes before this address, for checkpoints in progress.
    pub(crate) write_before: AtomicU64,
}

// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl SgaLayout for CacheFigures {}

/// I/O of a data file since the instance was started. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileIo {
    /// Calls that read, those that read one block among them, and blocks read.
    pub reads: u64,
    /// Calls that read one block.
    pub single_reads: u64,
    /// Blocks read.
    pub read_blocks: u64,
    /// Calls that wrote.
    pub writes: u64,
    /// Blocks written.
    pub write_blocks: u64,
    /// Time of all reads.
    pub read_ns: u64,
    /// Time of the reads of one block.
    pub single_ns: u64,
    /// Time of all writes.
    pub write_ns: u64,
    /// Time of the last call.
    pub last_ns: u64,
    /// Time of the shortest call; 0 before the first one.
    pub shortest_ns: u64,
    /// Time of the longest read.
    pub longest_read_ns: u64,
    /// Time of the longest write.
    pub longest_write_ns: u64,
}

impl FileFigures {
    fn note(&self, ns: u64) {
        self.last_ns.store(ns, Ordering::Relaxed);
        // Stored complemented, so that 0 means that there was no call.
        self.shortest_ns.fetch_max(u64::MAX - ns, Ordering::Relaxed);
    }
}

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
