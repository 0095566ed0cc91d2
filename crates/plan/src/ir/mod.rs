//! The plan: a tree of row sources over one register file.
//!
//! Every value in a statement (a column of a table, the result of an aggregate, ROWNUM) has a fixed register of the
//! cursor's register file (P1). A row source's `next` leaves the columns of its row in its registers; expressions read
//! registers. A join copies nothing, a correlated subquery reads the outer row's registers directly, and a row source
//! that buffers rows (sort, hash build) saves and restores exactly the registers that its input produces. Rejected:
//! tuples passed by value between row sources. They cost an allocation for each row and make correlation a special
//! case.
//!
//! The modules, lowest layer first: `expr`, `access`, `source`, `plan`.

mod access;
mod expr;
mod plan;
mod source;

pub use access::*;
pub use expr::*;
pub use plan::*;
pub use source::*;
