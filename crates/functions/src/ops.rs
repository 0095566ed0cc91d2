//! The operators of SQL over values: arithmetic with dates and intervals, concatenation, LIKE.

use std::cmp::Ordering;
use types::{DataType, Date, IntervalDs, IntervalYm, Nls, Number, Ora, Result, Timestamp, Value};

/// The longest text that SQL makes.
const MAX_BYTES: usize = 32_767;

/// An arithmetic operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
}

impl Arithmetic {
    /// Returns the type of the result for operands of these types. A text counts as a NUMBER.
    ///
    /// # Errors
    /// ORA-00975 for date + date, ORA-00932, ORA-30081 and others when the types do not go together.
    pub fn result_type(self, a: &DataType, b: &DataType) -> Result<DataType> {
        use DataType as T;
        let interval = T::IntervalDs { days: 9, digits: 9 };
        Ok(match (self, a, b) {
            (Arithmetic::Add, T::Date, T::Date) => return Err(Ora::new(975)),
            (Arithmetic::Add, x, y) if x.is_datetime() && y.is_datetime() => return Err(Ora::new(30087)),
            (Arithmetic::Subtract, T::Date, T::Date) => T::NUMBER,
            (Arithmetic::Subtract, x, y) if x.is_datetime() && y.is_datetime() => interval,
            (Arithmetic::Add | Arithmetic::Subtract, x, y) if x.is_datetime() && y.is_interval() => match (x, y) {
                (T::Date, _) => T::Date,
                _ => *x,
            },
            (Arithmetic::Add, x, y) if x.is_interval() && y.is_datetime() => *y,
            (Arithmetic::Add | Arithmetic::Subtract, x, y) if x.is_datetime() => {
                number_or_text(y)?;
                T::Date
            }
            (Arithmetic::Add, x, y) if y.is_datetime() => {
                number_or_text(x)?;
                T::Date
            }
            (Arithmetic::Add | Arithmetic::Subtract, T::IntervalDs { .. }, T::IntervalDs { .. }) => interval,
            (Arithmetic::Add | Arithmetic::Subtract, T::IntervalYm { .. }, T::IntervalYm { .. }) => {
                T::IntervalYm { years: 9 }
            }
            (Arithmetic::Multiply | Arithmetic::Divide, T::IntervalDs { .. }, y) if !y.is_interval() => interval,
            (Arithmetic::Multiply | Arithmetic::Divide, T::IntervalYm { .. }, y) if !y.is_interval() => {
                T::IntervalYm { years: 9 }
            }
            (Arithmetic::Multiply, x, T::IntervalDs { .. }) if !x.is_interval() => interval,
            (Arithmetic::Multiply, x, T::IntervalYm { .. }) if !x.is_interval() => T::IntervalYm { years: 9 },
            (_, x, y) if x.is_interval() || y.is_interval() => return Err(Ora::new(30081)),
            (_, x, y) => {
                number_or_text(x)?;
                number_or_text(y)?;
                match (x, y) {
                    (T::BinaryDouble, _) | (_, T::BinaryDouble) => T::BinaryDouble,
                    (T::BinaryFloat, _) | (_, T::BinaryFloat) => T::BinaryFloat,
                    (T::PlsInteger, T::PlsInteger) if self != Arithmetic::Divide => T::PlsInteger,
                    _ => T::NUMBER,
                }
            }
        })
    }

    /// Computes `a op b`. NULL gives NULL.
    ///
    /// # Errors
    /// ORA-01426, ORA-01476, ORA-01722, ORA-01841 and those of [`Arithmetic::result_type`].
    #[inline]
    pub fn apply(self, a: &Value, b: &Value, nls: &Nls, out: &mut Value) -> Result<()> {
        if let (Value::Number(x), Value::Number(y)) = (a, b) {
            *out = Value::Number(self.numbers(x, y)?);
            return Ok(());
        }
        self.apply_mixed(a, b, nls, out)
    }

    #[inline]
    fn numbers(self, x: &Number, y: &Number) -> Result<Number> {
        match self {
            Arithmetic::Add => x.add(y),
            Arithmetic::Subtract => x.sub(y),
            Arithmetic::Multiply => x.mul(y),
            Arithmetic::Divide => x.div(y),
        }
    }

    fn apply_mixed(self, a: &Value, b: &Value, nls: &Nls, out: &mut Value) -> Result<()> {
        use Value::{Double, Float, IntervalDs as Ds, IntervalYm as Ym};
        if a.is_null() || b.is_null() {
            *out = Value::Null;
            return Ok(());
        }
        *out = match (self, a, b) {
            (_, Float(x), Float(y)) => Float(self.doubles((*x).into(), (*y).into()) as f32),
            (_, Double(_) | Float(_), _) | (_, _, Double(_) | Float(_)) if !is_time(a) && !is_time(b) => {
                let (x, y) = (a.to_double(nls)?, b.to_double(nls)?);
                Double(self.doubles(x.unwrap_or(f64::NAN), y.unwrap_or(f64::NAN)))
            }
            (Arithmetic::Add | Arithmetic::Subtract, Value::Date(_) | Value::Timestamp(_), _) => {
                self.date_first(a, b, nls)?
            }
            (Arithmetic::Add, _, Value::Date(_) | Value::Timestamp(_)) => self.date_first(b, a, nls)?,
            (Arithmetic::Add | Arithmetic::Subtract, Ds(x), Ds(y)) => {
                let sign = if self == Arithmetic::Add { 1 } else { -1 };
                Ds(IntervalDs::from_nanos(x.to_nanos() + sign * y.to_nanos())?)
            }
            (Arithmetic::Add | Arithmetic::Subtract, Ym(x), Ym(y)) => {
                let sign = if self == Arithmetic::Add { 1 } else { -1 };
                Ym(IntervalYm::new(i64::from(x.months) + sign * i64::from(y.months))?)
            }
            (Arithmetic::Multiply, _, Ds(_) | Ym(_)) if !is_time(a) => return self.apply_mixed(b, a, nls, out),
            (Arithmetic::Multiply | Arithmetic::Divide, Ds(x), _) if !is_time(b) => {
                Ds(IntervalDs::from_seconds(&self.numbers(&x.to_seconds(), &required(b, nls)?)?)?)
            }
            (Arithmetic::Multiply | Arithmetic::Divide, Ym(x), _) if !is_time(b) => {
                let months = self.numbers(&Number::from(x.months), &required(b, nls)?)?.trunc(0);
                Ym(IntervalYm::new(months.to_i64()?)?)
            }
            _ if is_time(a) || is_time(b) => return Err(self.mismatch(a, b)),
            _ => Value::Number(self.numbers(&required(a, nls)?, &required(b, nls)?)?),
        };
        Ok(())
    }

    fn doubles(self, x: f64, y: f64) -> f64 {
        match self {
            Arithmetic::Add => x + y,
            Arithmetic::Subtract => x - y,
            Arithmetic::Multiply => x * y,
            Arithmetic::Divide => x / y,
        }
    }

    /// A datetime with something added to it or taken off.
    fn date_first(self, a: &Value, b: &Value, nls: &Nls) -> Result<Value> {
        let minus = self == Arithmetic::Subtract;
        Ok(match (a, b) {
            (Value::Date(x), Value::Date(y)) if minus => Value::Number(x.days_since(y)),
            (_, Value::Date(_) | Value::Timestamp(_)) if minus => {
                let (x, y) = (instant(a, nls)?, instant(b, nls)?);
                Value::IntervalDs(x.since(&y))
            }
            (_, Value::Date(_) | Value::Timestamp(_)) => return Err(self.mismatch(a, b)),
            (_, Value::IntervalDs(i)) => {
                let i = if minus { IntervalDs::from_nanos(-i.to_nanos())? } else { *i };
                shifted(a, |t| t.add_ds(&i))?
            }
            (_, Value::IntervalYm(i)) => {
                let i = if minus { IntervalYm { months: -i.months } } else { *i };
                shifted(a, |t| t.add_ym(&i))?
            }
            // A number of days makes a timestamp a DATE first.
            _ => {
                let days = required(b, nls)?;
                let days = if minus { days.neg() } else { days };
                let date: Date = a.to_date(nls)?.ok_or_else(|| self.mismatch(a, b))?;
                Value::Date(date.add_days(&days)?)
            }
        })
    }

    #[cold]
    fn mismatch(self, a: &Value, b: &Value) -> Ora {
        match self.result_type(&a.data_type(), &b.data_type()) {
            Err(e) => e,
            Ok(_) => b.mismatch(&a.data_type()),
        }
    }
}

fn number_or_text(t: &DataType) -> Result<()> {
    if t.is_numeric() || t.is_text() || *t == DataType::Null {
        Ok(())
    } else {
        Err(Ora::with(932, &[&"NUMBER", &t.name()]))
    }
}

fn is_time(v: &Value) -> bool {
    matches!(v, Value::Date(_) | Value::Timestamp(_) | Value::IntervalDs(_) | Value::IntervalYm(_))
}

fn required(v: &Value, nls: &Nls) -> Result<Number> {
    v.to_number(nls)?.ok_or_else(|| Ora::internal("ops: NULL operand"))
}

/// A datetime as an instant: one without a zone is at the session's.
fn instant(v: &Value, nls: &Nls) -> Result<Timestamp> {
    match v {
        Value::Timestamp(t) => nls.placed(t),
        Value::Date(d) => nls.placed(&Timestamp::new(*d, 0)),
        _ => Err(v.mismatch(&DataType::TIMESTAMP)),
    }
}

/// Moves a timestamp, or a date that stays a date.
fn shifted(v: &Value, f: impl Fn(&Timestamp) -> Result<Timestamp>) -> Result<Value> {
    match v {
        Value::Date(d) => Ok(Value::Date(f(&Timestamp::new(*d, 0))?.clock())),
        Value::Timestamp(t) => Ok(Value::Timestamp(f(t)?)),
        _ => Err(v.mismatch(&DataType::Date)),
    }
}

/// Computes `-a`.
///
/// # Errors
/// ORA-01722, ORA-00932.
pub fn negate(a: &Value, nls: &Nls, out: &mut Value) -> Result<()> {
    *out = match a {
        Value::Double(x) => Value::Double(-x),
        Value::Float(x) => Value::Float(-x),
        Value::IntervalDs(i) => Value::IntervalDs(IntervalDs::from_nanos(-i.to_nanos())?),
        Value::IntervalYm(i) => Value::IntervalYm(IntervalYm { months: -i.months }),
        _ => a.to_number(nls)?.map_or(Value::Null, |n| Value::Number(n.neg())),
    };
    Ok(())
}

/// Computes `a || b`: NULL is the empty text. `out` must be neither operand.
///
/// # Errors
/// ORA-01489 when the result is too long.
pub fn concat(a: &Value, b: &Value, nls: &Nls, out: &mut Value) -> Result<()> {
    if let (Value::Raw(x), Value::Raw(y)) = (a, b) {
        *out = Value::raw([x.as_slice(), y].concat());
        return Ok(());
    }
    let buffer = out.text_buffer();
    a.write_text(nls, buffer)?;
    b.write_text(nls, buffer)?;
    if buffer.len() > MAX_BYTES {
        return Err(Ora::new(1489));
    }
    out.normalize();
    Ok(())
}

/// Appends to a text that is being put together, for chains of `||` that keep one buffer.
///
/// # Errors
/// ORA-01489 when the result is too long.
pub fn append(buffer: &mut String, b: &Value, nls: &Nls) -> Result<()> {
    b.write_text(nls, buffer)?;
    if buffer.len() > MAX_BYTES { Err(Ora::new(1489)) } else { Ok(()) }
}

/// `text LIKE pattern ESCAPE escape`: `%` stands for any text, `_` for one character.
///
/// # Errors
/// ORA-01424 when something else than `%`, `_` or the escape character follows the escape character.
pub fn like(text: &str, pattern: &str, escape: Option<char>) -> Result<bool> {
    if let Some(escape) = escape {
        check_escapes(pattern, escape)?;
    }
    Ok(if text.is_ascii() && pattern.is_ascii() {
        like_units(text.as_bytes(), pattern.as_bytes(), escape.map(|c| u8::try_from(c).unwrap_or(0xFF)), b'%', b'_')
    } else {
        let (text, pattern): (Vec<char>, Vec<char>) = (text.chars().collect(), pattern.chars().collect());
        like_units(&text, &pattern, escape, '%', '_')
    })
}

fn check_escapes(pattern: &str, escape: char) -> Result<()> {
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if c == escape && !chars.next().is_some_and(|next| next == '%' || next == '_' || next == escape) {
            return Err(Ora::new(1424));
        }
    }
    Ok(())
}

/// Greedy matching that goes back to the last `%` only: linear for one, never worse than length times length.
fn like_units<T: Copy + PartialEq>(text: &[T], pattern: &[T], escape: Option<T>, any: T, one: T) -> bool {
    let (mut t, mut p) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        let step = match pattern.get(p) {
            Some(c) if Some(*c) == escape => match (pattern.get(p + 1), text.get(t)) {
                (Some(c), Some(x)) if c == x => Some(2),
                _ => None,
            },
            Some(c) if *c == any => {
                star = Some((p + 1, t));
                p += 1;
                continue;
            }
            Some(c) => text.get(t).filter(|x| *c == one || c == *x).map(|_| 1),
            None if t == text.len() => return true,
            None => None,
        };
        match (step, star) {
            (Some(len), _) => {
                p += len;
                t += 1;
            }
            (None, Some((after, from))) if from < text.len() => {
                star = Some((after, from + 1));
                p = after;
                t = from + 1;
            }
            _ => return false,
        }
    }
}

/// Compares as BETWEEN, IN and the comparison operators do, with blank-padded semantics when both sides are CHAR or a
/// literal.
///
/// # Errors
/// As [`Value::compare`].
#[inline]
pub fn compare(a: &Value, b: &Value, padded: bool, nls: &Nls) -> Result<Option<Ordering>> {
    match (a, b) {
        (Value::Text(x), Value::Text(y)) if padded => Ok(Some(types::compare_padded(x, y))),
        _ => a.compare(b, nls),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_patterns() {
        for (text, pattern, escape, matches) in [
            ("abc", "abc", None, true),
            ("abc", "a%", None, true),
            ("abc", "%c", None, true),
            ("abc", "%b%", None, true),
            ("abc", "_b_", None, true),
            ("abc", "a_", None, false),
            ("", "%", None, true),
            ("abc", "", None, false),
            ("a%c", "a\\%c", Some('\\'), true),
            ("abc", "a\\%c", Some('\\'), false),
            ("a_b", "a/_b", Some('/'), true),
            ("aaab", "%aab", None, true),
            ("mississippi", "%iss%ip%", None, true),
            ("mississippi", "%iss%ix%", None, false),
            ("äöü", "_ö_", None, true),
            ("a//b", "a////b", Some('/'), true),
            ("abab", "%ab", None, true),
            ("ab", "%%%", None, true),
            ("ab", "ab%_", None, false),
        ] {
            assert_eq!(like(text, pattern, escape).unwrap(), matches, "{text} like {pattern}");
        }
        assert!(like("a", "a\\b", Some('\\')).unwrap_err().is(1424));
        assert!(like("a", "a\\", Some('\\')).unwrap_err().is(1424));
    }

    #[test]
    fn dates_in_arithmetic() {
        let nls = Nls::default();
        let date = |d| Value::Date(Date::from_ymd(2024, 1, d).unwrap());
        let n = |x: i64| Value::Number(x.into());
        let apply = |op: Arithmetic, a: &Value, b: &Value| {
            let mut out = Value::Null;
            op.apply(a, b, &nls, &mut out).map(|()| out)
        };
        assert_eq!(apply(Arithmetic::Add, &date(1), &n(2)).unwrap(), date(3));
        assert_eq!(apply(Arithmetic::Add, &n(2), &date(1)).unwrap(), date(3));
        assert_eq!(apply(Arithmetic::Subtract, &date(3), &date(1)).unwrap(), n(2));
        assert_eq!(apply(Arithmetic::Add, &Value::text("1"), &n(2)).unwrap(), n(3));
        assert!(apply(Arithmetic::Add, &date(1), &date(1)).unwrap_err().is(975));
        assert!(apply(Arithmetic::Multiply, &date(1), &n(1)).unwrap_err().is(932));
        assert!(apply(Arithmetic::Subtract, &n(1), &date(1)).unwrap_err().is(932));
        assert!(apply(Arithmetic::Divide, &n(1), &n(0)).unwrap_err().is(1476));
        assert!(apply(Arithmetic::Add, &n(1), &Value::Null).unwrap().is_null());
        let day = Value::IntervalDs(IntervalDs { seconds: 86_400, nanos: 0 });
        assert_eq!(apply(Arithmetic::Add, &date(1), &day).unwrap(), date(2));
        assert_eq!(
            apply(Arithmetic::Multiply, &n(2), &day).unwrap(),
            Value::IntervalDs(IntervalDs { seconds: 172_800, nanos: 0 })
        );
        let month = Value::IntervalYm(IntervalYm { months: 1 });
        assert!(apply(Arithmetic::Add, &date(31), &month).unwrap_err().is(1839));
    }
}
