//! An index, and the access method to all of them.

use crate::node::{self, OBJECT, SEVERAL};
use buffer_cache::BufferCache;
use space::Space;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use txn::Transactions;
use types::{ObjectId, Rdba, Rowid, Scn};

/// An index, as callers pass it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index {
    /// Header block of the segment.
    pub segment: Rdba,
    /// The root block, which never moves.
    pub root: Rdba,
    /// The data object.
    pub object: ObjectId,
    /// Data object of the table, for the rowids that scans return. [`SEVERAL`] for an index over several segments:
    /// its locators begin with the data object of the row's segment.
    pub table: ObjectId,
    /// No two rows may have the same key.
    pub unique: bool,
    /// SCN at which the index was built: it may lack entries that an older snapshot needs.
    pub created: Scn,
    /// Its leaves have a purge SCN, so snapshots that are not registered (flashback queries) can read it (R13).
    pub notes_purges: bool,
}

/// Leaves found empty, oldest first, each by its index and a key in it.
pub(crate) type Emptied = VecDeque<(Index, Vec<u8>)>;

/// B-tree indexes over a transaction system.
#[derive(Clone)]
pub struct Btree {
    pub(crate) txns: Transactions,
    /// Leaves that this process found empty, each by a key in it.
    pub(crate) empty: Arc<Mutex<Emptied>>,
}

impl Btree {
    /// The transaction system below.
    pub fn transactions(&self) -> &Transactions {
        &self.txns
    }

    pub(crate) fn cache(&self) -> &BufferCache {
        self.txns.cache()
    }

    pub(crate) fn space(&self) -> &Space {
        self.txns.space()
    }

    pub(crate) fn scn(&self) -> impl Fn() -> Scn + '_ {
        || self.txns.current_scn()
    }
}

/// The address of a row as an index stores it.
#[derive(Clone, Copy, Debug)]
pub struct Locator {
    bytes: [u8; OBJECT + node::ROWID],
    from: usize,
}

impl std::ops::Deref for Locator {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes[self.from..]
    }
}

impl Locator {
    /// The locator of a row in an index over one segment, or over `several`.
    pub fn of(rowid: Rowid, several: bool) -> Locator {
        let mut bytes = [0; OBJECT + node::ROWID];
        bytes[..OBJECT].copy_from_slice(&rowid.obj.0.to_be_bytes());
        bytes[OBJECT..].copy_from_slice(&locator_of(rowid));
        Locator { bytes, from: if several { 0 } else { OBJECT } }
    }
}

impl Index {
    /// The locator of a row in this index.
    pub fn locator(&self, rowid: Rowid) -> Locator {
        Locator::of(rowid, self.table == SEVERAL)
    }
}

/// The rowid that a locator of this index names.
pub fn rowid_of(index: &Index, locator: &[u8]) -> Rowid {
    node::row_at(index.table, locator)
}

/// The locator of a row in a block.
pub fn locator_of(rowid: Rowid) -> [u8; 6] {
    node::locator_of(rowid.rdba, rowid.slot)
}

/// Longest key, in bytes, for an index over blocks of this size: two entries and a high key must fit into a block.
pub fn key_bytes_max(block_size: usize) -> usize {
    (block::data::capacity(block_size, 0) - 64) / 4
}
