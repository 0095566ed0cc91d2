//! Work areas: the memory that sorts, hash joins, groupings and others needed, and estimates for other values of
//! `pga_aggregate_target`: `v$sql_workarea_histogram`, `v$pgastat`, `v$pga_target_advice`.
//!
//! When a work area has all its rows, it notes how many bytes would have kept them in memory and how often they passed
//! through temporary space. A process counts small work areas in a line of its own. A work area that spilled, or would
//! spill with the smallest estimated target, has done megabytes of work: only such a work area is compared with all
//! targets, by the executor's own rules for temporary space, and counted in shared words. Nothing is estimated for work
//! areas with `workarea_size_policy = MANUAL`.
//!
//! A work area whose reader stops early may not be counted: a row source that returns rows while it reads its input
//! knows its need only at the end.

use crate::ctx::ExecCtx;
use process::Process;
use sga::{Sga, SgaBuilder, SgaSlice};
use std::sync::atomic::{AtomicU64, Ordering};
use types::Value;
use wait::Stat;

use crate::spill::partition::{LEVELS_MAX, PARTS};
use crate::spill::sorter::FAN_IN;

/// Size classes of work areas: below 1 KB, then by powers of two.
pub const CLASSES: usize = 33;
/// Estimated targets, as multiples of the present one.
pub const FACTORS: [f64; 14] = [0.125, 0.25, 0.5, 0.75, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 3.0, 4.0, 6.0, 8.0];

const LINE: usize = 40;
const BYTES: usize = CLASSES;
const EXTRA: usize = CLASSES + 1;

// Shared words.
const TARGET: usize = 0;
const LEAST: usize = 1;
const ESTIMATES: usize = 8;
const ONEPASS: usize = ESTIMATES + FACTORS.len() * ESTIMATE;
const MULTIPASS: usize = ONEPASS + CLASSES;
const WORDS: usize = MULTIPASS + CLASSES;
/// Number of words of a target's estimates: bytes, then executions in one pass and in more passes by class.
const ESTIMATE: usize = 1 + 2 * CLASSES;
/// Words of what the estimates leave out of the totals, by class and in bytes: everything before the last change of the
/// target, and work areas of a manual size.
const SINCE: usize = WORDS;
const ALL_WORDS: usize = SINCE + CLASSES + 1;

/// Bytes that one work area may hold under a target.
pub fn limit_of(pga_aggregate_target: u64) -> u64 {
    pga_aggregate_target / 2
}

/// Reserved areas.
#[derive(Clone, Copy, Debug)]
pub struct WorkAreaLayout {
    words: SgaSlice<AtomicU64>,
    lines: SgaSlice<AtomicU64>,
}

impl WorkAreaLayout {
    pub fn reserve(sga: &mut SgaBuilder, processes: usize) -> WorkAreaLayout {
        WorkAreaLayout {
            words: sga.reserve("work areas", ALL_WORDS),
            lines: sga.reserve("work areas", processes * LINE),
        }
    }
}

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
    fn passes(self, need: u64, bytes: u64, limit: u64) -> (u32, u64) {
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

/// Totals of all processes.
#[derive(Clone, Copy, Debug)]
pub struct WorkAreaTotals {
    /// Executions by class: in memory, in one pass, in more.
    pub classes: [[u64; 3]; CLASSES],
    /// Bytes of rows processed, and bytes written to and read from temporary space.
    pub bytes: u64,
    pub extra_bytes: u64,
}

/// Estimate for a target, since the present target was set.
#[derive(Clone, Copy, Debug)]
pub struct TargetEstimate {
    pub factor: f64,
    pub target: u64,
    pub extra_bytes: u64,
    /// Executions by class: in memory, in one pass, in more.
    pub classes: [[u64; 3]; CLASSES],
}

/// The counts of all processes.
pub struct WorkAreas {
    words: &'static [AtomicU64],
    lines: &'static [AtomicU64],
}

fn class_of(need: u64) -> usize {
    (64 - (need >> 10).leading_zeros() as usize).min(CLASSES - 1)
}

/// The least and the greatest need of a class, in bytes.
pub fn class_bounds(class: usize) -> (u64, u64) {
    match class {
        0 => (0, 1023),
        n => (512 << n, (1024 << n) - 1),
    }
}

fn read(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}

/// Adds to a word that only the own process writes.
#[inline]
fn add_own(word: &AtomicU64, n: u64) {
    word.store(word.load(Ordering::Relaxed) + n, Ordering::Relaxed);
}

impl WorkAreas {
    /// Opens its areas. Nothing is estimated before [`WorkAreas::set_target`].
    pub fn create(sga: &'static Sga, layout: &WorkAreaLayout) -> WorkAreas {
        let areas = WorkAreas { words: sga.slice(layout.words), lines: sga.slice(layout.lines) };
        areas.words[LEAST].store(u64::MAX, Ordering::Relaxed);
        areas
    }

    fn line(&self, p: &Process) -> &[AtomicU64] {
        &self.lines[(p.number() as usize - 1) * LINE..][..LINE]
    }

    /// Restarts the estimates for a target in bytes; `None` disables them. Calls must not overlap.
    pub fn set_target(&self, target: Option<u64>) {
        let target = target.unwrap_or(0);
        if target == read(&self.words[TARGET]) {
            return;
        }
        self.words[LEAST].store(u64::MAX, Ordering::Relaxed);
        self.words[TARGET].store(target, Ordering::Relaxed);
        self.words[ESTIMATES..ONEPASS].iter().for_each(|word| word.store(0, Ordering::Relaxed));
        let totals = self.totals();
        for (class, executions) in totals.classes.iter().enumerate() {
            self.words[SINCE + class].store(executions.iter().sum(), Ordering::Relaxed);
        }
        self.words[SINCE + CLASSES].store(totals.bytes, Ordering::Relaxed);
        if target > 0 {
            let least = limit_of((target as f64 * FACTORS[0]) as u64);
            self.words[LEAST].store(least, Ordering::Relaxed);
        }
    }

    /// The target of the estimates; `None` if they are disabled.
    pub fn target(&self) -> Option<u64> {
        Some(read(&self.words[TARGET])).filter(|target| *target > 0)
    }

    /// Whether a work area of this size would spill with one of the targets. Only then does the way matter in which its
    /// rows are written.
    #[inline]
    pub(crate) fn is_large(&self, need: u64) -> bool {
        need > read(&self.words[LEAST])
    }

    /// Counts a work area: the bytes that would keep it in memory, and the number of passes of its rows through
    /// temporary space. `go_on` returns how it continues without memory, and the bytes of its rows when written; it is
    /// called for large work areas, and where operations are counted.
    #[inline]
    pub(crate) fn note(&self, cx: &ExecCtx<'_>, need: u64, passes: u32, go_on: impl FnOnce() -> (Way, u64)) {
        if cx.session.noted.is_on() {
            let way = go_on();
            let limit = cx.session.options.spill_bytes as u64;
            cx.session.noted.area(need, passes, way.0, way.1, limit);
            return self.count(cx, need, passes, || way);
        }
        self.count(cx, need, passes, go_on);
    }

    #[inline]
    fn count(&self, cx: &ExecCtx<'_>, need: u64, passes: u32, go_on: impl FnOnce() -> (Way, u64)) {
        let (line, class) = (self.line(cx.p), class_of(need));
        add_own(&line[class], 1);
        add_own(&line[BYTES], need);
        if !cx.session.options.work_area_auto {
            self.leave_out(class, need);
        }
        if passes == 0 && !self.is_large(need) {
            cx.p.count(Stat::WorkareaOptimal, 1);
            return;
        }
        self.note_large(cx, need, passes, class, go_on());
    }

    /// Counts a work area of a manual size among those left out of the estimates.
    #[cold]
    fn leave_out(&self, class: usize, need: u64) {
        self.words[SINCE + class].fetch_add(1, Ordering::Relaxed);
        self.words[SINCE + CLASSES].fetch_add(need, Ordering::Relaxed);
    }

    #[cold]
    fn note_large(&self, cx: &ExecCtx<'_>, need: u64, passes: u32, class: usize, (way, written): (Way, u64)) {
        let stat = match passes {
            0 => Stat::WorkareaOptimal,
            1 => Stat::WorkareaOnepass,
            _ => Stat::WorkareaMultipass,
        };
        cx.p.count(stat, 1);
        if passes > 0 {
            let of = if passes == 1 { ONEPASS } else { MULTIPASS };
            self.words[of + class].fetch_add(1, Ordering::Relaxed);
        }
        self.estimate(cx, way, need, written, Some(class));
    }

    /// Adds bytes that are known only after [`WorkAreas::note`] of a work area with this need.
    #[cold]
    pub(crate) fn note_more(&self, cx: &ExecCtx<'_>, way: Way, need: u64, written: u64) {
        self.estimate(cx, way, need, written, None);
    }

    fn estimate(&self, cx: &ExecCtx<'_>, way: Way, need: u64, written: u64, class: Option<usize>) {
        let target = read(&self.words[TARGET]);
        if target == 0 || !cx.session.options.work_area_auto {
            return;
        }
        for (n, factor) in FACTORS.iter().enumerate() {
            let (passes, bytes) = way.passes(need, written, limit_of((target as f64 * factor) as u64));
            let words = &self.words[ESTIMATES + n * ESTIMATE..][..ESTIMATE];
            if passes > 0 {
                words[0].fetch_add(2 * bytes, Ordering::Relaxed);
            }
            if let (Some(class), true) = (class, passes > 0) {
                let of = if passes == 1 { 1 } else { 1 + CLASSES };
                words[of + class].fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Counts bytes written to or read from temporary space.
    #[inline]
    pub(crate) fn note_extra(&self, p: &Process, bytes: usize) {
        add_own(&self.line(p)[EXTRA], bytes as u64);
    }

    /// Totals of all processes since the instance started.
    pub fn totals(&self) -> WorkAreaTotals {
        let sum = |at: usize| self.lines.iter().skip(at).step_by(LINE).map(read).sum::<u64>();
        let class = |n: usize| {
            let (once, more) = (read(&self.words[ONEPASS + n]), read(&self.words[MULTIPASS + n]));
            [sum(n).saturating_sub(once + more), once, more]
        };
        WorkAreaTotals { classes: std::array::from_fn(class), bytes: sum(BYTES), extra_bytes: sum(EXTRA) }
    }

    /// Bytes of rows processed since the present target was set, and the estimate for each target.
    pub fn estimates(&self) -> (u64, Vec<TargetEstimate>) {
        let Some(present) = self.target() else { return (0, Vec::new()) };
        let totals = self.totals();
        let since = |n: usize| read(&self.words[SINCE + n]);
        let of = |(n, factor): (usize, &f64)| {
            let words = &self.words[ESTIMATES + n * ESTIMATE..][..ESTIMATE];
            let class = |n: usize| {
                let all = totals.classes[n].iter().sum::<u64>().saturating_sub(since(n));
                let (once, more) = (read(&words[1 + n]), read(&words[1 + CLASSES + n]));
                [all.saturating_sub(once + more), once, more]
            };
            TargetEstimate {
                factor: *factor,
                target: (present as f64 * factor) as u64,
                extra_bytes: read(&words[0]),
                classes: std::array::from_fn(class),
            }
        };
        (totals.bytes.saturating_sub(since(CLASSES)), FACTORS.iter().enumerate().map(of).collect())
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
        crate::spill::rows::encode(values(row), &mut record);
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
    fn classes_are_contiguous() {
        for class in 0..CLASSES {
            let (low, high) = class_bounds(class);
            assert_eq!((class_of(low), class_of(high)), (class, class));
        }
        assert_eq!(class_of(u64::MAX), CLASSES - 1);
        assert_eq!(class_bounds(1), (1024, 2047));
    }

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
