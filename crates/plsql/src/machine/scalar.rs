//! Operations on scalar values.

use crate::op::{Arith, Cmp, Target};
use types::{DataType, LenUnit, Nls, Number, Ora, Result, Value};

/// ORA-06502 with the detail that PL/SQL gives.
#[cold]
pub fn value_error(detail: &str) -> Ora {
    let detail = if detail.is_empty() { String::new() } else { format!(": {detail}") };
    Ora::with(6502, &[&detail])
}

/// Converts SQL's error of a failed conversion to PL/SQL's value error.
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

/// Sum, difference or product of two machine words, when it fits one.
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
        // Both operands have 32 bits, so 64 bits hold any result.
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

/// Arithmetic of SIMPLE_INTEGER, which wraps around at 32 bits.
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

/// Arithmetic chosen by the types of the values.
pub fn arith_any(op: Arith, a: &Value, b: &Value, nls: &Nls) -> Result<Value> {
    if let Some(op) = op.basic() {
        return op.apply(a, b, nls).map_err(conversion_error);
    }
    if let (Value::Double(_) | Value::Float(_), _) | (_, Value::Double(_) | Value::Float(_)) = (a, b) {
        let (Some(x), Some(y)) = (double(a, nls)?, double(b, nls)?) else { return Ok(Value::Null) };
        return Ok(Value::Double(if op == Arith::Power { x.powf(y) } else { x % y }));
    }
    Ok(match (number(a, nls)?, number(b, nls)?) {
        (Some(x), Some(y)) => Value::Number(arith(op, &x, &y)?),
        _ => Value::Null,
    })
}

fn double(v: &Value, nls: &Nls) -> Result<Option<f64>> {
    v.to_double(nls).map_err(conversion_error)
}

pub fn negate(v: &Value, nls: &Nls) -> Result<Value> {
    functions::ops::negate(v, nls).map_err(conversion_error)
}

/// Three-valued comparison.
#[inline]
pub fn compare(op: Cmp, a: &Value, b: &Value, nls: &Nls) -> Result<Option<bool>> {
    if let (Value::Number(x), Value::Number(y)) = (a, b) {
        return Ok(Some(op.holds(x.cmp(y))));
    }
    match (a, b) {
        (Value::Null, _) | (_, Value::Null) => Ok(None),
        (Value::Boolean(x), Value::Boolean(y)) => Ok(Some(op.holds(x.cmp(y)))),
        _ => Ok(a.compare(b, nls).map_err(conversion_error)?.map(|o| op.holds(o))),
    }
}

pub fn compare_padded(op: Cmp, a: &Value, b: &Value, nls: &Nls) -> Result<Option<bool>> {
    match (a, b) {
        (Value::Text(x), Value::Text(y)) => Ok(Some(op.holds(types::compare_padded(x, y)))),
        (Value::Lob(_), _) | (_, Value::Lob(_)) => compare_padded(op, a.content(), b.content(), nls),
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

/// Like [`coerce`], for a value of the right type, which is copied into the buffer of `out`. False, with `out`
/// unchanged, when it needs a conversion or does not fit.
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
    if let Value::Lob(lob) = v {
        return match (&t.ty, lob.binary) {
            (DataType::Clob | DataType::Nclob, false) | (DataType::Blob, true) | (DataType::Null, _) => Ok(v.clone()),
            _ => coerce(&lob.content, t, nls),
        };
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
                // Trailing blanks are removed to fit a CHAR.
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
        DataType::Xml => {
            let text = v.to_text(nls).map_err(conversion_error)?.unwrap_or_default().into_owned();
            xml::Document::default().parse(&text, true)?;
            Value::text(text)
        }
        DataType::Clob | DataType::Nclob | DataType::Blob if *v == Value::EmptyLob => Value::EmptyLob,
        DataType::Clob | DataType::Nclob | DataType::Long => {
            Value::text(v.to_text(nls).map_err(conversion_error)?.unwrap_or_default().into_owned())
        }
        // Whoever may assign an object of a subtype emits no conversion.
        DataType::Named(ty) if !matches!(v, Value::Composite(c) if c.ty == *ty) => {
            return Err(v.mismatch(&DataType::Named(*ty)));
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
