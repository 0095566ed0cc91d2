//! The limits of a session on processor time and logical reads, from the profile of its user.
//!
//! A session with such limits has a bit set in its word of requests, so [`Process::check_cancel`] checks the limits
//! where it checks for a request to stop. A session without limits pays nothing. The used amounts are the statistics of
//! the process and the processor time of its thread.

use std::cell::Cell;
use types::{Ora, Result};

/// Checks between two readings of the clock of processor time, which costs a system call.
const CHECKS_FOR_A_LOOK: u32 = 16;

/// The most that a session, and one of its calls, may use; `None` for no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    pub session_cpu_ns: Option<u64>,
    pub call_cpu_ns: Option<u64>,
    pub session_reads: Option<u64>,
    pub call_reads: Option<u64>,
}

/// The limits in force, and the readings at which they are exceeded.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    limits: Cell<Limits>,
    ends: Cell<Limits>,
    checks: Cell<u32>,
}

impl Usage {
    /// Sets the limits. `used` is the processor time and the reads of the session so far.
    pub(crate) fn limit(&self, limits: Limits, used: (u64, u64)) {
        let (cpu, reads) = used;
        self.limits.set(limits);
        self.ends.set(Limits {
            session_cpu_ns: limits.session_cpu_ns.map(|most| cpu.saturating_add(most)),
            session_reads: limits.session_reads.map(|most| reads.saturating_add(most)),
            ..Limits::default()
        });
    }

    /// Begins a call.
    pub(crate) fn begin_call(&self, used: impl FnOnce() -> (u64, u64)) {
        let limits = self.limits.get();
        if limits.call_cpu_ns.is_none() && limits.call_reads.is_none() {
            return;
        }
        let (cpu, reads) = used();
        self.ends.set(Limits {
            call_cpu_ns: limits.call_cpu_ns.map(|most| cpu.saturating_add(most)),
            call_reads: limits.call_reads.map(|most| reads.saturating_add(most)),
            ..self.ends.get()
        });
    }

    /// Fails when the session has used up its limits.
    ///
    /// # Errors
    /// ORA-02392, ORA-02394.
    pub(crate) fn check_session(&self, used: impl FnOnce() -> (u64, u64)) -> Result<()> {
        let ends = self.ends.get();
        if ends.session_cpu_ns.is_none() && ends.session_reads.is_none() {
            return Ok(());
        }
        let (cpu, reads) = used();
        if ends.session_reads.is_some_and(|end| reads > end) {
            return Err(Ora::new(2394));
        }
        if ends.session_cpu_ns.is_some_and(|end| cpu > end) {
            return Err(Ora::new(2392));
        }
        Ok(())
    }

    /// Fails when the call or the session, with that many reads, has exceeded a limit.
    ///
    /// # Errors
    /// ORA-02392 to ORA-02395.
    pub(crate) fn check(&self, reads: u64) -> Result<()> {
        let ends = self.ends.get();
        if ends.session_reads.is_some_and(|end| reads > end) {
            return Err(Ora::new(2394));
        }
        if ends.call_reads.is_some_and(|end| reads > end) {
            return Err(Ora::new(2395));
        }
        let checks = self.checks.get().wrapping_add(1);
        self.checks.set(checks);
        if (ends.session_cpu_ns.is_none() && ends.call_cpu_ns.is_none()) || !checks.is_multiple_of(CHECKS_FOR_A_LOOK) {
            return Ok(());
        }
        let cpu = os::clock::thread_cpu_ns();
        if ends.session_cpu_ns.is_some_and(|end| cpu > end) {
            return Err(Ora::new(2392));
        }
        if ends.call_cpu_ns.is_some_and(|end| cpu > end) {
            return Err(Ora::new(2393));
        }
        Ok(())
    }
}
