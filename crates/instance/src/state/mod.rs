//! The state of the instance as a whole, in the SGA.
//!
//! | part | what it has |
//! |---|---|
//! | [`words`] | the areas; the phase, and the slots of the background processes |
//! | [`slaves`] | the job queue and its slaves |
//! | [`logons`] | words of logons: keys that break calls, limits, refusals, times |
//! | [`designs`] | the session that holds switched designs, and the designs before; the session that records latch gets |
//! | [`listener`] | requests to the supervisor about the listener, and its counts |

mod designs;
mod listener;
mod logons;
mod slaves;
mod words;

pub use listener::ListenerWish;
pub use logons::ConnectTimes;
pub use slaves::{Assigned, Assignment};
pub use words::{Phase, SLAVES_MAX, SWITCHED_MAX, State, StateLayout, WRITERS_MAX, writer_name};
