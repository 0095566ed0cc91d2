//! Snapshots of the workload repository: the instance's figures in ordinary tables of SYS, as of one moment.
//!
//! A snapshot is a row of `wrm$_snapshot` and, under its number, rows of the `wrh$_` tables, written by recursive SQL from the views in a
//! transaction of its own; it is there for others, with all its rows, once that has committed. The `dba_hist_` views show them. Figures
//! are totals since the start of the instance, as the views have them; statements also have what was added since the snapshot before.

use crate::core::Core;
use crate::jobs::recursive;
use crate::world::{World, number};
use exec::ExecCtx;
use plsql::World as _;
use types::{Ora, Result, Value};

/// How much of the shared statements a snapshot keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// The foremost by elapsed time, processor time, executions and block visits.
    Typical,
    /// Every statement that did anything since the last snapshot.
    All,
}

/// Statements a typical snapshot keeps by each measure.
const TOP: i64 = 30;

impl Level {
    /// # Errors
    /// ORA-13516 for what is no level.
    fn named(name: &str) -> Result<Level> {
        match name.trim().to_ascii_uppercase().as_str() {
            "" | "BESTFIT" | "LITE" | "TYPICAL" => Ok(Level::Typical),
            "ALL" => Ok(Level::All),
            other => Err(Ora::with(13516, &[&format!("invalid flush level {other}")])),
        }
    }
}

/// Where the figures come from, table by table; each text begins with the snapshot's own three columns as binds.
const TABLES: &[(&str, &str)] = &[
    (
        "wrh$_system_event",
        "event_id, event_name, wait_class, total_waits, total_timeouts, time_waited_micro) \
         select :1, :2, :3, event_id, event, wait_class, total_waits, total_timeouts, time_waited_micro from v$system_event",
    ),
    (
        "wrh$_latch",
        "latch_hash, latch_name, level#, gets, misses, sleeps, immediate_gets, immediate_misses, spin_gets, wait_time) \
         select :1, :2, :3, hash, name, level#, gets, misses, sleeps, immediate_gets, immediate_misses, spin_gets, wait_time \
         from v$latch",
    ),
    (
        "wrh$_mutex_sleep",
        "mutex_type, location, sleeps, wait_time) \
         select :1, :2, :3, mutex_type, location, sleeps, wait_time from v$mutex_sleep",
    ),
    (
        "wrh$_rowcache_summary",
        "parameter, total_usage, usage, gets, getmisses, scans, scanmisses, scancompletes, modifications, flushes) \
         select :1, :2, :3, parameter, sum(count), sum(usage), sum(gets), sum(getmisses), sum(scans), sum(scanmisses), \
         sum(scancompletes), sum(modifications), sum(flushes) from v$rowcache group by parameter",
    ),
    ("wrh$_sysstat", "stat_id, stat_name, value) select :1, :2, :3, stat_id, name, value from v$sysstat"),
];

/// The statements that did something since the last snapshot, in the order of the four measures.
const STATEMENTS: &str = "insert into sys.wrh$_sqlstat (snap_id, dbid, instance_number, sql_id, plan_hash_value, command_type, \
     parsing_schema_name, executions_total, executions_delta, parse_calls_total, parse_calls_delta, fetches_total, fetches_delta, \
     rows_processed_total, rows_processed_delta, buffer_gets_total, buffer_gets_delta, disk_reads_total, disk_reads_delta, \
     elapsed_time_total, elapsed_time_delta, cpu_time_total, cpu_time_delta) \
     select :1, :2, :3, sql_id, plan_hash_value, command_type, parsing_schema_name, e, de, pc, dpc, f, df, r, dr, b, db, d, dd, t, dt, c, dc \
     from (select x.*, row_number() over (order by dt desc) r1, row_number() over (order by dc desc) r2, \
       row_number() over (order by de desc) r3, row_number() over (order by db desc) r4 \
       from (select s.sql_id, s.plan_hash_value, s.command_type, s.parsing_schema_name, \
         s.executions e, s.executions - nvl(p.executions_total, 0) de, s.parse_calls pc, s.parse_calls - nvl(p.parse_calls_total, 0) dpc, \
         s.fetches f, s.fetches - nvl(p.fetches_total, 0) df, \
         s.rows_processed r, s.rows_processed - nvl(p.rows_processed_total, 0) dr, \
         s.buffer_gets b, s.buffer_gets - nvl(p.buffer_gets_total, 0) db, s.disk_reads d, s.disk_reads - nvl(p.disk_reads_total, 0) dd, \
         s.elapsed_time t, s.elapsed_time - nvl(p.elapsed_time_total, 0) dt, s.cpu_time c, s.cpu_time - nvl(p.cpu_time_total, 0) dc \
         from (select sql_id, max(plan_hash_value) plan_hash_value, max(command_type) command_type, \
           max(parsing_schema_name) parsing_schema_name, sum(executions) executions, sum(parse_calls) parse_calls, sum(fetches) fetches, \
           sum(rows_processed) rows_processed, sum(buffer_gets) buffer_gets, sum(disk_reads) disk_reads, \
           sum(elapsed_time) elapsed_time, sum(cpu_time) cpu_time from v$sql group by sql_id) s, \
           (select * from sys.wrh$_sqlstat where snap_id = :4) p where p.sql_id(+) = s.sql_id) x \
       where de > 0 or dpc > 0 or dt > 0) \
     where r1 <= :5 or r2 <= :6 or r3 <= :7 or r4 <= :8";

/// Texts of statements that have none yet.
const TEXTS: &str = "insert into sys.wrh$_sqltext (snap_id, dbid, instance_number, sql_id, command_type, sql_text) \
     select :1, :2, :3, s.sql_id, s.command_type, s.sql_fulltext from \
     (select sql_id, max(command_type) command_type, max(sql_fulltext) sql_fulltext from v$sql group by sql_id) s \
     where s.sql_id in (select sql_id from sys.wrh$_sqlstat where snap_id = :4) \
     and s.sql_id not in (select sql_id from sys.wrh$_sqltext)";

fn integer(rows: &[Vec<Value>]) -> i64 {
    match rows.first().and_then(|row| row.first()) {
        Some(Value::Number(n)) => n.to_i64().unwrap_or(0),
        _ => 0,
    }
}

/// DBMS_WORKLOAD_REPOSITORY.CREATE_SNAPSHOT: takes a snapshot in a transaction of its own and returns its number.
///
/// # Errors
/// ORA-13516 for an unknown level; those of the statements, which then leave nothing behind.
pub fn create_snapshot(w: &mut World<'_>, level: &str) -> Result<i64> {
    let level = Level::named(level)?;
    w.autonomous_begin()?;
    let taken = take(w.core, &mut w.cx, level);
    let ended = match &taken {
        Ok(_) => w.commit(),
        Err(_) => w.rollback(),
    };
    let back = w.autonomous_end();
    let snapshot = taken?;
    ended?;
    back?;
    Ok(snapshot)
}

fn take(core: &Core, cx: &mut ExecCtx<'_>, level: Level) -> Result<i64> {
    let started = os::clock::now_ns();
    // One at a time: the number is the next one, and what was added is counted from the one before.
    recursive_lock(core, cx)?;
    let last = integer(&recursive(core, cx, "select nvl(max(snap_id), 0) from sys.wrm$_snapshot", &[])?);
    let dbid = integer(&recursive(core, cx, "select dbid from v$database", &[])?);
    let snapshot = last + 1;
    let key = [number(snapshot), number(dbid), number(1)];
    for (table, text) in TABLES {
        let sql = format!("insert into sys.{table} (snap_id, dbid, instance_number, {text}");
        recursive(core, cx, &sql, &key)?;
    }
    // Totals begin anew with the instance: what was added is then all there is.
    let same = "select count(*) from sys.wrm$_snapshot s, v$instance i where s.snap_id = :1 and s.startup_time = i.startup_time";
    let before = if integer(&recursive(core, cx, same, &[number(last)])?) > 0 { last } else { 0 };
    let top = if level == Level::All { i64::from(i32::MAX) } else { TOP };
    let mut binds = key.to_vec();
    binds.push(number(before));
    binds.extend((0..4).map(|_| number(top)));
    recursive(core, cx, STATEMENTS, &binds)?;
    binds.truncate(3);
    binds.push(number(snapshot));
    recursive(core, cx, TEXTS, &binds)?;
    let elapsed_us = (os::clock::now_ns() - started) / 1000;
    let row = "insert into sys.wrm$_snapshot (snap_id, dbid, instance_number, startup_time, begin_interval_time, end_interval_time, \
         flush_elapsed, snap_level, status, error_count, snap_flag) \
         select :1, :2, :3, i.startup_time, \
         nvl((select max(s.end_interval_time) from sys.wrm$_snapshot s where s.snap_id = :4 and s.startup_time = i.startup_time), \
         cast(i.startup_time as timestamp)), localtimestamp, :5, :6, 0, 0, 1 from v$instance i";
    let level = if level == Level::All { 2 } else { 1 };
    let mut binds = key.to_vec();
    binds.extend([number(last), number(elapsed_us as i64), number(level)]);
    recursive(core, cx, row, &binds)?;
    Ok(snapshot)
}

fn recursive_lock(core: &Core, cx: &mut ExecCtx<'_>) -> Result<()> {
    core.as_sys(|| crate::run::run_other(core, cx, "lock table sys.wrm$_snapshot in exclusive mode"))
}
