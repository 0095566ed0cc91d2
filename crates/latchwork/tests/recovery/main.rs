//! What is there after a crash, after a restore, and in spite of damaged and missing files.

mod backup;
mod common;
mod crash;
mod datafile;
mod files;
mod media;
mod prepared;
mod undo_tablespaces;
