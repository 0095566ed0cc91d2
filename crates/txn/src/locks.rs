//! Locks of a transaction: TM enqueues on tables, and waiting for the TX enqueue of another.
//!
//! A transaction owns its TX enqueue in mode X from its first change on. A process that finds a row locked requests
//! that enqueue in mode X. A process that needs the outcome of a key (a unique key, a parent's key) or an entry in a
//! block requests it in mode S. The request is released as soon as it is granted: the grant only means that the
//! transaction has ended. A rollback to a savepoint ends no transaction, so a process that waits for a row unlocked by
//! it continues to wait, while others may take the row.

use crate::branch_table::is_distributed;
use crate::session::TableHold;
use crate::transactions::tx_name;
use crate::{LockWait, Savepoint, Transactions, Txn};
use enqueue::{EnqueueError, EnqueueType, LockMode, Timeout};
use process::Process;
use process::SegmentStat;
use std::time::{Duration, Instant};
use types::{ObjectId, Ora, Result, Xid};
use wait::Event;

impl Transactions {
    /// Locks a table for the transaction (TM enqueue) until it ends: LOCK TABLE, and DDL.
    ///
    /// # Errors
    /// ORA-00054, ORA-30006, ORA-00060, ORA-01013.
    pub fn lock_table(&self, p: &Process, t: &mut Txn, object: ObjectId, mode: LockMode, wait: LockWait) -> Result<()> {
        self.lock_object(p, t, object, mode, wait, true)?;
        t.locked = true;
        Ok(())
    }

    /// Takes the TM enqueue in SX of a table that a statement is going to change, or that the changed keys refer to.
    /// True when the transaction did not have it: the table's definition may have changed before.
    ///
    /// # Errors
    /// As [`Transactions::lock_table`].
    pub fn lock_for_dml(&self, p: &Process, t: &mut Txn, object: ObjectId) -> Result<bool> {
        self.lock_object(p, t, object, LockMode::SubExclusive, LockWait::Forever, true)
    }

    /// As [`Transactions::lock_for_dml`], for a query FOR UPDATE: its wait limit applies to the table as well. SKIP
    /// LOCKED skips rows, not tables.
    ///
    /// # Errors
    /// As [`Transactions::lock_table`].
    pub fn lock_for_update(&self, p: &Process, t: &mut Txn, object: ObjectId, wait: LockWait) -> Result<bool> {
        let wait = if matches!(wait, LockWait::SkipLocked) { LockWait::Forever } else { wait };
        self.lock_object(p, t, object, LockMode::SubExclusive, wait, true)
    }

    /// Takes the TM enqueue of a table in S until [`Transactions::end_share`]: no other transaction has uncommitted
    /// changes of the table in that time. True when the transaction did not have it.
    ///
    /// # Errors
    /// As [`Transactions::lock_table`].
    pub fn share_for_statement(&self, p: &Process, t: &mut Txn, object: ObjectId, wait: LockWait) -> Result<bool> {
        self.lock_object(p, t, object, LockMode::Share, wait, false)
    }

    /// Releases the lock of [`Transactions::share_for_statement`].
    pub fn end_share(&self, p: &Process, t: &mut Txn, object: ObjectId) {
        let Some(i) = t.tables.iter().position(|l| l.object == object) else { return };
        let TableHold { mode, lasting, lock, .. } = t.tables[i];
        if lasting == LockMode::None {
            self.enqueues().release(p, lock);
            t.tables.remove(i);
        } else if lasting != mode {
            // A conversion to a weaker mode never waits.
            let _ = self.enqueues().convert(p, lock, lasting, Timeout::NoWait);
            t.tables[i].mode = lasting;
        }
    }

    /// True when the lock is new or stronger than before.
    fn lock_object(
        &self,
        p: &Process,
        t: &mut Txn,
        object: ObjectId,
        mode: LockMode,
        wait: LockWait,
        lasting: bool,
    ) -> Result<bool> {
        let lasts = if lasting { mode } else { LockMode::None };
        let held = t.tables.iter().position(|l| l.object == object);
        if let Some(l) = held.map(|i| &mut t.tables[i])
            && l.mode.union(mode) == l.mode
        {
            l.lasting = l.lasting.union(lasts);
            return Ok(false);
        }
        if let Some(i) = t.lent.iter().position(|(lent, _)| *lent == object) {
            return self.borrow_table(p, t, i, mode, wait);
        }
        let limit = self.limit(p, wait);
        let lock = self.enqueues().get(p, EnqueueType::Tm, object.0.into(), 0, mode, limit.timeout);
        let lock = lock.map_err(|e| limit.told(e))?;
        match held {
            None => t.tables.push(TableHold { object, mode, lasting: lasts, lock }),
            Some(i) => {
                let l = &mut t.tables[i];
                (l.mode, l.lasting) = (l.mode.union(mode), l.lasting.union(lasts));
            }
        }
        Ok(true)
    }

    /// Uses the lock that a suspended transaction of this process holds on a table.
    fn borrow_table(&self, p: &Process, t: &mut Txn, i: usize, mode: LockMode, wait: LockWait) -> Result<bool> {
        let (object, outer) = t.lent[i];
        if !outer.goes_with(mode) {
            return Err(Ora::new(60)); // the suspended transaction continues only after this one ends
        }
        if outer.union(mode) == outer {
            return Ok(false);
        }
        // The outer transaction's own lock, converted to a stronger mode: the outer one releases it.
        let _ = self.enqueues().get(p, EnqueueType::Tm, object.0.into(), 0, mode, timeout(wait))?;
        t.lent[i].1 = outer.union(mode);
        Ok(true)
    }

    /// Notes that the transaction is about to change or lock rows of `object`, and takes its TM enqueue in SX once.
    #[inline]
    pub fn touch(&self, p: &Process, t: &mut Txn, object: ObjectId) -> Result<()> {
        if t.touched.contains(&object) {
            return Ok(());
        }
        self.lock_for_dml(p, t, object)?;
        t.touched.push(object);
        Ok(())
    }

    /// Releases the table locks taken since a savepoint that the transaction was rolled back to.
    pub fn unlock_tables_since(&self, p: &Process, t: &mut Txn, to: &Savepoint) {
        while t.tables.len() > to.tables {
            let Some(hold) = t.tables.pop() else { break };
            self.enqueues().release(p, hold.lock);
            t.touched.retain(|object| *object != hold.object);
        }
    }

    /// Waits until `holder`, which has locked a row, ends (`enq: TX - row lock contention`, mode X). The caller holds
    /// no block, and reads the row again afterwards: for a dead holder the row may be free while other records still
    /// wait for their file.
    ///
    /// # Errors
    /// ORA-00060 (the statement is to be rolled back), ORA-00054, ORA-30006, ORA-01013.
    pub fn wait_for(&self, p: &Process, holder: Xid, wait: LockWait) -> Result<()> {
        self.wait_on(p, holder, LockMode::Exclusive, wait, Event::EnqTxRowLockContention)
    }

    /// As [`Transactions::wait_for`], for a row that `v$session` shows during the wait: ROW_WAIT_OBJ# and so on.
    ///
    /// # Errors
    /// As [`Transactions::wait_for`].
    pub fn wait_for_row(
        &self,
        p: &Process,
        holder: Xid,
        object: ObjectId,
        row: types::Rowid,
        wait: LockWait,
    ) -> Result<()> {
        use std::sync::atomic::Ordering::Relaxed;
        let slot = p.session();
        slot.row_wait_block.store(row.rdba.0.into(), Relaxed);
        slot.row_wait_row.store(row.slot.into(), Relaxed);
        slot.row_wait_object.store(object.0.into(), Relaxed);
        self.cache().segment_statistics().note(p, row.obj, SegmentStat::RowLockWaits, 1);
        let done = self.wait_for(p, holder, wait);
        slot.row_wait_object.store(0, Relaxed);
        done
    }

    /// Waits until `holder`, which has changed a key, ends (`enq: TX - row lock contention`, mode S).
    ///
    /// # Errors
    /// As [`Transactions::wait_for`].
    pub fn wait_for_key(&self, p: &Process, holder: Xid, wait: LockWait) -> Result<()> {
        self.wait_on(p, holder, LockMode::Share, wait, Event::EnqTxRowLockContention)
    }

    /// Waits until an interested-transaction entry of `holder` becomes free, in a block of the data object (`enq: TX -
    /// allocate ITL entry`).
    pub fn wait_for_itl(&self, p: &Process, object: ObjectId, holder: Xid) -> Result<()> {
        self.cache().segment_statistics().note(p, object, SegmentStat::ItlWaits, 1);
        self.wait_on(p, holder, LockMode::Share, LockWait::Forever, Event::EnqTxAllocateItlEntry)
    }

    fn wait_on(&self, p: &Process, holder: Xid, mode: LockMode, wait: LockWait, event: Event) -> Result<()> {
        let (id1, id2) = tx_name(holder);
        if self.table().owner(holder) == Some(p.number()) {
            // Another transaction of this process: the process would wait for itself.
            return Err(Ora::new(60));
        }
        self.refuse_in_doubt(holder)?;
        let (limit, mut naps) = (self.limit(p, wait), 0);
        if limit.timeout != Timeout::NoWait {
            self.refuse_own_global(p, holder)?;
        }
        while self.table().is_active(holder) {
            let lock = self.enqueues().get_as(p, EnqueueType::Tx, id1, id2, mode, limit.timeout, event);
            let lock = lock.map_err(|e| limit.told(e))?;
            self.enqueues().release(p, lock);
            if self.table().is_active(holder) {
                // The holder's process has died, and PMON is still rolling back.
                if matches!(wait, LockWait::NoWait | LockWait::SkipLocked) {
                    return Err(Ora::new(54));
                }
                p.check_cancel()?;
                if naps == NAPS {
                    return Ok(());
                }
                naps += 1;
                let _w = p.wait(Event::EnqTxContention, 0, id1, id2);
                os::clock::sleep(NAP);
            }
        }
        Ok(())
    }

    /// The longest wait of a request. In a branch of a global transaction, whose locks block sessions of other
    /// databases, at most `distributed_lock_timeout`.
    fn limit(&self, p: &Process, wait: LockWait) -> Limit {
        let given = timeout(wait);
        if !is_distributed(p) {
            return Limit { timeout: given, is_distributed: false };
        }
        let most = self.distributed_lock_timeout();
        match given {
            Timeout::Never => Limit { timeout: Timeout::After(most), is_distributed: true },
            Timeout::After(time) if time > most => Limit { timeout: Timeout::After(most), is_distributed: true },
            timeout => Limit { timeout, is_distributed: false },
        }
    }

    /// Releases the transaction's locks and its statements' common snapshot.
    pub(crate) fn release_locks(&self, p: &Process, t: &mut Txn) {
        if t.held.take().is_some() {
            self.table().close_snapshot(p.number());
        }
        p.session().transaction.store(0, std::sync::atomic::Ordering::Relaxed);
        if let Some(lock) = t.lock.take() {
            self.enqueues().release(p, lock);
        }
        for table in t.tables.drain(..) {
            self.enqueues().release(p, table.lock);
        }
    }
}

/// The longest wait of a request, and the origin of the limit.
struct Limit {
    timeout: Timeout,
    is_distributed: bool,
}

impl Limit {
    /// ORA-02049 when the limit of a global transaction has passed.
    fn told(&self, e: EnqueueError) -> Ora {
        match e {
            EnqueueError::TimedOut if self.is_distributed => Ora::new(2049),
            e => e.into(),
        }
    }
}

/// The wait of one row change: WAIT n limits all its waits together. A wait may end before the row is free when the
/// holder has died and its rollback takes long, or when another transaction takes the row first.
#[derive(Debug)]
pub struct RowWait {
    wait: LockWait,
    begun: Option<Instant>,
}

impl RowWait {
    /// No wait yet.
    pub fn new(wait: LockWait) -> RowWait {
        RowWait { wait, begun: None }
    }

    /// The limit of the next wait; the first one has all the time.
    ///
    /// # Errors
    /// ORA-30006 when the time has passed.
    pub fn left(&mut self) -> Result<LockWait> {
        let Timeout::After(limit) = timeout(self.wait) else { return Ok(self.wait) };
        let Some(begun) = self.begun else {
            self.begun = Some(Instant::now());
            return Ok(self.wait);
        };
        let left = limit.checked_sub(begun.elapsed()).ok_or_else(|| Ora::new(30006))?;
        Ok(LockWait::Millis(u32::try_from(left.as_millis()).unwrap_or(u32::MAX)))
    }
}

/// Interval between two looks at a row that PMON is rolling back.
const NAP: Duration = Duration::from_millis(2);
const NAPS: u32 = 25;

fn timeout(wait: LockWait) -> Timeout {
    match wait {
        LockWait::Forever => Timeout::Never,
        LockWait::NoWait | LockWait::SkipLocked => Timeout::NoWait,
        LockWait::Seconds(n) => Timeout::After(Duration::from_secs(n.into())),
        LockWait::Millis(n) => Timeout::After(Duration::from_millis(n.into())),
    }
}
