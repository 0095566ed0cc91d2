//! Executing a cursor: preparing it, running DML, opening a query, ending the execution.

use super::checks::{RESTARTS_MOST, may_change, may_restart, snapshot_for, still_planned};
use super::state::{Body, Cursor, Fetches, State};
use crate::ctx::ExecCtx;
use crate::dml::When;
use crate::measure;
use crate::statistics::Run;
use types::{ObjectId, Ora, Result};

impl Cursor {
    /// Executes with the bound values. DML is complete when this returns; the rows of a query are then fetched.
    ///
    /// A statement does not lock the objects that it only reads. If a rebuild has replaced the segment of one
    /// meanwhile, the statement has not done anything yet; it is compiled and run again. Both runs are one execution.
    pub fn execute(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        let mut run = self.next_run();
        for _ in 0..RESTARTS_MOST {
            match self.execute_once(&mut run, cx) {
                Err(e) if e.is(8103) && !cx.host.is_current(self.epoch) => cx.check_cancel()?,
                done => return done,
            }
        }
        Err(Ora::new(8103))
    }

    /// How the next execution counts.
    #[inline]
    pub(super) fn next_run(&self) -> Run {
        if self.continues { Run::Again } else { Run::First }
    }

    #[inline]
    fn execute_once(&mut self, run: &mut Run, cx: &mut ExecCtx<'_>) -> Result<()> {
        if self.state != State::Closed {
            self.close(cx);
        }
        let at_its_time = self.internal || self.flashback == cx.session.flashback;
        let is_made = self.temporary.is_empty() && self.later.is_none() && self.adaptive.is_none();
        if !(is_made && at_its_time && self.is_as_compiled(cx)) {
            self.prepare(cx)?;
        }
        self.check_caller(cx)?;
        if let Body::Dml(_) = self.body {
            return self.execute_change(run, cx);
        }
        self.check_definitions(cx)?;
        self.begin_execution(run, cx);
        if self.cached.is_some() && self.open_cached(cx)? {
            self.state = State::Cached;
            if let Some(run) = &mut self.m.run {
                run.is_new = true;
            }
            return Ok(());
        }
        let locks = self.locks_rows;
        let result = if locks { self.bind_temporary(cx) } else { Ok(()) }.and_then(|()| self.open_rows(cx));
        if result.is_err() {
            self.key.took(cx);
            self.end(cx);
        }
        result
    }

    /// Called before an execution that cannot use the cursor as it is: compiles the statement again, or builds the row
    /// sources of its plan.
    ///
    /// # Errors
    /// Those of compiling the statement, and of temporary tables in use.
    #[cold]
    #[inline(never)]
    fn prepare(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        if !self.temporary.is_empty() {
            let touched = |object| cx.session.txn.has_touched(object);
            cx.session.temporaries.settle(cx.p, cx.shared, &touched, cx.session.suspended)?;
        }
        let other_time = !self.internal && self.flashback != cx.session.flashback;
        if other_time || self.lost_segments(cx) || !self.is_as_compiled_or_same(cx)? {
            self.renew(cx)?;
        }
        if self.later.is_some() {
            self.make_plan(cx)?;
        }
        if self.adaptive.is_some() {
            self.adapt(cx)?;
        }
        if !self.temporary.is_empty() {
            cx.session.temporaries.check_depth(&self.temporary, cx.session.suspended)?;
            self.temporary_purges = cx.session.temporaries.purges(&self.temporary);
        }
        Ok(())
    }

    /// Executes DML.
    fn execute_change(&mut self, run: &mut Run, cx: &mut ExecCtx<'_>) -> Result<()> {
        let mut shared = Vec::new();
        let result = may_change(cx).and_then(|()| self.execute_dml(&mut shared, run, cx));
        if result.is_err() {
            self.key.took(cx);
        }
        self.tell_run(0, cx);
        self.key.finished(cx);
        for object in shared {
            cx.shared.txns.end_share(cx.p, &mut cx.session.txn, object);
        }
        result.map_err(|e| cx.host.name_segment(e))
    }

    /// Called before a statement changes or locks rows of temporary tables.
    fn bind_temporary(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        if self.temporary.is_empty() {
            return Ok(());
        }
        let (state, depth) = (&cx.session.temporaries, cx.session.suspended);
        let changed = |object| self.locks_rows || self.locks.changes(object);
        state.bind(cx.p, cx.shared, &self.temporary, &changed, depth)?;
        // DDL that held the lock may have changed the definition.
        if self.names_are_same(cx)? { Ok(()) } else { self.renew(cx) }
    }

    /// Locks the tables, compiles again if the dictionary has changed, and runs the statement.
    fn execute_dml(&mut self, shared: &mut Vec<ObjectId>, run: &mut Run, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.bind_temporary(cx)?;
        while self.locks.take(shared, cx)? && !self.names_are_same(cx)? {
            self.renew(cx)?;
        }
        self.check_definitions(cx)?;
        self.begin_execution(run, cx);
        self.run_dml(shared, cx)
    }

    pub(super) fn begin_execution(&mut self, run: &mut Run, cx: &mut ExecCtx<'_>) {
        if *run == Run::First {
            cx.p.count_execution();
        }
        self.key.executed(&self.text, self.kind.command(), *run, cx);
        self.m.cursor = self.key.handle();
        *run = Run::Again;
        for (i, v) in self.values.iter().enumerate() {
            self.m.regs[self.first_bind as usize + i].set(v);
        }
        self.rows = 0;
        self.fetches = Fetches::Ours;
        if let Some(adaptive) = &mut self.adaptive {
            adaptive.begin(cx);
        }
    }

    fn run_dml(&mut self, shared: &mut Vec<ObjectId>, cx: &mut ExecCtx<'_>) -> Result<()> {
        for _ in 0..RESTARTS_MOST {
            let start = cx.shared.txns.savepoint(&cx.session.txn);
            if matches!(&self.body, Body::Dml(dml) if dml.fires()) {
                self.fire_before(&start, shared, cx)?;
            }
            let snapshot = snapshot_for(self.internal, cx);
            self.m.begin(snapshot);
            let Body::Dml(dml) = &mut self.body else { return Err(Ora::internal("not DML")) };
            let result = still_planned(self.epoch, cx).and_then(|()| {
                let before = self.m.run.is_some().then(|| measure::begin(cx));
                let run = dml.run(&mut self.m, cx);
                before.into_iter().for_each(|before| measure::end(before, &mut self.m, cx));
                run
            });
            cx.shared.txns.release(cx.p, &snapshot);
            let result = match result {
                Ok(run) if !run.restart && dml.fires() => dml.fire_statement(When::After, cx).map(|()| run),
                result => result,
            };
            match result {
                Ok(run) if !run.restart => {
                    self.rows = run.rows;
                    self.last_row = run.last;
                    self.key.processed(run.rows, 0, cx);
                    if self.adaptive.is_some() {
                        self.note_processed(cx);
                    }
                    self.returned = run.returned.into_iter();
                    self.state = State::Done;
                    return Ok(());
                }
                // The statement is atomic (E4).
                Ok(_) => cx.shared.txns.rollback_to(cx.p, &mut cx.session.txn, &start)?,
                Err(e) => {
                    cx.undo_failed(&start, &e)?;
                    if !e.is(crate::restart::RESTART) {
                        return Err(e);
                    }
                }
            }
            may_restart(self.internal, snapshot.scn, cx)?;
            cx.check_cancel()?;
        }
        Err(Ora::new(8177))
    }

    /// Fires the triggers before the statement. The statement sees their changes.
    fn fire_before(&mut self, start: &txn::Savepoint, shared: &mut Vec<ObjectId>, cx: &mut ExecCtx<'_>) -> Result<()> {
        let Body::Dml(dml) = &mut self.body else { return Err(Ora::internal("not DML")) };
        let fired = dml.fire_statement(When::Before, cx).and_then(|()| match self.names_are_same(cx)? {
            true => Ok(()),
            false => self.renew_fired(shared, cx),
        });
        if let Err(e) = &fired {
            cx.undo_failed(start, e)?;
        }
        fired
    }

    /// Compiles the statement again whose triggers have run DDL in an autonomous transaction. They are not fired again:
    /// their DDL would be run again, too.
    ///
    /// # Errors
    /// ORA-08103: the DDL has changed the tables of the statement, so that other triggers must be fired.
    #[cold]
    #[inline(never)]
    fn renew_fired(&mut self, shared: &mut Vec<ObjectId>, cx: &mut ExecCtx<'_>) -> Result<()> {
        let locked = self.locks.clone();
        self.key.took(cx);
        self.renew(cx)?;
        while self.locks.take(shared, cx)? && !self.names_are_same(cx)? {
            self.renew(cx)?;
        }
        if self.locks != locked {
            // No epoch of a dictionary: the statement is compiled again, and begins again.
            self.epoch = u64::MAX;
            return Err(Ora::new(8103));
        }
        self.check_definitions(cx)?;
        self.begin_execution(&mut Run::Again, cx);
        Ok(())
    }

    /// Ends the execution. The cursor can be executed again.
    pub fn close(&mut self, cx: &mut ExecCtx<'_>) {
        match self.state {
            State::Rows | State::Cached => self.finish_rows(false, cx),
            // The execution has ended with its last row.
            State::Done if matches!(self.body, Body::Query { .. }) => {}
            State::Done | State::Closed => self.end(cx),
        }
        self.state = State::Closed;
    }
}
