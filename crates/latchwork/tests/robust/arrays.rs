//! A statement with many rows of bind values has the same effect as row by row, in one call.

use crate::common::{assert_quiet, eventually, line, number, rows, run, start, sysdba};
use client::{ArrayError, ArrayOptions, ArrayOutcome, Bind, Client, Direction};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use testing::Random;
use types::{DataType, Number, Value};

const BATCH: ArrayOptions = ArrayOptions { batch_errors: true, row_counts: true };
const COUNTS: ArrayOptions = ArrayOptions { batch_errors: false, row_counts: true };

fn n(n: i64) -> Value {
    Value::Number(Number::from_i64(n))
}

fn input(data_type: DataType) -> Bind {
    Bind::input(data_type, Value::Null)
}

fn output(name: &str, data_type: DataType) -> Bind {
    Bind { name: Some(name.into()), direction: Direction::Out, data_type, value: Value::Null }
}

/// A number and a text.
fn pair() -> Vec<Bind> {
    vec![input(DataType::NUMBER), input(DataType::TEXT)]
}

fn codes(outcome: &ArrayOutcome) -> Vec<(u64, u32)> {
    outcome.errors.iter().map(|(n, e)| (*n, e.code)).collect()
}

fn code(e: &ArrayError) -> (u64, u32) {
    (e.done.executions, e.error.code())
}

/// Runs the statement row by row, like a client without arrays.
fn one_by_one(c: &mut Client, sql: &str, binds: &[Bind], all: &[Vec<Value>], goes_on: bool) -> ArrayOutcome {
    let mut outcome = ArrayOutcome::default();
    for (at, row) in all.iter().enumerate() {
        let bound: Vec<Bind> = binds.iter().zip(row).map(|(b, v)| Bind { value: v.clone(), ..b.clone() }).collect();
        let rows = match c.execute(sql, &bound) {
            Ok(o) => {
                outcome.returned.extend(o.done.out.into_iter().map(|(bind, v)| (at as u64, bind, v)));
                o.done.rows
            }
            Err(client::ClientError::Server(e)) => {
                outcome.errors.push((at as u64, *e));
                if !goes_on {
                    break;
                }
                0
            }
            Err(e) => panic!("{sql}: {e}"),
        };
        outcome.executions += 1;
        outcome.rows += rows;
        outcome.counts.push(rows);
    }
    outcome
}

/// Statements on `a` and `b`, which have equal definitions.
const TABLES: [(&str, &[&str]); 9] = [
    ("(id number, t varchar2(10))", &[]),
    ("(id number primary key, t varchar2(10) not null)", &[]),
    (
        "(id number(3) not null, t varchar2(10) unique, d number default 7, check (id < 90))",
        &["create index x_@ on @ (d, t)"],
    ),
    ("(id number references p, t varchar2(10))", &[]),
    ("(id number primary key, t varchar2(10)) organization index", &[]),
    (
        "(id number, t varchar2(10), u number generated always as (id * 2) virtual)",
        &["create unique index x_@ on @ (u)"],
    ),
    ("(id number, t varchar2(10), constraint k_@ unique (id) deferrable initially deferred)", &[]),
    ("(id number primary key, t varchar2(10))", &["create unique index x_@ on @ (upper(t))"]),
    ("(id number(6, 2), t varchar2(10), v varchar2(3) default 'x' not null)", &[]),
];

const STATEMENTS: [&str; 6] = [
    "insert into @ (id, t) values (:1, :2)",
    "insert into @ (id, t) values (:1 + 0, substr(:2, 1, 11))",
    "insert into @ (id, t) values (:1, :2) returning t into :r",
    "update @ set t = :2 where id >= :1",
    "delete from @ where id = :1 or t = :2",
    "merge into @ using (select :1 id, :2 t from dual) s on (@.id = s.id) when matched then update set t = s.t \
     when not matched then insert (id, t) values (s.id, s.t)",
];

#[test]
fn an_array_is_what_its_rows_are_one_by_one() {
    let instance = start(&[]);
    let mut c = sysdba(&instance);
    run(
        &mut c,
        &["create table p (id number primary key)", "insert into p select level from dual connect by level < 40"],
    );
    let mut random = Random::new(42);
    for (columns, more) in TABLES {
        for name in ["a", "b"] {
            let make = format!("create table {name} {}", columns.replace('@', name));
            c.execute(&make, &[]).unwrap_or_else(|e| panic!("{make}: {e}"));
            more.iter().for_each(|sql| run(&mut c, &[&sql.replace('@', name)]));
        }
        for round in 0..18 {
            let statement = STATEMENTS[if round < 9 { round % 3 } else { round % STATEMENTS.len() }];
            let mut binds = pair();
            if statement.contains("returning") {
                binds.push(output("r", DataType::TEXT));
            }
            let goes_on = round % 2 == 0;
            let all: Vec<Vec<Value>> = (0..random.below(150))
                .map(|_| {
                    let id = match random.below(60) {
                        0 => Value::Null,
                        1 => Value::text("x"),
                        2 => n(1000),
                        k => n(k as i64 * 5 % 41 + random.below(60) as i64),
                    };
                    let text = match random.below(50) {
                        0 => Value::Null,
                        1 => Value::text("far too long for it"),
                        2 => n(12),
                        k => Value::text(format!("{}{}", ["a", "B", "c"][k as usize % 3], random.below(400))),
                    };
                    [vec![id, text], vec![Value::Null; binds.len() - 2]].concat()
                })
                .collect();
            let options = if goes_on { BATCH } else { COUNTS };
            let outcome = match c.execute_many(&statement.replace('@', "a"), &binds, &all, options) {
                Ok(o) => o,
                Err(ArrayError { error: client::ClientError::Server(e), mut done }) => {
                    done.errors.push((done.executions, *e));
                    *done
                }
                Err(e) => panic!("{statement}: {e}"),
            };
            let want = one_by_one(&mut c, &statement.replace('@', "b"), &binds, &all, goes_on);
            let what = format!("{columns}, {statement}, round {round}");
            assert_eq!(codes(&outcome), codes(&want), "{what}");
            let positions = |o: &ArrayOutcome| o.errors.iter().map(|(_, e)| e.position).collect::<Vec<_>>();
            assert_eq!(positions(&outcome), positions(&want), "{what}");
            assert_eq!(
                (outcome.executions, outcome.rows, &outcome.counts, &outcome.returned),
                (want.executions, want.rows, &want.counts, &want.returned),
                "{what}"
            );
            let contents = |c: &mut Client, name: &str| rows(c, &format!("select * from {name} order by id, t"));
            assert_eq!(contents(&mut c, "a"), contents(&mut c, "b"), "{what}");
            // Only deferred constraints can fail here, on both tables.
            let _ = c.execute(if round % 5 == 4 { "rollback" } else { "commit" }, &[]);
            assert_eq!(contents(&mut c, "a"), contents(&mut c, "b"), "{what}, behind its end");
            if round % 6 == 5 {
                run(&mut c, &["delete from a", "delete from b", "commit"]);
            }
        }
        run(&mut c, &["drop table a", "drop table b"]);
    }
    assert_quiet(&mut c);
}

#[test]
fn an_array_is_one_execution() {
    let instance = start(&[]);
    let mut c = sysdba(&instance);
    run(&mut c, &["create table t (id number primary key, t varchar2(10))", "create table f (id number references t)"]);
    let counted = |c: &mut Client, text: &str| {
        let sql = format!("select executions || ' ' || rows_processed from v$sql where sql_text like '{text}%'");
        rows(c, &sql).join(",")
    };
    let all: Vec<Vec<Value>> = (0..20_000).map(|i| vec![n(i), Value::text(format!("r{i}"))]).collect();
    let executed =
        "select value from v$mystat m, v$statname n where m.statistic# = n.statistic# and n.name = 'execute count'";
    let before = number(&mut c, executed);
    let outcome = c.execute_many("insert into t /* one */ values (:1, :2)", &pair(), &all, COUNTS).unwrap();
    assert_eq!((outcome.executions, outcome.rows, outcome.counts.len()), (20_000, 20_000, 20_000));
    assert_eq!(number(&mut c, executed) - before, 2, "the array, and the query that looks");
    assert_eq!(counted(&mut c, "insert into t /* one */"), "1 20000");
    assert_eq!(rows(&mut c, "select count(*), sum(id), min(t), max(t) from t"), ["20000|199990000|r0|r9999"]);
    // Row by row inside, since the foreign key is checked for each; an UPDATE; a refused row does not count as
    // processed.
    let one = [input(DataType::NUMBER)];
    c.execute_many("insert into f /* two */ values (:1)", &one, (0..300).map(|i| [n(i)]), COUNTS).unwrap();
    assert_eq!(counted(&mut c, "insert into f /* two */"), "1 300");
    let twos = "update t /* three */ set t = 'x' where id in (:1, :1 + 1)";
    let outcome = c.execute_many(twos, &one, [[n(1)], [n(5)], [n(19_999)], [n(-5)]], COUNTS).unwrap();
    assert_eq!((outcome.rows, &outcome.counts[..]), (5, &[2, 2, 1, 0][..]));
    assert_eq!(counted(&mut c, "update t /* three */"), "1 5");
    let refused = [vec![n(-1), Value::Null], vec![n(7), Value::Null], vec![n(-2), Value::Null]];
    let outcome = c.execute_many("insert into t /* four */ values (:1, :2)", &pair(), refused, BATCH).unwrap();
    assert_eq!((codes(&outcome), &outcome.counts[..]), (vec![(1, 1)], &[1, 0, 1][..]));
    assert_eq!(counted(&mut c, "insert into t /* four */"), "1 2");
    // And so is a FORALL.
    run(
        &mut c,
        &[
            "declare type ns is table of number; a ns := ns(); begin for i in 1 .. 500 loop a.extend; a(i) := -10 - i; end loop; \
           forall i in 1 .. 500 insert into t /* five */ (id) values (a(i)); \
           forall i in 1 .. 500 update t /* six */ set t = 'y' where id = a(i); end;",
        ],
    );
    let same =
        "select executions || ' ' || rows_processed from v$sql where command_type in (2, 6) and upper(sql_text) like ";
    assert_eq!(rows(&mut c, &format!("{same} 'INSERT INTO T %VALUES (:B1%'")), ["1 500"]);
    assert_eq!(rows(&mut c, &format!("{same} 'UPDATE T %:B1%'")), ["1 500"]);
    // The same text alone counts separately.
    c.execute(
        "insert into t /* four */ values (:1, :2)",
        &[Bind::input(DataType::NUMBER, n(-7777)), pair()[1].clone()],
    )
    .unwrap();
    assert_eq!(counted(&mut c, "insert into t /* four */"), "2 3");
}

#[test]
fn rows_before_the_first_that_fails_stay() {
    let instance = start(&[]);
    let mut c = sysdba(&instance);
    run(
        &mut c,
        &[
            "create table t (id number primary key, t varchar2(10) not null)",
            "insert into t values (700, 'x')",
            "commit",
        ],
    );
    let insert = "insert into t values (:1, :2)";
    let all = |missing: i64| {
        (0..40_000i64).map(move |i| vec![n(i), if i == missing { Value::Null } else { Value::text("v") }])
    };
    for (missing, want) in [(-1, (700, 1)), (900, (700, 1)), (300, (300, 1400))] {
        let e = c.execute_many(insert, &pair(), all(missing), COUNTS).unwrap_err();
        assert_eq!(code(&e), want);
        assert_eq!((e.done.rows, e.done.counts.len() as u64), (want.0, want.0));
        assert_eq!(number(&mut c, "select count(*) from t"), want.0 as i64 + 1);
        assert_eq!(number(&mut c, "select count(*) from t where id >= 0"), want.0 as i64 + 1, "by the index");
        run(&mut c, &["rollback"]);
    }
    let outcome = c.execute_many(insert, &pair(), all(20_000), BATCH).unwrap();
    assert_eq!((outcome.executions, outcome.rows, codes(&outcome)), (40_000, 39_998, vec![(700, 1), (20_000, 1400)]));
    run(&mut c, &["rollback"]);
    // More rows than a packet holds: row numbers continue across packets.
    let many = (0..150_000i64).map(|i| [n(if i == 140_000 { 3 } else { i + 1000 }), Value::text("v")]);
    let outcome = c.execute_many(insert, &pair(), many.clone(), BATCH).unwrap();
    assert_eq!((outcome.rows, codes(&outcome), outcome.counts.len()), (150_000, vec![], 150_000));
    let again = c.execute_many(insert, &pair(), many.skip(139_999), BATCH).unwrap();
    assert_eq!((again.rows, again.errors.len()), (0, 10_001), "{:?}", again.errors.first());
    run(&mut c, &["rollback"]);
    for (sql, want) in [
        ("select * from t where id = :1 and t = :2", 3001),
        ("drop table t", 3001),
        ("nosuch :1 :2", 900),
        ("begin nosuch(:1, :2); end;", 6550),
        ("insert into nosuch values (:1, :2)", 942),
    ] {
        let e = c.execute_many(sql, &pair(), [[n(1), Value::Null], [n(2), Value::Null]], BATCH).unwrap_err();
        assert_eq!(code(&e), (0, want), "{sql}");
    }
    let few = c.execute_many("insert into t values (:1, :2, :3)", &pair(), [[n(1), Value::Null]], BATCH).unwrap_err();
    assert!([913, 1008].contains(&few.error.code()), "{few}");
    let none = c.execute_many(insert, &pair(), Vec::<Vec<Value>>::new(), BATCH).unwrap();
    assert_eq!(none, ArrayOutcome::default());
    // A value longer than any packet is not sent; one that needs a packet of its own is.
    run(&mut c, &["create table w (id number, t varchar2(4000))"]);
    let long = |len| [[n(1), Value::text("y".repeat(len))]];
    assert_eq!(
        code(&c.execute_many("insert into w values (:1, :2)", &pair(), long(17 << 20), BATCH).unwrap_err()),
        (0, 3106)
    );
    let outcome = c.execute_many("insert into w values (:1, :2)", &pair(), long(8 << 20), BATCH).unwrap();
    assert_eq!(outcome.errors.len(), 1);
    let wide = (0..5_000i64).map(|i| [n(i), Value::text("z".repeat(4000))]);
    assert_eq!(c.execute_many("insert into w values (:1, :2)", &pair(), wide, COUNTS).unwrap().rows, 5_000);
    assert_eq!(number(&mut c, "select sum(length(t)) from w"), 20_000_000);
}

#[test]
fn what_executions_return_comes_back() {
    let instance = start(&[]);
    let mut c = sysdba(&instance);
    run(&mut c, &["create table t (id number primary key, t varchar2(10))", "create sequence s"]);
    let binds = [input(DataType::TEXT), output("r", DataType::NUMBER)];
    let row = |t: &str| [Value::text(t), Value::Null];
    let insert = "insert into t values (s.nextval, :1) returning id into :r";
    let outcome = c.execute_many(insert, &binds, [row("a"), row("far too long for it"), row("c")], BATCH).unwrap();
    let values = |o: &ArrayOutcome| {
        o.returned.iter().map(|(n, b, v)| format!("{n} {b} {}", line(std::slice::from_ref(v)))).collect::<Vec<_>>()
    };
    assert_eq!((values(&outcome), codes(&outcome)), (vec!["0 1 1".to_string(), "2 1 3".into()], vec![(1, 12899)]));
    let block =
        "begin :o := :i * 2; if :i = 3 then raise no_data_found; end if; dbms_output.put_line('i ' || :i); end;";
    let binds = [output("o", DataType::NUMBER), Bind { name: Some("i".into()), ..input(DataType::NUMBER) }];
    c.set_want_output(true);
    run(&mut c, &["begin dbms_output.enable(null); end;"]);
    let outcome = c.execute_many(block, &binds, (1..=4).map(|i| [Value::Null, n(i)]), BATCH).unwrap();
    assert_eq!(
        (values(&outcome), codes(&outcome)),
        (vec!["0 0 2".to_string(), "1 0 4".into(), "3 0 8".into()], vec![(2, 1403)])
    );
    assert_eq!(c.take_output(), [1, 2, 4].map(|i| Some(format!("i {i}"))));
    let e = c.execute_many(block, &binds, (1..=4).map(|i| [Value::Null, n(i)]), COUNTS).unwrap_err();
    assert_eq!((code(&e), values(&e.done)), ((2, 1403), vec!["0 0 2".to_string(), "1 0 4".into()]));
}

/// Runs `work` while another thread breaks its calls until it has ended.
fn broken<T>(c: &mut Client, work: impl FnOnce(&mut Client) -> T) -> T {
    let (handle, over) = (c.break_handle(), AtomicBool::new(false));
    std::thread::scope(|s| {
        s.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(150));
                let _ = handle.send();
            }
        });
        let out = work(c);
        over.store(true, Ordering::Relaxed);
        out
    })
}

#[test]
fn an_array_is_broken_anywhere_and_what_it_says_is_there() {
    let instance = start(&[("db_cache_size", "64M")]);
    let mut c = sysdba(&instance);
    run(
        &mut c,
        &["create table t (id number primary key, t varchar2(10))", "create table u (id number, t varchar2(10))"],
    );
    for table in ["t", "u"] {
        let endless = (0i64..).map(|i| [n(i * 7919 % 1_000_000_007), Value::text("v")]);
        let sql = format!("insert into {table} values (:1, :2)");
        let e = broken(&mut c, |c| c.execute_many(&sql, &pair(), endless, ArrayOptions::default()).unwrap_err());
        assert_eq!(e.error.code(), 1013);
        assert_eq!(number(&mut c, &format!("select count(*) from {table}")) as u64, e.done.executions);
        assert_eq!(number(&mut c, &format!("select count(*) from {table} where id >= 0")) as u64, e.done.rows);
        run(&mut c, &["rollback"]);
    }
    let waits = "begin insert into u values (:1, :2); dbms_lock.sleep(0.02); end;";
    let e = broken(&mut c, |c| {
        c.execute_many(waits, &pair(), (0i64..1000).map(|i| [n(i), Value::Null]), BATCH).unwrap_err()
    });
    assert_eq!((e.error.code(), number(&mut c, "select count(*) from u") as u64), (1013, e.done.executions));
    run(&mut c, &["rollback"]);
    assert_quiet(&mut c);
}

#[test]
fn an_array_waits_for_rows_of_others() {
    let instance = start(&[]);
    let (mut c, mut d) = (sysdba(&instance), sysdba(&instance));
    let sid = d.sid();
    run(
        &mut c,
        &[
            "create table t (id number primary key, t varchar2(10))",
            "insert into t select level, 'a' from dual connect by level <= 9",
            "commit",
        ],
    );
    let waiting = format!("select count(*) from v$session where sid = {sid} and event like 'enq: TX%'");
    let rows_of = |from: i64| (from..from + 300).map(|i| [n(i), Value::text("d")]).collect::<Vec<_>>();
    let update = "update t set t = 't' || :1 || :2 where id = :1";
    let insert = "insert into t values (:1, :2)";
    for (mine, sql, first, end, want) in [
        ("insert into t values (120, 'c')", insert, 100, "rollback", Ok(300)),
        ("insert into t values (420, 'c')", insert, 400, "commit", Err((20, 1))),
        ("update t set t = 'c' where id = 4", update, 1, "commit", Ok(9)),
    ] {
        run(&mut c, &[mine]);
        let outcome = std::thread::scope(|s| {
            let d = &mut d;
            let array = s.spawn(move || d.execute_many(sql, &pair(), rows_of(first), ArrayOptions::default()));
            eventually("it waits for the row", || number(&mut c, &waiting) == 1);
            run(&mut c, &[end]);
            array.join().unwrap()
        });
        let got = outcome.map(|o| o.rows.min(300)).map_err(|e| code(&e));
        match want {
            Ok(9) => assert!(got.is_ok(), "{got:?}"),
            want => assert_eq!(got, want, "{sql}"),
        }
        run(&mut d, &["commit"]);
    }
    assert_eq!(rows(&mut c, "select count(*), count(case when t like 't%' then 1 end) from t"), ["330|210"]);
    // A break of an execution that waits.
    run(&mut c, &["update t set t = 'c' where id = 4"]);
    let e = broken(&mut d, |d| d.execute_many(update, &pair(), rows_of(1), BATCH).unwrap_err());
    assert_eq!(code(&e), (3, 1013));
    run(&mut c, &["rollback"]);
    run(&mut d, &["rollback"]);
}

#[test]
fn an_array_whose_server_process_dies_leaves_nothing() {
    let instance = start(&[]);
    let mut c = sysdba(&instance);
    run(
        &mut c,
        &[
            "create table t (id number primary key, t varchar2(10))",
            "create table k (id number)",
            "insert into k values (1)",
            "commit",
        ],
    );
    let inserted = AtomicU64::new(0);
    for delay in [1, 20, 60, 150] {
        let mut d = sysdba(&instance);
        let pid = d.welcome().server_process;
        std::thread::scope(|s| {
            s.spawn(|| {
                while inserted.load(Ordering::Relaxed) == 0 {
                    std::thread::yield_now();
                }
                std::thread::sleep(Duration::from_millis(delay));
                let killed = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status();
                assert!(killed.is_ok_and(|s| s.success()));
            });
            let endless = (0i64..).map(|i| {
                inserted.fetch_add(1, Ordering::Relaxed);
                [n(i * 7919 % 1_000_000_007), Value::text("v")]
            });
            let e =
                d.execute_many("insert into t values (:1, :2)", &pair(), endless, ArrayOptions::default()).unwrap_err();
            assert_eq!(e.error.code(), 3113, "{e}");
        });
        inserted.store(0, Ordering::Relaxed);
        eventually("its rows are gone", || number(&mut c, "select count(*) from t") == 0);
    }
    run(&mut c, &["insert into t values (1, 'x')", "commit"]);
    assert_quiet(&mut c);
}
