//! The listening sockets, their addresses, and the server processes that announce themselves on them.

use super::tls::Wallet;
use crate::directory::WALLET_NAME;
use net::oracle::descriptor::Entry;
use net::oracle::native::{self, Algorithms, Level, Pair, Wants};
use net::oracle::tns::NativeServices;
use os::signal::SignalFd;
use os::socket::{self, Poll};
use params::{Param, SystemParams};
use std::io::{PipeWriter, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use types::Ora;

/// The default: other machines cannot connect.
const DEFAULT_HOST: &str = "127.0.0.1";

/// Largest number of listening addresses.
pub(super) const ADDRESSES_MAX: usize = 16;

/// A socket that listens.
pub(super) struct ListeningSocket {
    pub(super) socket: TcpListener,
    pub(super) address: SocketAddr,
    /// For an address of TCPS.
    pub(super) wallet: Option<Wallet>,
    /// Connections that may wait to be accepted.
    pub(super) queue: i32,
    /// Largest number of connections accepted in a second; 0 for no limit.
    pub(super) rate: u32,
}

/// The settings of native encryption and checksums.
pub(super) struct Native {
    pub(super) encryption: Wants,
    pub(super) checksum: Wants,
    /// The key pair for exchanges, and the time since which it is used.
    pair: Mutex<Option<(Instant, Arc<Pair>)>>,
}

/// The life of a key pair. Making a pair takes half of the time of an exchange, and any client may request an exchange.
const PAIR_LIFE: Duration = Duration::from_secs(10);

impl Native {
    /// The key pair for an exchange.
    pub(super) fn pair(&self) -> Result<Arc<Pair>, os::OsError> {
        let mut kept = self.pair.lock().unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            Some((since, pair)) if since.elapsed() < PAIR_LIFE => Ok(Arc::clone(pair)),
            _ => {
                let pair = Arc::new(Pair::new(os::random::bytes()?));
                *kept = Some((Instant::now(), Arc::clone(&pair)));
                Ok(pair)
            }
        }
    }

    fn of(params: &SystemParams) -> Result<Native, String> {
        let wants = |level: Param, list: Param, known: Algorithms| {
            let (level_text, list_text) = (params.get(level), params.get(list));
            let names = || known.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            Wants::parse(&level_text, &list_text, known).ok_or_else(|| {
                match Wants::parse(&level_text, "", known) {
                    Some(_) => Ora::with(96, &[&list_text, &list.def().name, &names()]),
                    None => {
                        Ora::with(96, &[&level_text, &level.def().name, &"ACCEPTED, REJECTED, REQUESTED, REQUIRED"])
                    }
                }
                .to_string()
            })
        };
        Ok(Native {
            encryption: wants(Param::EncryptionServer, Param::EncryptionTypesServer, native::ENCRYPTIONS)?,
            checksum: wants(Param::CryptoChecksumServer, Param::CryptoChecksumTypesServer, native::CHECKSUMS)?,
            pair: Mutex::new(None),
        })
    }

    /// The position on native services for clients. A connection over TLS needs none.
    pub(super) fn services(&self, is_tls: bool) -> NativeServices {
        match self.encryption.level.max(self.checksum.level) {
            _ if is_tls => NativeServices::Off,
            Level::Rejected => NativeServices::Off,
            Level::Required => NativeServices::Required,
            Level::Accepted | Level::Requested => NativeServices::Offered,
        }
    }
}

/// Connections that wait to be accepted, unless QUEUESIZE gives a number.
const QUEUE: i32 = 1024;

/// The listening sockets. The supervisor keeps them, so that clients wait while a listener process that died is
/// restarted.
pub struct Listener {
    pub(super) places: Vec<ListeningSocket>,
    pub(super) native: Arc<Native>,
    /// The socket on which new server processes announce themselves to the supervisor.
    announces: OwnedFd,
    /// The supervisor's end; only the supervisor has it, so that nobody waits for an answer after the supervisor has
    /// stopped listening.
    hears: Option<OwnedFd>,
}

/// A server process that has announced itself and waits for permission.
pub struct Announced {
    pub pid: i32,
    /// Its connection.
    pub line: OwnedFd,
    answer: PipeWriter,
}

impl Announced {
    /// Permits it to take a process slot; false when it has died, in which case its number may belong to another
    /// process. A drop instead tells the process to refuse its client.
    pub fn let_on(mut self) -> bool {
        // Only that process has the other end.
        self.answer.write_all(&[1]).is_ok()
    }
}

impl Listener {
    /// Listens at the addresses of `local_listener`; `None` without an address. The certificate is below `wallet_root`,
    /// or below `wallet` in the database directory.
    ///
    /// # Errors
    /// ORA-00119 for an invalid address; the system's error for one that is not available; ORA-28759 without a
    /// certificate.
    pub fn open(params: &SystemParams, dir: &Path) -> Result<Option<Listener>, String> {
        let given = params.get(Param::LocalListener);
        if given.trim().is_empty() {
            return Ok(None);
        }
        let wrong = || {
            let first = Ora::with(119, &[&"LOCAL_LISTENER"]);
            first.because(Ora::with(132, &[&given])).to_string()
        };
        let root = params.get(Param::WalletRoot);
        let root = if root.is_empty() { dir.join(WALLET_NAME) } else { dir.join(root) };
        let open = |Endpoint { host, port, is_tls, queue, rate }: Endpoint| {
            let cannot =
                |e: std::io::Error| format!("{}\n{e}: {host}:{port}", Ora::make(types::Facility::Tns, 12545, &[]));
            let wallet = is_tls.then(|| Wallet::open(&root)).transpose()?;
            let addresses: Vec<SocketAddr> = (host.as_str(), port).to_socket_addrs().map_err(cannot)?.collect();
            let socket = TcpListener::bind(&addresses[..]).map_err(cannot)?;
            socket.set_nonblocking(true).map_err(cannot)?;
            let address = socket.local_addr().map_err(cannot)?;
            Ok(ListeningSocket { socket, address, wallet, queue, rate })
        };
        let native = Arc::new(Native::of(params)?);
        let endpoints = addresses(&given).ok_or_else(wrong)?;
        let places = endpoints.into_iter().map(open).collect::<Result<Vec<_>, String>>()?;
        let (announces, hears) = socket::message_pair().map_err(|e| e.to_string())?;
        Ok(Some(Listener { places, native, announces, hears: Some(hears) }))
    }

    /// The addresses in the form of the alert log.
    pub fn addresses(&self) -> impl Iterator<Item = String> {
        self.places.iter().map(|ListeningSocket { address, wallet, .. }| {
            let protocol = if wallet.is_some() { "TCPS" } else { "TCP" };
            format!("(ADDRESS=(PROTOCOL={protocol})(HOST={})(PORT={}))", address.ip(), address.port())
        })
    }

    /// The EZConnect strings of a service at these addresses.
    pub fn connect_strings(&self, service: &str) -> impl Iterator<Item = String> {
        self.places.iter().map(move |ListeningSocket { address, wallet, .. }| {
            let protocol = if wallet.is_some() { "tcps://" } else { "" };
            format!("{protocol}{address}/{service}")
        })
    }

    /// The part of the listener for the listener process.
    pub fn of_gate(mut self) -> Listener {
        self.hears = None;
        self
    }

    /// Announces the calling process, a server process of `stream`, to the supervisor, and waits for permission. False
    /// when the process may not continue, or is told to end.
    pub fn announce(&self, stream: &TcpStream, signals: &SignalFd) -> bool {
        let Ok((mut answer, given)) = std::io::pipe() else { return false };
        let pid = os::process::own_id().to_ne_bytes();
        if socket::send_with(&self.announces, &pid, &[stream.as_fd(), given.as_fd()]).is_err() {
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
    /// The descriptor of the announcements.
    fn as_raw_fd(&self) -> RawFd {
        self.hears.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }
}

/// An address to listen on.
#[derive(Debug, PartialEq, Eq)]
struct Endpoint {
    host: String,
    port: u16,
    is_tls: bool,
    queue: i32,
    rate: u32,
}

/// Parses the addresses of `(ADDRESS=(PROTOCOL=…)(HOST=…)(PORT=…))`, also several in a list or a description, of
/// `host:port`, or of a port alone.
fn addresses(text: &str) -> Option<Vec<Endpoint>> {
    let text = text.trim();
    let endpoints: Vec<Endpoint> = if text.starts_with('(') {
        let entry = Entry::parse(text)?;
        let mut found = Vec::new();
        entry.all("ADDRESS", &mut found);
        found.into_iter().map(address).collect::<Option<_>>()?
    } else {
        let (host, port) = text.rsplit_once(':').unwrap_or((DEFAULT_HOST, text));
        let host = host.trim_start_matches('[').trim_end_matches(']');
        vec![Endpoint { host: host_name(host)?, port: port.parse().ok()?, is_tls: false, queue: QUEUE, rate: 0 }]
    };
    (1..=ADDRESSES_MAX).contains(&endpoints.len()).then_some(endpoints)
}

fn address(entry: &Entry) -> Option<Endpoint> {
    let is_tls = match entry.text_of("PROTOCOL")?.to_ascii_lowercase().as_str() {
        "tcp" => false,
        "tcps" => true,
        _ => return None,
    };
    let host = host_name(entry.text_of("HOST").unwrap_or(DEFAULT_HOST))?;
    let queue = entry.text_of("QUEUESIZE").map_or(Some(QUEUE), |n| n.parse().ok().filter(|n| *n > 0))?;
    let rate = match entry.text_of("RATE_LIMIT").map(str::to_ascii_lowercase).as_deref() {
        None | Some("no") => 0,
        Some(n) => n.parse().ok()?,
    };
    Some(Endpoint { host, port: entry.text_of("PORT")?.parse().ok()?, is_tls, queue, rate })
}

/// The name or number of a host.
fn host_name(text: &str) -> Option<String> {
    let is_good = |c: char| c.is_alphanumeric() || ".-_:%*".contains(c);
    (!text.is_empty() && text.chars().all(is_good)).then(|| text.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_process_gets_no_permission() {
        let announced = || {
            let (reads, answer) = std::io::pipe().unwrap();
            let line = std::io::pipe().unwrap().0.into();
            // The number of an existing process.
            (reads, Announced { pid: os::process::own_id(), line, answer })
        };
        let (mut reads, alive) = announced();
        assert!(alive.let_on());
        assert_eq!(reads.read(&mut [0; 2]).unwrap(), 1);
        let (reads, dead) = announced();
        drop(reads);
        assert!(!dead.let_on());
    }

    #[test]
    fn an_address_is_written_in_three_ways() {
        let endpoint =
            |host: &str, port: u16, is_tls: bool| Endpoint { host: host.into(), port, is_tls, queue: QUEUE, rate: 0 };
        let is = |text: &str, host: &str, port: u16| {
            assert_eq!(addresses(text), Some(vec![endpoint(host, port, false)]), "{text}");
        };
        is("1521", "127.0.0.1", 1521);
        is("0", "127.0.0.1", 0);
        is("db.example:1522", "db.example", 1522);
        is("[::1]:1521", "::1", 1521);
        is("(ADDRESS = (PROTOCOL=tcp)(HOST=0.0.0.0)(PORT=1521))", "0.0.0.0", 1521);
        is("(DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(PORT=7)))", "127.0.0.1", 7);
        let both = "(ADDRESS_LIST=(ADDRESS=(PROTOCOL=tcp)(PORT=1))(ADDRESS=(PROTOCOL=TCPS)(HOST=h)(PORT=2484)))";
        assert_eq!(addresses(both), Some(vec![endpoint("127.0.0.1", 1, false), endpoint("h", 2484, true)]));
        let slow = "(ADDRESS=(PROTOCOL=tcp)(PORT=7)(QUEUESIZE=9)(RATE_LIMIT=20))";
        assert_eq!(addresses(slow), Some(vec![Endpoint { queue: 9, rate: 20, ..endpoint("127.0.0.1", 7, false) }]));
        let many = |n: usize| format!("(ADDRESS_LIST={})", "(ADDRESS=(PROTOCOL=tcp)(PORT=0))".repeat(n));
        assert!(addresses(&many(ADDRESSES_MAX)).is_some() && addresses(&many(ADDRESSES_MAX + 1)).is_none());
        for none in [
            "x",
            ":1",
            "h:",
            "tcp://h:1",
            "a b:1",
            "(ADDRESS=(PROTOCOL=tcp)(PORT=1)(RATE_LIMIT=x))",
            "h:70000",
            "(ADDRESS=(PROTOCOL=ipc)(KEY=x))",
            "(ADDRESS_LIST=(A=b))",
            "(",
            &many(0),
        ] {
            assert_eq!(addresses(none), None, "{none}");
        }
    }
}
