//! Statements, by what they cost.

use super::section;
use crate::Period;
use crate::doc::{Body, Cell, Column, Group, Section, below, left, number};
use crate::period::Statement;

/// Rows of a list.
const SHOWN: usize = 20;

pub fn sections(p: &Period) -> Vec<Section> {
    let all = &p.statements;
    let total = |figure: fn(&Statement) -> u64| all.iter().map(figure).sum::<u64>() as f64;
    let (db_time, cpu) = (p.db_time_us() as f64, p.time_us("DB CPU") as f64);
    let gets = (p.stat("session logical reads") as f64).max(total(|s| s.gets));
    let reads = (p.stat("physical reads") as f64).max(total(|s| s.reads));
    let (parses, executions) = (p.stat("parse count (total)") as f64, p.stat("execute count") as f64);
    vec![
        by_time(
            all,
            "SQL ordered by Elapsed Time",
            ["Elapsed|Time (s)", "Elapsed Time|per Exec (s)"],
            |s| s.elapsed_us,
            db_time,
            p,
        ),
        by_time(all, "SQL ordered by CPU Time", ["CPU|Time (s)", "CPU per|Exec (s)"], |s| s.cpu_us, cpu, p),
        by_blocks(all, "SQL ordered by Gets", ["Buffer|Gets", "Gets|per Exec"], |s| s.gets, gets),
        by_blocks(all, "SQL ordered by Reads", ["Physical|Reads", "Reads|per Exec"], |s| s.reads, reads),
        by_executions(all, executions),
        by_parses(all, parses),
        by_versions(all),
    ]
}

const ELAPSED: &str = "This table displays top SQL by elapsed time";

fn top(all: &[Statement], figure: impl Fn(&Statement) -> u64) -> Vec<&Statement> {
    let mut rows: Vec<&Statement> = all.iter().filter(|s| figure(s) > 0).collect();
    rows.sort_by_cached_key(|s| (std::cmp::Reverse(figure(s)), s.id.clone()));
    rows.truncate(SHOWN);
    rows
}

/// Id, module and text, as the last columns of every list.
fn with_text(mut columns: Vec<Column>) -> Vec<Column> {
    columns.push(left("SQL Id", 13));
    columns.push(below("SQL Text"));
    columns
}

fn named(mut row: Vec<Cell>, s: &Statement) -> Vec<Cell> {
    row.push(Cell::SqlId(s.id.clone()));
    let text = s.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let first: String = text.chars().take(230).collect();
    row.push(if s.module.is_empty() { Cell::Text(first) } else { Cell::Text(format!("Module: {} {first}", s.module)) });
    row
}

fn by_time(
    all: &[Statement],
    title: &str,
    heads: [&'static str; 2],
    figure: fn(&Statement) -> u64,
    whole: f64,
    p: &Period,
) -> Section {
    let row = |s: &&Statement| {
        let us = figure(s) as f64;
        let cells = vec![
            Cell::Decimal(us / 1e6, 1),
            Cell::Count(s.executions),
            Cell::ratio(us / 1e6, s.executions as f64, 6),
            Cell::percent(us, whole, 1),
            Cell::percent(s.cpu_us.min(s.elapsed_us) as f64, s.elapsed_us as f64, 1),
        ];
        named(cells, s)
    };
    let columns = vec![
        number(heads[0], 10),
        number("Executions", 12),
        number(heads[1], 13),
        number("%Total", 6),
        number("%CPU", 6),
    ];
    let captured: u64 = all.iter().map(figure).sum();
    let share = 100.0 * captured as f64 / whole.max(1.0);
    let captured = format!("Captured SQL accounts for {share:.1}% of the total");
    let total = format!("Total DB time (s): {:.1}", p.db_time_us() as f64 / 1e6);
    let notes = [
        "A statement of a block is in the figures of the block, too",
        "%Total - of DB time, or of DB CPU for the list by CPU",
        "%CPU - CPU time as a percentage of elapsed time",
        captured.as_str(),
        total.as_str(),
    ];
    let summary = if title.contains("CPU") { "This table displays top SQL by CPU time" } else { ELAPSED };
    section(title, summary, &notes, with_text(columns), top(all, figure).iter().map(row).collect())
}

fn by_blocks(
    all: &[Statement],
    title: &str,
    heads: [&'static str; 2],
    figure: fn(&Statement) -> u64,
    whole: f64,
) -> Section {
    let row = |s: &&Statement| {
        let n = figure(s) as f64;
        let cells = vec![
            Cell::Count(figure(s)),
            Cell::Count(s.executions),
            Cell::ratio(n, s.executions as f64, 1),
            Cell::percent(n, whole, 1),
            Cell::Decimal(s.elapsed_us as f64 / 1e6, 1),
            Cell::percent(s.cpu_us.min(s.elapsed_us) as f64, s.elapsed_us as f64, 1),
        ];
        named(cells, s)
    };
    let columns = vec![
        number(heads[0], 12),
        number("Executions", 11),
        number(heads[1], 10),
        number("%Total", 6),
        number("Elapsed|Time (s)", 8),
        number("%CPU", 5),
    ];
    let summary = if title.ends_with("Gets") {
        "This table displays top SQL by buffer gets"
    } else {
        "This table displays top SQL by physical reads"
    };
    section(
        title,
        summary,
        &["%Total - of the reads of the instance"],
        with_text(columns),
        top(all, figure).iter().map(row).collect(),
    )
}

fn by_executions(all: &[Statement], whole: f64) -> Section {
    let row = |s: &&Statement| {
        let cells = vec![
            Cell::Count(s.executions),
            Cell::Count(s.rows),
            Cell::ratio(s.rows as f64, s.executions as f64, 1),
            Cell::Decimal(s.elapsed_us as f64 / 1e6, 1),
        ];
        named(cells, s)
    };
    let total = format!("Total Executions: {whole:.0}");
    let columns = vec![
        number("Executions", 12),
        number("Rows|Processed", 12),
        number("Rows|per Exec", 10),
        number("Elapsed|Time (s)", 10),
    ];
    let rows = top(all, |s| s.executions).iter().map(row).collect();
    section(
        "SQL ordered by Executions",
        "This table displays top SQL by number of executions",
        &[&total],
        with_text(columns),
        rows,
    )
}

fn by_parses(all: &[Statement], whole: f64) -> Section {
    let row = |s: &&Statement| {
        let cells =
            vec![Cell::Count(s.parse_calls), Cell::Count(s.executions), Cell::percent(s.parse_calls as f64, whole, 2)];
        named(cells, s)
    };
    let columns = vec![number("Parse|Calls", 12), number("Executions", 12), number("% Total|Parses", 8)];
    let rows = top(all, |s| s.parse_calls).iter().map(row).collect();
    let total = format!("Total Parse Calls: {whole:.0}");
    section(
        "SQL ordered by Parse Calls",
        "This table displays top SQL by number of parse calls",
        &[&total],
        with_text(columns),
        rows,
    )
}

fn by_versions(all: &[Statement]) -> Section {
    let row = |s: &&Statement| named(vec![Cell::Count(s.versions), Cell::Count(s.executions)], s);
    let columns = vec![number("Version|Count", 8), number("Executions", 12)];
    let many = |s: &Statement| if s.versions > 20 { s.versions } else { 0 };
    let rows = top(all, many).iter().map(row).collect();
    let notes = ["Statements with more than 20 child cursors"];
    section(
        "SQL ordered by Version Count",
        "This table displays top SQL by version counts",
        &notes,
        with_text(columns),
        rows,
    )
}

/// The texts of the statements that the sections name.
pub fn named_in(groups: &[Group], p: &Period) -> Vec<(String, String)> {
    let mut ids: Vec<&str> = Vec::new();
    for section in groups.iter().flat_map(|g| &g.sections) {
        let Body::Table(table) = &section.body else { continue };
        for cell in table.rows.iter().flatten() {
            if let Cell::SqlId(id) = cell {
                ids.push(id);
            }
        }
    }
    ids.sort_unstable();
    ids.dedup();
    let text = |id: &str| p.statements.iter().find(|s| s.id == id).map_or(String::new(), |s| s.text.clone());
    ids.into_iter().map(|id| (id.to_string(), text(id))).collect()
}
