//! Parallel parts of plans: the coordinator's row source, and the work of a server (E31).
//!
//! A coordinator sends each server the same [`Job`] and returns their rows in the order of arrival. It also holds the
//! part as row sources of its own, for the case without servers. A server builds row sources from the image in the job
//! and sends rows until no granule is left.
//!
//! | message | from a server |
//! |---|---|
//! | `ROWS` | how many, and their values one behind the other (`spill::rows`) |
//! | `END` | there are no more; rows and bytes of all messages before; what its operations did, if counted |
//! | `ERROR` | the number, text and stack of an error, behind the rows before it |
//! | `REFUSED` | the server has read nothing, and another process must run its share: the dictionary has changed |
//!
//! The reads and the time of a server count for the statement: the server adds them to the shared cursor itself when
//! its part ends, with or without an error. The figures of operations go through the coordinator, which owns the
//! execution; those of a server that fails, or that the coordinator does not wait for, are left out.

pub(crate) mod coordinator;
mod figures;
mod job;
mod message;
mod server;

pub use figures::{ParallelCounts, ParallelFigures, QueueLine};
pub use job::Job;
pub use message::report;
