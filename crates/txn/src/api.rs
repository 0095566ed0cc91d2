//! The public face of the crate.

use block::BlockView;
use buffer_cache::{BlockRef, BufferCache, ChangeGroup, GetKind};
use enqueue::Enqueues;
use process::Process;
use redo::{ApplyTable, Layer};
use sga::{Sga, SgaBuilder};
use types::{ObjectId, Rdba, Result, Scn, Uba, Xid};

/// How many undo segments and transactions an instance has.
#[derive(Debug, Clone)]
pub struct TxnConfig {
    /// Undo segments online; transactions are bound to them round robin.
    pub undo_segments: u32,
    /// Transaction table slots in each undo segment.
    pub slots_per_segment: u32,
    /// Process slots of the instance, for the oldest snapshot each of them has open.
    pub processes: u32,
    /// Most interested-transaction entries a data block may grow to.
    pub itl_max: u8,
    /// Most blocks a commit cleans out at once; the rest are left to delayed cleanout.
    pub commit_cleanout_blocks: u32,
}

/// Where the crate's areas lie in the SGA.
#[derive(Debug, Clone)]
pub struct TxnLayout {
    _p: (),
}

impl TxnLayout {
    /// Reserves the transaction table and the snapshot lines.
    pub fn reserve(_sga: &mut SgaBuilder, _config: &TxnConfig) -> TxnLayout {
        todo!()
    }
}

/// What a statement may see: everything committed at or below `scn`, and what its own transaction had changed up to `own`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Snapshot {
    pub scn: Scn,
    /// The reader's own transaction, when it had one at the start of the statement.
    pub xid: Option<Xid>,
    /// The newest undo record of the own transaction at the start of the statement; changes after it are invisible.
    pub own: Option<Uba>,
}

/// A place in a transaction to come back to: a named savepoint or the start of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Savepoint {
    _xid: Option<Xid>,
    _at: Option<Uba>,
}

/// A session's transaction: process-local. One `Txn` lives as long as its session and is used again for each transaction.
#[derive(Debug, Default)]
pub struct Txn {
    _p: (),
}

impl Txn {
    /// A transaction that has not changed anything yet.
    pub fn new() -> Txn {
        Txn::default()
    }
    /// The transaction's id, once it has changed something.
    pub fn xid(&self) -> Option<Xid> {
        todo!()
    }
    /// Whether something was changed or locked since the last commit or rollback.
    pub fn is_active(&self) -> bool {
        self.xid().is_some()
    }
    /// Objects changed or locked (SELECT FOR UPDATE counts) by this transaction, each once.
    pub fn touched_objects(&self) -> &[ObjectId] {
        todo!()
    }
    /// Whether this transaction changed or locked `object`.
    pub fn has_touched(&self, _object: ObjectId) -> bool {
        todo!()
    }
}

/// Called around a commit with the objects the transaction changed or locked.
pub trait CommitHook {
    /// Runs before the transaction becomes visible. An error keeps the transaction open.
    fn before_visible(&self, p: &Process, objects: &[ObjectId]) -> Result<()>;
    /// Runs once the transaction is committed at `scn`.
    fn after(&self, p: &Process, scn: Scn, objects: &[ObjectId]);
}

/// A commit that nobody wants to hear of.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHook;

impl CommitHook for NoHook {
    fn before_visible(&self, _p: &Process, _objects: &[ObjectId]) -> Result<()> {
        Ok(())
    }
    fn after(&self, _p: &Process, _scn: Scn, _objects: &[ObjectId]) {}
}

/// How long to wait for a row or table that another transaction has locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockWait {
    Forever,
    /// ORA-00054 at once.
    NoWait,
    /// ORA-30006 after so many seconds.
    Seconds(u32),
    /// Passes over locked rows.
    SkipLocked,
}

/// Mode of a table lock (TM enqueue).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableLock {
    /// SS, also called RS.
    RowShare,
    /// SX, also called RX: what DML takes.
    RowExclusive,
    Share,
    ShareRowExclusive,
    Exclusive,
}

/// An undo record as handed to the layer that wrote it.
#[derive(Debug, Clone, Copy)]
pub struct UndoRecord<'a> {
    pub xid: Xid,
    pub uba: Uba,
    pub object: ObjectId,
    /// The data block the change was made to.
    pub rdba: Rdba,
    pub layer: Layer,
    pub op: u8,
    /// The interested-transaction entry the change used in the block.
    pub itl: u8,
    pub data: &'a [u8],
}

/// How a layer reverses its own changes. `op` and `data` of the record are the layer's own.
///
/// A layer whose undo is physical within one block (`heap`, `cluster`) registers nothing more than its apply function: the
/// undo record's (layer, op, data) is then a change vector for the block itself. A layer whose rows move between blocks
/// (`btree`) registers an `UndoLayer`.
pub trait UndoLayer: Sync {
    /// Reverses the change in a private image of block `rec.rdba`, for a consistent get. The interested-transaction entry
    /// is put back by the caller. Work that is no longer in this block is skipped.
    fn undo_image(&self, image: &mut [u8], rec: &UndoRecord<'_>) -> Result<()>;
    /// Reverses the change for a rollback: finds the block where the change now lies and changes it through `undo`.
    fn rollback(&self, txns: &Transactions, p: &Process, rec: &UndoRecord<'_>, undo: &mut Rollback<'_>) -> Result<()>;
}

/// The change group of one rolled back undo record: the layer adds its compensating changes, `txn` retires the record in it.
pub struct Rollback<'a> {
    _p: std::marker::PhantomData<&'a ()>,
}

impl<'a> Rollback<'a> {
    /// The group the compensating changes go into.
    pub fn group(&mut self) -> &mut ChangeGroup<'a> {
        todo!()
    }
    /// Puts back the interested-transaction entry `rec` had taken, in block `b`.
    pub fn restore_itl(&mut self, _b: BlockRef, _rec: &UndoRecord<'_>) -> Result<()> {
        todo!()
    }
}

/// A change group by a transaction: every change in it comes with its undo record, and becomes visible to others only when
/// the transaction commits. Dropping it without [`Change::commit`] leaves nothing behind.
pub struct Change<'a> {
    _p: std::marker::PhantomData<&'a ()>,
}

/// What [`Change::itl`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItlGet {
    /// Entry number of this transaction in the block.
    Got(u8),
    /// No entry is free and the block cannot grow another: wait for this transaction, holding no block, and start again.
    Full(Xid),
}

impl<'a> Change<'a> {
    /// The group, for changes that need no undo (space management, formatting a new block).
    pub fn group(&mut self) -> &mut ChangeGroup<'a> {
        todo!()
    }
    /// Pins a block for change (db block gets).
    pub fn current(&mut self, _at: Rdba) -> Result<BlockRef> {
        todo!()
    }
    /// The private image of a pinned block with this group's changes.
    pub fn view(&self, _b: BlockRef) -> &[u8] {
        todo!()
    }
    /// Finds, takes or grows this transaction's interested-transaction entry in a data block.
    pub fn itl(&mut self, _b: BlockRef) -> Result<ItlGet> {
        todo!()
    }
    /// The transaction, other than this one and still active, that holds entry `itl` of the block.
    pub fn itl_holder(&self, _b: BlockRef, _itl: u8) -> Option<Xid> {
        todo!()
    }
    /// Writes the undo record (`undo`: op and data), points entry `itl` at it and applies `redo` (op and data) of `layer`.
    #[allow(clippy::too_many_arguments)]
    pub fn change(
        &mut self,
        _b: BlockRef,
        _itl: u8,
        _object: ObjectId,
        _layer: Layer,
        _redo: (u8, &[u8]),
        _undo: (u8, &[u8]),
    ) -> Result<Uba> {
        todo!()
    }
    /// Publishes the group: all its changes at once, or, when the process dies first, none.
    pub fn commit(self) -> Result<()> {
        todo!()
    }
}

/// A row of `v$transaction`.
#[derive(Debug, Clone)]
pub struct TransactionRow {
    pub xid: Xid,
    /// Slot number of the owning process.
    pub process: u32,
    pub status: &'static str,
    pub start_scn: Scn,
    pub last_uba: Option<Uba>,
    pub used_undo_blocks: u64,
    pub used_undo_records: u64,
}

/// The transaction system of an instance.
#[derive(Clone)]
pub struct Transactions {
    _p: (),
}

impl Transactions {
    /// Registers the crate's change vectors: undo blocks, undo headers, interested-transaction entries.
    pub fn register_apply(_table: &mut ApplyTable) {
        todo!()
    }
    /// Formats the areas in the SGA. Run once by the supervisor.
    pub fn create(
        _sga: &'static Sga,
        _layout: &TxnLayout,
        _config: &TxnConfig,
        _cache: &BufferCache,
        _enqueues: &Enqueues,
    ) -> Transactions {
        todo!()
    }
    /// Registers a layer whose undo is not physical within a block. Before the first fork.
    pub fn register_undo(&mut self, _layer: Layer, _by: &'static dyn UndoLayer) {
        todo!()
    }
    /// Makes the undo segments of a new database in the UNDO tablespace.
    pub fn create_undo_segments(&self, _p: &Process) -> Result<()> {
        todo!()
    }
    /// Loads the transaction tables at instance start; then [`Transactions::recover`] rolls back what an unclean stop left.
    pub fn open(&self, _p: &Process) -> Result<()> {
        todo!()
    }
    /// Rolls back the transactions that were active when the instance stopped. Returns how many.
    pub fn recover(&self, _p: &Process) -> Result<u32> {
        todo!()
    }
    /// The newest SCN given out.
    pub fn current_scn(&self) -> Scn {
        todo!()
    }
    /// Raises the SCN, at start-up, to at least `scn`.
    pub fn advance_scn(&self, _scn: Scn) {
        todo!()
    }
    /// A read-consistent view as of now, seeing `t`'s own changes up to now. Notes its SCN in the process's line, so that undo
    /// it needs is kept if possible; give it back with [`Transactions::release`] when the cursor closes.
    pub fn snapshot(&self, _p: &Process, _t: &Txn) -> Snapshot {
        todo!()
    }
    /// Forgets a snapshot.
    pub fn release(&self, _p: &Process, _s: &Snapshot) {
        todo!()
    }
    /// Makes the transaction active, which the first change does by itself.
    pub fn begin(&self, _p: &Process, _t: &mut Txn) -> Result<Xid> {
        todo!()
    }
    /// Opens a group of changes with undo.
    pub fn change<'a>(&'a self, _p: &'a Process, _t: &'a mut Txn) -> Result<Change<'a>> {
        todo!()
    }
    /// Commits; nothing happens when nothing was changed.
    pub fn commit(&self, _p: &Process, _t: &mut Txn, _hook: &dyn CommitHook) -> Result<Scn> {
        todo!()
    }
    /// Rolls the whole transaction back and ends it.
    pub fn rollback(&self, _p: &Process, _t: &mut Txn) -> Result<()> {
        todo!()
    }
    /// The present position: for SAVEPOINT, and at the start of a statement that must be atomic.
    pub fn savepoint(&self, _t: &Txn) -> Savepoint {
        todo!()
    }
    /// Undoes what the transaction did since `to`. Row locks taken since are released, table locks are kept.
    pub fn rollback_to(&self, _p: &Process, _t: &mut Txn, _to: &Savepoint) -> Result<()> {
        todo!()
    }
    /// Locks a table for the transaction (TM enqueue), until it ends. DML through `heap` and `cluster` takes RowExclusive itself.
    pub fn lock_table(
        &self,
        _p: &Process,
        _t: &mut Txn,
        _object: ObjectId,
        _mode: TableLock,
        _wait: LockWait,
    ) -> Result<()> {
        todo!()
    }
    /// Notes that the transaction is about to change or lock rows of `object` and takes its TM enqueue in SX once.
    pub fn touch(&self, _p: &Process, _t: &mut Txn, _object: ObjectId) -> Result<()> {
        todo!()
    }
    /// Waits until `holder` ends (`enq: TX - row lock contention`). The caller holds no block. Errors: ORA-00060, ORA-00054,
    /// ORA-30006, ORA-01013.
    pub fn wait_for(&self, _p: &Process, _t: &mut Txn, _holder: Xid, _wait: LockWait) -> Result<()> {
        todo!()
    }
    /// Reads a block as of `s`: the current version when it is old enough, a CR image built from undo when not.
    ///
    /// `f` may run several times and may see torn data: it copies what it wants out.
    /// # Errors
    /// ORA-01555 when undo the image needs has been overwritten.
    pub fn consistent_read<R>(
        &self,
        _p: &Process,
        _at: Rdba,
        _kind: GetKind,
        _s: &Snapshot,
        _f: &mut dyn FnMut(&BlockView) -> R,
    ) -> Result<R> {
        todo!()
    }
    /// Rolls back the transactions of a dead process, by PMON.
    pub fn rollback_dead(&self, _p: &Process, _dead_slot: u32) -> Result<u32> {
        todo!()
    }
    /// The rows of `v$transaction`.
    pub fn transactions(&self) -> Vec<TransactionRow> {
        todo!()
    }
    /// Checks the transaction table's invariants.
    pub fn assert_invariants(&self) {
        todo!()
    }
}
