//! Branches of global transactions: transactions that exist without a session.
//!
//! A branch is identified by its global identifier. While a session is attached, its transaction is an ordinary
//! transaction of that session. Between sessions, the session's state of the transaction lies in the branch's entry in
//! the SGA, its TX and TM locks belong to the branch's holder (crate `enqueue`), and its entry in the transaction table
//! has the owner [`NO_SESSION`], which never dies (T16).
//!
//! | state | owner | meaning | left by |
//! |---|---|---|---|
//! | FREE | | no branch | `start_branch` |
//! | ATTACHED | the session | its transaction is the session's | `detach_branch`; its end or death: rollback |
//! | IDLE | | waits for a session | `resume_branch`; `prepare_branch`, `commit_branch`, `rollback_branch`; time limit |
//! | ENDING | the process that ends it | being prepared or ended | the same; death: PMON rolls back or completes |
//! | PREPARED | | waits for its outcome; survives the instance | `commit_branch`, `rollback_branch` |
//! | FORCED COMMIT, FORCED ROLLBACK | | ended by COMMIT FORCE or ROLLBACK FORCE | `forget_branch` |
//! | TIMED OUT | | was rolled back after its time limit | the next request for it, or for an entry |
//!
//! A process that works on a branch holds the DX enqueue of its identifier in X, a session while it is attached. So an
//! identifier has one entry, and one process at a time changes it. The owner in the entry's word, set before any other
//! change, leads PMON to the branch of a dead process. An entry gets its identifier after that, and loses it before it
//! is FREE; a reader without the enqueue sees the identifier of one moment, or none. The entry of a branch that has
//! timed out is also freed only under the enqueue of that branch.
//!
//! A user may have as many branches as there are free entries: a user that takes as many as possible leaves half of
//! them to others, the next one half of the rest. Branches without a session at work in them may be half of the
//! transactions that undo has room for.
//!
//! One group prepares a transaction: it marks the slot in the undo header and writes a record with the identifier to
//! the newest undo block. Its redo is on disk before the coordinator is told. A start finds the slot, makes the branch
//! again and takes its locks. Before a prepared transaction is rolled back, its slot is made active again, so an
//! interrupted rollback is continued as any other (T17).

use crate::branch_table::BranchState::{
    Attached, Ending, ForcedCommit, ForcedRollback, Free, Idle, Prepared, TimedOut,
};
use crate::branch_table::{BranchEntry, note_distributed, owner_of, session_word};
use crate::prepared::{LOCKS_IN_RECORD, Prepared2pc, decode_locks, decode_prepared, encode_locks, encode_prepared};
use crate::refusals::local_name;
use crate::session::TableHold;
use crate::table::{NO_SESSION, State};
use crate::transactions::tx_name;
use crate::{BranchState, BranchTerms, CommitHook, GlobalId, Isolation, Transactions, Txn};
use enqueue::{EnqueueError, EnqueueType, LockId, LockMode, Timeout};
use process::Process;
use redo::Rba;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use types::{ObjectId, Ora, Result, Xid};

/// A branch that a session is attached to.
#[derive(Debug)]
pub struct Branch {
    n: usize,
    id: GlobalId,
    user: u32,
    lock: LockId,
}

impl Branch {
    pub fn id(&self) -> &GlobalId {
        &self.id
    }

    /// Number of the user that began it.
    pub fn user(&self) -> u32 {
        self.user
    }
}

/// The permitted owner of the requested branch, and the longest wait for the process at work in it.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    pub wait: Duration,
    /// The user that must own it, or ORA-01031; `None`: any user.
    pub of: Option<u32>,
}

impl From<Duration> for Asked {
    fn from(wait: Duration) -> Asked {
        Asked { wait, of: None }
    }
}

/// The answer of a branch to a prepare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vote {
    /// It has changed nothing and has ended.
    ReadOnly,
    /// It will commit on request.
    Prepared,
}

/// A row of the views of global transactions.
#[derive(Clone, Copy, Debug)]
pub struct BranchRow {
    pub id: GlobalId,
    pub state: BranchState,
    /// The process that is attached or ends it; 0 for none.
    pub process: u32,
    pub xid: Option<Xid>,
    pub user: u32,
    /// Found prepared at a start.
    pub in_doubt: bool,
    pub timeout_s: u32,
    /// Wall-clock nanoseconds since 1970 of its beginning and of its last change of state.
    pub began_ns: u64,
    pub changed_ns: u64,
}

/// A branch that a process has taken in order to end it.
struct Taken {
    n: usize,
    entry: &'static BranchEntry,
    lock: LockId,
    was: BranchState,
}

impl Transactions {
    /// Begins a branch, with the session's transaction if that is open already. Without a session it waits no longer
    /// than its time limit.
    ///
    /// # Errors
    /// ORA-24757 when the identifier is in use; ORA-02042 when there are too many branches, or too many of the user.
    pub fn start_branch(&self, p: &Process, id: &GlobalId, terms: &BranchTerms) -> Result<Branch> {
        let lock = match self.lock_id(p, id, Timeout::NoWait) {
            Err(EnqueueError::Busy) => return Err(Ora::new(24757)),
            lock => lock?,
        };
        let free = match self.branches().find(id) {
            Some((_, e)) if e.state() != TimedOut => Err(Ora::new(24757)),
            Some((_, e)) => {
                e.set(p.number(), Ending);
                e.free();
                self.new_entry(p, id, terms.user)
            }
            None => self.new_entry(p, id, terms.user),
        };
        match free {
            Ok((n, entry)) => {
                entry.set_id(id, terms);
                entry.set(p.number(), Attached);
                note_distributed(p, Some(id));
                Ok(Branch { n, id: *id, user: terms.user, lock })
            }
            Err(e) => {
                self.enqueues().release(p, lock);
                Err(e)
            }
        }
    }

    /// A new entry for that identifier, whose enqueue the process holds.
    fn new_entry(&self, p: &Process, id: &GlobalId, user: u32) -> Result<(usize, &'static BranchEntry)> {
        let table = self.table();
        let segments = table.group(table.current_group()).map_or(1, |g| g.segments);
        let without_session = table.slots as usize * usize::from(segments) / 2;
        loop {
            if !self.branches().has_share(user, without_session.max(1)) {
                return Err(Ora::new(2042));
            }
            match self.branches().claim(p) {
                Some(found) => return Ok(found),
                None if self.forget_timed_out(p, id) => {}
                None => return Err(Ora::new(2042)),
            }
        }
    }

    /// Frees the entry of a branch that has timed out. Not that of `but`, whose enqueue the process holds.
    fn forget_timed_out(&self, p: &Process, but: &GlobalId) -> bool {
        self.branches().all().filter(|(_, e)| e.state() == TimedOut).any(|(_, e)| {
            let Some(id) = e.id().filter(|id| id.number() != but.number()) else { return false };
            let Ok(lock) = self.lock_id(p, &id, Timeout::NoWait) else { return false };
            let is_it = e.id() == Some(id) && e.state() == TimedOut;
            if is_it {
                e.set(p.number(), Ending);
                e.free();
            }
            self.enqueues().release(p, lock);
            is_it
        })
    }

    /// Attaches the session, which has no transaction, to a branch that waits for one. Waits for another session that
    /// is attached to it.
    ///
    /// # Errors
    /// ORA-24756: there is none; ORA-24774: it is prepared; ORA-24761, ORA-24764, ORA-24765: it has ended; ORA-02049:
    /// another session stayed attached.
    pub fn resume_branch(&self, p: &Process, t: &mut Txn, id: &GlobalId, asked: impl Into<Asked>) -> Result<Branch> {
        let Taken { n, entry, lock, .. } = self.take(p, id, asked.into(), &[Idle], 24774)?;
        entry.set(p.number(), Attached);
        if let Some(xid) = entry.xid() {
            if let Some(e) = self.table().entry(xid) {
                e.own(p.number());
            }
            faults::point("branch-resuming");
            let holder = self.holder(n)?;
            for kind in [EnqueueType::Tx, EnqueueType::Tm] {
                self.enqueues().hand_over(p, holder, p.number(), kind);
            }
            (t.xid, t.chain, t.foreign) = (Some(xid), entry.chain(), true);
            t.base = t.chain.newest;
        } else {
            self.enqueues().hand_over(p, self.holder(n)?, p.number(), EnqueueType::Tm);
        }
        let (id1, id2) = t.xid.map_or((0, 0), tx_name);
        let own = self.enqueues().locks_of(p.number(), EnqueueType::Tx);
        t.lock = t.xid.and(own.iter().find(|l| (l.id1, l.id2) == (id1, id2)).map(|l| l.lock));
        for l in self.enqueues().locks_of(p.number(), EnqueueType::Tm) {
            let object = ObjectId(l.id1 as u32);
            t.tables.push(TableHold { object, mode: l.mode, lasting: l.mode, lock: l.lock });
            if l.mode.union(LockMode::SubExclusive) == l.mode {
                t.touched.push(object);
            }
        }
        let terms = entry.terms.load(Ordering::Relaxed);
        if terms & TERMS != 0 {
            t.isolation = isolation_of(terms);
        }
        (t.set, t.locked) = (terms & SET != 0, terms & LOCKED != 0);
        if let Some(scn) = self.table().held_by_branch(n) {
            // The branch's line keeps the SCN; the process's one counts this as open, as for any transaction.
            self.table().open_snapshot(p.number());
            t.held.set(Some(scn));
        }
        self.show_transaction(p, t);
        note_distributed(p, Some(id));
        Ok(Branch { n, id: *id, user: entry.user.load(Ordering::Relaxed) as u32, lock })
    }

    /// Notes, before the session leaves the branch, that it has changed rows of temporary tables there.
    pub fn note_temporary(&self, p: &Process, t: &Txn, branch: &Branch) {
        let (entry, own) = (self.branches().at(branch.n), session_word(p));
        let mut place = entry.temporary.iter().filter(|at| [0, own].contains(&at.load(Ordering::Relaxed)));
        match (place.next(), t.xid) {
            (Some(at), _) => at.store(own, Ordering::SeqCst),
            (None, Some(xid)) => self.table().note_lost(p.number(), xid),
            (None, None) => {}
        }
    }

    /// The number of transactions rolled back without the process's temporary rows.
    pub fn lost_count(&self, p: &Process) -> u64 {
        self.table().lost_count(p.number())
    }

    /// Whether a branch's transaction, which has ended, was rolled back without the temporary rows that the process had
    /// changed in it. `since`: the count when the process left the branch.
    pub fn has_lost(&self, p: &Process, xid: Xid, since: u64) -> bool {
        self.table().has_lost(p.number(), xid, since)
    }

    /// Leaves the branch: its transaction continues without a session.
    pub fn detach_branch(&self, p: &Process, t: &mut Txn, branch: Branch) {
        note_distributed(p, None);
        let entry = self.branches().at(branch.n);
        let holder = self.enqueues().holder(branch.n).unwrap_or(0);
        let flag = |on: bool, bit: u64| if on { bit } else { 0 };
        let terms = TERMS | u64::from(t.isolation.code()) | flag(t.set, SET) | flag(t.locked, LOCKED);
        entry.terms.store(terms, Ordering::Relaxed);
        if let Some(scn) = t.held.get() {
            self.table().hold_for_branch(branch.n, scn);
        }
        entry.put_chain(&t.chain);
        // From here on PMON also finds the transaction by the branch of a dead process.
        entry.xid.store(t.xid.map_or(0, |xid| xid.to_bits()), Ordering::SeqCst);
        for kind in [EnqueueType::Tx, EnqueueType::Tm] {
            self.enqueues().hand_over(p, p.number(), holder, kind);
            faults::point("branch-detaching");
        }
        if let Some(e) = t.xid.and_then(|xid| self.table().entry(xid)) {
            e.own(NO_SESSION);
        }
        faults::point("branch-detached");
        let timeout = Duration::from_secs(entry.timeout_s.load(Ordering::Relaxed));
        let deadline = os::clock::now_ns().saturating_add(timeout.as_nanos() as u64);
        entry.deadline_ns.store(deadline, Ordering::Relaxed);
        entry.set(0, Idle);
        self.enqueues().release(p, branch.lock);
        (t.lock, t.xid) = (None, None);
        t.tables.clear();
        self.release_locks(p, t);
        t.reset();
    }

    /// The session has ended the transaction of the branch that it is attached to, or gives the branch up without one.
    pub fn drop_branch(&self, p: &Process, branch: Branch) {
        note_distributed(p, None);
        self.table().release_branch(branch.n);
        self.branches().at(branch.n).free();
        self.enqueues().release(p, branch.lock);
    }

    /// Prepares a branch without an attached session: from now on it survives the end of the instance, and its locks
    /// stay until its outcome is known. [`Transactions::sync_commits`] waits for its redo.
    ///
    /// # Errors
    /// ORA-24756, ORA-24761; ORA-24768 when it is prepared already; those of changing undo: the branch is unchanged.
    pub fn prepare_branch(&self, p: &Process, id: &GlobalId, asked: impl Into<Asked>) -> Result<Vote> {
        let taken = self.take(p, id, asked.into(), &[Idle], 24768)?;
        let mut t = self.take_over(p, &taken)?;
        if t.chain.newest.is_none() {
            self.end_taken(p, &taken, &mut t, &mut |p, t| self.rollback(p, t))?;
            self.leave(p, &taken, 0, Free);
            return Ok(Vote::ReadOnly);
        }
        let done = self.write_prepared(p, &taken, &mut t, id);
        if let Some(e) = t.xid.and_then(|xid| self.table().entry(xid)) {
            e.own(NO_SESSION);
        }
        match done {
            Ok(end) => {
                taken.entry.put_chain(&t.chain);
                faults::point("branch-prepared");
                self.leave(p, &taken, 0, Prepared);
                if end > Rba(0) {
                    self.cache().redo().note_commit(p, end);
                }
                Ok(Vote::Prepared)
            }
            Err(e) => {
                taken.entry.put_chain(&t.chain);
                self.leave(p, &taken, 0, Idle);
                Err(e)
            }
        }
    }

    fn write_prepared(&self, p: &Process, taken: &Taken, t: &mut Txn, id: &GlobalId) -> Result<Rba> {
        let xid = t.xid.ok_or_else(|| Ora::internal("a branch without a transaction"))?;
        let locks = self.enqueues().locks_of(self.holder(taken.n)?, EnqueueType::Tm);
        let lists: Vec<_> = locks.chunks(LOCKS_IN_RECORD).map(encode_locks).collect();
        for list in &lists {
            self.make_undo_room(p, t, 1, list.len())?;
            t.chain = self.append_note(p, &t.chain, list)?;
            faults::point("branch-locks-noted");
        }
        let record = encode_prepared(id, taken.entry, lists.len() as u32);
        self.make_undo_room(p, t, 1, record.len())?;
        faults::point("branch-preparing");
        let (chain, end) = self.prepare_in_header(p, xid, &t.chain, &record)?;
        t.chain = chain;
        faults::point("branch-prepare-logged");
        Ok(end)
    }

    /// Commits a branch without an attached session: a prepared one, or with `one_phase` one that is not prepared.
    ///
    /// # Errors
    /// ORA-24756, ORA-24761, ORA-24764, ORA-24765; ORA-24768 when it is not prepared and must be; ORA-02053 after the
    /// commit when it was prepared and must not be; those of committing: the branch is unchanged.
    pub fn commit_branch(
        &self,
        p: &Process,
        id: &GlobalId,
        one_phase: bool,
        asked: impl Into<Asked>,
        hook: &dyn CommitHook,
    ) -> Result<()> {
        let expected: &[BranchState] = if one_phase { &[Idle, Prepared] } else { &[Prepared] };
        let taken = self.take(p, id, asked.into(), expected, 24768)?;
        let mut t = self.take_over(p, &taken)?;
        let name = taken.entry.xid().map(local_name).unwrap_or_default();
        self.end_taken(p, &taken, &mut t, &mut |p, t| self.commit(p, t, hook).map(drop))?;
        self.leave(p, &taken, 0, Free);
        if one_phase && taken.was == Prepared { Err(Ora::with(2053, &[&name])) } else { Ok(()) }
    }

    /// Rolls back a branch without an attached session.
    ///
    /// # Errors
    /// ORA-24756, ORA-24764, ORA-24765; those of rolling back: PMON continues it.
    pub fn rollback_branch(&self, p: &Process, id: &GlobalId, asked: impl Into<Asked>) -> Result<()> {
        self.rollback_branch_and(p, id, asked, &[])
    }

    /// As [`Transactions::rollback_branch`], by a session that has changed rows of temporary tables in it. `own` are
    /// these tables and their indexes, with the numbers of their segments, as far as they still exist unchanged. Their
    /// rows are rolled back.
    ///
    /// # Errors
    /// As [`Transactions::rollback_branch`].
    pub fn rollback_branch_and(
        &self,
        p: &Process,
        id: &GlobalId,
        asked: impl Into<Asked>,
        own: &[ObjectId],
    ) -> Result<()> {
        let taken = match self.take(p, id, asked.into(), &[Idle, Prepared], 24768) {
            Err(e) if e.is(24761) => return Ok(()),
            taken => taken?,
        };
        self.roll_back_taken(p, &taken, own)?;
        self.leave(p, &taken, 0, Free);
        Ok(())
    }

    fn roll_back_taken(&self, p: &Process, taken: &Taken, own: &[ObjectId]) -> Result<()> {
        let mut t = self.take_over(p, taken)?;
        // A table's number does not identify the session whose rows it has.
        let is_anothers = |owner: &AtomicU64| ![0, session_word(p)].contains(&owner.load(Ordering::SeqCst));
        if !taken.entry.temporary.iter().any(is_anothers) {
            t.temporary.extend_from_slice(own);
        }
        if taken.was == Prepared
            && let Some(xid) = t.xid
        {
            let end = self.unprepare_in_header(p, xid).inspect_err(|_| self.give_back(p, taken))?;
            if end > Rba(0) {
                // A coordinator that knows the outcome does not ask again.
                self.cache().redo().note_commit(p, end);
            }
            faults::point("branch-not-prepared");
        }
        if let Err(e) = self.rollback(p, &mut t) {
            // The transaction has no owner, and PMON tries again.
            if let Some(entry) = t.xid.and_then(|xid| self.table().entry(xid)) {
                entry.disown(State::Active);
            }
            self.enqueues().release_all(p, self.holder(taken.n)?);
            self.leave(p, taken, 0, Free);
            return Err(e);
        }
        self.enqueues().release_all(p, self.holder(taken.n)?);
        Ok(())
    }

    /// Forgets a branch that was ended by force.
    ///
    /// # Errors
    /// ORA-24756; ORA-24769 and ORA-24770 when it has not ended.
    pub fn forget_branch(&self, p: &Process, id: &GlobalId, asked: impl Into<Asked>) -> Result<()> {
        let forgotten = [ForcedCommit, ForcedRollback, TimedOut];
        let taken = self.take(p, id, asked.into(), &forgotten, 24769)?;
        self.leave(p, &taken, 0, Free);
        Ok(())
    }

    /// COMMIT FORCE and ROLLBACK FORCE of a prepared transaction, by its local number. Its identifier is kept until it
    /// is forgotten.
    ///
    /// # Errors
    /// ORA-02058 when there is none.
    pub fn force_branch(&self, p: &Process, xid: Xid, commits: bool, hook: &dyn CommitHook) -> Result<()> {
        let none = || Ora::with(2058, &[&local_name(xid)]);
        let found = self.branches().all().find(|(_, e)| e.xid() == Some(xid) && e.state() == Prepared);
        let id = found.and_then(|(_, e)| e.id()).ok_or_else(none)?;
        let taken = self.take(p, &id, Duration::from_secs(1).into(), &[Prepared], 2058).map_err(|_| none())?;
        if taken.entry.xid() != Some(xid) {
            // The entry has another branch of that identifier now.
            self.leave(p, &taken, 0, Prepared);
            return Err(none());
        }
        if commits {
            let mut t = self.take_over(p, &taken)?;
            self.end_taken(p, &taken, &mut t, &mut |p, t| self.commit(p, t, hook).map(drop))?;
            self.leave(p, &taken, 0, ForcedCommit);
        } else {
            self.roll_back_taken(p, &taken, &[])?;
            self.leave(p, &taken, 0, ForcedRollback);
        }
        Ok(())
    }

    /// All branches.
    pub fn branch_rows(&self) -> Vec<BranchRow> {
        let row = |(_, e): (usize, &'static BranchEntry)| {
            let word = e.word.load(Ordering::Acquire);
            let id = e.id()?;
            let row = BranchRow {
                id,
                state: BranchState::of(word),
                process: owner_of(word),
                xid: e.xid(),
                user: e.user.load(Ordering::Relaxed) as u32,
                in_doubt: e.in_doubt.load(Ordering::Relaxed) != 0,
                timeout_s: e.timeout_s.load(Ordering::Relaxed) as u32,
                began_ns: e.began_ns.load(Ordering::Relaxed),
                changed_ns: e.changed_ns.load(Ordering::Relaxed),
            };
            std::sync::atomic::fence(Ordering::Acquire);
            (e.word.load(Ordering::Relaxed) == word && e.id() == Some(id)).then_some(row)
        };
        self.branches().all().filter_map(row).collect()
    }

    /// The branch of that identifier.
    pub fn branch_row(&self, id: &GlobalId) -> Option<BranchRow> {
        self.branch_rows().into_iter().find(|row| row.id == *id)
    }

    /// Rolls back the branches whose time without a session has passed, by PMON; with `all`, at the end of the
    /// instance, every branch that is not prepared.
    pub fn end_idle_branches(&self, p: &Process, all: bool) {
        let now = os::clock::now_ns();
        let is_due = |e: &BranchEntry| e.state() == Idle && (all || e.deadline_ns.load(Ordering::Relaxed) <= now);
        for (_, e) in self.branches().all().filter(|(_, e)| is_due(e)) {
            let Some(id) = e.id() else { continue };
            // A process that holds it now is working on it.
            let Ok(taken) = self.take(p, &id, Duration::ZERO.into(), &[Idle], 24756) else { continue };
            if !is_due_now(taken.entry, all) {
                self.leave(p, &taken, 0, Idle);
            } else if self.roll_back_taken(p, &taken, &[]).is_ok() {
                self.leave(p, &taken, 0, TimedOut);
            }
        }
    }

    /// Makes the branches of transactions found prepared at a start, with their locks. What cannot be read is tried
    /// again later; such a transaction is not ended before.
    pub(crate) fn adopt_prepared(&self, p: &Process) {
        let known = |xid: Xid| self.branches().all().any(|(_, e)| e.xid() == Some(xid));
        let found = self.table().busy().filter(|(xid, owner, ..)| *owner == NO_SESSION && !known(*xid));
        for (xid, ..) in found.collect::<Vec<_>>() {
            let _ = self.adopt(p, xid);
        }
    }

    fn adopt(&self, p: &Process, xid: Xid) -> Result<()> {
        let missing = || Ora::internal(format_args!("prepared transaction {xid} has no record"));
        let chain = self.chain_on_disk(p, xid)?.ok_or_else(missing)?;
        let last = self.last_records(p, &chain, 1)?;
        let found = last.first().and_then(|record| decode_prepared(record)).ok_or_else(missing)?;
        let Prepared2pc { id, terms, prepared_ns, lists } = found;
        let mut tables = Vec::new();
        for list in self.last_records(p, &chain, lists as usize + 1)?.iter().skip(1) {
            tables.extend(decode_locks(list).ok_or_else(missing)?);
        }
        let (n, entry) = self.branches().claim(p).ok_or_else(|| Ora::new(2042))?;
        entry.set_id(&id, &terms);
        entry.in_doubt.store(1, Ordering::Relaxed);
        entry.put_chain(&chain);
        let (id1, id2) = tx_name(xid);
        let tables = tables.into_iter().map(|(object, mode)| (EnqueueType::Tm, object.0.into(), 0, mode));
        let locks = std::iter::once((EnqueueType::Tx, id1, id2, LockMode::Exclusive)).chain(tables);
        for (kind, id1, id2, mode) in locks {
            if self.enqueues().get(p, kind, id1, id2, mode, Timeout::NoWait).is_ok() {
                self.enqueues().hand_over(p, p.number(), self.holder(n)?, kind);
            }
        }
        entry.xid.store(xid.to_bits(), Ordering::SeqCst);
        entry.set(0, Prepared);
        entry.began_ns.store(prepared_ns, Ordering::Relaxed);
        Ok(())
    }

    fn holder(&self, n: usize) -> Result<u32> {
        self.enqueues().holder(n).ok_or_else(|| Ora::new(2042))
    }

    fn lock_id(&self, p: &Process, id: &GlobalId, wait: Timeout) -> std::result::Result<LockId, EnqueueError> {
        self.enqueues().get(p, EnqueueType::Dx, id.number(), 0, LockMode::Exclusive, wait)
    }

    /// Takes a branch in one of the states for this process; `else_error` is the error for another state.
    fn take(&self, p: &Process, id: &GlobalId, asked: Asked, states: &[BranchState], else_error: u32) -> Result<Taken> {
        let lock = self.lock_id(p, id, Timeout::After(asked.wait)).map_err(waited)?;
        let found = self.branches().find(id);
        let is_anothers = |e: &BranchEntry| asked.of.is_some_and(|of| u64::from(of) != e.user.load(Ordering::Relaxed));
        let refused = match found.map(|(_, e)| e.state()) {
            None => 24756,
            Some(_) if found.is_some_and(|(_, e)| is_anothers(e)) => 1031,
            Some(state) if states.contains(&state) => 0,
            Some(TimedOut) => 24761,
            Some(ForcedCommit) => 24764,
            Some(ForcedRollback) => 24765,
            // FORGET requires that the branch has ended, by COMMIT FORCE or ROLLBACK FORCE.
            Some(Prepared) if else_error == 24769 => 24770,
            Some(_) => else_error,
        };
        match found.filter(|_| refused == 0) {
            Some((n, entry)) => {
                let was = entry.state();
                entry.set(p.number(), Ending);
                faults::point("branch-ending");
                Ok(Taken { n, entry, lock, was })
            }
            None => {
                if refused == 24761
                    && let Some((_, e)) = found
                {
                    e.set(p.number(), Ending);
                    e.free();
                }
                self.enqueues().release(p, lock);
                Err(Ora::new(refused))
            }
        }
    }

    /// Leaves a taken branch in a state.
    fn leave(&self, p: &Process, taken: &Taken, owner: u32, state: BranchState) {
        if state != Idle {
            // Its transaction has ended, or only waits for its outcome.
            self.table().release_branch(taken.n);
        }
        match state {
            Free => taken.entry.free(),
            state => taken.entry.set(owner, state),
        }
        self.enqueues().release(p, taken.lock);
    }

    /// The transaction of a taken branch, for this process to end. Its locks stay with the holder.
    fn take_over(&self, p: &Process, taken: &Taken) -> Result<Txn> {
        let mut t = Txn::new();
        t.foreign = true;
        let Some(xid) = taken.entry.xid() else { return Ok(t) };
        let holder = self.holder(taken.n)?;
        (t.xid, t.chain) = (Some(xid), taken.entry.chain());
        t.touched = self.enqueues().locks_of(holder, EnqueueType::Tm).iter().map(|l| ObjectId(l.id1 as u32)).collect();
        if let Some(e) = self.table().entry(xid) {
            e.own(p.number());
        }
        faults::point("branch-taken");
        Ok(t)
    }

    /// Restores the previous state of a taken branch.
    fn give_back(&self, p: &Process, taken: &Taken) {
        if let Some(e) = taken.entry.xid().and_then(|xid| self.table().entry(xid)) {
            e.own(NO_SESSION);
        }
        self.leave(p, taken, 0, taken.was);
    }

    fn end_taken(
        &self,
        p: &Process,
        taken: &Taken,
        t: &mut Txn,
        f: &mut dyn FnMut(&Process, &mut Txn) -> Result<()>,
    ) -> Result<()> {
        f(p, t).inspect_err(|_| self.give_back(p, taken))?;
        faults::point("branch-ended");
        self.enqueues().release_all(p, self.holder(taken.n)?);
        Ok(())
    }
}

fn is_due_now(e: &BranchEntry, all: bool) -> bool {
    all || e.deadline_ns.load(Ordering::Relaxed) <= os::clock::now_ns()
}

/// The error of a wait for another session that is attached to the branch, or at work in it.
fn waited(e: EnqueueError) -> Ora {
    match e {
        EnqueueError::TimedOut | EnqueueError::Busy => Ora::new(2049),
        other => other.into(),
    }
}

/// Flags in the terms of an entry, above the isolation in bits 0 to 7. `TERMS`: the entry has terms.
const TERMS: u64 = 1 << 8;
const SET: u64 = 1 << 9;
const LOCKED: u64 = 1 << 10;

fn isolation_of(terms: u64) -> Isolation {
    Isolation::from_code(terms as u8).unwrap_or_default()
}
