//! Forks: private copies of databases that run or were closed.

use crate::common::{Database, LOAD_TABLE, Load, assert_kept, assert_whole, eventually, number, rows, run};
use client::{Client, ClientResult, Credentials, Ephemeral, EphemeralOptions, Template};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

fn fork(db: &Database, to: &Database) {
    let (code, out) = db.program(&["fork", "--to", text(to.path())]);
    assert_eq!(code, 0, "{out}");
}

fn options() -> EphemeralOptions {
    let executable = Some(PathBuf::from(env!("CARGO_BIN_EXE_latchwork")));
    EphemeralOptions { params: vec![("processes".into(), "40".into())], executable }
}

/// The bytes of all files below a directory.
fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => all.extend(contents(&path)),
            false if path.ends_with("latchwork.sock") => {}
            false => drop(all.insert(path.clone(), std::fs::read(&path).unwrap())),
        }
    }
    all
}

/// Twenty forks are made while sessions commit and logs of one megabyte switch. Each has what was acknowledged before
/// it was begun, at most what was begun before it was complete, and only whole transactions.
#[test]
fn forks_under_load_have_whole_transactions_and_all_acknowledged_ones() {
    const FORKS: usize = 20;
    let db = Database::new("parent");
    db.start();
    run(&mut db.connect(), LOAD_TABLE);
    let load = Load::new(2);
    let mut forks = Vec::new();
    std::thread::scope(|scope| {
        (0..2).for_each(|w| {
            let (load, db) = (&load, &db);
            scope.spawn(move || load.work(db, w));
        });
        eventually("work is done", || load.total() > 100);
        for n in 0..FORKS {
            let copy = Database::new(&format!("fork{n}"));
            let before = load.counts();
            fork(&db, &copy);
            forks.push((copy, before, load.counts()));
            let there = load.total();
            eventually("work goes on", || load.total() > there + 20);
        }
        load.stop.store(true, Ordering::Relaxed);
    });
    for (copy, before, after) in forks {
        copy.start();
        let mut c = copy.connect();
        for w in 0..2 {
            let last = number(&mut c, &format!("select nvl(max(n), 0) from load where w = {w}"));
            assert!(
                (before[w]..=after[w] + 1).contains(&last),
                "worker {w}: {last} is the last row; {} were acknowledged before the fork, {} after it",
                before[w],
                after[w]
            );
            assert_whole(&mut c, w, last);
        }
        run(&mut c, &["insert into load values (9, 1, 'of the fork')", "commit"]);
        drop(c);
        copy.verify();
    }
    assert_kept(&mut db.connect(), &load.counts());
    db.verify();
}

#[test]
fn a_fork_of_a_closed_database_changes_nothing_in_it_and_has_an_id_of_its_own() {
    let (db, copy, again) = (Database::new("closed"), Database::new("closed-fork"), Database::new("closed-again"));
    db.start();
    let mut c = db.connect();
    run(&mut c, &["create table t (n number) tablespace users", "insert into t values (1)", "commit"]);
    let id = number(&mut c, "select dbid from v$database");
    run(&mut c, &["insert into t values (2)"]);
    drop(c);
    db.stop();
    let before = contents(db.path());
    fork(&db, &copy);
    assert_eq!(contents(db.path()), before);
    copy.start();
    let mut c = copy.connect();
    assert_eq!(rows(&mut c, "select n from t"), ["1"]);
    let its = number(&mut c, "select dbid from v$database");
    assert_ne!(its, id);
    run(&mut c, &["insert into t values (3)", "commit"]);
    // Of a fork that runs.
    fork(&copy, &again);
    run(&mut c, &["insert into t values (4)", "commit"]);
    drop(c);
    copy.verify();
    again.start();
    let mut c = again.connect();
    assert_eq!(rows(&mut c, "select n from t order by n"), ["1", "3"]);
    assert_ne!(number(&mut c, "select dbid from v$database"), its);
    assert_eq!(contents(db.path()), before);
    // A file of the parent does not pass for one of the fork.
    drop(c);
    again.stop();
    std::fs::copy(db.path().join("users01.dbf"), again.path().join("users01.dbf")).unwrap();
    again.start();
    let why = crate::common::error(&mut again.connect(), "select n from t");
    assert!(why.contains("ORA-01157") || why.contains("ORA-00376"), "{why}");
}

#[test]
fn a_crashed_database_is_not_forked() {
    let (db, copy) = (Database::new("crashed"), Database::new("crashed-fork"));
    db.start();
    db.kill();
    let (code, out) = db.program(&["fork", "--to", text(copy.path())]);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("ORA-01113") && out.contains("start it once to recover it"), "{out}");
    assert!(!copy.path().exists());
    db.start();
    fork(&db, &copy);
}

/// Everything a file of the copy could have in common with the parent.
#[test]
fn nothing_in_a_fork_leads_back_to_its_parent() {
    let (db, copy, outside) = (Database::new("own"), Database::new("own-fork"), Database::new("own-outside"));
    std::fs::create_dir_all(outside.path()).unwrap();
    std::fs::create_dir_all(db.path().join("sub")).unwrap();
    let place = outside.path().display().to_string();
    let init = format!("log_archive_dest_1 = 'LOCATION={place}'\nopen_cursors = 77\n");
    std::fs::write(db.path().join("init.ora"), init).unwrap();
    db.start();
    let mut c = db.connect();
    run(
        &mut c,
        &[
            "alter database archivelog",
            &format!("create tablespace far datafile '{place}/users01.dbf' size 1M"),
            &format!("create tablespace log datafile '{place}/redo01.log' size 1M"),
            "create tablespace quiet datafile 'sub/quiet01.dbf' size 1M",
            "create tablespace away datafile 'away01.dbf' size 1M",
            "create bigfile tablespace big datafile 'big01.dbf' size 1M autoextend on",
            "create table far_t (n number) tablespace far",
            "create table log_t (n number) tablespace log",
            "create table quiet_t (n number) tablespace quiet",
            "create table away_t (n number) tablespace away",
            "create table big_t (n number) tablespace big",
        ],
    );
    for t in ["far_t", "log_t", "quiet_t", "away_t", "big_t"] {
        run(&mut c, &[&format!("insert into {t} select level from dual connect by level <= 1000"), "commit"]);
    }
    run(&mut c, &["alter tablespace quiet read only", "alter tablespace away offline", "alter database begin backup"]);
    let (code, out) = db.program(&["fork", "--to", text(copy.path())]);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("users01.dbf' is '0"), "{out}");
    run(&mut c, &["alter database end backup", "update far_t set n = 0", "update big_t set n = 0", "commit"]);
    drop(c);
    let there = contents(outside.path());
    copy.start();
    let mut c = copy.connect();
    let names = rows(&mut c, "select name from v$datafile union all select member from v$logfile");
    assert!(names.iter().all(|name| !name.contains(&place) && !name.contains(text(db.path()))), "{names:?}");
    assert_eq!(rows(&mut c, "select log_mode from v$database"), ["NOARCHIVELOG"]);
    assert_eq!(rows(&mut c, "select count(*) from v$backup where status = 'ACTIVE'"), ["0"]);
    assert_eq!(rows(&mut c, "select count(*) from v$archived_log"), ["0"]);
    assert_eq!(number(&mut c, "select value from v$parameter where name = 'open_cursors'"), 77);
    run(&mut c, &["alter tablespace away online"]);
    for t in ["far_t", "log_t", "quiet_t", "away_t", "big_t"] {
        assert_eq!(number(&mut c, &format!("select sum(n) from {t}")), 500_500, "{t}");
    }
    run(&mut c, &["alter tablespace quiet read write", "update quiet_t set n = 1", "update far_t set n = 1", "commit"]);
    run(&mut c, &["alter database archivelog", "alter system switch logfile", "alter system archive log current"]);
    drop(c);
    copy.verify();
    assert_eq!(contents(outside.path()), there, "the fork writes none of the parent's files");
}

/// The directory of a fork is a new one, or that of an earlier fork that does not run.
#[test]
fn a_fork_replaces_nothing_but_a_stopped_fork() {
    let (db, copy) = (Database::new("target"), Database::new("target-fork"));
    db.start();
    std::fs::create_dir_all(copy.path()).unwrap();
    std::fs::write(copy.path().join("notes.txt"), "mine").unwrap();
    let attempt = |more: &[&str]| db.program(&[&["fork", "--to", text(copy.path())], more].concat());
    for more in [&[][..], &["--force"]] {
        let (code, out) = attempt(more);
        assert_eq!(code, 3, "{out}");
        assert_eq!(std::fs::read_to_string(copy.path().join("notes.txt")).unwrap(), "mine");
    }
    std::fs::remove_file(copy.path().join("notes.txt")).unwrap();
    assert_eq!(attempt(&[]).0, 0);
    let (code, out) = attempt(&[]);
    assert!(code == 3 && out.contains("--force"), "{code} {out}");
    copy.start();
    let (code, out) = attempt(&["--force"]);
    assert!(code == 3 && out.contains("in use"), "{code} {out}");
    copy.stop();
    let (code, out) = attempt(&["--force"]);
    assert_eq!(code, 0, "{out}");
    copy.start();
    // A database that is no fork.
    copy.stop();
    db.stop();
    let (code, out) = copy.program(&["fork", "--to", text(db.path()), "--force"]);
    assert!(code == 3 && out.contains("replaces forks only"), "{code} {out}");
    db.start();
    for to in [db.path().to_owned(), db.path().join("below"), db.path().join(".."), db.path().join("../././")] {
        let (code, out) = db.program(&["fork", "--to", text(&to), "--force"]);
        assert!(code == 3 && out.contains("belongs to the database"), "{code} {out}");
    }
}

/// DDL between the last look at the control file and the end of the redo is in the redo, and not in the control file.
#[test]
fn a_fork_begins_again_when_files_change_before_the_end_of_its_redo() {
    let db = Database::new("ddl");
    db.start();
    let mut c = db.connect();
    run(&mut c, &["create table t (n number)", "insert into t values (1)", "commit"]);
    let changes: [&[&str]; 4] = [
        &[
            "create tablespace late datafile 'late01.dbf' size 1M",
            "create table l (n number) tablespace late",
            "insert into l select level from dual connect by level <= 500",
            "commit",
        ],
        &["alter tablespace late add datafile 'late02.dbf' size 1M"],
        &["alter tablespace late rename to later"],
        &["drop tablespace later including contents and datafiles"],
    ];
    for (n, change) in changes.iter().enumerate() {
        let copy = Database::new(&format!("ddl-fork{n}"));
        let stop = db.path().join("crash_stop");
        std::fs::write(&stop, "").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_latchwork"));
        command.args(["fork", "--dir", text(db.path()), "--to", text(copy.path())]);
        let mut child =
            command.args(["--crash-point", "fork-control-compared:1:stop"]).stdout(Stdio::null()).spawn().unwrap();
        eventually("the fork stops", || !stop.exists());
        let stat = format!("/proc/{}/stat", child.id());
        eventually("it is stopped", || std::fs::read_to_string(&stat).unwrap().contains(") T "));
        run(&mut c, change);
        os::process::kill(child.id() as i32, os::signal::SIGCONT).unwrap();
        assert!(child.wait().unwrap().success());
        copy.start();
        let mut its = copy.connect();
        assert_eq!(
            rows(&mut its, "select name from v$tablespace order by 1"),
            rows(&mut c, "select name from v$tablespace order by 1"),
            "{change:?}"
        );
        assert_eq!(
            rows(&mut its, "select tablespace_name from dba_tablespaces order by 1"),
            rows(&mut c, "select tablespace_name from dba_tablespaces order by 1"),
            "{change:?}"
        );
        drop(its);
        copy.verify();
    }
    drop(c);
    db.verify();
}

/// An older copy of a data file, and a shorter one, do not pass for the file.
#[test]
fn a_fork_refuses_a_data_file_of_an_earlier_checkpoint() {
    let (db, copy) = (Database::new("older"), Database::new("older-fork"));
    db.start();
    run(&mut db.connect(), &["create table t (n number) tablespace users", "insert into t values (1)", "commit"]);
    db.stop();
    let (file, kept) = (db.path().join("users01.dbf"), db.path().join("kept"));
    std::fs::copy(&file, &kept).unwrap();
    db.start();
    run(&mut db.connect(), &["insert into t values (2)", "commit", "alter system switch logfile"]);
    db.stop();
    let newer = std::fs::read(&file).unwrap();
    let refused = |code: &str| {
        let (exit, out) = db.program(&["fork", "--to", text(copy.path())]);
        assert!(exit == 1 && out.contains(code) && out.contains("users01.dbf"), "{exit} {out}");
        assert!(!copy.path().exists());
    };
    std::fs::copy(&kept, &file).unwrap();
    refused("ORA-01113");
    std::fs::write(&file, &newer[..newer.len() / 2]).unwrap();
    refused("ORA-01200");
    std::fs::write(&file, &newer).unwrap();
    fork(&db, &copy);
    // Both copies of the control file of a stopped database count.
    std::fs::copy(copy.path().join("control"), db.path().join("control02")).unwrap();
    let (exit, out) = db.program(&["fork", "--to", text(copy.path()), "--force"]);
    assert!(exit == 1 && out.contains("ORA-00214"), "{exit} {out}");
    // The earlier fork is removed only when there is a database to copy.
    copy.start();
}

/// Files that a fork and its instance have not made stay, and a used fork without control files is no unfinished one.
#[test]
fn a_fork_is_replaced_without_files_of_others() {
    let (db, copy) = (Database::new("foreign"), Database::new("foreign-fork"));
    db.start();
    fork(&db, &copy);
    copy.start();
    copy.stop();
    std::fs::create_dir(copy.path().join("mine")).unwrap();
    std::fs::write(copy.path().join("mine/notes.txt"), "mine").unwrap();
    for name in ["control", "control02"] {
        std::fs::rename(copy.path().join(name), copy.path().join("mine").join(name)).unwrap();
    }
    let (code, out) = copy.try_start();
    assert!(code == 1 && out.contains("there is no control file"), "{code} {out}");
    let (code, out) = db.program(&["fork", "--to", text(copy.path())]);
    assert!(code == 3 && out.contains("--force"), "{code} {out}");
    let (code, out) = db.program(&["fork", "--to", text(copy.path()), "--force"]);
    assert_eq!(code, 0, "{out}");
    assert_eq!(std::fs::read_to_string(copy.path().join("mine/notes.txt")).unwrap(), "mine");
    copy.start();
    copy.verify();
}

/// Killed anywhere, a fork leaves its parent as it is and no database that is not whole.
#[test]
fn a_killed_fork_is_found_and_made_again() {
    let (db, copy) = (Database::new("killed"), Database::new("killed-fork"));
    db.start();
    let mut c = db.connect();
    run(&mut c, &["create table t (n number)", "insert into t values (1)", "commit"]);
    let points =
        ["fork-marked:1", "fork-file-copied:2", "fork-logs-copied:1", "control-written:1", "control-copy-renamed:1"];
    for point in points {
        let (code, out) = db.program(&["fork", "--to", text(copy.path()), "--crash-point", point]);
        assert_eq!(code, -1, "{point}: {out}");
        run(&mut c, &["insert into t values (2)", "commit"]);
        let (code, out) = copy.try_start();
        match code {
            // The second copy of the control file is whole: the start says how to go on with it.
            1 if point == "control-copy-renamed:1" => assert!(out.contains("its copy"), "{out}"),
            _ => assert!(code == 1 && out.contains("was not finished"), "{point}: {code} {out}"),
        }
        let force: &[&str] = if point == "control-copy-renamed:1" { &["--force"] } else { &[] };
        let (code, out) = db.program(&[&["fork", "--to", text(copy.path())], force].concat());
        assert_eq!(code, 0, "{point}: {out}");
        copy.start();
        let there = rows(&mut copy.connect(), "select count(*) from t");
        assert_eq!(there, rows(&mut c, "select count(*) from t"));
        copy.verify();
        std::fs::remove_dir_all(copy.path()).unwrap();
    }
    let (code, out) = db.program(&["fork", "--to", text(copy.path()), "--crash-point", "control-renamed:1"]);
    assert_eq!(code, -1, "{out}");
    copy.start();
    copy.verify();
    drop(c);
    db.verify();
}

/// No file may be longer than half a megabyte: the error is that of a full disk.
#[test]
fn a_fork_that_has_no_space_leaves_nothing() {
    let (db, copy) = (Database::new("space"), Database::new("space-fork"));
    db.start();
    let program = env!("CARGO_BIN_EXE_latchwork");
    let script = format!(
        "trap '' XFSZ; ulimit -f 512; exec {program} fork --dir {} --to {}",
        text(db.path()),
        text(copy.path())
    );
    let out = Command::new("bash").arg("-c").arg(script).output().expect("bash runs");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(1), "{said}");
    assert!(said.contains("ORA-19504") && said.contains("There is no copy"), "{said}");
    assert!(!copy.path().exists());
    db.verify();
}

#[test]
fn forks_at_once_are_separate_databases() {
    let db = Database::new("several");
    db.start();
    run(&mut db.connect(), &["create table t (n number)"]);
    for closed in [false, true] {
        if closed {
            db.stop();
        }
        let copies: Vec<Database> = (0..4).map(|n| Database::new(&format!("several{n}"))).collect();
        std::thread::scope(|scope| {
            copies.iter().for_each(|copy| {
                let db = &db;
                scope.spawn(move || {
                    fork(db, copy);
                    copy.start();
                });
            });
        });
        let mut ids: Vec<i64> =
            copies.iter().map(|copy| number(&mut copy.connect(), "select dbid from v$database")).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 4);
    }
}

#[test]
fn a_fork_in_memory_is_independent_of_its_parent() {
    let parent = Ephemeral::start_with(&options()).expect("the parent starts");
    let mut c = parent.connect(&Credentials::Sysdba).unwrap();
    run(&mut c, &["create table t (n number)", "insert into t values (1)", "commit write batch nowait"]);
    run(&mut c, &["insert into t values (2)"]);
    let copy = parent.fork().expect("the fork starts");
    let mut its = copy.connect(&Credentials::Sysdba).unwrap();
    assert_eq!(rows(&mut its, "select n from t"), ["1"], "the open transaction is not in the fork");
    run(&mut its, &["insert into t values (3)", "commit"]);
    run(&mut c, &["commit"]);
    assert_eq!(rows(&mut c, "select n from t order by n"), ["1", "2"]);
    let (dir, of_parent) = (copy.dir().to_owned(), parent.dir().to_owned());
    drop(c);
    drop(parent);
    assert!(!of_parent.exists());
    assert_eq!(rows(&mut its, "select n from t order by n"), ["1", "3"]);
    drop(copy);
    assert!(!dir.exists());
}

#[test]
fn every_test_gets_an_instance_of_a_template() {
    let prepare = |session: &mut Client| -> ClientResult<()> {
        session.execute("create table t (n number primary key)", &[])?;
        session.execute("insert into t select level from dual connect by level <= 100", &[])?;
        session.commit()
    };
    let template = Template::prepare(&options(), prepare).expect("the template");
    let dirs = std::thread::scope(|scope| {
        let tests: Vec<_> = (0..8)
            .map(|n| {
                let template = &template;
                scope.spawn(move || {
                    let instance = template.instance().expect("an instance");
                    let mut c = instance.connect(&Credentials::Sysdba).unwrap();
                    run(&mut c, &[&format!("delete from t where n <= {n}"), "commit"]);
                    assert_eq!(number(&mut c, "select count(*) from t"), 100 - n);
                    let dir = instance.dir().to_owned();
                    // A test that fails removes its instance, too.
                    let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
                        let _instance = instance;
                        if n % 2 == 0 {
                            std::panic::resume_unwind(Box::new("the test fails"));
                        }
                    }));
                    assert_eq!(failed.is_err(), n % 2 == 0);
                    dir
                })
            })
            .collect();
        tests.into_iter().map(|t| t.join().expect("the test ends")).collect::<Vec<_>>()
    });
    assert!(dirs.iter().all(|dir| !dir.exists()), "{dirs:?}");
}

/// A throw-away fork of a lasting database has its parameters, without its places.
#[test]
fn a_fork_in_memory_has_the_parameters_of_its_parent() {
    let db = Database::new("parameters");
    std::fs::create_dir_all(db.path()).unwrap();
    std::fs::write(db.path().join("init.ora"), "open_cursors = 77\nwallet_root = /nowhere\n").unwrap();
    db.start();
    let copy = Ephemeral::fork_of(db.path(), &options()).expect("the fork starts");
    let mut c = copy.connect(&Credentials::Sysdba).unwrap();
    assert_eq!(number(&mut c, "select value from v$parameter where name = 'open_cursors'"), 77);
    let mut options = options();
    options.params.push(("local_listener".into(), "127.0.0.1:0".into()));
    options.params.push(("utl_file_dir".into(), "/tmp".into()));
    let parent = Ephemeral::start_with(&options).expect("the parent starts");
    let copy = parent.fork().expect("the fork starts");
    let mut c = copy.connect(&Credentials::Sysdba).unwrap();
    let value = |c: &mut Client, name: &str| rows(c, &format!("select value from v$parameter where name = '{name}'"));
    assert_eq!(value(&mut c, "local_listener"), ["0"]);
    assert_ne!(value(&mut c, "utl_file_dir"), ["/tmp"]);
    assert_eq!(value(&mut c, "processes"), ["40"]);
}

/// The owner is gone before the copy is complete.
#[test]
fn a_fork_in_memory_without_an_owner_is_not_finished() {
    let (db, base) = (Database::new("ownerless"), Database::new("ownerless-base"));
    db.start();
    std::fs::create_dir_all(base.path()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_latchwork"));
    command.args(["fork", "--ephemeral", "--dir", text(db.path())]).env("XDG_RUNTIME_DIR", base.path());
    let out = command.stdin(Stdio::null()).output().expect("the program runs");
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(!out.status.success() && said.contains("ORA-01013"), "{said}");
    assert_eq!(contents(base.path()), BTreeMap::new());
}

#[test]
fn a_file_of_an_offline_tablespace_may_be_missing() {
    let (db, copy) = (Database::new("absent"), Database::new("absent-fork"));
    db.start();
    run(&mut db.connect(), &["create tablespace away datafile 'away01.dbf' size 1M", "alter tablespace away offline"]);
    std::fs::remove_file(db.path().join("away01.dbf")).unwrap();
    fork(&db, &copy);
    copy.start();
    run(&mut copy.connect(), &["create table t (n number)"]);
}

/// As another language uses it: the program prints the connect string, and ends with its standard input.
#[test]
fn the_program_forks_in_memory_until_its_input_ends() {
    let db = Database::new("program");
    db.start();
    run(&mut db.connect(), &["create user app identified by \"p\"", "grant create session to app"]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_latchwork"));
    command.args(["fork", "--ephemeral", "--param", "local_listener=0", "--dir", text(db.path())]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program runs");
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = || {
        let mut line = String::new();
        out.read_line(&mut line).expect("a line");
        line.trim_end().to_owned()
    };
    let (ready, connect) = (line(), line());
    let dir = PathBuf::from(ready.strip_prefix("ready ").unwrap_or_else(|| panic!("{ready} {connect}")));
    let string = connect.strip_prefix("connect ").unwrap_or_else(|| panic!("{connect}"));
    let shell = Command::new(env!("CARGO_BIN_EXE_latchwork"))
        .args(["sql", "-s", "-l", &format!("app/p@{string}")])
        .stdin(Stdio::null())
        .output()
        .expect("the shell runs");
    assert!(shell.status.success(), "{shell:?}");
    drop(child.stdin.take());
    child.wait().expect("it ends");
    eventually("its directory is removed", || !dir.exists());
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("the rest");
    assert_eq!(rest, "");
}
