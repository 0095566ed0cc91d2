//! Sections: a latch held exclusively, and the changes made under it.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use latch::{Held, Latch, MutexHeld};

use crate::Process;
use crate::undo::Word;

/// A latch held exclusively, with the right to change what it protects.
///
/// Dropping it makes its changes final and then frees the latch. Sections may nest and end independently in any order.
/// Changes under two latches that must become final together are ended by [`Section::end_with`].
///
/// The hold may be that of a mutex instead: [`MutexSection`].
#[derive(Debug)]
#[must_use = "the latch is freed at once when this is dropped"]
pub struct Section<'a, H = Held<'a>> {
    process: &'a Process,
    /// Freed after `drop` has committed: fields are dropped after the value (invariant 4).
    held: H,
    /// Bits 0–7: the section's number. Bit 8: begun by a destructor while a panic unwinds; the changes of such a
    /// section are kept. One word: the handle is copied often, and narrow stores followed by one wide load defeat store
    /// forwarding.
    id: u32,
}

const UNWINDING: u32 = 1 << 8;

/// A section under a mutex that is held exclusively.
pub type MutexSection<'a> = Section<'a, MutexHeld<'a>>;

impl<'a, H> Section<'a, H> {
    #[inline]
    pub(crate) fn new(process: &'a Process, held: H) -> Self {
        let id = process.take_section_id();
        let unwinding = if std::thread::panicking() { UNWINDING } else { 0 };
        Self { process, held, id: u32::from(id) | unwinding }
    }

    #[inline]
    fn number(&self) -> u8 {
        self.id as u8
    }

    /// Notes the old word and then stores `new` (invariant 3). If the process dies before the section ends, the old
    /// word is restored.
    ///
    /// # Panics
    /// The word does not lie in the SGA, or the log of 2,048 words is full.
    #[inline]
    pub fn set(&self, word: &AtomicU64, new: u64) {
        self.process.undo().note(self.process.sga(), self.number(), Word::Whole(word));
        word.store(new, Ordering::Release); // after the note: PMON reads both
    }

    /// As [`Self::set`], for half a word.
    #[inline]
    pub fn set32(&self, word: &AtomicU32, new: u32) {
        self.process.undo().note(self.process.sga(), self.number(), Word::Half(word));
        word.store(new, Ordering::Release); // as above
    }

    /// Adds to a word, as [`Self::set`]; returns the new value.
    #[inline]
    pub fn add(&self, word: &AtomicU64, n: u64) -> u64 {
        let new = word.load(Ordering::Relaxed).wrapping_add(n);
        self.set(word, new);
        new
    }

    /// Makes the changes so far final without freeing the latch: for long work that is consistent after each step.
    pub fn checkpoint(&self) {
        self.process.undo().commit(1 << self.number());
    }

    /// The process.
    #[must_use]
    pub fn process(&self) -> &'a Process {
        self.process
    }
}

impl<'a> Section<'a> {
    /// Ends both sections: their changes become final together, then both latches are freed.
    pub fn end_with(self, other: Section<'_>) {
        assert!(std::ptr::eq(self.process, other.process), "both sections are of one process");
        self.process.undo().commit(1 << self.number() | 1 << other.number());
    }

    /// Makes the changes of both sections final together, and ends the other one.
    pub fn checkpoint_with(&self, other: Section<'_>) {
        assert!(std::ptr::eq(self.process, other.process), "both sections are of one process");
        self.process.undo().commit(1 << self.number() | 1 << other.number());
    }

    /// The latch.
    #[must_use]
    pub fn latch(&self) -> &Latch {
        self.held.latch()
    }
}

impl<H> Drop for Section<'_, H> {
    #[inline]
    fn drop(&mut self) {
        // A panic leaves half-done changes: roll them back before another process sees them.
        if std::thread::panicking() && self.id & UNWINDING == 0 {
            self.process.roll_back_panicking();
        }
        self.process.undo().commit(1 << self.number());
        self.process.return_section_id(self.number());
    }
}

/// A latch held shared.
#[derive(Debug)]
#[must_use = "the latch is freed at once when this is dropped"]
pub struct SharedHold<'a> {
    held: Held<'a>,
}

impl<'a> SharedHold<'a> {
    pub(crate) fn new(held: Held<'a>) -> Self {
        Self { held }
    }

    /// The latch.
    #[must_use]
    pub fn latch(&self) -> &Latch {
        self.held.latch()
    }
}
