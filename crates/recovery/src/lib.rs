//! Rolling a database forward: from files that are behind, and redo, to files that are not.
//!
//! Recovery runs before there is an instance: it needs the data files, the redo and the functions that apply change
//! vectors, and nothing of shared memory. Blocks are kept in a pool of private memory ([`pool`]) and go to the files
//! when it is full and at the end. The same roll forward serves a start ([`start`]) and a restored backup.
//!
//! Rejected: recovering through the buffer cache. Its latches, pins and change groups serve many processes at once, and
//! recovery is one process that nobody can meet; a pool of its own is faster, needs no SGA, and lets a backup be
//! restored by a program.
#![forbid(unsafe_code)]

mod backup;
mod batch;
mod forward;
mod manifest;
mod media;
mod pool;
mod reset;
mod restore;
mod start;

pub use backup::Backup;
pub use forward::{Forward, Outcome, Progress, Until, Workers, roll_forward};
pub use manifest::{FilePiece, LogPiece, MANIFEST, Manifest, Moment};
pub use media::{FileRecovery, recover_file};
pub use reset::{Reset, reset_logs};
pub use restore::{Restore, Restored, Step, restore};
pub use start::{Recovery, Standing, recover, scan, standing};
