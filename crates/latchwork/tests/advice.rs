//! Memory advice: the advice views follow the workload, snapshots keep them, the report shows them.

mod support;

use client::Client;
use std::time::{Duration, Instant};
use support::{connect, refused, rows, run, start, text};
use types::Value;

fn real(v: &Value) -> f64 {
    if let Value::Number(n) = v { n.to_f64() } else { f64::NAN }
}

fn number(c: &mut Client, sql: &str) -> f64 {
    real(&rows(c, sql)[0][0])
}

/// One number of each row.
fn numbers(c: &mut Client, sql: &str) -> Vec<f64> {
    rows(c, sql).iter().map(|row| real(&row[0])).collect()
}

/// Repeats until it is true, for a minute at most.
fn until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < end, "{what}");
    }
}

/// The rows of a section of a report.
fn section<'a>(report: &'a str, title: &str) -> Vec<&'a str> {
    let from = report.find(&format!("\n{title}")).unwrap_or_else(|| panic!("{title} in\n{report}")) + 1;
    report[from..].lines().take_while(|line| !line.contains(&"-".repeat(61)) && !line.contains('\u{c}')).collect()
}

const EXTRA: &str = "select estd_extra_bytes_rw from v$pga_target_advice order by pga_target_factor";
const AREAS: &str = "select sum(optimal_executions), sum(onepass_executions), sum(multipasses_executions), sum(total_executions) \
     from v$sql_workarea_histogram";

fn areas(c: &mut Client) -> [f64; 4] {
    let row = &rows(c, AREAS)[0];
    std::array::from_fn(|n| real(&row[n]))
}

#[test]
fn work_areas_are_held_against_other_targets() {
    // Work areas may hold 5 MB; the estimated targets allow 640 KB to 40 MB.
    let instance = start(&[("pga_aggregate_target", "10M")]);
    let mut c = connect(&instance);
    run(&mut c, "create table t (n number, v varchar2(200))");
    run(
        &mut c,
        "insert into t select level, rpad(to_char(mod(level * 7919, 10007)), 100) from dual connect by level <= 16000",
    );
    run(&mut c, "commit");
    let before = areas(&mut c);
    let least = number(&mut c, EXTRA);
    // Small work areas fit any target.
    run(&mut c, "begin for r in (select n from t where n < 50 order by v) loop null; end loop; end;");
    let small = areas(&mut c);
    assert!(small[0] > before[0] && small[1..3] == before[1..3], "{before:?}, then {small:?}");
    assert_eq!(number(&mut c, EXTRA), least, "what is small goes to temporary space with no target");

    // About three megabytes: in memory now, but not with an eighth of the target.
    let of = |c: &mut Client, sql: &str| {
        let (areas_before, extra_before) = (areas(c), numbers(c, EXTRA));
        let real_before = number(c, "select value from v$pgastat where name = 'extra bytes read/written'");
        run(c, &format!("begin for r in ({sql}) loop null; end loop; end;"));
        let real_extra = number(c, "select value from v$pgastat where name = 'extra bytes read/written'") - real_before;
        let extra: Vec<f64> = numbers(c, EXTRA).iter().zip(extra_before).map(|(a, b)| a - b).collect();
        let now = areas(c);
        (std::array::from_fn::<f64, 4, _>(|n| now[n] - areas_before[n]), extra, real_extra)
    };
    for sql in [
        "select n, v from t order by v",
        "select /*+ use_hash(b) ordered */ a.n, b.v from t a, t b where a.n = b.n",
        "select n, v, count(*) from t where n <= 8000 group by n, v",
        "select distinct n, v from t",
        "select n, rank() over (order by v) from t",
    ] {
        let (added, extra, real_extra) = of(&mut c, sql);
        assert!(added[1] == 0.0 && added[0] >= 1.0 && real_extra == 0.0, "{sql}: {added:?}, {real_extra}");
        assert!(extra[0] > 1e6 && extra[4] == 0.0 && extra[13] == 0.0, "{sql}: {extra:?}");
        assert!(extra.is_sorted_by(|a, b| a >= b), "{sql}: {extra:?}");
    }

    // More than fits in memory: the estimate for the current target is close to the bytes written and read.
    run(&mut c, "insert into t select n + 16000, v from t");
    run(&mut c, "insert into t select n + 32000, v from t");
    run(&mut c, "commit");
    let is_near = |c: &mut Client, sql: &str| {
        let (added, extra, real_extra) = of(c, sql);
        assert!(added[1] + added[2] >= 1.0 && real_extra > 1e6, "{sql}: {added:?}, {real_extra}");
        assert!((0.4..2.5).contains(&(extra[4] / real_extra)), "{sql}: {extra:?} against {real_extra}");
        assert!(extra[13] == 0.0, "{sql}: {extra:?}");
        assert!(extra.is_sorted_by(|a, b| a >= b), "{sql}: {extra:?}");
    };
    is_near(&mut c, "select n, v from t order by v");
    is_near(&mut c, "select /*+ use_hash(b) ordered */ a.n, b.v from t a, t b where a.n = b.n");
    // Groups take less room, and parts are written in pieces of 64 KB.
    run(&mut c, "insert into t select n + 64000, v from t");
    run(&mut c, "commit");
    is_near(&mut c, "select n, v, count(*) from t group by n, v");
    is_near(&mut c, "select distinct n, v from t");
    assert_eq!(
        number(&mut c, "select count(*) from v$sysstat where name like 'workarea executions%' and value > 0"),
        2.0
    );
    let sums = "select count(*) from v$pga_target_advice_histogram where estd_optimal_executions + estd_onepass_executions + \
                estd_multipasses_executions <> estd_total_executions";
    assert_eq!(number(&mut c, sums), 0.0);

    // Manually sized work areas are not estimated; another target restarts the estimates, and without a target nothing
    // is counted.
    run(&mut c, "alter session set workarea_size_policy = manual");
    run(&mut c, "alter session set sort_area_size = 100000");
    let processed =
        |c: &mut Client| number(c, "select bytes_processed from v$pga_target_advice where pga_target_factor = 1");
    let before = processed(&mut c);
    let (added, extra, real_extra) = of(&mut c, "select n, v from t order by v");
    assert_eq!(processed(&mut c), before);
    assert!(added[1] + added[2] == 1.0 && real_extra > 1e6 && extra.iter().all(|n| *n == 0.0), "{added:?} {extra:?}");
    run(&mut c, "alter session set workarea_size_policy = auto");
    run(&mut c, "alter system set pga_aggregate_target = 20M");
    assert_eq!(numbers(&mut c, EXTRA), vec![0.0; 14]);
    assert_eq!(
        number(&mut c, "select pga_target_for_estimate from v$pga_target_advice where pga_target_factor = 2"),
        41_943_040.0
    );
    run(&mut c, "alter system set statistics_level = basic");
    assert_eq!(numbers(&mut c, EXTRA), Vec::<f64>::new());
}

#[test]
fn statements_that_a_smaller_pool_would_load_again_are_counted() {
    // Room for 1,228 statements; with all smaller sizes for 1,024.
    let instance = start(&[("shared_pool_size", "20M"), ("sga_target", "400M")]);
    let mut c = connect(&instance);
    const LOADS: &str = "select estd_lc_load_time_factor from v$shared_pool_advice order by shared_pool_size_factor";
    let hits = |c: &mut Client, factor: &str| {
        let sql = format!(
            "select estd_lc_memory_object_hits from v$shared_pool_advice where shared_pool_size_factor = {factor}"
        );
        number(c, &sql)
    };
    assert_eq!(numbers(&mut c, "select shared_pool_size_factor from v$shared_pool_advice").len(), 20);
    run(&mut c, "begin dbms_workload_repository.create_snapshot; end;");
    let different = "declare n number; begin for i in 1 .. 1500 loop \
         execute immediate 'select ' || i || ' from dual' into n; end loop; end;";
    // A round of more statements than fit: a pool of twice the size would keep them.
    until("a larger pool saves loads", || {
        run(&mut c, different);
        hits(&mut c, "2") - hits(&mut c, "1") > 1000.0
    });
    let factors = numbers(&mut c, LOADS);
    assert!(factors.is_sorted_by(|a, b| a >= b), "{factors:?}");
    assert!(factors[9] == 1.0 && factors[19] < 1.0, "{factors:?}");
    // A few statements that are parsed repeatedly are hits in every size. A session that caches cursors does not look
    // them up in the pool.
    run(&mut c, "alter session set session_cached_cursors = 0");
    let before = (hits(&mut c, "1"), hits(&mut c, "2"));
    run(
        &mut c,
        "declare n number; begin for i in 1 .. 3000 loop execute immediate 'select ' || mod(i, 7) || ' from dual' into n; \
         end loop; end;",
    );
    let after = (hits(&mut c, "1"), hits(&mut c, "2"));
    assert!(after.0 - before.0 > 2500.0 && after.1 - before.1 > 2500.0, "{before:?}, then {after:?}");

    // The advice for the SGA target: sizes whose cache is simulated, the current one among them.
    let sizes = rows(
        &mut c,
        "select sga_size, sga_size_factor, estd_db_time_factor, estd_physical_reads from v$sga_target_advice order by 1",
    );
    let present = sizes.iter().find(|row| real(&row[1]) == 1.0).expect("the present size");
    assert_eq!((real(&present[0]), real(&present[2])), (400.0, 1.0), "{sizes:?}");
    assert!(sizes.len() >= 3 && sizes.iter().map(|row| real(&row[3])).is_sorted_by(|a, b| a >= b), "{sizes:?}");

    let parts = "select estd_buffer_cache_size from v$sga_target_advice where sga_size_factor = 1";
    let cache = number(&mut c, "select buffers * block_size / 1048576 from v$buffer_pool");
    assert!((number(&mut c, parts) - cache).abs() <= 1.0, "the present division is that of the instance: {cache}");

    run(&mut c, "begin dbms_workload_repository.create_snapshot; end;");
    for (view, count) in
        [("shared_pool_advice", 20.0), ("pga_target_advice", 14.0), ("sga_target_advice", sizes.len() as f64)]
    {
        assert_eq!(number(&mut c, &format!("select count(*) from dba_hist_{view} where snap_id = 2")), count, "{view}");
    }
    let report = text(&mut c, "select output from table(dbms_workload_repository.awr_report_text(1, 1, 1, 2))");
    let pool = section(&report, "Shared Pool Advisory");
    assert!(pool.iter().any(|line| line.trim_start().starts_with("20.0   1.0")), "{pool:#?}");
    for title in [
        "PGA Aggr Summary",
        "PGA Aggr Target Stats",
        "PGA Aggr Target Histogram",
        "PGA Memory Advisory",
        "SGA Target Advisory",
    ] {
        let lines = section(&report, title);
        assert!(!lines.iter().any(|line| line.contains("No data exists")), "{title}: {lines:#?}");
    }
    for title in ["Streams Pool Advisory", "Java Pool Advisory"] {
        assert!(section(&report, title).iter().any(|line| line.contains("No data exists")), "{title}");
    }
    for view in ["v$java_pool_advice", "v$streams_pool_advice"] {
        assert_eq!(number(&mut c, &format!("select count(*) from {view}")), 0.0);
    }
}

#[test]
fn advice_about_the_buffer_cache_is_switched_without_a_restart() {
    let instance = start(&[("db_cache_size", "1M"), ("db_cache_advice", "ready")]);
    let mut c = connect(&instance);
    run(&mut c, "create table t (n number, v varchar2(2000))");
    run(&mut c, "insert into t select level, rpad('x', 2000) from dual connect by level <= 1500");
    run(&mut c, "commit");
    let status = |c: &mut Client| text(c, "select advice_status from v$db_cache_advice where size_factor = 1");
    let parameter = |c: &mut Client| text(c, "select value from v$parameter where name = 'db_cache_advice'");
    const ESTIMATES: &str = "select sum(estd_physical_read_factor) from v$db_cache_advice";
    let scan = "declare n number; begin for i in 1 .. 5 loop select count(v) into n from t; end loop; end;";
    let sleep = |c: &mut Client| run(c, "begin dbms_lock.sleep(2); end;");
    run(&mut c, scan);
    sleep(&mut c);
    assert_eq!((status(&mut c).as_str(), parameter(&mut c).as_str()), ("OFF", "READY"));
    assert!(number(&mut c, ESTIMATES).is_nan(), "nothing has been counted");
    run(&mut c, "alter system set db_cache_advice = on");
    assert_eq!((status(&mut c).as_str(), parameter(&mut c).as_str()), ("ON", "ON"));
    until("reads are estimated", || {
        run(&mut c, scan);
        number(&mut c, ESTIMATES) > 0.0
    });
    // The estimates remain visible, but are no longer updated.
    run(&mut c, "alter system set db_cache_advice = ready");
    sleep(&mut c);
    let kept = numbers(&mut c, "select estd_physical_read_factor from v$db_cache_advice order by size_factor");
    run(&mut c, scan);
    sleep(&mut c);
    assert_eq!(status(&mut c), "OFF");
    assert_eq!(numbers(&mut c, "select estd_physical_read_factor from v$db_cache_advice order by size_factor"), kept);
    for wrong in ["maybe", "1", "''"] {
        let error = refused(&mut c, &format!("alter system set db_cache_advice = {wrong}"));
        assert!(error.contains("ORA-00096"), "{error}");
    }
    assert!(refused(&mut c, "alter session set db_cache_advice = off").contains("ORA-02096"));
    assert_eq!(parameter(&mut c), "READY");
    run(&mut c, "alter system set db_cache_advice = off");
    assert_eq!(parameter(&mut c), "OFF");
    run(&mut c, "alter system set db_cache_advice = on");
    run(&mut c, "alter system set statistics_level = basic");
    assert_eq!(status(&mut c), "OFF", "BASIC counts nothing for advice");
}
