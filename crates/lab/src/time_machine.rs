//! The time machine: one experiment, or all of them, in every generation, as small multiples.
//!
//! It is an ordinary run with all generations and a different page: a grid of plots for each figure, one plot for each
//! generation, all on the same axes; published figures are drawn into the plot of their release.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::counts::told;
use crate::error::LabError;
use crate::html::{COLOURS, STYLE, about_bars, facts_of, points, style_of_series};
use crate::laws;
use crate::manifest::Experiment;
use crate::results::{GENERATIONS, Results, Row, design};
use crate::run::{Plan, run};
use crate::small::{self, Grid, Panel};
use crate::statistics::Summary;
use crate::svg::{Series, escape};
use crate::text::{columns, thousands};

/// Its name for `lab run`.
pub const NAME: &str = "time-machine";

/// Its title.
pub const TITLE: &str = "The time machine: every experiment in every generation";

/// The results of a journey.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Journey {
    pub experiment: String,
    pub title: String,
    /// Seconds since 1970.
    pub started: u64,
    /// The requested experiments.
    pub wanted: Vec<String>,
    /// The experiments that were run, in order.
    pub runs: Vec<Results>,
}

/// The experiments of a name: one, or `all` that ship.
///
/// # Errors
/// When no experiment has the name.
pub fn experiments(name: &str) -> Result<Vec<Experiment>, LabError> {
    if name == "all" { Ok(Experiment::shipped()) } else { Ok(vec![Experiment::find(name)?]) }
}

/// Runs each experiment in the generations of the plan that `plan` makes for it, and writes the results so far after
/// each.
///
/// # Errors
/// As [`run`]; the results so far are in the folder.
pub fn travel(
    experiments: &[Experiment],
    plan: &mut dyn FnMut(&Experiment) -> Result<Plan, LabError>,
    folder: &dyn Fn(&Journey) -> std::path::PathBuf,
) -> Result<Journey, LabError> {
    let mut journey = Journey {
        experiment: NAME.into(),
        title: TITLE.into(),
        started: os::clock::wall_ns() / 1_000_000_000,
        wanted: experiments.iter().map(|e| e.manifest.name.clone()).collect(),
        runs: Vec::new(),
    };
    for experiment in experiments {
        let plan = plan(experiment)?;
        if plan.stop.is_asked() {
            break;
        }
        match run(experiment, &plan) {
            Ok(results) => journey.runs.push(results),
            Err(_) if plan.stop.is_asked() && !journey.runs.is_empty() => break,
            Err(e) => return Err(e),
        }
        write(&journey, &folder(&journey))?;
    }
    Ok(journey)
}

/// Writes JSON, CSV and the page into a folder.
///
/// # Errors
/// When a file cannot be written.
pub fn write(journey: &Journey, folder: &Path) -> Result<(), LabError> {
    std::fs::create_dir_all(folder).map_err(|e| LabError::new(format!("{}: {e}", folder.display())))?;
    let json = serde_json::to_string_pretty(journey).map_err(|e| LabError::new(e.to_string()))?;
    crate::files::write_file(&folder.join("results.json"), &json)?;
    crate::files::write_file(&folder.join("results.csv"), &journey.csv())?;
    crate::files::write_file(&folder.join("report.html"), &journey.page())
}

impl Journey {
    /// Laws that did not hold, a line each.
    pub fn broken_laws(&self) -> Vec<String> {
        self.runs.iter().flat_map(Results::broken_laws).collect()
    }

    /// One line for each cell, with the sums of the figures of its latches.
    fn csv(&self) -> String {
        let mut out = String::from(
            "experiment,workload,generation,sessions,repeat,operations,elapsed_s,window_s,ops_per_s,pct_linear,\
             repeats,average_ops_per_s,interval_95_ops_per_s,latch_gets,latch_misses,latch_spin_gets,latch_sleeps,latch_wait_time_us,sleeps_by_place\n",
        );
        for run in &self.runs {
            for r in &run.rows {
                let sum = |pick: fn(&crate::results::LatchFigures) -> u64| r.latches.values().map(pick).sum::<u64>();
                let two = |figure: Option<f64>| figure.map(|f| format!("{f:.2}")).unwrap_or_default();
                let rate = run.rate(&r.variant, r.sessions);
                out.push_str(&format!(
                    "{},{},{},{},{},{},{:.6},{},{:.1},{},{},{},{},{},{},{},{},{},{}\n",
                    run.experiment,
                    r.workload,
                    r.generation,
                    r.sessions,
                    r.repeat,
                    r.operations,
                    r.elapsed_s,
                    r.window.map(|w| format!("{:.6}", w.seconds)).unwrap_or_default(),
                    r.ops_per_s,
                    two(r.pct_linear),
                    rate.map_or(0, |s| s.count),
                    two(rate.map(|s| s.average)),
                    two(rate.and_then(|s| s.interval)),
                    sum(|f| f.gets),
                    sum(|f| f.misses),
                    sum(|f| f.spin_gets),
                    sum(|f| f.sleeps),
                    sum(|f| f.wait_time_us),
                    run.sleeps_of(r).map(|s| format!("{s:.0}")).unwrap_or_default(),
                ));
            }
        }
        out
    }

    /// All tables as text.
    pub fn tables(&self) -> String {
        let mut out = String::new();
        for run in &self.runs {
            let title = format!("{}: {}", run.experiment, run.title);
            out.push_str(&format!("\n{title}\n{}\n", "=".repeat(title.chars().count())));
            if let Some(warning) = run.warning() {
                out.push_str(&format!("{warning}\n"));
            }
            out.push_str(&format!("{}\n", run.about_intervals()));
            if let Some(text) = run.about_windows() {
                out.push_str(&format!("{text}\n"));
            }
            for workload in workloads(run) {
                out.push_str(&format!("\n{workload}: operations per second, by sessions\n\n{}", rates(run, &workload)));
            }
            if let Some(table) = laws::table(&run.counts) {
                let rule = laws::rule(&run.counts);
                out.push_str(&format!("\nCounts per operation, or per the number given\n{rule}\n\n{table}"));
            }
        }
        for name in self.wanted.iter().skip(self.runs.len()) {
            out.push_str(&format!("\n{name}: not run\n"));
        }
        out
    }

    fn page(&self) -> String {
        let mut out = String::from("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
        out.push_str("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">");
        let title = escape(&self.title);
        out.push_str(&format!("<title>{title}</title><style>{STYLE}{}", small::STYLE));
        out.push_str(&style_of_series());
        out.push_str(&format!("</style></head><body>\n<h1>{title}</h1>\n"));
        out.push_str(
            "<p class=\"soft\">One program, one parameter: <code>latch_generation</code> says how each structure in shared memory is \
             protected. A plot for each generation, all on the same axes. Solid lines are Latchwork on this machine, and their colour \
             and marker tell the workload. Dashed lines with hollow markers were published of Oracle, with machine, year and release, \
             and stand in the plot of that release; the dotted line marks as many sessions as this machine has cores.</p>\n",
        );
        for run in &self.runs {
            out.push_str(&chapter(run));
        }
        for name in self.wanted.iter().skip(self.runs.len()) {
            out.push_str(&format!(
                "<h2>{}</h2>\n<p class=\"warning\">Not run: the journey ended before.</p>\n",
                escape(name)
            ));
        }
        out.push_str("</body></html>\n");
        out
    }
}

/// The workloads, by name.
fn workloads(run: &Results) -> Vec<String> {
    let mut all: Vec<String> = run.rows.iter().map(|r| r.workload.clone()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Rates by generation and sessions, with percent of linear for the largest number of sessions that does not exceed the
/// cores.
fn rates(run: &Results, workload: &str) -> String {
    let mut rows = vec![vec!["generation".to_string()]];
    rows[0].extend(run.sessions().iter().map(u32::to_string));
    let cores = run.host.cores.max(1) as u32;
    let most = run.sessions().into_iter().filter(|n| *n <= cores && *n > 1).max();
    if let Some(most) = most {
        rows[0].push(format!("% linear at {most}"));
    }
    for generation in run.generations() {
        let variant = format!("{workload}@{generation}");
        let mut row = vec![generation.clone()];
        for sessions in run.sessions() {
            let shown = |s: Summary| match s.interval {
                Some(_) => format!("{} ± {} %", thousands(s.average), s.percent()),
                None => thousands(s.average),
            };
            row.push(run.rate(&variant, sessions).map_or("-".into(), shown));
        }
        if let Some(most) = most {
            row.push(run.linear(&variant, most).map_or("-".into(), |s| format!("{:.1}", s.average)));
        }
        rows.push(row);
    }
    columns(&rows)
}

/// Colours of the workloads, in the order of their names; each plot has lines of one generation only.
const WORKLOAD_COLOURS: [usize; 6] = [9, 3, 2, 5, 4, 6];
const _: () = assert!(WORKLOAD_COLOURS[0] < COLOURS);

/// A figure of a cell, if the cell has it.
type Figure<'a> = &'a dyn Fn(&Row) -> Option<f64>;

/// A plot for each generation.
fn panels(run: &Results, figure: Figure<'_>, published: bool) -> Vec<Panel> {
    let workloads = workloads(run);
    let panel = |generation: String| {
        let mut series = Vec::new();
        for (nth, workload) in workloads.iter().enumerate() {
            let variant = format!("{workload}@{generation}");
            let colour = WORKLOAD_COLOURS[nth % WORKLOAD_COLOURS.len()];
            let (points, bars) = points(run, &variant, figure);
            series.push(Series {
                title: format!("Latchwork: {workload}"),
                points,
                bars,
                colour,
                marker: nth,
                published: false,
                foretold: false,
            });
            let curves = run.published.iter().filter(|c| published && c.workload == *workload);
            for (more, curve) in curves.filter(|c| c.generation.as_deref() == Some(generation.as_str())).enumerate() {
                // With several machines, each has its own marker.
                let marker = if more == 0 { nth } else { workloads.len() + more - 1 };
                let one = curve.ops_per_s.first().copied().unwrap_or(1.0);
                let points = curve.sessions.iter().zip(&curve.ops_per_s).map(|(n, rate)| (f64::from(*n), rate / one));
                let title = format!("{workload}: {}", curve.label());
                let points = points.collect();
                series.push(Series { title, points, bars: vec![], colour, marker, published: true, foretold: false });
            }
        }
        let note = run.notes.get(&generation).cloned().unwrap_or_default();
        Panel { title: design(&generation), note, series }
    };
    run.all_generations().into_iter().map(panel).collect()
}

/// The part of the page about one experiment.
fn chapter(run: &Results) -> String {
    let mut out = format!(
        "<h2>{}: {}</h2>\n<p class=\"soft\">{}</p>\n",
        escape(&run.experiment),
        escape(&run.title),
        escape(&run.question)
    );
    if let Some(warning) = run.warning() {
        out.push_str(&format!("<p class=\"warning\">{}</p>\n", escape(&warning)));
    }
    out.push_str(&format!("<details><summary>Where and how it was run</summary>{}</details>\n", facts_of(run)));
    out.push_str(&format!("<p class=\"soft\">{} {}</p>\n", escape(&run.about_intervals()), about_bars(run)));
    if let Some(text) = run.about_windows() {
        out.push_str(&format!("<p class=\"soft\">{}</p>\n", escape(&text)));
    }
    let mark = Some(run.host.cores as f64);
    let mut grid = |title: &str, y_label: &str, log: bool, figure: Figure<'_>, published: bool| {
        let panels = panels(run, figure, published);
        let values = || panels.iter().flat_map(|p| &p.series).flat_map(|s| s.points.iter().map(|p| p.1));
        if values().all(|v| v == 0.0) {
            out.push_str(&format!("<p class=\"soft\">{}: zero in every cell.</p>\n", escape(title)));
            return;
        }
        let (least, most) = values().fold((f64::INFINITY, 0.0), |(l, m): (f64, f64), v| (l.min(v), m.max(v)));
        let log = log && most > 30.0 * least;
        out.push_str(&Grid { title, y_label, log, mark, panels }.html());
    };
    grid("Operations per second", "operations a second", true, &|r| Some(r.ops_per_s), false);
    let times = |r: &Row| r.pct_linear.map(|p| p * f64::from(r.sessions) / 100.0);
    grid("Times the rate of one session", "times one session", false, &times, true);
    let latches = drawn(run.latch_groups().iter().map(|names| names.join(" / ")));
    grid(&format!("Misses of {latches}, % of gets"), "% of gets", false, &misses, false);
    let sleeps = |r: &Row| run.sleeps_of(r).map(|s| 1000.0 * s / r.operations.max(1) as f64);
    grid(&format!("Sleeps for {}, for 1,000 operations", slept_for(run, latches)), "sleeps", false, &sleeps, false);
    out.push_str(&counts(run));
    if let Some(table) = crate::table::passed(run) {
        out.push_str(&format!(
            "<h3>Sessions that ended while the latch was held, of all</h3>\n<pre>{}</pre>\n",
            escape(&table)
        ));
    }
    for workload in workloads(run) {
        out.push_str(&format!(
            "<details><summary>{}: operations per second, by sessions</summary><pre>{}</pre></details>\n",
            escape(&workload),
            escape(&rates(run, &workload))
        ));
    }
    out
}

/// Names in a title; the figures of several names are added.
fn drawn(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    match names.len() {
        0 => "nothing".into(),
        1 => names[0].clone(),
        _ => format!("{} (added up)", names.join(", ")),
    }
}

/// The latches and mutexes whose sleeps are drawn: those with sleeps in the section that counts them, or else the
/// measured latches.
fn slept_for(run: &Results, latches: String) -> String {
    let Some(section) = &run.sleeps else { return latches };
    let figures = run.rows.iter().filter_map(|r| r.sections.get(section)).flatten();
    let slept = figures.filter(|(_, figures)| figures.first().is_some_and(|f| *f > 0.0));
    let names: std::collections::BTreeSet<String> = slept.map(|(name, _)| name.clone()).collect();
    match names.len() {
        0 => section.to_lowercase(),
        1..=4 => drawn(names.into_iter()),
        n => format!("the {n} latches and mutexes of “{section}” (added up)"),
    }
}

fn misses(row: &Row) -> Option<f64> {
    let sum = |pick: fn(&crate::results::LatchFigures) -> u64| row.latches.values().map(pick).sum::<u64>() as f64;
    let gets = sum(|f| f.gets);
    // A latch used only occasionally, not by the operations, would show meaningless ratios.
    (gets * 20.0 > row.operations as f64).then(|| 100.0 * sum(|f| f.misses) / gets)
}

/// The counts of an operation, as a table.
fn counts(run: &Results) -> String {
    if run.counts.is_empty() {
        return String::new();
    }
    let titles = laws::titles(&run.counts);
    let mut out = String::from("<h3>Counted, in one session</h3>\n<table><tr><th>generation</th>");
    for (workload, title) in &titles {
        out.push_str(&format!("<th>{}:<br>{}</th>", escape(workload), escape(title)));
    }
    out.push_str("</tr>\n");
    for generation in GENERATIONS {
        let of = |(workload, title): &(String, String)| {
            run.counts.iter().find(|c| c.generation == *generation && c.workload == *workload && c.title == *title)
        };
        if !titles.iter().any(|key| of(key).is_some()) {
            continue;
        }
        out.push_str(&format!("<tr><td>{}</td>", escape(generation)));
        for count in titles.iter().map(of) {
            let class = if count.is_some_and(|c| !c.holds()) { " class=\"wrong\"" } else { "" };
            out.push_str(&format!("<td{class}>{}</td>", count.map(|c| escape(&told(c))).unwrap_or_default()));
        }
        out.push_str("</tr>\n");
    }
    out.push_str(
        "</table>\n<p class=\"soft\">Exact counts per operation, or per the number given; a count that differs from that of the design is marked. ",
    );
    out + &escape(&laws::rule(&run.counts)) + "</p>\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::Count;
    fn journey() -> Journey {
        let mut run = crate::results::tests::results();
        run.counts = vec![Count {
            workload: "b".into(),
            generation: "11.1".into(),
            title: "gets".into(),
            expected: Some(2.0),
            seen: 3.0,
            readings: vec![3.0, 3.0, 2.0],
        }];
        run.stopped_of = Some(9);
        run.notes.insert("11.1".into(), "as it <was>".into());
        Journey {
            experiment: NAME.into(),
            title: TITLE.into(),
            started: 0,
            wanted: vec!["e".into(), "f".into()],
            runs: vec![run],
        }
    }

    #[test]
    fn the_page_has_a_plot_for_each_generation_and_says_what_is_missing() {
        let page = journey().page();
        // Rates, relative rates, misses, sleeps: two generations each, and one generation without any cell.
        assert_eq!(page.matches("<svg viewBox=\"0 0 240").count(), 4 * 3);
        assert!(page.contains("as it &lt;was&gt;") && !page.contains("<script") && !page.contains("http"));
        assert!(page.contains("b: a &lt;machine&gt;, 2007, Oracle 11.1.0.6"), "what was published says where and when");
        assert!(page.contains("Misses of Result Cache: Latch, % of gets"), "the title names the latch");
        assert!(page.contains("Stopped: 5 of 9") && page.contains("Not run") && page.contains("class=\"wrong\""));
        assert_eq!(page.matches("class=\"s3 dashed\"").count(), 2, "a published line in one plot, and in the legend");
    }

    #[test]
    fn tables_and_csv_have_every_cell() {
        let journey = journey();
        let text = journey.tables();
        assert!(
            text.contains("3 (expected 2) [1 of 3: 2 to 3]")
                && text.contains("f: not run")
                && text.contains("% linear at 2"),
            "{text}"
        );
        let csv = journey.csv();
        let fields = csv.lines().next().unwrap().matches(',').count();
        assert_eq!(csv.lines().count(), 6);
        assert!(csv.lines().all(|line| line.matches(',').count() == fields), "{csv}");
        assert_eq!(journey.broken_laws(), ["b@11.1: gets: 3 (expected 2) [1 of 3: 2 to 3]"]);
    }
}
