//! The audit trail: logons and refusals, the records of the default policies, of AUDIT and of policies, and the
//! privileges to read it.

mod support;

use client::{Client, Credentials, Ephemeral};
use support::{connect, one, refused, run, start, until, words};

fn enter(instance: &Ephemeral, user: &str, password: &str) -> Client {
    instance.connect(&Credentials::password(user, password)).unwrap_or_else(|e| panic!("{user}: {e}"))
}

fn setup(params: &[(&str, &str)]) -> (Ephemeral, Client) {
    let instance = start(params);
    let mut c = connect(&instance);
    run(&mut c, "create user u identified by hunter22");
    run(&mut c, "grant create session, create table, create procedure, unlimited tablespace to u");
    run(&mut c, "create table u.t (n number)");
    (instance, c)
}

/// The trail's rows that satisfy a condition: the columns joined by blanks.
fn trail(c: &mut Client, columns: &str, condition: &str) -> Vec<String> {
    let sql = format!("select {columns} from unified_audit_trail where {condition} order by event_timestamp, entry_id");
    words(c, &sql).iter().map(|row| row.join(" ")).collect()
}

#[test]
fn the_trail_begins_with_the_database() {
    let (instance, mut c) = setup(&[]);
    let wrong = instance.connect(&Credentials::password("u", "wrong-secret")).err().map(|e| e.code());
    let nobody = instance.connect(&Credentials::password("nobody", "x")).err().map(|e| e.code());
    assert_eq!((wrong, nobody), (Some(1017), Some(1017)));
    let refusals =
        trail(&mut c, "dbusername, return_code, unified_audit_policies", "action_name = 'LOGON' and return_code <> 0");
    assert_eq!(refusals, ["U 1017 ORA_LOGON_FAILURES", "NOBODY 1017 ORA_LOGON_FAILURES"]);
    let sysdba = trail(&mut c, "dbusername, system_privilege_used", "action_name = 'LOGON' and return_code = 0");
    assert!(!sysdba.is_empty() && sysdba.iter().all(|row| row == "SYS SYSDBA"), "{sysdba:?}");
    let user =
        trail(&mut c, "dbusername, object_name, sql_text, unified_audit_policies", "action_name = 'CREATE USER'");
    assert_eq!(user, ["SYS U create user u identified by * ORA_SECURECONFIG"]);
    assert_eq!(
        trail(&mut c, "object_schema, object_name", "action_name = 'CREATE TABLE'"),
        ["U T"],
        "CREATE ANY TABLE was used"
    );
    // A statement that failed, and one that runs in a block.
    refused(&mut c, "drop user nosuch");
    run(&mut c, "begin execute immediate 'alter user u identified by \"Other secret\"'; end;");
    assert_eq!(trail(&mut c, "return_code", "action_name = 'DROP USER'"), ["1918"]);
    assert_eq!(trail(&mut c, "sql_text", "action_name = 'ALTER USER'"), ["alter user u identified by *"]);
    // Ordinary work leaves no records.
    let before = one(&mut c, "select count(*) from unified_audit_trail");
    let mut u = enter(&instance, "u", "Other secret");
    run(&mut u, "create table own (n number)");
    run(&mut u, "insert into t values (1)");
    run(&mut u, "commit");
    drop(u);
    assert_eq!(one(&mut c, "select count(*) from unified_audit_trail"), before);
    let shown =
        one(&mut c, "select count(*) from v$sql where sql_text like '%Other secret%' and sql_text not like '%v$sql%'");
    assert_eq!(shown, "0");
    let masked =
        "select count(*) from v$sql where sql_text like 'begin execute immediate ''alter user u identified by *''%'";
    assert_eq!(one(&mut c, masked), "1");
}

#[test]
fn sessions_are_audited_from_logon_to_logoff() {
    let (instance, mut c) = setup(&[]);
    run(&mut c, "audit session by u");
    assert_eq!(
        words(&mut c, "select user_name, audit_option, success, failure from dba_stmt_audit_opts"),
        [["U", "SESSION", "BY ACCESS", "BY ACCESS"]]
    );
    let mut u = enter(&instance, "u", "hunter22");
    run(&mut u, "insert into t select level from dual connect by level <= 1000");
    let mut session = || {
        words(
            &mut c,
            "select username, action_name, nvl2(logoff_time, 'ended', ''), sign(logoff_lread), returncode from dba_audit_session where username = 'U'",
        )
    };
    assert_eq!(session(), [["U", "LOGON", "", "", "0"]]);
    assert_eq!(one(&mut u, "select count(*) from user_audit_session"), "1");
    drop(u);
    until("the logoff is noted", || session() == [["U", "LOGOFF", "ended", "1", "0"]]);
    run(&mut c, "noaudit session by u");
    assert_eq!(one(&mut c, "select count(*) from dba_stmt_audit_opts"), "0");
    drop(enter(&instance, "u", "hunter22"));
    assert_eq!(one(&mut c, "select count(*) from dba_audit_session where username = 'U' and returncode = 0"), "1");
}

#[test]
fn what_is_done_to_an_object_outlives_rollback_and_death() {
    let (instance, mut c) = setup(&[]);
    run(&mut c, "create audit policy p actions select on u.t, insert on u.t, delete on u.t, create view, drop table");
    run(&mut c, "audit policy p");
    run(&mut c, "create procedure u.fill as begin insert into t values (7); end;");
    let mut u = enter(&instance, "u", "hunter22");
    run(&mut u, "insert into t values (1)");
    run(&mut u, "begin fill; end;");
    run(&mut u, "rollback");
    assert_eq!(one(&mut u, "select count(*) from t"), "0");
    refused(&mut u, "create view v as select * from t");
    refused(&mut u, "delete from t where 1 = 1 / 0");
    let rows = "dbusername, action_name, object_schema, object_name, return_code, unified_audit_policies";
    let all = trail(&mut c, rows, "dbusername = 'U'");
    assert_eq!(
        all,
        ["U INSERT U T 0 P", "U INSERT U T 0 P", "U SELECT U T 0 P", "U CREATE VIEW U V 1031 P"]
            .map(String::from)
            .into_iter()
            .chain(["U DELETE U T 1476 P".to_string()])
            .collect::<Vec<_>>()
    );
    // The session dies with its transaction open.
    run(&mut u, "insert into t values (2)");
    let server =
        words(&mut c, "select p.spid from v$process p, v$session s where s.paddr = p.addr and s.username = 'U'")[0][0]
            .clone();
    os::process::kill(server.parse().expect("a process id"), os::signal::SIGKILL).expect("killed");
    until("the session is gone", || one(&mut c, "select count(*) from v$session where username = 'U'") == "0");
    assert_eq!(trail(&mut c, "action_name", "dbusername = 'U'").len(), all.len() + 1);
    // Only successes; not for one user; no further records.
    run(&mut c, "noaudit policy p");
    run(&mut c, "audit policy p except u whenever successful");
    let before = one(&mut c, "select count(*) from unified_audit_trail");
    run(&mut enter(&instance, "u", "hunter22"), "delete from t");
    assert_eq!(one(&mut c, "select count(*) from unified_audit_trail"), before);
    let enabled = words(&mut c, "select * from audit_unified_enabled_policies where policy_name = 'P'");
    assert_eq!(enabled, [["P", "EXCEPT USER", "U", "USER", "YES", "NO"]]);
    assert!(refused(&mut c, "drop audit policy p").starts_with("ORA-46361"));
    run(&mut c, "noaudit policy p");
    run(&mut c, "drop audit policy p");
}

#[test]
fn the_statement_audit_knows_objects_and_outcomes() {
    let (instance, mut c) = setup(&[]);
    run(&mut c, "audit select, insert on u.t whenever successful");
    run(&mut c, "audit table by u whenever not successful");
    assert_eq!(
        words(&mut c, "select audit_option, setting from dba_obj_audit_opts order by 1"),
        [["INSERT", "A/-"], ["SELECT", "A/-"]]
    );
    let mut u = enter(&instance, "u", "hunter22");
    run(&mut u, "create table more (n number)");
    refused(&mut u, "create table more (n number)");
    refused(&mut u, "insert into t values ('x')");
    run(&mut u, "insert into t values (1)");
    assert_eq!(one(&mut u, "select count(*) from t"), "1");
    let of_u = trail(&mut c, "action_name, object_name, return_code", "dbusername = 'U'");
    assert_eq!(of_u, ["CREATE TABLE MORE 955", "INSERT T 0", "SELECT T 0"]);
    assert_eq!(one(&mut c, "select count(*) from dba_audit_trail where username = 'U' and obj_name = 'T'"), "2");
    for (sql, error) in [
        ("audit nonsense", 956),
        ("audit select on u.nosuch", 942),
        ("audit nonsense on u.t", 956),
        ("audit select on u.t by u", 981),
        ("audit session by nobody", 1918),
        ("audit select any table", 3001),
        ("audit execute procedure", 956),
        ("noaudit session by access", 1718),
        ("audit policy nosuch", 46358),
        ("create audit policy ora_secureconfig actions logon", 46356),
        ("create audit policy p", 46365),
        ("create audit policy p actions nonsense", 46355),
        ("create audit policy p privileges nonsense", 990),
        ("create audit policy p privileges select any table", 3001),
        ("create audit policy p roles dba", 3001),
        ("create audit policy p actions logon when '1 = 1' evaluate per session", 3001),
        ("drop audit policy nosuch", 46358),
    ] {
        let text = refused(&mut c, sql);
        assert!(text.starts_with(&format!("ORA-{error:05}")), "{sql}: {text}");
    }
}

#[test]
fn a_refused_statement_of_dbms_sql_is_in_the_trail() {
    let (instance, mut c) = setup(&[]);
    run(&mut c, "create table hidden (n number)");
    run(&mut c, "create audit policy p actions select");
    run(&mut c, "audit policy p");
    let mut u = enter(&instance, "u", "hunter22");
    let parse = "declare c integer := dbms_sql.open_cursor; begin dbms_sql.parse(c, 'select n from sys.hidden where n = \
        :a', 1); end;";
    assert!(refused(&mut u, parse).starts_with("ORA-00942"));
    assert!(refused(&mut u, "begin execute immediate 'select n from sys.hidden'; end;").starts_with("ORA-00942"));
    let rows = trail(&mut c, "action_name, return_code", "dbusername = 'U' and return_code <> 0");
    assert_eq!(rows, ["SELECT 942", "SELECT 942"]);
}

#[test]
fn the_trail_is_for_auditors() {
    let (instance, mut c) = setup(&[]);
    for (name, role) in [("viewer", "audit_viewer"), ("admin", "audit_admin")] {
        run(&mut c, &format!("create user {name} identified by pw"));
        run(&mut c, &format!("grant create session, {role} to {name}"));
    }
    let mut u = enter(&instance, "u", "hunter22");
    for sql in [
        "select * from unified_audit_trail",
        "select * from dba_audit_session",
        "select * from sys.aud$",
        "delete from sys.aud$",
    ] {
        assert!(refused(&mut u, sql).starts_with("ORA-00942"), "{sql}");
    }
    for sql in
        ["audit session", "noaudit session", "create audit policy p actions logon", "noaudit policy ora_logon_failures"]
    {
        assert!(refused(&mut u, sql).starts_with("ORA-01031"), "{sql}");
    }
    run(&mut u, "audit select on t");
    let mut viewer = enter(&instance, "viewer", "pw");
    assert_ne!(one(&mut viewer, "select count(*) from unified_audit_trail"), "0");
    assert!(
        viewer.execute("delete from sys.aud$", &[]).is_err()
            && viewer.execute("noaudit policy ora_logon_failures", &[]).is_err()
    );
    let mut admin = enter(&instance, "admin", "pw");
    run(&mut admin, "audit session by u");
    run(&mut admin, "delete from sys.aud$");
    run(&mut admin, "commit");
    // Auditing statements, and the user who emptied the trail, are recorded in it.
    let left = trail(&mut admin, "dbusername, action_name, object_name", "1 = 1");
    assert_eq!(left, ["ADMIN DELETE AUD$"]);
}

#[test]
fn what_is_done_to_auditing_is_noted_also_where_no_rule_is_left() {
    let (instance, mut c) = setup(&[]);
    run(&mut c, "create user admin identified by pw");
    run(&mut c, "grant create session, audit_admin to admin");
    run(&mut c, "noaudit policy ora_secureconfig");
    run(&mut c, "noaudit policy ora_logon_failures");
    let mut admin = enter(&instance, "admin", "pw");
    run(&mut admin, "audit session by u");
    run(&mut admin, "create audit policy p actions logon");
    // A static statement keeps its cursor: each execution counts.
    run(&mut admin, "begin for i in 1..3 loop delete from sys.aud$ where entryid = -i; end loop; end;");
    run(&mut admin, "begin forall i in 1..2 delete from sys.aud$ where entryid = -i; end;");
    // Dynamic SQL that does not compile.
    run(&mut c, "audit select table by u whenever not successful");
    let mut u = enter(&instance, "u", "hunter22");
    for (sql, error) in [("select 1 from nosuch", "ORA-00942"), ("select nosuch from dual", "ORA-00904")] {
        assert!(refused(&mut u, &format!("begin execute immediate '{sql}'; end;")).starts_with(error), "{sql}");
    }
    assert_eq!(
        trail(&mut c, "action_name, return_code, sql_text", "dbusername = 'U' and action_name = 'SELECT'"),
        ["SELECT 942 select 1 from nosuch", "SELECT 904 select nosuch from dual"]
    );
    let noted = trail(&mut c, "action_name, object_name", "dbusername = 'ADMIN'");
    let deleted = ["DELETE AUD$"; 5].map(str::to_owned);
    assert_eq!(noted, [&["AUDIT ".into(), "CREATE AUDIT POLICY P".into()], &deleted[..]].concat());
}

#[test]
fn many_wrong_passwords_are_few_rows() {
    let (instance, mut c) = setup(&[]);
    let began = std::time::Instant::now();
    for _ in 0..60 {
        assert!(instance.connect(&Credentials::password("nobody", "x")).is_err());
    }
    let minutes = began.elapsed().as_secs() as usize / 60 + 2;
    let rows: usize =
        one(&mut c, "select count(*) from unified_audit_trail where return_code = 1017").parse().expect("a number");
    // Twenty a minute, and one for the rest of the minute.
    assert!((20..=21 * minutes).contains(&rows), "{rows}");
}

#[test]
fn the_trail_is_cleaned_up_to_where_it_was_archived() {
    let (instance, mut c) = setup(&[]);
    run(&mut c, "create user keeper identified by keeper");
    run(&mut c, "grant create session, audit_admin to keeper");
    run(&mut c, "create user other identified by other");
    run(&mut c, "grant create session, dba to other");
    let mut keeper = enter(&instance, "keeper", "keeper");
    let mut manage = |call: &str| {
        let sql = format!("begin sys.dbms_audit_mgmt.{call}; end;");
        keeper.execute(&sql, &[]).map_err(|e| e.code()).map(drop)
    };
    let rows = "select count(*) from sys.aud$ where action_name <> 'EXECUTE'";
    let count = |c: &mut Client| one(c, rows).parse::<u64>().expect("a number");
    let all = count(&mut c);
    assert!(all > 5);
    // Without a timestamp no record counts as archived.
    assert_eq!(manage("clean_audit_trail(dbms_audit_mgmt.audit_trail_unified)"), Ok(()));
    assert_eq!(count(&mut c), all);
    run(
        &mut c,
        "update sys.aud$ set event_timestamp = event_timestamp - interval '2' day where action_name = 'CREATE USER'",
    );
    run(&mut c, "commit");
    let old =
        one(&mut c, "select count(*) from sys.aud$ where event_timestamp < systimestamp - 1").parse::<u64>().unwrap();
    let before = count(&mut c);
    assert!(old >= 3);
    assert_eq!(
        manage("set_last_archive_timestamp(dbms_audit_mgmt.audit_trail_unified, cast(sysdate - 1 as timestamp))"),
        Ok(())
    );
    let archived = "select audit_trail from dba_audit_mgmt_last_arch_ts where last_archive_ts < systimestamp";
    assert_eq!(one(&mut c, archived), "UNIFIED AUDIT TRAIL");
    assert_eq!(manage("clean_audit_trail(audit_trail_type => 51, use_last_arch_timestamp => true)"), Ok(()));
    assert_eq!(count(&mut c), before - old);
    assert_eq!(manage("clear_last_archive_timestamp(51)"), Ok(()));
    assert_eq!(one(&mut c, "select count(*) from dba_audit_mgmt_last_arch_ts"), "0");
    assert_eq!(manage("clean_audit_trail(99)"), Err(46250));
    assert_eq!(manage("clean_audit_trail(51, false)"), Ok(()));
    assert_eq!(count(&mut c), 0);
    // The calls are in the trail themselves: a cleanup cannot hide itself.
    let calls = trail(&mut c, "dbusername, object_name, sql_text, return_code", "action_name = 'EXECUTE'");
    assert_eq!(calls, ["KEEPER DBMS_AUDIT_MGMT DBMS_AUDIT_MGMT.CLEAN_AUDIT_TRAIL 0"]);
    // A DBA is not an AUDIT_ADMIN.
    let mut other = enter(&instance, "other", "other");
    let refusal = refused(&mut other, "begin sys.dbms_audit_mgmt.clean_audit_trail(51, false); end;");
    assert!(refusal.contains("PLS-00201: identifier 'SYS.DBMS_AUDIT_MGMT' must be declared"), "{refusal}");
}

#[test]
fn a_trail_that_is_full_keeps_no_administrator_out() {
    let (instance, mut c) = setup(&[]);
    run(&mut c, "audit select on u.t");
    run(&mut c, "alter database datafile 1 autoextend off");
    run(&mut c, "create table filler (t varchar2(4000)) tablespace system");
    let fill = "begin loop insert into filler values (rpad('x', 3000)); commit; end loop; end;";
    assert!(refused(&mut c, fill).starts_with("ORA-01653"));
    // Logons, which continue, fill the last blocks of the trail.
    let log = || std::fs::read_to_string(instance.dir().join("alert.log")).expect("the alert log");
    until("the alert log tells of it", || {
        for _ in 0..20 {
            drop(connect(&instance));
        }
        log().contains("rows of logons and logoffs could not be written (ORA-02002)")
    });
    let mut again = connect(&instance);
    assert_eq!(one(&mut again, "select count(*) from dual"), "1");
    // An audited statement fails if its record cannot be written.
    let mut u = enter(&instance, "u", "hunter22");
    assert_eq!(u.query("select * from t", &[]).map(drop).map_err(|e| e.code()), Err(2002));
    run(&mut c, "drop table filler");
    run(&mut c, "begin dbms_audit_mgmt.clean_audit_trail(51, false); end;");
    assert_eq!(one(&mut u, "select count(*) from t"), "0");
}

#[test]
fn what_cannot_be_noted_is_not_done() {
    let (instance, mut c) = setup(&[]);
    run(&mut c, "grant create session to u");
    run(&mut c, "audit insert, update, delete on u.t by access");
    // The file of SYSTEM is full: there is no room for another row of the trail.
    let file = one(&mut c, "select file_name from dba_data_files where tablespace_name = 'SYSTEM'");
    run(&mut c, &format!("alter database datafile '{file}' autoextend off"));
    run(&mut c, "create table filler (v varchar2(4000)) tablespace system");
    let fill = "insert into filler select rpad('x', 4000, 'x') from dual connect by level <= ";
    for rows in [100, 10, 1] {
        while c.execute(&format!("{fill}{rows}"), &[]).is_ok() {
            run(&mut c, "commit");
        }
    }
    let mut u = enter(&instance, "u", "hunter22");
    run(&mut u, "insert into t values (0)");
    run(&mut u, "commit");
    let mut inserted = 1;
    let full = loop {
        match u.execute("insert into t values (1)", &[]) {
            Ok(_) => inserted += 1,
            Err(e) => break e.code(),
        }
    };
    assert_eq!(full, 2002);
    let count = |u: &mut Client| one(u, "select count(*) from t").parse::<i32>().expect("a number");
    assert_eq!(count(&mut u), inserted, "after {inserted} rows");
    // In a block that catches the error, and in statements that change many rows.
    let caught = "declare full exception; pragma exception_init(full, -2002); begin \
                  for i in 1 .. 3 loop begin insert into t values (2); exception when full then null; end; \
                  begin execute immediate 'update t set n = 9'; exception when full then null; end; \
                  begin delete from t; exception when full then null; end; end loop; end;";
    run(&mut u, caught);
    run(&mut u, "commit");
    let left = words(&mut u, "select n, count(*) from t group by n order by n")
        .iter()
        .map(|row| row.join(" "))
        .collect::<Vec<_>>();
    assert_eq!(left, ["0 1".to_string(), format!("1 {}", inserted - 1)]);
}
