//! Data types of columns, expressions and variables.

use crate::error::Result;
use crate::{Nls, Value};
use std::fmt;

/// What the length of a character type counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum LenUnit {
    Byte,
    Char,
}

/// The time zone part of a TIMESTAMP type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Zone {
    None,
    WithTimeZone,
    WithLocalTimeZone,
}

/// A data type. `Null` is the type of the literal NULL; `Varchar2 { len: 0 }` is of unknown length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum DataType {
    Null,
    /// `precision: None, scale: None` is NUMBER; `precision: None, scale: Some(0)` is NUMBER(*,0), INTEGER.
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
    Nvarchar2 {
        len: u32,
    },
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
    Cursor,
}

impl DataType {
    /// NUMBER.
    pub const NUMBER: DataType = DataType::Number { precision: None, scale: None };
    /// VARCHAR2 of unknown length.
    pub const TEXT: DataType = DataType::Varchar2 { len: 0, unit: LenUnit::Byte };
    /// TIMESTAMP(6).
    pub const TIMESTAMP: DataType = DataType::Timestamp { digits: 6, zone: Zone::None };
    /// TIMESTAMP(6) WITH TIME ZONE.
    pub const TIMESTAMP_TZ: DataType = DataType::Timestamp { digits: 6, zone: Zone::WithTimeZone };

    /// Returns the name that ORA-00932 and DATA_TYPE use: `NUMBER`, `VARCHAR2`, `CHAR`, `DATE` …
    pub fn name(&self) -> &'static str {
        todo!()
    }
    /// Returns the code that DUMP and V$ views use: 1 VARCHAR2, 2 NUMBER, 12 DATE, 96 CHAR …
    pub fn code(&self) -> u8 {
        todo!()
    }
    /// Returns whether values are text.
    pub fn is_text(&self) -> bool {
        todo!()
    }
    /// Returns whether values are NUMBER, BINARY_FLOAT, BINARY_DOUBLE or PLS_INTEGER.
    pub fn is_numeric(&self) -> bool {
        todo!()
    }
    /// Returns whether values are DATE or TIMESTAMP.
    pub fn is_datetime(&self) -> bool {
        todo!()
    }
    /// Makes `value` a value of this type, in place: converts implicitly, pads CHAR, rounds NUMBER.
    /// `column` names the column in ORA-12899.
    pub fn assign(&self, _value: &mut Value, _nls: &Nls, _column: &dyn fmt::Display) -> Result<()> {
        todo!()
    }
    /// CAST(value AS type): like `assign`, but cuts text that is too long.
    pub fn cast(&self, _value: &mut Value, _nls: &Nls) -> Result<()> {
        todo!()
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        todo!()
    }
}
