//! `lab check-predictions`: recordings at one and two sessions, predictions for more, and then the truth.
//!
//! A recorded number of sessions is fitted, so it is no test: only larger numbers of sessions are predicted and
//! measured. A prediction is made before its cell is measured; its error widens the bands of later predictions of its
//! kind, and after three of a kind it replaces the error that a band begins with. The cost of a recording is measured
//! in the same command: the same session with and without one, in quads of four slices in the order on, off, off, on or
//! its opposite.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use latch_simulator::{Choice, Forecast, Machine, Question, Seen, Shard, Trace, check as simulate, checked_control};

use super::stamps::Overhead;
use super::{Part, Stage, default_sample, load, stamps, trace_of};
use crate::LabError;
use crate::manifest::{Experiment, Variant};
use crate::statistics::{Summary, summary};

/// Arguments of `lab check-predictions`.
#[derive(clap::Args, Debug)]
pub struct CheckArguments {
    /// Only this experiment: result-cache, row-cache or hot-cursor
    #[arg(long, value_name = "NAME")]
    experiment: Option<String>,
    /// Numbers of sessions that are predicted and then measured, from 3 on: one and two sessions are recorded
    #[arg(long, value_delimiter = ',', default_value = "3,4,6,8,12",
          value_parser = clap::value_parser!(u32).range(3..=32))]
    sessions: Vec<u32>,
    /// Seconds of a measured cell
    #[arg(long, value_name = "S", default_value_t = 1.2)]
    seconds: f64,
    /// Draws of a band
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(40..=100_000))]
    draws: u32,
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
/// Numbers of sessions that are recorded.
const RECORDED: [u32; 2] = [1, 2];
/// A prediction within this of the truth counts as right.
const WITHIN: f64 = 0.10;
/// Recordings of the check: more calls a second than by default, in less time.
const CHECK_SAMPLE: u32 = 64;
/// Time of the calls of a session in a simulated cell.
const WINDOW_NS: f64 = 60e6;
const CHECK_CALLS: usize = 3_000;
const CHECK_SECONDS: f64 = 1.5;
/// Counts of a measured cell.
const COUNTS: u32 = 3;

/// A predicted and measured cell.
struct Cell {
    experiment: String,
    generation: String,
    forecast: Forecast,
    /// Calls a second, of several counts one after another.
    rate: Summary,
    /// Processor time of a call.
    cpu_ns: f64,
    /// Calls a second that were counted of the most recorded sessions.
    unchanged: f64,
}

impl Cell {
    fn error(&self) -> f64 {
        self.forecast.rate.middle / self.rate.average - 1.0
    }

    /// The error of the processor time of a call: other work of the machine has a small part in it.
    fn error_of_cpu(&self) -> f64 {
        self.forecast.figures.cpu_ns() / self.cpu_ns - 1.0
    }

    fn is_answer(&self) -> bool {
        self.forecast.refusals.is_empty()
    }

    fn is_right(&self) -> bool {
        self.error().abs() <= WITHIN
    }
}

/// The findings of the command.
#[derive(Default)]
struct Found {
    cells: Vec<Cell>,
    /// Cells that were asked for.
    asked: usize,
    /// Experiments with their generations that could not be recorded or measured, and the reasons.
    failed: Vec<(String, String)>,
    /// The cost of a recording by generation, as a logarithm of the processor time of a call, where one call in so many
    /// was sampled.
    costs: Vec<(String, u32, Summary)>,
}

/// `lab check-predictions`.
pub(crate) fn check(arguments: &CheckArguments) -> Result<(), LabError> {
    let names: Vec<&str> = CELLS.iter().map(|(name, ..)| *name).collect();
    if let Some(asked) = &arguments.experiment
        && !names.contains(&asked.as_str())
    {
        return Err(LabError::new(format!("--experiment: expected one of {}", names.join(", "))));
    }
    if !(arguments.seconds > 0.0 && arguments.seconds < 3_600.0) {
        return Err(LabError::new("--seconds: expected a time above zero and below an hour".into()));
    }
    let (began, load_before) = (Instant::now(), crate::host::load());
    let machine = super::machine_of(arguments.machine.as_deref())?;
    let overhead = stamps::overhead()?;
    let (mut found, mut seen) = (Found::default(), Vec::new());
    let wanted = |name: &str| arguments.experiment.as_deref().is_none_or(|asked| asked == name);
    for (name, variant, generations) in CELLS.iter().filter(|(name, ..)| wanted(name)) {
        let experiment = Experiment::find(name)?;
        let of = experiment.manifest.variants.iter().find(|of| of.name == *variant);
        let variant = of.ok_or_else(|| LabError::new(format!("{name} has no variant {variant}")))?;
        for generation in *generations {
            eprintln!("{name}, {generation}");
            found.asked += arguments.sessions.len();
            // The cells that were measured before an error are cells nevertheless.
            let (machine, cells) = ((&machine, &overhead), (&mut found.cells, &mut seen));
            if let Err(e) = check_one(arguments, machine, &experiment, variant, generation, cells) {
                found.failed.push((format!("{name}, {generation}"), e.to_string()));
            }
        }
    }
    for generation in ["11.2.0.1", "latchwork"].iter().filter(|_| arguments.quads > 0) {
        eprintln!("cost of a recording, {generation}");
        match cost(generation, arguments.quads) {
            Ok((every, cost)) => found.costs.push(((*generation).to_owned(), every, cost)),
            Err(e) => found.failed.push((format!("cost of a recording, {generation}"), e.to_string())),
        }
    }
    print!("{}", report(&machine, &found, [load_before, crate::host::load()]));
    println!("\nThe command took {:.0} seconds.", began.elapsed().as_secs_f64());
    if found.cells.is_empty() { Err(LabError::new("no cell was predicted and measured".into())) } else { Ok(()) }
}

fn check_one(
    arguments: &CheckArguments,
    (machine, overhead): (&Machine, &Overhead),
    experiment: &Experiment,
    variant: &Variant,
    generation: &str,
    (cells, seen): (&mut Vec<Cell>, &mut Vec<Seen>),
) -> Result<(), LabError> {
    let mut stage = Stage::new(experiment, variant, generation, &[])?;
    let mut parts: Vec<Part> = Vec::new();
    for sessions in RECORDED {
        parts.push(stage.part(sessions, Some(CHECK_SAMPLE), CHECK_SECONDS, CHECK_CALLS)?);
    }
    let waiting = load::waiting(&mut stage.observer)?;
    let made = trace_of(&experiment.manifest.name, &parts, machine, waiting, overhead)?;
    let forecasts = forecasts(&made.trace, machine, &arguments.sessions, seen, arguments.draws)?;
    let unchanged = parts.last().map_or(0.0, |part| part.work.rate());
    for forecast in forecasts {
        let time = Duration::from_secs_f64(arguments.seconds);
        let works = stage.count(forecast.sessions, time, COUNTS)?;
        let rate = summary(works.iter().map(load::Work::rate));
        let rate = rate.ok_or_else(|| LabError::new("the measured sessions did nothing".into()))?;
        let calls: f64 = works.iter().map(|work| work.calls).sum();
        let cpu_ns = works.iter().map(|work| work.cpu_ns * work.calls).sum::<f64>() / calls;
        let (experiment, generation) = (experiment.manifest.name.clone(), generation.to_owned());
        let cell = Cell { experiment, generation, forecast, rate, cpu_ns, unchanged };
        let (ratio, chi) = (f64::from(machine.cpus()) / f64::from(RECORDED[1]), cell.forecast.chi);
        seen.push(Seen { ratio, chi, error: cell.error().ln_1p().abs(), fitted: false });
        cells.push(cell);
    }
    Ok(())
}

/// Predictions for the machine of the recording, with what is known of earlier ones.
pub(super) fn forecasts(
    trace: &Trace,
    machine: &Machine,
    sessions: &[u32],
    seen: &[Seen],
    draws: u32,
) -> Result<Vec<Forecast>, LabError> {
    let wrong = |e: latch_simulator::Error| LabError::new(e.to_string());
    let workload = trace.workload();
    // Long enough for the rare long calls of a trace, whatever the number of sessions.
    let calls = ((WINDOW_NS / workload.means().call_ns().max(1.0)) as u64).max(2_000);
    let control = checked_control(&workload, &trace.header, machine, 1, calls).map_err(wrong)?;
    let fitted = simulate(&workload, &trace.header, machine, &control, 1, calls).map_err(wrong)?;
    let question = Question {
        workload: &workload,
        header: &trace.header,
        machine,
        choices: vec![Choice { name: "recorded".into(), designs: trace.designs() }],
        cpus: vec![machine.cpus()],
        sessions: sessions.to_vec(),
        seed: 1,
        draws,
        calls,
        draw_calls: calls / 10,
        control,
        seen: seen.iter().copied().chain(fitted.iter().map(|check| check.seen)).collect(),
        threads: os::cpu::allowed(),
        shard: Shard::WHOLE,
    };
    question.answer().map_err(wrong)
}

/// The cost of a recording at the default rate: differences of the logarithm of the processor time of a call.
fn cost(generation: &str, quads: u32) -> Result<(u32, Summary), LabError> {
    const SLICE: Duration = Duration::from_millis(100);
    let experiment = Experiment::find("result-cache")?;
    let variant = experiment.manifest.variants.iter().find(|of| of.name == "result-cache");
    let variant = variant.ok_or_else(|| LabError::new("no variant result-cache".into()))?;
    // Rings that are not full before a slice ends.
    let params = [("_latch_recording_size".to_owned(), "2M".to_owned())];
    let mut stage = Stage::new(&experiment, variant, generation, &params)?;
    let load = stage.start(1)?;
    let every = default_sample(load::count(&mut stage.observer, &load.sids, SLICE)?.cpu_ns);
    let mut slice = |on: bool| -> Result<f64, LabError> {
        load::switch(&mut stage.observer, if on { every } else { 0 })?;
        // Processor time of an execution: other work of the machine is not in it.
        Ok(load::count(&mut stage.observer, &load.sids, SLICE)?.cpu_ns.max(1.0).ln())
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
    load::switch(&mut stage.observer, 0)?;
    load.stop()?;
    let cost = summary(differences);
    Ok((every, cost.ok_or_else(|| LabError::new("the cost of a recording was not measured".into()))?))
}

fn report(machine: &Machine, found: &Found, loads: [Option<f64>; 2]) -> String {
    let [before, after] = loads.map(|load| load.map_or_else(|| "unknown".to_owned(), |load| load.to_string()));
    let mut out = format!("Processors: {}. Load average before and after: {before}; {after}.\n", machine.cpus());
    if !found.cells.is_empty() {
        table(&found.cells, &mut out);
    }
    verdict(found, &mut out);
    for (of, reason) in &found.failed {
        let _ = writeln!(out, "\nNot recorded or not measured: {of}: {reason}.");
    }
    for (generation, every, cost) in &found.costs {
        let percent = |x: f64| x.exp_m1() * 100.0;
        let interval = match cost.ends() {
            Some((low, high)) => format!("95 % interval {:+.2} to {:+.2} %", percent(low), percent(high)),
            None => "a single quad, so no interval".to_owned(),
        };
        let _ = writeln!(
            out,
            "\nRecording one call in {every}, result-cache of {generation}, one session: {:+.2} % of processor time a \
             call, {interval}, {} quads.",
            percent(cost.average),
            cost.count
        );
    }
    out
}

fn table(cells: &[Cell], out: &mut String) {
    out.push_str(
        "\n| experiment | generation | sessions | predicted, calls/s | 95 % band | measured | ± % | error | CPU ns/call, \
         predicted | measured | error | refused because |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for cell in cells {
        let f = &cell.forecast;
        let band = match cell.is_answer() {
            true => format!("{:.0} to {:.0}", f.rate.low, f.rate.high),
            false => "refused".to_owned(),
        };
        let reasons: Vec<String> = f.refusals.iter().map(ToString::to_string).collect();
        let _ = writeln!(
            out,
            "| {} | {} | {} | {:.0} | {band} | {:.0} | {} | {:+.1} % | {:.0} | {:.0} | {:+.1} % | {} |",
            cell.experiment,
            cell.generation,
            f.sessions,
            f.rate.middle,
            cell.rate.average,
            cell.rate.percent(),
            cell.error() * 100.0,
            f.figures.cpu_ns(),
            cell.cpu_ns,
            cell.error_of_cpu() * 100.0,
            reasons.join("; ")
        );
    }
}

/// The outcome of all cells, in sentences.
fn verdict(found: &Found, out: &mut String) {
    let cells = &found.cells;
    if cells.is_empty() {
        out.push_str("\nNo cell was predicted and measured.\n");
        return;
    }
    let (answers, refused): (Vec<&Cell>, Vec<&Cell>) = cells.iter().partition(|cell| cell.is_answer());
    let right = |cells: &[&Cell]| cells.iter().filter(|cell| cell.is_right()).count();
    let all: Vec<&Cell> = cells.iter().collect();
    let percent = WITHIN * 100.0;
    let _ = writeln!(
        out,
        "\n{} cells of {} recorded loads were predicted before they were measured; none of them was used to fit.",
        all.len(),
        cells.iter().map(|cell| (&cell.experiment, &cell.generation)).collect::<std::collections::BTreeSet<_>>().len()
    );
    match answers.len() {
        0 => out.push_str("Every prediction is refused: nothing is said of any cell.\n"),
        n => {
            let in_band =
                |cell: &&&Cell| (cell.forecast.rate.low..=cell.forecast.rate.high).contains(&cell.rate.average);
            let _ = writeln!(
                out,
                "{n} predictions are not refused: {} within {percent:.0} % of the measured rate, {} with the measured \
                 rate in the band.",
                right(&answers),
                answers.iter().filter(in_band).count()
            );
        }
    }
    let asked = found.asked.max(all.len());
    let is_reached = right(&answers) * 10 >= asked * 9;
    let _ = writeln!(
        out,
        "Of all {asked} cells {} are answered within {percent:.0} %: nine of ten {} reached. {} cells were not measured.",
        right(&answers),
        if is_reached { "are" } else { "are not" },
        asked - all.len()
    );
    // The figures without a simulation are the measure of the simulation.
    let reach = |figure: &dyn Fn(&Cell) -> Option<f64>| {
        let is_near = |cell: &&Cell| figure(cell).is_some_and(|x| (x / cell.rate.average - 1.0).abs() <= WITHIN);
        cells.iter().filter(is_near).count()
    };
    let _ = writeln!(
        out,
        "Beside them, within {percent:.0} %: the simulation with its refused figures in {}, the rate of two sessions \
         unchanged in {}, the closed queue in {}, the Universal Scalability Law in {}.",
        reach(&|cell| Some(cell.forecast.rate.middle)),
        reach(&|cell| Some(cell.unchanged)),
        reach(&|cell| Some(cell.forecast.queue)),
        reach(&|cell| cell.forecast.usl)
    );
    if cells.iter().all(|cell| cell.forecast.sessions > cell.forecast.cpus) {
        out.push_str(
            "All cells have more sessions than processors: they test the scheduler and holders that are interrupted, not \
             more sessions that run at once.\n",
        );
    }
    if !refused.is_empty() {
        let _ = writeln!(
            out,
            "{} predictions are refused; {} of the refused figures are within {percent:.0} % all the same. The first \
             reasons:",
            refused.len(),
            right(&refused)
        );
        let mut reasons: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for cell in refused {
            let of = format!("{} {} {}", cell.experiment, cell.generation, cell.forecast.sessions);
            // One kind of reason may have other figures in each cell.
            let reason = cell.forecast.refusals[0].kind().to_owned();
            reasons.entry(reason).or_default().push(of);
        }
        for (reason, cells) in reasons {
            let _ = writeln!(out, "- {reason}: {}", cells.join(", "));
        }
    }
    let cpu = all.iter().filter(|cell| cell.error_of_cpu().abs() <= WITHIN).count();
    let _ = writeln!(out, "The processor time of a call is within {percent:.0} % in {cpu} cells.");
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use latch_simulator::{Band, Figures, Refusal, SHIPPED};

    #[derive(Parser, Debug)]
    struct Line {
        #[command(flatten)]
        check: CheckArguments,
    }

    #[test]
    fn what_is_recorded_cannot_be_asked_for_as_a_test() {
        let default = Line::parse_from(["check"]).check;
        assert!(default.sessions.iter().all(|sessions| !RECORDED.contains(sessions)), "{:?}", default.sessions);
        assert!(Line::try_parse_from(["check", "--sessions", "2,4"]).is_err());
        assert!(Line::try_parse_from(["check", "--draws", "10"]).is_err(), "the ends of a band need more");
    }

    fn cell(sessions: u32, predicted: f64, measured: &[f64], refusals: Vec<Refusal>) -> Cell {
        let forecast = Forecast {
            choice: "recorded".into(),
            cpus: 2,
            sessions,
            figures: Figures::default(),
            upper: None,
            rate: Band { low: predicted * 0.95, middle: predicted, high: predicted * 1.05 },
            percent_linear: 50.0,
            queue: predicted,
            usl: None,
            chi: 0.0,
            residual: 0.02,
            draws: Vec::new(),
            refusals,
        };
        let rate = summary(measured.iter().copied()).unwrap();
        let (experiment, generation) = ("row-cache".into(), "12.1".into());
        Cell { experiment, generation, forecast, rate, cpu_ns: 100.0, unchanged: 1_000.0 }
    }

    fn told(found: &Found) -> String {
        report(&Machine::parse(SHIPPED[0].1).unwrap(), found, [Some(0.5), None])
    }

    #[test]
    fn answers_and_refusals_are_counted_apart() {
        let cells = vec![
            cell(3, 1_000.0, &[990.0, 1_000.0, 1_010.0], vec![]),
            cell(4, 1_000.0, &[1_070.0], vec![]),
            cell(6, 1_000.0, &[1_500.0], vec![]),
            cell(8, 1_000.0, &[1_001.0], vec![Refusal::BandApart(1.7)]),
            cell(12, 1_000.0, &[3_000.0], vec![Refusal::BandApart(1.9), Refusal::FewBlocks(9)]),
        ];
        let text = told(&Found { cells, asked: 7, ..Found::default() });
        for part in [
            "5 cells of 1 recorded loads",
            "3 predictions are not refused: 2 within 10 % of the measured rate, 1 with the measured rate in the band",
            "Of all 7 cells 2 are answered within 10 %: nine of ten are not reached. 2 cells were not measured.",
            "the simulation with its refused figures in 3, the rate of two sessions unchanged in 3, the closed queue in 3, \
             the Universal Scalability Law in 0.",
            "All cells have more sessions than processors",
            "2 predictions are refused; 1 of the refused figures are within 10 % all the same",
            "- the band is too wide: row-cache 12.1 8, row-cache 12.1 12\n",
            // Student's factor for three counts is 4.303.
            "| 1000 | 2.5 | +0.0 % |",
            "Load average before and after: 0.5; unknown.",
        ] {
            assert!(text.contains(part), "{part}\nis not in\n{text}");
        }
    }

    #[test]
    fn cells_that_were_asked_for_and_not_measured_count_against_the_nine_of_ten() {
        let cells = || (0..9).map(|_| cell(3, 1_000.0, &[1_000.0], vec![])).collect::<Vec<_>>();
        assert!(told(&Found { cells: cells(), asked: 10, ..Found::default() }).contains("nine of ten are reached"));
        assert!(told(&Found { cells: cells(), asked: 11, ..Found::default() }).contains("nine of ten are not reached"));
    }

    #[test]
    fn nothing_and_refusals_alone_are_sentences() {
        let failed = vec![("row-cache, 12.1".to_owned(), "no whole call".to_owned())];
        let text = told(&Found { failed, ..Found::default() });
        assert!(text.contains("No cell was predicted and measured.") && !text.contains("NaN"), "{text}");
        assert!(text.contains("Not recorded or not measured: row-cache, 12.1: no whole call."), "{text}");
        let cells = vec![cell(3, 1_000.0, &[1_000.0], vec![Refusal::FewBlocks(9)])];
        let text = told(&Found { cells, ..Found::default() });
        assert!(text.contains("Every prediction is refused") && text.contains("are not reached"), "{text}");
    }

    #[test]
    fn the_interval_of_a_cost_follows_the_number_of_quads() {
        let of = |differences: &[f64]| {
            let costs = vec![("latchwork".to_owned(), 64, summary(differences.iter().copied()).unwrap())];
            told(&Found { costs, ..Found::default() })
        };
        // Deviation 0.01, two quads: 12.706 * 0.01 / sqrt(2) is 9 %.
        let (low, high) = (0.01f64 - 0.005f64.hypot(0.005), 0.01f64 + 0.005f64.hypot(0.005));
        let text = of(&[low, high]);
        assert!(text.contains("+1.01 % of processor time a call, 95 % interval -7.67 to +10.50 %, 2 quads"), "{text}");
        assert!(of(&[0.01]).contains("a single quad, so no interval"));
    }
}
