//! The virtual machine that runs compiled units.
//!
//! One loop over instructions; calls push frames on the machine's own stack, so recursion in PL/SQL does not recurse in
//! Rust. A call that comes back from SQL (a function in a query) runs on another machine of the session. Faults unwind
//! frame by frame to the innermost guard that covers the position and names the exception.
//!
//! The modules, lowest layer first; each imports only modules above it in the table. [`crate::state`], which holds the
//! machines of a session, comes between `values` and `path`.
//!
//! | module | contents |
//! |---|---|
//! | `fault`, `scalar` | exceptions being raised; operations on scalar values |
//! | `frames` | the machine's stack, and access to operands |
//! | `cursor` | open cursors in variables |
//! | `values` | operations on texts and nested tables; functions of STANDARD |
//! | `multiset` | nested tables as multisets |
//! | `path` | elements and fields of variables |
//! | `calls` | entering and leaving frames, and the way of a fault to its handler |
//! | `bulk`, `gather`, `statement`, `forall`, `dynamic` | SQL |
//! | `run` | the loop over instructions |
//! | `pipe` | the rows of a pipelined function |

mod bulk;
mod calls;
mod cursor;
mod dynamic;
mod fault;
mod forall;
mod frames;
mod gather;
mod multiset;
mod path;
mod pipe;
mod run;
pub(crate) mod scalar;
mod statement;
mod values;

pub(crate) use cursor::{Cursors, OpenCursor};
pub(crate) use fault::{Fault, Run, error_stack};
pub(crate) use frames::Machine;
