//! Local sockets, event descriptors and waiting on several descriptors at once.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

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
pub fn receive_now(stream: &impl AsRawFd, buffer: &mut [u8]) -> std::io::Result<usize> {
    // SAFETY: a valid descriptor, and a buffer that is writable for its length.
    let n = unsafe { libc::recv(stream.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), libc::MSG_DONTWAIT) };
    usize::try_from(n).map_err(|_| std::io::Error::last_os_error())
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
    pub fn receive(&mut self, stream: &impl AsRawFd, buffer: &mut [u8]) -> Option<std::io::Result<usize>> {
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
    // SAFETY: a number; the old mask is restored below. Between the two calls the mask keeps other users from
    // connecting.
    let old = unsafe { libc::umask(0o777 & !mode) };
    let bound = UnixListener::bind(path);
    // SAFETY: as above.
    unsafe { libc::umask(old) };
    let listener = bound.map_err(|e| error("bind", e))?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).map_err(|e| error("chmod", e))?;
    Ok(listener)
}

/// The user and process at the other end of a local socket, as the kernel recorded them when it was connected.
///
/// # Errors
/// Not a local socket.
pub fn peer(stream: &UnixStream) -> OsResult<(u32, i32)> {
    let mut who = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: `who` and `len` are valid to write to and agree in size.
    let rc = unsafe {
        libc::getsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut who).cast(), &raw mut len)
    };
    if rc != 0 {
        return Err(OsError::last("getsockopt", "SO_PEERCRED"));
    }
    Ok((who.uid, who.pid))
}

/// Probes at intervals whether the other end of a network connection still exists, so that a connection ends when its
/// machine is gone.
///
/// # Errors
/// Not a network connection.
pub fn keep_alive(stream: &impl AsRawFd) -> OsResult<()> {
    let on: libc::c_int = 1;
    let len = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: a number valid to read, of the stated size.
    let rc = unsafe {
        libc::setsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_KEEPALIVE, (&raw const on).cast(), len)
    };
    if rc != 0 {
        return Err(OsError::last("setsockopt", "SO_KEEPALIVE"));
    }
    Ok(())
}

/// Reads the next bytes of a socket without removing them and without waiting. 0 bytes mean its end.
///
/// # Errors
/// As for reading; [`std::io::ErrorKind::WouldBlock`] while nothing has arrived.
pub fn peek(socket: &impl AsRawFd, buffer: &mut [u8]) -> std::io::Result<usize> {
    let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
    // SAFETY: the buffer is valid to write to for its length.
    let n = unsafe { libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), flags) };
    usize::try_from(n).map_err(|_| std::io::Error::last_os_error())
}

/// A connected pair of local sockets that preserve message boundaries.
/// # Errors
/// No descriptors are available.
pub fn message_pair() -> OsResult<(OwnedFd, OwnedFd)> {
    let mut raw = [0; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: two numbers valid to write to.
    if unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, raw.as_mut_ptr()) } != 0 {
        return Err(OsError::last("socketpair", ""));
    }
    // SAFETY: both descriptors are new and ours alone.
    Ok(unsafe { (OwnedFd::from_raw_fd(raw[0]), OwnedFd::from_raw_fd(raw[1])) })
}

/// The most descriptors that one message carries.
const PASSED_MAX: usize = 4;

/// Room for the control message with the descriptors, aligned as its header requires.
#[repr(C, align(8))]
struct Control([u8; 64]);

/// Sends a message with descriptors; waits for room.
///
/// # Errors
/// The other end is gone, or more than four descriptors are passed.
pub fn send_with(socket: &impl AsRawFd, bytes: &[u8], passed: &[RawFd]) -> OsResult<()> {
    if passed.len() > PASSED_MAX {
        return Err(OsError::from_errno("sendmsg", format!("{} descriptors", passed.len()), libc::EINVAL));
    }
    let mut control = Control([0; 64]);
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: an all-zero header is valid and names no memory.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    if !passed.is_empty() {
        let len = size_of_val(passed) as libc::c_uint;
        message.msg_control = (&raw mut control).cast();
        // SAFETY: arithmetic only.
        message.msg_controllen = unsafe { libc::CMSG_SPACE(len) } as _;
        // SAFETY: the control buffer is aligned, and longer than CMSG_SPACE of four descriptors (32 bytes).
        unsafe {
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(len) as _;
            std::ptr::copy_nonoverlapping(passed.as_ptr().cast::<u8>(), libc::CMSG_DATA(header), len as usize);
        }
    }
    loop {
        // SAFETY: the header names memory that is valid and outlives the call; MSG_NOSIGNAL turns a missing reader into
        // an error.
        if unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) } >= 0 {
            return Ok(());
        }
        let error = OsError::last("sendmsg", "");
        if !error.is_interrupted() {
            return Err(error);
        }
    }
}

/// The next message with its descriptors, without waiting; `None` when there is none. Bytes beyond `buffer` are lost.
#[must_use]
pub fn receive_with(socket: &impl AsRawFd, buffer: &mut [u8]) -> Option<(usize, Vec<OwnedFd>)> {
    let mut control = Control([0; 64]);
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: an all-zero header is valid and names no memory.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut control).cast();
    message.msg_controllen = size_of::<Control>() as _;
    let flags = libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
    // SAFETY: the header names memory that is valid to write to and outlives the call.
    let n = usize::try_from(unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) }).ok()?;
    let mut passed = Vec::new();
    // SAFETY: the kernel has filled the control buffer and its length; each header it wrote lies within.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_RIGHTS {
                let bytes = (*header).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
                let data = libc::CMSG_DATA(header).cast::<RawFd>();
                for at in 0..bytes / size_of::<RawFd>() {
                    passed.push(OwnedFd::from_raw_fd(data.add(at).read_unaligned()));
                }
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
    }
    (n > 0).then_some((n, passed))
}

/// Sets how many connections may wait to be accepted.
///
/// # Errors
/// Not a listening socket.
pub fn set_backlog(listener: &impl AsRawFd, connections: i32) -> OsResult<()> {
    // SAFETY: two numbers; listening again only changes the length of the queue.
    match unsafe { libc::listen(listener.as_raw_fd(), connections) } {
        0 => Ok(()),
        _ => Err(OsError::last("listen", connections.to_string())),
    }
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
        // SAFETY: two numbers; no memory is passed.
        let raw = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
        if raw < 0 {
            return Err(OsError::last("eventfd", ""));
        }
        // SAFETY: the descriptor is new and ours alone.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(raw) } })
    }

    /// Adds one.
    pub fn signal(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: eight valid bytes. A full counter refuses, and is readable anyway.
        unsafe { libc::write(self.fd.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    /// Takes the count, leaving zero.
    #[must_use]
    pub fn take(&self) -> u64 {
        let mut count = [0; 8];
        // SAFETY: eight bytes valid to write to.
        let got = unsafe { libc::read(self.fd.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
        if got == 8 { u64::from_ne_bytes(count) } else { 0 }
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
        send_with(&a, b"one", &[event.as_raw_fd(), event.as_raw_fd()]).unwrap();
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
        assert!(send_with(&a, b"", &[0; 5]).is_err(), "five are refused");
        drop(b);
        assert!(send_with(&a, b"x", &[]).is_err());
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
