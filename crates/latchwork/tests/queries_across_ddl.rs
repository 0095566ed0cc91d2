//! Open queries while DDL frees the segments that they read, and other segments reuse the extents: every answer is
//! right, or ORA-08103.

mod support;

use client::{Client, Ephemeral};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use support::{connect, run, start};
use testing::Random;
use types::Value;

const ROWS: u64 = 800;

/// Ways to free a segment of T, and the index of it.
const HEAP_DDL: [&str; 8] = [
    "alter table t move",
    "alter table t move online",
    "alter table t shrink space",
    "truncate table t",
    "drop table t purge",
    "alter index t_a rebuild",
    "alter index t_a rebuild online",
    "drop index t_a",
];

fn make_heap(c: &mut Client) {
    run(c, "create table t (id number, a number, pad varchar2(900)) pctfree 1 enable row movement");
    run(c, "insert into t select level, 100, rpad('p', 400, 'p') from dual connect by level <= 800");
    run(c, "create index t_a on t (a, id)");
    run(c, "commit");
}

/// As a heap table with migrated rows.
fn make_migrated(c: &mut Client) {
    make_heap(c);
    run(c, "update t set pad = rpad('m', 900, 'm') where mod(id, 7) = 0");
    run(c, "commit");
}

fn make_iot(c: &mut Client) {
    run(c, "create table t (id number primary key, a number, pad varchar2(900)) organization index");
    run(c, "insert into t select level, 100, rpad('p', 400, 'p') from dual connect by level <= 800");
    run(c, "commit");
}

fn make_cluster(c: &mut Client) {
    run(c, "create cluster tc (id number) single table size 500 hashkeys 400");
    run(c, "create table t (id number, a number, pad varchar2(900)) cluster tc (id)");
    run(c, "insert into t select level, 100, rpad('p', 400, 'p') from dual connect by level <= 800");
    run(c, "commit");
}

/// Other segments reuse the free extents, with rows of their own. Their sizes differ, so that a freed extent is also
/// reused from its middle on.
fn fill(c: &mut Client, sizes: &[u32]) {
    for (n, rows) in sizes.iter().enumerate() {
        run(
            c,
            &format!(
                "create table f{n} as select level id, 7 a, rpad('f', 300, 'f') pad from dual connect by level <= {rows}"
            ),
        );
        run(c, &format!("create index f{n}_i on f{n} (id, pad)"));
    }
}

fn number(v: &Value) -> u64 {
    let Value::Number(n) = v else { panic!("{v:?} is no number") };
    n.to_i64().expect("a count") as u64
}

/// Fetches some rows of the query, frees the segment by `ddl`, has its space reused, and fetches the rest.
fn across(
    instance: &Ephemeral,
    query: &str,
    (first, sizes): (u64, &[u32]),
    ddl: &str,
) -> Result<(u64, u64, u64), String> {
    let (mut reader, mut other) = (connect(instance), connect(instance));
    reader.set_fetch_size(3);
    let mut q = reader.query(query, &[]).map_err(|e| e.to_string())?;
    let (mut rows, mut ids, mut sum) = (0, 0, 0);
    while let Some(row) = q.next_row().map_err(|e| e.to_string())? {
        (rows, ids, sum) = (rows + 1, ids + number(&row[0]), sum + number(&row[1]));
        if rows == first {
            run(&mut other, ddl);
            fill(&mut other, sizes);
            // The current rows of the table; a dropped one has none.
            let insert = "insert into t select 100000 + level, 1, 'x' from dual connect by level <= 50";
            if other.execute(insert, &[]).is_ok() {
                run(&mut other, "commit");
            }
        }
    }
    Ok((rows, ids, sum))
}

/// The segment is freed after this many rows, and tables with these numbers of rows take its place.
const WHEN: [(u64, &[u32]); 3] = [(3, &[1, 1, 1]), (150, &[1, 1]), (399, &[1, 30, 400, 1])];

/// Every query with every DDL, early and late.
fn all_of(make: fn(&mut Client), queries: &[&str], ddl: &[&str]) {
    let instance = start(&[]);
    let mut c = connect(&instance);
    let mut refused = 0;
    for query in queries {
        for ddl in ddl {
            for when in WHEN {
                make(&mut c);
                let seen = across(&instance, query, when, ddl);
                let about = format!("{query} across {ddl} after {} rows", when.0);
                match seen {
                    Ok(seen) => assert_eq!(seen, (ROWS, ROWS * (ROWS + 1) / 2, 100 * ROWS), "{about}"),
                    Err(e) => {
                        assert!(e.contains("ORA-08103"), "{about}: {e}");
                        refused += 1;
                    }
                }
                drop_all(&mut c);
            }
        }
    }
    assert!(refused > 0, "no freed extent was used again while a query read it");
}

fn drop_all(c: &mut Client) {
    let _ = c.execute("drop table t purge", &[]);
    let _ = c.execute("drop cluster tc including tables", &[]);
    for n in 0..4 {
        let _ = c.execute(&format!("drop table f{n} purge"), &[]);
    }
}

#[test]
fn full_scans_and_index_scans_of_a_heap() {
    all_of(
        make_heap,
        &["select id, a from t", "select /*+ index(t t_a) */ id, a from t where a = 100 and pad is not null"],
        &HEAP_DDL,
    );
}

#[test]
fn rows_that_have_migrated() {
    all_of(
        make_migrated,
        &[
            "select id, a from t where pad is not null",
            "select /*+ index(t t_a) */ id, a from t where a = 100 and pad is not null",
        ],
        &HEAP_DDL[..5],
    );
}

#[test]
fn rows_that_are_fetched_by_rowid() {
    all_of(
        make_heap,
        &[
            "select /*+ ordered use_nl(x) */ x.id, x.a from (select rowid r from t order by pad, id) v, t x where x.rowid = v.r",
        ],
        &HEAP_DDL[..5],
    );
}

#[test]
fn a_scan_that_is_started_again_for_each_row() {
    all_of(
        make_heap,
        &["select o.n, (select count(*) / 8 from t where t.id > o.n - 5000) from \
           (select level n from dual connect by level <= 800) o"],
        &HEAP_DDL[..5],
    );
}

#[test]
fn index_organised_tables() {
    all_of(
        make_iot,
        &["select id, a from t", "select id, a from t order by id desc"],
        &["alter table t move", "alter table t shrink space", "truncate table t", "drop table t purge"],
    );
}

#[test]
fn hash_clusters() {
    all_of(
        make_cluster,
        &[
            "select id, a from t",
            "select /*+ ordered use_nl(t) */ t.id, t.a from (select level n from dual connect by level <= 800) o, t \
             where t.id = o.n",
        ],
        &["drop table t purge", "drop cluster tc including tables"],
    );
}

/// Frees the segments of tables R0 to R2, and reuses their space, in random order. Each table has 300 rows, or none
/// while it is refilled.
fn disturb(c: &mut Client, random: &mut Random) {
    let t = format!("r{}", random.below(3));
    let refill = format!("insert into {t} select level, 100, rpad('r', 400, 'r') from dual connect by level <= 300");
    let statements = match random.below(8) {
        0 => vec![format!("alter table {t} move")],
        1 => vec![format!("alter table {t} move online")],
        2 => vec![format!("alter table {t} shrink space")],
        3 => vec![format!("truncate table {t}"), refill, "commit".into()],
        4 => vec![
            format!("drop table {t} purge"),
            format!("create table {t} (id number, a number, pad varchar2(900)) enable row movement"),
            refill,
            "commit".into(),
            format!("create index {t}_i on {t} (a, id)"),
        ],
        5 => vec![format!("alter index {t}_i rebuild")],
        6 => vec![
            format!("update {t} set pad = rpad('u', {}, 'u') where mod(id, 5) = 0", 300 + random.below(600)),
            "commit".into(),
        ],
        _ => {
            let rows = 1 + random.below(3) * 40;
            vec![
                format!(
                    "create table f as select level id, 7 a, rpad('f', 300, 'f') pad from dual connect by level <= {rows}"
                ),
                "create table g (n number)".into(),
                "insert into g values (1)".into(),
                "drop table f purge".into(),
                "drop table g purge".into(),
            ]
        }
    };
    for sql in statements {
        c.execute(&sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    // An index that a move has made unusable.
    let _ = c.execute(&format!("alter index {t}_i rebuild"), &[]);
}

#[test]
fn random_ddl_beside_queries() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    for n in 0..3 {
        run(&mut c, &format!("create table r{n} (id number, a number, pad varchar2(900)) enable row movement"));
        run(
            &mut c,
            &format!("insert into r{n} select level, 100, rpad('r', 400, 'r') from dual connect by level <= 300"),
        );
        run(&mut c, "commit");
        run(&mut c, &format!("create index r{n}_i on r{n} (a, id)"));
    }
    let (stop, right) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for me in 0..2 {
            let (instance, stop, right) = (&instance, &stop, &right);
            scope.spawn(move || {
                let (mut c, mut random) = (connect(instance), Random::new(me));
                c.set_fetch_size(40);
                while !stop.load(Ordering::Relaxed) {
                    let t = random.below(3);
                    let sql = match random.below(3) {
                        0 => format!("select id, a from r{t} where pad is not null"),
                        1 => {
                            format!("select /*+ index(x r{t}_i) */ id, a from r{t} x where a = 100 and pad is not null")
                        }
                        _ => format!("select x.id, x.a from r{t} x, r{t} y where x.id = y.id and y.pad is not null"),
                    };
                    match c.query(&sql, &[]).and_then(|q| q.all()) {
                        Ok(rows) => {
                            let ids: u64 = rows.iter().map(|row| number(&row[0])).sum();
                            let all = (rows.len(), ids) == (300, 300 * 301 / 2) || rows.is_empty();
                            assert!(all, "seed {me}: {sql}: {} rows", rows.len());
                            right.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(e) => {
                            let e = e.to_string();
                            let known = ["ORA-08103", "ORA-01555", "ORA-00942", "ORA-01502"];
                            assert!(known.iter().any(|code| e.contains(code)), "seed {me}: {sql}: {e}");
                        }
                    }
                }
            });
        }
        let mut random = Random::new(42);
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..60 {
                disturb(&mut c, &mut random);
            }
        }));
        stop.store(true, Ordering::Relaxed);
        if let Err(e) = done {
            std::panic::resume_unwind(e);
        }
    });
    assert!(right.load(Ordering::Relaxed) > 0, "no query was answered");
}

#[test]
fn rows_locked_behind_a_move_are_locked_where_they_are() {
    let instance = start(&[]);
    let (mut c, mut locker) = (connect(&instance), connect(&instance));
    run(&mut c, "create table t (id number, a number, pad varchar2(900))");
    run(&mut c, "insert into t select level, 100, rpad('p', 400, 'p') from dual connect by level <= 30000");
    run(&mut c, "commit");
    // The cursor exists before the move, on the old segment.
    let lock = "select id, rowid from t where id = 5 for update";
    support::rows(&mut locker, lock);
    run(&mut locker, "rollback");
    let mover = std::thread::spawn({
        let mut mover = connect(&instance);
        move || run(&mut mover, "alter table t move")
    });
    let held = "select to_char(count(*)) from v$lock where type = 'TM' and lmode = 6";
    support::until("the table is locked by the move", || mover.is_finished() || support::one(&mut c, held) != "0");
    let locked = support::rows(&mut locker, lock);
    mover.join().expect("the table is moved");
    let again = c.query("select id, rowid from t where id = 5 for update nowait", &[]).and_then(|q| q.all());
    assert!(again.is_err_and(|e| e.to_string().contains("ORA-00054")), "the row is locked in its new place");
    run(&mut locker, "rollback");
    let now = support::rows(&mut c, "select id, rowid from t where id = 5");
    assert_eq!(now, locked, "and the lock named that place");
}

#[test]
fn a_query_for_update_waits_for_a_table_no_longer_than_for_a_row() {
    let instance = start(&[]);
    let (mut c, mut locker) = (connect(&instance), connect(&instance));
    run(&mut c, "create table t (id number)");
    run(&mut c, "insert into t values (1)");
    run(&mut c, "commit");
    run(&mut locker, "lock table t in exclusive mode");
    let mut lock = |how: &str| {
        let locked = c.query(&format!("select id from t for update{how}"), &[]).and_then(|q| q.all());
        locked.map_err(|e| e.to_string())
    };
    assert!(lock(" nowait").is_err_and(|e| e.contains("ORA-00054")));
    assert!(lock(" wait 1").is_err_and(|e| e.contains("ORA-30006")));
    run(&mut locker, "rollback");
    assert_eq!(lock(" nowait").map(|rows| rows.len()), Ok(1));
}

/// A flashback query checks once whether its tables are unchanged, not for each row of a nested loop; and again after
/// each DDL.
#[test]
fn a_flashback_query_looks_at_the_definition_of_its_tables_once() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    run(&mut c, "create table past (id number primary key, v number) organization index");
    run(&mut c, "insert into past select level, 1 from dual connect by level <= 300");
    run(&mut c, "commit");
    let moment = support::one(&mut c, "select dbms_flashback.get_system_change_number from dual");
    run(&mut c, "update past set v = 2");
    run(&mut c, "commit");
    let gets = "select value from v$mystat natural join v$statname where name = 'consistent gets'";
    let gets = |c: &mut Client| support::one(c, gets).parse::<u64>().expect("a number");
    let join = format!(
        "select /*+ ordered use_nl(b) */ sum(a.v + b.v) from past as of scn {moment} a, past as of scn {moment} b \
         where a.id = b.id"
    );
    assert_eq!(support::one(&mut c, &join), "600");
    let before = gets(&mut c);
    assert_eq!(support::one(&mut c, &join), "600");
    let made = gets(&mut c) - before;
    assert!(made < 300 * 5, "{made} gets for 300 rows");
    run(&mut c, "alter table past add (w number)");
    let refused = c.query(&join, &[]).and_then(|q| q.all()).expect_err("the table is another one");
    assert_eq!(refused.code(), 1466);
}

/// A transaction that reads as of an earlier moment does not rely on a constraint that was added later.
#[test]
fn a_join_is_not_left_out_in_a_transaction_that_is_older_than_its_foreign_key() {
    let instance = start(&[]);
    let (mut c, mut old) = (connect(&instance), connect(&instance));
    let alters = ["add constraint fk foreign key (parent) references parents", "enable constraint fk"];
    let begins = ["set transaction read only", "set transaction isolation level serializable"];
    for (alter, begin) in alters.into_iter().flat_map(|alter| begins.map(|begin| (alter, begin))) {
        run(&mut c, "create table parents (id number primary key)");
        run(&mut c, "create table children (id number primary key, parent number not null)");
        run(&mut c, "insert into parents values (1)");
        run(&mut c, "insert into children select level, level from dual connect by level <= 2");
        run(&mut c, "commit");
        if alter.starts_with("enable") {
            run(&mut c, &format!("alter table children {} disable", alters[0]));
        }
        let join = "select count(*) from children c, parents p where p.id = c.parent";
        run(&mut old, begin);
        assert_eq!(support::one(&mut old, "select count(*) from parents"), "1");
        run(&mut c, "delete children where parent = 2");
        run(&mut c, "commit");
        run(&mut c, &format!("alter table children {alter}"));
        assert_eq!(support::one(&mut c, join), "1");
        match old.query(join, &[]).and_then(|q| q.all()) {
            Ok(rows) => panic!("{begin}, {alter}: {rows:?}"),
            Err(refused) => assert_eq!(refused.code(), 1466, "{begin}, {alter}"),
        }
        run(&mut old, "rollback");
        run(&mut c, "drop table children");
        run(&mut c, "drop table parents");
    }
}

/// Statistics that change while a statement is compiled invalidate the cursor compiled with the old ones; a change of
/// another object does not.
#[test]
fn a_cursor_that_is_compiled_across_dbms_stats_is_compiled_again() {
    let instance = start(&[("_crash_point", "cursor-planned:1:stop")]);
    let mut c = connect(&instance);
    run(&mut c, "create table changing (n number)");
    run(&mut c, "create table other (n number)");
    let loads = |c: &mut Client, text: &str| {
        let sql = format!("select loads || ' ' || invalidations from v$sql where sql_text = '{text}'");
        support::one(c, &sql)
    };
    let changes = [("changing", "2 1"), ("other", "1 0")];
    for (at, (table, expected)) in changes.into_iter().enumerate() {
        let set = format!(
            "begin dbms_stats.set_table_stats(user, '{}', numrows => {}, no_invalidate => false); end;",
            table.to_uppercase(),
            1000 + at
        );
        // Another process may have passed the point first.
        let text = (0..20)
            .find_map(|n| {
                let text = format!("select count(*) from changing where n > {n}{at}");
                let mut is_own = false;
                let found = support::stopped(&instance, &text, |server, own, _| {
                    is_own = server == own;
                    run(&mut c, &set);
                });
                found.unwrap_or_else(|e| panic!("{text}: {e}"));
                is_own.then_some(text)
            })
            .expect("the session stops");
        for _ in 0..2 {
            assert_eq!(support::one(&mut connect(&instance), &text), "0");
        }
        assert_eq!(loads(&mut c, &text), expected, "statistics of {table}");
    }
}

/// A session that dies after the commit of DBMS_STATS or of DDL has not marked cursors and cached results: PMON does.
#[test]
fn a_session_that_dies_behind_its_commit_leaves_no_cursor_with_old_statistics() {
    let instance = start(&[("_crash_point", "ddl-committed:1:session")]);
    let (calm, deaths) = (instance.dir().join(faults::CALM_FILE), support::stops_and_deaths(&instance).1);
    std::fs::write(&calm, "").unwrap();
    let mut c = connect(&instance);
    run(&mut c, "create user many identified by many quota unlimited on users");
    let many: Vec<String> = (0..20).map(|n| format!("many.m{n}")).collect();
    for table in many.iter().map(String::as_str).chain(["changing", "other"]) {
        run(&mut c, &format!("create table {table} (n number)"));
        run(&mut c, &format!("insert into {table} values (1)"));
    }
    run(&mut c, "commit");
    let figures = |c: &mut Client, text: &str| {
        let sql = format!(
            "select sum(loads) || ' ' || sum(invalidations) || ' ' || count(*) from v$sql where sql_text = '{text}'"
        );
        support::one(c, &sql)
    };
    // The statement that dies; a query, and its later result; loads, invalidations and children.
    let set = |table: &str, rows: u32, no_invalidate: &str| {
        format!(
            "begin dbms_stats.set_table_stats(user, '{}', numrows => {rows}, no_invalidate => {no_invalidate}); end;",
            table.to_uppercase()
        )
    };
    let cases = [
        (set("changing", 1000, "false"), "select /* 1 */ count(*) from changing", "1", "2 1 1"),
        (set("other", 1000, "false"), "select /* 2 */ count(*) from changing", "1", "1 0 1"),
        (set("changing", 2000, "null"), "select /* 3 */ count(*) from changing", "1", "2 0 2"),
        (set("changing", 3000, "true"), "select /* 4 */ count(*) from changing", "1", "1 0 1"),
        // More objects than are noted singly: all cursors are invalidated.
        ("drop user many cascade".into(), "select /* 5 */ count(*) from changing", "1", "2 1 1"),
        ("truncate table changing".into(), "select /*+ result_cache */ count(*) from changing", "0", "2 1 1"),
    ];
    for (sql, query, answer, expected) in cases {
        let mut reader = connect(&instance);
        assert_eq!(support::one(&mut reader, query), "1", "{query}");
        let mut dying = connect(&instance);
        run(&mut dying, "alter session set \"_optimizer_invalidation_period\" = 0");
        let _ = std::fs::remove_file(&deaths);
        std::fs::remove_file(&calm).unwrap();
        let died = dying.query(&sql, &[]).and_then(|q| q.all()).is_err();
        std::fs::write(&calm, "").unwrap();
        assert!(died, "{sql}");
        assert!(std::fs::read_to_string(&deaths).is_ok(), "{sql}");
        let server = dying.welcome().server_process;
        support::until("PMON has cleaned up", || {
            support::one(&mut c, &format!("select count(*) from v$process where spid = '{server}'")) == "0"
        });
        for _ in 0..2 {
            assert_eq!(support::one(&mut connect(&instance), query), answer, "{sql}: {query}");
        }
        assert_eq!(figures(&mut c, query), expected, "{sql}");
    }
}

#[test]
fn a_unit_that_had_errors_in_one_call_is_compiled_again_in_the_next() {
    let instance = support::start(&[]);
    let (mut s, mut other) = (connect(&instance), connect(&instance));
    for sql in [
        "create table gate (n number)",
        "insert into gate values (1)",
        "commit",
        "create function hx return number as begin return 1; end;",
        "create function hhx return number as begin return hx + 1; end;",
        "drop function hx",
        "lock table gate in exclusive mode",
    ] {
        run(&mut other, sql);
    }
    // Another session's DDL advances the dictionary after the failure, so that the call compiles the unit again at its
    // end.
    let waiting = std::thread::spawn(move || {
        run(
            &mut s,
            "declare n number; begin begin execute immediate 'select hhx from dual' into n; exception when others \
             then n := 0; end; update gate set n = n + 1; commit; end;",
        );
        s
    });
    support::until("the call waits", || {
        support::one(&mut other, "select count(*) from v$session where event = 'enq: TM - contention'") == "1"
    });
    run(&mut other, "create table something (n number)");
    let mut s = waiting.join().expect("the call ends");
    run(&mut other, "create function hx return number as begin return 2; end;");
    run(&mut other, "create or replace function hhx return number as begin return hx + 1; end;");
    assert_eq!(support::one(&mut s, "select hhx from dual"), "3");
}

/// A statement that has committed its change of a table's rows, but has not invalidated results yet.
#[test]
fn a_result_of_a_table_ends_with_the_commit_of_its_truncation() {
    let instance = start(&[("_crash_point", "ddl-committed:1:stop")]);
    let mut c = connect(&instance);
    let (stop, deaths) = support::stops_and_deaths(&instance);
    for sql in ["create table t (n number)", "insert into t values (1)", "commit"] {
        run(&mut c, sql);
    }
    let count = "select /*+ result_cache */ count(*) from t";
    assert_eq!((support::one(&mut c, count), support::one(&mut c, count)), ("1".into(), "1".into()));
    let kept = "select count(*) from v$result_cache_objects where type = 'Result' and name like '%count(*) from t'";
    assert_eq!(support::one(&mut c, kept), "1");
    std::fs::write(&stop, "").expect("the point is armed");
    let mut other = connect(&instance);
    let server = other.welcome().server_process as i32;
    let truncates = std::thread::spawn(move || run(&mut other, "truncate table t"));
    support::until("the statement stops", || {
        std::fs::read_to_string(&deaths).is_ok_and(|text| text.lines().any(|l| l.contains(&server.to_string())))
    });
    let found = support::one(&mut c, count);
    support::until("the statement ends", || {
        let _ = os::process::kill(server, os::signal::SIGCONT);
        truncates.is_finished()
    });
    truncates.join().expect("the table is empty");
    assert_eq!(found, "0");
}

/// A DDL statement stops between its commit and compiling again what it may have invalidated.
#[test]
fn units_that_only_share_a_word_with_a_changed_object_of_another_user_stay_valid() {
    let instance = start(&[("_crash_point", "ddl-committed:1:stop")]);
    let mut c = connect(&instance);
    let (stop, deaths) = support::stops_and_deaths(&instance);
    for user in ["ann", "bob"] {
        run(&mut c, &format!("create user {user} identified by {user} quota unlimited on users"));
        run(&mut c, &format!("grant connect, resource, create synonym to {user}"));
    }
    let as_user = |user: &str| {
        let who = client::Credentials::password(user, user);
        instance.connect(&who).expect("the user connects")
    };
    let (mut ann, mut bob) = (as_user("ann"), as_user("bob"));
    for sql in [
        "create package p as procedure q; end;",
        "create procedure calls as begin null; end;",
        "create procedure of_bob as begin execute immediate 'select * from bob.q'; end;",
        "create synonym s for bob.q",
        "create procedure by_synonym as begin execute immediate 'select * from s'; end;",
    ] {
        run(&mut ann, sql);
    }
    for sql in ["create table q (n number)", "create procedure calls as n q.n%type; begin null; end;"] {
        run(&mut bob, sql);
    }
    std::fs::write(&stop, "").expect("the point is armed");
    let server = bob.welcome().server_process as i32;
    let drops = std::thread::spawn(move || run(&mut bob, "drop table q"));
    support::until("the statement stops", || {
        std::fs::read_to_string(&deaths).is_ok_and(|text| text.lines().any(|l| l.contains(&server.to_string())))
    });
    let invalid = "select listagg(owner || '.' || object_name, ' ') within group (order by owner, object_name) \
                   from dba_objects where status = 'INVALID' and owner in ('ANN', 'BOB')";
    let found = support::one(&mut c, invalid);
    support::until("the statement ends", || {
        let _ = os::process::kill(server, os::signal::SIGCONT);
        drops.is_finished()
    });
    drops.join().expect("the table is dropped");
    assert_eq!(found, "ANN.BY_SYNONYM ANN.OF_BOB BOB.CALLS");
}
