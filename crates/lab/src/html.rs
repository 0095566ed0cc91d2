//! The report: one self-contained HTML page.

use crate::results::{Results, Row, spread};
use crate::svg::{Plot, Series, escape};
use crate::table;

pub(crate) const STYLE: &str = "
:root{--ink:#1c2430;--soft:#5c6878;--paper:#fff;--line:#e3e7ec;--panel:#f7f8fa}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1100px;padding:28px 24px 60px;font:15px/1.5 system-ui,-apple-system,'Segoe UI',sans-serif;color:var(--ink);background:var(--paper)}
h1{font-size:26px;margin:0 0 4px}h2{font-size:19px;margin:40px 0 10px}
p{max-width:75ch}.soft{color:var(--soft)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px;font-size:14px}dt{color:var(--soft)}dd{margin:0}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(460px,1fr));gap:18px}
figure{margin:0;padding:12px;border:1px solid var(--line);border-radius:8px;background:var(--paper)}
figcaption{font-size:13px;color:var(--soft);margin-top:6px}
svg{width:100%;height:auto;display:block}
svg text{font:12px system-ui,sans-serif;fill:var(--soft)}svg text.title{font-size:15px;font-weight:600;fill:var(--ink)}
.grid{stroke:var(--line)}polyline{fill:none;stroke-width:2.2}.bar{stroke-width:1.2;opacity:.55}
.dashed{stroke-dasharray:6 4}
.legend{list-style:none;margin:6px 0 0;padding:0;display:flex;flex-wrap:wrap;gap:4px 16px;font-size:13px}
.legend li{display:flex;align-items:center;gap:6px}.legend svg{width:26px;height:10px}.legend line{stroke-width:2.4}
.tables{overflow-x:auto}pre{background:var(--panel);border:1px solid var(--line);border-radius:8px;padding:12px;overflow-x:auto;font:12.5px/1.45 ui-monospace,Menlo,Consolas,monospace}
details summary{cursor:pointer;font-weight:600;margin-top:14px}
";

/// Colours that stay apart for most eyes, also in grey.
const PALETTE: &[&str] =
    &["#0b6e99", "#c2410c", "#15803d", "#7c3aed", "#b91c5c", "#8a6d00", "#475569", "#0d9488", "#9f1239", "#4338ca"];

/// How the latch figures of a variant are drawn: title, whether per get, whether logarithmic, and the figure.
type LatchPlot = (&'static str, &'static str, fn(&crate::results::LatchFigures) -> f64);

const LATCH_PLOTS: &[LatchPlot] = &[
    ("Misses, % of gets", "% of gets", |f| percent(f.misses, f.gets)),
    ("Sleeps per 1000 gets", "sleeps / 1000 gets", |f| 10.0 * percent(f.sleeps, f.gets)),
    ("Wait time per 1000 gets", "µs per 1000 gets", |f| 10.0 * percent(f.wait_time_us, f.gets)),
];

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

fn series(results: &Results, variant: &str, colour: usize, figure: &dyn Fn(&Row) -> Option<f64>) -> Series {
    let mut points = Vec::new();
    let mut bars = Vec::new();
    for sessions in results.sessions() {
        if let Some(s) = spread(results.cell(variant, sessions).filter_map(figure)) {
            points.push((f64::from(sessions), s.median));
            if s.greatest > s.least {
                bars.push((f64::from(sessions), s.least, s.greatest));
            }
        }
    }
    Series { title: variant.to_string(), points, bars, colour, dashed: false }
}

fn figure(plot: &Plot<'_>, caption: &str) -> String {
    format!("<figure>{}{}<figcaption>{}</figcaption></figure>\n", plot.svg(), plot.legend(), escape(caption))
}

/// The colours of plotted series.
pub(crate) fn style_of_series() -> String {
    let rule = |(at, colour): (usize, &&str)| format!(".s{at}{{stroke:{colour}}}circle.s{at}{{fill:{colour}}}");
    PALETTE.iter().enumerate().map(rule).collect()
}

/// The same for areas.
pub(crate) fn style_of_fills() -> String {
    PALETTE.iter().enumerate().map(|(at, colour)| format!(".f{at}{{fill:{colour}}}")).collect()
}

/// The whole page.
pub fn page(results: &Results) -> String {
    let variants = results.variants();
    let mut out = String::from("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">");
    out.push_str(&format!("<title>{}</title><style>{STYLE}", escape(&results.title)));
    out.push_str(&style_of_series());
    out.push_str("</style></head><body>\n");
    out.push_str(&format!(
        "<h1>{}</h1>\n<p class=\"soft\">{}</p>\n",
        escape(&results.title),
        escape(&results.question)
    ));
    if let Some(warning) = results.warning() {
        out.push_str(&format!("<p><strong>{}</strong></p>\n", escape(&warning)));
    }
    out.push_str(&facts_of(results));

    let generations = results.generations();
    let colour = |variant: &str| {
        let generation = variant.rsplit('@').next().unwrap_or(variant);
        generations.iter().position(|g| g == generation).unwrap_or(0) % PALETTE.len()
    };
    out.push_str("<h2>Throughput</h2>\n<div class=\"plots\">\n");
    for workload in workloads(results) {
        let title = format!("{workload}: operations per second");
        let rate = Plot {
            title: &title,
            x_label: "sessions",
            y_label: "operations / s",
            log: false,
            series: lines(results, &workload, &variants, &colour, &|r| Some(r.ops_per_s)),
        };
        out.push_str(&figure(&rate, "Median of the repeats; bars from the least to the greatest."));
        let title = format!("{workload}: % of linear");
        let linear = Plot {
            title: &title,
            x_label: "sessions",
            y_label: "% of linear",
            log: false,
            series: lines(results, &workload, &variants, &colour, &|r| r.pct_linear),
        };
        let cores = results.host.cores;
        let caption = format!(
            "Of the one-session rate times the sessions. This machine has {cores} cores: with more sessions {cores}/sessions is the best there is."
        );
        out.push_str(&figure(&linear, &caption));
    }
    out.push_str("</div>\n");
    out.push_str(&published(results, &variants, &colour));
    if let Some(table) = crate::laws::table(&results.counts) {
        out.push_str(&format!(
            "<h2>Counted, for an operation unless more are named</h2>\n<pre>{}</pre>\n",
            escape(&table)
        ));
    }
    if let Some(table) = table::passed(results) {
        out.push_str(&format!(
            "<h2>Sessions that ended while the latch was held, of all</h2>\n<pre>{}</pre>\n",
            escape(&table)
        ));
    }
    let sections = crate::sections::tables(results);
    if !sections.is_empty() {
        out.push_str(&format!("<h2>Sections</h2>\n<pre>{}</pre>\n", escape(sections.trim_start())));
    }
    out.push_str(&latches(results, &variants, &colour));

    out.push_str("<h2>Tables</h2>\n<div class=\"tables\">");
    for generation in results.generations() {
        let text = table::throughput(results, &generation);
        out.push_str(&format!("<h3>latch_generation = {}</h3><pre>{}</pre>\n", escape(&generation), escape(&text)));
    }
    for latch in results.latches() {
        for variant in &variants {
            if let Some(text) = table::latch(results, variant, &latch) {
                out.push_str(&format!(
                    "<details><summary>{}, {}</summary><pre>{}</pre></details>\n",
                    escape(&latch),
                    escape(variant),
                    escape(&text)
                ));
            }
        }
    }
    out.push_str("</div>\n</body></html>\n");
    out
}

/// The workloads, by name.
fn workloads(results: &Results) -> Vec<String> {
    let mut all: Vec<String> = results.rows.iter().map(|r| r.workload.clone()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// One line for each generation of a workload.
fn lines(
    results: &Results,
    workload: &str,
    variants: &[String],
    colour: &dyn Fn(&str) -> usize,
    figure: &dyn Fn(&Row) -> Option<f64>,
) -> Vec<Series> {
    let own = variants.iter().filter(|v| v.split('@').next() == Some(workload));
    own.map(|v| {
        let mut line = series(results, v, colour(v), figure);
        line.title = v.rsplit('@').next().unwrap_or(v).to_string();
        line
    })
    .collect()
}

/// What was run, where, and how.
pub(crate) fn facts_of(results: &Results) -> String {
    let mut out = String::from("<dl>");
    let mut fact = |name: &str, value: String| {
        if !value.is_empty() {
            out.push_str(&format!("<dt>{}</dt><dd>{}</dd>", escape(name), escape(&value)));
        }
    };
    fact("Experiment", results.experiment.clone());
    fact("After", results.source.clone());
    fact(
        "Machine",
        format!("{}, {} cores, {} MB", results.host.cpu, results.host.cores, results.host.memory_bytes >> 20),
    );
    fact("Kernel", results.host.kernel.clone());
    fact("Latchwork", results.version.clone());
    for (name, value) in &results.parameters {
        fact(name, value.clone());
    }
    out.push_str("</dl>\n");
    out
}

/// The published curves beside ours, as % of linear, so that machines of different times compare.
fn published(results: &Results, variants: &[String], colour: &dyn Fn(&str) -> usize) -> String {
    if results.published.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<h2>Published and measured</h2>\n<p>Each curve is divided by its own one-session rate, so that machines of different \
         times can be compared. Dashed lines are the published ones.</p>\n<div class=\"plots\">\n",
    );
    for workload in workloads(results) {
        let times = |r: &Row| r.pct_linear.map(|p| p * f64::from(r.sessions) / 100.0);
        let mut lines = lines(results, &workload, variants, colour, &times);
        for curve in results.published.iter().filter(|p| p.workload == workload) {
            let one = curve.ops_per_s.first().copied().unwrap_or(1.0);
            let points =
                curve.sessions.iter().zip(&curve.ops_per_s).map(|(n, rate)| (f64::from(*n), rate / one)).collect();
            let colour = (results.generations().len() + lines.iter().filter(|l| l.dashed).count()) % PALETTE.len();
            lines.push(Series { title: curve.title.clone(), points, bars: vec![], colour, dashed: true });
        }
        let title = format!("{workload}: times the one-session rate");
        let plot = Plot { title: &title, x_label: "sessions", y_label: "times one session", log: false, series: lines };
        out.push_str(&figure(&plot, ""));
    }
    out.push_str("</div>\n");
    out
}

fn latches(results: &Results, variants: &[String], colour: &dyn Fn(&str) -> usize) -> String {
    let mut out = String::new();
    let mut none: Vec<String> = Vec::new();
    let mut lines_of =
        |title: &str, y_label: &str, pick: fn(&crate::results::LatchFigures) -> f64, names: &[String]| {
            let mut lines = Vec::new();
            for variant in variants {
                for name in names {
                    let is_used = used(results, variant, name);
                    if is_used {
                        let mut line = series(results, variant, colour(variant), &|r| r.latches.get(name).map(pick));
                        line.title = variant.replace('@', " ");
                        lines.push(line);
                    }
                }
            }
            if lines.iter().all(|line| line.points.iter().all(|(_, y)| *y == 0.0)) {
                none.push(title.to_string());
                return;
            }
            let plot = Plot { title, x_label: "sessions", y_label, log: false, series: lines };
            out.push_str(&figure(&plot, ""));
        };
    let all = results.latches();
    let (result_cache, others): (Vec<String>, Vec<String>) =
        all.into_iter().partition(|n| n.starts_with("Result Cache"));
    for (group, names) in [("Result Cache latch", result_cache), ("cache buffers chains", others)] {
        if names.is_empty() {
            continue;
        }
        for (title, y_label, pick) in LATCH_PLOTS {
            lines_of(&format!("{group}: {}", title.to_lowercase()), y_label, *pick, &names);
        }
    }
    if out.is_empty() && none.is_empty() {
        return out;
    }
    let none = if none.is_empty() {
        String::new()
    } else {
        format!("<p class=\"soft\">Zero in every cell: {}.</p>\n", escape(&none.join("; ")))
    };
    format!(
        "<h2>Latches</h2>\n<p>A get counts when the latch is had, a miss when the first try failed, a sleep each time the session \
         went to sleep. A versioned read is a get; a check that failed is a miss.</p>\n<div class=\"plots\">\n{out}</div>\n{none}"
    )
}

/// Whether a variant's cells get the latch at all: once an operation in a hundred or more.
fn used(results: &Results, variant: &str, latch: &str) -> bool {
    let rows = results.rows.iter().filter(|r| r.variant == variant);
    rows.filter_map(|r| r.latches.get(latch).map(|f| (f.gets, r.operations)))
        .any(|(gets, operations)| gets * 100 > operations)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_self_contained_and_escaped() {
        let page = page(&crate::results::tests::results());
        assert!(page.contains("An &lt;experiment&gt;"));
        assert!(!page.contains("<script") && !page.contains("http"), "nothing is fetched");
        assert_eq!(page.matches("<svg viewBox=\"0 0 680").count(), page.matches("<figure>").count());
        assert!(page.matches("<figure>").count() >= 4);
        assert!(page.contains("class=\"s2 dashed\""));
    }
}
