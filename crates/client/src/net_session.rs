//! A session through the listener, as a driver opens one: Oracle Net over TCP, and a password that is proved without
//! being sent.
//!
//! It does what is needed to measure and to test: connect, run statements without binds, fetch, break, commit by
//! statement. The shell goes on using the local socket, whose packets carry more.

use crate::error::{ClientError, ClientResult};
use crate::session::ConnectOptions;
use crate::tls::{Stream, Trust};
use net::StatementKind;
use net::local::{Failure, WireError};
use net::oracle::auth::{self, Logon, Pairs, mode};
use net::oracle::call::{self, Execute, option};
use net::oracle::descriptor::Entry;
use net::oracle::field::Reader;
use net::oracle::handshake::{self, Client as Dialect};
use net::oracle::reply::{self, Answer, NO_DATA_FOUND, Outcome};
use net::oracle::tns::{self, Accept, Connect, Packet, PacketBuffer, kind, marker};
use net::oracle::value::Column;
use net::oracle::{function, message, o5logon};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use types::{Facility, Ora, Value};

/// Rows of a fetch.
const FETCH_ROWS: u32 = 100;
const SDU: u32 = 8192;
/// Where listeners are unless somebody says otherwise.
const DEFAULT_PORT: u16 = 1521;

/// Where a service is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetAddress {
    pub host: String,
    pub port: u16,
    pub service: String,
    /// The connection is encrypted, and the certificate checked.
    pub tls: Option<Trust>,
}

impl NetAddress {
    /// Where the listener of the instance whose database is in `dir` listens, as its alert log says; `None` without
    /// one. Of several addresses it is the first that is not encrypted.
    pub fn of_instance(dir: &Path, service: &str) -> Option<NetAddress> {
        let mut all = Self::all_of_instance(dir, service);
        let at = all.iter().position(|at| at.tls.is_none()).unwrap_or(0);
        (!all.is_empty()).then(|| all.swap_remove(at))
    }

    /// All addresses at which it listens.
    pub fn all_of_instance(dir: &Path, service: &str) -> Vec<NetAddress> {
        let log = std::fs::read_to_string(dir.join("alert.log")).unwrap_or_default();
        // An instance that was there before may have listened elsewhere.
        let own = log.rsplit("Starting Latchwork instance").next().unwrap_or_default();
        let of_line = |line: &str| {
            let entry = Entry::parse(line.strip_prefix("Listening on: ")?)?;
            Self::of_entry(&entry, service)
        };
        own.lines().filter_map(of_line).collect()
    }

    fn of_entry(entry: &Entry, service: &str) -> Option<NetAddress> {
        let tls = match entry.text_of("PROTOCOL").unwrap_or("tcp").to_ascii_lowercase().as_str() {
            "tcp" => None,
            "tcps" => {
                let wallet = entry.text_of("WALLET_LOCATION").or(entry.text_of("MY_WALLET_DIRECTORY"));
                Some(Trust { wallet: wallet.map(PathBuf::from) })
            }
            _ => return None,
        };
        let port = entry.text_of("PORT").map_or(Some(DEFAULT_PORT), |port| port.parse().ok())?;
        Some(NetAddress { host: entry.text_of("HOST")?.to_string(), port, service: service.to_string(), tls })
    }

    /// Reads `host`, `host:port`, `[[tcp|tcps:]//]host:port/service[?wallet_location=DIR]` or a connect descriptor;
    /// `None` for what is none.
    pub fn parse(text: &str) -> Option<NetAddress> {
        let text = text.trim();
        if text.starts_with('(') {
            let entry = Entry::parse(text)?;
            let service = entry.text_of("SERVICE_NAME").unwrap_or_default();
            return Self::of_entry(&entry, service);
        }
        let (text, settings) = text.split_once('?').unwrap_or((text, ""));
        let mut wallet = None;
        for setting in settings.split('&').filter(|setting| !setting.is_empty()) {
            let (key, value) = setting.split_once('=')?;
            if !key.eq_ignore_ascii_case("wallet_location") {
                return None;
            }
            wallet = Some(PathBuf::from(value.trim_matches('"')));
        }
        let (protocol, text) = text.split_once("//").unwrap_or(("", text));
        let tls = match protocol.to_ascii_lowercase().as_str() {
            "" | "tcp:" => None,
            "tcps:" => Some(Trust { wallet }),
            _ => return None,
        };
        let (place, service) = text.split_once('/').unwrap_or((text, ""));
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().ok()?),
            None => (place, DEFAULT_PORT),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        (!host.is_empty()).then(|| NetAddress { host: host.into(), port, service: service.into(), tls })
    }

    /// The protocol, as descriptors have it.
    pub fn protocol(&self) -> &'static str {
        if self.tls.is_some() { "TCPS" } else { "TCP" }
    }

    /// Whether a text names a place on the network, and not a directory or a name by which clients know one: it has
    /// `//`, a port, or parentheses.
    pub fn is_meant_by(text: &str) -> bool {
        let text = text.trim();
        text.starts_with("//") || text.starts_with('(') || text.contains(':')
    }

    /// Whether what listens at the other address is found at this one, too.
    pub fn leads_to(&self, listener: &NetAddress) -> bool {
        let places =
            |at: &NetAddress| (at.host.as_str(), at.port).to_socket_addrs().map(Vec::from_iter).unwrap_or_default();
        let is_same = |own: &SocketAddr, its: &SocketAddr| own.ip() == its.ip() || its.ip().is_unspecified();
        let listens = places(listener);
        self.port == listener.port && places(self).iter().any(|own| listens.iter().any(|its| is_same(own, its)))
    }

    fn connect_data(&self, inside: &str) -> String {
        let (Self { host, port, .. }, protocol) = (self, self.protocol().to_ascii_lowercase());
        format!("(DESCRIPTION=(ADDRESS=(PROTOCOL={protocol})(HOST={host})(PORT={port}))(CONNECT_DATA={inside}))")
    }
}

/// A connection's packets.
struct Wire {
    stream: Stream,
    packets: PacketBuffer,
    scratch: Vec<u8>,
    sdu: u32,
}

/// A packet with its own bytes.
struct Owned {
    kind: u8,
    body: Vec<u8>,
}

impl Wire {
    fn of(at: &NetAddress) -> ClientResult<Wire> {
        let place = (at.host.as_str(), at.port);
        let stream = TcpStream::connect(place).map_err(|e| unreachable_at(at, &e))?;
        stream.set_nodelay(true).map_err(|e| lost(&e.to_string()))?;
        let stream = Stream::open(stream, &at.host, at.tls.as_ref())?;
        Ok(Wire { stream, packets: PacketBuffer::new(), scratch: vec![0; 16 << 10], sdu: SDU })
    }

    fn open(at: &NetAddress, data: &str) -> ClientResult<Wire> {
        let mut wire = Wire::of(at)?;
        let mut out = Vec::new();
        Connect::encode(data.as_bytes(), SDU, &mut out);
        wire.send(&out)?;
        Ok(wire)
    }

    fn send(&mut self, bytes: &[u8]) -> ClientResult<()> {
        self.stream.write_all(bytes).map_err(|e| lost(&e.to_string()))
    }

    fn send_message(&mut self, message: &[u8]) -> ClientResult<()> {
        let mut out = Vec::new();
        tns::write_data(&mut out, message, self.sdu);
        self.send(&out)
    }

    fn packet(&mut self) -> ClientResult<Owned> {
        loop {
            if let Some(Packet { kind, body, .. }) = self.packets.next_packet().map_err(ClientError::Protocol)? {
                return Ok(Owned { kind, body: body.to_vec() });
            }
            match self.stream.read(&mut self.scratch) {
                Ok(0) => return Err(lost("the server process has ended")),
                Ok(n) => self.packets.extend(&self.scratch[..n]),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(lost(&e.to_string())),
            }
        }
    }

    /// The next whole message, as `read` reads it.
    fn message<T>(&mut self, mut read: impl FnMut(&mut Reader<'_>) -> Result<T, WireError>) -> ClientResult<T> {
        let mut bytes = Vec::new();
        loop {
            let packet = self.packet()?;
            match packet.kind {
                kind::DATA => bytes.extend_from_slice(packet.body.get(2..).unwrap_or_default()),
                kind::MARKER => {
                    bytes.clear();
                    self.reset(&packet)?;
                    continue;
                }
                other => return Err(ClientError::Protocol(WireError::UnknownTag(other))),
            }
            match read(&mut Reader::new(&bytes)) {
                Err(WireError::Truncated) => {}
                read => return read.map_err(ClientError::Protocol),
            }
        }
    }

    /// The server has broken the call: both sides forget what was under way.
    fn reset(&mut self, first: &Owned) -> ClientResult<()> {
        if first.body.get(2) == Some(&marker::RESET) {
            return Ok(());
        }
        let mut out = Vec::new();
        tns::write_marker(&mut out, marker::RESET);
        self.send(&out)?;
        loop {
            let packet = self.packet()?;
            if packet.kind == kind::MARKER && packet.body.get(2) == Some(&marker::RESET) {
                return Ok(());
            }
        }
    }
}

/// A session through the listener.
pub struct NetSession {
    wire: Wire,
    sequence: u8,
    session_id: u32,
    warning: Option<String>,
    /// What is sent ahead of the next statement.
    before: Vec<u8>,
    last_cursor: u16,
}

impl NetSession {
    /// Connects and logs on.
    ///
    /// # Errors
    /// TNS-12541 and its like where nobody listens; the listener's refusal (TNS-12514, …); the server's (ORA-01017, …).
    pub fn connect(at: &NetAddress, user: &str, password: &str) -> ClientResult<NetSession> {
        NetSession::open(at, user, password, mode::LOGON, None)
    }

    /// Connects, and changes the password, which may have expired.
    ///
    /// # Errors
    /// As [`NetSession::connect`], and those of ALTER USER.
    pub fn connect_changing(at: &NetAddress, user: &str, password: &str, new: &str) -> ClientResult<NetSession> {
        NetSession::open(at, user, password, 0, Some(new))
    }

    /// Connects AS SYSDBA.
    ///
    /// # Errors
    /// As [`NetSession::connect`].
    pub fn connect_as_sysdba(at: &NetAddress, user: &str, password: &str) -> ClientResult<NetSession> {
        NetSession::open(at, user, password, mode::LOGON | mode::SYSDBA, None)
    }

    fn open(at: &NetAddress, user: &str, password: &str, mode: u32, new: Option<&str>) -> ClientResult<NetSession> {
        let mut wire = accepted(at)?;
        agree(&mut wire)?;
        let (session_id, warning) = log_on(&mut wire, user, password, mode, new)?;
        Ok(NetSession { wire, sequence: 2, session_id, warning, before: Vec::new(), last_cursor: 0 })
    }

    /// What the server said of the logon: ORA-28002.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// The session's number.
    pub fn session_id(&self) -> u32 {
        self.session_id
    }

    fn next(&mut self) -> u8 {
        self.sequence = self.sequence.checked_add(1).unwrap_or(1);
        self.sequence
    }

    fn ask(&mut self, message: &[u8], columns: &[Column]) -> ClientResult<Answer> {
        self.wire.send_message(message)?;
        let answer = self.wire.message(|r| reply::read_answer(r, columns, Dialect::USUAL))?;
        failed(&answer.outcome).map_or(Ok(answer), Err)
    }

    /// Runs a query and fetches all its rows.
    ///
    /// # Errors
    /// Those of the query.
    pub fn query(&mut self, sql: &str) -> ClientResult<Vec<Vec<Value>>> {
        let options = option::PARSE | option::EXECUTE | option::FETCH | option::NOT_A_BLOCK;
        let execute =
            Execute { options, sql: Some(sql.into()), prefetch: FETCH_ROWS, is_query: true, ..Execute::default() };
        let first = self.execute_call(&execute)?;
        let columns = first.columns.unwrap_or_default();
        let (mut rows, mut outcome) = (first.rows, first.outcome);
        let cursor = outcome.cursor;
        while outcome.error != NO_DATA_FOUND {
            let mut message = Vec::new();
            let sequence = self.next();
            call::write_fetch(cursor.into(), FETCH_ROWS, sequence, &mut message);
            let more = self.ask(&message, &columns)?;
            rows.extend(more.rows);
            outcome = more.outcome;
        }
        self.close_cursor(cursor);
        Ok(rows)
    }

    /// Runs what is no query; gives the rows it changed.
    ///
    /// # Errors
    /// Those of the statement.
    pub fn execute(&mut self, sql: &str) -> ClientResult<u64> {
        let options = option::PARSE | option::EXECUTE;
        let execute = Execute { options, sql: Some(sql.into()), count: 1, ..Execute::default() };
        let answer = self.execute_call(&execute)?;
        self.close_cursor(answer.outcome.cursor);
        Ok(answer.outcome.rows)
    }

    fn execute_call(&mut self, execute: &Execute) -> ClientResult<Answer> {
        let mut message = std::mem::take(&mut self.before);
        let sequence = self.next();
        execute.write(sequence, &[], &mut message).map_err(ClientError::Protocol)?;
        self.ask(&message, &[])
    }

    /// Sends the call `which` with `numbers` for the last statement that was run, as no driver would: for tests of what
    /// a server bears.
    ///
    /// # Errors
    /// Those of the call.
    pub fn call_again(&mut self, which: u8, numbers: &[u32]) -> ClientResult<u64> {
        let sequence = self.next();
        let mut message = vec![message::FUNCTION, which, sequence];
        let mut w = net::oracle::field::Writer::new(&mut message);
        w.number(self.last_cursor);
        numbers.iter().for_each(|n| w.number(*n));
        self.ask(&message, &[]).map(|answer| answer.outcome.rows)
    }

    /// The server forgets the statement with the next one.
    fn close_cursor(&mut self, cursor: u16) {
        self.last_cursor = cursor;
        call::write_close_cursor(cursor.into(), &mut self.before);
    }

    /// Asks whether the server is there.
    ///
    /// # Errors
    /// It is not.
    pub fn ping(&mut self) -> ClientResult<()> {
        self.simple(function::PING)
    }

    /// The certificate by which the server has shown who it is, if the connection is encrypted.
    pub fn certificate(&self) -> Option<Vec<u8>> {
        self.wire.stream.certificate()
    }

    /// What breaks the call that runs, or the next one, from another thread.
    ///
    /// # Errors
    /// No descriptor to be had; the connection is encrypted, so that one thread alone can write to it.
    pub fn breaker(&self) -> ClientResult<impl FnMut() + Send + 'static> {
        let Stream::Plain(stream) = &self.wire.stream else { return Err(lost("the connection is encrypted")) };
        let mut stream = stream.try_clone().map_err(|e| lost(&e.to_string()))?;
        Ok(move || {
            let mut out = Vec::new();
            tns::write_marker(&mut out, marker::INTERRUPT);
            // A connection that is gone has no call to break.
            let _ = stream.write_all(&out);
        })
    }

    fn simple(&mut self, which: u8) -> ClientResult<()> {
        let mut message = Vec::new();
        let sequence = self.next();
        call::write_simple(which, sequence, &mut message);
        self.ask(&message, &[]).map(drop)
    }

    /// Ends the session: what is open is committed.
    ///
    /// # Errors
    /// A commit that failed.
    pub fn logoff(mut self) -> ClientResult<()> {
        self.simple(function::LOGOFF)?;
        let mut out = Vec::new();
        tns::write_end(&mut out);
        self.wire.send(&out)
    }
}

/// How far a [`Stranger`] goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It says nothing.
    Silent,
    /// It has been accepted.
    Accepted,
    /// Versions and data types are agreed.
    Agreed,
    /// It has named a user and got the challenge.
    Named,
}

/// A connection that stops before it proves anything: what a listener must bear.
pub struct Stranger {
    wire: Wire,
    challenge: Pairs,
}

impl Stranger {
    /// Connects and goes as far as `stage`, as `user`.
    ///
    /// # Errors
    /// As those of [`NetSession::connect`] that come before the password.
    pub fn open(at: &NetAddress, user: &str, stage: Stage) -> ClientResult<Stranger> {
        let mut wire = match stage {
            Stage::Silent => Wire::of(at)?,
            _ => accepted(at)?,
        };
        if matches!(stage, Stage::Agreed | Stage::Named) {
            agree(&mut wire)?;
        }
        let challenge = match stage {
            Stage::Named => phase(&mut wire, &first_message(user), function::AUTH_PHASE_ONE)?.0,
            _ => Pairs::default(),
        };
        Ok(Stranger { wire, challenge })
    }

    /// The salt of the user's verifier.
    pub fn salt(&self) -> &str {
        self.challenge.get("AUTH_VFR_DATA").unwrap_or_default()
    }

    /// Names a user, after the last one's password was refused.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn name(&mut self, user: &str) -> ClientResult<()> {
        (self.challenge, _) = phase(&mut self.wire, &first_message(user), function::AUTH_PHASE_ONE)?;
        Ok(())
    }

    /// Sends a wrong password of the user it has named: noise, which costs a guesser less than a guess.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn guess(&mut self, user: &str) -> ClientResult<()> {
        let noise: [u8; 80] = os::random::bytes().map_err(|e| lost(&e.to_string()))?;
        let digits: String = noise.iter().map(|byte| format!("{byte:02X}")).collect();
        let mut pairs = Pairs::default();
        pairs.push("AUTH_SESSKEY", &digits[..64], 1);
        pairs.push("AUTH_PBKDF2_SPEEDY_KEY", &digits, 0);
        pairs.push("AUTH_PASSWORD", &digits[..64], 0);
        let second = Logon { sequence: 2, user: user.into(), mode: mode::LOGON | mode::WITH_PASSWORD, pairs };
        let mut out = Vec::new();
        second.write(function::AUTH_PHASE_TWO, &mut out);
        self.wire.send_message(&out)
    }

    /// The number of the error that answers the password.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn refusal(&mut self) -> ClientResult<u32> {
        Ok(self.wire.message(|r| reply::read_answer(r, &[], Dialect::USUAL))?.outcome.error)
    }

    /// Whether the server has closed the connection. Does not wait.
    pub fn is_gone(&self) -> bool {
        !matches!(os::socket::receive_now(self.wire.stream.socket(), &mut [0; 16]), Err(e) if e.kind() == ErrorKind::WouldBlock)
    }
}

/// Asks a listener whether it is there, and how long the answer took.
///
/// # Errors
/// TNS-12541 and its like where nobody listens.
pub fn ping(at: &NetAddress) -> ClientResult<Duration> {
    let began = Instant::now();
    let mut wire = Wire::open(at, &at.connect_data("(COMMAND=ping)"))?;
    let packet = wire.packet()?;
    match packet.kind {
        kind::REFUSE => match tns::refusal(&packet.body).map_err(ClientError::Protocol)? {
            0 => Ok(began.elapsed()),
            code => Err(refused(code)),
        },
        other => Err(ClientError::Protocol(WireError::UnknownTag(other))),
    }
}

/// Asks a listener whether it knows the service, and would open a session of it.
///
/// # Errors
/// TNS-12541 and its like where nobody listens; the listener's refusal (TNS-12514, …).
pub fn find_service(at: &NetAddress) -> ClientResult<()> {
    let mut wire = Wire::open(at, &at.connect_data(&format!("(SERVICE_NAME={})", at.service)))?;
    let packet = wire.packet()?;
    match packet.kind {
        kind::ACCEPT => Ok(()),
        kind::REFUSE => Err(refused(tns::refusal(&packet.body).map_err(ClientError::Protocol)?)),
        other => Err(ClientError::Protocol(WireError::UnknownTag(other))),
    }
}

/// A connection that the listener has accepted for a session.
fn accepted(at: &NetAddress) -> ClientResult<Wire> {
    let service = format!("(SERVICE_NAME={})(CID=(PROGRAM=latchwork)(HOST=localhost)(USER=latchwork))", at.service);
    let mut wire = Wire::open(at, &at.connect_data(&service))?;
    let packet = wire.packet()?;
    match packet.kind {
        kind::ACCEPT => {
            let accepted = Accept::decode(&packet.body).map_err(ClientError::Protocol)?;
            wire.sdu = accepted.sdu.min(SDU);
            wire.packets.accept(accepted.sdu);
            Ok(wire)
        }
        kind::REFUSE => Err(refused(tns::refusal(&packet.body).map_err(ClientError::Protocol)?)),
        other => Err(ClientError::Protocol(WireError::UnknownTag(other))),
    }
}

fn agree(wire: &mut Wire) -> ClientResult<()> {
    let mut out = Vec::new();
    handshake::write_protocol(&mut out, "latchwork");
    wire.send_message(&out)?;
    wire.message(|r| r.u8().and_then(|_| handshake::read_protocol_reply(r)))?;
    out.clear();
    handshake::write_data_types(&mut out);
    wire.send_message(&out)?;
    wire.message(|r| r.skip(3))
}

/// The message that names a user.
fn first_message(user: &str) -> Logon {
    let options = ConnectOptions::default();
    let mut pairs = Pairs::default();
    pairs.push("AUTH_TERMINAL", options.terminal, 0);
    pairs.push("AUTH_PROGRAM_NM", options.program, 0);
    pairs.push("AUTH_MACHINE", options.machine, 0);
    pairs.push("AUTH_PID", os::process::own_id().to_string(), 0);
    pairs.push("AUTH_SID", options.os_user, 0);
    Logon { sequence: 1, user: user.into(), mode: mode::LOGON, pairs }
}

/// Both messages of a logon; gives the session's number, and what the user is to be told.
fn log_on(
    wire: &mut Wire,
    user: &str,
    password: &str,
    mode: u32,
    new: Option<&str>,
) -> ClientResult<(u32, Option<String>)> {
    let (challenge, _) = phase(wire, &Logon { mode, ..first_message(user) }, function::AUTH_PHASE_ONE)?;
    let text = |key: &str| challenge.get(key).unwrap_or_default();
    let texts = [text("AUTH_SESSKEY"), text("AUTH_VFR_DATA"), text("AUTH_PBKDF2_CSK_SALT")];
    let random = os::random::bytes().map_err(|e| lost(&e.to_string()))?;
    let answer = o5logon::answer(password.as_bytes(), texts, &random);
    let answer = answer.ok_or(ClientError::Protocol(WireError::BadValue))?;
    let mut pairs = Pairs::default();
    pairs.push("AUTH_SESSKEY", answer.session_key, 1);
    pairs.push("AUTH_PBKDF2_SPEEDY_KEY", answer.speedy_key, 0);
    pairs.push("AUTH_PASSWORD", answer.password.as_str(), 0);
    let mut mode = mode | mode::WITH_PASSWORD;
    if let Some(new) = new {
        let noise = os::random::bytes().map_err(|e| lost(&e.to_string()))?;
        pairs.push("AUTH_NEWPASSWORD", answer.key.seal(new, &noise).as_str(), 0);
        mode |= mode::CHANGE_PASSWORD;
    }
    let second = Logon { sequence: 2, user: user.into(), mode, pairs };
    let (welcome, warning) = phase(wire, &second, function::AUTH_PHASE_TWO)?;
    // Whoever answers must have had the verifier, too.
    if !welcome.get("AUTH_SVR_RESPONSE").is_some_and(|sent| answer.key.is_server_response(sent)) {
        return Err(ClientError::Protocol(WireError::BadValue));
    }
    Ok((welcome.get("AUTH_SESSION_ID").and_then(|id| id.parse().ok()).unwrap_or(0), warning))
}

fn phase(wire: &mut Wire, logon: &Logon, which: u8) -> ClientResult<(Pairs, Option<String>)> {
    let mut out = Vec::new();
    logon.write(which, &mut out);
    wire.send_message(&out)?;
    let (pairs, answer) = wire.message(|r| {
        let mut pairs = Pairs::default();
        if r.left().first() == Some(&message::PARAMETERS) {
            r.skip(1)?;
            pairs = auth::read_reply(r)?;
        }
        Ok((pairs, reply::read_answer(r, &[], Dialect::USUAL)?))
    })?;
    let warning = answer.warning.map(|(_, text)| text);
    failed(&answer.outcome).map_or(Ok((pairs, warning)), Err)
}

/// The error of an outcome; the end of the rows is none.
fn failed(outcome: &Outcome) -> Option<ClientError> {
    let is_error = outcome.error != 0 && outcome.error != NO_DATA_FOUND;
    is_error.then(|| {
        ClientError::Server(Box::new(Failure {
            facility: "ORA".into(),
            code: outcome.error,
            text: outcome.message.clone(),
            position: Some(outcome.position),
            kind: StatementKind(outcome.command.into()),
            fatal: outcome.error == 28,
        }))
    })
}

pub(crate) fn refused(code: u32) -> ClientError {
    let e = Ora::make(Facility::Tns, code, &[]);
    let failure = Failure { facility: "TNS".into(), code, text: e.to_string(), fatal: true, ..Failure::default() };
    ClientError::Server(Box::new(failure))
}

fn unreachable_at(at: &NetAddress, e: &std::io::Error) -> ClientError {
    let code = if e.kind() == ErrorKind::ConnectionRefused { 12541 } else { 12545 };
    match refused(code) {
        ClientError::Server(mut f) => {
            f.text = format!("{}\n{}:{}: {e}", f.text, at.host, at.port);
            ClientError::Server(f)
        }
        other => other,
    }
}

fn lost(why: &str) -> ClientError {
    ClientError::Disconnected(why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_on_the_network_is_told_from_a_name() {
        for place in
            ["//db/sales", "db:1521/sales", "(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=h)(PORT=7)))", "[::1]:1"]
        {
            assert!(NetAddress::is_meant_by(place), "{place}");
        }
        for name in ["log2perf", "sales.example.com", "dir/db", ""] {
            assert!(!NetAddress::is_meant_by(name), "{name}");
        }
        let at = |text: &str| NetAddress::parse(text).unwrap();
        assert!(at("127.0.0.1:7/a").leads_to(&at("127.0.0.1:7/b")) && at("127.0.0.1:7").leads_to(&at("0.0.0.0:7")));
        assert!(!at("127.0.0.1:7").leads_to(&at("127.0.0.1:8")) && !at("192.0.2.1:7").leads_to(&at("127.0.0.1:7")));
    }

    #[test]
    fn an_address_is_written_in_several_ways() {
        let is = |text: &str, host: &str, port: u16, service: &str| {
            let want = NetAddress { host: host.into(), port, service: service.into(), tls: None };
            assert_eq!(NetAddress::parse(text), Some(want), "{text}");
        };
        is("db", "db", 1521, "");
        is("db:1522", "db", 1522, "");
        is("//db:1522/sales", "db", 1522, "sales");
        is("db/sales", "db", 1521, "sales");
        is("[::1]:1522/sales", "::1", 1522, "sales");
        is("(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=h)(PORT=7))(CONNECT_DATA=(SERVICE_NAME=s)))", "h", 7, "s");
        is("tcp://db/sales", "db", 1521, "sales");
        let tls = |text: &str, wallet: Option<&str>| {
            let at = NetAddress::parse(text).unwrap();
            assert_eq!((at.host.as_str(), at.port, at.service.as_str()), ("db", 2484, "s"), "{text}");
            assert_eq!(at.tls, Some(Trust { wallet: wallet.map(PathBuf::from) }), "{text}");
        };
        tls("tcps://db:2484/s", None);
        tls("TCPS://db:2484/s?wallet_location=/w", Some("/w"));
        tls("(DESCRIPTION=(ADDRESS=(PROTOCOL=TCPS)(HOST=db)(PORT=2484))(CONNECT_DATA=(SERVICE_NAME=s)))", None);
        tls(
            "(DESCRIPTION=(ADDRESS=(PROTOCOL=tcps)(HOST=db)(PORT=2484))(CONNECT_DATA=(SERVICE_NAME=s))\
             (SECURITY=(MY_WALLET_DIRECTORY=/w)))",
            Some("/w"),
        );
        for none in ["", ":1", "h:x", "(", "(ADDRESS=(PORT=1))", "ipc://h:1/s", "tcps://h:1/s?retry=1", "//h/s?x"] {
            assert_eq!(NetAddress::parse(none), None, "{none}");
        }
    }
}
