//! The packets of the local socket.
//!
//! | client sends | server answers |
//! |---|---|
//! | `Logon` (first packet) | `Welcome`, or `Error` and the end |
//! | `Cancel` (first packet of another connection) | nothing; the connection ends |
//! | `Diagnose` (first packet) | `Output`, `Done`, or `Error`; and the end |
//! | `Listener` (first packet) | `Output`, `Done`, or `Error`; and the end |
//! | `Execute` | `Described` when rows will come, `Rows`*, `Output`?, then `Done` or `Error` |
//! | `ExecuteMany` | `Returned`*, `Output`?, `Refused`*, `Executed`, then `Done` or `Error` |
//! | `Fetch` | `Rows`, then `Done` or `Error` |
//! | `Describe` | `Described`, then `Done` or `Error` |
//! | `CloseCursor` | nothing |
//! | `Logoff` | `Done`, and the end |
//!
//! One call is in flight at a time. `Cancel` breaks the call of the session with the same key: that call ends with
//! ORA-01013.

use super::array::{Array, BindRows};
use super::bind::{Bind, Direction};
use super::value::{read_result, read_type, read_value, write_type, write_value};
use super::wire::{Reader, WireError, WireResult, Writer};
use crate::command::StatementKind;
use types::{DataType, Value};

/// The version that both sides must have.
pub const PROTOCOL_VERSION: u16 = 7;

/// A request to log on.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Logon {
    pub version: u16,
    /// Empty with `as_sysdba`: operating-system authentication.
    pub user: String,
    pub password: String,
    /// The new password; empty to keep the present one.
    pub new_password: String,
    pub as_sysdba: bool,
    /// The description of the client in `v$session`.
    pub program: String,
    pub machine: String,
    pub terminal: String,
    pub os_user: String,
    pub process_id: u32,
}

/// A statement to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Execute {
    pub sql: String,
    pub binds: Vec<Bind>,
    /// Rows to send with the first answer.
    pub prefetch: u32,
    /// Return the lines of `dbms_output` from the call.
    pub want_output: bool,
    /// Binds of a block that are PL/SQL tables.
    pub tables: Vec<TableBind>,
}

/// A bind that is a PL/SQL index-by table: its type is that of the elements, its own value is ignored.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct TableBind {
    /// The index of the bind.
    pub bind: u16,
    /// Largest number of elements that it takes back.
    pub most: u32,
    /// Its elements, from subscript 1 on.
    pub elements: Vec<Value>,
}

/// A packet of the client.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    Logon(Box<Logon>),
    Execute(Box<Execute>),
    /// Runs a DML statement, or a block, once for each row of bind values, as one call.
    ExecuteMany {
        array: Box<Array>,
        rows: BindRows,
    },
    /// Parses the statement and describes its columns without running it.
    Describe {
        sql: String,
    },
    Fetch {
        cursor: u32,
        rows: u32,
    },
    CloseCursor {
        cursor: u32,
    },
    Logoff {
        commit: bool,
    },
    /// Breaks call number `call` of session `sid`, counted from 1 after the logon, if `key` is that of its `Welcome`
    /// and the call still runs.
    Cancel {
        sid: u32,
        serial: u32,
        key: u64,
        call: u64,
    },
    /// Reports the waiting sessions of an instance that may be stuck; no session is opened for it.
    Diagnose,
    /// A request to the listener; no session is opened for it.
    Listener(ListenerWord),
}

types::numbered! {
    /// The requests to a listener.
    #[derive(Debug, PartialEq, Eq)]
    pub enum ListenerWord: u8 {
        Status = 0,
        Services = 1,
        Start = 2,
        Stop = 3,
        Reload = 4,
    }
}

/// The server's answer to a successful logon.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Welcome {
    pub version: u16,
    pub sid: u32,
    pub serial: u32,
    /// The operating-system process that serves the session.
    pub server_process: u32,
    /// The key for [`Request::Cancel`].
    pub cancel_key: u64,
    pub user: String,
    pub instance: String,
    pub database: String,
    /// "Latchwork Database … Release …".
    pub banner: String,
    /// A warning of a successful logon in SQL*Plus's form: ORA-28002. Empty without one.
    pub warning: String,
}

/// One column of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub name: String,
    pub data_type: DataType,
    pub nullable: bool,
    /// The largest number of characters of a printed value.
    pub display_size: u32,
    /// For a column of cursors, whose values are cursor numbers: the columns of each cursor.
    pub nested: Vec<Column>,
}

/// The end of a successful call.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Done {
    pub kind: StatementKind,
    /// Rows processed: changed by DML, or fetched so far of the cursor.
    pub rows: u64,
    /// For a query, whether more rows can be fetched.
    pub more: bool,
    /// A warning of a successful call, such as ORA-24344 for a unit created with compilation errors.
    pub warning: Option<Failure>,
    /// The returned binds: index in the call's list, and value. The value of a cursor is its number.
    pub out: Vec<(u16, Value)>,
    /// The binds returned as PL/SQL tables, from subscript 1 on.
    pub tables: Vec<(u16, Vec<Value>)>,
    /// The returned cursors with their columns: those of binds, and implicit results.
    pub cursors: Vec<(u32, Vec<Column>)>,
    /// The implicit results among them, in order.
    pub results: Vec<u32>,
    pub in_transaction: bool,
    /// The current schema, so that a prompt can show it.
    pub schema: String,
}

/// One line of an error stack.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Failure {
    /// "ORA", "PLS", "SP2", …
    pub facility: String,
    pub code: u32,
    /// The whole text in SQL*Plus's form: the first line begins with facility and number; more lines may follow.
    pub text: String,
    /// Byte offset in the statement, if the error has a position.
    pub position: Option<u32>,
    pub kind: StatementKind,
    /// The session is over.
    pub fatal: bool,
}

/// A packet of the server.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    Welcome(Box<Welcome>),
    Described {
        cursor: u32,
        columns: Vec<Column>,
    },
    Rows {
        cursor: u32,
        rows: Vec<Vec<Value>>,
    },
    /// Lines of `dbms_output`; `None` is an empty line.
    Output {
        lines: Vec<Option<String>>,
    },
    /// The values that one execution of an array returned to binds: the execution, then indexes of binds and values.
    Returned {
        execution: u32,
        values: Vec<(u16, Value)>,
    },
    /// Failed executions of an array whose other executions continued, with their errors.
    Refused {
        errors: Vec<(u32, Failure)>,
    },
    /// The result of an array.
    Executed(Executed),
    Done(Box<Done>),
    Error(Box<Failure>),
}

/// The result of the executions of one call. An `Error` that follows belongs to the first execution that is not counted
/// here.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Executed {
    /// Executions that were tried and did not end the call.
    pub executions: u32,
    /// Rows changed by them.
    pub rows: u64,
    /// Rows changed by each of them, if requested.
    pub counts: Vec<u64>,
}

mod tag {
    pub const LOGON: u8 = 1;
    pub const EXECUTE: u8 = 2;
    pub const DESCRIBE: u8 = 3;
    pub const FETCH: u8 = 4;
    pub const CLOSE_CURSOR: u8 = 5;
    pub const LOGOFF: u8 = 6;
    pub const CANCEL: u8 = 7;
    pub const DIAGNOSE: u8 = 8;
    pub const EXECUTE_MANY: u8 = 9;
    pub const LISTENER: u8 = 10;
    pub const WELCOME: u8 = 65;
    pub const DESCRIBED: u8 = 66;
    pub const ROWS: u8 = 67;
    pub const OUTPUT: u8 = 68;
    pub const DONE: u8 = 69;
    pub const ERROR: u8 = 70;
    pub const RETURNED: u8 = 71;
    pub const REFUSED: u8 = 72;
    pub const EXECUTED: u8 = 73;
}

impl Request {
    /// Appends the body of the packet.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut w = Writer::new(out);
        match self {
            Request::Logon(l) => {
                w.u8(tag::LOGON);
                write_logon(&mut w, l);
            }
            Request::Execute(e) => {
                w.u8(tag::EXECUTE);
                w.text(&e.sql);
                w.list(&e.binds, write_bind);
                w.u32(e.prefetch);
                w.bool(e.want_output);
                w.list(&e.tables, write_table);
            }
            Request::ExecuteMany { array, rows } => {
                w.u8(tag::EXECUTE_MANY);
                w.text(&array.sql);
                w.list(&array.binds, write_bind);
                [array.batch_errors, array.row_counts, array.want_output].iter().for_each(|b| w.bool(*b));
                rows.write(&mut w);
            }
            Request::Describe { sql } => {
                w.u8(tag::DESCRIBE);
                w.text(sql);
            }
            Request::Fetch { cursor, rows } => {
                w.u8(tag::FETCH);
                w.u32(*cursor);
                w.u32(*rows);
            }
            Request::CloseCursor { cursor } => {
                w.u8(tag::CLOSE_CURSOR);
                w.u32(*cursor);
            }
            Request::Logoff { commit } => {
                w.u8(tag::LOGOFF);
                w.bool(*commit);
            }
            Request::Cancel { sid, serial, key, call } => {
                w.u8(tag::CANCEL);
                w.u32(*sid);
                w.u32(*serial);
                w.u64(*key);
                w.u64(*call);
            }
            Request::Diagnose => w.u8(tag::DIAGNOSE),
            Request::Listener(word) => {
                w.u8(tag::LISTENER);
                w.u8(*word as u8);
            }
        }
    }

    /// Reads the body of a packet.
    ///
    /// # Errors
    /// A [`WireError`] for anything that `encode` does not write.
    pub fn decode(body: &[u8]) -> WireResult<Request> {
        let mut r = Reader::new(body);
        let request = match r.u8()? {
            tag::LOGON => Request::Logon(Box::new(read_logon(&mut r)?)),
            tag::EXECUTE => Request::Execute(Box::new(Execute {
                sql: r.string()?,
                binds: r.list(4, read_bind)?,
                prefetch: r.u32()?,
                want_output: r.bool()?,
                tables: r.list(10, read_table)?,
            })),
            tag::EXECUTE_MANY => {
                let array = Array {
                    sql: r.string()?,
                    binds: r.list(4, read_bind)?,
                    batch_errors: r.bool()?,
                    row_counts: r.bool()?,
                    want_output: r.bool()?,
                };
                let rows = BindRows::read(&mut r, array.binds.len())?;
                Request::ExecuteMany { array: Box::new(array), rows }
            }
            tag::DESCRIBE => Request::Describe { sql: r.string()? },
            tag::FETCH => Request::Fetch { cursor: r.u32()?, rows: r.u32()? },
            tag::CLOSE_CURSOR => Request::CloseCursor { cursor: r.u32()? },
            tag::LOGOFF => Request::Logoff { commit: r.bool()? },
            tag::DIAGNOSE => Request::Diagnose,
            tag::LISTENER => {
                let word = r.u8()?;
                Request::Listener(ListenerWord::from_code(word).ok_or(WireError::UnknownTag(word))?)
            }
            tag::CANCEL => Request::Cancel { sid: r.u32()?, serial: r.u32()?, key: r.u64()?, call: r.u64()? },
            t => return Err(WireError::UnknownTag(t)),
        };
        r.finish()?;
        Ok(request)
    }
}

impl Reply {
    /// Appends the body of the packet.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut w = Writer::new(out);
        match self {
            Reply::Welcome(welcome) => {
                w.u8(tag::WELCOME);
                write_welcome(&mut w, welcome);
            }
            Reply::Described { cursor, columns } => {
                w.u8(tag::DESCRIBED);
                w.u32(*cursor);
                w.list(columns, write_column);
            }
            Reply::Rows { cursor, rows } => {
                w.u8(tag::ROWS);
                w.u32(*cursor);
                w.list(rows, |w, row| w.list(row, write_value));
            }
            Reply::Output { lines } => {
                w.u8(tag::OUTPUT);
                w.list(lines, |w, l| w.option(l.as_ref(), |w, l| w.text(l)));
            }
            Reply::Returned { execution, values } => {
                w.u8(tag::RETURNED);
                w.u32(*execution);
                w.list(values, write_out);
            }
            Reply::Refused { errors } => {
                w.u8(tag::REFUSED);
                w.list(errors, |w, (execution, failure)| {
                    w.u32(*execution);
                    write_failure(w, failure);
                });
            }
            Reply::Executed(executed) => {
                w.u8(tag::EXECUTED);
                w.u32(executed.executions);
                w.u64(executed.rows);
                w.list(&executed.counts, |w, n| w.u64(*n));
            }
            Reply::Done(done) => {
                w.u8(tag::DONE);
                write_done(&mut w, done);
            }
            Reply::Error(failure) => {
                w.u8(tag::ERROR);
                write_failure(&mut w, failure);
            }
        }
    }

    /// Reads the body of a packet.
    ///
    /// # Errors
    /// A [`WireError`] for anything that `encode` does not write.
    pub fn decode(body: &[u8]) -> WireResult<Reply> {
        let mut r = Reader::new(body);
        let reply = match r.u8()? {
            tag::WELCOME => Reply::Welcome(Box::new(read_welcome(&mut r)?)),
            tag::DESCRIBED => Reply::Described { cursor: r.u32()?, columns: read_columns(&mut r, 0)? },
            tag::ROWS => Reply::Rows { cursor: r.u32()?, rows: r.list(4, |r| r.list(1, read_result))? },
            tag::OUTPUT => Reply::Output { lines: r.list(1, |r| r.option(|r| r.string()))? },
            tag::RETURNED => Reply::Returned { execution: r.u32()?, values: r.list(3, read_out)? },
            tag::REFUSED => Reply::Refused { errors: r.list(16, |r| Ok((r.u32()?, read_failure(r)?)))? },
            tag::EXECUTED => {
                Reply::Executed(Executed { executions: r.u32()?, rows: r.u64()?, counts: r.list(8, |r| r.u64())? })
            }
            tag::DONE => Reply::Done(Box::new(read_done(&mut r)?)),
            tag::ERROR => Reply::Error(Box::new(read_failure(&mut r)?)),
            t => return Err(WireError::UnknownTag(t)),
        };
        r.finish()?;
        Ok(reply)
    }
}

/// Writes a `Rows` packet row by row without storing the rows: `next` appends the values of one row through the
/// [`Writer`] and returns whether there was one. Returns the number of rows written.
pub fn encode_rows<E>(
    out: &mut Vec<u8>,
    cursor: u32,
    mut next: impl FnMut(&mut RowsWriter<'_>) -> std::result::Result<bool, E>,
) -> std::result::Result<u32, E> {
    Writer::new(out).u8(tag::ROWS);
    Writer::new(out).u32(cursor);
    let at = out.len();
    Writer::new(out).u32(0);
    let mut rows = 0u32;
    while next(&mut RowsWriter { out })? {
        rows += 1;
    }
    out[at..at + 4].copy_from_slice(&rows.to_le_bytes());
    Ok(rows)
}

/// Writes the rows of an unfinished packet.
pub struct RowsWriter<'a> {
    out: &'a mut Vec<u8>,
}

impl RowsWriter<'_> {
    /// Appends one row.
    pub fn row<'v>(&mut self, values: impl ExactSizeIterator<Item = &'v Value>) {
        let mut w = Writer::new(self.out);
        w.u32(u32::try_from(values.len()).expect("a row has fewer than 4 G columns"));
        for v in values {
            write_value(&mut w, v);
        }
    }

    /// Bytes of the packet so far.
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// Whether nothing has been written.
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }
}

fn write_logon(w: &mut Writer<'_>, l: &Logon) {
    w.u16(l.version);
    for t in [&l.user, &l.password, &l.new_password] {
        w.text(t);
    }
    w.bool(l.as_sysdba);
    for t in [&l.program, &l.machine, &l.terminal, &l.os_user] {
        w.text(t);
    }
    w.u32(l.process_id);
}

fn read_logon(r: &mut Reader<'_>) -> WireResult<Logon> {
    Ok(Logon {
        version: r.u16()?,
        user: r.string()?,
        password: r.string()?,
        new_password: r.string()?,
        as_sysdba: r.bool()?,
        program: r.string()?,
        machine: r.string()?,
        terminal: r.string()?,
        os_user: r.string()?,
        process_id: r.u32()?,
    })
}

fn write_bind(w: &mut Writer<'_>, b: &Bind) {
    w.option(b.name.as_ref(), |w, n| w.text(n));
    w.u8(b.direction.code());
    write_type(w, &b.data_type);
    write_value(w, &b.value);
}

fn read_direction(r: &mut Reader<'_>) -> WireResult<Direction> {
    let code = r.u8()?;
    Direction::from_code(code).ok_or(WireError::UnknownTag(code))
}

fn read_bind(r: &mut Reader<'_>) -> WireResult<Bind> {
    Ok(Bind {
        name: r.option(|r| r.string())?,
        direction: read_direction(r)?,
        data_type: read_type(r)?,
        value: read_value(r)?,
    })
}

fn write_welcome(w: &mut Writer<'_>, v: &Welcome) {
    w.u16(v.version);
    for n in [v.sid, v.serial, v.server_process] {
        w.u32(n);
    }
    w.u64(v.cancel_key);
    for t in [&v.user, &v.instance, &v.database, &v.banner, &v.warning] {
        w.text(t);
    }
}

fn read_welcome(r: &mut Reader<'_>) -> WireResult<Welcome> {
    Ok(Welcome {
        version: r.u16()?,
        sid: r.u32()?,
        serial: r.u32()?,
        server_process: r.u32()?,
        cancel_key: r.u64()?,
        user: r.string()?,
        instance: r.string()?,
        database: r.string()?,
        banner: r.string()?,
        warning: r.string()?,
    })
}

fn write_table(w: &mut Writer<'_>, table: &TableBind) {
    w.u16(table.bind);
    w.u32(table.most);
    w.list(&table.elements, write_value);
}

fn read_table(r: &mut Reader<'_>) -> WireResult<TableBind> {
    Ok(TableBind { bind: r.u16()?, most: r.u32()?, elements: r.list(1, read_value)? })
}

fn write_column(w: &mut Writer<'_>, c: &Column) {
    w.text(&c.name);
    write_type(w, &c.data_type);
    w.bool(c.nullable);
    w.u32(c.display_size);
    if has_nested(&c.data_type) {
        w.list(&c.nested, write_column);
    }
}

/// A cursor has columns, an object attributes.
fn has_nested(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Cursor | DataType::Named(_))
}

/// Largest depth of cursors in columns of cursors.
const NESTED_MAX: usize = 64;

fn read_columns(r: &mut Reader<'_>, depth: usize) -> WireResult<Vec<Column>> {
    if depth > NESTED_MAX {
        return Err(WireError::LengthOutOfBounds);
    }
    r.list(7, |r| {
        let (name, data_type) = (r.string()?, read_type(r)?);
        let (nullable, display_size) = (r.bool()?, r.u32()?);
        let nested = if has_nested(&data_type) { read_columns(r, depth + 1)? } else { Vec::new() };
        Ok(Column { name, data_type, nullable, display_size, nested })
    })
}

fn write_cursor(w: &mut Writer<'_>, (cursor, columns): &(u32, Vec<Column>)) {
    w.u32(*cursor);
    w.list(columns, write_column);
}

fn read_cursor(r: &mut Reader<'_>) -> WireResult<(u32, Vec<Column>)> {
    Ok((r.u32()?, read_columns(r, 0)?))
}

fn write_out(w: &mut Writer<'_>, (place, value): &(u16, Value)) {
    w.u16(*place);
    write_value(w, value);
}

fn read_out(r: &mut Reader<'_>) -> WireResult<(u16, Value)> {
    Ok((r.u16()?, read_result(r)?))
}

fn write_done(w: &mut Writer<'_>, d: &Done) {
    w.u16(d.kind.0);
    w.u64(d.rows);
    w.bool(d.more);
    w.option(d.warning.as_ref(), write_failure);
    w.list(&d.out, write_out);
    w.list(&d.tables, |w, (place, elements)| {
        w.u16(*place);
        w.list(elements, write_value);
    });
    w.list(&d.cursors, write_cursor);
    w.list(&d.results, |w, n| w.u32(*n));
    w.bool(d.in_transaction);
    w.text(&d.schema);
}

fn read_done(r: &mut Reader<'_>) -> WireResult<Done> {
    Ok(Done {
        kind: StatementKind(r.u16()?),
        rows: r.u64()?,
        more: r.bool()?,
        warning: r.option(read_failure)?,
        out: r.list(3, read_out)?,
        tables: r.list(6, |r| Ok((r.u16()?, r.list(1, read_result)?)))?,
        cursors: r.list(8, read_cursor)?,
        results: r.list(4, |r| r.u32())?,
        in_transaction: r.bool()?,
        schema: r.string()?,
    })
}

fn write_failure(w: &mut Writer<'_>, e: &Failure) {
    w.text(&e.facility);
    w.u32(e.code);
    w.text(&e.text);
    w.option(e.position.as_ref(), |w, p| w.u32(*p));
    w.u16(e.kind.0);
    w.bool(e.fatal);
}

fn read_failure(r: &mut Reader<'_>) -> WireResult<Failure> {
    Ok(Failure {
        facility: r.string()?,
        code: r.u32()?,
        text: r.string()?,
        position: r.option(|r| r.u32())?,
        kind: StatementKind(r.u16()?),
        fatal: r.bool()?,
    })
}
