//! Undo events in every ten minutes of the last four days: the rows of `v$undostat`.
//!
//! An entry keeps the running totals at its beginning; its own counts are the difference to the next entry's, or to the
//! present totals. Only SMON writes. A reader accepts an entry only when the ring's count shows after the read that it
//! was not overwritten.

use sga::{Sga, SgaBuilder, SgaSlice};
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Four days, and the current interval.
const ENTRIES: usize = 577;
/// Length of an interval.
pub const INTERVAL_S: u64 = 600;
/// Totals of an entry: those of `ScnTimes::undo_figures`, and transactions.
const TOTALS: usize = 6;

sga::sga_struct! {
    /// One interval.
    pub struct Interval {
        /// Seconds since 1970, UTC.
        begin_s: AtomicU64,
        totals: [AtomicU64; 6],
        /// The most open transactions at one moment.
        concurrency: AtomicU64,
        /// The undo tablespace in use at the last look.
        tablespace: AtomicU64,
    }

    /// The number of intervals ever begun.
    pub struct IntervalCount {
        begun: AtomicU64,
    }
}

/// Reserved areas.
#[derive(Debug, Clone)]
pub struct UndoIntervalsLayout {
    ring: SgaSlice<Interval>,
    count: SgaSlice<IntervalCount>,
}

impl UndoIntervalsLayout {
    pub(crate) fn reserve(sga: &mut SgaBuilder) -> UndoIntervalsLayout {
        UndoIntervalsLayout { ring: sga.reserve("undo statistics", ENTRIES), count: sga.reserve("undo statistics", 1) }
    }
}

/// The intervals, as every process sees them.
#[derive(Clone, Copy)]
pub struct UndoIntervals {
    ring: &'static [Interval],
    count: &'static IntervalCount,
}

/// An interval as a view shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UndoInterval {
    /// Seconds since 1970, UTC.
    pub begin_s: u64,
    pub end_s: u64,
    /// The counts of undo events, in the order of `ScnTimes::undo_figures`, and the number of transactions begun.
    pub figures: [u64; TOTALS],
    pub concurrency: u64,
    /// Number of the undo tablespace that was in use at its end.
    pub tablespace: u32,
}

impl UndoIntervals {
    pub(crate) fn new(sga: &'static Sga, layout: &UndoIntervalsLayout) -> UndoIntervals {
        UndoIntervals { ring: sga.slice(layout.ring), count: &sga.slice(layout.count)[0] }
    }

    /// Notes the present totals, the number of open transactions and the undo tablespace in use. By SMON, every few
    /// seconds.
    pub fn note(&self, now_s: u64, totals: [u64; TOTALS], open: u64, tablespace: u32) {
        let begun = self.count.begun.load(Ordering::Relaxed);
        let newest = begun.checked_sub(1).map(|n| &self.ring[n as usize % ENTRIES]);
        if let Some(newest) = newest.filter(|e| now_s < e.begin_s.load(Ordering::Relaxed) + INTERVAL_S) {
            newest.concurrency.fetch_max(open, Ordering::Relaxed);
            newest.tablespace.store(tablespace.into(), Ordering::Relaxed);
            return;
        }
        let next = &self.ring[begun as usize % ENTRIES];
        // The first interval includes everything since the instance started.
        let totals = if begun == 0 { [0; TOTALS] } else { totals };
        next.begin_s.store(now_s, Ordering::Relaxed);
        next.totals.iter().zip(totals).for_each(|(word, total)| word.store(total, Ordering::Relaxed));
        next.concurrency.store(open, Ordering::Relaxed);
        next.tablespace.store(tablespace.into(), Ordering::Relaxed);
        self.count.begun.store(begun + 1, Ordering::Release);
    }

    fn read(&self, n: u64) -> Option<(u64, [u64; TOTALS], (u64, u32))> {
        let e = &self.ring[n as usize % ENTRIES];
        let totals = std::array::from_fn(|i| e.totals[i].load(Ordering::Relaxed));
        let last = (e.concurrency.load(Ordering::Relaxed), e.tablespace.load(Ordering::Relaxed) as u32);
        let seen = (e.begin_s.load(Ordering::Relaxed), totals, last);
        fence(Ordering::Acquire);
        // The writer may be writing the entry after the newest.
        (self.count.begun.load(Ordering::Relaxed) < n + ENTRIES as u64).then_some(seen)
    }

    /// The intervals, newest first; the newest one ends now, with these totals.
    pub fn list(&self, now_s: u64, totals: [u64; TOTALS]) -> Vec<UndoInterval> {
        let begun = self.count.begun.load(Ordering::Acquire);
        let (mut end, mut out) = ((now_s, totals), Vec::new());
        for n in (begun.saturating_sub(ENTRIES as u64 - 1)..begun).rev() {
            let Some((begin_s, from, (concurrency, tablespace))) = self.read(n) else { break };
            let figures = std::array::from_fn(|i| end.1[i].saturating_sub(from[i]));
            out.push(UndoInterval { begin_s, end_s: end.0.max(begin_s), figures, concurrency, tablespace });
            end = (begin_s, from);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made() -> UndoIntervals {
        let mut b = SgaBuilder::new();
        let layout = UndoIntervalsLayout::reserve(&mut b);
        UndoIntervals::new(b.create(sga::LargePages::False).expect("a small SGA"), &layout)
    }

    #[test]
    fn intervals_are_ten_minutes_long_and_old_ones_go() {
        let all = made();
        assert!(all.list(5, [1; TOTALS]).is_empty());
        for s in (0..6000 * INTERVAL_S).step_by(200) {
            all.note(1_000_000 + s, [s; TOTALS], s / 200 % 3, 1);
        }
        let (now, totals) = (1_000_000 + 6000 * INTERVAL_S, [6000 * INTERVAL_S; TOTALS]);
        let list = all.list(now, totals);
        assert_eq!(list.len(), ENTRIES - 1);
        assert!(list.iter().all(|i| i.end_s - i.begin_s == INTERVAL_S && i.figures == [INTERVAL_S; TOTALS]));
        assert!(list.iter().all(|i| i.concurrency == 2));
        assert!(list.windows(2).all(|w| w[0].begin_s == w[1].end_s));
        assert_eq!(list[0].end_s, now);
    }

    #[test]
    fn the_first_has_all_since_the_start() {
        let all = made();
        all.note(100, [7; TOTALS], 1, 1);
        all.note(103, [9; TOTALS], 4, 5);
        let want = UndoInterval { begin_s: 100, end_s: 110, figures: [12; TOTALS], concurrency: 4, tablespace: 5 };
        assert_eq!(all.list(110, [12; TOTALS]), [want]);
    }
}
