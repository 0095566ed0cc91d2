//! LOB locators: the CLOB and BLOB values of programs.
//!
//! The value of a LOB column is the text or the bytes, and SQL expressions work with these. A locator is made where a
//! LOB leaves a query, and by DBMS_LOB: it has the content at that time, and the place that a change goes to. The
//! content is shared and copied on write, so a locator read before a change keeps its old content.

use crate::datatype::DataType;
use crate::ids::{ObjectId, Rowid};
use crate::value::Value;

/// The value of a LOB and its place.
#[derive(Clone, Debug)]
pub struct Lob {
    /// A text, bytes, or [`Value::EmptyLob`]; NULL for a freed LOB.
    pub content: Value,
    /// Whether it is a BLOB instead of a CLOB.
    pub binary: bool,
    pub home: LobHome,
    /// Opened by DBMS_LOB.OPEN, and whether for writing.
    pub open: Option<bool>,
}

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

impl Lob {
    /// A temporary LOB.
    pub fn temporary(content: Value, binary: bool) -> Lob {
        Lob { content, binary, home: LobHome::Temporary, open: None }
    }

    pub fn data_type(&self) -> DataType {
        if self.binary { DataType::Blob } else { DataType::Clob }
    }
}

/// Locators are equal if their contents are, wherever they belong.
impl PartialEq for Lob {
    fn eq(&self, other: &Lob) -> bool {
        self.binary == other.binary && self.content == other.content
    }
}
