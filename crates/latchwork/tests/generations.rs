//! The same history in every generation: the answers do not depend on the design of a cache. Counts of gets and waits
//! differ, and are tested where each design is tested.

use client::{Bind, Client, Credentials, Ephemeral, EphemeralOptions};
use latch::Generation;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use types::{DataType, Number, Value};

fn start(generation: &str) -> Ephemeral {
    let params = vec![("latch_generation".to_string(), generation.to_string())];
    let options = EphemeralOptions { params, executable: Some(PathBuf::from(env!("CARGO_BIN_EXE_latchwork"))) };
    Ephemeral::start_with(&options).unwrap_or_else(|e| panic!("{generation}: the instance starts: {e}"))
}

fn text(v: &Value) -> String {
    match v {
        Value::Null => "-".to_string(),
        Value::Number(n) => n.to_string(),
        Value::Text(t) => t.clone(),
        other => format!("{other:?}"),
    }
}

/// The answer of a statement: rows, the number of rows changed, or the error's number.
fn answer(c: &mut Client, sql: &str, binds: &[Bind]) -> String {
    let is_query = sql.starts_with("select") || sql.starts_with("with");
    let result = if is_query {
        c.query(sql, binds).and_then(|q| q.all()).map(|rows| {
            let row = |row: &Vec<Value>| row.iter().map(text).collect::<Vec<_>>().join(" ");
            rows.iter().map(row).collect::<Vec<_>>().join("; ")
        })
    } else {
        c.execute(sql, binds).map(|outcome| outcome.done.rows.to_string())
    };
    result.unwrap_or_else(|e| e.to_string().chars().take(9).collect())
}

/// The steps: session, statement, and answer.
const HISTORY: &[(usize, &str, &str)] = &[
    (0, "create table gh (id number primary key, boss number, pay number, name varchar2(20))", "0"),
    (0, "create index ghb on gh (boss)", "0"),
    (
        0,
        "insert into gh select level, nullif(trunc(level / 3), 0), level * 10, 'n' || level from dual connect by level <= 60",
        "60",
    ),
    (0, "create sequence ghq cache 5", "0"),
    (0, "create view ghv as select boss, sum(pay) total from gh group by boss", "0"),
    (0, "create synonym ghs for ghv", "0"),
    (0, "commit", "0"),
    // The result cache: built, found, out of date after another session's commit, not used while the session has
    // uncommitted changes.
    (0, "select /*+ result_cache */ count(*), sum(pay) from gh", "60 18300"),
    (1, "select /*+ result_cache */ count(*), sum(pay) from gh", "60 18300"),
    (1, "update gh set pay = pay + 1 where id <= 10", "10"),
    (1, "select /*+ result_cache */ count(*), sum(pay) from gh", "60 18310"),
    (0, "select /*+ result_cache */ count(*), sum(pay) from gh", "60 18300"),
    (1, "commit", "0"),
    (0, "select /*+ result_cache */ count(*), sum(pay) from gh", "60 18310"),
    (
        0,
        "create function ghf(n number) return number result_cache is r number; begin select sum(pay) into r from gh where id <= n; return r; end;",
        "0",
    ),
    (0, "select ghf(3), ghf(3), ghf(4) from dual", "63 63 104"),
    (1, "delete gh where id = 60", "1"),
    (1, "update gh set pay = 0 where id = 1", "1"),
    (0, "select ghf(3) from dual", "63"),
    (1, "commit", "0"),
    (0, "select ghf(3) from dual", "52"),
    (1, "select ghf(3) from dual", "52"),
    // Names: synonyms and views, changes by DDL, missing objects.
    (0, "select total from ghs where boss = 3", "302"),
    (1, "create or replace view ghv as select boss, count(*) total from gh group by boss", "0"),
    (0, "select total from ghs where boss = 3", "3"),
    (1, "drop synonym ghs", "0"),
    (0, "select total from ghs where boss = 3", "ORA-00942"),
    (1, "alter table gh add (extra number default 7)", "0"),
    (0, "select max(extra), count(*) from gh", "7 59"),
    (1, "alter system flush shared_pool", "0"),
    (0, "select max(extra), count(*) from gh", "7 59"),
    (0, "insert into gh (id) values (1)", "ORA-00001"),
    (0, "select ghq.nextval, ghq.nextval from dual", "1 1"),
    (0, "select ghq.nextval from dual", "2"),
    (0, "select count(*) from nls_database_parameters where parameter = 'NLS_CHARACTERSET'", "1"),
    (0, "select value from nls_database_parameters where parameter = 'NLS_CALENDAR'", "GREGORIAN"),
    // Hierarchies by index probes and ranges, one block again and again.
    (
        0,
        "select count(*), max(level), sum(connect_by_isleaf) from gh start with boss is null connect by prior id = boss",
        "59 4 40",
    ),
    (1, "select sum(a.pay) from gh a, gh b where a.id = b.boss and b.id > 50", "1620"),
    // Consistent reads with open changes, and rollback.
    (1, "update gh set pay = -1", "59"),
    (0, "select min(pay), max(pay) from gh", "0 590"),
    (1, "savepoint s", "0"),
    (1, "delete gh", "59"),
    (1, "rollback to s", "0"),
    (1, "select min(pay), max(pay), count(*) from gh", "-1 -1 59"),
    (1, "rollback", "0"),
    (1, "select min(pay), max(pay), count(*) from gh", "0 590 59"),
    (0, "drop table gh", "0"),
    (1, "select count(*) from gh", "ORA-00942"),
];

#[test]
fn one_history_has_the_same_answers_in_every_generation() {
    for generation in Generation::NAMES {
        let instance = start(generation);
        let mut sessions: Vec<Client> =
            (0..2).map(|_| instance.connect(&Credentials::Sysdba).expect("a session opens")).collect();
        let mut wrong = Vec::new();
        for (who, sql, expected) in HISTORY {
            let answer = answer(&mut sessions[*who], sql, &[]);
            if answer != *expected {
                wrong.push(format!("{sql}\n  is {answer}, should be {expected}"));
            }
        }
        assert!(wrong.is_empty(), "{generation}:\n{}", wrong.join("\n"));
        // A background process may hold a latch while it waits for a processor.
        let until = Instant::now() + Duration::from_secs(60);
        while answer(&mut sessions[0], "select count(*) from v$latchholder", &[]) != "0" {
            assert!(Instant::now() < until, "{generation}: a latch is held");
        }
    }
}

#[test]
fn cursors_are_shared_and_their_executions_counted_in_every_generation() {
    for generation in Generation::NAMES {
        let instance = start(generation);
        let mut sessions: Vec<Client> =
            (0..3).map(|_| instance.connect(&Credentials::Sysdba).expect("a session opens")).collect();
        assert_eq!(answer(&mut sessions[0], "create table gc (n number)", &[]), "0");
        let sql = "select count(*) from gc where n = :1";
        for round in 0..40 {
            for session in &mut sessions {
                let bind = Bind::input(DataType::NUMBER, Value::Number(Number::from_i64(round)));
                assert_eq!(answer(session, sql, &[bind]), "0", "{generation}");
            }
        }
        let figures = "select version_count, loads, executions, parse_calls from v$sqlarea where sql_text like 'select count(*) from gc%'";
        assert_eq!(answer(&mut sessions[0], figures, &[]), "1 1 120 120", "{generation}");
    }
}
