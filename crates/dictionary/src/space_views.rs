//! Catalog views of tablespaces, files, segments and extents, over the `x$` tables of the control file and of segment
//! headers.

/// Name and query.
pub const VIEWS: &[(&str, &str)] = &[
    (
        "DBA_TABLESPACES",
        "select t.name tablespace_name, t.blocksize block_size, \
            decode(c.extent_blocks, 0, 65536, c.extent_blocks * t.blocksize) initial_extent, \
            decode(c.extent_blocks, 0, null, c.extent_blocks * t.blocksize) next_extent, 1 min_extents, \
            2147483645 max_extents, 2147483645 max_size, decode(c.extent_blocks, 0, null, 0) pct_increase, \
            decode(c.extent_blocks, 0, 65536, c.extent_blocks * t.blocksize) min_extlen, c.status status, c.contents contents, \
            c.logging logging, 'NO' force_logging, 'LOCAL' extent_management, \
            decode(c.extent_blocks, 0, 'SYSTEM', 'UNIFORM') allocation_type, 'NO' plugged_in, \
            decode(c.contents, 'PERMANENT', 'AUTO', 'MANUAL') segment_space_management, 'DISABLED' def_tab_compression, \
            c.retention retention, c.bigfile bigfile, 'HOST' predicate_evaluation, \
            'NO' encrypted, cast(null as varchar2(30)) compress_for from ts$ t, x$kccts c where c.ts# = t.ts#",
    ),
    (
        "USER_TABLESPACES",
        "select t.name tablespace_name, t.blocksize block_size, \
            decode(c.extent_blocks, 0, 65536, c.extent_blocks * t.blocksize) initial_extent, \
            decode(c.extent_blocks, 0, null, c.extent_blocks * t.blocksize) next_extent, 1 min_extents, \
            2147483645 max_extents, c.status status, c.contents contents, c.logging logging, 'LOCAL' extent_management, \
            decode(c.extent_blocks, 0, 'SYSTEM', 'UNIFORM') allocation_type, \
            decode(c.contents, 'PERMANENT', 'AUTO', 'MANUAL') segment_space_management, c.bigfile bigfile \
            from ts$ t, x$kccts c where c.ts# = t.ts#",
    ),
    (
        "DBA_DATA_FILES",
        "select f.name file_name, f.file# file_id, f.tablespace_name tablespace_name, f.bytes bytes, f.blocks blocks, \
            'AVAILABLE' status, f.rfile# relative_fno, f.autoextensible autoextensible, f.maxbytes maxbytes, f.maxblocks maxblocks, \
            f.increment_by increment_by, f.user_bytes user_bytes, f.user_blocks user_blocks, f.online_status online_status \
            from x$kccfe f where f.contents <> 'TEMPORARY'",
    ),
    (
        "DBA_TEMP_FILES",
        "select f.name file_name, f.file# file_id, f.tablespace_name tablespace_name, f.bytes bytes, f.blocks blocks, \
            'ONLINE' status, f.rfile# relative_fno, f.autoextensible autoextensible, f.maxbytes maxbytes, f.maxblocks maxblocks, \
            f.increment_by increment_by, f.user_bytes user_bytes, f.user_blocks user_blocks \
            from x$kccfe f where f.contents = 'TEMPORARY'",
    ),
    (
        "DBA_FREE_SPACE",
        "select f.tablespace_name tablespace_name, f.file# file_id, f.block# block_id, f.bytes bytes, f.blocks blocks, \
            f.rfile# relative_fno from x$ktfbfe f",
    ),
    (
        "USER_FREE_SPACE",
        "select f.tablespace_name tablespace_name, f.file# file_id, f.block# block_id, f.bytes bytes, f.blocks blocks, \
            f.rfile# relative_fno from x$ktfbfe f where uid = 0 or f.ts# in (select q.ts# from tsq$ q where q.user# = uid) \
            or exists (select null from sysauth$ a where a.privilege# = -15 and (a.grantee# = uid \
            or a.grantee# in (select r.privilege# from sysauth$ r where r.privilege# > 0 and r.grantee# in (uid, 1))))",
    ),
    (
        "DBA_SEGMENTS",
        "select u.name owner, o.name segment_name, o.subname partition_name, decode(o.type#, 40, 'LOBSEGMENT', m.name) segment_type, \
            decode(x.obj#, 0, null, 'ASSM') segment_subtype, x.ts# tablespace_id, ts.name tablespace_name, x.file# header_file, \
            x.block# header_block, x.bytes bytes, x.blocks blocks, x.extents extents, 65536 initial_extent, 1048576 next_extent, \
            1 min_extents, 2147483645 max_extents, 2147483645 max_size, cast(null as varchar2(11)) retention, cast(null as number) minretention, cast(null as number) pct_increase, \
            cast(null as number) freelists, cast(null as number) freelist_groups, x.rfile# relative_fno, 'DEFAULT' buffer_pool, x.obj# object_id \
            from x$ktseg x, obj$ o, user$ u, ts$ ts, object_type_map m \
            where o.obj# = x.obj# and u.user# = o.owner# and ts.ts# = x.ts# and m.type# = o.type# \
            union all select 'SYS', x.name, null, 'TYPE2 UNDO', null, x.ts#, ts.name, x.file#, x.block#, x.bytes, x.blocks, x.extents, \
            65536, 1048576, 1, 2147483645, 2147483645, null, null, null, null, null, x.rfile#, 'DEFAULT', null \
            from x$ktseg x, ts$ ts where x.obj# = 0 and ts.ts# = x.ts#",
    ),
    (
        "USER_SEGMENTS",
        "select o.name segment_name, o.subname partition_name, decode(o.type#, 40, 'LOBSEGMENT', m.name) segment_type, \
            decode(x.obj#, 0, null, 'ASSM') segment_subtype, x.ts# tablespace_id, ts.name tablespace_name, x.file# header_file, \
            x.block# header_block, x.bytes bytes, x.blocks blocks, x.extents extents, 65536 initial_extent, 1048576 next_extent, \
            1 min_extents, 2147483645 max_extents, 2147483645 max_size, cast(null as varchar2(11)) retention, cast(null as number) minretention, cast(null as number) pct_increase, \
            cast(null as number) freelists, cast(null as number) freelist_groups, x.rfile# relative_fno, 'DEFAULT' buffer_pool, x.obj# object_id \
            from x$ktseg x, obj$ o, ts$ ts, object_type_map m \
            where o.obj# = x.obj# and o.owner# = uid and ts.ts# = x.ts# and m.type# = o.type#",
    ),
    (
        "DBA_EXTENTS",
        "select u.name owner, o.name segment_name, o.subname partition_name, decode(o.type#, 40, 'LOBSEGMENT', m.name) segment_type, ts.name tablespace_name, \
            x.extent_id extent_id, x.file# file_id, x.block# block_id, x.bytes bytes, x.blocks blocks, x.rfile# relative_fno \
            from x$ktext x, obj$ o, user$ u, ts$ ts, object_type_map m \
            where o.obj# = x.obj# and u.user# = o.owner# and ts.ts# = x.ts# and m.type# = o.type# \
            union all select 'SYS', x.name, null, 'TYPE2 UNDO', ts.name, x.extent_id, x.file#, x.block#, x.bytes, x.blocks, x.rfile# \
            from x$ktext x, ts$ ts where x.obj# = 0 and ts.ts# = x.ts#",
    ),
    (
        "USER_EXTENTS",
        "select o.name segment_name, o.subname partition_name, decode(o.type#, 40, 'LOBSEGMENT', m.name) segment_type, ts.name tablespace_name, x.extent_id extent_id, \
            x.bytes bytes, x.blocks blocks from x$ktext x, obj$ o, ts$ ts, object_type_map m \
            where o.obj# = x.obj# and o.owner# = uid and ts.ts# = x.ts# and m.type# = o.type#",
    ),
    (
        "DBA_TS_QUOTAS",
        "select t.name tablespace_name, u.name username, nvl(g.blocks, 0) * t.blocksize bytes, \
            decode(q.maxblocks, -1, -1, q.maxblocks * t.blocksize) max_bytes, nvl(g.blocks, 0) blocks, q.maxblocks max_blocks, \
            'NO' dropped from tsq$ q, user$ u, ts$ t, (select o.owner# owner#, x.ts# ts#, sum(x.blocks) blocks \
            from x$ktseg x, obj$ o where o.obj# = x.obj# group by o.owner#, x.ts#) g \
            where u.user# = q.user# and t.ts# = q.ts# and g.owner# (+) = q.user# and g.ts# (+) = q.ts#",
    ),
    (
        "USER_TS_QUOTAS",
        "select t.name tablespace_name, nvl(g.blocks, 0) * t.blocksize bytes, \
            decode(q.maxblocks, -1, -1, q.maxblocks * t.blocksize) max_bytes, nvl(g.blocks, 0) blocks, q.maxblocks max_blocks, \
            'NO' dropped from tsq$ q, ts$ t, (select o.owner# owner#, x.ts# ts#, sum(x.blocks) blocks \
            from x$ktseg x, obj$ o where o.obj# = x.obj# group by o.owner#, x.ts#) g \
            where q.user# = uid and t.ts# = q.ts# and g.owner# (+) = q.user# and g.ts# (+) = q.ts#",
    ),
];
