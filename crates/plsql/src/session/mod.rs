//! The interface of PL/SQL for sessions and DDL.

mod blocks;
mod cursors;
mod functions;
mod units;

pub use functions::Function;
