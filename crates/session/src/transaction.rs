//! The session's transaction: COMMIT, ROLLBACK and savepoints.

use crate::branch::{drop_branch, is_in_branch, refuse_commit};
use crate::constraints::check_before_commit;
use crate::core::Core;
use exec::{ExecCtx, SessionState};
use redo::RedoSink;
use txn::Txn;
use types::{Ora, Result};

impl Core {
    /// Ends the transaction by COMMIT. The wait for the disk is at the end of the call ([`Core::sync_commits`]).
    ///
    /// # Errors
    /// ORA-02091 when a deferred constraint is violated: the transaction is rolled back. ORA-02089 in a branch of a
    /// global transaction. After any other error the transaction is still open.
    pub fn commit(&self, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.commit_as(cx, None, None)
    }

    /// As [`Core::commit`], with the statement's IMMEDIATE and WAIT; `None` takes the value of the parameters.
    ///
    /// # Errors
    /// As [`Core::commit`].
    pub fn commit_as(&self, cx: &mut ExecCtx<'_>, immediate: Option<bool>, wait: Option<bool>) -> Result<()> {
        refuse_commit(self, cx.session)?;
        check_before_commit(self, cx)?;
        let txn = &mut cx.session.txn;
        // `txn` counts commits of transactions with changes.
        self.p.count(wait::Stat::UserCommits, u64::from(txn.xid().is_none()));
        if txn.is_active() {
            let redo = self.instance.storage().redo;
            let earlier = redo.noted_commit(&self.p);
            self.shared.txns.commit(&self.p, txn, &self.instance.on_commit())?;
            let how = self.commit_write.get();
            if !how.waits(wait) {
                redo.forget_commit(&self.p, earlier, immediate.unwrap_or(how.immediate));
            }
        }
        if is_in_branch(self, cx.session) {
            drop_branch(self);
        }
        self.transaction_ended(cx.session);
        Ok(())
    }

    /// Waits until the commits of this call are on disk. The answer of the call is sent afterwards.
    ///
    /// # Errors
    /// The redo cannot be written.
    pub fn sync_commits(&self) -> Result<()> {
        self.shared.txns.sync_commits(&self.p)
    }

    /// Ends the transaction by ROLLBACK.
    ///
    /// # Errors
    /// Those of reading undo; the transaction is still open.
    pub fn rollback(&self, session: &mut SessionState) -> Result<()> {
        let txn = &mut session.txn;
        self.p.count(wait::Stat::UserRollbacks, u64::from(txn.xid().is_none()));
        if txn.is_active() {
            self.shared.txns.rollback(&self.p, txn)?;
        }
        if is_in_branch(self, session) {
            // The branch has no transaction any more. If it stayed, it would look like a branch without changes.
            drop_branch(self);
        }
        self.transaction_ended(session);
        Ok(())
    }

    pub(crate) fn transaction_ended(&self, session: &mut SessionState) {
        session.constraints.end_transaction(self.shared.txns.space().temp());
        if self.is_named.replace(false) {
            self.p.session().transaction_name.set("");
        }
        session.temporaries.end_transaction(&self.p, &self.shared, session.suspended);
        self.savepoints.borrow_mut().clear();
        self.user_locks.borrow_mut().retain(|_, (lock, until_commit)| {
            if *until_commit {
                self.shared.enqueues.release(&self.p, *lock);
            }
            !*until_commit
        });
    }

    /// SAVEPOINT name: an existing savepoint with that name moves here.
    pub fn savepoint(&self, txn: &Txn, name: &str) {
        let at = self.shared.txns.savepoint(txn);
        let mut list = self.savepoints.borrow_mut();
        list.retain(|(n, _)| n != name);
        list.push((name.to_string(), at));
    }

    /// ROLLBACK TO name; later savepoints cease to exist.
    ///
    /// # Errors
    /// ORA-01086 when there is no such savepoint; those of reading undo.
    pub fn rollback_to(&self, txn: &mut Txn, name: &str) -> Result<()> {
        let at = {
            let mut list = self.savepoints.borrow_mut();
            let n = list.iter().position(|(s, _)| s == name).ok_or_else(|| Ora::with(1086, &[&name]))?;
            list.truncate(n + 1);
            list[n].1
        };
        self.shared.txns.rollback_to(&self.p, txn, &at)?;
        self.shared.txns.unlock_tables_since(&self.p, txn, &at);
        txn.note_undone(&at);
        Ok(())
    }
}
