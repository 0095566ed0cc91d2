//! A timer that makes a descriptor readable.

use crate::{OsError, OsResult};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
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
        // SAFETY: two numbers; no memory is passed.
        let raw = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) };
        if raw < 0 {
            return Err(OsError::last("timerfd_create", ""));
        }
        // SAFETY: the descriptor is new and ours alone.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(raw) } })
    }

    /// Fires `after` from now, and no longer at the time set before. Zero unsets it.
    pub fn set(&self, after: Duration) {
        let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let value = libc::timespec { tv_sec: after.as_secs() as libc::time_t, tv_nsec: after.subsec_nanos().into() };
        let when = libc::itimerspec { it_interval: zero, it_value: value };
        // SAFETY: a valid descriptor and a valid time; the old one is not asked for.
        let rc = unsafe { libc::timerfd_settime(self.fd.as_raw_fd(), 0, &raw const when, std::ptr::null_mut()) };
        debug_assert_eq!(rc, 0);
    }

    /// Waits until it fires.
    pub fn wait(&self) {
        let mut count = [0u8; 8];
        loop {
            // SAFETY: eight bytes valid to write to.
            let got = unsafe { libc::read(self.fd.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
            if got >= 0 || !OsError::last("read", "timer").is_interrupted() {
                return;
            }
        }
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
