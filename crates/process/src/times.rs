//! The time model and the sums over sessions, live and ended.

use crate::handle::Moment;
use crate::slots::ProcessSlot;
use crate::{Process, Processes};
use latch::Where;
use std::sync::atomic::Ordering;
use wait::{Event, EventTotal, ParseBegan, Stat, StatLine, TimeStat, WaitSlot};

/// The sums of one event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventSums {
    pub waits: u64,
    pub timeouts: u64,
    pub us: u64,
    pub max_us: u64,
}

impl EventSums {
    fn of(total: &EventTotal) -> EventSums {
        EventSums { waits: total.waits(), timeouts: total.timeouts(), us: total.time_us(), max_us: total.max_us() }
    }

    fn add(&mut self, more: &EventSums) {
        self.waits = self.waits.wrapping_add(more.waits);
        self.timeouts = self.timeouts.wrapping_add(more.timeouts);
        self.us = self.us.wrapping_add(more.us);
        self.max_us = self.max_us.max(more.max_us);
    }
}

/// The sessions of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// All sessions.
    All,
    /// Sessions of users.
    Foreground,
}

impl Processes {
    /// Notes the processor time of an ended process of the operating system before it is reaped: dead sessions keep it.
    pub fn note_ended(&self, os_pid: i32, cpu_ns: u64) {
        for (number, _) in self.live().filter(|(_, slot)| slot.state().1 == os_pid) {
            self.stats[number as usize - 1].set_ended_cpu(cpu_ns);
        }
    }

    /// Counts a write of the log that a process made for LGWR. It is not a wait of the session, which is in its own
    /// wait meanwhile; it counts as a wait of a background process.
    pub fn note_log_write(&self, ns: u64) {
        self.totals[self.leaders()].note(Event::LogFileParallelWrite, ns);
    }

    /// The line of processes that write the log in place of LGWR.
    fn leaders(&self) -> usize {
        self.slots.len() + 2
    }

    /// The line of ended sessions.
    pub(crate) fn gone(&self, is_background: bool) -> usize {
        self.slots.len() + usize::from(is_background)
    }

    /// The lines of live and of ended sessions.
    pub(crate) fn lines(&self, whose: Whose) -> impl Iterator<Item = usize> {
        let counts = move |slot: &ProcessSlot| whose == Whose::All || !slot.is_background();
        let live = self.live().filter(move |(_, slot)| counts(slot)).map(|(number, _)| number as usize - 1);
        let last = if whose == Whose::All { self.leaders() } else { self.gone(false) };
        live.chain(self.gone(false)..=last)
    }

    /// The time of a live session since it began that is not yet in its line.
    pub(crate) fn times_untold(&self, sid: u32) -> [u64; TimeStat::COUNT] {
        let mut times = [0; TimeStat::COUNT];
        let Some(slot) = self.slot(sid) else { return times };
        let (line, wait): (&StatLine, &WaitSlot) = (&self.stats[sid as usize - 1], &self.waits[sid as usize - 1]);
        if line.began_ns() == 0 {
            return times;
        }
        // For an ended process whose processor time was not noted, only its last published figure is known.
        let told = || line.get(Stat::CpuUsedByThisSession) * 1000;
        let cpu = || line.cpu_ns(os::clock::process_cpu_ns(slot.state().1)).unwrap_or_else(told);
        line.read_times(&mut times, || wait.busy_ns(), cpu);
        let (of_elapsed, of_cpu) = match slot.is_background() {
            true => (TimeStat::BackgroundElapsed, TimeStat::BackgroundCpu),
            false => (TimeStat::DbTime, TimeStat::DbCpu),
        };
        let used_us = cpu() / 1000;
        // The whole is read after its parts. The processor time of beginning and ending idle waits belongs to no work,
        // so a session shows no more processor time than busy time.
        let busy_us = wait.busy_ns() / 1000;
        times[of_elapsed as usize] = busy_us;
        times[of_cpu as usize] = used_us.min(busy_us);
        times
    }

    /// All times of a session, including those of a background process that are not in the time model.
    fn all_times(&self, sid: u32) -> Option<[u64; TimeStat::COUNT]> {
        let line = self.stat_line(sid)?;
        let mut times = self.times_untold(sid);
        for (time, word) in times.iter_mut().zip(line.time_words()) {
            *time += word.load(Ordering::Relaxed);
        }
        Some(times)
    }

    /// The time model of a session, in microseconds, in the order of [`TimeStat`]; `None` for an unknown number.
    #[must_use]
    pub fn session_times(&self, sid: u32) -> Option<[u64; TimeStat::COUNT]> {
        let times = self.all_times(sid)?;
        Some(if self.slot(sid)?.is_background() { of_background(&times) } else { times })
    }

    /// The time model of all sessions, live and ended.
    #[must_use]
    pub fn system_times(&self, by: &Process) -> [u64; TimeStat::COUNT] {
        let [users, background] = self.times_of_both(by);
        let mut times = of_background(&background);
        times.iter_mut().zip(users).for_each(|(sum, us)| *sum = sum.wrapping_add(us));
        times
    }

    /// The times of user sessions and of background processes, live and ended, including background times that are not
    /// in the time model.
    #[must_use]
    pub fn times_of_both(&self, by: &Process) -> [[u64; TimeStat::COUNT]; 2] {
        by.read_versioned(self.folding, Where::KsuFoldStatistics, || {
            let mut sums = [[0u64; TimeStat::COUNT]; 2];
            for (sid, slot) in self.live() {
                let sums = &mut sums[usize::from(slot.is_background())];
                let times = self.all_times(sid).into_iter().flatten();
                sums.iter_mut().zip(times).for_each(|(sum, us)| *sum = sum.wrapping_add(us));
            }
            for (is_background, sums) in [false, true].into_iter().zip(&mut sums) {
                let words = self.stats[self.gone(is_background)].time_words();
                sums.iter_mut()
                    .zip(words)
                    .for_each(|(sum, word)| *sum = sum.wrapping_add(word.load(Ordering::Relaxed)));
            }
            sums
        })
    }

    /// The row of `v$sysstat` for every statistic: all sessions, live and ended.
    #[must_use]
    pub fn system_stats(&self, by: &Process) -> Vec<u64> {
        let mut sums = by.read_versioned(self.folding, Where::KsuFoldStatistics, || {
            let mut sums = vec![0u64; Stat::COUNT];
            let mut waited = (0, 0);
            for n in self.lines(Whose::All) {
                for (sum, word) in sums.iter_mut().zip(self.stats[n].words()) {
                    *sum = sum.wrapping_add(word.load(Ordering::Relaxed));
                }
                let (waits, us) = self.totals[n].non_idle();
                waited = (waited.0 + waits, waited.1 + us);
            }
            set_waited(&mut sums, waited);
            sums
        });
        let [mut times, background] = self.times_of_both(by);
        times.iter_mut().zip(background).for_each(|(sum, us)| *sum = sum.wrapping_add(us));
        set_times(&mut sums, &times);
        sums
    }

    /// The row of `v$sesstat` for every statistic of a session; `None` for an unknown number.
    #[must_use]
    pub fn session_stats(&self, sid: u32) -> Option<Vec<u64>> {
        let line = self.stat_line(sid)?;
        let mut values: Vec<u64> = line.words().iter().map(|word| word.load(Ordering::Relaxed)).collect();
        set_waited(&mut values, self.event_totals(sid)?.non_idle());
        set_times(&mut values, &self.all_times(sid)?);
        Some(values)
    }

    /// The sums of an event over all sessions and over those of users. Each session is read once, so that the second is
    /// a part of the first.
    #[must_use]
    pub fn system_event_sums(&self, by: &Process, event: Event) -> [EventSums; 2] {
        by.read_versioned(self.folding, Where::KsuFoldStatistics, || {
            let mut sums = [EventSums::default(); 2];
            let live = self.live().map(|(number, slot)| (number as usize - 1, !slot.is_background()));
            let gone = (self.gone(false)..=self.leaders()).map(|line| (line, line == self.gone(false)));
            for (line, is_users) in live.chain(gone) {
                let total = EventSums::of(self.totals[line].of(event));
                sums[0].add(&total);
                if is_users {
                    sums[1].add(&total);
                }
            }
            sums
        })
    }

    /// The row of `v$system_event` for an event, and its histogram.
    #[must_use]
    pub fn system_event(
        &self,
        by: &Process,
        event: Event,
        whose: Whose,
    ) -> (EventSums, [u64; wait::HISTOGRAM_BUCKETS]) {
        by.read_versioned(self.folding, Where::KsuFoldStatistics, || {
            let mut sums = EventSums::default();
            let mut histogram = [0u64; wait::HISTOGRAM_BUCKETS];
            for total in self.lines(whose).map(|n| self.totals[n].of(event)) {
                sums.add(&EventSums::of(total));
                for (sum, value) in histogram.iter_mut().zip(total.histogram()) {
                    *sum = sum.wrapping_add(value);
                }
            }
            (sums, histogram)
        })
    }
}

/// The times of a background process that belong to the time model.
fn of_background(times: &[u64; TimeStat::COUNT]) -> [u64; TimeStat::COUNT] {
    let mut model = [0; TimeStat::COUNT];
    TimeStat::OF_BACKGROUND.iter().for_each(|stat| model[*stat as usize] = times[*stat as usize]);
    model
}

/// Sets the statistics that are sums over the events.
fn set_waited(values: &mut [u64], (waits, us): (u64, u64)) {
    values[Stat::NonIdleWaitCount as usize] = waits;
    values[Stat::NonIdleWaitTime as usize] = us;
}

/// Sets the statistics that equal figures of the time model or other statistics, and converts those in hundredths of a
/// second.
fn set_times(values: &mut [u64], times: &[u64; TimeStat::COUNT]) {
    values[Stat::RedoWriteTime as usize] = values[Stat::RedoWriteTimeUsec as usize];
    for (stat, time) in [
        (Stat::DbTime, TimeStat::DbTime),
        (Stat::ParseTimeElapsed, TimeStat::Parse),
        (Stat::ParseTimeCpu, TimeStat::ParseCpu),
    ] {
        values[stat as usize] = times[time as usize];
    }
    wait::CENTISECONDS.iter().for_each(|stat| values[*stat as usize] /= 10_000);
}

/// Times a parse call.
#[derive(Debug)]
pub struct ParseClock {
    /// True unless this is a parse within a parse.
    is_first: bool,
    /// `None` where it is not timed separately.
    began: Option<ParseBegan>,
    /// Nanoseconds that the session had waited before.
    waited_ns: u64,
}

/// A soft parse of at most this length had a processor whenever it did not wait: a process that loses its processor
/// loses it for longer.
const UNBROKEN_NS: u64 = 50_000;

impl Process {
    /// Sets whether parses are timed from now on.
    pub fn set_timed(&self, timed: bool) {
        self.timed.set(timed);
    }

    /// Nanoseconds in which the session was not idle.
    #[inline]
    #[must_use]
    pub fn busy_ns(&self) -> u64 {
        self.latches().waiter().slot.busy_ns()
    }

    /// Processor time since the session began, in nanoseconds, as readers of its line see it.
    fn session_cpu_ns(&self) -> u64 {
        self.stats.cpu_ns(Some(os::clock::own_cpu_ns())).unwrap_or(0)
    }

    /// Begins to execute for the client. Background processes have none.
    pub fn begin_timed_call(&self) {
        if !self.slot().is_background() {
            self.stats.begin_call(self.busy_ns());
        }
    }

    /// Ends the call begun by [`Self::begin_timed_call`].
    pub fn end_timed_call(&self) {
        self.stats.end_call(|| self.busy_ns());
    }

    /// Begins a parse call. A parse within another is part of it.
    #[must_use]
    pub fn begin_parse(&self) -> ParseClock {
        let is_first = !self.parsing.replace(true);
        if is_first {
            self.stats.set_parsing(1);
        }
        let is_timed = is_first && self.timed.get();
        let began = is_timed.then(|| self.stats.begin_parse(|| self.busy_ns()));
        if began.is_some() {
            self.parse_began.set(began);
        }
        ParseClock { is_first, began, waited_ns: self.waited_ns() }
    }

    /// Marks the parse call in progress as making a shared cursor: its whole time counts as that of a hard parse.
    pub fn parse_is_hard(&self) {
        if self.parsing.get() {
            self.stats.set_parsing(2);
        }
        if let Some(began) = self.parse_began.get() {
            // The part before this call was short.
            let took = || self.busy_ns().saturating_sub(began.at_ns());
            self.stats.parse_is_hard(began, || self.session_cpu_ns().saturating_sub(took().min(UNBROKEN_NS)));
        }
    }

    /// Ends a parse call and adds it to the time model.
    pub fn end_parse(&self, clock: &ParseClock, has_failed: bool) {
        if clock.is_first {
            self.parsing.set(false);
            self.stats.set_parsing(0);
        }
        if let Some(began) = clock.began {
            self.parse_began.set(None);
            let used = |took_ns| self.used_by_parse(took_ns, self.waited_ns().saturating_sub(clock.waited_ns));
            self.stats.end_parse(began, has_failed, || self.busy_ns(), || self.session_cpu_ns(), used);
        }
    }

    /// Notes the processor time of the session's thread; `now_ns` is the present value of [`os::clock::now_ns`].
    pub fn note_cpu(&self, now_ns: u64, cpu_ns: u64) {
        self.cpu_noted.set(Moment { now_ns, waited_ns: self.waited_ns(), cpu_ns });
    }

    /// The processor time of an ended soft parse, from its elapsed time and its waits. Reading the clock of processor
    /// time costs a tenth of such a parse, so it is read only for a long parse: the time in which the session had no
    /// processor since the last reading is then charged to that parse.
    fn used_by_parse(&self, took_ns: u64, waited_ns: u64) -> u64 {
        let busy_ns = took_ns.saturating_sub(waited_ns);
        if took_ns <= UNBROKEN_NS {
            return busy_ns;
        }
        let before = self.cpu_noted.get();
        self.note_cpu(os::clock::now_ns(), os::clock::thread_cpu_ns());
        let now = self.cpu_noted.get();
        let used_ns = now.cpu_ns.saturating_sub(before.cpu_ns);
        let waited_ns = now.waited_ns.saturating_sub(before.waited_ns);
        let stood_ns = now.now_ns.saturating_sub(before.now_ns).saturating_sub(waited_ns).saturating_sub(used_ns);
        busy_ns.saturating_sub(stood_ns).min(used_ns)
    }
}
