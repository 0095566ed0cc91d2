//! Families of catalog views: USER_, ALL_ and DBA_ views of one query.

use crate::{object_views, statistics_views};

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

pub(crate) const FAMILIES: &[Family] = &[
    Family { name: "OBJECTS", query: object_views::OBJECTS, owner: "owner", object: "o.obj#", members: EVERY },
    Family { name: "TABLES", query: object_views::TABLES, owner: "owner", object: "o.obj#", members: EVERY },
    Family { name: "TAB_COLUMNS", query: object_views::TAB_COLUMNS, owner: "owner", object: "o.obj#", members: EVERY },
    Family {
        name: "TAB_COL_STATISTICS",
        query: statistics_views::TAB_COL_STATISTICS,
        owner: "owner",
        object: "o.obj#",
        members: EVERY,
    },
    Family {
        name: "DEPENDENCIES",
        query: object_views::DEPENDENCIES,
        owner: "owner",
        object: "o.obj#",
        members: EVERY,
    },
    Family {
        name: "CATALOG",
        query: "select {owner}o.name table_name, m.name table_type from obj$ o, user$ u, object_type_map m \
            where o.type# in (2, 4, 5, 6) and u.user# = o.owner# and m.type# = o.type#{filter}",
        owner: "owner",
        object: "o.obj#",
        members: EVERY,
    },
    Family {
        name: "UPDATABLE_COLUMNS",
        query: "select {owner}o.name table_name, c.name column_name, \
            decode(o.type#, 4, nvl(k.updatable, 'NO'), nvl2(c.virtual$, 'NO', 'YES')) updatable, \
            decode(o.type#, 4, nvl(k.insertable, 'NO'), nvl2(c.virtual$, 'NO', 'YES')) insertable, \
            decode(o.type#, 4, nvl(k.deletable, 'NO'), nvl2(c.virtual$, 'NO', 'YES')) deletable \
            from col$ c, obj$ o, user$ u, x$kkvcol k where o.obj# = c.obj# and o.type# in (2, 4) and u.user# = o.owner# \
            and bitand(c.property, 3) = 0 and k.obj# (+) = c.obj# and k.name (+) = c.name{filter}",
        owner: "owner",
        object: "o.obj#",
        members: EVERY,
    },
    Family { name: "TAB_COLS", query: object_views::TAB_COLS, owner: "owner", object: "o.obj#", members: EVERY },
    Family { name: "INDEXES", query: object_views::INDEXES, owner: "owner", object: "i.bo#", members: EVERY },
    Family { name: "IND_COLUMNS", query: object_views::IND_COLUMNS, owner: "", object: "ic.bo#", members: EVERY },
    Family {
        name: "IND_EXPRESSIONS",
        query: object_views::IND_EXPRESSIONS,
        owner: "",
        object: "ic.bo#",
        members: EVERY,
    },
    Family { name: "CONSTRAINTS", query: object_views::CONSTRAINTS, owner: "", object: "o.obj#", members: EVERY },
    Family {
        name: "CONS_COLUMNS",
        query: "select u.name owner, n.name constraint_name, o.name table_name, c.name column_name, \
            decode(d.type#, 1, null, 7, null, cc.pos#) position \
            from ccol$ cc, con$ n, cdef$ d, obj$ o, col$ c, user$ u where n.con# = cc.con# and d.con# = cc.con# and o.obj# = cc.obj# \
            and c.obj# = cc.obj# and c.col# = cc.col# and u.user# = n.owner#{filter}",
        owner: "",
        object: "o.obj#",
        members: EVERY,
    },
    Family { name: "VIEWS", query: object_views::VIEWS, owner: "owner", object: "o.obj#", members: EVERY },
    Family { name: "SEQUENCES", query: object_views::SEQUENCES, owner: "", object: "o.obj#", members: EVERY },
    Family { name: "SOURCE", query: object_views::SOURCE, owner: "owner", object: "o.obj#", members: EVERY },
    Family { name: "PROCEDURES", query: object_views::PROCEDURES, owner: "owner", object: "o.obj#", members: EVERY },
    Family {
        name: "ARGUMENTS",
        query: "select {owner}k.name object_name, decode(o.type#, 9, o.name, null) package_name, o.obj# object_id, \
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
        owner: "owner",
        object: "o.obj#",
        members: EVERY,
    },
    Family {
        name: "TYPES",
        query: "select {owner}o.name type_name, cast(null as raw(16)) type_oid, \
                decode(bitand(o.flags, 8), 8, 'OBJECT', 'COLLECTION') typecode, trunc(o.flags / 256) attributes, \
                0 methods, \
            'NO' predefined, 'NO' incomplete, 'YES' final, 'YES' instantiable, 'YES' persistable, \
            cast(null as varchar2(128)) supertype_owner, cast(null as varchar2(128)) supertype_name, \
            cast(null as number) local_attributes, \
            cast(null as number) local_methods, cast(null as raw(16)) typeid from obj$ o, user$ u \
            where o.type# = 13 and u.user# = o.owner#{filter}",
        owner: "owner",
        object: "o.obj#",
        members: EVERY,
    },
    Family {
        name: "LOBS",
        query: "select {owner}o.name table_name, c.name column_name, cast(null as varchar2(128)) segment_name, \
            decode(bitand(t.property, 1), 1, null, ts.name) tablespace_name, cast(null as varchar2(128)) index_name, \
            8192 chunk, \
            cast(null as number) pctversion, cast(null as number) retention, cast(null as number) freepools, \
            'NO' cache, 'YES' logging, \
            'NO' encrypt, 'NO' compression, 'NO' deduplication, 'YES' in_row, \
            decode(c.type#, 113, 'NOT APPLICABLE', 'ENDIAN NEUTRAL') format, 'NO' partitioned, 'NO' securefile, \
            'YES' segment_created \
            from col$ c, tab$ t, obj$ o, user$ u, ts$ ts where c.type# in (112, \
            113) and o.obj# = c.obj# and t.obj# = c.obj# \
            and u.user# = o.owner# and ts.ts# (+) = t.ts#{filter}",
        owner: "owner",
        object: "o.obj#",
        members: EVERY,
    },
    Family {
        name: "TAB_HISTOGRAMS",
        query: statistics_views::HISTOGRAMS,
        owner: "owner",
        object: "o.obj#",
        members: EVERY,
    },
    Family {
        name: "HISTOGRAMS",
        query: statistics_views::HISTOGRAMS,
        owner: "owner",
        object: "o.obj#",
        members: &[User, All],
    },
    Family {
        name: "ERRORS",
        query: "select {owner}o.name name, m.name type, e.sequence# sequence, e.line line, e.position# position, e.text text, \
            'ERROR' attribute, 0 message_number from error$ e, obj$ o, user$ u, object_type_map m \
            where o.obj# = e.obj# and u.user# = o.owner# and m.type# = o.type#{filter}",
        owner: "owner",
        object: "o.obj#",
        members: EVERY,
    },
    Family {
        name: "CLUSTERS",
        query: "select {owner}o.name cluster_name, ts.name tablespace_name, c.pctfree$ pct_free, cast(null as number) pct_used, c.size$ key_size, \
            c.initrans ini_trans, 255 max_trans, decode(c.hashkeys, 0, 'INDEX', 'HASH') cluster_type, \
            decode(c.hashkeys, 0, null, decode(c.hashfunc, null, 'DEFAULT2', 'HASH EXPRESSION')) function, c.hashkeys hashkeys, \
            lpad('1', 10) degree, lpad('1', 10) instances, '    N' cache, 'DEFAULT' buffer_pool, \
            decode(c.flags, 1, '    Y', '    N') single_table, 'DISABLED' dependencies \
            from clu$ c, obj$ o, user$ u, ts$ ts where o.obj# = c.obj# and u.user# = o.owner# and ts.ts# (+) = c.ts#{filter}",
        owner: "owner",
        object: "o.obj#",
        members: EVERY,
    },
    Family {
        name: "SYNONYMS",
        query: "select {owner}o.name synonym_name, s.owner table_owner, s.name table_name, s.node db_link, 0 origin_con_id \
            from syn$ s, obj$ o, user$ u where o.obj# = s.obj# and u.user# = o.owner#{filter}",
        owner: "owner",
        object: "o.obj#",
        members: EVERY,
    },
    Family {
        name: "TAB_COMMENTS",
        query: "select {owner}o.name table_name, decode(o.type#, 4, 'VIEW', 'TABLE') table_type, c.comment$ comments, 0 origin_con_id \
            from obj$ o, user$ u, com$ c where o.type# in (2, 4) and o.obj# >= 20000 and u.user# = o.owner# and c.obj# (+) = o.obj# \
            and c.col# (+) = 0{filter}",
        owner: "owner",
        object: "o.obj#",
        members: EVERY,
    },
    Family {
        name: "COL_COMMENTS",
        query: "select {owner}o.name table_name, c.name column_name, m.comment$ comments, 0 origin_con_id \
            from obj$ o, user$ u, col$ c, com$ m where o.type# in (2, 4) and u.user# = o.owner# and c.obj# = o.obj# \
            and m.obj# (+) = c.obj# and m.col# (+) = c.col#{filter}",
        owner: "owner",
        object: "o.obj#",
        members: EVERY,
    },
    Family { name: "TRIGGERS", query: object_views::TRIGGERS, owner: "owner", object: "o.obj#", members: EVERY },
    Family {
        name: "TAB_STATISTICS",
        query: statistics_views::TAB_STATISTICS,
        owner: "owner",
        object: "o.obj#",
        members: EVERY,
    },
    Family {
        name: "TAB_IDENTITY_COLS",
        query: object_views::TAB_IDENTITY_COLS,
        owner: "owner",
        object: "o.obj#",
        members: EVERY,
    },
    Family {
        name: "UNUSED_COL_TABS",
        query: object_views::UNUSED_COL_TABS,
        owner: "owner",
        object: "o.obj#",
        members: EVERY,
    },
    Family {
        name: "IND_STATISTICS",
        query: statistics_views::IND_STATISTICS,
        owner: "owner",
        object: "i.bo#",
        members: EVERY,
    },
    Family {
        name: "TAB_MODIFICATIONS",
        query: statistics_views::TAB_MODIFICATIONS,
        owner: "",
        object: "o.obj#",
        members: EVERY,
    },
    Family {
        name: "STAT_EXTENSIONS",
        query: statistics_views::STAT_EXTENSIONS,
        owner: "owner",
        object: "o.obj#",
        members: EVERY,
    },
    Family {
        name: "TAB_STAT_PREFS",
        query: statistics_views::TAB_STAT_PREFS,
        owner: "owner",
        object: "o.obj#",
        members: EVERY,
    },
    Family {
        name: "TAB_STATS_HISTORY",
        query: statistics_views::TAB_STATS_HISTORY,
        owner: "owner",
        object: "o.obj#",
        members: EVERY,
    },
    Family {
        name: "PLSQL_OBJECT_SETTINGS",
        query: object_views::PLSQL_OBJECT_SETTINGS,
        owner: "owner",
        object: "o.obj#",
        members: EVERY,
    },
];
