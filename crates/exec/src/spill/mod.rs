//! Temporary space for work areas that outgrow their memory (E17).
//!
//! [`TempFile`] is a stream of records in temporary extents; [`rows`] makes records of rows; [`sorter`] is the external
//! merge sort; [`lookup`] finds sorted records by key; [`partition`] divides rows by a hash of their key, so that each
//! partition fits into memory.

mod file;
pub mod limits;
pub mod lookup;
pub mod partition;
pub mod pool;
pub mod rows;
pub mod sorter;
pub mod store;
mod stream;
pub mod unique;

pub use file::{Reader, Start, TempFile};
