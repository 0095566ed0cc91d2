//! Sessions and processes: `v$session`, `v$process`, jobs that run.

use process::SessionSlot;
use types::{Rdba, Value};

use crate::column::{Row, Type, Type::*, address, date, n, t};
use crate::source::Source;
use crate::waits;

/// The columns of `v$session` before those of its wait.
const SESSION_HEAD: &[(&str, Type)] = &[
    ("SADDR", R(8)),
    ("SID", N),
    ("SERIAL#", N),
    ("AUDSID", N),
    ("PADDR", R(8)),
    ("USER#", N),
    ("USERNAME", V(128)),
    ("COMMAND", N),
    ("TADDR", V(16)),
    ("LOCKWAIT", V(16)),
    ("STATUS", V(8)),
    ("SERVER", V(9)),
    ("SCHEMA#", N),
    ("SCHEMANAME", V(128)),
    ("OSUSER", V(128)),
    ("PROCESS", V(24)),
    ("MACHINE", V(64)),
    ("TERMINAL", V(30)),
    ("PROGRAM", V(48)),
    ("TYPE", V(10)),
    ("SQL_HASH_VALUE", N),
    ("SQL_ID", V(13)),
    ("SQL_CHILD_NUMBER", N),
    ("PREV_SQL_ID", V(13)),
    ("SQL_EXEC_ID", N),
    ("MODULE", V(64)),
    ("ACTION", V(64)),
    ("CLIENT_INFO", V(64)),
    ("CLIENT_IDENTIFIER", V(64)),
    ("ROW_WAIT_OBJ#", N),
    ("ROW_WAIT_FILE#", N),
    ("ROW_WAIT_BLOCK#", N),
    ("ROW_WAIT_ROW#", N),
    ("LOGON_TIME", D),
    ("LAST_CALL_ET", N),
    ("BLOCKING_SESSION_STATUS", V(11)),
    ("BLOCKING_SESSION", N),
    ("SERVICE_NAME", V(64)),
    ("CON_ID", N),
];

/// The columns of `v$session`.
pub fn session_columns() -> Vec<(&'static str, Type)> {
    let waits = waits::SESSION_WAIT.iter().skip(1);
    let mut all = SESSION_HEAD.to_vec();
    all.push(("EVENT#", N));
    all.extend(waits.copied());
    all
}

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
];

pub const BGPROCESS: &[(&str, Type)] =
    &[("PADDR", R(8)), ("PSERIAL#", N), ("NAME", V(5)), ("DESCRIPTION", V(64)), ("ERROR", N)];

pub const RUNNING_JOBS: &[(&str, Type)] = &[("SID", N), ("JOB", N), ("SLAVE", N), ("THIS_DATE", D)];

fn head(s: &Source<'_>, sid: u32, slot: &SessionSlot) -> Row {
    use std::sync::atomic::Ordering::Relaxed;
    let transaction = slot.transaction.load(Relaxed);
    let blocker = slot.blocking_session.load(Relaxed);
    let object = slot.row_wait_object.load(Relaxed);
    let block = Rdba(slot.row_wait_block.load(Relaxed) as u32);
    let waits_for_row = object != 0;
    let minus_one = || Value::Number(types::Number::from(-1i64));
    let idle_ns = os::clock::coarse_ns().saturating_sub(slot.last_call_ns());
    vec![
        address(s.session_address(sid)),
        n(sid),
        n(slot.serial()),
        n(if slot.is_background() { 0 } else { slot.serial() << 12 | u64::from(sid) }),
        address(s.process_address(sid)),
        n(slot.user.load(Relaxed)),
        t(slot.username.get()),
        n(slot.command.load(Relaxed)),
        if transaction == 0 { Value::Null } else { t(format!("{transaction:016X}")) },
        if blocker == 0 { Value::Null } else { t(format!("{:016X}", s.session_address(sid))) },
        t(slot.status().text()),
        t("DEDICATED"),
        n(slot.schema.load(Relaxed)),
        t(slot.schema_name.get()),
        t(slot.os_user.get()),
        t(slot.client_process.get()),
        t(slot.machine.get()),
        t(slot.terminal.get()),
        t(slot.program.get()),
        t(if slot.is_background() { "BACKGROUND" } else { "USER" }),
        n(slot.sql_hash.load(Relaxed)),
        t(slot.sql_id.get()),
        if slot.sql_id.get().is_empty() { Value::Null } else { n(0u64) },
        t(slot.previous_sql_id.get()),
        match slot.sql_execution.load(Relaxed) {
            0 => Value::Null,
            id => n(id),
        },
        t(slot.module.get()),
        t(slot.action.get()),
        t(slot.client_info.get()),
        t(slot.client_identifier.get()),
        if waits_for_row { n(object) } else { minus_one() },
        n(if waits_for_row { u64::from(block.0 >> 22) } else { 0 }),
        n(if waits_for_row { u64::from(block.0 & 0x3f_ffff) } else { 0 }),
        n(if waits_for_row { slot.row_wait_row.load(Relaxed) } else { 0 }),
        date(slot.logon_wall_ns()),
        n(idle_ns / 1_000_000_000),
        t(if blocker == 0 { "NO HOLDER" } else { "VALID" }),
        if blocker == 0 { Value::Null } else { n(blocker) },
        t(if slot.is_background() { "SYS$BACKGROUND" } else { "SYS$USERS" }),
        n(0u64),
    ]
}

pub fn session(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (sid, _) in s.processes.live() {
        let Some(slot) = s.processes.session(sid) else {
            continue;
        };
        let mut row = head(s, sid, slot);
        let event = s.processes.wait_slot(sid).and_then(|w| w.view(os::clock::now_ns()));
        row.push(event.map_or(Value::Null, |w| n(w.event.number())));
        row.extend(waits::wait_columns(s, sid));
        rows.push(row);
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
            if slot.is_background() { t(slot.name()) } else { Value::Null },
            t(session.map_or(String::new(), |session| session.os_user.get())),
            n(slot.serial()),
            t(session.map_or(String::new(), |session| session.terminal.get())),
            t(session.map_or(String::new(), |session| session.program.get())),
            Value::Null,
            if slot.is_background() { n(1u64) } else { Value::Null },
            waits_for.map_or(Value::Null, |(_, address)| t(format!("{address:016X}"))),
            Value::Null,
        ]);
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
    ("DBW0", "db writer process 0"),
    ("LGWR", "Redo etc."),
    ("CKPT", "checkpoint"),
    ("MMON", "Manageability Monitor Process"),
    ("CJQ0", "Job Queue Coordinator"),
];

pub fn bgprocess(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (number, slot) in s.processes.live().filter(|(_, slot)| slot.is_background()) {
        let name = slot.name();
        let what = BACKGROUND.iter().find(|(known, _)| *known == name).map_or("", |(_, what)| *what);
        rows.push(vec![address(s.process_address(number)), n(slot.serial()), t(&name), t(what), n(0u64)]);
    }
    rows
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
