//! The interface of PL/SQL for sessions and DDL.

mod blocks;
mod compound;
mod cursors;
mod functions;
mod pipes;
mod triggers;
mod units;

pub use functions::Function;
pub use triggers::CheckedTrigger;
