//! The limits of a session on processor time and logical reads, from the profile of its user.
//!
//! A session with such limits has a bit set in its word of requests, so [`Process::check_cancel`] checks the limits
//! where it checks for a request to stop. A session without limits pays nothing. The used amounts are the statistics of
//! the process and the processor time of its thread.

use crate::Process;
use std::cell::Cell;
use types::{Ora, Result};
use wait::Stat;

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

impl Process {
    fn used(&self) -> (u64, u64) {
        (os::clock::thread_cpu_ns(), self.stats().get(Stat::SessionLogicalReads))
    }

    /// Limits the session from now on.
    pub fn set_limits(&self, limits: Limits) {
        let (cpu, reads) = self.used();
        self.usage.limits.set(limits);
        self.usage.ends.set(Limits {
            session_cpu_ns: limits.session_cpu_ns.map(|most| cpu.saturating_add(most)),
            session_reads: limits.session_reads.map(|most| reads.saturating_add(most)),
            ..Limits::default()
        });
        self.session().set_limited(limits != Limits::default());
    }

    /// Begins a call; limits of the session apply to it.
    pub fn begin_limited_call(&self) {
        let limits = self.usage.limits.get();
        if limits.call_cpu_ns.is_none() && limits.call_reads.is_none() {
            return;
        }
        let (cpu, reads) = self.used();
        self.usage.ends.set(Limits {
            call_cpu_ns: limits.call_cpu_ns.map(|most| cpu.saturating_add(most)),
            call_reads: limits.call_reads.map(|most| reads.saturating_add(most)),
            ..self.usage.ends.get()
        });
    }

    /// Fails when the session has used up its limits.
    ///
    /// # Errors
    /// ORA-02392, ORA-02394.
    pub fn check_session_limits(&self) -> Result<()> {
        let ends = self.usage.ends.get();
        if ends.session_cpu_ns.is_none() && ends.session_reads.is_none() {
            return Ok(());
        }
        let (cpu, reads) = self.used();
        if ends.session_reads.is_some_and(|end| reads > end) {
            return Err(Ora::new(2394));
        }
        if ends.session_cpu_ns.is_some_and(|end| cpu > end) {
            return Err(Ora::new(2392));
        }
        Ok(())
    }

    /// Fails when the call or the session has exceeded a limit.
    pub(crate) fn check_limits(&self) -> Result<()> {
        let ends = self.usage.ends.get();
        let reads = self.stats().get(Stat::SessionLogicalReads);
        if ends.session_reads.is_some_and(|end| reads > end) {
            return Err(Ora::new(2394));
        }
        if ends.call_reads.is_some_and(|end| reads > end) {
            return Err(Ora::new(2395));
        }
        let checks = self.usage.checks.get().wrapping_add(1);
        self.usage.checks.set(checks);
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
