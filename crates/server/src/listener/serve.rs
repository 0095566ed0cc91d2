//! A server process of the network: reads calls, answers them, and ends with its client.

use super::answering::Answering;
use super::calls::Calls;
use super::cursors::Statement;
use super::execute::Values;
use super::line::{Heard, Line};
use super::logon;
use super::pipeline::Pipeline;
use super::pool_client::Turn;
use super::proved::Proved;
use super::requests::Answer;
use super::sockets::Listener;
use super::tls::Transport;
use super::watch::Watch;
use crate::alert::AlertLog;
use instance::Instance;
use net::local::{WireError, WireResult};
use net::oracle::call::{self, Call, Piggyback, Request, option};
use net::oracle::field::Reader;
use net::oracle::function;
use net::oracle::handshake::Client;
use net::oracle::o5logon::SessionKey;
use net::oracle::reply::{self, Outcome, status};
use net::oracle::rows::BindRows;
use net::oracle::tns::{PacketBuffer, marker};
use net::oracle::value::{self, BindRules, Shape, Tables};
use os::signal::{self, SignalFd};
use session::{Flow, Session};
use std::net::TcpStream;
use std::time::Instant;
use types::{Ora, Result, Value};

/// Serves a client in the copy of the listener process made for it. The supervisor is told first.
///
/// # Errors
/// No descriptor available.
pub fn serve_in_copy(
    instance: &'static Instance,
    proved: Box<Proved>,
    listener: Listener,
    forked_ns: u64,
    alert: &AlertLog,
) -> Result<()> {
    let signals = SignalFd::new(&[signal::SIGTERM]).map_err(Ora::internal)?;
    let has_room = proved.socket().is_some_and(|socket| listener.announce(socket, &signals));
    drop(listener);
    serve(instance, proved, has_room, &mut None, forked_ns, alert).map(drop)
}

/// Serves a client that has proved its password, to the end of its session, or tells it that there is no room. `watch`
/// belongs to this process and is made here when there is none. Returns whether the process may serve another client.
///
/// # Errors
/// No descriptor available.
pub fn serve(
    instance: &'static Instance,
    mut proved: Box<Proved>,
    has_room: bool,
    watch: &mut Option<Watch>,
    forked_ns: u64,
    alert: &AlertLog,
) -> Result<bool> {
    let Some((stream, packets, sdu)) = proved.give_line() else { return Ok(true) };
    let signals = SignalFd::new(&[signal::SIGTERM]).map_err(Ora::internal)?;
    let mut line = Line::accepted(stream, signals, packets, sdu);
    if proved.pooled.is_some() {
        // The client could not be passed to a pooled server.
        logon::turn_away(&mut line, &Ora::new(56609), proved.sequence());
        return Ok(true);
    }
    if !has_room {
        let e = match instance.is_closing() {
            true => Ora::new(1089),
            // Without a listener (`lsnrctl stop`) no client is admitted, even if there is room.
            false => super::connect::no_room(instance).unwrap_or_else(|| Ora::new(12528)),
        };
        logon::turn_away(&mut line, &e, proved.sequence());
        return Ok(true);
    }
    let Some(opened) = logon::log_on(&mut line, instance, &proved, forked_ns, alert) else { return Ok(true) };
    let (client, key) = (proved.client, proved.key());
    drop(proved);
    let own = watch.take().map_or_else(|| Watch::new(instance), Ok);
    let begun = own.and_then(|own| {
        own.begin_session(line.stream().map_err(|e| e.to_string())?, opened.watched);
        Ok(own)
    });
    let begun =
        begun.inspect_err(|e| alert.write(&format!("Calls of session {} cannot be broken: {e}", opened.watched.sid)));
    let calls = Calls::new(instance, opened.session, client, key);
    let (own, pipeline) = (begun.ok(), Pipeline::default());
    let mut server =
        Server { instance, line, client, calls, watch: own, pipeline, sequence: 0, answer: Vec::new(), pool: None };
    server.talk();
    let Server { mut calls, watch: own, .. } = server;
    let was_killed = calls.session().is_killed();
    calls.end();
    *watch = own.inspect(Watch::end_session);
    Ok(!was_killed)
}

/// Bytes of memory that a session keeps for its answers.
const ANSWER_KEPT: usize = 64 << 10;

pub(super) struct Server {
    pub(super) instance: &'static Instance,
    pub(super) line: Line,
    pub(super) client: Client,
    pub(super) calls: Calls,
    pub(super) watch: Option<Watch>,
    pub(super) pipeline: Pipeline,
    /// The number of the last call.
    pub(super) sequence: u8,
    /// Memory for the next answer.
    pub(super) answer: Vec<u8>,
    /// For a session of the connection pool.
    pub(super) pool: Option<Turn>,
}

/// The server's side of a connection whose client has proved its password, for tests that play the client in the same
/// thread. Passwords are encrypted with `key`. The loop is that of [`serve`]; no thread watches for a break during a
/// call.
pub struct Conversation {
    server: Server,
}

impl Conversation {
    /// Serves a session over `socket`; the caller has the other end.
    ///
    /// # Errors
    /// No descriptor available.
    pub fn new(
        instance: &'static Instance,
        session: Session,
        socket: TcpStream,
        client: Client,
        sdu: u32,
        key: SessionKey,
    ) -> Result<Conversation> {
        socket.set_nonblocking(true).map_err(Ora::internal)?;
        let signals = SignalFd::new(&[signal::SIGUSR1]).map_err(Ora::internal)?;
        let stream = Transport::new(socket, None).map_err(Ora::internal)?;
        let mut packets = PacketBuffer::new();
        packets.accept(sdu);
        if client.reads_ends {
            packets.end_responses();
        }
        let mut line = Line::accepted(stream, signals, packets, sdu);
        line.trust();
        let calls = Calls::new(instance, session, client, key);
        let pipeline = Pipeline::default();
        let answer = Vec::new();
        let server = Server { instance, line, client, calls, watch: None, pipeline, sequence: 0, answer, pool: None };
        Ok(Conversation { server })
    }

    /// Answers the client's data until no more is there. False when the session has ended.
    pub fn serve(&mut self) -> bool {
        while self.server.line.has_input() {
            if !self.server.turn() {
                return false;
            }
        }
        true
    }

    /// Bytes of a message whose rest has not arrived; 0 between messages.
    pub fn begun(&self) -> u64 {
        self.server.line.begun()
    }

    /// The session.
    pub fn session(&mut self) -> &mut Session {
        self.server.calls.session()
    }

    /// Closes the client's statements, and returns the session.
    pub fn into_session(self) -> Session {
        self.server.calls.into_session()
    }
}

/// A call with its bind values.
struct Whole {
    before: Vec<Piggyback>,
    request: Request,
    values: Vec<Value>,
    tables: Tables,
    many: Option<Many>,
    sequence: u8,
    /// The call is not supported, and the end of its message is unknown.
    refused: Option<Ora>,
}

/// The bind values of several executions, as a part of the message.
struct Many {
    rows: usize,
    /// The position of the first value.
    at: usize,
    binds: Vec<Shape>,
    rules: BindRules,
}

impl Server {
    /// Answers calls until the session ends.
    pub(super) fn talk(&mut self) {
        while self.turn() {}
    }

    /// Waits for the client's next data, and answers a complete call. False ends the session.
    fn turn(&mut self) -> bool {
        let heard = {
            let session = self.calls.session();
            // A client that has begun a message is not idle: this is a wait for the network.
            let _wait = match self.line.begun() {
                0 => session.wait_for_client(),
                bytes => session.wait_for_rest(bytes),
            };
            // An incomplete call keeps other clients from the server as long as silence does.
            let patience =
                self.pool.as_ref().map(|_| self.instance.state().pool().think_time(session.is_in_transaction()));
            self.line.hear(patience.flatten().map(|time| Instant::now() + time))
        };
        self.calls.session().note_received(self.line.take_received());
        match heard {
            Heard::Data => self.data(),
            Heard::Marker(marker::BREAK | marker::INTERRUPT) if self.pipeline.heard_break() => {
                // The call before the break may be complete.
                self.line.begun() == 0 || self.data()
            }
            Heard::Marker(marker::BREAK | marker::INTERRUPT) => self.broken(),
            Heard::Marker(_) => true,
            Heard::Signal if self.instance.is_closing() => false,
            Heard::Signal => {
                self.calls.session().release_if_killed();
                true
            }
            Heard::Gone => false,
        }
    }

    /// Handles a packet of a message; false ends the session.
    fn data(&mut self) -> bool {
        // A release has no answer, so the next call may have arrived already.
        if self.pool.is_some()
            && let Some((before, Call { request: Request::ReleaseSession { ends }, sequence })) =
                call::release_at_end(self.line.so_far(), self.client)
        {
            self.line.forget_message();
            return self.release(before, ends, sequence);
        }
        if self.line.message().is_some() && self.line.expects_more() {
            return true;
        }
        let Some(bytes) = self.line.message() else { return true };
        let whole = match read_call(bytes, self.client, &self.calls) {
            Ok(whole) => whole,
            Err(WireError::Truncated) if self.line.may_go_on() => {
                self.line.note_tried();
                return true;
            }
            Err(_) => {
                self.line.forget_message();
                self.say_error(&Ora::new(3106), self.sequence);
                return false;
            }
        };
        if whole.refused.is_some() && self.line.goes_on() {
            self.line.note_tried();
            return true;
        }
        self.sequence = whole.sequence;
        if self.client.reads_ends {
            self.pipeline.begin(&whole.before);
        }
        let rows = match &whole.many {
            Some(many) if many.binds.is_empty() => Some(BindRows::empty(many.rows)),
            Some(many) => Some(BindRows::new(self.line.take_message(), many.at, &many.binds, &many.rules, many.rows)),
            None => None,
        };
        self.line.forget_message();
        if let Some(e) = whole.refused {
            // The message ends with its last packet; if that is unknown, the data behind it cannot be read.
            let goes_on = self.line.may_go_on();
            return self.refuse(whole.before, e, whole.sequence) && !goes_on;
        }
        self.call(whole, rows)
    }

    fn call(&mut self, whole: Whole, rows: Option<BindRows>) -> bool {
        let values = rows.map_or(Values::One(whole.values, whole.tables), Values::Many);
        if let Request::ReleaseSession { ends } = whole.request {
            return self.release(whole.before, ends, whole.sequence);
        }
        let ends_pipeline = matches!(whole.request, Request::EndPipeline);
        if self.pipeline.is_under_way() && self.line.take_break() {
            self.pipeline.heard_break();
        }
        if ends_pipeline {
            self.pipeline.end();
            self.line.end_pipeline();
        } else if self.pipeline.is_under_way() {
            if let Some(e) = self.pipeline.refusal() {
                return self.refuse(whole.before, e, whole.sequence);
            }
        } else if whole.before.iter().any(|p| matches!(p, Piggyback::BeginPipeline { .. })) {
            return self.refuse(whole.before, Ora::new(43616), whole.sequence);
        }
        let mut message = std::mem::take(&mut self.answer);
        let mut out = Answering::new(&mut message, &mut self.line);
        if let Some((sid, serial)) = self.pool.as_mut().and_then(Turn::take_news) {
            reply::write_session(&mut out, sid, serial);
        }
        if let Some(watch) = &self.watch {
            watch.begin(self.pipeline.is_under_way());
        }
        let Answer { flow, is_broken, has_failed } =
            self.calls.answer(whole.before, whole.request, values, whole.sequence, &mut out);
        let was_broken = self.watch.as_ref().is_some_and(Watch::end);
        if self.pipeline.is_under_way() {
            if was_broken {
                self.pipeline.was_broken();
            }
            if has_failed {
                self.pipeline.failed();
            }
            let is_said = self.send(&message);
            self.keep(message);
            return is_said && flow == Flow::Continue;
        }
        // The client that broke the call gets the error with the answer to the break.
        let is_said = was_broken && is_broken || self.send(&message);
        self.keep(message);
        let goes_on = is_said && flow == Flow::Continue;
        if goes_on && !ends_pipeline && self.pipeline.owes_answer() {
            return self.broken();
        }
        goes_on
    }

    /// Releases the session to the pool, which ends the loop. The release has no answer.
    fn release(&mut self, before: Vec<Piggyback>, ends: bool, sequence: u8) -> bool {
        match &mut self.pool {
            Some(turn) => {
                turn.released = Some(ends);
                // An error could not be reported.
                let _ = self.calls.before_refusal(before);
            }
            None => {
                self.refuse(before, Ora::with(56600, &[&function::SESSION_RELEASE]), sequence);
            }
        }
        false
    }

    /// Keeps the memory of an answer.
    fn keep(&mut self, mut message: Vec<u8>) {
        message.clear();
        message.shrink_to(ANSWER_KEPT);
        self.answer = message;
    }

    /// Answers a call that is not run. Its piggybacks are run all the same.
    fn refuse(&mut self, before: Vec<Piggyback>, e: Ora, sequence: u8) -> bool {
        self.pipeline.failed();
        let e = self.calls.before_refusal(before).err().unwrap_or(e);
        self.say_error(&e, sequence)
    }

    /// Handles a break of a call, or between calls.
    fn broken(&mut self) -> bool {
        let e = Ora::new(1013);
        let outcome = self.outcome(&e, self.sequence);
        let Server { instance, line, calls, .. } = self;
        line.answer_break(&outcome, &mut || gives_up(instance, calls))
    }

    fn outcome(&mut self, e: &Ora, sequence: u8) -> Outcome {
        let in_transaction = self.calls.session().is_in_transaction();
        let status = status::END_OF_CALL | if in_transaction { status::IN_TRANSACTION } else { 0 };
        Outcome { status, sequence, error: e.code(), message: e.to_string(), ..Outcome::default() }
    }

    fn say_error(&mut self, e: &Ora, sequence: u8) -> bool {
        let mut message = Vec::new();
        self.outcome(e, sequence).write(&mut message);
        self.send(&message)
    }

    fn send(&mut self, message: &[u8]) -> bool {
        let Server { instance, line, calls, pipeline, .. } = self;
        let bytes = line.sent_bytes(message.len());
        match pipeline.is_under_way() {
            // The calls of a pipeline are one round trip, which its end counts.
            true => calls.session().note_sent(bytes),
            false => calls.session().note_answer(bytes),
        }
        line.send_message(message, &mut || gives_up(instance, calls))
    }
}

/// Whether unsent data is dropped after a signal.
fn gives_up(instance: &Instance, calls: &mut Calls) -> bool {
    let session = calls.session();
    session.release_if_killed();
    instance.is_closing() || session.is_killed()
}

/// Reads a message to its end.
///
/// # Errors
/// [`WireError::Truncated`] while the end is missing.
fn read_call(bytes: &[u8], client: Client, calls: &Calls) -> WireResult<Whole> {
    let mut r = Reader::new(bytes);
    let (before, call) = call::read(&mut r, client)?;
    let Call { request, sequence } = call;
    let mut whole =
        Whole { before, request, values: Vec::new(), tables: Vec::new(), many: None, sequence, refused: None };
    let binds = match &whole.request {
        Request::Execute(e) if !e.binds.iter().all(value::is_bindable) => {
            whole.refused = Some(Ora::new(3115));
            None
        }
        Request::Execute(e) => {
            let own = e.sql.as_ref().map(|sql| Statement::new(sql.clone()).rules);
            let known = || calls.known(e.cursor).map(|s| s.rules.clone());
            let mut rules = own.or_else(known).unwrap_or_default();
            rules.sends_all = e.asks(option::BLOCK_BIND);
            // An execution without descriptions of its binds uses the last ones.
            let again = calls.known(e.cursor).filter(|_| e.sql.is_none() && e.binds.is_empty());
            let binds = match again.filter(|_| e.asks(option::EXECUTE)) {
                Some(statement) => statement.binds.clone(),
                None => e.binds.clone(),
            };
            if !e.asks(option::EXECUTE) && (binds.is_empty() || r.left().is_empty()) {
                None
            } else {
                Some((binds, rules, e.executions(), e.asks(option::EXECUTE) && e.asks(option::BATCH_ERRORS)))
            }
        }
        Request::Reexecute(again) => match calls.known(again.cursor) {
            None => {
                whole.refused = Some(Ora::new(1001));
                None
            }
            Some(statement) => {
                // For a call with a fetch the count is the number of rows; the client may send it for a statement that
                // is not a query.
                if !statement.outline.is_query && again.count > call::EXECUTIONS_MAX {
                    return Err(WireError::LengthOutOfBounds);
                }
                let executions = if statement.outline.is_query { 1 } else { again.count.max(1) as usize };
                Some((statement.binds.clone(), statement.rules_again(), executions, false))
            }
        },
        Request::Other(_) => {
            whole.refused = Some(Ora::unsupported());
            None
        }
        _ => None,
    };
    match binds {
        Some((binds, rules, 1, false)) => (whole.values, whole.tables) = value::read_row(&mut r, &binds, &rules)?,
        Some((binds, rules, rows, _)) => {
            let at = r.position();
            value::skip_rows(&mut r, &binds, &rules, rows)?;
            whole.many = Some(Many { rows, at, binds, rules });
        }
        None => {}
    }
    if whole.refused.is_none() {
        r.finish()?;
    }
    Ok(whole)
}
