//! Tablespaces and files are created, dropped, filled and changed while sessions work.

use crate::common::{code, eventually, number, rows, run, start, sysdba};
use client::Credentials;

#[test]
fn a_tablespace_lives_its_life() {
    let instance = start(&[]);
    let mut s = sysdba(&instance);
    run(
        &mut s,
        &["create tablespace ts1 datafile 'ts1a.dbf' size 2m autoextend on next 1m maxsize 4m, 'ts1b.dbf' size 2m"],
    );
    assert_eq!(code(&mut s, "create tablespace ts1 datafile 'other.dbf' size 1m"), 1543);
    assert_eq!(code(&mut s, "create tablespace ts2 datafile 'ts1a.dbf' size 1m"), 1537);
    assert_eq!(code(&mut s, "create tablespace ts2 datafile '/no/such/place/f.dbf' size 1m"), 1119);
    assert_eq!(code(&mut s, "create tablespace ts2 datafile 'ts2.dbf' size 8k"), 3214);
    assert_eq!(code(&mut s, "create tablespace ts2"), 2199);
    assert_eq!(
        rows(
            &mut s,
            "select tablespace_name, status, contents, allocation_type from dba_tablespaces where tablespace_name = 'TS1'"
        ),
        ["TS1|ONLINE|PERMANENT|SYSTEM"]
    );
    assert_eq!(
        rows(
            &mut s,
            "select blocks, autoextensible, maxbytes from dba_data_files where tablespace_name = 'TS1' order by file_id"
        ),
        ["256|YES|4194304", "256|NO|0"]
    );
    run(
        &mut s,
        &["create table t (n number, v varchar2(1000)) tablespace ts1", "create index t_n on t (n) tablespace ts1"],
    );
    let fill = "insert into t select level, rpad('x', 900, 'x') from dual connect by level <= 500";
    let full = (0..100).find_map(|_| s.execute(fill, &[]).err()).expect("the files fill").code();
    assert!([1653, 1654].contains(&full), "{full}");
    run(&mut s, &["rollback"]);
    let spread = number(&mut s, "select count(distinct file_id) from dba_extents where segment_name = 'T'");
    assert_eq!(spread, 2);
    assert_eq!(
        number(&mut s, "select sum(blocks) from dba_extents where segment_name in ('T', 'T_N')"),
        number(&mut s, "select sum(blocks) from dba_segments where segment_name in ('T', 'T_N')")
    );
    // More space: by a file, by a larger file, and by growth.
    run(&mut s, &["alter tablespace ts1 add datafile 'ts1c.dbf' size 1m autoextend on", fill, "commit"]);
    run(
        &mut s,
        &[
            "alter database datafile 'ts1b.dbf' resize 3m",
            "alter database datafile 'ts1b.dbf' autoextend on maxsize 5m",
        ],
    );
    assert_eq!(
        rows(&mut s, "select blocks, maxblocks from dba_data_files where file_name like '%ts1b.dbf'"),
        ["384|640"]
    );
    assert_eq!(code(&mut s, "alter database datafile 'ts1a.dbf' resize 400k"), 3297);
    assert_eq!(code(&mut s, "alter database datafile 'nothing.dbf' resize 1m"), 1516);
    assert_eq!(code(&mut s, "alter tablespace ts1 drop datafile 'ts1a.dbf'"), 3263);
    assert_eq!(code(&mut s, "drop tablespace ts1"), 1549);
    run(&mut s, &["alter tablespace ts1 rename to ts9"]);
    assert_eq!(rows(&mut s, "select tablespace_name from user_tables where table_name = 'T'"), ["TS9"]);
    let n = number(&mut s, "select count(*) from t");
    run(&mut s, &["drop tablespace ts9 including contents and datafiles"]);
    assert_eq!(code(&mut s, "select count(*) from t"), 942);
    assert_eq!(number(&mut s, "select count(*) from v$tablespace where name = 'TS9'"), 0);
    assert!(n > 0);
    // The names and numbers can be reused.
    run(&mut s, &["create tablespace ts1 datafile 'ts1a.dbf' size 2m", "create table t (n number) tablespace ts1"]);
    run(&mut s, &["insert into t select level from dual connect by level <= 1000", "commit"]);
    assert_eq!(number(&mut s, "select count(*) from t"), 1000);
}

#[test]
fn read_only_and_offline_tablespaces_refuse() {
    let instance = start(&[]);
    let mut s = sysdba(&instance);
    let mut other = sysdba(&instance);
    run(&mut s, &["create tablespace ts1 datafile 'ts1.dbf' size 2m uniform size 64k"]);
    run(&mut s, &["create table t (n number primary key using index tablespace ts1) tablespace ts1"]);
    run(&mut s, &["insert into t select level from dual connect by level <= 500", "commit"]);
    run(&mut s, &["alter tablespace ts1 read only"]);
    assert_eq!(number(&mut other, "select count(*) from t"), 500);
    assert_eq!(code(&mut other, "insert into t values (1000)"), 372);
    assert_eq!(code(&mut other, "delete from t where n = 3"), 372);
    assert_eq!(code(&mut other, "update t set n = n + 1000"), 372);
    run(&mut other, &["rollback"]);
    assert_eq!(code(&mut s, "create table u (n number) tablespace ts1"), 1647);
    assert_eq!(code(&mut s, "alter tablespace ts1 read only"), 1644);
    run(&mut s, &["alter tablespace ts1 read write", "insert into t values (1000)", "commit"]);
    run(&mut s, &["alter tablespace ts1 offline"]);
    for c in [&mut s, &mut other] {
        assert_eq!(code(c, "select /*+ full(t) */ count(*) from t"), 376);
        assert_eq!(code(c, "insert into t values (2000)"), 376);
    }
    assert_eq!(code(&mut s, "create table u (n number) tablespace ts1"), 1542);
    assert_eq!(rows(&mut s, "select status from dba_tablespaces where tablespace_name = 'TS1'"), ["OFFLINE"]);
    assert_eq!(rows(&mut s, "select status, bytes from v$datafile where name like '%ts1.dbf'"), ["OFFLINE|"]);
    run(&mut other, &["rollback"]);
    run(&mut s, &["alter tablespace ts1 online"]);
    assert_eq!(number(&mut other, "select count(*) from t"), 501);
    assert_eq!(code(&mut s, "alter tablespace system offline"), 1541);
    assert_eq!(code(&mut s, "drop tablespace system including contents"), 1550);
    assert_eq!(code(&mut s, "drop tablespace users including contents"), 12919);
    assert_eq!(code(&mut s, "drop tablespace temp"), 12906);
    assert_eq!(code(&mut s, "create table u (n number) tablespace temp"), 2195);
    run(&mut s, &["alter tablespace ts1 offline", "drop tablespace ts1 including contents and datafiles"]);
    assert_eq!(code(&mut other, "select count(*) from t"), 942);
}

#[test]
fn quotas_say_who_may_make_segments() {
    let instance = start(&[]);
    let mut s = sysdba(&instance);
    run(&mut s, &["create tablespace ts1 datafile 'ts1.dbf' size 4m"]);
    run(&mut s, &["create user u identified by u default tablespace ts1", "grant create session, create table to u"]);
    let mut u = instance.connect(&Credentials::password("u", "u")).unwrap();
    assert_eq!(code(&mut u, "create table t (n number)"), 1950);
    run(&mut s, &["alter user u quota 128k on ts1"]);
    run(&mut u, &["create table t (n number)", "create table t2 (n number)"]);
    assert_eq!(code(&mut u, "create table t3 (n number)"), 1536);
    assert_eq!(code(&mut u, "create table t3 (n number) tablespace users"), 1950);
    assert_eq!(rows(&mut u, "select tablespace_name, bytes, max_bytes from user_ts_quotas"), ["TS1|131072|131072"]);
    run(&mut s, &["alter user u quota unlimited on ts1"]);
    run(&mut u, &["create table t3 (n number)"]);
    run(&mut s, &["alter user u quota 0 on ts1", "grant unlimited tablespace to u"]);
    run(&mut u, &["create table t4 (n number) tablespace users"]);
    let segments = "select segment_name, segment_type, tablespace_name, blocks, extents from user_segments order by 1";
    assert_eq!(
        rows(&mut u, segments),
        ["T|TABLE|TS1|8|1", "T2|TABLE|TS1|8|1", "T3|TABLE|TS1|8|1", "T4|TABLE|USERS|8|1"]
    );
    run(&mut s, &["alter database default tablespace ts1", "create user w identified by w"]);
    assert_eq!(rows(&mut s, "select default_tablespace from dba_users where username = 'W'"), ["TS1"]);
    assert_eq!(code(&mut s, "alter user w default tablespace temp"), 12910);
    assert_eq!(code(&mut s, "alter user w quota 1m on temp"), 30041);
}

#[test]
fn freed_space_is_used_again() {
    let instance = start(&[]);
    let mut s = sysdba(&instance);
    run(
        &mut s,
        &[
            "create tablespace ts1 datafile 'ts1.dbf' size 8m",
            "create table t (n number, v varchar2(900)) tablespace ts1",
        ],
    );
    let fill = "insert into t select level, rpad('x', 900, 'x') from dual connect by level <= 4000";
    for way in ["truncate table t", "delete from t", "truncate table t drop storage", "truncate table t reuse storage"]
    {
        for _ in 0..4 {
            run(&mut s, &[fill, "commit", way, "commit"]);
        }
    }
    let free =
        |s: &mut client::Client| number(s, "select sum(bytes) from dba_free_space where tablespace_name = 'TS1'");
    let before = free(&mut s);
    for _ in 0..20 {
        run(&mut s, &["create table x tablespace ts1 as select * from t", "drop table x"]);
        assert_eq!(
            code(&mut s, "create table x (n number primary key, m number references nothing) tablespace ts1"),
            942
        );
    }
    assert_eq!(free(&mut s), before);
}

#[test]
fn sorts_larger_than_their_memory_use_temporary_space_until_it_is_full() {
    let instance =
        start(&[("_data_file_max_size", "24M"), ("workarea_size_policy", "MANUAL"), ("sort_area_size", "524288")]);
    let mut s = sysdba(&instance);
    run(
        &mut s,
        &[
            "create table t as select level n, rpad(to_char(mod(level * 7919, 10007)), 200, 'x') v from dual connect by level <= 12000",
        ],
    );
    assert_eq!(number(&mut s, "select count(*) from (select n, v from t order by v desc, n)"), 12000);
    assert_eq!(number(&mut s, "select count(*) from (select distinct v from t)"), 10007);
    assert_eq!(number(&mut s, "select count(*) from t a, t b where a.v = b.v"), 15986);
    assert_eq!(number(&mut s, "select count(*) from (select v, count(*) from t group by v having count(*) = 2)"), 1993);
    assert!(number(&mut s, "select value from v$sysstat where name = 'sorts (disk)'") > 0);
    assert_eq!(rows(&mut s, "select * from v$tempseg_usage"), Vec::<String>::new());
    // A join of many rows with long keys does not fit in 12 MB: the statement fails, the session continues.
    let many = "select count(*) from (select a.n, a.v, b.v w from t a, (select level l, rpad('y', 500, 'y') v from dual \
                connect by level <= 3) b order by a.v, b.v)";
    assert_eq!(code(&mut s, many), 1652);
    assert_eq!(rows(&mut s, "select * from v$tempseg_usage"), Vec::<String>::new());
    assert_eq!(number(&mut s, "select count(*) from (select n, v from t order by v desc, n)"), 12000);
    // A user's own temporary tablespace is used.
    run(
        &mut s,
        &[
            "create temporary tablespace small_temp tempfile 'small_temp.dbf' size 1m autoextend off",
            "create user u identified by u temporary tablespace small_temp",
            "grant create session to u",
            "grant select on t to u",
        ],
    );
    let mut u = instance.connect(&client::Credentials::password("u", "u")).expect("a session");
    for sql in [
        "select count(*) from (select n, v from sys.t order by v desc, n)",
        "select max(c) from (select row_number() over (partition by v order by n) c from sys.t)",
        "select count(*) from (select n, v from sys.t intersect select n, v from sys.t)",
        "with w as (select n, v from sys.t) select count(*) from w a, w b where a.n = b.n",
    ] {
        let e = u.query(sql, &[]).and_then(|q| q.all()).expect_err(sql).to_string();
        assert!(e.contains("ORA-01652") && e.contains("SMALL_TEMP"), "{sql}: {e}");
    }
    assert_eq!(number(&mut s, "select max(c) from (select row_number() over (partition by v order by n) c from t)"), 2);
    assert_eq!(number(&mut s, "select count(*) from (select n, v from t intersect select n, v from t)"), 12000);
    let with = "with w as (select n, v from t) select count(*) from w a, w b where a.n = b.n";
    assert_eq!(number(&mut s, with), 12000);
    assert_eq!(rows(&mut s, "select * from v$tempseg_usage"), Vec::<String>::new());
    run(&mut s, &["alter database tempfile 'temp01.dbf' autoextend on maxsize 400m"]);
    assert_eq!(number(&mut s, many), 36_000);
}

#[test]
fn dbms_stats_counts_rows_values_and_keys() {
    let instance = start(&[]);
    let mut s = sysdba(&instance);
    run(&mut s, &["create table t (n number primary key, m number, v varchar2(100))", "create index t_m on t (m)"]);
    run(
        &mut s,
        &["insert into t select level, mod(level, 7), rpad('x', 50, 'x') from dual connect by level <= 700", "commit"],
    );
    assert_eq!(rows(&mut s, "select num_rows from user_tables where table_name = 'T'"), [""]);
    run(&mut s, &["begin dbms_stats.gather_table_stats(user, 'T'); end;"]);
    assert_eq!(rows(&mut s, "select num_rows, sign(blocks) from user_tables where table_name = 'T'"), ["700|1"]);
    let columns = "select column_name, num_distinct, num_nulls from user_tab_columns where table_name = 'T' order by 1";
    assert_eq!(rows(&mut s, columns), ["M|7|0", "N|700|0", "V|1|0"]);
    let indexes = "select distinct_keys from user_indexes where table_name = 'T' order by 1";
    assert_eq!(rows(&mut s, indexes), ["7", "700"]);
}

#[test]
fn a_statement_that_dies_while_it_keeps_others_from_a_file_leaves_it_to_them() {
    let instance = start(&[("_crash_point", "file-fenced:1:child")]);
    let mut s = sysdba(&instance);
    run(&mut s, &["create tablespace ts1 datafile 'ts1a.dbf' size 1m, 'ts1b.dbf' size 1m"]);
    run(&mut s, &["create table t (n number) tablespace ts1", "insert into t values (1)", "commit"]);
    let dying = [
        "alter tablespace ts1 offline",
        "alter tablespace ts1 read only",
        "alter tablespace ts1 drop datafile 'ts1b.dbf'",
    ];
    for sql in dying {
        assert_eq!(code(&mut sysdba(&instance), sql), 3113, "{sql}");
        // DDL waits for the dead session's locks until it is cleaned up.
        run(&mut s, &["alter session set ddl_lock_timeout = 60", "create table u (n number) tablespace ts1"]);
        run(
            &mut s,
            &["insert into u select level from dual connect by level <= 10000", "insert into t values (2)", "commit"],
        );
        assert_eq!(
            rows(&mut s, "select status from dba_tablespaces where tablespace_name = 'TS1'"),
            ["ONLINE"],
            "{sql}"
        );
        run(&mut s, &["drop table u purge"]);
    }
    assert_eq!(number(&mut s, "select count(*) from t"), 4);
}

#[test]
fn what_the_control_file_says_of_a_tablespace_holds_when_who_wrote_it_dies() {
    let instance = start(&[("_crash_point", "tablespace-changed:1:child")]);
    let mut s = sysdba(&instance);
    run(&mut s, &["create tablespace ts1 datafile 'ts1.dbf' size 1m", "create table t (n number) tablespace ts1"]);
    let settled = ["alter session set ddl_lock_timeout = 60", "create table u (n number)", "drop table u purge"];
    let insert = "insert into t values (1)";
    for (sql, error) in [("offline", 376), ("online", 0), ("read only", 372), ("read write", 0)] {
        assert_eq!(code(&mut sysdba(&instance), &format!("alter tablespace ts1 {sql}")), 3113, "{sql}");
        run(&mut s, &settled);
        match error {
            0 => run(&mut s, &[insert, "commit"]),
            error => assert_eq!(code(&mut s, insert), error, "{sql}"),
        }
    }
}

#[test]
fn files_of_a_tablespace_whose_maker_died_are_listed_no_longer() {
    let instance = start(&[("_crash_point", "ddl-done:1:child")]);
    let mut s = sysdba(&instance);
    let listed = "select name from v$tablespace union all select file_name from dba_data_files union all select name from v$datafile \
        union all select name from v$tempfile order by 1";
    let before = rows(&mut s, listed);
    for (n, what) in ["", "undo", "bigfile", "temporary"].iter().enumerate() {
        let file = if *what == "temporary" { "tempfile" } else { "datafile" };
        let sql = format!("create {what} tablespace ts{n} {file} 'ts{n}.dbf' size 2m");
        assert_eq!(code(&mut sysdba(&instance), &sql), 3113, "{sql}");
        eventually("nobody's files go", || rows(&mut s, listed) == before);
    }
}

#[test]
fn a_file_whose_maker_dies_has_no_name_yet_and_the_next_try_makes_it() {
    let instance = start(&[("_crash_point", "file-drafted:2:child")]);
    let mut s = sysdba(&instance);
    run(&mut s, &["create tablespace first datafile 'first.dbf' size 1m"]);
    for (n, file) in ["'fresh.dbf' size 2m", "'fresher.dbf' size 2m reuse"].iter().enumerate() {
        let sql = format!("create tablespace ts{n} datafile {file}");
        assert_eq!(code(&mut sysdba(&instance), &sql), 3113, "{sql}");
        assert_eq!(left_in(instance.dir(), "fresh"), [""; 0], "the file has no name before it is complete");
        let mut s = sysdba(&instance);
        run(
            &mut s,
            &[
                "alter session set ddl_lock_timeout = 60",
                &sql,
                &format!("drop tablespace ts{n} including contents and datafiles"),
            ],
        );
    }
}

/// The files of a folder with these letters in their names, and drafts.
fn left_in(folder: &std::path::Path, letters: &str) -> Vec<String> {
    let all = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned());
    all.filter(|name| name.contains(letters) || name.ends_with(".making")).collect()
}

#[test]
fn a_file_that_is_overwritten_stays_one_that_reuse_takes() {
    use std::os::unix::fs::MetadataExt;
    let instance = start(&[("_crash_point", "file-emptied:2:child")]);
    let mut s = sysdba(&instance);
    run(
        &mut s,
        &[
            "create tablespace old datafile 'old.dbf' size 3m",
            "create table t tablespace old as select level n from dual connect by level <= 5000",
        ],
    );
    run(&mut s, &["drop tablespace old including contents keep datafiles"]);
    let path = instance.dir().join("old.dbf");
    let inode = std::fs::metadata(&path).unwrap().ino();
    std::fs::hard_link(&path, instance.dir().join("other.name")).unwrap();
    run(&mut s, &["create tablespace a datafile 'old.dbf' size 3m reuse", "drop tablespace a"]);
    let sql = "create tablespace b datafile 'old.dbf' reuse";
    assert_eq!(code(&mut sysdba(&instance), sql), 3113);
    let mut s = sysdba(&instance);
    run(&mut s, &["alter session set ddl_lock_timeout = 60", sql]);
    assert_eq!(number(&mut s, "select bytes / 1048576 from dba_data_files where tablespace_name = 'B'"), 3);
    assert_eq!(std::fs::metadata(&path).unwrap().ino(), inode, "the file is the same one");
    run(&mut s, &["create table u tablespace b as select level n from dual connect by level <= 5000"]);
    assert_eq!(number(&mut s, "select count(*) from u"), 5000);
    // A link that leads nowhere is a name, too, and so is what a user keeps under the ending of drafts.
    std::os::unix::fs::symlink("nowhere", instance.dir().join("link.dbf")).unwrap();
    assert_eq!(code(&mut s, "create tablespace c datafile 'link.dbf' size 1m"), 1119);
    assert_eq!(code(&mut s, "create tablespace c datafile 'link.dbf' size 1m reuse"), 1119);
    assert!(std::fs::symlink_metadata(instance.dir().join("link.dbf")).unwrap().is_symlink());
}
