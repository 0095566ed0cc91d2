//! LOB locators: what a program holds of a CLOB or BLOB.
//!
//! A column's value is the text or the bytes themselves, and expressions of SQL work with those. A locator is made
//! where a LOB leaves a query, and by DBMS_LOB: it has the content as it was then, and says where a change goes. The
//! content is shared; a change makes a copy where somebody else has it too, so a locator that was read before a change
//! keeps what it has seen.

use crate::datatype::DataType;
use crate::ids::{ObjectId, Rowid};
use crate::value::Value;

/// The value of a LOB and the place of it.
#[derive(Clone, Debug)]
pub struct Lob {
    /// A text, bytes, or [`Value::EmptyLob`]; NULL of a LOB that was freed.
    pub content: Value,
    /// A BLOB, and not a CLOB.
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

/// A LOB of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LobRow {
    /// The table.
    pub object: ObjectId,
    pub rowid: Rowid,
    /// The place of the column in the table's definition.
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

/// Where a LOB is does not make it another value.
impl PartialEq for Lob {
    fn eq(&self, other: &Lob) -> bool {
        self.binary == other.binary && self.content == other.content
    }
}
