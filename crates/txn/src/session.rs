//! The private state of a process for its transaction.

use crate::undo::{RECORD_ENTRY, RECORD_HEAD, RECORDS_MAX};
use enqueue::{LockId, LockMode};
use std::cell::Cell;
use types::{ObjectId, Rdba, Scn, Uba, Xid};

types::numbered! {
    /// The commits of other transactions that the statements of a transaction see.
    #[derive(Debug, Default, PartialEq, Eq)]
    pub enum Isolation: u8 {
        /// Each statement sees the commits before its own beginning.
        #[default]
        ReadCommitted = 0,
        /// All statements see the commits before the transaction's beginning, and a row that was changed since cannot
        /// be changed: ORA-08177.
        Serializable = 1,
        /// All statements see the commits before the transaction's beginning, and nothing can be changed: ORA-01456.
        ReadOnly = 2,
    }
}

/// The changes that a statement sees: all committed at or below `scn`, and those of its own transaction up to `own`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Snapshot {
    /// Changes committed at or below it are visible.
    pub scn: Scn,
    /// The reader's own transaction, when it had one at the start of the statement.
    pub xid: Option<Xid>,
    /// The newest undo record of the own transaction at the start of the statement; changes after it are invisible.
    pub own: Option<Uba>,
    /// The snapshot of a serializable transaction: a row that another transaction changed and committed after `scn`
    /// must not be changed, even when its values are the same as before.
    pub serializable: bool,
}

/// A place in a transaction to roll back to: a named savepoint or the start of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Savepoint {
    pub(crate) xid: Option<Xid>,
    pub(crate) at: Uba,
    /// Table locks held.
    pub(crate) tables: usize,
    pub(crate) point: TxnPoint,
}

/// A point in the life of a session's transactions: all locks of that moment are still held while it
/// [stands](Txn::stands_since).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TxnPoint {
    /// Transactions ended before it.
    ended: u64,
    /// Earlier points of the transaction.
    number: u64,
}

/// The process's end of its transaction's chain of undo.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Chain {
    /// First and newest undo block, and the one before the newest.
    pub first: Rdba,
    pub last: Rdba,
    pub before_last: Rdba,
    /// Sequence number, record count and free bytes of the newest block.
    pub seq: u32,
    pub block_records: u16,
    pub free_bytes: usize,
    /// The newest record that is not undone.
    pub newest: Uba,
    pub records: u64,
    /// Bytes of all its records, undone ones included.
    pub bytes: u64,
    pub blocks: u32,
    /// The record of the slot's previous owner, in the first block.
    pub slot_before: Uba,
}

impl Chain {
    /// Whether `records` more records of `bytes` together fit into the newest block.
    pub fn fits(&self, records: usize, bytes: usize) -> bool {
        !self.last.is_none()
            && usize::from(self.block_records) + records <= usize::from(RECORDS_MAX)
            && bytes + records * RECORD_ENTRY <= self.free_bytes + RECORD_ENTRY
    }

    /// The most layer data that one more record in the newest block can have.
    fn room(&self) -> usize {
        if self.fits(1, RECORD_HEAD) { self.free_bytes.saturating_sub(RECORD_HEAD) } else { 0 }
    }
}

/// A table lock.
#[derive(Debug)]
pub(crate) struct TableHold {
    pub object: ObjectId,
    pub mode: LockMode,
    /// The mode held until the transaction ends; a stronger `mode` ends with the statement.
    pub lasting: LockMode,
    pub lock: LockId,
}

/// A session's transaction: process-local. One `Txn` exists as long as its session and is reused for each transaction.
#[derive(Debug, Default)]
pub struct Txn {
    pub(crate) xid: Option<Xid>,
    pub(crate) chain: Chain,
    pub(crate) touched: Vec<ObjectId>,
    /// Identifiers of changed rows that the crates above note: kinds and keys. After a partial rollback it may contain
    /// more than was changed.
    pub(crate) keys: Vec<(u8, Vec<u8>)>,
    /// The TX enqueue.
    pub(crate) lock: Option<LockId>,
    pub(crate) tables: Vec<TableHold>,
    /// Table locks of the transactions that this one has suspended. The process owns them, so they also serve this one;
    /// they are not released with it.
    pub(crate) lent: Vec<(ObjectId, LockMode)>,
    /// Blocks to clean out at commit, with the transaction's entry in each.
    pub(crate) changed: Vec<(Rdba, u8)>,
    /// More blocks were changed than `changed` holds.
    pub(crate) more_changed: bool,
    /// The undo tablespace had no block for the first change, or the change's group had no room for the blocks that are
    /// changed with it: the next attempt takes one in a group of its own.
    pub(crate) takes_undo_first: bool,
    /// The level of the open or next transaction, and the session's level for later ones.
    pub(crate) isolation: Isolation,
    pub(crate) usual: Isolation,
    /// Begun by SET TRANSACTION.
    pub(crate) set: bool,
    /// Perhaps begun by another process, whose temporary rows this one does not have.
    pub(crate) foreign: bool,
    /// Has suspended another transaction of its session.
    pub(crate) autonomous: bool,
    /// In a foreign transaction, the objects of temporary tables that belong to this process.
    pub(crate) temporary: Vec<ObjectId>,
    /// The newest undo record when the session entered the branch.
    pub(crate) base: Uba,
    /// LOCK TABLE has been executed.
    pub(crate) locked: bool,
    /// The SCN that all its statements see, once the first of them has begun. It counts as an open snapshot of the
    /// process.
    pub(crate) held: Cell<Option<Scn>>,
    /// Transactions ended.
    ended: u64,
    /// Moments taken.
    moments: Cell<u64>,
    /// Rollbacks to savepoints in the open transaction: the moment of each, and the savepoint's.
    undone: Vec<(u64, u64)>,
}

impl Txn {
    /// A transaction that has not changed anything yet.
    pub fn new() -> Txn {
        Txn::default()
    }

    /// An autonomous transaction, which suspends `outer`: it does not see the changes of `outer` and ends before it
    /// continues.
    pub fn inside(outer: &Txn) -> Txn {
        let mut lent = outer.lent.clone();
        for table in &outer.tables {
            match lent.iter_mut().find(|(object, _)| *object == table.object) {
                Some((_, mode)) => *mode = mode.union(table.mode),
                None => lent.push((table.object, table.mode)),
            }
        }
        Txn { lent, autonomous: true, isolation: outer.usual, usual: outer.usual, ..Txn::default() }
    }

    /// The most layer data that one more undo record in the transaction's newest undo block can have; `None` before the
    /// first one.
    pub fn undo_room(&self) -> Option<usize> {
        (!self.chain.last.is_none()).then(|| self.chain.room())
    }

    /// The present moment.
    pub fn point(&self) -> TxnPoint {
        self.moments.set(self.moments.get() + 1);
        TxnPoint { ended: self.ended, number: self.moments.get() }
    }

    /// The number of transactions that ended before the open or next one.
    pub fn ends(&self) -> u64 {
        self.ended
    }

    /// Notes that the changes since a savepoint were rolled back by ROLLBACK TO.
    pub fn note_undone(&mut self, to: &Savepoint) {
        let now = self.point().number;
        // An earlier rollback to a later savepoint is implied by this one.
        self.undone.retain(|(_, earlier)| *earlier < to.point.number);
        self.undone.push((now, to.point.number));
    }

    /// Whether since that point there was no commit, no rollback, and no rollback to an earlier savepoint.
    pub fn stands_since(&self, m: &TxnPoint) -> bool {
        m.ended == self.ended && !self.undone.iter().any(|(when, to)| *when > m.number && *to < m.number)
    }

    /// The transaction's id, once it has changed something.
    pub fn xid(&self) -> Option<Xid> {
        self.xid
    }

    /// Whether there was a change, lock or SET since the last commit or rollback, which the next one has to end.
    pub fn is_active(&self) -> bool {
        self.xid.is_some()
            || !self.tables.is_empty()
            || !self.touched.is_empty()
            || self.set
            || self.held.get().is_some()
    }

    /// Whether it is too late for SET TRANSACTION: a change is in effect, a table was locked, or it was set already. A
    /// query, or a statement that was rolled back, begins no transaction; in a serializable session the first query
    /// does.
    pub fn has_begun(&self) -> bool {
        self.set || self.locked || !self.chain.newest.is_none() || self.held.get().is_some()
    }

    /// Whether it has only fixed the SCN of its queries, by a query in a serializable session.
    pub fn has_only_read(&self) -> bool {
        self.held.get().is_some()
            && self.xid.is_none()
            && self.tables.is_empty()
            && self.touched.is_empty()
            && !self.set
    }

    /// SET TRANSACTION: begins a transaction at that level; `None` leaves the session's own.
    pub fn set(&mut self, isolation: Option<Isolation>) {
        self.set = true;
        self.isolation = isolation.unwrap_or(self.usual);
    }

    /// The level of the session's transactions from the next one on.
    pub fn set_usual(&mut self, isolation: Isolation) {
        self.usual = isolation;
        if !self.is_active() {
            self.isolation = isolation;
        }
    }

    /// The level of the transaction that is open or begins next.
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// The SCN that all its statements read as of, once the first one has got it.
    pub fn held_snapshot(&self) -> Option<Scn> {
        self.held.get()
    }

    /// Whether statements see the database as of the transaction's beginning instead of their own.
    pub fn holds_snapshot(&self) -> bool {
        self.isolation != Isolation::ReadCommitted
    }

    /// Whether this transaction changed or locked `object`.
    pub fn has_touched(&self, object: ObjectId) -> bool {
        self.touched.contains(&object)
    }

    /// Notes a key of a row that is changed, until the transaction ends.
    pub fn note_key(&mut self, kind: u8, key: Vec<u8>) {
        // Rows of one object mostly come in a row.
        if !self.keys.iter().rev().take(8).any(|(of, known)| *of == kind && *known == key) {
            self.keys.push((kind, key));
        }
    }

    /// The keys that have been noted.
    pub fn keys(&self) -> &[(u8, Vec<u8>)] {
        &self.keys
    }

    /// Undo records written so far.
    pub fn undo_records(&self) -> u64 {
        self.chain.records
    }

    pub(crate) fn note_changed(&mut self, at: Rdba, itl: u8, max: usize) {
        if self.changed.last() == Some(&(at, itl)) || self.changed.contains(&(at, itl)) {
            return;
        }
        if self.changed.len() < max {
            self.changed.push((at, itl));
        } else {
            self.more_changed = true;
        }
    }

    pub(crate) fn reset(&mut self) {
        self.xid = None;
        self.base = Uba::NONE;
        self.chain = Chain::default();
        self.touched.clear();
        self.keys.clear();
        self.tables.clear();
        self.temporary.clear();
        self.changed.clear();
        self.more_changed = false;
        self.isolation = self.usual;
        (self.set, self.locked, self.foreign) = (false, false, false);
        self.ended += 1;
        self.undone.clear();
    }
}
