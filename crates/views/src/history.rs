//! The active session history: `v$active_session_history`, `v$ash_info`.
//!
//! Values that the sampler cannot see are NULL. For a session on a processor, EVENT and WAIT_CLASS are NULL, and P1 to
//! P3, SEQ# and WAIT_TIME are those of its last wait, as in Oracle.

use instance::ash::{Sample, Text, bit, command_name};
use types::{Date, Rdba, Result, Timestamp, Value};
use wait::Event;

use crate::column::{Row, Type, Type::*, address, date, n, t, time};
use crate::source::Source;

/// The columns of `v$active_session_history`, in the order of 19c. Columns that are always NULL here are included, so
/// that statements with them run.
pub const HISTORY: &[(&str, Type)] = &[
    ("SAMPLE_ID", N),
    ("SAMPLE_TIME", S),
    ("SAMPLE_TIME_UTC", S),
    ("USECS_PER_ROW", N),
    ("IS_AWR_SAMPLE", V(1)),
    ("SESSION_ID", N),
    ("SESSION_SERIAL#", N),
    ("SESSION_TYPE", V(10)),
    ("FLAGS", N),
    ("USER_ID", N),
    ("SQL_ID", V(13)),
    ("IS_SQLID_CURRENT", V(1)),
    ("SQL_CHILD_NUMBER", N),
    ("SQL_OPCODE", N),
    ("SQL_OPNAME", V(64)),
    ("FORCE_MATCHING_SIGNATURE", N),
    ("TOP_LEVEL_SQL_ID", V(13)),
    ("TOP_LEVEL_SQL_OPCODE", N),
    ("SQL_PLAN_HASH_VALUE", N),
    ("SQL_FULL_PLAN_HASH_VALUE", N),
    ("SQL_ADAPTIVE_PLAN_RESOLVED", N),
    ("SQL_PLAN_LINE_ID", N),
    ("SQL_PLAN_OPERATION", V(30)),
    ("SQL_PLAN_OPTIONS", V(30)),
    ("SQL_EXEC_ID", N),
    ("SQL_EXEC_START", D),
    ("PLSQL_ENTRY_OBJECT_ID", N),
    ("PLSQL_ENTRY_SUBPROGRAM_ID", N),
    ("PLSQL_OBJECT_ID", N),
    ("PLSQL_SUBPROGRAM_ID", N),
    ("QC_INSTANCE_ID", N),
    ("QC_SESSION_ID", N),
    ("QC_SESSION_SERIAL#", N),
    ("PX_FLAGS", N),
    ("EVENT", V(64)),
    ("EVENT_ID", N),
    ("EVENT#", N),
    ("SEQ#", N),
    ("P1TEXT", V(64)),
    ("P1", N),
    ("P2TEXT", V(64)),
    ("P2", N),
    ("P3TEXT", V(64)),
    ("P3", N),
    ("WAIT_CLASS", V(64)),
    ("WAIT_CLASS_ID", N),
    ("WAIT_TIME", N),
    ("SESSION_STATE", V(7)),
    ("TIME_WAITED", N),
    ("BLOCKING_SESSION_STATUS", V(11)),
    ("BLOCKING_SESSION", N),
    ("BLOCKING_SESSION_SERIAL#", N),
    ("BLOCKING_INST_ID", N),
    ("BLOCKING_HANGCHAIN_INFO", V(1)),
    ("CURRENT_OBJ#", N),
    ("CURRENT_FILE#", N),
    ("CURRENT_BLOCK#", N),
    ("CURRENT_ROW#", N),
    ("TOP_LEVEL_CALL#", N),
    ("TOP_LEVEL_CALL_NAME", V(64)),
    ("CONSUMER_GROUP_ID", N),
    ("XID", R(8)),
    ("REMOTE_INSTANCE#", N),
    ("TIME_MODEL", N),
    ("IN_CONNECTION_MGMT", V(1)),
    ("IN_PARSE", V(1)),
    ("IN_HARD_PARSE", V(1)),
    ("IN_SQL_EXECUTION", V(1)),
    ("IN_PLSQL_EXECUTION", V(1)),
    ("IN_PLSQL_RPC", V(1)),
    ("IN_PLSQL_COMPILATION", V(1)),
    ("IN_JAVA_EXECUTION", V(1)),
    ("IN_BIND", V(1)),
    ("IN_CURSOR_CLOSE", V(1)),
    ("IN_SEQUENCE_LOAD", V(1)),
    ("IN_INMEMORY_QUERY", V(1)),
    ("IN_INMEMORY_POPULATE", V(1)),
    ("IN_INMEMORY_PREPOPULATE", V(1)),
    ("IN_INMEMORY_REPOPULATE", V(1)),
    ("IN_INMEMORY_TREPOPULATE", V(1)),
    ("IN_TABLESPACE_ENCRYPTION", V(1)),
    ("CAPTURE_OVERHEAD", V(1)),
    ("REPLAY_OVERHEAD", V(1)),
    ("IS_CAPTURED", V(1)),
    ("IS_REPLAYED", V(1)),
    ("IS_REPLAY_SYNC_TOKEN_HOLDER", V(1)),
    ("SERVICE_HASH", N),
    ("PROGRAM", V(48)),
    ("MODULE", V(64)),
    ("ACTION", V(64)),
    ("CLIENT_ID", V(64)),
    ("MACHINE", V(64)),
    ("PORT", N),
    ("ECID", V(64)),
    ("DBREPLAY_FILE_ID", N),
    ("DBREPLAY_CALL_COUNTER", N),
    ("TM_DELTA_TIME", N),
    ("TM_DELTA_CPU_TIME", N),
    ("TM_DELTA_DB_TIME", N),
    ("DELTA_TIME", N),
    ("DELTA_READ_IO_REQUESTS", N),
    ("DELTA_WRITE_IO_REQUESTS", N),
    ("DELTA_READ_IO_BYTES", N),
    ("DELTA_WRITE_IO_BYTES", N),
    ("DELTA_INTERCONNECT_IO_BYTES", N),
    ("PGA_ALLOCATED", N),
    ("TEMP_SPACE_ALLOCATED", N),
    ("CON_DBID", N),
    ("CON_ID", N),
    ("DBOP_NAME", V(30)),
    ("DBOP_EXEC_ID", N),
];

pub const INFO: &[(&str, Type)] = &[
    ("TOTAL_SIZE", N),
    ("FIXED_SIZE", N),
    ("SAMPLING_INTERVAL", N),
    ("OLDEST_SAMPLE_ID", N),
    ("OLDEST_SAMPLE_TIME", S),
    ("LATEST_SAMPLE_ID", N),
    ("LATEST_SAMPLE_TIME", S),
    ("SAMPLE_COUNT", N),
    ("SAMPLED_BYTES", N),
    ("SAMPLER_ELAPSED_TIME", N),
    ("DISK_FILTER_RATIO", N),
    ("AWR_FLUSH_BYTES", N),
    ("AWR_FLUSH_ELAPSED_TIME", N),
    ("AWR_FLUSH_COUNT", N),
    ("AWR_FLUSH_EMERGENCY_COUNT", N),
    ("DROPPED_SAMPLE_COUNT", N),
    ("CON_ID", N),
];

/// The bits of TIME_MODEL that are set here: those of KSUSSTMBV of `x$ksuse`.
const TIME_MODEL: &[(u64, u64)] = &[
    (bit::BACKGROUND, 1 << 2),
    (bit::CONNECTION, 1 << 3),
    (bit::PARSE, 1 << 4),
    (bit::HARD_PARSE, 1 << 7),
    (bit::SQL, 1 << 10),
    (bit::PLSQL, 1 << 11),
];
const DB_TIME: u64 = 1 << 1;

/// The value, or NULL when it has no meaning.
fn if_so(is_so: bool, value: impl FnOnce() -> Value) -> Value {
    if is_so { value() } else { Value::Null }
}

fn known(value: u64) -> Value {
    if_so(value != 0, || n(value))
}

fn letter(is_so: bool) -> Value {
    t(if is_so { "Y" } else { "N" })
}

/// A time in UTC.
fn utc(wall_ns: u64) -> Value {
    let date = Date::UNIX_EPOCH.add_seconds((wall_ns / 1_000_000_000) as i64);
    let nanos = (wall_ns % 1_000_000_000 / 1000 * 1000) as u32;
    date.map_or(Value::Null, |date| Value::Timestamp(Timestamp::new(date, nanos)))
}

pub fn history(s: &Source<'_>) -> Result<Vec<Row>> {
    let files = s.instance.storage().cache.files();
    let shown = |at| files.shown(at);
    let dbid = files.control()?.database & 0xFFFF_FFFF;
    Ok(s.instance.ash().samples().map(|sample| row(&shown, &sample, dbid)).collect())
}

/// `shown` gives the number of a file and of a block in it as users see them.
fn row(shown: &dyn Fn(Rdba) -> (u32, u32), s: &Sample, dbid: u64) -> Row {
    let mut row = Vec::with_capacity(HISTORY.len());
    row.extend([n(s.sample_id), time(s.wall_ns), utc(s.wall_ns), n(s.interval_us), letter(s.is(bit::KEPT))]);
    row.extend([n(s.sid), n(s.serial), t(if s.is(bit::BACKGROUND) { "BACKGROUND" } else { "FOREGROUND" })]);
    row.extend([Value::Null, n(s.user)]);
    statement(s, &mut row);
    row.extend([s.entry, s.subprogram].into_iter().flat_map(|what| [known(what >> 32), known(what & 0xFFFF_FFFF)]));
    row.extend((0..4).map(|_| Value::Null)); // no parallel execution
    wait(s, &mut row);
    blocker(s, &mut row);
    place(shown, s, &mut row);
    row.extend([Value::Null, Value::Null, Value::Null]);
    row.extend([if_so(s.transaction != 0, || address(s.transaction - 1)), Value::Null]);
    activity(s, &mut row);
    row.push(Value::Null);
    let texts =
        [(Text::Program, 48), (Text::Module, 64), (Text::Action, 64), (Text::ClientId, 64), (Text::Machine, 64)];
    row.extend(texts.map(|(which, len)| t(s.text(which).chars().take(len).collect::<String>())));
    row.extend((0..4).map(|_| Value::Null));
    deltas(s, &mut row);
    row.extend([Value::Null, Value::Null, n(dbid), n(0u64), Value::Null, Value::Null]);
    row
}

fn statement(s: &Sample, row: &mut Row) {
    row.extend([t(Sample::sql_id(s.sql).unwrap_or_default()), letter(s.sql != 0)]);
    row.extend([if_so(s.sql != 0, || n(s.child)), n(s.opcode), if_so(s.opcode != 0, || t(command_name(s.opcode)))]);
    row.extend([Value::Null, t(Sample::sql_id(s.top_sql).unwrap_or_default()), known(s.top_opcode)]);
    row.push(if_so(s.is(bit::PLAN), || n(s.plan_hash)));
    row.extend((0..5).map(|_| Value::Null)); // the running line of the plan is not sampled
    row.extend([known(s.execution), date(s.execution_wall_ns)]);
}

fn wait(s: &Sample, row: &mut Row) {
    let event = Event::from_number(s.event).filter(|_| s.is(bit::HAS_WAIT));
    let waiting = event.filter(|_| s.is(bit::WAITING));
    row.push(waiting.map_or(Value::Null, |e| t(e.name())));
    row.extend([waiting.map_or(Value::Null, |e| n(e.id())), waiting.map_or(Value::Null, |e| n(e.number()))]);
    row.push(if_so(event.is_some(), || n(s.sequence)));
    let texts = event.map_or(["", "", ""], Event::parameters);
    for (text, p) in texts.into_iter().zip([s.p1, s.p2, s.p3]) {
        row.extend([t(text), if_so(event.is_some(), || n(p))]);
    }
    row.push(waiting.map_or(Value::Null, |e| t(e.class().name())));
    row.push(waiting.map_or(Value::Null, |e| n(e.class().id())));
    row.push(n(if waiting.is_some() { 0 } else { s.wait_us / 10_000 }));
    row.push(t(if waiting.is_some() { "WAITING" } else { "ON CPU" }));
    // Zero without a wait or for a later sample of the same wait; NULL while the wait lasts, and for a wait whose
    // length was not recorded.
    row.push(if_so(waiting.is_none() || s.waited_us != 0, || n(s.waited_us.saturating_sub(1))));
}

fn blocker(s: &Sample, row: &mut Row) {
    let status = match s.blocker {
        0 if !s.is(bit::WAITING) => "NOT IN WAIT",
        0 => "NO HOLDER",
        _ => "VALID",
    };
    row.push(t(status));
    row.extend([known(s.blocker), if_so(s.blocker != 0, || n(s.blocker_serial)), if_so(s.blocker != 0, || n(1u64))]);
    row.push(letter(false));
}

fn place(shown: &dyn Fn(Rdba) -> (u32, u32), s: &Sample, row: &mut Row) {
    let (file, block) = shown(Rdba(s.block as u32));
    row.push(known(s.object));
    row.extend([if_so(s.is(bit::BLOCK), || n(file)), if_so(s.is(bit::BLOCK), || n(block))]);
    row.push(if_so(s.is(bit::ROW), || n(s.row)));
}

fn activity(s: &Sample, row: &mut Row) {
    let foreground = if s.is(bit::BACKGROUND) { 0 } else { DB_TIME };
    let bits: u64 = TIME_MODEL.iter().filter(|(flag, _)| s.is(*flag)).map(|(_, bit)| bit).sum();
    row.push(n(foreground | bits));
    row.push(letter(s.is(bit::CONNECTION)));
    row.extend([bit::PARSE, bit::HARD_PARSE].map(|flag| letter(s.is(flag))));
    row.extend([letter(s.is(bit::SQL)), letter(s.is(bit::PLSQL)), letter(false), Value::Null, letter(false)]);
    row.extend((0..3).map(|_| Value::Null)); // binding, closing and sequence loads are not sampled
    row.extend((0..11).map(|_| letter(false))); // features that do not exist here
}

fn deltas(s: &Sample, row: &mut Row) {
    let figure = |value: u64| if_so(s.is(bit::DELTAS), || n(value));
    let db_time = if_so(!s.is(bit::BACKGROUND), || figure(s.delta_db_us));
    row.extend([figure(s.delta_us), figure(s.delta_cpu_us), db_time, figure(s.delta_us)]);
    row.extend([s.delta_reads, s.delta_writes, s.delta_read_bytes, s.delta_write_bytes].map(figure));
    row.push(figure(0));
}

/// Numbers and names of the kinds of statement: `v$sqlcommand`.
pub const SQLCOMMAND: &[(&str, Type)] = &[("COMMAND_TYPE", N), ("COMMAND_NAME", V(64)), ("CON_ID", N)];

pub fn sqlcommand(_: &Source<'_>) -> Vec<Row> {
    let named = (0..=255u64).map(|number| (number, command_name(number)));
    named.filter(|(_, name)| *name != "UNKNOWN").map(|(number, name)| vec![n(number), t(name), n(0u64)]).collect()
}

pub fn info(s: &Source<'_>) -> Vec<Row> {
    let (ash, f) = (s.instance.ash(), s.instance.ash().figures());
    let oldest = ash.oldest();
    let at = |wall_ns: u64| if_so(wall_ns != 0, || time(wall_ns));
    vec![vec![
        n(f.bytes),
        n(f.fixed_bytes),
        n(s.instance.params().number(params::Param::AshSamplingInterval) as u64),
        oldest.map_or(Value::Null, |sample| n(sample.sample_id)),
        at(oldest.map_or(0, |sample| sample.wall_ns)),
        known(f.sample_id),
        at(f.wall_ns),
        n(f.moments),
        n(f.rows * f.row_bytes),
        n(f.elapsed_us),
        n(instance::ash::KEPT_ONE_IN),
        n(f.saved_rows * f.row_bytes),
        n(f.save_us),
        n(f.saves),
        n(f.urgent_saves),
        n(f.lost),
        n(0u64),
    ]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_value_for_every_column() {
        for flags in [0, u64::MAX] {
            let mut sample = Sample::default();
            sample.flags = flags;
            let row = row(&|at| (at.file(), at.block()), &sample, 1);
            assert_eq!(row.len(), HISTORY.len());
            let at = |name: &str| &row[HISTORY.iter().position(|(column, _)| *column == name).unwrap()];
            assert_eq!(at("SESSION_STATE"), &t(if flags == 0 { "ON CPU" } else { "WAITING" }));
            assert_eq!(at("CON_DBID"), &n(1u64));
            assert_eq!(at("IN_SQL_EXECUTION"), &t(if flags == 0 { "N" } else { "Y" }));
            assert_eq!(at("IN_JAVA_EXECUTION"), &t("N"));
            assert_eq!(at("IN_TABLESPACE_ENCRYPTION"), &t("N"));
            assert_eq!(at("USER_ID"), &n(0u64));
        }
    }
}
