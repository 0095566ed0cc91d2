//! Waiting on very many descriptors: `epoll`, whose cost grows with the number of events, not of descriptors.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

use rustix::event::epoll::{self, Event, EventData, EventFlags};

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
        let fd = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|e| OsError::of("epoll_create1", "", e))?;
        Ok(Self { fd })
    }

    fn watch(&self, fd: BorrowedFd<'_>, token: u64, events: EventFlags) -> OsResult<()> {
        epoll::add(&self.fd, fd, EventData::new_u64(token), events)
            .map_err(|e| OsError::of("epoll_ctl", fd.as_raw_fd().to_string(), e))
    }

    /// Watches `fd` for bytes to read.
    ///
    /// # Errors
    /// No memory, or the descriptor cannot be watched.
    pub fn add(&self, fd: &impl AsFd, token: u64) -> OsResult<()> {
        self.watch(fd.as_fd(), token, EventFlags::IN | EventFlags::RDHUP)
    }

    /// Watches only for the other end of `fd` to go away.
    ///
    /// # Errors
    /// As [`Epoll::add`].
    pub fn add_hangup(&self, fd: &impl AsFd, token: u64) -> OsResult<()> {
        self.watch(fd.as_fd(), token, EventFlags::RDHUP)
    }

    /// Stops watching `fd`. A descriptor that another process has open too must be removed before it is closed here.
    ///
    /// # Errors
    /// It is not watched.
    pub fn remove(&self, fd: &impl AsFd) -> OsResult<()> {
        let fd = fd.as_fd();
        epoll::delete(&self.fd, fd).map_err(|e| OsError::of("epoll_ctl", fd.as_raw_fd().to_string(), e))
    }

    /// Waits until there is an event, a signal arrives or the time is up. `found` gets the numbers of the descriptors
    /// that can be read or have ended, which reading distinguishes; it is cleared first.
    ///
    /// # Errors
    /// The set is broken.
    pub fn wait(&self, found: &mut Vec<u64>, timeout: Option<Duration>) -> OsResult<()> {
        const AT_ONCE: usize = 64;
        found.clear();
        let mut room = [MaybeUninit::<Event>::uninit(); AT_ONCE];
        // Whole milliseconds: other times need a call that older kernels and some sandboxes do not have.
        let ms = |t: Duration| t.as_nanos().div_ceil(1_000_000).min(i32::MAX as u128) as u64;
        let timeout = timeout.map(|t| crate::clock::timespec_of(Duration::from_millis(ms(t))));
        match epoll::wait(&self.fd, &mut room, timeout.as_ref()) {
            Ok((events, _)) => found.extend(events.iter().map(|event| event.data.u64())),
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(OsError::of("epoll_wait", "", e)),
        }
        Ok(())
    }
}

impl AsFd for Epoll {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
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
