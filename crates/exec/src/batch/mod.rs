//! Row sources that work on batches of rows (E21 to E25).
//!
//! A batch has typed columns: whole numbers and decimals as words, dates as their bytes in a word, texts as views into
//! the bytes that the rows were read as. A loop over a column neither branches on types nor copies texts, so scans,
//! filters, joins and groupings over many rows take nanoseconds a value where registers take tens of nanoseconds. Row
//! sources that find single rows, or depend on an outer row for each of their rows, stay with registers.
//!
//! The result equals that of registers, to the digit and to the error. Arithmetic on words is used only while it is
//! exact. If the evaluation over a batch meets an error, or a value without a batch form, it stops without side effects
//! (`None`); the rows of the batch are then evaluated in order by the code for registers, and the rows before a failing
//! one are returned first ([`Failing`](node::Failing)). So an error is raised only if registers would have raised it.

mod basic;
mod build;
pub mod column;
mod counted;
mod eval;
mod group;
mod join;
mod join_keys;
mod kernels;
mod keys;
mod node;
mod pays;
mod reads;
mod resumed;
mod rows;
mod scan;
mod sort;
mod states;
mod use_filter;
mod wanted;

pub use build::{build, build_changing};
pub use eval::Expression;
pub use node::{Batch, KeptRow, Node};
pub use rows::Rows;
pub use wanted::Wanted;
