//! The table on the screen, the figures as JSON and CSV.

use crate::{Measured, Quarter};
use serde_json::{Value, json};

/// The goals: geometric means against PostgreSQL and DuckDB, the worst query against PostgreSQL, and a quarter of the
/// memory against all of it.
const AGAINST_POSTGRES: f64 = 0.7;
const AGAINST_DUCKDB: f64 = 5.0;
const WORST_QUERY: f64 = 1.5;
const QUARTER: f64 = 3.0;
/// Smallest time used in a ratio, in milliseconds: a shorter time is mostly that of the clock and the socket.
const LEAST_MS: f64 = 0.2;

pub struct Report {
    pub engines: Vec<&'static str>,
    pub queries: Vec<Measured>,
    pub scale: f64,
    pub rounds: usize,
    pub timeout_s: f64,
    pub ceiling_bytes: u64,
    pub by_processor: bool,
}

impl Report {
    fn place(&self, engine: &str) -> Option<usize> {
        self.engines.iter().position(|name| *name == engine)
    }

    /// Ratios of Latchwork's times to those of a peer, for each query that both have; a query that did not end counts
    /// as the limit.
    fn ratios(&self, peer: &str) -> Vec<(usize, f64)> {
        let (Some(ours), Some(theirs)) = (self.place("Latchwork"), self.place(peer)) else { return Vec::new() };
        let ratio = |q: &Measured| {
            let (a, b) = (q.times[ours].ms?, q.times[theirs].ms?);
            Some((q.number, a.max(LEAST_MS) / b.max(LEAST_MS)))
        };
        self.queries.iter().filter_map(ratio).collect()
    }

    pub fn print(&self) {
        let measure = if self.by_processor { "milliseconds of the processor" } else { "milliseconds by the clock" };
        println!("\nTPC-H, scale {}, medians of {} warm rounds, {measure}\n", self.scale, self.rounds);
        print!("{:<5}", "query");
        self.engines.iter().for_each(|name| print!("{name:>13}"));
        let peers = || self.engines.iter().filter(|name| **name != "Latchwork");
        peers().for_each(|name| print!("{:>14}", format!("x {name}")));
        println!("{:>11}  answers", "memory MB");
        for q in &self.queries {
            print!("{:<5}", format!("Q{}", q.number));
            q.times.iter().for_each(|t| print!("{:>13}", t.to_string()));
            for peer in peers() {
                let ratio = self.ratios(peer).into_iter().find(|(number, _)| *number == q.number);
                print!("{:>14}", ratio.map_or("-".to_string(), |(_, r)| format!("{r:.2}")));
            }
            println!("{:>11.1}  {}", q.memory_bytes as f64 / 1e6, q.verdict());
        }
        println!();
        for peer in peers() {
            let ratios = self.ratios(peer);
            if ratios.is_empty() {
                continue;
            }
            let (worst, at) = ratios.iter().fold((0.0, 0), |m, (q, r)| if *r > m.0 { (*r, *q) } else { m });
            println!(
                "against {peer}: geometric mean {:.2} over {} queries, worst Q{at} {worst:.2}",
                mean(&ratios),
                ratios.len()
            );
        }
        for line in self.shortfall() {
            println!("MISSED  {line}");
        }
    }

    /// The missed goals.
    pub fn shortfall(&self) -> Vec<String> {
        let mut all = Vec::new();
        for (peer, goal) in [("PostgreSQL", AGAINST_POSTGRES), ("DuckDB", AGAINST_DUCKDB)] {
            let ratios = self.ratios(peer);
            if !ratios.is_empty() && mean(&ratios) > goal {
                all.push(format!("geometric mean {:.2} of {peer}'s time; goal {goal}", mean(&ratios)));
            }
        }
        for (number, ratio) in self.ratios("PostgreSQL").into_iter().filter(|(_, r)| *r > WORST_QUERY) {
            all.push(format!("Q{number} takes {ratio:.2} of PostgreSQL's time; goal {WORST_QUERY}"));
        }
        for q in &self.queries {
            let ours = self.place("Latchwork").map(|at| &q.times[at]);
            if let Some(error) = ours.and_then(|t| t.error.as_ref()) {
                all.push(format!("Q{} fails: {error}", q.number));
            }
            if ours.is_some_and(|t| t.late) {
                all.push(format!("Q{} did not end in {} s", q.number, self.timeout_s));
            }
            if q.memory_bytes > self.ceiling_bytes {
                let (has, may) = (q.memory_bytes as f64 / 1e6, self.ceiling_bytes as f64 / 1e6);
                all.push(format!("Q{} grew by {has:.0} MB; its memory is {may:.0} MB", q.number));
            }
            q.differences.iter().for_each(|d| all.push(format!("Q{} answers differ: {d}", q.number)));
        }
        all
    }

    pub fn json(&self) -> Value {
        let queries = self.queries.iter().map(|q| {
            let times = self.engines.iter().zip(&q.times);
            let times: serde_json::Map<String, Value> = times
                .map(|(name, t)| {
                    (
                        name.to_string(),
                        json!({ "clock_ms": t.clock_ms, "cpu_ms": t.cpu_ms, "late": t.late, "error": t.error }),
                    )
                })
                .collect();
            json!({
                "query": q.number, "rows": q.rows, "times": times, "memory_bytes": q.memory_bytes,
                "differences": q.differences,
            })
        });
        let peers = self.engines.iter().filter(|name| **name != "Latchwork");
        let means: serde_json::Map<String, Value> =
            peers.map(|peer| (peer.to_string(), json!(mean(&self.ratios(peer))))).collect();
        json!({
            "scale": self.scale, "rounds": self.rounds, "timeout_s": self.timeout_s,
            "queries": queries.collect::<Vec<Value>>(), "geometric_means": means, "shortfall": self.shortfall(),
        })
    }

    pub fn csv(&self) -> String {
        let mut text = format!("query,rows,memory_bytes,{}\n", self.engines.join(","));
        for q in &self.queries {
            let times: Vec<String> =
                q.times.iter().map(|t| t.ms.map_or(String::new(), |ms| format!("{ms:.3}"))).collect();
            text += &format!("{},{},{},{}\n", q.number, q.rows, q.memory_bytes, times.join(","));
        }
        text
    }
}

fn mean(ratios: &[(usize, f64)]) -> f64 {
    (ratios.iter().map(|(_, r)| r.ln()).sum::<f64>() / ratios.len() as f64).exp()
}

/// Prints queries with all of their memory and with a quarter of it. Returns the missed goal, if any.
pub fn print_quarter(all: &[Quarter]) -> Vec<String> {
    println!("\nWith a quarter of the memory\n");
    println!(
        "{:<5}{:>12}{:>12}{:>8}{:>12}{:>12}{:>9}",
        "query", "ms", "quarter ms", "times", "used MB", "area MB", "spills"
    );
    let mut short = Vec::new();
    for q in all {
        let times = q.quarter_ms / q.whole_ms.max(LEAST_MS);
        println!(
            "{:<5}{:>12.1}{:>12.1}{times:>8.2}{:>12.1}{:>12.2}{:>9}",
            format!("Q{}", q.number),
            q.whole_ms,
            q.quarter_ms,
            q.used_bytes as f64 / 1e6,
            q.area_bytes as f64 / 1e6,
            q.spills
        );
        if times > QUARTER {
            short.push(format!(
                "Q{} takes {times:.2} times as long with a quarter of its memory; goal {QUARTER}",
                q.number
            ));
        }
        if !q.same {
            short.push(format!("Q{} gives other rows with a quarter of its memory", q.number));
        }
    }
    short.iter().for_each(|line| println!("MISSED  {line}"));
    short
}
