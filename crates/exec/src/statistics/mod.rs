//! A cursor's place in the library cache, and the figures of statements: executions, parse calls, rows. Figures are
//! counted in the session and added to the shared cursors from time to time, so that an execution writes nothing
//! shared.
//!
//! # Time
//!
//! The clocks measure a call's elapsed time and processor time when it begins and ends, and once a second while it
//! lasts. This time is divided among the statements that ran in the call; the rest is the time of PL/SQL and of the
//! call itself. So the times of a session's statements never add up to more than the session's time. A *segment* is a
//! stretch in which one cursor runs: from the beginning of an execution or a fetch until it ends, or until PL/SQL
//! leaves the open query. A timed segment reads the time-stamp counter at both ends. Timed are the first segments of a
//! cursor in a call, all segments of a cursor whose segments are long, and one in sixty-four short segments on average,
//! chosen at random. An untimed segment is charged the processor time of a typical timed one; waits and time without a
//! processor are left out of that. See decision 15.
//!
//! The time and the blocks of a statement do not include those of statements that run inside it.
//!
//! # Blocks
//!
//! A statement is charged the blocks that the session got and read between the beginning and the end of an execution,
//! less the blocks charged to other statements meanwhile; so a loop over rows is not charged for the reads of its body.
//! When cursors are open side by side and end in another order than they began, one of them may be charged within a
//! call for blocks that another got before.
//!
//! A PL/SQL block is charged for everything that happens while it runs, and so is the block around it. The figures of a
//! long execution are reported while it runs.

mod figure;
mod figures;
mod place;
mod running;

pub use figures::{Figures, Timing};
pub use place::{Place, digest};
pub use running::Run;
