//! Undo tablespaces are created, switched and dropped while transactions and queries need them.

use client::Client;

use crate::common::{code, number, rows, run, start, sysdba, try_rows};

const STATES: &str = "select r.tablespace_name, r.status, count(*) from dba_rollback_segs r group by r.tablespace_name, r.status \
     order by 1, 2";

#[test]
fn transactions_begin_in_the_new_one_and_end_in_the_old_one() {
    let instance = start(&[]);
    let (mut s, mut old, mut new) = (sysdba(&instance), sysdba(&instance), sysdba(&instance));
    run(&mut s, &["create table t (n number primary key, v number)"]);
    run(&mut s, &["insert into t select level, 0 from dual connect by level <= 1000", "commit"]);
    run(&mut s, &["create undo tablespace u2 datafile 'u2a.dbf' size 2m autoextend on next 1m, 'u2b.dbf' size 1m"]);
    assert_eq!(rows(&mut s, STATES), ["U2|OFFLINE|16", "UNDO|ONLINE|16"]);
    run(&mut old, &["update t set v = 1 where n <= 500"]);
    run(&mut s, &["alter system set undo_tablespace = u2"]);
    let current = "select value from v$parameter where name = 'undo_tablespace'";
    assert_eq!(rows(&mut s, current), ["U2"]);
    assert_eq!(rows(&mut s, STATES), ["U2|ONLINE|16", "UNDO|OFFLINE|15", "UNDO|ONLINE|1"]);
    assert_eq!(
        rows(&mut s, "select status, count(*), sum(xacts) from v$rollstat group by status order by 1"),
        ["ONLINE|16|0", "PENDING OFFLINE|1|1"]
    );
    run(&mut new, &["update t set v = 2 where n > 500"]);
    assert_eq!(
        rows(
            &mut s,
            "select case when xidusn <= 16 then 'old' else 'new' end, count(*) from v$transaction group by \
             case when xidusn <= 16 then 'old' else 'new' end order by 1"
        ),
        ["new|1", "old|1"]
    );
    // Both are read consistently, and an open transaction keeps its tablespace.
    assert_eq!(number(&mut s, "select sum(v) from t"), 0);
    assert_eq!(code(&mut s, "drop tablespace undo"), 30013);
    assert_eq!(code(&mut s, "drop tablespace u2 including contents and datafiles"), 30013);
    run(
        &mut old,
        &["update t set v = 3 where n <= 500", "savepoint a", "delete from t where n <= 500", "rollback to a"],
    );
    run(&mut old, &["commit"]);
    run(&mut new, &["rollback"]);
    assert_eq!(number(&mut s, "select sum(v) from t"), 1500);
    assert_eq!(rows(&mut s, STATES), ["U2|ONLINE|16", "UNDO|OFFLINE|16"]);
    run(&mut s, &["drop tablespace undo including contents and datafiles"]);
    assert_eq!(rows(&mut s, STATES), ["U2|ONLINE|16"]);
    assert_eq!(rows(&mut s, "select name from v$tablespace where ts# <> 0 order by 1"), ["TEMP", "U2", "USERS"]);
    // The numbers of the dropped one are reused by the next.
    run(
        &mut s,
        &["create undo tablespace undo datafile 'undo.dbf' size 2m", "alter system set undo_tablespace = 'undo'"],
    );
    run(&mut new, &["update t set v = 4 where n > 500"]);
    assert_eq!(number(&mut s, "select count(*) from v$transaction where xidusn <= 16"), 1);
    assert_eq!(number(&mut s, "select sum(v) from t"), 1500);
    run(&mut new, &["commit"]);
    run(&mut s, &["drop tablespace u2 including contents and datafiles"]);
    assert_eq!(number(&mut s, "select sum(v) from t"), 3500);
}

#[test]
fn what_a_dropped_one_had_to_say_is_too_old() {
    let instance = start(&[]);
    let (mut s, mut other) = (sysdba(&instance), sysdba(&instance));
    run(&mut s, &["create table t (n number, v varchar2(500))", "create table quiet (n number)"]);
    run(&mut s, &["insert into t select level, rpad('x', 400) from dual connect by level <= 2000", "commit"]);
    run(&mut s, &["insert into quiet select level from dual connect by level <= 100", "commit"]);
    run(&mut s, &["create undo tablespace u2 datafile 'u2.dbf' size 2m autoextend on"]);
    let before = number(&mut s, "select current_scn from v$database");
    run(&mut other, &["set transaction read only"]);
    assert_eq!(number(&mut other, "select count(*) from quiet"), 100);
    run(&mut s, &["update t set v = 'y'", "commit", "alter system set undo_tablespace = u2"]);
    assert_eq!(number(&mut other, "select count(*) from t where v = 'y'"), 0);
    assert_eq!(number(&mut s, &format!("select count(*) from t as of scn {before} where v = 'y'")), 0);
    run(&mut s, &["drop tablespace undo including contents and datafiles"]);
    for round in 0..3 {
        // The second and third time files and numbers belong to another tablespace.
        assert_eq!(code(&mut other, "select count(*) from t where n + 0 > 0 and v = 'y'"), 1555, "{round}");
        assert_eq!(code(&mut s, &format!("select count(*) from t as of scn {before} where v = 'y'")), 1555);
        assert_eq!(number(&mut other, "select count(*) from quiet"), 100);
        assert_eq!(number(&mut s, "select count(*) from t where v = 'y'"), 2000);
        match round {
            0 => run(&mut s, &["create undo tablespace u3 datafile 'u3.dbf' size 2m autoextend on"]),
            _ => run(&mut s, &["alter system set undo_tablespace = u3", "update t set v = 'y'", "commit"]),
        }
    }
    run(&mut other, &["commit"]);
}

/// Rows of index-organised tables name their undo records themselves.
#[test]
fn rows_in_indexes_whose_undo_was_dropped_are_too_old() {
    let instance = start(&[]);
    let (mut s, mut other) = (sysdba(&instance), sysdba(&instance));
    run(&mut s, &["create table t (n number primary key, v number) organization index"]);
    run(&mut s, &["insert into t select level, 0 from dual connect by level <= 500", "commit"]);
    run(&mut s, &["create undo tablespace u2 datafile 'u2.dbf' size 2m autoextend on"]);
    let before = number(&mut s, "select current_scn from v$database");
    run(&mut other, &["set transaction read only"]);
    assert_eq!(number(&mut other, "select sum(v) from t"), 0);
    run(&mut s, &["update t set v = 1", "commit", "delete from t where n > 400", "commit"]);
    run(&mut s, &["alter system set undo_tablespace = u2"]);
    assert_eq!(rows(&mut other, "select count(*), sum(v) from t"), ["500|0"]);
    run(&mut s, &["drop tablespace undo including contents and datafiles"]);
    for round in 0..3 {
        assert_eq!(code(&mut other, "select count(*), sum(v) from t"), 1555, "{round}");
        assert_eq!(code(&mut other, "select v from t where n = 7"), 1555, "{round}");
        assert_eq!(code(&mut s, &format!("select count(*) from t as of scn {before}")), 1555, "{round}");
        assert_eq!(rows(&mut s, "select count(*), sum(v) from t"), [format!("400|{}", 400 * (1 + round / 2))]);
        match round {
            0 => run(&mut s, &["create undo tablespace u3 datafile 'u3.dbf' size 2m autoextend on"]),
            _ => run(&mut s, &["alter system set undo_tablespace = u3", "update t set v = 2", "commit"]),
        }
    }
    run(&mut other, &["commit"]);
}

#[test]
fn what_cannot_be_done_says_why() {
    let instance = start(&[]);
    let mut s = sysdba(&instance);
    run(&mut s, &["create tablespace data datafile 'data.dbf' size 1m"]);
    for (sql, error) in [
        ("alter system set undo_tablespace = nothing", 30012),
        ("alter system set undo_tablespace = data", 30012),
        ("alter system set undo_tablespace = temp", 30012),
        ("drop tablespace undo including contents", 30013),
        ("alter tablespace undo offline", 30042),
        ("alter database datafile 'undo01.dbf' offline", 30042),
        ("alter tablespace undo read only", 30021),
        ("alter tablespace undo nologging", 30021),
        ("create table t (n number) tablespace undo", 30022),
        ("create undo tablespace u2 datafile 'u2.dbf' size 2m uniform size 1m", 30024),
        ("create undo tablespace u2 datafile 'u2.dbf' size 2m segment space management auto", 30024),
        ("create undo tablespace u2 datafile 'u2.dbf' size 2m offline", 30024),
        ("create tablespace u2 datafile 'u2.dbf' size 2m retention guarantee", 30044),
        ("alter tablespace data retention guarantee", 30044),
        ("create undo tablespace undo datafile 'u2.dbf' size 2m", 1543),
        ("create undo tablespace u2 datafile 'u2.dbf' size 512k", 30036),
        ("create rollback segment r1", 30019),
        ("alter rollback segment r1 online", 30019),
        ("drop public rollback segment r1", 30019),
        ("set transaction use rollback segment r1", 30019),
    ] {
        assert_eq!(code(&mut s, sql), error, "{sql}");
    }
    // The failed statement has left nothing.
    assert_eq!(rows(&mut s, STATES), ["UNDO|ONLINE|16"]);
    let used = "select count(*) from dba_data_files where file_name like '%u2.dbf'";
    assert_eq!(number(&mut s, used), 0);
    for n in 2..=8 {
        run(&mut s, &[&format!("create undo tablespace u{n} datafile 'u{n}.dbf' size 2m")]);
    }
    assert_eq!(code(&mut s, "create undo tablespace u9 datafile 'u9.dbf' size 2m"), 3001);
    run(&mut s, &["alter system set undo_tablespace = u8", "drop tablespace u3 including contents and datafiles"]);
    run(&mut s, &["create undo tablespace u9 datafile 'u9.dbf' size 2m", "alter tablespace u9 rename to ua"]);
    run(&mut s, &["alter system set undo_tablespace = ua", "create table t (n number)", "drop table t"]);
}

#[test]
fn a_guarantee_keeps_undo_that_has_not_expired() {
    let instance = start(&[("undo_retention", "86400")]);
    let mut s = sysdba(&instance);
    run(&mut s, &["create table t (n number, v varchar2(2000))"]);
    run(&mut s, &["insert into t select level, rpad('x', 1500) from dual connect by level <= 200", "commit"]);
    run(&mut s, &["create undo tablespace u2 datafile 'u2.dbf' size 2m retention guarantee"]);
    let retention = "select retention from dba_tablespaces where tablespace_name in ('U2', 'UNDO', 'USERS') order by tablespace_name";
    assert_eq!(rows(&mut s, retention), ["GUARANTEE", "NOGUARANTEE", "NOT APPLY"]);
    run(&mut s, &["alter system set undo_tablespace = u2"]);
    let scn = number(&mut s, "select current_scn from v$database");
    // Every round changes every byte.
    let update = |round: u8| format!("update t set v = rpad('{0}', 1500, '{0}')", char::from(b'a' + round % 20));
    let full = (0..50).find_map(|round| {
        let failed = s.execute(&update(round), &[]).err();
        s.execute(if failed.is_some() { "rollback" } else { "commit" }, &[]).unwrap();
        failed
    });
    assert_eq!(full.map(|e| e.code()), Some(30036));
    let past = format!("select count(*) from t as of scn {scn} where v like 'x%'");
    assert_eq!(number(&mut s, &past), 200);
    run(&mut s, &["alter tablespace u2 retention noguarantee"]);
    for round in 0..20 {
        run(&mut s, &[&update(round), "commit"]);
    }
    let gone = try_rows(&mut s, &past);
    assert!(gone.as_ref().is_err_and(|e| e.code() == 1555), "{gone:?}");
}

/// Deleted rows of an index-organised table are purged for rows that need their room. Where retention is guaranteed
/// they stay for flashback queries. The error for a purged row names no undo segment, that for overwritten undo does.
#[test]
fn a_guarantee_keeps_deleted_rows_of_an_index_organised_table() {
    let instance = start(&[("undo_retention", "86400")]);
    let mut s = sysdba(&instance);
    let too_old = |s: &mut Client| number(s, "select sum(ssolderrcnt) from v$undostat");
    for (table, retention, kept) in [("q1", "guarantee", true), ("q2", "noguarantee", false)] {
        run(&mut s, &[&format!("alter tablespace undo retention {retention}")]);
        run(&mut s, &[&format!("create table {table} (id number primary key, v varchar2(90)) organization index")]);
        let fill = |n: u32| {
            format!("insert into {table} select level * 10 + {n}, rpad('x', 80, 'x') from dual connect by level <= 400")
        };
        run(&mut s, &[&fill(0), "commit"]);
        let scn = number(&mut s, "select current_scn from v$database");
        run(&mut s, &[&format!("delete from {table} where mod(id, 40) > 0"), "commit"]);
        run(&mut s, &[&fill(1), &fill(2), &fill(3), "commit"]);
        let errors = too_old(&mut s);
        let past = try_rows(&mut s, &format!("select count(*) from {table} as of scn {scn}"));
        if kept {
            assert_eq!(past.expect("the past is kept"), ["400"]);
            continue;
        }
        let told = past.expect_err("the past is gone").to_string();
        let text = "ORA-01555: snapshot too old: rollback segment number  with name \"\" too small";
        assert!(told.contains(text), "{told}");
        assert_eq!(too_old(&mut s), errors + 1);
    }
    run(&mut s, &["create table o (id number primary key, v varchar2(90)) organization index"]);
    run(&mut s, &["insert into o select level, 'x' from dual connect by level <= 100", "commit"]);
    let scn = number(&mut s, "select current_scn from v$database");
    run(&mut s, &["create undo tablespace u2 datafile 'u2.dbf' size 2m", "alter system set undo_tablespace = u2"]);
    run(&mut s, &["update o set v = 'y'", "commit", "create table t (n number, v varchar2(2000))"]);
    run(&mut s, &["insert into t select level, rpad('x', 1500) from dual connect by level <= 200", "commit"]);
    let filled = number(&mut s, "select current_scn from v$database");
    for round in 0..20u8 {
        let letter = char::from(b'a' + round);
        run(&mut s, &[&format!("update t set v = rpad('{letter}', 1500, '{letter}')"), "commit"]);
    }
    let told = try_rows(&mut s, &format!("select count(*) from o as of scn {scn} where v = 'x'"));
    let told = told.expect_err("the undo is overwritten").to_string();
    let named = told.split("rollback segment number ").nth(1).and_then(|rest| rest.split_once(" with name \"_SYSSMU"));
    let (usn, rest) = named.unwrap_or_else(|| panic!("{told}"));
    assert!(usn.parse::<u16>().is_ok() && rest.starts_with(&format!("{usn}$\" too small")), "{told}");
    // Each server of a parallel query meets the error; the user gets one. A program that handles it has got it, too.
    let errors = too_old(&mut s);
    let query = format!("select /*+ parallel(t 4) */ count(*) from t as of scn {filled} where v like 'x%'");
    assert!(try_rows(&mut s, &query).is_err_and(|e| e.code() == 1555));
    assert_eq!(too_old(&mut s), errors + 1);
    let handled =
        format!("declare n number; begin execute immediate q'[{query}]' into n; exception when others then null; end;");
    run(&mut s, &[&handled]);
    assert_eq!(too_old(&mut s), errors + 2);
}

/// A serializable update searches the undo for changes of its row, and takes undo that is gone for a change. This
/// search is not counted.
#[test]
fn a_search_that_goes_on_without_undo_is_not_counted() {
    let instance = start(&[("db_cache_size", "32M")]);
    let (mut a, mut b) = (sysdba(&instance), sysdba(&instance));
    run(&mut b, &["create undo tablespace u2 datafile 'u2.dbf' size 2m", "alter system set undo_tablespace = u2"]);
    run(&mut b, &["create table z (n number, v varchar2(20))", "create table t (n number, v varchar2(2000))"]);
    run(&mut b, &["insert into z select level, 'z' from dual connect by level <= 2"]);
    run(&mut b, &["insert into t select level, rpad('x', 1500) from dual connect by level <= 200", "commit"]);
    run(&mut a, &["set transaction isolation level serializable"]);
    assert_eq!(number(&mut a, "select count(*) from t"), 200);
    run(&mut b, &["update z set v = 'other' where n = 2", "commit"]);
    // The block as of the snapshot stays in the cache. The present one cannot be turned into it once the undo is gone.
    assert_eq!(rows(&mut a, "select v from z"), ["z", "z"]);
    run(
        &mut b,
        &["begin for i in 1 .. 150 loop update t set v = rpad(mod(i, 10), 1500, mod(i, 10)); commit; end loop; end;"],
    );
    let failed = a.execute("update z set v = 'q' where n = 1", &[]).err();
    assert_eq!(failed.map(|e| e.code()), Some(8177));
    assert_eq!(number(&mut b, "select sum(ssolderrcnt) from v$undostat"), 0);
}

/// Transactions of many sessions while the undo tablespace is switched under them and the old ones are dropped: nothing
/// is lost.
#[test]
fn work_goes_on_while_it_changes() {
    let instance = start(&[]);
    let mut s = sysdba(&instance);
    run(&mut s, &["create table t (n number primary key, v number)"]);
    run(&mut s, &["insert into t select level, 0 from dual connect by level <= 400", "commit"]);
    let stop = std::sync::atomic::AtomicBool::new(false);
    let done = std::sync::atomic::AtomicI64::new(0);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|w| {
                let (instance, stop, done) = (&instance, &stop, &done);
                scope.spawn(move || {
                    let mut c = sysdba(instance);
                    let mine = format!("update t set v = v + 1 where mod(n, 4) = {w}");
                    for n in 0.. {
                        if stop.load(std::sync::atomic::Ordering::Relaxed) {
                            break;
                        }
                        // A statement that needs undo from before the drop gets ORA-01555, an update as well as a
                        // query, and has no effect.
                        match c.execute(&mine, &[]) {
                            Ok(_) if n % 3 == 0 => run(&mut c, &["rollback"]),
                            Ok(_) => {
                                run(&mut c, &["commit"]);
                                done.fetch_add(100, std::sync::atomic::Ordering::Relaxed);
                            }
                            Err(e) => assert_eq!(e.code(), 1555, "{e}"),
                        }
                        match try_rows(&mut c, "select mod(sum(v), 100) from t") {
                            Ok(sum) => assert_eq!(sum, ["0"]),
                            Err(e) => assert_eq!(e.code(), 1555, "{e}"),
                        }
                    }
                })
            })
            .collect();
        let mut names = vec!["undo".to_string()];
        let changed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for round in 0..12 {
                let name = format!("u{round}");
                run(&mut s, &[&format!("create undo tablespace {name} datafile '{name}.dbf' size 2m autoextend on")]);
                run(&mut s, &[&format!("alter system set undo_tablespace = {name}")]);
                names.push(name);
                // The last transactions in the old ones end soon; queries that would need their undo are short.
                names.retain(|n| {
                    let drop = format!("drop tablespace {n} including contents and datafiles");
                    match s.execute(&drop, &[]) {
                        Ok(_) => false,
                        Err(e) => {
                            assert_eq!(e.code(), 30013, "{drop}: {e}");
                            true
                        }
                    }
                });
            }
        }));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let worked: Vec<_> = workers.into_iter().map(|w| w.join()).collect();
        assert!(changed.is_ok() && worked.iter().all(Result::is_ok));
    });
    let done = done.into_inner();
    assert!(done > 0);
    assert_eq!(number(&mut s, "select sum(v) from t"), done);
}
