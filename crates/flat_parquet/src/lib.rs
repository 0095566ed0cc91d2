#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod error;
mod format;
mod read;
mod table;
mod thrift;
mod write;

pub use error::Error;
pub use read::read_table;
pub use table::{Table, Values, write_table};
pub use write::{Column, File, Kind, Page};
