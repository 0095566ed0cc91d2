//! Expressions as the executor runs them.
//!
//! An expression is a tree of nodes. Each node owns a result register, and evaluating it returns the register that
//! holds the value. Columns, binds and constants are registers already, so comparing two of them copies nothing.
//! Conditions are evaluated to a three-valued truth, without a register. A stack bytecode was rejected: it copies
//! values that can stay in their registers.

use crate::ctx::{Caller, ExecCtx};
use crate::machine::Machine;
use crate::measure::Counting;
use crate::sub;
use functions::{TextMax, clock};
use plan::{ArithOp, Class, CmpOp, Compare, Expr, Func, HostFunction, Node, Reg, SequenceRef, Special, SubId, class};
use std::cmp::Ordering;
use std::collections::HashSet;
use std::rc::Rc;
use types::{DataType, Number, Ora, Result, Value};

/// TRUE, FALSE or UNKNOWN.
pub type Truth = Option<bool>;

#[derive(Clone, Debug)]
pub enum Code {
    Reg(Reg),
    Special(Special, Reg),
    Neg(Box<Code>, Reg),
    Arith(ArithOp, Box<Code>, Box<Code>, Reg),
    /// MOD of two numbers, apart from other functions: a function call costs more than the division.
    Mod(Box<Code>, Box<Code>, Reg),
    Concat(Box<Code>, Box<Code>, Reg),
    /// `||` with a LOB operand.
    ConcatLob(Box<Code>, Box<Code>, Reg),
    /// Arguments are evaluated into consecutive registers; the first one is named.
    Func(Func, Vec<Code>, Reg, Reg, TextMax),
    Convert(Box<Code>, DataType, Reg),
    Cast(Box<Code>, DataType, Reg),
    /// The first expression, or the second if the first fails to convert.
    OnError(Box<Code>, Box<Code>),
    /// Puts the value of the first expression into the register, then evaluates the second.
    Once(Box<Code>, Reg, Box<Code>),
    Case(Vec<(Code, Code)>, Option<Box<Code>>, Reg),
    Coalesce(Vec<Code>, Reg),
    SysContext(Box<Code>, Box<Code>, Reg),
    Scalar(SubId, Reg),
    Nextval(Rc<SequenceRef>, Reg),
    Currval(Rc<SequenceRef>, Reg),
    Call(Rc<HostFunction>, Vec<Code>, Reg, Rc<Caller>),
    /// The truth of a condition as a value.
    Truth(Box<Cond>, Reg),
}

#[derive(Clone, Debug)]
pub enum Cond {
    /// A value of type BOOLEAN.
    Value(Code),
    Cmp(CmpOp, Compare, Code, Code),
    And(Vec<Cond>),
    Or(Vec<Cond>),
    Not(Box<Cond>),
    IsNull(Code, bool),
    Like {
        value: Code,
        pattern: Code,
        escape: Option<Code>,
        negated: bool,
    },
    InList {
        value: Code,
        list: Vec<Code>,
        compare: Compare,
        negated: bool,
    },
    /// IN with constants: their encodings. `null`: whether NULL is among them.
    InSet {
        value: Code,
        set: HashSet<Vec<u8>>,
        null: bool,
        padded: bool,
        negated: bool,
    },
    Exists(SubId),
    InSub {
        values: Vec<Code>,
        sub: SubId,
        compare: Vec<Compare>,
        negated: bool,
        single: bool,
    },
    Quantified {
        op: CmpOp,
        compare: Compare,
        all: bool,
        value: Code,
        sub: SubId,
    },
}

/// Gives out registers and loads constants while expressions are compiled.
pub struct Builder<'b> {
    pub regs: &'b mut Vec<Value>,
    /// Register of the first bind.
    pub binds: Reg,
    pub nls: &'b types::Nls,
    pub p: &'b process::Process,
    pub shared: &'b crate::ctx::Shared,
    /// The session's segments of temporary tables; creates missing ones.
    pub temporaries: &'b crate::temporary::Temporaries,
    pub temporary_tablespace: u32,
    /// The statement, as seen by the functions that it calls.
    pub caller: Rc<Caller>,
    /// Registers of operands that are evaluated once, the innermost last.
    pub operands: Vec<Reg>,
    /// Whether row sources may work on batches.
    pub batches: bool,
    /// Row sources without a batch form, by their addresses in the plan.
    pub without_batches: std::collections::HashSet<*const plan::Source>,
    /// Whether rows of scans are counted, and the scans so far.
    pub watches: bool,
    pub watched: Vec<crate::adaptive::Expected>,
    /// The operations of the row sources, if they are counted.
    pub counting: Option<Counting>,
    /// How many binds there are.
    pub bind_count: u32,
    /// The plan's subqueries.
    pub subs: &'b [plan::SubPlan],
    /// The blocks that the driving scan of a parallel part reads; `None`: all.
    pub granules: Option<Rc<dyn heap::Granules>>,
}

impl<'b> Builder<'b> {
    /// A builder for a statement of the session.
    pub fn new(regs: &'b mut Vec<Value>, binds: Reg, caller: Caller, cx: &'b crate::ctx::ExecCtx<'_>) -> Builder<'b> {
        Builder {
            regs,
            binds,
            nls: &cx.session.nls,
            p: cx.p,
            shared: cx.shared,
            temporaries: &cx.session.temporaries,
            temporary_tablespace: cx.session.options.temporary_tablespace,
            caller: Rc::new(caller),
            operands: Vec::new(),
            batches: cx.session.options.batches,
            without_batches: std::collections::HashSet::new(),
            watches: false,
            watched: Vec::new(),
            counting: None,
            bind_count: 0,
            subs: &[],
            granules: None,
        }
    }
}

impl Builder<'_> {
    /// Gives out the counter of the next scan.
    pub fn watch(&mut self, scan: &plan::Scan) -> usize {
        self.watched.push(crate::adaptive::Expected::of(scan));
        self.watched.len() - 1
    }

    pub fn reg(&mut self) -> Reg {
        self.regs.push(Value::Null);
        (self.regs.len() - 1) as Reg
    }

    fn constant(&mut self, v: Value) -> Code {
        self.regs.push(v);
        Code::Reg((self.regs.len() - 1) as Reg)
    }

    fn boxed(&mut self, e: &Expr) -> Box<Code> {
        Box::new(self.code(e))
    }

    pub fn codes(&mut self, list: &[Expr]) -> Vec<Code> {
        list.iter().map(|e| self.code(e)).collect()
    }

    pub fn conds(&mut self, list: &[Expr]) -> Vec<Cond> {
        list.iter().map(|e| self.cond(e)).collect()
    }

    /// Compiles a value.
    pub fn code(&mut self, e: &Expr) -> Code {
        match &e.node {
            Node::Const(v) => self.constant(v.clone()),
            Node::Reg(r) => Code::Reg(*r),
            Node::Bind(i) => Code::Reg(self.binds + *i as Reg),
            Node::Special(s) => Code::Special(*s, self.reg()),
            Node::Neg(a) => Code::Neg(self.boxed(a), self.reg()),
            Node::Arith(..) | Node::Concat(..) => self.operators(e),
            Node::Func(f, args) if f.0.name == "MOD" && args.len() == 2 && args.iter().all(|a| is_number(&a.ty)) => {
                Code::Mod(self.boxed(&args[0]), self.boxed(&args[1]), self.reg())
            }
            Node::Func(f, args) => {
                let codes = self.codes(args);
                let base = self.regs.len() as Reg;
                args.iter().for_each(|_| {
                    self.reg();
                });
                Code::Func(
                    *f,
                    codes,
                    base,
                    self.reg(),
                    if class(&e.ty) == Class::Lob { TextMax::Lob } else { TextMax::Text },
                )
            }
            Node::Convert(a) => {
                if let (Node::Const(v), DataType::Number { .. }) = (&a.node, &e.ty)
                    && let Ok(Some(n)) = v.to_number(self.nls)
                {
                    return self.constant(Value::Number(n));
                }
                Code::Convert(self.boxed(a), e.ty, self.reg())
            }
            Node::Cast(a) => Code::Cast(self.boxed(a), e.ty, self.reg()),
            Node::OnError(a, b) => Code::OnError(self.boxed(a), self.boxed(b)),
            Node::Once(value, body) => {
                let (value, reg) = (self.boxed(value), self.reg());
                self.operands.push(reg);
                let body = self.boxed(body);
                self.operands.pop();
                Code::Once(value, reg, body)
            }
            Node::Operand => Code::Reg(*self.operands.last().expect("an operand stands below its Once")),
            Node::Case(arms, otherwise) => {
                let arms = arms.iter().map(|(w, t)| (self.cond_code(w), self.code(t))).collect();
                let otherwise = otherwise.as_ref().map(|e| self.boxed(e));
                Code::Case(arms, otherwise, self.reg())
            }
            Node::Coalesce(args) => Code::Coalesce(self.codes(args), self.reg()),
            Node::SysContext(a, b) => Code::SysContext(self.boxed(a), self.boxed(b), self.reg()),
            Node::Scalar(s) => Code::Scalar(*s, self.reg()),
            Node::Nextval(s) => Code::Nextval(s.clone(), self.reg()),
            Node::Currval(s) => Code::Currval(s.clone(), self.reg()),
            Node::Call(f, args) => Code::Call(f.clone(), self.codes(args), self.reg(), self.caller.clone()),
            _ => Code::Truth(Box::new(self.cond(e)), self.reg()),
        }
    }

    /// A chain of left-associative operators, without recursion.
    fn operators(&mut self, e: &Expr) -> Code {
        let (mut links, mut first) = (Vec::new(), e);
        let mut value = loop {
            let (op, a, b) = match &first.node {
                Node::Arith(op, a, b) => (Some(*op), a, b),
                Node::Concat(a, b) => (None, a, b),
                _ => break self.code(first),
            };
            if let Some(op) = op
                && let (Node::Const(Value::Number(x)), Node::Const(Value::Number(y))) = (&a.node, &b.node)
                && let Ok(n) = op.numbers(x, y)
            {
                break self.constant(Value::Number(n));
            }
            links.push((op, first, &**b));
            first = a;
        };
        for (op, whole, right) in links.into_iter().rev() {
            let (a, b, d) = (Box::new(value), self.boxed(right), self.reg());
            value = match op {
                Some(op) => Code::Arith(op, a, b, d),
                None if class(&whole.ty) == Class::Lob => Code::ConcatLob(a, b, d),
                None => Code::Concat(a, b, d),
            };
        }
        value
    }

    /// A condition as code, so that all arms of CASE have one form.
    fn cond_code(&mut self, e: &Expr) -> Code {
        Code::Truth(Box::new(self.cond(e)), self.reg())
    }

    /// Compiles a condition.
    pub fn cond(&mut self, e: &Expr) -> Cond {
        match &e.node {
            Node::Cmp(op, how, a, b) => Cond::Cmp(*op, *how, self.code(a), self.code(b)),
            Node::And(list) => Cond::And(self.conds(list)),
            Node::Or(list) => Cond::Or(self.conds(list)),
            Node::Not(a) => Cond::Not(Box::new(self.cond(a))),
            Node::IsNull(a, negated) => Cond::IsNull(self.code(a), *negated),
            Node::Like { value, pattern, escape, negated } => Cond::Like {
                value: self.code(value),
                pattern: self.code(pattern),
                escape: escape.as_ref().map(|e| self.code(e)),
                negated: *negated,
            },
            Node::InList { value, list, compare, negated } => self.in_list(value, list, *compare, *negated),
            Node::Exists(s) => Cond::Exists(*s),
            Node::InSub { values, sub, compare, negated, single } => {
                let (values, compare) = (self.codes(values), compare.clone());
                Cond::InSub { values, sub: *sub, compare, negated: *negated, single: *single }
            }
            Node::Quantified { op, compare, all, value, sub } => {
                Cond::Quantified { op: *op, compare: *compare, all: *all, value: self.code(value), sub: *sub }
            }
            _ => Cond::Value(self.code(e)),
        }
    }

    fn in_list(&mut self, value: &Expr, list: &[Expr], compare: Compare, negated: bool) -> Cond {
        let padded = compare == Compare::Padded;
        let constant = list.len() > 8 && list.iter().all(Expr::is_const);
        let encodable =
            !matches!(value.ty, DataType::Timestamp { .. } | DataType::BinaryDouble | DataType::BinaryFloat);
        if !(constant && encodable) {
            return Cond::InList { value: self.code(value), list: self.codes(list), compare, negated };
        }
        let mut set = HashSet::with_capacity(list.len());
        let mut null = false;
        for e in list {
            match &e.node {
                Node::Const(Value::Null) => null = true,
                Node::Const(v) => {
                    let mut key = Vec::new();
                    encode_comparable(v, padded, &mut key);
                    set.insert(key);
                }
                _ => unreachable!("all constants, as just checked"),
            }
        }
        Cond::InSet { value: self.code(value), set, null, padded, negated }
    }
}

fn is_number(ty: &DataType) -> bool {
    matches!(ty, DataType::Number { .. } | DataType::Float { .. } | DataType::PlsInteger)
}

/// Encodes a value so that equal values have equal bytes. Trailing blanks are ignored where the comparison pads.
pub fn encode_comparable(v: &Value, padded: bool, out: &mut Vec<u8>) {
    match v {
        Value::Text(s) if padded => out.extend_from_slice(s.trim_end_matches(' ').as_bytes()),
        v => types::codec::encode_instant(v, out),
    }
}

impl Code {
    /// Whether the value depends on registers only: no query, no sequence, no PL/SQL, no clock.
    pub fn is_plain(&self) -> bool {
        match self {
            Code::Reg(_) => true,
            Code::Neg(a, _) | Code::Convert(a, ..) | Code::Cast(a, ..) => a.is_plain(),
            Code::Arith(_, a, b, _) | Code::Mod(a, b, _) | Code::Concat(a, b, _) => a.is_plain() && b.is_plain(),
            Code::Func(_, args, ..) | Code::Coalesce(args, _) => args.iter().all(Code::is_plain),
            _ => false,
        }
    }

    /// The register into which the node computes its value each time; no other node uses it.
    pub fn made(&self) -> Option<Reg> {
        match self {
            Code::Neg(_, r)
            | Code::Arith(.., r)
            | Code::Mod(.., r)
            | Code::Concat(.., r)
            | Code::ConcatLob(.., r)
            | Code::Func(.., r, _)
            | Code::Convert(.., r)
            | Code::Cast(.., r) => Some(*r),
            _ => None,
        }
    }

    /// Evaluates the node and returns the register of the value.
    #[inline]
    pub fn eval(&self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Reg> {
        match self {
            Code::Reg(r) => Ok(*r),
            // Frequent nodes have separate functions, which save and clear fewer processor registers than the general
            // one.
            Code::Arith(op, a, b, dst) => eval_arith(*op, a, b, *dst, m, cx),
            Code::Mod(a, b, dst) => eval_mod(a, b, *dst, m, cx),
            Code::Concat(a, b, dst) => eval_concat(a, b, *dst, functions::SQL_TEXT_MAX, m, cx),
            _ => self.eval_other(m, cx),
        }
    }

    #[inline(never)]
    fn eval_other(&self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Reg> {
        Ok(match self {
            Code::Reg(_) | Code::Arith(..) | Code::Mod(..) | Code::Concat(..) => return self.eval(m, cx),
            Code::Special(s, dst) => {
                special(*s, *dst, m, cx)?;
                *dst
            }
            Code::Neg(a, dst) => {
                let a = a.eval(m, cx)?;
                let v = functions::ops::negate(m.value(a), &cx.session.nls)?;
                m.put(*dst, v)
            }
            Code::Func(f, args, base, dst, text_max) => {
                crate::function::call(f, args, (*base, *dst), *text_max, m, cx)?;
                *dst
            }
            Code::Convert(a, ty, dst) => {
                let a = a.eval(m, cx)?;
                let mut out = m.take(*dst);
                let result = convert(m.value(a), ty, &cx.session.nls, &mut out);
                m.put(*dst, out);
                result?;
                *dst
            }
            Code::Cast(a, ty, dst) => {
                let a = a.eval(m, cx)?;
                let mut out = m.take(*dst);
                out.set(m.value(a));
                let result = if out.is_null() { Ok(()) } else { ty.cast(&mut out, &cx.session.nls) };
                m.put(*dst, out);
                result?;
                *dst
            }
            Code::Once(value, reg, body) => {
                let r = value.eval(m, cx)?;
                crate::source::copy(r, *reg, m);
                return body.eval(m, cx);
            }
            Code::OnError(a, b) => match a.eval(m, cx) {
                Err(e) if is_conversion_error(&e) => return b.eval(m, cx),
                result => return result,
            },
            Code::Case(arms, otherwise, dst) => {
                for (when, then) in arms {
                    if when.test(m, cx)? == Some(true) {
                        return then.eval(m, cx);
                    }
                }
                match otherwise {
                    Some(e) => return e.eval(m, cx),
                    None => m.put(*dst, Value::Null),
                }
            }
            Code::Coalesce(args, dst) => {
                for a in args {
                    let r = a.eval(m, cx)?;
                    if !m.value(r).is_null() {
                        return Ok(r);
                    }
                }
                m.put(*dst, Value::Null)
            }
            Code::SysContext(a, b, dst) => {
                let (a, b) = (a.eval(m, cx)?, b.eval(m, cx)?);
                let v = match (m.value(a), m.value(b)) {
                    (Value::Text(ns), Value::Text(name)) => {
                        let (ns, name) = (ns.to_uppercase(), name.to_uppercase());
                        cx.host.sys_context(cx, &ns, &name)?
                    }
                    _ => Value::Null,
                };
                m.put(*dst, v)
            }
            Code::ConcatLob(a, b, dst) => eval_concat(a, b, *dst, functions::LOB_MAX, m, cx)?,
            Code::Scalar(s, dst) => {
                sub::scalar(*s, *dst, m, cx)?;
                *dst
            }
            Code::Nextval(s, dst) => {
                let v = crate::sequence::nextval(s, m, cx)?;
                m.put(*dst, Value::Number(v))
            }
            Code::Currval(s, dst) => {
                let v = crate::sequence::currval(s, m, cx)?;
                m.put(*dst, Value::Number(v))
            }
            Code::Call(f, args, dst, caller) => {
                let mut values = Vec::with_capacity(args.len());
                for a in args {
                    let r = a.eval(m, cx)?;
                    values.push(m.value(r).clone());
                }
                if f.handle == plan::CONSTRUCTOR {
                    let made = construct(f, values, &cx.session.nls)?;
                    return Ok(m.put(*dst, made));
                }
                let now = Some((caller.clone(), cx.session.suspended));
                let before = std::mem::replace(&mut cx.session.caller, now);
                // The function's own statements are measured separately.
                let counts = cx.session.noted.switch(false);
                let result = cx.host.call(cx, f, &values);
                cx.session.noted.switch(counts);
                cx.session.caller = before;
                // If a function does not handle NO_DATA_FOUND, its value is NULL for the calling statement.
                let value = match result {
                    Err(e) if e.is(1403) => Value::Null,
                    result => result?,
                };
                m.put(*dst, value)
            }
            Code::Truth(c, dst) => {
                let v = c.test(m, cx)?.map_or(Value::Null, Value::Boolean);
                m.put(*dst, v)
            }
        })
    }

    fn test(&self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Truth> {
        if let Code::Truth(c, _) = self {
            return c.test(m, cx);
        }
        let r = self.eval(m, cx)?;
        Ok(match m.value(r) {
            Value::Boolean(b) => Some(*b),
            _ => None,
        })
    }
}

/// A collection whose elements have the class of the element type.
fn construct(f: &HostFunction, mut parts: Vec<Value>, nls: &types::Nls) -> Result<Value> {
    let DataType::Named(ty) = f.ty else { return Err(Ora::internal("constructor without a named type")) };
    for (value, element) in parts.iter_mut().zip(&f.arg_types).filter(|(value, _)| !value.is_null()) {
        element.assign(value, nls, &"").map_err(|e| if e.is(12899) { Ora::new(22814) } else { e })?;
    }
    Ok(Value::Composite(std::sync::Arc::new(types::Composite { ty, parts })))
}

/// Whether an error means that a value is not one of the target type.
fn is_conversion_error(e: &Ora) -> bool {
    e.facility() == types::Facility::Ora
        && matches!(e.code(), 932 | 1410 | 1426 | 1438 | 1465 | 1481 | 1722 | 1800..1900)
}

/// A node of [`Code::Arith`].
#[inline(never)]
fn eval_arith(op: ArithOp, a: &Code, b: &Code, dst: Reg, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Reg> {
    let (a, b) = (a.eval(m, cx)?, b.eval(m, cx)?);
    match op.words(m.value(a), m.value(b)) {
        Some(n) => Ok(m.put_whole(dst, n)),
        None => arith_values(op, a, b, dst, m),
    }
}

#[inline(never)]
fn arith_values(op: ArithOp, a: Reg, b: Reg, dst: Reg, m: &mut Machine) -> Result<Reg> {
    let v = op.typed(m.value(a), m.value(b))?;
    Ok(m.put(dst, v))
}

/// A node of [`Code::Mod`].
#[inline(never)]
fn eval_mod(a: &Code, b: &Code, dst: Reg, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Reg> {
    let (a, b) = (a.eval(m, cx)?, b.eval(m, cx)?);
    if let (Value::Number(x), Value::Number(y)) = (m.value(a), m.value(b))
        && let (Some(x), Some(y)) = (x.as_i64(), y.as_i64())
        && let Some(rest) = x.checked_rem(y)
    {
        return Ok(m.put_whole(dst, rest));
    }
    mod_values(a, b, dst, m, cx)
}

#[inline(never)]
fn mod_values(a: Reg, b: Reg, dst: Reg, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Reg> {
    let v = match (m.value(a), m.value(b)) {
        (Value::Number(x), Value::Number(y)) => Value::Number(x.modulo(y)?),
        (x, y) => match (x.to_number(&cx.session.nls)?, y.to_number(&cx.session.nls)?) {
            (Some(x), Some(y)) => Value::Number(x.modulo(&y)?),
            _ => Value::Null,
        },
    };
    Ok(m.put(dst, v))
}

/// A node of [`Code::Concat`].
#[inline(never)]
fn eval_concat(a: &Code, b: &Code, dst: Reg, most: usize, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Reg> {
    let (a, b) = (a.eval(m, cx)?, b.eval(m, cx)?);
    let mut out = m.take(dst);
    let result = functions::ops::concat(m.value(a), m.value(b), most, &cx.session.nls, &mut out);
    m.put(dst, out);
    result?;
    Ok(dst)
}

impl Cond {
    /// Evaluates the condition.
    pub fn test(&self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Truth> {
        match self {
            Cond::Cmp(op, how, a, b) => {
                let (a, b) = (a.eval(m, cx)?, b.eval(m, cx)?);
                let order = compare_values(m.value(a), m.value(b), *how, &cx.session.nls)?;
                Ok(order.map(|o| op.holds(o)))
            }
            Cond::And(list) => {
                let mut truth = Some(true);
                for c in list {
                    match c.test(m, cx)? {
                        Some(false) => return Ok(Some(false)),
                        None => truth = None,
                        Some(true) => {}
                    }
                }
                Ok(truth)
            }
            Cond::Or(list) => {
                let mut truth = Some(false);
                for c in list {
                    match c.test(m, cx)? {
                        Some(true) => return Ok(Some(true)),
                        None => truth = None,
                        Some(false) => {}
                    }
                }
                Ok(truth)
            }
            Cond::Not(c) => Ok(c.test(m, cx)?.map(|b| !b)),
            Cond::IsNull(a, negated) => {
                let r = a.eval(m, cx)?;
                Ok(Some(m.value(r).is_null() != *negated))
            }
            Cond::Like { value, pattern, escape, negated } => {
                let (v, p) = (value.eval(m, cx)?, pattern.eval(m, cx)?);
                let escape = match escape {
                    None => None,
                    Some(e) => {
                        let r = e.eval(m, cx)?;
                        match m.value(r) {
                            Value::Text(s) => Some(functions::ops::escape_character(s)?),
                            _ => return Ok(None),
                        }
                    }
                };
                match (m.value(v), m.value(p)) {
                    (Value::EmptyLob, Value::Text(p)) => Ok(Some(functions::ops::like("", p, escape)? != *negated)),
                    (Value::Text(s), Value::Text(p)) => Ok(Some(functions::ops::like(s, p, escape)? != *negated)),
                    _ => Ok(None),
                }
            }
            Cond::InList { value, list, compare, negated } => {
                let v = value.eval(m, cx)?;
                if m.value(v).is_null() {
                    return Ok(None);
                }
                let mut truth = Some(false);
                for e in list {
                    let r = e.eval(m, cx)?;
                    match compare_values(m.value(v), m.value(r), *compare, &cx.session.nls)? {
                        Some(Ordering::Equal) => return Ok(Some(!negated)),
                        Some(_) => {}
                        None => truth = None,
                    }
                }
                Ok(truth.map(|b| b != *negated))
            }
            Cond::InSet { value, set, null, padded, negated } => {
                let v = value.eval(m, cx)?;
                if m.value(v).is_null() {
                    return Ok(None);
                }
                let mut key = std::mem::take(&mut m.key);
                key.clear();
                encode_comparable(m.value(v), *padded, &mut key);
                let found = set.contains(&key);
                m.key = key;
                Ok(match (found, null) {
                    (true, _) => Some(!negated),
                    (false, true) => None,
                    (false, false) => Some(*negated),
                })
            }
            Cond::Exists(s) => Ok(Some(sub::exists(*s, m, cx)?)),
            Cond::InSub { values, sub: s, compare, negated, single } => {
                let mut regs = Vec::with_capacity(values.len());
                for v in values {
                    regs.push(v.eval(m, cx)?);
                }
                let same = match single {
                    true => sub::equals(*s, &regs, compare, m, cx)?,
                    false => sub::contains(*s, &regs, compare, m, cx)?,
                };
                Ok(same.map(|b| b != *negated))
            }
            Cond::Quantified { op, compare, all, value, sub: s } => {
                let v = value.eval(m, cx)?;
                sub::quantified(*s, *op, *compare, *all, v, m, cx)
            }
            Cond::Value(c) => c.test(m, cx),
        }
    }
}

/// Whether all of `conds` are TRUE.
#[inline]
pub fn all_true(conds: &[Cond], m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
    for c in conds {
        if c.test(m, cx)? != Some(true) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Compares two values in the way that the plan chose. `None` when one is NULL.
#[inline]
pub fn compare_values(a: &Value, b: &Value, how: Compare, nls: &types::Nls) -> Result<Option<Ordering>> {
    if let (Value::Number(x), Value::Number(y)) = (a, b)
        && let (Some(x), Some(y)) = (x.as_i64(), y.as_i64())
    {
        return Ok(Some(x.cmp(&y)));
    }
    compare_others(a, b, how, nls)
}

#[inline(never)]
fn compare_others(a: &Value, b: &Value, how: Compare, nls: &types::Nls) -> Result<Option<Ordering>> {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => Ok(Some(x.cmp(y))),
        (Value::Null, _) | (_, Value::Null) => Ok(None),
        (Value::Text(x), Value::Text(y)) => Ok(Some(match how {
            Compare::Padded => types::compare_padded(x, y),
            _ => x.as_bytes().cmp(y.as_bytes()),
        })),
        _ => a.compare(b, nls),
    }
}

/// An implicit conversion.
pub fn convert(v: &Value, ty: &DataType, nls: &types::Nls, out: &mut Value) -> Result<()> {
    *out = match ty {
        _ if v.is_null() => Value::Null,
        DataType::Clob | DataType::Nclob | DataType::Blob if *v == Value::EmptyLob => Value::EmptyLob,
        DataType::Number { .. } | DataType::Float { .. } | DataType::PlsInteger => {
            v.to_number(nls)?.map_or(Value::Null, Value::Number)
        }
        DataType::Date => v.to_date(nls)?.map_or(Value::Null, Value::Date),
        DataType::Timestamp { zone, .. } => {
            let mut copy = v.clone();
            DataType::Timestamp { digits: 9, zone: *zone }.cast(&mut copy, nls)?;
            copy
        }
        DataType::BinaryDouble => v.to_double(nls)?.map_or(Value::Null, Value::Double),
        DataType::BinaryFloat => v.to_double(nls)?.map_or(Value::Null, |d| Value::Float(d as f32)),
        DataType::Raw { .. } => v.to_raw()?.map_or(Value::Null, Value::Raw),
        ty if ty.is_text() || matches!(ty, DataType::Clob | DataType::Nclob | DataType::Long) => {
            let text = out.text_buffer();
            v.write_text(nls, text)?;
            out.normalize();
            return Ok(());
        }
        DataType::Rowid | DataType::Urowid => match v {
            Value::Rowid(r) => Value::Rowid(*r),
            Value::Text(s) if types::urowid::is_key(s) => Value::Text(s.clone()),
            Value::Text(s) => Value::Rowid(s.parse().map_err(|_| Ora::new(1410))?),
            _ => return Err(Ora::new(1410)),
        },
        ty => {
            let mut copy = v.clone();
            ty.cast(&mut copy, nls)?;
            copy
        }
    };
    Ok(())
}

fn special(s: Special, dst: Reg, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
    let v = match s {
        Special::User => {
            let mut out = m.take(dst);
            out.set_text(&cx.session.user);
            out
        }
        Special::Uid => Value::Number(Number::from(cx.session.user_id)),
        Special::CurrentUid => Value::Number(Number::from(cx.session.parsing_user)),
        Special::SysGuid => Value::Raw(cx.host.sys_guid().to_vec()),
        Special::Sysdate => Value::Date(clock::sysdate(&m.now(cx))),
        Special::Systimestamp => Value::Timestamp(m.now(cx)),
        Special::CurrentDate => Value::Date(clock::current_date(&m.now(cx), &cx.session.nls)),
        Special::CurrentTimestamp => Value::Timestamp(clock::session_now(&m.now(cx), &cx.session.nls)),
        Special::LocalTimestamp => Value::Timestamp(clock::local_timestamp(&m.now(cx), &cx.session.nls)),
    };
    m.put(dst, v);
    Ok(())
}
