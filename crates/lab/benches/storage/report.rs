//! The results: medians, ratios, a table and a file.

use crate::Sample;
use crate::common::median;
use std::path::Path;

/// All measurements of one engine for one kind of work.
struct Series {
    work: String,
    engine: String,
    rates: Vec<f64>,
    costs: Vec<f64>,
}

/// All measurements, in the order of their first appearance.
#[derive(Default)]
pub struct Report {
    all: Vec<Series>,
}

impl Report {
    /// Runs and records one measurement, as units a second and CPU nanoseconds a unit.
    pub fn measure(&mut self, work: &str, engine: &str, run: impl FnOnce() -> Option<Sample>) {
        let Some(sample) = run() else { return };
        let at = self.all.iter().position(|s| s.work == work && s.engine == engine);
        let at = at.unwrap_or_else(|| {
            let (work, engine) = (work.to_string(), engine.to_string());
            self.all.push(Series { work, engine, rates: Vec::new(), costs: Vec::new() });
            self.all.len() - 1
        });
        self.all[at].rates.push(sample.units / sample.seconds.max(1e-9));
        self.all[at].costs.extend(sample.cpu.map(|cpu| cpu / sample.units.max(1.0) * 1e9));
    }

    /// Prints a line for each kind of work and engine. Latchwork's have the ratio to the better of the peers.
    pub fn print(&self) {
        println!(
            "\n{:<44} {:<22} {:>14} {:>18} {:>12} {:>10}",
            "", "", "a second", "least to most", "best peer", "CPU ns"
        );
        let mut before = "";
        // Lines of one kind of work are adjacent.
        let first = |of: &Series| self.all.iter().position(|s| s.work == of.work);
        let mut all: Vec<&Series> = self.all.iter().collect();
        all.sort_by_key(|s| first(s));
        for s in all {
            let mut rates = s.rates.clone();
            let middle = median(&mut rates);
            let best = self.best_peer(&s.work).filter(|_| s.engine.starts_with("Latchwork"));
            let ratio = best.map_or(String::new(), |b| format!("{:.2} times", middle / b));
            let cost = if s.costs.is_empty() { String::new() } else { format!("{:.0}", median(&mut s.costs.clone())) };
            let spread = format!("{:.0}–{:.0}", rates[0], rates[rates.len() - 1]);
            let work = if s.work == before { "" } else { &s.work };
            println!("{work:<44} {:<22} {middle:>14.0} {spread:>18} {ratio:>12} {cost:>10}", s.engine);
            before = &s.work;
        }
    }

    fn best_peer(&self, work: &str) -> Option<f64> {
        let peers = self.all.iter().filter(|s| s.work == work && !s.engine.starts_with("Latchwork"));
        peers.map(|s| median(&mut s.rates.clone())).max_by(f64::total_cmp)
    }

    /// Writes all samples, in the order measured.
    pub fn write_json(&self, to: &Path) {
        let all: Vec<_> = self
            .all
            .iter()
            .map(|s| {
                serde_json::json!({
                    "work": s.work, "engine": s.engine, "units_a_second": s.rates, "cpu_ns_a_unit": s.costs,
                })
            })
            .collect();
        let text = serde_json::to_string_pretty(&all).expect("plain figures");
        std::fs::write(to, text).unwrap_or_else(|e| panic!("{}: {e}", to.display()));
    }
}
