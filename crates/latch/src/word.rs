//! The lock words: state machines on one atomic word each, without waiting, counting or recovery.
//!
//! This module knows only `super::primitive`, so that the model tests can run it on loom's atomics.

use super::primitive::{AtomicU32, AtomicU64, fence, order};
use std::sync::atomic::Ordering::Relaxed;

/// The word of a latch.
///
/// | bits | meaning |
/// |---|---|
/// | 31 | held exclusively, by the process in bits 0 to 15 |
/// | 30 | blocking: an exclusive requester waits, so no new shared get succeeds |
/// | 0–15 | the exclusive holder, or the number of shared holders |
///
/// Zero is free. While bit 31 is set nobody but the holder writes the word, so that freeing is a plain store.
#[derive(Debug)]
#[repr(transparent)]
pub struct LatchWord(pub AtomicU32);

/// Held exclusively.
pub const EXCLUSIVE: u32 = 1 << 31;
/// No new shared gets.
pub const BLOCKING: u32 = 1 << 30;
/// The holder or the count.
pub const LOW: u32 = 0xffff;

impl LatchWord {
    /// The word now; a hint, no more.
    #[inline]
    pub fn peek(&self) -> u32 {
        self.0.load(Relaxed)
    }

    /// One try at an exclusive get by process `number`. Succeeds on a free latch, blocking or not.
    #[inline]
    pub fn try_exclusive(&self, number: u32) -> bool {
        let held = EXCLUSIVE | number;
        match self.0.compare_exchange(0, held, order::GET_EXCLUSIVE, order::FAILED) {
            Ok(_) => true,
            Err(BLOCKING) => self.0.compare_exchange(BLOCKING, held, order::GET_EXCLUSIVE, order::FAILED).is_ok(),
            Err(_) => false,
        }
    }

    /// Frees an exclusive hold. Only the holder may call this.
    #[inline]
    pub fn free_exclusive(&self) {
        self.0.store(0, order::FREE_EXCLUSIVE);
    }

    /// One try at a shared get: one look and one exchange. A count that moved in between is a failure too.
    #[inline]
    pub fn try_shared(&self) -> bool {
        let seen = self.0.load(Relaxed);
        if seen & (EXCLUSIVE | BLOCKING) != 0 || seen & LOW == LOW {
            return false;
        }
        self.0.compare_exchange(seen, seen + 1, order::GET_SHARED, order::FAILED).is_ok()
    }

    /// Frees one shared hold; true when it was the last.
    #[inline]
    pub fn free_shared(&self) -> bool {
        self.0.fetch_sub(1, order::FREE_SHARED) & LOW == 1
    }

    /// Marks a latch that has shared holders as blocking. False when there are none, so that a get may succeed.
    pub fn block(&self) -> bool {
        let mut seen = self.0.load(Relaxed);
        loop {
            if seen & EXCLUSIVE != 0 || seen & BLOCKING != 0 {
                return seen & LOW != 0;
            }
            if seen & LOW == 0 {
                return false;
            }
            match self.0.compare_exchange(seen, seen | BLOCKING, Relaxed, Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
    }

    /// Takes the blocking mark away, when whoever set it is gone. Waiters that still want it set it again.
    pub fn unblock(&self) {
        let mut seen = self.0.load(Relaxed);
        while seen & EXCLUSIVE == 0 && seen & BLOCKING != 0 {
            match self.0.compare_exchange(seen, seen & !BLOCKING, Relaxed, Relaxed) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }

    /// Takes `count` shared holds away at once, if the word still is `seen`: the holds of a dead process.
    pub fn take_away_shared(&self, seen: u32, count: u32) -> bool {
        self.0.compare_exchange(seen, seen - count, order::FREE_SHARED, order::FAILED).is_ok()
    }
}

/// A version: even while the data it stands for are whole, odd while they change.
#[derive(Debug)]
#[repr(transparent)]
pub struct VersionWord(pub AtomicU64);

impl VersionWord {
    /// The version before a read; odd means that a writer is at work.
    #[inline]
    pub fn read_begin(&self) -> u64 {
        self.0.load(order::READ_BEGIN)
    }

    /// True when nothing has changed since [`Self::read_begin`] gave `before`. The data must have been read by atomics.
    #[inline]
    pub fn read_check(&self, before: u64) -> bool {
        fence(order::READ_CHECK);
        self.0.load(Relaxed) == before
    }

    /// Makes the version odd. Only the exclusive holder of the latch that goes with it may call this.
    #[inline]
    pub fn write_begin(&self) {
        self.0.store(self.0.load(Relaxed).wrapping_add(1), Relaxed);
        fence(order::VERSION_ODD);
    }

    /// Makes the version even again; the same holder only.
    #[inline]
    pub fn write_end(&self) {
        self.0.store(self.0.load(Relaxed).wrapping_add(1), order::VERSION_EVEN);
    }

    /// True while a writer is at work, or was when it died.
    #[inline]
    pub fn is_odd(&self) -> bool {
        self.0.load(Relaxed) % 2 == 1
    }
}

/// The word of a mutex: the exclusive holder in the upper half, the number of references in the lower. Bit 31: no new
/// references, while their number is being put right behind a dead process.
#[derive(Debug)]
#[repr(transparent)]
pub struct MutexWord(pub AtomicU64);

/// No new references.
pub const MUTEX_BLOCKING: u64 = 1 << 31;

impl MutexWord {
    /// The word now; what P2 of a mutex wait shows.
    #[inline]
    pub fn peek(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// One try at an exclusive get.
    #[inline]
    pub fn try_exclusive(&self, number: u32) -> bool {
        self.0.compare_exchange(0, u64::from(number) << 32, order::MUTEX_GET, order::FAILED).is_ok()
    }

    /// Frees an exclusive hold. Only the holder may call this.
    #[inline]
    pub fn free_exclusive(&self) {
        self.0.store(0, order::MUTEX_FREE_EXCLUSIVE);
    }

    /// One try at a shared get: a count that moves in between is a failure too, as it is for `cursor: pin S`.
    #[inline]
    pub fn try_shared(&self) -> bool {
        let seen = self.0.load(Relaxed);
        seen < MUTEX_BLOCKING - 1 && self.0.compare_exchange(seen, seen + 1, order::MUTEX_GET, order::FAILED).is_ok()
    }

    /// Frees a shared hold.
    #[inline]
    pub fn free_shared(&self) {
        self.0.fetch_sub(1, order::MUTEX_FREE);
    }

    /// Lets no new references in and gives the word as it is then: from here on it can only fall. `None` while it is held
    /// exclusively: then there are no references.
    pub fn block(&self) -> Option<u64> {
        let mut seen = self.0.load(Relaxed);
        loop {
            if seen >> 32 != 0 {
                return None;
            }
            match self.0.compare_exchange(seen, seen | MUTEX_BLOCKING, order::MUTEX_GET, order::FAILED) {
                Ok(_) => return Some(seen | MUTEX_BLOCKING),
                Err(now) => seen = now,
            }
        }
    }

    /// Makes the number of references `count`, and lets new ones in, if the word still is what [`Self::block`] gave.
    pub fn settle(&self, seen: u64, count: u32) -> bool {
        self.0.compare_exchange(seen, count.into(), order::MUTEX_FREE, order::FAILED).is_ok()
    }

    /// Takes `count` shared holds away at once, if the word still is `seen`.
    pub fn take_away_shared(&self, seen: u64, count: u32) -> bool {
        self.0.compare_exchange(seen, seen - u64::from(count), order::MUTEX_FREE, order::FAILED).is_ok()
    }
}
