//! Short names for columns and values.

use types::{DataType, Date, LenUnit, Number, Value};

/// The type of a view's column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// NUMBER.
    N,
    /// VARCHAR2(n).
    V(u32),
    /// RAW(n).
    R(u32),
    /// DATE.
    D,
    /// TIMESTAMP(6).
    S,
}

impl Type {
    /// The SQL data type.
    pub fn data_type(self) -> DataType {
        match self {
            Type::N => DataType::NUMBER,
            Type::V(len) => DataType::Varchar2 { len, unit: LenUnit::Byte },
            Type::R(len) => DataType::Raw { len },
            Type::D => DataType::Date,
            Type::S => DataType::TIMESTAMP,
        }
    }
}

/// A row of a view.
pub type Row = Vec<Value>;

/// A number.
pub fn n(value: impl TryInto<u64>) -> Value {
    value.try_into().map_or(Value::Null, |value| Value::Number(Number::from_u64(value)))
}

/// A text; an empty one is NULL.
pub fn t(text: impl AsRef<str>) -> Value {
    let text = text.as_ref();
    if text.is_empty() { Value::Null } else { Value::Text(text.to_string()) }
}

/// An address: eight bytes, most significant first.
pub fn address(value: u64) -> Value {
    Value::Raw(value.to_be_bytes().to_vec())
}

/// A date from nanoseconds since 1970.
pub fn date(wall_ns: u64) -> Value {
    if wall_ns == 0 {
        return Value::Null;
    }
    date_of_seconds(wall_ns / 1_000_000_000)
}

/// A time in the database's time zone, from nanoseconds since 1970.
pub fn time(wall_ns: u64) -> Value {
    let utc = (wall_ns / 1_000_000_000) as i64;
    match Date::UNIX_EPOCH.add_seconds(utc + i64::from(os::clock::utc_offset_seconds(utc))) {
        Ok(date) => {
            let nanos = (wall_ns % 1_000_000_000 / 1000 * 1000) as u32;
            Value::Timestamp(types::Timestamp::new(date, nanos))
        }
        Err(_) => Value::Null,
    }
}

/// A date from seconds since 1970.
pub fn date_of_seconds(seconds: u64) -> Value {
    match Date::UNIX_EPOCH.add_seconds(seconds as i64) {
        Ok(date) => Value::Date(date),
        Err(_) => Value::Null,
    }
}

/// YES or NO.
pub fn yes(on: bool) -> Value {
    t(if on { "YES" } else { "NO" })
}
