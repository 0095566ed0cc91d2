//! Bigfile tablespaces: files of several parts, through crashes, backups and media recovery. Parts have 128 blocks here
//! instead of 4,194,304, so that small files have many.

use crate::common::{Database, error, eventually, number, rows, run};
use client::Client;

const PART: i64 = 128;

const MAKE: &str = "create bigfile tablespace big datafile 'big.dbf' size 512k autoextend on next 256k maxsize 64m";
const TABLE: &str =
    "create table far (n number primary key using index tablespace big, v varchar2(1000)) tablespace big";
const MORE: &str = "create table more (v varchar2(1000)) tablespace big";
const SIZE: &str = "select blocks from dba_data_files where tablespace_name = 'BIG'";

fn start(db: &Database, extra: &[&str]) {
    let params =
        ["db_cache_size=4M", "_log_file_size=1M", "_disk_sync=false", "processes=40", "_bigfile_part_blocks=128"];
    let args: Vec<&str> = params.iter().chain(extra).flat_map(|p| ["--param", p]).collect();
    let (code, text) = db.program(&[&["start"], args.as_slice()].concat());
    assert_eq!(code, 0, "{text}");
}

fn database(name: &str, extra: &[&str]) -> (Database, Client) {
    let db = Database::new(name);
    start(&db, extra);
    let c = db.connect();
    (db, c)
}

/// Adds `thousands` of rows of 900 bytes: eight to a block, a part for each thousand.
fn fill(c: &mut Client, thousands: i64) {
    for _ in 0..thousands {
        let from = number(c, "select nvl(max(n), 0) from far");
        let insert =
            format!("insert into far select {from} + level, rpad('f', 900, 'f') from dual connect by level <= 1000");
        run(c, &[&insert, "commit"]);
    }
}

fn check(c: &mut Client, thousands: i64) {
    let all = thousands * 1000;
    let sums = "select /*+ full(far) */ count(*), sum(length(v)), max(n) from far";
    assert_eq!(rows(c, sums), [format!("{all}|{}|{all}", all * 900)]);
    assert_eq!(number(c, "select /*+ index(far) */ count(*) from far where n > 0"), all);
}

fn parts(db: &Database) -> usize {
    let control = datafile::ControlFile::read(db.path()).unwrap();
    let head = control.heads().find(|f| f.name.ends_with("big.dbf")).expect("the bigfile");
    control.parts_of(head.file).len()
}

#[test]
fn users_see_one_file_of_many_parts() {
    let (db, mut c) = database("big-life", &["db_files=6"]);
    run(&mut c, &[MAKE, TABLE]);
    fill(&mut c, 5);
    check(&mut c, 5);
    assert!(parts(&db) > 5, "{}", parts(&db));
    let file = number(&mut c, "select file_id from dba_data_files where tablespace_name = 'BIG'");
    assert_eq!(
        rows(
            &mut c,
            "select relative_fno, maxblocks, autoextensible, bytes / blocks from dba_data_files where tablespace_name = 'BIG'"
        ),
        ["1024|8192|YES|8192"]
    );
    let blocks = number(&mut c, SIZE);
    assert_eq!(rows(&mut c, "select rfile#, blocks, name from v$datafile where name like '%big.dbf'").len(), 1);
    assert_eq!(number(&mut c, "select blocks from v$datafile where name like '%big.dbf'"), blocks);
    assert_eq!(std::fs::metadata(db.path().join("big.dbf")).unwrap().len(), blocks as u64 * 8192);
    // Extents and free space lie in the one file and do not overlap.
    let places = "select block_id, blocks from dba_extents where tablespace_name = 'BIG' and file_id = (select file_id \
        from dba_data_files where tablespace_name = 'BIG') union all select block_id, blocks from dba_free_space where \
        tablespace_name = 'BIG'";
    let overlaps = format!(
        "select count(*) from (select block_id, lag(block_id + blocks) over (order by block_id) e from ({places})) where block_id < e"
    );
    assert_eq!(number(&mut c, &overlaps), 0);
    assert!(number(&mut c, &format!("select max(block_id) from ({places})")) > 4 * PART);
    assert_eq!(
        number(&mut c, &format!("select sum(blocks) from ({places})")),
        number(&mut c, "select user_blocks from dba_data_files where tablespace_name = 'BIG'")
    );
    assert_eq!(
        rows(&mut c, "select distinct header_file, relative_fno from dba_segments where tablespace_name = 'BIG'"),
        [format!("{file}|1024")]
    );
    run(&mut c, &["alter system flush buffer_cache"]);
    check(&mut c, 5);
    let seen =
        "select count(*), max(block#) from v$bh b, v$datafile f where f.file# = b.file# and f.name like '%big.dbf'";
    let seen: Vec<i64> = rows(&mut c, seen)[0].split('|').map(|n| n.parse().unwrap()).collect();
    assert!(seen[0] > 0 && seen[1] > PART, "{seen:?}");
    assert_eq!(number(&mut c, "select count(*) from v$bh where file# > 100"), 0, "no number of a part is shown");
    assert_eq!(number(&mut c, "select count(*) from v$filestat where file# > 100"), 0);
    // Statements that do not go with a bigfile, and limits.
    for (sql, code) in [
        ("alter tablespace big add datafile 'more.dbf' size 1m", "ORA-32771"),
        ("alter tablespace users resize 10m", "ORA-32773"),
        ("create bigfile tablespace b2 datafile 'a.dbf' size 1m, 'b.dbf' size 1m", "ORA-32774"),
        ("create tablespace s datafile 's.dbf' size 1m autoextend on maxsize 33g", "ORA-03206"),
        ("create tablespace s datafile 's.dbf' size 33g", "ORA-01144"),
        ("alter tablespace big resize 400g", "ORA-01144"),
        ("alter database datafile 1023 resize 1m", "ORA-01516"),
        ("alter tablespace big resize 1m", "ORA-03297"),
    ] {
        let text = error(&mut c, sql);
        assert!(text.contains(code), "{sql}: {text}");
    }
    // Parts are no files: three are left of six, of which SYSTEM, UNDO and USERS are the others.
    run(&mut c, &["create tablespace s4 datafile 's4.dbf' size 1m", "create tablespace s5 datafile 's5.dbf' size 1m"]);
    let text = error(&mut c, "create tablespace s6 datafile 's6.dbf' size 1m");
    assert!(text.contains("ORA-00059"), "{text}");
    assert!(!db.path().join("s6.dbf").exists());
    // Smaller and larger again, read only, offline, another name.
    run(&mut c, &["drop table far purge", "alter tablespace big resize 900k"]);
    assert_eq!((parts(&db), number(&mut c, SIZE)), (1, 113));
    run(&mut c, &["alter tablespace big resize 3m", TABLE]);
    assert_eq!((parts(&db), number(&mut c, SIZE)), (3, 3 * PART));
    fill(&mut c, 3);
    run(&mut c, &["alter tablespace big read only"]);
    check(&mut c, 3);
    assert!(error(&mut c, "delete from far").contains("ORA-00372"));
    run(&mut c, &["alter tablespace big read write", "alter tablespace big offline"]);
    assert!(error(&mut c, "select /*+ full(far) */ count(v) from far").contains("ORA-00376"));
    std::fs::rename(db.path().join("big.dbf"), db.path().join("moved.dbf")).unwrap();
    run(&mut c, &["alter database rename file 'big.dbf' to 'moved.dbf'", "alter tablespace big online"]);
    check(&mut c, 3);
    fill(&mut c, 2);
    drop(c);
    db.kill();
    start(&db, &[]);
    let mut c = db.connect();
    check(&mut c, 5);
    run(&mut c, &["drop tablespace big including contents and datafiles"]);
    assert!(!db.path().join("moved.dbf").exists());
    assert_eq!(number(&mut c, "select count(*) from v$datafile where name like '%moved%'"), 0);
    run(&mut c, &[MAKE, TABLE]);
    fill(&mut c, 3);
    check(&mut c, 3);
    db.verify();
}

/// The instance dies at each point at which a part is half there, or half gone.
#[test]
fn a_crash_between_the_steps_of_a_growth_or_a_shrinkage_loses_nothing() {
    for point in ["part-made", "part-listed", "space-file-grown", "part-closed", "part-unlisted"] {
        let (db, mut c) = database(&format!("big-{point}"), &[]);
        run(&mut c, &[MAKE, TABLE, MORE]);
        fill(&mut c, 2);
        let more = "insert into more select rpad('m', 900, 'm') from dual connect by level <= 500";
        run(&mut c, &[more, more, more, more, more, more, "commit", "drop table more purge", MORE]);
        assert!(parts(&db) > 4);
        drop(c);
        db.stop();
        start(&db, &[&format!("_crash_point={point}:1")]);
        let mut c = db.connect();
        let shrink = "alter tablespace big resize 3500k";
        // The space of the dropped table is used first.
        let died = if point == "part-closed" || point == "part-unlisted" {
            c.execute(shrink, &[]).is_err()
        } else {
            (0..40).any(|_| c.execute(more, &[]).is_err())
        };
        assert!(died, "{point}");
        drop(c);
        eventually("the instance is gone", || db.program(&["status"]).0 == 3);
        start(&db, &[]);
        let mut c = db.connect();
        check(&mut c, 2);
        assert_eq!(number(&mut c, "select count(*) from more"), 0, "{point}");
        fill(&mut c, 3);
        run(&mut c, &[more, more, more, more, "commit"]);
        check(&mut c, 5);
        assert_eq!(number(&mut c, "select count(*) from more"), 2000);
        run(&mut c, &["drop table far purge", "drop table more purge", "alter tablespace big resize 1m"]);
        assert_eq!((parts(&db), number(&mut c, SIZE)), (1, PART), "{point}");
        drop(c);
        db.verify();
    }
}

fn latchwork(args: &[&str]) -> (i32, String) {
    let out =
        std::process::Command::new(env!("CARGO_BIN_EXE_latchwork")).args(args).output().expect("the program runs");
    let text = [out.stdout, out.stderr].concat();
    (out.status.code().unwrap_or(-1), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn a_backup_of_a_bigfile_is_restored_to_each_number_of_parts() {
    let (db, folder) = (Database::new("big-source"), Database::new("big-folder"));
    start(&db, &[]);
    let mut c = db.connect();
    run(&mut c, &["alter database archivelog", MAKE, TABLE]);
    fill(&mut c, 2);
    let text = |db: &Database| db.path().to_str().unwrap().to_owned();
    let (code, out) = db.program(&["backup", "--to", &text(&folder)]);
    assert_eq!(code, 0, "{out}");
    let mut moments = Vec::new();
    for thousands in 2..6 {
        moments.push((number(&mut c, "select current_scn from v$database"), thousands, parts(&db)));
        fill(&mut c, 1);
    }
    // A part that was made behind a moment and before the next commit may be there, empty.
    let most: Vec<usize> = moments.iter().skip(1).map(|(_, _, has)| *has).chain([parts(&db)]).collect();
    // Parts that go again after the last moment.
    run(&mut c, &["create table near as select * from far where n <= 300", "drop table far purge"]);
    run(&mut c, &["alter tablespace big resize 1m", TABLE, "insert into far select * from near", "commit"]);
    assert_eq!(parts(&db), 1);
    drop(c);
    db.kill();
    let first = moments[0].0.to_string();
    for ((scn, thousands, has), most) in moments.into_iter().zip(most) {
        let then = Database::new(&format!("big-then-{thousands}"));
        let scn = scn.to_string();
        let args =
            ["restore", "--from", &text(&folder), "--dir", &text(&then), "--redo", &text(&db), "--until-scn", &scn];
        let (code, out) = latchwork(&args);
        assert_eq!(code, 0, "{out}");
        let found = parts(&then);
        assert!((has..=most).contains(&found), "at {thousands} thousand rows: {found} parts, {has} to {most} expected");
        start(&then, &[]);
        let mut c = then.connect();
        check(&mut c, thousands);
        fill(&mut c, 2);
        check(&mut c, thousands + 2);
        drop(c);
        then.verify();
    }
    let end = Database::new("big-end");
    let (code, out) = latchwork(&["restore", "--from", &text(&folder), "--dir", &text(&end), "--redo", &text(&db)]);
    assert_eq!(code, 0, "{out}");
    assert_eq!(parts(&end), 1);
    start(&end, &[]);
    let mut c = end.connect();
    assert_eq!(number(&mut c, "select count(*) from far"), 300);
    drop(c);
    end.verify();
    // A part that was removed and made again, at moments before and after.
    start(&db, &[]);
    let mut c = db.connect();
    fill(&mut c, 2);
    let (again, has) = (number(&mut c, "select current_scn from v$database"), parts(&db));
    assert!(has > 1);
    run(&mut c, &["drop table far purge", "alter tablespace big resize 1m"]);
    assert_eq!(parts(&db), 1);
    run(&mut c, &[TABLE]);
    fill(&mut c, 1);
    drop(c);
    db.kill();
    for (scn, rows) in [(first, 2000), (again.to_string(), 2300), (String::new(), 1000)] {
        let then = Database::new(&format!("big-then-{rows}"));
        let args = ["restore", "--from", &text(&folder), "--dir", &text(&then), "--redo", &text(&db)];
        let until: &[&str] = if scn.is_empty() { &[] } else { &["--until-scn", &scn] };
        let (code, out) = latchwork(&[&args[..], until].concat());
        assert_eq!(code, 0, "{out}");
        start(&then, &[]);
        let mut c = then.connect();
        assert_eq!(number(&mut c, "select count(*) from far"), rows);
        fill(&mut c, 1);
        assert_eq!(number(&mut c, "select count(*) from far"), rows + 1000);
        drop(c);
        then.verify();
        assert_eq!(files_of(&then), 1, "no part is left in a file of its own");
    }
}

/// The number of operating-system files of the bigfile.
fn files_of(db: &Database) -> usize {
    let entries = std::fs::read_dir(db.path()).expect("the folder is there").flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("big")).count()
}

/// An older copy of the file has fewer parts than the control file lists.
#[test]
fn an_older_copy_with_fewer_parts_is_recovered_online_and_by_a_start() {
    let (db, mut c) = database("big-media", &[]);
    run(&mut c, &["alter database archivelog", MAKE, TABLE]);
    fill(&mut c, 1);
    let (file, copy) = (db.path().join("big.dbf"), db.path().join("big.copy"));
    run(&mut c, &["alter tablespace big begin backup"]);
    std::fs::copy(&file, &copy).unwrap();
    // The file gets a part while it is in backup mode.
    let before = parts(&db);
    let mut all_rows = 1;
    while parts(&db) <= before {
        fill(&mut c, 1);
        all_rows += 1;
        assert!(all_rows < 10, "the file grows");
    }
    run(&mut c, &["alter tablespace big end backup"]);
    fill(&mut c, 2);
    all_rows += 2;
    let all = parts(&db);
    run(&mut c, &["alter database datafile 'big.dbf' offline"]);
    assert!(error(&mut c, "select /*+ full(far) */ count(v) from far").contains("ORA-00376"));
    std::fs::copy(&copy, &file).unwrap();
    // Before, a checkpoint may have written all changes of the file when it went offline.
    assert_eq!(rows(&mut c, "select status from v$datafile where name like '%big.dbf'"), ["RECOVER"]);
    assert!(error(&mut c, "alter database datafile 'big.dbf' online").contains("ORA-01"));
    run(&mut c, &["alter database recover datafile 'big.dbf'", "alter database datafile 'big.dbf' online"]);
    check(&mut c, all_rows);
    assert_eq!(parts(&db), all);
    fill(&mut c, 1);
    // The same by a start, after a crash and after a clean shutdown.
    drop(c);
    db.kill();
    std::fs::copy(&copy, &file).unwrap();
    start(&db, &[]);
    let mut c = db.connect();
    check(&mut c, all_rows + 1);
    fill(&mut c, 1);
    drop(c);
    db.stop();
    std::fs::copy(&copy, &file).unwrap();
    start(&db, &[]);
    let mut c = db.connect();
    check(&mut c, all_rows + 2);
    // A file that is missing is missing as a whole.
    drop(c);
    db.stop();
    std::fs::rename(&file, &copy).unwrap();
    start(&db, &[]);
    let mut c = db.connect();
    assert!(error(&mut c, "select /*+ full(far) */ count(v) from far").contains("ORA-01157"));
    assert_eq!(rows(&mut c, "select error from v$recover_file"), ["FILE NOT FOUND"]);
    std::fs::rename(&copy, &file).unwrap();
    drop(c);
    db.stop();
    start(&db, &[]);
    check(&mut db.connect(), all_rows + 2);
    db.verify();
}

#[test]
fn damage_in_a_later_part_is_shown_with_the_number_of_the_file() {
    let (db, mut c) = database("big-damage", &[]);
    run(&mut c, &[MAKE, TABLE]);
    fill(&mut c, 3);
    let file = number(&mut c, "select file# from v$datafile where name like '%big.dbf'");
    let third = "select min(block_id) from dba_extents where segment_name = 'FAR' and segment_type = 'TABLE' and block_id > 256";
    let block = number(&mut c, third) + 2;
    assert!(block > 2 * PART);
    drop(c);
    db.stop();
    let mut bytes = std::fs::read(db.path().join("big.dbf")).unwrap();
    bytes[block as usize * 8192 + 4000] ^= 1;
    std::fs::write(db.path().join("big.dbf"), bytes).unwrap();
    let (code, out) = db.program(&["verify"]);
    assert!(code != 0 && out.contains(&format!("file {file} block {block}")), "{out}");
    start(&db, &[]);
    let text = error(&mut db.connect(), "select /*+ full(far) */ count(v) from far");
    assert!(text.contains("ORA-01578") && text.contains(&format!("file # {file}, block # {block}")), "{text}");
}

#[test]
fn temporary_and_undo_bigfiles_grow_by_parts() {
    // A temporary extent has 128 blocks.
    let (db, mut c) = database("big-temp", &["_bigfile_part_blocks=256"]);
    let to = "size 512k autoextend on next 512k maxsize 200m";
    run(&mut c, &[&format!("create bigfile temporary tablespace temp_big tempfile 'temp_big.dbf' {to}")]);
    run(&mut c, &[&format!("create bigfile undo tablespace undo_big datafile 'undo_big.dbf' {to}")]);
    run(
        &mut c,
        &["alter database default temporary tablespace temp_big", "alter system set undo_tablespace = undo_big"],
    );
    // A session has the temporary tablespace of its logon.
    drop(c);
    let mut c = db.connect();
    run(&mut c, &["create table t (n number, v varchar2(1000))"]);
    run(&mut c, &["create global temporary table g (n number, v varchar2(1000)) on commit preserve rows"]);
    run(&mut c, &["insert into t select level, rpad('t', 500, 't') from dual connect by level <= 5000", "commit"]);
    run(&mut c, &["update t set v = rpad('u', 600, 'u')", "rollback"]);
    assert_eq!(rows(&mut c, "select min(v), count(*) from t").len(), 1);
    assert_eq!(number(&mut c, "select count(*) from t where v like 'ttt%'"), 5000);
    run(&mut c, &["insert into g select * from t", "commit"]);
    assert_eq!(number(&mut c, "select count(*) from g where v like 'ttt%'"), 5000);
    assert_eq!(number(&mut c, "select count(distinct segfile#) from v$tempseg_usage"), 1);
    for (name, views) in [("temp_big", "dba_temp_files"), ("undo_big", "dba_data_files")] {
        let blocks = number(&mut c, &format!("select blocks from {views} where file_name like '%{name}.dbf'"));
        assert!(blocks > 256, "{name}: {blocks}");
    }
    drop(c);
    db.kill();
    start(&db, &["undo_tablespace=UNDO_BIG"]);
    assert_eq!(number(&mut db.connect(), "select count(*) from t where v like 'ttt%'"), 5000);
    db.verify();
}

/// Parts of the real size, with small blocks: the second part begins at 8 GB. The file is allocated, not written.
#[test]
fn a_bigfile_has_more_than_4194304_blocks() {
    let db = Database::new("big-real");
    // The other tests of bigfiles have small parts. This one has a real part, which takes its space on the disk.
    let (free, needed) = (os::file::free_bytes(&std::env::temp_dir()).expect("a file system"), 10u64 << 30);
    if free < needed {
        println!("left out: a bigfile of two whole parts needs {} GB free, there are {}", needed >> 30, free >> 30);
        return;
    }
    let params = ["db_block_size=2048", "db_cache_size=4M", "_disk_sync=false", "processes=40"];
    let args: Vec<&str> = params.iter().flat_map(|p| ["--param", p]).collect();
    let (code, text) = db.program(&[&["start"], args.as_slice()].concat());
    assert_eq!(code, 0, "{text}");
    let mut c = db.connect();
    run(&mut c, &["create bigfile tablespace big datafile 'big.dbf' size 8191m autoextend on next 1m"]);
    assert_eq!(
        rows(&mut c, "select maxblocks, relative_fno from dba_data_files where tablespace_name = 'BIG'"),
        ["4294967293|1024"]
    );
    // 64 MB at a time: the last of them lies behind 8 GB.
    run(&mut c, &["create table far (n number, v varchar2(1000)) tablespace big"]);
    run(&mut c, &["alter tablespace big resize 8300m"]);
    assert_eq!(number(&mut c, SIZE), 8300 * 512);
    assert_eq!(parts(&db), 2);
    run(&mut c, &["insert into far select level, rpad('f', 900, 'f') from dual connect by level <= 1000", "commit"]);
    assert_eq!(
        number(&mut c, "select max(block_id + blocks) from dba_free_space where tablespace_name = 'BIG'"),
        8300 * 512
    );
    run(&mut c, &["alter tablespace big resize 100m"]);
    assert_eq!((number(&mut c, SIZE), parts(&db)), (100 * 512, 1));
    assert_eq!(std::fs::metadata(db.path().join("big.dbf")).unwrap().len(), 100 << 20);
    assert_eq!(number(&mut c, "select count(*) from far"), 1000);
    drop(c);
    db.verify();
}

#[test]
fn a_bigfile_that_is_made_again_while_its_tablespace_is_offline_is_recovered_in_all_parts() {
    let (db, mut c) = database("big-again", &[]);
    run(&mut c, &["alter database archivelog", MAKE, TABLE]);
    fill(&mut c, 3);
    assert!(parts(&db) > 2, "{}", parts(&db));
    run(&mut c, &["alter tablespace big offline"]);
    std::fs::remove_file(db.path().join("big.dbf")).unwrap();
    run(&mut c, &["alter database create datafile 'big.dbf' as 'big2.dbf'"]);
    assert!(error(&mut c, "alter tablespace big online").contains("ORA-01113"));
    run(&mut c, &["alter database recover datafile 'big2.dbf'", "alter tablespace big online"]);
    check(&mut c, 3);
    fill(&mut c, 2);
    check(&mut c, 5);
    drop(c);
    db.verify();
}
