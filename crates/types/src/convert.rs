//! Conversions of values to other types, and the comparisons that convert.

use crate::datatype::DataType;
use crate::date::Date;
use crate::datetime::{IntervalDs, IntervalYm, Place, Timestamp};
use crate::error::{Ora, Result};
use crate::format;
use crate::ids::Rowid;
use crate::nls::Nls;
use crate::number::Number;
use crate::value::{Value, double_cmp, parse_hex, write_hex};
use std::borrow::Cow;
use std::cmp::Ordering;

impl Value {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn cmp(a: Value, b: Value) -> Result<Option<Ordering>> {
        a.compare(&b, &Nls::default())
    }

    fn n(x: i64) -> Value {
        Value::Number(x.into())
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
}
