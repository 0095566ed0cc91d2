//! The local protocol between a client and its server process on the same machine, over a Unix socket.
//!
//! Packets are length-prefixed frames ([`frame`]) of fields ([`wire`]) that carry requests and replies ([`packet`]).
//! The decoders trust no byte: each length and count is checked before use, and bytes that the encoder would not write
//! are a [`WireError`], never a panic. A text protocol was rejected because rows carry exact numbers and dates.

pub mod array;
pub mod bind;
pub mod frame;
pub mod packet;
pub mod value;
pub mod wire;

pub use array::{ARRAY_ROWS_MAX, Array, BindRows};
pub use bind::{Bind, Direction};
pub use frame::{FrameBuffer, MAX_REPLY_LEN, MAX_REQUEST_LEN, write_frame};
pub use packet::{
    Column, Done, Execute, Executed, Failure, ListenerWord, Logon, PROTOCOL_VERSION, Reply, Request, RowsWriter,
    TableBind, Welcome, encode_rows,
};
pub use wire::{WireError, WireResult};
