//! DBMS_SCHEDULER with its job processes: runs, stops, dead processes and restarts.

use crate::common::{assert_nothing_held, eventually, number, rows, run, start, sysdba};
use crate::shutdown::Database;

/// A job that waits for the row of a table until another session lets it go.
const GATE: &[&str] = &[
    "create table log (n number, s varchar2(200))",
    "create table gate (n number)",
    "insert into gate values (0)",
    "commit",
];

#[test]
fn scheduled_jobs_run_repeat_and_are_logged() {
    let instance = start(&[("job_queue_processes", "4")]);
    let mut c = sysdba(&instance);
    run(&mut c, GATE);
    run(
        &mut c,
        &[
            "begin dbms_scheduler.create_job(job_name => 'once', job_type => 'PLSQL_BLOCK', job_action => 'insert into log values (1, job_name);', enabled => true); end;",
            "begin dbms_scheduler.create_job(job_name => 'again', job_type => 'PLSQL_BLOCK', job_action => 'begin insert into log values (2, null); end;', repeat_interval => 'FREQ=SECONDLY', enabled => true); end;",
            "begin dbms_scheduler.create_job(job_name => 'fails', job_type => 'PLSQL_BLOCK', job_action => 'insert into log values (3, null); raise program_error;', enabled => true); end;",
            "begin dbms_scheduler.create_job(job_name => 'asked', job_type => 'PLSQL_BLOCK', job_action => 'insert into log values (4, null);', start_date => systimestamp + 1); end;",
            "begin dbms_scheduler.run_job('asked', false); end;",
        ],
    );
    eventually("it runs once", || rows(&mut c, "select s from log where n = 1") == ["ONCE"]);
    eventually("it runs again and again", || number(&mut c, "select count(*) from log where n = 2") >= 3);
    eventually("it runs though it is disabled", || number(&mut c, "select count(*) from log where n = 4") == 1);
    let log = "select status || error# from dba_scheduler_job_run_details where job_name = 'FAILS'";
    eventually("the failure is in the log", || rows(&mut c, log) == ["FAILED6501"]);
    assert_eq!(number(&mut c, "select count(*) from log where n = 3"), 0);
    let left = "select job_name || state from dba_scheduler_jobs order by 1";
    eventually("jobs that are over are dropped", || {
        rows(&mut c, left).iter().map(String::as_str).eq(["AGAINSCHEDULED", "ASKEDDISABLED"])
            || rows(&mut c, left).iter().map(String::as_str).eq(["AGAINRUNNING", "ASKEDDISABLED"])
    });
    run(&mut c, &["begin dbms_scheduler.drop_job('again', force => true); end;"]);
    assert_eq!(number(&mut c, "select count(*) from dba_scheduler_jobs"), 1);
}

#[test]
fn a_job_is_stopped_or_loses_its_process() {
    let instance = start(&[("job_queue_processes", "4")]);
    let (mut c, mut keeper) = (sysdba(&instance), sysdba(&instance));
    run(&mut c, GATE);
    run(&mut keeper, &["update gate set n = n"]);
    let job = "begin dbms_scheduler.create_job(job_name => 'j', job_type => 'PLSQL_BLOCK', job_action => 'insert into log values (1, null); update gate set n = n + 1;', start_date => systimestamp, repeat_interval => 'FREQ=DAILY', enabled => true); end;";
    run(&mut c, &[job]);
    let waits = "select count(*) from v$session s, dba_scheduler_running_jobs r where r.session_id = s.sid and s.event = 'enq: TX - row lock contention'";
    eventually("it waits", || number(&mut c, waits) == 1);
    let code = |e: client::ClientError| e.code();
    assert_eq!(c.execute("begin dbms_scheduler.drop_job('j'); end;", &[]).map(drop).map_err(code), Err(27478));
    assert_eq!(c.execute("begin dbms_scheduler.disable('j'); end;", &[]).map(drop).map_err(code), Err(27478));
    assert_eq!(c.execute("begin dbms_scheduler.run_job('j', false); end;", &[]).map(drop).map_err(code), Err(27478));
    run(&mut c, &["begin dbms_scheduler.stop_job('j'); end;"]);
    assert_eq!(rows(&mut c, "select state || run_count from dba_scheduler_jobs"), ["SCHEDULED0"]);
    let log = "select status || ':' || additional_info from dba_scheduler_job_run_details order by log_id";
    assert_eq!(rows(&mut c, log), ["STOPPED:REASON=\"Stop job called by user: 'SYS'\""]);
    // Its process dies.
    run(&mut c, &["begin dbms_scheduler.run_job('j', false); end;"]);
    eventually("it waits again", || number(&mut c, waits) == 1);
    let spid = &rows(&mut c, "select slave_os_process_id from dba_scheduler_running_jobs")[0];
    os::process::kill(spid.trim().parse().unwrap(), os::signal::SIGKILL).unwrap();
    eventually("the run is ended", || {
        rows(&mut c, log).last().is_some_and(|last| last.contains("Job slave process was terminated"))
    });
    assert_eq!(rows(&mut c, "select state || run_count from dba_scheduler_jobs"), ["SCHEDULED0"]);
    run(&mut keeper, &["rollback"]);
    run(&mut c, &["begin dbms_scheduler.run_job('j', false); end;"]);
    eventually("it runs", || number(&mut c, "select count(*) from log") == 1);
    eventually("its state", || rows(&mut c, "select state || run_count from dba_scheduler_jobs") == ["SCHEDULED1"]);
    assert_nothing_held(&mut c, "select * from v$latchholder");
    assert_nothing_held(&mut c, "select * from v$lock where type = 'JQ'");
}

#[test]
fn runs_of_an_aborted_instance_are_ended_and_those_that_recover_begin_again() {
    let db = Database::new("jobs");
    db.start();
    let (mut c, mut keeper) = (db.connect(), db.connect());
    run(&mut c, GATE);
    run(&mut keeper, &["update gate set n = n"]);
    let create = |name: &str, times: &str| {
        format!(
            "begin dbms_scheduler.create_job(job_name => '{name}', job_type => 'PLSQL_BLOCK', job_action => 'insert into log values (1, job_name); update gate set n = n + 1;', {times}); end;"
        )
    };
    let daily = "start_date => systimestamp, repeat_interval => 'FREQ=DAILY'";
    run(
        &mut c,
        &[
            &create("daily", daily),
            &create("expression", "repeat_interval => 'sysdate + 1'"),
            &create("once", "comments => null"),
            &create("recovers", daily),
            "begin dbms_scheduler.set_attribute('recovers', 'restart_on_recovery', true); end;",
            "begin dbms_scheduler.enable('daily,expression,once,recovers'); end;",
        ],
    );
    let waits = "select count(*) from v$session where event = 'enq: TX - row lock contention'";
    eventually("they wait", || number(&mut c, waits) == 4);
    std::mem::forget((c, keeper));
    let (ok, text) = db.program(&["stop", "--mode", "abort"]);
    assert!(ok, "{text}");
    db.start();
    let mut c = db.connect();
    let log = "select job_name || ' ' || status from dba_scheduler_job_run_details order by 1";
    let ended = ["DAILY STOPPED", "EXPRESSION STOPPED", "ONCE STOPPED", "RECOVERS STOPPED", "RECOVERS SUCCEEDED"];
    eventually("the runs are ended", || rows(&mut c, log) == ended);
    assert_eq!(rows(&mut c, "select s from log"), ["RECOVERS"]);
    assert_eq!(
        rows(&mut c, "select job_name || ' ' || state || ' ' || run_count from dba_scheduler_jobs order by 1"),
        ["DAILY SCHEDULED 0", "EXPRESSION SCHEDULED 0", "ONCE STOPPED 0", "RECOVERS SCHEDULED 1"]
    );
}
