//! Sums and histograms of waits.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Event, WaitClass, WaitSlot};

/// Number of buckets of a histogram. Bucket `n` counts waits shorter than 2ⁿ and at least 2ⁿ⁻¹ microseconds
/// (invariant 6).
pub const HISTOGRAM_BUCKETS: usize = 32;

/// All waits of one session (or of all dead ones) on one event.
#[derive(Debug)]
#[repr(C)]
pub struct EventTotal {
    waits: AtomicU64,
    timeouts: AtomicU64,
    time_us: AtomicU64,
    max_us: AtomicU64,
    histogram: [AtomicU64; HISTOGRAM_BUCKETS],
}

/// The wait classes that are charged to statements.
pub const CHARGED: [WaitClass; 3] = [WaitClass::UserIo, WaitClass::Application, WaitClass::Concurrency];

/// The totals of one session by event. One writer, any number of readers; zero is the first value.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct EventTotals {
    events: [EventTotal; Event::COUNT],
    /// Microseconds of ended waits of the classes in [`CHARGED`]; a statement is charged with the difference of two
    /// reads.
    charged_us: [AtomicU64; CHARGED.len()],
    /// Nanoseconds of all ended waits.
    waited_ns: AtomicU64,
}

// SAFETY: `repr(C)`, atomic words only, no pointers.
#[allow(unsafe_code)]
unsafe impl os::SharedLayout for EventTotal {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl os::SharedLayout for EventTotals {}

fn add(word: &AtomicU64, n: u64) {
    // One writer: a plain load and store lose nothing, and readers need no order between counters.
    word.store(word.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
}

impl EventTotal {
    /// Waits that ended: TOTAL_WAITS.
    #[must_use]
    pub fn waits(&self) -> u64 {
        self.waits.load(Ordering::Relaxed)
    }

    /// The waits among them that timed out: TOTAL_TIMEOUTS.
    #[must_use]
    pub fn timeouts(&self) -> u64 {
        self.timeouts.load(Ordering::Relaxed)
    }

    /// Microseconds waited in total: TIME_WAITED_MICRO.
    #[must_use]
    pub fn time_us(&self) -> u64 {
        self.time_us.load(Ordering::Relaxed)
    }

    /// The longest wait in microseconds.
    #[must_use]
    pub fn max_us(&self) -> u64 {
        self.max_us.load(Ordering::Relaxed)
    }

    /// Waits by bucket `n`: shorter than 2ⁿ and at least 2ⁿ⁻¹ microseconds.
    #[must_use]
    pub fn histogram(&self) -> [u64; HISTOGRAM_BUCKETS] {
        std::array::from_fn(|n| self.histogram[n].load(Ordering::Relaxed))
    }

    fn note(&self, us: u64, timed_out: bool) {
        add(&self.waits, 1);
        add(&self.timeouts, u64::from(timed_out));
        add(&self.time_us, us);
        if us > self.max_us() {
            self.max_us.store(us, Ordering::Relaxed);
        }
        let bucket = (64 - us.leading_zeros() as usize).min(HISTOGRAM_BUCKETS - 1);
        add(&self.histogram[bucket], 1);
    }

    /// The words that are added when sessions are summed: all except the longest wait.
    pub fn sums(&self) -> impl Iterator<Item = &AtomicU64> {
        [&self.waits, &self.timeouts, &self.time_us].into_iter().chain(&self.histogram)
    }

    /// The word of the longest wait.
    #[must_use]
    pub fn max_word(&self) -> &AtomicU64 {
        &self.max_us
    }
}

impl EventTotals {
    /// The totals of one event.
    #[must_use]
    pub fn of(&self, event: Event) -> &EventTotal {
        &self.events[event as usize]
    }

    /// Microseconds of ended waits of the classes in [`CHARGED`], of this session and of earlier sessions in its slot.
    #[inline]
    #[must_use]
    pub fn charged_us(&self) -> [u64; CHARGED.len()] {
        std::array::from_fn(|n| self.charged_us[n].load(Ordering::Relaxed))
    }

    /// Counts a wait that was never shown in the wait slot. Only one process at a time may call this.
    pub fn note(&self, event: Event, ns: u64) {
        self.of(event).note(ns / 1000, false);
    }

    /// Nanoseconds of ended waits, of this session and of earlier sessions in its slot.
    #[inline]
    #[must_use]
    pub fn waited_ns(&self) -> u64 {
        self.waited_ns.load(Ordering::Relaxed)
    }

    /// Number and microseconds of the waits of all classes except Idle.
    #[must_use]
    pub fn non_idle(&self) -> (u64, u64) {
        let busy = self.iter().filter(|(event, _)| event.class() != WaitClass::Idle);
        busy.fold((0, 0), |(waits, us), (_, total)| (waits + total.waits(), us + total.time_us()))
    }

    /// All events with their totals, including those without waits.
    pub fn iter(&self) -> impl Iterator<Item = (Event, &EventTotal)> {
        Event::all().zip(&self.events)
    }
}

/// The wait slot of a process and the totals of its session. Only one process at a time uses either.
#[derive(Clone, Copy, Debug)]
pub struct Waiter {
    /// The live wait.
    pub slot: &'static WaitSlot,
    /// The sums.
    pub totals: &'static EventTotals,
}

impl Waiter {
    /// A waiter over private memory that is never freed, for programs without a process table.
    ///
    /// # Panics
    /// No memory is available.
    #[must_use]
    pub fn private() -> Self {
        let slot: &'static [WaitSlot] = os::memory::shared_slice(1).expect("memory for a wait slot");
        let totals: &'static [EventTotals] = os::memory::shared_slice(1).expect("memory for event totals");
        Self { slot: &slot[0], totals: &totals[0] }
    }

    /// Begins a wait; returns the time at which it began, for [`Self::end`].
    pub fn begin(&self, event: Event, p: [u64; 3]) -> u64 {
        let is_idle = event.class() == WaitClass::Idle;
        let now = if is_idle { self.slot.busy().stop(os::clock::now_ns) } else { os::clock::now_ns() };
        self.slot.begin(event, p, now);
        now
    }

    /// Shows another value of parameter `n` (0 to 2) in the wait in progress.
    pub fn progress(&self, n: usize, value: u64) {
        self.slot.progress(n.min(2), value);
    }

    /// Ends the wait that began at `started_ns`; returns its duration in nanoseconds.
    pub fn end(&self, event: Event, started_ns: u64, timed_out: bool) -> u64 {
        let now = os::clock::now_ns();
        let ns = now.saturating_sub(started_ns);
        self.slot.end(now, || {
            self.totals.of(event).note(ns / 1000, timed_out);
            add(&self.totals.waited_ns, ns);
            if let Some(n) = CHARGED.iter().position(|class| *class == event.class()) {
                add(&self.totals.charged_us[n], ns / 1000);
            }
        });
        if event.class() == WaitClass::Idle {
            self.slot.busy().start(now);
        }
        ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WaitState;
    use std::time::Duration;

    #[test]
    fn a_wait_is_seen_while_it_lasts_and_summed_when_it_ends() {
        let w = Waiter::private();
        assert!(w.slot.view(0).is_none());
        let start = w.begin(Event::DbFileSequentialRead, [4, 17, 1]);
        let seen = w.slot.view(start + 5_000).unwrap();
        assert_eq!(
            (seen.event, seen.p, seen.state, seen.wait_us),
            (Event::DbFileSequentialRead, [4, 17, 1], WaitState::Waiting, 5)
        );
        w.progress(2, 8);
        assert_eq!(w.slot.view(start).unwrap().p, [4, 17, 8]);
        os::clock::sleep(Duration::from_millis(2));
        let ns = w.end(Event::DbFileSequentialRead, start, true);
        assert!(ns >= 2_000_000);
        let seen = w.slot.view(start + ns + 7_000).unwrap();
        // The sleep was asked for two milliseconds; its real length depends on the load of the machine.
        let us = ns / 1000;
        let state = if us < 10_000 { WaitState::WaitedShortTime(us) } else { WaitState::WaitedKnownTime(us) };
        assert_eq!((seen.state, seen.since_us), (state, 7));
        let t = w.totals.of(Event::DbFileSequentialRead);
        assert_eq!((t.waits(), t.timeouts(), t.time_us(), t.max_us()), (1, 1, ns / 1000, ns / 1000));
        assert_eq!(t.histogram().iter().sum::<u64>(), 1);
        assert_eq!(w.totals.of(Event::LatchFree).waits(), 0);
    }

    #[test]
    fn buckets_are_powers_of_two() {
        let w = Waiter::private();
        let t = w.totals.of(Event::LatchFree);
        for us in [0, 1, 2, 3, 4, 1023, 1024, u64::MAX] {
            t.note(us, false);
        }
        let h = t.histogram();
        assert_eq!((h[0], h[1], h[2], h[3], h[10], h[11], h[31]), (1, 1, 2, 1, 1, 1, 1));
    }

    #[test]
    fn a_post_between_looking_and_sleeping_is_not_lost() {
        let w = Waiter::private();
        let seen = w.slot.posts();
        w.slot.post();
        assert!(w.slot.sleep(seen, Some(Duration::from_secs(60))));
        assert!(!w.slot.sleep(w.slot.posts(), Some(Duration::from_millis(1))));
    }
}
