//! The files of a database directory: control file and data files.
//!
//! A database is a directory. `control` identifies the database, lists its tablespaces and files, and notes whether it
//! was shut down cleanly; it is replaced atomically (new file, sync, rename, sync of the directory). Every data file
//! starts with a header block that repeats database, block size and numbers, so a file of another database is refused
//! (R2).
//!
//! Blocks are checked when they are read: a wrong checksum or address is ORA-01578 with file and block (R3).

#![forbid(unsafe_code)]

mod asynchronous;
mod away;
mod control;
mod double_write;
mod error;
mod files;
mod geometry;
mod logs;
mod names;
mod opening;
mod space;
mod stamp;
mod table;

pub use asynchronous::AsyncWriter;
pub use control::{
    BackupEntry, Contents, ControlFile, FileEntry, GoneEntry, OfflineEntry, PartBlocks, TablespaceEntry,
};
pub use double_write::{COVER_MAX, Cover, Restored};
pub use files::{CreateDatabase, DataFiles, TablespaceSpec};
pub use geometry::{blocks_min as part_blocks_min, part_sizes};
pub use logs::LogsOf;
pub use names::{CONTROL_COPY, CONTROL_FILE, DOUBLE_WRITE_FILE, tablespace};
pub use redo::{CheckpointEntry, IncarnationEntry, LogGroupEntry, LoggedEntry};
pub use space::{NewFile, require_name};
