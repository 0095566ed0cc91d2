//! Sending to a client that may not read: the wait for room also ends with the signals that end a session. And the form
//! of an error on the local socket.

use net::local::Failure;
use os::signal::SignalFd;
use os::socket::Poll;
use std::io::{ErrorKind, Write};
use std::os::fd::AsRawFd;
use types::Ora;

/// Sends all of `out` over a non-blocking socket. Waits without limit for the client to read.
///
/// False when that is impossible: the client is gone, or `gives_up`, called after each signal, returns true.
pub fn send_all<S: Write + AsRawFd>(
    stream: &mut S,
    signals: &SignalFd,
    mut out: &[u8],
    gives_up: &mut dyn FnMut() -> bool,
) -> bool {
    loop {
        // Encrypted bytes may have been accepted and still wait for room.
        let sent = if out.is_empty() { stream.flush().map(|()| 0) } else { stream.write(out) };
        match sent {
            Ok(_) if out.is_empty() => return true,
            Ok(n) => out = &out[n..],
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                let mut set = [Poll::write(stream), Poll::read(signals)];
                if os::socket::poll(&mut set, None).is_err() {
                    return false;
                }
                if set[1].ready() && signals.next().is_some() && gives_up() {
                    return false;
                }
            }
            Err(_) => return false,
        }
    }
}

/// An error in the form of the packet.
pub fn failure(e: &Ora, fatal: bool) -> Failure {
    Failure {
        facility: e.facility().prefix().to_string(),
        code: e.code(),
        text: e.to_string(),
        position: e.position(),
        fatal,
        ..Failure::default()
    }
}
