//! The queries of views of partitions: all columns of 19c, for `catalog_views`.

pub(crate) const PART_TABLES: &str = "select {owner}o.name table_name, decode(b.parttype, 1, 'RANGE', 2, 'HASH', 4, 'LIST') partitioning_type, 'NONE' \
    subpartitioning_type, nvl2(b.interval_str, 1048575, (select count(*) from tabpart$ n where n.bo# = b.obj#)) \
    partition_count, 0 def_subpartition_count, b.partkeycols partitioning_key_count, 0 subpartitioning_key_count, 'VALID' status, \
    ts.name def_tablespace_name, t.pctfree$ def_pct_free, cast(null as number) def_pct_used, t.initrans \
    def_ini_trans, 255 def_max_trans, cast(null as varchar2(40)) def_initial_extent, cast(null as varchar2(40)) \
    def_next_extent, cast(null as varchar2(40)) def_min_extents, cast(null as varchar2(40)) def_max_extents, \
    cast(null as varchar2(40)) def_max_size, cast(null as varchar2(40)) def_pct_increase, cast(null as number) \
    def_freelists, cast(null as number) def_freelist_groups, 'YES' def_logging, 'NONE' def_compression, \
    cast(null as varchar2(30)) def_compress_for, 'DEFAULT' def_buffer_pool, 'DEFAULT' def_flash_cache, 'DEFAULT' \
    def_cell_flash_cache, cast(null as varchar2(128)) ref_ptn_constraint_name, b.interval_str \
    interval, 'NO' autolist, cast(null as varchar2(1000)) interval_subpartition, 'NO' autolist_subpartition, \
    'NO' is_nested, 'NONE' def_segment_creation, 'ON' def_indexing, 'NONE' def_inmemory, cast(null as \
    varchar2(8)) def_inmemory_priority, cast(null as varchar2(15)) def_inmemory_distribute, cast(null as \
    varchar2(17)) def_inmemory_compression, cast(null as varchar2(13)) def_inmemory_duplicate, 'NO' \
    def_read_only, cast(null as varchar2(24)) def_cellmemory, cast(null as varchar2(12)) def_inmemory_service, \
    cast(null as varchar2(1000)) def_inmemory_service_name from partobj$ b, tab$ t, obj$ o, user$ u, ts$ ts \
    where o.obj# = b.obj# and t.obj# = b.obj# and u.user# = o.owner# and ts.ts# (+) = b.defts#{filter}";

pub(crate) const PART_INDEXES: &str = "select {owner}o.name index_name, x.name table_name, decode(b.parttype, 1, 'RANGE', 2, 'HASH', 4, 'LIST') \
    partitioning_type, 'NONE' subpartitioning_type, nvl2(b.interval_str, 1048575, (select count(*) from tabpart$ n \
    where n.bo# = b.obj#)) partition_count, 0 def_subpartition_count, b.partkeycols partitioning_key_count, 0 \
    subpartitioning_key_count, 'LOCAL' locality, (select decode(count(*), b.partkeycols, 'PREFIXED', \
    'NON_PREFIXED') from icol$ c where c.obj# = i.obj# and c.pos# <= b.partkeycols and c.col# = \
    to_number(substr(b.keycols, 4 * c.pos# - 3, 4))) alignment, cast(null as varchar2(30)) def_tablespace_name, \
    i.pctfree$ def_pct_free, i.initrans def_ini_trans, 255 def_max_trans, cast(null as varchar2(40)) \
    def_initial_extent, cast(null as varchar2(40)) def_next_extent, cast(null as varchar2(40)) def_min_extents, \
    cast(null as varchar2(40)) def_max_extents, cast(null as varchar2(40)) def_max_size, cast(null as \
    varchar2(40)) def_pct_increase, cast(null as number) def_freelists, cast(null as number) \
    def_freelist_groups, 'YES' def_logging, 'DEFAULT' def_buffer_pool, 'DEFAULT' def_flash_cache, 'DEFAULT' \
    def_cell_flash_cache, cast(null as varchar2(1000)) def_parameters, b.interval_str interval, \
    'NO' autolist, cast(null as varchar2(1000)) interval_subpartition, 'NO' autolist_subpartition from ind$ i, \
    partobj$ b, obj$ x, obj$ o, user$ u where bitand(i.property, 64) = 64 and b.obj# = i.bo# and x.obj# = i.bo# \
    and o.obj# = i.obj# and u.user# = o.owner#{filter}";

pub(crate) const PART_KEY_COLUMNS: &str = "select {owner}o.name name, decode(o.type#, 1, 'INDEX', 'TABLE') object_type, c.name column_name, k.n \
    column_position, cast(null as number) collated_column_id from partobj$ b, (select t.obj# obj#, t.obj# bo# \
    from tab$ t where bitand(t.property, 1024) = 1024 union all select i.obj#, i.bo# from ind$ i where \
    bitand(i.property, 64) = 64) z, obj$ o, user$ u, col$ c, (select level n from dual connect by level <= 16) k \
    where b.obj# = z.bo# and o.obj# = z.obj# and u.user# = o.owner# and k.n <= b.partkeycols and c.obj# = z.bo# \
    and c.col# = to_number(substr(b.keycols, 4 * k.n - 3, 4)){filter}";

pub(crate) const TAB_PARTITIONS: &str = "select {owner}o.name table_name, 'NO' composite, p.name partition_name, 0 subpartition_count, p.hiboundval \
    high_value, p.hiboundlen high_value_length, row_number() over (partition by p.bo# order by \
    decode(b.parttype, 1, p.bhiboundval, null), p.part#) partition_position, ts.name tablespace_name, p.pctfree$ \
    pct_free, cast(null as number) pct_used, p.initrans ini_trans, 255 max_trans, 65536 initial_extent, 1048576 \
    next_extent, 1 min_extent, 2147483645 max_extent, 2147483645 max_size, cast(null as number) pct_increase, \
    cast(null as number) freelists, cast(null as number) freelist_groups, 'YES' logging, 'DISABLED' compression, \
    cast(null as varchar2(30)) compress_for, p.rowcnt num_rows, p.blkcnt blocks, cast(null as number) \
    empty_blocks, cast(null as number) avg_space, cast(null as number) chain_cnt, p.avgrln avg_row_len, \
    p.samplesize sample_size, p.analyzetime last_analyzed, 'DEFAULT' buffer_pool, 'DEFAULT' flash_cache, \
    'DEFAULT' cell_flash_cache, nvl2(p.analyzetime, 'YES', 'NO') global_stats, 'NO' user_stats, 'NO' is_nested, \
    cast(null as varchar2(128)) parent_table_partition, decode(bitand(p.flags, 1), 1, 'YES', 'NO') interval, 'YES' segment_created, 'ON' indexing, \
    'NO' read_only, 'DISABLED' inmemory, cast(null as varchar2(8)) inmemory_priority, cast(null as varchar2(15)) \
    inmemory_distribute, cast(null as varchar2(17)) inmemory_compression, cast(null as varchar2(13)) \
    inmemory_duplicate, cast(null as varchar2(24)) cellmemory, cast(null as varchar2(12)) inmemory_service, \
    cast(null as varchar2(1000)) inmemory_service_name, 'DISABLED' memoptimize_read, 'DISABLED' \
    memoptimize_write from tabpart$ p, partobj$ b, obj$ o, user$ u, ts$ ts where b.obj# = p.bo# and o.obj# = \
    p.bo# and u.user# = o.owner# and ts.ts# (+) = p.ts#{filter}";

pub(crate) const IND_PARTITIONS: &str = "select {owner}o.name index_name, 'NO' composite, q.name partition_name, 0 subpartition_count, p.hiboundval \
    high_value, p.hiboundlen high_value_length, row_number() over (partition by q.bo# order by \
    decode(b.parttype, 1, p.bhiboundval, null), p.part#) partition_position, decode(bitand(q.flags, 1), 1, \
    'UNUSABLE', 'USABLE') status, ts.name tablespace_name, q.pctfree$ pct_free, q.initrans ini_trans, 255 \
    max_trans, 65536 initial_extent, 1048576 next_extent, 1 min_extent, 2147483645 max_extent, 2147483645 \
    max_size, cast(null as number) pct_increase, cast(null as number) freelists, cast(null as number) \
    freelist_groups, 'YES' logging, 'DISABLED' compression, cast(null as number) blevel, cast(null as number) \
    leaf_blocks, cast(null as number) distinct_keys, cast(null as number) avg_leaf_blocks_per_key, cast(null as \
    number) avg_data_blocks_per_key, cast(null as number) clustering_factor, cast(null as number) num_rows, \
    cast(null as number) sample_size, cast(null as date) last_analyzed, 'DEFAULT' buffer_pool, 'DEFAULT' \
    flash_cache, 'DEFAULT' cell_flash_cache, 'NO' user_stats, cast(null as number) pct_direct_access, 'NO' \
    global_stats, cast(null as varchar2(6)) domidx_opstatus, cast(null as varchar2(1000)) parameters, decode(bitand(p.flags, 1), 1, 'YES', 'NO') \
    interval, 'YES' segment_created, 'NO' orphaned_entries from indpart$ q, tabpart$ p, partobj$ b, obj$ o, \
    user$ u, ts$ ts where p.obj# = q.tabpart# and b.obj# = p.bo# and o.obj# = q.bo# and u.user# = o.owner# and \
    ts.ts# (+) = q.ts#{filter}";
