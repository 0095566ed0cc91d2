//! What is compared in a switchback, and for how long.

use std::time::Duration;

/// A structure with designs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Structure {
    CacheBuffersChains,
    ResultCache,
    RowCache,
    LibraryCache,
    LatchSleep,
    SpinCount,
}

impl Structure {
    /// The parameter that switches it.
    pub fn parameter(self) -> &'static str {
        match self {
            Structure::CacheBuffersChains => "_switch_cache_buffers_chains",
            Structure::ResultCache => "_switch_result_cache",
            Structure::RowCache => "_switch_row_cache",
            Structure::LibraryCache => "_switch_library_cache",
            Structure::LatchSleep => "_switch_latch_sleep",
            Structure::SpinCount => "_spin_count",
        }
    }

    /// Its name in `x$ksldesign`.
    pub fn name(self) -> &'static str {
        match self {
            Structure::CacheBuffersChains => "cache buffers chains",
            Structure::ResultCache => "result cache",
            Structure::RowCache => "row cache",
            Structure::LibraryCache => "library cache",
            Structure::LatchSleep => "latch sleep",
            Structure::SpinCount => "spin count",
        }
    }
}

/// The plan of a run, without the load.
pub struct Plan {
    pub structure: Structure,
    pub designs: [String; 2],
    pub period: Duration,
    pub burn_in: Duration,
    pub limit: Duration,
    /// Half of the interval at which the run ends, in logarithm.
    pub width: f64,
    pub seed: u64,
}
