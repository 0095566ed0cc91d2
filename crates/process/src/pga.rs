//! The lines and figures of the memory of processes (invariant 9).

use std::sync::atomic::{AtomicU64, Ordering};

use sga::sga_struct;

sga_struct! {
    /// The memory of one process, one cache line. Written by that process only.
    #[derive(Debug)]
    pub(crate) struct PgaLine {
        pub(crate) used: AtomicU64,
        pub(crate) most: AtomicU64,
        pad: [AtomicU64; 6],
    }

    /// The limits, 0 for none, and the figures of the instance.
    #[derive(Debug)]
    pub(crate) struct PgaTotals {
        pub(crate) limit: AtomicU64,
        pub(crate) limit_of_one: AtomicU64,
        /// The highest sum found.
        pub(crate) most: AtomicU64,
        /// Calls and sessions ended because of the limit.
        pub(crate) given_up: AtomicU64,
        pad: [AtomicU64; 4],
    }
}

impl PgaLine {
    pub(crate) fn clear(&self) {
        self.used.store(0, Ordering::Relaxed);
        self.most.store(0, Ordering::Relaxed);
    }
}

/// Limits in bytes; 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PgaLimits {
    /// Of all processes together: `pga_aggregate_limit`.
    pub instance: u64,
    /// Of one process: `_pga_max_size`.
    pub process: u64,
}

/// Bytes of the heap of one process, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pga {
    pub used: u64,
    /// The most it has had; for all processes the highest sum found.
    pub most: u64,
}
