//! INSERT into one table or several.

use super::direct::Direct;
use super::error_log::Operation;
use super::fire::When;
use super::fire_row::RowEvent;
use super::row::{DmlRun, fill, new_row, returning};
use super::writer::Writer;
use crate::builder::Builder;
use crate::code::{Code, Cond};
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use crate::source::{Op, RowSource};
use plan::{InsertPlan, InsertSource, Reg, TriggerEvent};
use types::{Result, Value};

pub struct Insert {
    pub(super) writer: Writer,
    /// `None` for VALUES.
    query: Option<Op>,
    pub(super) values: Vec<(u16, Code)>,
    pub(super) defaults: Vec<(u16, Code, bool)>,
    /// Columns without a value and a default.
    nulls: Vec<u16>,
    rowid: Reg,
    returning: Vec<Code>,
    /// For rows inserted in batches.
    pub(super) direct: Option<Direct>,
}

pub struct Branch {
    pub(super) when: Option<Cond>,
    pub(super) same_as_previous: bool,
    pub(super) otherwise: bool,
    pub(super) insert: Insert,
}

pub fn build_insert(i: &InsertPlan, b: &mut Builder<'_>) -> Result<Insert> {
    let (query, exprs) = match &i.source {
        InsertSource::Values(values) => (None, values),
        InsertSource::Query(q) => (Some(Op::build(&q.source, b)?), &q.out),
    };
    let (defaults, nulls) = fill(&i.columns, &i.defaults, i.target.table.columns.len(), &i.target.table, b);
    let mut writer = Writer::build(&i.target, None, b)?;
    if let Some(log) = &mut writer.log {
        log.give(i.columns.iter().copied().zip(exprs), b);
    }
    let values: Vec<_> = i.columns.iter().copied().zip(b.codes(exprs)).collect();
    Ok(Insert {
        direct: Direct::of(&writer, &values, &defaults),
        writer,
        query,
        values,
        defaults,
        nulls,
        rowid: i.rowid,
        returning: i.returning.iter().map(|(e, _)| b.code(e)).collect(),
    })
}

impl Insert {
    /// Discards what a failed execution left undone.
    pub fn begin(&mut self) {
        self.writer.begin();
    }

    /// Inserts a row. `single`: the statement inserts no other row.
    pub fn one(&mut self, single: bool, run: &mut DmlRun, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        new_row(&self.writer, &self.values, &self.defaults, &self.nulls, m, cx)?;
        let event = RowEvent { event: TriggerEvent::Insert, old: &[], rowid: self.rowid, single };
        self.writer.fire_row(When::Before, event, None, m, cx)?;
        let at = self.writer.insert(m, cx)?;
        at.at().put(m, self.rowid);
        self.writer.fire_row(When::After, event, None, m, cx)?;
        run.changed(&at);
        returning(&self.returning, run, m, cx)
    }

    /// As [`Insert::one`]; the error of the row goes to the error log, if the statement has one.
    fn one_or_log(&mut self, single: bool, run: &mut DmlRun, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        if self.writer.log.is_none() {
            return self.one(single, run, m, cx);
        }
        // A value that has not been computed is NULL in the log.
        for reg in self.writer.new.clone() {
            m.put(reg, Value::Null);
        }
        let start = cx.shared.txns.savepoint(&cx.session.txn);
        let mark = self.writer.mark();
        let Err(e) = self.one(single, run, m, cx) else { return Ok(()) };
        cx.undo_failed(&start, &e)?;
        self.writer.back_to(&mark);
        let new = self.writer.new.clone();
        self.writer.log_row(e, (Operation::Insert, None), &new, m, cx)
    }

    pub fn run(&mut self, run: &mut DmlRun, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.writer.begin();
        match self.query.take() {
            None => {
                m.sequence_values.fill(None);
                self.one_or_log(true, run, m, cx)?;
            }
            Some(mut query) => {
                let result = self.run_query(&mut query, run, m, cx);
                self.query = Some(query);
                result?;
            }
        }
        self.writer.finish(cx)
    }

    fn run_query(&mut self, query: &mut Op, run: &mut DmlRun, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        query.open(m, cx)?;
        if self.returning.is_empty() && self.writer.takes_batches() {
            return self.run_batches(query, run, m, cx);
        }
        while query.next(m, cx)? {
            m.sequence_values.fill(None);
            self.one_or_log(false, run, m, cx)?;
            cx.check_cancel()?;
        }
        Ok(())
    }

    fn run_batches(&mut self, query: &mut Op, run: &mut DmlRun, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let made = loop {
            match self.take_row(query, m, cx) {
                Ok(true) => run.rows += 1,
                Ok(false) => break Ok(()),
                Err(e) => break Err(e),
            }
            if self.writer.batch().is_full() {
                self.writer.flush(&mut |_, refused| Err(refused), cx)?;
            }
            cx.check_cancel()?;
        };
        // An error of an earlier row comes before the error of the query.
        self.writer.flush(&mut |_, refused| Err(refused), cx)?;
        run.last = self.writer.batch().last();
        made
    }

    /// Adds the query's next row to the batch.
    fn take_row(&mut self, query: &mut Op, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if !query.next(m, cx)? {
            return Ok(false);
        }
        self.take_values(m, cx)?;
        Ok(true)
    }

    /// Adds a row of VALUES to the batch.
    pub fn take_values(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        if let Some(direct) = &self.direct
            && self.writer.insert_direct(direct, &self.values, &self.defaults, m, cx)?
        {
            return Ok(());
        }
        m.sequence_values.fill(None);
        new_row(&self.writer, &self.values, &self.defaults, &self.nulls, m, cx)?;
        let event = RowEvent { event: TriggerEvent::Insert, old: &[], rowid: self.rowid, single: false };
        self.writer.fire_row(When::Before, event, None, m, cx)?;
        self.writer.insert_later(m, cx)
    }

    /// Whether it inserts one row of plain values, which may be batched with others.
    pub fn may_wait(&self) -> bool {
        // Each execution fires the triggers for the whole statement.
        self.query.is_none()
            && self.writer.firings.is_empty()
            && self.returning.is_empty()
            && self.writer.takes_batches()
            && self.values.iter().all(|(_, code)| code.is_plain())
            && self.defaults.iter().all(|(_, code, _)| code.is_plain())
    }
}

pub fn insert_all(
    query: &mut Op,
    branches: &mut [Branch],
    first: bool,
    run: &mut DmlRun,
    m: &mut Machine,
    cx: &mut ExecCtx<'_>,
) -> Result<()> {
    branches.iter_mut().for_each(|b| b.insert.writer.begin());
    query.open(m, cx)?;
    while query.next(m, cx)? {
        // All INTO clauses share the sequence numbers of a row of the query.
        m.sequence_values.fill(None);
        let mut matched = false;
        let mut last = false;
        for b in branches.iter_mut() {
            if !b.same_as_previous {
                last = match (&b.when, b.otherwise) {
                    _ if first && matched => false,
                    (Some(cond), _) => cond.test(m, cx)? == Some(true),
                    (None, true) => !matched,
                    (None, false) => true,
                };
                matched |= last;
            }
            if last {
                b.insert.one(false, run, m, cx)?;
            }
        }
        cx.check_cancel()?;
    }
    branches.iter_mut().try_for_each(|b| b.insert.writer.finish(cx))
}
