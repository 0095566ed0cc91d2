//! Encrypted connections: the trusted authorities, and the stream.

use crate::error::{ClientError, ClientResult, refused};
use net::local::Failure;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use types::Ora;

/// The wallet in its directory.
const WALLET: &str = "ewallet.pem";

/// The files of trusted authorities on common systems.
const SYSTEM: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// The trust in certificates of servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// A directory with an `ewallet.pem`, or such a file; without it, `$SSL_CERT_FILE` or the system's authorities.
    pub wallet: Option<PathBuf>,
    /// A trusted certificate may name another host.
    pub any_name: bool,
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
        let file = self.file().ok_or_else(|| failed(28759, "no trusted certificate authorities were found"))?;
        let unread = |e: String| failed(28759, &format!("{}: {e}", file.display()));
        let text = std::fs::read(&file).map_err(|e| unread(e.to_string()))?;
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(&text) {
            let certificate = certificate.map_err(|e| unread(format!("{e:?}")))?;
            // Other certificates than those of authorities are skipped; the system's file may have some.
            let _ = roots.add(certificate);
        }
        if roots.is_empty() {
            return Err(unread("the file contains no certificate".into()));
        }
        let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
        let builder = builder.with_safe_default_protocol_versions().map_err(|e| failed(28860, &e.to_string()))?;
        if !self.any_name {
            return Ok(builder.with_root_certificates(roots).with_no_client_auth());
        }
        let provider = Arc::new(default_provider());
        let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
        let inner = inner.map_err(|e| failed(28860, &e.to_string()))?;
        let verifier = Arc::new(AnyName(inner));
        Ok(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
    }
}

/// Accepts a trusted certificate for any host name.
#[derive(Debug)]
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        use CertificateError::{NotValidForName, NotValidForNameContext};
        match self.0.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The name is checked last.
            Err(rustls::Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. })) => {
                Ok(ServerCertVerified::assertion())
            }
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

fn failed(code: u32, why: &str) -> ClientError {
    let text = format!("{}\n{why}", Ora::new(code));
    ClientError::Server(Box::new(Failure { facility: "ORA".into(), code, text, fatal: true, ..Failure::default() }))
}

/// A connection over TCP, encrypted or not.
pub enum Stream {
    Plain(TcpStream),
    Tls(Encrypted),
}

/// An encrypted connection. One thread reads it; another may write to it meanwhile.
pub struct Encrypted {
    connection: Arc<Mutex<ClientConnection>>,
    socket: TcpStream,
    raw: Vec<u8>,
}

/// Bytes read from an encrypted connection at once.
const RAW_LEN: usize = 16 << 10;

impl Encrypted {
    fn new(connection: Arc<Mutex<ClientConnection>>, socket: TcpStream) -> Encrypted {
        Encrypted { connection, socket, raw: vec![0; RAW_LEN] }
    }

    fn connection(&self) -> MutexGuard<'_, ClientConnection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            match self.connection().reader().read(buffer) {
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                // The other side closed the connection without a TLS alert.
                Err(e) if e.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                read => return read,
            }
            let n = self.socket.read(&mut self.raw)?;
            let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
            let mut came = &self.raw[..n];
            loop {
                connection.read_tls(&mut came)?;
                connection.process_new_packets().map_err(|e| std::io::Error::new(ErrorKind::InvalidData, e))?;
                if came.is_empty() {
                    break;
                }
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let n = connection.writer().write(bytes)?;
        while connection.wants_write() {
            connection.write_tls(&mut self.socket)?;
        }
        Ok(n)
    }
}

impl Stream {
    /// Encrypts a connection to `host` if requested.
    ///
    /// # Errors
    /// ORA-29024 for a certificate that is not trusted, or of another host; ORA-28759 without any trusted authority;
    /// ORA-28860 for a peer without TLS.
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
        Ok(Stream::Tls(Encrypted::new(Arc::new(Mutex::new(connection)), socket)))
    }

    /// Another handle of the connection, for writing from another thread.
    ///
    /// # Errors
    /// No descriptor was available.
    pub fn another(&self) -> std::io::Result<Stream> {
        Ok(match self {
            Stream::Plain(socket) => Stream::Plain(socket.try_clone()?),
            Stream::Tls(stream) => {
                Stream::Tls(Encrypted::new(Arc::clone(&stream.connection), stream.socket.try_clone()?))
            }
        })
    }

    /// The socket below.
    pub fn socket(&self) -> &TcpStream {
        match self {
            Stream::Plain(socket) => socket,
            Stream::Tls(stream) => &stream.socket,
        }
    }

    /// The server's own certificate.
    pub fn certificate(&self) -> Option<Vec<u8>> {
        match self {
            Stream::Plain(_) => None,
            Stream::Tls(stream) => stream.connection().peer_certificates()?.first().map(|c| c.to_vec()),
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
            Stream::Tls(_) => Ok(()),
        }
    }
}
