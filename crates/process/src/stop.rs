//! The reasons of a session to stop: requests, memory, and the limits of the profile.

use crate::handle::Process;
use crate::limits::Limits;
use crate::session::{Cancel, SessionStatus};
use types::{Ora, Result};
use wait::Stat;

impl Process {
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
                self.usage.check(self.stats().get(Stat::SessionLogicalReads))
            }
        }
    }

    fn used(&self) -> (u64, u64) {
        (os::clock::thread_cpu_ns(), self.stats().get(Stat::SessionLogicalReads))
    }

    /// Limits the session from now on.
    pub fn set_limits(&self, limits: Limits) {
        self.usage.limit(limits, self.used());
        self.session().set_limited(limits != Limits::default());
    }

    /// Begins a call; limits of the session apply to it.
    pub fn begin_limited_call(&self) {
        self.usage.begin_call(|| self.used());
    }

    /// Fails when the session has used up its limits.
    ///
    /// # Errors
    /// ORA-02392, ORA-02394.
    pub fn check_session_limits(&self) -> Result<()> {
        self.usage.check_session(|| self.used())
    }
}
