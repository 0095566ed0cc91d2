#![deny(unsafe_code)] // Only in what `sga_struct!` writes.
//! The instance and its sessions: every shared structure, made once, and the calls of one user.

/// Every process of an instance has its heap counted, for `pga_aggregate_limit`, `_pga_max_size` and `v$process`.
#[global_allocator]
static HEAP: os::heap::CountedHeap = os::heap::CountedHeap;

mod alter;
mod app_context;
mod array;
pub mod ash;
mod audit;
mod awr;
mod awr_segments;
mod backup;
mod blocks;
mod caches;
mod call;
mod caller;
mod commit_write;
mod constraints;
mod context;
mod core;
mod ddl_call;
mod edition;
mod explain;
mod guest;
pub mod hang;
mod housekeeping;
mod identity;
mod in_process;
mod instance;
mod jobs;
mod kept;
mod kind;
mod logon;
mod media;
pub mod metrics;
pub mod nls;
mod oradebug;
mod passwords;
mod proxy;
mod recursive;
mod references;
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
mod undo_tablespace;
mod world;

pub use array::NextRow;
pub use audit::lost_entry as lost_audit_entry;
pub use caches::{Caches, OnCommit};
pub use call::RowSink;
pub use caller::Caller;
pub use core::{FixedTables, MakeFixedTables, SessionFace};
pub use guest::{Doorkeeper, Proof};
pub use housekeeping::Housekeeper;
pub use in_process::InProcess;
pub use instance::Instance;
pub use kind::kind_of;
pub use logon::{alert_entry, snipe_idle, unlisted_entry};
pub use proxy::split_name;
pub use repository::{INTERVAL_MIN, RETENTION_MIN};
pub use scn_times::{ScnSampler, undo_totals};
pub use session::{BANNER, Flow, JobOutcome, RELEASE, ScrollTo, Session};
pub use sizes::{BACKGROUND_PROCESSES, Sizes, statements_of};
pub use startup::{DATABASE_NAMES, Told, was_closed};
pub use state::{Assigned, Assignment, ConnectTimes, ListenerWish, Phase, SLAVES_MAX, State, StateLayout};
pub use storage::{Storage, apply_table};
