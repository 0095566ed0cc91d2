//! Shared cursors executed by sessions that did not compile them: soft parses, the owner of the plan, and the
//! dictionary changes that make another plan.

use client::{Client, Credentials, Ephemeral, EphemeralOptions};
use types::Value;

fn instance(design: &str) -> Ephemeral {
    let options = EphemeralOptions {
        executable: Some(env!("CARGO_BIN_EXE_latchwork").into()),
        params: vec![("_library_cache_design".into(), design.into())],
    };
    Ephemeral::start_with(&options).expect("an instance starts")
}

fn run(session: &mut Client, sql: &str) {
    session.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
}

fn try_rows(session: &mut Client, sql: &str) -> Result<String, String> {
    let rows = session.query(sql, &[]).and_then(|q| q.all()).map_err(|e| e.to_string())?;
    let text = |v: &Value| match v {
        Value::Null => "-".to_string(),
        Value::Text(s) => s.clone(),
        Value::Number(n) => n.to_string(),
        other => format!("{other:?}"),
    };
    let row = |row: &Vec<Value>| row.iter().map(text).collect::<Vec<_>>().join(" ");
    Ok(rows.iter().map(row).collect::<Vec<_>>().join(";"))
}

/// The rows of a query; columns are joined by blanks, rows by semicolons.
fn rows(session: &mut Client, sql: &str) -> String {
    try_rows(session, sql).unwrap_or_else(|e| panic!("{sql}: {e}"))
}

/// The error of a statement.
fn refused(session: &mut Client, sql: &str) -> String {
    try_rows(session, sql).expect_err(sql)
}

fn hard_parses(s: &mut Client) -> u64 {
    let sql = "select s.value from v$mystat s, v$statname n where n.statistic# = s.statistic# \
               and n.name = 'parse count (hard)'";
    rows(s, sql).parse().expect("a number")
}

/// The hard parses of a session while `f` runs.
fn hard(s: &mut Client, f: impl FnOnce(&mut Client)) -> u64 {
    hard_parses(s);
    let before = hard_parses(s);
    f(s);
    hard_parses(s) - before
}

fn user(instance: &Ephemeral, dba: &mut Client, name: &str) -> Client {
    run(dba, &format!("create user {name} identified by p default tablespace users quota unlimited on users"));
    run(dba, &format!("grant create session, create table, create synonym, create procedure, create view to {name}"));
    for view in ["v_$mystat", "v_$statname"] {
        run(dba, &format!("grant select on {view} to {name}"));
    }
    log_on(instance, name)
}

fn log_on(instance: &Ephemeral, name: &str) -> Client {
    let password = Credentials::Password { user: name.into(), password: "p".into() };
    instance.connect(&password).expect("the user connects")
}

const DESIGNS: [&str; 4] = ["latch", "pins", "mutex", "versioned"];

#[test]
fn a_plan_is_made_once_for_all_sessions_and_again_only_for_what_has_changed() {
    for design in DESIGNS {
        let instance = instance(design);
        let mut dba = instance.connect(&Credentials::Sysdba).expect("the owner connects");
        let mut t = instance.connect(&Credentials::Sysdba).expect("the owner connects");
        for sql in [
            "create table one (n number primary key, v varchar2(10))",
            "create table two (n number primary key, v varchar2(10))",
            "insert into one values (1, 'a')",
            "insert into two values (2, 'b')",
            "create sequence three",
            "create or replace function four (n number) return number is begin return n * 4; end;",
            "commit",
        ] {
            run(&mut dba, sql);
        }
        let texts = [
            ("select v from one where n = 1", "a"),
            ("select v from two where n in (select n from two where v like 'b%' group by n having count(*) = 1)", "b"),
            ("select count(three.nextval) from two", ""),
            ("select four(n) from two", "8"),
            ("with w as (select n, row_number() over (order by v) r from two) select r from w", "1"),
        ];
        for (text, expected) in texts.iter().filter(|(_, expected)| !expected.is_empty()) {
            assert_eq!(rows(&mut dba, text), *expected, "{design}: {text}");
            let soft = hard(&mut t, |t| assert_eq!(rows(t, text), *expected, "{design}: {text}"));
            assert_eq!(soft, 0, "{design}: {text}");
        }
        run(&mut dba, "update two set v = 'c' where n = 2");
        run(&mut dba, "rollback");
        assert_eq!(hard(&mut t, |t| run(t, "update two set v = 'c' where n = 2")), 0, "{design}");
        run(&mut t, "rollback");
        // Statistics of one table: the other's cursor stays, in the library cache and in the session.
        run(&mut dba, "begin dbms_stats.gather_table_stats('SYS', 'ONE', no_invalidate => true); end;");
        assert_eq!(hard(&mut t, |t| assert_eq!(rows(t, texts[0].0), "a")), 0, "{design}: it was to stay");
        run(&mut dba, "begin dbms_stats.gather_table_stats('SYS', 'ONE', no_invalidate => false); end;");
        let again = hard(&mut t, |t| assert_eq!(rows(t, texts[1].0), "b"));
        assert_eq!(again, 0, "{design}: a cursor was compiled for the statistics of another table");
        assert_eq!(hard(&mut t, |t| assert_eq!(rows(t, texts[0].0), "a")), 1, "{design}");
        assert_eq!(hard(&mut dba, |t| assert_eq!(rows(t, texts[0].0), "a")), 0, "{design}");
        let counts = "select loads || ' ' || invalidations from v$sql where sql_text like 'select v from {}%'";
        assert_eq!(rows(&mut dba, &counts.replace("{}", "one")), "2 1", "{design}");
        assert_eq!(rows(&mut dba, &counts.replace("{}", "two")), "1 0", "{design}");
        // The longer plan takes more memory.
        let memory = "select (select sharable_mem from v$sql where sql_text like 'select v from two%') \
                      - (select sharable_mem from v$sql where sql_text like 'select v from one%') from dual";
        assert!(rows(&mut dba, memory).parse::<i64>().is_ok_and(|more| more > 0), "{design}");
        // DDL of one table, and one that is new.
        run(&mut dba, "alter table one add (w number)");
        run(&mut dba, "create table five (n number)");
        assert_eq!(hard(&mut t, |t| assert_eq!(rows(t, texts[1].0), "b")), 0, "{design}");
        assert_eq!(hard(&mut t, |t| assert_eq!(rows(t, texts[0].0), "a")), 1, "{design}");
        run(&mut dba, "create or replace function four (n number) return number is begin return n * 5; end;");
        assert_eq!(rows(&mut t, texts[3].0), "10", "{design}");
        run(&mut dba, "drop table two");
        assert!(refused(&mut t, texts[1].0).contains("ORA-00942"), "{design}");
    }
}

/// A session's parse calls, hard parses and hits of the session cursor cache while it describes a text.
fn described(s: &mut Client, text: &str) -> (Vec<String>, [u64; 3]) {
    let counts = |s: &mut Client| {
        ["parse count (total)", "parse count (hard)", "session cursor cache hits"].map(|name| {
            let sql = format!(
                "select s.value from v$mystat s, v$statname n where n.statistic# = s.statistic# and n.name = '{name}'"
            );
            // Each query counts itself, and the others between it and the next.
            rows(s, &sql).parse::<u64>().expect("a number")
        })
    };
    // By then the session has kept these queries, if it keeps any.
    for _ in 0..3 {
        counts(s);
    }
    let (first, before) = (counts(s), counts(s));
    let columns = s.describe(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    let after = counts(s);
    let own = std::array::from_fn(|n| after[n] - before[n] - (before[n] - first[n]));
    (columns.into_iter().map(|c| c.name).collect(), own)
}

#[test]
fn a_call_that_only_describes_is_a_parse_call_with_a_shared_cursor() {
    for design in ["mutex", "versioned"] {
        let instance = instance(design);
        let mut dba = instance.connect(&Credentials::Sysdba).expect("the owner connects");
        let mut t = instance.connect(&Credentials::Sysdba).expect("the owner connects");
        for s in [&mut dba, &mut t] {
            run(s, "alter session set session_cached_cursors = 0");
        }
        run(&mut dba, "create table one (n number primary key, v varchar2(10))");
        run(&mut dba, "insert into one values (1, 'a')");
        run(&mut dba, "commit");
        let names = vec!["N".to_string(), "V".to_string()];
        let text = "select n, v from one where n = 1";
        assert_eq!(described(&mut dba, text), (names.clone(), [1, 1, 0]), "{design}: it is made");
        for s in [&mut dba, &mut t] {
            assert_eq!(described(s, text), (names.clone(), [1, 0, 0]), "{design}: it is found");
            assert_eq!(hard(s, |s| assert_eq!(rows(s, text), "1 a")), 0, "{design}: its execution finds it, too");
        }
        let figures = "select parse_calls || ' ' || executions || ' ' || loads from v$sql where sql_text = '{}'";
        let of = |text: &str| figures.replace("{}", &text.replace('\'', "''"));
        assert_eq!(rows(&mut dba, &of(text)), "5 2 1", "{design}");
        // DML has no columns, and describing it changes nothing.
        let delete = "delete from one where n = 1";
        assert_eq!(described(&mut t, delete), (Vec::new(), [1, 1, 0]), "{design}");
        assert_eq!(described(&mut dba, delete), (Vec::new(), [1, 0, 0]), "{design}");
        assert_eq!(rows(&mut dba, "select count(*) from one"), "1", "{design}");
        // A statement with binds is described without their types, with any names of the binds.
        let by_name = "select n from one where n = :a or n = :a + 1";
        assert_eq!(described(&mut t, by_name).1, [1, 1, 0], "{design}");
        assert_eq!(described(&mut t, by_name).1, [1, 0, 0], "{design}");
        // Its base table has changed, then is gone.
        run(&mut dba, "alter table one add (w number)");
        assert_eq!(described(&mut t, text), (names.clone(), [1, 1, 0]), "{design}");
        let stars = "select * from one";
        assert_eq!(described(&mut t, stars).0, ["N", "V", "W"], "{design}");
        run(&mut dba, "alter table one drop column w");
        assert_eq!(described(&mut t, stars), (names.clone(), [1, 1, 0]), "{design}");
        run(&mut dba, "drop table one");
        for s in [&mut dba, &mut t] {
            let error = s.describe(text).expect_err("the table has gone").to_string();
            assert!(error.contains("ORA-00942"), "{design}: {error}");
        }
        // A text that is described repeatedly is kept.
        run(&mut t, "alter session set session_cached_cursors = 50");
        let kept = "select dummy from dual d";
        for _ in 0..3 {
            described(&mut t, kept);
        }
        assert_eq!(described(&mut t, kept), (vec!["DUMMY".into()], [1, 0, 1]), "{design}: a hit");
        assert_eq!(rows(&mut t, kept), "X", "{design}");
    }
}

#[test]
fn a_description_is_refused_without_the_privilege_whoever_has_made_the_cursor() {
    let instance = instance("versioned");
    let mut dba = instance.connect(&Credentials::Sysdba).expect("the owner connects");
    let mut o = user(&instance, &mut dba, "own");
    let mut u = user(&instance, &mut dba, "usr");
    run(&mut o, "create table t (n number)");
    let text = "select n from own.t";
    let is_refused = |s: &mut Client| s.describe(text).is_err_and(|e| e.to_string().contains("ORA-00942"));
    for _ in 0..4 {
        o.describe(text).expect("its own table");
        dba.describe(text).expect("any table");
        assert!(is_refused(&mut u));
    }
    run(&mut o, "grant select on t to usr");
    for _ in 0..4 {
        u.describe(text).expect("it is granted");
    }
    run(&mut o, "revoke select on t from usr");
    assert!(is_refused(&mut u), "the session has kept the cursor");
    assert!(is_refused(&mut log_on(&instance, "usr")), "the shared cursor is there");
}

#[test]
fn a_cursor_is_executed_only_with_the_privileges_that_it_was_compiled_with() {
    for design in ["mutex", "versioned"] {
        let instance = instance(design);
        let mut dba = instance.connect(&Credentials::Sysdba).expect("the owner connects");
        let mut o = user(&instance, &mut dba, "own");
        let mut u = user(&instance, &mut dba, "usr");
        let mut kept = log_on(&instance, "usr");
        for sql in ["create table t (n number)", "insert into t values (7)", "commit", "grant select on t to usr"] {
            run(&mut o, sql);
        }
        let text = "select n from own.t";
        for _ in 0..5 {
            assert_eq!(rows(&mut kept, text), "7");
        }
        assert_eq!(hard(&mut u, |u| assert_eq!(rows(u, text), "7")), 0, "{design}");
        // A kept cursor and a shared one are refused alike.
        run(&mut o, "revoke select on t from usr");
        for s in [&mut kept, &mut u, &mut log_on(&instance, "usr")] {
            assert!(refused(s, text).contains("ORA-00942"), "{design}");
        }
        // The owner's cursor with the same text is not used for others.
        assert_eq!(rows(&mut o, text), "7");
        assert!(refused(&mut u, text).contains("ORA-00942"), "{design}");
        assert_eq!(rows(&mut dba, text), "7");
        assert!(refused(&mut u, text).contains("ORA-00942"), "{design}");
        // Through a role that one session of the user has enabled, and another has not.
        run(&mut dba, "create role rol");
        run(&mut o, "grant select on t to rol");
        run(&mut dba, "grant rol to usr");
        let mut with = log_on(&instance, "usr");
        let mut without = log_on(&instance, "usr");
        run(&mut without, "set role none");
        for _ in 0..5 {
            assert_eq!(rows(&mut with, text), "7", "{design}");
            assert!(refused(&mut without, text).contains("ORA-00942"), "{design}");
        }
        run(&mut with, "set role none");
        assert!(refused(&mut with, text).contains("ORA-00942"), "{design}");
        // A unit of definer's rights has no roles.
        let dynamic = "create or replace function f return number is n number; \
                       begin execute immediate 'select n from own.t' into n; return n; end;";
        let mut again = log_on(&instance, "usr");
        run(&mut again, dynamic);
        assert_eq!(rows(&mut again, text), "7", "{design}");
        assert!(refused(&mut again, "select f from dual").contains("ORA-00942"), "{design}");
        // A system privilege.
        run(&mut dba, "revoke rol from usr");
        run(&mut dba, "grant select any table to usr");
        let mut any = log_on(&instance, "usr");
        assert_eq!(rows(&mut any, text), "7", "{design}");
        assert_eq!(rows(&mut again, "select f from dual"), "7", "{design}");
        run(&mut dba, "revoke select any table from usr");
        assert!(refused(&mut any, text).contains("ORA-00942"), "{design}");
        assert!(refused(&mut again, "select f from dual").contains("ORA-00942"), "{design}");
        // A view over an object that its owner may no longer grant.
        run(&mut o, "grant select on t to usr with grant option");
        run(&mut again, "create view v as select n from own.t");
        run(&mut again, "grant select on v to own");
        assert_eq!(rows(&mut o, "select n from usr.v"), "7", "{design}");
        run(&mut o, "revoke select on t from usr");
        assert!(try_rows(&mut o, "select n from usr.v").is_err(), "{design}");
        // An update that was allowed.
        run(&mut o, "grant select, update on t to usr");
        for s in [&mut kept, &mut u] {
            run(s, "update own.t set n = 8 where n = 9");
            run(s, "commit");
        }
        run(&mut o, "revoke update on t from usr");
        for s in [&mut kept, &mut u] {
            let error = s.execute("update own.t set n = 8 where n = 9", &[]).expect_err("it is refused").to_string();
            assert!(error.contains("ORA-01031"), "{design}: {error}");
        }
    }
}

/// The children of a statement: how many are valid, and those with a reason, by the columns of `v$sql_shared_cursor`.
fn children(dba: &mut Client, text: &str) -> String {
    let text = text.replace('\'', "''");
    rows(
        dba,
        &format!(
            "select count(*) || ' ' || count(decode(c.translation_mismatch, 'Y', 1)) || ' ' || \
             count(decode(c.auth_check_mismatch, 'Y', 1)) from v$sql_shared_cursor c, v$sql s \
             where c.sql_id = s.sql_id and c.child_number = s.child_number and s.sql_text = '{text}'"
        ),
    )
}

#[test]
fn users_share_a_cursor_while_its_names_mean_the_same_to_them_and_may_be_used() {
    for design in DESIGNS {
        let instance = instance(design);
        let mut dba = instance.connect(&Credentials::Sysdba).expect("the owner connects");
        let mut o = user(&instance, &mut dba, "own");
        let mut a = user(&instance, &mut dba, "ann");
        let mut b = user(&instance, &mut dba, "bob");
        let mut nobody = user(&instance, &mut dba, "nob");
        for sql in [
            "create table t (n number, m number)",
            "insert into t values (7, 8)",
            "commit",
            "grant select, update on t to ann",
            "grant select, update (n) on t to bob",
        ] {
            run(&mut o, sql);
        }
        let text = "select n from own.t";
        let no_table = |s: &mut Client, text: &str| assert!(refused(s, text).contains("ORA-00942"), "{design}: {text}");
        assert_eq!(hard(&mut a, |s| assert_eq!(rows(s, text), "7")), 1, "{design}");
        for s in [&mut b, &mut o, &mut dba] {
            assert_eq!(hard(s, |s| assert_eq!(rows(s, text), "7")), 0, "{design}: another's cursor");
            no_table(&mut nobody, text);
            assert!(nobody.describe(text).is_err(), "{design}");
        }
        assert_eq!(children(&mut dba, text), "1 0 0", "{design}");
        // The next execution detects that a privilege was revoked, with a kept cursor and with a shared one.
        for _ in 0..4 {
            assert_eq!(rows(&mut b, text), "7", "{design}");
        }
        run(&mut o, "revoke select on t from bob");
        // The user may still update it, so its existence is not hidden.
        for s in [&mut b, &mut log_on(&instance, "bob")] {
            assert!(refused(s, text).contains("ORA-01031"), "{design}");
        }
        assert_eq!(rows(&mut a, text), "7", "{design}");
        run(&mut o, "grant select on t to bob");
        assert_eq!(rows(&mut a, text), "7", "{design}");
        assert_eq!(hard(&mut b, |s| assert_eq!(rows(s, text), "7")), 0, "{design}");
        assert_eq!(children(&mut dba, text), "1 0 0", "{design}");
        // Through a role that may be disabled.
        run(&mut dba, "create role reads");
        run(&mut o, "grant select on t to reads");
        run(&mut dba, "grant reads to nob");
        let mut by_role = log_on(&instance, "nob");
        assert_eq!(rows(&mut a, text), "7", "{design}");
        assert_eq!(hard(&mut by_role, |s| assert_eq!(rows(s, text), "7")), 0, "{design}");
        run(&mut by_role, "set role none");
        no_table(&mut by_role, text);
        no_table(&mut nobody, text);
        // A table that one user may update as a whole and another in one column; each user's privilege is checked.
        let change = "update own.t set n = 7";
        for s in [&mut a, &mut b] {
            assert_eq!(rows(s, text), "7", "{design}");
        }
        run(&mut a, change);
        run(&mut a, "commit");
        assert_eq!(hard(&mut b, |s| run(s, change)), 1, "{design}: by another privilege");
        run(&mut b, "commit");
        assert_eq!(children(&mut dba, change), "2 0 1", "{design}");
        let of_m = "update own.t set m = 8";
        run(&mut a, of_m);
        run(&mut a, "commit");
        for _ in 0..4 {
            let error = b.execute(of_m, &[]).expect_err("it is refused").to_string();
            assert!(error.contains("ORA-01031"), "{design}: {error}");
        }
        // One name, two tables.
        for (s, n) in [(&mut a, 1), (&mut b, 2)] {
            run(s, "create table x (n number)");
            run(s, &format!("insert into x values ({n})"));
            run(s, "commit");
        }
        let own = "select n from x";
        for _ in 0..4 {
            assert_eq!(rows(&mut a, own), "1", "{design}");
            assert_eq!(rows(&mut b, own), "2", "{design}");
            no_table(&mut nobody, own);
        }
        assert_eq!(children(&mut dba, own), "2 1 0", "{design}");
        // The schema for name resolution does not affect privileges.
        run(&mut a, "grant select on x to bob");
        assert_eq!(rows(&mut a, own), "1", "{design}");
        run(&mut b, "alter session set current_schema = ann");
        assert_eq!(hard(&mut b, |s| assert_eq!(rows(s, own), "1")), 0, "{design}");
        run(&mut b, "alter session set current_schema = bob");
        assert_eq!(rows(&mut b, own), "2", "{design}");
        // The session affects the result of a cursor, not the cursor.
        let who = "select user, sys_context('userenv', 'current_user'), n from own.t";
        assert_eq!(rows(&mut a, who), "ANN ANN 7", "{design}");
        assert_eq!(hard(&mut b, |s| assert_eq!(rows(s, who), "BOB BOB 7")), 0, "{design}");
        // A view that its owner may not grant.
        run(&mut a, "create view v as select n from own.t");
        run(&mut o, "grant select on t to ann with grant option");
        run(&mut a, "grant select on v to bob");
        let view = "select n from ann.v";
        assert_eq!(rows(&mut a, view), "7", "{design}");
        assert_eq!(hard(&mut b, |s| assert_eq!(rows(s, view), "7")), 0, "{design}");
        run(&mut o, "revoke select on t from ann");
        run(&mut o, "grant select on t to ann");
        assert_eq!(rows(&mut a, view), "7", "{design}");
        assert!(try_rows(&mut b, view).is_err(), "{design}: the owner of the view may not give that away any more");
        // A user with all privileges, and one who has lost them.
        let any = "select m from own.t where n = 7";
        assert_eq!(rows(&mut dba, any), "8", "{design}");
        no_table(&mut nobody, any);
        run(&mut dba, "grant select any table to nob");
        assert_eq!(rows(&mut dba, any), "8", "{design}");
        assert_eq!(hard(&mut nobody, |s| assert_eq!(rows(s, any), "8")), 0, "{design}");
        run(&mut dba, "revoke select any table from nob");
        no_table(&mut nobody, any);
    }
}

#[test]
fn a_name_that_means_something_else_by_now_makes_another_cursor() {
    for design in ["latch", "versioned"] {
        let instance = instance(design);
        let mut dba = instance.connect(&Credentials::Sysdba).expect("the owner connects");
        let mut o = user(&instance, &mut dba, "own");
        let mut u = user(&instance, &mut dba, "usr");
        let mut kept = log_on(&instance, "usr");
        for sql in ["create table x (n number)", "insert into x values (1)", "commit", "grant select on x to public"] {
            run(&mut o, sql);
        }
        run(&mut dba, "create public synonym x for own.x");
        let text = "select n from x";
        let all = |expected: &str, sessions: [&mut Client; 2]| {
            for s in sessions {
                for _ in 0..4 {
                    assert_eq!(rows(s, text), expected, "{design}");
                }
            }
        };
        all("1", [&mut kept, &mut u]);
        assert_eq!(rows(&mut o, text), "1");
        // A table of the user's own replaces the public synonym's.
        run(&mut u, "create table x (n number)");
        run(&mut u, "insert into x values (2)");
        run(&mut u, "commit");
        all("2", [&mut kept, &mut u]);
        assert_eq!(rows(&mut o, text), "1", "{design}: each has its own");
        run(&mut u, "drop table x");
        all("1", [&mut kept, &mut u]);
        // A private synonym for another table.
        run(&mut o, "create table y (n number)");
        run(&mut o, "insert into y values (3)");
        run(&mut o, "commit");
        run(&mut o, "grant select on y to usr");
        run(&mut u, "create synonym x for own.y");
        all("3", [&mut kept, &mut u]);
        run(&mut u, "drop synonym x");
        run(&mut u, "create synonym x for own.x");
        all("1", [&mut kept, &mut u]);
        // CURRENT_SCHEMA.
        run(&mut u, "drop synonym x");
        run(&mut u, "create table x (n number)");
        all("", [&mut kept, &mut u]);
        run(&mut kept, "alter session set current_schema = own");
        assert_eq!(rows(&mut kept, text), "1", "{design}");
        assert_eq!(rows(&mut u, text), "", "{design}");
        let why = "select count(*) from v$sql_shared_cursor c, v$sql s where c.sql_id = s.sql_id \
                   and c.child_number = s.child_number and s.sql_text = 'select n from x' \
                   and (c.auth_check_mismatch = 'Y' or c.translation_mismatch = 'Y')";
        assert_ne!(rows(&mut dba, why), "0", "{design}");
    }
}
