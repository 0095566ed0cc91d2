//! The interface of PL/SQL for sessions and DDL.

mod blocks;
mod cursors;
mod functions;
mod triggers;
mod units;

pub use functions::Function;
pub use triggers::CheckedTrigger;
