//! Wait events and statistics of Latchwork.
//!
//! Two lists generate everything: [`events`] (name, class, what P1 to P3 mean) and [`statistics`] (name, class). What a
//! session counts lies in lines of its own that it alone writes, with plain loads and stores; a view adds the lines up.
//! Nothing on a counting path is written by two processes.
//!
//! A [`WaitSlot`] shows the wait that a process is in, or its last one, to any other process, live. [`EventTotals`]
//! keeps the sums and histograms. A [`Waiter`] is the two together as the waiting process uses them.
#![deny(unsafe_code)] // Only the layouts of what lies in shared memory.

pub mod events;
mod slot;
pub mod statistics;
mod stopwatch;
mod times;
mod totals;

pub use events::{Event, WaitClass};
pub use slot::{EndedWait, WaitSlot, WaitState, WaitView};
pub use statistics::{CENTISECONDS, ParseBegan, Stat, StatClass, StatLine};
pub use stopwatch::Stopwatch;
pub use times::TimeStat;
pub use totals::{CHARGED, EventTotal, EventTotals, HISTOGRAM_BUCKETS, Waiter};
