//! Data types of columns, expressions and variables, and conversions of values to a type.

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
    /// XMLTYPE. A value is its text, a document or a fragment of one.
    Xml,
}

/// The greatest length of a text type.
#[derive(Clone, Copy)]
pub(crate) struct Limit {
    pub(crate) len: u32,
    pub(crate) unit: LenUnit,
    pub(crate) padded: bool,
}

impl DataType {
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
            // Oracle names XMLTYPE by its owner, as an object type of SYS.
            DataType::Xml => "SYS.XMLTYPE",
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
            DataType::Xml => "XMLTYPE".into(),
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
            DataType::Xml => 58,
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
            DataType::Xml => 2000,
            DataType::Cursor | DataType::Named(_) => 0,
        }
    }

    /// The greatest length of a text type.
    pub(crate) fn limit(&self) -> Option<Limit> {
        let (len, unit, padded) = match *self {
            DataType::Varchar2 { len, unit } => (len, unit, false),
            DataType::Char { len, unit } => (len, unit, true),
            DataType::Nvarchar2 { len } => (len, LenUnit::Char, false),
            DataType::Nchar { len } => (len, LenUnit::Char, true),
            _ => return None,
        };
        Some(Limit { len, unit, padded })
    }
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
            DataType::Xml => f.write_str("SYS.XMLTYPE"),
            _ => f.write_str(&self.dictionary_name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
