//! GROUP BY and aggregation without it, over batches.
//!
//! Groups are numbered by a [`KeyTable`]; an aggregate has an array with an entry for each group. Sums of numbers are
//! words at one scale as long as they are exact; after that they continue in accumulators (`Acc`). Aggregates that
//! have only an accumulator take the rows of a batch one by one.
//!
//! A small number of groups is sorted by key, as GROUP BY over registers does: it costs little and gives examples a
//! tidy order. Otherwise groups have no order.

use super::column::{Column, Nulls, unexplained};
use super::eval::Expression;
use super::kernels::Rows;
use super::keys::{COLUMNS_MAX, KeyTable};
use super::node::{Batch, Node, ROWS_MAX};
use super::pays::pays;
use super::states::Kind;
use super::states::{Function, State, functions};
use super::wanted::{BuildInput, Wanted};
use crate::aggregate::AggCode;
use crate::builder::Builder;
use crate::code::Code;
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use crate::spill::limits::LEVELS_MAX;
use crate::spill::partition::{Division, level_of};
use crate::spill::{Reader, TempFile, rows};
use crate::work_area::Way;
use plan::{Agg, AggKind, Expr, Reg, Source};
use types::{Result, Value};

/// Largest number of groups that are returned in key order.
const SORTED_MAX: usize = 4096;
/// Accounted bytes of an aggregate's entry for a group.
const AGGREGATE_BYTES: usize = 24;

pub struct Group {
    input: Box<dyn Node>,
    keys: Vec<(Expression, Reg)>,
    functions: Vec<Function>,
    scalar: bool,
    /// Whether a small number of groups is returned in key order.
    sorts: bool,
    regs: Vec<Reg>,
    table: KeyTable,
    states: Vec<State>,
    groups: usize,
    /// The group of each row of the batch; `taken` leaves deferred rows out.
    group_of: Vec<u32>,
    taken: Vec<u32>,
    /// Memory charged for the groups in memory.
    charged: usize,
    /// Memory of the values of JSON_ARRAYAGG and JSON_OBJECTAGG.
    lists: usize,
    done: bool,
    /// Groups in the order of output, and the number returned so far.
    order: Vec<u32>,
    at: usize,
    waiting: Vec<(TempFile, u32)>,
    work: Work,
}

/// Figures for the work area.
#[derive(Default)]
struct Work {
    rows: u64,
    seen: u64,
    bytes: u64,
    need: u64,
    records: u64,
    deepest: u32,
}

impl Group {
    /// GROUP BY in batches; `None` with several grouping sets, or if an expression has no batch form.
    pub fn build(
        input: &Source,
        keys: &[(Expr, Reg)],
        sets: &[Vec<usize>],
        aggs: &[Agg],
        scalar: bool,
        build: BuildInput,
        b: &mut Builder<'_>,
    ) -> Result<Option<Group>> {
        let whole = matches!(sets, [set] if set.len() == keys.len() && set.iter().copied().eq(0..keys.len()));
        let grouping =
            aggs.iter().any(|a| matches!(a.kind, AggKind::Grouping | AggKind::GroupingId | AggKind::GroupId));
        let one = scalar && keys.is_empty();
        if !(whole || one) || !scalar && keys.is_empty() || grouping || keys.len() > COLUMNS_MAX {
            return Ok(None);
        }
        if !pays(input) {
            return Ok(None);
        }
        let mut wanted = Wanted::of_codes(&keys.iter().map(|(e, _)| b.code(e)).collect::<Vec<_>>());
        for agg in aggs {
            let code = AggCode::build(agg, b);
            wanted = wanted.and(code.args.iter().chain(code.order.codes()));
        }
        let input = build(input, &wanted, b)?;
        let mut made = Vec::with_capacity(keys.len());
        for (e, reg) in keys {
            let Some(e) = Expression::new(b.code(e), input.regs()) else { return Ok(None) };
            made.push((e, *reg));
        }
        let Some(functions) = functions(aggs, input.regs(), b) else { return Ok(None) };
        let regs = keys.iter().map(|(_, r)| *r).chain(aggs.iter().map(|a| a.out)).collect();
        Ok(Some(Group::new(input, made, functions, scalar, regs)))
    }

    /// DISTINCT: each row once, by the values of `regs`.
    pub fn distinct(input: Box<dyn Node>, regs: &[Reg]) -> Option<Group> {
        if regs.is_empty() || regs.len() > COLUMNS_MAX {
            return None;
        }
        let keys = regs.iter().map(|r| Some((Expression::new(Code::Reg(*r), input.regs())?, *r)));
        let keys = keys.collect::<Option<Vec<_>>>()?;
        Some(Group { sorts: false, ..Group::new(input, keys, Vec::new(), false, regs.to_vec()) })
    }

    fn new(
        input: Box<dyn Node>,
        keys: Vec<(Expression, Reg)>,
        functions: Vec<Function>,
        scalar: bool,
        regs: Vec<Reg>,
    ) -> Group {
        let table = KeyTable::new(keys.len());
        Group {
            input,
            keys,
            functions,
            scalar,
            sorts: !scalar,
            regs,
            table,
            states: Vec::new(),
            groups: 0,
            group_of: Vec::new(),
            taken: Vec::new(),
            charged: 0,
            lists: 0,
            done: false,
            order: Vec::new(),
            at: 0,
            waiting: Vec::new(),
            work: Work::default(),
        }
    }

    fn clear_groups(&mut self, m: &mut Machine) {
        self.table.clear();
        self.groups = 0;
        m.release(self.charged);
        (self.charged, self.lists) = (0, 0);
        self.states = self.functions.iter().map(State::start).collect();
        self.order.clear();
        self.at = 0;
    }

    fn run(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.clear_groups(m);
        self.waiting.clear();
        self.work = Work::default();
        let mut later = None;
        let mut batch = Batch::default();
        if self.scalar {
            self.grow(1);
        }
        self.input.open(m, cx)?;
        while self.input.next_batch(&mut batch, m, cx)? {
            self.work.rows += batch.len as u64;
            if !self.scalar {
                batch.restore(0, self.input.regs(), m)?;
                let mut record = Vec::new();
                rows::encode(self.input.regs().iter().map(|&r| m.value(r)), &mut record);
                self.work.seen += 1;
                self.work.bytes += record.len() as u64 + 6;
            }
            self.absorb(&mut batch, 0, &mut later, m, cx)?;
            cx.check_cancel()?;
        }
        self.finish_level(later, cx)?;
        self.arrange(m, cx)?;
        self.done = true;
        Ok(())
    }

    /// Queues the parts of the deferred rows.
    fn finish_level(&mut self, later: Option<Division>, cx: &mut ExecCtx<'_>) -> Result<()> {
        let Some(division) = later else { return Ok(()) };
        let level = division.level;
        self.work.deepest = self.work.deepest.max(level + 1);
        self.waiting.extend(division.finish(cx)?.into_iter().filter(|p| p.records() > 0).map(|part| {
            let level = level_of(&part, level);
            (part, level)
        }));
        Ok(())
    }

    /// Groups the next queued part. False if none is left.
    fn next_part(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        self.note_part(cx);
        let Some((part, level)) = self.waiting.pop() else {
            self.clear_groups(m);
            return Ok(false);
        };
        self.clear_groups(m);
        let (mut reader, mut record, mut later) = (Reader::default(), Vec::new(), None);
        let regs = self.input.regs().to_vec();
        let mut batch = Batch::default();
        loop {
            let mut values: Vec<Vec<Value>> = regs.iter().map(|_| Vec::new()).collect();
            batch.clear();
            while batch.len < ROWS_MAX && part.next(&mut reader, &mut record, cx)? {
                let mut row = &record[..];
                for column in &mut values {
                    let mut value = Value::Null;
                    rows::decode(&mut row, &mut value)?;
                    column.push(value);
                }
                batch.len += 1;
            }
            if batch.len == 0 {
                break;
            }
            let Batch { columns, arena, .. } = &mut batch;
            columns.extend(values.into_iter().map(|values| Column::of_values(values, arena)));
            self.absorb(&mut batch, level, &mut later, m, cx)?;
            cx.check_cancel()?;
        }
        self.finish_level(later, cx)?;
        self.arrange(m, cx)?;
        Ok(true)
    }

    /// Counts the groups in memory and, with the last part, notes the work area.
    fn note_part(&mut self, cx: &ExecCtx<'_>) {
        if self.scalar || self.work.rows == 0 {
            return;
        }
        self.work.need += self.charged as u64;
        self.work.records += self.groups as u64;
        if self.waiting.is_empty() {
            let Work { rows, seen, bytes, need, records, deepest } = std::mem::take(&mut self.work);
            let written = bytes * rows / seen.max(1);
            cx.shared.areas.note(cx, need, deepest, || (Way::Overflow { records, sorted: 0 }, written));
        }
    }

    /// Adds the rows of a batch to their groups. Rows of new groups that do not fit into memory go to `later`.
    fn absorb(
        &mut self,
        batch: &mut Batch,
        level: u32,
        later: &mut Option<Division>,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        let (keys, args) = match self.evaluate(batch, m, cx) {
            Some(found) => found,
            None => self.evaluate_rows(batch, m, cx)?,
        };
        fn column<'c>(batch: &'c Batch, e: &Expression, made: &'c Option<Column>) -> Result<&'c Column> {
            match (made, e.slot()) {
                (Some(column), _) => Ok(column),
                (None, Some(slot)) => Ok(&batch.columns[slot]),
                (None, None) => Err(unexplained()),
            }
        }
        if self.scalar {
            self.group_of.clear();
            self.group_of.resize(batch.len, 0);
        } else {
            let found = self.keys.iter().zip(&keys).map(|((e, _), made)| column(batch, e, made));
            let found = found.collect::<Result<Vec<_>>>()?;
            self.table.load(&found, batch.len, &batch.arena)?;
            self.number(batch, &found, level, later, m, cx)?;
        }
        let whole = self.scalar || self.taken.len() == batch.len;
        let rows = if whole { Rows::All(batch.len) } else { Rows::Some(&self.taken) };
        let mut states = std::mem::take(&mut self.states);
        let (mut done, mut lists) = (Ok(()), self.lists);
        for (n, (f, state)) in self.functions.iter().zip(&mut states).enumerate() {
            if f.state != n {
                continue;
            }
            done = match (f.kind, &f.arg) {
                (Kind::Row, _) => self.take_rows(f, state, batch, rows, m, cx).map(|grown| lists += grown),
                (_, None) => {
                    state.count(&self.group_of, rows, &Nulls::default());
                    Ok(())
                }
                (_, Some(arg)) => column(batch, arg, &args[n])
                    .and_then(|c| state.take(f, c, &self.group_of, rows, batch, self.scalar, cx)),
            };
            if done.is_err() {
                break;
            }
        }
        (self.states, self.lists) = (states, lists);
        done?;
        let used = self.used();
        m.charge(used.saturating_sub(self.charged), cx)?;
        self.charged = self.charged.max(used);
        Ok(())
    }

    /// Bytes of the groups in memory, with the values that COUNT(DISTINCT) has seen and those of JSON aggregates.
    fn used(&self) -> usize {
        let distinct = self.states.iter().map(|state| match state {
            State::Distinct { values, .. } => values.used(),
            _ => 0,
        });
        self.table.used() + self.groups * self.functions.len() * AGGREGATE_BYTES + distinct.sum::<usize>() + self.lists
    }

    /// Finds the group of each row.
    fn number(
        &mut self,
        batch: &Batch,
        keys: &[&Column],
        level: u32,
        later: &mut Option<Division>,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        self.group_of.clear();
        self.group_of.resize(batch.len, 0);
        self.taken.clear();
        let limit = cx.session.options.spill_bytes;
        let more = self.keys.len() * 8 + 24 + self.functions.len() * AGGREGATE_BYTES;
        let mut full = self.charged + more > limit && level < LEVELS_MAX;
        let charged = self.charged.saturating_sub(self.table.used());
        let (mut key, mut record, mut scratch) = (Vec::new(), Vec::new(), Value::Null);
        let before = self.table.len();
        for row in 0..batch.len {
            match self.table.find(row) {
                Ok(n) => self.group_of[row] = n as u32,
                Err(_) if full => {
                    key.clear();
                    for column in keys {
                        column.push_part(row, &batch.arena, &mut scratch, &mut key)?;
                    }
                    record.clear();
                    batch.restore(row, self.input.regs(), m)?;
                    rows::encode(self.input.regs().iter().map(|&r| m.value(r)), &mut record);
                    later.get_or_insert_with(|| Division::new(level, &m.temporary, cx)).push(&key, &record, cx)?;
                    continue;
                }
                Err(place) => {
                    self.group_of[row] = self.table.add(row, place) as u32;
                    if level < LEVELS_MAX {
                        let added = (self.table.len() - before) * self.functions.len() * AGGREGATE_BYTES;
                        full = self.table.used() + charged + added + more > limit;
                    }
                }
            }
            self.taken.push(row as u32);
        }
        if self.table.len() > before {
            self.grow(self.table.len());
        }
        Ok(())
    }

    /// Makes entries for `groups` groups.
    fn grow(&mut self, groups: usize) {
        self.groups = groups;
        for (f, state) in self.functions.iter().zip(&mut self.states) {
            state.grow(groups, f);
        }
    }

    /// Evaluates keys and arguments that are not columns of the batch; `None` if some row fails.
    #[expect(clippy::type_complexity, reason = "two lists of the same kind")]
    fn evaluate(
        &self,
        batch: &mut Batch,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Option<(Vec<Option<Column>>, Vec<Option<Column>>)> {
        let mut keys = Vec::with_capacity(self.keys.len());
        for (e, _) in &self.keys {
            keys.push(if e.slot().is_some() { None } else { Some(e.column(batch, m, cx)?) });
        }
        let mut args = Vec::with_capacity(self.functions.len());
        for (n, f) in self.functions.iter().enumerate() {
            args.push(match &f.arg {
                Some(e) if e.slot().is_none() && f.state == n => Some(e.column(batch, m, cx)?),
                _ => None,
            });
        }
        Some((keys, args))
    }

    /// As [`Group::evaluate`], row by row.
    ///
    /// # Errors
    /// The error of the first row that fails.
    #[expect(clippy::type_complexity, reason = "two lists of the same kind")]
    fn evaluate_rows(
        &self,
        batch: &mut Batch,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<(Vec<Option<Column>>, Vec<Option<Column>>)> {
        let exprs: Vec<&Expression> =
            self.keys.iter().map(|(e, _)| e).chain(self.functions.iter().filter_map(|f| f.arg.as_ref())).collect();
        let mut values: Vec<Vec<Value>> = exprs.iter().map(|_| Vec::with_capacity(batch.len)).collect();
        for row in 0..batch.len {
            batch.restore(row, self.input.regs(), m)?;
            for (e, values) in exprs.iter().zip(&mut values) {
                let r = e.code().eval(m, cx)?;
                values.push(m.value(r).clone());
            }
        }
        let arena = &mut batch.arena;
        let mut columns = values.into_iter().map(|values| Column::of_values(values, arena));
        let keys = columns.by_ref().take(self.keys.len()).map(Some).collect();
        let args = self.functions.iter().map(|f| f.arg.as_ref().and_then(|_| columns.next())).collect();
        Ok((keys, args))
    }

    /// Adds rows to an aggregate that reads registers, and returns what the values of a JSON aggregate grew by.
    fn take_rows(
        &self,
        f: &Function,
        state: &mut State,
        batch: &Batch,
        rows: Rows<'_>,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<usize> {
        let State::Accs(accs) = state else { return Err(unexplained()) };
        let (mut done, mut grown) = (Ok(()), 0);
        rows.each(|row| {
            if done.is_ok() {
                done = batch.restore(row, self.input.regs(), m);
            }
            if done.is_ok() {
                let acc = &mut accs[self.group_of[row] as usize];
                done = f.code.add_measured(acc, m, cx).map(|bytes| grown += bytes);
            }
        });
        done.map(|()| grown)
    }

    /// Sets the order in which the groups in memory are returned.
    fn arrange(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.at = 0;
        self.order = (0..self.groups as u32).collect();
        if !self.sorts || self.groups > SORTED_MAX || self.work.deepest > 0 {
            return Ok(());
        }
        let mut arena = Vec::new();
        let mut keys = vec![Vec::new(); self.groups];
        let (mut value, mut stored) = (Value::Null, std::mem::take(&mut m.scratch));
        for n in 0..self.keys.len() {
            let column = self.table.column(n, &self.order, &mut arena)?;
            for (row, key) in keys.iter_mut().enumerate() {
                column.push_key(row, &arena, (false, false), &mut value, &mut stored, key)?;
            }
        }
        m.scratch = stored;
        types::sorting::sort_checked(&mut self.order, |a, b| keys[*a as usize].cmp(&keys[*b as usize]), &mut || {
            cx.check_cancel()
        })
    }
}

impl Node for Group {
    fn open(&mut self, m: &mut Machine, _: &mut ExecCtx<'_>) -> Result<()> {
        self.done = false;
        self.clear_groups(m);
        self.waiting.clear();
        Ok(())
    }

    fn regs(&self) -> &[Reg] {
        &self.regs
    }

    fn next_batch(&mut self, out: &mut Batch, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if !self.done {
            self.run(m, cx)?;
        }
        while self.at >= self.order.len() {
            if !self.next_part(m, cx)? {
                return Ok(false);
            }
        }
        let end = (self.at + ROWS_MAX).min(self.order.len());
        let groups = self.order[self.at..end].to_vec();
        self.at = end;
        out.clear();
        out.len = groups.len();
        for n in 0..self.keys.len() {
            let column = self.table.column(n, &groups, &mut out.arena)?;
            out.columns.push(column);
        }
        for f in &self.functions {
            let column = self.states[f.state].finish(f, &groups, &mut out.arena, cx)?;
            out.columns.push(column);
        }
        Ok(true)
    }
}
