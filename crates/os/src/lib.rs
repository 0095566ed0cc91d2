//! Files, clock, pages and futexes: the only crate of Latchwork that calls the operating system.
//!
//! Everything here is a thin, safe face on one system call or a few that belong together. Nothing but the three fault
//! layers for tests (`crash`, `full`, `power`) keeps state between calls, and nothing knows what the memory, the files
//! or the processes are for.
//!
//! All errors are [`OsError`]: the call that failed, what it was asked to do, and the operating system's own error.

pub mod blocks;
pub mod clock;
pub mod cpu;
pub mod crash;
pub mod epoll;
mod error;
pub mod fault;
pub mod file;
pub mod full;
pub mod futex;
pub mod heap;
pub mod memory;
pub mod panics;
pub mod power;
pub mod proc;
pub mod process;
pub mod random;
pub mod shared;
pub mod signal;
pub mod socket;
pub mod stack;
pub mod timer;

pub use error::{OsError, OsResult};
pub use shared::SharedLayout;
