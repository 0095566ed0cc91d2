//! The X$ and V$ views: rows made by code from the shared structures, at the moment they are read.
//!
//! Each view is one entry in a list: name, columns, and a function that makes its rows. The function takes no latch and
//! keeps nothing: a query that opens a view again gets new rows, on which sampling by nested loops relies (V1, V2).
#![forbid(unsafe_code)]

mod accounts;
mod advice;
mod backup;
mod branches;
mod buffers;
mod catalog;
mod column;
mod database;
mod dependencies;
mod history;
mod latches;
mod limits;
mod locks;
mod memory;
mod metrics;
mod parallel;
mod pools;
mod redo;
mod results;
mod rowcache;
mod segments;
mod sessions;
mod source;
mod space;
mod sql;
mod statistics;
mod system_columns;
mod transactions;
mod type_views;
mod units;
mod updatable;
mod waits;
mod work_areas;
mod zones;

pub use catalog::{Views, make, prepare};
pub use source::{InstanceFacts, Source};
