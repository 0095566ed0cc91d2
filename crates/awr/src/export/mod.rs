//! Export of figures for other engines: tables as CSV, JSON lines and Parquet, in folders named after their contents.
//!
//! A table has columns of one of six kinds; [`Writer`] makes a file of rows in any of the forms. [`Lake`] puts
//! files into `TABLE/run=…/instance=…/day=…/`, which DuckDB, ClickHouse and Spark read in place; each file is written
//! under another name and then renamed. `docs/format/export.md` describes the format; [`VERSION`] changes when a reader
//! of the old version would misread the new one.
//!
//! Parquet is written by `flat_parquet`.

mod field;
mod lake;
mod parquet;
mod repository;
mod rows;
mod writer;

pub use field::{Column, Field, Kind, VERSION, moment_us};
pub use lake::{Fill, Lake, Part, Take};
pub use repository::{ExportError, Rows, Wanted, repository};
pub use writer::{Form, Writer};

#[cfg(test)]
mod tests;
