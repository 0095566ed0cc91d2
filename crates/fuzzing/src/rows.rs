//! The content of blocks: rows and their values, keys, row operations of undo, and heads of logs.

use crate::Target;
use types::row::RowReader;
use types::{Column, DataType, LenUnit, Number, Rowid, Value, Zone, codec};

/// Stored rows, values, keys and row operations.
pub const ROWS: Target = Target { name: "stored_rows", run: rows, seeds: row_seeds, is_text: false };

const TYPES: [DataType; 12] = [
    DataType::NUMBER,
    DataType::TEXT,
    DataType::Char { len: 10, unit: LenUnit::Byte },
    DataType::Date,
    DataType::Timestamp { digits: 6, zone: Zone::None },
    DataType::Timestamp { digits: 9, zone: Zone::WithTimeZone },
    DataType::IntervalYm { years: 2 },
    DataType::IntervalDs { days: 2, digits: 6 },
    DataType::Raw { len: 100 },
    DataType::BinaryDouble,
    DataType::BinaryFloat,
    DataType::Rowid,
];

fn rows(bytes: &[u8]) {
    let Some((&choice, bytes)) = bytes.split_first() else { return };
    match choice % 4 {
        0 => row(bytes),
        1 => TYPES.iter().for_each(|t| stored_value(bytes, t)),
        2 => key(bytes, choice & 4 != 0),
        _ => kept(bytes),
    }
}

fn row(bytes: &[u8]) {
    let Some(mut reader) = RowReader::new(bytes) else { return };
    let whole = RowReader::length(bytes);
    let first = reader;
    let mut columns = 0;
    while columns < reader.count() {
        let Some(column) = reader.next_column() else {
            assert!(whole.is_none(), "a row of {whole:?} bytes with a damaged column");
            return;
        };
        if columns < 32 {
            assert_eq!(first.column(columns), Some(column));
        }
        if let Column::Bytes(stored) = column
            && columns < 8
        {
            stored_value(stored, &TYPES[columns % TYPES.len()]);
        }
        columns += 1;
    }
    assert_eq!(whole, Some(bytes.len() - reader.rest().len()));
    // Writing a row again with some columns changed leaves the others unchanged.
    let mut again = Vec::new();
    let changed = [0, 3];
    let put = |_, writer: &mut types::RowWriter<'_>| writer.bytes(b"new");
    types::row::rewrite(bytes, &changed, &mut again, put).expect("a whole row can be rewritten");
    let again = RowReader::new(&again).expect("a row");
    for at in 0..columns.min(32) {
        let want = if changed.contains(&(at as u16)) { Some(Column::Bytes(b"new")) } else { first.column(at) };
        assert_eq!(again.column(at), want, "column {at}");
    }
}

/// A decoded value is encoded and decoded again, to the same value.
fn stored_value(bytes: &[u8], data_type: &DataType) {
    let (mut value, mut again) = (Value::Null, Value::Null);
    if codec::decode_into(bytes, data_type, &mut value).is_err() {
        return;
    }
    let mut out = Vec::new();
    codec::encode(&value, &mut out);
    codec::decode_into(&out, data_type, &mut again).expect("what was encoded decodes");
    assert_eq!(format!("{value:?}"), format!("{again:?}"), "{data_type:?}");
    let _ = value.to_text(&types::Nls::default()).map(|t| t.is_some());
}

/// A key part that is removed and added again is unchanged.
fn key(bytes: &[u8], descending: bool) {
    let (mut rest, mut part, mut parts) = (bytes, Vec::new(), 0);
    while let Some((left, is_present)) = codec::pop_key_part(rest, descending, &mut part) {
        let mut again = Vec::new();
        codec::push_key_part(is_present.then_some(&part[..]), descending, &mut again);
        assert_eq!(again, rest[..rest.len() - left.len()]);
        rest = left;
        parts += 1;
        assert!(parts <= bytes.len(), "more parts than bytes");
    }
}

fn kept(bytes: &[u8]) {
    if let Some((&op, data)) = bytes.split_first() {
        let mut slots = 0;
        heap::ops::slots(op, data, &mut |slot, _| {
            assert!(heap::ops::touches(op, data, slot), "slot {slot}");
            slots += 1;
        });
        assert!(slots <= bytes.len().max(heap::ops::SLOTS_MAX));
    }
    if let Some(header) = redo::LogHeader::parse(bytes) {
        let again = redo::LogHeader::parse(&header.to_bytes());
        assert_eq!(again, Some(header));
    }
    // As if the checksum were right.
    let header = redo::LogHeader {
        database: 7,
        incarnation: 1,
        sequence: u32::from(bytes.first().copied().unwrap_or(1)) + 1,
        start: redo::Rba(512),
        ..redo::LogHeader::default()
    };
    let mut image = header.to_bytes();
    image[8..].iter_mut().zip(bytes).take(56).for_each(|(to, from)| *to = *from);
    let _ = redo::LogHeader::parse(&image);
    let text = String::from_utf8_lossy(bytes);
    let _ = (
        text.parse::<Rowid>(),
        types::urowid::read(&text, &mut Vec::new()),
        text.parse::<Number>(),
        types::parse_hex(&text),
    );
}

fn row_seeds() -> Vec<Vec<u8>> {
    let values = [
        Value::Number(Number::from_i64(-4_200_000)),
        Value::text("a text"),
        Value::text("c         "),
        Value::Date(types::Date::new(2024, 2, 29, 1, 2, 3).expect("a date")),
        Value::Double(-1.5),
        Value::Float(0.25),
        Value::raw(vec![0, 255, 0]),
    ];
    let mut all = vec![vec![0, 2, 1, 255, 3, 97, 98, 99], vec![0, 255, 3, 0, 254, 1, 0, 65, 255, 253, 1, 0, 0, 0, 66]];
    for value in &values {
        let mut out = vec![1];
        codec::encode(value, &mut out);
        all.push(out.clone());
        for descending in [false, true] {
            let mut key = vec![if descending { 6 } else { 2 }];
            codec::push_key_part(Some(&out[1..]), descending, &mut key);
            codec::push_key_part(None, descending, &mut key);
            all.push(key);
        }
    }
    let mut row = vec![0];
    let mut writer = types::RowWriter::new(&mut row, values.len());
    values.iter().for_each(|v| writer.value(v));
    all.push(row);
    let mut record = vec![3];
    record.extend((0..80).map(|n| n % 7));
    all.push(record);
    all.push(
        [&[3], &redo::LogHeader { sequence: 3, start: redo::Rba(512), ..redo::LogHeader::default() }.to_bytes()[..72]]
            .concat(),
    );
    all.push(b"\x03AAAAAAAAAAAAAAAAAA".to_vec());
    all
}
