//! Evaluation of expressions and conditions.
//!
//! A subquery is run by its own form ([`Subquery`](crate::machine::Subquery)), which the row sources above provide.

use crate::code::{Code, Cond};
use crate::compare::{Truth, compare_values, encode_comparable};
use crate::convert::{construct, convert, is_conversion_error};
use crate::ctx::ExecCtx;
use crate::machine::{Machine, copy};
use crate::session_state::Caller;
use crate::{function, sequence, subqueries};
use functions::clock;
use plan::{ArithOp, Reg, Special};
use std::cmp::Ordering;
use std::rc::Rc;
use types::{Number, Result, Value};

/// Runs `f`, which runs a function that the statement of `caller` calls.
pub fn called<R>(caller: &Rc<Caller>, cx: &mut ExecCtx<'_>, f: impl FnOnce(&mut ExecCtx<'_>) -> R) -> R {
    // A function in a statement of a trigger may not see the trigger's table either.
    let caller = match cx.session.caller() {
        Some(outer) if !outer.changes.is_empty() => Rc::new(caller.within(outer)),
        _ => caller.clone(),
    };
    let now = Some((caller, cx.session.suspended));
    let before = std::mem::replace(&mut cx.session.caller, now);
    // The function's own statements are measured separately.
    let counts = cx.session.noted.switch(false);
    let result = f(cx);
    cx.session.noted.switch(counts);
    cx.session.caller = before;
    result
}

impl Code {
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
                function::call(f, args, (*base, *dst), *text_max, m, cx)?;
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
                copy(r, *reg, m);
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
                subqueries::scalar(*s, *dst, m, cx)?;
                *dst
            }
            Code::Nextval(s, dst) => {
                let v = sequence::nextval(s, m, cx)?;
                m.put(*dst, Value::Number(v))
            }
            Code::Currval(s, dst) => {
                let v = sequence::currval(s, m, cx)?;
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
                let result = called(caller, cx, |cx| cx.host.call(cx, f, &values));
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
            Cond::Exists(s) => Ok(Some(subqueries::exists(*s, m, cx)?)),
            Cond::InSub { values, sub: s, compare, negated, single } => {
                let mut regs = Vec::with_capacity(values.len());
                for v in values {
                    regs.push(v.eval(m, cx)?);
                }
                let same = match single {
                    true => subqueries::equals(*s, &regs, compare, m, cx)?,
                    false => subqueries::contains(*s, &regs, compare, m, cx)?,
                };
                Ok(same.map(|b| b != *negated))
            }
            Cond::Quantified { op, compare, all, value, sub: s } => {
                let v = value.eval(m, cx)?;
                subqueries::quantified(*s, (*op, *compare, *all), v, m, cx)
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

/// Evaluates `code` into register `dst`.
pub fn assign(code: &Code, dst: plan::Reg, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
    let r = code.eval(m, cx)?;
    if r == dst {
        return Ok(());
    }
    if code.made() == Some(r) {
        // The computed value is not read from its old register again, so it can be moved.
        m.regs.swap(r as usize, dst as usize);
    } else {
        copy(r, dst, m);
    }
    Ok(())
}
