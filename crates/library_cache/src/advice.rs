//! Estimated loads of shared pools of other sizes: `v$shared_pool_advice` (L11).
//!
//! Statements and objects are keys of the simulation in [`cache_advice::Reuse`]. The caller says how many of them a
//! pool of each size holds. The replacement of a child by another of the same statement is not simulated.

use std::sync::atomic::Ordering;
use std::time::Duration;

use cache_advice::{Following, REUSE_SIZES, Reused, Simulated, Simulator};

use crate::LibraryCache;
use crate::key::Key;

/// Number of estimated sizes: from a tenth of the present size to twice as much, in tenths.
pub const ADVICE_SIZES: usize = REUSE_SIZES;
/// Index of the present size.
pub const ADVICE_PRESENT: usize = 9;

/// The number of statements and objects to follow, out of those in the cache: at first, and the least.
const FOLLOWED: (usize, usize) = (1024, 128);

impl LibraryCache {
    /// The estimates since the instance started: the misses of a cache of each size.
    pub fn advice(&self) -> Reused {
        self.advice.read()
    }

    /// Evaluates the noted gets and returns the time until the next call. `sizes`: the number of statements and objects
    /// that a pool of each size holds.
    pub fn advise(&self, sim: &mut Simulator, following: Following, sizes: [usize; ADVICE_SIZES]) -> Duration {
        let live = self.parents_used().iter().filter(|parent| parent.life.load(Ordering::Acquire) != 0);
        let keys = &mut live.map(|parent| Key::of(parent).followed());
        self.advice.advise(sim, following, Simulated { sizes, present: ADVICE_PRESENT, followed: FOLLOWED, keys })
    }

    /// The number of statements and objects that the cache holds.
    pub fn capacity(&self) -> usize {
        self.parents.len()
    }
}
