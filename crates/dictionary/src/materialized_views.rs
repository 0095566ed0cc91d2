//! The queries of views of materialized views: all columns of 19c, for `catalog_views`.

pub(crate) const MVIEWS: &str = "select {owner}o.name mview_name, o.name container_name, s.query_txt query, s.query_len \
    query_len, 'N' updatable, cast(null as varchar2(128)) update_log, cast(null as varchar2(128)) \
    master_rollback_seg, cast(null as varchar2(128)) master_link, decode(bitand(s.flags, 2), 2, 'Y', 'N') \
    rewrite_enabled, 'NONE' rewrite_capability, decode(s.method, 0, 'NEVER', 'DEMAND') refresh_mode, \
    decode(s.method, 0, 'NEVER', 1, 'COMPLETE', 'FORCE') refresh_method, decode(bitand(s.flags, 1), 1, 'DEFERRED', \
    'IMMEDIATE') build_mode, 'NO' fast_refreshable, nvl2(s.lastref, 'COMPLETE', 'NA') last_refresh_type, s.lastref \
    last_refresh_date, s.lastend last_refresh_end_time, nvl2(s.lastref, 'UNKNOWN', 'UNUSABLE') staleness, 'NA' \
    after_fast_refresh, 'N' unknown_prebuilt, 'N' unknown_plsql_func, 'N' unknown_external_table, 'N' \
    unknown_consider_fresh, 'N' unknown_import, 'N' unknown_trusted_fd, 'VALID' compile_state, 'Y' use_no_index, \
    cast(null as date) stale_since, cast(null as number) num_pct_tables, cast(null as number) \
    num_fresh_pct_regions, cast(null as number) num_stale_pct_regions, 'YES' segment_created, cast(null as \
    varchar2(128)) evaluation_edition, cast(null as varchar2(128)) unusable_before, cast(null as varchar2(128)) \
    unusable_beginning, 'USING_NLS_COMP' default_collation, 'N' on_query_computation from snap$ s, obj$ o, user$ u \
    where o.obj# = s.obj# and u.user# = o.owner#{filter}";
