//! A timer that makes a descriptor readable.

use crate::{OsError, OsResult};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

/// Fires once, a given time after it was last set.
#[derive(Debug)]
pub struct Timer {
    fd: OwnedFd,
}

impl Timer {
    /// A timer that is not set.
    ///
    /// # Errors
    /// No descriptor is available.
    pub fn new() -> OsResult<Self> {
        let fd = rustix::time::timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC);
        Ok(Self { fd: fd.map_err(|e| OsError::of("timerfd_create", "", e))? })
    }

    /// Fires `after` from now, and no longer at the time set before. Zero unsets it.
    pub fn set(&self, after: Duration) {
        let when = Itimerspec { it_interval: crate::clock::timespec(0), it_value: crate::clock::timespec_of(after) };
        let set = rustix::time::timerfd_settime(&self.fd, TimerfdTimerFlags::empty(), &when);
        debug_assert!(set.is_ok());
    }

    /// Waits until it fires.
    pub fn wait(&self) {
        let _ = rustix::io::retry_on_intr(|| rustix::io::read(&self.fd, &mut [0u8; 8]));
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_off_when_it_was_set_last() {
        let timer = Timer::new().unwrap();
        timer.set(Duration::from_secs(1000));
        timer.set(Duration::from_millis(1));
        timer.wait();
    }
}
