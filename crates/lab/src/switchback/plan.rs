//! The plan of a switchback: its structure, two designs, load and time.

use std::time::Duration;

/// A structure with designs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Structure {
    CacheBuffersChains,
    ResultCache,
    RowCache,
    LibraryCache,
    LatchSleep,
    SpinCount,
}

impl Structure {
    /// The parameter that switches it.
    pub fn parameter(self) -> &'static str {
        match self {
            Structure::CacheBuffersChains => "_switch_cache_buffers_chains",
            Structure::ResultCache => "_switch_result_cache",
            Structure::RowCache => "_switch_row_cache",
            Structure::LibraryCache => "_switch_library_cache",
            Structure::LatchSleep => "_switch_latch_sleep",
            Structure::SpinCount => "_spin_count",
        }
    }

    /// Its name in `x$ksldesign`.
    pub fn name(self) -> &'static str {
        match self {
            Structure::CacheBuffersChains => "cache buffers chains",
            Structure::ResultCache => "result cache",
            Structure::RowCache => "row cache",
            Structure::LibraryCache => "library cache",
            Structure::LatchSleep => "latch sleep",
            Structure::SpinCount => "spin count",
        }
    }
}

/// The plan of a run, without the load.
pub struct Plan {
    pub structure: Structure,
    pub designs: [String; 2],
    pub period: Duration,
    pub burn_in: Duration,
    pub limit: Duration,
    /// Half of the interval at which the run ends, in logarithm.
    pub width: f64,
    pub seed: u64,
}

/// The ages at which the counts of a period are read, in milliseconds since its switch.
const AGES_MS: [u64; 5] = [0, 5, 10, 20, 50];

impl Plan {
    /// The ages of the readings before the end of a period: those of the curve by age, and one and two burn-ins. A
    /// reading costs a fraction of a millisecond, so short periods have fewer.
    pub fn ages(&self) -> Vec<Duration> {
        let last = self.period.mul_f64(0.7);
        let of_curve = AGES_MS.map(Duration::from_millis).into_iter().filter(|age| *age <= last);
        let mut all: Vec<Duration> = of_curve.chain([self.burn_in, 2 * self.burn_in]).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readings_have_both_burn_ins_and_leave_room_for_the_end() {
        let plan = |period, burn_in| Plan {
            structure: Structure::RowCache,
            designs: ["a".into(), "b".into()],
            period: Duration::from_millis(period),
            burn_in: Duration::from_millis(burn_in),
            limit: Duration::from_secs(1),
            width: 0.01,
            seed: 1,
        };
        let ages = |period, burn_in| plan(period, burn_in).ages().iter().map(Duration::as_millis).collect::<Vec<_>>();
        assert_eq!(ages(100, 5), [0, 5, 10, 20, 50]);
        assert_eq!(ages(100, 8), [0, 5, 8, 10, 16, 20, 50]);
        assert_eq!(ages(20, 1), [0, 1, 2, 5, 10]);
    }
}
