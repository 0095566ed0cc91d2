//! The figures that `statistics_level` and `timed_statistics` turn on and off.

mod support;

use client::{Client, Credentials, Ephemeral, EphemeralOptions};
use support::run;
use types::Value;

fn start(params: &[(&str, &str)]) -> (Ephemeral, Client) {
    let params = params.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    let executable = Some(env!("CARGO_BIN_EXE_latchwork").into());
    let instance = Ephemeral::start_with(&EphemeralOptions { params, executable }).expect("an instance starts");
    let session = instance.connect(&Credentials::Sysdba).expect("a session opens");
    (instance, session)
}

fn numbers(c: &mut Client, sql: &str) -> Vec<i64> {
    let rows = c.query(sql, &[]).and_then(|q| q.all()).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let number = |v: &Value| match v {
        Value::Number(n) => n.as_i64().expect("a whole number"),
        other => panic!("{sql}: {other:?}"),
    };
    rows.iter().flatten().map(number).collect()
}

/// Executions of a statement with a unique mark, and whether they have elapsed and CPU time.
fn observed(c: &mut Client, mark: &str) -> (i64, bool) {
    let statement = format!("select /* {mark} */ count(*) from t a, t b where a.n + b.n < :x");
    run(
        c,
        &format!(
            "declare k number; begin for i in 1 .. 40 loop execute immediate '{statement}' into k using i; end loop; end;"
        ),
    );
    let sql = format!(
        "select sum(executions), sum(elapsed_time) from v$sql where sql_text like 'select /* {mark} */%' and sql_text not like '%v$sql%'"
    );
    let seen = numbers(c, &sql);
    (seen[0], seen[1] > 0)
}

const STATUS: &str = "select count(*) from v$statistics_level where statistics_name = 'Timed Statistics' \
                      and session_status = 'ENABLED'";

#[test]
fn basic_counts_and_times_nothing() {
    let (_instance, mut c) = start(&[]);
    run(&mut c, "create table t as select level n from dual connect by level <= 60");
    for (setting, mark, timed) in [
        ("statistics_level = typical", "one", true),
        ("statistics_level = basic", "two", false),
        ("timed_statistics = true", "three", true),
        ("statistics_level = all", "four", true),
        ("timed_statistics = false", "five", false),
    ] {
        run(&mut c, &format!("alter session set {setting}"));
        assert_eq!(numbers(&mut c, STATUS), [i64::from(timed)], "{setting}");
        assert_eq!(observed(&mut c, mark), (40, timed), "{setting}");
    }
}

#[test]
fn parses_are_timed_with_executions() {
    let times = "select sum(m.value) from v$sess_time_model m where m.sid = sys_context('userenv', 'sid') \
                 and m.stat_name in ('parse time elapsed', 'hard parse elapsed time')";
    let (_instance, mut c) = start(&[("statistics_level", "BASIC")]);
    assert_eq!(numbers(&mut c, STATUS), [0]);
    assert_eq!(numbers(&mut c, times), [0]);
    run(&mut c, "alter session set statistics_level = typical");
    run(&mut c, "begin for i in 1 .. 50 loop execute immediate 'begin null; /* ' || i || ' */ end;'; end loop; end;");
    assert!(numbers(&mut c, times)[0] > 0);
}
