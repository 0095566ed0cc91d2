//! Row sources, expressions and DML: runs the plans of the `plan` crate.
//!
//! A statement is a [`Cursor`]: compiled once, then bound, executed and fetched any number of times. It runs in an
//! [`ExecCtx`]: the process, the shared structures, the session's state, and the [`Host`], through which SQL reaches
//! the crates above.
#![forbid(unsafe_code)]

mod adaptive;
mod aggregate;
mod batch;
mod block;
mod code;
mod compile;
pub mod constraints;
mod ctx;
mod cursor;
mod dml;
mod flashback;
mod function;
mod hash;
mod index;
mod join;
pub mod lobs;
mod machine;
mod measure;
pub mod objects;
pub mod parallel;
mod sampling;
mod scroll;
mod sequence;
pub mod shared_plan;
mod source;
mod spill;
mod statistics;
mod sub;
mod table;
pub mod temporary;
pub mod work_area;

pub use block::{BlockCode, BlockCursor, Trust, UnfitCode};
pub use ctx::{ExecCtx, FixedScan, FixedTable, Host, Options, Rights, Row, SessionState, Shared};
pub use cursor::{Cursor, Described, StatementKind, TakeStored, read_text, updatable_columns};
pub use flashback::scn_of_number;
pub use plan::rows as plan_rows;
pub use plan::{BindType, Column, Functions, HostFunction, NESTED_CURSOR, NoVariables, TextOwner, Variables, is_alike};
pub use scroll::Scroll;
pub use statistics::{Figures, Timing, digest};

/// Internal error by which a row source asks for a restart of the statement with a new snapshot; the cursor handles it.
const RESTART: u32 = 8177;

/// A row has changed since the statement's snapshot.
fn restart() -> types::Ora {
    types::Ora::new(RESTART)
}
