//! A session through the listener, in the way of drivers: Oracle Net over TCP, with a password that is proved but not
//! sent.
//!
//! [`NetSession`] has the calls for measurements and tests: connect, run statements without binds, fetch, break, commit
//! by statement. [`crate::remote`] has the further calls of a [`crate::Client`] over the network.

use crate::address::NetAddress;
use crate::error::{ClientError, ClientResult, refused};
use crate::names::{Description, Route, tns as tns_error};
use crate::options::ConnectOptions;
use crate::tls::Stream;
use net::StatementKind;
use net::local::{Failure, WireError};
use net::oracle::auth::{self, Logon, Pairs, mode};
use net::oracle::call::{self, Execute, option};
use net::oracle::descriptor::{Content, Entry};
use net::oracle::field::Reader;
use net::oracle::handshake::{self, Client as Dialect};
use net::oracle::o5logon::{self, Stretched};
use net::oracle::reply::{self, Answer, NO_DATA_FOUND, Outcome};
use net::oracle::tns::{self, Accept, Connect, Packet, PacketBuffer, kind, marker};
use net::oracle::value::Column;
use net::oracle::{function, message};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};
use types::Value;

/// Rows of each fetch.
const FETCH_ROWS: u32 = 100;
const SDU: u32 = 8192;

/// The packets of a connection.
pub(crate) struct Wire {
    pub(crate) stream: Stream,
    packets: PacketBuffer,
    scratch: Vec<u8>,
    sdu: u32,
    /// The error code for a server that does not answer in time.
    silence: u32,
    /// The server has reset the call in progress.
    pub(crate) was_reset: bool,
    /// The password may be proved with an 11G verifier.
    takes_11g: bool,
}

/// A packet that owns its bytes.
struct Owned {
    kind: u8,
    body: Vec<u8>,
}

impl Wire {
    fn of(at: &NetAddress) -> ClientResult<Wire> {
        Wire::within(at, Duration::MAX, None)
    }

    /// Connects; `limit` applies to TCP, the deadline to everything until the listener has answered.
    fn within(at: &NetAddress, limit: Duration, deadline: Option<Instant>) -> ClientResult<Wire> {
        let unreachable = |e: std::io::Error| unreachable_at(at, &e);
        let addresses = (at.host.as_str(), at.port).to_socket_addrs().map_err(unreachable)?;
        let mut tried = Err(unreachable(std::io::Error::other("the name has no address")));
        for address in addresses {
            let left = left_until(deadline, at)?;
            let limit = left.map_or(limit, |left| left.min(limit));
            let connected = match limit {
                Duration::MAX => TcpStream::connect(address),
                limit => TcpStream::connect_timeout(&address, limit),
            };
            tried = connected.map_err(unreachable);
            if tried.is_ok() {
                break;
            }
        }
        let stream = tried?;
        stream.set_nodelay(true).map_err(|e| lost(&e.to_string()))?;
        stream.set_read_timeout(left_until(deadline, at)?).map_err(|e| lost(&e.to_string()))?;
        let stream = Stream::open(stream, &at.host, at.tls.as_ref())?;
        let scratch = vec![0; 16 << 10];
        Ok(Wire {
            stream,
            packets: PacketBuffer::new(),
            scratch,
            sdu: SDU,
            silence: CONNECT_TIMEOUT,
            was_reset: false,
            takes_11g: true,
        })
    }

    fn open(at: &NetAddress, data: &str) -> ClientResult<Wire> {
        let mut wire = Wire::of(at)?;
        wire.ask_for(data, SDU)?;
        Ok(wire)
    }

    fn ask_for(&mut self, data: &str, sdu: u32) -> ClientResult<()> {
        if data.len() > tns::CONNECT_DATA_LIMIT {
            return Err(tns_error(12154, "the connect data is too long"));
        }
        let mut out = Vec::new();
        Connect::encode(data.as_bytes(), sdu, &mut out);
        self.send(&out)
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> ClientResult<()> {
        self.stream.write_all(bytes).map_err(|e| lost(&e.to_string()))
    }

    pub(crate) fn send_message(&mut self, message: &[u8]) -> ClientResult<()> {
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
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return Err(tns_error(self.silence, "the server did not answer in time"));
                }
                Err(e) => return Err(lost(&e.to_string())),
            }
        }
    }

    /// Sets the time limit for answers from here on.
    fn wait_at_most(&mut self, limit: Option<Duration>) -> ClientResult<()> {
        self.silence = RECEIVE_TIMEOUT;
        self.stream.socket().set_read_timeout(limit).map_err(|e| lost(&e.to_string()))
    }

    /// The next complete message, parsed by `read`.
    pub(crate) fn message<T>(
        &mut self,
        mut read: impl FnMut(&mut Reader<'_>) -> Result<T, WireError>,
    ) -> ClientResult<T> {
        let mut bytes = Vec::new();
        loop {
            let packet = self.packet()?;
            match packet.kind {
                kind::DATA => bytes.extend_from_slice(packet.body.get(2..).unwrap_or_default()),
                kind::MARKER => {
                    bytes.clear();
                    self.was_reset = true;
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

    /// Answers a reset by the server: both sides drop the call in progress.
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

/// Error codes for a server that does not answer: before the listener has answered, and afterwards.
const CONNECT_TIMEOUT: u32 = 12170;
const RECEIVE_TIMEOUT: u32 = 12609;

/// The time left until the deadline.
fn left_until(deadline: Option<Instant>, at: &NetAddress) -> ClientResult<Option<Duration>> {
    let Some(deadline) = deadline else { return Ok(None) };
    let left = deadline.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(tns_error(CONNECT_TIMEOUT, &format!("{}:{}", at.host, at.port))),
        false => Ok(Some(left)),
    }
}

/// A session through the listener.
pub struct NetSession {
    pub(crate) wire: Wire,
    sequence: u8,
    /// The server's data about the session.
    pub(crate) welcome: Pairs,
    warning: Option<String>,
    /// Bytes to send before the next statement.
    pub(crate) before: Vec<u8>,
    last_cursor: u16,
    pooled: Option<(u32, u32)>,
}

/// The user that logs on, and the requested privilege.
pub(crate) struct UserLogon<'a> {
    pub user: &'a str,
    pub password: &'a str,
    pub mode: u32,
    pub new: Option<&'a str>,
    pub options: &'a ConnectOptions,
}

impl NetSession {
    /// Connects and logs on.
    ///
    /// # Errors
    /// TNS-12541 and the like without a listener; the listener's refusal (TNS-12514, …); the server's (ORA-01017, …).
    pub fn connect(at: &NetAddress, user: &str, password: &str) -> ClientResult<NetSession> {
        NetSession::open(at, user, password, mode::LOGON, None)
    }

    /// Connects and changes the password, which may have expired.
    ///
    /// # Errors
    /// As [`NetSession::connect`], and those of ALTER USER.
    pub fn connect_changing(at: &NetAddress, user: &str, password: &str, new: &str) -> ClientResult<NetSession> {
        NetSession::open(at, user, password, 0, Some(new))
    }

    /// Connects to the connection pool, with a connection class and NEW or SELF as purity.
    ///
    /// # Errors
    /// As [`NetSession::connect`].
    pub fn connect_pooled(
        at: &NetAddress,
        user: &str,
        password: &str,
        class: &str,
        purity: &str,
    ) -> ClientResult<NetSession> {
        let mut route = Route::to(at);
        let description = &mut route.descriptions[0];
        for (key, value) in [("SERVER", "pooled"), ("POOL_CONNECTION_CLASS", class), ("POOL_PURITY", purity)] {
            let value = Content::Text(value.into());
            description.connect_data.push(Entry { key: key.into(), value });
        }
        let options = ConnectOptions::default();
        let wire = accepted_by(at, description, &options)?;
        NetSession::log_on(
            wire,
            &UserLogon { user, password, mode: mode::LOGON, new: None, options: &options },
            &mut None,
        )
    }

    /// Returns the session to the connection pool; the next call gets one again. With `ends` no session is needed any
    /// more.
    ///
    /// # Errors
    /// The connection has ended.
    pub fn release(&mut self, ends: bool) -> ClientResult<()> {
        // The next session does not know the cursors of this one.
        let mut message = std::mem::take(&mut self.before);
        message.clear();
        call::write_release(ends, self.next(), &mut message);
        self.wire.send_message(&message)
    }

    /// The session of the last call, if the connection pool assigned one.
    pub fn pooled_session(&self) -> Option<(u32, u32)> {
        self.pooled
    }

    /// Connects AS SYSDBA.
    ///
    /// # Errors
    /// As [`NetSession::connect`].
    pub fn connect_as_sysdba(at: &NetAddress, user: &str, password: &str) -> ClientResult<NetSession> {
        NetSession::open(at, user, password, mode::LOGON | mode::SYSDBA, None)
    }

    /// Like [`NetSession::connect`], with `known` from an earlier logon of the same user, which saves stretching the
    /// password.
    ///
    /// # Errors
    /// As [`NetSession::connect`].
    pub fn connect_again(
        at: &NetAddress,
        user: &str,
        password: &str,
        known: &mut Option<Stretched>,
    ) -> ClientResult<NetSession> {
        let options = ConnectOptions::default();
        let who = UserLogon { user, password, mode: mode::LOGON, new: None, options: &options };
        NetSession::log_on(accepted(at)?, &who, known)
    }

    fn open(at: &NetAddress, user: &str, password: &str, mode: u32, new: Option<&str>) -> ClientResult<NetSession> {
        let options = ConnectOptions::default();
        NetSession::log_on(accepted(at)?, &UserLogon { user, password, mode, new, options: &options }, &mut None)
    }

    /// Logs on through the first address of the route whose listener accepts the connection.
    pub(crate) fn by_route(route: &Route, who: &UserLogon<'_>) -> ClientResult<NetSession> {
        let mut last = tns_error(12533, "the connect data contain no address");
        for description in route.in_turn() {
            for attempt in 0..=description.retries {
                if attempt > 0 {
                    os::clock::sleep(description.retry_pause);
                }
                for at in description.in_turn() {
                    match accepted_by(at, description, who.options) {
                        Ok(mut wire) => {
                            wire.wait_at_most(description.receive_limit.or(description.connect_limit))?;
                            let mut session = NetSession::log_on(wire, who, &mut None)?;
                            session.wire.wait_at_most(description.receive_limit)?;
                            return Ok(session);
                        }
                        Err(e) => last = e,
                    }
                }
            }
        }
        Err(as_a_program_says(last))
    }

    fn log_on(mut wire: Wire, who: &UserLogon<'_>, known: &mut Option<Stretched>) -> ClientResult<NetSession> {
        agree(&mut wire)?;
        let (welcome, warning) = log_on(&mut wire, who, known)?;
        Ok(NetSession { wire, sequence: 2, welcome, warning, before: Vec::new(), last_cursor: 0, pooled: None })
    }

    /// The server's warning at the logon: ORA-28002.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// The session's number.
    pub fn session_id(&self) -> u32 {
        self.welcome.get("AUTH_SESSION_ID").and_then(|id| id.parse().ok()).unwrap_or(0)
    }

    /// The number of the session's server process.
    pub fn server_process(&self) -> Option<i32> {
        self.welcome.get("AUTH_SERVER_PID")?.parse().ok().filter(|pid| *pid > 0)
    }

    pub(crate) fn next(&mut self) -> u8 {
        self.sequence = self.sequence.checked_add(1).unwrap_or(1);
        self.sequence
    }

    pub(crate) fn ask(&mut self, message: &[u8], columns: &[Column]) -> ClientResult<Answer> {
        self.wire.send_message(message)?;
        let answer = self.wire.message(|r| reply::read_answer(r, columns, Dialect::USUAL))?;
        self.pooled = answer.session;
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

    /// Runs a statement that is not a query; returns the number of changed rows.
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

    /// Sends the call `which` with `numbers` for the last statement, as no driver does, to test the server.
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

    /// Sends the first packet of a call without the rest, to test how long a server waits.
    ///
    /// # Errors
    /// The connection has ended.
    pub fn begin_call(&mut self) -> ClientResult<()> {
        let sql = Some("-".repeat(2 * self.wire.sdu as usize));
        let mut message = Vec::new();
        let execute = Execute { sql, ..Execute::default() };
        execute.write(self.next(), &[], &mut message).map_err(ClientError::Protocol)?;
        let mut out = Vec::new();
        tns::write_data(&mut out, &message, self.wire.sdu);
        self.wire.send(&out[..self.wire.sdu as usize])
    }

    /// Closes a cursor; the message is sent with the next statement.
    fn close_cursor(&mut self, cursor: u16) {
        self.last_cursor = cursor;
        call::write_close_cursor(cursor.into(), &mut self.before);
    }

    /// Checks that the server answers.
    ///
    /// # Errors
    /// It does not.
    pub fn ping(&mut self) -> ClientResult<()> {
        self.simple(function::PING)
    }

    /// The server's certificate, if the connection is encrypted.
    pub fn certificate(&self) -> Option<Vec<u8>> {
        self.wire.stream.certificate()
    }

    /// A handle by which another thread breaks the present call, or the next one.
    ///
    /// # Errors
    /// No descriptor was available.
    pub fn breaker(&self) -> ClientResult<impl FnMut() + Send + 'static> {
        let mut stream = self.wire.stream.another().map_err(|e| lost(&e.to_string()))?;
        Ok(move || {
            let mut out = Vec::new();
            tns::write_marker(&mut out, marker::INTERRUPT);
            // A broken connection has no call to break.
            let _ = stream.write_all(&out);
        })
    }

    pub(crate) fn simple(&mut self, which: u8) -> ClientResult<()> {
        let mut message = Vec::new();
        let sequence = self.next();
        call::write_simple(which, sequence, &mut message);
        self.ask(&message, &[]).map(drop)
    }

    /// Ends the session: an open transaction is committed.
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

/// The point at which a [`Stranger`] stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Nothing was sent.
    Silent,
    /// The listener has accepted the connection.
    Accepted,
    /// Versions and data types are agreed.
    Agreed,
    /// The user was named and the challenge received.
    Named,
}

/// A connection that stops before the password is proved, to test the listener.
pub struct Stranger {
    wire: Wire,
    challenge: Pairs,
}

impl Stranger {
    /// Connects and proceeds to `stage`, as `user`.
    ///
    /// # Errors
    /// Those of [`NetSession::connect`] that come before the password.
    pub fn open(at: &NetAddress, user: &str, stage: Stage) -> ClientResult<Stranger> {
        let mut wire = match stage {
            Stage::Silent => Wire::of(at)?,
            _ => accepted(at)?,
        };
        if matches!(stage, Stage::Agreed | Stage::Named) {
            agree(&mut wire)?;
        }
        let challenge = match stage {
            Stage::Named => {
                phase(&mut wire, &first_message(user, &ConnectOptions::default()), function::AUTH_PHASE_ONE)?.0
            }
            _ => Pairs::default(),
        };
        Ok(Stranger { wire, challenge })
    }

    /// The salt of the user's verifier.
    pub fn salt(&self) -> &str {
        self.challenge.get("AUTH_VFR_DATA").unwrap_or_default()
    }

    /// The type of the user's verifier.
    pub fn verifier_kind(&self) -> u32 {
        self.challenge.flags("AUTH_VFR_DATA")
    }

    /// Names a user, after the last one's password was refused.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn name(&mut self, user: &str) -> ClientResult<()> {
        (self.challenge, _) =
            phase(&mut self.wire, &first_message(user, &ConnectOptions::default()), function::AUTH_PHASE_ONE)?;
        Ok(())
    }

    /// Sends a wrong password for the named user: random bytes, which cost less to make than a real guess.
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

    /// The error number of the answer to the password.
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

/// Checks that a listener answers, and returns the time that the answer took.
///
/// # Errors
/// TNS-12541 and the like without a listener.
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

/// Checks the listeners of a route until one answers, and reports each attempt; returns the time of that answer.
///
/// # Errors
/// Those of the last listener.
pub fn ping_route(route: &Route, tell: &mut dyn FnMut(&str)) -> ClientResult<Duration> {
    let mut last = refused(12533);
    for description in route.in_turn() {
        for at in description.in_turn() {
            tell(&at.connect_data(&description.connect_data.iter().map(Entry::to_string).collect::<String>()));
            match ping(at) {
                Ok(took) => return Ok(took),
                Err(e) => last = e,
            }
        }
    }
    Err(last)
}

/// A connection that the listener has accepted for a session.
fn accepted(at: &NetAddress) -> ClientResult<Wire> {
    let route = Route::to(at);
    accepted_by(at, &route.descriptions[0], &ConnectOptions::default())
}

/// Like [`accepted`], with the description's parameters of the connection and the session.
fn accepted_by(at: &NetAddress, wanted: &Description, options: &ConnectOptions) -> ClientResult<Wire> {
    if wanted.requires_protection && at.tls.is_none() {
        return Err(refused(12660));
    }
    let deadline = wanted.connect_limit.map(|limit| Instant::now() + limit);
    let sdu = wanted.sdu.unwrap_or(SDU).clamp(tns::SDU_MIN, tns::SDU_MAX);
    let text = |key: &str, value: &str| Entry { key: key.into(), value: Content::Text(value.into()) };
    let mut inside: String = wanted.connect_data.iter().map(Entry::to_string).collect();
    let from = [text("PROGRAM", &options.program), text("HOST", &options.machine), text("USER", &options.os_user)];
    inside.push_str(&Entry { key: "CID".into(), value: Content::List(from.into()) }.to_string());
    let mut data = at.connect_data(&inside);
    let (mut place, mut turns) = (at.clone(), 0);
    let mut wire = Wire::within(&place, wanted.transport_limit, deadline)?;
    wire.ask_for(&data, sdu)?;
    loop {
        let packet = wire.packet()?;
        match packet.kind {
            kind::ACCEPT => {
                if Accept::requires_native(&packet.body) {
                    return Err(refused(12660));
                }
                let accepted = Accept::decode(&packet.body).map_err(ClientError::Protocol)?;
                wire.sdu = accepted.sdu.min(sdu);
                wire.packets.accept(accepted.sdu);
                wire.takes_11g = wanted.takes_11g;
                return Ok(wire);
            }
            kind::REFUSE => return Err(refused(tns::refusal(&packet.body).map_err(ClientError::Protocol)?)),
            _ if turns >= TURNS_MAX => return Err(refused(12547)),
            kind::RESEND => wire.ask_for(&data, sdu)?,
            kind::REDIRECT => {
                let text = redirection(&mut wire, &packet)?;
                let (address, other) = text.split_once('\0').unwrap_or((&text, &data));
                let entry = Entry::parse(address).and_then(|entry| NetAddress::of_entry(&entry, &at.service));
                place = entry.ok_or_else(|| refused(12533))?;
                // A TLS listener must not redirect its client to an unencrypted address.
                if at.tls.is_some() && place.tls.is_none() {
                    return Err(refused(12533));
                }
                place.tls = place.tls.map(|own| at.tls.clone().unwrap_or(own));
                data = other.trim_end_matches('\0').to_string();
                wire = Wire::within(&place, wanted.transport_limit, deadline)?;
                wire.ask_for(&data, sdu)?;
            }
            other => return Err(ClientError::Protocol(WireError::UnknownTag(other))),
        }
        turns += 1;
    }
}

/// Largest number of redirections and of requests to send the connect data again.
const TURNS_MAX: u32 = 8;

/// The address of a redirection: in the packet, or in the next one.
fn redirection(wire: &mut Wire, packet: &Owned) -> ClientResult<String> {
    let inside = packet.body.get(2..).unwrap_or_default();
    let bytes = match inside.is_empty() {
        true => wire.packet()?.body.get(2..).unwrap_or_default().to_vec(),
        false => inside.to_vec(),
    };
    String::from_utf8(bytes).map_err(|_| ClientError::Protocol(WireError::NotUtf8))
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
fn first_message(user: &str, options: &ConnectOptions) -> Logon {
    let mut pairs = Pairs::default();
    pairs.push("AUTH_TERMINAL", options.terminal.as_str(), 0);
    pairs.push("AUTH_PROGRAM_NM", options.program.as_str(), 0);
    pairs.push("AUTH_MACHINE", options.machine.as_str(), 0);
    pairs.push("AUTH_PID", os::process::own_id().to_string(), 0);
    pairs.push("AUTH_SID", options.os_user.as_str(), 0);
    Logon { sequence: 1, user: user.into(), mode: mode::LOGON, pairs }
}

/// Exchanges both messages of a logon; returns the server's data about the session, and a warning for the user.
fn log_on(
    wire: &mut Wire,
    who: &UserLogon<'_>,
    known: &mut Option<Stretched>,
) -> ClientResult<(Pairs, Option<String>)> {
    let UserLogon { user, password, mode, new, options } = *who;
    let (challenge, _) = phase(wire, &Logon { mode, ..first_message(user, options) }, function::AUTH_PHASE_ONE)?;
    let text = |key: &str| challenge.get(key).unwrap_or_default();
    let texts = [text("AUTH_SESSKEY"), text("AUTH_VFR_DATA"), text("AUTH_PBKDF2_CSK_SALT")];
    let random = os::random::bytes().map_err(|e| lost(&e.to_string()))?;
    let kind = challenge.flags("AUTH_VFR_DATA");
    if kind != o5logon::VERIFIER_12C && !wire.takes_11g {
        return Err(as_a_program_says(refused(28040)));
    }
    let answer = o5logon::answer(password.as_bytes(), known, texts, kind, &random);
    let answer = answer.ok_or(ClientError::Protocol(WireError::BadValue))?;
    let mut pairs = Pairs::default();
    pairs.push("AUTH_SESSKEY", answer.session_key, 1);
    if let Some(key) = answer.speedy_key {
        pairs.push("AUTH_PBKDF2_SPEEDY_KEY", key, 0);
    }
    pairs.push("AUTH_PASSWORD", answer.password.as_str(), 0);
    let mut mode = mode | mode::WITH_PASSWORD;
    if let Some(new) = new {
        let noise = os::random::bytes().map_err(|e| lost(&e.to_string()))?;
        pairs.push("AUTH_NEWPASSWORD", answer.key.seal(new, &noise).as_str(), 0);
        mode |= mode::CHANGE_PASSWORD;
    }
    let second = Logon { sequence: 2, user: user.into(), mode, pairs };
    let (welcome, warning) = phase(wire, &second, function::AUTH_PHASE_TWO)?;
    // The server must prove that it had the verifier, too.
    if !welcome.get("AUTH_SVR_RESPONSE").is_some_and(|sent| answer.key.is_server_response(sent)) {
        return Err(ClientError::Protocol(WireError::BadValue));
    }
    Ok((welcome, warning))
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

/// Errors after which there is no session.
const ENDS: [u32; 9] = [28, 1012, 1041, 1089, 1092, 2396, 3113, 3114, 3135];

/// The error of an outcome; the end of the rows is not an error.
pub(crate) fn failed(outcome: &Outcome) -> Option<ClientError> {
    let is_error = outcome.error != 0 && outcome.error != NO_DATA_FOUND;
    is_error.then(|| {
        ClientError::Server(Box::new(Failure {
            facility: "ORA".into(),
            code: outcome.error,
            text: outcome.message.clone(),
            position: Some(outcome.position),
            kind: StatementKind(outcome.command.into()),
            fatal: ENDS.contains(&outcome.error),
        }))
    })
}

/// Converts a listener's error to the program's own error.
fn as_a_program_says(e: ClientError) -> ClientError {
    match e {
        ClientError::Server(mut f) => {
            f.facility = "ORA".into();
            f.text = f.text.replacen("TNS-", "ORA-", 1);
            ClientError::Server(f)
        }
        other => other,
    }
}

fn unreachable_at(at: &NetAddress, e: &std::io::Error) -> ClientError {
    let code = match e.kind() {
        ErrorKind::ConnectionRefused => 12541,
        ErrorKind::TimedOut | ErrorKind::WouldBlock => CONNECT_TIMEOUT,
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => 12543,
        _ => 12545,
    };
    match refused(code) {
        ClientError::Server(mut f) => {
            f.text = format!("{}\n{}:{}: {e}", f.text, at.host, at.port);
            ClientError::Server(f)
        }
        other => other,
    }
}

pub(crate) fn lost(why: &str) -> ClientError {
    ClientError::Disconnected(why.to_string())
}
