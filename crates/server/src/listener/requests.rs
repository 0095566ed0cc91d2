//! The client's requests: the call that each of them makes, and its answer.
//!
//! The session speaks the packets of the local socket. This module makes them from a driver's messages, and converts
//! the answers for the driver; Oracle Net is known only in this folder.

use super::answering::Answering;
use super::calls::{CallError, CallResult, Calls};
use super::execute::Values;
use super::logon::VERSION_NUMBER;
use instance::BANNER;
use net::local::{Done, Request as Ask};
use net::oracle::auth::{Logon, mode};
use net::oracle::call::{EndToEnd, Piggyback, Request};
use net::oracle::global;
use net::oracle::reply::{self, Outcome, status};
use session::Flow;
use types::Ora;

/// The error of a call that was broken.
const BROKEN: u32 = 1013;

/// The result of a call.
pub struct Answer {
    pub flow: Flow,
    /// The call ended with the error of a break.
    pub is_broken: bool,
    pub has_failed: bool,
}

impl Calls {
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
    ) -> CallResult<()> {
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
    fn change_password(&mut self, logon: &Logon) -> CallResult<()> {
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
            Err(CallError::Own(e)) => Err(e),
            Err(CallError::Session(f) | CallError::Array(f, _)) => Err(Ora::new(f.code)),
            Ok(()) => Ok(()),
        })
    }

    fn before(&mut self, piggyback: Piggyback) -> CallResult<()> {
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

    fn simple(&mut self, sql: &str, sequence: u8, out: &mut Vec<u8>) -> CallResult<()> {
        self.run(sql)?;
        self.tell_sessionless(out);
        reply::write_status(out, self.status(), sequence);
        Ok(())
    }

    /// The outcome of a failed call. The results of an array before the failure precede it.
    fn failed(&self, trouble: CallError, sequence: u8, cursor: u16, out: &mut Vec<u8>) -> Outcome {
        let outcome = Outcome { status: self.status(), sequence, cursor, ..Outcome::default() };
        let (f, rows) = match trouble {
            CallError::Own(e) => {
                let position = e.position().unwrap_or(0);
                return Outcome { error: e.code(), position, message: e.to_string(), ..outcome };
            }
            CallError::Session(f) => (f, 0),
            CallError::Array(f, executed) => {
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
