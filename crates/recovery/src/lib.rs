//! Rolling a database forward: redo is applied to data files that are behind it.
//!
//! Recovery runs before there is an instance: it needs the data files, the redo and the functions that apply change
//! vectors, and no shared memory. Blocks are kept in a pool of private memory ([`pool`]) and written to the files when
//! it is full and at the end. The same roll forward serves a start ([`start`]) and a restored backup.
//!
//! Rejected: recovering through the buffer cache. Its latches, pins and change groups serve many concurrent processes,
//! and recovery runs alone; a private pool is faster, needs no SGA, and allows a program without an instance to restore
//! a backup.
#![forbid(unsafe_code)]

mod backup;
mod batch;
mod fork;
mod forward;
mod manifest;
mod media;
mod pool;
mod reset;
mod restore;
mod start;

pub use backup::Backup;
pub use fork::{
    FORK_MARK, FORK_UNFINISHED, Fork, Forked, clear_fork, end_unfinished, fork, is_unfinished, names_of, remove_listed,
    require_forkable,
};
pub use forward::{Forward, Outcome, Progress, Until, Workers, roll_forward};
pub use manifest::{FilePiece, LogPiece, MANIFEST, Manifest, Moment};
pub use media::{FileRecovery, recover_file};
pub use reset::{Reset, reset_logs};
pub use restore::{Restore, Restored, Step, restore};
pub use start::{Recovery, Standing, recover, scan, standing};
