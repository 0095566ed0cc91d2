//! Creating, switching and dropping undo tablespaces, interrupted at every step by the death of the instance or of the
//! session alone; and restores to moments in between.

use crate::backup::restored;
use crate::common::{Database, eventually, number, rows, run};
use client::Client;

/// The points of interruption, and the pass of the point that dies.
const STEPS: &[(&str, u32)] = &[
    ("file-drafted", 1),
    ("file-made", 1),
    ("undo-segment-made", 1),
    ("undo-segment-made", 9),
    ("undo-segment-made", 16),
    ("undo-tablespace-loaded", 1),
    ("ddl-done", 1),
    ("ddl-committed", 1),
    ("undo-switched", 1),
    ("ddl-done", 2),
    ("files-going", 1),
    ("undo-forgotten", 1),
    ("file-unlisted", 1),
];

const KNOWN: &str = "select tablespace_name from dba_tablespaces where contents = 'UNDO' order by 1";
const LISTED: &str = "select distinct tablespace_name from dba_rollback_segs order by 1";
const FILES: &str = "select distinct f.tablespace_name from dba_data_files f \
     where f.tablespace_name not in ('SYSTEM', 'USERS') order by 1";

/// Creates a new undo tablespace, switches to it and drops all others; returns whether it completed. `gone_over` is
/// called after the switch.
fn renew(c: &mut Client, name: &str, gone_over: &mut dyn FnMut()) -> bool {
    let mut runs = |sql: &str| match c.execute(sql, &[]) {
        Ok(_) => true,
        Err(e) => {
            assert!(e.is_fatal() || matches!(e.code(), 3113 | 1092), "{sql}: {e}");
            false
        }
    };
    if !runs(&format!("create undo tablespace {name} datafile '{name}.dbf' size 2m reuse autoextend on"))
        || !runs(&format!("alter system set undo_tablespace = {name}"))
    {
        return false;
    }
    gone_over();
    let old: Vec<String> = rows(c, KNOWN).into_iter().filter(|old| !old.eq_ignore_ascii_case(name)).collect();
    old.iter().all(|old| {
        let drop = format!("drop tablespace {old} including contents and datafiles");
        let done = c.execute(&drop, &[]);
        assert!(
            done.as_ref().err().is_none_or(|e| e.is_fatal() || matches!(e.code(), 3113 | 1092)),
            "{drop}: {done:?}"
        );
        done.is_ok()
    })
}

/// Nothing shows that a statement was interrupted.
fn assert_whole(c: &mut Client, committed: i64) {
    assert_eq!(rows(c, KNOWN), rows(c, FILES));
    assert_eq!(rows(c, KNOWN), rows(c, LISTED));
    assert_eq!(number(c, "select count(*) from t where v = 1"), committed);
    assert_eq!(number(c, "select count(*) from t where v = 2"), 0);
    assert_eq!(
        number(
            c,
            "select count(*) from v$parameter p, dba_tablespaces t where p.name = 'undo_tablespace' and t.tablespace_name = p.value"
        ),
        1
    );
}

#[test]
fn the_instance_may_die_at_any_step() {
    let db = Database::new("undo-instance");
    db.start();
    run(&mut db.connect(), &["create table t (n number primary key, v number)"]);
    db.stop();
    for (n, (point, pass)) in STEPS.iter().enumerate() {
        let plan = format!("_crash_point={point}:{pass}");
        let (code, text) = db.program(&["start", "--param", "_disk_sync=false", "--param", &plan]);
        assert_eq!(code, 0, "{text}");
        let (mut c, mut open) = (db.connect(), db.connect());
        run(
            &mut c,
            &[&format!("insert into t select {n} * 100 + level, 1 from dual connect by level <= 50"), "commit"],
        );
        let uncommitted = "update t set v = 2 where n > 0";
        run(&mut open, &[uncommitted]);
        let mut again = || run(&mut open, &["rollback", uncommitted]);
        assert!(!renew(&mut c, &format!("u{n}"), &mut again), "{point} {pass}");
        eventually("the instance is gone", || db.program(&["status"]).0 == 3);
        db.start();
        let mut c = db.connect();
        eventually("SMON has settled it", || rows(&mut c, KNOWN) == rows(&mut c, FILES));
        assert_whole(&mut c, 50 * (n as i64 + 1));
        assert!(renew(&mut c, &format!("w{n}"), &mut || {}), "{point} {pass}: all goes well behind it");
        assert_eq!(rows(&mut c, KNOWN), [format!("W{n}")]);
        assert_whole(&mut c, 50 * (n as i64 + 1));
        db.kill();
        db.start();
        assert_whole(&mut db.connect(), 50 * (n as i64 + 1));
        db.verify();
    }
}

/// Sessions with open transactions find all undo segments busy, and the instance dies while SMON makes more.
#[test]
fn the_instance_may_die_while_smon_makes_undo_segments() {
    let db = Database::new("undo-load");
    db.start();
    run(&mut db.connect(), &["create table t (n number primary key, v number)"]);
    db.stop();
    let segments = "select count(*) from dba_rollback_segs where segment_id > 0";
    let mut committed = 0;
    // Redo of what was named may have been in memory only.
    for (point, pass, named) in [("undo-segment-unnamed", 1, 16..=16), ("undo-segment-added", 2, 16..=18)] {
        let plan = format!("_crash_point={point}:{pass}");
        let (code, text) = db.program(&["start", "--param", "_disk_sync=false", "--param", &plan]);
        assert_eq!(code, 0, "{text}");
        let mut c = db.connect();
        run(
            &mut c,
            &[&format!("insert into t select {committed} + level, 1 from dual connect by level <= 50"), "commit"],
        );
        committed += 50;
        let _open = open_transactions(&db);
        eventually("the instance is gone", || db.program(&["status"]).0 == 3);
        db.start();
        let mut c = db.connect();
        let there = number(&mut c, segments);
        assert!(named.contains(&there), "{point}: {there} segments");
        assert_whole(&mut c, committed);
        assert_eq!(number(&mut c, "select count(*) from v$rollstat where status = 'ONLINE'"), 16);
        drop(c);
        db.verify();
    }
    db.start();
    let mut c = db.connect();
    let mut open = open_transactions(&db);
    eventually("SMON has made undo segments", || number(&mut c, segments) > 18);
    for c in &mut open {
        run(c, &["commit"]);
    }
    let there = number(&mut c, segments);
    db.kill();
    db.start();
    let mut c = db.connect();
    assert!(number(&mut c, segments) >= there, "commits behind them have brought them to disk");
    assert_eq!(number(&mut c, "select count(*) from t where v = 2"), 30);
    drop(c);
    db.verify();
}

/// Thirty sessions, each with a transaction. Those that come late may meet the end of the instance.
fn open_transactions(db: &Database) -> Vec<Client> {
    let begin = |n| {
        let mut c = db.connect();
        let _ = c.execute(&format!("insert into t values ({n} + 1000, 2)"), &[]);
        c
    };
    (0..30).map(begin).collect()
}

#[test]
fn the_session_may_die_at_any_step() {
    let db = Database::new("undo-session");
    db.start();
    run(&mut db.connect(), &["create table t (n number primary key, v number)"]);
    db.stop();
    for (n, (point, pass)) in STEPS.iter().enumerate() {
        // The second pass kills the session; the third, by SMON, kills nothing.
        let is_second = matches!(*point, "files-going" | "undo-forgotten" | "file-unlisted");
        let plan = format!("_crash_point={point}:{}:child", if is_second { 2 } else { *pass });
        let (code, text) = db.program(&["start", "--param", "_disk_sync=false", "--param", &plan]);
        assert_eq!(code, 0, "{text}");
        let mut c = db.connect();
        if is_second {
            run(
                &mut c,
                &[
                    "create undo tablespace x datafile 'x.dbf' size 2m",
                    "drop tablespace x including contents and datafiles",
                ],
            );
        }
        if n == 0 {
            run(&mut c, &["insert into t select level, 1 from dual connect by level <= 50", "commit"]);
        }
        run(&mut c, &["update t set v = 1", "commit"]);
        renew(&mut db.connect(), &format!("u{n}"), &mut || {});
        let whole = |c: &mut Client| rows(c, KNOWN) == rows(c, FILES) && rows(c, KNOWN) == rows(c, LISTED);
        eventually("SMON finishes it", || whole(&mut c));
        run(&mut c, &["update t set v = 2", "rollback"]);
        assert_whole(&mut c, 50);
        drop(c);
        db.verify();
    }
}

#[test]
fn a_restore_brings_back_the_undo_tablespaces_of_its_moment() {
    let (db, folder) = (Database::new("undo-went"), Database::new("undo-went-folder"));
    db.start();
    let (mut c, mut open) = (db.connect(), db.connect());
    let scn = |c: &mut Client| number(c, "select current_scn from v$database");
    run(&mut c, &["alter database archivelog", "create table t (n number primary key, v number)"]);
    run(&mut c, &["insert into t select level, 1 from dual connect by level <= 500", "commit"]);
    let (code, out) = db.program(&["backup", "--to", folder.path().to_str().unwrap()]);
    assert_eq!(code, 0, "{out}");
    run(&mut c, &["create undo tablespace u2 datafile 'u2.dbf' size 2m", "update t set v = 2 where n <= 100"]);
    run(&mut c, &["alter system set undo_tablespace = u2"]);
    run(&mut open, &["update t set v = 3 where n > 400"]);
    run(&mut c, &["update t set v = 2 where n <= 200", "commit"]);
    let both = scn(&mut c);
    run(&mut open, &["commit"]);
    run(&mut c, &["drop tablespace undo including contents and datafiles"]);
    let second = scn(&mut c);
    run(&mut c, &["create undo tablespace u3 datafile 'u3.dbf' size 2m", "alter system set undo_tablespace = u3"]);
    run(
        &mut c,
        &["update t set v = 4 where n <= 100", "commit", "drop tablespace u2 including contents and datafiles"],
    );
    drop((c, open));
    db.kill();
    let sum = "select sum(v) from t";
    for (until, undo, want) in
        [(Some(both), vec!["U2", "UNDO"], 700), (Some(second), vec!["U2"], 900), (None, vec!["U3"], 1100)]
    {
        let then = Database::new("undo-then");
        restored(&folder, &then, until);
        let mut c = then.connect();
        assert_eq!(rows(&mut c, KNOWN), undo);
        assert_eq!(rows(&mut c, LISTED), undo);
        assert_eq!(number(&mut c, sum), want, "{undo:?}");
        assert!(renew(&mut c, "again", &mut || {}));
        run(&mut c, &["update t set v = 7", "rollback"]);
        assert_eq!(number(&mut c, sum), want);
        drop(c);
        then.verify();
    }
}

/// The parameter file names the undo tablespace after a start, and a start refuses an unknown name.
#[test]
fn a_start_takes_the_one_that_is_named() {
    let db = Database::new("undo-named");
    db.start();
    let current = "select value from v$parameter where name = 'undo_tablespace'";
    let online = "select distinct tablespace_name from dba_rollback_segs where status = 'ONLINE'";
    let mut c = db.connect();
    run(&mut c, &["create undo tablespace u2 datafile 'u2.dbf' size 2m"]);
    run(&mut c, &["alter system set undo_tablespace = u2 scope = both", "create table t (n number)"]);
    run(&mut c, &["insert into t values (1)"]);
    db.kill();
    db.start();
    let mut c = db.connect();
    assert_eq!((rows(&mut c, current), rows(&mut c, online)), (vec!["U2".into()], vec!["U2".into()]));
    assert_eq!(number(&mut c, "select count(*) from t"), 0);
    // For this life of the instance only.
    run(&mut c, &["alter system set undo_tablespace = undo scope = memory", "insert into t values (2)", "commit"]);
    drop(c);
    db.stop();
    db.start();
    let mut c = db.connect();
    assert_eq!(rows(&mut c, online), ["U2"]);
    run(&mut c, &["alter system set undo_tablespace = undo scope = memory"]);
    run(&mut c, &["drop tablespace u2 including contents and datafiles"]);
    drop(c);
    db.stop();
    let (code, text) = db.try_start();
    assert!(code != 0 && text.contains("ORA-30012: undo tablespace 'U2' does not exist or of wrong type"), "{text}");
    let (code, text) = db.program(&["start", "--param", "undo_tablespace=undo"]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(number(&mut db.connect(), "select count(*) from t"), 1);
    db.verify();
}

/// A new database may use another name.
#[test]
fn a_new_database_has_the_name_that_is_given() {
    let db = Database::new("undo-new");
    let (code, text) = db.program(&["start", "--param", "_disk_sync=false", "--param", "undo_tablespace=undotbs1"]);
    assert_eq!(code, 0, "{text}");
    let mut c = db.connect();
    assert_eq!(rows(&mut c, KNOWN), ["UNDOTBS1"]);
    run(&mut c, &["create table t (n number)", "insert into t values (1)", "commit"]);
    drop(c);
    db.stop();
    db.start();
    assert_eq!(number(&mut db.connect(), "select count(*) from t"), 1);
    db.verify();
}
