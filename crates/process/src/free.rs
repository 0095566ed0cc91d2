//! The free process slots: a bit for each, so that a process that attaches does not look at the slots of all others.
//!
//! The word of a slot decides whether it is free; the bits are only hints (invariant 1). A process that frees a slot
//! sets its bit afterwards; a process that finds a bit takes the slot by an exchange of the slot's word and then clears
//! the bit. The bit of a slot that turns out to be taken is cleared, and set again when the slot has become free since.
//! So the bit of a free slot is missing only between two instructions of a process, or for good when that process is
//! killed between them: a search that finds no bit reads the slots themselves before it reports that all are taken.
//!
//! A second level has a bit for each word of the first that may not be zero, by the same rules. The lowest free slot is
//! taken first, so that a process that reads the lines of all processes stops at the highest number ever used.
//!
//! Rejected: a list of slots, whose links a killed process would leave half-changed; a latch, since a process needs a
//! slot before it can get one.

use std::sync::atomic::{AtomicU64, Ordering};

/// The bits, and the second level of bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FreeSlots {
    bits: &'static [AtomicU64],
    above: &'static [AtomicU64],
}

/// Words that hold the bits of `slots` slots.
fn bit_words(slots: usize) -> usize {
    slots.div_ceil(64)
}

impl FreeSlots {
    /// Words needed for `slots` slots.
    pub fn words(slots: usize) -> usize {
        bit_words(slots) + bit_words(bit_words(slots))
    }

    /// Makes the bits in [`Self::words`] words, with all slots free. Run once, by the supervisor.
    pub fn create(words: &'static [AtomicU64], slots: usize) -> Self {
        let (bits, above) = words.split_at(bit_words(slots));
        let free = Self { bits, above };
        for n in 0..slots {
            bits[n / 64].fetch_or(1 << (n % 64), Ordering::Relaxed);
            above[n / 4096].fetch_or(1 << (n / 64 % 64), Ordering::Relaxed);
        }
        free
    }

    /// Slot `n` has become free.
    pub fn put(&self, n: usize) {
        faults::point("process-slot-freed");
        // SeqCst, here and in `strike` and `first_in`: one process sets a bit below and reads above, another clears the
        // bit above and reads below; one of them sees the other's store.
        self.bits[n / 64].fetch_or(1 << (n % 64), Ordering::SeqCst);
        let (word, bit) = (&self.above[n / 4096], 1 << (n / 64 % 64));
        if word.load(Ordering::SeqCst) & bit == 0 {
            word.fetch_or(bit, Ordering::SeqCst);
        }
    }

    /// Takes the lowest free slot below `within`: `claim` takes a slot if it is free; `is_free` reads its state.
    pub fn take(&self, within: usize, claim: impl Fn(usize) -> bool, is_free: impl Fn(usize) -> bool) -> Option<usize> {
        while let Some(n) = self.lowest().filter(|n| *n < within) {
            let claimed = claim(n);
            faults::point("process-slot-claimed");
            self.strike(n, &is_free);
            if claimed {
                return Some(n);
            }
        }
        None
    }

    fn lowest(&self) -> Option<usize> {
        (0..self.above.len()).find_map(|n| self.first_in(n))
    }

    /// The lowest slot with a bit, among the words that word `n` of the second level covers.
    fn first_in(&self, n: usize) -> Option<usize> {
        loop {
            let seen = self.above[n].load(Ordering::SeqCst);
            if seen == 0 {
                return None;
            }
            let (place, bit) = (n * 64 + seen.trailing_zeros() as usize, seen & seen.wrapping_neg());
            let word = self.bits.get(place)?;
            let found = word.load(Ordering::SeqCst);
            if found != 0 {
                return Some(place * 64 + found.trailing_zeros() as usize);
            }
            self.above[n].fetch_and(!bit, Ordering::SeqCst);
            if word.load(Ordering::SeqCst) != 0 {
                self.above[n].fetch_or(bit, Ordering::SeqCst);
            }
        }
    }

    /// Clears the bit of a slot that was taken, unless it is free again.
    fn strike(&self, n: usize, is_free: impl Fn(usize) -> bool) {
        self.bits[n / 64].fetch_and(!(1 << (n % 64)), Ordering::SeqCst);
        if is_free(n) {
            self.put(n);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicUsize};

    fn free(slots: usize) -> FreeSlots {
        let words = (0..FreeSlots::words(slots)).map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
        FreeSlots::create(Box::leak(words.into_boxed_slice()), slots)
    }

    #[test]
    fn the_lowest_slot_is_taken_first_and_none_beyond_a_limit() {
        let slots = 10_000;
        let f = free(slots);
        let take = |within| f.take(within, |_| true, |_| false);
        assert_eq!((0..slots).map(|_| take(slots)).collect::<Option<Vec<_>>>(), Some((0..slots).collect()));
        assert_eq!(take(slots), None);
        for n in [9_999, 4_100, 4_099, 64] {
            f.put(n);
        }
        assert_eq!(take(64), None);
        let rest = [take(65), take(slots), take(slots), take(4_100), take(slots), take(slots)];
        assert_eq!(rest, [Some(64), Some(4_099), Some(4_100), None, Some(9_999), None]);
    }

    #[test]
    fn a_slot_that_was_taken_without_its_bit_is_passed_over_and_one_that_came_free_is_found_again() {
        let f = free(3);
        let state = [const { AtomicBool::new(true) }; 3];
        let take = || {
            let is_free = |n: usize| state[n].load(Ordering::SeqCst);
            f.take(3, |n: usize| state[n].swap(false, Ordering::SeqCst), is_free)
        };
        state[0].store(false, Ordering::SeqCst); // its process died before it cleared the bit
        assert_eq!([take(), take(), take()], [Some(1), Some(2), None]);
        // Its owner leaves between the failed claim and the second read of the slot.
        f.put(0);
        let late = f.take(3, |_| state[0].swap(true, Ordering::SeqCst), |_| state[0].load(Ordering::SeqCst));
        assert_eq!((late, take()), (Some(0), Some(0)));
    }

    #[test]
    fn threads_that_take_and_put_never_share_a_slot_and_lose_none() {
        const SLOTS: usize = 130;
        let f = free(SLOTS);
        let state = [const { AtomicBool::new(true) }; SLOTS];
        let took = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let mut own = Vec::new();
                    for round in 0..20_000 {
                        let claim = |n: usize| {
                            state[n].compare_exchange(true, false, Ordering::SeqCst, Ordering::SeqCst).is_ok()
                        };
                        if let Some(n) = f.take(SLOTS, claim, |n| state[n].load(Ordering::SeqCst)) {
                            assert!(!own.contains(&n), "slot {n} twice");
                            own.push(n);
                            took.fetch_add(1, Ordering::Relaxed);
                        }
                        if own.len() > round % 17 {
                            let n = own.swap_remove(round % own.len());
                            state[n].store(true, Ordering::SeqCst);
                            f.put(n);
                        }
                    }
                    own.into_iter().for_each(|n| {
                        state[n].store(true, Ordering::SeqCst);
                        f.put(n);
                    });
                });
            }
        });
        assert!(took.load(Ordering::Relaxed) > SLOTS);
        let mut all: Vec<usize> = std::iter::from_fn(|| {
            f.take(SLOTS, |n| state[n].swap(false, Ordering::SeqCst), |n| state[n].load(Ordering::SeqCst))
        })
        .collect();
        all.sort_unstable();
        assert_eq!(all, (0..SLOTS).collect::<Vec<_>>(), "every free slot has its bit");
    }
}
