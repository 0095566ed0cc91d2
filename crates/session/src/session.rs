//! One session: who is logged on, and its calls.

use crate::instance::Instance;
use net::local::{Failure, Logon, PROTOCOL_VERSION, Reply, Request, Welcome, write_frame};
use process::{Attach, Process, SessionStatus, WaitGuard};
use std::time::Duration;
use types::{Ora, Result};
use wait::Event;

/// The product's name and release, as `v$version` and the shell's greeting have it.
pub const BANNER: &str = concat!("Latchwork Database Release ", env!("CARGO_PKG_VERSION"));

/// Whether a connection goes on after a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    Continue,
    End,
}

/// A logged-on user.
pub struct Session {
    instance: &'static Instance,
    p: Process,
    user: String,
    cancel_key: u64,
}

impl Session {
    /// Logs on. `peer_uid` is the operating-system user at the other end of the socket.
    ///
    /// # Errors
    /// ORA-01017 for a wrong user or password, ORA-00020 when there is no room, ORA-01031 for a SYSDBA who is none.
    pub fn logon(instance: &'static Instance, logon: &Logon, peer_uid: u32) -> Result<Session> {
        if logon.version != PROTOCOL_VERSION {
            return Err(Ora::new(3134));
        }
        if instance.is_closing() {
            return Err(Ora::new(1089));
        }
        if logon.user.is_empty() && logon.as_sysdba && peer_uid != os::process::user_id() && peer_uid != 0 {
            return Err(Ora::new(1031));
        }
        // A few slots are kept for the supervisor's own work at a stop.
        if instance.processes().live().count() >= instance.max_processes() {
            return Err(Ora::with(20, &[&instance.max_processes()]));
        }
        let p = instance.processes().attach(&Attach {
            background: None,
            program: &logon.program,
            os_user: &logon.os_user,
            machine: &logon.machine,
            terminal: &logon.terminal,
            client_process: &logon.process_id.to_string(),
        })?;
        instance.pre_page();
        let cancel_key = new_key(&p);
        instance.state().set_cancel_key(p.number() as usize - 1, cancel_key);
        Ok(Session { instance, p, user: "SYS".into(), cancel_key })
    }

    /// What the client is told of its new session.
    pub fn welcome(&self) -> Welcome {
        Welcome {
            version: PROTOCOL_VERSION,
            sid: self.sid(),
            serial: self.p.serial() as u32,
            server_process: os::process::own_id() as u32,
            cancel_key: self.cancel_key,
            user: self.user.clone(),
            instance: self.instance.params().get(params::Param::InstanceName),
            database: self.instance.params().get(params::Param::DbName),
            banner: BANNER.into(),
        }
    }

    /// The session's number.
    pub fn sid(&self) -> u32 {
        self.p.sid()
    }

    /// The wait for the next call, live until the guard is dropped.
    pub fn wait_for_client(&self) -> WaitGuard<'_> {
        self.p.session().set_status(SessionStatus::Inactive);
        self.p.wait(Event::SqlNetMessageFromClient, 0, 1, 0)
    }

    /// Rolls back and frees everything when the session was killed between calls.
    pub fn release_if_killed(&mut self) {}

    /// Runs one call and appends the packets that answer it.
    pub fn call(&mut self, request: &Request, out: &mut Vec<u8>) -> Flow {
        self.p.session().set_status(SessionStatus::Active);
        if let Request::Logoff { .. } = request {
            write_frame(out, |o| Reply::Done(Box::default()).encode(o));
            return Flow::End;
        }
        let e = Ora::unsupported();
        let failure = Failure {
            facility: e.facility().prefix().into(),
            code: e.code(),
            text: e.to_string(),
            position: e.position(),
            ..Failure::default()
        };
        write_frame(out, |o| Reply::Error(Box::new(failure)).encode(o));
        Flow::Continue
    }

    /// Ends the session: what is not committed is rolled back.
    pub fn end(self) {
        self.instance.state().set_cancel_key(self.p.number() as usize - 1, 0);
    }
}

/// A key nobody guesses: 64 bits of the kernel's random numbers.
fn new_key(p: &Process) -> u64 {
    let mut bytes = [0; 8];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut f| std::io::Read::read_exact(&mut f, &mut bytes));
    let own = os::clock::now_ns() ^ u64::from(p.number()).rotate_left(48);
    match read {
        Ok(()) => u64::from_le_bytes(bytes).max(1),
        Err(_) => own.max(1),
    }
}

/// Sleeps until posted since `posts`, or until the time is up.
pub(crate) fn idle(p: &Process, event: Event, posts: u32, time: Duration) {
    let guard = p.wait(event, time.as_millis() as u64 / 10, 0, 0);
    if !p.sleep(posts, Some(time)) {
        guard.timed_out();
    }
}
