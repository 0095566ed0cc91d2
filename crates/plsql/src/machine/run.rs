//! The loop over instructions.

use super::cursor::attribute;
use super::fault::{Fault, Run};
use super::frames::{Counter, ForAll, Machine, val};
use super::multiset::{is_a_set, is_submultiset, multiset};
use super::scalar;
use super::values::{bound, like, same_elements, text};
use crate::code::Compiled;
use crate::datum::{Coll, Datum};
use crate::op::*;
use crate::state::Plsql;
use crate::ty::collection_of;
use crate::world::World;
use crate::{packages, resultkey};
use std::rc::Rc;
use std::sync::Arc;
use types::{Composite, DataType, Number, Ora, TypeId, Value};

/// Bytes of the longest text that is not a CLOB.
const TEXT_MAX: usize = 32_767;

enum Flow {
    /// Another frame is on top.
    Frame,
    Done,
    /// PIPE ROW of this row.
    Piped(Datum),
}

/// The end of a run.
pub(super) enum End {
    Returned,
    /// PIPE ROW of this row: the frames wait for the next run.
    Piped(Datum),
}

/// PIPE ROW of a function that is not run for its rows.
pub(super) fn not_piped(end: End) -> Run<()> {
    match end {
        End::Returned => Ok(()),
        End::Piped(_) => Err(Ora::pls(653, &[]).into()),
    }
}

impl Machine {
    /// Calls a subprogram with arguments and returns its result.
    pub(crate) fn call<W: World>(
        &mut self,
        s: &Plsql<W::Cursor>,
        w: &mut W,
        unit: Rc<Compiled>,
        proc: u32,
        args: Vec<Datum>,
    ) -> Run<(Datum, Vec<Datum>)> {
        let n = args.len();
        let window = self.stack.len();
        self.stack.resize(window + n + 1, Datum::default());
        for (i, a) in args.into_iter().enumerate() {
            self.stack[window + 1 + i] = a;
        }
        let floor = self.frames.len();
        let result = match self.push(w, unit, proc, window, 0) {
            Ok(()) => self.run(s, w, floor).and_then(not_piped),
            Err(e) => Err(e),
        };
        let out = result.map(|()| {
            let result = std::mem::take(&mut self.stack[window]);
            let args = (0..n).map(|i| std::mem::take(&mut self.stack[window + 1 + i])).collect();
            (result, args)
        });
        self.stack.truncate(window);
        out
    }

    /// Calls a procedure with arguments, which get the values of its parameters at the end. On a failure they are lost.
    pub(crate) fn call_with<W: World>(
        &mut self,
        s: &Plsql<W::Cursor>,
        w: &mut W,
        unit: Rc<Compiled>,
        proc: u32,
        args: &mut [Datum],
    ) -> Run<()> {
        let window = self.stack.len();
        self.stack.resize(window + args.len() + 1, Datum::default());
        for (place, arg) in self.stack[window + 1..].iter_mut().zip(args.iter_mut()) {
            *place = std::mem::take(arg);
        }
        let floor = self.frames.len();
        let result = match self.push(w, unit, proc, window, 0) {
            Ok(()) => self.run(s, w, floor).and_then(not_piped),
            Err(e) => Err(e),
        };
        if result.is_ok() {
            for (place, arg) in self.stack[window + 1..].iter_mut().zip(args.iter_mut()) {
                *arg = std::mem::take(place);
            }
        }
        self.stack.truncate(window);
        result
    }

    /// Runs until the frames above `floor` are gone, or to a PIPE ROW.
    pub(super) fn run<W: World>(&mut self, s: &Plsql<W::Cursor>, w: &mut W, floor: usize) -> Run<End> {
        loop {
            match self.step(s, w, floor) {
                Ok(Flow::Frame) => {}
                Ok(Flow::Done) => return Ok(End::Returned),
                Ok(Flow::Piped(row)) => return Ok(End::Piped(row)),
                Err(fault) => {
                    // A waiting iteration precedes the failed one, and so does its error.
                    let fault = self.carry_out(w).err().unwrap_or(fault);
                    s.drop_compounds();
                    self.unwind(w, fault, floor)?
                }
            }
        }
    }

    /// Runs the top frame until it calls, returns or faults.
    fn step<W: World>(&mut self, s: &Plsql<W::Cursor>, w: &mut W, floor: usize) -> Run<Flow> {
        let top = self.frames.last().expect("a frame to run");
        let unit = top.unit.clone();
        let proc = top.proc.clone();
        let base = top.base;
        let counters = top.counters;
        let mut pc = top.pc;
        let result = self.instructions(s, w, floor, &unit, &proc, base, counters, &mut pc);
        if let Err(_) | Ok(None) = &result
            && let Some(f) = self.frames.last_mut()
        {
            f.pc = pc;
        }
        match result? {
            None => unreachable!("instructions end in a call or return"),
            Some(flow) => Ok(flow),
        }
    }

    #[allow(clippy::too_many_arguments, clippy::too_many_lines)]
    fn instructions<W: World>(
        &mut self,
        s: &Plsql<W::Cursor>,
        w: &mut W,
        floor: usize,
        unit: &Rc<Compiled>,
        proc: &Rc<Proc>,
        base: usize,
        counters: usize,
        pc: &mut usize,
    ) -> Run<Option<Flow>> {
        macro_rules! v {
            ($o:expr) => {
                val(&self.stack, &self.frames, unit, base, $o)
            };
        }
        let ops = proc.ops.as_slice();
        loop {
            // The instruction is matched by reference: an arm copies only the fields it needs.
            let op = &ops[*pc];
            *pc += 1;
            match *op {
                Op::Move { d, s } => {
                    if let Value::Number(n) = v!(s) {
                        let n = *n;
                        self.put_number(base, d, n);
                    } else if let (Place::Local(_), Place::Const(_) | Place::Field(..)) = (d.place(), s.place()) {
                        let value = v!(s).clone();
                        self.put_value(base, d, value);
                    } else {
                        let value = self.datum(unit, base, s);
                        self.put(base, d, value);
                    }
                }
                Op::Init { d, template } => {
                    let t = unit.pool.templates[template as usize].clone();
                    self.put(base, d, t);
                }
                Op::InitRow { d, template } => {
                    let t = &unit.pool.templates[template as usize];
                    if !self.has_free_row(base, d, t) {
                        let t = t.clone();
                        self.put(base, d, t);
                    }
                }
                Op::Jump { to } => *pc = to as usize,
                Op::Loop { to } => {
                    w.check_cancel()?;
                    *pc = to as usize;
                }
                Op::JumpIfTrue { c, to } => {
                    if matches!(v!(c), Value::Boolean(true)) {
                        *pc = to as usize;
                    }
                }
                Op::JumpUnlessTrue { c, to } => {
                    if !matches!(v!(c), Value::Boolean(true)) {
                        *pc = to as usize;
                    }
                }
                Op::JumpIfFalse { c, to } => {
                    if matches!(v!(c), Value::Boolean(false)) {
                        *pc = to as usize;
                    }
                }
                Op::JumpIfNull { c, to } => {
                    if v!(c).is_null() {
                        *pc = to as usize;
                    }
                }
                Op::CmpJump { op, a, b, to } => {
                    if scalar::compare(op, v!(a), v!(b), w.nls())? != Some(true) {
                        *pc = to as usize;
                    }
                }
                Op::Cmp { op, d, a, b } => {
                    let r = match self.collections(unit, base, a, b) {
                        Some(equal) => Some(equal == (op == Cmp::Eq)),
                        None => scalar::compare(op, v!(a), v!(b), w.nls())?,
                    };
                    self.put_value(base, d, scalar::logical(r));
                }
                Op::CmpPadded { op, d, a, b } => {
                    let r = scalar::compare_padded(op, v!(a), v!(b), w.nls())?;
                    self.put_value(base, d, scalar::logical(r));
                }
                Op::Arith { op, d, a, b } => {
                    let (x, y) = (v!(a), v!(b));
                    if let Some(n) = scalar::arith_words(op, x, y) {
                        self.put_number(base, d, n);
                    } else {
                        let r = scalar::arith_numbers(op, x, y)?;
                        self.put_value(base, d, r);
                    }
                }
                Op::ArithInt { op, d, a, b } => {
                    let r = scalar::arith_integers(op, v!(a), v!(b))?;
                    self.put_value(base, d, r);
                }
                Op::ArithSimple { op, d, a, b } => {
                    let r = scalar::arith_simple(op, v!(a), v!(b))?;
                    self.put_value(base, d, r);
                }
                Op::ArithAny { op, d, a, b } => {
                    let r = scalar::arith_any(op, v!(a), v!(b), w.nls())?;
                    self.put_value(base, d, r);
                }
                Op::Neg { d, s } => {
                    let r = scalar::negate(v!(s), w.nls())?;
                    self.put_value(base, d, r);
                }
                Op::Not { d, s } => {
                    let r = scalar::boolean(v!(s)).map(|b| !b);
                    self.put_value(base, d, scalar::logical(r));
                }
                Op::And { d, a, b } => {
                    let r = scalar::and(scalar::boolean(v!(a)), scalar::boolean(v!(b)));
                    self.put_value(base, d, scalar::logical(r));
                }
                Op::Or { d, a, b } => {
                    let r = scalar::or(scalar::boolean(v!(a)), scalar::boolean(v!(b)));
                    self.put_value(base, d, scalar::logical(r));
                }
                Op::IsNull { d, s, negated } => {
                    let null = self.is_null(unit, base, s);
                    self.put_value(base, d, Value::Boolean(null != negated));
                }
                Op::Concat { d, a, b } => self.concat(w, unit, base, (d, a, b), TEXT_MAX)?,
                Op::ConcatLob { d, a, b } => self.concat(w, unit, base, (d, a, b), functions::LOB_MAX)?,
                Op::Like { d, a, pattern, escape } => {
                    let r = like(v!(a), v!(pattern), v!(escape), w.nls())?;
                    self.put_value(base, d, scalar::logical(r));
                }
                Op::Coerce { d, s, ty } => {
                    if self.coerce_in_place(unit, base, d, s, ty)? {
                        continue;
                    }
                    let r = scalar::coerce(v!(s), &unit.pool.targets[ty as usize], w.nls())?;
                    self.put_value(base, d, r);
                }
                Op::ForInit { counter, lo, hi, reverse } => {
                    let lo = bound(v!(lo), w)?;
                    let hi = bound(v!(hi), w)?;
                    let c = &mut self.counters[counters + counter as usize];
                    *c = if reverse {
                        Counter { at: hi, end: lo, step: -1 }
                    } else {
                        Counter { at: lo, end: hi, step: 1 }
                    };
                }
                Op::ForNext { counter, i, out } => {
                    let c = self.counters[counters + counter as usize];
                    if (c.end - c.at) * c.step < 0 {
                        *pc = out as usize;
                    } else {
                        self.put_number(base, i, Number::from_i64(c.at));
                    }
                }
                Op::ForLoop { counter, i, body } => {
                    w.check_cancel()?;
                    let c = &mut self.counters[counters + counter as usize];
                    if c.at != c.end {
                        c.at += c.step;
                        let at = c.at;
                        self.put_number(base, i, Number::from_i64(at));
                        *pc = body as usize;
                    }
                }
                Op::GetPath { d, path } => {
                    if self.get_element(unit, base, d, path) {
                        continue;
                    }
                    let r = self.get_path(s, w, unit, base, path)?;
                    self.put(base, d, r);
                }
                Op::SetPath { path, s: from } => {
                    if self.set_element(unit, base, path, from) {
                        continue;
                    }
                    let value = self.datum(unit, base, from);
                    self.set_path(s, w, unit, base, path, value)?;
                }
                Op::Collection { method, d, path, a, b } => {
                    let (a, b) = (v!(a).clone(), v!(b).clone());
                    let r = self.method(s, w, unit, base, method, path, a, b)?;
                    self.put(base, d, Datum::Val(r));
                }
                Op::Construct { d, base: first, n, coll } => {
                    let mut c = Coll::empty(&unit.pool.colls[coll as usize]);
                    for i in 0..n as usize {
                        let element = self.stack[base + first as usize + i].clone();
                        c.push(element).map_err(Ora::new)?;
                    }
                    self.put(base, d, Datum::Coll(Some(Rc::new(c))));
                }
                Op::ConstructObject { d, base: first, n, ty } => {
                    let part = |i: usize| match &self.stack[base + first as usize + i] {
                        Datum::Val(v) => v.content().clone(),
                        _ => Value::Null,
                    };
                    let parts = (0..n as usize).map(part).collect();
                    let object = Composite { ty: TypeId(ty), parts };
                    self.put_value(base, d, Value::Composite(Arc::new(object)));
                }
                Op::IsEmpty { d, s } => {
                    let r = match self.datum(unit, base, s) {
                        Datum::Coll(Some(c)) => Some(c.count() == 0),
                        _ => None,
                    };
                    self.put_value(base, d, scalar::logical(r));
                }
                Op::CmpColl { d, a, b, equal } => {
                    let same = match (self.datum(unit, base, a), self.datum(unit, base, b)) {
                        (Datum::Coll(Some(a)), Datum::Coll(Some(b))) => same_elements(&a, &b, w.nls())?,
                        _ => None,
                    };
                    self.put_value(base, d, scalar::logical(same.map(|same| same == equal)));
                }
                Op::MemberOf { d, a, coll } => {
                    let r = self.member(w, unit, base, a, coll)?;
                    self.put_value(base, d, scalar::logical(r));
                }
                Op::Multiset { op, distinct, d, a, b } => {
                    let made = match (self.datum(unit, base, a), self.datum(unit, base, b)) {
                        (Datum::Coll(Some(a)), Datum::Coll(Some(b))) => Some(Rc::new(multiset(&a, &b, op, distinct)?)),
                        _ => None,
                    };
                    self.put(base, d, Datum::Coll(made));
                }
                Op::IsSubmultiset { d, a, b } => {
                    let is = match (self.datum(unit, base, a), self.datum(unit, base, b)) {
                        (Datum::Coll(Some(a)), Datum::Coll(Some(b))) => Some(is_submultiset(&a, &b)?),
                        _ => None,
                    };
                    self.put_value(base, d, scalar::logical(is));
                }
                Op::IsASet { d, s } => {
                    let is = match self.datum(unit, base, s) {
                        Datum::Coll(Some(c)) => Some(is_a_set(&c)?),
                        _ => None,
                    };
                    self.put_value(base, d, scalar::logical(is));
                }
                Op::Cardinality { d, s } => {
                    let count = match self.datum(unit, base, s) {
                        Datum::Coll(Some(c)) => Value::Number(Number::from_u64(c.count() as u64)),
                        _ => Value::Null,
                    };
                    self.put_value(base, d, count);
                }
                Op::Call { proc: callee, base: window, up } => {
                    let mut link = self.frames.len() - 1;
                    for _ in 0..up {
                        link = self.frames[link].link;
                    }
                    self.frames.last_mut().expect("running").pc = *pc;
                    self.push(w, unit.clone(), callee, base + window as usize, link)?;
                    return Ok(Some(Flow::Frame));
                }
                Op::CallExternal { external, base: window } => {
                    let (target, callee) = s.link(w, unit, external)?;
                    self.frames.last_mut().expect("running").pc = *pc;
                    self.push(w, target, callee, base + window as usize, 0)?;
                    return Ok(Some(Flow::Frame));
                }
                Op::CallMethod { external, base: window, of, is_fixed } => {
                    let ty = match &self.stack[base + window as usize + 1] {
                        Datum::Val(Value::Composite(object)) => object.ty,
                        _ => return Err(Ora::new(30625).into()),
                    };
                    let (target, callee) = match is_fixed || ty == of {
                        true => s.link(w, unit, external)?,
                        false => s.dispatch(w, unit, external, (of, ty))?,
                    };
                    self.frames.last_mut().expect("running").pc = *pc;
                    self.push(w, target, callee, base + window as usize, 0)?;
                    return Ok(Some(Flow::Frame));
                }
                Op::Treat { d, s: from, ty } => {
                    let is = match v!(from) {
                        Value::Composite(object) if object.ty == ty => true,
                        Value::Composite(object) => {
                            let of = object.ty;
                            s.is_under(w, of, ty)?
                        }
                        _ => false,
                    };
                    let value = if is { v!(from).clone() } else { Value::Null };
                    self.put_value(base, d, value);
                }
                Op::ObjectOf { d, s: from, ty } => {
                    let is = match v!(from) {
                        Value::Null => true,
                        Value::Composite(object) => {
                            let of = object.ty;
                            of == ty || s.is_under(w, of, ty)?
                        }
                        _ => false,
                    };
                    if !is {
                        return Err(v!(from).mismatch(&DataType::Named(ty)).into());
                    }
                    let value = v!(from).clone();
                    self.put_value(base, d, value);
                }
                Op::IsOf { d, s: from, ty, only } => {
                    let is = match v!(from) {
                        Value::Composite(object) if object.ty == ty || only => Some(object.ty == ty),
                        Value::Composite(object) => {
                            let of = object.ty;
                            Some(s.is_under(w, of, ty)?)
                        }
                        _ => None,
                    };
                    self.put_value(base, d, scalar::logical(is));
                }
                Op::CallNative { native, base: window, n } => {
                    let at = base + window as usize;
                    if let Some(n) = packages::random_number(native, s, &self.stack[at + 1..at + 1 + n as usize]) {
                        self.put_number(base, Opd::local(window), n);
                        continue;
                    }
                    let mut args = s.take_args();
                    args.extend(self.stack[at + 1..at + 1 + n as usize].iter_mut().map(std::mem::take));
                    let result = packages::run(native, s, w, self, &mut args);
                    for (i, a) in args.drain(..).enumerate() {
                        self.stack[at + 1 + i] = a;
                    }
                    s.give_args(args);
                    self.stack[at] = result?;
                }
                Op::CallLent { native, base: window, n, lent } => {
                    let at = base + window as usize;
                    let mut args = s.take_args();
                    args.extend(self.stack[at + 1..at + 1 + n as usize].iter_mut().map(std::mem::take));
                    // The variable is NULL meanwhile, so that the LOB has no other owner and is changed in place
                    // (invariant 17).
                    args[0] = Datum::Val(std::mem::take(self.place_of(base, lent)?));
                    let result = packages::run(native, s, w, self, &mut args);
                    let mut changed = args.drain(..);
                    if let Some(Datum::Val(value)) = changed.next() {
                        *self.place_of(base, lent)? = value;
                    }
                    for (i, a) in changed.enumerate() {
                        self.stack[at + 2 + i] = a;
                    }
                    s.give_args(args);
                    self.stack[at] = result?;
                }
                Op::CallFunction { function, base: window, n } => {
                    self.call_function(w, unit, function, base + window as usize, n as usize)?;
                }
                Op::CallQuick { quick, function, base: window } => {
                    if !self.quick(quick, base, window) {
                        let n = quick.args() as usize;
                        self.call_function(w, unit, function, base + window as usize, n)?;
                    }
                }
                Op::Special { what, d, a } => {
                    let r = self.special(w, unit, base, what, a)?;
                    self.put_value(base, d, r);
                }
                Op::Return => {
                    if proc.autonomous {
                        self.end_autonomous(w)?;
                    }
                    let f = self.pop(w);
                    if let (Some(key), Some(def)) = (&f.result_key, &f.proc.result_cache)
                        && let Datum::Val(v) = &self.stack[base]
                    {
                        let mut bytes = Vec::new();
                        resultkey::write_value(v.content(), &mut bytes);
                        w.function_result_put(&def.name, key, &bytes)?;
                    }
                    return Ok(Some(if self.frames.len() > floor { Flow::Frame } else { Flow::Done }));
                }
                Op::PipeRow { s } => {
                    let row = self.datum(unit, base, s);
                    self.end_autonomous(w)?;
                    self.frames.last_mut().expect("running").pc = *pc;
                    return Ok(Some(Flow::Piped(row)));
                }
                Op::NoReturn => return Err(Ora::new(6503).into()),
                Op::Raise { exception } => {
                    let def = &unit.pool.exceptions[exception as usize];
                    return Err(match def.code {
                        Some(code) => Fault { ora: Ora::new(code), identity: 0 },
                        None => Fault { ora: Ora::new(6510), identity: def.identity },
                    });
                }
                Op::Reraise => {
                    let Some(f) = self.handling.last() else { return Err(Ora::new(6510).into()) };
                    return Err(Fault { ora: f.ora.clone(), identity: f.identity });
                }
                // A method without a body.
                Op::RaiseCode { code: 4067 } => {
                    let name = format!("\"{}\"", unit.qualified());
                    let missing = Ora::with(6508, &[&name]);
                    return Err(Ora::with(4067, &[&format_args!("type body {name}")]).because(missing).into());
                }
                Op::RaiseCode { code } => return Err(Ora::new(code).into()),
                Op::EndHandlers { n } => {
                    let left = self.handling.len() - n as usize;
                    self.handling.truncate(left);
                }
                Op::Execute { sql, row } => self.execute(s, w, unit, base, sql, row)?,
                Op::SelectInto { sql, row } => self.select_into(s, w, unit, base, sql, row)?,
                Op::BulkInto { sql, bulk } => self.bulk_into(s, w, unit, base, sql, bulk)?,
                Op::OpenLoop { sql, cursor } => self.open_loop(s, w, unit, base, sql, cursor)?,
                Op::FetchLoop { cursor, row, out } => {
                    if !self.fetch_loop(w, base, cursor, row)? {
                        *pc = out as usize;
                    }
                }
                Op::Open { sql, cursor, variable } => self.open(s, w, unit, base, sql, cursor, variable)?,
                Op::OpenDynamic { dynamic, cursor } => self.open_dynamic(s, w, unit, base, dynamic, cursor)?,
                Op::Fetch { cursor, row, width, none } => {
                    if !self.fetch(w, unit, base, cursor, row, width)? {
                        *pc = none as usize;
                    }
                }
                Op::FetchBulk { cursor, bulk, limit } => self.fetch_bulk(s, w, unit, base, cursor, bulk, limit)?,
                Op::Close { cursor } => {
                    let c = self.datum(unit, base, cursor);
                    self.close(w, &c, true)?;
                }
                Op::CloseLoop { cursor } => {
                    let c = self.datum(unit, base, cursor);
                    self.close(w, &c, false)?;
                }
                Op::Release { cursor } => {
                    if let Place::Local(slot) = cursor.place() {
                        self.release(w, base + slot as usize);
                    }
                }
                Op::CursorAttribute { what, d, cursor } => {
                    let c = self.datum(unit, base, cursor);
                    let r = attribute::<W::Cursor>(&c, what)?;
                    self.put_value(base, d, r);
                }
                Op::SqlAttribute { what, d } => {
                    let r = match what {
                        Attribute::Found => scalar::logical(self.sql_found),
                        Attribute::NotFound => scalar::logical(self.sql_found.map(|b| !b)),
                        Attribute::IsOpen => Value::Boolean(false),
                        Attribute::CurrentRow => return Err(Ora::new(1410).into()),
                        Attribute::RowCount => match self.sql_found {
                            None => Value::Null,
                            Some(_) => Value::Number(Number::from_u64(self.sql_rows)),
                        },
                    };
                    self.put_value(base, d, r);
                }
                Op::BulkRowCount { d, index } => {
                    let i = bound(v!(index), w)?;
                    let Some(n) = self.forall.count_at(i) else {
                        return Err(Ora::new(6533).into());
                    };
                    let r = Value::Number(Number::from_u64(n));
                    self.put_value(base, d, r);
                }
                Op::BulkErrors { d } => {
                    let n = self.forall.errors.len() as u64;
                    self.put_value(base, d, Value::Number(Number::from_u64(n)));
                }
                Op::BulkError { d, index, code } => {
                    let i = bound(v!(index), w)?;
                    let error = usize::try_from(i - 1).ok().and_then(|i| self.forall.errors.get(i));
                    let Some((iteration, error)) = error else { return Err(Ora::new(6533).into()) };
                    let r = if code { i64::from(*error) } else { *iteration };
                    self.put_value(base, d, Value::Number(Number::from_i64(r)));
                }
                Op::ExecuteImmediate { dynamic, row } => self.execute_immediate(s, w, unit, base, dynamic, row)?,
                Op::ForAllBegin => {
                    self.forall = ForAll { active: true, frames: self.frames.len(), ..ForAll::default() }
                }
                Op::ForAllFrom { lo } => self.forall.from = bound(v!(lo), w).unwrap_or(1),
                Op::ForAllAt { i } => {
                    let i = bound(v!(i), w).unwrap_or(i64::MIN);
                    self.forall.subscripts.push(i);
                }
                Op::ExecuteLater { sql, row, save } => self.execute_later(s, w, unit, base, sql, row, save)?,
                Op::ForAllStep { .. } => {
                    self.forall.counts.push(self.sql_rows);
                    if self.forall.waiting.as_ref().is_some_and(|x| x.enough) {
                        self.carry_out(w)?;
                    }
                }
                Op::ForAllGather { gather } => self.gather(w, unit, base, counters, gather)?,
                Op::ForAllEnd => {
                    self.carry_out(w)?;
                    self.forall_end()?;
                }
                Op::Commit => {
                    w.commit()?;
                    self.implicit(0);
                }
                Op::Rollback => {
                    w.rollback()?;
                    self.implicit(0);
                }
                Op::Savepoint { name } => {
                    let name = text(v!(name));
                    w.savepoint(&name)?;
                }
                Op::RollbackTo { name } => {
                    let name = text(v!(name));
                    w.rollback_to(&name)?;
                }
                Op::SetTransaction { text: t } => {
                    let t = text(v!(t));
                    w.set_transaction(&t)?;
                }
                Op::Autonomous { begin } => {
                    if begin {
                        w.autonomous_begin()?;
                        self.frames.last_mut().expect("running").autonomous = true;
                    } else {
                        self.end_autonomous(w)?;
                    }
                }
                Op::BindGet { d, bind } => {
                    let value = self.binds[bind as usize].clone();
                    self.put(base, d, value);
                }
                Op::BindSet { bind, s: from } => self.binds[bind as usize] = self.datum(unit, base, from),
                Op::Recollect { d, s: from, coll, ty } => {
                    let mut made = Coll::empty(&unit.pool.colls[coll as usize]);
                    if let Datum::Coll(Some(c)) = self.datum(unit, base, from) {
                        let mut key = c.first();
                        while let Some(at) = key {
                            if let Some(Datum::Val(v)) = c.get(&at) {
                                let v = scalar::coerce(v, &unit.pool.targets[ty as usize], w.nls())?;
                                *made.slot(at.clone()).map_err(Ora::new)? = Datum::Val(v);
                            }
                            key = c.next(&at);
                        }
                    }
                    self.put(base, d, Datum::Coll(Some(Rc::new(made))));
                }
                Op::CollOf { d, s: from, coll } => {
                    let made = match self.datum(unit, base, from) {
                        Datum::Val(value) => collection_of(&unit.pool.colls[coll as usize], &value),
                        other => other,
                    };
                    self.put(base, d, made);
                }
                Op::CollValue { d, s: from, id } => {
                    let value = match self.datum(unit, base, from) {
                        Datum::Coll(Some(c)) => {
                            let part =
                                |e: &Datum| if let Datum::Val(v) = e { v.content().clone() } else { Value::Null };
                            let parts = c.elements().map(part).collect();
                            Value::Composite(Arc::new(Composite { ty: id, parts }))
                        }
                        _ => Value::Null,
                    };
                    self.put_value(base, d, value);
                }
                Op::CursorOf { d, s: from } => {
                    let value = match self.datum(unit, base, from) {
                        Datum::Val(Value::Null) => Datum::Cur(None),
                        Datum::Val(number) => {
                            let cursor = w.take_nested(&number).ok_or_else(|| Ora::new(1001))?;
                            s.adopt_cursor(w, cursor, 0, None)
                        }
                        other => other,
                    };
                    self.put(base, d, value);
                }
                Op::PackageGet { d, external, slot } => {
                    let state = s.package(w, unit, external)?;
                    let value = s.package_get(state, slot);
                    self.put(base, d, value);
                }
                Op::PackageSet { external, slot, s: from } => {
                    let value = self.datum(unit, base, from);
                    let state = s.package(w, unit, external)?;
                    s.package_set(state, slot, value);
                }
                Op::ResultCacheGet { d, n, hit } => {
                    let def = proc.result_cache.as_ref().expect("a cached function");
                    let Some(reads) = s.cached_reads(w, unit, def) else { continue };
                    let mut key = def.at.to_le_bytes().to_vec();
                    for i in 1..=n as usize {
                        if let Datum::Val(v) = &self.stack[base + i] {
                            resultkey::write_value(v, &mut key);
                        }
                    }
                    match w.function_result_get(&def.name, &reads, &key)? {
                        Some(bytes) => {
                            let value = resultkey::read_value(&bytes, &def.result)?;
                            self.put_value(base, d, value);
                            *pc = hit as usize;
                        }
                        None => self.frames.last_mut().expect("running").result_key = Some(key),
                    }
                }
            }
        }
    }
}
