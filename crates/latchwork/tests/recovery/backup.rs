//! Backups of a database that is written to, and what can be made of them.

use crate::common::{Database, LOAD_TABLE, Load, assert_kept, assert_whole, error, eventually, number, rows, run};
use std::path::Path;
use std::sync::atomic::Ordering;

fn latchwork(args: &[&str]) -> (i32, String) {
    let out =
        std::process::Command::new(env!("CARGO_BIN_EXE_latchwork")).args(args).output().expect("the program runs");
    let text = [out.stdout, out.stderr].concat();
    (out.status.code().unwrap_or(-1), String::from_utf8_lossy(&text).into_owned())
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

#[test]
fn a_backup_under_load_is_restored_to_a_moment_and_to_the_end() {
    let (db, folder) = (Database::new("source"), Database::new("folder"));
    db.start();
    let mut c = db.connect();
    run(&mut c, LOAD_TABLE);
    run(&mut c, &["create table mark (n number)"]);
    let (code, out) = db.program(&["backup", "--to", text(folder.path())]);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("ORA-01123"), "{out}");
    run(&mut c, &["alter database archivelog"]);
    assert_eq!(rows(&mut c, "select log_mode from v$database"), ["ARCHIVELOG"]);
    let load = Load::new(3);
    let (mut at_mark, mut scn) = (Vec::new(), 0);
    std::thread::scope(|scope| {
        let load = &load;
        let workers: Vec<_> = (0..3)
            .map(|w| {
                scope.spawn({
                    let db = &db;
                    move || load.work(db, w)
                })
            })
            .collect();
        eventually("work is done", || load.total() > 200);
        let (code, out) = db.program(&["backup", "--to", text(folder.path())]);
        assert_eq!(code, 0, "{out}");
        assert_eq!(rows(&mut c, "select distinct status from v$backup"), ["NOT ACTIVE"]);
        let there = load.total();
        eventually("more work is done", || load.total() > there + 300);
        // A moment when nothing is under way, between two marks.
        load.stop.store(true, Ordering::Relaxed);
        workers.into_iter().for_each(|w| w.join().unwrap());
        run(&mut c, &["insert into mark values (1)", "commit"]);
        scn = number(&mut c, "select current_scn from v$database");
        at_mark = load.counts();
        run(
            &mut c,
            &["insert into mark values (2)", "commit", "create tablespace later datafile 'later01.dbf' size 1M"],
        );
        run(&mut c, &["create table far (n number) tablespace later", "insert into far values (7)", "commit"]);
        load.stop.store(false, Ordering::Relaxed);
        (0..3).for_each(|w| {
            drop(scope.spawn({
                let db = &db;
                move || load.work(db, w)
            }))
        });
        eventually("work goes on", || load.total() > there + 900);
        db.kill();
    });
    // To the moment: exactly what was committed before it.
    let then = Database::new("then");
    let (code, out) = latchwork(&[
        "restore",
        "--from",
        text(folder.path()),
        "--dir",
        text(then.path()),
        "--until-scn",
        &scn.to_string(),
    ]);
    assert_eq!(code, 0, "{out}");
    then.start();
    let mut c = then.connect();
    assert_eq!(rows(&mut c, "select n from mark"), ["1"]);
    assert_eq!(rows(&mut c, "select name from v$datafile where name like '%later%'"), Vec::<String>::new());
    assert!(!then.path().join("later01.dbf").exists());
    for (w, n) in at_mark.iter().enumerate() {
        assert_eq!(number(&mut c, &format!("select max(n) from load where w = {w}")), *n);
        assert_whole(&mut c, w, *n);
    }
    // It is a database of its own, in its next life.
    run(&mut c, &["insert into mark values (3)", "commit"]);
    drop(c);
    then.kill();
    then.start();
    assert_eq!(rows(&mut then.connect(), "select n from mark order by n"), ["1", "3"]);
    then.verify();
    // To the end, online logs of the dead instance included: everything acknowledged.
    let end = Database::new("end");
    let (code, out) = latchwork(&["restore", "--from", text(folder.path()), "--dir", text(end.path())]);
    assert_eq!(code, 0, "{out}");
    end.start();
    let mut c = end.connect();
    assert_eq!(rows(&mut c, "select n from mark order by n"), ["1", "2"]);
    assert_eq!(rows(&mut c, "select n from far"), ["7"]);
    assert_kept(&mut c, &load.counts());
    drop(c);
    end.verify();
    // With the logs alone nobody knows what the file was that came later.
    let alone = Database::new("alone");
    std::fs::create_dir_all(alone.path()).unwrap();
    for entry in std::fs::read_dir(db.path()).unwrap().chain(std::fs::read_dir(db.path().join("archive")).unwrap()) {
        let from = entry.unwrap().path();
        if from
            .extension()
            .is_some_and(|e| e == "arc" || from.file_name().unwrap().to_string_lossy().starts_with("redo"))
        {
            std::fs::copy(&from, alone.path().join(from.file_name().unwrap())).unwrap();
        }
    }
    let nowhere = Database::new("nowhere");
    let args = ["restore", "--from", text(folder.path()), "--dir", text(nowhere.path()), "--redo", text(alone.path())];
    let (code, out) = latchwork(&args);
    assert!(code == 1 && out.contains("ORA-01157") && out.contains("was added behind the backup"), "{out}");
    // Not to before the copies are of one moment, not over a database, not from a damaged backup.
    let early = Database::new("early");
    let args = ["restore", "--from", text(folder.path()), "--dir", text(early.path()), "--until-scn", "2"];
    let (code, out) = latchwork(&args);
    assert!(code == 1 && out.contains("ORA-01194"), "{out}");
    assert!(!early.path().exists(), "what was begun is taken back");
    let (code, out) = latchwork(&["restore", "--from", text(folder.path()), "--dir", text(end.path())]);
    assert!(code == 1 && out.contains("ORA-19504"), "{out}");
    let piece = std::fs::read_dir(folder.path().join("files")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&piece).unwrap();
    bytes[100_000] ^= 1;
    std::fs::write(&piece, bytes).unwrap();
    let (code, out) = latchwork(&["restore", "--from", text(folder.path()), "--dir", text(early.path())]);
    assert!(code == 1 && out.contains("ORA-19870"), "{out}");
}

#[test]
fn files_copied_in_backup_mode_are_put_back_and_rolled_forward() {
    let db = Database::new("copy");
    db.start();
    let mut c = db.connect();
    run(&mut c, LOAD_TABLE);
    assert!(error(&mut c, "alter database begin backup").contains("ORA-01123"));
    run(&mut c, &["alter database archivelog"]);
    assert!(error(&mut c, "alter database end backup").contains("ORA-01142"));
    let copies = Database::new("copies");
    std::fs::create_dir_all(copies.path()).unwrap();
    let load = Load::new(2);
    std::thread::scope(|scope| {
        let load = &load;
        (0..2).for_each(|w| {
            drop(scope.spawn({
                let db = &db;
                move || load.work(db, w)
            }))
        });
        eventually("work is done", || load.total() > 150);
        run(&mut c, &["alter database begin backup"]);
        assert!(error(&mut c, "alter database begin backup").contains("ORA-01146"));
        assert_eq!(number(&mut c, "select count(*) from v$backup where status = 'ACTIVE' and change# > 0"), 3);
        for file in ["system01.dbf", "undo01.dbf", "users01.dbf"] {
            // Slowly, while the files change and checkpoints go on.
            run(&mut c, &["alter system switch logfile", "alter system checkpoint"]);
            std::fs::copy(db.path().join(file), copies.path().join(file)).unwrap();
        }
        run(&mut c, &["alter database end backup", "alter system switch logfile"]);
        let there = load.total();
        eventually("work goes on", || load.total() > there + 300);
        db.kill();
    });
    // One file was lost, and is put back from the copy: the start finds out by itself.
    std::fs::copy(copies.path().join("users01.dbf"), db.path().join("users01.dbf")).unwrap();
    std::fs::copy(copies.path().join("system01.dbf"), db.path().join("system01.dbf")).unwrap();
    db.start();
    assert!(db.alert().contains("is of an earlier checkpoint and needs media recovery"));
    assert_kept(&mut db.connect(), &load.counts());
    db.stop();
    // The same once more, from a database that was closed.
    std::fs::copy(copies.path().join("undo01.dbf"), db.path().join("undo01.dbf")).unwrap();
    db.start();
    assert_kept(&mut db.connect(), &load.counts());
    db.stop();
    // Without the logs in between it is refused, and the database is as it was.
    let hidden = db.path().join("hidden");
    let kept = std::fs::read(db.path().join("users01.dbf")).unwrap();
    std::fs::rename(db.path().join("archive"), &hidden).unwrap();
    std::fs::copy(copies.path().join("users01.dbf"), db.path().join("users01.dbf")).unwrap();
    let (code, out) = db.try_start();
    assert!(code != 0 && out.contains("ORA-01113") && out.contains("users01.dbf"), "{out}");
    std::fs::write(db.path().join("users01.dbf"), kept).unwrap();
    db.start();
    assert_kept(&mut db.connect(), &load.counts());
    db.verify();
}

#[test]
fn a_crash_in_backup_mode_ends_it_and_a_closed_database_is_backed_up_whole() {
    let db = Database::new("mode");
    db.start();
    let mut c = db.connect();
    run(&mut c, &["alter database archivelog", "create table t (n number)", "alter database begin backup"]);
    run(
        &mut c,
        &["insert into t select level from dual connect by level <= 1000", "commit", "alter system checkpoint"],
    );
    db.kill();
    let (code, out) = db.program(&["backup", "--to", "/nowhere"]);
    assert!(code == 1 && out.contains("ORA-01113"), "{out}");
    db.start();
    let mut c = db.connect();
    assert_eq!(number(&mut c, "select count(*) from t"), 1000);
    assert_eq!(rows(&mut c, "select distinct status from v$backup"), ["NOT ACTIVE"]);
    run(&mut c, &["alter database begin backup"]);
    drop(c);
    db.stop();
    db.start();
    let mut c = db.connect();
    run(&mut c, &["alter tablespace users begin backup"]);
    assert_eq!(rows(&mut c, "select file# from v$backup where status = 'ACTIVE'"), ["3"]);
    assert!(error(&mut c, "alter tablespace system end backup").contains("ORA-01142"));
    run(&mut c, &["alter tablespace users end backup", "alter database noarchivelog"]);
    drop(c);
    db.stop();
    let (folder, copy) = (Database::new("cold"), Database::new("cold-copy"));
    let (code, out) = db.program(&["backup", "--to", text(folder.path())]);
    assert_eq!(code, 0, "{out}");
    let (code, out) =
        latchwork(&["restore", "--from", text(folder.path()), "--dir", text(copy.path()), "--redo", "/nowhere"]);
    assert_eq!(code, 0, "{out}");
    copy.start();
    assert_eq!(number(&mut copy.connect(), "select count(*) from t"), 1000);
    copy.verify();
}
