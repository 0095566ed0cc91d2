//! Versioned reads: read the version, the data, and the version again.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use crate::latch::add;
use crate::word::VersionWord;
use crate::{Client, Generation, Latch, LatchName, Where};

/// A latch with a version beside it. Readers get no latch and write nothing shared; writers hold the latch exclusively
/// and keep the version odd while they change the data.
///
/// The data must be atomics and may be torn until the check: a reader clamps every offset, bounds every loop, and
/// relies on nothing before [`Client::read`] returns (invariant 6). The version lies on another cache line than the
/// latch, so that waiting writers do not disturb readers.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Versioned {
    pub(crate) version: VersionWord,
    pub(crate) latch: Latch,
}

const _: () = assert!(size_of::<Versioned>() == 128);

// SAFETY: `repr(C)`, atomic words only, no pointers.
#[allow(unsafe_code)]
unsafe impl os::SharedLayout for Versioned {}

impl Versioned {
    /// A versioned structure outside shared memory.
    #[must_use]
    pub fn new(name: LatchName, child: u32) -> Self {
        Self { version: VersionWord(AtomicU64::new(0)), latch: Latch::new(name, child) }
    }

    /// Gives the latch its name and child number.
    pub fn format(&self, name: LatchName, child: u32, generation: Generation) {
        self.latch.format(name, child, generation);
    }

    /// The latch, for keeping writers out without a change, and for the latched designs on the same structure.
    #[inline]
    #[must_use]
    pub fn latch(&self) -> &Latch {
        &self.latch
    }

    /// The version word, for readers that check several structures at once and count their reads themselves.
    #[inline]
    #[must_use]
    pub fn version(&self) -> &VersionWord {
        &self.version
    }
}

impl Client {
    /// Runs `f` over the data of `versioned` until one run has seen a consistent state, and returns its result.
    ///
    /// Counts as one get in the line of this process. A failed check is a miss; after `versioned_tries` of them the
    /// latch is got, shared where possible, and `f` runs under it. `f` may run several times and see torn data.
    #[inline]
    pub fn read<R>(&self, versioned: &Versioned, at: Where, mut f: impl FnMut() -> R) -> R {
        let before = versioned.version.read_begin();
        if before.is_multiple_of(2) {
            let seen = f();
            if versioned.version.read_check(before) {
                add(&self.line(versioned.latch.name()).gets, 1);
                if self.is_sampled() {
                    self.record_read(versioned.latch.name(), versioned.latch.child(), Some(at), false);
                }
                return seen;
            }
        }
        self.read_again(versioned, at, &mut f)
    }

    /// Counts a get of `name` for a reader that checks versions itself and got no latch; an earlier failed check counts
    /// as a miss. `child` tells the child whose get the read avoids; it runs in sampled calls only.
    #[inline]
    pub fn count_read(&self, name: LatchName, missed: bool, child: impl FnOnce() -> u32) {
        let line = self.line(name);
        add(&line.gets, 1);
        if missed {
            self.count_miss();
            add(&line.spin_gets, 1);
            fence(Ordering::Release); // no miss is seen without its spin
            add(&line.misses, 1);
        }
        if self.is_sampled() {
            self.record_read(name, child(), None, missed);
        }
    }

    #[cold]
    fn read_again<R>(&self, versioned: &Versioned, at: Where, f: &mut dyn FnMut() -> R) -> R {
        let line = self.line(versioned.latch.name());
        for _ in 0..self.domain.tunables().versioned_tries() {
            if !self.spin_while_odd(versioned) {
                break;
            }
            let before = versioned.version.read_begin();
            if before.is_multiple_of(2) {
                let seen = f();
                if versioned.version.read_check(before) {
                    self.count_miss();
                    add(&line.gets, 1);
                    add(&line.spin_gets, 1);
                    fence(Ordering::Release); // no miss is seen without its get and its spin
                    add(&line.misses, 1);
                    if self.is_sampled() {
                        self.record_read(versioned.latch.name(), versioned.latch.child(), Some(at), true);
                    }
                    return seen;
                }
            }
        }
        add(&line.fallbacks, 1);
        let misses = || line.misses.load(Ordering::Relaxed) + versioned.latch.misses.load(Ordering::Relaxed);
        let before = misses();
        let _held = self.get_shared(&versioned.latch, at, 0);
        if misses() == before {
            // The get itself succeeded at once, but the read had failed checks before.
            self.count_miss();
            add(&line.spin_gets, 1);
            fence(Ordering::Release);
            add(&line.misses, 1);
        }
        f()
    }

    /// Counts a read by a reader that checks versions itself, when its checks failed and it goes on with a get of the
    /// latch.
    #[cold]
    pub fn count_fallback(&self, name: LatchName) {
        add(&self.line(name).fallbacks, 1);
    }

    /// Spins while the version is odd; false after too many turns.
    fn spin_while_odd(&self, versioned: &Versioned) -> bool {
        for _ in 0..self.domain.tunables().spin_count() {
            if !versioned.version.is_odd() {
                return true;
            }
            os::cpu::relax();
        }
        false
    }
}
