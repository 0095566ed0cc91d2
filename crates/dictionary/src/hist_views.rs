//! DBA_HIST_ views: the workload repository, as SQL over its tables.

/// Name and query. The names of the figures are those of the tables, so that a column added there needs one here.
pub(crate) const VIEWS: &[(&str, &str)] = &[
    (
        "DBA_HIST_SNAPSHOT",
        "select s.snap_id, s.dbid, s.instance_number, s.startup_time, s.begin_interval_time, s.end_interval_time, \
            numtodsinterval(s.flush_elapsed / 1000000, 'SECOND') flush_elapsed, s.snap_level, s.error_count, s.snap_flag, 0 con_id \
            from wrm$_snapshot s where s.status = 0",
    ),
    (
        "DBA_HIST_SYSTEM_EVENT",
        "select e.snap_id, e.dbid, e.instance_number, e.event_id, e.event_name, n.wait_class_id, e.wait_class, e.total_waits, \
            e.total_timeouts, e.time_waited_micro, 0 con_id from wrm$_snapshot s, wrh$_system_event e, v$event_name n \
            where s.snap_id = e.snap_id and s.dbid = e.dbid and s.status = 0 and n.event_id(+) = e.event_id",
    ),
    (
        "DBA_HIST_LATCH",
        "select l.snap_id, l.dbid, l.instance_number, l.latch_hash, l.latch_name, l.level#, l.gets, l.misses, l.sleeps, \
            l.immediate_gets, l.immediate_misses, l.spin_gets, 0 sleep1, 0 sleep2, 0 sleep3, 0 sleep4, l.wait_time, 0 con_id \
            from wrm$_snapshot s, wrh$_latch l where s.snap_id = l.snap_id and s.dbid = l.dbid and s.status = 0",
    ),
    (
        "DBA_HIST_MUTEX_SLEEP",
        "select m.snap_id, m.dbid, m.instance_number, m.mutex_type, m.location, m.sleeps, m.wait_time, 0 con_id \
            from wrm$_snapshot s, wrh$_mutex_sleep m where s.snap_id = m.snap_id and s.dbid = m.dbid and s.status = 0",
    ),
    (
        "DBA_HIST_ROWCACHE_SUMMARY",
        "select r.snap_id, r.dbid, r.instance_number, r.parameter, r.total_usage, r.usage, 0 fixed, r.gets, r.getmisses, r.scans, \
            r.scanmisses, r.scancompletes, r.modifications, r.flushes, 0 dlm_requests, 0 dlm_conflicts, 0 dlm_releases, 0 con_id \
            from wrm$_snapshot s, wrh$_rowcache_summary r where s.snap_id = r.snap_id and s.dbid = r.dbid and s.status = 0",
    ),
    (
        "DBA_HIST_SQLSTAT",
        "select q.snap_id, q.dbid, q.instance_number, q.sql_id, q.plan_hash_value, q.parsing_schema_name, q.executions_total, \
            q.executions_delta, q.parse_calls_total, q.parse_calls_delta, q.fetches_total, q.fetches_delta, q.rows_processed_total, \
            q.rows_processed_delta, q.buffer_gets_total, q.buffer_gets_delta, q.disk_reads_total, q.disk_reads_delta, \
            q.elapsed_time_total, q.elapsed_time_delta, q.cpu_time_total, q.cpu_time_delta, 0 con_id \
            from wrm$_snapshot s, wrh$_sqlstat q where s.snap_id = q.snap_id and s.dbid = q.dbid and s.status = 0",
    ),
    ("DBA_HIST_SQLTEXT", "select t.dbid, t.sql_id, t.sql_text, t.command_type, 0 con_id from wrh$_sqltext t"),
    (
        "DBA_HIST_SYSSTAT",
        "select v.snap_id, v.dbid, v.instance_number, v.stat_id, v.stat_name, v.value, 0 con_id \
            from wrm$_snapshot s, wrh$_sysstat v where s.snap_id = v.snap_id and s.dbid = v.dbid and s.status = 0",
    ),
];
