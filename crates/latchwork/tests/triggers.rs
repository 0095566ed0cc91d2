//! Triggers of statements that other sessions hold up, and triggers on the database.

mod support;

use client::Credentials;
use std::thread::spawn;
use support::{connect, log_on, make_user, one, refused, run, start, until, words};

#[test]
fn a_statement_that_begins_again_fires_its_triggers_again() {
    let instance = start(&[]);
    let mut dba = connect(&instance);
    make_user(&mut dba, "u");
    run(&mut dba, "grant create trigger to u");
    let mut first = log_on(&instance, "u");
    for sql in [
        "create table t (id number primary key, a number)",
        "create table log (what varchar2(40))",
        "create table tried (what varchar2(40))",
        "insert into t values (1, 1)",
        "create procedure noted (text varchar2) is
           pragma autonomous_transaction;
         begin
           insert into tried values (text);
           commit;
         end;",
        "create trigger t_s before update on t begin noted('statement'); end;",
        "create trigger t_r before update on t for each row
         begin
           noted('row ' || :old.a);
           insert into log values (:old.a || '>' || :new.a);
         end;",
        "update t set a = a + 1",
    ] {
        run(&mut first, sql);
    }
    let mut second = log_on(&instance, "u");
    let sid = one(&mut second, "select sys_context('USERENV', 'SID') from dual");
    let waiting = spawn(move || {
        run(&mut second, "update t set a = a + 10 where id = 1");
        run(&mut second, "commit");
    });
    let event = format!("select event from v$session where sid = {sid} and state = 'WAITING'");
    until("a wait for the row", || words(&mut dba, &event) == [["enq: TX - row lock contention"]]);
    run(&mut first, "commit");
    waiting.join().expect("the second session ends");
    assert_eq!(one(&mut first, "select a from t"), "12");
    // The work of the first attempt is undone, except in autonomous transactions.
    let list =
        |column: &str, of: &str| format!("select listagg({column}, ' ') within group (order by {column}) from {of}");
    assert_eq!(one(&mut first, &list("what", "log")), "1>2 2>12");
    assert_eq!(one(&mut first, &list("what", "tried")), "row 1 row 1 row 2 statement statement statement");
}

#[test]
fn a_logon_trigger_refuses_users_without_the_privilege_to_administer_it() {
    let instance = start(&[]);
    let mut dba = connect(&instance);
    for name in ["u", "v"] {
        make_user(&mut dba, name);
    }
    for sql in [
        "grant administer database trigger to v",
        "create table seen (what varchar2(200))",
        "create trigger on_logon after logon on database
         begin
           insert into seen values (ora_sysevent || ' ' || ora_login_user);
           execute immediate 'alter session set nls_date_format = ''YYYY''';
           if ora_login_user in ('U', 'V') then
             raise_application_error(-20002, 'not today');
           end if;
         end;",
        "create trigger a_bad_one after logon on u.schema begin raise_application_error(-20009, 'own schema'); end;",
        "create trigger on_logoff before logoff on database
         begin
           insert into seen values (ora_sysevent || ' ' || ora_login_user);
         end;",
    ] {
        run(&mut dba, sql);
    }
    let as_user = |name: &str| Credentials::Password { user: name.into(), password: "p".into() };
    let Err(refused) = instance.connect(&as_user("u")) else { panic!("the trigger refuses the logon") };
    let lines = [
        "ORA-04088: error during execution of trigger 'SYS.ON_LOGON'",
        "ORA-00604: error occurred at recursive SQL level 1",
        "ORA-20002: not today",
        "ORA-06512: at line 5",
    ];
    assert!(refused.to_string().contains(&lines.join("\n")), "{refused}");
    let mut passes = log_on(&instance, "v");
    // The work of a trigger that fails is undone.
    assert_eq!(one(&mut dba, "select count(*) from seen"), "0");
    assert_eq!(one(&mut passes, "select user from dual"), "V");
    passes.logoff(true).expect("the session ends");
    until("the trigger on the logoff", || words(&mut dba, "select what from seen") == [["LOGOFF V"]]);
    let mut other = connect(&instance);
    assert_eq!(one(&mut other, "select what from seen where what like 'LOGON%'"), "LOGON SYS");
    assert_eq!(one(&mut other, "select to_char(date '2020-02-03') from dual"), "2020");
    run(&mut dba, "alter system set \"_system_trig_enabled\" = false");
    log_on(&instance, "u");
    run(&mut dba, "alter system set \"_system_trig_enabled\" = true");
    run(&mut dba, "drop trigger on_logon");
    log_on(&instance, "u");
}

#[test]
fn a_logon_trigger_that_raises_the_error_of_an_ended_session_does_not_lock_administrators_out() {
    let instance = start(&[]);
    let mut dba = connect(&instance);
    make_user(&mut dba, "u");
    for code in [28, 603, 1012, 1013, 2396] {
        run(
            &mut dba,
            &format!(
                "create or replace trigger on_logon after logon on database
                 declare ended exception; pragma exception_init(ended, -{code}); begin raise ended; end;"
            ),
        );
        let of_user = Credentials::Password { user: "u".into(), password: "p".into() };
        assert!(instance.connect(&of_user).is_err(), "{code}");
        let mut passes = connect(&instance);
        assert_eq!(one(&mut passes, "select user from dual"), "SYS", "{code}");
    }
}

#[test]
fn a_trigger_on_ddl_of_the_database_sees_the_statements_of_all_users() {
    let instance = start(&[]);
    let mut dba = connect(&instance);
    make_user(&mut dba, "u");
    for sql in [
        "create table seen (what varchar2(200))",
        "create trigger on_ddl before ddl on database
         begin
           if ora_dict_obj_name = 'FORBIDDEN' then
             raise_application_error(-20003, ora_login_user || ' may not');
           end if;
           insert into seen values (ora_login_user || ' ' || ora_sysevent || ' ' || ora_dict_obj_owner || '.'
             || ora_dict_obj_name);
         end;",
    ] {
        run(&mut dba, sql);
    }
    let mut user = log_on(&instance, "u");
    run(&mut user, "create table plain (a number)");
    let text = refused(&mut user, "create table forbidden (a number)");
    let lines = [
        "ORA-04088: error during execution of trigger 'SYS.ON_DDL'",
        "ORA-00604: error occurred at recursive SQL level 1",
        "ORA-20003: U may not",
        "ORA-06512: at line 3",
    ];
    assert_eq!(text, lines.join("\n"));
    run(&mut user, "begin execute immediate 'drop table plain'; end;");
    let seen = words(&mut dba, "select what from seen order by what");
    assert_eq!(seen, [["U CREATE U.PLAIN"], ["U DROP U.PLAIN"]]);
    let shown = "select trigger_type, triggering_event, table_owner, base_object_type from dba_triggers
        where trigger_name = 'ON_DDL'";
    assert_eq!(words(&mut dba, shown), [["BEFORE EVENT", "DDL ", "SYS", "DATABASE"]]);
    run(&mut dba, "drop trigger on_ddl");
    run(&mut user, "create table forbidden (a number)");
}
