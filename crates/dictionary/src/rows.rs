//! Rows of base tables as values, and the helpers that read and make them.

use crate::base::Base;
use types::codec::decode_into;
use types::{DataType, LenUnit, Number, Ora, Result, RowReader, RowWriter, Value, Zone};

/// A row of a base table.
pub type Row = Vec<Value>;

/// Decodes a stored row. Columns that a later release has added are NULL in older rows.
pub fn decode(base: Base, bytes: &[u8], row: &mut Row) -> Result<()> {
    let damaged = || Ora::internal(format_args!("[damaged row of {}]", base.table().name));
    let columns = base.table().columns;
    row.resize(columns.len(), Value::Null);
    let mut reader = RowReader::new(bytes).ok_or_else(damaged)?;
    let mut left = reader.count();
    for (value, (_, kind)) in row.iter_mut().zip(columns) {
        // In a database created before a column was added, old rows lack it.
        if left == 0 {
            *value = Value::Null;
            continue;
        }
        left -= 1;
        match reader.next_column().ok_or_else(damaged)?.bytes() {
            Some(bytes) => decode_into(bytes, &kind.data_type(), value)?,
            None => *value = Value::Null,
        }
    }
    Ok(())
}

/// Encodes a row; missing columns at the end are NULL.
pub fn encode(base: Base, row: &[Value], out: &mut Vec<u8>) {
    let count = base.table().columns.len();
    assert!(row.len() <= count, "{} values for {}", row.len(), base.table().name);
    let mut writer = RowWriter::new(out, count);
    for i in 0..count {
        match row.get(i) {
            Some(value) => writer.value(value),
            None => writer.null(),
        }
    }
}

/// A row of NULLs, to be filled in by position.
pub fn blank(base: Base) -> Row {
    vec![Value::Null; base.table().columns.len()]
}

/// An integer as a value.
pub fn int(n: impl Into<i64>) -> Value {
    Value::Number(Number::from_i64(n.into()))
}

/// A text as a value; '' is NULL.
pub fn text(s: impl Into<String>) -> Value {
    let s = s.into();
    if s.is_empty() { Value::Null } else { Value::Text(s) }
}

/// A boolean as 1 or 0.
pub fn flag(on: bool) -> Value {
    int(i64::from(on))
}

/// The integer in a column; `None` for NULL or a fraction.
pub fn as_i64(value: &Value) -> Option<i64> {
    match value {
        Value::Number(n) => n.to_i64().ok(),
        _ => None,
    }
}

pub fn as_u32(value: &Value) -> u32 {
    as_i64(value).and_then(|n| u32::try_from(n).ok()).unwrap_or(0)
}

pub fn as_text(value: &Value) -> &str {
    match value {
        Value::Text(s) => s,
        _ => "",
    }
}

pub fn as_optional_text(value: &Value) -> Option<String> {
    match value {
        Value::Text(s) => Some(s.clone()),
        _ => None,
    }
}

pub fn as_date(value: &Value) -> Option<types::Date> {
    match value {
        Value::Date(date) => Some(*date),
        _ => None,
    }
}

/// A data type as six columns: TYPE#, LENGTH, PRECISION#, SCALE, CHARSETFORM, CHARLENGTH. CHARLENGTH is set for lengths
/// in characters.
pub fn type_columns(ty: &DataType) -> [Value; 6] {
    let columns = |code: i64, length: u32| [int(code), int(length), Value::Null, Value::Null, Value::Null, Value::Null];
    let optional = |n: Option<i64>| n.map_or(Value::Null, int);
    let mut c = match ty {
        DataType::Number { .. } | DataType::Float { .. } => columns(2, 22),
        DataType::Varchar2 { len, .. } | DataType::Nvarchar2 { len } => columns(1, *len),
        DataType::Char { len, .. } | DataType::Nchar { len } => columns(96, *len),
        DataType::Date => columns(12, 7),
        DataType::Timestamp { zone: Zone::None, .. } => columns(180, 11),
        DataType::Timestamp { zone: Zone::WithTimeZone, .. } => columns(181, 13),
        DataType::Timestamp { zone: Zone::WithLocalTimeZone, .. } => columns(231, 11),
        DataType::IntervalYm { .. } => columns(182, 5),
        DataType::IntervalDs { .. } => columns(183, 11),
        DataType::Raw { len } => columns(23, *len),
        DataType::Rowid => columns(69, 10),
        DataType::Urowid => columns(208, 4000),
        DataType::BinaryFloat => columns(100, 4),
        DataType::BinaryDouble => columns(101, 8),
        DataType::Long => columns(8, 0),
        DataType::LongRaw => columns(24, 0),
        DataType::Clob | DataType::Nclob => columns(112, 4000),
        DataType::Blob => columns(113, 4000),
        DataType::Bfile => columns(114, 530),
        DataType::Boolean => columns(252, 1),
        DataType::PlsInteger => columns(3, 4),
        DataType::Cursor => columns(102, 0),
        DataType::Named(_) => columns(121, 1),
        DataType::Xml => columns(58, 2000),
        DataType::Null => columns(0, 0),
    };
    match ty {
        DataType::Number { precision, scale } => {
            c[2] = optional(precision.map(i64::from));
            c[3] = optional(scale.map(i64::from));
        }
        DataType::Float { binary } => {
            c[2] = int(*binary);
            c[3] = int(-127);
        }
        DataType::Timestamp { digits, .. } => c[3] = int(*digits),
        // The object number of the type.
        DataType::Named(id) => c[2] = int(id.0),
        DataType::IntervalYm { years } => c[2] = int(*years),
        DataType::IntervalDs { days, digits } => {
            c[2] = int(*days);
            c[3] = int(*digits);
        }
        DataType::Varchar2 { len, unit } | DataType::Char { len, unit } => {
            c[4] = int(1);
            c[5] = if *unit == LenUnit::Char { int(*len) } else { Value::Null };
        }
        DataType::Clob => c[4] = int(1),
        DataType::Nvarchar2 { .. } | DataType::Nchar { .. } | DataType::Nclob => c[4] = int(2),
        _ => {}
    }
    c
}

/// Decodes [`type_columns`]. ORA-00600 for a number that no release has written.
pub fn type_of_columns(c: &[Value]) -> Result<DataType> {
    let code = as_i64(&c[0]).unwrap_or(-1);
    let len = as_u32(&c[1]);
    let small = |value: &Value| as_u32(value) as u8;
    let (national, unit) = (as_i64(&c[4]) == Some(2), if c[5].is_null() { LenUnit::Byte } else { LenUnit::Char });
    Ok(match code {
        0 => DataType::Null,
        2 if as_i64(&c[3]) == Some(-127) => DataType::Float { binary: small(&c[2]) },
        2 => DataType::Number { precision: as_i64(&c[2]).map(|n| n as u8), scale: as_i64(&c[3]).map(|n| n as i8) },
        1 if national => DataType::Nvarchar2 { len },
        1 => DataType::Varchar2 { len, unit },
        96 if national => DataType::Nchar { len },
        96 => DataType::Char { len, unit },
        12 => DataType::Date,
        180 => DataType::Timestamp { digits: small(&c[3]), zone: Zone::None },
        181 => DataType::Timestamp { digits: small(&c[3]), zone: Zone::WithTimeZone },
        231 => DataType::Timestamp { digits: small(&c[3]), zone: Zone::WithLocalTimeZone },
        182 => DataType::IntervalYm { years: small(&c[2]) },
        183 => DataType::IntervalDs { days: small(&c[2]), digits: small(&c[3]) },
        23 => DataType::Raw { len },
        69 => DataType::Rowid,
        208 => DataType::Urowid,
        100 => DataType::BinaryFloat,
        101 => DataType::BinaryDouble,
        8 => DataType::Long,
        24 => DataType::LongRaw,
        58 => DataType::Xml,
        112 if national => DataType::Nclob,
        112 => DataType::Clob,
        113 => DataType::Blob,
        114 => DataType::Bfile,
        121 => DataType::Named(types::TypeId(as_u32(&c[2]))),
        252 => DataType::Boolean,
        _ => return Err(Ora::internal(format_args!("[type# {code}]"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_come_back_from_their_columns() {
        let all = [
            DataType::NUMBER,
            DataType::Number { precision: Some(10), scale: Some(-2) },
            DataType::Number { precision: None, scale: Some(0) },
            DataType::Float { binary: 63 },
            DataType::Varchar2 { len: 10, unit: LenUnit::Byte },
            DataType::Varchar2 { len: 10, unit: LenUnit::Char },
            DataType::Char { len: 3, unit: LenUnit::Char },
            DataType::Nvarchar2 { len: 5 },
            DataType::Nchar { len: 5 },
            DataType::Date,
            DataType::Timestamp { digits: 9, zone: Zone::WithTimeZone },
            DataType::Timestamp { digits: 0, zone: Zone::WithLocalTimeZone },
            DataType::TIMESTAMP,
            DataType::IntervalYm { years: 4 },
            DataType::IntervalDs { days: 2, digits: 6 },
            DataType::Raw { len: 16 },
            DataType::Rowid,
            DataType::BinaryFloat,
            DataType::BinaryDouble,
            DataType::Clob,
            DataType::Nclob,
            DataType::Blob,
            DataType::Named(types::TypeId(77)),
            DataType::Xml,
        ];
        for ty in all {
            assert_eq!(type_of_columns(&type_columns(&ty)).expect("known"), ty);
        }
        let unknown = [int(77), int(0), Value::Null, Value::Null, Value::Null, Value::Null];
        assert_eq!(type_of_columns(&unknown).unwrap_err().code(), 600);
    }
}
