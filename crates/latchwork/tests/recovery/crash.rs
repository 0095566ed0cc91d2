//! Crashes of the whole instance, in quick succession.

use client::{Client, Credentials};

use crate::common::{Database, LOAD_TABLE, Load, assert_kept, eventually, number, rows, run};

#[test]
fn a_killed_instance_keeps_what_was_acknowledged_and_nothing_else() {
    let db = Database::new("crash");
    db.start();
    run(&mut db.connect(), LOAD_TABLE);
    let mut load = Load::new(3);
    for round in 0..3 {
        let mut open = db.connect();
        run(&mut open, &["create table if_any (n number)", "drop table if_any"]);
        // A transaction that is open when the instance dies, with rows that the others do not touch.
        run(
            &mut open,
            &["update load set v = 'not committed' where n <= (select min(max(n)) - 10 from load group by w)"],
        );
        let before = load.total();
        std::thread::scope(|scope| {
            let load = &load;
            (0..3).for_each(|w| {
                drop(scope.spawn({
                    let db = &db;
                    move || load.work(db, w)
                }))
            });
            eventually("work is done", || load.total() > before + 200);
            db.kill();
        });
        db.start();
        let alert = db.alert();
        assert!(
            alert.contains("Beginning crash recovery of 1 threads") && alert.contains("Completed crash recovery at"),
            "{alert}"
        );
        let mut c = db.connect();
        assert_kept(&mut c, &load.counts());
        assert_eq!(number(&mut c, "select count(*) from load where v = 'not committed'"), 0, "round {round}");
        // The next round continues after the existing rows.
        for (w, a) in load.acknowledged.iter_mut().enumerate() {
            *a.get_mut() = number(&mut c, &format!("select nvl(max(n), 0) from load where w = {w}"));
        }
    }
    db.verify();
}

#[test]
fn a_recovery_that_is_killed_is_done_again() {
    let db = Database::new("again");
    db.start();
    run(&mut db.connect(), LOAD_TABLE);
    let load = Load::new(2);
    std::thread::scope(|scope| {
        let load = &load;
        (0..2).for_each(|w| {
            drop(scope.spawn({
                let db = &db;
                move || load.work(db, w)
            }))
        });
        eventually("work is done", || load.total() > 300);
        db.kill();
    });
    // Killed repeatedly, at any point of its work.
    for pause in [1, 3, 7, 15, 30, 60, 120] {
        let mut starting = std::process::Command::new(env!("CARGO_BIN_EXE_latchwork"))
            .args(["start", "--foreground", "--param", "_disk_sync=false", "--dir"])
            .arg(db.path())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(pause));
        starting.kill().unwrap();
        starting.wait().unwrap();
        eventually("the instance is gone", || db.program(&["status"]).0 == 3);
    }
    db.start();
    assert_kept(&mut db.connect(), &load.counts());
    db.verify();
}

/// No process waits for the blocks written by a recovery: until the first checkpoint a crash is recovered from the same
/// position, through the redo of all lives since. When they have filled all logs, a start does wait.
#[test]
fn a_crash_before_the_first_checkpoint_is_recovered_through_every_life_since() {
    let db = Database::new("lives");
    db.start();
    run(&mut db.connect(), &["create table t (n number primary key, life number, v varchar2(200))"]);
    let checkpoint = || datafile::ControlFile::read(db.path()).unwrap().checkpoint.rba;
    let (mut waited, mut rows) = (Vec::new(), 0);
    for life in 0..7 {
        let mut c = db.connect();
        let insert = format!(
            "insert into t select {rows} + level, {life}, rpad('x', 100 + mod(level, 90), 'x') from dual connect by level <= 200"
        );
        run(&mut c, &[&insert, &format!("update t set life = {life}"), "commit"]);
        rows += 200;
        run(&mut c, &["update t set life = -1, v = null where mod(n, 3) = 0"]);
        db.kill();
        let before = checkpoint();
        // A process that makes a checkpoint stops on the way.
        std::fs::write(db.path().join(faults::STOP_FILE), "").unwrap();
        let plan = "_crash_point=checkpoint-written:1:stop";
        let (code, text) = db.program(&["start", "--param", "_disk_sync=false", "--param", plan]);
        assert_eq!(code, 0, "{text}");
        waited.push(checkpoint() > before);
        let mut c = db.connect();
        assert_eq!(number(&mut c, &format!("select count(*) from t where life = {life} and v is not null")), rows);
        assert_eq!(number(&mut c, "select /*+ index(t) */ count(*) from t where n > 0"), rows, "life {life}");
    }
    assert!(waited.contains(&true) && waited.contains(&false), "of three logs one is free, for a while: {waited:?}");
    db.kill();
    db.start();
    db.verify();
}

#[test]
fn a_database_whose_making_was_killed_is_made_again() {
    let db = Database::new("making");
    for pause in [5, 20, 40, 80, 160] {
        let mut starting = std::process::Command::new(env!("CARGO_BIN_EXE_latchwork"))
            .args(["start", "--foreground", "--dir"])
            .arg(db.path())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(pause));
        starting.kill().unwrap();
        starting.wait().unwrap();
        eventually("the instance is gone", || db.program(&["status"]).0 == 3);
    }
    db.start();
    run(&mut db.connect(), &["create table t (n number)"]);
    db.verify();
}

/// Sessions whose transactions violate deferred constraints meanwhile, and sometimes at their end.
fn deferred_work(db: &Database, w: i64, acknowledged: &std::sync::atomic::AtomicI64) {
    use std::sync::atomic::Ordering::SeqCst;
    let Ok(mut c) = client::Client::connect(db.path(), &client::Credentials::Sysdba) else { return };
    loop {
        let n = acknowledged.load(SeqCst) + 1;
        let id = w * 1_000_000 + n;
        let bad = n % 5 == 0;
        let statements = [
            format!("insert into kid values ({id}, {id})"),
            format!("insert into top values ({id}, 'first')"),
            format!("insert into top values ({id}, 'again')"),
            format!("delete from top where id = {id} and v = '{}'", if bad { "neither" } else { "first" }),
        ];
        if !statements.iter().all(|sql| c.execute(sql, &[]).is_ok()) {
            return;
        }
        match c.commit() {
            Ok(()) if !bad => {}
            Err(e) if bad && e.to_string().contains("ORA-02091") => {}
            Ok(()) => panic!("a key that stands twice was committed"),
            Err(_) => return,
        }
        acknowledged.store(n, SeqCst);
    }
}

#[test]
fn deferred_constraints_hold_whenever_the_instance_dies() {
    let db = Database::new("deferred");
    db.start();
    run(
        &mut db.connect(),
        &[
            "create table top (id number constraint top_pk primary key deferrable initially deferred, v varchar2(10))",
            "create table kid (id number primary key, top number references top deferrable initially deferred)",
            "create index kid_top on kid (top)",
        ],
    );
    let acknowledged: Vec<_> = (0..3).map(|_| std::sync::atomic::AtomicI64::new(0)).collect();
    let total = || acknowledged.iter().map(|a| a.load(std::sync::atomic::Ordering::SeqCst)).sum::<i64>();
    for round in 0..3 {
        let before = total();
        std::thread::scope(|scope| {
            for (w, a) in acknowledged.iter().enumerate() {
                let db = &db;
                scope.spawn(move || deferred_work(db, w as i64, a));
            }
            eventually("work is done", || total() > before + 60);
            db.kill();
        });
        db.start();
        let mut c = db.connect();
        for (w, a) in acknowledged.iter().enumerate() {
            let (from, upto) = (w as i64 * 1_000_000, a.load(std::sync::atomic::Ordering::SeqCst));
            let of = |table: &str, column: &str, n: i64| {
                format!("select count(*) from {table} where {column} between {from} and {}", from + n)
            };
            // Every fifth was refused; one more than acknowledged may be present.
            assert_eq!(number(&mut c, &of("top", "id", upto)), upto - upto / 5, "round {round}, worker {w}");
            assert_eq!(number(&mut c, &of("kid", "top", upto)), upto - upto / 5, "round {round}, worker {w}");
            let last = number(
                &mut c,
                &format!("select nvl(max(id), {from}) - {from} from top where id between {from} and {from} + 999999"),
            );
            a.fetch_max(last, std::sync::atomic::Ordering::SeqCst);
        }
        assert_eq!(number(&mut c, "select count(*) from (select id from top group by id having count(*) > 1)"), 0);
        assert_eq!(number(&mut c, "select count(*) from kid where top not in (select id from top)"), 0);
    }
    db.verify();
}

#[test]
fn temporary_rows_are_no_business_of_a_recovery() {
    let db = Database::new("temporary");
    db.start();
    let create = "create global temporary table g (n number primary key, v varchar2(200)) on commit preserve rows";
    run(&mut db.connect(), &[create, "create index g_v on g (v)", "create table kept (n number)"]);
    let fill = "insert into g select level, rpad('v' || level, 200, 'x') from dual connect by level <= 8000";
    let mut c = db.connect();
    run(&mut c, &[fill]);
    c.commit().unwrap();
    // Changes of both kinds in one transaction, written to the files, when the instance dies.
    run(
        &mut c,
        &[
            "insert into kept select n from g",
            "update g set v = 'changed' where mod(n, 3) = 0",
            "delete from g where n < 50",
        ],
    );
    run(&mut db.connect(), &["alter system checkpoint"]);
    run(&mut c, &["delete from g where n < 500", "delete from kept where n < 9"]);
    let mut other = db.connect();
    run(&mut other, &["insert into kept values (-1)"]);
    other.commit().unwrap();
    db.kill();
    db.start();
    let mut c = db.connect();
    assert_eq!(rows(&mut c, "select n from kept"), ["-1"]);
    assert_eq!(number(&mut c, "select count(*) from g"), 0);
    run(&mut c, &[fill, "update g set n = -n"]);
    assert_eq!(number(&mut c, "select sum(n) from g where v like 'v%'"), -8000 * 8001 / 2);
    db.verify();
}

#[test]
fn an_account_that_wrong_passwords_locked_is_locked_after_a_crash() {
    let db = Database::new("locked");
    db.start();
    run(
        &mut db.connect(),
        &[
            "create profile strict limit failed_login_attempts 3",
            "create user harry identified by right profile strict",
            "grant create session to harry",
        ],
    );
    let enter =
        |password: &str| Client::connect(&db.0, &Credentials::password("harry", password)).err().map(|e| e.code());
    assert_eq!([1, 2, 3].map(|_| enter("wrong")), [Some(1017); 3]);
    db.kill();
    db.start();
    assert_eq!(enter("right"), Some(28000));
    assert_eq!(
        rows(&mut db.connect(), "select account_status from dba_users where username = 'HARRY'"),
        ["LOCKED(TIMED)"]
    );
}

/// Every block written since the last checkpoint is torn: most of them have a copy in the double-write area, the redo
/// makes the others whole.
#[test]
fn blocks_that_a_crash_has_torn_are_whole_again() {
    let db = Database::new("torn");
    let start = || {
        let params = ["db_cache_size=2M", "_log_file_size=48M", "_double_write_size=64M", "_disk_sync=false"];
        let args: Vec<&str> = params.iter().flat_map(|p| ["--param", p]).collect();
        let (code, text) = db.program(&[&["start"], args.as_slice()].concat());
        assert_eq!(code, 0, "{text}");
    };
    start();
    let mut c = db.connect();
    run(
        &mut c,
        &[
            "create table t (n number primary key, v varchar2(3000)) tablespace users",
            "insert into t select level, rpad('i', 3000, 'i') from dual connect by level <= 2000",
            "commit",
            "alter system checkpoint",
            "update t set v = rpad('u', 3000, 'u')",
            "commit",
        ],
    );
    db.kill();
    let checkpoint = datafile::ControlFile::read(db.path()).unwrap().checkpoint.rba;
    let path = db.path().join("users01.dbf");
    let mut bytes = std::fs::read(&path).unwrap();
    let mut torn = 0;
    for block in bytes.chunks_mut(8192) {
        if u64::from_le_bytes(block[8..16].try_into().unwrap()) > checkpoint {
            block[4096..].fill(0xEE);
            torn += 1;
        }
    }
    assert!(torn > 500, "{torn} blocks were written since the checkpoint");
    std::fs::write(&path, bytes).unwrap();
    start();
    let told = db.alert();
    let restored =
        told.lines().find_map(|line| line.strip_suffix(" torn data blocks were made whole from the double-write area"));
    let restored: u32 = restored.unwrap_or_else(|| panic!("{told}")).trim().parse().unwrap();
    assert!(restored > 500 && restored <= torn, "{restored} of {torn}");
    assert!(!told.contains("ORA-10562"), "{told}");
    let mut c = db.connect();
    assert_eq!(number(&mut c, "select count(*) from t where v = rpad('u', 3000, 'u')"), 2000);
    db.verify();
}
