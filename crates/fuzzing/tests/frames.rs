//! Messages of drivers, recorded from JDBC and go-ora: complete ones are answered, and incomplete ones are refused at
//! once.

use fuzzing::language::instance;
use net::local::{self, FrameBuffer, Logon, PROTOCOL_VERSION, Reply, Request as Ask};
use net::oracle::call::{self, Execute, option};
use net::oracle::field::Reader;
use net::oracle::handshake::Client;
use net::oracle::reply::{self, Answer};
use net::oracle::tns::{self, PacketBuffer, kind};
use net::oracle::value::Column;
use server::Conversation;
use session::{ScrollTo, Session};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use types::Value;

const SDU: u32 = 8192;

/// JDBC: texts of names and statements are not preceded by their length, a scale is a number, the last packet of a
/// message is marked.
const JDBC: Client = Client { sized_text: false, byte_scale: false, ..Client::USUAL };
/// go-ora: no packet is marked.
const GO: Client = Client { byte_scale: false, ..Client::USUAL };

fn bytes(hex: &str) -> Vec<u8> {
    let digits: String = hex.chars().filter(|c| !c.is_whitespace()).collect();
    (0..digits.len() / 2).map(|i| u8::from_str_radix(&digits[2 * i..][..2], 16).expect("hex")).collect()
}

fn hex(text: &str) -> String {
    text.bytes().map(|b| format!("{b:02x}")).collect()
}

/// An execution of a text by JDBC, with the bytes before the function and after the text.
fn jdbc(options: &str, sql: &str, binds: &str, behind: &str) -> Vec<u8> {
    let shapes = if binds.is_empty() { "00 00".to_string() } else { format!("01 01{binds}") };
    bytes(&format!(
        "03 5e 05 {options} 00 01 01{:02x} 01 010d 00 00 00 00 047fffffff {shapes} 00 00 00 00 00 00 00 00 00 01 00 00 00 00 00 \
         01 01 01 01 00 00 00 00 00 00 00 {} 0101 01 01 00 00 00 00 00 00 00 02c000 00 00 00 {behind}",
        sql.len(),
        hex(sql),
    ))
}

const NUMBER: &str = "02 03 00 00 01 16 00 00 00 00 02 03 69 01 00 00";
const TEXT: &str = "01 03 00 00 01 0c 00 01 10 00 00 02 03 69 01 00 00";

struct Talk {
    socket: UnixStream,
    server: Conversation,
    flag: u16,
}

impl Talk {
    fn begin(client: Client, setup: &[&str]) -> Talk {
        let mut session = Session::in_process(instance()).expect("a session");
        for sql in setup {
            session.run(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
        }
        Talk::of(client, session)
    }

    fn of(client: Client, session: Session) -> Talk {
        let (socket, other) = UnixStream::pair().expect("a pair of sockets");
        socket.set_nonblocking(true).expect("a socket");
        let other = TcpStream::from(OwnedFd::from(other));
        let server =
            Conversation::new(instance(), session, other, client, SDU, [0; 32].into()).expect("a conversation");
        Talk { socket, server, flag: if client.sized_text { 0 } else { tns::END_OF_REQUEST } }
    }

    fn send(&mut self, packets: &[u8]) -> (bool, Vec<u8>) {
        self.socket.write_all(packets).expect("room for a message");
        let goes_on = self.server.serve();
        let (mut buffer, mut part, mut said) = (PacketBuffer::new(), vec![0; 64 << 10], Vec::new());
        buffer.accept(SDU);
        while let Ok(n @ 1..) = self.socket.read(&mut part) {
            buffer.extend(&part[..n]);
        }
        while let Some(packet) = buffer.next_packet().expect("packets") {
            assert_eq!(packet.kind, kind::DATA);
            said.extend_from_slice(packet.data().expect("data").1);
        }
        (goes_on, said)
    }

    fn say(&mut self, message: &[u8]) -> (bool, Vec<u8>) {
        let mut packets = Vec::new();
        tns::write_part(&mut packets, message, self.flag);
        self.send(&packets)
    }

    /// Expects an answer without an error.
    fn works(&mut self, message: &[u8]) -> Vec<u8> {
        let (goes_on, said) = self.say(message);
        let text = String::from_utf8_lossy(&said).into_owned();
        assert!(goes_on && !said.is_empty() && !text.contains("ORA-"), "{text}");
        said
    }

    fn fails(&mut self, message: &[u8], with: &str, goes_on: bool) {
        let (went_on, said) = self.say(message);
        let text = String::from_utf8_lossy(&said).into_owned();
        assert!(text.contains(with) && went_on == goes_on, "{went_on} {text}");
        assert_eq!(self.server.begun(), 0);
    }

    fn rows(&mut self, sql: &str) -> String {
        format!("{:?}", self.server.session().run(sql).expect("a query"))
    }

    fn end(self) {
        let mut session = self.server.into_session();
        session.rollback().expect("a rollback");
        session.end();
    }
}

fn again(row: &str) -> Vec<u8> {
    bytes(&format!(
        "03 5e 06 02 8020 01 01 00 00 01 010d 00 00 00 00 047fffffff 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 00 00 \
         01 01 01 01 00 00 00 00 00 00 00 00 0101 00 00 00 00 00 00 00 02c000 00 00 00 {row}"
    ))
}

fn insert() -> Vec<u8> {
    let sql = "insert into rec_a values (:1 , :2 )";
    let sql_len = sql.len();
    bytes(&format!(
        "03 5e 05 02 8029 00 01 01{sql_len:02x} 01 010d 00 00 00 00 047fffffff 01 0102 00 00 00 00 00 00 00 00 00 01 00 00 \
         00 00 00 01 01 01 01 00 00 00 00 00 00 00 {} 0101 0101 00 00 00 00 00 00 00 02c000 00 00 00 {} {} 07 0180 027630",
        hex(sql),
        "02 03 00 00 0116 00 00 00 00 020369 01 00 00",
        "01 03 00 00 0108 00 0110 00 00 020369 01 00 00",
    ))
}

/// A query of the test's client, and the number of rows to send with its answer.
fn query(sql: &str, prefetch: u32) -> Vec<u8> {
    let options = option::PARSE | option::EXECUTE | option::FETCH | option::NOT_A_BLOCK;
    let execute = Execute {
        options,
        sql: Some(sql.to_string()),
        prefetch,
        count: prefetch,
        is_query: true,
        ..Execute::default()
    };
    let mut out = Vec::new();
    execute.write(1, &[], &mut out).expect("a query without binds");
    out
}

fn answer_of(said: &[u8], columns: &[Column]) -> Answer {
    reply::read_answer(&mut Reader::new(said), columns, Client::USUAL).expect("an answer")
}

#[test]
fn rows_are_on_their_way_before_the_last_one_is_found() {
    let mut talk = Talk::begin(Client::USUAL, &[]);
    let text = "select rpad('x', 200, 'x') || 1 / (400 - level) x from dual connect by level <= 1000";
    // Rows that do not fill a packet are not sent early: the answer has only the error.
    let late = text.replace("400", "20");
    for (sql, is_ahead) in [(text, true), (&late, false)] {
        let (goes_on, said) = talk.say(&query(sql, 1000));
        let answer = answer_of(&said, &[]);
        assert!(goes_on && answer.outcome.error == 1476, "{:?}", answer.outcome);
        assert_eq!((answer.rows.len() > 100, answer.rows.is_empty()), (is_ahead, !is_ahead), "{}", answer.rows.len());
        // The same in a call that fetches.
        let answer = answer_of(&talk.say(&query(sql, 1)).1, &[]);
        let (cursor, columns) = (answer.outcome.cursor, answer.columns.expect("columns"));
        assert_eq!(answer.rows.len(), 1);
        let mut fetch = Vec::new();
        call::write_fetch(cursor.into(), 1000, 2, &mut fetch);
        let (goes_on, said) = talk.say(&fetch);
        let answer = answer_of(&said, &columns);
        assert!(goes_on && answer.outcome.error == 1476, "{:?}", answer.outcome);
        assert_eq!((answer.rows.len() > 100, answer.rows.is_empty()), (is_ahead, !is_ahead), "{}", answer.rows.len());
    }
    assert!(talk.rows("select 1 from dual").contains('1'));
    talk.end();
}

#[test]
fn bytes_that_were_sent_ahead_are_counted() {
    let mut talk = Talk::begin(Client::USUAL, &[]);
    let sent =
        "select value from v$mystat join v$statname using (statistic#) where name = 'bytes sent via SQL*Net to client'";
    let count = |talk: &mut Talk| match &talk.server.session().run(sent).expect("a query")[0][0] {
        Value::Number(n) => n.as_i64().expect("a count"),
        other => panic!("{other:?}"),
    };
    let before = count(&mut talk);
    let (_, said) = talk.say(&query("select rpad('x', 200, 'x') from dual connect by level <= 300", 1000));
    assert_eq!(answer_of(&said, &[]).rows.len(), 300);
    assert_eq!(count(&mut talk) - before, tns::data_len(said.len(), SDU) as i64);
    talk.end();
}

/// All rows of a query as a driver gets them, some at a time, and as the session returns them.
fn both_ways(talk: &mut Talk, sql: &str) -> (Vec<Vec<Value>>, Vec<Vec<Value>>) {
    let answer = answer_of(&talk.say(&query(sql, 3)).1, &[]);
    let (cursor, columns) = (answer.outcome.cursor, answer.columns.expect("columns"));
    let (mut rows, mut error) = (answer.rows, answer.outcome.error);
    while error == 0 {
        let mut fetch = Vec::new();
        call::write_fetch(cursor.into(), 7, 2, &mut fetch);
        let answer = answer_of(&talk.say(&fetch).1, &columns);
        assert!(answer.rows.len() <= 7 && (answer.outcome.error != 0 || !answer.rows.is_empty()));
        rows.extend(answer.rows);
        error = answer.outcome.error;
    }
    assert_eq!(error, reply::NO_DATA_FOUND);
    (rows, talk.server.session().run(sql).expect("a query"))
}

#[test]
fn stored_rows_are_sent_as_they_lie() {
    let columns = "n number, t varchar2(4000), c char(5), d date, s timestamp, r raw(300), f binary_float, \
                   b binary_double, u nvarchar2(10), z timestamp with time zone, m number(9, 2)";
    let value = "select case when mod(level, 5) > 0 then (level - 20) * power(7, level - 20) end, \
                 rpad('\u{e4}', mod(level * 37, 40) * mod(level, 3) * 5 + 1, 'x'), \
                 case when mod(level, 4) > 0 then 'c' || level end, date '2026-01-31' + level / 7, \
                 timestamp '2026-01-31 10:00:00.123456' + level, \
                 utl_raw.cast_to_raw(rpad('r', mod(level, 3) * 140 + 1)), level / 3, \
                 -level / 7, case when mod(level, 2) > 0 then unistr('\\00e4') end, \
                 timestamp '2026-01-31 10:00:00 +02:00', level / 8 from dual connect by level <= 40";
    let mut talk = Talk::begin(
        Client::USUAL,
        &[
            &format!("create table lie ({columns})"),
            &format!("create table lie_keyed ({columns}, k number primary key) organization index"),
            &format!("insert into lie {value}"),
            "insert into lie (t) values ('the last one')",
            "insert into lie_keyed select l.*, row_number() over (order by m) from lie l",
            "update lie set t = rpad(t, 3000, 'y') where mod(m * 8, 9) = 1",
            "create index lie_m on lie (m)",
            // Rows inserted before do not have this column.
            "alter table lie add (later varchar2(10))",
            "insert into lie (n, later) values (1, 'later')",
            "commit",
        ],
    );
    let mut counts = Vec::new();
    for (sql, most) in [
        ("select * from lie", 42),
        ("select later, m, n from lie", 42),
        ("select b, t, n from lie where mod(m * 8, 3) = 1", 7),
        ("select t, m from lie where m between 1 and 3", 17),
        ("select t, n from lie where m between 1 and 3 and n > 0", 4),
        ("select t, t from lie", 42),
        ("select n + 1, t from lie", 42),
        ("select * from lie_keyed", 41),
        ("select m, k from lie_keyed where k between 3 and 15", 13),
        ("select t from lie where n = -20e30", 0),
    ] {
        let (driver, session) = both_ways(&mut talk, sql);
        assert_eq!(driver, session, "{sql}");
        counts.push((session.len(), most));
    }
    let (found, wanted): (Vec<_>, Vec<_>) = counts.into_iter().unzip();
    assert_eq!(found, wanted);
    // A query may be left after some rows.
    let answer = answer_of(&talk.say(&query("select t from lie", 3)).1, &[]);
    assert_eq!(answer.rows.len(), 3);
    let statistic =
        "select sum(rows_processed), sum(fetches) from v$sql where sql_text = 'select later, m, n from lie'";
    let counted = talk.server.session().run(statistic).expect("a query");
    let number = |v: &Value| if let Value::Number(n) = v { n.as_i64() } else { None };
    assert_eq!(counted[0].iter().map(number).collect::<Vec<_>>(), [Some(84), Some(8)]);
    talk.end();
}

#[test]
fn an_execution_without_descriptions_has_the_binds_that_were_described_last() {
    let mut talk = Talk::begin(JDBC, &["create table rec_a (a number, b varchar2(20))"]);
    talk.works(&insert());
    talk.works(&again("07 02c102 027631"));
    talk.works(&again("07 02c103 00"));
    let rows = talk.rows("select a || ':' || b from rec_a order by a");
    assert!(rows.contains("0:v0") && rows.contains("1:v1") && rows.contains("2:"), "{rows}");
    talk.fails(&again("07 02c104"), "ORA-03106", false);
    talk.end();
}

#[test]
fn texts_before_a_call_are_read_as_the_client_writes_them() {
    let mut talk = Talk::begin(JDBC, &[]);
    let known_by = "11 87 03 00 00 020159 01 0104 01 0104 01 0104 01 0103 00 0102 01 0102 00 00 00 00 00 00";
    let texts = hex("cli1mod1act1ctxci");
    talk.works(&bytes(&format!("{known_by} {texts} 03 93 04")));
    let shown = talk.rows("select client_identifier, module, action, client_info from v$session where sid = sys_context('userenv', 'sid')");
    assert!(["cli1", "mod1", "act1", "ci"].iter().all(|text| shown.contains(&format!("{text:?}"))), "{shown}");
    // Keys and values of a namespace.
    let key_values = format!("11 9a 05 01 0102 01 0101 0121 00 {} 0101 01 6b 0101 01 76 00 03 93 06", hex("NS"));
    talk.works(&bytes(&key_values));
    // An unknown one is refused together with the next call, and the connection stays.
    talk.fails(&bytes("11 cd 07 01 02 03 04 03 93 08"), "ORA-03001", true);
    talk.works(&bytes("03 93 09"));
    talk.end();
}

#[test]
fn queries_and_tables_are_described_without_an_execution() {
    let mut talk = Talk::begin(JDBC, &["create table rec_d (id number(6,2) not null, t varchar2(30))"]);
    let describe = |sql: &str| bytes(&format!("03 62 03 07 00 01 01{:02x} 0102 01 01 {}", sql.len(), hex(sql)));
    let said = talk.works(&describe("select id, t from rec_d where id = :1 "));
    assert_eq!(said[..3], [8, 1, 2], "two columns");
    assert!(String::from_utf8_lossy(&said).contains("ID"));
    assert_eq!(talk.works(&describe("insert into rec_d values (:1 , :2 )"))[..2], [8, 0]);
    talk.works(&describe("begin rec_nothing := 1; end;".replace("rec_nothing := 1", "null").as_str()));
    talk.works(&describe("create table rec_never (a number)"));
    talk.fails(&describe("select nothing from rec_d"), "ORA-00904", true);
    talk.fails(&describe("begin nothing := 1; end;"), "ORA-06550", true);
    talk.fails(&describe("create tabel x"), "ORA-009", true);
    assert!(talk.rows("select count(*) from user_tables where table_name = 'REC_NEVER'").contains('0'));
    let object = |name: &str| bytes(&format!("03 77 05 01 01{:02x} 00 00 00 010e {}", name.len(), hex(name)));
    let said = talk.works(&object("rec_d"));
    assert_eq!(said.iter().filter(|b| **b == b'\x4c').count(), 0);
    let text = String::from_utf8_lossy(&said).into_owned();
    assert!(text.contains("\u{2}ID") && text.contains("\u{1}T"), "{text:?}");
    talk.fails(&object("rec_none"), "ORA-04043", true);
    talk.fails(&object("rec_d where 1 = 1"), "ORA-04043", true);
    talk.end();
}

#[test]
fn a_table_is_described_to_who_may_read_it() {
    let mut owner = Talk::begin(JDBC, &[]);
    for sql in [
        "create user rec_owner identified by x quota unlimited on users",
        "create user rec_reader identified by x",
        "grant create session to rec_reader",
        "create table rec_owner.rec_seen (rec_column number)",
        "create view rec_owner.rec_view as select rec_column from rec_owner.rec_seen",
        "create public synonym rec_synonym for rec_owner.rec_seen",
    ] {
        owner.rows(sql);
    }
    let object = |name: &str| bytes(&format!("03 77 05 01 01{:02x} 00 00 00 010e {}", name.len(), hex(name)));
    let names = ["rec_owner.rec_seen", "rec_owner.rec_view", "rec_synonym"];
    let logon = Logon {
        version: PROTOCOL_VERSION,
        user: "rec_reader".into(),
        password: "x".into(),
        program: "test".into(),
        ..Logon::default()
    };
    let mut reader = Talk::of(JDBC, Session::logon(instance(), &logon, 0).expect("a session"));
    for name in names {
        reader.fails(&object(name), "ORA-04043", true);
    }
    // Reveals neither the table's columns nor its existence.
    reader.fails(&object("sys.user$"), "ORA-04043", true);
    for grant in ["select on rec_owner.rec_seen", "read on rec_owner.rec_view"] {
        owner.rows(&format!("grant {grant} to rec_reader"));
    }
    for name in names {
        assert!(String::from_utf8_lossy(&reader.works(&object(name))).contains("REC_COLUMN"));
    }
    reader.end();
    owner.rows("drop public synonym rec_synonym");
    owner.end();
}

#[test]
fn what_returning_takes_may_be_sent_as_null() {
    let mut talk = Talk::begin(JDBC, &["create table rec_r (id number, t varchar2(20))"]);
    let sql = "insert into rec_r (id, t) values (7, :1 ) returning id into :2 ";
    let message = jdbc("02 0529", sql, "02", &format!("{TEXT} {NUMBER} 07 03 726964 00"));
    let said = talk.works(&message);
    // Directions, then the number returned for one row.
    assert!(said.starts_with(&bytes("0b 01 0102 00 0101 00 00 00 20 10 07 0101 02c108 00")), "{said:02x?}");
    talk.end();
    let mut talk = Talk::begin(GO, &[]);
    let sql = "select :a + :b + :a from dual";
    let message = bytes(&format!(
        "03 5e 00 02 8029 00 01 01{:02x} 01 010d 00 00 00 0119 043fffffff 01 0103 00 00 00 00 00 00 00 00 00 01 00 00 00 00 00 \
         00 00 00 00 00 00 00 00 00 00 {:02x} {} 0101 00 00 00 00 00 00 0101 00 028000 00 00 00 {} {} {} 07 02c103 02c104",
        sql.len(),
        sql.len(),
        hex(sql),
        "02 03 00 00 0116 00 00 00 00 00 00 00 00",
        "02 03 00 00 0116 00 00 00 00 00 00 00 00",
        "02 80 00 00 0116 00 00 00 00 00 00 00 00",
    ));
    let (goes_on, said) = talk.say(&message);
    assert!(goes_on && said.windows(4).any(|w| w == bytes("07 02 c1 08")), "{said:02x?}");
    talk.end();
}

#[test]
fn a_message_cut_anywhere_is_refused_at_once() {
    let setup = ["create table rec_c (a number, b varchar2(20))"];
    let described = format!("{TEXT} {NUMBER} 07 03 726964 00");
    let returning = jdbc("02 0529", "insert into rec_c values (1, :1 ) returning a into :2 ", "02", &described);
    let known_by =
        bytes("11 87 03 00 00 0109 01 0101 01 0101 00 00 00 00 00 00 00 00 00 00 00 00 00 00 63 6d 03 93 04");
    let object = bytes("03 77 05 01 0105 00 00 00 010e 7265635f63");
    let (mut ended, mut session) = (0, Some(Talk::begin(JDBC, &setup)));
    for message in [insert(), returning, known_by, object] {
        for cut in 1..message.len() {
            let mut talk = session.take().unwrap_or_else(|| Talk::begin(JDBC, &[]));
            // A part that is itself a message is answered as one; any other ends the session with ORA-03106.
            let (goes_on, said) = talk.say(&message[..cut]);
            assert!(!said.is_empty() && talk.server.begun() == 0, "cut at {cut}");
            if goes_on {
                session = Some(talk);
            } else {
                assert!(String::from_utf8_lossy(&said).contains("ORA-03106"), "cut at {cut}: {said:02x?}");
                ended += 1;
                talk.end();
            }
        }
        // In two packets, the first of which announces a further one.
        let mut talk = session.take().unwrap_or_else(|| Talk::begin(JDBC, &[]));
        talk.works(&bytes("03 93 04"));
        for cut in 1..message.len() {
            let mut first = Vec::new();
            tns::write_part(&mut first, &message[..cut], 0);
            let (goes_on, said) = talk.send(&first);
            assert!(goes_on && (said.is_empty() || talk.server.begun() == 0), "cut at {cut}");
            if said.is_empty() {
                let (goes_on, said) = talk.say(&message[cut..]);
                assert!(goes_on && !said.is_empty(), "cut at {cut}");
            } else {
                // The name of an object has no end mark, so any part of it is a complete name.
                let _ = talk.say(&bytes("03 93 05"));
            }
            talk.server.session().rollback().expect("a rollback");
        }
        session = Some(talk);
    }
    assert!(ended > 300, "{ended}");
    session.into_iter().for_each(Talk::end);
}

#[test]
fn packets_out_of_order_are_refused() {
    let mut talk = Talk::begin(GO, &["create table rec_o (a number, b varchar2(20))"]);
    let message = insert();
    let middle = message.len() / 2;
    let mut packets = Vec::new();
    tns::write_part(&mut packets, &message[middle..], tns::MORE_DATA);
    tns::write_part(&mut packets, &message[..middle], 0);
    let (goes_on, said) = talk.send(&packets);
    assert!(!goes_on && String::from_utf8_lossy(&said).contains("ORA-03106"), "{said:02x?}");
    talk.end();
}

#[test]
fn rows_are_given_in_any_order_when_there_are_more_than_stay_in_memory() {
    let mut session = Session::in_process(instance()).expect("a session");
    let sql = "select level n, rpad('x', mod(level, 90), 'y') t from dual connect by level <= 120000".to_string();
    let (binds, tables) = (Vec::new(), Vec::new());
    let execute = local::Execute { sql, binds, prefetch: 0, want_output: false, tables };
    let mut out = Vec::new();
    session.call(&Ask::Execute(Box::new(execute)), &mut out);
    let cursor = replies(&out).into_iter().find_map(|reply| match reply {
        Reply::Described { cursor, .. } => Some(cursor),
        _ => None,
    });
    let cursor = cursor.expect("an open query");
    let mut rows = |to: ScrollTo, most: u32| {
        let mut out = Vec::new();
        session.scroll(cursor, to, most, None, &mut out);
        let (mut numbers, mut end) = (Vec::new(), None);
        for reply in replies(&out) {
            match reply {
                Reply::Rows { rows, .. } => numbers.extend(rows.into_iter().map(|row| {
                    let Value::Number(n) = &row[0] else { panic!("{row:?}") };
                    let n = n.to_i64().expect("a whole number");
                    let text = if n % 90 == 0 {
                        Value::Null
                    } else {
                        Value::text(format!("x{}", "y".repeat(n as usize % 90 - 1)))
                    };
                    assert_eq!(row[1], text);
                    n
                })),
                Reply::Done(done) => end = Some((done.rows, done.more)),
                other => panic!("{other:?}"),
            }
        }
        (numbers, end.expect("an end"))
    };
    assert_eq!(rows(ScrollTo::Row(1), 3), (vec![1, 2, 3], (3, true)));
    assert_eq!(rows(ScrollTo::Row(2), 2), (vec![2, 3], (3, true)));
    assert_eq!(rows(ScrollTo::Last, 5), (vec![120_000], (120_000, false)));
    for first in [119_998, 1, 60_000, 59_999, 110_000, 5, 80_000, 80_001, 2] {
        assert_eq!(rows(ScrollTo::Row(first), 2), (vec![first as i64, first as i64 + 1], (first + 1, true)), "{first}");
    }
    assert_eq!(rows(ScrollTo::Row(120_000), 2), (vec![120_000], (120_000, false)));
    assert_eq!(rows(ScrollTo::Row(120_001), 2).0, Vec::<i64>::new());
    assert_eq!(rows(ScrollTo::Row(0), 2), (Vec::new(), (0, false)));
    let mut in_use = || session.run("select nvl(sum(blocks), 0) from v$tempseg_usage").expect("a query");
    let none = [[Value::Number(types::Number::ZERO)]];
    assert_ne!(in_use(), none, "some rows lie in temporary space");
    session.call(&Ask::CloseCursor { cursor }, &mut Vec::new());
    let in_use = session.run("select nvl(sum(blocks), 0) from v$tempseg_usage").expect("a query");
    assert_eq!(in_use, none, "temporary space is given back");
    session.end();
}

fn replies(bytes: &[u8]) -> Vec<Reply> {
    let mut frames = FrameBuffer::new(usize::MAX);
    frames.extend(bytes);
    let mut all = Vec::new();
    while let Some(frame) = frames.next_frame().expect("frames") {
        all.push(Reply::decode(frame).expect("a packet"));
    }
    all
}
