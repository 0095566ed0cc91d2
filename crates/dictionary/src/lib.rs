//! The data dictionary of Latchwork.
#![forbid(unsafe_code)]

mod catalog;
mod defs;
mod fixed;
mod verifier;

pub use catalog::Catalog;
pub use defs::*;
pub use fixed::{FixedCatalog, NoFixedTables};
pub use verifier::{SALT_BYTES, Verifier};
