//! The tables of the publications: operations a second with percent of linear, and the figures of a latch.

use crate::latency::merged;
use crate::results::{Results, design};
use crate::statistics::summary;
use crate::text::{columns, thousands};

/// Operations a second and percent of linear of one generation, by sessions: the table of the publication, with
/// intervals.
pub fn throughput(results: &Results, generation: &str) -> String {
    let mut workloads: Vec<&str> = results.rows.iter().map(|r| r.workload.as_str()).collect();
    workloads.sort_unstable();
    workloads.dedup();
    let variants: Vec<String> = workloads
        .iter()
        .map(|workload| format!("{workload}@{generation}"))
        .filter(|variant| results.rows.iter().any(|r| r.variant == *variant))
        .collect();
    let mut rows = vec![vec!["sessions".to_string()]];
    for variant in &variants {
        rows[0].push(variant.split('@').next().unwrap_or(variant).to_string());
        rows[0].extend(["± %", "% linear", "±"].map(String::from));
    }
    for sessions in results.sessions() {
        let mut row = vec![sessions.to_string()];
        for variant in &variants {
            let (rate, linear) = (results.rate(variant, sessions), results.linear(variant, sessions));
            row.push(rate.map_or("-".into(), |s| thousands(s.average)));
            row.push(rate.map_or("-".into(), |s| s.percent()));
            row.push(linear.map_or("-".into(), |s| format!("{:.2}", s.average)));
            row.push(linear.and_then(|s| s.interval).map_or("-".into(), |half| format!("{half:.2}")));
        }
        rows.push(row);
    }
    columns(&rows)
}

/// Gets, misses, sleeps and wait time of one latch for one variant, by sessions; `None` when the latch was not used.
pub fn latch(results: &Results, variant: &str, latch: &str) -> Option<String> {
    let head = ["sessions", "gets", "misses", "spin gets", "sleeps", "wait time us", "% miss", "% sleep/miss"];
    let mut rows = vec![head.map(str::to_string).to_vec()];
    let mut any = false;
    for sessions in results.sessions() {
        let figure = |pick: fn(&crate::results::LatchFigures) -> u64| {
            let all = results.cell(variant, sessions).filter_map(|r| r.latches.get(latch)).map(|f| pick(f) as f64);
            summary(all).map(|s| s.median)
        };
        let Some(gets) = figure(|f| f.gets) else {
            continue;
        };
        any |= gets >= 1.0;
        let value = |pick| figure(pick).unwrap_or(0.0);
        let (misses, sleeps) = (value(|f| f.misses), value(|f| f.sleeps));
        let percent = |part: f64, whole: f64| {
            if whole > 0.0 { format!("{:.3}", 100.0 * part / whole) } else { "-".into() }
        };
        rows.push(vec![
            sessions.to_string(),
            thousands(gets),
            thousands(misses),
            thousands(value(|f| f.spin_gets)),
            thousands(sleeps),
            thousands(value(|f| f.wait_time_us)),
            percent(misses, gets),
            percent(sleeps, misses),
        ]);
    }
    any.then(|| columns(&rows))
}

/// The latencies of all variants, by sessions; `None` without any.
pub fn latencies(results: &Results) -> Option<String> {
    let head = [
        "variant",
        "sessions",
        "arrivals/s",
        "done/s",
        "average",
        "p50",
        "p90",
        "p99",
        "± %",
        "p99.9",
        "max",
        "% queued",
        "dropped",
        "% generator",
    ];
    let mut rows = vec![head.map(str::to_string).to_vec()];
    for variant in results.variants() {
        for sessions in results.sessions() {
            let Some(all) = merged(results.latencies(&variant, sessions)) else { continue };
            let cell = || results.latencies(&variant, sessions);
            let sum = |pick: fn(&crate::latency::Latency) -> u64| cell().map(pick).sum::<u64>() as f64;
            let asked = results.parameters.get("arrivals per second").cloned().unwrap_or_else(|| "-".into());
            let us = |us: f64| if us < 100.0 { format!("{us:.1}") } else { thousands(us) };
            let mut row = vec![variant.clone(), sessions.to_string(), asked];
            row.push(results.rate(&variant, sessions).map_or("-".into(), |s| thousands(s.average)));
            row.extend([all.average_us, all.p50_us, all.p90_us, all.p99_us].map(us));
            row.push(summary(cell().map(|l| l.percentiles.p99_us)).map_or("-".into(), |s| s.percent()));
            row.extend([all.p999_us, all.max_us].map(us));
            row.push(format!("{:.1}", 100.0 * sum(|l| l.queued) / sum(|l| l.arrivals).max(1.0)));
            row.push(thousands(sum(|l| l.dropped)));
            let generator = summary(cell().map(|l| 100.0 * l.generator_share));
            row.push(generator.map_or("-".into(), |s| format!("{:.1}", s.average)));
            rows.push(row);
        }
    }
    (rows.len() > 1).then(|| columns(&rows))
}

/// The sessions that got past a latch held by hand, by variant and number of sessions; `None` where none was held.
pub fn passed(results: &Results) -> Option<String> {
    let mut rows = vec![vec!["variant".to_string()]];
    rows[0].extend(results.sessions().iter().map(|n| format!("of {n}")));
    for variant in results.variants() {
        let mut row = vec![variant.clone()];
        for sessions in results.sessions() {
            let all = results.cell(&variant, sessions).filter_map(|r| r.passed).map(f64::from);
            row.push(summary(all).map_or(String::new(), |s| format!("{:.0}", s.median)));
        }
        if row[1..].iter().any(|cell| !cell.is_empty()) {
            rows.push(row);
        }
    }
    (rows.len() > 1).then(|| columns(&rows))
}

/// All tables of a run, as printed.
pub fn all(results: &Results) -> String {
    let mut out = String::new();
    out.push_str(&format!("{}\n{}\n\n", results.title, "=".repeat(results.title.chars().count())));
    if let Some(warning) = results.warning() {
        out.push_str(&format!("{warning}\n\n"));
    }
    let (date, host) = (results.date(), &results.host);
    out.push_str(&format!("{date}, {}, {} cores\n", host.cpu, host.cores));
    out.push_str("Operations per second while all sessions run, and % of linear with one session of the same repeat\n");
    out.push_str(&format!("{}\n", results.about_intervals()));
    if let Some(text) = results.about_windows() {
        out.push_str(&format!("{text}\n"));
    }
    for generation in results.generations() {
        out.push_str(&format!("\n{}, latch_generation = {generation}\n\n", design(&generation)));
        out.push_str(&throughput(results, &generation));
    }
    if let Some(table) = latencies(results) {
        out.push_str(&format!("\nLatencies\n{}\n\n{table}", results.about_latencies().join("\n")));
    }
    if let Some(table) = passed(results) {
        out.push_str(&format!("\nSessions that ended while the latch was held, of all\n\n{table}"));
    }
    for name in results.latches() {
        for variant in results.variants() {
            if let Some(table) = latch(results, &variant, &name) {
                out.push_str(&format!("\nLatch \"{name}\", {variant}\n\n{table}"));
            }
        }
    }
    if let Some(table) = crate::laws::table(&results.counts) {
        out.push_str("\nCounts per operation, or per the number given\n");
        out.push_str(&format!("{}\n\n{table}", crate::laws::rule(&results.counts)));
    }
    out.push_str(&crate::sections::tables(results));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_a_line_for_each_number_of_sessions() {
        let results = crate::results::tests::results();
        let text = throughput(&results, "latchwork");
        assert_eq!(text.lines().count(), 4);
        assert!(text.contains("90.00"), "{text}");
        // Two repeats of one session, 100 and 120: half of the interval is 115.5 % of the average.
        let row: Vec<&str> = text.lines().nth(2).unwrap().split_whitespace().collect();
        assert_eq!(row, ["1", "110", "115.5", "100.00", "-"], "{text}");
        // One repeat of two sessions has no interval.
        let row: Vec<&str> = text.lines().nth(3).unwrap().split_whitespace().collect();
        assert_eq!(row, ["2", "180", "-", "90.00", "-"], "{text}");
        assert_eq!(throughput(&results, "11.1").lines().next().unwrap().matches("% linear").count(), 2);
        let text = latch(&results, "b@latchwork", "Result Cache: Latch").unwrap();
        assert!(text.contains("2,001") && text.contains("30.000"), "{text}");
        assert!(latch(&results, "b@latchwork", "no latch").is_none());
    }

    #[test]
    fn latencies_of_repeats_are_merged_and_dropped_arrivals_are_told() {
        let results = crate::results::tests::with_latencies();
        let text = latencies(&results).unwrap();
        // 300 arrivals of 1 to 100 and 1 to 200 microseconds, and two that were dropped after a millisecond.
        let row: Vec<&str> = text.lines().nth(2).unwrap().split_whitespace().collect();
        assert_eq!((row[0], row[1], row[3], row[5]), ("b@latchwork", "1", "110", "76.0"), "{text}");
        assert_eq!((row[10], row[11], row[12]), ("1,000", "0.0", "2"), "{text}");
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(all(&results).contains("2 arrivals were dropped"));
        assert_eq!(latencies(&crate::results::tests::results()), None);
    }
}
