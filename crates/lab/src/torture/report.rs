//! The results of a torture run: counts by the kind of death, times of recovery, and the failure, if any.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::results::Host;
use crate::statistics::summary;
use crate::text::{columns, thousands};

/// Instances that ended in the same way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The kind of end.
    pub kind: String,
    pub instance_kills: u64,
    /// Sessions that were killed while these instances ran.
    pub session_kills: u64,
    /// Commits that were acknowledged while they ran.
    pub commits: u64,
    /// Commits in flight at a death that were committed, and that were rolled back.
    pub in_flight_kept: u64,
    pub in_flight_lost: u64,
    /// Milliseconds of each following start.
    pub start_ms: Vec<f64>,
}

/// All results of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Torture {
    pub experiment: String,
    pub title: String,
    /// Seconds since 1970.
    pub started: u64,
    pub host: Host,
    pub version: String,
    pub parameters: BTreeMap<String, String>,
    pub seconds: f64,
    pub statements: u64,
    pub deadlocks: u64,
    /// Backups that were restored to a moment, the number of times the run continued with one, and files replaced from
    /// one.
    #[serde(default)]
    pub restores: u64,
    #[serde(default)]
    pub lives_gone_back: u64,
    #[serde(default)]
    pub files_put_back: u64,
    /// Sessions that panicked.
    #[serde(default)]
    pub panics: u64,
    pub rows: Vec<Row>,
    /// Deaths at named points.
    pub points: BTreeMap<String, u64>,
    pub failure: Option<String>,
}

impl Torture {
    /// The row of one kind.
    pub fn row(&mut self, kind: &str) -> &mut Row {
        let at = self.rows.iter().position(|r| r.kind == kind).unwrap_or_else(|| {
            self.rows.push(Row { kind: kind.into(), ..Row::default() });
            self.rows.len() - 1
        });
        &mut self.rows[at]
    }

    fn total(&self, figure: impl Fn(&Row) -> u64) -> u64 {
        self.rows.iter().map(figure).sum()
    }

    pub fn instance_kills(&self) -> u64 {
        self.total(|r| r.instance_kills)
    }

    pub fn session_kills(&self) -> u64 {
        self.total(|r| r.session_kills)
    }

    pub fn commits(&self) -> u64 {
        self.total(|r| r.commits)
    }

    fn lines(&self) -> Vec<Vec<String>> {
        let head = ["end of the instance", "instances", "session kills", "commits", "in flight: kept", "lost"];
        let mut lines: Vec<Vec<String>> =
            vec![head.iter().chain(&["start ms: median", "longest"]).map(|s| (*s).to_string()).collect()];
        let mut total = Row { kind: "all".into(), ..Row::default() };
        for row in &self.rows {
            lines.push(line(row));
            total.instance_kills += row.instance_kills;
            total.session_kills += row.session_kills;
            total.commits += row.commits;
            total.in_flight_kept += row.in_flight_kept;
            total.in_flight_lost += row.in_flight_lost;
            total.start_ms.extend(&row.start_ms);
        }
        lines.push(line(&total));
        lines
    }

    /// The tables, as text.
    pub fn table(&self) -> String {
        let mut out = format!("{}\n\n{}", self.title, columns(&self.lines()));
        out.push_str(&format!(
            "\n{} statements, {} deadlocks, {:.0} seconds, seed {}\n",
            thousands(self.statements as f64),
            thousands(self.deadlocks as f64),
            self.seconds,
            self.parameters.get("seed").map_or("", String::as_str)
        ));
        if self.panics > 0 {
            out.push_str(&format!("{} sessions panicked\n", self.panics));
        }
        if self.restores + self.files_put_back > 0 {
            out.push_str(&format!(
                "{} backups restored to a moment, the run continued with {} of them; {} data files restored from a backup\n",
                self.restores, self.lives_gone_back, self.files_put_back
            ));
        }
        if !self.points.is_empty() {
            let mut lines = vec![vec!["named point".to_string(), "deaths".to_string()]];
            lines.extend(self.points.iter().map(|(name, n)| vec![name.clone(), n.to_string()]));
            out.push_str(&format!("\n{}", columns(&lines)));
        }
        match &self.failure {
            Some(text) => out.push_str(&format!("\nFAILED: {text}\n")),
            None => out.push_str("\nNothing was lost, and nothing unexpected was found.\n"),
        }
        out
    }

    /// One line for each kind of death.
    pub fn csv(&self) -> String {
        let mut out = String::from(
            "kind,instance_kills,session_kills,commits,in_flight_kept,in_flight_lost,start_ms_median,start_ms_longest\n",
        );
        for r in &self.rows {
            let (median, longest) = times(r);
            out.push_str(&format!(
                "{},{},{},{},{},{},{median},{longest}\n",
                r.kind, r.instance_kills, r.session_kills, r.commits, r.in_flight_kept, r.in_flight_lost
            ));
        }
        out
    }
}

fn times(row: &Row) -> (String, String) {
    let all = summary(row.start_ms.iter().copied());
    let text = |f: Option<f64>| f.map_or(String::new(), |f| format!("{f:.0}"));
    (text(all.map(|s| s.median)), text(all.map(|s| s.greatest)))
}

fn line(row: &Row) -> Vec<String> {
    let (median, longest) = times(row);
    let mut out = vec![row.kind.clone()];
    let counts = [row.instance_kills, row.session_kills, row.commits, row.in_flight_kept, row.in_flight_lost];
    out.extend(counts.iter().map(|n| thousands(*n as f64)));
    out.extend([median, longest]);
    out
}
