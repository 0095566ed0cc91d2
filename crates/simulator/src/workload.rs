//! Workloads: recorded calls drawn in blocks, and closed forms.

use crate::error::Error;
use crate::random::{Draws, Stream};

/// The most sessions of a cell.
pub const SESSIONS_MAX: u32 = 65_536;

/// Picoseconds of a number of nanoseconds.
#[inline]
pub(crate) fn ps(ns: f64) -> u64 {
    (ns * 1e3).max(0.0).round() as u64
}

/// One get: the time before it, and the time that the word is held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Get {
    /// The latch, an index in the workload's list.
    pub latch: u16,
    /// True when the protected data are changed.
    pub write: bool,
    /// Time since the end of the hold before it, or since the begin of the call, in picoseconds.
    pub gap_ps: u64,
    /// Time of the hold in picoseconds.
    pub hold_ps: u64,
}

/// A time of a closed form, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Time {
    /// Always the same.
    Constant(f64),
    /// Exponential with this mean.
    Exponential(f64),
}

impl Time {
    /// The mean.
    #[must_use]
    pub fn mean_ns(self) -> f64 {
        match self {
            Self::Constant(ns) | Self::Exponential(ns) => ns,
        }
    }

    #[inline]
    fn draw(self, draws: Draws, session: u32, stream: Stream, number: u64) -> u64 {
        match self {
            Self::Constant(ns) => ps(ns),
            Self::Exponential(ns) => ps(ns * draws.exponential(session, stream, number)),
        }
    }
}

/// A workload whose behaviour is known in closed form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Closed {
    /// Gets of a call.
    pub gets: u32,
    /// The time before a get.
    pub gap: Time,
    /// The time of a hold.
    pub hold: Time,
    /// Latches; each get picks one of them with equal chance.
    pub latches: u16,
    /// Share of the gets that change the data.
    pub writes: f64,
    /// Cache lines of the protected data.
    pub lines: f64,
}

#[derive(Clone, Debug)]
enum Source {
    Recorded(Recorded),
    Closed(Closed),
}

/// Recorded calls, one after another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorded {
    pub gets: Vec<Get>,
    /// The first get of each call, and one more entry for the end.
    pub first: Vec<u32>,
    /// Time after the last hold of each call, in picoseconds.
    pub tails_ps: Vec<u64>,
    /// Calls of a block: consecutive calls stay together.
    pub block: u32,
    /// The blocks in use; a draw of the band replaces them by a sample with repeats.
    pub blocks: Vec<u32>,
}

/// The corrections that made a workload from its recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaling {
    /// The factor on the gaps with which a call takes the counted processor time.
    pub gaps: f64,
    /// Share of the calls' time by which stamps and moves of data are longer than the times that they are taken from.
    pub left_in: f64,
    /// The most cache lines of a latch's data.
    pub lines: f64,
    /// The calls are those of one session that worked alone.
    pub alone: bool,
}

/// The calls of sessions.
#[derive(Clone, Debug)]
pub struct Workload {
    latches: Vec<String>,
    /// Cache lines of the data that each latch protects.
    lines: Vec<f64>,
    source: Source,
    scaling: Option<Scaling>,
}

/// The place of a session in its workload.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cursor {
    /// Calls begun.
    calls: u64,
    /// The next get of the call, and the end of the call.
    next: u64,
    end: u64,
    tail_ps: u64,
}

impl Workload {
    /// A closed form.
    ///
    /// # Errors
    /// A negative or infinite time, no get, no latch, a share outside of 0 to 1.
    pub fn closed(form: Closed) -> Result<Self, Error> {
        let times = [form.gap.mean_ns(), form.hold.mean_ns(), form.lines];
        if times.iter().any(|t| !t.is_finite() || *t < 0.0 || *t > 1e12) {
            return Err(Error::new("a time of the closed form is negative or too long"));
        }
        if form.gets == 0 || form.latches == 0 || !(0.0..=1.0).contains(&form.writes) {
            return Err(Error::new(
                "a closed form has at least one get and one latch, and a share of writes in 0 to 1",
            ));
        }
        if form.gap.mean_ns() + form.hold.mean_ns() <= 0.0 {
            return Err(Error::new("a call of the closed form takes no time"));
        }
        let latches = (0..form.latches).map(|n| format!("latch {n}")).collect();
        Ok(Self { latches, lines: vec![form.lines; form.latches.into()], source: Source::Closed(form), scaling: None })
    }

    pub(crate) fn recorded(latches: Vec<String>, lines: Vec<f64>, mut calls: Recorded, scaling: Scaling) -> Self {
        calls.block = calls.block.max(1);
        calls.blocks = (0..(calls.tails_ps.len() as u32).div_ceil(calls.block)).collect();
        Self { latches, lines, source: Source::Recorded(calls), scaling: Some(scaling) }
    }

    /// The corrections of the recording; `None` for a closed form.
    #[must_use]
    pub fn scaling(&self) -> Option<Scaling> {
        self.scaling
    }

    /// Names of the latches.
    #[must_use]
    pub fn latches(&self) -> &[String] {
        &self.latches
    }

    pub(crate) fn lines(&self, latch: u16) -> f64 {
        self.lines[usize::from(latch)]
    }

    /// Blocks of consecutive recorded calls; `None` for a closed form, which has no end of them.
    #[must_use]
    pub fn blocks(&self) -> Option<usize> {
        match &self.source {
            Source::Recorded(r) => Some(r.tails_ps.len().div_ceil(r.block as usize)),
            Source::Closed(_) => None,
        }
    }

    /// Means of a call of one session.
    #[must_use]
    pub fn means(&self) -> Means {
        let mut latches = vec![LatchMeans::default(); self.latches.len()];
        match &self.source {
            Source::Closed(form) => {
                let gets = f64::from(form.gets) / f64::from(form.latches);
                latches.fill(LatchMeans { gets, writes: gets * form.writes, hold_ns: gets * form.hold.mean_ns() });
                Means { gap_ns: f64::from(form.gets) * form.gap.mean_ns(), latches }
            }
            Source::Recorded(r) => {
                let calls = r.tails_ps.len().max(1) as f64;
                for get in &r.gets {
                    let of = &mut latches[usize::from(get.latch)];
                    of.gets += 1.0 / calls;
                    of.writes += f64::from(u8::from(get.write)) / calls;
                    of.hold_ns += get.hold_ps as f64 / 1e3 / calls;
                }
                let gaps = r.gets.iter().map(|get| get.gap_ps).chain(r.tails_ps.iter().copied()).map(|ps| ps as f64);
                Means { gap_ns: gaps.sum::<f64>() / 1e3 / calls, latches }
            }
        }
    }

    /// The same workload with its blocks drawn anew with repeats, for one draw of the band.
    #[must_use]
    pub fn resampled(&self, seed: u64, draw: u64) -> Self {
        let mut out = self.clone();
        if let Source::Recorded(r) = &mut out.source {
            let (draws, all) = (Draws::new(seed), r.blocks.clone());
            let pick = |n: usize| draws.below(all.len() as u64, draw as u32, Stream::Resample, n as u64) as usize;
            r.blocks = (0..all.len()).map(|n| all[pick(n)]).collect();
        }
        out
    }

    /// Begins the next call of a session.
    #[inline]
    pub(crate) fn begin(&self, draws: Draws, session: u32, cursor: &mut Cursor) {
        match &self.source {
            Source::Closed(form) => {
                cursor.next = cursor.calls * u64::from(form.gets);
                cursor.end = cursor.next + u64::from(form.gets);
            }
            Source::Recorded(r) => {
                let (block, within) = (cursor.calls / u64::from(r.block), cursor.calls % u64::from(r.block));
                let drawn = draws.below(r.blocks.len() as u64, session, Stream::Block, block) as usize;
                let call = u64::from(r.blocks[drawn]) * u64::from(r.block) + within;
                // The last block may be shorter than the others: it goes on with the first call.
                let call = (call % r.tails_ps.len() as u64) as usize;
                (cursor.next, cursor.end) = (r.first[call].into(), r.first[call + 1].into());
                cursor.tail_ps = r.tails_ps[call];
            }
        }
        cursor.calls += 1;
    }

    /// The next get of the call, or the time until its end.
    #[inline]
    pub(crate) fn next(&self, draws: Draws, session: u32, cursor: &mut Cursor) -> Result<Get, u64> {
        if cursor.next == cursor.end {
            return Err(cursor.tail_ps);
        }
        let n = cursor.next;
        cursor.next += 1;
        Ok(match &self.source {
            Source::Recorded(r) => r.gets[n as usize],
            Source::Closed(form) => {
                let latch = match form.latches {
                    1 => 0,
                    latches => draws.below(latches.into(), session, Stream::Pick, 2 * n) as u16,
                };
                let write = match form.writes {
                    0.0 => false,
                    1.0 => true,
                    share => draws.unit(session, Stream::Pick, 2 * n + 1) <= share,
                };
                let gap_ps = form.gap.draw(draws, session, Stream::Gap, n);
                let hold_ps = form.hold.draw(draws, session, Stream::Hold, n);
                Get { latch, write, gap_ps, hold_ps }
            }
        })
    }
}

/// Means of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Means {
    /// Time outside of holds, in nanoseconds.
    pub gap_ns: f64,
    /// By latch.
    pub latches: Vec<LatchMeans>,
}

/// Means of the gets of a latch in a call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LatchMeans {
    /// Gets.
    pub gets: f64,
    /// Those that change the data.
    pub writes: f64,
    /// Time of the holds, in nanoseconds.
    pub hold_ns: f64,
}

impl Means {
    /// Time of a call without any wait, in nanoseconds.
    #[must_use]
    pub fn call_ns(&self) -> f64 {
        self.gap_ns + self.latches.iter().map(|latch| latch.hold_ns).sum::<f64>()
    }
}
