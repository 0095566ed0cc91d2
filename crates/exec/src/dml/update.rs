//! UPDATE: of rows found one by one, or in batches.

use super::bulk::{Bulk, each_batch, keep_bytes};
use super::error_log::Operation;
use super::fire::When;
use super::fire_row::RowEvent;
use super::row::{DmlRun, Set, build_sets, changed_row, returning};
use super::writer::Writer;
use crate::builder::Builder;
use crate::code::Code;
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use crate::source::{Op, RowSource};
use crate::table::Address;
use plan::{Reg, SetItem, TriggerEvent, UpdatePlan};
use txn::Snapshot;
use types::{Result, Rowid, Value};

pub struct Update {
    pub(super) writer: Writer,
    source: Op,
    rowid: Reg,
    old: Vec<Reg>,
    sets: Vec<Set>,
    /// The columns that the statement sets, and these with the ones that triggers may assign.
    set: Vec<u16>,
    columns: Vec<u16>,
    returning: Vec<Code>,
    /// Rows are changed by their bytes: only the columns that the statement names are in `old`.
    by_bytes: bool,
    /// Rows are found in batches, in place of `source`.
    bulk: Option<Bulk>,
}

impl Update {
    pub fn build(u: &UpdatePlan, b: &mut Builder<'_>) -> Result<Update> {
        let (sets, set) = build_sets(&u.sets, b);
        let mut columns = set.clone();
        let assigned = u.target.firings.iter().flat_map(|firing| &firing.assigned);
        columns.extend(assigned.filter(|c| !set.contains(c)));
        let mut writer = Writer::build(&u.target, Some(&columns), b)?;
        if let Some(log) = &mut writer.log {
            let given = |set| match set {
                &SetItem::One(column, ref e) => Some((column, e)),
                SetItem::Row(..) => None,
            };
            log.give(u.sets.iter().filter_map(given), b);
        }
        let bulk = match u.returning.is_empty() && writer.takes_bytes(false) {
            true => bulk_update(u, &sets, &writer, b)?,
            false => None,
        };
        let mut source = if bulk.is_some() { Op::Empty } else { Op::build(&u.source, b)? };
        let mut by_bytes = bulk.is_some();
        if !by_bytes && u.returning.is_empty() && writer.takes_bytes(false) {
            let values = u.sets.iter().map(|s| match s {
                SetItem::One(_, e) => Some(e),
                SetItem::Row(..) => None,
            });
            by_bytes = keep_bytes(&u.source, values, &mut source);
        }
        if by_bytes {
            columns.sort_unstable();
        }
        Ok(Update {
            writer,
            source,
            rowid: u.rowid,
            old: u.old.clone(),
            sets,
            set,
            columns,
            returning: u.returning.iter().map(|(e, _)| b.code(e)).collect(),
            by_bytes,
            bulk,
        })
    }
}

/// The batches of an UPDATE that changes rows by their bytes.
fn bulk_update(u: &UpdatePlan, sets: &[Set], writer: &Writer, b: &mut Builder<'_>) -> Result<Option<Bulk>> {
    let mut values = Vec::with_capacity(sets.len());
    for (set, item) in sets.iter().zip(&u.sets) {
        let (Set::One(column, code), SetItem::One(_, e)) = (set, item) else { return Ok(None) };
        values.push((*column, e, code.clone()));
    }
    values.sort_by_key(|v| v.0);
    Bulk::build(&u.source, u.rowid, &values, writer, b)
}

impl Update {
    pub fn run(&mut self, run: &mut DmlRun, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.writer.begin();
        let seen: Snapshot = *m.snapshot();
        if self.bulk.is_some() {
            return self.run_bulk(&seen, run, m, cx);
        }
        self.source.open(m, cx)?;
        if self.returning.is_empty() && self.writer.takes_changes(false) {
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

    /// Changes a row. False when it has changed since the snapshot.
    fn one(
        &mut self,
        row: &Address,
        seen: &Snapshot,
        run: &mut DmlRun,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<bool> {
        changed_row(&self.writer, &self.old, &self.sets, m, cx)?;
        let event = RowEvent { event: TriggerEvent::Update, old: &self.old, rowid: self.rowid, single: false };
        self.writer.fire_row(When::Before, event, Some(&self.set), m, cx)?;
        let Some(at) = self.writer.update(row.at(), &self.old, &self.columns, seen, m, cx)? else { return Ok(false) };
        at.at().put(m, self.rowid);
        self.writer.fire_row(When::After, event, None, m, cx)?;
        run.changed(&at);
        returning(&self.returning, run, m, cx)?;
        Ok(true)
    }

    /// As [`Update::one`]; the error of the row goes to the error log, if the statement has one.
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
        let e = match self.one(row, seen, run, m, cx) {
            // A key that is taken ends an UPDATE.
            Err(e) if !e.is(1) => e,
            done => return done,
        };
        cx.undo_failed(&start, &e)?;
        self.writer.back_to(&mark);
        let of = (Operation::Update, Some(self.rowid));
        self.writer.log_row(e, of, &self.old, m, cx).map(|()| true)
    }
}

impl Update {
    fn run_bulk(&mut self, seen: &Snapshot, run: &mut DmlRun, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let Update { writer, bulk: Some(bulk), sets, columns, .. } = self else { return Ok(()) };
        let done = each_batch(writer, bulk, false, (seen, run), m, cx, &mut |writer, bulk, run, m, cx| {
            bulk.note_updates(writer, sets, columns, run, m, cx)
        });
        bulk.close();
        done
    }

    /// Updates rows in batches.
    fn run_later(&mut self, seen: &Snapshot, run: &mut DmlRun, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let found = loop {
            match self.find(m, cx) {
                Ok(Some(rowid)) => run.changed_at(rowid),
                Ok(None) => break Ok(()),
                Err(e) => break Err(e),
            }
            if !self.writer.change_now(false, false, seen, m, cx)? {
                run.restart = true;
                return Ok(());
            }
            cx.check_cancel()?;
        };
        // An error of an earlier row comes before the error of this one.
        if !self.writer.change_now(true, false, seen, m, cx)? {
            run.restart = true;
            return Ok(());
        }
        found?;
        self.writer.finish(cx)
    }

    /// Finds the next row and notes its update.
    fn find(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Option<Rowid>> {
        while self.source.next(m, cx)? {
            let Value::Rowid(rowid) = *m.value(self.rowid) else { continue };
            if self.by_bytes {
                changed_row(&self.writer, &[], &self.sets, m, cx)?;
                self.writer.rewrite_later(rowid, self.source.kept_bytes(), &self.columns, m, cx)?;
                return Ok(Some(rowid));
            }
            changed_row(&self.writer, &self.old, &self.sets, m, cx)?;
            let event = RowEvent { event: TriggerEvent::Update, old: &self.old, rowid: self.rowid, single: false };
            self.writer.fire_row(When::Before, event, Some(&self.set), m, cx)?;
            self.writer.update_later(rowid, &self.old, &self.columns, m, cx)?;
            return Ok(Some(rowid));
        }
        Ok(None)
    }
}
