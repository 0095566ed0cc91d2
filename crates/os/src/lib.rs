//! Files, clock, pages and futexes: the only crate of Latchwork that calls the operating system.
//!
//! Every module is a thin, safe interface to one system call or a few related ones. State between calls exists only in
//! the counters of `signal::flag_on`, the heap counts and stack bounds of threads, and, with the feature `faults`, the
//! faults of files in `injection`. No module knows the purpose of the memory, the files or the processes.
//!
//! All errors are [`OsError`]: the call that failed, its object, and the operating system's own error.

mod aligned;
pub mod blocks;
pub mod clock;
pub mod cpu;
mod direct;
pub mod epoll;
mod error;
pub mod file;
pub mod futex;
pub mod heap;
pub mod injection;
pub mod memory;
pub mod panics;
pub mod proc;
pub mod process;
pub mod random;
pub mod ring;
pub mod shared;
pub mod signal;
pub mod socket;
pub mod stack;
pub mod timer;
pub mod user_files;

pub use error::{OsError, OsResult};
pub use shared::SharedLayout;
