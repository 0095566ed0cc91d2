//! Damaged blocks and missing files affect only the objects that they belong to.

use crate::common::{Database, error, eventually, number, rows, run};
use std::os::unix::fs::FileExt;

const BLOCK: u64 = 8192;

/// The blocks of a file with this kind and data object.
fn blocks(db: &Database, file: &str, kind: block::BlockKind, object: u32) -> Vec<u32> {
    let bytes = std::fs::read(db.path().join(file)).unwrap();
    let mut image = block::Image::new(BLOCK as usize);
    let mut found = Vec::new();
    for (n, b) in bytes.chunks(BLOCK as usize).enumerate() {
        image.bytes_mut().copy_from_slice(b);
        if image.view().kind() == Some(kind) && image.view().obj().0 == object {
            found.push(n as u32);
        }
    }
    found
}

/// Flips a byte in the middle of a block.
fn flip(db: &Database, file: &str, block: u32) {
    let f = std::fs::OpenOptions::new().read(true).write(true).open(db.path().join(file)).unwrap();
    let mut byte = [0];
    let at = u64::from(block) * BLOCK + 4000;
    f.read_exact_at(&mut byte, at).unwrap();
    f.write_all_at(&[byte[0] ^ 8], at).unwrap();
}

const SETUP: &[&str] = &[
    "create table good (n number primary key, v varchar2(500))",
    "insert into good select level, rpad('g', 400, 'g') from dual connect by level <= 1000",
    "create table bad (n number primary key, v varchar2(500), w number)",
    "insert into bad select level, rpad('b', 400, 'b'), level from dual connect by level <= 1000",
    "create index bad_w on bad (w)",
    "commit",
];

struct Setup {
    db: Database,
    file: &'static str,
    table: u32,
    index: u32,
}

fn setup(name: &str) -> Setup {
    let db = Database::new(name);
    db.start();
    let mut c = db.connect();
    run(&mut c, SETUP);
    let object = |c: &mut client::Client, name: &str| {
        number(c, &format!("select data_object_id from user_objects where object_name = '{name}'")) as u32
    };
    let (table, index) = (object(&mut c, "BAD"), object(&mut c, "BAD_W"));
    drop(c);
    db.stop();
    let is_in = |f: &&str| !blocks(&db, f, block::BlockKind::Heap, table).is_empty();
    let file = ["system01.dbf", "users01.dbf"].into_iter().find(is_in).expect("the table is in one of them");
    Setup { db, file, table, index }
}

fn assert_good(s: &Setup) {
    let mut c = s.db.connect();
    assert_eq!(number(&mut c, "select count(*) from good where v like 'g%'"), 1000);
    run(
        &mut c,
        &[
            "update good set v = v || '!' where n <= 10",
            "commit",
            "create table another (n number)",
            "drop table another",
        ],
    );
}

#[test]
fn a_bad_table_block_costs_its_rows_only() {
    let s = setup("table");
    let at = blocks(&s.db, s.file, block::BlockKind::Heap, s.table)[5];
    flip(&s.db, s.file, at);
    s.db.start();
    let mut c = s.db.connect();
    let e = error(&mut c, "select count(*) from bad where v like 'b%'");
    assert!(e.contains("ORA-01578") && e.contains(&format!("block # {at})")) && e.contains("ORA-01110"), "{e}");
    // Rows of other blocks are read through the index.
    assert_eq!(number(&mut c, "select w from bad where n = 1000"), 1000);
    assert_good(&s);
    s.db.stop();
    assert_eq!(s.db.program(&["verify"]).0, 1);
}

#[test]
fn a_bad_index_block_leaves_the_table_readable() {
    let s = setup("index");
    for at in blocks(&s.db, s.file, block::BlockKind::IndexLeaf, s.index) {
        flip(&s.db, s.file, at);
    }
    s.db.start();
    let mut c = s.db.connect();
    let e = error(&mut c, "select /*+ index(bad bad_w) */ count(v) from bad where w = 7");
    assert!(e.contains("ORA-01578"), "{e}");
    assert_eq!(number(&mut c, "select /*+ full(bad) */ count(v) from bad where w > 0"), 1000);
    // It is rebuilt from the table.
    run(&mut c, &["drop index bad_w", "create index bad_w on bad (w)"]);
    assert_eq!(number(&mut c, "select /*+ index(bad bad_w) */ count(v) from bad where w = 7"), 1);
    assert_good(&s);
    drop(c);
    s.db.verify();
}

#[test]
fn a_bad_segment_header_costs_its_object_only() {
    let s = setup("header");
    let header = blocks(&s.db, s.file, block::BlockKind::SegmentHeader, s.table)[0];
    flip(&s.db, s.file, header);
    s.db.start();
    let e = error(&mut s.db.connect(), "select /*+ full(bad) */ count(v) from bad");
    assert!(e.contains("ORA-01578") && e.contains(&format!("block # {header})")), "{e}");
    assert_good(&s);
}

#[test]
fn bad_undo_blocks_are_no_matter_when_nobody_needs_them() {
    let s = setup("undo");
    for at in blocks(&s.db, "undo01.dbf", block::BlockKind::Undo, 0) {
        flip(&s.db, "undo01.dbf", at);
    }
    s.db.start();
    let mut c = s.db.connect();
    assert_eq!(number(&mut c, "select count(*) from good where v like 'g%'"), 1000);
    assert_eq!(number(&mut c, "select count(*) from bad where v like 'b%'"), 1000);
}

#[test]
fn a_bad_or_missing_file_is_named() {
    let s = setup("file");
    let kept = std::fs::read(s.db.path().join("undo01.dbf")).unwrap();
    flip(&s.db, "undo01.dbf", 0);
    let (code, text) = s.db.try_start();
    assert!(code != 0 && text.contains("ORA-01122") && text.contains("undo01.dbf"), "{text}");
    std::fs::remove_file(s.db.path().join("undo01.dbf")).unwrap();
    let (code, text) = s.db.try_start();
    assert!(code != 0 && text.contains("ORA-01157") && text.contains("undo01.dbf"), "{text}");
    std::fs::write(s.db.path().join("undo01.dbf"), kept).unwrap();
    s.db.start();
    assert_good(&s);
}

#[test]
fn a_missing_file_of_users_costs_its_objects_until_it_is_back() {
    let s = setup("missing");
    s.db.start();
    let mut c = s.db.connect();
    run(&mut c, &["create tablespace more datafile 'more01.dbf' size 1M autoextend on", "alter database archivelog"]);
    run(
        &mut c,
        &[
            "create table far (n number primary key) tablespace more",
            "insert into far select level from dual connect by level <= 500",
            "commit",
        ],
    );
    s.db.kill();
    let (file, away) = (s.db.path().join("more01.dbf"), s.db.path().join("away"));
    std::fs::rename(&file, &away).unwrap();
    s.db.start();
    assert!(s.db.alert().contains("ORA-01157") && s.db.alert().contains("more01.dbf"));
    let e = error(&mut s.db.connect(), "select /*+ full(far) */ count(n + 0) from far");
    assert!(e.contains("ORA-01157") && e.contains("ORA-01110") && e.contains("more01.dbf"), "{e}");
    assert_eq!(rows(&mut s.db.connect(), "select error, online_status from v$recover_file"), ["FILE NOT FOUND|ONLINE"]);
    assert_good(&s);
    // Restored while the instance runs, it is of another moment, and stays unavailable.
    std::fs::copy(&away, &file).unwrap();
    assert!(error(&mut s.db.connect(), "select /*+ full(far) */ count(n + 0) from far").contains("ORA-01157"));
    run(&mut s.db.connect(), &["alter system switch logfile", "alter system checkpoint"]);
    s.db.stop();
    s.db.start();
    let mut c = s.db.connect();
    assert_eq!(number(&mut c, "select /*+ full(far) */ count(n + 0) from far"), 500);
    drop(c);
    s.db.verify();
}

#[test]
fn a_tablespace_that_was_away_comes_back_without_redo() {
    let s = setup("offline");
    s.db.start();
    let mut c = s.db.connect();
    run(&mut c, &["create tablespace more datafile 'more01.dbf' size 1M autoextend on"]);
    run(
        &mut c,
        &[
            "create table far (n number primary key) tablespace more",
            "insert into far select level from dual connect by level <= 500",
            "commit",
        ],
    );
    for (away, back) in [("offline", "online"), ("read only", "read write")] {
        run(&mut c, &[&format!("alter tablespace more {away}")]);
        // Enough redo that all logs have been reused since.
        for _ in 0..8 {
            run(&mut c, &["update good set v = v", "commit", "alter system switch logfile", "alter system checkpoint"]);
        }
        run(
            &mut c,
            &[&format!("alter tablespace more {back}"), "insert into far select max(n) + 1 from far", "commit"],
        );
        s.db.kill();
        s.db.start();
        c = s.db.connect();
    }
    assert_eq!(number(&mut c, "select count(*) from far"), 502);
    drop(c);
    s.db.verify();
}

/// A transaction that was open when the instance died cannot be rolled back: the blocks with its undo are damaged. The
/// database opens; sessions that need that undo get an error, and others are not affected.
#[test]
fn a_dead_transaction_whose_undo_is_damaged_costs_its_rows_only() {
    let s = setup("dead");
    s.db.start();
    let mut open = s.db.connect();
    run(&mut open, &["update bad set v = rpad('o', 500, 'o')"]);
    let mut c = s.db.connect();
    run(&mut c, &["alter system checkpoint"]);
    s.db.kill();
    drop(open);
    let undo = blocks(&s.db, "undo01.dbf", block::BlockKind::Undo, 0);
    assert!(undo.len() > 10, "{}", undo.len());
    for at in undo {
        flip(&s.db, "undo01.dbf", at);
    }
    // A start would take the blocks for torn ones, and restore them from their copies.
    std::fs::remove_file(s.db.path().join("double_write")).unwrap();
    s.db.start();
    let log = std::fs::read_to_string(s.db.path().join("alert.log")).unwrap();
    assert!(log.contains("The double-write area") && log.contains("is missing"), "{log}");
    assert_good(&s);
    let mut c = s.db.connect();
    let e = error(&mut c, "select count(*) from bad where v like 'b%'");
    assert!(e.contains("ORA-01578"), "{e}");
    let e = error(&mut c, "select * from bad for update nowait");
    assert!(e.contains("ORA-01578") || e.contains("ORA-00054"), "{e}");
    assert_eq!(number(&mut c, "select count(*) from v$transaction where status = 'RECOVERING'"), 1);
    drop(c);
    // The same after every start; a shutdown does not wait for it.
    s.db.stop();
    s.db.start();
    assert_good(&s);
    let mut c = s.db.connect();
    assert!(error(&mut c, "select count(*) from bad where v like 'b%'").contains("ORA-01578"));
    let log = || std::fs::read_to_string(s.db.path().join("alert.log")).unwrap();
    eventually("PMON says so", || log().contains("PMON will retry") && log().contains("cannot be rolled back"));
    // Rows that are dropped with the table no longer need their undo.
    run(&mut c, &["drop table bad"]);
    assert_good(&s);
}
