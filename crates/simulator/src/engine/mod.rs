//! The simulation: one pending event for each session, the earliest first.
//!
//! Times are whole picoseconds. A spinner is one event, the end of its limit, until the word is handed over to it; its
//! looks at the word are not events. A request for a cache line is served first in, first out: the end of a request is
//! known when it is made, since the request before it has a known end and a known processor.
//!
//! [`cpus`] has the processors and run queues, [`words`] the rules of the words.

mod cpus;
mod state;
mod words;

use crate::design::Design;
use crate::error::Error;
use crate::figures::{Counts, Figures, State};
use crate::machine::Machine;
use crate::random::{Draws, Stream};
use crate::tree::{NEVER, WinnerTree};
use crate::workload::{SESSIONS_MAX, Workload, ps};
use state::{Cpu, NONE, On, Phase, Session, Word};
use std::collections::VecDeque;

/// The bound in place of a hand-over curve where the machine's does not reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Further spinners cost nothing: H(1).
    Lower,
    /// Every further spinner moves the line of the word m + 1 times: H(1) + (k - 1)(m + 1)t.
    Upper,
}

/// Line moves of a get: the request, the release, the data.
pub const MOVES_A_GET: f64 = 3.0;

/// Time slices of the window of a cell in which sessions outnumber processors.
pub(crate) const SLICES_LEAST: f64 = 20.0;

/// One simulated configuration.
#[derive(Clone, Copy, Debug)]
pub struct Cell<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The workload.
    pub workload: &'a Workload,
    /// The design of each latch of the workload.
    pub designs: &'a [Design],
    /// Processors in use.
    pub cpus: u32,
    /// Sessions.
    pub sessions: u32,
    /// The seed.
    pub seed: u64,
    /// Length of the window: the calls that a session without any wait would end in it. A tenth more is the warm-up,
    /// and where sessions outnumber processors the window has twenty time slices at least.
    pub calls: u64,
    /// Factor on all computing times, as from a control run without the latch.
    pub slowdown: f64,
    /// The hand-over curve where the machine has none.
    pub bound: Bound,
}

impl Cell<'_> {
    /// Simulates the cell.
    ///
    /// # Errors
    /// A number of processors, sessions, designs or calls that does not fit machine or workload.
    pub fn run(&self) -> Result<Figures, Error> {
        self.check()?;
        Ok(Simulation::new(self).run())
    }

    fn check(&self) -> Result<(), Error> {
        let (cpus, latches) = (self.machine.cpus(), self.workload.latches().len());
        match () {
            () if self.cpus == 0 || self.cpus > cpus => {
                Err(Error::new(format!("{} processors asked for; {} has 1 to {cpus}", self.cpus, self.machine.name)))
            }
            () if self.sessions == 0 || self.sessions > SESSIONS_MAX => {
                Err(Error::new(format!("{} sessions asked for; a cell has 1 to {SESSIONS_MAX}", self.sessions)))
            }
            () if self.designs.len() != latches => {
                Err(Error::new(format!("{} designs for {latches} latches", self.designs.len())))
            }
            () if self.calls == 0 => Err(Error::new("a window of no calls")),
            () if !(self.slowdown > 0.0 && self.slowdown.is_finite()) => {
                Err(Error::new(format!("a slowdown of {}; expected a number above zero", self.slowdown)))
            }
            () if self.window_ps() > 1e18 => Err(Error::new("the window is longer than eleven days")),
            () => Ok(()),
        }
    }

    fn window_ps(&self) -> f64 {
        let crowd = (f64::from(self.sessions) / f64::from(self.cpus)).max(1.0);
        let calls = self.calls as f64 * self.workload.means().call_ns() * 1e3 * self.slowdown * crowd;
        let slices =
            if self.sessions > self.cpus { SLICES_LEAST * self.machine.scheduler.slice_us() * 1e6 } else { 0.0 };
        calls.max(slices).max(1.0)
    }
}

/// A cell while it runs.
pub(crate) struct Simulation<'a> {
    workload: &'a Workload,
    draws: Draws,
    now: u64,
    warm_up: u64,
    end: u64,
    tree: WinnerTree,
    sessions: Vec<Session>,
    cpus: Vec<Cpu>,
    idle: u32,
    /// Busy threads of each core, and the speed of a thread by their number.
    busy: Vec<u32>,
    speeds: Vec<f64>,
    cores: u32,
    words: Vec<Word>,
    /// The first word of each latch.
    first_word: Vec<u32>,
    times: Times,
    /// Hand-over by curve and number of spinners, and from which number on the curve is a bound.
    curves: [(Vec<u64>, usize); 3],
    figures: Figures,
}

/// Times of the machine in picoseconds.
struct Times {
    /// Own, SMT, die, socket, other.
    transfer: [u64; 5],
    spin: f64,
    slice: u64,
    wake_idle: u64,
    wake_busy: u64,
    /// From a post to the run on a busy processor, without the switch; `None` where a woken session waits for its turn.
    wake_preempt: Option<u64>,
    switch: u64,
    yielded: u64,
    post: u64,
    scheduler: crate::machine::Scheduler,
}

impl<'a> Simulation<'a> {
    fn new(cell: &Cell<'a>) -> Self {
        let (machine, window) = (cell.machine, cell.window_ps() as u64);
        let warm_up = window / 10;
        let cores = machine.sockets * machine.dies * machine.cores;
        let busy_cores = cell.sessions.min(cell.cpus).min(cores) as usize;
        let turbo = machine.turbo.get(busy_cores - 1).or(machine.turbo.last()).copied().unwrap_or(1.0);
        let speeds = (0..=machine.threads as usize).map(|busy| match busy {
            0 => 1.0,
            n => {
                let gain = machine.smt_throughput.get(n - 1).or(machine.smt_throughput.last()).copied().unwrap_or(1.0);
                gain / n as f64 * turbo / cell.slowdown
            }
        });
        let mut first_word = Vec::with_capacity(cell.designs.len());
        let mut words = Vec::new();
        for (latch, design) in cell.designs.iter().enumerate() {
            first_word.push(words.len() as u32);
            words.extend((0..design.words()).map(|_| word(*design, latch as u16, cell.cpus)));
        }
        let spinners = cell.sessions.min(cell.cpus) as usize;
        let mut sim = Self {
            workload: cell.workload,
            draws: Draws::new(cell.seed),
            now: 0,
            warm_up,
            end: warm_up + window,
            tree: WinnerTree::new(cell.sessions as usize),
            sessions: vec![session(); cell.sessions as usize],
            cpus: (0..cell.cpus).map(|n| cpu(machine, n)).collect(),
            idle: cell.cpus,
            busy: vec![0; cores as usize],
            speeds: speeds.collect(),
            cores,
            words,
            first_word,
            times: times(machine),
            curves: crate::machine::CURVES.map(|name| curve(machine, name, cell.cpus, spinners, cell.bound)),
            figures: Figures {
                sessions: cell.sessions,
                cpus: cell.cpus,
                latches: vec![Counts::default(); cell.designs.len()],
                ..Figures::default()
            },
        };
        sim.start(cell.workload.means().call_ns() * 1e3);
        sim
    }

    /// Sessions begin within a call's time, so that they do not meet at the first get.
    fn start(&mut self, call_ps: f64) {
        for s in 0..self.sessions.len() as u32 {
            let offset = self.draws.unit(s, Stream::Start, 0) * call_ps;
            let session = &mut self.sessions[s as usize];
            (session.then, session.left) = (Phase::Tail, offset as u64);
            session.cursor = Default::default();
            session.cpu = s % self.cpus.len() as u32;
            self.place(s);
        }
    }

    fn run(mut self) -> Figures {
        self.run_to(self.warm_up);
        self.forget();
        self.run_to(self.end);
        self.settle();
        self.figures.window_ps = self.end - self.warm_up;
        self.figures
    }

    fn run_to(&mut self, end: u64) {
        loop {
            let (at, session) = self.tree.first();
            if at >= end {
                self.now = end;
                return;
            }
            debug_assert!(at >= self.now, "events come in the order of time");
            self.now = at;
            self.figures.events += 1;
            self.step(session);
        }
    }

    /// Ends the warm-up: figures begin anew, the state stays.
    fn forget(&mut self) {
        self.settle();
        let latches = vec![Counts::default(); self.figures.latches.len()];
        let (sessions, cpus, events) = (self.figures.sessions, self.figures.cpus, self.figures.events);
        self.figures = Figures { sessions, cpus, events, latches, ..Figures::default() };
    }

    /// Charges the time of unfinished states up to now.
    fn settle(&mut self) {
        for session in &mut self.sessions {
            self.figures.time_ps[session.state as usize] += self.now - session.since;
            session.since = self.now;
        }
        for cpu in self.cpus.iter_mut().filter(|cpu| cpu.running != NONE) {
            self.figures.busy_ps += self.now - cpu.busy_since;
            cpu.busy_since = self.now;
        }
    }

    #[inline]
    fn step(&mut self, s: u32) {
        let session = &self.sessions[s as usize];
        if session.at > self.now {
            self.end_slice(s);
            return;
        }
        match session.phase {
            Phase::Gap => self.begin_get(s),
            Phase::Tail => self.end_call(s),
            Phase::Hold => self.end_hold(s),
            Phase::Read => self.end_read(s),
            Phase::Try => self.tried(s),
            Phase::Release => self.released(s),
            Phase::Spin => self.end_spin(s),
            Phase::SpinOdd => self.end_spin_odd(s),
            Phase::Grant => self.granted(s),
            Phase::Post => self.next(s, 0),
            Phase::Yield => self.try_again(s),
            Phase::Switch => self.resume(s),
            Phase::Timer | Phase::Waking => self.awake(s),
            Phase::Listed => unreachable!("a listed session has no event of its own"),
        }
    }

    /// Brings a session into a phase that ends at `at` unless something else happens.
    #[inline]
    fn enter(&mut self, s: u32, phase: Phase, at: u64) {
        let session = &mut self.sessions[s as usize];
        (session.phase, session.at) = (phase, at);
        self.change_state(s, phase.state());
        self.set_key(s);
    }

    #[inline]
    fn change_state(&mut self, s: u32, state: State) {
        let session = &mut self.sessions[s as usize];
        if state != session.state {
            self.figures.time_ps[session.state as usize] += self.now - session.since;
            (session.since, session.state) = (self.now, state);
        }
    }

    /// Computes for `work` at full speed, after `extra` for lines.
    #[inline]
    fn compute(&mut self, s: u32, phase: Phase, extra: u64, work: u64) {
        let session = &self.sessions[s as usize];
        let speed = self.speeds[self.busy[self.cpus[session.cpu as usize].core as usize] as usize];
        self.sessions[s as usize].speed = speed;
        let time = if speed == 1.0 { work } else { (work as f64 / speed) as u64 };
        self.enter(s, phase, self.now.saturating_add(extra).saturating_add(time));
    }

    fn end_call(&mut self, s: u32) {
        // The offset of the start is no call.
        self.figures.calls += u64::from(self.sessions[s as usize].word != NONE);
        self.workload.begin(self.draws, s, &mut self.sessions[s as usize].cursor);
        self.next(s, 0);
    }

    /// Goes on with the next get, or with the end of the call. `extra` is what the release took.
    #[inline]
    fn next(&mut self, s: u32, extra: u64) {
        loop {
            let session = &mut self.sessions[s as usize];
            match self.workload.next(self.draws, s, &mut session.cursor) {
                Ok(get) => {
                    (session.latch, session.write, session.hold_ps) = (get.latch, get.write, get.hold_ps);
                    session.word = self.first_word[usize::from(get.latch)];
                    session.copy = 0;
                    return self.compute(s, Phase::Gap, extra, get.gap_ps);
                }
                Err(0) => {
                    self.figures.calls += 1;
                    self.workload.begin(self.draws, s, &mut self.sessions[s as usize].cursor);
                }
                Err(tail) => {
                    session.word = 0;
                    return self.compute(s, Phase::Tail, extra, tail);
                }
            }
        }
    }
}

fn session() -> Session {
    Session {
        phase: Phase::Tail,
        then: Phase::Tail,
        on: On::Nothing,
        cpu: 0,
        at: NEVER,
        left: 0,
        speed: 1.0,
        state: State::Ready,
        since: 0,
        used: 0,
        ran_since: 0,
        cursor: Default::default(),
        word: NONE,
        latch: 0,
        write: false,
        copy: 0,
        hold_ps: 0,
        missed: false,
        sleeps: 0,
        wait_ps: 0,
        waits_since: NEVER,
        listed: false,
        posted: false,
        spin_left: 0,
        place: 0,
        version: 0,
        tries: 0,
        winners: 0,
        timers: 0,
    }
}

fn cpu(machine: &Machine, n: u32) -> Cpu {
    let place = machine.place(n);
    Cpu {
        running: NONE,
        queue: VecDeque::new(),
        slice_began: 0,
        taken: false,
        core: place.core,
        die: place.die,
        socket: place.socket,
        busy_since: 0,
    }
}

fn word(design: Design, latch: u16, cpus: u32) -> Word {
    Word {
        design,
        latch,
        owner: NONE,
        free_at: 0,
        holder: NONE,
        shared: 0,
        blocking: false,
        handover: None,
        spinners: Vec::new(),
        waiters: VecDeque::new(),
        data_at: NONE,
        copies: vec![0; cpus.div_ceil(64) as usize],
        version: 0,
        waits_even: Vec::new(),
    }
}

fn times(machine: &Machine) -> Times {
    let us = |t: f64| ps(t * 1e3);
    let (idle, busy) = machine.scheduler.wake_us();
    let mut transfer = [ps(machine.own_ns); 5];
    for (time, distance) in transfer[1..].iter_mut().zip(crate::machine::Distance::BETWEEN) {
        *time = ps(machine.transfer_or_farthest(distance));
    }
    Times {
        transfer,
        spin: machine.spin_ns * 1e3,
        slice: us(machine.scheduler.slice_us()).max(1),
        wake_idle: us(idle),
        wake_busy: us(busy),
        wake_preempt: machine.scheduler.preempts_us().map(|t| us((t - machine.scheduler.switch_us).max(0.0))),
        switch: us(machine.scheduler.switch_us),
        yielded: us(machine.scheduler.yield_us),
        post: us(machine.scheduler.post_us),
        scheduler: machine.scheduler,
    }
}

/// H(k) for k up to the number of spinners, and the first k that is a bound.
fn curve(machine: &Machine, name: &str, cpus: u32, spinners: usize, bound: Bound) -> (Vec<u64>, usize) {
    let measured = machine.handover_ns.get(name).map_or(&[][..], Vec::as_slice);
    let t = machine.mean_transfer_ns(cpus);
    // Without a curve the release fetches the line from the spinner, and the spinner fetches it back.
    let base = measured.last().filter(|_| measured.len() > 1).copied().unwrap_or(2.0 * t);
    let reach = measured.len().max(2) - 1;
    let times = (0..=spinners).map(|k| match measured.get(k) {
        Some(time) if measured.len() > 1 => ps(*time),
        _ if k == 0 => ps(machine.own_ns),
        _ => match bound {
            Bound::Lower => ps(base),
            Bound::Upper => ps(base + k.saturating_sub(reach) as f64 * (MOVES_A_GET + 1.0) * t),
        },
    });
    (times.collect(), if measured.len() > 1 { measured.len() } else { 1 })
}
