//! The queries of the optimizer statistics views: all columns of 19c, for `catalog_views`.

/// HISTOGRAM of a column, by FLAGS of HIST_HEAD$ `h`.
pub(crate) const HISTOGRAM: &str = "decode(bitand(h.flags, 255), 1, 'FREQUENCY', 2, 'TOP-FREQUENCY', 3, 'HYBRID', 4, \
    'HEIGHT BALANCED', 'NONE')";

/// USER_STATS of a column, by FLAGS of HIST_HEAD$ `h`.
pub(crate) const USER_STATS: &str = "decode(bitand(h.flags, 256), 256, 'YES', 'NO')";

/// A column group appears as a column with the name that DBMS_STATS gave it.
pub(crate) const TAB_COL_STATISTICS: &str = "select {owner}o.name table_name, c.name column_name, h.distcnt num_distinct, \
    h.lowval low_value, h.hival high_value, h.density density, h.null_cnt num_nulls, h.bucket_cnt num_buckets, \
    h.timestamp# last_analyzed, h.sample_size sample_size, 'YES' global_stats, {user_stats} user_stats, cast(null as \
    varchar2(63)) notes, h.avgcln avg_col_len, {histogram} histogram, 'SHARED' scope from hist_head$ h, (select a.obj#, \
    a.col#, a.name from col$ a where bitand(a.property, 3) = 0 union all select x.obj#, x.intcol#, x.name from \
    stats_extension$ x) c, obj$ o, user$ u where h.obj# = c.obj# and h.intcol# = c.col# and o.obj# = c.obj# and o.type# in \
    (2, 3, 4) and u.user# = o.owner#{filter}";

/// Endpoints of histograms; for a column without a histogram, its lowest and highest value.
pub(crate) const HISTOGRAMS: &str = "select {owner}o.name table_name, c.name column_name, e.n endpoint_number, e.v \
    endpoint_value, e.a endpoint_actual_value, e.r endpoint_actual_value_raw, e.c endpoint_repeat_count, 'SHARED' scope \
    from (select b.obj#, b.col#, b.name from col$ b where bitand(b.property, 3) = 0 union all select x.obj#, x.intcol#, \
    x.name from stats_extension$ x) c, obj$ o, user$ u, (select g.obj#, g.intcol#, g.bucket n, g.endpoint v, g.epvalue a, \
    g.epvalue_raw r, g.ep_repeat_count c from histgrm$ g union all select h.obj#, h.intcol#, 0, h.minimum, null, null, 0 \
    from hist_head$ h where bitand(h.flags, 255) = 0 and h.minimum is not null union all select h.obj#, h.intcol#, 1, \
    h.maximum, null, null, 0 from hist_head$ h where bitand(h.flags, 255) = 0 and h.maximum is not null) e where e.obj# = \
    c.obj# and e.intcol# = c.col# and o.obj# = c.obj# and o.type# = 2 and u.user# = o.owner#{filter}";

pub(crate) const TAB_STATISTICS: &str = "select {owner}o.name table_name, cast(null as varchar2(128)) \
    partition_name, cast(null as number) partition_position, cast(null as varchar2(128)) subpartition_name, \
    cast(null as number) subpartition_position, 'TABLE' object_type, t.rowcnt num_rows, t.blkcnt blocks, 0 \
    empty_blocks, 0 avg_space, 0 chain_cnt, t.avgrln avg_row_len, 0 avg_space_freelist_blocks, 0 \
    num_freelist_blocks, cast(null as number) avg_cached_blocks, cast(null as number) avg_cache_hit_ratio, cast(null \
    as number) im_imcu_count, cast(null as number) im_block_count, cast(null as timestamp(9)) im_stat_update_time, \
    cast(null as number) scan_rate, t.samplesize sample_size, t.analyzetime last_analyzed, nvl2(t.analyzetime, 'YES', \
    'NO') global_stats, decode(bitand(t.statflags, 256), 256, 'YES', 'NO') user_stats, cast(decode(bitand(t.statflags, 1), \
    1, 'ALL') as varchar2(5)) stattype_locked, case when t.analyzetime is null then null when bitand(m.flags, 1) = 1 or \
    m.inserts + m.updates + m.deletes > t.rowcnt * to_number(nvl(p.valchar, nvl((select g.valchar from \
    optstat_user_prefs$ g where g.obj# = 0 and g.pname = 'STALE_PERCENT'), '10'))) / 100 then 'YES' else 'NO' end \
    stale_stats, cast(null as varchar2(25)) notes, 'SHARED' scope from tab$ t, obj$ o, user$ u, mon_mods_all$ m, (select \
    q.obj#, q.valchar from optstat_user_prefs$ q where q.pname = 'STALE_PERCENT') p where o.obj# = t.obj# and u.user# = \
    o.owner# and m.obj# (+) = t.obj# and p.obj# (+) = t.obj#{filter} union all select {owner}o.name, x.name, \
    row_number() over (partition by x.bo# order by decode(b.parttype, 1, x.bhiboundval, null), x.part#), null, null, \
    'PARTITION', x.rowcnt, x.blkcnt, 0, 0, 0, x.avgrln, 0, 0, null, null, null, null, null, null, x.samplesize, \
    x.analyzetime, nvl2(x.analyzetime, 'YES', 'NO'), 'NO', cast(decode(bitand(t.statflags, 1), 1, 'ALL') as \
    varchar2(5)), null, null, 'SHARED' from tabpart$ x, partobj$ b, tab$ t, obj$ o, user$ u where b.obj# = x.bo# and \
    t.obj# = x.bo# and o.obj# = x.bo# and u.user# = o.owner#{filter}{own}";

/// Dictionary and fixed tables with statistics, for DBA_TAB_STATISTICS. Their staleness is not known.
pub(crate) const OWN_TAB_STATISTICS: &str = " union all select 'SYS', t.name, null, null, null, null, case when \
    regexp_like(t.name, '^[VX]\\$') then 'FIXED TABLE' else 'TABLE' end, t.rowcnt, t.blkcnt, 0, 0, 0, t.avgrln, 0, 0, \
    null, null, null, null, null, null, t.samplesize, t.analyzetime, 'YES', 'NO', null, null, null, 'SHARED' from \
    tab_stats$ t";

pub(crate) const IND_STATISTICS: &str = "select {owner}o.name index_name, tu.name table_owner, b.name table_name, \
    cast(null as varchar2(128)) partition_name, cast(null as number) partition_position, cast(null as varchar2(128)) \
    subpartition_name, cast(null as number) subpartition_position, 'INDEX' object_type, i.blevel blevel, i.leafcnt \
    leaf_blocks, i.distkey distinct_keys, i.lblkkey avg_leaf_blocks_per_key, i.dblkkey avg_data_blocks_per_key, i.clufac \
    clustering_factor, i.rowcnt num_rows, cast(null as number) avg_cached_blocks, cast(null as number) \
    avg_cache_hit_ratio, i.samplesize sample_size, i.analyzetime last_analyzed, nvl2(i.analyzetime, 'YES', 'NO') \
    global_stats, decode(bitand(i.statflags, 256), 256, 'YES', 'NO') user_stats, cast(decode(bitand(t.statflags, 1), 1, \
    'ALL') as varchar2(5)) stattype_locked, case when i.analyzetime is null then null when bitand(m.flags, 1) = 1 or \
    m.inserts + m.updates + m.deletes > t.rowcnt * to_number(nvl(p.valchar, nvl((select g.valchar from \
    optstat_user_prefs$ g where g.obj# = 0 and g.pname = 'STALE_PERCENT'), '10'))) / 100 then 'YES' else 'NO' end \
    stale_stats, 'SHARED' scope from ind$ i, obj$ o, user$ u, obj$ b, user$ tu, tab$ t, mon_mods_all$ m, (select q.obj#, \
    q.valchar from optstat_user_prefs$ q where q.pname = 'STALE_PERCENT') p where o.obj# = i.obj# and u.user# = o.owner# \
    and b.obj# = i.bo# and tu.user# = b.owner# and t.obj# (+) = i.bo# and m.obj# (+) = i.bo# and p.obj# (+) = \
    i.bo# and o.type# <> 40{filter}";

/// Changes counted since the last flush of the monitoring information are not included.
pub(crate) const TAB_MODIFICATIONS: &str = "select {modified_owner}o.name table_name, cast(null as varchar2(128)) \
    partition_name, cast(null as varchar2(128)) subpartition_name, m.inserts inserts, m.updates updates, m.deletes \
    deletes, m.timestamp timestamp, decode(bitand(m.flags, 1), 1, 'YES', 'NO') truncated, 0 drop_segments from \
    mon_mods_all$ m, obj$ o, user$ u where o.obj# = m.obj# and u.user# = o.owner#{filter}";

pub(crate) const STAT_EXTENSIONS: &str = "select {owner}o.name table_name, x.name extension_name, to_clob((select '(' || \
    listagg('\"' || c.name || '\"', ',') within group (order by instr(',' || x.columns || ',', ',' || c.col# || ',')) || \
    ')' from col$ c where c.obj# = x.obj# and instr(',' || x.columns || ',', ',' || c.col# || ',') > 0)) extension, \
    x.creator creator, 'YES' droppable from stats_extension$ x, obj$ o, user$ u where o.obj# = x.obj# and u.user# = \
    o.owner#{filter}";

pub(crate) const TAB_STAT_PREFS: &str = "select {owner}o.name table_name, p.pname preference_name, p.valchar \
    preference_value from optstat_user_prefs$ p, obj$ o, user$ u where p.obj# <> 0 and o.obj# = p.obj# and u.user# = \
    o.owner#{filter}";

pub(crate) const TAB_STATS_HISTORY: &str = "select {owner}o.name table_name, cast(null as varchar2(128)) partition_name, \
    cast(null as varchar2(128)) subpartition_name, cast(h.savtime as timestamp(6) with time zone) stats_update_time from \
    wri$_optstat_tab_history h, obj$ o, user$ u where o.obj# = h.obj# and u.user# = o.owner#{filter}";
