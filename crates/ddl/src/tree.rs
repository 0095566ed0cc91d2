//! The B-tree below an index: the one place where DDL touches it.

use crate::work::Parts;
use dictionary::IndexDef;
use types::{Ora, Result, Rowid};

/// Puts sorted entries into the index's empty segment.
pub fn load(_parts: &Parts<'_>, _index: &IndexDef, _entries: &[(Vec<u8>, Rowid)]) -> Result<()> {
    Err(Ora::unsupported())
}
