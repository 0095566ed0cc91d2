//! The DML statements.

use super::delete::Delete;
use super::fire::When;
use super::insert::{Branch, Insert, build_insert, insert_all};
use super::instead::Instead;
use super::merge::Merge;
use super::row::DmlRun;
use super::update::Update;
use crate::builder::Builder;
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use crate::source::Op;
use dictionary::monitoring::Changes;
use plan::{PlanBody, Reg};
use types::{Ora, Result, Rowid, Value};

/// A compiled DML statement.
pub enum Dml {
    Insert(Box<Insert>),
    InsertAll { query: Op, branches: Vec<Branch>, first: bool },
    Update(Box<Update>),
    Delete(Box<Delete>),
    Merge(Box<Merge>),
    Instead(Box<Instead>),
}

impl Dml {
    /// Builds the statement of a plan other than a query.
    pub fn build(body: &PlanBody, b: &mut Builder<'_>) -> Result<Dml> {
        Ok(match body {
            PlanBody::Query(_) => return Err(Ora::internal("DML built from the plan of a query")),
            PlanBody::Insert(i) => Dml::Insert(Box::new(build_insert(i, b)?)),
            PlanBody::InsertAll(i) => {
                let query = Op::build(&i.query.source, b)?;
                let mut branches = Vec::new();
                for x in &i.branches {
                    branches.push(Branch {
                        when: x.when.as_ref().map(|e| b.cond(e)),
                        same_as_previous: x.same_as_previous,
                        otherwise: x.otherwise,
                        insert: build_insert(&x.insert, b)?,
                    });
                }
                Dml::InsertAll { query, branches, first: i.first }
            }
            PlanBody::Update(u) => Dml::Update(Box::new(Update::build(u, b)?)),
            PlanBody::Delete(d) => Dml::Delete(Box::new(Delete::build(d, b)?)),
            PlanBody::Merge(x) => Dml::Merge(Box::new(Merge::build(x, b)?)),
            PlanBody::Instead(i) => Dml::Instead(Box::new(Instead::build(i, b)?)),
        })
    }

    /// Whether executions may wait and run together with later ones: an INSERT of plain values.
    pub fn may_wait(&self) -> bool {
        matches!(self, Dml::Insert(i) if i.may_wait())
    }

    /// Adds the row of one execution to the batch of a statement that may wait.
    pub fn run_later(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        match self {
            Dml::Insert(i) => i.take_values(m, cx),
            _ => Err(Ora::internal("batched execution of a statement that cannot wait")),
        }
    }

    /// As [`Dml::run_later`], with these bind values; the first bind has register `first`. False if the values must be
    /// put into registers instead.
    pub fn run_more(&mut self, first: Reg, binds: &[&Value], m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        match self {
            Dml::Insert(i) => match &i.direct {
                Some(direct) => i.writer.insert_bound(direct, &i.values, &i.defaults, (first, binds), m, cx),
                None => Ok(false),
            },
            _ => Ok(false),
        }
    }

    /// Whether rows are waiting, and whether they should be inserted now.
    pub fn has_waiting(&self) -> (bool, bool) {
        match self {
            Dml::Insert(i) => (!i.writer.batch().is_empty(), i.writer.batch().is_full()),
            _ => (false, false),
        }
    }

    /// Number of waiting rows.
    pub fn rows_waiting(&self) -> usize {
        match self {
            Dml::Insert(i) => i.writer.batch().len(),
            _ => 0,
        }
    }

    /// The last row inserted among those that waited.
    pub fn last_waiting(&self) -> Option<Rowid> {
        match self {
            Dml::Insert(i) => i.writer.batch().last(),
            _ => None,
        }
    }

    /// Inserts the waiting rows. `refused` receives the number and the error of each row that could not be inserted,
    /// and returns `Ok` to continue.
    pub fn run_waiting(
        &mut self,
        refused: &mut dyn FnMut(usize, Ora) -> Result<()>,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        match self {
            Dml::Insert(i) => {
                let inserted = i.writer.batch().len() as u64;
                i.writer.flush(refused, cx)?;
                i.writer.note_changes(Changes { inserted, ..Changes::default() }, cx);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Whether triggers for the whole statement may fire.
    pub fn fires(&self) -> bool {
        match self {
            Dml::Insert(i) => !i.writer.firings.is_empty(),
            Dml::InsertAll { branches, .. } => branches.iter().any(|b| !b.insert.writer.firings.is_empty()),
            Dml::Update(u) => !u.writer.firings.is_empty(),
            Dml::Delete(d) => !d.writer.firings.is_empty(),
            Dml::Merge(x) => !x.writer.firings.is_empty(),
            Dml::Instead(_) => false,
        }
    }

    /// Fires the triggers for the whole statement.
    ///
    /// # Errors
    /// Those of the triggers.
    pub fn fire_statement(&mut self, when: When, cx: &mut ExecCtx<'_>) -> Result<()> {
        match self {
            Dml::Insert(i) => i.writer.firings.fire_statement(when, cx),
            Dml::InsertAll { branches, .. } => {
                // Once for a table, however many branches insert into it.
                let mut fired = Vec::new();
                for branch in branches {
                    let writer = &mut branch.insert.writer;
                    if !fired.contains(&writer.table.object) {
                        fired.push(writer.table.object);
                        writer.firings.fire_statement(when, cx)?;
                    }
                }
                Ok(())
            }
            Dml::Update(u) => u.writer.firings.fire_statement(when, cx),
            Dml::Delete(d) => d.writer.firings.fire_statement(when, cx),
            Dml::Merge(x) => x.writer.firings.fire_statement(when, cx),
            Dml::Instead(_) => Ok(()),
        }
    }

    /// Runs the statement as of the machine's snapshot.
    pub fn run(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<DmlRun> {
        let mut run = DmlRun::default();
        match self {
            Dml::Insert(i) => i.run(&mut run, m, cx)?,
            Dml::InsertAll { query, branches, first } => insert_all(query, branches, *first, &mut run, m, cx)?,
            Dml::Update(u) => u.run(&mut run, m, cx)?,
            Dml::Delete(d) => d.run(&mut run, m, cx)?,
            Dml::Merge(x) => x.run(&mut run, m, cx)?,
            Dml::Instead(i) => i.run(&mut run, m, cx)?,
        }
        if !run.restart {
            self.note_changes(run.rows, cx);
        }
        Ok(run)
    }

    fn note_changes(&self, rows: u64, cx: &ExecCtx<'_>) {
        let none = Changes::default();
        match self {
            Dml::Insert(i) => i.writer.note_changes(Changes { inserted: rows, ..none }, cx),
            Dml::Update(u) => u.writer.note_changes(Changes { updated: rows, ..none }, cx),
            Dml::Delete(d) => d.writer.note_changes(Changes { deleted: rows, ..none }, cx),
            Dml::InsertAll { branches, .. } => branches.iter().for_each(|b| b.insert.writer.note_own_changes(cx)),
            Dml::Merge(x) => x.writer.note_own_changes(cx),
            Dml::Instead(_) => {}
        }
    }
}
