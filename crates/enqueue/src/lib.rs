//! Queued locks with modes and deadlock detection.
//!
//! A resource is a type and two numbers; a session owns it in a mode, waits for it, or owns it and waits for a stronger
//! mode. Requests are granted first come, first served, converters before waiters. A waiter sleeps until its process is
//! posted. All queues are linked lists in the SGA, changed under the `enqueue hash chains` latch of the resource
//! through micro-undo. A process that dies at any instruction leaves them whole; PMON then releases its locks.
//!
//! A releaser grants a lock inside its section and posts after it. A waiter that finds its request granted gets the
//! latch once before it relies on the grant (invariant 5): the releaser may have died before its section ended, and the
//! grant may be rolled back.

#![deny(unsafe_code)] // Needed by the code that `sga_struct!` generates.

mod config;
mod deadlock;
mod enqueues;
mod error;
mod free;
mod get;
mod holders;
mod kinds;
mod modes;
mod queue;
mod slots;
mod stock;
#[cfg(test)]
mod tests;
mod views;

pub use config::{EnqueueConfig, EnqueueLayout, holders_for};
pub use deadlock::DeadlockWait;
pub use enqueues::{Enqueues, LockId, Timeout};
pub use error::EnqueueError;
pub use holders::OwnedLock;
pub use kinds::{EnqueueType, LockMode};
pub use views::{LockView, TypeFigures, Usage};
