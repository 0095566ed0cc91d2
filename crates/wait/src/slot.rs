//! The live wait of one process.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::time::Duration;

use crate::{Event, Stopwatch};

/// Attempts of a reader to see all words unchanged before it yields the processor between further attempts.
const TRIES: u32 = 1000;
const YIELDS: u32 = 20;

/// The current or last wait of one process, written by that process alone and read by any.
///
/// All fields except the post word change under an odd `version`, so a reader never mixes two waits (invariant 3). The
/// zero value is a process that has not waited yet.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct WaitSlot {
    version: AtomicU64,
    /// Event number + 1; 0 before the first wait.
    event: AtomicU64,
    p: [AtomicU64; 3],
    started_ns: AtomicU64,
    /// 0 while waiting.
    ended_ns: AtomicU64,
    sequence: AtomicU64,
    /// The ended waits, at the place given by their number modulo [`HISTORY`].
    history: [Ended; HISTORY],
    /// From the end of the previous wait to the beginning of this one.
    gap_ns: AtomicU64,
    /// Nanoseconds that the owner spent outside waits of the class Idle.
    busy: Stopwatch,
    /// Changed by every post; the owner sleeps on this futex.
    post: AtomicU32,
    pad: [AtomicU32; 11],
}

/// Number of ended waits kept: the rows of a session in `v$session_wait_history`.
pub const HISTORY: usize = 10;

/// A wait that has ended.
#[derive(Debug)]
#[repr(C)]
struct Ended {
    /// Event number + 1; 0 for none.
    event: AtomicU64,
    p: [AtomicU64; 3],
    wait_ns: AtomicU64,
    gap_ns: AtomicU64,
}

/// An ended wait, as a reader saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedWait {
    pub event: Event,
    pub p: [u64; 3],
    pub wait_us: u64,
    /// From the end of the previous wait to the beginning of this one.
    pub gap_us: u64,
}

// SAFETY: `repr(C)`, atomic words only, no pointers.
#[allow(unsafe_code)]
unsafe impl os::SharedLayout for WaitSlot {}

/// The state of a wait: the column STATE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitState {
    /// The process is waiting.
    Waiting,
    /// The wait has ended and took this many microseconds.
    WaitedKnownTime(u64),
    /// The wait has ended and took less than a hundredth of a second.
    WaitedShortTime(u64),
}

impl WaitState {
    /// The text of the column STATE of `v$session`.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Waiting => "WAITING",
            Self::WaitedKnownTime(_) => "WAITED KNOWN TIME",
            Self::WaitedShortTime(_) => "WAITED SHORT TIME",
        }
    }
}

/// One wait, as a reader saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitView {
    /// The event.
    pub event: Event,
    /// Its three parameters.
    pub p: [u64; 3],
    /// The number of the wait in its session: SEQ#.
    pub sequence: u64,
    /// Waiting, or ended.
    pub state: WaitState,
    /// Microseconds in this wait, so far or in total: WAIT_TIME_MICRO.
    pub wait_us: u64,
    /// Microseconds since the wait ended, 0 while waiting: TIME_SINCE_LAST_WAIT_MICRO.
    pub since_us: u64,
}

impl WaitSlot {
    /// Empties the slot for a new owner. Only the owner, or the process that cleans up behind a dead owner, may call
    /// this.
    pub fn reset(&self) {
        self.change(|s| {
            for word in [&s.event, &s.p[0], &s.p[1], &s.p[2], &s.started_ns, &s.ended_ns, &s.sequence, &s.gap_ns] {
                word.store(0, Ordering::Relaxed);
            }
            s.history.iter().for_each(|ended| ended.event.store(0, Ordering::Relaxed));
        });
    }

    fn change(&self, write: impl FnOnce(&Self)) {
        let odd = self.version.load(Ordering::Relaxed) | 1;
        self.version.store(odd, Ordering::Relaxed);
        fence(Ordering::Release); // pairs with the Acquire fence in `view`
        write(self);
        self.version.store(odd.wrapping_add(1), Ordering::Release); // pairs with the Acquire load in `view`
    }

    pub(crate) fn begin(&self, event: Event, p: [u64; 3], now_ns: u64) {
        self.change(|s| {
            s.event.store(event as u64 + 1, Ordering::Relaxed);
            for (word, value) in s.p.iter().zip(p) {
                word.store(value, Ordering::Relaxed);
            }
            s.started_ns.store(now_ns, Ordering::Relaxed);
            let before = s.ended_ns.load(Ordering::Relaxed);
            s.gap_ns.store(if before == 0 { 0 } else { now_ns.saturating_sub(before) }, Ordering::Relaxed);
            s.ended_ns.store(0, Ordering::Relaxed);
            s.sequence.store(s.sequence.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        });
    }

    /// Ends the wait. `sum` adds it to the totals under the same odd version, so a reader of slot and totals sees both
    /// change together (invariant 5).
    pub(crate) fn end(&self, now_ns: u64, sum: impl FnOnce()) {
        self.change(|s| {
            sum();
            s.ended_ns.store(now_ns.max(1), Ordering::Relaxed);
            let ended = &s.history[s.sequence.load(Ordering::Relaxed) as usize % HISTORY];
            let copy = |to: &AtomicU64, from: &AtomicU64| to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
            copy(&ended.event, &s.event);
            ended.p.iter().zip(&s.p).for_each(|(to, from)| copy(to, from));
            copy(&ended.gap_ns, &s.gap_ns);
            ended.wait_ns.store(now_ns.saturating_sub(s.started_ns.load(Ordering::Relaxed)), Ordering::Relaxed);
        });
    }

    /// The last ended waits, the latest first; empty when the owner changed them during every attempt to read.
    #[must_use]
    pub fn history(&self) -> Vec<EndedWait> {
        let waits = self.stable(|| {
            let last = self.sequence.load(Ordering::Relaxed) as usize;
            // The wait in progress has no row yet: its place still holds the oldest ended wait.
            let seen = |back: usize| self.history[last.wrapping_sub(back) % HISTORY].view();
            let mut waits: Vec<EndedWait> = (0..HISTORY).filter_map(seen).collect();
            if self.ended_ns.load(Ordering::Relaxed) == 0 && waits.len() == HISTORY {
                waits.rotate_left(1);
            }
            waits
        });
        waits.unwrap_or_default()
    }

    /// Microseconds that wait number `sequence` took; `None` when it is in progress, no longer in the history, or never
    /// was.
    #[must_use]
    pub fn waited_us(&self, sequence: u64) -> Option<u64> {
        let (last, has_ended, wait_ns) = self.stable(|| {
            let wait_ns = self.history[sequence as usize % HISTORY].wait_ns.load(Ordering::Relaxed);
            (self.sequence.load(Ordering::Relaxed), self.ended_ns.load(Ordering::Relaxed) != 0, wait_ns)
        })?;
        let ended = if has_ended { last } else { last.saturating_sub(1) };
        let is_kept = sequence > 0 && sequence <= ended && ended - sequence < HISTORY as u64;
        is_kept.then_some(wait_ns / 1000)
    }

    /// Changes P2 or P3 of the wait in progress, for events whose parameters show progress.
    pub(crate) fn progress(&self, n: usize, value: u64) {
        self.change(|s| s.p[n].store(value, Ordering::Relaxed));
    }

    /// The wait in progress or the last one; `None` before the first one, or when the owner changed it during every
    /// attempt.
    #[must_use]
    pub fn view(&self, now_ns: u64) -> Option<WaitView> {
        let (event, p, sequence, started, ended) = self.stable(|| {
            let p = [0, 1, 2].map(|n| self.p[n].load(Ordering::Relaxed));
            let [event, sequence, started, ended] =
                [&self.event, &self.sequence, &self.started_ns, &self.ended_ns].map(|w| w.load(Ordering::Relaxed));
            (event, p, sequence, started, ended)
        })?;
        let event = Event::from_number(event.checked_sub(1)?)?;
        Some(Self::as_seen(event, p, sequence, started, ended, now_ns))
    }

    /// The stopwatch of busy time: it stands while the owner is in a wait of the class Idle.
    pub(crate) fn busy(&self) -> &Stopwatch {
        &self.busy
    }

    /// Nanoseconds since [`Self::begin_session`] outside waits of the class Idle. The figure never decreases.
    #[inline]
    #[must_use]
    pub fn busy_ns(&self) -> u64 {
        self.busy.read(os::clock::now_ns)
    }

    /// Starts the busy time of a new session. Only the owner may call this, and not during a wait.
    pub fn begin_session(&self, now_ns: u64) {
        self.busy.clear();
        self.busy.start(now_ns);
    }

    /// Returns the result of `read` when all words it read belong to one version; `None` when the owner changed them
    /// during every attempt.
    fn stable<R>(&self, mut read: impl FnMut() -> R) -> Option<R> {
        for n in 0..TRIES + YIELDS {
            let before = self.version.load(Ordering::Acquire); // pairs with the last store in `change`
            let seen = read();
            fence(Ordering::Acquire); // pairs with the Release fence in `change`
            if before.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == before {
                return Some(seen);
            }
            // The writer may have lost the processor, or may have died: the number of attempts is bounded.
            if n < TRIES { os::cpu::relax() } else { os::cpu::yield_now() }
        }
        None
    }

    fn as_seen(event: Event, p: [u64; 3], sequence: u64, started: u64, ended: u64, now: u64) -> WaitView {
        let (state, wait_us, since_us) = if ended == 0 {
            (WaitState::Waiting, now.saturating_sub(started) / 1000, 0)
        } else {
            let us = ended.saturating_sub(started) / 1000;
            let state = if us < 10_000 { WaitState::WaitedShortTime(us) } else { WaitState::WaitedKnownTime(us) };
            (state, us, now.saturating_sub(ended) / 1000)
        };
        WaitView { event, p, sequence, state, wait_us, since_us }
    }

    /// The number to pass to [`Self::sleep`]: read it, then check whether there is a reason to wait, then sleep
    /// (invariant 4).
    #[must_use]
    pub fn posts(&self) -> u32 {
        self.post.load(Ordering::Acquire) // pairs with the Release in `post`: the change it reports is visible
    }

    /// Wakes the owner if it sleeps. An owner that read `posts` before this post does not fall asleep.
    pub fn post(&self) {
        self.post.fetch_add(1, Ordering::Release); // pairs with the Acquire in `posts`
        os::futex::wake(&self.post, 1);
    }

    /// Sleeps until a post after `seen`, or until the timeout. Returns true when there was a post; may return false
    /// early.
    pub fn sleep(&self, seen: u32, timeout: Option<Duration>) -> bool {
        os::futex::wait(&self.post, seen, timeout);
        self.posts() != seen
    }
}

impl Ended {
    fn view(&self) -> Option<EndedWait> {
        let read = |word: &AtomicU64| word.load(Ordering::Relaxed);
        Some(EndedWait {
            event: Event::from_number(read(&self.event).checked_sub(1)?)?,
            p: [0, 1, 2].map(|n| read(&self.p[n])),
            wait_us: read(&self.wait_ns) / 1000,
            gap_us: read(&self.gap_ns) / 1000,
        })
    }
}
