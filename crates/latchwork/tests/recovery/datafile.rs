//! Single data files that go offline: the effects, and bringing them online again.

use crate::common::{Database, error, eventually, number, rows, run, try_rows};
use client::Client;
use std::path::PathBuf;

/// The place for a copy of a file.
fn aside(db: &Database, file: &str) -> PathBuf {
    db.path().join(format!("{file}.copy"))
}

/// The user's backup of a file: by `cp`, while the database is open.
fn copy_aside(db: &Database, c: &mut Client, tablespace: &str, file: &str) {
    run(c, &[&format!("alter tablespace {tablespace} begin backup")]);
    std::fs::copy(db.path().join(file), aside(db, file)).unwrap();
    run(c, &[&format!("alter tablespace {tablespace} end backup")]);
}

fn put_back(db: &Database, file: &str) {
    std::fs::copy(aside(db, file), db.path().join(file)).unwrap();
}

fn lose(db: &Database, file: &str) {
    std::fs::remove_file(db.path().join(file)).unwrap();
}

const FAR: &[&str] = &[
    "alter database archivelog",
    "create tablespace more datafile 'far.dbf' size 1M autoextend on",
    "create table far (n number primary key using index tablespace more, v varchar2(300)) tablespace more",
    "create table near (n number primary key, v varchar2(300)) tablespace users",
    "insert into far select level, rpad('f', 200, 'f') from dual connect by level <= 1000",
    "insert into near select level, rpad('n', 200, 'n') from dual connect by level <= 1000",
    "commit",
];

const OFFLINE: &str = "alter database datafile 'far.dbf' offline";
const ONLINE: &str = "alter database datafile 'far.dbf' online";
const RECOVER: &str = "alter database recover datafile 'far.dbf'";
const COUNT: &str = "select /*+ full(far) */ count(v) from far";
const STATUS: &str = "select status from v$datafile where name like '%far.dbf'";

fn far(name: &str) -> (Database, Client) {
    let db = Database::new(name);
    db.start();
    let mut c = db.connect();
    run(&mut c, FAR);
    (db, c)
}

/// Brings an offline file online. A checkpoint just before it went offline may have left nothing to recover.
fn bring_back(c: &mut Client) {
    if let Err(e) = try_rows(c, RECOVER) {
        assert!(e.to_string().contains("ORA-00264"), "{e}");
    }
    run(c, &[ONLINE]);
}

/// Changes that extend over several logs.
fn more(c: &mut Client, rounds: u32) {
    for n in 0..rounds {
        run(
            c,
            &[
                &format!(
                    "insert into far select {} + level, rpad('m', 200, 'm') from dual connect by level <= 100",
                    2000 + n * 100
                ),
                "update near set v = v",
                "commit",
                "alter system switch logfile",
            ],
        );
    }
}

#[test]
fn a_file_goes_offline_is_restored_recovered_and_comes_back() {
    let (db, mut c) = far("file-back");
    copy_aside(&db, &mut c, "more", "far.dbf");
    more(&mut c, 6);
    assert_eq!(rows(&mut c, STATUS), ["ONLINE"]);
    run(&mut c, &["insert into far values (0, 'first')"]);
    loop {
        run(&mut c, &["update far set v = 'last' where n = 0", "commit", OFFLINE, OFFLINE]);
        // A checkpoint in between would have left nothing to recover.
        if rows(&mut c, STATUS) == ["RECOVER"] {
            break;
        }
        run(&mut c, &[ONLINE]);
    }
    assert_eq!(rows(&mut c, "select online_status from dba_data_files where file_name like '%far.dbf'"), ["RECOVER"]);
    assert_eq!(rows(&mut c, "select online_status, error, sign(change#) from v$recover_file"), ["OFFLINE||1"]);
    assert_eq!(
        rows(&mut c, "select status, error, recover from v$datafile_header where tablespace_name = 'MORE'"),
        ["OFFLINE||YES"]
    );
    // Its contents are unavailable, everything else is available.
    for sql in [COUNT, "insert into far values (-1, 'x')", "update far set v = v where n = 3"] {
        let e = error(&mut c, sql);
        assert!(e.contains("ORA-00376") && e.contains("ORA-01110") && e.contains("far.dbf"), "{sql}: {e}");
    }
    assert!(error(&mut c, "create table far2 (n number) tablespace more").contains("ORA-00376"));
    run(&mut c, &["update near set v = v || '!'", "commit", "alter system checkpoint", "alter system switch logfile"]);
    assert_eq!(number(&mut c, "select count(*) from dba_segments where tablespace_name = 'MORE'"), 0);
    // It lacks redo, whichever copy it is.
    let e = error(&mut c, ONLINE);
    assert!(e.contains("ORA-01113") && e.contains("ORA-01110"), "{e}");
    lose(&db, "far.dbf");
    assert_eq!(rows(&mut c, "select error from v$recover_file"), ["FILE NOT FOUND"]);
    for sql in [ONLINE, RECOVER] {
        assert!(error(&mut c, sql).contains("ORA-01157"), "{sql}");
    }
    put_back(&db, "far.dbf");
    assert!(error(&mut c, ONLINE).contains("ORA-01113"));
    run(&mut c, &[RECOVER]);
    assert_eq!(rows(&mut c, STATUS), ["OFFLINE"]);
    let e = error(&mut c, RECOVER);
    assert!(e.contains("ORA-00283") && e.contains("ORA-00264"), "{e}");
    run(&mut c, &[ONLINE, ONLINE]);
    assert_eq!(rows(&mut c, STATUS), ["ONLINE"]);
    assert_eq!(number(&mut c, COUNT), 1601);
    assert_eq!(number(&mut c, "select /*+ index(far) */ count(*) from far where n > -10"), 1601);
    let e = error(&mut c, RECOVER);
    assert!(e.contains("ORA-00283") && e.contains("ORA-01124") && e.contains("ORA-01110"), "{e}");
    // It takes part in checkpoints again.
    run(&mut c, &["insert into far select -n, v from far where n > 0", "commit"]);
    db.kill();
    db.start();
    let mut c = db.connect();
    assert_eq!(number(&mut c, COUNT), 3201);
    assert_eq!(number(&mut c, "select count(*) from near where v like '%!'"), 1000);
    drop(c);
    db.verify();
}

#[test]
fn files_that_must_not_go_offline_do_not() {
    let db = Database::new("file-refused");
    db.start();
    let mut c = db.connect();
    run(
        &mut c,
        &["create tablespace more datafile 'far.dbf' size 1M", "create table far (n number, v number) tablespace more"],
    );
    for (sql, says) in [
        ("alter database datafile 1 offline", "ORA-01541"),
        ("alter database datafile 'undo01.dbf' offline", "ORA-30042"),
        (OFFLINE, "ORA-01145"),
        ("alter database datafile 77 offline", "ORA-01516"),
        ("alter database datafile 'far.dbf' offline now", "ORA-02231"),
        ("alter database recover datafile 77", "ORA-01179"),
        ("alter database recover tablespace nowhere", "ORA-00959"),
        ("alter database recover database", "ORA-01124"),
        ("alter database rename file 'far.dbf' to 'other.dbf'", "ORA-01121"),
        ("alter database rename file 'far.dbf' to 'a.dbf', 'b.dbf'", "ORA-01511"),
        ("alter database create datafile 'far.dbf'", "ORA-01182"),
    ] {
        let e = error(&mut c, sql);
        assert!(e.contains(says), "{sql}: {e}");
    }
    // Without archived logs the online logs suffice, as far as they reach back.
    run(&mut c, &["insert into far values (1, 1)", "commit", "alter database datafile 'far.dbf' offline for drop"]);
    let e = error(&mut c, "alter tablespace more offline");
    assert!(e.contains("ORA-01191") && e.contains("far.dbf"), "{e}");
    run(&mut c, &["alter database recover tablespace more", ONLINE]);
    assert_eq!(number(&mut c, COUNT), 1);
    // Temporary files are brought online as they are.
    run(&mut c, &["alter database tempfile 'temp01.dbf' offline"]);
    assert_eq!(rows(&mut c, "select status from v$tempfile"), ["OFFLINE"]);
    run(&mut c, &["alter database tempfile 'temp01.dbf' online"]);
    assert_eq!(rows(&mut c, "select status from v$tempfile"), ["ONLINE"]);
    // A file that is given up is removed with its tablespace.
    run(&mut c, &["alter database datafile 'far.dbf' offline drop"]);
    lose(&db, "far.dbf");
    run(&mut c, &["drop tablespace more including contents and datafiles"]);
    assert_eq!(number(&mut c, "select count(*) from v$recover_file"), 0);
    assert!(error(&mut c, COUNT).contains("ORA-00942"));
    drop(c);
    db.verify();
}

/// Sessions with changes in a file that goes offline: one rolls back, one commits, one dies, one fails in the middle of
/// a statement. Their changes in other files end at once, the rest when the file is online again.
#[test]
fn transactions_end_at_once_and_their_part_of_the_file_when_it_is_back() {
    let (db, mut c) = far("file-transactions");
    let mut sessions: Vec<Client> = (0..4).map(|_| db.connect()).collect();
    for (at, s) in sessions.iter_mut().enumerate() {
        let (low, high) = (at * 100 + 1, at * 100 + 100);
        run(
            s,
            &[
                &format!("update far set v = 'changed' where n between {low} and {high}"),
                &format!("update near set v = 'changed' where n between {low} and {high}"),
                &format!("insert into far select {high} * 1000 + level, 'new' from dual connect by level <= 50"),
                &format!("delete from near where n = {low}"),
            ],
        );
    }
    run(&mut c, &["alter system checkpoint", "insert into far values (-5, 'between')", "commit", OFFLINE]);
    let mut sessions = sessions.into_iter();
    let [mut back, mut committed, died, mut failed] = std::array::from_fn(|_| sessions.next().unwrap());
    run(&mut back, &["rollback"]);
    run(&mut committed, &["commit"]);
    drop(died);
    // A statement that cannot be undone alone rolls back its whole transaction.
    let e = error(&mut failed, "insert into near select n + 5000, v from far");
    assert!(e.contains("ORA-00376"), "{e}");
    run(&mut failed, &["savepoint a"]);
    run(&mut failed, &["rollback to a", "rollback"]);
    // Their rows of the other table are unlocked, and unchanged.
    let free = "select count(*) from near where v = 'changed'";
    eventually("the dead session's rows are free", || number(&mut c, free) == 99);
    run(&mut c, &["update near set v = v || '' where n not between 101 and 200", "commit"]);
    assert_eq!(number(&mut c, "select count(*) from near"), 999);
    let waiting = "select count(*) from v$transaction where status = 'RECOVERING'";
    assert_eq!(number(&mut c, waiting), 3);
    // The same after a crash.
    db.kill();
    db.start();
    let mut c = db.connect();
    assert_eq!((number(&mut c, waiting), number(&mut c, free)), (3, 99));
    run(&mut c, &["update near set v = v", "rollback"]);
    bring_back(&mut c);
    let then = |c: &mut Client| {
        (
            number(c, "select count(*) from far where v = 'changed'"),
            number(c, "select count(*) from far where v = 'new'"),
        )
    };
    assert_eq!(then(&mut c), (100, 50), "what was not committed is not seen, whether it was rolled back yet or not");
    eventually("nobody waits any more", || number(&mut c, waiting) == 0);
    assert_eq!(then(&mut c), (100, 50));
    run(&mut c, &["update far set v = v", "commit"]);
    assert_eq!(number(&mut c, COUNT), 1051);
    drop(c);
    db.verify();
}

/// A waiter gets its row as soon as the row is rolled back, although the rest of the holder's transaction waits for its
/// file.
#[test]
fn who_waits_for_a_row_does_not_wait_for_the_file_of_another() {
    let (db, mut c) = far("file-waiter");
    let (mut holder, mut waiter) = (db.connect(), db.connect());
    run(&mut holder, &["update near set v = 'held' where n = 5", "update far set v = 'held' where n = 5"]);
    run(&mut c, &["alter system checkpoint", OFFLINE]);
    let waits = "select count(*) from v$session where event like 'enq: TX%' and state = 'WAITING'";
    let waiter = std::thread::spawn(move || run(&mut waiter, &["update near set v = 'after' where n = 5", "commit"]));
    eventually("it waits for the row", || number(&mut c, waits) == 1);
    run(&mut holder, &["rollback"]);
    waiter.join().expect("it has the row");
    assert_eq!(number(&mut c, "select count(*) from near where v = 'after'"), 1);
    let open = "select count(*) from v$transaction where status = 'RECOVERING'";
    assert_eq!(number(&mut c, open), 1);
    bring_back(&mut c);
    eventually("nobody waits any more", || number(&mut c, open) == 0);
    assert_eq!(number(&mut c, "select count(*) from far where v = 'held'"), 0);
    drop((holder, c));
    db.verify();
}

/// A statement that has changed rows of a file fails when the file goes offline: the whole transaction is rolled back,
/// and the error says so.
#[test]
fn a_statement_that_cannot_be_undone_ends_its_transaction() {
    let (db, mut c) = far("file-statement");
    run(
        &mut c,
        &[
            "create table log (n number)",
            "create table gate (n number)",
            "insert into gate values (1)",
            "commit",
            "create or replace procedure both is n number; begin insert into log values (1); update far set v = 'p'; \
             select n into n from gate for update; raise_application_error(-20001, 'no'); end;",
        ],
    );
    let (mut other, mut keeper) = (db.connect(), db.connect());
    run(&mut other, &["insert into near values (7777, 'before')"]);
    run(&mut keeper, &["update gate set n = 2"]);
    std::thread::scope(|scope| {
        let called = scope.spawn(|| error(&mut other, "begin both; end;"));
        let waits = "select count(*) from v$session where event like 'enq: TX%' and state = 'WAITING'";
        eventually("it has changed both", || number(&mut c, waits) == 1);
        run(&mut c, &[OFFLINE]);
        run(&mut keeper, &["rollback"]);
        let e = called.join().unwrap();
        assert!(e.contains("ORA-02091") && e.contains("ORA-00376"), "{e}");
    });
    run(&mut other, &["commit"]);
    assert_eq!(number(&mut c, "select count(*) from near where n = 7777"), 0);
    assert_eq!(number(&mut c, "select count(*) from log"), 0);
    bring_back(&mut c);
    assert_eq!(number(&mut c, "select count(*) from far where v = 'p'"), 0);
    eventually("it is rolled back", || number(&mut c, "select count(*) from v$transaction") == 0);
    drop((c, other, keeper));
    db.verify();
}

/// An index in a file of its own becomes unavailable, but its table does not; tables are dropped while their undo
/// waits.
#[test]
fn what_was_dropped_meanwhile_is_not_rolled_back_into() {
    let (db, mut c) = far("file-dropped");
    run(
        &mut c,
        &["create index near_v on near (v) tablespace more", "create table far2 tablespace more as select * from far"],
    );
    let mut other = db.connect();
    run(
        &mut other,
        &["update near set v = 'x' || n", "update far set v = 'y' where n < 500", "delete from far2 where n > 500"],
    );
    run(&mut c, &[OFFLINE]);
    run(&mut other, &["rollback"]);
    assert_eq!(number(&mut c, "select /*+ full(near) */ count(*) from near where v like 'n%'"), 1000);
    assert!(error(&mut c, "update near set v = 'z' where n = 1").contains("ORA-00376"));
    run(&mut c, &["rollback"]);
    bring_back(&mut c);
    // Whether PMON or the drop comes first, nothing is damaged.
    run(&mut c, &["drop table far2", "drop index near_v"]);
    run(
        &mut c,
        &["create table far3 tablespace more as select * from far", "create index near_v on near (v) tablespace more"],
    );
    eventually("nobody waits any more", || number(&mut c, "select count(*) from v$transaction") == 0);
    assert_eq!(number(&mut c, "select count(*) from far3 where v like 'f%'"), 1000);
    drop((c, other));
    db.verify();
}

/// Dies at a named point on the way, and continues from there.
fn doomed(plan: &str, name: &str) {
    let db = Database::new(name);
    let params = ["_disk_sync=false", "_log_file_size=1M", "db_cache_size=4M", &format!("_crash_point={plan}")];
    let args: Vec<&str> = params.iter().flat_map(|p| ["--param", p]).collect();
    let (code, text) = db.program(&[&["start"], args.as_slice()].concat());
    assert_eq!(code, 0, "{text}");
    let mut c = db.connect();
    run(&mut c, FAR);
    copy_aside(&db, &mut c, "more", "far.dbf");
    more(&mut c, 2);
    let mut open = db.connect();
    run(&mut open, &["update far set v = 'open' where n <= 300", "update near set v = 'open' where n <= 300"]);
    let mut died = false;
    for step in [OFFLINE, RECOVER, ONLINE].repeat(2) {
        if step == OFFLINE {
            run(&mut c, &["update far set v = 'again' where n = 1000", "commit"]);
        }
        if step == RECOVER {
            put_back(&db, "far.dbf");
        }
        if let Err(e) = try_rows(&mut c, step) {
            assert!(e.is_fatal() || e.code() == 3113, "{plan}: {step}: {e}");
            died = true;
            break;
        }
    }
    assert!(died, "{plan} was passed");
    if plan.ends_with("child") {
        eventually("PMON has been there", || number(&mut db.connect(), "select count(*) from v$transaction") == 1);
        drop(open);
    } else {
        eventually("the instance is gone", || db.program(&["status"]).0 == 3);
        db.start();
    }
    // Wherever it died, the same steps lead to the end.
    let mut c = db.connect();
    run(&mut c, &["insert into near values (5000, 'goes on')", "commit", OFFLINE]);
    put_back(&db, "far.dbf");
    bring_back(&mut c);
    eventually("all is rolled back", || number(&mut c, "select count(*) from v$transaction") == 0);
    assert_eq!(number(&mut c, COUNT), 1200, "{plan}");
    assert_eq!(number(&mut c, "select count(*) from far where v = 'open'"), 0, "{plan}");
    assert_eq!(number(&mut c, "select count(*) from near where v = 'open'"), 0, "{plan}");
    drop(c);
    db.verify();
}

#[test]
fn whoever_dies_on_the_way_offline_leaves_what_can_be_recovered() {
    doomed("file-marked-offline:1", "file-died-1");
    doomed("file-discarded:2:child", "file-died-2");
}

#[test]
fn whoever_dies_recovering_leaves_what_can_be_recovered() {
    doomed("file-rolled-forward:1", "file-died-3");
    doomed("file-recovered:2:child", "file-died-4");
}

#[test]
fn whoever_dies_on_the_way_online_leaves_a_file_that_is_sound() {
    doomed("file-stamped-online:1", "file-died-5");
    doomed("file-marked-online:2", "file-died-6");
}

#[test]
fn a_file_that_is_missing_at_a_start_is_recovered_while_the_database_is_open() {
    let (db, mut c) = far("file-missing");
    copy_aside(&db, &mut c, "more", "far.dbf");
    more(&mut c, 6);
    drop(c);
    db.kill();
    lose(&db, "far.dbf");
    db.start();
    let mut c = db.connect();
    assert!(db.alert().contains("ORA-01157") && db.alert().contains("far.dbf"));
    assert_eq!(rows(&mut c, STATUS), ["RECOVER"]);
    run(&mut c, &[OFFLINE]);
    assert!(error(&mut c, COUNT).contains("ORA-00376"));
    put_back(&db, "far.dbf");
    run(&mut c, &[RECOVER, ONLINE]);
    assert_eq!(number(&mut c, COUNT), 1600);
    // Without being taken offline first; from the redo alone; or in another place.
    run(&mut c, &["insert into far values (0, 'last')", "commit"]);
    drop(c);
    db.stop();
    lose(&db, "far.dbf");
    db.start();
    let mut c = db.connect();
    run(&mut c, &["alter database create datafile 'far.dbf'", RECOVER]);
    run(&mut c, &[ONLINE]);
    assert_eq!(number(&mut c, COUNT), 1601);
    run(&mut c, &["delete from far where n = 0", "commit", OFFLINE]);
    std::fs::rename(db.path().join("far.dbf"), db.path().join("moved.dbf")).unwrap();
    assert!(error(&mut c, "alter database rename file 'far.dbf' to 'nothing.dbf'").contains("ORA-01141"));
    run(&mut c, &["alter database rename file 'far.dbf' to 'moved.dbf'"]);
    let recovered = try_rows(&mut c, "alter database recover datafile 'moved.dbf'");
    assert!(recovered.as_ref().err().is_none_or(|e| e.to_string().contains("ORA-00264")), "{recovered:?}");
    run(&mut c, &["alter database datafile 'moved.dbf' online"]);
    assert_eq!(number(&mut c, COUNT), 1600);
    drop(c);
    db.verify();
}

/// One file of several: segments without blocks in it are not affected, and new extents come from the other files.
#[test]
fn one_file_of_several_costs_what_is_in_it() {
    let (db, mut c) = far("file-of-two");
    run(&mut c, &["alter tablespace more add datafile 'far2.dbf' size 1M autoextend on", OFFLINE]);
    let fill = "insert into here select level, rpad('h', 200, 'h') from dual connect by level <= 5000";
    run(&mut c, &["create table here (n number, v varchar2(300)) tablespace more", fill, "commit"]);
    assert_eq!(rows(&mut c, "select distinct file_id from dba_extents where segment_name = 'HERE'").len(), 1);
    assert_eq!(number(&mut c, "select count(*) from here"), 5000);
    db.kill();
    db.start();
    let mut c = db.connect();
    assert_eq!(number(&mut c, "select count(*) from here"), 5000);
    // Verified in this state, and again when it is complete.
    drop(c);
    db.verify();
    db.start();
    let mut c = db.connect();
    bring_back(&mut c);
    run(&mut c, &[fill, "commit"]);
    assert_eq!((number(&mut c, COUNT), number(&mut c, "select count(*) from here")), (1000, 10_000));
    drop(c);
    db.verify();
}

/// A tablespace that went offline normally has all its redo; a file made again or restored from a copy does not.
#[test]
fn a_file_that_is_replaced_while_its_tablespace_is_offline_is_recovered_first() {
    let (db, mut c) = far("file-replaced");
    let (away, back) = ("alter tablespace more offline", "alter tablespace more online");
    let state = "select error, sign(change#) from v$recover_file";
    let header = "select recover from v$datafile_header where tablespace_name = 'MORE'";
    // Untouched, it comes back without recovery.
    run(&mut c, &[away]);
    assert_eq!((rows(&mut c, state), rows(&mut c, STATUS)), (vec!["OFFLINE NORMAL|0".into()], vec!["OFFLINE".into()]));
    let e = error(&mut c, RECOVER);
    assert!(e.contains("ORA-00264"), "{e}");
    run(&mut c, &[back]);
    assert_eq!(number(&mut c, COUNT), 1000);
    // Made again under another name.
    run(&mut c, &[away]);
    std::fs::rename(db.path().join("far.dbf"), aside(&db, "far.dbf")).unwrap();
    run(&mut c, &["alter database create datafile 'far.dbf' as 'far2.dbf'"]);
    assert_eq!(rows(&mut c, state), ["|0"]);
    assert_eq!(rows(&mut c, header), ["YES"]);
    let e = error(&mut c, back);
    assert!(e.contains("ORA-01113") && e.contains("ORA-01110") && e.contains("far2.dbf"), "{e}");
    // The control file keeps the need over a start.
    drop(c);
    db.stop();
    db.start();
    let mut c = db.connect();
    assert!(error(&mut c, back).contains("ORA-01113"));
    run(&mut c, &["alter database recover datafile 'far2.dbf'"]);
    assert_eq!(rows(&mut c, header), ["NO"]);
    let e = error(&mut c, "alter database recover datafile 'far2.dbf'");
    assert!(e.contains("ORA-00264"), "{e}");
    run(&mut c, &[back]);
    assert_eq!(number(&mut c, COUNT), 1000);
    // Restored from an older copy.
    copy_aside(&db, &mut c, "more", "far2.dbf");
    more(&mut c, 3);
    run(&mut c, &[away]);
    put_back(&db, "far2.dbf");
    assert_eq!(rows(&mut c, state), ["|1"]);
    let e = error(&mut c, back);
    assert!(e.contains("ORA-01113"), "{e}");
    run(&mut c, &["alter database recover tablespace more", back]);
    assert_eq!(number(&mut c, COUNT), 1300);
    assert_eq!(number(&mut c, "select count(*) from v$recover_file"), 0);
    run(&mut c, &["insert into far values (0, 'last')", "commit"]);
    drop(c);
    db.kill();
    db.start();
    assert_eq!(number(&mut db.connect(), COUNT), 1301);
    db.verify();
}

/// Removes the stops from the control file of a stopped database: earlier versions of the program noted none for the
/// files of a tablespace.
fn forget_stops(db: &Database) {
    for name in [datafile::CONTROL_FILE, datafile::CONTROL_COPY] {
        let path = db.path().join(name);
        let text = std::fs::read_to_string(&path).unwrap();
        let stays = |line: &&str| !line.starts_with("offline ") && !line.starts_with("checksum ");
        let kept: String = text.trim_end_matches('\0').lines().filter(stays).map(|line| format!("{line}\n")).collect();
        assert!(kept.len() + 30 < text.len(), "there was a stop: {text}");
        std::fs::write(&path, datafile::ControlFile::with_checksum(&kept)).unwrap();
    }
}

#[test]
fn a_file_without_a_stop_is_recovered_from_its_own_checkpoint() {
    let (db, mut c) = far("file-without-stop");
    let (away, back) = ("alter tablespace more offline", "alter tablespace more online");
    copy_aside(&db, &mut c, "more", "far.dbf");
    more(&mut c, 3);
    for is_replaced in [true, false] {
        run(&mut c, &[away]);
        drop(c);
        db.stop();
        forget_stops(&db);
        if is_replaced {
            put_back(&db, "far.dbf");
        }
        db.start();
        c = db.connect();
        let e = error(&mut c, back);
        assert!(e.contains("ORA-01113") && e.contains("far.dbf"), "{e}");
        run(&mut c, &[RECOVER]);
        let e = error(&mut c, RECOVER);
        assert!(e.contains("ORA-00264"), "{e}");
        run(&mut c, &[back]);
        assert_eq!(number(&mut c, COUNT), 1300);
    }
    // Without archived redo there is no recovery to ask for.
    run(&mut c, &["alter database noarchivelog", away]);
    drop(c);
    db.stop();
    forget_stops(&db);
    db.start();
    let mut c = db.connect();
    run(&mut c, &[back]);
    assert_eq!(number(&mut c, COUNT), 1300);
    drop(c);
    db.verify();
}

#[test]
fn a_tablespace_in_backup_mode_stays_writable_and_online() {
    let (db, mut c) = far("in-backup-mode");
    run(&mut c, &["alter tablespace more begin backup"]);
    for change in ["read only", "offline", "offline normal"] {
        let e = error(&mut c, &format!("alter tablespace more {change}"));
        let wanted = format!("ORA-01150: cannot prevent writes - file {} has online backup set", file_number(&mut c));
        assert!(e.contains(&wanted) && e.contains("ORA-01110") && e.contains("far.dbf"), "{change}: {e}");
        run(&mut c, &["update far set v = v where n = 1", "commit"]);
    }
    for (sql, code) in [
        ("alter tablespace more begin backup", "ORA-01146"),
        ("alter database begin backup", "ORA-01146"),
        ("alter tablespace users end backup", "ORA-01142"),
        ("alter tablespace temp begin backup", "ORA-03217"),
    ] {
        let e = error(&mut c, sql);
        assert!(e.contains(code), "{sql}: {e}");
    }
    run(&mut c, &["alter tablespace more end backup", "alter tablespace more read only"]);
    let e = error(&mut c, "alter tablespace more begin backup");
    assert!(e.contains("ORA-01642: begin backup not needed for read only tablespace 'MORE'"), "{e}");
    run(&mut c, &["alter tablespace more read write", "alter tablespace more offline normal"]);
    let e = error(&mut c, "alter tablespace more begin backup");
    assert!(e.contains("ORA-01128: cannot start online backup - file ") && e.contains("far.dbf"), "{e}");
    run(&mut c, &["alter database begin backup", "alter database end backup", "alter tablespace more online"]);
    assert_eq!(number(&mut c, COUNT), 1000);
    drop(c);
    db.verify();
}

fn file_number(c: &mut Client) -> i64 {
    number(c, "select file# from v$datafile where name like '%far.dbf'")
}

/// The file of a read-only tablespace that is made again is recovered up to the moment when it became read-only.
#[test]
fn a_file_of_a_read_only_tablespace_is_made_again() {
    let (db, mut c) = far("file-read-only");
    run(&mut c, &["alter tablespace more read only", OFFLINE]);
    for (online, name, count) in [(ONLINE, "far.dbf", 1000), ("alter tablespace more online", "far2.dbf", 1001)] {
        lose(&db, "far.dbf");
        run(&mut c, &[&format!("alter database create datafile 'far.dbf' as '{name}'")]);
        let e = error(&mut c, &online.replace("far.dbf", name));
        assert!(e.contains("ORA-01113"), "{e}");
        run(&mut c, &[&format!("alter database recover datafile '{name}'"), online]);
        assert_eq!(number(&mut c, COUNT), count);
        if name == "far.dbf" {
            run(&mut c, &["alter tablespace more read write", "insert into far values (0, 'last')", "commit"]);
            run(&mut c, &["alter tablespace more read only", "alter tablespace more offline"]);
        }
    }
    drop(c);
    db.verify();
}
