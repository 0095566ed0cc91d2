//! Rows as records: a tag and the stored form of each value, and back.

use std::sync::Arc;
use types::codec;
use types::{Composite, DataType, Number, Ora, Place, Result, TypeId, Value, Zone};

const NULL: u8 = 0;
/// A whole number of eight bytes: no length follows.
const WHOLE: u8 = 14;
/// The number of the type, and the parts as a record.
const COMPOSITE: u8 = 15;

/// The types by tag, from 1.
const TYPES: [DataType; 13] = [
    DataType::NUMBER,
    DataType::TEXT,
    DataType::Date,
    DataType::Timestamp { digits: 9, zone: Zone::None },
    DataType::Timestamp { digits: 9, zone: Zone::WithTimeZone },
    DataType::Raw { len: 0 },
    DataType::Rowid,
    DataType::Boolean,
    DataType::BinaryDouble,
    DataType::BinaryFloat,
    DataType::IntervalYm { years: 9 },
    DataType::IntervalDs { days: 9, digits: 9 },
    DataType::Timestamp { digits: 9, zone: Zone::WithLocalTimeZone },
];

fn tag(v: &Value) -> u8 {
    match v {
        Value::Null => NULL,
        Value::Number(_) => 1,
        Value::Text(_) | Value::EmptyLob => 2,
        Value::Date(_) => 3,
        Value::Timestamp(t) => match t.place() {
            Place::Nowhere => 4,
            Place::In(_) => 5,
            Place::Session => 13,
        },
        Value::Raw(_) => 6,
        Value::Rowid(_) => 7,
        Value::Boolean(_) => 8,
        Value::Double(_) => 9,
        Value::Float(_) => 10,
        Value::IntervalYm(_) => 11,
        Value::IntervalDs(_) => 12,
        Value::Composite(_) => COMPOSITE,
    }
}

/// Appends values.
pub fn encode<'v>(values: impl IntoIterator<Item = &'v Value>, out: &mut Vec<u8>) {
    for v in values {
        if let Value::Number(n) = v
            && let Some(n) = n.as_i64()
        {
            let mut bytes = [WHOLE; 9];
            bytes[1..].copy_from_slice(&n.to_le_bytes());
            out.extend_from_slice(&bytes);
            continue;
        }
        out.push(tag(v));
        if v.is_null() {
            continue;
        }
        let at = out.len();
        out.extend_from_slice(&[0; 4]);
        match v {
            Value::Composite(c) => {
                out.extend_from_slice(&c.ty.0.to_le_bytes());
                encode(&c.parts, out);
            }
            v => codec::encode(v, out),
        }
        let len = (out.len() - at - 4) as u32;
        out[at..at + 4].copy_from_slice(&len.to_le_bytes());
    }
}

/// Reads the next value of a record into `value`, whose buffer is used again.
///
/// # Errors
/// ORA-00600 for a record that was not made by [`encode`].
pub fn decode(record: &mut &[u8], value: &mut Value) -> Result<()> {
    let damaged = || Ora::internal("temporary row");
    let (&tag, rest) = record.split_first().ok_or_else(damaged)?;
    *record = rest;
    if tag == NULL {
        *value = Value::Null;
        return Ok(());
    }
    if tag == WHOLE {
        let (n, rest) = rest.split_first_chunk::<8>().ok_or_else(damaged)?;
        *record = rest;
        *value = Value::Number(Number::from_i64(i64::from_le_bytes(*n)));
        return Ok(());
    }
    if tag == COMPOSITE {
        let (ty, mut rest) = take_part(record)?.split_at_checked(4).ok_or_else(damaged)?;
        let ty = TypeId(u32::from_le_bytes(ty.try_into().expect("four bytes")));
        let mut parts = Vec::new();
        while !rest.is_empty() {
            let mut part = Value::Null;
            decode(&mut rest, &mut part)?;
            parts.push(part);
        }
        *value = Value::Composite(Arc::new(Composite { ty, parts }));
        return Ok(());
    }
    let ty = TYPES.get(usize::from(tag) - 1).ok_or_else(damaged)?;
    let bytes = take_part(record)?;
    // No text is empty: that is NULL.
    if bytes.is_empty() && ty.is_text() {
        *value = Value::EmptyLob;
        return Ok(());
    }
    codec::decode_into(bytes, ty, value)
}

/// Appends bytes that [`take_part`] gives back.
pub fn put_part(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// The next part of a record.
///
/// # Errors
/// ORA-00600 for a record that was not made so.
pub fn take_part<'r>(record: &mut &'r [u8]) -> Result<&'r [u8]> {
    let damaged = || Ora::internal("temporary row");
    let (len, rest) = record.split_at_checked(4).ok_or_else(damaged)?;
    let len = u32::from_le_bytes(len.try_into().expect("four bytes")) as usize;
    let (part, rest) = rest.split_at_checked(len).ok_or_else(damaged)?;
    *record = rest;
    Ok(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{Date, IntervalDs, IntervalYm, Rowid, TimeZone, Timestamp};

    #[test]
    fn every_kind_of_value_comes_back() {
        let date = Date::from_ymd(2024, 2, 29).unwrap();
        let stamp = |place| Value::Timestamp(Timestamp::of_clock(date, 123_456_789, place));
        let berlin = TimeZone::Region(types::Region::named("Europe/Berlin").unwrap());
        let third = Number::from(1i64).div(&Number::from(3i64)).unwrap();
        let all = [
            Value::Null,
            Value::Number(third),
            Value::Number(Number::from(-17i64)),
            Value::Text("déjà".into()),
            Value::Date(date),
            stamp(Place::Nowhere),
            stamp(Place::Session),
            stamp(Place::In(TimeZone::Offset(-330))),
            stamp(Place::In(berlin)),
            Value::Raw(vec![0, 255, 7]),
            Value::Rowid(Rowid::default()),
            Value::Boolean(true),
            Value::Double(-1.5e300),
            Value::Float(2.25),
            Value::IntervalYm(IntervalYm { months: -14 }),
            Value::IntervalDs(IntervalDs { seconds: -3, nanos: 5 }),
            Value::EmptyLob,
            Value::Composite(Arc::new(Composite {
                ty: TypeId(7),
                parts: vec![
                    Value::Null,
                    Value::Text("x".into()),
                    Value::Composite(Arc::new(Composite { ty: TypeId(8), parts: vec![] })),
                ],
            })),
        ];
        let mut record = Vec::new();
        encode(&all, &mut record);
        put_part(b"tail", &mut record);
        let mut rest = &record[..];
        for v in &all {
            let mut back = Value::Text("before".into());
            decode(&mut rest, &mut back).unwrap();
            assert_eq!(format!("{back:?}"), format!("{v:?}"));
        }
        assert_eq!(take_part(&mut rest).unwrap(), b"tail");
        assert!(decode(&mut rest, &mut Value::Null).is_err());
        assert!(take_part(&mut &[9u8, 0, 0, 0, 1][..]).is_err());
    }
}
