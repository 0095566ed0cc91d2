//! The results of a run on several engines.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::results::{Host, about_windows, date_of};
use crate::statistics::{Summary, summary};
use crate::targets::engine::Facts;
use crate::targets::ratio::{PairedRatio, paired};
use crate::targets::sheet::Place;
use crate::window::Window;

/// Fewer rounds give intervals that are too narrow.
pub const ROUNDS_LEAST: u32 = 10;

/// One measured cell of an engine in one round.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TargetRow {
    pub target: String,
    /// `hash-cluster/engine`: the variant and the place of the loop.
    pub cell: String,
    pub variant: String,
    pub place: Place,
    pub sessions: u32,
    pub round: u32,
    /// The position in the order of all measurements.
    pub position: usize,
    pub operations: u64,
    pub calls: u64,
    pub elapsed_s: f64,
    /// The part in which all sessions ran; `None`: there was none, and the rate is that of the whole cell.
    pub window: Option<Window>,
    pub ops_per_s: f64,
    /// Of one session of the same engine and cell in the same round, times the sessions.
    #[serde(default)]
    pub pct_linear: Option<f64>,
    /// Processor microseconds an operation, of all processes of the engine; of the loop's thread for a loop in the
    /// engine's process.
    pub cpu_us: Option<f64>,
    /// Voluntary context switches an operation.
    pub switches: Option<f64>,
    /// The engine's own figures, an operation.
    #[serde(default)]
    pub figures: BTreeMap<String, f64>,
}

/// Something that is said of an engine: why it is missing, or why it has no cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    pub target: String,
    /// The variant; `None` for the whole engine.
    #[serde(default)]
    pub variant: Option<String>,
    pub reason: String,
}

/// A plan that was read before the first round, and was the same after the last one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlanRead {
    pub target: String,
    pub variant: String,
    pub plan: String,
}

/// The first engine beside another one in a cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Beside {
    pub cell: String,
    pub sessions: u32,
    pub own: String,
    pub other: String,
    /// Of the rates: above one, the first engine does more.
    pub by_clock: Option<PairedRatio>,
    /// Of the processor time an operation, the other engine's by the first one's: above one, the first engine needs
    /// less.
    pub by_cpu: Option<PairedRatio>,
}

/// All results of a run on several engines.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TargetsRun {
    pub experiment: String,
    pub title: String,
    pub source: String,
    pub question: String,
    /// Seconds since 1970.
    pub started: u64,
    pub host: Host,
    pub version: String,
    pub parameters: BTreeMap<String, String>,
    pub seed: u64,
    /// In the order in which they were asked for; the first one is compared with all others.
    pub targets: Vec<Facts>,
    pub missing: Vec<Said>,
    pub not_comparable: Vec<Said>,
    pub rows: Vec<TargetRow>,
    #[serde(default)]
    pub beside: Vec<Beside>,
    pub plans: Vec<PlanRead>,
    /// For a run that was stopped: the number of planned measurements.
    #[serde(default)]
    pub stopped_of: Option<usize>,
}

/// A figure of a row.
pub type Figure<'a> = &'a dyn Fn(&TargetRow) -> Option<f64>;

impl TargetsRun {
    /// Computes the derived values: percent of linear of each row, and the ratios.
    pub fn fill(&mut self) {
        let key = |r: &TargetRow| (r.target.clone(), r.cell.clone(), r.round);
        let ones = self.rows.iter().filter(|r| r.sessions == 1 && r.ops_per_s > 0.0);
        let ones: BTreeMap<_, f64> = ones.map(|r| (key(r), r.ops_per_s)).collect();
        for row in &mut self.rows {
            let one = ones.get(&key(row));
            row.pct_linear = one.map(|one| 100.0 * row.ops_per_s / (one * f64::from(row.sessions)));
        }
        self.beside = self.ratios();
    }

    fn ratios(&self) -> Vec<Beside> {
        let Some((first, others)) = self.targets.split_first() else { return Vec::new() };
        let over_wire = format!("/{}", Place::Wire);
        let mut out = Vec::new();
        for cell in self.cells() {
            // A local socket and TCP are different wires.
            let alike = |other: &&Facts| !cell.ends_with(&over_wire) || other.wire == first.wire;
            for sessions in self.sessions() {
                for other in others.iter().filter(alike) {
                    out.extend(self.ratio(&cell, sessions, &first.name, &other.name));
                }
            }
        }
        out
    }

    /// The ratio of two engines in a cell. Only rates of windows count: the rate of a whole cell has other work in it.
    fn ratio(&self, cell: &str, sessions: u32, own: &str, other: &str) -> Option<Beside> {
        let rate = |r: &TargetRow| r.window.map(|_| r.ops_per_s);
        let by_clock = paired(&self.pairs(cell, sessions, [own, other], &rate), self.seed);
        let by_cpu = paired(&self.pairs(cell, sessions, [other, own], &|r| r.cpu_us), self.seed);
        let (cell, own, other) = (cell.to_string(), own.to_string(), other.to_string());
        (by_clock.is_some() || by_cpu.is_some()).then_some(Beside { cell, sessions, own, other, by_clock, by_cpu })
    }

    /// The figures of two engines in the rounds that both have.
    fn pairs(&self, cell: &str, sessions: u32, names: [&str; 2], figure: Figure<'_>) -> Vec<(f64, f64)> {
        let of = |name: &str| -> BTreeMap<u32, f64> {
            self.cell(name, cell, sessions).filter_map(|r| Some((r.round, figure(r)?))).collect()
        };
        let (first, second) = (of(names[0]), of(names[1]));
        first.into_iter().filter_map(|(round, figure)| Some((figure, *second.get(&round)?))).collect()
    }

    /// The rows of one engine's cell.
    pub fn cell<'a>(&'a self, target: &'a str, cell: &'a str, sessions: u32) -> impl Iterator<Item = &'a TargetRow> {
        self.rows.iter().filter(move |r| r.target == target && r.cell == cell && r.sessions == sessions)
    }

    /// The average of a figure over the rounds.
    pub fn figure(&self, target: &str, cell: &str, sessions: u32, figure: Figure<'_>) -> Option<Summary> {
        summary(self.cell(target, cell, sessions).filter_map(figure))
    }

    /// The cells, by variant and place.
    pub fn cells(&self) -> Vec<String> {
        let mut all: Vec<(Place, &str, &str)> =
            self.rows.iter().map(|r| (r.place, r.variant.as_str(), r.cell.as_str())).collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter().map(|(_, _, cell)| cell.to_string()).collect()
    }

    /// The numbers of sessions, ascending.
    pub fn sessions(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self.rows.iter().map(|r| r.sessions).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The number of complete rounds of the cell that has the fewest.
    pub fn rounds(&self) -> usize {
        let count = |r: &TargetRow| self.cell(&r.target, &r.cell, r.sessions).count();
        self.rows.iter().map(count).min().unwrap_or(0)
    }

    pub fn date(&self) -> String {
        date_of(self.started)
    }

    /// A line on a run that was stopped.
    pub fn warning(&self) -> Option<String> {
        let of = self.stopped_of?;
        Some(format!("Stopped: {} of {of} measurements were made.", self.rows.len()))
    }

    /// A sentence about cells whose rate is not that of a window in which all sessions ran, or was counted only in
    /// part.
    pub fn about_windows(&self) -> Option<String> {
        about_windows(self.rows.iter().map(|r| r.window))
    }

    /// The rows as CSV.
    pub fn csv(&self) -> String {
        let mut names: Vec<&String> = self.rows.iter().flat_map(|r| r.figures.keys()).collect();
        names.sort_unstable();
        names.dedup();
        let mut out = String::from(
            "target,cell,variant,place,sessions,round,position,operations,calls,elapsed_s,window_s,ops_per_s,\
             pct_linear,cpu_us,switches",
        );
        names.iter().for_each(|name| out.push_str(&format!(",\"{}\"", name.replace('"', "\"\""))));
        out.push('\n');
        let digits = |figure: Option<f64>| figure.map(|f| format!("{f:.6}")).unwrap_or_default();
        for r in &self.rows {
            out.push_str(&format!(
                "{},{},{},{},{},{},{},{},{},{:.6},{},{:.1},{},{},{}",
                r.target,
                r.cell,
                r.variant,
                r.place,
                r.sessions,
                r.round,
                r.position,
                r.operations,
                r.calls,
                r.elapsed_s,
                digits(r.window.map(|w| w.seconds)),
                r.ops_per_s,
                digits(r.pct_linear),
                digits(r.cpu_us),
                digits(r.switches)
            ));
            names.iter().for_each(|name| out.push_str(&format!(",{}", digits(r.figures.get(*name).copied()))));
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn row(target: &str, place: Place, sessions: u32, round: u32, ops_per_s: f64) -> TargetRow {
        TargetRow {
            target: target.into(),
            cell: format!("read/{place}"),
            variant: "read".into(),
            place,
            sessions,
            round,
            position: round as usize,
            operations: 1000,
            calls: 10,
            elapsed_s: 1.0,
            window: Some(Window { seconds: 1.0, counted: ops_per_s as u64, cut: 0.0 }),
            ops_per_s,
            pct_linear: None,
            cpu_us: Some(1e6 / ops_per_s),
            switches: Some(0.5),
            figures: BTreeMap::from([("reads".into(), 1.0)]),
        }
    }

    /// Two servers of which the first is twice as fast in each round, and a library with a loop in its process only.
    pub fn run() -> TargetsRun {
        let facts = |name: &str| Facts { name: name.into(), version: format!("{name} 1"), ..Facts::default() };
        let mut rows = Vec::new();
        for round in 1..=10 {
            for sessions in [1, 2] {
                let rate = 1000.0 * f64::from(round * sessions);
                rows.push(row("latchwork", Place::Engine, sessions, round, 2.0 * rate));
                rows.push(row("postgresql", Place::Engine, sessions, round, rate));
                rows.push(row("sqlite", Place::Process, sessions, round, 5.0 * rate));
            }
        }
        let mut run = TargetsRun {
            experiment: "e".into(),
            title: "Title <e>".into(),
            source: "S".into(),
            question: "Q?".into(),
            started: 1_795_341_600,
            host: Host { cpu: "cpu".into(), cores: 2, ..Host::default() },
            version: "1".into(),
            parameters: BTreeMap::new(),
            seed: 1,
            targets: ["latchwork", "postgresql", "sqlite"].map(facts).to_vec(),
            missing: vec![Said { target: "mariadb".into(), variant: None, reason: "not installed".into() }],
            not_comparable: vec![Said { target: "duckdb".into(), variant: None, reason: "no probe a node".into() }],
            rows,
            beside: Vec::new(),
            plans: vec![PlanRead { target: "postgresql".into(), variant: "read".into(), plan: "Index Scan".into() }],
            stopped_of: None,
        };
        run.fill();
        run
    }

    #[test]
    fn ratios_are_those_of_rounds_and_never_cross_places() {
        let run = run();
        assert_eq!(run.cells(), ["read/engine", "read/process"]);
        assert_eq!(run.beside.len(), 2, "{:?}", run.beside);
        for beside in &run.beside {
            assert_eq!((beside.cell.as_str(), beside.other.as_str()), ("read/engine", "postgresql"));
            let (clock, cpu) = (beside.by_clock.unwrap(), beside.by_cpu.unwrap());
            assert!((clock.ratio - 2.0).abs() < 1e-9 && (cpu.ratio - 2.0).abs() < 1e-9, "{beside:?}");
            assert_eq!(clock.rounds, 10);
        }
        assert_eq!(run.rounds(), 10);
        assert!(run.rows.iter().all(|r| r.pct_linear.is_some_and(|p| (p - 100.0).abs() < 1e-9)));
        assert_eq!(run.csv().lines().count(), 61);
    }
    #[test]
    fn a_rate_of_a_whole_cell_is_not_compared_with_one_of_a_window() {
        let mut run = run();
        let of = |r: &TargetRow, sessions| r.target == "postgresql" && r.sessions == sessions;
        run.rows.iter_mut().filter(|r| of(r, 2) && r.round > 4).for_each(|r| r.window = None);
        run.fill();
        let two = run.beside.iter().find(|b| b.sessions == 2).unwrap();
        assert_eq!((two.by_clock.unwrap().rounds, two.by_cpu.unwrap().rounds), (4, 10));
        assert!(run.about_windows().unwrap().contains("in 6 of 60 runs"));
        run.rows.iter_mut().filter(|r| of(r, 2)).for_each(|r| r.window = None);
        run.fill();
        let two = run.beside.iter().find(|b| b.sessions == 2).unwrap();
        assert!(two.by_clock.is_none() && two.by_cpu.is_some());
    }

    #[test]
    fn a_local_socket_is_not_compared_with_tcp() {
        let mut run = run();
        for row in run.rows.iter_mut().filter(|r| r.place == Place::Engine) {
            (row.place, row.cell) = (Place::Wire, "read/wire".into());
        }
        run.fill();
        assert_eq!(run.beside.len(), 2);
        run.targets[1].wire = "TCP".into();
        run.fill();
        assert!(run.beside.is_empty(), "{:?}", run.beside);
    }
}
