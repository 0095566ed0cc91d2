//! Other engines beside Latchwork: one experiment, run on all engines that can express it, one awake at a time.

mod duckdb;
mod engine;
mod lines;
mod mariadb;
mod oracle;
mod order;
#[cfg(feature = "peers")]
mod postgresql;
mod processes;
mod ratio;
mod report;
mod results;
mod run;
mod server;
pub mod sheet;
#[cfg(feature = "peers")]
mod sqlite;
mod url;

use std::collections::BTreeMap;

use crate::error::LabError;
use crate::manifest::{Experiment, Variant};
use crate::stop::Stop;
use engine::{NoTarget, Request, Target};
use results::{PlanRead, Said};
use run::{Entry, Sweep};
use sheet::{Place, Sheet, Task, Worker};

pub use results::{ROUNDS_LEAST, TargetsRun};
pub use url::Asked;

/// Whether a file of results is of a run on several engines.
pub fn is_in(results: &serde_json::Value) -> bool {
    results["targets"].is_array()
}

impl TargetsRun {
    /// All tables, as printed.
    pub fn tables(&self) -> String {
        report::tables(self)
    }

    /// The page.
    pub fn page(&self) -> String {
        report::page(self)
    }
}

/// A run on several engines.
#[derive(Clone, Debug)]
pub struct Plan {
    pub targets: Vec<Asked>,
    pub sessions: Vec<u32>,
    pub rounds: u32,
    pub seconds: f64,
    /// Operations of each session, instead of the seconds.
    pub iterations: Option<u64>,
    /// Names of variants, or `variant/place`; empty means all.
    pub variants: Vec<String>,
    /// Init parameters of Latchwork that override the manifest's.
    pub params: Vec<(String, String)>,
    pub seed: u64,
    pub progress: bool,
    pub stop: Stop,
}

/// Runs an experiment on the engines that a plan asks for.
///
/// # Errors
/// When no engine has a cell, or a statement fails in an engine that is there.
pub fn run(experiment: &Experiment, plan: &Plan) -> Result<TargetsRun, LabError> {
    let manifest = &experiment.manifest;
    for (at, asked) in plan.targets.iter().enumerate() {
        if plan.targets[..at].iter().any(|other| other.name == asked.name) {
            return Err(LabError::new(format!("--targets: {} is there twice", asked.name)));
        }
    }
    let host = crate::host::describe();
    let mut results = TargetsRun {
        experiment: manifest.name.clone(),
        title: manifest.title.clone(),
        source: manifest.source.clone(),
        question: manifest.question.clone(),
        started: os::clock::wall_ns() / 1_000_000_000,
        version: env!("CARGO_PKG_VERSION").into(),
        parameters: parameters(plan),
        seed: plan.seed,
        targets: Vec::new(),
        missing: Vec::new(),
        not_comparable: Vec::new(),
        rows: Vec::new(),
        beside: Vec::new(),
        plans: Vec::new(),
        stopped_of: None,
        host,
    };
    let load = crate::host::load();
    results.parameters.extend(load.map(|load| ("load average before the run".to_string(), load.to_string())));
    let bar = run::progress_bar(plan.progress);
    let mut entries = Vec::new();
    let entered = plan.targets.iter().take_while(|_| !plan.stop.is_asked()).try_for_each(|asked| {
        bar.set_message(format!("setting up {}", asked.name));
        entries.extend(enter(experiment, plan, asked, &mut results)?);
        Ok::<(), LabError>(())
    });
    let outcome = entered.and_then(|()| measure(experiment, plan, &mut entries, &mut results, &bar));
    bar.finish_and_clear();
    // The objects of a database of the user are removed whatever has happened, and the results are kept if that fails.
    for entry in &mut entries {
        if let Err(e) = entry.target.leave() {
            eprintln!("{e}\nObjects of the run are left in the database of {}.", entry.name);
        }
    }
    outcome?;
    results.fill();
    Ok(results)
}

fn measure(
    experiment: &Experiment,
    plan: &Plan,
    entries: &mut [Entry],
    results: &mut TargetsRun,
    bar: &indicatif::ProgressBar,
) -> Result<(), LabError> {
    if plan.stop.is_asked() {
        return Err(LabError::new("stopped before the first measurement".into()));
    }
    if entries.is_empty() {
        return Err(LabError::new("none of the engines has a cell of this run".into()));
    }
    results.plans = plans(entries)?;
    let sweep = Sweep {
        sessions: plan.sessions.clone(),
        rounds: plan.rounds,
        seconds: plan.seconds,
        iterations: plan.iterations,
        portion: experiment.manifest.sweep.portion,
        seed: plan.seed,
        cores: results.host.cores,
    };
    let measured = run::measure(entries, &sweep, &plan.stop, bar)?;
    if measured.rows.is_empty() {
        return Err(LabError::new("stopped before the first measurement".into()));
    }
    results.stopped_of = (measured.rows.len() < measured.planned).then_some(measured.planned);
    results.rows = measured.rows;
    for (before, after) in results.plans.iter().zip(plans(entries)?) {
        if before.plan != after.plan {
            return Err(LabError::new(format!(
                "{}: the plan of {} has changed during the run, so its figures are of two plans.\n\
                 Before:\n{}\nAfter:\n{}",
                before.target, before.variant, before.plan, after.plan
            )));
        }
    }
    Ok(())
}

fn parameters(plan: &Plan) -> BTreeMap<String, String> {
    let mut out: BTreeMap<String, String> = plan.params.iter().cloned().collect();
    match plan.iterations {
        Some(iterations) => out.insert("iterations a session".into(), iterations.to_string()),
        None => out.insert("seconds a cell".into(), plan.seconds.to_string()),
    };
    out.insert("rounds".into(), plan.rounds.to_string());
    out.insert("seed of the order".into(), plan.seed.to_string());
    out
}

/// The engine with its tasks; `None`, with the reason in the results, where it is missing or has no task.
fn enter(
    experiment: &Experiment,
    plan: &Plan,
    asked: &Asked,
    results: &mut TargetsRun,
) -> Result<Option<Entry>, LabError> {
    let said = |variant: Option<&str>, reason: &str| Said {
        target: asked.name.clone(),
        variant: variant.map(str::to_string),
        reason: reason.to_string(),
    };
    let Some(sheet) = sheet_of(experiment, asked) else {
        let reason = format!("the manifest of {} has no section [target.{}]", experiment.manifest.name, asked.engine);
        results.not_comparable.push(said(None, &reason));
        return Ok(None);
    };
    if let Some(reason) = &sheet.not_comparable {
        results.not_comparable.push(said(None, reason));
        return Ok(None);
    }
    let mut tasks = BTreeMap::new();
    for variant in &experiment.manifest.variants {
        let (of_variant, reason) = tasks_of(variant, &sheet, asked);
        let wanted = |place: &Place| {
            let cell = format!("{}/{place}", variant.name);
            plan.variants.is_empty() || plan.variants.iter().any(|v| *v == variant.name || *v == cell)
        };
        let any = Place::ALL.iter().any(&wanted);
        results.not_comparable.extend(reason.filter(|_| any).map(|reason| said(Some(&variant.name), &reason)));
        let kept = of_variant.into_iter().filter(|(place, _)| wanted(place));
        tasks.extend(kept.map(|(place, task)| ((variant.name.clone(), place), task)));
    }
    if tasks.is_empty() {
        return Ok(None);
    }
    let request =
        Request { experiment, sheet: &sheet, name: &asked.name, url: asked.url.as_deref(), params: &plan.params };
    match start(&request, asked) {
        Ok(target) => {
            results.targets.push(target.facts());
            let plans = sheet.worker.iter().filter(|(variant, _)| tasks.keys().any(|(of, _)| of == *variant));
            let plans = plans.filter_map(|(variant, worker)| Some((variant.clone(), worker.get_ref().plan.clone()?)));
            let (name, figures, plans) = (asked.name.clone(), sheet.figures.clone(), plans.collect());
            Ok(Some(Entry { name, target, tasks, figures, plans }))
        }
        Err(NoTarget::Missing(reason)) => {
            eprintln!("{}: {reason}; the run goes on without it", asked.name);
            results.missing.push(said(None, &reason));
            Ok(None)
        }
        Err(NoTarget::Failed(e)) => Err(e),
    }
}

/// The section of an engine: its own, or that of the engine whose language it speaks.
fn sheet_of(experiment: &Experiment, asked: &Asked) -> Option<Sheet> {
    let sheets = &experiment.manifest.targets;
    let own = sheets.get(&asked.engine).cloned();
    match asked.engine.as_str() {
        "latchwork" => Some(own.unwrap_or_default()),
        // Oracle runs the statements of Latchwork, without the settings of an instance.
        "oracle" => own.or_else(|| {
            let of_latchwork = sheets.get("latchwork").cloned().unwrap_or_default();
            Some(Sheet { settings: BTreeMap::new(), figures: BTreeMap::new(), ..of_latchwork })
        }),
        "citus" | "yugabytedb" | "cockroachdb" => own.or_else(|| sheets.get("postgresql").cloned()),
        _ => own,
    }
}

/// The tasks of a variant, and the reason why there is none or why they are not all.
fn tasks_of(variant: &Variant, sheet: &Sheet, asked: &Asked) -> (Vec<(Place, Task)>, Option<String>) {
    if variant.hold.is_some() {
        return (Vec::new(), Some("a latch is held by hand, which only an ordinary run does".into()));
    }
    let mut worker = sheet.worker.get(&variant.name).map(|worker| worker.get_ref().clone());
    if ["latchwork", "oracle"].contains(&asked.engine.as_str()) {
        if asked.generation().is_some_and(|generation| !variant.is_in(generation)) {
            return (Vec::new(), Some(format!("there is no {} in this release", variant.title)));
        }
        let statement = Some(variant.worker.clone());
        worker = Some(Worker { engine: statement, ..worker.unwrap_or_default() });
    }
    let Some(worker) = worker else {
        return (Vec::new(), Some("the manifest has no worker for it".into()));
    };
    let tasks = Place::ALL.into_iter().filter_map(|place| Some((place, worker.task(place)?))).collect();
    (tasks, worker.not_comparable)
}

fn start(request: &Request<'_>, asked: &Asked) -> Result<Box<dyn Target>, NoTarget> {
    match asked.engine.as_str() {
        "latchwork" => {
            if request.url.is_some() {
                return Err(NoTarget::Missing("it takes no URL: the laboratory starts its own instance".into()));
            }
            oracle::latchwork(request, asked.generation().unwrap_or("latchwork"))
        }
        "oracle" => oracle::oracle(request),
        "mariadb" => mariadb::start(request),
        "duckdb" => duckdb::start(request),
        #[cfg(feature = "peers")]
        "sqlite" => sqlite::start(request),
        #[cfg(feature = "peers")]
        _ => postgresql::start(request),
        #[cfg(not(feature = "peers"))]
        _ => Err(NoTarget::Missing(
            "this program was built without it (cargo build --release -p latchwork --features peers)".into(),
        )),
    }
}

/// Reads the plans of all tasks that name one.
fn plans(entries: &mut [Entry]) -> Result<Vec<PlanRead>, LabError> {
    let mut out = Vec::new();
    for entry in entries {
        for (variant, check) in &entry.plans {
            let plan = entry.target.plan(check)?;
            if let Some(absent) = check.has.iter().find(|word| !plan.contains(word.as_str())) {
                return Err(LabError::new(format!(
                    "{}: the plan of {variant} is not the one of the experiment: it has no '{absent}'\n{plan}",
                    entry.name
                )));
            }
            out.push(PlanRead { target: entry.name.clone(), variant: variant.clone(), plan });
        }
    }
    Ok(out)
}
