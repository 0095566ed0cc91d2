//! The report as one self-contained page (invariant 6): the same tables, with plots.

use crate::ash::{Seen, slot_s};
use crate::diff::{self, Comparison};
use crate::doc::{Body, Cell, Report, Section, Table};
use crate::period::Period;
use crate::sections::foreground;
use crate::svg;
use std::collections::BTreeMap;
use types::escape::html as escape;

const STYLE: &str = "
:root{--ink:#1c2430;--soft:#5c6878;--paper:#fff;--line:#dfe4ea;--panel:#f5f7f9;--head:#0b5a80}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1120px;padding:28px 24px 60px;font:14px/1.5 system-ui,-apple-system,'Segoe UI',sans-serif;color:var(--ink);background:var(--paper)}
h1.awr{font-size:25px;margin:0 0 4px}h2.awr{font-size:20px;margin:40px 0 8px;padding-top:12px;border-top:2px solid var(--line)}h3.awr{font-size:16px;margin:26px 0 4px}
.soft,.notes{color:var(--soft);font-size:13px}.notes{margin:0 0 6px;padding-left:18px}.none{color:var(--soft);font-style:italic}
nav ul{columns:3;font-size:13px;padding-left:18px}nav li{break-inside:avoid}a{color:var(--head)}
.wrap{overflow-x:auto}
table{border-collapse:collapse;margin:6px 0 10px;font-size:13px}
th.awrbg{background:var(--head);color:#fff;font-weight:600;padding:4px 10px;text-align:right;vertical-align:bottom}
td.awrc,td.awrnc{padding:3px 10px;text-align:right;font-variant-numeric:tabular-nums;border-bottom:1px solid var(--line);vertical-align:top}
td.awrc{background:var(--panel)}th.awrbg.l,td.l{text-align:left}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(440px,1fr));gap:16px;margin:18px 0}
figure{margin:0;padding:12px;border:1px solid var(--line);border-radius:8px}figcaption{font-weight:600;margin-bottom:6px}
svg{width:100%;height:auto;display:block}svg text{font:12px system-ui,sans-serif;fill:var(--soft)}
.grid{stroke:var(--line)}.limit{stroke:var(--ink);stroke-dasharray:5 4}.bubble{fill:#0b6e99;fill-opacity:.55;stroke:#0b4a66}
polyline{fill:none;stroke-width:2.2}.c0{stroke:#9f1239}.c1{stroke:#1d4ed8}.c2{stroke:#c2410c}.c3{stroke:#15803d}.c4{stroke:#7c3aed}.c5{stroke:#475569}
.d0{fill:#9f1239}.d1{fill:#1d4ed8}.d2{fill:#c2410c}.d3{fill:#15803d}.d4{fill:#7c3aed}.d5{fill:#475569}
.legend{list-style:none;margin:8px 0 0;padding:0;display:flex;flex-wrap:wrap;gap:4px 16px;font-size:12.5px}
.legend i{display:inline-block;width:12px;height:12px;border-radius:2px;margin-right:6px;vertical-align:-1px}
.data{margin:8px 0 0;font-size:12px}.findings{margin:14px 0;padding:12px 12px 12px 30px;background:var(--panel);border-left:3px solid var(--head)}.findings a{font-size:12px;white-space:nowrap}code{font-size:12.5px}
pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:0;font:12.5px/1.45 ui-monospace,Menlo,Consolas,monospace}
@media print{nav,.plots figure{break-inside:avoid}body{max-width:none;padding:0}}
";

/// An anchor for a title.
fn anchor(title: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    title.chars().map(plain).collect()
}

/// Prints a report as a page.
pub fn render(report: &Report, period: &Period) -> String {
    let mut drawn = String::new();
    plots(period, &mut drawn);
    let command = format!("latchwork awr report {} {} --html", period.begin.id, period.end.id);
    page(report, &drawn, &command)
}

/// Prints a comparison of two periods as a page.
pub fn render_compared(report: &Report, two: &Comparison) -> String {
    let mut drawn = String::from("<div class=\"plots\">\n");
    let rows = diff::pairs(two);
    let data = rows.iter().map(|(name, class, [a, b])| vec![name.clone(), class.clone(), a.to_string(), b.to_string()]);
    let link = data_link("events", &["event", "class", "first", "second"], data);
    let drawing = svg::pairs("Average active sessions by event, first and second period", &rows);
    figure("Average active sessions by event: first period above, second below", &drawing, &link, &mut drawn);
    drawn.push_str("</div>\n");
    let ends = |p: &Period| format!("{} {}", p.begin.id, p.end.id);
    let command = format!("latchwork awr diff {} {} --html", ends(&two.first), ends(&two.second));
    page(report, &drawn, &command)
}

/// Longest period, in slots, whose empty slots are drawn.
const SLOTS_MAX: i64 = 1000;

/// Prints a report of the active session history as a page.
pub fn render_seen(report: &Report, seen: &Seen) -> String {
    let slot = slot_s(seen.elapsed_s() / 6.0); // finer than in the table
    let ends = [seen.begin_s, seen.end_s].map(|s| (s / slot).floor() as i64);
    let mut slots: BTreeMap<i64, BTreeMap<String, f64>> = BTreeMap::new();
    if ends[1] - ends[0] < SLOTS_MAX {
        slots.extend((ends[0]..=ends[1]).map(|at| (at, BTreeMap::new())));
    }
    for sample in &seen.samples {
        let class = if sample.class == "CPU" { "DB CPU" } else { &sample.class };
        let slot = slots.entry((sample.at_s / slot).floor() as i64).or_default();
        *slot.entry(class.to_string()).or_default() += sample.seconds;
    }
    let bars: Vec<svg::Stack> = slots
        .into_iter()
        .map(|(at, classes)| svg::Stack {
            from_s: at as f64 * slot - seen.begin_s,
            to_s: (at + 1) as f64 * slot - seen.begin_s,
            classes: classes.into_iter().map(|(class, seconds)| (class, seconds / slot)).collect(),
        })
        .collect();
    let mut drawn = String::from("<div class=\"plots\">\n");
    stacked_classes("Average active sessions, as sampled", &bars, None, &mut drawn);
    drawn.push_str("</div>\n");
    page(report, &drawn, "latchwork awr ash --html")
}

fn page(report: &Report, drawn: &str, command: &str) -> String {
    let mut out = String::from("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">");
    out.push_str(&format!("<title>{}</title><style>{STYLE}</style></head><body>\n", escape(&report.title)));
    out.push_str(&format!("<h1 class=\"awr\">{}</h1>\n", escape(report.heading)));
    out.push_str(&format!(
        "<p class=\"soft\">{}<br>Again: <code>{}</code></p>\n",
        escape(&report.title),
        escape(command)
    ));
    for (at, group) in report.groups.iter().enumerate() {
        if at > 0 {
            out.push_str(&format!("<h2 class=\"awr\" id=\"{}\">{}</h2>\n", anchor(group.title), escape(group.title)));
        }
        for (nth, section) in group.sections.iter().enumerate() {
            section_html(section, at > 0 || nth > 0, &mut out);
            if at == 0 && nth == 0 {
                findings(report, &mut out);
                out.push_str(drawn);
                contents(report, &mut out);
                out.push_str("<h2 class=\"awr\">Report Summary</h2>\n");
            }
        }
    }
    statements(report, &mut out);
    out.push_str("<p class=\"soft\">End of Report</p>\n</body></html>\n");
    out
}

/// The findings, each with a link to the section of its figures.
fn findings(report: &Report, out: &mut String) {
    if report.findings.is_empty() {
        return;
    }
    out.push_str("<ul class=\"findings\">");
    for finding in &report.findings {
        let (text, place) = (escape(&finding.text), anchor(finding.section));
        out.push_str(&format!("<li>{text} <a href=\"#{place}\">{}</a></li>", escape(finding.section)));
    }
    out.push_str("</ul>\n");
}

/// A link under a plot to its data, as comma-separated values within the page.
fn data_link(name: &str, heads: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let quoted = |field: &str| match field.contains([',', '"', '\n']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_string(),
    };
    let mut csv = heads.join(",");
    for row in rows {
        let fields: Vec<String> = row.iter().map(|field| quoted(field)).collect();
        csv.push_str(&format!("\n{}", fields.join(",")));
    }
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~,".contains(&b);
    let coded: String =
        csv.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect();
    format!(
        "<p class=\"data\"><a download=\"{name}.csv\" href=\"data:text/csv;charset=utf-8,{coded}\">data as CSV</a></p>"
    )
}

fn contents(report: &Report, out: &mut String) {
    out.push_str("<nav aria-label=\"Sections\"><ul>");
    for section in report.groups.iter().flat_map(|g| &g.sections).skip(1) {
        out.push_str(&format!("<li><a href=\"#{}\">{}</a></li>", anchor(&section.title), escape(&section.title)));
    }
    out.push_str("<li><a href=\"#complete-list-of-sql-text\">Complete List of SQL Text</a></li></ul></nav>\n");
}

fn section_html(section: &Section, titled: bool, out: &mut String) {
    if titled {
        out.push_str(&format!("<h3 class=\"awr\" id=\"{}\">{}</h3>\n", anchor(&section.title), escape(&section.title)));
    }
    match &section.body {
        Body::Table(table) if table.rows.is_empty() => {
            out.push_str("<p class=\"none\">No data exists for this section of the report.</p>\n");
        }
        Body::Table(table) => {
            if !section.notes.is_empty() {
                let notes: String = section.notes.iter().map(|n| format!("<li>{}</li>", escape(n.trim()))).collect();
                out.push_str(&format!("<ul class=\"notes\">{notes}</ul>\n"));
            }
            table_html(table, section.summary, out);
        }
        Body::Verbatim { tables, .. } => tables.iter().for_each(|table| table_html(table, section.summary, out)),
    }
}

fn table_html(table: &Table, summary: &str, out: &mut String) {
    out.push_str(&format!("<div class=\"wrap\"><table summary=\"{}\">", escape(summary)));
    // A table of names and values has no headings.
    let is_headed = table.columns.iter().any(|column| !column.head.is_empty());
    let columns = if is_headed { table.columns.as_slice() } else { &[] };
    out.push_str("<tr>");
    for column in columns {
        let side = if column.left { " l" } else { "" };
        let head = column.head.replace("-|", "").replace('|', " ").trim().to_string();
        out.push_str(&format!("<th class=\"awrbg{side}\" scope=\"col\">{}</th>", escape(&head)));
    }
    out.push_str("</tr>\n");
    for (nth, row) in table.rows.iter().enumerate() {
        let class = if nth % 2 == 0 { "awrc" } else { "awrnc" };
        out.push_str("<tr>");
        for (cell, column) in row.iter().zip(&table.columns) {
            let side = if column.left { " l" } else { "" };
            out.push_str(&format!("<td class=\"{class}{side}\">{}</td>", cell_html(cell)));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table></div>\n");
}

fn cell_html(cell: &Cell) -> String {
    match cell {
        Cell::SqlId(id) => format!("<a href=\"#sql-{0}\">{0}</a>", escape(id)),
        other => escape(other.shown().trim()),
    }
}

fn statements(report: &Report, out: &mut String) {
    out.push_str("<h2 class=\"awr\" id=\"complete-list-of-sql-text\">Complete List of SQL Text</h2>\n");
    if report.statements.is_empty() {
        out.push_str("<p class=\"none\">No data exists for this section of the report.</p>\n");
        return;
    }
    out.push_str("<div class=\"wrap\"><table summary=\"This table displays the text of the SQL statements which have been referred to in the report\">");
    out.push_str(
        "<tr><th class=\"awrbg l\" scope=\"col\">SQL Id</th><th class=\"awrbg l\" scope=\"col\">SQL Text</th></tr>\n",
    );
    for (nth, (id, text)) in report.statements.iter().enumerate() {
        let class = if nth % 2 == 0 { "awrc" } else { "awrnc" };
        out.push_str(&format!(
            "<tr><td class=\"{class} l\" id=\"sql-{0}\">{0}</td><td class=\"{class} l\"><pre>{1}</pre></td></tr>\n",
            escape(id),
            escape(text)
        ));
    }
    out.push_str("</table></div>\n");
}

fn figure(title: &str, drawing: &str, legend: &str, out: &mut String) {
    if !drawing.is_empty() {
        out.push_str(&format!("<figure><figcaption>{}</figcaption>{drawing}{legend}</figure>\n", escape(title)));
    }
}

fn legend<'a>(names: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let entry = |(name, mark): (&str, String)| format!("<li><i {mark}></i>{}</li>", escape(name));
    format!("<ul class=\"legend\">{}</ul>", names.into_iter().map(entry).collect::<String>())
}

fn plots(p: &Period, out: &mut String) {
    out.push_str("<div class=\"plots\">\n");
    active_sessions(p, out);
    top_events(p, out);
    latch_map(p, out);
    latch_split(p, out);
    wait_curves(p, out);
    child_strip(p, out);
    out.push_str("</div>\n");
}

/// Average active sessions between consecutive snapshots, by wait class.
fn active_sessions(p: &Period, out: &mut String) {
    let bars: Vec<svg::Stack> = p
        .steps
        .iter()
        .map(|step| {
            let us = ((step.to_s - step.from_s) * 1e6).max(1.0);
            let mut classes = vec![("DB CPU".to_string(), step.cpu_us as f64 / us)];
            classes.extend(step.waited.iter().map(|(class, waited)| (class.clone(), *waited as f64 / us)));
            let known = step.cpu_us + step.waited.iter().map(|w| w.1).sum::<u64>();
            classes.push((svg::WAITING_FOR_CPU.to_string(), step.db_time_us.saturating_sub(known) as f64 / us));
            svg::Stack { from_s: step.from_s, to_s: step.to_s, classes }
        })
        .collect();
    let cpus = p.os.get("NUM_CPUS").map(|(_, n)| (*n, "CPUs"));
    stacked_classes("Average active sessions", &bars, cpus, out);
}

/// Active sessions over time by wait class, with a legend and the figures.
fn stacked_classes(title: &str, bars: &[svg::Stack], limit: Option<(f64, &str)>, out: &mut String) {
    let mut seen: Vec<&str> = Vec::new();
    for (class, height) in bars.iter().flat_map(|b| &b.classes) {
        if *height > 0.0 && !seen.contains(&class.as_str()) {
            seen.push(class);
        }
    }
    let marks = seen.iter().map(|class| (*class, format!("style=\"background:{}\"", svg::colour(class))));
    let data = bars.iter().flat_map(|bar| {
        bar.classes
            .iter()
            .map(move |(class, n)| vec![bar.from_s.to_string(), bar.to_s.to_string(), class.clone(), format!("{n:.6}")])
    });
    let link = data_link("active-sessions", &["from_s", "to_s", "class", "sessions"], data);
    let drawing = svg::stacked("Average active sessions by wait class", bars, limit);
    figure(title, &drawing, &(legend(marks) + &link), out);
}

fn top_events(p: &Period, out: &mut String) {
    let cpu = p.time_us("DB CPU");
    let mut rows: Vec<(String, String, f64)> = vec![("DB CPU".into(), "DB CPU".into(), cpu as f64)];
    let known = cpu + foreground(p).iter().map(|r| r.3).sum::<u64>();
    rows.push((svg::WAITING_FOR_CPU.into(), svg::WAITING_FOR_CPU.into(), p.db_time_us().saturating_sub(known) as f64));
    rows.extend(foreground(p).into_iter().map(|(event, class, _, us)| (event, class, us as f64)));
    rows.sort_by(|a, b| b.2.total_cmp(&a.2));
    let all = p.db_time_us() as f64;
    let beside =
        |us: f64| format!("{} ({:.1} %)", crate::doc::micros(us), if all > 0.0 { 100.0 * us / all } else { 0.0 });
    let rows: Vec<_> = rows
        .into_iter()
        .filter(|r| r.2 > 0.0)
        .take(10)
        .map(|(name, class, us)| (name, class, us, beside(us)))
        .collect();
    let data = rows.iter().map(|(name, class, us, _)| vec![name.clone(), class.clone(), format!("{us:.0}")]);
    let link = data_link("events", &["event", "class", "microseconds"], data);
    figure("Where the time of users went", &svg::bars("Foreground events by time", &rows), &link, out);
}

fn latch_map(p: &Period, out: &mut String) {
    let bubble = |e: &crate::loader::Ends| {
        let (gets, misses) = (e.added(0) as f64, e.added(1) as f64);
        (e.name().to_string(), gets, 100.0 * misses / gets, e.added(6) as f64 / 1e3)
    };
    let latches: Vec<_> = p.latches.iter().filter(|e| e.added(1) > 0 && e.added(0) > 0).map(bubble).collect();
    let data = latches.iter().map(|(name, gets, percent, ms)| {
        vec![name.clone(), gets.to_string(), format!("{percent:.6}"), format!("{ms:.3}")]
    });
    let link = data_link("latches", &["latch", "gets", "missed_percent", "sleep_ms"], data);
    let drawing = svg::bubbles("Latches by gets, misses and sleep time", &latches);
    figure("Latches that were missed", &drawing, &link, out);
}

/// Misses that ended by spinning and by sleeping. A miss may do both, so the sum may exceed the misses.
fn latch_split(p: &Period, out: &mut String) {
    let mut rows: Vec<(String, [f64; 2])> = p
        .latches
        .iter()
        .filter(|e| e.added(1) > 0)
        .map(|e| (e.name().to_string(), [e.added(5) as f64, e.added(2) as f64]))
        .collect();
    rows.sort_by(|a, b| (b.1[0] + b.1[1]).total_cmp(&(a.1[0] + a.1[1])));
    rows.truncate(10);
    let data = rows.iter().map(|(name, [spins, sleeps])| vec![name.clone(), spins.to_string(), sleeps.to_string()]);
    let link = data_link("spin-or-sleep", &["latch", "spin_gets", "sleeps"], data);
    let marks = [("spin gets", svg::SPIN), ("sleeps", svg::SLEEP)]
        .map(|(name, colour)| (name, format!("style=\"background:{colour}\"")));
    figure(
        "How misses ended: by spinning, or asleep",
        &svg::split("Spin gets and sleeps of each latch", &rows),
        &(legend(marks) + &link),
        out,
    );
}

/// Gets of the children of the latch with the most misses, if the snapshots have them.
fn child_strip(p: &Period, out: &mut String) {
    let children = |name: &str| p.latch_children.iter().filter(|e| e.key[0] == name).collect::<Vec<_>>();
    let Some(latch) =
        p.latches.iter().filter(|e| !children(e.name()).is_empty()).max_by_key(|e| (e.added(1), e.added(0)))
    else {
        return;
    };
    let mut all: Vec<(u64, [f64; 2])> = children(latch.name())
        .iter()
        .map(|e| (e.key[1].parse().unwrap_or(0), [e.added(0) as f64, e.added(1) as f64]))
        .collect();
    all.sort_unstable_by_key(|child| child.0);
    let data = all.iter().map(|(child, [gets, misses])| vec![child.to_string(), gets.to_string(), misses.to_string()]);
    let link = data_link("children", &["child", "gets", "misses"], data);
    let title = format!("Children of '{}': gets (above) and misses (below)", latch.name());
    figure(&title, &svg::strip(&title, &all), &link, out);
}

fn wait_curves(p: &Period, out: &mut String) {
    let mut events: Vec<svg::Curve> = Vec::new();
    for (name, ..) in foreground(p).into_iter().take(6) {
        let own = p.histogram.iter().filter(|e| e.key[0] == name);
        let mut points: Vec<(f64, f64)> = own.map(|e| (e.key[2].parse().unwrap_or(1.0), e.added(0) as f64)).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let all: f64 = points.iter().map(|p| p.1).sum();
        points.iter_mut().for_each(|p| p.1 *= 100.0 / all.max(1.0));
        events.push(svg::Curve { name, points });
    }
    const MARKS: [&str; 6] = ["#9f1239", "#1d4ed8", "#c2410c", "#15803d", "#7c3aed", "#475569"];
    let marks = events.iter().zip(MARKS).map(|(e, colour)| (e.name.as_str(), format!("style=\"background:{colour}\"")));
    let data = events.iter().flat_map(|e| {
        e.points.iter().map(move |(us, share)| vec![e.name.clone(), us.to_string(), format!("{share:.4}")])
    });
    let link = data_link("wait-histogram", &["event", "up_to_us", "percent_of_waits"], data);
    let legend = legend(marks) + &link;
    figure("How long waits took", &svg::curves("Waits of users by how long they took", &events), &legend, out);
}
