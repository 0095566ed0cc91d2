//! The client's calls: translation between Oracle Net and the session's packets.
//!
//! The session speaks the packets of the local socket. This module makes them from a driver's messages, and converts
//! the answers for the driver; Oracle Net is known only in this folder.

use super::answering::Answering;
use super::array::Array;
use super::cursors::{Cursors, Statement};
use super::locators::{Locators, NOW};
use super::logon::VERSION_NUMBER;
use instance::{BANNER, Instance};
use net::local::{self, Bind, Direction, Done, Executed, Failure, FrameBuffer, Reply, Request as Ask, TableBind};
use net::oracle::auth::{Logon, mode};
use net::oracle::call::{EndToEnd, Execute, Piggyback, Reexecute, Request, execute_flag, option};
use net::oracle::global;
use net::oracle::handshake::Client;
use net::oracle::o5logon::SessionKey;
use net::oracle::reply::{self, NO_DATA_FOUND, Outcome, direction, status};
use net::oracle::rows::BindRows;
use net::oracle::value::{self, Shape, Tables};
use session::{Flow, Session};
use std::collections::VecDeque;
use std::mem::take;
use txn::GlobalId;
use types::{Ora, Value};

/// A warning: a unit was created with compilation errors.
const COMPILED_WITH_ERRORS: u32 = 24344;
/// The error of a call that was broken.
const BROKEN: u32 = 1013;

/// The session's answer to a call.
#[derive(Default)]
pub(super) struct Said {
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
pub(super) enum Trouble {
    /// An error of the session.
    Session(Box<Failure>),
    /// An error of the session that ended an array, with the result so far.
    Array(Box<Failure>, Executed),
    Own(Ora),
}

impl From<Ora> for Trouble {
    fn from(e: Ora) -> Trouble {
        Trouble::Own(e)
    }
}

impl From<local::WireError> for Trouble {
    fn from(_: local::WireError) -> Trouble {
        Trouble::Own(Ora::new(3115))
    }
}

pub(super) type Tried<T> = std::result::Result<T, Trouble>;

/// The bind values of a call.
pub enum Values {
    /// The values of one execution, with the PL/SQL tables among them.
    One(Vec<Value>, Tables),
    /// The values of several executions, or of one that is treated like several.
    Many(BindRows),
}

/// The result of a call.
pub struct Answer {
    pub flow: Flow,
    /// The call ended with the error of a break.
    pub is_broken: bool,
    pub has_failed: bool,
}

/// A session, and the statements to which its client has assigned numbers.
pub struct Calls {
    instance: &'static Instance,
    pub(super) session: Session,
    pub(super) client: Client,
    /// The key with which the client encrypts passwords.
    key: SessionKey,
    pub(super) cursors: Cursors,
    pub(super) lobs: Locators,
    /// The session has ended.
    is_over: bool,
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

    /// Runs a call with its bind values and appends the answer.
    pub fn answer(
        &mut self,
        before: Vec<Piggyback>,
        request: Request,
        values: Values,
        sequence: u8,
        out: &mut Answering<'_>,
    ) -> Answer {
        let from = out.len();
        let told = self.told;
        self.leaves_behind = false;
        let mut cursor = 0;
        let tried = self.try_answer(before, request, values, sequence, &mut cursor, out);
        let mut is_broken = false;
        let has_failed = tried.is_err();
        if let Err(trouble) = tried {
            // Rows that have been sent come before the error.
            if !out.has_begun() {
                out.truncate(from);
                self.told = told;
            }
            self.tell_sessionless(out);
            let outcome = self.failed(trouble, sequence, cursor, out);
            is_broken = outcome.error == BROKEN;
            outcome.write(out);
        }
        Answer { flow: if self.is_over { Flow::End } else { Flow::Continue }, is_broken, has_failed }
    }

    fn try_answer(
        &mut self,
        before: Vec<Piggyback>,
        request: Request,
        values: Values,
        sequence: u8,
        cursor: &mut u16,
        out: &mut Answering<'_>,
    ) -> Tried<()> {
        if !matches!(request, Request::Lob(_)) {
            self.lobs.read = None;
        }
        before.into_iter().try_for_each(|p| self.before(p))?;
        self.tell_sessionless(out);
        match request {
            Request::Execute(e) => self.execute(*e, values, sequence, cursor, out),
            Request::Reexecute(e) => self.reexecute(e, values, sequence, cursor, out),
            Request::Fetch { cursor: number, rows } => {
                *cursor = number as u16;
                self.fetch(number, rows, sequence, out)
            }
            Request::Commit => self.simple("commit", sequence, out),
            Request::Rollback => self.simple("rollback", sequence, out),
            Request::Ping => {
                // Connection pools ping to check whether a connection still has its session.
                self.session.release_if_killed();
                if self.session.is_killed() {
                    self.is_over = true;
                    return Err(Ora::new(28).into());
                }
                reply::write_status(out, self.status(), sequence);
                Ok(())
            }
            Request::Logoff => {
                self.ask(&Ask::Logoff { commit: true })?;
                reply::write_status(out, status::END_OF_CALL, sequence);
                Ok(())
            }
            Request::Version => {
                reply::write_version(out, BANNER, VERSION_NUMBER, self.client);
                reply::write_status(out, self.status(), sequence);
                Ok(())
            }
            Request::Describe { cursor: number, sql } => self.describe_text(number, sql, sequence, out),
            Request::DescribeObject { name } => self.describe_object(&name, sequence, out),
            Request::LogonTwo(logon) => {
                self.change_password(&logon)?;
                reply::write_status(out, self.status(), sequence);
                Ok(())
            }
            Request::Lob(call) => self.lob(&call, sequence, out),
            Request::GlobalSwitch(s) => self.switch(&s, sequence, out),
            Request::GlobalRecovered => {
                global::write_recovered(out, self.client);
                self.succeeded(&Done::default(), 0, sequence).write(out);
                Ok(())
            }
            Request::GlobalEnd(e) => self.end_global(&e, sequence, out),
            Request::EndPipeline => {
                reply::write_status(out, self.status(), sequence);
                Ok(())
            }
            // Handled together with the connection.
            Request::LogonOne(_) | Request::ReleaseSession { .. } | Request::Other(_) => Err(Ora::unsupported().into()),
        }
    }

    /// Changes the user's own password at the request of a driver within a session; it is encrypted with the key of the
    /// logon.
    fn change_password(&mut self, logon: &Logon) -> Tried<()> {
        if self.session.process().session().is_pooled() {
            return Err(Ora::new(56609).into());
        }
        let passwords = logon.pairs.get("AUTH_PASSWORD").zip(logon.pairs.get("AUTH_NEWPASSWORD"));
        let (old, new) = passwords
            .filter(|_| logon.mode & (mode::CHANGE_PASSWORD | mode::OTHERS) == mode::CHANGE_PASSWORD)
            .ok_or_else(Ora::unsupported)?;
        if self.session.is_killed() {
            return Err(Ora::new(28).into());
        }
        let old = self.key.password(old).ok_or_else(|| Ora::new(1017))?;
        let new = self.key.new_password(new)?;
        Ok(self.session.change_own_password(&old, &new)?)
    }

    /// Runs the piggybacks before a call that is not supported.
    ///
    /// # Errors
    /// The error of a piggyback that cannot be run.
    pub fn before_refusal(&mut self, before: Vec<Piggyback>) -> types::Result<()> {
        before.into_iter().try_for_each(|p| match self.before(p) {
            Err(Trouble::Own(e)) => Err(e),
            Err(Trouble::Session(f) | Trouble::Array(f, _)) => Err(Ora::new(f.code)),
            Ok(()) => Ok(()),
        })
    }

    fn before(&mut self, piggyback: Piggyback) -> Tried<()> {
        match piggyback {
            Piggyback::CloseCursors(numbers) => {
                for number in numbers {
                    self.close_statement(number);
                }
            }
            Piggyback::CancelCursors(numbers) => {
                for number in numbers {
                    let open = self.cursors.get(number).ok().and_then(|s| s.open.take());
                    self.close_query(open);
                }
            }
            Piggyback::SetSchema(name) => {
                if name.contains(['"', '\0']) {
                    return Err(Ora::new(1435).into());
                }
                self.run(&format!("alter session set current_schema = \"{name}\""))?;
            }
            Piggyback::EndToEnd(known_by) => self.note(&known_by),
            Piggyback::Context(context) => {
                self.session.set_context(&context.namespace, context.clears, &context.values)?;
            }
            Piggyback::GlobalSwitch(s) => self.switch_before(&s)?,
            Piggyback::FreeLobs(locators) => self.lobs.free(&locators),
            Piggyback::BeginPipeline { .. } | Piggyback::Ignored => {}
        }
        Ok(())
    }

    /// Sets the client's attributes in `v$session`.
    fn note(&self, known_by: &EndToEnd) {
        let slot = self.session.process().session();
        let texts = [
            (&slot.client_identifier, &known_by.client_id),
            (&slot.module, &known_by.module),
            (&slot.action, &known_by.action),
            (&slot.client_info, &known_by.client_info),
            (&slot.execution_context, &known_by.context),
        ];
        for (place, text) in texts {
            if let Some(text) = text {
                place.set(text);
            }
        }
        if let Some(operation) = &known_by.operation {
            slot.operation.set(operation);
        }
    }

    pub(super) fn close_query(&mut self, open: Option<u32>) {
        if let Some(cursor) = open {
            let _ = self.ask(&Ask::CloseCursor { cursor });
        }
    }

    /// Calls the session, and reads its packets.
    pub(super) fn ask(&mut self, request: &Ask) -> Tried<Said> {
        let mut bytes = Vec::new();
        let flow = self.session.call(request, &mut bytes);
        let said = self.hear(flow, &bytes)?;
        match said.failure {
            Some(failure) => Err(Trouble::Session(failure)),
            None => Ok(said),
        }
    }

    /// Reads the packets of the session.
    pub(super) fn hear(&mut self, flow: Flow, bytes: &[u8]) -> Tried<Said> {
        self.is_over |= flow == Flow::End;
        let mut frames = FrameBuffer::new(usize::MAX);
        frames.extend(bytes);
        let mut said = Said::default();
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

    fn ask_to_execute(&mut self, sql: &str, binds: Vec<Bind>, prefetch: u32) -> Tried<(Said, Vec<Bind>)> {
        self.ask_to_execute_with(sql, binds, Vec::new(), prefetch)
    }

    fn ask_to_execute_with(
        &mut self,
        sql: &str,
        binds: Vec<Bind>,
        tables: Vec<TableBind>,
        prefetch: u32,
    ) -> Tried<(Said, Vec<Bind>)> {
        let execute = local::Execute { sql: sql.to_string(), binds, prefetch, want_output: false, tables };
        let request = Ask::Execute(Box::new(execute));
        let said = self.ask(&request)?;
        match request {
            Ask::Execute(e) => Ok((said, e.binds)),
            _ => Ok((said, Vec::new())),
        }
    }

    /// Commits as a part of the call that has just run.
    pub(super) fn commit_on_success(&mut self) -> Tried<()> {
        self.session.goes_on();
        self.run("commit")
    }

    /// Runs a statement without binds.
    pub(super) fn run(&mut self, sql: &str) -> Tried<()> {
        self.ask_to_execute(sql, Vec::new(), 0).map(drop)
    }

    fn simple(&mut self, sql: &str, sequence: u8, out: &mut Vec<u8>) -> Tried<()> {
        self.run(sql)?;
        self.tell_sessionless(out);
        reply::write_status(out, self.status(), sequence);
        Ok(())
    }

    pub(super) fn status(&self) -> u32 {
        let in_transaction = if self.session.is_in_transaction() { status::IN_TRANSACTION } else { 0 };
        status::END_OF_CALL | in_transaction
    }

    fn execute(
        &mut self,
        e: Execute,
        values: Values,
        sequence: u8,
        cursor: &mut u16,
        out: &mut Answering<'_>,
    ) -> Tried<()> {
        let scrolls = e.flags & execute_flag::SCROLLABLE != 0;
        let number = self.statement_of(&e)?;
        *cursor = number;
        let is_new = e.sql.is_some();
        if is_new {
            self.session.forget_statement(number);
        }
        let known = self.cursors.get(number.into())?;
        let is_fetched = known.outline.is_query || known.is_reference;
        if e.asks(option::DESCRIBE_ONLY) || !e.asks(option::EXECUTE) && (is_new || !is_fetched) {
            return self.describe(number, sequence, out);
        }
        if !e.defines.is_empty() {
            self.fetch_as(number, &e.defines)?;
        }
        let statement = self.cursors.get(number.into())?;
        if is_new {
            statement.takes_results = e.flags & execute_flag::IMPLICIT_RESULTS != 0;
        }
        let is_reference = statement.is_reference;
        // An execution that continues after fetched rows executes nothing.
        let goes_on = !is_new && e.position > 1 && statement.open.is_some();
        if scrolls && !is_reference && (goes_on || !e.asks(option::EXECUTE)) {
            return self.scroll(number, &e, sequence, out);
        }
        if !e.asks(option::EXECUTE) || is_reference {
            let wanted = e.rows_wanted();
            return self.fetch(number.into(), wanted, sequence, out);
        }
        let statement = self.cursors.get(number.into())?;
        if !e.binds.is_empty() || is_new {
            statement.binds = e.binds.clone();
        }
        statement.scrolls = scrolls;
        statement.row_counts = e.wants_row_counts;
        let is_query = statement.outline.is_query;
        let commits = e.asks(option::COMMIT);
        match values {
            Values::One(values, _) if is_query => self.query(number, values, e.rows_wanted(), is_new, sequence, out),
            Values::One(values, tables) => {
                self.change(number, (values, tables), e.wants_row_counts, sequence, commits, out)
            }
            Values::Many(rows) => {
                let how = Array { batch_errors: e.asks(option::BATCH_ERRORS), row_counts: e.wants_row_counts, commits };
                self.array(number, rows, &how, sequence, out)
            }
        }
    }

    /// The number of the statement: a new statement, or one that gets a new text.
    fn statement_of(&mut self, e: &Execute) -> Tried<u16> {
        let Some(sql) = &e.sql else {
            self.cursors.get(e.cursor)?;
            return Ok(e.cursor as u16);
        };
        let new = Statement::new(sql.clone());
        if e.cursor == 0 {
            return Ok(self.cursors.open(new)?);
        }
        self.close_nested(e.cursor as u16);
        let old = self.cursors.replace(e.cursor, new)?;
        self.close_query(old.open);
        Ok(e.cursor as u16)
    }

    fn reexecute(
        &mut self,
        e: Reexecute,
        values: Values,
        sequence: u8,
        cursor: &mut u16,
        out: &mut Answering<'_>,
    ) -> Tried<()> {
        let statement = self.cursors.get(e.cursor)?;
        let (is_query, row_counts) = (statement.outline.is_query, statement.row_counts);
        *cursor = e.cursor as u16;
        match values {
            Values::One(values, _) if is_query => {
                let wanted = if e.fetches { e.count } else { 0 };
                self.query(e.cursor as u16, values, wanted, false, sequence, out)
            }
            Values::One(values, tables) => {
                self.change(e.cursor as u16, (values, tables), row_counts, sequence, e.commits, out)
            }
            Values::Many(rows) => {
                let how = Array { row_counts, commits: e.commits, ..Array::default() };
                self.array(e.cursor as u16, rows, &how, sequence, out)
            }
        }
    }

    /// Sets the types in which columns are sent from here on.
    fn fetch_as(&mut self, number: u16, defines: &[Shape]) -> Tried<()> {
        let statement = self.cursors.get(number.into())?;
        if defines.len() != statement.columns.len() {
            return Err(Ora::new(1007).into());
        }
        if !defines.iter().all(|d| value::is_bindable(d) || d.number == value::number::ROWID) {
            return Err(Ora::new(3115).into());
        }
        for (column, define) in statement.columns.iter_mut().zip(defines) {
            column.shape = *define;
        }
        Ok(())
    }

    fn query(
        &mut self,
        number: u16,
        mut values: Vec<Value>,
        wanted: u32,
        is_new: bool,
        sequence: u8,
        out: &mut Answering<'_>,
    ) -> Tried<()> {
        self.close_nested(number);
        let statement = self.cursors.get(number.into())?;
        if statement.binds.iter().any(Shape::is_table) {
            return Err(Ora::new(1484).into());
        }
        let shapes = statement.binds.clone();
        let open = statement.open.take();
        (statement.stays_open, statement.has_ended) = (false, false);
        self.close_query(open);
        // A cursor bound to its own statement must be closed first.
        self.bound_cursors(number, &mut values)?;
        self.bound_lobs(&shapes, &mut values)?;
        let statement = self.cursors.get(number.into())?;
        let binds = statement.session_binds(values)?;
        let (scrolls, sql) = (statement.scrolls, statement.sql.clone());
        self.session.set_statement(number, !is_new);
        let prefetch = if scrolls { 0 } else { wanted };
        let e = local::Execute { sql, binds, prefetch, want_output: false, tables: Vec::new() };
        let (waits, more) = self.query_direct(number, &e, (wanted, is_new), out)?;
        self.leave_behind(out)?;
        if scrolls {
            let outcome = match wanted {
                0 => self.rows_end(number, true, sequence),
                _ => self.scroll_to(number, session::ScrollTo::Row(1), wanted, sequence, out)?,
            };
            reply::write_parameters(out, self.scn(), number, None);
            outcome.write(out);
            return Ok(());
        }
        let statement = self.cursors.get(number.into())?;
        if !waits && !statement.nested.is_empty() {
            let rows = take(&mut statement.ahead);
            self.rows(number, rows, wanted, true, out)?;
        }
        reply::write_parameters(out, self.scn(), number, None);
        // A fetch of no rows gets none; after exactly as many rows as requested the end is not known yet.
        let is_full = self.cursors.get(number.into())?.rows == u64::from(wanted);
        self.rows_end(number, waits || more || is_full, sequence).write(out);
        Ok(())
    }

    fn fetch(&mut self, number: u32, wanted: u32, sequence: u8, out: &mut Answering<'_>) -> Tried<()> {
        let statement = self.cursors.get(number)?;
        if !statement.outline.is_query {
            return Err(Ora::new(1002).into());
        }
        let is_first = statement.rows == 0;
        let most = statement.ahead.len().min(wanted as usize);
        let mut rows: VecDeque<_> = statement.ahead.drain(..most).collect();
        if let Some(local) = statement.open.filter(|_| !statement.has_ended)
            && rows.is_empty()
            && wanted > 0
        {
            if statement.nested.is_empty() {
                return self.fetch_direct(number, local, wanted, sequence, out);
            }
            self.cursors.forget_ended(number as u16);
            let said = self.ask(&Ask::Fetch { cursor: local, rows: wanted });
            // The session has closed it on an error, and at its end unless PL/SQL may hold it.
            let goes_on = said.as_ref().is_ok_and(|said| said.done.more);
            let statement = self.cursors.get(number)?;
            statement.has_ended = said.is_ok() && !goes_on;
            statement.open = (goes_on || said.is_ok() && statement.stays_open).then_some(local);
            rows = said?.rows.into();
        }
        let statement = self.cursors.get(number)?;
        let more = statement.open.is_some() && !statement.has_ended || !statement.ahead.is_empty();
        let more = more || rows.len() == wanted as usize;
        // Drivers may fetch once more after the end.
        if more || !rows.is_empty() {
            self.rows(number as u16, rows, wanted, is_first, out)?;
        }
        self.rows_end(number as u16, more, sequence).write(out);
        Ok(())
    }

    /// Appends rows.
    pub(super) fn rows(
        &mut self,
        number: u16,
        rows: VecDeque<Vec<Value>>,
        wanted: u32,
        is_first: bool,
        out: &mut Vec<u8>,
    ) -> Tried<()> {
        self.lobs.seen = if self.session.is_in_transaction() { NOW } else { self.instance.current_scn().0 };
        let nls = self.session.nls();
        let statement = self.cursors.get(number.into())?;
        reply::write_row_header(out, statement.columns.len(), wanted, is_first);
        if !statement.nested.is_empty() {
            return self.rows_with_cursors(number, rows, out);
        }
        for row in rows {
            let values = row.into_iter().zip(&statement.columns);
            let sent = |(v, c): (Value, &value::Column)| self.lobs.sent(v, &c.shape, nls);
            let values = values.map(sent).collect::<types::Result<Vec<_>>>()?;
            reply::write_row(out, &statement.columns, &values)?;
            statement.rows += 1;
        }
        Ok(())
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

    /// Runs a statement that is not a query.
    fn change(
        &mut self,
        number: u16,
        (mut values, tables): (Vec<Value>, Tables),
        wants_row_counts: bool,
        sequence: u8,
        commits: bool,
        out: &mut Vec<u8>,
    ) -> Tried<()> {
        let given = self.bound_cursors(number, &mut values)?;
        let shapes = self.cursors.get(number.into())?.binds.clone();
        self.bound_lobs(&shapes, &mut values)?;
        let statement = self.cursors.get(number.into())?;
        let (sql, binds) = (statement.sql.clone(), statement.session_binds(values)?);
        let tables = statement.session_tables(tables);
        self.session.set_takes_results(statement.takes_results);
        self.session.set_statement(number, true);
        let (said, binds) = self.ask_to_execute_with(&sql, binds, tables, 0)?;
        self.write_directions(number, &binds, out)?;
        if let Some((local, _)) = said.described {
            self.close_query(said.done.more.then_some(local));
            return Err(Ora::unsupported().into());
        }
        self.write_got(number, &binds, &said.done, &given, out)?;
        self.write_results(&said.done, out)?;
        if commits {
            self.commit_on_success()?;
        }
        self.leave_behind(out)?;
        let counts = wants_row_counts.then_some([said.done.rows]);
        let news = self.session.take_news();
        reply::write_parameters_with(out, self.scn(), number, &news, counts.as_ref().map(|n| &n[..]));
        self.succeeded(&said.done, number, sequence).write(out);
        Ok(())
    }

    /// Appends the directions of a statement's binds, if any value is returned. For a block that has just run, they
    /// follow from its code.
    pub(super) fn write_directions(&mut self, number: u16, session: &[Bind], out: &mut Vec<u8>) -> Tried<()> {
        let statement = self.cursors.get(number.into())?;
        let binds = statement.binds.len();
        if statement.outline.is_block && binds > 0 {
            statement.ways = vec![direction::IN; binds];
            for (at, way) in self.session.bind_directions().iter().enumerate() {
                if let Some(place) = statement.place_of(session, at) {
                    statement.ways[place] = match way {
                        Direction::In => direction::IN,
                        Direction::Out => direction::OUT,
                        Direction::InOut => direction::IN_OUT,
                    };
                }
            }
            reply::write_directions(out, &statement.ways);
        } else if statement.returns() {
            let way = |at| if statement.is_returning(at) { direction::OUT } else { direction::IN };
            reply::write_directions(out, &(0..binds).map(way).collect::<Vec<_>>());
        }
        Ok(())
    }

    /// Appends the values that an execution returned to the client's binds. `given`: the cursors that were bound.
    pub(super) fn write_got(
        &mut self,
        number: u16,
        binds: &[Bind],
        done: &Done,
        given: &[Option<u16>],
        out: &mut Vec<u8>,
    ) -> Tried<()> {
        let got = self.got(number, binds, &done.out)?;
        let statement = self.cursors.get(number.into())?;
        let shapes = &statement.binds;
        if statement.outline.is_block && !shapes.is_empty() {
            if statement.ways.iter().any(|way| *way != direction::IN) {
                self.write_got_of_block(number, &got, done, given, out)?;
            }
        } else if statement.returns() {
            let targets = (0..shapes.len()).filter(|at| statement.is_returning(*at));
            reply::write_returned(out, targets.map(|at| (&got[at][..], &shapes[at])))?;
        }
        Ok(())
    }

    /// The values returned to each of the client's binds.
    fn got(&mut self, number: u16, binds: &[Bind], values: &[(u16, Value)]) -> Tried<Vec<Vec<Value>>> {
        self.lobs.seen = NOW;
        let nls = self.session.nls();
        let statement = self.cursors.get(number.into())?;
        let mut got = vec![Vec::new(); statement.binds.len()];
        for (at, value) in values {
            if let Some(place) = statement.place_of(binds, usize::from(*at)) {
                got[place].push(self.lobs.sent(value.clone(), &statement.binds[place], nls)?);
            }
        }
        Ok(got)
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

    /// The outcome of a failed call. The results of an array before the failure precede it.
    fn failed(&self, trouble: Trouble, sequence: u8, cursor: u16, out: &mut Vec<u8>) -> Outcome {
        let outcome = Outcome { status: self.status(), sequence, cursor, ..Outcome::default() };
        let (f, rows) = match trouble {
            Trouble::Own(e) => {
                let position = e.position().unwrap_or(0);
                return Outcome { error: e.code(), position, message: e.to_string(), ..outcome };
            }
            Trouble::Session(f) => (f, 0),
            Trouble::Array(f, executed) => {
                if !executed.counts.is_empty() {
                    reply::write_parameters(out, self.scn(), cursor, Some(&executed.counts));
                }
                (f, executed.rows)
            }
        };
        Outcome {
            error: f.code,
            position: f.position.unwrap_or(0),
            command: f.kind.0 as u8,
            message: f.text,
            rows,
            ..outcome
        }
    }
}
