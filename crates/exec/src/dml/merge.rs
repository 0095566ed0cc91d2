//! MERGE: updates, deletions and insertions by the rows of a join.

use super::error_log::Operation;
use super::fire::When;
use super::fire_row::RowEvent;
use super::row::{DmlRun, Set, build_sets, changed_row, fill, new_row};
use super::writer::Writer;
use crate::builder::Builder;
use crate::code::{Code, Cond};
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use crate::source::{Op, RowSource};
use crate::table::Address;
use plan::{MergePlan, Reg, TriggerEvent};
use std::collections::HashSet;
use txn::Snapshot;
use types::{Ora, Result};

pub struct Merge {
    pub(super) writer: Writer,
    source: Op,
    rowid: Reg,
    old: Vec<Reg>,
    update: Option<MergeUpdate>,
    insert: Option<MergeInsert>,
}

struct MergeUpdate {
    sets: Vec<Set>,
    /// The columns that the statement sets, and these with the ones that triggers may assign.
    set: Vec<u16>,
    columns: Vec<u16>,
    filter: Option<Cond>,
    delete: Option<Cond>,
}

struct MergeInsert {
    values: Vec<(u16, Code)>,
    defaults: Vec<(u16, Code, bool)>,
    nulls: Vec<u16>,
    filter: Option<Cond>,
}

impl Merge {
    pub fn build(x: &MergePlan, b: &mut Builder<'_>) -> Result<Merge> {
        let update = match &x.update {
            None => None,
            Some(u) => {
                let (sets, set) = build_sets(&u.sets, b);
                let mut columns = set.clone();
                let of_update = x.target.firings.iter().filter(|firing| firing.event == TriggerEvent::Update);
                let assigned = of_update.flat_map(|firing| &firing.assigned);
                columns.extend(assigned.filter(|c| !set.contains(c)));
                let filter = u.filter.as_ref().map(|e| b.cond(e));
                Some(MergeUpdate { sets, set, columns, filter, delete: u.delete.as_ref().map(|e| b.cond(e)) })
            }
        };
        let insert = x.insert.as_ref().map(|i| {
            let width = x.target.table.columns.len();
            let (defaults, nulls) = fill(&i.columns, &i.defaults, width, &x.target.table, b);
            MergeInsert {
                values: i.columns.iter().copied().zip(b.codes(&i.values)).collect(),
                defaults,
                nulls,
                filter: i.filter.as_ref().map(|e| b.cond(e)),
            }
        });
        let (columns, deletes) = match &update {
            Some(u) => (u.columns.as_slice(), u.delete.is_some()),
            None => (&[][..], false),
        };
        Ok(Merge {
            writer: Writer::build(&x.target, None, b)?.with_patience(columns, deletes),
            source: Op::build(&x.source, b)?,
            rowid: x.rowid,
            old: x.old.clone(),
            update,
            insert,
        })
    }
}

impl Merge {
    pub fn run(&mut self, run: &mut DmlRun, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.writer.begin();
        let seen: Snapshot = *m.snapshot();
        let mut touched: HashSet<Address> = HashSet::new();
        self.source.open(m, cx)?;
        while self.source.next(m, cx)? {
            match Address::of(m.value(self.rowid)) {
                Some(row) => {
                    if !self.one_or_log(Some(row), &seen, &mut touched, run, m, cx)? {
                        run.restart = true;
                        return Ok(());
                    }
                }
                None => drop(self.one_or_log(None, &seen, &mut touched, run, m, cx)?),
            }
            cx.check_cancel()?;
        }
        self.writer.finish(cx)
    }

    /// Changes the row that matches, or inserts one; its error goes to the error log, if the statement has one. False
    /// when the row has changed since the snapshot.
    fn one_or_log(
        &mut self,
        row: Option<Address>,
        seen: &Snapshot,
        touched: &mut HashSet<Address>,
        run: &mut DmlRun,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<bool> {
        let is_update = row.is_some();
        let start = self.writer.log.is_some().then(|| cx.shared.txns.savepoint(&cx.session.txn));
        let mark = self.writer.mark();
        let done = match row {
            Some(row) => self.matched(row, seen, touched, run, m, cx),
            None => self.not_matched(run, m, cx).map(|()| true),
        };
        let (e, start) = match (done, start) {
            // A key that is taken ends a MERGE.
            (Err(e), Some(start)) if !e.is(1) => (e, start),
            (done, _) => return done,
        };
        cx.undo_failed(&start, &e)?;
        self.writer.back_to(&mark);
        let new = self.writer.new.clone();
        let of = if is_update { (Operation::Update, Some(self.rowid)) } else { (Operation::Insert, None) };
        self.writer.log_row(e, of, &new, m, cx).map(|()| true)
    }

    /// False when the row has changed since the snapshot.
    fn matched(
        &mut self,
        row: Address,
        seen: &Snapshot,
        touched: &mut HashSet<Address>,
        run: &mut DmlRun,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<bool> {
        let Some(u) = &self.update else { return Ok(true) };
        if let Some(filter) = &u.filter
            && filter.test(m, cx)? != Some(true)
        {
            return Ok(true);
        }
        if !touched.insert(row.clone()) {
            return Err(Ora::new(30926)); // a source row matches twice
        }
        changed_row(&self.writer, &self.old, &u.sets, m, cx)?;
        let event = RowEvent { event: TriggerEvent::Update, old: &self.old, rowid: self.rowid, single: false };
        self.writer.fire_row(When::Before, event, Some(&u.set), m, cx)?;
        // DELETE WHERE sees the updated row; if it holds, the update itself is omitted.
        let delete = match &u.delete {
            Some(cond) => cond.test(m, cx)? == Some(true),
            None => false,
        };
        let done = if delete {
            delete_matched(&mut self.writer, &row, (event, &u.set), seen, m, cx)?
        } else {
            let done = self.writer.update(row.at(), &self.old, &u.columns, seen, m, cx)?.is_some();
            if done {
                self.writer.fire_row(When::After, event, None, m, cx)?;
            }
            done
        };
        if done {
            run.changed(&row);
        }
        Ok(done)
    }

    fn not_matched(&mut self, run: &mut DmlRun, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let Some(i) = &self.insert else { return Ok(()) };
        if let Some(filter) = &i.filter
            && filter.test(m, cx)? != Some(true)
        {
            return Ok(());
        }
        m.sequence_values.fill(None);
        new_row(&self.writer, &i.values, &i.defaults, &i.nulls, m, cx)?;
        let event = RowEvent { event: TriggerEvent::Insert, old: &[], rowid: self.rowid, single: false };
        self.writer.fire_row(When::Before, event, None, m, cx)?;
        let at = self.writer.insert(m, cx)?;
        at.at().put(m, self.rowid);
        self.writer.fire_row(When::After, event, None, m, cx)?;
        run.changed(&at);
        Ok(())
    }
}

/// Deletes a matched row, for which `set` has the updated columns. Its triggers fire as if it had been updated first.
/// False when it has changed since the snapshot.
fn delete_matched(
    writer: &mut Writer,
    row: &Address,
    (updated, set): (RowEvent<'_>, &[u16]),
    seen: &Snapshot,
    m: &mut Machine,
    cx: &mut ExecCtx<'_>,
) -> Result<bool> {
    if writer.firings.is_empty() {
        return writer.delete(row.at(), updated.old, seen, m, cx);
    }
    writer.fit_given(TriggerEvent::Update, Some(set), m, cx)?;
    writer.make_old_virtuals(m, cx)?;
    writer.make_virtuals(true, m, cx)?;
    writer.fire_row(When::After, updated, None, m, cx)?;
    let new = writer.new.clone();
    let event = RowEvent { event: TriggerEvent::Delete, old: &new, rowid: updated.rowid, single: false };
    writer.fire_row(When::Before, event, None, m, cx)?;
    let done = writer.delete(row.at(), updated.old, seen, m, cx)?;
    if done {
        writer.fire_row(When::After, event, None, m, cx)?;
    }
    Ok(done)
}
