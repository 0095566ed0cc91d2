//! Forecasts as a table, as CSV and as JSON lines.

use std::fmt::Write as _;

use crate::forecast::{Check, Comparison, Forecast};

/// The figures of a forecast by name, in the order of the columns; not a number where there is none.
pub(crate) fn figures(f: &Forecast) -> [(&'static str, f64); 16] {
    let total = f.figures.total();
    [
        ("cpus", f64::from(f.cpus)),
        ("sessions", f64::from(f.sessions)),
        ("calls_per_second", f.rate.middle),
        ("low", f.rate.low),
        ("high", f.rate.high),
        ("percent_linear", f.percent_linear),
        ("gets", total.gets as f64),
        ("misses", total.misses as f64),
        ("sleeps", total.sleeps as f64),
        ("wait_us", total.wait_ps as f64 / 1e6),
        ("cpu_ns_per_call", f.figures.cpu_ns()),
        ("seconds", f.figures.window_ps as f64 / 1e12),
        ("queue", f.queue),
        ("usl", f.usl.unwrap_or(f64::NAN)),
        ("chi", f.chi),
        ("residual", f.residual),
    ]
}

fn reasons(f: &Forecast) -> String {
    f.refusals.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// A table for people. A refused cell has its reason instead of a band.
#[must_use]
pub fn table(forecasts: &[Forecast], comparisons: &[Comparison]) -> String {
    let head = ["design", "cpus", "sessions", "calls/s", "band of 95 %", "% linear", "miss/get %", "sleep/miss %"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows[0].extend(["wait %", "CPU ns/call", "queue", "USL", "chi %"].map(str::to_owned));
    for f in forecasts {
        let band = match f.refusals.is_empty() {
            true => format!("{:.0} to {:.0}", f.rate.low, f.rate.high),
            false => "refused".to_owned(),
        };
        rows.push(vec![
            f.choice.clone(),
            f.cpus.to_string(),
            f.sessions.to_string(),
            format!("{:.0}", f.rate.middle),
            band,
            format!("{:.1}", f.percent_linear),
            format!("{:.2}", f.figures.miss_rate() * 100.0),
            format!("{:.3}", f.figures.sleep_rate() * 100.0),
            format!("{:.2}", f.figures.asleep_share() * 100.0),
            format!("{:.1}", f.figures.cpu_ns()),
            format!("{:.0}", f.queue),
            f.usl.map_or_else(|| "-".to_owned(), |x| format!("{x:.0}")),
            format!("{:.1}", f.chi * 100.0),
        ]);
    }
    let mut out = aligned(&rows);
    for f in forecasts.iter().filter(|f| !f.refusals.is_empty()) {
        let _ = writeln!(out, "{}, {} cpus, {} sessions: refused: {}", f.choice, f.cpus, f.sessions, reasons(f));
    }
    for c in comparisons {
        let verdict = match (c.says, c.ratio.middle > 1.0) {
            (false, _) => "cannot say",
            (true, true) => "faster",
            (true, false) => "slower",
        };
        let band = match c.ratio.low.is_nan() {
            true => String::new(),
            false => format!(", {:.3} to {:.3}", c.ratio.low, c.ratio.high),
        };
        let _ = writeln!(
            out,
            "{} against {}, {} cpus, {} sessions: {:.3}{band}: {verdict}",
            c.choice, c.base, c.cpus, c.sessions, c.ratio.middle
        );
    }
    out
}

/// The counts of the recording and their simulation, as a table for people.
#[must_use]
pub fn checks(all: &[Check]) -> String {
    let head = ["counted sessions", "calls/s", "simulated", "error %", "miss/get %", "simulated", "sleep/miss %"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows[0].extend(["simulated", "CPU ns/call", "simulated"].map(str::to_owned));
    for check in all {
        let (counted, figures) = (&check.counted, &check.figures);
        rows.push(vec![
            counted.sessions.to_string(),
            format!("{:.0}", counted.rate),
            format!("{:.0}", check.rate),
            format!("{:+.1}", (check.rate / counted.rate - 1.0) * 100.0),
            format!("{:.2}", counted.miss_rate * 100.0),
            format!("{:.2}", figures.miss_rate() * 100.0),
            format!("{:.3}", counted.sleep_rate * 100.0),
            format!("{:.3}", figures.sleep_rate() * 100.0),
            format!("{:.1}", counted.cpu_ns),
            format!("{:.1}", figures.cpu_ns()),
        ]);
    }
    aligned(&rows)
}

/// Rows of cells in columns: the first to the left, the others to the right.
fn aligned(rows: &[Vec<String>]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let pad = " ".repeat(width - cell.chars().count());
            let _ = if at == 0 { write!(line, "{cell}{pad}") } else { write!(line, "  {pad}{cell}") };
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

/// CSV with a header line. Shares of a sweep are merged by leaving out all header lines but the first.
#[must_use]
pub fn csv(forecasts: &[Forecast]) -> String {
    let Some(first) = forecasts.first() else { return String::new() };
    let mut out = String::from("design");
    figures(first).iter().for_each(|(name, _)| write!(out, ",{name}").unwrap_or(()));
    out.push_str(",refused\n");
    for f in forecasts {
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        out.push_str(&quoted(&f.choice));
        for (_, value) in figures(f) {
            let _ = if value.is_finite() { write!(out, ",{value}") } else { write!(out, ",") };
        }
        let _ = writeln!(out, ",{}", quoted(&reasons(f)));
    }
    out
}

/// One JSON object a line. Shares of a sweep are merged by putting the files one after another.
#[must_use]
pub fn json(forecasts: &[Forecast]) -> String {
    let mut out = String::new();
    for f in forecasts {
        let _ = write!(out, "{{\"design\":{}", text(&f.choice));
        for (name, value) in figures(f) {
            let _ = match value.is_finite() {
                true => write!(out, ",\"{name}\":{value}"),
                false => write!(out, ",\"{name}\":null"),
            };
        }
        let all: Vec<String> = f.refusals.iter().map(|r| text(&r.to_string())).collect();
        let _ = writeln!(out, ",\"refused\":[{}]}}", all.join(","));
    }
    out
}

fn text(of: &str) -> String {
    let mut out = String::from("\"");
    for c in of.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => write!(out, "\\u{:04x}", c as u32).unwrap_or(()),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
