//! The ends of transactions: commit and rollback.

use crate::branch_table::session_word;
use crate::deferred::{Pass, is_away};
use crate::session::Chain;
use crate::table::{Entry, State};
use crate::undo::{UndoRecord, copy_record, decode_record, is_undone, op};
use crate::{Rollback, Savepoint, Transactions, Txn};
use block::BlockView;
use buffer_cache::{ChangeGroup, GetKind, is_retry};
use process::Process;
use redo::{Layer, Rba};
use std::sync::atomic::Ordering;
use std::time::Duration;
use types::{ObjectId, Ora, Result, Scn, Uba, Xid};
use wait::Stat;

/// Called around a commit with the objects the transaction changed or locked.
pub trait CommitHook {
    /// Runs before the transaction becomes visible. An error keeps the transaction open.
    fn before_visible(&self, p: &Process, objects: &[ObjectId]) -> Result<()>;
    /// Runs when the transaction is committed at `scn`, or when the commit has failed, with an SCN at or above all of
    /// its own.
    fn after(&self, p: &Process, scn: Scn, objects: &[ObjectId]);
}

/// The owner of the transaction that is rolled back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner<'a> {
    /// The process that rolls back.
    Alive,
    /// The process that rolls back, for another one that was attached to the branch before. Of temporary rows and
    /// entries, those of these objects are its own.
    Other(&'a [ObjectId]),
    /// A dead process.
    Dead,
}

impl Owner<'_> {
    /// Whether a temporary row or entry of that object can be restored.
    fn has_temporary(self, object: ObjectId) -> bool {
        match self {
            Owner::Alive => true,
            Owner::Other(own) => own.contains(&object),
            Owner::Dead => false,
        }
    }
}

/// A hook that does nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHook;

impl CommitHook for NoHook {
    fn before_visible(&self, _p: &Process, _objects: &[ObjectId]) -> Result<()> {
        Ok(())
    }
    fn after(&self, _p: &Process, _scn: Scn, _objects: &[ObjectId]) {}
}

impl Transactions {
    /// Ends a session: rolls back the open transaction and forgets the process's snapshots, including those of open
    /// cursors.
    ///
    /// # Errors
    /// The transaction could not be rolled back, for example because the session was killed and there is no room for
    /// redo. It has no owner from now on: [`Transactions::recover`] tries again.
    pub fn end_session(&self, p: &Process, t: &mut Txn) -> Result<()> {
        self.table().clear_snapshots(p.number());
        t.held.set(None);
        self.rollback(p, t).inspect_err(|_| {
            // The process ends in order, so PMON does not look for its transactions.
            let owned = self.table().busy().filter(|(_, owner, ..)| *owner == p.number());
            owned.for_each(|(.., state, entry)| entry.disown(state));
        })
    }

    /// Commits. No effect when nothing was changed.
    ///
    /// The commit point is the redo record that ends the transaction in its undo header. Only after it is the commit
    /// visible, so that records of dependent transactions come later in the redo (T4). Then the changed blocks are
    /// cleaned out and the locks released. [`Transactions::sync_commits`] waits until the record is on disk, before a
    /// client is told.
    ///
    /// # Errors
    /// Those of `before_visible`, and those of changing the undo header: the transaction is still open.
    pub fn commit(&self, p: &Process, t: &mut Txn, hook: &dyn CommitHook) -> Result<Scn> {
        let Some(xid) = t.xid else {
            self.release_locks(p, t);
            t.reset();
            return Ok(self.current_scn());
        };
        hook.before_visible(p, &t.touched)?;
        let entry = self.own_entry(xid);
        let scn = entry.begin_commit(self.table());
        faults::point("txn-committing");
        let mut cleaned = 0;
        let mut clean_out = |g: &mut ChangeGroup<'_>| {
            cleaned = self.clean_out_first(g, xid, &t.changed, scn)?;
            Ok(())
        };
        let record = self.end_in_header(p, xid, &t.chain, scn, &mut clean_out).inspect_err(|_| {
            entry.reopen();
            hook.after(p, self.current_scn(), &t.touched);
        })?;
        faults::point("txn-commit-logged");
        entry.settle();
        faults::point("txn-committed");
        if record > Rba(0) {
            self.cache().redo().note_commit(p, record);
        }
        p.count(Stat::UserCommits, 1);
        self.clean_out_changed(p, xid, t, cleaned, scn);
        self.table().free(xid);
        self.release_locks(p, t);
        hook.after(p, scn, &t.touched);
        t.reset();
        Ok(scn)
    }

    /// Waits until the commits that the process has made since the last call are on disk (`log file sync`). Called
    /// before a client is told of them; the end of a call is early enough.
    ///
    /// # Errors
    /// The redo cannot be written: it is unknown whether the commits will exist after a restart.
    pub fn sync_commits(&self, p: &Process) -> Result<()> {
        self.cache().redo().sync_commits(p)
    }

    fn own_entry(&self, xid: Xid) -> &'static Entry {
        self.table().entry(xid).expect("a transaction has an entry in the transaction table")
    }

    /// Rolls the whole transaction back and ends it. Changes in files that are away are rolled back by PMON when the
    /// files are back; until then the transaction counts as active.
    ///
    /// # Errors
    /// Those of reading undo and of changing blocks.
    pub fn rollback(&self, p: &Process, t: &mut Txn) -> Result<()> {
        let Some(xid) = t.xid else {
            self.release_locks(p, t);
            t.reset();
            return Ok(());
        };
        p.count(Stat::UserRollbacks, 1);
        p.count(Stat::TransactionRollbacks, u64::from(!t.chain.newest.is_none()));
        if t.foreign {
            self.lose_temporary(xid, (!t.temporary.is_empty()).then_some(p));
        }
        let owner = if t.foreign { Owner::Other(&t.temporary) } else { Owner::Alive };
        match p.unbroken(|| self.undo_all(p, xid, &mut t.chain, owner))? {
            true => self.end_rolled_back(p, xid, &t.chain)?,
            false => self.own_entry(xid).disown(State::Active),
        }
        self.release_locks(p, t);
        t.reset();
        Ok(())
    }

    pub(crate) fn end_rolled_back(&self, p: &Process, xid: Xid, chain: &Chain) -> Result<()> {
        let entry = self.own_entry(xid);
        let scn = entry.settle_rolled_back(self.table());
        self.end_in_header(p, xid, chain, scn, &mut |_| Ok(()))?;
        self.table().free(xid);
        Ok(())
    }

    /// Notes that a transaction is about to be rolled back without the temporary rows that sessions other than `own`
    /// have changed in it.
    pub(crate) fn lose_temporary(&self, xid: Xid, own: Option<&Process>) {
        for (_, e) in self.branches().all().filter(|(_, e)| e.xid() == Some(xid)) {
            let owners = e.temporary.iter().map(|owner| owner.load(Ordering::SeqCst));
            for owner in owners.filter(|owner| *owner != 0 && own.is_none_or(|p| session_word(p) != *owner)) {
                self.table().note_lost(owner as u32, xid);
            }
        }
    }

    /// The present position: for SAVEPOINT, and for the start of an atomic statement.
    pub fn savepoint(&self, t: &Txn) -> Savepoint {
        Savepoint { xid: t.xid, at: t.chain.newest, tables: t.tables.len(), point: t.point() }
    }

    /// Undoes the transaction's changes since `to`. Row locks taken since are released; table locks and the transaction
    /// stay.
    ///
    /// # Errors
    /// ORA-01086 when `to` belongs to another transaction. ORA-02091 when a change since is in a file that is away: a
    /// partial rollback cannot be deferred, so the whole transaction was rolled back. ORA-00603 for any other error
    /// (T20).
    pub fn rollback_to(&self, p: &Process, t: &mut Txn, to: &Savepoint) -> Result<()> {
        let Some(xid) = t.xid else { return Ok(()) };
        let stop = match to.xid {
            None => Uba::NONE,
            Some(of) if of == xid => to.at,
            Some(_) => return Err(Ora::with(1086, &[&""])),
        };
        match p.unbroken(|| self.undo_down_to(p, xid, &mut t.chain, stop)) {
            Err(e) if is_away(&e) => {
                self.rollback(p, t)?;
                Err(Ora::new(2091).because(e))
            }
            Err(e) if !e.is(28) && !e.is(603) => Err(Ora::new(603).because(e)),
            done => done,
        }
    }

    /// Rolls back a failed call to `start`, its beginning. When the call itself has ended that transaction and begun
    /// another one, the whole new one is rolled back; in a branch that the call has entered, its changes there.
    ///
    /// # Errors
    /// Those of reading undo.
    pub fn rollback_call(&self, p: &Process, t: &mut Txn, start: &Savepoint) -> Result<()> {
        let stop = if start.xid == t.xid { start.at } else { t.base };
        self.rollback_to(p, t, &Savepoint { xid: t.xid, at: stop, tables: t.tables.len(), point: start.point })
    }

    /// Reverses the transaction's records, newest first, until `stop` is the newest.
    fn undo_down_to(&self, p: &Process, xid: Xid, chain: &mut Chain, stop: Uba) -> Result<()> {
        self.forget_images();
        let (mut bytes, pass) = (Vec::new(), Pass::new(self.cache().files(), false));
        while !chain.newest.is_none() && chain.newest != stop {
            let (rec, _) = self.read_own(p, xid, chain.newest, &mut bytes)?;
            self.undo_patiently(p, &rec, Owner::Alive, &pass)?;
            chain.newest = rec.prev;
            self.undone(p);
        }
        Ok(())
    }

    /// Reverses all of the transaction's records, newest first, except those that wait for a file; false when there are
    /// such records. The chain then ends with the newest of them.
    pub(crate) fn undo_all(&self, p: &Process, xid: Xid, chain: &mut Chain, owner: Owner<'_>) -> Result<bool> {
        self.forget_images();
        let (mut bytes, mut at) = (Vec::new(), chain.newest);
        let mut pass = Pass::new(self.cache().files(), owner == Owner::Dead);
        while !at.is_none() {
            p.look_for_the_dead();
            let (rec, is_undone) = self.read_own(p, xid, at, &mut bytes)?;
            if !is_undone {
                self.undo_or_pass(p, &rec, owner, &mut pass)?;
            }
            at = rec.prev;
            if !pass.passed {
                chain.newest = at;
            }
        }
        Ok(!pass.passed)
    }

    fn undo_or_pass(&self, p: &Process, rec: &UndoRecord<'_>, owner: Owner<'_>, pass: &mut Pass) -> Result<()> {
        let is_temporary = self.cache().files().is_temporary(rec.rdba.file());
        let is_lost = is_temporary && !owner.has_temporary(rec.object);
        if !is_lost && pass.is_listed(self.cache().files(), rec) && pass.passes_over(rec) {
            return Ok(());
        }
        match self.undo_patiently(p, rec, owner, pass) {
            Err(e) if is_away(&e) => pass.pass_over(rec),
            done => {
                done?;
                self.undone(p);
            }
        }
        Ok(())
    }

    fn undone(&self, p: &Process) {
        faults::point("txn-rolling-back");
        p.count(Stat::RollbackChangesUndoRecordsApplied, 1);
    }

    /// Reads an undo record of the transaction, and whether it is marked as undone.
    pub(crate) fn read_own<'b>(
        &self,
        p: &Process,
        xid: Xid,
        uba: Uba,
        bytes: &'b mut Vec<u8>,
    ) -> Result<(UndoRecord<'b>, bool)> {
        let found = self
            .cache()
            .read(p, uba.rdba, GetKind::Examination, &mut |v: &BlockView<'_>| copy_record(v, uba, bytes))?;
        found.ok_or_else(|| Ora::internal(format_args!("undo record {uba} of {xid} is gone")))?;
        let rec = decode_record(uba, bytes)?;
        if rec.xid != xid {
            return Err(Ora::internal(format_args!("undo record {uba} of {xid} belongs to {}", rec.xid)));
        }
        Ok((rec, is_undone(bytes)))
    }

    /// Reverses one record. A rollback must not fail for contention: it gives way to other groups as often as needed.
    fn undo_patiently(&self, p: &Process, rec: &UndoRecord<'_>, owner: Owner<'_>, pass: &Pass) -> Result<()> {
        let mut attempt = 0u64;
        while let Err(e) = self.undo_one(p, rec, owner, pass) {
            if !is_retry(&e) {
                return Err(e);
            }
            attempt += 1;
            os::clock::sleep(Duration::from_micros((u64::from(p.number()) * 37 + attempt * 101) % 1000));
        }
        Ok(())
    }

    /// Reverses one record and retires it, or marks it after a skipped record, in one group.
    fn undo_one(&self, p: &Process, rec: &UndoRecord<'_>, owner: Owner<'_>, pass: &Pass) -> Result<()> {
        let layer = self.undo_layer(rec.layer);
        // Temporary rows are gone with their process, or with the instance (T8).
        let temporary = self.cache().files().is_temporary(rec.rdba.file());
        let gone = temporary && !owner.has_temporary(rec.object) || pass.is_gone(self, p, rec)?;
        if let Some(layer) = layer.filter(|_| !gone) {
            layer.prepare(self, p, rec)?;
        }
        let mut undo = Rollback { group: self.cache().group(p) };
        match layer {
            _ if gone => {}
            Some(layer) => layer.rollback(self, p, rec, &mut undo)?,
            None => {
                let b = undo.group.current(rec.rdba)?;
                if !pass.is_anothers(&undo.group, b, rec) {
                    undo.apply(b, rec.layer, rec.op, rec.data)?;
                    undo.restore_itl(b, rec)?;
                }
            }
        }
        let b = undo.group.current(rec.uba.rdba)?;
        if pass.passed {
            undo.apply(b, Layer::Undo, op::UNDONE, &[rec.uba.rec])?;
        } else {
            let same_block = rec.prev.rdba == rec.uba.rdba && rec.prev.seq == rec.uba.seq;
            let newest = if same_block { u32::from(rec.prev.rec) + 1 } else { 0 };
            undo.apply(b, Layer::Undo, op::RETIRE_RECORD, &newest.to_le_bytes())?;
        }
        undo.group.commit(self.current_scn())?;
        Ok(())
    }
}
