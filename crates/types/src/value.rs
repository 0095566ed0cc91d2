//! A value of any type, and the rules by which one becomes another.

use crate::error::Result;
use crate::{DataType, Date, IntervalDs, IntervalYm, Nls, Number, Rowid, Timestamp};
use std::cmp::Ordering;

/// A value. The empty text is `Null`: nothing stores or returns `Text("")`.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub enum Value {
    #[default]
    Null,
    Number(Number),
    Text(String),
    Date(Date),
    Timestamp(Timestamp),
    Raw(Vec<u8>),
    Rowid(Rowid),
    Boolean(bool),
    Double(f64),
    Float(f32),
    IntervalYm(IntervalYm),
    IntervalDs(IntervalDs),
}

impl Value {
    /// Returns whether this is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
    /// Returns the general type of the value (no lengths).
    pub fn data_type(&self) -> DataType {
        todo!()
    }
    /// Makes a text, NULL when empty.
    pub fn text(s: impl Into<String>) -> Value {
        let s = s.into();
        if s.is_empty() { Value::Null } else { Value::Text(s) }
    }
    /// Sets this to a text, keeping the buffer; NULL when empty.
    pub fn set_text(&mut self, _s: &str) {
        todo!()
    }
    /// Gives the text buffer, cleared, to write into; call `normalize` after.
    pub fn text_buffer(&mut self) -> &mut String {
        todo!()
    }
    /// Turns an empty text or raw into NULL.
    pub fn normalize(&mut self) {
        todo!()
    }
    /// Sets this to bytes, keeping the buffer; NULL when empty.
    pub fn set_raw(&mut self, _bytes: &[u8]) {
        todo!()
    }
    /// Copies `other` into this one, reusing this one's buffer.
    pub fn set(&mut self, _other: &Value) {
        todo!()
    }
    /// Implicit conversion to NUMBER; `None` for NULL; ORA-01722, ORA-00932.
    pub fn to_number(&self, _nls: &Nls) -> Result<Option<Number>> {
        todo!()
    }
    /// Implicit conversion to BINARY_DOUBLE.
    pub fn to_double(&self, _nls: &Nls) -> Result<Option<f64>> {
        todo!()
    }
    /// Implicit conversion to DATE by NLS_DATE_FORMAT.
    pub fn to_date(&self, _nls: &Nls) -> Result<Option<Date>> {
        todo!()
    }
    /// Implicit conversion to TIMESTAMP.
    pub fn to_timestamp(&self, _nls: &Nls) -> Result<Option<Timestamp>> {
        todo!()
    }
    /// Implicit conversion to text; `None` for NULL.
    pub fn to_text(&self, _nls: &Nls) -> Result<Option<std::borrow::Cow<'_, str>>> {
        todo!()
    }
    /// Appends the implicit text; nothing for NULL. Allocates nothing but `out`'s growth.
    pub fn write_text(&self, _nls: &Nls, _out: &mut String) -> Result<()> {
        todo!()
    }
    /// Implicit conversion to RAW (HEXTORAW of text).
    pub fn to_raw(&self) -> Result<Option<Vec<u8>>> {
        todo!()
    }
    /// Three-valued comparison of values of comparable types: `None` when one is NULL; implicit conversion as Oracle ranks types
    /// (text against number converts the text, text against date converts the text). Text compares binary.
    pub fn compare(&self, _other: &Value, _nls: &Nls) -> Result<Option<Ordering>> {
        todo!()
    }
    /// Total order of ORDER BY and grouping for values of one type: NULL last and equal to NULL.
    pub fn sort_cmp(&self, _other: &Value) -> Ordering {
        todo!()
    }
    /// Hash for grouping, joins and DISTINCT, equal where `sort_cmp` is equal.
    pub fn hash_into(&self, _hasher: &mut impl std::hash::Hasher) {
        todo!()
    }
}

/// Compares texts with blank-padded semantics, as CHAR against CHAR or a literal does.
pub fn compare_padded(_a: &str, _b: &str) -> Ordering {
    todo!()
}
