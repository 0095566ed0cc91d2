//! Parallel queries: their servers and their statistics.

use ::parallel::Seen;
use types::Value;
use wait::Stat;

use crate::column::{Row, Type, Type::*, address, n, t};
use crate::source::Source;

pub const PROCESS: &[(&str, Type)] = &[
    ("SERVER_NAME", V(4)),
    ("STATUS", V(9)),
    ("PID", N),
    ("SPID", V(24)),
    ("SID", N),
    ("SERIAL#", N),
    ("IS_GV", V(5)),
    ("CON_ID", N),
];

pub const SESSION: &[(&str, Type)] = &[
    ("SADDR", R(8)),
    ("SID", N),
    ("SERIAL#", N),
    ("QCSID", N),
    ("QCSERIAL#", N),
    ("QCINST_ID", N),
    ("SERVER_GROUP", N),
    ("SERVER_SET", N),
    ("SERVER#", N),
    ("DEGREE", N),
    ("REQ_DEGREE", N),
    ("CON_ID", N),
];

pub const SESSTAT: &[(&str, Type)] = &[
    ("SADDR", R(8)),
    ("SID", N),
    ("SERIAL#", N),
    ("QCSID", N),
    ("QCSERIAL#", N),
    ("QCINST_ID", N),
    ("SERVER_GROUP", N),
    ("SERVER_SET", N),
    ("SERVER#", N),
    ("DEGREE", N),
    ("REQ_DEGREE", N),
    ("STATISTIC#", N),
    ("VALUE", N),
    ("CON_ID", N),
];

pub const SYSSTAT: &[(&str, Type)] = &[("STATISTIC", V(30)), ("VALUE", N), ("CON_ID", N)];

pub const OWN_STATISTICS: &[(&str, Type)] =
    &[("STATISTIC", V(30)), ("LAST_QUERY", N), ("SESSION_TOTAL", N), ("CON_ID", N)];

pub const QUEUES: &[(&str, Type)] = &[
    ("DFO_NUMBER", N),
    ("TQ_ID", N),
    ("SERVER_TYPE", V(10)),
    ("NUM_ROWS", N),
    ("BYTES", N),
    ("OPEN_TIME", N),
    ("AVG_LATENCY", N),
    ("WAITS", N),
    ("TIMEOUTS", N),
    ("PROCESS", V(10)),
    ("INSTANCE", N),
    ("CON_ID", N),
];

fn serial(s: &Source<'_>, sid: u32) -> Value {
    s.processes.session(sid).map_or(Value::Null, |session| n(session.serial()))
}

/// A row for each live server.
pub fn process(s: &Source<'_>) -> Vec<Row> {
    let row = |seen: Seen| {
        let os_pid = s.processes.slot(seen.process).map_or(0, |slot| slot.state().1);
        vec![
            t(::parallel::name(seen.server)),
            t(if seen.coordinator.is_some() { "IN USE" } else { "AVAILABLE" }),
            n(seen.process),
            t(os_pid.to_string()),
            n(seen.process),
            serial(s, seen.process),
            t("FALSE"),
            n(0u32),
        ]
    };
    s.shared.servers.list().into_iter().map(row).collect()
}

/// The common columns of the sessions of parallel queries: coordinators and servers.
fn sessions(s: &Source<'_>) -> Vec<(u32, Row)> {
    let busy: Vec<(Seen, u32)> =
        s.shared.servers.list().into_iter().filter_map(|seen| Some((seen, seen.coordinator?))).collect();
    let mut coordinators: Vec<u32> = busy.iter().map(|(_, coordinator)| *coordinator).collect();
    coordinators.sort_unstable();
    coordinators.dedup();
    let head = |sid: u32, coordinator: u32| {
        vec![address(s.session_address(sid)), n(sid), serial(s, sid), n(coordinator), serial(s, coordinator)]
    };
    let of_coordinator = |sid: &u32| {
        let mut row = head(*sid, *sid);
        // The other columns are NULL for a coordinator, as in Oracle.
        row.extend((0..6).map(|_| Value::Null));
        (*sid, row)
    };
    let of_server = |(seen, coordinator): &(Seen, u32)| {
        let mut row = head(seen.process, *coordinator);
        row.extend([n(1u32), n(1u32), n(1u32), n(seen.place), n(seen.degree), n(seen.requested)]);
        (seen.process, row)
    };
    coordinators.iter().map(of_coordinator).chain(busy.iter().map(of_server)).collect()
}

pub fn session(s: &Source<'_>) -> Vec<Row> {
    let row = |(_, mut row): (u32, Row)| {
        row.push(n(0u32));
        row
    };
    sessions(s).into_iter().map(row).collect()
}

/// The statistics of these sessions.
pub fn sesstat(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (sid, head) in sessions(s) {
        let Some(values) = s.processes.session_stats(sid) else { continue };
        rows.extend(Stat::all().zip(values).map(|(stat, value)| {
            let mut row = head.clone();
            row.extend([n(stat.number()), n(value), n(0u32)]);
            row
        }));
    }
    rows
}

fn named(rows: &[(&str, u64)]) -> Vec<Row> {
    rows.iter().map(|(name, value)| vec![t(*name), n(*value), n(0u32)]).collect()
}

fn busy_and_idle(s: &Source<'_>) -> (u64, u64) {
    let list = s.shared.servers.list();
    let busy = list.iter().filter(|seen| seen.coordinator.is_some()).count() as u64;
    (busy, list.len() as u64 - busy)
}

pub fn process_sysstat(s: &Source<'_>) -> Vec<Row> {
    let (busy, idle) = busy_and_idle(s);
    let counts = s.shared.servers.counts();
    named(&[
        ("Servers In Use", busy),
        ("Servers Available", idle),
        ("Servers Started", counts.started),
        ("Servers Shutdown", counts.ended.saturating_sub(counts.cleaned)),
        ("Servers Highwater", counts.highwater),
        ("Servers Cleaned Up", counts.cleaned),
        ("Server Sessions", counts.sessions),
    ])
}

pub fn pq_sysstat(s: &Source<'_>) -> Vec<Row> {
    let (busy, idle) = busy_and_idle(s);
    let counts = s.shared.servers.counts();
    let queries = s.processes.system_stats(s.p)[Stat::QueriesParallelized as usize];
    named(&[
        ("Servers Busy", busy),
        ("Servers Idle", idle),
        ("Servers Highwater", counts.highwater),
        ("Server Sessions", counts.sessions),
        ("Servers Started", counts.started),
        ("Servers Shutdown", counts.ended.saturating_sub(counts.cleaned)),
        ("Servers Cleaned Up", counts.cleaned),
        ("Queries Initiated", queries),
        ("DFO Trees", counts.teams),
        ("Local Msgs Sent", counts.sent),
        ("Local Msgs Recv'd", counts.received),
    ])
}

/// Statistics of the reading session.
pub fn pq_sesstat(s: &Source<'_>) -> Vec<Row> {
    let (last, all) = (&s.queries.last, &s.queries.all);
    let rows = [
        ("Queries Parallelized", last.queries, all.queries),
        ("DFO Trees", last.trees, all.trees),
        ("Server Threads", last.servers, all.servers),
        ("Local Msgs Sent", last.sent, all.sent),
        ("Local Msgs Recv'd", last.received, all.received),
        ("DOP", last.degree, 0),
        ("Slave Sets", last.sets, 0),
    ];
    rows.iter().map(|(name, last, all)| vec![t(*name), n(*last), n(*all), n(0u32)]).collect()
}

/// Statistics of the last parallel query of the reading session.
pub fn pq_tqstat(s: &Source<'_>) -> Vec<Row> {
    let row = |line: &exec::parallel::QueueLine| {
        vec![
            n(line.dfo),
            n(0u32),
            t(if line.producer { "Producer" } else { "Consumer" }),
            n(line.rows),
            n(line.bytes),
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            t(&line.process),
            n(1u32),
            n(0u32),
        ]
    };
    s.queries.queues.iter().map(row).collect()
}
