//! Heap tables of Latchwork.
//!
//! Rows are `types::row` bytes. A row has a rowid for life: a row that outgrows its block moves on and leaves a forwarding
//! piece behind, and a row larger than a block is cut into a chain of pieces.
#![forbid(unsafe_code)]

use buffer_cache::BufferCache;
use process::Process;
use redo::ApplyTable;
use txn::{LockWait, Snapshot, Transactions, Txn};
use types::{ObjectId, Rdba, Result, Rowid};

/// A heap segment, as the dictionary describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapTable {
    /// The table's object number: TM enqueue, touched objects.
    pub object: ObjectId,
    /// The segment's object number: rowids. A truncate changes it.
    pub data_object: ObjectId,
    /// Segment header block.
    pub header: Rdba,
    /// Percentage of a block kept free for updates.
    pub pctfree: u8,
    /// Interested-transaction entries of a new block.
    pub initrans: u8,
}

/// What became of a change to a row found by a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowOutcome {
    Done,
    /// The row was changed or deleted by another transaction after the snapshot: roll the statement back and start it again.
    Changed,
    /// The row is locked and the caller said [`LockWait::SkipLocked`].
    Skipped,
}

/// The heap access method of an instance.
#[derive(Clone)]
pub struct Heap {
    _p: (),
}

impl Heap {
    /// Registers the change vectors of heap rows.
    pub fn register_apply(_table: &mut ApplyTable) {
        todo!()
    }
    pub fn new(_cache: &BufferCache, _txns: &Transactions) -> Heap {
        todo!()
    }
    /// Inserts a row (`types::row` bytes).
    pub fn insert(&self, _p: &Process, _t: &mut Txn, _table: &HeapTable, _row: &[u8]) -> Result<Rowid> {
        todo!()
    }
    /// Inserts many rows, a block at a time. `rows` holds them one after another, `ends` where each ends; the rowids are
    /// appended to `rowids` in the same order.
    pub fn insert_many(
        &self,
        _p: &Process,
        _t: &mut Txn,
        _table: &HeapTable,
        _rows: &[u8],
        _ends: &[u32],
        _rowids: &mut Vec<Rowid>,
    ) -> Result<()> {
        todo!()
    }
    /// Replaces a row found through `seen`. Waits for the row's lock.
    #[allow(clippy::too_many_arguments)]
    pub fn update(
        &self,
        _p: &Process,
        _t: &mut Txn,
        _table: &HeapTable,
        _rowid: Rowid,
        _row: &[u8],
        _seen: &Snapshot,
        _wait: LockWait,
    ) -> Result<RowOutcome> {
        todo!()
    }
    /// Deletes a row found through `seen`. Waits for the row's lock.
    pub fn delete(
        &self,
        _p: &Process,
        _t: &mut Txn,
        _table: &HeapTable,
        _rowid: Rowid,
        _seen: &Snapshot,
        _wait: LockWait,
    ) -> Result<RowOutcome> {
        todo!()
    }
    /// Locks a row found through `seen` (SELECT FOR UPDATE).
    pub fn lock_row(
        &self,
        _p: &Process,
        _t: &mut Txn,
        _table: &HeapTable,
        _rowid: Rowid,
        _seen: &Snapshot,
        _wait: LockWait,
    ) -> Result<RowOutcome> {
        todo!()
    }
    /// Copies the row into `row` (cleared first). False when there is no such row as of `s`.
    ///
    /// # Errors
    /// ORA-01410 when the rowid's block is not one of the table's.
    pub fn fetch_by_rowid(
        &self,
        _p: &Process,
        _s: &Snapshot,
        _table: &HeapTable,
        _rowid: Rowid,
        _row: &mut Vec<u8>,
    ) -> Result<bool> {
        todo!()
    }
    /// A scan of the whole segment up to its high-water mark, as of `s`.
    pub fn scan(&self, _p: &Process, _s: &Snapshot, _table: &HeapTable) -> Result<Scan> {
        todo!()
    }
}

/// A full scan. Holds nothing in the SGA between calls; its buffers are kept when it is started again.
#[derive(Default)]
pub struct Scan {
    _p: (),
}

impl Scan {
    pub fn new() -> Scan {
        Scan::default()
    }
    /// Starts (again) from the first block.
    pub fn start(&mut self, _heap: &Heap, _p: &Process, _s: &Snapshot, _table: &HeapTable) -> Result<()> {
        todo!()
    }
    /// The next row: its rowid and its bytes, valid until the next call.
    pub fn next(&mut self, _heap: &Heap, _p: &Process) -> Result<Option<(Rowid, &[u8])>> {
        todo!()
    }
}
