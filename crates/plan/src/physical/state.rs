//! The state of the physical planner within a compilation.

use crate::block_names::ItemId;
use crate::ir::{BindPredicate, Reg};
use crate::services::Sampler;
use dictionary::ColumnStatistics;
use std::cell::RefCell;
use std::collections::HashMap;
use types::{DataType, Value};

/// Values of binds, and the comparisons that used them.
#[derive(Default)]
pub struct Peeks<'c> {
    /// `_optim_peek_user_binds`.
    pub is_on: bool,
    /// The bind values of the execution that the statement is planned for.
    pub values: Option<&'c [Value]>,
    /// The comparisons whose estimates depend on a bind.
    pub found: RefCell<Vec<BindPredicate>>,
}

/// The columns and statistics behind registers, from which the planner estimates the sizes of values.
#[derive(Default)]
pub struct Sizes {
    /// The item and the column of a register.
    pub(crate) columns: HashMap<Reg, (ItemId, usize)>,
    /// Statistics of registers that are not columns of tables: grouping keys and columns of views.
    pub(crate) made: HashMap<Reg, (DataType, ColumnStatistics)>,
}

/// The state of sampling.
#[derive(Default)]
pub struct Sampling<'c> {
    /// Level of the parameter or of the statement's hint.
    pub level: u8,
    pub sampler: Option<&'c dyn Sampler>,
    /// Levels of single tables by alias, from hints.
    pub(crate) tables: Vec<(String, u8)>,
    /// Items whose statistics come from a sample.
    pub sampled: Vec<ItemId>,
}
