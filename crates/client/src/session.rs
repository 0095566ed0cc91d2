//! A session: one connection to one server process.

use crate::connection::Connection;
use crate::error::{ClientError, ClientResult};
use crate::names::Route;
use crate::options::{ConnectOptions, Credentials};
use crate::outcome::{Outcome, Part};
use crate::remote::{Breaks, Remote};
use net::local::{
    Bind, Column, Done, Execute, Failure, ListenerWord, Logon, PROTOCOL_VERSION, Reply, Request, Welcome,
};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use types::Value;

/// Default number of rows of a fetch; SQL*Plus's `ARRAYSIZE` is 15.
const DEFAULT_FETCH_SIZE: u32 = 100;

/// The transport of a session's calls.
enum Line {
    Local(Connection),
    Net(Box<Remote>),
}

/// A session.
pub struct Client {
    line: Line,
    welcome: Welcome,
    dir: PathBuf,
    want_output: bool,
    fetch_size: u32,
    output: Vec<Option<String>>,
    /// The session is over: every call answers ORA-03114 (invariant 2).
    closed: bool,
    in_transaction: bool,
    schema: String,
    /// The number of breaks that handles have sent or tried to send.
    breaks: Arc<AtomicU64>,
    /// Number of the call that was sent last over the local socket.
    calls: Arc<AtomicU64>,
}

impl Client {
    /// Connects to the instance whose database is in `dir`.
    ///
    /// # Errors
    /// [`ClientError::NotRunning`] when no instance listens there; the server's refusal (ORA-01017, ORA-00020, …).
    pub fn connect(dir: &Path, credentials: &Credentials) -> ClientResult<Client> {
        Self::connect_with(dir, credentials, &ConnectOptions::default())
    }

    /// The sessions of the instance in `dir` that wait for one another, as lines of text. It opens no session, so it
    /// works when no logon is possible.
    ///
    /// # Errors
    /// [`ClientError::NotRunning`]; ORA-01031 for a user that does not own the instance.
    pub fn diagnose(dir: &Path) -> ClientResult<Vec<String>> {
        let mut connection = Connection::open(dir)?;
        connection.send(&Request::Diagnose)?;
        match connection.receive()? {
            Reply::Output { lines } => Ok(lines.into_iter().map(Option::unwrap_or_default).collect()),
            Reply::Error(f) => Err(ClientError::Server(f)),
            other => Err(unexpected(&other)),
        }
    }

    /// Sends a request to the listener of the instance in `dir`, and returns its answer.
    ///
    /// # Errors
    /// [`ClientError::NotRunning`]; TNS-12541 when it does not listen; ORA-01031 for a user that does not own the
    /// instance.
    pub fn ask_listener(dir: &Path, word: ListenerWord) -> ClientResult<Vec<String>> {
        let mut connection = Connection::open(dir)?;
        connection.send(&Request::Listener(word))?;
        match connection.receive()? {
            Reply::Output { lines } => Ok(lines.into_iter().map(Option::unwrap_or_default).collect()),
            Reply::Error(f) => Err(ClientError::Server(f)),
            other => Err(unexpected(&other)),
        }
    }

    /// Connects, with the client's description for `v$session`.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub fn connect_with(dir: &Path, credentials: &Credentials, options: &ConnectOptions) -> ClientResult<Client> {
        let mut connection = Connection::open(dir)?;
        connection.send(&Request::Logon(Box::new(logon(credentials, options))))?;
        let welcome = match connection.receive()? {
            Reply::Welcome(w) => *w,
            Reply::Error(f) => return Err(ClientError::Server(f)),
            other => return Err(unexpected(&other)),
        };
        Ok(Client::of(Line::Local(connection), welcome, dir))
    }

    /// Connects over the network.
    ///
    /// # Errors
    /// ORA-12541 and the like without a listener; the listener's refusal (ORA-12514, …); the server's (ORA-01017, …).
    pub fn connect_net(route: &Route, credentials: &Credentials, options: &ConnectOptions) -> ClientResult<Client> {
        let (remote, welcome) = Remote::connect(route, credentials, options)?;
        Ok(Client::of(Line::Net(Box::new(remote)), welcome, Path::new("")))
    }

    fn of(line: Line, welcome: Welcome, dir: &Path) -> Client {
        Client {
            line,
            schema: welcome.user.clone(),
            welcome,
            dir: dir.to_path_buf(),
            want_output: false,
            fetch_size: DEFAULT_FETCH_SIZE,
            output: Vec::new(),
            closed: false,
            in_transaction: false,
            breaks: Arc::default(),
            calls: Arc::default(),
        }
    }

    /// Runs any statement. A query's first rows come with the outcome; [`Client::fetch`] gets more.
    ///
    /// # Errors
    /// The server's error. The lines of `dbms_output` written before it are kept for [`Client::take_output`].
    pub fn execute(&mut self, sql: &str, binds: &[Bind]) -> ClientResult<Outcome> {
        self.execute_prefetch(sql, binds, self.fetch_size)
    }

    /// Runs any statement, and requests `prefetch` rows with the answer.
    ///
    /// # Errors
    /// As [`Client::execute`].
    pub fn execute_prefetch(&mut self, sql: &str, binds: &[Bind], prefetch: u32) -> ClientResult<Outcome> {
        self.call(&Request::Execute(Box::new(Execute {
            sql: sql.to_string(),
            binds: binds.to_vec(),
            prefetch,
            want_output: self.want_output,
            tables: Vec::new(),
        })))
    }

    /// Parses a statement and describes its columns without running it.
    ///
    /// # Errors
    /// The server's error.
    pub fn describe(&mut self, sql: &str) -> ClientResult<Vec<Column>> {
        let sql = sql.to_string();
        Ok(self.call(&Request::Describe { sql })?.columns)
    }

    /// Runs a query and returns its rows one by one.
    ///
    /// # Errors
    /// The server's error.
    pub fn query(&mut self, sql: &str, binds: &[Bind]) -> ClientResult<Query<'_>> {
        let outcome = self.execute(sql, binds)?;
        Ok(Query {
            columns: outcome.columns,
            rows: outcome.rows.into(),
            more: outcome.done.more,
            cursor: outcome.cursor,
            client: self,
        })
    }

    /// Fetches up to `rows` more rows of an open cursor.
    ///
    /// # Errors
    /// The server's error; the cursor is closed by it.
    pub fn fetch(&mut self, cursor: u32, rows: u32) -> ClientResult<Outcome> {
        self.call(&Request::Fetch { cursor, rows })
    }

    /// Closes a cursor that has not been fetched to its end.
    ///
    /// # Errors
    /// [`ClientError::Disconnected`] when the server is gone.
    pub fn close_cursor(&mut self, cursor: u32) -> ClientResult<()> {
        let request = Request::CloseCursor { cursor };
        match &mut self.line {
            Line::Local(connection) => connection.send(&request),
            Line::Net(remote) => remote.call(&request, &mut self.output).map(drop),
        }
    }

    /// Runs `COMMIT`.
    ///
    /// # Errors
    /// The server's error.
    pub fn commit(&mut self) -> ClientResult<()> {
        self.execute("commit", &[]).map(drop)
    }

    /// Runs `ROLLBACK`.
    ///
    /// # Errors
    /// The server's error.
    pub fn rollback(&mut self) -> ClientResult<()> {
        self.execute("rollback", &[]).map(drop)
    }

    /// Ends the session with a commit or rollback. On return the session has released everything.
    ///
    /// # Errors
    /// The server's error from the commit.
    pub fn logoff(mut self, commit: bool) -> ClientResult<()> {
        self.call(&Request::Logoff { commit })?;
        match &mut self.line {
            Line::Local(connection) => connection.wait_for_end(),
            Line::Net(_) => Ok(()),
        }
    }

    /// Whether calls ask for the lines of `dbms_output`.
    pub fn set_want_output(&mut self, on: bool) {
        self.want_output = on;
    }

    /// Sets the number of rows that a call requests.
    pub fn set_fetch_size(&mut self, rows: u32) {
        self.fetch_size = rows.max(1);
    }

    /// The lines of `dbms_output` that came with the last calls.
    pub fn take_output(&mut self) -> Vec<Option<String>> {
        std::mem::take(&mut self.output)
    }

    /// The server's data of the logon: sid, serial#, banner, ….
    pub fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// The warning of a logon that succeeded: ORA-28002.
    pub fn warning(&self) -> Option<&str> {
        Some(self.welcome.warning.as_str()).filter(|text| !text.is_empty())
    }

    /// The session's number.
    pub fn sid(&self) -> u32 {
        self.welcome.sid
    }

    /// Whether a transaction is open, as of the last call.
    pub fn in_transaction(&self) -> bool {
        self.in_transaction
    }

    /// The current schema, as of the last call.
    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// Whether the session is over.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// The directory of the instance; empty for one on the network.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A handle by which another thread breaks the call in flight (Ctrl-C).
    pub fn break_handle(&self) -> BreakHandle {
        BreakHandle {
            way: match &self.line {
                Line::Local(_) => BreakWay::Local {
                    dir: self.dir.clone(),
                    sid: self.welcome.sid,
                    serial: self.welcome.serial,
                    key: self.welcome.cancel_key,
                    calls: self.calls.clone(),
                },
                Line::Net(remote) => BreakWay::Net(remote.breaks()),
            },
            breaks: self.breaks.clone(),
        }
    }

    pub(crate) fn breaks(&self) -> u64 {
        self.breaks.load(Ordering::Relaxed)
    }

    pub(crate) fn wants_output(&self) -> bool {
        self.want_output
    }

    fn call(&mut self, request: &Request) -> ClientResult<Outcome> {
        self.call_many(request, &mut Part::default())
    }

    pub(crate) fn call_many(&mut self, request: &Request, part: &mut Part) -> ClientResult<Outcome> {
        if self.closed {
            return Err(not_connected());
        }
        let outcome = self.exchange(request, part);
        match &outcome {
            Ok(o) => {
                self.in_transaction = o.done.in_transaction;
                if !o.done.schema.is_empty() {
                    self.schema.clone_from(&o.done.schema);
                }
            }
            Err(e) => self.closed = e.is_fatal(),
        }
        outcome
    }

    fn exchange(&mut self, request: &Request, part: &mut Part) -> ClientResult<Outcome> {
        let connection = match &mut self.line {
            Line::Local(connection) => connection,
            Line::Net(remote) => {
                return match request {
                    Request::ExecuteMany { array, rows } => remote.call_many(array, rows, &mut self.output, part),
                    request => remote.call(request, &mut self.output),
                };
            }
        };
        self.calls.fetch_add(1, Ordering::Relaxed);
        if let Err(e) = connection.send(request) {
            // A server that ended the session sends the reason before it closes the connection.
            return Err(connection.last_word().unwrap_or(e));
        }
        let mut outcome =
            Outcome { done: Done::default(), output: Vec::new(), columns: Vec::new(), rows: Vec::new(), cursor: 0 };
        loop {
            match connection.receive()? {
                Reply::Described { cursor, columns } => {
                    outcome.cursor = cursor;
                    outcome.columns = columns;
                }
                Reply::Rows { mut rows, .. } => {
                    rows.iter_mut().flatten().for_each(Value::make_content);
                    outcome.rows.extend(rows);
                }
                Reply::Output { lines } => {
                    self.output.extend(lines.iter().cloned());
                    outcome.output.extend(lines);
                }
                Reply::Returned { execution, mut values } => {
                    values.iter_mut().for_each(|(_, value)| value.make_content());
                    part.returned.push((execution, values));
                }
                Reply::Refused { errors } => part.errors.extend(errors),
                Reply::Executed(executed) => part.executed = executed,
                Reply::Done(done) => {
                    outcome.done = *done;
                    outcome.done.out.iter_mut().for_each(|(_, value)| value.make_content());
                    return Ok(outcome);
                }
                Reply::Error(f) => return Err(ClientError::Server(f)),
                other @ Reply::Welcome(_) => return Err(unexpected(&other)),
            }
        }
    }
}

/// The rows of a query, fetched as needed.
pub struct Query<'a> {
    client: &'a mut Client,
    columns: Vec<Column>,
    rows: VecDeque<Vec<Value>>,
    more: bool,
    cursor: u32,
}

impl Query<'_> {
    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The next row, or `None` at the end.
    ///
    /// # Errors
    /// The server's error of the fetch.
    pub fn next_row(&mut self) -> ClientResult<Option<Vec<Value>>> {
        while self.rows.is_empty() && self.more {
            self.more = false;
            let outcome = self.client.fetch(self.cursor, self.client.fetch_size)?;
            self.rows = outcome.rows.into();
            self.more = outcome.done.more;
        }
        Ok(self.rows.pop_front())
    }

    /// All remaining rows.
    ///
    /// # Errors
    /// As [`Query::next_row`].
    pub fn all(mut self) -> ClientResult<Vec<Vec<Value>>> {
        let mut all = Vec::new();
        while let Some(row) = self.next_row()? {
            all.push(row);
        }
        Ok(all)
    }
}

impl Iterator for Query<'_> {
    type Item = ClientResult<Vec<Value>>;
    fn next(&mut self) -> Option<Self::Item> {
        self.next_row().transpose()
    }
}

impl Drop for Query<'_> {
    fn drop(&mut self) {
        if self.more {
            // The next call reports a failure.
            let _ = self.client.close_cursor(self.cursor);
        }
    }
}

/// Breaks the call that a session has in flight; it ends with ORA-01013.
#[derive(Clone, Debug)]
pub struct BreakHandle {
    way: BreakWay,
    breaks: Arc<AtomicU64>,
}

#[derive(Clone, Debug)]
enum BreakWay {
    /// By another connection, which names the session.
    Local { dir: PathBuf, sid: u32, serial: u32, key: u64, calls: Arc<AtomicU64> },
    /// By the session's own connection.
    Net(Arc<Breaks>),
}

impl BreakHandle {
    /// Sends the break. It has no effect when no call is in flight; an array that takes several calls ends after the
    /// present one.
    ///
    /// # Errors
    /// When the instance does not answer.
    pub fn send(&self) -> ClientResult<()> {
        self.breaks.fetch_add(1, Ordering::Relaxed);
        match &self.way {
            BreakWay::Local { dir, sid, serial, key, calls } => {
                // The call that is meant is the present one, not the one that runs when the connection is open.
                let call = calls.load(Ordering::Relaxed);
                let mut connection = Connection::open(dir)?;
                connection.send(&Request::Cancel { sid: *sid, serial: *serial, key: *key, call })?;
                connection.wait_for_end()
            }
            BreakWay::Net(breaks) => breaks.send(),
        }
    }
}

fn logon(credentials: &Credentials, options: &ConnectOptions) -> Logon {
    let (user, password, as_sysdba) = match credentials {
        Credentials::Sysdba => ("", "", true),
        Credentials::OsUser => ("", "", false),
        Credentials::Password { user, password } => (user.as_str(), password.as_str(), false),
        Credentials::SysdbaPassword { user, password } => (user.as_str(), password.as_str(), true),
        Credentials::Change { user, password, .. } => (user.as_str(), password.as_str(), false),
    };
    let new_password = match credentials {
        Credentials::Change { new_password, .. } => new_password.clone(),
        _ => String::new(),
    };
    Logon {
        version: PROTOCOL_VERSION,
        user: user.into(),
        password: password.into(),
        new_password,
        as_sysdba,
        program: options.program.clone(),
        machine: options.machine.clone(),
        terminal: options.terminal.clone(),
        os_user: options.os_user.clone(),
        process_id: std::process::id(),
    }
}

fn not_connected() -> ClientError {
    own(3114, "ORA-03114: not connected to ORACLE", true)
}

/// The error of a call that was broken before it was sent.
pub(crate) fn broken() -> ClientError {
    own(1013, "ORA-01013: user requested cancel of current operation", false)
}

fn own(code: u32, text: &str, fatal: bool) -> ClientError {
    let failure = Failure { facility: "ORA".into(), code, text: text.into(), fatal, ..Failure::default() };
    ClientError::Server(Box::new(failure))
}

fn unexpected(reply: &Reply) -> ClientError {
    let name = match reply {
        Reply::Welcome(_) => "Welcome",
        Reply::Described { .. } => "Described",
        Reply::Rows { .. } => "Rows",
        Reply::Output { .. } => "Output",
        Reply::Returned { .. } => "Returned",
        Reply::Refused { .. } => "Refused",
        Reply::Executed(_) => "Executed",
        Reply::Done(_) => "Done",
        Reply::Error(_) => "Error",
    };
    ClientError::Disconnected(format!("the server answered {name} out of turn"))
}
