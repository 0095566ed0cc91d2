//! Server processes that wait for a client (invariant 17).
//!
//! The supervisor forks them ahead and hands each a connection: a local one that it has accepted, or one of the network
//! whose client has proved its password to the listener process. A server process whose session has ended in good order
//! waits for the next client, with its memory mapped and warm, instead of ending. Meanwhile it has no process slot, and
//! no data of the previous session.
//!
//! | message | from, to | sent with it |
//! |---|---|---|
//! | `P`, a proof | the listener process, the supervisor | the client's socket |
//! | `L`, time of acceptance, listening addresses | the supervisor, a spare process | the client's socket |
//! | `N` or `F` (there is no room), a proof | the supervisor, a spare process | the client's socket |
//! | `W`, its number | a server process, the supervisor | the socket for its next client |
//! | `Q`, a head, a proof | the listener process, the supervisor | the socket of a pool client |
//! | `D`, the number of a class, a proof | the supervisor, a spare process or a pooled server | the client's socket |
//! | `T`, the same | the supervisor, a spare process | the socket of a client that has waited for too long |
//! | `C`, the same | the supervisor, a spare process | the socket of a client beyond the limit |
//! | `R`, its number, its state | a pooled server, the supervisor | the sockets of its next and of its last client |
//!
//! A process that has served a client of the connection pool is a pooled server from then on, and may keep the session
//! for the next client.
//!
//! When a spare process dies, the connection handed to it is closed, so the client sees the end of it. A spare process
//! ends when the supervisor closes its socket.

use crate::alert::AlertLog;
use crate::listener::{self, Head, Kept, Proved, Served, Watch};
use crate::serve::{self, Arrival};
use instance::Instance;
use os::signal::{self, SignalFd};
use os::socket::{self, Poll};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use types::{Ora, Result};
use zeroize::{Zeroize, Zeroizing};

/// The names in the process list of a server process with a client, and of one without.
pub const SERVER_NAME: &str = "lw_server";
pub const SPARE_NAME: &str = "lw_spare";

/// The longest message.
pub const MESSAGE_MAX: usize = 96 << 10;

/// Largest number of bytes of its own memory with which a process waits for another client.
const MEMORY_MAX: u64 = 8 << 20;

/// The socket on which processes send messages to the supervisor.
pub struct Inbox {
    says: OwnedFd,
    /// The supervisor's end.
    hears: Option<OwnedFd>,
}

/// Messages to the supervisor.
pub enum Report {
    /// A client has proved its password: the message for its server process, and its socket.
    Proved(OwnedFd),
    /// A process waits for a client, which is handed over on this socket.
    Waits(i32, OwnedFd),
    /// A client of the connection pool has proved its password.
    Pooled(PoolClient),
    /// A pooled server is free.
    Free(FreeServer),
}

/// A client of the connection pool without a server.
pub struct PoolClient {
    pub line: OwnedFd,
    pub head: Head,
    /// The proof for its next server process; empty for a client that will only close its connection.
    pub letter: Zeroizing<Vec<u8>>,
    /// The client has sent data already.
    pub has_said: bool,
}

/// A pooled server that waits for a client.
pub struct FreeServer {
    pub pid: i32,
    /// The socket for its next client; `None` when it serves no other.
    pub gives: Option<OwnedFd>,
    /// The key of its kept session.
    pub keeps: Option<Vec<u8>>,
    /// The client that it had, if that stays connected.
    pub parked: Option<PoolClient>,
}

/// A flag in a message: the client has sent data.
const HAS_SAID: u8 = 1;
const IS_SILENT: u8 = 0;

impl Inbox {
    /// An empty inbox.
    ///
    /// # Errors
    /// No descriptors available.
    pub fn new() -> os::OsResult<Inbox> {
        let (says, hears) = socket::message_pair()?;
        Ok(Inbox { says, hears: Some(hears) })
    }

    /// Drops the supervisor's end in other processes.
    pub fn leave(&mut self) {
        self.hears = None;
    }

    /// Passes on a client that has proved its password; false when that is impossible.
    pub fn pass_on(&self, proved: &Proved) -> bool {
        let Some((mut message, socket)) = proved.to_message() else { return false };
        match proved.head() {
            None => message.insert(0, b'P'),
            Some(head) => {
                let mut pooled = vec![b'Q', HAS_SAID];
                head.write(&mut pooled);
                message.splice(0..0, pooled);
            }
        }
        message.len() <= MESSAGE_MAX && socket::send_with(&self.says, &message, &[socket]).is_ok()
    }

    /// Reports that the calling process waits for a client; returns the socket on which that arrives.
    fn wait(&self) -> os::OsResult<OwnedFd> {
        let (gives, gets) = socket::message_pair()?;
        let mut message = vec![b'W'];
        message.extend_from_slice(&os::process::own_id().to_ne_bytes());
        socket::send_with(&self.says, &message, &[gives.as_fd()])?;
        Ok(gets)
    }

    /// Reports that the calling process, a pooled server, is free; returns the socket on which its next client arrives.
    /// A process that does not `stay` serves no other client. A client that cannot be reported loses its connection.
    fn free(&self, served: Served, stays: bool) -> os::OsResult<(OwnedFd, Option<Kept>)> {
        let (gives, gets) = socket::message_pair()?;
        let mut message = Zeroizing::new(vec![b'R']);
        message.extend_from_slice(&os::process::own_id().to_ne_bytes());
        message.push(stays.into());
        let key = served.kept.as_ref().map_or(&[][..], Kept::key);
        message.extend_from_slice(&(key.len() as u32).to_ne_bytes());
        message.extend_from_slice(key);
        let bare = message.len();
        let mut passed = vec![gives.as_fd()];
        if let Some(parked) = &served.parked {
            message.push(if parked.has_said { HAS_SAID } else { IS_SILENT });
            parked.head.write(&mut message);
            message.extend_from_slice(&parked.letter);
            passed.push(parked.socket.as_fd());
        }
        if message.len() > MESSAGE_MAX {
            message.truncate(bare);
            passed.truncate(1);
        }
        socket::send_with(&self.says, &message, &passed)?;
        Ok((gets, served.kept))
    }

    /// The next message; a proof stays in `message`.
    pub fn hear(&self, message: &mut Vec<u8>) -> Option<Report> {
        loop {
            message.resize(MESSAGE_MAX, 0);
            let (n, passed) = socket::receive_with(self.hears.as_ref()?, message)?;
            message.truncate(n);
            let mut passed = passed.into_iter();
            let (Some(passed), other) = (passed.next(), passed.next()) else { continue };
            match message.split_first() {
                Some((b'P', _)) => return Some(Report::Proved(passed)),
                Some((b'Q', rest)) => match read_client(rest, passed) {
                    Some(client) => return Some(Report::Pooled(client)),
                    None => continue,
                },
                Some((b'R', rest)) => match read_free(rest, passed, other) {
                    Some(free) => return Some(Report::Free(free)),
                    None => continue,
                },
                Some((b'W', pid)) => {
                    if let Ok(pid) = pid.try_into() {
                        return Some(Report::Waits(i32::from_ne_bytes(pid), passed));
                    }
                }
                _ => {}
            }
        }
    }
}

impl AsRawFd for Inbox {
    /// The supervisor's descriptor.
    fn as_raw_fd(&self) -> RawFd {
        self.hears.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }
}

/// A pool client, decoded from a message.
fn read_client(message: &[u8], line: OwnedFd) -> Option<PoolClient> {
    let (said, rest) = message.split_first()?;
    let (head, len) = Head::read(rest).ok()?;
    let letter = Zeroizing::new(rest.get(len..)?.to_vec());
    Some(PoolClient { line, head, letter, has_said: *said == HAS_SAID })
}

fn read_free(message: &[u8], gives: OwnedFd, line: Option<OwnedFd>) -> Option<FreeServer> {
    let (pid, rest) = message.split_first_chunk::<4>()?;
    let (stays, rest) = rest.split_first()?;
    let gives = (*stays != 0).then_some(gives);
    let (len, rest) = rest.split_first_chunk::<4>()?;
    let (key, rest) = rest.split_at_checked(u32::from_ne_bytes(*len) as usize)?;
    let parked = match line {
        Some(line) => Some(read_client(rest, line)?),
        None => None,
    };
    let keeps = (!key.is_empty()).then(|| key.to_vec());
    Some(FreeServer { pid: i32::from_ne_bytes(*pid), gives, keeps, parked })
}

/// The fate of a pool client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Fate {
    Served = b'D',
    /// The client is told that it has waited for too long.
    TooLate = b'T',
    /// The client is told that there are too many clients.
    TooMany = b'C',
}

/// The message that hands over a pool client.
pub fn pooled_for_server(letter: &[u8], class: usize, fate: Fate) -> Zeroizing<Vec<u8>> {
    let mut message = Zeroizing::new(Vec::with_capacity(letter.len() + 3));
    message.push(fate as u8);
    message.extend_from_slice(&(class as u16).to_ne_bytes());
    message.extend_from_slice(letter);
    message
}

/// Converts a received proof to the message for a spare process.
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
    Pooled(Box<Proved>),
    TurnedAway(Box<Proved>, Ora),
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
        b'D' | b'T' | b'C' => {
            let (class, letter) = rest.split_first_chunk::<2>()?;
            let proved = Box::new(Proved::from_message(letter, socket).ok()?.of_class(u16::from_ne_bytes(*class)));
            Some(match kind {
                b'D' => Client::Pooled(proved),
                b'T' => Client::TurnedAway(proved, Ora::new(56611)),
                _ => Client::TurnedAway(proved, Ora::new(12520)),
            })
        }
        _ => None,
    }
}

/// Serves one client after another, at most `_process_pool_max_sessions`, so that leaked memory is freed with the
/// process. `gets` is the socket of the first client.
///
/// # Errors
/// No descriptor available.
pub fn run(
    instance: &'static Instance,
    mut gets: OwnedFd,
    inbox: &Inbox,
    alert: &AlertLog,
    wake_supervisor: &dyn Fn(),
) -> Result<()> {
    let has_listener = !instance.params().get(params::Param::LocalListener).trim().is_empty();
    let mut watch = if has_listener { Watch::new(instance).ok() } else { None };
    let signals = SignalFd::new(&[signal::SIGTERM]).map_err(Ora::internal)?;
    let mut message = vec![0; MESSAGE_MAX];
    let mut kept: Option<Kept> = None;
    let most = instance.params().number(params::Param::ProcessPoolMaxSessions).max(1);
    let mut session = 0;
    loop {
        session += 1;
        let Some((len, socket)) = hear(&gets, &signals, instance, &mut message, &mut kept) else { return Ok(()) };
        faults::point("server-handed-over");
        let forked_ns = os::clock::now_ns();
        let client = read(&message[..len], socket);
        // Wipes the key of the conversation.
        message[..len].zeroize();
        os::process::set_name(SERVER_NAME);
        let in_order = match client {
            None => return Ok(()),
            Some(Client::Local(arrival)) => serve::serve(instance, arrival, forked_ns, alert, wake_supervisor)?,
            Some(Client::Pooled(proved)) => {
                let served = listener::serve_pooled(instance, proved, kept.take(), &mut watch, forked_ns, alert)?;
                let is_clean = served.kept.is_some()
                    || session < most
                        && instance.processes().by_os_pid(os::process::own_id()).is_none()
                        && has_little_memory();
                if !served.is_in_order || instance.is_closing() {
                    return Ok(());
                }
                let Ok((next, own)) = inbox.free(served, is_clean) else { return Ok(()) };
                if !is_clean {
                    return Ok(());
                }
                (gets, kept) = (next, own);
                continue;
            }
            Some(Client::TurnedAway(proved, e)) => {
                listener::turn_away(proved, &e)?;
                true
            }
            Some(Client::Network { proved, has_room }) => {
                listener::serve(instance, proved, has_room, &mut watch, forked_ns, alert)?
            }
        };
        faults::point("server-session-ended");
        // A slot that still belongs to this process is left to PMON.
        let is_clean =
            in_order && !instance.is_closing() && instance.processes().by_os_pid(os::process::own_id()).is_none();
        // A process that reports that it waits will be given a client, so this is checked before.
        if session >= most || !is_clean || !has_little_memory() {
            return Ok(());
        }
        os::process::set_name(SPARE_NAME);
        let Ok(next) = inbox.wait() else { return Ok(()) };
        gets = next;
    }
}

fn has_little_memory() -> bool {
    os::proc::private_bytes_of(os::process::own_id()).is_some_and(|bytes| bytes <= MEMORY_MAX)
}

/// Waits for a client; `None` when the process must end. A kept session ends when it is killed meanwhile.
fn hear(
    gets: &OwnedFd,
    signals: &SignalFd,
    instance: &Instance,
    message: &mut [u8],
    kept: &mut Option<Kept>,
) -> Option<(usize, OwnedFd)> {
    loop {
        let mut set = [Poll::read(gets), Poll::read(signals)];
        {
            let _wait = kept.as_ref().map(Kept::wait);
            socket::poll(&mut set, None).ok()?;
        }
        // A signal may have been meant for the previous session.
        if set[1].ready() && signals.next().is_some() {
            if instance.is_closing() {
                return None;
            }
            if kept.as_mut().is_some_and(|kept| !kept.is_alive()) {
                *kept = None;
            }
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

/// The number of spare processes: at least the smaller number; beyond it only as many as were needed within the last
/// second, up to the larger number.
pub struct Pool {
    pub min: usize,
    pub max: usize,
    /// The smallest number of waiting processes since the second began.
    low: usize,
    until: std::time::Instant,
}

/// Interval of the checks for surplus processes.
const LOOK_EVERY: std::time::Duration = std::time::Duration::from_secs(1);

impl Pool {
    pub fn new(min: usize, max: usize) -> Pool {
        Pool { min: min.min(max), max, low: 0, until: std::time::Instant::now() }
    }

    /// Notes the number of waiting processes.
    pub fn note(&mut self, waiting: usize) {
        self.low = self.low.min(waiting);
    }

    /// The number of waiting processes that may end now: half of those unused for a second.
    pub fn surplus(&mut self, waiting: usize, now: std::time::Instant) -> usize {
        if now < self.until {
            return 0;
        }
        self.until = now + LOOK_EVERY;
        let low = std::mem::replace(&mut self.low, waiting);
        low.min(waiting).saturating_sub(self.min).div_ceil(2)
    }

    /// The time of the next check; `None` while no surplus is possible.
    pub fn look_at(&self, waiting: usize) -> Option<std::time::Instant> {
        (waiting > self.min).then_some(self.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn spare_processes_unused_for_a_second_end() {
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
    fn the_desk_receives_waiting_processes_and_proofs() {
        let inbox = Inbox::new().unwrap();
        let mut message = Vec::new();
        assert!(inbox.hear(&mut message).is_none());
        let gets = inbox.wait().unwrap();
        socket::send_with(&inbox.says, b"what is none", &[]).unwrap();
        socket::send_with(&inbox.says, b"Pproof", &[gets.as_fd()]).unwrap();
        assert!(matches!(inbox.hear(&mut message), Some(Report::Waits(pid, _)) if pid == os::process::own_id()));
        assert!(matches!(inbox.hear(&mut message), Some(Report::Proved(_))));
        proof_for_spare(&mut message, true);
        assert_eq!(message, b"Nproof");
        assert!(inbox.hear(&mut message).is_none());
    }
}
