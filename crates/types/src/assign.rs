//! Conversion of values to a data type: assignment and CAST.

use crate::datatype::{DataType, LenUnit, Limit, Zone};
use crate::datetime::{IntervalDs, Place, Timestamp};
use crate::error::{Ora, Result};
use crate::nls::Nls;
use crate::value::Value;
use std::fmt;

/// The greatest number of characters of a date in a format.
fn format_size(format: &str, nls: &crate::Nls) -> u32 {
    // In English, September and Wednesday have the longest names; padded names always have that length.
    let size = |month, day| {
        let date = crate::Date::new(2003, month, day, 22, 58, 58).ok()?;
        let mut text = String::new();
        crate::format::date_to_char(&date, format, nls, &mut text).ok()?;
        Some(text.chars().count() as u32)
    };
    if nls.date_language == "AMERICAN" {
        return size(9, 24).unwrap_or(9);
    }
    let longest_of =
        |dates: &mut dyn Iterator<Item = (u32, u32)>| dates.filter_map(|(month, day)| size(month, day)).max();
    let months = longest_of(&mut (1..=12).map(|month| (month, 24)));
    let days = longest_of(&mut (22..=28).map(|day| (9, day)));
    // The longest month and the longest day may meet.
    let least = size(9, 24).unwrap_or(9);
    months.zip(days).map_or(9, |(months, days)| months.max(least) + days.max(least) - least)
}

impl DataType {
    /// The greatest number of characters of a printed value, in the session's formats.
    pub fn display_size(&self, nls: &crate::Nls) -> u32 {
        match *self {
            DataType::Varchar2 { len, .. }
            | DataType::Char { len, .. }
            | DataType::Nvarchar2 { len }
            | DataType::Nchar { len } => len,
            DataType::Raw { len } => len * 2,
            DataType::Number { precision: Some(p), .. } => u32::from(p) + 1,
            DataType::Number { .. } | DataType::Float { .. } => 40,
            DataType::Date => format_size(&nls.date_format, nls),
            DataType::Timestamp { .. } => 75,
            DataType::IntervalYm { .. } | DataType::IntervalDs { .. } => 75,
            DataType::Null => 1,
            DataType::Rowid => 18,
            DataType::Cursor => 20,
            DataType::BinaryFloat | DataType::BinaryDouble => 24,
            _ => 80,
        }
    }

    /// Converts `value` to this type in place, as INSERT, UPDATE and assignment do: converts, pads CHAR, rounds NUMBER.
    ///
    /// `column` names the column in ORA-12899, for instance `"SCOTT"."EMP"."ENAME"`.
    /// # Errors
    /// ORA-12899 (too long), ORA-01438 (number too large), ORA-00932 (no conversion), or what the conversion raises.
    pub fn assign(&self, value: &mut Value, nls: &Nls, column: &dyn fmt::Display) -> Result<()> {
        self.convert(value, nls)?;
        let too_long = |actual: usize, len: u32| Err(Ora::with(12899, &[column, &actual, &len]));
        match (&mut *value, self.limit()) {
            (Value::Text(text), Some(limit)) if limit.len > 0 => {
                let actual = text_length(text, limit.unit);
                if actual > limit.len as usize {
                    return too_long(actual, limit.len);
                }
                if limit.padded {
                    pad(text, limit.len as usize - actual);
                }
            }
            (Value::Raw(bytes), _) => {
                if let DataType::Raw { len } = *self
                    && len > 0
                    && bytes.len() > len as usize
                {
                    return too_long(bytes.len(), len);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Quick check whether a value already is of this type. True for the most common cases; false does not exclude it.
    #[inline]
    pub fn takes(&self, value: &Value) -> bool {
        match (self, value) {
            (DataType::Number { precision: None, scale: None }, Value::Number(_)) => true,
            (DataType::Number { precision: Some(precision), scale }, Value::Number(n)) => {
                let places = i32::from(*precision) - i32::from(scale.unwrap_or(0)).max(0);
                let whole = n.as_i64().map(i64::unsigned_abs).filter(|_| scale.unwrap_or(0) >= 0);
                whole.is_some_and(|n| (1..=18).contains(&places) && n < 10u64.pow(places as u32))
            }
            (DataType::Number { precision: None, scale: Some(0) }, Value::Number(n)) => n.as_i64().is_some(),
            (DataType::Date, Value::Date(_)) => true,
            // A text has at most as many characters as bytes, whichever the length counts.
            (DataType::Varchar2 { len, .. }, Value::Text(text)) => text.len() <= *len as usize,
            _ => false,
        }
    }

    /// CAST(value AS type): like [`DataType::assign`], but truncates text that is too long.
    ///
    /// # Errors
    /// ORA-01438, ORA-00932, ORA-25137 for a number whose text is too long, or what the conversion raises.
    pub fn cast(&self, value: &mut Value, nls: &Nls) -> Result<()> {
        let from_number = matches!(value, Value::Number(_));
        self.convert(value, nls)?;
        if let (Value::Text(text), Some(limit)) = (&mut *value, self.limit())
            && limit.len > 0
        {
            let actual = text_length(text, limit.unit);
            if actual > limit.len as usize {
                if from_number {
                    return Err(Ora::new(25137));
                }
                cut(text, &limit);
            } else if limit.padded {
                pad(text, limit.len as usize - actual);
            }
        }
        if let (Value::Raw(bytes), DataType::Raw { len }) = (&mut *value, *self)
            && len > 0
        {
            bytes.truncate(len as usize);
        }
        Ok(())
    }

    /// Converts to this kind of value without checking its length.
    fn convert(&self, value: &mut Value, nls: &Nls) -> Result<()> {
        if value.is_null() {
            return Ok(());
        }
        value.make_content();
        if *value == Value::EmptyLob {
            match self {
                DataType::Clob | DataType::Nclob | DataType::Blob | DataType::Null => return Ok(()),
                _ if self.is_text() || matches!(self, DataType::Raw { .. } | DataType::Long | DataType::LongRaw) => {
                    *value = Value::Null;
                    return Ok(());
                }
                _ => return Err(value.mismatch(self)),
            }
        }
        let converted = match *self {
            DataType::Number { precision, scale } => {
                value.to_number(nls)?.map(|n| n.fit(precision, scale)).transpose()?.map(Value::Number)
            }
            DataType::Float { binary } => value.to_number(nls)?.map(|n| Value::Number(n.fit_float(binary))),
            DataType::PlsInteger => {
                value.to_number(nls)?.map(|n| n.to_i32()).transpose()?.map(|n| Value::Number(n.into()))
            }
            DataType::BinaryDouble => value.to_double(nls)?.map(Value::Double),
            DataType::BinaryFloat => value.to_double(nls)?.map(|x| Value::Float(x as f32)),
            DataType::Date => value.to_date(nls)?.map(Value::Date),
            DataType::Timestamp { digits, zone } => to_timestamp(value, zone, nls)?
                .map(|t| zoned(t, zone, nls))
                .transpose()?
                .map(|t| Value::Timestamp(t.round(digits))),
            DataType::Raw { .. } | DataType::LongRaw | DataType::Blob => {
                if matches!(value, Value::Raw(_)) {
                    return Ok(());
                }
                value.to_raw()?.map(Value::Raw)
            }
            DataType::Urowid if matches!(value, Value::Text(s) if crate::urowid::is_key(s)) => return Ok(()),
            DataType::Rowid | DataType::Urowid => value.to_rowid()?.map(Value::Rowid),
            DataType::IntervalYm { years } => {
                let interval = value.to_interval_ym()?;
                if interval.is_some_and(|i| u64::from(i.months.unsigned_abs() / 12) >= 10u64.pow(years.into())) {
                    return Err(Ora::new(1873));
                }
                interval.map(Value::IntervalYm)
            }
            DataType::IntervalDs { days, digits } => {
                let interval = value.to_interval_ds()?.map(|i| i.round(digits)).transpose()?;
                let whole_days = |i: &IntervalDs| i.to_nanos().unsigned_abs() / 86_400_000_000_000;
                if interval.is_some_and(|i| whole_days(&i) >= 10u128.pow(days.into())) {
                    return Err(Ora::new(1873));
                }
                interval.map(Value::IntervalDs)
            }
            DataType::Boolean if matches!(value, Value::Boolean(_)) => return Ok(()),
            DataType::Bfile if matches!(value, Value::Raw(_)) => return Ok(()),
            // Statements are compiled for values of the type or of its subtypes.
            DataType::Named(_) if matches!(value, Value::Composite(_)) => return Ok(()),
            DataType::Boolean | DataType::Cursor | DataType::Bfile | DataType::Named(_) => {
                return Err(value.mismatch(self));
            }
            DataType::Null => return Ok(()),
            _ if matches!(value, Value::Text(_)) => return Ok(()),
            _ => value.to_text(nls)?.map(|text| Value::Text(text.into_owned())),
        };
        *value = converted.unwrap_or(Value::Null);
        Ok(())
    }
}

/// A text is converted to a type with time zone by NLS_TIMESTAMP_TZ_FORMAT.
fn to_timestamp(value: &Value, zone: Zone, nls: &Nls) -> Result<Option<Timestamp>> {
    match (value, zone) {
        (Value::Text(s), Zone::WithTimeZone) => {
            crate::format::timestamp_from_text(s, &nls.timestamp_tz_format, nls).map(Some)
        }
        _ => value.to_timestamp(nls),
    }
}

fn zoned(t: Timestamp, zone: Zone, nls: &Nls) -> Result<Timestamp> {
    match zone {
        Zone::None if t.place() == Place::Nowhere => Ok(t),
        Zone::None => Ok(Timestamp::new(t.date(nls.zone)?, t.nanos)),
        Zone::WithTimeZone => nls.placed(&t),
        Zone::WithLocalTimeZone => Ok(nls.placed(&t)?.moved(Place::Session)),
    }
}

/// Returns the length of a text in a unit.
pub fn text_length(text: &str, unit: LenUnit) -> usize {
    match unit {
        LenUnit::Byte => text.len(),
        LenUnit::Char => text.chars().count(),
    }
}

fn pad(text: &mut String, missing: usize) {
    text.extend(std::iter::repeat_n(' ', missing));
}

fn cut(text: &mut String, limit: &Limit) {
    let len = limit.len as usize;
    let end = match limit.unit {
        LenUnit::Byte => (0..=len).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0),
        LenUnit::Char => text.char_indices().nth(len).map_or(text.len(), |(at, _)| at),
    };
    text.truncate(end);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Date, Number};

    fn assigned(data_type: DataType, value: impl Into<String>) -> Result<Value> {
        let mut value = Value::text(value);
        data_type.assign(&mut value, &Nls::default(), &"\"T\".\"C\"")?;
        Ok(value)
    }

    #[test]
    fn assignment_checks_lengths() {
        let varchar = |len| DataType::Varchar2 { len, unit: LenUnit::Byte };
        assert_eq!(assigned(varchar(3), "abc").unwrap(), Value::text("abc"));
        assert_eq!(
            assigned(varchar(2), "abc").unwrap_err().to_string(),
            "ORA-12899: value too large for column \"T\".\"C\" (actual: 3, maximum: 2)"
        );
        assert!(assigned(varchar(1), "ä").unwrap_err().is(12899));
        assert!(assigned(DataType::Varchar2 { len: 1, unit: LenUnit::Char }, "ä").is_ok());
        assert_eq!(assigned(DataType::Char { len: 4, unit: LenUnit::Byte }, "ab").unwrap(), Value::text("ab  "));
        assert!(assigned(DataType::Number { precision: Some(3), scale: Some(0) }, "1234").unwrap_err().is(1438));
        assert!(assigned(DataType::NUMBER, "x").unwrap_err().is(1722));
        assert_eq!(assigned(DataType::NUMBER, "").unwrap(), Value::Null);
        assert!(assigned(DataType::Raw { len: 1 }, "ABCD").unwrap_err().is(12899));
        assert!(assigned(DataType::Raw { len: 1 }, "XY").unwrap_err().is(1465));
    }

    #[test]
    fn values_of_the_type_are_not_changed_by_assignment() {
        let number = |precision, scale| DataType::Number { precision, scale };
        let types = [
            DataType::NUMBER,
            DataType::INTEGER,
            number(Some(1), None),
            number(Some(3), Some(0)),
            number(Some(5), Some(2)),
            number(Some(2), Some(4)),
            number(Some(4), Some(-2)),
            number(Some(38), Some(0)),
            DataType::Varchar2 { len: 3, unit: LenUnit::Byte },
            DataType::Date,
        ];
        let mut values: Vec<Value> = ["", "a", "abc", "abcd", "ä"].into_iter().map(Value::text).collect();
        values.push(Value::Date(Date::from_unix(1_700_000_000).unwrap()));
        for n in [0, 1, 9, 10, 99, 100, 999, 1000, 9999, 10_000, i64::MAX, i64::MIN] {
            for n in [n, n.checked_neg().unwrap_or(0)] {
                values.push(Value::Number(n.into()));
                values.push(Value::Number(Number::from_scaled(n.into(), -1).unwrap()));
            }
        }
        let mut taken = 0;
        for ty in &types {
            for value in values.iter().filter(|v| ty.takes(v)) {
                let mut assigned = value.clone();
                ty.assign(&mut assigned, &Nls::default(), &"\"T\".\"C\"").unwrap();
                assert_eq!(&assigned, value, "{ty:?}");
                taken += 1;
            }
        }
        assert!(taken > 60, "{taken}");
        assert!(number(Some(3), Some(0)).takes(&Value::Number((-999).into())));
        assert!(!number(Some(3), Some(0)).takes(&Value::Number(1000.into())));
    }

    #[test]
    fn cast_cuts() {
        let nls = Nls::default();
        let mut value = Value::text("abcdef");
        DataType::Varchar2 { len: 3, unit: LenUnit::Byte }.cast(&mut value, &nls).unwrap();
        assert_eq!(value, Value::text("abc"));
        let mut value = Value::Number(12345.into());
        assert!(DataType::Varchar2 { len: 2, unit: LenUnit::Byte }.cast(&mut value, &nls).unwrap_err().is(25137));
        let mut value = Value::Date(crate::Date::UNIX_EPOCH);
        assert_eq!(
            DataType::NUMBER.cast(&mut value, &nls).unwrap_err().to_string(),
            "ORA-00932: inconsistent datatypes: expected NUMBER got DATE"
        );
    }
}
