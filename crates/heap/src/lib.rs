//! Heap tables of Latchwork.
//!
//! Rows are `types::row` bytes, and opaque here. A row keeps its rowid for life (H1): the piece its rowid names, the
//! head, stays where it is. A row that outgrows its block leaves the head behind as a forwarding piece, and a row
//! larger than a block is a chain of pieces, each naming the next.
//!
//! | piece | flags | body |
//! |---|---|---|
//! | whole row | H F L | row |
//! | head of a chained row | H F | address of the next piece, first bytes |
//! | head of a migrated row | H | address of the next piece |
//! | piece after the head | none, F or L | address of the next piece unless L; bytes |
//! | deleted | D | nothing |
//!
//! Every change of a row first locks its head, so the head's interested-transaction entry shows every change of the
//! row.
#![forbid(unsafe_code)]

mod differences;
mod dml;
mod fetch;
mod history;
mod many;
pub mod ops;
mod scan;
mod verify;

use space::InsertHint;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use buffer_cache::BufferCache;
use process::Process;
use redo::{ApplyTable, Layer};
use space::Space;
use txn::Transactions;
use types::{ObjectId, Rdba, Result};

pub use dml::{BODY_BYTES_MIN, Place, RowAction, RowOutcome, RowSegment, place};
pub use fetch::{Piece, PieceAddress, RowBuffer, take_piece};
pub use history::{Between, Operation, Version, VersionScan};
pub use many::Changes;
pub use scan::{Granules, Scan};
pub use verify::Visitor;

/// Where this process inserts, by segment.
pub(crate) type Hints = HashMap<ObjectId, Hint>;

/// The blocks of a segment that this process inserts into.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Hint {
    pub search: InsertHint,
    /// A block that was marked full for a long row, and takes short ones (H15); `bytes` of it may still be used.
    pub spare: Rdba,
    pub bytes: usize,
}

/// A heap segment, as the dictionary describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapTable {
    /// The table's object number: TM enqueue, touched objects.
    pub object: ObjectId,
    /// The segment's object number: rowids. A truncate changes it.
    pub data_object: ObjectId,
    /// Segment header block.
    pub header: Rdba,
    /// Percentage of a block that inserts keep free for updates.
    pub pctfree: u8,
    /// Interested-transaction entries of a new block.
    pub initrans: u8,
}

/// The heap access method of an instance. All clones share one state.
#[derive(Clone)]
pub struct Heap {
    pub(crate) txns: Transactions,
    /// Where this process inserts, by segment.
    pub(crate) hints: Arc<Mutex<Hints>>,
}

impl Heap {
    /// Registers the change vectors of heap rows.
    pub fn register_apply(table: &mut ApplyTable) {
        table.register(Layer::Heap, ops::apply);
    }

    /// Makes the access method over a transaction system.
    pub fn new(txns: &Transactions) -> Heap {
        Heap { txns: txns.clone(), hints: Arc::default() }
    }

    /// The number of blocks in a table's segment, headers and maps included: the places that [`Granules`] distribute.
    ///
    /// # Errors
    /// ORA-08103 when the segment is gone or was truncated.
    pub fn places_of(&self, p: &Process, table: &HeapTable) -> Result<u64> {
        let extents = self.space().extents_of(p, table.header, table.data_object)?;
        Ok(extents.iter().map(|extent| u64::from(extent.blocks)).sum())
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
}
