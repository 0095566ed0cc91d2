//! The contents of a database after a crash, after a restore, and with damaged or missing files.

mod backup;
mod bigfile;
mod common;
mod crash;
mod datafile;
mod dictionary;
mod file_io;
mod files;
mod fork;
mod lobs;
mod media;
mod prepared;
mod undo_tablespaces;
