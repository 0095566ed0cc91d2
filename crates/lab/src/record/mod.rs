//! `lab record`: whole calls with the gets, gaps and holds of their latches, for `lab predict`.
//!
//! The instance samples one call in N, an execution of a statement up to the next one, into rings in its shared memory;
//! the laboratory empties them, counts the same work exactly without a recording and beside it, and measures what the
//! stamps and a move of a cache line cost on this machine. Whether the recorded calls are those that were counted is
//! written into the trace: a prediction from other ones is refused.

mod gets;
mod held;
mod load;
mod stamps;

use std::path::{Path, PathBuf};
use std::time::Duration;

use client::{Client, Credentials, Ephemeral};
use latch_simulator::calibrate::{Effort, machine as measure};
use latch_simulator::trace::{Counted, Header, Window};
use latch_simulator::{Distance, Machine, SHIPPED, parquet};

use crate::LabError;
use crate::files::write_file;
use crate::manifest::{Experiment, Variant};
use gets::Call;
use load::{Load, Work};
use stamps::Overhead;

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
    /// Numbers of sessions of the experiment; the first must be 1, by whose processor time a call is scaled
    #[arg(long, value_delimiter = ',', default_value = "1,2", requires = "experiment")]
    sessions: Vec<u32>,
    /// Init parameter NAME=VALUE that overrides the experiment's; may be repeated
    #[arg(long, value_name = "NAME=VALUE", requires = "experiment")]
    param: Vec<String>,
    /// The trace to write; the machine's file is written beside it
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Record one call in N [default: so many that sampled calls cost about half a percent of the processor time]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    sample: Option<u32>,
    /// The longest time of the recording, at each number of sessions; the count before it takes so long too, but four
    /// seconds at most. Calls that have not ended then are waited for, ten seconds at most
    #[arg(long, value_name = "S", default_value_t = 10.0)]
    seconds: f64,
    /// Whole calls after which a recording ends early, at each number of sessions
    #[arg(long, value_name = "CALLS", default_value_t = 20_000)]
    calls: usize,
    /// A machine file made by `lab calibrate` here, or the name of a shipped one [default: measured now]
    #[arg(long, value_name = "FILE|NAME")]
    machine: Option<String>,
}

/// The share of the processor time that a recording takes by default, about.
const COST: f64 = 0.005;
/// The time that a sampled call takes more, with its approach: so many nanoseconds, and so many times the call itself
/// for the stamps of the four calls, which depend on their gets.
const SAMPLED_NS: f64 = 6_000.0;
const SAMPLED_TIMES: f64 = 4.0;

/// One call in so many is recorded by default, where a call takes so much processor time.
fn default_sample(cpu_ns: f64) -> u32 {
    ((SAMPLED_NS / cpu_ns.max(1.0) + SAMPLED_TIMES) / COST).ceil() as u32
}

pub(crate) const RECORD_EXAMPLES: &str = "Examples:
  latchwork lab record --experiment result-cache --variant result-cache --generation 11.2.0.1 --out load.parquet
  latchwork lab record --dir db --sample 16 --seconds 60 --out load.parquet
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

/// The recording of one number of sessions.
#[derive(Debug)]
struct Part {
    sessions: u32,
    /// Counted without a recording.
    work: Work,
    /// Counted beside the recording.
    beside: Work,
    calls: Vec<Call>,
    /// Calls that were sampled, one in so many.
    sampled: u64,
    every: u32,
}

impl Part {
    fn gets(&self) -> f64 {
        let gets: usize = self.calls.iter().map(|call| call.gets.len()).sum();
        gets as f64 / self.calls.len().max(1) as f64
    }

    fn counted(&self) -> Counted {
        self.work.counted(self.sessions, self.gets())
    }

    /// The recorded calls, which take `recorded_ns` on average, beside what was counted in the same time. `None`
    /// without a recorded call.
    fn window(&self, recorded_ns: f64, overhead: &Overhead) -> Option<Window> {
        let calls = self.calls.len() as u64;
        // The sampled calls are a part of the counted ones, and only they have stamps.
        let stamps_ns = self.calls.iter().map(|call| call.stamps_ns(overhead)).sum::<f64>() / calls.max(1) as f64;
        let counted_ns = self.beside.cpu_ns - stamps_ns * self.sampled as f64 / self.beside.calls.max(1.0);
        (calls > 0 && recorded_ns > 0.0 && counted_ns > 0.0).then(|| Window {
            sessions: self.sessions,
            calls,
            missing: self.sampled.saturating_sub(calls),
            recorded_ns,
            counted_ns,
            stamps_ns,
            miss_rate: self.beside.miss_rate(self.gets()),
        })
    }
}

/// `lab record`.
pub(crate) fn record(arguments: &RecordArguments) -> Result<(), LabError> {
    if !(arguments.seconds > 0.0 && arguments.seconds < 86_400.0) {
        return Err(LabError::new("--seconds: expected a time above zero and below a day".into()));
    }
    let machine = machine_of(arguments.machine.as_deref())?;
    let overhead = stamps::overhead()?;
    let (name, parts, waiting) = match &arguments.dir {
        Some(dir) => record_running(arguments, dir)?,
        None => record_experiment(arguments)?,
    };
    let made = trace_of(&name, &parts, &machine, waiting, &overhead)?;
    let trace = &made.trace;
    let bytes = parquet::write_trace(trace);
    // Read as a reader will: a trace that no reader takes is not written.
    parquet::read_trace(&bytes).map_err(|e| LabError::new(format!("the recording is no trace: {e}")))?;
    let at = |e: std::io::Error| LabError::new(format!("{}: {e}", arguments.out.display()));
    std::fs::write(&arguments.out, bytes).map_err(at)?;
    let beside = machine_beside(&arguments.out);
    write_file(&beside, &machine.to_text())?;
    println!(
        "{}: {} calls, {} gets of {} latches",
        arguments.out.display(),
        trace.tails_ns.len(),
        trace.gets.len(),
        trace.header.latches.len()
    );
    if made.beyond > 0 {
        println!("{} gets of the latches that are got least count as work: a trace has no more latches", made.beyond);
    }
    if made.timeless > 0 {
        println!("{} calls took no time by the clock, and have a nanosecond in the trace", made.timeless);
    }
    if made.mended + made.unmended > 0 {
        println!(
            "the scheduler interrupted recorded calls: {} times have the mean of their kind instead, {} stay as they are",
            made.mended, made.unmended
        );
    }
    for counted in &trace.header.counted {
        println!(
            "{} sessions: {:.0} calls a second, {:.0} ns of processor time a call, misses {:.2} % of the gets",
            counted.sessions,
            counted.rate,
            counted.cpu_ns,
            counted.miss_rate * 100.0
        );
    }
    for w in &trace.header.windows {
        let every = parts.iter().find(|part| part.sessions == w.sessions).map_or(0, |part| part.every);
        println!(
            "{} sessions, one call in {every} recorded: {} calls of {:.0} ns on average, {} sampled calls are missing; \
             {:.0} ns of processor time a call were counted beside them",
            w.sessions, w.calls, w.recorded_ns, w.missing, w.counted_ns
        );
    }
    let overhead = made.overhead;
    println!(
        "stamps, taken out: {:.0} ns of a call, {:.0} ns before a get, {:.0} ns in its hold, {:.0} ns of a get without a \
         hold",
        overhead.call_ns, overhead.gap_ns, overhead.hold_ns, overhead.touch_ns
    );
    println!("machine: {}", beside.display());
    Ok(())
}

type Parts = (String, Vec<Part>, gets::Waiting);

/// Sessions of a running instance count as such when they execute within this time.
const LOOK: Duration = Duration::from_millis(500);

fn record_running(arguments: &RecordArguments, dir: &Path) -> Result<Parts, LabError> {
    let mut observer = Client::connect(dir, &Credentials::Sysdba)?;
    let sql = "select sid from v$session where type = 'USER' and sid <> sys_context('userenv', 'sid')";
    let rows = observer.query(sql, &[])?.all()?;
    let connected: Vec<u64> = rows.iter().map(|row| load::number(&row[0]) as u64).collect();
    if connected.is_empty() {
        return Err(LabError::new(format!("{}: no other session is connected", dir.display())));
    }
    let sids = load::busy(&mut observer, &connected, LOOK)?;
    if sids.is_empty() {
        return Err(LabError::new(format!(
            "{}: none of the {} other sessions has executed a statement in half a second",
            dir.display(),
            connected.len()
        )));
    }
    if sids.len() < connected.len() {
        println!(
            "{} of {} sessions are recorded; the others have begun no statement in half a second",
            sids.len(),
            connected.len()
        );
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

    fn part(&mut self, sessions: u32, sample: Option<u32>, seconds: f64, calls: usize) -> Result<Part, LabError> {
        let load = self.start(sessions)?;
        let part = part(&mut self.observer, &load.sids, sample, seconds, calls)?;
        load.stop()?;
        Ok(part)
    }

    /// Counts so many sessions, several times one after another.
    fn count(&mut self, sessions: u32, time: Duration, counts: u32) -> Result<Vec<Work>, LabError> {
        let load = self.start(sessions)?;
        let count = |_| load::count(&mut self.observer, &load.sids, time / counts.max(1));
        let all: Result<Vec<Work>, LabError> = (0..counts).map(count).collect();
        load.stop()?;
        all
    }
}

/// Time slices of other processes that an involuntary switch may take, one after another.
const SLICES_AWAY: f64 = 4.0;

/// The count before a recording is no longer than this.
const COUNT_MOST: Duration = Duration::from_secs(4);

/// Counts and then records the work of sessions.
fn part(
    observer: &mut Client,
    sids: &[u64],
    sample: Option<u32>,
    seconds: f64,
    calls: usize,
) -> Result<Part, LabError> {
    let time = Duration::from_secs_f64(seconds);
    let work = load::count(observer, sids, time.min(COUNT_MOST))?;
    let sample = sample.unwrap_or_else(|| default_sample(work.cpu_ns));
    let recorded = load::record(observer, sids, sample, time, calls)?;
    Ok(Part {
        sessions: sids.len() as u32,
        work,
        beside: recorded.work,
        calls: gets::calls(&recorded.records),
        sampled: recorded.sampled,
        every: sample,
    })
}

/// The trace of a recording.
fn trace_of(
    name: &str,
    parts: &[Part],
    machine: &Machine,
    waiting: gets::Waiting,
    overhead: &Overhead,
) -> Result<gets::Made, LabError> {
    let least = parts.iter().min_by_key(|part| part.sessions);
    let Some(least) = least.filter(|_| parts.iter().all(|part| !part.calls.is_empty())) else {
        let empty: Vec<&Part> = parts.iter().filter(|part| part.calls.is_empty()).collect();
        let sampled: u64 = empty.iter().map(|part| part.sampled).sum();
        let sessions = empty.first().map_or(0, |part| part.sessions);
        return Err(LabError::new(format!(
            "no whole call of {sessions} sessions was recorded, of {sampled} sampled ones: the sessions executed too little, or a call has more \
             gets than a ring (parameter _latch_recording_size)"
        )));
    };
    let between = |distance: &Distance| machine.transfer(*distance);
    let header = Header {
        name: name.to_owned(),
        sessions: least.sessions,
        transfer_ns: machine.distances(machine.cpus()).iter().filter(|d| **d != Distance::Own).find_map(between),
        own_ns: Some(machine.own_ns),
        cpus: Some(machine.cpus()),
        counted: parts.iter().map(Part::counted).collect(),
        ..Header::default()
    };
    let calls = parts.iter().map(|part| part.calls.clone()).collect();
    let switch_ns = machine.scheduler.slice_us() * 1e3 * SLICES_AWAY;
    let alone_ns = (least.sessions == 1 && std::ptr::eq(least, &parts[0])).then_some(least.work.cpu_ns);
    let mut made = gets::trace(header, calls, waiting, (overhead, switch_ns), alone_ns).map_err(LabError::new)?;
    let overhead = made.overhead;
    let windows = parts.iter().zip(&made.means_ns).filter_map(|(part, mean)| part.window(*mean, &overhead));
    let header = &mut made.trace.header;
    header.windows = windows.collect();
    // The counted time of several sessions has that of their spinners in it, and the recorded calls have not: their
    // mean is the time of a call without the others.
    header.call_ns = match least.sessions {
        1 => Some(least.work.cpu_ns),
        sessions => header.windows.iter().find(|window| window.sessions == sessions).map(|window| window.recorded_ns),
    };
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use latch_simulator::Refusal;

    fn part(sessions: u32, calls: usize, gap_ns: f64, counted_ns: f64) -> Part {
        let get = gets::Got {
            object: gets::Object { name: "a".into(), number: 0, is_mutex: false },
            place: 1,
            manner: gets::Manner::Exclusive,
            changes: false,
            gap_ns,
            hold_ns: 40.0,
            is_touch: false,
            within: None,
            other: Some(false),
        };
        let seconds = 64_000.0 * counted_ns / 1e9;
        let work = Work { calls: 64_000.0, seconds, cpu_ns: counted_ns, misses: 640.0, sleeps: 64.0 };
        let calls = vec![Call { gets: vec![get], tail_ns: 100.0, preempted: 0 }; calls];
        Part { sessions, work, beside: work, calls, sampled: 2_000, every: 32 }
    }

    const STAMPS: Overhead = Overhead { call_ns: 0.0, gap_ns: 20.0, hold_ns: 20.0, touch_ns: 20.0 };

    fn header(parts: &[Part]) -> Header {
        let machine = Machine::parse(SHIPPED[0].1).unwrap();
        let waiting = gets::Waiting { mutex_scheme: 2, back_off: false };
        trace_of("t", parts, &machine, waiting, &STAMPS).unwrap().trace.header
    }

    #[test]
    fn a_window_compares_the_recorded_calls_with_the_count_of_the_same_time() {
        let header = header(&[part(1, 1_990, 920.0, 1_021.25)]);
        let window = header.windows[0];
        assert_eq!((window.sessions, window.calls, window.missing), (1, 1_990, 10));
        // 920 + 40 + 100 less stamps of 40 ns, which become 38.75 by the count; they are in 2,000 calls of 64,000.
        let counted_ns = 1_021.25 - 38.75 / 32.0;
        assert_eq!((window.recorded_ns, window.counted_ns, window.miss_rate), (1_021.25, counted_ns, 0.01));
        assert_eq!((header.call_ns, header.counted[0].sleep_rate), (Some(1_021.25), 0.1));
    }

    #[test]
    fn several_sessions_of_an_instance_have_a_time_of_a_call() {
        let header = header(&[part(3, 1_990, 920.0, 1_500.0)]);
        assert_eq!((header.sessions, header.call_ns), (3, Some(1_020.0)));
        assert_eq!(header.counted[0].cpu_ns, 1_500.0);
    }

    #[test]
    fn a_recording_without_a_whole_call_says_how_many_were_sampled() {
        let machine = Machine::parse(SHIPPED[0].1).unwrap();
        let waiting = gets::Waiting { mutex_scheme: 2, back_off: false };
        let says = |parts: &[Part], what: &str| {
            let error = trace_of("t", parts, &machine, waiting, &STAMPS).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        };
        says(&[part(1, 0, 0.0, 1.0), part(2, 0, 0.0, 1.0)], "of 4000 sampled ones");
        says(&[], "of 0 sampled ones");
        // The calls of two sessions are not those of one.
        says(&[part(1, 0, 0.0, 1.0), part(2, 9, 920.0, 1_020.0)], "no whole call of 1 sessions was recorded, of 2000");
    }

    #[test]
    fn a_recording_without_its_long_calls_is_refused() {
        let machine = Machine::parse(SHIPPED[0].1).unwrap();
        let waiting = gets::Waiting { mutex_scheme: 2, back_off: false };
        let refusals = |counted_ns: f64| {
            let made = trace_of("t", &[part(1, 1_990, 920.0, counted_ns)], &machine, waiting, &STAMPS).unwrap();
            let forecasts = held::forecasts(&made.trace, &machine, &[1], &[], 40).unwrap();
            forecasts[0].refusals.clone()
        };
        assert_eq!(refusals(1_050.0), []);
        let all = refusals(1_300.0);
        assert!(all.iter().any(|of| matches!(of, Refusal::RecordedApart(window) if window.calls == 1_990)), "{all:?}");
    }
}
