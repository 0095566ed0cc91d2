//! Wait events and statistics of Latchwork.
//!
//! Two lists generate everything: [`events`] (name, class, meaning of P1 to P3) and [`statistics`] (name, class). A
//! session counts in its own lines with plain loads and stores; a view adds the lines up. No word on a counting path
//! has two writers (invariant 1).
//!
//! A [`WaitSlot`] shows the current or last wait of a process to any other process. [`EventTotals`] keeps the sums and
//! histograms. A [`Waiter`] combines the two for the waiting process.
#![deny(unsafe_code)] // Layouts in shared memory only.

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
