#![deny(unsafe_code)] // Only in what `sga_struct!` writes.
//! The instance and its sessions: every shared structure, made once, and the calls of one user.

mod alter;
pub mod ash;
mod awr;
mod backup;
mod caches;
mod call;
mod commit_write;
mod constraints;
mod context;
mod core;
mod ddl_call;
mod explain;
pub mod hang;
mod housekeeping;
mod in_process;
mod instance;
mod jobs;
mod kind;
pub mod nls;
mod oradebug;
mod repository;
mod run;
mod scn_times;
mod session;
mod shared_pool;
mod sizes;
mod startup;
mod state;
mod storage;
mod trace;
mod world;

pub use caches::{Caches, OnCommit};
pub use core::{FixedTables, MakeFixedTables, SessionFace};
pub use housekeeping::Housekeeper;
pub use in_process::InProcess;
pub use instance::Instance;
pub use kind::kind_of;
pub use repository::{INTERVAL_MIN, RETENTION_MIN};
pub use scn_times::{ScnSampler, undo_totals};
pub use session::{BANNER, Flow, JobOutcome, Session};
pub use sizes::{BACKGROUND_PROCESSES, Sizes};
pub use startup::Told;
pub use state::{Assigned, Assignment, ConnectTimes, Phase, SLAVES_MAX, State, StateLayout};
pub use storage::{Storage, apply_table};
