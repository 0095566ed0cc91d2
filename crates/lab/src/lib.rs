//! The laboratory: contention experiments that are run, repeated, compared and drawn.
//!
//! An experiment is a folder: a manifest, a set-up script, a worker for each variant. The laboratory starts an instance
//! for every generation, runs the cells of the sweep in random order, reads `v$latch` before and after each, and leaves
//! `results.json`, `results.csv` and one self-contained HTML page. It knows an instance through SQL and V$ alone.
#![forbid(unsafe_code)]

mod export;
mod host;
mod html;
mod laws;
mod manifest;
mod results;
mod run;
mod sections;
mod slob;
mod small;
mod stop;
mod svg;
mod table;
mod time_machine;
pub mod torture;

use std::fmt;
use std::path::{Path, PathBuf};

pub use export::ExportForm;
pub use manifest::{Experiment, Manifest};
pub use results::{LatchFigures, Results, Row};
pub use run::{Plan, run};
pub use stop::Stop;

/// Why a run failed; the text is for the user.
#[derive(Debug)]
pub struct LabError {
    message: String,
}

impl LabError {
    pub(crate) fn new(message: String) -> LabError {
        LabError { message }
    }
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for LabError {}

impl From<client::ClientError> for LabError {
    fn from(e: client::ClientError) -> LabError {
        LabError::new(e.to_string())
    }
}

/// The laboratory's commands.
#[derive(clap::Subcommand, Debug)]
pub enum Command {
    /// List the experiments that ship with Latchwork
    List,
    /// Run an experiment, print its tables, and write results.json, results.csv and report.html
    #[command(after_help = RUN_EXAMPLES)]
    Run(Box<RunArguments>),
    /// Print the tables of an earlier run and write its page again
    Report {
        /// Folder of the run, or its results.json
        place: PathBuf,
    },
    /// Write the figures of earlier runs as Parquet, CSV or JSON for other engines
    Export {
        /// Folders of runs, or their results.json
        #[arg(required = true)]
        places: Vec<PathBuf>,
        /// The folder to write to, made where it is not there
        #[arg(long, value_name = "DIR")]
        to: PathBuf,
        #[arg(long, value_enum, default_value_t = ExportForm::Parquet)]
        format: ExportForm,
    },
}

const RUN_EXAMPLES: &str = "Examples:
  latchwork lab run result-cache --quick
  latchwork lab run result-cache --sessions 1,2,4 --iterations 100000 --repeat 3 --variant result-cache
  latchwork lab run result-cache --variant result-cache@11.1 --param _spin_count=100 --out run-1
  latchwork lab run my-experiment/
  latchwork lab run time-machine --quick
  latchwork lab run time-machine --experiment row-cache --sessions 1,2,6 --seconds 1
  latchwork lab run slob --quick
  latchwork lab run slob --sessions 1,2,4 --variant small,updates --update-pct 10 --think-ms 1
  latchwork lab run huge-pages --quick
  latchwork lab run huge-pages --sessions 2 --repeat 40 --param sga_target=8G
  latchwork lab run torture --seed 7 --sessions 8 --instance-kills 500 --session-kills 5000 --seconds 3600";

/// Arguments of `lab run`.
#[derive(clap::Args, Debug)]
pub struct RunArguments {
    /// A shipped experiment's name, time-machine, slob, huge-pages, torture, or a folder with a manifest.toml
    #[arg(default_value = "result-cache")]
    experiment: String,
    /// Time machine: the experiment to run in every generation; a name, a folder, or all
    #[arg(long = "experiment", value_name = "NAME", default_value = "all")]
    journey: String,
    /// Numbers of sessions, as 1,2,4
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1000))]
    sessions: Vec<u32>,
    /// Operations of each session in a cell (instead of --seconds)
    #[arg(long)]
    iterations: Option<u64>,
    /// How long a cell should take
    #[arg(long)]
    seconds: Option<f64>,
    /// Repeats of each cell; the median is shown
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: Option<u32>,
    /// Only these: a workload, a generation, or workload@generation; may be repeated
    #[arg(long, value_delimiter = ',')]
    variant: Vec<String>,
    /// Generations to run instead of the manifest's
    #[arg(long, value_delimiter = ',')]
    generation: Vec<String>,
    /// Init parameter NAME=VALUE over the manifest's; may be repeated
    #[arg(long)]
    param: Vec<String>,
    /// Folder to write to (default: results/EXPERIMENT-TIME)
    #[arg(long)]
    out: Option<PathBuf>,
    /// Seed of the order of the cells; of everything that torture decides
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Torture: how often the instance is killed [default: 20]
    #[arg(long)]
    instance_kills: Option<u64>,
    /// Torture: how many sessions are killed [default: 200]
    #[arg(long)]
    session_kills: Option<u64>,
    /// Torture: how often a backup made under load is restored to a moment; 0: NOARCHIVELOG [default: an eighth of the
    /// instance kills]
    #[arg(long)]
    restores: Option<u64>,
    /// Huge pages: reserve them in the machine's setting vm.nr_hugepages, as root; it is put back afterwards
    #[arg(long)]
    reserve_huge_pages: bool,
    #[command(flatten)]
    slob: slob::Options,
    /// Fewer numbers of sessions, shorter cells: a run of about a minute
    #[arg(long)]
    quick: bool,
    /// No progress bar
    #[arg(long)]
    quiet: bool,
}

/// Runs a command of the laboratory. Returns the exit code.
pub fn main(command: &Command) -> u8 {
    let outcome = match command {
        Command::List => {
            list();
            Ok(())
        }
        Command::Run(arguments) => run_command(arguments),
        Command::Report { place } => report_command(place),
        Command::Export { places, to, format } => export::command(places, to, *format),
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
    }
}

impl RunArguments {
    fn params(&self) -> Result<Vec<(String, String)>, LabError> {
        let mut params = Vec::new();
        for pair in &self.param {
            let (name, value) =
                pair.split_once('=').ok_or_else(|| LabError::new(format!("--param {pair}: NAME=VALUE is wanted")))?;
            params.push((name.trim().to_string(), value.trim().to_string()));
        }
        Ok(params)
    }

    fn torture_plan(&self, stop: &Stop) -> Result<torture::Plan, LabError> {
        Ok(torture::Plan {
            seed: self.seed,
            sessions: self.sessions.first().copied().unwrap_or(8),
            instance_kills: self.instance_kills.unwrap_or(20),
            session_kills: self.session_kills.unwrap_or(200),
            restores: self.restores.unwrap_or(self.instance_kills.unwrap_or(20) / 8),
            seconds: self.seconds.unwrap_or(600.0),
            generations: self.generation.clone(),
            params: self.params()?,
            progress: !self.quiet,
            stop: stop.clone(),
            executable: None,
        })
    }

    fn interval_s(&self) -> Result<f64, LabError> {
        let seconds = self.seconds.unwrap_or(if self.quick { 1.0 } else { 10.0 });
        if seconds > 0.0 && seconds.is_finite() {
            return Ok(seconds);
        }
        Err(LabError::new("--seconds wants a number above 0".into()))
    }

    fn slob_plan(&self, stop: &Stop) -> Result<slob::Plan, LabError> {
        let sessions = match (self.sessions.is_empty(), self.quick) {
            (false, _) => self.sessions.clone(),
            (true, true) => vec![1, 2],
            (true, false) => vec![1, 2, 4, 8],
        };
        Ok(slob::Plan {
            options: self.slob.clone(),
            sessions,
            repeat: self.repeat.unwrap_or(if self.quick { 2 } else { 5 }),
            seconds: self.interval_s()?,
            quick: self.quick,
            variants: self.variant.clone(),
            params: self.params()?,
            progress: !self.quiet,
            stop: stop.clone(),
        })
    }

    fn huge_pages_plan(&self, stop: &Stop) -> Result<slob::HugePagesPlan, LabError> {
        let cores = host::describe().cores.max(1) as u32;
        Ok(slob::HugePagesPlan {
            options: self.slob.clone(),
            sessions: self.sessions.first().copied().unwrap_or(cores),
            repeat: self.repeat.unwrap_or(if self.quick { 5 } else { 40 }),
            may_reserve: self.reserve_huge_pages,
            seconds: self.interval_s()?,
            quick: self.quick,
            variants: self.variant.clone(),
            params: self.params()?,
            seed: self.seed,
            progress: !self.quiet,
            stop: stop.clone(),
            executable: None,
        })
    }

    fn plan(&self, manifest: &Manifest, stop: &Stop) -> Result<Plan, LabError> {
        let sweep = &manifest.sweep;
        let sessions = match (self.sessions.is_empty(), self.quick && !sweep.quick_sessions.is_empty()) {
            (false, _) => self.sessions.clone(),
            (true, true) => sweep.quick_sessions.clone(),
            (true, false) => sweep.sessions.clone(),
        };
        let params = self.params()?;
        let seconds = self.seconds.unwrap_or(if self.quick { 0.3 } else { 2.0 });
        if !(seconds > 0.0 && seconds.is_finite()) {
            return Err(LabError::new("--seconds wants a number above 0".into()));
        }
        Ok(Plan {
            sessions,
            iterations: self.iterations,
            seconds,
            repeat: self.repeat.unwrap_or(if self.quick { 2 } else { 5 }),
            variants: self.variant.clone(),
            generations: if self.generation.is_empty() { sweep.generations.clone() } else { self.generation.clone() },
            params,
            seed: self.seed,
            progress: !self.quiet,
            stop: stop.clone(),
        })
    }

    /// The plan of an experiment's part of a journey: all generations, fewer repeats and numbers of sessions.
    fn journey_plan(&self, manifest: &Manifest, stop: &Stop) -> Result<Plan, LabError> {
        let mut plan = self.plan(manifest, stop)?;
        if self.generation.is_empty() {
            plan.generations = results::GENERATIONS.iter().map(|g| (*g).to_string()).collect();
        }
        if self.sessions.is_empty() && !self.quick {
            plan.sessions.retain(|n| [1, 2, 3, 4, 6, 8, 9, 12].contains(n));
        }
        if !self.quick {
            plan.repeat = self.repeat.unwrap_or(3);
            plan.seconds = self.seconds.unwrap_or(1.0);
        }
        Ok(plan)
    }
}

/// Tortures an instance; a failure is printed with the tables and is the command's.
fn torture_command(arguments: &RunArguments, stop: &Stop) -> Result<(), LabError> {
    let result = torture::run(&arguments.torture_plan(stop)?)?;
    let unnamed = || PathBuf::from(format!("results/{}-{}", result.experiment, result.started));
    let folder = arguments.out.clone().unwrap_or_else(unnamed);
    torture::write(&result, &folder)?;
    print!("{}", result.table());
    println!("\nPage:    {}", folder.join("report.html").display());
    match &result.failure {
        Some(_) => Err(LabError::new(format!("the torture found a failure; seed {}", arguments.seed))),
        None => ended(&[], stop),
    }
}

/// Runs on pages of both sizes; the machine's setting is put back before the figures are printed.
fn huge_pages_command(arguments: &RunArguments, stop: &Stop) -> Result<(), LabError> {
    let result = slob::run_huge_pages(&arguments.huge_pages_plan(stop)?)?;
    let unnamed = || PathBuf::from(format!("results/{}-{}", result.experiment, result.started));
    let folder = arguments.out.clone().unwrap_or_else(unnamed);
    write_huge_pages(&result, &folder)?;
    print!("{}", result.tables());
    println!("\nPage:    {}", folder.join("report.html").display());
    println!("Figures: {} and results.csv", folder.join("results.json").display());
    ended(&[], stop)
}

fn write_huge_pages(result: &slob::HugePagesRun, folder: &Path) -> Result<(), LabError> {
    std::fs::create_dir_all(folder).map_err(|e| LabError::new(format!("{}: {e}", folder.display())))?;
    let json = serde_json::to_string_pretty(result).map_err(|e| LabError::new(e.to_string()))?;
    write_file(&folder.join("results.json"), &json)?;
    write_file(&folder.join("results.csv"), &result.csv())?;
    write_file(&folder.join("report.html"), &result.page())
}

fn run_command(arguments: &RunArguments) -> Result<(), LabError> {
    let stop = Stop::on_signals();
    if arguments.experiment == torture::NAME {
        return torture_command(arguments, &stop);
    }
    if arguments.experiment == time_machine::NAME {
        return journey_command(arguments, &stop);
    }
    if arguments.experiment == slob::HUGE_PAGES {
        return huge_pages_command(arguments, &stop);
    }
    let results = if arguments.experiment == slob::NAME {
        slob::run(&arguments.slob_plan(&stop)?)?
    } else {
        let experiment = Experiment::find(&arguments.experiment)?;
        run(&experiment, &arguments.plan(&experiment.manifest, &stop)?)?
    };
    let folder = arguments
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("results/{}-{}", results.experiment, results.started)));
    write(&results, &folder)?;
    print!("{}", table::all(&results));
    println!("\nPage:    {}", folder.join("report.html").display());
    println!("Figures: {} and results.csv", folder.join("results.json").display());
    ended(&results.broken_laws(), &stop)
}

/// How a run ends: with an error when an operation counted what its design does not, or when it was stopped.
fn ended(broken: &[String], stop: &Stop) -> Result<(), LabError> {
    if !broken.is_empty() {
        return Err(LabError::new(format!("an operation counted what its design does not:\n{}", broken.join("\n"))));
    }
    match stop.is_asked() {
        true => Err(LabError::new("stopped; what was measured is written".into())),
        false => Ok(()),
    }
}

/// Runs one experiment, or all, in every generation.
fn journey_command(arguments: &RunArguments, stop: &Stop) -> Result<(), LabError> {
    let experiments = time_machine::experiments(&arguments.journey)?;
    let unnamed = |started: u64| PathBuf::from(format!("results/{}-{started}", time_machine::NAME));
    let folder = |j: &time_machine::Journey| arguments.out.clone().unwrap_or_else(|| unnamed(j.started));
    let mut plan = |experiment: &Experiment| arguments.journey_plan(&experiment.manifest, stop);
    let journey = time_machine::travel(&experiments, &mut plan, &folder)?;
    if journey.runs.is_empty() {
        return Err(LabError::new("stopped before anything was measured".into()));
    }
    let folder = folder(&journey);
    time_machine::write(&journey, &folder)?;
    print!("{}", journey.tables());
    println!("\nPage:    {}", folder.join("report.html").display());
    println!("Figures: {} and results.csv", folder.join("results.json").display());
    ended(&journey.broken_laws(), stop)
}

/// The results of a run: the file they are in, and what it says.
fn results_at(place: &Path) -> Result<(PathBuf, serde_json::Value), LabError> {
    let file = if place.is_dir() { place.join("results.json") } else { place.to_path_buf() };
    let text = std::fs::read_to_string(&file).map_err(|e| {
        LabError::new(format!("{}: {e}\nA run's folder is wanted, or its results.json.", file.display()))
    })?;
    let kind = serde_json::from_str(&text).map_err(|e| LabError::new(format!("{}: {e}", file.display())))?;
    Ok((file, kind))
}

fn report_command(place: &Path) -> Result<(), LabError> {
    let (file, kind) = results_at(place)?;
    let wrong = |e: serde_json::Error| LabError::new(format!("{}: {e}", file.display()));
    let folder = file.parent().unwrap_or(Path::new("."));
    if kind["experiment"] == torture::NAME {
        let result: torture::Torture = serde_json::from_value(kind).map_err(wrong)?;
        torture::write(&result, folder)?;
        print!("{}", result.table());
        return Ok(());
    }
    if kind["experiment"] == time_machine::NAME {
        let journey: time_machine::Journey = serde_json::from_value(kind).map_err(wrong)?;
        time_machine::write(&journey, folder)?;
        print!("{}", journey.tables());
        return Ok(());
    }
    if kind["experiment"] == slob::HUGE_PAGES {
        let result: slob::HugePagesRun = serde_json::from_value(kind).map_err(wrong)?;
        write_huge_pages(&result, folder)?;
        print!("{}", result.tables());
        return Ok(());
    }
    let results: Results = serde_json::from_value(kind).map_err(wrong)?;
    write_file(&folder.join("report.html"), &html::page(&results))?;
    print!("{}", table::all(&results));
    println!("\nPage: {}", folder.join("report.html").display());
    Ok(())
}

/// Writes JSON, CSV and the page into a folder.
///
/// # Errors
/// When a file cannot be written.
pub fn write(results: &Results, folder: &Path) -> Result<(), LabError> {
    std::fs::create_dir_all(folder).map_err(|e| LabError::new(format!("{}: {e}", folder.display())))?;
    let json = serde_json::to_string_pretty(results).map_err(|e| LabError::new(e.to_string()))?;
    write_file(&folder.join("results.json"), &json)?;
    write_file(&folder.join("results.csv"), &results.csv())?;
    write_file(&folder.join("report.html"), &html::page(results))
}

fn write_file(path: &Path, text: &str) -> Result<(), LabError> {
    std::fs::write(path, text).map_err(|e| LabError::new(format!("{}: {e}", path.display())))
}
