//! The laboratory: it runs, repeats, compares and plots contention experiments.
//!
//! An experiment is a folder: a manifest, a set-up script, a worker for each variant. The laboratory starts an instance
//! for every generation, runs the cells of the sweep in random order, reads `v$latch` before and after each, and writes
//! `results.json`, `results.csv` and one self-contained HTML page. It accesses an instance only through SQL and V$.
#![forbid(unsafe_code)]

mod arguments;
mod arrivals;
mod claims;
mod compare;
mod counts;
mod error;
mod export;
mod files;
mod foretold;
mod host;
mod html;
mod latency;
mod laws;
mod manifest;
mod merging;
mod predict;
mod record;
mod reproduce;
mod results;
mod run;
mod sections;
mod slob;
mod small;
mod statistics;
mod stop;
mod svg;
mod switchback;
mod table;
mod targets;
mod text;
mod time_machine;
pub mod torture;
mod window;
mod workers;

use crate::files::{results_at, write_file};
use std::path::{Path, PathBuf};

use arguments::{HugePagesArguments, JourneyArguments, Program, TortureArguments};

pub use arguments::RunArguments;
pub use compare::CompareArguments;
pub use error::LabError;
pub use export::ExportForm;
pub use html::write;
pub use manifest::{Experiment, Manifest};
pub use predict::{CalibrateArguments, PredictArguments, PredictForm};
pub use record::{CheckArguments, RecordArguments};
pub use reproduce::ReproduceArguments;
pub use results::{LatchFigures, Results, Row};
pub use run::{Plan, run};
pub use stop::Stop;

/// The laboratory's commands.
#[derive(clap::Subcommand, Debug)]
pub enum Command {
    /// List the experiments that ship with Latchwork
    List,
    /// Run an experiment, print its tables, and write results.json, results.csv and report.html
    #[command(after_help = RUN_EXAMPLES)]
    Run(Box<RunArguments>),
    /// Let two designs of a structure alternate under load in a running instance, and print the difference
    #[command(after_help = switchback::EXAMPLES)]
    Switchback(Box<switchback::SwitchbackArguments>),
    /// Print the tables of an earlier run and rewrite its page
    #[command(after_help = REPORT_EXAMPLES)]
    Report {
        /// Folder of the run, or its results.json
        place: PathBuf,
    },
    /// Compare two runs, or a run and a baseline, cell by cell; exit code 3 when something is slower
    #[command(after_help = compare::EXAMPLES)]
    Compare(CompareArguments),
    /// Rerun published experiments and judge each published statement; exit code 3 when one is worse than expected
    #[command(after_help = reproduce::EXAMPLES)]
    Reproduce(Box<ReproduceArguments>),
    /// Write the figures of earlier runs as Parquet, CSV or JSON for other engines
    #[command(after_help = EXPORT_EXAMPLES)]
    Export {
        /// Folders of runs, or their results.json
        #[arg(required = true)]
        places: Vec<PathBuf>,
        /// The folder to write to; it is created if necessary
        #[arg(long, value_name = "DIR")]
        to: PathBuf,
        #[arg(long, value_enum, default_value_t = ExportForm::Parquet)]
        format: ExportForm,
    },
    /// Add up the latencies of runs with --rate, also of several machines, and print their percentiles
    #[command(after_help = merging::EXAMPLES)]
    Latencies(merging::LatenciesArguments),
    /// Record sampled calls with the gets of their latches, for `lab predict`
    #[command(after_help = record::RECORD_EXAMPLES)]
    Record(RecordArguments),
    /// Predict a recorded load for other processors, sessions and designs, with an error band
    #[command(after_help = predict::PREDICT_EXAMPLES)]
    Predict(Box<PredictArguments>),
    /// Measure this machine's cache lines, hand-overs and scheduler for `lab predict`; takes some seconds
    Calibrate(CalibrateArguments),
    /// Record at one and two sessions, predict more, measure them, and print the errors as Markdown
    CheckPredictions(CheckArguments),
}

const RUN_EXAMPLES: &str = "Examples:
  latchwork lab run result-cache --quick
  latchwork lab run result-cache --sessions 1,2,4 --iterations 100000 --repeat 3 --variant result-cache
  latchwork lab run result-cache --variant result-cache@11.1 --param _spin_count=100 --out run-1
  latchwork lab run result-cache --rate 20000 --sessions 2,8 --generation latchwork --variant hash-cluster
  latchwork lab run result-cache --targets latchwork,postgresql,mariadb,sqlite --sessions 1,2
  latchwork lab run my-experiment/
  latchwork lab run time-machine --quick
  latchwork lab run torture --help";

const REPORT_EXAMPLES: &str = "Examples:
  latchwork lab report results/result-cache-1795341600
  latchwork lab report run-1/results.json";

const EXPORT_EXAMPLES: &str = "Examples:
  latchwork lab export results/* --to lake
  latchwork lab export run-1 run-2 --to lake --format csv";

/// Runs a command of the laboratory. Returns the exit code.
pub fn main(command: &Command) -> u8 {
    let outcome = match command {
        Command::List => {
            list();
            Ok(())
        }
        Command::Run(arguments) => run_command(arguments),
        Command::Switchback(arguments) => match switchback::command(arguments) {
            Ok(code) => return code,
            Err(e) => Err(e),
        },
        Command::Report { place } => report_command(place),
        Command::Compare(arguments) => return compare::command(arguments),
        Command::Reproduce(arguments) => match reproduce::command(arguments) {
            Ok(code) => return code,
            Err(e) => Err(e),
        },
        Command::Export { places, to, format } => export::command(places, to, *format),
        Command::Latencies(arguments) => merging::command(arguments),
        Command::Record(arguments) => record::record(arguments),
        Command::CheckPredictions(arguments) => record::check(arguments),
        Command::Predict(arguments) => predict::predict(arguments),
        Command::Calibrate(arguments) => predict::calibrate(arguments),
    };
    match outcome {
        Ok(()) => 0,
        Err(e) => {
            eprintln!("latchwork lab: {e}");
            1
        }
    }
}

fn list() {
    println!(
        "{}\n  {}\n  small multiples, a plot a generation; --experiment chooses",
        time_machine::NAME,
        time_machine::TITLE
    );
    println!("{}\n  {}\n  kills sessions and instances and compares what is left", torture::NAME, torture::TITLE);
    println!("{}\n  {}\n  small and big tables, a hot spot, updates, think time", slob::NAME, slob::TITLE);
    println!(
        "{}\n  {}\n  4 KB and 2 MB pages, pre-page on and off, small and big tables",
        slob::HUGE_PAGES,
        slob::HUGE_PAGES_TITLE
    );
    for experiment in Experiment::shipped() {
        let m = &experiment.manifest;
        println!("{}\n  {}\n  after: {}", m.name, m.title, m.source);
        let variants: Vec<&str> = m.variants.iter().map(|v| v.name.as_str()).collect();
        println!("  variants: {}; generations: {}", variants.join(", "), m.sweep.generations.join(", "));
        if !m.targets.is_empty() {
            let engines: Vec<&str> = m.targets.keys().map(String::as_str).collect();
            println!("  engines for --targets: {}", engines.join(", "));
        }
    }
}

/// Runs the torture; a failure is printed with the tables and makes the command fail.
fn torture_command(arguments: &TortureArguments, stop: &Stop) -> Result<(), LabError> {
    let result = torture::run(&arguments.plan(stop)?)?;
    let unnamed = || PathBuf::from(format!("results/{}-{}", result.experiment, result.started));
    let folder = arguments.common.out.clone().unwrap_or_else(unnamed);
    torture::write(&result, &folder)?;
    print!("{}", result.table());
    println!("\nPage:    {}", folder.join("report.html").display());
    match &result.failure {
        Some(_) => Err(LabError::new(format!("the torture found a failure; seed {}", arguments.seed))),
        None => ended(&[], stop),
    }
}

/// Runs on pages of both sizes; the machine's setting is restored before the figures are printed.
fn huge_pages_command(arguments: &HugePagesArguments, stop: &Stop) -> Result<(), LabError> {
    let result = slob::run_huge_pages(&arguments.plan(stop)?)?;
    let unnamed = || PathBuf::from(format!("results/{}-{}", result.experiment, result.started));
    let folder = arguments.common.out.clone().unwrap_or_else(unnamed);
    result.write(&folder)?;
    print!("{}", result.tables());
    println!("\nPage:    {}", folder.join("report.html").display());
    println!("Figures: {} and results.csv", folder.join("results.json").display());
    ended(&[], stop)
}

fn run_command(arguments: &RunArguments) -> Result<(), LabError> {
    let stop = Stop::on_signals();
    let (results, out) = match &arguments.program {
        Some(Program::Torture(arguments)) => return torture_command(arguments, &stop),
        Some(Program::TimeMachine(arguments)) => return journey_command(arguments, &stop),
        Some(Program::HugePages(arguments)) => return huge_pages_command(arguments, &stop),
        Some(Program::Slob(arguments)) => {
            let experiment = Experiment::slob();
            if let Some(plan) = arguments.targets_plan(&experiment.manifest, &stop)? {
                return targets_command(&experiment, &plan, &arguments.common.out);
            }
            (slob::run(&arguments.plan(&stop)?)?, &arguments.common.out)
        }
        None => {
            let own = &arguments.own;
            own.check()?;
            let experiment = Experiment::find(&own.experiment)?;
            if let Some(plan) = own.targets_plan(&experiment.manifest, &stop)? {
                return targets_command(&experiment, &plan, &own.common.out);
            }
            (run(&experiment, &own.plan(&experiment.manifest, &stop)?)?, &own.common.out)
        }
    };
    let unnamed = || PathBuf::from(format!("results/{}-{}", results.experiment, results.started));
    let folder = out.clone().unwrap_or_else(unnamed);
    html::write(&results, &folder)?;
    print!("{}", table::all(&results));
    println!("\nPage:    {}", folder.join("report.html").display());
    println!("Figures: {} and results.csv", folder.join("results.json").display());
    if results.has_latencies() {
        println!("Latencies, HdrHistogram log V2: {}", folder.join("latencies.hlog").display());
    }
    ended(&results.broken_laws(), &stop)
}

/// Runs an experiment on several engines.
fn targets_command(experiment: &Experiment, plan: &targets::Plan, out: &Option<PathBuf>) -> Result<(), LabError> {
    let results = targets::run(experiment, plan)?;
    let unnamed = || PathBuf::from(format!("results/{}-targets-{}", results.experiment, results.started));
    let folder = out.clone().unwrap_or_else(unnamed);
    write_targets(&results, &folder)?;
    print!("{}", results.tables());
    println!("\nPage:    {}", folder.join("report.html").display());
    println!("Figures: {} and results.csv", folder.join("results.json").display());
    ended(&[], &plan.stop)
}

fn write_targets(results: &targets::TargetsRun, folder: &Path) -> Result<(), LabError> {
    std::fs::create_dir_all(folder).map_err(|e| LabError::new(format!("{}: {e}", folder.display())))?;
    let json = serde_json::to_string_pretty(results).map_err(|e| LabError::new(e.to_string()))?;
    write_file(&folder.join("results.json"), &json)?;
    write_file(&folder.join("results.csv"), &results.csv())?;
    write_file(&folder.join("report.html"), &results.page())
}

/// The outcome of a run: an error when a law does not hold, or when the run was stopped.
fn ended(broken: &[String], stop: &Stop) -> Result<(), LabError> {
    if !broken.is_empty() {
        return Err(LabError::new(format!(
            "the counts of an operation differ from those of its design:\n{}",
            broken.join("\n")
        )));
    }
    match stop.is_asked() {
        true => Err(LabError::new("stopped; the results so far are written".into())),
        false => Ok(()),
    }
}

/// Runs one experiment, or all, in every generation.
fn journey_command(arguments: &JourneyArguments, stop: &Stop) -> Result<(), LabError> {
    let experiments = time_machine::experiments(&arguments.experiment)?;
    let unnamed = |started: u64| PathBuf::from(format!("results/{}-{started}", time_machine::NAME));
    let folder = |j: &time_machine::Journey| arguments.common.out.clone().unwrap_or_else(|| unnamed(j.started));
    let mut plan = |experiment: &Experiment| arguments.plan(&experiment.manifest, stop);
    let journey = time_machine::travel(&experiments, &mut plan, &folder)?;
    if journey.runs.is_empty() {
        return Err(LabError::new("stopped before the first measurement".into()));
    }
    let folder = folder(&journey);
    time_machine::write(&journey, &folder)?;
    print!("{}", journey.tables());
    println!("\nPage:    {}", folder.join("report.html").display());
    println!("Figures: {} and results.csv", folder.join("results.json").display());
    ended(&journey.broken_laws(), stop)
}

fn report_command(place: &Path) -> Result<(), LabError> {
    let (file, kind) = results_at(place)?;
    let wrong = |e: serde_json::Error| LabError::new(format!("{}: {e}", file.display()));
    let folder = file.parent().unwrap_or(Path::new("."));
    if targets::is_in(&kind) {
        let mut result: targets::TargetsRun = serde_json::from_value(kind).map_err(wrong)?;
        result.fill();
        write_targets(&result, folder)?;
        print!("{}", result.tables());
        return Ok(());
    }
    if kind["experiment"] == torture::NAME {
        let result: torture::Torture = serde_json::from_value(kind).map_err(wrong)?;
        torture::write(&result, folder)?;
        print!("{}", result.table());
        return Ok(());
    }
    if kind["experiment"] == time_machine::NAME {
        let mut journey: time_machine::Journey = serde_json::from_value(kind).map_err(wrong)?;
        journey.runs.iter_mut().for_each(Results::fill);
        time_machine::write(&journey, folder)?;
        print!("{}", journey.tables());
        return Ok(());
    }
    if kind["experiment"] == reproduce::NAME {
        let reproduction: reproduce::Reproduction = serde_json::from_value(kind).map_err(wrong)?;
        reproduction.write(folder)?;
        print!("{}", reproduction.text());
        return Ok(());
    }
    if kind["experiment"] == slob::HUGE_PAGES {
        let result: slob::HugePagesRun = serde_json::from_value(kind).map_err(wrong)?;
        result.write(folder)?;
        print!("{}", result.tables());
        return Ok(());
    }
    let mut results: Results = serde_json::from_value(kind).map_err(wrong)?;
    // A file of an earlier version has no summaries.
    results.fill();
    write_file(&folder.join("report.html"), &html::page(&results))?;
    print!("{}", table::all(&results));
    println!("\nPage: {}", folder.join("report.html").display());
    Ok(())
}
