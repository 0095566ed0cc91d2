//! The places of LOBs.

use crate::ids::{ObjectId, Rowid};

/// The place of a LOB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LobHome {
    /// A temporary LOB.
    Temporary,
    Row(LobRow),
    /// A temporary LOB that was freed.
    Freed,
}

/// A LOB in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LobRow {
    /// The table.
    pub object: ObjectId,
    pub rowid: Rowid,
    /// The column's position in the table's definition.
    pub column: u16,
}
