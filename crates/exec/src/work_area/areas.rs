//! The counts of work areas in shared memory, and the estimates of `v$pga_target_advice`.

use process::Process;
use sga::{Sga, SgaBuilder, SgaSlice};
use std::sync::atomic::{AtomicU64, Ordering};

/// Size classes of work areas: below 1 KB, then by powers of two.
pub const CLASSES: usize = 33;
/// Estimated targets, as multiples of the present one.
pub const FACTORS: [f64; 14] = [0.125, 0.25, 0.5, 0.75, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 3.0, 4.0, 6.0, 8.0];
const LINE: usize = 40;
pub(super) const BYTES: usize = CLASSES;
const EXTRA: usize = CLASSES + 1;

// Shared words.
pub(super) const TARGET: usize = 0;
const LEAST: usize = 1;
pub(super) const ESTIMATES: usize = 8;
pub(super) const ONEPASS: usize = ESTIMATES + FACTORS.len() * ESTIMATE;
pub(super) const MULTIPASS: usize = ONEPASS + CLASSES;
const WORDS: usize = MULTIPASS + CLASSES;
/// Number of words of a target's estimates: bytes, then executions in one pass and in more passes by class.
pub(super) const ESTIMATE: usize = 1 + 2 * CLASSES;
/// Words of what the estimates leave out of the totals, by class and in bytes: everything before the last change of the
/// target, and work areas of a manual size.
pub(super) const SINCE: usize = WORDS;
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
    pub(super) words: &'static [AtomicU64],
    lines: &'static [AtomicU64],
}

pub(super) fn class_of(need: u64) -> usize {
    (64 - (need >> 10).leading_zeros() as usize).min(CLASSES - 1)
}

/// The least and the greatest need of a class, in bytes.
pub fn class_bounds(class: usize) -> (u64, u64) {
    match class {
        0 => (0, 1023),
        n => (512 << n, (1024 << n) - 1),
    }
}

pub(super) fn read(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}

/// Adds to a word that only the own process writes.
#[inline]
pub(super) fn add_own(word: &AtomicU64, n: u64) {
    word.store(word.load(Ordering::Relaxed) + n, Ordering::Relaxed);
}

impl WorkAreas {
    /// Opens its areas. Nothing is estimated before [`WorkAreas::set_target`].
    pub fn create(sga: &'static Sga, layout: &WorkAreaLayout) -> WorkAreas {
        let areas = WorkAreas { words: sga.slice(layout.words), lines: sga.slice(layout.lines) };
        areas.words[LEAST].store(u64::MAX, Ordering::Relaxed);
        areas
    }

    pub(super) fn line(&self, p: &Process) -> &[AtomicU64] {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_contiguous() {
        for class in 0..CLASSES {
            let (low, high) = class_bounds(class);
            assert_eq!((class_of(low), class_of(high)), (class, class));
        }
        assert_eq!(class_of(u64::MAX), CLASSES - 1);
        assert_eq!(class_bounds(1), (1024, 2047));
    }
}
