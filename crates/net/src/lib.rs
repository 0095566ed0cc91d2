#![forbid(unsafe_code)]
//! Packet codecs of Latchwork: bytes in, values out. No socket, no clock.

pub mod command;
pub mod local;
pub mod oracle;

pub use command::{Feedback, StatementKind};
