//! Snapshots of the workload repository: the instance's figures in ordinary tables of SYS, as of one moment.
//!
//! A snapshot is a row of `wrm$_snapshot` and, under its number, rows of the `wrh$_` tables, written by recursive SQL
//! from the views in a transaction of its own; it is there for others, with all its rows, once that has committed. The
//! `dba_hist_` views show them. Figures are totals since the start of the instance, as the views have them; statements
//! also have what was added since the snapshot before.

use crate::ash::Saving;
use crate::recorder::{Recorder, integer, lock};
use crate::settings::{dbid, settings_row};
use dictionary::rows::int;
use instance::Text;
use types::{Ora, Result, Timestamp, Value};

/// The level of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// Figures by name.
    Typical,
    /// Those of single latches, too.
    All,
}

impl Level {
    /// # Errors
    /// ORA-13516 for an unknown level.
    fn named(name: &str) -> Result<Level> {
        match name.trim().to_ascii_uppercase().as_str() {
            "" | "BESTFIT" | "LITE" | "TYPICAL" => Ok(Level::Typical),
            "ALL" => Ok(Level::All),
            other => Err(Ora::with(13516, &[&format!("invalid flush level {other}")])),
        }
    }
}

/// The figures of which rates are computed, all read at the moment that the snapshot has as its end. As [`TABLES`].
const TABLES_OF_MOMENT: &[(&str, &str)] = &[
    ("wrh$_sysstat", "stat_id, stat_name, value) select :1, :2, :3, stat_id, name, value from v$sysstat"),
    (
        "wrh$_sys_time_model",
        "stat_id, stat_name, value) select :1, :2, :3, stat_id, stat_name, value from v$sys_time_model",
    ),
    (
        "wrh$_system_event",
        "event_id, event_name, wait_class, total_waits, total_timeouts, time_waited_micro, total_waits_fg, total_timeouts_fg, \
         time_waited_micro_fg) select :1, :2, :3, event_id, event, wait_class, total_waits, total_timeouts, time_waited_micro, \
         total_waits_fg, total_timeouts_fg, time_waited_micro_fg from v$system_event",
    ),
    ("wrh$_osstat", "stat_id, stat_name, value) select :1, :2, :3, osstat_id, stat_name, value from v$osstat"),
];

/// The sources of the figures, table by table; each text begins with the snapshot's own three columns as binds.
const TABLES: &[(&str, &str)] = &[
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
    (
        "wrh$_parameter",
        "parameter_name, value, isdefault, ismodified) \
         select :1, :2, :3, name, substr(value, 1, 512), isdefault, ismodified from v$system_parameter",
    ),
    ("wrh$_sgastat", "name, pool, bytes) select :1, :2, :3, name, pool, bytes from v$sgastat"),
    ("wrh$_sga", "name, value) select :1, :2, :3, name, value from v$sga"),
    (
        "wrh$_latch_misses_summary",
        "parent_name, where_in_code, nwfail_count, sleep_count, wtr_slp_count) \
         select :1, :2, :3, parent_name, substr(\"WHERE\", 1, 64), nwfail_count, sleep_count, wtr_slp_count from v$latch_misses \
         where nwfail_count > 0 or sleep_count > 0 or wtr_slp_count > 0",
    ),
    (
        "wrh$_librarycache",
        "namespace, gets, gethits, pins, pinhits, reloads, invalidations) \
         select :1, :2, :3, namespace, gets, gethits, pins, pinhits, reloads, invalidations from v$librarycache",
    ),
    (
        "wrh$_enqueue_stat",
        "eq_type, req_reason, total_req#, total_wait#, succ_req#, failed_req#, cum_wait_time, event#) \
         select :1, :2, :3, eq_type, req_reason, total_req#, total_wait#, succ_req#, failed_req#, cum_wait_time, event# \
         from v$enqueue_statistics",
    ),
    ("wrh$_waitstat", "class, wait_count, time) select :1, :2, :3, class, count, time from v$waitstat"),
    (
        "wrh$_buffer_pool_statistics",
        "id, name, block_size, set_msize, buf_got, free_buffer_wait, write_complete_wait, buffer_busy_wait, free_buffer_inspected, \
         dirty_buffers_inspected, db_block_change, db_block_gets, consistent_gets, physical_reads, physical_writes) \
         select :1, :2, :3, id, name, block_size, set_msize, buf_got, free_buffer_wait, write_complete_wait, buffer_busy_wait, \
         free_buffer_inspected, dirty_buffers_inspected, db_block_change, db_block_gets, consistent_gets, physical_reads, \
         physical_writes from v$buffer_pool_statistics",
    ),
    (
        "wrh$_filestatxs",
        "file#, filename, tsname, block_size, phyrds, phywrts, singleblkrds, readtim, writetim, singleblkrdtim, phyblkrd, phyblkwrt) \
         select :1, :2, :3, d.file#, d.name, t.name, d.block_size, f.phyrds, f.phywrts, f.singleblkrds, f.readtim, f.writetim, \
         f.singleblkrdtim, f.phyblkrd, f.phyblkwrt from v$filestat f, v$datafile d, v$tablespace t \
         where d.file# = f.file# and t.ts# = d.ts#",
    ),
    (
        "wrh$_event_histogram",
        "event_id, event_name, wait_class, wait_time_micro, wait_count) \
         select :1, :2, :3, n.event_id, h.event, n.wait_class, h.wait_time_micro, h.wait_count \
         from v$event_histogram_micro h, v$event_name n where n.event# = h.event#",
    ),
    (
        "wrh$_process_mem_summary",
        "category, num_processes, non_zero_allocs, used_total, allocated_total, allocated_avg, allocated_stddev, allocated_max, \
         max_allocated_max) select :1, :2, :3, category, count(*), sum(case when allocated > 0 then 1 else 0 end), sum(used), \
         sum(allocated), round(avg(allocated)), round(nvl(stddev(allocated), 0)), max(allocated), max(max_allocated) \
         from v$process_memory group by category",
    ),
    (
        "wrh$_mem_dynamic_comp",
        "component, current_size, min_size, max_size, user_specified_size, oper_count, last_oper_type, last_oper_mode) \
         select :1, :2, :3, component, current_size, min_size, max_size, user_specified_size, oper_count, last_oper_type, \
         last_oper_mode from v$sga_dynamic_components",
    ),
    (
        "wrh$_undostat",
        "begin_time, end_time, undotsn, undoblks, txncount, maxconcurrency, unxpstealcnt, expstealcnt, ssolderrcnt, nospaceerrcnt, \
         tuned_undoretention) select :1, :2, :3, begin_time, end_time, undotsn, undoblks, txncount, maxconcurrency, unxpstealcnt, \
         expstealcnt, ssolderrcnt, nospaceerrcnt, tuned_undoretention from v$undostat where end_time - begin_time >= 599 / 86400 \
         and begin_time > (select nvl(max(u.begin_time), date '1970-01-01') from sys.wrh$_undostat u)",
    ),
    (
        "wrh$_resource_limit",
        "resource_name, current_utilization, max_utilization, initial_allocation, limit_value) \
         select :1, :2, :3, resource_name, current_utilization, max_utilization, initial_allocation, limit_value from v$resource_limit",
    ),
    (
        "wrh$_instance_recovery",
        "recovery_estimated_ios, actual_redo_blks, target_redo_blks, log_file_size_redo_blks, log_chkpt_timeout_redo_blks, \
         log_chkpt_interval_redo_blks, fast_start_io_target_redo_blks, target_mttr, estimated_mttr, ckpt_block_writes) \
         select :1, :2, :3, recovery_estimated_ios, actual_redo_blks, target_redo_blks, log_file_size_redo_blks, \
         log_chkpt_timeout_redo_blks, log_chkpt_interval_redo_blks, fast_start_io_target_redo_blks, target_mttr, estimated_mttr, \
         ckpt_block_writes from v$instance_recovery",
    ),
    (
        "wrh$_db_cache_advice",
        "bpid, name, block_size, advice_status, size_for_estimate, size_factor, buffers_for_estimate, physical_reads, base_physical_reads, \
         actual_physical_reads) select :1, :2, :3, a.id, a.name, a.block_size, a.advice_status, a.size_for_estimate, a.size_factor, \
         a.buffers_for_estimate, a.estd_physical_reads, b.estd_physical_reads, b.estd_physical_reads from v$db_cache_advice a, \
         v$db_cache_advice b where b.id = a.id and b.size_factor = 1",
    ),
    (
        "wrh$_pga_target_advice",
        "pga_target_for_estimate, pga_target_factor, advice_status, bytes_processed, estd_time, estd_extra_bytes_rw, \
         estd_pga_cache_hit_percentage, estd_overalloc_count) select :1, :2, :3, pga_target_for_estimate, pga_target_factor, advice_status, \
         bytes_processed, estd_time, estd_extra_bytes_rw, estd_pga_cache_hit_percentage, estd_overalloc_count from v$pga_target_advice",
    ),
    (
        "wrh$_shared_pool_advice",
        "shared_pool_size_for_estimate, shared_pool_size_factor, estd_lc_size, estd_lc_memory_objects, estd_lc_time_saved, \
         estd_lc_time_saved_factor, estd_lc_load_time, estd_lc_load_time_factor, estd_lc_memory_object_hits) select :1, :2, :3, \
         shared_pool_size_for_estimate, shared_pool_size_factor, estd_lc_size, estd_lc_memory_objects, estd_lc_time_saved, \
         estd_lc_time_saved_factor, estd_lc_load_time, estd_lc_load_time_factor, estd_lc_memory_object_hits from v$shared_pool_advice",
    ),
    (
        "wrh$_sga_target_advice",
        "sga_size, sga_size_factor, estd_db_time, estd_physical_reads) \
         select :1, :2, :3, sga_size, sga_size_factor, estd_db_time, estd_physical_reads from v$sga_target_advice",
    ),
    ("wrh$_pgastat", "name, value) select :1, :2, :3, name, value from v$pgastat"),
    (
        "wrh$_sql_workarea_histogram",
        "low_optimal_size, high_optimal_size, optimal_executions, onepass_executions, multipasses_executions, total_executions) \
         select :1, :2, :3, low_optimal_size, high_optimal_size, optimal_executions, onepass_executions, multipasses_executions, \
         total_executions from v$sql_workarea_histogram where total_executions > 0",
    ),
    (
        "wrh$_sysmetric_summary",
        "begin_time, end_time, intsize, group_id, metric_id, metric_name, metric_unit, num_interval, minval, maxval, average, \
         standard_deviation, sum_squares) select :1, :2, :3, min(h.begin_time), max(h.end_time), sum(h.intsize_csec), h.group_id, \
         h.metric_id, h.metric_name, h.metric_unit, count(*), min(h.value), max(h.value), avg(h.value), nvl(stddev(h.value), 0), \
         sum(h.value * h.value) from v$sysmetric_history h where h.group_id = 2 \
         and h.end_time > (select nvl(max(w.end_time), date '1970-01-01') from sys.wrh$_sysmetric_summary w) \
         group by h.group_id, h.metric_id, h.metric_name, h.metric_unit",
    ),
];

/// The additional tables of a snapshot of level ALL: the latches one by one, as far as they were used.
const TABLES_OF_ALL: &[(&str, &str)] = &[
    (
        "wrh$_latch_children",
        "latch_hash, latch_name, child#, gets, misses, sleeps, immediate_gets, immediate_misses, spin_gets, wait_time) \
         select :1, :2, :3, hash, name, child#, gets, misses, sleeps, immediate_gets, immediate_misses, spin_gets, wait_time \
         from v$latch_children where gets > 0 or immediate_gets > 0",
    ),
    (
        "wrh$_latch_parent",
        "latch_hash, latch_name, gets, misses, sleeps, immediate_gets, immediate_misses, spin_gets, wait_time) \
         select :1, :2, :3, hash, name, gets, misses, sleeps, immediate_gets, immediate_misses, spin_gets, wait_time \
         from v$latch_parent where gets > 0 or immediate_gets > 0",
    ),
];

/// The instance, once for each of its starts.
const INSTANCE: &str = "insert into sys.wrm$_database_instance (dbid, instance_number, startup_time, version, db_name, instance_name, \
     host_name, platform_name, banner) \
     select :1, :2, i.startup_time, i.version, d.name, i.instance_name, i.host_name, :3, v.banner \
     from v$instance i, v$database d, v$version v where not exists \
     (select null from sys.wrm$_database_instance w where w.dbid = d.dbid and w.startup_time = i.startup_time)";

/// The totals of all cursors, and what was added since the snapshot before: counted from what that one saw, whichever
/// statements it kept, so that it takes as long as there are cursors and not as long as there is history. A cursor that
/// was evicted or an instance that was started again begins anew.
const SEEN: &str = "insert into sys.wrm$_sqlstat_seen (seen, startup_time, sql_id, plan_hash_value, command_type, parsing_schema_name, \
     executions_total, executions_delta, parse_calls_total, parse_calls_delta, fetches_total, fetches_delta, rows_processed_total, \
     rows_processed_delta, buffer_gets_total, buffer_gets_delta, disk_reads_total, disk_reads_delta, elapsed_time_total, \
     elapsed_time_delta, cpu_time_total, cpu_time_delta, module, action, version_count, iowait_total, iowait_delta, sharable_mem) select :1, i.startup_time, s.sql_id, \
     s.plan_hash_value, s.command_type, s.parsing_schema_name, s.executions, s.executions - case when p.executions_total <= \
     s.executions then p.executions_total else 0 end, s.parse_calls, s.parse_calls - case when p.parse_calls_total <= s.parse_calls \
     then p.parse_calls_total else 0 end, s.fetches, s.fetches - case when p.fetches_total <= s.fetches then p.fetches_total else 0 \
     end, s.rows_processed, s.rows_processed - case when p.rows_processed_total <= s.rows_processed then p.rows_processed_total else \
     0 end, s.buffer_gets, s.buffer_gets - case when p.buffer_gets_total <= s.buffer_gets then p.buffer_gets_total else 0 end, \
     s.disk_reads, s.disk_reads - case when p.disk_reads_total <= s.disk_reads then p.disk_reads_total else 0 end, s.elapsed_time, \
     s.elapsed_time - case when p.elapsed_time_total <= s.elapsed_time then p.elapsed_time_total else 0 end, s.cpu_time, \
     s.cpu_time - case when p.cpu_time_total <= s.cpu_time then p.cpu_time_total else 0 end, s.module, s.action, s.versions, \
     s.user_io, s.user_io - case when p.iowait_total <= s.user_io then p.iowait_total else 0 end, s.memory \
     from v$instance i, (select sql_id, max(plan_hash_value) plan_hash_value, max(command_type) command_type, \
     max(parsing_schema_name) parsing_schema_name, sum(executions) executions, sum(parse_calls) parse_calls, sum(fetches) fetches, \
     sum(rows_processed) rows_processed, sum(buffer_gets) buffer_gets, sum(disk_reads) disk_reads, sum(elapsed_time) elapsed_time, \
     sum(cpu_time) cpu_time, max(module) module, max(action) action, count(*) versions, \
     sum(user_io_wait_time) user_io, sum(sharable_mem) memory from v$sql group by sql_id) s, \
     (select q.* from sys.wrm$_sqlstat_seen q, v$instance j where q.seen = :2 and q.startup_time = j.startup_time) p \
     where p.sql_id(+) = s.sql_id";

/// Deletes the totals of the previous snapshot, which no later snapshot needs.
const UNSEEN: &str = "delete from sys.wrm$_sqlstat_seen where seen <> :1";

/// The statements that did something since they were last seen.
const STATEMENTS: &str = "insert into sys.wrh$_sqlstat (snap_id, dbid, instance_number, sql_id, plan_hash_value, command_type, \
     parsing_schema_name, executions_total, executions_delta, parse_calls_total, parse_calls_delta, fetches_total, fetches_delta, \
     rows_processed_total, rows_processed_delta, buffer_gets_total, buffer_gets_delta, disk_reads_total, disk_reads_delta, \
     elapsed_time_total, elapsed_time_delta, cpu_time_total, cpu_time_delta, module, action, version_count, iowait_total, iowait_delta, sharable_mem) select :1, :2, :3, \
     sql_id, plan_hash_value, command_type, parsing_schema_name, executions_total, executions_delta, parse_calls_total, \
     parse_calls_delta, fetches_total, fetches_delta, rows_processed_total, rows_processed_delta, buffer_gets_total, \
     buffer_gets_delta, disk_reads_total, disk_reads_delta, elapsed_time_total, elapsed_time_delta, cpu_time_total, cpu_time_delta, \
     module, action, version_count, iowait_total, iowait_delta, sharable_mem from sys.wrm$_sqlstat_seen where seen = :4 and \
     (executions_delta > 0 or parse_calls_delta > 0 or elapsed_time_delta > 0)";

/// Texts of statements that have none yet.
const TEXTS: &str = "insert into sys.wrh$_sqltext (snap_id, dbid, instance_number, sql_id, command_type, sql_text) \
     select :1, :2, :3, s.sql_id, s.command_type, s.sql_fulltext from \
     (select sql_id, max(command_type) command_type, max(sql_fulltext) sql_fulltext from v$sql group by sql_id) s \
     where s.sql_id in (select sql_id from sys.wrm$_sqlstat_seen where seen = :4 and \
     (executions_delta > 0 or parse_calls_delta > 0 or elapsed_time_delta > 0)) \
     and s.sql_id not in (select sql_id from sys.wrh$_sqltext)";

/// DBMS_WORKLOAD_REPOSITORY.CREATE_SNAPSHOT: takes a snapshot in a transaction of its own and returns its number.
///
/// # Errors
/// ORA-13516 for an unknown level; those of the statements, which then leave nothing behind.
pub fn create_snapshot(r: &mut impl Recorder, level: &str) -> Result<i64> {
    let level = Level::named(level)?;
    let (snapshot, history) = r.autonomously(|r| take(r, level))?;
    history.note(r.instance().ash(), false);
    Ok(snapshot)
}

fn take(r: &mut impl Recorder, level: Level) -> Result<(i64, Saving)> {
    let started = os::clock::now_ns();
    // One snapshot at a time: its number is the next one, and its differences refer to the previous snapshot.
    lock(r)?;
    let dbid = dbid(r)?;
    let (last, snapshot) = next_number(r, dbid)?;
    let key = [int(snapshot), int(dbid), int(1)];
    let ended = of_moment(r, &key)?;
    let of_all: &[_] = if level == Level::All { TABLES_OF_ALL } else { &[] };
    for (table, text) in TABLES.iter().chain(of_all) {
        let sql = Text::joined(&["insert into sys.", table, " (snap_id, dbid, instance_number, ", text]);
        r.rows(sql, &key)?;
    }
    statements(r, &key)?;
    crate::segments::write(r, &key)?;
    let history = Saving::write(r, &key)?;
    let platform = format!("Linux {}", std::env::consts::ARCH);
    r.rows(INSTANCE, &[int(dbid), int(1), Value::text(platform)])?;
    let elapsed_us = (os::clock::now_ns() - started) / 1000;
    let row = "insert into sys.wrm$_snapshot (snap_id, dbid, instance_number, startup_time, begin_interval_time, end_interval_time, \
         flush_elapsed, snap_level, status, error_count, snap_flag) \
         select :1, :2, :3, i.startup_time, \
         nvl((select max(s.end_interval_time) from sys.wrm$_snapshot s where s.snap_id = :4 and s.startup_time = i.startup_time), \
         cast(i.startup_time as timestamp)), :5, :6, :7, 0, 0, 1 from v$instance i";
    let level = if level == Level::All { 2 } else { 1 };
    let mut binds = key.to_vec();
    binds.extend([int(last), Value::Timestamp(ended), int(elapsed_us as i64), int(level)]);
    r.rows(row, &binds)?;
    Ok((snapshot, history))
}

/// Writes the figures that rates are computed of, and says when they were read. What is needed for that is made ready
/// before, so that nothing comes between the readings, however long the rest of the snapshot takes.
fn of_moment(r: &mut impl Recorder, key: &[Value]) -> Result<Timestamp> {
    let insert = |(table, text): &(&'static str, &'static str)| {
        Text::joined(&["insert into sys.", table, " (snap_id, dbid, instance_number, ", text])
    };
    let texts: Vec<Text> = TABLES_OF_MOMENT.iter().map(insert).collect();
    let (before, after) = r.at_one_moment(&texts, key)?;
    let at = instance::local_time_at(before.midpoint(after));
    Ok(Timestamp::new(at.own_date(), at.nanos))
}

/// The number of the last snapshot there is, and the one to take: no number is ever used again, also when the last
/// snapshots were dropped.
fn next_number(r: &mut impl Recorder, dbid: i64) -> Result<(i64, i64)> {
    let last = integer(&r.rows("select nvl(max(snap_id), 0) from sys.wrm$_snapshot", &[])?).unwrap_or(0);
    let used = "select nvl(max(w.most_recent_snap_id), 0) from sys.wrm$_wr_control w where w.dbid = :1";
    let snapshot = last.max(integer(&r.rows(used, &[int(dbid)])?).unwrap_or(0)) + 1;
    settings_row(r, dbid)?;
    let update = "update sys.wrm$_wr_control set most_recent_snap_id = :1 where dbid = :2";
    r.rows(update, &[int(snapshot), int(dbid)])?;
    Ok((last, snapshot))
}

/// Statements and their texts, with the differences from the totals of the previous snapshot.
fn statements(r: &mut impl Recorder, key: &[Value]) -> Result<()> {
    let before = integer(&r.rows("select nvl(max(seen), 0) from sys.wrm$_sqlstat_seen", &[])?).unwrap_or(0);
    let seen = int(before + 1);
    r.rows(SEEN, &[seen.clone(), int(before)])?;
    r.rows(UNSEEN, std::slice::from_ref(&seen))?;
    let mut binds = key.to_vec();
    binds.push(seen);
    r.rows(STATEMENTS, &binds)?;
    r.rows(TEXTS, &binds)?;
    Ok(())
}
