//! A session over the network with the calls of a session over the local socket: [`crate::Client`] in Oracle Net.
//!
//! Separate calls get the data that local packets carry and Oracle Net does not: the lines of `dbms_output`, and after
//! an ALTER SESSION the schema and the date format.

mod array;

use crate::error::{ClientError, ClientResult};
use crate::names::{Route, tns};
use crate::net_session::{NetSession, UserLogon, failed};
use crate::options::{ConnectOptions, Credentials};
use crate::outcome::Outcome;
use crate::tls::Stream;
use net::StatementKind;
use net::local::{self, Bind, Direction, Done, Failure, Request, Welcome, WireError};
use net::oracle::auth::mode;
use net::oracle::call::{self, Execute, execute_flag, option};
use net::oracle::field::{Reader, Writer};
use net::oracle::handshake::Client as Dialect;
use net::oracle::reply::{self, Answer, COMPILED_WITH_ERRORS, NO_DATA_FOUND, status};
use net::oracle::tns::{self as packets, marker};
use net::oracle::value::{self, BindRules, Column, Shape};
use net::oracle::{function, message};
use std::collections::HashMap;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use types::{DataType, LenUnit, Nls, Number, Ora, Value};

/// The error of a call that was broken.
const BROKEN: u32 = 1013;
/// A unit was created with compilation errors.
const WITH_ERRORS: u32 = 24344;

/// Reads the lines of `dbms_output`, as many as fit: each after its length and a colon; the length of NULL is -1. A
/// line that does not fit is returned alone.
const TAKE_LINES: &str = "\
declare l varchar2(32767); s integer; t varchar2(32767); n integer := 0;
begin
  :more := 0; :one := null;
  loop
    dbms_output.get_line(l, s);
    exit when s != 0;
    n := n + nvl(lengthb(l), 0) + 8;
    if n > 32000 then
      :one := l; :more := 1;
      exit;
    end if;
    t := t || nvl(to_char(lengthb(l)), '-1') || ':' || l;
  end loop;
  :lines := t;
end;";

/// The present state of the session.
const STATE: &str = "select user, sys_context('userenv', 'current_schema'),
  (select value from nls_session_parameters where parameter = 'NLS_DATE_FORMAT') from dual";

/// A session over the network.
pub(crate) struct Remote {
    session: NetSession,
    /// The columns of open queries.
    open: HashMap<u32, Vec<Column>>,
    /// The schema after the last call.
    schema: String,
    nls: Nls,
    breaks: Arc<Breaks>,
}

/// A handle by which another thread breaks the present call.
pub(crate) struct Breaks {
    stream: Mutex<Stream>,
    in_call: AtomicBool,
    /// A break was sent, and the server has not answered it.
    is_sent: AtomicBool,
}

impl std::fmt::Debug for Breaks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Breaks").field("in_call", &self.in_call).field("is_sent", &self.is_sent).finish()
    }
}

impl Breaks {
    /// Sends the break; has no effect when no call is in flight, or the call has been broken already.
    pub(crate) fn send(&self) -> ClientResult<()> {
        if !self.in_call.load(Ordering::SeqCst) || self.is_sent.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        let mut out = Vec::new();
        packets::write_marker(&mut out, marker::INTERRUPT);
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        stream.write_all(&out).map_err(|e| ClientError::Disconnected(e.to_string()))
    }
}

/// The binds of a call in the order of sending.
struct Sent {
    shapes: Vec<Shape>,
    values: Vec<Value>,
    rules: BindRules,
    /// For each of them, the index of the client's bind.
    of: Vec<usize>,
}

impl Remote {
    /// Logs on over a route.
    pub(crate) fn connect(
        route: &Route,
        credentials: &Credentials,
        options: &ConnectOptions,
    ) -> ClientResult<(Remote, Welcome)> {
        let sysdba = mode::LOGON | mode::SYSDBA;
        let (user, password, mode, new) = match credentials {
            Credentials::Sysdba => ("", "", sysdba, None),
            Credentials::OsUser => ("", "", mode::LOGON, None),
            Credentials::Password { user, password } => (user.as_str(), password.as_str(), mode::LOGON, None),
            Credentials::SysdbaPassword { user, password } => (user.as_str(), password.as_str(), sysdba, None),
            Credentials::Change { user, password, new_password } => {
                (user.as_str(), password.as_str(), 0, Some(new_password.as_str()))
            }
        };
        let session = NetSession::by_route(route, &UserLogon { user, password, mode, new, options })?;
        let stream = session.wire.stream.another().map_err(|e| ClientError::Disconnected(e.to_string()))?;
        let breaks =
            Breaks { stream: Mutex::new(stream), in_call: AtomicBool::new(false), is_sent: AtomicBool::new(false) };
        let mut remote = Remote {
            session,
            open: HashMap::new(),
            schema: String::new(),
            nls: Nls::default(),
            breaks: Arc::new(breaks),
        };
        let banner = remote.banner()?;
        let user = remote.learn_state()?;
        let said = |key: &str| remote.session.welcome.get(key).unwrap_or_default().to_string();
        let number = |key: &str| said(key).parse().unwrap_or(0);
        let welcome = Welcome {
            version: local::PROTOCOL_VERSION,
            sid: number("AUTH_SESSION_ID"),
            serial: number("AUTH_SERIAL_NUM"),
            server_process: number("AUTH_SERVER_PID"),
            cancel_key: 0,
            user,
            instance: said("AUTH_INSTANCENAME"),
            database: said("AUTH_DBNAME"),
            banner,
            warning: remote.session.warning().unwrap_or_default().to_string(),
        };
        Ok((remote, welcome))
    }

    pub(crate) fn breaks(&self) -> Arc<Breaks> {
        Arc::clone(&self.breaks)
    }

    /// Makes a call given as a local packet.
    pub(crate) fn call(&mut self, request: &Request, output: &mut Vec<Option<String>>) -> ClientResult<Outcome> {
        match request {
            Request::Execute(e) => {
                let ran = self.execute(e);
                let goes_on = ran.as_ref().map_or_else(|e| !e.is_fatal(), |_| true);
                if e.want_output && goes_on {
                    let lines = self.take_lines()?;
                    output.extend(lines);
                }
                ran
            }
            Request::Describe { sql } => self.describe(sql),
            Request::Fetch { cursor, rows } => self.fetch(*cursor, (*rows).max(1)),
            Request::CloseCursor { cursor } => {
                self.close(*cursor);
                Ok(self.outcome(Done::default()))
            }
            Request::Logoff { commit } => {
                if !commit {
                    self.one(|s| s.simple(function::ROLLBACK))?;
                }
                self.one(|s| s.simple(function::LOGOFF))?;
                let mut out = Vec::new();
                packets::write_end(&mut out);
                // The server may have closed its side already.
                let _ = self.session.wire.send(&out);
                Ok(self.outcome(Done::default()))
            }
            Request::ExecuteMany { .. }
            | Request::Logon(_)
            | Request::Cancel { .. }
            | Request::Diagnose
            | Request::Listener(_) => Err(tns(3001, "over the network")),
        }
    }

    fn outcome(&self, done: Done) -> Outcome {
        let done = Done { schema: self.schema.clone(), ..done };
        Outcome { done, output: Vec::new(), columns: Vec::new(), rows: Vec::new(), cursor: 0 }
    }

    /// Makes one call. The answer to a break that was sent for it, or for the previous call, is read after it.
    fn one<T>(&mut self, call: impl FnOnce(&mut NetSession) -> ClientResult<T>) -> ClientResult<T> {
        self.settle(false)?;
        self.session.wire.was_reset = false;
        self.breaks.in_call.store(true, Ordering::SeqCst);
        let made = call(&mut self.session);
        self.breaks.in_call.store(false, Ordering::SeqCst);
        let is_broken = made.as_ref().err().is_some_and(|e| e.code() == BROKEN);
        if made.as_ref().err().is_none_or(|e| !e.is_fatal()) {
            self.settle(is_broken && self.session.wire.was_reset)?;
        }
        made
    }

    /// Reads the answer to a break, unless the broken call has answered it.
    fn settle(&mut self, is_answered: bool) -> ClientResult<()> {
        if is_answered {
            self.breaks.is_sent.store(false, Ordering::SeqCst);
        }
        if self.breaks.is_sent.load(Ordering::SeqCst) {
            self.session.wire.message(|r| reply::read_answer(r, &[], Dialect::USUAL))?;
            self.breaks.is_sent.store(false, Ordering::SeqCst);
        }
        Ok(())
    }

    fn ask(&mut self, message: &[u8], columns: &[Column], sent: Option<&Sent>) -> ClientResult<Answer> {
        self.one(|session| {
            session.wire.send_message(message)?;
            let (shapes, returns) = sent.map_or((&[][..], false), |s| (&s.shapes, s.rules.returning.contains(&true)));
            let read = |r: &mut Reader<'_>| reply::read_answer_to(r, columns, shapes, returns, Dialect::USUAL);
            let answer = session.wire.message(read)?;
            failed(&answer.outcome).map_or(Ok(answer), Err)
        })
    }

    fn execute(&mut self, e: &local::Execute) -> ClientResult<Outcome> {
        let text = Text::of(&e.sql);
        let sent = sent(&text, &e.binds)?;
        let mut options = option::PARSE | option::EXECUTE;
        if text.is_query {
            options |= option::FETCH;
        }
        options |= match (text.is_block, sent.shapes.is_empty()) {
            (false, true) => option::NOT_A_BLOCK,
            (false, false) => option::NOT_A_BLOCK | option::BIND,
            (true, true) => 0,
            (true, false) => option::BLOCK_BIND | option::BIND,
        };
        let execute = Execute {
            options,
            sql: Some(e.sql.clone()),
            prefetch: e.prefetch.max(1),
            binds: sent.shapes.clone(),
            count: u32::from(!text.is_query),
            is_query: text.is_query,
            flags: execute_flag::IMPLICIT_RESULTS,
            ..Execute::default()
        };
        let mut message = std::mem::take(&mut self.session.before);
        let sequence = self.session.next();
        execute.write_by(&sent.rules, sequence, &sent.values, &mut message).map_err(ClientError::Protocol)?;
        let mut answer = self.ask(&message, &[], Some(&sent))?;
        let mut outcome = self.told(&mut answer);
        let got = answer.got.drain(..).map(|(at, v)| match v {
            // A cursor that is not open.
            Value::Number(n) if n.is_zero() && sent.shapes[at].is_cursor() => (sent.of[at] as u16, Value::Null),
            v => (sent.of[at] as u16, v),
        });
        outcome.done.out = got.collect();
        let mut cursors = std::mem::take(&mut answer.cursors);
        if text.is_block {
            self.take_cursors(std::mem::take(&mut cursors), &mut outcome.done);
        }
        let cursor = u32::from(answer.outcome.cursor);
        match answer.columns {
            Some(columns) if text.is_query => {
                outcome.columns = self.columns(&columns, &outcome.rows, cursors);
                outcome.cursor = cursor;
                // The owner of the cursor must close the cursors in its rows.
                if outcome.done.more || columns.iter().any(|c| c.shape.is_cursor()) {
                    self.open.insert(cursor, columns);
                } else {
                    self.close(cursor);
                }
            }
            _ => self.close(cursor),
        }
        if outcome.done.kind == StatementKind::ALTER_SESSION {
            self.learn_state()?;
            outcome.done.schema.clone_from(&self.schema);
        }
        Ok(outcome)
    }

    /// The outcome in the answer to a call.
    fn told(&self, answer: &mut Answer) -> Outcome {
        let o = &answer.outcome;
        let kind = StatementKind(o.command.into());
        let with_errors = || {
            let text = Ora::new(WITH_ERRORS).to_string();
            Failure { facility: "ORA".into(), code: WITH_ERRORS, text, kind, ..Failure::default() }
        };
        let done = Done {
            kind,
            rows: o.rows,
            more: kind == StatementKind::SELECT && o.error != NO_DATA_FOUND,
            warning: (o.warning & COMPILED_WITH_ERRORS != 0).then(with_errors),
            in_transaction: o.status & status::IN_TRANSACTION != 0,
            ..Done::default()
        };
        Outcome { rows: std::mem::take(&mut answer.rows), ..self.outcome(done) }
    }

    /// Notes the cursors that a block has left: binds and implicit results.
    fn take_cursors(&mut self, cursors: Vec<(u16, Vec<Column>)>, done: &mut Done) {
        for (number, columns) in cursors.into_iter().filter(|(number, _)| *number != 0) {
            let value = Value::Number(Number::from_u64(number.into()));
            if !done.out.iter().any(|(_, v)| *v == value) {
                done.results.push(number.into());
            }
            done.cursors.push((number.into(), columns.iter().map(|c| self.column(c)).collect()));
            self.open.insert(number.into(), columns);
        }
    }

    /// The columns of a query, with those of the cursors in its rows, which are noted.
    fn columns(
        &mut self,
        columns: &[Column],
        rows: &[Vec<Value>],
        cursors: Vec<(u16, Vec<Column>)>,
    ) -> Vec<local::Column> {
        let mut all: Vec<local::Column> = columns.iter().map(|c| self.column(c)).collect();
        for (at, column) in all.iter_mut().enumerate().filter(|(at, _)| columns[*at].shape.is_cursor()) {
            let is_first =
                |number: u16| rows.first().is_some_and(|row| row[at] == Value::Number(Number::from_u64(number.into())));
            if let Some((_, nested)) = cursors.iter().find(|(number, _)| is_first(*number)) {
                column.nested = nested.iter().map(|c| self.column(c)).collect();
            }
        }
        for (number, columns) in cursors {
            self.open.insert(number.into(), columns);
        }
        all
    }

    fn column(&self, column: &Column) -> local::Column {
        let data_type = column.shape.column_type();
        let display_size = data_type.display_size(&self.nls);
        local::Column {
            name: column.name.clone(),
            data_type,
            nullable: column.nullable,
            display_size,
            nested: Vec::new(),
        }
    }

    fn fetch(&mut self, cursor: u32, rows: u32) -> ClientResult<Outcome> {
        let Some(columns) = self.open.remove(&cursor) else {
            return Err(ClientError::Server(Box::new(own_failure(1001))));
        };
        let mut message = std::mem::take(&mut self.session.before);
        let sequence = self.session.next();
        call::write_fetch(cursor, rows, sequence, &mut message);
        let answer = self.ask(&message, &columns, None);
        let mut answer = match answer {
            Ok(answer) => answer,
            Err(e) => {
                self.close(cursor);
                return Err(e);
            }
        };
        let mut outcome = self.told(&mut answer);
        outcome.done.kind = StatementKind::SELECT;
        outcome.done.more = answer.outcome.error != NO_DATA_FOUND;
        outcome.cursor = cursor;
        outcome.columns = self.columns(&columns, &outcome.rows, std::mem::take(&mut answer.cursors));
        if outcome.done.more || columns.iter().any(|c| c.shape.is_cursor()) {
            self.open.insert(cursor, columns);
        } else {
            self.close(cursor);
        }
        Ok(outcome)
    }

    fn describe(&mut self, sql: &str) -> ClientResult<Outcome> {
        let options = option::PARSE | option::DESCRIBE_ONLY | option::NOT_A_BLOCK;
        let execute = Execute { options, sql: Some(sql.into()), is_query: true, ..Execute::default() };
        let mut message = std::mem::take(&mut self.session.before);
        let sequence = self.session.next();
        execute.write(sequence, &[], &mut message).map_err(ClientError::Protocol)?;
        let mut answer = self.ask(&message, &[], None)?;
        let columns = answer.columns.take().unwrap_or_default();
        let mut outcome = self.told(&mut answer);
        outcome.done.more = false;
        outcome.columns = columns.iter().map(|c| self.column(c)).collect();
        self.close(answer.outcome.cursor.into());
        Ok(outcome)
    }

    /// Closes a cursor; the message is sent with the next call.
    fn close(&mut self, cursor: u32) {
        self.open.remove(&cursor);
        if cursor != 0 {
            call::write_close_cursor(cursor, &mut self.session.before);
        }
    }

    /// The name and version of the server.
    fn banner(&mut self) -> ClientResult<String> {
        let sequence = self.session.next();
        let mut message = Vec::new();
        call::write_simple(function::VERSION, sequence, &mut message);
        let mut w = Writer::new(&mut message);
        w.u8(1);
        w.number(256u32);
        w.raw(&[1, 1]);
        w.number(1u32);
        self.one(|session| {
            session.wire.send_message(&message)?;
            session.wire.message(|r| {
                let mut banner = String::new();
                if r.left().first() == Some(&message::PARAMETERS) {
                    r.skip(1)?;
                    let len = r.ub2()?.into();
                    banner = Dialect::USUAL.read_text(r, len)?;
                    r.ub4()?;
                }
                reply::read_answer(r, &[], Dialect::USUAL)?;
                Ok(banner)
            })
        })
    }

    /// Reads the state of the session; returns its user.
    fn learn_state(&mut self) -> ClientResult<String> {
        let execute = local::Execute {
            sql: STATE.into(),
            binds: Vec::new(),
            prefetch: 2,
            want_output: false,
            tables: Vec::new(),
        };
        let rows = self.execute(&execute)?.rows;
        let text = |at: usize| match rows.first().and_then(|row| row.get(at)) {
            Some(Value::Text(text)) => text.to_string(),
            _ => String::new(),
        };
        self.schema = text(1);
        self.nls.date_format = text(2);
        Ok(text(0))
    }

    /// Reads the lines of `dbms_output`.
    fn take_lines(&mut self) -> ClientResult<Vec<Option<String>>> {
        let long = DataType::Varchar2 { len: 32767, unit: LenUnit::Byte };
        let named = |name: &str, data_type| Bind::named(name, data_type, Value::Null);
        let binds = vec![named("MORE", DataType::NUMBER), named("ONE", long), named("LINES", long)];
        let execute =
            local::Execute { sql: TAKE_LINES.into(), binds, prefetch: 0, want_output: false, tables: Vec::new() };
        let mut lines = Vec::new();
        loop {
            let got = self.execute(&execute)?.done.out;
            let value = |at: u16| got.iter().find(|(place, _)| *place == at).map(|(_, v)| v);
            if let Some(Value::Text(packed)) = value(2) {
                unpack(packed, &mut lines).ok_or(ClientError::Protocol(WireError::BadValue))?;
            }
            match value(0) {
                Some(Value::Number(n)) if n.to_i64().is_ok_and(|n| n == 1) => {}
                _ => return Ok(lines),
            }
            lines.push(match value(1) {
                Some(Value::Text(line)) => Some(line.to_string()),
                _ => None,
            });
        }
    }
}

fn unpack(mut packed: &str, lines: &mut Vec<Option<String>>) -> Option<()> {
    while !packed.is_empty() {
        let (len, rest) = packed.split_once(':')?;
        let len: i64 = len.trim().parse().ok()?;
        let len = usize::try_from(len).ok();
        lines.push(match len {
            Some(len) => Some(rest.get(..len)?.to_string()),
            None => None,
        });
        packed = rest.get(len.unwrap_or(0)..)?;
    }
    Some(())
}

fn own_failure(code: u32) -> Failure {
    Failure { facility: "ORA".into(), code, text: Ora::new(code).to_string(), ..Failure::default() }
}

/// The binds of a text in the order of sending: in a block each name once, in SQL every occurrence.
fn sent(text: &Text, binds: &[Bind]) -> ClientResult<Sent> {
    let mut sent = Sent {
        shapes: Vec::new(),
        values: Vec::new(),
        rules: BindRules { is_block: text.is_block, ..BindRules::default() },
        of: Vec::new(),
    };
    let named = binds.iter().any(|bind| bind.name.is_some());
    let mut add = |at: usize, is_target: bool| -> ClientResult<()> {
        let bind = &binds[at];
        let shape = value::of_type(&bind.data_type).filter(value::is_bindable).map(Shape::bound);
        sent.shapes.push(shape.ok_or_else(|| ClientError::Server(Box::new(own_failure(3115))))?);
        let has_value = bind.direction != Direction::Out && !is_target;
        sent.values.push(if has_value { bind.value.clone() } else { Value::Null });
        sent.rules.returning.push(is_target);
        sent.of.push(at);
        Ok(())
    };
    if !named {
        for at in 0..binds.len() {
            let is_target = text.places.get(at).is_some_and(|(_, is_target)| *is_target);
            add(at, is_target && !text.is_block)?;
        }
        return Ok(sent);
    }
    let mut seen: Vec<&str> = Vec::new();
    for (name, is_target) in &text.places {
        if text.is_block {
            if seen.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                continue;
            }
            seen.push(name);
        }
        let is_same = |bind: &Bind| bind.name.as_deref().is_some_and(|n| n.eq_ignore_ascii_case(name));
        // Without a value the server reports the bind.
        if let Some(at) = binds.iter().position(is_same) {
            add(at, *is_target && !text.is_block)?;
        }
    }
    Ok(sent)
}

/// The parts of a statement's text that a client needs.
#[derive(Debug, Default, PartialEq, Eq)]
struct Text {
    is_query: bool,
    is_block: bool,
    /// The binds in text order, each with a flag for RETURNING.
    places: Vec<(String, bool)>,
}

impl Text {
    fn of(sql: &str) -> Text {
        let mut text = Text::default();
        let bytes = sql.as_bytes();
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '#');
        let (mut at, mut first, mut returns, mut is_target) = (0, true, false, false);
        while at < bytes.len() {
            let rest = &sql[at..];
            let find = |from: usize, end: &str| rest[from..].find(end).map_or(rest.len(), |n| from + n + end.len());
            let quoted = |marks: usize| {
                let open = rest[marks + 1..].chars().next().unwrap_or('\'');
                let close = match open {
                    '[' => ']',
                    '(' => ')',
                    '{' => '}',
                    '<' => '>',
                    other => other,
                };
                find(marks + 1 + open.len_utf8(), &format!("{close}'"))
            };
            at += match bytes[at] {
                b'-' if rest.starts_with("--") => find(2, "\n"),
                b'/' if rest.starts_with("/*") => find(2, "*/"),
                b'q' | b'Q' if bytes.get(at + 1) == Some(&b'\'') => quoted(1),
                b'n' | b'N' if rest.len() > 2 && rest[1..].starts_with(['q', 'Q']) && bytes[at + 2] == b'\'' => {
                    quoted(2)
                }
                b'\'' => find(1, "'"),
                b'"' => find(1, "\""),
                b':' if rest[1..].starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '"') => {
                    let (skip, end) = match rest[1..].strip_prefix('"') {
                        Some(inside) => (2, 2 + inside.find('"').unwrap_or(inside.len())),
                        None => (1, 1 + rest[1..].find(|c| !is_word(c)).unwrap_or(rest.len() - 1)),
                    };
                    text.places.push((rest[skip..end].to_string(), is_target));
                    end + usize::from(skip == 2 && end < rest.len())
                }
                b'(' if first => 1,
                _ if rest.starts_with(is_word) => {
                    let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                    let word = rest[..end].to_ascii_lowercase();
                    if first {
                        text.is_query = matches!(word.as_str(), "select" | "with");
                        text.is_block = matches!(word.as_str(), "begin" | "declare" | "call");
                        first = false;
                        if word == "create" {
                            // Colons in the text of a unit do not mark binds.
                            return text;
                        }
                    }
                    returns |= matches!(word.as_str(), "returning" | "return");
                    is_target |= returns && word == "into";
                    end
                }
                b'<' if first => {
                    (text.is_block, first) = (true, false);
                    1
                }
                _ => rest.chars().next().map_or(1, char::len_utf8),
            };
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_and_binds_are_read_from_the_text() {
        let text = |sql: &str| {
            let Text { is_query, is_block, places } = Text::of(sql);
            let places: Vec<String> = places.iter().map(|(n, t)| format!("{n}{}", if *t { "!" } else { "" })).collect();
            (is_query, is_block, places.join(" "))
        };
        let is = |sql: &str, query: bool, block: bool, places: &str| {
            assert_eq!(text(sql), (query, block, places.to_string()), "{sql}");
        };
        is(
            "/* :x */ ( select ':y', q'[:z']', :a, :a -- :b\n from t where d = to_date(:c, 'hh24:mi')",
            true,
            false,
            "a a c",
        );
        is("with x as (select 1 n from dual) select \":q\" from x where n = :1", true, false, "1");
        is("begin :x := f(:y); :x := :\"Z\"; end;", false, true, "x y x Z");
        is("<<l>> begin null; end;", false, true, "");
        is("update t set a = :a where b = :b returning a, b into :a, :c", false, false, "a b a! c!");
        is("create trigger t before insert on x begin :new.a := 1; end;", false, false, "");
        is("delete t where x = nq'!:a!' or y = :é1", false, false, "é1");
        is("", false, false, "");
    }

    #[test]
    fn lines_of_dbms_output_survive_encoding() {
        let mut lines = Vec::new();
        unpack("2:ab-1:3:a:b0:", &mut lines).unwrap();
        assert_eq!(lines, [Some("ab".into()), None, Some("a:b".into()), Some(String::new())]);
        for bad in ["x", "5:ab", "1", ":", "2:é", "1:é"] {
            let whole = unpack(bad, &mut Vec::new());
            assert_eq!(whole.is_some(), bad == "2:é", "{bad}");
        }
    }
}
