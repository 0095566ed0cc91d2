//! The ends of transactions: commit, rollback, and rollback after the death of a process or instance.

use crate::deferred::{Pass, is_away};
use crate::read::has_rows;
use crate::session::Chain;
use crate::table::{Entry, Fate, NO_SESSION, State};
use crate::undo::{UndoRecord, copy_record, decode_record, is_undone, op};
use crate::{Rollback, Savepoint, Transactions, Txn};
use block::{BlockView, Data, itl_flags};
use buffer_cache::{BlockRef, ChangeGroup, GetKind, is_retry};
use process::Process;
use redo::{Layer, Rba};
use std::time::Duration;
use types::{Facility, ObjectId, Ora, Rdba, Result, Scn, Uba, Xid};
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
enum Owner<'a> {
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

    fn end_rolled_back(&self, p: &Process, xid: Xid, chain: &Chain) -> Result<()> {
        let entry = self.own_entry(xid);
        let scn = entry.settle_rolled_back(self.table());
        self.end_in_header(p, xid, chain, scn, &mut |_| Ok(()))?;
        self.table().free(xid);
        Ok(())
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
    fn undo_all(&self, p: &Process, xid: Xid, chain: &mut Chain, owner: Owner<'_>) -> Result<bool> {
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

    /// The CLEANOUT vector for entry `n` of transaction `xid`; `None` while it is active.
    pub(crate) fn cleanout_of(&self, n: u8, xid: Xid) -> Option<[u8; 10]> {
        let (flags, scn) = match self.table().fate(xid) {
            Fate::Committed(scn) => (itl_flags::COMMITTED, scn),
            Fate::Before(scn) => (itl_flags::COMMITTED | itl_flags::UPPER_BOUND, scn),
            Fate::Active | Fate::Unsettled => return None,
        };
        Some(cleanout(n, flags, scn))
    }

    /// Commit-time cleanout of the changed blocks, as far as they are noted and in the cache. Blocks that fail are left
    /// to delayed cleanout.
    ///
    /// The first `cleaned` blocks were cleaned out in the group of the commit's record.
    fn clean_out_changed(&self, p: &Process, xid: Xid, t: &Txn, cleaned: usize, scn: Scn) {
        p.count(Stat::CommitCleanouts, cleaned as u64);
        p.count(Stat::CommitCleanoutsSuccessfullyCompleted, cleaned as u64);
        for (at, n) in &t.changed[cleaned..] {
            p.count(Stat::CommitCleanouts, 1);
            if let Ok(true) = self.clean_out_one(p, xid, *at, *n, scn) {
                p.count(Stat::CommitCleanoutsSuccessfullyCompleted, 1);
            }
        }
    }

    /// Cleans out the first changed blocks in the group of the commit's record: as many as are in the cache and not
    /// pinned, up to one that is not; returns how many. A small transaction then needs no group for its cleanout.
    fn clean_out_first(&self, g: &mut ChangeGroup<'_>, xid: Xid, changed: &[(Rdba, u8)], scn: Scn) -> Result<usize> {
        /// The undo header and the blocks of the queue of retired blocks are in the group, too.
        const BLOCKS_MAX: usize = 4;
        for (count, (at, n)) in changed.iter().take(BLOCKS_MAX).enumerate() {
            let Some(b) = g.current_if_free(*at)? else { return Ok(count) };
            if !self.is_ours(g, b, xid, *n) {
                return Ok(count);
            }
            g.change(b, Layer::Transaction, op::ITL_CLEANOUT, &cleanout(*n, itl_flags::COMMITTED, scn))?;
        }
        Ok(changed.len().min(BLOCKS_MAX))
    }

    /// Whether entry `n` of a pinned block belongs to the transaction and is not cleaned out.
    fn is_ours(&self, g: &ChangeGroup<'_>, b: BlockRef, xid: Xid, n: u8) -> bool {
        let itl = Some(g.block(b)).filter(has_rows).and_then(|view| Data::new(view).itl(n));
        itl.is_some_and(|itl| itl.xid == xid && !itl.is_committed())
    }

    fn clean_out_one(&self, p: &Process, xid: Xid, at: Rdba, n: u8, scn: Scn) -> Result<bool> {
        let mut g = self.cache().group(p);
        let b = g.current(at)?;
        if !self.is_ours(&g, b, xid, n) {
            return Ok(false);
        }
        let data = cleanout(n, itl_flags::COMMITTED, scn);
        g.change(b, Layer::Transaction, op::ITL_CLEANOUT, &data)?;
        g.commit(self.current_scn())?;
        Ok(true)
    }

    /// Delayed block cleanout: writes the commit SCNs of ended transactions into a block, so that later readers need
    /// not look them up.
    pub(crate) fn clean_out(&self, p: &Process, at: Rdba) -> Result<()> {
        let mut g = self.cache().group(p);
        let b = g.current(at)?;
        // The segment may have been dropped since the read, and the block may have another kind now.
        let view = g.block(b);
        if !has_rows(&view) {
            return Ok(());
        }
        let d = Data::new(view);
        let stale: Vec<_> = (1..=d.itls() as u8)
            .filter_map(|n| Some((n, d.itl(n)?)))
            .filter(|(_, itl)| !itl.is_unused() && !itl.is_committed())
            .filter_map(|(n, itl)| self.cleanout_of(n, itl.xid))
            .collect();
        for data in &stale {
            g.change(b, Layer::Transaction, op::ITL_CLEANOUT, data)?;
        }
        if stale.is_empty() {
            return Ok(());
        }
        p.count(Stat::DeferredCurrentBlockCleanoutApplications, stale.len() as u64);
        g.commit(self.current_scn())?;
        Ok(())
    }

    /// Completes or rolls back the transactions of a dead process, by PMON. Returns the number.
    ///
    /// # Errors
    /// As [`Self::recover`], which retries transactions that could not be ended.
    pub fn rollback_dead(&self, p: &Process, dead_slot: u32) -> Result<u32> {
        self.table().clear_snapshots(dead_slot);
        let branches = self.branches_of_dead(dead_slot);
        let ended = self.end_all_of_dead(p, dead_slot);
        self.settle_branches(p, dead_slot, &branches);
        ended
    }

    fn end_all_of_dead(&self, p: &Process, dead_slot: u32) -> Result<u32> {
        let owned = self.table().busy().filter(|(_, owner, ..)| *owner == dead_slot);
        // First of all, because the slot of the process may get another owner after a failure.
        let orphans: Vec<_> = owned.inspect(|(.., state, entry)| entry.disown(*state)).collect();
        self.end_orphans(p, orphans.into_iter())
    }

    /// Rolls back the transactions that were active when the instance stopped, and those that could not be rolled back
    /// when their process died. Returns the number. One process at a time: the supervisor at start and stop, PMON in
    /// between.
    ///
    /// # Errors
    /// The error of the first transaction that cannot be rolled back, because of a missing block: it stays DEAD, with
    /// its locks, and is retried next time. All others have been rolled back.
    pub fn recover(&self, p: &Process) -> Result<u32> {
        self.adopt_prepared(p);
        let orphans = self.table().busy().filter(|(_, owner, ..)| *owner == 0);
        self.end_orphans(p, orphans.filter(|(xid, ..)| !self.waits_for_files(*xid)))
    }

    fn end_orphans(&self, p: &Process, all: impl Iterator<Item = (Xid, u32, State, &'static Entry)>) -> Result<u32> {
        let (mut ended, mut failed) = (0, None);
        for (xid, _, state, entry) in all {
            match self.end_orphan(p, xid, state, entry) {
                Ok(()) => ended += 1,
                Err(e) => failed = failed.or(Some(e.because(not_rolled_back(xid)))),
            }
        }
        failed.map_or(Ok(ended), Err)
    }

    fn end_orphan(&self, p: &Process, xid: Xid, state: State, entry: &'static Entry) -> Result<()> {
        if self.table().group(self.table().group_of(xid.usn)).is_none() {
            // Claimed while its tablespace was being dropped; nothing was written.
            self.table().free(xid);
            return Ok(());
        }
        // Files that come back during this are considered in the next round.
        let returns = self.cache().files().returns();
        let chain = self.chain_on_disk(p, xid)?;
        // A COMMITTING transaction is committed when its process had changed the undo header.
        let committed = match state {
            State::Committed => true,
            State::Committing => self.has_ended_in_header(p, xid)?,
            _ => false,
        };
        if committed {
            entry.settle();
            if let Some(chain) = &chain {
                self.end_in_header(p, xid, chain, entry.commit_scn(), &mut |_| Ok(()))?;
            }
            self.table().free(xid);
            return Ok(());
        }
        if chain.is_some() && self.is_prepared_in_header(p, xid)? {
            entry.own(NO_SESSION);
            return Ok(());
        }
        entry.disown(State::Active);
        self.lose_temporary(xid, None);
        let mut chain = chain.unwrap_or_default();
        p.count(Stat::TransactionRollbacks, u64::from(!chain.newest.is_none()));
        match self.undo_all(p, xid, &mut chain, Owner::Dead)? {
            true => self.end_rolled_back(p, xid, &chain)?,
            false => self.wait_for_files(xid, returns),
        }
        Ok(())
    }
}

fn not_rolled_back(xid: Xid) -> Ora {
    Ora::from_text(
        Facility::Ora,
        1578,
        format!("transaction {xid} cannot be rolled back; what it changed stays locked"),
    )
}

fn cleanout(n: u8, flags: u8, scn: Scn) -> [u8; 10] {
    let mut cv = [n; 10];
    cv[1] = flags;
    cv[2..].copy_from_slice(&scn.0.to_le_bytes());
    cv
}
