//! B-tree indexes of Latchwork.
//!
//! The tree is a B-link tree (Lehman and Yao): every block has a high key and a link to its right sibling. A split is
//! one change group, so it is seen whole or not at all; a reader that comes from a parent read before the split finds
//! the key beyond the high key and steps right (R3). Readers hold nothing between blocks. The root never moves.
//!
//! A block that is empty, or whose entries fit beside those of its right sibling, is merged into that sibling, whose
//! range then begins further left, and given back to the segment. A reader that still has its address finds an empty
//! block that leads to the right or, once the block has been reused, one whose low and high keys do not enclose the
//! key: the descent then starts again. Rejected: keeping such blocks until no reader can have their address any more,
//! since a cursor may be open for hours.
//!
//! **Transactions.** An entry is a hint that the row may have had the key in some version that some snapshot may still
//! see; the caller reads the row as of its own snapshot and compares the key again. So entries need no
//! interested-transaction list and no CR image:
//! - inserting adds an entry with the transaction's xid, or revives one that is marked deleted;
//! - deleting marks the entry with the xid and leaves it in place;
//! - rolling back takes the entry out, or puts mark and xid back as they were (logical undo, wherever splits moved the
//!   entry);
//! - a marked entry is purged when its block is full, once its transaction has committed and no open snapshot is older.
//!
//! Rejected: interested-transaction lists in index blocks, since undo of an entry would have to follow it through
//! splits for every consistent get; and removing entries at commit, since older snapshots would miss rows.

#![forbid(unsafe_code)]

mod keys;
mod leaf;
mod list;
mod many;
mod merge;
mod node;
mod ops;
mod row;
mod row_scan;
mod row_undo;
mod rows;
mod scan;
mod split;
mod tree;
mod undo;
mod verify;

pub use keys::{KeyState, Repeats};
pub use many::Batch;
pub use row_scan::RowScan;
pub use rows::{RowAction, RowOutcome, RowTable};
pub use scan::{Entry, RangeScan};
pub use tree::Inserted;
pub use verify::TreeReport;

use buffer_cache::BufferCache;
use redo::{ApplyTable, Layer};
use space::Space;
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

/// B-tree indexes over a transaction system.
#[derive(Clone)]
pub struct Btree {
    txns: Transactions,
    /// Leaves that this process found empty, each by a key in it.
    empty: Arc<Mutex<merge::Emptied>>,
}

impl Btree {
    /// Registers the crate's change vectors.
    pub fn register_apply(table: &mut ApplyTable) {
        table.register(Layer::Index, ops::apply);
    }

    /// Makes the access method and registers the rollback of its changes. Run once, before the first fork; all clones
    /// share one state.
    pub fn new(txns: &Transactions) -> Btree {
        let tree = Btree { txns: txns.clone(), empty: Arc::default() };
        txns.register_undo(Layer::Index, Arc::new(undo::IndexUndo));
        tree
    }

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
