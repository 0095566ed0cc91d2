//! The DML statements: finding rows and computing values.

use super::Writer;
use super::changes::Bulk;
use super::direct::Direct;
use crate::code::{Builder, Code, Cond};
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use crate::source::{Op, assign, copy};
use crate::table::Address;
use dictionary::monitoring::Changes;
use plan::{InsertPlan, InsertSource, PlanBody, Reg, SetItem, SubId};
use std::collections::HashSet;
use txn::Snapshot;
use types::{Ora, Result, Rowid, Value};

/// The result of an execution.
#[derive(Default)]
pub struct DmlRun {
    pub rows: u64,
    /// The row changed last, if its table has rowids.
    pub last: Option<Rowid>,
    /// Rows of RETURNING.
    pub returned: Vec<Vec<Value>>,
    /// A row has changed since the snapshot: roll the statement back and run it again with a new one.
    pub restart: bool,
}

impl DmlRun {
    /// Counts a changed row.
    fn changed(&mut self, at: &Address) {
        self.rows += 1;
        self.last = match at {
            Address::Rowid(rowid) => Some(*rowid),
            Address::Key(_) => None,
        };
    }

    pub fn changed_at(&mut self, rowid: Rowid) {
        self.rows += 1;
        self.last = Some(rowid);
    }
}

/// A compiled DML statement.
pub enum Dml {
    Insert(Box<Insert>),
    InsertAll { query: Op, branches: Vec<Branch>, first: bool },
    Update(Box<Update>),
    Delete(Box<Delete>),
    Merge(Box<Merge>),
}

pub struct Insert {
    writer: Writer,
    /// `None` for VALUES.
    query: Option<Op>,
    values: Vec<(u16, Code)>,
    defaults: Vec<(u16, Code, bool)>,
    /// Columns without a value and a default.
    nulls: Vec<u16>,
    rowid: Reg,
    returning: Vec<Code>,
    /// For rows inserted in batches.
    direct: Option<Direct>,
}

pub struct Branch {
    when: Option<Cond>,
    same_as_previous: bool,
    otherwise: bool,
    insert: Insert,
}

pub enum Set {
    One(u16, Code),
    Row(Vec<u16>, SubId),
}

pub struct Update {
    writer: Writer,
    source: Op,
    rowid: Reg,
    old: Vec<Reg>,
    sets: Vec<Set>,
    columns: Vec<u16>,
    returning: Vec<Code>,
    /// Rows are changed by their bytes: only the columns that the statement names are in `old`.
    by_bytes: bool,
    /// Rows are found in batches, in place of `source`.
    bulk: Option<Bulk>,
}

pub struct Delete {
    writer: Writer,
    source: Op,
    rowid: Reg,
    old: Vec<Reg>,
    returning: Vec<Code>,
    by_bytes: bool,
    bulk: Option<Bulk>,
}

pub struct Merge {
    writer: Writer,
    source: Op,
    rowid: Reg,
    old: Vec<Reg>,
    update: Option<MergeUpdate>,
    insert: Option<MergeInsert>,
}

struct MergeUpdate {
    sets: Vec<Set>,
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
            PlanBody::Update(u) => {
                let (sets, mut columns) = build_sets(&u.sets, b);
                let writer = Writer::build(&u.target, Some(&columns), b)?;
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
                Dml::Update(Box::new(Update {
                    writer,
                    source,
                    rowid: u.rowid,
                    old: u.old.clone(),
                    sets,
                    columns,
                    returning: u.returning.iter().map(|(e, _)| b.code(e)).collect(),
                    by_bytes,
                    bulk,
                }))
            }
            PlanBody::Delete(d) => {
                let writer = Writer::build(&d.target, None, b)?;
                let takes_bytes = d.returning.is_empty() && writer.takes_bytes(true);
                let bulk = match takes_bytes {
                    true => Bulk::build(&d.source, d.rowid, &[], &writer, b)?,
                    false => None,
                };
                let mut source = if bulk.is_some() { Op::Empty } else { Op::build(&d.source, b)? };
                let by_bytes = takes_bytes && bulk.is_none() && keep_bytes(&d.source, std::iter::empty(), &mut source);
                Dml::Delete(Box::new(Delete {
                    writer,
                    source,
                    rowid: d.rowid,
                    old: d.old.clone(),
                    returning: d.returning.iter().map(|(e, _)| b.code(e)).collect(),
                    by_bytes,
                    bulk,
                }))
            }
            PlanBody::Merge(x) => {
                let update = match &x.update {
                    None => None,
                    Some(u) => {
                        let (sets, columns) = build_sets(&u.sets, b);
                        let filter = u.filter.as_ref().map(|e| b.cond(e));
                        Some(MergeUpdate { sets, columns, filter, delete: u.delete.as_ref().map(|e| b.cond(e)) })
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
                Dml::Merge(Box::new(Merge {
                    writer: Writer::build(&x.target, None, b)?.with_patience(columns, deletes),
                    source: Op::build(&x.source, b)?,
                    rowid: x.rowid,
                    old: x.old.clone(),
                    update,
                    insert,
                }))
            }
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

    /// Runs the statement as of the machine's snapshot.
    pub fn run(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<DmlRun> {
        let mut run = DmlRun::default();
        match self {
            Dml::Insert(i) => i.run(&mut run, m, cx)?,
            Dml::InsertAll { query, branches, first } => insert_all(query, branches, *first, &mut run, m, cx)?,
            Dml::Update(u) => u.run(&mut run, m, cx)?,
            Dml::Delete(d) => d.run(&mut run, m, cx)?,
            Dml::Merge(x) => x.run(&mut run, m, cx)?,
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
        }
    }
}

fn build_insert(i: &InsertPlan, b: &mut Builder<'_>) -> Result<Insert> {
    let (query, exprs) = match &i.source {
        InsertSource::Values(values) => (None, values),
        InsertSource::Query(q) => (Some(Op::build(&q.source, b)?), &q.out),
    };
    let (defaults, nulls) = fill(&i.columns, &i.defaults, i.target.table.columns.len(), &i.target.table, b);
    let writer = Writer::build(&i.target, None, b)?;
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

/// The defaults, each with whether it replaces NULL only, and the columns left NULL.
fn fill(
    columns: &[u16],
    defaults: &[(u16, plan::Expr)],
    width: usize,
    table: &dictionary::TableDef,
    b: &mut Builder<'_>,
) -> (Vec<(u16, Code, bool)>, Vec<u16>) {
    let _ = table;
    let nulls = (0..width as u16).filter(|c| !columns.contains(c) && !defaults.iter().any(|(d, _)| d == c)).collect();
    let defaults = defaults.iter().map(|(c, e)| (*c, b.code(e), columns.contains(c))).collect();
    (defaults, nulls)
}

fn build_sets(sets: &[SetItem], b: &mut Builder<'_>) -> (Vec<Set>, Vec<u16>) {
    let mut columns = Vec::new();
    let sets = sets
        .iter()
        .map(|s| match s {
            SetItem::One(c, e) => {
                columns.push(*c);
                Set::One(*c, b.code(e))
            }
            SetItem::Row(cs, sub) => {
                columns.extend(cs);
                Set::Row(cs.clone(), *sub)
            }
        })
        .collect();
    (sets, columns)
}

/// The batches of an UPDATE that changes rows by their bytes.
fn bulk_update(u: &plan::UpdatePlan, sets: &[Set], writer: &Writer, b: &mut Builder<'_>) -> Result<Option<Bulk>> {
    let mut values = Vec::with_capacity(sets.len());
    for (set, item) in sets.iter().zip(&u.sets) {
        let (Set::One(column, code), SetItem::One(_, e)) = (set, item) else { return Ok(None) };
        values.push((*column, e, code.clone()));
    }
    values.sort_by_key(|v| v.0);
    Bulk::build(&u.source, u.rowid, &values, writer, b)
}

/// Makes the scan of a statement's rows keep their bytes, and decode only the columns that its conditions and these
/// values read. False if the rows come from another source, or a subquery may read the columns; nothing was done then.
fn keep_bytes<'p>(source: &plan::Source, values: impl Iterator<Item = Option<&'p plan::Expr>>, op: &mut Op) -> bool {
    let (plan::Source::Scan(scan), Op::Scan(op)) = (source, op) else { return false };
    let (mut regs, mut plain) = (Vec::new(), true);
    let mut look = |e: &plan::Expr| {
        e.walk(&mut |e| match &e.node {
            plan::Node::Reg(r) => regs.push(*r),
            plan::Node::Scalar(_)
            | plan::Node::Exists(_)
            | plan::Node::InSub { .. }
            | plan::Node::Quantified { .. } => plain = false,
            _ => {}
        });
    };
    scan.filter.iter().for_each(&mut look);
    let all = values.map(|v| v.map(&mut look)).all(|v| v.is_some());
    all && plain && op.keep_bytes(&regs)
}

/// Computes a new row into the writer's registers.
fn new_row(
    writer: &Writer,
    values: &[(u16, Code)],
    defaults: &[(u16, Code, bool)],
    nulls: &[u16],
    m: &mut Machine,
    cx: &mut ExecCtx<'_>,
) -> Result<()> {
    for (c, code) in values {
        assign(code, writer.new[*c as usize], m, cx)?;
    }
    for (c, code, only_null) in defaults {
        let reg = writer.new[*c as usize];
        if !only_null || m.value(reg).is_null() {
            assign(code, reg, m, cx)?;
        }
    }
    for c in nulls {
        m.put(writer.new[*c as usize], Value::Null);
    }
    Ok(())
}

/// Copies the old row and computes the assignments over it.
pub fn changed_row(writer: &Writer, old: &[Reg], sets: &[Set], m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
    m.sequence_values.fill(None);
    for (&from, &to) in old.iter().zip(&writer.new) {
        copy(from, to, m);
    }
    for set in sets {
        match set {
            Set::One(c, code) => assign(code, writer.new[*c as usize], m, cx)?,
            Set::Row(columns, sub) => {
                let values = crate::sub::row(*sub, m, cx)?;
                for (c, v) in columns.iter().zip(values) {
                    m.put(writer.new[*c as usize], v);
                }
            }
        }
    }
    Ok(())
}

fn returning(codes: &[Code], run: &mut DmlRun, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
    if codes.is_empty() {
        return Ok(());
    }
    let mut row = Vec::with_capacity(codes.len());
    for code in codes {
        let r = code.eval(m, cx)?;
        row.push(m.value(r).clone());
    }
    run.returned.push(row);
    Ok(())
}

impl Insert {
    /// Discards what a failed execution left undone.
    pub fn begin(&mut self) {
        self.writer.begin();
    }

    fn one(&mut self, run: &mut DmlRun, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        new_row(&self.writer, &self.values, &self.defaults, &self.nulls, m, cx)?;
        let at = self.writer.insert(m, cx)?;
        at.at().put(m, self.rowid);
        run.changed(&at);
        returning(&self.returning, run, m, cx)
    }

    fn run(&mut self, run: &mut DmlRun, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.writer.begin();
        match self.query.take() {
            None => {
                m.sequence_values.fill(None);
                self.one(run, m, cx)?;
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
            self.one(run, m, cx)?;
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
    fn take_values(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        if let Some(direct) = &self.direct
            && self.writer.insert_direct(direct, &self.values, &self.defaults, m, cx)?
        {
            return Ok(());
        }
        m.sequence_values.fill(None);
        new_row(&self.writer, &self.values, &self.defaults, &self.nulls, m, cx)?;
        self.writer.insert_later(m, cx)
    }

    /// Whether it inserts one row of plain values, which may be batched with others.
    fn may_wait(&self) -> bool {
        self.query.is_none()
            && self.returning.is_empty()
            && self.writer.takes_batches()
            && self.values.iter().all(|(_, code)| code.is_plain())
            && self.defaults.iter().all(|(_, code, _)| code.is_plain())
    }
}

fn insert_all(
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
                b.insert.one(run, m, cx)?;
            }
        }
        cx.check_cancel()?;
    }
    branches.iter_mut().try_for_each(|b| b.insert.writer.finish(cx))
}

impl Update {
    fn run(&mut self, run: &mut DmlRun, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
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
            changed_row(&self.writer, &self.old, &self.sets, m, cx)?;
            let Some(at) = self.writer.update(row.at(), &self.old, &self.columns, &seen, m, cx)? else {
                run.restart = true;
                return Ok(());
            };
            at.at().put(m, self.rowid);
            run.changed(&at);
            returning(&self.returning, run, m, cx)?;
            cx.check_cancel()?;
        }
        self.writer.finish(cx)
    }
}

/// Notes the changes of a batch.
type Note<'a> = dyn FnMut(&mut Writer, &mut Bulk, &mut DmlRun, &mut Machine, &mut ExecCtx<'_>) -> Result<()> + 'a;

/// Changes rows batch by batch; `note` notes the changes of a batch. The changes noted before an error are made before
/// it is raised, because an error of an earlier row comes first.
fn each_batch(
    writer: &mut Writer,
    bulk: &mut Bulk,
    deleting: bool,
    (seen, run): (&Snapshot, &mut DmlRun),
    m: &mut Machine,
    cx: &mut ExecCtx<'_>,
    note: &mut Note<'_>,
) -> Result<()> {
    bulk.open(m, cx)?;
    while bulk.next(m, cx)? {
        let noted = note(writer, bulk, run, m, cx);
        writer.charge(bulk.used(), m, cx)?;
        if !writer.change_found(bulk.bytes(), deleting, seen, cx)? {
            run.restart = true;
            return Ok(());
        }
        noted?;
        cx.check_cancel()?;
    }
    writer.finish(cx)
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
            self.writer.update_later(rowid, &self.old, &self.columns, m, cx)?;
            return Ok(Some(rowid));
        }
        Ok(None)
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

    fn run(&mut self, run: &mut DmlRun, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
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
            if !self.writer.delete(row.at(), &self.old, &seen, m, cx)? {
                run.restart = true;
                return Ok(());
            }
            run.changed(&row);
            returning(&self.returning, run, m, cx)?;
            cx.check_cancel()?;
        }
        self.writer.finish(cx)
    }
}

impl Merge {
    fn run(&mut self, run: &mut DmlRun, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.writer.begin();
        let seen: Snapshot = *m.snapshot();
        let mut touched: HashSet<Address> = HashSet::new();
        self.source.open(m, cx)?;
        while self.source.next(m, cx)? {
            match Address::of(m.value(self.rowid)) {
                Some(row) => {
                    if !self.matched(row, &seen, &mut touched, run, m, cx)? {
                        run.restart = true;
                        return Ok(());
                    }
                }
                None => self.not_matched(run, m, cx)?,
            }
            cx.check_cancel()?;
        }
        self.writer.finish(cx)
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
        // DELETE WHERE sees the updated row; if it holds, the update itself is omitted.
        let delete = match &u.delete {
            Some(cond) => cond.test(m, cx)? == Some(true),
            None => false,
        };
        let done = if delete {
            self.writer.delete(row.at(), &self.old, seen, m, cx)?
        } else {
            self.writer.update(row.at(), &self.old, &u.columns, seen, m, cx)?.is_some()
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
        let at = self.writer.insert(m, cx)?;
        run.changed(&at);
        Ok(())
    }
}
