//! DBMS_SCHEDULER: names, rights, schedules and the states of jobs. Runs are those of a slave, without the job queue.

use crate::Db;

impl Db {
    /// Runs a due job as a slave does.
    fn run_scheduled(&mut self, name: &str) -> String {
        let sql = format!("select job from sys.scheduler$_job where name = '{name}'");
        let Ok(found) = self.run("sys", &sql) else { return "no job".into() };
        match found.trim().parse() {
            Ok(job) => self.run_job(job),
            Err(_) => "no job".into(),
        }
    }
}

#[test]
fn a_job_runs_once_and_is_dropped_or_kept() {
    let mut db = Db::new();
    db.users(&["u"]);
    db.play(
        "sys> grant create table, create procedure, create job to u => ok
         u> create table log (n number, s varchar2(100)) => ok
         u> create procedure p(n number, s varchar2) as begin insert into log values (n, s); end; => ok
         u> begin dbms_scheduler.create_job(job_name => 'J', job_type => 'PLSQL_BLOCK', job_action => 'insert into log values (1, job_owner || job_name);', enabled => true); end; => ok
         u> select job_name || enabled || state || job_type || auto_drop || schedule_type from user_scheduler_jobs => JTRUESCHEDULEDPLSQL_BLOCKTRUEONCE",
    );
    assert_eq!(db.run_scheduled("J"), "done");
    db.play(
        "u> select n || s from log => 1UJ
         u> select count(*) from user_scheduler_jobs => 0
         u> select job_name || status || error# || operation from user_scheduler_job_log natural join (select log_id, error# from user_scheduler_job_run_details) => JSUCCEEDED0RUN
         u> begin dbms_scheduler.create_job(job_name => 'k', job_type => 'stored_procedure', job_action => 'u.p', number_of_arguments => 2, auto_drop => false); end; => ok
         u> begin dbms_scheduler.enable('k'); end; => ORA-27457
         u> begin dbms_scheduler.set_job_argument_value('k', 1, '7'); dbms_scheduler.set_job_argument_value('k', 2, 'it''s'); end; => ok
         u> begin dbms_scheduler.set_job_argument_value('k', 3, 'x'); end; => ORA-27473
         u> select argument_position || value from user_scheduler_job_args order by 1 => 17; 2it's
         u> begin dbms_scheduler.enable('k'); end; => ok",
    );
    assert_eq!(db.run_scheduled("K"), "done");
    db.play(
        "u> select n || s from log where n = 7 => 7it's
         u> select state || enabled || run_count || failure_count from user_scheduler_jobs => SUCCEEDEDFALSE10
         u> begin dbms_scheduler.run_job('k'); end; => ok
         u> select count(*) from log where n = 7 => 2
         u> select run_count from user_scheduler_jobs => 1
         u> begin dbms_scheduler.drop_job('k'); end; => ok
         u> begin dbms_scheduler.drop_job('k'); end; => ORA-27475: unknown job \"U\".\"K\"",
    );
}

#[test]
fn a_repeated_job_fails_breaks_and_completes() {
    let mut db = Db::new();
    db.users(&["u"]);
    let due = "sys> update sys.scheduler$_job set next_run = next_run - 400 => ok
               sys> commit => ok";
    let state = "u> select state || enabled || run_count || failure_count from user_scheduler_jobs";
    db.play(&format!(
        "sys> grant create table, create job to u => ok
         u> create table log (n number) => ok
         u> begin dbms_scheduler.create_job(job_name => 'j', job_type => 'PLSQL_BLOCK', job_action => 'begin insert into log values (1); raise no_data_found; end;', start_date => systimestamp + 1, repeat_interval => 'FREQ=DAILY;BYHOUR=3;BYMINUTE=0;BYSECOND=0', enabled => true); dbms_scheduler.set_attribute('j', 'max_failures', 2); end; => ok
         u> select to_char(next_run_date, 'HH24:MI:SS') from user_scheduler_jobs => 03:00:00
         {due}"
    ));
    assert!(db.run_scheduled("J").contains("ORA-01403"));
    db.play(&format!(
        "{state} => SCHEDULEDTRUE11
         u> select count(*) from log => 0
         u> select status || error# || substr(additional_info, 1, 9) from user_scheduler_job_run_details => FAILED1403ORA-01403
         {due}"
    ));
    assert!(db.run_scheduled("J").contains("ORA-01403"));
    assert_eq!(db.run_scheduled("J"), "not due");
    db.play(&format!(
        "{state} => BROKENFALSE22
         u> begin dbms_scheduler.set_attribute('j', 'job_action', 'insert into log values (2);'); dbms_scheduler.set_attribute('j', 'max_runs', 3); dbms_scheduler.set_attribute('j', 'auto_drop', false); dbms_scheduler.enable('j'); end; => ok
         {state} => SCHEDULEDTRUE20
         {due}"
    ));
    assert_eq!(db.run_scheduled("J"), "done");
    db.play(&format!(
        "{state} => COMPLETEDFALSE30
         u> select n from log => 2
         u> begin dbms_scheduler.set_attribute_null('j', 'max_runs'); dbms_scheduler.set_attribute('j', 'repeat_interval', 'sysdate + 7'); dbms_scheduler.enable('j'); end; => ok
         {due}"
    ));
    assert_eq!(db.run_scheduled("J"), "done");
    db.play(&format!(
        "{state} => SCHEDULEDTRUE40
         u> select round(cast(next_run_date as date) - sysdate) from user_scheduler_jobs => 7
         u> begin dbms_scheduler.disable('j'); end; => ok
         {state} => DISABLEDFALSE40
         u> begin dbms_scheduler.run_job('j', use_current_session => false); end; => ok"
    ));
    assert_eq!(db.run_scheduled("J"), "done");
    db.play(&format!("{state} => DISABLEDFALSE50"));
}

#[test]
fn programs_and_schedules() {
    let mut db = Db::new();
    db.users(&["u"]);
    db.play(
        "sys> grant create table, create procedure, create job to u => ok
         u> create table log (n number, s varchar2(100)) => ok
         u> create procedure p(n number, s varchar2) as begin insert into log values (n, s); end; => ok
         u> begin dbms_scheduler.create_program('pr', 'STORED_PROCEDURE', 'p', 2, comments => 'c'); end; => ok
         u> begin dbms_scheduler.enable('pr'); end; => ORA-27456
         u> begin dbms_scheduler.define_program_argument('pr', 1, 'n', 'NUMBER', '3'); dbms_scheduler.define_program_argument('pr', 2, 's', 'VARCHAR2'); end; => ok
         u> begin dbms_scheduler.define_program_argument('pr', 3, 'x', 'NUMBER'); end; => ORA-27465
         u> begin dbms_scheduler.define_program_argument('pr', 2, 'N', 'NUMBER'); end; => ORA-27485
         u> begin dbms_scheduler.enable('pr'); end; => ok
         u> select argument_name || argument_type || default_value from user_scheduler_program_args order by argument_position => NNUMBER3; SVARCHAR2
         u> begin dbms_scheduler.create_schedule('sc', repeat_interval => 'FREQ=WEEKLY;BYDAY=MON'); end; => ok
         u> begin dbms_scheduler.create_schedule('s2', repeat_interval => 'FREQ=WEEKLY;BYDAY=XXX'); end; => ORA-27416
         u> begin dbms_scheduler.create_schedule('s2', repeat_interval => 'sysdate + 1'); end; => ORA-27418
         u> begin dbms_scheduler.set_attribute('sc', 'repeat_interval', 'sysdate + 1'); end; => ORA-27418
         u> begin dbms_scheduler.create_job('j', program_name => 'pr', schedule_name => 'sc'); end; => ok
         u> begin dbms_scheduler.create_job('j2', program_name => 'nope', schedule_name => 'sc'); end; => ORA-27476: \"U\".\"NOPE\" does not exist
         u> begin dbms_scheduler.enable('j'); end; => ORA-27457
         u> begin dbms_scheduler.set_job_argument_value('j', 's', 'hi'); dbms_scheduler.enable('j'); end; => ok
         u> select program_name || schedule_name || schedule_type || to_char(next_run_date, 'DY') from user_scheduler_jobs => PRSCNAMEDMON
         u> begin dbms_scheduler.set_attribute('sc', 'repeat_interval', 'FREQ=WEEKLY;BYDAY=TUE'); end; => ok
         u> select to_char(next_run_date, 'DY') from user_scheduler_jobs => TUE
         u> begin dbms_scheduler.run_job('j'); end; => ok
         u> select n || s from log => 3hi
         u> begin dbms_scheduler.drop_program('pr'); end; => ORA-27479
         u> begin dbms_scheduler.drop_schedule('sc'); end; => ORA-27479
         u> begin dbms_scheduler.copy_job('j', 'jj'); dbms_scheduler.drop_job('j,jj'); dbms_scheduler.drop_program('pr'); dbms_scheduler.drop_schedule('sc'); end; => ok
         u> begin dbms_scheduler.drop_schedule('sc'); end; => ORA-27476
         u> select (select count(*) from user_scheduler_programs) + (select count(*) from user_scheduler_schedules) + (select count(*) from user_scheduler_jobs) from dual => 0
         sys> select count(*) from sys.scheduler$_argument => 0",
    );
}

#[test]
fn rights_and_names() {
    let mut db = Db::new();
    db.users(&["u", "x", "y", "anyone"]);
    db.play(
        "u> begin dbms_scheduler.create_job(job_name => 'j', job_type => 'PLSQL_BLOCK', job_action => 'null;'); end; => ORA-27486: insufficient privileges
         sys> grant create job, create table to u => ok
         sys> grant create any job to anyone => ok
         u> create table t (n number) => ok
         u> begin dbms_scheduler.create_job(job_name => 't', job_type => 'PLSQL_BLOCK', job_action => 'null;'); end; => ORA-27477: \"U\".\"T\" already exists
         u> begin dbms_scheduler.create_job(job_name => 'j', job_type => 'PLSQL_BLOCK', job_action => 'insert into t values (uid);', enabled => true, start_date => systimestamp + 1); end; => ok
         u> begin dbms_scheduler.create_job(job_name => 'j', job_type => 'PLSQL_BLOCK', job_action => 'null;'); end; => ORA-27477
         u> begin dbms_scheduler.create_job(job_name => 'a b', job_type => 'PLSQL_BLOCK', job_action => 'null;'); end; => ORA-27452
         u> begin dbms_scheduler.create_job(job_name => null, job_type => 'PLSQL_BLOCK', job_action => 'null;'); end; => ORA-27451
         u> begin dbms_scheduler.create_job(job_name => 'x.j', job_type => 'PLSQL_BLOCK', job_action => 'null;'); end; => ORA-27486
         u> begin dbms_scheduler.create_job(job_name => 'k', job_type => 'WISH', job_action => 'null;'); end; => ORA-27465
         u> begin dbms_scheduler.create_job(job_name => 'k', job_type => 'EXECUTABLE', job_action => '/bin/true'); end; => ORA-03001
         u> begin dbms_scheduler.create_job(job_name => 'early', job_type => 'PLSQL_BLOCK', job_action => 'nobody_knows;', enabled => true, start_date => systimestamp + 1); dbms_scheduler.drop_job('early'); end; => ok
         u> begin dbms_scheduler.create_job(job_name => 'k', job_type => 'STORED_PROCEDURE', job_action => 'p; drop table t', enabled => true); end; => ORA-27452
         u> begin dbms_scheduler.create_job(job_name => 'k', job_type => 'PLSQL_BLOCK', job_action => 'null;', repeat_interval => 'FREQ=SOMETIMES'); end; => ORA-27412
         u> begin dbms_scheduler.create_job(job_name => 'k', job_type => 'PLSQL_BLOCK', job_action => 'null;', repeat_interval => 'not an expression'); end; => ORA-27412
         u> begin dbms_scheduler.create_job(job_name => 'k', job_type => 'PLSQL_BLOCK', job_action => 'null;', start_date => systimestamp, end_date => systimestamp - 1); end; => ORA-27483
         u> begin dbms_scheduler.create_job(job_name => 'k', job_type => 'PLSQL_BLOCK', job_action => 'null;', job_class => 'none'); end; => ORA-27476
         u> begin dbms_scheduler.set_attribute('j', 'colour', 'red'); end; => ORA-27469
         u> begin dbms_scheduler.set_attribute('j', 'max_runs', 'many'); end; => ORA-27465
         u> begin dbms_scheduler.set_attribute('j', 'max_run_duration', interval '1' hour); end; => ORA-03001
         u> begin dbms_scheduler.stop_job('j'); end; => ORA-27366
         u> select count(*) from user_scheduler_jobs => 1
         x> begin dbms_scheduler.run_job('u.j'); end; => ORA-27486
         x> begin dbms_scheduler.drop_job('u.j'); end; => ORA-27486
         x> select count(*) from all_scheduler_jobs => 0
         anyone> select owner || job_name from all_scheduler_jobs => UJ
         anyone> begin dbms_scheduler.run_job('u.j'); end; => ok
         anyone> begin dbms_scheduler.create_job(job_name => 'sys.j', job_type => 'PLSQL_BLOCK', job_action => 'null;'); end; => ORA-27486
         anyone> begin dbms_scheduler.create_job(job_name => 'nobody.j', job_type => 'PLSQL_BLOCK', job_action => 'null;'); end; => ORA-01435
         u> select count(*) from t => 1
         u> insert into t values (0) => ok
         u> begin dbms_scheduler.disable('j'); end; => ok
         u> rollback => ok
         u> select count(*) from t where n = 0 => 1
         u> begin dbms_scheduler.purge_log; end; => ORA-27486
         sys> begin dbms_scheduler.purge_log; dbms_scheduler.set_scheduler_attribute('log_history', '5'); end; => ok
         sys> select count(*) from dba_scheduler_job_log => 0
         sys> select value from dba_scheduler_global_attribute => 5
         anyone> begin dbms_scheduler.create_job(job_name => 'y.j', job_type => 'PLSQL_BLOCK', job_action => 'null;'); end; => ok
         sys> drop user y cascade => ok
         sys> select owner from dba_scheduler_jobs => U",
    );
}

#[test]
fn a_failed_call_changes_nothing_and_a_trigger_may_not_call() {
    let mut db = Db::new();
    db.users(&["u"]);
    db.play(
        "sys> grant create job, create table, create trigger to u => ok
         u> create table t (n number) => ok
         u> begin dbms_scheduler.create_job(job_name => 'a', job_type => 'PLSQL_BLOCK', job_action => 'null;'); end; => ok
         u> begin dbms_scheduler.create_job(job_name => 'c', job_type => 'PLSQL_BLOCK', job_action => 'null;'); end; => ok
         u> begin dbms_scheduler.drop_job('a,b', commit_semantics => 'transactional'); end; => ORA-27475
         u> begin dbms_scheduler.drop_job('a,b', commit_semantics => 'ABSORB_ERRORS'); end; => ORA-03001
         u> begin dbms_scheduler.enable('a', 'HOPE'); end; => ORA-27465
         u> begin dbms_scheduler.drop_job('c,b,a'); end; => ORA-27475
         u> select job_name from user_scheduler_jobs => A
         u> create trigger g after insert on t begin dbms_scheduler.drop_job('a'); end; => ok
         u> insert into t values (1) => ORA-04092
         u> select count(*) from user_scheduler_jobs => 1",
    );
}

#[test]
fn a_run_that_lost_its_process_is_ended_by_the_next_slave() {
    let mut db = Db::new();
    db.users(&["u"]);
    let lose = "sys> update sys.scheduler$_job set state = 'RUNNING', last_start = sys_extract_utc(systimestamp) => ok
                sys> commit => ok";
    db.play(&format!(
        "sys> grant create job to u => ok
         u> begin dbms_scheduler.create_job(job_name => 'j', job_type => 'PLSQL_BLOCK', job_action => 'null;', start_date => systimestamp, repeat_interval => 'FREQ=HOURLY', enabled => true); end; => ok
         {lose}"
    ));
    assert_eq!(db.run_scheduled("J"), "not due");
    db.play(
        "u> select state || enabled || run_count from user_scheduler_jobs => SCHEDULEDTRUE0
         u> select status || additional_info from user_scheduler_job_run_details => STOPPEDREASON=\"Job slave process was terminated\"",
    );
}

#[test]
fn calendars_are_evaluated_in_the_time_zone_of_the_start_date() {
    let mut db = Db::new();
    let next = |calendar: &str, after: &str| {
        format!(
            "sys> declare n timestamp with time zone; begin dbms_output.enable; dbms_scheduler.evaluate_calendar_string('{calendar}', timestamp '2024-03-30 02:30:00 Europe/Berlin', timestamp '{after}', n); dbms_output.put_line(to_char(n, 'YYYY-MM-DD HH24:MI:SS TZR')); end;"
        )
    };
    db.play(&format!(
        "{} => 2024-04-01 02:30:00 EUROPE/BERLIN
         {} => 2024-03-31 03:30:00 EUROPE/BERLIN
         {} => ORA-27415
         sys> select substr(dbms_scheduler.generate_job_name('X_'), 1, 2) from dual => X_",
        next("FREQ=DAILY", "2024-03-31 10:00:00 Europe/Berlin"),
        next("FREQ=DAILY", "2024-03-30 10:00:00 Europe/Berlin"),
        next("BYHOUR=1", "2024-03-30 10:00:00 Europe/Berlin"),
    ));
}

#[test]
fn alerts_reach_registered_sessions_at_the_commit() {
    let mut db = Db::new();
    db.users(&["u", "x"]);
    let wait = "declare m varchar2(1800); n varchar2(30); s integer; begin dbms_output.enable; dbms_alert.waitany(n, m, s, 0); dbms_output.put_line(n || '/' || m || '/' || s); end;";
    db.play(&format!(
        "u> begin dbms_alert.register('a'); end; => ORA-06550
         sys> grant execute on dbms_alert to u, x => ok
         u> {wait} => ORA-20000
         u> begin dbms_alert.register('a'); dbms_alert.register('b'); end; => ok
         u> {wait} => //1
         x> begin dbms_alert.signal('A', 'hello'); dbms_alert.signal('none', null); end; => ok
         u> {wait} => //1
         x> commit => ok
         u> {wait} => A/hello/0
         u> {wait} => //1
         x> begin dbms_alert.signal('b', null); rollback; dbms_alert.signal('b', null); commit; end; => ok
         u> begin dbms_alert.remove('a'); end; => ok
         u> {wait} => B//0
         x> begin dbms_alert.signal('b', 'one'); commit; dbms_alert.signal('b', 'two'); end; => ok
         u> {wait} => //1
         x> commit => ok
         u> {wait} => B/two/0
         u> begin dbms_alert.removeall; end; => ok
         u> {wait} => ORA-20000
         x> begin dbms_output.enable; dbms_output.put_line(utl_http.request('http://localhost')); end; => ORA-29273 & ORA-24247"
    ));
}

#[test]
fn an_expression_without_a_value_breaks_its_job() {
    let mut db = Db::new();
    db.users(&["u"]);
    db.play(
        "sys> grant create job, create procedure to u => ok
         u> create function f return date as begin raise program_error; end; => ok
         u> begin dbms_scheduler.create_job(job_name => 'j', job_type => 'PLSQL_BLOCK', job_action => 'null;', repeat_interval => 'f', enabled => true); end; => ok",
    );
    assert!(db.run_scheduled("J").contains("ORA-06501"));
    let state = "u> select state || enabled || failure_count from user_scheduler_jobs => BROKENFALSE1";
    db.play(&format!(
        "{state}
         u> begin dbms_scheduler.set_attribute('j', 'repeat_interval', 'sysdate - 1'); dbms_scheduler.enable('j'); end; => ok"
    ));
    assert!(db.run_scheduled("J").contains("ORA-27419"));
    db.play(state);
}

#[test]
fn attributes_have_types() {
    let mut db = Db::new();
    db.users(&["u"]);
    let get = |kind: &str, attribute: &str, shown: &str| {
        format!(
            "u> declare v {kind}; begin dbms_output.enable; dbms_scheduler.get_attribute('j', '{attribute}', v); dbms_output.put_line({shown}); end;"
        )
    };
    db.play(&format!(
        "sys> grant create job to u => ok
         u> begin dbms_scheduler.create_job('J', 'PLSQL_BLOCK', 'null;', 0, systimestamp + 1, 'FREQ=DAILY', null, 'DEFAULT_JOB_CLASS', true); end; => ok
         u> begin dbms_scheduler.set_attribute('j', 'max_runs', 3); dbms_scheduler.set_attribute('j', 'end_date', sysdate + 9); dbms_scheduler.set_attribute('j', 'start_date', date '2024-05-01'); dbms_scheduler.set_attribute('j', 'start_date', timestamp '2024-05-02 00:00:00'); end; => ok
         u> begin dbms_scheduler.set_attribute('j', 'start_date', systimestamp); dbms_scheduler.set_attribute('j', 'start_date', localtimestamp); end; => ok
         u> begin dbms_scheduler.set_attribute('j', 'comments', date '2024-05-01'); end; => ORA-27467
         {} => 3
         {} => 3
         {} => TRUE
         {} => ORA-27467
         {} => ORA-27467
         {} => ORA-27467
         {} => ORA-06502",
        get("varchar2(9)", "max_runs", "v"),
        get("pls_integer", "max_runs", "v"),
        get("boolean", "enabled", "case when v then 'TRUE' end"),
        get("varchar2(9)", "enabled", "v"),
        get("boolean", "repeat_interval", "case when v then 'TRUE' end"),
        get("timestamp with time zone", "repeat_interval", "v"),
        get("varchar2(2)", "repeat_interval", "v"),
    ));
}

#[test]
fn frequencies_below_a_day_have_the_repeated_hour_twice() {
    let mut db = Db::new();
    let next = |calendar: &str, after: &str| {
        format!(
            "sys> declare n timestamp with time zone; begin dbms_output.enable; dbms_scheduler.evaluate_calendar_string('{calendar}', timestamp '2024-10-20 00:10:00 Europe/Berlin', timestamp '{after} UTC' at time zone 'Europe/Berlin', n); dbms_output.put_line(to_char(sys_extract_utc(n), 'YYYY-MM-DD HH24:MI:SS')); end;"
        )
    };
    // Summer time ends on 27 October at 01:00 UTC.
    let cases = [
        ("FREQ=HOURLY", "2024-10-26 23:10:00", "2024-10-27 00:10:00"),
        ("FREQ=HOURLY", "2024-10-27 00:10:00", "2024-10-27 01:10:00"),
        ("FREQ=HOURLY", "2024-10-27 01:10:00", "2024-10-27 02:10:00"),
        ("FREQ=MINUTELY", "2024-10-27 00:30:00", "2024-10-27 00:31:00"),
        ("FREQ=MINUTELY", "2024-10-27 00:59:00", "2024-10-27 01:00:00"),
        ("FREQ=MINUTELY", "2024-10-27 01:30:00", "2024-10-27 01:31:00"),
        ("FREQ=MINUTELY", "2024-03-31 00:59:00", "2024-10-19 22:10:00"),
        ("FREQ=DAILY;BYHOUR=2", "2024-10-26 22:00:00", "2024-10-27 01:10:00"),
        ("FREQ=DAILY;BYHOUR=2", "2024-10-27 01:10:00", "2024-10-28 01:10:00"),
    ];
    for (calendar, after, wanted) in cases {
        db.play(&format!("{} => {wanted}", next(calendar, after)));
    }
}

#[test]
fn a_job_that_raises_ora_00028_has_failed_and_a_read_only_one_succeeds() {
    let mut db = Db::new();
    db.users(&["u"]);
    let create = |name: &str, action: &str| {
        format!(
            "u> begin dbms_scheduler.create_job(job_name => '{name}', job_type => 'PLSQL_BLOCK', job_action => '{action}', enabled => true); end; => ok"
        )
    };
    db.play("sys> grant create job to u => ok");
    db.play(&create("a", "declare e exception; pragma exception_init(e, -28); begin raise e; end;"));
    db.play(&create("b", "set transaction read only;"));
    assert!(db.run_scheduled("A").contains("ORA-00028"));
    assert_eq!(db.run_scheduled("B"), "done");
    db.play(
        "u> select job_name || status || error# from user_scheduler_job_run_details order by 1 => AFAILED28; BSUCCEEDED0
         u> select count(*) from user_scheduler_jobs => 0",
    );
}
