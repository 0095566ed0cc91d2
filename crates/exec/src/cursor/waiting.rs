//! Executions that wait and run together.

use super::checks::may_change;
use super::state::{Body, Cursor, State, fits};
use crate::ctx::ExecCtx;
use crate::dml::Dml;
use plan::BindType;
use types::{Ora, Result, Value};

impl Cursor {
    /// Adds an execution with the bound values to a batch that [`Cursor::execute_waiting`] runs together. False if the
    /// statement must be executed by itself after the waiting executions; nothing was done then.
    ///
    /// # Errors
    /// Those of computing the row. A waiting execution may fail as well; its error comes first.
    pub fn execute_later(&mut self, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let (some, _) = self.waiting();
        if some && !self.is_as_compiled(cx) {
            return Ok(false);
        }
        if !some && !self.begin_batch(cx)? {
            return Ok(false);
        }
        for (i, v) in self.values.iter().enumerate() {
            self.m.regs[self.first_bind as usize + i].set(v);
        }
        let Body::Dml(dml) = &mut self.body else { return Ok(false) };
        self.key.enter(cx);
        let ran = dml.run_later(&mut self.m, cx).map_err(|e| cx.host.name_segment(e));
        // The time until the next statement does not belong to this one.
        self.key.leave(cx);
        ran?;
        (self.state, self.rows) = (State::Done, 1);
        Ok(true)
    }

    /// As [`Cursor::execute_later`] after another waiting execution, with the values of all binds as an argument. False
    /// if the usual way must be taken; nothing was done then.
    ///
    /// # Errors
    /// Only errors that end the whole call.
    pub fn execute_more(&mut self, values: &[&Value], cx: &mut ExecCtx<'_>) -> Result<bool> {
        let fit = |(v, ty): (&&Value, &BindType)| v.is_null() || fits(v, ty);
        let is_other = values.len() != self.values.len() || !values.iter().zip(&self.bind_types).all(fit);
        if is_other || self.waiting() != (true, false) || !self.is_as_compiled(cx) {
            return Ok(false);
        }
        let Body::Dml(dml) = &mut self.body else { return Ok(false) };
        self.key.enter(cx);
        let ran = dml.run_more(self.first_bind, values, &mut self.m, cx);
        self.key.leave(cx);
        ran
    }

    /// Prepares the executions of a batch once. False if the statement cannot be batched.
    fn begin_batch(&mut self, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let may_wait = matches!(&self.body, Body::Dml(dml) if dml.may_wait());
        if !may_wait || !self.temporary.is_empty() || self.m.run.is_some() {
            return Ok(false);
        }
        if self.state != State::Closed {
            self.close(cx);
        }
        if !self.is_as_compiled_or_same(cx)? {
            self.renew(cx)?;
        }
        self.check_caller(cx)?;
        may_change(cx)?;
        let mut shared = Vec::new();
        while self.locks.take(&mut shared, cx)? && !self.names_are_same(cx)? {
            self.renew(cx)?;
        }
        let brief = !shared.is_empty();
        for object in shared {
            cx.shared.txns.end_share(cx.p, &mut cx.session.txn, object);
        }
        if brief || !matches!(&self.body, Body::Dml(dml) if dml.may_wait()) {
            return Ok(false);
        }
        if let Body::Dml(Dml::Insert(i)) = &mut self.body {
            i.begin();
        }
        self.begin_execution(&mut self.next_run(), cx);
        Ok(true)
    }

    /// Whether executions are waiting, and whether there are enough of them to be run now.
    pub fn waiting(&self) -> (bool, bool) {
        match &self.body {
            Body::Dml(dml) => dml.has_waiting(),
            Body::Query { .. } => (false, false),
        }
    }

    /// Number of waiting executions.
    pub fn rows_waiting(&self) -> usize {
        match &self.body {
            Body::Dml(dml) => dml.rows_waiting(),
            Body::Query { .. } => 0,
        }
    }

    /// Runs the waiting executions. `refused` receives the number, from 0, and the error of each that fails and has no
    /// effect; it returns `Ok` to continue.
    ///
    /// # Errors
    /// Errors that `refused` returns. Executions before the failing one are done, those after it are dropped.
    pub fn execute_waiting(
        &mut self,
        refused: &mut dyn FnMut(usize, Ora) -> Result<()>,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        let Body::Dml(dml) = &mut self.body else { return Ok(()) };
        let rows = dml.rows_waiting();
        let host = cx.host;
        let (mut failed, mut end) = (0, 0);
        let mut refused = |n, e| match refused(n, host.name_segment(e)) {
            Ok(()) => {
                failed += 1;
                Ok(())
            }
            Err(e) => {
                end = n;
                Err(e)
            }
        };
        self.key.enter(cx);
        let result = dml.run_waiting(&mut refused, cx);
        self.last_row = dml.last_waiting();
        let done = if result.is_ok() { rows } else { end };
        self.key.processed(done.saturating_sub(failed) as u64, 0, cx);
        self.key.finished(cx);
        result.map_err(|e| host.name_segment(e))
    }
}
