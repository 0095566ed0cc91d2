//! The words of a working set.

use sga::SgaLayout;
use std::sync::atomic::{AtomicU64, Ordering};

/// The lists of a set. The words under different latches are on different cache lines.
#[repr(C, align(64))]
pub(crate) struct WorkingSet {
    /// Ends of the LRU list, as index + 1.
    pub hottest: AtomicU64,
    pub coldest: AtomicU64,
    /// First buffer of the cold half, as index + 1; 0 when that half is empty.
    pub middle: AtomicU64,
    pub hot_count: AtomicU64,
    pub hot_target: AtomicU64,
    /// Buffers on the LRU list.
    pub count: AtomicU64,
    /// Buffers handed out so far: the first ones of the set. The others have never been used.
    pub used: AtomicU64,
    /// Buffers of the set.
    pub size: AtomicU64,

    /// Ends of the write list, as index + 1; its neighbours are linked like those of the LRU list.
    pub write_first: AtomicU64,
    pub write_last: AtomicU64,
    pub write_length: AtomicU64,
    /// Counts that change under the latch of the lists.
    pub inspected: AtomicU64,
    pub dirty_inspected: AtomicU64,
    pub replaced: AtomicU64,
    pub pad: [AtomicU64; 2],

    /// Ends of the checkpoint queue, as index + 1.
    pub queue_first: AtomicU64,
    pub queue_last: AtomicU64,
    pub queue_length: AtomicU64,
    pub pad2: [AtomicU64; 5],

    /// Counts that any process adds to after a wait or a write, which costs far more.
    pub free_waits: AtomicU64,
    pub written: AtomicU64,
    pub pad3: [AtomicU64; 6],
}

// SAFETY: `repr(C)`, atomics only, every bit pattern is valid.
#[allow(unsafe_code)]
unsafe impl SgaLayout for WorkingSet {}
const _: () = assert!(size_of::<WorkingSet>() == 256, "four cache lines");

pub(crate) fn load(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}
