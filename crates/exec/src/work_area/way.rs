//! The ways in which work areas continue in temporary space, and what they cost.

use crate::spill::limits::{FAN_IN, LEVELS_MAX, PARTS};
use crate::spill::rows;
use types::Value;

/// Memory of a record in addition to the bytes that are written.
pub(crate) const SORTED_MORE: u64 = 56;

/// How a work area continues when it does not fit into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Sorted runs are written and merged. `sorted`: bytes of all records in memory.
    Merge { sorted: u64 },
    /// All rows are partitioned by a hash, and partitions that are too large again.
    Divide,
    /// Rows that do not fit beside the groups in memory are partitioned, repeatedly for a partition that does not fit;
    /// the results are then sorted: number of records, and their bytes.
    Overflow { records: u64, sorted: u64 },
    /// Rows are written once and read in order.
    Write,
}

impl Way {
    /// The way of records that are sorted, and their bytes when written.
    pub fn merge(records: u64, written: u64) -> (Way, u64) {
        (Way::Merge { sorted: written + records * SORTED_MORE }, written)
    }

    /// Least memory with which the rows pass through temporary space once.
    pub fn onepass(self, need: u64) -> u64 {
        match self {
            Way::Write => 0,
            Way::Merge { sorted } => sorted.div_ceil(FAN_IN as u64),
            Way::Divide => need.div_ceil(PARTS as u64),
            Way::Overflow { .. } => need.div_ceil(PARTS as u64 + 1),
        }
    }

    /// The number of passes through temporary space with this memory limit, and the bytes written (as many are read).
    /// `bytes`: bytes of all rows when written.
    pub(super) fn passes(self, need: u64, bytes: u64, limit: u64) -> (u32, u64) {
        let limit = limit.max(1);
        if need <= limit {
            return (0, 0);
        }
        match self {
            Way::Write => (1, bytes),
            Way::Merge { sorted } if sorted <= limit => (0, 0),
            Way::Merge { sorted } => {
                let (mut runs, mut passes) = (sorted.div_ceil(limit).max(1), 1);
                while runs > FAN_IN as u64 {
                    runs = runs.div_ceil(FAN_IN as u64);
                    passes += 1;
                }
                (passes, bytes * u64::from(passes))
            }
            Way::Divide => {
                let (mut part, mut passes) = (need / PARTS as u64, 1);
                while part > limit && passes < LEVELS_MAX {
                    part /= PARTS as u64;
                    passes += 1;
                }
                (passes, bytes * u64::from(passes))
            }
            Way::Overflow { records, sorted } => {
                let (mut part, mut share, mut passes, mut all) = (need as f64, bytes as f64, 0, 0.0);
                let mut parts = 1.0;
                while part > limit as f64 && passes < LEVELS_MAX {
                    share *= (part - limit as f64) / part;
                    all += share * parts;
                    part = (part - limit as f64) / PARTS as f64;
                    share /= PARTS as f64;
                    parts *= PARTS as f64;
                    passes += 1;
                }
                let (_, merged) = Way::merge(records, sorted).0.passes(need, sorted, limit);
                (passes, all as u64 + merged)
            }
        }
    }
}

/// Number of rows that are encoded to estimate their length.
const SAMPLED: usize = 64;

/// Estimates the bytes of all rows when written, from a sample.
pub(crate) fn bytes_written<'v, R>(
    rows: &'v [R],
    key: impl Fn(&'v R) -> usize,
    values: impl Fn(&'v R) -> &'v [Value],
) -> u64 {
    let (mut seen, mut bytes, mut record) = (0u64, 0u64, Vec::new());
    for row in rows.iter().step_by((rows.len() / SAMPLED).max(1)) {
        record.clear();
        rows::encode(values(row), &mut record);
        bytes += (key(row) + record.len() + 4) as u64;
        seen += 1;
    }
    (bytes * rows.len() as u64).checked_div(seen).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    #[test]
    fn less_memory_never_needs_fewer_passes() {
        for way in
            [Way::Merge { sorted: 900 * MB }, Way::Divide, Way::Overflow { records: 10, sorted: 50 * MB }, Way::Write]
        {
            let at = |limit: u64| way.passes(1000 * MB, 600 * MB, limit);
            assert_eq!(at(1000 * MB), (0, 0), "{way:?}");
            let (passes, bytes) = at(500 * MB);
            assert!(passes == 1 && bytes <= 600 * MB && bytes > 0, "{way:?}");
            let all: Vec<_> = [1, 2, 4, 8, 16, 50, 100, 500, 1000].map(|n| at(n * MB)).into();
            assert!(all.is_sorted_by(|a, b| a >= b), "{way:?}: {all:?}");
        }
        assert_eq!(Way::Merge { sorted: 900 * MB }.passes(1000 * MB, 600 * MB, 4 * MB), (2, 1200 * MB));
        assert_eq!(Way::Divide.passes(1000 * MB, 600 * MB, 4 * MB).0, 2);
        let overflow = |sorted| Way::Overflow { records: 10, sorted }.passes(1000 * MB, 600 * MB, 500 * MB).1;
        assert_eq!((overflow(400 * MB), overflow(600 * MB)), (300 * MB, 900 * MB));
    }
}
