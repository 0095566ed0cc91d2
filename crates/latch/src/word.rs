//! The lock words: state machines on one atomic word each, without waiting, counting or recovery.
//!
//! This module knows only `super::primitive`, so that the model tests can run it on loom's atomics.

use super::primitive::{AtomicU32, AtomicU64, fence, order};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// The identity of a latch, and the marks of its waiters.
///
/// | bits | meaning |
/// |---|---|
/// | 31 | a process waits |
/// | 30 | shared-capable |
/// | 29 | settled: a barrier has run on all processors after bit 7 was set |
/// | 8–28 | the child number |
/// | 7 | slept on: some process has waited, now or earlier |
/// | 0–6 | the name |
///
/// A process that frees the latch stores the free word and then reads the marks, without a fence between the two. A
/// process that is going to sleep sets its mark and then reads the word. One of the two must see the other (invariant
/// 7). The first waiter of a latch runs a barrier on all processors between its two steps; it marks the latch as slept
/// on before the barrier and as settled after it. A process that frees a latch marked as slept on runs a fence before
/// it reads the marks, so later waiters need no barrier. A releaser that read the marks before the barrier has also
/// stored its free word before the barrier, so a waiter that finds the latch settled sees that word; a releaser that
/// reads the marks after the barrier finds bit 7.
///
/// Bits 7 and 29 stay set: otherwise a waiter could set bit 29 late, for a barrier that ran before bit 7 was cleared
/// and set again. Rejected: freeing by an atomic exchange, which is most of the cost of a get; a barrier for every
/// sleep, which interrupts all processors while they are busiest.
#[derive(Debug)]
#[repr(transparent)]
pub struct IdentityWord(pub AtomicU32);

/// A process waits.
pub const WAITERS: u32 = 1 << 31;
/// A barrier has run after [`SLEPT_ON`] was set.
pub const SETTLED: u32 = 1 << 29;
/// A process has waited.
pub const SLEPT_ON: u32 = 1 << 7;

impl IdentityWord {
    /// Whether a process may wait. For the process that has just freed the latch.
    #[inline]
    pub fn may_have_waiters(&self) -> bool {
        self.0.load(Relaxed) & (WAITERS | SLEPT_ON) != 0
    }

    /// Whether a process waits; called when [`Self::may_have_waiters`] is true.
    #[inline]
    pub fn has_waiters(&self) -> bool {
        fence(order::FREED);
        self.0.load(Relaxed) & WAITERS != 0
    }

    /// Marks that a process waits. True when it may read the lock word at once; otherwise it has to run a barrier on
    /// all processors first.
    #[inline]
    pub fn join_waiters(&self) -> bool {
        let before = self.0.fetch_or(WAITERS | SLEPT_ON, SeqCst);
        fence(order::JOINED);
        before & SETTLED != 0
    }

    /// Notes that the barrier after [`Self::join_waiters`] has run.
    #[inline]
    pub fn settle(&self) {
        self.0.fetch_or(SETTLED, SeqCst);
    }

    /// Clears the mark of waiters. The caller looks for waiters afterwards, and sets the mark again when there is one.
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
/// Zero is free. While bit 31 is set only the holder writes the word, so freeing is a plain store (invariant 4).
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

    /// One try at a shared get: one load and one exchange. A count that changed in between is a failure too.
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

    /// Clears the blocking mark of a requester that is gone. Waiters that still want it set it again.
    pub fn unblock(&self) {
        let mut seen = self.0.load(Relaxed);
        while seen & EXCLUSIVE == 0 && seen & BLOCKING != 0 {
            match self.0.compare_exchange(seen, seen & !BLOCKING, Relaxed, Relaxed) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }

    /// Removes `count` shared holds of dead processes at once, if the word still is `seen`.
    pub fn take_away_shared(&self, seen: u32, count: u32) -> bool {
        self.0.compare_exchange(seen, seen - count, order::FREE_SHARED, order::FAILED).is_ok()
    }
}

/// A version: even while its data are consistent, odd while they change.
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

    /// Makes the version odd. Only the exclusive holder of its latch may call this.
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

    /// True while a writer is at work, or when one died at work.
    #[inline]
    pub fn is_odd(&self) -> bool {
        self.0.load(Relaxed) % 2 == 1
    }
}

/// The life of a reusable object: `lives so far << 2 | mark`. A reader without a latch that finds the same word after
/// copying has read one life, even if the object has been reused since.
///
/// Changed only by the holder of the latch of the object's list, with [`Self::next`] and a Release store, as
/// [`Self::change`] and a section do.
#[derive(Debug)]
#[repr(transparent)]
pub struct LifeWord(pub AtomicU64);

impl LifeWord {
    /// Free, or never used.
    pub const NONE: u64 = 0;
    /// In its list.
    pub const LINKED: u64 = 1;
    /// Out of its list; becomes free when its last pin ends.
    pub const RETIRED: u64 = 2;

    /// The mark in a life.
    #[inline]
    pub fn mark_of(life: u64) -> u64 {
        life & 3
    }

    /// The mark now, for a caller that may change it.
    #[inline]
    pub fn mark(&self) -> u64 {
        Self::mark_of(self.now())
    }

    /// The word now, for a caller that may change it.
    #[inline]
    pub fn now(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// The word after a change to `mark`.
    #[inline]
    pub fn next(&self, mark: u64) -> u64 {
        (self.now() & !3).wrapping_add(4) | mark
    }

    /// Changes the mark where no roll back can be needed.
    #[inline]
    pub fn change(&self, mark: u64) {
        self.0.store(self.next(mark), order::LIFE_LINKED);
    }

    /// The life before a read.
    #[inline]
    pub fn read_begin(&self) -> u64 {
        self.0.load(order::LIFE_BEGIN)
    }

    /// True when the words read since [`Self::read_begin`] returned `before` belong to that life. They must have been
    /// read by atomics.
    #[inline]
    pub fn read_check(&self, before: u64) -> bool {
        fence(order::LIFE_CHECK);
        self.0.load(Relaxed) == before
    }

    /// Must be called after the end of a life, before any process writes a word of the next one.
    #[inline]
    pub fn ended() {
        fence(order::LIFE_ENDED);
    }
}

/// The bits of a reference's note that hold its stage; the others belong to the caller.
pub const STAGE: u64 = 3 << 62;
/// The count may include the reference: it is being added.
pub const TRYING: u64 = 1 << 62;
/// The count includes it.
pub const HELD: u64 = 2 << 62;
/// The count may still include it: it is being removed.
pub const FREEING: u64 = 3 << 62;

/// The word of a mutex: the exclusive holder in the upper half, the number of references in the lower. Bit 31 keeps new
/// references out while their number is set after the death of a process.
#[derive(Debug)]
#[repr(transparent)]
pub struct MutexWord(pub AtomicU64);

/// No new references.
pub const MUTEX_BLOCKING: u64 = 1 << 31;

impl MutexWord {
    /// The word now: P2 of a mutex wait.
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

    /// One try at a shared get: a count that changes in between is a failure too, as for `cursor: pin S`.
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

    /// One try at a reference. `note` carries its stage, and `what` besides.
    #[inline]
    pub fn try_reference(&self, note: &AtomicU64, what: u64) -> bool {
        note.store(what & !STAGE | TRYING, Relaxed);
        // The exchange releases: the note is visible before it.
        if self.try_shared() {
            note.store(what & !STAGE | HELD, order::NOTED); // not before the exchange, which acquires
            return true;
        }
        note.store(what & !STAGE, order::NOTED);
        false
    }

    /// Ends a reference; the content of `note` besides the stage is kept.
    #[inline]
    pub fn end_reference(&self, note: &AtomicU64) {
        let what = note.load(Relaxed) & !STAGE;
        note.store(what | FREEING, Relaxed);
        self.free_shared();
        note.store(what, order::NOTED);
    }

    /// One try at setting the number of references. `certain` counts the notes whose stage is [`HELD`]; it returns
    /// `None` while the note of a living process is at another stage.
    pub fn try_settle(&self, certain: &mut dyn FnMut() -> Option<u32>) -> bool {
        // `None`: held exclusively, so there are no references, and a process that is entering or leaving is not
        // counted.
        let Some(before) = self.block() else { return true };
        certain().is_some_and(|count| self.settle(before, count))
    }

    /// Keeps new references out and returns the word; from then on the number can only fall. `None` while the mutex is
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

    /// Sets the number of references to `count` and lets new ones in, if the word still is the result of
    /// [`Self::block`].
    pub fn settle(&self, seen: u64, count: u32) -> bool {
        self.0.compare_exchange(seen, count.into(), order::MUTEX_FREE, order::FAILED).is_ok()
    }
}

/// The word of the design in force of a structure. A process that enters notes the word in its [`Mark`], with a light
/// barrier behind it, and then finds the word unchanged. A switch changes the word, runs a barrier on all processors,
/// and waits until no mark has a former word (invariant 8).
#[derive(Debug)]
#[repr(transparent)]
pub struct ForceWord(pub AtomicU64);

impl ForceWord {
    /// The word now.
    #[inline]
    pub fn now(&self) -> u64 {
        self.0.load(order::DESIGN_SEEN)
    }

    /// Changes the word; the caller keeps other changes out.
    #[inline]
    pub fn put(&self, new: u64) {
        self.0.store(new, order::DESIGN_PUT);
    }

    /// Changes the word from `seen`; false when it has changed meanwhile.
    #[inline]
    pub fn change(&self, seen: u64, new: u64) -> bool {
        self.0.compare_exchange(seen, new, order::DESIGN_PUT, order::FAILED).is_ok()
    }
}

/// The mark of one process in one structure: the word by which it is inside, or 0.
#[derive(Debug)]
#[repr(transparent)]
pub struct Mark(pub AtomicU64);

impl Mark {
    /// The process's own mark.
    #[inline]
    pub fn own(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Notes that the process is about to be inside.
    #[inline]
    pub fn note(&self, seen: u64) {
        self.0.store(seen, Relaxed);
    }

    /// Notes that the process is outside.
    #[inline]
    pub fn leave(&self) {
        self.0.store(0, order::LEFT);
    }

    /// The mark of another process.
    #[inline]
    pub fn seen(&self) -> u64 {
        self.0.load(order::LEFT_SEEN)
    }
}
