//! The handle that a process passes down through every call.

use std::cell::Cell;
use std::time::Duration;

use latch::{Client, Latch, Mutex, MutexHeld, MutexKind, Versioned, Where};
use sga::Sga;
use types::{Ora, Result};
use wait::{Event, Stat, StatLine};

use crate::section::{MutexSection, Section, SharedHold};
use crate::session::{Cancel, SessionSlot, SessionStatus};
use crate::undo::UndoLog;
use crate::{ProcessSlot, Processes};

/// A process of the instance: a server process, a background process, or a thread of a test.
///
/// One thread uses it. Dropping it leaves the instance in order. PMON cleans up after a process that is killed, and
/// after one that panics, whose slot stays as it is.
#[derive(Debug)]
pub struct Process {
    pub(crate) all: &'static Processes,
    pub(crate) number: u32,
    pub(crate) client: Client,
    pub(crate) stats: &'static StatLine,
    /// Kept here because an execution reads it a dozen times.
    pub(crate) session: &'static SessionSlot,
    pub(crate) undo: &'static UndoLog,
    pub(crate) section_ids: Cell<u32>,
    /// True once it has cleaned up after a dead process.
    pub(crate) cleaning: Cell<bool>,
    /// The rollbacks that it has interrupted to clean up after other processes.
    pub(crate) depth: Cell<u32>,
    /// When it last looked for dead processes, by the monotonic clock.
    pub(crate) looked: Cell<u64>,
    /// True in a parse call: a parse within it is part of it.
    pub(crate) parsing: Cell<bool>,
    /// The parse call in progress, where it is timed.
    pub(crate) parse_began: Cell<Option<wait::ParseBegan>>,
    /// The last reading of the session's processor time.
    pub(crate) cpu_noted: Cell<crate::times::Moment>,
    /// Whether parses are timed.
    pub(crate) timed: Cell<bool>,
    /// Bytes of the own heap from which on it waits for another session to give memory back; 0 while it waits for none.
    pub(crate) patience: Cell<u64>,
    /// The most bytes that a check in this call has found.
    pub(crate) peak: Cell<u64>,
    /// Above 0 only the end of the session is a reason to stop: see [`Process::unbroken`].
    pub(crate) unbroken: Cell<u32>,
    pub(crate) usage: crate::limits::Usage,
}

impl Process {
    /// For loops that wait for something that another process owns without a latch, such as a pinned buffer; called in
    /// every turn. When this process is the cleaner, the owner may have died after the process being cleaned up, and no
    /// other process would free it. Latches: none held on entry or return.
    pub fn help_the_dead(&self) {
        if self.cleaning.get() {
            self.all.free_pins_behind_the_dead(self);
        }
    }

    /// For long loops without waits, called in every turn: a cleaner cleans up after processes that have died since, at
    /// most twenty times a second. The caller holds no latch, no pin and no borrow that a hook needs.
    pub fn look_for_the_dead(&self) {
        if self.cleaning.get() {
            self.all.look_for_the_dead(self);
        }
    }

    /// The process number (PID of `v$process`), from 1.
    #[inline]
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The session number (SID): equal to the process number, since each process has one session (invariant 7).
    #[inline]
    #[must_use]
    pub fn sid(&self) -> u32 {
        self.number
    }

    /// The session's serial number.
    #[must_use]
    pub fn serial(&self) -> u64 {
        self.session().serial()
    }

    /// All processes of the instance.
    #[inline]
    #[must_use]
    pub fn all(&self) -> &'static Processes {
        self.all
    }

    /// The SGA.
    #[inline]
    #[must_use]
    pub fn sga(&self) -> &'static Sga {
        self.all.sga
    }

    /// Its slot.
    #[must_use]
    pub fn slot(&self) -> &'static ProcessSlot {
        &self.all.slots[self.number as usize - 1]
    }

    /// Its session.
    #[inline]
    #[must_use]
    pub fn session(&self) -> &'static SessionSlot {
        self.session
    }

    /// Its latches, without sections: for gets whose changes need no micro-undo.
    #[inline]
    #[must_use]
    pub fn latches(&self) -> &Client {
        &self.client
    }

    #[inline]
    pub(crate) fn undo(&self) -> &'static UndoLog {
        self.undo
    }

    /// Adds `n` to a statistic of its session: no shared write.
    #[inline]
    pub fn count(&self, stat: Stat, n: u64) {
        self.stats.add(stat, n);
    }

    /// Counts reads of files of any kind, in requests and bytes.
    pub fn count_read(&self, requests: u64, bytes: u64) {
        self.count(Stat::PhysicalReadTotalIoRequests, requests);
        self.count(Stat::PhysicalReadTotalBytes, bytes);
    }

    /// Counts writes of files of any kind, in requests and bytes.
    pub fn count_write(&self, requests: u64, bytes: u64) {
        self.count(Stat::PhysicalWriteTotalIoRequests, requests);
        self.count(Stat::PhysicalWriteTotalBytes, bytes);
    }

    /// Microseconds that the slot's owners have waited in the classes of [`wait::CHARGED`], for differences.
    #[inline]
    #[must_use]
    pub fn charged_us(&self) -> [u64; wait::CHARGED.len()] {
        self.client.waiter().totals.charged_us()
    }

    /// Nanoseconds that the slot's owners have waited, for differences.
    #[inline]
    #[must_use]
    pub fn waited_ns(&self) -> u64 {
        self.client.waiter().totals.waited_ns()
    }

    /// Its own statistics.
    #[inline]
    #[must_use]
    pub fn stats(&self) -> &'static StatLine {
        self.stats
    }

    /// Gets a latch exclusively, waiting as long as it takes. Waits: the latch's event.
    ///
    /// # Panics
    /// In debug builds, when the levels forbid it (ORA-00600 `[504]`).
    #[inline]
    pub fn lock<'a>(&'a self, latch: &'a Latch, at: Where, why: u64) -> Section<'a> {
        Section::new(self, self.client.get(latch, at, why))
    }

    /// Gets a latch exclusively if it is free now.
    #[inline]
    pub fn try_lock<'a>(&'a self, latch: &'a Latch, at: Where, why: u64) -> Option<Section<'a>> {
        self.client.try_get(latch, at, why).map(|held| Section::new(self, held))
    }

    /// Gets a latch shared (exclusively, where it cannot be shared), waiting as long as it takes.
    #[inline]
    pub fn lock_shared<'a>(&'a self, latch: &'a Latch, at: Where, why: u64) -> SharedHold<'a> {
        SharedHold::new(self.client.get_shared(latch, at, why))
    }

    /// Gets a versioned structure for writing; its version is odd until the section ends.
    #[inline]
    pub fn write_versioned<'a>(&'a self, v: &'a Versioned, at: Where, why: u64) -> Section<'a> {
        Section::new(self, self.client.write(v, at, why))
    }

    /// Reads optimistically: counts as a get, a failed check as a miss; after a number of misses it gets the latch.
    #[inline]
    pub fn read_versioned<R>(&self, v: &Versioned, at: Where, f: impl FnMut() -> R) -> R {
        self.client.read(v, at, f)
    }

    /// As [`Process::lock`], for a get that protects nothing: the design of a generation makes it, and that design's
    /// published number of gets includes it. `docs/IMITATED_GETS.md` lists every place with its source.
    #[inline]
    pub fn imitated_get<'a>(&'a self, latch: &'a Latch, at: Where, why: u64) -> Section<'a> {
        self.lock(latch, at, why)
    }

    /// As [`Process::imitated_get`], of a mutex.
    #[inline]
    pub fn imitated_mutex<'a>(&'a self, m: &'a Mutex, kind: MutexKind, at: Where, idn: u64) -> MutexHeld<'a> {
        self.mutex(m, kind, at, idn)
    }

    /// Gets a mutex exclusively. `idn` identifies the object.
    #[inline]
    pub fn mutex<'a>(&'a self, m: &'a Mutex, kind: MutexKind, at: Where, idn: u64) -> MutexHeld<'a> {
        self.client.mutex(m, kind, at, idn)
    }

    /// Gets a mutex exclusively, with the right to change what it protects.
    #[inline]
    pub fn lock_mutex<'a>(&'a self, m: &'a Mutex, kind: MutexKind, at: Where, idn: u64) -> MutexSection<'a> {
        Section::new(self, self.client.mutex(m, kind, at, idn))
    }

    /// Gets a mutex shared.
    #[inline]
    pub fn mutex_shared<'a>(&'a self, m: &'a Mutex, kind: MutexKind, at: Where, idn: u64) -> MutexHeld<'a> {
        self.client.mutex_shared(m, kind, at, idn)
    }

    /// As [`Process::imitated_get`], of a mutex got shared.
    #[inline]
    pub fn imitated_mutex_shared<'a>(&'a self, m: &'a Mutex, kind: MutexKind, at: Where, idn: u64) -> MutexHeld<'a> {
        self.mutex_shared(m, kind, at, idn)
    }

    /// Begins a wait, live in `v$session` until the guard is dropped.
    pub fn wait(&self, event: Event, p1: u64, p2: u64, p3: u64) -> WaitGuard<'_> {
        let started_ns = self.client.waiter().begin(event, [p1, p2, p3]);
        WaitGuard { process: self, event, started_ns, timed_out: Cell::new(false) }
    }

    /// Fails when the session was killed (ORA-00028, every time), on a break from the client (ORA-01013, once), when
    /// this process has too much memory (ORA-04030, until it has less), when the instance has too much and this session
    /// the most (ORA-04036, once), or beyond the limits of the profile (see [`crate::Limits`]).
    ///
    /// One relaxed load when there is no request and the heap has not grown by a megabyte: cheap enough for every row.
    ///
    /// # Errors
    /// ORA-00028, ORA-01013, ORA-04030, ORA-04036, ORA-02392 to ORA-02395.
    #[inline]
    pub fn check_cancel(&self) -> Result<()> {
        if self.session().is_asked() { self.cancelled() } else { Ok(()) }
    }

    /// Whether the session should stop, without taking the request: for waits in functions that cannot return an error.
    #[must_use]
    pub fn is_asked_to_stop(&self) -> bool {
        self.session().is_asked_to_stop()
    }

    /// As [`Self::check_cancel`]; also true, once, when the session should publish the progress of its statements.
    ///
    /// # Errors
    /// As [`Self::check_cancel`].
    #[inline]
    pub fn check_asked(&self) -> Result<bool> {
        if self.session().is_wanted() { self.asked() } else { Ok(false) }
    }

    #[cold]
    fn asked(&self) -> Result<bool> {
        self.check_cancel()?;
        Ok(self.session().take_tell())
    }

    /// Runs work that must not be interrupted, such as the rollback of a statement: inside it [`Self::check_cancel`]
    /// fails only when the session was killed. A break and too much memory are found by the first check after it.
    pub fn unbroken<R>(&self, body: impl FnOnce() -> R) -> R {
        self.unbroken.set(self.unbroken.get() + 1);
        let result = body();
        self.unbroken.set(self.unbroken.get() - 1);
        result
    }

    #[cold]
    fn cancelled(&self) -> Result<()> {
        if self.unbroken.get() > 0 {
            return if self.session().status() == SessionStatus::Killed { Err(Ora::new(28)) } else { Ok(()) };
        }
        match self.session().take_request() {
            Some(Cancel::Killed) => Err(Ora::new(28)),
            Some(Cancel::Break) => Err(Ora::new(1013)),
            Some(Cancel::Memory) => {
                self.session().set_giving_up();
                Err(Ora::new(4036))
            }
            None => {
                if self.session().take_grown() {
                    self.check_memory()?;
                }
                self.check_limits()
            }
        }
    }

    /// The number to pass to [`Self::sleep`]: read it, check whether there is something to wait for, then sleep.
    #[must_use]
    pub fn posts(&self) -> u32 {
        self.client.waiter().slot.posts()
    }

    /// Sleeps until posted since `seen` or until the time is up; true when posted. May return early with false.
    ///
    /// The caller has begun a wait and checks in a loop: its condition, `check_cancel`, its own deadline.
    pub fn sleep(&self, seen: u32, timeout: Option<Duration>) -> bool {
        self.client.waiter().slot.sleep(seen, timeout)
    }

    #[inline]
    pub(crate) fn take_section_id(&self) -> u8 {
        let used = self.section_ids.get();
        let id = used.trailing_ones();
        assert!(id < 32, "a process has at most 32 sections open");
        self.section_ids.set(used | 1 << id);
        id as u8
    }

    #[inline]
    pub(crate) fn return_section_id(&self, id: u8) {
        self.section_ids.set(self.section_ids.get() & !(1 << id));
    }

    /// Rolls back all open sections of a thread that panics: its changes must not be seen half-done (invariant 6).
    #[cold]
    pub(crate) fn roll_back_panicking(&self) {
        self.undo().roll_back(self.sga());
    }
}

/// A wait in progress; it ends when this is dropped.
#[derive(Debug)]
#[must_use = "the wait ends at once when this is dropped"]
pub struct WaitGuard<'a> {
    process: &'a Process,
    event: Event,
    started_ns: u64,
    timed_out: Cell<bool>,
}

impl WaitGuard<'_> {
    /// Marks the wait as ended by its time-out.
    pub fn timed_out(&self) {
        self.timed_out.set(true);
    }

    /// Shows another value of P1, P2 or P3 (0 to 2).
    pub fn progress(&self, n: usize, value: u64) {
        self.process.client.waiter().progress(n, value);
    }
}

/// After a wait as long as this, the session publishes the progress of its statements.
const LONG_NS: u64 = 1_000_000_000;

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        let ns = self.process.client.waiter().end(self.event, self.started_ns, self.timed_out.get());
        // Readers add a wait in progress to its statement, so its time is published soon after its end.
        let is_calls = self.event.class() != wait::WaitClass::Idle || self.event == Event::PlSqlLockTimer;
        if ns >= LONG_NS && is_calls {
            self.process.session().ask_to_tell();
        }
    }
}

// A `Process` is used by one thread at a time and may move between threads; it holds no address of a thread.
const _: () = {
    const fn may_move<T: Send>() {}
    may_move::<Process>();
};
