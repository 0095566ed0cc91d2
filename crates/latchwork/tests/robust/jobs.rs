//! DBMS_JOB: jobs that succeed, fail, break and lose their process.

use crate::common::{assert_nothing_held, eventually, number, rows, run, start, sysdba};

#[test]
fn jobs_run_fail_break_and_survive_their_slaves() {
    let instance = start(&[("job_queue_processes", "4")]);
    let mut c = sysdba(&instance);
    run(&mut c, &["create table log (n number, t date)"]);
    // Nothing runs before the commit; a rollback removes the job.
    run(
        &mut c,
        &["declare j number; begin dbms_job.submit(j, 'insert into log values (1, sysdate);'); end;", "rollback"],
    );
    run(
        &mut c,
        &["declare j number; begin dbms_job.submit(j, 'insert into log values (2, sysdate);'); end;", "commit"],
    );
    eventually("the job runs", || number(&mut c, "select count(*) from log where n = 2") == 1);
    eventually("it is gone", || number(&mut c, "select count(*) from user_jobs") == 0);
    assert_eq!(number(&mut c, "select count(*) from log where n = 1"), 0);
    // With an interval it runs again.
    run(
        &mut c,
        &[
            "declare j number; begin dbms_job.submit(j, 'insert into log values (3, sysdate);', sysdate, 'sysdate + 1/86400'); end;",
            "commit",
        ],
    );
    eventually("it runs again and again", || number(&mut c, "select count(*) from log where n = 3") >= 3);
    run(&mut c, &["begin for j in (select job from user_jobs) loop dbms_job.remove(j.job); end loop; end;", "commit"]);
    // A failing job leaves no changes, is counted, and is repeated later; after sixteen failures it is broken.
    run(
        &mut c,
        &[
            "declare j number; begin dbms_job.submit(j, 'insert into log values (4, sysdate); raise no_data_found;', sysdate, 'sysdate + 1'); end;",
            "commit",
        ],
    );
    eventually("it fails", || number(&mut c, "select count(*) from user_jobs where failures = 1") == 1);
    assert_eq!(rows(&mut c, "select broken from user_jobs"), ["N"]);
    assert_eq!(number(&mut c, "select count(*) from user_jobs where next_date > sysdate"), 1);
    for failures in 2..=16 {
        run(
            &mut c,
            &[
                "begin for j in (select job from user_jobs) loop dbms_job.next_date(j.job, sysdate); end loop; end;",
                "commit",
            ],
        );
        eventually("it fails again", || {
            number(&mut c, &format!("select count(*) from user_jobs where failures = {failures}")) == 1
        });
    }
    assert_eq!(rows(&mut c, "select broken from user_jobs"), ["Y"]);
    assert_eq!(number(&mut c, "select count(*) from log where n = 4"), 0);
    // Repaired and marked as not broken, it runs.
    run(
        &mut c,
        &[
            "begin for j in (select job from user_jobs) loop dbms_job.what(j.job, 'insert into log values (5, sysdate);'); dbms_job.broken(j.job, false, sysdate); end loop; end;",
            "commit",
        ],
    );
    eventually("it runs now", || number(&mut c, "select count(*) from log where n = 5") >= 1);
    eventually("its failures are forgotten", || {
        number(&mut c, "select count(*) from user_jobs where nvl(failures, 0) = 0") == 1
    });
    run(&mut c, &["begin for j in (select job from user_jobs) loop dbms_job.remove(j.job); end loop; end;", "commit"]);
    // A slave dies: its changes are undone, and the job runs again.
    run(&mut c, &["create table gate (n number)", "insert into gate values (0)", "commit"]);
    let mut keeper = sysdba(&instance);
    run(&mut keeper, &["update gate set n = 1"]);
    run(
        &mut c,
        &[
            "declare j number; begin dbms_job.submit(j, 'insert into log values (6, sysdate); update gate set n = n + 1;'); end;",
            "commit",
        ],
    );
    let slave = "select p.spid from v$session s, v$process p where s.paddr = p.addr and s.event = 'enq: TX - row lock contention'";
    eventually("the job waits at the gate", || !rows(&mut c, slave).is_empty());
    let spid: i32 = rows(&mut c, slave)[0].trim().parse().unwrap();
    os::process::kill(spid, os::signal::SIGKILL).unwrap();
    run(&mut keeper, &["commit"]);
    eventually("the job runs after all", || number(&mut c, "select count(*) from log where n = 6") == 1);
    eventually("and is gone", || number(&mut c, "select count(*) from user_jobs") == 0);
    assert_nothing_held(&mut c, "select * from v$latchholder");
}

#[test]
fn a_job_is_not_given_a_text_that_does_not_compile() {
    let instance = start(&[("job_queue_processes", "0")]);
    let mut c = sysdba(&instance);
    run(&mut c, &["declare j number; begin dbms_job.submit(j, 'null;', sysdate + 1); end;"]);
    for call in ["what(j.job, 'drop table log')", "what(j.job, 'null')", "change(j.job, 'nobody_knows;', null, null)"] {
        let block = format!("begin for j in (select job from user_jobs) loop dbms_job.{call}; end loop; end;");
        assert_eq!(c.execute(&block, &[]).map(drop).expect_err(call).code(), 6550, "{call}");
    }
    assert_eq!(rows(&mut c, "select what from user_jobs"), ["null;"]);
}

/// A job runs in one session at a time: DBMS_JOB.RUN, another RUN and the slaves exclude each other.
#[test]
fn a_job_that_runs_is_not_run_a_second_time() {
    let instance = start(&[("job_queue_processes", "2")]);
    let (mut c, mut other, mut keeper) = (sysdba(&instance), sysdba(&instance), sysdba(&instance));
    run(&mut c, &["create table gate (n number)", "insert into gate values (0)", "commit"]);
    run(&mut keeper, &["update gate set n = n"]);
    let text = "update gate set n = n + 1;";
    // Due in an hour, and run by a session, which waits at the gate.
    run(
        &mut c,
        &[
            &format!("declare j number; begin dbms_job.submit(j, '{text}', sysdate + 1/24, 'sysdate + 1'); end;"),
            "commit",
        ],
    );
    let job = number(&mut c, "select job from user_jobs");
    let again = format!("begin dbms_job.run({job}); end;");
    let locked = format!("select count(*) from v$lock where type = 'JQ' and id2 = {job} and lmode = 6");
    std::thread::scope(|scope| {
        // A failure of the test ends this session, and with it the wait of the job.
        let mut keeper = keeper;
        let first = scope.spawn(|| other.execute(&again, &[]).map(drop));
        eventually("it runs", || number(&mut c, &locked) == 1);
        let told = c.execute(&again, &[]).expect_err("it runs already").to_string();
        assert!(told.contains("ORA-12011: execution of 1 jobs failed"), "{told}");
        assert!(told.contains(&format!("ORA-27478: job \"SYS\".\"DBMS_JOB$_{job}\" is running")), "{told}");
        assert_eq!(number(&mut c, "select nvl(failures, 0) from user_jobs"), 0);
        // The slaves do not run it either, though it is due now.
        run(&mut c, &[&format!("begin dbms_job.next_date({job}, sysdate); end;"), "commit"]);
        let looks = "select sum(total_waits) from v$system_event where event = 'jobq coordinator wait'";
        // They do not get its enqueue to see that: a DBMS_JOB.RUN at that moment would fail.
        let gets = "select total_req# from v$enqueue_statistics where eq_type = 'JQ'";
        let (before, gets_before) = (number(&mut c, looks), number(&mut c, gets));
        eventually("CJQ0 looks twice", || number(&mut c, looks) >= before + 2);
        assert_eq!(number(&mut c, gets), gets_before);
        run(&mut keeper, &["commit"]);
        first.join().expect("the session answers").expect("the job is run");
    });
    assert_eq!(number(&mut c, "select n from gate"), 1);
    assert_eq!(number(&mut c, &locked), 0);
    // A job that runs itself.
    run(&mut c, &[&format!("begin dbms_job.what({job}, 'dbms_job.run(job);'); end;"), "commit"]);
    let told = c.execute(&again, &[]).expect_err("it runs itself").to_string();
    assert!(told.contains("ORA-27478"), "{told}");
    assert_eq!(number(&mut c, &locked), 0);
}
