//! Dynamic sampling: statistics of a table without statistics, from a sample of its blocks, at a hard parse.
//!
//! The scan chooses the blocks (`heap::Scan::sample_blocks`), always the same ones of a segment. Rows, NULLs and
//! distinct values are scaled from the sample to the table, distinct values by the estimator Duj1 of Haas and Stokes
//! (VLDB 1995): the number of values seen once estimates the number of values not seen. A column with few values, most
//! of them seen more than once, gets a frequency histogram. The results are used for this plan only.
//!
//! Rejected: evaluating the statement's conditions on the sample, as Oracle does. Selective conditions need larger
//! samples than statistics, which serve all conditions.

use crate::ctx::ExecCtx;
use dictionary::statistics::{Endpoints, cut, place_of_bytes, place_of_stored};
use dictionary::{ColumnStatistics, HistogramKind, TableDef, TableStatistics};
use plan::Sampled;
use std::collections::HashMap;
use types::{Ora, Result, RowReader};

/// Most distinct values of a column with a histogram.
const HISTOGRAM_MOST: usize = 254;

/// The counts of a column.
#[derive(Default)]
struct Counts {
    values: HashMap<Box<[u8]>, u64>,
    nulls: u64,
    bytes: u64,
}

/// Samples up to `most` blocks of a table. `None` for a table without a segment shared by all sessions, and for a
/// dropped table.
///
/// # Errors
/// Those of reading; cancellation of the call.
pub(crate) fn sample(cx: &mut ExecCtx<'_>, table: &TableDef, columns: &[usize], most: u64) -> Result<Option<Sampled>> {
    match read(cx, table, columns, most) {
        // The table was redefined, or the snapshot is too old: plan without a sample.
        Err(e) if e.is(8103) || e.is(1555) => Ok(None),
        found => found,
    }
}

fn read(cx: &mut ExecCtx<'_>, table: &TableDef, columns: &[usize], most: u64) -> Result<Option<Sampled>> {
    let Some(heap) = table.heap_table().filter(|_| table.temporary.is_none()) else { return Ok(None) };
    let segments = cx.shared.txns.space();
    let mut blocks = Vec::new();
    for (n, extent) in segments.extents_of(cx.p, heap.header, heap.data_object)?.into_iter().enumerate() {
        segments.formatted_blocks(cx.p, heap.data_object, extent, n as u32, &mut blocks)?;
    }
    let all = blocks.len() as u64;
    let share = if all > most { most as f64 / all as f64 } else { 1.0 };
    let mut counts: Vec<Counts> = columns.iter().map(|_| Counts::default()).collect();
    let (mut rows, mut bytes) = (0u64, 0u64);
    let damaged = || Ora::internal("[damaged row]");
    let mut take = |row: &[u8]| -> Result<()> {
        rows += 1;
        bytes += row.len() as u64;
        let mut reader = RowReader::new(row).ok_or_else(damaged)?;
        let mut at = 0;
        for (column, counts) in columns.iter().zip(&mut counts) {
            while at < *column {
                reader.next_column();
                at += 1;
            }
            at += 1;
            match reader.next_column().and_then(|column| column.bytes()) {
                None => counts.nulls += 1,
                Some(stored) => {
                    counts.bytes += stored.len() as u64 + 1;
                    match counts.values.get_mut(cut(stored)) {
                        Some(rows) => *rows += 1,
                        None => drop(counts.values.insert(cut(stored).into(), 1)),
                    }
                }
            }
        }
        Ok(())
    };
    let snapshot = cx.shared.txns.snapshot(cx.p, &cx.session.txn);
    let mut scan = heap::Scan::new();
    let mut run = || {
        scan.start(cx.shared.heap, cx.p, &snapshot, &heap)?;
        if share < 1.0 {
            scan.sample_blocks(share);
        }
        while scan.each_in_block(cx.shared.heap, cx.p, &mut take)? {
            cx.check_cancel()?;
        }
        Ok(())
    };
    let done: Result<()> = run();
    cx.shared.txns.release(cx.p, &snapshot);
    done?;
    let whole = |n: u64| (n as f64 / share).round() as u64;
    let average = bytes.checked_div(rows).unwrap_or(0) as u32;
    let found = columns.iter().zip(counts).map(|(at, counts)| (*at, statistics_of(table, *at, counts, rows, share)));
    Ok(Some(Sampled { table: TableStatistics::new(whole(rows), all, average), columns: found.collect() }))
}

/// Statistics of a column from a sample of this share of the table.
fn statistics_of(table: &TableDef, at: usize, counts: Counts, rows: u64, share: f64) -> ColumnStatistics {
    let column = &table.columns[at];
    let place = |bytes: &[u8]| place_of_stored(bytes, &column.data_type).unwrap_or_else(|| place_of_bytes(bytes));
    let mut values: Vec<(Box<[u8]>, u64)> = counts.values.into_iter().collect();
    values.sort_unstable();
    let seen: u64 = values.iter().map(|(_, rows)| rows).sum();
    let once = values.iter().filter(|(_, rows)| *rows == 1).count();
    let distinct = distinct_of(values.len() as u64, once as u64, seen, share);
    let range = values.first().zip(values.last()).map(|(low, high)| (place(&low.0), place(&high.0)));
    let mut found = ColumnStatistics::new(distinct, (counts.nulls as f64 / share).round() as u64, range);
    found.ends = values.first().zip(values.last()).map(|(low, high)| (low.0.clone(), high.0.clone()));
    found.sample = seen;
    found.average_bytes = counts.bytes.checked_div(rows).unwrap_or(0) as u32;
    if (1..=HISTOGRAM_MOST).contains(&values.len()) && (share >= 1.0 || once * 2 < values.len()) {
        let mut endpoints = Endpoints::default();
        let mut cumulative = 0;
        for (value, rows) in &values {
            cumulative += rows;
            endpoints.push(value, place(value), cumulative, *rows);
        }
        found.histogram = endpoints.finish(HistogramKind::Frequency);
    }
    found
}

/// Estimates the distinct values of a column: the sample has `found` of them among `seen` values, `once` of which occur
/// once.
fn distinct_of(found: u64, once: u64, seen: u64, share: f64) -> u64 {
    if seen == 0 || share >= 1.0 {
        return found;
    }
    let unseen = (1.0 - share) * once as f64 / seen as f64;
    let most = seen as f64 / share;
    (found as f64 / (1.0 - unseen).max(share)).min(most).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinct_values_are_scaled_by_those_seen_once() {
        // A tenth was sampled and each value occurs once: all values of the table are distinct.
        assert_eq!(distinct_of(100, 100, 100, 0.1), 1000);
        // No value occurs once: the sample has them all.
        assert_eq!(distinct_of(10, 0, 100, 0.1), 10);
        assert_eq!(distinct_of(0, 0, 0, 0.5), 0);
        assert_eq!(distinct_of(7, 7, 7, 1.0), 7);
    }
}
