//! What a shared pool of another size would have loaded: `v$shared_pool_advice`.
//!
//! Statements and objects are the keys of [`process::Reuse`], which says how. The pool's size decides how many of them
//! there is room for, so the caller says what each size would hold; a child that gives way to another of the same
//! statement is not followed.

use std::sync::atomic::Ordering;
use std::time::Duration;

use process::{Following, REUSE_SIZES, Reused, Simulated, Simulator};

use crate::LibraryCache;
use crate::find::Key;

/// Sizes that are estimated: tenths of the present one, up to twice as much.
pub const ADVICE_SIZES: usize = REUSE_SIZES;
/// The place of the present size.
pub const ADVICE_PRESENT: usize = 9;

/// Statements and objects that are followed of those that there is room for, at first and at least.
const FOLLOWED: (usize, usize) = (1024, 128);

impl LibraryCache {
    /// What was estimated since the instance started: misses are what a cache of each size would have loaded.
    pub fn advice(&self) -> Reused {
        self.advice.read()
    }

    /// Plays what has been noted, and says when to come again. `sizes`: statements and objects that a pool of each size
    /// has room for.
    pub fn advise(&self, sim: &mut Simulator, following: Following, sizes: [usize; ADVICE_SIZES]) -> Duration {
        let live = self.parents.iter().filter(|parent| parent.life.load(Ordering::Acquire) != 0);
        let keys = &mut live.map(|parent| Key::of(parent).followed());
        self.advice.advise(sim, following, Simulated { sizes, present: ADVICE_PRESENT, followed: FOLLOWED, keys })
    }

    /// Statements and objects that there is room for.
    pub fn capacity(&self) -> usize {
        self.parents.len()
    }
}
