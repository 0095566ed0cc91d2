//! The connection pool: `v$cpool_stats` and related views. They have no rows while no pool is active.

use dictionary::connection_pool::DEFAULT_POOL;
use instance::connection_pool::{ConnectionStatus, class_figure, figure};
use types::Value;

use crate::column::{Row, Type, Type::*, address, n, t};
use crate::source::Source;

pub const STATS: &[(&str, Type)] = &[
    ("POOL_NAME", V(128)),
    ("NUM_OPEN_SERVERS", N),
    ("NUM_BUSY_SERVERS", N),
    ("NUM_AUTH_SERVERS", N),
    ("NUM_REQUESTS", N),
    ("NUM_HITS", N),
    ("NUM_MISSES", N),
    ("NUM_WAITS", N),
    ("WAIT_TIME", N),
    ("CLIENT_REQ_TIMEOUTS", N),
    ("NUM_AUTHENTICATIONS", N),
    ("NUM_PURGED", N),
    ("HISTORIC_MAX", N),
    ("CON_ID", N),
];

pub const CLASS_STATS: &[(&str, Type)] = &[
    ("CCLASS_NAME", V(1024)),
    ("NUM_REQUESTS", N),
    ("NUM_HITS", N),
    ("NUM_MISSES", N),
    ("NUM_WAITS", N),
    ("WAIT_TIME", N),
    ("CLIENT_REQ_TIMEOUTS", N),
    ("NUM_AUTHENTICATIONS", N),
    ("CON_ID", N),
];

pub const CLASSES: &[(&str, Type)] = &[("POOL_NAME", V(128)), ("CCLASS_NAME", V(1024)), ("CON_ID", N)];

pub const CONNECTIONS: &[(&str, Type)] = &[
    ("CMON_ADDR", R(8)),
    ("SESSION_ADDR", R(8)),
    ("CONNECTION_ADDR", R(8)),
    ("USERNAME", V(128)),
    ("PROXY_USER", V(128)),
    ("CCLASS_NAME", V(1024)),
    ("PURITY", V(4)),
    ("TAG", V(1024)),
    ("SERVICE", V(1024)),
    ("PROGRAM", V(48)),
    ("MACHINE", V(64)),
    ("TERMINAL", V(30)),
    ("CONNECTION_MODE", N),
    ("CONNECTION_STATUS", V(10)),
    ("CLIENT_REGID", N),
    ("CON_ID", N),
];

pub fn stats(s: &Source<'_>) -> Vec<Row> {
    let pool = s.instance.state().pool();
    if !pool.is_active() {
        return Vec::new();
    }
    let mut total = [0u64; class_figure::LEN];
    for (_, figures) in pool.classes() {
        total.iter_mut().zip(figures).for_each(|(sum, figure)| *sum += figure);
    }
    let mut row = vec![t(DEFAULT_POOL)];
    row.extend([figure::OPEN, figure::BUSY, figure::AUTHENTICATED].map(|at| n(pool.figure(at))));
    row.extend(total.map(n));
    row.extend([figure::PURGED, figure::HISTORIC_MAX].map(|at| n(pool.figure(at))));
    row.push(n(0u64));
    vec![row]
}

pub fn class_stats(s: &Source<'_>) -> Vec<Row> {
    let pool = s.instance.state().pool();
    let row = |(name, figures): (String, [u64; class_figure::LEN])| {
        [t(name)].into_iter().chain(figures.map(n)).chain([n(0u64)]).collect()
    };
    if pool.is_active() { pool.classes().map(row).collect() } else { Vec::new() }
}

pub fn classes(s: &Source<'_>) -> Vec<Row> {
    let pool = s.instance.state().pool();
    let row = |(name, _): (String, _)| vec![t(DEFAULT_POOL), t(name), n(0u64)];
    if pool.is_active() { pool.classes().map(row).collect() } else { Vec::new() }
}

pub fn connections(s: &Source<'_>) -> Vec<Row> {
    let pool = s.instance.state().pool();
    if !pool.is_active() {
        return Vec::new();
    }
    let mut rows = Vec::new();
    for shown in pool.connections() {
        let session = shown.server.and_then(|pid| s.processes.by_os_pid(pid)).map_or(0, |sid| s.session_address(sid));
        let client = shown.client;
        rows.push(vec![
            address(0),
            address(session),
            address(shown.number as u64 + 1),
            t(client.user),
            Value::Null,
            t(client.class),
            t(if client.wants_new { "NEW" } else { "SELF" }),
            Value::Null,
            t(client.service),
            t(client.program),
            t(client.machine),
            t(client.terminal),
            n(0u64),
            t(match shown.status {
                ConnectionStatus::Active => "ACTIVE",
                ConnectionStatus::Waiting => "WAITING",
                ConnectionStatus::Idle => "IDLE",
            }),
            Value::Null,
            n(0u64),
        ]);
    }
    rows
}
