//! The run of a statement: its beginning, its commits, and its end.

use super::locks::{take_dd, wait_for};
use super::state::{Wanted, Work};
use crate::files;
use crate::host::{Host, Outcome};
use dictionary::{Change, validity};
use enqueue::LockId;
use process::Process;
use std::time::{Duration, Instant};
use txn::CommitHook;
use types::{ObjectId, Ora, Result, Scn};

/// Units and views that a statement compiles after its commit; further dependents are compiled at their next use.
const COMPILED_AT_ONCE: usize = 500;

impl<'a> Work<'a> {
    /// Commits, takes the DD enqueue, runs `f`, and commits or undoes its work.
    ///
    /// The holder of the DD enqueue never waits for a table (L3), nor for calls that run a unit. When one cannot be
    /// locked and the session is willing to wait (for a table `ddl_lock_timeout`), the statement is undone, the session
    /// waits for the table or the unit without the enqueue, and the statement is run again.
    pub fn run(host: &'a mut dyn Host, f: &mut dyn FnMut(&mut Work<'_>) -> Result<Outcome>) -> Result<Outcome> {
        let done = Work::run_again(host, f);
        host.end_claims();
        done
    }

    fn run_again(host: &'a mut dyn Host, f: &mut dyn FnMut(&mut Work<'_>) -> Result<Outcome>) -> Result<Outcome> {
        {
            let parts = host.parts();
            parts.storage.heap.transactions().commit(parts.p, parts.txn, parts.hook)?;
        }
        let until = Instant::now() + Duration::from_secs(host.lock_timeout_s().into());
        let mut wanted = Vec::new();
        loop {
            let lock = take_dd(host)?;
            let (done, busy) = Work::run_locked(host, lock, f);
            let (Err(refused), Some(busy)) = (&done, busy) else { return done };
            match busy {
                // A call may have noted the unit for an instant, before it saw the claim.
                Wanted::Unit(_) if wanted.contains(&busy) => {}
                Wanted::Unit(_) => wanted.insert(0, busy),
                Wanted::Table { .. } if wanted.contains(&busy) => return done,
                Wanted::Table { .. } => wanted.push(busy),
            }
            let refused = refused.clone();
            let waited = wait_for(host, &wanted, until);
            if waited.is_err() {
                let parts = host.parts();
                parts.storage.heap.transactions().rollback(parts.p, parts.txn)?;
            }
            match waited {
                Err(e) if e.is(54) || e.is(30006) => return Err(refused),
                done => done?,
            }
        }
    }

    /// Runs `f` with the DD enqueue, which is then released; returns the wanted resource when that was the only
    /// failure.
    fn run_locked(
        host: &mut dyn Host,
        lock: LockId,
        f: &mut dyn FnMut(&mut Work<'_>) -> Result<Outcome>,
    ) -> (Result<Outcome>, Option<Wanted>) {
        match Work::new(host, Some(lock)) {
            Ok(mut work) => {
                let done = f(&mut work).and_then(|outcome| work.commit().map(|()| outcome));
                let undone = if done.is_err() { work.undo() } else { Ok(()) };
                work.release();
                let done = done.map_err(|e| work.note_exceptions(e));
                let busy = work.busy.filter(|_| !work.committed && undone.is_ok());
                (undone.and(done), busy)
            }
            Err(e) => {
                let parts = host.parts();
                parts.dict.shared().enqueues().release(parts.p, lock);
                (Err(e), None)
            }
        }
    }

    /// Runs `f` without the DD enqueue, which `f` takes when needed; uncommitted work is undone.
    pub fn run_unlocked<R>(host: &'a mut dyn Host, f: &mut dyn FnMut(&mut Work<'_>) -> Result<R>) -> Result<R> {
        let mut work = Work::new(host, None)?;
        let done = f(&mut work);
        let undone = work.undo();
        work.release();
        undone.and(done)
    }

    /// Runs a read-only `f`: nothing is committed, undone or locked.
    pub fn run_read_only<R>(host: &'a mut dyn Host, f: &mut dyn FnMut(&mut Work<'_>) -> Result<R>) -> Result<R> {
        f(&mut Work::new(host, None)?)
    }

    /// Notes the rows that made the statement fail, which is undone; returns the error to report. ORA-02445 for a table
    /// of exceptions that is missing or not accessible.
    fn note_exceptions(&mut self, failed: Ora) -> Ora {
        let Some(text) = self.exceptions.take() else { return failed };
        match self.host.run(&text) {
            Ok(()) => failed,
            Err(e) if e.is(942) => Ora::new(2445),
            Err(e) => e,
        }
    }

    /// Commits the work of the statement so far, releases its table locks, and continues.
    pub fn commit(&mut self) -> Result<()> {
        let dependents = self.invalidate_dependents()?;
        // A decision based on a dictionary image that could not be read completely is rolled back.
        self.image.checked()?;
        self.host.parts().dict.checked()?;
        faults::point("ddl-done");
        self.committed = true;
        self.host.announce(&self.touched, &self.rolled);
        {
            let parts = self.host.parts();
            let hook = WithTouched { hook: parts.hook, touched: &self.touched };
            Change::new(parts.dict.shared(), parts.p, parts.txn).commit(&hook)?;
        }
        self.changed = false;
        faults::point("ddl-committed");
        let touched = std::mem::take(&mut self.touched);
        self.host.changed(&touched);
        let rolled = std::mem::take(&mut self.rolled);
        if !rolled.is_empty() {
            self.host.roll_out(&rolled);
        }
        self.host.announce(&[], &[]);
        self.compile_dependents(&dependents);
        let sequences = std::mem::take(&mut self.sequences);
        let parts = self.host.parts();
        for sequence in sequences {
            parts.dict.shared().forget_sequence(parts.p, sequence);
        }
        // The statement is done: a segment that cannot be dropped now is left to SMON, and is no error of the
        // statement.
        let dropped_segments = std::mem::take(&mut self.dropped_segments);
        if !dropped_segments.is_empty() {
            let _ = parts.dict.shared().finish_drops(parts.p, &dropped_segments);
        }
        match self.files_to_drop.take() {
            Some((files, delete)) => files::drop_files(self.host, &files, delete),
            None => Ok(()),
        }
    }

    pub fn undo(&mut self) -> Result<()> {
        let parts = self.host.parts();
        // The rollback also drops the segments that were made.
        parts.storage.heap.transactions().rollback(parts.p, parts.txn)?;
        self.changed = false;
        let made = std::mem::take(&mut self.files_made);
        if !made.is_empty() {
            files::take_back_files(self.host, &made)?;
        }
        // A failed statement may have fenced files.
        let parts = self.host.parts();
        parts.storage.heap.transactions().cache().files().refresh()
    }

    /// Marks the units and views that the statement may invalidate (L12), in its own transaction: a process that dies
    /// after the commit leaves no invalid unit marked as valid.
    fn invalidate_dependents(&mut self) -> Result<Vec<ObjectId>> {
        let epoch = self.image.epoch();
        for verdict in self.host.take_verdicts().into_iter().filter(|verdict| verdict.epoch == epoch) {
            if self.image.object(verdict.object).is_some_and(|def| !def.valid) && self.dd.is_some() {
                self.change().store_verdict(&verdict)?;
            }
        }
        let (redefined, with_new_columns) =
            (std::mem::take(&mut self.redefined), std::mem::take(&mut self.with_new_columns));
        if redefined.is_empty() && with_new_columns.is_empty() {
            return Ok(Vec::new());
        }
        let dependents = self.image.dependents_of(&redefined, &with_new_columns);
        if !dependents.is_empty() {
            self.change().set_status(&dependents, validity::STALE)?;
        }
        Ok(dependents)
    }

    /// Makes those valid again that still compile, including all that only share a word with the changed object. The
    /// statement is done: on failure they are compiled at their next use.
    fn compile_dependents(&mut self, dependents: &[ObjectId]) {
        let most = if self.dd.is_some() { COMPILED_AT_ONCE } else { 0 };
        let mut good = Vec::new();
        for object in dependents.iter().take(most) {
            match self.host.compiles(*object) {
                Some(true) => good.push(*object),
                Some(false) => {}
                None => break,
            }
        }
        if good.is_empty() {
            return;
        }
        let parts = self.host.parts();
        let mut change = Change::new(parts.dict.shared(), parts.p, parts.txn);
        let done = change.set_status(&good, validity::VALID).and_then(|()| change.commit(parts.hook).map(drop));
        if done.is_err() {
            let _ = parts.storage.heap.transactions().rollback(parts.p, parts.txn);
        }
    }
}

/// Combines the objects that a statement has changed with those whose rows its transaction has changed: results on a
/// truncated table become invalid with the commit.
struct WithTouched<'a> {
    hook: &'a dyn CommitHook,
    touched: &'a [ObjectId],
}

impl WithTouched<'_> {
    fn all(&self, objects: &[ObjectId]) -> Vec<ObjectId> {
        let others = self.touched.iter().filter(|object| !objects.contains(object));
        objects.iter().chain(others).copied().collect()
    }
}

impl CommitHook for WithTouched<'_> {
    fn before_visible(&self, p: &Process, objects: &[ObjectId]) -> Result<()> {
        self.hook.before_visible(p, &self.all(objects))
    }

    fn after(&self, p: &Process, scn: Scn, objects: &[ObjectId]) {
        self.hook.after(p, scn, &self.all(objects));
    }
}
