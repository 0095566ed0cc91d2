//! INSERT, UPDATE, DELETE and MERGE.

mod batch;
mod bulk;
mod delete;
mod direct;
mod error_log;
mod fire;
mod fire_row;
mod insert;
mod instead;
mod intervals;
pub(crate) mod keys;
mod later;
mod locks;
mod merge;
mod row;
mod scattered;
mod statement;
mod stored_lobs;
mod update;
mod writer;

pub use fire::{When, in_trigger};
pub use locks::TableLocks;
pub use statement::Dml;
