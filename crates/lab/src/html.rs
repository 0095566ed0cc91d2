//! The report: one self-contained HTML page.
//!
//! The colour shows the design, and each generation has the same colour on every page; the marker shows the workload. A
//! line measured here is called `Latchwork as 11.1`; a published one is dashed, has hollow markers, and is named by
//! machine, year and release.

use crate::error::LabError;
use crate::files::write_file;
use crate::results::{PublishedCurve, Results, Row, design, generation_order};
use crate::statistics::summary;
use crate::svg::{MARKER_NAMES, MARKERS, Plot, Series, escape};
use crate::table;
use std::path::Path;

pub(crate) const STYLE: &str = "
:root{color-scheme:light dark;--ink:#1c2430;--soft:#5c6878;--paper:#fff;--line:#e3e7ec;--panel:#f7f8fa;--wrong:#b91c1c;
--c0:#64748b;--c1:#8a6d00;--c2:#15803d;--c3:#c2410c;--c4:#be185d;--c5:#7c3aed;--c6:#0d9488;--c7:#4338ca;--c8:#7c2d12;--c9:#0369a1}
@media(prefers-color-scheme:dark){:root{--ink:#e6eaf0;--soft:#a3aebd;--paper:#12161c;--line:#2c343f;--panel:#1a2029;--wrong:#f87171;
--c0:#94a3b8;--c1:#d4b106;--c2:#4ade80;--c3:#fb923c;--c4:#f472b6;--c5:#a78bfa;--c6:#2dd4bf;--c7:#818cf8;--c8:#d6a187;--c9:#38bdf8}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1100px;padding:28px 24px 60px;font:15px/1.5 system-ui,-apple-system,'Segoe UI',sans-serif;color:var(--ink);background:var(--paper)}
h1{font-size:26px;margin:0 0 4px}h2{font-size:19px;margin:40px 0 10px}
p{max-width:75ch}.soft{color:var(--soft)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px;font-size:14px}dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
.plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(460px,100%),1fr));gap:18px}
figure{margin:0;padding:12px;border:1px solid var(--line);border-radius:8px;background:var(--paper)}
figcaption{font-size:13px;color:var(--soft);margin-top:6px}
svg{width:100%;height:auto;display:block}
svg text{font:12px system-ui,sans-serif;fill:var(--soft)}svg text.title{font-size:15px;font-weight:600;fill:var(--ink)}
.grid{stroke:var(--line)}polyline{fill:none;stroke-width:2}.bar{fill:none;stroke-width:1.2;opacity:.6}
.dashed{stroke-dasharray:6 4}.dotted{stroke-dasharray:1.5 4}path.bar.dashed{stroke-dasharray:none}path.hollow{fill:var(--paper)}
.legend{list-style:none;margin:6px 0 0;padding:0;display:flex;flex-wrap:wrap;gap:4px 16px;font-size:13px}
.legend li{display:flex;align-items:center;gap:6px}.legend svg{width:34px;height:12px;flex:none}.legend line{stroke-width:2}
.tables{overflow-x:auto}pre{background:var(--panel);border:1px solid var(--line);border-radius:8px;padding:12px;overflow-x:auto;font:12.5px/1.45 ui-monospace,Menlo,Consolas,monospace}
details summary{cursor:pointer;font-weight:600;margin-top:14px}
";

/// Colours of the palette, which the style sheet defines for light and dark pages.
pub(crate) const COLOURS: usize = 10;

/// The colour of a generation, the same on every page.
fn colour_of(generation: &str) -> usize {
    generation_order(generation) % COLOURS
}

/// A plot of latch figures: title, whether per get, whether logarithmic, and the figure.
type LatchPlot = (&'static str, &'static str, fn(&crate::results::LatchFigures) -> f64);

const LATCH_PLOTS: &[LatchPlot] = &[
    ("Misses, % of gets", "% of gets", |f| percent(f.misses, f.gets)),
    ("Sleeps per 1000 gets", "sleeps / 1000 gets", |f| 10.0 * percent(f.sleeps, f.gets)),
    ("Wait time per 1000 gets", "µs per 1000 gets", |f| 10.0 * percent(f.wait_time_us, f.gets)),
];

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// A measured line of a variant: averages of a figure, with the interval where there is more than one repeat.
fn series(results: &Results, variant: &str, figure: &dyn Fn(&Row) -> Option<f64>) -> Series {
    let (workload, generation) = variant.rsplit_once('@').unwrap_or((variant, ""));
    let marker = workloads(results).iter().position(|w| w == workload).unwrap_or(0);
    let (points, bars) = points(results, variant, figure);
    Series {
        title: design(generation),
        points,
        bars,
        colour: colour_of(generation),
        marker,
        published: false,
        foretold: false,
    }
}

/// Places with a figure, and places with both ends of an interval.
type Points = (Vec<(f64, f64)>, Vec<(f64, f64, f64)>);

/// Averages and intervals of a variant's cells, by sessions.
pub(crate) fn points(results: &Results, variant: &str, figure: &dyn Fn(&Row) -> Option<f64>) -> Points {
    let (mut points, mut bars) = (Vec::new(), Vec::new());
    for sessions in results.sessions() {
        let Some(s) = summary(results.cell(variant, sessions).filter_map(figure)) else { continue };
        points.push((f64::from(sessions), s.average));
        bars.extend(s.ends().filter(|(low, high)| high > low).map(|(low, high)| (f64::from(sessions), low, high)));
    }
    (points, bars)
}

/// The meaning of the bars of a run's plots.
pub(crate) fn about_bars(results: &Results) -> &'static str {
    match results.cells.iter().any(|c| c.ops_per_s.count > 1) {
        true => "Averages of the repeats; a bar is the 95 % interval of the average, and goes on where it has no cap.",
        false => "One repeat: there is no interval, and a difference may be chance.",
    }
}

/// The meaning of colour and marker, for plots of all workloads.
fn about_lines(results: &Results) -> String {
    let workloads = workloads(results);
    let named: Vec<String> =
        workloads.iter().enumerate().map(|(n, w)| format!("{} {w}", MARKER_NAMES[n % MARKERS])).collect();
    match workloads.len() {
        0 | 1 => "Colour: design.".into(),
        _ => format!("Colour: design. Marker: workload ({}).", named.join(", ")),
    }
}

fn figure(plot: &Plot<'_>, caption: &str) -> String {
    format!("<figure>{}{}<figcaption>{}</figcaption></figure>\n", plot.svg(), plot.legend(), escape(caption))
}

/// The colours of plotted series and of their markers.
pub(crate) fn style_of_series() -> String {
    let rule = |at: usize| {
        format!(
            ".s{at}{{stroke:var(--c{at})}}circle.s{at}{{fill:var(--c{at})}}.m{at}{{fill:var(--c{at});stroke:var(--c{at});stroke-width:1.3}}"
        )
    };
    (0..COLOURS).map(rule).collect()
}

/// The same for areas.
pub(crate) fn style_of_fills() -> String {
    (0..COLOURS).map(|at| format!(".f{at}{{fill:var(--c{at})}}")).collect()
}

/// Writes JSON, CSV and the page into a folder.
///
/// # Errors
/// When a file cannot be written.
pub fn write(results: &Results, folder: &Path) -> Result<(), LabError> {
    std::fs::create_dir_all(folder).map_err(|e| LabError::new(format!("{}: {e}", folder.display())))?;
    let json = serde_json::to_string_pretty(results).map_err(|e| LabError::new(e.to_string()))?;
    write_file(&folder.join("results.json"), &json)?;
    write_file(&folder.join("results.csv"), &results.csv())?;
    if let Some(log) = results.latency_log()? {
        write_file(&folder.join("latencies.hlog"), &log)?;
    }
    write_file(&folder.join("report.html"), &page(results))
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

    out.push_str(&format!(
        "<h2>Throughput</h2>\n<p>A solid line is Latchwork on this machine, in the design that is named; a dashed line with hollow \
         markers was published of Oracle, with machine, year and release. {}{}</p>\n<div class=\"plots\">\n",
        escape(&results.about_intervals()),
        results.about_windows().map(|text| format!(" {}", escape(&text))).unwrap_or_default()
    ));
    for workload in workloads(results) {
        let title = format!("{workload}: operations per second");
        let rate = Plot {
            title: &title,
            x_label: "sessions",
            y_label: "operations / s",
            log: false,
            series: lines(results, &workload, &variants, &|r| Some(r.ops_per_s)),
        };
        let caption = format!("{} While all sessions run.", about_bars(results));
        out.push_str(&figure(&rate, &caption));
        let title = format!("{workload}: % of linear");
        let linear = Plot {
            title: &title,
            x_label: "sessions",
            y_label: "% of linear",
            log: false,
            series: lines(results, &workload, &variants, &|r| r.pct_linear),
        };
        let cores = results.host.cores;
        let caption = format!(
            "Of the one-session rate of the same repeat times the sessions. This machine has {cores} cores: with more sessions \
             {cores}/sessions is the best there is."
        );
        out.push_str(&figure(&linear, &caption));
    }
    out.push_str("</div>\n");
    out.push_str(&published(results, &variants));
    if let Some(table) = crate::laws::table(&results.counts) {
        out.push_str(&format!(
            "<h2>Counts per operation, or per the number given</h2>\n<p>{}</p>\n<pre>{}</pre>\n",
            escape(&crate::laws::rule(&results.counts)),
            escape(&table)
        ));
    }
    if let Some(table) = table::latencies(results) {
        out.push_str("<h2>Latencies</h2>\n<div class=\"plots\">\n");
        for workload in workloads(results) {
            let title = format!("{workload}: latency, 99th percentile");
            let p99 = &|r: &Row| r.latency.as_ref().map(|l| l.percentiles.p99_us);
            let series = lines(results, &workload, &variants, p99);
            let plot = Plot { title: &title, x_label: "sessions", y_label: "microseconds", log: true, series };
            out.push_str(&figure(&plot, about_bars(results)));
        }
        out.push_str(&format!(
            "</div>\n<p>{}</p>\n<pre>{}</pre>\n",
            escape(&results.about_latencies().join(" ")),
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
    out.push_str(&latches(results, &variants));
    out.push_str(&places(results, &variants));

    out.push_str("<h2>Tables</h2>\n<div class=\"tables\">");
    for generation in results.generations() {
        let text = table::throughput(results, &generation);
        let (design, generation) = (design(&generation), escape(&generation));
        out.push_str(&format!(
            "<h3>{}, latch_generation = {generation}</h3><pre>{}</pre>\n",
            escape(&design),
            escape(&text)
        ));
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
fn lines(results: &Results, workload: &str, variants: &[String], figure: &dyn Fn(&Row) -> Option<f64>) -> Vec<Series> {
    let own = variants.iter().filter(|v| v.split('@').next() == Some(workload));
    own.map(|v| series(results, v, figure)).collect()
}

/// A published line, as times its own one-session rate. `nth` of its plot chooses the marker.
fn published_line(curve: &PublishedCurve, nth: usize) -> Series {
    let one = curve.ops_per_s.first().copied().unwrap_or(1.0);
    let points = curve.sessions.iter().zip(&curve.ops_per_s).map(|(n, rate)| (f64::from(*n), rate / one)).collect();
    let colour = curve.generation.as_deref().map_or(0, colour_of);
    Series { title: curve.label(), points, bars: vec![], colour, marker: nth, published: true, foretold: false }
}

/// The prediction of a published line, up to the first refused point: a line beyond it would run through refused ones.
/// `None` where no point is left.
fn foretold_line(curve: &PublishedCurve, nth: usize) -> Option<Series> {
    let foretold = curve.foretold.as_ref()?;
    let one = curve.ops_per_s.first().copied().unwrap_or(1.0);
    let places = curve.sessions.iter().zip(&foretold.ops_per_s);
    let points: Vec<(f64, f64)> = places.map_while(|(n, rate)| Some((f64::from(*n), (*rate)? / one))).collect();
    let colour = curve.generation.as_deref().map_or(0, colour_of);
    let title = format!("{}, predicted", curve.label());
    let line = Series { title, points, bars: vec![], colour, marker: nth, published: true, foretold: true };
    (!line.points.is_empty()).then_some(line)
}

/// The machine, the parameters and the method of the run.
pub(crate) fn facts_of(results: &Results) -> String {
    let mut out = String::from("<dl>");
    let mut fact = |name: &str, value: String| {
        if !value.is_empty() {
            out.push_str(&format!("<dt>{}</dt><dd>{}</dd>", escape(name), escape(&value)));
        }
    };
    fact("Experiment", results.experiment.clone());
    fact("After", results.source.clone());
    fact("Began", results.date());
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

/// The published curves beside the measured ones, relative to the one-session rate, so that machines of different times
/// compare.
fn published(results: &Results, variants: &[String]) -> String {
    if results.published.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<h2>Published and measured</h2>\n<p>Each curve is divided by its own one-session rate, so that machines of different \
         times can be compared. Dashed lines with hollow markers are the published ones; their colour is that of the design \
         of their release.</p>\n<div class=\"plots\">\n",
    );
    for workload in workloads(results) {
        let times = |r: &Row| r.pct_linear.map(|p| p * f64::from(r.sessions) / 100.0);
        let mut lines = lines(results, &workload, variants, &times);
        let curves = || results.published.iter().filter(|p| p.workload == workload).enumerate();
        lines.extend(curves().map(|(nth, curve)| published_line(curve, nth)));
        lines.extend(curves().filter_map(|(nth, curve)| foretold_line(curve, nth)));
        let title = format!("{workload}: times the one-session rate");
        let plot = Plot { title: &title, x_label: "sessions", y_label: "times one session", log: false, series: lines };
        out.push_str(&figure(&plot, about_bars(results)));
    }
    out.push_str("</div>\n");
    let told = |curve: &PublishedCurve| {
        let foretold = curve.foretold.as_ref()?;
        Some(format!("<li>{}, {}: {}</li>\n", escape(&curve.label()), escape(&curve.workload), escape(&foretold.text)))
    };
    let predictions: String = results.published.iter().filter_map(told).collect();
    if !predictions.is_empty() {
        out.push_str(&format!("<p>Predictions of the published curves, dotted:</p>\n<ul>\n{predictions}</ul>\n"));
    }
    out
}

/// A line for each variant that used one of the names of a latch, named by design and workload, and by the latch's name
/// where it has several.
fn latch_lines(
    results: &Results,
    variants: &[String],
    names: &[String],
    pick: fn(&crate::results::LatchFigures) -> f64,
) -> Vec<Series> {
    let mut lines = Vec::new();
    for variant in variants {
        for name in names.iter().filter(|name| used(results, variant, name)) {
            let mut line = series(results, variant, &|r| r.latches.get(name).map(pick));
            line.title = called(results, variant);
            if names.len() > 1 {
                line.title.push_str(&format!(" ({name})"));
            }
            lines.push(line);
        }
    }
    lines
}

/// The name of a variant in a plot with several workloads.
fn called(results: &Results, variant: &str) -> String {
    let (workload, generation) = variant.rsplit_once('@').unwrap_or((variant, ""));
    match workloads(results).len() {
        0 | 1 => design(generation),
        _ => format!("{}, {workload}", design(generation)),
    }
}

fn latches(results: &Results, variants: &[String]) -> String {
    let mut out = String::new();
    let mut none: Vec<String> = Vec::new();
    let caption = format!("{} {}", about_lines(results), about_bars(results));
    for names in results.latch_groups() {
        for (what, y_label, pick) in LATCH_PLOTS {
            let title = format!("{}: {}", names.join(" / "), what.to_lowercase());
            let series = latch_lines(results, variants, &names, *pick);
            if series.iter().all(|line| line.points.iter().all(|(_, y)| *y == 0.0)) {
                none.push(title);
                continue;
            }
            let plot = Plot { title: &title, x_label: "sessions", y_label, log: false, series };
            out.push_str(&figure(&plot, &caption));
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
         went to sleep. A versioned read is a get; a check that failed is a miss. Figures are of the whole cell.</p>\n\
         <div class=\"plots\">\n{out}</div>\n{none}"
    )
}

/// Sleeps by place, as the experiment's section counts them: a plot for each mutex or latch with sleeps.
fn places(results: &Results, variants: &[String]) -> String {
    let Some(section) = &results.sleeps else { return String::new() };
    let mut names: Vec<&String> =
        results.rows.iter().filter_map(|r| r.sections.get(section)).flat_map(|f| f.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let mut out = String::new();
    let caption = format!("{} {}", about_lines(results), about_bars(results));
    for name in names {
        let sleeps = |r: &Row| {
            let figure = r.sections.get(section)?.get(name)?.first()?;
            Some(1000.0 * figure / r.operations.max(1) as f64)
        };
        let line = |variant: &String| Series { title: called(results, variant), ..series(results, variant, &sleeps) };
        let mut series: Vec<Series> = variants.iter().map(line).collect();
        series.retain(|line| line.points.iter().any(|(_, y)| *y > 0.0));
        if !series.is_empty() {
            let title = format!("{name}: sleeps for 1,000 operations");
            let plot = Plot { title: &title, x_label: "sessions", y_label: "sleeps", log: false, series };
            out.push_str(&figure(&plot, &caption));
        }
    }
    match out.is_empty() {
        true => out,
        false => format!("<h2>{}</h2>\n<div class=\"plots\">\n{out}</div>\n", escape(section)),
    }
}

/// Whether a variant's cells get the latch in their operations: at least once in a hundred operations.
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
        assert!(page.contains("prefers-color-scheme:dark"));
    }

    /// The titles of a page's plots.
    fn titles(page: &str) -> Vec<String> {
        let text = page.split("<text class=\"title\"").skip(1).map(|t| t.split('>').nth(1).unwrap());
        text.map(|t| t.split('<').next().unwrap().to_string()).collect()
    }

    #[test]
    fn a_plot_s_title_names_the_latch_that_is_drawn() {
        let mut results = crate::results::tests::results();
        let figures = crate::results::LatchFigures { gets: 5000, misses: 50, sleeps: 5, spin_gets: 1, wait_time_us: 9 };
        for row in &mut results.rows {
            row.latches.insert("library cache".into(), figures);
            row.latches.insert("library cache pin".into(), figures);
            // Got occasionally by background work, not by the operations.
            row.latches.insert("cache buffers chains".into(), crate::results::LatchFigures { gets: 3, ..figures });
        }
        let latches: Vec<String> =
            titles(&page(&results)).into_iter().filter(|t| t.ends_with("misses, % of gets")).collect();
        assert_eq!(
            latches,
            [
                "Result Cache: Latch: misses, % of gets",
                "library cache: misses, % of gets",
                "library cache pin: misses, % of gets"
            ]
        );
        // One latch under the names of two generations is one plot, and each line has its own name.
        let other = results.rows[0].latches.remove("Result Cache: Latch").unwrap();
        results.rows[0].latches.insert("Result Cache: RC Latch".into(), other);
        let page = page(&results);
        assert!(titles(&page).contains(&"Result Cache: Latch / Result Cache: RC Latch: misses, % of gets".to_string()));
        assert!(page.contains("Latchwork's own design, b (Result Cache: RC Latch)"), "{page}");
    }

    #[test]
    fn own_and_published_lines_and_workloads_are_told_apart() {
        let results = crate::results::tests::results();
        let page = page(&results);
        let eleven = colour_of("11.1");
        assert!(page.contains("a &lt;machine&gt;, 2007, Oracle 11.1.0.6") && page.contains("Latchwork as 11.1</li>"));
        assert!(
            page.contains(&format!("class=\"s{eleven} dashed\""))
                && page.contains(&format!("class=\"m{eleven} hollow\""))
        );
        // Two workloads of one generation: one colour, two markers.
        let [a, b] = ["a@11.1", "b@11.1"].map(|variant| series(&results, variant, &|r| Some(r.ops_per_s)));
        assert!(a.colour == b.colour && a.marker != b.marker);
        assert_ne!(a.colour, series(&results, "b@latchwork", &|r| Some(r.ops_per_s)).colour);
        assert!(page.contains("Marker: workload (circles a, squares b)"));
    }

    #[test]
    fn predictions_of_published_lines_are_dotted_and_their_refusals_are_told() {
        let mut results = crate::results::tests::results();
        let drawn = page(&results);
        assert!(drawn.contains("Oracle 11.1.0.6, predicted</li>") && drawn.contains(" dotted\""));
        assert!(
            drawn.contains("a &lt;machine&gt;, 2007, Oracle 11.1.0.6, b: 2 sessions &lt;refused&gt;</li>"),
            "{drawn}"
        );
        // A curve without a point has its reason and no line.
        results.published[0].foretold.as_mut().unwrap().ops_per_s = vec![None, None];
        let drawn = page(&results);
        assert!(!drawn.contains(", predicted</li>") && drawn.contains("2 sessions &lt;refused&gt;"));
    }

    #[test]
    fn bars_are_intervals_and_one_repeat_draws_none_and_says_so() {
        let mut results = crate::results::tests::results();
        let drawn = page(&results);
        assert!(drawn.contains("class=\"bar s9\"") && drawn.contains("95 % interval"));
        results.rows.retain(|r| r.repeat == 1);
        results.fill();
        let drawn = page(&results);
        assert!(!drawn.contains("class=\"bar") && drawn.contains("One repeat: there is no interval"));
    }

    #[test]
    fn a_plot_of_sleeps_names_the_mutex() {
        let mut results = crate::results::tests::results();
        results.sleeps = Some("Sleeps by place".into());
        for row in &mut results.rows {
            let figures = [("[19] kqrpre: find obj", vec![4.0]), ("never slept for", vec![0.0])];
            let figures = figures.map(|(name, figures)| (name.to_string(), figures)).into();
            row.sections.insert("Sleeps by place".into(), figures);
        }
        let titles = titles(&page(&results));
        assert!(titles.contains(&"[19] kqrpre: find obj: sleeps for 1,000 operations".to_string()), "{titles:?}");
        assert!(!titles.iter().any(|t| t.contains("never slept for")));
    }
}
