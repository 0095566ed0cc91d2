//! Counts of a moment, and the differences between two moments.

use wait::{Stat, TimeStat};

/// Totals of a moment.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    pub wall_ns: u64,
    pub at_ns: u64,
    /// By [`Stat`].
    pub stats: Vec<u64>,
    /// Microseconds by [`TimeStat`].
    pub times: Vec<u64>,
    /// Waits and microseconds of `db file sequential read`.
    pub single_reads: (u64, u64),
    /// Microseconds that users' sessions waited for events that are not idle.
    pub waited_us: u64,
    /// Hundredths of a second of the machine's processors, busy and idle.
    pub host_cs: (u64, u64),
    pub load: f64,
    /// Gets, hits, pins, hits of pins of the library cache.
    pub library: [u64; 4],
    /// Processes, and their limits.
    pub processes: u64,
    pub processes_max: u64,
    pub sessions_max: u64,
}

/// The differences between two moments.
pub struct Span<'a> {
    pub from: &'a Totals,
    pub to: &'a Totals,
}

impl Span<'_> {
    pub fn seconds(&self) -> f64 {
        (self.to.at_ns.saturating_sub(self.from.at_ns) as f64 / 1e9).max(1e-9)
    }

    /// The increase of a statistic. Sessions are summed one after the other, so a sum may decrease; that counts as 0.
    pub fn added(&self, stat: Stat) -> f64 {
        let of = |t: &Totals| t.stats.get(stat as usize).copied().unwrap_or(0);
        of(self.to).saturating_sub(of(self.from)) as f64
    }

    /// The value of a statistic at the end.
    pub fn at_end(&self, stat: Stat) -> f64 {
        self.to.stats.get(stat as usize).map_or(0.0, |n| *n as f64)
    }

    /// The increase of a figure of the time model, in microseconds.
    pub fn time_us(&self, of: TimeStat) -> f64 {
        let at = |t: &Totals| t.times.get(of as usize).copied().unwrap_or(0);
        at(self.to).saturating_sub(at(self.from)) as f64
    }

    /// Commits and rollbacks.
    pub fn transactions(&self) -> f64 {
        self.added(Stat::UserCommits) + self.added(Stat::UserRollbacks)
    }
}
