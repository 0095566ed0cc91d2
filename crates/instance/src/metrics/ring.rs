//! A ring of entries of words: one writer, any number of readers.
//!
//! The writer fills the entry behind the newest one and then counts it (invariant 3). A reader copies an entry and then
//! reads the count. It keeps the copy only if the count shows that the writer had not begun to overwrite the entry. A
//! writer that is killed leaves at most an entry that is not counted.

use sga::{Sga, SgaBuilder, SgaSlice};
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// A reserved ring.
pub struct RingLayout {
    words: SgaSlice<AtomicU64>,
    entry: usize,
    entries: usize,
}

impl RingLayout {
    /// Reserves `entries` entries of `entry` words; one of them is always the entry being written.
    pub fn reserve(sga: &mut SgaBuilder, area: &'static str, entry: usize, entries: usize) -> RingLayout {
        RingLayout { words: sga.reserve(area, 1 + entry * entries), entry, entries }
    }
}

pub struct Ring {
    count: &'static AtomicU64,
    words: &'static [AtomicU64],
    entry: usize,
    entries: usize,
}

impl Ring {
    pub fn create(sga: &'static Sga, layout: &RingLayout) -> Ring {
        let (count, words) = sga.slice(layout.words).split_first().expect("a count and entries");
        Ring { count, words, entry: layout.entry, entries: layout.entries }
    }

    fn at(&self, n: u64) -> &'static [AtomicU64] {
        let at = (n % self.entries as u64) as usize * self.entry;
        &self.words[at..at + self.entry]
    }

    /// Adds an entry. Only one process at a time may call this.
    pub fn push(&self, words: &[u64]) {
        let n = self.count.load(Ordering::Relaxed);
        fence(Ordering::Release); // pairs with the fence in `read`: a reader of a new word sees the previous count
        self.at(n).iter().zip(words).for_each(|(word, value)| word.store(*value, Ordering::Relaxed));
        self.count.store(n + 1, Ordering::Release);
    }

    fn read(&self, n: u64) -> Option<Vec<u64>> {
        let words = self.at(n).iter().map(|word| word.load(Ordering::Relaxed)).collect();
        fence(Ordering::Acquire);
        (self.count.load(Ordering::Relaxed) < n + self.entries as u64).then_some(words)
    }

    /// The entries, newest first.
    pub fn entries(&self) -> impl Iterator<Item = Vec<u64>> + '_ {
        let count = self.count.load(Ordering::Acquire);
        (count.saturating_sub(self.entries as u64 - 1)..count).rev().map_while(|n| self.read(n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    fn ring(entry: usize, entries: usize) -> Ring {
        let mut b = SgaBuilder::new();
        let layout = RingLayout::reserve(&mut b, "metrics", entry, entries);
        Ring::create(b.create(sga::LargePages::False).expect("a small SGA"), &layout)
    }

    #[test]
    fn the_newest_come_first_and_the_oldest_go() {
        let ring = ring(2, 4);
        assert_eq!(ring.entries().count(), 0);
        (0..10).for_each(|n| ring.push(&[n, 100 + n]));
        assert_eq!(ring.entries().collect::<Vec<_>>(), [[9, 109], [8, 108], [7, 107]]);
    }

    #[test]
    fn readers_see_whole_entries_while_the_ring_turns() {
        let ring = ring(16, 3);
        let end = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut seen = 0;
                while !end.load(Ordering::Relaxed) || seen == 0 {
                    for entry in ring.entries() {
                        assert!(entry.iter().all(|word| *word == entry[0]), "{entry:?}");
                        seen += 1;
                    }
                }
            });
            (1..50_000).for_each(|n| ring.push(&[n; 16]));
            end.store(true, Ordering::Relaxed);
            reader.join().expect("whole entries");
        });
    }
}
