#![forbid(unsafe_code)]
//! The client library: connects to an instance over its local socket or the network, or starts a throw-away instance.
//!
//! ```no_run
//! use client::{Client, Credentials, Ephemeral};
//! let instance = Ephemeral::start(&[("processes", "40")])?;
//! let mut session = instance.connect(&Credentials::Sysdba)?;
//! session.execute("create table t (n number)", &[])?;
//! for row in session.query("select n from t", &[])?.all()? {
//!     println!("{row:?}");
//! }
//! # Ok::<(), client::ClientError>(())
//! ```
//! A client is blocking and single-threaded. A [`BreakHandle`] may be sent to another thread, or to the thread of a
//! signal handler, to break the call in flight.

mod address;
mod array;
mod connection;
mod ephemeral;
mod error;
mod names;
mod net_session;
mod options;
mod outcome;
mod remote;
mod session;
mod tls;

pub use address::NetAddress;
pub use array::{ArrayError, ArrayOptions, ArrayOutcome};
pub use connection::SOCKET_NAME;
pub use ephemeral::{Ephemeral, EphemeralOptions, Template, find_executable};
pub use error::{ClientError, ClientResult};
pub use names::{Description, Names, Route};
pub use net::StatementKind;
pub use net::command::{self, Feedback};
pub use net::local::{Bind, Column, Direction, Done, Failure, ListenerWord, Welcome};
pub use net::oracle::o5logon::Stretched;
pub use net_session::{NetSession, Stage, Stranger, ping, ping_route};
pub use options::{ConnectOptions, Credentials};
pub use outcome::Outcome;
pub use session::{BreakHandle, Client, Query};
pub use tls::Trust;
