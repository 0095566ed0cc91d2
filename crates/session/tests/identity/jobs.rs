//! DBMS_JOB: the identity of jobs and of their intervals.

use crate::Db;

#[test]
fn the_interval_of_a_job_is_an_expression_of_its_owners() {
    let mut db = Db::new();
    db.users(&["u"]);
    db.play(
        "sys> grant create procedure, create table, create job to u => ok
         u> create table log (s varchar2(200)) => ok
         u> create function f return date as pragma autonomous_transaction; begin execute immediate 'grant dba to u'; return sysdate + 1; end; => ok
         u> create function g return date as pragma autonomous_transaction; begin insert into log values (sys_context('userenv','current_user')); commit; return sysdate + 1; end; => ok
         u> declare j number; begin dbms_job.submit(j, 'null;', sysdate - 1, 'u.f'); end; => ORA-23319
         u> declare j number; begin dbms_job.submit(j, 'null;', sysdate - 1, '1'); end; => ORA-23319
         u> declare j number; begin dbms_job.submit(j, 'null;', sysdate - 1, 'sysdate + '); end; => ORA-23319
         u> declare j number; begin dbms_job.submit(j, 'null;', sysdate - 1, 'sysdate - 1'); end; => ORA-23420
         u> declare j number; begin dbms_job.submit(j, 'null;', sysdate - 1, 'cast(null as date)'); rollback; end; => ok
         u> declare j number; begin for i in 1 .. 5 loop dbms_job.submit(j, case i when 3 then 'insert into log values (sys_context(''userenv'',''current_user''));' else 'null;' end, sysdate - 1); end loop; commit; end; => ok
         u> select max(job) - min(job) from user_jobs => 4
         u> begin dbms_job.interval(2, 'sysdate + ascii(substr((select spare4 from sys.user$ where name=''SYS''),1,1))'); end; => ORA-23319 & ORA-00942
         u> begin dbms_job.change(2, null, null, 'sysdate'); end; => ORA-23420
         u> begin dbms_job.interval(2, 'sysdate + 1 from dual union all select sysdate'); end; => ORA-23319
         u> select count(*) from user_jobs where interval <> 'null' => 0
         sys> update sys.job$ set interval# = 'u.f' where job = 2 => ok
         sys> update sys.job$ set interval# = 'sysdate + ascii(substr((select spare4 from sys.user$ where name=''SYS''),1,1))' where job = 3 => ok
         sys> update sys.job$ set interval# = 'g' where job = 4 => ok
         sys> update sys.job$ set interval# = 'sysdate + 1 from dual union all select sysdate' where job = 5 => ok
         sys> update sys.job$ set interval# = 'sysdate - 1' where job = 6 => ok
         sys> commit => ok",
    );
    assert!(db.run_job(2).contains("ORA-"), "the interval may not grant");
    assert!(db.run_job(3).contains("ORA-00942"), "the interval may not read SYS's tables");
    assert_eq!(db.run_job(4), "done");
    assert!(db.run_job(5).contains("ORA-"), "the interval is one expression");
    assert!(db.run_job(6).contains("ORA-23420"));
    db.play(
        "u> select s from log => U; U
         u> select round(next_date - sysdate) from user_jobs where job = 4 => 1
         u> begin dbms_job.run(2); end; => ORA-12011
         u> begin dbms_job.run(3); end; => ORA-12011
         sys> select granted_role from dba_role_privs where grantee = 'U' => ok",
    );
}

#[test]
fn a_run_by_hand_counts_its_failures_and_forgets_them_at_its_success() {
    let mut db = Db::new();
    db.users(&["u"]);
    let state = "select failures || broken || round(next_date - sysdate) from user_jobs";
    db.play(&format!(
        "sys> grant create table, create job to u => ok
         u> create table log (n number) => ok
         u> declare j number; begin dbms_job.submit(j, 'insert into log values (1); raise no_data_found;', sysdate + 9, 'sysdate + 3'); commit; end; => ok
         u> insert into log values (7) => ok
         u> begin dbms_job.run(1); end; => ORA-12011 & ORA-01403
         u> {state} => 1N9
         u> begin dbms_job.run(1); exception when others then null; end; => ok
         u> rollback => ok
         u> {state} => 2N9
         u> select n from log => 7
         u> begin for i in 3 .. 15 loop begin dbms_job.run(1); exception when others then null; end; end loop; end; => ok
         u> {state} => 15N9
         u> begin dbms_job.run(1); end; => ORA-12011
         u> {state} => 16Y9
         u> begin dbms_job.what(1, 'insert into log values (2);'); commit; dbms_job.run(1); end; => ok
         u> {state} => 0N3
         u> select n from log => 7; 2",
    ));
}

#[test]
fn a_job_runs_with_the_language_settings_of_its_submission() {
    let mut db = Db::new();
    db.users(&["u"]);
    db.play(
        "sys> grant create procedure, create table, create job to u => ok
         u> create table log (d date, s varchar2(30)) => ok
         u> alter session set nls_date_format = 'YYYY/MM/DD \"o''clock\" HH24:MI' => ok
         u> alter session set nls_numeric_characters = ',.' => ok
         u> declare j number; begin dbms_job.submit(j, 'insert into log values (to_date(''2024/01/01 o''''clock 07:00''), 1/2); execute immediate ''alter session set nls_date_format = ''''RR''''''; ', sysdate - 1, 'to_date(''2999/01/01 o''''clock 00:00'')'); commit; end; => ok
         u> select regexp_substr(nls_env, 'NLS_DATE_FORMAT=.*MI''') from user_jobs => NLS_DATE_FORMAT='YYYY/MM/DD \"o''clock\" HH24:MI'",
    );
    assert_eq!(db.run_job(1), "done");
    db.play(
        "u> select to_char(d, 'YYYY-MM-DD HH24:MI') || s from log => 2024-01-01 07:00,5
         u> alter session set nls_date_format = 'DD.MM.YYYY' => ok
         u> begin dbms_job.what(1, 'insert into log values (''02.01.2024'', to_char(sysdate)); '); dbms_job.next_date(1, sysdate - 1); dbms_job.interval(1, 'to_date(''01.01.2999'')'); commit; end; => ok",
    );
    assert_eq!(db.run_job(1), "done");
    db.play(
        "u> select count(*) from log where length(s) = 10 => 1
         sys> select to_char(date '2024-01-02') from dual => 02-JAN-24",
    );
}

#[test]
fn a_job_submitted_by_a_definers_unit_is_its_owners() {
    let mut db = Db::new();
    db.users(&["u", "x"]);
    db.play(
        "sys> grant create procedure, create table, create job to u, x => ok
         u> create table log (s varchar2(200)) => ok
         u> create procedure sub as j number; begin dbms_job.submit(j, 'insert into log values (user || sys_context(''userenv'',''current_user'') || sys_context(''userenv'',''current_schema''));', sysdate - 1); dbms_output.put_line(j); end; => ok
         u> grant execute on sub to x => ok
         sys> begin dbms_output.enable; u.sub; commit; end; => 1
         sys> select log_user, priv_user, schema_user from dba_jobs => SYS,U,U
         x> begin dbms_output.enable; u.sub; commit; end; => 2
         x> begin dbms_job.remove(2); end; => ORA-23421
         sys> begin dbms_job.remove(1); end; => ORA-23421
         u> begin dbms_job.next_date(2, sysdate - 1); commit; end; => ok",
    );
    assert_eq!(db.run_job(1), "done");
    assert_eq!(db.run_job(2), "done");
    db.play("u> select s from log => UUU; UUU");
    // The session that ran the jobs belongs to SYS again.
    db.play("sys> select user || sys_context('userenv','current_user') || sys_context('userenv','isdba') from dual => SYSSYSTRUE");
}

#[test]
fn a_job_has_its_owners_default_roles() {
    let mut db = Db::new();
    db.users(&["o", "u"]);
    db.play(
        "sys> grant create table to o, u => ok
         sys> grant create job to u => ok
         o> create table t (n number) => ok
         sys> create role r => ok
         sys> grant insert on o.t to r => ok
         sys> grant r to u => ok
         u! > declare j number; begin dbms_job.submit(j, 'execute immediate ''insert into o.t values (1)'';', sysdate - 1); commit; end; => ok",
    );
    assert_eq!(db.run_job(1), "done");
    db.play(
        "sys> alter user u default role none => ok
         u> declare j number; begin dbms_job.submit(j, 'execute immediate ''insert into o.t values (1)'';', sysdate - 1); commit; end; => ok",
    );
    assert!(db.run_job(2).contains("ORA-00942"));
}

#[test]
fn a_job_whose_schema_is_gone_fails_and_is_counted() {
    let mut db = Db::new();
    db.users(&["u", "x"]);
    db.play(
        "sys> grant create job to u => ok
         u> alter session set current_schema = x => ok
         u> declare j number; begin dbms_job.submit(j, 'null;', sysdate - 1); commit; end; => ok
         sys> drop user x cascade => ok",
    );
    assert!(db.run_job(1).contains("ORA-01435"), "an error of the job, not of its slave");
    db.play("sys> select user || sys_context('userenv', 'current_user') from dual => SYSSYS");
}
