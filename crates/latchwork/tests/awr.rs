//! The workload repository: snapshots, baselines, and reports whose figures equal those of the views.

mod support;

use client::{Client, Ephemeral};
use std::process::Command;
use std::time::Instant;
use support::{connect, refused, rows, run, start, text};
use types::Value;

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

/// The line of a report that begins with this text.
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
    let mut clock = vec![Instant::now()];
    run(&mut c, "begin dbms_workload_repository.create_snapshot('ALL'); end;");
    clock.push(Instant::now());
    run(&mut c, "begin for i in 1 .. 2000 loop insert into t values (i, rpad('x', 100)); commit; end loop; end;");
    run(
        &mut c,
        "declare n number; begin for i in 1 .. 3000 loop select count(*) into n from t where n = i; end loop; end;",
    );
    run(&mut c, "begin dbms_lock.sleep(0.05); end;");
    clock.push(Instant::now());
    run(&mut c, "begin dbms_workload_repository.create_snapshot('ALL'); end;");
    clock.push(Instant::now());

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
        "Wait Event Histogram Detail (64 msec to 2 sec)",
        "Wait Event Histogram Detail (4 sec to 2 min)",
        "Wait Event Histogram Detail (4 min to 1 hr)",
        "Service Statistics",
        "Service Wait Class Stats",
        "SQL ordered by Elapsed Time",
        "SQL ordered by CPU Time",
        "SQL ordered by User I/O Wait Time",
        "SQL ordered by Gets",
        "SQL ordered by Reads",
        "SQL ordered by Executions",
        "SQL ordered by Parse Calls",
        "SQL ordered by Sharable Memory",
        "SQL ordered by Version Count",
        "Instance Activity Stats",
        "IOStat by Function summary",
        "IOStat by Filetype summary",
        "Tablespace IO Stats",
        "File IO Stats",
        "Buffer Pool Statistics",
        "Checkpoint Activity",
        "Instance Recovery Stats",
        "Buffer Pool Advisory",
        "Shared Pool Advisory",
        "Buffer Wait Statistics",
        "Enqueue Activity",
        "Undo Segment Summary",
        "Undo Segment Stats",
        "Latch Activity",
        "Latch Sleep Breakdown",
        "Latch Miss Sources",
        "Mutex Sleep Summary",
        "Parent Latch Statistics",
        "Child Latch Statistics",
        "Segments by Logical Reads",
        "Segments by Physical Reads",
        "Segments by Physical Read Requests",
        "Segments by Physical Writes",
        "Segments by Physical Write Requests",
        "Segments by Table Scans",
        "Segments by DB Blocks Changes",
        "Segments by Row Lock Waits",
        "Segments by ITL Waits",
        "Segments by Buffer Busy Waits",
        "Dictionary Cache Stats",
        "Library Cache Activity",
        "Memory Dynamic Components",
        "Process Memory Summary",
        "SGA Memory Summary",
        "SGA breakdown difference",
        "Resource Limit Stats",
        "init.ora Parameters",
    ];
    let mut from = 0;
    for section in sections {
        let at =
            report[from..].find(&format!("\n{section}")).unwrap_or_else(|| panic!("{section} in its place:\n{report}"));
        from += at + 1;
    }
    assert!(report.lines().all(|l| l.chars().count() <= 132), "{report}");
    // Figures are differences of values in the views.
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
    // A figure per second is the count divided by the time between the snapshots, which are taken within their calls.
    let (least, most) = ((clock[2] - clock[1]).as_secs_f64(), (clock[3] - clock[0]).as_secs_f64());
    let rollbacks = added(&mut c, "user rollbacks") as f64;
    for (label, counted) in
        [("Transactions:", 2001.0 + rollbacks), ("Executes:", added(&mut c, "execute count") as f64)]
    {
        let rate = figures(line(&report, label))[0];
        let (low, high) = ((rate - 0.06) * least, (rate + 0.06) * most);
        assert!(low <= counted && counted <= high, "{label} {rate}, {counted} in {least} to {most} s");
    }
    // The executions of the loops are attributed to their statements.
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
    every_figure_is_that_of_the_views(&mut c, &report);
    let (ok, listed) = program(&instance, &["list", "--csv"]);
    assert!(ok && listed.lines().count() == 3 && listed.starts_with("snap_id,taken"), "{listed}");
}

/// The lines of a section below its ruler.
fn lines<'a>(report: &'a str, title: &str) -> Vec<&'a str> {
    let from = report.find(&format!("\n{title}")).unwrap_or_else(|| panic!("{title}"));
    let is_ruler = |l: &&str| l.starts_with("---");
    let mut lines = report[from + 1..].lines().skip_while(|l| !is_ruler(l)).skip(1).collect::<Vec<_>>();
    let end = lines.iter().position(|l| l.trim().starts_with("----------------------")).unwrap_or(lines.len());
    lines.truncate(end);
    lines
}

/// Recomputes every line of some sections from the underlying views: name and figures, by the width of the name.
fn every_figure_is_that_of_the_views(c: &mut Client, report: &str) {
    let ends = |view: &str, key: &str, figures: &str, more: &str| {
        let added: Vec<String> = figures.split(',').map(|f| format!("e.{f} - b.{f}")).collect();
        format!(
            "select e.{key}, {} from {view} b, {view} e where b.snap_id = 1 and e.snap_id = 2 and e.{key} = b.{key} {more} order by 1",
            added.join(", ")
        )
    };
    let cases = [
        (
            "Instance Activity Stats",
            32,
            ends("dba_hist_sysstat", "stat_name", "value", "and e.value > b.value"),
            vec![0],
        ),
        ("Latch Activity", 24, ends("dba_hist_latch", "latch_name", "gets", "and e.gets > b.gets"), vec![0]),
        (
            "Dictionary Cache Stats",
            25,
            ends("dba_hist_rowcache_summary", "parameter", "gets,modifications", "and e.gets > b.gets"),
            vec![0],
        ),
        (
            "Library Cache Activity",
            15,
            ends("dba_hist_librarycache", "namespace", "gets,pins", "and e.gets + e.pins > b.gets + b.pins"),
            vec![0],
        ),
        (
            "Buffer Wait Statistics",
            18,
            ends("dba_hist_waitstat", "class", "wait_count", "and e.wait_count > b.wait_count"),
            vec![0],
        ),
    ];
    let cut = |name: &str, width: usize| name.chars().take(width).collect::<String>().trim().to_string();
    for (title, width, sql, columns) in cases {
        let printed = lines(report, title);
        let mut rows = rows(c, &sql);
        if title == "Instance Activity Stats" {
            // Statistics that cannot be summed have a section of their own.
            let levels = lines(report, "Instance Activity Stats - Absolute Values");
            let is_level = |name: &str| levels.iter().any(|l| cut(l, width) == cut(name, width));
            rows.retain(|row| !matches!(&row[0], Value::Text(name) if is_level(name)));
        }
        for row in &rows {
            let Value::Text(name) = &row[0] else { panic!("{row:?}") };
            let name = cut(name, width);
            // Names that are truncated to the same text cannot be told apart.
            let same = |l: &&&str| cut(l, width) == name;
            for column in &columns {
                let Value::Number(n) = &row[1 + column] else { panic!("{row:?}") };
                let found: Vec<f64> =
                    printed.iter().filter(same).map(|l| figures(&l[width.min(l.len())..])[*column]).collect();
                let n = n.to_f64();
                // A larger value may belong to a statistic that counts the report itself or its source.
                assert!(found.contains(&n), "{title}: {name}: {n} of the views, printed {found:?}\n{report}");
            }
        }
        let named = printed.iter().filter(|l| !l.is_empty() && !l.starts_with(' ')).count();
        assert!(named == rows.len() || rows.is_empty(), "{title}: {named} lines for {} rows\n{printed:#?}", rows.len());
    }
    efficiencies(c, report);
    segments(c, report);
}

/// The segments' sections: name, figure and share of each line, the greatest first; and the limits.
fn segments(c: &mut Client, report: &str) {
    let captured = |figure: &str| {
        format!(
            "select o.object_name, sum(s.{figure}_delta) from dba_hist_seg_stat s, dba_hist_seg_stat_obj o where s.snap_id = 2 \
             and o.dataobj# = s.dataobj# and o.obj# = s.obj# group by o.owner, o.object_name, o.object_type, o.tablespace_name \
             having sum(s.{figure}_delta) > 0 order by 2 desc"
        )
    };
    for (title, figure) in [
        ("Segments by Logical Reads", "logical_reads"),
        ("Segments by DB Blocks Changes", "db_block_changes"),
        ("Segments by Table Scans", "table_scans"),
    ] {
        let found: Vec<f64> = lines(report, title).iter().map(|l| figures(&l[56..])[0]).collect();
        let of_views: Vec<f64> = rows(c, &captured(figure))
            .iter()
            .map(|row| if let Value::Number(n) = &row[1] { n.to_f64() } else { panic!("{row:?}") })
            .take(10)
            .collect();
        assert!(!found.is_empty() && found == of_views, "{title}: {found:?}, by the views {of_views:?}\n{report}");
    }
    let changed = lines(report, "Segments by DB Blocks Changes");
    assert!(changed.iter().any(|l| l.starts_with("SYS") && l.contains(" T ") && l.contains("TABLE")), "{changed:#?}");
    let used = "select max_utilization from dba_hist_resource_limit where snap_id = 2 and resource_name = 'processes'";
    let most = number(c, used);
    let line =
        lines(report, "Resource Limit Stats").into_iter().find(|l| l.starts_with("processes")).expect("processes");
    assert_eq!(figures(line)[1], most as f64, "{line}");
    assert!(most >= 8 && figures(line)[0] <= most as f64, "{line}");
}

fn efficiencies(c: &mut Client, report: &str) {
    let added = |c: &mut Client, view: &str, figure: &str, more: &str| {
        let sql = format!(
            "select (select sum({figure}) from {view} where snap_id = 2 {more}) - (select sum({figure}) from {view} where snap_id = 1 {more}) from dual"
        );
        match &rows(c, &sql)[0][0] {
            Value::Number(n) => n.to_f64(),
            _ => 0.0,
        }
    };
    let stat = |c: &mut Client, name: &str| added(c, "dba_hist_sysstat", "value", &format!("and stat_name = '{name}'"));
    let misses = added(c, "dba_hist_latch", "misses", "");
    let latch = 100.0 * (1.0 - misses / added(c, "dba_hist_latch", "gets", ""));
    let hard = stat(c, "parse count (hard)");
    let soft = 100.0 * (1.0 - hard / stat(c, "parse count (total)"));
    let gets = stat(c, "consistent gets from cache") + stat(c, "db block gets from cache");
    let hit = 100.0 * (1.0 - stat(c, "physical reads cache") / gets);
    let executes = stat(c, "execute count");
    let parse = 100.0 * (1.0 - stat(c, "parse count (total)") / executes);
    for (label, wanted) in
        [("Latch Hit %:", latch), ("Soft Parse %:", soft), ("Buffer  Hit   %:", hit), ("Execute to Parse %:", parse)]
    {
        let at = report.find(label).unwrap_or_else(|| panic!("{label}")) + label.len();
        let printed: f64 = report[at..].split_whitespace().next().unwrap().parse().unwrap();
        assert!((printed - wanted).abs() < 0.0051, "{label} {printed}, {wanted} by the views");
    }
}

#[test]
fn statements_are_charged_with_the_blocks_they_got() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    run(&mut c, "create table outside (n number primary key, v varchar2(200))");
    run(&mut c, "create table inside (n number, v varchar2(200))");
    run(&mut c, "insert into outside select level, rpad('x', 200) from dual connect by level <= 300");
    run(&mut c, "insert into inside select level, rpad('x', 200) from dual connect by level <= 2000");
    run(&mut c, "commit");
    let reads = "select value from v$mystat s, v$statname n where n.statistic# = s.statistic# and n.name = 'session logical reads'";
    let before = number(&mut c, reads);
    run(
        &mut c,
        "declare x number; begin for r in (select n from outside) loop select count(v) into x from inside; end loop; end;",
    );
    let all = number(&mut c, reads) - before;
    let of = |c: &mut Client, like: &str, figure: &str| {
        number(c, &format!("select sum({figure}) from v$sql where sql_text like '{like}'"))
    };
    let (inner, outer) = (
        of(&mut c, "SELECT COUNT(V) FROM INSIDE%", "buffer_gets"),
        of(&mut c, "SELECT N FROM OUTSIDE%", "buffer_gets"),
    );
    // Sixty blocks and more, three hundred times; the loop over them got but its own few.
    assert_eq!(of(&mut c, "SELECT COUNT(V) FROM INSIDE%", "executions"), 300);
    assert!(inner >= 300 * 60 && inner % 300 < 100, "{inner}");
    assert!(outer > 0 && outer < 400, "{outer} of {all}");
    assert!(inner + outer <= all && inner + outer > all * 9 / 10, "{inner} and {outer} of {all}");
    run(&mut c, "begin dbms_workload_repository.create_snapshot; end;");
    run(&mut c, "declare x number; begin for i in 1 .. 10 loop select count(v) into x from inside; end loop; end;");
    run(&mut c, "begin dbms_workload_repository.create_snapshot; end;");
    let report = text(&mut c, "select output from table(dbms_workload_repository.awr_report_text(1, 1, 1, 2))");
    let by_gets =
        &report[report.find("\nSQL ordered by Gets").unwrap()..report.find("\nSQL ordered by Reads").unwrap()];
    assert!(by_gets.contains("SELECT COUNT(V) FROM INSIDE"), "{by_gets}");
}

#[test]
fn statements_are_charged_with_their_waits_for_blocks() {
    let instance = start(&[("db_cache_size", "2M")]);
    let mut c = connect(&instance);
    run(&mut c, "create table big (n number, v varchar2(2000))");
    run(&mut c, "insert into big select level, rpad('x', 2000) from dual connect by level <= 2500");
    run(&mut c, "commit");
    run(&mut c, "begin dbms_workload_repository.create_snapshot; end;");
    let waited = "select time_waited_micro_fg from v$system_event where event in ('db file scattered read', 'db file sequential read')";
    let sum =
        |c: &mut Client| -> i64 { number(c, &format!("select nvl(sum(time_waited_micro_fg), 0) from ({waited})")) };
    let before = sum(&mut c);
    run(&mut c, "declare x number; begin for i in 1 .. 5 loop select count(v) into x from big; end loop; end;");
    let all = sum(&mut c) - before;
    let of = "select sum(user_io_wait_time) from v$sql where sql_text like 'SELECT COUNT(V) FROM BIG%'";
    let charged = number(&mut c, of);
    assert!(charged > 0 && charged <= all + 1, "{charged} of {all} microseconds");
    let small = "select count(*) from v$sql where sharable_mem < 1000 or user_io_wait_time is null";
    assert_eq!(number(&mut c, small), 0);
    run(&mut c, "begin dbms_workload_repository.create_snapshot; end;");
    let kept = "select sum(iowait_delta) from dba_hist_sqlstat s, dba_hist_sqltext t where s.snap_id = 2 and t.sql_id = s.sql_id \
                and t.sql_text like 'SELECT COUNT(V) FROM BIG%'";
    assert_eq!(number(&mut c, kept), charged);
    let report = text(&mut c, "select output from table(dbms_workload_repository.awr_report_text(1, 1, 1, 2))");
    let by_io =
        &report[report.find("\nSQL ordered by User I/O").unwrap()..report.find("\nSQL ordered by Gets").unwrap()];
    assert!(by_io.contains("SELECT COUNT(V) FROM BIG"), "{by_io}");
    // The advisory has a row for each size with an estimate of reads; smaller sizes have more.
    let sizes = "select count(*) from v$db_cache_advice where advice_status = 'ON'";
    assert_eq!(number(&mut c, sizes), 20);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while number(&mut c, "select count(estd_physical_reads) from v$db_cache_advice") == 0 {
        assert!(std::time::Instant::now() < deadline, "nothing was estimated");
        run(&mut c, "declare x number; begin select count(v) into x from big; end;");
    }
    let sizes = rows(&mut c, "select estd_physical_reads from v$db_cache_advice order by size_factor");
    let reads = |row: &Vec<Value>| if let Value::Number(n) = &row[0] { n.to_f64() } else { panic!("{row:?}") };
    let sizes: Vec<f64> = sizes.iter().map(reads).collect();
    assert!(sizes.is_sorted_by(|a, b| a >= b), "larger sizes read no more: {sizes:?}");
    run(&mut c, "alter system set db_cache_advice = off");
    assert_eq!(number(&mut c, "select count(*) from v$db_cache_advice where advice_status = 'OFF'"), 20);
    refused(&mut c, "alter system set db_cache_advice = maybe");
}

#[test]
fn periods_are_compared_inside_and_by_the_program() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    run(&mut c, "create table t (n number primary key)");
    let work = |c: &mut Client, from: u32, upto: u32| {
        run(c, &format!("begin for i in {from} .. {upto} loop insert into t values (i); commit; end loop; end;"));
        run(c, "begin dbms_workload_repository.create_snapshot; end;");
    };
    work(&mut c, 1, 10);
    work(&mut c, 11, 110);
    run(&mut c, "alter system set \"_spin_count\" = 77");
    work(&mut c, 111, 510);
    let sql = "select output from table(dbms_workload_repository.awr_diff_report_text(1, 1, 1, 2, 1, 1, 2, 3))";
    let inside = text(&mut c, sql);
    let (ok, same) = program(&instance, &["diff", "1", "2", "2", "3"]);
    assert!(ok, "{same}");
    assert_eq!(same.trim_end(), inside.trim_end());
    let added = |c: &mut Client, begin: u32, name: &str| {
        number(
            c,
            &format!(
                "select e.value - b.value from dba_hist_sysstat b, dba_hist_sysstat e where b.snap_id = {begin} \
                 and e.snap_id = {begin} + 1 and b.stat_name = '{name}' and e.stat_name = b.stat_name"
            ),
        ) as f64
    };
    for name in ["user commits", "execute count", "db block changes"] {
        let (first, second) = (added(&mut c, 1, name), added(&mut c, 2, name));
        let line = line(&inside[inside.find("\nInstance Activity Statistics").unwrap()..], name);
        let found = figures(line);
        assert_eq!((found[0], found[1]), (first, second), "{line}");
        assert!((found[2] - 100.0 * (second - first) / first).abs() < 0.051, "{line}");
    }
    assert_eq!(added(&mut c, 2, "user commits") - added(&mut c, 1, "user commits"), 300.0);
    let changed = line(&inside[inside.find("\ninit.ora Parameters").unwrap()..], "_spin_count");
    assert!(changed.contains("77"), "{changed}");
    assert!(inside.contains("WORKLOAD REPOSITORY COMPARE PERIOD REPORT") && inside.contains("INSERT INTO T VALUES"));
    assert!(inside.lines().all(|l| l.chars().count() <= 132), "{inside}");
    let (ok, page) = program(&instance, &["diff", "1", "2", "2", "3", "--html"]);
    assert!(ok && page.contains("summary=\"This table compares top SQL of both periods\"") && page.contains("<svg"));
    assert!(!page.contains("http") && !page.contains("<script"), "one file, nothing fetched");
    let (ok, said) = program(&instance, &["diff", "1", "2", "2", "9"]);
    assert!(!ok && said.contains("End Snapshot Id 9 does not exist"), "{said}");
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
    // Without executions in between: the snapshot has no row of the statement, and the next one counts from here.
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
    // A number is never reused, even after snapshots were dropped.
    run(&mut c, "begin dbms_workload_repository.drop_snapshot_range(3, 4); end;");
    take(&mut c);
    assert_eq!(number(&mut c, "select max(snap_id) from dba_hist_snapshot"), 5);
    work(&mut c, 7);
    take(&mut c);
    assert!(text(&mut c, of_loop).ends_with("6:7/247"), "{}", text(&mut c, of_loop));
}

#[test]
fn a_report_reads_its_own_snapshots_however_many_there_are() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    let snapshots = |c: &mut Client, n: u32| {
        run(c, &format!("begin for i in 1 .. {n} loop dbms_workload_repository.create_snapshot; end loop; end;"));
    };
    let reads = |c: &mut Client| {
        let sql = "select m.value from v$mystat m, v$statname n where n.statistic# = m.statistic# and n.name = 'session logical reads'";
        let before = number(c, sql);
        text(c, "select output from table(dbms_workload_repository.awr_report_text(1, 1, 2, 3))");
        number(c, sql) - before
    };
    snapshots(&mut c, 5);
    reads(&mut c);
    let few = reads(&mut c);
    snapshots(&mut c, 60);
    let many = reads(&mut c);
    assert!(few > 50 && many < few * 5 / 4, "{few} blocks with 5 snapshots kept, {many} with 65");
    // An outer join with a view of another kind does not change that.
    let joined =
        "select count(*) from dba_hist_sysstat s, v$statname n where n.stat_id(+) = s.stat_id and s.snap_id = 3";
    let plan = |c: &mut Client, sql: &str| {
        run(c, &format!("explain plan for {sql}"));
        text(c, "select plan_table_output from table(dbms_xplan.display)")
    };
    let shown = plan(&mut c, joined);
    assert!(shown.contains("WRH$_SYSSTAT_SNAP") && !shown.contains("VIEW"), "{shown}");
}
