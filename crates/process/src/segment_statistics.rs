//! Statistics by segment, for `v$segstat`.
//!
//! Every process has a few lines, one a segment, found by the segment's data object number. It adds to them with plain
//! stores, so that reading blocks writes nothing shared. When another segment needs the line, and at the end of the
//! process, the figures move to lines shared by all processes (invariant 10). Logical reads are counted one in N, as N,
//! as Oracle samples them. A reader sums all lines and may miss figures that are being moved at that moment; a process
//! that dies while it moves a figure loses that figure.

use crate::Process;
use sga::{Sga, SgaBuilder, SgaSlice, sga_struct};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use types::ObjectId;

/// Lines of a process: a power of two.
const LINES_OWN: usize = 32;
/// Lines shared by all processes: a power of two.
const LINES_SHARED: usize = 2048;
/// Shared lines that are tried before the figures are dropped.
const PROBES: usize = 64;

/// The statistics, in the order of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentStat {
    LogicalReads,
    BufferBusyWaits,
    DbBlockChanges,
    PhysicalReads,
    PhysicalWrites,
    PhysicalReadRequests,
    PhysicalWriteRequests,
    ItlWaits,
    RowLockWaits,
    SegmentScans,
}

impl SegmentStat {
    /// All of them: `v$segstat`'s number and name, and whether it is sampled.
    pub const ALL: [(SegmentStat, u32, &'static str, bool); 10] = [
        (SegmentStat::LogicalReads, 0, "logical reads", true),
        (SegmentStat::BufferBusyWaits, 1, "buffer busy waits", false),
        (SegmentStat::DbBlockChanges, 3, "db block changes", false),
        (SegmentStat::PhysicalReads, 4, "physical reads", false),
        (SegmentStat::PhysicalWrites, 5, "physical writes", false),
        (SegmentStat::PhysicalReadRequests, 6, "physical read requests", false),
        (SegmentStat::PhysicalWriteRequests, 7, "physical write requests", false),
        (SegmentStat::ItlWaits, 14, "ITL waits", false),
        (SegmentStat::RowLockWaits, 15, "row lock waits", false),
        (SegmentStat::SegmentScans, 18, "segment scans", false),
    ];
}

/// The figures of a segment, by [`SegmentStat`].
pub type SegmentFigures = [u64; SegmentStat::ALL.len()];

sga_struct! {
    /// A segment's figures; a line without a segment has number 0.
    struct SegmentLine {
        object: AtomicU64,
        counts: [AtomicU64; 10],
        pad: AtomicU64,
    }
}

impl SegmentLine {
    /// Takes the figures out, one after the other, and passes them to `f`.
    fn empty(&self, mut f: impl FnMut(usize, u64)) {
        for (stat, count) in self.counts.iter().enumerate() {
            let n = count.swap(0, Ordering::Relaxed);
            if n > 0 {
                f(stat, n);
            }
        }
    }
}

/// Reserved areas.
#[derive(Clone, Copy, Debug)]
pub struct SegmentStatisticsLayout {
    own: SgaSlice<SegmentLine>,
    totals: SgaSlice<SegmentLine>,
}

impl SegmentStatisticsLayout {
    /// Reserves lines for `processes` processes.
    pub fn reserve(sga: &mut SgaBuilder, processes: usize) -> SegmentStatisticsLayout {
        SegmentStatisticsLayout {
            own: sga.reserve("segment statistics of processes", processes * LINES_OWN),
            totals: sga.reserve("segment statistics", LINES_SHARED),
        }
    }
}

/// The statistics by segment.
#[derive(Clone, Copy)]
pub struct SegmentStatistics {
    own: &'static [SegmentLine],
    totals: &'static [SegmentLine],
}

impl SegmentStatistics {
    /// Finds the reserved areas.
    pub fn new(sga: &'static Sga, layout: &SegmentStatisticsLayout) -> SegmentStatistics {
        SegmentStatistics { own: sga.slice(layout.own), totals: sga.slice(layout.totals) }
    }

    /// Counts for the segment with data object `object`; object 0, undo, is not counted. Writes nothing shared unless
    /// another segment has the line.
    #[inline]
    pub fn note(&self, p: &Process, object: ObjectId, stat: SegmentStat, n: u64) {
        let line = &self.own[(p.number() as usize - 1) * LINES_OWN + object.0 as usize % LINES_OWN];
        if line.object.load(Ordering::Relaxed) != u64::from(object.0) {
            if object.0 == 0 {
                return;
            }
            self.move_line(line);
            line.object.store(object.0.into(), Ordering::Release); // after that line was emptied
        }
        let count = &line.counts[stat as usize];
        count.store(count.load(Ordering::Relaxed) + n, Ordering::Relaxed);
    }

    #[cold]
    fn move_line(&self, line: &SegmentLine) {
        let object = line.object.load(Ordering::Relaxed);
        if object == 0 {
            return;
        }
        let first = (object.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize;
        let lines = (0..PROBES).map(|n| &self.totals[(first + n) % LINES_SHARED]);
        let mine = |to: &&SegmentLine| {
            let taken = to.object.compare_exchange(0, object, Ordering::AcqRel, Ordering::Acquire);
            taken.is_ok() || taken == Err(object)
        };
        match { lines }.find(mine) {
            Some(to) => line.empty(|stat, n| {
                to.counts[stat].fetch_add(n, Ordering::Relaxed);
            }),
            None => line.empty(|_, _| {}),
        }
    }

    /// Moves the figures of a process that ends, or has ended, to the shared lines.
    pub fn leave(&self, number: u32) {
        for line in &self.own[(number as usize - 1) * LINES_OWN..][..LINES_OWN] {
            self.move_line(line);
            line.object.store(0, Ordering::Release);
        }
    }

    /// The figures so far, by data object.
    pub fn figures(&self) -> HashMap<ObjectId, SegmentFigures> {
        let mut all: HashMap<ObjectId, SegmentFigures> = HashMap::new();
        for line in self.totals.iter().chain(self.own) {
            let object = line.object.load(Ordering::Acquire);
            let counts: Vec<u64> = line.counts.iter().map(|c| c.load(Ordering::Acquire)).collect();
            // A line that changed its segment during the read is counted by the next query.
            if object == 0 || line.object.load(Ordering::Relaxed) != object {
                continue;
            }
            let sums = all.entry(ObjectId(object as u32)).or_default();
            sums.iter_mut().zip(counts).for_each(|(sum, n)| *sum += n);
        }
        all
    }
}

const _: () = assert!(size_of::<SegmentLine>() == 96, "three lines in four of the cache's");
