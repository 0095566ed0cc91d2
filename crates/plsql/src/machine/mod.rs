//! The virtual machine that runs compiled units.
//!
//! One loop over instructions; calls push frames on the machine's own stack, so recursion in PL/SQL does not recurse in
//! Rust. A call that comes back from SQL (a function in a query) runs on another machine of the session. Faults unwind
//! frame by frame to the innermost guard that covers the position and names the exception.

mod bulk;
mod cursor;
mod gather;
mod path;
pub mod scalar;

use crate::compile::{Compiled, Rights};
use crate::datum::{Coll, Datum, Rec};
use crate::op::*;
use crate::session::Plsql;
use crate::ty::collection_of;
use crate::world::World;
use functions::clock;
use std::cmp::Ordering;
use std::rc::Rc;
use std::sync::Arc;
use types::{Number, Ora, Value};

pub(crate) use cursor::{Left, OpenCursor, adopted};

/// Largest number of frames of a machine: beyond it ORA-06500.
const FRAMES_MAX: usize = 30_000;
/// Depth of recursion between two checks for cancellation and memory.
const FRAMES_BETWEEN_CHECKS: usize = 256;
/// Bytes of the longest text that is not a CLOB.
const TEXT_MAX: usize = 32_767;
/// Length of a new text in bytes from which on that check is made.
const LONG_TEXT: usize = 1 << 18;
/// Largest text buffer that is used again: a longer one would stay with a variable that needs less.
const TEXT_KEPT: usize = 4096;
/// Largest number of slots of a machine.
const SLOTS_MAX: usize = 4_000_000;

/// An exception being raised.
#[derive(Debug)]
pub struct Fault {
    pub ora: Ora,
    /// The identity of a user-defined exception without an Oracle error.
    pub identity: u64,
}

impl From<Ora> for Fault {
    #[cold]
    fn from(ora: Ora) -> Fault {
        Fault { ora, identity: 0 }
    }
}

pub(crate) type Run<T> = Result<T, Fault>;

struct Frame {
    unit: Rc<Compiled>,
    proc: Rc<Proc>,
    pc: usize,
    base: usize,
    counters: usize,
    /// The frame of the enclosing subprogram.
    link: usize,
    /// The number of exceptions being handled at its call.
    handling: usize,
    /// Its owner's names and privileges are in force because of it.
    entered: bool,
    /// The key for caching the result.
    result_key: Option<Vec<u8>>,
    /// The published number of the subprogram before it, if a new one was published.
    before: Option<[u64; 2]>,
}

#[derive(Clone, Copy, Default)]
struct Counter {
    at: i64,
    end: i64,
    step: i64,
}

/// The state of one FORALL.
#[derive(Default)]
struct ForAll {
    active: bool,
    /// The number of frames at its start.
    frames: usize,
    counts: Vec<u64>,
    /// The first subscript of the collection, when subscripts are consecutive.
    from: i64,
    /// The subscript of each iteration of INDICES OF and VALUES OF.
    subscripts: Vec<i64>,
    errors: Vec<(i64, u32)>,
    waiting: Option<Waiting>,
    /// The number of failed attempts to gather.
    in_vain: u32,
}

impl ForAll {
    /// Rows of the iteration at a subscript of the collection; of the last one if there are several.
    fn count_at(&self, subscript: i64) -> Option<u64> {
        let iteration = if self.subscripts.is_empty() {
            usize::try_from(subscript - self.from).ok()?
        } else {
            self.subscripts.iter().rposition(|i| *i == subscript)?
        };
        self.counts.get(iteration).copied()
    }
}

/// Iterations whose statement has not been executed yet.
struct Waiting {
    unit: Rc<Compiled>,
    sql: u32,
    save: bool,
    /// The number of the first, from 0.
    first: usize,
    /// The batch should be executed now.
    enough: bool,
}

/// A stack of frames.
#[derive(Default)]
pub struct Machine {
    stack: Vec<Datum>,
    counters: Vec<Counter>,
    frames: Vec<Frame>,
    handling: Vec<Fault>,
    /// SQL%FOUND and SQL%ROWCOUNT.
    sql_found: Option<bool>,
    sql_rows: u64,
    forall: ForAll,
    args: Vec<Value>,
    row: Vec<Value>,
    /// A buffer for texts under construction.
    text: String,
    pub(crate) binds: Vec<Datum>,
    pub(crate) backtrace: String,
}

enum Flow {
    /// Another frame is on top.
    Frame,
    Done,
}

static NULL: Value = Value::Null;

/// A record for changes: usually not shared, otherwise a copy.
#[inline]
fn owned(rec: &mut Rc<Rec>) -> &mut Rec {
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
fn val<'a>(stack: &'a [Datum], frames: &[Frame], unit: &'a Compiled, base: usize, o: Opd) -> &'a Value {
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

fn up_base(frames: &[Frame], levels: u32) -> usize {
    let mut at = frames.len() - 1;
    for _ in 0..levels {
        at = frames[at].link;
    }
    frames[at].base
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
            Ok(()) => self.run(s, w, floor),
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

    fn push<W: World>(&mut self, w: &mut W, unit: Rc<Compiled>, proc: u32, base: usize, link: usize) -> Run<()> {
        let told_as = unit.told_as[proc as usize];
        let proc = unit.procs[proc as usize].clone();
        if self.frames.len() >= FRAMES_MAX || self.stack.len() >= SLOTS_MAX {
            return Err(Ora::new(6500).into());
        }
        if self.frames.len() % FRAMES_BETWEEN_CHECKS == FRAMES_BETWEEN_CHECKS - 1 {
            w.check_cancel()?;
        }
        let needed = base + proc.slots as usize;
        if self.stack.len() < needed {
            self.stack.resize(needed, Datum::default());
        }
        let counters = self.frames.last().map_or(0, |f| f.counters + f.proc.counters as usize);
        let needed = counters + proc.counters as usize;
        if self.counters.len() < needed {
            self.counters.resize(needed, Counter::default());
        }
        // A recursive call was checked at the first entry.
        let is_within = self.frames.last().is_some_and(|f| Rc::ptr_eq(&f.unit, &unit));
        let entered = match &unit.rights {
            Rights::Definers(owner) => w.enter(owner),
            Rights::Invokers(owner) if !is_within => {
                w.check_inheritance(owner)?;
                false
            }
            Rights::Invokers(_) | Rights::Callers => false,
        };
        let handling = self.handling.len();
        let before = (told_as != 0).then(|| w.subprogram_entered(told_as));
        self.frames.push(Frame {
            unit,
            proc,
            pc: 0,
            base,
            counters,
            link,
            handling,
            entered,
            result_key: None,
            before,
        });
        Ok(())
    }

    /// Leaves the top frame.
    fn pop<W: World>(&mut self, w: &mut W) -> Frame {
        let f = self.frames.pop().expect("a frame to leave");
        if f.proc.cursors {
            self.release_cursors(w, &f);
        }
        self.handling.truncate(f.handling);
        if f.entered {
            w.leave();
        }
        if let Some(before) = f.before {
            w.subprogram_left(before);
        }
        f
    }

    /// Runs until the frames above `floor` are gone.
    fn run<W: World>(&mut self, s: &Plsql<W::Cursor>, w: &mut W, floor: usize) -> Run<()> {
        loop {
            match self.step(s, w, floor) {
                Ok(Flow::Frame) => {}
                Ok(Flow::Done) => return Ok(()),
                Err(fault) => {
                    // A waiting iteration precedes the failed one, and so does its error.
                    let fault = self.carry_out(w).err().unwrap_or(fault);
                    self.unwind(w, fault, floor)?
                }
            }
        }
    }

    /// Unwinds to the handler of a fault.
    #[cold]
    fn unwind<W: World>(&mut self, w: &mut W, mut fault: Fault, floor: usize) -> Run<()> {
        let mut first = true;
        // No handler stops the fault of a killed or interrupted session (invariant 9).
        let deadly = fault.ora.ends_call();
        while self.frames.len() > floor {
            let f = self.frames.last().expect("above the floor");
            let at = f.pc.saturating_sub(1);
            if self.is_in_forall()
                && !deadly
                && let Some(next) = saved_iteration(f, at)
            {
                let code = fault.ora.code();
                let iteration = self.forall.counts.len() as i64 + 1;
                self.forall.errors.push((iteration, code));
                self.forall.counts.push(0);
                self.frames.last_mut().expect("seen").pc = next;
                return Ok(());
            }
            // A handler here or further out is outside the FORALL.
            self.forall.active &= self.frames.len() > self.forall.frames;
            let f = self.frames.last().expect("above the floor");
            let name = f.unit.qualified(&f.proc);
            let line = f.proc.lines.get(at).copied().unwrap_or(1);
            let internal = f.unit.owner.is_empty() && !f.unit.name.is_empty();
            if !internal {
                fault.ora = fault.ora.at_line(&name, line);
            }
            if first {
                self.backtrace.clear();
                first = false;
            }
            let _ = std::fmt::Write::write_fmt(&mut self.backtrace, format_args!("{}\n", frame_line(&name, line)));
            let found = if deadly { None } else { find_handler(f, at as Label, &fault) };
            if let Some((label, depth)) = found {
                let keep = f.handling + depth as usize;
                self.handling.truncate(keep);
                self.handling.push(fault);
                self.frames.last_mut().expect("seen").pc = label as usize;
                return Ok(());
            }
            let f = self.pop(w);
            if f.proc.autonomous {
                // An exception that leaves an autonomous transaction rolls it back.
                let _ = w.rollback();
                let _ = w.autonomous_end();
            }
            if let (Some(key), Some(def)) = (&f.result_key, &f.proc.result_cache) {
                w.function_result_abandon(&def.name, key);
            }
        }
        Err(fault)
    }

    /// Closes the cursors that only the slots of a frame still hold. The result and the parameters belong to the
    /// caller.
    fn release_cursors<W: World>(&mut self, w: &mut W, f: &Frame) {
        for slot in f.base + 1 + f.proc.parameters as usize..f.base + f.proc.slots as usize {
            self.release(w, slot);
        }
    }

    fn release<W: World>(&mut self, w: &mut W, slot: usize) {
        if let Some(place @ Datum::Cur(Some(_))) = self.stack.get_mut(slot) {
            let held = std::mem::replace(place, Datum::Cur(None));
            if let Datum::Cur(Some(c)) = &held
                && std::rc::Rc::strong_count(c) == 1
            {
                // Closing cannot fail here: the cursor is not in use.
                let _ = self.close(w, &held, false);
            }
        }
    }

    fn put(&mut self, base: usize, d: Opd, v: Datum) {
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
    fn put_value(&mut self, base: usize, d: Opd, v: Value) {
        if let Place::Local(slot) = d.place() {
            self.stack[base + slot as usize] = Datum::Val(v);
        } else {
            self.put(base, d, Datum::Val(v));
        }
    }

    /// Like [`Machine::put_value`]; overwrites an existing number in place.
    #[inline(always)]
    fn put_number(&mut self, base: usize, d: Opd, n: Number) {
        if let Place::Local(slot) = d.place()
            && let Datum::Val(Value::Number(there)) = &mut self.stack[base + slot as usize]
        {
            *there = n;
        } else {
            self.put_value(base, d, Value::Number(n));
        }
    }

    /// Whether a slot holds an unshared record with the fields of `template`.
    fn has_free_row(&self, base: usize, d: Opd, template: &Datum) -> bool {
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

    /// Calls a function of STANDARD: its arguments are in the slots after `at`, where the result is stored.
    fn call_function<W: World>(&mut self, w: &mut W, unit: &Compiled, function: u32, at: usize, n: usize) -> Run<()> {
        let mut args = std::mem::take(&mut self.args);
        args.clear();
        for slot in &mut self.stack[at + 1..at + 1 + n] {
            args.push(match slot {
                Datum::Val(v) => {
                    v.make_content();
                    std::mem::take(v)
                }
                _ => Value::Null,
            });
        }
        let mut out = match &mut self.stack[at] {
            Datum::Val(v) => std::mem::take(v),
            _ => Value::Null,
        };
        let result = w.call_function(unit.pool.functions[function as usize], &args, &mut out);
        self.args = args;
        self.stack[at] = Datum::Val(out);
        Ok(result.map_err(scalar::conversion_error)?)
    }

    /// The fast path of a numeric function. False: the arguments are of another kind, or there is no result.
    #[inline]
    fn quick(&mut self, quick: Quick, base: usize, window: u32) -> bool {
        let at = base + window as usize;
        let Datum::Val(Value::Number(x)) = &self.stack[at + 1] else { return false };
        let n = match quick {
            Quick::Abs => x.abs(),
            Quick::Ceil => x.ceil(),
            Quick::Floor => x.floor(),
            Quick::Round => x.round(0),
            Quick::Trunc => x.trunc(0),
            Quick::Mod => {
                let Datum::Val(Value::Number(y)) = &self.stack[at + 2] else { return false };
                match x.modulo(y) {
                    Ok(n) => n,
                    Err(_) => return false,
                }
            }
        };
        self.put_number(base, Opd::local(window), n);
        true
    }

    /// The content of an operand of any kind.
    fn datum(&self, unit: &Compiled, base: usize, o: Opd) -> Datum {
        match o.place() {
            Place::Local(slot) => self.stack[base + slot as usize].clone(),
            Place::Up(levels, slot) => self.stack[up_base(&self.frames, levels) + slot as usize].clone(),
            _ => Datum::Val(val(&self.stack, &self.frames, unit, base, o).clone()),
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
                    let object = types::Composite { ty: types::TypeId(ty), parts };
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
                Op::MultisetUnion { d, a, b } => {
                    let (a, b) = (self.datum(unit, base, a), self.datum(unit, base, b));
                    let r = match (a, b) {
                        (Datum::Coll(Some(mut a)), Datum::Coll(Some(b))) => {
                            let all: Vec<Datum> = b.elements().cloned().collect();
                            let c = Rc::make_mut(&mut a);
                            for e in all {
                                c.push(e).map_err(Ora::new)?;
                            }
                            Datum::Coll(Some(a))
                        }
                        _ => Datum::Coll(None),
                    };
                    self.put(base, d, r);
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
                Op::CallNative { native, base: window, n } => {
                    let at = base + window as usize;
                    if let Some(n) = crate::packages::random_number(native, s, &self.stack[at + 1..at + 1 + n as usize])
                    {
                        self.put_number(base, Opd::local(window), n);
                        continue;
                    }
                    let mut args = s.take_args();
                    args.extend(self.stack[at + 1..at + 1 + n as usize].iter_mut().map(std::mem::take));
                    let result = crate::packages::run(native, s, w, self, &mut args);
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
                    let result = crate::packages::run(native, s, w, self, &mut args);
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
                        w.autonomous_end()?;
                    }
                    let f = self.pop(w);
                    if let (Some(key), Some(def)) = (&f.result_key, &f.proc.result_cache)
                        && let Datum::Val(v) = &self.stack[base]
                    {
                        let mut bytes = Vec::new();
                        crate::resultkey::write_value(v.content(), &mut bytes);
                        w.function_result_put(&def.name, key, &bytes)?;
                    }
                    return Ok(Some(if self.frames.len() > floor { Flow::Frame } else { Flow::Done }));
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
                    let r = cursor::attribute::<W::Cursor>(&c, what)?;
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
                        w.autonomous_begin()?
                    } else {
                        w.autonomous_end()?
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
                            Value::Composite(Arc::new(types::Composite { ty: id, parts }))
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
                            crate::resultkey::write_value(v, &mut key);
                        }
                    }
                    match w.function_result_get(&def.name, &reads, &key)? {
                        Some(bytes) => {
                            let value = crate::resultkey::read_value(&bytes, &def.result)?;
                            self.put_value(base, d, value);
                            *pc = hit as usize;
                        }
                        None => self.frames.last_mut().expect("running").result_key = Some(key),
                    }
                }
            }
        }
    }

    fn is_null(&self, unit: &Compiled, base: usize, o: Opd) -> bool {
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

    /// Equality of two nested tables, regardless of order; `None` when they are no collections.
    fn collections(&self, unit: &Compiled, base: usize, a: Opd, b: Opd) -> Option<bool> {
        if !matches!(a.place(), Place::Local(_) | Place::Up(..))
            || !matches!(b.place(), Place::Local(_) | Place::Up(..))
        {
            return None;
        }
        let local = |o: Opd| match o.place() {
            Place::Local(slot) => &self.stack[base + slot as usize],
            Place::Up(levels, slot) => &self.stack[up_base(&self.frames, levels) + slot as usize],
            _ => unreachable!("seen"),
        };
        let _ = unit;
        let (Datum::Coll(x), Datum::Coll(y)) = (local(a), local(b)) else { return None };
        let (Some(x), Some(y)) = (x, y) else { return Some(false) };
        let sorted = |c: &Coll| {
            let mut list: Vec<String> = c.elements().map(|e| format!("{e:?}")).collect();
            list.sort();
            list
        };
        Some(sorted(x) == sorted(y))
    }

    fn member<W: World>(&self, w: &mut W, unit: &Compiled, base: usize, a: Opd, coll: Opd) -> Run<Option<bool>> {
        let Datum::Coll(Some(c)) = self.datum(unit, base, coll) else { return Ok(None) };
        let v = val(&self.stack, &self.frames, unit, base, a);
        if v.is_null() {
            return Ok(None);
        }
        let mut unknown = false;
        for e in c.elements() {
            if let Datum::Val(e) = e {
                match scalar::compare(Cmp::Eq, v, e, w.nls())? {
                    Some(true) => return Ok(Some(true)),
                    None => unknown = true,
                    Some(false) => {}
                }
            }
        }
        Ok(if unknown { None } else { Some(false) })
    }

    fn concat<W: World>(
        &mut self,
        w: &mut W,
        unit: &Rc<Compiled>,
        base: usize,
        (d, a, b): (Opd, Opd, Opd),
        most: usize,
    ) -> Run<()> {
        // `s := s || x` appends to the text in place.
        let own = match d.place() {
            Place::Local(slot) => Some(base + slot as usize),
            Place::Up(levels, slot) => Some(up_base(&self.frames, levels) + slot as usize),
            _ => None,
        };
        if d == a
            && a != b
            && let Some(own) = own
            && let Datum::Val(Value::Text(there)) = &mut self.stack[own]
        {
            let mut t = std::mem::take(there);
            let before = t.len();
            let result = val(&self.stack, &self.frames, unit, base, b).write_text(w.nls(), &mut t);
            let long = t.len() > most;
            if long || result.is_err() {
                t.truncate(before);
            }
            self.stack[own] = Datum::Val(Value::Text(t));
            result.map_err(scalar::conversion_error)?;
            if long {
                return Err(scalar::value_error("character string buffer too small").into());
            }
            return Ok(());
        }
        let mut out = std::mem::take(&mut self.text);
        out.clear();
        let length = |o| match val(&self.stack, &self.frames, unit, base, o) {
            Value::Text(t) => t.len(),
            _ => 0,
        };
        if length(a) + length(b) > most {
            return Err(scalar::value_error("character string buffer too small").into());
        }
        if length(a) + length(b) > LONG_TEXT {
            w.check_cancel()?;
        }
        let result = [a, b]
            .into_iter()
            .try_for_each(|o| val(&self.stack, &self.frames, unit, base, o).write_text(w.nls(), &mut out));
        if let Err(e) = result {
            return Err(scalar::conversion_error(e).into());
        }
        if out.len() > most {
            return Err(scalar::value_error("character string buffer too small").into());
        }
        // The buffer of the present text is used for the new one.
        match d.place() {
            Place::Local(slot) => match &mut self.stack[base + slot as usize] {
                Datum::Val(Value::Text(there)) if !out.is_empty() && out.capacity() <= TEXT_KEPT => {
                    std::mem::swap(there, &mut out);
                    self.text = out;
                }
                place => *place = Datum::Val(Value::text(out)),
            },
            _ => self.put_value(base, d, Value::text(out)),
        }
        Ok(())
    }

    /// Converts a value of the right type into the buffer in slot `d`. False, without any effect, when more is needed.
    fn coerce_in_place(&mut self, unit: &Compiled, base: usize, d: Opd, s: Opd, ty: u32) -> Run<bool> {
        let Place::Local(slot) = d.place() else { return Ok(false) };
        if d == s || !matches!(self.stack[base + slot as usize], Datum::Val(_)) {
            return Ok(false);
        }
        let Datum::Val(mut there) = std::mem::take(&mut self.stack[base + slot as usize]) else { return Ok(false) };
        let value = val(&self.stack, &self.frames, unit, base, s);
        let done = scalar::coerce_into(value, &unit.pool.targets[ty as usize], &mut there);
        self.stack[base + slot as usize] = Datum::Val(there);
        Ok(done?)
    }

    fn special<W: World>(&mut self, w: &mut W, unit: &Rc<Compiled>, base: usize, what: Special, a: Opd) -> Run<Value> {
        Ok(match what {
            Special::Sysdate => Value::Date(clock::sysdate(&w.now())),
            Special::Systimestamp => Value::Timestamp(w.now()),
            Special::CurrentDate => Value::Date(clock::current_date(&w.now(), w.nls())),
            Special::CurrentTimestamp => Value::Timestamp(clock::session_now(&w.now(), w.nls())),
            Special::LocalTimestamp => Value::Timestamp(clock::local_timestamp(&w.now(), w.nls())),
            Special::User => Value::text(w.user()),
            Special::Uid => Value::Number(Number::from_i64(w.user_id())),
            Special::SysGuid => {
                let mut bytes = Vec::with_capacity(16);
                bytes.extend(w.entropy().to_be_bytes());
                bytes.extend(w.entropy().rotate_left(23).to_be_bytes());
                Value::raw(bytes)
            }
            Special::SqlCode => {
                let code = self.handling.last().map_or(0, |f| if f.identity != 0 { 1 } else { f.ora.sqlcode() });
                Value::Number(Number::from_i64(i64::from(code)))
            }
            Special::SqlErrm => match self.handling.last() {
                None => Value::text("ORA-0000: normal, successful completion"),
                Some(f) if f.identity != 0 => Value::text("User-Defined Exception"),
                Some(f) => Value::text(error_stack(&f.ora)),
            },
            Special::SqlErrmOf => {
                let code = bound(val(&self.stack, &self.frames, unit, base, a), w)?;
                Value::text(message_of(code))
            }
            Special::SysContext | Special::Userenv => {
                let Place::Local(slot) = a.place() else { return Ok(Value::Null) };
                let slot = base + slot as usize;
                let arg = |i: usize| match &self.stack[slot + i] {
                    Datum::Val(Value::Text(s)) => s.to_uppercase(),
                    _ => String::new(),
                };
                match what {
                    Special::Userenv => w.sys_context("USERENV", &arg(0))?,
                    _ => w.sys_context(&arg(0), &arg(1))?,
                }
            }
        })
    }

    /// Whether the statement is that of a FORALL, not of a subprogram called in it.
    #[inline]
    pub(super) fn is_in_forall(&self) -> bool {
        self.forall.active && self.frames.len() == self.forall.frames
    }

    fn forall_end(&mut self) -> Run<()> {
        self.forall.active = false;
        self.sql_rows = self.forall.counts.iter().sum();
        self.sql_found = Some(self.sql_rows > 0);
        if !self.forall.errors.is_empty() {
            self.forall.errors.sort_unstable();
            return Err(Ora::new(24381).into());
        }
        Ok(())
    }

    /// The scalar variable or field of an operand.
    fn place_of(&mut self, base: usize, o: Opd) -> Run<&mut Value> {
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
    fn record(&mut self, base: usize, row: Opd) -> Option<&mut Rec> {
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
                let name = f.unit.qualified(&f.proc);
                (line, if name.is_empty() { "anonymous block".to_string() } else { name })
            })
            .collect()
    }

    /// The error being handled.
    pub(crate) fn current_error(&self) -> Option<&Ora> {
        self.handling.last().map(|f| &f.ora)
    }
}

/// A loop bound or a count: rounded; ORA-06502 when NULL.
fn bound<W: World>(v: &Value, w: &W) -> Run<i64> {
    let n = match scalar::number(v, w.nls())? {
        Some(n) => n,
        None => return Err(scalar::value_error("").into()),
    };
    let i = n.as_i64().or_else(|| n.round(0).as_i64()).ok_or_else(|| Ora::new(1426))?;
    if i32::try_from(i).is_err() {
        return Err(Ora::new(1426).into());
    }
    Ok(i)
}

fn text(v: &Value) -> String {
    match v {
        Value::Text(s) => s.clone(),
        _ => String::new(),
    }
}

fn like(a: &Value, pattern: &Value, escape: &Value, nls: &types::Nls) -> Run<Option<bool>> {
    let (Some(a), Some(p)) = (a.to_text(nls)?, pattern.to_text(nls)?) else { return Ok(None) };
    let escape = match escape {
        Value::Text(s) if s.chars().count() == 1 => s.chars().next(),
        Value::Null => None,
        _ => return Err(Ora::new(1425).into()),
    };
    Ok(Some(functions::ops::like(&a, &p, escape)?))
}

fn frame_line(name: &str, line: u32) -> String {
    if name.is_empty() {
        format!("ORA-06512: at line {line}")
    } else {
        format!("ORA-06512: at \"{name}\", line {line}")
    }
}

/// The messages of an error and of the errors below it, without the position lines.
pub(crate) fn error_stack(e: &Ora) -> String {
    let mut out = e.headline();
    for c in e.context().iter().filter(|c| !c.is(6512)) {
        out.push('\n');
        out.push_str(&c.headline());
    }
    out
}

fn message_of(code: i64) -> String {
    let positive = code.unsigned_abs() as u32;
    match code {
        0 => "ORA-0000: normal, successful completion".to_string(),
        1 => "User-Defined Exception".to_string(),
        100 => "ORA-01403: no data found".to_string(),
        c if c > 0 => format!("-{c}: non-ORACLE exception "),
        _ if (20000..=20999).contains(&positive) => format!("ORA-{positive}: "),
        _ => match types::bare_message(positive) {
            Some(text) => format!("ORA-{positive:05}: {text}"),
            None => format!("ORA-{positive:05}: Message {positive} not found;  product=RDBMS; facility=ORA"),
        },
    }
}

/// The instruction after a failed statement at `at` in FORALL … SAVE EXCEPTIONS.
fn saved_iteration(f: &Frame, at: usize) -> Option<usize> {
    let n = f.proc.ops[at..].iter().position(|op| matches!(op, Op::ForAllStep { .. } | Op::ForAllEnd))?;
    match f.proc.ops[at + n] {
        Op::ForAllStep { save: true, from } if at >= from as usize => Some(at + n + 1),
        _ => None,
    }
}

/// Whether two nested tables have the same elements with the same frequencies, in any order. Unknown when a NULL
/// decides.
fn same_elements(a: &Coll, b: &Coll, nls: &types::Nls) -> types::Result<Option<bool>> {
    if a.count() != b.count() {
        return Ok(Some(false));
    }
    let (a, nulls) = in_order(a, nls)?;
    let (b, other_nulls) = in_order(b, nls)?;
    let (mut x, mut y, mut common) = (0, 0, 0);
    while let (Some(v), Some(other)) = (a.get(x), b.get(y)) {
        match v.compare(other, nls)? {
            Some(Ordering::Less) => x += 1,
            Some(Ordering::Greater) => y += 1,
            _ => (x, y, common) = (x + 1, y + 1, common + 1),
        }
    }
    // Each NULL of one may equal a value of the other without a partner.
    Ok(match (nulls, other_nulls) {
        (0, 0) => Some(common == a.len()),
        _ if a.len() - common > other_nulls || b.len() - common > nulls => Some(false),
        _ => None,
    })
}

/// The sorted elements of a nested table, and the number of its NULLs.
fn in_order<'a>(c: &'a Coll, nls: &types::Nls) -> types::Result<(Vec<&'a Value>, usize)> {
    let value = |d: &'a Datum| match d {
        Datum::Val(v) if !v.is_null() => Some(v),
        _ => None,
    };
    let mut values: Vec<&Value> = c.elements().filter_map(value).collect();
    let mut failed = None;
    values.sort_unstable_by(|a, b| match a.compare(b, nls) {
        Ok(order) => order.unwrap_or(Ordering::Equal),
        Err(e) => {
            failed = Some(e);
            Ordering::Equal
        }
    });
    let nulls = c.count() - values.len();
    failed.map_or(Ok((values, nulls)), Err)
}

/// The innermost guard around `at` that names the exception.
fn find_handler(f: &Frame, at: Label, fault: &Fault) -> Option<(Label, u32)> {
    for g in &f.proc.guards {
        if at < g.from || at >= g.to {
            continue;
        }
        for (wanted, label) in &g.handlers {
            let named = wanted.iter().any(|i| {
                let def = &f.unit.pool.exceptions[*i as usize];
                match def.code {
                    Some(code) => fault.identity == 0 && fault.ora.is(code),
                    None => fault.identity != 0 && fault.identity == def.identity,
                }
            });
            if named || wanted.is_empty() {
                return Some((*label, g.depth));
            }
        }
    }
    None
}
