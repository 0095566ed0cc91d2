//! Errors between a client and its instance.

use net::local::{Failure, WireError};
use std::fmt;
use types::Ora;

/// An error of a client call.
#[derive(Clone, Debug)]
pub enum ClientError {
    /// The server refused or failed the call; the text is in SQL*Plus's form.
    Server(Box<Failure>),
    /// No instance answers at this place.
    NotRunning(String),
    /// The operating system does not let this user reach the instance at this place.
    NotPermitted(String),
    /// The connection broke: the server process died, was killed, or the instance ended.
    Disconnected(String),
    /// The server sent an invalid packet.
    Protocol(WireError),
    /// The instance could not be started; the text says why.
    Start(String),
}

/// The result of a client call.
pub type ClientResult<T> = Result<T, ClientError>;

impl ClientError {
    /// Oracle's number of the error, for a broken connection too (ORA-03113, ORA-12547 …); 0 for a failed start.
    pub fn code(&self) -> u32 {
        match self {
            ClientError::Server(f) => f.code,
            ClientError::NotRunning(_) => 1034,
            ClientError::NotPermitted(_) => 12546,
            ClientError::Disconnected(_) => 3113,
            ClientError::Protocol(_) => 3106,
            ClientError::Start(_) => 0,
        }
    }

    /// Whether the session is gone.
    pub fn is_fatal(&self) -> bool {
        match self {
            ClientError::Server(f) => f.fatal,
            _ => true,
        }
    }

    /// Byte offset of the error in the statement.
    pub fn position(&self) -> Option<usize> {
        match self {
            ClientError::Server(f) => f.position.map(|p| p as usize),
            _ => None,
        }
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientError::Server(e) => write!(f, "{}", e.text),
            ClientError::NotRunning(at) => write!(f, "ORA-01034: ORACLE not available\nno instance answers at {at}"),
            ClientError::NotPermitted(at) => write!(
                f,
                "ORA-12546: TNS:permission denied\nthis user may not use {at}; ask its owner, or connect through the listener"
            ),
            ClientError::Disconnected(why) => write!(f, "ORA-03113: end-of-file on communication channel\n{why}"),
            ClientError::Protocol(e) => write!(f, "ORA-03106: fatal two-task communication protocol error\n{e}"),
            ClientError::Start(why) => write!(f, "{why}"),
        }
    }
}

impl std::error::Error for ClientError {}

/// A TNS error of the client itself: the connection is not made.
pub(crate) fn refused(code: u32) -> ClientError {
    let text = Ora::new(code).to_string().replacen("ORA-", "TNS-", 1);
    ClientError::Server(Box::new(Failure { facility: "TNS".into(), code, text, fatal: true, ..Failure::default() }))
}
