//! Pipelined calls, which do not wait for answers: each is answered once, in order, whatever the outcome of the others.

use fuzzing::language::instance;
use net::oracle::call::{self, Execute, option};
use net::oracle::handshake::Client;
use net::oracle::tns::{self, PacketBuffer, kind, marker};
use net::oracle::{function, message};
use server::Conversation;
use session::Session;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::thread;

const SDU: u32 = 8192;
const READS_ENDS: Client = Client { reads_ends: true, ..Client::USUAL };
const CONTINUES: u8 = 1;
const ABORTS: u8 = 2;
const ROUND_TRIPS: &str = "select value from v$mystat join v$statname using (statistic#) \
                           where name = 'SQL*Net roundtrips to/from client'";

/// One session, and the client's end of its connection.
struct Talk {
    socket: UnixStream,
    server: Conversation,
    sequence: u8,
}

impl Talk {
    fn begin(client: Client, setup: &[&str]) -> Talk {
        let mut session = Session::in_process(instance()).expect("a session");
        for sql in setup {
            session.run(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
        }
        let (socket, other) = UnixStream::pair().expect("a pair of sockets");
        let other = TcpStream::from(OwnedFd::from(other));
        let server =
            Conversation::new(instance(), session, other, client, SDU, [0; 32].into()).expect("a conversation");
        Talk { socket, server, sequence: 0 }
    }

    fn next(&mut self) -> u8 {
        self.sequence = self.sequence.wrapping_add(1);
        self.sequence
    }

    /// The packets of a pipeline and of its end.
    fn pipeline(&mut self, mode: u8, statements: &[&str]) -> Vec<u8> {
        let mut out = Vec::new();
        for (n, sql) in statements.iter().enumerate() {
            let (mut message, mut flags) = (Vec::new(), 0);
            if n == 0 {
                message = vec![message::PIGGYBACK, function::BEGIN_PIPELINE, self.next(), 0, 0, mode];
                flags = tns::BEGIN_PIPELINE;
            }
            message.extend(self.statement(sql));
            let parts: Vec<&[u8]> = message.chunks(SDU as usize - 10).collect();
            for (at, part) in parts.iter().enumerate() {
                let mark = if at + 1 == parts.len() { tns::END_OF_REQUEST } else { 0 };
                tns::write_part(&mut out, part, flags | mark);
            }
        }
        out.extend(self.end());
        out
    }

    fn end(&mut self) -> Vec<u8> {
        let (mut message, mut out) = (Vec::new(), Vec::new());
        call::write_simple(function::END_PIPELINE, self.next(), &mut message);
        message.push(0);
        tns::write_part(&mut out, &message, 0);
        out
    }

    fn statement(&mut self, sql: &str) -> Vec<u8> {
        let (sequence, mut message) = (self.next(), Vec::new());
        if sql == "commit" {
            call::write_simple(function::COMMIT, sequence, &mut message);
            return message;
        }
        let is_query = sql.starts_with("select");
        let options = option::PARSE | option::EXECUTE | if is_query { option::FETCH } else { 0 };
        let sql = Some(sql.to_string());
        let execute =
            Execute { options, sql, prefetch: 2000, count: u32::from(!is_query), is_query, ..Execute::default() };
        execute.write(sequence, &[], &mut message).expect("a message");
        message
    }

    fn send(&mut self, packets: &[u8]) -> bool {
        self.socket.write_all(packets).expect("room for packets");
        self.server.serve()
    }

    fn hear(&mut self) -> Vec<String> {
        self.socket.set_nonblocking(true).expect("a socket");
        let (mut bytes, mut part) = (Vec::new(), vec![0; 64 << 10]);
        while let Ok(n @ 1..) = self.socket.read(&mut part) {
            bytes.extend_from_slice(&part[..n]);
        }
        self.socket.set_nonblocking(false).expect("a socket");
        responses(&bytes)
    }

    fn run(&mut self, mode: u8, statements: &[&str]) -> Vec<String> {
        let packets = self.pipeline(mode, statements);
        assert!(self.send(&packets), "the session goes on");
        let all = self.hear();
        assert_eq!(all.len(), statements.len() + 1, "{all:?}");
        all
    }

    fn value(&mut self, sql: &str) -> String {
        format!("{:?}", self.server.session().run(sql).expect("a query"))
    }

    fn finish(self) {
        let mut session = self.server.into_session();
        session.rollback().expect("a rollback");
        session.end();
    }
}

/// The responses, from packets that each end one or are a part of it.
fn responses(bytes: &[u8]) -> Vec<String> {
    let mut buffer = PacketBuffer::new();
    buffer.accept(SDU);
    buffer.extend(bytes);
    let (mut all, mut response) = (Vec::new(), Vec::new());
    while let Some(packet) = buffer.next_packet().expect("packets") {
        assert_eq!(packet.kind, kind::DATA, "no marker within a pipeline");
        let (flags, data) = packet.data().expect("data");
        response.extend_from_slice(data);
        if flags & tns::END_OF_RESPONSE != 0 {
            assert_eq!(response.pop(), Some(message::END_OF_RESPONSE));
            all.push(String::from_utf8_lossy(&std::mem::take(&mut response)).into_owned());
        }
    }
    assert!(response.is_empty(), "a response without an end");
    all
}

fn has(text: &str, part: &str) -> bool {
    text.contains(part)
}

#[test]
fn behind_a_call_that_failed_the_others_go_on_or_are_refused() {
    let mut talk = Talk::begin(READS_ENDS, &["create table pipe_a (n number)"]);
    let statements = [
        "insert into pipe_a values (1)",
        "insert into pipe_none values (2)",
        "insert into pipe_a values (3)",
        "commit",
        "select 'rows:' || sum(n) from pipe_a",
    ];
    let all = talk.run(CONTINUES, &statements);
    assert!(has(&all[1], "ORA-00942") && has(&all[4], "rows:4"), "{all:?}");
    assert!([0, 2, 3, 5].iter().all(|n| !has(&all[*n], "ORA-")), "{all:?}");
    let all = talk.run(ABORTS, &statements);
    assert!(!has(&all[0], "ORA-") && has(&all[1], "ORA-00942"), "{all:?}");
    assert!(all[2..5].iter().all(|text| has(text, "ORA-43610: Pipeline, Aborted")), "{all:?}");
    assert!(!has(&all[5], "ORA-"), "{all:?}");
    // The changes of the first call are neither committed nor rolled back.
    assert!(has(&talk.value("select sum(n) from pipe_a"), "5"));
    let single = talk.statement("select 'alone' from dual");
    let mut packets = Vec::new();
    tns::write_part(&mut packets, &single, 0);
    assert!(talk.send(&packets));
    assert!(has(&talk.hear()[0], "alone"));
    talk.finish();
}

#[test]
fn a_pipeline_is_one_round_trip() {
    let mut talk = Talk::begin(READS_ENDS, &[]);
    let before = talk.value(ROUND_TRIPS);
    talk.run(CONTINUES, &["select 1 from dual"; 9]);
    let count = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>().parse::<u64>().expect(text);
    assert_eq!(count(&talk.value(ROUND_TRIPS)), count(&before) + 1);
    talk.finish();
}

#[test]
fn neither_side_waits_for_the_other_in_a_long_pipeline() {
    // More than the buffers of the socket hold, in both directions; the client reads only after it has sent everything.
    let wide = format!("select '{}', rpad('x', 4000) from dual connect by level <= 20", "y".repeat(3000));
    let statements = vec![wide.as_str(); 300];
    let mut talk = Talk::begin(READS_ENDS, &[]);
    let packets = talk.pipeline(CONTINUES, &statements);
    let mut client = talk.socket.try_clone().expect("a socket");
    let client = thread::spawn(move || {
        client.write_all(&packets).expect("all calls can be said");
        let (mut bytes, mut part) = (Vec::new(), vec![0; 64 << 10]);
        while let n @ 1.. = client.read(&mut part).expect("answers") {
            bytes.extend_from_slice(&part[..n]);
        }
        responses(&bytes)
    });
    // Calls are read while others are answered.
    let before = talk.value(ROUND_TRIPS);
    while talk.value(ROUND_TRIPS) == before {
        assert!(talk.server.serve());
    }
    talk.finish();
    let all = client.join().expect("the client");
    assert_eq!(all.len(), 301);
    let short = all[..300].iter().find(|text| text.len() < 120_000);
    assert_eq!(short, None);
}

#[test]
fn a_break_fails_a_call_of_a_pipeline_without_markers() {
    let mut talk = Talk::begin(READS_ENDS, &[]);
    let mut packets = talk.pipeline(CONTINUES, &["select 1 from dual"; 4]);
    tns::write_marker(&mut packets, marker::INTERRUPT);
    assert!(talk.send(&packets));
    let all = talk.hear();
    assert_eq!(all.len(), 5);
    assert!(has(&all[0], "ORA-01013") && all[1..].iter().all(|text| !has(text, "ORA-010")), "{all:?}");
    // The answer to the break follows the next call.
    let mut packets = Vec::new();
    let single = talk.statement("select 'next' from dual");
    tns::write_part(&mut packets, &single, 0);
    let mut client = talk.socket.try_clone().expect("a socket");
    let client = thread::spawn(move || {
        client.write_all(&packets).expect("room");
        let (mut bytes, mut part, mut is_reset) = (Vec::new(), vec![0; 64 << 10], false);
        while let n @ 1.. = client.read(&mut part).expect("answers") {
            bytes.extend_from_slice(&part[..n]);
            if !is_reset && kinds(&bytes).contains(&kind::MARKER) {
                is_reset = true;
                let mut reset = Vec::new();
                tns::write_marker(&mut reset, marker::RESET);
                client.write_all(&reset).expect("room");
            }
        }
        bytes
    });
    let before = talk.value(ROUND_TRIPS);
    while talk.value(ROUND_TRIPS) == before {
        assert!(talk.server.serve());
    }
    talk.finish();
    let bytes = client.join().expect("the client");
    assert_eq!(kinds(&bytes), [kind::DATA, kind::MARKER, kind::MARKER, kind::DATA]);
    assert!(has(&String::from_utf8_lossy(&bytes), "ORA-01013"));
}

/// The kinds of the available packets.
fn kinds(bytes: &[u8]) -> Vec<u8> {
    let mut buffer = PacketBuffer::new();
    buffer.accept(SDU);
    buffer.extend(bytes);
    let mut kinds = Vec::new();
    while let Some(packet) = buffer.next_packet().expect("packets") {
        kinds.push(packet.kind);
    }
    kinds
}

#[test]
fn a_pipeline_is_for_clients_that_look_for_ends() {
    let mut talk = Talk::begin(Client::USUAL, &[]);
    let mut message = vec![message::PIGGYBACK, function::BEGIN_PIPELINE, 1, 0, 0, ABORTS];
    message.extend(talk.statement("select 1 from dual"));
    let mut packets = Vec::new();
    tns::write_part(&mut packets, &message, 0);
    assert!(talk.send(&packets));
    let said = |talk: &mut Talk| {
        talk.socket.set_nonblocking(true).expect("a socket");
        let mut part = vec![0; 64 << 10];
        let n = talk.socket.read(&mut part).expect("an answer");
        String::from_utf8_lossy(&part[..n]).into_owned()
    };
    assert!(has(&said(&mut talk), "ORA-43616: Pipelining is not supported."));
    let single = talk.statement("select 'alone' from dual");
    let mut packets = Vec::new();
    tns::write_part(&mut packets, &single, 0);
    assert!(talk.send(&packets));
    assert!(has(&said(&mut talk), "alone"));
    talk.finish();
}

#[test]
fn a_pipeline_cut_anywhere_or_out_of_order_ends_at_once() {
    let statements =
        ["insert into pipe_c values (1)", "select n from pipe_c", "insert into pipe_no values (1)", "commit"];
    let setup = ["create table pipe_c (n number)"];
    let packets = Talk::begin(READS_ENDS, &setup).pipeline(ABORTS, &statements);
    let mut places = vec![0];
    let mut buffer = PacketBuffer::new();
    buffer.accept(SDU);
    buffer.extend(&packets);
    while let Some(packet) = buffer.next_packet().expect("packets") {
        places.push(places[places.len() - 1] + packet.length);
    }
    let over = |bytes: &[u8]| {
        let mut talk = Talk::begin(READS_ENDS, &[]);
        talk.socket.write_all(bytes).expect("room");
        talk.socket.shutdown(std::net::Shutdown::Write).expect("a socket");
        // The server does not wait after the last byte.
        assert!(!talk.server.serve());
        talk.finish();
    };
    for cut in (0..packets.len()).step_by(3).chain(places.iter().copied()) {
        over(&packets[..cut]);
    }
    for first in 0..places.len() - 1 {
        for second in 0..places.len() - 1 {
            let part = |n: usize| &packets[places[n]..places[n + 1]];
            let mut others: Vec<&[u8]> = (0..places.len() - 1).map(part).collect();
            others.swap(first, second);
            over(&others.concat());
        }
    }
}
