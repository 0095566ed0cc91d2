//! A client of the connection pool (DRCP), and the session that a pooled server keeps between clients.
//!
//! A client that releases its session stays connected: the supervisor then has its connection, with a letter that
//! identifies the client, and hands both to a pooled server when the client sends data. The letter has the proof of the
//! password, which is checked against the account each time, as at a logon.

use super::calls::Calls;
use super::line::{Heard, Line};
use super::logon;
use super::pipeline::Pipeline;
use super::pool_client::{Head, Turn};
use super::proved::Proved;
use super::serve::Server;
use super::watch::Watch;
use crate::alert::AlertLog;
use instance::connection_pool::class_figure;
use instance::{ConnectTimes, Instance};
use net::oracle::call;
use net::oracle::field::Reader;
use os::signal::{self, SignalFd};
use session::Session;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use types::{Ora, Result};
use zeroize::Zeroizing;

/// Time limit for the rest of a call that is answered with an error because there is no session.
const CALL_LIMIT: Duration = Duration::from_secs(5);

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
