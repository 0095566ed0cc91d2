//! Data files: make, open, read, write, extend, sync.
//!
//! Each module imports only modules above it in the table:
//!
//! | module | contents |
//! |---|---|
//! | `definition` | the definitions of new tablespaces and databases |
//! | `data_files` | the files of a database: states, settings, numbers |
//! | `change` | the control file, read and changed |
//! | `make`, `open`, `blocks`, `sync` | operations on files |

mod blocks;
mod change;
mod data_files;
mod definition;
mod make;
mod open;
mod sync;

pub use data_files::DataFiles;
pub use definition::{CreateDatabase, TablespaceSpec};
pub(crate) use make::too_many_files;
