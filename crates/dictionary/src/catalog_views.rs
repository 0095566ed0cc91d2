//! USER_, ALL_ and DBA_ views, as SQL over the base tables.
//!
//! Each family is one query with placeholders for its filter and its first column: USER_ views show the objects of the
//! session's user and have no OWNER, ALL_ views the visible objects, DBA_ views all objects. The texts are parsed when
//! a view is first used.

use crate::{object_views, statistics_views};
use std::sync::OnceLock;

/// The first object number of catalog views.
pub const CATALOG_FIRST_OBJECT: u32 = 2_000;

/// A family of views. In `query`, `{owner}` is replaced by `u.name owner, ` or nothing, and `{filter}` by the condition
/// that limits the rows; the query must join `user$ u`, and `{object}` is the expression of the object's number.
struct Family {
    name: &'static str,
    query: &'static str,
    /// The name of the OWNER column.
    owner: &'static str,
    /// The expression of the object's number, for ALL_.
    object: &'static str,
    members: &'static [Member],
}

#[derive(Clone, Copy, PartialEq)]
enum Member {
    User,
    All,
    Dba,
}

use Member::*;
const EVERY: &[Member] = &[User, All, Dba];

/// The type's name in DATA_TYPE.
const DATA_TYPE: &str = "decode(c.type#, 1, decode(c.charsetform, 2, 'NVARCHAR2', 'VARCHAR2'), 2, decode(c.scale, -127, 'FLOAT', 'NUMBER'), \
    8, 'LONG', 12, 'DATE', 23, 'RAW', 24, 'LONG RAW', 69, 'ROWID', 96, decode(c.charsetform, 2, 'NCHAR', 'CHAR'), 100, 'BINARY_FLOAT', \
    101, 'BINARY_DOUBLE', 112, decode(c.charsetform, 2, 'NCLOB', 'CLOB'), 121, (select y.name from obj$ y where y.obj# = c.precision#), 113, 'BLOB', 114, 'BFILE', 180, 'TIMESTAMP(' || c.scale || ')', \
    181, 'TIMESTAMP(' || c.scale || ') WITH TIME ZONE', 231, 'TIMESTAMP(' || c.scale || ') WITH LOCAL TIME ZONE', \
    182, 'INTERVAL YEAR(' || c.precision# || ') TO MONTH', \
    183, 'INTERVAL DAY(' || c.precision# || ') TO SECOND(' || c.scale || ')', 208, 'UROWID', 252, 'BOOLEAN', 'UNDEFINED')";

const FAMILIES: &[Family] = &[
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

/// Times are stored in seconds and shown in days.
const PROFILES: &str = "select n.name profile, m.name resource_name, decode(p.type#, 0, 'KERNEL', 'PASSWORD') resource_type, \
    decode(p.limit#, -1, 'DEFAULT', 2147483647, decode(m.name, 'PASSWORD_VERIFY_FUNCTION', 'NULL', 'PASSWORD_ROLLOVER_TIME', '0', 'UNLIMITED'), \
    decode(p.type# * 10 + p.resource#, 11, to_char(trunc(p.limit# / 86400, 4)), 12, to_char(trunc(p.limit# / 86400, 4)), \
    14, nvl(p.function, nvl((select f.name from obj$ f where f.obj# = p.limit#), to_char(p.limit#))), \
    15, to_char(trunc(p.limit# / 86400, 4)), 16, to_char(trunc(p.limit# / 86400, 4)), 17, to_char(trunc(p.limit# / 86400, 4)), \
    to_char(p.limit#))) limit, 'NO' common, 'NO' inherited, 'NO' implicit \
    from profile$ p, profname$ n, resource_map m where n.profile# = p.profile# and m.resource# = p.resource# and m.type# = p.type#";

/// Views of the audit trail and of the audit settings.
const AUDIT: &[(&str, &str)] = &[
    (
        "UNIFIED_AUDIT_TRAIL",
        "select 'Standard' audit_type, a.sessionid sessionid, a.os_username os_username, a.userhost userhost, a.terminal terminal, \
            1 instance_id, a.authentication authentication_type, a.dbusername dbusername, a.client_program_name client_program_name, \
            a.entryid entry_id, a.event_timestamp event_timestamp, a.action_name action_name, a.return_code return_code, \
            a.os_process os_process, a.object_schema object_schema, a.object_name object_name, a.sql_text sql_text, \
            a.current_user current_user, a.privilege system_privilege_used, a.policies unified_audit_policies, a.info additional_info, \
            a.sid sid, a.dbproxy_username dbproxy_username from aud$ a",
    ),
    ("DBA_AUDIT_TRAIL", AUDIT_TRAIL),
    ("DBA_AUDIT_SESSION", AUDIT_SESSION),
    (
        "DBA_AUDIT_MGMT_LAST_ARCH_TS",
        "select decode(d.audit_trail_type#, 1, 'STANDARD AUDIT TRAIL', 3, 'STANDARD AND FGA AUDIT TRAIL', \
            15, 'ALL AUDIT TRAILS', 'UNIFIED AUDIT TRAIL') audit_trail, 0 rac_instance, \
            d.last_archive_timestamp last_archive_ts from dam_last_arch_ts$ d",
    ),
    ("USER_AUDIT_TRAIL", "select * from dba_audit_trail where username = user"),
    ("USER_AUDIT_SESSION", "select * from dba_audit_session where username = user"),
    (
        "DBA_STMT_AUDIT_OPTS",
        "select u.name user_name, cast(null as varchar2(128)) proxy_name, o.option$ audit_option, \
            decode(o.success, 1, 'BY ACCESS', 'NOT SET') success, decode(o.failure, 1, 'BY ACCESS', 'NOT SET') failure \
            from audit$ o, user$ u where o.kind = 0 and u.user# (+) = o.user#",
    ),
    (
        "DBA_PRIV_AUDIT_OPTS",
        "select u.name user_name, cast(null as varchar2(128)) proxy_name, o.option$ privilege, \
            decode(o.success, 1, 'BY ACCESS', 'NOT SET') success, decode(o.failure, 1, 'BY ACCESS', 'NOT SET') failure \
            from audit$ o, user$ u where o.kind = 1 and u.user# (+) = o.user#",
    ),
    (
        "DBA_OBJ_AUDIT_OPTS",
        "select u.name owner, o.name object_name, m.name object_type, a.option$ audit_option, \
            decode(a.success, 1, 'A', '-') || '/' || decode(a.failure, 1, 'A', '-') setting \
            from audit$ a, obj$ o, user$ u, object_type_map m where a.kind = 2 and o.obj# = a.obj# and u.user# = o.owner# and m.type# = o.type#",
    ),
    (
        "AUDIT_UNIFIED_POLICIES",
        "select p.name policy_name, 'NONE' audit_condition, 'NONE' condition_eval_opt, o.option$ audit_option, \
            decode(o.kind, 0, 'STANDARD ACTION', 1, 'SYSTEM PRIVILEGE', 'OBJECT ACTION') audit_option_type, \
            nvl(u.name, 'NONE') object_schema, nvl(b.name, 'NONE') object_name, nvl(m.name, 'NONE') object_type, 'NO' common, \
            'NO' inherited, 'NO' audit_only_toplevel, decode(p.builtin, 1, 'YES', 'NO') oracle_supplied \
            from aud_policy$ p, aud_policy_option$ o, obj$ b, user$ u, object_type_map m \
            where o.policy# = p.policy# and b.obj# (+) = o.obj# and u.user# (+) = b.owner# and m.type# (+) = b.type#",
    ),
    (
        "AUDIT_UNIFIED_ENABLED_POLICIES",
        "select p.name policy_name, decode(e.mode$, 2, 'EXCEPT USER', 'BY USER') enabled_option, nvl(u.name, 'ALL USERS') entity_name, \
            'USER' entity_type, decode(e.success, 1, 'YES', 'NO') success, decode(e.failure, 1, 'YES', 'NO') failure \
            from aud_policy$ p, aud_policy_user$ e, user$ u where e.policy# = p.policy# and u.user# (+) = e.user#",
    ),
];

const AUDIT_TRAIL: &str = "select a.os_username os_username, a.dbusername username, a.userhost userhost, a.terminal terminal, \
    cast(a.event_timestamp as date) timestamp, a.object_schema owner, a.object_name obj_name, a.action# action, a.action_name action_name, \
    a.sessionid sessionid, a.entryid entryid, a.return_code returncode, a.privilege priv_used, a.event_timestamp extended_timestamp, \
    a.sql_text sql_text, a.info comment_text from aud$ a";

/// A row for each logon; the figures of the session are in the row of its logoff.
const AUDIT_SESSION: &str = "select a.os_username os_username, a.dbusername username, a.userhost userhost, a.terminal terminal, \
    cast(a.event_timestamp as date) timestamp, nvl2(e.sessionid, 'LOGOFF', 'LOGON') action_name, \
    cast(e.event_timestamp as date) logoff_time, e.logoff_lread logoff_lread, e.logoff_pread logoff_pread, \
    e.logoff_lwrite logoff_lwrite, a.sessionid sessionid, a.return_code returncode, e.session_cpu session_cpu, \
    a.event_timestamp extended_timestamp from aud$ a, aud$ e where a.action# = 100 and e.action# (+) = 101 \
    and e.sessionid (+) = a.sessionid and e.startup (+) = a.startup";

/// Prepared transactions, and those with a forced outcome that are not forgotten.
const TWO_PHASE_PENDING: &str = "select g.k2gteloc local_tran_id, \
    cast(g.k2gtifmt || '.' || g.k2gtitid_ext || '.' || g.k2gtibid as varchar2(300)) global_tran_id, g.k2gtesta state, \
    cast('no' as varchar2(3)) mixed, cast(null as varchar2(1)) advice, cast(null as varchar2(2000)) tran_comment, \
    g.k2gtefai fail_time, g.k2gtefor force_time, cast(null as date) retry_time, cast(null as varchar2(255)) os_user, \
    cast(null as varchar2(255)) os_terminal, cast(null as varchar2(128)) host, u.name db_user, \
    cast(null as varchar2(16)) commit# from x$k2gte g, user$ u where u.user# (+) = g.k2gteusr";

/// Prepared transactions only, in the form that transaction managers read for recovery.
const PENDING_TRANSACTIONS: &str = "select g.k2gtifmt formatid, g.k2gtitid_ext globalid, g.k2gtibid branchid \
    from x$k2gte g where g.k2gtesta = 'prepared'";

/// The editions; the privilege to use them is not shown.
const EDITIONS: &str = "select o.name edition_name, p.name parent_edition_name, 'YES' usable from edition$ e, obj$ o, obj$ p \
    where o.obj# = e.obj# and p.obj# (+) = e.p_obj#";

/// The services of the instance, which are those of the open database.
const SERVICES: &str = "select s.service_id service_id, s.name name, s.name_hash name_hash, s.network_name network_name, \
    s.creation_date creation_date, s.creation_date_hash creation_date_hash, cast(null as varchar2(30)) failover_method, \
    cast(null as varchar2(30)) failover_type, cast(null as number) failover_retries, cast(null as number) failover_delay, \
    0 min_cardinality, 0 max_cardinality, s.goal goal, s.dtp dtp, 'NO' enabled, s.aq_ha_notification aq_ha_notifications, \
    s.clb_goal clb_goal, cast(null as varchar2(128)) edition, s.commit_outcome commit_outcome, \
    cast(null as number) retention_timeout, cast(null as number) replay_initiation_timeout, \
    cast(null as varchar2(30)) session_state_consistency, 'NO' global_service, s.pdb pdb, \
    cast(null as varchar2(30)) sql_translation_profile, cast(null as varchar2(15)) max_lag_time, 'NO' gsm_flags \
    from v$services s";

/// Restricted views other than DBA_ views.
const RESTRICTED: &[&str] =
    &["AUDIT_UNIFIED_ENABLED_POLICIES", "AUDIT_UNIFIED_POLICIES", "PROXY_USERS", "UNIFIED_AUDIT_TRAIL"];

/// True for a view that not every user may read.
pub fn is_restricted(name: &str) -> bool {
    name.starts_with("DBA_") || RESTRICTED.contains(&name)
}

/// Views without a family.
const SINGLE: &[(&str, &str)] = &[
    (
        "DBA_USERS",
        "select u.name username, u.user# user_id, decode(u.spare4, null, null, '********') password, \
            a.status account_status, a.lock_date lock_date, a.expiry_date expiry_date, d.name default_tablespace, \
            t.name temporary_tablespace, u.ctime created, nvl(u.profile, 'DEFAULT') profile, 'DEFAULT_CONSUMER_GROUP' \
            initial_rsrc_consumer_group, cast(null as varchar2(4000)) external_name, \
            decode(substr(u.spare4, 1, 2), null, null, 'T:', '12C', nvl2(nullif(instr(u.spare4, ';T:'), 0), '11G 12C', '11G')) password_versions, 'N' editions_enabled, \
            decode(u.spare4, null, 'NONE', 'PASSWORD') authentication_type, 'NO' proxy_only_connect, 'NO' common, a.last_login last_login, \
            decode(sign(u.user# - 100), -1, 'Y', 'N') oracle_maintained, 'NO' inherited, 'USING_NLS_COMP' default_collation, \
            'NO' implicit, 'NO' all_shard, u.ptime password_change_date \
            from user$ u, ts$ d, ts$ t, x$kzusr a where u.type# = 1 and u.user# <> 1 and a.user# = u.user# and d.ts# (+) = u.datats# and t.ts# (+) = u.tempts#",
    ),
    (
        "ALL_USERS",
        "select u.name username, u.user# user_id, u.ctime created, 'NO' common, decode(sign(u.user# - 100), -1, 'Y', 'N') \
            oracle_maintained, 'NO' inherited, 'USING_NLS_COMP' default_collation, 'NO' implicit, 'NO' all_shard \
            from user$ u where u.type# = 1 and u.user# <> 1",
    ),
    (
        "USER_USERS",
        "select u.name username, u.user# user_id, a.status account_status, a.lock_date lock_date, a.expiry_date expiry_date, d.name default_tablespace, t.name temporary_tablespace, \
            u.ctime created, 'DEFAULT_CONSUMER_GROUP' initial_rsrc_consumer_group, \
            cast(null as varchar2(4000)) external_name, 'NO' proxy_only_connect, 'NO' common, \
            decode(sign(u.user# - 100), -1, 'Y', 'N') oracle_maintained, 'NO' inherited, \
            'USING_NLS_COMP' default_collation, 'NO' implicit, 'NO' all_shard, u.ptime password_change_date \
            from user$ u, ts$ d, ts$ t, x$kzusr a where u.user# = uid and a.user# = u.user# and d.ts# (+) = u.datats# and t.ts# (+) = u.tempts#",
    ),
    ("DBA_PROFILES", PROFILES),
    (
        "USER_PASSWORD_LIMITS",
        "select p.resource_name resource_name, p.limit limit from (select q.*, row_number() over (partition by q.resource_name order by \
            decode(q.profile, 'DEFAULT', 1, 0)) rank from dba_profiles q where q.resource_type = 'PASSWORD' and q.limit <> 'DEFAULT' \
            and q.profile in ('DEFAULT', (select nvl(u.profile, 'DEFAULT') from user$ u where u.user# = uid))) p where p.rank = 1",
    ),
    (
        "USER_RESOURCE_LIMITS",
        "select p.resource_name resource_name, p.limit limit from (select q.*, row_number() over (partition by q.resource_name order by \
            decode(q.profile, 'DEFAULT', 1, 0)) rank from dba_profiles q where q.resource_type = 'KERNEL' and q.limit <> 'DEFAULT' \
            and q.profile in ('DEFAULT', (select nvl(u.profile, 'DEFAULT') from user$ u where u.user# = uid))) p where p.rank = 1",
    ),
    (
        "DBA_ROLES",
        "select u.name role, u.user# role_id, decode(u.spare4, null, 'NO', 'YES') password_required, \
            decode(u.spare4, null, 'NONE', decode(substr(u.spare4, 1, 6), 'USING ', 'APPLICATION', \
            'PASSWORD')) authentication_type \
            from user$ u where u.type# = 0",
    ),
    (
        "DBA_SYS_PRIVS",
        "select u.name grantee, m.name privilege, decode(a.option$, 1, 'YES', 'NO') admin_option, 'NO' common \
            from sysauth$ a, user$ u, system_privilege_map m where u.user# = a.grantee# and m.privilege = a.privilege#",
    ),
    (
        "USER_SYS_PRIVS",
        "select u.name username, m.name privilege, decode(a.option$, 1, 'YES', 'NO') admin_option, 'NO' common \
            from sysauth$ a, user$ u, system_privilege_map m where u.user# = a.grantee# and m.privilege = a.privilege# \
            and a.grantee# in (uid, 1)",
    ),
    (
        "SESSION_PRIVS",
        "select m.name privilege from system_privilege_map m where uid = 0 or m.privilege in (select a.privilege# from sysauth$ a \
            where a.grantee# in (uid, 1) or a.grantee# in (select e.user# from user$ e where e.type# = 0 \
            and sys_context('SYS_SESSION_ROLES', e.name) = 'TRUE'))",
    ),
    (
        "SESSION_ROLES",
        "select u.name role from user$ u where u.type# = 0 and sys_context('SYS_SESSION_ROLES', u.name) = 'TRUE'",
    ),
    (
        "DBA_ROLE_PRIVS",
        "select u.name grantee, r.name granted_role, decode(a.option$, 1, 'YES', 'NO') admin_option, 'NO' delegate_option, \
            case when nvl(u.defrole, 1) = 1 or u.type# = 0 then 'YES' when u.defrole = 0 then 'NO' when exists (select null from defrole$ d \
            where d.user# = u.user# and d.role# = r.user#) then decode(u.defrole, 2, 'YES', 'NO') else decode(u.defrole, 3, 'YES', 'NO') end \
            default_role, 'NO' common from sysauth$ a, user$ u, user$ r where u.user# = a.grantee# and r.user# = a.privilege#",
    ),
    (
        "USER_ROLE_PRIVS",
        "select u.name username, r.name granted_role, decode(a.option$, 1, 'YES', 'NO') admin_option, 'NO' delegate_option, \
            case when nvl(u.defrole, 1) = 1 then 'YES' when u.defrole = 0 then 'NO' when exists (select null from defrole$ d \
            where d.user# = u.user# and d.role# = r.user#) then decode(u.defrole, 2, 'YES', 'NO') else decode(u.defrole, 3, 'YES', 'NO') end \
            default_role, 'NO' os_granted, 'NO' common from sysauth$ a, user$ u, user$ r \
            where u.user# = a.grantee# and r.user# = a.privilege# and a.grantee# in (uid, 1)",
    ),
    (
        "DBA_TAB_PRIVS",
        "select e.name grantee, u.name owner, o.name table_name, r.name grantor, m.name privilege, \
            decode(a.option$, 1, 'YES', 'NO') grantable, 'NO' hierarchy, 'NO' common, t.name type \
            from objauth$ a, obj$ o, user$ u, user$ e, user$ r, table_privilege_map m, object_type_map t \
            where o.obj# = a.obj# and u.user# = o.owner# and e.user# = a.grantee# and r.user# = a.grantor# \
            and m.privilege = a.privilege# and t.type# = o.type# and a.col# is null",
    ),
    (
        "ALL_TAB_PRIVS",
        "select r.name grantor, e.name grantee, u.name table_schema, o.name table_name, m.name privilege, \
            decode(a.option$, 1, 'YES', 'NO') grantable, 'NO' hierarchy, 'NO' common, t.name type \
            from objauth$ a, obj$ o, user$ u, user$ e, user$ r, table_privilege_map m, object_type_map t \
            where o.obj# = a.obj# and u.user# = o.owner# and e.user# = a.grantee# and r.user# = a.grantor# \
            and m.privilege = a.privilege# and t.type# = o.type# and a.col# is null \
            and (uid in (a.grantor#, a.grantee#, o.owner#, 0) or a.grantee# = 1)",
    ),
    (
        "USER_TAB_PRIVS",
        "select e.name grantee, u.name owner, o.name table_name, r.name grantor, m.name privilege, \
            decode(a.option$, 1, 'YES', 'NO') grantable, 'NO' hierarchy, 'NO' common, t.name type \
            from objauth$ a, obj$ o, user$ u, user$ e, user$ r, table_privilege_map m, object_type_map t \
            where o.obj# = a.obj# and u.user# = o.owner# and e.user# = a.grantee# and r.user# = a.grantor# \
            and m.privilege = a.privilege# and t.type# = o.type# and a.col# is null and uid in (a.grantor#, a.grantee#, o.owner#)",
    ),
    (
        "USER_TAB_PRIVS_MADE",
        "select e.name grantee, o.name table_name, r.name grantor, m.name privilege, \
            decode(a.option$, 1, 'YES', 'NO') grantable, 'NO' hierarchy, 'NO' common, t.name type \
            from objauth$ a, obj$ o, user$ u, user$ e, user$ r, table_privilege_map m, object_type_map t \
            where o.obj# = a.obj# and u.user# = o.owner# and e.user# = a.grantee# and r.user# = a.grantor# \
            and m.privilege = a.privilege# and t.type# = o.type# and a.col# is null and o.owner# = uid",
    ),
    (
        "USER_TAB_PRIVS_RECD",
        "select u.name owner, o.name table_name, r.name grantor, m.name privilege, \
            decode(a.option$, 1, 'YES', 'NO') grantable, 'NO' hierarchy, 'NO' common, t.name type \
            from objauth$ a, obj$ o, user$ u, user$ e, user$ r, table_privilege_map m, object_type_map t \
            where o.obj# = a.obj# and u.user# = o.owner# and e.user# = a.grantee# and r.user# = a.grantor# \
            and m.privilege = a.privilege# and t.type# = o.type# and a.col# is null and a.grantee# = uid",
    ),
    (
        "ALL_TAB_PRIVS_MADE",
        "select e.name grantee, u.name owner, o.name table_name, r.name grantor, m.name privilege, \
            decode(a.option$, 1, 'YES', 'NO') grantable, 'NO' hierarchy, 'NO' common, t.name type \
            from objauth$ a, obj$ o, user$ u, user$ e, user$ r, table_privilege_map m, object_type_map t \
            where o.obj# = a.obj# and u.user# = o.owner# and e.user# = a.grantee# and r.user# = a.grantor# \
            and m.privilege = a.privilege# and t.type# = o.type# and a.col# is null and uid in (o.owner#, a.grantor#)",
    ),
    (
        "ALL_TAB_PRIVS_RECD",
        "select e.name grantee, u.name owner, o.name table_name, r.name grantor, m.name privilege, \
            decode(a.option$, 1, 'YES', 'NO') grantable, 'NO' hierarchy, 'NO' common, t.name type \
            from objauth$ a, obj$ o, user$ u, user$ e, user$ r, table_privilege_map m, object_type_map t \
            where o.obj# = a.obj# and u.user# = o.owner# and e.user# = a.grantee# and r.user# = a.grantor# \
            and m.privilege = a.privilege# and t.type# = o.type# and a.col# is null and a.grantee# in (uid, 1)",
    ),
    (
        "DBA_COL_PRIVS",
        "select e.name grantee, u.name owner, o.name table_name, c.name column_name, r.name grantor, m.name privilege, \
            decode(a.option$, 1, 'YES', 'NO') grantable, 'NO' common \
            from objauth$ a, obj$ o, col$ c, user$ u, user$ e, user$ r, table_privilege_map m \
            where o.obj# = a.obj# and c.obj# = a.obj# and c.col# = a.col# and u.user# = o.owner# and e.user# = a.grantee# \
            and r.user# = a.grantor# and m.privilege = a.privilege#",
    ),
    (
        "USER_COL_PRIVS",
        "select e.name grantee, u.name owner, o.name table_name, c.name column_name, r.name grantor, m.name privilege, \
            decode(a.option$, 1, 'YES', 'NO') grantable, 'NO' common \
            from objauth$ a, obj$ o, col$ c, user$ u, user$ e, user$ r, table_privilege_map m \
            where o.obj# = a.obj# and c.obj# = a.obj# and c.col# = a.col# and u.user# = o.owner# and e.user# = a.grantee# \
            and r.user# = a.grantor# and m.privilege = a.privilege# and uid in (a.grantor#, a.grantee#, o.owner#)",
    ),
    (
        "ALL_COL_PRIVS",
        "select r.name grantor, e.name grantee, u.name table_schema, o.name table_name, c.name column_name, m.name privilege, \
            decode(a.option$, 1, 'YES', 'NO') grantable, 'NO' common \
            from objauth$ a, obj$ o, col$ c, user$ u, user$ e, user$ r, table_privilege_map m \
            where o.obj# = a.obj# and c.obj# = a.obj# and c.col# = a.col# and u.user# = o.owner# and e.user# = a.grantee# \
            and r.user# = a.grantor# and m.privilege = a.privilege# and (uid in (a.grantor#, a.grantee#, o.owner#, 0) or a.grantee# = 1)",
    ),
    (
        "USER_COL_PRIVS_MADE",
        "select e.name grantee, o.name table_name, c.name column_name, r.name grantor, m.name privilege, \
            decode(a.option$, 1, 'YES', 'NO') grantable, 'NO' common \
            from objauth$ a, obj$ o, col$ c, user$ u, user$ e, user$ r, table_privilege_map m \
            where o.obj# = a.obj# and c.obj# = a.obj# and c.col# = a.col# and u.user# = o.owner# and e.user# = a.grantee# \
            and r.user# = a.grantor# and m.privilege = a.privilege# and o.owner# = uid",
    ),
    (
        "ALL_COL_PRIVS_MADE",
        "select e.name grantee, u.name owner, o.name table_name, c.name column_name, r.name grantor, m.name privilege, \
            decode(a.option$, 1, 'YES', 'NO') grantable, 'NO' common \
            from objauth$ a, obj$ o, col$ c, user$ u, user$ e, user$ r, table_privilege_map m \
            where o.obj# = a.obj# and c.obj# = a.obj# and c.col# = a.col# and u.user# = o.owner# and e.user# = a.grantee# \
            and r.user# = a.grantor# and m.privilege = a.privilege# and uid in (o.owner#, a.grantor#)",
    ),
    (
        "USER_COL_PRIVS_RECD",
        "select u.name owner, o.name table_name, c.name column_name, r.name grantor, m.name privilege, \
            decode(a.option$, 1, 'YES', 'NO') grantable, 'NO' common \
            from objauth$ a, obj$ o, col$ c, user$ u, user$ e, user$ r, table_privilege_map m \
            where o.obj# = a.obj# and c.obj# = a.obj# and c.col# = a.col# and u.user# = o.owner# and e.user# = a.grantee# \
            and r.user# = a.grantor# and m.privilege = a.privilege# and a.grantee# = uid",
    ),
    (
        "ALL_COL_PRIVS_RECD",
        "select e.name grantee, u.name owner, o.name table_name, c.name column_name, r.name grantor, m.name privilege, \
            decode(a.option$, 1, 'YES', 'NO') grantable, 'NO' common \
            from objauth$ a, obj$ o, col$ c, user$ u, user$ e, user$ r, table_privilege_map m \
            where o.obj# = a.obj# and c.obj# = a.obj# and c.col# = a.col# and u.user# = o.owner# and e.user# = a.grantee# \
            and r.user# = a.grantor# and m.privilege = a.privilege# and a.grantee# in (uid, 1)",
    ),
    (
        "ROLE_TAB_PRIVS",
        "select e.name role, u.name owner, o.name table_name, c.name column_name, m.name privilege, \
            decode(a.option$, 1, 'YES', 'NO') grantable, 'NO' common, 'NO' inherited \
            from objauth$ a, obj$ o, col$ c, user$ u, user$ e, table_privilege_map m where o.obj# = a.obj# and c.obj# (+) = a.obj# \
            and c.col# (+) = a.col# and u.user# = o.owner# and e.user# = a.grantee# and e.type# = 0 and m.privilege = a.privilege# \
            and (uid = 0 or e.user# in \
            (select r.privilege# from sysauth$ r where r.privilege# > 0 start with r.grantee# in (uid, 1) connect by nocycle prior r.privilege# = r.grantee#))",
    ),
    (
        "ROLE_SYS_PRIVS",
        "select e.name role, m.name privilege, decode(a.option$, 1, 'YES', 'NO') admin_option, 'NO' common, 'NO' inherited \
            from sysauth$ a, user$ e, system_privilege_map m where e.user# = a.grantee# and e.type# = 0 and m.privilege = a.privilege# \
            and (uid = 0 or e.user# in \
            (select r.privilege# from sysauth$ r where r.privilege# > 0 start with r.grantee# in (uid, 1) connect by nocycle prior r.privilege# = r.grantee#))",
    ),
    (
        "ROLE_ROLE_PRIVS",
        "select e.name role, g.name granted_role, decode(a.option$, 1, 'YES', 'NO') admin_option, 'NO' common, 'NO' inherited \
            from sysauth$ a, user$ e, user$ g where e.user# = a.grantee# and e.type# = 0 and g.user# = a.privilege# \
            and (uid = 0 or e.user# in \
            (select r.privilege# from sysauth$ r where r.privilege# > 0 start with r.grantee# in (uid, 1) connect by nocycle prior r.privilege# = r.grantee#))",
    ),
    (
        "NLS_INSTANCE_PARAMETERS",
        "select upper(p.name) parameter, p.value value from v$parameter p where p.name like 'nls%'",
    ),
    (
        "DBA_CPOOL_INFO",
        "select c.connection_pool connection_pool, cast(decode(c.status, 1, 'ACTIVE', 'INACTIVE') as varchar2(16)) status, \
            c.minsize minsize, c.maxsize maxsize, c.incrsize incrsize, c.session_cached_cursors session_cached_cursors, \
            c.inactivity_timeout inactivity_timeout, c.max_think_time max_think_time, c.max_use_session max_use_session, \
            c.max_lifetime_session max_lifetime_session, c.num_cbrok num_cbrok, c.maxconn_cbrok maxconn_cbrok, \
            c.max_txn_think_time max_txn_think_time from cpool$ c",
    ),
    (
        "DBA_PROXIES",
        "select p.name proxy, c.name client, decode(i.credential_type#, 0, 'NO', 'YES') authentication, \
            decode(i.flags, 1, 'PROXY MAY ACTIVATE ALL CLIENT ROLES', 2, 'NO CLIENT ROLES MAY BE ACTIVATED', \
            4, 'PROXY MAY ACTIVATE ROLE', 8, 'PROXY MAY NOT ACTIVATE ROLE') authorization_constraint, r.name role, \
            'DATABASE' proxy_authority from proxy_info$ i, user$ p, user$ c, proxy_role_info$ l, user$ r \
            where p.user# = i.proxy# and c.user# = i.client# and l.client# (+) = i.client# and l.proxy# (+) = i.proxy# \
            and r.user# (+) = l.role#",
    ),
    (
        "USER_PROXIES",
        "select c.name client, decode(i.credential_type#, 0, 'NO', 'YES') authentication, \
            decode(i.flags, 1, 'PROXY MAY ACTIVATE ALL CLIENT ROLES', 2, 'NO CLIENT ROLES MAY BE ACTIVATED', \
            4, 'PROXY MAY ACTIVATE ROLE', 8, 'PROXY MAY NOT ACTIVATE ROLE') authorization_constraint, r.name role \
            from proxy_info$ i, user$ c, proxy_role_info$ l, user$ r where i.proxy# = uid and c.user# = i.client# \
            and l.client# (+) = i.client# and l.proxy# (+) = i.proxy# and r.user# (+) = l.role#",
    ),
    (
        "PROXY_USERS",
        "select p.name proxy, c.name client, decode(i.credential_type#, 0, 'NO', 'YES') authentication, \
            decode(i.flags, 1, 'PROXY MAY ACTIVATE ALL CLIENT ROLES', 2, 'NO CLIENT ROLES MAY BE ACTIVATED', \
            4, 'PROXY MAY ACTIVATE ROLE', 8, 'PROXY MAY NOT ACTIVATE ROLE') flags \
            from proxy_info$ i, user$ p, user$ c where p.user# = i.proxy# and c.user# = i.client#",
    ),
    ("DBA_2PC_PENDING", TWO_PHASE_PENDING),
    ("DBA_PENDING_TRANSACTIONS", PENDING_TRANSACTIONS),
    ("DBA_EDITIONS", EDITIONS),
    ("ALL_EDITIONS", EDITIONS),
    ("DBA_SERVICES", SERVICES),
    ("ALL_SERVICES", SERVICES),
    (
        "PRODUCT_COMPONENT_VERSION",
        "select substr(v.banner, 1, instr(v.banner || ' Release', ' Release') - 1) product, i.version version, \
            i.version version_full, cast('Production' as varchar2(64)) status from v$version v, v$instance i where rownum = 1",
    ),
    (
        "V$OPTION",
        "select cast('Partitioning' as varchar2(64)) parameter, cast('FALSE' as varchar2(64)) value, 0 con_id from dual \
            union all select cast('Objects' as varchar2(64)) parameter, cast('FALSE' as varchar2(64)) value, 0 con_id from dual \
            union all select cast('Real Application Clusters' as varchar2(64)) parameter, cast('FALSE' as varchar2(64)) value, 0 con_id from dual \
            union all select cast('Advanced replication' as varchar2(64)) parameter, cast('FALSE' as varchar2(64)) value, 0 con_id from dual \
            union all select cast('Bit-mapped indexes' as varchar2(64)) parameter, cast('FALSE' as varchar2(64)) value, 0 con_id from dual \
            union all select cast('Parallel execution' as varchar2(64)) parameter, cast('FALSE' as varchar2(64)) value, 0 con_id from dual \
            union all select cast('Materialized view rewrite' as varchar2(64)) parameter, cast('FALSE' as varchar2(64)) value, 0 con_id from dual \
            union all select cast('Oracle Data Guard' as varchar2(64)) parameter, cast('FALSE' as varchar2(64)) value, 0 con_id from dual \
            union all select cast('Flashback Table' as varchar2(64)) parameter, cast('FALSE' as varchar2(64)) value, 0 con_id from dual \
            union all select cast('Result Cache' as varchar2(64)) parameter, cast('TRUE' as varchar2(64)) value, 0 con_id from dual \
            union all select cast('Unified Auditing' as varchar2(64)) parameter, cast('FALSE' as varchar2(64)) value, 0 con_id from dual",
    ),
    (
        "DBA_JOBS",
        "select j.job job, j.lowner log_user, j.powner priv_user, j.cowner schema_user, j.last_date last_date, \
            to_char(j.last_date, 'HH24:MI:SS') last_sec, j.this_date this_date, to_char(j.this_date, 'HH24:MI:SS') this_sec, \
            j.next_date next_date, to_char(j.next_date, 'HH24:MI:SS') next_sec, j.total total_time, \
            decode(bitand(j.flag, 1), 1, 'Y', 'N') broken, nvl(j.interval#, 'null') interval, j.failures failures, j.what what, \
            j.nlsenv nls_env, cast(null as raw(32)) misc_env, nvl(j.field1, 0) instance from job$ j",
    ),
    (
        "USER_JOBS",
        "select j.job job, j.lowner log_user, j.powner priv_user, j.cowner schema_user, j.last_date last_date, \
            to_char(j.last_date, 'HH24:MI:SS') last_sec, j.this_date this_date, to_char(j.this_date, 'HH24:MI:SS') this_sec, \
            j.next_date next_date, to_char(j.next_date, 'HH24:MI:SS') next_sec, j.total total_time, \
            decode(bitand(j.flag, 1), 1, 'Y', 'N') broken, nvl(j.interval#, 'null') interval, j.failures failures, j.what what, \
            j.nlsenv nls_env, cast(null as raw(32)) misc_env, nvl(j.field1, 0) instance from job$ j where j.powner = (select u.name from user$ u where u.user# = uid)",
    ),
    (
        "DBA_JOBS_RUNNING",
        // A job that was removed while it runs is still shown as running.
        "select v.sid sid, v.id2 job, j.failures failures, j.last_date last_date, to_char(j.last_date, 'HH24:MI:SS') last_sec, \
            j.this_date this_date, to_char(j.this_date, 'HH24:MI:SS') this_sec, nvl(j.field1, 0) instance from v$lock v, job$ j \
            where v.type = 'JQ' and j.job(+) = v.id2",
    ),
    (
        "DATABASE_PROPERTIES",
        "select p.name property_name, p.value$ property_value, p.comment$ description from x$props p",
    ),
    ("GLOBAL_NAME", "select p.value$ global_name from props$ p where p.name = 'GLOBAL_DB_NAME'"),
    (
        "DBA_DIRECTORIES",
        "select u.name owner, o.name directory_name, d.os_path directory_path from dir$ d, obj$ o, user$ u where o.obj# = d.obj# and u.user# = o.owner#",
    ),
    (
        "ALL_DIRECTORIES",
        "select u.name owner, o.name directory_name, d.os_path directory_path from dir$ d, obj$ o, user$ u where o.obj# = d.obj# \
            and u.user# = o.owner# and (uid = 0 or d.obj# in (select g.obj# from objauth$ g where g.grantee# in (uid, 1) \
            or g.grantee# in (select e.user# from user$ e where e.type# = 0 and sys_context('SYS_SESSION_ROLES', e.name) = 'TRUE')) \
            or exists (select null from sysauth$ a where a.privilege# in (-177, -178) and (a.grantee# in (uid, 1) \
            or a.grantee# in (select e.user# from user$ e where e.type# = 0 and sys_context('SYS_SESSION_ROLES', e.name) = 'TRUE'))))",
    ),
    (
        "ALL_ALL_TABLES",
        "select t.*, cast(null as varchar2(16)) object_id_type, cast(null as varchar2(128)) table_type_owner, \
        cast(null as varchar2(128)) table_type from all_tables t",
    ),
    (
        "DBA_ALL_TABLES",
        "select t.*, cast(null as varchar2(16)) object_id_type, cast(null as varchar2(128)) table_type_owner, \
        cast(null as varchar2(128)) table_type from dba_tables t",
    ),
    (
        "USER_ALL_TABLES",
        "select t.*, cast(null as varchar2(16)) object_id_type, cast(null as varchar2(128)) table_type_owner, \
        cast(null as varchar2(128)) table_type from user_tables t",
    ),
    (
        "DICTIONARY",
        "select o.name table_name, cast(null as varchar2(4000)) comments from obj$ o where o.owner# = 0 and o.type# = 4",
    ),
    (
        "DICT",
        "select o.name table_name, cast(null as varchar2(4000)) comments from obj$ o where o.owner# = 0 and o.type# = 4",
    ),
    (
        "DICT_COLUMNS",
        "select k.table_name table_name, k.column_name column_name, \
            cast(null as varchar2(4000)) comments from x$kkdcol k",
    ),
    (
        "CAT",
        "select o.name table_name, m.name table_type from obj$ o, object_type_map m where o.owner# = uid and o.type# in (2, 3, 4, 5, 6) and m.type# = o.type#",
    ),
    (
        "TAB",
        "select o.name tname, m.name tabtype, cast(null as number) clusterid from obj$ o, object_type_map m where o.owner# = uid and o.type# in (2, 3, 4, 5) and m.type# = o.type#",
    ),
];

/// Short names for USER_ views.
const SHORT: &[(&str, &str)] = &[
    ("OBJ", "USER_OBJECTS"),
    ("TABS", "USER_TABLES"),
    ("COLS", "USER_TAB_COLUMNS"),
    ("IND", "USER_INDEXES"),
    ("SEQ", "USER_SEQUENCES"),
    ("SYN", "USER_SYNONYMS"),
    ("RECYCLEBIN", "USER_RECYCLEBIN"),
];

/// Condition on a grantee `{g}`: a role that the session has enabled, the user, or PUBLIC.
const ENABLED: &str = "({g} in (uid, 1) or {g} in (select e.user# from user$ e where e.type# = 0 \
    and sys_context('SYS_SESSION_ROLES', e.name) = 'TRUE'))";

/// The visible objects of other users. Objects of SYS: every user sees the public views, DUAL and the like; a user who
/// may read the dictionary sees all of its tables and views; units are visible only by grants. An ANY privilege makes
/// the objects of its kind visible, except those of SYS.
const SEEN: &str = " and (o.owner# in (uid, 1) or uid = 0 or {object} in (select g.obj# from objauth$ g where \
    {g.grantee#}) or (o.owner# = 0 and o.obj# < 20000 and o.type# in (2, 4) and (o.name in ('DUAL', \
    'SYSTEM_PRIVILEGE_MAP', 'TABLE_PRIVILEGE_MAP', 'PLAN_TABLE$') or (o.type# = 4 and ((o.name not like 'DBA!_%' \
    escape '!' and o.name not in ({restricted})) or sys_context('SYS_SESSION_ROLES', 'SELECT_CATALOG_ROLE') = \
    'TRUE')) or exists (select null from sysauth$ a where a.privilege# = -237 and {a.grantee#}))) or (o.owner# <> \
    0 and ((o.type# in (1, 2, 3, 4) and exists (select null from sysauth$ a where a.privilege# in (-41, -42, -44, \
    -45, -46, -47, -48, -49, -50, -235, -397) and {a.grantee#})) or (o.type# = 6 and exists (select null from \
    sysauth$ a where a.privilege# in (-106, -107, -108, -109) and {a.grantee#})) or (o.type# in (7, 8, 9, 11) and \
    exists (select null from sysauth$ a where a.privilege# in (-141, -142, -143, -144, -241) and {a.grantee#})) or \
    (o.type# = 12 and exists (select null from sysauth$ a where a.privilege# in (-152, -153, -154, -241) and \
    {a.grantee#})) or (o.type# in (13, 14) and exists (select null from sysauth$ a where a.privilege# in (-181, \
    -182, -183, -184, -241) and {a.grantee#})) or (o.type# = 5 and exists (select null from sysauth$ a where \
    a.privilege# in (-81, -82) and {a.grantee#})))))";

/// As [`SEEN`], for the contents of units: the EXECUTE privilege makes the specification visible; the body needs DEBUG
/// on the specification, or a privilege to change or debug any unit.
const SEEN_INSIDE: &str = " and (o.owner# = uid or uid = 0 or (o.owner# <> 0 and exists (select null from sysauth$ a \
    where (a.privilege# in (-141, -142, -241) or (a.privilege# = -144 and o.type# not in (11, 12, 14))) and (a.grantee# in (uid, 1) \
    or a.grantee# in (select e.user# from user$ e where e.type# = 0 \
    and sys_context('SYS_SESSION_ROLES', e.name) = 'TRUE')))) \
    or exists (select null from obj$ x, objauth$ g where x.owner# = o.owner# and x.name = o.name and x.namespace = 1 and g.obj# = x.obj# \
    and (g.privilege# = 26 or (g.privilege# = 12 and o.type# not in (11, 12, 14))) and (g.grantee# in (uid, 1) \
    or g.grantee# in (select e.user# from user$ e where e.type# = 0 \
    and sys_context('SYS_SESSION_ROLES', e.name) = 'TRUE'))))";

fn expand(family: &Family, member: Member) -> String {
    let user = member == User;
    let column = |expr: &str, name: &str| if user { String::new() } else { format!("{expr} {name}, ") };
    let filter = match member {
        User => " and o.owner# = uid".to_owned(),
        All if matches!(family.name, "SOURCE" | "ERRORS") => SEEN_INSIDE.to_owned(),
        All => {
            let enabled = |grantee: &str| ENABLED.replace("{g}", grantee);
            let seen =
                SEEN.replace("{g.grantee#}", &enabled("g.grantee#")).replace("{a.grantee#}", &enabled("a.grantee#"));
            let restricted: Vec<String> = RESTRICTED.iter().map(|name| format!("'{name}'")).collect();
            seen.replace("{object}", family.object).replace("{restricted}", &restricted.join(", "))
        }
        Dba => String::new(),
    };
    family
        .query
        .replace("{owner}", &column("u.name", family.owner))
        .replace("{index_owner}", &column("u.name", "index_owner"))
        .replace("{table_owner}", &column("tu.name", "table_owner"))
        .replace("{modified_owner}", &column("u.name", "table_owner"))
        .replace("{sequence_owner}", &column("u.name", "sequence_owner"))
        .replace("{schemaid}", if user { ", o.owner# schemaid" } else { "" })
        .replace("{data_type}", DATA_TYPE)
        .replace("{histogram}", statistics_views::HISTOGRAM)
        .replace("{user_stats}", statistics_views::USER_STATS)
        .replace("{filter}", &filter)
        .replace("{own}", if member == Dba { statistics_views::OWN_TAB_STATISTICS } else { "" })
}

/// Every catalog view: its name and its query, which resolves names as SYS. Sorted by name.
pub fn catalog_views() -> &'static [(&'static str, &'static str)] {
    static VIEWS: OnceLock<Vec<(&'static str, &'static str)>> = OnceLock::new();
    VIEWS.get_or_init(|| {
        // Expanded once per process and never freed.
        fn keep(text: String) -> &'static str {
            Box::leak(text.into_boxed_str())
        }
        let mut list: Vec<(&'static str, &'static str)> = SINGLE.to_vec();
        list.extend(AUDIT);
        list.extend(crate::space_views::VIEWS);
        list.extend(crate::hist_views::VIEWS);
        list.extend(crate::hist_views::plain_views().map(|(name, text)| (keep(name), keep(text))));
        for family in FAMILIES {
            for member in family.members {
                let prefix = match member {
                    User => "USER",
                    All => "ALL",
                    Dba => "DBA",
                };
                list.push((keep(format!("{prefix}_{}", family.name)), keep(expand(family, *member))));
            }
        }
        list.extend(crate::empty_views::views().map(|(name, text)| (keep(name), keep(text))));
        for (short, long) in SHORT {
            let text = list.iter().find(|(name, _)| name == long).map(|(_, text)| *text);
            list.extend(text.map(|text| (*short, text)));
        }
        list.sort_unstable_by_key(|(name, _)| *name);
        list
    })
}

/// The index in [`catalog_views`] of the view with this name.
pub fn catalog_view(name: &str) -> Option<usize> {
    catalog_views().binary_search_by_key(&name, |(have, _)| have).ok()
}
