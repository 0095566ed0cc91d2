//! Local sockets, event descriptors and waiting on several descriptors at once.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use rustix::event::EventfdFlags;
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer};
use rustix::net::{SendAncillaryMessage, SendFlags, SocketFlags, SocketType};

use crate::{OsError, OsResult};

/// A descriptor with the events to wait for, and the events that [`poll`] found.
#[derive(Clone, Copy, Debug)]
pub struct Poll {
    fd: RawFd,
    /// Wait until it can be read (or has ended); afterwards: it can.
    pub readable: bool,
    /// Wait until it can be written; afterwards: it can.
    pub writable: bool,
    /// Afterwards: the other end is gone, or the descriptor is bad.
    pub closed: bool,
}

impl Poll {
    /// Wait until `fd` can be read.
    #[must_use]
    pub fn read(fd: &impl AsRawFd) -> Self {
        Self { fd: fd.as_raw_fd(), readable: true, writable: false, closed: false }
    }

    /// Wait until `fd` can be written.
    #[must_use]
    pub fn write(fd: &impl AsRawFd) -> Self {
        Self { fd: fd.as_raw_fd(), readable: false, writable: true, closed: false }
    }

    /// Wait only for the other end of `fd` to go away.
    #[must_use]
    pub fn hangup(fd: &impl AsRawFd) -> Self {
        Self { fd: fd.as_raw_fd(), readable: false, writable: false, closed: false }
    }

    /// True when any event was found.
    #[must_use]
    pub fn ready(&self) -> bool {
        self.readable || self.writable || self.closed
    }
}

/// The most descriptors that are waited for without heap memory.
const FEW: usize = 4;

/// Waits until one of the descriptors is ready, a signal arrives or the time is up; returns how many are ready.
///
/// # Errors
/// Too many descriptors.
pub fn poll(set: &mut [Poll], timeout: Option<Duration>) -> OsResult<usize> {
    let raw_of = |p: &Poll| libc::pollfd {
        fd: p.fd,
        events: if p.readable { libc::POLLIN } else { 0 }
            | if p.writable { libc::POLLOUT } else { 0 }
            | libc::POLLRDHUP,
        revents: 0,
    };
    let (mut few, mut many);
    let raw = if set.len() <= FEW {
        few = [libc::pollfd { fd: -1, events: 0, revents: 0 }; FEW];
        few.iter_mut().zip(set.iter()).for_each(|(raw, p)| *raw = raw_of(p));
        &mut few[..set.len()]
    } else {
        many = set.iter().map(raw_of).collect::<Vec<_>>();
        &mut many[..]
    };
    let ms = timeout.map_or(-1, |t| i32::try_from(t.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX));
    // SAFETY: `raw` is valid for its length and outlives the call.
    let rc = unsafe { libc::poll(raw.as_mut_ptr(), raw.len() as libc::nfds_t, ms) };
    if rc < 0 {
        let error = OsError::last("poll", "");
        if !error.is_interrupted() {
            return Err(error);
        }
    }
    let mut ready = 0;
    for (p, r) in set.iter_mut().zip(raw) {
        let found = if rc < 0 { 0 } else { r.revents };
        p.readable = found & libc::POLLIN != 0;
        p.writable = found & libc::POLLOUT != 0;
        p.closed = found & (libc::POLLHUP | libc::POLLRDHUP | libc::POLLERR | libc::POLLNVAL) != 0;
        ready += usize::from(p.ready());
    }
    Ok(ready)
}

/// Reads the bytes that have arrived, without waiting. As [`std::io::Read::read`]; [`std::io::ErrorKind::WouldBlock`]
/// when there are none.
///
/// # Errors
/// Nothing has arrived, or the connection is broken.
pub fn receive_now(stream: &impl AsFd, buffer: &mut [u8]) -> std::io::Result<usize> {
    let (n, _) = rustix::net::recv(stream, buffer, RecvFlags::DONTWAIT)?;
    Ok(n)
}

/// The duration of polling in [`Attention`].
const LOOK_NS: u64 = 20_000;

/// The most calls in a row that skip polling after it failed repeatedly.
const IN_VAIN_MAX: u32 = 255;

/// Polls for an answer for a moment before its process sleeps.
///
/// Sleeping and waking costs several microseconds, far more where an idle processor stops: longer than many answers
/// take. So the process polls for some 20 µs, as long as that succeeds. Each failure doubles the number of calls that
/// skip polling. On a busy machine, where the other side has no free processor, polling soon becomes rare.
#[derive(Debug)]
pub struct Attention {
    /// Calls that will skip polling.
    skip: u32,
    /// Calls skipped after the last failure.
    in_vain: u32,
    /// With one processor the other side cannot answer during polling.
    alone: bool,
}

impl Default for Attention {
    fn default() -> Self {
        let alone = crate::cpu::allowed() < 2;
        Self { skip: 0, in_vain: 0, alone }
    }
}

impl Attention {
    /// Reads bytes that arrive within a moment, as [`receive_now`] does; `None` when the caller should sleep.
    pub fn receive(&mut self, stream: &impl AsFd, buffer: &mut [u8]) -> Option<std::io::Result<usize>> {
        if self.alone || self.skip > 0 {
            self.skip = self.skip.saturating_sub(1);
            return None;
        }
        let until = crate::clock::now_ns() + LOOK_NS;
        loop {
            match receive_now(stream, buffer) {
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
                came => {
                    self.in_vain = 0;
                    return Some(came);
                }
            }
            if crate::clock::now_ns() >= until {
                self.in_vain = (self.in_vain * 2 + 1).min(IN_VAIN_MAX);
                self.skip = self.in_vain;
                return None;
            }
        }
    }
}

/// Listens on a local socket at `path` with the given file mode (0o600: the owner only). An old socket file is
/// replaced.
///
/// # Errors
/// The directory is missing, the path is too long (107 bytes), or may not be written.
pub fn listen(path: &Path, mode: u32) -> OsResult<UnixListener> {
    use std::os::unix::fs::FileTypeExt;
    let error = |call, e| OsError::from_io(call, path.display().to_string(), e);
    if std::fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_socket()) {
        std::fs::remove_file(path).map_err(|e| error("unlink", e))?;
    }
    // Between the two calls the mask keeps other users from connecting.
    let old = rustix::process::umask(Mode::from_raw_mode(0o777 & !mode));
    let bound = UnixListener::bind(path);
    rustix::process::umask(old);
    let listener = bound.map_err(|e| error("bind", e))?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).map_err(|e| error("chmod", e))?;
    Ok(listener)
}

/// The user and process at the other end of a local socket, as the kernel recorded them when it was connected.
///
/// # Errors
/// Not a local socket.
pub fn peer(stream: &UnixStream) -> OsResult<(u32, i32)> {
    let of = rustix::net::sockopt::socket_peercred(stream).map_err(|e| OsError::of("getsockopt", "SO_PEERCRED", e))?;
    Ok((of.uid.as_raw(), of.pid.as_raw_pid()))
}

/// Probes at intervals whether the other end of a network connection still exists, so that a connection ends when its
/// machine is gone.
///
/// # Errors
/// Not a network connection.
pub fn keep_alive(stream: &impl AsFd) -> OsResult<()> {
    rustix::net::sockopt::set_socket_keepalive(stream, true).map_err(|e| OsError::of("setsockopt", "SO_KEEPALIVE", e))
}

/// Reads the next bytes of a socket without removing them and without waiting. 0 bytes mean its end.
///
/// # Errors
/// As for reading; [`std::io::ErrorKind::WouldBlock`] while nothing has arrived.
pub fn peek(socket: &impl AsFd, buffer: &mut [u8]) -> std::io::Result<usize> {
    let (n, _) = rustix::net::recv(socket, buffer, RecvFlags::PEEK | RecvFlags::DONTWAIT)?;
    Ok(n)
}

/// A connected pair of local sockets that preserve message boundaries.
/// # Errors
/// No descriptors are available.
pub fn message_pair() -> OsResult<(OwnedFd, OwnedFd)> {
    rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
        .map_err(|e| OsError::of("socketpair", "", e))
}

/// The most descriptors that one message carries.
const PASSED_MAX: usize = 4;

/// Bytes of a control message with as many descriptors as one message carries.
const CONTROL_BYTES: usize = rustix::cmsg_space!(ScmRights(PASSED_MAX));

/// Sends a message with descriptors; waits for room.
///
/// # Errors
/// The other end is gone, or more than four descriptors are passed.
pub fn send_with(socket: &impl AsFd, bytes: &[u8], passed: &[BorrowedFd<'_>]) -> OsResult<()> {
    let mut room = [MaybeUninit::uninit(); CONTROL_BYTES];
    let mut control = SendAncillaryBuffer::new(&mut room);
    let has_room = passed.len() <= PASSED_MAX;
    let fits = passed.is_empty() || has_room && control.push(SendAncillaryMessage::ScmRights(passed));
    if !fits {
        return Err(OsError::of("sendmsg", format!("{} descriptors", passed.len()), Errno::INVAL));
    }
    // NOSIGNAL turns a missing reader into an error.
    let send = || rustix::net::sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL);
    rustix::io::retry_on_intr(send).map(drop).map_err(|e| OsError::of("sendmsg", "", e))
}

/// The next message with its descriptors, without waiting; `None` when there is none. Bytes beyond `buffer` are lost.
#[must_use]
pub fn receive_with(socket: &impl AsFd, buffer: &mut [u8]) -> Option<(usize, Vec<OwnedFd>)> {
    let mut room = [MaybeUninit::uninit(); CONTROL_BYTES];
    let mut control = RecvAncillaryBuffer::new(&mut room);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let message = rustix::net::recvmsg(socket, &mut [IoSliceMut::new(buffer)], &mut control, flags).ok()?;
    let mut passed = Vec::new();
    for part in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = part {
            passed.extend(descriptors);
        }
    }
    (message.bytes > 0).then_some((message.bytes, passed))
}

/// Sets how many connections may wait to be accepted.
///
/// # Errors
/// Not a listening socket.
pub fn set_backlog(listener: &impl AsFd, connections: i32) -> OsResult<()> {
    // Listening again only changes the length of the queue.
    rustix::net::listen(listener, connections).map_err(|e| OsError::of("listen", connections.to_string(), e))
}

/// A counter that makes its descriptor readable while it is not zero; inherited by forked children.
#[derive(Debug)]
pub struct EventFd {
    fd: OwnedFd,
}

impl EventFd {
    /// A new counter at zero.
    ///
    /// # Errors
    /// No descriptor is available.
    pub fn new() -> OsResult<Self> {
        let fd = rustix::event::eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC);
        Ok(Self { fd: fd.map_err(|e| OsError::of("eventfd", "", e))? })
    }

    /// Adds one.
    pub fn signal(&self) {
        // A full counter refuses, and is readable anyway.
        let _ = rustix::io::write(&self.fd, &1u64.to_ne_bytes());
    }

    /// Takes the count, leaving zero.
    #[must_use]
    pub fn take(&self) -> u64 {
        let mut count = [0; 8];
        if rustix::io::read(&self.fd, &mut count) == Ok(8) { u64::from_ne_bytes(count) } else { 0 }
    }
}

impl AsFd for EventFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl AsRawFd for EventFd {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_listener_has_its_mode_and_poll_sees_a_connection() {
        let path = std::env::temp_dir().join(format!("lw-os-sock-{}", std::process::id()));
        let listener = listen(&path, 0o600).unwrap();
        let listener_again = {
            drop(listener);
            listen(&path, 0o600).unwrap()
        };
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let mut set = [Poll::read(&listener_again)];
        assert_eq!(poll(&mut set, Some(Duration::from_millis(1))).unwrap(), 0);
        let mut client = UnixStream::connect(&path).unwrap();
        let mut set = [Poll::read(&listener_again)];
        assert_eq!(poll(&mut set, Some(Duration::from_secs(5))).unwrap(), 1);
        let (server, _) = listener_again.accept().unwrap();
        assert_eq!(peer(&server).unwrap().1, crate::process::own_id());
        client.write_all(b"x").unwrap();
        drop(client);
        let mut set = [Poll::hangup(&server)];
        assert_eq!(poll(&mut set, Some(Duration::from_secs(5))).unwrap(), 1);
        assert!(set[0].closed);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_message_carries_descriptors() {
        let (a, b) = message_pair().unwrap();
        assert!(receive_with(&b, &mut [0; 8]).is_none());
        let event = EventFd::new().unwrap();
        send_with(&a, b"one", &[event.as_fd(), event.as_fd()]).unwrap();
        send_with(&a, b"two", &[]).unwrap();
        drop(event);
        let mut buffer = [0; 8];
        let (n, passed) = receive_with(&b, &mut buffer).unwrap();
        assert_eq!((&buffer[..n], passed.len()), (&b"one"[..], 2));
        let copy = EventFd { fd: passed.into_iter().next().unwrap() };
        copy.signal();
        assert_eq!(copy.take(), 1);
        let (n, passed) = receive_with(&b, &mut buffer).unwrap();
        assert_eq!((&buffer[..n], passed.len()), (&b"two"[..], 0));
        assert!(send_with(&a, b"", &[b.as_fd(); 5]).is_err(), "five are refused");
        drop(b);
        // A child that another test has just forked may have a copy of `b`.
        let is_refused = |n| {
            crate::clock::sleep(Duration::from_millis(n));
            send_with(&a, b"x", &[]).is_err()
        };
        assert!((0..100).any(is_refused));
    }

    #[test]
    fn an_event_counts() {
        let e = EventFd::new().unwrap();
        assert_eq!(e.take(), 0);
        e.signal();
        e.signal();
        assert_eq!(e.take(), 2);
    }
}
