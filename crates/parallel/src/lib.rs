//! Servers of parallel queries: their assignment to coordinators, and the messages between them.
//!
//! A query's coordinator takes several servers at once ([`Servers::take`]): a [`Team`]. Each server has a ring for
//! messages to it and one for messages from it. The executor defines the content of messages and the meaning of
//! granules.
#![deny(unsafe_code)] // unsafe only in the expansion of `sga_struct!`

mod ring;
mod servers;
mod slot;
mod team;
mod work;

pub use servers::{Counts, Seen, Servers, name};
pub use slot::{GRANULES_MAX, Layout, SERVERS_MAX};
pub use team::{Came, Team};
pub use work::{Assignment, Found};
