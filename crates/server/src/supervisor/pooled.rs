//! The broker of the connection pool: the assignment of servers to clients (invariant 21).
//!
//! | event | action |
//! |---|---|
//! | a client has proved its password, or one without a server sends data | assign a server, or let it wait |
//! | a server is free | assign it to the client that has waited longest |
//! | a client without a server closes its connection | drop it |
//! | a client has waited for too long | a spare process tells it so |
//! | a server has been free for longer than INACTIVITY_TIMEOUT | end it, down to MINSIZE |
//! | a server process ends | drop it; its client has seen the end of its connection |
//! | the pool is stopped | end clients without a server and free servers at once, all others after their next release |

use super::{Spare, Supervisor};
use crate::spare::{self, Fate, FreeServer, PoolClient};
use instance::connection_pool::{ConnectionStatus, class_figure, figure};
use os::epoll::Epoll;
use params::Param;
use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

/// The servers and clients of the connection pool.
pub(super) struct Broker {
    servers: BTreeMap<i32, Server>,
    /// Clients without a server.
    clients: BTreeMap<u64, Waiting>,
    /// Those that want a server, in order of arrival.
    queue: VecDeque<u64>,
    /// Watches the connections of clients without a server.
    watch: Epoll,
    last_number: u64,
}

/// A pooled server.
#[derive(Default)]
struct Server {
    /// `None` while it has a client.
    free: Option<Free>,
    /// The index at which its client is displayed.
    shown: Option<usize>,
}

struct Free {
    gives: OwnedFd,
    /// The key of its kept session.
    keeps: Option<Vec<u8>>,
    since: Instant,
}

/// A client without a server.
struct Waiting {
    client: PoolClient,
    /// The index at which it is displayed.
    shown: Option<usize>,
    class: usize,
    /// The time since which it wants a server.
    since: Option<Instant>,
}

/// A client's goodbye in a packet of Oracle Net: the type of the packet, and a bit of its flags.
const DATA: u8 = 6;
const END_OF_FILE: u8 = 0x40;

impl Broker {
    pub(super) fn new() -> os::OsResult<Broker> {
        Ok(Broker {
            servers: BTreeMap::new(),
            clients: BTreeMap::new(),
            queue: VecDeque::new(),
            watch: Epoll::new()?,
            last_number: 0,
        })
    }

    /// Closes all connections, and lets all free servers end.
    pub(super) fn forget_all(&mut self) {
        self.clients.clear();
        self.queue.clear();
        self.servers.clear();
    }

    /// The time at which [`Supervisor::tend_pool`] must run next without another event.
    pub(super) fn look_at(&self) -> Option<Instant> {
        let has_timers = !self.queue.is_empty() || self.servers.values().any(|server| server.free.is_some());
        has_timers.then(|| Instant::now() + Duration::from_secs(1))
    }

    fn free(&self) -> impl Iterator<Item = (i32, &Free)> {
        self.servers.iter().filter_map(|(pid, server)| Some((*pid, server.free.as_ref()?)))
    }

    /// The number of clients, with a server or without.
    fn connections(&self) -> usize {
        self.clients.len() + self.servers.len() - self.free().count()
    }

    /// The free server that suits a client best: the one with the client's session, if the client accepts it; otherwise
    /// one without a session; otherwise, if the pool cannot grow, the one that has been free for longest.
    fn choose(&self, client: &PoolClient, may_grow: bool) -> Option<i32> {
        let key = &client.head.key;
        let own = |free: &Free| free.keeps.as_ref() == Some(key);
        let newest = |found: &dyn Fn(&Free) -> bool| {
            self.free().filter(|(_, free)| found(free)).max_by_key(|(_, free)| free.since).map(|(pid, _)| pid)
        };
        let wants_own = !client.head.client.wants_new;
        (if wants_own { newest(&own) } else { None }).or_else(|| newest(&|free| free.keeps.is_none())).or_else(|| {
            if may_grow { None } else { self.free().min_by_key(|(_, free)| free.since).map(|(pid, _)| pid) }
        })
    }

    /// The best free server for a waiting client, whatever session it keeps.
    fn choose_any(&self, number: u64) -> Option<i32> {
        self.choose(&self.clients.get(&number)?.client, false)
    }

    fn forget_client(&mut self, number: u64) -> Option<Waiting> {
        let waiting = self.clients.remove(&number)?;
        // A child that has just been forked may still have the descriptor.
        let _ = self.watch.remove(&waiting.client.line);
        self.queue.retain(|other| *other != number);
        Some(waiting)
    }
}

impl AsRawFd for Broker {
    /// The descriptor of clients that have sent data.
    fn as_raw_fd(&self) -> RawFd {
        self.watch.as_raw_fd()
    }
}

/// Whether the connection has only its end to read.
fn is_over(line: &OwnedFd) -> bool {
    let mut packet = [0; 10];
    match os::socket::peek(line, &mut packet) {
        Ok(0) => true,
        Ok(n) => n == packet.len() && packet[4] == DATA && packet[9] & END_OF_FILE != 0,
        Err(e) => e.kind() != std::io::ErrorKind::WouldBlock,
    }
}

impl Supervisor {
    /// Handles a pool client that has proved its password.
    pub(super) fn come_to_pool(&mut self, client: PoolClient) {
        let pool = self.instance.state().pool();
        let class = pool.class(&client.head.client.class);
        // The listener process checks the limit before the logon, after which there may be more clients.
        if self.broker.connections() as u64 >= pool.connections_max() {
            let message = spare::pooled_for_server(&client.letter, class, Fate::TooMany);
            return self.hand_over(&message, client.line);
        }
        let shown = pool.show(&client.head.client, ConnectionStatus::Waiting);
        self.keep_client(Waiting { client, shown, class, since: None });
    }

    /// Keeps a client, and assigns a server if it has sent data.
    fn keep_client(&mut self, mut waiting: Waiting) {
        let pool = self.instance.state().pool();
        self.broker.last_number += 1;
        let number = self.broker.last_number;
        let wants = waiting.client.has_said;
        // Messages of a client that has left the pool are not read.
        let is_over = wants && waiting.client.letter.is_empty();
        let watched = match wants {
            true => self.broker.watch.add_hangup(&waiting.client.line, number),
            false => self.broker.watch.add(&waiting.client.line, number),
        };
        if watched.is_err() || is_over || !pool.is_active() {
            pool.show_status(waiting.shown, None, 0);
            return;
        }
        waiting.since = wants.then(Instant::now);
        let status = if wants { ConnectionStatus::Waiting } else { ConnectionStatus::Idle };
        pool.show_status(waiting.shown, Some(status), 0);
        let class = waiting.class;
        self.broker.clients.insert(number, waiting);
        if wants {
            pool.count(class, class_figure::REQUESTS, 1);
            // Waiting clients come first.
            self.broker.queue.push_back(number);
            self.serve_queue();
            if self.broker.clients.contains_key(&number) {
                pool.count(class, class_figure::WAITS, 1);
            }
        }
    }

    /// Handles a free server, and the state of its last client.
    pub(super) fn server_is_free(&mut self, free: FreeServer) {
        let FreeServer { pid, gives, keeps, parked } = free;
        self.set_line(pid, None);
        let pool = self.instance.state().pool();
        let Some(server) = self.broker.servers.get_mut(&pid) else { return };
        let shown = server.shown.take();
        if !pool.is_active() {
            // The process ends when it sees that its socket is closed.
            self.broker.servers.remove(&pid);
            pool.show_status(shown, None, 0);
            return;
        }
        server.free = gives.map(|gives| Free { gives, keeps, since: Instant::now() });
        if server.free.is_none() {
            self.broker.servers.remove(&pid);
        }
        match parked {
            Some(client) => {
                let class = pool.class(&client.head.client.class);
                self.keep_client(Waiting { client, shown, class, since: None });
            }
            None => pool.show_status(shown, None, 0),
        }
        self.serve_queue();
    }

    /// Assigns servers to waiting clients as long as there are free ones.
    fn serve_queue(&mut self) {
        while let Some(&number) = self.broker.queue.front() {
            if !self.broker.clients.contains_key(&number) {
                self.broker.queue.pop_front();
            } else if !self.give_server(number) {
                return;
            }
        }
    }

    /// Assigns a server to a client; false when the client must wait.
    fn give_server(&mut self, number: u64) -> bool {
        loop {
            let (_, most) = self.instance.state().pool().sizes();
            let may_grow = self.broker.servers.len() < most;
            let Some(waiting) = self.broker.clients.get(&number) else { return true };
            let chosen = match self.broker.choose(&waiting.client, may_grow) {
                Some(pid) => Some(pid),
                // When no process can be forked, any free one is used.
                None if may_grow => self.grow().or_else(|| self.broker.choose_any(number)),
                None => None,
            };
            let Some(waiting) = self.broker.clients.get(&number) else { return true };
            let Some(pid) = chosen else { return false };
            let Some(server) = self.broker.servers.get_mut(&pid) else { return false };
            let Some(free) = server.free.take() else { return false };
            let message = spare::pooled_for_server(&waiting.client.letter, waiting.class, Fate::Served);
            if os::socket::send_with(&free.gives, &message, &[waiting.client.line.as_raw_fd()]).is_err() {
                // The server has just died.
                self.broker.servers.remove(&pid);
                continue;
            }
            let Some(Waiting { client, shown, class, since }) = self.broker.forget_client(number) else { return true };
            let pool = self.instance.state().pool();
            if let Some(since) = since {
                pool.count(class, class_figure::WAIT_TIME, since.elapsed().as_millis() as u64 / 10);
            }
            pool.show_status(shown, Some(ConnectionStatus::Active), pid);
            if let Some(server) = self.broker.servers.get_mut(&pid) {
                server.shown = shown;
            }
            self.set_line(pid, Some(client.line));
            return true;
        }
    }

    /// Adds up to INCRSIZE servers to the pool, and returns one of them.
    fn grow(&mut self) -> Option<i32> {
        let pool = self.instance.state().pool();
        let room = pool.sizes().1.saturating_sub(self.broker.servers.len());
        let mut one = None;
        for _ in 0..pool.increment().min(room) {
            one = self.add_server().or(one);
        }
        one
    }

    /// Makes a spare process a pooled server.
    fn add_server(&mut self) -> Option<i32> {
        let spare = self.spares.pop_back().map_or_else(|| self.fork_spare(), Ok);
        match spare {
            Ok(Spare { pid, gives }) => {
                let free = Some(Free { gives, keeps: None, since: Instant::now() });
                self.broker.servers.insert(pid, Server { free, shown: None });
                self.note_spares();
                Some(pid)
            }
            Err(text) => {
                self.alert.write(&text);
                None
            }
        }
    }

    /// Handles clients without a server that have sent data, or are gone.
    pub(super) fn see_pool(&mut self) {
        let mut numbers = Vec::new();
        if self.broker.watch.wait(&mut numbers, Some(Duration::ZERO)).is_err() {
            return;
        }
        for number in numbers {
            let Some(waiting) = self.broker.clients.get(&number) else { continue };
            // A client that waits for a server is watched for its end only.
            let has_gone = waiting.since.is_some() || waiting.client.letter.is_empty() || is_over(&waiting.client.line);
            let Some(mut waiting) = self.broker.forget_client(number) else { continue };
            if has_gone {
                self.instance.state().pool().show_status(waiting.shown, None, 0);
            } else {
                waiting.client.has_said = true;
                self.keep_client(waiting);
            }
        }
    }

    /// Does the periodic work: adds or ends servers, refuses clients that have waited for too long, updates the
    /// figures.
    pub(super) fn tend_pool(&mut self) {
        let pool = self.instance.state().pool();
        if pool.is_active() {
            let least = pool.sizes().0.min(self.instance.max_processes());
            while self.broker.servers.len() < least && self.add_server().is_some() {}
            // A server may have ended, or the limit may have grown.
            self.serve_queue();
            self.end_idle();
            self.end_late();
        } else {
            self.stop_pool();
        }
        let free = self.broker.free().count();
        let authenticated = self.broker.free().filter(|(_, free)| free.keeps.is_some()).count();
        let (open, clients) = (self.broker.servers.len(), self.broker.connections());
        let now = [open, open - free, authenticated, clients].map(|count| count as u64);
        // A restarted pool begins with zeroes, and may still have servers.
        let shown = [figure::OPEN, figure::BUSY, figure::AUTHENTICATED, figure::CONNECTIONS].map(|at| pool.figure(at));
        if shown != now {
            pool.set_servers(open, open - free, authenticated);
            pool.set_connections(clients);
        }
    }

    fn end_idle(&mut self) {
        let pool = self.instance.state().pool();
        let (least, most) = pool.sizes();
        let mut idle: Vec<(Instant, i32)> = self.broker.free().map(|(pid, free)| (free.since, pid)).collect();
        idle.sort_unstable();
        for (since, pid) in idle {
            let count = self.broker.servers.len();
            let is_idle = pool.inactivity().is_some_and(|limit| since.elapsed() >= limit);
            if count > most || count > least && is_idle {
                self.broker.servers.remove(&pid);
            }
        }
    }

    fn end_late(&mut self) {
        let limit = Duration::from_secs(self.instance.params().number(Param::ConnectionPoolWaitTime).max(1) as u64);
        while let Some(&number) = self.broker.queue.front() {
            let since = self.broker.clients.get(&number).and_then(|waiting| waiting.since);
            if since.is_some_and(|since| since.elapsed() < limit) {
                return;
            }
            self.broker.queue.pop_front();
            let Some(Waiting { client, shown, class, .. }) = self.broker.forget_client(number) else { continue };
            let pool = self.instance.state().pool();
            pool.count(class, class_figure::TIMEOUTS, 1);
            pool.show_status(shown, None, 0);
            let message = spare::pooled_for_server(&client.letter, class, Fate::TooLate);
            self.hand_over(&message, client.line);
        }
    }

    /// Ends all clients without a server, and all free servers.
    fn stop_pool(&mut self) {
        let numbers: Vec<u64> = self.broker.clients.keys().copied().collect();
        for number in numbers {
            let waiting = self.broker.forget_client(number);
            self.instance.state().pool().show_status(waiting.and_then(|waiting| waiting.shown), None, 0);
        }
        self.broker.servers.retain(|_, server| server.free.is_none());
    }

    /// Handles the end of a process that may have been a pooled server.
    pub(super) fn pool_server_ended(&mut self, pid: i32) {
        if let Some(server) = self.broker.servers.remove(&pid) {
            self.instance.state().pool().show_status(server.shown, None, 0);
        }
    }
}
