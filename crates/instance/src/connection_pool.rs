//! The connection pool (DRCP): its settings and figures in the SGA.
//!
//! The settings are rows of CPOOL$, which outlive the instance; while the pool is active a copy of them is in the SGA.
//! The listener process writes the copy when it begins, DBMS_CONNECTION_POOL when it changes the rows. Only the
//! supervisor assigns servers of the pool and writes the figures of connections; the servers count their own figures.

use dictionary::connection_pool::{SETTINGS, place};
use sga::{Sga, SgaBuilder, SgaSlice, SgaText};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

/// A value for each of [`SETTINGS`].
pub type PoolSettings = [i64; SETTINGS.len()];

/// Figures of the pool, by place: `v$cpool_stats`.
pub mod figure {
    /// Existing servers.
    pub const OPEN: usize = 0;
    /// Servers with a client.
    pub const BUSY: usize = 1;
    /// Servers without a client that keep a session.
    pub const AUTHENTICATED: usize = 2;
    pub const PURGED: usize = 3;
    /// The largest number of servers so far.
    pub const HISTORIC_MAX: usize = 4;
    /// Clients.
    pub const CONNECTIONS: usize = 5;
    pub const LEN: usize = 6;
}

/// Figures of a connection class, by place: `v$cpool_cc_stats`.
pub mod class_figure {
    pub const REQUESTS: usize = 0;
    pub const HITS: usize = 1;
    pub const MISSES: usize = 2;
    pub const WAITS: usize = 3;
    /// Hundredths of seconds.
    pub const WAIT_TIME: usize = 4;
    pub const TIMEOUTS: usize = 5;
    pub const AUTHENTICATIONS: usize = 6;
    pub const LEN: usize = 7;
}

/// Places for the figures of connection classes. The last place is shared by all classes without one of their own.
const CLASSES_MAX: usize = 64;

/// The name of the shared place.
const OTHER_CLASSES: &str = "(other connection classes)";

/// Bytes of a class's name that are kept with its figures.
const CLASS_NAME_KEPT: usize = 256;

/// Connections that `v$cpool_conn_info` shows.
const CONNECTIONS_SHOWN: usize = 512;

sga::sga_struct! {
    struct Fixed {
        /// 1 while the pool is active.
        active: AtomicU32,
        settings: [AtomicU64; SETTINGS.len()],
        figures: [AtomicU64; figure::LEN],
    }

    struct Class {
        name: SgaText<{ CLASS_NAME_KEPT / 8 }>,
        figures: [AtomicU64; class_figure::LEN],
    }

    /// A connection of the pool. Written by the supervisor alone.
    struct Shown {
        /// 0 for no connection, otherwise a [`ConnectionStatus`] + 1.
        status: AtomicU32,
        purity: AtomicU32,
        /// The process that serves the connection; 0 for none.
        server: AtomicU32,
        user: SgaText<16>,
        class: SgaText<32>,
        service: SgaText<8>,
        program: SgaText<8>,
        machine: SgaText<8>,
        terminal: SgaText<4>,
    }
}

types::numbered! {
    /// CONNECTION_STATUS.
    #[derive(Debug, PartialEq, Eq)]
    pub enum ConnectionStatus: u32 {
        /// The connection has a server.
        Active = 1,
        /// The connection waits for a server.
        Waiting = 2,
        Idle = 3,
    }
}

/// A client of the pool, as the supervisor knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolClient {
    pub user: String,
    pub class: String,
    pub service: String,
    pub program: String,
    pub machine: String,
    pub terminal: String,
    /// The client wants a session that no other client has had.
    pub wants_new: bool,
}

/// A row of `v$cpool_conn_info`.
#[derive(Clone, Debug)]
pub struct ShownConnection {
    /// The place of the row, from 0.
    pub number: usize,
    pub client: PoolClient,
    pub status: ConnectionStatus,
    /// The process that serves the connection.
    pub server: Option<i32>,
}

/// The areas of the pool.
pub struct PoolLayout {
    fixed: SgaSlice<Fixed>,
    classes: SgaSlice<Class>,
    shown: SgaSlice<Shown>,
}

/// The connection pool of the instance.
#[derive(Clone, Copy)]
pub struct ConnectionPool {
    fixed: &'static Fixed,
    classes: &'static [Class],
    shown: &'static [Shown],
}

impl PoolLayout {
    /// Reserves the areas.
    pub fn reserve(builder: &mut SgaBuilder) -> PoolLayout {
        PoolLayout {
            fixed: builder.reserve("instance", 1),
            classes: builder.reserve("instance", CLASSES_MAX),
            shown: builder.reserve("instance", CONNECTIONS_SHOWN),
        }
    }
}

impl ConnectionPool {
    /// The pool over areas of zeros, which need no formatting.
    pub(crate) fn create(sga: &'static Sga, layout: &PoolLayout) -> ConnectionPool {
        ConnectionPool {
            fixed: &sga.slice(layout.fixed)[0],
            classes: sga.slice(layout.classes),
            shown: sga.slice(layout.shown),
        }
    }

    /// Whether the pool accepts clients.
    pub fn is_active(&self) -> bool {
        self.fixed.active.load(Acquire) != 0
    }

    fn setting(&self, at: usize) -> u64 {
        self.fixed.settings[at].load(Relaxed)
    }

    /// MINSIZE and MAXSIZE.
    pub fn sizes(&self) -> (usize, usize) {
        let max = self.setting(place::MAXSIZE) as usize;
        ((self.setting(place::MINSIZE) as usize).min(max), max)
    }

    /// INCRSIZE.
    pub fn increment(&self) -> usize {
        (self.setting(place::INCRSIZE) as usize).max(1)
    }

    /// MAXCONN_CBROK.
    pub fn connections_max(&self) -> u64 {
        self.setting(place::MAXCONN_CBROK)
    }

    /// The longest time of a server without a client.
    pub fn inactivity(&self) -> Option<Duration> {
        seconds(self.setting(place::INACTIVITY_TIMEOUT))
    }

    /// The longest time for which a client may have a server without a call, in a transaction or not.
    pub fn think_time(&self, in_transaction: bool) -> Option<Duration> {
        let own = seconds(self.setting(place::MAX_TXN_THINK_TIME)).filter(|_| in_transaction);
        own.or_else(|| seconds(self.setting(place::MAX_THINK_TIME)))
    }

    /// SESSION_CACHED_CURSORS.
    pub fn cached_cursors(&self) -> u64 {
        self.setting(place::SESSION_CACHED_CURSORS)
    }

    /// Whether a session must end after `uses` clients or at this age.
    pub fn is_used_up(&self, uses: u64, age: Duration) -> bool {
        let (uses_max, lifetime) =
            (self.setting(place::MAX_USE_SESSION), seconds(self.setting(place::MAX_LIFETIME_SESSION)));
        uses_max != 0 && uses >= uses_max || lifetime.is_some_and(|most| age >= most)
    }

    /// Puts the settings of CPOOL$ into force, and activates or stops the pool.
    pub fn take_over(&self, is_active: bool, settings: &PoolSettings) {
        if is_active {
            self.activate(settings);
        } else {
            self.fixed.active.store(0, Release);
        }
    }

    /// Activates the pool with these settings. The figures of an inactive pool are set to zero.
    pub fn activate(&self, settings: &PoolSettings) {
        if !self.is_active() {
            let all = self.classes.iter().flat_map(|class| &class.figures);
            all.chain(&self.fixed.figures).for_each(|figure| figure.store(0, Relaxed));
        }
        for (place, value) in self.fixed.settings.iter().zip(settings) {
            place.store((*value).max(0) as u64, Relaxed);
        }
        self.fixed.active.store(1, Release);
    }

    /// A figure of the pool.
    pub fn figure(&self, at: usize) -> u64 {
        self.fixed.figures[at].load(Relaxed)
    }

    /// Sets the numbers of servers: all of them, servers with a client, and servers with a session but no client. Only
    /// the supervisor calls this.
    pub fn set_servers(&self, open: usize, busy: usize, authenticated: usize) {
        let places = [(figure::OPEN, open), (figure::BUSY, busy), (figure::AUTHENTICATED, authenticated)];
        for (at, count) in places {
            self.fixed.figures[at].store(count as u64, Relaxed);
        }
        self.fixed.figures[figure::HISTORIC_MAX].fetch_max(open as u64, AcqRel);
    }

    /// Sets the number of clients. Only the supervisor calls this.
    pub fn set_connections(&self, count: usize) {
        self.fixed.figures[figure::CONNECTIONS].store(count as u64, Relaxed);
    }

    /// Counts a session that has ended because of its uses or its age.
    pub fn count_purged(&self) {
        self.fixed.figures[figure::PURGED].fetch_add(1, Relaxed);
    }

    /// The place of a connection class; a new class gets the next one. Classes with names that are equal in their first
    /// `CLASS_NAME_KEPT` bytes share figures. Only the supervisor calls this.
    pub fn class(&self, name: &str) -> usize {
        let is_end = |at: &usize| name.is_char_boundary(*at);
        let name = &name[..(0..=name.len().min(CLASS_NAME_KEPT)).rev().find(is_end).unwrap_or(0)];
        for (at, class) in self.classes.iter().enumerate().take(CLASSES_MAX - 1) {
            let known = class.name.get();
            if known.is_empty() {
                class.name.set(name);
            }
            if known.is_empty() || known == name {
                return at;
            }
        }
        self.classes[CLASSES_MAX - 1].name.set(OTHER_CLASSES);
        CLASSES_MAX - 1
    }

    /// Adds to a figure of a class.
    pub fn count(&self, class: usize, at: usize, n: u64) {
        if let Some(class) = self.classes.get(class) {
            class.figures[at].fetch_add(n, Relaxed);
        }
    }

    /// The connection classes that have a place, and their figures.
    pub fn classes(&self) -> impl Iterator<Item = (String, [u64; class_figure::LEN])> {
        let figures = |class: &Class| std::array::from_fn(|at| class.figures[at].load(Relaxed));
        self.classes.iter().map(move |class| (class.name.get(), figures(class))).filter(|(name, _)| !name.is_empty())
    }

    /// Shows a connection in a free row and returns the place of the row; `None` if all are taken. Only the supervisor
    /// calls this.
    pub fn show(&self, client: &PoolClient, status: ConnectionStatus) -> Option<usize> {
        let at = self.shown.iter().position(|shown| shown.status.load(Relaxed) == 0)?;
        let shown = &self.shown[at];
        shown.user.set(&client.user);
        shown.class.set(&client.class);
        shown.service.set(&client.service);
        shown.program.set(&client.program);
        shown.machine.set(&client.machine);
        shown.terminal.set(&client.terminal);
        shown.purity.store(client.wants_new.into(), Relaxed);
        self.show_status(Some(at), Some(status), 0);
        Some(at)
    }

    /// Shows the new status of a connection; `None` removes it.
    pub fn show_status(&self, at: Option<usize>, status: Option<ConnectionStatus>, server: i32) {
        if let Some(shown) = at.and_then(|at| self.shown.get(at)) {
            shown.server.store(server as u32, Relaxed);
            shown.status.store(status.map_or(0, ConnectionStatus::code), Release);
        }
    }

    /// The connections that are shown.
    pub fn connections(&self) -> impl Iterator<Item = ShownConnection> {
        self.shown.iter().enumerate().filter_map(|(number, shown)| {
            let status = ConnectionStatus::from_code(shown.status.load(Acquire))?;
            let server = Some(shown.server.load(Relaxed) as i32).filter(|pid| *pid != 0);
            let client = PoolClient {
                user: shown.user.get(),
                class: shown.class.get(),
                service: shown.service.get(),
                program: shown.program.get(),
                machine: shown.machine.get(),
                terminal: shown.terminal.get(),
                wants_new: shown.purity.load(Relaxed) != 0,
            };
            Some(ShownConnection { number, client, status, server })
        })
    }
}

fn seconds(n: u64) -> Option<Duration> {
    (n > 0).then(|| Duration::from_secs(n))
}
