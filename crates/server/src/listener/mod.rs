//! The listener: connections of Oracle Net over TCP.
//!
//! The supervisor accepts them and forks a server process for each, as for a local connection; whatever a client says is heard in that
//! process, so one that is slow or silent keeps nobody waiting but itself. Where no process can be forked any more the supervisor refuses
//! without having listened.
//!
//! | module | what it does |
//! |---|---|
//! | [`line`] | packets in and out, waiting together with the signals that end a session |
//! | [`connect`] | CONNECT: which service is asked for |
//! | [`logon`] | versions, data types, the proof of the password |
//! | [`calls`] | calls to the session and its answers, in the words of the wire |
//! | [`array`] | a statement executed with many rows of bind values |
//! | [`cursors`] | the statements that a client has given numbers |
//! | [`watch`] | a client that breaks a call |

mod array;
mod calls;
mod connect;
mod cursors;
mod line;
mod logon;
mod serve;
mod watch;

pub use connect::NO_HANDLER;
pub use serve::{Arrival, serve};

use net::oracle::descriptor::Entry;
use net::oracle::tns;
use params::{Param, SystemParams};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, RawFd};
use types::Ora;

/// Refused connections that are kept open, so that the refusal is read before the connection is reset.
const TURNED_AWAY_MAX: usize = 32;

/// Where nobody says otherwise, other machines do not come in.
const DEFAULT_HOST: &str = "127.0.0.1";

/// What the server processes of the network know.
#[derive(Clone, Copy)]
pub struct Secret(pub [u8; 32]);

/// A socket that listens.
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    turned_away: VecDeque<TcpStream>,
    secret: Secret,
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
        let secret = Secret(os::random::bytes().map_err(|e| e.to_string())?);
        Ok(Some(Listener { socket, address, turned_away: VecDeque::new(), secret }))
    }

    /// Where it listens, as the alert log has it.
    pub fn address(&self) -> String {
        format!("(ADDRESS=(PROTOCOL=TCP)(HOST={})(PORT={}))", self.address.ip(), self.address.port())
    }

    /// What stands in for the verifiers of users that there are not.
    pub fn secret(&self) -> Secret {
        self.secret
    }

    /// The next connection that has come.
    pub fn accept(&self) -> Option<TcpStream> {
        self.socket.accept().ok().map(|(stream, _)| stream)
    }

    /// Refuses a connection without a process of its own, and without waiting for what it asks.
    pub fn refuse(&mut self, mut stream: TcpStream, code: u32) {
        let mut out = Vec::new();
        tns::write_refuse(&mut out, code);
        if stream.set_nonblocking(true).is_err() {
            return;
        }
        // What has come is taken, for a connection that is closed with bytes unread is reset, and the refusal with it.
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(&out);
        let _ = stream.shutdown(Shutdown::Write);
        if self.turned_away.len() == TURNED_AWAY_MAX {
            self.turned_away.pop_front();
        }
        self.turned_away.push_back(stream);
    }
}

impl AsRawFd for Listener {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
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
