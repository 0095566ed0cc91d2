//! Operators of SQL and PL/SQL on values: arithmetic including dates and intervals, comparisons, concatenation, LIKE
//! (F4).
//!
//! SQL inserts conversions at plan time; PL/SQL may know types only at run time. [`Arithmetic::typed`] therefore
//! requires operands of compatible types, and [`Arithmetic::apply`] converts them first.

use std::cmp::Ordering;
use types::{IntervalDs, IntervalYm, Nls, Number, Ora, Place, Result, Timestamp, Value};

/// An arithmetic operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, types::image::Image)]
pub enum Arithmetic {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
}

impl Arithmetic {
    /// The result for two NUMBERs.
    ///
    /// # Errors
    /// ORA-01426, ORA-01476.
    #[inline]
    pub fn numbers(self, a: &Number, b: &Number) -> Result<Number> {
        match self {
            Arithmetic::Add => a.add(b),
            Arithmetic::Sub => a.sub(b),
            Arithmetic::Mul => a.mul(b),
            Arithmetic::Div => a.div(b),
        }
    }

    /// The sum, difference or product of whole numbers, if all of them fit a word.
    #[inline(always)]
    pub fn words(self, a: &Value, b: &Value) -> Option<i64> {
        let (Value::Number(a), Value::Number(b)) = (a, b) else { return None };
        let (a, b) = (a.as_i64()?, b.as_i64()?);
        match self {
            Arithmetic::Add => a.checked_add(b),
            Arithmetic::Sub => a.checked_sub(b),
            Arithmetic::Mul => a.checked_mul(b),
            Arithmetic::Div => None,
        }
    }

    fn doubles(self, a: f64, b: f64) -> f64 {
        match self {
            Arithmetic::Add => a + b,
            Arithmetic::Sub => a - b,
            Arithmetic::Mul => a * b,
            Arithmetic::Div => a / b,
        }
    }

    /// `a op b` for operands of compatible types, without conversion. NULL gives NULL.
    ///
    /// # Errors
    /// ORA-00932 for incompatible types; ORA-01426, ORA-01476, ORA-01841, ORA-01873 and others.
    pub fn typed(self, a: &Value, b: &Value) -> Result<Value> {
        use Arithmetic::{Add, Div, Mul, Sub};
        use Value::{Date, Double, Float, IntervalDs as Ds, IntervalYm as Ym, Null, Number, Timestamp as Ts};
        let is_sub = self == Sub;
        Ok(match (self, a, b) {
            (_, Null, _) | (_, _, Null) => Null,
            (_, Number(x), Number(y)) => Number(self.numbers(x, y)?),
            (_, Double(x), Double(y)) => Double(self.doubles(*x, *y)),
            (_, Float(x), Float(y)) => Float(self.doubles((*x).into(), (*y).into()) as f32),
            (Add | Sub, Date(d), Number(n)) => Date(d.add_days(&if is_sub { n.neg() } else { *n })?),
            (Sub, Date(x), Date(y)) => Number(x.days_since(y)),
            (Sub, Ts(x), Ts(y)) => Ds(x.since(y)),
            (Add | Sub, Date(d), Ds(i)) => Date(d.add_seconds(signed_ds(i, is_sub)?.seconds)?),
            (Add | Sub, Date(d), Ym(i)) => Date(types::Timestamp::new(*d, 0).add_ym(&signed_ym(i, is_sub))?.clock()),
            (Add | Sub, Ts(t), Ds(i)) => Ts(t.add_ds(&signed_ds(i, is_sub)?)?),
            (Add | Sub, Ts(t), Ym(i)) => Ts(t.add_ym(&signed_ym(i, is_sub))?),
            (Add | Sub, Ds(x), Ds(y)) => {
                let y = if is_sub { -y.to_nanos() } else { y.to_nanos() };
                Ds(IntervalDs::from_nanos(x.to_nanos() + y)?)
            }
            (Add | Sub, Ym(x), Ym(y)) => {
                let y = signed_ym(y, is_sub);
                Ym(IntervalYm::new(i64::from(x.months) + i64::from(y.months))?)
            }
            (Mul | Div, Ds(i), Number(n)) => Ds(self.scaled_ds(i, n)?),
            (Mul | Div, Ym(i), Number(n)) => Ym(self.scaled_ym(i, n)?),
            (Add, Number(_) | Ds(_) | Ym(_), Date(_) | Ts(_)) | (Mul, Number(_), Ds(_) | Ym(_)) => self.typed(b, a)?,
            _ => return Err(Ora::with(932, &[&a.data_type().name(), &b.data_type().name()])),
        })
    }

    fn scaled_ds(self, i: &IntervalDs, n: &Number) -> Result<IntervalDs> {
        let scaled = self.numbers(&Number::from_i128(i.to_nanos()), n)?;
        IntervalDs::from_nanos(scaled.round(0).to_string().parse().map_err(|_| Ora::new(1873))?)
    }

    fn scaled_ym(self, i: &IntervalYm, n: &Number) -> Result<IntervalYm> {
        let scaled = self.numbers(&Number::from(i64::from(i.months)), n)?;
        IntervalYm::new(scaled.trunc(0).to_i64().map_err(|_| Ora::new(1873))?)
    }

    /// `a op b`, with PL/SQL's conversions of operands: text becomes NUMBER, or BINARY_DOUBLE together with one; a
    /// timestamp to which a number is added becomes a DATE; a datetime without time zone, together with one that has a
    /// time zone, gets the session's.
    ///
    /// # Errors
    /// Those of [`Arithmetic::typed`]; ORA-01722.
    pub fn apply(self, a: &Value, b: &Value, nls: &Nls) -> Result<Value> {
        use Value::{Date, Double, Float, Timestamp as Ts};
        match (a, b) {
            (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
            (Date(_) | Ts(_), Date(_) | Ts(_)) if self == Arithmetic::Sub => match (a, b) {
                (Date(_), Date(_)) => self.typed(a, b),
                _ => Ok(Value::IntervalDs(difference(&datetime(a), &datetime(b), nls)?)),
            },
            _ if is_time(a) && is_time(b) => self.typed(a, b),
            _ if is_time(a) => self.typed(&moved_by_days(a, nls)?, &number(b, nls)?),
            _ if is_time(b) => self.typed(&number(a, nls)?, &moved_by_days(b, nls)?),
            (Double(_) | Float(_), _) | (_, Double(_) | Float(_)) => {
                let (x, y) = (a.to_double(nls)?, b.to_double(nls)?);
                Ok(Double(self.doubles(x.unwrap_or(f64::NAN), y.unwrap_or(f64::NAN))))
            }
            _ => self.typed(&number(a, nls)?, &number(b, nls)?),
        }
    }
}

fn signed_ds(i: &IntervalDs, minus: bool) -> Result<IntervalDs> {
    if minus { IntervalDs::from_nanos(-i.to_nanos()) } else { Ok(*i) }
}

fn signed_ym(i: &IntervalYm, minus: bool) -> IntervalYm {
    if minus { IntervalYm { months: -i.months } } else { *i }
}

fn is_time(v: &Value) -> bool {
    matches!(v, Value::Date(_) | Value::Timestamp(_) | Value::IntervalDs(_) | Value::IntervalYm(_))
}

fn number(v: &Value, nls: &Nls) -> Result<Value> {
    Ok(v.to_number(nls)?.map_or(Value::Null, Value::Number))
}

/// The datetime to which a number is added: a timestamp becomes a DATE.
fn moved_by_days(v: &Value, nls: &Nls) -> Result<Value> {
    match v {
        Value::Timestamp(t) => Ok(Value::Date(t.date(nls.zone)?)),
        other => Ok(other.clone()),
    }
}

fn datetime(v: &Value) -> Timestamp {
    match v {
        Value::Date(d) => Timestamp::new(*d, 0),
        Value::Timestamp(t) => *t,
        other => unreachable!("not a datetime: {other:?}"),
    }
}

fn difference(a: &Timestamp, b: &Timestamp, nls: &Nls) -> Result<IntervalDs> {
    let is_nowhere = |t: &Timestamp| t.place() == Place::Nowhere;
    if is_nowhere(a) == is_nowhere(b) {
        return Ok(a.since(b));
    }
    Ok(nls.placed(a)?.since(&nls.placed(b)?))
}

/// `-a`.
///
/// # Errors
/// ORA-01722, ORA-00932.
pub fn negate(a: &Value, nls: &Nls) -> Result<Value> {
    Ok(match a {
        Value::Number(n) => Value::Number(n.neg()),
        Value::Double(x) => Value::Double(-x),
        Value::Float(x) => Value::Float(-x),
        Value::IntervalDs(i) => Value::IntervalDs(signed_ds(i, true)?),
        Value::IntervalYm(i) => Value::IntervalYm(signed_ym(i, true)),
        _ => a.to_number(nls)?.map_or(Value::Null, |n| Value::Number(n.neg())),
    })
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, types::image::Image)]
pub enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Comparison {
    /// The operator for swapped operands.
    pub fn swap(self) -> Comparison {
        match self {
            Comparison::Lt => Comparison::Gt,
            Comparison::Le => Comparison::Ge,
            Comparison::Gt => Comparison::Lt,
            Comparison::Ge => Comparison::Le,
            same => same,
        }
    }

    /// The negated operator; with NULL neither is true.
    pub fn negate(self) -> Comparison {
        match self {
            Comparison::Eq => Comparison::Ne,
            Comparison::Ne => Comparison::Eq,
            Comparison::Lt => Comparison::Ge,
            Comparison::Le => Comparison::Gt,
            Comparison::Gt => Comparison::Le,
            Comparison::Ge => Comparison::Lt,
        }
    }

    /// Whether the comparison is true for operands in that order.
    #[inline]
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            Comparison::Eq => order == Ordering::Equal,
            Comparison::Ne => order != Ordering::Equal,
            Comparison::Lt => order == Ordering::Less,
            Comparison::Le => order != Ordering::Greater,
            Comparison::Gt => order == Ordering::Greater,
            Comparison::Ge => order != Ordering::Less,
        }
    }
}

/// Writes `a || b`; NULL is the empty text. `out` must be neither operand.
///
/// # Errors
/// ORA-01489 if the result is longer than `most` bytes.
pub fn concat(a: &Value, b: &Value, most: usize, nls: &Nls, out: &mut Value) -> Result<()> {
    let buffer = out.text_buffer();
    a.write_text(nls, buffer)?;
    b.write_text(nls, buffer)?;
    let long = buffer.len() > most;
    out.normalize();
    if long { Err(Ora::new(1489)) } else { Ok(()) }
}

/// `text LIKE pattern ESCAPE escape`: `%` matches any text, `_` one character.
///
/// # Errors
/// ORA-01424 if the escape character is followed by anything but `%`, `_` or itself.
pub fn like(text: &str, pattern: &str, escape: Option<char>) -> Result<bool> {
    match escape {
        Some(escape) => check_escapes(pattern, escape)?,
        // Frequent patterns are plain searches.
        None if !pattern.contains('_') => {
            let mut parts = pattern.split('%');
            let first = parts.next().unwrap_or("");
            let Some(mut last) = parts.next() else { return Ok(text == first) };
            let Some(mut rest) = text.strip_prefix(first) else { return Ok(false) };
            for part in parts {
                match rest.find(last) {
                    Some(at) => rest = &rest[at + last.len()..],
                    None => return Ok(false),
                }
                last = part;
            }
            return Ok(rest.ends_with(last));
        }
        None => {}
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

/// Greedy matching with backtracking to the last `%` only: linear for one `%`, and at most the product of both lengths.
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

/// Reads an escape character.
///
/// # Errors
/// ORA-01425 for a text of another length than one.
pub fn escape_character(s: &str) -> Result<char> {
    let mut chars = s.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) => Ok(c),
        _ => Err(Ora::new(1425)), // not exactly one character
    }
}

/// Writes the literal prefix of a pattern. If a pattern ends within an escape, [`like`] reports it.
pub fn like_beginning(pattern: &str, escape: Option<char>, out: &mut String) {
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if Some(c) == escape {
            match chars.next() {
                Some(n) if n == '%' || n == '_' || Some(n) == escape => out.push(n),
                _ => return,
            }
        } else if c == '%' || c == '_' {
            return;
        } else {
            out.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Date;

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
            ("aa", "a%a%a", None, false),
            ("abcbc", "%b_", None, true),
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
        let apply = |op: Arithmetic, a: &Value, b: &Value| op.apply(a, b, &nls);
        assert_eq!(apply(Arithmetic::Add, &date(1), &n(2)).unwrap(), date(3));
        assert_eq!(apply(Arithmetic::Add, &n(2), &date(1)).unwrap(), date(3));
        assert_eq!(apply(Arithmetic::Sub, &date(3), &date(1)).unwrap(), n(2));
        assert_eq!(apply(Arithmetic::Add, &Value::text("1"), &n(2)).unwrap(), n(3));
        assert!(apply(Arithmetic::Add, &date(1), &date(1)).unwrap_err().is(932));
        assert!(apply(Arithmetic::Mul, &date(1), &n(1)).unwrap_err().is(932));
        assert!(apply(Arithmetic::Sub, &n(1), &date(1)).unwrap_err().is(932));
        assert!(apply(Arithmetic::Div, &n(1), &n(0)).unwrap_err().is(1476));
        assert!(apply(Arithmetic::Add, &n(1), &Value::Null).unwrap().is_null());
        let day = Value::IntervalDs(IntervalDs { seconds: 86_400, nanos: 0 });
        assert_eq!(apply(Arithmetic::Add, &date(1), &day).unwrap(), date(2));
        assert_eq!(
            apply(Arithmetic::Mul, &n(2), &day).unwrap(),
            Value::IntervalDs(IntervalDs { seconds: 172_800, nanos: 0 })
        );
        let month = Value::IntervalYm(IntervalYm { months: 1 });
        assert!(apply(Arithmetic::Add, &date(31), &month).unwrap_err().is(1839));
    }
}
