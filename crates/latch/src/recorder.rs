//! The recorder of one process: it samples whole calls and writes their gets into the ring of its slot.
//!
//! A call is sampled when a countdown ends that was drawn from a geometric distribution, so that one call in N is
//! sampled and no pattern of calls keeps step with it. A stride of N was rejected for that reason, and a sample by time
//! because it prefers long calls. The countdown is seeded by the recording, the slot and the number of owners that the
//! slot has had: sessions that follow each other in a slot, with a few calls each, do not sample the same calls.
//!
//! The few calls before a sampled one are its approach: they do all that a sampled call does, but their records are
//! overwritten. So the code, the ring and the branch predictions of a recording are in the nearest caches when the
//! sampled call begins, and a stamp in it costs the same as in a loop of stamps. The gets in them also tell whether the
//! first gets of the sampled call had the same last holder. Sampled calls without an approach were tried first: they
//! took up to a third longer than their stamps explain.
//!
//! The clock of a call stands still while its process waits. A get that misses waits from the miss to the get; other
//! waits are those of the session's wait events. So the gap before a get is the work before it and nothing else. The
//! end of a hold is read from the clock before the latch is free, and its record is written after it: other processes
//! do not wait for the ring.

use std::cell::Cell;

use crate::domain::HOLDS;
use crate::ring::{CALL, END, GET, Ring, Told, Written};

/// The number of gets of latches that are remembered, by address.
const REMEMBERED: usize = 64;

/// Calls of an approach.
pub(crate) const APPROACH: u32 = 3;

/// Calls up to the next sampled one, when there is none in this recording.
pub(crate) const NEVER: u32 = u32::MAX;

/// A hold of the sampled call.
#[derive(Clone, Copy, Debug, Default)]
struct Begun {
    at_ns: u64,
    spun: bool,
    slept: bool,
    last: Told,
}

/// The facts of a get in a record, besides its times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct What {
    pub manner: u32,
    pub name: u32,
    pub object: u64,
    pub place: u32,
}

/// The gets that a latch or mutex has had by the time of a get of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gets {
    pub address: u64,
    /// The count, after this get.
    pub count: u64,
    /// This get is in the count.
    pub has_this: bool,
    /// So are all others.
    pub has_all: bool,
}

/// The state of one process that records, in its own memory.
#[derive(Debug)]
pub(crate) struct Recorder {
    ring: Option<Ring>,
    seed: u64,
    epoch: Cell<u32>,
    /// State of the random numbers.
    draws: Cell<u64>,
    /// True in a call of an approach, and in a sampled one.
    looks: Cell<bool>,
    /// True in such a call whose records all fit the ring so far.
    writes: Cell<bool>,
    /// True in a call of an approach: its records are not published.
    approaches: Cell<bool>,
    /// The place of the next record in the ring.
    place: Cell<u64>,
    began_ns: Cell<u64>,
    /// Times that the scheduler had taken the processor away, at the begin of the call before, or of this one where
    /// none was looked at before.
    preempted: Cell<u64>,
    /// Time for which the clock of the call stood still.
    stood_ns: Cell<u64>,
    /// Time that the process had waited, at the last look.
    waited_ns: Cell<u64>,
    /// When the get in progress missed; 0 for none.
    missed_ns: Cell<u64>,
    /// Holds that began in this call, a bit each.
    held: Cell<u16>,
    holds: [Cell<Begun>; HOLDS],
    /// Addresses with the gets that they had at the last get of this process.
    remembered: [Cell<(u64, u64)>; REMEMBERED],
}

impl Recorder {
    /// The recorder of the owner number `owner` of process slot `number`.
    pub fn new(ring: Option<Ring>, number: u32, owner: u64) -> Self {
        Self {
            ring,
            seed: mix(owner << 16 ^ u64::from(number)),
            epoch: Cell::new(0),
            draws: Cell::new(0),
            looks: Cell::new(false),
            writes: Cell::new(false),
            approaches: Cell::new(false),
            place: Cell::new(0),
            began_ns: Cell::new(0),
            preempted: Cell::new(0),
            stood_ns: Cell::new(0),
            waited_ns: Cell::new(0),
            missed_ns: Cell::new(0),
            held: Cell::new(0),
            holds: std::array::from_fn(|_| Cell::default()),
            remembered: std::array::from_fn(|_| Cell::default()),
        }
    }

    /// Ends the call in progress, if it is sampled, and begins the next. `left` is the number of calls up to the next
    /// sampled one, this one included. Returns that number for the call after this one, and whether the gets of this
    /// one are to be recorded or watched. `every` is 0 while no recording runs.
    pub fn next_call(&self, epoch: u32, every: u32, left: u32, waited_ns: u64) -> (u32, bool) {
        self.end_call(waited_ns);
        let Some(ring) = self.ring.filter(|_| every != 0) else {
            self.looks.set(false);
            return (NEVER, false);
        };
        let mut left = left;
        if self.epoch.get() != epoch {
            self.epoch.set(epoch);
            ring.begin(epoch);
            self.draws.set(mix(u64::from(epoch) ^ self.seed));
            self.looks.set(false);
            left = self.geometric(every);
        }
        left = left.saturating_sub(1);
        if left > APPROACH {
            self.looks.set(false);
            return (left, false);
        }
        // Gets of calls that nobody looked at are missing in what is remembered.
        let is_first = !self.looks.replace(true);
        if is_first {
            self.remembered.iter().for_each(|of| of.set((0, 0)));
        }
        // The system call disturbs the caches: where there is an approach, the sampled call does not begin with it.
        if is_first || left == 1 {
            self.preempted.set(os::cpu::usage().involuntary_switches);
        }
        if !self.begin_call(ring, left > 0, waited_ns) {
            self.looks.set(false);
            return (NEVER, false);
        }
        (if left > 0 { left } else { self.geometric(every) }, true)
    }

    /// False when the ring is full. After a call that did not fit there are no others, not even shorter ones that would
    /// fit: they would be too many among the recorded ones.
    fn begin_call(&self, ring: Ring, approaches: bool, waited_ns: u64) -> bool {
        if ring.has_lost() {
            return false;
        }
        if !approaches {
            ring.open();
        }
        self.approaches.set(approaches);
        self.place.set(ring.next_place());
        self.held.set(0);
        self.stood_ns.set(0);
        self.missed_ns.set(0);
        self.waited_ns.set(waited_ns);
        self.writes.set(true);
        self.write(Written::mark(CALL));
        self.began_ns.set(os::clock::now_ns());
        self.writes.get()
    }

    /// Ends the call in progress, if it is sampled or of an approach.
    pub fn end_call(&self, waited_ns: u64) {
        if !self.writes.get() {
            return;
        }
        let length_ns = self.clock(waited_ns);
        let approaches = self.approaches.get();
        // The next call may be sampled as well: then this is the count before it.
        let preempted = || {
            let switches = os::cpu::usage().involuntary_switches;
            switches.saturating_sub(self.preempted.replace(switches))
        };
        let object = if approaches { 0 } else { preempted() };
        self.write(Written { object, length_ns, ..Written::mark(END) });
        if let Some(ring) = self.ring.filter(|_| self.writes.replace(false) && !approaches) {
            ring.publish(self.place.get());
            ring.close();
        }
    }

    /// The call in progress does not fit the ring.
    fn give_up(&self) {
        self.writes.set(false);
        if let Some(ring) = self.ring.filter(|_| !self.approaches.get()) {
            ring.lose();
            ring.close();
        }
    }

    /// The clock of the call.
    fn clock(&self, waited_ns: u64) -> u64 {
        let now = os::clock::now_ns();
        self.stand_still(waited_ns);
        now.saturating_sub(self.began_ns.get() + self.stood_ns.get())
    }

    fn stand_still(&self, waited_ns: u64) {
        let more = waited_ns.wrapping_sub(self.waited_ns.replace(waited_ns));
        self.stood_ns.set(self.stood_ns.get() + more);
    }

    /// A get has failed at its first try.
    pub fn missed(&self, waited_ns: u64) {
        if self.writes.get() {
            self.stand_still(waited_ns);
            self.missed_ns.set(os::clock::now_ns());
        }
    }

    /// Runs work within a wait for a latch: what the work gets is not recorded.
    pub fn interrupted(&self, work: impl FnOnce()) {
        let writes = self.writes.replace(false);
        work();
        self.writes.set(writes);
    }

    /// Hold `n` has begun.
    pub fn got(&self, n: u32, gets: Gets, waited_ns: u64) {
        let begun = if self.writes.get() { Some(self.acquired(waited_ns)) } else { None };
        let last = self.last_holder(gets);
        if let Some(begun) = begun {
            self.holds[n as usize % HOLDS].set(Begun { last, ..begun });
            self.held.set(self.held.get() | 1 << n);
        }
    }

    /// The last holder before this get, and remembers the get. A shared get or a reference of another process at the
    /// same moment may be counted on either side of this one.
    fn last_holder(&self, gets: Gets) -> Told {
        let Gets { address, count, has_this, has_all } = gets;
        let last = &self.remembered[(address >> 6 ^ address >> 3) as usize % REMEMBERED];
        let (of, before) = last.replace((address, count));
        let others = count.wrapping_sub(before).wrapping_sub(u64::from(has_this));
        match others {
            _ if of != address => Told::Unknown,
            0 if has_all => Told::Me,
            0 if has_this => Told::MeUnlessShared,
            1..=0xffff_ffff => Told::Other,
            _ => Told::Unknown,
        }
    }

    /// The time of a get that has succeeded now, and whether it had missed and slept before.
    fn acquired(&self, waited_ns: u64) -> Begun {
        let (missed, now) = (self.missed_ns.replace(0), os::clock::now_ns());
        let slept = missed != 0 && self.waited_ns.get() != waited_ns;
        if missed == 0 {
            self.stand_still(waited_ns);
        } else {
            self.waited_ns.set(waited_ns);
            self.stood_ns.set(self.stood_ns.get() + now.saturating_sub(missed));
        }
        let at_ns = now.saturating_sub(self.began_ns.get() + self.stood_ns.get());
        Begun { at_ns, spun: missed != 0, slept, last: Told::Unknown }
    }

    /// Hold `n` is about to end: the time, or `None` when it did not begin in this call.
    pub fn ends(&self, n: u32, waited_ns: u64) -> Option<u64> {
        let bit = 1 << n;
        if !self.writes.get() || self.held.get() & bit == 0 {
            return None;
        }
        self.held.set(self.held.get() & !bit);
        Some(self.clock(waited_ns))
    }

    /// Records hold `n`, which has ended at a time that [`Self::ends`] gave. The latch is free.
    pub fn freed(&self, n: u32, what: What, end_ns: u64) {
        let Begun { at_ns, spun, slept, last } = self.holds[n as usize % HOLDS].get();
        let length_ns = end_ns.saturating_sub(at_ns);
        self.write(Written { begin_ns: at_ns, length_ns, spun, slept, last, ..Self::record(what) });
    }

    /// A get without a hold: a versioned read, a reference. Versioned reads are counted in no latch.
    pub fn touched(&self, what: What, gets: Option<Gets>, spun: bool, waited_ns: u64) {
        let begun = if self.writes.get() { Some(self.acquired(waited_ns)) } else { None };
        let last = gets.map_or(Told::Unknown, |gets| self.last_holder(gets));
        if let Some(Begun { at_ns, spun: missed, slept, .. }) = begun {
            let spun = spun || missed;
            self.write(Written { begin_ns: at_ns, spun, slept, last, ..Self::record(what) });
        }
    }

    fn record(What { manner, name, object, place }: What) -> Written {
        Written { manner, name, object, place, ..Written::mark(GET) }
    }

    /// Writes a record, or gives the call up when the ring is full.
    fn write(&self, record: Written) {
        if !self.writes.get() {
            return;
        }
        let place = self.place.get();
        self.place.set(place + 1);
        if !self.ring.is_some_and(|ring| ring.write(self.epoch.get(), place, &record)) {
            self.give_up();
        }
    }

    /// A number from 1 with mean `every`: calls up to the next sampled one.
    fn geometric(&self, every: u32) -> u32 {
        self.draws.set(self.draws.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
        // In (0, 1].
        let unit = ((mix(self.draws.get()) >> 11) + 1) as f64 / (1u64 << 53) as f64;
        let skipped = unit.ln() / (1.0 - 1.0 / f64::from(every)).ln();
        if every <= 1 { 1 } else { (1 + skipped as u64).min(u64::from(NEVER) - 1) as u32 }
    }
}

/// The output function of SplitMix64.
fn mix(n: u64) -> u64 {
    let n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ n >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::{LastHolder, RecordKind, Rings};

    fn rings(lines: usize) -> Rings {
        Rings { heads: os::memory::shared_slice(4).unwrap(), lines: os::memory::shared_slice(4 * lines).unwrap() }
    }

    fn recorder(number: u32) -> Recorder {
        Recorder::new(rings(1_024).of(number), number, 1)
    }

    /// For each call whether its gets are looked at, and whether it is sampled.
    fn calls(of: &Recorder, epoch: u32, every: u32, calls: u32) -> Vec<(bool, bool)> {
        let mut left = 0;
        let mut next = || {
            let (then, looks) = of.next_call(epoch, every, left, 0);
            left = then;
            (looks, of.writes.get() && !of.approaches.get())
        };
        (0..calls).map(|_| next()).collect()
    }

    fn sampled(of: &Recorder, epoch: u32, every: u32, n: u32) -> Vec<usize> {
        calls(of, epoch, every, n).iter().enumerate().filter(|(_, call)| call.1).map(|(n, _)| n).collect()
    }

    #[test]
    fn one_call_in_n_is_sampled_by_the_seed_of_the_session_and_the_recording() {
        let all = sampled(&recorder(1), 1, 50, 20_000);
        // The standard deviation of the count is 20.
        assert!((300..500).contains(&all.len()), "{}", all.len());
        assert_eq!(all, sampled(&recorder(1), 1, 50, 20_000));
        assert_ne!(all, sampled(&recorder(2), 1, 50, 20_000));
        assert_ne!(all, sampled(&recorder(1), 2, 50, 20_000));
        let next = Recorder::new(rings(1_024).of(1), 1, 2);
        assert_ne!(all, sampled(&next, 1, 50, 20_000), "the next session of the slot");
        assert_eq!(sampled(&recorder(1), 1, 1, 5), [0, 1, 2, 3, 4]);
    }

    /// Sessions that end before their countdown: together they have as many sampled calls as one long session.
    #[test]
    fn short_sessions_of_one_slot_are_sampled_one_in_n() {
        for epoch in 1..4 {
            let ring = rings(4_096).of(1);
            let of = |owner| sampled(&Recorder::new(ring, 1, owner), epoch, 50, 5).len();
            let sampled: usize = (0..4_000).map(of).sum();
            assert!((300..500).contains(&sampled), "{sampled}");
        }
    }

    #[test]
    fn calls_before_a_sampled_one_are_its_approach() {
        let calls = calls(&recorder(1), 1, 50, 20_000);
        let approached = |of: &[(bool, bool)]| !of.last().unwrap().1 || of.iter().all(|(looks, _)| *looks);
        assert!(calls.windows(APPROACH as usize + 1).all(approached), "a sampled call after one without a look");
        assert!(calls.iter().filter(|(looks, _)| !looks).count() > 17_500);
    }

    #[test]
    fn the_records_of_an_approach_are_overwritten() {
        let rings = rings(16);
        let of = Recorder::new(rings.of(1), 1, 1);
        let read = What { manner: 6, name: 0, object: 0, place: 0 };
        of.next_call(1, 1, 0, 0);
        let mut left = 4;
        for gets in [3, 2, 2, 1] {
            left = of.next_call(1, 1, left, 0).0;
            (0..gets).for_each(|_| of.touched(read, None, false, 0));
        }
        of.next_call(1, 0, left, 0);
        let view = &rings.read(1)[0];
        use RecordKind::{Call, End, Get};
        assert_eq!(view.records.iter().map(|r| r.kind).collect::<Vec<_>>(), [Call, End, Call, Get, End]);
        assert_eq!((view.calls, view.whole_calls(), view.lost, view.is_open), (2, 2, 0, false));
    }

    #[test]
    fn a_session_whose_ring_is_full_counts_calls_down_no_more() {
        let rings = rings(3);
        let of = Recorder::new(rings.of(1), 1, 1);
        assert_eq!(of.next_call(1, 1, 0, 0), (1, true));
        assert_eq!(of.next_call(1, 1, 1, 0), (1, true), "the end of the first call fits, and the begin of the second");
        assert_eq!(of.next_call(1, 1, 1, 0), (NEVER, false));
        let view = &rings.read(1)[0];
        assert_eq!((view.calls, view.whole_calls(), view.is_open, view.lost_calls()), (2, 1, false, 1));
        assert_eq!(of.next_call(2, 1, NEVER, 0), (1, true), "a new recording begins anew");
    }

    /// A session that was in a sampled call when a new recording began writes nothing into that one before its next
    /// call.
    #[test]
    fn a_call_in_which_the_next_recording_begins_is_in_neither() {
        let rings = rings(16);
        let (of, other) = (Recorder::new(rings.of(1), 1, 1), Recorder::new(rings.of(2), 2, 1));
        let read = What { manner: 6, name: 0, object: 0, place: 0 };
        of.next_call(1, 1, 0, 0);
        other.next_call(2, 1, 0, 0);
        of.touched(read, None, false, 0);
        of.touched(read, None, false, 0);
        other.next_call(2, 1, 1, 0);
        let kinds = |number| {
            let views = rings.read(2);
            let view = views.into_iter().find(|view| view.number == number);
            view.map(|view| view.records.iter().map(|record| record.kind).collect::<Vec<_>>())
        };
        use RecordKind::{Call, End, Get};
        assert_eq!((kinds(1), kinds(2)), (None, Some(vec![Call, End])));
        of.next_call(2, 1, 1, 0);
        of.touched(read, None, false, 0);
        of.next_call(2, 0, 1, 0);
        assert_eq!(kinds(1), Some(vec![Call, Get, End]));
    }

    #[test]
    fn the_last_holder_is_known_only_where_the_counts_tell_it() {
        use Told::{Me, MeUnlessShared, Other, Unknown};
        let of = recorder(1);
        let gets = |count| Gets { address: 64, count, has_this: true, has_all: true };
        let known = [5, 6, 8, 9, 9].map(|count| of.last_holder(gets(count)));
        assert_eq!(known, [Unknown, Me, Other, Me, Unknown]);
        // The latch of another address at the same place of the table.
        assert_eq!(of.last_holder(Gets { address: 64 + 4096, ..gets(10) }), Unknown);
        assert_eq!(of.last_holder(gets(10)), Unknown);
        // Others hold the latch shared without a count: it may have been one of them.
        let not_all = |count| Gets { has_all: false, ..gets(count) };
        assert_eq!([11, 13].map(|count| of.last_holder(not_all(count))), [MeUnlessShared, Other]);
        let shared = |count| Gets { has_this: false, ..not_all(count) };
        assert_eq!([13, 14].map(|count| of.last_holder(shared(count))), [Unknown, Other]);
    }

    /// One session gets one latch in every call, and one of two others in turn: the call before a sampled one has not
    /// got that one.
    #[test]
    fn gets_of_calls_that_nobody_looked_at_make_no_other_holder() {
        let rings = rings(1_024);
        let of = Recorder::new(rings.of(1), 1, 1);
        let (mut left, mut counts) = (0, [0; 3]);
        for call in 0..600 {
            let (then, looks) = of.next_call(1, 5, left, 0);
            left = then;
            for latch in [0, 1 + call % 2] {
                counts[latch] += 1;
                if !looks {
                    continue;
                }
                let (address, count) = (64 * (latch as u64 + 1), counts[latch]);
                of.got(0, Gets { address, count, has_this: true, has_all: true }, 0);
                if let Some(end) = of.ends(0, 0) {
                    of.freed(0, What { manner: 1, name: 0, object: 0, place: 0 }, end);
                }
            }
        }
        let records = &rings.read(1)[0].records;
        let gets: Vec<_> = records.iter().filter(|r| r.kind == RecordKind::Get).map(|r| r.last).collect();
        assert!(gets.len() > 100 && !gets.contains(&LastHolder::Other), "{gets:?}");
        assert!(gets.iter().filter(|last| **last == LastHolder::Me).count() > 40, "{gets:?}");
    }

    #[test]
    fn the_clock_of_a_call_stands_still_while_the_session_waits() {
        let of = recorder(1);
        of.next_call(1, 1, 0, 1_000);
        of.began_ns.set(os::clock::now_ns() - 5_000_000);
        assert!(of.clock(1_000 + 4_000_000) >= 1_000_000);
        assert_eq!(of.stood_ns.get(), 4_000_000);
        // A get that misses and sleeps: the time from the miss to the get counts once.
        of.missed(1_000 + 4_000_000);
        of.missed_ns.set(os::clock::now_ns() - 2_000_000);
        let get = of.acquired(1_000 + 4_000_000 + 1_500_000);
        assert!(get.spun && get.slept);
        assert!((6_000_000..9_000_000_000).contains(&of.stood_ns.get()), "{}", of.stood_ns.get());
        let stood = of.stood_ns.get();
        of.clock(1_000 + 4_000_000 + 1_500_000);
        assert_eq!(of.stood_ns.get(), stood);
    }

    /// As PMON, which looks for dead processes when a sleep for a latch has ended without a post.
    #[test]
    fn a_get_within_a_get_does_not_hide_the_miss() {
        let of = recorder(1);
        of.next_call(1, 1, 0, 0);
        of.missed(0);
        of.interrupted(|| of.touched(What { manner: 6, name: 0, object: 0, place: 0 }, None, false, 0));
        assert!(of.acquired(0).spun && of.writes.get());
    }
}
