//! One local socket: whole packets out, whole packets in.

use crate::error::{ClientError, ClientResult};
use net::local::{FrameBuffer, MAX_REPLY_LEN, Reply, Request, write_frame};
use os::socket::{Attention, Poll};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// The socket's file name in the database directory.
pub const SOCKET_NAME: &str = "latchwork.sock";

/// The longest path in a socket address.
const MAX_SOCKET_PATH: usize = 107;

/// A connection to one server process.
pub struct Connection {
    stream: UnixStream,
    incoming: FrameBuffer,
    outgoing: Vec<u8>,
    scratch: Vec<u8>,
    attention: Attention,
}

impl Connection {
    /// Connects to the instance whose directory is `dir`.
    pub fn open(dir: &Path) -> ClientResult<Self> {
        let path = dir.join(SOCKET_NAME);
        let stream = connect(dir, &path).map_err(|e| {
            let at = format!("{} ({e})", path.display());
            match e.kind() {
                ErrorKind::PermissionDenied => ClientError::NotPermitted(at),
                _ => ClientError::NotRunning(at),
            }
        })?;
        let (incoming, scratch) = (FrameBuffer::new(MAX_REPLY_LEN), vec![0; 64 << 10]);
        Ok(Self { stream, incoming, outgoing: Vec::new(), scratch, attention: Attention::default() })
    }

    /// Sends one packet.
    pub fn send(&mut self, request: &Request) -> ClientResult<()> {
        self.outgoing.clear();
        write_frame(&mut self.outgoing, |out| request.encode(out));
        self.stream.write_all(&self.outgoing).map_err(|e| lost(&e.to_string()))
    }

    /// Waits for the next packet.
    pub fn receive(&mut self) -> ClientResult<Reply> {
        loop {
            if let Some(frame) = self.incoming.next_frame().map_err(ClientError::Protocol)? {
                return Reply::decode(frame).map_err(ClientError::Protocol);
            }
            match self.read() {
                Ok(0) => return Err(lost("the server process has ended")),
                Ok(n) => self.incoming.extend(&self.scratch[..n]),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(lost(&e.to_string())),
            }
        }
    }

    /// Waits for data with poll. A sleep in the read itself would also end when the server takes the request and the
    /// socket has room again: two more context switches for every call.
    fn read(&mut self) -> std::io::Result<usize> {
        if let Some(came) = self.attention.receive(&self.stream, &mut self.scratch) {
            return came;
        }
        os::socket::poll(&mut [Poll::read(&self.stream)], None).map_err(|e| e.source)?;
        self.stream.read(&mut self.scratch)
    }

    /// The error that the server sent before it closed the connection, if there is one.
    pub fn last_word(&mut self) -> Option<ClientError> {
        match self.receive() {
            Ok(Reply::Error(f)) => Some(ClientError::Server(f)),
            _ => None,
        }
    }

    /// Waits until the server closes the connection.
    pub fn wait_for_end(&mut self) -> ClientResult<()> {
        loop {
            match self.stream.read(&mut self.scratch) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::ConnectionReset => return Ok(()),
                Err(e) => return Err(lost(&e.to_string())),
            }
        }
    }
}

/// Connects to the socket; a path too long for a socket address is reached through a descriptor of its directory.
fn connect(dir: &Path, path: &Path) -> std::io::Result<UnixStream> {
    if path.as_os_str().len() <= MAX_SOCKET_PATH {
        return UnixStream::connect(path);
    }
    let dir = std::fs::File::open(dir)?;
    let short = PathBuf::from(format!("/proc/self/fd/{}/{SOCKET_NAME}", dir.as_raw_fd()));
    UnixStream::connect(short)
}

fn lost(why: &str) -> ClientError {
    ClientError::Disconnected(why.to_string())
}
