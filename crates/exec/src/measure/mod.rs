//! Figures of the operations of a plan (E30), counted on request: the hint GATHER_PLAN_STATISTICS, or `statistics_level
//! = ALL`.
//!
//! In a counting cursor each row source is wrapped in a counting one (`source::counted`, `batch::counted`); other
//! cursors are built without wrappers and pay nothing. A wrapper reads the process's own statistics and the clock
//! before and after each call, so the figures of an operation include those of the operations below it, as in Oracle.
//! They are added up in the cursor's `Machine` and go to the library cache when the execution ends, with or without an
//! error.
//!
//! Work areas note their figures as they are counted (`work_area`): after a call, the notes present belong to the
//! operation called, since the operations below have already taken theirs. An index scan notes in the same way which
//! part of its work was reading the table.

mod noted;
mod reading;
mod run;
mod work;

pub use noted::Noted;
pub use run::{Counting, Part, Place, Run};
pub use work::{begin, by_rowid, counted, end};
