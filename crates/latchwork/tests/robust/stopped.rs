//! Processes that are stopped by a signal or panic, and the order in which the kernel kills processes when memory runs
//! out.

use crate::common::{PATIENCE, number, rows, run, start, sysdba};
use os::signal::{SIGCONT, SIGSTOP};
use std::time::Instant;

#[test]
fn the_stopped_process_of_a_killed_session_ends_and_gives_up_what_it_holds() {
    let instance = start(&[]);
    let (mut holder, mut other) = (sysdba(&instance), sysdba(&instance));
    run(&mut holder, &["create table t (n number)", "insert into t values (1)", "commit", "update t set n = 2"]);
    let process = holder.welcome().server_process as i32;
    let sid = number(&mut holder, "select sid from v$mystat where rownum = 1");
    let serial = number(&mut holder, &format!("select serial# from v$session where sid = {sid}"));
    os::process::kill(process, SIGSTOP).unwrap();
    run(
        &mut other,
        &[&format!("alter system kill session '{sid},{serial}' immediate"), "update t set n = n + 10", "commit"],
    );
    assert_eq!(number(&mut other, "select n from t"), 11, "the holder's change is rolled back");
    let begun = Instant::now();
    while os::process::is_running(process) {
        assert!(begun.elapsed() < PATIENCE, "the stopped process is gone");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn a_stopped_process_whose_session_nobody_kills_goes_on_later() {
    let instance = start(&[]);
    let (mut holder, mut other) = (sysdba(&instance), sysdba(&instance));
    let process = holder.welcome().server_process as i32;
    os::process::kill(process, SIGSTOP).unwrap();
    // Another session is killed meanwhile, and PMON does a round.
    let ended = sysdba(&instance);
    let sid = format!(
        "select s.sid || ',' || s.serial# from v$session s, v$process p where s.paddr = p.addr and p.spid = '{}'",
        ended.welcome().server_process
    );
    let target = rows(&mut other, &sid).remove(0);
    run(&mut other, &[&format!("alter system kill session '{target}'")]);
    let rounds = "select nvl(sum(total_waits), 0) from v$system_event where event = 'pmon timer'";
    let before = number(&mut other, rounds);
    let begun = Instant::now();
    while number(&mut other, rounds) < before + 1 {
        assert!(begun.elapsed() < PATIENCE, "PMON goes round");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    os::process::kill(process, SIGCONT).unwrap();
    assert_eq!(number(&mut holder, "select 1 from dual"), 1);
}

#[test]
fn sessions_go_before_the_instance_when_memory_runs_out() {
    let instance = start(&[]);
    let session = sysdba(&instance);
    let score = |process: u32| -> i32 {
        let text = std::fs::read_to_string(format!("/proc/{process}/oom_score_adj")).unwrap();
        text.trim().parse().unwrap()
    };
    assert!(score(session.welcome().server_process) > score(instance.supervisor()));
}

#[test]
fn a_background_process_that_panics_ends_the_instance_as_its_death_does() {
    let mut instance = start(&[("_crash_point", "smon-round:2:panic")]);
    let begun = Instant::now();
    while instance.is_running() {
        assert!(begun.elapsed() < PATIENCE, "SMON panics in its second round");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn rollbacks_of_several_dead_processes_come_one_inside_another() {
    let instance = start(&[]);
    let mut keeper = sysdba(&instance);
    run(&mut keeper, &["create table big (n number, v varchar2(100))", "create index big_n on big (n)"]);
    run(&mut keeper, &["create table t (n number)", "insert into t values (1)", "commit"]);
    let mut dead: Vec<_> = (0..5).map(|_| sysdba(&instance)).collect();
    for (n, session) in dead.iter_mut().enumerate() {
        let insert =
            format!("insert into big select level * 10 + {n}, rpad('x', 50) from dual connect by level <= 4000");
        run(session, &[&insert]);
    }
    run(&mut dead[4], &["update t set n = n + 1"]);
    for session in &dead {
        os::process::kill(session.welcome().server_process as i32, os::signal::SIGKILL).unwrap();
        // PMON is working on one when the next one arrives.
        std::thread::sleep(std::time::Duration::from_millis(70));
    }
    run(&mut keeper, &["update t set n = n + 10", "commit"]);
    assert_eq!(number(&mut keeper, "select n from t"), 11);
    let begun = Instant::now();
    while number(&mut keeper, "select count(*) from v$transaction") > 0 {
        assert!(begun.elapsed() < PATIENCE, "all are rolled back");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(rows(&mut keeper, "select count(*), count(n) from big where n >= 0 or n is null"), ["0|0"]);
    assert_eq!(number(&mut keeper, "select count(*) from v$lock where type in ('TX', 'TM')"), 0);
}
