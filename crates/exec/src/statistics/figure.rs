//! The figures of one statement of a session, and what is charged to it.

use library_cache::{Delta, Handle, LibraryCache};
use process::Process;
use wait::Stat;

/// A length of time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    /// Ticks of the time-stamp counter.
    pub(super) ticks: u64,
    /// Nanoseconds of waits among them.
    pub(super) waited_ns: u64,
}

impl Span {
    pub(super) fn add(&mut self, ticks: u64, waited_ns: u64) {
        self.ticks += ticks;
        self.waited_ns += waited_ns;
    }
}

/// Blocks got and blocks read, and microseconds of waits of the classes of [`wait::CHARGED`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Blocks {
    pub(super) gets: u64,
    pub(super) reads: u64,
    pub(super) waits_us: [u64; wait::CHARGED.len()],
}

impl Blocks {
    /// The totals of a session up to now.
    #[inline]
    pub(super) fn of(p: &Process) -> Blocks {
        let line = p.stats();
        let (gets, reads) = (line.get(Stat::SessionLogicalReads), line.get(Stat::PhysicalReads));
        Blocks { gets, reads, waits_us: p.charged_us() }
    }

    /// The difference, at least zero.
    #[inline]
    pub(super) fn less(self, other: Blocks) -> Blocks {
        Blocks {
            gets: self.gets.saturating_sub(other.gets),
            reads: self.reads.saturating_sub(other.reads),
            waits_us: std::array::from_fn(|n| self.waits_us[n].saturating_sub(other.waits_us[n])),
        }
    }

    /// The sum of both.
    #[inline]
    pub(super) fn and(self, other: Blocks) -> Blocks {
        Blocks {
            gets: self.gets + other.gets,
            reads: self.reads + other.reads,
            waits_us: std::array::from_fn(|n| self.waits_us[n] + other.waits_us[n]),
        }
    }
}

pub(super) struct Figure {
    pub(super) handle: Handle,
    pub(super) delta: Delta,
    /// Segments that were timed.
    pub(super) timed: Span,
    /// Untimed segments: estimated ticks of processor time, and nanoseconds of their waits.
    pub(super) estimated: f64,
    pub(super) estimated_waited_ns: u64,
    /// Executions of a block, with everything that ran inside.
    pub(super) inclusive: Span,
    /// Fractions of a microsecond left over from the last report.
    pub(super) elapsed_ns: f64,
    pub(super) cpu_ns: f64,
    /// Blocks charged to the session when the execution began, or its part in this call, less those charged to
    /// statements by then; `None` outside an execution.
    pub(super) base: Option<Blocks>,
    /// Number of the session's execution that `base` belongs to.
    pub(super) began: u64,
    /// Whether the figure is in the list of figures to report.
    pub(super) is_noted: bool,
    /// Whether the shared cursor has been replaced by another statement's.
    pub(super) stale: bool,
}

impl Figure {
    pub(super) fn new(handle: Handle) -> Figure {
        Figure {
            handle,
            delta: Delta::default(),
            timed: Span::default(),
            estimated: 0.0,
            estimated_waited_ns: 0,
            inclusive: Span::default(),
            elapsed_ns: 0.0,
            cpu_ns: 0.0,
            base: None,
            began: 0,
            is_noted: false,
            stale: false,
        }
    }

    /// Charges the blocks since `base`, and adds them to `told`, which other statements subtract.
    #[inline]
    pub(super) fn settle(&mut self, now: Blocks, told: &mut Blocks) {
        if let Some(base) = self.base.take() {
            let own = now.less(base.and(*told));
            self.delta.buffer_gets += own.gets;
            self.delta.disk_reads += own.reads;
            self.delta.add_waits(own.waits_us);
            *told = told.and(own);
        }
    }

    /// Adds the counts to the shared cursor and resets them.
    pub(super) fn tell(&mut self, p: &Process, library: &LibraryCache) {
        let whole = |ns: &mut f64| {
            let us = (*ns / 1000.0).floor().max(0.0);
            *ns -= us * 1000.0;
            us as u64
        };
        self.delta.elapsed_us += whole(&mut self.elapsed_ns);
        self.delta.cpu_us += whole(&mut self.cpu_ns);
        if self.delta != Delta::default() {
            self.stale |= !library.add(p, self.handle, &self.delta);
            self.delta = Delta::default();
        }
    }
}
