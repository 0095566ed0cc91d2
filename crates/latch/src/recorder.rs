//! The recorder of one process: it samples whole calls and writes their gets into a ring.
//!
//! A call is sampled when a countdown ends that was drawn from a geometric distribution, so that one call in N is
//! sampled and no pattern of calls keeps step with it. A stride of N was rejected for that reason, and a sample by time
//! because it prefers long calls. The call before a sampled one is watched: it writes no records, but the gets in it
//! tell whether the first gets of the sampled call had the same last holder.
//!
//! The clock of a call stands still while its process waits. A get that misses waits from the miss to the get; other
//! waits are those of the session's wait events. So the gap before a get is the work before it and nothing else.

use std::cell::Cell;

use crate::domain::HOLDS;
use crate::ring::{CALL, END, GET, Rings, Written};

/// The number of gets of latches that are remembered, by address.
const REMEMBERED: usize = 16;

/// Calls up to the next sampled one, when there is none in this recording.
pub(crate) const NEVER: u32 = u32::MAX;

/// A hold of the sampled call.
#[derive(Clone, Copy, Debug, Default)]
struct Begun {
    at_ns: u64,
    spun: bool,
    slept: bool,
    other: bool,
}

/// What a record says of a get besides its times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct What {
    pub manner: u32,
    pub name: u32,
    pub child: u32,
    pub place: u32,
}

/// The state of one process that records, in its own memory.
#[derive(Debug)]
pub(crate) struct Recorder {
    rings: Rings,
    number: u32,
    epoch: Cell<u32>,
    ring: Cell<Option<usize>>,
    /// State of the random numbers.
    draws: Cell<u64>,
    /// True in a sampled call, false in one that is only watched.
    writes: Cell<bool>,
    /// True while every record of the call is in the ring.
    is_whole: Cell<bool>,
    began_ns: Cell<u64>,
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
    pub fn new(rings: Rings, number: u32) -> Self {
        Self {
            rings,
            number,
            epoch: Cell::new(0),
            ring: Cell::new(None),
            draws: Cell::new(0),
            writes: Cell::new(false),
            is_whole: Cell::new(false),
            began_ns: Cell::new(0),
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
        if self.writes.replace(false) && self.epoch.get() == epoch {
            self.end_call(waited_ns);
        }
        if every == 0 {
            return (NEVER, false);
        }
        let mut left = left;
        if self.epoch.get() != epoch {
            self.epoch.set(epoch);
            self.ring.set(self.rings.take(epoch, self.number));
            self.draws.set(mix(u64::from(epoch) << 32 | u64::from(self.number)));
            left = self.geometric(every);
        }
        let Some(ring) = self.ring.get() else { return (NEVER, false) };
        match left.saturating_sub(1) {
            0 if self.begin_call(ring, waited_ns) => (self.geometric(every), true),
            0 => (NEVER, false),
            left => (left, left == 1),
        }
    }

    /// False when the ring is full: no later call of this recording fits either.
    fn begin_call(&self, ring: usize, waited_ns: u64) -> bool {
        self.rings.count_call(ring);
        self.held.set(0);
        self.stood_ns.set(0);
        self.missed_ns.set(0);
        self.waited_ns.set(waited_ns);
        let whole = self.rings.put(ring, &Written { kind: CALL, manner: 1, ..Written::default() });
        self.is_whole.set(whole);
        self.writes.set(whole);
        self.began_ns.set(os::clock::now_ns());
        whole
    }

    fn end_call(&self, waited_ns: u64) {
        let length_ns = self.clock(waited_ns);
        self.write(Written { kind: END, manner: 1, ..Written::default() }, 0, length_ns);
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

    /// Hold `n` has begun, of the latch or mutex at `address` with so many gets.
    pub fn got(&self, n: u32, address: u64, gets: u64, waited_ns: u64) {
        let last = &self.remembered[(address >> 6 ^ address >> 3) as usize % REMEMBERED];
        let (of, before) = last.replace((address, gets));
        if !self.writes.get() {
            return;
        }
        let begun = self.acquired(waited_ns);
        let other = of == address && gets.wrapping_sub(before) > 1;
        self.holds[n as usize % HOLDS].set(Begun { other, ..begun });
        self.held.set(self.held.get() | 1 << n);
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
        Begun { at_ns, spun: missed != 0, slept, other: false }
    }

    /// Hold `n` is about to end.
    pub fn frees(&self, n: u32, what: What, waited_ns: u64) {
        let bit = 1 << n;
        if !self.writes.get() || self.held.get() & bit == 0 {
            return;
        }
        let now = self.clock(waited_ns);
        self.held.set(self.held.get() & !bit);
        let Begun { at_ns, spun, slept, other } = self.holds[n as usize % HOLDS].get();
        let record = Written { spun, slept, other, ..Self::record(what) };
        self.write(record, at_ns, now.saturating_sub(at_ns));
    }

    /// A get without a hold: a versioned read, a reference.
    pub fn touched(&self, what: What, spun: bool, waited_ns: u64) {
        if self.writes.get() {
            let Begun { at_ns, spun: missed, slept, .. } = self.acquired(waited_ns);
            self.write(Written { spun: spun || missed, slept, ..Self::record(what) }, at_ns, 0);
        }
    }

    fn record(What { manner, name, child, place }: What) -> Written {
        Written { kind: GET, manner, name, child, place, ..Written::default() }
    }

    /// Writes a record, or gives the call up when the ring is full or the call too long for a record.
    fn write(&self, record: Written, begin_ns: u64, length_ns: u64) {
        let Some(ring) = self.ring.get() else { return };
        if !self.is_whole.get() {
            return;
        }
        let fits = match (u32::try_from(begin_ns), u32::try_from(length_ns)) {
            (Ok(begin_ns), Ok(length_ns)) => self.rings.put(ring, &Written { begin_ns, length_ns, ..record }),
            _ => {
                self.rings.count_lost(ring);
                false
            }
        };
        self.is_whole.set(fits);
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

    fn recorder(number: u32) -> Recorder {
        let heads = os::memory::shared_slice(4).unwrap();
        Recorder::new(Rings { heads, lines: os::memory::shared_slice(4_096).unwrap() }, number)
    }

    /// For each call whether its gets are looked at, and whether they are written.
    fn calls(of: &Recorder, epoch: u32, every: u32, calls: u32) -> Vec<(bool, bool)> {
        let mut left = 0;
        let mut next = || {
            let (then, looks) = of.next_call(epoch, every, left, 0);
            left = then;
            (looks, of.writes.get())
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
        assert_eq!(sampled(&recorder(1), 1, 1, 5), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn the_call_before_a_sampled_one_is_watched() {
        let calls = calls(&recorder(1), 1, 10, 5_000);
        assert!(calls.windows(2).all(|pair| !pair[1].1 || pair[0].0), "a sampled call after one without a look");
        assert!(calls.iter().filter(|(looks, _)| !looks).count() > 3_500);
    }

    #[test]
    fn a_session_whose_ring_is_full_counts_calls_down_no_more() {
        let heads = os::memory::shared_slice(1).unwrap();
        let of = Recorder::new(Rings { heads, lines: os::memory::shared_slice(3).unwrap() }, 1);
        assert_eq!(of.next_call(1, 1, 0, 0), (1, true));
        assert_eq!(of.next_call(1, 1, 1, 0), (1, true), "the end of the first call fits, and the begin of the second");
        assert_eq!(of.next_call(1, 1, 1, 0), (NEVER, false));
        assert_eq!(of.next_call(2, 1, NEVER, 0), (1, true), "a new recording begins anew");
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
}
