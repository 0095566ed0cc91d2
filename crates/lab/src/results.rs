//! What a run leaves: rows, as JSON and CSV.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::laws::Count;
use crate::sections::{Figures, SectionHead};

/// Figures of one latch over one cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatchFigures {
    pub gets: u64,
    pub misses: u64,
    pub sleeps: u64,
    pub spin_gets: u64,
    pub wait_time_us: u64,
}

impl LatchFigures {
    /// What was counted between two readings.
    pub fn since(self, before: LatchFigures) -> LatchFigures {
        LatchFigures {
            gets: self.gets.saturating_sub(before.gets),
            misses: self.misses.saturating_sub(before.misses),
            sleeps: self.sleeps.saturating_sub(before.sleeps),
            spin_gets: self.spin_gets.saturating_sub(before.spin_gets),
            wait_time_us: self.wait_time_us.saturating_sub(before.wait_time_us),
        }
    }
}

/// One measured cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// Workload and generation, `result-cache@11.1`.
    pub variant: String,
    pub workload: String,
    pub generation: String,
    pub sessions: u32,
    pub repeat: u32,
    pub operations: u64,
    pub elapsed_s: f64,
    pub ops_per_s: f64,
    /// Of the median rate of one session of the same variant times the number of sessions; null without such a cell.
    pub pct_linear: Option<f64>,
    /// With a latch held by hand: how many sessions ended while it was held.
    #[serde(default)]
    pub passed: Option<u32>,
    pub latches: BTreeMap<String, LatchFigures>,
    /// By section and name, what the cell added to the figures.
    #[serde(default)]
    pub sections: BTreeMap<String, Figures>,
}

/// The machine.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Host {
    pub cpu: String,
    pub cores: usize,
    pub memory_bytes: u64,
    pub kernel: String,
}

/// A published curve, kept with the results so that a report needs nothing else.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PublishedCurve {
    pub title: String,
    pub workload: String,
    #[serde(default)]
    pub generation: Option<String>,
    pub sessions: Vec<u32>,
    pub ops_per_s: Vec<f64>,
    pub gets: Vec<u64>,
    pub misses: Vec<u64>,
    pub sleeps: Vec<u64>,
}

/// Everything a run leaves.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    pub experiment: String,
    pub title: String,
    pub source: String,
    pub question: String,
    /// Seconds since 1970.
    pub started: u64,
    pub host: Host,
    pub version: String,
    /// Init parameters and the run's own settings.
    pub parameters: BTreeMap<String, String>,
    pub rows: Vec<Row>,
    #[serde(default)]
    pub published: Vec<PublishedCurve>,
    #[serde(default)]
    pub sections: Vec<SectionHead>,
    /// What one operation counted, beside what it must count.
    #[serde(default)]
    pub counts: Vec<Count>,
    /// By generation, what a reader should know.
    #[serde(default)]
    pub notes: BTreeMap<String, String>,
    /// The section that counts sleeps by place.
    #[serde(default)]
    pub sleeps: Option<String>,
    /// The generations that were asked for, also those that have nothing to run.
    #[serde(default)]
    pub asked: Vec<String>,
    /// Of a run that was stopped: cells that were planned.
    #[serde(default)]
    pub stopped_of: Option<usize>,
}

/// Median, least and greatest of some figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub least: f64,
    pub greatest: f64,
}

/// The spread of some figures; `None` of none.
pub fn spread(figures: impl IntoIterator<Item = f64>) -> Option<Spread> {
    let mut all: Vec<f64> = figures.into_iter().filter(|f| f.is_finite()).collect();
    all.sort_by(f64::total_cmp);
    let middle = all.len() / 2;
    let median = match all.len() {
        0 => return None,
        n if n % 2 == 1 => all[middle],
        _ => (all[middle - 1] + all[middle]) / 2.0,
    };
    Some(Spread { median, least: all[0], greatest: all[all.len() - 1] })
}

impl Results {
    /// Computes `pct_linear` of every row from the medians of one session.
    pub fn fill_pct_linear(&mut self) {
        let mut base: BTreeMap<String, f64> = BTreeMap::new();
        for variant in self.variants() {
            let one = self.rows.iter().filter(|r| r.variant == variant && r.sessions == 1).map(|r| r.ops_per_s);
            if let Some(spread) = spread(one) {
                base.insert(variant, spread.median);
            }
        }
        for row in &mut self.rows {
            row.pct_linear = base
                .get(&row.variant)
                .filter(|one| **one > 0.0)
                .map(|one| 100.0 * row.ops_per_s / (one * f64::from(row.sessions)));
        }
    }

    /// The variants, in the order of the first appearance of workload and generation.
    pub fn variants(&self) -> Vec<String> {
        let mut all: Vec<&Row> = self.rows.iter().collect();
        all.sort_by_key(|r| (&r.workload, generation_order(&r.generation)));
        let mut out: Vec<String> = Vec::new();
        for row in all {
            if out.last() != Some(&row.variant) {
                out.push(row.variant.clone());
            }
        }
        out
    }

    /// The generations, oldest first.
    pub fn generations(&self) -> Vec<String> {
        let mut all: Vec<String> = self.rows.iter().map(|r| r.generation.clone()).collect();
        all.sort_by_key(|name| (generation_order(name), name.clone()));
        all.dedup();
        all
    }

    /// The generations that were asked for and those with rows, oldest first.
    pub fn all_generations(&self) -> Vec<String> {
        let mut all = self.asked.clone();
        all.extend(self.generations());
        all.sort_by_key(|name| (generation_order(name), name.clone()));
        all.dedup();
        all
    }

    /// The numbers of sessions, ascending.
    pub fn sessions(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self.rows.iter().map(|r| r.sessions).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The rows of one cell.
    pub fn cell<'a>(&'a self, variant: &'a str, sessions: u32) -> impl Iterator<Item = &'a Row> + 'a {
        self.rows.iter().filter(move |r| r.variant == variant && r.sessions == sessions)
    }

    /// The names of the latches that were measured.
    pub fn latches(&self) -> Vec<String> {
        let mut all: Vec<String> = self.rows.iter().flat_map(|r| r.latches.keys().cloned()).collect();
        all.sort();
        all.dedup();
        all
    }

    /// Laws that did not hold, a line each.
    pub fn broken_laws(&self) -> Vec<String> {
        let broken = self.counts.iter().filter(|c| !c.holds());
        broken.map(|c| format!("{}@{}: {}: {}", c.workload, c.generation, c.title, crate::laws::told(c))).collect()
    }

    /// A line on a run that was stopped.
    pub fn warning(&self) -> Option<String> {
        let of = self.stopped_of?;
        Some(format!("Stopped: {} of {of} cells were run. Medians may be of fewer repeats.", self.rows.len()))
    }

    /// Sleeps of a cell: by the section that counts them, else those of its latches; `None` where nothing counts them.
    pub fn sleeps_of(&self, row: &Row) -> Option<f64> {
        match &self.sleeps {
            Some(section) => {
                let figures = row.sections.get(section)?;
                Some(figures.values().filter_map(|f| f.first()).sum())
            }
            None if row.latches.is_empty() => None,
            None => Some(row.latches.values().map(|f| f.sleeps as f64).sum()),
        }
    }

    /// The rows as CSV, one line a row and latch figure by figure.
    pub fn csv(&self) -> String {
        let latches = self.latches();
        let mut out =
            String::from("variant,workload,generation,sessions,repeat,operations,elapsed_s,ops_per_s,pct_linear");
        for latch in &latches {
            for figure in ["gets", "misses", "sleeps", "spin_gets", "wait_time_us"] {
                out.push_str(&format!(",\"{latch}: {figure}\""));
            }
        }
        out.push('\n');
        for r in &self.rows {
            let pct = r.pct_linear.map(|p| format!("{p:.2}")).unwrap_or_default();
            out.push_str(&format!(
                "{},{},{},{},{},{},{:.6},{:.1},{pct}",
                r.variant, r.workload, r.generation, r.sessions, r.repeat, r.operations, r.elapsed_s, r.ops_per_s
            ));
            for latch in &latches {
                match r.latches.get(latch) {
                    Some(f) => out
                        .push_str(&format!(",{},{},{},{},{}", f.gets, f.misses, f.sleeps, f.spin_gets, f.wait_time_us)),
                    None => out.push_str(",,,,,"),
                }
            }
            out.push('\n');
        }
        out
    }
}

/// Every value of `latch_generation`, oldest first.
pub const GENERATIONS: &[&str] =
    &["8.1.7", "9.2", "10.2", "11.1", "11.2.0.1", "11.2.0.3", "12.1", "12.2", "12.2-hot-copies", "latchwork"];

/// The place of a generation in time.
pub fn generation_order(name: &str) -> usize {
    GENERATIONS.iter().position(|known| *known == name).unwrap_or(GENERATIONS.len())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn row(workload: &str, generation: &str, sessions: u32, repeat: u32, ops_per_s: f64) -> Row {
        let figures = LatchFigures { gets: 2001, misses: 10, sleeps: 3, spin_gets: 7, wait_time_us: 500 };
        Row {
            variant: format!("{workload}@{generation}"),
            workload: workload.into(),
            generation: generation.into(),
            sessions,
            repeat,
            operations: 1000,
            elapsed_s: 1000.0 / ops_per_s,
            ops_per_s,
            pct_linear: None,
            passed: None,
            latches: BTreeMap::from([("Result Cache: Latch".to_string(), figures)]),
            sections: BTreeMap::new(),
        }
    }

    pub(crate) fn results() -> Results {
        let mut results = Results {
            experiment: "e".into(),
            title: "An <experiment>".into(),
            source: "somebody".into(),
            question: "does it?".into(),
            started: 0,
            host: Host { cpu: "a processor".into(), cores: 2, memory_bytes: 1 << 30, kernel: "6".into() },
            version: "0".into(),
            parameters: BTreeMap::new(),
            rows: vec![
                row("b", "latchwork", 1, 1, 100.0),
                row("b", "latchwork", 1, 2, 120.0),
                row("b", "latchwork", 2, 1, 180.0),
                row("b", "11.1", 1, 1, 50.0),
                row("a", "11.1", 2, 1, 10.0),
            ],
            published: vec![PublishedCurve {
                title: "then".into(),
                workload: "b".into(),
                generation: Some("11.1".into()),
                sessions: vec![1, 2],
                ops_per_s: vec![10.0, 19.0],
                gets: vec![],
                misses: vec![],
                sleeps: vec![],
            }],
            sections: vec![],
            counts: vec![],
            notes: BTreeMap::new(),
            sleeps: None,
            asked: vec!["8.1.7".into()],
            stopped_of: None,
        };
        results.fill_pct_linear();
        results
    }

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_two() {
        assert_eq!(spread([3.0, 1.0, 2.0]).unwrap(), Spread { median: 2.0, least: 1.0, greatest: 3.0 });
        assert_eq!(spread([4.0, 1.0]).unwrap().median, 2.5);
        assert_eq!(spread([]), None);
        assert_eq!(spread([f64::NAN]), None);
    }

    #[test]
    fn percent_of_linear_compares_with_the_median_of_one_session() {
        let results = results();
        let two = results.cell("b@latchwork", 2).next().unwrap();
        assert!((two.pct_linear.unwrap() - 100.0 * 180.0 / 220.0).abs() < 1e-9);
        assert_eq!(results.cell("a@11.1", 2).next().unwrap().pct_linear, None);
    }

    #[test]
    fn variants_come_by_workload_and_then_in_time() {
        assert_eq!(results().variants(), ["a@11.1", "b@11.1", "b@latchwork"]);
        assert_eq!(results().sessions(), [1, 2]);
    }

    #[test]
    fn csv_has_a_line_a_row_and_as_many_fields_as_its_head() {
        let csv = results().csv();
        let mut lines = csv.lines();
        let head = lines.next().unwrap().matches(',').count();
        assert_eq!(lines.clone().count(), 5);
        assert!(lines.all(|line| line.matches(',').count() == head));
        assert!(csv.contains("b@latchwork,b,latchwork,2,1,1000,"));
    }

    #[test]
    fn json_reads_back_as_it_was() {
        let text = serde_json::to_string(&results()).unwrap();
        let back: Results = serde_json::from_str(&text).unwrap();
        assert_eq!(back.csv(), results().csv());
    }
}
