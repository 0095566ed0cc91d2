//! Sessions and processes: `v$session`, `v$process`, running jobs.

use std::sync::atomic::Ordering::Relaxed;

use library_cache::SessionCursor;
use params::Param;
use process::{SessionSlot, SessionStatus};
use types::{Rdba, Value};

use crate::column::{Row, Type, Type::*, address, date, n, t};
use crate::memory;
use crate::source::Source;
use crate::waits;

/// The columns of `v$session` before the wait columns.
const SESSION_HEAD: &[(&str, Type)] = &[
    ("SADDR", R(8)),
    ("SID", N),
    ("SERIAL#", N),
    ("AUDSID", N),
    ("PADDR", R(8)),
    ("USER#", N),
    ("USERNAME", V(128)),
    ("COMMAND", N),
    ("OWNERID", N),
    ("TADDR", V(16)),
    ("LOCKWAIT", V(16)),
    ("STATUS", V(8)),
    ("SERVER", V(9)),
    ("SCHEMA#", N),
    ("SCHEMANAME", V(128)),
    ("OSUSER", V(128)),
    ("PROCESS", V(24)),
    ("MACHINE", V(64)),
    ("PORT", N),
    ("TERMINAL", V(30)),
    ("PROGRAM", V(48)),
    ("TYPE", V(10)),
    ("SQL_ADDRESS", R(8)),
    ("SQL_HASH_VALUE", N),
    ("SQL_ID", V(13)),
    ("SQL_CHILD_NUMBER", N),
    ("SQL_EXEC_START", D),
    ("SQL_EXEC_ID", N),
    ("PREV_SQL_ADDR", R(8)),
    ("PREV_HASH_VALUE", N),
    ("PREV_SQL_ID", V(13)),
    ("PREV_CHILD_NUMBER", N),
    ("PREV_EXEC_START", D),
    ("PREV_EXEC_ID", N),
    ("PLSQL_ENTRY_OBJECT_ID", N),
    ("PLSQL_ENTRY_SUBPROGRAM_ID", N),
    ("PLSQL_OBJECT_ID", N),
    ("PLSQL_SUBPROGRAM_ID", N),
    ("MODULE", V(64)),
    ("MODULE_HASH", N),
    ("ACTION", V(64)),
    ("ACTION_HASH", N),
    ("CLIENT_INFO", V(64)),
    ("FIXED_TABLE_SEQUENCE", N),
    ("ROW_WAIT_OBJ#", N),
    ("ROW_WAIT_FILE#", N),
    ("ROW_WAIT_BLOCK#", N),
    ("ROW_WAIT_ROW#", N),
    ("TOP_LEVEL_CALL#", N),
    ("LOGON_TIME", D),
    ("LAST_CALL_ET", N),
    ("PDML_ENABLED", V(3)),
    ("FAILOVER_TYPE", V(13)),
    ("FAILOVER_METHOD", V(10)),
    ("FAILED_OVER", V(3)),
    ("RESOURCE_CONSUMER_GROUP", V(32)),
    ("PDML_STATUS", V(8)),
    ("PDDL_STATUS", V(8)),
    ("PQ_STATUS", V(8)),
    ("CURRENT_QUEUE_DURATION", N),
    ("CLIENT_IDENTIFIER", V(64)),
    ("BLOCKING_SESSION_STATUS", V(11)),
    ("BLOCKING_INSTANCE", N),
    ("BLOCKING_SESSION", N),
    ("FINAL_BLOCKING_SESSION_STATUS", V(11)),
    ("FINAL_BLOCKING_INSTANCE", N),
    ("FINAL_BLOCKING_SESSION", N),
];

/// The columns of `v$session` after the wait columns.
const SESSION_TAIL: &[(&str, Type)] = &[
    ("SERVICE_NAME", V(64)),
    ("SQL_TRACE", V(8)),
    ("SQL_TRACE_WAITS", V(5)),
    ("SQL_TRACE_BINDS", V(5)),
    ("SQL_TRACE_PLAN_STATS", V(10)),
    ("SESSION_EDITION_ID", N),
    ("CREATOR_ADDR", R(8)),
    ("CREATOR_SERIAL#", N),
    ("ECID", V(64)),
    ("SQL_TRANSLATION_PROFILE_ID", N),
    ("PGA_TUNABLE_MEM", N),
    ("SHARD_DDL_STATUS", V(8)),
    ("CON_ID", N),
    ("EXTERNAL_NAME", V(1024)),
    ("PLSQL_DEBUGGER_CONNECTED", V(5)),
];

/// The columns of `v$session`, in the order of 19c.
pub fn session_columns() -> Vec<(&'static str, Type)> {
    let waits = &waits::SESSION_WAIT[1..];
    let mut all = SESSION_HEAD.to_vec();
    all.push(waits[0]);
    all.push(("EVENT#", N));
    all.extend(&waits[1..]);
    all.extend(SESSION_TAIL);
    all
}

/// Columns of `x$ksuse` that are used by common scripts.
pub const KSUSE: &[(&str, Type)] = &[
    ("ADDR", R(8)),
    ("INDX", N),
    ("INST_ID", N),
    ("CON_ID", N),
    ("KSUSESER", N),
    ("KSUUDLUI", N),
    ("KSUUDLNA", V(128)),
    ("KSUSEPRO", R(8)),
    ("KSUSESQL", R(8)),
    ("KSUSESQH", N),
    ("KSUSESQI", V(13)),
    ("KSUSESCH", N),
    ("KSUSESPH", N),
    ("KSUSEPSQ", R(8)),
    ("KSUSEPHA", N),
    ("KSUSEPSI", V(13)),
    ("KSUSEPCH", N),
    ("KSUSSTMBV", N),
];

pub const PROCESS: &[(&str, Type)] = &[
    ("ADDR", R(8)),
    ("PID", N),
    ("SPID", V(24)),
    ("PNAME", V(5)),
    ("USERNAME", V(15)),
    ("SERIAL#", N),
    ("TERMINAL", V(30)),
    ("PROGRAM", V(48)),
    ("TRACEID", V(255)),
    ("BACKGROUND", V(1)),
    ("LATCHWAIT", V(16)),
    ("LATCHSPIN", V(16)),
    ("PGA_USED_MEM", N),
    ("PGA_ALLOC_MEM", N),
    ("PGA_FREEABLE_MEM", N),
    ("PGA_MAX_MEM", N),
];

pub const BGPROCESS: &[(&str, Type)] =
    &[("PADDR", R(8)), ("PSERIAL#", N), ("NAME", V(5)), ("DESCRIPTION", V(64)), ("ERROR", N)];

pub const PROCESS_POOL: &[(&str, Type)] = &[
    ("POOL_NAME", V(512)),
    ("ENABLED", V(5)),
    ("MIN_COUNT", N),
    ("BATCH_COUNT", N),
    ("INIT_COUNT", N),
    ("CUR_COUNT", N),
    ("MAX_COUNT", N),
    ("CON_ID", N),
];

pub const RUNNING_JOBS: &[(&str, Type)] = &[("SID", N), ("JOB", N), ("SLAVE", N), ("THIS_DATE", D)];

/// The present cursor of a session and its previous one; between calls there is no present one.
fn cursors(s: &Source<'_>, sid: u32, slot: &SessionSlot) -> (Option<SessionCursor>, Option<SessionCursor>) {
    let (now, before) = s.shared.library.session_cursors(sid);
    if slot.status() == SessionStatus::Active { (now, before) } else { (None, now.or(before)) }
}

/// Address, hash value, id and child number of a statement. Without a statement, address and hash value are zero, as in
/// Oracle.
fn statement(cursor: Option<&SessionCursor>) -> [Value; 4] {
    match cursor {
        Some(c) => [address(c.address), n(c.digest.hash_value()), t(c.digest.sql_id()), n(c.child)],
        None => [address(0), n(0u64), Value::Null, Value::Null],
    }
}

/// True for a PL/SQL block or CALL.
fn is_block(cursor: &SessionCursor) -> bool {
    matches!(cursor.command, 47 | 170)
}

/// The start time and number of a statement's execution.
fn execution(cursor: Option<&SessionCursor>) -> [Value; 2] {
    let Some([number, began_ns]) = cursor.map(|c| c.execution).filter(|execution| execution[0] != 0) else {
        return [Value::Null, Value::Null];
    };
    let ago_ns = os::clock::coarse_ns().saturating_sub(began_ns);
    [date(os::clock::wall_ns().saturating_sub(ago_ns)), n(number)]
}

/// The session that blocks a session, and the last blocker of the chain; a circle has no last one.
fn blockers(s: &Source<'_>, slot: &SessionSlot) -> (Option<u64>, Option<u64>) {
    let blocker_of = |slot: &SessionSlot| Some(slot.blocking_session.load(Relaxed)).filter(|sid| *sid != 0);
    let first = blocker_of(slot);
    let (mut last, mut left) = (first, s.processes.live().count());
    while let Some(next) = last.and_then(|sid| s.processes.session(sid as u32)).and_then(blocker_of) {
        if left == 0 {
            return (first, None);
        }
        (last, left) = (Some(next), left - 1);
    }
    (first, last)
}

/// Status, instance and sid of a blocker.
fn blocker(sid: Option<u64>) -> [Value; 3] {
    match sid {
        Some(sid) => [t("VALID"), n(1u64), n(sid)],
        None => [t("NO HOLDER"), Value::Null, Value::Null],
    }
}

fn head(s: &Source<'_>, sid: u32, slot: &SessionSlot) -> Row {
    let transaction = slot.transaction.load(Relaxed);
    let (first, last) = blockers(s, slot);
    let (now, before) = cursors(s, sid, slot);
    let mut row = vec![
        address(s.session_address(sid)),
        n(sid),
        n(slot.serial()),
        n(if slot.is_background() { 0 } else { slot.serial() << 12 | u64::from(sid) }),
        address(s.process_address(sid)),
        n(slot.user.load(Relaxed)),
        t(slot.username.get()),
        n(slot.command.load(Relaxed)),
        Value::Null, // OWNERID: of migratable sessions
        if transaction == 0 { Value::Null } else { t(format!("{transaction:016X}")) },
        if first.is_none() { Value::Null } else { t(format!("{:016X}", s.session_address(sid))) },
        t(match slot.status() {
            SessionStatus::Killed if s.instance.state().is_sniped(sid as usize - 1, slot.serial()) => "SNIPED",
            status => status.text(),
        }),
        t(if slot.is_pooled() { "POOLED" } else { "DEDICATED" }),
        n(slot.schema.load(Relaxed)),
        t(slot.schema_name.get()),
        t(slot.os_user.get()),
        t(slot.client_process.get()),
        t(slot.machine.get()),
        n(slot.port.load(Relaxed)),
        t(slot.terminal.get()),
        t(slot.program.get()),
        t(if slot.is_background() { "BACKGROUND" } else { "USER" }),
    ];
    for cursor in [now.as_ref(), before.as_ref()] {
        row.extend(statement(cursor));
        row.extend(execution(cursor));
    }
    let is_sql = now.is_some_and(|cursor| !is_block(&cursor));
    let [entry, subprogram] = [0, 1].map(|n: usize| slot.subprograms[n].load(Relaxed));
    for what in [entry, if is_sql { 0 } else { subprogram }] {
        row.extend([what >> 32, what & 0xFFFF_FFFF].map(|part| if part == 0 { Value::Null } else { n(part) }));
    }
    row.extend([t(slot.module.get()), Value::Null, t(slot.action.get()), Value::Null, t(slot.client_info.get())]);
    row.push(Value::Null); // FIXED_TABLE_SEQUENCE
    row.extend(row_wait(s, slot));
    row.extend([Value::Null, date(slot.logon_wall_ns())]);
    row.push(n(os::clock::coarse_ns().saturating_sub(slot.last_call_ns()) / 1_000_000_000));
    row.extend([t("NO"), t("NONE"), t("NONE"), t("NO"), Value::Null]);
    let queries = match slot.parallel_query.load(Relaxed) {
        0 => "ENABLED",
        1 => "DISABLED",
        _ => "FORCED",
    };
    // DML and DDL do not run in parallel, and nothing waits in a queue.
    row.extend([t("DISABLED"), t("DISABLED"), t(queries), n(0u64)]);
    row.push(t(slot.client_identifier.get()));
    row.extend(blocker(first));
    row.extend(blocker(last));
    row
}

/// Object, file, block and row of the row that a session waits for.
fn row_wait(s: &Source<'_>, slot: &SessionSlot) -> [Value; 4] {
    let object = slot.row_wait_object.load(Relaxed);
    if object == 0 {
        return [Value::Number(types::Number::from(-1i64)), n(0u64), n(0u64), n(0u64)];
    }
    let (file, block) = crate::space::shown(s, Rdba(slot.row_wait_block.load(Relaxed) as u32));
    [n(object), n(file), n(block), n(slot.row_wait_row.load(Relaxed))]
}

fn tail(slot: &SessionSlot) -> Row {
    let mut row = vec![t(slot.service_name())];
    row.extend([t("DISABLED"), t("FALSE"), t("FALSE")]); // statements are not traced
    row.push(Value::Null);
    row.push(match slot.edition.load(Relaxed) {
        0 => n(dictionary::BASE_EDITION.0),
        edition => n(edition),
    });
    row.extend([Value::Null, Value::Null, t(slot.execution_context.get())]);
    row.extend((0..2).map(|_| Value::Null));
    row.extend([t("DISABLED"), n(0u64), Value::Null, t("FALSE")]);
    row
}

pub fn session(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (sid, _) in s.processes.live() {
        let Some(slot) = s.processes.session(sid) else {
            continue;
        };
        let mut row = head(s, sid, slot);
        let event = s.processes.wait_slot(sid).and_then(|w| w.view(os::clock::now_ns()));
        let mut wait = waits::wait_columns(s, sid).into_iter();
        row.extend(wait.next());
        row.push(event.map_or(Value::Null, |w| n(w.event.number())));
        row.extend(wait);
        row.extend(tail(slot));
        rows.push(row);
    }
    rows
}

/// The bits of KSUSSTMBV that are set here: in a call, a background process, executing SQL or PL/SQL.
const DB_TIME: u64 = 1 << 1;
const BACKGROUND_TIME: u64 = 1 << 2;
const SQL_EXECUTION: u64 = 1 << 10;
const PLSQL_EXECUTION: u64 = 1 << 11;

pub fn ksuse(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (sid, _) in s.processes.live() {
        let Some(slot) = s.processes.session(sid) else { continue };
        let (now, before) = cursors(s, sid, slot);
        let background = slot.is_background();
        let in_call = !background && slot.status() == SessionStatus::Active;
        let execution = if now.as_ref().is_some_and(is_block) { PLSQL_EXECUTION } else { SQL_EXECUTION };
        let bits = [(in_call, DB_TIME), (background, BACKGROUND_TIME), (now.is_some(), execution)];
        let mut row = vec![
            address(s.session_address(sid)),
            n(sid),
            n(1u64),
            n(0u64),
            n(slot.serial()),
            n(slot.user.load(Relaxed)),
            t(slot.username.get()),
            address(s.process_address(sid)),
        ];
        row.extend(statement(now.as_ref()));
        row.push(now.and_then(|cursor| s.shared.library.plan_hash(&cursor)).map_or(Value::Null, n));
        row.extend(statement(before.as_ref()));
        row.push(n(bits.iter().filter(|(is_so, _)| *is_so).map(|(_, bit)| bit).sum::<u64>()));
        rows.push(row);
    }
    rows
}

/// Columns of `v$session_connect_info`.
pub const CONNECT_INFO: &[(&str, Type)] = &[
    ("SID", N),
    ("SERIAL#", N),
    ("AUTHENTICATION_TYPE", V(26)),
    ("OSUSER", V(128)),
    ("NETWORK_SERVICE_BANNER", V(4000)),
    ("CLIENT_CHARSET", V(40)),
    ("CLIENT_CONNECTION", V(13)),
    ("CLIENT_OCI_LIBRARY", V(13)),
    ("CLIENT_VERSION", V(40)),
    ("CLIENT_DRIVER", V(30)),
    ("CLIENT_LOBATTR", V(17)),
    ("CLIENT_REGID", N),
    ("CON_ID", N),
];

/// Rows for each session except background processes. A connection over TCP has one row for each network service in
/// use: the adapter, TLS, and native encryption and checksums.
pub fn connect_info(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (sid, _) in s.processes.live() {
        let Some(slot) = s.processes.session(sid).filter(|slot| !slot.is_background()) else { continue };
        let is_remote = !slot.address.get().is_empty();
        let mut banners = vec![match is_remote {
            false => "Unix Domain Socket NT Protocol Adapter".to_string(),
            true => "TCP/IP NT Protocol Adapter".to_string(),
        }];
        if slot.speaks_tls() {
            banners.push("Secure Sockets Layer Protocol Adapter".into());
        }
        let (key, checksum) = slot.native_encryption();
        if key > 0 {
            banners.push(format!("AES{} Encryption service adapter", 8 * u32::from(key)));
        }
        if checksum > 0 {
            banners.push(format!("SHA{} Crypto-checksumming service adapter", 8 * u32::from(checksum)));
        }
        let version = slot.client_version.load(Relaxed);
        let driver = slot.client_driver.get();
        for banner in &banners {
            rows.push(vec![
                n(sid),
                n(slot.serial()),
                t(match (slot.username.get().is_empty(), slot.proxy.load(Relaxed)) {
                    (true, _) => "NONE",
                    (false, 0) => "DATABASE",
                    (false, _) => "PROXY",
                }),
                t(slot.os_user.get()),
                t(banner),
                t(match slot.client_charset.load(Relaxed) {
                    873 => "AL32UTF8",
                    871 => "UTF8",
                    178 => "WE8MSWIN1252",
                    31 => "WE8ISO8859P1",
                    1 => "US7ASCII",
                    _ => "Unknown",
                }),
                t("Unknown"),
                t("Unknown"),
                if version == 0 { t("Unknown") } else { t(version_text(version)) },
                if driver.is_empty() { Value::Null } else { t(&driver) },
                Value::Null,
                n(0u64),
                n(0u64),
            ]);
        }
    }
    rows
}

/// A version number as packed by clients of 18c and later. Older clients use another layout; the major number tells the
/// two apart.
fn version_text(v: u64) -> String {
    let major = v >> 24 & 0xff;
    if major >= 18 {
        return format!("{major}.{}.{}.{}.{}", v >> 16 & 0xff, v >> 12 & 0xf, v >> 4 & 0xff, v & 0xf);
    }
    format!("{major}.{}.{}.{}.{}", v >> 20 & 0xf, v >> 12 & 0xff, v >> 8 & 0xf, v & 0xff)
}

/// Columns of `v$services`; `v$active_services` has the same.
pub const SERVICES: &[(&str, Type)] = &[
    ("SERVICE_ID", N),
    ("NAME", V(64)),
    ("NAME_HASH", N),
    ("NETWORK_NAME", V(512)),
    ("CREATION_DATE", D),
    ("CREATION_DATE_HASH", N),
    ("GOAL", V(12)),
    ("DTP", V(1)),
    ("BLOCKED", V(3)),
    ("AQ_HA_NOTIFICATION", V(3)),
    ("CLB_GOAL", V(5)),
    ("COMMIT_OUTCOME", V(3)),
    ("PDB", V(128)),
    ("CON_ID", N),
];

/// A 32-bit hash of a name: FNV-1a.
fn name_hash(name: &str) -> u32 {
    name.bytes().fold(0x811C_9DC5, |h, b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193))
}

/// The services known to the listener, after the two services of the instance's own sessions.
pub fn services(s: &Source<'_>) -> Vec<Row> {
    let own = ["SYS$BACKGROUND", "SYS$USERS"].map(str::to_owned);
    let started = s.facts.started_wall_ns;
    let row = |(at, name): (usize, String)| {
        let network = if at < 2 { Value::Null } else { t(&name) };
        vec![
            n(at as u64 + 1),
            t(&name),
            n(name_hash(&name)),
            network,
            date(started),
            n(started / 1_000_000_000),
            t("NONE"),
            t("N"),
            t("NO"),
            t("NO"),
            t("LONG"),
            t("NO"),
            Value::Null,
            n(0u64),
        ]
    };
    own.into_iter().chain(s.instance.params().services()).enumerate().map(row).collect()
}

/// Columns of `v$sql_monitor` that show running database operations.
pub const SQL_MONITOR: &[(&str, Type)] = &[
    ("KEY", N),
    ("STATUS", V(19)),
    ("USER#", N),
    ("USERNAME", V(128)),
    ("MODULE", V(64)),
    ("ACTION", V(64)),
    ("SERVICE_NAME", V(64)),
    ("CLIENT_IDENTIFIER", V(64)),
    ("CLIENT_INFO", V(64)),
    ("PROGRAM", V(48)),
    ("SID", N),
    ("SESSION_SERIAL#", N),
    ("SQL_ID", V(13)),
    ("DBOP_EXEC_ID", N),
    ("DBOP_NAME", V(30)),
    ("CON_ID", N),
];

/// A row for each database operation that a client has begun and not ended. Single statements are not monitored.
pub fn sql_monitor(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (sid, _) in s.processes.live() {
        let Some(slot) = s.processes.session(sid).filter(|slot| !slot.is_background()) else { continue };
        let operation = slot.operation.get();
        if operation.is_empty() {
            continue;
        }
        rows.push(vec![
            n(slot.serial() << 12 | u64::from(sid)),
            t("EXECUTING"),
            n(slot.user.load(Relaxed)),
            t(slot.username.get()),
            t(slot.module.get()),
            t(slot.action.get()),
            t(slot.service_name()),
            t(slot.client_identifier.get()),
            t(slot.client_info.get()),
            t(slot.program.get()),
            n(sid),
            n(slot.serial()),
            Value::Null,
            n(1u64),
            t(operation),
            n(0u64),
        ]);
    }
    rows
}

pub fn process(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    let waits: Vec<(u32, u64)> =
        s.processes.domain().latch_waits().map(|(number, address, ..)| (number, address)).collect();
    for (number, slot) in s.processes.live() {
        let session = s.processes.session(number);
        let waits_for = waits.iter().find(|(waiter, _)| *waiter == number);
        rows.push(vec![
            address(s.process_address(number)),
            n(number),
            t(slot.state().1.to_string()),
            if slot.is_named() { t(slot.name()) } else { Value::Null },
            t(session.map_or(String::new(), |session| session.os_user.get())),
            n(slot.serial()),
            t(session.map_or(String::new(), |session| session.terminal.get())),
            t(session.map_or(String::new(), |session| session.program.get())),
            Value::Null,
            if slot.is_background() { n(1u64) } else { Value::Null },
            waits_for.map_or(Value::Null, |(_, address)| t(format!("{address:016X}"))),
            Value::Null,
        ]);
        rows.last_mut().expect("just pushed").extend(memory::pga_of(s, number));
    }
    for row in &mut rows {
        if let Value::Number(number) = &row[9] {
            row[9] = t(number.to_string());
        }
    }
    rows
}

const BACKGROUND: &[(&str, &str)] = &[
    ("PMON", "process cleanup"),
    ("SMON", "System Monitor Process"),
    ("LGWR", "Redo etc."),
    ("CKPT", "checkpoint"),
    ("MMON", "Manageability Monitor Process"),
    ("MMNL", "Manageability Monitor Process 2"),
    ("CJQ0", "Job Queue Coordinator"),
    ("LSNR", "Network Listener"),
];

pub fn bgprocess(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (number, slot) in s.processes.live().filter(|(_, slot)| slot.is_background()) {
        let name = slot.name();
        let writer = (0..s.instance.db_writers()).find(|n| instance::writer_name(*n) == name);
        let what = match writer {
            Some(number) => format!("db writer process {number}"),
            None => BACKGROUND.iter().find(|(known, _)| *known == name).map_or("", |(_, what)| *what).into(),
        };
        rows.push(vec![address(s.process_address(number)), n(slot.serial()), t(&name), t(&what), n(0u64)]);
    }
    rows
}

/// `v$process_pool`: the server processes that wait for a client. They have no process slot and so no row in
/// `v$process`.
pub fn process_pool(s: &Source<'_>) -> Vec<Row> {
    let waiting = s.instance.state().spares();
    let count = |param| s.instance.params().number(param).max(0) as u64;
    let (min, max) = (count(Param::ProcessPoolMinCount), count(Param::ProcessPoolMaxCount));
    let enabled = if max > 0 { "TRUE" } else { "FALSE" };
    let least = min.min(max);
    let counts = [least, 1, least, u64::from(waiting), max, 0];
    vec![[t("SYS_DEFAULT_FOREGROUND_POOL"), t(enabled)].into_iter().chain(counts.map(n)).collect()]
}

pub fn running_jobs(s: &Source<'_>) -> Vec<Row> {
    let running = s.instance.state().running_jobs();
    running
        .into_iter()
        .map(|(slave, slot, job)| {
            let sid = slot as u32 + 1;
            let since = s.processes.session(sid).map_or(0, SessionSlot::logon_wall_ns);
            vec![n(sid), n(job), n(slave), date(since)]
        })
        .collect()
}
