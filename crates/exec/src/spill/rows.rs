//! Rows as records: for each value a tag and its stored form.

use types::codec::{self, COMPOSITE, KINDS, kind_of};
use types::{Number, Ora, Result, Value};

const NULL: u8 = 0;
/// First tag of the kinds of values given by [`kind_of`].
const FIRST: u8 = 1;
/// Tag of a whole number of eight bytes, without a length.
const WHOLE: u8 = FIRST + COMPOSITE + 1;

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
        if v.is_null() {
            out.push(NULL);
            continue;
        }
        out.push(FIRST + kind_of(v));
        let at = out.len();
        out.extend_from_slice(&[0; 4]);
        codec::encode(v, out);
        let len = (out.len() - at - 4) as u32;
        out[at..at + 4].copy_from_slice(&len.to_le_bytes());
    }
}

/// Reads the next value of a record into `value` and reuses its buffer.
///
/// # Errors
/// ORA-00600 for a record that was not made by [`encode`].
pub fn decode(record: &mut &[u8], value: &mut Value) -> Result<()> {
    let damaged = || Ora::internal("temporary row is damaged");
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
    let bytes = take_part(record)?;
    let kind = tag - FIRST;
    if kind == COMPOSITE {
        *value = codec::decode_any_composite(bytes)?;
        return Ok(());
    }
    let ty = KINDS.get(usize::from(kind)).ok_or_else(damaged)?;
    // A text is never empty, but NULL.
    if bytes.is_empty() && ty.is_text() {
        *value = Value::EmptyLob;
        return Ok(());
    }
    codec::decode_into(bytes, ty, value)
}

/// Appends bytes in the form that [`take_part`] reads.
pub fn put_part(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Reads the next part of a record.
///
/// # Errors
/// ORA-00600 for a record that [`put_part`] did not make.
pub fn take_part<'r>(record: &mut &'r [u8]) -> Result<&'r [u8]> {
    let damaged = || Ora::internal("temporary row is damaged");
    let (len, rest) = record.split_at_checked(4).ok_or_else(damaged)?;
    let len = u32::from_le_bytes(len.try_into().expect("four bytes")) as usize;
    let (part, rest) = rest.split_at_checked(len).ok_or_else(damaged)?;
    *record = rest;
    Ok(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use types::{Composite, Date, IntervalDs, IntervalYm, Place, Rowid, TimeZone, Timestamp, TypeId};

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
