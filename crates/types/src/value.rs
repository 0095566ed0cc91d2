//! Values of all types, and the conversions between them.

use crate::datatype::{DataType, LenUnit, Zone};
use crate::datetime::{Date, IntervalDs, IntervalYm, Place, Timestamp};
use crate::error::{Ora, Result};
use crate::format;
use crate::ids::Rowid;
use crate::lob::Lob;
use crate::named::Composite;
use crate::nls::Nls;
use crate::number::Number;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

/// A value. The empty text is NULL: `Text("")` and an empty `Raw` are never stored or returned (V3).
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// NULL of any type.
    #[default]
    Null,
    /// NUMBER and its subtypes.
    Number(Number),
    /// CHAR, VARCHAR2, CLOB, LONG.
    Text(String),
    /// DATE.
    Date(Date),
    /// TIMESTAMP of any kind.
    Timestamp(Timestamp),
    /// RAW, BLOB.
    Raw(Vec<u8>),
    /// ROWID.
    Rowid(Rowid),
    /// BOOLEAN of PL/SQL.
    Boolean(bool),
    /// BINARY_DOUBLE.
    Double(f64),
    /// BINARY_FLOAT.
    Float(f32),
    /// INTERVAL YEAR TO MONTH.
    IntervalYm(IntervalYm),
    /// INTERVAL DAY TO SECOND.
    IntervalDs(IntervalDs),
    /// An object or a collection.
    Composite(Arc<Composite>),
    /// A CLOB or BLOB without content, which is not NULL: EMPTY_CLOB().
    EmptyLob,
    /// A CLOB or BLOB locator of a program. SQL expressions use its content.
    Lob(Arc<Lob>),
}

const _: () = assert!(size_of::<Value>() == 32);

impl Value {
    /// Returns whether this is NULL.
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Returns the general type of the value, without lengths.
    pub fn data_type(&self) -> DataType {
        match self {
            Value::Null => DataType::Null,
            Value::Number(_) => DataType::NUMBER,
            Value::Text(_) => DataType::TEXT,
            Value::Date(_) => DataType::Date,
            Value::Timestamp(t) => {
                let zone = match t.place() {
                    Place::Nowhere => Zone::None,
                    Place::Session => Zone::WithLocalTimeZone,
                    Place::In(_) => Zone::WithTimeZone,
                };
                DataType::Timestamp { digits: 9, zone }
            }
            Value::Raw(_) => DataType::Raw { len: 0 },
            Value::Rowid(_) => DataType::Rowid,
            Value::Boolean(_) => DataType::Boolean,
            Value::Double(_) => DataType::BinaryDouble,
            Value::Float(_) => DataType::BinaryFloat,
            Value::IntervalYm(_) => DataType::IntervalYm { years: 9 },
            Value::IntervalDs(_) => DataType::IntervalDs { days: 9, digits: 9 },
            Value::Composite(c) => DataType::Named(c.ty),
            Value::EmptyLob => DataType::Clob,
            Value::Lob(lob) => lob.data_type(),
        }
    }

    /// The content of a LOB locator; any other value itself.
    #[inline]
    pub fn content(&self) -> &Value {
        match self {
            Value::Lob(lob) => &lob.content,
            value => value,
        }
    }

    /// Replaces a LOB locator by its content.
    pub fn make_content(&mut self) {
        if let Value::Lob(lob) = self {
            *self = match Arc::get_mut(lob) {
                Some(own) => std::mem::take(&mut own.content),
                None => lob.content.clone(),
            };
        }
    }

    /// Makes a text, NULL when empty.
    pub fn text(s: impl Into<String>) -> Value {
        let s = s.into();
        if s.is_empty() { Value::Null } else { Value::Text(s) }
    }

    /// Makes bytes, NULL when empty.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Value {
        let bytes = bytes.into();
        if bytes.is_empty() { Value::Null } else { Value::Raw(bytes) }
    }

    /// Sets this to a text, in the present buffer; NULL when empty.
    #[inline]
    pub fn set_text(&mut self, s: &str) {
        if s.is_empty() {
            *self = Value::Null;
        } else if let Value::Text(text) = self {
            text.clear();
            text.push_str(s);
        } else {
            *self = Value::Text(s.to_owned());
        }
    }

    /// Returns the text buffer, cleared, for writing. Call [`Value::normalize`] afterwards: an empty text is NULL.
    pub fn text_buffer(&mut self) -> &mut String {
        if let Value::Text(text) = self {
            text.clear();
        } else {
            *self = Value::Text(String::new());
        }
        let Value::Text(text) = self else { unreachable!("just set to a text") };
        text
    }

    /// Turns an empty text or raw into NULL.
    pub fn normalize(&mut self) {
        let empty = match self {
            Value::Text(text) => text.is_empty(),
            Value::Raw(bytes) => bytes.is_empty(),
            _ => false,
        };
        if empty {
            *self = Value::Null;
        }
    }

    /// Sets this to bytes, in the present buffer; NULL when empty.
    pub fn set_raw(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            *self = Value::Null;
        } else if let Value::Raw(raw) = self {
            raw.clear();
            raw.extend_from_slice(bytes);
        } else {
            *self = Value::Raw(bytes.to_vec());
        }
    }

    /// Copies `other` into this value and reuses its buffer (V6).
    #[inline]
    pub fn set(&mut self, other: &Value) {
        match other {
            Value::Text(s) => self.set_text(s),
            Value::Raw(bytes) => self.set_raw(bytes),
            Value::Number(n) => *self = Value::Number(*n),
            _ => *self = other.clone(),
        }
    }

    /// Makes ORA-00932: the value does not have the expected type.
    #[cold]
    pub fn mismatch(&self, expected: &DataType) -> Ora {
        Ora::with(932, &[&expected.name(), &self.data_type().name()])
    }

    /// Converts to NUMBER; `None` for NULL.
    ///
    /// # Errors
    /// ORA-01722 for a text that is not a number, ORA-00932 if there is no conversion.
    #[inline]
    pub fn to_number(&self, nls: &Nls) -> Result<Option<Number>> {
        match self {
            Value::Number(n) => Ok(Some(*n)),
            Value::Null => Ok(None),
            Value::Text(s) => Number::parse_with(s, nls.decimal).map(Some),
            Value::Double(x) => Number::from_f64(*x).map(Some),
            Value::Float(x) => Number::from_f64(x.to_string().parse().unwrap_or(f64::NAN)).map(Some),
            Value::Lob(lob) => lob.content.to_number(nls),
            _ => Err(self.mismatch(&DataType::NUMBER)),
        }
    }

    /// Converts to BINARY_DOUBLE; `None` for NULL.
    ///
    /// # Errors
    /// As [`Value::to_number`].
    pub fn to_double(&self, nls: &Nls) -> Result<Option<f64>> {
        Ok(match self {
            Value::Double(x) => Some(*x),
            Value::Float(x) => Some(f64::from(*x)),
            Value::Text(s) => Some(parse_double(s, nls)?),
            Value::Null => None,
            Value::Number(n) => Some(n.to_f64()),
            Value::Lob(lob) => lob.content.to_double(nls)?,
            _ => return Err(self.mismatch(&DataType::BinaryDouble)),
        })
    }

    /// Converts to DATE, text by NLS_DATE_FORMAT; `None` for NULL.
    ///
    /// # Errors
    /// Errors of [`format::date_from_text`]; ORA-00932 if there is no conversion.
    pub fn to_date(&self, nls: &Nls) -> Result<Option<Date>> {
        match self {
            Value::Date(d) => Ok(Some(*d)),
            Value::Null => Ok(None),
            Value::Timestamp(t) => t.date(nls.zone).map(Some),
            Value::Text(s) => format::date_from_text(s, &nls.date_format, nls).map(Some),
            Value::Lob(lob) => lob.content.to_date(nls),
            _ => Err(self.mismatch(&DataType::Date)),
        }
    }

    /// Converts to TIMESTAMP, text by NLS_TIMESTAMP_FORMAT; `None` for NULL. A timestamp with local time zone is
    /// converted to the session's time zone.
    ///
    /// # Errors
    /// Errors of [`format::timestamp_from_text`]; ORA-00932 if there is no conversion.
    pub fn to_timestamp(&self, nls: &Nls) -> Result<Option<Timestamp>> {
        match self {
            Value::Timestamp(t) => Ok(Some(t.seen_in(nls.zone))),
            Value::Date(d) => Ok(Some(Timestamp::new(*d, 0))),
            Value::Null => Ok(None),
            Value::Text(s) => format::timestamp_from_text(s, &nls.timestamp_format, nls).map(Some),
            Value::Lob(lob) => lob.content.to_timestamp(nls),
            _ => Err(self.mismatch(&DataType::TIMESTAMP)),
        }
    }

    /// Converts to ROWID; `None` for NULL; ORA-01410 for an invalid text.
    pub fn to_rowid(&self) -> Result<Option<Rowid>> {
        match self {
            Value::Rowid(rowid) => Ok(Some(*rowid)),
            Value::Null => Ok(None),
            Value::Text(s) => s.parse().map(Some),
            Value::Lob(lob) => lob.content.to_rowid(),
            _ => Err(self.mismatch(&DataType::Rowid)),
        }
    }

    /// Converts to INTERVAL YEAR TO MONTH; `None` for NULL.
    pub fn to_interval_ym(&self) -> Result<Option<IntervalYm>> {
        match self {
            Value::IntervalYm(i) => Ok(Some(*i)),
            Value::Null => Ok(None),
            Value::Text(s) => format::interval_ym_from_text(s).map(Some),
            Value::Lob(lob) => lob.content.to_interval_ym(),
            _ => Err(self.mismatch(&DataType::IntervalYm { years: 2 })),
        }
    }

    /// Converts to INTERVAL DAY TO SECOND; `None` for NULL.
    pub fn to_interval_ds(&self) -> Result<Option<IntervalDs>> {
        match self {
            Value::IntervalDs(i) => Ok(Some(*i)),
            Value::Null => Ok(None),
            Value::Text(s) => format::interval_ds_from_text(s).map(Some),
            Value::Lob(lob) => lob.content.to_interval_ds(),
            _ => Err(self.mismatch(&DataType::IntervalDs { days: 2, digits: 6 })),
        }
    }

    /// Converts to text; `None` for NULL. A text is borrowed.
    ///
    /// # Errors
    /// ORA-00932 for BOOLEAN; what a bad NLS format raises.
    pub fn to_text(&self, nls: &Nls) -> Result<Option<Cow<'_, str>>> {
        match self {
            Value::Null => Ok(None),
            Value::Text(s) => Ok(Some(Cow::Borrowed(s))),
            Value::EmptyLob => Ok(Some(Cow::Borrowed(""))),
            Value::Lob(lob) => lob.content.to_text(nls),
            _ => {
                let mut out = String::new();
                self.write_text(nls, &mut out)?;
                Ok(Some(Cow::Owned(out)))
            }
        }
    }

    /// Appends the text of the value, nothing for NULL.
    ///
    /// # Errors
    /// As [`Value::to_text`].
    pub fn write_text(&self, nls: &Nls, out: &mut String) -> Result<()> {
        match self {
            Value::Null | Value::EmptyLob => {}
            Value::Text(s) => out.push_str(s),
            Value::Number(n) => marked(nls, out, |out| n.write_text(out)),
            Value::Date(d) => format::date_to_char(d, &nls.date_format, nls, out)?,
            Value::Timestamp(t) => {
                let model = if t.zone().is_some() { &nls.timestamp_tz_format } else { &nls.timestamp_format };
                format::timestamp_to_char(t, model, nls, out)?;
            }
            Value::Raw(bytes) => write_hex(bytes, out),
            Value::Rowid(rowid) => {
                out.push_str(std::str::from_utf8(&rowid.to_text()).expect("the alphabet is ASCII"));
            }
            Value::Double(x) => marked(nls, out, |out| write_double(*x, 16, out)),
            Value::Float(x) => marked(nls, out, |out| write_double(f64::from(*x), 8, out)),
            Value::IntervalYm(i) => format::interval_ym_to_text(i, 2, out),
            Value::IntervalDs(i) => format::interval_ds_to_text(i, 2, 6, out),
            Value::Lob(lob) => return lob.content.write_text(nls, out),
            Value::Boolean(_) | Value::Composite(_) => return Err(self.mismatch(&DataType::TEXT)),
        }
        Ok(())
    }

    /// Converts to RAW: text is read as hexadecimal digits; `None` for NULL.
    ///
    /// # Errors
    /// ORA-01465 for a text that is not hexadecimal.
    pub fn to_raw(&self) -> Result<Option<Vec<u8>>> {
        match self {
            Value::Raw(bytes) => Ok(Some(bytes.clone())),
            Value::Null => Ok(None),
            Value::Text(s) => parse_hex(s).map(Some),
            Value::EmptyLob => Ok(Some(Vec::new())),
            Value::Lob(lob) => lob.content.to_raw(),
            _ => Err(self.mismatch(&DataType::Raw { len: 0 })),
        }
    }

    /// Compares two values; `None` when one is NULL.
    ///
    /// A text compared with a number, date, timestamp, rowid or interval is converted to that type; texts compare by
    /// their bytes.
    /// # Errors
    /// ORA-00932 for types that do not compare; errors of conversions.
    #[inline]
    pub fn compare(&self, other: &Value, nls: &Nls) -> Result<Option<Ordering>> {
        match (self, other) {
            (Value::Number(a), Value::Number(b)) => Ok(Some(a.cmp(b))),
            (Value::Text(a), Value::Text(b)) => Ok(Some(a.cmp(b))),
            (Value::Null, _) | (_, Value::Null) => Ok(None),
            (Value::Date(a), Value::Date(b)) => Ok(Some(a.cmp(b))),
            _ => self.compare_mixed(other, nls),
        }
    }

    fn compare_mixed(&self, other: &Value, nls: &Nls) -> Result<Option<Ordering>> {
        use Value::*;
        let both = |a: Option<Ordering>| Ok(a);
        match (self, other) {
            (Double(_) | Float(_), Number(_) | Text(_) | Double(_) | Float(_))
            | (Number(_) | Text(_), Double(_) | Float(_)) => {
                both(zip(self.to_double(nls)?, other.to_double(nls)?, |a, b| double_cmp(*a, *b)))
            }
            (Number(_), Text(_)) | (Text(_), Number(_)) => {
                both(zip(self.to_number(nls)?, other.to_number(nls)?, Ord::cmp))
            }
            (Date(_), Text(_)) | (Text(_), Date(_)) => both(zip(self.to_date(nls)?, other.to_date(nls)?, Ord::cmp)),
            (Timestamp(a), Timestamp(b)) => both(Some(compare_timestamps(a, b, nls)?)),
            (Timestamp(_), Date(_) | Text(_)) | (Date(_) | Text(_), Timestamp(_)) => {
                let (Some(a), Some(b)) = (self.to_timestamp(nls)?, other.to_timestamp(nls)?) else { return Ok(None) };
                both(Some(compare_timestamps(&a, &b, nls)?))
            }
            (Rowid(_), Rowid(_) | Text(_)) | (Text(_), Rowid(_)) => {
                both(zip(self.to_rowid()?, other.to_rowid()?, Ord::cmp))
            }
            (Raw(a), Raw(b)) => both(Some(a.cmp(b))),
            (Raw(_), Text(_)) | (Text(_), Raw(_)) => both(zip(self.to_raw()?, other.to_raw()?, Ord::cmp)),
            (IntervalYm(_), IntervalYm(_) | Text(_)) | (Text(_), IntervalYm(_)) => {
                both(zip(self.to_interval_ym()?, other.to_interval_ym()?, Ord::cmp))
            }
            (IntervalDs(_), IntervalDs(_) | Text(_)) | (Text(_), IntervalDs(_)) => {
                both(zip(self.to_interval_ds()?, other.to_interval_ds()?, Ord::cmp))
            }
            (Boolean(a), Boolean(b)) => both(Some(a.cmp(b))),
            // Objects have no MAP or ORDER method, so they have no order.
            (Composite(_), Composite(_)) => Err(Ora::new(22950)),
            (Lob(_), _) | (_, Lob(_)) => self.content().compare(other.content(), nls),
            _ => Err(other.mismatch(&self.data_type())),
        }
    }

    /// The total order of ORDER BY and grouping: NULL last and equal to NULL, NaN above every number.
    ///
    /// Values of one query column have one type; the order between types is fixed but arbitrary.
    pub fn sort_cmp(&self, other: &Value) -> Ordering {
        use Value::*;
        match (self, other) {
            (Number(a), Number(b)) => a.cmp(b),
            (Text(a), Text(b)) => a.cmp(b),
            (Date(a), Date(b)) => a.cmp(b),
            (Timestamp(a), Timestamp(b)) => a.cmp(b),
            (Raw(a), Raw(b)) => a.cmp(b),
            (Rowid(a), Rowid(b)) => a.cmp(b),
            (Boolean(a), Boolean(b)) => a.cmp(b),
            (Double(a), Double(b)) => double_cmp(*a, *b),
            (Float(a), Float(b)) => double_cmp((*a).into(), (*b).into()),
            (IntervalYm(a), IntervalYm(b)) => a.cmp(b),
            (IntervalDs(a), IntervalDs(b)) => a.cmp(b),
            (Null, Null) | (EmptyLob, EmptyLob) => Ordering::Equal,
            (Lob(_), _) | (_, Lob(_)) => self.content().sort_cmp(other.content()),
            (Composite(a), Composite(b)) => a.ty.cmp(&b.ty).then_with(|| {
                let pairs = a.parts.iter().zip(&b.parts).map(|(a, b)| a.sort_cmp(b));
                let first = pairs.into_iter().find(|o| o.is_ne());
                first.unwrap_or_else(|| a.parts.len().cmp(&b.parts.len()))
            }),
            _ => self.rank().cmp(&other.rank()),
        }
    }

    /// The order between types; NULL last.
    fn rank(&self) -> u8 {
        match self {
            Value::Number(_) => 0,
            Value::Float(_) => 1,
            Value::Double(_) => 2,
            Value::Text(_) => 3,
            Value::Date(_) => 4,
            Value::Timestamp(_) => 5,
            Value::Raw(_) => 6,
            Value::Rowid(_) => 7,
            Value::Boolean(_) => 8,
            Value::IntervalYm(_) => 9,
            Value::IntervalDs(_) => 10,
            Value::Composite(_) => 11,
            Value::EmptyLob | Value::Lob(_) => 12,
            Value::Null => 13,
        }
    }
}

fn zip<T>(a: Option<T>, b: Option<T>, cmp: impl Fn(&T, &T) -> Ordering) -> Option<Ordering> {
    Some(cmp(&a?, &b?))
}

/// Compares instants if one has a time zone: the other is taken in the session's time zone.
fn compare_timestamps(a: &Timestamp, b: &Timestamp, nls: &Nls) -> Result<Ordering> {
    if (a.place() == Place::Nowhere) == (b.place() == Place::Nowhere) {
        return Ok(a.cmp(b));
    }
    Ok(nls.placed(a)?.cmp(&nls.placed(b)?))
}

/// A test of a floating-point number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloatTest {
    /// `IS NAN`
    Nan,
    /// `IS INFINITE`
    Infinite,
}

impl FloatTest {
    /// The values for which the test holds: a number passes if it equals one of them. NaN equals itself.
    pub fn values(self) -> &'static [f64] {
        match self {
            FloatTest::Nan => &[f64::NAN],
            FloatTest::Infinite => &[f64::INFINITY, f64::NEG_INFINITY],
        }
    }
}

impl std::fmt::Display for FloatTest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            FloatTest::Nan => "NAN",
            FloatTest::Infinite => "INFINITE",
        })
    }
}

fn double_cmp(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// Writes a number with the session's decimal character.
fn marked(nls: &Nls, out: &mut String, write: impl FnOnce(&mut String)) {
    let from = out.len();
    write(out);
    if nls.decimal != '.'
        && let Some(at) = out[from..].find('.')
    {
        out.replace_range(from + at..from + at + 1, nls.decimal.encode_utf8(&mut [0; 4]));
    }
}

fn parse_double(text: &str, nls: &Nls) -> Result<f64> {
    let trimmed = text.trim_matches(' ');
    match trimmed.to_ascii_uppercase().as_str() {
        "INF" | "+INF" | "INFINITY" => return Ok(f64::INFINITY),
        "-INF" | "-INFINITY" => return Ok(f64::NEG_INFINITY),
        "NAN" => return Ok(f64::NAN),
        _ => {}
    }
    let number = trimmed.trim_end_matches(['d', 'D', 'f', 'F']);
    let plain = number.replace(nls.decimal, ".");
    let numeric = plain.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
    if !numeric {
        return Err(Ora::new(1722));
    }
    plain.parse().map_err(|_| Ora::new(1722))
}

/// Writes a double as TO_CHAR does: `1.5E+000`.
fn write_double(x: f64, decimals: usize, out: &mut String) {
    use std::fmt::Write;
    if x.is_nan() {
        return out.push_str("Nan");
    }
    if x.is_infinite() {
        return out.push_str(if x > 0.0 { "Inf" } else { "-Inf" });
    }
    if x == 0.0 {
        return out.push('0');
    }
    let text = format!("{x:.decimals$e}");
    let (mantissa, exponent) = text.split_once('e').expect("exponent notation has an exponent");
    let mantissa = mantissa.trim_end_matches('0');
    out.push_str(mantissa);
    if mantissa.ends_with('.') {
        out.push('0');
    }
    let exponent: i32 = exponent.parse().expect("an exponent is a number");
    write!(out, "E{}{:03}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
        .expect("writing to a String does not fail");
}

/// Appends bytes as upper-case hexadecimal digits.
pub fn write_hex(bytes: &[u8], out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for b in bytes {
        out.push(char::from(DIGITS[usize::from(b >> 4)]));
        out.push(char::from(DIGITS[usize::from(b & 15)]));
    }
}

/// Reads hexadecimal digits; an odd number of digits is extended by a leading zero. ORA-01465 for other characters.
pub fn parse_hex(text: &str) -> Result<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16).map(|d| d as u8)).collect();
    let digits = digits.ok_or_else(|| Ora::new(1465))?;
    let mut bytes = Vec::with_capacity(digits.len().div_ceil(2));
    let (head, pairs) = digits.split_at(digits.len() % 2);
    bytes.extend_from_slice(head);
    bytes.extend(pairs.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]));
    Ok(bytes)
}

/// Compares texts as CHAR with CHAR or a literal: the shorter one is padded with blanks.
pub fn compare_padded(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let common = a.len().min(b.len());
    a[..common].cmp(&b[..common]).then_with(|| {
        let tail = |rest: &[u8]| rest.iter().map(|c| c.cmp(&b' ')).find(|o| o.is_ne()).unwrap_or(Ordering::Equal);
        if a.len() > b.len() { tail(&a[common..]) } else { tail(&b[common..]).reverse() }
    })
}

/// Returns the length of a text in a unit.
pub fn text_length(text: &str, unit: LenUnit) -> usize {
    crate::datatype::length(text, unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cmp(a: Value, b: Value) -> Result<Option<Ordering>> {
        a.compare(&b, &Nls::default())
    }

    fn n(x: i64) -> Value {
        Value::Number(x.into())
    }

    #[test]
    fn the_empty_text_is_null() {
        assert!(Value::text("").is_null());
        let mut value = Value::text("x");
        value.set_text("");
        assert!(value.is_null());
        value.text_buffer();
        value.normalize();
        assert!(value.is_null());
        assert!(Value::raw([]).is_null());
    }

    #[test]
    fn comparison_is_three_valued_and_converts() {
        assert_eq!(cmp(Value::Null, n(1)).unwrap(), None);
        assert_eq!(cmp(n(2), n(10)).unwrap(), Some(Ordering::Less));
        assert_eq!(cmp(Value::text("2"), Value::text("10")).unwrap(), Some(Ordering::Greater));
        assert_eq!(cmp(Value::text("2"), n(10)).unwrap(), Some(Ordering::Less));
        assert_eq!(cmp(n(1), Value::Double(1.0)).unwrap(), Some(Ordering::Equal));
        assert!(cmp(Value::text("x"), n(10)).unwrap_err().is(1722));
        assert!(cmp(Value::Date(Date::UNIX_EPOCH), n(1)).unwrap_err().is(932));
        assert_eq!(cmp(Value::Date(Date::UNIX_EPOCH), Value::text("01-JAN-70")).unwrap(), Some(Ordering::Equal));
    }

    #[test]
    fn padded_comparison() {
        for (a, b, o) in [
            ("a", "a  ", Ordering::Equal),
            ("a", "ab", Ordering::Less),
            ("a\t", "a", Ordering::Less),
            ("b", "a  ", Ordering::Greater),
        ] {
            assert_eq!(compare_padded(a, b), o, "{a:?} {b:?}");
            assert_eq!(compare_padded(b, a), o.reverse());
        }
    }

    #[test]
    fn texts_of_values() {
        let text = |v: Value| v.to_text(&Nls::default()).unwrap().unwrap().into_owned();
        assert_eq!(text(Value::Number(".5".parse().unwrap())), ".5");
        assert_eq!(text(Value::Raw(vec![0xDE, 0xAD])), "DEAD");
        assert_eq!(text(Value::Double(1.5)), "1.5E+000");
        assert_eq!(text(Value::Double(2.0)), "2.0E+000");
        assert_eq!(text(Value::Double(f64::NAN)), "Nan");
        assert_eq!(text(Value::Date(Date::UNIX_EPOCH)), "01-JAN-70");
        assert!(Value::Boolean(true).to_text(&Nls::default()).is_err());
        let comma = Nls { decimal: ',', group: '.', ..Nls::default() };
        assert_eq!(Value::Number("1.5".parse().unwrap()).to_text(&comma).unwrap().unwrap(), "1,5");
        assert_eq!(Value::text("1,5").to_number(&comma).unwrap(), Some("1.5".parse().unwrap()));
    }

    #[test]
    fn hex() {
        assert_eq!(parse_hex("0aFF").unwrap(), [10, 255]);
        assert_eq!(parse_hex("aFF").unwrap(), [10, 255]);
        assert!(parse_hex("0g").unwrap_err().is(1465));
    }

    proptest! {
        #[test]
        fn values_are_equal_when_their_numbers_are(a in -3i64..3, b in -3i64..3, places in 0i32..2) {
            let value = |c: i64| Value::Number(Number::from_scaled(i128::from(c) * 10, -1 - places).unwrap());
            let (x, y) = (value(a), value(b));
            prop_assert_eq!(x.sort_cmp(&y).is_eq(), a == b);
        }
    }
}
