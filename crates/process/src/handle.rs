//! The handle that a process passes down through every call.

use std::cell::Cell;
use std::time::Duration;

use latch::Client;
use sga::Sga;
use wait::{Event, Stat, StatLine};

use crate::session::SessionSlot;
use crate::undo::UndoLog;
use crate::{ProcessSlot, Processes};

/// The clocks of a session at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moment {
    pub(crate) now_ns: u64,
    pub(crate) waited_ns: u64,
    pub(crate) cpu_ns: u64,
}

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
    pub(crate) cpu_noted: Cell<Moment>,
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

    /// Counts an execution. A recorded call lasts from one execution to the next.
    #[inline]
    pub fn count_execution(&self) {
        self.client.begin_call();
        self.count(Stat::ExecuteCount, 1);
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

    /// Begins a wait, live in `v$session` until the guard is dropped.
    pub fn wait(&self, event: Event, p1: u64, p2: u64, p3: u64) -> WaitGuard<'_> {
        let started_ns = self.client.waiter().begin(event, [p1, p2, p3]);
        WaitGuard { process: self, event, started_ns, timed_out: Cell::new(false) }
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
