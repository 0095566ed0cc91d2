//! Sending to a client that may not read: the wait for room goes together with the signals that end a session.

use os::signal::SignalFd;
use os::socket::Poll;
use std::io::{ErrorKind, Write};
use std::os::fd::AsRawFd;

/// Sends all of `out` over a socket that does not block. Waits, as long as it takes, for the client to read.
///
/// False when that cannot be: the client has gone, or `gives_up`, which is asked behind each signal, says so.
pub fn send_all<S: Write + AsRawFd>(
    stream: &mut S,
    signals: &SignalFd,
    mut out: &[u8],
    gives_up: &mut dyn FnMut() -> bool,
) -> bool {
    loop {
        // What is encrypted may have been taken and wait for room still.
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
