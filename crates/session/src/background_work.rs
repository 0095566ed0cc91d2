//! The work of a session for a background process: jobs, parts of parallel queries, saving the history.

use crate::alter;
use crate::jobs;
use crate::nls;
use crate::scheduler_rows::is_scheduled;
use crate::scheduler_runs::{self, Ended};
use crate::session::Session;
use crate::world::World;
use dictionary::UserId;
use dictionary::base::scheduler_job;
use exec::ExecCtx;
use exec::parallel::Job;
use process::SessionStatus;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use types::{Ora, Result, Value};

/// The outcome of a job.
#[derive(Debug)]
pub enum JobOutcome {
    /// The job ran; its changes and its row are committed.
    Done,
    /// Another session runs the job, or the job is no longer due.
    NotDue,
    /// The job failed and was rolled back.
    Failed(Ora),
}

impl Session {
    /// Runs a query or DML statement of the instance with the names of SYS (invariant 11).
    ///
    /// # Errors
    /// Errors of the query.
    pub fn recursive_query(&mut self, text: &'static str, binds: &[Value]) -> Result<Vec<Vec<Value>>> {
        self.state.nls.today = self.core.local_time().own_date();
        let Session { core, state, .. } = self;
        let mut cx = ExecCtx { p: &core.p, shared: &core.shared, session: state, host: core };
        core.p.begin_timed_call();
        cx.session.figures.begin_call(&core.p);
        let rows = crate::recursive::recursive(core, &mut cx, text, binds);
        cx.session.figures.flush(&core.p, core.shared.library);
        self.end_call();
        self.readable()?;
        rows
    }

    /// Saves the active session history, because its ring is getting full.
    ///
    /// # Errors
    /// Errors of the statements, which then leave nothing behind.
    pub fn save_history(&mut self) -> Result<()> {
        self.begin_call();
        let Session { core, state, .. } = self;
        let cx = ExecCtx { p: &core.p, shared: &core.shared, session: state, host: core };
        let mut world = World { cx, core };
        let saved = monitor::ash::save_now(&mut world);
        world.cx.session.figures.flush(&core.p, core.shared.library);
        self.end_call();
        saved
    }

    /// Runs a job of the queue as its owner, in this session, and commits the changes of the job and of its row
    /// together.
    ///
    /// # Errors
    /// Errors from getting the job's enqueue and from reading its row; errors of the job itself are in the outcome.
    pub fn run_job(&mut self, job: i64) -> Result<JobOutcome> {
        let Some(lock) = jobs::lock(&self.core, job)? else { return Ok(JobOutcome::NotDue) };
        let outcome = if is_scheduled(job) { self.run_scheduled_job(job) } else { self.run_locked_job(job) };
        self.core.job.set(0);
        self.core.p.session().job.store(0, Ordering::Relaxed);
        jobs::unlock(&self.core, lock);
        outcome
    }

    /// Whether a session runs the job.
    pub fn job_runs(&self, job: i64) -> bool {
        jobs::is_locked(&self.core, job)
    }

    /// Counts a failure of a job of the queue, sets the time of the next attempt, and commits.
    ///
    /// # Errors
    /// Errors of the statements.
    pub fn note_job_failure(&mut self, job: i64) -> Result<()> {
        if is_scheduled(job) {
            return self.end_lost_job(job);
        }
        self.recursive_query(jobs::NOTE_FAILURE, &jobs::failure_values(job, true))?;
        self.commit()
    }

    fn run_locked_job(&mut self, number: i64) -> Result<JobOutcome> {
        let due = "update sys.job$ set this_date = sysdate, sid = :1 where job = :2 and next_date <= sysdate \
                   and bitand(nvl(flag, 0), 1) = 0";
        let sid = crate::world::number(self.sid().into());
        self.recursive_query(due, &[sid, crate::world::number(number)])?;
        let found = {
            let Session { core, state, .. } = &mut *self;
            let active = state.txn.is_active();
            let mut cx = ExecCtx { p: &core.p, shared: &core.shared, session: state, host: core };
            if active { jobs::load(core, &mut cx, number)? } else { None }
        };
        let Some(job) = found else { return Ok(JobOutcome::NotDue) };
        self.commit()?;
        self.run_as_owner(number, (&job.owner, &job.schema, &job.nls), |w| jobs::execute(w, &job))
    }

    /// Runs a job of DBMS_SCHEDULER; its end is in the same transaction as its changes, or follows a failure.
    fn run_scheduled_job(&mut self, number: i64) -> Result<JobOutcome> {
        let begun = self.in_world(|w| {
            let row = scheduler_runs::begin(w.core, &mut w.cx, number)?;
            w.core.commit(&mut w.cx).map(|()| row)
        })?;
        let Some(mut job) = begun else { return Ok(JobOutcome::NotDue) };
        faults::point("scheduled-job-begun");
        let owner = job.text(scheduler_job::OWNER).to_owned();
        let nls = job.text(scheduler_job::NLSENV).to_owned();
        let outcome = self.run_as_owner(number, (&owner, &owner, &nls), |w| {
            scheduler_runs::set_next(w, &mut job)?;
            scheduler_runs::execute(w, &job)?;
            if w.cx.session.txn.isolation() == txn::Isolation::ReadOnly {
                // The job has left a transaction that can change nothing.
                w.core.commit(&mut w.cx)?;
            }
            scheduler_runs::finish(w.core, &mut w.cx, number, &Ended::Succeeded)
        })?;
        // A killed session executes nothing more: another one ends the run. A job may raise ORA-00028 itself.
        if let JobOutcome::Failed(e) = &outcome
            && !self.core.p.check_cancel().is_err_and(|e| e.is(28))
        {
            self.in_world(|w| {
                scheduler_runs::finish(w.core, &mut w.cx, number, &Ended::Failed(e))?;
                w.core.commit(&mut w.cx)
            })?;
        }
        Ok(outcome)
    }

    /// Ends the run of a job of DBMS_SCHEDULER whose session was killed.
    fn end_lost_job(&mut self, job: i64) -> Result<()> {
        let Some(lock) = jobs::lock(&self.core, job)? else { return Ok(()) };
        let ended = self.in_world(|w| {
            scheduler_runs::finish(w.core, &mut w.cx, job, &Ended::Lost)?;
            w.core.commit(&mut w.cx)
        });
        jobs::unlock(&self.core, lock);
        ended
    }

    /// Runs statements of the instance as one call, whose commits are then on disk; an error rolls them back.
    fn in_world<R>(&mut self, f: impl FnOnce(&mut World<'_>) -> Result<R>) -> Result<R> {
        self.begin_call();
        let done = {
            let Session { core, state, .. } = &mut *self;
            let cx = ExecCtx { p: &core.p, shared: &core.shared, session: state, host: core };
            let mut world = World { cx, core };
            // Without the wait, an aborted instance would forget that the run of a job had begun.
            let done = f(&mut world).and_then(|found| core.sync_commits().map(|()| found));
            world.cx.session.figures.flush(&core.p, core.shared.library);
            done
        };
        self.end_call();
        if let Err(e) = &done
            && !e.is(28)
        {
            self.rollback()?;
        }
        done
    }

    /// Runs a job with the identity, the schema and the NLS settings of its owner, and commits.
    fn run_as_owner(
        &mut self,
        number: i64,
        (owner_name, schema, environment): (&str, &str, &str),
        f: impl FnOnce(&mut World<'_>) -> Result<()>,
    ) -> Result<JobOutcome> {
        let owner = self.core.dict.borrow_mut().user(owner_name)?.map(|u| u.id);
        let Some(owner) = owner.or((owner_name == "SYS").then_some(UserId::SYS)) else {
            return Ok(JobOutcome::Failed(Ora::new(1435)));
        };
        self.become_user(owner_name, owner, owner == UserId::SYS);
        if schema != owner_name
            && let Err(e) = self.core.set_current_schema(&mut self.state, schema)
        {
            // The schema has been dropped: this counts as a failure of the job.
            self.become_user("SYS", UserId::SYS, true);
            return Ok(JobOutcome::Failed(e));
        }
        self.core.job.set(number as u64);
        self.core.p.session().job.store(number as u64, Ordering::Relaxed);
        let command = &self.core.p.session().command;
        command.store(net::StatementKind::PLSQL_EXECUTE.0.into(), Ordering::Relaxed);
        self.begin_call();
        self.core.plsql.set_takes_results(false);
        let own_settings = self.core.params.borrow().clone();
        let result = {
            let Session { core, state, .. } = &mut *self;
            let mut set = |(name, value): (&str, &str)| alter::set_nls(core, state, name, value);
            let set = crate::nls::settings(environment).into_iter().try_for_each(&mut set);
            let cx = ExecCtx { p: &core.p, shared: &core.shared, session: state, host: core };
            let mut world = World { cx, core };
            let result = set.and_then(|()| f(&mut world));
            world.cx.session.figures.flush(&core.p, core.shared.library);
            result
        };
        // Settings that the job changed end with it: the next job of this session has its own.
        self.core.params.replace(own_settings);
        self.state.change_nls(|n| nls::apply(&self.core.params.borrow(), n));
        self.core.p.session().command.store(0, Ordering::Relaxed);
        // The session leaves the result cache before the commit shows that the job has ended.
        self.core.shared.results.end_session(&self.core.p);
        let result = result.and_then(|()| self.commit());
        self.end_call();
        self.become_user("SYS", UserId::SYS, true);
        match result {
            Ok(()) => Ok(JobOutcome::Done),
            Err(e) => {
                self.rollback()?;
                Ok(JobOutcome::Failed(e))
            }
        }
    }

    /// Waits for work as a server of parallel queries, and does it. False when no work came in time or the instance
    /// closes.
    ///
    /// # Errors
    /// ORA-00028 when the session was killed.
    pub fn serve(&mut self, server: u32, time: Duration) -> Result<bool> {
        let (servers, instance) = (self.core.shared.servers, self.core.instance);
        let stop = || instance.is_closing();
        let parallel::Found::Work(work) = servers.wait_for_work(&self.core.p, server, time, &stop) else {
            self.core.p.check_cancel()?;
            return Ok(false);
        };
        self.begin_call();
        let done = self.serve_work(&work);
        self.become_user("SYS", UserId::SYS, true);
        self.end_call();
        work.end();
        self.core.p.session().set_status(SessionStatus::Inactive);
        match done {
            // Other errors have been sent to the coordinator.
            Err(e) if e.is(28) => Err(e),
            _ => Ok(true),
        }
    }

    fn serve_work(&mut self, work: &parallel::Assignment) -> Result<()> {
        faults::point("px-begun");
        let p = Rc::clone(&self.core.p);
        let begun = Job::receive(&p, work).and_then(|job| Ok((job.session(&self.state.options)?, job)));
        let (mut state, job) = match begun {
            Ok(begun) => begun,
            Err(e) => return exec::parallel::report(&p, work, e),
        };
        let slot = p.session();
        let (name, id) = job.user();
        slot.user.store(id, Ordering::Relaxed);
        slot.username.set(name);
        state.serves = Some(*work);
        state.figures.begin_call(&p);
        let core = &self.core;
        let mut cx = ExecCtx { p: &core.p, shared: &core.shared, session: &mut state, host: core };
        let done = job.run(work, &mut cx);
        cx.session.figures.flush(&core.p, core.shared.library);
        done
    }
}
