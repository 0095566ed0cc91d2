//! A dedicated server process: packets in, calls to the session, packets out.
//!
//! The connection is not trusted. An invalid packet ends it; an incomplete message waits for its rest; a client that
//! vanishes ends the session, whose open transaction is rolled back.

use crate::alert::AlertLog;
use crate::listener;
use crate::sending::{failure, send_all};
use instance::{ConnectTimes, Instance};
use net::local::{FrameBuffer, ListenerWord, MAX_REQUEST_LEN, Reply, Request, write_frame};
use os::signal::{self, SignalFd};
use os::socket::{Attention, Poll};
use session::{Flow, Session};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;
use types::{Ora, Result};

/// Time limit for a logon.
const LOGON_LIMIT: Duration = Duration::from_secs(60);

/// After this many reads in a row signals are checked as well, so that a client that never pauses cannot hide a signal.
const UNWATCHED_MAX: u32 = 32;

/// A local connection that the supervisor has accepted.
pub struct Arrival {
    pub stream: UnixStream,
    /// The time of acceptance, by the monotonic clock.
    pub accepted_ns: u64,
    /// The addresses at which the instance listens on the network.
    pub listens: Vec<String>,
}

/// The result of waiting for the client.
enum Heard {
    Packet(Request),
    /// SIGTERM: the session was killed or the instance closes.
    Signal,
    /// The connection is over: ended, broken, an invalid packet, or silent for too long.
    Gone,
}

struct Line {
    stream: UnixStream,
    signals: SignalFd,
    incoming: FrameBuffer,
    scratch: Vec<u8>,
    attention: Attention,
    /// Bytes read that have not been counted.
    received: u64,
    /// Packets read since the last check for signals.
    unwatched: u32,
}

/// Serves one connection to its end. Returns whether the process may serve another one.
pub fn serve(
    instance: &'static Instance,
    arrival: Arrival,
    forked_ns: u64,
    alert: &AlertLog,
    wake_supervisor: &dyn Fn(),
) -> Result<bool> {
    let Arrival { stream, accepted_ns, listens } = arrival;
    let os_error = |e: os::OsError| Ora::internal(e);
    let (uid, _) = os::socket::peer(&stream).map_err(os_error)?;
    // Reads and writes wait together with the signals that end a session.
    if stream.set_nonblocking(true).is_err() {
        return Ok(true);
    }
    let signals = SignalFd::new(&[signal::SIGTERM]).map_err(os_error)?;
    let incoming = FrameBuffer::new(MAX_REQUEST_LEN);
    let attention = Attention::default();
    let mut line = Line { stream, signals, incoming, scratch: vec![0; 16 << 10], attention, received: 0, unwatched: 0 };
    let times = ConnectTimes {
        fork_ns: forked_ns.saturating_sub(accepted_ns),
        set_up_ns: os::clock::now_ns().saturating_sub(forked_ns),
        ..ConnectTimes::default()
    };
    let asked = |word| listener::obey(instance, &listens, word, wake_supervisor);
    let mut is_fit = true;
    let Some(mut session) = line.logon(instance, uid, times, alert, &asked, &mut is_fit) else { return Ok(is_fit) };
    if let Err(e) = line.talk(instance, &mut session) {
        alert.write(&format!("Session {} ended: {e}", session.sid()));
        is_fit = false;
    }
    is_fit &= !session.is_killed();
    session.end();
    Ok(is_fit)
}

impl Line {
    /// Waits for the first packet: a logon opens a session, a cancel breaks another session's call.
    fn logon(
        &mut self,
        instance: &'static Instance,
        uid: u32,
        times: ConnectTimes,
        alert: &AlertLog,
        ask_listener: &dyn Fn(ListenerWord) -> Result<Vec<String>>,
        is_fit: &mut bool,
    ) -> Option<Session> {
        let logon = match self.hear(Some(LOGON_LIMIT)) {
            Heard::Packet(Request::Logon(l)) => l,
            Heard::Packet(Request::Cancel { sid, serial, key, call }) => {
                instance.cancel_call(sid, serial, key, call);
                return None;
            }
            Heard::Packet(Request::Diagnose) => {
                // The process cannot write to the SGA any more.
                *is_fit = false;
                self.diagnose(instance, uid);
                return None;
            }
            Heard::Packet(Request::Listener(word)) => {
                match self.is_owner(uid).then(|| ask_listener(word)) {
                    Some(Ok(lines)) => self.say_lines(lines.into_iter().map(Some).collect()),
                    Some(Err(e)) => self.say_error(&e),
                    None => self.say_error(&Ora::new(1031)),
                }
                return None;
            }
            Heard::Packet(_) => {
                self.say_error(&Ora::new(1012));
                return None;
            }
            Heard::Signal | Heard::Gone => return None,
        };
        let opened = Session::logon_after(instance, &logon, uid, times);
        if let Some(entry) = session::alert_entry(instance, &logon, opened.as_ref().err()) {
            alert.write(&entry);
        }
        match opened {
            Ok(session) => {
                let welcome = Reply::Welcome(Box::new(session.welcome()));
                self.say(&welcome).ok()?;
                Some(session)
            }
            Err(e) => {
                self.say_error(&e);
                None
            }
        }
    }

    /// Answers calls until the session ends.
    fn talk(&mut self, instance: &'static Instance, session: &mut Session) -> Result<()> {
        let mut out = Vec::new();
        loop {
            let heard = {
                let _wait = session.wait_for_client();
                self.hear(None)
            };
            let request = match heard {
                Heard::Packet(r) => r,
                Heard::Gone => return Ok(()),
                Heard::Signal if instance.is_closing() => {
                    self.say_error(&Ora::new(1089));
                    return Ok(());
                }
                Heard::Signal => {
                    session.release_if_killed();
                    continue;
                }
            };
            session.note_received(std::mem::take(&mut self.received));
            out.clear();
            let flow = session.call(&request, &mut out);
            if !self.send(instance, session, &out) || flow == Flow::End {
                return Ok(());
            }
        }
    }

    /// Sends an answer; false when that is impossible: the client is gone, or it does not read and its session was
    /// killed.
    fn send(&mut self, instance: &Instance, session: &mut Session, out: &[u8]) -> bool {
        session.note_answer(out.len() as u64);
        send_all(&mut self.stream, &self.signals, out, &mut || {
            session.release_if_killed();
            instance.is_closing() || session.is_killed()
        })
    }

    fn hear(&mut self, limit: Option<Duration>) -> Heard {
        loop {
            match self.incoming.next_frame() {
                Ok(Some(frame)) => return Request::decode(frame).map_or(Heard::Gone, Heard::Packet),
                Ok(None) => {}
                Err(_) => return Heard::Gone,
            }
            if self.unwatched < UNWATCHED_MAX
                && let Some(came) = self.attention.receive(&self.stream, &mut self.scratch)
            {
                self.unwatched += 1;
                match came {
                    Ok(0) => return Heard::Gone,
                    Ok(n) => self.came(n),
                    Err(e) if e.kind() == ErrorKind::Interrupted => {}
                    Err(_) => return Heard::Gone,
                }
                continue;
            }
            self.unwatched = 0;
            let mut set = [Poll::read(&self.stream), Poll::read(&self.signals)];
            match os::socket::poll(&mut set, limit) {
                Ok(0) if limit.is_some() => return Heard::Gone,
                Ok(_) => {}
                Err(_) => return Heard::Gone,
            }
            if set[1].ready() && self.signals.next().is_some() {
                return Heard::Signal;
            }
            if set[0].ready() {
                match self.stream.read(&mut self.scratch) {
                    Ok(0) => return Heard::Gone,
                    Ok(n) => self.came(n),
                    Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
                    Err(_) => return Heard::Gone,
                }
            }
        }
    }

    fn came(&mut self, bytes: usize) {
        self.incoming.extend(&self.scratch[..bytes]);
        self.received += bytes as u64;
    }

    /// Reports the waiting sessions. This process has no slot and takes no latch; it cannot write to the SGA any more.
    fn diagnose(&mut self, instance: &'static Instance, uid: u32) {
        if !self.is_owner(uid) {
            return self.say_error(&Ora::new(1031));
        }
        if let Err(e) = instance.processes().sga().make_read_only() {
            return self.say_error(&Ora::internal(e));
        }
        let lines = monitor::hang::report(instance).lines().map(|l| (!l.is_empty()).then(|| l.to_string())).collect();
        self.say_lines(lines);
    }

    fn is_owner(&self, uid: u32) -> bool {
        uid == 0 || uid == os::process::user_id()
    }

    /// The whole answer of this connection.
    fn say_lines(&mut self, lines: Vec<Option<String>>) {
        let mut out = Vec::new();
        write_frame(&mut out, |o| Reply::Output { lines }.encode(o));
        write_frame(&mut out, |o| Reply::Done(Box::default()).encode(o));
        let _ = self.stream.set_nonblocking(false);
        let _ = self.stream.write_all(&out);
    }

    fn say(&mut self, reply: &Reply) -> std::io::Result<()> {
        let mut out = Vec::new();
        write_frame(&mut out, |o| reply.encode(o));
        self.stream.write_all(&out)
    }

    /// The last message of this connection; the client may be gone.
    fn say_error(&mut self, e: &Ora) {
        let _ = self.say(&Reply::Error(Box::new(failure(e, true))));
    }
}
