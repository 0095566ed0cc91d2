//! CREATE INDEX … ONLINE on a table that sessions keep changing, and the state after its session is killed.

use client::{Client, Credentials, Ephemeral, EphemeralOptions};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use testing::Random;
use types::Value;

fn start() -> Ephemeral {
    let executable = Some(PathBuf::from(env!("CARGO_BIN_EXE_latchwork")));
    Ephemeral::start_with(&EphemeralOptions { executable, ..EphemeralOptions::default() }).expect("an instance starts")
}

fn session(instance: &Ephemeral) -> Client {
    instance.connect(&Credentials::Sysdba).expect("a session opens")
}

fn text(client: &mut Client, sql: &str) -> String {
    let rows = client.query(sql, &[]).and_then(|q| q.all()).unwrap_or_else(|e| panic!("{sql}: {e}"));
    match &rows[0][0] {
        Value::Text(text) => text.clone(),
        other => panic!("{sql}: {other:?}"),
    }
}

/// Sums over the table by a full scan, and by an index.
fn sums(client: &mut Client, hint: &str) -> String {
    text(client, &format!("select /*+ {hint} */ count(*) || ' ' || sum(k) || ' ' || sum(id) from t where k >= 0"))
}

/// Changes rows of its own, and commits or rolls back, until it is stopped.
fn change(instance: &Ephemeral, me: u64, stop: &AtomicBool) -> u64 {
    let mut c = session(instance);
    let (mut numbers, mut n) = (Random::new(me + 17), 0);
    let mut random = |below: u64| numbers.below(below);
    while !stop.load(Ordering::Relaxed) {
        let id = random(1000) * 3 + me;
        let sql = match random(5) {
            0 => format!("delete from t where id = {id}"),
            1 => format!(
                "insert into t select {id}, {}, 'new' from dual where not exists (select 1 from t where id = {id})",
                random(500)
            ),
            2 => format!("update t set k = k + 1 where id between {id} and {id} + 5 and mod(id, 3) = {me}"),
            _ => format!("update t set k = {} where id = {id}", random(500)),
        };
        c.execute(&sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
        match random(3) {
            0 => c.rollback().unwrap(),
            1 => c.commit().unwrap(),
            _ => {}
        }
        n += 1;
    }
    c.commit().unwrap();
    n
}

#[test]
fn an_index_built_under_changes_misses_nothing() {
    let instance = start();
    let mut c = session(&instance);
    c.execute("create table t (id number primary key, k number, v varchar2(40))", &[]).unwrap();
    c.execute("insert into t select level, mod(level, 500), rpad('v', 30) from dual connect by level <= 3000", &[])
        .unwrap();
    c.commit().unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|me| {
                scope.spawn({
                    let (instance, stop) = (&instance, &stop);
                    move || change(instance, me, stop)
                })
            })
            .collect();
        let columns = ["k, id", "k, id, v", "k, v, id", "k * 2, id"];
        let made: Vec<_> = columns
            .iter()
            .enumerate()
            .map(|(n, columns)| c.execute(&format!("create index t_k{n} on t ({columns}) online"), &[]).map(|_| ()))
            .collect();
        stop.store(true, Ordering::Relaxed);
        assert!(made.iter().all(Result::is_ok), "{made:?}");
        let done: u64 = writers.into_iter().map(|w| w.join().unwrap()).sum();
        assert!(done > 20, "only {done} changes");
    });
    let full = sums(&mut c, "full(t)");
    for n in 0..3 {
        assert_eq!(sums(&mut c, &format!("index(t t_k{n})")), full, "index {n}");
    }
    let by_expression =
        text(&mut c, "select /*+ index(t t_k3) */ count(*) || ' ' || sum(k) || ' ' || sum(id) from t where k * 2 >= 0");
    assert_eq!(by_expression, full);
    // A duplicate key is found at the end, and nothing is left.
    let e = c.execute("create unique index t_u on t (mod(id, 100)) online", &[]).unwrap_err();
    assert_eq!(e.code(), 1452, "{e}");
    assert_eq!(text(&mut c, "select to_char(count(*)) from user_indexes where index_name = 'T_U'"), "0");
    c.execute("create unique index t_u on t (id, k) online", &[]).unwrap();
}

/// A transaction changes rows before and after the index is entered in the dictionary, and is rolled back: the index
/// must have none of its changes.
#[test]
fn who_began_before_the_build_and_is_rolled_back_leaves_no_entry() {
    let instance = start();
    let (mut c, mut other) = (session(&instance), session(&instance));
    c.execute("create table t (id number primary key, k number not null)", &[]).unwrap();
    c.execute("insert into t select level, level from dual connect by level <= 100", &[]).unwrap();
    c.commit().unwrap();
    let counts = "select count(*) || ' ' || sum(k) s from t where k >= 0";
    for (ends, want) in [("rollback", "100 5050"), ("commit", "99 5144")] {
        // No index entry is made for these changes yet.
        other.execute("update t set k = k + 100 where id = 7", &[]).unwrap();
        other.execute("insert into t values (200, 200)", &[]).unwrap();
        let built = std::thread::scope(|scope| {
            let builder = scope.spawn(|| c.execute("create index t_k on t (k) online", &[]).map(|_| ()));
            let entered = "select to_char(count(*)) from user_indexes where index_name = 'T_K'";
            let end = Instant::now() + Duration::from_secs(60);
            while text(&mut other, entered) != "1" {
                assert!(Instant::now() < end, "the index is entered");
                std::thread::sleep(Duration::from_millis(5));
            }
            // These transactions maintain the index: the key that they change has no entry there.
            other.execute("update t set k = k + 1 where id = 7", &[]).unwrap();
            other.execute("delete from t where id = 200", &[]).unwrap();
            other.execute("delete from t where id = 7 and k < 0", &[]).unwrap();
            if ends == "commit" {
                other.execute("update t set k = k + 93 where id = 7", &[]).unwrap();
                other.execute("delete from t where id = 100", &[]).unwrap();
            }
            other.execute(ends, &[]).unwrap();
            builder.join().unwrap()
        });
        built.unwrap();
        let by_index = counts.replacen("select", "select /*+ index(t t_k) */", 1);
        let by_table = counts.replacen("select", "select /*+ full(t) */", 1);
        assert_eq!([text(&mut c, &by_index), text(&mut c, &by_table)], [want, want], "after {ends}");
        assert_eq!(text(&mut c, "select to_char(count(*)) from t where k >= 0"), want.split(' ').next().unwrap());
        c.execute("drop index t_k", &[]).unwrap();
    }
}

#[test]
fn a_killed_builder_leaves_nothing_that_hurts() {
    let instance = start();
    let mut c = session(&instance);
    c.execute("create table t (id number primary key, k number, v varchar2(40))", &[]).unwrap();
    c.execute("insert into t select level, level, 'v' from dual connect by level <= 500", &[]).unwrap();
    c.commit().unwrap();
    // An open transaction keeps the builder waiting.
    c.execute("update t set k = k + 1 where id = 1", &[]).unwrap();
    let mut builder = session(&instance);
    let process = builder.welcome().server_process as i32;
    let mut watch = session(&instance);
    std::thread::scope(|scope| {
        let built = scope.spawn(move || builder.execute("create index t_k on t (k) online", &[]).map(|_| ()));
        let started = Instant::now();
        while text(&mut watch, "select to_char(count(*)) from user_indexes where index_name = 'T_K'") == "0" {
            assert!(started.elapsed() < Duration::from_secs(60), "the index is entered");
            std::thread::sleep(Duration::from_millis(10));
        }
        os::process::kill(process, os::signal::SIGKILL).unwrap();
        assert_eq!(built.join().unwrap().unwrap_err().code(), 3113);
    });
    assert_eq!(text(&mut watch, "select status from user_indexes where index_name = 'T_K'"), "UNUSABLE");
    c.execute("update t set k = k + 1 where id < 100", &[]).unwrap();
    c.execute("delete from t where id > 400", &[]).unwrap();
    c.rollback().unwrap();
    c.execute("delete from t where id > 450", &[]).unwrap();
    c.commit().unwrap();
    c.execute("create index t_k on t (k) online", &[]).unwrap();
    assert_eq!(text(&mut c, "select status from user_indexes where index_name = 'T_K'"), "VALID");
    assert_eq!(sums(&mut c, "index(t t_k)"), sums(&mut c, "full(t)"));
}

#[test]
fn a_shrink_that_dies_on_the_way_leaves_the_table_as_it_was() {
    let executable = Some(PathBuf::from(env!("CARGO_BIN_EXE_latchwork")));
    let params = vec![("_crash_point".into(), "ddl-rows-moved:1:child".into())];
    let options = EphemeralOptions { executable, params };
    let instance = Ephemeral::start_with(&options).expect("an instance starts");
    let mut c = session(&instance);
    c.execute("create table t (id number primary key, k number, v varchar2(400)) enable row movement", &[]).unwrap();
    c.execute("create index t_k on t (k)", &[]).unwrap();
    c.execute("insert into t select level, mod(level, 50), rpad('v', 300) from dual connect by level <= 3000", &[])
        .unwrap();
    c.execute("delete from t where mod(id, 10) <> 0", &[]).unwrap();
    c.commit().unwrap();
    let before = sums(&mut c, "full(t)");
    let blocks = "select to_char(sum(blocks)) from user_segments where segment_name in ('T', 'T_K')";
    let room = text(&mut c, blocks);
    for _ in 0..3 {
        let mut shrinker = session(&instance);
        let e = shrinker.execute("alter table t shrink space", &[]).unwrap_err();
        assert_eq!(e.code(), 3113, "{e}");
        assert_eq!(sums(&mut c, "full(t)"), before);
        assert_eq!(sums(&mut c, "index(t t_k)"), before);
    }
    // Once the dead sessions are cleaned up, their space is free and rows can be changed.
    c.execute("alter session set ddl_lock_timeout = 60", &[]).unwrap();
    c.execute("lock table t in exclusive mode", &[]).unwrap();
    assert_eq!(text(&mut c, blocks), room);
    c.execute("delete from t where id > 2000", &[]).unwrap();
    c.rollback().unwrap();
    assert_eq!(sums(&mut c, "full(t)"), before);
}

/// Stops a session that runs `sql` at the next plan it makes, runs `meanwhile`, and continues it.
fn with_stopped_plan(instance: &Ephemeral, sql: &str, meanwhile: impl FnOnce()) -> Result<(), String> {
    with_stopped_plan_of(session(instance), instance, sql, meanwhile)
}

/// As [`with_stopped_plan`], in an existing session.
fn with_stopped_plan_of(
    mut c: Client,
    instance: &Ephemeral,
    sql: &str,
    meanwhile: impl FnOnce(),
) -> Result<(), String> {
    let (stop, deaths) = (instance.dir().join(faults::STOP_FILE), instance.dir().join(faults::DEATHS_FILE));
    let _ = std::fs::remove_file(&deaths);
    std::fs::write(&stop, "").unwrap();
    std::thread::scope(|scope| {
        let running = scope.spawn(move || {
            let done = if sql.starts_with("merge") {
                c.execute(sql, &[]).and_then(|_| c.commit())
            } else {
                c.query(sql, &[]).and_then(|q| q.all()).map(drop)
            };
            done.map_err(|e| format!("{sql}: {e}"))
        });
        let started = Instant::now();
        let process = loop {
            let noted = std::fs::read_to_string(&deaths).unwrap_or_default();
            if let Some(process) = noted.strip_suffix('\n').and_then(|l| l.rsplit(' ').next()?.parse::<i32>().ok()) {
                break process;
            }
            assert!(started.elapsed() < Duration::from_secs(60) && !running.is_finished(), "{sql} is stopped");
            std::thread::sleep(Duration::from_millis(5));
        };
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(meanwhile));
        // It may still be about to stop.
        while !running.is_finished() {
            os::process::kill(process, os::signal::SIGCONT).unwrap();
            std::thread::sleep(Duration::from_millis(10));
        }
        done.unwrap_or_else(|e| std::panic::resume_unwind(e));
        running.join().unwrap()
    })
}

#[test]
fn a_statement_whose_index_is_exchanged_while_it_is_compiled_is_compiled_again() {
    let executable = Some(PathBuf::from(env!("CARGO_BIN_EXE_latchwork")));
    let params = vec![("_crash_point".into(), "cursor-planned:1:stop".into())];
    let instance = Ephemeral::start_with(&EphemeralOptions { executable, params }).expect("an instance starts");
    let mut c = session(&instance);
    for sql in [
        "create table t (id number primary key, k number)",
        "create index t_k on t (k)",
        "insert into t select level, mod(level, 50) from dual connect by level <= 1000",
        "create table iot (id number primary key, v number) organization index",
        "insert into iot select level, level from dual connect by level <= 1000",
        "create table other (n number)",
        "insert into other select level from dual connect by level <= 1000",
        "commit",
    ] {
        c.execute(sql, &[]).unwrap();
    }
    let merge = "merge into t using (select level l from dual connect by level <= 10) s on (t.id = s.l)
         when matched then update set k = k + 1 when not matched then insert values (s.l, 0)";
    let query = "select /*+ index(t t_k) */ id from t where k = 7";
    let by_iot = "merge into t using (select id l, v from iot where id < 10) s on (t.id = s.l) when matched then update set k = k + s.v";
    let cases = [
        (merge, "alter index t_k rebuild online"),
        (merge, "alter index t_k rebuild"),
        (query, "alter index t_k rebuild online"),
        (by_iot, "alter table iot move"),
        (query, "alter table t move update indexes"),
        (merge, "alter table t move online"),
    ];
    for (n, (sql, ddl)) in cases.into_iter().enumerate() {
        with_stopped_plan(&instance, &format!("{sql} /* {n} */"), || {
            c.execute(ddl, &[]).unwrap();
            // Extents given back are reused by another segment.
            c.execute(&format!("create index other_{n} on other (n, {n} * 1)"), &[])
                .or_else(|_| c.execute(&format!("create table other_{n} as select * from other"), &[]))
                .unwrap();
        })
        .unwrap_or_else(|e| panic!("{ddl}: {e}"));
    }
    assert_eq!(sums(&mut c, "index(t t_k)"), sums(&mut c, "full(t)"));
}

/// A session recompiles a statement at the next execution after DDL. The table may be moved again before the statement
/// opens it: the statement is then restarted, which counts as the same execution.
#[test]
fn a_statement_that_has_to_run_again_is_executed_once() {
    let executable = Some(PathBuf::from(env!("CARGO_BIN_EXE_latchwork")));
    let params = vec![("_crash_point".into(), "cursor-planned:1:stop".into())];
    let instance = Ephemeral::start_with(&EphemeralOptions { executable, params }).expect("an instance starts");
    let mut c = session(&instance);
    for sql in [
        "create table t (id number, k number)",
        "insert into t select level, mod(level, 50) from dual connect by level <= 1000",
        "create table into_here (n number)",
        "commit",
    ] {
        c.execute(sql, &[]).unwrap();
    }
    let merge = "merge into into_here using (select id from t where k = 7) s on (n = s.id) when not matched then insert values (s.id)";
    let mut first = session(&instance);
    first.execute(merge, &[]).unwrap();
    c.execute("alter table t add (later number)", &[]).unwrap();
    with_stopped_plan_of(first, &instance, merge, || {
        c.execute("alter table t move", &[]).unwrap();
    })
    .unwrap();
    let counted = format!("select to_char(sum(executions)) from v$sql where sql_text = '{merge}'");
    assert_eq!(text(&mut c, &counted), "2");
}

/// Runs a statement in a session of its own, stops it at the crash point of the instance, runs `meanwhile`, and
/// continues it.
fn stopped(instance: &Ephemeral, sql: &str, meanwhile: impl FnOnce(i32)) -> Result<(), u32> {
    let (stop, deaths) = (instance.dir().join(faults::STOP_FILE), instance.dir().join(faults::DEATHS_FILE));
    let _ = std::fs::remove_file(&deaths);
    let mut c = session(instance);
    let process = c.welcome().server_process as i32;
    std::fs::write(&stop, "").unwrap();
    std::thread::scope(|scope| {
        let running = scope.spawn(move || c.execute(sql, &[]).map(drop).map_err(|e| e.code()));
        let started = Instant::now();
        while std::fs::read_to_string(&deaths).unwrap_or_default().is_empty() {
            assert!(started.elapsed() < Duration::from_secs(60) && !running.is_finished(), "{sql} is stopped");
            std::thread::sleep(Duration::from_millis(5));
        }
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| meanwhile(process)));
        while !running.is_finished() {
            // The process may still be about to stop, or may be dead.
            let _ = os::process::kill(process, os::signal::SIGCONT);
            std::thread::sleep(Duration::from_millis(10));
        }
        done.unwrap_or_else(|e| std::panic::resume_unwind(e));
        running.join().unwrap()
    })
}

fn stopping_at(point: &str) -> Ephemeral {
    let executable = Some(PathBuf::from(env!("CARGO_BIN_EXE_latchwork")));
    let params = vec![("_crash_point".into(), format!("{point}:1:stop"))];
    let instance = Ephemeral::start_with(&EphemeralOptions { executable, params }).expect("an instance starts");
    let mut c = session(&instance);
    c.execute("create table t (id number, k number, v varchar2(40)) enable row movement", &[]).unwrap();
    c.execute("insert into t select level, mod(level, 50), 'v' from dual connect by level <= 1000", &[]).unwrap();
    c.commit().unwrap();
    instance
}

/// The builder uses the definitions as of the time when it has the table's lock, not as of the index's entry.
#[test]
fn a_table_that_is_moved_before_the_build_has_a_whole_index() {
    let instance = stopping_at("ddl-index-entered");
    let mut c = session(&instance);
    let changes: [&[&str]; 6] = [
        &["alter table t move"],
        &["alter table t move online"],
        &["alter table t shrink space"],
        &["truncate table t", "insert into t (id, k) select level, level from dual connect by level <= 700", "commit"],
        &["alter table t drop column v", "alter table t add (v number default 1 not null)"],
        &["alter index old_k rebuild", "alter table t move"],
    ];
    for build in ["create index t_k on t (k) online", "alter index old_k rebuild online"] {
        for statements in changes {
            if build.starts_with("alter") || statements[0].contains("old_k") {
                c.execute("create index old_k on t (k desc, id)", &[]).unwrap();
            }
            let built = stopped(&instance, build, |_| {
                for sql in statements {
                    c.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
                }
            });
            assert_eq!(built, Ok(()), "{build}, {statements:?}");
            c.execute("update t set k = k + 1 where mod(id, 3) = 0", &[]).unwrap();
            c.commit().unwrap();
            let name = if build.starts_with("alter") { "old_k" } else { "t_k" };
            assert_eq!(sums(&mut c, &format!("index(t {name})")), sums(&mut c, "full(t)"), "{build}, {statements:?}");
            let usable = format!("select status from user_indexes where index_name = upper('{name}')");
            assert_eq!(text(&mut c, &usable), "VALID", "{build}, {statements:?}");
            for index in ["t_k", "old_k"] {
                let _ = c.execute(&format!("drop index {index}"), &[]);
            }
        }
    }
    for gone in ["drop index t_k", "drop table t"] {
        let built = stopped(&instance, "create index t_k on t (k) online", |_| {
            c.execute(gone, &[]).unwrap_or_else(|e| panic!("{gone}: {e}"));
        });
        assert!(built.is_err(), "{gone}");
    }
    assert_eq!(text(&mut c, "select to_char(count(*)) from user_indexes where table_name = 'T'"), "0");
}

/// ALTER INDEX of another session does not complete an index that is being built.
#[test]
fn an_index_that_is_being_built_is_not_altered() {
    let instance = stopping_at("ddl-index-filled");
    let mut c = session(&instance);
    let built = stopped(&instance, "create index t_k on t (k) online", |_| {
        for change in ["invisible", "visible", "rename to t_k2", "rebuild online", "coalesce", "unusable", "rebuild"] {
            let error = c.execute(&format!("alter index t_k {change}"), &[]).expect_err(change);
            assert_eq!(error.code(), 8104, "{change}: {error}");
        }
        c.execute("insert into t (id, k) select level + 1000, 7 from dual connect by level <= 100", &[]).unwrap();
        c.commit().unwrap();
    });
    assert_eq!(built, Ok(()));
    assert_eq!(sums(&mut c, "index(t t_k)"), sums(&mut c, "full(t)"));
}

/// An index whose builder has died stays marked as being built, whatever happens to its table, so that it is dropped.
#[test]
fn what_a_dead_builder_leaves_goes_from_a_table_that_was_moved() {
    let instance = stopping_at("ddl-index-filled");
    let mut c = session(&instance);
    c.execute("create index old_k on t (k)", &[]).unwrap();
    for change in ["alter table t move", "alter table t move online", "truncate table t", "alter table t shrink space"]
    {
        let built = stopped(&instance, "alter index old_k rebuild online", |process| {
            os::process::kill(process, os::signal::SIGKILL).unwrap();
            let started = Instant::now();
            while let Err(e) = c.execute(change, &[]) {
                assert!(e.code() == 54 && started.elapsed() < Duration::from_secs(60), "{change}: {e}");
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        assert_eq!(built, Err(3113), "{change}");
        c.execute("alter index old_k rebuild online", &[]).unwrap_or_else(|e| panic!("{change}: {e}"));
        let left = "select to_char(count(*)) from user_indexes where table_name = 'T'";
        assert_eq!(text(&mut c, left), "1", "{change}");
        assert_eq!(sums(&mut c, "index(t old_k)"), sums(&mut c, "full(t)"), "{change}");
    }
}
