//! The listener: connections of Oracle Net over TCP.
//!
//! A process of its own accepts them and speaks with all clients that have proved nothing yet ([`gate`]). Each client
//! that has proved its password gets a server process, as a local connection does; what it says is heard in that
//! process. The supervisor learns of the server process before that takes a process slot, so that a death is noticed
//! whenever it comes.
//!
//! | module | what it does |
//! |---|---|
//! | [`gate`] | the listener process: everything before the proof, for all connections at once |
//! | [`connect`] | CONNECT: which service is asked for |
//! | [`logon`] | versions, data types, the proof of the password, the session |
//! | [`serve`] | a server process of the network |
//! | [`line`] | its packets in and out, waiting together with the signals that end a session |
//! | [`calls`] | calls to the session and its answers, in the words of the wire |
//! | [`array`] | a statement executed with many rows of bind values |
//! | [`cursors`] | the statements that a client has given numbers |
//! | [`watch`] | a client that breaks a call |

mod array;
mod calls;
mod connect;
mod cursors;
mod gate;
mod line;
mod logon;
mod serve;
mod watch;

pub use gate::run as run_gate;
pub use serve::serve;

use net::oracle::descriptor::Entry;
use os::signal::SignalFd;
use os::socket::{self, Poll};
use params::{Param, SystemParams};
use std::io::{PipeWriter, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use types::Ora;

/// Where nobody says otherwise, other machines do not come in.
const DEFAULT_HOST: &str = "127.0.0.1";

/// A socket that listens. The supervisor keeps it, so that clients wait while a listener process that died is started
/// again.
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    /// By which new server processes announce themselves to the supervisor.
    announces: OwnedFd,
    /// The supervisor's end; only the supervisor has it, so that nobody waits for an answer of a supervisor that
    /// listens no more.
    hears: Option<OwnedFd>,
}

/// A server process that has announced itself and waits to be let on.
pub struct Announced {
    pub pid: i32,
    /// Its connection.
    pub line: OwnedFd,
    answer: PipeWriter,
}

impl Announced {
    /// Lets it take a process slot. Dropping it instead tells the process to turn its client away.
    pub fn let_on(mut self) {
        // A process that has died needs no answer.
        let _ = self.answer.write_all(&[1]);
    }
}

impl Listener {
    /// Listens where `local_listener` says; `None` where it says nothing.
    ///
    /// # Errors
    /// ORA-00119 for an address that is none; the system's word for one that cannot be had.
    pub fn open(params: &SystemParams) -> Result<Option<Listener>, String> {
        let given = params.get(Param::LocalListener);
        if given.trim().is_empty() {
            return Ok(None);
        }
        let wrong = || {
            let first = Ora::with(119, &[&"LOCAL_LISTENER"]);
            first.because(Ora::with(132, &[&given])).to_string()
        };
        let (host, port) = address(&given).ok_or_else(wrong)?;
        let cannot = |e: std::io::Error| format!("{}\n{e}: {host}:{port}", Ora::make(types::Facility::Tns, 12545, &[]));
        let places: Vec<SocketAddr> = (host.as_str(), port).to_socket_addrs().map_err(cannot)?.collect();
        let socket = TcpListener::bind(&places[..]).map_err(cannot)?;
        socket.set_nonblocking(true).map_err(cannot)?;
        let address = socket.local_addr().map_err(cannot)?;
        let (announces, hears) = socket::message_pair().map_err(|e| e.to_string())?;
        Ok(Some(Listener { socket, address, announces, hears: Some(hears) }))
    }

    /// Where it listens, as the alert log has it.
    pub fn address(&self) -> String {
        format!("(ADDRESS=(PROTOCOL=TCP)(HOST={})(PORT={}))", self.address.ip(), self.address.port())
    }

    /// What the listener process has of it.
    pub fn of_gate(mut self) -> Listener {
        self.hears = None;
        self
    }

    /// Tells the supervisor of the calling process, a server process of `stream`, and waits until that knows it. False
    /// when the process may not go on, or is told to end.
    pub fn announce(&self, stream: &TcpStream, signals: &SignalFd) -> bool {
        let Ok((mut answer, given)) = std::io::pipe() else { return false };
        let pid = os::process::own_id().to_ne_bytes();
        if socket::send_with(&self.announces, &pid, &[stream.as_raw_fd(), given.as_raw_fd()]).is_err() {
            return false;
        }
        drop(given);
        let mut set = [Poll::read(&answer), Poll::read(signals)];
        loop {
            match socket::poll(&mut set, None) {
                // Interrupted.
                Ok(0) => set = [Poll::read(&answer), Poll::read(signals)],
                Ok(_) if set[0].ready() => return answer.read(&mut [0]).is_ok_and(|n| n == 1),
                _ => return false,
            }
        }
    }

    /// The next server process that has announced itself.
    pub fn hear(&self) -> Option<Announced> {
        let mut pid = [0; 4];
        let (n, passed) = socket::receive_with(self.hears.as_ref()?, &mut pid)?;
        let [line, answer] = <[OwnedFd; 2]>::try_from(passed).ok()?;
        (n == pid.len()).then(|| Announced { pid: i32::from_ne_bytes(pid), line, answer: answer.into() })
    }
}

impl AsRawFd for Listener {
    /// Of the announcements.
    fn as_raw_fd(&self) -> RawFd {
        self.hears.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }
}

/// Host and port of `(ADDRESS=(PROTOCOL=TCP)(HOST=…)(PORT=…))`, also inside a description, of `host:port`, or of a port alone.
fn address(text: &str) -> Option<(String, u16)> {
    let text = text.trim();
    if text.starts_with('(') {
        let entry = Entry::parse(text)?;
        let protocol = entry.text_of("PROTOCOL")?;
        let host = entry.text_of("HOST").unwrap_or(DEFAULT_HOST);
        let port = entry.text_of("PORT")?.parse().ok()?;
        return protocol.eq_ignore_ascii_case("tcp").then(|| (host.to_string(), port));
    }
    let (host, port) = text.rsplit_once(':').unwrap_or((DEFAULT_HOST, text));
    let host = host.trim_start_matches('[').trim_end_matches(']');
    (!host.is_empty()).then_some((host.to_string(), port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_written_in_three_ways() {
        let is =
            |text: &str, host: &str, port: u16| assert_eq!(address(text), Some((host.to_string(), port)), "{text}");
        is("1521", "127.0.0.1", 1521);
        is("0", "127.0.0.1", 0);
        is("db.example:1522", "db.example", 1522);
        is("[::1]:1521", "::1", 1521);
        is("(ADDRESS = (PROTOCOL=tcp)(HOST=0.0.0.0)(PORT=1521))", "0.0.0.0", 1521);
        is("(DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(PORT=7)))", "127.0.0.1", 7);
        for none in
            ["x", ":1", "h:", "h:70000", "(ADDRESS=(PROTOCOL=ipc)(KEY=x))", "(ADDRESS=(PROTOCOL=tcps)(PORT=1))", "("]
        {
            assert_eq!(address(none), None, "{none}");
        }
    }
}
