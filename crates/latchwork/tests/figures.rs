//! Figures agree with the work done, and with each other.

mod support;

use client::{Client, Ephemeral};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;
use support::{connect, one, run, start, until, words};

fn number(c: &mut Client, sql: &str) -> i64 {
    let text = one(c, sql);
    text.parse().unwrap_or_else(|_| panic!("{sql}: {text}"))
}

/// A statistic of the system.
fn stat(c: &mut Client, name: &str) -> i64 {
    number(c, &format!("select value from v$sysstat where name = '{name}'"))
}

/// The same for the session itself.
fn own(c: &mut Client, name: &str) -> i64 {
    number(
        c,
        &format!(
            "select m.value from v$mystat m, v$statname n where n.statistic# = m.statistic# and n.name = '{name}'"
        ),
    )
}

fn time(c: &mut Client, name: &str) -> i64 {
    number(c, &format!("select value from v$sys_time_model where stat_name = '{name}'"))
}

fn time_of(c: &mut Client, sid: u32, name: &str) -> i64 {
    number(c, &format!("select value from v$sess_time_model where sid = {sid} and stat_name = '{name}'"))
}

/// Sums of columns over the cursors whose text begins like this.
fn cursors(c: &mut Client, columns: &[&str], text: &str) -> Vec<i64> {
    let sums: Vec<String> = columns.iter().map(|column| format!("nvl(sum({column}), 0)")).collect();
    let sql = format!("select {} from v$sql where sql_text like '{text}%'", sums.join(", "));
    words(c, &sql)[0].iter().map(|w| w.parse().unwrap_or_else(|_| panic!("{sql}: {w}"))).collect()
}

const FIGURES: &[&str] = &["executions", "fetches", "rows_processed", "elapsed_time", "cpu_time"];

#[test]
fn a_query_is_timed_in_all_its_fetches_and_shows_its_rows_as_they_are_sent() {
    let instance = start(&[]);
    let (mut c, mut other) = (connect(&instance), connect(&instance));
    c.set_fetch_size(100);
    // Each row takes some time.
    let rows = "select /* fetched */ level n, length(rpad(to_char(level), 3000, 'x')) + instr(rpad('x', 4000, 'x'), 'y') l \
                from dual connect by level <= 4000";
    let before = time_of(&mut other, c.sid(), "DB time");
    let outcome = c.execute_prefetch(rows, &[], 100).expect("the first rows");
    let like = "select /* fetched %";
    assert_eq!(cursors(&mut other, &FIGURES[..3], like), [1, 1, 100]);
    let gets = cursors(&mut other, FIGURES, like);
    let cursor = outcome.cursor;
    for fetched in 2..=30 {
        c.fetch(cursor, 100).expect("more rows");
        assert_eq!(cursors(&mut other, &FIGURES[..3], like), [1, fetched, fetched * 100]);
    }
    let later = cursors(&mut other, FIGURES, like);
    assert!(later[3] > gets[3], "29 more fetches took no time: {gets:?} {later:?}");
    let spent = time_of(&mut other, c.sid(), "DB time") - before;
    assert!(later[3] <= spent && later[4] <= later[3], "{later:?} {spent}");
    // Closed before its end: the row that was read ahead was never sent.
    c.close_cursor(cursor).expect("it closes");
    drop(c);
    until("the session has gone", || one(&mut other, "select count(*) from v$session where type = 'USER'") == "1");
    assert_eq!(cursors(&mut other, &FIGURES[..3], like), [1, 30, 3000]);
    // DML fetches no rows; a query with arrays of one row makes a fetch for each.
    run(&mut other, "create table t (n number)");
    run(&mut other, "insert /* changes */ into t select level from dual connect by level <= 250");
    assert_eq!(cursors(&mut other, &FIGURES[..3], "insert /* changes */%"), [1, 0, 250]);
    run(
        &mut other,
        "declare cursor c is select /*+ explicit */ n from t; x number; begin open c; for i in 1 .. 7 loop fetch c into x; \
         end loop; close c; for r in (select /*+ loop */ n from t) loop null; end loop; \
         select /*+ single */ count(*) into x from t; end;",
    );
    assert_eq!(cursors(&mut other, &FIGURES[..3], "SELECT /*+ explicit */%"), [1, 7, 7]);
    assert_eq!(cursors(&mut other, &FIGURES[..3], "SELECT /*+ loop */%"), [1, 3, 250]);
    assert_eq!(cursors(&mut other, &FIGURES[..3], "SELECT /*+ single */%"), [1, 1, 1]);
}

#[test]
fn statements_have_no_more_time_than_their_sessions_however_many_share_the_processors() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    run(&mut c, "create table hot (id number primary key, v number)");
    run(&mut c, "insert into hot select level, level from dual connect by level <= 10");
    run(&mut c, "commit");
    let sessions = os::cpu::count() * 2 + 2;
    let mut all: Vec<Client> = (0..sessions).map(|_| connect(&instance)).collect();
    let sids: Vec<u32> = all.iter().map(Client::sid).collect();
    let total = |c: &mut Client, name: &str| sids.iter().map(|sid| time_of(c, *sid, name)).sum::<i64>();
    let before = [total(&mut c, "DB time"), total(&mut c, "DB CPU")];
    // Many executions, so that the parses of the blocks, which count as DB time but not for a block, are negligible.
    let executions = 60_000;
    let block = format!(
        "declare x number; begin for i in 1 .. {executions} loop select /*+ hot */ v into x from hot where id = 7; end loop; end;"
    );
    std::thread::scope(|scope| {
        for session in &mut all {
            scope.spawn(|| run(session, &block));
        }
    });
    let after = [total(&mut c, "DB time"), total(&mut c, "DB CPU")];
    let (spent, used) = (after[0] - before[0], after[1] - before[1]);
    let hot = cursors(&mut c, FIGURES, "SELECT /*+ hot */%");
    let blocks = cursors(&mut c, FIGURES, "declare x number; begin for i in 1 .. 60000%");
    assert_eq!(hot[..3], [executions * sessions as i64; 3]);
    // Nearly all of the time is the statement's; the rest of the block is a fraction of it.
    assert!(hot[3] <= blocks[3] && hot[4] <= blocks[4], "{hot:?} {blocks:?}");
    assert!(blocks[3] <= spent && blocks[4] <= used + 1000 * sessions as i64, "{blocks:?} {spent} {used}");
    assert!(hot[3] * 10 >= blocks[3] * 5, "{hot:?} {blocks:?}");
    assert!(blocks[3] * 2 >= spent, "{blocks:?} {spent}");
    // Untimed executions are estimated like timed ones: twice as many count twice as much, and the 64th no more than
    // the 63rd.
    let mut cost = Vec::new();
    for n in [1000, 2000, 4000] {
        let text = format!(
            "begin for r in (select level l from dual connect by level <= {n}) loop \
                            update /*+ of_{n} */ hot set v = v + 1 where id = 3; end loop; commit; end;"
        );
        run(&mut c, &text);
        let f = cursors(&mut c, FIGURES, &format!("UPDATE /*+ of_{n} */%"));
        assert_eq!(f[..3], [n, 0, n]);
        cost.push(f[4] as f64 / n as f64);
    }
    let (least, most) = (cost.iter().copied().fold(f64::MAX, f64::min), cost.iter().copied().fold(0.0, f64::max));
    assert!(least > 0.0 && most < least * 8.0, "processor time of an execution: {cost:?}");
}

#[test]
fn what_runs_for_long_shows_its_figures_while_it_runs() {
    let instance = start(&[]);
    let (mut c, mut other) = (connect(&instance), connect(&instance));
    run(&mut c, "create table t as select level n from dual connect by level <= 2000");
    let breaker = other.break_handle();
    let long = "select /* long */ count(*) from t a, t b, t c where a.n + b.n + c.n < 0";
    let worker = std::thread::spawn(move || {
        let e = other.execute(long, &[]).expect_err("it is broken");
        assert_eq!(e.code(), 1013, "{e}");
    });
    let mut seen = vec![0; FIGURES.len()];
    for _ in 0..2 {
        let before = seen.clone();
        until("it goes on and says so", || {
            seen = cursors(&mut c, FIGURES, "select /* long */%");
            seen[3] > before[3] && seen[4] > before[4]
        });
        assert_eq!(seen[0], 1);
    }
    breaker.send().expect("a break");
    worker.join().unwrap();
    assert_eq!(cursors(&mut c, &["executions"], "select /* long */%"), [1]);
}

#[test]
fn what_a_killed_session_did_counts_once_and_is_not_lost() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    let mut victim = connect(&instance);
    let sid = victim.sid();
    let process = victim.welcome().server_process as i32;
    let worker = std::thread::spawn(move || {
        let endless = "select /* killed */ count(*) from (select level from dual connect by level <= 100000000)";
        victim.execute(endless, &[]).expect_err("it is killed")
    });
    until("it works", || {
        time_of(&mut c, sid, "DB CPU") > 300_000 && cursors(&mut c, &["executions"], "select /* killed */%") == [1]
    });
    let seen = [time(&mut c, "DB time"), time(&mut c, "DB CPU")];
    os::process::kill(process, os::signal::SIGKILL).expect("a process to kill");
    let mut last = seen;
    until("its slot is free", || {
        let now = [time(&mut c, "DB time"), time(&mut c, "DB CPU")];
        assert!(now[0] >= last[0] && now[1] >= last[1], "{last:?} {now:?}");
        last = now;
        one(&mut c, "select count(*) from v$session where type = 'USER'") == "1"
    });
    worker.join().unwrap();
    let now = time(&mut c, "DB CPU");
    assert!(now >= seen[1], "{seen:?} {now}");
    assert_eq!(cursors(&mut c, &["executions"], "select /* killed */%"), [1]);

    // Consecutive sessions of one process: each has its own figures.
    run(&mut c, "create table done (n number)");
    run(
        &mut c,
        "create procedure burn as x number := 0; begin for i in 1 .. 400000 loop x := x + mod(i, 7); end loop; \
         insert into done values (1); commit; end;",
    );
    let jobs = 4;
    let before = time(&mut c, "DB CPU");
    let host = machine_cpu(&instance);
    for n in 1..=jobs {
        run(&mut c, "declare j number; begin dbms_job.submit(j, 'burn;'); commit; end;");
        until("the job has run", || number(&mut c, "select count(*) from done") == n);
    }
    until("no job runs", || number(&mut c, "select count(*) from dba_jobs_running") == 0);
    let grown = time(&mut c, "DB CPU") - before;
    let used = machine_cpu(&instance) - host;
    assert!(grown <= used + 50_000, "DB CPU grew by {grown} us, all processes of the instance used {used}");
}

/// CPU microseconds of all processes of the instance, ended ones included.
fn machine_cpu(instance: &Ephemeral) -> i64 {
    let supervisor = instance.supervisor();
    let used = |stat: &str, fields: &[usize]| -> i64 {
        let rest: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
        fields.iter().filter_map(|f| rest.get(f - 3)?.parse::<i64>().ok()).sum()
    };
    let read = |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // Those of the process, and those of children that it has waited for.
    let mut ticks = used(&read(&supervisor.to_string()), &[14, 15, 16, 17]);
    for entry in std::fs::read_dir("/proc").expect("/proc").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let stat = read(&name);
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse::<u32>().ok());
        if parent == Some(supervisor) {
            ticks += used(&stat, &[14, 15]);
        }
    }
    ticks * 10_000
}

#[test]
fn counters_count_what_was_done() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    run(&mut c, "create table t (n number primary key, v varchar2(100))");
    run(&mut c, "insert into t select level, rpad('x', 100, 'x') from dual connect by level <= 5000");
    run(&mut c, "commit");

    // Rows by rowid, each once.
    let before = own(&mut c, "table fetch by rowid");
    run(&mut c, "declare x t.v%type; begin for i in 1 .. 1000 loop select v into x from t where n = i; end loop; end;");
    assert_eq!(own(&mut c, "table fetch by rowid") - before, 1000);

    // Cursors still open at the end of their session.
    let before = stat(&mut c, "opened cursors current");
    let mut other = connect(&instance);
    for _ in 0..20 {
        other.execute_prefetch("select n from t order by n", &[], 1).expect("it opens");
    }
    assert_eq!(stat(&mut c, "opened cursors current") - before, 20);
    // A cursor closed by the client is closed before the client's next call.
    let mut third = connect(&instance);
    let open = third.execute_prefetch("select n from t order by n", &[], 1).expect("it opens").cursor;
    assert_eq!(stat(&mut c, "opened cursors current") - before, 21);
    third.close_cursor(open).expect("it is sent");
    until("the cursor is closed", || stat(&mut c, "opened cursors current") - before == 20);
    drop(third);
    let (commits, rollbacks) = (stat(&mut c, "user commits"), stat(&mut c, "user rollbacks"));
    drop(other);
    until("the session has gone", || one(&mut c, "select count(*) from v$session where type = 'USER'") == "1");
    assert_eq!(stat(&mut c, "opened cursors current"), before);
    assert_eq!((stat(&mut c, "user commits"), stat(&mut c, "user rollbacks")), (commits, rollbacks));

    // DDL is parsed and executed, and commits once.
    let names = ["parse count (total)", "execute count", "user commits"];
    let counts = |c: &mut Client| names.map(|name| own(c, name));
    let idle = counts(&mut c);
    let idle = {
        let next = counts(&mut c);
        [next[0] - idle[0], next[1] - idle[1], next[2] - idle[2]]
    };
    for ddl in ["create table d (n number)", "create index i on d (n)", "alter table d add m number", "drop table d"] {
        let before = counts(&mut c);
        run(&mut c, ddl);
        let after = counts(&mut c);
        assert!(after[0] - before[0] > idle[0] && after[1] - before[1] > idle[1], "{ddl}: {before:?} {after:?}");
        assert_eq!(after[2] - before[2], 1, "{ddl}: {before:?} {after:?}");
    }

    // A lock that is got without a wait.
    let mut other = connect(&instance);
    run(&mut other, "update t set v = 'y' where n = 1");
    let before = own(&mut c, "enqueue timeouts");
    assert!(c.execute("select * from t where n = 1 for update nowait", &[]).is_err());
    assert!(c.execute("lock table t in exclusive mode nowait", &[]).is_err());
    assert_eq!(own(&mut c, "enqueue timeouts") - before, 2);
    run(&mut other, "rollback");

    // Undo by segment. A transaction is counted when it has ended.
    let undo = |c: &mut Client| {
        let row = &words(c, "select sum(writes), sum(gets) from v$rollstat")[0];
        [0, 1].map(|n| row[n].parse::<i64>().expect("a number"))
    };
    let (before, written) = (undo(&mut c), own(&mut c, "undo change vector size"));
    run(&mut c, "update t set v = 'z' where n <= 100");
    run(&mut c, "commit");
    let after = undo(&mut c);
    assert!(after[0] - before[0] >= own(&mut c, "undo change vector size") - written, "{before:?} {after:?}");
    assert!(after[1] - before[1] >= 2, "{before:?} {after:?}");

    // Bytes of the client, in and out.
    let names = [
        "bytes sent via SQL*Net to client",
        "bytes received via SQL*Net from client",
        "SQL*Net roundtrips to/from client",
    ];
    let before = names.map(|name| own(&mut other, name));
    let long = format!("select '{}' from t where n <= 100", "z".repeat(1000));
    assert_eq!(support::rows(&mut other, &long).len(), 100);
    let after = names.map(|name| own(&mut other, name));
    assert!(after[0] - before[0] > 100_000 && after[1] - before[1] > 1000, "{before:?} {after:?}");
    assert!((2..20).contains(&(after[2] - before[2])), "{before:?} {after:?}");
}

#[test]
fn redo_and_temporary_data_are_a_part_of_all_io() {
    let instance = start(&[("sort_area_size", "65536"), ("workarea_size_policy", "MANUAL")]);
    let mut c = connect(&instance);
    run(&mut c, "create table t (n number, v varchar2(200))");
    let names =
        ["physical write total IO requests", "physical write total bytes", "redo writes", "redo blocks written"];
    let counts = |c: &mut Client| names.map(|name| stat(c, name));
    let before = counts(&mut c);
    let log_writes = |c: &mut Client| {
        number(c, "select nvl(sum(total_waits), 0) from v$system_event where event = 'log file parallel write'")
    };
    let waits = log_writes(&mut c);
    for n in 0..50 {
        run(&mut c, &format!("insert into t values ({n}, rpad('x', 200, 'x'))"));
        run(&mut c, "commit");
    }
    let after = counts(&mut c);
    let added: Vec<i64> = after.iter().zip(before).map(|(a, b)| a - b).collect();
    assert!(added[2] >= 50, "{added:?}");
    assert!(added[0] >= added[2] && added[1] >= added[3] * 512 && added[3] >= added[2], "{added:?}");
    assert!(log_writes(&mut c) - waits >= 50, "whoever writes the log waits for the file");
    let mine = number(
        &mut c,
        "select nvl(sum(total_waits), 0) from v$session_event where event = 'log file parallel write' \
                               and sid = sys_context('userenv', 'sid')",
    );
    assert_eq!(mine, 0, "a session that waits for its commit is in one wait, not in two");

    run(&mut c, "insert into t select level, rpad('x', 200, 'x') from dual connect by level <= 20000");
    let names = [
        "physical writes direct temporary tablespace",
        "physical write bytes",
        "physical reads direct temporary tablespace",
        "physical read bytes",
        "physical write IO requests",
        "physical read IO requests",
    ];
    let before = names.map(|name| own(&mut c, name));
    run(
        &mut c,
        "declare x number := 0; begin for r in (select v, n from t order by v, n desc) loop x := x + 1; end loop; end;",
    );
    let after = names.map(|name| own(&mut c, name));
    let added: Vec<i64> = after.iter().zip(before).map(|(a, b)| a - b).collect();
    assert!(added[0] > 0 && added[1] >= added[0] * 8192 && added[2] > 0 && added[3] >= added[2] * 8192, "{added:?}");
    assert!(added[4] > 0 && added[5] > 0, "{added:?}");

    // Each write, and each switch, wastes at most the rest of a block of 512 or 4096 bytes. Other processes waste some
    // meanwhile, too.
    let (writes, before) = (stat(&mut c, "redo writes"), stat(&mut c, "redo wastage"));
    let (mut rounds, mut wasted) = (0, 0);
    until("switches waste the rests of blocks", || {
        run(&mut c, "insert into t values (0, null)");
        run(&mut c, "commit");
        run(&mut c, "alter system switch logfile");
        rounds += 1;
        wasted = stat(&mut c, "redo wastage") - before;
        wasted > rounds * 128
    });
    let writes = stat(&mut c, "redo writes") - writes;
    assert!(wasted < (rounds + writes) * 4096, "{wasted} in {rounds} rounds of {writes} writes");
}

#[test]
fn what_an_operation_has_written_of_the_rows_it_keeps_is_told() {
    let instance =
        start(&[("sort_area_size", "16384"), ("hash_area_size", "16384"), ("workarea_size_policy", "MANUAL")]);
    let mut c = connect(&instance);
    run(&mut c, "create table big (id number, parent number, pad varchar2(40))");
    run(
        &mut c,
        "insert into big select level, case when level > 20 then trunc(level / 20) end, rpad('x', 40, '.') \
         from dual connect by level <= 1500",
    );
    run(&mut c, "create table few (id number, pad varchar2(40))");
    run(&mut c, "insert into few select 400 * level, null from dual connect by level <= 4");
    run(&mut c, "commit");
    run(&mut c, "alter session set statistics_level = all");
    for (what, sql) in [
        ("keys of in", "select id from few where id in (select id from big) or pad = 'none'"),
        ("keys of not in", "select id from few where id not in (select id from big) or pad = 'none'"),
        ("rows of pairs", "select id from few where (id, id) in (select id, parent from big) or pad = 'none'"),
        ("rows of all", "select id from few where id > all (select id from big) or pad = 'none'"),
        ("hierarchy", "select id from big start with parent is null connect by parent = prior id"),
        ("roots", "select id from big connect by prior parent = id order siblings by pad"),
        ("percent", "select id from big fetch first 50 percent rows only"),
        (
            "buffer",
            "select /*+ leading(f b) use_nl(b) */ f.id from few f, (select id, max(pad) m from big group by id) b \
             where f.id < b.id",
        ),
        ("locks", "select id, pad from big for update"),
    ] {
        support::rows(&mut c, &format!("{sql} /* kept: {what} */"));
        let written = number(
            &mut c,
            &format!(
                "select nvl(max(p.max_tempseg_size), 0) from v$sql s, v$sql_plan_statistics_all p \
                 where p.sql_id = s.sql_id and p.child_number = s.child_number \
                 and s.sql_text like '%/* kept: {what} */'"
            ),
        );
        assert!(written > 0, "{what}");
    }
}

#[test]
fn buckets_of_milliseconds_hold_the_waits_of_their_length() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    run(&mut c, "begin dbms_lock.sleep(0.1); end;");
    let [waited, bucket] = {
        let row = &words(
            &mut c,
            "select max(e.time_waited_micro), max(h.wait_time_milli) from v$system_event e, v$event_histogram h \
             where e.event = 'PL/SQL lock timer' and h.event = e.event",
        )[0];
        [0, 1].map(|n| row[n].parse::<i64>().expect("a number"))
    };
    assert!(waited < bucket * 1024 && waited >= bucket * 512, "{waited} us in the bucket of {bucket} ms");
}

#[test]
fn sums_hold_while_sessions_come_go_and_are_killed() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    run(&mut c, "create table hot (id number primary key, v number)");
    run(&mut c, "insert into hot select level, level from dual connect by level <= 100");
    run(&mut c, "commit");
    let (over, done) = (AtomicBool::new(false), AtomicI64::new(0));
    let sessions = os::cpu::count() + 3;
    std::thread::scope(|scope| {
        for worker in 0..sessions {
            let (instance, over, done) = (&instance, &over, &done);
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let mut s = connect(instance);
                    let answered = s.execute(
                        &format!("declare x number; begin for i in 1 .. 2000 loop select /*+ load */ v into x from hot where id = {worker} + 1; \
                                  end loop; update hot set v = v + 1 where id = {worker} + 1; commit; end;"),
                        &[],
                    );
                    done.fetch_add(i64::from(answered.is_ok()), Ordering::Relaxed);
                    if worker == 0 {
                        let _ = os::process::kill(s.welcome().server_process as i32, os::signal::SIGKILL);
                    }
                }
            });
        }
        std::thread::sleep(Duration::from_secs(3));
        over.store(true, Ordering::Relaxed);
    });
    until("all have gone", || one(&mut c, "select count(*) from v$session where type = 'USER'") == "1");
    // Sessions of users, ended ones included, compared with their statements.
    let (spent, used) = (time(&mut c, "DB time"), time(&mut c, "DB CPU"));
    let sum = |c: &mut Client, column: &str, which: &str| {
        number(c, &format!("select nvl(sum({column}), 0) from v$sql where command_type {which}"))
    };
    let (elapsed, cpu) = (sum(&mut c, "elapsed_time", "<> 47"), sum(&mut c, "cpu_time", "<> 47"));
    let (blocks, blocks_cpu) = (sum(&mut c, "elapsed_time", "= 47"), sum(&mut c, "cpu_time", "= 47"));
    let idle_in_calls = number(
        &mut c,
        "select time_waited_micro from v$system_event where event = 'PL/SQL lock timer' union all select 0 from dual",
    );
    let background = time(&mut c, "background elapsed time");
    assert!(
        elapsed <= spent + background && blocks <= spent + background + idle_in_calls,
        "{elapsed} {blocks} {spent} {background}"
    );
    assert!(cpu <= elapsed + 1000 && blocks_cpu <= blocks + 1000, "{cpu} {elapsed} {blocks_cpu} {blocks}");
    // CPU time of user sessions is a part of that of the instance's processes.
    let machine = machine_cpu(&instance);
    let of_all = used + time(&mut c, "background cpu time");
    assert!(of_all <= machine + 100_000, "DB CPU and background CPU {of_all}, processes {machine}");
    assert!(of_all * 2 >= machine - 500_000, "DB CPU and background CPU {of_all}, processes {machine}");
    // All executions of completed calls are counted.
    let executions = cursors(&mut c, &["executions"], "SELECT /*+ load */%")[0];
    assert!(executions >= 2000 * done.load(Ordering::Relaxed), "{executions} of {done:?} calls of 2000 each");
    // Events and classes.
    let differ = "select count(*) from (select wait_class, sum(total_waits) n from v$system_event group by wait_class) e, \
                  v$system_wait_class k where k.wait_class = e.wait_class and k.wait_class not in ('Idle', 'Network', 'System I/O', 'Other') \
                  and k.total_waits < e.n";
    assert_eq!(number(&mut c, differ), 0);
}

#[test]
fn a_snapshot_costs_the_same_however_large_the_memory_is_and_belongs_to_its_end() {
    let faults = |size: &str| {
        let instance = start(&[("sga_target", size), ("pre_page_sga", "false")]);
        let mut c = connect(&instance);
        let process = c.welcome().server_process;
        let minor = || -> i64 {
            let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("a server process");
            stat.rsplit_once(')')
                .and_then(|(_, rest)| rest.split_whitespace().nth(7)?.parse().ok())
                .expect("its faults")
        };
        let before = minor();
        run(&mut c, "begin dbms_workload_repository.create_snapshot; end;");
        minor() - before
    };
    let (small, large) = (faults("300M"), faults("3G"));
    assert!(large < small + 2000, "pages touched first by a snapshot: {small} of 300 MB, {large} of 3 GB");

    // Rates between two snapshots equal those measured beside them, however long a snapshot takes.
    let instance = start(&[]);
    let mut c = connect(&instance);
    run(&mut c, "create table hot (id number primary key, v number)");
    run(&mut c, "insert into hot select level, level from dual connect by level <= 100");
    run(&mut c, "commit");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut s = connect(&instance);
                while !over.load(Ordering::Relaxed) {
                    run(&mut s, "declare x number; begin for i in 1 .. 500 loop select v into x from hot where id = 7; end loop; end;");
                }
            });
        }
        let mut measured = Vec::new();
        for _ in 0..2 {
            let reads = |c: &mut Client| (std::time::Instant::now(), stat(c, "session logical reads"));
            let before = reads(&mut c);
            run(&mut c, "begin dbms_workload_repository.create_snapshot; end;");
            measured.push((before, reads(&mut c)));
            std::thread::sleep(Duration::from_secs(1));
        }
        over.store(true, Ordering::Relaxed);
        // The figures of the snapshots lie between readings before and after them, and so do their times.
        let kept = words(
            &mut c,
            "select w.value, (extract(second from s.end_interval_time - s.begin_interval_time) \
             + 60 * extract(minute from s.end_interval_time - s.begin_interval_time)) * 1000000 from dba_hist_sysstat w, dba_hist_snapshot s \
             where s.snap_id = w.snap_id and w.stat_name = 'session logical reads' order by s.snap_id",
        );
        for (row, ((_, before), (_, after))) in kept.iter().zip(&measured) {
            let value: i64 = row[0].parse().expect("a number");
            assert!((*before..=*after).contains(&value), "{value} {before} {after}");
        }
        let apart: f64 = kept[1][1].parse().expect("microseconds");
        let (least, most) = (measured[1].0.0 - measured[0].1.0, measured[1].1.0 - measured[0].0.0);
        assert!(apart >= least.as_micros() as f64 && apart <= most.as_micros() as f64, "{apart} {least:?} {most:?}");
    });
}

#[test]
fn derived_tables_over_fixed_tables_are_read_again_for_each_row() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    run(&mut c, "create table t as select 1 k, rpad('x', 1000, 'x') v from dual connect by level <= 100");
    // Batching the outer table would read its blocks before the first of the loops.
    run(&mut c, "alter session set \"_batch_execution\" = false");
    let own = "select 1 k, m.value from v$mystat m, v$statname n where n.statistic# = m.statistic# and n.name = 'session logical reads'";
    let distinct = |c: &mut Client, derived: &str| {
        number(
            c,
            &format!(
                "select /*+ ordered use_nl(s) */ count(distinct s.value) from t, ({derived}) s \
                 where s.k = t.k and t.v is not null"
            ),
        )
    };
    // The table has more blocks than ten, and the figure grows with each.
    assert!(distinct(&mut c, own) > 10);
    assert!(distinct(&mut c, &format!("select k, max(value) value from ({own}) group by k")) > 10);
    let sampled = "select /*+ ordered use_nl(s) */ count(distinct s.value) from t, (select value from v$mystat where statistic# = \
                   (select statistic# from v$statname where name = 'session logical reads')) s where t.v is not null";
    assert!(number(&mut c, sampled) > 10);
}

#[test]
fn a_statement_in_a_long_wait_shows_it_while_it_lasts() {
    let instance = start(&[]);
    let (mut c, mut holder) = (connect(&instance), connect(&instance));
    run(&mut c, "create table w (n number)");
    run(&mut c, "insert into w values (1)");
    run(&mut c, "commit");
    run(&mut holder, "update w set n = 2");
    // One session waits for a row in its own statement, one inside a block, one sleeps in a block.
    let waits = [
        ("update w set n = 3", "update w set n = 3%"),
        ("begin update /*+ inside */ w set n = 4; commit; end;", "UPDATE /*+ inside */%"),
        ("begin dbms_lock.sleep(3600); end;", "begin dbms_lock.sleep%"),
    ];
    let look = |c: &mut Client, like: &str| -> [i64; 3] {
        let sql =
            format!("select executions, elapsed_time, application_wait_time from v$sql where sql_text like '{like}'");
        words(c, &sql).first().map_or([0; 3], |row| [0, 1, 2].map(|n| row[n].parse().expect("a number")))
    };
    std::thread::scope(|scope| {
        let (mut workers, mut breakers) = (Vec::new(), Vec::new());
        let mut last = Vec::new();
        for (sql, like) in waits {
            let mut s = connect(&instance);
            let sid = s.sid();
            breakers.push(s.break_handle());
            workers.push(scope.spawn(move || {
                let done = s.execute(sql, &[]);
                assert!(done.is_ok() || sql.contains("sleep"), "{sql}");
                run(&mut s, "commit");
            }));
            until("it waits", || look(&mut c, like)[1] > 0);
            let is_lock = sql.contains("update");
            // It grows while the session waits, by the time of the wait.
            let mut seen = look(&mut c, like);
            for _ in 0..3 {
                let before = seen;
                until("its time grows", || {
                    seen = look(&mut c, like);
                    seen[1] > before[1] && (seen[2] > before[2]) == is_lock
                });
            }
            let wait = format!("select wait_time_micro from v$session_wait where sid = {sid} and state = 'WAITING'");
            let waited: i64 = one(&mut c, &wait).parse().expect("it waits");
            let later = look(&mut c, like);
            if is_lock {
                assert!(
                    later[2] >= seen[2] && later[1] >= waited && later[2] >= waited,
                    "{sql}: {seen:?} {waited} {later:?}"
                );
                assert!(later[1] >= later[2], "{sql}: {later:?}");
            }
            if sql.starts_with("begin update") {
                let block = look(&mut c, "begin update /*+ inside */%");
                assert!(block[1] >= later[1] && block[2] >= later[2], "{block:?} {later:?}");
            }
            last.push((like, later));
        }
        run(&mut holder, "rollback");
        breakers[2].send().expect("a break");
        for worker in workers {
            worker.join().expect("it ends");
        }
        // Values seen in progress never exceeded the final ones.
        for (like, seen) in last {
            let now = look(&mut c, like);
            assert!((0..3).all(|n| now[n] >= seen[n]), "{like}: {seen:?} {now:?}");
        }
    });
    assert_eq!(look(&mut c, "begin dbms_lock.sleep%")[2], 0);
}
