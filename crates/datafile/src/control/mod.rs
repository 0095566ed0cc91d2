//! The control file: the database, its tablespaces and files, and the state of its redo.
//!
//! Each module imports only modules above it in the table:
//!
//! | module | contents |
//! |---|---|
//! | `entries` | tablespaces and files |
//! | `contents` | all of a control file, and look-ups in it |
//! | `text` | its text, printed and parsed |
//! | `disk` | reading and replacing its two copies |

mod contents;
mod disk;
mod entries;
#[cfg(test)]
mod tests;
mod text;

pub use contents::ControlFile;
pub use entries::{BackupEntry, Contents, FileEntry, GoneEntry, OfflineEntry, PartBlocks, TablespaceEntry};
