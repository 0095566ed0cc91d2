//! Running an experiment, block by block: an instance of one generation is started and set up, runs one repeat of its
//! cells in random order, and is stopped.
//!
//! So only one instance, with its background processes, exists while a cell is measured. Every block has the same
//! set-up, warm-up, calibration and laws before its first cell. The blocks of a repeat come in random order, so that a
//! drift of the machine is not mistaken for a difference of generations. The repeats of a cell come from different
//! instances, so that the interval of their average includes the differences between instances. Keeping an instance of
//! each generation for the whole run and stopping its processes by signals was rejected: a laboratory that is killed
//! would leave stopped processes behind, and all repeats would share the layout of one instance.

use crate::counts::Count;
use crate::results::Figures;
use std::collections::BTreeMap;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use client::{Bind, Client, Credentials, Ephemeral};
use indicatif::{ProgressBar, ProgressStyle};
use types::{DataType, Number, Value};

use crate::arrivals::{Queue, Rate};
use crate::error::LabError;
use crate::latency::{Latency, Recorder};
use crate::laws::{self};
use crate::manifest::{Experiment, Hold, Manifest, Variant};
use crate::results::{LatchFigures, PublishedCurve, Results, Row};
use crate::stop::Stop;
use crate::window::{self, Call, Window};
use crate::workers::{Crew, Session, calls, rate_of};

/// The sweep and the duration of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    pub sessions: Vec<u32>,
    /// Operations of each session in a cell; by default as many as take `seconds`.
    pub iterations: Option<u64>,
    pub seconds: f64,
    /// Arrivals of all sessions of a cell together; `None`: a session begins an operation when its last one has ended.
    pub rate: Option<Rate>,
    pub repeat: u32,
    /// Names of workloads, generations, or `workload@generation`; empty means all.
    pub variants: Vec<String>,
    pub generations: Vec<String>,
    /// Init parameters that override the manifest's.
    pub params: Vec<(String, String)>,
    pub seed: u64,
    pub progress: bool,
    pub stop: Stop,
}

/// One cell to run.
#[derive(Clone, Debug)]
struct Cell {
    variant: usize,
    sessions: u32,
}

/// One repeat of the cells of one generation, run by one instance.
#[derive(Clone, Debug)]
struct Block {
    generation: usize,
    repeat: u32,
    cells: Vec<Cell>,
}

struct Instance {
    ephemeral: Ephemeral,
    observer: Client,
    /// Operations a second of one session, by variant.
    rates: Vec<f64>,
    /// The counts of an operation.
    counts: Vec<Count>,
}

/// Runs an experiment and returns its results.
///
/// # Errors
/// When an instance cannot be started, or a statement of the experiment fails: the statement's error.
pub fn run(experiment: &Experiment, plan: &Plan) -> Result<Results, LabError> {
    let manifest = &experiment.manifest;
    let blocks = blocks(experiment, plan)?;
    if let Some(rate) = plan.rate {
        // An impossible rate is refused before an instance is started.
        rate.schedule(plan.seconds, plan.seed)?;
        if let Some(variant) = manifest.variants.iter().find(|v| v.hold.is_some()) {
            let reason = "--rate is not possible where a latch is held by hand";
            return Err(LabError::new(format!("{reason}, as in the variant '{}' of {}", variant.name, manifest.name)));
        }
    }
    let cells: usize = blocks.iter().map(|block| block.cells.len()).sum();
    let bar = progress_bar(plan.progress, (cells + blocks.len()) as u64);
    let load_before = crate::host::load();
    let mut results = Results {
        experiment: manifest.name.clone(),
        title: manifest.title.clone(),
        source: manifest.source.clone(),
        question: manifest.question.clone(),
        started: os::clock::wall_ns() / 1_000_000_000,
        host: crate::host::describe(),
        version: env!("CARGO_PKG_VERSION").into(),
        parameters: parameters(experiment, plan),
        rows: Vec::new(),
        cells: Vec::new(),
        latch_names: manifest.measure.latches.iter().map(crate::manifest::LatchName::all).collect(),
        published: published(manifest)?,
        sections: manifest.sections.iter().map(crate::sections::Section::head).collect(),
        counts: Vec::new(),
        notes: manifest.notes.clone(),
        sleeps: manifest.measure.sleeps.clone(),
        asked: plan.generations.clone(),
        stopped_of: None,
    };
    // Rates of the first instance of each generation, so that all repeats of a cell have the same length.
    let mut rates: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    'blocks: for block in &blocks {
        let generation = &plan.generations[block.generation];
        if plan.stop.is_asked() {
            results.stopped_of = Some(cells);
            break;
        }
        bar.set_message(format!("{}: setting up {generation}, repeat {}", manifest.name, block.repeat));
        let mut instance = start(experiment, plan, generation)?;
        laws::join(&mut results.counts, std::mem::take(&mut instance.counts));
        let rates = rates.entry(block.generation).or_insert_with(|| instance.rates.clone());
        instance.rates.clone_from(rates);
        bar.inc(1);
        for cell in &block.cells {
            if plan.stop.is_asked() {
                results.stopped_of = Some(cells);
                break 'blocks;
            }
            let variant = &manifest.variants[cell.variant];
            bar.set_message(format!("{}: {}@{generation}, {} sessions", manifest.name, variant.name, cell.sessions));
            results.rows.push(run_cell(&mut instance, plan, manifest, variant, generation, block.repeat, cell)?);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    // The load before the run shows the other work of the machine.
    for (name, load) in [("load average before the run", load_before), ("load average at its end", crate::host::load())]
    {
        results.parameters.extend(load.map(|load| (name.to_string(), load.to_string())));
    }
    if results.rows.is_empty() {
        return Err(LabError::new("stopped before the first measurement".into()));
    }
    results.rows.sort_by(|a, b| {
        let key = |r: &Row| (r.workload.clone(), crate::results::generation_order(&r.generation), r.sessions, r.repeat);
        key(a).cmp(&key(b))
    });
    results.fill();
    Ok(results)
}

/// The published curves with their predictions.
fn published(manifest: &Manifest) -> Result<Vec<PublishedCurve>, LabError> {
    let of = |p: &crate::manifest::Published| {
        Ok(PublishedCurve {
            title: p.title.clone(),
            machine: p.machine.clone(),
            year: Some(p.year),
            release: p.release.clone(),
            workload: p.variant.clone(),
            generation: p.generation.clone(),
            sessions: p.sessions.clone(),
            ops_per_s: p.ops_per_s.clone(),
            gets: p.gets.clone(),
            misses: p.misses.clone(),
            sleeps: p.sleeps.clone(),
            foretold: crate::foretold::of(manifest, p)?,
        })
    };
    manifest.published.iter().map(of).collect()
}

fn progress_bar(show: bool, steps: u64) -> ProgressBar {
    if !show {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(steps);
    if let Ok(style) = ProgressStyle::with_template("{bar:32} {pos}/{len}  {elapsed_precise} (about {eta} left)  {msg}")
    {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// All cells of the plan, in blocks: repeat by repeat, the generations of a repeat and the cells of a block in random
/// order.
fn blocks(experiment: &Experiment, plan: &Plan) -> Result<Vec<Block>, LabError> {
    let mut out: Vec<Block> = Vec::new();
    for repeat in 1..=plan.repeat {
        let of_generation =
            |generation: usize| Block { generation, repeat, cells: cells(experiment, plan, generation) };
        let mut round: Vec<Block> = (0..plan.generations.len()).map(of_generation).collect();
        round.retain(|block| !block.cells.is_empty());
        shuffle(&mut round, plan.seed.wrapping_mul(1_000_003).wrapping_add(u64::from(repeat)));
        out.append(&mut round);
    }
    if out.is_empty() {
        let names: Vec<&str> = experiment.manifest.variants.iter().map(|v| v.name.as_str()).collect();
        return Err(LabError::new(format!(
            "no cell fits --variant {}: there are {} in generations {}",
            plan.variants.join(","),
            names.join(", "),
            plan.generations.join(", ")
        )));
    }
    for (at, block) in out.iter_mut().enumerate() {
        shuffle(&mut block.cells, plan.seed.wrapping_mul(7_919).wrapping_add(at as u64));
    }
    Ok(out)
}

/// The cells of the plan for a generation.
fn cells(experiment: &Experiment, plan: &Plan, generation: usize) -> Vec<Cell> {
    let mut out = Vec::new();
    let generation = &plan.generations[generation];
    for (variant_at, variant) in experiment.manifest.variants.iter().enumerate() {
        if is_wanted(plan, variant, generation) && variant.is_in(generation) {
            out.extend(plan.sessions.iter().map(|sessions| Cell { variant: variant_at, sessions: *sessions }));
        }
    }
    out
}

/// Whether the plan asks for a variant: by its name, by that of the generation, or for everything.
fn is_wanted(plan: &Plan, variant: &Variant, generation: &str) -> bool {
    let id = format!("{}@{generation}", variant.name);
    let by_name = plan.variants.iter().any(|v| *v == variant.name || *v == id);
    let by_generation = plan.variants.is_empty() || plan.variants.iter().any(|v| v == generation);
    by_name || by_generation && !variant.named_only
}

/// Fisher and Yates's shuffle with a small generator of its own, so that a seed gives the same order everywhere.
pub(crate) fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut state = seed ^ 0x9e37_79b9_7f4a_7c15;
    for last in (1..items.len()).rev() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = state;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        items.swap(last, ((x ^ x >> 31) % (last as u64 + 1)) as usize);
    }
}

fn parameters(experiment: &Experiment, plan: &Plan) -> BTreeMap<String, String> {
    let mut out = experiment.manifest.parameters.clone();
    out.extend(plan.params.iter().cloned());
    match plan.iterations {
        Some(iterations) => out.insert("iterations a session".into(), iterations.to_string()),
        None => out.insert("seconds a cell".into(), plan.seconds.to_string()),
    };
    if let Some(rate) = plan.rate {
        out.insert("arrivals per second".into(), rate.per_s.to_string());
        out.insert("arrivals".into(), rate.pattern.name().into());
    }
    out.insert("repeats".into(), plan.repeat.to_string());
    out.insert("seed of the order".into(), plan.seed.to_string());
    out
}

/// An instance of one generation with the experiment's objects, warmed up; `params` override the manifest's.
pub(crate) fn set_up(
    experiment: &Experiment,
    params: &[(String, String)],
    generation: &str,
) -> Result<(Ephemeral, Client), LabError> {
    let mut all = experiment.manifest.parameters.clone();
    all.insert("latch_generation".into(), generation.into());
    all.extend(params.iter().cloned());
    let pairs: Vec<(&str, &str)> = all.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let ephemeral = Ephemeral::start(&pairs)?;
    let mut observer = ephemeral.connect(&Credentials::Sysdba)?;
    for statement in shell::split_script(&experiment.setup) {
        observer
            .execute(&statement, &[])
            .map_err(|e| LabError::new(format!("{e}\nin the set-up's statement\n{statement}")))?;
    }
    if let Some(statement) = &experiment.manifest.warm_up {
        observer.execute(statement, &[]).map_err(|e| LabError::new(format!("{e}\nin the warm-up {statement}")))?;
    }
    Ok((ephemeral, observer))
}

/// Starts an instance of one generation and sets the experiment up in it.
fn start(experiment: &Experiment, plan: &Plan, generation: &str) -> Result<Instance, LabError> {
    let (ephemeral, observer) = set_up(experiment, &plan.params, generation)?;
    let mut instance = Instance { ephemeral, observer, rates: Vec::new(), counts: Vec::new() };
    for variant in &experiment.manifest.variants {
        let has_cells = variant.is_in(generation) && (!variant.named_only || is_wanted(plan, variant, generation));
        let rate = if has_cells { rate_of_worker(&instance.ephemeral, &variant.worker)? } else { 0.0 };
        instance.rates.push(rate);
    }
    count(&mut instance, experiment, generation)?;
    Ok(instance)
}

/// Counts the figures of an operation, for the experiment's laws.
fn count(instance: &mut Instance, experiment: &Experiment, generation: &str) -> Result<(), LabError> {
    let manifest = &experiment.manifest;
    for law in &manifest.laws {
        let variant = manifest.variants.iter().find(|v| v.name == law.variant).expect("the manifest was checked");
        if !variant.is_in(generation) {
            continue;
        }
        let mut session = instance.ephemeral.connect(&Credentials::Sysdba)?;
        let mut work = |operations| execute_worker(&mut session, &variant.worker, operations);
        let counted = law.count(generation, &mut instance.observer, &mut work)?;
        instance.counts.push(counted);
        session.logoff(true)?;
    }
    Ok(())
}

/// Measures the operations a second of one session.
pub(crate) fn rate_of_worker(ephemeral: &Ephemeral, worker: &str) -> Result<f64, LabError> {
    let mut session = ephemeral.connect(&Credentials::Sysdba)?;
    let rate = rate_of(&mut |iterations| {
        let started = Instant::now();
        execute_worker(&mut session, worker, iterations)?;
        Ok(started.elapsed().as_secs_f64())
    })?;
    session.logoff(true)?;
    Ok(rate)
}

pub(crate) fn execute_worker(session: &mut Client, worker: &str, iterations: u64) -> Result<(), LabError> {
    let bind = Bind::named("iterations", DataType::NUMBER, Value::Number(Number::from_u64(iterations)));
    session.execute(worker, &[bind]).map(drop).map_err(|e| LabError::new(format!("{e}\nin the worker {worker}")))
}

/// The figures of every section.
fn read_sections(manifest: &Manifest, observer: &mut Client) -> Result<BTreeMap<String, Figures>, LabError> {
    manifest.sections.iter().map(|section| Ok((section.title.clone(), section.read(observer)?))).collect()
}

/// Runs one cell: its sessions are connected and prepared, then start together.
fn run_cell(
    instance: &mut Instance,
    plan: &Plan,
    manifest: &Manifest,
    variant: &Variant,
    generation: &str,
    repeat: u32,
    cell: &Cell,
) -> Result<Row, LabError> {
    let latches = manifest.measure.names();
    let cores = crate::host::describe().cores.max(1) as f64;
    // With more sessions than cores each gets its share of the work, so that the cell takes about as long with any
    // number of sessions.
    let share = (cores / f64::from(cell.sessions)).min(1.0);
    let rate = instance.rates[cell.variant];
    let iterations = plan.iterations.unwrap_or_else(|| ((rate * plan.seconds * share) as u64).max(1));
    let iterations = iterations.next_multiple_of(manifest.sweep.portion);
    let sections = read_sections(manifest, &mut instance.observer)?;
    let before = latch_figures(&mut instance.observer, &latches)?;
    let by_hand = variant.hold.as_ref().map(|hold| ByHand::ready(instance, hold)).transpose()?;
    let is_held = by_hand.is_some();
    // A session that may be blocked by a latch held by hand makes a single call: the question is only when it gets past
    // the latch.
    let calls = if is_held { vec![iterations] } else { calls(iterations, manifest.sweep.portion, rate) };
    let done = match plan.rate {
        // The seed does not depend on the variant: all variants and designs get the same arrivals.
        Some(rate) => {
            let seed = plan.seed.wrapping_mul(15_485_863).wrapping_add(u64::from(repeat));
            let queue = Queue::new(rate.schedule(plan.seconds, seed)?, plan.seconds);
            arrive(instance, variant, cell.sessions, manifest.sweep.portion, queue)?
        }
        None => {
            let (sessions, passed) = work(instance, variant, cell.sessions, &calls, by_hand)?;
            Done {
                operations: iterations * u64::from(cell.sessions),
                calls: sessions.iter().map(|calls| calls.len() as u64).sum(),
                elapsed_s: window::elapsed_s(&sessions),
                window: window::common(&sessions).filter(|_| !is_held),
                passed: is_held.then_some(passed),
                latency: None,
            }
        }
    };
    let after = latch_figures(&mut instance.observer, &latches)?;
    let mut added = read_sections(manifest, &mut instance.observer)?;
    for (title, figures) in &mut added {
        *figures = crate::sections::since(std::mem::take(figures), &sections[title]);
    }
    let Done { operations, calls, elapsed_s, window, passed, latency } = done;
    let figures = after.into_iter().map(|(name, f)| {
        let since = f.since(before.get(&name).copied().unwrap_or_default());
        (name, since)
    });
    Ok(Row {
        variant: format!("{}@{generation}", variant.name),
        workload: variant.name.clone(),
        generation: generation.to_string(),
        sessions: cell.sessions,
        repeat,
        operations,
        calls,
        elapsed_s,
        window,
        ops_per_s: window.map_or(operations as f64 / elapsed_s.max(1e-9), |window| window.per_second()),
        pct_linear: None,
        passed,
        latency,
        latches: figures.collect(),
        sections: added,
    })
}

/// The outcome of a cell's work.
struct Done {
    operations: u64,
    calls: u64,
    elapsed_s: f64,
    window: Option<Window>,
    passed: Option<u32>,
    latency: Option<Latency>,
}

/// Sessions that are logged on and have parsed the worker and touched their memory before the clock runs.
fn prepared(instance: &Instance, variant: &Variant, sessions: u32) -> Result<Vec<Box<dyn Session>>, LabError> {
    let mut all: Vec<Box<dyn Session>> = Vec::new();
    for _ in 0..sessions {
        let client = instance.ephemeral.connect(&Credentials::Sysdba)?;
        let mut worker = Worker { client, statement: variant.worker.clone() };
        worker.work(0)?;
        all.push(Box::new(worker));
    }
    Ok(all)
}

/// A session of Latchwork that executes a worker statement.
pub struct Worker {
    pub client: Client,
    pub statement: String,
}

impl Session for Worker {
    fn work(&mut self, operations: u64) -> Result<(), LabError> {
        execute_worker(&mut self.client, &self.statement, operations)
    }

    fn end(self: Box<Self>) -> Result<(), LabError> {
        Ok(self.client.logoff(true)?)
    }
}

/// Performs the operations of a queue, a portion for each arrival. On return the sessions have logged off.
fn arrive(instance: &Instance, variant: &Variant, sessions: u32, portion: u64, queue: Queue) -> Result<Done, LabError> {
    let workers = prepared(instance, variant, sessions)?;
    let barrier = Barrier::new(workers.len());
    let serve = |mut session: Box<dyn Session>| -> Result<(Recorder, u64, f64), LabError> {
        barrier.wait();
        let served = queue.serve(&mut || session.work(portion))?;
        session.end()?;
        Ok(served)
    };
    let serve = &serve;
    let served: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = workers.into_iter().map(|session| scope.spawn(move || serve(session))).collect();
        threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
    });
    let (mut all, mut calls, mut elapsed_s) = (Recorder::default(), 0, 0.0f64);
    for outcome in served {
        let (recorder, done, ended_s) = outcome.map_err(|_| LabError::new("a worker's thread panicked".into()))??;
        all.add(&recorder);
        calls += done;
        elapsed_s = elapsed_s.max(ended_s);
    }
    let latency = Some(all.latency());
    Ok(Done { operations: calls * portion, calls, elapsed_s, window: None, passed: None, latency })
}

/// Runs the workers; returns the calls of each session, and the number of sessions that ended while a latch was held by
/// hand. `calls` has the number of operations of each call of a session. On return the sessions have logged off.
fn work(
    instance: &mut Instance,
    variant: &Variant,
    sessions: u32,
    calls: &[u64],
    by_hand: Option<ByHand>,
) -> Result<(Vec<Vec<Call>>, u32), LabError> {
    let crew = Crew::of(prepared(instance, variant, sessions)?, calls);
    let held = by_hand.map(ByHand::take).transpose()?;
    crew.start();
    let passed = match held {
        Some(held) => held.keep_and_free(&mut instance.observer, sessions, crew.ended())?,
        None => 0,
    };
    let (ended, done) = crew.done()?;
    ended.into_iter().try_for_each(Session::end)?;
    Ok((done, passed))
}

/// A session that holds a latch by hand.
struct ByHand {
    session: Client,
    name: String,
    address: String,
    shared: bool,
    time: Duration,
}

impl ByHand {
    fn ready(instance: &mut Instance, hold: &Hold) -> Result<ByHand, LabError> {
        let mut session = instance.ephemeral.connect(&Credentials::Sysdba)?;
        for name in &hold.latches {
            let sql = format!("select rawtohex(addr) from v$latch where name = '{}'", name.replace('\'', "''"));
            let rows = session.query(&sql, &[])?.all()?;
            if let Some(Value::Text(address)) = rows.first().map(|row| row[0].clone()) {
                let (address, time) = (format!("0x{address}"), Duration::from_millis(hold.ms));
                return Ok(ByHand { session, name: name.clone(), address, shared: hold.shared, time });
            }
        }
        Err(LabError::new(format!("no latch to hold: {}", hold.latches.join(", "))))
    }

    fn take(mut self) -> Result<ByHand, LabError> {
        let call = match self.shared {
            true => format!("call kslgetsl {} 1 0 0 8", self.address),
            false => format!("call kslgetl {} 1", self.address),
        };
        for line in ["setmypid", &call] {
            self.session.execute(&format!("oradebug {line}"), &[])?;
        }
        Ok(self)
    }

    /// Holds the latch until all workers have ended, or until no session has got it for the given time: a session that
    /// gets it may be slow, but a blocked one makes no progress. Returns the number that had ended by then.
    fn keep_and_free(mut self, observer: &mut Client, sessions: u32, ended: &AtomicU32) -> Result<u32, LabError> {
        let latch = [self.name.clone()];
        let mut gets = None;
        let mut since = Instant::now();
        while ended.load(Ordering::SeqCst) < sessions && since.elapsed() < self.time {
            std::thread::sleep(Duration::from_millis(20));
            let now = latch_figures(observer, &latch)?.values().map(|f| f.gets).sum::<u64>();
            if gets != Some(now) {
                (gets, since) = (Some(now), Instant::now());
            }
        }
        let passed = ended.load(Ordering::SeqCst);
        self.session.execute(&format!("oradebug call kslfre {}", self.address), &[])?;
        self.session.logoff(true)?;
        Ok(passed)
    }
}

/// The figures of the requested latches.
fn latch_figures(observer: &mut Client, latches: &[String]) -> Result<BTreeMap<String, LatchFigures>, LabError> {
    if latches.is_empty() {
        return Ok(BTreeMap::new());
    }
    let names: Vec<String> = latches.iter().map(|name| format!("'{}'", name.replace('\'', "''"))).collect();
    let sql = format!(
        "select name, gets, misses, sleeps, spin_gets, wait_time from v$latch where name in ({})",
        names.join(", ")
    );
    let rows = observer.query(&sql, &[])?.all()?;
    let mut out = BTreeMap::new();
    for row in rows {
        let number = |at: usize| match &row[at] {
            Value::Number(n) => n.to_i64().ok().and_then(|n| u64::try_from(n).ok()).unwrap_or(0),
            _ => 0,
        };
        if let Value::Text(name) = &row[0] {
            let figures = LatchFigures {
                gets: number(1),
                misses: number(2),
                sleeps: number(3),
                spin_gets: number(4),
                wait_time_us: number(5),
            };
            out.insert(name.clone(), figures);
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_order_and_every_cell_once() {
        let mut a: Vec<u32> = (0..50).collect();
        let mut b = a.clone();
        shuffle(&mut a, 7);
        shuffle(&mut b, 7);
        assert_eq!(a, b);
        let mut c: Vec<u32> = (0..50).collect();
        shuffle(&mut c, 8);
        assert_ne!(a, c);
        a.sort_unstable();
        assert_eq!(a, (0..50).collect::<Vec<_>>());
    }

    fn plan(experiment: &Experiment) -> Plan {
        Plan {
            sessions: vec![1, 2],
            iterations: Some(1),
            seconds: 1.0,
            rate: None,
            repeat: 3,
            variants: vec![],
            generations: experiment.manifest.sweep.generations.clone(),
            params: vec![],
            seed: 1,
            progress: false,
            stop: Stop::default(),
        }
    }

    fn cells_of(blocks: &[Block]) -> Vec<(usize, u32, usize, u32)> {
        let of =
            |b: &Block| b.cells.iter().map(|c| (b.generation, b.repeat, c.variant, c.sessions)).collect::<Vec<_>>();
        blocks.iter().flat_map(of).collect()
    }

    #[test]
    fn variants_are_chosen_by_workload_generation_or_both() {
        let experiment = Experiment::find("result-cache").unwrap();
        let mut plan = plan(&experiment);
        let count = |plan: &Plan| cells_of(&blocks(&experiment, plan).unwrap()).len();
        let all = count(&plan);
        assert_eq!(all, 2 * 4 * 2 * 3);
        plan.variants = vec!["result-cache".into()];
        assert_eq!(count(&plan), all / 2);
        plan.variants = vec!["hash-cluster@11.1".into()];
        assert_eq!((count(&plan), blocks(&experiment, &plan).unwrap().len()), (6, 3));
        plan.variants = vec!["nothing".into()];
        assert!(blocks(&experiment, &plan).unwrap_err().to_string().contains("hash-cluster"));
        // A variant that is run only by its name.
        let experiment = Experiment::find("kill-cpu").unwrap();
        plan.generations = vec!["11.1".into()];
        let workloads = |variants: &[&str]| {
            let variants = variants.iter().map(|v| v.to_string()).collect();
            let blocks = blocks(&experiment, &Plan { variants, ..plan.clone() }).unwrap();
            let name = |cell: &Cell| experiment.manifest.variants[cell.variant].name.as_str();
            blocks.iter().flat_map(|b| b.cells.iter().map(name)).collect::<std::collections::BTreeSet<_>>().len()
        };
        assert_eq!((workloads(&[]), workloads(&["11.1"])), (3, 3));
        assert_eq!((workloads(&["short-walks"]), workloads(&["short-walks@11.1", "one-table"])), (1, 2));
    }

    /// A block is one complete repeat of one generation, so no other instance is needed while it runs.
    #[test]
    fn each_block_has_one_repeat_of_one_generation_in_an_order_of_its_own() {
        let experiment = Experiment::find("result-cache").unwrap();
        let mut plan = plan(&experiment);
        plan.sessions = (1..=12).collect();
        let of_seed = |seed: u64| blocks(&experiment, &Plan { seed, ..plan.clone() }).unwrap();
        let one = of_seed(1);
        assert_eq!(cells_of(&one), cells_of(&of_seed(1)));
        assert_ne!(cells_of(&one), cells_of(&of_seed(2)));
        assert_eq!(one.iter().map(|b| b.repeat).collect::<Vec<_>>(), [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
        let mut all = cells_of(&one);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 4 * 3 * 2 * 12);
        let order = |b: &Block| b.cells.iter().map(|c| (c.variant, c.sessions)).collect::<Vec<_>>();
        assert_ne!(order(&one[0]), order(&one[1]));
    }
}
