//! Catalog views without a family.

/// The select of grants on objects as a whole: its first columns, and a condition.
macro_rules! table_grants {
    ($columns:literal) => {
        concat!(
            "select ",
            $columns,
            ", m.name privilege, decode(a.option$, 1, 'YES', 'NO') grantable, 'NO' hierarchy, 'NO' common, t.name \
                type from objauth$ a, obj$ o, user$ u, user$ e, user$ r, table_privilege_map m, object_type_map t \
                where o.obj# = a.obj# and u.user# = o.owner# and e.user# = a.grantee# and r.user# = a.grantor# and \
                m.privilege = a.privilege# and t.type# = o.type# and a.col# is null"
        )
    };
    ($columns:literal, $filter:literal) => {
        concat!(table_grants!($columns), " and ", $filter)
    };
}

/// As `table_grants`, of grants on columns.
macro_rules! column_grants {
    ($columns:literal) => {
        concat!(
            "select ",
            $columns,
            ", m.name privilege, decode(a.option$, 1, 'YES', 'NO') grantable, 'NO' common from objauth$ a, obj$ o, \
                col$ c, user$ u, user$ e, user$ r, table_privilege_map m where o.obj# = a.obj# and c.obj# = a.obj# \
                and c.col# = a.col# and u.user# = o.owner# and e.user# = a.grantee# and r.user# = a.grantor# and \
                m.privilege = a.privilege#"
        )
    };
    ($columns:literal, $filter:literal) => {
        concat!(column_grants!($columns), " and ", $filter)
    };
}

/// The select of jobs, with a WHERE clause.
macro_rules! jobs {
    ($($filter:literal)?) => {
        concat!("select j.job job, j.lowner log_user, j.powner priv_user, j.cowner schema_user, j.last_date last_date, \
                to_char(j.last_date, 'HH24:MI:SS') last_sec, j.this_date this_date, to_char(j.this_date, \
                'HH24:MI:SS') this_sec, j.next_date next_date, to_char(j.next_date, 'HH24:MI:SS') next_sec, j.total \
                total_time, decode(bitand(j.flag, 1), 1, 'Y', 'N') broken, nvl(j.interval#, 'null') interval, \
                j.failures failures, j.what what, j.nlsenv nls_env, cast(null as raw(32)) misc_env, nvl(j.field1, 0) \
                instance from job$ j", $($filter)?)
    };
}

/// The select of all tables, which here are relational.
macro_rules! all_tables {
    ($tables:literal) => {
        concat!(
            "select t.*, cast(null as varchar2(16)) object_id_type, cast(null as varchar2(128)) table_type_owner, \
                cast(null as varchar2(128)) table_type from ",
            $tables
        )
    };
}

/// Views without a family.
pub(crate) const SINGLE: &[(&str, &str)] = &[
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
    ("DBA_TAB_PRIVS", table_grants!("e.name grantee, u.name owner, o.name table_name, r.name grantor")),
    (
        "ALL_TAB_PRIVS",
        table_grants!(
            "r.name grantor, e.name grantee, u.name table_schema, o.name table_name",
            "(uid in (a.grantor#, a.grantee#, o.owner#, 0) or a.grantee# = 1 or (e.type# = 0 and \
                sys_context('SYS_SESSION_ROLES', e.name) = 'TRUE'))"
        ),
    ),
    (
        "USER_TAB_PRIVS",
        table_grants!(
            "e.name grantee, u.name owner, o.name table_name, r.name grantor",
            "uid in (a.grantor#, a.grantee#, o.owner#)"
        ),
    ),
    ("USER_TAB_PRIVS_MADE", table_grants!("e.name grantee, o.name table_name, r.name grantor", "o.owner# = uid")),
    ("USER_TAB_PRIVS_RECD", table_grants!("u.name owner, o.name table_name, r.name grantor", "a.grantee# = uid")),
    (
        "ALL_TAB_PRIVS_MADE",
        table_grants!(
            "e.name grantee, u.name owner, o.name table_name, r.name grantor",
            "uid in (o.owner#, a.grantor#)"
        ),
    ),
    (
        "ALL_TAB_PRIVS_RECD",
        table_grants!("e.name grantee, u.name owner, o.name table_name, r.name grantor", "a.grantee# in (uid, 1)"),
    ),
    (
        "DBA_COL_PRIVS",
        column_grants!("e.name grantee, u.name owner, o.name table_name, c.name column_name, r.name grantor"),
    ),
    (
        "USER_COL_PRIVS",
        column_grants!(
            "e.name grantee, u.name owner, o.name table_name, c.name column_name, r.name grantor",
            "uid in (a.grantor#, a.grantee#, o.owner#)"
        ),
    ),
    (
        "ALL_COL_PRIVS",
        column_grants!(
            "r.name grantor, e.name grantee, u.name table_schema, o.name table_name, c.name column_name",
            "(uid in (a.grantor#, a.grantee#, o.owner#, 0) or a.grantee# = 1)"
        ),
    ),
    (
        "USER_COL_PRIVS_MADE",
        column_grants!("e.name grantee, o.name table_name, c.name column_name, r.name grantor", "o.owner# = uid"),
    ),
    (
        "ALL_COL_PRIVS_MADE",
        column_grants!(
            "e.name grantee, u.name owner, o.name table_name, c.name column_name, r.name grantor",
            "uid in (o.owner#, a.grantor#)"
        ),
    ),
    (
        "USER_COL_PRIVS_RECD",
        column_grants!("u.name owner, o.name table_name, c.name column_name, r.name grantor", "a.grantee# = uid"),
    ),
    (
        "ALL_COL_PRIVS_RECD",
        column_grants!(
            "e.name grantee, u.name owner, o.name table_name, c.name column_name, r.name grantor",
            "a.grantee# in (uid, 1)"
        ),
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
        "select cast('Partitioning' as varchar2(64)) parameter, cast('TRUE' as varchar2(64)) value, 0 con_id from dual \
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
    ("DBA_JOBS", jobs!()),
    ("USER_JOBS", jobs!(" where j.powner = (select u.name from user$ u where u.user# = uid)")),
    (
        "DBA_JOBS_RUNNING",
        // A job that was removed while it runs is still shown as running.
        "select v.sid sid, v.id2 job, j.failures failures, j.last_date last_date, to_char(j.last_date, 'HH24:MI:SS') last_sec, \
            j.this_date this_date, to_char(j.this_date, 'HH24:MI:SS') this_sec, nvl(j.field1, 0) instance from v$lock v, job$ j \
            where v.type = 'JQ' and v.id2 < 1099511627776 and j.job(+) = v.id2",
    ),
    (
        "DATABASE_PROPERTIES",
        "select p.name property_name, p.value$ property_value, p.comment$ description from x$props p",
    ),
    ("GLOBAL_NAME", "select p.value$ global_name from props$ p where p.name = 'GLOBAL_DB_NAME'"),
    (
        "DBA_CONTEXT",
        "select o.name namespace, c.schema, c.package, decode(c.flags, 1, 'ACCESSED GLOBALLY', 'ACCESSED LOCALLY') type, 0 origin_con_id, 'NO' tracking from context$ c, obj$ o \
            where o.obj# = c.obj#",
    ),
    ("ALL_CONTEXT", "select o.name namespace, c.schema, c.package from context$ c, obj$ o where o.obj# = c.obj#"),
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
    ("ALL_ALL_TABLES", all_tables!("all_tables t")),
    ("DBA_ALL_TABLES", all_tables!("dba_tables t")),
    ("USER_ALL_TABLES", all_tables!("user_tables t")),
    (
        "DICTIONARY",
        "select o.name table_name, cast(null as varchar2(4000)) comments from obj$ o where o.owner# = 0 and o.type# = 4 \
            union all select f.name, null from v$fixed_table f where f.name like 'V$%' or f.name like 'GV$%'",
    ),
    (
        "DICT",
        "select o.name table_name, cast(null as varchar2(4000)) comments from obj$ o where o.owner# = 0 and o.type# = 4 \
            union all select f.name, null from v$fixed_table f where f.name like 'V$%' or f.name like 'GV$%'",
    ),
    (
        "DICT_COLUMNS",
        "select replace(k.table_name, 'V_$', 'V$') table_name, k.name column_name, \
            cast(null as varchar2(4000)) comments from x$kkscol k where k.table_name not in (select b.name from obj$ b \
            where b.owner# = 0 and b.type# = 2)",
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

/// Times are stored in seconds and shown in days.
const PROFILES: &str = "select n.name profile, m.name resource_name, decode(p.type#, 0, 'KERNEL', 'PASSWORD') resource_type, \
    decode(p.limit#, -1, 'DEFAULT', 2147483647, decode(m.name, 'PASSWORD_VERIFY_FUNCTION', 'NULL', 'PASSWORD_ROLLOVER_TIME', '0', 'UNLIMITED'), \
    decode(p.type# * 10 + p.resource#, 11, to_char(trunc(p.limit# / 86400, 4)), 12, to_char(trunc(p.limit# / 86400, 4)), \
    14, nvl(p.function, nvl((select f.name from obj$ f where f.obj# = p.limit#), to_char(p.limit#))), \
    15, to_char(trunc(p.limit# / 86400, 4)), 16, to_char(trunc(p.limit# / 86400, 4)), 17, to_char(trunc(p.limit# / 86400, 4)), \
    to_char(p.limit#))) limit, 'NO' common, 'NO' inherited, 'NO' implicit \
    from profile$ p, profname$ n, resource_map m where n.profile# = p.profile# and m.resource# = p.resource# and m.type# = p.type#";

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
