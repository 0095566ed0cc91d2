//! `lab check-predictions`: recordings at one and two sessions, predictions for more, and then the truth.
//!
//! A prediction is made before its cell is measured; its error widens the bands of later predictions of its kind, and
//! after three of a kind it replaces the error that a band begins with. The cost of a recording is measured in the same
//! command: the same sessions with and without one, in quads of four slices in the order on, off, off, on or its
//! opposite.

use std::fmt::Write as _;
use std::time::Duration;

use latch_simulator::trace::Counted;
use latch_simulator::{Choice, Forecast, Machine, Question, Seen, Shard, Trace, checked_control};

use super::{Part, SAMPLE, Stage, load, trace_of};
use crate::LabError;
use crate::manifest::{Experiment, Variant};

/// Arguments of `lab check-predictions`.
#[derive(clap::Args, Debug)]
pub struct CheckArguments {
    /// Only this experiment: result-cache, row-cache or hot-cursor
    #[arg(long, value_name = "NAME")]
    experiment: Option<String>,
    /// Numbers of sessions that are predicted and then measured
    #[arg(long, value_delimiter = ',', default_value = "2,3,4,6,8,12")]
    sessions: Vec<u32>,
    /// Seconds of a measured cell
    #[arg(long, value_name = "S", default_value_t = 1.2)]
    seconds: f64,
    /// A machine file made by `lab calibrate` here, or the name of a shipped one [default: measured now]
    #[arg(long, value_name = "FILE|NAME")]
    machine: Option<String>,
    /// Quads of the cost of a recording, for each of two generations; 0: it is not measured
    #[arg(long, default_value_t = 40)]
    quads: u32,
}

/// Experiments with their variants and generations.
const CELLS: &[(&str, &str, &[&str])] = &[
    ("result-cache", "result-cache", &["11.1", "11.2.0.1", "11.2.0.3", "latchwork"]),
    ("row-cache", "read-parameter", &["12.1", "12.2", "12.2-hot-copies", "latchwork"]),
    ("hot-cursor", "execute", &["10.2", "11.2.0.3", "12.2", "latchwork"]),
];
/// A prediction within this of the truth counts as right.
const WITHIN: f64 = 0.10;
/// Recordings of the check: more calls a second than by default, in less time.
const CHECK_SAMPLE: u32 = 8;
/// Time of the calls of a session in a simulated cell.
const WINDOW_NS: f64 = 60e6;
const CHECK_CALLS: usize = 3_000;
const CHECK_SECONDS: f64 = 1.5;

/// A predicted and measured cell.
struct Cell {
    experiment: String,
    generation: String,
    forecast: Forecast,
    measured: Counted,
}

impl Cell {
    fn error(&self) -> f64 {
        self.forecast.rate.middle / self.measured.rate - 1.0
    }

    /// The error of the processor time of a call: other work of the machine has a small part in it.
    fn error_of_cpu(&self) -> f64 {
        self.forecast.figures.cpu_ns() / self.measured.cpu_ns - 1.0
    }
}

/// `lab check-predictions`.
pub(crate) fn check(arguments: &CheckArguments) -> Result<(), LabError> {
    let load_before = crate::host::load();
    let machine = super::machine_of(arguments.machine.as_deref())?;
    let (mut cells, mut seen) = (Vec::new(), Vec::new());
    let wanted = |name: &str| arguments.experiment.as_deref().is_none_or(|asked| asked == name);
    for (name, variant, generations) in CELLS.iter().filter(|(name, ..)| wanted(name)) {
        let experiment = Experiment::find(name)?;
        let found = experiment.manifest.variants.iter().find(|of| of.name == *variant);
        let variant = found.ok_or_else(|| LabError::new(format!("{name} has no variant {variant}")))?;
        for generation in *generations {
            eprintln!("{name}, {generation}");
            cells.extend(check_one(arguments, &machine, &experiment, variant, generation, &mut seen)?);
        }
    }
    if cells.is_empty() {
        return Err(LabError::new("--experiment: expected result-cache, row-cache or hot-cursor".into()));
    }
    let mut costs = Vec::new();
    for generation in ["11.2.0.1", "latchwork"].iter().filter(|_| arguments.quads > 1) {
        eprintln!("cost of a recording, {generation}");
        costs.push((*generation, cost(generation, arguments.quads)?));
    }
    print!("{}", report(&machine, &cells, &costs, [load_before, crate::host::load()]));
    Ok(())
}

fn check_one(
    arguments: &CheckArguments,
    machine: &Machine,
    experiment: &Experiment,
    variant: &Variant,
    generation: &str,
    seen: &mut Vec<Seen>,
) -> Result<Vec<Cell>, LabError> {
    let mut stage = Stage::new(experiment, variant, generation, &[])?;
    let mut parts: Vec<Part> = Vec::new();
    for sessions in [1, 2] {
        parts.push(stage.part(sessions, CHECK_SAMPLE, CHECK_SECONDS, CHECK_CALLS)?);
    }
    let waiting = load::waiting(&mut stage.observer)?;
    let (trace, _) = trace_of(&experiment.manifest.name, &parts, machine, waiting)?;
    let forecasts = forecasts(&trace, machine, &arguments.sessions, seen)?;
    let mut cells = Vec::new();
    for forecast in forecasts {
        let measured = stage.count(forecast.sessions, Duration::from_secs_f64(arguments.seconds))?;
        let (experiment, generation) = (experiment.manifest.name.clone(), generation.to_owned());
        let cell = Cell { experiment, generation, forecast, measured };
        let ratio = f64::from(machine.cpus()) / 2.0;
        seen.push(Seen { ratio, chi: cell.forecast.chi, error: cell.error().ln_1p().abs() });
        cells.push(cell);
    }
    Ok(cells)
}

fn forecasts(trace: &Trace, machine: &Machine, sessions: &[u32], seen: &[Seen]) -> Result<Vec<Forecast>, LabError> {
    let wrong = |e: latch_simulator::Error| LabError::new(e.to_string());
    let workload = trace.workload();
    // Long enough for the rare long calls of a trace, whatever the number of sessions.
    let calls = ((WINDOW_NS / workload.means().call_ns().max(1.0)) as u64).max(2_000);
    let control = checked_control(&workload, &trace.header, machine, 1, calls).map_err(wrong)?;
    let question = Question {
        workload: &workload,
        header: &trace.header,
        machine,
        choices: vec![Choice { name: "recorded".into(), designs: trace.designs() }],
        cpus: vec![machine.cpus()],
        sessions: sessions.to_vec(),
        seed: 1,
        draws: 10,
        calls,
        draw_calls: calls / 10,
        control,
        seen: seen.to_vec(),
        threads: os::cpu::allowed(),
        shard: Shard::WHOLE,
    };
    question.answer().map_err(wrong)
}

/// The cost of a recording at the default rate: mean and half of the 95 % interval of the difference, in percent.
fn cost(generation: &str, quads: u32) -> Result<(f64, f64), LabError> {
    const SLICE: Duration = Duration::from_millis(100);
    let experiment = Experiment::find("result-cache")?;
    let variant = experiment.manifest.variants.iter().find(|of| of.name == "result-cache");
    let variant = variant.ok_or_else(|| LabError::new("no variant result-cache".into()))?;
    // Rings that are not full before a slice ends.
    let params = [("_latch_recording_size".to_owned(), "2M".to_owned())];
    let mut stage = Stage::new(&experiment, variant, generation, &params)?;
    let load = stage.start(1)?;
    let mut slice = |on: bool| -> Result<f64, LabError> {
        load::switch(&mut stage.observer, if on { SAMPLE } else { 0 })?;
        let before = load::work_of(&mut stage.observer, &load.sids)?;
        std::thread::sleep(SLICE);
        let after = load::work_of(&mut stage.observer, &load.sids)?;
        // Processor time of an execution: other work of the machine is not in it.
        Ok(((after.2 - before.2).max(1.0) / (after.1 - before.1).max(1.0)).ln())
    };
    let mut differences = Vec::new();
    for quad in 0..u64::from(quads) {
        let mut order = [0u32, 1];
        crate::run::shuffle(&mut order, quad);
        let first_on = order[0] == 0;
        let mut sum = 0.0;
        for on in [first_on, !first_on, !first_on, first_on] {
            sum += slice(on)? * if on { 0.5 } else { -0.5 };
        }
        differences.push(sum);
    }
    load.stop()?;
    let n = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / n;
    let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    // The factor of Student's distribution is 2.02 for 40 quads.
    Ok((mean.exp_m1() * 100.0, 2.02 * (variance / n).sqrt() * 100.0))
}

fn report(
    machine: &Machine,
    cells: &[Cell],
    costs: &[(&str, (f64, f64))],
    loads: [Option<impl std::fmt::Display>; 2],
) -> String {
    let [before, after] = loads.map(|load| load.map_or_else(|| "unknown".to_owned(), |load| load.to_string()));
    let mut out = format!(
        "Processors: {}. Load average before and after: {before}; {after}.\n\n\
         | experiment | generation | sessions | predicted, calls/s | 95 % band | measured | error | CPU ns/call, predicted \
         | measured | error | |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n",
        machine.cpus()
    );
    for cell in cells {
        let f = &cell.forecast;
        let band = match f.refusals.is_empty() {
            true => format!("{:.0} to {:.0}", f.rate.low, f.rate.high),
            false => "refused".to_owned(),
        };
        let reasons: Vec<String> = f.refusals.iter().map(ToString::to_string).collect();
        let _ = writeln!(
            out,
            "| {} | {} | {} | {:.0} | {band} | {:.0} | {:+.1} % | {:.0} | {:.0} | {:+.1} % | {} |",
            cell.experiment,
            cell.generation,
            f.sessions,
            f.rate.middle,
            cell.measured.rate,
            cell.error() * 100.0,
            f.figures.cpu_ns(),
            cell.measured.cpu_ns,
            cell.error_of_cpu() * 100.0,
            reasons.join("; ")
        );
    }
    let right = |cells: &[&Cell]| cells.iter().filter(|cell| cell.error().abs() <= WITHIN).count();
    let right_cpu = cells.iter().filter(|cell| cell.error_of_cpu().abs() <= WITHIN).count();
    let all: Vec<&Cell> = cells.iter().collect();
    let answered: Vec<&Cell> = cells.iter().filter(|cell| cell.forecast.refusals.is_empty()).collect();
    let _ = writeln!(
        out,
        "\nWithin {:.0} %: {} of {} cells; of the {} that are not refused, {}. Processor time of a call: {right_cpu} cells.",
        WITHIN * 100.0,
        right(&all),
        all.len(),
        answered.len(),
        right(&answered)
    );
    for (generation, (mean, half)) in costs {
        let _ = writeln!(
            out,
            "Recording one call in {SAMPLE}, result-cache of {generation}, one session: {mean:+.2} % of processor time \
             a call, 95 % interval {:+.2} to {:+.2} %.",
            mean - half,
            mean + half
        );
    }
    out
}
