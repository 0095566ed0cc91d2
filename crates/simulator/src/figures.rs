//! The figures of a simulated cell.

/// Where the time of sessions goes. Every session is in exactly one of these at any moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum State {
    /// Computing outside of holds.
    Gap,
    /// Computing with a word held, or reading under a version.
    Hold,
    /// Waiting for a cache line.
    Line,
    /// Spinning.
    Spin,
    /// In the operating system: posts, yields, switches.
    System,
    /// Asleep, or on the way from a post to a processor.
    Asleep,
    /// Ready, in a run queue.
    Ready,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 7] = [Self::Gap, Self::Hold, Self::Line, Self::Spin, Self::System, Self::Asleep, Self::Ready];

    /// True when the session occupies a processor.
    #[must_use]
    pub fn is_running(self) -> bool {
        !matches!(self, Self::Asleep | Self::Ready)
    }
}

/// Counts of one latch, as V$LATCH counts: changed when a get has succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Gets.
    pub gets: u64,
    /// Gets whose first try failed.
    pub misses: u64,
    /// Gets that missed and never slept.
    pub spin_gets: u64,
    /// Sleeps and yields of the gets that have succeeded.
    pub sleeps: u64,
    /// Time asleep, from the sleep to the run, in picoseconds.
    pub wait_ps: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, other: &Self) {
        self.gets += other.gets;
        self.misses += other.misses;
        self.spin_gets += other.spin_gets;
        self.sleeps += other.sleeps;
        self.wait_ps += other.wait_ps;
    }
}

/// The figures of a simulated cell, for the window after the warm-up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Sessions.
    pub sessions: u32,
    /// Processors.
    pub cpus: u32,
    /// Length of the window in picoseconds.
    pub window_ps: u64,
    /// Calls that ended.
    pub calls: u64,
    /// Events, the warm-up's too.
    pub events: u64,
    /// Counts by latch.
    pub latches: Vec<Counts>,
    /// Time of all sessions by [`State`], in picoseconds; the sum is sessions times window.
    pub time_ps: [u64; 7],
    /// Busy time of all processors in picoseconds.
    pub busy_ps: u64,
    /// Holds during which a time slice ended.
    pub preempted_holds: u64,
    /// Words handed over to a spinner.
    pub handovers: u64,
    /// Those with more spinners than the machine's curve reaches.
    pub handovers_beyond: u64,
    /// Versioned reads that were repeated, and those that ended in a get.
    pub repeats: u64,
    /// Versioned reads that ended in a get of the latch.
    pub fallbacks: u64,
}

impl Figures {
    /// Counts of all latches.
    #[must_use]
    pub fn total(&self) -> Counts {
        let mut sum = Counts::default();
        self.latches.iter().for_each(|latch| sum.add(latch));
        sum
    }

    /// Calls a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.calls as f64 / (self.window_ps as f64 / 1e12)
    }

    /// Processor time of a call in nanoseconds.
    #[must_use]
    pub fn cpu_ns(&self) -> f64 {
        let running: u64 = State::ALL.iter().filter(|s| s.is_running()).map(|s| self.time_ps[*s as usize]).sum();
        running as f64 / 1e3 / self.calls.max(1) as f64
    }

    /// Misses a get.
    #[must_use]
    pub fn miss_rate(&self) -> f64 {
        let total = self.total();
        total.misses as f64 / total.gets.max(1) as f64
    }

    /// Sleeps a miss.
    #[must_use]
    pub fn sleep_rate(&self) -> f64 {
        let total = self.total();
        total.sleeps as f64 / total.misses.max(1) as f64
    }

    /// Share of the sessions' time asleep for a latch or a mutex.
    #[must_use]
    pub fn asleep_share(&self) -> f64 {
        let all = self.window_ps as f64 * f64::from(self.sessions);
        self.time_ps[State::Asleep as usize] as f64 / all.max(1.0)
    }
}
