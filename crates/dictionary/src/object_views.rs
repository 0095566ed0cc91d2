//! The queries of views with which tools explore tables and units: all columns of 19c, for `catalog_views`.

pub(crate) const CONSTRAINTS: &str = "select u.name owner, n.name constraint_name, decode(c.type#, 1, 'C', 2, 'P', \
    3, 'U', 4, 'R', 7, 'C', '?') constraint_type, o.name table_name, c.condition search_condition, c.condition \
    search_condition_vc, ru.name r_owner, rn.name r_constraint_name, decode(c.type#, 4, decode(c.refact, 1, \
    'CASCADE', 2, 'SET NULL', 'NO ACTION'), null) delete_rule, decode(bitand(c.defer, 16), 16, 'DISABLED', \
    'ENABLED') status, decode(bitand(c.defer, 1), 1, 'DEFERRABLE', 'NOT DEFERRABLE') deferrable, \
    decode(bitand(c.defer, 2), 2, 'DEFERRED', 'IMMEDIATE') deferred, decode(bitand(c.defer, 4), 4, 'VALIDATED', 'NOT \
    VALIDATED') validated, decode(bitand(c.defer, 8), 8, 'GENERATED NAME', 'USER NAME') generated, cast(null as \
    varchar2(3)) bad, decode(bitand(c.defer, 32), 32, 'RELY') rely, c.mtime last_change, iu.name index_owner, \
    io.name index_name, cast(null as varchar2(7)) invalid, cast(null as varchar2(14)) view_related, 0 origin_con_id \
    from cdef$ c, con$ n, obj$ o, user$ u, con$ rn, user$ ru, obj$ io, user$ iu where n.con# = c.con# and o.obj# = \
    c.obj# and u.user# = n.owner# and rn.con# (+) = c.rcon# and ru.user# (+) = rn.owner# and io.obj# (+) = c.index# \
    and iu.user# (+) = io.owner#{filter}";

pub(crate) const INDEXES: &str = "select {owner}o.name index_name, decode(bitand(i.property, 16), 16, \
    'FUNCTION-BASED ', nvl2(falling.obj#, 'FUNCTION-BASED ', '')) || decode(i.type#, 4, 'IOT - TOP', 'NORMAL') || \
    decode(bitand(i.property, 4), 4, '/REV', '') index_type, tu.name table_owner, b.name table_name, 'TABLE' \
    table_type, decode(bitand(i.property, 1), 1, 'UNIQUE', 'NONUNIQUE') uniqueness, 'DISABLED' compression, \
    cast(null as number) prefix_length, decode(bitand(i.property, 96), 0, ts.name, null) tablespace_name, \
    i.initrans ini_trans, 255 max_trans, 65536 initial_extent, 1048576 next_extent, 1 min_extents, 2147483645 \
    max_extents, cast(null as number) pct_increase, decode(i.type#, 4, 50, null) pct_threshold, cast(null as number) \
    include_column, cast(null as number) freelists, cast(null as number) freelist_groups, i.pctfree$ pct_free, 'YES' \
    logging, i.blevel blevel, i.leafcnt leaf_blocks, i.distkey distinct_keys, i.lblkkey avg_leaf_blocks_per_key, \
    i.dblkkey avg_data_blocks_per_key, i.clufac clustering_factor, decode(bitand(i.property, 64), 64, 'N/A', \
    decode(bitand(i.flags, 1), 1, 'UNUSABLE', 'VALID')) status, i.rowcnt num_rows, i.samplesize sample_size, i.analyzetime last_analyzed, '1' degree, '1' \
    instances, decode(bitand(i.property, 64), 64, 'YES', 'NO') partitioned, decode(bitand(i.property, 32), 32, 'Y', 'N') temporary, decode(bitand(o.flags, 2), \
    2, 'Y', 'N') generated, 'N' secondary, 'DEFAULT' buffer_pool, 'DEFAULT' flash_cache, 'DEFAULT' cell_flash_cache, \
    decode(bitand(i.statflags, 256), 256, 'YES', 'NO') user_stats, decode(bitand(i.property, 32), 32, \
    decode(bitand(bt.property, 3), 1, 'SYS$TRANSACTION', 'SYS$SESSION'), null) duration, cast(null as number) \
    pct_direct_access, cast(null as varchar2(128)) ityp_owner, cast(null as varchar2(128)) ityp_name, cast(null as \
    varchar2(1000)) parameters, nvl2(i.distkey, 'YES', 'NO') global_stats, cast(null as varchar2(12)) domidx_status, \
    cast(null as varchar2(6)) domidx_opstatus, decode(bitand(i.flags, 8), 8, 'DISABLED', \
    decode(bitand(i.property, 16), 16, 'ENABLED', nvl2(falling.obj#, 'ENABLED', null))) funcidx_status, \
    'NO' join_index, 'NO' iot_redundant_pkey_elim, 'NO' dropped, \
    decode(bitand(i.flags, 2), 2, 'INVISIBLE', 'VISIBLE') visibility, cast(null as varchar2(14)) domidx_management, \
    decode(bitand(i.property, 32), 32, 'NO', 'YES') segment_created, 'NO' orphaned_entries, 'FULL' indexing from \
    ind$ i, obj$ o, user$ u, obj$ b, user$ tu, ts$ ts, tab$ bt, (select distinct d.obj# from icol$ d where d.desc$ = \
    1) falling where falling.obj# (+) = i.obj# and o.obj# = i.obj# and u.user# = o.owner# and b.obj# = i.bo# and \
    tu.user# = b.owner# and ts.ts# (+) = i.ts# and bt.obj# (+) = i.bo# and o.type# <> 40{filter}";

pub(crate) const IND_COLUMNS: &str = "select {index_owner}o.name index_name, {table_owner}b.name table_name, \
    decode(ic.desc$, 1, 'SYS_NC' || lpad(to_char(t.cols + c.col#), 5, '0') || '$', c.name) column_name, ic.pos# \
    column_position, nvl(c.length, 0) column_length, nvl(c.charlength, decode(c.type#, 1, c.length, 96, c.length, \
    0)) char_length, decode(ic.desc$, 1, 'DESC', 'ASC') descend, cast(null as number) collated_column_id from icol$ \
    ic, obj$ o, user$ u, obj$ b, user$ tu, col$ c, tab$ t where o.obj# = ic.obj# and u.user# = o.owner# and b.obj# = \
    ic.bo# and tu.user# = b.owner# and c.obj# (+) = ic.bo# and c.col# (+) = ic.col# and t.obj# (+) = ic.bo# and o.type# <> 40{filter}";

pub(crate) const OBJECTS: &str = "select {owner}o.name object_name, o.subname subobject_name, o.obj# object_id, \
    o.dataobj# data_object_id, m.name object_type, o.ctime created, o.mtime last_ddl_time, to_char(o.stime, \
    'YYYY-MM-DD:HH24:MI:SS') timestamp, decode(o.status, 1, 'VALID', 'INVALID') status, decode(bitand(o.flags, 1), \
    1, 'Y', 'N') temporary, decode(bitand(o.flags, 2), 2, 'Y', 'N') generated, 'N' secondary, decode(o.type#, 19, 1, 20, 4, o.namespace) namespace, \
    cast(null as varchar2(128)) edition_name, 'NONE' sharing, cast(null as varchar2(1)) editionable, \
    decode(o.owner#, 0, 'Y', 'N') oracle_maintained, 'N' application, decode(o.type#, 2, 'USING_NLS_COMP', 4, \
    'USING_NLS_COMP', 7, 'USING_NLS_COMP', 8, 'USING_NLS_COMP', 9, 'USING_NLS_COMP', 11, 'USING_NLS_COMP', 12, \
    'USING_NLS_COMP', 13, 'USING_NLS_COMP', 14, 'USING_NLS_COMP') default_collation, 'N' duplicated, 'N' sharded, \
    cast(null as number) created_appid, cast(null as number) created_vsnid, cast(null as number) modified_appid, \
    cast(null as number) modified_vsnid from obj$ o, user$ u, object_type_map m where u.user# = o.owner# and m.type# \
    = o.type#{filter}";

pub(crate) const PLSQL_OBJECT_SETTINGS: &str = "select {owner}o.name name, m.name type, \
    nvl(max(to_number(decode(s.param, 'PLSQL_OPTIMIZE_LEVEL', s.value))), 2) plsql_optimize_level, \
    nvl(max(decode(s.param, 'PLSQL_CODE_TYPE', s.value)), 'INTERPRETED') plsql_code_type, \
    nvl(max(decode(s.param, 'PLSQL_DEBUG', s.value)), 'FALSE') plsql_debug, \
    nvl(max(decode(s.param, 'PLSQL_WARNINGS', s.value)), 'DISABLE:ALL') plsql_warnings, \
    nvl(max(decode(s.param, 'NLS_LENGTH_SEMANTICS', s.value)), 'BYTE') nls_length_semantics, \
    max(decode(s.param, 'PLSQL_CCFLAGS', s.value)) plsql_ccflags, \
    nvl(max(decode(s.param, 'PLSCOPE_SETTINGS', s.value)), 'IDENTIFIERS:NONE, STATEMENTS:NONE') plscope_settings, \
    0 origin_con_id from obj$ o, user$ u, object_type_map m, settings$ s where o.type# in (7, 8, 9, 11, 12, 13, 14) \
    and o.owner# <> 0 and u.user# = o.owner# and m.type# = o.type# and s.obj# (+) = o.obj#{filter} \
    group by o.obj#, u.name, o.name, m.name";

pub(crate) const PROCEDURES: &str = "select {owner}o.name object_name, k.name procedure_name, o.obj# object_id, \
    nvl(k.subprogram_id, 1) subprogram_id, k.overload overload, m.name object_type, 'NO' aggregate, nvl(k.pipelined, \
    'NO') pipelined, cast(null as varchar2(128)) impltypeowner, cast(null as varchar2(128)) impltypename, \
    nvl(k.parallel, 'NO') parallel, 'NO' interface, nvl(k.deterministic, 'NO') deterministic, decode(bitand(o.flags, \
    4), 4, 'CURRENT_USER', 'DEFINER') authid, 'NO' result_cache, 0 origin_con_id, 'NULL' polymorphic from obj$ o, \
    user$ u, object_type_map m, x$kkproc k where o.type# in (7, 8, 9, 12, 13) and u.user# = o.owner# and m.type# = \
    o.type# and k.obj# (+) = o.obj#{filter}";

pub(crate) const SEQUENCES: &str = "select {sequence_owner}o.name sequence_name, s.minvalue min_value, s.maxvalue \
    max_value, s.increment$ increment_by, decode(s.cycle#, 1, 'Y', 'N') cycle_flag, decode(s.order$, 1, 'Y', 'N') \
    order_flag, s.cache cache_size, s.highwater last_number, decode(bitand(s.flags, 1), 1, 'Y', 'N') scale_flag, \
    decode(bitand(s.flags, 2), 2, 'Y', 'N') extend_flag, 'N' sharded_flag, decode(bitand(s.flags, 4), 4, 'Y', 'N') \
    session_flag, decode(bitand(s.flags, 8), 8, 'Y', 'N') keep_value from seq$ s, obj$ o, user$ u where o.obj# = s.obj# and u.user# = o.owner#{filter}";

pub(crate) const SOURCE: &str = "select {owner}o.name name, m.name type, s.line line, s.source text, 0 origin_con_id \
    from source$ s, obj$ o, user$ u, object_type_map m where o.obj# = s.obj# and u.user# = o.owner# and m.type# = \
    o.type#{filter}";

pub(crate) const TABLES: &str = "select {owner}o.name table_name, decode(bitand(t.property, 1025), 0, ts.name, null) \
    tablespace_name, (select co.name from obj$ co where co.obj# = t.bobj#) cluster_name, cast(null as varchar2(128)) \
    iot_name, 'VALID' status, t.pctfree$ pct_free, cast(null as number) pct_used, t.initrans ini_trans, 255 \
    max_trans, 65536 initial_extent, 1048576 next_extent, 1 min_extents, 2147483645 max_extents, cast(null as \
    number) pct_increase, cast(null as number) freelists, cast(null as number) freelist_groups, \
    decode(bitand(t.property, 64), 64, 'NO', 'YES') logging, 'N' backed_up, t.rowcnt num_rows, t.blkcnt blocks, 0 \
    empty_blocks, 0 avg_space, 0 chain_cnt, t.avgrln avg_row_len, 0 avg_space_freelist_blocks, 0 \
    num_freelist_blocks, lpad(decode(t.degree, 32767, 'DEFAULT', to_char(t.degree)), 10) degree, lpad('1', 10) instances, decode(bitand(t.property, 8), \
    8, '    Y', '    N') cache, 'ENABLED' table_lock, t.samplesize sample_size, t.analyzetime last_analyzed, \
    decode(bitand(t.property, 1024), 1024, 'YES', 'NO') partitioned, decode(bitand(t.property, 4), 4, 'IOT', null) iot_type, decode(bitand(t.property, 1), 1, 'Y', 'N') \
    temporary, 'N' secondary, 'NO' nested, 'DEFAULT' buffer_pool, 'DEFAULT' flash_cache, 'DEFAULT' cell_flash_cache, \
    decode(bitand(t.property, 256), 256, 'ENABLED', 'DISABLED') row_movement, nvl2(t.analyzetime, 'YES', 'NO') \
    global_stats, decode(bitand(t.statflags, 256), 256, 'YES', 'NO') user_stats, decode(bitand(t.property, 3), 1, \
    'SYS$TRANSACTION', 3, 'SYS$SESSION', null) duration, 'DISABLED' skip_corrupt, 'YES' monitoring, (select cu.name \
    from obj$ co, user$ cu where co.obj# = t.bobj# and cu.user# = co.owner#) cluster_owner, 'DISABLED' dependencies, \
    'DISABLED' compression, cast(null as varchar2(30)) compress_for, 'NO' dropped, decode(bitand(t.property, 16), \
    16, 'YES', 'NO') read_only, decode(bitand(t.property, 1), 1, 'NO', 'YES') segment_created, \
    decode(bitand(t.property, 32), 32, 'FORCE', 'DEFAULT') result_cache, 'NO' clustering, cast(null as varchar2(23)) \
    activity_tracking, cast(null as varchar2(25)) dml_timestamp, nvl2(ident.obj#, 'YES', 'NO') has_identity, 'NO' \
    container_data, 'DISABLED' inmemory, cast(null as varchar2(8)) inmemory_priority, cast(null as varchar2(15)) \
    inmemory_distribute, cast(null as varchar2(17)) inmemory_compression, cast(null as varchar2(13)) \
    inmemory_duplicate, 'USING_NLS_COMP' default_collation, 'N' duplicated, 'N' sharded, 'NO' external, 'NO' hybrid, \
    cast(null as varchar2(24)) cellmemory, 'NO' containers_default, 'NO' container_map, 'NO' extended_data_link, \
    'NO' extended_data_link_map, cast(null as varchar2(12)) inmemory_service, cast(null as varchar2(1000)) \
    inmemory_service_name, 'NO' container_map_object, 'DISABLED' memoptimize_read, 'DISABLED' memoptimize_write, \
    'NO' has_sensitive_column, 'NO' admit_null, 'NO' data_link_dml_enabled, 'ENABLED' logical_replication from tab$ \
    t, obj$ o, user$ u, ts$ ts, (select distinct i.obj# from col$ i where i.seq# is not null) ident where o.obj# = \
    t.obj# and u.user# = o.owner# and ts.ts# (+) = t.ts# and ident.obj# (+) = t.obj#{filter}";

pub(crate) const TAB_COLS: &str = "select {owner}o.name table_name, c.name column_name, {data_type} data_type, \
    cast(null as varchar2(3)) data_type_mod, cast(null as varchar2(128)) data_type_owner, c.length data_length, \
    decode(c.type#, 2, c.precision#, null) data_precision, decode(c.scale, -127, to_number(null), c.scale) \
    data_scale, decode(c.null$, 0, 'Y', 'N') nullable, decode(bitand(c.property, 3), 0, c.col# - nvl(gone.n, 0), \
    null) column_id, length(nvl(c.virtual$, c.default$)) default_length, nvl(c.virtual$, c.default$) data_default, \
    h.distcnt num_distinct, h.lowval low_value, h.hival high_value, h.density density, h.null_cnt num_nulls, \
    h.bucket_cnt num_buckets, h.timestamp# last_analyzed, h.sample_size sample_size, decode(c.charsetform, 1, \
    'CHAR_CS', 2, 'NCHAR_CS', null) character_set_name, decode(c.type#, 1, nvl(c.charlength, c.length), 96, \
    nvl(c.charlength, c.length), null) char_col_decl_length, nvl2(h.distcnt, 'YES', 'NO') global_stats, {user_stats} \
    user_stats, h.avgcln avg_col_len, nvl(c.charlength, decode(c.type#, 1, c.length, 96, c.length, 0)) char_length, \
    decode(c.type#, 1, nvl2(c.charlength, 'C', 'B'), 96, nvl2(c.charlength, 'C', 'B'), null) char_used, 'NO' \
    v80_fmt_image, 'YES' data_upgraded, decode(bitand(c.property, 3), 0, 'NO', 'YES') hidden_column, \
    nvl2(c.virtual$, 'YES', 'NO') virtual_column, nvl2(c.virtual$, null, c.col#) segment_column_id, c.col# \
    internal_column_id, {histogram} histogram, c.name qualified_col_name, decode(bitand(c.property, 1), 1, 'NO', \
    'YES') user_generated, decode(bitand(c.property, 4), 4, 'YES', decode(bitand(c.property, 16), 16, 'YES', 'NO')) \
    default_on_null, decode(c.seq#, null, 'NO', 'YES') identity_column, cast(null as varchar2(128)) \
    evaluation_edition, cast(null as varchar2(128)) unusable_before, cast(null as varchar2(128)) unusable_beginning, \
    decode(c.type#, 1, 'USING_NLS_COMP', 96, 'USING_NLS_COMP', 112, 'USING_NLS_COMP', 8, 'USING_NLS_COMP', null) \
    collation, cast(null as number) collated_column_id from col$ c, obj$ o, user$ u, hist_head$ h, (select x.obj#, \
    x.col#, count(*) n from col$ x, col$ h where h.obj# = x.obj# and h.col# < x.col# and (bitand(h.property, 3) <> 0 \
    or h.property >= 65536) and x.property < 65536 group by x.obj#, x.col# union all select x.obj#, x.col#, x.col# - \
    count(*) n from col$ x, col$ h where x.property >= 65536 and h.obj# = x.obj# and bitand(h.property, 3) = 0 and \
    trunc(h.property / 65536) <= trunc(x.property / 65536) group by x.obj#, x.col#) gone where h.obj# (+) = c.obj# \
    and h.intcol# (+) = c.col# and o.obj# = c.obj# and o.type# in (2, 3, 4) and u.user# = o.owner# and gone.obj# (+) \
    = c.obj# and gone.col# (+) = c.col#{filter}";

pub(crate) const TAB_COLUMNS: &str = "select {owner}o.name table_name, c.name column_name, {data_type} data_type, \
    cast(null as varchar2(3)) data_type_mod, cast(null as varchar2(128)) data_type_owner, c.length data_length, \
    decode(c.type#, 2, c.precision#, null) data_precision, decode(c.scale, -127, to_number(null), c.scale) \
    data_scale, decode(c.null$, 0, 'Y', 'N') nullable, decode(bitand(c.property, 3), 0, c.col# - nvl(gone.n, 0), \
    null) column_id, length(nvl(c.virtual$, c.default$)) default_length, nvl(c.virtual$, c.default$) data_default, \
    h.distcnt num_distinct, h.lowval low_value, h.hival high_value, h.density density, h.null_cnt num_nulls, \
    h.bucket_cnt num_buckets, h.timestamp# last_analyzed, h.sample_size sample_size, decode(c.charsetform, 1, \
    'CHAR_CS', 2, 'NCHAR_CS', null) character_set_name, decode(c.type#, 1, nvl(c.charlength, c.length), 96, \
    nvl(c.charlength, c.length), null) char_col_decl_length, nvl2(h.distcnt, 'YES', 'NO') global_stats, {user_stats} \
    user_stats, h.avgcln avg_col_len, nvl(c.charlength, decode(c.type#, 1, c.length, 96, c.length, 0)) char_length, \
    decode(c.type#, 1, nvl2(c.charlength, 'C', 'B'), 96, nvl2(c.charlength, 'C', 'B'), null) char_used, 'NO' \
    v80_fmt_image, 'YES' data_upgraded, {histogram} histogram, decode(bitand(c.property, 4), 4, 'YES', \
    decode(bitand(c.property, 16), 16, 'YES', 'NO')) default_on_null, decode(c.seq#, null, 'NO', 'YES') \
    identity_column, cast(null as varchar2(128)) evaluation_edition, cast(null as varchar2(128)) unusable_before, \
    cast(null as varchar2(128)) unusable_beginning, decode(c.type#, 1, 'USING_NLS_COMP', 96, 'USING_NLS_COMP', 112, \
    'USING_NLS_COMP', 8, 'USING_NLS_COMP', null) collation from col$ c, obj$ o, user$ u, hist_head$ h, (select \
    x.obj#, x.col#, count(*) n from col$ x, col$ h where h.obj# = x.obj# and h.col# < x.col# and (bitand(h.property, \
    3) <> 0 or h.property >= 65536) and x.property < 65536 group by x.obj#, x.col# union all select x.obj#, x.col#, \
    x.col# - count(*) n from col$ x, col$ h where x.property >= 65536 and h.obj# = x.obj# and bitand(h.property, 3) \
    = 0 and trunc(h.property / 65536) <= trunc(x.property / 65536) group by x.obj#, x.col#) gone where h.obj# (+) = \
    c.obj# and h.intcol# (+) = c.col# and o.obj# = c.obj# and o.type# in (2, 3, 4) and u.user# = o.owner# and \
    gone.obj# (+) = c.obj# and gone.col# (+) = c.col# and bitand(c.property, 1) = 0{filter}";

pub(crate) const TAB_IDENTITY_COLS: &str = "select {owner}o.name table_name, c.name column_name, \
    decode(bitand(c.property, 8), 8, 'ALWAYS', 'BY DEFAULT') generation_type, so.name sequence_name, 'START WITH: ' \
    || to_char(nvl(s.startwith, s.minvalue)) || ', INCREMENT BY: ' || to_char(s.increment$) || ', MAX_VALUE: ' || \
    to_char(s.maxvalue) || ', MIN_VALUE: ' || to_char(s.minvalue) || ', CYCLE_FLAG: ' || decode(s.cycle#, 1, 'Y', \
    'N') || ', CACHE_SIZE: ' || to_char(s.cache) || ', ORDER_FLAG: ' || decode(s.order$, 1, 'Y', 'N') || ', \
    SCALE_FLAG: N, EXTEND_FLAG: N, SESSION_FLAG: N, KEEP_VALUE: N' identity_options from col$ c, obj$ o, user$ u, \
    seq$ s, obj$ so where o.obj# = c.obj# and o.type# = 2 and u.user# = o.owner# and s.obj# = c.seq# and so.obj# = \
    c.seq# and bitand(c.property, 1) = 0{filter}";

pub(crate) const TRIGGERS: &str = "select {owner}o.name trigger_name, decode(t.type#, 0, 'BEFORE STATEMENT', 1, \
    'BEFORE EACH ROW', 2, 'AFTER STATEMENT', 3, 'AFTER EACH ROW', 4, 'INSTEAD OF', 5, 'COMPOUND', 6, 'BEFORE \
    EVENT', 7, 'AFTER EVENT') trigger_type, case when t.sys_evts is null then substr(decode(t.insert$, 1, ' OR \
    INSERT') || decode(t.update$, 1, ' OR UPDATE') || decode(t.delete$, 1, ' OR DELETE'), 5) else \
    substr(decode(bitand(t.sys_evts, 1), 1, 'OR STARTUP ') || decode(bitand(t.sys_evts, 2), 2, 'OR SHUTDOWN ') || \
    decode(bitand(t.sys_evts, 4), 4, 'OR ERROR ') || decode(bitand(t.sys_evts, 8), 8, 'OR LOGON ') || \
    decode(bitand(t.sys_evts, 16), 16, 'OR LOGOFF ') || decode(bitand(t.sys_evts, 32), 32, 'OR CREATE ') || \
    decode(bitand(t.sys_evts, 64), 64, 'OR ALTER ') || decode(bitand(t.sys_evts, 128), 128, 'OR DROP ') || \
    decode(bitand(t.sys_evts, 256), 256, 'OR ANALYZE ') || decode(bitand(t.sys_evts, 512), 512, 'OR COMMENT ') || \
    decode(bitand(t.sys_evts, 1024), 1024, 'OR GRANT ') || decode(bitand(t.sys_evts, 2048), 2048, 'OR REVOKE ') || \
    decode(bitand(t.sys_evts, 4096), 4096, 'OR TRUNCATE ') || decode(bitand(t.sys_evts, 8192), 8192, 'OR RENAME ') \
    || decode(bitand(t.sys_evts, 16384), 16384, 'OR AUDIT ') || decode(bitand(t.sys_evts, 32768), 32768, 'OR \
    NOAUDIT ') || decode(bitand(t.sys_evts, 65536), 65536, 'OR DDL '), 4) end triggering_event, case when \
    t.sys_evts is null then bu.name else nvl((select e.name from user$ e where e.user# = t.schema#), 'SYS') end \
    table_owner, case when t.sys_evts is null then decode(b.type#, 4, 'VIEW', 'TABLE') else nvl2(t.schema#, \
    'SCHEMA', 'DATABASE') end base_object_type, b.name table_name, cast(null as varchar2(4000)) column_name, \
    'REFERENCING NEW AS ' || t.refnewname || ' OLD AS ' || t.refoldname referencing_names, t.whenclause \
    when_clause, decode(t.enabled, 1, 'ENABLED', 'DISABLED') status, t.definition description, case when \
    regexp_like(t.action#, '^((begin|declare|compound)([^[:alnum:]_$#]|$)|<<)', 'i') then 'PL/SQL' else 'CALL' end \
    action_type, t.action# trigger_body, 'NO' crossedition, decode(bitand(t.property, 1), 1, 'YES', 'NO') \
    before_statement, decode(bitand(t.property, 2), 2, 'YES', 'NO') before_row, decode(bitand(t.property, 4), 4, \
    'YES', 'NO') after_row, decode(bitand(t.property, 8), 8, 'YES', 'NO') after_statement, 'NO' instead_of_row, \
    'YES' fire_once, 'NO' apply_server_only from trigger$ t, obj$ o, user$ u, obj$ b, user$ bu where o.obj# = \
    t.obj# and u.user# = o.owner# and b.obj# (+) = t.baseobject and bu.user# (+) = b.owner#{filter}";

pub(crate) const TRIGGER_COLS: &str = "select trigger_owner, trigger_name, table_owner, table_name, column_name, \
    decode(is_listed, 0, 'NO', 'YES') column_list, nvl(ltrim(decode(new_in, 0, decode(new_out, 0, '', ' NEW OUT'), \
    decode(new_out, 0, ' NEW IN', ' NEW IN OUT')) || decode(old_in, 0, '', ' OLD IN')), 'NONE') column_usage from \
    (select u.name trigger_owner, o.name trigger_name, bu.name table_owner, b.name table_name, c.name column_name, \
    nvl(instr(t.updatecols, '\"' || c.name || '\"'), 0) is_listed, nvl(instr(t.newin, '\"' || c.name || '\"'), 0) \
    new_in, nvl(instr(t.newout, '\"' || c.name || '\"'), 0) new_out, nvl(instr(t.oldin, '\"' || c.name || '\"'), 0) \
    old_in from trigger$ t, obj$ o, user$ u, obj$ b, user$ bu, col$ c where o.obj# = t.obj# and u.user# = o.owner# \
    and b.obj# = t.baseobject and bu.user# = b.owner# and c.obj# = t.baseobject and bitand(c.property, 1) = \
    0{filter}) where is_listed + new_in + new_out + old_in > 0";

pub(crate) const TRIGGER_ORDERING: &str = "select {owner}o.name trigger_name, ru.name referenced_trigger_owner, \
    r.name referenced_trigger_name, 'FOLLOWS' ordering_type from trigger$ t, obj$ o, user$ u, obj$ r, user$ ru where \
    o.obj# = t.obj# and u.user# = o.owner# and t.follows is not null and r.type# = 12 and ru.user# = r.owner# and \
    instr(t.follows, '\"' || ru.name || '\".\"' || r.name || '\"') > 0{filter}";

pub(crate) const UNUSED_COL_TABS: &str = "select {owner}o.name table_name, g.n count from obj$ o, user$ u, (select \
    h.obj#, count(*) n from col$ h where bitand(h.property, 1) = 1 and h.virtual$ is null group by h.obj#) g where \
    o.obj# = g.obj# and o.type# = 2 and u.user# = o.owner#{filter}";

pub(crate) const VIEWS: &str = "select {owner}o.name view_name, v.textlength text_length, v.text text, \
    substr(v.text, 1, 4000) text_vc, cast(null as number) type_text_length, cast(null as varchar2(4000)) type_text, \
    cast(null as number) oid_text_length, cast(null as varchar2(4000)) oid_text, cast(null as varchar2(128)) \
    view_type_owner, cast(null as varchar2(128)) view_type, cast(null as varchar2(128)) superview_name, 'N' \
    editioning_view, decode(bitand(v.property, 1), 1, 'Y', 'N') read_only, 'N' container_data, \
    decode(bitand(v.property, 4), 4, 'CURRENT_USER', 'DEFINER') bequeath, 0 origin_con_id, 'USING_NLS_COMP' \
    default_collation, 'NO' containers_default, 'NO' container_map, 'NO' extended_data_link, 'NO' \
    extended_data_link_map, 'NO' has_sensitive_column, 'NO' admit_null, 'NO' pdb_local_only from view$ v, obj$ o, \
    user$ u where o.obj# = v.obj# and u.user# = o.owner#{filter}";

/// A descending column is an expression, as in Oracle: its name in quotes.
pub(crate) const IND_EXPRESSIONS: &str = "select {index_owner}o.name index_name, {table_owner}b.name table_name, \
    nvl(c.virtual$, '\"' || c.name || '\"') column_expression, ic.pos# column_position from icol$ ic, obj$ o, user$ \
    u, obj$ b, user$ tu, col$ c where o.obj# = ic.obj# and u.user# = o.owner# and b.obj# = ic.bo# and tu.user# = \
    b.owner# and c.obj# = ic.bo# and c.col# = ic.col# and (c.virtual$ is not null or ic.desc$ = 1){filter}";

pub(crate) const DEPENDENCIES: &str = "select {owner}o.name name, m.name type, k.r_owner referenced_owner, \
     k.r_name referenced_name, k.r_type referenced_type, k.r_link referenced_link_name{schemaid}, \
     'HARD' dependency_type \
     from obj$ o, user$ u, object_type_map m, x$kkdep k where u.user# = o.owner# and m.type# = o.type# \
     and k.obj# = o.obj#{filter}";
