//! DELETE: of rows found one by one, or in batches.

use super::bulk::{Bulk, each_batch, keep_bytes};
use super::error_log::Operation;
use super::fire::When;
use super::fire_row::RowEvent;
use super::row::{DmlRun, returning};
use super::writer::Writer;
use crate::builder::Builder;
use crate::code::Code;
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use crate::source::{Op, RowSource};
use crate::table::Address;
use plan::{DeletePlan, Reg, TriggerEvent};
use txn::Snapshot;
use types::{Result, Value};

pub struct Delete {
    pub(super) writer: Writer,
    source: Op,
    rowid: Reg,
    old: Vec<Reg>,
    returning: Vec<Code>,
    by_bytes: bool,
    bulk: Option<Bulk>,
}

impl Delete {
    pub fn build(d: &DeletePlan, b: &mut Builder<'_>) -> Result<Delete> {
        let writer = Writer::build(&d.target, None, b)?;
        let takes_bytes = d.returning.is_empty() && writer.takes_bytes(true);
        let bulk = match takes_bytes {
            true => Bulk::build(&d.source, d.rowid, &[], &writer, b)?,
            false => None,
        };
        let mut source = if bulk.is_some() { Op::Empty } else { Op::build(&d.source, b)? };
        let by_bytes = takes_bytes && bulk.is_none() && keep_bytes(&d.source, std::iter::empty(), &mut source);
        Ok(Delete {
            writer,
            source,
            rowid: d.rowid,
            old: d.old.clone(),
            returning: d.returning.iter().map(|(e, _)| b.code(e)).collect(),
            by_bytes,
            bulk,
        })
    }
}

impl Delete {
    fn run_bulk(&mut self, seen: &Snapshot, run: &mut DmlRun, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let Delete { writer, bulk: Some(bulk), .. } = self else { return Ok(()) };
        let done = each_batch(writer, bulk, true, (seen, run), m, cx, &mut |writer, bulk, run, _, _| {
            bulk.note_deletions(writer, run);
            Ok(())
        });
        bulk.close();
        done
    }

    /// Deletes rows in batches.
    fn run_later(&mut self, seen: &Snapshot, run: &mut DmlRun, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let found = loop {
            match self.source.next(m, cx) {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(e) => break Err(e),
            }
            let Value::Rowid(rowid) = *m.value(self.rowid) else { continue };
            let event = RowEvent { event: TriggerEvent::Delete, old: &self.old, rowid: self.rowid, single: false };
            if let Err(e) = self.writer.fire_row(When::Before, event, None, m, cx) {
                break Err(e);
            }
            if self.by_bytes {
                self.writer.delete_bytes_later(rowid, self.source.kept_bytes())?;
            } else {
                self.writer.delete_later(rowid, &self.old, m);
            }
            run.changed_at(rowid);
            if !self.writer.change_now(false, true, seen, m, cx)? {
                run.restart = true;
                return Ok(());
            }
            cx.check_cancel()?;
        };
        if !self.writer.change_now(true, true, seen, m, cx)? {
            run.restart = true;
            return Ok(());
        }
        found?;
        self.writer.finish(cx)
    }

    pub fn run(&mut self, run: &mut DmlRun, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.writer.begin();
        let seen: Snapshot = *m.snapshot();
        if self.bulk.is_some() {
            return self.run_bulk(&seen, run, m, cx);
        }
        self.source.open(m, cx)?;
        if self.returning.is_empty() && self.writer.takes_changes(true) {
            return self.run_later(&seen, run, m, cx);
        }
        while self.source.next(m, cx)? {
            let Some(row) = Address::of(m.value(self.rowid)) else { continue };
            if !self.one_or_log(&row, &seen, run, m, cx)? {
                run.restart = true;
                return Ok(());
            }
            cx.check_cancel()?;
        }
        self.writer.finish(cx)
    }

    /// Deletes a row. False when it has changed since the snapshot.
    fn one(
        &mut self,
        row: &Address,
        seen: &Snapshot,
        run: &mut DmlRun,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<bool> {
        let event = RowEvent { event: TriggerEvent::Delete, old: &self.old, rowid: self.rowid, single: false };
        self.writer.fire_row(When::Before, event, None, m, cx)?;
        if !self.writer.delete(row.at(), &self.old, seen, m, cx)? {
            return Ok(false);
        }
        self.writer.fire_row(When::After, event, None, m, cx)?;
        run.changed(row);
        returning(&self.returning, run, m, cx)?;
        Ok(true)
    }

    /// As [`Delete::one`]; the error of the row goes to the error log, if the statement has one.
    fn one_or_log(
        &mut self,
        row: &Address,
        seen: &Snapshot,
        run: &mut DmlRun,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<bool> {
        if self.writer.log.is_none() {
            return self.one(row, seen, run, m, cx);
        }
        let start = cx.shared.txns.savepoint(&cx.session.txn);
        let mark = self.writer.mark();
        let rows = run.rows;
        let done = self.one(row, seen, run, m, cx);
        let e = match done.and_then(|done| self.writer.finish_row(mark.orphans, cx).map(|()| done)) {
            Err(e) => e,
            done => return done,
        };
        run.rows = rows;
        cx.undo_failed(&start, &e)?;
        self.writer.back_to(&mark);
        let of = (Operation::Delete, Some(self.rowid));
        self.writer.log_row(e, of, &self.old, m, cx).map(|()| true)
    }
}
