//! The figures that each process has counted for the cursors it uses, in memory of its own.
//!
//! Sessions that execute one cursor all day would otherwise write the same lines at the end of each call. A process has
//! [`LEDGER_ENTRIES`] entries, which no other process writes; an entry holds the figures of one child. A process that
//! needs an entry for another child moves the figures of the oldest entry to its child and uses the entry again. Views
//! add the entries of all processes to the figures of the children.
//!
//! | step of a move | version | a process that dies here |
//! |---|---|---|
//! | the entry holds the figures of its child | even | loses nothing |
//! | each figure is taken out of the entry and then added to the child | odd | loses one figure at most; counts none twice |
//! | the entry belongs to the new child, with figures of zero | even, two more | loses nothing |
//!
//! A reader first reads all entries with their versions, and then the figures of each child. It accepts the sum for a
//! child if the versions of the entries with figures of this child have not changed meanwhile, and reads them again
//! otherwise. Entries that other children got or gave up meanwhile do not matter.
//!
//! Rejected: adding at intervals of seconds, since a view must show an execution that has ended; asking each session to
//! report, since an idle session does not hear; one check over all versions, since it fails all the time when many
//! processes move entries.

use crate::layout::{Figures, LEDGER_ENTRIES, LedgerEntry};
use crate::words::now_s;
use crate::{Delta, Handle, LibraryCache};
use process::Process;
use std::collections::HashMap;
use std::sync::atomic::{Ordering, fence};

/// Longest time in seconds by which the time of a child's last use may be old, for the choice of the child to replace.
const ACTIVE_STEP_S: u64 = 4;

/// Attempts of a reader at one child, or one entry, that a process is moving. The last one counts: the process may have
/// been stopped in the middle of a move.
const TRIES: u32 = 100;

/// A child: its number and its life.
type Key = (usize, u64);

/// The figures of a child in all ledgers, or with its own ones.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sum {
    pub(crate) figures: Delta,
    pub(crate) last_active_s: u64,
}

/// The entries with figures of one child, as a reader found them.
#[derive(Default)]
struct Found {
    /// The places of the entries, with their versions.
    entries: Vec<(usize, u64)>,
    sum: Sum,
}

impl LedgerEntry {
    /// The child. A reader that sees another child than before also sees all figures that have moved to that one.
    fn key(&self) -> Option<Key> {
        // Both pair with the Release in `move_to`.
        let child = self.child.load(Ordering::Acquire).checked_sub(1)?;
        Some((child as usize, self.life.load(Ordering::Acquire)))
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

    /// Moves the figures to `child`, if that still lives, and gives the entry to another child. Only its own process
    /// does.
    fn move_to(&self, child: Option<&Figures>, next: Handle) {
        let version = self.version.load(Ordering::Relaxed) | 1;
        self.version.store(version, Ordering::Relaxed);
        // The odd version is visible before any of the changes.
        fence(Ordering::Release);
        faults::point("library-cache-ledger-moving");
        for (n, figure) in self.figures.iter().enumerate() {
            let moved = figure.load(Ordering::Relaxed);
            figure.store(0, Ordering::Relaxed);
            faults::point("library-cache-ledger-figure");
            if let Some(child) = child {
                child.add_word(n, moved);
            }
        }
        faults::point("library-cache-ledger-moved");
        self.life.store(next.life, Ordering::Release);
        faults::point("library-cache-ledger-given");
        self.child.store(u64::from(next.child) + 1, Ordering::Release);
        self.version.store(version + 1, Ordering::Release); // pairs with the Acquire in `read`
    }

    /// The version, the child and the figures, of one moment if no process is moving them for long.
    fn read(&self) -> (u64, Option<Key>, Sum) {
        let mut tries = 0;
        loop {
            tries += 1;
            let version = self.version.load(Ordering::Acquire); // pairs with the Release in `move_to`
            let figures = Delta::of_words(std::array::from_fn(|n| self.figures[n].load(Ordering::Relaxed)));
            let (key, last_active_s) = (self.key(), self.last_active_s.load(Ordering::Relaxed));
            fence(Ordering::Acquire);
            if (version & 1 == 0 && self.version.load(Ordering::Relaxed) == version) || tries == TRIES {
                return (version, key, Sum { figures, last_active_s });
            }
            std::hint::spin_loop();
        }
    }
}

impl Found {
    fn add(&mut self, at: usize, version: u64, sum: &Sum) {
        self.entries.push((at, version));
        self.sum.figures.add(&sum.figures);
        self.sum.last_active_s = self.sum.last_active_s.max(sum.last_active_s);
    }

    fn with(&self, own: &Figures) -> Sum {
        let mut sum = self.sum;
        sum.figures.add(&own.read());
        sum
    }
}

/// The entries of all processes, as a reader found them.
pub(crate) struct Ledgers {
    entries: &'static [LedgerEntry],
    found: HashMap<Key, Found>,
}

impl Ledgers {
    pub(crate) fn read(entries: &'static [LedgerEntry]) -> Ledgers {
        let mut found: HashMap<Key, Found> = HashMap::new();
        for (at, entry) in entries.iter().enumerate() {
            if let (version, Some(key), sum) = entry.read() {
                found.entry(key).or_default().add(at, version, &sum);
            }
        }
        Ledgers { entries, found }
    }

    /// The figures of a child: its own and those of the ledgers.
    pub(crate) fn sum(&self, key: Key, own: &Figures) -> Sum {
        let none = Found::default();
        if let Some(sum) = self.sum_of(self.found.get(&key).unwrap_or(&none), own) {
            return sum;
        }
        let mut tries = 0;
        loop {
            tries += 1;
            let mut found = Found::default();
            for (at, entry) in self.entries.iter().enumerate().filter(|(_, entry)| entry.key() == Some(key)) {
                let (version, now, sum) = entry.read();
                if now == Some(key) {
                    found.add(at, version, &sum);
                }
            }
            match self.sum_of(&found, own) {
                Some(sum) => return sum,
                None if tries == TRIES => return found.with(own),
                None => std::thread::yield_now(),
            }
        }
    }

    /// `None` when figures have moved, or are moving, from one of the entries to the child.
    fn sum_of(&self, found: &Found, own: &Figures) -> Option<Sum> {
        let sum = found.with(own);
        fence(Ordering::Acquire);
        let is_same = |(at, version): &(usize, u64)| {
            version & 1 == 0 && self.entries[*at].version.load(Ordering::Relaxed) == *version
        };
        found.entries.iter().all(is_same).then_some(sum)
    }
}

impl LibraryCache {
    fn ledger(&self, number: u32) -> &'static [LedgerEntry] {
        let from = (number as usize - 1) * LEDGER_ENTRIES;
        &self.ledgers[from..from + LEDGER_ENTRIES]
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
        let (now, ledger) = (now_s(), self.ledger(p.number()));
        let key = Some((handle.child as usize, handle.life));
        let entry = ledger.iter().find(|entry| entry.key() == key).unwrap_or_else(|| {
            let age = |entry: &&LedgerEntry| match entry.key() {
                None => 0,
                Some(_) => entry.last_active_s.load(Ordering::Relaxed).max(1),
            };
            let oldest = ledger.iter().min_by_key(age).expect("a ledger has entries");
            let lives = |(at, life): Key| self.children.get(at).filter(|c| c.life.load(Ordering::Acquire) == life);
            oldest.move_to(oldest.key().and_then(lives).map(|child| &child.figures), handle);
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

    /// Ends the move that a dead process was making: its entry keeps the figures that were not moved yet.
    pub(crate) fn settle_ledger(&self, dead: u32) {
        for entry in self.ledger(dead) {
            let version = entry.version.load(Ordering::Relaxed);
            if version & 1 == 1 {
                entry.version.store(version + 1, Ordering::Release);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    fn entries(n: usize) -> &'static [LedgerEntry] {
        let zero = |_| AtomicU64::new(0);
        let entry = |_| LedgerEntry {
            version: AtomicU64::new(0),
            child: AtomicU64::new(0),
            life: AtomicU64::new(0),
            last_active_s: AtomicU64::new(0),
            figures: std::array::from_fn(zero),
        };
        Box::leak((0..n).map(entry).collect::<Vec<_>>().into_boxed_slice())
    }

    fn executions(n: u64) -> Delta {
        Delta { executions: n, ..Delta::default() }
    }

    const CHILD: Handle = Handle { child: 3, life: 7 };
    const OTHER: Handle = Handle { child: 4, life: 1 };
    const KEY: Key = (3, 7);

    #[test]
    fn figures_that_move_between_the_two_readings_count_once() {
        let (all, own) = (entries(3), Figures::default());
        for entry in &all[..2] {
            entry.move_to(None, CHILD);
            entry.add(&executions(10), 5);
        }
        own.add_word(0, 100);
        let before = Ledgers::read(all);
        assert_eq!((before.sum(KEY, &own).figures.executions, before.sum(KEY, &own).last_active_s), (120, 5));
        // Behind the reading of the ledgers the figures of one entry move to the child.
        all[0].move_to(Some(&own), OTHER);
        assert_eq!(before.sum(KEY, &own).figures.executions, 120);
        // An entry that the child gets afterwards counts from the next reading on.
        all[2].move_to(None, CHILD);
        all[2].add(&executions(1), 6);
        assert_eq!(Ledgers::read(all).sum(KEY, &own).figures.executions, 121);
        // Moves between other children are of no account.
        all[0].move_to(None, Handle { child: 9, life: 1 });
        assert!(before.sum_of(&Found::default(), &own).is_some());
    }

    #[test]
    fn a_move_that_does_not_end_is_not_waited_for_and_counts_once_when_it_is_settled() {
        let (all, own) = (entries(1), Figures::default());
        all[0].move_to(None, CHILD);
        all[0].add(&executions(10), 5);
        // The process has died behind the move of the first figure.
        all[0].version.fetch_or(1, Ordering::Relaxed);
        all[0].figures[0].store(0, Ordering::Relaxed);
        own.add_word(0, 10);
        assert_eq!(Ledgers::read(all).sum(KEY, &own).figures.executions, 10);
        all[0].version.fetch_add(1, Ordering::Relaxed);
        assert_eq!(Ledgers::read(all).sum(KEY, &own).figures.executions, 10);
        // The next process with the slot goes on with the entry.
        all[0].move_to(Some(&own), OTHER);
        assert_eq!(Ledgers::read(all).sum(KEY, &own).figures.executions, 10);
    }
}
