//! Rolling a database forward: from files that are behind, and redo, to files that are not.
//!
//! Recovery runs before there is an instance: it needs the data files, the redo and the functions that apply change vectors, and
//! nothing of shared memory. Blocks are kept in a pool of private memory ([`pool`]) and go to the files when it is full and at the
//! end. The same roll forward serves a start after a crash ([`crash`]) and a restored backup.
//!
//! Rejected: recovering through the buffer cache. Its latches, pins and change groups serve many processes at once, and recovery is
//! one process that nobody can meet; a pool of its own is faster, needs no SGA, and lets a backup be restored by a program.
#![forbid(unsafe_code)]

mod crash;
mod forward;
mod pool;

pub use crash::{CrashRecovery, recover_crashed};
pub use forward::{Forward, Outcome, Progress, Until, roll_forward};
