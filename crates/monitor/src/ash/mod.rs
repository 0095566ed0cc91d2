//! The active session history: the activity of every session that is not idle, once a second, in a ring in the SGA.
//!
//! | part | what it does |
//! |---|---|
//! | [`schedule`] | says when a sample is due, and what time it stands for |
//! | [`sampler`] | looks at all sessions and makes the samples |
//! | [`save`] | writes one in ten into the workload repository |
//!
//! Sessions do nothing for it: the sampler reads the words that they show anyway (slot, live wait, cursors,
//! statistics), and what a wait that a sample saw came to is noted behind it, once it has ended. A session is active
//! when it does not wait for an event of the class Idle, which is what `DB time` counts: the sum of the times that
//! samples stand for is an estimate of it.

mod sampler;
mod save;
mod schedule;

pub use sampler::Sampler;
pub(crate) use save::Saving;
pub use save::save_now;
