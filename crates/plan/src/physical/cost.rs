//! What row sources cost.
//!
//! The unit is Oracle's: one read of a single block. A full scan reads several blocks at a time, so that a block of it
//! costs [`IN_SCAN`], and a row that is looked at costs processor time, [`PER_ROW`] of a block's read. The shares were
//! set by timing the row sources over tables in the cache (docs/PERFORMANCE.md), where a probe of an index takes as
//! long as looking at about fifty rows of a scan: with a device's own times nested loops would never be taken.

use crate::ir::{Cost, SetKind};

/// Cost of a block in a full scan without system statistics: 26 ms for eight blocks against 12 ms for one.
pub const IN_SCAN: f64 = 0.27;
/// Of a row that a scan or another row source gives up.
pub const PER_ROW: f64 = 0.002;
/// Of a condition or an aggregate, for each row.
pub const PER_CONDITION: f64 = 0.0005;
/// Of a row that is put into a hash table.
pub const PER_HASHED: f64 = 0.01;
/// Of a row that looks into a hash table.
pub const PER_PROBE: f64 = 0.006;
/// Of going down an index: its upper blocks are always in the cache.
pub const DESCENT: f64 = 0.12;
/// Of an entry of an index that is passed.
pub const PER_ENTRY: f64 = 0.002;
/// Of a table's row that is read by its rowid: the row, and its block where it is not the one before.
pub const BY_ROWID: f64 = PER_FETCH + PER_VISIT;
pub const PER_FETCH: f64 = 0.02;
pub const PER_VISIT: f64 = 0.08;
/// Of a look-up in a hash cluster.
pub const BY_HASH: f64 = 0.02;
/// Of a row that is compared in a nested loop over what is buffered.
pub const PER_PAIR: f64 = 0.0015;
/// An estimate of fewer rows than these is taken for these where all pairs would be compared.
pub const DOUBTED_ROWS: f64 = 8.0;
/// Of one comparison of a sort.
const PER_COMPARISON: f64 = 0.0006;
/// Rows that a limit by a bind variable is taken for.
pub const UNKNOWN_LIMIT: f64 = 20.0;

/// Of sorting rows with so many registers.
pub fn sort(rows: f64, registers: usize) -> f64 {
    rows * (PER_HASHED + rows.max(2.0).log2() * PER_COMPARISON + registers as f64 * 0.0002)
}

/// Rows that a fixed table without statistics is taken to have.
pub const FIXED_ROWS: f64 = 100.0;
/// Of the elements of a collection.
pub const ELEMENTS: f64 = 0.1;

/// Of conditions on so many rows.
pub fn filter(rows: f64, conditions: usize) -> f64 {
    rows * PER_CONDITION * conditions as f64
}

/// Of groups of so many rows.
pub fn group(rows: f64, sets: usize, aggregates: usize) -> f64 {
    rows * (PER_HASHED * sets.max(1) as f64) + filter(rows, aggregates)
}

/// Of a UNION, INTERSECT or MINUS of so many rows; of a UNION ALL only the rows themselves.
pub fn set(kind: SetKind, rows: f64) -> f64 {
    let hashed = if kind == SetKind::UnionAll { 0.0 } else { PER_HASHED };
    rows * (PER_ROW + hashed)
}

/// Of a row source that is started again for each of `left` rows by an index, a rowid or a hash.
pub fn probe(left: f64, right: Cost) -> Cost {
    (right + Cost::of_cpu(PER_ROW)).times(left)
}

/// Of a row source that is started again for each of `left` rows and gives `rows` of them.
pub fn again(left: f64, right: Cost, rows: f64) -> Cost {
    (right + Cost::of_cpu(rows * PER_ROW)).times(left.max(1.0))
}

/// Of rows that are read once, and gone over for each of `left` rows, beyond reading them.
pub fn buffered(left: f64, rows: f64) -> f64 {
    left * rows * PER_PAIR + rows * PER_HASHED
}

/// Of a hash join, beyond its inputs.
pub fn hash_join(build: f64, probe: f64, out: f64) -> f64 {
    build * PER_HASHED + probe * PER_PROBE + out * PER_ROW
}
