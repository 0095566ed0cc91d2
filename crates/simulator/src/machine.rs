//! Machines: shape, cost of moving a cache line, scheduler, hand-over curves; the files that describe them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::error::Error;
use crate::keyed::Keyed;

/// The distance of two processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Distance {
    /// The same processor.
    Own,
    /// Two threads of a core.
    Smt,
    /// Two cores of a die, or of a core complex.
    Die,
    /// Two dies of a socket.
    Socket,
    /// Two sockets.
    Other,
}

impl Distance {
    /// Those between different processors, nearest first.
    pub const BETWEEN: [Self; 4] = [Self::Smt, Self::Die, Self::Socket, Self::Other];

    /// The key of this distance in a machine file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Smt => "smt",
            Self::Die => "die",
            Self::Socket => "socket",
            Self::Other => "other",
        }
    }
}

/// The design curves that a machine file may have.
pub const CURVES: [&str; 3] = ["exclusive", "shared", "mutex"];

/// The most processors of a machine.
pub const CPUS_MAX: u32 = 4_096;

/// A machine. Times that are `None` were not measured: the simulator uses the default named in the field's text, and a
/// forecast that depends on it is refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// The source of the figures.
    pub source: String,
    /// Sockets.
    pub sockets: u32,
    /// Dies or core complexes of a socket.
    pub dies: u32,
    /// Cores of a die.
    pub cores: u32,
    /// Threads of a core.
    pub threads: u32,
    /// One atomic operation on a line that the processor owns, in nanoseconds.
    pub own_ns: f64,
    /// One-way transfer of a line with an atomic operation, by [`Distance::BETWEEN`], in nanoseconds.
    pub transfer_ns: [Option<f64>; 4],
    /// Relative standard error of the transfer times and of the hand-over curves.
    pub spread: f64,
    /// Work of a core with 1, 2, … busy threads, as multiples of its work with one.
    pub smt_throughput: Vec<f64>,
    /// Speed of a core with 1, 2, … busy cores, as multiples of the speed with one. The last holds for all further.
    pub turbo: Vec<f64>,
    /// One look at a word in a spin, in nanoseconds.
    pub spin_ns: f64,
    /// The scheduler.
    pub scheduler: Scheduler,
    /// Release to next acquire in nanoseconds with k = 0, 1, 2, … spinners, by curve ([`CURVES`]).
    pub handover_ns: BTreeMap<String, Vec<f64>>,
}

/// Times of the operating system, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scheduler {
    /// The time slice; 3,000 when not measured.
    pub slice_us: Option<f64>,
    /// From a post to the run on an idle processor; 10 when not measured.
    pub wake_idle_us: Option<f64>,
    /// From a post to the place in the run queue of a busy processor; 2 when not measured.
    pub wake_busy_us: Option<f64>,
    /// From a post to the run on a processor where another process computes. Shorter than half a slice: the scheduler
    /// lets a woken process take the processor. Longer, or not measured: a woken process takes its turn.
    pub wake_preempt_us: Option<f64>,
    /// Lateness of a sleep of 50 µs; 55 when not measured.
    pub late_50us_us: Option<f64>,
    /// Lateness of a sleep of 1 ms; 60 when not measured.
    pub late_1ms_us: Option<f64>,
    /// A change of the running process.
    pub switch_us: f64,
    /// A yield with an empty run queue.
    pub yield_us: f64,
    /// A post, in the process that posts.
    pub post_us: f64,
}

impl Scheduler {
    /// Nothing measured.
    pub const UNKNOWN: Self = Self {
        slice_us: None,
        wake_idle_us: None,
        wake_busy_us: None,
        wake_preempt_us: None,
        late_50us_us: None,
        late_1ms_us: None,
        switch_us: 1.5,
        yield_us: 0.5,
        post_us: 1.5,
    };

    /// The time slice in use.
    #[must_use]
    pub fn slice_us(&self) -> f64 {
        self.slice_us.unwrap_or(3_000.0)
    }

    /// The wake-up times in use: idle, busy.
    #[must_use]
    pub fn wake_us(&self) -> (f64, f64) {
        (self.wake_idle_us.unwrap_or(10.0), self.wake_busy_us.unwrap_or(2.0))
    }

    /// From a post to the run of a process that takes the processor of another one; `None` where it waits for its turn.
    #[must_use]
    pub fn preempts_us(&self) -> Option<f64> {
        self.wake_preempt_us.filter(|us| *us < self.slice_us() / 2.0)
    }

    /// The lateness of a sleep, between the measured ones by the logarithm of its length.
    #[must_use]
    pub fn late_us(&self, sleep_us: f64) -> f64 {
        let (short, long) = (self.late_50us_us.unwrap_or(55.0), self.late_1ms_us.unwrap_or(60.0));
        let part = (crate::random::ln((sleep_us / 50.0).max(1e-3)) / crate::random::ln(20.0)).clamp(0.0, 1.0);
        short + (long - short) * part
    }

    /// True when slice, wake-ups and timers were measured.
    #[must_use]
    pub fn is_calibrated(&self) -> bool {
        [self.slice_us, self.wake_idle_us, self.wake_busy_us, self.late_50us_us, self.late_1ms_us]
            .iter()
            .all(Option::is_some)
    }
}

/// The place of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub socket: u32,
    pub die: u32,
    pub core: u32,
}

impl Machine {
    /// A machine of equal processors without any cost of memory or scheduler: for closed forms.
    #[must_use]
    pub fn ideal(cpus: u32) -> Self {
        Self {
            name: "ideal".into(),
            source: "no machine: every transfer and every switch takes no time".into(),
            sockets: 1,
            dies: 1,
            cores: cpus,
            threads: 1,
            own_ns: 0.0,
            transfer_ns: [Some(0.0); 4],
            spread: 0.0,
            smt_throughput: vec![1.0],
            turbo: vec![1.0],
            spin_ns: 1.0,
            scheduler: Scheduler {
                slice_us: Some(1_000.0),
                wake_idle_us: Some(0.0),
                wake_busy_us: Some(0.0),
                wake_preempt_us: None,
                late_50us_us: Some(0.0),
                late_1ms_us: Some(0.0),
                switch_us: 0.0,
                yield_us: 0.0,
                post_us: 0.0,
            },
            handover_ns: CURVES.iter().map(|name| ((*name).to_owned(), vec![0.0; cpus.max(1) as usize])).collect(),
        }
    }

    /// Processors.
    #[must_use]
    pub fn cpus(&self) -> u32 {
        self.sockets * self.dies * self.cores * self.threads
    }

    /// The place of a processor in the order of use: cores of a die, dies, sockets, and then the second threads.
    pub(crate) fn place(&self, cpu: u32) -> Place {
        let cores = self.sockets * self.dies * self.cores;
        let core = cpu % cores;
        Place { socket: core / (self.dies * self.cores), die: core / self.cores, core }
    }

    /// The distance of two processors.
    #[must_use]
    pub fn distance(&self, a: u32, b: u32) -> Distance {
        let (from, to) = (self.place(a), self.place(b));
        match () {
            () if a == b => Distance::Own,
            () if from.core == to.core => Distance::Smt,
            () if from.die == to.die => Distance::Die,
            () if from.socket == to.socket => Distance::Socket,
            () => Distance::Other,
        }
    }

    /// The time of a transfer over a distance, or `None` when the file does not state it.
    #[must_use]
    pub fn transfer(&self, distance: Distance) -> Option<f64> {
        match distance {
            Distance::Own => Some(self.own_ns),
            between => self.transfer_ns[between as usize - 1],
        }
    }

    /// The distances that occur among the first `cpus` processors.
    #[must_use]
    pub fn distances(&self, cpus: u32) -> Vec<Distance> {
        // The first die and the first socket fill first, so the first processor sees every distance that occurs.
        let found = |distance: &Distance| (1..cpus).any(|b| self.distance(0, b) == *distance);
        Distance::BETWEEN.into_iter().filter(found).collect()
    }

    /// The mean transfer from a processor to another one among the first `cpus`; unknown distances count as the
    /// farthest known one.
    #[must_use]
    pub fn mean_transfer_ns(&self, cpus: u32) -> f64 {
        let (mut sum, mut pairs) = (0.0, 0u32);
        for b in 1..cpus {
            sum += self.transfer_or_farthest(self.distance(0, b));
            pairs += 1;
        }
        if pairs == 0 { 0.0 } else { sum / f64::from(pairs) }
    }

    pub(crate) fn transfer_or_farthest(&self, distance: Distance) -> f64 {
        let farthest = || self.transfer_ns.iter().flatten().fold(self.own_ns, |a, b| a.max(*b));
        self.transfer(distance).unwrap_or_else(farthest)
    }

    /// The machine with threads of a core and busy cores that do not slow each other: for use with a control.
    pub(crate) fn without_slowing(&self) -> Self {
        let smt_throughput = (1..=self.threads).map(f64::from).collect();
        Self { smt_throughput, turbo: vec![1.0], ..self.clone() }
    }

    /// Reads a machine file. The keys are listed in the crate's README.
    ///
    /// # Errors
    /// The line, and what is wrong with it: an unknown key, a value out of bounds, a second value for a key.
    pub fn parse(text: &str) -> Result<Self, Error> {
        const NS: f64 = 1e9;
        const US: f64 = 1e9;
        let mut file = Keyed::parse(text)?;
        let name = file.text("name")?.ok_or_else(|| Error::new("name is missing"))?;
        let source =
            file.text("source")?.ok_or_else(|| Error::new("source is missing: it says where figures are from"))?;
        let [sockets, dies, cores, threads] = [
            file.count("shape.sockets", 64, 1)?,
            file.count("shape.dies", 64, 1)?,
            file.count("shape.cores", 1_024, 0)?,
            file.count("shape.threads", 16, 1)?,
        ];
        if cores == 0 {
            return Err(Error::new("shape.cores is missing"));
        }
        let cpus = u64::from(sockets) * u64::from(dies) * u64::from(cores) * u64::from(threads);
        if cpus > u64::from(CPUS_MAX) {
            return Err(Error::new(format!("the shape has {cpus} processors; at most {CPUS_MAX}")));
        }
        let mut transfer_ns = [None; 4];
        for (time, distance) in transfer_ns.iter_mut().zip(Distance::BETWEEN) {
            *time = file.number(&format!("transfer_ns.{}", distance.name()), 0.0, NS)?;
        }
        let mut handover_ns = BTreeMap::new();
        for curve in CURVES {
            if let Some(times) = file.numbers(&format!("handover_ns.{curve}"), 0.0, NS)? {
                handover_ns.insert(curve.to_owned(), times);
            }
        }
        let unknown = Scheduler::UNKNOWN;
        let mut us = |key: &str| file.number(&format!("scheduler_us.{key}"), 0.0, US);
        let scheduler = Scheduler {
            slice_us: us("slice")?.map(|x| x.max(1.0)),
            wake_idle_us: us("wake_idle")?,
            wake_busy_us: us("wake_busy")?,
            wake_preempt_us: us("wake_preempt")?,
            late_50us_us: us("late_50us")?,
            late_1ms_us: us("late_1ms")?,
            switch_us: us("switch")?.unwrap_or(unknown.switch_us),
            yield_us: us("yield")?.unwrap_or(unknown.yield_us),
            post_us: us("post")?.unwrap_or(unknown.post_us),
        };
        let machine = Self {
            name,
            source,
            sockets,
            dies,
            cores,
            threads,
            own_ns: file.number("transfer_ns.own", 0.0, NS)?.unwrap_or(5.0),
            transfer_ns,
            spread: file.number("transfer_ns.spread", 0.0, 2.0)?.unwrap_or(0.1),
            smt_throughput: file.numbers("processor.smt_throughput", 0.1, 16.0)?.unwrap_or_else(|| vec![1.0]),
            turbo: file.numbers("processor.turbo", 0.05, 4.0)?.unwrap_or_else(|| vec![1.0]),
            spin_ns: file.number("processor.spin_ns", 0.01, NS)?.unwrap_or(2.0),
            scheduler,
            handover_ns,
        };
        file.finish()?;
        Ok(machine)
    }

    /// The file of this machine, which [`Machine::parse`] reads back.
    #[must_use]
    pub fn to_text(&self) -> String {
        let plain = |text: &str| text.replace(['"', '\\', '\n'], " ");
        let list = |all: &[f64]| all.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
        let mut out = format!("name = \"{}\"\nsource = \"{}\"\n", plain(&self.name), plain(&self.source));
        let shape = [("sockets", self.sockets), ("dies", self.dies), ("cores", self.cores), ("threads", self.threads)];
        out.push_str("\n[shape]\n");
        shape.iter().for_each(|(key, n)| writeln!(out, "{key} = {n}").unwrap_or(()));
        let _ = write!(out, "\n[transfer_ns]\nown = {}\n", self.own_ns);
        for (time, distance) in self.transfer_ns.iter().zip(Distance::BETWEEN) {
            time.iter().for_each(|t| writeln!(out, "{} = {t}", distance.name()).unwrap_or(()));
        }
        let _ = writeln!(out, "spread = {}", self.spread);
        let _ = write!(
            out,
            "\n[processor]\nsmt_throughput = [{}]\nturbo = [{}]\nspin_ns = {}\n\n[scheduler_us]\n",
            list(&self.smt_throughput),
            list(&self.turbo),
            self.spin_ns
        );
        let s = &self.scheduler;
        let times = [
            ("slice", s.slice_us),
            ("wake_idle", s.wake_idle_us),
            ("wake_busy", s.wake_busy_us),
            ("wake_preempt", s.wake_preempt_us),
            ("late_50us", s.late_50us_us),
            ("late_1ms", s.late_1ms_us),
            ("switch", Some(s.switch_us)),
            ("yield", Some(s.yield_us)),
            ("post", Some(s.post_us)),
        ];
        for (key, time) in times {
            time.iter().for_each(|t| writeln!(out, "{key} = {t}").unwrap_or(()));
        }
        if !self.handover_ns.is_empty() {
            out.push_str("\n[handover_ns]\n");
            self.handover_ns.iter().for_each(|(name, all)| writeln!(out, "{name} = [{}]", list(all)).unwrap_or(()));
        }
        out
    }
}

/// The machine files that the crate ships: name of the file and text.
pub const SHIPPED: &[(&str, &str)] = &[
    ("this-machine", include_str!("../machines/this-machine.toml")),
    ("ultrasparc-t2", include_str!("../machines/ultrasparc-t2.toml")),
    ("core-i7-980x", include_str!("../machines/core-i7-980x.toml")),
    ("sandy-bridge-e5-2690", include_str!("../machines/sandy-bridge-e5-2690.toml")),
    ("broadwell-e5-2680v4", include_str!("../machines/broadwell-e5-2680v4.toml")),
    ("cascade-lake-6242", include_str!("../machines/cascade-lake-6242.toml")),
    ("epyc-7742", include_str!("../machines/epyc-7742.toml")),
    ("epyc-7r13", include_str!("../machines/epyc-7r13.toml")),
    ("sparc-t4", include_str!("../machines/sparc-t4.toml")),
    ("power7", include_str!("../machines/power7.toml")),
];
