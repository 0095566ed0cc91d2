//! The transaction system of an instance: snapshots, the beginning of transactions, views.

use crate::branch_table::{Branches, BranchesLayout};
use crate::known::Known;
use crate::scn_time::{ScnTimeLayout, ScnTimes};
use crate::scratch::Scratch;
use crate::table::{Entry, Fate, NO_SESSION, State, Table, TableLayout};
use crate::undo::{Rollback, UndoRecord};
use crate::undo_intervals::{UndoIntervals, UndoIntervalsLayout};
use crate::{Isolation, Snapshot, Txn};
use block::{Itl, itl_flags};
use buffer_cache::{BufferCache, is_retry};
use enqueue::{EnqueueType, Enqueues, LockMode, Timeout};
use process::Process;
use redo::{LAYERS, Layer};
use sga::SgaBuilder;
use space::Space;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use types::{Ora, Result, Scn, Uba, Xid};
use wait::Event;

/// The numbers of undo segments and transactions of an instance.
#[derive(Debug, Clone)]
pub struct TxnConfig {
    /// Undo segments of a new undo tablespace; at least as many are online.
    pub undo_segments: u32,
    /// Segment numbers of each undo tablespace: the most segments it can have. Fixed when the database is created.
    pub undo_segments_max: u32,
    /// The most segments that may be online.
    pub undo_segments_online_max: u32,
    /// Transaction table slots in each undo segment.
    pub slots_per_segment: u32,
    /// Process slots of the instance, for the oldest snapshot each of them has open.
    pub processes: u32,
    /// Most interested-transaction entries a data block may grow to.
    pub itl_max: u8,
    /// Most blocks a commit cleans out at once; the rest are left to delayed cleanout.
    pub commit_cleanout_blocks: u32,
    /// The longest wait in seconds of a session in a branch of a global transaction for a lock.
    pub distributed_lock_timeout_s: u32,
}

impl TxnConfig {
    /// The default sizes for this many process slots.
    pub fn new(processes: u32) -> TxnConfig {
        TxnConfig {
            undo_segments: 10,
            undo_segments_max: 20,
            undo_segments_online_max: 20,
            slots_per_segment: 48,
            processes,
            itl_max: 200,
            commit_cleanout_blocks: 64,
            distributed_lock_timeout_s: 60,
        }
    }
}

/// The places of the crate's areas in the SGA.
#[derive(Debug, Clone)]
pub struct TxnLayout {
    pub(crate) table: TableLayout,
    pub(crate) branches: BranchesLayout,
    pub(crate) times: ScnTimeLayout,
    pub(crate) undo_intervals: UndoIntervalsLayout,
}

impl TxnLayout {
    /// Reserves the transaction table and the snapshot lines.
    pub fn reserve(sga: &mut SgaBuilder, config: &TxnConfig) -> TxnLayout {
        let (max, online_max) = (config.undo_segments_max.max(config.undo_segments), config.undo_segments_online_max);
        let table = TableLayout::reserve(sga, max, online_max, config.slots_per_segment, config.processes);
        let branches = BranchesLayout::reserve(sga, config.processes);
        TxnLayout {
            table,
            branches,
            times: ScnTimeLayout::reserve(sga),
            undo_intervals: UndoIntervalsLayout::reserve(sga),
        }
    }
}

/// The longest wait for a row or table that another transaction has locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockWait {
    Forever,
    /// ORA-00054 at once.
    NoWait,
    /// ORA-30006 after this many seconds.
    Seconds(u32),
    /// ORA-30006 after this many milliseconds.
    Millis(u32),
    /// Skips locked rows.
    SkipLocked,
}

/// A row of `v$transaction`.
#[derive(Debug, Clone)]
pub struct TransactionRow {
    pub xid: Xid,
    /// Slot number of the owning process.
    pub process: u32,
    /// ADDR, which is TADDR of `v$session`.
    pub address: u64,
    pub status: &'static str,
    pub start_scn: Scn,
    /// Wall-clock nanoseconds since 1970.
    pub start_ns: u64,
    pub last_uba: Uba,
    pub used_undo_blocks: u64,
    pub used_undo_records: u64,
    pub is_serializable: bool,
}

/// The undo functions of a layer. `op` and `data` of the record are the layer's own.
///
/// A layer whose undo is physical within one block (`heap`, `cluster`) registers none: the record's (layer, op, data)
/// is then a change vector for the block itself. A layer whose rows move between blocks (`btree`) registers one.
pub trait UndoLayer: Send + Sync {
    /// Reverses the change in a private image of block `rec.rdba`, for a consistent get. The caller restores the
    /// interested-transaction entry. Changes that are no longer in this block are skipped.
    fn undo_image(&self, image: &mut [u8], rec: &UndoRecord<'_>) -> Result<()>;
    /// Does work, before the group of a rollback is opened, for which that group has no room. May be repeated.
    fn prepare(&self, _txns: &Transactions, _p: &Process, _rec: &UndoRecord<'_>) -> Result<()> {
        Ok(())
    }
    /// Reverses the change for a rollback: finds the block where the change now lies, changes it through `undo`, and
    /// restores the entry there with [`Rollback::restore_itl`] when it is still this record's.
    fn rollback(&self, txns: &Transactions, p: &Process, rec: &UndoRecord<'_>, undo: &mut Rollback<'_>) -> Result<()>;
}

pub(crate) struct Inner {
    pub(crate) table: Table,
    pub(crate) branches: Branches,
    pub(crate) times: ScnTimes,
    pub(crate) undo_intervals: UndoIntervals,
    pub(crate) space: Space,
    pub(crate) enqueues: Enqueues,
    pub(crate) config: TxnConfig,
    pub(crate) layers: [OnceLock<Arc<dyn UndoLayer>>; LAYERS],
    /// Private memory for CR images. Each process has its own copy of the pool.
    pub(crate) scratch: Mutex<Vec<Scratch>>,
    /// Commit SCNs that this process has found in undo.
    pub(crate) known: Mutex<Known>,
    /// Transactions without an owner that wait for files, with the count of returned files when this process last tried
    /// them.
    pub(crate) waiting: Mutex<Vec<(Xid, u64)>>,
}

/// The transaction system of an instance. Clones share everything.
#[derive(Clone)]
pub struct Transactions {
    pub(crate) inner: Arc<Inner>,
}

impl Transactions {
    /// Registers a layer whose undo is not physical within a block. Before the first fork, and once.
    pub fn register_undo(&self, layer: Layer, by: Arc<dyn UndoLayer>) {
        assert!(self.inner.layers[layer as usize].set(by).is_ok(), "the undo of {layer:?} is registered twice");
    }

    pub(crate) fn undo_layer(&self, layer: Layer) -> Option<&dyn UndoLayer> {
        self.inner.layers[layer as usize].get().map(|l| &**l)
    }

    pub(crate) fn enqueues(&self) -> &Enqueues {
        &self.inner.enqueues
    }

    pub(crate) fn table(&self) -> &Table {
        &self.inner.table
    }

    pub(crate) fn branches(&self) -> &Branches {
        &self.inner.branches
    }

    /// The counts of undo events by ten minutes.
    pub fn undo_intervals(&self) -> &UndoIntervals {
        &self.inner.undo_intervals
    }

    /// The times of SCNs.
    pub fn times(&self) -> &ScnTimes {
        &self.inner.times
    }

    /// The buffer cache below.
    pub fn cache(&self) -> &Arc<BufferCache> {
        self.inner.space.cache()
    }

    /// Space management below.
    pub fn space(&self) -> &Space {
        &self.inner.space
    }

    pub(crate) fn scratch(&self) -> &Mutex<Vec<Scratch>> {
        &self.inner.scratch
    }

    pub(crate) fn known(&self) -> &Mutex<Known> {
        &self.inner.known
    }

    pub(crate) fn waiting(&self) -> &Mutex<Vec<(Xid, u64)>> {
        &self.inner.waiting
    }

    pub(crate) fn block_size(&self) -> usize {
        self.cache().block_size()
    }

    /// Undo segments of a new tablespace.
    pub(crate) fn undo_segments_least(&self) -> u16 {
        self.inner.config.undo_segments.clamp(1, self.table().segments_max().into()) as u16
    }

    pub(crate) fn itl_max(&self) -> u8 {
        self.inner.config.itl_max
    }

    pub(crate) fn distributed_lock_timeout(&self) -> Duration {
        Duration::from_secs(self.inner.config.distributed_lock_timeout_s.into())
    }

    pub(crate) fn cleanout_max(&self) -> usize {
        self.inner.config.commit_cleanout_blocks as usize
    }

    /// The newest SCN given out.
    pub fn current_scn(&self) -> Scn {
        self.table().scn()
    }

    /// Raises the SCN, at start-up, to at least `scn`.
    pub fn advance_scn(&self, scn: Scn) {
        self.table().advance_scn(scn);
    }

    /// A read-consistent view as of now that includes `t`'s own changes up to now. Notes its SCN in the process's line,
    /// so that undo it needs is kept if possible. [`Transactions::release`] ends it when the cursor closes.
    ///
    /// All statements of a serializable or read-only transaction get the SCN of its first one.
    pub fn snapshot(&self, p: &Process, t: &Txn) -> Snapshot {
        if t.holds_snapshot() {
            let scn = self.hold_snapshot(p, t);
            self.table().open_snapshot(p.number());
            return Snapshot { serializable: t.isolation == Isolation::Serializable, ..self.view_as_of(t, scn) };
        }
        self.statement_snapshot(p, t)
    }

    /// As [`Transactions::snapshot`], as of now at any isolation level: for the dictionary and for checks of
    /// constraints.
    pub fn statement_snapshot(&self, p: &Process, t: &Txn) -> Snapshot {
        let scn = self.table().open_snapshot(p.number());
        self.view_as_of(t, scn)
    }

    /// The SCN that all statements of a serializable or read-only transaction read as of. The first call fixes it; it
    /// stays noted until the transaction ends, so that undo it needs is kept if possible.
    pub fn hold_snapshot(&self, p: &Process, t: &Txn) -> Scn {
        if let Some(scn) = t.held.get() {
            return scn;
        }
        let scn = self.table().open_snapshot(p.number());
        t.held.set(Some(scn));
        scn
    }

    /// A view as of `scn` that is not noted, for example for a flashback query.
    pub fn view_as_of(&self, t: &Txn, scn: Scn) -> Snapshot {
        let own = t.xid.map(|_| t.chain.newest).filter(|uba| !uba.is_none());
        Snapshot { scn, xid: t.xid, own, serializable: false }
    }

    /// The oldest SCN of a noted snapshot; the present one when none is open.
    pub fn oldest_snapshot(&self) -> Scn {
        self.table().oldest_snapshot()
    }

    /// Ends a snapshot.
    #[inline]
    pub fn release(&self, p: &Process, _s: &Snapshot) {
        self.table().close_snapshot(p.number());
    }

    /// Makes the transaction active. The first change calls it.
    ///
    /// # Errors
    /// ORA-01554 when every slot of every undo segment is taken.
    pub fn begin(&self, p: &Process, t: &mut Txn) -> Result<Xid> {
        if let Some(xid) = t.xid {
            return Ok(xid);
        }
        let xid = self.table().claim(p.number()).ok_or_else(|| Ora::new(1554))?;
        let (id1, id2) = tx_name(xid);
        match self.inner.enqueues.get(p, EnqueueType::Tx, id1, id2, LockMode::Exclusive, Timeout::NoWait) {
            Ok(lock) => {
                (t.xid, t.lock) = (Some(xid), Some(lock));
                let is_serializable = t.isolation == Isolation::Serializable;
                if (is_serializable || t.autonomous)
                    && let Some(entry) = self.table().entry(xid)
                {
                    entry.note_kind(is_serializable, t.autonomous);
                }
                self.show_transaction(p, t);
            }
            Err(e) => {
                self.table().free(xid);
                return Err(e.into());
            }
        }
        Ok(xid)
    }

    /// Publishes the session's transaction in `v$session`: TADDR.
    pub fn show_transaction(&self, p: &Process, t: &Txn) {
        let address = t.xid.and_then(|xid| self.table().entry(xid)).map_or(0, Entry::address);
        p.session().transaction.store(address, std::sync::atomic::Ordering::Relaxed);
    }

    /// Runs `f`, and repeats it whenever a change group in it had to give way to another one.
    pub fn retrying<R>(&self, p: &Process, f: &mut dyn FnMut() -> Result<R>) -> Result<R> {
        let mut attempt = 0u64;
        loop {
            match f() {
                Err(e) if is_retry(&e) => {
                    p.check_cancel()?;
                    attempt += 1;
                    os::clock::sleep(Duration::from_micros((u64::from(p.number()) * 37 + attempt * 101) % 1000));
                }
                done => return done,
            }
        }
    }

    /// Whether `xid` has ended, with a commit before every open snapshot: no reader needs an older version.
    pub fn is_forgotten(&self, xid: Xid) -> bool {
        match self.table().fate(xid) {
            Fate::Active | Fate::Unsettled => false,
            Fate::Committed(scn) | Fate::Before(scn) => self.table().is_before_snapshots(scn),
        }
    }

    /// Whether `xid` has neither committed nor been rolled back.
    pub fn is_active(&self, xid: Xid) -> bool {
        self.table().is_active(xid)
    }

    /// The fate of the owner of a block's interested-transaction entry.
    pub(crate) fn fate_of(&self, itl: &Itl) -> Fate {
        match (itl.is_committed(), itl.flags & itl_flags::UPPER_BOUND != 0) {
            (true, false) => Fate::Committed(itl.scn),
            (true, true) => Fate::Before(itl.scn),
            (false, _) => self.table().fate(itl.xid),
        }
    }

    /// Whether `xid` is open without a session. One without a session since the start is prepared.
    pub fn is_without_session(&self, xid: Xid) -> bool {
        self.table().owner(xid) == Some(NO_SESSION)
    }

    /// Waits for another process between COMMITTING and COMMITTED: a few instructions as a rule, a log switch at worst.
    /// Waits: `transaction`.
    pub(crate) fn pause(&self, p: &Process) -> Result<()> {
        p.check_cancel()?;
        let _wait = p.wait(Event::TransactionEvent, 0, 0, 0);
        os::clock::sleep(Duration::from_micros(20));
        Ok(())
    }

    /// The rows of `v$transaction`.
    pub fn transactions(&self) -> Vec<TransactionRow> {
        self.table()
            .busy()
            .map(|(xid, process, state, entry)| TransactionRow {
                xid,
                process,
                address: entry.address(),
                start_ns: entry.start_ns(),
                status: match state {
                    State::Active => "ACTIVE",
                    State::Dead => "RECOVERING",
                    _ => "COMMITTING",
                },
                start_scn: entry.start_scn(),
                last_uba: entry.last_uba(),
                used_undo_blocks: entry.used().1,
                used_undo_records: entry.used().0,
                is_serializable: entry.is_serializable(),
            })
            .collect()
    }

    /// Checks the entries of the transaction table against the SCN and against each other. Valid only while there are
    /// no commits.
    ///
    /// # Panics
    /// When an invariant is broken.
    pub fn assert_invariants(&self) {
        let now = self.current_scn();
        for (xid, _, state, entry) in self.table().busy() {
            assert!(entry.commit_scn() <= now, "{xid} has commit SCN {} above {now}", entry.commit_scn());
            assert!(entry.start_scn() <= now, "{xid} began at {} above {now}", entry.start_scn());
            let fate = self.table().fate(xid);
            let expected = matches!(
                (state, fate),
                (State::Active | State::Dead, Fate::Active)
                    | (State::Committing, Fate::Unsettled)
                    | (State::Committed, Fate::Committed(_))
            );
            assert!(expected, "{xid} is {state:?} and {fate:?}");
        }
        assert!(self.table().oldest_snapshot() <= now, "a snapshot is open above the SCN");
    }
}

pub(crate) fn tx_name(xid: Xid) -> (u64, u64) {
    (u64::from(xid.usn) << 16 | u64::from(xid.slot), xid.sqn.into())
}
