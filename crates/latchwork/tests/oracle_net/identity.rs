//! Sessions and their clients: names, contexts, settings, passwords, with a real driver.

use super::*;

#[test]
fn a_session_knows_its_client() {
    let Some(python) = python() else {
        return;
    };
    let (instance, at) = start(&[]);
    run_script(&python, "identity.py", &instance, &at);
}

/// Statements and their results: `ok`, an error, or rows with columns separated by blanks and rows by bars.
const DEFINITIONS: &[(&str, &str)] = &[
    ("create user px_client identified by x", "ok"),
    ("create user px_other identified by x", "ok"),
    ("create user px_proxy identified by x", "ok"),
    ("create role px_role", "ok"),
    ("create role px_outside", "ok"),
    ("grant create session, px_role to px_client", "ok"),
    ("alter user px_client grant connect through px_proxy", "ok"),
    ("alter user px_other, px_client grant connect through px_proxy with no roles authentication required", "ok"),
    (
        "select client, proxy, authentication, authorization_constraint, nvl(role, '-') from dba_proxies order by client",
        "PX_CLIENT PX_PROXY YES NO CLIENT ROLES MAY BE ACTIVATED -|PX_OTHER PX_PROXY YES NO CLIENT ROLES MAY BE ACTIVATED -",
    ),
    ("alter user px_client grant connect through px_proxy with role px_role", "ok"),
    ("alter user px_other grant connect through px_proxy with role all except connect", "ORA-01955"),
    ("alter user px_client grant connect through px_proxy with role px_outside", "ORA-01955"),
    ("alter user px_client grant connect through px_proxy with role none_such", "ORA-01919"),
    ("alter user px_nobody grant connect through px_proxy", "ORA-01918"),
    ("alter user px_client grant connect through px_nobody", "ORA-01918"),
    ("alter user px_client grant connect through px_role", "ORA-28155"),
    ("alter user px_client grant connect through enterprise users", "ORA-03001"),
    ("alter user px_client grant connect through px_proxy with something", "ORA-00922"),
    ("alter user px_client, px_other identified by y", "ORA-00922"),
    (
        "select client, proxy, authentication, authorization_constraint, nvl(role, '-') from dba_proxies order by client",
        "PX_CLIENT PX_PROXY NO PROXY MAY ACTIVATE ROLE PX_ROLE|PX_OTHER PX_PROXY YES NO CLIENT ROLES MAY BE ACTIVATED -",
    ),
    (
        "select client, authentication, flags from proxy_users order by client",
        "PX_CLIENT NO PROXY MAY ACTIVATE ROLE|PX_OTHER YES NO CLIENT ROLES MAY BE ACTIVATED",
    ),
    ("select count(*) from user_proxies", "0"),
    ("alter user px_client revoke connect through px_proxy", "ok"),
    ("alter user px_client revoke connect through px_proxy", "ORA-28154"),
    ("alter user px_other grant connect through px_client", "ok"),
    ("drop user px_client", "ok"),
    ("select count(*) from sys.proxy_info$", "1"),
    ("drop user px_other", "ok"),
    ("drop user px_proxy", "ok"),
    ("select count(*) from sys.proxy_info$", "0"),
    ("select edition_name, nvl(parent_edition_name, '-'), usable from dba_editions order by 1", "ORA$BASE - YES"),
    (
        "select sys_context('userenv', 'current_edition_name'), sys_context('userenv', 'session_edition_name') from dual",
        "ORA$BASE ORA$BASE",
    ),
    ("create edition ed_one", "ok"),
    ("create edition ed_one", "ORA-00955"),
    ("create edition ed_two as child of none_such", "ORA-38802"),
    ("create edition ed_two as child of ora$base", "ORA-38807"),
    ("create edition ed_two as child of ed_one", "ok"),
    (
        "select edition_name, nvl(parent_edition_name, '-') from all_editions order by 1",
        "ED_ONE ORA$BASE|ED_TWO ED_ONE|ORA$BASE -",
    ),
    ("alter session set edition = ed_one", "ok"),
    ("select sys_context('userenv', 'current_edition_name') from dual", "ED_ONE"),
    (
        "select count(*) from v$session s, dba_objects o where s.sid = sys_context('userenv', 'sid') and o.object_id = s.session_edition_id and o.object_name = 'ED_ONE' and o.object_id = sys_context('userenv', 'current_edition_id')",
        "1",
    ),
    ("drop edition ed_one", "ORA-38810"),
    ("alter session set edition = ed_two", "ok"),
    ("drop edition ed_two", "ORA-38805"),
    ("alter session set edition = ora$base", "ok"),
    ("drop edition ed_two", "ok"),
    ("drop edition ed_two", "ORA-38802"),
    ("alter session set edition = ed_two", "ORA-38802"),
    ("grant use on edition ed_two to public", "ORA-38802"),
    ("grant select on edition ed_one to public", "ORA-00990"),
    ("grant use on edition ed_one to px_role", "ok"),
    ("select privilege from dba_tab_privs where table_name = 'ED_ONE'", "USE"),
    ("alter database default edition = ed_one", "ok"),
    ("select property_value from database_properties where property_name = 'DEFAULT_EDITION'", "ED_ONE"),
    ("drop edition ed_one", "ORA-38805"),
    ("alter database default edition = ora$base", "ok"),
    ("drop edition ed_one", "ok"),
    ("drop role px_role", "ok"),
    ("drop role px_outside", "ok"),
];

#[test]
fn users_connect_through_others_and_editions_are_names() {
    let (instance, _) = start(&[]);
    let mut c = sysdba(&instance);
    let shown = |value: &Value| match value {
        Value::Number(n) => n.to_string(),
        Value::Text(text) => text.to_string(),
        other => panic!("{other:?} is neither a text nor a number"),
    };
    for (sql, want) in DEFINITIONS {
        let got = match sql.starts_with("select ") {
            true => c.query(sql, &[]).and_then(|q| q.all()).map(|rows| {
                let row = |row: &Vec<Value>| row.iter().map(shown).collect::<Vec<_>>().join(" ");
                rows.iter().map(row).collect::<Vec<_>>().join("|")
            }),
            false => c.execute(sql, &[]).map(|_| "ok".to_string()),
        };
        let got = got.unwrap_or_else(|e| format!("ORA-{:05}", code(&e)));
        assert_eq!(got, *want, "{sql}");
    }
}
