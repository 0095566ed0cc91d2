//! The stack of a machine: frames, slots, and access to operands.

use super::fault::{Fault, Run};
use crate::code::Compiled;
use crate::datum::{Datum, Rec};
use crate::op::*;
use std::rc::Rc;
use types::{Number, Ora, Value};

pub(super) struct Frame {
    pub(super) unit: Rc<Compiled>,
    pub(super) proc: Rc<Proc>,
    pub(super) pc: usize,
    pub(super) base: usize,
    pub(super) counters: usize,
    /// The frame of the enclosing subprogram.
    pub(super) link: usize,
    /// The number of exceptions being handled at its call.
    pub(super) handling: usize,
    /// Its owner's names and privileges are in force because of it.
    pub(super) entered: bool,
    /// The key for caching the result.
    pub(super) result_key: Option<Vec<u8>>,
    /// The published number of the subprogram before it, if a new one was published.
    pub(super) before: Option<[u64; 2]>,
    /// The number that the subprogram is published by; 0 without one.
    pub(super) told_as: u64,
    /// Its autonomous transaction has begun and not ended.
    pub(super) autonomous: bool,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Counter {
    pub(super) at: i64,
    pub(super) end: i64,
    pub(super) step: i64,
}

/// The state of one FORALL.
#[derive(Default)]
pub(super) struct ForAll {
    pub(super) active: bool,
    /// The number of frames at its start.
    pub(super) frames: usize,
    pub(super) counts: Vec<u64>,
    /// The first subscript of the collection, when subscripts are consecutive.
    pub(super) from: i64,
    /// The subscript of each iteration of INDICES OF and VALUES OF.
    pub(super) subscripts: Vec<i64>,
    pub(super) errors: Vec<(i64, u32)>,
    pub(super) waiting: Option<Waiting>,
    /// The number of failed attempts to gather.
    pub(super) in_vain: u32,
}

impl ForAll {
    /// Rows of the iteration at a subscript of the collection; of the last one if there are several.
    pub(super) fn count_at(&self, subscript: i64) -> Option<u64> {
        let iteration = if self.subscripts.is_empty() {
            usize::try_from(subscript - self.from).ok()?
        } else {
            self.subscripts.iter().rposition(|i| *i == subscript)?
        };
        self.counts.get(iteration).copied()
    }
}

/// Iterations whose statement has not been executed yet.
pub(super) struct Waiting {
    pub(super) unit: Rc<Compiled>,
    pub(super) sql: u32,
    pub(super) save: bool,
    /// The number of the first, from 0.
    pub(super) first: usize,
    /// The batch should be executed now.
    pub(super) enough: bool,
}

/// A stack of frames.
#[derive(Default)]
pub struct Machine {
    pub(super) stack: Vec<Datum>,
    pub(super) counters: Vec<Counter>,
    pub(super) frames: Vec<Frame>,
    pub(super) handling: Vec<Fault>,
    /// SQL%FOUND and SQL%ROWCOUNT.
    pub(super) sql_found: Option<bool>,
    pub(super) sql_rows: u64,
    pub(super) forall: ForAll,
    pub(super) args: Vec<Value>,
    pub(super) row: Vec<Value>,
    /// A buffer for texts under construction.
    pub(super) text: String,
    pub(crate) binds: Vec<Datum>,
    pub(crate) backtrace: String,
}

static NULL: Value = Value::Null;

/// A record for changes: usually not shared, otherwise a copy.
#[inline]
pub(super) fn owned(rec: &mut Rc<Rec>) -> &mut Rec {
    if Rc::get_mut(rec).is_none() {
        copy_of(rec);
    }
    Rc::get_mut(rec).expect("nobody else has it")
}

#[cold]
fn copy_of(rec: &mut Rc<Rec>) {
    *rec = Rc::new(Rec::clone(rec));
}

/// The value of an operand.
#[inline(always)]
pub(super) fn val<'a>(stack: &'a [Datum], frames: &[Frame], unit: &'a Compiled, base: usize, o: Opd) -> &'a Value {
    match o.place() {
        Place::Local(slot) => match &stack[base + slot as usize] {
            Datum::Val(v) => v,
            _ => &NULL,
        },
        Place::Const(i) => &unit.pool.consts[i as usize],
        Place::Field(slot, field) => match &stack[base + slot as usize] {
            Datum::Rec(r) => &r.scalars[field as usize],
            _ => &NULL,
        },
        Place::Up(levels, slot) => match &stack[up_base(frames, levels) + slot as usize] {
            Datum::Val(v) => v,
            _ => &NULL,
        },
    }
}

pub(super) fn up_base(frames: &[Frame], levels: u32) -> usize {
    let mut at = frames.len() - 1;
    for _ in 0..levels {
        at = frames[at].link;
    }
    frames[at].base
}

impl Machine {
    /// Resets SQL% from the previous block.
    pub(crate) fn forget_implicit(&mut self) {
        (self.sql_found, self.sql_rows) = (None, 0);
    }

    pub(super) fn put(&mut self, base: usize, d: Opd, v: Datum) {
        match d.place() {
            Place::Local(slot) => self.stack[base + slot as usize] = v,
            Place::Field(slot, field) => {
                if let (Datum::Rec(r), Datum::Val(v)) = (&mut self.stack[base + slot as usize], v) {
                    owned(r).scalars[field as usize] = v;
                }
            }
            Place::Up(levels, slot) => {
                let at = up_base(&self.frames, levels) + slot as usize;
                self.stack[at] = v;
            }
            Place::Const(_) => {}
        }
    }

    #[inline(always)]
    pub(super) fn put_value(&mut self, base: usize, d: Opd, v: Value) {
        if let Place::Local(slot) = d.place() {
            self.stack[base + slot as usize] = Datum::Val(v);
        } else {
            self.put(base, d, Datum::Val(v));
        }
    }

    /// Like [`Machine::put_value`]; overwrites an existing number in place.
    #[inline(always)]
    pub(super) fn put_number(&mut self, base: usize, d: Opd, n: Number) {
        if let Place::Local(slot) = d.place()
            && let Datum::Val(Value::Number(there)) = &mut self.stack[base + slot as usize]
        {
            *there = n;
        } else {
            self.put_value(base, d, Value::Number(n));
        }
    }

    /// Whether a slot holds an unshared record with the fields of `template`.
    pub(super) fn has_free_row(&self, base: usize, d: Opd, template: &Datum) -> bool {
        let (Place::Local(slot), Datum::Rec(t)) = (d.place(), template) else { return false };
        match &self.stack[base + slot as usize] {
            Datum::Rec(r) => {
                Rc::strong_count(r) == 1
                    && r.scalars.len() == t.scalars.len()
                    && r.nested.is_empty()
                    && t.nested.is_empty()
            }
            _ => false,
        }
    }

    /// The content of an operand of any kind.
    pub(super) fn datum(&self, unit: &Compiled, base: usize, o: Opd) -> Datum {
        match o.place() {
            Place::Local(slot) => self.stack[base + slot as usize].clone(),
            Place::Up(levels, slot) => self.stack[up_base(&self.frames, levels) + slot as usize].clone(),
            _ => Datum::Val(val(&self.stack, &self.frames, unit, base, o).clone()),
        }
    }

    pub(super) fn is_null(&self, unit: &Compiled, base: usize, o: Opd) -> bool {
        let d = match o.place() {
            Place::Local(slot) => &self.stack[base + slot as usize],
            Place::Up(levels, slot) => &self.stack[up_base(&self.frames, levels) + slot as usize],
            _ => return val(&self.stack, &self.frames, unit, base, o).is_null(),
        };
        match d {
            Datum::Val(v) => v.is_null(),
            Datum::Coll(c) => c.is_none(),
            Datum::Cur(c) => c.is_none(),
            Datum::Rec(_) => false,
        }
    }

    /// Whether the statement is that of a FORALL, not of a subprogram called in it.
    #[inline]
    pub(super) fn is_in_forall(&self) -> bool {
        self.forall.active && self.frames.len() == self.forall.frames
    }

    /// The scalar variable or field of an operand.
    pub(super) fn place_of(&mut self, base: usize, o: Opd) -> Run<&mut Value> {
        let slot = match o.place() {
            Place::Local(slot) => base + slot as usize,
            Place::Up(levels, slot) => up_base(&self.frames, levels) + slot as usize,
            Place::Field(slot, field) => match &mut self.stack[base + slot as usize] {
                Datum::Rec(r) => return Ok(&mut owned(r).scalars[field as usize]),
                _ => return Err(Ora::internal("no record").into()),
            },
            Place::Const(_) => return Err(Ora::internal("a constant is changed").into()),
        };
        match &mut self.stack[slot] {
            Datum::Val(v) => Ok(v),
            _ => Err(Ora::internal("no scalar").into()),
        }
    }

    /// The record in a slot, to be filled with a row.
    #[inline]
    pub(super) fn record(&mut self, base: usize, row: Opd) -> Option<&mut Rec> {
        let Place::Local(slot) = row.place() else { return None };
        match &mut self.stack[base + slot as usize] {
            Datum::Rec(r) => Some(owned(r)),
            _ => None,
        }
    }

    /// Lines of DBMS_UTILITY.FORMAT_CALL_STACK.
    pub(crate) fn call_stack(&self) -> Vec<(u32, String)> {
        self.frames
            .iter()
            .rev()
            .map(|f| {
                let line = f.proc.lines.get(f.pc.saturating_sub(1)).copied().unwrap_or(0);
                let name = f.unit.qualified();
                (line, if name.is_empty() { "anonymous block".to_string() } else { name })
            })
            .collect()
    }

    /// Owners and names of the units on the call stack; those of an anonymous block are empty.
    pub(crate) fn units_on_stack(&self) -> Vec<(String, String)> {
        self.frames.iter().map(|f| (f.unit.owner.clone(), f.unit.name.clone())).collect()
    }

    /// The error being handled.
    pub(crate) fn current_error(&self) -> Option<&Ora> {
        self.handling.last().map(|f| &f.ora)
    }
}
