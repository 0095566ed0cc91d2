//! Fixed tables: V$ and X$, whose rows are made by code.

use crate::{ColumnDef, FixedId};

/// The fixed tables as the dictionary needs them; implemented by `views`.
pub trait FixedCatalog {
    /// The number and columns of the fixed table with this name, in upper case (`V$LATCH` and `V_$LATCH` are the same;
    /// `GV$LATCH` has INST_ID as an additional first column).
    fn find(&self, name: &str) -> Option<(FixedId, &[ColumnDef])>;
    /// All names, for ALL_OBJECTS and DICT.
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
