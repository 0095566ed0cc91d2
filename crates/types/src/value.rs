//! Values of all types, and their order.
//!
//! A value with parts and a LOB locator are shared, so that a register holds and copies them as cheaply as a number.
//! They contain values, so their types stand here too. The value of a LOB column is the text or the bytes, and SQL
//! expressions work with these. A locator is made where a LOB leaves a query, and by DBMS_LOB: it has the content at
//! that time, and the place that a change goes to. The content is shared and copied on write, so a locator read before
//! a change keeps its old content.

use crate::datatype::{DataType, Zone};
use crate::date::Date;
use crate::datetime::{IntervalDs, IntervalYm, Place, Timestamp};
use crate::error::{Ora, Result};
use crate::ids::{Rowid, TypeId};
use crate::lob::LobHome;
use crate::number::Number;
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

/// A value of a named type. An atomically null object or collection is [`Value::Null`].
#[derive(Clone, Debug, PartialEq)]
pub struct Composite {
    pub ty: TypeId,
    pub parts: Vec<Value>,
}

/// A locator of a CLOB or BLOB: its content and its place.
#[derive(Clone, Debug)]
pub struct Lob {
    /// A text, bytes, or [`Value::EmptyLob`]; NULL for a freed LOB.
    pub content: Value,
    /// Whether it is a BLOB instead of a CLOB.
    pub binary: bool,
    pub home: LobHome,
    /// Opened by DBMS_LOB.OPEN, and whether for writing.
    pub open: Option<bool>,
}

impl Lob {
    /// A temporary LOB.
    pub fn temporary(content: Value, binary: bool) -> Lob {
        Lob { content, binary, home: LobHome::Temporary, open: None }
    }

    pub fn data_type(&self) -> DataType {
        if self.binary { DataType::Blob } else { DataType::Clob }
    }
}

/// Locators are equal if their contents are, wherever they belong.
impl PartialEq for Lob {
    fn eq(&self, other: &Lob) -> bool {
        self.binary == other.binary && self.content == other.content
    }
}
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

pub(crate) fn double_cmp(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
