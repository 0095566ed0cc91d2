//! Switchback: two designs of one structure alternate in a running instance under load, and the difference between them
//! is estimated with an interval.
//!
//! `design` orders the periods, `inference` says what their figures mean, `conduct` switches and reads the counts of
//! the sessions, `settling` has their rates by age, `report` writes tables. The load is that of an experiment, or
//! whatever runs in the instance of `--dir`.

mod conduct;
mod design;
mod inference;
mod plan;
mod report;
mod settling;

use std::path::PathBuf;
use std::time::Duration;

use crate::error::LabError;
use crate::stop::Stop;
use conduct::{Conductor, Ended, Load};
use plan::{Plan, Structure};

pub const EXAMPLES: &str = "Examples:
  latchwork lab switchback --structure result-cache --a exclusive-long --b versioned
  latchwork lab switchback --structure cache-buffers-chains --a 10.2 --b latchwork --variant hash-cluster --sessions 4
  latchwork lab switchback --structure cache-buffers-chains --a 9.2 --b 11.1 --experiment kill-cpu --variant short-walks
  latchwork lab switchback --structure row-cache --a 12.1 --b 12.2 --experiment row-cache --width 0.5
  latchwork lab switchback --structure spin-count --a 100 --b 2000 --dir /var/lib/latchwork/PROD --seconds 600
  latchwork lab switchback --structure library-cache --a mutex --b mutex        (an A/A run)

A design has a name of its own (versioned, shared, mutex, ...) or that of a release (8.1.7 to 12.2, latchwork).
The load of --dir is what its sessions do; an operation is an execution of a statement.
A period should be 20 times as long as nearly all operations, and five times as long as the longest sleep by the clock:
for latch-sleep with backoff give --period 1000 or more.

Exit codes: 0 the interval is narrow enough; 4 time was over before; 3 the run does not support an answer (a difference
between A and A, an estimate that depends on the burn-in, or a period in which nothing was done); 130 stopped by Ctrl-C;
1 an error. The design that was in
force before is in force again at the end, also after Ctrl-C. After a second Ctrl-C, or when this program is killed, the
instance itself puts it back within a second. `latchwork top` shows a run in its table Designs.";

/// The arguments of `lab switchback`.
#[derive(clap::Args, Debug)]
pub struct SwitchbackArguments {
    /// The structure whose designs are compared
    #[arg(long, value_enum)]
    structure: Structure,
    /// The first design
    #[arg(long, value_name = "DESIGN")]
    a: String,
    /// The second design
    #[arg(long, value_name = "DESIGN")]
    b: String,
    /// A running instance, under the load of its own sessions
    #[arg(long, value_name = "DIR", conflicts_with_all = ["experiment", "variant", "sessions", "param"])]
    dir: Option<PathBuf>,
    /// An experiment whose workers are the load, in an instance of its own
    #[arg(long, value_name = "NAME", default_value = "result-cache")]
    experiment: String,
    /// The workers of the experiment: a variant of it [default: the last one]
    #[arg(long)]
    variant: Option<String>,
    /// Sessions of the load
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1000))]
    sessions: u32,
    /// Parameter of the instance, name=value; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    param: Vec<String>,
    /// The longest time of the comparison
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Stop when the 95 % interval of the throughput is this many per cent to each side, or narrower
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = positive)]
    width: f64,
    /// Length of a period
    #[arg(long, value_name = "MS", default_value_t = 100, value_parser = clap::value_parser!(u64).range(10..=60_000))]
    period: u64,
    /// Time after each switch that does not count
    #[arg(long, value_name = "MS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    burn_in: u64,
    /// Seed of the order and of the tests
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the figures of all quads as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
        _ => Err("a number above 0 is needed".into()),
    }
}

impl SwitchbackArguments {
    fn params(&self) -> Result<Vec<(String, String)>, LabError> {
        let pair = |text: &String| {
            let (name, value) =
                text.split_once('=').ok_or_else(|| LabError::new(format!("--param {text}: NAME=VALUE")))?;
            Ok((name.trim().to_string(), value.trim().to_string()))
        };
        self.param.iter().map(pair).collect()
    }
}

/// Runs the command; returns its exit code.
///
/// # Errors
/// The instance cannot be reached or does not know a design; no session works; a file cannot be written.
pub fn command(arguments: &SwitchbackArguments) -> Result<u8, LabError> {
    let burn_in = Duration::from_millis(arguments.burn_in);
    let period = Duration::from_millis(arguments.period);
    if arguments.burn_in >= arguments.period.div_ceil(3) {
        return Err(LabError::new(format!(
            "--period {} is too short for --burn-in {}: a period must be more than three times as long",
            arguments.period, arguments.burn_in
        )));
    }
    let plan = Plan {
        structure: arguments.structure,
        designs: [arguments.a.clone(), arguments.b.clone()],
        period,
        burn_in,
        limit: Duration::from_secs(arguments.seconds),
        width: (arguments.width / 100.0).ln_1p(),
        seed: arguments.seed,
    };
    let stop = Stop::on_signals();
    let load = match &arguments.dir {
        Some(dir) => Load::running(dir),
        None => Load::of_experiment(
            &arguments.experiment,
            arguments.variant.as_deref(),
            arguments.sessions,
            &arguments.params()?,
        )?,
    };
    let mut conductor = Conductor::begin(&load, &plan)?;
    let outcome = conductor.conduct(&stop, &mut |comparison| {
        println!("{}", report::line(comparison));
        report::brief(comparison, &plan)
    });
    // Also after an error: the instance must not stay in a design that was only tried.
    let restored = conductor.restore();
    let worked = load.end();
    // A worker that failed is the reason for what its absence did to the run.
    worked?;
    let (comparison, ended) = outcome?;
    restored?;
    print!("{}", report::summary(&comparison, &plan));
    if let Some(file) = &arguments.json {
        crate::files::write_file(file, &report::json(&comparison, &plan)?)?;
    }
    Ok(match ended {
        Ended::Asked => 130,
        _ if comparison.objection(&plan).is_some() => 3,
        Ended::NarrowEnough => 0,
        Ended::TimeOver => 4,
    })
}
