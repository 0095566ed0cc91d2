//! Backups of a database under load, and restores from them.

use crate::common::{Database, LOAD_TABLE, Load, assert_kept, assert_whole, error, eventually, number, rows, run};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

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
        // A moment without any work, between two marks.
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
    // To the moment: exactly the commits before it.
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
    // It is a separate database, in a new incarnation.
    run(&mut c, &["insert into mark values (3)", "commit"]);
    drop(c);
    then.kill();
    then.start();
    assert_eq!(rows(&mut then.connect(), "select n from mark order by n"), ["1", "3"]);
    then.verify();
    // To the end, including the online logs of the dead instance: every acknowledged commit.
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
    // With the logs alone, the file added later is unknown.
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
    assert!(code == 1 && out.contains("ORA-01157") && out.contains("was added after the backup"), "{out}");
    // Refused: a moment before the copies are consistent, an existing database, a damaged backup.
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
            // Slowly, while the files change and checkpoints are made.
            run(&mut c, &["alter system switch logfile", "alter system checkpoint"]);
            std::fs::copy(db.path().join(file), copies.path().join(file)).unwrap();
        }
        run(&mut c, &["alter database end backup", "alter system switch logfile"]);
        let there = load.total();
        eventually("work goes on", || load.total() > there + 300);
        db.kill();
    });
    // One file was lost and is restored from the copy: the start detects it.
    std::fs::copy(copies.path().join("users01.dbf"), db.path().join("users01.dbf")).unwrap();
    std::fs::copy(copies.path().join("system01.dbf"), db.path().join("system01.dbf")).unwrap();
    db.start();
    assert!(db.alert().contains("is of an earlier checkpoint and needs media recovery"));
    assert_kept(&mut db.connect(), &load.counts());
    db.stop();
    // Again, with a database that was closed.
    std::fs::copy(copies.path().join("undo01.dbf"), db.path().join("undo01.dbf")).unwrap();
    db.start();
    assert_kept(&mut db.connect(), &load.counts());
    db.stop();
    // Without the logs in between it is refused, and the database is unchanged.
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

/// Restores to an SCN and starts the result.
pub fn restored(folder: &Database, to: &Database, scn: Option<i64>) {
    let scn = scn.map(|scn| scn.to_string());
    let mut args = vec!["restore", "--from", text(folder.path()), "--dir", text(to.path())];
    args.extend(scn.iter().flat_map(|scn| ["--until-scn", scn]));
    let (code, out) = latchwork(&args);
    assert_eq!(code, 0, "{out}");
    to.start();
}

#[test]
fn tablespaces_that_came_and_went_are_as_they_were_at_the_moment() {
    let (db, folder) = (Database::new("went"), Database::new("went-folder"));
    db.start();
    let mut c = db.connect();
    let scn = |c: &mut client::Client| number(c, "select current_scn from v$database");
    let made = |name: &str| {
        let file = format!("create tablespace {name} datafile '{name}.dbf' size 1M autoextend on");
        [
            file,
            format!("create table t_{name} tablespace {name} as select cast('{name}' as varchar2(300)) x from dual"),
            "commit".into(),
        ]
    };
    run(&mut c, &["alter database archivelog"]);
    for sql in made("one").iter().chain(&made("away")) {
        run(&mut c, &[sql]);
    }
    run(&mut c, &["alter tablespace away offline"]);
    let (code, out) = db.program(&["backup", "--to", text(folder.path())]);
    assert_eq!(code, 0, "{out}");
    // One tablespace is dropped, others take its place and numbers; an offline one is brought online and changed.
    run(&mut c, &["alter tablespace away online", "insert into t_away select * from t_away", "commit"]);
    run(&mut c, &["drop tablespace one including contents and datafiles"]);
    made("two").iter().for_each(|sql| run(&mut c, &[sql]));
    let with_two = scn(&mut c);
    run(&mut c, &["drop tablespace two including contents and datafiles"]);
    made("one").iter().for_each(|sql| run(&mut c, &[sql]));
    run(&mut c, &["insert into t_one select rpad('later', 300) from dual connect by level <= 5000", "commit"]);
    let with_one = scn(&mut c);
    drop(c);
    db.kill();
    let names =
        "select tablespace_name from dba_tablespaces where tablespace_name in ('ONE', 'TWO', 'AWAY') order by 1";
    let then = Database::new("went-then");
    restored(&folder, &then, Some(with_two));
    let mut c = then.connect();
    assert_eq!(rows(&mut c, names), ["AWAY", "TWO"]);
    assert_eq!(rows(&mut c, "select x from t_two"), ["two"]);
    assert_eq!(rows(&mut c, "select count(*) from dba_data_files"), ["5"]);
    run(&mut c, &["alter tablespace away online"]);
    assert_eq!(rows(&mut c, "select x from t_away"), ["away", "away"]);
    drop(c);
    then.verify();
    for until in [Some(with_one), None] {
        let now = Database::new("went-now");
        restored(&folder, &now, until);
        let mut c = now.connect();
        assert_eq!(rows(&mut c, names), ["AWAY", "ONE"]);
        assert_eq!(number(&mut c, "select count(*) from t_one"), 5001);
        if until.is_some() {
            run(&mut c, &["alter tablespace away online"]);
        }
        assert_eq!(rows(&mut c, "select x from t_away"), ["away", "away"]);
        drop(c);
        now.verify();
    }
}

#[test]
fn a_database_of_another_build_is_refused_with_both_versions() {
    let db = Database::new("versions");
    db.start();
    run(&mut db.connect(), &["create table t (n number)"]);
    db.stop();
    let path = db.path().join("control");
    let whole = std::fs::read_to_string(&path).unwrap();
    let body = &whole[..whole.find("checksum ").unwrap()];
    let dictionary = body.lines().find_map(|l| l.strip_prefix("dictionary ")).expect("its line");
    let own: u64 = dictionary.parse().unwrap();
    let version = body.lines().find_map(|l| l.strip_prefix("latchwork control file ")).expect("the first line");
    let version: u32 = version.parse().unwrap();
    let before = |path: &Path| std::fs::read(path).unwrap();
    let users = before(&db.path().join("users01.dbf"));
    let another = |other: u32| {
        let text = body.replacen(&format!("control file {version}"), &format!("control file {other}"), 1);
        (text, format!("version {other} incompatible with ORACLE version {version}"))
    };
    let others = [
        another(8),
        another(version + 1),
        (
            body.replacen(dictionary, "77", 1),
            format!(
                "version {version} (dictionary 000000000000004d) incompatible with ORACLE version {version} \
                 (dictionary {own:016x})"
            ),
        ),
    ];
    for (text, says) in others {
        std::fs::write(&path, datafile::ControlFile::with_checksum(&text)).unwrap();
        let changed = before(&path);
        for (code, out) in [db.try_start(), db.program(&["verify"])] {
            assert!(code != 0 && out.contains("ORA-00201") && out.contains(&says), "{out}");
        }
        assert!(before(&path) == changed && before(&db.path().join("users01.dbf")) == users, "nothing was changed");
    }
    // The version before is read, and the next change writes today's.
    let (text, _) = another(version - 1);
    std::fs::write(&path, datafile::ControlFile::with_checksum(&text)).unwrap();
    db.start();
    assert_eq!(number(&mut db.connect(), "select count(*) from t"), 0);
    assert!(std::fs::read_to_string(&path).unwrap().starts_with(&format!("latchwork control file {version}\n")));
}

#[test]
fn files_that_come_and_go_while_a_database_is_copied_do_not_end_the_backup() {
    let db = Database::new("passing");
    db.start();
    let mut c = db.connect();
    run(
        &mut c,
        &["alter database archivelog", "create table kept (n number)", "insert into kept values (1)", "commit"],
    );
    let over = AtomicBool::new(false);
    let places = "datafile 'passing1.dbf' size 1M reuse, 'passing2.dbf' size 1M reuse";
    let folders: Vec<Database> = (0..8).map(|n| Database::new(&format!("passing_copy{n}"))).collect();
    std::thread::scope(|scope| {
        let changer = scope.spawn(|| {
            let mut other = db.connect();
            while !over.load(Ordering::Relaxed) {
                for drop in [
                    "drop tablespace passing including contents",
                    "drop tablespace passing including contents and datafiles",
                ] {
                    run(&mut other, &[&format!("create tablespace passing {places}")]);
                    run(&mut other, &["create table inside (n number) tablespace passing"]);
                    run(&mut other, &["alter tablespace passing drop datafile 'passing2.dbf'"]);
                    run(&mut other, &[drop]);
                }
            }
        });
        for folder in &folders {
            let (code, out) = db.program(&["backup", "--to", text(folder.path())]);
            over.store(code != 0, Ordering::Relaxed);
            assert_eq!(code, 0, "{out}");
        }
        over.store(true, Ordering::Relaxed);
        changer.join().unwrap();
    });
    for (n, folder) in folders.iter().enumerate().step_by(3) {
        let restored = Database::new(&format!("passing_restored{n}"));
        let (code, out) = latchwork(&["restore", "--from", text(folder.path()), "--dir", text(restored.path())]);
        assert_eq!(code, 0, "{out}");
        restored.start();
        let mut c = restored.connect();
        assert_eq!(number(&mut c, "select count(*) from kept"), 1);
        drop(c);
        restored.verify();
    }
}
