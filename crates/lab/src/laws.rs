//! What an operation must count, to the unit: the part of an experiment that no machine changes.
//!
//! A manifest states for each generation how much a figure grows with an operation. One session works `n` and then `2n`
//! operations, and what the second run added beyond the first belongs to `n` operations: what a call itself costs
//! cancels. Other processes of the instance may add to a figure meanwhile, never take from it, so the least of several
//! tries is compared.

use std::collections::BTreeMap;

use client::Client;
use serde::{Deserialize, Serialize};
use types::Value;

use crate::LabError;
use crate::results::generation_order;
use crate::table::columns;

/// How often a figure is read again before it is taken for what it is.
const TRIES: usize = 6;

/// A law, as the manifest says it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Law {
    /// The workload that is counted.
    pub variant: String,
    /// What is counted.
    pub title: String,
    /// Gives one number that grows.
    pub query: String,
    /// Operations of the shorter run.
    #[serde(default = "thousand")]
    pub operations: u64,
    /// Operations that the figures are told for.
    #[serde(default = "one")]
    pub per: u64,
    /// By generation, what as many operations add.
    pub expected: BTreeMap<String, f64>,
}

fn one() -> u64 {
    1
}

fn thousand() -> u64 {
    1000
}

/// A law beside what was counted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Count {
    pub workload: String,
    pub generation: String,
    pub title: String,
    /// Null where the manifest has none for the generation.
    pub expected: Option<f64>,
    pub seen: f64,
}

impl Count {
    /// Whether what was seen is what was expected, to the unit.
    pub fn holds(&self) -> bool {
        self.expected.is_none_or(|expected| (expected - self.seen).abs() < 1e-9)
    }
}

impl Law {
    /// What the types cannot say.
    pub fn check(&self, variants: &[&str]) -> Result<(), String> {
        if !variants.contains(&self.variant.as_str()) {
            return Err(format!("law '{}': there is no variant '{}'", self.title, self.variant));
        }
        if self.operations == 0 || self.per == 0 {
            return Err(format!("law '{}': operations begin at 1", self.title));
        }
        let whole = |expected: f64| (expected * self.operations as f64 / self.per as f64).fract() == 0.0;
        match self.expected.iter().find(|(_, expected)| !whole(**expected)) {
            Some((generation, _)) => {
                Err(format!("law '{}': {generation} does not give a whole number for the operations", self.title))
            }
            None => Ok(()),
        }
    }

    /// Counts. `work` runs the workload's statement for a number of operations.
    pub fn count(
        &self,
        generation: &str,
        observer: &mut Client,
        work: &mut dyn FnMut(u64) -> Result<(), LabError>,
    ) -> Result<Count, LabError> {
        let expected = self.expected.get(generation).copied();
        let mut least = [f64::INFINITY; 2];
        let mut seen = f64::NAN;
        // The first readings compile; one run that nobody looks at warms up.
        self.read(observer)?;
        work(self.operations)?;
        for _ in 0..TRIES {
            for (least, times) in least.iter_mut().zip([1, 2]) {
                let before = self.read(observer)?;
                work(self.operations * times)?;
                *least = least.min(self.read(observer)? - before);
            }
            seen = (least[1] - least[0]) * self.per as f64 / self.operations as f64;
            if expected.is_some_and(|expected| (expected - seen).abs() < 1e-9) {
                break;
            }
        }
        Ok(Count {
            workload: self.variant.clone(),
            generation: generation.to_string(),
            title: self.title.clone(),
            expected,
            seen,
        })
    }

    fn read(&self, observer: &mut Client) -> Result<f64, LabError> {
        let rows = observer.query(&self.query, &[])?.all()?;
        match rows.first().and_then(|row| row.first()) {
            Some(Value::Number(n)) => Ok(n.to_f64()),
            Some(Value::Null) => Ok(0.0),
            _ => Err(LabError::new(format!("law '{}': the query gives no number", self.title))),
        }
    }
}

/// A figure without needless digits; what differs is marked.
pub fn told(count: &Count) -> String {
    let number = |value: f64| {
        let text = format!("{value:.3}");
        if value >= 1000.0 {
            return crate::table::thousands(value);
        }
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    };
    match count.expected {
        Some(expected) if !count.holds() => format!("{} (expected {})", number(count.seen), number(expected)),
        _ => number(count.seen),
    }
}

/// The titles with their workloads, in the order of their first appearance.
pub fn titles(counts: &[Count]) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    for count in counts {
        let key = (count.workload.clone(), count.title.clone());
        if !out.contains(&key) {
            out.push(key);
        }
    }
    out
}

/// The counts as a table: a line for each generation, a column for each law; nothing of none.
pub fn table(counts: &[Count]) -> Option<String> {
    let titles = titles(counts);
    let mut generations: Vec<&str> = counts.iter().map(|c| c.generation.as_str()).collect();
    generations.sort_by_key(|name| (generation_order(name), name.to_string()));
    generations.dedup();
    let mut rows = vec![vec!["generation".to_string()]];
    rows[0].extend(titles.iter().map(|(workload, title)| format!("{workload}: {title}")));
    for generation in generations {
        let mut row = vec![generation.to_string()];
        for (workload, title) in &titles {
            let count =
                counts.iter().find(|c| c.workload == *workload && c.title == *title && c.generation == generation);
            row.push(count.map(told).unwrap_or_default());
        }
        rows.push(row);
    }
    (!counts.is_empty()).then(|| columns(&rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(expected: Option<f64>, seen: f64) -> Count {
        Count { workload: "w".into(), generation: "11.1".into(), title: "gets".into(), expected, seen }
    }

    #[test]
    fn a_count_holds_to_the_unit() {
        assert!(count(Some(2.0), 2.0).holds() && count(None, 7.0).holds());
        assert!(!count(Some(2.0), 2.001).holds());
        assert_eq!(told(&count(Some(2.0), 2.0)), "2");
        assert_eq!(told(&count(Some(0.5), 0.75)), "0.75 (expected 0.5)");
        assert!(table(&[count(Some(2.0), 2.0)]).unwrap().contains("w: gets"));
        assert!(table(&[]).is_none());
    }

    #[test]
    fn a_law_that_cannot_hold_is_refused() {
        let law = |variant: &str, expected: f64| Law {
            variant: variant.into(),
            title: "t".into(),
            query: "q".into(),
            operations: 1000,
            per: 1,
            expected: BTreeMap::from([("11.1".to_string(), expected)]),
        };
        assert!(law("w", 2.5).check(&["w"]).is_ok());
        assert!(law("v", 2.0).check(&["w"]).unwrap_err().contains("'v'"));
        assert!(law("w", 0.333).check(&["w"]).is_ok());
        assert!(law("w", 0.3333).check(&["w"]).is_err());
    }
}
