//! The time model: the times of sessions are consistent.

mod support;

use client::{Client, Ephemeral, EphemeralOptions};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::{connect, run};
use types::Value;

fn start() -> Ephemeral {
    let options =
        EphemeralOptions { params: Vec::new(), executable: Some(PathBuf::from(env!("CARGO_BIN_EXE_latchwork"))) };
    Ephemeral::start_with(&options).unwrap_or_else(|e| panic!("the instance starts: {e}"))
}

fn number(c: &mut Client, sql: &str) -> i64 {
    let rows = c.query(sql, &[]).and_then(|q| q.all()).unwrap_or_else(|e| panic!("{sql}: {e}"));
    match &rows[0][0] {
        Value::Number(n) => n.to_i64().unwrap(),
        other => panic!("{sql}: {other:?}"),
    }
}

fn time(c: &mut Client, sid: i64, name: &str) -> i64 {
    number(c, &format!("select value from v$sess_time_model where sid = {sid} and stat_name = '{name}'"))
}

const SID: &str = "select to_number(sys_context('userenv', 'sid')) from dual";

#[test]
fn sleeping_is_no_database_time_and_working_is() {
    let instance = start();
    let mut c = connect(&instance);
    let sid = number(&mut c, SID);
    let began = Instant::now();
    let before = time(&mut c, sid, "DB time");
    run(&mut c, "begin dbms_lock.sleep(0.5); end;");
    let after = time(&mut c, sid, "DB time");
    let all = began.elapsed().as_micros() as i64;
    assert!(after >= before && after - before <= all - 500_000, "{before} {after} {all}");

    let (cpu, sql) = (time(&mut c, sid, "DB CPU"), time(&mut c, sid, "sql execute elapsed time"));
    run(&mut c, "declare n number := 0; begin for i in 1 .. 300000 loop n := n + mod(i, 7); end loop; end;");
    let more = [time(&mut c, sid, "DB CPU") - cpu, time(&mut c, sid, "sql execute elapsed time") - sql];
    assert!(more.iter().all(|us| *us > 0), "{more:?}");
    assert!(time(&mut c, sid, "sql execute elapsed time") <= time(&mut c, sid, "DB time"));
    assert!(time(&mut c, sid, "hard parse elapsed time") <= time(&mut c, sid, "parse time elapsed"));
    assert!(time(&mut c, sid, "parse time elapsed") > 0);
    assert!(time(&mut c, sid, "connection management call elapsed time") > 0);
    let statistic =
        "select m.value from v$mystat m, v$statname n where n.statistic# = m.statistic# and n.name = 'DB time'";
    assert!(number(&mut c, statistic) * 10_000 <= time(&mut c, sid, "DB time"));
}

#[test]
fn a_call_on_its_way_counts_and_what_a_session_used_outlives_it() {
    let instance = start();
    let (mut c, mut other) = (connect(&instance), connect(&instance));
    let sid = number(&mut other, SID);
    let breaker = other.break_handle();
    let endless =
        "declare n number := 0; begin loop for i in 1 .. 1000 loop n := n + mod(i, 7); end loop; end loop; end;";
    let before = (time(&mut c, sid, "sql execute elapsed time"), time(&mut c, sid, "DB CPU"));
    let worker = std::thread::spawn(move || {
        let e = other.execute(endless, &[]).expect_err("it is broken");
        assert_eq!(e.code(), 1013, "{e}");
        other
    });
    // The value grows repeatedly during the call, and never decreases.
    let (mut seen, mut grown) = (before, 0);
    let until = Instant::now() + Duration::from_secs(60);
    while grown < 3 {
        assert!(Instant::now() < until && !worker.is_finished(), "{before:?} {seen:?}");
        let now = (time(&mut c, sid, "sql execute elapsed time"), time(&mut c, sid, "DB CPU"));
        assert!(now.0 >= seen.0 && now.1 >= seen.1, "{seen:?} {now:?}");
        grown += i32::from(now.0 > seen.0 && now.1 > seen.1);
        seen = now;
    }
    breaker.send().expect("a break is sent");
    let mut other = worker.join().unwrap();
    let own = time(&mut other, sid, "DB time");
    assert!(own >= seen.0 - before.0, "{own} {before:?} {seen:?}");
    drop(other);
    let sum = "select value from v$sys_time_model where stat_name = 'DB time'";
    let mut last = number(&mut c, sum);
    assert!(last >= own, "{last} {own}");
    // While sessions connect, wait and end, a value never decreases.
    let over = AtomicBool::new(false);
    let fell = std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    run(&mut connect(&instance), "begin null; end;");
                }
            });
        }
        let fell = (0..500).find_map(|_| {
            let before = std::mem::replace(&mut last, number(&mut c, sum));
            (last < before).then_some((before, last))
        });
        over.store(true, Ordering::Relaxed);
        fell
    });
    assert_eq!(fell, None);
}

#[test]
fn parses_in_a_call_are_no_part_of_its_execution_while_it_lasts() {
    let instance = start();
    let (mut c, mut locker, mut other) = (connect(&instance), connect(&instance), connect(&instance));
    run(&mut c, "create table held (v number)");
    run(&mut c, "insert into held values (1)");
    run(&mut c, "commit");
    run(&mut locker, "update held set v = 2");
    let sid = number(&mut other, SID);
    // New texts, and invalid ones, then a wait for the lock.
    let parses = "declare n number; begin \
                  for i in 1 .. 200 loop \
                    execute immediate 'select /* ' || i || ' */ count(*) from user_tables t, user_indexes i \
                                       where t.table_name = i.table_name and 1 = 0' into n; \
                    begin execute immediate 'select ' || lpad('(', 1000, '(') || i; exception when others then null; end; \
                  end loop; \
                  update held set v = 3; end;";
    let names = [
        "sql execute elapsed time",
        "parse time elapsed",
        "hard parse elapsed time",
        "failed parse elapsed time",
        "DB time",
    ];
    let sql = |name: &str| format!("max(case stat_name when '{name}' then value end)");
    let sql = format!("select {} from v$sess_time_model where sid = {sid}", names.map(sql).join(", "));
    let mut last = [0; 5];
    let mut look = |c: &mut Client| {
        let rows = c.query(&sql, &[]).and_then(|q| q.all()).unwrap_or_else(|e| panic!("{sql}: {e}"));
        let figure = |v: &Value| if let Value::Number(n) = v { n.to_i64().expect("it fits") } else { panic!("{v:?}") };
        let now: [i64; 5] = std::array::from_fn(|n| figure(&rows[0][n]));
        assert!(now.iter().zip(last).all(|(now, last)| *now >= last), "{names:?} {last:?} {now:?}");
        let [execute, parse, hard, failed, busy] = now;
        assert!(execute + parse <= busy && hard + failed <= parse, "{names:?} {now:?}");
        last = now;
        now
    };
    let before = look(&mut c);
    let worker = std::thread::spawn(move || {
        run(&mut other, parses);
        other
    });
    let waits = format!(
        "select count(*) from v$session where sid = {sid} and event = 'enq: TX - row lock contention' and state = 'WAITING'"
    );
    support::until("it waits for the lock", || {
        look(&mut c);
        number(&mut c, &waits) == 1
    });
    let waiting = look(&mut c);
    assert!((1..4).all(|n| waiting[n] > before[n]), "{names:?} {before:?} {waiting:?}");
    run(&mut locker, "commit");
    let other = worker.join().expect("it ends");
    let after = look(&mut c);
    assert_eq!(after[1..4], waiting[1..4], "nothing was parsed any more");
    drop(other);
}

#[test]
fn nobody_has_more_processor_time_than_time() {
    let instance = start();
    let mut c = connect(&instance);
    // The CPU time of going to sleep and waking up exceeds that of the session's own work.
    run(&mut c, "begin for i in 1 .. 2000 loop dbms_lock.sleep(0.0001); end loop; end;");
    let sum = |name: &str| format!("max(case stat_name when '{name}' then value end)");
    for [part, all] in [
        ["DB CPU", "DB time"],
        ["background cpu time", "background elapsed time"],
        ["parse time cpu", "parse time elapsed"],
    ] {
        for model in ["v$sess_time_model", "v$sys_time_model"] {
            let by = if model == "v$sess_time_model" { "sid" } else { "1" };
            let sql = format!(
                "select count(*) from (select {} part, {} whole from {model} group by {by}) where part > whole",
                sum(part),
                sum(all)
            );
            assert_eq!(number(&mut c, &sql), 0, "{part} of {model}");
        }
    }
    assert!(number(&mut c, "select value from v$sys_time_model where stat_name = 'DB CPU'") > 0);
}

#[test]
fn waits_of_users_are_a_part_of_all_and_classes_sum_them_up() {
    let instance = start();
    let mut c = connect(&instance);
    run(&mut c, "create table t as select level n from dual connect by level <= 1000");
    run(&mut c, "alter system checkpoint");
    assert_eq!(
        number(
            &mut c,
            "select count(*) from v$system_event where total_waits_fg > total_waits or time_waited_micro_fg > time_waited_micro"
        ),
        0
    );
    assert!(
        number(&mut c, "select total_waits_fg from v$system_event where event = 'SQL*Net message from client'") > 0
    );
    assert_eq!(number(&mut c, "select nvl(sum(total_waits_fg), 0) from v$system_event where event = 'pmon timer'"), 0);
    assert!(
        number(&mut c, "select count(*) from v$system_event where total_waits > total_waits_fg") > 0,
        "LGWR writes"
    );
    let classes = "select count(*) from v$system_wait_class where wait_class in ('Idle', 'System I/O') and total_waits >= total_waits_fg";
    assert_eq!(number(&mut c, classes), 2);
    assert!(
        number(
            &mut c,
            "select count(*) from v$osstat where stat_name in ('NUM_CPUS', 'BUSY_TIME', 'LOAD', 'PHYSICAL_MEMORY_BYTES')"
        ) == 4
    );
    let waits = number(&mut c, "select value from v$sysstat where name = 'non-idle wait count'");
    let events = "select sum(total_waits) from v$system_event where wait_class <> 'Idle'";
    assert!(number(&mut c, events) >= waits);
}
