//! A clean stop in each mode keeps what was committed and nothing else.

use crate::common::{eventually, executable, number, rows, run};
use client::{Client, Credentials};
use std::path::{Path, PathBuf};
use std::process::Command;

pub struct Database(PathBuf);

impl Database {
    pub fn new(name: &str) -> Database {
        let dir = std::env::temp_dir().join(format!("latchwork-robust-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        Database(dir)
    }

    fn path(&self) -> &Path {
        &self.0
    }

    pub fn program(&self, args: &[&str]) -> (bool, String) {
        let out = Command::new(executable()).args(args).arg("--dir").arg(&self.0).output().expect("the program runs");
        let text = [out.stdout, out.stderr].concat();
        (out.status.success(), String::from_utf8_lossy(&text).into_owned())
    }

    pub fn start(&self) {
        let given = ["db_cache_size=4M", "db_writer_processes=3", "_db_block_lru_latches=7"];
        let given = given.iter().flat_map(|pair| ["--param", *pair]);
        let (ok, text) = self.program(&["start"].into_iter().chain(given).collect::<Vec<_>>());
        assert!(ok, "{text}");
    }

    pub fn connect(&self) -> Client {
        Client::connect(&self.0, &Credentials::Sysdba).unwrap_or_else(|e| panic!("a session opens: {e}"))
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let _ = self.program(&["stop", "--mode", "abort"]);
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const DIGEST: &str = "select count(*) || '/' || sum(n) || '/' || sum(length(v)) || '/' || sum(ora_hash(v)) from t";

#[test]
fn committed_data_outlives_every_mode_of_stopping() {
    let db = Database::new("modes");
    db.start();
    let mut c = db.connect();
    run(
        &mut c,
        &[
            "create table t (n number primary key, v varchar2(1000))",
            "create index t_v on t (v)",
            "create cluster hc (k number) single table hashkeys 100 size 200",
            "create table ht (k number, w varchar2(100)) cluster hc (k)",
            "create sequence sq cache 20",
            "create or replace function twice(n number) return number is begin return 2 * n; end;",
            "create user u identified by u",
            "grant create session to u",
            "insert into ht select level, 'row ' || level from dual connect by level <= 500",
        ],
    );
    let (mut next, mut last) = (0, 0);
    for mode in ["immediate", "normal", "immediate", "abort"] {
        for _ in 0..2 {
            let sql = format!(
                "insert into t select level + {next}, rpad(to_char(level), 500 + mod(level, 400), 'v') from dual connect by level <= 1000"
            );
            run(&mut c, &[&sql, "commit"]);
            next += 1000;
        }
        run(
            &mut c,
            &[
                "delete from t where mod(n, 7) = 3",
                "update t set v = v || '!' where mod(n, 11) = 5 and length(v) < 990",
                "commit",
            ],
        );
        let want = rows(&mut c, DIGEST);
        let value = number(&mut c, "select sq.nextval from dual");
        assert!(value > last, "a sequence goes on: {value} after {last}");
        last = value;
        // Uncommitted changes are lost.
        run(&mut c, &["update t set v = 'lost' where n > 100 and n < 900", "insert into ht values (1, 'lost')"]);
        if mode == "normal" {
            run(&mut c, &["rollback"]);
            drop(c);
        } else {
            // The session is idle; the stop ends it.
            std::mem::forget(c);
        }
        let (ok, text) = db.program(&["stop", "--mode", mode]);
        assert!(ok, "{mode}: {text}");
        let alert = std::fs::read_to_string(db.path().join("alert.log")).unwrap();
        assert!(alert.contains(&format!("Shutting down instance ({mode})")), "{alert}");
        assert!(alert.trim_end().ends_with("Instance shutdown complete"), "{alert}");
        db.start();
        c = db.connect();
        assert_eq!(rows(&mut c, DIGEST), want, "after {mode}");
        assert_eq!(
            rows(&mut c, "select /*+ index(t t_v) */ count(*) from t where v > ' '"),
            rows(&mut c, "select count(*) from t")
        );
        assert_eq!(rows(&mut c, "select w from ht where k = 77"), ["row 77"]);
        assert_eq!(number(&mut c, "select count(*) from ht"), 500);
        assert_eq!(number(&mut c, "select twice(21) from dual"), 42);
        assert!(Client::connect(db.path(), &Credentials::password("u", "u")).is_ok());
    }
}

#[test]
fn a_stop_under_load_keeps_what_was_acknowledged() {
    let db = Database::new("load");
    db.start();
    let mut c = db.connect();
    run(&mut c, &["create table t (w number, n number, v varchar2(500))", "create unique index t_i on t (w, n)"]);
    let acknowledged: Vec<i64> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|w| {
                let db = &db;
                scope.spawn(move || {
                    let mut c = db.connect();
                    let mut n = 0;
                    loop {
                        let sql = format!("insert into t values ({w}, {}, rpad('x', 400, 'x'))", n + 1);
                        if c.execute(&sql, &[]).is_err() || c.commit().is_err() {
                            return n;
                        }
                        n += 1;
                    }
                })
            })
            .collect();
        eventually("work is done", || number(&mut c, "select count(*) from t") > 500);
        let (ok, text) = db.program(&["stop"]);
        assert!(ok, "{text}");
        workers.into_iter().map(|w| w.join().unwrap()).collect()
    });
    db.start();
    let mut c = db.connect();
    for (w, n) in acknowledged.iter().enumerate() {
        let (count, max) = (
            number(&mut c, &format!("select count(*) from t where w = {w}")),
            number(&mut c, &format!("select nvl(max(n), 0) from t where w = {w}")),
        );
        assert_eq!(count, max, "no hole");
        // A commit may be done although its answer was lost.
        assert!(count == *n || count == n + 1, "{count} rows, {n} acknowledged");
    }
}

/// The process of the instance with this name in `ps`.
fn process_named(supervisor: i32, name: &str) -> i32 {
    let pids = std::fs::read_dir("/proc").unwrap().filter_map(|e| e.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let is_it = |pid: &i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let (head, tail) = stat.rsplit_once(')').unwrap_or_default();
        let parent = tail.split_whitespace().nth(1).and_then(|p| p.parse::<i32>().ok());
        head.split_once('(').is_some_and(|(_, n)| n == name) && parent == Some(supervisor)
    };
    pids.into_iter().find(is_it).unwrap_or_else(|| panic!("{name} runs"))
}

#[test]
fn the_death_of_a_background_process_is_told_and_loses_nothing_committed() {
    let db = Database::new("background");
    db.start();
    let mut c = db.connect();
    run(&mut c, &["create table t (n number primary key, v varchar2(500))"]);
    let mut next = 0;
    for (name, code) in [
        ("lw_pmon", "ORA-00472"),
        ("lw_dbw0", "ORA-00471"),
        ("lw_dbw2", "ORA-00471"),
        ("lw_smon", "ORA-00474"),
        ("lw_cjq0", "ORA-00449"),
    ] {
        let sql = format!("insert into t select level + {next}, rpad('x', 400, 'x') from dual connect by level <= 500");
        run(&mut c, &[&sql, "commit", "update t set v = 'lost'"]);
        next += 500;
        let supervisor: i32 = std::fs::read_to_string(db.path().join("latchwork.pid")).unwrap().trim().parse().unwrap();
        os::process::kill(process_named(supervisor, name), os::signal::SIGKILL).unwrap();
        eventually("the instance ends", || !os::process::exists(supervisor));
        let e = c.execute("select 1 from dual", &[]).expect_err("the session is over");
        assert!(e.is_fatal(), "{e}");
        let alert = std::fs::read_to_string(db.path().join("alert.log")).unwrap();
        assert!(alert.contains(code), "{name}: {alert}");
        db.start();
        c = db.connect();
        assert_eq!(number(&mut c, "select count(*) from t"), next);
        assert_eq!(number(&mut c, "select count(*) from t where v = 'lost'"), 0, "after {name}");
    }
}
