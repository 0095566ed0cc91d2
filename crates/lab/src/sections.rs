//! Report sections: growing figures by name, read by a query before and after each cell, shown beside the published
//! ones.
//!
//! Runs differ in length, so the tables show figures per thousand operations; the JSON has the increases during each
//! cell.

use crate::results::{Figures, PublishedSection, SectionHead};

use client::Client;
use serde::Deserialize;
use types::Value;

use crate::error::LabError;
use crate::results::{Results, generation_order};
use crate::statistics::summary;
use crate::text::columns;

/// A section of the report, as defined in the manifest.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    pub title: String,
    /// Query that returns a name and then the figures.
    pub query: String,
    /// Titles of the figures.
    pub figures: Vec<String>,
    #[serde(default)]
    pub published: Vec<PublishedSection>,
}

impl Section {
    /// Checks the rules that the types do not express.
    pub fn check(&self) -> Result<(), String> {
        for p in &self.published {
            let same = p.operations.len() == p.sessions.len() && p.figures.iter().all(|f| f.len() == p.sessions.len());
            if !same || p.figures.len() > self.figures.len() {
                return Err(format!("section '{}': what was published of '{}' differs in length", self.title, p.name));
            }
        }
        Ok(())
    }

    pub fn head(&self) -> SectionHead {
        SectionHead { title: self.title.clone(), figures: self.figures.clone(), published: self.published.clone() }
    }

    /// Reads the current figures.
    pub fn read(&self, observer: &mut Client) -> Result<Figures, LabError> {
        let rows = observer.query(&self.query, &[])?.all()?;
        let mut out = Figures::new();
        for row in rows {
            let Some((Value::Text(name), figures)) = row.split_first() else { continue };
            let number = |value: &Value| match value {
                Value::Number(n) => n.to_f64(),
                _ => 0.0,
            };
            out.insert(name.clone(), figures.iter().map(number).collect());
        }
        Ok(out)
    }
}

/// The difference of two readings.
pub fn since(after: Figures, before: &Figures) -> Figures {
    let added = |name: &String, figures: Vec<f64>| {
        let zero = Vec::new();
        let before = before.get(name).unwrap_or(&zero);
        figures.iter().enumerate().map(|(at, f)| f - before.get(at).copied().unwrap_or(0.0)).collect()
    };
    after.into_iter().map(|(name, figures)| (name.clone(), added(&name, figures))).collect()
}

/// A figure per thousand operations, with as many digits as it needs.
fn per_thousand(figure: f64, operations: f64) -> String {
    let value = 1000.0 * figure / operations.max(1.0);
    if value >= 1000.0 {
        crate::text::thousands(value)
    } else if value >= 10.0 || value == 0.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.3}")
    }
}

/// The tables of all sections: for every name a line for each number of sessions, with the measured and the published
/// figures side by side for each generation.
pub fn tables(results: &Results) -> String {
    let mut out = String::new();
    for head in &results.sections {
        for (at, figure) in head.figures.iter().enumerate() {
            if let Some(table) = table(results, head, at) {
                out.push_str(&format!("\n{}: {figure}, for 1,000 operations\n\n{table}", head.title));
            }
        }
    }
    out
}

fn table(results: &Results, head: &SectionHead, at: usize) -> Option<String> {
    let mut generations = results.generations();
    generations.extend(head.published.iter().map(|p| p.generation.clone()));
    generations.sort_by_key(|name| (generation_order(name), name.clone()));
    generations.dedup();
    let mut names: Vec<String> =
        results.rows.iter().filter_map(|r| r.sections.get(&head.title)).flat_map(|f| f.keys().cloned()).collect();
    names.extend(head.published.iter().map(|p| p.name.clone()));
    names.sort();
    names.dedup();
    let mut first = vec![head.title.clone(), "sessions".into()];
    for generation in &generations {
        first.extend([generation.clone(), "published".into()]);
    }
    let mut rows = vec![first];
    for name in &names {
        for sessions in all_sessions(results, head) {
            let mut row = vec![name.clone(), sessions.to_string()];
            for generation in &generations {
                row.push(ours(results, head, at, name, generation, sessions).unwrap_or_default());
                row.push(theirs(head, at, name, generation, sessions).unwrap_or_default());
            }
            if row[2..].iter().any(|cell| !cell.is_empty()) {
                rows.push(row);
            }
        }
    }
    (rows.len() > 1).then(|| columns(&rows))
}

fn all_sessions(results: &Results, head: &SectionHead) -> Vec<u32> {
    let mut all = results.sessions();
    all.extend(head.published.iter().flat_map(|p| p.sessions.iter().copied()));
    all.sort_unstable();
    all.dedup();
    all
}

fn ours(
    results: &Results,
    head: &SectionHead,
    at: usize,
    name: &str,
    generation: &str,
    sessions: u32,
) -> Option<String> {
    let rows = results.rows.iter().filter(|r| r.generation == generation && r.sessions == sessions);
    let values = rows.filter_map(|r| {
        let figure = r.sections.get(&head.title)?.get(name)?.get(at)?;
        Some(figure / r.operations.max(1) as f64)
    });
    summary(values).map(|s| per_thousand(s.median, 1.0))
}

fn theirs(head: &SectionHead, at: usize, name: &str, generation: &str, sessions: u32) -> Option<String> {
    let p = head.published.iter().find(|p| p.name == name && p.generation == generation)?;
    let column = p.sessions.iter().position(|s| *s == sessions)?;
    Some(per_thousand(*p.figures.get(at)?.get(column)?, *p.operations.get(column)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Figures, PublishedSection, SectionHead};

    #[test]
    fn what_was_added_is_told_for_a_thousand_operations_beside_what_was_published() {
        let before = Figures::from([("a".into(), vec![10.0, 1.0])]);
        let after = Figures::from([("a".into(), vec![25.0, 1.0]), ("b".into(), vec![5.0, 2.0])]);
        let added = since(after, &before);
        assert_eq!(added["a"], [15.0, 0.0]);
        assert_eq!(added["b"], [5.0, 2.0]);
        let mut results = crate::results::tests::results();
        results.sections = vec![SectionHead {
            title: "Caches".into(),
            figures: vec!["gets".into(), "misses".into()],
            published: vec![PublishedSection {
                generation: "12.1".into(),
                name: "a".into(),
                sessions: vec![1],
                operations: vec![2000.0],
                figures: vec![vec![120_000.0]],
            }],
        }];
        for row in &mut results.rows {
            row.sections.insert("Caches".into(), added.clone());
        }
        let text = tables(&results);
        assert!(text.contains("Caches: gets, for 1,000 operations") && text.contains("60,000"), "{text}");
        assert!(text.contains("15"), "{text}");
    }
}
