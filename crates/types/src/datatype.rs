//! Data types of columns, expressions and variables, and conversions of values to a type.

use crate::datetime::{IntervalDs, Place, Timestamp};
use crate::error::{Ora, Result};
use crate::nls::Nls;
use crate::value::Value;
use std::fmt;

/// The unit of a character type's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, crate::image::Image)]
pub enum LenUnit {
    /// Bytes of UTF-8.
    Byte,
    /// Characters.
    Char,
}

/// The time zone part of a TIMESTAMP type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, crate::image::Image)]
pub enum Zone {
    /// TIMESTAMP.
    None,
    /// TIMESTAMP WITH TIME ZONE.
    WithTimeZone,
    /// TIMESTAMP WITH LOCAL TIME ZONE.
    WithLocalTimeZone,
}

/// A data type.
///
/// `Null` is the type of the literal NULL. A text or raw type of length 0 has an unknown length, as results of
/// expressions do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, crate::image::Image)]
#[allow(missing_docs)]
pub enum DataType {
    Null,
    /// Both `None` is NUMBER; a scale alone is NUMBER(*, scale), and INTEGER is NUMBER(*, 0).
    Number {
        precision: Option<u8>,
        scale: Option<i8>,
    },
    /// FLOAT(binary digits).
    Float {
        binary: u8,
    },
    Varchar2 {
        len: u32,
        unit: LenUnit,
    },
    Char {
        len: u32,
        unit: LenUnit,
    },
    /// The length counts characters.
    Nvarchar2 {
        len: u32,
    },
    /// The length counts characters.
    Nchar {
        len: u32,
    },
    Date,
    Timestamp {
        digits: u8,
        zone: Zone,
    },
    IntervalYm {
        years: u8,
    },
    IntervalDs {
        days: u8,
        digits: u8,
    },
    Raw {
        len: u32,
    },
    Rowid,
    Urowid,
    BinaryFloat,
    BinaryDouble,
    Long,
    LongRaw,
    Clob,
    Nclob,
    Blob,
    Bfile,
    /// PL/SQL only.
    Boolean,
    /// PL/SQL only: PLS_INTEGER, BINARY_INTEGER.
    PlsInteger,
    /// REF CURSOR.
    Cursor,
    /// An object or collection type, by its number in the catalog of types.
    Named(crate::TypeId),
}

/// The greatest length of a text type.
#[derive(Clone, Copy)]
struct Limit {
    len: u32,
    unit: LenUnit,
    padded: bool,
}

/// The greatest number of characters of a date in a format.
fn format_size(format: &str, nls: &crate::Nls) -> u32 {
    // September and Wednesday have the longest names; padded names always have that length.
    let day = crate::Date::new(2003, 9, 24, 22, 58, 58);
    let mut text = String::new();
    match day.map(|d| crate::format::date_to_char(&d, format, nls, &mut text)) {
        Ok(Ok(())) => text.chars().count() as u32,
        _ => 9,
    }
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

    /// NUMBER.
    pub const NUMBER: DataType = DataType::Number { precision: None, scale: None };
    /// NUMBER(*, 0).
    pub const INTEGER: DataType = DataType::Number { precision: None, scale: Some(0) };
    /// VARCHAR2 of unknown length.
    pub const TEXT: DataType = DataType::Varchar2 { len: 0, unit: LenUnit::Byte };
    /// CHAR of unknown length, as the type of a text literal.
    pub const CHAR: DataType = DataType::Char { len: 0, unit: LenUnit::Byte };
    /// TIMESTAMP(6).
    pub const TIMESTAMP: DataType = DataType::Timestamp { digits: 6, zone: Zone::None };
    /// TIMESTAMP(6) WITH TIME ZONE.
    pub const TIMESTAMP_TZ: DataType = DataType::Timestamp { digits: 6, zone: Zone::WithTimeZone };

    /// Returns the name that ORA-00932 uses.
    pub fn name(&self) -> &'static str {
        match self {
            DataType::Null => "NULL",
            DataType::Number { .. } | DataType::Float { .. } | DataType::PlsInteger => "NUMBER",
            DataType::Varchar2 { .. } => "CHAR",
            DataType::Char { .. } => "CHAR",
            DataType::Nvarchar2 { .. } | DataType::Nchar { .. } => "NCHAR",
            DataType::Date => "DATE",
            DataType::Timestamp { zone: Zone::None, .. } => "TIMESTAMP",
            DataType::Timestamp { zone: Zone::WithTimeZone, .. } => "TIMESTAMP WITH TIME ZONE",
            DataType::Timestamp { zone: Zone::WithLocalTimeZone, .. } => "TIMESTAMP WITH LOCAL TIME ZONE",
            DataType::IntervalYm { .. } => "INTERVAL YEAR TO MONTH",
            DataType::IntervalDs { .. } => "INTERVAL DAY TO SECOND",
            DataType::Raw { .. } => "BINARY",
            DataType::Rowid | DataType::Urowid => "ROWID",
            DataType::BinaryFloat => "BINARY_FLOAT",
            DataType::BinaryDouble => "BINARY_DOUBLE",
            DataType::Long => "LONG",
            DataType::LongRaw => "LONG BINARY",
            DataType::Clob => "CLOB",
            DataType::Nclob => "NCLOB",
            DataType::Blob => "BLOB",
            DataType::Bfile => "FILE",
            DataType::Boolean => "BOOLEAN",
            DataType::Cursor => "CURSER",
            DataType::Named(_) => "UDT",
        }
    }

    /// Returns the name in the DATA_TYPE column of the dictionary views, without lengths.
    pub fn dictionary_name(&self) -> String {
        match self {
            DataType::Null => "UNDEFINED".into(),
            DataType::Varchar2 { .. } => "VARCHAR2".into(),
            DataType::Nvarchar2 { .. } => "NVARCHAR2".into(),
            DataType::Nchar { .. } => "NCHAR".into(),
            DataType::Float { .. } => "FLOAT".into(),
            DataType::Raw { .. } => "RAW".into(),
            DataType::LongRaw => "LONG RAW".into(),
            DataType::Urowid => "UROWID".into(),
            DataType::Bfile => "BFILE".into(),
            DataType::PlsInteger => "PLS_INTEGER".into(),
            DataType::Cursor => "REF CURSOR".into(),
            DataType::Timestamp { digits, zone } => {
                let tail = match zone {
                    Zone::None => "",
                    Zone::WithTimeZone => " WITH TIME ZONE",
                    Zone::WithLocalTimeZone => " WITH LOCAL TIME ZONE",
                };
                format!("TIMESTAMP({digits}){tail}")
            }
            DataType::IntervalYm { years } => format!("INTERVAL YEAR({years}) TO MONTH"),
            DataType::IntervalDs { days, digits } => format!("INTERVAL DAY({days}) TO SECOND({digits})"),
            _ => self.name().into(),
        }
    }

    /// Returns the code that DUMP, describe calls and COL$ use.
    pub fn code(&self) -> u8 {
        match self {
            DataType::Null | DataType::Varchar2 { .. } | DataType::Nvarchar2 { .. } => 1,
            DataType::Number { .. } | DataType::Float { .. } | DataType::PlsInteger => 2,
            DataType::Long => 8,
            DataType::Date => 12,
            DataType::Raw { .. } => 23,
            DataType::LongRaw => 24,
            DataType::Rowid => 69,
            DataType::Char { .. } | DataType::Nchar { .. } => 96,
            DataType::BinaryFloat => 100,
            DataType::BinaryDouble => 101,
            DataType::Cursor => 102,
            DataType::Named(_) => 121,
            DataType::Clob | DataType::Nclob => 112,
            DataType::Blob => 113,
            DataType::Bfile => 114,
            DataType::Timestamp { zone: Zone::None, .. } => 180,
            DataType::Timestamp { zone: Zone::WithTimeZone, .. } => 181,
            DataType::IntervalYm { .. } => 182,
            DataType::IntervalDs { .. } => 183,
            DataType::Urowid => 208,
            DataType::Timestamp { zone: Zone::WithLocalTimeZone, .. } => 231,
            DataType::Boolean => 252,
        }
    }

    /// Returns whether values are text (LOBs of text included).
    pub fn is_text(&self) -> bool {
        self.limit().is_some() || matches!(self, DataType::Long | DataType::Clob | DataType::Nclob)
    }

    /// Returns whether values are NUMBER, BINARY_FLOAT, BINARY_DOUBLE or PLS_INTEGER.
    pub fn is_numeric(&self) -> bool {
        use DataType::*;
        matches!(self, Number { .. } | Float { .. } | BinaryFloat | BinaryDouble | PlsInteger)
    }

    /// Returns whether values are DATE or TIMESTAMP.
    pub fn is_datetime(&self) -> bool {
        matches!(self, DataType::Date | DataType::Timestamp { .. })
    }

    /// Returns whether values are INTERVAL.
    pub fn is_interval(&self) -> bool {
        matches!(self, DataType::IntervalYm { .. } | DataType::IntervalDs { .. })
    }

    /// Returns whether values are LOBs or LONG, which cannot be compared, sorted or grouped.
    pub fn is_lob(&self) -> bool {
        use DataType::*;
        matches!(self, Clob | Nclob | Blob | Bfile | Long | LongRaw)
    }

    /// Returns the greatest length of a stored value in bytes: DATA_LENGTH of the dictionary views.
    pub fn max_bytes(&self) -> u32 {
        match self {
            DataType::Varchar2 { len, unit } | DataType::Char { len, unit } => match unit {
                LenUnit::Byte => *len,
                LenUnit::Char => (*len * 4).min(32767),
            },
            DataType::Nvarchar2 { len } | DataType::Nchar { len } => len * 2,
            DataType::Raw { len } => *len,
            DataType::Null | DataType::Long | DataType::LongRaw => 0,
            DataType::Date => 7,
            DataType::Timestamp { zone: Zone::WithTimeZone, .. } => 13,
            DataType::Timestamp { .. } | DataType::IntervalDs { .. } => 11,
            DataType::IntervalYm { .. } => 5,
            DataType::Rowid => 10,
            DataType::Boolean => 1,
            DataType::BinaryFloat | DataType::PlsInteger => 4,
            DataType::BinaryDouble => 8,
            DataType::Number { .. } | DataType::Float { .. } => 22,
            DataType::Urowid | DataType::Clob | DataType::Nclob | DataType::Blob => 4000,
            DataType::Bfile => 530,
            DataType::Cursor | DataType::Named(_) => 0,
        }
    }

    fn limit(&self) -> Option<Limit> {
        let (len, unit, padded) = match *self {
            DataType::Varchar2 { len, unit } => (len, unit, false),
            DataType::Char { len, unit } => (len, unit, true),
            DataType::Nvarchar2 { len } => (len, LenUnit::Char, false),
            DataType::Nchar { len } => (len, LenUnit::Char, true),
            _ => return None,
        };
        Some(Limit { len, unit, padded })
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
                let actual = length(text, limit.unit);
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
            let actual = length(text, limit.unit);
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
            DataType::Named(ty) if matches!(value, Value::Composite(c) if c.ty == ty) => return Ok(()),
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
pub(crate) fn length(text: &str, unit: LenUnit) -> usize {
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

impl fmt::Display for DataType {
    /// Prints the type as DESCRIBE does: `NUMBER(10,2)`, `VARCHAR2(30)`, `VARCHAR2(30 CHAR)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            DataType::Number { precision: None, scale: None } => f.write_str("NUMBER"),
            DataType::Number { precision: None, scale: Some(0) } => f.write_str("NUMBER(38)"),
            DataType::Number { precision: None, scale: Some(scale) } => write!(f, "NUMBER(38,{scale})"),
            DataType::Number { precision: Some(p), scale: None | Some(0) } => write!(f, "NUMBER({p})"),
            DataType::Number { precision: Some(p), scale: Some(s) } => write!(f, "NUMBER({p},{s})"),
            DataType::Float { binary } => write!(f, "FLOAT({binary})"),
            DataType::Varchar2 { len: 0, .. } => f.write_str("VARCHAR2"),
            DataType::Varchar2 { len, unit: LenUnit::Byte } => write!(f, "VARCHAR2({len})"),
            DataType::Varchar2 { len, unit: LenUnit::Char } => write!(f, "VARCHAR2({len} CHAR)"),
            DataType::Char { len: 0, .. } => f.write_str("CHAR"),
            DataType::Char { len, unit: LenUnit::Byte } => write!(f, "CHAR({len})"),
            DataType::Char { len, unit: LenUnit::Char } => write!(f, "CHAR({len} CHAR)"),
            DataType::Nvarchar2 { len } => write!(f, "NVARCHAR2({len})"),
            DataType::Nchar { len } => write!(f, "NCHAR({len})"),
            DataType::Raw { len } => write!(f, "RAW({len})"),
            _ => f.write_str(&self.dictionary_name()),
        }
    }
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

    #[test]
    fn prints_as_describe() {
        for (data_type, text) in [
            (DataType::NUMBER, "NUMBER"),
            (DataType::INTEGER, "NUMBER(38)"),
            (DataType::Number { precision: Some(7), scale: Some(2) }, "NUMBER(7,2)"),
            (DataType::Varchar2 { len: 30, unit: LenUnit::Byte }, "VARCHAR2(30)"),
            (DataType::TIMESTAMP, "TIMESTAMP(6)"),
            (DataType::IntervalDs { days: 2, digits: 6 }, "INTERVAL DAY(2) TO SECOND(6)"),
            (DataType::LongRaw, "LONG RAW"),
        ] {
            assert_eq!(data_type.to_string(), text);
        }
    }
}
