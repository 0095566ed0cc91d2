//! The active session history: the sampled activity of sessions, in the ring and on disk.

mod support;

use client::{Client, Credentials, Ephemeral};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};
use support::{connect, run, start};
use types::Value;

/// Time limit of every wait.
const LIMIT: Duration = Duration::from_secs(60);

const FAST: &[(&str, &str)] = &[("_ash_sampling_interval", "10")];

fn rows(c: &mut Client, sql: &str) -> Vec<Vec<String>> {
    let all = c.query(sql, &[]).and_then(|q| q.all()).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let text = |v: &Value| match v {
        Value::Null => "-".to_string(),
        Value::Number(n) => n.to_string(),
        Value::Text(t) => t.clone(),
        Value::Raw(bytes) => bytes.iter().map(|b| format!("{b:02X}")).collect(),
        other => format!("{other:?}"),
    };
    all.iter().map(|row| row.iter().map(text).collect()).collect()
}

fn one(c: &mut Client, sql: &str) -> String {
    rows(c, sql).first().and_then(|row| row.first().cloned()).unwrap_or_else(|| panic!("{sql}: no row"))
}

fn number(c: &mut Client, sql: &str) -> i64 {
    one(c, sql).parse().unwrap_or_else(|e| panic!("{sql}: {e}"))
}

/// Waits until a query returns rows.
fn await_rows(c: &mut Client, sql: &str) -> Vec<Vec<String>> {
    let began = Instant::now();
    loop {
        let found = rows(c, sql);
        if !found.is_empty() {
            return found;
        }
        assert!(began.elapsed() < LIMIT, "{sql}: nothing came");
        sleep(Duration::from_millis(20));
    }
}

fn sid(c: &mut Client) -> i64 {
    number(c, "select to_number(sys_context('userenv', 'sid')) from dual")
}

fn in_background(mut c: Client, sql: String) -> JoinHandle<Client> {
    spawn(move || {
        run(&mut c, &sql);
        c
    })
}

#[test]
fn a_session_that_waits_for_a_row_is_seen_with_its_event_and_its_blocker() {
    let instance = start(FAST);
    let mut c = connect(&instance);
    run(&mut c, "create table t (n number, v number)");
    run(&mut c, "insert into t values (1, 0)");
    run(&mut c, "commit");
    let (mut holder, mut waiter) = (connect(&instance), connect(&instance));
    let (holder_sid, waiter_sid) = (sid(&mut holder), sid(&mut waiter));
    run(&mut holder, "update t set v = 1");
    run(
        &mut waiter,
        "begin dbms_application_info.set_module('orders', 'pay'); dbms_session.set_identifier('kim'); end;",
    );
    let waits = in_background(waiter, "update t set v = 2 where n = 1".into());
    let seen = format!(
        "select h.event, h.session_state, h.wait_class, h.blocking_session, h.blocking_session_serial#, h.blocking_session_status, \
         h.p1text, to_char(h.p1, 'FMXXXXXXXX'), h.p2, h.p3, o.object_name, h.module, h.action, h.client_id, h.sql_opname, h.session_type, \
         h.time_waited, h.is_sqlid_current, h.in_sql_execution, h.wait_time, h.current_row# \
         from v$active_session_history h, dba_objects o where h.session_id = {waiter_sid} and h.event like 'enq: TX%' \
         and o.object_id = h.current_obj# and rownum = 1"
    );
    let row = await_rows(&mut c, &seen).remove(0);
    let live = format!("select p2, p3 from v$session where sid = {waiter_sid}");
    let place = rows(&mut c, &live).remove(0);
    let serial = one(&mut c, &format!("select serial# from v$session where sid = {holder_sid}"));
    let expected = [
        "enq: TX - row lock contention",
        "WAITING",
        "Application",
        &holder_sid.to_string(),
        &serial,
        "VALID",
        "name|mode",
        "54580006",
        &place[0],
        &place[1],
        "T",
        "orders",
        "pay",
        "kim",
        "UPDATE",
        "FOREGROUND",
        "-",
        "Y",
        "Y",
        "0",
        "0",
    ];
    assert_eq!(row, expected);
    // The holder waits for its client, so it is not active. Waits in its own calls were sampled earlier.
    let idle = format!(
        "select count(*) from v$active_session_history where session_id = {holder_sid} and sample_id >= \
         (select min(sample_id) from v$active_session_history where session_id = {waiter_sid} and event like 'enq: TX%')"
    );
    assert_eq!(number(&mut c, &idle), 0);
    let sql = format!(
        "select q.sql_text from v$active_session_history h, v$sql q where h.session_id = {waiter_sid} and h.event like 'enq: TX%' \
         and q.sql_id = h.sql_id and q.child_number = h.sql_child_number and h.sql_plan_hash_value = q.plan_hash_value \
         and h.sql_exec_start <= cast(h.sample_time as date) and rownum = 1"
    );
    assert_eq!(one(&mut c, &sql), "update t set v = 2 where n = 1");
    assert_eq!(one(&mut c, &sql.replace("h.sql_id", "h.top_level_sql_id")), "update t set v = 2 where n = 1");
    run(&mut holder, "commit");
    let _waiter = waits.join().expect("the waiter goes on");
    // The duration of a wait is known once it has ended, and is stored only in its last sample, so that sums are right.
    let waited = format!(
        "select count(nullif(h.time_waited, 0)), max(h.time_waited) keep (dense_rank last order by h.sample_id) - max(h.time_waited), \
         max(e.time_waited_micro) - max(h.time_waited) from v$active_session_history h, v$session_event e where h.session_id = {waiter_sid} \
         and h.event like 'enq: TX%' and e.sid = h.session_id and e.event = h.event having count(*) = count(h.time_waited)"
    );
    assert_eq!(await_rows(&mut c, &waited), [["1", "0", "0"]]);
}

#[test]
fn a_session_that_works_is_seen_on_cpu_with_its_statement() {
    let instance = start(FAST);
    let (mut c, mut worker) = (connect(&instance), connect(&instance));
    let worker_sid = sid(&mut worker);
    let work = "select /*+ hard work */ count(*) from t a, t b, t c where mod(a.n + b.n + c.n, 7) = 1";
    run(&mut c, "create table t as select level n from dual connect by level <= 2000");
    let mut breaker = connect(&instance);
    let busy = spawn(move || worker.query(work, &[]).and_then(|q| q.all()).expect_err("it is killed").to_string());
    let seen = format!(
        "select h.session_state, nvl(h.event, '-'), h.wait_class, h.blocking_session_status, h.sql_opname, h.in_sql_execution, \
         h.in_plsql_execution, h.time_waited, q.sql_text from v$active_session_history h, v$sql q \
         where h.session_id = {worker_sid} and q.sql_id = h.sql_id and q.child_number = h.sql_child_number and h.sql_opcode = 3 \
         and h.session_state = 'ON CPU' and h.tm_delta_db_time > 0 and h.tm_delta_cpu_time >= 0 and h.sql_exec_id is not null and rownum = 1"
    );
    let row = await_rows(&mut c, &seen).remove(0);
    assert_eq!(row, ["ON CPU", "-", "-", "NOT IN WAIT", "SELECT", "Y", "N", "0", work]);
    // It is sampled repeatedly, once for each sample time.
    let many = format!(
        "select count(*) from v$active_session_history where session_id = {worker_sid} having count(*) > 20 and count(*) = count(distinct sample_id)"
    );
    await_rows(&mut c, &many);
    let serial = one(&mut breaker, &format!("select serial# from v$session where sid = {worker_sid}"));
    run(&mut breaker, &format!("alter system kill session '{worker_sid},{serial}'"));
    assert!(busy.join().expect("ends").contains("ORA-00028"));
    let other = "select count(*) from v$active_session_history where in_connection_mgmt = 'Y' and sql_opcode = 3";
    assert_eq!(number(&mut c, other), 0);
    let idle = "select count(*) from gv$active_session_history where wait_class = 'Idle' or inst_id <> 1";
    assert_eq!(number(&mut c, idle), 0);

    // Time of a block outside SQL counts as PL/SQL.
    let mut blocks = connect(&instance);
    let of = sid(&mut blocks);
    let breaker = blocks.break_handle();
    let endless =
        "declare n number := 0; begin loop for i in 1 .. 1000 loop n := n + mod(i, 7); end loop; end loop; end;";
    let busy = spawn(move || blocks.execute(endless, &[]).expect_err("it is broken").to_string());
    let seen = format!(
        "select in_plsql_execution, in_sql_execution, sql_opname from v$active_session_history where session_id = {of} and sql_opcode = 47 \
         and session_state = 'ON CPU' and rownum = 1"
    );
    assert_eq!(await_rows(&mut c, &seen), [["Y", "N", "PL/SQL EXECUTE"]]);
    breaker.send().expect("a break is sent");
    assert!(busy.join().expect("ends").contains("ORA-01013"));
}

/// Sends a signal to the process of a background process.
fn kill(c: &mut Client, name: &str) -> i64 {
    let spid = format!("select spid from v$process where pname = '{name}'");
    let pid: i64 = one(c, &spid).parse().expect("a process id");
    let done = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().expect("kill runs");
    assert!(done.success());
    pid
}

#[test]
fn a_sampler_that_is_killed_is_started_again_and_goes_on_with_the_ring() {
    let instance = start(FAST);
    let mut c = connect(&instance);
    run(&mut c, "create table t (n number)");
    run(&mut c, "insert into t values (1)");
    run(&mut c, "commit");
    let (mut holder, mut waiter) = (connect(&instance), connect(&instance));
    let waiter_sid = sid(&mut waiter);
    run(&mut holder, "update t set n = 2");
    let waits = in_background(waiter, "update t set n = 3".into());
    let waiting = format!("session_id = {waiter_sid} and session_state = 'WAITING' and event like 'enq: TX%'");
    let newer = |id: i64| {
        format!(
            "select max(sample_id) from v$active_session_history where {waiting} and sample_id > {id} having count(*) > 10"
        )
    };
    let before: i64 = await_rows(&mut c, &newer(0))[0][0].parse().unwrap();
    let first = kill(&mut c, "MMNL");
    let before: i64 = await_rows(&mut c, &newer(before))[0][0].parse().unwrap();
    assert_ne!(number(&mut c, "select to_number(spid) from v$process where pname = 'MMNL'"), first);
    run(&mut holder, "commit");
    drop(waits.join().expect("the waiter goes on"));
    // Its samples of the wait in progress are completed, too.
    let told = format!(
        "select 1 from v$active_session_history where {waiting} having max(sample_id) >= {before} and count(nullif(time_waited, 0)) = 1 \
         and count(time_waited) = count(*)"
    );
    await_rows(&mut c, &told);
    let order = "select count(*) from (select sample_id, session_id, count(*) from v$active_session_history group by sample_id, session_id having count(*) > 1)";
    assert_eq!(number(&mut c, order), 0);
}

#[test]
fn what_is_seen_outlives_the_instance_one_sample_in_ten() {
    let dir = std::env::temp_dir().join(format!("latchwork-ash-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    let latchwork = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_latchwork"));
        command.args(arguments).arg("--dir").arg(&dir);
        assert!(command.status().expect("the program runs").success(), "{arguments:?}");
    };
    let connect = || Client::connect(&dir, &Credentials::Sysdba).unwrap_or_else(|e| panic!("a session opens: {e}"));
    let params = ["_ash_sampling_interval=10", "_ash_size=256K", "_log_file_size=8M"];
    latchwork(&["start", "--param", params[0], "--param", params[1], "--param", params[2]]);
    let mut c = connect();
    run(&mut c, "create table t (n number)");
    run(&mut c, "insert into t values (1)");
    run(&mut c, "commit");
    let (mut holder, mut waiter) = (connect(), connect());
    let waiter_sid = sid(&mut waiter);
    run(&mut holder, "update t set n = 2");
    let waits = in_background(waiter, "update t set n = 3".into());
    // The ring is small, so it is saved before there is any snapshot; the saved samples appear with the first snapshot.
    await_rows(&mut c, "select 1 from v$ash_info where awr_flush_emergency_count > 0");
    assert!(number(&mut c, "select count(*) from sys.wrh$_active_session_history where snap_id = 1") > 0);
    assert_eq!(number(&mut c, "select count(*) from dba_hist_active_sess_history"), 0);
    run(&mut c, "begin dbms_workload_repository.create_snapshot; end;");
    run(&mut holder, "rollback");
    drop(waits.join().expect("the waiter goes on"));
    let kept = "select count(*), count(distinct sample_id), min(mod(sample_id, 10)), max(mod(sample_id, 10)), min(event), min(sql_opname) \
                from dba_hist_active_sess_history where event like 'enq: TX%' and snap_id = 1";
    let kept_rows = rows(&mut c, kept).remove(0);
    assert!(kept_rows[0] == kept_rows[1] && kept_rows[0].parse::<i64>().unwrap() > 5, "{kept_rows:?}");
    assert_eq!(kept_rows[2..], ["0", "0", "enq: TX - row lock contention", "UPDATE"]);
    // All samples of the ring that are to be kept are saved.
    let missing = "select count(*) from v$active_session_history h where h.is_awr_sample = 'Y' and h.sample_time < \
                   (select max(end_interval_time) - interval '1' second from dba_hist_snapshot) and not exists \
                   (select null from dba_hist_active_sess_history d where d.sample_id = h.sample_id and d.session_id = h.session_id)";
    assert_eq!(number(&mut c, missing), 0);
    drop((c, holder));
    latchwork(&["stop"]);
    latchwork(&["start"]);
    let mut c = connect();
    assert_eq!(rows(&mut c, kept), [kept_rows]);
    let text = format!(
        "select distinct t.sql_text from dba_hist_active_sess_history h, dba_hist_sqltext t where h.session_id = {waiter_sid} \
         and h.event like 'enq: TX%' and t.sql_id = h.sql_id"
    );
    assert_eq!(rows(&mut c, &text), [["update t set n = 3"]]);
    // Sample numbers increase across restarts, so that new samples can be identified.
    await_rows(&mut c, "select 1 from v$ash_info where sample_count > 1");
    let later = "select count(*) from v$ash_info where latest_sample_id > (select max(sample_id) from dba_hist_active_sess_history)";
    assert_eq!(number(&mut c, later), 1);
    run(
        &mut c,
        "begin dbms_workload_repository.create_snapshot; dbms_workload_repository.drop_snapshot_range(1, 1); end;",
    );
    assert_eq!(number(&mut c, "select count(*) from sys.wrh$_active_session_history where snap_id = 1"), 0);
    drop(c);
    latchwork(&["stop"]);
    let _ = std::fs::remove_dir_all(&dir);
}

fn program(instance: &Ephemeral, arguments: &[&str]) -> String {
    let made = std::process::Command::new(env!("CARGO_BIN_EXE_latchwork"))
        .args(arguments)
        .arg("--dir")
        .arg(instance.dir())
        .output()
        .expect("the program runs");
    assert!(made.status.success(), "{made:?}");
    String::from_utf8_lossy(&made.stdout).into_owned()
}

#[test]
fn a_report_names_the_event_the_statement_the_session_and_its_blocker() {
    let began = Instant::now();
    let instance = start(FAST);
    let mut c = connect(&instance);
    run(&mut c, "begin dbms_workload_repository.create_snapshot; end;");
    run(&mut c, "create table tills (n number)");
    run(&mut c, "insert into tills values (1)");
    run(&mut c, "commit");
    let (mut holder, mut waiter) = (connect(&instance), connect(&instance));
    let (holder_sid, waiter_sid) = (sid(&mut holder), sid(&mut waiter));
    run(&mut holder, "update tills set n = 2");
    let waits = in_background(waiter, "update tills set n = 3".into());
    let enough = format!("select 1 from v$active_session_history where session_id = {waiter_sid} having count(*) > 60");
    await_rows(&mut c, &enough);
    run(&mut c, "begin dbms_workload_repository.create_snapshot; end;");
    run(&mut holder, "commit");
    drop(waits.join().expect("the waiter goes on"));
    let report = |c: &mut Client, kind: &str, more: &str| {
        let sql = format!(
            "select output from table(dbms_workload_repository.ash_report_{kind}(1, 1, sysdate - 5 / 1440, sysdate + 1 / 1440{more}))"
        );
        rows(c, &sql).into_iter().map(|row| row[0].clone()).collect::<Vec<_>>().join("\n")
    };
    let text = report(&mut c, "text", &format!(", 0, 0, {waiter_sid}"));
    // The period excludes time before the instance started and time in the future.
    let elapsed = text.lines().find_map(|l| l.strip_prefix("Elapsed Time (mins):")).expect("its length");
    let elapsed: f64 = elapsed.trim().parse().expect("minutes");
    assert!(elapsed * 60.0 <= began.elapsed().as_secs_f64() + 2.0, "{elapsed} min\n{text}");
    let section = |title: &str, lines: usize| {
        let from = text.find(&format!("\n{title}  ")).unwrap_or_else(|| panic!("{title} in {text}"));
        let rest = &text[from..];
        let rows = rest
            .lines()
            .skip_while(|l| !l.starts_with("---"))
            .skip(1)
            .take_while(|l| !l.starts_with(" ------"))
            .take(lines);
        rows.collect::<Vec<_>>().join(" ")
    };
    // In each section the first row is that of the wait; but the session's logon may have been sampled in a time slot
    // of its own.
    let first = |title: &str| section(title, 2);
    assert!(first("Top User Events").starts_with("enq: TX - row lock contention"), "{text}");
    assert!(first("Top SQL with Top Events").contains("update tills set n = 3"), "{text}");
    assert!(first("Top Sessions").starts_with(&format!("{waiter_sid},")), "{text}");
    assert!(first("Top Blocking Sessions").starts_with(&format!("{holder_sid},")), "{text}");
    assert!(first("Top DB Objects").contains("SYS.TILLS (TABLE)"), "{text}");
    assert!(first("Top Event P1/P2/P3 Values").contains("name|mode"), "{text}");
    assert!(section("Activity Over Time", usize::MAX).contains("enq: TX"), "{text}");
    assert!(text.lines().all(|l| l.chars().count() <= 132), "{text}");
    let other = report(&mut c, "text", ", 0, 0, 999999");
    assert!(other.contains("SESSION_ID = 999999") && !other.contains("enq: TX"), "{other}");
    let page = report(&mut c, "html", "");
    assert!(
        page.contains("<svg")
            && page.contains("summary=\"This table displays top sessions")
            && !page.contains("<script")
    );
    let wrong = "select output from table(dbms_workload_repository.ash_report_text(1, 1, sysdate, sysdate - 1))";
    let refused = c.query(wrong, &[]).and_then(|q| q.all()).expect_err(wrong).to_string();
    assert!(refused.contains("ORA-20200"), "{refused}");
    assert!(program(&instance, &["awr", "ash", "--minutes", "5"]).contains("Top Blocking Sessions"));
    assert!(program(&instance, &["awr", "ash", "--html", "--sid", &waiter_sid.to_string()]).contains("<svg"));
    // The workload report ends with the samples kept of it.
    let whole = program(&instance, &["awr", "report", "1", "2"]);
    let kept = &whole[whole.find("\nTop SQL with Top Events").expect("the section")..];
    assert!(kept.contains("update tills set n = 3") && kept.contains("SYS.TILLS (TABLE)"), "{kept}");
}

#[test]
fn sampling_is_turned_off_and_made_faster_while_the_instance_runs() {
    let instance = start(&[("_ash_enable", "false"), ("_ash_size", "1M")]);
    let mut c = connect(&instance);
    let count = "select sample_count from v$ash_info";
    sleep(Duration::from_millis(1200));
    assert_eq!(
        rows(&mut c, "select sample_count, oldest_sample_id, latest_sample_time from v$ash_info"),
        [["0", "-", "-"]]
    );
    run(&mut c, "alter system set \"_ash_sampling_interval\" = 10");
    run(&mut c, "alter system set \"_ash_enable\" = true");
    await_rows(&mut c, &format!("{count} where sample_count > 50"));
    let info = "select count(*) from v$ash_info where total_size between 900000 and 1048576 and sampling_interval = 10 \
                and latest_sample_time >= nvl(oldest_sample_time, latest_sample_time) and sampler_elapsed_time > 0 and disk_filter_ratio = 10";
    assert_eq!(number(&mut c, info), 1);
    run(&mut c, "alter system set statistics_level = basic");
    let off = "select system_status from v$statistics_level where statistics_name = 'Active Session History'";
    assert_eq!(one(&mut c, off), "DISABLED");
    // The sampler may be about to take one more sample. It waits after each round: once it has begun two more waits, it
    // has seen the change.
    let waits = "select s.seq# from v$session s, v$process p where p.addr = s.paddr and p.pname = 'MMNL'";
    let rounds = |c: &mut Client, n: i64| {
        let from = number(c, waits);
        await_rows(c, &format!("select 1 from ({waits}) where seq# >= {from} + {n}"));
    };
    rounds(&mut c, 2);
    let then = number(&mut c, count);
    rounds(&mut c, 5);
    assert_eq!(number(&mut c, count), then);
    let program = "select count(*) from v$bgprocess b, v$session s where b.name = 'MMNL' and s.paddr = b.paddr and s.type = 'BACKGROUND'";
    assert_eq!(number(&mut c, program), 1);
}

/// The newest sample with all these sessions, once there is one beyond `after`.
fn sample_of_all(c: &mut Client, sids: &[i64], after: i64) -> i64 {
    let list = sids.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    let sql = format!(
        "select max(sample_id) from (select sample_id from v$active_session_history where session_id in ({list}) \
         group by sample_id having count(*) = {}) having max(sample_id) > {after}",
        sids.len()
    );
    await_rows(c, &sql)[0][0].parse().expect("a number")
}

#[test]
fn what_is_seen_of_a_session_within_a_call_is_its_time_in_the_database() {
    let instance = start(FAST);
    let mut c = connect(&instance);
    run(&mut c, "create table t (id number primary key)");
    run(&mut c, "insert into t values (1)");
    run(&mut c, "commit");
    run(&mut c, "update t set id = id where id = 1");
    let (mut waits, mut computes, mut rests) = (connect(&instance), connect(&instance), connect(&instance));
    let sids = [sid(&mut waits), sid(&mut computes)];
    let at_rest = sid(&mut rests);
    let breaker = computes.break_handle();
    let waiting = in_background(waits, "update t set id = id where id = 1".into());
    let computing = spawn(move || computes.execute("begin loop null; end loop; end;", &[]).map(|_| ()));
    let begun = sample_of_all(&mut c, &sids, 0);
    for sid in sids {
        let time = format!("select value from v$sess_time_model where sid = {sid} and stat_name = 'DB time'");
        // DB time is read before and after the first sample, and before and after the last. The newest sample may be
        // older than a reading, and the next one may be in progress: the one after that is taken after the reading.
        let before_first = number(&mut c, &time);
        let newest = sample_of_all(&mut c, &sids, begun);
        let first = sample_of_all(&mut c, &sids, newest + 1);
        let behind_first = number(&mut c, &time);
        let between = sample_of_all(&mut c, &sids, first + 20);
        let before_last = number(&mut c, &time);
        let last = sample_of_all(&mut c, &sids, between + 1);
        let spent = format!(
            "select sum(tm_delta_db_time) from v$active_session_history where session_id = {sid} and sample_id > {first} \
             and sample_id <= {last}"
        );
        let spent = number(&mut c, &spent);
        let behind_last = number(&mut c, &time);
        let bounds = (before_last - behind_first, behind_last - before_first);
        assert!(bounds.0 > 0 && bounds.0 <= spent && spent <= bounds.1, "{spent} {bounds:?}");
        // A session in a call is in each sample once.
        let seen = format!(
            "select count(*) || ' in ' || count(distinct sample_id) || ' of ' || (max(sample_id) - min(sample_id) + 1) \
             from v$active_session_history where session_id = {sid} and sample_id between {first} and {last}"
        );
        let samples = last - first + 1;
        assert_eq!(one(&mut c, &seen), format!("{samples} in {samples} of {samples}"));
    }
    let idle =
        format!("select count(*) from v$active_session_history where session_id = {at_rest} and sample_id > {begun}");
    assert_eq!(number(&mut c, &idle), 0);
    run(&mut c, "rollback");
    waiting.join().expect("it ends");
    breaker.send().expect("it is sent");
    assert!(computing.join().expect("it ends").is_err());
}
