//! The supervisor: one thread that forks the processes of the instance and watches them. Only the listener process
//! forks server processes as well, for encrypted connections; those are children of the supervisor, too, and wait until
//! it knows them.
//!
//! The supervisor is a single loop over `poll`, so that forking is safe (no other thread can hold a lock at that
//! moment) and every child inherits the SGA at the same address. It runs no SQL and takes no latch while the instance
//! is open: a supervisor that waited for the latch of a dead process could not start the cleaning.
//!
//! | event | action |
//! |---|---|
//! | a local connection | hand it to a spare server process, or send ORA-00020 when there are too many |
//! | a client has proved its password to the listener | the same |
//! | a server process waits for a client | keep it as a spare one, unless there are enough |
//! | there are too few spare server processes | fork one |
//! | a server process of the listener announces itself | permit it, unless there are too many |
//! | the job queue requests a child | fork a job slave |
//! | a server process or job slave ended | mark its slots dead, post PMON |
//! | MMON, MMNL or LSNR ended | restart it |
//! | another background process ended | end the instance |
//! | SIGTERM, SIGINT · SIGUSR1 · SIGQUIT · end of the owner's pipe | stop: immediate · normal · abort · abort |
//! | SIGCHLD, and a server of parallel queries is requested | fork it |
//! | the supervisor dies | the kernel kills every child (PDEATHSIG) |

mod broker;
mod pooled;
mod processes;

use crate::alert::AlertLog;
use crate::children::{self, Given, Role};
use crate::directory::Directory;
use crate::fork::ForkOptions;
use crate::listener::Listener;
use crate::options::{StartOptions, StopMode};
use crate::spare::{self, Inbox, Pool, Report};
use broker::Broker;
use instance::{Instance, ListenerWish, Phase, Told};
use os::epoll::Epoll;
use os::process::Ended;
use os::signal::{self, SignalFd};
use os::socket::{EventFd, Poll};
use params::Param;
use processes::{Child, Spare, Supervisor};
use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use zeroize::Zeroize;

/// The socket's file name in the database directory.
pub const SOCKET_NAME: &str = "latchwork.sock";

/// Server processes beyond `processes` that may exist for a moment, to break calls or to refuse clients.
const SPARE_CHILDREN: usize = 16;

/// If permitted, the instance's processes are among the last that the kernel kills when memory runs out.
const INSTANCE_OOM_SCORE: i32 = -900;

/// Time limit for sessions to end in an immediate stop before they are killed.
const END_LIMIT: Duration = Duration::from_secs(5);

/// Time limit for a background process to finish its work at a stop.
const FINISH_LIMIT: Duration = Duration::from_secs(60);

/// MMON and MMNL are restarted unless they were started within this time.
const RESTART_LIMIT: Duration = Duration::from_secs(10);

/// Time that clients wait for a listener process that died soon after its start.
const LISTENER_PAUSE: Duration = Duration::from_secs(1);

/// The longest path in a socket address.
const MAX_SOCKET_PATH: usize = 107;

/// The reason why the loop ended.
enum End {
    Stop(StopMode),
    /// A background process is gone.
    Failed(Role, Ended),
}

/// Runs an instance from start to end.
pub fn run(mut options: StartOptions) -> Result<(), String> {
    // All files made by the instance's processes, including archived logs and backups, are private to their owner.
    os::process::make_files_private();
    let directory = match &options.dir {
        Some(d) => Directory::take(d),
        None => Directory::take_temporary(),
    };
    let directory = directory.map_err(|e| say(e.to_string()))?;
    let outcome = copy_into(&mut options, &directory).and_then(|()| run_in(&options, &directory));
    directory.release();
    outcome
}

/// Copies the database of which the instance is to have a copy.
fn copy_into(options: &mut StartOptions, directory: &Directory) -> Result<(), String> {
    let Some((from, checkpoint)) = &mut options.fork_of else { return Ok(()) };
    let how = ForkOptions { shares_space: true, sync: false, is_transient: true };
    // The signals stay pending for the instance.
    let signals = SignalFd::new(&[signal::SIGTERM, signal::SIGINT, signal::SIGQUIT, signal::SIGUSR1]);
    let signals = signals.map_err(|e| say(e.to_string()))?;
    let owner_on_stdin = options.owner_on_stdin;
    let mut stopped = || {
        let stdin = std::io::stdin();
        let mut set = vec![Poll::read(&signals)];
        if owner_on_stdin {
            set.push(Poll::read(&stdin));
        }
        os::socket::poll(&mut set, Some(Duration::ZERO)).is_ok_and(|n| n > 0)
    };
    crate::fork::fork(from, directory.dir(), &how, checkpoint, &mut stopped).map(drop).map_err(say)
}

fn say(text: String) -> String {
    // The starter may be gone; then nobody needs the text.
    let _ = writeln!(std::io::stdout(), "{text}");
    let _ = std::io::stdout().flush();
    text
}

fn run_in(options: &StartOptions, directory: &Directory) -> Result<(), String> {
    let alert = AlertLog::open(directory.dir());
    let mut supervisor = match Supervisor::open(options, directory, alert) {
        Ok(s) => s,
        Err((alert, text)) => {
            alert.write(&text);
            return Err(say(text));
        }
    };
    say(format!("ready {}", directory.dir().display()));
    if options.fork_of.is_some() {
        supervisor.connect_strings().into_iter().for_each(|text| drop(say(format!("connect {text}"))));
    }
    let end = supervisor.watch();
    supervisor.finish(end, directory)
}

/// Arms the faults of tests before the first file is opened and the first process is forked.
fn arm_faults(options: &StartOptions, directory: &Directory) -> os::OsResult<()> {
    if options.params.flag(Param::DiskFull) {
        faults::arm_full_disk(directory.dir())?;
    }
    if options.params.flag(Param::DeviceFails) {
        faults::arm_failing_device(directory.dir())?;
    }
    let plan = options.params.get(Param::CrashPoint);
    if !plan.is_empty() {
        faults::arm_points(plan, directory.dir())?;
    }
    match u64::try_from(options.params.number(Param::PowerLoss)) {
        Ok(at) => faults::arm_power_loss(directory.dir(), at),
        Err(_) => Ok(()),
    }
}

impl Supervisor {
    fn open(options: &StartOptions, directory: &Directory, alert: AlertLog) -> Result<Self, (AlertLog, String)> {
        alert.write("Starting Latchwork instance (normal)");
        match Self::open_instance(options, directory, &alert) {
            Ok((instance, signals, wanted, inbox, lines)) => {
                let count = |param| instance.params().number(param).max(0) as usize;
                let broker = match Broker::new() {
                    Ok(broker) => broker,
                    Err(e) => return Err((alert, e.to_string())),
                };
                let pool = Pool::new(count(Param::ProcessPoolMinCount), count(Param::ProcessPoolMaxCount));
                let mut s = Supervisor {
                    instance,
                    alert,
                    signals,
                    listener: None,
                    net: None,
                    wanted,
                    children: BTreeMap::new(),
                    spares: VecDeque::new(),
                    pool,
                    broker,
                    inbox,
                    lines,
                    under_way: Vec::new(),
                    message: Vec::new(),
                    ended: Vec::new(),
                    started_again: Vec::new(),
                    fork_at: None,
                    listen_at: None,
                    owner_on_stdin: options.owner_on_stdin,
                    own_id: os::process::own_id(),
                };
                match s.start_processes(directory) {
                    Ok(()) => Ok(s),
                    Err(text) => {
                        s.kill_all();
                        Err((s.alert, text))
                    }
                }
            }
            Err(text) => Err((alert, text)),
        }
    }

    fn open_instance(
        options: &StartOptions,
        directory: &Directory,
        alert: &AlertLog,
    ) -> Result<(&'static Instance, SignalFd, EventFd, Inbox, Epoll), String> {
        let lines = options.params.given_lines();
        if !lines.is_empty() {
            alert.write(&format!("System parameters with non-default values:\n  {}", lines.join("\n  ")));
            let is_given = |p: &&Param| !options.params.is_default(**p);
            let idle: Vec<&str> = params::WITHOUT_EFFECT.iter().filter(is_given).map(|p| p.def().name).collect();
            if !idle.is_empty() {
                alert.write(&format!("Parameters that are accepted and have no effect: {}", idle.join(", ")));
            }
        }
        signal::ignore(signal::SIGPIPE);
        // The death of this process or of a background process ends the instance; sessions set their own score.
        os::process::set_oom_score(INSTANCE_OOM_SCORE);
        let text = |e: os::OsError| e.to_string();
        let stop = [signal::SIGCHLD, signal::SIGTERM, signal::SIGINT, signal::SIGQUIT, signal::SIGUSR1];
        let signals = SignalFd::new(&stop).map_err(text)?;
        let wanted = EventFd::new().map_err(text)?;
        let inbox = Inbox::new().map_err(text)?;
        let lines = Epoll::new().map_err(text)?;
        // One descriptor for each session, and one for each process that waits.
        let _ = os::process::raise_descriptor_limit();
        arm_faults(options, directory).map_err(text)?;
        let mut tell = |told: Told<'_>| match told {
            Told::Alert(text) => alert.write(text),
            // A starter that waits for the first line skips these.
            Told::Progress(text) => drop(say(text.to_string())),
        };
        let instance = Instance::open_telling(directory.dir(), &options.params, directory.is_ephemeral(), &mut tell);
        let instance = instance.map_err(|e| e.to_string())?;
        instance.set_fixed_tables(views::make);
        views::prepare();
        alert.write(&instance.memory_report());
        Ok((instance, signals, wanted, inbox, lines))
    }

    fn start_processes(&mut self, directory: &Directory) -> Result<(), String> {
        use Role::*;
        let writers = (0..self.instance.db_writers() as u32).map(Dbw);
        let all = [Pmon].into_iter().chain(writers).chain([Lgwr, Ckpt, Smon, Arc0, Cjq0, Mmon, Mmnl]);
        // A throw-away database has no ARC0 and no MMON: sessions that wait for a log archive it, and snapshots are
        // taken on request.
        let is_wanted = |r: &Role| !matches!(r, Role::Arc0 | Role::Mmon) || !directory.is_ephemeral();
        for role in all.filter(is_wanted) {
            let pid = self.fork(role, Given::Nothing)?;
            self.alert.write(&format!("{} started with pid={pid}", role.name()));
        }
        self.listener = Some(listen(directory).map_err(|e| e.to_string())?);
        self.listen(directory.dir())?;
        self.instance.state().set_phase(Phase::Open);
        self.alert.write("Database opened");
        let servers = self.instance.caches().servers;
        servers.set_forks();
        let least = self.instance.params().number(Param::ParallelMinServers).clamp(0, servers.capacity() as i64);
        (0..least as u32).for_each(|n| servers.want(n));
        self.fork_parallel_servers();
        if self.net.is_some() {
            self.fork_listener()?;
        }
        Ok(())
    }

    /// Listens on the network if the parameters say so.
    fn listen(&mut self, dir: &Path) -> Result<(), String> {
        self.net = Listener::open(self.instance.params(), dir)?;
        self.instance.state().listener_begins();
        for address in self.net.iter().flat_map(Listener::addresses) {
            self.alert.write(&format!("Listening on: {address}"));
        }
        Ok(())
    }

    /// The connect strings of the instance's service on the network.
    fn connect_strings(&self) -> Vec<String> {
        let params = self.instance.params();
        let services = params.get(Param::ServiceNames);
        let service = services.split(',').next().unwrap_or("").trim();
        self.net.iter().flat_map(|net| net.connect_strings(service)).collect()
    }

    /// Executes a request to the listener, and returns whether it could.
    fn obey(&mut self, wish: ListenerWish) -> bool {
        let done = match wish {
            ListenerWish::Start if self.net.is_some() => Ok(()),
            ListenerWish::Start => {
                let dir = self.instance.dir().to_path_buf();
                // A process that is ending gets its successor when it has ended: there is one at a time.
                let ends = self.children.values().any(|child| child.role == Role::Lsnr);
                self.listen(&dir).and_then(|()| if ends { Ok(()) } else { self.fork_listener() })
            }
            ListenerWish::Stop => {
                self.net = None;
                self.listen_at = None;
                self.alert.write("Listener stopped");
                self.end_listener();
                Ok(())
            }
            // The successor reads the wallet again; clients wait meanwhile.
            ListenerWish::Reload => {
                self.end_listener();
                Ok(())
            }
        };
        if let Err(text) = &done {
            self.net = None;
            self.alert.write(text);
        }
        done.is_ok()
    }

    fn watch(&mut self) -> End {
        loop {
            let Some(listener) = &self.listener else { return End::Stop(StopMode::Immediate) };
            let mut set = vec![Poll::read(&self.signals), Poll::read(listener), Poll::read(&self.wanted)];
            let stdin = set.len();
            if self.owner_on_stdin {
                set.push(Poll::read(&std::io::stdin()));
            }
            let net = set.len();
            if let Some(listener) = &self.net {
                set.push(Poll::read(listener));
            }
            let lines = set.len();
            set.extend([Poll::read(&self.lines), Poll::read(&self.inbox), Poll::read(&self.broker)]);
            let until = self.listen_at.into_iter().chain(self.pool.look_at(self.spares.len()));
            let until = until.chain(self.broker.look_at()).min();
            // A spare process is forked when nothing else is to be done.
            let is_short = self.is_short_of_spares() && self.fork_at.is_none_or(|at| at <= Instant::now());
            let until = until.into_iter().chain(self.fork_at.filter(|_| !is_short)).min();
            let until = until.map(|at| at.saturating_duration_since(Instant::now()));
            match os::socket::poll(&mut set, if is_short { Some(Duration::ZERO) } else { until }) {
                Ok(0) if is_short => {
                    self.fork_ahead();
                    continue;
                }
                Ok(_) => {}
                Err(_) => return End::Stop(StopMode::Abort),
            }
            if set[lines].ready() {
                self.see_ends();
            }
            if set[0].ready()
                && let Some(end) = self.take_signals()
            {
                return end;
            }
            if set[0].ready() {
                self.fork_parallel_servers();
            }
            // Waiting processes are handled before new clients, which may need them.
            if set[lines + 1].ready() {
                self.read_inbox();
            }
            if set[lines + 2].ready() {
                self.see_pool();
            }
            self.tend_pool();
            if set[1].ready() {
                self.accept();
            }
            if set[2].ready() {
                self.fork_slaves();
                while let Some((wish, number)) = self.instance.state().take_listener_wish() {
                    let is_done = self.obey(wish);
                    self.instance.state().answer_listener_wish(number, is_done);
                }
            }
            if net < lines && set[net].ready() {
                self.let_on();
            }
            self.let_spares_go();
            if self.listen_at.is_some_and(|at| at <= Instant::now()) {
                self.listen_at = None;
                if let Err(text) = self.fork_listener() {
                    self.alert.write(&text);
                    self.listen_at = Some(Instant::now() + LISTENER_PAUSE);
                }
            }
            if self.owner_on_stdin && set[stdin].ready() {
                return End::Stop(StopMode::Abort);
            }
        }
    }

    /// Handles clients that have closed their connections: the present call ends, and the session with it.
    fn see_ends(&mut self) {
        let mut pids = Vec::new();
        if self.lines.wait(&mut pids, Some(Duration::ZERO)).is_ok() {
            for pid in pids.into_iter().map(|pid| pid as i32) {
                self.set_line(pid, None);
                self.instance.client_gone(pid);
            }
        }
    }

    /// Reads the reports of waiting processes and of clients that have proved a password.
    fn read_inbox(&mut self) {
        let mut message = std::mem::take(&mut self.message);
        while let Some(report) = self.inbox.hear(&mut message) {
            match report {
                Report::Waits(pid, gives) => {
                    self.set_line(pid, None);
                    if self.children.contains_key(&pid) && self.spares.len() < self.pool.max {
                        self.spares.push_back(Spare { pid, gives });
                        self.note_spares();
                    }
                }
                Report::Pooled(client) => self.come_to_pool(client),
                Report::Free(free) => self.server_is_free(free),
                Report::Proved(line) => {
                    let has_room = self.busy() < self.instance.max_processes() + SPARE_CHILDREN / 2;
                    spare::proof_for_spare(&mut message, has_room);
                    self.hand_over(&message, line);
                    message.zeroize();
                }
            }
        }
        self.message = message;
    }

    fn take_signals(&mut self) -> Option<End> {
        let mut end = None;
        while let Some((signal, _)) = self.signals.next() {
            match signal {
                signal::SIGTERM | signal::SIGINT => end = Some(End::Stop(StopMode::Immediate)),
                signal::SIGUSR1 => end = Some(End::Stop(StopMode::Normal)),
                signal::SIGQUIT => end = Some(End::Stop(StopMode::Abort)),
                _ => {}
            }
        }
        let end = self.reap().or(end);
        if end.is_none() {
            std::mem::take(&mut self.ended).into_iter().for_each(|role| self.start_again(role));
        }
        end
    }

    /// Restarts MMON or MMNL, without which the instance can live for a while; a process that ends soon after its start
    /// is not restarted.
    fn start_again(&mut self, role: Role) {
        let name = role.name();
        if role == Role::Lsnr && self.net.is_none() {
            return;
        }
        if role == Role::Lsnr {
            let is_early = last_of(&self.started_again, role).is_some_and(|at| at.elapsed() < RESTART_LIMIT);
            self.listen_at = Some(Instant::now() + if is_early { LISTENER_PAUSE } else { Duration::ZERO });
            return;
        }
        if last_of(&self.started_again, role).is_some_and(|at| at.elapsed() < RESTART_LIMIT) {
            self.alert.write(&format!("{name} ended soon after its start and is not restarted"));
            return;
        }
        self.started_again.retain(|(r, _)| *r != role);
        self.started_again.push((role, Instant::now()));
        match self.fork(role, Given::Nothing) {
            Ok(pid) => self.alert.write(&format!("{name} restarted with pid={pid}")),
            Err(text) => self.alert.write(&text),
        }
    }

    /// Reaps ended children.
    fn reap(&mut self) -> Option<End> {
        let mut end = None;
        while let Some(pid) = os::process::ended_child() {
            // The CPU time of a process is lost once it is reaped.
            if let Some(ns) = os::clock::process_cpu_ns(pid) {
                self.instance.processes().note_ended(pid, ns);
            }
            let Some(how) = os::process::wait(pid) else { continue };
            self.set_line(pid, None);
            let Some(Child { role, .. }) = self.children.remove(&pid) else { continue };
            self.spares.retain(|spare| spare.pid != pid);
            self.pool_server_ended(pid);
            if !role.is_background() {
                self.instance.process_ended(pid);
                match role {
                    Role::Slave(n) => self.instance.state().slave_ended(n),
                    Role::Parallel(n) => {
                        let instance = self.instance;
                        instance.caches().servers.ended(instance.processes(), n, how == Ended::Exited(0));
                    }
                    role if role.is_started_again() && self.instance.state().phase() == Phase::Open => {
                        self.ended.push(role);
                    }
                    _ => {}
                }
                if how != Ended::Exited(0) {
                    self.alert.write(&format!("Process {} (pid {pid}) {}", role.name(), describe(how)));
                }
            } else if how != Ended::Exited(0) || self.instance.state().phase() == Phase::Open {
                end = Some(End::Failed(role, how));
            }
        }
        end
    }

    fn accept(&mut self) {
        let Some(Ok((stream, _))) = self.listener.as_ref().map(UnixListener::accept) else { return };
        if self.busy() >= self.instance.max_processes() + SPARE_CHILDREN {
            children::refuse(stream, self.instance.max_processes());
            return;
        }
        let listens: Vec<String> = self.net.iter().flat_map(Listener::addresses).collect();
        let message = spare::local_for_spare(os::clock::now_ns(), &listens);
        self.hand_over(&message, stream.into());
    }

    /// Server processes of the network leave half of the extra processes to local connections.
    fn let_on(&mut self) {
        while let Some(announced) = self.net.as_ref().and_then(Listener::hear) {
            let has_room = self.busy() < self.instance.max_processes() + SPARE_CHILDREN / 2;
            let (pid, line) = (announced.pid, announced.line.try_clone().ok());
            // A process that has ended is reaped without a name. A process that takes the answer has not been reaped.
            if has_room && announced.let_on() {
                self.children.insert(pid, Child { role: Role::Server, line: None });
                self.set_line(pid, line);
            }
        }
    }

    fn finish(mut self, end: End, directory: &Directory) -> Result<(), String> {
        // No connection is accepted any more, and the directory shows no socket.
        self.listener = None;
        self.net = None;
        self.spares.clear();
        self.broker.forget_all();
        let _ = std::fs::remove_file(directory.dir().join(SOCKET_NAME));
        match end {
            End::Failed(role, how) => {
                self.kill_all();
                let text = format!(
                    "ORA-{:05}: {} process terminated with error\nInstance terminated by supervisor: {} {}",
                    role.failure_code(),
                    role.name(),
                    role.name(),
                    describe(how)
                );
                self.alert.write(&text);
                Err(text)
            }
            End::Stop(StopMode::Abort) => {
                self.alert.write("Shutting down instance (abort)");
                self.kill_all();
                self.alert.write("Instance shutdown complete");
                Ok(())
            }
            End::Stop(mode) => {
                self.alert.write(&format!("Shutting down instance ({})", mode.name()));
                let outcome = self.close(mode);
                self.kill_all();
                let last = outcome.as_ref().err().map_or("Instance shutdown complete", String::as_str);
                self.alert.write(last);
                outcome
            }
        }
    }

    /// Ends sessions, then the background processes in the order of their dependencies, then the database.
    fn close(&mut self, mode: StopMode) -> Result<(), String> {
        self.instance.state().set_phase(Phase::Closing);
        self.instance.caches().servers.wake_all(self.instance.processes());
        self.end_role(|r| r == Role::Cjq0, FINISH_LIMIT)?;
        self.end_role(Role::is_started_again, FINISH_LIMIT)?;
        if mode == StopMode::Immediate {
            self.instance.kill_all_sessions();
            self.signal_clients(signal::SIGTERM);
            if self.wait_gone(|r| !r.is_background(), Some(END_LIMIT)).is_err() {
                self.signal_clients(signal::SIGKILL);
            }
        }
        self.wait_gone(|r| !r.is_background(), None)?;
        self.end_role(|r| r == Role::Smon, FINISH_LIMIT)?;
        self.end_role(|r| r == Role::Pmon, FINISH_LIMIT)?;
        self.end_role(|r| r == Role::Arc0, FINISH_LIMIT)?;
        self.end_role(|r| matches!(r, Role::Dbw(_)), FINISH_LIMIT)?;
        for role in [Role::Ckpt, Role::Lgwr] {
            self.end_role(|r| r == role, FINISH_LIMIT)?;
        }
        self.instance.close().map_err(|e| e.to_string())
    }

    fn end_role(&mut self, which: impl Fn(Role) -> bool, limit: Duration) -> Result<(), String> {
        for (&pid, child) in &self.children {
            if which(child.role) {
                self.instance.ask_to_end(pid);
                // The process may have ended already.
                let _ = os::process::kill(pid, signal::SIGTERM);
            }
        }
        self.wait_gone(which, Some(limit))
    }

    /// Waits until no child of these roles is left.
    fn wait_gone(&mut self, which: impl Fn(Role) -> bool, limit: Option<Duration>) -> Result<(), String> {
        let start = Instant::now();
        loop {
            if let Some(End::Failed(role, how)) = self.reap() {
                return Err(format!("{} {} during shutdown", role.name(), describe(how)));
            }
            let Some(role) = self.children.values().map(|c| c.role).find(|r| which(*r)) else { return Ok(()) };
            // A process that still reports itself as waiting sees the end of its socket.
            while self.inbox.hear(&mut self.message).is_some() {}
            if limit.is_some_and(|l| start.elapsed() > l) {
                return Err(format!("{} did not end in time", role.name()));
            }
            // Repeated, because a process that was not attached at the first request had no slot to keep it.
            for (&pid, _) in self.children.iter().filter(|(_, c)| c.role.has_work_of_its_own() && which(c.role)) {
                self.instance.ask_to_end(pid);
            }
            while let Some((signal, _)) = self.signals.next() {
                match signal {
                    signal::SIGQUIT => return Err("Shutdown aborted".into()),
                    signal::SIGTERM | signal::SIGINT if limit.is_none() => {
                        self.instance.kill_all_sessions();
                        self.signal_clients(signal::SIGTERM);
                    }
                    _ => {}
                }
            }
            let mut set = [Poll::read(&self.signals)];
            // A failed poll only makes the loop busier.
            let _ = os::socket::poll(&mut set, Some(Duration::from_millis(20)));
        }
    }
}

fn last_of(started: &[(Role, Instant)], role: Role) -> Option<Instant> {
    started.iter().find(|(r, _)| *r == role).map(|(_, at)| *at)
}

fn describe(how: Ended) -> String {
    match how {
        Ended::Exited(status) => format!("ended with status {status}"),
        Ended::Killed(signal) => format!("was killed by signal {signal}"),
    }
}

/// Listens in the directory, through a descriptor of it when its path is too long for an address.
fn listen(directory: &Directory) -> os::OsResult<UnixListener> {
    use std::os::fd::AsRawFd;
    let path = directory.dir().join(SOCKET_NAME);
    let listener = if path.as_os_str().len() <= MAX_SOCKET_PATH {
        os::socket::listen(&path, 0o600)?
    } else {
        let dir = std::fs::File::open(directory.dir())
            .map_err(|e| os::OsError::from_io("open", directory.dir().display().to_string(), e))?;
        let short = PathBuf::from(format!("/proc/self/fd/{}/{SOCKET_NAME}", dir.as_raw_fd()));
        os::socket::listen(&short, 0o600)?
    };
    listener.set_nonblocking(true).map_err(|e| os::OsError::from_io("fcntl", path.display().to_string(), e))?;
    Ok(listener)
}
