//! Changing definitions: sessions that read, sessions that run DDL, a row cache with room for a fraction of the
//! dictionary, and sessions that are killed in the middle of DDL.

mod support;

use client::{Client, Ephemeral};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use support::*;
use testing::Random;
use types::Value;

const TABLES: u64 = 40;

fn server_pid(c: &mut Client) -> String {
    one(
        c,
        "select p.spid from v$process p, v$session s where s.paddr = p.addr and s.sid = sys_context('userenv', 'sid')",
    )
}

/// Reads tables with statements that were never parsed before. A table has one row with its number, or does not exist.
fn read(instance: &Ephemeral, seed: u64, ends: &AtomicBool, reads: &AtomicU64) {
    let (mut c, mut random) = (connect(instance), Random::new(seed));
    while !ends.load(Ordering::Relaxed) {
        let (table, other) = (random.below(TABLES), random.next());
        let sql = format!("select n from t{table} where {other} = {other}");
        match c.query(&sql, &[]).and_then(|q| q.all()) {
            Ok(rows) => {
                let number = |value: &Value| if let Value::Number(n) = value { n.as_i64() } else { None };
                assert_eq!(rows.iter().flatten().map(number).collect::<Vec<_>>(), [Some(table as i64)], "{sql}");
            }
            Err(e) => assert_eq!(e.code(), 942, "{sql}: {e}"),
        }
        reads.fetch_add(1, Ordering::Relaxed);
    }
}

/// Changes tables, and checks from another session each time: committed DDL is visible to all sessions at once.
fn define(instance: &Ephemeral, seed: u64, rounds: u64) {
    let (mut c, mut other, mut random) = (connect(instance), connect(instance), Random::new(seed));
    for round in 0..rounds {
        let table = random.below(TABLES);
        match random.below(4) {
            0 => {
                run(&mut c, &format!("drop table t{table}"));
                let gone = refused(&mut other, &format!("select n, {round} from t{table}"));
                assert!(gone.contains("ORA-00942"), "{gone}");
                run(&mut c, &format!("create table t{table} as select {table} n from dual"));
            }
            1 => {
                run(&mut c, &format!("alter table t{table} add c{round} number default {round}"));
                assert_eq!(one(&mut other, &format!("select c{round} from t{table}")), round.to_string());
            }
            2 => {
                run(&mut c, &format!("create index i{round} on t{table} (n, {round})"));
                let count = format!("select count(*) from user_indexes where index_name = 'I{round}'");
                assert_eq!(one(&mut other, &count), "1");
                run(&mut c, &format!("drop index i{round}"));
                assert_eq!(one(&mut other, &count), "0");
            }
            _ => {
                run(&mut c, &format!("create synonym s{round} for t{table}"));
                assert_eq!(one(&mut other, &format!("select n from s{round}")), table.to_string());
                run(&mut c, &format!("drop synonym s{round}"));
            }
        }
    }
}

#[test]
fn definitions_are_those_of_now_with_a_row_cache_that_has_room_for_few() {
    for (seed, generation) in (1..).zip(["12.1", "12.2", "12.2-hot-copies", "latchwork"]) {
        let instance = start(&[("latch_generation", generation), ("_row_cache_objects", "150")]);
        let mut dba = connect(&instance);
        (0..TABLES).for_each(|n| run(&mut dba, &format!("create table t{n} as select {n} n from dual")));
        let (ends, reads) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for n in 0..3 {
                let (instance, ends, reads) = (&instance, &ends, &reads);
                scope.spawn(move || read(instance, seed * 10 + n, ends, reads));
            }
            let definer = scope.spawn(|| define(&instance, seed * 77, 60));
            // A failing reader ends the test itself.
            let done = definer.join();
            ends.store(true, Ordering::Relaxed);
            done.expect("what is defined is seen");
        });
        assert!(reads.load(Ordering::Relaxed) > 20, "{generation}: {reads:?}");
        let cached = "select count(*) from v$rowcache_parent";
        assert!(one(&mut dba, cached).parse::<u64>().expect("a number") <= 150, "{generation}");
    }
}

/// By logical reads: those of a statement that changes a view, with few and with many units of which one names the
/// view.
#[test]
fn ddl_does_not_read_the_texts_of_units_that_name_other_objects() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    run(&mut c, "create table t (n number)");
    run(&mut c, "create view v as select n from t");
    run(
        &mut c,
        "create function names_it return number as x number; begin select max(n) into x from v; return x; end;",
    );
    let create = |c: &mut Client, from: u32, to: u32| {
        for n in from..to {
            let lines = (0..30).map(|i| format!("  v{n}_{i} number := {i};\n")).collect::<String>();
            run(c, &format!("create package p{n} as\n{lines}end;"));
        }
    };
    let reads = |c: &mut Client| -> u64 {
        let sql = "select value from v$mystat m, v$statname n \
                   where m.statistic# = n.statistic# and n.name = 'session logical reads'";
        one(c, sql).parse().expect("a number")
    };
    let cost = |c: &mut Client, n: u32| {
        run(c, &format!("create or replace view v as select n from t where n > {n}"));
        let before = reads(c);
        run(c, &format!("create or replace view v as select n from t where n > {n} + 1"));
        reads(c) - before
    };
    create(&mut c, 0, 20);
    let few = cost(&mut c, 1);
    create(&mut c, 20, 220);
    let many = cost(&mut c, 2);
    assert!(many < few + 100, "{few} logical reads with 20 packages, {many} with 220");
    let status = |c: &mut Client| one(c, "select status from user_objects where object_name = 'NAMES_IT'");
    assert_eq!(status(&mut c), "VALID");
    run(&mut c, "create or replace view v as select n m from t");
    assert_eq!(status(&mut c), "INVALID");
    run(&mut c, "drop function names_it");
    assert_eq!(one(&mut c, "select count(*) from sys.word$ where word = 'NAMES_IT'"), "0");
    // A text that is replaced keeps the words that it still has.
    run(&mut c, "create or replace package p1 as w number; v1_7 number; end;");
    let words = "select listagg(w.word, ' ') within group (order by w.word) from sys.word$ w, user_objects o \
                 where o.object_id = w.obj# and o.object_name = 'P1'";
    assert_eq!(one(&mut c, words), "P1 V1_7 W");
}

#[test]
fn a_session_that_is_killed_in_ddl_leaves_definitions_that_all_agree_about() {
    let instance = start(&[]);
    let mut dba = connect(&instance);
    (0..TABLES).for_each(|n| run(&mut dba, &format!("create table t{n} as select {n} n from dual")));
    let mut random = Random::new(5);
    for round in 0..12u64 {
        let mut victim = connect(&instance);
        let pid = server_pid(&mut victim);
        let delay = random.below(40);
        let killer = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(delay));
            assert!(Command::new("kill").args(["-9", &pid]).status().expect("kill runs").success());
        });
        // Until it is killed.
        let mut added = 0;
        while victim.execute(&format!("alter table t{round} add c{added} number"), &[]).is_ok() {
            added += 1;
        }
        killer.join().expect("the killer ends");
        // The interrupted change is complete or absent, for old and new sessions and for the base tables alike.
        let mut fresh = connect(&instance);
        let count =
            format!("select count(*) from sys.col$ c, sys.obj$ o where o.name = 'T{round}' and c.obj# = o.obj#");
        until("the dead session has been cleaned up", || {
            let there: u64 = one(&mut dba, &count).parse().expect("a number");
            let columns = |c: &mut Client| {
                let described = format!("select column_name from user_tab_columns where table_name = 'T{round}'");
                rows(c, &described).len() as u64
            };
            let selected =
                |c: &mut Client, n: u64| c.query(&format!("select c{n}, {round} from t{round}"), &[]).is_ok();
            let is_last_there = there == added + 2;
            assert!(there == added + 1 || is_last_there, "{there} columns, {added} added");
            let agree = |c: &mut Client| {
                columns(c) == there && (added == 0 || selected(c, added - 1)) && selected(c, added) == is_last_there
            };
            agree(&mut dba) && agree(&mut fresh)
        });
    }
}

/// Around the commit of DDL the row cache is closed for the changed keys, and the dictionary's epoch names the process:
/// PMON releases both.
#[test]
fn a_session_that_dies_around_its_commit_leaves_no_key_closed() {
    for (point, columns) in [("dictionary-announced", 1), ("dictionary-committed", 2)] {
        let instance = start(&[("_crash_point", &format!("{point}:1:session"))]);
        let calm = instance.dir().join(faults::CALM_FILE);
        std::fs::write(&calm, "").expect("a file");
        let (mut dba, mut dying) = (connect(&instance), connect(&instance));
        run(&mut dba, "create table t as select 1 n from dual");
        run(&mut dying, "select n from t");
        std::fs::remove_file(&calm).expect("calm before");
        let died = dying.execute("alter table t add c number", &[]).is_err();
        std::fs::write(&calm, "").expect("a file");
        assert!(died, "{point}");
        let count = "select count(*) from user_tab_columns where table_name = 'T'";
        until("PMON has cleaned up", || one(&mut dba, count) == columns.to_string());
        let mut number = 0;
        let mut parse = |c: &mut Client| {
            number += 1;
            assert_eq!(c.query(&format!("select c, {number} from t"), &[]).is_ok(), columns == 2, "{point}");
            assert_eq!(one(c, &format!("select n, {number} from t")), "1", "{point}");
        };
        // The first session fills the cache; later ones find everything there.
        let misses = "select sum(getmisses) from v$rowcache where cache# in (2, 8, 11, 12)";
        parse(&mut connect(&instance));
        let mut later = connect(&instance);
        parse(&mut later);
        let before = one(&mut dba, misses);
        parse(&mut connect(&instance));
        assert_eq!(one(&mut dba, misses), before, "{point}: keys are closed");
        run(&mut later, "alter table t add d number");
        assert_eq!(one(&mut dba, "select count(d) from t"), "0", "{point}");
    }
}

/// While a session waits, its statement's snapshot of the dictionary is not kept: it would keep deleted index entries
/// for as long.
#[test]
fn a_session_that_waits_for_a_table_keeps_no_deleted_entries() {
    let instance = start(&[("undo_retention", "1")]);
    let (mut holder, mut waiter, mut worker) = (connect(&instance), connect(&instance), connect(&instance));
    run(&mut holder, "create table lk (a number)");
    run(&mut holder, "create table it (a number, b varchar2(40))");
    run(&mut holder, "create index ii on it (a)");
    run(&mut holder, "lock table lk in exclusive mode");
    std::thread::scope(|scope| {
        scope.spawn(|| run(&mut waiter, "lock table lk in share mode"));
        until("the waiter waits", || hang(&instance).contains("enq: TM"));
        run(
            &mut worker,
            "begin for i in 1 .. 20 loop \
             insert into it select i * 1000 + level, rpad('x', 40) from dual connect by level <= 500; commit; \
             delete from it; commit; end loop; end;",
        );
        let blocks = one(&mut worker, "select sum(blocks) from dba_segments where segment_name = 'II'");
        assert!(blocks.parse::<u32>().expect("a number") <= 24, "{blocks} blocks");
        run(&mut holder, "commit");
    });
}

#[test]
fn the_package_of_a_context_sets_its_values() {
    let instance = start(&[]);
    let mut dba = connect(&instance);
    for name in ["u", "v"] {
        make_user(&mut dba, name);
    }
    run(&mut dba, "grant create any context, drop any context to u");
    let mut user = log_on(&instance, "u");
    for sql in [
        "create context app using app_values",
        "create package app_values is
           procedure put(name varchar2, value varchar2);
           procedure forget;
         end;",
        "create package body app_values is
           procedure inner_put(name varchar2, value varchar2) is
           begin
             dbms_session.set_context('app', name, value);
           end;
           procedure put(name varchar2, value varchar2) is
           begin
             inner_put(name, value);
           end;
           procedure forget is
           begin
             dbms_session.clear_context('APP', attribute => 'two');
           end;
         end;",
        "begin app_values.put('one', '1'); app_values.put('two', '2'); end;",
    ] {
        run(&mut user, sql);
    }
    let both = "select sys_context('app', 'ONE') || sys_context('APP', 'two') from dual";
    assert_eq!(one(&mut user, both), "12");
    run(&mut user, "begin app_values.forget; end;");
    assert_eq!(one(&mut user, both), "1");
    let text = refused(&mut user, "begin dbms_session.set_context('APP', 'one', '3'); end;");
    assert!(text.starts_with("ORA-01031"), "{text}");
    assert_eq!(one(&mut dba, both), "", "the values belong to a session");
    let shown = "select namespace, schema, package from dba_context";
    assert_eq!(words(&mut dba, shown), [["APP", "U", "APP_VALUES"]]);
    for (sql, error) in [
        ("create context app using other", "ORA-00955"),
        ("create context userenv using other", "ORA-00955"),
        ("create context sys_x using other", "ORA-28265"),
        ("create context shared using other initialized externally", "ORA-03001"),
        ("drop context nothing", "ORA-04043"),
    ] {
        let text = refused(&mut user, sql);
        assert!(text.starts_with(error), "{sql}: {text}");
    }
    let mut other = log_on(&instance, "v");
    for sql in ["create context mine using other", "drop context app"] {
        let text = refused(&mut other, sql);
        assert!(text.starts_with("ORA-01031"), "{sql}: {text}");
    }
    // With another package the first one is no longer trusted.
    run(&mut user, "create or replace context app using v.other");
    let text = refused(&mut user, "begin app_values.put('one', '4'); end;");
    assert!(text.starts_with("ORA-01031"), "{text}");
    run(&mut user, "drop context app");
    assert_eq!(one(&mut dba, "select count(*) from dba_context"), "0");
}

#[test]
fn sessions_share_the_values_of_a_global_context() {
    let instance = start(&[]);
    let mut dba = connect(&instance);
    make_user(&mut dba, "u");
    run(&mut dba, "grant create any context to u");
    let mut user = log_on(&instance, "u");
    for sql in [
        "create context shared using shared_values accessed globally",
        "create procedure shared_values(name varchar2, value varchar2, for_user varchar2 default null,
           for_client varchar2 default null) is
         begin
           dbms_session.set_context('SHARED', name, value, for_user, for_client);
         end;",
        "create procedure other(name varchar2) is
         begin
           dbms_session.clear_context('SHARED', null, name);
         end;",
        "begin shared_values('a', 'all'); shared_values('a', 'of u', 'u'); shared_values('b', 'client', null, 'c1'); end;",
    ] {
        run(&mut user, sql);
    }
    let a = "select sys_context('shared', 'a') from dual";
    let b = "select sys_context('shared', 'b') from dual";
    assert_eq!(one(&mut user, a), "of u");
    assert_eq!(one(&mut dba, a), "all");
    assert_eq!(one(&mut dba, b), "");
    run(&mut dba, "begin dbms_session.set_identifier('c1'); end;");
    assert_eq!(one(&mut dba, b), "client");
    // A value is there at once and stays when the transaction that set it is rolled back.
    run(&mut user, "begin shared_values('a', 'new'); rollback; end;");
    assert_eq!(one(&mut dba, a), "new");
    let text = refused(&mut user, "begin other('a'); end;");
    assert!(text.starts_with("ORA-01031"), "{text}");
    let shown = "select namespace, type from dba_context";
    assert_eq!(words(&mut dba, shown), [["SHARED", "ACCESSED GLOBALLY"]]);
    run(&mut user, "create or replace context shared using other accessed globally");
    run(&mut user, "begin other('a'); end;");
    assert_eq!(one(&mut dba, a), "");
    assert_eq!(one(&mut user, a), "of u");
}

#[test]
fn sessions_that_set_a_global_value_at_once_leave_one() {
    let instance = start(&[]);
    let mut dba = connect(&instance);
    for sql in [
        "create context shared using shared_values accessed globally",
        "create procedure shared_values(name varchar2, value varchar2) is
         begin
           dbms_session.set_context('SHARED', name, value);
         end;",
    ] {
        run(&mut dba, sql);
    }
    let mut sessions: Vec<_> = (0..4).map(|_| connect(&instance)).collect();
    std::thread::scope(|s| {
        for session in &mut sessions {
            s.spawn(|| run(session, "begin for i in 1 .. 200 loop shared_values('a', i); end loop; end;"));
        }
    });
    assert_eq!(one(&mut dba, "select count(*) || ' ' || min(value) from sys.globalctx$"), "1 200");
    assert_eq!(one(&mut dba, "select sys_context('shared', 'a') from dual"), "200");
}

#[test]
fn values_of_a_global_context_are_bounded() {
    let instance = start(&[]);
    let mut dba = connect(&instance);
    for sql in [
        "create context shared using shared_values accessed globally",
        "create procedure shared_values(name varchar2, value varchar2, for_user varchar2 default null,
           for_client varchar2 default null) is
         begin
           dbms_session.set_context('SHARED', name, value, for_user, for_client);
         end;",
        "begin shared_values(rpad('n', 128, 'n'), rpad('v', 4000, 'v'), rpad('u', 128, 'u'), rpad('c', 64, 'c')); end;",
    ] {
        run(&mut dba, sql);
    }
    for values in [
        "rpad('n', 129, 'n'), 'v'",
        "'n', rpad('v', 4001, 'v')",
        "'n', 'v', rpad('u', 129, 'u')",
        "'n', 'v', null, rpad('c', 65, 'c')",
        "null, 'v'",
    ] {
        let text = refused(&mut dba, &format!("begin shared_values({values}); end;"));
        assert!(text.starts_with("ORA-28106"), "{values}: {text}");
    }
    run(&mut dba, "begin for i in 1 .. 4095 loop shared_values('a' || i, i); end loop; end;");
    let text = refused(&mut dba, "begin shared_values('one_more', 1); end;");
    assert!(text.starts_with("ORA-28106"), "{text}");
    run(&mut dba, "begin shared_values('a7', 'another'); end;");
    assert_eq!(one(&mut dba, "select sys_context('shared', 'a7') from dual"), "another");
}

#[test]
fn a_name_with_dots_is_not_the_package_of_a_context() {
    let instance = start(&[]);
    let mut dba = connect(&instance);
    for sql in [
        "create user u identified by p",
        "create user \"U.A\" identified by p",
        "create context app using u.\"A.B\"",
        "create procedure \"U.A\".b is begin dbms_session.set_context('app', 'n', 'v'); end;",
        "create procedure u.\"A.B\" is begin dbms_session.set_context('app', 'n', 'v'); end;",
    ] {
        run(&mut dba, sql);
    }
    let text = refused(&mut dba, "begin \"U.A\".b; end;");
    assert!(text.starts_with("ORA-01031"), "{text}");
    run(&mut dba, "begin u.\"A.B\"; end;");
    assert_eq!(one(&mut dba, "select sys_context('app', 'n') from dual"), "v");
}

#[test]
fn truncate_cascade_does_not_name_the_tables_of_others() {
    let instance = start(&[]);
    let mut dba = connect(&instance);
    make_user(&mut dba, "u");
    let mut user = log_on(&instance, "u");
    run(&mut user, "create table t (a number primary key)");
    run(&mut user, "grant references on t to system");
    run(&mut dba, "create table system.hidden (a number references u.t)");
    let text = refused(&mut user, "truncate table t cascade");
    assert!(text.starts_with("ORA-01031") && !text.contains("HIDDEN"), "{text}");
    let text = refused(&mut dba, "truncate table u.t cascade");
    assert!(text.starts_with("ORA-14705") && text.contains("HIDDEN"), "{text}");
}
