//! Deferred constraints: SET CONSTRAINTS, and the notes that a later check reads.
//!
//! Each statement tests every constraint at once. A violation of a deferred constraint is noted: the duplicate key, the
//! values without a parent or whose parent is gone, the row that fails a condition. A check reads the notes only, so
//! its cost depends on the number of violations and not on the size of the tables. It looks at the current state: a
//! violation that a rollback to a savepoint has undone is none any more. For the same reason notes are kept until the
//! transaction ends, even after a check without violations: a rollback to an earlier savepoint may restore a violation
//! (E11).
//!
//! Notes beyond some megabytes are written to temporary space, each file in order.

mod check;
mod notes;
mod noting;

pub use check::check;
pub use notes::{Constraints, Transaction};
pub use noting::{Side, is_deferred, note_key, note_row, note_values};
