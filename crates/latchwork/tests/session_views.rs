//! The statements and waits of a session, as sampling scripts read them.

mod support;

use client::{Ephemeral, EphemeralOptions};
use std::path::PathBuf;
use support::{connect, one, run, until, words as rows};

fn start(generation: &str) -> Ephemeral {
    let params = vec![("latch_generation".to_string(), generation.to_string())];
    let options = EphemeralOptions { params, executable: Some(PathBuf::from(env!("CARGO_BIN_EXE_latchwork"))) };
    Ephemeral::start_with(&options).unwrap_or_else(|e| panic!("the instance starts: {e}"))
}

/// The columns of `v$session` in 19c.
const SESSION: &str = "SADDR SID SERIAL# AUDSID PADDR USER# USERNAME COMMAND OWNERID TADDR LOCKWAIT STATUS SERVER SCHEMA# SCHEMANAME OSUSER \
    PROCESS MACHINE PORT TERMINAL PROGRAM TYPE SQL_ADDRESS SQL_HASH_VALUE SQL_ID SQL_CHILD_NUMBER SQL_EXEC_START SQL_EXEC_ID \
    PREV_SQL_ADDR PREV_HASH_VALUE PREV_SQL_ID PREV_CHILD_NUMBER PREV_EXEC_START PREV_EXEC_ID PLSQL_ENTRY_OBJECT_ID \
    PLSQL_ENTRY_SUBPROGRAM_ID PLSQL_OBJECT_ID PLSQL_SUBPROGRAM_ID MODULE MODULE_HASH ACTION ACTION_HASH CLIENT_INFO \
    FIXED_TABLE_SEQUENCE ROW_WAIT_OBJ# ROW_WAIT_FILE# ROW_WAIT_BLOCK# ROW_WAIT_ROW# TOP_LEVEL_CALL# LOGON_TIME LAST_CALL_ET \
    PDML_ENABLED FAILOVER_TYPE FAILOVER_METHOD FAILED_OVER RESOURCE_CONSUMER_GROUP PDML_STATUS PDDL_STATUS PQ_STATUS \
    CURRENT_QUEUE_DURATION CLIENT_IDENTIFIER BLOCKING_SESSION_STATUS BLOCKING_INSTANCE BLOCKING_SESSION \
    FINAL_BLOCKING_SESSION_STATUS FINAL_BLOCKING_INSTANCE FINAL_BLOCKING_SESSION SEQ# EVENT# EVENT P1TEXT P1 P1RAW P2TEXT P2 \
    P2RAW P3TEXT P3 P3RAW WAIT_CLASS_ID WAIT_CLASS# WAIT_CLASS WAIT_TIME SECONDS_IN_WAIT STATE WAIT_TIME_MICRO \
    TIME_REMAINING_MICRO TIME_SINCE_LAST_WAIT_MICRO SERVICE_NAME SQL_TRACE SQL_TRACE_WAITS SQL_TRACE_BINDS \
    SQL_TRACE_PLAN_STATS SESSION_EDITION_ID CREATOR_ADDR CREATOR_SERIAL# ECID SQL_TRANSLATION_PROFILE_ID PGA_TUNABLE_MEM \
    SHARD_DDL_STATUS CON_ID EXTERNAL_NAME PLSQL_DEBUGGER_CONNECTED";

#[test]
fn a_session_has_the_columns_of_19c_in_their_order() {
    let instance = start("latchwork");
    let mut c = connect(&instance);
    let columns = c.describe("select * from v$session").expect("a description");
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, SESSION.split_whitespace().collect::<Vec<_>>());
}

#[test]
fn a_session_shows_the_statement_it_executes_and_the_one_before() {
    for generation in ["11.1", "12.1", "latchwork"] {
        let instance = start(generation);
        let (mut holder, mut waiter, mut c) = (connect(&instance), connect(&instance), connect(&instance));
        run(&mut c, "create table t (n number)");
        run(&mut c, "insert into t values (1)");
        run(&mut c, "commit");
        let update = "update t set n = n + 1";
        run(&mut holder, "update t set n = 7");
        let (held_by, sid) = (holder.sid().to_string(), waiter.sid().to_string());
        std::thread::scope(|scope| {
            let stopped = scope.spawn(move || {
                run(&mut waiter, update);
                waiter
            });
            let of = |column: &str| format!("select {column} from v$session where sid = {sid}");
            until("the update waits", || one(&mut c, &of("event")) == "enq: TX - row lock contention");
            let named = format!(
                "select q.sql_text, s.sql_child_number, s.blocking_session, s.blocking_instance, s.final_blocking_session \
                 from v$session s, v$sql q where s.sid = {sid} and q.sql_id = s.sql_id and q.address = s.sql_address \
                 and q.hash_value = s.sql_hash_value and q.child_number = s.sql_child_number"
            );
            assert_eq!(rows(&mut c, &named), [[update, "0", &held_by, "1", &held_by]]);
            let lower = format!(
                "select count(*) from x$ksuse u, v$session s, v$sql q where s.sid = {sid} and u.indx = s.sid \
                 and u.ksusesqi = s.sql_id and u.ksusesql = s.sql_address and u.ksusesqh = s.sql_hash_value \
                 and u.ksusesch = s.sql_child_number and q.sql_id = s.sql_id and u.ksusesph = q.plan_hash_value \
                 and bitand(u.ksusstmbv, power(2, 10)) = power(2, 10)"
            );
            assert_eq!(one(&mut c, &lower), "1");
            let wait = format!(
                "select nvl2(p1text, p1text || '= ', null) || case when p1 < 536870912 then to_char(p1) \
                 else '0x' || rawtohex(p1raw) end, chr(bitand(p1, -16777216) / 16777215) || chr(bitand(p1, 16711680) / 65535) \
                 || ' mode ' || bitand(p1, power(2, 14) - 1) from v$session_wait where sid in (select sid from v$session \
                 where sid = {sid})"
            );
            assert_eq!(rows(&mut c, &wait), [["name|mode= 0x0000000054580006", "TX mode 6"]]);
            let execution = of("to_char(sql_exec_id)");
            let number = one(&mut c, &execution);
            assert!(number.parse::<u64>().is_ok_and(|id| id >> 24 == 1), "{number}");
            let began = of("count(*)") + " and sql_exec_start between sysdate - 1/1440 and sysdate";
            assert_eq!(one(&mut c, &began), "1");
            run(&mut holder, "rollback");
            let waiter = stopped.join().unwrap();
            until("the call is over", || one(&mut c, &of("status")) == "INACTIVE");
            let after = rows(&mut c, &of("sql_id || '|', prev_child_number, blocking_instance"));
            assert_eq!(after, [["|", "0", ""]]);
            let ended = of("sql_exec_id || '|' || prev_exec_id || '|' || nvl2(prev_exec_start, 'began', '')");
            assert_eq!(one(&mut c, &ended), format!("|{number}|began"));
            let before = "select q.sql_text from v$session s, v$sqlarea q where q.sql_id = s.prev_sql_id \
                 and q.address = s.prev_sql_addr and q.hash_value = s.prev_hash_value and s.sid = ";
            assert_eq!(one(&mut c, &format!("{before}{sid}")), update);
            drop(waiter);
            // For its own session a query sees itself, and the previous query.
            let own =
                format!("select 'itself' from v$session s, v$sql q where q.sql_id = s.sql_id and s.sid = {}", c.sid());
            assert_eq!(one(&mut c, &own), "itself");
            let own = format!("{before}{}", c.sid());
            assert!(one(&mut c, &own).starts_with("select 'itself'"));
        });
    }
}

#[test]
fn a_statement_in_plsql_is_the_one_executed_and_gives_way_to_nothing() {
    let instance = start("latchwork");
    let mut c = connect(&instance);
    run(&mut c, "create table seen (inner_text varchar2(100), n number)");
    run(
        &mut c,
        "begin for r in (select level n from dual connect by level <= 2) loop \
         insert into seen select substr(q.sql_text, 1, 16), r.n from v$session s, v$sql q \
         where s.sid = sys_context('userenv', 'sid') and q.sql_id = s.sql_id; end loop; commit; end;",
    );
    let seen = rows(&mut c, "select lower(inner_text), n from seen order by n");
    assert_eq!(seen, [["insert into seen", "1"], ["insert into seen", "2"]]);
    let idle = format!("select sql_id || '-' from v$session where sid = {}", c.sid());
    let mut other = connect(&instance);
    assert_eq!(one(&mut other, &idle), "-");
}

#[test]
fn executions_have_numbers_of_their_own() {
    let instance = start("latchwork");
    let (mut c, mut d) = (connect(&instance), connect(&instance));
    let own = "select sql_exec_id from v$session where sid = sys_context('userenv', 'sid')";
    let mut numbers: Vec<String> = Vec::new();
    for _ in 0..20 {
        numbers.extend([one(&mut c, own), one(&mut d, own)]);
    }
    let distinct: std::collections::HashSet<_> = numbers.iter().collect();
    assert_eq!(distinct.len(), 40, "{numbers:?}");
}

#[test]
fn the_last_ten_waits_of_a_session_are_remembered() {
    let instance = start("latchwork");
    let mut c = connect(&instance);
    for hundredths in 1..=12 {
        run(&mut c, &format!("begin dbms_lock.sleep({hundredths} / 100); end;"));
    }
    let own = format!("from v$session_wait_history where sid = {}", c.sid());
    let numbers = rows(&mut c, &format!("select count(*), min(seq#), max(seq#), count(distinct seq#) {own}"));
    assert_eq!(numbers, [["10", "1", "10", "10"]]);
    // Between the sleeps the session waits for calls: every other wait is a sleep, the latest first.
    let sleeps = rows(
        &mut c,
        &format!(
            "select p1, wait_time_micro, time_since_last_wait_micro {own} and event = 'PL/SQL lock timer' order by seq#"
        ),
    );
    assert!(sleeps.len() >= 3, "{sleeps:?}");
    let first: u64 = sleeps[0][0].parse().unwrap();
    for (at, sleep) in sleeps.iter().enumerate() {
        let [p1, micro]: [u64; 2] = [0, 1].map(|n| sleep[n].parse().unwrap());
        assert_eq!(p1, first - at as u64);
        assert!(micro >= p1 * 10_000, "{sleeps:?}");
    }
}

#[test]
fn a_job_runs_in_a_session_of_its_user() {
    let instance = start("latchwork");
    let mut c = connect(&instance);
    run(&mut c, "declare j number; begin dbms_job.submit(j, 'begin dbms_lock.sleep(60); end;'); commit; end;");
    until("the job runs", || one(&mut c, "select count(*) from dba_jobs_running") == "1");
    let slave = "from v$session s, v$process p, dba_jobs_running r where s.sid = r.sid and p.addr = s.paddr";
    // The slave has the job's lock before it has read the job's definition; a job removed in between does not run.
    let is = format!(
        "select s.type || s.service_name || p.pname || sign(s.audsid) {slave} and s.event = 'PL/SQL lock timer'"
    );
    // The views of the join are read one after the other, so it may return nothing while the slave starts.
    until("the slave is a user's session", || rows(&mut c, &is) == [["USERSYS$USERSJ0001"]]);
    assert_eq!(one(&mut c, "select nvl(failures, 0) from dba_jobs"), "0");
    run(&mut c, "begin for r in (select job from dba_jobs) loop dbms_job.remove(r.job); end loop; commit; end;");
    let kill = one(&mut c, &format!("select s.sid || ',' || s.serial# {slave}"));
    run(&mut c, &format!("alter system kill session '{kill}' immediate"));
    until("the job ends", || one(&mut c, "select count(*) from dba_jobs_running") == "0");
}

#[test]
fn sampling_a_latch_held_by_hand_finds_it_in_every_sample() {
    for generation in ["11.2.0.3", "12.1", "latchwork"] {
        let instance = start(generation);
        let (mut hand, mut c) = (connect(&instance), connect(&instance));
        let latch = rows(
            &mut c,
            "select rawtohex(addr), name from v$latch where name like 'Result Cache: %Latch' order by latch#",
        );
        let (address, name) = (&latch[0][0], latch[0][1].as_str());
        run(&mut hand, "oradebug setmypid");
        run(&mut hand, &format!("oradebug call kslgetl 0x{address} 1"));
        let sampled = rows(
            &mut c,
            "with t1 as (select hsecs from v$timer), \
             samples as (select name, hmode, sqlid, ksllwnam, count(distinct gets) distinct_gets, count(*) total \
               from (select /*+ no_merge */ 1 from dual connect by level <= 100) s, \
                 (select ksuprsid sid, ksuprlnm name, ksulawhr, ksulagts gets, lower(ksuprlmd) hmode, ksuprlat laddr from x$ksuprlat) l, \
                 (select sid indx, sql_address, sql_hash_value, sql_child_number, sql_id sqlid from v$session) u, \
                 (select indx, ksllwnam from x$ksllw) w \
               where l.sid like '%' and l.ksulawhr = w.indx (+) and l.sid = u.indx \
                 and (lower(l.name) like '%result%' or lower(rawtohex(l.laddr)) like '%none%') \
               group by name, hmode, sqlid, ksllwnam order by total desc), \
             t2 as (select hsecs from v$timer) \
             select /*+ ordered */ s.name, s.hmode, s.total, s.distinct_gets, s.total / 100 * 100, s.sqlid \
             from t1, samples s, t2 where rownum <= 30 and t2.hsecs >= t1.hsecs",
        );
        assert_eq!(sampled, [[name, "exclusive", "100", "1", "100", ""]], "{generation}");
        run(&mut hand, &format!("oradebug call kslfre 0x{address}"));
    }
}

#[test]
fn objects_of_the_library_cache_enqueues_and_caches_have_what_scripts_join() {
    let instance = start("12.1");
    let mut c = connect(&instance);
    let text = "select 17 from dual";
    assert_eq!(one(&mut c, text), "17");
    let parent = format!(
        "select count(*) from x$kglob o, v$sqlarea q where o.kglnaobj = '{text}' and o.kglhdadr = o.kglhdpar \
         and o.kglnahsh = q.hash_value and o.kglobt03 = q.sql_id and o.kglhdadr = q.address and o.kglobt09 = 65535"
    );
    assert_eq!(one(&mut c, &parent), "1");
    let child = format!(
        "select count(*) from x$kglob o, v$sql q where o.kglnaobj = '{text}' and o.kglhdadr <> o.kglhdpar \
         and o.kglhdadr = q.child_address and o.kglobt30 = q.plan_hash_value and o.kglobt09 = q.child_number"
    );
    assert_eq!(one(&mut c, &child), "1");
    let reasons = "select e.name, s.eq_type, s.req_reason from v$event_name e, v$enqueue_statistics s \
        where e.event# = s.event# (+) and e.name in ('enq: TM - contention', 'enq: TX - index contention', 'pmon timer') order by 1";
    let expected = [
        ["enq: TM - contention", "TM", "contention"],
        ["enq: TX - index contention", "TX", "index contention"],
        ["pmon timer", "", ""],
    ];
    assert_eq!(rows(&mut c, reasons), expected);
    let missing = "select count(*) from (select distinct eq_type from v$enqueue_statistics) s, v$lock_type t \
        where t.type = s.eq_type (+) and s.eq_type is null";
    assert_eq!(one(&mut c, missing), "0", "every type of enqueue has a reason");
    let caches = "select count(*) from x$kqrst where decode(kqrsttyp, 2, kqrstsno, null) is not null and kqrsttyp = 2";
    let subordinate = "select count(*) from v$rowcache where type = 'SUBORDINATE'";
    let (seen, wanted) = (one(&mut c, caches), one(&mut c, subordinate));
    assert_eq!(seen, wanted);
}

#[test]
fn statements_of_a_block_put_values_into_variables_of_the_caller() {
    let script = std::env::temp_dir().join(format!("latchwork-into-{}.sql", std::process::id()));
    let text = "create table l as select 10 id, 5 v from dual;\nvar x number\nvar y number\n\
        exec :y := 10\n\
        begin for i in 1 .. 3 loop select v into :x from l where id = :y and id in (10, -1); end loop; end;\n/\n\
        begin update l set v = v + :x where id = :y returning v * 100 into :y; end;\n/\n\
        select 'got ' || :x || ' and ' || :y from dual;\nexit\n";
    std::fs::write(&script, text).expect("a script");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_latchwork"));
    let output = command.args(["sql", "-s", "--ephemeral"]).arg(format!("@{}", script.display())).output();
    let text = String::from_utf8_lossy(&output.expect("the program runs").stdout).into_owned();
    let _ = std::fs::remove_file(&script);
    assert!(text.contains("got 5 and 1000"), "{text}");
}

/// A table can be created from every view, so each column of each view has a type.
#[test]
fn a_table_can_be_made_of_every_view() {
    let instance = start("latchwork");
    let mut c = connect(&instance);
    let views = rows(&mut c, "select name from v$fixed_table union select table_name from dict");
    assert!(views.len() > 200, "{}", views.len());
    for view in views {
        let view = &view[0];
        run(&mut c, &format!("create table kept as select * from \"{view}\" where 1 = 0"));
        run(&mut c, "drop table kept purge");
    }
}

#[test]
fn cursors_that_plsql_holds_open_are_seen() {
    let instance = start("latchwork");
    let (mut holder, mut c) = (connect(&instance), connect(&instance));
    let open = format!(
        "select value from v$sesstat where sid = {} and statistic# = \
         (select statistic# from v$statname where name = 'opened cursors current')",
        holder.sid()
    );
    let before: i64 = one(&mut c, &open).parse().expect("a number");
    run(
        &mut holder,
        "create or replace package kept as cursor c is select 'in a package' x from dual; r sys_refcursor; end;",
    );
    run(&mut holder, "begin open kept.c; open kept.r for select 'by reference' x from dual; end;");
    assert_eq!(one(&mut c, &open), (before + 2).to_string());
    let texts = format!(
        "select sql_text from v$open_cursor where sid = {} and cursor_type = 'OPEN' and lower(sql_text) like 'select ''%' \
         order by 1",
        holder.sid()
    );
    let texts: Vec<String> = rows(&mut c, &texts).into_iter().map(|row| row[0].to_lowercase()).collect();
    assert_eq!(texts, ["select 'by reference' x from dual", "select 'in a package' x from dual"]);
    let counted = "declare n number; begin for x in (select 1 from dual) loop select s.value into n from v$mystat s, v$statname m \
                   where m.statistic# = s.statistic# and m.name = 'opened cursors current'; end loop; \
                   if n <> 3 then raise_application_error(-20001, n); end if; end;";
    run(&mut holder, counted);
    run(&mut holder, "begin close kept.c; close kept.r; end;");
    assert_eq!(one(&mut c, &open), before.to_string());
}

/// The dictionary has a row for each table and view of SYS, with its columns; users without the right to read the
/// dictionary see neither.
#[test]
fn the_dictionary_shows_the_tables_and_views_of_sys() {
    let instance = start("latchwork");
    let mut c = connect(&instance);
    for (kinds, view) in [("2", "dba_tables"), ("2, 4", "dba_tab_columns")] {
        let missing = format!(
            "select count(*) from (select name from obj$ where owner# = 0 and type# in ({kinds}) minus select table_name \
             from {view} where owner = 'SYS')"
        );
        assert_eq!(one(&mut c, &missing), "0", "{view}");
    }
    let twice = "select count(*) from (select null from dba_tab_cols where owner = 'SYS' group by table_name, column_name \
                 having count(*) > 1)";
    assert_eq!(one(&mut c, twice), "0");
    let dual = "select t.owner || t.table_name || t.tablespace_name || c.column_name || c.data_type || c.data_length from \
                all_tables t, all_tab_columns c where t.table_name = 'DUAL' and c.owner = t.owner and c.table_name = \
                t.table_name";
    assert_eq!(one(&mut c, dual), "SYSDUALSYSTEMDUMMYVARCHAR21");
    for (view, columns) in [("V_$LATCH", "v$latch"), ("GV_$LATCH", "gv$latch"), ("DBA_TABLES", "dba_tables")] {
        let described: Vec<String> = c
            .describe(&format!("select * from {columns}"))
            .expect("a description")
            .into_iter()
            .map(|d| d.name)
            .collect();
        let listed = format!("select column_name from dba_tab_columns where table_name = '{view}' order by column_id");
        assert_eq!(rows(&mut c, &listed).concat(), described, "{view}");
    }
    let dict = "select listagg(table_name, ' ') within group (order by table_name) from dict where table_name in \
                ('V$LATCH', 'GV$LATCH', 'USER_TABLES')";
    assert_eq!(one(&mut c, dict), "GV$LATCH USER_TABLES V$LATCH");
    run(&mut c, "create user plain identified by plain quota unlimited on users");
    run(&mut c, "grant create session, create table to plain");
    let mut c = instance.connect(&client::Credentials::password("plain", "plain")).expect("the user connects");
    run(&mut c, "create table mine (a number)");
    let seen = "select listagg(table_name, ' ') within group (order by table_name) from all_tables where table_name in \
                ('DUAL', 'OBJ$', 'MINE')";
    assert_eq!(one(&mut c, seen), "DUAL MINE");
    let hidden = "select count(*) from all_tab_columns where table_name in ('OBJ$', 'V_$LATCH', 'DBA_TABLES')";
    assert_eq!(one(&mut c, hidden), "0");
    assert_eq!(one(&mut c, "select count(*) from user_tables"), "1");
    assert_eq!(one(&mut c, "select count(*) from user_tab_columns"), "1");
}
