//! TPC-H: the 22 queries in Latchwork, PostgreSQL, SQLite and DuckDB in one run, one session each, answers compared.
//!
//!     cargo build --release -p latchwork && cargo bench -p lab --features tpch --bench tpch
//!         [-- --scale 0.1 --rounds 3 --timeout 60 --queries DIR --only 1,5,21 --engines latchwork,postgres
//!         --by clock|cpu --plans --quarter --parse --buffers MB --work MB --json FILE --csv FILE]
//!
//! The statements come from a folder with `queries.sql` (a comment `-- Qn` before each) and `schema.sql`: `--queries`,
//! else `LATCHWORK_TPCH`, else `../shared/acceptance/tpch`. Rows come from the crate `tpchgen` and are kept under
//! `target/tpch`. All engines have the same primary keys, no other index, fresh statistics, the same buffers and the
//! same memory for a sort or hash table (PostgreSQL: `shared_buffers`, `work_mem`, no JIT, no parallel workers; DuckDB:
//! one thread). Statements are prepared once. The first round warms up and is not counted; rounds are interleaved.
//!
//! An engine that exceeds the time limit with a query does not run it again; its time counts as the limit. Answers of
//! engines are compared with Latchwork's row by row, exactly except for engines that compute in floating point.
//! `--plans` prints each plan and runs nothing. `--quarter` runs Latchwork alone, each query with as much memory as it
//! wants and then with work areas of a quarter of that. `--parse` measures hard and soft parses. The exit status is 1
//! when an answer differs.

mod answer;
#[path = "../common/mod.rs"]
mod common;
mod data;
mod duckdb;
mod engine;
mod latchwork;
mod memory;
mod parse;
#[path = "../peer.rs"]
mod peer;
mod postgres;
mod report;
mod sqlite;
mod text;

use answer::Rows;
use common::{argument, cpu_seconds, median, text_argument};
use engine::{Engine, Failure, Memory};
use memory::Watch;
use report::Report;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use text::Query;

/// The times of an engine for a query.
#[derive(Clone, Default)]
pub struct Took {
    /// Milliseconds by the chosen measure; the limit when the query did not end.
    pub ms: Option<f64>,
    /// Milliseconds by the clock and of CPU time.
    pub clock_ms: Option<f64>,
    pub cpu_ms: Option<f64>,
    pub late: bool,
    pub error: Option<String>,
}

impl std::fmt::Display for Took {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.ms, self.late) {
            (Some(ms), true) => write!(f, ">{ms:.0}"),
            (Some(ms), false) => write!(f, "{ms:.2}"),
            (None, _) => f.write_str("error"),
        }
    }
}

pub struct Measured {
    pub number: usize,
    pub times: Vec<Took>,
    pub rows: usize,
    /// Growth of Latchwork's server process.
    pub memory_bytes: u64,
    /// Engines whose answers differ, and the differences.
    pub differences: Vec<String>,
    /// Number of engines that gave the same answer.
    pub agreeing: usize,
}

impl Measured {
    pub fn verdict(&self) -> String {
        match self.differences.is_empty() {
            true => format!("{} rows, {} agree", self.rows, self.agreeing),
            false => format!("DIFFERENT: {}", self.differences.join("; ")),
        }
    }
}

/// A query with all of its memory and with a quarter of it.
pub struct Quarter {
    pub number: usize,
    pub whole_ms: f64,
    pub quarter_ms: f64,
    pub used_bytes: u64,
    pub area_bytes: u64,
    pub spills: u64,
    pub same: bool,
}

/// The smallest work area of `--quarter`.
const LEAST_AREA: u64 = 64 << 10;

fn flag(name: &str) -> bool {
    std::env::args().any(|a| a == name)
}

fn folder() -> Option<PathBuf> {
    let named = text_argument("--queries").map(PathBuf::from).or(std::env::var_os("LATCHWORK_TPCH").map(PathBuf::from));
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/acceptance/tpch");
    let folder = named.unwrap_or_else(beside);
    folder.join("queries.sql").is_file().then_some(folder)
}

fn engines(memory: Memory) -> Vec<Box<dyn Engine>> {
    let wanted = text_argument("--engines").unwrap_or("latchwork,postgres,sqlite,duckdb".to_string());
    let mut all: Vec<Box<dyn Engine>> = Vec::new();
    for name in wanted.split(',') {
        let engine: Option<Box<dyn Engine>> = match name {
            "latchwork" => Some(Box::new(latchwork::Latchwork::start(memory))),
            "postgres" => postgres::PostgresEngine::start(memory).map(|e| Box::new(e) as Box<dyn Engine>),
            "sqlite" => Some(Box::new(sqlite::Sqlite::start(memory))),
            "duckdb" => duckdb::DuckDb::start(memory).map(|e| Box::new(e) as Box<dyn Engine>),
            other => panic!("no engine {other}: latchwork, postgres, sqlite, duckdb"),
        };
        match engine {
            Some(engine) => all.push(engine),
            None => println!("{name} is not installed or could not be started: left out"),
        }
    }
    all
}

/// Milliseconds of a query by the clock and of CPU time.
#[derive(Clone, Copy)]
struct Sample {
    clock: f64,
    cpu: f64,
}

impl Sample {
    fn chosen(self) -> f64 {
        if by_processor() { self.cpu } else { self.clock }
    }
}

/// `--by cpu`: CPU time is the measure, for a busy machine.
fn by_processor() -> bool {
    text_argument("--by").is_some_and(|by| by == "cpu")
}

/// Runs a query once.
fn once(engine: &mut dyn Engine, query: &Query, timeout: Duration) -> Result<(Sample, Rows), Failure> {
    let of = engine.process().map_or("thread-self".to_string(), |pid| pid.to_string());
    let (cpu, began) = (cpu_seconds(&of), Instant::now());
    let rows = engine.run(query, timeout)?;
    let clock = engine.own_seconds().unwrap_or_else(|| began.elapsed().as_secs_f64());
    Ok((Sample { clock: clock * 1e3, cpu: (cpu_seconds(&of) - cpu) * 1e3 }, rows))
}

/// All engines with one query: the answers first, then the rounds.
fn measure(engines: &mut [Box<dyn Engine>], query: &Query, rounds: usize, timeout: Duration) -> Measured {
    let mut times = vec![Took::default(); engines.len()];
    let mut answers: Vec<Option<Rows>> = Vec::new();
    let mut memory_bytes = 0;
    for (engine, took) in engines.iter_mut().zip(&mut times) {
        let watch = engine.latchwork().and_then(|l| l.process()).map(Watch::start);
        let answer = match once(engine.as_mut(), query, timeout) {
            Ok((_, rows)) => Some(rows),
            Err(Failure::Timeout) => {
                *took = Took { ms: Some(timeout.as_secs_f64() * 1e3), late: true, ..Took::default() };
                None
            }
            Err(Failure::Error(error)) => {
                took.error = Some(error);
                None
            }
        };
        memory_bytes = memory_bytes.max(watch.map_or(0, Watch::growth));
        answers.push(answer);
    }
    let mut samples = vec![Vec::new(); engines.len()];
    for _ in 0..rounds {
        for (at, engine) in engines.iter_mut().enumerate() {
            if answers[at].is_none() {
                continue;
            }
            match once(engine.as_mut(), query, timeout) {
                Ok((sample, _)) => samples[at].push(sample),
                Err(e) => times[at].error = Some(format!("{e:?} in a later round")),
            }
        }
    }
    for (took, samples) in times.iter_mut().zip(&samples) {
        if !samples.is_empty() {
            let middle = |of: fn(&Sample) -> f64| median(&mut samples.iter().map(of).collect::<Vec<f64>>());
            took.ms = Some(middle(|s| s.chosen()));
            took.clock_ms = Some(middle(|s| s.clock));
            took.cpu_ms = Some(middle(|s| s.cpu));
        }
    }
    // The reference is Latchwork's answer or, without it, the first.
    let reference = engines.iter().position(|e| e.name() == "Latchwork").filter(|at| answers[*at].is_some());
    let reference = reference.or_else(|| answers.iter().position(Option::is_some));
    let (mut differences, mut agreeing) = (Vec::new(), 0);
    if let Some(reference) = reference {
        let ours = answers[reference].as_ref().expect("looked for");
        for (at, theirs) in answers.iter().enumerate().filter(|(at, _)| *at != reference) {
            let Some(theirs) = theirs else { continue };
            match answer::same(ours, theirs) {
                Ok(()) => agreeing += 1,
                Err(how) => differences.push(format!("{}: {how}", engines[at].name())),
            }
        }
    }
    let rows = reference.and_then(|at| answers[at].as_ref()).map_or(0, Vec::len);
    Measured { number: query.number, times, rows, memory_bytes, differences, agreeing }
}

fn quarter(engine: &mut latchwork::Latchwork, query: &Query, rounds: usize, timeout: Duration) -> Option<Quarter> {
    engine.reconnect();
    let watch = Watch::start(engine.process()?);
    let whole = once(engine, query, timeout);
    let used_bytes = watch.growth();
    let (_, rows) = whole.ok()?;
    let area_bytes = (used_bytes / 4).max(LEAST_AREA);
    let (mut whole, mut quarter, mut spills, mut same) = (Vec::new(), Vec::new(), 0, true);
    for _ in 0..rounds {
        engine.size_work_areas_by_target();
        whole.push(once(engine, query, timeout).ok()?.0.chosen());
        engine.set_work_area(area_bytes);
        let before = engine.spills();
        let (sample, now) = once(engine, query, timeout * 4).ok()?;
        spills = engine.spills() - before;
        same &= answer::same(&rows, &now).is_ok();
        quarter.push(sample.chosen());
    }
    let (whole_ms, quarter_ms) = (median(&mut whole), median(&mut quarter));
    Some(Quarter { number: query.number, whole_ms, quarter_ms, used_bytes, area_bytes, spills, same })
}

fn run_quarters(queries: &[Query], memory: Memory, load: impl Fn(&mut dyn Engine), rounds: usize, timeout: Duration) {
    let mut engine = latchwork::Latchwork::start(memory);
    load(&mut engine);
    let mut all = Vec::new();
    for query in queries {
        match quarter(&mut engine, query, rounds, timeout) {
            Some(q) => all.push(q),
            None => println!("Q{} fails or does not end: left out", query.number),
        }
    }
    report::print_quarter(&all);
}

fn main() {
    let Some(folder) = folder() else {
        println!(
            "The queries are not there: name a folder with queries.sql and schema.sql (--queries or LATCHWORK_TPCH)"
        );
        return;
    };
    let scale = argument("--scale", 0.1);
    let rounds = argument("--rounds", 3.0).max(1.0) as usize;
    let timeout = Duration::from_secs_f64(argument("--timeout", 60.0));
    let buffers_mb = argument("--buffers", (2560.0 * scale).max(384.0)) as u64;
    let work_mb = argument("--work", (256.0 * scale).max(64.0)) as u64;
    let memory = Memory { buffers_mb, work_mb };
    let only = text_argument("--only");
    let only: Option<Vec<usize>> = only.map(|list| list.split(',').map(|n| n.parse().expect("a number")).collect());
    let mut queries = text::queries(&folder);
    queries.retain(|q| only.as_ref().is_none_or(|only| only.contains(&q.number)));
    let tables = text::tables(&folder);
    let rows = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../target/tpch/{scale}"));
    data::make(&rows, scale);
    let load = |engine: &mut dyn Engine| {
        let began = Instant::now();
        engine.load(&tables, &rows);
        let process = engine.process().map_or(String::new(), |pid| format!(", process {pid}"));
        println!("{} has the rows after {:.1} s{process}", engine.name(), began.elapsed().as_secs_f64());
    };
    if flag("--quarter") {
        return run_quarters(&queries, memory, load, rounds, timeout);
    }
    let mut engines = engines(memory);
    engines.iter_mut().for_each(|engine| load(engine.as_mut()));
    if flag("--parse") {
        return parse::run(&mut engines, rounds);
    }
    if flag("--plans") {
        for query in &queries {
            println!("\n-- Q{}\n{}", query.number, query.sql);
            for engine in &mut engines {
                if let Some(plan) = engine.plan(query) {
                    println!("\n{}\n{plan}", engine.name());
                }
            }
        }
        return;
    }
    let mut report = Report {
        engines: engines.iter().map(|e| e.name()).collect(),
        queries: Vec::new(),
        scale,
        rounds,
        timeout_s: timeout.as_secs_f64(),
        ceiling_bytes: 2 * work_mb * 1_000_000,
        by_processor: by_processor(),
    };
    for query in &queries {
        let measured = measure(&mut engines, query, rounds, timeout);
        let times: Vec<String> = measured.times.iter().map(Took::to_string).collect();
        println!("Q{}: {}", measured.number, times.join(" "));
        report.queries.push(measured);
    }
    report.print();
    let write = |name: &str, text: String| {
        if let Some(file) = text_argument(name) {
            std::fs::write(&file, text).unwrap_or_else(|e| panic!("{file}: {e}"));
        }
    };
    write("--json", serde_json::to_string_pretty(&report.json()).expect("JSON"));
    write("--csv", report.csv());
    if report.queries.iter().any(|q| !q.differences.is_empty()) {
        std::process::exit(1);
    }
}
