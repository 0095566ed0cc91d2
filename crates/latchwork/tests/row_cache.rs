//! The row cache through SQL: gets of a reading by generation, jobs without end that are killed, snapshots of it all.

use client::{Client, Credentials, Ephemeral, EphemeralOptions};
use types::Value;

fn instance(generation: &str) -> Ephemeral {
    let options = EphemeralOptions {
        executable: Some(env!("CARGO_BIN_EXE_latchwork").into()),
        params: vec![("latch_generation".into(), generation.into())],
        ..EphemeralOptions::default()
    };
    Ephemeral::start_with(&options).expect("an instance starts")
}

fn admin(instance: &Ephemeral) -> Client {
    instance.connect(&Credentials::Sysdba).expect("the owner connects")
}

fn run(session: &mut Client, sql: &str) {
    session.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
}

fn rows(session: &mut Client, sql: &str) -> Vec<Vec<Value>> {
    session.query(sql, &[]).and_then(|q| q.all()).unwrap_or_else(|e| panic!("{sql}: {e}"))
}

fn numbers(session: &mut Client, sql: &str) -> Vec<i64> {
    let number = |value: &Value| match value {
        Value::Number(n) => n.as_i64().expect("a whole number"),
        other => panic!("{sql}: {other:?}"),
    };
    rows(session, sql).iter().flatten().map(number).collect()
}

/// GETS and GETMISSES of `dc_props`, gets of its child latch and of all latches of the name.
fn figures(session: &mut Client) -> [i64; 4] {
    let sql = "select r.gets, r.getmisses, c.gets, l.gets from v$rowcache r, v$latch_children c, v$latch l \
               where r.cache# = 15 and c.name = 'row cache objects' and c.child# = 18 and l.name = c.name";
    numbers(session, sql).try_into().expect("four numbers")
}

const READ: &str = "select value into v from nls_database_parameters where parameter = 'NLS_CHARACTERSET';";

#[test]
fn a_reading_of_the_parameters_makes_the_published_gets_of_each_generation() {
    // Rows of dc_props, gets of the child latch a row, gets by the name's line a row.
    for (generation, props, child, all) in [
        ("9.2", 60, 3, 3),
        ("12.1", 60, 3, 3),
        ("12.2", 70, 0, 0),
        ("12.2-hot-copies", 70, 0, 0),
        ("latchwork", 70, 0, 1),
    ] {
        let instance = instance(generation);
        let mut admin = admin(&instance);
        run(&mut admin, &format!("declare v varchar2(256); begin {READ} end;"));
        let before = figures(&mut admin);
        assert_eq!(before[1], props, "{generation}");
        run(
            &mut admin,
            &format!(
                "declare v varchar2(256); begin for i in 1 .. 50 loop {READ} end loop; \
                 if v <> 'AL32UTF8' then raise value_error; end if; end;"
            ),
        );
        let after = figures(&mut admin);
        let gained: Vec<i64> = after.iter().zip(before).map(|(a, b)| a - b).collect();
        // Looking at the figures looks names up too, in other caches, but for the last figure.
        assert_eq!(gained[..3], [50 * props, 0, 50 * props * child], "{generation}");
        assert!(gained[3] >= 50 * props * all, "{generation}: {gained:?}");
        let caches = if props == 60 { 70 } else { 71 };
        assert_eq!(numbers(&mut admin, "select count(*) from v$rowcache"), [caches], "{generation}");
        let cdb = numbers(&mut admin, "select count(*) from v$rowcache where parameter = 'dc_cdbprops'");
        assert_eq!(cdb, [caches - 70], "{generation}");
        let usage = "select count, usage from v$rowcache where parameter = 'dc_props'";
        assert_eq!(numbers(&mut admin, usage), [props, props], "{generation}");
        let join = "select la.child#, kqrstcid from x$kqrst dc, v$latch_children la where dc.kqrstcln = la.child# \
                    and la.name = 'row cache objects' and kqrsttxt = 'dc_props'";
        assert_eq!(numbers(&mut admin, join), [18, 15], "{generation}");
        let number = numbers(&mut admin, "select latch# from v$latch where name = 'row cache objects'");
        match generation {
            "12.1" => assert_eq!(number, [411]),
            "12.2" | "latchwork" => assert_eq!(number, [506]),
            _ => {}
        }
    }
}

#[test]
fn a_change_of_a_property_is_seen_at_once() {
    let instance = instance("latchwork");
    let (mut admin, mut other) = (admin(&instance), admin(&instance));
    let read = "select property_value from database_properties where property_name = 'DEFAULT_EDITION'";
    assert_eq!(rows(&mut other, read), [[Value::text("ORA$BASE")]]);
    run(&mut admin, "update sys.props$ set value$ = 'OTHER' where name = 'DEFAULT_EDITION'");
    assert_eq!(rows(&mut other, read), [[Value::text("ORA$BASE")]]);
    run(&mut admin, "commit");
    assert_eq!(rows(&mut other, read), [[Value::text("OTHER")]]);
    assert_eq!(rows(&mut admin, read), [[Value::text("OTHER")]]);
    run(&mut admin, "update sys.props$ set value$ = 'THIRD' where name = 'DEFAULT_EDITION'");
    run(&mut admin, "rollback");
    assert_eq!(rows(&mut other, read), [[Value::text("OTHER")]]);
    assert_eq!(numbers(&mut other, "select modifications from v$rowcache where parameter = 'dc_props'"), [1]);
}

#[test]
fn jobs_without_end_are_killed_and_snapshots_say_what_they_did() {
    let instance = instance("12.2");
    let mut admin = admin(&instance);
    run(
        &mut admin,
        &format!(
            "create procedure read_charset(p number) as v varchar2(256); begin for i in 1 .. p loop {READ} end loop; end;"
        ),
    );
    run(&mut admin, "begin sys.dbms_workload_repository.create_snapshot('ALL'); end;");
    run(
        &mut admin,
        "declare j binary_integer; begin for i in 1 .. 2 loop \
         dbms_job.submit(j, 'begin while true loop read_charset(1e9); end loop; end;'); end loop; commit; end;",
    );
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let running = "select count(*) from dba_jobs_running d, v$session s where s.sid = d.sid";
    while numbers(&mut admin, running) != [2] {
        assert!(std::time::Instant::now() < deadline, "the jobs run");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    std::thread::sleep(std::time::Duration::from_millis(200));
    // Removed, a job that runs goes on; killed, it ends.
    run(&mut admin, "begin for c in (select job from dba_jobs) loop dbms_job.remove(c.job); end loop; commit; end;");
    assert_eq!(numbers(&mut admin, running), [2]);
    assert_eq!(numbers(&mut admin, "select count(*) from dba_jobs"), [0]);
    run(
        &mut admin,
        "begin for c in (select d.sid, s.serial# ser from dba_jobs_running d, v$session s where s.sid = d.sid) loop \
         execute immediate 'alter system kill session ''' || c.sid || ',' || c.ser || ''' immediate'; end loop; end;",
    );
    while numbers(&mut admin, "select count(*) from dba_jobs_running") != [0] {
        assert!(std::time::Instant::now() < deadline, "the jobs end");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    run(&mut admin, "begin dbms_workload_repository.create_snapshot; end;");
    assert_eq!(numbers(&mut admin, "select dbms_workload_repository.create_snapshot('TYPICAL') from dual"), [3]);
    assert_eq!(numbers(&mut admin, "select snap_id from dba_hist_snapshot order by snap_id"), [1, 2, 3]);
    // What the statement did is in the second snapshot's row, and every execution made seventy gets.
    let gets = "select r.gets - 70 * q.executions_total, q.executions_total - q.executions_delta \
                from dba_hist_sqlstat q, dba_hist_rowcache_summary r, dba_hist_sqltext t \
                where q.snap_id = 2 and r.snap_id = 2 and r.parameter = 'dc_props' and t.sql_id = q.sql_id \
                and t.sql_text like 'SELECT VALUE FROM NLS_DATABASE_PARAMETERS%'";
    let seen = numbers(&mut admin, gets);
    assert_eq!(seen.len(), 2, "one statement");
    // The two that were killed had begun one execution each that was not finished.
    assert!(seen[0] <= 0 && seen[0] >= -140 && seen[1] == 0, "{seen:?}");
    let timed = "select count(*) from dba_hist_sqlstat where snap_id = 2 and elapsed_time_delta > 0 and cpu_time_delta > 0 \
                 and executions_delta > 100";
    assert_eq!(numbers(&mut admin, timed), [1]);
}
