//! The SGA, process memory and the parameters.

use crate::Period;
use crate::doc::{Cell, Section, left, number, section, wrapped};
use crate::loader::Ends;

pub fn sections(p: &Period) -> Vec<Section> {
    vec![components(p), processes(p), summary(p), breakdown(p)]
}

fn before(e: &Ends) -> u64 {
    e.begin.first().copied().unwrap_or(0)
}

fn components(p: &Period) -> Section {
    let row = |e: &Ends| {
        let at = |of: &[u64], n: usize| of.get(n).copied().unwrap_or(0);
        vec![
            Cell::text(e.name()),
            Cell::Megabytes(before(e)),
            Cell::Megabytes(at(&e.end, 0)),
            Cell::Megabytes(at(&e.end, 1)),
            Cell::Megabytes(at(&e.end, 2)),
            Cell::Count(at(&e.end, 3)),
            Cell::text(format!("{}/", e.key[1].chars().take(3).collect::<String>())),
        ]
    };
    let columns = vec![
        left("Component", 15),
        number("Begin Snap|Size (Mb)", 11),
        number("Current|Size (Mb)", 11),
        number("Min|Size (Mb)", 11),
        number("Max|Size (Mb)", 11),
        number("Oper|Count", 6),
        left("Last Op|Typ/Mod", 7),
    ];
    let notes = ["Min/Max sizes since instance startup", "ordered by Component"];
    let mut all: Vec<&Ends> = p.components.iter().collect();
    all.sort_by_key(|e| e.name().to_string());
    let rows = all.into_iter().map(row).collect();
    let summary = "This table displays memory dynamic components";
    section("Memory Dynamic Components", summary, &notes, columns, rows)
}

/// Memory of processes at both ends (B and E).
fn processes(p: &Period) -> Section {
    let mb = |bytes: u64| Cell::Decimal(bytes as f64 / f64::from(1 << 20), 1);
    let mut rows = Vec::new();
    for (mark, ends) in [("B", true), ("E", false)] {
        let of = |e: &Ends| if ends { e.begin.clone() } else { e.end.clone() };
        let mut all: Vec<(&str, Vec<u64>)> = p.process_memory.iter().map(|e| (e.name(), of(e))).collect();
        all.retain(|(_, figures)| figures.len() == 8);
        all.sort_by_key(|(name, figures)| (std::cmp::Reverse(figures[3]), name.to_string()));
        for (nth, (name, f)) in all.into_iter().enumerate() {
            let mut row = vec![Cell::text(if nth == 0 { mark } else { "" }), Cell::text(name)];
            row.extend([f[3], f[2], f[4], f[5], f[6], f[7]].map(mb));
            row.extend([Cell::Count(f[0]), Cell::Count(f[1])]);
            rows.push(row);
        }
    }
    let columns = vec![
        left("", 1),
        left("Category", 8),
        number("Alloc|(MB)", 9),
        number("Used|(MB)", 9),
        number("Avg|Alloc|(MB)", 8),
        number("Std Dev|Alloc|(MB)", 8),
        number("Max|Alloc|(MB)", 7),
        number("Hist|Max|Alloc|(MB)", 7),
        number("Num|Proc", 6),
        number("Num|Alloc", 6),
    ];
    let notes = [
        "B: Begin Snap   E: End Snap",
        "All rows below contain absolute values (i.e. not diffed over the interval)",
        "Hist Max Alloc is the largest allocation so far of any process that still exists",
        "ordered by Begin/End snapshot, Alloc (MB) desc",
    ];
    let summary = "This table displays process memory summary";
    section("Process Memory Summary", summary, &notes, columns, rows)
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
