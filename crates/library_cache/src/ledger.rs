//! The figures that each process has counted for the cursors it uses, in memory of its own.
//!
//! Sessions that execute one cursor all day would otherwise write the same lines at the end of each call. A process has
//! [`ENTRIES`] entries, which no other process writes; an entry holds the figures of one child. A process that needs an
//! entry for another child adds the oldest one to the child's shared figures and uses it again. Views add the entries
//! of all processes to the figures of the children.
//!
//! | step of a replacement | version | what a reader of all ledgers sees |
//! |---|---|---|
//! | the entry is free, its figures are on the stack | odd | less than there was: it reads again |
//! | the figures are added to the child | odd | parts of them: it reads again |
//! | the entry holds the new child | even, two more than before | a sum of versions that differs: it reads again |
//!
//! Rejected: adding at intervals of seconds, since a view must show an execution that has ended; asking each session to
//! report, since an idle session does not hear.

use crate::layout::{self, Figures};
use crate::{Delta, Handle, LibraryCache};
use process::Process;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Entries of a process. A loop over more statements than that writes a shared line for each.
pub(crate) const ENTRIES: usize = 8;

/// Seconds that the time of the last use of a shared cursor may be old, for the choice of what is replaced.
const ACTIVE_STEP_S: u64 = 4;

/// Attempts of a reader while entries are being replaced.
const TRIES: u32 = 16;

/// The figures of one child, counted by one process, that are not part of the child's own yet.
#[repr(C, align(64))]
pub struct Entry {
    /// Odd while the entry is being replaced.
    version: AtomicU64,
    /// The child's number plus one; 0 for none.
    child: AtomicU64,
    /// The child's life. An entry of another life than the child's is worth nothing.
    life: AtomicU64,
    last_active_s: AtomicU64,
    figures: [AtomicU64; Delta::WORDS],
}

/// The figures of a child in all ledgers.
#[derive(Clone, Copy, Default)]
pub(crate) struct Pending {
    pub(crate) figures: Delta,
    pub(crate) last_active_s: u64,
}

impl Entry {
    fn is_of(&self, handle: Handle) -> bool {
        self.child.load(Ordering::Relaxed) == u64::from(handle.child) + 1
            && self.life.load(Ordering::Relaxed) == handle.life
    }

    /// Adds to the entry. Only its own process does.
    fn add(&self, delta: &Delta, now_s: u64) {
        for (figure, more) in self.figures.iter().zip(delta.words()) {
            if more > 0 {
                figure.store(figure.load(Ordering::Relaxed) + more, Ordering::Relaxed);
            }
        }
        self.last_active_s.store(now_s, Ordering::Relaxed);
    }

    fn read(&self) -> Delta {
        Delta::of_words(std::array::from_fn(|n| self.figures[n].load(Ordering::Relaxed)))
    }

    /// Gives the entry to another child and returns what it had. `add_to_child` runs while the version is odd.
    fn replace(&self, handle: Handle, add_to_child: impl FnOnce(Handle, &Delta)) {
        let version = self.version.load(Ordering::Relaxed) | 1;
        self.version.store(version, Ordering::Relaxed);
        // The odd version is visible before any of the changes.
        fence(Ordering::Release);
        let child = self.child.load(Ordering::Relaxed);
        let old = self.read();
        // A process that dies from here on loses the figures; it never counts them twice.
        self.child.store(0, Ordering::Relaxed);
        if let Some(child) = child.checked_sub(1) {
            add_to_child(Handle { child: child as u32, life: self.life.load(Ordering::Relaxed) }, &old);
        }
        self.figures.iter().for_each(|figure| figure.store(0, Ordering::Relaxed));
        self.life.store(handle.life, Ordering::Relaxed);
        self.child.store(u64::from(handle.child) + 1, Ordering::Relaxed);
        self.version.store(version + 1, Ordering::Release); // pairs with the Acquire in `versions`
    }
}

impl LibraryCache {
    fn ledger(&self, number: u32) -> &'static [Entry] {
        let from = (number as usize - 1) * ENTRIES;
        &self.ledgers[from..from + ENTRIES]
    }

    /// Adds a session's figures to its process's ledger (L4). False when the child has been replaced or removed: parse
    /// again.
    ///
    /// Writes a shared line only where the process has used other cursors since, and once in four seconds.
    pub fn add(&self, p: &Process, handle: Handle, delta: &Delta) -> bool {
        let Some(child) = self.children.get(handle.child as usize) else { return true };
        if child.life.load(Ordering::Acquire) != handle.life {
            return false;
        }
        let (now, ledger) = (layout::now_s(), self.ledger(p.number()));
        let entry = ledger.iter().find(|entry| entry.is_of(handle)).unwrap_or_else(|| {
            let age = |entry: &&Entry| match entry.child.load(Ordering::Relaxed) {
                0 => 0,
                _ => entry.last_active_s.load(Ordering::Relaxed).max(1),
            };
            let oldest = ledger.iter().min_by_key(age).expect("a ledger has entries");
            oldest.replace(handle, |old, figures| self.add_to_child(old, figures));
            oldest
        });
        entry.add(delta, now);
        if child.last_active_s.load(Ordering::Relaxed) + ACTIVE_STEP_S <= now {
            child.last_active_s.store(now, Ordering::Relaxed);
            if let Some(parent) = self.parents.get(child.parent.load(Ordering::Relaxed) as usize) {
                parent.last_active_s.store(now, Ordering::Relaxed);
            }
        }
        true
    }

    fn add_to_child(&self, handle: Handle, figures: &Delta) {
        if let Some(child) = self.children.get(handle.child as usize)
            && child.life.load(Ordering::Acquire) == handle.life
        {
            child.figures.add(figures);
        }
    }

    /// Makes the ledger of a process that has died whole again.
    pub(crate) fn settle_ledger(&self, dead: u32) {
        for entry in self.ledger(dead) {
            let version = entry.version.load(Ordering::Relaxed);
            if version & 1 == 1 {
                entry.child.store(0, Ordering::Relaxed);
                entry.version.store(version + 1, Ordering::Release);
            }
        }
    }

    /// The sum of all versions; `None` while an entry is being replaced.
    fn versions(&self) -> Option<u64> {
        self.ledgers.iter().try_fold(0u64, |sum, entry| {
            let version = entry.version.load(Ordering::Acquire); // pairs with the Release in `replace`
            (version & 1 == 0).then(|| sum.wrapping_add(version))
        })
    }

    /// Runs `read`, which reads figures of children, with the figures of the ledgers by number and life of the child. Runs
    /// it again when figures went from a ledger to a child meanwhile; while that never ends, the last reading counts.
    pub(crate) fn with_ledgers<R>(&self, mut read: impl FnMut(&HashMap<(usize, u64), Pending>) -> R) -> R {
        let mut tries = 0;
        loop {
            tries += 1;
            let before = self.versions();
            let mut pending: HashMap<(usize, u64), Pending> = HashMap::new();
            for entry in self.ledgers {
                let Some(child) = entry.child.load(Ordering::Relaxed).checked_sub(1) else { continue };
                let of = pending.entry((child as usize, entry.life.load(Ordering::Relaxed))).or_default();
                of.figures.add(&entry.read());
                of.last_active_s = of.last_active_s.max(entry.last_active_s.load(Ordering::Relaxed));
            }
            let found = read(&pending);
            fence(Ordering::Acquire);
            if (before.is_some() && before == self.versions()) || tries == TRIES {
                return found;
            }
            std::thread::yield_now();
        }
    }
}

/// The figures of a child with those of the ledgers.
pub(crate) fn whole(own: &Figures, pending: Option<&Pending>) -> Delta {
    let mut figures = own.read();
    if let Some(pending) = pending {
        figures.add(&pending.figures);
    }
    figures
}
