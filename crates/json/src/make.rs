//! Values of SQL as JSON text: JSON_OBJECT, JSON_ARRAY and their aggregates.

use crate::strings::push_quoted;
use crate::write::WRITTEN_MAX;
use crate::{Document, Layout, Syntax, write};
use types::image::Image;
use types::{DataType, LenUnit, Nls, Ora, Place, Result, Value};

/// The clauses of a function that makes JSON.
#[derive(Clone, Debug, PartialEq, Image)]
pub struct Making {
    pub ty: DataType,
    /// NULL ON NULL; otherwise ABSENT ON NULL.
    pub keeps_nulls: bool,
    pub strict: bool,
    pub unique_keys: bool,
    pub pretty: bool,
    /// JSON_MERGEPATCH: NULL ON ERROR.
    pub null_on_error: bool,
    /// For each value, whether it is JSON already.
    pub json: Vec<bool>,
}

/// A value, and whether it is JSON already.
#[derive(Clone, Copy)]
pub struct Item<'a> {
    pub value: &'a Value,
    pub json: bool,
}

/// Appends a value as an element; returns false if it is absent.
///
/// # Errors
/// ORA-40654 for a value of a type without a form in JSON.
pub fn write_item(item: Item<'_>, keeps_nulls: bool, nls: &Nls, out: &mut String) -> Result<bool> {
    if item.value.is_null() && !keeps_nulls {
        return Ok(false);
    }
    push_value(item, nls, out)?;
    Ok(true)
}

/// Appends a member; returns false if it is absent.
///
/// # Errors
/// ORA-40595 for a key that is NULL; ORA-40654 as [`write_item`].
pub fn write_member(key: &Value, item: Item<'_>, keeps_nulls: bool, nls: &Nls, out: &mut String) -> Result<bool> {
    if item.value.is_null() && !keeps_nulls {
        return Ok(false);
    }
    let key = key.content().to_text(nls)?.ok_or_else(|| Ora::new(40595))?;
    push_quoted(&key, false, out);
    out.push(':');
    push_value(item, nls, out)?;
    Ok(true)
}

fn push_value(item: Item<'_>, nls: &Nls, out: &mut String) -> Result<()> {
    let Item { value, json } = item;
    match value.content() {
        Value::Null => out.push_str("null"),
        Value::EmptyLob => out.push_str("\"\""),
        Value::Text(text) if json => out.push_str(text),
        Value::Raw(bytes) if json => out.push_str(std::str::from_utf8(bytes).map_err(|_| Ora::new(40474))?),
        Value::Text(text) => push_quoted(text, false, out),
        Value::Boolean(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Number(n) => push_sql_number(&n.to_string(), out),
        Value::Double(d) => push_double(*d, &d.to_string(), &format!("{d:E}"), out),
        Value::Float(d) => push_double(f64::from(*d), &d.to_string(), &format!("{d:E}"), out),
        Value::Date(date) => {
            out.push('"');
            let start = out.len();
            types::format::date_to_char(date, "SYYYY-MM-DD\"T\"HH24:MI:SS", nls, out)?;
            drop_sign_blank(start, out);
            out.push('"');
        }
        Value::Timestamp(time) => {
            out.push('"');
            let start = out.len();
            types::format::timestamp_to_char(time, "SYYYY-MM-DD\"T\"HH24:MI:SS.FF6", nls, out)?;
            drop_sign_blank(start, out);
            if !matches!(time.place(), Place::Nowhere) {
                let start = out.len();
                types::format::timestamp_to_char(time, "TZH:TZM", nls, out)?;
                if &out[start..] == "+00:00" {
                    out.truncate(start);
                    out.push('Z');
                }
            }
            out.push('"');
        }
        Value::IntervalYm(_) | Value::IntervalDs(_) | Value::Rowid(_) => {
            let text = value.to_text(nls)?.unwrap_or_default();
            push_quoted(&text, false, out);
        }
        Value::Raw(bytes) => {
            out.push('"');
            types::write_hex(bytes, out);
            out.push('"');
        }
        Value::Composite(_) | Value::Lob(_) => return Err(Ora::new(40654)),
    }
    Ok(())
}

/// SYYYY has a blank where the sign would be.
fn drop_sign_blank(start: usize, out: &mut String) {
    if out[start..].starts_with(' ') {
        out.remove(start);
    }
}

/// A number without the zeros that SQL shows before an exponent.
fn push_sql_number(text: &str, out: &mut String) {
    match text.split_once('E') {
        Some((digits, exponent)) if digits.contains('.') => {
            crate::write::push_number(digits.trim_end_matches('0').trim_end_matches('.'), out);
            out.push('E');
            out.push_str(exponent);
        }
        _ => crate::write::push_number(text, out),
    }
}

/// JSON has no infinity and no NaN: they are texts. Large and small numbers have an exponent.
fn push_double(value: f64, plain: &str, scientific: &str, out: &mut String) {
    let magnitude = value.abs();
    if value.is_nan() {
        push_quoted("Nan", false, out);
    } else if value.is_infinite() {
        push_quoted(if value > 0.0 { "Inf" } else { "-Inf" }, false, out);
    } else if magnitude == 0.0 || (1e-5..1e17).contains(&magnitude) {
        out.push_str(plain);
    } else {
        out.push_str(scientific);
    }
}

impl Making {
    /// Checks a made text and gives it the wanted type and layout.
    ///
    /// # Errors
    /// ORA-40441 for a text that is not JSON with STRICT; ORA-40473 for a repeated key WITH UNIQUE KEYS; ORA-40478 for
    /// a text that is too long.
    pub fn finish(&self, out: &mut Value) -> Result<()> {
        let Value::Text(text) = out else { return Ok(()) };
        if self.strict || self.unique_keys || self.pretty {
            let mut document = Document::default();
            let syntax = Syntax { strict: self.strict, unique_keys: false, scalars: true };
            document.parse(text, syntax)?;
            if self.unique_keys && !crate::is_json(text, Syntax { unique_keys: true, ..syntax }) {
                return Err(Ora::new(40473));
            }
            if self.pretty {
                let mut pretty = String::new();
                write(&document, document.root(), Layout { pretty: true, ascii: false }, &mut pretty);
                *text = pretty;
            }
        }
        if text.len() > WRITTEN_MAX {
            return Err(crate::function::too_long(WRITTEN_MAX));
        }
        match self.ty {
            // No text has more characters than bytes.
            DataType::Varchar2 { len, unit }
                if text.len() > len as usize && (unit == LenUnit::Byte || text.chars().count() > len as usize) =>
            {
                return Err(crate::function::too_long(len as usize));
            }
            DataType::Blob => *out = Value::raw(std::mem::take(text).into_bytes()),
            _ => {}
        }
        Ok(())
    }
}
