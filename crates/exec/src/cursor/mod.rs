//! Cursors: a statement compiled once and executed many times.
//!
//! | state | content | way out |
//! |---|---|---|
//! | Closed | the plan, valid while all its names keep their meaning | `execute` |
//! | Rows | the row sources are open as of the snapshot | `fetch` to the end, `close`, `execute` |
//! | Cached | the rows are in the result buffer | the same |
//! | Done | the number of rows processed, RETURNING's rows | the same |
//!
//! Executing again allocates nothing on the single-row paths (E1): the registers, the result buffer and the bind values
//! keep their memory, the plan is checked by one load of the epoch (E2), and the statement's figures are counted in the
//! session (E8). When the epoch has moved, the look-ups of the plan are repeated ([`plan::names`]).
//!
//! A soft parse reads no text: it makes the cursor from the image in the library cache ([`crate::shared_plan`]). The
//! row sources of a query are built at its first execution, because a parse call that only describes it needs none.
//!
//! `compile` makes cursors, `execute` runs them, `fetch` returns their rows.

mod build;
mod checks;
mod compile;
mod describe;
mod execute;
mod fetch;
mod inner;
mod renew;
mod state;
mod waiting;

pub(crate) use compile::compile_inner;
pub use compile::read_text;
pub use describe::updatable_columns;
pub use state::{Cursor, Described, StatementKind, TakeStored};
