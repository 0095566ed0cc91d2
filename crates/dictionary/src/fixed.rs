//! Fixed tables: V$ and X$, whose rows are made by code.

use crate::{ColumnDef, FixedId};

/// What the dictionary must know of fixed tables; `views` gives it.
pub trait FixedCatalog {
    /// The number and columns of the fixed table of that name, in upper case (`V$LATCH` and `V_$LATCH` are the same; so
    /// is `GV$LATCH`, which has INST_ID before the rest).
    fn find(&self, name: &str) -> Option<(FixedId, &[ColumnDef])>;
    /// Every name, for ALL_OBJECTS and DICT.
    fn names(&self) -> Vec<String>;
}

/// No fixed tables.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFixedTables;

impl FixedCatalog for NoFixedTables {
    fn find(&self, _name: &str) -> Option<(FixedId, &[ColumnDef])> {
        None
    }
    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}
