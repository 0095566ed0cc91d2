//! Estimated reads of a smaller or larger cache: `v$db_cache_advice` (R11).
//!
//! Blocks are the keys of [`cache_advice::Reuse`], which describes the method; this module has the sizes and the
//! present contents.

use crate::BufferCache;
use cache_advice::{Following, REUSE_SIZES, Reused, Simulated, Simulator};
use std::time::Duration;

/// Sizes that are estimated: tenths of the present one, up to twice as much.
pub const SIZES: usize = REUSE_SIZES;
/// The index of the present size.
pub const PRESENT: usize = 9;

/// Followed blocks of the present size of the cache: at first, and at least.
const FOLLOWED: (usize, usize) = (256, 64);

impl BufferCache {
    /// The estimates since the instance started: misses are the reads of a cache of each size.
    pub fn advice(&self) -> Reused {
        self.advice.read()
    }

    /// Plays the new notes, and returns the time until the next call. Without advice no get is noted.
    pub fn advise(&self, sim: &mut Simulator, following: Following) -> Duration {
        let buffers = self.buffers();
        let sizes = std::array::from_fn(|n| buffers * (n + 1) / 10);
        let blocks = self.used().map(|n| self.headers[n].block()).filter(|at| !at.is_none());
        let keys = &mut blocks.map(|at| at.0);
        self.advice.advise(sim, following, Simulated { sizes, present: PRESENT, followed: FOLLOWED, keys })
    }
}
