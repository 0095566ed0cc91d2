//! A running sum of time: one process counts, any process reads (invariant 7).

use std::sync::atomic::{AtomicU64, Ordering};

/// A sum of time in shared memory, on a clock that never goes back. The owner starts and stops it; any process reads
/// it.
///
/// One word holds the whole state, so every change is one store, and an owner that dies between two stores has counted
/// nothing twice or in part. The low two bits are the state. The other bits hold the sum while the stopwatch stands,
/// and the sum minus the start time while it runs.
///
/// The value never decreases, although the owner may lose the processor between reading the clock and storing the sum
/// while readers read a later clock: the owner sets the state STOPPING before it reads the clock, and a reader that
/// finds this state stops the stopwatch at the time that the reader has read.
#[derive(Debug)]
#[repr(transparent)]
pub struct Stopwatch(AtomicU64);

const RUNNING: u64 = 1;
/// Running, and about to be stopped by the owner.
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
    /// Sets the sum to zero and the state to standing. Only the owner may call this.
    pub fn clear(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// True while it runs.
    #[inline]
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.0.load(Ordering::Relaxed) & RUNNING != 0
    }

    /// Starts it at the time `at` of its clock, which is not earlier than its last stop. Does nothing while it runs.
    /// Only the owner may call this.
    #[inline]
    pub fn start(&self, at: u64) {
        let word = self.0.load(Ordering::Relaxed);
        if word & RUNNING == 0 {
            self.0.store(word_of(sum_of(word).wrapping_sub(at), RUNNING), Ordering::Relaxed);
        }
    }

    /// Adds time to the sum. Does nothing while it runs. Only the owner may call this.
    #[inline]
    pub fn add(&self, time: u64) {
        let word = self.0.load(Ordering::Relaxed);
        if word & RUNNING == 0 {
            self.0.store(word_of(sum_of(word).wrapping_add(time), 0), Ordering::Relaxed);
        }
    }

    /// Stops it and returns the time at which it stopped, or the current time when it was standing. `clock` is called
    /// after the state is set to STOPPING: a time read before could be earlier than one that a reader has already
    /// shown. Only the owner may call this.
    #[inline]
    pub fn stop(&self, clock: impl FnOnce() -> u64) -> u64 {
        if !self.is_running() {
            return clock();
        }
        // A full barrier: a reader that still finds the word without the mark has read the clock before the owner does
        // here.
        let running = self.0.fetch_or(STOPPING, Ordering::SeqCst) | STOPPING;
        self.finish(running, clock()).wrapping_sub(sum_of(running))
    }

    /// Stops it at `at` unless a reader has just stopped it; returns the sum.
    fn finish(&self, stopping: u64, at: u64) -> u64 {
        let sum = sum_of(stopping).wrapping_add(at);
        let done = self.0.compare_exchange(stopping, word_of(sum, 0), Ordering::SeqCst, Ordering::SeqCst);
        done.map_or_else(sum_of, |_| sum)
    }

    /// The current sum; `clock` is the clock of the owner.
    #[must_use]
    pub fn read(&self, clock: impl Fn() -> u64) -> u64 {
        loop {
            let word = self.0.load(Ordering::SeqCst);
            match word & STATE {
                RUNNING => {
                    let at = clock();
                    // Otherwise the owner has stopped it meanwhile, perhaps at an earlier time than `at`.
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
        // The owner reads its clock and loses the processor; a reader reads a later time.
        let stopped = watch.stop(|| {
            seen.set(watch.read(|| 190));
            150
        });
        assert_eq!((seen.get(), stopped, watch.read(|| 200)), (90, 190, 90));
        // A reader has read the clock, and the owner stops the stopwatch at an earlier time before the reader
        // continues.
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
