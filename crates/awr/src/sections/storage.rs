//! Files, buffer pools, waits for buffers and enqueues, undo.

use crate::Period;
use crate::doc::{Cell, Section, below, by_most, left, number, section};
use crate::loader::Ends;

pub fn io_sections(p: &Period) -> Vec<Section> {
    vec![tablespaces(p), files(p)]
}

pub fn pool_sections(p: &Period) -> Vec<Section> {
    vec![pools(p), checkpoints(p)]
}

pub fn wait_sections(p: &Period) -> Vec<Section> {
    vec![buffer_waits(p), enqueues(p)]
}

pub fn undo_sections(p: &Period) -> Vec<Section> {
    vec![undo_summary(p), undo(p)]
}

/// The increases of the seven figures of a file.
fn io_row(names: Vec<Cell>, f: [u64; 7], elapsed_s: f64) -> Vec<Cell> {
    let [reads, writes, read_cs, write_cs, blocks_read, ..] = f;
    let mut row = names;
    row.extend([
        Cell::Count(reads),
        Cell::Decimal(reads as f64 / elapsed_s, 1),
        Cell::ratio(read_cs as f64 * 10.0, reads as f64, 2),
        Cell::ratio(blocks_read as f64, reads as f64, 1),
        Cell::Count(writes),
        Cell::Decimal(writes as f64 / elapsed_s, 1),
        Cell::ratio(write_cs as f64 * 10.0, writes as f64, 2),
    ]);
    row
}

fn added(e: &Ends) -> [u64; 7] {
    std::array::from_fn(|n| e.added(n))
}

fn io_columns() -> Vec<crate::doc::Column> {
    vec![
        number("Reads", 12),
        number("Av|Rds/s", 8),
        number("Av|Rd(ms)", 8),
        number("Av|Blks/Rd", 7),
        number("Writes", 12),
        number("Av|Writes/s", 8),
        number("Av|Wrt(ms)", 8),
    ]
}

fn tablespaces(p: &Period) -> Section {
    let mut sums: Vec<(String, [u64; 7])> = Vec::new();
    for e in &p.files {
        match sums.iter_mut().find(|s| s.0 == e.key[0]) {
            Some(s) => s.1.iter_mut().zip(added(e)).for_each(|(sum, n)| *sum += n),
            None => sums.push((e.key[0].clone(), added(e))),
        }
    }
    by_most(&mut sums, |s| s.1[0] + s.1[1], |s| s.0.clone());
    let mut columns = vec![left("Tablespace", 10)];
    columns.extend(io_columns());
    let rows = sums.into_iter().map(|(name, f)| io_row(vec![Cell::Text(name)], f, p.elapsed_s)).collect();
    let notes = ["ordered by IOs (Reads + Writes) desc"];
    section("Tablespace IO Stats", "This table displays tablespace I/O statistics", &notes, columns, rows)
}

fn files(p: &Period) -> Section {
    let mut columns = vec![left("Tablespace", 10)];
    columns.extend(io_columns());
    columns.push(below("Filename"));
    let row = |e: &Ends| {
        let mut row = io_row(vec![Cell::text(&e.key[0])], added(e), p.elapsed_s);
        row.push(Cell::text(&e.key[1]));
        row
    };
    let mut all: Vec<&Ends> = p.files.iter().collect();
    all.sort_by_key(|e| e.key.clone());
    let rows = all.into_iter().map(row).collect();
    section("File IO Stats", "This table displays file I/O statistics", &["ordered by Tablespace, File"], columns, rows)
}

fn pools(p: &Period) -> Section {
    let row = |e: &Ends| {
        let (gets, reads) = (e.added(1), e.added(2));
        let hit =
            if gets == 0 { Cell::Null } else { Cell::Decimal(100.0 * (1.0 - reads as f64 / gets as f64).max(0.0), 0) };
        vec![
            Cell::text(e.name().chars().take(1).collect::<String>()),
            Cell::Count(e.end[0]),
            hit,
            Cell::Count(gets),
            Cell::Count(reads),
            Cell::Count(e.added(3)),
            Cell::Count(e.added(4)),
            Cell::Count(e.added(5)),
            Cell::Count(e.added(6)),
        ]
    };
    let columns = vec![
        left("P", 3),
        number("Number of|Buffers", 10),
        number("Pool|Hit%", 4),
        number("Buffer|Gets", 12),
        number("Physical|Reads", 10),
        number("Physical|Writes", 10),
        number("Free|Buff|Wait", 6),
        number("Writ|Comp|Wait", 6),
        number("Buffer|Busy|Waits", 8),
    ];
    let notes = ["Standard block size Pools  D: default,  K: keep,  R: recycle"];
    let summary = "This table displays buffer pool statistics. For each pool, number of buffers, pool hit%, buffer gets, and I/O are displayed";
    section("Buffer Pool Statistics", summary, &notes, columns, p.pools.iter().map(row).collect())
}

fn checkpoints(p: &Period) -> Section {
    let figures = [
        ("Checkpoints started", "background checkpoints started"),
        ("Checkpoints completed", "background checkpoints completed"),
        ("Writes: checkpoint", "DBWR checkpoint buffers written"),
        ("Writes: undo", "DBWR undo block writes"),
        ("Writes: non-checkpoint", "physical writes non checkpoint"),
        ("Writes: all from the cache", "physical writes from cache"),
    ];
    let row = |(name, stat): &(&str, &str)| {
        let n = p.stat(stat);
        (n > 0).then(|| vec![Cell::text(*name), Cell::Count(n)])
    };
    let columns = vec![left("Kind", 32), number("Number", 16)];
    section(
        "Checkpoint Activity",
        "This table displays checkpoint activity",
        &[],
        columns,
        figures.iter().filter_map(row).collect(),
    )
}

fn buffer_waits(p: &Period) -> Section {
    let mut all: Vec<&Ends> = p.buffer_waits.iter().filter(|e| e.added(0) > 0).collect();
    by_most(&mut all, |e| e.added(1), |e| e.name().to_string());
    let row = |e: &&Ends| {
        let (waits, cs) = (e.added(0), e.added(1));
        let average = Cell::ratio(cs as f64 * 10.0, waits as f64, 1);
        vec![Cell::text(e.name()), Cell::Count(waits), Cell::Decimal(cs as f64 / 100.0, 1), average]
    };
    let columns =
        vec![left("Class", 18), number("Waits", 11), number("Total Wait Time (s)", 19), number("Avg Time (ms)", 14)];
    let rows = all.iter().map(row).collect();
    section(
        "Buffer Wait Statistics",
        "This table displays buffer wait statistics",
        &["ordered by wait time desc, waits desc"],
        columns,
        rows,
    )
}

fn enqueues(p: &Period) -> Section {
    let mut all: Vec<&Ends> = p.enqueues.iter().filter(|e| e.added(3) > 0).collect();
    by_most(&mut all, |e| e.added(4), |e| e.key.concat());
    let row = |e: &&Ends| {
        let waits = e.added(3);
        let ms = e.added(4) as f64;
        // Requests are counted by type only, so types with several reasons show none.
        let known = |n: usize| if e.end[0] == 0 { Cell::Null } else { Cell::Count(e.added(n)) };
        vec![
            Cell::text(format!("{}-{}", e.key[0], e.key[1])),
            known(0),
            known(1),
            known(2),
            Cell::Count(waits),
            Cell::Decimal(ms / 1000.0, 1),
            Cell::ratio(ms, waits as f64, 2),
        ]
    };
    let columns = vec![
        left("Enqueue Type (Request Reason)", 30),
        number("Requests", 9),
        number("Succ|Gets", 9),
        number("Failed|Gets", 7),
        number("Waits", 7),
        number("Wt Time|(s)", 7),
        number("Av Wt|Time(ms)", 8),
    ];
    let notes = ["only enqueues with waits are shown", "ordered by Wait Time desc, Waits desc"];
    section(
        "Enqueue Activity",
        "This table displays enqueue activity statistics",
        &notes,
        columns,
        all.iter().map(row).collect(),
    )
}

/// Undo of the complete ten-minute intervals that ended in the period.
fn undo_summary(p: &Period) -> Section {
    let sum = |n: usize| p.undo.iter().map(|e| e.end[n]).sum::<u64>();
    let most = p.undo.iter().map(|e| e.end[2]).max().unwrap_or(0);
    let row = vec![
        Cell::Decimal(sum(0) as f64 / 1000.0, 1),
        Cell::Count(sum(1)),
        Cell::Count(most),
        Cell::text(format!("{}/{}", sum(4), sum(5))),
        Cell::Count(sum(3)),
    ];
    let columns = vec![
        number("Num Undo|Blocks (K)", 12),
        number("Number of|Transactions", 15),
        number("Max Tx|Concurcy", 8),
        number("STO/|OOS", 7),
        number("Extents|Stolen", 8),
    ];
    let rows = if p.undo.is_empty() { Vec::new() } else { vec![row] };
    let notes = [
        "Intervals of ten minutes that ended between the snapshots",
        "STO - Snapshot Too Old count, OOS - Out of Space count",
    ];
    section("Undo Segment Summary", "This table displays undo segment summary", &notes, columns, rows)
}

fn undo(p: &Period) -> Section {
    let row = |e: &Ends| {
        let mut row = vec![Cell::text(e.name())];
        row.extend(e.end.iter().map(|n| Cell::Count(*n)));
        row
    };
    let columns = vec![
        left("End Time", 14),
        number("Num Undo|Blocks", 11),
        number("Number of|Transactions", 12),
        number("Max Tx|Concurrcy", 9),
        number("Extents|Stolen", 8),
        number("Snapshot|Too Old", 8),
        number("Out of|Space", 6),
    ];
    let notes = ["Most recent intervals of ten minutes, by Time desc"];
    section(
        "Undo Segment Stats",
        "This table displays undo segment statistics",
        &notes,
        columns,
        p.undo.iter().map(row).collect(),
    )
}
