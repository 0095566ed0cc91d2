//! Row sources.
//!
//! A row source is a node of [`Op`]. `open` starts it from the beginning and discards its buffers; `rewind` restarts it
//! for another row of an enclosing nested loop and keeps what does not depend on that row (E5); `next` leaves a row in
//! the plan's registers.

mod ahead;
pub mod basic;
mod build;
pub mod connect;
mod connect_arena;
mod connect_memory;
pub mod counted;
pub mod elements;
mod fold;
pub mod group;
pub mod hash_join;
mod key_ranges;
pub mod loops;
pub mod merge_join;
mod op;
mod range;
mod row_bytes;
mod row_source;
pub mod scan;
pub mod set;
pub mod sort;
pub mod sort_keys;
pub mod stop;
pub mod subquery;
mod sure;
mod use_filter;
mod watched;
pub mod window;
mod window_values;
pub mod with_query;

pub use op::Op;
pub use row_source::RowSource;
