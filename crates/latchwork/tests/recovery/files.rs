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

/// The points in a statement that makes files, before its commit.
const MAKING: &[&str] =
    &["file-noted:1", "file-allocated:1", "file-allocated:2", "file-made:1", "file-listed:1", "ddl-done:1"];

fn start_doomed(db: &Database, plan: &str) {
    let _ = std::fs::remove_file(db.path().join("crash_calm"));
    let (code, text) =
        db.program(&["start", "--param", "_disk_sync=false", "--param", &format!("_crash_point={plan}")]);
    assert_eq!(code, 0, "{text}");
}

fn dies(db: &Database, sql: &str) {
    let e = db.connect().execute(sql, &[]).expect_err(sql);
    assert!(e.is_fatal() || e.code() == 3113, "{sql}: {e}");
}

const FILES: [&str; 2] = ["extra01.dbf", "extra02.dbf"];
const EXTRA: &str = "create tablespace extra datafile 'extra01.dbf' size 256k, 'extra02.dbf' size 256k";

/// Wherever the session or the instance dies in CREATE TABLESPACE, the same statement makes the tablespace afterwards,
/// without REUSE. A start deletes the files of the dead statement, and says so.
#[test]
fn a_tablespace_whose_creation_died_can_be_made_again() {
    let db = Database::new("making");
    db.start();
    db.stop();
    for point in MAKING {
        for plan in [format!("{point}:child"), (*point).to_string()] {
            let told = db.alert().matches("extra0").count();
            start_doomed(&db, &plan);
            dies(&db, EXTRA);
            if !plan.ends_with("child") {
                eventually("the instance is gone", || db.program(&["status"]).0 == 3);
                let left = FILES.iter().filter(|file| db.path().join(file).exists()).count();
                db.start();
                assert!(FILES.iter().all(|file| !db.path().join(file).exists()), "{plan}");
                let alert = db.alert();
                let says = alert.matches("extra0").count() > told || alert.contains("tablespace EXTRA, which");
                assert!(left == 0 || says, "{plan}: {alert}");
            }
            let mut c = db.connect();
            std::fs::write(db.path().join("crash_calm"), "").unwrap();
            run(
                &mut c,
                &[EXTRA, "create table away (id number) tablespace extra", "insert into away values (1)", "commit"],
            );
            assert_eq!(number(&mut c, LISTED), 2, "{plan}");
            assert!(!db.path().join("files_in_making").exists(), "{plan}");
            // The files of a finished tablespace stay when the tablespace is dropped without them.
            run(&mut c, &["drop tablespace extra including contents"]);
            for file in FILES {
                std::fs::remove_file(db.path().join(file)).unwrap_or_else(|e| panic!("{plan}: {file} stays: {e}"));
            }
            drop(c);
            db.stop();
        }
    }
    db.start();
    db.verify();
}

/// A file that somebody puts where the dead statement was making one is no unfinished file.
#[test]
fn a_file_of_somebody_else_is_not_deleted() {
    let db = Database::new("making-other");
    db.start();
    db.stop();
    start_doomed(&db, "file-made:1");
    dies(&db, EXTRA);
    eventually("the instance is gone", || db.program(&["status"]).0 == 3);
    std::fs::write(db.path().join(FILES[0]), "precious").unwrap();
    db.start();
    assert_eq!(std::fs::read_to_string(db.path().join(FILES[0])).unwrap(), "precious");
    assert!(!db.path().join(FILES[1]).exists());
    assert!(
        db.alert().contains("extra01.dbf, which a statement did not finish making, is another file"),
        "{}",
        db.alert()
    );
    assert_eq!(db.connect().execute(EXTRA, &[]).unwrap_err().code(), 1119);
    assert_eq!(std::fs::read_to_string(db.path().join(FILES[0])).unwrap(), "precious");
    db.stop();
}

/// A file that is added to a tablespace belongs to it from the moment when the control file lists it.
#[test]
fn an_added_file_is_listed_or_gone() {
    let db = Database::new("making-added");
    db.start();
    run(&mut db.connect(), &["create tablespace extra datafile 'extra01.dbf' size 256k"]);
    db.stop();
    for point in ["file-allocated:1", "file-made:1", "file-listed:1"] {
        start_doomed(&db, point);
        let add = "alter tablespace extra add datafile 'extra02.dbf' size 256k";
        dies(&db, add);
        eventually("the instance is gone", || db.program(&["status"]).0 == 3);
        db.start();
        let mut c = db.connect();
        let listed = number(&mut c, LISTED);
        assert_eq!(listed, 1 + i64::from(point == "file-listed:1"), "{point}");
        assert_eq!(db.path().join("extra02.dbf").exists(), listed == 2, "{point}");
        if listed == 1 {
            run(&mut c, &[add]);
        }
        assert_eq!(number(&mut c, LISTED), 2);
        run(&mut c, &["alter tablespace extra drop datafile 'extra02.dbf'"]);
        assert!(!db.path().join("extra02.dbf").exists());
        drop(c);
        db.stop();
    }
    db.start();
    db.verify();
}
