//! The servers and clients of the connection pool, and the choice of a server.

use crate::spare::PoolClient;
use os::epoll::Epoll;
use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

/// The servers and clients of the connection pool.
pub(super) struct Broker {
    pub(super) servers: BTreeMap<i32, Server>,
    /// Clients without a server.
    pub(super) clients: BTreeMap<u64, Waiting>,
    /// Those that want a server, in order of arrival.
    pub(super) queue: VecDeque<u64>,
    /// Watches the connections of clients without a server.
    pub(super) watch: Epoll,
    pub(super) last_number: u64,
}

/// A pooled server.
#[derive(Default)]
pub(super) struct Server {
    /// `None` while it has a client.
    pub(super) free: Option<Free>,
    /// The index at which its client is displayed.
    pub(super) shown: Option<usize>,
}

pub(super) struct Free {
    pub(super) gives: OwnedFd,
    /// The key of its kept session.
    pub(super) keeps: Option<Vec<u8>>,
    pub(super) since: Instant,
}

/// A client without a server.
pub(super) struct Waiting {
    pub(super) client: PoolClient,
    /// The index at which it is displayed.
    pub(super) shown: Option<usize>,
    pub(super) class: usize,
    /// The time since which it wants a server.
    pub(super) since: Option<Instant>,
}

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

    /// The time at which [`super::Supervisor::tend_pool`] must run next without another event.
    pub(super) fn look_at(&self) -> Option<Instant> {
        let has_timers = !self.queue.is_empty() || self.servers.values().any(|server| server.free.is_some());
        has_timers.then(|| Instant::now() + Duration::from_secs(1))
    }

    pub(super) fn free(&self) -> impl Iterator<Item = (i32, &Free)> {
        self.servers.iter().filter_map(|(pid, server)| Some((*pid, server.free.as_ref()?)))
    }

    /// The number of clients, with a server or without.
    pub(super) fn connections(&self) -> usize {
        self.clients.len() + self.servers.len() - self.free().count()
    }

    /// The free server that suits a client best: the one with the client's session, if the client accepts it; otherwise
    /// one without a session; otherwise, if the pool cannot grow, the one that has been free for longest.
    pub(super) fn choose(&self, client: &PoolClient, may_grow: bool) -> Option<i32> {
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
    pub(super) fn choose_any(&self, number: u64) -> Option<i32> {
        self.choose(&self.clients.get(&number)?.client, false)
    }

    pub(super) fn forget_client(&mut self, number: u64) -> Option<Waiting> {
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
