//! The listener: connections of Oracle Net over TCP.
//!
//! A separate process accepts them and speaks with all clients that have not proved a password yet ([`gate`]). Each
//! client that has proved its password gets a server process, like a local connection; its calls are read in that
//! process. The supervisor learns of the server process before that takes a process slot, so that its death is always
//! noticed.
//!
//! | layer | module | purpose |
//! |---|---|---|
//! | sockets | [`tls`] | the certificate, and encrypted sockets |
//! | | [`sockets`] | the listening sockets and their addresses |
//! | | [`line`] | the packets in and out; waits also end with the signals that end a session |
//! | | [`watch`] | a client that breaks a call |
//! | clients | [`connect`], [`control`] | CONNECT: the requested service; the requests of lsnrctl |
//! | | [`pool_client`] | the request of a client of the connection pool |
//! | | [`proved`] | a client that has proved its password |
//! | | [`logon`] | versions, data types, the proof of the password, the session |
//! | | [`handed`] | a client that is passed to another process |
//! | calls | [`cursors`], [`locators`] | the statements and the LOBs of which a client has numbers and locators |
//! | | [`calls`] | the session as the calls of its client use it |
//! | | [`answering`] | an answer whose beginning may be sent ahead |
//! | | [`references`], [`lobs`], [`describe`], [`global`] | calls by subject |
//! | | [`results`], [`direct`], [`scroll`] | rows and returned values |
//! | | [`array`], [`execute`] | executions and fetches |
//! | | [`requests`] | the call of each request, and its answer |
//! | | [`pipeline`] | calls that do not wait for answers |
//! | processes | [`bounds`], [`pending`] | rates and delays of the listener process; a connection before the proof |
//! | | [`serve`] | a server process of the network |
//! | | [`pooled`] | a session of the connection pool between clients |
//! | | [`gate`] | the listener process: everything before the proof, for all connections at once |

mod answering;
mod array;
mod bounds;
mod calls;
mod connect;
mod control;
mod cursors;
mod describe;
mod direct;
mod execute;
mod gate;
mod global;
mod handed;
mod line;
mod lobs;
mod locators;
mod logon;
mod pending;
mod pipeline;
mod pool_client;
mod pooled;
mod proved;
mod references;
mod requests;
mod results;
mod scroll;
mod serve;
mod sockets;
mod tls;
mod watch;

pub use control::obey;
pub use gate::run as run_gate;
pub use pool_client::Head;
pub use pooled::{Kept, Served, serve_pooled, turn_away};
pub use proved::Proved;
pub use serve::{Conversation, serve, serve_in_copy};
pub use sockets::Listener;
pub use watch::Watch;
