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

use super::broker::{Free, Server, Waiting};
use super::processes::{Spare, Supervisor};
use crate::spare::{self, Fate, FreeServer, PoolClient};
use instance::connection_pool::{ConnectionStatus, class_figure, figure};
use params::Param;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// A client's goodbye in a packet of Oracle Net: the type of the packet, and a bit of its flags.
const DATA: u8 = 6;
const END_OF_FILE: u8 = 0x40;

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
            if os::socket::send_with(&free.gives, &message, &[waiting.client.line.as_fd()]).is_err() {
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
