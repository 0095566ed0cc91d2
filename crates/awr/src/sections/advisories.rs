//! Advisories: estimates for other sizes of memory.

use crate::Period;
use crate::advice::{CacheSize, PgaTarget, PoolSize, SgaSize};
use crate::doc::{Cell, Section, left, number, section};
use crate::loader::Ends;

const MB: f64 = 1_048_576.0;

pub fn sections(p: &Period) -> Vec<Section> {
    // Latchwork has no such pools.
    let none = |title: &str, summary| section(title, summary, &[], vec![left("", 1)], Vec::new());
    vec![
        cache_sizes(p),
        pga_summary(p),
        pga_target(p),
        work_areas(p),
        pga_targets(p),
        pools(p),
        sgas(p),
        none("Streams Pool Advisory", "This table displays streams pool advisory"),
        none("Java Pool Advisory", "This table displays java pool advisory"),
    ]
}

fn cache_sizes(p: &Period) -> Section {
    let row = |size: &CacheSize| {
        vec![
            Cell::text(size.pool.chars().take(1).collect::<String>()),
            Cell::Decimal(size.megabytes, 1),
            Cell::Decimal(size.factor, 1),
            Cell::Decimal(size.buffers as f64 / 1e3, 1),
            Cell::ratio(size.reads, size.present, 1),
            Cell::Decimal(size.reads / 1e3, 1),
        ]
    };
    let columns = vec![
        left("P", 3),
        number("Size for|Est (M)", 10),
        number("Size|Factor", 6),
        number("Buffers|(thousands)", 12),
        number("Est|Phys|Read|Factor", 7),
        number("Estimated|Phys Reads|(thousands)", 16),
    ];
    let notes = [
        "Only rows with estimated physical reads >0 are displayed; of a sample of blocks",
        "ordered by Buffers For Estimate; reads are since instance startup",
    ];
    let rows = p.advice.caches.iter().filter(|size| size.reads > 0.0).map(row).collect();
    section("Buffer Pool Advisory", "This table displays buffer pool advisory", &notes, columns, rows)
}

fn pga_summary(p: &Period) -> Section {
    let (bytes, extra) =
        (p.advice.pga_added("bytes processed") as f64, p.advice.pga_added("extra bytes read/written") as f64);
    let row =
        vec![Cell::ratio(100.0 * bytes, bytes + extra, 2), Cell::Decimal(bytes / MB, 0), Cell::Decimal(extra / MB, 0)];
    let columns =
        vec![number("PGA Cache Hit %", 15), number("W/A MB Processed", 18), number("Extra W/A MB Read/Written", 26)];
    let notes = ["PGA cache hit % - percentage of W/A (WorkArea) data processed only in-memory"];
    let rows = if bytes == 0.0 { Vec::new() } else { vec![row] };
    section("PGA Aggr Summary", "This table displays PGA aggregate summary statistics", &notes, columns, rows)
}

fn pga_target(p: &Period) -> Section {
    let [target, allocated, bound] =
        ["aggregate PGA target parameter", "total PGA allocated", "global memory bound"].map(|name| p.advice.pga(name));
    let scaled = |value: Option<u64>, unit: f64, decimals| {
        value.map_or(Cell::Null, |bytes| Cell::Decimal(bytes as f64 / unit, decimals))
    };
    let row = |end: &str, target, allocated, bound| {
        vec![Cell::text(end), scaled(target, MB, 0), scaled(allocated, MB, 1), scaled(bound, 1024.0, 0)]
    };
    let columns = vec![
        left("", 1),
        number("PGA Aggr|Target(M)", 10),
        number("PGA Mem|Alloc(M)", 10),
        number("Global Mem|Bound(K)", 10),
    ];
    let rows = vec![row("B", target.0, allocated.0, bound.0), row("E", target.1, allocated.1, bound.1)];
    let rows = if target.1.is_none() { Vec::new() } else { rows };
    let notes = ["B: Begin Snap   E: End Snap", "the bound holds for each work area"];
    section("PGA Aggr Target Stats", "This table displays PGA aggregate target statistics", &notes, columns, rows)
}

/// Bytes in units of a power of 1024.
fn size(bytes: f64) -> Cell {
    let (mut value, mut units) = (bytes, "\0KMGT".chars());
    let mut unit = units.next().unwrap_or('\0');
    while value >= 1024.0 {
        let Some(next) = units.next() else { break };
        (value, unit) = (value / 1024.0, next);
    }
    Cell::text(if unit == '\0' { format!("{value:.0}B") } else { format!("{value:.0}{unit}") })
}

fn work_areas(p: &Period) -> Section {
    let row = |e: &Ends| {
        let bound = |at: usize| e.key[at].parse::<f64>().unwrap_or(0.0);
        let executions = [e.added(0), e.added(1), e.added(2)];
        let mut row = vec![size(bound(0)), size(bound(1) + 1.0), Cell::Count(executions.iter().sum())];
        row.extend(executions.map(Cell::Count));
        row
    };
    let columns = vec![
        left("Low|Optimal", 7),
        left("High|Optimal", 7),
        number("Total Execs", 14),
        number("Optimal Execs", 14),
        number("1-Pass Execs", 12),
        number("M-Pass Execs", 12),
    ];
    let did = |e: &&Ends| (0..3).any(|n| e.added(n) > 0);
    let rows = p.advice.work_areas.iter().filter(did).map(row).collect();
    let notes = ["Optimal Executions are purely in-memory operations"];
    section("PGA Aggr Target Histogram", "This table displays PGA aggregate target histogram", &notes, columns, rows)
}

fn pga_targets(p: &Period) -> Section {
    let row = |t: &PgaTarget| {
        vec![
            Cell::Decimal(t.bytes / MB, 0),
            Cell::Decimal(t.factor, 1),
            Cell::Decimal(t.processed / MB, 1),
            Cell::Decimal(t.extra / MB, 1),
            Cell::Decimal(t.hit_percentage, 1),
            Cell::text("N/A"),
        ]
    };
    let columns = vec![
        number("PGA Target|Est (MB)", 10),
        number("Size|Factr", 7),
        number("W/A MB|Processed", 16),
        number("Estd Extra|W/A MB Read/|Written to Disk", 16),
        number("Estd PGA|Cache|Hit %", 8),
        number("Estd PGA|Overalloc|Count", 9),
    ];
    let notes = [
        "When using Auto Memory Mgmt, minimally choose a pga_aggregate_target value where Estd Extra W/A MB is small",
        "since instance startup, or since the target was last changed",
    ];
    let rows = p.advice.pga_targets.iter().filter(|t| t.processed > 0.0).map(row).collect();
    section("PGA Memory Advisory", "This table displays PGA memory advisory", &notes, columns, rows)
}

fn pools(p: &Period) -> Section {
    let row = |s: &PoolSize| {
        vec![
            Cell::Decimal(s.megabytes, 1),
            Cell::Decimal(s.factor, 1),
            Cell::Decimal(s.library_megabytes, 1),
            Cell::Count(s.objects),
            Cell::Decimal(s.saved_s, 1),
            Cell::Decimal(s.saved_factor, 1),
            Cell::Decimal(s.load_s, 1),
            Cell::Decimal(s.load_factor, 1),
            Cell::Decimal(s.hits / 1e3, 1),
        ]
    };
    let columns = vec![
        number("Shared|Pool|Size (M)", 9),
        number("SP|Size|Factr", 5),
        number("Est LC|Size (M)", 8),
        number("Est LC|Mem Obj", 9),
        number("Est LC|Time|Saved (s)", 10),
        number("Est LC|Time Saved|Factr", 10),
        number("Est LC|Load Time|(s)", 9),
        number("Est LC|Load|Time Factr", 10),
        number("Est LC|Mem Obj|Hits (K)", 10),
    ];
    let notes = [
        "SP: Shared Pool     Est LC: Estimated Library Cache   Factr: Factor",
        "of a sample of statements and objects; since instance startup",
    ];
    let rows = p.advice.pools.iter().filter(|s| s.hits > 0.0).map(row).collect();
    section("Shared Pool Advisory", "This table displays shared pool advisory", &notes, columns, rows)
}

fn sgas(p: &Period) -> Section {
    let row = |s: &SgaSize| {
        vec![
            Cell::Decimal(s.megabytes, 0),
            Cell::Decimal(s.factor, 1),
            Cell::Decimal(s.db_time_s, 0),
            Cell::Decimal(s.reads, 0),
        ]
    };
    let columns = vec![
        number("SGA Target|Size (M)", 10),
        number("SGA Size|Factor", 10),
        number("Est DB|Time (s)", 12),
        number("Est Physical|Reads", 16),
    ];
    let notes = ["sizes whose buffer cache is simulated; since instance startup"];
    let rows = p.advice.sgas.iter().map(row).collect();
    section("SGA Target Advisory", "This table displays SGA target advisory", &notes, columns, rows)
}
