//! The listener process: it speaks with all clients that have not proved a password yet (invariant 7).
//!
//! One thread waits on all sockets. Such a connection is a record of some hundred bytes and a bounded part of a
//! message. All of them are bounded together, for each address, and in time. At a bound the oldest connection is
//! dropped: a client that means to log on does so within milliseconds. No process and no process slot is used.
//!
//! After a client has proved its password the process passes it to the supervisor, which hands it to a waiting server
//! process. For an encrypted connection it forks a copy of itself instead, which is a child of the supervisor, keeps
//! that connection alone and becomes its server process: so the keys of TLS need not be passed on.

use super::connect::Wished;
use super::connect::{self, Answer};
use super::logon;
use super::pool_client::Pooled;
use super::proved::Proved;
use super::sockets::{Listener, ListeningSocket, Native};
use super::tls::Transport;
use crate::alert::AlertLog;
use crate::spare::Inbox;
use instance::Instance;
use net::local::{WireError, WireResult};
use net::oracle::auth::Logon;
use net::oracle::call::{self, Request};
use net::oracle::field::Reader;
use net::oracle::handshake::{self, Client};
use net::oracle::native::{self, Agreement, Offer};
use net::oracle::o5logon::Challenge;
use net::oracle::tns::{self, Connect, NativeServices, Packet, PacketBuffer, kind};
use os::epoll::Epoll;
use os::process::Fork;
use os::signal::{self, SignalFd};
use params::Param;
use rustls::ServerConfig;
use session::Doorkeeper;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};
use types::{Ora, Result};

/// Largest number of bytes of a message before the client is known.
const MESSAGE_MAX: usize = 48 << 10;

/// Largest number of packets of a message before the client is known: the check whether a message is complete takes
/// longer the more has arrived.
const PACKETS_MAX: u32 = 128;

/// Bytes that all connections together may hold.
const HELD_MAX: usize = 32 << 20;

/// Accepted connections, and reads of one connection, before other connections have their turn.
const ACCEPTS_AT_ONCE: usize = 64;
const READS_AT_ONCE: usize = 4;

/// Time limit for the client to read a refusal.
const CLOSING_LIMIT: Duration = Duration::from_millis(200);

/// Descriptors kept free for files and for connections that are handed over.
const DESCRIPTORS_KEPT: u64 = 64;

/// Refusals of passwords are answered together at the end of an interval. The interval grows with the number of
/// refusals in this minute or the previous one: from that many refusals on, that long.
const INTERVALS: [(u64, Duration); 3] =
    [(0, Duration::from_millis(50)), (200, Duration::from_millis(250)), (2000, Duration::from_secs(1))];

/// Largest number of refusals that wait; the last one ends the interval.
const REFUSALS_MAX: usize = 4096;

/// Interval of the messages in the alert log about connections that were dropped for lack of room.
const TELL_EVERY: Duration = Duration::from_secs(60);

/// Interval of the checks whether wrong passwords that wait for the archiver can be written.
const HELD_LOOK: Duration = Duration::from_secs(1);

/// Tokens that stand for no connection; the first ones are those of the listening addresses.
const SIGNALS: u64 = u64::MAX;
const FIRST_CONNECTION: u64 = super::sockets::ADDRESSES_MAX as u64;

/// A connection that has not proved a password.
struct Pending {
    stream: Transport,
    from: Address,
    peer: SocketAddr,
    is_encrypted: bool,
    /// The requested service; empty for a SID.
    service: String,
    /// The pool attributes of the connect data, if a pooled server was requested.
    pooled: Option<Wished>,
    accepted: Instant,
    phase: Phase,
    packets: PacketBuffer,
    /// The longest packet; 0 until the connection is accepted.
    sdu: u32,
    message: Vec<u8>,
    /// Packets of the message.
    parts: u32,
    /// Bytes of memory counted for the connection.
    held: usize,
    /// The number of wrong passwords.
    failures: u64,
    native: Arc<Native>,
    /// The position on native services sent to the client, until they are agreed on.
    native_services: NativeServices,
    /// The client was told that the ends of responses are marked.
    reads_ends: bool,
}

/// The message that is expected.
enum Phase {
    Connect,
    ConnectData(Box<Connect>, Vec<u8>),
    Protocol,
    /// The client's part of the key exchange.
    NativeKey(Box<Agreement>),
    DataTypes,
    LogonOne(Client),
    LogonTwo(Client, Box<Named>),
    /// The proof has arrived, and its check takes long.
    Slow(Client, Box<Named>, Box<Logon>),
    /// The password was wrong; the client is told at the end of the interval.
    Wrong(Client),
    /// The client reads its refusal.
    Closing,
}

/// A client that has named a user.
struct Named {
    first: Logon,
    verifier: dictionary::Verifier,
    challenge: Challenge,
    made_ns: u64,
}

/// The next step for a connection.
enum Step {
    /// Waits for more bytes.
    Wait,
    /// Ends the connection.
    Drop,
    /// Closes the connection after the client has read the last message.
    Close,
    Slow,
    /// The password was wrong.
    Wrong(Box<Wrong>),
    Proved(Box<Proved>),
}

/// A wrong password, or the right one of a locked account, that is not answered yet. It is counted even if its
/// connection has ended by then.
struct Wrong {
    who: net::local::Logon,
    sequence: u8,
    /// The password is right, and the account is locked.
    is_right: bool,
    /// The answer, once the failure is counted.
    refusal: Option<Ora>,
}

/// The numbers of recently refused passwords, by minute.
#[derive(Debug, Default)]
struct Lately {
    minute: u64,
    now: u64,
    before: u64,
}

/// The rate of an address: a second's worth of connections at once, then one in turn.
#[derive(Debug)]
struct Rate {
    /// Connections per second; 0 for no limit.
    a_second: u32,
    left: f64,
    at: Instant,
    paused_until: Option<Instant>,
}

impl Rate {
    fn new(a_second: u32) -> Rate {
        Rate { a_second, left: a_second.into(), at: Instant::now(), paused_until: None }
    }

    /// Whether one more connection may be accepted now; otherwise a pause begins.
    fn take(&mut self, now: Instant) -> bool {
        if self.a_second == 0 {
            return true;
        }
        let most = f64::from(self.a_second);
        let came = now.saturating_duration_since(self.at).as_secs_f64() * most;
        (self.left, self.at) = ((self.left + came).min(most), now);
        let is_there = self.left >= 1.0;
        match is_there {
            true => self.left -= 1.0,
            false => self.paused_until = Some(now + Duration::from_secs_f64((1.0 - self.left) / most)),
        }
        is_there
    }

    /// Returns a unit that was not used.
    fn give_back(&mut self) {
        self.left += 1.0;
    }
}

impl Lately {
    /// Adds refusals of a minute, and returns the length of the next interval.
    fn add(&mut self, minute: u64, refusals: u64) -> Duration {
        if minute != self.minute {
            self.before = if minute == self.minute + 1 { self.now } else { 0 };
            (self.minute, self.now) = (minute, 0);
        }
        self.now += refusals;
        let all = self.now.max(self.before);
        INTERVALS.iter().rev().find(|(from, _)| all >= *from).map_or(INTERVALS[0].1, |(_, interval)| *interval)
    }
}

/// The origin by which connections are counted: an IPv4 address, or a network of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Address {
    V4(u32),
    V6(u64),
}

impl Address {
    fn of(socket: &SocketAddr) -> Address {
        match socket.ip().to_canonical() {
            IpAddr::V4(ip) => Address::V4(ip.to_bits()),
            IpAddr::V6(ip) => Address::V6((ip.to_bits() >> 64) as u64),
        }
    }
}

struct Gate<'a> {
    instance: &'static Instance,
    listener: &'a mut Listener,
    alert: &'a AlertLog,
    inbox: &'a Inbox,
    keeper: Doorkeeper,
    epoll: Epoll,
    /// By number, oldest first.
    pending: BTreeMap<u64, Pending>,
    by_address: HashMap<Address, BTreeSet<u64>>,
    closing: VecDeque<(Instant, u64)>,
    /// By listening address.
    rates: Vec<Rate>,
    slow: VecDeque<u64>,
    wrong: Vec<(u64, Box<Wrong>)>,
    /// The end of the interval, when a refusal waits.
    refuse_at: Option<Instant>,
    lately: Lately,
    /// SEC_MAX_FAILED_LOGIN_ATTEMPTS.
    failures_max: u64,
    began: Instant,
    next: u64,
    held: usize,
    max: usize,
    max_per_address: usize,
    limit: Duration,
    scratch: Vec<u8>,
    dropped: u64,
    told: Option<Instant>,
}

/// Runs the listener process until it is asked to end. In a copy that has become a server process this returns the
/// connection to serve.
///
/// # Errors
/// ORA-00020 without a free slot; no descriptors available.
pub fn run(
    instance: &'static Instance,
    listener: &mut Listener,
    inbox: &Inbox,
    alert: &AlertLog,
) -> Result<Option<Box<Proved>>> {
    let signals = SignalFd::new(&[signal::SIGTERM]).map_err(Ora::internal)?;
    let epoll = Epoll::new().map_err(Ora::internal)?;
    for (token, place) in (0u64..).zip(&listener.places) {
        epoll.add(&place.socket, token).map_err(Ora::internal)?;
        // A shorter queue than requested is the system's limit.
        let _ = os::socket::set_backlog(&place.socket, place.queue);
    }
    let rates = listener.places.iter().map(|place| Rate::new(place.rate)).collect();
    epoll.add(&signals, SIGNALS).map_err(Ora::internal)?;
    let descriptors = os::process::raise_descriptor_limit().saturating_sub(DESCRIPTORS_KEPT).max(16);
    let number = |param| instance.params().number(param).max(1) as u64;
    let mut gate = Gate {
        instance,
        listener,
        alert,
        inbox,
        keeper: Doorkeeper::open(instance, "LSNR")?,
        epoll,
        pending: BTreeMap::new(),
        by_address: HashMap::new(),
        closing: VecDeque::new(),
        rates,
        slow: VecDeque::new(),
        wrong: Vec::new(),
        refuse_at: None,
        lately: Lately::default(),
        failures_max: number(Param::SecMaxFailedLoginAttempts),
        began: Instant::now(),
        next: FIRST_CONNECTION,
        held: 0,
        max: number(Param::ListenerPendingMax).min(descriptors) as usize,
        max_per_address: number(Param::ListenerPendingPerAddress) as usize,
        limit: Duration::from_secs(number(Param::InboundConnectTimeout)),
        scratch: vec![0; 16 << 10],
        dropped: 0,
        told: None,
    };
    let mut ready = Vec::new();
    loop {
        {
            let _wait = gate.keeper.wait();
            gate.epoll.wait(&mut ready, gate.next_deadline()).map_err(Ora::internal)?;
        }
        for &token in &ready {
            let proved = match token {
                SIGNALS => None,
                token if token < FIRST_CONNECTION => {
                    gate.accept(token as usize);
                    None
                }
                token => gate.hear(token),
            };
            if let Some(proved) = proved
                && let Some(proved) = gate.hand_over(proved)
            {
                // This is the copy. The slot and the session belong to the original.
                std::mem::forget(gate.keeper);
                return Ok(Some(proved));
            }
        }
        if signals.next().is_some() || gate.keeper.is_asked_to_end() {
            gate.keeper.end();
            return Ok(None);
        }
        // One slow proof in each round, after all quick work.
        if let Some(token) = gate.slow.pop_front()
            && let Some(proved) = gate.look_at_proof(token)
            && let Some(proved) = gate.hand_over(proved)
        {
            std::mem::forget(gate.keeper);
            return Ok(Some(proved));
        }
        gate.refuse();
        gate.let_go();
        gate.go_on_accepting();
        gate.keeper.write_held();
    }
}

impl Gate<'_> {
    /// The time until the next deadline.
    fn next_deadline(&self) -> Option<Duration> {
        if !self.slow.is_empty() {
            return Some(Duration::ZERO);
        }
        let oldest = self.pending.first_key_value().map(|(_, p)| p.accepted + self.limit);
        let closing = self.closing.front().map(|(at, _)| *at);
        let paused = self.rates.iter().filter_map(|rate| rate.paused_until).min();
        let next = oldest.into_iter().chain(closing).chain(paused).chain(self.refuse_at).min();
        let next = next.map(|at| at.saturating_duration_since(Instant::now()));
        // The archiver's state is checked now and then.
        let look = self.keeper.has_held().then_some(HELD_LOOK);
        next.into_iter().chain(look).min()
    }

    fn accept(&mut self, place: usize) {
        for _ in 0..ACCEPTS_AT_ONCE {
            if !self.rates[place].take(Instant::now()) {
                // New connections wait in the socket's queue.
                let _ = self.epoll.remove(&self.listener.places[place].socket);
                return;
            }
            let ListeningSocket { socket, wallet, .. } = &mut self.listener.places[place];
            match socket.accept() {
                Ok((stream, from)) => {
                    let config = wallet.as_mut().map(|wallet| wallet.config(self.alert));
                    self.admit(stream, config, from);
                }
                Err(e) if matches!(e.raw_os_error(), Some(EMFILE | ENFILE)) && !self.pending.is_empty() => {
                    self.rates[place].give_back();
                    self.drop_oldest();
                }
                Err(_) => return self.rates[place].give_back(),
            }
        }
    }

    /// Accepts again at addresses whose pause is over.
    fn go_on_accepting(&mut self) {
        let now = Instant::now();
        for (at, rate) in self.rates.iter_mut().enumerate() {
            if rate.paused_until.is_some_and(|until| until <= now) {
                rate.paused_until = None;
                let _ = self.epoll.add(&self.listener.places[at].socket, at as u64);
            }
        }
    }

    fn admit(&mut self, stream: TcpStream, config: Option<Arc<ServerConfig>>, peer: SocketAddr) {
        let (from, is_encrypted) = (Address::of(&peer), config.is_some());
        let native = Arc::clone(&self.listener.native);
        let native_services = native.services(is_encrypted);
        while self.by_address.get(&from).is_some_and(|of| of.len() >= self.max_per_address) {
            let Some(&oldest) = self.by_address.get(&from).and_then(BTreeSet::first) else { break };
            self.push_out(oldest);
        }
        while self.pending.len() >= self.max {
            self.drop_oldest();
        }
        let settings = (stream.set_nonblocking(true), stream.set_nodelay(true), os::socket::keep_alive(&stream));
        let Ok(stream) = Transport::new(stream, config) else { return };
        let token = self.next;
        let is_watched = || self.epoll.add(&stream, token).is_ok();
        if settings.0.is_err() || settings.1.is_err() || settings.2.is_err() || !is_watched() {
            return;
        }
        self.next += 1;
        self.by_address.entry(from).or_default().insert(token);
        let held = stream.held();
        self.held += held;
        let pending = Pending {
            stream,
            from,
            peer,
            is_encrypted,
            service: String::new(),
            pooled: None,
            accepted: Instant::now(),
            phase: Phase::Connect,
            packets: PacketBuffer::new(),
            sdu: 0,
            message: Vec::new(),
            parts: 0,
            held,
            failures: 0,
            native,
            native_services,
            reads_ends: false,
        };
        self.pending.insert(token, pending);
    }

    fn drop_oldest(&mut self) {
        if let Some((&oldest, _)) = self.pending.first_key_value() {
            self.push_out(oldest);
        }
    }

    /// Drops a connection to make room.
    fn push_out(&mut self, token: u64) {
        self.dropped += 1;
        if self.told.is_none_or(|at| at.elapsed() >= TELL_EVERY) {
            self.told = Some(Instant::now());
            let (now, dropped) = (self.pending.len(), self.dropped);
            self.alert.write(&format!(
                "Listener: {now} connections have proved no password; the oldest are dropped ({dropped} so far)"
            ));
        }
        drop(self.forget(token));
    }

    /// Removes a connection from all lists.
    fn forget(&mut self, token: u64) -> Option<Pending> {
        let pending = self.pending.remove(&token)?;
        // A copy of this process may have the descriptor too, so closing it is not enough.
        let _ = self.epoll.remove(&pending.stream);
        if let Some(of) = self.by_address.get_mut(&pending.from) {
            of.remove(&token);
            if of.is_empty() {
                self.by_address.remove(&pending.from);
            }
        }
        self.held -= pending.held;
        Some(pending)
    }

    /// Drops connections whose time is over.
    fn let_go(&mut self) {
        let now = Instant::now();
        while let Some((token, _)) = self.pending.first_key_value().filter(|(_, p)| p.accepted + self.limit <= now) {
            drop(self.forget(*token));
        }
        while let Some(&(at, token)) = self.closing.front()
            && (at <= now || !self.pending.contains_key(&token))
        {
            self.closing.pop_front();
            drop(self.forget(token));
        }
    }

    /// Reads data of a client.
    fn hear(&mut self, token: u64) -> Option<Box<Proved>> {
        for _ in 0..READS_AT_ONCE {
            let pending = self.pending.get_mut(&token)?;
            let n = match pending.stream.read(&mut self.scratch) {
                Ok(0) => {
                    drop(self.forget(token));
                    return None;
                }
                Ok(n) => n,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) if e.kind() == ErrorKind::WouldBlock && !pending.stream.has_unsent() => break,
                Err(_) => {
                    drop(self.forget(token));
                    return None;
                }
            };
            if matches!(pending.phase, Phase::Closing) {
                // A connection closed with unread bytes is reset, and the last message is lost.
                continue;
            }
            pending.packets.extend(&self.scratch[..n]);
            let step = pending.advance(self.instance, &self.keeper);
            if let Some(proved) = self.take_step(token, step) {
                return Some(proved);
            }
        }
        self.account(token);
        None
    }

    fn take_step(&mut self, token: u64, step: Step) -> Option<Box<Proved>> {
        match step {
            Step::Wait => {}
            Step::Drop => drop(self.forget(token)),
            Step::Close => {
                if let Some(pending) = self.pending.get_mut(&token) {
                    pending.stream.end();
                    pending.phase = Phase::Closing;
                    pending.packets = PacketBuffer::new();
                    pending.message = Vec::new();
                    self.closing.push_back((Instant::now() + CLOSING_LIMIT, token));
                }
            }
            Step::Slow => self.slow.push_back(token),
            Step::Wrong(wrong) => self.put_off(token, wrong),
            Step::Proved(mut proved) => {
                // The failures of this name are counted before the right password, so an interval has room for no more
                // guesses than allowed.
                self.count(|who| Doorkeeper::is_of_one_name(who, proved.who()));
                let sequence = proved.sequence();
                if self.keeper.is_locked(proved.who()) {
                    self.pending.get_mut(&token)?.phase = Phase::Wrong(proved.client);
                    let who = proved.who().clone();
                    self.put_off(token, Box::new(Wrong { who, sequence, is_right: true, refusal: None }));
                    return None;
                }
                if let Some(e) = connect::no_room(self.instance) {
                    self.instance.state().count_connection(false);
                    let step = self.pending.get_mut(&token)?.refuse(&e, sequence);
                    return self.take_step(token, step);
                }
                let mut pending = self.forget(token)?;
                pending.packets.logged_on(|| proved.key());
                proved.take_line(pending.stream, pending.packets, pending.sdu);
                return Some(proved);
            }
        }
        None
    }

    /// Counts the memory of a connection, and drops the oldest ones while all together exceed the bound.
    fn account(&mut self, token: u64) {
        let Some(pending) = self.pending.get_mut(&token) else { return };
        let held = pending.shrink();
        self.held = self.held - pending.held + held;
        pending.held = held;
        while self.held > HELD_MAX {
            self.drop_oldest();
        }
    }

    fn look_at_proof(&mut self, token: u64) -> Option<Box<Proved>> {
        let pending = self.pending.get_mut(&token)?;
        let step = pending.look_at_proof();
        self.take_step(token, step)
    }

    /// A wrong password is answered at the end of the interval, together with all others and with the right ones of
    /// locked accounts: so the time of the answer reveals neither the existence of the name nor the state of the
    /// account, and all failures are one change of a row for each user. The right password of an open account does not
    /// wait.
    fn put_off(&mut self, token: u64, wrong: Box<Wrong>) {
        let now = Instant::now();
        self.wrong.push((token, wrong));
        let interval = self.lately.add(minute(), 1);
        if self.wrong.len() >= REFUSALS_MAX {
            self.refuse_at = Some(now);
        } else if self.refuse_at.is_none() {
            let since = now.duration_since(self.began).as_nanos();
            let into = Duration::from_nanos((since % interval.as_nanos()) as u64);
            self.refuse_at = Some(now + (interval - into));
        }
    }

    /// Counts and answers the wrong passwords of an interval that has ended.
    fn refuse(&mut self) {
        if self.refuse_at.is_none_or(|at| at > Instant::now()) {
            return;
        }
        self.refuse_at = None;
        self.count(|_| true);
        for (token, wrong) in std::mem::take(&mut self.wrong) {
            let (Some(pending), Some(e)) = (self.pending.get_mut(&token), &wrong.refusal) else { continue };
            let step = pending.refuse_password(e, wrong.sequence, self.failures_max);
            self.take_step(token, step);
        }
    }

    /// Counts the waiting wrong passwords of the logons that `is` selects.
    fn count(&mut self, is: impl Fn(&net::local::Logon) -> bool) {
        let mut wrong: Vec<&mut Wrong> = (self.wrong.iter_mut().map(|(_, wrong)| &mut **wrong))
            .filter(|wrong| wrong.refusal.is_none() && is(&wrong.who))
            .collect();
        if wrong.is_empty() {
            return;
        }
        let refusals =
            self.keeper.turn_away(&wrong.iter().map(|wrong| (&wrong.who, wrong.is_right)).collect::<Vec<_>>());
        wrong.iter_mut().zip(refusals).for_each(|(wrong, e)| wrong.refusal = Some(e));
        for entry in self.keeper.take_entries() {
            self.alert.write(&entry);
        }
    }

    /// Passes on a client that has proved its password, or makes a server process for it. Returns the connection in
    /// that process.
    fn hand_over(&mut self, mut proved: Box<Proved>) -> Option<Box<Proved>> {
        proved.fork_began_ns = os::clock::now_ns();
        if self.inbox.pass_on(&proved) {
            self.instance.state().count_connection(true);
            return None;
        }
        match os::process::fork_sibling() {
            // The client sees the end of its connection.
            Err(e) => {
                self.alert.write(&format!("ORA-27300: OS system dependent operation:clone failed\n{e}"));
                None
            }
            Ok(Fork::Parent(_)) => {
                self.instance.state().count_connection(true);
                None
            }
            Ok(Fork::Child) => {
                self.pending.clear();
                Some(proved)
            }
        }
    }
}

fn minute() -> u64 {
    os::clock::wall_ns() / 60_000_000_000
}

const EMFILE: i32 = 24;
const ENFILE: i32 = 23;

impl Pending {
    /// Reads the complete packets.
    fn advance(&mut self, instance: &'static Instance, keeper: &Doorkeeper) -> Step {
        loop {
            let packet = match self.packets.next_packet() {
                Ok(Some(packet)) => packet,
                Ok(None) => return Step::Wait,
                Err(_) => return Step::Drop,
            };
            let step = match &mut self.phase {
                Phase::Connect => match connect_packet(&packet) {
                    Some((connect, Some(data))) => self.connect(&connect, &data, instance),
                    Some((connect, None)) => {
                        self.phase = Phase::ConnectData(Box::new(connect), Vec::new());
                        Step::Wait
                    }
                    None => Step::Drop,
                },
                Phase::ConnectData(connect, data) => match more_data(&packet, connect.data_len, data) {
                    Ok(true) => {
                        let (connect, data) = (connect.clone(), std::mem::take(data));
                        self.connect(&connect, &data, instance)
                    }
                    Ok(false) => Step::Wait,
                    Err(_) => Step::Drop,
                },
                Phase::Slow(..) | Phase::Wrong(_) | Phase::Closing => Step::Drop,
                _ => match packet.data() {
                    Ok((flags, bytes)) if packet.kind == kind::DATA && flags & tns::END_OF_FILE == 0 => {
                        if self.message.len() + bytes.len() > MESSAGE_MAX || self.parts >= PACKETS_MAX {
                            let message = std::mem::take(&mut self.message);
                            return self.not_understood(&message);
                        }
                        self.message.extend_from_slice(bytes);
                        self.parts += 1;
                        // Packets after the client's part of a key are sealed with that key.
                        let waits = self.packets.has_packet() && !matches!(self.phase, Phase::NativeKey(_));
                        if waits { Step::Wait } else { self.message(keeper) }
                    }
                    _ => Step::Drop,
                },
            };
            if !matches!(step, Step::Wait) {
                return step;
            }
        }
    }

    /// Sends all of `out`. Messages before the proof fit into any socket's buffer, so a client without room for them is
    /// dropped.
    fn send(&mut self, out: &[u8]) -> bool {
        self.stream.write(out).is_ok_and(|n| n == out.len()) && !self.stream.has_unsent()
    }

    fn send_message(&mut self, message: &[u8]) -> bool {
        let mut out = Vec::with_capacity(message.len() + 64);
        self.packets.write_data(&mut out, message, self.sdu);
        self.send(&out)
    }

    fn send_then(&mut self, message: &[u8], next: Phase) -> Step {
        self.phase = next;
        if self.send_message(message) { Step::Wait } else { Step::Drop }
    }

    fn say_last(&mut self, out: &[u8]) -> Step {
        if self.send(out) { Step::Close } else { Step::Drop }
    }

    fn connect(&mut self, connect: &Connect, data: &[u8], instance: &Instance) -> Step {
        match connect::answer(connect, data, instance, self.native_services, self.is_encrypted) {
            Answer::Accept(out, sdu, service, pooled) => {
                self.sdu = sdu;
                self.service = service;
                self.pooled = pooled;
                self.packets.accept(sdu);
                self.reads_ends = connect.reads_ends;
                self.phase = Phase::Protocol;
                if self.send(&out) { Step::Wait } else { Step::Drop }
            }
            Answer::Last(out) => self.say_last(&out),
            Answer::Nothing => Step::Drop,
        }
    }

    /// Reads the message if it is complete.
    fn message(&mut self, keeper: &Doorkeeper) -> Step {
        let message = std::mem::take(&mut self.message);
        let phase = std::mem::replace(&mut self.phase, Phase::Closing);
        let read = self.read_message(phase, &message, keeper);
        match read {
            Ok(step) => {
                self.parts = 0;
                step
            }
            Err((WireError::Truncated, phase)) => {
                self.phase = phase;
                self.message = message;
                Step::Wait
            }
            Err((_, phase)) => {
                self.phase = phase;
                self.not_understood(&message)
            }
        }
    }

    /// Ends a connection with an invalid or too long message. A client in its logon gets an error.
    fn not_understood(&mut self, message: &[u8]) -> Step {
        match self.phase {
            Phase::LogonOne(_) | Phase::LogonTwo(..) => {
                self.refuse(&Ora::new(3106), message.get(2).copied().unwrap_or_default())
            }
            _ => Step::Drop,
        }
    }

    fn read_message(
        &mut self,
        phase: Phase,
        message: &[u8],
        keeper: &Doorkeeper,
    ) -> std::result::Result<Step, (WireError, Phase)> {
        match phase {
            Phase::Protocol if message.starts_with(&native::MAGIC) => match Offer::read(message) {
                Ok(offer) => Ok(self.agree(&offer)),
                Err(e) => Err((e, phase)),
            },
            Phase::NativeKey(agreement) => match agreement.seal(message) {
                Ok(seal) => {
                    self.packets.seal(seal);
                    self.phase = Phase::Protocol;
                    Ok(Step::Wait)
                }
                Err(e) => Err((e, Phase::NativeKey(agreement))),
            },
            // A required service was not agreed on.
            Phase::Protocol if self.native_services == NativeServices::Required => Ok(Step::Drop),
            Phase::Protocol => match whole(message, logon::read_protocol) {
                Ok(_) => {
                    let mut out = Vec::new();
                    handshake::write_protocol_reply(&mut out, instance::BANNER);
                    Ok(self.send_then(&out, Phase::DataTypes))
                }
                Err(e) => Err((e, phase)),
            },
            Phase::DataTypes => match whole(message, logon::read_data_types) {
                Ok(mut client) => {
                    client.reads_ends &= self.reads_ends;
                    let mut out = Vec::new();
                    handshake::write_data_types_reply(&mut out, client, 0);
                    let step = self.send_then(&out, Phase::LogonOne(client));
                    if client.reads_ends {
                        self.packets.end_responses();
                    }
                    Ok(step)
                }
                Err(e) => Err((e, phase)),
            },
            Phase::LogonOne(client) => match whole(message, |r| call::read(r, client)) {
                Ok((_, call)) => match call.request {
                    Request::LogonOne(first) => Ok(self.challenge(client, *first, keeper)),
                    _ => Ok(Step::Drop),
                },
                Err(e) => Err((e, phase)),
            },
            Phase::LogonTwo(client, named) => match whole(message, |r| call::read(r, client)) {
                Ok((_, call)) => match call.request {
                    Request::LogonTwo(second) => {
                        let is_slow = named.challenge.is_slow(second.pairs.get("AUTH_PBKDF2_SPEEDY_KEY"));
                        self.phase = Phase::Slow(client, named, second);
                        Ok(if is_slow { Step::Slow } else { self.look_at_proof() })
                    }
                    _ => Ok(Step::Drop),
                },
                Err(e) => Err((e, Phase::LogonTwo(client, named))),
            },
            phase => Err((WireError::BadValue, phase)),
        }
    }

    /// Answers a client's offer of native encryption and checksums.
    fn agree(&mut self, offer: &Offer) -> Step {
        if self.native_services == NativeServices::Off {
            return Step::Drop;
        }
        self.native_services = NativeServices::Off;
        let (Ok(pair), Ok(vector)) = (self.native.pair(), os::random::bytes()) else { return Step::Drop };
        let mut out = Vec::new();
        let Native { encryption, checksum, .. } = &*self.native;
        match Agreement::answer(offer, encryption, checksum, &pair, vector, &mut out) {
            Ok(Some(agreement)) => self.send_then(&out, Phase::NativeKey(Box::new(agreement))),
            Ok(None) => self.send_then(&out, Phase::Protocol),
            Err(_) if self.send_message(&out) => Step::Close,
            Err(_) => Step::Drop,
        }
    }

    /// Answers the name of a user with a challenge.
    fn challenge(&mut self, client: Client, first: Logon, keeper: &Doorkeeper) -> Step {
        let (user, _) = session::split_name(&first.user);
        if user.is_empty() {
            return self.refuse(&Ora::new(1017), first.sequence);
        }
        let began = os::clock::now_ns();
        let verifier = match keeper.verifier(user) {
            Ok(verifier) => verifier,
            Err(e) => return self.refuse(&e, first.sequence),
        };
        let random = match os::random::bytes() {
            Ok(random) => random,
            Err(e) => return self.refuse(&Ora::internal(e), first.sequence),
        };
        let Some(stored) = verifier.stored() else { return self.refuse(&Ora::new(1017), first.sequence) };
        let challenge = Challenge::new(stored.clone(), &random);
        let out = logon::challenge_message(&challenge, first.sequence);
        let made_ns = os::clock::now_ns() - began;
        let named = Box::new(Named { first, verifier, challenge, made_ns });
        self.send_then(&out, Phase::LogonTwo(client, named))
    }

    /// Checks the proof of the password.
    fn look_at_proof(&mut self) -> Step {
        let phase = std::mem::replace(&mut self.phase, Phase::Closing);
        let Phase::Slow(client, named, second) = phase else { return Step::Drop };
        let began = os::clock::now_ns();
        let Named { first, verifier, challenge, made_ns } = *named;
        let key = match logon::prove(&challenge, &second) {
            Ok(key) => key.filter(|_| second.user == first.user),
            Err(e) => return self.refuse(&e, second.sequence),
        };
        let who = logon::who(&first, &second);
        let pooled = match self.pooled.take().map(|wished| Pooled::of(&wished, &second)).transpose() {
            Ok(pooled) => pooled,
            Err(e) if key.is_some() => return self.refuse(&e, second.sequence),
            Err(_) => None,
        };
        let Some(key) = key else {
            self.phase = Phase::Wrong(client);
            return Step::Wrong(Box::new(Wrong { who, sequence: second.sequence, is_right: false, refusal: None }));
        };
        let proof_ns = made_ns + (os::clock::now_ns() - began);
        let caller = session::Caller {
            service: std::mem::take(&mut self.service),
            address: self.peer.ip().to_canonical().to_string(),
            port: self.peer.port(),
            is_encrypted: self.is_encrypted,
            native: self.packets.strength(),
            is_pooled: pooled.is_some(),
            ..logon::caller(&second)
        };
        let mut proved = Proved::new(client, who, *second, key, session::Proof::of(verifier), proof_ns);
        proved.pooled = pooled;
        Step::Proved(Box::new(proved.called(caller)))
    }

    /// Answers a wrong password. The client may try again until it has failed `most` times.
    fn refuse_password(&mut self, e: &Ora, sequence: u8, most: u64) -> Step {
        self.failures += 1;
        match std::mem::replace(&mut self.phase, Phase::Closing) {
            Phase::Wrong(client) if self.failures < most => {
                self.send_then(&logon::refusal_message(e, sequence), Phase::LogonOne(client))
            }
            _ => self.refuse(e, sequence),
        }
    }

    fn refuse(&mut self, e: &Ora, sequence: u8) -> Step {
        let message = logon::refusal_message(e, sequence);
        if self.send_message(&message) { Step::Close } else { Step::Drop }
    }

    /// Frees unused memory. Returns the memory still used.
    fn shrink(&mut self) -> usize {
        self.packets.shrink();
        let named = match &self.phase {
            Phase::ConnectData(_, data) => data.capacity(),
            Phase::NativeKey(agreement) => agreement.held(),
            Phase::LogonTwo(_, named) => size_of::<Named>() + named.first.pairs.held(),
            Phase::Slow(_, named, second) => size_of::<Named>() + named.first.pairs.held() + second.pairs.held(),
            _ => 0,
        };
        size_of::<Pending>() + self.stream.held() + self.packets.held() + self.message.capacity() + named
    }
}

/// Reads a message that must end with its last field.
fn whole<T>(message: &[u8], read: impl FnOnce(&mut Reader<'_>) -> WireResult<T>) -> WireResult<T> {
    let mut r = Reader::new(message);
    let value = read(&mut r)?;
    r.finish()?;
    Ok(value)
}

/// The contents of a CONNECT packet, with its data unless they follow.
fn connect_packet(packet: &Packet<'_>) -> Option<(Connect, Option<Vec<u8>>)> {
    if packet.kind != kind::CONNECT {
        return None;
    }
    let mut connect = Connect::decode(packet.body).ok()?;
    let data = connect.data.take();
    Some((connect, data))
}

/// Adds a packet of connect data; returns whether the data are complete.
fn more_data(packet: &Packet<'_>, len: usize, data: &mut Vec<u8>) -> WireResult<bool> {
    // After two bytes of flags.
    let part = packet.body.get(2..).filter(|part| packet.kind == kind::DATA && !part.is_empty());
    data.extend_from_slice(part.ok_or(WireError::Truncated)?);
    if data.len() > len { Err(WireError::LengthOutOfBounds) } else { Ok(data.len() == len) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_admits_a_seconds_worth_and_then_one_in_turn() {
        let mut rate = Rate::new(10);
        let began = rate.at;
        let at = |millis| began + Duration::from_millis(millis);
        assert_eq!((0..20).filter(|_| rate.take(at(0))).count(), 10);
        assert_eq!(rate.paused_until, Some(at(100)));
        assert!(!rate.take(at(50)) && rate.take(at(101)) && !rate.take(at(102)));
        rate.give_back();
        assert!(rate.take(at(103)));
        assert_eq!((0..100).filter(|_| rate.take(at(60_000))).count(), 10, "nothing is saved for later");
        assert!((0..1000).all(|_| Rate::new(0).take(began)));
    }
}
