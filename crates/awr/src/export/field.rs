//! The values of exported tables: columns, fields and their kinds.

use std::io;
use types::Date;

/// The version of names, kinds and folders.
pub const VERSION: u32 = 1;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A 64-bit integer.
    Int,
    /// A double-precision number.
    Real,
    Text,
    /// A moment on the clock of the measured machine, without a zone; in microseconds since 1970.
    Moment,
    /// A duration in whole microseconds.
    Micros,
    Bytes,
}

impl Kind {
    /// The name of the kind in the schema.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Int => "int64",
            Kind::Real => "double",
            Kind::Text => "string",
            Kind::Moment => "timestamp_us",
            Kind::Micros => "duration_us",
            Kind::Bytes => "bytes",
        }
    }
}

/// A value; a value of another kind than its column is refused.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    Null,
    /// For [`Kind::Int`], [`Kind::Moment`] and [`Kind::Micros`].
    Int(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
}

impl Field {
    pub(super) fn is_of(&self, kind: Kind) -> bool {
        match self {
            Field::Null => true,
            Field::Int(_) => matches!(kind, Kind::Int | Kind::Moment | Kind::Micros),
            Field::Real(_) => kind == Kind::Real,
            Field::Text(_) => kind == Kind::Text,
            Field::Bytes(_) => kind == Kind::Bytes,
        }
    }

    /// A count.
    ///
    /// # Errors
    /// A count that exceeds a signed 64-bit integer.
    pub fn count(n: u64) -> io::Result<Field> {
        i64::try_from(n).map(Field::Int).map_err(|_| wrong(format!("{n} has no place in 64 bits with a sign")))
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Field::Text(t) => t.len() + 4,
            Field::Bytes(b) => b.len() + 4,
            _ => 8,
        }
    }
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub kind: Kind,
}

impl Column {
    pub fn new(name: impl Into<String>, kind: Kind) -> Column {
        Column { name: name.into(), kind }
    }
}

pub(crate) fn wrong(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

/// A moment in the form of the files: microseconds of its own clock since 1970.
pub fn moment_us(date: &Date, nanos: u32) -> i64 {
    date.to_unix() * 1_000_000 + i64::from(nanos) / 1000
}

/// `2026-11-22 09:45:00.000001`, with `between` in place of the blank.
pub(super) fn moment(us: i64, between: char) -> String {
    let (s, us) = (us.div_euclid(1_000_000), us.rem_euclid(1_000_000));
    let Ok(date) = Date::from_unix(s) else { return String::new() };
    let f = date.fields();
    format!("{:04}-{:02}-{:02}{between}{:02}:{:02}:{:02}.{us:06}", f.year, f.month, f.day, f.hour, f.minute, f.second)
}
