//! The method of SLOB: users with a table each, whose sessions read random ranges of rows through an index, all from
//! the cache; two snapshots, taken by one session in the steady state, give the logical reads a second.
//!
//! Two experiments use it: `slob` sweeps numbers of sessions and kinds of work in one instance; `huge-pages` starts a
//! new instance for every repeat, on different pages.

mod connect;
mod huge_pages;
mod machine;
mod report;
mod rig;
mod shapes;

use std::collections::BTreeMap;

use client::{Credentials, Ephemeral};

use crate::error::LabError;
use crate::results::{Results, Row};
use crate::stop::Stop;
use crate::window::Window;
use rig::{Tables, Timing, Work};

pub use huge_pages::{
    Cell as HugePagesCell, HugePagesRun, Plan as HugePagesPlan, TITLE as HUGE_PAGES_TITLE, Trial, run as run_huge_pages,
};

/// The experiments' names.
pub const NAME: &str = "slob";
pub const HUGE_PAGES: &str = "huge-pages";
pub const TITLE: &str = "Logical reads a second: sessions that read random ranges of their own tables from the cache";
pub(crate) const SOURCE: &str = "K. Closson's SLOB, as M. Przepiorowski used it, Oracle and HugePages (2012)";

/// The tables, for the experiments `slob` and `huge-pages`.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct TableOptions {
    /// Rows of a small table [default: 10000]
    #[arg(long, value_parser = clap::value_parser!(u64).range(256..=100_000_000))]
    small_rows: Option<u64>,
    /// Rows of a big table [default: 200000; with --quick 40000]
    #[arg(long, value_parser = clap::value_parser!(u64).range(256..=100_000_000))]
    big_rows: Option<u64>,
    /// Seconds from the common start to the first snapshot [default: 2; with --quick 0.5]
    #[arg(long, value_parser = seconds)]
    warm_up: Option<f64>,
}

/// The tables and the kind of reads, for the experiment `slob`.
#[derive(clap::Args, Clone, Debug)]
pub struct Options {
    #[command(flatten)]
    tables: TableOptions,
    /// Percent of the executions that update, in the workload `updates` [default: 20]
    #[arg(long, value_parser = percent)]
    update_pct: Option<f64>,
    /// Percent of the executions on the hot spot, in the workload `hot-spot` [default: 80]
    #[arg(long, value_parser = percent)]
    hot_pct: Option<f64>,
    /// Rows of the hot spot [default: 1000]
    #[arg(long, value_parser = clap::value_parser!(u64).range(256..=100_000_000))]
    hot_rows: Option<u64>,
    /// Think time in milliseconds after each execution [default: 0]
    #[arg(long, value_parser = milliseconds)]
    think_ms: Option<f64>,
    /// Sessions that only update, in addition to the readers [default: 0]
    #[arg(long, value_parser = clap::value_parser!(u32).range(0..=1000))]
    writers: Option<u32>,
}

fn in_range(text: &str, most: f64) -> Result<f64, String> {
    let n: f64 = text.parse().map_err(|_| format!("{text} is no number"))?;
    if (0.0..=most).contains(&n) { Ok(n) } else { Err(format!("{text} is not between 0 and {most}")) }
}

fn percent(text: &str) -> Result<f64, String> {
    in_range(text, 100.0)
}

fn milliseconds(text: &str) -> Result<f64, String> {
    in_range(text, 60_000.0)
}

fn seconds(text: &str) -> Result<f64, String> {
    in_range(text, 3600.0)
}

impl TableOptions {
    fn small(&self) -> u64 {
        self.small_rows.unwrap_or(10_000)
    }

    fn big(&self, quick: bool) -> u64 {
        self.big_rows.unwrap_or(if quick { 40_000 } else { 200_000 })
    }

    fn warm_up_s(&self, quick: bool) -> f64 {
        self.warm_up.unwrap_or(if quick { 0.5 } else { 2.0 })
    }
}

impl Options {
    /// Whether none of them was given.
    pub fn is_default(&self) -> bool {
        let Options { tables, update_pct, hot_pct, hot_rows, think_ms, writers } = self;
        let TableOptions { small_rows, big_rows, warm_up } = tables;
        let shares = [update_pct, hot_pct, think_ms, warm_up];
        let rows = [small_rows, big_rows, hot_rows];
        shares.into_iter().all(Option::is_none) && rows.into_iter().all(Option::is_none) && writers.is_none()
    }

    fn update_pct(&self) -> f64 {
        self.update_pct.unwrap_or(20.0)
    }

    fn hot_pct(&self) -> f64 {
        self.hot_pct.unwrap_or(80.0)
    }

    fn hot_rows(&self) -> u64 {
        self.hot_rows.unwrap_or(1000)
    }

    fn think_ms(&self) -> f64 {
        self.think_ms.unwrap_or(0.0)
    }

    fn writers(&self) -> u32 {
        self.writers.unwrap_or(0)
    }
}

/// A run of `slob`.
#[derive(Clone, Debug)]
pub struct Plan {
    pub options: Options,
    pub sessions: Vec<u32>,
    pub repeat: u32,
    /// Seconds between two snapshots.
    pub seconds: f64,
    pub quick: bool,
    /// Names of workloads; empty means all.
    pub variants: Vec<String>,
    pub params: Vec<(String, String)>,
    pub progress: bool,
    pub stop: Stop,
}

/// The kinds of work: name, whether on the big tables, and the work of the sessions.
fn workloads(plan: &Plan) -> Vec<(&'static str, bool, Work)> {
    let o = &plan.options;
    let read = Work { writers: o.writers(), hot_rows: o.hot_rows(), think_s: o.think_ms() / 1000.0, ..Work::default() };
    let all = [
        ("small", false, read),
        ("big", true, read),
        ("hot-spot", true, Work { hot_pct: o.hot_pct(), ..read }),
        ("updates", true, Work { update_pct: o.update_pct(), ..read }),
    ];
    let wanted = |name: &str| plan.variants.is_empty() || plan.variants.iter().any(|v| v == name);
    all.into_iter().filter(|(name, ..)| wanted(name)).collect()
}

/// Runs `slob`: in one instance every workload with every number of sessions; an operation is a logical read.
///
/// # Errors
/// When the instance cannot be started, or a statement fails.
pub fn run(plan: &Plan) -> Result<Results, LabError> {
    let workloads = workloads(plan);
    if workloads.is_empty() {
        return Err(LabError::new("no such workload: there are small, big, hot-spot and updates".into()));
    }
    let users = plan.sessions.iter().copied().max().unwrap_or(1) + plan.options.writers();
    let timing = Timing { warm_up_s: plan.options.tables.warm_up_s(plan.quick), interval_s: plan.seconds };
    let tables = |name: &str, rows| Tables { name: name.into(), users, rows };
    let (small, big) =
        (tables("small", plan.options.tables.small()), tables("big", plan.options.tables.big(plan.quick)));
    let params = parameters(plan, &small, &big);
    let pairs: Vec<(&str, &str)> = params.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let instance = Ephemeral::start(&pairs)?;
    let mut session = instance.connect(&Credentials::Sysdba)?;
    for (of_big, tables) in [(false, &small), (true, &big)] {
        if workloads.iter().any(|w| w.1 == of_big) {
            tables.make(&mut session)?;
        }
    }
    let mut results = empty_results(plan, params, &[&small, &big]);
    let cells = workloads.len() * plan.sessions.len() * plan.repeat as usize;
    for repeat in 1..=plan.repeat {
        for (name, is_big, work) in &workloads {
            for sessions in &plan.sessions {
                if plan.stop.is_asked() {
                    results.stopped_of = Some(cells);
                    return finish(results);
                }
                let tables = if *is_big { &big } else { &small };
                let work = Work { readers: *sessions, ..*work };
                let round = rig::round(&instance, tables, &work, timing, &mut |_| Ok(()))?;
                if plan.progress {
                    let per_s = crate::text::thousands(round.reads_per_s());
                    eprintln!("{name}, {sessions} sessions, repeat {repeat}: {per_s} logical reads a second");
                }
                results.rows.push(row(name, *sessions, repeat, &round));
            }
        }
    }
    finish(results)
}

fn finish(mut results: Results) -> Result<Results, LabError> {
    if results.rows.is_empty() {
        return Err(LabError::new("stopped before the first measurement".into()));
    }
    results.rows.sort_by_key(|r| (r.workload.clone(), r.sessions, r.repeat));
    results.fill();
    Ok(results)
}

fn row(workload: &str, sessions: u32, repeat: u32, round: &rig::Round) -> Row {
    Row {
        variant: format!("{workload}@latchwork"),
        workload: workload.into(),
        generation: "latchwork".into(),
        sessions,
        repeat,
        operations: round.logical_reads,
        calls: 0,
        elapsed_s: round.seconds,
        window: Some(between(round.logical_reads, round.seconds)),
        ops_per_s: round.reads_per_s(),
        pct_linear: None,
        passed: None,
        latency: None,
        latches: BTreeMap::new(),
        sections: BTreeMap::new(),
    }
}

/// All sessions work between the snapshots, so that time is the common window.
fn between(logical_reads: u64, seconds: f64) -> Window {
    Window { seconds, counted: logical_reads, cut: 0.0 }
}

/// A row of two texts of 128 characters, with its index entry, takes some 320 bytes; a cache of twice that size holds
/// all of it.
fn cache_bytes(tables: &[&Tables]) -> u64 {
    let rows: u64 = tables.iter().map(|t| t.rows * u64::from(t.users)).sum();
    (rows * 640).next_multiple_of(64 << 20) + (64 << 20)
}

fn parameters(plan: &Plan, small: &Tables, big: &Tables) -> BTreeMap<String, String> {
    let cache = cache_bytes(&[small, big]);
    let own =
        [("processes", "200".to_string()), ("db_cache_size", cache.to_string()), ("job_queue_processes", "0".into())];
    let mut params: BTreeMap<String, String> = own.into_iter().map(|(n, v)| (n.to_string(), v)).collect();
    params.extend(plan.params.iter().cloned());
    params
}

fn empty_results(plan: &Plan, mut parameters: BTreeMap<String, String>, tables: &[&Tables]) -> Results {
    let o = &plan.options;
    for t in tables {
        parameters.insert(format!("rows of a {} table", t.name), t.rows.to_string());
    }
    parameters.insert("updates".into(), format!("{} % of the executions", o.update_pct()));
    parameters.insert("hot spot".into(), format!("{} % of the executions on {} rows", o.hot_pct(), o.hot_rows()));
    parameters.insert("think time".into(), format!("{} ms", o.think_ms()));
    parameters.insert("writers".into(), o.writers().to_string());
    parameters.insert("seconds between snapshots".into(), plan.seconds.to_string());
    parameters.insert("repeats".into(), plan.repeat.to_string());
    Results {
        experiment: NAME.into(),
        title: TITLE.into(),
        source: SOURCE.into(),
        question: "How many buffers of the cache does a session read in a second, and how does that grow with the sessions? An operation is \
                   a logical read, counted by two snapshots that one session takes while all sessions work."
            .into(),
        started: os::clock::wall_ns() / 1_000_000_000,
        host: crate::host::describe(),
        version: env!("CARGO_PKG_VERSION").into(),
        parameters,
        rows: Vec::new(),
        cells: Vec::new(),
        latch_names: Vec::new(),
        published: Vec::new(),
        sections: Vec::new(),
        counts: Vec::new(),
        notes: BTreeMap::new(),
        sleeps: None,
        asked: vec!["latchwork".into()],
        stopped_of: None,
    }
}
