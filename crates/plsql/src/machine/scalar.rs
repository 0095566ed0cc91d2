//! Operations on scalar values.

use crate::op::{Arith, Cmp, Target};
use std::cmp::Ordering;
use types::{DataType, Date, IntervalDs, LenUnit, Nls, Number, Ora, Result, Timestamp, Value};

/// ORA-06502 with the detail that PL/SQL gives.
#[cold]
pub fn value_error(detail: &str) -> Ora {
    let detail = if detail.is_empty() { String::new() } else { format!(": {detail}") };
    Ora::with(6502, &[&detail])
}

/// A conversion that SQL refuses is a value error in PL/SQL.
#[cold]
pub fn conversion_error(e: Ora) -> Ora {
    match e.code() {
        1722 => value_error("character to number conversion error"),
        1438 => value_error("number precision too large"),
        12899 | 1401 => value_error("character string buffer too small"),
        1465 => value_error("hex to raw conversion error"),
        932 => value_error(""),
        _ => e,
    }
}

pub fn number(v: &Value, nls: &Nls) -> Result<Option<Number>> {
    match v {
        Value::Number(n) => Ok(Some(*n)),
        Value::Null => Ok(None),
        other => other.to_number(nls).map_err(conversion_error),
    }
}

#[inline]
pub fn arith(op: Arith, a: &Number, b: &Number) -> Result<Number> {
    match op {
        Arith::Add => a.add(b),
        Arith::Sub => a.sub(b),
        Arith::Mul => a.mul(b),
        Arith::Div => a.div(b),
        Arith::Power => a.power(b),
        Arith::Mod => a.modulo(b),
    }
    .map_err(|e| if e.is(1426) && op == Arith::Power { value_error("number precision too large") } else { e })
}

#[inline]
pub fn arith_numbers(op: Arith, a: &Value, b: &Value) -> Result<Value> {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => Ok(Value::Number(arith(op, a, b)?)),
        (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
        _ => Err(value_error("")),
    }
}

/// Sum, difference or product of two words, when it fits one.
#[inline(always)]
pub fn arith_words(op: Arith, a: &Value, b: &Value) -> Option<Number> {
    let (Value::Number(a), Value::Number(b)) = (a, b) else { return None };
    let (a, b) = (a.as_i64()?, b.as_i64()?);
    let n = match op {
        Arith::Add => a.checked_add(b),
        Arith::Sub => a.checked_sub(b),
        Arith::Mul => a.checked_mul(b),
        _ => None,
    };
    n.map(Number::from_i64)
}

#[inline]
pub fn arith_integers(op: Arith, a: &Value, b: &Value) -> Result<Value> {
    if let (Value::Number(x), Value::Number(y)) = (a, b)
        && let (Some(x), Some(y)) = (x.as_i64(), y.as_i64())
    {
        // Both are within 32 bits, so 64 bits hold any of the results.
        let r = match op {
            Arith::Add => x + y,
            Arith::Sub => x - y,
            _ => x.checked_mul(y).ok_or_else(|| Ora::new(1426))?,
        };
        if i32::try_from(r).is_err() {
            return Err(Ora::new(1426));
        }
        return Ok(Value::Number(Number::from_i64(r)));
    }
    arith_numbers(op, a, b)
}

/// Arithmetic of SIMPLE_INTEGER: what is beyond 32 bits wraps around.
pub fn arith_simple(op: Arith, a: &Value, b: &Value) -> Result<Value> {
    let (Value::Number(x), Value::Number(y)) = (a, b) else { return arith_numbers(op, a, b) };
    let (Some(x), Some(y)) = (x.as_i64(), y.as_i64()) else { return arith_numbers(op, a, b) };
    let r = match op {
        Arith::Add => x.wrapping_add(y),
        Arith::Sub => x.wrapping_sub(y),
        _ => x.wrapping_mul(y),
    };
    Ok(Value::Number(Number::from_i64(i64::from(r as i32))))
}

/// Arithmetic whose meaning follows from the values.
pub fn arith_any(op: Arith, a: &Value, b: &Value, nls: &Nls) -> Result<Value> {
    use Value::{Date as D, Double, Float, IntervalDs as Ds, IntervalYm as Ym, Null, Timestamp as Ts};
    let days = |d: &Date, n: &Value, sign: i32| -> Result<Value> {
        let n = number(n, nls)?.unwrap_or(Number::ZERO);
        Ok(D(d.add_days(&if sign < 0 { n.neg() } else { n })?))
    };
    Ok(match (op, a, b) {
        (_, Null, _) | (_, _, Null) => Null,
        (Arith::Sub, D(x), D(y)) => Value::Number(x.days_since(y)),
        (Arith::Sub, Ts(x), Ts(y)) => Ds(x.since(y)),
        (Arith::Sub, Ts(x), D(y)) => Ds(x.since(&Timestamp::new(*y, 0))),
        (Arith::Sub, D(x), Ts(y)) => Ds(Timestamp::new(*x, 0).since(y)),
        (Arith::Add, D(x), Ds(i)) | (Arith::Add, Ds(i), D(x)) => date_plus_ds(x, i, 1)?,
        (Arith::Sub, D(x), Ds(i)) => date_plus_ds(x, i, -1)?,
        (Arith::Add, D(x), Ym(i)) | (Arith::Add, Ym(i), D(x)) => D(x.add_months_strict(i64::from(i.months))?),
        (Arith::Sub, D(x), Ym(i)) => D(x.add_months_strict(-i64::from(i.months))?),
        (Arith::Add, Ts(x), Ds(i)) | (Arith::Add, Ds(i), Ts(x)) => Ts(x.add_ds(i)?),
        (Arith::Sub, Ts(x), Ds(i)) => Ts(x.add_ds(&IntervalDs::from_nanos(-i.to_nanos())?)?),
        (Arith::Add, Ts(x), Ym(i)) | (Arith::Add, Ym(i), Ts(x)) => Ts(x.add_ym(i)?),
        (Arith::Sub, Ts(x), Ym(i)) => Ts(x.add_ym(&types::IntervalYm::new(-i64::from(i.months))?)?),
        (Arith::Add, Ds(x), Ds(y)) => Ds(IntervalDs::from_nanos(x.to_nanos() + y.to_nanos())?),
        (Arith::Sub, Ds(x), Ds(y)) => Ds(IntervalDs::from_nanos(x.to_nanos() - y.to_nanos())?),
        (Arith::Add, Ym(x), Ym(y)) => Ym(types::IntervalYm::new(i64::from(x.months) + i64::from(y.months))?),
        (Arith::Sub, Ym(x), Ym(y)) => Ym(types::IntervalYm::new(i64::from(x.months) - i64::from(y.months))?),
        (Arith::Mul | Arith::Div, Ds(x), n) | (Arith::Mul, n, Ds(x)) => {
            let n = number(n, nls)?.unwrap_or(Number::ZERO);
            let s = arith(op, &x.to_seconds(), &n)?;
            Ds(IntervalDs::from_seconds(&s)?)
        }
        (Arith::Mul | Arith::Div, Ym(x), n) | (Arith::Mul, n, Ym(x)) => {
            let n = number(n, nls)?.unwrap_or(Number::ZERO);
            let m = arith(op, &Number::from_i64(i64::from(x.months)), &n)?.trunc(0);
            Ym(types::IntervalYm::new(m.to_i64()?)?)
        }
        (Arith::Add, D(d), n) | (Arith::Add, n, D(d)) => days(d, n, 1)?,
        (Arith::Sub, D(d), n) => days(d, n, -1)?,
        (Arith::Add, Ts(t), n) | (Arith::Add, n, Ts(t)) => days(&t.date(nls.zone)?, n, 1)?,
        (Arith::Sub, Ts(t), n) => days(&t.date(nls.zone)?, n, -1)?,
        (_, Double(_) | Float(_), _) | (_, _, Double(_) | Float(_)) => {
            let x = a.to_double(nls).map_err(conversion_error)?.unwrap_or(0.0);
            let y = b.to_double(nls).map_err(conversion_error)?.unwrap_or(0.0);
            Double(match op {
                Arith::Add => x + y,
                Arith::Sub => x - y,
                Arith::Mul => x * y,
                Arith::Div => x / y,
                Arith::Power => x.powf(y),
                Arith::Mod => x % y,
            })
        }
        _ => match (number(a, nls)?, number(b, nls)?) {
            (Some(x), Some(y)) => Value::Number(arith(op, &x, &y)?),
            _ => Null,
        },
    })
}

fn date_plus_ds(d: &Date, i: &IntervalDs, sign: i128) -> Result<Value> {
    let nanos = sign * i.to_nanos();
    let t = Timestamp::new(*d, 0).add_ds(&IntervalDs::from_nanos(nanos)?)?;
    Ok(Value::Date(t.clock()))
}

pub fn negate(v: &Value, nls: &Nls) -> Result<Value> {
    Ok(match v {
        Value::Null => Value::Null,
        Value::Number(n) => Value::Number(n.neg()),
        Value::Double(x) => Value::Double(-x),
        Value::Float(x) => Value::Float(-x),
        Value::IntervalDs(i) => Value::IntervalDs(IntervalDs::from_nanos(-i.to_nanos())?),
        Value::IntervalYm(i) => Value::IntervalYm(types::IntervalYm::new(-i64::from(i.months))?),
        other => match number(other, nls)? {
            Some(n) => Value::Number(n.neg()),
            None => Value::Null,
        },
    })
}

#[inline]
pub fn holds(op: Cmp, o: Ordering) -> bool {
    match op {
        Cmp::Eq => o == Ordering::Equal,
        Cmp::Ne => o != Ordering::Equal,
        Cmp::Lt => o == Ordering::Less,
        Cmp::Le => o != Ordering::Greater,
        Cmp::Gt => o == Ordering::Greater,
        Cmp::Ge => o != Ordering::Less,
    }
}

/// Three-valued comparison.
#[inline]
pub fn compare(op: Cmp, a: &Value, b: &Value, nls: &Nls) -> Result<Option<bool>> {
    if let (Value::Number(x), Value::Number(y)) = (a, b) {
        return Ok(Some(holds(op, x.cmp(y))));
    }
    match (a, b) {
        (Value::Null, _) | (_, Value::Null) => Ok(None),
        (Value::Boolean(x), Value::Boolean(y)) => Ok(Some(holds(op, x.cmp(y)))),
        _ => Ok(a.compare(b, nls).map_err(conversion_error)?.map(|o| holds(op, o))),
    }
}

pub fn compare_padded(op: Cmp, a: &Value, b: &Value, nls: &Nls) -> Result<Option<bool>> {
    match (a, b) {
        (Value::Text(x), Value::Text(y)) => Ok(Some(holds(op, types::compare_padded(x, y)))),
        _ => compare(op, a, b, nls),
    }
}

pub fn boolean(v: &Value) -> Option<bool> {
    match v {
        Value::Boolean(b) => Some(*b),
        _ => None,
    }
}

pub fn logical(b: Option<bool>) -> Value {
    b.map_or(Value::Null, Value::Boolean)
}

pub fn and(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

pub fn or(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}

/// LIKE with `%`, `_` and an escape character.
pub fn like(text: &str, pattern: &str, escape: Option<char>) -> Result<bool> {
    #[derive(Clone, Copy)]
    enum P {
        Any,
        One,
        Char(char),
    }
    let mut parts = Vec::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        parts.push(match c {
            c if Some(c) == escape => match chars.next() {
                Some(x) if x == '%' || x == '_' || Some(x) == escape => P::Char(x),
                _ => return Err(Ora::new(1424)),
            },
            '%' => P::Any,
            '_' => P::One,
            c => P::Char(c),
        });
    }
    let text: Vec<char> = text.chars().collect();
    let (mut i, mut j) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while i < text.len() {
        match parts.get(j) {
            Some(P::Any) => {
                star = Some((j, i));
                j += 1;
            }
            Some(P::One) => {
                i += 1;
                j += 1;
            }
            Some(P::Char(c)) if *c == text[i] => {
                i += 1;
                j += 1;
            }
            _ => match star {
                Some((sj, si)) => {
                    star = Some((sj, si + 1));
                    i = si + 1;
                    j = sj + 1;
                }
                None => return Ok(false),
            },
        }
    }
    Ok(parts[j..].iter().all(|p| matches!(p, P::Any)))
}

/// As [`coerce`], for a value that has the type: it is copied into the buffer that `out` has. False when it has to be
/// converted; `out` is as it was then, and when the value does not fit.
#[inline]
pub fn coerce_into(v: &Value, t: &Target, out: &mut Value) -> Result<bool> {
    match (v, &t.ty) {
        (Value::Number(n), DataType::Number { precision: None, scale: None }) => *out = Value::Number(*n),
        (Value::Text(s), DataType::Varchar2 { len, unit }) => {
            check_length(s, *len, *unit)?;
            out.set_text(s);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Converts a value to a variable's type and checks its constraints.
pub fn coerce(v: &Value, t: &Target, nls: &Nls) -> Result<Value> {
    if v.is_null() {
        return if t.not_null { Err(value_error("")) } else { Ok(Value::Null) };
    }
    let out = match &t.ty {
        DataType::PlsInteger => {
            let n = number(v, nls)?.expect("not null");
            let i = match n.as_i64() {
                Some(i) => i,
                None => n.round(0).as_i64().ok_or_else(|| Ora::new(1426))?,
            };
            if i32::try_from(i).is_err() {
                return Err(Ora::new(1426));
            }
            if t.range.is_some_and(|(low, high)| i < low || i > high) {
                return Err(value_error(""));
            }
            Value::Number(Number::from_i64(i))
        }
        DataType::Number { precision, scale } => {
            let n = number(v, nls)?.expect("not null");
            match (precision, scale) {
                (None, None) => Value::Number(n),
                _ => Value::Number(n.fit(*precision, *scale).map_err(conversion_error)?),
            }
        }
        DataType::Varchar2 { len, unit } => {
            let text = match v {
                Value::Text(s) => s.clone(),
                other => other.to_text(nls).map_err(conversion_error)?.unwrap_or_default().into_owned(),
            };
            check_length(&text, *len, *unit)?;
            Value::text(text)
        }
        DataType::Char { len, unit } => {
            let mut text = match v {
                Value::Text(s) => s.clone(),
                other => other.to_text(nls).map_err(conversion_error)?.unwrap_or_default().into_owned(),
            };
            let length = types_length(&text, *unit);
            if *len > 0 && length > *len as usize {
                // Trailing blanks are cut to fit a CHAR.
                let trimmed = text.trim_end_matches(' ').len();
                text.truncate(trimmed.max(1).min(text.len()));
                check_length(&text, *len, *unit)?;
            }
            let length = types_length(&text, *unit);
            text.extend(std::iter::repeat_n(' ', (*len as usize).saturating_sub(length)));
            Value::text(text)
        }
        DataType::Boolean => match v {
            Value::Boolean(b) => Value::Boolean(*b),
            _ => return Err(value_error("")),
        },
        DataType::Null | DataType::Cursor => v.clone(),
        DataType::Raw { len } => {
            let raw = v.to_raw().map_err(conversion_error)?.unwrap_or_default();
            if *len > 0 && raw.len() > *len as usize {
                return Err(value_error("raw variable length too long"));
            }
            Value::raw(raw)
        }
        DataType::Clob | DataType::Nclob | DataType::Long => {
            Value::text(v.to_text(nls).map_err(conversion_error)?.unwrap_or_default().into_owned())
        }
        other => {
            let mut value = v.clone();
            other.assign(&mut value, nls, &"").map_err(conversion_error)?;
            value
        }
    };
    if t.not_null && out.is_null() {
        return Err(value_error(""));
    }
    Ok(out)
}

fn types_length(text: &str, unit: LenUnit) -> usize {
    match unit {
        LenUnit::Byte => text.len(),
        LenUnit::Char => text.chars().count(),
    }
}

fn check_length(text: &str, len: u32, unit: LenUnit) -> Result<()> {
    let max = if len == 0 { 32767 } else { len as usize };
    if text.len() > max && types_length(text, unit) > max {
        return Err(value_error("character string buffer too small"));
    }
    Ok(())
}
