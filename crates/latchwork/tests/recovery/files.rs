//! Files and tablespaces whose statement was interrupted, that are offline, or that were restored from a copy.

use crate::common::{Database, eventually, number, run};

const LISTED: &str = "select count(*) from dba_data_files where tablespace_name not in ('SYSTEM', 'UNDO', 'USERS')";

/// A database whose instance dies by `plan`.
fn doomed(name: &str, plan: &str) -> Database {
    let db = Database::new(name);
    let (code, text) =
        db.program(&["start", "--param", "_disk_sync=false", "--param", &format!("_crash_point={plan}")]);
    assert_eq!(code, 0, "{text}");
    let mut c = db.connect();
    run(
        &mut c,
        &[
            "create tablespace extra datafile 'extra01.dbf' size 256k, 'extra02.dbf' size 256k",
            "create table away tablespace extra as select level id from dual connect by level <= 100",
        ],
    );
    db
}

#[test]
fn a_tablespace_whose_drop_died_behind_its_commit_is_gone_at_the_next_start() {
    for (with_files, name) in [(true, "drop-files"), (false, "drop-leaves")] {
        let db = doomed(name, "files-going:1");
        let sql = if with_files { "including contents and datafiles" } else { "including contents" };
        let e = db.connect().execute(&format!("drop tablespace extra {sql}"), &[]).unwrap_err();
        assert!(e.is_fatal() || e.code() == 3113, "{e}");
        eventually("the instance is gone", || db.program(&["status"]).0 == 3);
        assert!(db.path().join("extra01.dbf").exists());
        db.start();
        let mut c = db.connect();
        assert_eq!(number(&mut c, "select count(*) from user_tables where table_name = 'AWAY'"), 0);
        assert_eq!(number(&mut c, LISTED), 0);
        assert_eq!(number(&mut c, "select count(*) from v$tablespace where name = 'EXTRA'"), 0);
        for file in ["extra01.dbf", "extra02.dbf"] {
            assert_eq!(db.path().join(file).exists(), !with_files, "{file}");
        }
        assert!(db.alert().contains("tablespace EXTRA"), "{}", db.alert());
        run(&mut c, &["create tablespace extra datafile 'extra01.dbf' size 256k reuse"]);
        assert_eq!(number(&mut c, LISTED), 1);
        drop(c);
        db.verify();
    }
}

#[test]
fn smon_finishes_the_drop_of_a_session_that_died() {
    let db = doomed("drop-smon", "files-going:2:child");
    let mut c = db.connect();
    run(
        &mut c,
        &["create tablespace other datafile 'other.dbf' size 256k", "drop tablespace other including contents"],
    );
    assert!(db.path().join("other.dbf").exists());
    let e = db.connect().execute("drop tablespace extra including contents and datafiles", &[]).unwrap_err();
    assert!(e.is_fatal() || e.code() == 3113, "{e}");
    eventually("SMON finishes it", || number(&mut c, LISTED) == 0);
    eventually("the file goes", || !db.path().join("extra02.dbf").exists());
    drop(c);
    db.verify();
}

#[test]
fn reuse_takes_a_data_file_and_no_file_that_the_database_or_a_user_needs() {
    let db = Database::new("reuse");
    db.start();
    let mut c = db.connect();
    run(&mut c, &["create table kept as select level id from dual connect by level <= 100"]);
    let folder = db.path().file_name().unwrap().to_string_lossy().into_owned();
    std::os::unix::fs::symlink(db.path().join("users01.dbf"), db.path().join("link.dbf")).unwrap();
    std::fs::write(db.path().join("notes.txt"), "a user's file").unwrap();
    std::fs::create_dir(db.path().join("folder.dbf")).unwrap();
    let own = ["control", "control02", "redo01.log", "redo02.log", "double_write", "latchwork.pid", "alert.log"];
    let own: Vec<String> = own.map(str::to_string).into_iter().filter(|name| db.path().join(name).exists()).collect();
    assert!(own.len() >= 6, "{own:?}");
    let more = [format!("../{folder}/users01.dbf"), "link.dbf".into(), "notes.txt".into(), "folder.dbf".into()];
    for name in own.iter().chain(&more) {
        let done = c.execute(&format!("create tablespace t2 datafile '{name}' size 256k reuse"), &[]);
        assert!(done.as_ref().is_err_and(|e| [1119, 1537].contains(&e.code())), "{name}: {done:?}");
        assert!(db.path().join(name).exists(), "{name}");
    }
    assert_eq!(std::fs::read_to_string(db.path().join("notes.txt")).unwrap(), "a user's file");
    run(
        &mut c,
        &[
            "create tablespace t2 datafile 'empty.dbf' size 256k reuse",
            "drop tablespace t2 including contents",
            "create tablespace t3 datafile 'empty.dbf' size 512k reuse",
            "alter system checkpoint",
        ],
    );
    db.stop();
    db.start();
    assert_eq!(number(&mut db.connect(), "select count(*) from kept"), 100);
    db.verify();
}
