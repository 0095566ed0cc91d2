//! The figures of a session: the clocks of a call, and the division of its time among the statements.

use super::figure::{Blocks, Figure, Span};
use library_cache::{Handle, LibraryCache};
use process::Process;

/// The choice of the segments of a statement that are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// No segments: ELAPSED_TIME and CPU_TIME do not change.
    Off,
    /// Long segments, and a sample of the short ones.
    Sampled,
    /// All segments.
    All,
}

/// Average number of short segments for one that is timed; a power of two.
const ONE_IN: u32 = 64;
/// Statements in a session's list before the list is cleared.
const STATEMENTS_MOST: usize = 4096;
/// Time between two reports of a long execution.
const PROGRESS_NS: u64 = 1_000_000_000;
/// Ticks of a nanosecond, before a call has measured it.
const TICKS_A_NS: f64 = 2.5;
/// No figure: no statement is running.
pub(super) const NOBODY: u32 = u32::MAX;

/// The clocks of the call in progress.
pub(super) struct Meter {
    /// When the call began, or the part of it whose time is not divided yet; 0 outside a call.
    pub(super) began_ns: u64,
    /// Processor time of the process when time was last divided; 0 before the first time.
    pub(super) cpu_ns: u64,
    /// The figure whose segment is running: its position in the list, or [`NOBODY`].
    pub(super) current: u32,
    /// Counter and waits at the last switch of segments.
    pub(super) mark: Span,
    /// Time outside of all statements.
    pub(super) rest: Span,
    /// Ticks of a nanosecond, as measured in the last part of a call that was long enough.
    pub(super) ticks_a_ns: f64,
    /// Number of the call.
    pub(super) call: u64,
    /// State of the random numbers.
    pub(super) lot: u32,
}

impl Default for Meter {
    fn default() -> Meter {
        Meter {
            began_ns: 0,
            cpu_ns: 0,
            current: NOBODY,
            mark: Span::default(),
            rest: Span::default(),
            ticks_a_ns: TICKS_A_NS,
            call: 0,
            lot: 0x9e37_79b9,
        }
    }
}

/// How the time of a part of a call is divided.
struct Share {
    ns_a_tick: f64,
    /// Processor nanoseconds for each nanosecond without a wait.
    processor: f64,
    /// Elapsed nanoseconds for each estimated tick.
    estimate: f64,
}

impl Share {
    /// `elapsed` and `used` are nanoseconds by the clock and of a processor.
    fn of(figures: &[Figure], noted: &[u32], rest: Span, elapsed: f64, used: f64) -> Share {
        let (mut ticks, mut waited) = (rest.ticks as f64, rest.waited_ns as f64);
        let (mut estimated, mut estimated_waited) = (0.0, 0.0);
        for f in noted.iter().filter_map(|at| figures.get(*at as usize)) {
            ticks += f.timed.ticks as f64;
            waited += (f.timed.waited_ns + f.estimated_waited_ns) as f64;
            estimated += f.estimated;
            estimated_waited += f.estimated_waited_ns as f64;
        }
        let ns_a_tick = if ticks > 0.0 { elapsed / ticks } else { 0.0 };
        let busy = (elapsed - waited).max(0.0);
        let used = used.min(busy);
        let processor = if busy > 0.0 { used / busy } else { 0.0 };
        let wanted = if processor > 0.0 { ns_a_tick / processor } else { ns_a_tick };
        // Untimed segments are counted in the time outside of all statements.
        let left = (rest.ticks as f64 * ns_a_tick - rest.waited_ns as f64 - estimated_waited).max(0.0);
        let estimate = if estimated * wanted > left { left / estimated } else { wanted };
        Share { ns_a_tick, processor, estimate }
    }

    /// Adds a figure's share to it.
    fn give(&self, f: &mut Figure) {
        for span in [std::mem::take(&mut f.timed), std::mem::take(&mut f.inclusive)] {
            let elapsed = span.ticks as f64 * self.ns_a_tick;
            f.elapsed_ns += elapsed;
            f.cpu_ns += (elapsed - span.waited_ns as f64).max(0.0) * self.processor;
        }
        let busy = std::mem::take(&mut f.estimated) * self.estimate;
        f.elapsed_ns += busy + std::mem::take(&mut f.estimated_waited_ns) as f64;
        f.cpu_ns += busy * self.processor;
    }
}

/// A running block, and the totals up to which it is charged.
pub(super) struct Running {
    /// The figure of the block.
    pub(super) key: StatementKey,
    pub(super) handle: Handle,
    pub(super) since: Span,
    pub(super) base: Blocks,
}

/// A session's figures by statement.
#[derive(Default)]
pub struct Figures {
    pub(super) list: Vec<Figure>,
    /// Positions of the figures to report.
    pub(super) noted: Vec<u32>,
    /// Incremented when the list is cleared, which makes positions in it invalid.
    pub(super) generation: u32,
    pub(super) meter: Meter,
    /// Blocks charged to statements of the session.
    pub(super) told: Blocks,
    /// Number of executions so far, and of those with a base.
    pub(super) executions: u64,
    pub(super) open: u32,
    /// Running PL/SQL blocks, the innermost last.
    pub(super) running: Vec<Running>,
    /// When [`Figures::progress`] next reports.
    pub(super) progress_ns: u64,
}

impl Figures {
    /// A figure to be changed; it is put into the list of figures to report.
    #[inline]
    pub(super) fn slot(&mut self, key: &StatementKey) -> Option<&mut Figure> {
        if key.generation != self.generation + 1 {
            return None;
        }
        let figure = self.list.get_mut(key.index as usize).filter(|f| !f.stale)?;
        if !figure.is_noted {
            figure.is_noted = true;
            self.noted.push(key.index);
        }
        Some(figure)
    }

    pub(super) fn now(p: &Process) -> Span {
        Span { ticks: os::cpu::ticks(), waited_ns: p.waited_ns() }
    }

    /// Begins a call.
    pub fn begin_call(&mut self, p: &Process) {
        let meter = &mut self.meter;
        meter.began_ns = os::clock::now_ns();
        if meter.cpu_ns == 0 {
            meter.cpu_ns = os::clock::thread_cpu_ns();
            p.note_cpu(meter.began_ns, meter.cpu_ns);
        }
        meter.call += 1;
        meter.current = NOBODY;
        meter.rest = Span::default();
        meter.mark = Figures::now(p);
        self.progress_ns = meter.began_ns + PROGRESS_NS;
    }

    /// Switches to the segment of figure `to`; returns the figure that was running.
    pub(super) fn switch(&mut self, p: &Process, to: u32) -> u32 {
        let now = Figures::now(p);
        let ticks = now.ticks.saturating_sub(self.meter.mark.ticks);
        let waited = now.waited_ns.saturating_sub(self.meter.mark.waited_ns);
        self.meter.mark = now;
        let before = std::mem::replace(&mut self.meter.current, to);
        match self.list.get_mut(before as usize) {
            Some(figure) => {
                if !figure.is_noted {
                    figure.is_noted = true;
                    self.noted.push(before);
                }
                figure.timed.add(ticks, waited);
            }
            None => self.meter.rest.add(ticks, waited),
        }
        before
    }

    /// A pseudo-random number below `2 * ONE_IN`.
    pub(super) fn draw(&mut self) -> u32 {
        let lot = &mut self.meter.lot;
        *lot ^= *lot << 13;
        *lot ^= *lot >> 17;
        *lot ^= *lot << 5;
        *lot & (2 * ONE_IN - 1)
    }

    /// Divides the time since the call began, or since the last division.
    fn share_out(&mut self, p: &Process) {
        if self.meter.began_ns == 0 {
            return;
        }
        let current = self.meter.current;
        self.switch(p, current);
        for at in 0..self.running.len() {
            self.so_far(at, p);
        }
        let (now, cpu) = (os::clock::now_ns(), os::clock::thread_cpu_ns());
        let elapsed = now.saturating_sub(self.meter.began_ns) as f64;
        let used = cpu.saturating_sub(self.meter.cpu_ns) as f64;
        (self.meter.began_ns, self.meter.cpu_ns) = (now, cpu);
        p.note_cpu(now, cpu);
        let rest = std::mem::take(&mut self.meter.rest);
        let share = Share::of(&self.list, &self.noted, rest, elapsed, used);
        if elapsed > 50_000.0 && share.ns_a_tick > 0.0 {
            self.meter.ticks_a_ns = 1.0 / share.ns_a_tick;
        }
        for at in &self.noted {
            if let Some(figure) = self.list.get_mut(*at as usize) {
                share.give(figure);
            }
        }
    }

    /// Charges blocks to the open statements, the one that began last first, because it may run inside the others.
    fn settle_open(&mut self, p: &Process, goes_on: bool) {
        let now = Blocks::of(p);
        let mut open: Vec<usize> = (0..self.list.len()).filter(|at| self.list[*at].base.is_some()).collect();
        open.sort_unstable_by_key(|at| std::cmp::Reverse(self.list[*at].began));
        for at in &open {
            let figure = &mut self.list[*at];
            figure.settle(now, &mut self.told);
            if !figure.is_noted {
                figure.is_noted = true;
                self.noted.push(*at as u32);
            }
        }
        if goes_on {
            let base = now.less(self.told);
            open.into_iter().for_each(|at| self.list[at].base = Some(base));
        } else {
            self.open = 0;
        }
    }

    /// Charges the running block at a position for its work so far.
    pub(super) fn so_far(&mut self, at: usize, p: &Process) {
        let (now, blocks) = (Figures::now(p), Blocks::of(p));
        let Some(block) = self.running.get_mut(at) else { return };
        let since = std::mem::replace(&mut block.since, now);
        let own = blocks.less(std::mem::replace(&mut block.base, blocks));
        if block.key.generation != self.generation + 1 {
            // The list was cleared meanwhile.
            block.key = StatementKey { index: self.list.len() as u32, generation: self.generation + 1 };
            self.list.push(Figure::new(block.handle));
        }
        let key = block.key;
        let Some(figure) = self.slot(&key) else { return };
        let ticks = now.ticks.saturating_sub(since.ticks);
        figure.inclusive.add(ticks, now.waited_ns.saturating_sub(since.waited_ns));
        figure.delta.buffer_gets += own.gets;
        figure.delta.disk_reads += own.reads;
        figure.delta.add_waits(own.waits_us);
    }

    fn tell_noted(&mut self, p: &Process, library: &LibraryCache) {
        for at in self.noted.drain(..) {
            if let Some(figure) = self.list.get_mut(at as usize) {
                figure.is_noted = false;
                figure.tell(p, library);
            }
        }
    }

    /// Adds the counts to the shared cursors in the middle of a call, at most once a second.
    pub fn progress(&mut self, p: &Process, library: &LibraryCache) {
        let now = os::clock::now_ns();
        if now < self.progress_ns {
            return;
        }
        self.tell_so_far(p, library);
    }

    /// As [`Figures::progress`], at once, because another session has asked for it.
    #[cold]
    pub fn tell_so_far(&mut self, p: &Process, library: &LibraryCache) {
        self.progress_ns = os::clock::now_ns() + PROGRESS_NS;
        self.settle_open(p, true);
        self.share_out(p);
        self.tell_noted(p, library);
    }

    /// Adds all counts to the shared cursors. Must be called at the end of a call and before the session ends.
    pub fn flush(&mut self, p: &Process, library: &LibraryCache) {
        if self.open > 0 {
            self.settle_open(p, false);
        }
        self.share_out(p);
        self.tell_noted(p, library);
        // The client's time between two fetches does not belong to the statement.
        self.meter.began_ns = 0;
        self.meter.current = NOBODY;
        if self.list.len() >= STATEMENTS_MOST {
            self.start_anew();
        }
    }

    /// Processor time of the thread when it was last measured.
    pub fn cpu_ns(&self) -> u64 {
        self.meter.cpu_ns
    }

    /// Clears the list, which has too many statements. All figures must have been reported.
    fn start_anew(&mut self) {
        self.list.clear();
        self.noted.clear();
        self.open = 0;
        self.meter.current = NOBODY;
        self.generation += 1;
    }

    /// Adds a statement to the list.
    pub(super) fn add(&mut self, handle: Handle, p: &Process, library: &LibraryCache) -> StatementKey {
        if self.list.len() >= 2 * STATEMENTS_MOST {
            self.settle_open(p, false);
            self.share_out(p);
            self.tell_noted(p, library);
            self.start_anew();
        }
        let key = StatementKey { index: self.list.len() as u32, generation: self.generation + 1 };
        self.list.push(Figure::new(handle));
        key
    }
}

/// The figure of a cursor.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StatementKey {
    pub(super) index: u32,
    /// The list's generation plus one; 0: no figure yet.
    pub(super) generation: u32,
}
