//! DBA_HIST_ views: the workload repository, as SQL over its tables.

use crate::base::Base;

/// Name and query. The figures have the names of the tables' columns, so a column added there must be added here. The
/// snapshot number comes from the snapshot table: a query for some snapshots finds these first, and then the figures of
/// each.
pub(crate) const VIEWS: &[(&str, &str)] = &[
    (
        "DBA_HIST_SNAPSHOT",
        "select s.snap_id, s.dbid, s.instance_number, s.startup_time, s.begin_interval_time, s.end_interval_time, \
            numtodsinterval(s.flush_elapsed / 1000000, 'SECOND') flush_elapsed, s.snap_level, s.error_count, s.snap_flag, 0 con_id \
            from wrm$_snapshot s where s.status = 0",
    ),
    (
        "DBA_HIST_SYSTEM_EVENT",
        "select s.snap_id, s.dbid, e.instance_number, e.event_id, e.event_name, n.wait_class_id, e.wait_class, e.total_waits, \
            e.total_timeouts, e.time_waited_micro, e.total_waits_fg, e.total_timeouts_fg, e.time_waited_micro_fg, 0 con_id from wrm$_snapshot s, wrh$_system_event e, v$event_name n \
            where s.snap_id = e.snap_id and s.dbid = e.dbid and s.status = 0 and n.event_id(+) = e.event_id",
    ),
    (
        "DBA_HIST_LATCH",
        "select s.snap_id, s.dbid, l.instance_number, l.latch_hash, l.latch_name, l.level#, l.gets, l.misses, l.sleeps, \
            l.immediate_gets, l.immediate_misses, l.spin_gets, 0 sleep1, 0 sleep2, 0 sleep3, 0 sleep4, l.wait_time, 0 con_id \
            from wrm$_snapshot s, wrh$_latch l where s.snap_id = l.snap_id and s.dbid = l.dbid and s.status = 0",
    ),
    (
        "DBA_HIST_MUTEX_SLEEP",
        "select s.snap_id, s.dbid, m.instance_number, m.mutex_type, m.location, m.sleeps, m.wait_time, 0 con_id \
            from wrm$_snapshot s, wrh$_mutex_sleep m where s.snap_id = m.snap_id and s.dbid = m.dbid and s.status = 0",
    ),
    (
        "DBA_HIST_ROWCACHE_SUMMARY",
        "select s.snap_id, s.dbid, r.instance_number, r.parameter, r.total_usage, r.usage, 0 fixed, r.gets, r.getmisses, r.scans, \
            r.scanmisses, r.scancompletes, r.modifications, r.flushes, 0 dlm_requests, 0 dlm_conflicts, 0 dlm_releases, 0 con_id \
            from wrm$_snapshot s, wrh$_rowcache_summary r where s.snap_id = r.snap_id and s.dbid = r.dbid and s.status = 0",
    ),
    (
        "DBA_HIST_SQLSTAT",
        "select s.snap_id, s.dbid, q.instance_number, q.sql_id, q.plan_hash_value, q.parsing_schema_name, q.executions_total, \
            q.executions_delta, q.parse_calls_total, q.parse_calls_delta, q.fetches_total, q.fetches_delta, q.rows_processed_total, \
            q.rows_processed_delta, q.buffer_gets_total, q.buffer_gets_delta, q.disk_reads_total, q.disk_reads_delta, \
            q.elapsed_time_total, q.elapsed_time_delta, q.cpu_time_total, q.cpu_time_delta, q.module, q.action, q.version_count, q.iowait_total, q.iowait_delta, q.sharable_mem, 0 con_id \
            from wrm$_snapshot s, wrh$_sqlstat q where s.snap_id = q.snap_id and s.dbid = q.dbid and s.status = 0",
    ),
    (
        "DBA_HIST_SEG_STAT_OBJ",
        "select o.dbid, o.ts#, o.obj#, o.dataobj#, o.owner, o.object_name, o.subobject_name, o.object_type, o.tablespace_name, 0 con_id \
            from wrh$_seg_stat_obj o",
    ),
    ("DBA_HIST_SQLTEXT", "select t.dbid, t.sql_id, t.sql_text, t.command_type, 0 con_id from wrh$_sqltext t"),
    (
        "DBA_HIST_EVENT_HISTOGRAM",
        "select s.snap_id, s.dbid, h.instance_number, h.event_id, h.event_name, n.wait_class_id, h.wait_class, \
            power(2, ceil(log(2, greatest(ceil(h.wait_time_micro / 1024), 1)))) wait_time_milli, sum(h.wait_count) wait_count, 0 con_id \
            from wrm$_snapshot s, wrh$_event_histogram h, v$event_name n \
            where s.snap_id = h.snap_id and s.dbid = h.dbid and s.status = 0 and n.event_id(+) = h.event_id \
            group by s.snap_id, s.dbid, h.instance_number, h.event_id, h.event_name, n.wait_class_id, h.wait_class, \
            power(2, ceil(log(2, greatest(ceil(h.wait_time_micro / 1024), 1))))",
    ),
    (
        "DBA_HIST_WR_CONTROL",
        "select c.dbid, numtodsinterval(c.snap_interval_min, 'MINUTE') snap_interval, \
            numtodsinterval(c.retention_min, 'MINUTE') retention, decode(c.topnsql, null, 'DEFAULT', to_char(c.topnsql)) topnsql, 0 con_id \
            from wrm$_wr_control c",
    ),
    (
        "DBA_HIST_BASELINE",
        "select b.dbid, b.baseline_id, b.baseline_name, 'STATIC' baseline_type, b.start_snap_id, \
            (select s.end_interval_time from wrm$_snapshot s where s.snap_id = b.start_snap_id and s.dbid = b.dbid) start_snap_time, \
            b.end_snap_id, \
            (select s.end_interval_time from wrm$_snapshot s where s.snap_id = b.end_snap_id and s.dbid = b.dbid) end_snap_time, \
            b.creation_time, 0 con_id from wrm$_baseline b",
    ),
    (
        "DBA_HIST_DATABASE_INSTANCE",
        "select i.dbid, i.instance_number, i.startup_time, 'NO' parallel, i.version, i.db_name, i.instance_name, i.host_name, \
            i.platform_name, 0 con_id from wrm$_database_instance i",
    ),
    (
        "DBA_HIST_ACTIVE_SESS_HISTORY",
        "select s.snap_id, s.dbid, h.instance_number, h.sample_id, h.sample_time, h.sample_time_utc, h.usecs_per_row, h.session_id, \
            h.session_serial#, h.session_type, to_number(null) flags, h.user_id, h.sql_id, h.is_sqlid_current, h.sql_child_number, \
            h.sql_opcode, k.command_name sql_opname, \
            to_number(null) force_matching_signature, h.top_level_sql_id, h.top_level_sql_opcode, h.sql_plan_hash_value, \
            to_number(null) sql_full_plan_hash_value, to_number(null) sql_adaptive_plan_resolved, to_number(null) sql_plan_line_id, \
            cast(null as varchar2(64)) sql_plan_operation, cast(null as varchar2(64)) sql_plan_options, h.sql_exec_id, h.sql_exec_start, \
            h.plsql_entry_object_id, h.plsql_entry_subprogram_id, h.plsql_object_id, h.plsql_subprogram_id, to_number(null) qc_instance_id, to_number(null) qc_session_id, \
            to_number(null) qc_session_serial#, to_number(null) px_flags, h.event, h.event_id, h.seq#, h.p1text, h.p1, h.p2text, h.p2, \
            h.p3text, h.p3, h.wait_class, h.wait_class_id, h.wait_time, h.session_state, h.time_waited, h.blocking_session_status, \
            h.blocking_session, h.blocking_session_serial#, h.blocking_inst_id, 'N' blocking_hangchain_info, h.current_obj#, \
            h.current_file#, h.current_block#, h.current_row#, to_number(null) top_level_call#, cast(null as varchar2(64)) top_level_call_name, \
            to_number(null) consumer_group_id, hextoraw(h.xid) xid, to_number(null) remote_instance#, h.time_model, \
            h.in_connection_mgmt, h.in_parse, h.in_hard_parse, h.in_sql_execution, h.in_plsql_execution, 'N' in_plsql_rpc, \
            cast(null as varchar2(64)) in_plsql_compilation, 'N' in_java_execution, cast(null as varchar2(64)) in_bind, cast(null as varchar2(64)) in_cursor_close, \
            cast(null as varchar2(64)) in_sequence_load, 'N' in_inmemory_query, 'N' in_inmemory_populate, 'N' in_inmemory_prepopulate, \
            'N' in_inmemory_repopulate, 'N' in_inmemory_trepopulate, 'N' in_tablespace_encryption, 'N' capture_overhead, \
            'N' replay_overhead, 'N' is_captured, 'N' is_replayed, 'N' is_replay_sync_token_holder, to_number(null) service_hash, \
            h.program, h.module, h.action, h.client_id, h.machine, to_number(null) port, cast(null as varchar2(64)) ecid, \
            to_number(null) dbreplay_file_id, to_number(null) dbreplay_call_counter, h.tm_delta_time, h.tm_delta_cpu_time, \
            h.tm_delta_db_time, h.delta_time, h.delta_read_io_requests, h.delta_write_io_requests, h.delta_read_io_bytes, \
            h.delta_write_io_bytes, nvl2(h.delta_time, 0, null) delta_interconnect_io_bytes, to_number(null) pga_allocated, \
            to_number(null) temp_space_allocated, h.dbid con_dbid, 0 con_id, cast(null as varchar2(64)) dbop_name, to_number(null) dbop_exec_id \
            from wrm$_snapshot s, wrh$_active_session_history h, v$sqlcommand k \
            where s.snap_id = h.snap_id and s.dbid = h.dbid and s.status = 0 and k.command_type(+) = h.sql_opcode",
    ),
    (
        "DBA_HIST_SYSSTAT",
        "select s.snap_id, s.dbid, v.instance_number, v.stat_id, v.stat_name, v.value, 0 con_id \
            from wrm$_snapshot s, wrh$_sysstat v where s.snap_id = v.snap_id and s.dbid = v.dbid and s.status = 0",
    ),
];

/// Tables shown without changes: the name after `DBA_HIST_`, and the table.
const PLAIN: &[(&str, Base)] = &[
    ("SYS_TIME_MODEL", Base::HistTimeModel),
    ("OSSTAT", Base::HistOsstat),
    ("PARAMETER", Base::HistParameter),
    ("SGASTAT", Base::HistSgastat),
    ("SGA", Base::HistSga),
    ("LATCH_MISSES_SUMMARY", Base::HistLatchMisses),
    ("LATCH_CHILDREN", Base::HistLatchChildren),
    ("LATCH_PARENT", Base::HistLatchParent),
    ("LIBRARYCACHE", Base::HistLibrarycache),
    ("ENQUEUE_STAT", Base::HistEnqueue),
    ("WAITSTAT", Base::HistWaitstat),
    // Oracle's view has the histogram in milliseconds only.
    ("EVENT_HISTOGRAM_MICRO", Base::HistEventHistogram),
    ("BUFFER_POOL_STAT", Base::HistBufferPool),
    ("FILESTATXS", Base::HistFilestat),
    ("UNDOSTAT", Base::HistUndostat),
    ("SEG_STAT", Base::HistSegStat),
    ("RESOURCE_LIMIT", Base::HistResourceLimit),
    ("INSTANCE_RECOVERY", Base::HistInstanceRecovery),
    ("DB_CACHE_ADVICE", Base::HistDbCacheAdvice),
    ("PGA_TARGET_ADVICE", Base::HistPgaTargetAdvice),
    ("SHARED_POOL_ADVICE", Base::HistSharedPoolAdvice),
    ("SGA_TARGET_ADVICE", Base::HistSgaTargetAdvice),
    ("PGASTAT", Base::HistPgastat),
    ("SQL_WORKAREA_HSTGRM", Base::HistWorkareas),
    ("SYSMETRIC_SUMMARY", Base::HistSysmetricSummary),
    ("PROCESS_MEM_SUMMARY", Base::HistProcessMemory),
    ("MEM_DYNAMIC_COMP", Base::HistDynamicComponents),
];

/// Names and queries of the views over [`PLAIN`].
pub(crate) fn plain_views() -> impl Iterator<Item = (String, String)> {
    PLAIN.iter().map(|(name, base)| {
        let table = base.table();
        let of = |column: &str| if matches!(column, "SNAP_ID" | "DBID") { "s" } else { "w" };
        let columns: Vec<String> =
            table.columns.iter().map(|(column, _)| format!("{}.{column}", of(column))).collect();
        let text = format!(
            "select {}, 0 con_id from wrm$_snapshot s, {} w where s.snap_id = w.snap_id and s.dbid = w.dbid and s.status = 0",
            columns.join(", "),
            table.name
        );
        (format!("DBA_HIST_{name}"), text)
    })
}
