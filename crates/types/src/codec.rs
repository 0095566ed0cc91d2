//! Column values as bytes that order with `memcmp`.
//!
//! NUMBER has Oracle's base-100 form, DATE seven bytes, TIMESTAMP eleven (DATE and nanoseconds; with local time zone in
//! UTC), TIMESTAMP WITH TIME ZONE thirteen (in UTC, followed by two bytes of the time zone). Text and RAW are stored
//! unchanged, ROWID in ten bytes, BINARY_DOUBLE and BINARY_FLOAT with the sign folded in, intervals biased. In an index
//! key each column is self-delimiting, so that keys of several columns order correctly too (V4).

use crate::datatype::{DataType, Zone};
use crate::date::Date;
use crate::datetime::{IntervalDs, IntervalYm, Place, Timestamp};
use crate::error::{Ora, Result};
use crate::ids::{Rowid, TypeId};
use crate::image::{Damaged, Image, Reader, Writer};
use crate::number::Number;
use crate::value::{Composite, Value};
use crate::zone::TimeZone;
use std::sync::Arc;

/// Appends the stored form of a value. NULL appends nothing; the caller marks it.
pub fn encode(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null | Value::EmptyLob => {}
        Value::Lob(lob) => encode(&lob.content, out),
        Value::Number(n) => n.encode(out),
        Value::Text(s) => out.extend_from_slice(s.as_bytes()),
        Value::Date(d) => out.extend_from_slice(&d.to_bytes()),
        Value::Timestamp(t) => encode_timestamp(t, out),
        Value::Raw(bytes) => out.extend_from_slice(bytes),
        Value::Rowid(rowid) => out.extend_from_slice(&rowid.to_bytes()),
        Value::Boolean(b) => out.push(u8::from(*b)),
        Value::Double(x) => out.extend_from_slice(&fold_sign(canonical(*x).to_bits()).to_be_bytes()),
        Value::Float(x) => {
            let bits = (if *x == 0.0 {
                0.0
            } else if x.is_nan() {
                f32::NAN
            } else {
                *x
            })
            .to_bits();
            let folded = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
            out.extend_from_slice(&folded.to_be_bytes());
        }
        Value::IntervalYm(i) => out.extend_from_slice(&(i.months as u32 ^ 1 << 31).to_be_bytes()),
        Value::IntervalDs(i) => {
            out.extend_from_slice(&(i.seconds as u64 ^ 1 << 63).to_be_bytes());
            out.extend_from_slice(&i.nanos.to_be_bytes());
        }
        // The type's number, then each part in the form of a key column with its kind before it: stored bytes can be
        // read without the catalog of types, and equal values have equal bytes.
        Value::Composite(c) => {
            out.extend_from_slice(&c.ty.0.to_be_bytes());
            for part in &c.parts {
                let at = out.len();
                out.push(kind_of(part));
                encode(part, out);
                let stored = out.split_off(at);
                push_key_part((!part.is_null()).then_some(&stored[..]), false, out);
            }
        }
    }
}

/// Types for values without a column that implies one: parts of composites, and rows in temporary space. [`kind_of`]
/// gives the position of a value's type.
pub const KINDS: [DataType; 13] = [
    DataType::NUMBER,
    DataType::TEXT,
    DataType::Date,
    DataType::TIMESTAMP,
    DataType::TIMESTAMP_TZ,
    DataType::Timestamp { digits: 9, zone: Zone::WithLocalTimeZone },
    DataType::Raw { len: 0 },
    DataType::Rowid,
    DataType::Boolean,
    DataType::BinaryDouble,
    DataType::BinaryFloat,
    DataType::IntervalYm { years: 9 },
    DataType::IntervalDs { days: 9, digits: 9 },
];
/// The kind of a composite.
pub const COMPOSITE: u8 = KINDS.len() as u8;
/// Deepest nesting of composites; damaged bytes could claim more.
const DEPTH_MAX: u32 = 64;

/// Position of a value's type in [`KINDS`], or [`COMPOSITE`]. NULL may have any.
pub fn kind_of(value: &Value) -> u8 {
    match value {
        Value::Null | Value::Number(_) => 0,
        Value::Text(_) | Value::EmptyLob => 1,
        Value::Date(_) => 2,
        Value::Timestamp(t) => match t.place() {
            Place::Nowhere => 3,
            Place::In(_) => 4,
            Place::Session => 5,
        },
        Value::Raw(_) => 6,
        Value::Lob(lob) => kind_of(&lob.content),
        Value::Rowid(_) => 7,
        Value::Boolean(_) => 8,
        Value::Double(_) => 9,
        Value::Float(_) => 10,
        Value::IntervalYm(_) => 11,
        Value::IntervalDs(_) => 12,
        Value::Composite(_) => COMPOSITE,
    }
}

/// Reads a composite of the type that its bytes name.
///
/// # Errors
/// ORA-00600 for damaged bytes.
pub fn decode_any_composite(bytes: &[u8]) -> Result<Value> {
    decode_composite(bytes, 0).ok_or_else(|| Ora::internal("composite"))
}

fn decode_composite(bytes: &[u8], depth: u32) -> Option<Value> {
    if depth > DEPTH_MAX {
        return None;
    }
    let (ty, mut rest) = bytes.split_first_chunk::<4>()?;
    let (mut parts, mut stored) = (Vec::new(), Vec::new());
    while !rest.is_empty() {
        let (tail, is_present) = pop_key_part(rest, false, &mut stored)?;
        rest = tail;
        let mut part = Value::Null;
        if is_present {
            let (kind, stored) = stored.split_first()?;
            match KINDS.get(usize::from(*kind)) {
                // A text is never empty, but NULL.
                Some(DataType::Varchar2 { .. }) if stored.is_empty() => part = Value::EmptyLob,
                Some(data_type) => decode_into(stored, data_type, &mut part).ok()?,
                None if *kind == COMPOSITE => part = decode_composite(stored, depth + 1)?,
                None => return None,
            }
        }
        parts.push(part);
    }
    Some(Value::Composite(Arc::new(Composite { ty: TypeId(u32::from_be_bytes(*ty)), parts })))
}

/// As [`encode`], but a timestamp with time zone is encoded as its instant only: values that compare as equal have
/// equal bytes.
pub fn encode_instant(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Timestamp(t) => encode_timestamp(&t.utc(), out),
        value => encode(value, out),
    }
}

fn encode_timestamp(t: &Timestamp, out: &mut Vec<u8>) {
    out.extend_from_slice(&t.clock().to_bytes());
    out.extend_from_slice(&t.nanos.to_be_bytes());
    if let Some(zone) = t.zone() {
        out.extend_from_slice(&zone.to_bytes());
    }
}

/// Gives zero one sign and NaN one form, so that equal values have equal bytes; NaN sorts above infinity.
fn canonical(x: f64) -> f64 {
    if x == 0.0 {
        0.0
    } else if x.is_nan() {
        f64::NAN
    } else {
        x
    }
}

fn fold_sign(bits: u64) -> u64 {
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// Reads a stored value of a type into `value` and reuses its buffer.
///
/// # Errors
/// ORA-00600 for bytes that are not of that type, because their block is damaged.
#[inline]
pub fn decode_into(bytes: &[u8], data_type: &DataType, value: &mut Value) -> Result<()> {
    match data_type {
        DataType::Clob | DataType::Nclob | DataType::Blob if bytes.is_empty() => {
            *value = Value::EmptyLob;
            return Ok(());
        }
        DataType::Number { .. } | DataType::Float { .. } | DataType::PlsInteger => {
            if let Some(n) = Number::decode_small(bytes) {
                *value = Value::Number(Number::from_i64(n));
                return Ok(());
            }
            return decode_number(bytes, data_type, value);
        }
        DataType::Varchar2 { .. }
        | DataType::Char { .. }
        | DataType::Nvarchar2 { .. }
        | DataType::Nchar { .. }
        | DataType::Long
        | DataType::Clob
        | DataType::Nclob
        | DataType::Xml => {
            let text = std::str::from_utf8(bytes).map_err(|_| damaged(data_type))?;
            value.set_text(text);
            return Ok(());
        }
        DataType::Raw { .. } | DataType::LongRaw | DataType::Blob | DataType::Bfile => {
            value.set_raw(bytes);
            return Ok(());
        }
        _ => {}
    }
    *value = decode_fixed(bytes, data_type).ok_or_else(|| damaged(data_type))?;
    Ok(())
}

#[inline(never)]
fn decode_number(bytes: &[u8], data_type: &DataType, value: &mut Value) -> Result<()> {
    *value = Value::Number(Number::decode(bytes).ok_or_else(|| damaged(data_type))?);
    Ok(())
}

fn decode_fixed(bytes: &[u8], data_type: &DataType) -> Option<Value> {
    Some(match data_type {
        DataType::Date => Value::Date(Date::from_bytes(bytes.try_into().ok()?)?),
        DataType::Timestamp { zone, .. } => Value::Timestamp(decode_timestamp(bytes, *zone)?),
        DataType::Urowid if bytes.first() == Some(&b'*') => Value::Text(String::from_utf8(bytes.to_vec()).ok()?),
        DataType::Rowid | DataType::Urowid => Value::Rowid(Rowid::from_bytes(bytes)?),
        DataType::Boolean => match bytes {
            [0] => Value::Boolean(false),
            [1] => Value::Boolean(true),
            _ => return None,
        },
        DataType::BinaryDouble => {
            let bits = u64::from_be_bytes(bytes.try_into().ok()?);
            Value::Double(f64::from_bits(if bits >> 63 == 1 { bits & !(1 << 63) } else { !bits }))
        }
        DataType::BinaryFloat => {
            let bits = u32::from_be_bytes(bytes.try_into().ok()?);
            Value::Float(f32::from_bits(if bits >> 31 == 1 { bits & !(1 << 31) } else { !bits }))
        }
        DataType::IntervalYm { .. } => {
            let bits = u32::from_be_bytes(bytes.try_into().ok()?);
            Value::IntervalYm(IntervalYm::new(((bits ^ 1 << 31) as i32).into()).ok()?)
        }
        DataType::IntervalDs { .. } => {
            let (seconds, nanos) = bytes.split_at_checked(8)?;
            let seconds = (u64::from_be_bytes(seconds.try_into().ok()?) ^ 1 << 63) as i64;
            let nanos = u32::from_be_bytes(nanos.try_into().ok()?);
            let interval = IntervalDs { seconds, nanos: (nanos < 1_000_000_000).then_some(nanos)? };
            Value::IntervalDs(interval.is_in_range().then_some(interval)?)
        }
        // The value may be an object of a subtype.
        DataType::Named(_) => decode_composite(bytes, 0)?,
        _ => return None,
    })
}

fn decode_timestamp(bytes: &[u8], zone: Zone) -> Option<Timestamp> {
    let (date, rest) = bytes.split_at_checked(7)?;
    let (nanos, rest) = rest.split_at_checked(4)?;
    let date = Date::from_bytes(date.try_into().ok()?)?;
    let nanos = u32::from_be_bytes(nanos.try_into().ok()?);
    if nanos > 999_999_999 {
        return None;
    }
    let place = match (zone, rest) {
        (Zone::WithTimeZone, &[a, b]) => Place::In(TimeZone::from_bytes([a, b])?),
        (Zone::WithLocalTimeZone, []) => Place::Session,
        (Zone::None, []) => Place::Nowhere,
        _ => return None,
    };
    Some(Timestamp::of_clock(date, nanos, place))
}

#[cold]
fn damaged(data_type: &DataType) -> Ora {
    Ora::with(600, &[&"codec: damaged column", &data_type.name()])
}

/// First byte of a key column that is not NULL; NULL sorts above it.
const PRESENT: u8 = 0x01;
const NULL: u8 = 0xFF;

/// Appends one column to an index key. `stored` is its stored form, `None` for NULL.
///
/// Keys order column by column as their values do, with NULL above everything; a descending column has all bits
/// inverted. A zero byte of the value becomes `00 FF`, the end is `00 00`, so no column's key is a prefix of another.
pub fn push_key_part(stored: Option<&[u8]>, descending: bool, out: &mut Vec<u8>) {
    let from = out.len();
    match stored {
        None => out.push(NULL),
        Some(bytes) => {
            out.push(PRESENT);
            if bytes.contains(&0) {
                for &b in bytes {
                    out.push(b);
                    if b == 0 {
                        out.push(0xFF);
                    }
                }
            } else {
                out.extend_from_slice(bytes);
            }
            out.extend_from_slice(&[0, 0]);
        }
    }
    if descending {
        out[from..].iter_mut().for_each(|b| *b = !*b);
    }
}

/// As [`push_key_part`], with the value's bytes reversed: for keys of a REVERSE index, in which adjacent values are far
/// apart.
pub fn push_reversed_key_part(stored: Option<&[u8]>, descending: bool, out: &mut Vec<u8>) {
    let reversed: Option<Vec<u8>> = stored.map(|bytes| bytes.iter().rev().copied().collect());
    push_key_part(reversed.as_deref(), descending, out);
}

/// Takes one column off the front of a key and writes its stored form into `out`, which is cleared first.
///
/// Returns the rest of the key and whether the column was present (not NULL); `None` when the key is damaged.
pub fn pop_key_part<'a>(key: &'a [u8], descending: bool, out: &mut Vec<u8>) -> Option<(&'a [u8], bool)> {
    let mask = if descending { 0xFF } else { 0 };
    out.clear();
    let (&first, mut rest) = key.split_first()?;
    match first ^ mask {
        NULL => return Some((rest, false)),
        PRESENT => {}
        _ => return None,
    }
    loop {
        let (&b, tail) = rest.split_first()?;
        rest = tail;
        if b ^ mask != 0 {
            out.push(b ^ mask);
            continue;
        }
        let (&mark, tail) = rest.split_first()?;
        rest = tail;
        match mark ^ mask {
            0xFF => out.push(0),
            0 => return Some((rest, true)),
            _ => return None,
        }
    }
}

/// A value is encoded as its type and its stored form.
impl Image for Value {
    fn put(&self, w: &mut Writer) {
        // A value with parts or a locator has no stored form.
        if let Value::Composite(_) | Value::Lob(_) = self {
            return w.fail();
        }
        self.data_type().put(w);
        let mut stored = Vec::new();
        encode(self, &mut stored);
        w.bytes(&stored);
    }
    fn take(r: &mut Reader<'_>) -> std::result::Result<Self, Damaged> {
        let (ty, stored) = (DataType::take(r)?, r.bytes()?);
        let mut value = Value::Null;
        if ty != DataType::Null {
            decode_into(stored, &ty, &mut value).map_err(|_| Damaged)?;
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stored(value: &Value) -> Vec<u8> {
        let mut out = Vec::new();
        encode(value, &mut out);
        out
    }

    #[track_caller]
    fn round_trips(value: Value, data_type: DataType) {
        let mut back = Value::text("an old text");
        decode_into(&stored(&value), &data_type, &mut back).unwrap();
        assert_eq!(back, value);
    }

    fn image<T: Image>(value: &T) -> Vec<u8> {
        let mut w = Writer::default();
        value.put(&mut w);
        w.finish().expect("it has an image")
    }

    fn date(s: i64) -> Date {
        Date::from_unix(s).unwrap()
    }

    #[test]
    fn images_of_all_types_round_trip() {
        let at = |place| Value::Timestamp(Timestamp::of_clock(Date::UNIX_EPOCH, 123_456_789, place));
        let values = [
            Value::Null,
            Value::Number(Number::from_i64(-7)),
            Value::Number(Number::from_scaled(12_345_678_901_234_567_890, -30).unwrap()),
            Value::Text("Grüße".into()),
            Value::Date(Date::UNIX_EPOCH),
            at(Place::Nowhere),
            at(Place::Session),
            at(Place::In(TimeZone::UTC)),
            Value::Raw(vec![0, 255]),
            Value::Rowid(Rowid { obj: crate::ObjectId(7), rdba: crate::Rdba(8), slot: 9 }),
            Value::Boolean(true),
            Value::Double(-1.5),
            Value::Float(2.5),
            Value::IntervalYm(IntervalYm { months: -14 }),
            Value::IntervalDs(IntervalDs { seconds: -3, nanos: 5 }),
        ];
        for value in values {
            assert_eq!(
                crate::image::read::<Value>(&image(&value), &crate::image::NoObjects),
                Ok(value.clone()),
                "{value:?}"
            );
        }
    }

    #[test]
    fn time_zones_and_intervals_out_of_range_are_damage() {
        let date = date(1_700_000_000);
        let refused = |value: Value, data_type: DataType| {
            let (bytes, mut back) = (stored(&value), Value::Null);
            assert!(decode_into(&bytes, &data_type, &mut back).is_err(), "{bytes:?}");
        };
        let utc = stored(&Value::Timestamp(Timestamp::new(date, 0)));
        for zone in [[4, 60], [36, 60], [0, 0], [0x80, 0], [0xFF, 0xFC]] {
            let (bytes, mut back) = ([&utc[..], &zone].concat(), Value::Null);
            assert!(decode_into(&bytes, &DataType::TIMESTAMP_TZ, &mut back).is_err(), "{zone:?}");
        }
        assert!(decode_into(&utc, &DataType::TIMESTAMP_TZ, &mut Value::Null).is_err());
        for months in [i32::MIN, 1_000_000_000] {
            refused(Value::IntervalYm(IntervalYm { months }), DataType::IntervalYm { years: 9 });
        }
        for seconds in [i64::MIN, 1_000_000_000 * 86_400] {
            let interval = IntervalDs { seconds, nanos: 0 };
            refused(Value::IntervalDs(interval), DataType::IntervalDs { days: 9, digits: 0 });
        }
    }

    #[test]
    fn every_type_round_trips() {
        round_trips(Value::Number("-123.45".parse().unwrap()), DataType::NUMBER);
        round_trips(Value::text("añb"), DataType::TEXT);
        round_trips(Value::Date(date(1_700_000_000)), DataType::Date);
        round_trips(Value::Timestamp(Timestamp::new(date(-5), 7)), DataType::TIMESTAMP);
        let zoned = Timestamp::with_offset(date(1_700_000_000), 123, -330);
        let mut back = Value::Null;
        decode_into(&stored(&Value::Timestamp(zoned)), &DataType::TIMESTAMP_TZ, &mut back).unwrap();
        assert!(matches!(back, Value::Timestamp(t) if t.zone() == zoned.zone() && t.clock() == zoned.clock()));
        assert_eq!(stored(&Value::Timestamp(zoned))[11..], [20 - 5, 60 - 30]);
        round_trips(Value::Raw(vec![0, 1, 255]), DataType::Raw { len: 3 });
        round_trips(Value::EmptyLob, DataType::Clob);
        round_trips(Value::EmptyLob, DataType::Blob);
        round_trips(Value::text("x"), DataType::Clob);
        round_trips(Value::Rowid("AAAAaoAATAAABrXAAA".parse().unwrap()), DataType::Rowid);
        round_trips(Value::Boolean(true), DataType::Boolean);
        round_trips(Value::Double(-1.5e300), DataType::BinaryDouble);
        round_trips(Value::Float(1.5), DataType::BinaryFloat);
        round_trips(Value::IntervalYm(IntervalYm { months: -13 }), DataType::IntervalYm { years: 2 });
        round_trips(
            Value::IntervalDs(IntervalDs { seconds: -1, nanos: 5 }),
            DataType::IntervalDs { days: 2, digits: 6 },
        );
    }

    #[test]
    fn composites_round_trip() {
        let part = |ty, parts| Value::Composite(Arc::new(Composite { ty: TypeId(ty), parts }));
        let parts = vec![
            Value::Null,
            Value::Number(7.into()),
            Value::text("a\0b"),
            Value::Timestamp(Timestamp::new(date(-5), 7)),
            Value::Raw(vec![0, 0, 255]),
            part(3, vec![Value::Null, Value::Boolean(false), Value::EmptyLob]),
            part(4, vec![]),
        ];
        round_trips(part(2, parts), DataType::Named(TypeId(2)));
        // A column of a type holds objects of its subtypes, which keep their own type.
        let mut back = Value::Null;
        decode_into(&stored(&part(2, vec![])), &DataType::Named(TypeId(5)), &mut back).unwrap();
        assert_eq!(back, part(2, vec![]));
        for damaged in [&[0, 0, 0][..], &[0, 0, 0, 2, 7], &[0, 0, 0, 2, 1, 99, 0, 0], &[0, 0, 0, 2, 1, 0, 0]] {
            assert!(decode_into(damaged, &DataType::Named(TypeId(2)), &mut back).is_err(), "{damaged:?}");
        }
    }

    #[test]
    fn damage_is_an_error() {
        let mut value = Value::Null;
        for (bytes, data_type) in [
            (&[][..], DataType::NUMBER),
            (&[0xC1][..], DataType::NUMBER),
            (&[0xFF][..], DataType::TEXT),
            (&[1; 6][..], DataType::Date),
            (&[120, 120, 13, 1, 1, 1, 1][..], DataType::Date),
            (&[120, 120, 12, 1, 1, 1, 1, 255, 255, 255, 255][..], DataType::TIMESTAMP),
            (&[0; 9][..], DataType::Rowid),
            (&[2][..], DataType::Boolean),
            (&[0; 7][..], DataType::BinaryDouble),
        ] {
            assert!(decode_into(bytes, &data_type, &mut value).unwrap_err().is(600), "{data_type:?}");
        }
    }

    #[test]
    fn buffers_are_reused() {
        let mut value = Value::Text(String::with_capacity(100));
        let before = if let Value::Text(s) = &value { s.as_ptr() } else { unreachable!() };
        decode_into(b"hello", &DataType::TEXT, &mut value).unwrap();
        assert!(matches!(&value, Value::Text(s) if s.as_ptr() == before && s == "hello"));
    }

    fn number() -> impl Strategy<Value = Value> {
        (any::<i64>(), -30i32..30).prop_map(|(c, e)| Value::Number(Number::from_scaled(c.into(), e).unwrap()))
    }

    proptest! {
        #[test]
        fn bytes_order_as_values(a in number(), b in number(), x in any::<f64>(), y in any::<f64>(), s in any::<i32>(), t in any::<i32>()) {
            prop_assert_eq!(stored(&a).cmp(&stored(&b)), a.sort_cmp(&b));
            let pairs = [
                (Value::Double(x), Value::Double(y)),
                (Value::Float(x as f32), Value::Float(y as f32)),
                (Value::Date(date(s.into())), Value::Date(date(t.into()))),
                (Value::IntervalYm(IntervalYm { months: s }), Value::IntervalYm(IntervalYm { months: t })),
                (Value::IntervalDs(IntervalDs { seconds: s.into(), nanos: 1 }), Value::IntervalDs(IntervalDs { seconds: t.into(), nanos: 2 })),
                (Value::Timestamp(Timestamp::new(date(s.into()), 3)), Value::Timestamp(Timestamp::new(date(t.into()), 1))),
            ];
            for (a, b) in pairs {
                prop_assert_eq!(stored(&a).cmp(&stored(&b)), a.sort_cmp(&b), "{:?} {:?}", a, b);
            }
        }

        #[test]
        fn instants_order_and_come_back_with_their_zones(s in any::<i32>(), t in -3i64..3, n in 0u32..3, zones in any::<(u16, u16)>()) {
            let zone = |n: u16| match crate::Region::numbered(n % 600) {
                Some(region) => TimeZone::Region(region),
                None => TimeZone::Offset((n % 1919) as i16 - 959),
            };
            let stamp = |s: i64, n, z| Timestamp::of_clock(date(s), n, Place::In(zone(z)));
            let (a, b) = (stamp(s.into(), n, zones.0), stamp(i64::from(s) + t, 1, zones.1));
            let instant = |t: &Timestamp| {
                let mut out = Vec::new();
                encode_instant(&Value::Timestamp(*t), &mut out);
                out
            };
            prop_assert_eq!(instant(&a).cmp(&instant(&b)), a.cmp(&b));
            prop_assert_eq!((instant(&a), instant(&a.moved(Place::Session))), (instant(&a.moved(b.place())), instant(&a)));
            for t in [a, b, a.moved(Place::Session), a.utc()] {
                let value = Value::Timestamp(t);
                let mut back = Value::Null;
                decode_into(&stored(&value), &value.data_type(), &mut back).unwrap();
                prop_assert_eq!(format!("{back:?}"), format!("{value:?}"));
            }
        }

        #[test]
        fn keys_order_column_by_column(
            a in proptest::collection::vec(proptest::option::of(proptest::collection::vec(0u8..3, 0..4)), 2),
            b in proptest::collection::vec(proptest::option::of(proptest::collection::vec(0u8..3, 0..4)), 2),
            down in any::<bool>(),
        ) {
            let key = |columns: &[Option<Vec<u8>>]| {
                let mut out = Vec::new();
                push_key_part(columns[0].as_deref(), false, &mut out);
                push_key_part(columns[1].as_deref(), down, &mut out);
                out
            };
            let rank = |column: &Option<Vec<u8>>| (column.is_none(), column.clone());
            let second = rank(&a[1]).cmp(&rank(&b[1]));
            let expected = rank(&a[0]).cmp(&rank(&b[0])).then(if down { second.reverse() } else { second });
            prop_assert_eq!(key(&a).cmp(&key(&b)), expected);
            let bytes = key(&a);
            let mut part = Vec::new();
            let (rest, present) = pop_key_part(&bytes, false, &mut part).unwrap();
            prop_assert_eq!(present.then(|| part.clone()), a[0].clone());
            let (rest, present) = pop_key_part(rest, down, &mut part).unwrap();
            prop_assert_eq!(present.then(|| part.clone()), a[1].clone());
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn damaged_keys_do_not_panic(key in proptest::collection::vec(any::<u8>(), 0..12), down in any::<bool>()) {
            let mut part = Vec::new();
            let _ = pop_key_part(&key, down, &mut part);
        }
    }
}
