//! Time that one process counts and anybody reads while it goes on.

use std::sync::atomic::{AtomicU64, Ordering};

/// A sum of time in shared memory, on a clock that never goes back. Its owner starts and stops it, anybody reads it.
///
/// One word has all of it, so every change is one store, and an owner that dies between two of them has counted nothing
/// twice or by half: the low two bits say whether it runs, the others have the sum while it stands, and the sum less
/// the clock while it runs.
///
/// Its value never shrinks, although the owner can lose the processor between looking at the clock and storing what
/// it saw, while others look at a later clock: the owner marks it as being stopped before it looks at the clock, and
/// a reader that finds the mark stops it at the reader's moment.
#[derive(Debug)]
#[repr(transparent)]
pub struct Stopwatch(AtomicU64);

const RUNNING: u64 = 1;
/// Running, and about to be stopped.
const STOPPING: u64 = 3;
const STATE: u64 = 3;

/// The sum, or the sum less the clock: 62 bits, which is 73 years in nanoseconds.
fn sum_of(word: u64) -> u64 {
    (word.cast_signed() >> 2).cast_unsigned()
}

fn word_of(sum: u64, state: u64) -> u64 {
    sum << 2 | state
}

impl Stopwatch {
    /// Sets it to nothing, standing. Only the owner may call this.
    pub fn clear(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Whether it runs.
    #[inline]
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.0.load(Ordering::Relaxed) & RUNNING != 0
    }

    /// Starts it, as at the moment `at` of its clock, which is not before it stopped. Only the owner may call this;
    /// nothing where it runs.
    #[inline]
    pub fn start(&self, at: u64) {
        let word = self.0.load(Ordering::Relaxed);
        if word & RUNNING == 0 {
            self.0.store(word_of(sum_of(word).wrapping_sub(at), RUNNING), Ordering::Relaxed);
        }
    }

    /// Adds time to it while it stands. Only the owner may call this; nothing where it runs.
    #[inline]
    pub fn add(&self, time: u64) {
        let word = self.0.load(Ordering::Relaxed);
        if word & RUNNING == 0 {
            self.0.store(word_of(sum_of(word).wrapping_add(time), 0), Ordering::Relaxed);
        }
    }

    /// Stops it, and gives the moment of its clock at which it stopped: now, where it stands already. Only the owner
    /// may call this. `clock` is looked at behind the word that it is about to stop: a moment known before would be
    /// less than what others have seen.
    #[inline]
    pub fn stop(&self, clock: impl FnOnce() -> u64) -> u64 {
        if !self.is_running() {
            return clock();
        }
        // A full barrier: who reads the word as it was before has looked at the clock before it is looked at here.
        let running = self.0.fetch_or(STOPPING, Ordering::SeqCst) | STOPPING;
        self.finish(running, clock()).wrapping_sub(sum_of(running))
    }

    /// Stops it at `at`, unless somebody else just did; gives the sum.
    fn finish(&self, stopping: u64, at: u64) -> u64 {
        let sum = sum_of(stopping).wrapping_add(at);
        let done = self.0.compare_exchange(stopping, word_of(sum, 0), Ordering::SeqCst, Ordering::SeqCst);
        done.map_or_else(sum_of, |_| sum)
    }

    /// The sum now; `clock` is the one that the owner uses.
    #[must_use]
    pub fn read(&self, clock: impl Fn() -> u64) -> u64 {
        loop {
            let word = self.0.load(Ordering::SeqCst);
            match word & STATE {
                RUNNING => {
                    let at = clock();
                    // Stopped meanwhile: it may have been at an earlier moment.
                    if self.0.load(Ordering::SeqCst) == word {
                        return sum_of(word).wrapping_add(at);
                    }
                }
                STOPPING => {
                    let at = clock();
                    let sum = sum_of(word).wrapping_add(at);
                    if self.0.compare_exchange(word, word_of(sum, 0), Ordering::SeqCst, Ordering::SeqCst).is_ok() {
                        return sum;
                    }
                }
                _ => return sum_of(word),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn it_adds_up_what_passes_while_it_runs() {
        let watch = Stopwatch(AtomicU64::new(0));
        assert_eq!((watch.read(|| 7), watch.is_running()), (0, false));
        watch.start(100);
        watch.start(110);
        assert_eq!((watch.read(|| 130), watch.is_running()), (30, true));
        assert_eq!(watch.stop(|| 150), 150);
        assert_eq!((watch.read(|| 160), watch.stop(|| 170)), (50, 170));
        watch.start(180);
        watch.add(1000);
        assert_eq!((watch.read(|| 190), watch.stop(|| 200)), (60, 200));
        watch.add(5);
        assert_eq!((watch.read(|| 210), watch.is_running()), (75, false));
        watch.clear();
        assert_eq!(watch.read(|| 200), 0);
    }

    #[test]
    fn who_looks_between_the_owners_clock_and_its_store_has_not_seen_too_much() {
        let watch = Stopwatch(AtomicU64::new(0));
        watch.start(100);
        let seen = Cell::new(0);
        // The owner looks at its clock, and loses the processor; a reader looks at a later one.
        let stopped = watch.stop(|| {
            seen.set(watch.read(|| 190));
            150
        });
        assert_eq!((seen.get(), stopped, watch.read(|| 200)), (90, 190, 90));
        // A reader has looked at the clock, and the owner stops it at an earlier moment before the reader goes on.
        watch.start(200);
        let first = Cell::new(true);
        let sum = watch.read(|| {
            if first.replace(false) {
                watch.stop(|| 250);
            }
            260
        });
        assert_eq!((sum, watch.read(|| 300)), (140, 140));
    }

    #[test]
    fn it_never_shrinks_whoever_looks() {
        let (watch, over) = (Stopwatch(AtomicU64::new(0)), std::sync::atomic::AtomicBool::new(false));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut last = 0;
                    while !over.load(Ordering::Relaxed) {
                        let now = watch.read(os::clock::now_ns);
                        assert!(now >= last, "{last} {now}");
                        last = now;
                    }
                });
            }
            let mut sum = 0;
            for _ in 0..20_000 {
                let began = os::clock::now_ns();
                watch.start(began);
                sum += watch.stop(os::clock::now_ns) - began;
            }
            over.store(true, Ordering::Relaxed);
            assert_eq!(watch.read(os::clock::now_ns), sum);
        });
    }
}
