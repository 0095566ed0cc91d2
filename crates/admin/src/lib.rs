#![forbid(unsafe_code)]
//! Administration of a running instance: ALTER SYSTEM, the parts of ALTER DATABASE that change no dictionary, backup
//! mode, media recovery, the undo tablespace, ORADEBUG, trace files.

mod administrator;
mod backup;
mod media;
pub mod oradebug;
mod parameter;
mod system;
pub mod trace;
mod undo_tablespace;

pub use administrator::Administrator;
pub use system::alter_system;
