//! Metrics: the counts of the last intervals, as rates.

mod support;

use client::{Client, Credentials};
use std::time::{Duration, Instant};
use support::{run, start};
use types::Value;

fn real(c: &mut Client, sql: &str) -> f64 {
    let rows = c.query(sql, &[]).and_then(|q| q.all()).unwrap_or_else(|e| panic!("{sql}: {e}"));
    match rows.first().map(|row| &row[0]) {
        Some(Value::Number(n)) => n.to_f64(),
        other => panic!("{sql}: {other:?}"),
    }
}

/// Waits until a query returns at least this value.
fn until(c: &mut Client, sql: &str, least: f64) {
    let end = Instant::now() + Duration::from_secs(60);
    while real(c, sql) < least {
        assert!(Instant::now() < end, "{sql} stays below {least}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn rates_times_intervals_are_what_was_counted() {
    let instance = start(&[("_metric_interval", "250")]);
    let mut c = instance.connect(&Credentials::Sysdba).expect("a session");
    run(&mut c, "create table t (n number)");
    let longs = "select count(*) from v$sysmetric_history where group_id = 2 and metric_id = 2003";
    until(&mut c, longs, 1.0);
    let before = real(&mut c, longs);
    run(&mut c, "begin for i in 1 .. 3000 loop insert into t values (i); commit; end loop; end;");
    let commits = "select value from v$sysstat where name = 'user commits'";
    let all = real(&mut c, commits);
    // The interval of the last of them has ended, too.
    let behind = real(&mut c, longs);
    until(&mut c, longs, behind + 2.0);
    // The intervals that are kept reach back to the start of MMNL; there were few commits before. The length of an
    // interval is truncated to hundredths of a second.
    let mut sum = |of: &str| {
        real(&mut c, &format!("select sum({of}) from v$sysmetric_history where group_id = 2 and metric_id = 2022"))
    };
    let (least, most) = (sum("value * intsize_csec / 100"), sum("value * (intsize_csec + 1) / 100"));
    assert!(least <= all + 0.01 && most >= 3000.0, "{least} to {most} of {all} commits");
    let hit =
        real(&mut c, "select value from v$sysmetric where group_id = 2 and metric_name = 'Buffer Cache Hit Ratio'");
    assert!((0.0..=100.0).contains(&hit), "{hit}");
    let names = "select count(*) from v$metricname n where not exists (select null from v$sysmetric m where m.metric_id = n.metric_id \
                 and m.group_id = n.group_id and m.metric_name = n.metric_name and m.metric_unit = n.metric_unit)";
    assert_eq!(real(&mut c, names), 0.0);
    // Events and classes are of the same interval.
    assert_eq!(
        real(&mut c, "select count(*) from v$waitclassmetric"),
        real(&mut c, "select count(distinct wait_class) from v$event_name")
    );
    assert!(real(&mut c, "select count(*) from v$eventmetric where wait_count > 0 or num_sess_waiting > 0") > 0.0);

    // A snapshot stores the intervals that ended since the previous one, each once.
    let snapshot = "begin dbms_workload_repository.create_snapshot; end;";
    run(&mut c, snapshot);
    let kept = "select min(num_interval) from dba_hist_sysmetric_summary where snap_id = 1";
    assert!(real(&mut c, kept) >= before + 2.0);
    let metrics = "select count(*) from dba_hist_sysmetric_summary where snap_id = 1";
    assert_eq!(real(&mut c, metrics), real(&mut c, "select count(*) from v$metricname where group_id = 2"));
    let wrong = "select count(*) from dba_hist_sysmetric_summary where minval > average + 1e-9 or maxval < average - 1e-9 or num_interval < 1";
    assert_eq!(real(&mut c, wrong), 0.0);
    let most =
        "select maxval from dba_hist_sysmetric_summary where snap_id = 1 and metric_name = 'User Commits Per Sec'";
    let mean = "select sum(value * intsize_csec) / sum(intsize_csec + 1) from v$sysmetric_history where group_id = 2 and metric_id = 2022";
    let mean = real(&mut c, mean);
    assert!(mean > 0.0 && real(&mut c, most) >= mean, "{mean}");
}

#[test]
fn nothing_is_metered_at_the_basic_level() {
    let instance = start(&[("_metric_interval", "50"), ("statistics_level", "basic")]);
    let mut c = instance.connect(&Credentials::Sysdba).expect("a session");
    run(&mut c, "begin dbms_lock.sleep(0.5); end;");
    assert_eq!(real(&mut c, "select count(*) from v$sysmetric"), 0.0);
    run(&mut c, "alter system set statistics_level = typical");
    until(&mut c, "select count(*) from v$sysmetric where group_id = 2", 1.0);
}
