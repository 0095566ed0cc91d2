//! The views of audit settings and of the audit trail.

/// Views of the audit trail and of the audit settings.
pub(crate) const AUDIT: &[(&str, &str)] = &[
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
