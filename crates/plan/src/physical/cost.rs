//! Costs of row sources.
//!
//! The unit is Oracle's: one read of a single block. A full scan reads several blocks at a time, so each of its blocks
//! costs [`IN_SCAN`]; processing a row costs processor time, [`PER_ROW`] of a block read. The constants were set by
//! timing row sources over cached tables (docs/PERFORMANCE.md), where an index probe takes as long as processing about
//! fifty rows of a scan. With the times of a disk, nested loops would never be chosen.

use crate::ir::{Cost, SetKind};

/// A block of a full scan, without system statistics: 26 ms for eight blocks, relative to 12 ms for one.
pub const IN_SCAN: f64 = 0.27;
/// A row returned by a scan or another row source.
pub const PER_ROW: f64 = 0.002;
/// A condition or an aggregate, for each row.
pub const PER_CONDITION: f64 = 0.0005;
/// A row added to a hash table.
pub const PER_HASHED: f64 = 0.01;
/// A row looked up in a hash table.
pub const PER_PROBE: f64 = 0.006;
/// The descent of an index: its upper blocks are assumed to be cached.
pub const DESCENT: f64 = 0.12;
/// An index entry that is read.
pub const PER_ENTRY: f64 = 0.002;
/// A table row read by rowid: the row, and its block unless the previous row was in it.
pub const BY_ROWID: f64 = PER_FETCH + PER_VISIT;
pub const PER_FETCH: f64 = 0.02;
pub const PER_VISIT: f64 = 0.08;
/// A look-up in a hash cluster.
pub const BY_HASH: f64 = 0.02;
/// A row compared in a nested loop over a buffer.
pub const PER_PAIR: f64 = 0.0015;
/// Least number of rows assumed where all pairs would be compared: a low estimate may be wrong.
pub const DOUBTED_ROWS: f64 = 8.0;
/// One comparison of a sort.
const PER_COMPARISON: f64 = 0.0006;
/// Rows assumed for a limit that is a bind variable.
pub const UNKNOWN_LIMIT: f64 = 20.0;

/// Sorting rows with this many registers.
pub fn sort(rows: f64, registers: usize) -> f64 {
    rows * (PER_HASHED + rows.max(2.0).log2() * PER_COMPARISON + registers as f64 * 0.0002)
}

/// Rows assumed for a fixed table without statistics.
pub const FIXED_ROWS: f64 = 100.0;
/// The elements of a collection.
pub const ELEMENTS: f64 = 0.1;

/// Checking conditions on rows.
pub fn filter(rows: f64, conditions: usize) -> f64 {
    rows * PER_CONDITION * conditions as f64
}

/// Grouping rows.
pub fn group(rows: f64, sets: usize, aggregates: usize) -> f64 {
    rows * (PER_HASHED * sets.max(1) as f64) + filter(rows, aggregates)
}

/// UNION, INTERSECT or MINUS; UNION ALL costs only its rows.
pub fn set(kind: SetKind, rows: f64) -> f64 {
    let hashed = if kind == SetKind::UnionAll { 0.0 } else { PER_HASHED };
    rows * (PER_ROW + hashed)
}

/// Restarting a row source for each of `left` rows, by an index, a rowid or a hash.
pub fn probe(left: f64, right: Cost) -> Cost {
    (right + Cost::of_cpu(PER_ROW)).times(left)
}

/// Restarting a row source for each of `left` rows, with `rows` rows returned each time.
pub fn again(left: f64, right: Cost, rows: f64) -> Cost {
    (right + Cost::of_cpu(rows * PER_ROW)).times(left.max(1.0))
}

/// Going over buffered rows for each of `left` rows, without the cost of reading them once.
pub fn buffered(left: f64, rows: f64) -> f64 {
    left * rows * PER_PAIR + rows * PER_HASHED
}

/// A hash join, without its inputs.
pub fn hash_join(build: f64, probe: f64, out: f64) -> f64 {
    build * PER_HASHED + probe * PER_PROBE + out * PER_ROW
}
