//! Code that tests, benches and examples of several crates share: random numbers, folders, processes of an instance
//! without a database, kills at random moments and at every step; with the feature `storage` also the storage of an
//! instance.
//!
//! A crate names it among its dev-dependencies only. It compiles fault injection in (`faults`).

#![forbid(unsafe_code)]

mod folder;
mod processes;
mod random;
#[cfg(feature = "storage")]
pub mod storage;

pub use folder::Folder;
pub use processes::{EVERY_STEP, Kills, attach, instance, instance_of, kill_at_every_step, kill_children, run_threads};
pub use random::Random;
