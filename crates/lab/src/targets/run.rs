//! A run on several engines: they are set up, stopped, and measured one at a time, in rounds.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;

use crate::error::LabError;
use crate::stop::Stop;
use crate::targets::engine::Target;
use crate::targets::order::{Step, steps};
use crate::targets::results::TargetRow;
use crate::targets::sheet::{Place, PlanCheck, Task};
use crate::window;
use crate::workers::{Crew, Session, Usage, calls, rate_from};

/// Executions of the worker before anything is measured, so that caches are full and plans are those that stay.
const WARM: usize = 6;

/// The measurements of one engine: its tasks by cell, and the queries of its figures.
pub struct Entry {
    pub name: String,
    pub target: Box<dyn Target>,
    pub tasks: BTreeMap<(String, Place), Task>,
    pub figures: BTreeMap<String, String>,
    /// By variant, how its plan is read.
    pub plans: BTreeMap<String, PlanCheck>,
}

/// The sweep of a run.
#[derive(Clone, Debug)]
pub struct Sweep {
    pub sessions: Vec<u32>,
    pub rounds: u32,
    pub seconds: f64,
    /// Operations of each session, instead of the seconds.
    pub iterations: Option<u64>,
    pub portion: u64,
    pub seed: u64,
    pub cores: usize,
}

/// A cell of the run.
#[derive(Clone, Debug)]
struct Cell {
    variant: String,
    place: Place,
    sessions: u32,
}

/// The rows, and the number of planned measurements.
pub struct Measured {
    pub rows: Vec<TargetRow>,
    pub planned: usize,
}

/// Measures all cells of all engines. On return all engines run.
///
/// # Errors
/// The first error of an engine.
pub fn measure(entries: &mut [Entry], sweep: &Sweep, stop: &Stop, bar: &ProgressBar) -> Result<Measured, LabError> {
    let outcome = measure_frozen(entries, sweep, stop, bar);
    entries.iter_mut().for_each(|entry| entry.target.thaw());
    outcome
}

fn measure_frozen(entries: &mut [Entry], sweep: &Sweep, stop: &Stop, bar: &ProgressBar) -> Result<Measured, LabError> {
    let mut cells = Vec::new();
    let mut engines = Vec::new();
    let mut tasks: Vec<(String, Place)> = entries.iter().flat_map(|e| e.tasks.keys().cloned()).collect();
    tasks.sort();
    tasks.dedup();
    for (variant, place) in &tasks {
        for sessions in &sweep.sessions {
            let has = |entry: &Entry| entry.tasks.contains_key(&(variant.clone(), *place));
            engines.push((0..entries.len()).filter(|at| has(&entries[*at])).collect::<Vec<usize>>());
            cells.push(Cell { variant: variant.clone(), place: *place, sessions: *sessions });
        }
    }
    let steps = steps(sweep.rounds, &engines, sweep.seed);
    bar.set_length(steps.len() as u64);
    entries.iter_mut().for_each(|entry| entry.target.freeze());
    let mut rates = BTreeMap::new();
    let mut rows = Vec::new();
    for (position, step) in steps.iter().enumerate() {
        if stop.is_asked() {
            break;
        }
        let cell = &cells[step.cell];
        let entry = &mut entries[step.engine];
        bar.set_message(format!(
            "round {}: {}/{} in {}, {} sessions",
            step.round, cell.variant, cell.place, entry.name, cell.sessions
        ));
        entry.target.thaw();
        let rate = rates.entry((step.engine, cell.variant.clone(), cell.place));
        let rate = match rate {
            std::collections::btree_map::Entry::Occupied(known) => *known.get(),
            std::collections::btree_map::Entry::Vacant(new) => *new.insert(calibrate(entry, cell, sweep.portion)?),
        };
        rows.push(measure_cell(entry, cell, step, position, rate, sweep)?);
        entry.target.freeze();
        bar.inc(1);
    }
    Ok(Measured { rows, planned: steps.len() })
}

fn task_of<'a>(entry: &'a Entry, cell: &Cell) -> &'a Task {
    &entry.tasks[&(cell.variant.clone(), cell.place)]
}

/// Operations a second of one session.
fn calibrate(entry: &mut Entry, cell: &Cell, portion: u64) -> Result<f64, LabError> {
    let task = task_of(entry, cell).for_session(1);
    let mut session = entry.target.session(&task)?;
    let rate = rate_from(portion.max(50).next_multiple_of(portion), &mut |operations| {
        let began = Instant::now();
        session.work(operations)?;
        Ok(began.elapsed().as_secs_f64())
    })?;
    session.settle()?;
    session.end()?;
    Ok(rate)
}

fn measure_cell(
    entry: &mut Entry,
    cell: &Cell,
    step: &Step,
    position: usize,
    rate: f64,
    sweep: &Sweep,
) -> Result<TargetRow, LabError> {
    // With more sessions than cores each gets its share of the work, so that all cells take about as long.
    let share = (sweep.cores.max(1) as f64 / f64::from(cell.sessions)).min(1.0);
    let iterations = sweep.iterations.unwrap_or(((rate * sweep.seconds * share) as u64).max(1));
    let calls = calls(iterations.next_multiple_of(sweep.portion), sweep.portion, rate);
    let mut sessions = Vec::new();
    for number in 1..=cell.sessions {
        let task = task_of(entry, cell).for_session(number);
        let mut session = entry.target.session(&task)?;
        (0..WARM).try_for_each(|_| session.work(sweep.portion))?;
        // The engine's work that waited while it was stopped, and the first faults of its memory, are left out.
        session.work(calls[0])?;
        session.settle()?;
        sessions.push(session);
    }
    let figures_before = figures(entry)?;
    let before = used(entry, &sessions);
    let crew = Crew::of(sessions, &calls);
    crew.start();
    let (mut sessions, done) = crew.done()?;
    let after = used(entry, &sessions);
    sessions.iter_mut().try_for_each(|session| session.settle())?;
    let figures_after = figures(entry)?;
    sessions.into_iter().try_for_each(Session::end)?;
    let operations = calls.iter().sum::<u64>() * u64::from(cell.sessions);
    let elapsed_s = window::elapsed_s(&done);
    let window = window::common(&done);
    let each = |figure: f64| figure / operations as f64;
    let usage = before.zip(after).map(|(before, after)| after.since(before));
    let grown = figures_after.into_iter().map(|(name, figure)| (name.clone(), each(figure - figures_before[&name])));
    Ok(TargetRow {
        target: entry.name.clone(),
        cell: format!("{}/{}", cell.variant, cell.place),
        variant: cell.variant.clone(),
        place: cell.place,
        sessions: cell.sessions,
        round: step.round,
        position,
        operations,
        calls: done.iter().map(|calls| calls.len() as u64).sum(),
        elapsed_s,
        window,
        ops_per_s: window.map_or(operations as f64 / elapsed_s.max(1e-9), |window| window.per_second()),
        pct_linear: None,
        cpu_us: usage.map(|usage| each(1e6 * usage.cpu_s)),
        switches: usage.map(|usage| each(usage.switches)),
        figures: grown.collect(),
    })
}

fn figures(entry: &mut Entry) -> Result<BTreeMap<String, f64>, LabError> {
    let mut out = BTreeMap::new();
    for (name, query) in &entry.figures {
        out.insert(name.clone(), entry.target.figure(query)?);
    }
    Ok(out)
}

fn used(entry: &Entry, sessions: &[Box<dyn Session>]) -> Option<Usage> {
    let own = entry.target.used()?;
    Some(sessions.iter().map(|session| session.used()).fold(own, Usage::plus))
}

/// A bar without a length, which [`measure`] sets.
pub fn progress_bar(show: bool) -> ProgressBar {
    if !show {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(0);
    let style =
        indicatif::ProgressStyle::with_template("{bar:32} {pos}/{len}  {elapsed_precise} (about {eta} left)  {msg}");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::engine::Facts;
    use std::sync::{Arc, Mutex};

    /// The steps of all engines of a test, in order.
    type Log = Arc<Mutex<Vec<String>>>;

    struct Fake {
        name: &'static str,
        log: Log,
        fails_at: u64,
    }

    struct FakeSession {
        name: &'static str,
        log: Log,
        fails_at: u64,
    }

    fn said(log: &Log, name: &str, what: &str) {
        log.lock().unwrap().push(format!("{name} {what}"));
    }

    impl Session for FakeSession {
        fn work(&mut self, operations: u64) -> Result<(), LabError> {
            // Long enough to be calibrated at once.
            if operations >= 50 {
                std::thread::sleep(Duration::from_millis(60));
            }
            said(&self.log, self.name, "works");
            if operations == self.fails_at { Err(LabError::new("it fails".into())) } else { Ok(()) }
        }

        fn used(&self) -> Usage {
            Usage { cpu_s: 0.0, switches: 0.0 }
        }

        fn end(self: Box<Self>) -> Result<(), LabError> {
            Ok(())
        }
    }

    impl Target for Fake {
        fn facts(&self) -> Facts {
            Facts { name: self.name.into(), ..Facts::default() }
        }

        fn session(&mut self, _: &Task) -> Result<Box<dyn Session>, LabError> {
            Ok(Box::new(FakeSession { name: self.name, log: Arc::clone(&self.log), fails_at: self.fails_at }))
        }

        fn figure(&mut self, _: &str) -> Result<f64, LabError> {
            let all = self.log.lock().unwrap();
            Ok(all.iter().filter(|line| **line == format!("{} works", self.name)).count() as f64)
        }

        fn plan(&mut self, _: &PlanCheck) -> Result<String, LabError> {
            Ok("plan".into())
        }

        fn used(&self) -> Option<Usage> {
            (self.name != "far").then(Usage::default)
        }

        fn freeze(&mut self) {
            said(&self.log, self.name, "stops");
        }

        fn thaw(&mut self) {
            said(&self.log, self.name, "goes on");
        }
    }

    fn entries(log: &Log, fails_at: u64) -> Vec<Entry> {
        let task = |place| Task { place, statement: "w".into(), key: None, each: 1, session: 1 };
        ["near", "far"]
            .map(|name| Entry {
                name: name.into(),
                target: Box::new(Fake { name, log: Arc::clone(log), fails_at }),
                tasks: BTreeMap::from([(("v".to_string(), Place::Engine), task(Place::Engine))]),
                figures: BTreeMap::from([("calls".to_string(), "q".to_string())]),
                plans: BTreeMap::new(),
            })
            .into()
    }

    fn sweep(seed: u64) -> Sweep {
        Sweep { sessions: vec![1, 2], rounds: 3, seconds: 0.1, iterations: Some(4), portion: 1, seed, cores: 2 }
    }

    fn order_of(seed: u64) -> Vec<(u32, u32, String)> {
        let log = Log::default();
        let mut all = entries(&log, u64::MAX);
        let measured = measure(&mut all, &sweep(seed), &Stop::default(), &ProgressBar::hidden()).unwrap();
        measured.rows.into_iter().map(|r| (r.round, r.sessions, r.target)).collect()
    }

    #[test]
    fn only_one_engine_is_awake_while_one_works() {
        let log = Log::default();
        let mut all = entries(&log, u64::MAX);
        let measured = measure(&mut all, &sweep(1), &Stop::default(), &ProgressBar::hidden()).unwrap();
        assert_eq!((measured.planned, measured.rows.len()), (2 * 2 * 3, 12));
        let mut awake: BTreeMap<String, bool> = BTreeMap::from([("near".into(), true), ("far".into(), true)]);
        let log = log.lock().unwrap();
        for line in log.iter() {
            let (name, what) = line.split_once(' ').unwrap();
            match what {
                "works" => {
                    assert_eq!(awake.iter().filter(|(_, on)| **on).map(|(n, _)| n.as_str()).collect::<Vec<_>>(), [name])
                }
                what => drop(awake.insert(name.into(), what == "goes on")),
            }
        }
        assert!(awake.values().all(|on| *on), "all go on at the end");
    }

    #[test]
    fn rows_have_figures_of_an_operation_and_no_usage_of_far_engines() {
        let log = Log::default();
        let mut all = entries(&log, u64::MAX);
        let measured = measure(&mut all, &sweep(1), &Stop::default(), &ProgressBar::hidden()).unwrap();
        for row in measured.rows {
            // Four operations of each session; a call has as many as the calibration and its minimum give.
            assert_eq!((row.operations, row.cell.as_str()), (4 * u64::from(row.sessions), "v/engine"));
            assert!((row.figures["calls"] - row.calls as f64 / row.operations as f64).abs() < 1e-9, "{row:?}");
            assert_eq!(row.cpu_us.is_some(), row.target == "near");
        }
    }

    #[test]
    fn a_seed_gives_one_order() {
        assert_eq!(order_of(1), order_of(1));
        assert_ne!(order_of(1), order_of(2));
    }

    #[test]
    fn a_failing_engine_ends_the_run_and_all_engines_go_on() {
        let log = Log::default();
        let mut all = entries(&log, 4);
        let mut sweep = sweep(1);
        sweep.portion = 4;
        let failed = measure(&mut all, &sweep, &Stop::default(), &ProgressBar::hidden());
        assert!(failed.is_err_and(|e| e.to_string().contains("it fails")));
        assert!(log.lock().unwrap().ends_with(&["near goes on".to_string(), "far goes on".to_string()]));
    }
}
