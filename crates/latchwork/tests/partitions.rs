//! Partitioned tables against plain ones: random changes and queries have the same results; queries across partition
//! DDL are right or ORA-08103; a thousand partitions; `verify` after a kill.

mod support;

use client::{Client, Credentials, Ephemeral};
use std::path::PathBuf;
use std::process::Command;
use support::{connect, figure, one, refused, rows, run, start, words};
use testing::Random;
use types::Value;

/// A way to divide the table P, and changes of its partitions with what they do to the plain table.
struct Scheme {
    name: &'static str,
    by: &'static str,
    changes: &'static [(&'static str, &'static str)],
}

const SCHEMES: &[Scheme] = &[
    Scheme {
        name: "range",
        by: "partition by range (k) (partition a values less than (20), partition b values less than (50), \
             partition c values less than (80), partition z values less than (maxvalue))",
        changes: &[
            ("alter table p split partition b at (35) into (partition b, partition b2) update indexes", ""),
            ("alter table p merge partitions b, b2 into partition b update indexes", ""),
            ("alter table p move partition c update indexes", ""),
            ("alter table p truncate partition a update indexes", "delete from q where k < 20"),
            ("alter table p exchange partition c with table e including indexes with validation update indexes", "E"),
        ],
    },
    Scheme {
        name: "list",
        by: "partition by list (s) (partition a values ('a', 'b'), partition c values ('c', null), \
             partition z values (default))",
        changes: &[
            ("alter table p split partition z values ('d') into (partition d, partition z) update indexes", ""),
            ("alter table p merge partitions d, z into partition z update indexes", ""),
            ("alter table p drop partition c update indexes", "delete from q where s = 'c' or s is null"),
            ("alter table p truncate partition a update indexes", "delete from q where s in ('a', 'b')"),
        ],
    },
    Scheme {
        name: "hash",
        by: "partition by hash (k) partitions 5",
        changes: &[("alter table p move partition for (7) update indexes", "")],
    },
    Scheme {
        name: "two columns",
        by: "partition by range (s, k) (partition a values less than ('b', 50), partition b values less than ('b', maxvalue), \
             partition c values less than ('d', 10), partition z values less than (maxvalue, maxvalue))",
        changes: &[
            ("alter table p split partition b at ('b', 70) into (partition b, partition b2) update indexes", ""),
            ("alter table p merge partitions b, b2 into partition b update indexes", ""),
        ],
    },
];

const CHANGES: usize = 400;

#[test]
fn a_partitioned_table_has_the_rows_of_a_plain_one() {
    let instance = start(&[]);
    for (n, scheme) in SCHEMES.iter().enumerate() {
        compare(&instance, scheme, 4711 + n as u64);
    }
}

fn compare(instance: &Ephemeral, scheme: &Scheme, seed: u64) {
    let mut c = connect(instance);
    let columns = "(id number constraint {}_pk primary key, k number, s varchar2(3), v varchar2(200), d date)";
    run(&mut c, &format!("create table p {} {} enable row movement", columns.replace("{}", "p"), scheme.by));
    run(&mut c, &format!("create table q {}", columns.replace("{}", "q")));
    run(&mut c, "create index p_k on p (k, v) local");
    run(&mut c, "create index p_s on p (s)");
    run(&mut c, "create index q_k on q (k, v)");
    run(&mut c, "create index q_s on q (s)");
    let mut random = Random::new(seed);
    let mut id = 0u64;
    for step in 0..CHANGES {
        let about = format!("{}, step {step}", scheme.name);
        if random.one_in(40) {
            let (ddl, same) = random.of(scheme.changes);
            // A partition that an earlier change has taken away is no error of this one.
            let done = if same == "E" { false } else { c.execute(ddl, &[]).is_ok() };
            if done && !same.is_empty() {
                run(&mut c, same);
                run(&mut c, "commit");
            }
        }
        let change = change(&mut random, &mut id);
        let (here, there) = (c.execute(&change.replace("{t}", "p"), &[]), c.execute(&change.replace("{t}", "q"), &[]));
        match (&here, &there) {
            (Ok(_), Ok(_)) => {}
            (Err(here), Err(there)) => {
                let text = |e: String| e.replace("P_PK", "Q_PK");
                assert_eq!(text(here.to_string()), there.to_string(), "{about}: {change}");
            }
            // DROP PARTITION leaves keys without a partition.
            (Err(e), Ok(_)) if e.to_string().contains("ORA-14400") => run(&mut c, "rollback"),
            _ => panic!("{about}: {change}: {here:?} and {there:?}"),
        }
        match random.below(5u32) {
            0 => run(&mut c, "rollback"),
            1 | 2 => run(&mut c, "commit"),
            _ => {}
        }
        if step % 7 == 0 {
            let query = query(&mut random);
            let (here, there) = (query.replace("{t}", "p"), query.replace("{t}", "q"));
            assert_eq!(words(&mut c, &here), words(&mut c, &there), "{about}: {here}");
        }
    }
    let all = "select id, k, s, v, d from {t} order by id";
    assert_eq!(words(&mut c, &all.replace("{t}", "p")), words(&mut c, &all.replace("{t}", "q")), "{}", scheme.name);
    run(&mut c, "drop table p");
    run(&mut c, "drop table q");
}

fn text(random: &mut Random) -> String {
    match random.below(7u32) {
        0 => "null".into(),
        n => format!("'{}'", ["a", "b", "c", "d", "bb", "e"][n as usize - 1]),
    }
}

fn number(random: &mut Random) -> String {
    if random.one_in(12) { "null".into() } else { random.below(100u64).to_string() }
}

fn change(random: &mut Random, id: &mut u64) -> String {
    match random.below(10u32) {
        0..4 => {
            *id += 1;
            // A key that is there already, now and then.
            let key = if random.one_in(10) { random.below(*id) } else { *id };
            let (k, s) = (number(random), text(random));
            format!(
                "insert into {{t}} values ({key}, {k}, {s}, rpad('v', {}, 'v'), date '2020-01-01' + {key})",
                key % 90
            )
        }
        4 if random.one_in(4) => format!(
            "insert into {{t}} select level * 7 + {}, mod(level, 100), chr(97 + mod(level, 7)), 'twice', null \
             from dual connect by level < {}",
            random.below(3000u64),
            2 + random.below(300u64)
        ),
        4 => {
            let from = *id + 1;
            *id += 20;
            format!(
                "insert into {{t}} select level + {from}, mod(level * 7, 100), chr(97 + mod(level, 6)), 'many', sysdate - sysdate + date '2021-01-01' \
                 from dual connect by level < 20"
            )
        }
        5 => format!("update {{t}} set k = {} where {}", number(random), condition(random)),
        6 => format!("update {{t}} set s = {}, v = rpad('w', 150, 'w') where {}", text(random), condition(random)),
        7 => format!(
            "update {{t}} set id = id + 100000, k = mod(k + 31, 100) where {} and id < 100000",
            condition(random)
        ),
        8 => format!("delete from {{t}} where {} and mod(id, 3) = 0", condition(random)),
        _ => format!(
            "merge into {{t}} t using (select level * 3 id, mod(level * 11, 100) k from dual connect by level < 12) n on (t.id = n.id) \
             when matched then update set t.k = n.k when not matched then insert (id, k, s, v) values (n.id, n.k, {}, 'merged')",
            text(random)
        ),
    }
}

fn condition(random: &mut Random) -> String {
    let n = random.below(100u64);
    match random.below(9u32) {
        0 => format!("k = {n}"),
        1 => format!("k between {n} and {}", n + random.below(30u64)),
        2 => format!("k in ({n}, {}, {})", random.below(100u64), random.below(100u64)),
        3 => format!("s = {}", text(random)),
        4 => format!("s in ({}, {})", text(random), text(random)),
        5 => "k is null".into(),
        6 => format!("s >= {} and k < {n}", text(random)),
        7 => format!("s = {} and k >= {n}", text(random)),
        _ => format!("id = {}", random.below(400u64)),
    }
}

fn query(random: &mut Random) -> String {
    let hint = ["", "/*+ full(t) */", "/*+ index(t) */"][random.below(3usize)];
    let condition = condition(random);
    match random.below(5u32) {
        0 => format!("select {hint} count(*), sum(k), min(s), max(id) from {{t}} t where {condition}"),
        1 => format!("select {hint} id, k, s, v from {{t}} t where {condition} order by id"),
        2 => format!("select {hint} k, count(*) from {{t}} t where {condition} group by k order by k"),
        3 => format!("select {hint} min(k), max(k) from {{t}} t"),
        _ => format!(
            "select a.i, t.id, t.k from (select 3 * level i, level * 5 j from dual connect by level < 30) a, {{t}} t \
             where t.k = a.j and {condition} order by a.i, t.id"
        ),
    }
}

const FIRST: u64 = 150;
const ROWS: u64 = 900;

#[test]
fn queries_across_partition_ddl_miss_no_row() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    let queries = [
        "select id, a from t",
        "select /*+ index(t t_a) */ id, a from t where a = 100 and pad is not null",
        "select /*+ index(t t_g) */ id, a from t where id > 0 and pad is not null",
    ];
    let changes = [
        "alter table t truncate partition p3",
        "alter table t truncate partition p1 update indexes",
        "alter table t drop partition p2 update indexes",
        "alter table t move partition p3 update indexes",
        "alter table t split partition p3 at (750) into (partition p3, partition p4) update indexes",
        "alter table t merge partitions p2, p3 into partition p3 update indexes",
        "drop table t purge",
    ];
    let mut gone = 0;
    for query in queries {
        for ddl in changes {
            run(
                &mut c,
                "create table t (id number, a number, pad varchar2(900)) pctfree 1 partition by range (id) \
                 (partition p1 values less than (301), partition p2 values less than (601), \
                 partition p3 values less than (1000))",
            );
            run(&mut c, "insert into t select level, 100, rpad('p', 400, 'p') from dual connect by level <= 900");
            run(&mut c, "create index t_a on t (a, id) local");
            run(&mut c, "create unique index t_g on t (id)");
            match across(&instance, query, ddl) {
                Ok(seen) => assert_eq!(seen, (ROWS, ROWS * (ROWS + 1) / 2), "{query} across {ddl}"),
                Err(e) => {
                    assert!(e.contains("ORA-08103"), "{query} across {ddl}: {e}");
                    gone += 1;
                }
            }
            let _ = c.execute("drop table t purge", &[]);
            for n in 0..3 {
                run(&mut c, &format!("drop table f{n} purge"));
            }
        }
    }
    assert!(gone > 0, "no freed extent was used again while a query read it");
}

fn across(instance: &Ephemeral, query: &str, ddl: &str) -> Result<(u64, u64), String> {
    let (mut reader, mut other) = (connect(instance), connect(instance));
    reader.set_fetch_size(3);
    let mut q = reader.query(query, &[]).map_err(|e| e.to_string())?;
    let (mut rows, mut ids) = (0, 0);
    while let Some(row) = q.next_row().map_err(|e| e.to_string())? {
        let Value::Number(id) = &row[0] else { panic!("{row:?}") };
        (rows, ids) = (rows + 1, ids + id.to_i64().expect("an id") as u64);
        if rows == FIRST {
            run(&mut other, ddl);
            for (n, size) in [1, 200, 60].iter().enumerate() {
                let rows = "select level id, 7 a, rpad('f', 300, 'f') pad from dual connect by level";
                run(&mut other, &format!("create table f{n} as {rows} <= {size}"));
                run(&mut other, &format!("create index f{n}_i on f{n} (id, pad)"));
            }
            let more =
                "insert into t select 900 + mod(level, 50), 1, rpad('n', 300, 'n') from dual connect by level <= 40";
            if other.execute(more, &[]).is_ok() {
                run(&mut other, "commit");
            }
        }
    }
    Ok((rows, ids))
}

#[test]
fn a_thousand_partitions_are_pruned_and_not_read() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    let partitions: Vec<String> = (1..=1000).map(|n| format!("partition p{n} values less than ({})", n * 10)).collect();
    run(&mut c, &format!("create table t (k number, v number) partition by range (k) ({})", partitions.join(", ")));
    run(&mut c, "insert into t select mod(level * 37, 10000), level from dual connect by level <= 20000");
    run(&mut c, "commit");
    assert_eq!(one(&mut c, "select count(*) from user_tab_partitions where table_name = 'T'"), "1000");
    assert_eq!(one(&mut c, "select max(partition_position) from user_tab_partitions where table_name = 'T'"), "1000");
    for (query, found) in [
        ("select count(*) from t where k = 5003", "2"),
        ("select count(*) from t where k >= 5000 and k < 5010", "20"),
        ("select count(*) from t where k in (1, 9999)", "4"),
        ("select count(*) from t partition (p7)", "20"),
    ] {
        one(&mut c, query);
        let before = figure(&mut c, "consistent gets");
        assert_eq!(one(&mut c, query), found, "{query}");
        let gets = figure(&mut c, "consistent gets") - before;
        assert!(gets < 40, "{query}: {gets} consistent gets");
    }
    assert_eq!(one(&mut c, "select count(*) from t"), "20000");
    run(&mut c, "drop table t");
}

#[test]
fn partition_ddl_does_not_wait_for_open_changes_and_keys_hold_between_sessions() {
    let instance = start(&[]);
    let (mut a, mut b) = (connect(&instance), connect(&instance));
    run(
        &mut a,
        "create table t (id number primary key, k number) partition by range (k) \
         (partition p1 values less than (10), partition p2 values less than (20))",
    );
    run(&mut a, "insert into t values (1, 5)");
    for ddl in ["truncate partition p2", "drop partition p1", "add partition p3 values less than (30)"] {
        let e = refused(&mut b, &format!("alter table t {ddl}"));
        assert!(e.contains("ORA-00054"), "{ddl}: {e}");
    }
    run(&mut a, "commit");
    // The same key in another partition.
    let e = refused(&mut b, "insert into t values (1, 15)");
    assert!(e.contains("ORA-00001"), "{e}");
    run(&mut b, "rollback");
    // A row that a concurrent transaction moves to another partition is found there.
    run(&mut a, "alter table t enable row movement");
    run(&mut a, "update t set k = 15 where id = 1");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            b.execute("update t set k = k + 1 where id = 1", &[]).expect("an update");
            b.execute("commit", &[]).expect("a commit");
        });
        support::until("the second session waits", || {
            let sql = "select count(*) from v$session where event = 'enq: TX - row lock contention'";
            one(&mut connect(&instance), sql) == "1"
        });
        run(&mut a, "commit");
        waiting.join().expect("no panic");
    });
    assert_eq!(words(&mut a, "select id, k from t partition (p2)"), [["1", "16"]]);
}

struct Database(PathBuf);

impl Database {
    fn program(&self, args: &[&str]) -> (i32, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_latchwork"));
        let out = command.args(args).arg("--dir").arg(&self.0).output().expect("the program runs");
        let text = [out.stdout, out.stderr].concat();
        (out.status.code().unwrap_or(-1), String::from_utf8_lossy(&text).into_owned())
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if self.0.join("latchwork.sock").exists() {
            let _ = self.program(&["stop", "--mode", "abort"]);
        }
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn partitions_survive_a_crash_and_verify_checks_them() {
    let dir = std::env::temp_dir().join(format!("latchwork-partitions-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    let db = Database(dir);
    let (code, text) = db.program(&["start", "--param", "db_cache_size=8M"]);
    assert_eq!(code, 0, "{text}");
    let mut c = Client::connect(&db.0, &Credentials::Sysdba).expect("a session");
    run(
        &mut c,
        "create table t (id number primary key, k number, v varchar2(900)) enable row movement \
         partition by range (k) (partition p1 values less than (300), partition p2 values less than (600), \
         partition pm values less than (maxvalue))",
    );
    run(&mut c, "create index t_l on t (v, k) local");
    run(&mut c, "create index t_u on t (k) local");
    run(
        &mut c,
        "insert into t select level, mod(level, 900), rpad(level, 300, 'x') from dual connect by level <= 2000",
    );
    run(&mut c, "update t set k = mod(k + 400, 900) where mod(id, 3) = 0");
    run(&mut c, "delete from t where mod(id, 7) = 0");
    run(&mut c, "commit");
    run(&mut c, "alter table t split partition pm at (700) into (partition p3, partition pm) update indexes");
    run(&mut c, "alter table t truncate partition p1 update indexes");
    run(&mut c, "insert into t select level + 5000, mod(level, 900), 'again' from dual connect by level <= 400");
    run(&mut c, "alter table t merge partitions p2, p3 into partition p2 update indexes");
    run(&mut c, "alter table t drop partition pm");
    let open = "insert into t select level + 9000, 1, 'open' from dual connect by level <= 100";
    let count = "select count(*), sum(id), count(distinct k) from t";
    run(&mut c, "alter table t add partition pn values less than (maxvalue)");
    // The global index is unusable since the drop.
    assert!(refused(&mut c, open).contains("ORA-01502"));
    let index = one(&mut c, "select index_name from user_indexes where table_name = 'T' and partitioned = 'NO'");
    run(&mut c, &format!("alter index {index} rebuild"));
    // A row outside of its partition is no damage.
    run(
        &mut c,
        "create table s (k number) partition by range (k) (partition a values less than (5), partition b values less than (9))",
    );
    run(&mut c, "create table x (k number)");
    run(&mut c, "insert into x values (1)");
    run(&mut c, "alter table s exchange partition b with table x without validation");
    let before = words(&mut c, count);
    run(&mut c, open);
    drop(c);
    assert_eq!(db.program(&["stop", "--mode", "abort"]).0, 0);
    assert_eq!(db.program(&["start"]).0, 0);
    let mut c = Client::connect(&db.0, &Credentials::Sysdba).expect("a session");
    assert_eq!(words(&mut c, count), before);
    assert!(!rows(&mut c, "select * from t where id = 5001").is_empty());
    drop(c);
    let (code, text) = db.program(&["stop"]);
    assert_eq!(code, 0, "{text}");
    let (code, text) = db.program(&["verify"]);
    assert_eq!(code, 0, "{text}");
    assert!(!text.contains("which no object has"), "{text}");
    assert!(text.contains("1 rows belong to other partitions"), "{text}");
}

#[test]
fn a_quota_counts_all_segments_of_a_statement() {
    let instance = start(&[]);
    let mut s = connect(&instance);
    run(&mut s, "create user qu identified by qu quota 128k on users default tablespace users");
    run(&mut s, "grant create session, create table, alter session to qu");
    let mut u = instance.connect(&Credentials::password("qu", "qu")).expect("a session");
    let used = "select count(*) from user_segments";
    let hash = |n: u32| format!("create table h{n} (k number) partition by hash (k) partitions {n}");
    assert!(refused(&mut u, &hash(8)).contains("ORA-01536"));
    assert_eq!(one(&mut u, used), "0");
    run(&mut u, &hash(2));
    assert!(refused(&mut u, &hash(1)).contains("ORA-01536"));
    assert_eq!(one(&mut u, used), "2");
    run(&mut s, "alter user qu quota 256k on users");
    // The partitions of a local index are segments, too.
    run(&mut u, "create index h2_k on h2 (k) local");
    run(&mut s, "alter user qu quota 320k on users");
    assert!(refused(&mut u, "create index h2_d on h2 (k desc) local").contains("ORA-01536"));
    run(&mut s, "alter user qu quota unlimited on users");
    run(&mut u, &hash(8));
}

#[test]
fn updates_and_deletes_change_the_rows_of_a_block_together() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    run(&mut c, "create table p (k number, v number, w varchar2(40)) partition by hash (k) partitions 4");
    run(&mut c, "create table q (k number, v number, w varchar2(40))");
    for table in ["p", "q"] {
        let local = if table == "p" { "local" } else { "" };
        run(&mut c, &format!("create index {table}_v on {table} (v) {local}"));
        run(
            &mut c,
            &format!("insert into {table} select level, level, 'some text' from dual connect by level <= 8000"),
        );
        run(&mut c, "commit");
    }
    for statement in [
        "update {} set v = v + 1 where mod(k, 2) = 0",
        "update {} set w = 'other text' where v > 100",
        "delete from {} where mod(k, 3) = 0",
    ] {
        let mut entries = |table: &str| {
            let before = figure(&mut c, "redo entries");
            run(&mut c, &statement.replace("{}", table));
            run(&mut c, "commit");
            figure(&mut c, "redo entries") - before
        };
        let (partitioned, plain) = (entries("p"), entries("q"));
        assert!(partitioned < 3 * plain + 200, "{statement}: {partitioned} redo entries, {plain} on a plain table");
    }
    assert_eq!(
        words(&mut c, "select count(*), sum(v), max(w) from p"),
        words(&mut c, "select count(*), sum(v), max(w) from q")
    );
    let by_index = "select count(*) from {} where v between 100 and 900";
    assert_eq!(one(&mut c, &by_index.replace("{}", "p")), one(&mut c, &by_index.replace("{}", "q")));
}
