//! The listener process: it speaks with all clients that have not proved a password yet (invariant 7).
//!
//! One thread waits on all sockets. Such a connection is a record of some hundred bytes and a bounded part of a
//! message. All of them are bounded together, for each address, and in time. At a bound the oldest connection is
//! dropped: a client that means to log on does so within milliseconds. No process and no process slot is used.
//!
//! After a client has proved its password the process passes it to the supervisor, which hands it to a waiting server
//! process. For an encrypted connection it forks a copy of itself instead, which is a child of the supervisor, keeps
//! that connection alone and becomes its server process: so the keys of TLS need not be passed on.

use super::bounds::{Address, Lately, Rate, minute};
use super::connect;
use super::pending::{Pending, Phase, Step, Wrong};
use super::proved::Proved;
use super::sockets::{ADDRESSES_MAX, Listener, ListeningSocket};
use super::tls::Transport;
use crate::alert::AlertLog;
use crate::spare::Inbox;
use instance::Instance;
use os::epoll::Epoll;
use os::process::Fork;
use os::signal::{self, SignalFd};
use params::Param;
use rustls::ServerConfig;
use session::Doorkeeper;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};
use types::{Ora, Result};

/// Bytes that all connections together may hold.
const HELD_MAX: usize = 32 << 20;

/// Accepted connections, and reads of one connection, before other connections have their turn.
const ACCEPTS_AT_ONCE: usize = 64;
const READS_AT_ONCE: usize = 4;

/// Time limit for the client to read a refusal.
const CLOSING_LIMIT: Duration = Duration::from_millis(200);

/// Descriptors kept free for files and for connections that are handed over.
const DESCRIPTORS_KEPT: u64 = 64;

/// Largest number of refusals that wait; the last one ends the interval.
const REFUSALS_MAX: usize = 4096;

/// Interval of the messages in the alert log about connections that were dropped for lack of room.
const TELL_EVERY: Duration = Duration::from_secs(60);

/// Interval of the checks whether wrong passwords that wait for the archiver can be written.
const HELD_LOOK: Duration = Duration::from_secs(1);

/// The system's errors when the process, or the system, has no descriptor left.
const EMFILE: i32 = 24;
const ENFILE: i32 = 23;

/// Tokens that stand for no connection; the first ones are those of the listening addresses.
const SIGNALS: u64 = u64::MAX;
const FIRST_CONNECTION: u64 = ADDRESSES_MAX as u64;

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
        let pending = Pending::new(stream, peer, is_encrypted, Arc::clone(&self.listener.native));
        self.held += pending.held;
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
                    pending.close();
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
