//! The first and the last steps of a forked child, common to all roles.

use crate::alert::{AlertLog, timestamp};
use crate::listener::{self, Listener};
use crate::sending::failure;
use crate::spare::{self, Inbox, SPARE_NAME};
use instance::Instance;
use net::local::{Reply, write_frame};
use os::signal;
use os::socket::EventFd;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use types::Ora;

/// The role of a child of the supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Pmon,
    /// Writes dirty blocks of a share of the working sets, by number.
    Dbw(u32),
    Lgwr,
    Ckpt,
    Arc0,
    Smon,
    Cjq0,
    /// Takes snapshots; its death does not end the instance.
    Mmon,
    /// Samples active sessions; its death does not end the instance.
    Mmnl,
    /// Listens on the network; its death does not end the instance.
    Lsnr,
    /// A job slave, by number.
    Slave(u32),
    /// A server of parallel queries, by number.
    Parallel(u32),
    /// Serves one connection.
    Server,
}

impl Role {
    /// The name of the process in `v$session.program` and in the alert log.
    pub fn name(self) -> String {
        match self {
            Role::Pmon => "PMON".into(),
            Role::Dbw(n) => instance::writer_name(n as usize),
            Role::Lgwr => "LGWR".into(),
            Role::Ckpt => "CKPT".into(),
            Role::Arc0 => "ARC0".into(),
            Role::Smon => "SMON".into(),
            Role::Cjq0 => "CJQ0".into(),
            Role::Mmon => "MMON".into(),
            Role::Mmnl => "MMNL".into(),
            Role::Lsnr => "LSNR".into(),
            Role::Slave(n) => format!("J{n:03}"),
            Role::Parallel(n) => parallel::name(n),
            Role::Server => "server".into(),
        }
    }

    /// Whether the death of the process ends the instance.
    pub fn is_background(self) -> bool {
        !matches!(self, Role::Slave(_) | Role::Parallel(_) | Role::Server | Role::Mmon | Role::Mmnl | Role::Lsnr)
    }

    /// Whether it runs until it is asked to end.
    pub fn has_work_of_its_own(self) -> bool {
        self.is_background() || self.is_started_again()
    }

    /// Whether it is restarted when it ends while the database is open.
    pub fn is_started_again(self) -> bool {
        matches!(self, Role::Mmon | Role::Mmnl | Role::Lsnr)
    }

    /// The error of an instance whose background process has ended.
    pub fn failure_code(self) -> u32 {
        match self {
            Role::Pmon => 472,
            Role::Lgwr => 470,
            Role::Ckpt => 469,
            Role::Dbw(_) => 471,
            Role::Smon => 474,
            _ => 449,
        }
    }
}

/// The input of a child process.
pub enum Given {
    Nothing,
    /// The socket on which a server process gets its first client.
    Spare(OwnedFd),
    /// The socket to listen on.
    Net(Listener),
}

/// Runs a child to its end.
pub fn run(
    instance: &'static Instance,
    role: Role,
    given: Given,
    alert: &AlertLog,
    (wanted, inbox): (&EventFd, &Inbox),
    supervisor: i32,
) -> ! {
    if !os::process::die_with_parent(supervisor, signal::SIGKILL) {
        os::process::exit_now(1);
    }
    // Ctrl-C at the terminal is for the supervisor; SIGTERM stays blocked and is read from a descriptor.
    signal::ignore(signal::SIGINT);
    signal::unblock(&[signal::SIGINT, signal::SIGCHLD, signal::SIGQUIT, signal::SIGUSR1]);
    signal::restore_default(signal::SIGQUIT);
    set_identity(instance, role, alert);
    let role_now = std::cell::Cell::new(role);
    let ended = match (role, given) {
        (Role::Server, Given::Spare(gets)) => {
            os::process::set_name(SPARE_NAME);
            spare::run(instance, gets, inbox, alert, &|| wanted.signal())
        }
        (Role::Lsnr, Given::Net(mut listener)) => match listener::run_gate(instance, &mut listener, inbox, alert) {
            Err(e) => Err(e),
            Ok(None) => Ok(()),
            // This process is a copy of the listener process.
            Ok(Some(proved)) => {
                let forked_ns = os::clock::now_ns();
                if !os::process::die_with_parent(supervisor, signal::SIGKILL) {
                    os::process::exit_now(1);
                }
                role_now.set(Role::Server);
                set_identity(instance, Role::Server, alert);
                listener::serve_in_copy(instance, proved, listener, forked_ns, alert)
            }
        },
        (Role::Server | Role::Lsnr, _) => Ok(()),
        (Role::Pmon, _) => background::pmon(instance, &|text| alert.write(text)),
        (Role::Dbw(n), _) => background::dbwn(instance, n as usize, &|text| alert.write(text)),
        (Role::Lgwr, _) => background::lgwr(instance, &|text| alert.write(text)),
        (Role::Ckpt, _) => background::ckpt(instance, &|text| alert.write(text)),
        (Role::Arc0, _) => background::arc0(instance, &|text| alert.write(text)),
        (Role::Smon, _) => background::smon(instance, &|text| alert.write(text)),
        (Role::Cjq0, _) => background::cjq0(instance, &|| wanted.signal(), &|text| alert.write(text)),
        (Role::Mmnl, _) => background::mmnl(instance),
        (Role::Mmon, _) => background::mmon(instance, &|text| alert.write(text)),
        (Role::Slave(n), _) => background::slave(instance, n, &|text| alert.write(text)),
        (Role::Parallel(n), _) => background::parallel_server(instance, n),
    };
    let status = match ended {
        Ok(()) => 0,
        Err(e) => {
            alert.write(&format!("Process {} ended: {e}", role_now.get().name()));
            1
        }
    };
    os::process::exit_now(status)
}

/// Sets the role's name in the process list and in panic reports, and the role for the crash points of tests.
fn set_identity(instance: &'static Instance, role: Role, alert: &AlertLog) {
    os::process::set_name(&format!("lw_{}", role.name().to_lowercase()));
    faults::spare(role.has_work_of_its_own());
    if !role.is_background() {
        os::process::set_oom_score(SESSION_OOM_SCORE);
    }
    install_panic_hook(instance, role, alert);
}

/// When memory runs out, the kernel kills a session before the processes that the instance needs (invariant 10).
const SESSION_OOM_SCORE: i32 = 300;

/// The exit status of a process that panicked.
const PANICKED: i32 = 101;

/// Installs a panic hook (invariant 9) that writes to the alert log and the process's trace file and ends the process
/// at once, like a kill: no destructor runs on broken data, and PMON rolls the process's changes back and frees what it
/// held. A panic inside the hook aborts the process, which has the same effect.
fn install_panic_hook(instance: &'static Instance, role: Role, alert: &AlertLog) {
    let alert = alert.duplicate();
    std::panic::set_hook(Box::new(move |info| {
        let what = info.payload();
        let text = what.downcast_ref::<&str>().copied().or_else(|| what.downcast_ref::<String>().map(String::as_str));
        let place = info.location().map(|l| format!("{}:{}", l.file(), l.line())).unwrap_or_default();
        let own_id = os::process::own_id();
        let error = format!("ORA-00600: internal error code, arguments: [{}], [{place}]", text.unwrap_or("unknown"));
        let error = types::escape::lines(&error);
        let file = instance.dir().join(format!("ora_{own_id}.trc"));
        // Resolving symbols takes seconds, during which the process still holds its latches, so it is optional.
        let stack = match std::env::var_os("LATCHWORK_BACKTRACE") {
            Some(_) => std::backtrace::Backtrace::force_capture().to_string(),
            None => String::new(),
        };
        let trace = format!("*** {}\n{error}\n{stack}\n", timestamp());
        let opened = std::fs::OpenOptions::new().create(true).append(true).open(&file);
        // A trace that cannot be written is lost.
        let _ = opened.and_then(|mut f| f.write_all(trace.as_bytes()));
        alert.write(&format!("Errors in file {} (process {}, pid {own_id}):\n{error}", file.display(), role.name()));
        if !os::panics::is_caught() {
            os::process::exit_now(PANICKED);
        }
    }));
}

/// Tells a client that there is no room, without a server process.
pub fn refuse(mut stream: UnixStream, processes: usize) {
    let e = Ora::with(20, &[&processes]);
    let mut out = Vec::new();
    write_frame(&mut out, |o| Reply::Error(Box::new(failure(&e, true))).encode(o));
    // A new socket takes so few bytes without blocking; a client that is gone needs none.
    let _ = stream.set_nonblocking(true);
    let _ = stream.write_all(&out);
}
