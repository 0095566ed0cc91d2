//! Mutexes: a word inside the object that it protects.

use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::Duration;

use wait::Event;

use crate::client::{Mode, Noted, mutex_in_record};
use crate::domain::MUTEX_HISTORY;
use crate::latch::add;
use crate::word::MutexWord;
use crate::{Client, MutexKind, Where};

impl MutexKind {
    /// P1, P2 and P3 of a wait.
    fn parameters(self, at: Where, idn: u64, value: u64, sleeps: u64) -> [u64; 3] {
        match self {
            Self::RowCache => [idn, at.location(), 0],
            Self::LibraryCache => [idn, value, sleeps << 32 | at.location()],
            _ => [idn, value, at.location() << 32 | sleeps],
        }
    }

    fn event(self, mode: Mode, exclusively_held: bool) -> Event {
        let shared = mode == Mode::MutexShared;
        match self {
            Self::CursorParent | Self::HashTable if shared => Event::CursorMutexS,
            Self::CursorParent | Self::HashTable => Event::CursorMutexX,
            Self::CursorPin if shared && exclusively_held => Event::CursorPinSWaitOnX,
            Self::CursorPin if shared => Event::CursorPinS,
            Self::CursorPin => Event::CursorPinX,
            Self::LibraryCache if shared => Event::LibraryCacheMutexS,
            Self::LibraryCache => Event::LibraryCacheMutexX,
            Self::RowCache => Event::RowCacheMutex,
        }
    }
}

/// A mutex: one exclusive holder, or any number of shared ones. Zero is free. Waiters spin and then sleep for a time;
/// they are not posted.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Mutex {
    word: MutexWord,
    /// Gets.
    gets: AtomicU64,
    /// Sleeps of the gets that have succeeded.
    sleeps: AtomicU64,
}

/// Counts one get of a mutex that other processes may be counting at the same time.
pub(crate) fn count_shared(mutex: &Mutex) {
    mutex.gets.fetch_add(1, Ordering::Relaxed);
}

// SAFETY: `repr(C)`, atomic words only, no pointers.
#[allow(unsafe_code)]
unsafe impl os::SharedLayout for Mutex {}

impl Default for MutexWord {
    fn default() -> Self {
        Self(AtomicU64::new(0))
    }
}

/// The latch name in the holds of mutexes.
pub(crate) const NO_NAME: u32 = 0xff;

/// The longest fixed sleep of scheme 0 and the first of scheme 2.
const SHORT_SLEEP: Duration = Duration::from_micros(1000);
/// Yields of scheme 0 before it sleeps.
const YIELDS: u64 = 100;

impl Mutex {
    /// The word: the holder in the upper half, the number of references in the lower. MUTEX_VALUE and P2.
    #[must_use]
    pub fn value(&self) -> u64 {
        self.word.peek() & !crate::word::MUTEX_BLOCKING
    }

    /// Gets so far, shared ones and references too.
    #[must_use]
    pub fn gets(&self) -> u64 {
        self.gets.load(Ordering::Relaxed)
    }

    /// Sleeps so far.
    #[must_use]
    pub fn sleeps(&self) -> u64 {
        self.sleeps.load(Ordering::Relaxed)
    }

    pub(crate) fn address(&self) -> u64 {
        std::ptr::from_ref(self) as u64
    }

    pub(crate) fn word(&self) -> &MutexWord {
        &self.word
    }
}

impl Client {
    /// Gets a mutex exclusively, waiting as long as it takes. `idn` identifies the object: P1 of the waits.
    #[inline]
    pub fn mutex<'a>(&'a self, mutex: &'a Mutex, kind: MutexKind, at: Where, idn: u64) -> MutexHeld<'a> {
        let noted = self.note(mutex.address(), Mode::MutexExclusive, NO_NAME, at, idn);
        if !mutex.word.try_exclusive(self.number()) {
            let try_it = || mutex.word.try_exclusive(self.number());
            self.wait_for_mutex(mutex, kind, Mode::MutexExclusive, at, idn, &try_it);
        }
        add(&mutex.gets, 1);
        self.mark_held(noted, mutex.gets());
        MutexHeld { client: self, mutex, noted }
    }

    /// Gets a mutex exclusively if it is free now.
    #[inline]
    pub fn try_mutex<'a>(&'a self, mutex: &'a Mutex, at: Where, idn: u64) -> Option<MutexHeld<'a>> {
        let noted = self.note(mutex.address(), Mode::MutexExclusive, NO_NAME, at, idn);
        if !mutex.word.try_exclusive(self.number()) {
            self.forget(noted.hold);
            return None;
        }
        add(&mutex.gets, 1);
        self.mark_held(noted, mutex.gets());
        Some(MutexHeld { client: self, mutex, noted })
    }

    /// Gets a mutex shared, waiting as long as it takes.
    #[inline]
    pub fn mutex_shared<'a>(&'a self, mutex: &'a Mutex, kind: MutexKind, at: Where, idn: u64) -> MutexHeld<'a> {
        let noted = self.note(mutex.address(), Mode::MutexShared, NO_NAME, at, idn);
        if !mutex.word.try_shared() {
            self.wait_for_mutex(mutex, kind, Mode::MutexShared, at, idn, &|| self.try_noted(noted, &mutex.word));
        }
        count_shared(mutex);
        self.mark_held(noted, mutex.gets());
        MutexHeld { client: self, mutex, noted }
    }

    /// True when no process holds the mutex of an object exclusively now (examine mode).
    #[inline]
    #[must_use]
    pub fn examine(&self, mutex: &Mutex) -> bool {
        mutex.word.peek() >> 32 == 0
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn wait_for_mutex(
        &self,
        mutex: &Mutex,
        kind: MutexKind,
        mode: Mode,
        at: Where,
        idn: u64,
        try_it: &dyn Fn() -> bool,
    ) {
        self.note_miss();
        let (mut sleeps, mut slept_ns, mut last) = (0, 0, 0);
        while !self.spin_for_mutex(try_it) {
            let value = mutex.value();
            last = value;
            let event = kind.event(mode, value >> 32 != 0);
            let started = self.waiter().begin(event, kind.parameters(at, idn, value, sleeps));
            self.sleep_for_mutex(sleeps);
            slept_ns += self.waiter().end(event, started, false);
            sleeps += 1;
            self.run_watch();
        }
        if sleeps == 0 {
            return;
        }
        self.remember_wait(mutex, at, idn, sleeps, last);
        let place = self.domain().place(at);
        place.mutex_sleeps.fetch_add(sleeps, Ordering::Relaxed);
        place.mutex_wait_ns.fetch_add(slept_ns, Ordering::Relaxed);
        mutex.sleeps.fetch_add(sleeps, Ordering::Relaxed);
        add(&self.slot.sleeps, sleeps);
    }

    /// Notes a wait in the circular history.
    fn remember_wait(&self, mutex: &Mutex, at: Where, idn: u64, sleeps: u64, value: u64) {
        let shared = self.domain().shared;
        let n = shared.mutex_waits.fetch_add(1, Ordering::Relaxed);
        let line = &shared.mutex_history[n as usize % MUTEX_HISTORY];
        // Skips a line that another process is writing, or was writing when it was killed.
        let seen = line.sequence.load(Ordering::Relaxed);
        let is_free = seen.is_multiple_of(2) && seen <= 2 * n;
        let writing = 2 * n + 1;
        if !is_free || line.sequence.compare_exchange(seen, writing, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return;
        }
        fence(Ordering::Release); // pairs with the Acquire fence in `mutex_history`
        for (word, value) in [
            (&line.wall_ns, os::clock::wall_ns()),
            (&line.place, at as u64),
            (&line.gets, mutex.gets() + 1),
            (&line.sleeps, sleeps),
            (&line.processes, u64::from(self.number()) << 32 | value >> 32),
            (&line.value, value),
            (&line.idn, idn),
            (&line.address, mutex.address()),
        ] {
            word.store(value, Ordering::Relaxed);
        }
        line.sequence.store(2 * n + 2, Ordering::Release); // pairs with the Acquire load in `mutex_history`
    }

    fn spin_for_mutex(&self, try_it: &dyn Fn() -> bool) -> bool {
        for _ in 0..self.domain().tunables().mutex_spin_count().max(1) {
            if try_it() {
                return true;
            }
            os::cpu::relax();
        }
        false
    }

    fn sleep_for_mutex(&self, sleeps: u64) {
        let tunables = self.domain().tunables();
        let time = u64::from(tunables.mutex_wait_time().max(1));
        match tunables.mutex_wait_scheme() {
            0 if sleeps % YIELDS != YIELDS - 1 => os::cpu::yield_now(),
            0 => os::clock::sleep(SHORT_SLEEP),
            1 => os::clock::sleep(Duration::from_millis(time)),
            _ if sleeps < 2 => os::cpu::yield_now(),
            _ => {
                let longest = Duration::from_millis(time * 10);
                let factor = 1u32.checked_shl((sleeps - 2).min(31) as u32).unwrap_or(u32::MAX);
                os::clock::sleep(SHORT_SLEEP.saturating_mul(factor).min(longest));
            }
        }
    }
}

/// A mutex that is held; freed when dropped.
#[derive(Debug)]
#[must_use = "the mutex is freed at once when this is dropped"]
pub struct MutexHeld<'a> {
    client: &'a Client,
    mutex: &'a Mutex,
    noted: Noted,
}

impl Client {
    #[inline]
    fn free_mutex(&self, noted: Noted, mutex: &Mutex) {
        if noted.mode == Mode::MutexShared {
            self.mark_freeing(noted);
            mutex.word.free_shared();
        } else {
            mutex.word.free_exclusive();
        }
        self.forget(noted.hold);
    }

    #[cold]
    #[inline(never)]
    fn free_recorded_mutex(&self, noted: Noted, mutex: &Mutex) {
        let end_ns = self.stamp_end(noted);
        self.free_mutex(noted, mutex);
        self.record_hold(noted, mutex_in_record(mutex.address()), end_ns);
    }
}

impl Drop for MutexHeld<'_> {
    #[inline]
    fn drop(&mut self) {
        let (client, mutex, noted) = (self.client, self.mutex, self.noted);
        if client.is_sampled() {
            client.free_recorded_mutex(noted, mutex);
        } else {
            client.free_mutex(noted, mutex);
        }
    }
}
