//! Server processes that wait for a client.
//!
//! The supervisor forks them ahead and hands each a connection: a local one that it has accepted, or one of the network
//! whose client has proved its password to the listener process. A server process whose session has ended in good order
//! waits for the next client, with its memory mapped and warm, instead of ending. It has no process slot meanwhile, and
//! nothing of the session before: all of that was the session's.
//!
//! | message | from, to | what comes with it |
//! |---|---|---|
//! | `P`, a proof | the listener process, the supervisor | the client's socket |
//! | `L`, when it was accepted, where the instance listens | the supervisor, a spare process | the client's socket |
//! | `N` or `F` (there is no room), a proof | the supervisor, a spare process | the client's socket |
//! | `W`, its number | a server process, the supervisor | the socket for its next client |
//!
//! A spare process that dies takes what was handed to it along, so the client sees the end of its connection. A spare
//! process ends when the supervisor closes its socket.

use crate::alert::AlertLog;
use crate::children;
use crate::listener::{self, Proved, Watch};
use crate::serve::{self, Arrival};
use os::signal::{self, SignalFd};
use os::socket::{self, Poll};
use session::Instance;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use types::{Ora, Result};
use zeroize::Zeroize;

/// The longest message.
pub const MESSAGE_MAX: usize = 96 << 10;

/// Bytes of its own memory with which a process waits for another client, at most.
const MEMORY_MAX: u64 = 8 << 20;

/// By which processes tell the supervisor what it is to know.
pub struct Desk {
    says: OwnedFd,
    /// The supervisor's own.
    hears: Option<OwnedFd>,
}

/// Messages to the supervisor.
pub enum News {
    /// A client has proved its password: the message for the process that goes on with it, and its socket.
    Proved(OwnedFd),
    /// That process waits for a client, who is to be handed over by this socket.
    Waits(i32, OwnedFd),
}

impl Desk {
    /// A desk at which nobody has been yet.
    ///
    /// # Errors
    /// No descriptors to be had.
    pub fn new() -> os::OsResult<Desk> {
        let (says, hears) = socket::message_pair()?;
        Ok(Desk { says, hears: Some(hears) })
    }

    /// Leaves the hearing to the supervisor.
    pub fn leave(&mut self) {
        self.hears = None;
    }

    /// Passes on a client that has proved its password; false when that cannot be.
    pub fn pass_on(&self, proved: &Proved) -> bool {
        let Some((mut message, socket)) = proved.to_message() else { return false };
        message.insert(0, b'P');
        message.len() <= MESSAGE_MAX && socket::send_with(&self.says, &message, &[socket]).is_ok()
    }

    /// Says that the calling process waits for a client; gives the socket on which that comes.
    fn wait(&self) -> os::OsResult<OwnedFd> {
        let (gives, gets) = socket::message_pair()?;
        let mut message = vec![b'W'];
        message.extend_from_slice(&os::process::own_id().to_ne_bytes());
        socket::send_with(&self.says, &message, &[gives.as_raw_fd()])?;
        Ok(gets)
    }

    /// The next that has come; a proof stays in `message`.
    pub fn hear(&self, message: &mut Vec<u8>) -> Option<News> {
        loop {
            message.resize(MESSAGE_MAX, 0);
            let (n, passed) = socket::receive_with(self.hears.as_ref()?, message)?;
            message.truncate(n);
            let Ok([passed]) = <[OwnedFd; 1]>::try_from(passed) else { continue };
            match message.split_first() {
                Some((b'P', _)) => return Some(News::Proved(passed)),
                Some((b'W', pid)) => {
                    if let Ok(pid) = pid.try_into() {
                        return Some(News::Waits(i32::from_ne_bytes(pid), passed));
                    }
                }
                _ => {}
            }
        }
    }
}

impl AsRawFd for Desk {
    /// Of the hearing.
    fn as_raw_fd(&self) -> RawFd {
        self.hears.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }
}

/// Makes what was heard of a proof the message to a spare process.
pub fn proof_for_spare(message: &mut [u8], has_room: bool) {
    if let Some(kind) = message.first_mut() {
        *kind = if has_room { b'N' } else { b'F' };
    }
}

/// The message about a local connection.
pub fn local_for_spare(accepted_ns: u64, listens: &[String]) -> Vec<u8> {
    let mut message = vec![b'L'];
    message.extend_from_slice(&accepted_ns.to_ne_bytes());
    message.extend_from_slice(listens.join("\n").as_bytes());
    message
}

/// A client that was handed over.
enum Client {
    Local(Arrival),
    Network { proved: Box<Proved>, has_room: bool },
}

fn read(message: &[u8], socket: OwnedFd) -> Option<Client> {
    let (kind, rest) = message.split_first()?;
    match kind {
        b'L' => {
            let (accepted, listens) = rest.split_first_chunk::<8>()?;
            let listens = std::str::from_utf8(listens).ok()?.lines().map(str::to_string).collect();
            let (stream, accepted_ns) = (UnixStream::from(socket), u64::from_ne_bytes(*accepted));
            Some(Client::Local(Arrival { stream, accepted_ns, listens }))
        }
        b'N' | b'F' => {
            let proved = Box::new(Proved::from_message(rest, socket).ok()?);
            Some(Client::Network { proved, has_room: *kind == b'N' })
        }
        _ => None,
    }
}

/// Serves one client after the other, `_process_pool_max_sessions` at most: what the process may have lost of its
/// memory goes with it. `gets` is where the first one comes.
///
/// # Errors
/// No descriptor to be had.
pub fn run(
    instance: &'static Instance,
    mut gets: OwnedFd,
    desk: &Desk,
    alert: &AlertLog,
    wake_supervisor: &dyn Fn(),
) -> Result<()> {
    let has_listener = !instance.params().get(params::Param::LocalListener).trim().is_empty();
    let mut watch = if has_listener { Watch::new(instance).ok() } else { None };
    let signals = SignalFd::new(&[signal::SIGTERM]).map_err(Ora::internal)?;
    let mut message = vec![0; MESSAGE_MAX];
    let most = instance.params().number(params::Param::ProcessPoolMaxSessions).max(1);
    for session in 1..=most {
        let Some((len, socket)) = hear(&gets, &signals, instance, &mut message) else { return Ok(()) };
        os::crash::point("server-handed-over");
        let forked_ns = os::clock::now_ns();
        let client = read(&message[..len], socket);
        // The key of a conversation is nobody else's.
        message[..len].zeroize();
        os::process::set_name(children::SERVER_NAME);
        let in_order = match client {
            None => return Ok(()),
            Some(Client::Local(arrival)) => serve::serve(instance, arrival, forked_ns, alert, wake_supervisor)?,
            Some(Client::Network { proved, has_room }) => {
                listener::serve(instance, proved, has_room, &mut watch, forked_ns, alert)?
            }
        };
        os::crash::point("server-session-ended");
        // A slot that is still this process's is PMON's to clean up.
        let is_clean =
            in_order && !instance.is_closing() && instance.processes().by_os_pid(os::process::own_id()).is_none();
        let memory = os::proc::private_bytes_of(os::process::own_id());
        // Who has said that it waits is given a client.
        if session == most || !is_clean || memory.is_none_or(|bytes| bytes > MEMORY_MAX) {
            return Ok(());
        }
        os::process::set_name(children::SPARE_NAME);
        let Ok(next) = desk.wait() else { return Ok(()) };
        gets = next;
    }
    Ok(())
}

/// Waits for a client; `None` when the process is to end.
fn hear(gets: &OwnedFd, signals: &SignalFd, instance: &Instance, message: &mut [u8]) -> Option<(usize, OwnedFd)> {
    loop {
        let mut set = [Poll::read(gets), Poll::read(signals)];
        socket::poll(&mut set, None).ok()?;
        // A signal may have been meant for the session before.
        if set[1].ready() && signals.next().is_some() && instance.is_closing() {
            return None;
        }
        if set[0].readable
            && let Some((len, passed)) = socket::receive_with(gets, message)
        {
            return passed.into_iter().next().map(|socket| (len, socket));
        }
        if set[0].closed {
            return None;
        }
    }
}

/// How many spare processes are kept: at least the smaller number, and of what is beyond it only what was needed
/// within the last second, up to the larger number.
pub struct Pool {
    pub min: usize,
    pub max: usize,
    /// The fewest that waited since the second began.
    low: usize,
    until: std::time::Instant,
}

/// How often it is looked whether fewer spare processes do.
const LOOK_EVERY: std::time::Duration = std::time::Duration::from_secs(1);

impl Pool {
    pub fn new(min: usize, max: usize) -> Pool {
        Pool { min: min.min(max), max, low: 0, until: std::time::Instant::now() }
    }

    /// Notes that so many wait.
    pub fn note(&mut self, waiting: usize) {
        self.low = self.low.min(waiting);
    }

    /// How many of those that wait may end now: half of those that nobody needed for a second.
    pub fn surplus(&mut self, waiting: usize, now: std::time::Instant) -> usize {
        if now < self.until {
            return 0;
        }
        self.until = now + LOOK_EVERY;
        let low = std::mem::replace(&mut self.low, waiting);
        low.min(waiting).saturating_sub(self.min).div_ceil(2)
    }

    /// When to look next; `None` while no more wait than are kept anyway.
    pub fn look_at(&self, waiting: usize) -> Option<std::time::Instant> {
        (waiting > self.min).then_some(self.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn what_nobody_needs_for_a_second_ends() {
        let began = Instant::now() + Duration::from_secs(10);
        let at = |s| began + Duration::from_secs(s);
        let mut pool = Pool::new(2, 32);
        assert_eq!(pool.look_at(2), None);
        assert_eq!(pool.surplus(20, at(0)), 0, "the second begins");
        pool.note(12);
        pool.note(18);
        assert_eq!(pool.surplus(20, began), 0, "it has not ended");
        assert_eq!(pool.look_at(20), Some(at(1)));
        assert_eq!(pool.surplus(20, at(1)), 5, "ten were never needed, two of them are kept");
        assert_eq!(pool.surplus(15, at(2)), 7);
        assert_eq!(pool.surplus(3, at(3)), 1);
        assert_eq!(pool.surplus(2, at(4)), 0);
        let mut none = Pool::new(4, 0);
        assert_eq!((none.min, none.surplus(0, at(5))), (0, 0));
    }

    #[test]
    fn a_local_connection_is_handed_over_whole() {
        let (client, server) = UnixStream::pair().unwrap();
        let message = local_for_spare(7, &["(ADDRESS=a)".into(), "b".into()]);
        let Some(Client::Local(arrival)) = read(&message, server.into()) else { panic!("it is none") };
        assert_eq!((arrival.accepted_ns, arrival.listens), (7, vec!["(ADDRESS=a)".to_string(), "b".into()]));
        drop(arrival.stream);
        for bad in [&b""[..], b"L", b"L1234567", b"N", b"X"] {
            assert!(read(bad, client.try_clone().unwrap().into()).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn the_desk_hears_who_waits_and_what_was_proved() {
        let desk = Desk::new().unwrap();
        let mut message = Vec::new();
        assert!(desk.hear(&mut message).is_none());
        let gets = desk.wait().unwrap();
        socket::send_with(&desk.says, b"what is none", &[]).unwrap();
        socket::send_with(&desk.says, b"Pproof", &[gets.as_raw_fd()]).unwrap();
        assert!(matches!(desk.hear(&mut message), Some(News::Waits(pid, _)) if pid == os::process::own_id()));
        assert!(matches!(desk.hear(&mut message), Some(News::Proved(_))));
        proof_for_spare(&mut message, true);
        assert_eq!(message, b"Nproof");
        assert!(desk.hear(&mut message).is_none());
    }
}
