//! The SGA, and the parameters.

use super::section;
use crate::Period;
use crate::doc::{Cell, Section, left, number, wrapped};
use crate::period::Ends;

pub fn sections(p: &Period) -> Vec<Section> {
    vec![summary(p), breakdown(p)]
}

fn before(e: &Ends) -> u64 {
    e.begin.first().copied().unwrap_or(0)
}

fn summary(p: &Period) -> Section {
    let mut rows: Vec<Vec<Cell>> = p
        .sga
        .iter()
        .map(|e| {
            let changed = before(e) != e.end[0];
            vec![Cell::text(e.name()), Cell::Count(before(e)), if changed { Cell::Count(e.end[0]) } else { Cell::Null }]
        })
        .collect();
    let sum: u64 = p.sga.iter().map(before).sum();
    rows.push(vec![Cell::text("sum"), Cell::Count(sum), Cell::Null]);
    let columns =
        vec![left("SGA regions", 30), number("Begin Size (Bytes)", 19), number("End Size (Bytes) (if different)", 19)];
    section("SGA Memory Summary", "This table displays SGA memory summary", &[], columns, rows)
}

fn breakdown(p: &Period) -> Section {
    let mut all: Vec<&Ends> = p.sga_areas.iter().filter(|e| e.end[0] >= 1 << 14 || before(e) >= 1 << 14).collect();
    all.sort_by_key(|e| (e.key[0].is_empty(), e.key.clone()));
    let row = |e: &&Ends| {
        let (begin, end) = (before(e), e.end[0]);
        let change = if begin == 0 { Cell::Null } else { Cell::Decimal(100.0 * (end as f64 / begin as f64 - 1.0), 2) };
        vec![
            Cell::text(e.key[0].trim_end_matches(" pool")),
            Cell::text(&e.key[1]),
            Cell::Megabytes(begin),
            Cell::Megabytes(end),
            change,
        ]
    };
    let columns =
        vec![left("Pool", 6), left("Name", 30), number("Begin MB", 14), number("End MB", 14), number("% Diff", 7)];
    let notes = ["areas of 16 KB and more", "ordered by Pool, Name"];
    section(
        "SGA breakdown difference",
        "This table displays SGA breakdown difference by pool and name",
        &notes,
        columns,
        all.iter().map(row).collect(),
    )
}

pub fn parameter_sections(p: &Period) -> Vec<Section> {
    let row = |(name, old, new): &(String, String, String)| {
        vec![Cell::text(name), Cell::text(old), if old == new { Cell::Null } else { Cell::text(new) }]
    };
    let columns = vec![left("Parameter Name", 29), left("Begin value", 33), wrapped("End value|(if different)", 14)];
    let summary = "This table displays name and value of init.ora parameters";
    let notes = ["parameters that are not at their default, or were changed"];
    vec![section("init.ora Parameters", summary, &notes, columns, p.parameters.iter().map(row).collect())]
}
