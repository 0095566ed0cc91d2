//! Name resolution, typing and optimisation: from the parser's tree to a [`Plan`] that the executor runs.
//!
//! The steps: the binder resolves names through [`dictionary::Catalog`], gives every value a register, inserts Oracle's
//! implicit conversions and builds a logical tree (`logical`). The rewrites (`rewrite`) transform that tree into one
//! that runs faster. The physical planner (`physical`) chooses row sources by cost. Nothing is evaluated and no data
//! are read: statistics come with the table definitions.
#![forbid(unsafe_code)]

mod aggregate;
mod block_names;
mod blocks;
mod call;
mod collections;
mod column_use;
mod compile;
mod connect;
mod dml;
mod error_log;
pub mod estimate;
mod explain;
mod expr;
mod from;
mod function;
mod function_types;
mod group;
mod hierarchy;
mod image;
mod ir;
mod items;
mod key_preserved;
mod locators;
mod logic;
mod logical;
mod logical_text;
mod methods;
pub mod names;
mod nested;
mod outline;
mod peeked;
mod physical;
mod pivot;
mod predicate;
mod query;
mod recursive;
mod refs;
mod refusals;
mod registers;
mod resolve;
mod rewrite;
mod rights;
pub mod rows;
mod scope;
mod services;
mod settings;
mod sort_keys;
mod sql_json;
mod sql_xml;
mod through;
mod tree;
mod typing;
mod updatable;
mod virtuals;
mod visit;
mod written_types;
mod xml_values;

pub use call::{Called, called};
pub use compile::{
    Evidence, Optimizer, compile, compile_at, compile_for_owner, compile_with_evidence, describe, logical_text,
};
pub use expr::float_constant;
pub use function::Func;
pub use ir::*;
pub use locators::is_lob;
pub use physical::degree::{Because, DEFAULT_DEGREE, Parallel, ParallelQuery};
pub use physical::{is_dual, produced};
pub use rewrite::switches::{Rewrite, RewritesOff};
pub use services::{
    Asked, BindType, ColumnUses, Correction, Functions, METHOD, NoFunctions, NoVariables, Sampled, Sampler, TREAT,
    TYPE, TextOwner, Variable, Variables, scan_number,
};
pub use settings::conversion_depends_on_settings;
pub use sql_xml::method as xml_method;
pub use typing::{Class, class, is_alike, is_padded};
pub use updatable::{UpdatableColumn, updatable_columns};
pub use written_types::{data_type, interval_value};
