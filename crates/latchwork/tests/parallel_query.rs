//! Parallel queries: the same answers as without servers, and the state after one of their processes dies.

mod support;

use client::Client;
use support::{connect, one, refused, rows, run, start, stopped, stops_and_deaths, until, words};

/// A table of many blocks, one of one block, and an empty one.
fn make_tables(c: &mut Client) {
    run(c, "create table t (id number, k number, v varchar2(20), d date, amount number(10,2), pad varchar2(300))");
    run(
        c,
        "insert into t select level, decode(mod(level, 11), 0, null, mod(level, 11)),
         decode(mod(level, 5), 0, null, 'v' || mod(level, 13)), date '2024-01-01' + mod(level, 400) / 24,
         mod(level * 7919, 10007) / 8, rpad('p', mod(level, 200)) from dual connect by level <= 6000",
    );
    run(c, "create table small (k number, name varchar2(20))");
    run(c, "insert into small select level, 'n' || level from dual connect by level <= 9");
    run(c, "insert into small values (null, 'none')");
    run(c, "create table nothing (id number, k number, v varchar2(20), d date, amount number(10,2), pad varchar2(10))");
    run(c, "create table moments (id number, at timestamp with local time zone)");
    run(
        c,
        "insert into moments select level, timestamp '2024-03-31 00:00:00 +00:00' + numtodsinterval(level, 'MINUTE')
         from dual connect by level <= 500",
    );
    run(c, "create index small_k on small (k)");
    run(c, "commit");
    for table in ["T", "SMALL", "NOTHING", "MOMENTS"] {
        run(
            c,
            &format!(
                "begin dbms_stats.gather_table_stats(user, '{table}', method_opt => 'for all columns size \
                 skewonly'); end;"
            ),
        );
    }
}

/// Queries, `#` where the hint goes. Their rows are compared sorted unless they end with ORDER BY.
const QUERIES: &[&str] = &[
    "select # count(*) from t",
    "select # count(*), count(k), count(v), sum(amount), avg(amount), min(d), max(v) from t",
    "select # count(*), sum(id), avg(id), min(id) from t where id < 0",
    "select # id, k, v, d, amount from t where mod(id, 17) = 3",
    "select # * from t where k is null and v is null",
    "select # k, count(*), sum(amount), avg(amount), max(pad) from t group by k",
    "select # k, v, count(*) from t group by rollup (k, v)",
    "select # k, grouping(k), sum(id) from t group by cube (k)",
    "select # v, count(distinct k), stddev(id), median(amount) from t group by v",
    "select # k, sum(id) from t group by k having count(*) > 545 order by k",
    "select # distinct k, v from t",
    "select # id, amount from t order by amount desc, id fetch first 7 rows only",
    "select # * from (select id, amount from t order by amount, id desc) where rownum <= 5",
    "select # id from t order by amount, id",
    "select # id, row_number() over (partition by k order by amount, id) n from t where id < 300",
    "select # t.id, s.name from t, small s where t.k = s.k and t.id < 500",
    "select # t.id, s.name from t left join small s on t.k = s.k where t.id < 500",
    "select # s.name, t.id from small s left join t on t.k = s.k and t.id < 100",
    "select # s.name, count(*) from t join small s on s.k = t.k group by s.name",
    "select # count(*) from t where exists (select 1 from small s where s.k = t.k)",
    "select # count(*) from t where k not in (select k from small where k > 3)",
    "select # count(*) from t where k in (select k from small where k > 3)",
    "select # id, (select max(name) from small s where s.k = t.k) n from t where id < 60",
    "select # count(*) from t where amount > (select avg(amount) from t)",
    "select # t.id, s.name from t full join small s on t.k = s.k where nvl(t.id, 1) < 50",
    "select # id from t where id < 20 union all select id from t where id > 5990",
    "select # k from t minus select k from small",
    "select # count(*), max(id), sum(k) from nothing",
    "select # k, count(*) from nothing group by k",
    "select # n.id, t.id from nothing n join t on t.k = n.k",
    "select # to_char(d, 'DY DD MON'), count(*) from t group by to_char(d, 'DY DD MON')",
    "select # id, to_char(d) from t where d < '03-JAN-24' and mod(id, 5) = 0",
    "select # to_char(at), extract(hour from at) from moments",
    "select # user, count(*) from t",
    "select # count(*) from t where d < sysdate and sysdate is not null",
    "with w as (select k, sum(id) s from t group by k) select # a.k, b.s from w a, w b where a.k = b.k",
    // The last digits of inexact sums depend on the order of the rows.
    "select # round(sum(amount * 3 - id / 7), 20) from t",
    "select # id, rownum from t where rownum <= 3 and id > 100000",
    "select # s1.name, s2.name from small s1, small s2 where s1.k < s2.k",
    "select # id, sys_context('USERENV', 'SESSION_USER') from t where id < 30",
    "select # id, ora_rowscn - ora_rowscn from t where id < 30",
    "select # rowid from t where id < 40",
    "select # lower(v) || to_char(amount, '999G990D00') from t where id between 100 and 200",
];

fn answer(c: &mut Client, query: &str) -> Vec<Vec<String>> {
    let mut found = words(c, query);
    if !query.contains("order by k") && !query.ends_with("only") && !query.ends_with("amount, id") {
        found.sort();
    }
    found
}

fn parallelized(c: &mut Client) -> u64 {
    one(c, "select value from v$mystat natural join v$statname where name = 'queries parallelized'").parse().unwrap()
}

#[test]
fn the_answers_are_those_of_one_process() {
    let instance = start(&[("parallel_max_servers", "6")]);
    let mut c = connect(&instance);
    make_tables(&mut c);
    let compare = |c: &mut Client| {
        let before = parallelized(c);
        for query in QUERIES {
            let plain = answer(c, &query.replace('#', "/*+ no_parallel */"));
            for hint in ["/*+ parallel(6) */", "/*+ parallel(t 2) parallel(s 2) */"] {
                assert_eq!(answer(c, &query.replace('#', hint)), plain, "{query} {hint}");
            }
        }
        parallelized(c) - before
    };
    let count = compare(&mut c);
    assert!(count >= 60, "{count} queries were parallel");
    // With row sources of one row at a time, with little memory, with other language and time zone settings.
    for sql in [
        "alter session set \"_batch_execution\" = false",
        "alter session set workarea_size_policy = manual",
        "alter session set sort_area_size = 65536",
        "alter session set hash_area_size = 65536",
        "alter session set nls_date_format = 'DD-MON-RR HH24:MI'",
        "alter session set nls_numeric_characters = ',.'",
        "alter session set time_zone = 'Europe/Berlin'",
    ] {
        run(&mut c, sql);
    }
    assert!(compare(&mut c) >= 60);
    // Uncommitted changes of the session, some of them rolled back.
    run(&mut c, "update t set amount = amount + 1, k = nvl(k, 77) where mod(id, 3) = 0");
    run(&mut c, "delete from t where id between 1000 and 1500");
    run(&mut c, "savepoint here");
    run(&mut c, "insert into t select * from t where id < 700");
    run(&mut c, "insert into nothing select * from t where id < 5");
    run(&mut c, "rollback to here");
    run(&mut c, "insert into t (id, k, v) values (9999, 5, 'own')");
    assert!(compare(&mut c) >= 60);
    run(&mut c, "rollback");
}

#[test]
fn an_open_query_sees_nothing_of_what_its_session_does_later() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    make_tables(&mut c);
    run(
        &mut c,
        "declare
           cursor all_ids is select /*+ parallel(3) */ id from t;
           type ids is table of number;
           found ids;
           n number := 0;
         begin
           open all_ids;
           loop
             fetch all_ids bulk collect into found limit 500;
             n := n + found.count;
             exit when found.count = 0;
             delete from t where rownum <= 100;
             insert into t (id) select level from dual connect by level <= 50;
           end loop;
           close all_ids;
           if n != 6000 then raise_application_error(-20000, n); end if;
         end;",
    );
    run(&mut c, "rollback");
    // As of an SCN: the rows of that moment.
    let scn = one(&mut c, "select to_char(current_scn) from v$database");
    run(&mut c, "delete from t where id <= 5000");
    run(&mut c, "commit");
    assert_eq!(one(&mut c, &format!("select /*+ parallel(3) */ count(*) from t as of scn {scn}")), "6000");
    assert_eq!(one(&mut c, "select /*+ parallel(3) */ count(*) from t"), "1000");
}

#[test]
fn the_degree_comes_from_hint_table_and_session() {
    let instance = start(&[("cpu_count", "6"), ("parallel_max_servers", "8")]);
    let mut c = connect(&instance);
    make_tables(&mut c);
    let servers = |c: &mut Client| {
        assert_eq!(one(c, "select count(*) from t where id > 0"), "6000");
        one(c, "select to_char(last_query) from v$pq_sesstat where statistic = 'Server Threads'")
    };
    assert_eq!(servers(&mut c), "0");
    run(&mut c, "alter table t parallel 3");
    assert_eq!(one(&mut c, "select trim(degree) from user_tables where table_name = 'T'"), "3");
    assert_eq!(servers(&mut c), "3");
    run(&mut c, "alter table t parallel");
    assert_eq!(one(&mut c, "select trim(degree) from user_tables where table_name = 'T'"), "DEFAULT");
    assert_eq!(servers(&mut c), "6", "one for each processor");
    run(&mut c, "alter table t parallel (degree 4)");
    assert_eq!(servers(&mut c), "4");
    run(&mut c, "alter session disable parallel query");
    let before = parallelized(&mut c);
    assert_eq!(servers(&mut c), "4", "the last query is the one before");
    assert_eq!(parallelized(&mut c), before);
    assert_eq!(one(&mut c, "select pq_status from v$session where sid = sys_context('USERENV', 'SID')"), "DISABLED");
    run(&mut c, "alter session force parallel query parallel 5");
    assert_eq!(servers(&mut c), "5");
    run(&mut c, "alter table t noparallel");
    run(&mut c, "alter session enable parallel query");
    let before = parallelized(&mut c);
    servers(&mut c);
    assert_eq!(parallelized(&mut c), before);
    assert!(refused(&mut c, "alter session force parallel query parallel x").contains("ORA-02248"));
}

#[test]
fn what_servers_there_are_and_how_much_was_parallel_is_counted() {
    let instance = start(&[("parallel_max_servers", "3"), ("parallel_min_servers", "1")]);
    let mut c = connect(&instance);
    make_tables(&mut c);
    until("a server is there from the start", || one(&mut c, "select to_char(count(*)) from v$px_process") == "1");
    let stat =
        |c: &mut Client, name: &str| one(c, &format!("select to_char(value) from v$sysstat where name = '{name}'"));
    assert_eq!(one(&mut c, "select /*+ parallel(3) */ count(*) from t"), "6000");
    assert_eq!(stat(&mut c, "Parallel operations not downgraded"), "1");
    assert_eq!(one(&mut c, "select /*+ parallel(6) */ count(*) from t"), "6000");
    assert_eq!(stat(&mut c, "Parallel operations downgraded 50 to 75 pct"), "1");
    let queue = "select server_type, process, to_char(num_rows) from v$pq_tqstat order by server_type, process";
    let lines = words(&mut c, queue);
    let line = |kind: &str, process: &str, rows: &str| [kind, process, rows].map(String::from).to_vec();
    let producers = ["P000", "P001", "P002"].map(|name| line("Producer", name, "1"));
    assert_eq!(lines, [&[line("Consumer", "QC", "3")][..], &producers[..]].concat());
    // Texts whose cursors are not kept are separate queries, one after the other.
    for n in 0..5 {
        let before: u64 = parallelized(&mut c);
        assert_eq!(one(&mut c, &format!("select /*+ parallel(3) */ count(*) from t where {n} = {n}")), "6000");
        assert_eq!(parallelized(&mut c), before + 1);
        assert_eq!(words(&mut c, queue).len(), 4);
    }
    // An open query holds its servers.
    let mut other = connect(&instance);
    let mut open = other.query("select /*+ parallel(2) */ id, pad from t", &[]).unwrap();
    open.next_row().unwrap();
    let sql = "select server_name, status from v$px_process order by 1";
    assert_eq!(
        words(&mut c, sql),
        [line("P000", "IN USE", ""), line("P001", "IN USE", ""), line("P002", "AVAILABLE", "")]
            .map(|l| l[..2].to_vec())
    );
    let sessions =
        "select to_char(count(*)), to_char(count(server#)), to_char(max(degree)), to_char(count(distinct qcsid))
                    from v$px_session";
    assert_eq!(words(&mut c, sessions), [["3", "2", "2", "1"]]);
    let reads = "select to_char(count(*)) from v$px_sesstat p join v$statname n on n.statistic# = p.statistic#
                 where n.name = 'table scan blocks gotten' and p.server# is not null and p.value > 0";
    until("both servers have read", || one(&mut c, reads) == "2");
    // One server is left; then there is none.
    assert_eq!(one(&mut c, "select /*+ parallel(3) */ count(*) from t"), "6000");
    let mut third = connect(&instance);
    let mut open_too = third.query("select /*+ parallel(2) */ id, pad from t", &[]).unwrap();
    open_too.next_row().unwrap();
    let before = stat(&mut c, "Parallel operations downgraded to serial");
    assert_eq!(one(&mut c, "select /*+ parallel(3) */ count(*) from t"), "6000");
    assert_eq!((before.as_str(), stat(&mut c, "Parallel operations downgraded to serial").as_str()), ("0", "1"));
    drop((open, open_too));
    other.logoff(false).unwrap();
    third.logoff(false).unwrap();
    idle(&mut c);
    assert_eq!(
        one(&mut c, "select to_char(value) from v$px_process_sysstat where statistic = 'Servers Highwater'"),
        "3"
    );
}

/// The servers' reads and the rows of each operation are counted for the statement, as if one process had done the
/// work.
#[test]
fn what_servers_do_is_counted_for_the_statement_and_its_operations() {
    let instance = start(&[("parallel_max_servers", "3")]);
    let mut c = connect(&instance);
    make_tables(&mut c);
    let lines = |c: &mut Client, text: &str| {
        assert!(words(c, text).len() > 5);
        let text = text.replace('\'', "''");
        let lines = words(
            c,
            &format!(
                "select p.object_name, to_char(p.last_starts), to_char(p.last_output_rows), \
                 to_char(p.last_cr_buffer_gets), to_char(p.executions) from v$sql_plan_statistics_all p \
                 where p.object_name in ('T', 'SMALL') \
                 and p.sql_id = (select sql_id from v$sql where sql_text = '{text}') order by 1 desc"
            ),
        );
        let gets = one(c, &format!("select to_char(buffer_gets) from v$sql where sql_text = '{text}'"));
        (lines, gets.parse::<u64>().expect("a number"))
    };
    let number = |line: &[String], at: usize| line[at].parse::<u64>().expect("a number");
    for rest in [
        "s.name, count(*) from t join small s on s.k = t.k group by s.name",
        "id from t where nvl((select max(name) from small s where s.k + 0 = t.k), 'a') > 'n3'",
    ] {
        let (one, one_gets) = lines(&mut c, &format!("select /*+ gather_plan_statistics no_parallel */ {rest}"));
        let text = format!("select /*+ gather_plan_statistics parallel(3) */ {rest}");
        let (three, gets) = lines(&mut c, &text);
        assert_eq!((one.len(), three.len()), (2, 2), "{rest}: {one:?} {three:?}");
        assert_eq!((&*one[0][1], &*three[0][1]), ("1", "3"), "{rest}: starts of the scan that is divided");
        assert_eq!(one[0][2], three[0][2], "{rest}: its rows");
        let sent = words(
            &mut c,
            &format!(
                "select to_char(last_starts), sign(last_output_rows) from v$sql_plan_statistics_all \
                 where operation = 'PX SEND' and last_starts is not null \
                 and sql_id = (select sql_id from v$sql where sql_text = '{}')",
                text.replace('\'', "''")
            ),
        );
        assert!(sent.iter().all(|line| *line == ["3", "1"]) && !sent.is_empty(), "{rest}: {sent:?}");
        assert!(number(&three[0], 3) >= number(&one[0], 3), "{rest}: its blocks");
        // Each server reads the other table, and keeps its own copy of the rows.
        let [few, many] = [&one[1], &three[1]].map(|line| (number(line, 1), number(line, 2)));
        assert!(many.0 > few.0 && many.1 > few.1, "{rest}: {few:?} {many:?}");
        assert_eq!((&*one[1][4], &*three[1][4]), ("1", "1"), "{rest}: one execution");
        assert!(gets >= number(&three[0], 3) + number(&three[1], 3), "{rest}: {gets} of {three:?}");
        assert!(one_gets >= number(&one[0], 3), "{rest}");
    }
    // A query that is closed early counts its servers' work until then.
    let text = "select /*+ parallel(2) */ id, pad from t";
    let mut open = c.query(text, &[]).expect("a query");
    open.next_row().expect("a row");
    drop(open);
    idle(&mut c);
    let gets = format!("select to_char(buffer_gets) from v$sql where sql_text = '{text}'");
    until("its servers have told what they read", || one(&mut c, &gets).parse::<u64>().expect("a number") > 10);
}

fn idle(c: &mut Client) {
    let busy = "select to_char(count(*)) from v$px_process where status = 'IN USE'";
    until("the servers are given back", || one(c, busy) == "0");
}

#[test]
fn an_error_of_a_server_is_the_querys_with_its_number() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    make_tables(&mut c);
    let text = refused(&mut c, "select /*+ parallel(3) */ sum(1 / (id - 3000)) from t");
    assert!(text.starts_with("ORA-12801: error signaled in parallel query server P00"), "{text}");
    assert!(text.contains("ORA-01476: divisor is equal to zero"), "{text}");
    let text = refused(&mut c, "select /*+ parallel(3) */ count(*) from t where to_number(v) = 3");
    assert!(text.contains("ORA-01722"), "{text}");
    idle(&mut c);
    assert_eq!(one(&mut c, "select /*+ parallel(3) */ count(*) from t"), "6000");
}

#[test]
fn a_server_that_is_killed_ends_its_query_and_nothing_else() {
    let mut instance = start(&[("_crash_point", "px-granule:1:stop")]);
    let mut c = connect(&instance);
    make_tables(&mut c);
    for _ in 0..3 {
        let ended = stopped(&instance, "select /*+ parallel(3) */ count(*) from t", |server, _, _| {
            os::process::kill(server, os::signal::SIGKILL).unwrap();
        });
        assert!(ended.as_ref().is_err_and(|e| e.contains("ORA-12805")), "{ended:?}");
        idle(&mut c);
        assert_eq!(one(&mut c, "select /*+ parallel(3) */ count(*) from t"), "6000");
    }
    assert_eq!(
        one(&mut c, "select to_char(value) from v$px_process_sysstat where statistic = 'Servers Cleaned Up'"),
        "3"
    );
    assert!(instance.is_running());
}

#[test]
fn servers_are_free_when_their_coordinator_dies_or_is_broken_off() {
    let mut instance = start(&[("_crash_point", "px-granule:1:stop")]);
    let mut c = connect(&instance);
    make_tables(&mut c);
    let sql = "select /*+ parallel(3) */ count(*) from t";
    let ended = stopped(&instance, sql, |server, coordinator, _| {
        os::process::kill(coordinator, os::signal::SIGKILL).unwrap();
        let gone = format!("select to_char(count(*)) from v$process where spid = '{coordinator}'");
        until("PMON has cleaned up", || one(&mut c, &gone) == "0");
        os::process::kill(server, os::signal::SIGCONT).unwrap();
    });
    assert!(ended.is_err(), "{ended:?}");
    idle(&mut c);
    assert_eq!(one(&mut c, sql), "6000");
    // The coordinator handles a break while a server is stopped.
    let ended = stopped(&instance, sql, |_, coordinator, breaks| {
        breaks.send().unwrap();
        let active = format!(
            "select to_char(count(*)) from v$session s join v$process p on p.addr = s.paddr
             where p.spid = '{coordinator}' and s.status = 'ACTIVE'"
        );
        until("the call has ended", || one(&mut c, &active) == "0");
    });
    assert!(ended.as_ref().is_err_and(|e| e.contains("ORA-01013")), "{ended:?}");
    idle(&mut c);
    assert_eq!(one(&mut c, sql), "6000");
    // Rows that are not fetched.
    for _ in 0..5 {
        let mut open = c.query("select /*+ parallel(3) */ id, pad from t", &[]).unwrap();
        open.next_row().unwrap();
        drop(open);
    }
    run(
        &mut c,
        "declare cursor x is select /*+ parallel(3) */ id from t; n number;
         begin open x; fetch x into n; close x; end;",
    );
    idle(&mut c);
    assert_eq!(one(&mut c, sql), "6000");
    assert!(instance.is_running());
}

#[test]
fn a_server_whose_dictionary_is_another_refuses_and_others_do_its_work() {
    let instance = start(&[("_crash_point", "px-begun:1:stop"), ("parallel_max_servers", "1")]);
    let mut c = connect(&instance);
    make_tables(&mut c);
    let mut n = 0;
    let mut moved = |ddl: &str| {
        n += 1;
        let sql = format!("select /*+ parallel(2) */ count(*) from t where {n} = {n}");
        stopped(&instance, &sql, |_, _, _| run(&mut c, ddl))
    };
    assert_eq!(moved("create table unrelated (n number)"), Ok("Number(6000)".into()));
    assert_eq!(moved("create index t_id on t (id)"), Ok("Number(6000)".into()));
    // The table has another segment: the query returns the rows of the old one, or an error.
    let ended = moved("alter table t move");
    assert!(ended == Ok("Number(6000)".into()) || ended.as_ref().is_err_and(|e| e.contains("ORA-08103")), "{ended:?}");
    let value =
        one(&mut c, "select to_char(value) from v$sysstat where name = 'Parallel operations downgraded to serial'");
    assert!(value.parse::<u64>().unwrap() >= 2, "{value}");
    idle(&mut c);
}

#[test]
fn whoever_dies_at_any_point_leaves_the_others_whole() {
    for point in
        ["px-preparing", "px-taken", "px-job-sent", "px-begun", "px-granule", "px-sent", "px-abandoned", "px-released"]
    {
        let mut instance = start(&[("_crash_point", &format!("{point}:3:session")), ("parallel_max_servers", "4")]);
        let (calm, deaths) = (instance.dir().join(faults::CALM_FILE), stops_and_deaths(&instance).1);
        std::fs::write(&calm, "").unwrap();
        let mut c = connect(&instance);
        make_tables(&mut c);
        std::fs::remove_file(&calm).unwrap();
        let mut wrong = Vec::new();
        for n in 0..200 {
            let mut other = connect(&instance);
            // Every other query is closed in the middle.
            if n % 2 == 0 {
                if let Ok(mut open) = other.query("select /*+ parallel(3) */ id, pad from t", &[]) {
                    let _ = open.next_row();
                }
                let _ = other.logoff(false);
            } else if let Ok(rows) =
                other.query("select /*+ parallel(3) */ count(*), sum(id) from t", &[]).and_then(|q| q.all())
            {
                let found = format!("{rows:?}");
                if found != "[[Number(6000), Number(18003000)]]" {
                    wrong.push(found);
                }
            }
            if std::fs::read_to_string(&deaths).unwrap_or_default().lines().count() >= 4 {
                break;
            }
        }
        std::fs::write(&calm, "").unwrap();
        assert_eq!(wrong, Vec::<String>::new(), "{point}");
        let died = std::fs::read_to_string(&deaths).unwrap_or_default().lines().count();
        assert!(died >= 1, "nobody died at {point}");
        let mut c = connect(&instance);
        idle(&mut c);
        assert_eq!(rows(&mut c, "select /*+ parallel(4) */ count(*) from t").len(), 1);
        assert_eq!(one(&mut c, "select /*+ parallel(4) */ to_char(sum(id)) from t"), "18003000", "{point}");
        let servers = one(&mut c, "select to_char(last_query) from v$pq_sesstat where statistic = 'Server Threads'");
        assert_eq!(servers, "4", "{point}");
        assert!(instance.is_running(), "{point}");
    }
}
