//! Operations on values of any type: functions of STANDARD, texts, nested tables.

use super::fault::{Run, error_stack, message_of};
use super::frames::{Machine, up_base, val};
use super::scalar;
use crate::code::Compiled;
use crate::datum::{Coll, Datum};
use crate::op::*;
use crate::world::World;
use functions::clock;
use std::cmp::Ordering;
use std::rc::Rc;
use types::{Number, Ora, Value};

/// Length of a new text in bytes from which on the world is asked whether the session must stop.
const LONG_TEXT: usize = 1 << 18;
/// Largest text buffer that is used again: a longer one would stay with a variable that needs less.
const TEXT_KEPT: usize = 4096;

impl Machine {
    /// Calls a function of STANDARD: its arguments are in the slots after `at`, where the result is stored.
    pub(super) fn call_function<W: World>(
        &mut self,
        w: &mut W,
        unit: &Compiled,
        function: u32,
        at: usize,
        n: usize,
    ) -> Run<()> {
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
    pub(super) fn quick(&mut self, quick: Quick, base: usize, window: u32) -> bool {
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

    /// Equality of two nested tables, regardless of order; `None` when they are no collections.
    pub(super) fn collections(&self, unit: &Compiled, base: usize, a: Opd, b: Opd) -> Option<bool> {
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

    pub(super) fn member<W: World>(
        &self,
        w: &mut W,
        unit: &Compiled,
        base: usize,
        a: Opd,
        coll: Opd,
    ) -> Run<Option<bool>> {
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

    pub(super) fn concat<W: World>(
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
    pub(super) fn coerce_in_place(&mut self, unit: &Compiled, base: usize, d: Opd, s: Opd, ty: u32) -> Run<bool> {
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

    pub(super) fn special<W: World>(
        &mut self,
        w: &mut W,
        unit: &Rc<Compiled>,
        base: usize,
        what: Special,
        a: Opd,
    ) -> Run<Value> {
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
}

/// A loop bound or a count: rounded; ORA-06502 when NULL.
pub(super) fn bound<W: World>(v: &Value, w: &W) -> Run<i64> {
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

/// The text of a value; empty without one.
pub(super) fn text(v: &Value) -> String {
    match v {
        Value::Text(s) => s.clone(),
        _ => String::new(),
    }
}

/// LIKE.
pub(super) fn like(a: &Value, pattern: &Value, escape: &Value, nls: &types::Nls) -> Run<Option<bool>> {
    let (Some(a), Some(p)) = (a.to_text(nls)?, pattern.to_text(nls)?) else { return Ok(None) };
    let escape = match escape {
        Value::Text(s) if s.chars().count() == 1 => s.chars().next(),
        Value::Null => None,
        _ => return Err(Ora::new(1425).into()),
    };
    Ok(Some(functions::ops::like(&a, &p, escape)?))
}

/// Whether two nested tables have the same elements with the same frequencies, in any order. Unknown when a NULL
/// decides.
pub(super) fn same_elements(a: &Coll, b: &Coll, nls: &types::Nls) -> types::Result<Option<bool>> {
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
