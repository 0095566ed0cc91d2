//! An index, and the access method to all of them.

use crate::node;
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
    /// Data object of the table, for the rowids that scans return.
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

/// The rowid that a locator of six bytes names.
pub fn rowid_of(index: &Index, locator: &[u8]) -> Rowid {
    let (rdba, slot) = node::rowid_of(locator);
    Rowid { obj: index.table, rdba, slot }
}

/// The locator of a row in a block.
pub fn locator_of(rowid: Rowid) -> [u8; 6] {
    node::locator_of(rowid.rdba, rowid.slot)
}

/// Longest key, in bytes, for an index over blocks of this size: two entries and a high key must fit into a block.
pub fn key_bytes_max(block_size: usize) -> usize {
    (block::data::capacity(block_size, 0) - 64) / 4
}
