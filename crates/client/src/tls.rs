//! Connections that are encrypted: whom a client trusts, and the stream.

use crate::error::{ClientError, ClientResult};
use crate::net_session::refused;
use net::local::Failure;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use types::Ora;

/// The wallet in its directory.
const WALLET: &str = "ewallet.pem";

/// Where systems keep the authorities that they trust.
const SYSTEM: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// Whom a client trusts to say who a server is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// A directory with an `ewallet.pem`, or such a file; without it `$SSL_CERT_FILE` or the system's authorities are
    /// trusted.
    pub wallet: Option<PathBuf>,
}

impl Trust {
    fn file(&self) -> Option<PathBuf> {
        let given = std::env::var_os("SSL_CERT_FILE").filter(|f| !f.is_empty()).map(PathBuf::from);
        match &self.wallet {
            Some(wallet) if wallet.is_dir() => Some(wallet.join(WALLET)),
            Some(wallet) => Some(wallet.clone()),
            None => given.or_else(|| SYSTEM.iter().map(PathBuf::from).find(|path| path.is_file())),
        }
    }

    fn config(&self) -> ClientResult<ClientConfig> {
        let file = self.file().ok_or_else(|| failed(28759, "no authorities are known here"))?;
        let unread = |e: String| failed(28759, &format!("{}: {e}", file.display()));
        let text = std::fs::read(&file).map_err(|e| unread(e.to_string()))?;
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(&text) {
            let certificate = certificate.map_err(|e| unread(format!("{e:?}")))?;
            // A certificate that is none of an authority's is passed by, as the system's file may have some.
            let _ = roots.add(certificate);
        }
        if roots.is_empty() {
            return Err(unread("there is no certificate in it".into()));
        }
        let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
        let builder = builder.with_safe_default_protocol_versions().map_err(|e| failed(28860, &e.to_string()))?;
        Ok(builder.with_root_certificates(roots).with_no_client_auth())
    }
}

fn failed(code: u32, why: &str) -> ClientError {
    let text = format!("{}\n{why}", Ora::new(code));
    ClientError::Server(Box::new(Failure { facility: "ORA".into(), code, text, fatal: true, ..Failure::default() }))
}

/// A connection over TCP, encrypted or not.
pub enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Stream {
    /// Encrypts a connection to `host` if it is asked for.
    ///
    /// # Errors
    /// ORA-29024 for a certificate that is not trusted, or another host's; ORA-28759 when nobody is trusted; ORA-28860
    /// for what is no TLS.
    pub fn open(mut socket: TcpStream, host: &str, tls: Option<&Trust>) -> ClientResult<Stream> {
        let Some(trust) = tls else { return Ok(Stream::Plain(socket)) };
        let name = ServerName::try_from(host.to_string()).map_err(|_| refused(12545))?;
        let connection = ClientConnection::new(Arc::new(trust.config()?), name);
        let mut connection = connection.map_err(|e| failed(28860, &e.to_string()))?;
        while connection.is_handshaking() {
            if let Err(e) = connection.complete_io(&mut socket) {
                let inner = e.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
                let is_certificate = matches!(inner, Some(rustls::Error::InvalidCertificate(_)));
                return Err(failed(if is_certificate { 29024 } else { 28860 }, &e.to_string()));
            }
        }
        Ok(Stream::Tls(Box::new(StreamOwned::new(connection, socket))))
    }

    /// The socket below.
    pub fn socket(&self) -> &TcpStream {
        match self {
            Stream::Plain(socket) => socket,
            Stream::Tls(stream) => &stream.sock,
        }
    }

    /// The server's own certificate.
    pub fn certificate(&self) -> Option<Vec<u8>> {
        match self {
            Stream::Plain(_) => None,
            Stream::Tls(stream) => stream.conn.peer_certificates()?.first().map(|c| c.to_vec()),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.read(buffer),
            Stream::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.write(bytes),
            Stream::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Stream::Plain(socket) => socket.flush(),
            Stream::Tls(stream) => stream.flush(),
        }
    }
}
