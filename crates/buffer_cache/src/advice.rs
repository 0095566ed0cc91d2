//! What the cache would have read if it were smaller or larger: `v$db_cache_advice`.
//!
//! Blocks are the keys of [`process::Reuse`], which says how; here is what the sizes are, and what is in the cache.

use crate::BufferCache;
use process::{Following, REUSE_SIZES, Reused, Simulated, Simulator};
use std::time::Duration;

/// Sizes that are estimated: tenths of the present one, up to twice as much.
pub const SIZES: usize = REUSE_SIZES;
/// The place of the present size.
pub const PRESENT: usize = 9;

/// Blocks that are followed of the present size of the cache, at first and at least.
const FOLLOWED: (usize, usize) = (256, 64);

impl BufferCache {
    /// What was estimated since the instance started: misses are what a cache of each size would have read.
    pub fn advice(&self) -> Reused {
        self.advice.read()
    }

    /// Plays what has been noted, and says when to come again. Without advice nothing is noted.
    pub fn advise(&self, sim: &mut Simulator, following: Following) -> Duration {
        let buffers = self.buffers();
        let sizes = std::array::from_fn(|n| buffers * (n + 1) / 10);
        let blocks = self.used().map(|n| self.headers[n].block()).filter(|at| !at.is_none());
        let keys = &mut blocks.map(|at| at.0);
        self.advice.advise(sim, following, Simulated { sizes, present: PRESENT, followed: FOLLOWED, keys })
    }
}
