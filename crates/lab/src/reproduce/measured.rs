//! The figures of a run that rules ask for.

use crate::claims::{ExactCount, FigureName, Point};
use crate::results::{LatchFigures, Results, Row};
use crate::slob::{HugePagesRun, Trial};

/// The section of a manifest that has the waits of events and their milliseconds.
const EVENTS: &str = "Foreground events";

/// The figures of a run, or the reason why there are none.
pub enum Measured<'a> {
    Run(&'a Results),
    HugePages(&'a HugePagesRun),
    /// Nothing, with the reason.
    Nothing(&'a str, usize),
}

/// Why a figure is missing.
type Missing<T> = Result<T, String>;

impl Measured<'_> {
    /// Whether the experiment ran, with every configuration that it has.
    pub fn is_complete(&self) -> bool {
        match self {
            Measured::Run(results) => results.stopped_of.is_none(),
            Measured::HugePages(run) => run.missing.is_none(),
            Measured::Nothing(..) => false,
        }
    }

    pub fn processors(&self) -> usize {
        match self {
            Measured::Run(results) => results.host.cores,
            Measured::HugePages(run) => run.host.cores,
            Measured::Nothing(_, processors) => *processors,
        }
    }

    /// A figure of a cell, by repeat.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn figures(&self, point: &Point) -> Missing<Vec<f64>> {
        let figures: Option<Vec<f64>> = match self {
            Measured::Nothing(reason, _) => return Err((*reason).to_string()),
            Measured::Run(results) => {
                let variant = format!("{}@{}", point.variant, point.generation);
                let mut rows: Vec<&Row> = results.cell(&variant, point.sessions).collect();
                rows.sort_by_key(|row| row.repeat);
                rows.into_iter().map(|row| of_row(results, row, point)).collect()
            }
            Measured::HugePages(run) => {
                let mut trials: Vec<&Trial> = run.trials.iter().filter(|t| t.cell.name() == point.variant).collect();
                trials.sort_by_key(|trial| trial.repeat);
                let figures = trials.into_iter().map(|trial| of_trial(trial, point.figure));
                let figures: Option<Vec<f64>> = figures.collect();
                if figures.as_ref().is_some_and(Vec::is_empty)
                    && let Some(reason) = &run.missing
                {
                    return Err(reason.clone());
                }
                figures
            }
        };
        match figures {
            Some(figures) if !figures.is_empty() => Ok(figures),
            Some(_) => Err(format!("{} with {} sessions was not run", point.variant, point.sessions)),
            None => Err(format!("{}: nothing was counted", point.figure.unit())),
        }
    }

    /// The median of the readings of a law.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn count(&self, rule: &ExactCount) -> Missing<f64> {
        let results = match self {
            Measured::Run(results) => results,
            Measured::HugePages(_) => return Err("this experiment has no laws".into()),
            Measured::Nothing(reason, _) => return Err((*reason).to_string()),
        };
        let found = results
            .counts
            .iter()
            .find(|c| (&c.workload, &c.generation, &c.title) == (&rule.variant, &rule.generation, &rule.law));
        found.map(|c| c.seen).ok_or_else(|| format!("{} was not counted", rule.law))
    }
}

/// A figure of a row; `None` where nothing was counted.
fn of_row(results: &Results, row: &Row, point: &Point) -> Option<f64> {
    let latch = || {
        let is_named = |names: &&Vec<String>| names.contains(&point.of);
        let own = [point.of.clone()];
        let names = results.latch_names.iter().find(is_named).map_or(&own[..], |names| &names[..]);
        let mut found = names.iter().filter_map(|name| row.latches.get(name)).peekable();
        found.peek()?;
        Some(found.fold(LatchFigures::default(), |sum, f| LatchFigures {
            gets: sum.gets + f.gets,
            misses: sum.misses + f.misses,
            sleeps: sum.sleeps + f.sleeps,
            ..sum
        }))
    };
    let share = |part: u64, whole: u64| (whole > 0).then(|| (part as f64 + 0.5) / (whole as f64 + 1.0));
    match point.figure {
        FigureName::Rate => Some(row.ops_per_s),
        FigureName::Linear => row.pct_linear,
        FigureName::Gets => latch().map(|f| f.gets as f64 / row.operations.max(1) as f64),
        FigureName::Misses => latch().and_then(|f| share(f.misses, f.gets)),
        FigureName::Sleeps => latch().and_then(|f| share(f.sleeps, f.misses)),
        FigureName::MissesOfOperation => latch().and_then(|f| share(f.misses, row.operations)),
        FigureName::Wait => {
            let figures = row.sections.get(EVENTS)?.get(&point.of)?;
            let (waits, ms) = (*figures.first()?, *figures.get(1)?);
            (waits > 0.0).then(|| ms / waits)
        }
        FigureName::Passed => row.passed.map(|passed| f64::from(passed) / f64::from(row.sessions)),
        FigureName::PageTables | FigureName::Connect => None,
    }
}

fn of_trial(trial: &Trial, figure: FigureName) -> Option<f64> {
    match figure {
        FigureName::Rate => Some(trial.reads_per_s),
        FigureName::PageTables => Some(trial.all_page_tables),
        FigureName::Connect => Some(trial.connect.program_us / 1e6),
        _ => None,
    }
}
