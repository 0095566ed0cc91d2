//! Oracle Net: the protocol between drivers and the server over TCP.
//!
//! | module | contents |
//! |---|---|
//! | [`tns`] | packets, and the packets without calls: CONNECT, ACCEPT, REFUSE, MARKER |
//! | [`descriptor`] | the nested `(KEY=value)` lists of connect data |
//! | [`field`] | the numbers, bytes and texts in messages |
//! | [`handshake`] | the two messages that agree on versions and data types |
//! | [`auth`] | the two messages of a logon, with the proof of the password of [`o5logon`] |
//! | [`native`] | native encryption and checksums, with the key exchange of [`diffie_hellman`] |
//! | [`call`] | the client's calls: execute, fetch, commit, … |
//! | [`reply`] | the server's answers: descriptions, rows, outcomes |
//! | [`rows`] | the bind values of many executions |
//! | [`value`] | the bytes of a value, by data type |
//!
//! Only one dialect is spoken, that of a 19c server with few capabilities (field version 12): all present drivers speak
//! it, and capabilities that are not offered need not be refused. The decoders trust no byte. A message does not
//! contain its length: a decoder that misses the end returns [`WireError::Truncated`](crate::local::WireError), and the
//! caller tries again with the bytes of the next packet.

pub mod auth;
pub mod call;
pub mod descriptor;
pub mod diffie_hellman;
pub mod field;
pub mod global;
pub mod handshake;
pub mod lob;
pub mod native;
pub mod o5logon;
pub mod reply;
pub mod rows;
pub mod tns;
pub mod value;

/// The types of messages, by their first byte.
pub mod message {
    pub const PROTOCOL: u8 = 1;
    pub const DATA_TYPES: u8 = 2;
    pub const FUNCTION: u8 = 3;
    pub const ERROR: u8 = 4;
    pub const ROW_HEADER: u8 = 6;
    pub const ROW_DATA: u8 = 7;
    pub const PARAMETERS: u8 = 8;
    pub const STATUS: u8 = 9;
    pub const IO_VECTOR: u8 = 11;
    pub const LOB_DATA: u8 = 14;
    pub const WARNING: u8 = 15;
    pub const DESCRIBE: u8 = 16;
    pub const PIGGYBACK: u8 = 17;
    pub const SERVER_PIGGYBACK: u8 = 23;
    /// A call without an answer.
    pub const ONE_WAY: u8 = 26;
    pub const IMPLICIT_RESULTS: u8 = 27;
    pub const END_OF_RESPONSE: u8 = 29;
}

/// The functions, by the second byte of a function message or piggyback.
pub mod function {
    pub const REEXECUTE: u8 = 4;
    pub const FETCH: u8 = 5;
    pub const LOGOFF: u8 = 9;
    pub const COMMIT: u8 = 14;
    pub const ROLLBACK: u8 = 15;
    pub const VERSION: u8 = 59;
    pub const GLOBAL_RECOVERED: u8 = 67;
    pub const REEXECUTE_AND_FETCH: u8 = 78;
    pub const EXECUTE: u8 = 94;
    pub const LOB: u8 = 96;
    pub const DESCRIBE: u8 = 98;
    pub const GLOBAL_SWITCH: u8 = 103;
    pub const GLOBAL_END: u8 = 104;
    pub const CLOSE_CURSORS: u8 = 105;
    pub const AUTH_PHASE_TWO: u8 = 115;
    pub const AUTH_PHASE_ONE: u8 = 118;
    pub const DESCRIBE_OBJECT: u8 = 119;
    pub const CANCEL_CURSORS: u8 = 120;
    pub const END_TO_END: u8 = 135;
    pub const PING: u8 = 147;
    pub const SET_SCHEMA: u8 = 152;
    pub const KEY_VALUES: u8 = 154;
    pub const SESSION_RELEASE: u8 = 163;
    pub const SESSION_STATE: u8 = 176;
    pub const BEGIN_PIPELINE: u8 = 199;
    pub const END_PIPELINE: u8 = 200;
}
