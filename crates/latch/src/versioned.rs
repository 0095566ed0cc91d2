//! Versioned reads: look at the version, read, look again.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use crate::latch::add;
use crate::word::VersionWord;
use crate::{Client, Generation, Latch, LatchName, Where};

/// A latch with a version beside it: readers take nothing and write nothing shared; writers hold the latch exclusively
/// and keep the version odd while they change things.
///
/// What is read so must be atomics, and may be torn until the check: a reader clamps every offset, bounds every loop,
/// and believes nothing before [`Client::read`] returns. The version lies on another cache line than the latch, so that
/// waiting writers do not disturb readers.
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
    /// One outside shared memory.
    #[must_use]
    pub fn new(name: LatchName, child: u32) -> Self {
        Self { version: VersionWord(AtomicU64::new(0)), latch: Latch::new(name, child) }
    }

    /// Gives the latch its name and child number.
    pub fn format(&self, name: LatchName, child: u32, generation: Generation) {
        self.latch.format(name, child, generation);
    }

    /// The latch, for holding writers off without changing anything, and for the latched designs on the same structure.
    #[inline]
    #[must_use]
    pub fn latch(&self) -> &Latch {
        &self.latch
    }

    /// The version word, for readers that keep their own account and check several structures at once.
    #[inline]
    #[must_use]
    pub fn version(&self) -> &VersionWord {
        &self.version
    }
}

impl Client {
    /// Runs `f` over data that `versioned` stands for until it has seen them whole, and returns what it made of them.
    ///
    /// Counts as one get in this process's own line. A failed check is a miss; after a number of them the latch is
    /// really got, shared where it can be, and `f` runs under it. `f` may run several times and see torn data.
    #[inline]
    pub fn read<R>(&self, versioned: &Versioned, at: Where, mut f: impl FnMut() -> R) -> R {
        let before = versioned.version.read_begin();
        if before.is_multiple_of(2) {
            let seen = f();
            if versioned.version.read_check(before) {
                add(&self.line(versioned.latch.name()).gets, 1);
                return seen;
            }
        }
        self.read_again(versioned, at, &mut f)
    }

    /// Counts a get of `name` for a reader that keeps versions of its own and took no latch; a check that failed before
    /// is a miss.
    #[inline]
    pub fn count_read(&self, name: LatchName, missed: bool) {
        let line = self.line(name);
        add(&line.gets, 1);
        if missed {
            add(&line.spin_gets, 1);
            fence(Ordering::Release); // no miss is seen without its spin
            add(&line.misses, 1);
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
                    add(&line.gets, 1);
                    add(&line.spin_gets, 1);
                    fence(Ordering::Release); // no miss is seen without its get and its spin
                    add(&line.misses, 1);
                    return seen;
                }
            }
        }
        add(&line.fallbacks, 1);
        let misses = || line.misses.load(Ordering::Relaxed) + versioned.latch.misses.load(Ordering::Relaxed);
        let before = misses();
        let _held = self.get_shared(&versioned.latch, at, 0);
        if misses() == before {
            // The get itself went through at once; the read as a whole did not.
            add(&line.spin_gets, 1);
            fence(Ordering::Release);
            add(&line.misses, 1);
        }
        f()
    }

    /// Counts a read that keeps versions of its own, whose checks failed, and that goes on with a get of the latch.
    #[cold]
    pub fn count_fallback(&self, name: LatchName) {
        add(&self.line(name).fallbacks, 1);
    }

    /// Spins while a writer is at work; false when that takes too long.
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
