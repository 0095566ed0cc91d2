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

mod entries;
mod index;
mod keys;
mod leaf;
mod list;
mod many;
mod merge;
mod node;
mod ops;
mod rollback;
mod row;
mod row_scan;
mod row_undo;
mod rows;
mod scan;
mod split;
mod tree;
mod undo;
mod undo_op;
mod verify;

pub use entries::Inserted;
pub use index::{Btree, Index, Locator, key_bytes_max, locator_of, rowid_of};
pub use keys::{KeyState, Repeats};
pub use many::Batch;
pub use node::SEVERAL;
pub use row_scan::RowScan;
pub use rows::{RowAction, RowOutcome, RowTable};
pub use scan::{Entry, RangeScan};
pub use verify::TreeReport;

use redo::{ApplyTable, Layer};
use std::sync::Arc;
use txn::Transactions;

impl Btree {
    /// Registers the crate's change vectors.
    pub fn register_apply(table: &mut ApplyTable) {
        table.register(Layer::Index, ops::apply);
    }

    /// Makes the access method and registers the rollback of its changes. Run once, before the first fork; all clones
    /// share one state.
    pub fn new(txns: &Transactions) -> Btree {
        let tree = Btree { txns: txns.clone(), empty: Arc::default() };
        txns.register_undo(Layer::Index, Arc::new(rollback::IndexUndo));
        tree
    }
}
