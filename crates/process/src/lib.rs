//! Process and session slots, micro-undo and death clean-up of Latchwork.
//!
//! Every process of an instance has a slot in the SGA: its identity, its wait, its holds, its counts, and a small log
//! of the words it is changing. A process passes its own [`Process`] down through every call; everything it gets or
//! changes through that handle can be cleaned up after `kill -9` at any instruction.
//!
//! **Micro-undo.** A structure that a latch protects is changed through a [`Section`], which notes the place and the
//! old value of each word before it stores the new one. The end of a section empties the log with one store, and only
//! then is the latch freed. When a process dies, [`Processes::cleanup`] restores the old words of its open sections,
//! newest first, then frees its latches, then runs the hooks of the crates above. No structure needs its own recovery
//! code.
//!
//! | state of a slot | what may be trusted | way out |
//! |---|---|---|
//! | free | nothing | [`Processes::attach`] |
//! | starting | the owner's process id | attach goes on; cleanup |
//! | active | everything, by the rules of each field | [`Process`] dropped; cleanup |
//! | cleaning | nothing but the log and the holds | cleanup ends: free |
#![deny(unsafe_code)] // Only in what `sga_struct!` writes.

mod attach;
mod cleanup;
mod dying;
mod free;
mod gets;
mod handle;
mod limits;
mod memory;
mod pga;
mod recording;
mod registry;
mod section;
mod segment_statistics;
mod session;
mod slots;
mod stop;
mod switch;
mod times;
mod undo;

pub use attach::Attach;
pub use dying::Cleaned;
pub use handle::{Process, WaitGuard};
pub use limits::Limits;
pub use pga::{Pga, PgaLimits};
pub use registry::{CleanupOrder, LatchSet, ProcessConfig, ProcessLayout, Processes};
pub use section::{MutexSection, Section, SharedHold};
pub use segment_statistics::{SegmentFigures, SegmentStat, SegmentStatistics, SegmentStatisticsLayout};
pub use session::{Cancel, SessionSlot, SessionStatus};
pub use slots::{Owner, ProcessSlot, ProcessState};
pub use times::{EventSums, ParseClock, Whose};
