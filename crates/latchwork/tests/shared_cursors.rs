//! Shared cursors that are executed by sessions which did not compile them: what is a soft parse, whose plan it is, and
//! which changes of the dictionary make it another.

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

/// The rows of a query, columns and rows joined by blanks and semicolons.
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

/// The hard parses of a session while it does something.
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
        run(&mut dba, "begin dbms_stats.gather_table_stats('SYS', 'ONE'); end;");
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
        // Whoever kept the cursor, and whoever finds it, is refused.
        run(&mut o, "revoke select on t from usr");
        for s in [&mut kept, &mut u, &mut log_on(&instance, "usr")] {
            assert!(refused(s, text).contains("ORA-00942"), "{design}");
        }
        // The owner's own cursor of the same text is nobody else's.
        assert_eq!(rows(&mut o, text), "7");
        assert!(refused(&mut u, text).contains("ORA-00942"), "{design}");
        assert_eq!(rows(&mut dba, text), "7");
        assert!(refused(&mut u, text).contains("ORA-00942"), "{design}");
        // By a role that one session of the user has enabled, and another has not.
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
        // A view over what its owner may no longer give away.
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
        // A table of the user's own takes the place of the public synonym's.
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
