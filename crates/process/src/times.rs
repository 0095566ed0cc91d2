//! Whose time went where: the time model and the sums over sessions, past and present.

use crate::slots::ProcessSlot;
use crate::{Process, Processes};
use latch::Where;
use std::sync::atomic::Ordering;
use wait::{Event, EventTotal, Stat, StatLine, TimeStat, Waiter};

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

/// Whose figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Of all sessions.
    All,
    /// Of those of users.
    Foreground,
}

impl Processes {
    /// Notes what a process of the operating system has used that has ended and is about to be forgotten: sessions of the dead keep it.
    pub fn note_ended(&self, os_pid: i32, cpu_ns: u64) {
        for (number, _) in self.live().filter(|(_, slot)| slot.state().1 == os_pid) {
            self.stats[number as usize - 1].set_ended_cpu(cpu_ns);
        }
    }

    /// Counts a write of the log that a process made for LGWR, while it was the one that may write. It is no wait of its session, which
    /// is in one of its own; it counts as one of a background process.
    pub fn note_log_write(&self, ns: u64) {
        self.totals[self.leaders()].note(Event::LogFileParallelWrite, ns);
    }

    /// The line of what processes do that stand in for LGWR.
    fn leaders(&self) -> usize {
        self.slots.len() + 2
    }

    /// The line of those that are gone.
    pub(crate) fn gone(&self, is_background: bool) -> usize {
        self.slots.len() + usize::from(is_background)
    }

    /// The lines of the sessions there are, and of those that are gone.
    pub(crate) fn lines(&self, whose: Whose) -> impl Iterator<Item = usize> {
        let counts = move |slot: &ProcessSlot| whose == Whose::All || !slot.is_background();
        let live = self.live().filter(move |(_, slot)| counts(slot)).map(|(number, _)| number as usize - 1);
        let last = if whose == Whose::All { self.leaders() } else { self.gone(false) };
        live.chain(self.gone(false)..=last)
    }

    /// Up to when a session has not been idle, in nanoseconds, and the microseconds that it had been idle by then:
    /// [`Waiter::busy_until`].
    #[must_use]
    pub fn busy_until(&self, sid: u32) -> (u64, u64) {
        let n = sid as usize - 1;
        Waiter { slot: &self.waits[n], totals: &self.totals[n] }.busy_until()
    }

    /// What a live session has used since it began and has not put into its line.
    pub(crate) fn times_untold(&self, sid: u32) -> [u64; TimeStat::COUNT] {
        let mut times = [0; TimeStat::COUNT];
        let Some(slot) = self.slot(sid) else { return times };
        let line: &StatLine = &self.stats[sid as usize - 1];
        let began = line.began_ns();
        if began == 0 {
            return times;
        }
        let (now, idle) = self.busy_until(sid);
        let elapsed = (now.saturating_sub(began) / 1000).saturating_sub(idle);
        // Of a process that has gone, and whose end nobody has noted, only what it told last is known.
        let told = || line.get(Stat::CpuUsedByThisSession);
        let cpu = line.cpu_ns(os::clock::process_cpu_ns(slot.state().1)).map_or_else(told, |ns| ns / 1000);
        let (of_elapsed, of_cpu) = match slot.is_background() {
            true => (TimeStat::BackgroundElapsed, TimeStat::BackgroundCpu),
            false => (TimeStat::DbTime, TimeStat::DbCpu),
        };
        times[of_elapsed as usize] = elapsed;
        times[of_cpu as usize] = cpu;
        if !slot.is_background() {
            times[TimeStat::SqlExecute as usize] = line.call_us(now, idle);
        }
        times
    }

    /// The time model of a session, in microseconds, in the order of [`TimeStat`]; `None` for a number that is none's.
    #[must_use]
    pub fn session_times(&self, sid: u32) -> Option<[u64; TimeStat::COUNT]> {
        let line = self.stat_line(sid)?;
        let mut times = self.times_untold(sid);
        for (time, word) in times.iter_mut().zip(line.time_words()) {
            *time += word.load(Ordering::Relaxed);
        }
        Some(times)
    }

    /// The time model of all sessions, past and present.
    #[must_use]
    pub fn system_times(&self, by: &Process) -> [u64; TimeStat::COUNT] {
        by.read_versioned(self.folding, Where::KsuFoldStatistics, || {
            let mut sums = [0; TimeStat::COUNT];
            let live: Vec<u32> = self.live().map(|(number, _)| number).collect();
            for sid in live {
                let untold = self.times_untold(sid);
                sums.iter_mut().zip(untold).for_each(|(sum, us)| *sum += us);
            }
            for line in self.lines(Whose::All).map(|n| &self.stats[n]) {
                for (sum, word) in sums.iter_mut().zip(line.time_words()) {
                    *sum = sum.wrapping_add(word.load(Ordering::Relaxed));
                }
            }
            sums
        })
    }

    /// The row of `v$sysstat` for every statistic: all sessions, past and present.
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
        set_times(&mut sums, &self.system_times(by));
        sums
    }

    /// The row of `v$sesstat` for every statistic of a session; `None` for a number that is none's.
    #[must_use]
    pub fn session_stats(&self, sid: u32) -> Option<Vec<u64>> {
        let line = self.stat_line(sid)?;
        let mut values: Vec<u64> = line.words().iter().map(|word| word.load(Ordering::Relaxed)).collect();
        set_waited(&mut values, self.event_totals(sid)?.non_idle());
        set_times(&mut values, &self.session_times(sid)?);
        Some(values)
    }

    /// The sums of an event over all sessions and over those of users. Each session is read once, so that the second is a part of the
    /// first.
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

/// Statistics that are sums over the events.
fn set_waited(values: &mut [u64], (waits, us): (u64, u64)) {
    values[Stat::NonIdleWaitCount as usize] = waits;
    values[Stat::NonIdleWaitTime as usize] = us;
}

/// Statistics that are a figure of the time model or another one; and what is shown in hundredths of a second is.
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

/// What a parse call came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// The shared cursor was there.
    Soft,
    /// It was made.
    Hard,
    /// An error.
    Failed,
}

/// Times a parse call.
#[derive(Debug)]
pub struct ParseClock {
    /// Not a parse within a parse.
    is_first: bool,
    /// Nothing where it is not timed by itself.
    began: Option<(u64, u64)>,
}

impl Process {
    /// Says whether parses are timed from now on.
    pub fn set_timed(&self, timed: bool) {
        self.timed.set(timed);
    }

    /// Begins a parse call. One within another is part of it.
    #[must_use]
    pub fn begin_parse(&self) -> ParseClock {
        let is_first = !self.parsing.replace(true);
        if is_first {
            self.stats.set_parsing(1);
        }
        let is_timed = is_first && self.timed.get();
        ParseClock { is_first, began: is_timed.then(|| (os::clock::now_ns(), os::clock::thread_cpu_ns())) }
    }

    /// Says that the parse call in progress makes a shared cursor.
    pub fn parse_is_hard(&self) {
        if self.parsing.get() {
            self.stats.set_parsing(2);
        }
    }

    /// Ends a parse call: the time model.
    pub fn end_parse(&self, clock: &ParseClock, how: Parsed) {
        let line = self.stats;
        if clock.is_first {
            self.parsing.set(false);
            line.set_parsing(0);
        }
        let Some((began_ns, cpu_ns)) = clock.began else { return };
        let us = os::clock::now_ns().saturating_sub(began_ns) / 1000;
        line.add_time(TimeStat::Parse, us);
        match how {
            Parsed::Soft => {}
            Parsed::Hard => line.add_time(TimeStat::HardParse, us),
            Parsed::Failed => line.add_time(TimeStat::FailedParse, us),
        }
        line.add_time(TimeStat::ParseCpu, os::clock::thread_cpu_ns().saturating_sub(cpu_ns) / 1000);
    }
}
