//! The lock words: state machines on one atomic word each, without waiting, counting or recovery.
//!
//! This module knows only `super::primitive`, so that the model tests can run it on loom's atomics.

use super::primitive::{AtomicU32, AtomicU64, fence, order};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// What a latch is, and the marks of those who wait for it.
///
/// | bits | meaning |
/// |---|---|
/// | 31 | a process waits |
/// | 30 | shared-capable |
/// | 29 | settled: a barrier has run on all processors behind bit 7 |
/// | 8–28 | the child number |
/// | 7 | slept on: some process has waited, now or earlier |
/// | 0–6 | the name |
///
/// A process that frees the latch stores the free word and then reads the marks, without a fence between the two; a
/// process that is going to sleep sets its mark and then reads the word. One of the two has to see the other. The first
/// waiter of a latch sees to that with a barrier on all processors, and marks the latch as slept on before it and as
/// settled behind it. Whoever frees a latch that is slept on runs a fence of its own before it decides that nobody
/// waits, so later waiters need no barrier: a look at the marks that came before the barrier has its free word before
/// the barrier, too, which a waiter that finds the latch settled sees; a look behind the barrier finds bit 7.
///
/// Bits 7 and 29 stay set: a waiter could set bit 29 late, behind a barrier that ran before bit 7 was cleared and set
/// again. Rejected: freeing by an exchange, always, which is most of the price of a get; a barrier for every sleep,
/// which interrupts all processors while they are busiest.
#[derive(Debug)]
#[repr(transparent)]
pub struct IdentityWord(pub AtomicU32);

/// A process waits.
pub const WAITERS: u32 = 1 << 31;
/// A barrier has run behind [`SLEPT_ON`].
pub const SETTLED: u32 = 1 << 29;
/// A process has waited.
pub const SLEPT_ON: u32 = 1 << 7;

impl IdentityWord {
    /// Whether anybody may wait. For the process that has just freed the latch.
    #[inline]
    pub fn may_have_waiters(&self) -> bool {
        self.0.load(Relaxed) & (WAITERS | SLEPT_ON) != 0
    }

    /// Whether anybody waits, once [`Self::may_have_waiters`] says so.
    #[inline]
    pub fn has_waiters(&self) -> bool {
        fence(order::FREED);
        self.0.load(Relaxed) & WAITERS != 0
    }

    /// Marks that a process waits; true when it may look at the word at once, and otherwise has to run a barrier on all
    /// processors first.
    #[inline]
    pub fn join_waiters(&self) -> bool {
        let before = self.0.fetch_or(WAITERS | SLEPT_ON, SeqCst);
        fence(order::JOINED);
        before & SETTLED != 0
    }

    /// Notes that the barrier behind [`Self::join_waiters`] has run.
    #[inline]
    pub fn settle(&self) {
        self.0.fetch_or(SETTLED, SeqCst);
    }

    /// Takes the mark of waiters away. The caller looks for waiters behind this, and puts it back when there is one.
    #[inline]
    pub fn clear_waiters(&self) {
        self.0.fetch_and(!WAITERS, SeqCst);
    }

    /// Puts the mark back, before the caller looks at the word.
    #[inline]
    pub fn put_waiters_back(&self) {
        self.0.fetch_or(WAITERS, SeqCst);
        fence(order::JOINED);
    }
}

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

/// The life of an object that comes and goes: `lives so far << 2 | mark`. A reader without a latch that finds the same
/// word after copying has read one life, whatever the object is used for by then.
///
/// Changed by whoever holds what protects the object's list, with [`Self::next`] and a store that releases, as
/// [`Self::change`] does and a section's.
#[derive(Debug)]
#[repr(transparent)]
pub struct LifeWord(pub AtomicU64);

impl LifeWord {
    /// Free, or never used.
    pub const NONE: u64 = 0;
    /// In its list.
    pub const LINKED: u64 = 1;
    /// Out of its list, and free when its last pin goes.
    pub const RETIRED: u64 = 2;

    /// The mark in a life.
    #[inline]
    pub fn mark_of(life: u64) -> u64 {
        life & 3
    }

    /// The mark now, for whoever may change it.
    #[inline]
    pub fn mark(&self) -> u64 {
        Self::mark_of(self.now())
    }

    /// The word now, for whoever may change it.
    #[inline]
    pub fn now(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// The word after a change to `mark`.
    #[inline]
    pub fn next(&self, mark: u64) -> u64 {
        (self.now() & !3).wrapping_add(4) | mark
    }

    /// Changes the mark where nothing is to be taken back.
    #[inline]
    pub fn change(&self, mark: u64) {
        self.0.store(self.next(mark), order::LIFE_LINKED);
    }

    /// The life before a read.
    #[inline]
    pub fn read_begin(&self) -> u64 {
        self.0.load(order::LIFE_BEGIN)
    }

    /// True when the words read since [`Self::read_begin`] gave `before` are of that life. They must have been read by
    /// atomics.
    #[inline]
    pub fn read_check(&self, before: u64) -> bool {
        fence(order::LIFE_CHECK);
        self.0.load(Relaxed) == before
    }

    /// To be called when a life has ended, before any word is written for the next one by anybody.
    #[inline]
    pub fn ended() {
        fence(order::LIFE_ENDED);
    }
}

/// The bits of a reference's note that say its stage; the others are the caller's.
pub const STAGE: u64 = 3 << 62;
/// The count is about to include the reference, or not.
pub const TRYING: u64 = 1 << 62;
/// The count includes it.
pub const HELD: u64 = 2 << 62;
/// The count includes it no longer, or still does.
pub const FREEING: u64 = 3 << 62;

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

    /// Whether a shared get could succeed now.
    #[inline]
    pub fn may_be_shared(&self) -> bool {
        self.0.load(Relaxed) < MUTEX_BLOCKING - 1
    }

    /// Frees a shared hold.
    #[inline]
    pub fn free_shared(&self) {
        self.0.fetch_sub(1, order::MUTEX_FREE);
    }

    /// One try at a reference that `note` tells of, stage by stage; `what` is what it says besides.
    #[inline]
    pub fn try_reference(&self, note: &AtomicU64, what: u64) -> bool {
        note.store(what & !STAGE | TRYING, Relaxed);
        // The exchange releases: the note is there before it.
        if self.try_shared() {
            note.store(what & !STAGE | HELD, order::NOTED); // not before the exchange, which acquires
            return true;
        }
        note.store(what & !STAGE, order::NOTED);
        false
    }

    /// Ends a reference; `note` keeps what it says besides the stage.
    #[inline]
    pub fn end_reference(&self, note: &AtomicU64) {
        let what = note.load(Relaxed) & !STAGE;
        note.store(what | FREEING, Relaxed);
        self.free_shared();
        note.store(what, order::NOTED);
    }

    /// One try at putting the number of references right. `certain` counts the notes whose stage is [`HELD`]; it gives
    /// `None` while the note of a living process is at another stage.
    pub fn try_settle(&self, certain: &mut dyn FnMut() -> Option<u32>) -> bool {
        // Held exclusively: there are none, and whoever was on the way in or out is not counted.
        let Some(before) = self.block() else { return true };
        certain().is_some_and(|count| self.settle(before, count))
    }

    /// Lets no new references in and gives the word as it is then: from here on it can only fall. `None` while it is
    /// held exclusively: then there are no references.
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
}
