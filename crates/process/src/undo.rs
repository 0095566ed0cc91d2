//! The micro-undo log of one process.
//!
//! The log is written by its owner alone, and read by PMON when the owner is dead. Its head holds the number of entries
//! and a bit for each section that has entries. Both are in one word, so a section ends with one store, whatever
//! entries lie above or below its own (invariant 4).

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, compiler_fence};

use sga::{Sga, SgaOffset, sga_struct};

/// Entries of a log: the most words that the open sections of one process change (invariant 5).
pub(crate) const ENTRIES: usize = 2048;

sga_struct! {
    /// One changed word.
    #[derive(Debug)]
    pub(crate) struct UndoEntry {
        /// Bits 0–47 the offset in the SGA, 56–60 the section, 63 a half word. 0: void.
        place: AtomicU64,
        old: AtomicU64,
    }

    /// The log.
    #[derive(Debug)]
    pub(crate) struct UndoLog {
        /// The low half: the number of entries. The high half: a bit for each open section with entries.
        head: AtomicU64,
        pad: [AtomicU64; 7],
        entries: [UndoEntry; ENTRIES],
    }
}

const HALF: u64 = 1 << 63;
const SECTION_SHIFT: u32 = 56;
const OFFSET: u64 = (1 << 48) - 1;

fn section_of(place: u64) -> u32 {
    (place >> SECTION_SHIFT & 31) as u32
}

/// A word that a section changes.
#[derive(Clone, Copy)]
pub(crate) enum Word<'a> {
    Whole(&'a AtomicU64),
    Half(&'a AtomicU32),
}

impl UndoLog {
    #[inline]
    fn head(&self) -> (u32, u32) {
        let head = self.head.load(Ordering::Relaxed);
        (head as u32, (head >> 32) as u32)
    }

    #[inline]
    fn set_head(&self, len: u32, open: u32) {
        // Release: the entries that the head covers are written before it. After the owner's death program order
        // suffices for readers.
        self.head.store(u64::from(open) << 32 | u64::from(len), Ordering::Release);
        compiler_fence(Ordering::SeqCst);
    }

    /// Notes the old value of a word for `section`, before the caller stores the new one.
    #[inline]
    pub(crate) fn note(&self, sga: &Sga, section: u8, word: Word<'_>) {
        let (offset, half, old) = match word {
            Word::Whole(w) => (sga.offset_of(w).map(SgaOffset::raw), 0, w.load(Ordering::Relaxed)),
            Word::Half(w) => (sga.offset_of(w).map(SgaOffset::raw), HALF, u64::from(w.load(Ordering::Relaxed))),
        };
        let offset = offset.expect("a section changes words of the SGA");
        faults::point("undo-note"); // earlier noted changes are stored, this one is not
        let (len, open) = self.head();
        let entry = self.entries.get(len as usize).expect("a section changes at most 2048 words: call checkpoint");
        entry.place.store(offset | half | u64::from(section) << SECTION_SHIFT, Ordering::Relaxed);
        entry.old.store(old, Ordering::Relaxed);
        self.set_head(len + 1, open | 1 << section);
    }

    /// Makes the changes of these sections (a bit each) final, all at once.
    #[inline]
    pub(crate) fn commit(&self, sections: u32) {
        let (mut len, open) = self.head();
        if open & sections == 0 {
            return;
        }
        faults::point("undo-end"); // all changes are stored, none is final
        let still = open & !sections;
        if still == 0 {
            self.set_head(0, 0); // no other section is open: the whole log is dead
            faults::point("undo-ended"); // all changes are final, and the latch is held
            return;
        }
        while len > 0 && self.is_dead(len - 1, still) {
            len -= 1;
        }
        self.set_head(len, still);
        // Entries of the ended sections below those of a section that goes on: dead by the mask now, and made void
        // before their section bits are used again.
        for entry in &self.entries[..len as usize] {
            let place = entry.place.load(Ordering::Relaxed);
            if place != 0 && sections & 1 << section_of(place) != 0 {
                entry.place.store(0, Ordering::Release);
            }
        }
        faults::point("undo-ended");
    }

    #[inline]
    fn is_dead(&self, n: u32, open: u32) -> bool {
        let place = self.entries[n as usize].place.load(Ordering::Relaxed);
        place == 0 || open & 1 << section_of(place) == 0
    }

    /// Restores the old words of open sections, newest first, and empties the log. Returns their number.
    pub(crate) fn roll_back(&self, sga: &'static Sga) -> u32 {
        let (len, open) = self.head();
        let mut words = 0;
        for n in (0..len.min(ENTRIES as u32)).rev() {
            if self.is_dead(n, open) {
                continue;
            }
            let entry = &self.entries[n as usize];
            let (place, old) = (entry.place.load(Ordering::Relaxed), entry.old.load(Ordering::Relaxed));
            if place & HALF != 0 {
                sga.get(SgaOffset::<AtomicU32>::from_raw(place & OFFSET)).store(old as u32, Ordering::Release);
            } else {
                sga.get(SgaOffset::<AtomicU64>::from_raw(place & OFFSET)).store(old, Ordering::Release);
            }
            words += 1;
        }
        self.set_head(0, 0);
        words
    }
}
