//! The tables and the page of a run on several engines.

use crate::html::{STYLE, style_of_series};
use crate::statistics::Summary;
use crate::svg::{Plot, Series, escape};
use crate::targets::results::{Beside, Figure, ROUNDS_LEAST, TargetRow, TargetsRun};
use crate::text::{columns, thousands};

/// Colours by the position of an engine: neighbours differ in light and dark.
const COLOURS: [usize; 10] = [9, 3, 2, 5, 4, 6, 1, 7, 8, 0];

/// Rules beside the style of all pages.
const OWN_STYLE: &str = "
table{border-collapse:collapse;font-size:13.5px;font-variant-numeric:tabular-nums}
th,td{padding:4px 14px 4px 0;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th{font-weight:600;color:var(--soft);vertical-align:bottom}
th:first-child,td:first-child,.names th:nth-child(2),.names td:nth-child(2),.thirds th:nth-child(3),.thirds td:nth-child(3),.words th,.words td{text-align:left}
.plots+.tables{margin-top:16px}
.words td{white-space:normal;vertical-align:top}.words td:first-child{white-space:nowrap}
tr.first td{border-top:2px solid var(--line)}
@media(max-width:640px){dl{grid-template-columns:minmax(0,2fr) minmax(0,3fr)}
.words thead{display:none}.words tbody,.words tr,.words td{display:block}.words tr{padding:8px 0;border-top:1px solid var(--line)}
.words td,.words tr.first td{border:0;padding:2px 0}.words td:first-child{font-weight:600}}
h3{font-size:15px;margin:26px 0 6px}
";

/// The page's explanation of its figures.
const ABOUT: &str = "The name of a cell has the place of its loop: in the engine (a procedure), in the process that the \
     engine is part of, or at the other end of a wire, with a round trip for each execution. Ratios are only \
     between cells of the same name: a loop in another place measures other work. An operation includes the loop and \
     its random key, in the language of that place. Growth is that of the processor time of an operation over the \
     time with one session.";

const ABOUT_RATIOS: &str = "Each ratio is the geometric average of the ratios of all rounds, with the 95 % interval of a bootstrap \
     over rounds. By the clock: above one, the first engine does more operations a second. By processor time: \
     above one, the first engine needs less for an operation. Rates count where all sessions ran at once, and loops over \
     a wire where both engines have the same kind of wire.";

/// All tables of a run, as printed.
pub fn tables(run: &TargetsRun) -> String {
    let mut out = format!("{}\n{}\n\n", run.title, "=".repeat(run.title.chars().count()));
    out.push_str(&format!("{}, {}, {} cores\n", run.date(), run.host.cpu, run.host.cores));
    warnings(run).iter().for_each(|line| out.push_str(&format!("{line}\n")));
    for facts in &run.targets {
        out.push_str(&format!("\n{}: {}; {}\n", facts.name, facts.version, facts.client));
        out.push_str(&format!("  isolation {}; durability: {}; {}\n", facts.isolation, facts.durability, facts.frozen));
        facts.notes.iter().for_each(|note| out.push_str(&format!("  {note}\n")));
    }
    let absent = absent(run);
    if !absent.is_empty() {
        out.push_str("\nNot measured\n");
        absent.iter().for_each(|line| out.push_str(&format!("  {}: {}\n", line[0], line[1])));
    }
    for cell in run.cells() {
        out.push_str(&format!("\n{cell}\n\n{}", columns(&rates(run, &cell))));
    }
    if !run.beside.is_empty() {
        out.push_str(&format!("\nRatios\n{ABOUT_RATIOS}\n\n{}", columns(&ratios(run))));
    }
    let figures = figures(run);
    if figures.len() > 1 {
        out.push_str(&format!("\nThe engines' own figures an operation\n\n{}", columns(&figures)));
    }
    out
}

/// Sentences that qualify all figures.
fn warnings(run: &TargetsRun) -> Vec<String> {
    let mut out: Vec<String> = run.warning().into_iter().collect();
    let rounds = run.rounds();
    out.push(match u32::try_from(rounds).is_ok_and(|rounds| rounds >= ROUNDS_LEAST) {
        true => format!("Averages of {rounds} rounds; ± is half of the 95 % interval (Student's t)."),
        false => format!(
            "Only {rounds} round{}: intervals of fewer than {ROUNDS_LEAST} are too narrow, and a difference may be chance.",
            if rounds == 1 { "" } else { "s" }
        ),
    });
    out.extend(run.about_windows());
    out
}

/// A cell that was not measured: the engine, or the engine and the variant, with the reason.
fn absent(run: &TargetsRun) -> Vec<[String; 2]> {
    let all = run.missing.iter().chain(&run.not_comparable);
    all.map(|said| {
        let name = said.variant.iter().fold(said.target.clone(), |name, variant| format!("{name}, {variant}"));
        [name, said.reason.clone()]
    })
    .collect()
}

fn shown(summary: Option<Summary>, print: fn(f64) -> String) -> String {
    summary.map_or("-".into(), |s| print(s.average))
}

/// Three digits, and not more than three decimals.
fn small(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => thousands(value),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 1.0 || v == 0.0 => format!("{value:.2}"),
        v if v >= 0.001 => format!("{value:.3}"),
        _ => "< 0.001".into(),
    }
}

const RATE_HEAD: [&str; 9] =
    ["engine", "sessions", "ops/s", "± %", "% linear", "cpu us/op", "± %", "growth", "switches/1,000 ops"];

/// The rates of a cell, by engine and sessions. Growth is that of the processor time an operation over one session.
fn rates(run: &TargetsRun, cell: &str) -> Vec<Vec<String>> {
    let mut rows = vec![RATE_HEAD.map(String::from).to_vec()];
    for facts in &run.targets {
        let one = run.figure(&facts.name, cell, 1, &|r| r.cpu_us).filter(|s| s.average > 0.0);
        for sessions in run.sessions() {
            let of = |figure: Figure<'_>| run.figure(&facts.name, cell, sessions, figure);
            let Some(rate) = of(&|r| Some(r.ops_per_s)) else { continue };
            let (cpu, linear) = (of(&|r| r.cpu_us), of(&|r| r.pct_linear));
            let growth = one.zip(cpu).map(|(one, now)| format!("{:+.1} %", 100.0 * (now.average / one.average - 1.0)));
            let mut row = vec![facts.name.clone(), sessions.to_string(), thousands(rate.average), rate.percent()];
            row.push(linear.map_or("-".into(), |s| format!("{:.1}", s.average)));
            row.push(shown(cpu, small));
            row.push(cpu.map_or("-".into(), |s| s.percent()));
            row.push(growth.filter(|_| sessions > 1).unwrap_or_else(|| "-".into()));
            row.push(shown(of(&|r| r.switches.map(|s| 1000.0 * s)), small));
            rows.push(row);
        }
    }
    rows
}

fn ratios(run: &TargetsRun) -> Vec<Vec<String>> {
    let head = ["cell", "engines", "sessions", "by the clock", "by processor time"];
    let told = |b: &Beside| {
        let ratio = |of: Option<crate::targets::ratio::PairedRatio>| of.map_or("-".into(), |ratio| ratio.told());
        let engines = format!("{} / {}", b.own, b.other);
        vec![b.cell.clone(), engines, b.sessions.to_string(), ratio(b.by_clock), ratio(b.by_cpu)]
    };
    std::iter::once(head.map(String::from).to_vec()).chain(run.beside.iter().map(told)).collect()
}

/// The engines' own figures an operation, a column for each number of sessions: work that the engine counts itself.
fn figures(run: &TargetsRun) -> Vec<Vec<String>> {
    let sessions = run.sessions();
    let mut head = ["engine", "cell", "figure"].map(String::from).to_vec();
    head.extend(sessions.iter().map(|n| if *n == 1 { "1 session".into() } else { format!("{n} sessions") }));
    let mut rows = vec![head];
    for facts in &run.targets {
        for cell in run.cells() {
            let of_cell = run.rows.iter().filter(|r| r.target == facts.name && r.cell == cell);
            let mut names: Vec<&String> = of_cell.flat_map(|r| r.figures.keys()).collect();
            names.sort_unstable();
            names.dedup();
            for name in names {
                let of = |r: &TargetRow| r.figures.get(name).copied();
                let mut row = vec![facts.name.clone(), cell.clone(), name.clone()];
                row.extend(sessions.iter().map(|n| shown(run.figure(&facts.name, &cell, *n, &of), small)));
                rows.push(row);
            }
        }
    }
    rows
}

/// A table with a head; `first` marks the rows where the first column changes.
fn html_table(rows: &[Vec<String>], class: &str) -> String {
    let cells = |row: &[String], tag: &str| {
        row.iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect::<String>()
    };
    let mut out = format!(
        "<div class=\"tables\"><table class=\"{class}\"><thead><tr>{}</tr></thead><tbody>\n",
        cells(&rows[0], "th")
    );
    for (at, row) in rows.iter().enumerate().skip(1) {
        let changes = at > 1 && rows[at - 1][0] != row[0];
        let mark = if changes { " class=\"first\"" } else { "" };
        out.push_str(&format!("<tr{mark}>{}</tr>\n", cells(row, "td")));
    }
    out.push_str("</tbody></table></div>\n");
    out
}

fn lines(run: &TargetsRun, cell: &str, figure: Figure<'_>) -> Vec<Series> {
    let mut out = Vec::new();
    for (at, facts) in run.targets.iter().enumerate() {
        let (mut points, mut bars) = (Vec::new(), Vec::new());
        for sessions in run.sessions() {
            let Some(s) = run.figure(&facts.name, cell, sessions, figure) else { continue };
            let x = f64::from(sessions);
            points.push((x, s.average));
            bars.extend(s.ends().filter(|(low, high)| high > low).map(|(low, high)| (x, low, high)));
        }
        if !points.is_empty() {
            let colour = COLOURS[at % COLOURS.len()];
            out.push(Series {
                title: facts.name.clone(),
                points,
                bars,
                colour,
                marker: at,
                published: false,
                foretold: false,
            });
        }
    }
    out
}

fn figure(title: &str, y_label: &str, series: Vec<Series>, caption: &str) -> String {
    if series.is_empty() {
        return String::new();
    }
    // Engines that differ by more than this would lie on the floor of the plot.
    let values = || series.iter().flat_map(|s| s.points.iter().map(|p| p.1)).filter(|v| *v > 0.0);
    let log = values().fold(0.0, f64::max) > 30.0 * values().fold(f64::INFINITY, f64::min);
    let plot = Plot { title, x_label: "sessions", y_label, log, series };
    format!("<figure>{}{}<figcaption>{}</figcaption></figure>\n", plot.svg(), plot.legend(), escape(caption))
}

/// The whole page.
pub fn page(run: &TargetsRun) -> String {
    let title = format!("{}, on {} engines", run.title, run.targets.len());
    let mut out = String::from("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">");
    out.push_str(&format!(
        "<title>{}</title><style>{STYLE}{}{OWN_STYLE}</style></head><body>\n",
        escape(&title),
        style_of_series()
    ));
    out.push_str(&format!("<h1>{}</h1>\n<p class=\"soft\">{}</p>\n", escape(&title), escape(&run.question)));
    out.push_str(&facts(run));
    out.push_str(&format!("<p>{} {}</p>\n", escape(&warnings(run).join(" ")), escape(ABOUT)));
    if !run.beside.is_empty() {
        out.push_str(&format!(
            "<h2>Ratios</h2>\n<p>{}</p>\n{}",
            escape(ABOUT_RATIOS),
            html_table(&ratios(run), "names")
        ));
    }
    for cell in run.cells() {
        out.push_str(&format!("<h2>{}</h2>\n<div class=\"plots\">\n", escape(&cell)));
        let bars = "Averages of the rounds; a bar is the 95 % interval of the average.";
        out.push_str(&figure(
            &format!("{cell}: operations per second"),
            "operations / s",
            lines(run, &cell, &|r| Some(r.ops_per_s)),
            bars,
        ));
        let caption =
            "All processes of the engine, also in the background; for a loop in the engine's process, its thread.";
        out.push_str(&figure(
            &format!("{cell}: processor time"),
            "µs / operation",
            lines(run, &cell, &|r| r.cpu_us),
            caption,
        ));
        out.push_str(&format!("</div>\n{}", html_table(&rates(run, &cell), "rates")));
    }
    out.push_str("<h2>Engines</h2>\n");
    out.push_str(&html_table(&engines(run), "words"));
    let absent = absent(run);
    if !absent.is_empty() {
        let rows = std::iter::once(["engine", "why it was not measured"].map(String::from).to_vec());
        let rows: Vec<Vec<String>> = rows.chain(absent.into_iter().map(Vec::from)).collect();
        out.push_str(&format!("<h2>Not measured</h2>\n{}", html_table(&rows, "words")));
    }
    let figures = figures(run);
    if figures.len() > 1 {
        out.push_str(
            "<h2>The engines' own figures</h2>\n<p>Counted by the engine, divided by the operations of the \
                      laboratory: they show that an operation is the work that it should be.</p>\n",
        );
        out.push_str(&html_table(&figures, "names thirds"));
    }
    if !run.plans.is_empty() {
        out.push_str("<h2>Plans</h2>\n<p>Read before the first round; after the last one they were the same.</p>\n");
        for plan in &run.plans {
            let (name, text) = (format!("{}, {}", plan.target, plan.variant), escape(&plan.plan));
            out.push_str(&format!("<details><summary>{}</summary><pre>{text}</pre></details>\n", escape(&name)));
        }
    }
    out.push_str("</body></html>\n");
    out
}

fn engines(run: &TargetsRun) -> Vec<Vec<String>> {
    let head = ["engine", "version and client", "isolation; durability", "while others run", "settings and remarks"];
    let told = |facts: &crate::targets::engine::Facts| {
        let settings: Vec<String> = facts.settings.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let mut remarks = facts.notes.clone();
        remarks
            .extend(Some(settings.join(", ")).filter(|text| !text.is_empty()).map(|text| format!("Settings: {text}.")));
        vec![
            facts.name.clone(),
            format!("{}; {}", facts.version, facts.client),
            format!("{}; {}", facts.isolation, facts.durability),
            facts.frozen.clone(),
            remarks.join(" "),
        ]
    };
    std::iter::once(head.map(String::from).to_vec()).chain(run.targets.iter().map(told)).collect()
}

fn facts(run: &TargetsRun) -> String {
    let mut out = String::from("<dl>");
    let host = &run.host;
    let machine = format!("{}, {} cores, {} MB", host.cpu, host.cores, host.memory_bytes >> 20);
    let mut all = vec![
        ("Experiment", run.experiment.clone()),
        ("After", run.source.clone()),
        ("Began", run.date()),
        ("Machine", machine),
        ("Kernel", host.kernel.clone()),
    ];
    all.extend(run.parameters.iter().map(|(name, value)| (name.as_str(), value.clone())));
    for (name, value) in all.into_iter().filter(|(_, value)| !value.is_empty()) {
        out.push_str(&format!("<dt>{}</dt><dd>{}</dd>", escape(name), escape(&value)));
    }
    out.push_str("</dl>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::results::tests::run;

    #[test]
    fn tables_and_page_tell_ratios_places_and_what_is_missing() {
        let run = run();
        let text = tables(&run);
        for part in [
            "read/engine",
            "read/process",
            "latchwork / postgresql",
            "2.00 (2.00 to 2.00)",
            "mariadb: not installed",
            "duckdb: no probe a node",
            "Averages of 10 rounds",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("latchwork / sqlite"), "{text}");
        let page = page(&run);
        for part in [
            "Title &lt;e&gt;, on 3 engines",
            "<polyline",
            "no probe a node",
            "Index Scan",
            "Ratios",
            "<th>2 sessions</th>",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("<script") && !page.contains("http"), "{page}");
    }

    #[test]
    fn figures_have_three_digits_and_tiny_ones_are_no_powers_of_ten() {
        let all = [1234.5, 98.76, 1.0, 0.0, 0.19264, 0.0132, 0.000_004];
        assert_eq!(all.map(small), ["1,234", "98.8", "1.00", "0.00", "0.193", "0.013", "< 0.001"]);
    }

    #[test]
    fn few_rounds_and_a_stopped_run_are_said() {
        let mut run = run();
        run.rows.retain(|r| r.round <= 3);
        run.stopped_of = Some(60);
        run.fill();
        let text = tables(&run);
        assert!(text.contains("Only 3 rounds") && text.contains("Stopped: 18 of 60 measurements were made."), "{text}");
    }
}
