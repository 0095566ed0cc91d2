//! Forecasts: cells with bands, comparisons of designs, and refusals.
//!
//! A band comes from draws. Each draw has its own blocks of calls, its own machine within the errors of calibration,
//! and its own residual of what the model leaves out. All designs and all cells share these, draw by draw: differences
//! of two designs are differences of pairs. A residual has one normal number for a draw, so an error that the model
//! makes in both designs alike cancels.

use std::fmt;

use crate::design::Design;
use crate::engine::{Bound, Cell, MOVES_A_GET, SLICES_LEAST};
use crate::error::Error;
use crate::figures::Figures;
use crate::laws::{Usl, mean_value_analysis, middle};
use crate::machine::{Distance, Machine};
use crate::random::{Draws, Stream, exp, ln};
use crate::sweep::{Shard, in_parallel};
use crate::trace::{Counted, Header, SCALE_MOST, Window};
use crate::workload::Workload;

/// The fewest blocks of calls.
pub const BLOCKS_LEAST: usize = 200;
/// Above this share of a gap in line moves a queue is no model without a measured hand-over curve.
const CHI_MOST: f64 = 0.15;
/// So many errors of a bin replace the residual that a forecast starts with.
const SEEN_LEAST: usize = 3;
/// A band whose ends differ by more is no answer.
const APART_MOST: f64 = 1.5;
/// Steps in which a control is fitted: each leaves a small part of the error of the step before.
const CONTROL_STEPS: u32 = 4;
/// A control outside of 1 / this to this is no slowdown any more: the model has another load than the recording.
const CONTROL_MOST: f64 = 2.0;
/// The mean of the recorded calls and the processor time that was counted beside it may differ by this share of the
/// latter, and by this share of the stamps that were taken out of a call: stamps are measured beside other work, and
/// depend on what the processor does at once.
const RECORDED_APART_MOST: f64 = 0.10;
const STAMPS_APART_MOST: f64 = 0.25;
/// With fewer misses a get than this the processor time of spinners is none.
const SPINNERS_LEAST: f64 = 0.01;
/// Sampled calls that are missing are the long ones: more than this share of them is another load.
const MISSING_MOST: f64 = 0.02;
/// Sessions that use less of their processors wait for something that is no latch; with misses they may wait for one.
const BUSY_LEAST: f64 = 0.9;
const BUSY_LEAST_WITH_MISSES: f64 = 0.5;
/// Share of the gets that may be in no latch of the trace.
const BEYOND_MOST: f64 = 0.05;
/// Share of the time by which stamps and moves of data may be longer than the times that they are taken from.
const LEFT_IN_MOST: f64 = 0.05;
/// More cache lines than these move with no latch: the longer holds have another reason.
const LINES_MOST: f64 = 64.0;
/// More sleepers than this need measured timers and wake-ups.
const ASLEEP_MOST: f64 = 0.05;

/// A named choice of designs, one for each latch.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The name in tables.
    pub name: String,
    /// The designs.
    pub designs: Vec<Design>,
}

/// An error of an earlier forecast that was held against truth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Processors over those of the recording.
    pub ratio: f64,
    /// Its [`chi`].
    pub chi: f64,
    /// |ln(forecast/truth)|.
    pub error: f64,
    /// The truth is of the recording itself, which the forecast is fitted to: the error is a lower limit, and does not
    /// count as a test.
    pub fitted: bool,
}

/// A question to the simulator: workload, machine, designs and sizes.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The workload.
    pub workload: &'a Workload,
    /// The facts about its recording.
    pub header: &'a Header,
    /// The machine.
    pub machine: &'a Machine,
    /// The designs to compare; the first is the base of comparisons.
    pub choices: Vec<Choice>,
    /// Processors of the cells.
    pub cpus: Vec<u32>,
    /// Sessions of the cells.
    pub sessions: Vec<u32>,
    /// The seed.
    pub seed: u64,
    /// Draws of the band.
    pub draws: u32,
    /// Calls of a session in the window of a cell, and in that of a draw.
    pub calls: u64,
    /// Calls of a session in the window of a draw.
    pub draw_calls: u64,
    /// Time of a control call without the latch by sessions, over that of one session. With it the machine's turbo and
    /// threads of a core are left out: the control has them.
    pub control: Vec<(u32, f64)>,
    /// Errors of earlier forecasts.
    pub seen: Vec<Seen>,
    /// Threads to run on. Figures do not depend on it.
    pub threads: usize,
    /// The cells of this share only.
    pub shard: Shard,
}

/// An interval of 95 %, and the figure of the plain simulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// Lower end.
    pub low: f64,
    /// The figure.
    pub middle: f64,
    /// Upper end.
    pub high: f64,
}

/// Why a forecast is refused.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// Line moves take too much of a gap for a machine without a hand-over curve.
    NoCurve {
        /// (N - 1) m t / gap.
        chi: f64,
        /// The curve.
        curve: &'static str,
        /// Spinners that may occur.
        needed: u32,
        /// Spinners that the curve reaches.
        known: u32,
    },
    /// The bounds of the hand-over differ too much.
    BoundsApart(f64),
    /// The band is wider than an answer.
    BandApart(f64),
    /// The machine file has no transfer time for a distance in use.
    NoDistance(Distance),
    /// Sessions outnumber processors, or sleep, and the scheduler was not measured.
    NoScheduler {
        /// Share of the time asleep.
        asleep: f64,
    },
    /// Too few blocks of calls.
    FewBlocks(usize),
    /// The recording has no processor time of a call at one session.
    NoOneSessionRate,
    /// The recorded calls are not those that were counted beside them.
    RecordedApart(Window),
    /// Too many sampled calls are not in the trace.
    CallsMissing(Window),
    /// The recorded sessions used so much of their processors: they wait for what a forecast does not have.
    SessionsWait {
        /// Sessions.
        sessions: u32,
        /// Share of the processors' time.
        share: f64,
    },
    /// The simulation differs from the counts of the recording itself by this factor.
    CountApart(f64),
    /// Share of the gets that are in no latch of the trace.
    Beyond(f64),
    /// The factor on the gaps with which a call takes the counted processor time.
    GapsApart(f64),
    /// Stamps and moves of data are longer than the times that they are taken from, by this share.
    LeftIn(f64),
    /// Cache lines that would move with the data of a latch.
    LinesApart(f64),
    /// The slowdown of the control at a number of sessions.
    ControlApart {
        /// Sessions.
        sessions: u32,
        /// The slowdown.
        slowdown: f64,
    },
}

impl Refusal {
    /// The reason without figures, for lists of many cells.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NoCurve { .. } => "line moves take too much of a gap without a hand-over curve",
            Self::BoundsApart(_) => "the bounds of the hand-over are too far apart",
            Self::BandApart(_) => "the band is too wide",
            Self::NoDistance(_) => "a transfer time is not known",
            Self::NoScheduler { .. } => "the scheduler was not measured",
            Self::FewBlocks(_) => "the recording has too few calls",
            Self::NoOneSessionRate => "the recording has no processor time of a call",
            Self::RecordedApart(_) => "the recorded calls are not those that were counted",
            Self::CallsMissing(_) => "sampled calls are missing",
            Self::SessionsWait { .. } => "the recorded sessions did not use their processors",
            Self::CountApart(_) => "the simulation is far from the counts of the recording",
            Self::Beyond(_) => "too many gets are in no latch of the trace",
            Self::GapsApart(_) => "the times outside of holds do not give the counted processor time",
            Self::LeftIn(_) => "stamps are too long for the recorded times",
            Self::LinesApart(_) => "moves of data do not explain the longer holds",
            Self::ControlApart { .. } => "the simulation is too far from the counted processor time",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCurve { chi, curve, needed, known } => write!(
                f,
                "line moves take {:.0} % of a gap; above {:.0} % the hand-over curve '{curve}' must be measured up to \
                 {needed} spinners, and the machine file has it up to {known}",
                chi * 100.0,
                CHI_MOST * 100.0
            ),
            Self::BoundsApart(ratio) => {
                write!(
                    f,
                    "the bounds of the hand-over differ by a factor of {ratio:.2}; at most {APART_MOST} is an answer"
                )
            }
            Self::BandApart(ratio) => {
                write!(f, "the ends of the band differ by a factor of {ratio:.2}; at most {APART_MOST} is an answer")
            }
            Self::NoDistance(distance) => {
                write!(f, "the machine file has no transfer time for the distance '{}'", distance.name())
            }
            Self::NoScheduler { asleep } => write!(
                f,
                "sessions outnumber processors or sleep for {:.0} % of the time, and the machine file has no measured \
                 slice, wake-up and timers",
                asleep * 100.0
            ),
            Self::FewBlocks(n) => {
                write!(
                    f,
                    "the recording has {n} blocks of calls; {BLOCKS_LEAST} are needed: record longer, or more calls"
                )
            }
            Self::NoOneSessionRate => {
                f.write_str("the recording has no processor time of a call at one session (call_ns)")
            }
            Self::RecordedApart(Window { sessions, calls, missing, recorded_ns, counted_ns, stamps_ns, .. }) => write!(
                f,
                "the {calls} recorded calls of {sessions} sessions take {recorded_ns:.0} ns on average, and \
                 {counted_ns:.0} ns of processor time a call were counted beside them; at most {:.0} % of it \
                 and {:.0} % of the stamps ({stamps_ns:.0} ns) apart is an answer ({missing} sampled calls are missing)",
                RECORDED_APART_MOST * 100.0,
                STAMPS_APART_MOST * 100.0
            ),
            Self::CallsMissing(Window { sessions, calls, missing, .. }) => write!(
                f,
                "{missing} sampled calls of {sessions} sessions are not among the {calls} recorded ones: their ring was \
                 full, or they had not ended; at most {:.0} % missing is an answer",
                MISSING_MOST * 100.0
            ),
            Self::SessionsWait { sessions, share } => write!(
                f,
                "the {sessions} recorded sessions used {:.0} % of their processors: they wait for clients, files or \
                 locks, which a forecast does not have, or other processes used the rest",
                share * 100.0
            ),
            Self::CountApart(factor) => write!(
                f,
                "the simulation of the recording itself differs from what was counted by a factor of {factor:.2}; at \
                 most {APART_MOST} is an answer"
            ),
            Self::Beyond(share) => write!(
                f,
                "{:.0} % of the gets are in no latch of the trace; at most {:.0} % is an answer",
                share * 100.0,
                BEYOND_MOST * 100.0
            ),
            Self::GapsApart(factor) => write!(
                f,
                "the time outside of holds would have to be multiplied by {factor:.2} to give the counted processor \
                 time; at most {SCALE_MOST} is an answer"
            ),
            Self::LeftIn(share) => write!(
                f,
                "stamps and moves of data are longer than the times that they are taken from, by {:.0} % of a call; at \
                 most {:.0} % is an answer",
                share * 100.0,
                LEFT_IN_MOST * 100.0
            ),
            Self::LinesApart(lines) => write!(
                f,
                "holds after another session's are longer by {lines:.0} moves of a cache line; at most {LINES_MOST} is \
                 an answer"
            ),
            Self::ControlApart { sessions, slowdown } => write!(
                f,
                "the simulation has the counted processor time of {sessions} sessions only with all times multiplied \
                 by {slowdown:.2}; at most {CONTROL_MOST} is an answer"
            ),
        }
    }
}

/// The forecast of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// The name of the choice.
    pub choice: String,
    /// Processors.
    pub cpus: u32,
    /// Sessions.
    pub sessions: u32,
    /// Figures with the lower bound of the hand-over, or with its curve.
    pub figures: Figures,
    /// Figures with the upper bound, where the curve does not reach.
    pub upper: Option<Figures>,
    /// Calls a second.
    pub rate: Band,
    /// Rate over that of one session times the sessions, in percent.
    pub percent_linear: f64,
    /// The rate of the closed queue by mean value analysis, with the control's slowdown.
    pub queue: f64,
    /// The rate of the Universal Scalability Law, fitted to what was counted or else to the simulated cells.
    pub usl: Option<f64>,
    /// Share of a gap in line moves.
    pub chi: f64,
    /// Standard deviation of ln X that is assumed for what the model leaves out.
    pub residual: f64,
    /// ln X by draw, for comparisons.
    pub draws: Vec<f64>,
    /// The reasons for which this is no answer (S6).
    pub refusals: Vec<Refusal>,
}

/// The difference of two choices in a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The choice.
    pub choice: String,
    /// The base.
    pub base: String,
    /// Processors.
    pub cpus: u32,
    /// Sessions.
    pub sessions: u32,
    /// Rate of the choice over that of the base.
    pub ratio: Band,
    /// False when the band holds one, or when either forecast is refused: it cannot be said which is faster.
    pub says: bool,
}

/// (N - 1) m t / gap: the share of a session's gap that the line moves of all others take, for the latch where it is
/// largest. A versioned read moves no line.
#[must_use]
pub fn chi(workload: &Workload, machine: &Machine, designs: &[Design], cpus: u32, sessions: u32) -> f64 {
    let (means, t) = (workload.means(), machine.mean_transfer_ns(cpus));
    let others = f64::from(sessions.min(cpus)) - 1.0;
    let of = |(latch, design): (&crate::workload::LatchMeans, &Design)| {
        let gets = match design {
            Design::Versioned { .. } => latch.writes,
            Design::HotCopies { copies, .. } => latch.writes + (latch.gets - latch.writes) / f64::from(*copies),
            _ => latch.gets,
        };
        let gap = (means.call_ns() - latch.hold_ns).max(1e-3);
        others * MOVES_A_GET * t * gets / gap
    };
    means.latches.iter().zip(designs).map(of).fold(0.0, f64::max)
}

/// The bin of a forecast, by which residuals are known: processors over those of the recording, and chi.
fn bin(ratio: f64, chi: f64) -> (usize, usize) {
    let of = |x: f64, limits: [f64; 3]| limits.iter().filter(|limit| x > **limit).count();
    (of(ratio, [1.0, 4.0, 16.0]), of(chi, [0.05, 0.10, 0.15]))
}

/// The processors that the recorded sessions used at most: one each.
fn recorded_cpus(header: &Header) -> f64 {
    let counted = header.counted.iter().map(|c| c.sessions).max().unwrap_or(1);
    f64::from(counted.max(header.sessions).max(1))
}

/// A count of the recording beside its simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The count.
    pub counted: Counted,
    /// Its simulation with the lower bound of the hand-over, or with its curve.
    pub figures: Figures,
    /// Rate of the simulation; where the curve does not reach, the geometric mean of both bounds.
    pub rate: f64,
    /// The error, for [`Question::seen`].
    pub seen: Seen,
}

/// The slowdown of a control at a number of sessions, between its points by lines, and beyond them as at the next one.
fn slowdown_at(control: &[(u32, f64)], sessions: u32) -> f64 {
    let mut points = control.to_vec();
    points.sort_by_key(|p| p.0);
    match points.iter().position(|p| p.0 >= sessions) {
        _ if points.is_empty() => 1.0,
        Some(0) => points[0].1,
        None => points[points.len() - 1].1,
        Some(at) => {
            let ((n0, s0), (n1, s1)) = (points[at - 1], points[at]);
            s0 + (s1 - s0) * f64::from(sessions - n0) / f64::from(n1 - n0)
        }
    }
}

/// Simulates what was counted at the recording, on the machine of the recording and with its designs. With a control
/// the errors are those that are left of it.
///
/// # Errors
/// The recording has a number of sessions that cannot be simulated.
pub fn check(
    workload: &Workload,
    header: &Header,
    machine: &Machine,
    control: &[(u32, f64)],
    seed: u64,
    calls: u64,
) -> Result<Vec<Check>, Error> {
    let designs: Vec<Design> = header.latches.iter().map(|latch| latch.design).collect();
    let plain = if control.is_empty() { machine.clone() } else { machine.without_slowing() };
    let machine = &plain;
    let mut out = Vec::new();
    for counted in &header.counted {
        let (cpus, sessions) = (machine.cpus(), counted.sessions);
        let (slowdown, bound) = (slowdown_at(usable(control), sessions), Bound::Lower);
        let cell = Cell { machine, workload, designs: &designs, cpus, sessions, seed, calls, slowdown, bound };
        let figures = cell.run()?;
        let rate = match figures.handovers_beyond {
            0 => figures.rate(),
            _ => (figures.rate() * Cell { bound: Bound::Upper, ..cell }.run()?.rate()).sqrt(),
        };
        let error = ln((rate / counted.rate).max(1e-300)).abs();
        let ratio = f64::from(cpus) / recorded_cpus(header);
        let seen = Seen { ratio, chi: chi(workload, machine, &designs, cpus, sessions), error, fitted: true };
        out.push(Check { counted: *counted, figures, rate, seen });
    }
    Ok(out)
}

/// The control ([`Question::control`]) that gives the simulation the processor time of a call that was counted at the
/// recording, where sessions did not outnumber processors: what slows sessions down beside each other, and is no latch.
/// Rates would have the other work of the machine in them, too.
///
/// # Errors
/// The recording has a number of sessions that cannot be simulated.
pub fn checked_control(
    workload: &Workload,
    header: &Header,
    machine: &Machine,
    seed: u64,
    calls: u64,
) -> Result<Vec<(u32, f64)>, Error> {
    let designs: Vec<Design> = header.latches.iter().map(|latch| latch.design).collect();
    let (machine, cpus) = (machine.without_slowing(), machine.cpus());
    // As long as the windows of cells with more sessions than processors: a short one misses the rare long calls.
    let slices_ns = SLICES_LEAST * machine.scheduler.slice_us() * 1e3;
    let calls = calls.max((slices_ns / workload.means().call_ns().max(1.0)) as u64);
    let mut control = Vec::new();
    for counted in header.counted.iter().filter(|counted| counted.sessions <= cpus && counted.cpu_ns > 0.0) {
        let mut slowdown = 1.0f64;
        for _ in 0..CONTROL_STEPS {
            let (sessions, bound) = (counted.sessions, Bound::Lower);
            let cell =
                Cell { machine: &machine, workload, designs: &designs, cpus, sessions, seed, calls, slowdown, bound };
            slowdown *= counted.cpu_ns / cell.run()?.cpu_ns();
            // Forecasts with it are refused: a better fit is of no use, and a window of such calls may be endless.
            if !is_within(slowdown, CONTROL_MOST) {
                break;
            }
        }
        control.push((counted.sessions, slowdown));
    }
    Ok(control)
}

/// The control; none where it is no slowdown any more, so that its cells are refused and still simulated.
fn usable(control: &[(u32, f64)]) -> &[(u32, f64)] {
    if control.iter().all(|point| is_within(point.1, CONTROL_MOST)) { control } else { &[] }
}

/// True for a factor from 1 / `most` to `most`.
fn is_within(factor: f64, most: f64) -> bool {
    (1.0 / most..=most).contains(&factor)
}

impl Question<'_> {
    /// Forecasts all cells of the shard: choices, processors, sessions, in this order.
    ///
    /// # Errors
    /// A cell that cannot be simulated: more processors than the machine has, no session.
    pub fn answer(&self) -> Result<Vec<Forecast>, Error> {
        let mut cells = Vec::new();
        for choice in &self.choices {
            for cpus in &self.cpus {
                cells.extend(self.sessions.iter().map(|sessions| (choice, *cpus, *sessions)));
            }
        }
        if cells.is_empty() {
            return Err(Error::new("no cell is asked for: designs, processors and sessions must be given"));
        }
        if let Some((_, slowdown)) = self.control.iter().find(|point| !(point.1 > 0.0 && point.1.is_finite())) {
            return Err(Error::new(format!("a slowdown of {slowdown}; expected a number above zero")));
        }
        let plain = self.plain_machine();
        let mine: Vec<usize> = (0..cells.len()).filter(|index| self.shard.has(*index)).collect();
        let mut out = Vec::with_capacity(mine.len());
        for index in mine {
            let (choice, cpus, sessions) = cells[index];
            out.push(self.forecast(&plain, choice, cpus, sessions)?);
        }
        self.fit(&plain, &mut out)?;
        Ok(out)
    }

    /// The differences to the first choice, for cells that are all in `forecasts`.
    #[must_use]
    pub fn compare(&self, forecasts: &[Forecast]) -> Vec<Comparison> {
        let Some(base) = self.choices.first() else { return Vec::new() };
        let mut out = Vec::new();
        for f in forecasts.iter().filter(|f| f.choice != base.name) {
            let is_base = |b: &&Forecast| (&b.choice, b.cpus, b.sessions) == (&base.name, f.cpus, f.sessions);
            let Some(b) = forecasts.iter().find(is_base) else { continue };
            let mut ratios: Vec<f64> = f.draws.iter().zip(&b.draws).map(|(x, y)| x - y).collect();
            let (low, high) = middle(&mut ratios, 0.95);
            let is_answer = f.refusals.is_empty() && b.refusals.is_empty();
            out.push(Comparison {
                choice: f.choice.clone(),
                base: base.name.clone(),
                cpus: f.cpus,
                sessions: f.sessions,
                ratio: Band { low: exp(low), middle: f.rate.middle / b.rate.middle, high: exp(high) },
                says: is_answer && (low > 0.0 || high < 0.0),
            });
        }
        out
    }

    /// With a control, threads of a core and turbo are in the control.
    fn plain_machine(&self) -> Machine {
        if self.control.is_empty() { self.machine.clone() } else { self.machine.without_slowing() }
    }

    /// The control at a number of sessions.
    fn slowdown(&self, sessions: u32) -> f64 {
        slowdown_at(usable(&self.control), sessions)
    }

    fn cell<'c>(&'c self, machine: &'c Machine, choice: &'c Choice, cpus: u32, sessions: u32) -> Cell<'c> {
        Cell {
            machine,
            workload: self.workload,
            designs: &choice.designs,
            cpus,
            sessions,
            seed: self.seed,
            calls: self.calls,
            slowdown: self.slowdown(sessions),
            bound: Bound::Lower,
        }
    }

    fn forecast(&self, machine: &Machine, choice: &Choice, cpus: u32, sessions: u32) -> Result<Forecast, Error> {
        let cell = self.cell(machine, choice, cpus, sessions);
        let figures = cell.run()?;
        let upper = match figures.handovers_beyond {
            0 => None,
            _ => Some(Cell { bound: Bound::Upper, ..cell }.run()?),
        };
        let rate = upper.as_ref().map_or(figures.rate(), |upper| (upper.rate() * figures.rate()).sqrt());
        let one = self.cell(machine, choice, cpus, 1).run()?.rate();
        let chi = chi(self.workload, machine, &choice.designs, cpus, sessions);
        let means = self.workload.means();
        let slowdown = self.slowdown(sessions);
        let holds: Vec<f64> = means.latches.iter().map(|latch| latch.hold_ns * slowdown).collect();
        let queue = mean_value_analysis(sessions, means.gap_ns * slowdown, &holds);
        let mut out = Forecast {
            choice: choice.name.clone(),
            cpus,
            sessions,
            rate: Band { low: f64::NAN, middle: rate, high: f64::NAN },
            percent_linear: rate / (one * f64::from(sessions)) * 100.0,
            queue,
            usl: None,
            chi,
            residual: self.residual(cpus, chi),
            draws: Vec::new(),
            refusals: self.refusals(choice, cpus, sessions, chi, &figures, upper.as_ref()),
            figures,
            upper,
        };
        if out.refusals.is_empty() {
            self.draw(&cell, &mut out)?;
        }
        Ok(out)
    }

    /// The standard deviation of ln X for what the model leaves out: a start by chi, until enough forecasts of the bin
    /// were held against truth; never below the worst error seen in the bin.
    fn residual(&self, cpus: u32, chi: f64) -> f64 {
        let start = match chi {
            _ if chi < 0.05 => 0.02,
            _ if chi < 0.10 => 0.05,
            _ => 0.3,
        };
        let ratio = f64::from(cpus) / recorded_cpus(self.header);
        let same_bin = self.seen.iter().filter(|seen| bin(seen.ratio, seen.chi) == bin(ratio, chi));
        let worst = same_bin.clone().fold(0.0, |worst: f64, seen| worst.max(seen.error));
        // The error of what was fitted is no test of the model.
        let least = if same_bin.filter(|seen| !seen.fitted).count() >= SEEN_LEAST { 0.02 } else { start };
        worst.max(least)
    }

    /// The reasons that are known before the band is drawn.
    fn refusals(
        &self,
        choice: &Choice,
        cpus: u32,
        sessions: u32,
        chi: f64,
        figures: &Figures,
        upper: Option<&Figures>,
    ) -> Vec<Refusal> {
        let mut out = Vec::new();
        if self.header.call_ns.is_none() {
            out.push(Refusal::NoOneSessionRate);
        }
        if let Some(n) = self.workload.blocks().filter(|n| *n < BLOCKS_LEAST) {
            out.push(Refusal::FewBlocks(n));
        }
        out.extend(self.refusals_of_recording());
        let unknown =
            self.machine.distances(sessions.min(cpus)).into_iter().filter(|d| self.machine.transfer(*d).is_none());
        out.extend(unknown.map(Refusal::NoDistance));
        let needed = sessions.min(cpus) - 1;
        if chi > CHI_MOST {
            let reach = |curve: &str| self.machine.handover_ns.get(curve).map_or(0, |all| all.len().saturating_sub(1));
            let curves = choice.designs.iter().map(|design| (design.curve(), reach(design.curve()) as u32));
            if let Some((curve, known)) = curves.filter(|(_, known)| *known < needed).min_by_key(|c| c.1) {
                out.push(Refusal::NoCurve { chi, curve, needed, known });
            }
        }
        let asleep = figures.asleep_share().max(upper.map_or(0.0, Figures::asleep_share));
        if (sessions > cpus || asleep > ASLEEP_MOST) && !self.machine.scheduler.is_calibrated() {
            out.push(Refusal::NoScheduler { asleep });
        }
        let apart = upper.map_or(1.0, |upper| figures.rate() / upper.rate().max(1e-300));
        if apart.max(1.0 / apart) > APART_MOST {
            out.push(Refusal::BoundsApart(apart.max(1.0 / apart)));
        }
        out
    }

    /// The reasons that are in the recording, whatever is asked of it.
    fn refusals_of_recording(&self) -> Vec<Refusal> {
        // Calls of several sessions only tell how far data move, where the workload has those of one alone.
        let alone = self.workload.scaling().is_some_and(|scaling| scaling.alone);
        let apart = |window: &&Window| {
            if alone && window.sessions != 1 {
                return false;
            }
            let more = window.recorded_ns - window.counted_ns;
            let most = window.counted_ns * RECORDED_APART_MOST + window.stamps_ns * STAMPS_APART_MOST;
            // Spinners use processor time that is in no recorded call; more time in calls than was counted has no
            // such reason.
            let is_short = window.sessions == 1 || window.miss_rate < SPINNERS_LEAST;
            more > most || -more > most && is_short
        };
        let mut out: Vec<Refusal> =
            self.header.windows.iter().filter(apart).map(|window| Refusal::RecordedApart(*window)).collect();
        let is_missing =
            |window: &&Window| window.missing as f64 > MISSING_MOST * (window.calls + window.missing) as f64;
        out.extend(self.header.windows.iter().filter(is_missing).map(|window| Refusal::CallsMissing(*window)));
        let cpus = self.header.cpus.unwrap_or(self.machine.cpus());
        out.extend(self.header.counted.iter().filter(|counted| counted.cpu_ns > 0.0).find_map(|counted| {
            let share = counted.rate * counted.cpu_ns / 1e9 / f64::from(counted.sessions.min(cpus));
            let least = if counted.miss_rate < SPINNERS_LEAST { BUSY_LEAST } else { BUSY_LEAST_WITH_MISSES };
            (share < least).then_some(Refusal::SessionsWait { sessions: counted.sessions, share })
        }));
        let worst = self.seen.iter().filter(|seen| seen.fitted).map(|seen| seen.error).fold(0.0, f64::max);
        out.extend((worst > ln(APART_MOST)).then(|| Refusal::CountApart(exp(worst))));
        out.extend((self.header.beyond > BEYOND_MOST).then_some(Refusal::Beyond(self.header.beyond)));
        if let Some(scaling) = self.workload.scaling() {
            out.extend((!is_within(scaling.gaps, SCALE_MOST)).then_some(Refusal::GapsApart(scaling.gaps)));
            out.extend((scaling.left_in > LEFT_IN_MOST).then_some(Refusal::LeftIn(scaling.left_in)));
            out.extend((scaling.lines > LINES_MOST).then_some(Refusal::LinesApart(scaling.lines)));
        }
        let control = self.control.iter().find(|point| !is_within(point.1, CONTROL_MOST));
        out.extend(
            control.map(|(sessions, slowdown)| Refusal::ControlApart { sessions: *sessions, slowdown: *slowdown }),
        );
        out
    }

    /// The band.
    fn draw(&self, cell: &Cell<'_>, out: &mut Forecast) -> Result<(), Error> {
        let draws = Draws::new(self.seed);
        let one = |n: usize| -> Result<f64, Error> {
            // Where the curve does not reach, every other draw has the upper bound.
            let bound = if out.upper.is_some() && n % 2 == 1 { Bound::Upper } else { Bound::Lower };
            let machine = shaken(cell.machine, draws, n as u32);
            let workload = self.workload.resampled(self.seed, n as u64);
            let seed = draws.bits(n as u32, Stream::Start, 1);
            let drawn = Cell { machine: &machine, workload: &workload, seed, calls: self.draw_calls, bound, ..*cell };
            let rate = drawn.run()?.rate().max(1e-300);
            Ok(ln(rate) + out.residual * draws.normal(n as u32, Stream::Residual, 0))
        };
        let all: Result<Vec<f64>, Error> = in_parallel(self.draws as usize, self.threads, one).into_iter().collect();
        out.draws = all?;
        let of = |odd: usize| out.draws.iter().skip(odd).step_by(2).copied().collect::<Vec<f64>>();
        let (low, high) = match out.upper {
            None => middle(&mut out.draws.clone(), 0.95),
            // From the lowest of the upper bound of the hand-over to the highest of its lower bound.
            Some(_) => (middle(&mut of(1), 0.95).0, middle(&mut of(0), 0.95).1),
        };
        (out.rate.low, out.rate.high) = (exp(low).min(out.rate.middle), exp(high).max(out.rate.middle));
        let apart = out.rate.high / out.rate.low;
        if apart > APART_MOST {
            out.refusals.push(Refusal::BandApart(apart));
        }
        Ok(())
    }

    /// Puts the Universal Scalability Law beside the forecasts.
    fn fit(&self, machine: &Machine, out: &mut [Forecast]) -> Result<(), Error> {
        let counted: Vec<(f64, f64)> = self.header.counted.iter().map(|c| (f64::from(c.sessions), c.rate)).collect();
        let recorded: Vec<Design> = self.header.latches.iter().map(|latch| latch.design).collect();
        for choice in &self.choices {
            for cpus in &self.cpus {
                let is_in = |f: &Forecast| f.choice == choice.name && f.cpus == *cpus;
                if !out.iter().any(is_in) {
                    continue;
                }
                let law = match Usl::fit(&counted).filter(|_| choice.designs == recorded) {
                    Some(law) => Some(law),
                    None => {
                        let mut points = Vec::new();
                        for sessions in self.sessions.iter().filter(|n| *n <= cpus) {
                            let cell = self.cell(machine, choice, *cpus, *sessions);
                            points.push((f64::from(*sessions), cell.run()?.rate()));
                        }
                        Usl::fit(&points)
                    }
                };
                out.iter_mut().filter(|f| is_in(f)).for_each(|f| {
                    f.usl = law.map(|law| law.rate(f64::from(f.sessions)));
                });
            }
        }
        Ok(())
    }
}

/// The machine of a draw: transfers, hand-overs and times of the scheduler within their errors.
fn shaken(machine: &Machine, draws: Draws, n: u32) -> Machine {
    let factor = |at: u64, spread: f64| exp(spread * draws.normal(n, Stream::Machine, at));
    let (line, handover, time) = (factor(0, machine.spread), factor(1, machine.spread), factor(2, 0.1));
    let mut out = machine.clone();
    out.own_ns *= line;
    out.transfer_ns.iter_mut().flatten().for_each(|t| *t *= line);
    out.handover_ns.values_mut().flatten().for_each(|t| *t *= handover);
    let s = &mut out.scheduler;
    [&mut s.slice_us, &mut s.wake_idle_us, &mut s.wake_busy_us, &mut s.late_50us_us, &mut s.late_1ms_us]
        .into_iter()
        .flatten()
        .for_each(|t| *t *= time);
    let gain = factor(3, 0.05);
    // The first is one thread alone, by which the workload was measured.
    out.smt_throughput.iter_mut().skip(1).for_each(|t| *t *= gain);
    out
}
