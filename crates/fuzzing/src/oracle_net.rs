//! Oracle Net: packets, their messages, and the proof of a password.

use crate::Target;
use net::oracle::auth::{self, Logon, Pairs};
use net::oracle::call::{self, Execute, Request};
use net::oracle::descriptor::Entry;
use net::oracle::field::{Reader, Writer};
use net::oracle::handshake::{self, Client};
use net::oracle::reply::{self, Outcome};
use net::oracle::rows::BindRows;
use net::oracle::tns::{self, Accept, Connect, PacketBuffer};
use net::oracle::value::{self, BindRules, Column, Shape};
use net::oracle::{function, o5logon};
use types::{DataType, Number, Value};

/// Packets from a socket, and the messages before a logon.
pub const PACKETS: Target = Target { name: "oracle_packets", run: packets, seeds: packet_seeds, is_text: false };

/// Calls and answers after a logon. The first byte selects the client's version and the rules of its binds.
pub const MESSAGES: Target = Target { name: "oracle_messages", run: messages, seeds: message_seeds, is_text: false };

/// The two phases of a logon.
pub const LOGON: Target = Target { name: "oracle_logon", run: logon, seeds: logon_seeds, is_text: false };

const CLIENTS: [Client; 3] = [
    Client::USUAL,
    Client { sized_text: false, byte_scale: false, ..Client::USUAL },
    Client { field_version: 7, ..Client::USUAL },
];

fn columns() -> Vec<Column> {
    let types =
        [DataType::NUMBER, DataType::TEXT, DataType::Date, DataType::TIMESTAMP_TZ, DataType::Rowid, DataType::Long];
    let shape = |t: &DataType| value::of_type(t).expect("a type that travels");
    types.iter().map(|t| Column { name: "C".into(), shape: shape(t), nullable: true }).collect()
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out);
    out
}

fn packets(bytes: &[u8]) {
    for is_accepted in [false, true] {
        let mut buffer = PacketBuffer::new();
        if is_accepted {
            buffer.accept(8192);
        }
        // Packets arrive in pieces of any length.
        let (first, rest) = bytes.split_at(bytes.len() / 3);
        buffer.extend(first);
        let mut seen = 0;
        for piece in [&[][..], rest] {
            buffer.extend(piece);
            while let Ok(Some(packet)) = buffer.next_packet() {
                seen += 1;
                assert!(seen <= bytes.len(), "more packets than bytes");
                let _ = (packet.data(), packet.marker());
                let _ = (Connect::decode(packet.body), Accept::decode(packet.body), tns::refusal(packet.body));
            }
        }
    }
    let text = String::from_utf8_lossy(bytes);
    if let Some(entry) = Entry::parse(&text) {
        let _ = (entry.text_of("SERVICE_NAME"), entry.find(&["DESCRIPTION", "CONNECT_DATA"]), entry.anywhere("CID"));
    }
    let behind_type = bytes.get(1..).unwrap_or_default();
    let _ = handshake::read_protocol(&mut Reader::new(behind_type));
    let _ = handshake::read_protocol_reply(&mut Reader::new(behind_type));
    let _ = handshake::read_data_types(&mut Reader::new(behind_type));
}

fn packet_seeds() -> Vec<Vec<u8>> {
    vec![
        written(|o| Connect::encode(b"(DESCRIPTION=(CONNECT_DATA=(SERVICE_NAME=s)(CID=(PROGRAM=p))))", 8192, o)),
        written(|o| Connect::encode(&[b'x'; 300], 8192, o)),
        written(|o| Accept { version: 318, sdu: 8192 }.encode(o)),
        written(|o| tns::write_refuse(o, 12514)),
        written(|o| tns::write_marker(o, tns::marker::BREAK)),
        written(|o| tns::write_data(o, &[7; 40], 8192)),
        written(|o| handshake::write_protocol(o, "driver")),
        written(|o| handshake::write_protocol_reply(o, "banner")),
        written(handshake::write_data_types),
        b"(DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(HOST=h)(PORT=1521))(CONNECT_DATA=(SERVICE_NAME=s)))".to_vec(),
    ]
}

fn messages(bytes: &[u8]) {
    let Some((&choice, bytes)) = bytes.split_first() else { return };
    let client = CLIENTS[usize::from(choice) % CLIENTS.len()];
    let _ = reply::read_answer(&mut Reader::new(bytes), &columns(), client);
    let mut r = Reader::new(bytes);
    if let Ok((_, call)) = call::read(&mut r, client) {
        bind_rows(&mut r, call.request, choice);
    }
    let shape = Shape { number: choice, form: choice % 3, ..Shape::default() };
    if let Ok(v) = value::read(&mut Reader::new(bytes), &shape) {
        let _ = value::write(&mut Writer::new(&mut Vec::new()), &v, &shape);
    }
}

fn bind_rows(r: &mut Reader<'_>, request: Request, choice: u8) {
    let (binds, executions) = match request {
        Request::Execute(e) => {
            assert!(e.binds.len() + e.defines.len() <= r.position(), "each description takes bytes of its own");
            (e.binds.clone(), e.executions())
        }
        Request::Reexecute(again) => (columns().iter().map(|c| c.shape).collect(), again.count as usize),
        _ => return,
    };
    let returning = (0..binds.len()).map(|n| choice >> (n % 8) & 1 == 1).collect();
    let rules = BindRules { returning, is_block: choice & 8 != 0, sends_all: choice & 16 != 0 };
    let (message, from) = (r.left().to_vec(), r.position());
    let _ = value::read_row(&mut r.clone(), &binds, &rules);
    if value::skip_rows(r, &binds, &rules, executions).is_ok() {
        let mut rows = BindRows::new(message, 0, &binds, &rules, executions);
        let mut row = Vec::new();
        // A row without bind values takes no bytes, so the number of rows has no other limit than the client's word.
        for _ in 0..executions.min(r.position() - from + 3) {
            match rows.next_row(&mut row) {
                Ok(more) => assert!(more && row.len() == binds.len()),
                Err(_) => return,
            }
        }
        let is_at_end = r.position() == from || !rows.next_row(&mut row).expect("an end");
        assert!(is_at_end, "more rows than were passed by");
    }
}

fn message_seeds() -> Vec<Vec<u8>> {
    let shapes = [value::of_type(&DataType::NUMBER), value::of_type(&DataType::TEXT)].map(|s| s.expect("it travels"));
    let execute = Execute {
        options: 0x8061,
        sql: Some("select * from t where a = :1 and b = :2".into()),
        prefetch: 100,
        binds: shapes.to_vec(),
        is_query: true,
        ..Execute::default()
    };
    let values = [Value::Number(Number::from_i64(-42)), Value::text("x".repeat(300))];
    let rows = |o: &mut Vec<u8>| {
        reply::write_describe(o, &columns(), Client::USUAL);
        reply::write_row_header(o, 6, 2, true);
        reply::write_row(o, &columns(), &vec![Value::Null; 6]).expect("NULL can be written");
        reply::write_parameters(o, 1 << 40, 1, None);
        Outcome { error: 942, message: "ORA-00942: x".into(), ..Outcome::default() }.write(o);
    };
    let all = [
        written(|o| execute.write(3, &values, o).expect("it can be written")),
        written(|o| call::write_fetch(7, 100, 4, o)),
        written(|o| call::write_close_cursor(7, o)),
        written(|o| call::write_simple(function::COMMIT, 5, o)),
        vec![17, 105, 1, 1, 2, 1, 7, 1, 8, 17, 152, 2, 1, 1, 2, 2, b'h', b'r', 3, 14, 4],
        written(rows),
    ];
    all.into_iter().flat_map(|m| [0, 1, 2].map(|c| [&[c], &m[..]].concat())).collect()
}

fn logon(bytes: &[u8]) {
    for client in CLIENTS {
        if let Ok(logon) = Logon::read(&mut Reader::new(bytes), 1, client) {
            let get = |key| logon.pairs.get(key).unwrap_or_default();
            let newer = o5logon::Verifier::Sha512 { key: [3; 64], salt: [4; 16] };
            let older = o5logon::Verifier::Sha1 { key: [3; 20], salt: [4; 10] };
            let speedy_key = Some(get("AUTH_PBKDF2_SPEEDY_KEY"));
            let proof = o5logon::Proof { session_key: get("AUTH_SESSKEY"), speedy_key, password: get("AUTH_PASSWORD") };
            for challenge in [newer, older].map(|verifier| o5logon::Challenge::new(verifier, &[5; 48])) {
                assert!(challenge.check(&proof).is_none(), "bytes without the password proved it");
            }
            auth::statements(get("AUTH_ALTER_SESSION")).for_each(drop);
        }
    }
    let _ = auth::read_reply(&mut Reader::new(bytes));
}

fn logon_seeds() -> Vec<Vec<u8>> {
    let mut pairs = Pairs::default();
    pairs.push("AUTH_SESSKEY", "0123456789ABCDEF".repeat(4), 1);
    pairs.push("AUTH_PBKDF2_SPEEDY_KEY", "0123456789ABCDEF".repeat(10), 0);
    pairs.push("AUTH_PASSWORD", "0123456789ABCDEF".repeat(4), 0);
    pairs.push("AUTH_ALTER_SESSION", "ALTER SESSION SET TIME_ZONE='+02:00'\0", 1);
    let logon = Logon { sequence: 1, user: "scott".into(), mode: 0x101, pairs: pairs.clone() };
    let phases = [function::AUTH_PHASE_ONE, function::AUTH_PHASE_TWO];
    let mut all: Vec<Vec<u8>> = phases.map(|which| written(|o| logon.write(which, o))).into();
    // `Logon::read` begins after the head of the call.
    all.extend(all.clone().into_iter().map(|m| m[3.min(m.len())..].to_vec()));
    all.push(written(|o| auth::write_reply(o, &pairs)));
    all
}
