//! A client of the connection pool (DRCP), and the session that a pooled server keeps between clients.
//!
//! A client that releases its session stays connected: the supervisor then has its connection, with a letter that
//! identifies the client, and hands both to a pooled server when the client sends data. The letter has the proof of the
//! password, which is checked against the account each time, as at a logon.

use super::calls::Calls;
use super::connect::Wished;
use super::line::{Heard, Line};
use super::logon::{self, Proved};
use super::pipeline::Pipeline;
use super::serve::Server;
use super::watch::Watch;
use crate::alert::AlertLog;
use instance::connection_pool::{PoolClient, class_figure};
use instance::{ConnectTimes, Instance};
use net::local::WireResult;
use net::oracle::auth::Logon;
use net::oracle::call;
use net::oracle::field::{Reader, Writer};
use os::signal::{self, SignalFd};
use session::Session;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use types::{Ora, Result};
use zeroize::Zeroizing;

/// The class of clients that name none.
const SHARED: &str = "SHARED";

/// The longest name of a connection class.
const CLASS_MAX: usize = 1024;

/// Time limit for the rest of a call that is answered with an error because there is no session.
const CALL_LIMIT: Duration = Duration::from_secs(5);

/// A client's request for a pooled session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pooled {
    /// The connection class.
    pub class: String,
    /// The client requires a session that no client has used.
    pub wants_new: bool,
    /// The client has logged on before, and gets no logon answer now.
    pub is_back: bool,
    /// The class, as an index of its figures.
    pub class_number: u16,
}

impl Pooled {
    /// The request of a client, from the second message of its logon or its connect data.
    ///
    /// # Errors
    /// ORA-56602 for an invalid purity, ORA-56604 for a class whose name is too long, ORA-56609 for a logon that
    /// changes the password.
    pub fn of(wished: &Wished, second: &Logon) -> Result<Pooled> {
        const DEFAULT: &str = "0";
        if second.pairs.get("AUTH_NEWPASSWORD").is_some() {
            return Err(Ora::new(56609));
        }
        let given = |key: &str| second.pairs.get(key).map(str::trim).filter(|text| !text.is_empty());
        let class = given("AUTH_KPPL_CONN_CLASS").or(wished.class.as_deref()).unwrap_or(SHARED);
        if class.len() > CLASS_MAX {
            return Err(Ora::with(56604, &[&class.len(), &CLASS_MAX]));
        }
        let purity = given("AUTH_KPPL_PURITY").filter(|purity| *purity != DEFAULT).or(wished.purity.as_deref());
        let wants_new = match purity.unwrap_or(DEFAULT).to_ascii_lowercase().as_str() {
            DEFAULT | "1" | "new" => true,
            "2" | "self" => false,
            _ => return Err(Ora::new(56602)),
        };
        Ok(Pooled { class: class.to_owned(), wants_new, is_back: false, class_number: 0 })
    }
}

/// The data about a pool client that the supervisor uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The client can only have a session with the same key.
    pub key: Vec<u8>,
    pub client: PoolClient,
}

impl Head {
    /// Appends the head.
    pub fn write(&self, out: &mut Vec<u8>) {
        let PoolClient { user, class, service, program, machine, terminal, wants_new } = &self.client;
        let mut w = Writer::new(out);
        w.long_bytes(&self.key);
        for text in [user, class, service, program, machine, terminal] {
            w.long_bytes(text.as_bytes());
        }
        w.u8((*wants_new).into());
    }

    /// Reads a head and returns its length.
    ///
    /// # Errors
    /// [`net::local::WireError`] for an invalid head.
    pub fn read(bytes: &[u8]) -> WireResult<(Head, usize)> {
        let mut r = Reader::new(bytes);
        let key = r.long_bytes()?.unwrap_or_default().into_owned();
        let client = PoolClient {
            user: r.long_text()?,
            class: r.long_text()?,
            service: r.long_text()?,
            program: r.long_text()?,
            machine: r.long_text()?,
            terminal: r.long_text()?,
            wants_new: r.u8()? != 0,
        };
        Ok((Head { key, client }, r.position()))
    }
}

impl Proved {
    /// The head of a pool client, for the supervisor; `None` for another client.
    pub fn head(&self) -> Option<Head> {
        let Pooled { class, wants_new, .. } = self.pooled.as_ref()?;
        let user = session::user_name(&self.who.user);
        let class = format!("{user}.{class}");
        let mut key = Vec::new();
        let mut w = Writer::new(&mut key);
        let client = self.caller.client.as_deref().unwrap_or_default();
        for text in [&*user, &*class, client, self.caller.edition.as_deref().unwrap_or_default(), &self.caller.service]
        {
            w.long_bytes(text.as_bytes());
        }
        w.u8(self.who.as_sysdba.into());
        let client = PoolClient {
            user,
            class,
            service: self.caller.service.clone(),
            program: self.who.program.clone(),
            machine: self.who.machine.clone(),
            terminal: self.who.terminal.clone(),
            wants_new: *wants_new,
        };
        Some(Head { key, client })
    }

    /// Sets the index of the figures of its class.
    pub fn of_class(mut self, class: u16) -> Proved {
        if let Some(pooled) = &mut self.pooled {
            pooled.class_number = class;
        }
        self
    }

    /// Whether the session may be kept for another client.
    fn may_be_kept(&self) -> bool {
        !self.who.as_sysdba && self.caller.client.is_none()
    }

    /// Marks that the client returns without a logon, and drops the passwords.
    fn comes_back(&mut self) {
        let is_secret = |key: &str| key.contains("PASSWORD") || key.contains("SESSKEY") || key.contains("SPEEDY_KEY");
        self.second.pairs.forget(is_secret);
        if let Some(pooled) = &mut self.pooled {
            pooled.is_back = true;
        }
    }
}

/// A session that a pooled server keeps for the next client of the same user and class.
pub struct Kept {
    session: Session,
    /// [`Head::key`].
    key: Vec<u8>,
    /// The number of clients that have used it.
    uses: u64,
    since: Instant,
}

impl Kept {
    /// [`Head::key`].
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Begins the wait of the session for its next client.
    pub fn wait(&self) -> process::WaitGuard<'_> {
        self.session.wait_for_client()
    }

    /// Checks whether it was killed.
    pub fn is_alive(&mut self) -> bool {
        self.session.release_if_killed();
        !self.session.is_killed()
    }
}

/// The requests of a pool client to its server between calls.
#[derive(Default)]
pub struct Turn {
    /// The session and serial number to report with the next answer.
    news: Option<(u32, u32)>,
    /// The client has released the session; true when it leaves the pool, too.
    pub(super) released: Option<bool>,
}

impl Turn {
    /// The session to report with the next answer.
    pub(super) fn take_news(&mut self) -> Option<(u32, u32)> {
        self.news.take()
    }
}

/// The result of serving a pool client.
#[derive(Default)]
pub struct Served {
    /// The process may serve another client.
    pub is_in_order: bool,
    pub kept: Option<Kept>,
    /// The client's connection and letter for the supervisor, if it has released the session.
    pub parked: Option<Parked>,
}

/// A client that has released its session.
pub struct Parked {
    pub socket: OwnedFd,
    pub head: Head,
    /// Empty for a client that will only close its connection.
    pub letter: Zeroizing<Vec<u8>>,
    /// The client has sent data already.
    pub has_said: bool,
}

/// Serves a pool client until it releases the session or ends. `kept` is the server's kept session.
///
/// # Errors
/// No descriptor available.
pub fn serve_pooled(
    instance: &'static Instance,
    mut proved: Box<Proved>,
    mut kept: Option<Kept>,
    watch: &mut Option<Watch>,
    forked_ns: u64,
    alert: &AlertLog,
) -> Result<Served> {
    let unserved = |kept| Served { is_in_order: true, kept, parked: None };
    let (Some((stream, packets, sdu)), Some(pooled), Some(head)) =
        (proved.give_line(), proved.pooled.clone(), proved.head())
    else {
        return Ok(unserved(kept));
    };
    let signals = SignalFd::new(&[signal::SIGTERM]).map_err(Ora::internal)?;
    let mut line = Line::accepted(stream, signals, packets, sdu);
    if pooled.is_back {
        line.trust();
    }
    // Any other kept session ends before a new one begins, which may take the last free slot.
    kept = kept.filter(|kept| !pooled.wants_new && kept.key == head.key && proved.may_be_kept());
    let (mut uses, mut since) = (0, Instant::now());
    let mut session = None;
    let mut failed = None;
    if let Some(Kept { session: mut own, uses: before, since: then, .. }) = kept {
        let taken = own.take_up(&proved.who, &proved.proof, &proved.caller).and_then(|is_taken| {
            // A client that has just logged on sends settings for its session.
            if is_taken && !pooled.is_back {
                logon::settle(&mut own, &proved.second.pairs)?;
            }
            Ok(is_taken)
        });
        match taken {
            Ok(true) => {
                (uses, since) = (before, then);
                session = Some(own);
            }
            Ok(false) => own.end(),
            Err(e) => {
                own.end();
                failed = Some(e);
            }
        }
    }
    faults::point("pool-session-taken");
    let pool = instance.state().pool();
    let class = usize::from(pooled.class_number);
    pool.count(class, if session.is_some() { class_figure::HITS } else { class_figure::MISSES }, 1);
    if !pooled.is_back {
        pool.count(class, class_figure::AUTHENTICATIONS, 1);
    }
    let begun = match (session, failed) {
        (Some(session), _) => Ok(session),
        (None, Some(e)) => Err(e),
        (None, None) => begin(instance, &proved, forked_ns),
    };
    let mut session = match begun {
        Ok(session) => session,
        Err(e) => {
            if let Some(entry) = session::alert_entry(instance, &proved.who, Some(&e)) {
                alert.write(&entry);
            }
            refuse(&mut line, &proved, &e);
            return Ok(unserved(None));
        }
    };
    if !pooled.is_back && !logon::greet(&mut line, instance, &session, &proved).unwrap_or(false) {
        session.set_aside();
        session.end();
        return Ok(unserved(None));
    }
    let watched = logon::watched(&session);
    let own = watch.take().map_or_else(|| Watch::new(instance), Ok);
    let begun = own.and_then(|own| {
        own.begin_session(line.stream().map_err(|e| e.to_string())?, watched);
        Ok(own)
    });
    let begun = begun.inspect_err(|e| alert.write(&format!("Calls of session {} cannot be broken: {e}", watched.sid)));
    let (client, key) = (proved.client, proved.key());
    let turn = Turn { news: pooled.is_back.then_some((watched.sid, watched.serial)), released: None };
    let mut server = Server {
        instance,
        line,
        client,
        calls: Calls::new(instance, session, client, key),
        watch: begun.ok(),
        pipeline: Pipeline::default(),
        sequence: 0,
        answer: Vec::new(),
        pool: Some(turn),
    };
    server.talk();
    let Server { calls, watch: own, line, pool: turn, .. } = server;
    *watch = own.inspect(Watch::end_session);
    let mut session = calls.into_session();
    let was_killed = session.is_killed();
    let released = turn.and_then(|turn| turn.released).filter(|_| !was_killed && !instance.is_closing());
    let Some(ends) = released else {
        session.end();
        return Ok(Served { is_in_order: !was_killed, kept: None, parked: None });
    };
    session.set_aside();
    uses += 1;
    let is_used_up = pool.is_used_up(uses, since.elapsed());
    // A transaction that could not be rolled back must not reach the next client.
    let is_free = !session.is_in_transaction();
    let kept = if is_used_up || !is_free || !proved.may_be_kept() || !pool.is_active() {
        session.end();
        None
    } else {
        Some(Kept { session, key: head.key.clone(), uses, since })
    };
    if is_used_up {
        pool.count_purged();
    }
    faults::point("pool-session-given-back");
    Ok(Served { is_in_order: true, kept, parked: park(proved, line, head, ends) })
}

/// Opens a session for a client that gets no kept one.
fn begin(instance: &'static Instance, proved: &Proved, forked_ns: u64) -> Result<Session> {
    let times = ConnectTimes {
        fork_ns: forked_ns.saturating_sub(proved.fork_began_ns),
        authenticate_ns: proved.proof_ns,
        ..ConnectTimes::default()
    };
    let mut session = logon::begin(instance, proved, times)?;
    let cached = instance.state().pool().cached_cursors();
    session.run(&format!("alter session set session_cached_cursors = {cached}"))?;
    Ok(session)
}

/// The connection and the letter of a client that has released its session.
fn park(mut proved: Box<Proved>, line: Line, head: Head, ends: bool) -> Option<Parked> {
    let (stream, packets, sdu) = line.into_parts();
    let socket = stream.socket().try_clone().ok()?.into();
    let has_said = packets.unsealed().is_some_and(|unread| !unread.is_empty());
    proved.comes_back();
    proved.take_line(stream, packets, sdu);
    let letter = if ends { Zeroizing::default() } else { proved.to_message()?.0 };
    Some(Parked { socket, head, letter, has_said })
}

/// Sends a client the reason why it has no session; nothing follows.
fn refuse(line: &mut Line, proved: &Proved, e: &Ora) {
    let is_back = proved.pooled.as_ref().is_some_and(|pooled| pooled.is_back);
    let sequence = if is_back { call_of(line, proved) } else { proved.sequence() };
    logon::turn_away(line, e, sequence);
}

/// Reads the client's call as far as its end can be recognised, and returns its number.
fn call_of(line: &mut Line, proved: &Proved) -> u8 {
    let deadline = Instant::now() + CALL_LIMIT;
    loop {
        match line.hear(Some(deadline)) {
            Heard::Data => {}
            Heard::Marker(_) | Heard::Signal => continue,
            Heard::Gone => return 0,
        }
        if line.expects_more() {
            continue;
        }
        let Some(bytes) = line.message() else { continue };
        if let Ok((_, call)) = call::read(&mut Reader::new(bytes), proved.client) {
            return call.sequence;
        }
        if !line.may_go_on() {
            return 0;
        }
    }
}

/// Sends the error to a client that gets no server.
///
/// # Errors
/// No descriptor available.
pub fn turn_away(mut proved: Box<Proved>, e: &Ora) -> Result<()> {
    let Some((stream, packets, sdu)) = proved.give_line() else { return Ok(()) };
    let signals = SignalFd::new(&[signal::SIGTERM]).map_err(Ora::internal)?;
    let mut line = Line::accepted(stream, signals, packets, sdu);
    refuse(&mut line, &proved, e);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::oracle::auth::Pairs;

    fn second(pairs: &[(&str, &str)]) -> Logon {
        let mut all = Pairs::default();
        pairs.iter().for_each(|(key, value)| all.push(key, *value, 0));
        Logon { sequence: 2, user: "u".into(), mode: 1, pairs: all }
    }

    #[test]
    fn class_and_purity_of_the_logon_override_those_of_the_connect_data() {
        let of = |class: Option<&str>, purity: Option<&str>, pairs: &[(&str, &str)]| {
            let wished = Wished { class: class.map(str::to_owned), purity: purity.map(str::to_owned) };
            Pooled::of(&wished, &second(pairs)).map(|p| (p.class, p.wants_new)).map_err(|e| e.code())
        };
        let is = |class: &str, wants_new| Ok((class.to_string(), wants_new));
        assert_eq!(of(None, None, &[]), is("SHARED", true));
        assert_eq!(of(Some("a"), Some("Self"), &[]), is("a", false));
        assert_eq!(
            of(Some("a"), Some("self"), &[("AUTH_KPPL_CONN_CLASS", "b"), ("AUTH_KPPL_PURITY", "1")]),
            is("b", true)
        );
        assert_eq!(of(None, Some("self"), &[("AUTH_KPPL_PURITY", "0")]), is("SHARED", false));
        assert_eq!(of(None, None, &[("AUTH_KPPL_PURITY", "2")]), is("SHARED", false));
        assert_eq!(of(None, None, &[("AUTH_KPPL_PURITY", "3")]), Err(56602));
        assert_eq!(of(None, Some("both"), &[]), Err(56602));
        assert_eq!(of(None, None, &[("AUTH_NEWPASSWORD", "x")]), Err(56609));
        assert_eq!(of(Some(&"x".repeat(1025)), None, &[]), Err(56604));
    }

    #[test]
    fn a_head_is_read_as_it_was_written() {
        let client = PoolClient { user: "U".into(), class: "U.Ü".into(), wants_new: true, ..PoolClient::default() };
        let head = Head { key: vec![1, 2, 3], client };
        let mut bytes = Vec::new();
        head.write(&mut bytes);
        let len = bytes.len();
        bytes.push(9);
        assert_eq!(Head::read(&bytes), Ok((head, len)));
        for cut in 0..len {
            assert!(Head::read(&bytes[..cut]).is_err(), "{cut} bytes");
        }
    }
}
