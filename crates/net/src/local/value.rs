//! Values and data types inside a packet: a tag byte, then the content that the tag defines.

use super::wire::{Reader, WireError, WireResult, Writer};
use std::sync::Arc;
use types::{
    DataType, Date, IntervalDs, IntervalYm, LenUnit, Lob, LobHome, LobRow, Number, ObjectId, Place, Rowid, TimeZone,
    Timestamp, TypeId, Value, Zone,
};

const NULL: u8 = 0;
const NUMBER: u8 = 1;
const TEXT: u8 = 2;
const DATE: u8 = 3;
const TIMESTAMP: u8 = 4;
/// The zone after the fields of a timestamp: see [`Place`].
const NOWHERE: u8 = 0;
const IN_ZONE: u8 = 1;
const SESSION: u8 = 2;
const RAW: u8 = 5;
const ROWID: u8 = 6;
const BOOLEAN: u8 = 7;
const DOUBLE: u8 = 8;
const FLOAT: u8 = 9;
const INTERVAL_YM: u8 = 10;
const INTERVAL_DS: u8 = 11;
/// A NUMBER that is a 64-bit integer, as most are.
const INTEGER: u8 = 12;
/// A LOB with its locator; only results have one.
const LOB: u8 = 13;
const TEMPORARY: u8 = 0;
const IN_ROW: u8 = 1;

/// Appends one value.
pub fn write_value(w: &mut Writer<'_>, value: &Value) {
    match value {
        Value::Null => w.u8(NULL),
        Value::Number(n) => write_number(w, n),
        Value::Text(t) => {
            w.u8(TEXT);
            w.text(t);
        }
        Value::Date(d) => {
            w.u8(DATE);
            w.u64(d.to_unix() as u64);
        }
        Value::Timestamp(t) => {
            w.u8(TIMESTAMP);
            w.u64(t.instant() as u64);
            w.u32(t.nanos);
            match t.place() {
                Place::Nowhere => w.u8(NOWHERE),
                Place::Session => w.u8(SESSION),
                Place::In(zone) => {
                    w.u8(IN_ZONE);
                    zone.to_bytes().iter().for_each(|b| w.u8(*b));
                }
            }
        }
        Value::Raw(b) => {
            w.u8(RAW);
            w.bytes(b);
        }
        Value::Rowid(r) => {
            w.u8(ROWID);
            w.bytes(&r.to_bytes());
        }
        Value::Boolean(b) => {
            w.u8(BOOLEAN);
            w.bool(*b);
        }
        Value::Double(d) => {
            w.u8(DOUBLE);
            w.u64(d.to_bits());
        }
        Value::Float(f) => {
            w.u8(FLOAT);
            w.u32(f.to_bits());
        }
        Value::IntervalYm(i) => {
            w.u8(INTERVAL_YM);
            w.i32(i.months);
        }
        Value::IntervalDs(i) => {
            w.u8(INTERVAL_DS);
            w.u64(i.seconds as u64);
            w.u32(i.nanos);
        }
        // Queries send such a value as text, and no bind has one.
        Value::Composite(_) => w.u8(NULL),
        // Clients display neither.
        Value::EmptyLob => w.u8(NULL),
        Value::Lob(lob) => {
            w.u8(LOB);
            w.bool(lob.binary);
            match lob.home {
                LobHome::Row(row) => {
                    w.u8(IN_ROW);
                    w.u32(row.object.0);
                    w.bytes(&row.rowid.to_bytes());
                    w.u16(row.column);
                }
                LobHome::Temporary | LobHome::Freed => w.u8(TEMPORARY),
            }
            write_value(w, &lob.content);
        }
    }
}

fn write_number(w: &mut Writer<'_>, n: &Number) {
    match n.as_i64() {
        Some(i) => {
            w.u8(INTEGER);
            w.u64(i as u64);
        }
        None => {
            let mut bytes = Vec::with_capacity(24);
            n.encode(&mut bytes);
            w.u8(NUMBER);
            w.bytes(&bytes);
        }
    }
}

/// Reads one value.
pub fn read_value(r: &mut Reader<'_>) -> WireResult<Value> {
    let tag = r.u8()?;
    read_tagged(r, tag)
}

/// Reads one value of a result, which may be a LOB with its locator.
pub fn read_result(r: &mut Reader<'_>) -> WireResult<Value> {
    match r.u8()? {
        LOB => {
            let binary = r.bool()?;
            let home = match r.u8()? {
                TEMPORARY => LobHome::Temporary,
                IN_ROW => {
                    let object = ObjectId(r.u32()?);
                    let rowid = Rowid::from_bytes(r.bytes()?).ok_or(WireError::BadValue)?;
                    LobHome::Row(LobRow { object, rowid, column: r.u16()? })
                }
                tag => return Err(WireError::UnknownTag(tag)),
            };
            let content = match read_value(r)? {
                Value::Null => Value::EmptyLob,
                content => content,
            };
            Ok(Value::Lob(Arc::new(Lob { content, binary, home, open: None })))
        }
        tag => read_tagged(r, tag),
    }
}

/// Like [`read_value`], into a value whose buffer is used again.
pub fn read_value_into(r: &mut Reader<'_>, value: &mut Value) -> WireResult<()> {
    match (r.u8()?, &mut *value) {
        (TEXT, Value::Text(buffer)) => {
            let text = r.text()?;
            if text.is_empty() {
                *value = Value::Null;
            } else {
                buffer.clear();
                buffer.push_str(text);
            }
        }
        (tag, _) => *value = read_tagged(r, tag)?,
    }
    Ok(())
}

/// Skips one value; refuses the same bytes as [`read_value`] without decoding the value.
pub fn check_value(r: &mut Reader<'_>) -> WireResult<()> {
    match r.u8()? {
        TEXT => r.text().map(drop),
        RAW => r.bytes().map(drop),
        tag => read_tagged(r, tag).map(drop),
    }
}

fn read_tagged(r: &mut Reader<'_>, tag: u8) -> WireResult<Value> {
    Ok(match tag {
        NULL => Value::Null,
        INTEGER => Value::Number(Number::from_i64(r.u64()? as i64)),
        NUMBER => Value::Number(Number::decode(r.bytes()?).ok_or(WireError::BadValue)?),
        TEXT => Value::text(r.text()?),
        DATE => Value::Date(read_date(r)?),
        TIMESTAMP => Value::Timestamp(read_timestamp(r)?),
        RAW => match r.bytes()? {
            [] => Value::Null,
            b => Value::Raw(b.to_vec()),
        },
        ROWID => Value::Rowid(Rowid::from_bytes(r.bytes()?).ok_or(WireError::BadValue)?),
        BOOLEAN => Value::Boolean(r.bool()?),
        DOUBLE => Value::Double(f64::from_bits(r.u64()?)),
        FLOAT => Value::Float(f32::from_bits(r.u32()?)),
        INTERVAL_YM => Value::IntervalYm(read_interval_ym(r)?),
        INTERVAL_DS => Value::IntervalDs(read_interval_ds(r)?),
        t => return Err(WireError::UnknownTag(t)),
    })
}

fn read_date(r: &mut Reader<'_>) -> WireResult<Date> {
    Date::from_unix(r.u64()? as i64).map_err(|_| WireError::BadValue)
}

fn read_nanos(r: &mut Reader<'_>) -> WireResult<u32> {
    match r.u32()? {
        n if n < 1_000_000_000 => Ok(n),
        _ => Err(WireError::BadValue),
    }
}

fn read_interval_ym(r: &mut Reader<'_>) -> WireResult<IntervalYm> {
    IntervalYm::new(r.i32()?.into()).map_err(|_| WireError::BadValue)
}

fn read_interval_ds(r: &mut Reader<'_>) -> WireResult<IntervalDs> {
    let interval = IntervalDs { seconds: r.u64()? as i64, nanos: read_nanos(r)? };
    interval.is_in_range().then_some(interval).ok_or(WireError::BadValue)
}

fn read_timestamp(r: &mut Reader<'_>) -> WireResult<Timestamp> {
    let date = read_date(r)?;
    let nanos = read_nanos(r)?;
    let place = match r.u8()? {
        NOWHERE => Place::Nowhere,
        SESSION => Place::Session,
        IN_ZONE => Place::In(TimeZone::from_bytes([r.u8()?, r.u8()?]).ok_or(WireError::BadValue)?),
        t => return Err(WireError::UnknownTag(t)),
    };
    Ok(Timestamp::of_clock(date, nanos, place))
}

/// Appends one data type.
pub fn write_type(w: &mut Writer<'_>, t: &DataType) {
    match *t {
        DataType::Null => w.u8(0),
        DataType::Number { precision, scale } => {
            w.u8(1);
            w.option(precision.as_ref(), |w, p| w.u8(*p));
            w.option(scale.as_ref(), |w, s| w.u8(*s as u8));
        }
        DataType::Float { binary } => two(w, 2, binary),
        DataType::Varchar2 { len, unit } => text_type(w, 3, len, unit),
        DataType::Char { len, unit } => text_type(w, 4, len, unit),
        DataType::Nvarchar2 { len } => sized(w, 5, len),
        DataType::Nchar { len } => sized(w, 6, len),
        DataType::Date => w.u8(7),
        DataType::Timestamp { digits, zone } => {
            two(w, 8, digits);
            w.u8(match zone {
                Zone::None => 0,
                Zone::WithTimeZone => 1,
                Zone::WithLocalTimeZone => 2,
            });
        }
        DataType::IntervalYm { years } => two(w, 9, years),
        DataType::IntervalDs { days, digits } => {
            two(w, 10, days);
            w.u8(digits);
        }
        DataType::Raw { len } => sized(w, 11, len),
        DataType::Rowid => w.u8(12),
        DataType::Urowid => w.u8(13),
        DataType::BinaryFloat => w.u8(14),
        DataType::BinaryDouble => w.u8(15),
        DataType::Long => w.u8(16),
        DataType::LongRaw => w.u8(17),
        DataType::Clob => w.u8(18),
        DataType::Nclob => w.u8(19),
        DataType::Blob => w.u8(20),
        DataType::Bfile => w.u8(21),
        DataType::Boolean => w.u8(22),
        DataType::PlsInteger => w.u8(23),
        DataType::Cursor => w.u8(24),
        DataType::Named(id) => sized(w, 25, id.0),
        DataType::Xml => w.u8(26),
    }
}

fn two(w: &mut Writer<'_>, tag: u8, n: u8) {
    w.u8(tag);
    w.u8(n);
}

fn sized(w: &mut Writer<'_>, tag: u8, len: u32) {
    w.u8(tag);
    w.u32(len);
}

fn text_type(w: &mut Writer<'_>, tag: u8, len: u32, unit: LenUnit) {
    sized(w, tag, len);
    w.bool(unit == LenUnit::Char);
}

fn read_unit(r: &mut Reader<'_>) -> WireResult<LenUnit> {
    Ok(if r.bool()? { LenUnit::Char } else { LenUnit::Byte })
}

/// Reads one data type.
pub fn read_type(r: &mut Reader<'_>) -> WireResult<DataType> {
    Ok(match r.u8()? {
        0 => DataType::Null,
        1 => DataType::Number { precision: r.option(|r| r.u8())?, scale: r.option(|r| Ok(r.u8()? as i8))? },
        2 => DataType::Float { binary: r.u8()? },
        3 => DataType::Varchar2 { len: r.u32()?, unit: read_unit(r)? },
        4 => DataType::Char { len: r.u32()?, unit: read_unit(r)? },
        5 => DataType::Nvarchar2 { len: r.u32()? },
        6 => DataType::Nchar { len: r.u32()? },
        7 => DataType::Date,
        8 => DataType::Timestamp {
            digits: r.u8()?,
            zone: match r.u8()? {
                0 => Zone::None,
                1 => Zone::WithTimeZone,
                2 => Zone::WithLocalTimeZone,
                t => return Err(WireError::UnknownTag(t)),
            },
        },
        9 => DataType::IntervalYm { years: r.u8()? },
        10 => DataType::IntervalDs { days: r.u8()?, digits: r.u8()? },
        11 => DataType::Raw { len: r.u32()? },
        12 => DataType::Rowid,
        13 => DataType::Urowid,
        14 => DataType::BinaryFloat,
        15 => DataType::BinaryDouble,
        16 => DataType::Long,
        17 => DataType::LongRaw,
        18 => DataType::Clob,
        19 => DataType::Nclob,
        20 => DataType::Blob,
        21 => DataType::Bfile,
        22 => DataType::Boolean,
        23 => DataType::PlsInteger,
        24 => DataType::Cursor,
        25 => DataType::Named(TypeId(r.u32()?)),
        26 => DataType::Xml,
        t => return Err(WireError::UnknownTag(t)),
    })
}
