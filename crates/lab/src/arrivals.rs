//! Operations that arrive at a given rate, whether or not the earlier ones have ended: an open loop.
//!
//! The moments of all arrivals of a cell are computed beforehand from the seed. The sessions take them in order from
//! one queue: a free session sleeps until the next arrival, and an arrival that finds no free session waits for one.
//! Spinning until the next arrival was rejected: it takes a processor that the instance needs. A late operation does
//! not move the arrivals behind it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::error::LabError;
use crate::latency::Recorder;

/// The distances between arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Pattern {
    /// Random and independent, as from many users
    Poisson,
    /// All the same
    Constant,
}

impl Pattern {
    pub fn name(self) -> &'static str {
        match self {
            Pattern::Poisson => "poisson",
            Pattern::Constant => "constant",
        }
    }
}

/// The arrivals of a cell, for all of its sessions together.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    pub per_s: f64,
    pub pattern: Pattern,
}

/// More arrivals in a cell would take more memory than their figures are worth.
const ARRIVALS_MAX: f64 = 20_000_000.0;

impl Rate {
    /// The moments of the arrivals in `seconds`, in nanoseconds from the start, ascending.
    ///
    /// # Errors
    /// When there are too many, or none.
    pub fn schedule(self, seconds: f64, seed: u64) -> Result<Vec<u64>, LabError> {
        let expected = self.per_s * seconds;
        if !(1.0..=ARRIVALS_MAX).contains(&expected) {
            return Err(LabError::new(format!(
                "--rate {} for {seconds} seconds are {expected:.1} arrivals a cell: from 1 to {ARRIVALS_MAX:.0} are possible",
                self.per_s
            )));
        }
        if self.pattern == Pattern::Constant {
            return Ok((0..expected as u64).map(|n| (n as f64 / self.per_s * 1e9) as u64).collect());
        }
        let mut state = seed;
        let mut unit = move || {
            // SplitMix64; the same arrivals for a seed on every machine and in every version.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut x = state;
            x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((x ^ x >> 31) >> 11) as f64 / (1u64 << 53) as f64
        };
        let (mut moments, mut at_s) = (Vec::with_capacity(expected as usize), 0.0);
        loop {
            at_s -= (1.0 - unit()).ln() / self.per_s;
            if at_s >= seconds && !moments.is_empty() {
                return Ok(moments);
            }
            moments.push((at_s.min(seconds) * 1e9) as u64);
        }
    }
}

/// The queue of a cell.
pub struct Queue {
    due_ns: Vec<u64>,
    next: AtomicUsize,
    origin: OnceLock<Instant>,
    /// Operations not begun by then are dropped.
    deadline_ns: u64,
}

impl Queue {
    /// A queue of these arrivals; after the last one the sessions have as long again, and at least a second, to begin
    /// what waits.
    pub fn new(due_ns: Vec<u64>, seconds: f64) -> Queue {
        let deadline_ns = ((seconds + seconds.max(1.0)) * 1e9) as u64;
        Queue { due_ns, next: AtomicUsize::new(0), origin: OnceLock::new(), deadline_ns }
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.origin.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Does the work of one session: takes arrivals and performs `operation` for each, until there are no more. Returns
    /// its latencies, the number of operations, and the moment of the last end in seconds.
    ///
    /// # Errors
    /// The error of an operation, or of the system's timer.
    pub fn serve(&self, operation: &mut dyn FnMut() -> Result<(), LabError>) -> Result<(Recorder, u64, f64), LabError> {
        // The end of an ordinary sleep is put off by 50 microseconds, longer than many operations take.
        let timer = os::timer::Timer::new().map_err(|e| LabError::new(e.to_string()))?;
        let (mut recorder, mut done, mut ended_ns) = (Recorder::default(), 0, 0);
        while let Some(due_ns) = self.due_ns.get(self.next.fetch_add(1, Ordering::Relaxed)).copied() {
            let mut begun_ns = self.now_ns();
            let waited = begun_ns < due_ns;
            while begun_ns < due_ns {
                timer.set(Duration::from_nanos(due_ns - begun_ns));
                timer.wait();
                begun_ns = self.now_ns();
            }
            if begun_ns > self.deadline_ns {
                recorder.dropped(due_ns, begun_ns);
                continue;
            }
            operation()?;
            ended_ns = self.now_ns();
            recorder.done(due_ns, begun_ns, ended_ns, waited);
            done += 1;
        }
        Ok((recorder, done, ended_ns as f64 / 1e9))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(per_s: f64, pattern: Pattern) -> Rate {
        Rate { per_s, pattern }
    }

    #[test]
    fn constant_arrivals_have_equal_distances() {
        let moments = rate(1000.0, Pattern::Constant).schedule(0.005, 1).unwrap();
        assert_eq!(moments, [0, 1_000_000, 2_000_000, 3_000_000, 4_000_000]);
    }

    #[test]
    fn random_arrivals_follow_from_the_seed_and_have_exponential_distances() {
        let of = |seed| rate(10_000.0, Pattern::Poisson).schedule(10.0, seed).unwrap();
        let moments = of(7);
        assert_eq!(moments, of(7));
        assert_ne!(moments, of(8));
        assert!(moments.windows(2).all(|w| w[0] <= w[1]) && *moments.last().unwrap() < 10_000_000_000);
        // A hundred thousand arrivals: the standard deviation of their number is 316.
        assert!((98_700..101_300).contains(&moments.len()), "{}", moments.len());
        let gaps: Vec<f64> = moments.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
        // Of exponential distances 36.8 % are longer than the average.
        let long = gaps.iter().filter(|gap| **gap > 100_000.0).count() as f64 / gaps.len() as f64;
        assert!((0.36..0.376).contains(&long), "{long}");
    }

    #[test]
    fn too_many_arrivals_or_none_are_refused() {
        for (per_s, seconds) in [(1e9, 1.0), (0.1, 1.0), (f64::INFINITY, 1.0), (f64::NAN, 1.0), (1.0, f64::INFINITY)] {
            for pattern in [Pattern::Poisson, Pattern::Constant] {
                assert!(rate(per_s, pattern).schedule(seconds, 1).is_err(), "{per_s} {seconds}");
            }
        }
    }

    /// A stall delays all that arrives meanwhile: a measurement from the beginning of each operation would see one slow
    /// operation, and this one sees all.
    #[test]
    fn a_stall_is_seen_by_all_operations_that_arrive_meanwhile() {
        let due = rate(1000.0, Pattern::Constant).schedule(0.1, 1).unwrap();
        let queue = Queue::new(due, 0.1);
        let mut first = true;
        let stall = &mut || {
            if std::mem::take(&mut first) {
                std::thread::sleep(Duration::from_millis(100));
            }
            Ok(())
        };
        let (recorder, done, ended_s) = queue.serve(stall).unwrap();
        let latency = recorder.latency();
        assert_eq!((done, latency.arrivals, latency.dropped), (100, 100, 0));
        assert!(ended_s >= 0.1 && latency.queued >= 99, "{latency:?}");
        // The arrivals at 0 to 99 ms had ended at 100 ms at the earliest.
        assert!(latency.percentiles.p50_us >= 49_000.0 && latency.percentiles.max_us >= 99_000.0, "{latency:?}");
    }

    #[test]
    fn what_is_not_begun_before_the_deadline_is_dropped_and_counted() {
        let queue = Queue { deadline_ns: 20_000_000, ..Queue::new(vec![0, 0, 1_000_000, 2_000_000], 1.0) };
        let slow = &mut || {
            std::thread::sleep(Duration::from_millis(30));
            Ok(())
        };
        let (recorder, done, _) = queue.serve(slow).unwrap();
        let latency = recorder.latency();
        assert_eq!((done, latency.arrivals, latency.dropped), (1, 4, 3));
        assert!(latency.percentiles.p50_us >= 27_000.0, "{latency:?}");
    }
}
