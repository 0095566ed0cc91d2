//! The data behind the latch views.

use std::sync::atomic::{Ordering, fence};

use crate::client::{HELD, Mode, STAGE};
use crate::domain::{Domain, MutexWaitLine, NameLine};
use crate::{Latch, LatchName, Where};

/// The counts of a latch, of all latches of a name, or of one process: the columns of `v$latch`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatchCounts {
    /// GETS.
    pub gets: u64,
    /// MISSES.
    pub misses: u64,
    /// SLEEPS.
    pub sleeps: u64,
    /// SPIN_GETS.
    pub spin_gets: u64,
    /// WAIT_TIME, in nanoseconds here: divide by 1000.
    pub wait_ns: u64,
    /// IMMEDIATE_GETS.
    pub immediate_gets: u64,
    /// IMMEDIATE_MISSES.
    pub immediate_misses: u64,
    /// WAITERS_WOKEN; views show 0 from 10.2 on.
    pub waiters_woken: u64,
    /// WAITS_HOLDING_LATCH; views show 0 from 10.2 on.
    pub waits_holding_latch: u64,
    /// Versioned reads that ended in a get of the latch.
    pub fallbacks: u64,
}

impl std::ops::AddAssign for LatchCounts {
    fn add_assign(&mut self, other: Self) {
        self.gets += other.gets;
        self.misses += other.misses;
        self.sleeps += other.sleeps;
        self.spin_gets += other.spin_gets;
        self.wait_ns += other.wait_ns;
        self.immediate_gets += other.immediate_gets;
        self.immediate_misses += other.immediate_misses;
        self.waiters_woken += other.waiters_woken;
        self.waits_holding_latch += other.waits_holding_latch;
        self.fallbacks += other.fallbacks;
    }
}

impl Latch {
    /// The counts of its exclusive gets.
    #[must_use]
    pub fn counts(&self) -> LatchCounts {
        // In this order: pairs with the fences of `Slow::count`.
        let misses = self.misses.load(Ordering::Acquire);
        let wait_ns = self.wait_ns.load(Ordering::Acquire);
        LatchCounts {
            gets: self.gets.load(Ordering::Relaxed),
            misses,
            sleeps: self.sleeps.load(Ordering::Relaxed),
            spin_gets: self.spin_gets.load(Ordering::Relaxed),
            wait_ns,
            immediate_gets: self.immediate_gets.load(Ordering::Relaxed),
            immediate_misses: self.immediate_misses.load(Ordering::Relaxed),
            ..LatchCounts::default()
        }
    }
}

fn counts_of(line: &NameLine) -> LatchCounts {
    // In this order: pairs with the fences of `Slow::count`.
    let misses = line.misses.load(Ordering::Acquire);
    let wait_ns = line.wait_ns.load(Ordering::Acquire);
    LatchCounts {
        gets: line.gets.load(Ordering::Relaxed),
        misses,
        sleeps: line.sleeps.load(Ordering::Relaxed),
        spin_gets: line.spin_gets.load(Ordering::Relaxed),
        wait_ns,
        immediate_gets: line.immediate_gets.load(Ordering::Relaxed),
        immediate_misses: line.immediate_misses.load(Ordering::Relaxed),
        waiters_woken: line.waiters_woken.load(Ordering::Relaxed),
        waits_holding_latch: line.waits_holding_latch.load(Ordering::Relaxed),
        fallbacks: line.fallbacks.load(Ordering::Relaxed),
    }
}

/// The counts of one place: a row of `v$latch_misses` or `v$mutex_sleep`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaceCounts {
    /// The place.
    pub place: Where,
    /// NWFAIL_COUNT: no-wait gets that failed here.
    pub no_wait_failures: u64,
    /// SLEEP_COUNT: sleeps on a latch that was held by a get at this place.
    pub sleeps: u64,
    /// WTR_SLP_COUNT: sleeps of gets at this place.
    pub waiter_sleeps: u64,
    /// LONGHOLD_COUNT: holds from this place that lasted for the whole of another process's sleep.
    pub long_holds: u64,
    /// SLEEPS of `v$mutex_sleep`.
    pub mutex_sleeps: u64,
    /// WAIT_TIME of `v$mutex_sleep`, in nanoseconds here.
    pub mutex_wait_ns: u64,
}

/// A mutex wait that slept: a row of `v$mutex_sleep_history`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MutexWait {
    /// Nanoseconds since 1970 at its end.
    pub wall_ns: u64,
    /// Where the mutex was asked for.
    pub place: Where,
    /// Gets of the mutex so far.
    pub gets: u64,
    pub sleeps: u64,
    /// The process that waited.
    pub requester: u32,
    /// The exclusive holder at the last sleep; 0 for none.
    pub blocker: u32,
    /// The mutex's word then.
    pub value: u64,
    pub idn: u64,
    pub address: u64,
}

/// One hold: a row of `x$ksuprlat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HolderView {
    /// The process number: KSUPRPID.
    pub number: u32,
    /// KSUPRLAT.
    pub address: u64,
    /// The latch name; `None` for a mutex.
    pub name: Option<LatchName>,
    /// The child number.
    pub child: u32,
    /// KSUPRLMD.
    pub mode: Mode,
    /// KSULAWHR.
    pub place: Where,
    /// KSULAWHY.
    pub why: u64,
    /// KSULAGTS: gets of the latch when this hold began.
    pub gets: u64,
}

impl Domain {
    /// The counts of gets of this name that are not counted in the latch: shared gets and versioned reads, by all
    /// processes ever.
    #[must_use]
    pub fn unmarked_counts(&self, name: LatchName) -> LatchCounts {
        let mut sum = LatchCounts::default();
        self.used().iter().for_each(|slot| sum += counts_of(&slot.lines[name as usize]));
        sum
    }

    /// The counts of `v$latch` for a name: `latches` are all latches of it, parent and children.
    pub fn counts<'a>(&self, name: LatchName, latches: impl IntoIterator<Item = &'a Latch>) -> LatchCounts {
        let mut sum = self.unmarked_counts(name);
        latches.into_iter().for_each(|latch| sum += latch.counts());
        sum
    }

    /// The counts of every place.
    pub fn places(&self) -> impl Iterator<Item = PlaceCounts> {
        Where::all().map(|at| {
            let line = self.place(at);
            PlaceCounts {
                place: at,
                no_wait_failures: line.no_wait_failures.load(Ordering::Relaxed),
                sleeps: line.sleeps.load(Ordering::Relaxed),
                waiter_sleeps: line.waiter_sleeps.load(Ordering::Relaxed),
                long_holds: line.long_holds.load(Ordering::Relaxed),
                mutex_sleeps: line.mutex_sleeps.load(Ordering::Relaxed),
                mutex_wait_ns: line.mutex_wait_ns.load(Ordering::Relaxed),
            }
        })
    }

    /// The last mutex waits that slept, oldest first. A wait that is being written is left out.
    #[must_use]
    pub fn mutex_history(&self) -> Vec<MutexWait> {
        let mut rows: Vec<(u64, MutexWait)> = self.shared.mutex_history.iter().filter_map(seen_wait).collect();
        rows.sort_unstable_by_key(|(sequence, _)| *sequence);
        rows.into_iter().map(|(_, wait)| wait).collect()
    }

    /// The latches and mutexes held at this moment, by process. Gets no latch and allocates nothing, so it may run
    /// repeatedly beside the busiest latch.
    pub fn holders(&self) -> impl Iterator<Item = HolderView> {
        self.used().iter().enumerate().flat_map(|(n, slot)| {
            slot.holds.iter().filter_map(move |hold| {
                let address = hold.address.load(Ordering::Acquire); // pairs with the Release in `note`
                if address == 0 {
                    return None;
                }
                let place = hold.place.load(Ordering::Relaxed);
                let seen = HolderView {
                    number: n as u32 + 1,
                    address,
                    name: LatchName::from_index((place >> 24 & 0x7f) as usize),
                    child: crate::latch::child_of(hold.child.load(Ordering::Relaxed)),
                    mode: Mode::from_number(place >> 12 & 0xf)?,
                    place: Where::from_index((place & 0xfff) as usize)?,
                    why: hold.why.load(Ordering::Relaxed),
                    gets: hold.gets.load(Ordering::Relaxed),
                };
                let same = hold.address.load(Ordering::Acquire) == address;
                (same && place & STAGE == HELD).then_some(seen)
            })
        })
    }
}

fn seen_wait(line: &MutexWaitLine) -> Option<(u64, MutexWait)> {
    let sequence = line.sequence.load(Ordering::Acquire); // pairs with the last store in `remember_wait`
    if sequence == 0 || !sequence.is_multiple_of(2) {
        return None;
    }
    let processes = line.processes.load(Ordering::Relaxed);
    let wait = MutexWait {
        wall_ns: line.wall_ns.load(Ordering::Relaxed),
        place: Where::from_index(line.place.load(Ordering::Relaxed) as usize)?,
        gets: line.gets.load(Ordering::Relaxed),
        sleeps: line.sleeps.load(Ordering::Relaxed),
        requester: (processes >> 32) as u32,
        blocker: processes as u32,
        value: line.value.load(Ordering::Relaxed),
        idn: line.idn.load(Ordering::Relaxed),
        address: line.address.load(Ordering::Relaxed),
    };
    fence(Ordering::Acquire); // pairs with the Release fence in `remember_wait`
    (line.sequence.load(Ordering::Relaxed) == sequence).then_some((sequence, wait))
}
