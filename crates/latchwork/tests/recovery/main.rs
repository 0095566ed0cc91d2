//! The contents of a database after a crash, after a restore, and with damaged or missing files.

mod backup;
mod common;
mod crash;
mod datafile;
mod files;
mod media;
mod prepared;
mod undo_tablespaces;
