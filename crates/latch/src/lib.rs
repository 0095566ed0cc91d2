//! Latches, mutexes and versioned reads with the full statistics of Oracle latches.
//!
//! A [`Latch`] is one cache line in shared memory: a lock word and the counters of exclusive gets. A [`Domain`] holds
//! the data common to the latches of one instance: tunables, one slot for every process, misses by place. A [`Client`]
//! is the access of one process (or thread).
//!
//! | kind | readers write | used for |
//! |---|---|---|
//! | exclusive get | the latch's line | short changes |
//! | shared get | the latch's line | the designs of 9.2 to 12.2 |
//! | [`Mutex`] | its own word | one object |
//! | [`Versioned`] read | nothing shared | Latchwork's own design |
//!
//! The crate knows no SGA and no database. It works in any memory that all parties map at one address, also between
//! threads of one process. See `examples/`.
#![deny(unsafe_code)] // Except the layouts of the lock words, and one address that recovery reads.

mod by_hand;
mod client;
mod designs;
mod domain;
mod generation;
mod latch;
mod list;
mod mutex;
mod places;
mod primitive;
mod recorder;
mod recover;
pub mod reference;
mod ring;
mod switch;
#[cfg(test)]
mod tests;
mod versioned;
mod views;
mod waiting;
pub mod word;

pub use by_hand::ByHandError;
pub use client::{Client, Held, Mode};
pub use designs::{DesignWord, InForce, Structure};
pub use domain::{Domain, LatchShared, LatchSlot, SleepAlgorithm, Tunables};
pub use generation::Generation;
pub use latch::Latch;
pub use list::{LatchName, latch_hash};
pub use mutex::{Mutex, MutexHeld};
pub use places::{MutexKind, Owner, Where};
pub use recover::{Known, Recovered};
pub use ring::{LastHolder, Manner, Record, RecordKind, RecordLine, RingHead, RingView};
pub use switch::{Closed, Inside};
pub use versioned::Versioned;
pub use views::{HolderView, LatchCounts, MutexWait, PlaceCounts};

/// The example of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
