//! The summary line: the instance and its load.

use serde_json::{Value as Json, json};

use crate::model::{CLASSES, Model};
use crate::sample::Facts;
use crate::sheet::{duration, short};
use crate::sheets::Look;

/// The contents of the head of a screen or page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    pub facts: Facts,
    pub wall_ms: u64,
    /// The period of the averages.
    pub seconds: f64,
    pub by_class: [f64; CLASSES.len()],
    /// The instance's own DB time, for comparison with the probes.
    pub db_time_per_s: f64,
    pub db_cpu_per_s: f64,
    pub sessions: usize,
    pub active: usize,
    pub rates: Vec<(&'static str, &'static str, f64)>,
}

/// Statistic, key in JSON, words on the screen.
const RATES: [(&str, &str, &str); 7] = [
    ("execute count", "executions_per_s", "exec/s"),
    ("session logical reads", "logical_reads_per_s", "LIO/s"),
    ("physical reads", "physical_reads_per_s", "reads/s"),
    ("user commits", "commits_per_s", "commits/s"),
    ("redo size", "redo_bytes_per_s", "redo B/s"),
    ("parse count (hard)", "hard_parses_per_s", "hard parses/s"),
    ("user calls", "calls_per_s", "calls/s"),
];

impl Summary {
    /// The summary of a model.
    pub fn of(model: &Model, look: Look) -> Summary {
        let w = model.window(look.window_s);
        let Some(now) = model.now() else { return Summary::default() };
        let users = now.sessions.iter().filter(|s| !s.background);
        Summary {
            facts: now.facts.clone(),
            wall_ms: now.wall_ms,
            seconds: w.seconds,
            by_class: w.load().by_class(look.background),
            db_time_per_s: w.rate(w.db_time_us) / 1e6,
            db_cpu_per_s: w.rate(w.db_cpu_us) / 1e6,
            sessions: users.clone().count(),
            active: users.filter(|s| s.status == "ACTIVE" && !(s.waiting && s.class == "Idle")).count(),
            rates: RATES.iter().map(|(name, key, words)| (*key, *words, w.figure(name))).collect(),
        }
    }

    /// Average active sessions.
    pub fn total(&self) -> f64 {
        self.by_class.iter().sum()
    }

    /// `exec/s 12k  LIO/s 1.2M …`
    pub fn rates_text(&self) -> String {
        self.rates.iter().map(|(_, words, n)| format!("{words} {}", short(*n))).collect::<Vec<_>>().join("  ")
    }

    /// The uptime of the instance.
    pub fn up(&self) -> String {
        let s = self.facts.up_seconds;
        if s >= 86_400 { format!("{}d{:02}h", s / 86_400, s / 3600 % 24) } else { duration(s as f64 * 1e6) }
    }

    /// The summary as an object; programs rely on the names.
    pub fn json(&self) -> Json {
        let round = |n: f64| json!((n * 1000.0).round() / 1000.0);
        let mut load = serde_json::Map::new();
        load.insert("total".into(), round(self.total()));
        for ((name, _), n) in CLASSES.iter().zip(self.by_class) {
            load.insert((*name).into(), round(n));
        }
        let rates: serde_json::Map<String, Json> =
            self.rates.iter().map(|(key, _, n)| (key.to_string(), round(*n))).collect();
        json!({
            "time_ms": self.wall_ms,
            "seconds": round(self.seconds),
            "instance": {
                "name": self.facts.instance, "database": self.facts.database, "host": self.facts.host,
                "version": self.facts.version, "latch_generation": self.facts.generation, "started": self.facts.started,
                "up_s": self.facts.up_seconds, "cpus": self.facts.cpus, "sga_bytes": self.facts.sga_bytes,
            },
            "average_active_sessions": load,
            "db_time_per_s": round(self.db_time_per_s),
            "db_cpu_per_s": round(self.db_cpu_per_s),
            "session_count": self.sessions,
            "active_session_count": self.active,
            "rates": rates,
        })
    }
}

/// `HH:MM:SS` in the observer's zone.
pub fn clock(wall_ms: u64) -> String {
    let s = (wall_ms / 1000) as i64;
    let s = s + i64::from(os::clock::utc_offset_seconds(s));
    format!("{:02}:{:02}:{:02}", s.rem_euclid(86_400) / 3600, s.rem_euclid(3600) / 60, s.rem_euclid(60))
}
