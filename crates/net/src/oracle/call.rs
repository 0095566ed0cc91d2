//! The client's calls: one call in a message, after any number of *piggybacks*, which have no answer.

use super::auth::Logon;
use super::field::{Reader, Writer};
use super::global::{End, Switch, read_recovered};
use super::handshake::Client;
use super::lob::{LobCall, operation};
use super::value::{self, BindRules, Shape};
use super::{function, message};
use crate::local::{WireError, WireResult};
use types::Value;

/// Bits of the options of an execution.
pub mod option {
    pub const PARSE: u32 = 0x1;
    pub const BIND: u32 = 0x8;
    pub const DEFINE: u32 = 0x10;
    pub const EXECUTE: u32 = 0x20;
    pub const FETCH: u32 = 0x40;
    pub const COMMIT: u32 = 0x100;
    pub const BLOCK_BIND: u32 = 0x400;
    pub const NOT_A_BLOCK: u32 = 0x8000;
    pub const DESCRIBE_ONLY: u32 = 0x2_0000;
    pub const BATCH_ERRORS: u32 = 0x8_0000;
}

/// Bits of the second word of options.
pub mod execute_flag {
    pub const SCROLLABLE: u32 = 0x2;
    pub const ROW_COUNTS: u32 = 0x4000;
    pub const IMPLICIT_RESULTS: u32 = 0x8000;
}

/// The start of a fetch from a scrollable cursor.
pub mod orientation {
    pub const CURRENT: u32 = 1;
    pub const NEXT: u32 = 2;
    pub const FIRST: u32 = 4;
    pub const LAST: u32 = 8;
    pub const PRIOR: u32 = 0x10;
    pub const ABSOLUTE: u32 = 0x20;
    pub const RELATIVE: u32 = 0x40;
}

/// Indexes in the last list of an execution.
mod place {
    pub const PARSE: usize = 0;
    pub const COUNT: usize = 1;
    pub const IS_QUERY: usize = 7;
    pub const FLAGS: usize = 9;
    pub const ORIENTATION: usize = 10;
    pub const POSITION: usize = 11;
    pub const LEN: usize = 13;
}

/// Largest number of columns.
const DEFINES_MAX: u32 = 65_535;
/// Largest number of binds in a message. A statement may have fewer, and is refused as a statement.
const BINDS_MAX: u32 = 1 << 20;
/// Largest number of executions in one call.
pub const EXECUTIONS_MAX: u32 = 1 << 20;
/// Largest number of context values in one message.
const CONTEXT_VALUES_MAX: u32 = 4096;
/// Largest number of cursors that one message closes.
const CURSORS_MAX: u32 = 65_535;

/// An execution, with its text or of a cursor that has one. Its bind values follow: [`value::read_row`] or
/// [`super::rows::BindRows`] reads them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Execute {
    pub options: u32,
    /// 0 requests a new cursor.
    pub cursor: u32,
    pub sql: Option<String>,
    /// Rows to send with the answer.
    pub prefetch: u32,
    pub binds: Vec<Shape>,
    pub defines: Vec<Shape>,
    /// The number of executions; for a query that also fetches, the number of rows.
    pub count: u32,
    pub is_query: bool,
    pub flags: u32,
    /// For a scrollable cursor, one of [`orientation`] and the number of a row.
    pub orientation: u32,
    pub position: u32,
    /// The client requests the row counts of each execution.
    pub wants_row_counts: bool,
}

impl Execute {
    /// Whether the option is set.
    pub fn asks(&self, option: u32) -> bool {
        self.options & option != 0
    }

    /// The number of rows of bind values that follow.
    pub fn executions(&self) -> usize {
        if self.is_query { 1 } else { self.count.max(1) as usize }
    }

    /// The number of query rows requested with the answer.
    pub fn rows_wanted(&self) -> u32 {
        if self.asks(option::FETCH) && self.count != 0 { self.count } else { self.prefetch }
    }

    fn read(r: &mut Reader<'_>, client: Client) -> WireResult<Execute> {
        let (options, cursor) = (r.ub4()?, r.ub4()?);
        let has_sql = r.u8()? != 0;
        let sql_len = r.ub4()? as usize;
        r.u8()?;
        let listed = r.count(place::LEN as u32)?;
        r.skip(2)?;
        r.ub4()?;
        let prefetch = r.ub4()?;
        r.ub4()?;
        r.u8()?;
        let binds = r.count(BINDS_MAX)?;
        r.skip(5)?;
        r.u8()?;
        let defines = r.count(DEFINES_MAX)?;
        r.ub4()?;
        r.skip(3)?;
        r.ub4()?;
        r.skip(1)?;
        r.ub4()?;
        r.ub4()?;
        let wants_row_counts = r.u8()? != 0;
        r.ub4()?;
        r.u8()?;
        if client.field_version >= 8 {
            r.u8()?;
            r.ub4()?;
            r.u8()?;
            r.ub4()?;
            r.u8()?;
        }
        if client.field_version >= 9 {
            r.u8()?;
            r.ub4()?;
        }
        let sql = if has_sql { Some(client.read_text(r, sql_len)?) } else { None };
        let mut list = [0; place::LEN];
        list.iter_mut().take(listed).try_for_each(|n| r.ub4().map(|v| *n = v))?;
        let shapes =
            |r: &mut Reader<'_>, n: usize| (0..n).map(|_| Shape::read(r, client)).collect::<WireResult<Vec<_>>>();
        let defines = shapes(r, defines)?;
        let binds = shapes(r, binds)?;
        let count = list[place::COUNT];
        let is_query = list[place::IS_QUERY] != 0;
        if !is_query && count > EXECUTIONS_MAX {
            return Err(WireError::LengthOutOfBounds);
        }
        Ok(Execute {
            options,
            cursor,
            sql,
            prefetch,
            binds,
            defines,
            count,
            is_query,
            flags: list[place::FLAGS],
            orientation: list[place::ORIENTATION],
            position: list[place::POSITION],
            wants_row_counts,
        })
    }

    /// Appends the message in the form of [`Client::USUAL`], with the values of one execution.
    ///
    /// # Errors
    /// [`WireError::BadValue`] for a value that is not of its bind's type.
    pub fn write(&self, sequence: u8, values: &[Value], out: &mut Vec<u8>) -> WireResult<()> {
        self.write_by(&BindRules::default(), sequence, values, out)
    }

    /// Like [`Execute::write`], with the values that a statement with these rules sends.
    ///
    /// # Errors
    /// Those of [`Execute::write`].
    pub fn write_by(&self, rules: &BindRules, sequence: u8, values: &[Value], out: &mut Vec<u8>) -> WireResult<()> {
        let client = Client::USUAL;
        let mut w = Writer::new(out);
        w.raw(&[message::FUNCTION, function::EXECUTE, sequence]);
        w.number(self.options);
        w.number(self.cursor);
        let sql_len = self.sql.as_ref().map_or(0, String::len) as u64;
        w.u8(self.sql.is_some().into());
        w.number(sql_len);
        w.u8(1);
        w.number(place::LEN as u64);
        w.zeros(3);
        w.number(self.prefetch);
        w.number(0x7fff_ffffu32);
        w.u8((!self.binds.is_empty()).into());
        w.number(self.binds.len() as u64);
        w.zeros(5);
        w.u8((!self.defines.is_empty()).into());
        w.number(self.defines.len() as u64);
        w.raw(&[0, 0, 1, 0, 0, 0, 0, 0]);
        w.u8(self.wants_row_counts.into());
        w.zeros(9);
        if let Some(sql) = &self.sql {
            client.write_text(&mut w, sql);
        }
        let mut list = [0u32; place::LEN];
        list[place::PARSE] = self.asks(option::PARSE).into();
        list[place::COUNT] = self.count;
        list[place::IS_QUERY] = self.is_query.into();
        list[place::FLAGS] = self.flags;
        list[place::ORIENTATION] = self.orientation;
        list[place::POSITION] = self.position;
        list.iter().for_each(|n| w.number(*n));
        self.defines.iter().chain(&self.binds).for_each(|shape| shape.write(&mut w, client));
        if !(0..self.binds.len()).any(|at| rules.is_sent(at)) {
            return Ok(());
        }
        value::write_row(&mut w, &self.binds, rules, values)
    }
}

/// The execution of a cursor that was executed before; its bind values follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reexecute {
    pub cursor: u32,
    /// The number of executions, or of rows to fetch.
    pub count: u32,
    /// The statement is a query, and rows are requested with the answer.
    pub fetches: bool,
    pub commits: bool,
}

/// A call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    Execute(Box<Execute>),
    Reexecute(Reexecute),
    Fetch {
        cursor: u32,
        rows: u32,
    },
    Commit,
    Rollback,
    Ping,
    Logoff,
    Version,
    /// Describes the columns of a query without executing it: of a text, or of a cursor that has one.
    Describe {
        cursor: u32,
        sql: Option<String>,
    },
    /// Describes the columns of a table or view by name.
    DescribeObject {
        name: String,
    },
    /// Reads or changes a LOB.
    Lob(Box<LobCall>),
    /// Enters a branch of a global transaction, or leaves it.
    GlobalSwitch(Box<Switch>),
    /// Prepares a branch, or ends it.
    GlobalEnd(Box<End>),
    /// Acknowledges the fate of a branch.
    GlobalRecovered,
    /// The first message of a logon.
    LogonOne(Box<Logon>),
    /// The second message of a logon, or a change of the password.
    LogonTwo(Box<Logon>),
    /// The end of a pipeline.
    EndPipeline,
    /// Returns the session to the pool. It has no answer.
    ReleaseSession {
        /// The client does not need the user's authentication any more.
        ends: bool,
    },
    /// A call that is not supported; the format of its message is unknown.
    Other(u8),
}

/// A call and its number, which the outcome repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub sequence: u8,
    pub request: Request,
}

/// The end-to-end attributes of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndToEnd {
    pub client_id: Option<String>,
    pub module: Option<String>,
    pub action: Option<String>,
    /// The execution context.
    pub context: Option<String>,
    pub client_info: Option<String>,
    /// The database operation that runs.
    pub operation: Option<String>,
}

/// Values of an application context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    pub namespace: String,
    /// All values of the namespace are removed before these are set.
    pub clears: bool,
    pub values: Vec<(String, String)>,
}

/// A message part before a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piggyback {
    CloseCursors(Vec<u32>),
    /// Stops fetching; the cursors stay open.
    CancelCursors(Vec<u32>),
    SetSchema(String),
    EndToEnd(Box<EndToEnd>),
    Context(Box<Context>),
    /// The client sends further calls without waiting for answers, until the pipeline ends.
    BeginPipeline {
        /// After a failed call the calls behind it are refused.
        aborts: bool,
    },
    /// Enters a sessionless transaction, and may leave it after the call.
    GlobalSwitch(Box<Switch>),
    /// Frees temporary LOBs: their locators, one after another.
    FreeLobs(Vec<u8>),
    /// A piggyback without effect.
    Ignored,
}

/// Reads a message up to its call; the bind values of an execution are left.
///
/// # Errors
/// [`WireError::Truncated`] while the end of the message is missing; other errors for an invalid message. An unknown
/// piggyback is returned as an unsupported call.
pub fn read(r: &mut Reader<'_>, client: Client) -> WireResult<(Vec<Piggyback>, Call)> {
    let mut before = Vec::new();
    loop {
        let kind = r.u8()?;
        let (which, sequence) = (r.u8()?, r.u8()?);
        match kind {
            message::PIGGYBACK => match read_piggyback(r, which, client)? {
                Some(piggyback) => before.push(piggyback),
                // Drivers give the next number to the call after it.
                None => {
                    let sequence = sequence.wrapping_add(1);
                    return Ok((before, Call { sequence, request: Request::Other(which) }));
                }
            },
            message::FUNCTION => {
                return Ok((before, Call { sequence, request: read_call(r, which, sequence, client)? }));
            }
            message::ONE_WAY if which == function::SESSION_RELEASE => {
                return Ok((before, Call { sequence, request: read_release(r)? }));
            }
            kind => return Err(WireError::UnknownTag(kind)),
        }
    }
}

/// A bit of the mode of a release: the user's authentication is not needed any more.
const DEAUTHENTICATE: u32 = 2;

fn read_release(r: &mut Reader<'_>) -> WireResult<Request> {
    // The tag of the session, which is ignored.
    let has_tag = r.u8()? != 0;
    let tag = r.ub4()? as usize;
    if has_tag && tag > 0 {
        r.skip_bytes()?;
    }
    Ok(Request::ReleaseSession { ends: r.ub4()? & DEAUTHENTICATE != 0 })
}

/// The release at the end of a message, in the form of the drivers, with its piggybacks; `None` for another message. A
/// message with another end is recognised without reading it.
pub fn release_at_end(bytes: &[u8], client: Client) -> Option<(Vec<Piggyback>, Call)> {
    let is_release = |len: usize, mode: &[u8]| {
        let Some(tail) = bytes.len().checked_sub(len).and_then(|at| bytes.get(at..)) else { return false };
        tail.starts_with(&[message::ONE_WAY, function::SESSION_RELEASE]) && tail[3..] == [&[0, 0], mode].concat()
    };
    if !is_release(6, &[0]) && !is_release(7, &[1, DEAUTHENTICATE as u8]) {
        return None;
    }
    let mut r = Reader::new(bytes);
    let (before, call) = read(&mut r, client).ok()?;
    let is_release = matches!(call.request, Request::ReleaseSession { .. });
    (is_release && r.finish().is_ok()).then_some((before, call))
}

/// Appends the release of a session to its pool.
pub fn write_release(ends: bool, sequence: u8, out: &mut Vec<u8>) {
    let mut w = Writer::new(out);
    w.raw(&[message::ONE_WAY, function::SESSION_RELEASE, sequence, 0, 0]);
    w.number(if ends { DEAUTHENTICATE } else { 0 });
}

fn read_call(r: &mut Reader<'_>, which: u8, sequence: u8, client: Client) -> WireResult<Request> {
    Ok(match which {
        function::EXECUTE => Request::Execute(Box::new(Execute::read(r, client)?)),
        function::REEXECUTE | function::REEXECUTE_AND_FETCH => {
            let fetches = which == function::REEXECUTE_AND_FETCH;
            let (cursor, count, _, more) = (r.ub4()?, r.ub4()?, r.ub4()?, r.ub4()?);
            if !fetches && count > EXECUTIONS_MAX {
                return Err(WireError::LengthOutOfBounds);
            }
            Request::Reexecute(Reexecute { cursor, count, fetches, commits: more & 1 != 0 })
        }
        function::FETCH => Request::Fetch { cursor: r.ub4()?, rows: r.ub4()? },
        function::COMMIT => Request::Commit,
        function::ROLLBACK => Request::Rollback,
        function::PING => Request::Ping,
        function::LOGOFF => Request::Logoff,
        function::VERSION => {
            r.skip(1)?;
            r.ub4()?;
            r.skip(2)?;
            if client.field_version >= 11 {
                r.ub4()?;
            }
            Request::Version
        }
        function::DESCRIBE => {
            r.skip(1)?;
            let cursor = r.ub4()?;
            let has_sql = r.u8()? != 0;
            let len = r.ub4()? as usize;
            r.ub4()?;
            r.skip(2)?;
            let sql = if has_sql { Some(client.read_text(r, len)?) } else { None };
            Request::Describe { cursor, sql }
        }
        function::DESCRIBE_OBJECT => {
            let has_name = r.u8()? != 0;
            let len = r.ub4()? as usize;
            r.skip(1)?;
            r.ub4()?;
            r.skip(1)?;
            r.ub4()?;
            Request::DescribeObject { name: if has_name { client.read_text(r, len)? } else { String::new() } }
        }
        function::END_PIPELINE => {
            r.ub4()?;
            Request::EndPipeline
        }
        function::AUTH_PHASE_ONE => Request::LogonOne(Box::new(Logon::read(r, sequence, client)?)),
        function::AUTH_PHASE_TWO => Request::LogonTwo(Box::new(Logon::read(r, sequence, client)?)),
        function::GLOBAL_SWITCH => Request::GlobalSwitch(Box::new(Switch::read(r)?)),
        function::GLOBAL_RECOVERED => {
            read_recovered(r, client)?;
            Request::GlobalRecovered
        }
        function::LOB => Request::Lob(Box::new(LobCall::read(r)?)),
        function::GLOBAL_END => Request::GlobalEnd(Box::new(End::read(r)?)),
        other => Request::Other(other),
    })
}

/// Reads a piggyback; `None` for an unknown one, whose end is unknown too.
fn read_piggyback(r: &mut Reader<'_>, which: u8, client: Client) -> WireResult<Option<Piggyback>> {
    Ok(Some(match which {
        function::CLOSE_CURSORS | function::CANCEL_CURSORS => {
            r.skip(1)?;
            let n = r.count(CURSORS_MAX)?;
            let cursors = (0..n).map(|_| r.ub4()).collect::<WireResult<Vec<_>>>()?;
            let closes = which == function::CLOSE_CURSORS;
            if closes { Piggyback::CloseCursors(cursors) } else { Piggyback::CancelCursors(cursors) }
        }
        function::SET_SCHEMA => {
            r.skip(1)?;
            Piggyback::SetSchema(r.long_text()?)
        }
        function::END_TO_END => Piggyback::EndToEnd(Box::new(read_end_to_end(r, client)?)),
        function::KEY_VALUES => read_context(r, client)?,
        function::BEGIN_PIPELINE => {
            /// The treatment of the calls after a failed one.
            const CONTINUES: u8 = 1;
            const ABORTS: u8 = 2;
            // Errors could be collected, but no driver requests it.
            r.ub2()?;
            r.skip(1)?;
            match r.u8()? {
                CONTINUES => Piggyback::BeginPipeline { aborts: false },
                ABORTS => Piggyback::BeginPipeline { aborts: true },
                _ => return Err(WireError::BadValue),
            }
        }
        function::GLOBAL_SWITCH => Piggyback::GlobalSwitch(Box::new(Switch::read(r)?)),
        function::LOB => {
            let call = LobCall::read(r)?;
            if call.operation != operation::FREE_MANY {
                return Err(WireError::BadValue);
            }
            Piggyback::FreeLobs(call.source)
        }
        function::SESSION_STATE => {
            r.ub8()?;
            Piggyback::Ignored
        }
        _ => return Ok(None),
    }))
}

fn read_context(r: &mut Reader<'_>, client: Client) -> WireResult<Piggyback> {
    /// Bits of the flags: the treatment of the values, and that the values are the client's capabilities, not a
    /// context's.
    const CLEAR: u16 = 0x02;
    const OF_CLIENT: u16 = 0x20;
    r.skip(1)?;
    let namespace_len = r.ub4()? as usize;
    r.skip(1)?;
    let n = r.count(CONTEXT_VALUES_MAX)?;
    let flags = r.ub2()?;
    r.skip(1)?;
    let namespace = client.read_text(r, namespace_len)?;
    let mut values = Vec::new();
    for _ in 0..n {
        values.push((r.long_text()?, r.long_text()?));
        r.ub4()?;
    }
    if flags & OF_CLIENT != 0 {
        return Ok(Piggyback::Ignored);
    }
    Ok(Piggyback::Context(Box::new(Context { namespace, clears: flags & CLEAR != 0, values })))
}

fn read_end_to_end(r: &mut Reader<'_>, client: Client) -> WireResult<EndToEnd> {
    /// Whether a text is set, and its length.
    type Head = (bool, u32);
    fn head(r: &mut Reader<'_>) -> WireResult<Head> {
        Ok((r.u8()? != 0, r.ub4()?))
    }
    let body = |r: &mut Reader<'_>, (is_set, len): Head| -> WireResult<Option<String>> {
        Ok(match (is_set, len) {
            (false, _) => None,
            (true, 0) => Some(String::new()),
            (true, len) => Some(client.read_text(r, len as usize)?),
        })
    };
    r.skip(2)?;
    r.ub4()?;
    let (client_id, module, action, context) = (head(r)?, head(r)?, head(r)?, head(r)?);
    // The execution context's counter type and number.
    r.skip(1)?;
    r.ub4()?;
    let (client_info, stack, target, operation) = (head(r)?, head(r)?, head(r)?, head(r)?);
    let (client_id, module, action) = (body(r, client_id)?, body(r, module)?, body(r, action)?);
    let (context, client_info) = (body(r, context)?, body(r, client_info)?);
    body(r, stack)?;
    body(r, target)?;
    let texts = EndToEnd { client_id, module, action, context, client_info, operation: body(r, operation)? };
    Ok(texts)
}

/// Appends a call without fields.
pub fn write_simple(which: u8, sequence: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&[message::FUNCTION, which, sequence]);
}

/// Appends the piggyback that closes a cursor.
pub fn write_close_cursor(cursor: u32, out: &mut Vec<u8>) {
    let mut w = Writer::new(out);
    w.raw(&[message::PIGGYBACK, function::CLOSE_CURSORS, 0, 1]);
    w.number(1u32);
    w.number(cursor);
}

/// Appends a fetch.
pub fn write_fetch(cursor: u32, rows: u32, sequence: u8, out: &mut Vec<u8>) {
    write_simple(function::FETCH, sequence, out);
    let mut w = Writer::new(out);
    w.number(cursor);
    w.number(rows);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_told_from_the_end_of_another_message() {
        let mut message = Vec::new();
        write_close_cursor(7, &mut message);
        let before = message.len();
        write_release(false, 9, &mut message);
        let release = |ends| Call { sequence: 9, request: Request::ReleaseSession { ends } };
        let closes = vec![Piggyback::CloseCursors(vec![7])];
        assert_eq!(message[before..], [0x1a, 0xa3, 9, 0, 0, 0]);
        assert_eq!(release_at_end(&message, Client::USUAL), Some((closes.clone(), release(false))));
        for cut in 0..message.len() {
            assert_eq!(release_at_end(&message[..cut], Client::USUAL), None, "{cut} bytes");
        }
        message.truncate(before);
        write_release(true, 9, &mut message);
        assert_eq!(release_at_end(&message, Client::USUAL), Some((closes, release(true))));
        // A text that ends with the same bytes is not a release.
        let text = String::from_utf8(vec![b'x', 0x1a]).unwrap();
        let execute = Execute { sql: Some(text), ..Execute::default() };
        let mut message = Vec::new();
        execute.write(1, &[], &mut message).unwrap();
        message.extend_from_slice(&[0x1a, 0xa3, 9, 0, 0, 0]);
        assert_eq!(release_at_end(&message, Client::USUAL), None);
    }

    #[test]
    fn an_execution_is_byte_for_byte_what_drivers_send() {
        let hex = "035e03 028061 00 01 0112 01 010d 00 00 00 0102 047fffffff 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 00 00 \
                   00 00 00 00 00 00 00 00 00 00 12 73656c65637420312066726f6d206475616c 0101 00 00 00 00 00 00 0101 00 028000 \
                   00 00 00";
        let digits: String = hex.chars().filter(|c| !c.is_whitespace()).collect();
        let bytes: Vec<u8> =
            (0..digits.len() / 2).map(|i| u8::from_str_radix(&digits[2 * i..][..2], 16).unwrap()).collect();
        let mut r = Reader::new(&bytes);
        let (before, call) = read(&mut r, Client::USUAL).unwrap();
        r.finish().unwrap();
        assert_eq!((before, call.sequence), (Vec::new(), 3));
        let Request::Execute(e) = call.request else { panic!("an execution") };
        assert_eq!((e.options, e.sql.as_deref(), e.rows_wanted()), (0x8061, Some("select 1 from dual"), 2));
        let mut out = Vec::new();
        e.write(3, &[], &mut out).unwrap();
        assert_eq!(out, bytes);
        for cut in 0..bytes.len() {
            assert_eq!(read(&mut Reader::new(&bytes[..cut]), Client::USUAL), Err(WireError::Truncated));
        }
    }

    #[test]
    fn piggybacks_come_before_the_call() {
        let mut bytes = vec![17, 105, 1, 1, 1, 2, 1, 7, 2, 1, 0];
        bytes.extend_from_slice(&[17, 152, 2, 1, 1, 2, 2, b'h', b'r']);
        bytes.extend_from_slice(&[17, 135, 3, 0, 0, 1, 0x18, 0, 0, 1, 1, 1, 1, 0]);
        bytes.extend_from_slice(&[0; 12]);
        bytes.extend_from_slice(&[1, b'm', 3, 14, 4]);
        let mut r = Reader::new(&bytes);
        let (before, call) = read(&mut r, Client::USUAL).unwrap();
        r.finish().unwrap();
        let end_to_end = EndToEnd { module: Some("m".into()), action: Some(String::new()), ..EndToEnd::default() };
        let want = [
            Piggyback::CloseCursors(vec![7, 256]),
            Piggyback::SetSchema("hr".into()),
            Piggyback::EndToEnd(Box::new(end_to_end)),
        ];
        assert_eq!((&before[..], call), (&want[..], Call { sequence: 4, request: Request::Commit }));
        let mut context = vec![17, 154, 1, 1, 1, 2, 1, 1, 1, 1, 1, 0, 2, b'n', b's'];
        context.extend_from_slice(&[
            1, 1, 1, b'k', 1, 1, 1, b'v', 0, 17, 154, 2, 1, 1, 2, 0, 0, 1, 2, 0, 2, b'n', b's', 3, 14, 4,
        ]);
        let (before, _) = read(&mut Reader::new(&context), Client::USUAL).unwrap();
        let set = Context { namespace: "ns".into(), clears: false, values: vec![("k".into(), "v".into())] };
        let clear = Context { namespace: "ns".into(), clears: true, values: Vec::new() };
        assert_eq!(before, [Piggyback::Context(Box::new(set)), Piggyback::Context(Box::new(clear))]);
        // JDBC sends only the bytes of the texts, whose lengths come before.
        let jdbc = Client { sized_text: false, ..Client::USUAL };
        let mut bytes = vec![17, 135, 7, 0, 0, 1, 0x79, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 2, 0, 1, 5];
        bytes.extend_from_slice(&[0, 0, 0, 0, 0, 0, 1, 1, 1]);
        bytes.extend_from_slice(b"idmaeco");
        bytes.extend_from_slice(&[17, 154, 1, 1, 1, 2, 1, 1, 1, 1, 1, 0, b'n', b's', 1, 1, 1, b'k', 1, 1, 1, b'v', 0]);
        bytes.extend_from_slice(&[3, 14, 4]);
        let mut r = Reader::new(&bytes);
        let (before, _) = read(&mut r, jdbc).unwrap();
        r.finish().unwrap();
        let of = |text: &str| Some(text.to_string());
        let known_by = EndToEnd {
            client_id: of("id"),
            module: of("m"),
            action: of("a"),
            context: of("ec"),
            client_info: None,
            operation: of("o"),
        };
        let set = Context { namespace: "ns".into(), clears: false, values: vec![("k".into(), "v".into())] };
        assert_eq!(before, [Piggyback::EndToEnd(Box::new(known_by)), Piggyback::Context(Box::new(set))]);
        for cut in 0..bytes.len() {
            assert_eq!(read(&mut Reader::new(&bytes[..cut]), jdbc), Err(WireError::Truncated), "{cut}");
        }
        let many = [17, 105, 1, 1, 4, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(read(&mut Reader::new(&many), Client::USUAL), Err(WireError::LengthOutOfBounds));
    }
}
