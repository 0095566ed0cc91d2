//! `lab record`: whole calls with the gets, gaps and holds of their latches, for `lab predict`.
//!
//! The instance samples one call in N, an execution of a statement up to the next one, into rings in its shared memory;
//! the laboratory empties them, counts the same work exactly without a recording, and measures what the stamps and a
//! move of a cache line cost on this machine.

mod gets;
mod held;
mod load;
mod stamps;

use std::path::{Path, PathBuf};
use std::time::Duration;

use client::{Client, Credentials, Ephemeral};
use latch_simulator::calibrate::{Effort, machine as measure};
use latch_simulator::trace::{Counted, Header};
use latch_simulator::{Distance, Machine, SHIPPED, Trace, parquet};

use crate::LabError;
use crate::files::write_file;
use crate::manifest::{Experiment, Variant};
use gets::Call;
use load::Load;

pub use held::CheckArguments;
pub(crate) use held::check;

/// Arguments of `lab record`.
#[derive(clap::Args, Debug)]
pub struct RecordArguments {
    /// Record the sessions of the instance in this folder
    #[arg(long, value_name = "DIR", conflicts_with = "experiment", required_unless_present = "experiment")]
    dir: Option<PathBuf>,
    /// Record this experiment, in an instance of its own
    #[arg(long, value_name = "NAME|FOLDER")]
    experiment: Option<String>,
    /// The variant of the experiment [default: its first]
    #[arg(long, requires = "experiment")]
    variant: Option<String>,
    #[arg(long, default_value = "latchwork", requires = "experiment")]
    generation: String,
    /// Numbers of sessions of the experiment; the first must be 1, by whose rate the trace is scaled
    #[arg(long, value_delimiter = ',', default_value = "1,2", requires = "experiment")]
    sessions: Vec<u32>,
    /// Init parameter NAME=VALUE that overrides the experiment's; may be repeated
    #[arg(long, value_name = "NAME=VALUE", requires = "experiment")]
    param: Vec<String>,
    /// The trace to write; the machine's file is written beside it
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Record one call in N
    #[arg(long, value_name = "N", default_value_t = SAMPLE, value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    sample: u32,
    /// Seconds of the count, and the longest time of the recording, at each number of sessions
    #[arg(long, value_name = "S", default_value_t = 4.0)]
    seconds: f64,
    /// Whole calls after which a recording ends early, at each number of sessions
    #[arg(long, value_name = "CALLS", default_value_t = 20_000)]
    calls: usize,
    /// A machine file made by `lab calibrate` here, or the name of a shipped one [default: measured now]
    #[arg(long, value_name = "FILE|NAME")]
    machine: Option<String>,
}

/// One call in so many is recorded by default.
pub(crate) const SAMPLE: u32 = 64;

pub(crate) const RECORD_EXAMPLES: &str = "Examples:
  latchwork lab record --experiment result-cache --variant result-cache --generation 11.2.0.1 --out load.parquet
  latchwork lab record --dir db --sample 16 --seconds 10 --out load.parquet
  latchwork lab predict --trace load.parquet --sessions 1,2,4,8
  latchwork lab predict --trace load.parquet --machine epyc-7742 --cores 12,64 --sessions 12,64 --design versioned

A call is an execution of a statement, up to the next one of its session. A trace has no texts of statements.";

/// The machine file beside a trace.
pub(crate) fn machine_beside(trace: &Path) -> PathBuf {
    trace.with_extension("machine.toml")
}

/// A shipped machine by its name, or a file.
pub(crate) fn find_machine(name: &str) -> Result<Machine, LabError> {
    let wrong = |e: latch_simulator::Error| LabError::new(e.to_string());
    if let Some((_, text)) = SHIPPED.iter().find(|(of, _)| *of == name) {
        return Machine::parse(text).map_err(wrong);
    }
    let text = std::fs::read_to_string(name).map_err(|e| {
        let names: Vec<&str> = SHIPPED.iter().map(|(name, _)| *name).collect();
        LabError::new(format!("{name}: {e}; the machines that ship are {}", names.join(", ")))
    })?;
    Machine::parse(&text).map_err(|e| wrong(e.in_file(name)))
}

/// The machine that was asked for, or this one.
fn machine_of(asked: Option<&str>) -> Result<Machine, LabError> {
    match asked {
        Some(name) => find_machine(name),
        None => measure("the machine of the recording", Effort::default()).map_err(|e| LabError::new(e.to_string())),
    }
}

/// What a recording has of one number of sessions.
#[derive(Debug)]
struct Part {
    counted: Counted,
    calls: Vec<Call>,
    lost: u64,
}

/// `lab record`.
pub(crate) fn record(arguments: &RecordArguments) -> Result<(), LabError> {
    if !(arguments.seconds > 0.0 && arguments.seconds < 86_400.0) {
        return Err(LabError::new("--seconds: expected a time above zero and below a day".into()));
    }
    let machine = machine_of(arguments.machine.as_deref())?;
    let (name, parts, waiting) = match &arguments.dir {
        Some(dir) => record_running(arguments, dir)?,
        None => record_experiment(arguments)?,
    };
    let (trace, interrupted) = trace_of(&name, &parts, &machine, waiting)?;
    let bytes = parquet::write_trace(&trace);
    // Read as a reader will: a trace that no reader takes is not written.
    parquet::read_trace(&bytes).map_err(|e| LabError::new(format!("the recording is no trace: {e}")))?;
    let at = |e: std::io::Error| LabError::new(format!("{}: {e}", arguments.out.display()));
    std::fs::write(&arguments.out, bytes).map_err(at)?;
    let beside = machine_beside(&arguments.out);
    write_file(&beside, &machine.to_text())?;
    println!(
        "{}: {} calls, {} gets of {} latches; {} records lost in full rings, {interrupted} times interrupted",
        arguments.out.display(),
        trace.tails_ns.len(),
        trace.gets.len(),
        trace.header.latches.len(),
        parts.iter().map(|part| part.lost).sum::<u64>()
    );
    for counted in &trace.header.counted {
        println!(
            "{} sessions: {:.0} calls a second, {:.0} ns of processor time a call, misses {:.2} % of the gets",
            counted.sessions,
            counted.rate,
            counted.cpu_ns,
            counted.miss_rate * 100.0
        );
    }
    println!("stamps: {:.0} ns in a gap, {:.0} ns in a hold", trace.header.overhead_ns.0, trace.header.overhead_ns.1);
    println!("machine: {}", beside.display());
    Ok(())
}

type Parts = (String, Vec<Part>, gets::Waiting);

fn record_running(arguments: &RecordArguments, dir: &Path) -> Result<Parts, LabError> {
    let mut observer = Client::connect(dir, &Credentials::Sysdba)?;
    let sql = "select sid from v$session where type = 'USER' and sid <> sys_context('userenv', 'sid')";
    let rows = observer.query(sql, &[])?.all()?;
    let sids: Vec<u64> = rows.iter().map(|row| load::number(&row[0]) as u64).collect();
    if sids.is_empty() {
        return Err(LabError::new(format!("{}: no other session is connected", dir.display())));
    }
    let waiting = load::waiting(&mut observer)?;
    let part = part(&mut observer, &sids, arguments.sample, arguments.seconds, arguments.calls)?;
    Ok((format!("sessions of {}", dir.file_name().unwrap_or_default().to_string_lossy()), vec![part], waiting))
}

fn record_experiment(arguments: &RecordArguments) -> Result<Parts, LabError> {
    let experiment = Experiment::find(arguments.experiment.as_deref().unwrap_or_default())?;
    let variants = &experiment.manifest.variants;
    let variant = match &arguments.variant {
        None => &variants[0],
        Some(name) => variants.iter().find(|variant| variant.name == *name).ok_or_else(|| {
            let names: Vec<&str> = variants.iter().map(|variant| variant.name.as_str()).collect();
            LabError::new(format!("--variant {name}: {} has {}", experiment.manifest.name, names.join(", ")))
        })?,
    };
    if arguments.sessions.first() != Some(&1) || arguments.sessions.iter().any(|n| !(1..=32).contains(n)) {
        return Err(LabError::new("--sessions: the first must be 1, and none more than 32".into()));
    }
    if !variant.is_in(&arguments.generation) {
        return Err(LabError::new(format!("{} has no variant {}", arguments.generation, variant.name)));
    }
    let mut stage =
        Stage::new(&experiment, variant, &arguments.generation, &crate::arguments::params_of(&arguments.param)?)?;
    let mut parts = Vec::new();
    for sessions in &arguments.sessions {
        parts.push(stage.part(*sessions, arguments.sample, arguments.seconds, arguments.calls)?);
    }
    let waiting = load::waiting(&mut stage.observer)?;
    Ok((format!("{}, {}, {}", experiment.manifest.name, variant.name, arguments.generation), parts, waiting))
}

/// An instance of its own that runs a variant of an experiment.
struct Stage {
    ephemeral: Ephemeral,
    observer: Client,
    worker: String,
    /// Operations of a call of a session.
    operations: u64,
}

/// Bytes of the ring of a session in an instance of its own: room for some hundred calls of dozens of gets.
const RINGS: &str = "524288";
/// Sessions work for so long before they are counted.
const WARM_UP: Duration = Duration::from_millis(300);

impl Stage {
    fn new(
        experiment: &Experiment,
        variant: &Variant,
        generation: &str,
        params: &[(String, String)],
    ) -> Result<Self, LabError> {
        let mut all = vec![("_latch_recording_size".to_owned(), RINGS.to_owned())];
        all.extend_from_slice(params);
        let (ephemeral, observer) = crate::run::set_up(experiment, &all, generation)?;
        let rate = crate::run::rate_of_worker(&ephemeral, &variant.worker)?;
        // Calls of a fiftieth of a second: the sessions stop soon, and little of the work is that of calls.
        let operations = ((rate * 0.02) as u64).max(1).next_multiple_of(experiment.manifest.sweep.portion);
        Ok(Self { ephemeral, observer, worker: variant.worker.clone(), operations })
    }

    fn start(&self, sessions: u32) -> Result<Load, LabError> {
        let load = Load::start(&self.ephemeral, &self.worker, sessions, self.operations)?;
        std::thread::sleep(WARM_UP);
        Ok(load)
    }

    fn part(&mut self, sessions: u32, sample: u32, seconds: f64, calls: usize) -> Result<Part, LabError> {
        let load = self.start(sessions)?;
        let part = part(&mut self.observer, &load.sids, sample, seconds, calls)?;
        load.stop()?;
        Ok(part)
    }

    /// Counts so many sessions: of three counts the one with the median rate.
    fn count(&mut self, sessions: u32, time: Duration) -> Result<Counted, LabError> {
        let load = self.start(sessions)?;
        let mut counts = Vec::new();
        for _ in 0..3 {
            counts.push(load::count(&mut self.observer, &load.sids, time / 3)?);
        }
        load.stop()?;
        counts.sort_by(|a, b| a.rate.total_cmp(&b.rate));
        Ok(counts[1])
    }
}

/// Counts and then records the work of sessions.
fn part(observer: &mut Client, sids: &[u64], sample: u32, seconds: f64, calls: usize) -> Result<Part, LabError> {
    let time = Duration::from_secs_f64(seconds);
    let counted = load::count(observer, sids, time)?;
    let recorded = load::record(observer, sids, sample, time, calls)?;
    Ok(Part { counted, calls: gets::calls(&recorded.records), lost: recorded.lost })
}

/// The trace of a recording, and how many of its times were interrupted by the scheduler.
fn trace_of(name: &str, parts: &[Part], machine: &Machine, waiting: gets::Waiting) -> Result<(Trace, usize), LabError> {
    let calls: Vec<Call> = parts.iter().flat_map(|part| &part.calls).cloned().collect();
    if calls.is_empty() {
        return Err(LabError::new(
            "no whole call was recorded: the sessions executed too little, or a call has more gets than a ring \
             (parameter _latch_recording_size)"
                .into(),
        ));
    }
    let between = |distance: &Distance| machine.transfer(*distance);
    let header = Header {
        name: name.to_owned(),
        sessions: parts[0].counted.sessions,
        call_ns: parts.iter().find(|part| part.counted.sessions == 1).map(|part| part.counted.cpu_ns),
        overhead_ns: stamps::overhead_ns()?,
        transfer_ns: machine.distances(machine.cpus()).iter().filter(|d| **d != Distance::Own).find_map(between),
        own_ns: Some(machine.own_ns),
        counted: parts.iter().map(|part| part.counted).collect(),
        ..Header::default()
    };
    gets::trace(header, calls, waiting).map_err(LabError::new)
}
