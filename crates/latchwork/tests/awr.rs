//! The workload repository: snapshots, baselines, and reports whose figures are those of the views.

use client::{Client, Credentials, Ephemeral, EphemeralOptions};
use std::path::PathBuf;
use std::process::Command;
use types::Value;

fn start(params: &[(&str, &str)]) -> Ephemeral {
    let params = params.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    let options = EphemeralOptions { params, executable: Some(PathBuf::from(env!("CARGO_BIN_EXE_latchwork"))) };
    Ephemeral::start_with(&options).unwrap_or_else(|e| panic!("the instance starts: {e}"))
}

fn connect(instance: &Ephemeral) -> Client {
    instance.connect(&Credentials::Sysdba).unwrap_or_else(|e| panic!("a session opens: {e}"))
}

fn run(c: &mut Client, sql: &str) {
    c.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
}

fn refused(c: &mut Client, sql: &str) -> String {
    c.execute(sql, &[]).expect_err(sql).to_string()
}

fn rows(c: &mut Client, sql: &str) -> Vec<Vec<Value>> {
    c.query(sql, &[]).and_then(|q| q.all()).unwrap_or_else(|e| panic!("{sql}: {e}"))
}

fn text(c: &mut Client, sql: &str) -> String {
    let line = |row: &Vec<Value>| if let Value::Text(t) = &row[0] { t.clone() } else { String::new() };
    rows(c, sql).iter().map(line).collect::<Vec<_>>().join("\n")
}

fn number(c: &mut Client, sql: &str) -> i64 {
    match &rows(c, sql)[0][0] {
        Value::Number(n) => n.to_i64().unwrap(),
        other => panic!("{sql}: {other:?}"),
    }
}

fn program(instance: &Ephemeral, arguments: &[&str]) -> (bool, String) {
    let made = Command::new(env!("CARGO_BIN_EXE_latchwork"))
        .arg("awr")
        .args(arguments)
        .arg("--dir")
        .arg(instance.dir())
        .output()
        .expect("the program runs");
    (made.status.success(), String::from_utf8_lossy(&made.stdout).into_owned() + &String::from_utf8_lossy(&made.stderr))
}

/// The line of a report that begins so.
fn line<'a>(report: &'a str, begins: &str) -> &'a str {
    report.lines().find(|l| l.trim_start().starts_with(begins)).unwrap_or_else(|| panic!("{begins} in {report}"))
}

fn figures(line: &str) -> Vec<f64> {
    line.split_whitespace().filter_map(|w| w.replace(',', "").parse().ok()).collect()
}

#[test]
fn a_report_shows_what_the_snapshots_counted() {
    let instance = start(&[("latch_generation", "12.1")]);
    let mut c = connect(&instance);
    run(&mut c, "create table t (n number primary key, v varchar2(100))");
    assert_eq!(program(&instance, &["list"]).1, "There is no snapshot yet: `latchwork awr snapshot` takes one.\n");
    run(&mut c, "begin dbms_workload_repository.create_snapshot('ALL'); end;");
    run(&mut c, "begin for i in 1 .. 2000 loop insert into t values (i, rpad('x', 100)); commit; end loop; end;");
    run(
        &mut c,
        "declare n number; begin for i in 1 .. 3000 loop select count(*) into n from t where n = i; end loop; end;",
    );
    run(&mut c, "begin dbms_lock.sleep(0.05); end;");
    run(&mut c, "begin dbms_workload_repository.create_snapshot('ALL'); end;");

    let report = text(&mut c, "select output from table(dbms_workload_repository.awr_report_text(1, 1, 1, 2))");
    let (ok, same) = program(&instance, &["report", "1", "2"]);
    assert!(ok, "{same}");
    assert_eq!(same.trim_end(), report.trim_end(), "inside and from the program");
    let sections = [
        "Load Profile",
        "Instance Efficiency Percentages",
        "Top 10 Foreground Events by Total Wait Time",
        "Time Model Statistics",
        "Foreground Wait Events",
        "Background Wait Events",
        "Wait Event Histogram",
        "SQL ordered by Elapsed Time",
        "SQL ordered by Gets",
        "Instance Activity Stats",
        "Tablespace IO Stats",
        "Buffer Pool Statistics",
        "Enqueue Activity",
        "Latch Activity",
        "Latch Sleep Breakdown",
        "Latch Miss Sources",
        "Mutex Sleep Summary",
        "Dictionary Cache Stats",
        "Library Cache Activity",
        "SGA breakdown difference",
        "init.ora Parameters",
    ];
    let mut from = 0;
    for section in sections {
        let at =
            report[from..].find(&format!("\n{section}")).unwrap_or_else(|| panic!("{section} in its place:\n{report}"));
        from += at + 1;
    }
    assert!(report.lines().all(|l| l.chars().count() <= 132), "{report}");
    // Figures are differences of what the views had.
    let added = |c: &mut Client, name: &str| {
        number(
            c,
            &format!(
                "select e.value - b.value from dba_hist_sysstat b, dba_hist_sysstat e where b.snap_id = 1 and e.snap_id = 2 \
             and b.stat_name = '{name}' and e.stat_name = b.stat_name"
            ),
        )
    };
    for name in ["user commits", "execute count", "session logical reads", "db block changes", "redo size"] {
        let n = added(&mut c, name);
        assert_eq!(
            figures(line(&report[report.find("\nInstance Activity Stats").unwrap()..], name))[0],
            n as f64,
            "{name}"
        );
    }
    assert_eq!(added(&mut c, "user commits"), 2001, "those of the loop, and that of the first snapshot itself");
    // The statements of the loops have their executions.
    let executions = "select executions_delta from dba_hist_sqlstat s, dba_hist_sqltext t where t.sql_id = s.sql_id and s.snap_id = 2 \
                      and upper(t.sql_text) like 'SELECT COUNT(*) FROM T WHERE%'";
    assert_eq!(number(&mut c, executions), 3000);
    assert!(report.contains("SELECT COUNT(*) FROM T WHERE"), "{report}");
    // Three gets of the latch for each look-up of the row cache, as in 12.1.
    let gets = |view: &str, name: &str, key: &str| {
        format!(
            "select e.gets - b.gets from {view} b, {view} e where b.snap_id = 1 and e.snap_id = 2 and b.{key} = '{name}' and e.{key} = b.{key}"
        )
    };
    let latch = number(&mut c, &gets("dba_hist_latch", "row cache objects", "latch_name"));
    assert_eq!(
        figures(line(&report[report.find("\nLatch Activity").unwrap()..], "row cache objects"))[0],
        latch as f64
    );
    let spins = "select count(*) from dba_hist_latch where spin_gets + sleeps < misses";
    assert_eq!(number(&mut c, spins), 0);

    let page = text(&mut c, "select output from table(dbms_workload_repository.awr_report_html(1, 1, 1, 2))");
    assert!(
        page.contains("<title>AWR Report for DB:") && page.contains("<h3 class=\"awr\"") && page.contains("<svg"),
        "{page}"
    );
    assert!(page.contains("summary=\"This table displays latch statistics."));
    assert!(
        !page.contains("http://") && !page.contains("https://") && !page.contains("<script"),
        "one file, nothing fetched"
    );
    let (ok, listed) = program(&instance, &["list", "--csv"]);
    assert!(ok && listed.lines().count() == 3 && listed.starts_with("snap_id,taken"), "{listed}");
}

#[test]
fn snapshots_that_cannot_be_compared_are_refused() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    run(&mut c, "begin dbms_workload_repository.create_snapshot; end;");
    run(&mut c, "begin dbms_workload_repository.create_snapshot; end;");
    let report = |begin: i64, end: i64| {
        format!("select output from table(dbms_workload_repository.awr_report_text(1, 1, {begin}, {end}))")
    };
    let refused = |c: &mut Client, sql: &str| c.query(sql, &[]).and_then(|q| q.all()).expect_err(sql).to_string();
    assert!(refused(&mut c, &report(2, 1)).contains("ORA-20200"));
    assert!(refused(&mut c, &report(1, 1)).contains("must be greater than Begin"));
    assert!(refused(&mut c, &report(1, 7)).contains("End Snapshot Id 7 does not exist"));
    let (ok, said) = program(&instance, &["report", "5", "7"]);
    assert!(!ok && said.contains("Begin Snapshot Id 5 does not exist"), "{said}");
    let (ok, _) = program(&instance, &["report", "1", "2", "--html"]);
    assert!(ok);
    let other = tempfile_dir();
    let away = Command::new(env!("CARGO_BIN_EXE_latchwork")).args(["awr", "list", "--dir", &other]).output().unwrap();
    assert_eq!(away.status.code(), Some(3), "{away:?}");
}

fn tempfile_dir() -> String {
    std::env::temp_dir().join("no-instance-here").display().to_string()
}

#[test]
fn baselines_keep_their_snapshots() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    for _ in 0..5 {
        run(&mut c, "begin dbms_workload_repository.create_snapshot; end;");
    }
    let create = |begin: i64, end: i64, name: &str| {
        format!("begin dbms_workload_repository.create_baseline({begin}, {end}, '{name}'); end;")
    };
    run(&mut c, &create(2, 3, "peak"));
    assert!(refused(&mut c, &create(4, 5, "peak")).contains("ORA-13528"));
    assert!(refused(&mut c, &create(4, 9, "other")).contains("ORA-13506"));
    run(&mut c, "begin dbms_workload_repository.drop_snapshot_range(1, 4); end;");
    let left = "select listagg(snap_id, ',') within group (order by snap_id) l from dba_hist_snapshot";
    assert_eq!(text(&mut c, left), "2,3,5");
    assert_eq!(number(&mut c, "select count(distinct snap_id) from sys.wrh$_sysstat"), 3);
    assert_eq!(number(&mut c, "select start_snap_id from dba_hist_baseline where baseline_name = 'peak'"), 2);
    run(&mut c, "begin dbms_workload_repository.drop_baseline('peak', true); end;");
    assert_eq!(text(&mut c, left), "5");
    assert!(refused(&mut c, "begin dbms_workload_repository.drop_baseline('peak'); end;").contains("ORA-13542"));
    assert!(refused(&mut c, "begin dbms_workload_repository.drop_snapshot_range(4, 1); end;").contains("ORA-13506"));
    run(&mut c, "begin dbms_workload_repository.modify_snapshot_settings(retention => 1440, interval => 15); end;");
    assert_eq!(number(&mut c, "select snap_interval_min * 10000 + retention_min from sys.wrm$_wr_control"), 151_440);
    assert_eq!(
        number(&mut c, "select count(*) from dba_hist_wr_control where snap_interval = numtodsinterval(15, 'MINUTE')"),
        1
    );
    assert!(
        refused(&mut c, "begin dbms_workload_repository.modify_snapshot_settings(interval => 3); end;")
            .contains("ORA-13511")
    );
    assert!(
        refused(&mut c, "begin dbms_workload_repository.modify_snapshot_settings(retention => 3); end;")
            .contains("ORA-13510")
    );
}

#[test]
fn statements_are_counted_from_what_the_last_snapshot_saw() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    let take = |c: &mut Client| run(c, "begin dbms_workload_repository.create_snapshot; end;");
    let work = |c: &mut Client, n: u32| {
        run(
            c,
            &format!(
                "declare x number; begin for i in 1 .. {n} loop select count(*) into x from dual where i > 0; end loop; end;"
            ),
        );
    };
    run(&mut c, "create table sums (n number)");
    work(&mut c, 10);
    take(&mut c);
    work(&mut c, 200);
    take(&mut c);
    // Nothing of it in between: the snapshot has no row of the statement, and the next one counts from here all the same.
    take(&mut c);
    work(&mut c, 30);
    take(&mut c);
    let of_loop = "select listagg(s.snap_id || ':' || s.executions_delta || '/' || s.executions_total, ' ') within group (order by s.snap_id) l \
                   from dba_hist_sqlstat s, dba_hist_sqltext t where t.sql_id = s.sql_id and t.sql_text like 'SELECT COUNT(*) FROM DUAL WHERE%'";
    assert_eq!(text(&mut c, of_loop), "1:10/10 2:200/210 4:30/240");
    assert_eq!(
        number(&mut c, "select count(distinct seen) from sys.wrm$_sqlstat_seen"),
        1,
        "no history beside the history"
    );
    // A number is not used again, whatever was dropped.
    run(&mut c, "begin dbms_workload_repository.drop_snapshot_range(3, 4); end;");
    take(&mut c);
    assert_eq!(number(&mut c, "select max(snap_id) from dba_hist_snapshot"), 5);
    work(&mut c, 7);
    take(&mut c);
    assert!(text(&mut c, of_loop).ends_with("6:7/247"), "{}", text(&mut c, of_loop));
}
