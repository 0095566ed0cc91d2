//! The comparison: cell by cell the speed of B relative to A with an interval, and a verdict.
//!
//! Repeats are few, so the interval is Welch's on the logarithms ([`ratio`]) and not a bootstrap, for the reason that
//! `statistics` names. A cell is called slower only when its whole interval lies beyond the limit. With many cells some
//! are called by chance; `together` widens the intervals so that all of them hold at once (Bonferroni).

use std::collections::BTreeSet;

use serde::Serialize;

use super::side::{About, Key, Side};
use crate::statistics::{ratio, summary};

/// The rules of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// A cell is slower when it loses more than this share of its speed.
    pub limit: f64,
    /// The confidence of an interval, as a share of 1.
    pub confidence: f64,
    /// Whether all intervals hold at once with that confidence.
    pub together: bool,
    /// Whether cells are judged although machine or parameters differ.
    pub anyway: bool,
}

/// The verdict of a cell's interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Slower,
    SlowerWithinLimit,
    NoDifferenceFound,
    FasterWithinLimit,
    Faster,
    /// The cell has no interval, or must not be judged.
    NotJudged,
}

impl Verdict {
    pub fn text(self) -> &'static str {
        match self {
            Verdict::Slower => "SLOWER",
            Verdict::SlowerWithinLimit => "slower, within the limit",
            Verdict::NoDifferenceFound => "no difference found",
            Verdict::FasterWithinLimit => "faster, within the limit",
            Verdict::Faster => "FASTER",
            Verdict::NotJudged => "not judged",
        }
    }
}

/// One compared cell.
#[derive(Clone, Debug)]
pub struct Compared {
    pub key: Key,
    pub repeats: (usize, usize),
    pub medians: (f64, f64),
    /// The speed of B relative to A: above 1 B is faster, for rates as for latencies. `None` for a figure that is not
    /// above zero.
    pub speed: Option<f64>,
    pub ends: Option<(f64, f64)>,
    pub verdict: Verdict,
}

/// The outcome of a comparison.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub rules: Rules,
    pub cells: Vec<Compared>,
    pub only_a: Vec<Key>,
    pub only_b: Vec<Key>,
    /// Why the cells of an experiment are not judged, each with its experiment.
    pub reasons: Vec<(String, String)>,
    /// Differences that do not prevent a judgement.
    pub remarks: Vec<String>,
}

/// Settings of a run that change how long it measures and not what it measures.
const SETTINGS: [&str; 8] = [
    "repeats",
    "seed of the order",
    "seconds a cell",
    "iterations a session",
    "seconds between snapshots",
    "seconds of warm-up",
    "load average before the run",
    "load average at its end",
];

/// Compares two sides.
pub fn compare(a: &Side, b: &Side, rules: Rules) -> Outcome {
    let (mut reasons, mut remarks) = (Vec::new(), Vec::new());
    for (experiment, of_a) in &a.about {
        let Some(of_b) = b.about.get(experiment) else { continue };
        reasons.extend(barriers(of_a, of_b).into_iter().map(|reason| (experiment.clone(), reason)));
        remarks.extend(differences(of_a, of_b).into_iter().map(|text| format!("{experiment}: {text}")));
    }
    for (name, side) in [("A", a), ("B", b)] {
        remarks.extend(side.notes.iter().map(|note| format!("{name}: {note}")));
    }
    let held_back: BTreeSet<&str> =
        reasons.iter().filter(|_| !rules.anyway).map(|(experiment, _)| experiment.as_str()).collect();
    let may_judge = |key: &Key| !held_back.contains(key.experiment.as_str());
    let both = || a.cells.iter().filter_map(|(key, of_a)| Some((key, of_a, b.cells.get(key)?)));
    let judged = both().filter(|(key, of_a, of_b)| may_judge(key) && of_a.len() > 1 && of_b.len() > 1).count();
    let confidence = match rules.together {
        true => 1.0 - (1.0 - rules.confidence) / judged.max(1) as f64,
        false => rules.confidence,
    };
    let cells = both().map(|(key, of_a, of_b)| cell(key, of_a, of_b, may_judge(key), confidence, rules.limit));
    let only =
        |these: &Side, those: &Side| these.cells.keys().filter(|k| !those.cells.contains_key(k)).cloned().collect();
    Outcome { rules, cells: cells.collect(), only_a: only(a, b), only_b: only(b, a), reasons, remarks }
}

/// The reasons against a judgement: another machine, other parameters.
fn barriers(a: &About, b: &About) -> Vec<String> {
    let mut out = Vec::new();
    let machine = |about: &About| format!("{}, {} cores", about.cpu, about.cores);
    if machine(a) != machine(b) {
        out.push(format!("other machine: {} and {}", machine(a), machine(b)));
    }
    out.extend(parameters(a, b, false));
    out
}

/// Differences of a kind that a comparison is made for, or that matter less than a repeat.
fn differences(a: &About, b: &About) -> Vec<String> {
    let mut out = parameters(a, b, true);
    if a.kernel != b.kernel {
        out.push(format!("kernel {} and {}", a.kernel, b.kernel));
    }
    // The size that the kernel reports differs by some pages between two starts of a machine.
    if a.memory_bytes.abs_diff(b.memory_bytes) > a.memory_bytes.max(b.memory_bytes) / 50 {
        let gb = |bytes: u64| bytes as f64 / f64::from(1 << 30);
        out.push(format!("memory {:.1} GB and {:.1} GB", gb(a.memory_bytes), gb(b.memory_bytes)));
    }
    out
}

/// Parameters that differ: settings of the run, or all others.
fn parameters(a: &About, b: &About, settings: bool) -> Vec<String> {
    let names: BTreeSet<&String> = a.parameters.keys().chain(b.parameters.keys()).collect();
    let own = names.into_iter().filter(|name| SETTINGS.contains(&name.as_str()) == settings);
    let differ =
        own.filter(|name| !name.starts_with("load average") && a.parameters.get(*name) != b.parameters.get(*name));
    let value = |about: &About, name: &str| about.parameters.get(name).cloned().unwrap_or_else(|| "not set".into());
    differ.map(|name| format!("{name}: {} and {}", value(a, name), value(b, name))).collect()
}

fn cell(key: &Key, a: &[f64], b: &[f64], may_judge: bool, confidence: f64, limit: f64) -> Compared {
    let median = |figures: &[f64]| summary(figures.iter().copied()).map_or(f64::NAN, |s| s.median);
    let of_b = ratio(a, b, confidence);
    // A latency that doubles is a speed that halves.
    let turn = |r: f64| if key.figure.more_is_better() { r } else { 1.0 / r };
    let ends = of_b.and_then(|r| r.ends).map(|(low, high)| match key.figure.more_is_better() {
        true => (low, high),
        false => (1.0 / high, 1.0 / low),
    });
    let verdict = ends.filter(|_| may_judge).map_or(Verdict::NotJudged, |ends| verdict(ends, limit));
    let (repeats, medians) = ((a.len(), b.len()), (median(a), median(b)));
    Compared { key: key.clone(), repeats, medians, speed: of_b.map(|r| turn(r.ratio)), ends, verdict }
}

/// Exchanging A and B exchanges slower and faster.
fn verdict((low, high): (f64, f64), limit: f64) -> Verdict {
    let least = 1.0 - limit;
    match (low, high) {
        (_, high) if high < least => Verdict::Slower,
        (low, _) if low > 1.0 / least => Verdict::Faster,
        (_, high) if high < 1.0 => Verdict::SlowerWithinLimit,
        (low, _) if low > 1.0 => Verdict::FasterWithinLimit,
        _ => Verdict::NoDifferenceFound,
    }
}

impl Outcome {
    pub fn count(&self, verdict: Verdict) -> usize {
        self.cells.iter().filter(|c| c.verdict == verdict).count()
    }

    /// Number of cells with a verdict.
    pub fn judged(&self) -> usize {
        self.cells.len() - self.count(Verdict::NotJudged)
    }

    pub fn is_slower(&self) -> bool {
        self.count(Verdict::Slower) > 0
    }

    /// Cells called slower by chance, at most, if nothing had changed.
    pub fn by_chance(&self) -> f64 {
        let one_sided = (1.0 - self.rules.confidence) / 2.0;
        if self.rules.together { one_sided } else { one_sided * self.judged() as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::side::Figure;
    use testing::Random;

    pub(super) const RULES: Rules = Rules { limit: 0.05, confidence: 0.95, together: false, anyway: false };

    fn side(cells: &[(&str, u32, &[f64])]) -> Side {
        let mut side = Side::default();
        side.about.insert("e".into(), About { cpu: "a processor".into(), cores: 2, ..About::default() });
        for (workload, sessions, figures) in cells {
            side.cells.insert(Key::new("e", workload, "latchwork", Figure::Rate, *sessions), figures.to_vec());
        }
        side
    }

    fn verdicts(outcome: &Outcome) -> Vec<Verdict> {
        outcome.cells.iter().map(|c| c.verdict).collect()
    }

    #[test]
    fn a_cell_is_slower_only_with_its_whole_interval_beyond_the_limit() {
        let a = side(&[("w", 1, &[100.0, 101.0, 99.0])]);
        let to = |figures: &[f64]| compare(&a, &side(&[("w", 1, figures)]), RULES);
        let verdict_of = |figures: &[f64]| to(figures).cells[0].verdict;
        assert_eq!(verdict_of(&[80.0, 81.0, 79.0]), Verdict::Slower);
        assert_eq!(verdict_of(&[96.5, 97.5, 97.0]), Verdict::SlowerWithinLimit);
        // Below the limit on average, with an interval that reaches above it.
        assert_eq!(verdict_of(&[80.0, 101.0, 90.0]), Verdict::NoDifferenceFound);
        assert_eq!(verdict_of(&[99.0, 100.0, 101.0]), Verdict::NoDifferenceFound);
        assert_eq!(verdict_of(&[103.0, 104.0, 103.5]), Verdict::FasterWithinLimit);
        assert_eq!(verdict_of(&[120.0, 121.0, 119.0]), Verdict::Faster);
        assert_eq!(verdict_of(&[50.0]), Verdict::NotJudged);
        assert_eq!(verdict_of(&[50.0, 0.0]), Verdict::NotJudged);
        let outcome = to(&[50.0]);
        assert_eq!((outcome.cells[0].speed.map(|s| (s * 100.0).round()), outcome.judged()), (Some(50.0), 0));
        let back = compare(&side(&[("w", 1, &[80.0, 81.0, 79.0])]), &a, RULES);
        assert_eq!(verdicts(&back), [Verdict::Faster]);
    }

    #[test]
    fn a_higher_latency_is_slower() {
        let of = |us: [f64; 3]| {
            let mut side = side(&[]);
            side.cells.insert(Key::new("e", "w", "latchwork", Figure::P99, 1), us.to_vec());
            side
        };
        let outcome = compare(&of([100.0, 101.0, 99.0]), &of([200.0, 201.0, 199.0]), RULES);
        assert_eq!(verdicts(&outcome), [Verdict::Slower]);
        let (low, high) = outcome.cells[0].ends.unwrap();
        assert!(low < 0.5 && 0.5 < high && outcome.cells[0].speed.is_some_and(|s| (s - 0.5).abs() < 1e-3));
        let outcome = compare(&of([200.0, 201.0, 199.0]), &of([100.0, 101.0, 99.0]), RULES);
        assert_eq!(verdicts(&outcome), [Verdict::Faster]);
    }

    #[test]
    fn a_run_compared_with_itself_calls_nothing() {
        let a = side(&[("w", 1, &[5.0, 5.0]), ("w", 2, &[1.0, 1e300, 3.0]), ("v", 1, &[1e-9, 2e-9])]);
        let outcome = compare(&a, &a, Rules { limit: 0.0, ..RULES });
        assert_eq!(verdicts(&outcome), [Verdict::NoDifferenceFound; 3]);
        assert!(outcome.only_a.is_empty() && outcome.only_b.is_empty() && outcome.reasons.is_empty());
    }

    #[test]
    fn what_cannot_be_compared_is_listed_with_its_reason() {
        let a = side(&[("w", 1, &[100.0, 101.0]), ("w", 2, &[1.0, 1.0])]);
        let mut b = side(&[("w", 1, &[10.0, 10.1]), ("w", 4, &[1.0, 1.0])]);
        b.about.get_mut("e").unwrap().parameters.insert("seconds a cell".into(), "2".into());
        let outcome = compare(&a, &b, RULES);
        assert_eq!((outcome.only_a[0].sessions, outcome.only_b[0].sessions), (2, 4));
        assert_eq!((verdicts(&outcome), outcome.remarks.len()), (vec![Verdict::Slower], 1));
        assert_eq!(outcome.remarks[0], "e: seconds a cell: not set and 2");
        for change in [
            |about: &mut About| about.cores = 4,
            |about: &mut About| {
                about.parameters.insert("_spin_count".into(), "1".into());
            },
        ] {
            let mut other = b.clone();
            change(other.about.get_mut("e").unwrap());
            let outcome = compare(&a, &other, RULES);
            assert_eq!((verdicts(&outcome), outcome.reasons.len()), (vec![Verdict::NotJudged], 1));
            assert!(outcome.cells[0].ends.is_some(), "it is shown though");
            let outcome = compare(&a, &other, Rules { anyway: true, ..RULES });
            assert_eq!(verdicts(&outcome), [Verdict::Slower]);
        }
    }

    /// Without a difference and without a limit, 2.5 of 100 cells are called slower one by one; together, some cell of
    /// forty is called in fewer than 2.5 of 100 comparisons.
    #[test]
    fn calls_by_chance_are_as_rare_as_stated() {
        let mut random = Random::new(5);
        let mut figures =
            || -> Vec<f64> { (0..5).map(|_| 100.0 + random.unit() + random.unit() + random.unit()).collect() };
        let (mut single, mut together, rounds) = (0, 0, 150);
        for _ in 0..rounds {
            let (mut a, mut b) = (side(&[]), side(&[]));
            for sessions in 1..=40 {
                let key = Key::new("e", "w", "latchwork", Figure::Rate, sessions);
                a.cells.insert(key.clone(), figures());
                b.cells.insert(key, figures());
            }
            let rules = Rules { limit: 0.0, ..RULES };
            single += compare(&a, &b, rules).count(Verdict::Slower);
            together += usize::from(compare(&a, &b, Rules { together: true, ..rules }).is_slower());
        }
        let share = single as f64 / f64::from(rounds * 40);
        assert!((0.015..0.033).contains(&share), "{share} of the cells");
        assert!(together <= 9, "{together} of {rounds} comparisons");
    }
}
