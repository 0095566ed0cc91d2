//! Statements by cost.

use crate::Period;
use crate::doc::{Body, Cell, Column, Group, Section, below, left, number, section};
use crate::period::Statement;

/// Rows of a list.
const SHOWN: usize = 20;

pub fn sections(p: &Period) -> Vec<Section> {
    let all = &p.statements;
    // The figures of a block are already in those of its statements.
    let total = |figure: fn(&Statement) -> u64| all.iter().filter(|s| !s.is_block()).map(figure).sum::<u64>() as f64;
    let (db_time, cpu) = (p.db_time_us() as f64, p.time_us("DB CPU") as f64);
    let gets = (p.stat("session logical reads") as f64).max(total(|s| s.gets));
    let reads = (p.stat("physical reads") as f64).max(total(|s| s.reads));
    let (parses, executions) = (p.stat("parse count (total)") as f64, p.stat("execute count") as f64);
    let io = p.events.iter().filter(|e| e.key[1] == "User I/O").map(|e| e.added(5)).sum::<u64>() as f64;
    let times = TIMES.iter().zip([db_time, cpu, io.max(total(|s| s.io_us))]);
    let by_times = times.map(|(time, whole)| by_time(all, time, whole, p));
    let others = vec![
        by_blocks(all, "SQL ordered by Gets", ["Buffer|Gets", "Gets|per Exec"], |s| s.gets, gets),
        by_blocks(all, "SQL ordered by Reads", ["Physical|Reads", "Reads|per Exec"], |s| s.reads, reads),
        by_executions(all, executions),
        by_parses(all, parses),
        by_memory(all, p),
        by_versions(all),
    ];
    by_times.chain(others).collect()
}

/// A list by a time.
struct Time {
    title: &'static str,
    summary: &'static str,
    heads: [&'static str; 2],
    figure: fn(&Statement) -> u64,
    /// The whole that `%Total` refers to.
    of: &'static str,
    /// Whether the list also has a column for the elapsed time.
    with_elapsed: bool,
}

const TIMES: [Time; 3] = [
    Time {
        title: "SQL ordered by Elapsed Time",
        summary: "This table displays top SQL by elapsed time",
        heads: ["Elapsed|Time (s)", "Elapsed Time|per Exec (s)"],
        figure: |s| s.elapsed_us,
        of: "DB time",
        with_elapsed: false,
    },
    Time {
        title: "SQL ordered by CPU Time",
        summary: "This table displays top SQL by CPU time",
        heads: ["CPU|Time (s)", "CPU per|Exec (s)"],
        figure: |s| s.cpu_us,
        of: "DB CPU",
        with_elapsed: true,
    },
    Time {
        title: "SQL ordered by User I/O Wait Time",
        summary: "This table displays top SQL by user I/O time",
        heads: ["User I/O|Time (s)", "UIO per|Exec (s)"],
        figure: |s| s.io_us,
        of: "the waits of users in the class User I/O",
        with_elapsed: true,
    },
];

/// A share of the elapsed time, in per cent.
fn of_elapsed(us: u64, s: &Statement) -> Cell {
    Cell::percent(us.min(s.elapsed_us) as f64, s.elapsed_us as f64, 1)
}

fn top(all: &[Statement], figure: impl Fn(&Statement) -> u64) -> Vec<&Statement> {
    let mut rows: Vec<&Statement> = all.iter().filter(|s| figure(s) > 0).collect();
    rows.sort_by_cached_key(|s| (std::cmp::Reverse(figure(s)), s.id.clone()));
    rows.truncate(SHOWN);
    rows
}

/// Appends id, module and text, the last columns of every list.
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

fn by_time(all: &[Statement], time: &Time, whole: f64, p: &Period) -> Section {
    let row = |s: &&Statement| {
        let us = (time.figure)(s) as f64;
        let mut cells = vec![
            Cell::Decimal(us / 1e6, 1),
            Cell::Count(s.executions),
            Cell::ratio(us / 1e6, s.executions as f64, 6),
            Cell::percent(us, whole, 1),
        ];
        cells.extend(time.with_elapsed.then_some(Cell::Decimal(s.elapsed_us as f64 / 1e6, 1)));
        cells.extend([of_elapsed(s.cpu_us, s), of_elapsed(s.io_us, s)]);
        named(cells, s)
    };
    let mut columns = vec![
        number(time.heads[0], 10),
        number("Executions", 12),
        number(time.heads[1], if time.with_elapsed { 10 } else { 13 }),
        number("%Total", 6),
    ];
    columns.extend(time.with_elapsed.then_some(number("Elapsed|Time (s)", 10)));
    columns.extend([number("%CPU", 6), number("%IO", 6)]);
    let captured = |name: &str, blocks: bool| {
        let us: u64 = all.iter().filter(|s| s.is_block() == blocks).map(time.figure).sum();
        format!("Captured {name} accounts for {:.1}% of the total", 100.0 * us as f64 / whole.max(1.0))
    };
    let captured = [captured("SQL", false), captured("PL/SQL", true)];
    let of = format!("%Total - of {}", time.of);
    let total = format!("Total DB time (s): {:.1}", p.db_time_us() as f64 / 1e6);
    let notes = [
        "A statement of a block is in the figures of the block, too",
        of.as_str(),
        "%CPU - CPU time, %IO - User I/O time as a percentage of elapsed time",
        captured[0].as_str(),
        captured[1].as_str(),
        total.as_str(),
    ];
    section(time.title, time.summary, &notes, with_text(columns), top(all, time.figure).iter().map(row).collect())
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
            of_elapsed(s.cpu_us, s),
            of_elapsed(s.io_us, s),
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
        number("%IO", 5),
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

/// Bytes of the smallest statement in the list by memory.
const MEMORY_LEAST: u64 = 1 << 20;

fn by_memory(all: &[Statement], p: &Period) -> Section {
    let pool = p.sga.iter().find(|e| e.name() == "Variable Size").and_then(|e| e.end.first().copied()).unwrap_or(0);
    let row = |s: &&Statement| {
        let share = Cell::percent(s.memory as f64, pool as f64, 2);
        named(vec![Cell::Count(s.memory), Cell::Count(s.executions), share], s)
    };
    let columns = vec![number("Sharable Mem (b)", 16), number("Executions", 12), number("% Total", 8)];
    let large = |s: &Statement| if s.memory > MEMORY_LEAST { s.memory } else { 0 };
    let rows = top(all, large).iter().map(row).collect();
    let notes = ["Statements with more than 1048576 bytes of shared memory", "% Total - of the shared pool"];
    section(
        "SQL ordered by Sharable Memory",
        "This table displays top SQL by amount of shared memory used",
        &notes,
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
