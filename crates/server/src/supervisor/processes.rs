//! The children of the supervisor: forking them, and handing clients to server processes that wait.

use super::broker::Broker;
use crate::alert::AlertLog;
use crate::children::{self, Given, Role};
use crate::listener::Listener;
use crate::spare::{Inbox, Pool};
use instance::Instance;
use os::epoll::Epoll;
use os::process::Fork;
use os::signal::{self, SignalFd};
use os::socket::EventFd;
use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

/// Pause before the next fork of a spare process after a failed one.
const FORK_PAUSE: Duration = Duration::from_secs(1);

/// The supervisor of an open instance.
pub(super) struct Supervisor {
    pub(super) instance: &'static Instance,
    pub(super) alert: AlertLog,
    pub(super) signals: SignalFd,
    pub(super) listener: Option<UnixListener>,
    /// The network listener, if there is one.
    pub(super) net: Option<Listener>,
    /// CJQ0 writes to it to request a job slave.
    pub(super) wanted: EventFd,
    pub(super) children: BTreeMap<i32, Child>,
    /// The waiting server processes, the coldest first.
    pub(super) spares: VecDeque<Spare>,
    pub(super) pool: Pool,
    /// The connection pool.
    pub(super) broker: Broker,
    /// The socket for reports of waiting processes and of clients that have proved a password.
    pub(super) inbox: Inbox,
    /// Watches the connections of server processes for their ends, by process number.
    pub(super) lines: Epoll,
    /// Descriptors in transit to another process. A child that is forked meanwhile keeps none of them.
    pub(super) under_way: Vec<OwnedFd>,
    /// The last message at the inbox.
    pub(super) message: Vec<u8>,
    /// Roles that have ended and are to be restarted while the database is open, with the time of their last start.
    pub(super) ended: Vec<Role>,
    pub(super) started_again: Vec<(Role, Instant)>,
    /// The time of the next fork of a spare process after a failed one.
    pub(super) fork_at: Option<Instant>,
    /// The time at which the listener process is to be restarted, if it has ended.
    pub(super) listen_at: Option<Instant>,
    pub(super) owner_on_stdin: bool,
    pub(super) own_id: i32,
}

/// A child that has not been reaped.
pub(super) struct Child {
    pub(super) role: Role,
    /// A server process's connection: the process reads it between calls only, so the supervisor watches for clients
    /// that disconnect during a call. `None` afterwards.
    pub(super) line: Option<OwnedFd>,
}

/// A server process that waits for a client, and the socket for handing it one.
pub(super) struct Spare {
    pub(super) pid: i32,
    pub(super) gives: OwnedFd,
}

impl Supervisor {
    /// Forks one child. Does not return in the child.
    pub(super) fn fork(&mut self, role: Role, given: Given) -> Result<i32, String> {
        match os::process::fork().map_err(|e| format!("ORA-27300: OS system dependent operation:fork failed\n{e}"))? {
            Fork::Parent(pid) => {
                self.children.insert(pid, Child { role, line: None });
                Ok(pid)
            }
            Fork::Child => {
                // Connections of other sessions must end with their own processes.
                self.children.clear();
                self.spares.clear();
                self.broker.forget_all();
                self.under_way.clear();
                self.inbox.leave();
                // Listening sockets stay with the supervisor and the listener process, so that they close with them.
                drop(self.listener.take());
                let given = match (role, self.net.take(), given) {
                    (Role::Lsnr, Some(net), _) => Given::Net(net.of_gate()),
                    (_, _, given) => given,
                };
                // Statements nest deeper than the stack of a process that the system has made.
                os::stack::run(os::stack::SIZE, || -> Result<i32, String> {
                    let posts = (&self.wanted, &self.inbox);
                    children::run(self.instance, role, given, &self.alert, posts, self.own_id)
                })
            }
        }
    }

    /// Sets the connection of a server process, instead of the previous one. Without room to watch it, the client's end
    /// is noticed only at the end of the call.
    pub(super) fn set_line(&mut self, pid: i32, line: Option<OwnedFd>) {
        let Some(child) = self.children.get_mut(&pid) else { return };
        if let Some(before) = &child.line {
            // The server process has the descriptor too, so closing it is not enough.
            let _ = self.lines.remove(before);
        }
        child.line = line.filter(|line| self.lines.add_hangup(line, pid as u64).is_ok());
    }

    /// Server processes with a client, and all other children.
    pub(super) fn busy(&self) -> usize {
        self.children.len().saturating_sub(self.spares.len())
    }

    /// Hands a client's connection, with the message about it, to a waiting server process.
    pub(super) fn hand_over(&mut self, message: &[u8], line: OwnedFd) {
        self.under_way.push(line);
        let mut taker = None;
        while taker.is_none() {
            let (spare, is_new) = match self.spares.pop_back() {
                Some(spare) => (spare, false),
                None => match self.fork_spare() {
                    Ok(spare) => (spare, true),
                    // The client sees the end of its connection.
                    Err(text) => {
                        self.alert.write(&text);
                        break;
                    }
                },
            };
            let Some(line) = self.under_way.last() else { break };
            match os::socket::send_with(&spare.gives, message, &[line.as_fd()]) {
                Ok(()) => taker = Some(spare.pid),
                // The new process has just died; another one would probably die as well.
                Err(_) if is_new => break,
                Err(_) => {}
            }
        }
        let line = self.under_way.pop();
        if let Some(pid) = taker {
            self.set_line(pid, line);
        }
        self.note_spares();
    }

    /// Forks a server process that waits for a client.
    pub(super) fn fork_spare(&mut self) -> Result<Spare, String> {
        let (gives, gets) = os::socket::message_pair().map_err(|e| e.to_string())?;
        self.under_way.push(gives);
        let forked = self.fork(Role::Server, Given::Spare(gets));
        let gives = self.under_way.pop();
        Ok(Spare { pid: forked?, gives: gives.ok_or_else(|| "no socket".to_string())? })
    }

    pub(super) fn is_short_of_spares(&self) -> bool {
        self.spares.len() < self.pool.min && self.busy() < self.instance.max_processes()
    }

    pub(super) fn fork_ahead(&mut self) {
        self.fork_at = None;
        match self.fork_spare() {
            Ok(spare) => self.spares.push_front(spare),
            Err(text) => {
                self.alert.write(&text);
                self.fork_at = Some(Instant::now() + FORK_PAUSE);
            }
        }
        self.note_spares();
    }

    pub(super) fn note_spares(&mut self) {
        let waiting = self.spares.len();
        self.pool.note(waiting);
        self.instance.state().set_spares(waiting);
    }

    /// Ends spare processes that were not needed.
    pub(super) fn let_spares_go(&mut self) {
        let surplus = self.pool.surplus(self.spares.len(), Instant::now());
        if surplus > 0 {
            // They end when they see that their sockets are closed.
            self.spares.drain(..surplus);
            self.note_spares();
        }
    }

    /// Starts the listener process.
    pub(super) fn fork_listener(&mut self) -> Result<(), String> {
        self.started_again.retain(|(r, _)| *r != Role::Lsnr);
        self.started_again.push((Role::Lsnr, Instant::now()));
        let pid = self.fork(Role::Lsnr, Given::Nothing)?;
        self.alert.write(&format!("LSNR started with pid={pid}"));
        Ok(())
    }

    pub(super) fn fork_slaves(&mut self) {
        let _ = self.wanted.take();
        while let Some(n) = self.instance.state().take_wanted_slave() {
            if let Err(text) = self.fork(Role::Slave(n), Given::Nothing) {
                self.alert.write(&text);
                self.instance.state().slave_ended(n);
            }
        }
    }

    /// Forks the servers of parallel queries that are requested.
    pub(super) fn fork_parallel_servers(&mut self) {
        let instance = self.instance;
        while let Some(n) = instance.caches().servers.take_wanted() {
            if let Err(text) = self.fork(Role::Parallel(n), Given::Nothing) {
                self.alert.write(&text);
                instance.caches().servers.not_forked(instance.processes(), n);
            }
        }
    }

    pub(super) fn signal_clients(&self, signal: i32) {
        for (&pid, child) in &self.children {
            if !child.role.is_background() {
                let _ = os::process::kill(pid, signal);
            }
        }
    }

    /// Kills every child and waits for them, so that none touches the directory afterwards.
    pub(super) fn kill_all(&mut self) {
        for &pid in self.children.keys() {
            let _ = os::process::kill(pid, signal::SIGKILL);
        }
        for (pid, _) in std::mem::take(&mut self.children) {
            let _ = os::process::wait(pid);
        }
    }

    pub(super) fn end_listener(&self) {
        for (&pid, _) in self.children.iter().filter(|(_, child)| child.role == Role::Lsnr) {
            self.instance.ask_to_end(pid);
            // The process may have ended already.
            let _ = os::process::kill(pid, signal::SIGTERM);
        }
    }
}
