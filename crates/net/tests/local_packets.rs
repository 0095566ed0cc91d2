//! Packets decode to the values that were encoded, and no bytes make the decoders panic.

use net::StatementKind;
use net::local::{
    ARRAY_ROWS_MAX, Array, Bind, BindRows, Column, Direction, Done, Execute, Executed, Failure, FrameBuffer, Logon,
    MAX_REQUEST_LEN, Reply, Request, TableBind, Welcome, WireError, encode_rows, write_frame,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use types::Zone;
use types::{
    DataType, Date, IntervalDs, IntervalYm, LenUnit, Number, ObjectId, Place, Rdba, Rowid, TimeZone, Timestamp, Value,
};

fn number() -> impl Strategy<Value = Number> {
    prop_oneof![
        any::<i64>().prop_map(Number::from_i64),
        (any::<i64>(), -100i32..100).prop_map(|(c, e)| Number::from_scaled(c.into(), e).unwrap()),
    ]
}

fn date() -> impl Strategy<Value = Date> {
    (1i32..=9999, 1u32..=12, 1u32..=28, 0u32..24, 0u32..60, 0u32..60)
        .prop_map(|(y, mo, d, h, mi, s)| Date::new(y, mo, d, h, mi, s).unwrap())
}

fn rowid() -> impl Strategy<Value = Rowid> {
    (any::<u32>(), 0..1023u32, 0..(1u32 << 22), any::<u16>()).prop_map(|(o, f, b, slot)| Rowid {
        obj: ObjectId(o),
        rdba: Rdba::new(f, b),
        slot,
    })
}

/// The longest intervals: nine digits of years and of days.
const MONTHS_MAX: i32 = 999_999_999;
const SECONDS_MAX: i64 = 1_000_000_000 * 86_400 - 1;

fn place() -> impl Strategy<Value = Place> {
    let berlin = TimeZone::Region(types::Region::named("Europe/Berlin").unwrap());
    prop_oneof![
        Just(Place::Nowhere),
        Just(Place::Session),
        Just(Place::In(berlin)),
        (-840i16..840).prop_map(|minutes| Place::In(TimeZone::Offset(minutes))),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        number().prop_map(Value::Number),
        ".{1,40}".prop_map(Value::Text),
        date().prop_map(Value::Date),
        (date(), 0u32..1_000_000_000, place())
            .prop_map(|(date, nanos, place)| Value::Timestamp(Timestamp::of_clock(date, nanos, place))),
        vec(any::<u8>(), 1..40).prop_map(Value::Raw),
        rowid().prop_map(Value::Rowid),
        any::<bool>().prop_map(Value::Boolean),
        (-1e300f64..1e300).prop_map(Value::Double),
        (-1e30f32..1e30).prop_map(Value::Float),
        (-MONTHS_MAX..=MONTHS_MAX).prop_map(|months| Value::IntervalYm(IntervalYm { months })),
        (-SECONDS_MAX..=SECONDS_MAX, 0u32..1_000_000_000)
            .prop_map(|(seconds, nanos)| Value::IntervalDs(IntervalDs { seconds, nanos })),
    ]
}

fn data_type() -> impl Strategy<Value = DataType> {
    let unit = prop_oneof![Just(LenUnit::Byte), Just(LenUnit::Char)];
    let zone = prop_oneof![Just(Zone::None), Just(Zone::WithTimeZone), Just(Zone::WithLocalTimeZone)];
    prop_oneof![
        (option::of(1u8..=38), option::of(-84i8..=127))
            .prop_map(|(precision, scale)| DataType::Number { precision, scale }),
        (any::<u32>(), unit).prop_map(|(len, unit)| DataType::Varchar2 { len, unit }),
        (any::<u8>(), zone).prop_map(|(digits, zone)| DataType::Timestamp { digits, zone }),
        (any::<u8>(), any::<u8>()).prop_map(|(days, digits)| DataType::IntervalDs { days, digits }),
        any::<u32>().prop_map(|len| DataType::Raw { len }),
        proptest::sample::select(vec![
            DataType::Null,
            DataType::Date,
            DataType::Rowid,
            DataType::Urowid,
            DataType::BinaryDouble,
            DataType::BinaryFloat,
            DataType::Clob,
            DataType::Blob,
            DataType::Long,
            DataType::Boolean,
            DataType::PlsInteger,
            DataType::Cursor,
            DataType::Float { binary: 63 },
            DataType::Nchar { len: 3 },
            DataType::IntervalYm { years: 2 },
        ]),
    ]
}

fn bind() -> impl Strategy<Value = Bind> {
    let direction = prop_oneof![Just(Direction::In), Just(Direction::Out), Just(Direction::InOut)];
    (option::of("[a-z]{1,8}"), direction, data_type(), value()).prop_map(|(name, direction, data_type, value)| Bind {
        name,
        direction,
        data_type,
        value,
    })
}

fn table() -> impl Strategy<Value = TableBind> {
    (any::<u16>(), any::<u32>(), vec(value(), 0..6)).prop_map(|(bind, most, elements)| TableBind {
        bind,
        most,
        elements,
    })
}

fn column() -> impl Strategy<Value = Column> {
    let plain =
        (".{1,30}", data_type(), any::<bool>(), any::<u32>()).prop_map(|(name, data_type, nullable, display_size)| {
            Column { name, data_type, nullable, display_size, nested: Vec::new() }
        });
    plain.prop_recursive(3, 12, 4, |inner| {
        vec(inner, 0..4).prop_map(|nested| Column {
            name: "C".into(),
            data_type: DataType::Cursor,
            nullable: true,
            display_size: 80,
            nested,
        })
    })
}

fn array() -> impl Strategy<Value = Request> {
    let binds = vec(bind(), 1..5);
    let shape = (".{0,200}", binds, any::<bool>(), any::<bool>(), any::<bool>());
    let with_rows = |(sql, binds, batch_errors, row_counts, want_output): (String, Vec<Bind>, bool, bool, bool)| {
        let array = Array { sql, batch_errors, row_counts, want_output, binds };
        (vec(vec(value(), array.binds.len()), 0..20), Just(array))
    };
    shape.prop_flat_map(with_rows).prop_map(|(rows, array)| {
        let mut packed = BindRows::new(array.binds.len());
        assert!(rows.iter().all(|row| packed.push(row, usize::MAX)));
        assert_eq!(values(&packed), rows);
        Request::ExecuteMany { array: Box::new(array), rows: packed }
    })
}

/// The rows, each read into the buffers of the previous one.
fn values(packed: &BindRows) -> Vec<Vec<Value>> {
    let (mut rows, mut row, mut all) = (packed.rows(), Vec::new(), Vec::new());
    while rows.next_row(&mut row).expect("rows that were looked through") {
        all.push(row.clone());
    }
    assert_eq!(all.len(), packed.len());
    all
}

fn request() -> impl Strategy<Value = Request> {
    prop_oneof![
        (any::<u16>(), ".{0,10}", ".{0,10}", any::<bool>(), any::<u32>()).prop_map(
            |(version, user, password, as_sysdba, process_id)| {
                let logon =
                    Logon { version, user, password, as_sysdba, process_id, program: "p".into(), ..Logon::default() };
                Request::Logon(Box::new(logon))
            }
        ),
        (".{0,200}", vec(bind(), 0..6), any::<u32>(), any::<bool>(), vec(table(), 0..3)).prop_map(
            |(sql, binds, prefetch, want_output, tables)| {
                Request::Execute(Box::new(Execute { sql, binds, prefetch, want_output, tables }))
            }
        ),
        array(),
        ".{0,50}".prop_map(|sql| Request::Describe { sql }),
        (any::<u32>(), any::<u32>()).prop_map(|(cursor, rows)| Request::Fetch { cursor, rows }),
        any::<u32>().prop_map(|cursor| Request::CloseCursor { cursor }),
        any::<bool>().prop_map(|commit| Request::Logoff { commit }),
        (any::<u32>(), any::<u32>(), any::<u64>(), any::<u64>()).prop_map(|(sid, serial, key, call)| Request::Cancel {
            sid,
            serial,
            key,
            call
        }),
    ]
}

fn failure() -> impl Strategy<Value = Failure> {
    (any::<u32>(), ".{0,60}", option::of(any::<u32>()), any::<u16>(), any::<bool>()).prop_map(
        |(code, text, position, kind, fatal)| Failure {
            facility: "ORA".into(),
            code,
            text,
            position,
            kind: StatementKind(kind),
            fatal,
        },
    )
}

fn reply() -> impl Strategy<Value = Reply> {
    let of_blocks = (
        vec((any::<u16>(), vec(value(), 0..4)), 0..3),
        vec((any::<u32>(), vec(column(), 0..4)), 0..3),
        vec(any::<u32>(), 0..3),
    );
    let done = (
        any::<u16>(),
        any::<u64>(),
        any::<bool>(),
        option::of(failure()),
        vec((any::<u16>(), value()), 0..4),
        of_blocks,
    )
        .prop_map(|(kind, rows, more, warning, out, (tables, cursors, results))| {
            let (kind, in_transaction, schema) = (StatementKind(kind), true, "S".into());
            let done = Done { kind, rows, more, warning, out, tables, cursors, results, in_transaction, schema };
            Reply::Done(Box::new(done))
        });
    prop_oneof![
        (any::<u32>(), any::<u32>(), any::<u64>(), ".{0,20}").prop_map(|(sid, serial, cancel_key, user)| {
            Reply::Welcome(Box::new(Welcome { sid, serial, cancel_key, user, ..Welcome::default() }))
        }),
        (any::<u32>(), vec(column(), 0..8)).prop_map(|(cursor, columns)| Reply::Described { cursor, columns }),
        (any::<u32>(), vec(vec(value(), 0..5), 0..8)).prop_map(|(cursor, rows)| Reply::Rows { cursor, rows }),
        vec(option::of(".{0,20}"), 0..5).prop_map(|lines| Reply::Output { lines }),
        (any::<u32>(), vec((any::<u16>(), value()), 0..5))
            .prop_map(|(execution, values)| Reply::Returned { execution, values }),
        vec((any::<u32>(), failure()), 0..5).prop_map(|errors| Reply::Refused { errors }),
        (any::<u32>(), any::<u64>(), vec(any::<u64>(), 0..9))
            .prop_map(|(executions, rows, counts)| { Reply::Executed(Executed { executions, rows, counts }) }),
        done,
        failure().prop_map(|f| Reply::Error(Box::new(f))),
    ]
}

fn encoded(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out);
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_request_survives_encoding(r in request()) {
        let bytes = encoded(|o| r.encode(o));
        prop_assert_eq!(Request::decode(&bytes).unwrap(), r);
        // Every shorter packet is refused, and so is a longer one.
        for cut in 0..bytes.len().min(200) {
            prop_assert!(Request::decode(&bytes[..cut]).is_err());
        }
        let longer = [&bytes[..], &[0]].concat();
        prop_assert!(Request::decode(&longer).is_err());
    }

    #[test]
    fn a_reply_survives_encoding(r in reply()) {
        let bytes = encoded(|o| r.encode(o));
        prop_assert_eq!(Reply::decode(&bytes).unwrap(), r);
        for cut in 0..bytes.len().min(200) {
            prop_assert!(Reply::decode(&bytes[..cut]).is_err());
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..300), tag in 0u8..80) {
        let _ = Request::decode(&bytes);
        let _ = Reply::decode(&bytes);
        let tagged = [&[tag][..], &bytes].concat();
        let _ = Request::decode(&tagged);
        let _ = Reply::decode(&tagged);
        let mut frames = FrameBuffer::new(MAX_REQUEST_LEN);
        frames.extend(&bytes);
        while let Ok(Some(_)) = frames.next_frame() {}
    }

    #[test]
    fn a_damaged_packet_never_panics(r in reply(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = encoded(|o| r.encode(o));
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = Reply::decode(&bytes);
    }

    #[test]
    fn a_damaged_array_is_refused_or_read_to_its_end(r in array(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = encoded(|o| r.encode(o));
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(Request::ExecuteMany { array, rows }) = Request::decode(&bytes) {
            prop_assert!(values(&rows).iter().all(|row| row.len() == array.binds.len()));
        }
    }

    #[test]
    fn rows_written_one_by_one_are_a_rows_packet(rows in vec(vec(value(), 0..5), 0..8)) {
        let mut left = rows.iter();
        let mut out = Vec::new();
        let n = encode_rows(&mut out, 7, |w| -> Result<bool, ()> {
            let Some(row) = left.next() else { return Ok(false) };
            w.row(row.iter());
            Ok(true)
        });
        prop_assert_eq!(n, Ok(rows.len() as u32));
        prop_assert_eq!(Reply::decode(&out).unwrap(), Reply::Rows { cursor: 7, rows });
    }
}

#[test]
fn rows_of_an_array_are_bounded() {
    let mut rows = BindRows::new(2);
    let row = [Value::text("abc"), Value::Null];
    assert!(!rows.push(&row, 8) && rows.is_empty() && rows.push(&row, 9) && !rows.push(&row, 17));
    rows.clear();
    let nulls = [Value::Null, Value::Null];
    while rows.push(&nulls, usize::MAX) {}
    assert_eq!((rows.len(), rows.bytes()), (ARRAY_ROWS_MAX, 2 * ARRAY_ROWS_MAX));
    let bind = Bind::input(DataType::NUMBER, Value::Null);
    let request = |binds: usize, rows: &BindRows| {
        let array = Array { binds: vec![bind.clone(); binds], ..Array::default() };
        let bytes = encoded(|o| Request::ExecuteMany { array: Box::new(array), rows: rows.clone() }.encode(o));
        Request::decode(&bytes).is_ok()
    };
    assert!(request(2, &rows));
    // Rows of another width than the binds, and without binds.
    assert!(!request(1, &rows) && !request(3, &rows) && !request(0, &rows) && !request(0, &BindRows::default()));
    // More rows than allowed, of one byte each.
    let mut bytes = vec![9, 0, 0, 0, 0, 1, 0, 0, 0];
    bytes.extend(
        encoded(|o| {
            Request::Execute(Box::new(Execute {
                sql: String::new(),
                binds: vec![bind.clone()],
                prefetch: 0,
                want_output: false,
                tables: Vec::new(),
            }))
            .encode(o)
        })
        .split_off(9),
    );
    bytes.truncate(bytes.len() - 9);
    bytes.extend([0, 0, 0]);
    let count = ARRAY_ROWS_MAX as u32 + 1;
    for (count, good) in [(count, false), (count - 1, true)] {
        let mut packet = bytes.clone();
        packet.extend(count.to_le_bytes());
        packet.extend(count.to_le_bytes());
        packet.resize(packet.len() + count as usize, 0);
        assert_eq!(Request::decode(&packet).is_ok(), good);
    }
}

#[test]
fn values_that_no_client_has_are_refused() {
    let date = Date::new(2024, 2, 29, 1, 2, 3).unwrap();
    let zoned = |minutes| Value::Timestamp(Timestamp::of_clock(date, 0, Place::In(TimeZone::Offset(minutes))));
    let days = |seconds| Value::IntervalDs(IntervalDs { seconds, nanos: 0 });
    let months = |months| Value::IntervalYm(IntervalYm { months });
    let decoded = |value: Value| {
        let done = Done { out: vec![(0, value)], ..Done::default() };
        Reply::decode(&encoded(|o| Reply::Done(Box::new(done.clone())).encode(o)))
    };
    for good in [zoned(-959), zoned(959), days(SECONDS_MAX), days(-SECONDS_MAX), months(-MONTHS_MAX)] {
        assert!(decoded(good.clone()).is_ok(), "{good:?}");
    }
    for bad in [zoned(i16::MIN), zoned(960), days(i64::MIN), days(SECONDS_MAX + 1), months(i32::MIN), months(i32::MAX)]
    {
        assert_eq!(decoded(bad.clone()), Err(WireError::BadValue), "{bad:?}");
    }
}

#[test]
fn a_count_that_the_packet_cannot_hold_is_refused_before_memory_is_taken() {
    // Tag of Output, then a list of 4 G lines.
    let bytes = [68, 0xFF, 0xFF, 0xFF, 0xFF];
    assert!(Reply::decode(&bytes).is_err());
    let mut stream = Vec::new();
    write_frame(&mut stream, |o| o.extend_from_slice(&bytes));
    assert_eq!(stream.len(), 9);
}
