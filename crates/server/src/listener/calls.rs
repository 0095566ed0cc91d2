//! The session as the calls of its client use it: its packets, the client's statements and locators.

use super::cursors::{Cursors, Statement};
use super::locators::Locators;
use instance::Instance;
use net::local::{self, Bind, Done, Executed, Failure, FrameBuffer, Reply, Request as Ask, TableBind};
use net::oracle::handshake::Client;
use net::oracle::o5logon::SessionKey;
use net::oracle::reply::{self, NO_DATA_FOUND, Outcome, status};
use session::{Flow, Session};
use txn::GlobalId;
use types::{Ora, Value};

/// A warning: a unit was created with compilation errors.
const COMPILED_WITH_ERRORS: u32 = 24344;

/// The session's answer to a call.
#[derive(Default)]
pub(super) struct SessionAnswer {
    pub(super) described: Option<(u32, Vec<local::Column>)>,
    pub(super) rows: Vec<Vec<Value>>,
    pub(super) done: Done,
    /// The result of an array.
    pub(super) executed: Executed,
    pub(super) errors: Vec<(u32, Failure)>,
    pub(super) returned: Vec<(u32, Vec<(u16, Value)>)>,
    /// The error after all other parts.
    pub(super) failure: Option<Box<Failure>>,
}

/// The error of a call.
pub(super) enum CallError {
    /// An error of the session.
    Session(Box<Failure>),
    /// An error of the session that ended an array, with the result so far.
    Array(Box<Failure>, Executed),
    Own(Ora),
}

impl From<Ora> for CallError {
    fn from(e: Ora) -> CallError {
        CallError::Own(e)
    }
}

impl From<local::WireError> for CallError {
    fn from(_: local::WireError) -> CallError {
        CallError::Own(Ora::new(3115))
    }
}

pub(super) type CallResult<T> = std::result::Result<T, CallError>;

/// A session, and the statements to which its client has assigned numbers.
pub struct Calls {
    pub(super) instance: &'static Instance,
    pub(super) session: Session,
    pub(super) client: Client,
    /// The key with which the client encrypts passwords.
    pub(super) key: SessionKey,
    pub(super) cursors: Cursors,
    pub(super) lobs: Locators,
    /// The session has ended.
    pub(super) is_over: bool,
    /// The sessionless transaction that the client believes to be in.
    pub(super) told: Option<(GlobalId, bool)>,
    /// The client believes to be in a transaction that it could not enter.
    pub(super) is_misled: bool,
    /// The present call leaves the transaction if it succeeds.
    pub(super) leaves_behind: bool,
}

impl Calls {
    /// The calls of a new session.
    pub fn new(instance: &'static Instance, session: Session, client: Client, key: SessionKey) -> Calls {
        let cursors = Cursors::new(session.parameter(params::Param::OpenCursors));
        Calls {
            instance,
            session,
            client,
            key,
            cursors,
            lobs: Locators::default(),
            is_over: false,
            told: None,
            is_misled: false,
            leaves_behind: false,
        }
    }

    /// The session.
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Ends the session.
    pub fn end(self) {
        self.session.end();
    }

    /// Closes all statements and returns the session.
    pub fn into_session(mut self) -> Session {
        for open in self.cursors.take_open() {
            self.close_query(Some(open));
        }
        self.session.forget_statements();
        self.session
    }

    /// The statement of a cursor; it tells how bind values are sent that a call does not describe.
    pub fn known(&self, cursor: u32) -> Option<&Statement> {
        self.cursors.binds(cursor)
    }

    pub(super) fn close_query(&mut self, open: Option<u32>) {
        if let Some(cursor) = open {
            let _ = self.ask(&Ask::CloseCursor { cursor });
        }
    }

    /// Calls the session, and reads its packets.
    pub(super) fn ask(&mut self, request: &Ask) -> CallResult<SessionAnswer> {
        let mut bytes = Vec::new();
        let flow = self.session.call(request, &mut bytes);
        let said = self.hear(flow, &bytes)?;
        match said.failure {
            Some(failure) => Err(CallError::Session(failure)),
            None => Ok(said),
        }
    }

    /// Reads the packets of the session.
    pub(super) fn hear(&mut self, flow: Flow, bytes: &[u8]) -> CallResult<SessionAnswer> {
        self.is_over |= flow == Flow::End;
        let mut frames = FrameBuffer::new(usize::MAX);
        frames.extend(bytes);
        let mut said = SessionAnswer::default();
        loop {
            let Some(frame) = frames.next_frame().map_err(Ora::internal)? else { return Ok(said) };
            match Reply::decode(frame).map_err(Ora::internal)? {
                Reply::Described { cursor, columns } => said.described = Some((cursor, columns)),
                Reply::Rows { rows, .. } if said.rows.is_empty() => said.rows = rows,
                Reply::Rows { rows, .. } => said.rows.extend(rows),
                Reply::Done(done) => said.done = *done,
                Reply::Error(failure) => said.failure = Some(failure),
                Reply::Executed(executed) => said.executed = executed,
                Reply::Refused { errors } => said.errors.extend(errors),
                Reply::Returned { execution, values } => said.returned.push((execution, values)),
                Reply::Welcome(_) | Reply::Output { .. } => {}
            }
        }
    }

    fn ask_to_execute(&mut self, sql: &str, binds: Vec<Bind>, prefetch: u32) -> CallResult<(SessionAnswer, Vec<Bind>)> {
        self.ask_to_execute_with(sql, binds, Vec::new(), prefetch)
    }

    pub(super) fn ask_to_execute_with(
        &mut self,
        sql: &str,
        binds: Vec<Bind>,
        tables: Vec<TableBind>,
        prefetch: u32,
    ) -> CallResult<(SessionAnswer, Vec<Bind>)> {
        let execute = local::Execute { sql: sql.to_string(), binds, prefetch, want_output: false, tables };
        let request = Ask::Execute(Box::new(execute));
        let said = self.ask(&request)?;
        match request {
            Ask::Execute(e) => Ok((said, e.binds)),
            _ => Ok((said, Vec::new())),
        }
    }

    /// Commits as a part of the call that has just run.
    pub(super) fn commit_on_success(&mut self) -> CallResult<()> {
        self.session.goes_on();
        self.run("commit")
    }

    /// Runs a statement without binds.
    pub(super) fn run(&mut self, sql: &str) -> CallResult<()> {
        self.ask_to_execute(sql, Vec::new(), 0).map(drop)
    }

    pub(super) fn status(&self) -> u32 {
        let in_transaction = if self.session.is_in_transaction() { status::IN_TRANSACTION } else { 0 };
        status::END_OF_CALL | in_transaction
    }

    /// The outcome of a fetch: more rows may follow, or the rows have ended.
    pub(super) fn rows_end(&mut self, number: u16, more: bool, sequence: u8) -> Outcome {
        let status = self.status();
        let mut outcome = Outcome { status, sequence, cursor: number, command: 3, ..Outcome::default() };
        if let Ok(statement) = self.cursors.get(number.into()) {
            outcome.rows = statement.rows;
        }
        if !more {
            outcome.error = NO_DATA_FOUND;
            outcome.message = Ora::new(NO_DATA_FOUND).to_string();
        }
        outcome
    }

    pub(super) fn scn(&self) -> u64 {
        self.instance.current_scn().0
    }

    pub(super) fn succeeded(&self, done: &Done, cursor: u16, sequence: u8) -> Outcome {
        let warns = done.warning.as_ref().is_some_and(|w| w.code == COMPILED_WITH_ERRORS);
        Outcome {
            status: self.status(),
            sequence,
            cursor,
            command: done.kind.0 as u8,
            warning: if warns { reply::COMPILED_WITH_ERRORS } else { 0 },
            rowid: self.session.last_row(),
            rows: done.rows,
            ..Outcome::default()
        }
    }
}
