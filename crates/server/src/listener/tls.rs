//! TLS: the wallet with the listener's certificate, and a socket that may be encrypted.
//!
//! The wallet is `tls/ewallet.pem` below `wallet_root`: the private key and the chain of certificates, the listener's
//! own first. It is one file, so that a rename replaces all of it at once, and is checked again for each client. No
//! session is resumed, so no data of one connection serves another.

use crate::alert::AlertLog;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;
use rustls::{ProtocolVersion, ServerConfig, ServerConnection};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use types::Ora;

/// The path of the wallet below `wallet_root`.
const WALLET: &str = "tls/ewallet.pem";

/// The longest wallet.
const WALLET_MAX: u64 = 1 << 20;

/// Shortest interval between checks of the wallet.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Bytes of memory counted for the TLS of a connection.
const TLS_HELD: usize = 24 << 10;

/// Bytes of a packet that breaks a call, and the bytes that TLS adds before and after it.
const MARKER_LEN: u16 = 11;
const RECORD_HEADER: u16 = 5;
const TAG: u16 = 16;

/// The attributes that show a change of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    len: u64,
    changed: (i64, i64),
}

/// The listener's certificate and key.
pub struct Wallet {
    path: PathBuf,
    stamp: Stamp,
    looked: Instant,
    config: Arc<ServerConfig>,
}

impl Wallet {
    /// Reads the wallet below `root`.
    ///
    /// # Errors
    /// ORA-28759 and the reason.
    pub fn open(root: &Path) -> Result<Wallet, String> {
        let path = root.join(WALLET);
        let (stamp, config) = read(&path).map_err(|why| failure(&path, &why))?;
        Ok(Wallet { path, stamp, looked: Instant::now(), config })
    }

    /// The configuration for a new connection. A wallet that has changed is read again; if that fails, the earlier one
    /// stays in use.
    pub fn config(&mut self, alert: &AlertLog) -> Arc<ServerConfig> {
        if self.looked.elapsed() >= LOOK_EVERY {
            self.looked = Instant::now();
            let now = std::fs::metadata(&self.path).map(|m| stamp(&m));
            if let Ok(now) = now
                && now != self.stamp
            {
                // An unreadable wallet is reported once.
                self.stamp = now;
                match read(&self.path) {
                    Ok((stamp, config)) => {
                        (self.stamp, self.config) = (stamp, config);
                        alert.write(&format!("Listener: certificate read again from {}", self.path.display()));
                    }
                    Err(why) => {
                        alert.write(&format!("{}\nThe earlier certificate stays in use.", failure(&self.path, &why)));
                    }
                }
            }
        }
        self.config.clone()
    }
}

fn failure(path: &Path, why: &str) -> String {
    format!("{}\n{}: {why}", Ora::new(28759), path.display())
}

fn stamp(m: &std::fs::Metadata) -> Stamp {
    Stamp { inode: m.ino(), len: m.len(), changed: (m.mtime(), m.mtime_nsec()) }
}

fn read(path: &Path) -> Result<(Stamp, Arc<ServerConfig>), String> {
    let mut file = std::fs::File::open(path).map_err(|e| e.to_string())?;
    let about = file.metadata().map_err(|e| e.to_string())?;
    if about.mode() & 0o077 != 0 {
        return Err("other users can read its private key: set its mode to 0600".into());
    }
    if about.len() > WALLET_MAX {
        return Err("it is too long".into());
    }
    let mut text = zeroize::Zeroizing::new(Vec::new());
    file.read_to_end(&mut text).map_err(|e| e.to_string())?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let chain = chain.map_err(|e| format!("no certificate: {e:?}"))?;
    if chain.is_empty() {
        return Err("it contains no certificate".into());
    }
    let key = PrivateKeyDer::from_pem_slice(&text).map_err(|_| "it contains no unencrypted private key".to_string())?;
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(|e| e.to_string())?;
    let mut config = builder.with_no_client_auth().with_single_cert(chain, key).map_err(|e| e.to_string())?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok((stamp(&about), Arc::new(config)))
}

/// The form of a break on the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breaks {
    Plain,
    /// A record of this length. No other packet that a client sends during a call is as short, and no packet of a
    /// message.
    Record(u16),
}

/// A non-blocking socket, encrypted or not.
pub struct Transport {
    socket: TcpStream,
    tls: Option<Box<ServerConnection>>,
}

impl Transport {
    /// A plain socket, or one encrypted with `config`.
    ///
    /// # Errors
    /// The configuration is invalid.
    pub fn new(socket: TcpStream, config: Option<Arc<ServerConfig>>) -> Result<Transport, rustls::Error> {
        let tls = config.map(ServerConnection::new).transpose()?.map(Box::new);
        Ok(Transport { socket, tls })
    }

    /// The socket itself.
    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Whether the connection is the plain socket.
    pub fn is_plain(&self) -> bool {
        self.tls.is_none()
    }

    /// Reads the available bytes; `None` when the caller should sleep. Between messages (`goes_on` is false) a plain
    /// connection has nothing to read: its client has only just been answered.
    ///
    /// The server process does not poll for the network client's next message, as it does on the local socket: with
    /// polling a call took 26 to 67 µs on a machine of two processors with other work, and 24 to 26 without
    /// (docs/PERFORMANCE.md); probably the client is moved to the other processor, where each wake-up costs more.
    pub fn receive(&mut self, goes_on: bool, buffer: &mut [u8]) -> Option<std::io::Result<usize>> {
        let came = match self.tls {
            None if goes_on => os::socket::receive_now(&self.socket, buffer),
            None => return None,
            Some(_) => self.read(buffer),
        };
        match came {
            Err(e) if e.kind() == ErrorKind::WouldBlock => None,
            came => Some(came),
        }
    }

    /// Whether decrypted bytes are unread: the socket does not show them.
    pub fn has_decrypted(&mut self) -> bool {
        let tls = self.tls.as_mut();
        tls.is_some_and(|tls| tls.process_new_packets().is_ok_and(|state| state.plaintext_bytes_to_read() > 0))
    }

    /// Whether bytes wait for room in the socket.
    pub fn has_unsent(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.wants_write())
    }

    /// The form of a break on this connection.
    pub fn breaks(&self) -> Breaks {
        let Some(tls) = &self.tls else { return Breaks::Plain };
        let of_version = match tls.protocol_version() {
            // The encrypted record type.
            Some(ProtocolVersion::TLSv1_3) => 1,
            // An explicit number in each record, except for ChaCha20.
            _ => {
                let suite = tls.negotiated_cipher_suite().map(|suite| format!("{:?}", suite.suite()));
                if suite.is_some_and(|name| name.contains("CHACHA20")) { 0 } else { 8 }
            }
        };
        Breaks::Record(RECORD_HEADER + MARKER_LEN + of_version + TAG)
    }

    /// Bytes of memory counted for TLS.
    pub fn held(&self) -> usize {
        if self.tls.is_some() { TLS_HELD } else { 0 }
    }

    /// Ends the sending direction. Data can still be read.
    pub fn end(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            // A client that does not read only misses the close alert.
            let _ = self.flush();
        }
        let _ = self.socket.shutdown(Shutdown::Write);
    }
}

impl Read for Transport {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let Some(tls) = &mut self.tls else { return self.socket.read(buffer) };
        loop {
            match tls.reader().read(buffer) {
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                // An end without a TLS alert is an end all the same: packets have their own lengths.
                Err(e) if e.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                came => return came,
            }
            let n = tls.read_tls(&mut self.socket)?;
            let outcome = tls.process_new_packets();
            // Sends a handshake message or an alert. Bytes without room wait for the next write.
            while tls.wants_write() {
                if tls.write_tls(&mut self.socket).is_err() {
                    break;
                }
            }
            outcome.map_err(|e| std::io::Error::new(ErrorKind::InvalidData, e))?;
            if n == 0 {
                return Ok(0);
            }
        }
    }
}

impl Write for Transport {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.tls.is_some() {
            // Buffered bytes are sent first; the connection may take only a part.
            self.flush()?;
        }
        let Some(tls) = &mut self.tls else { return self.socket.write(bytes) };
        let n = tls.writer().write(bytes)?;
        match self.flush() {
            Err(e) if e.kind() != ErrorKind::WouldBlock => Err(e),
            _ => Ok(n),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let Some(tls) = &mut self.tls else { return Ok(()) };
        while tls.wants_write() {
            if tls.write_tls(&mut self.socket)? == 0 {
                return Err(ErrorKind::WriteZero.into());
            }
        }
        Ok(())
    }
}

impl AsFd for Transport {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsRawFd for Transport {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}
