//! Counts by key in shared memory, until a flush adds them to a table of the dictionary.
//!
//! An entry is a key and its counts, found by open addressing. It belongs to its key until a flush finds no counts in
//! it. A count made during such a flush may go to another key, and a count that finds no free entry is lost: the
//! figures only influence when and how statistics are gathered (D15). The death of a process needs no clean-up.

use crate::base::{Base, tab};
use crate::layout::TALLY_ENTRIES;
use crate::{By, Change};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use types::Result;

/// The maximum distance of an entry from its hash position.
const PROBE_MAX: usize = 32;

/// A key (0: free) and its counts.
pub(crate) type Entry = [AtomicU64];

/// The entry of a key among entries of `entry_words` words, allocated if needed; `None` when there is no free entry.
pub(crate) fn entry_of(words: &'static [AtomicU64], entry_words: usize, key: u64) -> Option<&'static Entry> {
    // Neighbouring numbers are often tables that were created together and are used together.
    let first = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as usize % TALLY_ENTRIES;
    for n in 0..PROBE_MAX {
        let at = (first + n) % TALLY_ENTRIES * entry_words;
        let entry = words.get(at..at + entry_words)?;
        match entry[0].load(Relaxed) {
            owner if owner == key => return Some(entry),
            0 => match entry[0].compare_exchange(0, key, Relaxed, Relaxed) {
                Ok(_) => return Some(entry),
                Err(owner) if owner == key => return Some(entry),
                Err(_) => {}
            },
            _ => {}
        }
    }
    None
}

/// Takes the counts of all entries; entries without counts become free.
pub(crate) fn take<const N: usize>(words: &'static [AtomicU64]) -> Vec<(u64, [u64; N])> {
    let mut taken = Vec::new();
    for entry in words.chunks_exact(1 + N) {
        let key = entry[0].load(Relaxed);
        if key == 0 {
            continue;
        }
        let counts = std::array::from_fn(|at| match entry[1 + at].load(Relaxed) {
            0 => 0,
            _ => entry[1 + at].swap(0, Relaxed),
        });
        if counts == [0; N] {
            entry[0].store(0, Relaxed);
        } else {
            taken.push((key, counts));
        }
    }
    taken
}

/// The counts of all entries, without taking them.
pub(crate) fn pending<const N: usize>(words: &'static [AtomicU64]) -> Vec<(u64, [u64; N])> {
    let one = |entry: &Entry| (entry[0].load(Relaxed), std::array::from_fn(|at| entry[1 + at].load(Relaxed)));
    words.chunks_exact(1 + N).map(one).filter(|(key, counts)| *key != 0 && *counts != [0; N]).collect()
}

impl Change<'_> {
    /// Those of `numbers` that are tables now: other tables were dropped after their changes were counted.
    ///
    /// # Errors
    /// Those of reading the dictionary.
    pub(crate) fn tables_among(&mut self, numbers: &HashSet<u32>) -> Result<HashSet<u32>> {
        let mut tables = HashSet::new();
        for number in numbers {
            if !self.select_by(Base::Tab, By::new(tab::OBJ, *number))?.is_empty() {
                tables.insert(*number);
            }
        }
        Ok(tables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_their_keys_and_entries_are_free_behind_an_idle_flush() {
        let words: &'static [AtomicU64] = (0..TALLY_ENTRIES * 3).map(|_| AtomicU64::new(0)).collect::<Vec<_>>().leak();
        for key in 1..=500 {
            entry_of(words, 3, key).expect("room")[2].fetch_add(key, Relaxed);
            assert!(std::ptr::eq(entry_of(words, 3, key).expect("it is there"), entry_of(words, 3, key).expect("it")));
        }
        let mut taken = take::<2>(words);
        taken.sort_unstable();
        assert_eq!(taken, (1..=500).map(|key| (key, [0, key])).collect::<Vec<_>>());
        assert!(words.iter().step_by(3).any(|key| key.load(Relaxed) != 0));
        assert_eq!(take::<2>(words), []);
        assert!(words.iter().all(|word| word.load(Relaxed) == 0));
        let found = (1..=2 * TALLY_ENTRIES as u64).filter(|key| entry_of(words, 3, *key).is_some()).count();
        assert!(
            (TALLY_ENTRIES / 2..=TALLY_ENTRIES).contains(&found),
            "{found} of twice as many keys as there are entries"
        );
    }
}
