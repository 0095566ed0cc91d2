//! The times of SCNs: rings of samples in the SGA, a fine one for the last hours and a coarse one for the last days.
//!
//! Only SMON takes samples; every process reads. A reader accepts a sample only when the ring's count shows before and
//! after the read that it was not overwritten. Between two samples an SCN is given the earlier sample's time, and a
//! time the earlier sample's SCN, so a moment is at most one interval too early and never too late.

use sga::{Sga, SgaBuilder, SgaSlice};
use std::sync::atomic::{AtomicU64, Ordering};
use types::Scn;

/// Samples of the fine ring: three and a half hours at one every three seconds.
const FINE: usize = 4096;
/// Samples of the coarse ring: a week at one every five minutes.
const COARSE: usize = 2048;
const COARSE_EVERY_US: u64 = 300_000_000;

sga::sga_struct! {
    /// One sample.
    pub struct Sample {
        /// Microseconds since 1970, UTC.
        time_us: AtomicU64,
        scn: AtomicU64,
    }

    /// The number of samples ever taken.
    pub struct Counts {
        fine: AtomicU64,
        coarse: AtomicU64,
        /// The newest SCN of the moment `undo_retention` ago: undo of later commits is kept while there is room.
        retained: AtomicU64,
        /// Undo blocks that transactions took, since the instance started.
        taken: AtomicU64,
        /// Of those, blocks of other segments that had expired, and blocks that had not.
        stolen_expired: AtomicU64,
        stolen_unexpired: AtomicU64,
        /// ORA-01555 and ORA-30036.
        too_old: AtomicU64,
        no_space: AtomicU64,
    }
}

/// Events of undo, for `v$undostat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UndoEvent {
    Taken,
    StolenExpired,
    StolenUnexpired,
    TooOld,
    NoSpace,
}

/// Reserved areas.
#[derive(Debug, Clone)]
pub struct ScnTimeLayout {
    fine: SgaSlice<Sample>,
    coarse: SgaSlice<Sample>,
    counts: SgaSlice<Counts>,
}

impl ScnTimeLayout {
    pub(crate) fn reserve(sga: &mut SgaBuilder) -> ScnTimeLayout {
        ScnTimeLayout {
            fine: sga.reserve("scn time map", FINE),
            coarse: sga.reserve("scn time map", COARSE),
            counts: sga.reserve("scn time map", 1),
        }
    }
}

/// The map, as every process sees it.
#[derive(Clone, Copy)]
pub struct ScnTimes {
    fine: &'static [Sample],
    coarse: &'static [Sample],
    counts: &'static Counts,
}

/// A moment: an SCN, and the time when it was the newest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Microseconds since 1970, UTC.
    pub time_us: u64,
    /// The newest SCN then.
    pub scn: Scn,
}

fn push(ring: &[Sample], count: &AtomicU64, moment: Moment) {
    let n = count.load(Ordering::Relaxed);
    let at = &ring[n as usize % ring.len()];
    at.time_us.store(moment.time_us, Ordering::Relaxed);
    at.scn.store(moment.scn.0, Ordering::Relaxed);
    count.store(n + 1, Ordering::Release);
}

/// The sample number `n`, unless it has been overwritten. The writer may be writing one sample, which is excluded.
fn sample(ring: &[Sample], count: &AtomicU64, n: u64) -> Option<Moment> {
    let at = &ring[n as usize % ring.len()];
    let seen = Moment { time_us: at.time_us.load(Ordering::Relaxed), scn: Scn(at.scn.load(Ordering::Relaxed)) };
    std::sync::atomic::fence(Ordering::Acquire);
    (count.load(Ordering::Relaxed) < n + ring.len() as u64).then_some(seen)
}

/// The newest sample for which `is_before` holds; they rise in both, time and SCN.
fn newest(ring: &[Sample], count: &AtomicU64, is_before: &dyn Fn(&Moment) -> bool) -> Option<Moment> {
    let end = count.load(Ordering::Acquire);
    let (mut low, mut high) = (end.saturating_sub(ring.len() as u64 - 1), end);
    while low < high {
        let middle = low.midpoint(high);
        match sample(ring, count, middle) {
            Some(m) if !is_before(&m) => high = middle,
            // An overwritten sample is older than all that are left.
            _ => low = middle + 1,
        }
    }
    low.checked_sub(1).and_then(|n| sample(ring, count, n)).filter(|m| is_before(m))
}

impl ScnTimes {
    pub(crate) fn new(sga: &'static Sga, layout: &ScnTimeLayout) -> ScnTimes {
        let counts = &sga.slice(layout.counts)[0];
        // Until the retention is set, undo is kept for open snapshots only.
        counts.retained.store(u64::MAX, Ordering::Relaxed);
        ScnTimes { fine: sga.slice(layout.fine), coarse: sga.slice(layout.coarse), counts }
    }

    /// Adds a moment. By one process at a time, in order; a moment that is not after the last one is skipped. True when
    /// it was added.
    pub fn note(&self, moment: Moment) -> bool {
        let Counts { fine, coarse, .. } = self.counts;
        let last = |ring: &[Sample], count: &AtomicU64| newest(ring, count, &|_| true);
        if last(self.fine, fine).is_some_and(|l| moment.time_us <= l.time_us || moment.scn <= l.scn) {
            return false;
        }
        push(self.fine, fine, moment);
        if last(self.coarse, coarse).is_none_or(|l| moment.time_us >= l.time_us + COARSE_EVERY_US) {
            push(self.coarse, coarse, moment);
        }
        true
    }

    /// Counts an event of undo.
    pub(crate) fn count(&self, what: UndoEvent) {
        let c = self.counts;
        let word = match what {
            UndoEvent::Taken => &c.taken,
            UndoEvent::StolenExpired => &c.stolen_expired,
            UndoEvent::StolenUnexpired => &c.stolen_unexpired,
            UndoEvent::TooOld => &c.too_old,
            UndoEvent::NoSpace => &c.no_space,
        };
        word.fetch_add(1, Ordering::Relaxed);
    }

    /// The counts of undo events since the instance started, in the order of [`UndoEvent`].
    pub fn undo_figures(&self) -> [u64; 5] {
        let c = self.counts;
        [&c.taken, &c.stolen_expired, &c.stolen_unexpired, &c.too_old, &c.no_space].map(|w| w.load(Ordering::Relaxed))
    }

    fn find(&self, is_before: &dyn Fn(&Moment) -> bool) -> Option<Moment> {
        newest(self.fine, &self.counts.fine, is_before).or_else(|| newest(self.coarse, &self.counts.coarse, is_before))
    }

    /// The newest moment known at or before a time.
    pub fn at(&self, time_us: u64) -> Option<Moment> {
        self.find(&|m| m.time_us <= time_us)
    }

    /// The newest moment known whose SCN is at or below `scn`.
    pub fn of(&self, scn: Scn) -> Option<Moment> {
        self.find(&|m| m.scn <= scn)
    }

    /// The SCN up to which `undo_retention` does not require undo to be kept.
    pub fn retained(&self) -> Scn {
        Scn(self.counts.retained.load(Ordering::Relaxed))
    }

    /// Sets the retention: undo is kept for `seconds` before `now_us`. Without a sample that old, all of it is kept.
    pub fn retain(&self, now_us: u64, seconds: u64) {
        let before = self.at(now_us.saturating_sub(seconds.saturating_mul(1_000_000)));
        let scn = before.map_or(Scn::ZERO, |m| m.scn);
        self.counts.retained.store(if seconds == 0 { u64::MAX } else { scn.0 }, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> ScnTimes {
        let (all, layout) = testing::instance(4, ScnTimeLayout::reserve);
        ScnTimes::new(all.sga(), &layout)
    }

    #[test]
    fn a_moment_is_the_one_before_and_never_the_one_after() {
        let m = map();
        assert_eq!((m.at(5), m.of(Scn(5))), (None, None));
        for (t, s) in [(100, 10), (200, 20), (300, 40)] {
            assert!(m.note(Moment { time_us: t, scn: Scn(s) }));
        }
        assert!(!m.note(Moment { time_us: 400, scn: Scn(40) }), "nothing has happened");
        assert!(!m.note(Moment { time_us: 250, scn: Scn(50) }), "the clock was put back");
        assert_eq!(m.at(99), None);
        assert_eq!(m.at(100).unwrap().scn, Scn(10));
        assert_eq!(m.at(299).unwrap().scn, Scn(20));
        assert_eq!(m.at(u64::MAX).unwrap().scn, Scn(40));
        assert_eq!(m.of(Scn(9)), None);
        assert_eq!(m.of(Scn(39)).unwrap().time_us, 200);
    }

    #[test]
    fn what_the_fine_ring_has_lost_the_coarse_one_still_has() {
        let m = map();
        for i in 1..=3 * FINE as u64 {
            assert!(m.note(Moment { time_us: i * 3_000_000, scn: Scn(i * 2) }));
        }
        let now = 3 * FINE as u64 * 3_000_000;
        assert_eq!(m.at(now).unwrap().scn, Scn(6 * FINE as u64));
        let early = m.at(600_000_000).unwrap();
        assert!(early.time_us <= 600_000_000 && early.time_us >= 300_000_000 - 3_000_000, "{early:?}");
        for i in 2 * FINE as u64 + 2..=3 * FINE as u64 {
            assert_eq!(m.at(i * 3_000_000 + 1).unwrap().scn, Scn(i * 2), "{i}");
        }
        m.retain(now, 30);
        assert_eq!(m.retained(), Scn(6 * FINE as u64 - 20));
        m.retain(now, 0);
        assert_eq!(m.retained(), Scn(u64::MAX));
    }
}
