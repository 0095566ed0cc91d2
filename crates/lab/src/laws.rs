//! The exact counts that an operation must have by its design, on any machine.
//!
//! A manifest states for each generation by how much an operation increases a figure. One session performs `n` and then
//! `2n` operations, and the difference of the two increases belongs to `n` operations: the cost of the call itself
//! cancels. That is one reading. Every instance gives the same number of readings, and all of them are kept. Background
//! processes occasionally increase a figure, in the shorter run (the reading is too low) or in the longer one (too
//! high), so the median of all readings is compared with the expected figure: a law holds when the median equals the
//! expected figure exactly. The lowest and the highest reading, and the number of readings that agree with the law, are
//! reported beside it. Repeating until a reading fits was rejected: that finds any law in enough noise.

use crate::counts::{Count, same, told};
use std::collections::BTreeMap;

use client::Client;
use serde::Deserialize;
use types::Value;

use crate::error::LabError;
use crate::results::generation_order;
use crate::statistics::summary;
use crate::text::columns;

/// Readings of a figure in each instance. Odd, so that the median of one instance's readings is one of them.
const READINGS: usize = 7;

/// A law, as stated in the manifest.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Law {
    /// The workload that is counted.
    pub variant: String,
    /// Title of the figure.
    pub title: String,
    /// Query that returns one growing number.
    pub query: String,
    /// Operations of the shorter run.
    #[serde(default = "thousand")]
    pub operations: u64,
    /// Number of operations that the figures refer to.
    #[serde(default = "one")]
    pub per: u64,
    /// By generation, the expected increase for `per` operations.
    pub expected: BTreeMap<String, f64>,
}

fn one() -> u64 {
    1
}

fn thousand() -> u64 {
    1000
}

/// Joins the counts of one instance to those of the instances before it.
pub fn join(all: &mut Vec<Count>, counts: Vec<Count>) {
    for count in counts {
        let known = |c: &&mut Count| {
            (&c.workload, &c.generation, &c.title) == (&count.workload, &count.generation, &count.title)
        };
        match all.iter_mut().find(known) {
            Some(before) => before.join(&count.readings),
            None => all.push(count),
        }
    }
}

impl Law {
    /// Checks the rules that the types do not express.
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

    /// Takes all readings in an instance. `work` runs the workload's statement for the given number of operations.
    pub fn count(
        &self,
        generation: &str,
        observer: &mut Client,
        work: &mut dyn FnMut(u64) -> Result<(), LabError>,
    ) -> Result<Count, LabError> {
        // The first read compiles the query; one run without a reading warms up.
        self.read(observer)?;
        work(self.operations)?;
        let mut readings = Vec::with_capacity(READINGS);
        for _ in 0..READINGS {
            let mut added = [0.0; 2];
            for (added, times) in added.iter_mut().zip([1, 2]) {
                let before = self.read(observer)?;
                work(self.operations * times)?;
                *added = self.read(observer)? - before;
            }
            readings.push((added[1] - added[0]) * self.per as f64 / self.operations as f64);
        }
        Ok(Count {
            workload: self.variant.clone(),
            generation: generation.to_string(),
            title: self.title.clone(),
            expected: self.expected.get(generation).copied(),
            seen: summary(readings.iter().copied()).map_or(f64::NAN, |s| s.median),
            readings,
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

/// The explanation of the figures of [`told`], for a table's heading.
pub fn rule(counts: &[Count]) -> String {
    let readings = counts.iter().map(|c| c.readings.len()).max().unwrap_or(0);
    let some = counts.iter().map(Count::spread).any(|s| !same(s.least, s.greatest));
    let marked = match some {
        true => {
            "; in brackets, where readings differ: the number that equal the law's figure, the lowest and the highest"
        }
        false => "; no two readings of a law differ",
    };
    match readings {
        0 => String::new(),
        _ => format!("The median of all readings, {readings} at most, is compared with the law{marked}."),
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

/// The counts as a table: a line for each generation, a column for each law; `None` without counts.
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
    use crate::counts::{Count, told};

    fn count(expected: Option<f64>, seen: f64) -> Count {
        let readings = vec![seen; READINGS];
        Count { workload: "w".into(), generation: "11.1".into(), title: "gets".into(), expected, seen, readings }
    }

    #[test]
    fn a_law_that_holds_in_some_readings_says_so() {
        let of = |readings: &[f64]| {
            let mut count = count(Some(2.0), 0.0);
            count.readings.clear();
            count.join(readings);
            count
        };
        assert_eq!(told(&of(&[2.0, 2.0, 2.0])), "2");
        let most = of(&[2.0, 2.004, 2.0]);
        assert!(most.holds());
        assert_eq!(told(&most), "2 [2 of 3: 2 to 2.004]");
        // A single reading fits: reading until one fits would accept the law.
        let few = of(&[2.004, 2.0, 2.01]);
        assert!(!few.holds());
        assert_eq!(told(&few), "2.004 (expected 2) [1 of 3: 2 to 2.01]");
        assert_eq!(told(&of(&[2000.0, 2000.25, 2001.0])), "2,000.25 (expected 2) [0 of 3: 2,000 to 2,001]");
        assert!(rule(&[few]).contains("where readings differ"));
        assert!(rule(&[of(&[2.0])]).contains("no two readings"));
    }

    #[test]
    fn readings_of_all_instances_of_a_generation_count_together() {
        let mut all = vec![count(Some(2.0), 2.0)];
        let mut other = count(Some(2.0), 3.0);
        other.generation = "12.1".into();
        join(&mut all, vec![count(Some(2.0), 3.0), other, count(Some(2.0), 3.0)]);
        assert_eq!(all.iter().map(|c| c.readings.len()).collect::<Vec<_>>(), [21, 7]);
        assert_eq!((all[0].seen, all[0].agreeing(), all[0].holds()), (3.0, 7, false));
        assert_eq!((all[0].spread().least, all[0].spread().greatest), (2.0, 3.0));
    }

    #[test]
    fn a_count_of_an_earlier_version_is_read_as_it_stands() {
        let text = "{\"workload\":\"w\",\"generation\":\"11.1\",\"title\":\"gets\",\"expected\":2.0,\"seen\":2.0}";
        let count: Count = serde_json::from_str(text).unwrap();
        assert!(count.holds() && count.readings.is_empty());
        assert_eq!((told(&count), rule(std::slice::from_ref(&count))), ("2".into(), String::new()));
        assert_eq!(count.spread().greatest, 2.0);
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
