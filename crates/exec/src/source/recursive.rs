//! Recursive WITH queries, level by level.
//!
//! The rows of a level are given to the recursive branch through the pump, a WITH query whose rows this row source
//! sets (E34); the rows that the branch returns are the next level. A level goes to temporary space when it does not
//! fit. SEARCH BREADTH FIRST sorts each level. SEARCH DEPTH FIRST sorts each level by parent and keys and numbers its
//! rows, so that the children of a row have adjacent numbers in the order of their keys; when all levels are known, the
//! number of rows below each row gives its place. Rejected: sorting by the path of a row. Paths grow with the depth, so
//! a chain would need space for the square of its length.

use super::RowSource;
use super::kept_rows::KeptRows;
use super::recursive_paths::{Rule, below, first, number, set_number};
use super::sort_keys::encode_part;
use crate::code::Code;
use crate::ctx::ExecCtx;
use crate::eval::assign;
use crate::hash::push_part;
use crate::machine::{Held, Machine, Saved};
use crate::spill::rows as records;
use crate::spill::sorter::Sorter;
use crate::spill::store::Store;
use plan::{Recursion, Reg};
use std::rc::Rc;
use types::{Number, Ora, Result, Value};

/// Bytes of memory for each row of a depth-first search: its parent, the rows below it, and its place.
const NUMBERS_BYTES: usize = 24;
/// Rows between two checks for cancellation.
const CANCEL_ROWS: usize = 4096;

struct Search {
    depth_first: bool,
    keys: Vec<(Reg, bool, bool)>,
    sequence: Reg,
}

struct Mark {
    reg: Reg,
    value: Value,
    otherwise: Value,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Start,
    /// Reading an input: the first one, or the branch over the rows of a level.
    Reading(usize),
    /// Returning a sorted level.
    Level,
    /// Returning all rows, depth first.
    Ordered,
    Done,
}

pub struct Recursive<S> {
    inputs: [(S, Vec<Code>); 2],
    /// The columns, and the state of the parent (of an input row) or of the row itself (of a row of the pump).
    columns: Vec<Reg>,
    state: Reg,
    pump: usize,
    rule: Rule,
    compared: Vec<Reg>,
    search: Option<Search>,
    mark: Option<Mark>,
    phase: Phase,
    /// Rows of the next level that may have children.
    next: KeptRows,
    /// The execution in which `next` was charged.
    execution: u64,
    /// Memory of the level in the pump.
    level: Held,
    /// The level being sorted, or all rows in their order.
    sorter: Option<Sorter>,
    /// Rows numbered so far.
    numbered: u64,
    /// Depth first: the parent of each row by number, and the rows.
    parents: Vec<u64>,
    numbers: Held,
    all: Store,
    key: Vec<u8>,
    record: Vec<u8>,
}

impl<S: RowSource> Recursive<S> {
    pub fn build(r: &Recursion, inputs: Vec<(S, Vec<Code>)>, out: &[Reg]) -> Result<Recursive<S>> {
        let wrong = || Ora::internal("a recursive WITH query without its two inputs");
        let inputs: [(S, Vec<Code>); 2] = inputs.try_into().map_err(|_| wrong())?;
        let columns: Vec<Reg> = out.get(..r.columns).ok_or_else(wrong)?.to_vec();
        let state = *out.get(r.columns).ok_or_else(wrong)?;
        let compared = r.cycle.as_ref().map_or(&r.compared, |cycle| &cycle.columns);
        let reg = |at: &usize| columns.get(*at).copied().ok_or_else(wrong);
        let compared = compared.iter().map(reg).collect::<Result<_>>()?;
        let search = match &r.search {
            Some(search) => Some(Search {
                depth_first: search.depth_first,
                keys: search
                    .keys
                    .iter()
                    .map(|(at, desc, nulls)| Ok((reg(at)?, *desc, *nulls)))
                    .collect::<Result<_>>()?,
                sequence: search.sequence,
            }),
            None => None,
        };
        let mark = r.cycle.as_ref().map(|cycle| Mark {
            reg: cycle.mark,
            value: Value::Text(cycle.value.as_str().into()),
            otherwise: Value::Text(cycle.otherwise.as_str().into()),
        });
        Ok(Recursive {
            inputs,
            columns,
            state,
            pump: r.pump,
            rule: if r.cycle.is_some() { Rule::Mark } else { Rule::Fail },
            compared,
            search,
            mark,
            phase: Phase::Start,
            next: KeptRows::default(),
            execution: 0,
            level: Held::default(),
            sorter: None,
            numbered: 0,
            parents: Vec::new(),
            numbers: Held::default(),
            all: Store::default(),
            key: Vec::new(),
            record: Vec::new(),
        })
    }

    #[inline(never)]
    pub fn open(&mut self, m: &mut Machine) {
        if self.execution == m.execution {
            m.release(self.next.used());
            self.all.clear(m);
        }
        self.execution = m.execution;
        self.next = KeptRows::default();
        self.all = Store::default();
        self.level.release(m);
        self.numbers.release(m);
        self.sorter = None;
        self.numbered = 0;
        self.parents = Vec::new();
        self.phase = Phase::Start;
        self.set_pump(None, m);
    }

    #[inline(never)]
    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        loop {
            match self.phase {
                Phase::Start => {
                    self.inputs[0].0.open(m, cx)?;
                    self.phase = Phase::Reading(0);
                }
                Phase::Reading(at) => {
                    cx.check_cancel()?;
                    if self.read(at, m, cx)? {
                        if self.search.is_none() {
                            return Ok(true);
                        }
                    } else if let Some(sorter) = &mut self.sorter {
                        sorter.finish(cx)?;
                        self.phase = Phase::Level;
                    } else {
                        self.descend(m, cx)?;
                    }
                }
                Phase::Level => {
                    if !self.next_of_level(m, cx)? {
                        self.sorter = None;
                        self.descend(m, cx)?;
                    } else if !self.is_depth_first() {
                        return Ok(true);
                    }
                }
                Phase::Ordered => {
                    let Some(sorter) = &mut self.sorter else { return Ok(false) };
                    let Some(record) = sorter.next(cx)? else {
                        self.sorter = None;
                        self.phase = Phase::Done;
                        return Ok(false);
                    };
                    self.record.clear();
                    self.record.extend_from_slice(record);
                    self.numbered += 1;
                    self.restore(m)?;
                    return Ok(true);
                }
                Phase::Done => return Ok(false),
            }
        }
    }

    fn is_depth_first(&self) -> bool {
        self.search.as_ref().is_some_and(|search| search.depth_first)
    }

    fn set_pump(&self, rows: Option<Rc<crate::machine::CteRows>>, m: &mut Machine) {
        if let Some(Some(cte)) = m.ctes.get_mut(self.pump) {
            cte.rows = rows;
        }
    }

    /// Reads a row of an input and keeps it for the next level. False at the end of the input.
    fn read(&mut self, at: usize, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let (op, codes) = &mut self.inputs[at];
        if !op.next(m, cx)? {
            return Ok(false);
        }
        for (code, reg) in codes.iter().zip(self.columns.iter().chain([&self.state])) {
            assign(code, *reg, m, cx)?;
        }
        self.key.clear();
        for reg in &self.compared {
            push_part(m.value(*reg), &mut self.key);
        }
        let (parent, state) = match m.value(self.state) {
            Value::Raw(parent) => (number(parent), below(self.rule, parent, &self.key)?),
            _ => (0, Some(first(self.rule, &self.key))),
        };
        let has_children = state.is_some();
        m.put(self.state, state.map_or(Value::Null, Value::Raw));
        self.set_mark(has_children, m);
        let Some(search) = &self.search else {
            return if has_children { self.keep(m, cx).map(|()| true) } else { Ok(true) };
        };
        self.key.clear();
        if search.depth_first {
            self.key.extend_from_slice(&parent.to_be_bytes());
        }
        for (reg, desc, nulls_first) in &search.keys {
            encode_part(m, *reg, *desc, *nulls_first, &mut self.key);
        }
        self.record.clear();
        self.record.extend_from_slice(&parent.to_le_bytes());
        let values = self.columns.iter().chain([&self.state]).map(|reg| m.value(*reg));
        records::encode(values, &mut self.record);
        let sorter = self.sorter.get_or_insert_with(|| Sorter::new(&m.temporary));
        sorter.push(&self.key, &self.record, cx.session.options.spill_bytes, cx)?;
        Ok(true)
    }

    fn set_mark(&self, has_children: bool, m: &mut Machine) {
        if let Some(Mark { reg, value, otherwise }) = &self.mark {
            m.regs[*reg as usize].set(if has_children { otherwise } else { value });
        }
    }

    /// Keeps the row in the registers for the next level.
    fn keep(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let row: Saved = self.columns.iter().chain([&self.state]).map(|reg| m.value(*reg).clone()).collect();
        self.next.push(row, m, cx)
    }

    /// Puts the row of `record` into the registers, with its number and its mark, and returns its parent's number.
    fn restore(&mut self, m: &mut Machine) -> Result<u64> {
        let (parent, mut rest) =
            self.record.split_first_chunk::<8>().ok_or_else(|| Ora::internal("temporary row is damaged"))?;
        for reg in self.columns.iter().chain([&self.state]) {
            records::decode(&mut rest, &mut m.regs[*reg as usize])?;
        }
        if let Some(search) = &self.search {
            m.put(search.sequence, Value::Number(Number::from_u64(self.numbered)));
        }
        self.set_mark(!m.value(self.state).is_null(), m);
        Ok(u64::from_le_bytes(*parent))
    }

    /// Numbers the next row of the sorted level and keeps it. False at the end of the level.
    fn next_of_level(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        cx.check_cancel()?;
        let Some(record) = self.sorter.as_mut().map(|sorter| sorter.next(cx)).transpose()?.flatten() else {
            return Ok(false);
        };
        self.record.clear();
        self.record.extend_from_slice(record);
        self.numbered += 1;
        let parent = self.restore(m)?;
        if let Value::Raw(state) = &mut m.regs[self.state as usize] {
            set_number(state, self.numbered);
            self.keep(m, cx)?;
        }
        if self.is_depth_first() {
            self.numbers.charge(NUMBERS_BYTES, m, cx)?;
            self.parents.push(parent);
            // The place of the row needs no path, only whether the row is marked.
            let is_marked = m.value(self.state).is_null();
            m.put(self.state, if is_marked { Value::Null } else { Value::Boolean(true) });
            let row = self.columns.iter().chain([&self.state]).map(|reg| m.value(*reg).clone()).collect();
            self.all.push_values(row, m, cx)?;
        }
        Ok(true)
    }

    /// Goes to the next level, or to the end.
    fn descend(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let next = std::mem::take(&mut self.next);
        self.set_pump(None, m);
        self.level.release(m);
        self.level.hold(next.used(), m);
        if next.len() == 0 {
            self.level.release(m);
            self.phase = if self.is_depth_first() { Phase::Ordered } else { Phase::Done };
            return if self.is_depth_first() { self.arrange(m, cx) } else { Ok(()) };
        }
        let rows = Rc::new(next.close(cx)?);
        self.set_pump(Some(rows), m);
        self.inputs[1].0.open(m, cx)?;
        self.phase = Phase::Reading(1);
        Ok(())
    }

    /// Sorts all rows depth first. The rows below a row follow it, so a row's place is that of its parent, the rows of
    /// its elder siblings, and one.
    fn arrange(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let parents = std::mem::take(&mut self.parents);
        let mut below = vec![1u64; parents.len() + 1];
        for (at, parent) in parents.iter().enumerate().rev() {
            if at % CANCEL_ROWS == 0 {
                cx.check_cancel()?;
            }
            below[*parent as usize] += below[at + 1];
        }
        let mut free = vec![0u64; parents.len() + 1];
        let mut sorter = Sorter::new(&m.temporary);
        let mut row = Vec::new();
        self.all.finish(cx)?;
        for (at, parent) in parents.iter().enumerate() {
            cx.check_cancel()?;
            if !self.all.next_values(&mut row, cx)? {
                return Err(Ora::internal("fewer rows than numbers in a recursive WITH query"));
            }
            let place = free[*parent as usize];
            free[*parent as usize] += below[at + 1];
            free[at + 1] = place + 1;
            self.record.clear();
            self.record.extend_from_slice(&parent.to_le_bytes());
            records::encode(row.iter(), &mut self.record);
            sorter.push(&place.to_be_bytes(), &self.record, cx.session.options.spill_bytes, cx)?;
        }
        self.all.clear(m);
        self.numbers.release(m);
        sorter.finish(cx)?;
        self.numbered = 0;
        self.sorter = Some(sorter);
        Ok(())
    }
}
