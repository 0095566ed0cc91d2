#![deny(unsafe_code)] // The expansion of `sga_struct!` has the only unsafe code.
//! The instance: every shared structure, made once and inherited by every process; its files, its start and its state.

/// Counts the heap of every process for `pga_aggregate_limit`, `_pga_max_size` and `v$process` (invariant 5).
#[global_allocator]
static HEAP: os::heap::CountedHeap = os::heap::CountedHeap;

mod apply;
pub mod ash;
mod caches;
mod clock;
pub mod connection_pool;
mod designs;
mod fixed;
mod housekeeping;
mod in_process;
mod instance;
pub mod metrics;
mod opening;
mod recording;
mod release;
mod scn_times;
mod sizes;
mod startup;
mod state;
mod storage;
mod switch;
mod text;
pub mod undo_tablespace;

pub use apply::apply_table;
pub use caches::{Caches, OnCommit};
pub use clock::local_time_at;
pub use fixed::{FixedTables, MakeFixedTables, SessionFace};
pub use housekeeping::Housekeeper;
pub use in_process::InProcess;
pub use instance::Instance;
pub use release::{BANNER, RELEASE};
pub use scn_times::{ScnSampler, undo_totals};
pub use sizes::{BACKGROUND_PROCESSES, Sizes, statements_of};
pub use startup::{DATABASE_NAMES, Told, was_closed};
pub use state::{
    Assigned, Assignment, ConnectTimes, ListenerWish, Phase, SLAVES_MAX, State, StateLayout, WRITERS_MAX, writer_name,
};
pub use storage::Storage;
pub use text::Text;
