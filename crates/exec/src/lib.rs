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
mod builder;
mod code;
mod compare;
mod compile;
pub mod constraints;
mod convert;
mod ctx;
mod cursor;
mod dml;
mod eval;
mod feedback;
mod flashback;
mod function;
mod hash;
mod host_functions;
mod index;
mod inner_statement;
mod join;
mod lob_ids;
mod lob_store;
pub mod lobs;
mod long_list;
mod machine;
mod measure;
pub mod objects;
mod options;
mod pairs;
pub mod parallel;
mod restart;
mod sampling;
mod scroll;
mod sequence;
mod session_state;
mod shared;
pub mod shared_plan;
mod source;
mod spill;
mod statistics;
mod subqueries;
mod table;
pub mod temporary;
mod trigger;
pub mod work_area;

pub use block::{BlockCode, BlockCursor, Trust, UnfitCode};
pub use ctx::{ExecCtx, FixedScan, FixedTable, Host, Rights, Row};
pub use cursor::{Cursor, Described, StatementKind, TakeStored, read_text, updatable_columns};
pub use dml::in_trigger;
pub use flashback::scn_of_number;
pub use options::Options;
pub use plan::rows as plan_rows;
pub use plan::{
    BindType, Column, Firing, Functions, HostFunction, NESTED_CURSOR, NoVariables, TextOwner, Trigger, Variables,
    is_alike,
};
pub use scroll::Scroll;
pub use session_state::SessionState;
pub use shared::Shared;
pub use statistics::{Figures, Timing, digest};
pub use trigger::{ROWID_COLUMN, RowOf, TriggerRow};
