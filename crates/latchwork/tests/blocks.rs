//! Blocks of PL/SQL as cursors: blocks of clients, EXECUTE IMMEDIATE and jobs are shared, counted and shown like
//! statements.

mod support;

use client::{Bind, Client};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};
use support::{connect, run, start};
use types::{DataType, Number, Value};

/// Time limit of every wait.
const LIMIT: Duration = Duration::from_secs(60);

const DESIGNS: [&str; 4] = ["latch", "pins", "mutex", "versioned"];

/// The rows of a query, columns joined by blanks and rows by semicolons.
fn rows(c: &mut Client, sql: &str) -> String {
    let all = c.query(sql, &[]).and_then(|q| q.all()).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let text = |v: &Value| match v {
        Value::Null => "-".to_string(),
        Value::Text(s) => s.clone(),
        Value::Number(n) => n.to_string(),
        other => format!("{other:?}"),
    };
    all.iter().map(|row| row.iter().map(text).collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join(";")
}

fn number(c: &mut Client, sql: &str) -> i64 {
    let found = rows(c, sql);
    found.parse().unwrap_or_else(|e| panic!("{sql}: {found}: {e}"))
}

/// Waits until a query returns this.
#[track_caller]
fn until(c: &mut Client, sql: &str, expected: &str) {
    let began = Instant::now();
    loop {
        let found = rows(c, sql);
        if found == expected {
            return;
        }
        assert!(began.elapsed() < LIMIT, "{sql}: {found}, not {expected}");
        sleep(Duration::from_millis(10));
    }
}

fn in_background(mut c: Client, sql: &str) -> JoinHandle<(Client, Result<(), String>)> {
    let sql = sql.to_string();
    spawn(move || {
        let done = c.execute(&sql, &[]).map(drop).map_err(|e| e.to_string());
        (c, done)
    })
}

/// Kind, child, executions, parse calls, fetches, rows, loads, invalidations and status of the cursors with this text.
fn figures(c: &mut Client, like: &str) -> String {
    let sql = format!(
        "select command_type, child_number, executions, parse_calls, fetches, rows_processed, loads, invalidations, object_status \
         from v$sql where sql_text like '{like}' and command_type in (47, 170) order by sql_text, child_number"
    );
    rows(c, &sql)
}

#[test]
fn blocks_and_calls_are_found_counted_and_shared_in_every_design() {
    for design in DESIGNS {
        let instance = start(&[("_library_cache_design", design)]);
        let (mut a, mut b) = (connect(&instance), connect(&instance));
        run(&mut a, "create table bt (n number)");
        run(&mut a, "create procedure bp(x number) as begin insert into bt values (x); end;");
        run(&mut a, "begin dbms_application_info.set_module('till', 'one'); end;");
        let block = "begin bp(1); end;";
        for _ in 0..3 {
            run(&mut a, block);
        }
        assert_eq!(figures(&mut a, "begin bp(1)%"), "47 0 3 3 0 3 1 0 VALID", "{design}");
        run(&mut b, block);
        assert_eq!(figures(&mut b, "begin bp(1)%"), "47 0 4 4 0 4 1 0 VALID", "{design}");
        // The text is stored as it was sent.
        run(&mut b, "BEGIN bp(1); END;");
        assert_eq!(figures(&mut b, "BEGIN bp(1)%"), "47 0 1 1 0 1 1 0 VALID", "{design}");
        run(&mut b, "call bp(2)");
        run(&mut b, "call bp(2)");
        assert_eq!(figures(&mut b, "call bp%"), "170 0 2 2 0 2 1 0 VALID", "{design}");
        let about = "select module, action, plan_hash_value, users_executing, parsing_schema_name from v$sql where sql_text like 'begin bp(1)%'";
        assert_eq!(rows(&mut b, about), "till one 0 0 SYS", "{design}");
        // Binds, IN and OUT.
        let of = |n: i64| Bind::named("x", DataType::NUMBER, Value::Number(Number::from_i64(n)));
        for n in [4, 5] {
            let outcome = a.execute("begin :x := :x * 2; end;", &[of(n)]).expect("a block");
            assert_eq!(outcome.done.out, [(0, Value::Number(Number::from_i64(2 * n)))], "{design}");
        }
        assert_eq!(figures(&mut a, "begin :x%"), "47 0 2 2 0 2 1 0 VALID", "{design}");
        // A block that raises an error was executed, without rows.
        let failed = a.execute("begin raise_application_error(-20001, 'no'); end;", &[]);
        assert!(failed.is_err_and(|e| e.to_string().contains("ORA-20001")), "{design}");
        assert_eq!(figures(&mut a, "begin raise%"), "47 0 1 1 0 0 1 0 VALID", "{design}");
        // A block that does not compile leaves no cursor.
        assert!(a.execute("begin no_such_thing; end;", &[]).is_err(), "{design}");
        assert_eq!(figures(&mut a, "begin no%"), "", "{design}");
        // Dynamic blocks are separate cursors, and their work also counts for the outer block.
        run(
            &mut a,
            "begin for i in 1 .. 3 loop execute immediate 'begin bp(:1); end;' using i; end loop; execute immediate 'call bp(:1)' using 7; end;",
        );
        assert_eq!(figures(&mut a, "begin bp(:1)%"), "47 0 3 3 0 3 1 0 VALID", "{design}");
        assert_eq!(figures(&mut a, "call bp(:1)%"), "170 0 1 1 0 1 1 0 VALID", "{design}");
        let more = "select sum(case when sql_text like 'begin for%' then buffer_gets end) - sum(case when sql_text like 'begin bp(:1)%' \
                    or sql_text like 'call bp(:1)%' then buffer_gets end) from v$sql";
        assert!(number(&mut a, more) >= 0, "{design}");
        // Other optimizer settings make another child.
        run(&mut b, "alter session set optimizer_mode = first_rows_10");
        run(&mut b, block);
        assert_eq!(figures(&mut b, "begin bp(1)%"), "47 0 4 4 0 4 1 0 VALID;47 1 1 1 0 1 1 0 VALID", "{design}");
        // Changing an object that a block names invalidates the block; it is compiled again.
        run(&mut a, "create or replace procedure bp(x number) as begin null; end;");
        let invalid = "select count(*) from v$sql where sql_text like 'begin bp(1)%' and invalidations = 1 and object_status <> 'VALID'";
        assert_eq!(rows(&mut a, invalid), "2", "{design}");
        run(&mut a, block);
        let first = figures(&mut a, "begin bp(1)%");
        assert!(first.starts_with("47 0 5 5 0 5 2 1 VALID;"), "{design}: {first}");
        // A flush removes it, and the next execution loads it again, even if the session still has it open.
        run(&mut b, "begin bp(3); end;");
        run(&mut a, "alter system flush shared_pool");
        assert_eq!(figures(&mut a, "begin bp%"), "", "{design}");
        run(&mut b, "begin bp(3); end;");
        assert_eq!(figures(&mut a, "begin bp(3)%"), "47 0 1 1 0 1 1 0 VALID", "{design}");
    }
}

#[test]
fn a_block_is_parsed_kept_marked_hot_and_purged_like_a_statement() {
    for design in DESIGNS {
        let instance = start(&[("_library_cache_design", design)]);
        let mut s = connect(&instance);
        let names = [
            "parse count (total)",
            "parse count (hard)",
            "parse count (failures)",
            "session cursor cache hits",
            "execute count",
        ];
        let counted = |s: &mut Client| {
            names.map(|name| {
                let sql = format!(
                    "select s.value from v$mystat s, v$statname n where n.statistic# = s.statistic# and n.name = '{name}'"
                );
                number(s, &sql)
            })
        };
        // From the third parse call on a text is kept.
        for _ in 0..3 {
            counted(&mut s);
        }
        let before = counted(&mut s);
        for _ in 0..4 {
            run(&mut s, "begin null; end;");
        }
        assert!(s.execute("begin nul; end;", &[]).is_err());
        let after = counted(&mut s);
        let added: Vec<i64> = after.iter().zip(before).map(|(a, b)| a - b).collect();
        // The queries for the figures are counted, too: five were parsed, found and executed.
        assert_eq!(added, [5 + 5, 1, 1, 5 + 1, 5 + 4], "{design}");
        let open = "select cursor_type, sql_text from v$open_cursor where sid = sys_context('userenv', 'sid') and sql_text like 'begin n%'";
        assert_eq!(rows(&mut s, open), "SESSION CURSOR CACHED begin null; end;", "{design}");
        let where_it_is = "from v$db_object_cache where name = 'begin null; end;'";
        let hash = rows(&mut s, &format!("select full_hash_value {where_it_is}"));
        run(&mut s, &format!("begin dbms_shared_pool.markhot(hash => '{hash}', namespace => 0); end;"));
        let mut t = connect(&instance);
        run(&mut t, "begin null; end;");
        let hot = format!("select count(*), sum(case when property like 'HOTCOPY%' then 1 else 0 end) {where_it_is}");
        assert_eq!(rows(&mut s, &hot), "2 1", "{design}");
        run(&mut s, &format!("begin dbms_shared_pool.unmarkhot('{hash}', 0); end;"));
        assert_eq!(rows(&mut s, &format!("select count(*) {where_it_is}")), "0", "{design}");
        // At most the permitted number of cursors is kept, statements and blocks together.
        run(&mut s, "alter session set session_cached_cursors = 4");
        for n in 0..18 {
            run(&mut s, &format!("begin null; /* {} */ end;", n / 3));
            rows(&mut s, &format!("select {} from dual", n / 3));
        }
        let kept = "select count(*) from v$open_cursor where sid = sys_context('userenv', 'sid') and cursor_type like '%CACHED'";
        assert_eq!(number(&mut s, kept), 4, "{design}");
        run(&mut s, "begin null; /* 5 */ end;");
        let cached = "select s.value from v$mystat s, v$statname n where n.statistic# = s.statistic# and n.name = 'session cursor cache count'";
        assert_eq!(number(&mut s, cached), 4, "{design}");
    }
}

#[test]
fn a_block_is_charged_with_what_its_statements_do() {
    let instance = start(&[]);
    let mut s = connect(&instance);
    run(&mut s, "create table cost as select level n, rpad('x', 500) v from dual connect by level <= 500");
    let block = "declare x number; begin for i in 1 .. 40 loop select count(v) into x from cost; end loop; end;";
    run(&mut s, block);
    let gets = "select sum(case when command_type = 47 then buffer_gets end) - sum(case when command_type = 3 then buffer_gets end), \
                sum(case when command_type = 3 then buffer_gets end) from v$sql \
                where sql_text like 'declare x number; begin for i%' or sql_text like 'SELECT COUNT(V) FROM COST%'";
    let before = rows(&mut s, gets);
    run(&mut s, block);
    let after = rows(&mut s, gets);
    let pair = |row: &str| row.split(' ').map(|n| n.parse::<i64>().expect("a number")).collect::<Vec<_>>();
    let (before, after) = (pair(&before), pair(&after));
    // The second time nothing is compiled: the block has the counts of its query.
    assert_eq!(after[0], before[0]);
    assert!(after[1] - before[1] >= 40 * 30, "{before:?} {after:?}");
    let time = "select count(*) from v$sql where sql_text like 'declare x number; begin for i%' and executions = 2 and elapsed_time > 0 \
                and cpu_time > 0 and cpu_time <= elapsed_time + 100";
    assert_eq!(rows(&mut s, time), "1");
    // Sleeping counts as elapsed time, not as CPU time.
    run(&mut s, "begin dbms_lock.sleep(0.3); end;");
    let slept = "select count(*) from v$sql where sql_text like 'begin dbms_lock.sleep%' and elapsed_time >= 300000 and cpu_time < 100000";
    assert_eq!(rows(&mut s, slept), "1");
}

const BUSY: &str =
    "declare n number := 0; begin loop for i in 1 .. 1000 loop n := n + mod(i, 7); end loop; end loop; end;";

/// Ends what a session does.
fn kill(c: &mut Client, sid: u32) {
    let serial = rows(c, &format!("select serial# from v$session where sid = {sid}"));
    run(c, &format!("alter system kill session '{sid},{serial}'"));
}

#[test]
fn a_session_shows_the_block_it_runs_and_the_statement_inside() {
    for design in DESIGNS {
        let instance = start(&[("_library_cache_design", design), ("_ash_sampling_interval", "10")]);
        let (mut c, busy, mut holder, waiter) =
            (connect(&instance), connect(&instance), connect(&instance), connect(&instance));
        let (busy_sid, waiter_sid) = (busy.sid(), waiter.sid());
        run(&mut c, "create table w (n number)");
        run(&mut c, "insert into w values (1)");
        run(&mut c, "commit");
        let works = in_background(busy, BUSY);
        // PL/SQL alone: the block.
        let shown = format!(
            "select q.command_type, q.users_executing, nvl2(s.sql_exec_id, 'numbered', '-'), nvl2(s.sql_exec_start, 'begun', '-'), s.sql_child_number \
             from v$session s, v$sql q where s.sid = {busy_sid} and q.sql_id = s.sql_id and q.sql_text like 'declare n number%'"
        );
        until(&mut c, &shown, "47 1 numbered begun 0");
        let seen = format!(
            "select distinct h.in_plsql_execution, h.in_sql_execution, h.is_sqlid_current, h.sql_opname, q.command_type, \
             case when h.sql_id = h.top_level_sql_id then 'itself' end, h.top_level_sql_opcode from v$active_session_history h, v$sql q \
             where h.session_id = {busy_sid} and h.sql_id = q.sql_id and q.sql_text like 'declare n number%'"
        );
        until(&mut c, &seen, "Y N Y PL/SQL EXECUTE 47 itself 47");
        // Its figures are visible while it runs.
        let told = "select executions, case when elapsed_time > 1000000 and cpu_time > 0 then 'told' else 'not yet' end from v$sql \
                    where sql_text like 'declare n number%'";
        until(&mut c, told, "1 told");
        // A statement inside: it, with the block at the top.
        run(&mut holder, "update w set n = 2");
        let waits = in_background(waiter, "begin update w set n = 3; commit; end;");
        let inside = format!(
            "select q.sql_text from v$session s, v$sql q where s.sid = {waiter_sid} and q.sql_id = s.sql_id and s.event like 'enq: TX%'"
        );
        until(&mut c, &inside, "UPDATE W SET N = 3");
        let both = format!(
            "select distinct q.sql_text, t.sql_text, h.in_plsql_execution, h.in_sql_execution from v$active_session_history h, v$sql q, v$sql t \
             where h.session_id = {waiter_sid} and q.sql_id = h.sql_id and t.sql_id = h.top_level_sql_id and h.event like 'enq: TX%'"
        );
        until(&mut c, &both, "UPDATE W SET N = 3 begin update w set n = 3; commit; end; N Y");
        run(&mut holder, "commit");
        let (_waiter, done) = waits.join().expect("goes on");
        assert_eq!(done, Ok(()), "{design}");
        let before = format!(
            "select q.sql_text, nvl(s.sql_id, 'none') from v$session s, v$sql q where s.sid = {waiter_sid} and q.sql_id = s.prev_sql_id"
        );
        until(&mut c, &before, "begin update w set n = 3; commit; end; none");
        kill(&mut c, busy_sid);
        let (_busy, done) = works.join().expect("ends");
        assert!(done.is_err_and(|e| e.contains("ORA-00028")), "{design}");
        let ended =
            "select users_executing, executions, rows_processed from v$sql where sql_text like 'declare n number%'";
        until(&mut c, ended, "0 1 0");
    }
}

#[test]
fn a_query_that_a_block_has_open_is_seen_only_while_it_is_fetched_from() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    run(&mut c, "create table few as select level n from dual connect by level <= 3");
    for (name, text) in [
        ("loop", "begin for r in (select n from few) loop dbms_lock.sleep(60); end loop; end;"),
        (
            "cursor",
            "declare cursor k is select n from few; x number; begin open k; fetch k into x; dbms_lock.sleep(60); end;",
        ),
        ("dynamic", "declare k sys_refcursor; begin open k for 'select n from few'; dbms_lock.sleep(60); end;"),
        (
            "nested",
            "begin for r in (select n from few) loop execute immediate 'begin dbms_lock.sleep(60); end;'; end loop; end;",
        ),
    ] {
        let s = connect(&instance);
        let sid = s.sid();
        let sleeps = in_background(s, text);
        let shown = format!(
            "select q.sql_text from v$session s, v$sql q where s.sid = {sid} and q.sql_id = s.sql_id and s.event = 'PL/SQL lock timer'"
        );
        let innermost = if name == "nested" { "begin dbms_lock.sleep(60); end;" } else { text };
        until(&mut c, &shown, innermost);
        kill(&mut c, sid);
        let (_s, done) = sleeps.join().expect("ends");
        assert!(done.is_err(), "{name}");
    }
}

#[test]
fn a_session_shows_the_subprogram_that_was_entered_and_the_one_that_runs() {
    let instance = start(&[("_ash_sampling_interval", "10")]);
    let mut c = connect(&instance);
    for text in [
        "create package deep as procedure one; procedure two(n number); procedure two(s varchar2); end;",
        "create package body deep as procedure hidden as begin dbms_lock.sleep(60); end; \
         procedure one as begin two('x'); end; procedure two(n number) as begin null; end; \
         procedure two(s varchar2) as begin hidden; end; end;",
        "create procedure outermost as begin deep.two(1); deep.one; end;",
    ] {
        run(&mut c, text);
    }
    let s = connect(&instance);
    let sid = s.sid();
    let sleeps = in_background(s, "begin outermost; end;");
    let of = "(select o.object_name from dba_objects o where o.object_id = ";
    let shown = format!(
        "select {of} s.plsql_entry_object_id), s.plsql_entry_subprogram_id, {of} s.plsql_object_id), s.plsql_subprogram_id from v$session s \
         where s.sid = {sid}"
    );
    until(&mut c, &shown, "OUTERMOST 1 DEEP 3");
    kill(&mut c, sid);
    assert!(sleeps.join().expect("ends").1.is_err());

    // While SQL runs inside a block, the SQL is the current statement; the report of the samples has both.
    run(&mut c, "create table deeper as select level n from dual connect by level <= 300");
    run(
        &mut c,
        "create procedure asks as x number; begin select count(*) into x from deeper a, deeper b, deeper c; end;",
    );
    let busy = connect(&instance);
    let sid = busy.sid();
    let works = in_background(busy, "begin asks; end;");
    let seen = format!(
        "select distinct {of} h.plsql_entry_object_id), h.plsql_entry_subprogram_id, h.plsql_object_id from v$active_session_history h \
         where h.session_id = {sid} and h.sql_opname = 'SELECT' and h.in_parse = 'N'"
    );
    until(&mut c, &seen, "ASKS 1 -");
    let report = "select count(*) from table(dbms_workload_repository.ash_report_text(1, 1, sysdate - 5 / 1440, sysdate + 1 / 1440)) \
                  where output like 'SYS.ASKS %' and output like '% SQL %'";
    until(&mut c, report, "1");
    kill(&mut c, sid);
    assert!(works.join().expect("ends").1.is_err());
    let told = "select count(*) from v$session where plsql_object_id is not null or plsql_entry_object_id is not null";
    until(&mut c, told, "0");
}

#[test]
fn a_session_that_is_killed_at_once_leaves_no_user_of_its_block() {
    for design in DESIGNS {
        let instance = start(&[("_library_cache_design", design)]);
        let (mut c, busy) = (connect(&instance), connect(&instance));
        let sid = busy.sid();
        let works = in_background(busy, BUSY);
        let users = "select users_executing from v$sql where sql_text like 'declare n number%'";
        until(&mut c, users, "1");
        let spid = format!("select p.spid from v$session s, v$process p where s.sid = {sid} and p.addr = s.paddr");
        let pid = number(&mut c, &spid);
        let done = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().expect("kill runs");
        assert!(done.success());
        drop(works.join());
        until(&mut c, users, "0");
        run(&mut c, "alter system flush shared_pool");
        assert_eq!(figures(&mut c, "declare n number%"), "", "{design}");
    }
}

#[test]
fn a_job_is_a_block_with_the_text_that_was_published() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    run(&mut c, "create package emd_maintenance as procedure execute_em_dbms_job_procs; end;");
    run(
        &mut c,
        "create package body emd_maintenance as procedure execute_em_dbms_job_procs is begin dbms_lock.sleep(0.2); end; end;",
    );
    let what = "EMD_MAINTENANCE.EXECUTE_EM_DBMS_JOB_PROCS();";
    run(&mut c, &format!("declare j number; begin dbms_job.submit(j, '{what}', sysdate, 'sysdate + 1'); commit; end;"));
    let job = "select executions, command_type, rows_processed, case when elapsed_time > 200000 then 'slept' end from v$sql \
               where sql_id = '6gvch1xu9ca3g'";
    until(&mut c, job, "1 47 1 slept");
    let ran = "select failures, broken, nvl2(last_date, 'ran', '-') from dba_jobs";
    until(&mut c, ran, "0 N ran");
}

#[test]
fn the_workload_report_lists_blocks_and_their_samples() {
    let instance = start(&[("_ash_sampling_interval", "10")]);
    let mut c = connect(&instance);
    run(&mut c, "create table lots as select level n from dual connect by level <= 2000");
    run(&mut c, "begin dbms_workload_repository.create_snapshot; end;");
    let block =
        "declare x number; begin /* reported */ for i in 1 .. 300 loop select sum(n) into x from lots; end loop; end;";
    run(&mut c, block);
    let id = rows(&mut c, "select sql_id from v$sql where sql_text like 'declare x number; begin /* reported%'");
    let top = format!(
        "select count(*) from v$active_session_history where top_level_sql_id = '{id}' and sql_id <> '{id}' and sql_opname = 'SELECT'"
    );
    // The sampler may be waiting for a processor while the block runs.
    let began = Instant::now();
    while number(&mut c, &top) == 0 {
        assert!(began.elapsed() < LIMIT, "the query in the block is seen");
        run(&mut c, block);
    }
    run(&mut c, "begin dbms_workload_repository.create_snapshot; end;");
    let kept = "select command_type from dba_hist_sqltext where sql_text like 'declare x number; begin /* reported%'";
    assert_eq!(rows(&mut c, kept), "47");
    let report = rows(&mut c, "select output from table(dbms_workload_repository.awr_report_text(1, 1, 1, 2))")
        .replace(';', "\n");
    for title in
        ["SQL ordered by Elapsed Time", "SQL ordered by CPU Time", "SQL ordered by Gets", "SQL ordered by Executions"]
    {
        let from = report.find(&format!("\n{title}")).unwrap_or_else(|| panic!("{title} in {report}"));
        let section = &report[from + 1..];
        let section = &section[..section[1..].find("\nSQL ordered by").map_or(section.len(), |at| at + 1)];
        assert!(section.contains(&id), "{title}: {section}");
        if title.ends_with("Time") {
            assert!(section.contains("Captured PL/SQL accounts for"), "{section}");
        }
    }
}
