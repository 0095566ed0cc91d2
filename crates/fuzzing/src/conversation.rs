//! A live session over Oracle Net: the server's loop after a logon, driven message by message.
//!
//! The input is a list of operations: a byte that selects one, and its parameters. Each becomes a message in the form
//! of a driver, which the input may change, cut into packets or truncate. Most sequences are sound, so that statements,
//! cursors and transactions are reached; damage is the exception.
//!
//! A message has a decodable answer with the number of its call; a truncated one ends the session. After the last
//! message the session is in the same state as before the first: no cursor is open, no lock is held, and it answers.

use crate::Target;
use crate::language::instance;
use enqueue::{EnqueueType, LockMode};
use net::oracle::call::{self, Call, Execute, Request, execute_flag, option};
use net::oracle::field::{Reader, Writer};
use net::oracle::handshake::Client;
use net::oracle::reply;
use net::oracle::tns::{self, PacketBuffer, kind, marker};
use net::oracle::value::{self, BindRules, Column, Shape};
use net::oracle::{function, message};
use server::Conversation;
use session::Session;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use types::{DataType, Date, IntervalDs, IntervalYm, Number, Timestamp, Value};
use wait::Stat;

/// Calls to a session that is logged on over the network.
pub const SESSION: Target = Target { name: "oracle_session", run: session, seeds, is_text: false };

/// The SDU.
const SDU: u32 = 8192;

/// Most executions of one call: the answer must fit into the socket, since one thread plays both sides.
const EXECUTIONS_MAX: u32 = 60;

/// Most operations of one input.
const OPERATIONS_MAX: usize = 60;

const SETUP: [&str; 3] = [
    "create table fuzz_w (id number primary key, name varchar2(300), d date, ts timestamp with time zone, r raw(300), \
     x binary_double, f binary_float, iy interval year to month, ds interval day to second, c char(5))",
    "create table fuzz_l (id number, l long)",
    "insert into fuzz_l values (1, 'a long text')",
];

/// Statements that undo the changes which an input may have committed.
const RESTORE: [&str; 3] = [
    "delete from fuzz_w",
    "insert into fuzz_w select level, 'name ' || level, date '2024-01-01' + level, timestamp '2024-01-01 10:00:00 +02:00', \
     hextoraw('00ff'), level / 3, level / 7, interval '1-2' year to month, interval '3 04:05:06.7' day to second, 'c' \
     from dual connect by level <= 12",
    "commit",
];

/// The statements. Inputs have no statements of their own, since these may loop for ever; other targets search texts.
const STATEMENTS: [&str; 36] = [
    "select id, name from fuzz_w order by id",
    "select * from fuzz_w where id = :1",
    "select * from fuzz_w where id between :a and :b",
    "select level, rpad('x', mod(level, 40), 'y') from dual connect by level <= 150",
    "select rowid, t.* from fuzz_w t",
    "select id, l from fuzz_l",
    "select :1, :2, :1 from dual",
    "select name from fuzz_w where id = :x for update nowait",
    "select 1 / (id - 3) from fuzz_w order by id",
    "select cursor(select 1 from dual) from dual",
    "select to_clob('x') from dual",
    "select id from nowhere where id = :1",
    "insert into fuzz_w (id, name) values (:1, :2)",
    "insert into fuzz_w (id, name, d, ts) values (:1, :2, :3, :4) returning id, name into :5, :6",
    "insert into fuzz_w (id, r, x, f) values (:1, :2, :3, :4)",
    "insert into fuzz_w (id, iy, ds) values (:1, :2, :3)",
    "update fuzz_w set name = :n where id = :i",
    "update fuzz_w set name = name || :n where id < :i returning id, name into :o, :p",
    "delete from fuzz_w where id = :1",
    "delete from fuzz_w where id > :1 returning rowid, d into :2, :3",
    "merge into fuzz_w w using (select :1 id, :2 name from dual) s on (w.id = s.id) when matched then update set name = \
     s.name when not matched then insert (id, name) values (s.id, s.name)",
    "begin :a := :b; end;",
    "begin :o := :i || 'x'; dbms_output.put_line(:o); end;",
    "declare n number := :1; begin update fuzz_w set x = n where id = n; :2 := sql%rowcount; end;",
    "begin raise_application_error(-20001, 'no ' || :1); end;",
    "begin for r in (select id from fuzz_w where id < :1) loop :2 := r.id; end loop; end;",
    "begin open :1 for select 1 from dual; end;",
    "begin commit; end;",
    "commit",
    "rollback",
    "savepoint s",
    "lock table fuzz_w in exclusive mode nowait",
    "alter session set nls_date_format = 'YYYY-MM-DD'",
    "select nothing ( from",
    "",
    "begin null; end;",
];

/// Bytes of the input, and zeros after its end.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn u8(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    fn u16(&mut self) -> u16 {
        u16::from_be_bytes([self.u8(), self.u8()])
    }

    fn u32(&mut self) -> u32 {
        u32::from(self.u16()) << 16 | u32::from(self.u16())
    }

    fn bytes(&mut self, most: usize) -> Vec<u8> {
        let n = usize::from(self.u8()) % (most + 1);
        let (taken, rest) = self.0.split_at(n.min(self.0.len()));
        self.0 = rest;
        taken.to_vec()
    }
}

/// The description of a bind or a column.
fn shape(input: &mut Input<'_>) -> Shape {
    let of = |t: DataType| value::of_type(&t).unwrap_or_default().bound();
    let selected = input.u8();
    let mut shape = match selected % 16 {
        0 | 1 => of(DataType::NUMBER),
        2 | 3 => of(DataType::TEXT),
        4 => of(DataType::Date),
        5 => of(DataType::TIMESTAMP_TZ),
        6 => of(DataType::Timestamp { digits: 6, zone: types::Zone::None }),
        7 => of(DataType::Raw { len: 300 }),
        8 => of(DataType::BinaryDouble),
        9 => of(DataType::BinaryFloat),
        10 => of(DataType::IntervalYm { years: 2 }),
        11 => of(DataType::IntervalDs { days: 2, digits: 6 }),
        12 => of(DataType::Rowid),
        13 => of(DataType::Long),
        14 => Shape { number: value::number::BOOLEAN, size: 4, ..Shape::default() },
        _ => Shape { number: input.u8(), form: input.u8() % 3, size: input.u16().into(), ..Shape::default() },
    };
    if selected & 0x40 != 0 {
        shape.flags = input.u8();
    }
    if selected & 0x80 != 0 {
        shape.size = input.u32();
    }
    shape
}

/// A value that fits a description, in most cases.
fn value_of(input: &mut Input<'_>, shape: &Shape) -> Value {
    let selected = input.u8();
    if selected % 8 == 7 {
        return Value::Null;
    }
    let date = Date::new(2024, 2, 29, 23, 59, 59).expect("a date");
    match shape.data_type() {
        DataType::Number { .. } => Value::Number(Number::from_i64(i64::from(selected) - 100)),
        DataType::Date => Value::Date(date),
        DataType::Timestamp { zone: types::Zone::WithTimeZone, .. } => {
            Value::Timestamp(Timestamp::with_offset(date, 5, i16::from(selected)))
        }
        DataType::Timestamp { .. } => Value::Timestamp(Timestamp::new(date, 5)),
        DataType::Raw { .. } => Value::raw(input.bytes(40)),
        DataType::BinaryDouble => Value::Double(f64::from(selected) / 3.0),
        DataType::BinaryFloat => Value::Float(f32::from(selected) / 3.0),
        DataType::IntervalYm { .. } => Value::IntervalYm(IntervalYm { months: i32::from(selected) }),
        DataType::IntervalDs { .. } => Value::IntervalDs(IntervalDs { seconds: i64::from(selected) * 1000, nanos: 5 }),
        DataType::Boolean => Value::Boolean(selected & 1 == 1),
        _ => Value::text(String::from_utf8_lossy(&input.bytes(250)).into_owned()),
    }
}

/// The client, and the server it talks to.
struct Talk {
    socket: UnixStream,
    server: Conversation,
    sequence: u8,
    /// By statement, its described columns.
    columns: BTreeMap<u16, Vec<Column>>,
    /// Bytes to send before the next call.
    before: Vec<u8>,
    /// A commit, or a setting, may have changed the initial state of the next input.
    is_dirty: bool,
    /// The server has ended the session.
    is_over: bool,
}

impl Talk {
    fn begin(session: Session) -> Talk {
        let (socket, other) = UnixStream::pair().expect("a pair of sockets");
        socket.set_nonblocking(true).expect("a socket");
        let other = TcpStream::from(OwnedFd::from(other));
        let server =
            Conversation::new(instance(), session, other, Client::USUAL, SDU, [0; 32].into()).expect("a conversation");
        Talk {
            socket,
            server,
            sequence: 0,
            columns: BTreeMap::new(),
            before: Vec::new(),
            is_dirty: false,
            is_over: false,
        }
    }

    fn cursor(&self, input: &mut Input<'_>) -> u32 {
        let selected = input.u8();
        let known: Vec<u16> = self.columns.keys().copied().collect();
        match known.len() {
            n if n > 0 && selected < 0xe0 => known[usize::from(selected) % n].into(),
            _ => u32::from(selected % 8) << (selected & 0x10),
        }
    }

    fn execute(&mut self, input: &mut Input<'_>) -> Vec<u8> {
        let how = input.u8();
        let is_new = how & 0x80 == 0 || self.columns.is_empty();
        let sql = STATEMENTS[usize::from(input.u8()) % STATEMENTS.len()];
        let outline = sql::outline(sql);
        let rules = BindRules {
            returning: outline.placeholders.iter().map(|p| p.is_target).collect(),
            is_block: outline.is_block,
            ..BindRules::default()
        };
        let binds = match how & 7 {
            0..=5 => outline.placeholders.len(),
            6 => usize::from(input.u8() % 9),
            _ => 0,
        };
        let binds: Vec<Shape> = (0..binds).map(|_| shape(input)).collect();
        let mut execute = Execute {
            options: option::PARSE | option::EXECUTE | option::BIND | option::NOT_A_BLOCK,
            cursor: if is_new && how & 0x40 == 0 { 0 } else { self.cursor(input) },
            sql: is_new.then(|| sql.to_string()),
            prefetch: [2, 0, 1, 20, 100][usize::from(how >> 3 & 7) % 5],
            count: 1,
            is_query: outline.is_query,
            binds,
            ..Execute::default()
        };
        match input.u8() {
            1 => execute.options |= option::FETCH,
            2 => execute.options |= option::COMMIT,
            3 => execute.options |= option::DESCRIBE_ONLY,
            4 => execute.options = option::FETCH,
            5 => {
                execute.count = u32::from(input.u8()) % EXECUTIONS_MAX;
                execute.options |= option::BATCH_ERRORS;
                execute.wants_row_counts = true;
            }
            6 => execute.count = u32::from(input.u8()) % EXECUTIONS_MAX,
            7 => {
                let columns = self.columns.get(&(execute.cursor as u16)).map_or(1, Vec::len).min(12);
                execute.defines = (0..columns).map(|_| shape(input)).collect();
                execute.options |= option::DEFINE;
                if input.u8() & 1 == 0 {
                    execute.options &= !option::EXECUTE;
                }
            }
            8 => execute.options = input.u32(),
            9 => (execute.flags, execute.is_query) = (input.u32(), input.u8() & 1 == 1),
            _ => {}
        }
        let mut out = Vec::new();
        let nulls = vec![Value::Null; execute.binds.len()];
        execute.write(self.sequence, &nulls, &mut out).expect("NULL can be written");
        if !execute.binds.is_empty() {
            let mut row = Vec::new();
            let all = BindRules::default();
            value::write_row(&mut Writer::new(&mut row), &execute.binds, &all, &nulls).expect("NULL can be written");
            out.truncate(out.len() - row.len());
            (0..execute.executions()).for_each(|_| bind_row(input, &execute.binds, &rules, &mut out));
        }
        out
    }

    fn reexecute(&mut self, input: &mut Input<'_>, which: u8) -> Vec<u8> {
        let (cursor, count) = (self.cursor(input), u32::from(input.u8()) % EXECUTIONS_MAX);
        let mut out = Vec::new();
        call::write_simple(which, self.sequence, &mut out);
        let mut w = Writer::new(&mut out);
        w.number(cursor);
        w.number(count);
        w.number(0u32);
        w.number(input.u8() & 1);
        let binds: Vec<Shape> = (0..input.u8() % 6).map(|_| shape(input)).collect();
        if !binds.is_empty() {
            (0..count.max(1)).for_each(|_| bind_row(input, &binds, &BindRules::default(), &mut out));
        }
        out
    }

    /// A message that precedes the next call.
    fn piggyback(&mut self, input: &mut Input<'_>) {
        let which = input.u8() % 6;
        let cursors: Vec<u32> = (0..1 + input.u8() % 3).map(|_| self.cursor(input)).collect();
        let (name, number) = (input.bytes(20), input.u8());
        self.is_dirty |= which == 2;
        let mut w = Writer::new(&mut self.before);
        let mut head = |function| w.raw(&[message::PIGGYBACK, function, self.sequence]);
        match which {
            0 | 1 => {
                head(if which == 0 { function::CLOSE_CURSORS } else { function::CANCEL_CURSORS });
                w.u8(1);
                w.number(cursors.len() as u64);
                cursors.iter().for_each(|c| w.number(*c));
            }
            2 => {
                head(function::SET_SCHEMA);
                w.u8(1);
                w.long_bytes(&name);
            }
            3 => {
                head(function::END_TO_END);
                w.zeros(2);
                w.number(number);
                for text in 0..9 {
                    let is_set = number >> (text % 8) & 1 == 1 && !matches!(text, 3 | 4 | 6 | 7);
                    w.u8(is_set.into());
                    w.number(if is_set { name.len() as u64 } else { 0 });
                }
                for text in [0, 1, 2, 5, 8] {
                    if number >> (text % 8) & 1 == 1 && !name.is_empty() {
                        w.bytes(&name);
                    }
                }
            }
            4 => {
                head(function::KEY_VALUES);
                w.u8(1);
                w.number(0u32);
                w.u8(1);
                w.number(number % 4);
                w.number(0u32);
                w.u8(0);
                w.bytes(&[]);
                for _ in 0..number % 4 {
                    w.long_bytes(&name);
                    w.long_bytes(&name);
                    w.number(number);
                }
            }
            _ => {
                head(function::SESSION_STATE);
                w.number(u64::from(number) << 40);
            }
        }
    }

    /// One operation; false when the connection is over.
    fn operation(&mut self, input: &mut Input<'_>) -> bool {
        self.sequence = self.sequence % 250 + 1;
        let selected = input.u8();
        let simple = |talk: &Talk, which| {
            let mut out = Vec::new();
            call::write_simple(which, talk.sequence, &mut out);
            out
        };
        let call = match selected & 0x0f {
            0..=3 => self.execute(input),
            4 => self.reexecute(input, function::REEXECUTE),
            5 => self.reexecute(input, function::REEXECUTE_AND_FETCH),
            6 | 7 => {
                let mut out = Vec::new();
                call::write_fetch(self.cursor(input), input.u8().into(), self.sequence, &mut out);
                out
            }
            8 => simple(self, function::COMMIT),
            9 => simple(self, function::ROLLBACK),
            10 => simple(self, function::PING),
            11 => {
                self.piggyback(input);
                return true;
            }
            12 => return self.break_it(&input.bytes(30)),
            13 => input.bytes(60),
            14 if input.u8() & 1 == 1 => simple(self, function::LOGOFF),
            14 => {
                let mut out = simple(self, function::VERSION);
                out.extend_from_slice(&[1, 2, 1, 0, 1, 1, 0]);
                out
            }
            _ => simple(self, input.u8()),
        };
        let mut message = std::mem::take(&mut self.before);
        message.extend_from_slice(&call);
        if selected & 0x10 != 0 {
            for _ in 0..1 + input.u8() % 4 {
                let (at, to) = (usize::from(input.u16()) % message.len().max(1), input.u8());
                if let Some(byte) = message.get_mut(at) {
                    *byte = to;
                }
            }
        }
        if selected & 0x20 != 0 {
            let (at, more) = (usize::from(input.u16()) % (message.len() + 1), input.bytes(8));
            match more.is_empty() {
                true => message.truncate(at),
                false => message.splice(at..at, more).for_each(drop),
            }
        }
        let cuts = if selected & 0x40 != 0 { 1 + usize::from(input.u8() % 4) } else { 0 };
        self.exchange(&message, cuts, selected & 0x80 != 0)
    }

    /// Sends a message and reads its answer; false when the connection is over.
    fn exchange(&mut self, message: &[u8], cuts: usize, waits_between: bool) -> bool {
        let read = call::read(&mut Reader::new(message), Client::USUAL);
        let call = match &read {
            Ok((before, call)) if is_allowed(call) => {
                let sets = |p: &call::Piggyback| matches!(p, call::Piggyback::SetSchema(_));
                self.is_dirty |= before.iter().any(sets);
                Some(call)
            }
            Ok(_) => return true,
            Err(_) => None,
        };
        self.note(call);
        // Only an empty message has an empty part.
        let part = message.len().div_ceil(cuts + 1).max(1);
        let mut goes_on = true;
        let mut packets = Vec::new();
        let pieces = message.chunks(part).count();
        for (at, piece) in message.chunks(part).enumerate() {
            tns::write_part(&mut packets, piece, if at + 1 < pieces { tns::MORE_DATA } else { 0 });
            if waits_between && goes_on {
                self.say(&std::mem::take(&mut packets));
                goes_on = self.server.serve();
            }
        }
        if goes_on && !packets.is_empty() {
            self.say(&packets);
            goes_on = self.server.serve();
        }
        let (answer, markers) = self.hear();
        assert!(markers.is_empty(), "markers {markers:?} that nobody asked for");
        assert_eq!(self.server.begun(), 0, "what does not come is waited for: {read:?}");
        if !message.is_empty() {
            assert!(!answer.is_empty(), "a message without an answer: {read:?}");
        }
        // The error that ends a session after an undecodable message has the number of the previous call.
        let sequence = call.filter(|_| !waits_between && goes_on).map(|c| c.sequence);
        // The test's client requests neither a version nor counts of rows, and does not decode them.
        let is_read = !call.is_some_and(|c| match &c.request {
            Request::Version => true,
            Request::Execute(e) => e.wants_row_counts,
            _ => false,
        });
        if is_read {
            self.read(&answer, sequence);
        }
        self.is_over = !goes_on;
        goes_on
    }

    /// Updates the client's state after a call.
    fn note(&mut self, call: Option<&Call>) {
        match call.map(|c| &c.request) {
            Some(Request::Execute(e)) => {
                // A statement that commits, or sets something, may be executed again later.
                let lasts = |sql: &str| sql.contains("commit") || sql.starts_with("alter");
                self.is_dirty |= e.asks(option::COMMIT) || e.sql.as_deref().is_some_and(lasts);
                let cursor = e.cursor as u16;
                if e.sql.is_some() {
                    self.columns.remove(&cursor);
                    return;
                }
                let is_taken = |d: &Shape| value::is_bindable(d) || d.number == value::number::ROWID;
                let is_applied = e.flags & execute_flag::SCROLLABLE == 0
                    && !e.asks(option::DESCRIBE_ONLY)
                    && e.defines.iter().all(is_taken);
                if let Some(columns) = self.columns.get_mut(&cursor).filter(|c| c.len() == e.defines.len())
                    && is_applied
                {
                    columns.iter_mut().zip(&e.defines).for_each(|(column, define)| column.shape = *define);
                }
            }
            Some(Request::Reexecute(e)) => self.is_dirty |= e.commits,
            // A message that is no complete call may be preceded by one.
            Some(Request::Commit | Request::Logoff) | None => self.is_dirty = true,
            _ => {}
        }
    }

    /// Reads the answers to messages.
    fn read(&mut self, answer: &[u8], sequence: Option<u8>) {
        let mut r = Reader::new(answer);
        while !r.left().is_empty() {
            // Output of blocks and of RETURNING is not decoded here.
            if r.left()[0] == message::IO_VECTOR {
                return;
            }
            // Rows of a statement whose columns were described earlier are decoded with any columns that fit.
            let first = self.columns.values().find_map(|columns| {
                let mut r = r.clone();
                reply::read_answer(&mut r, columns, Client::USUAL).ok().map(|a| (a, r))
            });
            let read = first.or_else(|| {
                let mut r = r.clone();
                reply::read_answer(&mut r, &[], Client::USUAL).ok().map(|a| (a, r))
            });
            let Some((said, rest)) = read else { panic!("an answer that does not decode: {answer:?}") };
            r = rest;
            if let Some(sequence) = sequence {
                assert_eq!(said.outcome.sequence, sequence, "the number of the call");
            }
            let (error, cursor) = (said.outcome.error, said.outcome.cursor);
            assert!(error != 600 && error != 7445, "{}", said.outcome.message);
            if cursor != 0 && (error == 0 || error == reply::NO_DATA_FOUND) {
                let columns = self.columns.entry(cursor).or_default();
                if let Some(new) = said.columns {
                    *columns = new;
                }
            }
        }
    }

    /// Sends a break, with bytes of a message between its two markers; false when the connection is over.
    fn break_it(&mut self, between: &[u8]) -> bool {
        let mut out = Vec::new();
        tns::write_marker(&mut out, marker::BREAK);
        if !between.is_empty() {
            tns::write_data(&mut out, between, SDU);
        }
        tns::write_marker(&mut out, marker::RESET);
        self.say(&out);
        let goes_on = self.server.serve();
        let (answer, markers) = self.hear();
        assert!(goes_on, "a break ends the session");
        assert_eq!(markers, [marker::BREAK, marker::RESET], "the answer of a break");
        let said = reply::read_answer(&mut Reader::new(&answer), &[], Client::USUAL).expect("the outcome of a break");
        assert_eq!((said.outcome.error, self.server.begun()), (1013, 0));
        true
    }

    fn say(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).expect("room for a message");
    }

    /// Reads the server's output: the bytes of messages, and markers.
    fn hear(&mut self) -> (Vec<u8>, Vec<u8>) {
        let (mut packets, mut part) = (PacketBuffer::new(), vec![0; 64 << 10]);
        packets.accept(SDU);
        while let Ok(n @ 1..) = self.socket.read(&mut part) {
            packets.extend(&part[..n]);
        }
        let (mut messages, mut markers) = (Vec::new(), Vec::new());
        while let Some(packet) = packets.next_packet().expect("packets") {
            match packet.kind {
                kind::DATA => messages.extend_from_slice(packet.data().expect("a packet of data").1),
                kind::MARKER => markers.push(packet.marker().expect("a marker")),
                other => panic!("a packet of kind {other}"),
            }
        }
        (messages, markers)
    }
}

fn bind_row(input: &mut Input<'_>, binds: &[Shape], rules: &BindRules, out: &mut Vec<u8>) {
    let values: Vec<Value> = binds.iter().map(|b| value_of(input, b)).collect();
    let at = out.len();
    if value::write_row(&mut Writer::new(out), binds, rules, &values).is_err() {
        out.truncate(at);
        let nulls = vec![Value::Null; binds.len()];
        value::write_row(&mut Writer::new(out), binds, rules, &nulls).expect("NULL can be written");
    }
}

/// Whether a call ends by itself, soon, with an answer that fits the socket's buffer.
fn is_allowed(call: &Call) -> bool {
    match &call.request {
        Request::Execute(e) => {
            let is_known = |sql: &String| STATEMENTS.contains(&sql.as_str());
            e.sql.as_ref().is_none_or(is_known) && (e.is_query || e.count <= EXECUTIONS_MAX)
        }
        Request::Reexecute(e) => e.count <= EXECUTIONS_MAX,
        _ => true,
    }
}

thread_local! {
    static FREE: RefCell<Option<Session>> = const { RefCell::new(None) };
}

/// A session with its tables.
fn free_session() -> Session {
    if let Some(session) = FREE.take() {
        return session;
    }
    let mut session = Session::in_process(instance()).expect("a session");
    if session.run("select count(*) from fuzz_w").is_err() {
        SETUP.iter().chain(&RESTORE).for_each(|sql| {
            session.run(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
        });
    }
    session
}

fn session(bytes: &[u8]) {
    let mut input = Input(bytes);
    let mut talk = Talk::begin(free_session());
    for _ in 0..OPERATIONS_MAX {
        if input.0.is_empty() || !talk.operation(&mut input) {
            break;
        }
    }
    let Talk { server, is_dirty, is_over, .. } = talk;
    let mut session = server.into_session();
    assert_eq!(session.process().stats().get(Stat::OpenedCursorsCurrent), 0, "open cursors");
    if is_over {
        // The real server process ends here.
        let slot = session.process().number();
        session.end();
        assert!(instance().processes().live().all(|(n, _)| n != slot), "a session that ended has its slot");
        session = free_session();
    }
    session.rollback().expect("a rollback");
    let number = session.process().number();
    for kind in [EnqueueType::Tx, EnqueueType::Tm] {
        assert!(!instance().storage().enqueues.owns_any(number, kind, LockMode::Null), "{kind:?} locks");
    }
    if is_dirty {
        session.run("alter session set current_schema = sys").expect("the schema");
        session.run("alter session set nls_date_format = 'DD-MON-RR'").expect("the format");
        RESTORE.iter().for_each(|sql| {
            session.run(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
        });
    }
    FREE.set(Some(session));
}

/// Sound conversations: every statement is executed like a driver would, fetched, executed again and closed.
fn seeds() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    for n in 0..STATEMENTS.len() as u8 {
        let execute = [0, 0, n, 0, 1, 2, 3, 9, 2, 5, 0, 7];
        all.push([&execute[..], &[6, 0, 5], &[4, 0, 2, 0, 0], &[5, 0, 3, 0, 0], &[9]].concat());
        all.push([&[0x00, 0x18, n, 0, 0, 0, 5, 4, 1, 1, 1, 1, 1, 1][..], &[8], &[10]].concat());
        all.push([&[0x50, 0, n, 1, 1, 1, 0, 2, 0, 9, 7][..], &[12, 3, 1, 2, 3], &[11, 0, 1, 0, 0, 8], &[10]].concat());
    }
    all.push(vec![0, 0, 0, 0, 3, 0x80, 0, 0, 0, 7, 2, 2, 0, 6, 0, 20]);
    all.push(vec![11, 3, 0, 0, 3, 97, 98, 99, 255, 10, 14, 0, 14, 1]);
    all.push(vec![11, 4, 0, 0, 3, 97, 98, 99, 2, 11, 5, 0, 0, 0, 7, 11, 2, 0, 0, 3, 115, 121, 115, 0, 10]);
    all
}
