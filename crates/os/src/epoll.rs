//! Waiting on very many descriptors: `epoll`, whose cost grows with the number of events, not of descriptors.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use crate::{OsError, OsResult};

/// A set of watched descriptors, each with a number that the caller chose.
#[derive(Debug)]
pub struct Epoll {
    fd: OwnedFd,
}

impl Epoll {
    /// An empty set.
    ///
    /// # Errors
    /// No descriptor is available.
    pub fn new() -> OsResult<Self> {
        // SAFETY: a number; no memory is passed.
        let raw = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if raw < 0 {
            return Err(OsError::last("epoll_create1", ""));
        }
        // SAFETY: the descriptor is new and ours alone.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(raw) } })
    }

    fn control(&self, what: i32, fd: RawFd, token: u64) -> OsResult<()> {
        self.control_for(what, fd, token, libc::EPOLLIN | libc::EPOLLRDHUP)
    }

    fn control_for(&self, what: i32, fd: RawFd, token: u64, events: i32) -> OsResult<()> {
        let mut event = libc::epoll_event { events: events as u32, u64: token };
        // SAFETY: two descriptors, of which the kernel checks both, and a valid event that it copies.
        match unsafe { libc::epoll_ctl(self.fd.as_raw_fd(), what, fd, &raw mut event) } {
            0 => Ok(()),
            _ => Err(OsError::last("epoll_ctl", fd.to_string())),
        }
    }

    /// Watches `fd` for bytes to read.
    ///
    /// # Errors
    /// No memory, or the descriptor cannot be watched.
    pub fn add(&self, fd: &impl AsRawFd, token: u64) -> OsResult<()> {
        self.control(libc::EPOLL_CTL_ADD, fd.as_raw_fd(), token)
    }

    /// Watches only for the other end of `fd` to go away.
    ///
    /// # Errors
    /// As [`Epoll::add`].
    pub fn add_hangup(&self, fd: &impl AsRawFd, token: u64) -> OsResult<()> {
        self.control_for(libc::EPOLL_CTL_ADD, fd.as_raw_fd(), token, libc::EPOLLRDHUP)
    }

    /// Stops watching `fd`. A descriptor that another process has open too must be removed before it is closed here.
    ///
    /// # Errors
    /// It is not watched.
    pub fn remove(&self, fd: &impl AsRawFd) -> OsResult<()> {
        self.control(libc::EPOLL_CTL_DEL, fd.as_raw_fd(), 0)
    }

    /// Waits until there is an event, a signal arrives or the time is up. `found` gets the numbers of the descriptors
    /// that can be read or have ended, which reading distinguishes; it is cleared first.
    ///
    /// # Errors
    /// The set is broken.
    pub fn wait(&self, found: &mut Vec<u64>, timeout: Option<Duration>) -> OsResult<()> {
        const AT_ONCE: usize = 64;
        found.clear();
        let mut raw = [libc::epoll_event { events: 0, u64: 0 }; AT_ONCE];
        let ms = timeout.map_or(-1, |t| i32::try_from(t.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX));
        // SAFETY: room for as many events as the call is told.
        let n = unsafe { libc::epoll_wait(self.fd.as_raw_fd(), raw.as_mut_ptr(), AT_ONCE as i32, ms) };
        let Ok(n) = usize::try_from(n) else {
            let error = OsError::last("epoll_wait", "");
            return if error.is_interrupted() { Ok(()) } else { Err(error) };
        };
        found.extend(raw[..n].iter().map(|event| event.u64));
        Ok(())
    }
}

impl AsRawFd for Epoll {
    /// Readable while [`Epoll::wait`] would find an event.
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn what_happens_is_told_by_its_number() {
        let set = Epoll::new().unwrap();
        let (mut a, b) = UnixStream::pair().unwrap();
        let (c, d) = UnixStream::pair().unwrap();
        set.add(&b, 7).unwrap();
        set.add(&d, 8).unwrap();
        let mut found = Vec::new();
        set.wait(&mut found, Some(Duration::ZERO)).unwrap();
        assert_eq!(found, []);
        a.write_all(b"x").unwrap();
        set.wait(&mut found, None).unwrap();
        assert_eq!(found, [7]);
        set.remove(&b).unwrap();
        drop(c);
        set.wait(&mut found, None).unwrap();
        assert_eq!(found, [8]);
        set.remove(&d).unwrap();
        set.add_hangup(&b, 9).unwrap();
        set.wait(&mut found, Some(Duration::ZERO)).unwrap();
        assert_eq!(found, [], "bytes to read are no end");
        drop(a);
        let mut polled = [crate::socket::Poll::read(&set)];
        assert_eq!(crate::socket::poll(&mut polled, None).unwrap(), 1);
        set.wait(&mut found, None).unwrap();
        assert_eq!(found, [9]);
        set.remove(&b).unwrap();
        assert!(set.remove(&b).is_err());
    }
}
