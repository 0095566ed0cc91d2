//! The built-in packages.

mod args;
mod lobs;
mod natives;
pub(crate) mod output;
mod queries;
pub(crate) mod random;
mod run;
mod specs;
mod stat_rec;
mod stat_table;
mod stats;

pub(crate) use natives::{is_native, native};
pub(crate) use run::{random_number, run};
pub(crate) use specs::package_type;
pub use specs::{is_built_in, names, specification, type_source};
