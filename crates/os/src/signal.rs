//! Signals, read from a descriptor rather than by handlers that interrupt the program at any instruction.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{OsError, OsResult};

pub use libc::{
    SIGALRM, SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGKILL, SIGPIPE, SIGQUIT, SIGSTOP, SIGTERM, SIGUSR1, SIGUSR2,
};

fn set_of(signals: &[i32]) -> libc::sigset_t {
    // SAFETY: an all-zero set is a valid value, and is emptied properly below.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is valid to write to.
    unsafe { libc::sigemptyset(&raw mut set) };
    for &signal in signals {
        // SAFETY: as above; an unknown number is refused without harm.
        unsafe { libc::sigaddset(&raw mut set, signal) };
    }
    set
}

/// Keeps these signals from interrupting the calling thread, and threads and processes it starts.
pub fn block(signals: &[i32]) {
    let set = set_of(signals);
    // SAFETY: a valid set; the old mask is not asked for.
    unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
}

/// Unblocks these signals.
pub fn unblock(signals: &[i32]) {
    let set = set_of(signals);
    // SAFETY: a valid set; the old mask is not asked for.
    unsafe { libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut()) };
}

/// Ignores a signal, as servers do with `SIGPIPE`.
pub fn ignore(signal: i32) {
    // SAFETY: SIG_IGN runs no code of ours.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}

/// Gives a signal its default action again, as a forked child does for signals that its parent ignored.
pub fn restore_default(signal: i32) {
    // SAFETY: SIG_DFL runs no code of ours.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// The counters of [`flag_on`], by signal number: static, because a handler can reach nothing else.
static FLAGS: [AtomicU32; 65] = [const { AtomicU32::new(0) }; 65];

extern "C" fn raise_flag(signal: libc::c_int) {
    if let Some(flag) = usize::try_from(signal).ok().and_then(|n| FLAGS.get(n)) {
        flag.fetch_add(1, Ordering::Relaxed);
    }
}

/// Counts arrivals of `signal` from now on; system calls it interrupts return `EINTR`.
pub fn flag_on(signal: i32) {
    // SAFETY: an all-zero sigaction is valid; the handler only adds to an atomic, which a signal handler may do.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = raise_flag as extern "C" fn(libc::c_int) as usize;
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
    }
}

/// Arrivals of `signal` since the last call, after [`flag_on`].
#[must_use]
pub fn take_flag(signal: i32) -> u32 {
    usize::try_from(signal).ok().and_then(|n| FLAGS.get(n)).map_or(0, |flag| flag.swap(0, Ordering::Relaxed))
}

/// A descriptor that delivers blocked signals.
#[derive(Debug)]
pub struct SignalFd {
    fd: OwnedFd,
}

impl SignalFd {
    /// Blocks `signals` and makes a non-blocking descriptor that delivers them.
    ///
    /// # Errors
    /// No descriptor is available.
    pub fn new(signals: &[i32]) -> OsResult<Self> {
        block(signals);
        let set = set_of(signals);
        // SAFETY: a valid set; -1 asks for a new descriptor.
        let raw = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC) };
        if raw < 0 {
            return Err(OsError::last("signalfd", ""));
        }
        // SAFETY: the descriptor is new and ours alone.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(raw) } })
    }

    /// The next signal that has arrived: its number and the sender's process id.
    #[must_use]
    pub fn next(&self) -> Option<(i32, i32)> {
        // SAFETY: an all-zero value is valid.
        let mut info: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: `info` is valid to write `size` bytes to.
        let got = unsafe { libc::read(self.fd.as_raw_fd(), (&raw mut info).cast(), size) };
        (got == size as isize).then_some((info.ssi_signo as i32, info.ssi_pid as i32))
    }
}

impl AsFd for SignalFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl AsRawFd for SignalFd {
    fn as_raw_fd(&self) -> i32 {
        self.fd.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flagged_signal_is_counted() {
        flag_on(SIGUSR2);
        crate::process::kill(crate::process::own_id(), SIGUSR2).unwrap();
        let mut seen = 0;
        for _ in 0..1000 {
            seen += take_flag(SIGUSR2);
            if seen > 0 {
                break;
            }
            crate::clock::sleep(std::time::Duration::from_millis(1));
        }
        assert_eq!(seen, 1);
    }
}
