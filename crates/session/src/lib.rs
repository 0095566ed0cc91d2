#![deny(unsafe_code)]
//! The instance and its sessions: every shared structure, made once, and the calls of one user.

mod caches;
mod in_process;
mod instance;
mod kind;
mod nls;
mod session;
mod sizes;
mod state;
mod storage;

pub use caches::{Caches, OnCommit};
pub use in_process::InProcess;
pub use instance::Instance;
pub use kind::kind_of;
pub use session::{BANNER, Flow, Session};
pub use sizes::{BACKGROUND_PROCESSES, Sizes};
pub use state::{Assigned, Assignment, Phase, SLAVES_MAX, State, StateLayout};
pub use storage::Storage;
