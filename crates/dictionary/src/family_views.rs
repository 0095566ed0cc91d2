//! Families of catalog views: USER_, ALL_ and DBA_ views of one query.

use crate::{materialized_views, object_views, partition_views, statistics_views, type_views};

/// A family of views. In `query`, `{owner}` is replaced by `u.name owner, ` or nothing, and `{filter}` by the condition
/// that limits the rows; the query must join `user$ u`, and `{object}` is the expression of the object's number.
pub(crate) struct Family {
    pub(crate) name: &'static str,
    pub(crate) query: &'static str,
    /// The name of the OWNER column.
    pub(crate) owner: &'static str,
    /// The expression of the object's number, for ALL_.
    pub(crate) object: &'static str,
    pub(crate) members: &'static [Member],
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Member {
    User,
    All,
    Dba,
}

use Member::*;
const EVERY: &[Member] = &[User, All, Dba];

/// A family with all three members and a column OWNER, over a query of `obj$ o`.
const fn family(name: &'static str, query: &'static str) -> Family {
    Family { name, query, owner: "owner", object: "o.obj#", members: EVERY }
}

pub(crate) const FAMILIES: &[Family] = &[
    family("OBJECTS", object_views::OBJECTS),
    family("TABLES", object_views::TABLES),
    family("TAB_COLUMNS", object_views::TAB_COLUMNS),
    family("TAB_COL_STATISTICS", statistics_views::TAB_COL_STATISTICS),
    family("DEPENDENCIES", object_views::DEPENDENCIES),
    family(
        "CATALOG",
        "select {owner}o.name table_name, m.name table_type from obj$ o, user$ u, object_type_map m \
            where o.type# in (2, 4, 5, 6) and u.user# = o.owner# and m.type# = o.type#{filter}",
    ),
    family(
        "UPDATABLE_COLUMNS",
        "select {owner}o.name table_name, c.name column_name, \
            decode(o.type#, 4, nvl(k.updatable, 'NO'), nvl2(c.virtual$, 'NO', 'YES')) updatable, \
            decode(o.type#, 4, nvl(k.insertable, 'NO'), nvl2(c.virtual$, 'NO', 'YES')) insertable, \
            decode(o.type#, 4, nvl(k.deletable, 'NO'), nvl2(c.virtual$, 'NO', 'YES')) deletable \
            from col$ c, obj$ o, user$ u, x$kkvcol k where o.obj# = c.obj# and o.type# in (2, 4) and u.user# = o.owner# \
            and bitand(c.property, 3) = 0 and k.obj# (+) = c.obj# and k.name (+) = c.name{filter}",
    ),
    family("TAB_COLS", object_views::TAB_COLS),
    Family { object: "i.bo#", ..family("INDEXES", object_views::INDEXES) },
    Family { owner: "", object: "ic.bo#", ..family("IND_COLUMNS", object_views::IND_COLUMNS) },
    Family { owner: "", object: "ic.bo#", ..family("IND_EXPRESSIONS", object_views::IND_EXPRESSIONS) },
    Family { owner: "", ..family("CONSTRAINTS", object_views::CONSTRAINTS) },
    Family {
        owner: "",
        ..family(
            "CONS_COLUMNS",
            "select u.name owner, n.name constraint_name, o.name table_name, c.name column_name, \
            decode(d.type#, 1, null, 7, null, cc.pos#) position \
            from ccol$ cc, con$ n, cdef$ d, obj$ o, col$ c, user$ u where n.con# = cc.con# and d.con# = cc.con# and o.obj# = cc.obj# \
            and c.obj# = cc.obj# and c.col# = cc.col# and u.user# = n.owner#{filter}",
        )
    },
    family(
        "JSON_COLUMNS",
        "select distinct {owner}o.name table_name, 'TABLE' object_type, c.name column_name, 'TEXT' format, \
            decode(c.type#, 112, 'CLOB', 113, 'BLOB', 23, 'RAW', 'VARCHAR2') data_type \
            from ccol$ cc, cdef$ d, obj$ o, col$ c, user$ u where d.con# = cc.con# and d.type# = 1 and o.obj# = cc.obj# \
            and c.obj# = cc.obj# and c.col# = cc.col# and u.user# = o.owner# \
            and regexp_like(d.condition, '(\"' || regexp_replace(c.name, '([^[:alnum:]_ ])', '\\\\\\1') \
            || '\"|(^|[^[:alnum:]_$#\"])' || regexp_replace(c.name, '([^[:alnum:]_ ])', '\\\\\\1') \
            || ')[[:space:]]+is[[:space:]]+json', 'i') \
            and not regexp_like(d.condition, '[[:space:])]or[[:space:](]|(^|[(]|[[:space:])]and)[[:space:]]*not[[:space:](]', \
            'i'){filter}",
    ),
    family("VIEWS", object_views::VIEWS),
    Family { owner: "", ..family("SEQUENCES", object_views::SEQUENCES) },
    family("SOURCE", object_views::SOURCE),
    family("PROCEDURES", object_views::PROCEDURES),
    family(
        "ARGUMENTS",
        "select {owner}k.name object_name, decode(o.type#, 9, o.name, null) package_name, o.obj# object_id, \
                k.overload overload, \
            k.subprogram_id subprogram_id, k.argument argument_name, k.position position, k.sequence sequence, \
            0 data_level, \
            k.data_type data_type, k.defaulted defaulted, cast(null as varchar2(4000)) default_value, \
            cast(null as number) default_length, \
            k.in_out in_out, cast(null as number) data_length, cast(null as number) data_precision, \
            cast(null as number) data_scale, \
            cast(null as number) radix, cast(null as varchar2(44)) character_set_name, \
            cast(null as varchar2(128)) type_owner, \
            k.type_name type_name, k.type_subname type_subname, cast(null as varchar2(128)) type_link, \
            cast(null as varchar2(7)) type_object_type, k.pls_type pls_type, 0 char_length, '0' char_used, \
            0 origin_con_id \
            from obj$ o, user$ u, x$kkarg k where u.user# = o.owner# and k.obj# = o.obj#{filter}",
    ),
    family("TYPES", type_views::TYPES),
    family("TYPE_ATTRS", type_views::ATTRIBUTES),
    family("TYPE_METHODS", type_views::METHODS),
    family("METHOD_PARAMS", type_views::PARAMETERS),
    family("METHOD_RESULTS", type_views::RESULTS),
    family("COLL_TYPES", type_views::COLLECTIONS),
    family(
        "LOBS",
        "select {owner}o.name table_name, c.name column_name, l.name segment_name, \
            decode(bitand(t.property, 1), 1, null, ts.name) tablespace_name, cast(null as varchar2(128)) index_name, \
            8192 chunk, \
            cast(null as number) pctversion, cast(null as number) retention, cast(null as number) freepools, \
            'NO' cache, 'YES' logging, \
            'NO' encrypt, 'NO' compression, 'NO' deduplication, decode(l.hidden, 1, 'NO', 'YES') in_row, \
            decode(c.type#, 113, 'NOT APPLICABLE', 'ENDIAN NEUTRAL') format, 'NO' partitioned, 'NO' securefile, \
            'YES' segment_created \
            from col$ c, tab$ t, obj$ o, user$ u, ts$ ts, (select i.bo# bo#, ic.col# col#, s.name name, \
            sign(bitand(i.property, 128)) hidden from ind$ i, icol$ ic, obj$ s where i.type# = 8 and ic.obj# = i.obj# \
            and s.obj# = i.obj#) l where c.type# in (112, \
            113) and o.obj# = c.obj# and t.obj# = c.obj# and l.bo# (+) = c.obj# and l.col# (+) = c.col# \
            and u.user# = o.owner# and ts.ts# (+) = t.ts#{filter}",
    ),
    family("TAB_HISTOGRAMS", statistics_views::HISTOGRAMS),
    Family { members: &[User, All], ..family("HISTOGRAMS", statistics_views::HISTOGRAMS) },
    family(
        "ERRORS",
        "select {owner}o.name name, m.name type, e.sequence# sequence, e.line line, e.position# position, e.text text, \
            'ERROR' attribute, 0 message_number from error$ e, obj$ o, user$ u, object_type_map m \
            where o.obj# = e.obj# and u.user# = o.owner# and m.type# = o.type#{filter}",
    ),
    family(
        "CLUSTERS",
        "select {owner}o.name cluster_name, ts.name tablespace_name, c.pctfree$ pct_free, cast(null as number) pct_used, c.size$ key_size, \
            c.initrans ini_trans, 255 max_trans, decode(c.hashkeys, 0, 'INDEX', 'HASH') cluster_type, \
            decode(c.hashkeys, 0, null, decode(c.hashfunc, null, 'DEFAULT2', 'HASH EXPRESSION')) function, c.hashkeys hashkeys, \
            lpad('1', 10) degree, lpad('1', 10) instances, '    N' cache, 'DEFAULT' buffer_pool, \
            decode(c.flags, 1, '    Y', '    N') single_table, 'DISABLED' dependencies \
            from clu$ c, obj$ o, user$ u, ts$ ts where o.obj# = c.obj# and u.user# = o.owner# and ts.ts# (+) = c.ts#{filter}",
    ),
    family(
        "SYNONYMS",
        "select {owner}o.name synonym_name, s.owner table_owner, s.name table_name, s.node db_link, 0 origin_con_id \
            from syn$ s, obj$ o, user$ u where o.obj# = s.obj# and u.user# = o.owner#{filter}",
    ),
    family(
        "TAB_COMMENTS",
        "select {owner}o.name table_name, decode(o.type#, 4, 'VIEW', 'TABLE') table_type, c.comment$ comments, 0 origin_con_id \
            from obj$ o, user$ u, com$ c where o.type# in (2, 4) and o.obj# >= 20000 and u.user# = o.owner# and c.obj# (+) = o.obj# \
            and c.col# (+) = 0{filter}",
    ),
    family(
        "COL_COMMENTS",
        "select {owner}o.name table_name, c.name column_name, m.comment$ comments, 0 origin_con_id \
            from obj$ o, user$ u, col$ c, com$ m where o.type# in (2, 4) and u.user# = o.owner# and c.obj# = o.obj# \
            and m.obj# (+) = c.obj# and m.col# (+) = c.col#{filter}",
    ),
    family("TRIGGERS", object_views::TRIGGERS),
    Family { owner: "", ..family("TRIGGER_COLS", object_views::TRIGGER_COLS) },
    Family { owner: "trigger_owner", ..family("TRIGGER_ORDERING", object_views::TRIGGER_ORDERING) },
    family("TAB_STATISTICS", statistics_views::TAB_STATISTICS),
    family("TAB_IDENTITY_COLS", object_views::TAB_IDENTITY_COLS),
    family("UNUSED_COL_TABS", object_views::UNUSED_COL_TABS),
    Family { object: "i.bo#", ..family("IND_STATISTICS", statistics_views::IND_STATISTICS) },
    Family { owner: "", ..family("TAB_MODIFICATIONS", statistics_views::TAB_MODIFICATIONS) },
    family("STAT_EXTENSIONS", statistics_views::STAT_EXTENSIONS),
    family("TAB_STAT_PREFS", statistics_views::TAB_STAT_PREFS),
    family("TAB_STATS_HISTORY", statistics_views::TAB_STATS_HISTORY),
    family("PLSQL_OBJECT_SETTINGS", object_views::PLSQL_OBJECT_SETTINGS),
    Family { object: "s.tobj#", ..family("MVIEWS", materialized_views::MVIEWS) },
    family("PART_TABLES", partition_views::PART_TABLES),
    Family { object: "i.bo#", ..family("PART_INDEXES", partition_views::PART_INDEXES) },
    Family { object: "z.bo#", ..family("PART_KEY_COLUMNS", partition_views::PART_KEY_COLUMNS) },
    Family { owner: "table_owner", ..family("TAB_PARTITIONS", partition_views::TAB_PARTITIONS) },
    Family { owner: "index_owner", object: "p.bo#", ..family("IND_PARTITIONS", partition_views::IND_PARTITIONS) },
];
