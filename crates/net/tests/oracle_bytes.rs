//! Messages of Oracle Net: no bytes whatever make a decoder panic, and none of them asks for more memory than its bytes warrant.
//!
//! Bytes come from a generator with fixed seeds: random ones, and messages that were recorded or encoded, cut, joined and changed.

use net::local::WireError;
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

/// Random numbers by Marsaglia's shifts.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    fn bytes(&mut self, most: usize) -> Vec<u8> {
        let n = self.below(most + 1);
        (0..n).map(|_| self.next() as u8).collect()
    }
}

const CLIENTS: [Client; 3] = [
    Client::USUAL,
    Client { sized_text: false, byte_scale: false, ..Client::USUAL },
    Client { field_version: 7, ..Client::USUAL },
];

fn columns() -> Vec<Column> {
    let types =
        [DataType::NUMBER, DataType::TEXT, DataType::Date, DataType::TIMESTAMP_TZ, DataType::Rowid, DataType::Long];
    let column = |t: &DataType| Column { name: "C".into(), shape: value::of_type(t).unwrap(), nullable: true };
    types.iter().map(column).collect()
}

/// Messages as both sides write them.
fn messages() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    let mut add = |write: &mut dyn FnMut(&mut Vec<u8>)| {
        let mut out = Vec::new();
        write(&mut out);
        all.push(out);
    };
    add(&mut |o| Connect::encode(b"(DESCRIPTION=(CONNECT_DATA=(SERVICE_NAME=s)(CID=(PROGRAM=p))))", 8192, o));
    add(&mut |o| Connect::encode(&[b'x'; 300], 8192, o));
    add(&mut |o| Accept { version: 318, sdu: 8192 }.encode(o));
    add(&mut |o| tns::write_refuse(o, 12514));
    add(&mut |o| tns::write_marker(o, tns::marker::BREAK));
    add(&mut |o| handshake::write_protocol(o, "driver"));
    add(&mut |o| handshake::write_protocol_reply(o, "banner"));
    add(&mut |o| handshake::write_data_types(o));
    let mut pairs = Pairs::default();
    pairs.push("AUTH_SESSKEY", "0123456789ABCDEF".repeat(4), 1);
    pairs.push("AUTH_ALTER_SESSION", "ALTER SESSION SET X = 1\0", 1);
    let logon = Logon { sequence: 1, user: "scott".into(), mode: 0x101, pairs: pairs.clone() };
    add(&mut |o| logon.write(function::AUTH_PHASE_ONE, o));
    add(&mut |o| logon.write(function::AUTH_PHASE_TWO, o));
    add(&mut |o| auth::write_reply(o, &pairs));
    let shapes = [value::of_type(&DataType::NUMBER).unwrap(), value::of_type(&DataType::TEXT).unwrap()];
    let execute = Execute {
        options: 0x8061,
        sql: Some("select * from t where a = :1 and b = :2".into()),
        prefetch: 100,
        binds: shapes.to_vec(),
        is_query: true,
        ..Execute::default()
    };
    let values = [Value::Number(Number::from_i64(-42)), Value::text("x".repeat(300))];
    add(&mut |o| execute.write(3, &values, o).unwrap());
    add(&mut |o| call::write_fetch(7, 100, 4, o));
    add(&mut |o| o.extend_from_slice(&[17, 105, 1, 1, 2, 1, 7, 1, 8, 17, 152, 2, 1, 1, 2, 2, b'h', b'r', 3, 14, 4]));
    add(&mut |o| {
        reply::write_describe(o, &columns(), Client::USUAL);
        reply::write_row_header(o, 6, 2, true);
        reply::write_row(o, &columns(), &vec![Value::Null; 6]).unwrap();
        reply::write_parameters(o, 1 << 40, 1, None);
        Outcome { error: 942, message: "ORA-00942: x".into(), ..Outcome::default() }.write(o);
    });
    all
}

fn mutated(random: &mut Random, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = corpus[random.below(corpus.len())].clone();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        match random.below(5) {
            0 => bytes.truncate(at),
            1 if !bytes.is_empty() => bytes[at] = random.next() as u8,
            2 if !bytes.is_empty() => bytes[at] = [0, 1, 0x7f, 0x80, 0xfd, 0xfe, 0xff][random.below(7)],
            3 => bytes.splice(at..at, random.bytes(6)).for_each(drop),
            _ => bytes.extend_from_slice(&corpus[random.below(corpus.len())].clone()[..]),
        }
    }
    bytes
}

/// Gives bytes to every decoder, as a server and a client would.
fn decode_all(bytes: &[u8], random: &mut Random) {
    let client = CLIENTS[random.below(3)];
    let mut packets = PacketBuffer::new();
    if random.below(2) == 0 {
        packets.accept(8192);
    }
    packets.extend(bytes);
    for _ in 0..bytes.len() {
        let Ok(Some(packet)) = packets.next_packet() else { break };
        let _ = (packet.data(), packet.marker());
        let _ = (Connect::decode(packet.body), Accept::decode(packet.body), tns::refusal(packet.body));
    }
    let _ = (Connect::decode(bytes), Accept::decode(bytes), tns::refusal(bytes));
    let text = String::from_utf8_lossy(bytes);
    if let Some(entry) = Entry::parse(&text) {
        let _ = (entry.text_of("SERVICE_NAME"), entry.find(&["DESCRIPTION", "CONNECT_DATA"]));
    }
    let behind_type = bytes.get(1..).unwrap_or_default();
    let _ = handshake::read_protocol(&mut Reader::new(behind_type));
    let _ = handshake::read_protocol_reply(&mut Reader::new(behind_type));
    let _ = handshake::read_data_types(&mut Reader::new(behind_type));
    let _ = auth::read_reply(&mut Reader::new(behind_type));
    let _ = reply::read_answer(&mut Reader::new(bytes), &columns(), client);
    let mut r = Reader::new(bytes);
    if let Ok((_, call)) = call::read(&mut r, client) {
        decode_call(&mut r, call.request, random);
    }
    let shape = Shape { number: random.next() as u8, form: random.below(3) as u8, ..Shape::default() };
    if let Ok(v) = value::read(&mut Reader::new(bytes), &shape) {
        let _ = value::write(&mut Writer::new(&mut Vec::new()), &v, &shape);
    }
}

fn decode_call(r: &mut Reader<'_>, request: Request, random: &mut Random) {
    let (binds, executions) = match request {
        Request::Execute(e) => {
            // Each description takes bytes of its own.
            assert!(e.binds.len() + e.defines.len() <= r.position());
            (e.binds.clone(), e.executions())
        }
        Request::Reexecute(again) => (columns().iter().map(|c| c.shape).collect(), again.count as usize),
        _ => return,
    };
    let returning = binds.iter().map(|_| random.below(4) == 0).collect();
    let rules = BindRules { returning, is_block: random.below(2) == 0 };
    let (message, from) = (r.left().to_vec(), r.position());
    let _ = value::read_row(&mut r.clone(), &binds, &rules);
    if value::skip_rows(r, &binds, &rules, executions).is_ok() {
        let mut rows = BindRows::new(message, 0, &binds, &rules, executions);
        let mut row = Vec::new();
        // Those for which nothing is sent are as many as the client says.
        for _ in 0..executions.min(r.position() - from + 3) {
            match rows.next_row(&mut row) {
                Ok(more) => assert!(more && row.len() == binds.len()),
                Err(_) => return,
            }
        }
        assert!(r.position() == from || !rows.next_row(&mut row).unwrap());
    }
}

#[test]
fn random_bytes_are_never_more_than_refused() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..20_000 {
        let bytes = random.bytes(120);
        decode_all(&bytes, &mut random);
    }
}

#[test]
fn messages_that_were_changed_are_never_more_than_refused() {
    let corpus = messages();
    for seed in 1..=4u64 {
        let mut random = Random(seed * 0x2545_f491_4f6c_dd1d);
        for _ in 0..6_000 {
            let bytes = mutated(&mut random, &corpus);
            decode_all(&bytes, &mut random);
        }
    }
}

#[test]
fn changed_proofs_prove_nothing() {
    let mut random = Random(77);
    let challenge = o5logon::Challenge::new([3; 64], [4; 16], &[5; 48]);
    for _ in 0..300 {
        let texts: Vec<String> = (0..2).map(|_| o5logon::to_hex(&random.bytes(100))).collect();
        let proof = o5logon::Proof { session_key: &texts[0], speedy_key: Some(&texts[1]), password: "" };
        assert!(challenge.check(&proof).is_none());
    }
}

#[test]
fn counts_are_held_against_what_is_there() {
    // An execution of a million rows of nothing.
    let binds = [Shape { number: 2, ..Shape::default() }; 2];
    let rules = BindRules { returning: vec![true; 2], is_block: false };
    let mut rows = BindRows::new(Vec::new(), 0, &binds, &rules, 1 << 20);
    let mut row = Vec::new();
    assert!(rows.next_row(&mut row).unwrap() && row == [Value::Null, Value::Null]);
    assert_eq!(rows.len(), (1 << 20) - 1);
    let rules = BindRules::default();
    assert_eq!(value::skip_rows(&mut Reader::new(&[7, 0, 0]), &binds, &rules, 1 << 20), Err(WireError::Truncated));
}
