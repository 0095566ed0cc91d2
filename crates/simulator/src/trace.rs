//! Traces: recorded calls with their gets, and the text in which they are kept.
//!
//! ```text
//! latch-trace 1
//! name result-cache at one session
//! sessions 1
//! call_ns 312.4
//! overhead_ns 22 20
//! transfer_ns 58
//! own_ns 5
//! latch 0 exclusive Result Cache: RC Latch
//! counted 1 3200000 0 0 312.4
//! counted 2 5900000 0.031 0 340.2
//! window 1 20000 3 309.8 313.1 159 0
//! calls 1
//! gets 1
//! call 30.1
//! get 0 17 r 120 45.2 same
//! ```
//!
//! The lines up to `gets` are the header; each `call` line is followed by the gets of the call. `call` has the time
//! after the last hold of the call. `get` has the latch, the number of the place in the code, `r` or `w`, the time
//! since the hold before it (or since the begin of the call), the time of the hold, and whether the last holder was
//! the `same` session or an `other` one, or is `unknown`. Times are nanoseconds. A gap ends when the get begins, so
//! waits are not in the trace. The format has no hold within a hold.
//!
//! Two more lines may be there: `cpus`, the processors that the recorded sessions could use, and `beyond`, the share
//! of the gets that are in no latch of the trace and count as work. A `window` line compares the recorded calls of a
//! number of sessions with what was counted while they were recorded: sessions, calls in the trace, sampled calls that
//! are not in it, mean time of the recorded calls without waits and stamps, counted processor time of a call without
//! the stamps, time of the stamps that were taken out of a recorded call, and misses a get.

use std::fmt::Write as _;

use crate::design::Design;
use crate::error::Error;
use crate::keyed::number;
use crate::workload::{Get, Recorded, SESSIONS_MAX, Scaling, Workload, ps};

/// The most calls and gets of a trace.
pub const CALLS_MAX: usize = 50_000_000;
/// The most latches.
pub const LATCHES_MAX: usize = 4_096;
/// The longest time in nanoseconds: ten seconds. A longer one is no hold or gap, but a lost stamp.
const TIME_MAX: f64 = 1e10;
/// A factor on the gaps outside of 1 / this to this is no correction any more: the recording misses something.
pub(crate) const SCALE_MOST: f64 = 1.5;
/// Calls that stay together when calls are drawn.
pub const BLOCK: u32 = 8;

/// A latch of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Latch {
    /// The design with which it was recorded.
    pub design: Design,
    /// The name of that design.
    pub design_name: String,
    /// Its name.
    pub name: String,
}

/// Exact counts beside the recording, at some number of sessions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counted {
    /// Sessions.
    pub sessions: u32,
    /// Calls a second of all sessions.
    pub rate: f64,
    /// Misses a get.
    pub miss_rate: f64,
    /// Sleeps a miss.
    pub sleep_rate: f64,
    /// Processor time of a call in nanoseconds.
    pub cpu_ns: f64,
}

/// Recorded calls of some number of sessions beside what was counted while they were recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Sessions.
    pub sessions: u32,
    /// Recorded calls in the trace.
    pub calls: u64,
    /// Sampled calls that are not in the trace: they did not fit a ring, or had not ended.
    pub missing: u64,
    /// Mean time of the recorded calls without waits and stamps, in nanoseconds.
    pub recorded_ns: f64,
    /// Counted processor time of a call, without that of the stamps, in nanoseconds.
    pub counted_ns: f64,
    /// Time of the stamps that were taken out of a recorded call, in nanoseconds.
    pub stamps_ns: f64,
    /// Misses a get.
    pub miss_rate: f64,
}

/// A recorded get.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TracedGet {
    /// The latch.
    pub latch: u16,
    /// The place in the code; the simulator does not use it.
    pub place: u16,
    /// True for a change of the protected data.
    pub write: bool,
    /// Time before it in nanoseconds.
    pub gap_ns: f64,
    /// Time of the hold in nanoseconds.
    pub hold_ns: f64,
    /// True when another session was the last holder, false when it was this one; `None` where it is not known.
    pub other: Option<bool>,
}

/// The facts about a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// Its name.
    pub name: String,
    /// Sessions that were recorded.
    pub sessions: u32,
    /// Processor time of a call of one session, from exact totals; without it forecasts are refused.
    pub call_ns: Option<f64>,
    /// Time that the stamps of a get add to the gap and to the hold.
    pub overhead_ns: (f64, f64),
    /// One-way transfer of a line on the recorded machine.
    pub transfer_ns: Option<f64>,
    /// An atomic operation on an own line of the recorded machine; the two of each get are taken out of the gaps.
    pub own_ns: Option<f64>,
    /// The latches.
    pub latches: Vec<Latch>,
    /// Processors that the recorded sessions could use.
    pub cpus: Option<u32>,
    /// Share of the gets that are in no latch of the trace and count as work.
    pub beyond: f64,
    /// Exact counts.
    pub counted: Vec<Counted>,
    /// Recorded calls beside the counts of the same time; empty in traces of other programs.
    pub windows: Vec<Window>,
}

/// A recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// The facts about it.
    pub header: Header,
    /// The gets of all calls.
    pub gets: Vec<TracedGet>,
    /// The index of the first get of each call.
    pub first: Vec<u32>,
    /// Time after the last hold of each call, in nanoseconds.
    pub tails_ns: Vec<f64>,
}

impl Trace {
    /// Reads the text of a trace.
    ///
    /// # Errors
    /// The line, and what is wrong with it: an unknown word, a time that is none, a latch that is not declared, counts
    /// that differ from the header's.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty() && !line.starts_with('#'));
        match lines.next() {
            Some((line, _)) if line.trim() == "latch-trace 1" => {}
            Some((line, n)) => return Err(Error::at(n, format!("'{}' is not 'latch-trace 1'", short(line)))),
            None => return Err(Error::new("the trace is empty")),
        }
        let mut trace = Self::default();
        let (mut calls, mut gets) = (None, None);
        for (line, n) in lines {
            let (word, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
            let at = |why: String| Error::at(n, why);
            match word {
                "call" if calls.is_none() || gets.is_none() => {
                    return Err(Error::at(n, "the header has no 'calls' or no 'gets' before the first call"));
                }
                "call" => trace.call(time(rest).map_err(at)?).map_err(at)?,
                "get" => trace.get(rest).map_err(at)?,
                "calls" => calls = Some(count(rest, CALLS_MAX).map_err(at)?),
                "gets" => gets = Some(count(rest, CALLS_MAX).map_err(at)?),
                _ => trace.header.line(word, rest).map_err(at)?,
            }
        }
        trace.check(calls.unwrap_or(0), gets.unwrap_or(0))?;
        Ok(trace)
    }

    fn call(&mut self, tail_ns: f64) -> Result<(), String> {
        if self.tails_ns.len() == CALLS_MAX {
            return Err(format!("more than {CALLS_MAX} calls"));
        }
        self.first.push(self.gets.len() as u32);
        self.tails_ns.push(tail_ns);
        Ok(())
    }

    fn get(&mut self, rest: &str) -> Result<(), String> {
        if self.tails_ns.is_empty() {
            return Err("a get before the first call".into());
        }
        if self.gets.len() == CALLS_MAX {
            return Err(format!("more than {CALLS_MAX} gets"));
        }
        let words: Vec<&str> = rest.split_whitespace().collect();
        let [latch, place, mode, gap, hold, last] = words[..] else {
            return Err("a get is: latch, place, r or w, gap, hold, same, other or unknown".into());
        };
        let latch: u16 = latch.parse().map_err(|_| format!("'{}' is no latch number", short(latch)))?;
        let place: u16 = place.parse().map_err(|_| format!("'{}' is no place number", short(place)))?;
        let write = match mode {
            "r" => false,
            "w" => true,
            other => return Err(format!("mode '{}' is neither r nor w", short(other))),
        };
        let other = match last {
            "same" => Some(false),
            "other" => Some(true),
            "unknown" => None,
            word => return Err(format!("'{}' is none of same, other, unknown", short(word))),
        };
        self.gets.push(TracedGet { latch, place, write, gap_ns: time(gap)?, hold_ns: time(hold)?, other });
        Ok(())
    }

    /// Checks what a reader of any form must hold: counts, latches, times.
    pub(crate) fn check(&self, calls: usize, gets: usize) -> Result<(), Error> {
        if (calls, gets) != (self.tails_ns.len(), self.gets.len()) {
            let found = (self.tails_ns.len(), self.gets.len());
            return Err(Error::new(format!(
                "the header states {calls} calls and {gets} gets; the trace has {} and {}",
                found.0, found.1
            )));
        }
        if calls == 0 {
            return Err(Error::new("the trace has no call"));
        }
        if self.header.sessions == 0 {
            return Err(Error::new("'sessions' is missing in the header"));
        }
        let latches = self.header.latches.len();
        if let Some(get) = self.gets.iter().find(|get| usize::from(get.latch) >= latches) {
            return Err(Error::new(format!("a get of latch {}; the header declares {latches}", get.latch)));
        }
        let bad = |ns: &f64| !(0.0..=TIME_MAX).contains(ns);
        let mut times = self.gets.iter().flat_map(|get| [get.gap_ns, get.hold_ns]).chain(self.tails_ns.iter().copied());
        if let Some(ns) = times.find(bad) {
            return Err(Error::new(format!("a time of {ns} ns; expected 0 to {TIME_MAX}")));
        }
        if self.calls().any(|(gets, tail)| tail < 1e-3 && gets.iter().all(|g| g.gap_ns + g.hold_ns < 1e-3)) {
            return Err(Error::new("a call takes no time"));
        }
        Ok(())
    }

    /// The calls: their gets, and the time after the last hold.
    pub fn calls(&self) -> impl Iterator<Item = (&[TracedGet], f64)> {
        let ends = self.first.iter().skip(1).copied().chain([self.gets.len() as u32]);
        let bounds = self.first.iter().copied().zip(ends).zip(&self.tails_ns);
        bounds.map(|((from, to), tail)| (&self.gets[from as usize..to as usize], *tail))
    }

    /// The text of this trace, which [`Trace::parse`] reads back.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = self.header.to_text();
        let _ = writeln!(out, "calls {}\ngets {}", self.tails_ns.len(), self.gets.len());
        for (gets, tail) in self.calls() {
            let _ = writeln!(out, "call {tail}");
            for get in gets {
                let mode = if get.write { 'w' } else { 'r' };
                let last = get.other.map_or("unknown", |other| if other { "other" } else { "same" });
                let (latch, place) = (get.latch, get.place);
                let _ = writeln!(out, "get {latch} {place} {mode} {} {} {last}", get.gap_ns, get.hold_ns);
            }
        }
        out
    }

    /// The time by which holds after another session's are longer, by latch: the move of the protected data. `None`
    /// where the trace has fewer than thirty of either kind. Holds that are shorter after another session's differ by
    /// chance: the move takes no time. Gets whose last holder is not known say nothing.
    #[must_use]
    pub fn hold_steps_ns(&self) -> Vec<Option<f64>> {
        let mut sums = vec![[(0.0, 0u64); 2]; self.header.latches.len()];
        for (get, other) in self.gets.iter().filter_map(|get| Some((get, get.other?))) {
            let sum = &mut sums[usize::from(get.latch)][usize::from(other)];
            (sum.0, sum.1) = (sum.0 + get.hold_ns, sum.1 + 1);
        }
        let step = |[same, other]: &[(f64, u64); 2]| {
            (same.1 >= 30 && other.1 >= 30).then(|| (other.0 / other.1 as f64 - same.0 / same.1 as f64).max(0.0))
        };
        sums.iter().map(step).collect()
    }

    /// The calls that were recorded while one session worked alone; they come first. Their times have no moves of lines
    /// in them, which the simulation adds. 0 where the recording has none, or does not tell.
    #[must_use]
    pub fn alone(&self) -> usize {
        let windows = &self.header.windows;
        let calls = self.tails_ns.len() as u64;
        let alone = windows.first().filter(|window| window.sessions == 1 && self.header.sessions == 1);
        let is_told = windows.iter().try_fold(0u64, |sum, window| sum.checked_add(window.calls)) == Some(calls);
        alone.filter(|_| is_told).map_or(0, |window| window.calls as usize)
    }

    /// The workload: stamps and moves of data are taken out of gaps and holds, and gaps are scaled so that a call takes
    /// the processor time that exact totals say. Where calls of one session alone were recorded, the workload has no
    /// others: those of several sessions tell the moves of the data.
    ///
    /// The lines of the data are the fitted move divided by the recorded machine's transfer; one line where either is
    /// not known. [`Workload::scaling`] says how much had to be changed; a forecast is refused where that is too much.
    #[must_use]
    pub fn workload(&self) -> Workload {
        let steps = self.hold_steps_ns();
        let lines = steps.iter().map(|step| match (step, self.header.transfer_ns) {
            (Some(step), Some(t)) if t > 0.0 => step / t,
            _ => 1.0,
        });
        let lines: Vec<f64> = lines.collect();
        let (of_gap, of_hold) = self.header.overhead_ns;
        let mut left_in_ns = 0.0;
        let mut without = |time: f64, less: f64| {
            left_in_ns += (less - time).max(0.0);
            ps((time - less).max(0.0))
        };
        let calls = match self.alone() {
            0 => self.tails_ns.len(),
            alone => alone,
        };
        let of_calls = self.first.get(calls).map_or(&self.gets[..], |end| &self.gets[..*end as usize]);
        let mut gets: Vec<Get> = Vec::with_capacity(of_calls.len());
        for get in of_calls {
            let moved = if get.other == Some(true) { steps[usize::from(get.latch)].unwrap_or(0.0) } else { 0.0 };
            let (gap_ps, hold_ps) = (without(get.gap_ns, of_gap), without(get.hold_ns, of_hold + moved));
            gets.push(Get { latch: get.latch, write: get.write, gap_ps, hold_ps });
        }
        let mut tails_ps: Vec<u64> = self.tails_ns[..calls].iter().map(|ns| ps(*ns)).collect();
        let gaps: f64 = gets.iter().map(|g| g.gap_ps).chain(tails_ps.iter().copied()).map(|ps| ps as f64).sum();
        let holds: f64 = gets.iter().map(|g| g.hold_ps as f64).sum();
        let factor = self.header.call_ns.map_or(1.0, |call_ns| {
            // The simulation adds the operations on the word, which the counted time has already.
            let atomic = of_calls.iter().filter(|get| self.is_atomic(get)).count() as f64;
            let words = 2.0 * self.header.own_ns.unwrap_or(0.0) * 1e3 * atomic;
            (call_ns * 1e3 * tails_ps.len() as f64 - holds - words) / gaps.max(1.0)
        });
        // With any other factor the forecast is refused, and the gaps stay what they are.
        if (1.0 / SCALE_MOST..=SCALE_MOST).contains(&factor) {
            gets.iter_mut().for_each(|get| get.gap_ps = (get.gap_ps as f64 * factor) as u64);
            tails_ps.iter_mut().for_each(|tail| *tail = (*tail as f64 * factor) as u64);
        }
        let scaling = Scaling {
            gaps: factor,
            left_in: left_in_ns * 1e3 / (gaps + holds).max(1.0),
            lines: lines.iter().copied().fold(0.0, f64::max),
            alone: self.alone() > 0,
        };
        let mut first = self.first[..calls].to_vec();
        first.push(of_calls.len() as u32);
        let names = self.header.latches.iter().map(|latch| latch.name.clone()).collect();
        let calls = Recorded { gets, first, tails_ps, block: BLOCK, blocks: Vec::new() };
        Workload::recorded(names, lines, calls, scaling)
    }

    /// Whether the recorded design wrote the word for this get.
    fn is_atomic(&self, get: &TracedGet) -> bool {
        let latch = self.header.latches.get(usize::from(get.latch));
        get.write || latch.is_some_and(|latch| !matches!(latch.design, Design::Versioned { .. }))
    }

    /// The designs with which the latches were recorded.
    #[must_use]
    pub fn designs(&self) -> Vec<Design> {
        self.header.latches.iter().map(|latch| latch.design).collect()
    }
}

impl Header {
    /// Takes one line of the header.
    pub(crate) fn line(&mut self, word: &str, rest: &str) -> Result<(), String> {
        let words: Vec<&str> = rest.split_whitespace().collect();
        match (word, &words[..]) {
            ("name", _) => self.name = rest.trim().to_owned(),
            ("sessions", [n]) => self.sessions = count(n, SESSIONS_MAX as usize)? as u32,
            ("call_ns", [ns]) => self.call_ns = Some(time(ns)?),
            ("overhead_ns", [gap, hold]) => self.overhead_ns = (time(gap)?, time(hold)?),
            ("transfer_ns", [ns]) => self.transfer_ns = Some(time(ns)?),
            ("cpus", [n]) => self.cpus = Some(count(n, crate::machine::CPUS_MAX as usize)? as u32),
            ("beyond", [share]) => match number(share)? {
                share if (0.0..=1.0).contains(&share) => self.beyond = share,
                share => return Err(format!("beyond: a share of {share}; expected 0 to 1")),
            },
            ("own_ns", [ns]) => self.own_ns = Some(time(ns)?),
            ("latch", [n, design, _, ..]) => self.latch(n, design, rest)?,
            ("counted", [sessions, figures @ ..]) if figures.len() == 4 => {
                let figures: Result<Vec<f64>, String> = figures.iter().map(|x| number(x)).collect();
                let [rate, miss_rate, sleep_rate, cpu_ns] = figures?[..] else { return Err("four figures".into()) };
                let sessions = count(sessions, SESSIONS_MAX as usize)? as u32;
                if !(rate > 0.0 && (0.0..=1.0).contains(&miss_rate) && sleep_rate >= 0.0 && cpu_ns >= 0.0) {
                    return Err("counted: a rate above zero, a share of misses in 0 to 1, no negative figure".into());
                }
                self.counted.push(Counted { sessions, rate, miss_rate, sleep_rate, cpu_ns });
            }
            ("window", [sessions, calls, missing, figures @ ..]) if figures.len() == 4 => {
                let whole =
                    |text: &str| text.parse::<u64>().map_err(|_| format!("'{}' is no whole number", short(text)));
                let [recorded_ns, counted_ns] = [number(figures[0])?, number(figures[1])?];
                let [stamps_ns, miss_rate] = [number(figures[2])?, number(figures[3])?];
                if !(recorded_ns > 0.0 && counted_ns > 0.0 && stamps_ns >= 0.0 && (0.0..=1.0).contains(&miss_rate)) {
                    return Err("window: times above zero, and a share of misses in 0 to 1".into());
                }
                let sessions = count(sessions, SESSIONS_MAX as usize)? as u32;
                let (calls, missing) = (whole(calls)?, whole(missing)?);
                self.windows.push(Window { sessions, calls, missing, recorded_ns, counted_ns, stamps_ns, miss_rate });
            }
            _ => return Err(format!("'{}' is not understood here", short(&format!("{word} {rest}")))),
        }
        Ok(())
    }

    fn latch(&mut self, n: &str, design: &str, rest: &str) -> Result<(), String> {
        if self.latches.len() == LATCHES_MAX {
            return Err(format!("more than {LATCHES_MAX} latches"));
        }
        if n.parse() != Ok(self.latches.len()) {
            return Err(format!("latch '{}': the next number is {}", short(n), self.latches.len()));
        }
        let name = rest.splitn(3, ' ').nth(2).unwrap_or_default().trim().to_owned();
        let kind = Design::named(design).map_err(|e| e.to_string())?;
        self.latches.push(Latch { design: kind, design_name: design.to_owned(), name });
        Ok(())
    }

    /// The lines of the header, without the counts of calls and gets.
    #[must_use]
    pub fn to_text(&self) -> String {
        let one_line = |text: &str| text.replace(['\n', '\r'], " ");
        let mut out = format!("latch-trace 1\nname {}\nsessions {}\n", one_line(&self.name), self.sessions);
        self.call_ns.iter().for_each(|ns| writeln!(out, "call_ns {ns}").unwrap_or(()));
        let _ = writeln!(out, "overhead_ns {} {}", self.overhead_ns.0, self.overhead_ns.1);
        self.transfer_ns.iter().for_each(|ns| writeln!(out, "transfer_ns {ns}").unwrap_or(()));
        self.own_ns.iter().for_each(|ns| writeln!(out, "own_ns {ns}").unwrap_or(()));
        self.cpus.iter().for_each(|n| writeln!(out, "cpus {n}").unwrap_or(()));
        if self.beyond > 0.0 {
            let _ = writeln!(out, "beyond {}", self.beyond);
        }
        for (n, latch) in self.latches.iter().enumerate() {
            let _ = writeln!(out, "latch {n} {} {}", latch.design_name, one_line(&latch.name));
        }
        for c in &self.counted {
            let figures = [c.rate, c.miss_rate, c.sleep_rate, c.cpu_ns].map(|x| x.to_string()).join(" ");
            let _ = writeln!(out, "counted {} {figures}", c.sessions);
        }
        for w in &self.windows {
            let figures = [w.recorded_ns, w.counted_ns, w.stamps_ns, w.miss_rate].map(|x| x.to_string()).join(" ");
            let _ = writeln!(out, "window {} {} {} {figures}", w.sessions, w.calls, w.missing);
        }
        out
    }
}

fn short(text: &str) -> String {
    text.trim().chars().take(40).collect()
}

fn time(text: &str) -> Result<f64, String> {
    match number(text.trim())? {
        ns if (0.0..=TIME_MAX).contains(&ns) => Ok(ns),
        ns => Err(format!("a time of {ns} ns; expected 0 to {TIME_MAX}")),
    }
}

fn count(text: &str, most: usize) -> Result<usize, String> {
    match text.trim().parse::<usize>() {
        Ok(n) if (1..=most).contains(&n) => Ok(n),
        Ok(n) => Err(format!("{n} is not in 1 to {most}")),
        Err(_) => Err(format!("'{}' is no whole number", short(text))),
    }
}
