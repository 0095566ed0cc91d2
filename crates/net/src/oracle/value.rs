//! Values by their data type, and the descriptions of columns and binds.
//!
//! | type | bytes |
//! |---|---|
//! | NUMBER | the stored bytes: exponent and digits to the base of 100 |
//! | VARCHAR2, CHAR, LONG | UTF-8; in the national character set UTF-16, most significant byte first |
//! | DATE, TIMESTAMP | seven bytes in the stored form, nanoseconds in four |
//! | TIMESTAMP WITH TIME ZONE | the fields of UTC, then hours + 20, minutes + 60, or 0x80 and a region's number |
//! | INTERVAL | fields with 2³¹ or 60 added |
//! | BINARY_FLOAT, BINARY_DOUBLE | IEEE, transformed so that the bytes sort like the numbers |
//! | RAW | the bytes |
//! | CLOB, BLOB | of a bind the locator; of a row the cell of [`super::lob::write_cell`] |
//!
//! Types outside the table are not supported: [`of_type`] and [`is_bindable`] report that before a value is written or
//! read.

use super::field::{Reader, Writer, text};
use super::handshake::{CHARSET_UTF8, CHARSET_UTF16, Client, STRING_MAX};
use super::message;
use crate::local::{WireError, WireResult};
use std::borrow::Cow;
use types::{
    DataType, Date, IntervalDs, IntervalYm, LenUnit, Number, Place, Rdba, Rowid, TimeZone, Timestamp, Value, Zone,
    urowid,
};

/// The numbers of data types.
pub mod number {
    pub const VARCHAR: u8 = 1;
    pub const NUMBER: u8 = 2;
    pub const INTEGER: u8 = 3;
    pub const VARNUM: u8 = 6;
    pub const LONG: u8 = 8;
    pub const VARCHAR_SIZED: u8 = 9;
    pub const ROWID: u8 = 11;
    pub const DATE: u8 = 12;
    pub const RAW: u8 = 23;
    pub const LONG_RAW: u8 = 24;
    pub const LONG_VARCHAR: u8 = 94;
    pub const CHAR: u8 = 96;
    pub const FLOAT: u8 = 100;
    pub const DOUBLE: u8 = 101;
    pub const CURSOR: u8 = 102;
    pub const CLOB: u8 = 112;
    pub const BLOB: u8 = 113;
    pub const TIMESTAMP: u8 = 180;
    pub const TIMESTAMP_TZ: u8 = 181;
    pub const INTERVAL_YM: u8 = 182;
    pub const INTERVAL_DS: u8 = 183;
    pub const UROWID: u8 = 208;
    pub const TIMESTAMP_LTZ: u8 = 231;
    pub const BOOLEAN: u8 = 252;
}

use number as n;

/// Character set forms.
const FORM_CHAR: u8 = 1;
const FORM_NCHAR: u8 = 2;
/// A column of text.
const IS_TEXT: u8 = 0x80;
/// A bind whose values may be NULL.
const MAY_BE_NULL: u8 = 0x01;
/// A repeated bind name: the bind has the value of its earlier occurrence, and none is sent.
const IS_AGAIN: u8 = 0x80;
/// A PL/SQL bind with many elements.
const IS_ARRAY: u8 = 0x40;
/// The scale of a NUMBER without one.
const NO_SCALE: i8 = -127;
/// The size of a text whose type has none.
const UNKNOWN_SIZE: u32 = 4000;
/// Largest number of bytes of a NUMBER after the first.
const NUMBER_DIGITS: usize = 20;
/// The beginning of a LOB is sent with its locator.
const LOB_PREFETCH: u64 = 0x200_0000;
/// The first byte of a NULL BOOLEAN.
const ESCAPE: u8 = 0xfd;

/// A data type in messages: of a column, of a bind, or of the form in which a column is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Shape {
    /// One of [`number`].
    pub number: u8,
    pub flags: u8,
    pub precision: u8,
    pub scale: i8,
    /// Largest number of bytes of a value.
    pub size: u32,
    pub charset: u16,
    /// 1 text, 2 national text, 0 other types.
    pub form: u8,
    /// Largest number of characters; for a LOB the length of its beginning that is sent with the locator.
    pub chars: u32,
    /// Largest number of elements of a PL/SQL table; 0 for other binds.
    pub elements: u32,
}

/// The description of a column of the type; `None` for unsupported types.
pub fn of_type(data_type: &DataType) -> Option<Shape> {
    let sized = |number, size| Shape { number, size, ..Shape::default() };
    let text = |number, len: u32, per_char: u32| {
        let len = if len == 0 { UNKNOWN_SIZE / per_char } else { len };
        let size = (len * per_char).min(STRING_MAX);
        Shape { flags: IS_TEXT, charset: CHARSET_UTF8, form: FORM_CHAR, chars: len, ..sized(number, size) }
    };
    let national = |number, len: u32| Shape { charset: CHARSET_UTF16, form: FORM_NCHAR, ..text(number, len, 2) };
    let per_char = |unit| if unit == LenUnit::Char { 4 } else { 1 };
    Some(match *data_type {
        DataType::Null => text(n::VARCHAR, 1, 1),
        DataType::Varchar2 { len, unit } => text(n::VARCHAR, len, per_char(unit)),
        DataType::Char { len, unit } => text(n::CHAR, len, per_char(unit)),
        DataType::Nvarchar2 { len } => national(n::VARCHAR, len),
        DataType::Nchar { len } => national(n::CHAR, len),
        DataType::Number { precision, scale } => {
            let (precision, scale) = match (precision, scale) {
                (None, None) => (0, NO_SCALE),
                (None, Some(scale)) => (38, scale),
                (Some(precision), scale) => (precision, scale.unwrap_or(0)),
            };
            Shape { precision, scale, ..sized(n::NUMBER, 22) }
        }
        DataType::Float { binary } => Shape { precision: binary, scale: NO_SCALE, ..sized(n::NUMBER, 22) },
        DataType::PlsInteger => Shape { precision: 10, ..sized(n::NUMBER, 22) },
        // Clients of this version have no BOOLEAN columns.
        DataType::Boolean => Shape { precision: 1, ..sized(n::NUMBER, 22) },
        DataType::Date => sized(n::DATE, 7),
        DataType::Timestamp { digits, zone: Zone::None } => Shape { scale: digits as i8, ..sized(n::TIMESTAMP, 11) },
        DataType::Timestamp { digits, zone: Zone::WithTimeZone } => {
            Shape { scale: digits as i8, ..sized(n::TIMESTAMP_TZ, 13) }
        }
        DataType::IntervalYm { years } => Shape { precision: years, ..sized(n::INTERVAL_YM, 5) },
        DataType::IntervalDs { days, digits } => {
            Shape { precision: days, scale: digits as i8, ..sized(n::INTERVAL_DS, 11) }
        }
        DataType::Raw { len } => sized(n::RAW, if len == 0 { UNKNOWN_SIZE } else { len }),
        DataType::Rowid => sized(n::ROWID, 18),
        DataType::BinaryFloat => sized(n::FLOAT, 4),
        DataType::BinaryDouble => sized(n::DOUBLE, 8),
        // Drivers return XMLTYPE as a text, and so they do with LONG.
        DataType::Long | DataType::Xml => Shape { size: 0, ..text(n::LONG, 1, 1) },
        DataType::LongRaw => sized(n::LONG_RAW, 0),
        DataType::Timestamp { digits, zone: Zone::WithLocalTimeZone } => {
            Shape { scale: digits as i8, ..sized(n::TIMESTAMP_LTZ, 11) }
        }
        DataType::Urowid => sized(n::UROWID, UNKNOWN_SIZE),
        DataType::Clob => Shape { charset: CHARSET_UTF8, form: FORM_CHAR, ..sized(n::CLOB, UNKNOWN_SIZE) },
        DataType::Nclob => Shape { charset: CHARSET_UTF16, form: FORM_NCHAR, ..sized(n::CLOB, UNKNOWN_SIZE) },
        DataType::Blob => sized(n::BLOB, UNKNOWN_SIZE),
        DataType::Bfile | DataType::Named(_) => return None,
        DataType::Cursor => sized(n::CURSOR, 1),
    })
}

/// The number with which values of a type are sent that programs declare by another number.
fn plain_number(number: u8) -> u8 {
    match number {
        n::VARNUM => n::NUMBER,
        187 => n::TIMESTAMP,
        188 => n::TIMESTAMP_TZ,
        189 => n::INTERVAL_YM,
        190 => n::INTERVAL_DS,
        232 => n::TIMESTAMP_LTZ,
        number => number,
    }
}

/// Whether values of the type can be bound.
pub fn is_bindable(shape: &Shape) -> bool {
    let known = [
        n::VARCHAR,
        n::NUMBER,
        n::INTEGER,
        n::LONG,
        n::VARCHAR_SIZED,
        n::DATE,
        n::RAW,
        n::LONG_RAW,
        n::LONG_VARCHAR,
        n::CHAR,
        n::FLOAT,
        n::DOUBLE,
        n::TIMESTAMP,
        n::TIMESTAMP_TZ,
        n::TIMESTAMP_LTZ,
        n::INTERVAL_YM,
        n::INTERVAL_DS,
        n::BOOLEAN,
        n::ROWID,
        n::CLOB,
        n::BLOB,
    ];
    let is_single = shape.is_cursor() || shape.is_lob();
    (known.contains(&shape.number) || shape.is_cursor()) && !(is_single && shape.is_table())
}

impl Shape {
    /// Whether the bind is a PL/SQL table with elements of the type.
    pub fn is_table(&self) -> bool {
        self.flags & IS_ARRAY != 0
    }

    /// Whether values are cursors.
    pub fn is_cursor(&self) -> bool {
        self.number == n::CURSOR
    }

    /// Whether values are text.
    pub fn is_text(&self) -> bool {
        matches!(self.number, n::VARCHAR | n::VARCHAR_SIZED | n::LONG | n::LONG_VARCHAR | n::CHAR)
    }

    /// Whether values are locators.
    pub fn is_lob(&self) -> bool {
        matches!(self.number, n::CLOB | n::BLOB)
    }

    /// The description of a bind of the type, from the description of a column.
    #[must_use]
    pub fn bound(self) -> Shape {
        Shape { flags: MAY_BE_NULL, ..self }
    }

    /// Whether the bind's name occurred before, so that it has the value of the earlier occurrence.
    pub fn is_again(&self) -> bool {
        self.flags & IS_AGAIN != 0
    }

    /// Whether values have any length, and the client fetches them separately.
    pub fn is_long(&self) -> bool {
        matches!(self.number, n::LONG | n::LONG_RAW)
    }

    /// The data type that it stands for.
    pub fn data_type(&self) -> DataType {
        match self.number {
            n::NUMBER | n::INTEGER => DataType::NUMBER,
            n::DATE => DataType::Date,
            n::TIMESTAMP => DataType::Timestamp { digits: 9, zone: Zone::None },
            n::TIMESTAMP_TZ => DataType::Timestamp { digits: 9, zone: Zone::WithTimeZone },
            n::TIMESTAMP_LTZ => DataType::Timestamp { digits: 9, zone: Zone::WithLocalTimeZone },
            n::INTERVAL_YM => DataType::IntervalYm { years: 9 },
            n::INTERVAL_DS => DataType::IntervalDs { days: 9, digits: 9 },
            n::RAW | n::LONG_RAW => DataType::Raw { len: self.size },
            n::FLOAT => DataType::BinaryFloat,
            n::DOUBLE => DataType::BinaryDouble,
            n::BOOLEAN => DataType::Boolean,
            n::ROWID => DataType::Rowid,
            n::UROWID => DataType::Urowid,
            n::CHAR => DataType::Char { len: self.size, unit: LenUnit::Byte },
            n::CURSOR => DataType::Cursor,
            n::CLOB => DataType::Clob,
            n::BLOB => DataType::Blob,
            _ => DataType::Varchar2 { len: self.size, unit: LenUnit::Byte },
        }
    }

    /// The data type of a column with this description.
    pub fn column_type(&self) -> DataType {
        let sized = |national: fn(u32) -> DataType, own: fn(u32, LenUnit) -> DataType| match self.form {
            FORM_NCHAR => national(self.chars),
            _ if self.chars == 0 || self.chars == self.size => own(self.size, LenUnit::Byte),
            _ => own(self.chars, LenUnit::Char),
        };
        match self.number {
            n::VARCHAR => sized(|len| DataType::Nvarchar2 { len }, |len, unit| DataType::Varchar2 { len, unit }),
            n::CHAR => sized(|len| DataType::Nchar { len }, |len, unit| DataType::Char { len, unit }),
            n::NUMBER if self.scale == NO_SCALE && self.precision == 0 => DataType::NUMBER,
            n::NUMBER if self.scale == NO_SCALE => DataType::Float { binary: self.precision },
            n::NUMBER => DataType::Number { precision: Some(self.precision), scale: Some(self.scale) },
            n::TIMESTAMP | n::TIMESTAMP_TZ | n::TIMESTAMP_LTZ => {
                let zone = match self.number {
                    n::TIMESTAMP => Zone::None,
                    n::TIMESTAMP_TZ => Zone::WithTimeZone,
                    _ => Zone::WithLocalTimeZone,
                };
                DataType::Timestamp { digits: self.scale.clamp(0, 9) as u8, zone }
            }
            n::INTERVAL_YM => DataType::IntervalYm { years: self.precision },
            n::INTERVAL_DS => DataType::IntervalDs { days: self.precision, digits: self.scale.clamp(0, 9) as u8 },
            n::LONG => DataType::Long,
            n::LONG_RAW => DataType::LongRaw,
            _ => self.data_type(),
        }
    }

    fn read_scale(r: &mut Reader<'_>, client: Client) -> WireResult<i8> {
        if client.byte_scale {
            return Ok(r.u8()? as i8);
        }
        i8::try_from(r.sb4()?).map_err(|_| WireError::LengthOutOfBounds)
    }

    pub(super) fn write_scale(&self, w: &mut Writer<'_>, client: Client) {
        if client.byte_scale { w.u8(self.scale as u8) } else { w.signed(self.scale.into()) }
    }

    /// Reads the description of a bind, or of the form in which a column is fetched.
    ///
    /// # Errors
    /// [`WireError`] for an invalid description.
    pub fn read(r: &mut Reader<'_>, client: Client) -> WireResult<Shape> {
        let (number, flags, precision) = (plain_number(r.u8()?), r.u8()?, r.u8()?);
        let scale = Shape::read_scale(r, client)?;
        let (size, elements) = (r.ub4()?, r.ub4()?);
        let more = r.ub8()?;
        r.long_bytes()?;
        r.ub4()?;
        let (charset, form, mut chars) = (r.ub2()?, r.u8()?, r.ub4()?);
        if client.field_version >= 8 {
            r.ub4()?;
        }
        if matches!(number, n::CLOB | n::BLOB) && more & LOB_PREFETCH == 0 {
            chars = 0;
        }
        Ok(Shape { number, flags, precision, scale, size, charset, form, chars, elements })
    }

    /// Appends the description of a bind, which is also a part of a column's.
    pub fn write(&self, w: &mut Writer<'_>, client: Client) {
        w.raw(&[self.number, self.flags, self.precision]);
        self.write_scale(w, client);
        w.number(self.size);
        w.number(self.elements);
        w.zeros(3);
        w.number(self.charset);
        w.u8(self.form);
        w.number(self.chars);
        if client.field_version >= 8 {
            w.u8(0);
        }
    }
}

/// A column of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub shape: Shape,
    pub nullable: bool,
}

impl Column {
    /// Appends the description of the column at index `place`.
    pub fn write(&self, w: &mut Writer<'_>, client: Client, place: usize) {
        self.shape.write(w, client);
        w.u8(self.nullable.into());
        w.u8(self.name.chars().count().min(255) as u8);
        w.long_bytes(self.name.as_bytes());
        w.zeros(2);
        w.number(place as u64);
        w.u8(0);
    }

    /// Reads a description.
    ///
    /// # Errors
    /// [`WireError`] for an invalid description.
    pub fn read(r: &mut Reader<'_>, client: Client) -> WireResult<Column> {
        let shape = Shape::read(r, client)?;
        let nullable = r.u8()? != 0;
        r.u8()?;
        let name = r.long_text()?;
        r.long_bytes()?;
        r.long_bytes()?;
        r.ub2()?;
        r.ub4()?;
        Ok(Column { name, shape, nullable })
    }
}

/// Appends a value of a row or of a returned bind.
///
/// # Errors
/// [`WireError::BadValue`] when the value is not of the type.
pub fn write(w: &mut Writer<'_>, value: &Value, shape: &Shape) -> WireResult<()> {
    let mut bytes = [0u8; 13];
    match (value, shape.number) {
        (Value::Null | Value::EmptyLob, _) => w.u8(0),
        (Value::Number(v), n::NUMBER | n::INTEGER) => {
            // At most 21 bytes.
            let out = w.out();
            let at = out.len();
            out.push(0);
            v.encode(out);
            out[at] = (out.len() - at - 1) as u8;
        }
        (Value::Boolean(b), n::NUMBER | n::INTEGER) => w.raw(if *b { &[2, 0xc1, 2] } else { &[1, 0x80] }),
        (Value::Boolean(b), n::BOOLEAN) => w.raw(if *b { &[1, 1] } else { &[1, 0] }),
        (Value::Text(t), _) if shape.is_text() => match shape.form {
            FORM_NCHAR => w.bytes(&t.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>()),
            _ => w.bytes(t.as_bytes()),
        },
        (Value::Date(d), n::DATE) => w.bytes(&d.to_bytes()),
        (Value::Timestamp(t), n::TIMESTAMP | n::TIMESTAMP_LTZ) => {
            bytes[..7].copy_from_slice(&t.clock().to_bytes());
            bytes[7..11].copy_from_slice(&t.nanos.to_be_bytes());
            w.bytes(&bytes[..11]);
        }
        (Value::Timestamp(t), n::TIMESTAMP_TZ) => {
            bytes[..7].copy_from_slice(&t.clock().to_bytes());
            bytes[7..11].copy_from_slice(&t.nanos.to_be_bytes());
            bytes[11..].copy_from_slice(&known_zone(t).to_bytes());
            w.bytes(&bytes);
        }
        (Value::IntervalYm(i), n::INTERVAL_YM) => {
            bytes[..4].copy_from_slice(&biased(i.months / 12));
            bytes[4] = (i.months % 12 + 60) as u8;
            w.bytes(&bytes[..5]);
        }
        (Value::IntervalDs(i), n::INTERVAL_DS) => {
            bytes[..11].copy_from_slice(&interval_bytes(i));
            w.bytes(&bytes[..11]);
        }
        (Value::Raw(v), n::RAW | n::LONG_RAW) => w.bytes(v),
        // A cell made by `lob::write_cell`.
        (Value::Raw(cell), n::CLOB | n::BLOB) => w.raw(cell),
        (Value::Float(f), n::FLOAT) => {
            let bits = f.to_bits();
            w.bytes(&if f.is_sign_negative() { !bits } else { bits | 1 << 31 }.to_be_bytes());
        }
        (Value::Double(f), n::DOUBLE) => {
            let bits = f.to_bits();
            w.bytes(&if f.is_sign_negative() { !bits } else { bits | 1 << 63 }.to_be_bytes());
        }
        (Value::Number(cursor), n::CURSOR) => {
            w.raw(&[1, 1]);
            w.number(u16::try_from(cursor.as_i64().unwrap_or(0)).map_err(|_| WireError::BadValue)?);
        }
        (Value::Rowid(id), n::ROWID) => {
            w.u8(13);
            write_rowid(w, id);
        }
        (Value::Rowid(id), n::UROWID) => {
            let mut bytes = vec![PHYSICAL];
            bytes.extend_from_slice(&id.obj.0.to_be_bytes());
            bytes.extend_from_slice(&(id.rdba.file() as u16).to_be_bytes());
            bytes.extend_from_slice(&id.rdba.block().to_be_bytes());
            bytes.extend_from_slice(&id.slot.to_be_bytes());
            w.long_bytes(&bytes);
        }
        (Value::Text(text), n::UROWID) => {
            let mut bytes = vec![LOGICAL];
            urowid::bytes(text, &mut bytes).ok_or(WireError::BadValue)?;
            w.long_bytes(&bytes);
        }
        _ => return Err(WireError::BadValue),
    }
    Ok(())
}

/// Whether values of a data type are stored in the bytes that are sent for columns of a shape.
pub fn is_sent_as_stored(data_type: &DataType, shape: &Shape) -> bool {
    match data_type {
        DataType::Number { .. } | DataType::Float { .. } => matches!(shape.number, n::NUMBER | n::INTEGER),
        DataType::Varchar2 { .. } | DataType::Char { .. } => {
            shape.is_text() && shape.form != FORM_NCHAR && !shape.is_long()
        }
        DataType::Date => shape.number == n::DATE,
        DataType::Timestamp { zone: Zone::None, .. } => shape.number == n::TIMESTAMP,
        DataType::Raw { .. } => shape.number == n::RAW,
        DataType::BinaryFloat => shape.number == n::FLOAT,
        DataType::BinaryDouble => shape.number == n::DOUBLE,
        _ => false,
    }
}

/// A cheap check whether bytes are a valid value of a type of [`is_sent_as_stored`]: values of a damaged block are not
/// sent.
#[inline]
pub fn is_sound(bytes: &[u8], data_type: &DataType) -> bool {
    match data_type {
        DataType::Number { .. } | DataType::Float { .. } => {
            matches!(bytes, [_, digits @ ..] if digits.len() <= NUMBER_DIGITS && digits.iter().all(|d| (1..=102).contains(d)))
        }
        DataType::Varchar2 { .. } | DataType::Char { .. } => bytes.is_ascii() || std::str::from_utf8(bytes).is_ok(),
        DataType::Date => bytes.len() == 7,
        DataType::Timestamp { .. } => bytes.len() == 11,
        DataType::BinaryFloat => bytes.len() == 4,
        DataType::BinaryDouble => bytes.len() == 8,
        _ => true,
    }
}

/// The first byte of a universal rowid: whether it contains the place of a row, or its key.
const PHYSICAL: u8 = 1;
const LOGICAL: u8 = 2;

fn read_urowid(r: &mut Reader<'_>) -> WireResult<Value> {
    let Some(bytes) = r.long_bytes()? else { return Ok(Value::Null) };
    let (kind, rest) = bytes.split_first().ok_or(WireError::BadValue)?;
    match (*kind, rest) {
        (PHYSICAL, [o1, o2, o3, o4, f1, f2, b1, b2, b3, b4, s1, s2]) => {
            let (file, block) = (u16::from_be_bytes([*f1, *f2]), u32::from_be_bytes([*b1, *b2, *b3, *b4]));
            rowid_of(u32::from_be_bytes([*o1, *o2, *o3, *o4]), file, block, u16::from_be_bytes([*s1, *s2]))
                .map(Value::Rowid)
        }
        (LOGICAL, key) => {
            let mut text = String::new();
            urowid::text(key, &mut text);
            Ok(Value::text(text))
        }
        _ => Err(WireError::BadValue),
    }
}

/// The beginning of a text, or of bytes, too long for their bind, and their full length on the wire.
pub(super) fn too_long(value: &Value, shape: &Shape) -> Option<(Value, i64)> {
    let room = shape.size as usize;
    match value {
        Value::Text(text) if shape.is_text() && room > 0 => {
            let wide = shape.form == FORM_NCHAR;
            let size = |c: char| if wide { c.len_utf16() * 2 } else { c.len_utf8() };
            let len: usize = if wide { text.chars().map(size).sum() } else { text.len() };
            if len <= room {
                return None;
            }
            let mut left = room;
            let fits = |c: &char| {
                let has_room = left >= size(*c);
                left = left.saturating_sub(if has_room { size(*c) } else { left });
                has_room
            };
            Some((Value::text(text.chars().take_while(fits).collect::<String>()), len as i64))
        }
        Value::Raw(bytes) if bytes.len() > room && room > 0 && !shape.is_lob() => {
            Some((Value::raw(bytes[..room].to_vec()), bytes.len() as i64))
        }
        _ => None,
    }
}

/// Appends the parts of a rowid.
pub(super) fn write_rowid(w: &mut Writer<'_>, id: &Rowid) {
    w.number(id.obj.0);
    w.number(id.rdba.file());
    w.u8(0);
    w.number(id.rdba.block());
    w.number(id.slot);
}

fn biased(field: i32) -> [u8; 4] {
    (field as u32).wrapping_add(1 << 31).to_be_bytes()
}

fn unbiased(bytes: &[u8]) -> i64 {
    bytes.iter().fold(0, |n, b| n << 8 | i64::from(*b)) - (1 << 31)
}

fn interval_bytes(i: &IntervalDs) -> [u8; 11] {
    let nanos = i.to_nanos();
    let (seconds, fraction) = (nanos / 1_000_000_000, (nanos % 1_000_000_000) as i32);
    let part = |n: i128| (n + 60) as u8;
    let mut bytes = [0; 11];
    bytes[..4].copy_from_slice(&biased((seconds / 86_400) as i32));
    bytes[4..7].copy_from_slice(&[part(seconds / 3600 % 24), part(seconds / 60 % 60), part(seconds % 60)]);
    bytes[7..].copy_from_slice(&biased(fraction));
    bytes
}

/// Reads a value.
///
/// # Errors
/// [`WireError::BadValue`] for bytes that are invalid for the type.
pub fn read(r: &mut Reader<'_>, shape: &Shape) -> WireResult<Value> {
    match shape.number {
        n::ROWID => return read_rowid(r),
        n::UROWID => return read_urowid(r),
        n::CURSOR => return read_cursor(r),
        n::CLOB | n::BLOB => {
            return Ok(r.long_bytes()?.map_or(Value::Null, |locator| Value::raw(locator.into_owned())));
        }
        n::BOOLEAN if r.left().first() == Some(&ESCAPE) => return r.skip(2).map(|()| Value::Null),
        _ => {}
    }
    let Some(bytes) = r.bytes()? else { return Ok(Value::Null) };
    of_bytes(bytes, shape)
}

/// Like [`read`], into a value whose buffer is used again.
///
/// # Errors
/// Those of [`read`].
pub fn read_into(r: &mut Reader<'_>, shape: &Shape, value: &mut Value) -> WireResult<()> {
    if shape.is_text()
        && shape.form != FORM_NCHAR
        && let Value::Text(buffer) = value
    {
        match r.bytes()? {
            Some(bytes) => {
                buffer.clear();
                buffer.push_str(std::str::from_utf8(&bytes).map_err(|_| WireError::NotUtf8)?);
            }
            None => *value = Value::Null,
        }
        return Ok(());
    }
    *value = read(r, shape)?;
    Ok(())
}

/// Skips a value without checking its bytes.
fn skip(r: &mut Reader<'_>, shape: &Shape) -> WireResult<()> {
    match shape.number {
        n::ROWID => read_rowid(r).map(drop),
        n::UROWID => read_urowid(r).map(drop),
        n::CURSOR => read_cursor(r).map(drop),
        n::CLOB | n::BLOB => r.long_bytes().map(drop),
        n::BOOLEAN if r.left().first() == Some(&ESCAPE) => r.skip(2),
        _ => r.skip_bytes(),
    }
}

fn of_bytes(bytes: Cow<'_, [u8]>, shape: &Shape) -> WireResult<Value> {
    let b = &bytes[..];
    let bad = WireError::BadValue;
    Ok(match shape.number {
        n::NUMBER | n::INTEGER => Value::Number(Number::decode_sent(b).ok_or(bad)?),
        _ if shape.is_text() && shape.form == FORM_NCHAR => {
            if !b.len().is_multiple_of(2) {
                return Err(bad);
            }
            let units = b.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
            let decoded: Result<String, _> = char::decode_utf16(units).collect();
            Value::text(decoded.map_err(|_| bad)?)
        }
        _ if shape.is_text() => Value::text(text(Some(bytes))?),
        n::DATE => Value::Date(date(b.get(..7).filter(|_| b.len() == 7).ok_or(bad)?)?),
        n::TIMESTAMP => Value::Timestamp(timestamp(b)?),
        n::TIMESTAMP_LTZ => Value::Timestamp(timestamp(b)?.moved(Place::Session)),
        n::TIMESTAMP_TZ => {
            let &[hours, minutes] = b.get(11..13).filter(|_| b.len() == 13).ok_or(bad)? else { return Err(bad) };
            let zone = TimeZone::from_bytes([hours, minutes]).ok_or(bad)?;
            Value::Timestamp(timestamp(&b[..11])?.moved(Place::In(zone)))
        }
        n::INTERVAL_YM if b.len() == 5 => {
            let months = unbiased(&b[..4]) * 12 + i64::from(b[4]) - 60;
            Value::IntervalYm(IntervalYm::new(months).map_err(|_| bad)?)
        }
        n::INTERVAL_DS if b.len() == 11 => {
            let part = |at: usize| i64::from(b[at]) - 60;
            let seconds = unbiased(&b[..4]) * 86_400 + part(4) * 3600 + part(5) * 60 + part(6);
            let nanos = i128::from(seconds) * 1_000_000_000 + i128::from(unbiased(&b[7..]));
            Value::IntervalDs(IntervalDs::from_nanos(nanos).map_err(|_| bad)?)
        }
        n::RAW | n::LONG_RAW => Value::raw(bytes.into_owned()),
        n::FLOAT => {
            let bits = u32::from_be_bytes(b.try_into().map_err(|_| bad)?);
            Value::Float(f32::from_bits(if bits >> 31 == 0 { !bits } else { bits & !(1 << 31) }))
        }
        n::DOUBLE => {
            let bits = u64::from_be_bytes(b.try_into().map_err(|_| bad)?);
            Value::Double(f64::from_bits(if bits >> 63 == 0 { !bits } else { bits & !(1 << 63) }))
        }
        n::BOOLEAN => Value::Boolean(b.last() == Some(&1)),
        _ => return Err(bad),
    })
}

fn date(bytes: &[u8]) -> WireResult<Date> {
    let seven = bytes.try_into().map_err(|_| WireError::BadValue)?;
    Date::from_bytes(seven).ok_or(WireError::BadValue)
}

/// The time zone that is sent to a client: a region unknown to clients is sent as its offset at that time.
fn known_zone(t: &Timestamp) -> TimeZone {
    match t.zone().unwrap_or(TimeZone::UTC) {
        TimeZone::Region(region) if !region.is_published() => {
            TimeZone::Offset((region.at(t.instant()).offset / 60) as i16)
        }
        zone => zone,
    }
}

fn timestamp(bytes: &[u8]) -> WireResult<Timestamp> {
    let nanos = match bytes.len() {
        7 => 0,
        11 => u32::from_be_bytes([bytes[7], bytes[8], bytes[9], bytes[10]]),
        _ => return Err(WireError::BadValue),
    };
    if nanos >= 1_000_000_000 {
        return Err(WireError::BadValue);
    }
    Ok(Timestamp::new(date(&bytes[..7])?, nanos))
}

fn read_rowid(r: &mut Reader<'_>) -> WireResult<Value> {
    if r.u8()? == 0 {
        return Ok(Value::Null);
    }
    read_rowid_parts(r).map(Value::Rowid)
}

/// Reads the parts of a rowid.
///
/// # Errors
/// [`WireError`] for an invalid rowid.
pub(super) fn read_rowid_parts(r: &mut Reader<'_>) -> WireResult<Rowid> {
    let (obj, file) = (r.ub4()?, r.ub2()?);
    r.u8()?;
    let (block, slot) = (r.ub4()?, r.ub2()?);
    rowid_of(obj, file, block, slot)
}

fn rowid_of(obj: u32, file: u16, block: u32, slot: u16) -> WireResult<Rowid> {
    if file >= 1 << 10 || block >= 1 << 22 {
        return Err(WireError::BadValue);
    }
    Ok(Rowid { obj: types::ObjectId(obj), rdba: Rdba::new(file.into(), block), slot })
}

/// The number of a cursor that a client binds; NULL for one that is not open.
fn read_cursor(r: &mut Reader<'_>) -> WireResult<Value> {
    if r.u8()? == 0 || r.u8()? == 0 {
        return Ok(Value::Null);
    }
    Ok(Value::Number(Number::from_u64(r.ub4()?.into())))
}

/// Largest number of elements of all PL/SQL tables in one execution.
const ELEMENTS_MAX: u32 = 1 << 20;

/// The elements of a bind that is a PL/SQL table.
fn read_table(r: &mut Reader<'_>, shape: &Shape) -> WireResult<Vec<Value>> {
    let count = r.count(ELEMENTS_MAX)?;
    (0..count).map(|_| read(r, shape)).collect()
}

/// Appends the elements of a PL/SQL table; `behind` appends data after each one.
///
/// # Errors
/// Those of [`write`].
pub fn write_table(
    w: &mut Writer<'_>,
    elements: &[Value],
    shape: &Shape,
    behind: impl Fn(&mut Writer<'_>, &Value),
) -> WireResult<()> {
    w.number(elements.len() as u64);
    elements.iter().try_for_each(|value| {
        write(w, value, shape)?;
        behind(w, value);
        Ok(())
    })
}

/// The binds of a statement for which a client sends values, and their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BindRules {
    /// By index: the bind receives a value of RETURNING, and none is sent for it.
    pub returning: Vec<bool>,
    /// A block of PL/SQL: long values are not moved to the end.
    pub is_block: bool,
    /// A value is sent even for binds of RETURNING.
    pub sends_all: bool,
}

impl BindRules {
    /// Whether a value is sent for the bind at that index.
    pub fn is_sent(&self, at: usize) -> bool {
        self.sends_all || !self.returning.get(at).copied().unwrap_or(false)
    }

    /// The indexes of the sent binds, in the order of sending.
    pub(super) fn order(&self, binds: &[Shape]) -> Vec<usize> {
        let sent = |at: &usize| self.is_sent(*at) && !binds[*at].is_again();
        let is_late = |at: &usize| !self.is_block && (binds[*at].size > STRING_MAX || binds[*at].is_long());
        let early = (0..binds.len()).filter(|at| sent(at) && !is_late(at));
        let late = (0..binds.len()).filter(|at| sent(at) && is_late(at));
        early.chain(late).collect()
    }
}

/// The PL/SQL tables among the binds of an execution, by index.
pub type Tables = Vec<(usize, Vec<Value>)>;

/// Reads the values of one execution in the order of the binds; values that are not sent, and tables, are NULL.
///
/// # Errors
/// [`WireError`] for invalid values.
pub fn read_row(r: &mut Reader<'_>, binds: &[Shape], rules: &BindRules) -> WireResult<(Vec<Value>, Tables)> {
    let order = rules.order(binds);
    let (mut row, mut tables) = (vec![Value::Null; binds.len()], Vec::new());
    if !order.is_empty() {
        begin_row(r)?;
    }
    for at in order {
        if binds[at].is_table() {
            tables.push((at, read_table(r, &binds[at])?));
        } else {
            row[at] = read(r, &binds[at])?;
        }
    }
    Ok((row, tables))
}

/// Reads the header of an execution's values.
pub(super) fn begin_row(r: &mut Reader<'_>) -> WireResult<()> {
    if r.u8()? == message::ROW_DATA { Ok(()) } else { Err(WireError::BadValue) }
}

/// Skips the values of `rows` executions without checking them.
///
/// # Errors
/// [`WireError::Truncated`] while the end is missing; others for invalid values.
pub fn skip_rows(r: &mut Reader<'_>, binds: &[Shape], rules: &BindRules, rows: usize) -> WireResult<()> {
    let order = rules.order(binds);
    if order.is_empty() {
        return Ok(());
    }
    for _ in 0..rows {
        begin_row(r)?;
        for at in &order {
            let values = if binds[*at].is_table() { r.count(ELEMENTS_MAX)? } else { 1 };
            (0..values).try_for_each(|_| skip(r, &binds[*at]))?;
        }
    }
    Ok(())
}

/// Appends the values of one execution.
///
/// # Errors
/// Those of [`write`].
pub fn write_row(w: &mut Writer<'_>, binds: &[Shape], rules: &BindRules, values: &[Value]) -> WireResult<()> {
    w.u8(message::ROW_DATA);
    rules.order(binds).into_iter().try_for_each(|at| write(w, &values[at], &binds[at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(value: &Value, number: u8, form: u8) -> Vec<u8> {
        let mut out = Vec::new();
        let shape = Shape { number, form, ..Shape::default() };
        write(&mut Writer::new(&mut out), value, &shape).expect("a value of the type");
        let mut r = Reader::new(&out);
        let back = read(&mut r, &shape).expect("its own bytes");
        r.finish().unwrap();
        assert_eq!(format!("{back:?}"), format!("{value:?}"));
        out
    }

    #[test]
    fn values_are_byte_for_byte_what_drivers_expect() {
        let number = |t: &str| bytes_of(&Value::Number(Number::parse(t).unwrap()), n::NUMBER, 0);
        assert_eq!(number("1"), [2, 0xc1, 2]);
        assert_eq!(number("42.5"), [3, 0xc1, 0x2b, 0x33]);
        assert_eq!(number("-0.001"), [3, 0x40, 0x5b, 0x66]);
        assert_eq!(number("0"), [1, 0x80]);
        assert_eq!(bytes_of(&Value::text("é"), n::VARCHAR, 1), [2, 0xc3, 0xa9]);
        assert_eq!(bytes_of(&Value::text("é"), n::VARCHAR, 2), [2, 0, 0xe9]);
        assert_eq!(bytes_of(&Value::Null, n::VARCHAR, 1), [0]);
        let date = Date::new(2026, 11, 21, 19, 54, 42).unwrap();
        assert_eq!(bytes_of(&Value::Date(date), n::DATE, 0), [7, 0x78, 0x7e, 0x0b, 0x15, 0x14, 0x37, 0x2b]);
        let t = Timestamp::new(date, 5);
        assert_eq!(bytes_of(&Value::Timestamp(t), n::TIMESTAMP, 0)[8..], [0, 0, 0, 5]);
        for minutes in [0, 90, -90, 840] {
            let t = Timestamp::with_offset(date, 0, minutes);
            let bytes = bytes_of(&Value::Timestamp(t), n::TIMESTAMP_TZ, 0);
            assert_eq!(bytes[12..], [(20 + minutes / 60) as u8, (60 + minutes % 60) as u8]);
        }
        for months in [0, 14, -14] {
            bytes_of(&Value::IntervalYm(IntervalYm { months }), n::INTERVAL_YM, 0);
        }
        for nanos in [0, 1, -1, 90_061_000_000_001, -90_061_000_000_001] {
            bytes_of(&Value::IntervalDs(IntervalDs::from_nanos(nanos).unwrap()), n::INTERVAL_DS, 0);
        }
        for f in [0.0, -0.0, 1.5, -1.5, f64::INFINITY, f64::MIN] {
            bytes_of(&Value::Double(f), n::DOUBLE, 0);
            bytes_of(&Value::Float(f as f32), n::FLOAT, 0);
        }
        bytes_of(&Value::Rowid("AAAR0cAAEAAAACDAAA".parse().unwrap()), n::ROWID, 0);
        bytes_of(&Value::Boolean(true), n::BOOLEAN, 0);
        bytes_of(&Value::Boolean(false), n::BOOLEAN, 0);
        assert_eq!(
            read(&mut Reader::new(&[0xfd, 1]), &Shape { number: n::BOOLEAN, ..Shape::default() }),
            Ok(Value::Null)
        );
    }

    #[test]
    fn binds_are_byte_for_byte_what_drivers_send() {
        let mut out = Vec::new();
        let number = Shape { number: n::NUMBER, flags: 1, size: 22, ..Shape::default() };
        let text = Shape { number: n::VARCHAR, flags: 1, size: 12, charset: 873, form: 1, ..Shape::default() };
        let mut w = Writer::new(&mut out);
        number.write(&mut w, Client::USUAL);
        text.write(&mut w, Client::USUAL);
        let rules = BindRules { returning: vec![false; 2], ..BindRules::default() };
        let values = [Value::Number(Number::from_i64(42)), Value::text("abc")];
        write_row(&mut w, &[number, text], &rules, &values).unwrap();
        let want = [
            &[2, 1, 0, 0, 1, 0x16, 0, 0, 0, 0, 0, 0, 0, 0][..],
            &[1, 1, 0, 0, 1, 0x0c, 0, 0, 0, 0, 2, 3, 0x69, 1, 0, 0],
            &[7, 2, 0xc1, 0x2b, 3, b'a', b'b', b'c'],
        ];
        assert_eq!(out, want.concat());
        let mut r = Reader::new(&out);
        let binds = [Shape::read(&mut r, Client::USUAL).unwrap(), Shape::read(&mut r, Client::USUAL).unwrap()];
        assert_eq!(binds, [number, text]);
        assert_eq!(read_row(&mut r, &binds, &rules).unwrap(), (values.to_vec(), Vec::new()));
    }

    fn rules_of_returning() -> BindRules {
        BindRules { returning: vec![true], ..BindRules::default() }
    }

    #[test]
    fn long_values_follow_the_others_and_returning_binds_are_not_sent() {
        let long = Shape { number: n::LONG, size: 100_000, form: 1, ..Shape::default() };
        let short = Shape { number: n::NUMBER, size: 22, ..Shape::default() };
        let rules = BindRules { returning: vec![false, false, true], ..BindRules::default() };
        assert_eq!(rules.order(&[long, short, short]), [1, 0]);
        assert_eq!(BindRules { is_block: true, ..rules }.order(&[long, short, short]), [0, 1]);
        let none = Ok((vec![Value::Null], Vec::new()));
        assert_eq!(read_row(&mut Reader::new(&[]), &[short], &rules_of_returning()), none);
    }

    #[test]
    fn a_time_zone_further_from_utc_than_any_is_refused() {
        let zoned = |hours: u8, minutes: u8| {
            let mut bytes = vec![13, 0x78, 0x7e, 0x0b, 0x15, 0x14, 0x37, 0x2b, 0, 0, 0, 0, hours, minutes];
            let shape = Shape { number: n::TIMESTAMP_TZ, size: 13, ..Shape::default() };
            bytes.truncate(14);
            read(&mut Reader::new(&bytes), &shape)
        };
        assert!(matches!(zoned(34, 60), Ok(Value::Timestamp(t)) if t.zone() == Some(TimeZone::Offset(14 * 60))));
        for (hours, minutes) in [(0x7f, 60), (0, 0), (36, 60), (20, 255)] {
            let offset = (i32::from(hours) - 20) * 60 + i32::from(minutes) - 60;
            let is_near = offset.abs() < 16 * 60;
            assert_eq!(zoned(hours, minutes).is_ok(), is_near, "{offset} minutes");
        }
    }

    #[test]
    fn programs_numbers_of_timestamps_stand_for_those_that_are_stored() {
        for (theirs, ours) in [(187, 180), (188, 181), (189, 182), (190, 183), (232, 231), (181, 181), (1, 1)] {
            let mut bytes = Vec::new();
            let shape = Shape { number: theirs, size: 13, ..Shape::default() };
            shape.write(&mut Writer::new(&mut bytes), Client::USUAL);
            assert_eq!(Shape::read(&mut Reader::new(&bytes), Client::USUAL).unwrap().number, ours);
        }
    }

    #[test]
    fn regions_and_local_time_zones_travel() {
        let berlin = types::Region::named("Europe/Berlin").unwrap();
        let unknown = types::Region::named("America/Coyhaique").unwrap();
        let date = Date::new(2022, 6, 2, 6, 0, 0).unwrap();
        let at = |region| Timestamp::of_clock(date, 7, Place::In(TimeZone::Region(region)));
        let bytes = bytes_of(&Value::Timestamp(at(berlin)), n::TIMESTAMP_TZ, 0);
        assert_eq!(bytes[1..], [120, 122, 6, 2, 7, 1, 1, 0, 0, 0, 7, 133, 252]);
        let shape = Shape { number: n::TIMESTAMP_TZ, size: 13, ..Shape::default() };
        let read_back = |bytes: &[u8], shape| match read(&mut Reader::new(bytes), shape) {
            Ok(Value::Timestamp(t)) => t,
            other => panic!("{other:?}"),
        };
        assert_eq!(read_back(&bytes, &shape).zone(), Some(TimeZone::Region(berlin)));
        // A region unknown to clients is sent as its offset at that time.
        let mut bytes = Vec::new();
        write(&mut Writer::new(&mut bytes), &Value::Timestamp(at(unknown)), &shape).unwrap();
        assert_eq!(
            read_back(&bytes, &shape).zone(),
            Some(TimeZone::Offset(unknown.at(date.to_unix()).offset as i16 / 60))
        );
        let local = Timestamp::of_clock(date, 7, Place::Session);
        let bytes = bytes_of(&Value::Timestamp(local), n::TIMESTAMP_LTZ, 0);
        assert_eq!(bytes.len(), 12);
        let shape = Shape { number: n::TIMESTAMP_LTZ, size: 11, ..Shape::default() };
        assert_eq!(read_back(&bytes, &shape).place(), Place::Session);
    }

    #[test]
    fn invalid_bytes_of_values_are_refused() {
        let none = |number: u8, bytes: &[u8]| {
            assert!(
                read(&mut Reader::new(bytes), &Shape { number, form: 1, ..Shape::default() }).is_err(),
                "{number} {bytes:?}"
            );
        };
        none(n::NUMBER, &[1, 0xc1]);
        none(n::DATE, &[7, 0, 0, 0, 0, 0, 0, 0]);
        none(n::DATE, &[1, 120]);
        none(n::TIMESTAMP, &[3, 1, 2, 3]);
        none(n::TIMESTAMP_TZ, &[13, 0x78, 0x7e, 0x0b, 0x15, 0x14, 0x37, 0x2b, 0, 0, 0, 0, 0x94, 60]);
        none(n::VARCHAR, &[1, 0xff]);
        none(n::FLOAT, &[3, 1, 2, 3]);
        none(113, &[1, 2]);
    }
}
