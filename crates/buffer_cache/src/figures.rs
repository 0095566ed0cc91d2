//! The words of the counts of the cache: I/O by data file and waits by class of block.

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

/// The I/O of one data file.
#[repr(C, align(64))]
pub(crate) struct FileFigures {
    pub(crate) reads: AtomicU64,
    pub(crate) read_blocks: AtomicU64,
    pub(crate) read_ns: AtomicU64,
    pub(crate) single_reads: AtomicU64,
    pub(crate) single_ns: AtomicU64,
    pub(crate) writes: AtomicU64,
    pub(crate) write_blocks: AtomicU64,
    pub(crate) write_ns: AtomicU64,
    pub(crate) last_ns: AtomicU64,
    pub(crate) longest_read_ns: AtomicU64,
    pub(crate) longest_write_ns: AtomicU64,
    pub(crate) shortest_ns: AtomicU64,
    pub(crate) pad: [AtomicU64; 4],
}

// SAFETY: `repr(C)`, atomics only, every bit pattern is valid.
#[allow(unsafe_code)]
unsafe impl SgaLayout for FileFigures {}

/// Waits by class, and the words shared by all processes.
#[repr(C, align(64))]
pub(crate) struct CacheFigures {
    pub(crate) waits: [AtomicU64; CLASSES.len()],
    pub(crate) waited_ns: [AtomicU64; CLASSES.len()],
    /// Blocks of a multiblock read, unless the process has its own value.
    pub(crate) multiblock: AtomicU64,
    /// Process slots below this number may have held pins since the fast path was put into force; 0 in other designs.
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
    pub(crate) fn note(&self, ns: u64) {
        self.last_ns.store(ns, Ordering::Relaxed);
        // Stored complemented, so that 0 means that there was no call.
        self.shortest_ns.fetch_max(u64::MAX - ns, Ordering::Relaxed);
    }
}
