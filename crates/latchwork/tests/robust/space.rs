//! Full files, full undo, full caches, more data than memory: an error for the statement, and the instance continues.

use crate::common::{code, number, rows, run, start, sysdba, try_rows};
use client::{Client, Credentials};

fn insert_until_full(c: &mut Client, sql: &str) -> u32 {
    for _ in 0..1000 {
        if let Err(e) = c.execute(sql, &[]) {
            return e.code();
        }
        c.commit().unwrap();
    }
    panic!("{sql}: the file never fills");
}

#[test]
fn a_full_data_file_refuses_rows_until_there_is_room_again() {
    let instance = start(&[("_data_file_max_size", "6M")]);
    let mut s = sysdba(&instance);
    run(&mut s, &["create user u identified by u", "grant create session, create table, unlimited tablespace to u"]);
    let mut c = instance.connect(&Credentials::password("u", "u")).unwrap();
    run(
        &mut c,
        &["create table t (n number, v varchar2(1000))", "create table other (n number primary key, v varchar2(900))"],
    );
    let fill = "insert into t select level, rpad('x', 900, 'x') from dual connect by level <= 500";
    assert_eq!(insert_until_full(&mut c, fill), 1653);
    let said = c.execute(fill, &[]).unwrap_err().to_string();
    assert!(said.contains("unable to extend table U.T by 128 in tablespace USERS"), "{said}");
    let caught = "begin execute immediate 'insert into t select level, rpad(''x'', 900) from dual connect by level <= 500'; \
                  exception when others then raise_application_error(-20000, sqlerrm); end;";
    let said = c.execute(caught, &[]).unwrap_err().to_string();
    assert!(said.contains("ORA-01653: unable to extend table U.T by"), "{said}");
    // The failed statement left no changes, committed rows are unchanged.
    let n = number(&mut c, "select count(*) from t");
    assert!(n > 0 && n % 500 == 0, "{n}");
    assert_eq!(number(&mut c, "select sum(n) from t"), n / 500 * 125_250);
    assert_eq!(code(&mut c, fill), 1653);
    let refused = code(&mut c, "create index t_v on t (v)");
    assert!([1652, 1658].contains(&refused), "{refused}");
    assert_eq!(number(&mut c, "select count(*) from user_indexes where table_name = 'T'"), 0);
    let refused = code(&mut c, "create table copy as select * from t");
    assert!([1652, 1658].contains(&refused), "{refused}");
    assert_eq!(number(&mut c, "select count(*) from user_tables where table_name = 'COPY'"), 0);
    // Deleted rows free space in their blocks.
    run(&mut c, &["delete from t where n <= 400", "commit"]);
    run(&mut c, &["insert into t select level, rpad('y', 800, 'y') from dual connect by level <= 300", "commit"]);
    assert_eq!(number(&mut c, "select count(*) from t"), n / 500 * 100 + 300);
    // An index may fill the file as well.
    let more = "insert into other select nvl(max(n), 0) + 1, rpad('z', 50, 'z') from other";
    assert_eq!(
        insert_until_full(&mut c, "insert into t select 0, rpad('x', 400, 'x') from dual connect by level <= 50"),
        1653
    );
    let _ = try_rows(&mut c, more);
    run(&mut c, &["rollback", "drop table t"]);
    run(&mut c, &["create table t2 as select level n, rpad('x', 900, 'x') v from dual connect by level <= 2000"]);
    assert_eq!(number(&mut c, "select count(*) from t2"), 2000);
    run(&mut c, &["truncate table t2", "create index t2_v on t2 (v)"]);
    let keys = "insert into t2 select n + 2000 * rownum, rpad(to_char(rownum), 800, 'x') from (select level n from dual connect by level <= 200)";
    let full = insert_until_full(&mut c, keys);
    assert!([1653, 1654].contains(&full), "{full}");
    let said = c.execute(keys, &[]).unwrap_err().to_string();
    assert!(said.contains("unable to extend table U.T2") || said.contains("unable to extend index U.T2_V"), "{said}");
    let n = number(&mut c, "select count(*) from t2");
    assert_eq!(number(&mut c, "select /*+ index(t2 t2_v) */ count(*) from t2 where v > ' '"), n);
}

#[test]
fn full_undo_fails_the_statement_and_a_commit_makes_room() {
    let instance = start(&[("_undo_file_max_size", "4M")]);
    let mut c = sysdba(&instance);
    run(&mut c, &["create table t (n number, v varchar2(1000))"]);
    for _ in 0..6 {
        run(&mut c, &["insert into t select level, rpad('x', 900, 'x') from dual connect by level <= 1000", "commit"]);
    }
    run(&mut c, &["insert into t values (0, 'mine')"]);
    assert_eq!(code(&mut c, "update t set v = rpad('y', 900, 'y')"), 30036);
    assert_eq!(number(&mut c, "select count(*) from t where v like 'y%'"), 0);
    assert_eq!(number(&mut c, "select count(*) from t where v = 'mine'"), 1);
    assert_eq!(code(&mut c, "delete from t"), 30036);
    run(&mut c, &["commit"]);
    // In parts it fits, repeatedly.
    for round in 0..2 {
        for k in 0..20 {
            let sql = format!("update t set v = rpad('{round}', 900, '{round}') where mod(n, 20) = {k}");
            run(&mut c, &[&sql, "commit"]);
        }
    }
    assert_eq!(number(&mut c, "select count(*) from t where v like '1%'"), 6001);
}

#[test]
fn more_data_than_the_buffer_cache_holds() {
    let instance = start(&[("db_cache_size", "4M")]);
    let mut c = sysdba(&instance);
    run(&mut c, &["create table t (n number primary key, g number, v varchar2(1000))"]);
    for k in 0..20 {
        let sql = format!(
            "insert into t select level + {}, mod(level, 10), rpad('x', 900, 'x') from dual connect by level <= 1000",
            k * 1000
        );
        run(&mut c, &[&sql, "commit"]);
    }
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let instance = &instance;
            scope.spawn(move || {
                let mut c = sysdba(instance);
                for round in 0..2 {
                    let from = worker * 5000;
                    let sql =
                        format!("update t set g = g + 1 where n > {from} and n <= {} and mod(n, 5) = 0", from + 5000);
                    run(&mut c, &[&sql]);
                    assert_eq!(number(&mut c, "select count(*) from t"), 20_000);
                    run(&mut c, &[if round == 1 { "rollback" } else { "commit" }]);
                    let n = number(&mut c, &format!("select n from t where n = {}", from + 77));
                    assert_eq!(n, from + 77);
                }
            });
        }
    });
    assert_eq!(number(&mut c, "select count(*) from t where length(v) = 900"), 20_000);
    assert_eq!(number(&mut c, "select sum(g) from t"), 20_000 * 9 / 2 + 4000);
    assert_eq!(number(&mut c, "select /*+ full(t) */ sum(n) from t"), 200_010_000);
}

#[test]
fn a_full_result_cache_and_library_cache_go_on() {
    let instance = start(&[
        ("result_cache_max_size", "256K"),
        ("shared_pool_size", "8M"),
        ("result_cache_max_result", "100"),
        ("result_cache_mode", "force"),
    ]);
    let mut c = sysdba(&instance);
    run(&mut c, &["create table t (n number primary key, v varchar2(100))"]);
    run(&mut c, &["insert into t select level, rpad('x', 100, 'x') from dual connect by level <= 2000", "commit"]);
    for k in 1..=3000 {
        assert_eq!(
            number(&mut c, &format!("select /*+ result_cache */ {k} + n from t where n = {}", k % 2000 + 1)),
            k + k % 2000 + 1
        );
    }
    // A result that is too large is not cached and is right all the same.
    for _ in 0..2 {
        assert_eq!(rows(&mut c, "select /*+ result_cache */ n, v from t").len(), 2000);
    }
    run(
        &mut c,
        &[
            "create or replace function f(k number) return varchar2 result_cache is begin return rpad(to_char(k), 900, '.'); end;",
        ],
    );
    run(
        &mut c,
        &[
            "declare v varchar2(1000); begin for i in 1 .. 2000 loop v := f(i); if substr(v, 1, length(i)) <> i then raise program_error; end if; end loop; end;",
        ],
    );
    run(&mut c, &["update t set v = 'y' where n = 5", "commit"]);
    assert_eq!(rows(&mut c, "select /*+ result_cache */ v from t where n = 5"), ["y"]);
}

#[test]
fn exhausted_enqueues_fail_the_statement() {
    let instance = start(&[("processes", "20")]);
    let mut c = sysdba(&instance);
    let mut other = sysdba(&instance);
    let e = c.execute(
        "declare r integer; begin for i in 1 .. 1000000 loop r := dbms_lock.request(i, 6, 0, false); \
         if r <> 0 then raise_application_error(-20000, 'refused ' || r); end if; end loop; end;",
        &[],
    );
    let e = e.expect_err("locks are not without end");
    assert!([52, 53].contains(&e.code()), "{e}");
    // The other session gets its own error, not a crash; when the first one ends there is room again.
    drop(c);
    crate::common::eventually("the locks are free", || {
        other.execute("declare r integer; begin r := dbms_lock.request(7, 6, 0, true); commit; end;", &[]).is_ok()
    });
    // One lock may become free while the first session is still ending.
    crate::common::eventually("a table can be made", || other.execute("create table t (n number)", &[]).is_ok());
    run(&mut other, &["insert into t values (1)", "commit"]);
    assert_eq!(number(&mut other, "select count(*) from t"), 1);
}

#[test]
fn a_scan_over_a_truncated_table_never_returns_other_rows() {
    let instance = start(&[]);
    let (mut a, mut b) = (sysdba(&instance), sysdba(&instance));
    run(&mut a, &["create table t as select level n, rpad('t', 200, 't') v from dual connect by level <= 5000"]);
    for ddl in ["truncate table t", "drop table t"] {
        let open = b.execute_prefetch("select n, v from t", &[], 1).unwrap();
        run(
            &mut a,
            &[ddl, "create table u as select -level n, rpad('u', 200, 'u') v from dual connect by level <= 5000"],
        );
        let mut more = true;
        while more {
            match b.fetch(open.cursor, 500) {
                Ok(o) => {
                    assert!(o.rows.iter().all(|r| crate::common::line(r).contains("|tttt")), "rows of t only");
                    more = o.done.more;
                }
                Err(e) => {
                    assert!([8103, 1410].contains(&e.code()), "{e}");
                    more = false;
                }
            }
        }
        run(&mut a, &["drop table u"]);
        if ddl.starts_with("truncate") {
            run(
                &mut a,
                &["insert into t select level, rpad('t', 200, 't') from dual connect by level <= 5000", "commit"],
            );
        }
    }
}

#[test]
fn an_old_snapshot_gets_its_rows_or_ora_01555() {
    let instance = start(&[("_undo_file_max_size", "4M")]);
    let (mut reader, mut writer) = (sysdba(&instance), sysdba(&instance));
    run(&mut writer, &["create table t as select level n, rpad('0', 400, '0') v from dual connect by level <= 4000"]);
    let open = reader.execute_prefetch("select v from t", &[], 1).unwrap();
    let mut seen = 1;
    let mut round = 0;
    loop {
        round += 1;
        for k in 0..8 {
            let sql = format!("update t set v = rpad('{round}', 400, '{round}') where mod(n, 8) = {k}");
            run(&mut writer, &[&sql, "commit"]);
        }
        match reader.fetch(open.cursor, 50) {
            Ok(o) => {
                assert!(o.rows.iter().all(|r| crate::common::line(r).starts_with("0000")), "rows of the snapshot");
                seen += o.rows.len();
                assert!(round < 20 && o.done.more, "the undo of {round} rounds cannot fit");
            }
            Err(e) => {
                assert_eq!(e.code(), 1555, "{e}");
                break;
            }
        }
    }
    assert!(seen > 0);
    assert_eq!(number(&mut reader, &format!("select count(*) from t where v like '{round}%'")), 4000);
}

#[test]
fn sessions_that_fight_for_undo_stay_consistent() {
    let instance = start(&[("_undo_file_max_size", "3M")]);
    let mut c = sysdba(&instance);
    run(&mut c, &["create table t (g number, n number, v varchar2(500))", "create index t_g on t (g)"]);
    for g in 0..4 {
        let sql = format!("insert into t select {g}, 0, rpad('x', 400, 'x') from dual connect by level <= 1000");
        run(&mut c, &[&sql, "commit"]);
    }
    std::thread::scope(|scope| {
        for g in 0..4 {
            let instance = &instance;
            scope.spawn(move || {
                let mut c = sysdba(instance);
                for round in 0..4 {
                    // Incremented and decremented within a transaction, so that the sum reveals half a transaction.
                    let up =
                        c.execute(&format!("update t set n = n + 1, v = rpad('{round}', 400, 'y') where g = {g}"), &[]);
                    let down = up.and_then(|_| c.execute(&format!("update t set n = n - 1 where g = {g}"), &[]));
                    match down {
                        Ok(_) if round % 3 != 0 => c.commit().unwrap(),
                        Ok(_) => c.rollback().unwrap(),
                        Err(e) => {
                            assert!([30036, 1555].contains(&e.code()), "{e}");
                            c.rollback().unwrap();
                        }
                    }
                    let sum = try_rows(&mut c, "select sum(n) || ',' || count(*) from t");
                    assert!(
                        sum.as_ref().is_ok_and(|s| s == &["0,4000"]) || sum.as_ref().is_err_and(|e| e.code() == 1555),
                        "{sum:?}"
                    );
                }
            });
        }
    });
    assert_eq!(rows(&mut c, "select sum(n), count(*), min(length(v)) from t"), ["0|4000|400"]);
    assert_eq!(number(&mut c, "select /*+ index(t t_g) */ count(*) from t where g >= 0"), 4000);
}
