//! Exclusive access to buckets, lists and children, and the free lists (L2, L6).

use std::sync::atomic::{AtomicU64, Ordering, fence};

use latch::{Inside, Latch, MutexHeld, MutexKind, Where};
use process::{MutexSection, Process, Section};

use crate::key::Key;
use crate::layout::{Child, Parent};
use crate::switch::design_of;
use crate::{Design, LibraryCache};

/// A bucket held exclusively, with the section that changes what hangs from it.
pub(crate) struct Guard<'a> {
    // Dropped in this order: the process leaves after the bucket is free.
    held: Held<'a>,
    _inside: Inside<'a>,
}

enum Held<'a> {
    Latch(Section<'a>),
    Mutex(MutexSection<'a>),
}

impl Guard<'_> {
    pub(crate) fn set(&self, word: &AtomicU64, new: u64) {
        match &self.held {
            Held::Latch(section) => section.set(word, new),
            Held::Mutex(section) => section.set(word, new),
        }
    }

    pub(crate) fn add(&self, word: &AtomicU64, n: u64) {
        self.set(word, word.load(Ordering::Relaxed).wrapping_add(n));
    }

    /// Makes the changes so far final. Required before memory is freed that other processes may then take.
    pub(crate) fn checkpoint(&self) {
        match &self.held {
            Held::Latch(section) => section.checkpoint(),
            Held::Mutex(section) => section.checkpoint(),
        }
    }
}

/// A child that nobody can pin while this is held.
pub(crate) enum Unpinned<'a> {
    Latch { _held: Section<'a> },
    Mutex { _held: MutexHeld<'a> },
    Nobody,
}

impl LibraryCache {
    /// Holds a bucket exclusively, by its latch or its mutex.
    pub(crate) fn exclusive<'a>(&'a self, p: &'a Process, bucket: usize, at: Where, idn: u64) -> Guard<'a> {
        let latch = &self.latches[bucket % self.latches.len()];
        let inside = self.enter(p);
        let held = match design_of(&inside) {
            Design::Versioned => Held::Latch(p.write_versioned(latch, at, idn)),
            Design::Latch | Design::Pins => Held::Latch(p.lock(latch.latch(), at, idn)),
            Design::Mutex => {
                let mutex = &self.buckets[bucket].mutex;
                Held::Mutex(p.lock_mutex(mutex, MutexKind::LibraryCache, Where::KglMutexGet, idn))
            }
        };
        Guard { held, _inside: inside }
    }

    /// Keeps readers of a parent's list out, in the design where readers do not hold the bucket. The caller holds the
    /// bucket.
    pub(crate) fn shut_list<'a>(
        &self,
        p: &'a Process,
        parent: &'a Parent,
        key: &Key,
        at: Where,
    ) -> Option<MutexHeld<'a>> {
        (design_of(&self.enter(p)) == Design::Mutex)
            .then(|| p.mutex(&parent.parent, MutexKind::CursorParent, at, key.idn()))
    }

    /// Keeps pins of a child out; `None` when it is pinned (L6). The caller holds the bucket.
    ///
    /// A pin that began under an earlier design ends by that design's rule, so its count is looked at too. No new pin
    /// of that kind begins, so a count that is 0 here stays 0, with one exception: the process that ends the last pin
    /// under its latch may be killed before that is final, and its recovery restores the count.
    pub(crate) fn shut_out_pins<'a>(
        &'a self,
        p: &'a Process,
        child: &'a Child,
        at: Where,
        idn: u64,
    ) -> Option<Unpinned<'a>> {
        let by_latch = || child.references.load(Ordering::Relaxed) != 0;
        // Without the latch: a count of 0 is final when the latch is free behind it and the count is still 0 then.
        let may_be_by_latch = || {
            let counts = || child.references.load(Ordering::Acquire) != 0; // as a Release store of a section left it
            let held = || {
                let held = self.pin_latch(idn).is_held();
                fence(Ordering::Acquire); // pairs with the end of the hold, also by recovery
                held
            };
            counts() || held() || counts()
        };
        let by_mutex = || child.pin.value() != 0;
        match design_of(&self.enter(p)) {
            Design::Versioned => (!may_be_by_latch() && !by_mutex()).then_some(Unpinned::Nobody),
            Design::Latch => {
                let held = p.lock(self.pin_latch(idn), Where::KglPinExecution, idn);
                (!by_latch() && !by_mutex()).then_some(Unpinned::Latch { _held: held })
            }
            Design::Pins | Design::Mutex => {
                let held = p.latches().try_mutex(&child.pin, at, idn)?;
                (!may_be_by_latch()).then_some(Unpinned::Mutex { _held: held })
            }
        }
    }

    pub(crate) fn pin_latch(&self, idn: u64) -> &'static Latch {
        &self.pin_latches[idn as usize % self.pin_latches.len()]
    }
}

/// Takes a slot from a free list, or one that was never used. The caller holds `shared pool`.
pub(crate) fn take<'a>(
    guard: &Guard<'_>,
    free: &AtomicU64,
    fresh: &AtomicU64,
    slots: usize,
    link: impl Fn(u64) -> &'a AtomicU64,
) -> Option<u64> {
    if let Some(at) = free.load(Ordering::Relaxed).checked_sub(1) {
        guard.set(free, link(at).load(Ordering::Relaxed));
        return Some(at);
    }
    let at = fresh.load(Ordering::Relaxed);
    (at < slots as u64).then(|| {
        guard.set(fresh, at + 1);
        at
    })
}

/// Removes `at` from the list that begins at `head`; false when it is not in the list.
pub(crate) fn unlink<'a>(guard: &Guard<'_>, head: &'a AtomicU64, at: u64, link: impl Fn(u64) -> &'a AtomicU64) -> bool {
    let mut word = head;
    while let Some(index) = word.load(Ordering::Relaxed).checked_sub(1) {
        if index == at {
            guard.set(word, link(at).load(Ordering::Relaxed));
            return true;
        }
        word = link(index);
    }
    false
}
