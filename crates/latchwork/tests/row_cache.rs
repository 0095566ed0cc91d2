//! The row cache through SQL: gets of a look-up by generation, endless jobs that are killed, and snapshots of both.

use client::{Client, Credentials, Ephemeral, EphemeralOptions};
use types::Value;

fn instance(generation: &str) -> Ephemeral {
    instance_with(generation, &[])
}

fn instance_with(generation: &str, more: &[(&str, &str)]) -> Ephemeral {
    let given = [("latch_generation", generation)].into_iter().chain(more.iter().copied());
    let options = EphemeralOptions {
        executable: Some(env!("CARGO_BIN_EXE_latchwork").into()),
        params: given.map(|(name, value)| (name.into(), value.into())).collect(),
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

/// GETS and GETMISSES of `dc_props`, gets of its child latch and of all latches with the name.
fn figures(session: &mut Client) -> [i64; 4] {
    let sql = "select r.gets, r.getmisses, c.gets, l.gets from v$rowcache r, v$latch_children c, v$latch l \
               where r.cache# = 15 and c.name = 'row cache objects' and c.child# = 18 and l.name = c.name";
    numbers(session, sql).try_into().expect("four numbers")
}

const READ: &str = "select value into v from nls_database_parameters where parameter = 'NLS_CHARACTERSET';";

#[test]
fn a_reading_of_the_parameters_makes_the_published_gets_a_row_in_each_generation() {
    // Gets of the child latch a row of dc_props, gets by the name's line a row.
    for (generation, child, all) in
        [("9.2", 3, 3), ("12.1", 3, 3), ("12.2", 0, 0), ("12.2-hot-copies", 0, 0), ("latchwork", 0, 1)]
    {
        let instance = instance(generation);
        let mut admin = admin(&instance);
        let props = numbers(&mut admin, "select count(*) from database_properties")[0];
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
        // Reading the figures also looks names up, in other caches, which only the last figure counts.
        assert_eq!(gained[..3], [50 * props, 0, 50 * props * child], "{generation}");
        assert!(gained[3] >= 50 * props * all, "{generation}: {gained:?}");
        let caches = if ["9.2", "12.1"].contains(&generation) { 70 } else { 71 };
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

/// The properties of a 19c database that is no container, in the order of their names.
const PROPERTIES: &[&str] = &[
    "DBTIMEZONE",
    "DEFAULT_EDITION",
    "DEFAULT_PERMANENT_TABLESPACE",
    "DEFAULT_TBS_TYPE",
    "DEFAULT_TEMP_TABLESPACE",
    "DICT.BASE",
    "DICTIONARY_ENDIAN_TYPE",
    "DST_PRIMARY_TT_VERSION",
    "DST_SECONDARY_TT_VERSION",
    "DST_UPGRADE_STATE",
    "EXPORT_VIEWS_VERSION",
    "Flashback Timestamp TimeZone",
    "GLOBAL_DB_NAME",
    "MAX_PDB_SNAPSHOTS",
    "MAX_STRING_SIZE",
    "NLS_CALENDAR",
    "NLS_CHARACTERSET",
    "NLS_COMP",
    "NLS_CURRENCY",
    "NLS_DATE_FORMAT",
    "NLS_DATE_LANGUAGE",
    "NLS_DUAL_CURRENCY",
    "NLS_ISO_CURRENCY",
    "NLS_LANGUAGE",
    "NLS_LENGTH_SEMANTICS",
    "NLS_NCHAR_CHARACTERSET",
    "NLS_NCHAR_CONV_EXCP",
    "NLS_NUMERIC_CHARACTERS",
    "NLS_RDBMS_VERSION",
    "NLS_SORT",
    "NLS_TERRITORY",
    "NLS_TIMESTAMP_FORMAT",
    "NLS_TIMESTAMP_TZ_FORMAT",
    "NLS_TIME_FORMAT",
    "NLS_TIME_TZ_FORMAT",
    "NO_USERID_VERIFIER_SALT",
    "TDE_MASTER_KEY_ID",
    "WORKLOAD_CAPTURE_MODE",
    "WORKLOAD_REPLAY_MODE",
];

#[test]
fn the_properties_are_those_of_a_19c_database_and_older_generations_lack_the_newer_ones() {
    for (generation, missing) in [
        ("latchwork", &[][..]),
        ("12.2", &["MAX_PDB_SNAPSHOTS"]),
        ("12.1", &["MAX_PDB_SNAPSHOTS", "DICTIONARY_ENDIAN_TYPE"]),
        ("11.1", &["MAX_PDB_SNAPSHOTS", "DICTIONARY_ENDIAN_TYPE", "MAX_STRING_SIZE"]),
    ] {
        let instance = instance(generation);
        let mut admin = admin(&instance);
        let names = rows(&mut admin, "select property_name from database_properties order by 1");
        let known = PROPERTIES.iter().filter(|name| !missing.contains(*name));
        assert_eq!(names, known.map(|name| vec![Value::text(*name)]).collect::<Vec<_>>(), "{generation}");
        let nls = "select count(*) from nls_database_parameters";
        assert_eq!(numbers(&mut admin, nls), [20], "{generation}");
    }
}

#[test]
fn properties_say_what_the_database_does() {
    let instance = instance("latchwork");
    let mut admin = admin(&instance);
    let value = |admin: &mut Client, name: &str| {
        let sql = format!("select property_value from database_properties where property_name = '{name}'");
        rows(admin, &sql).remove(0).remove(0)
    };
    for (name, sql) in [
        ("DBTIMEZONE", "select dbtimezone from dual"),
        ("DST_PRIMARY_TT_VERSION", "select to_char(version) from v$timezone_file"),
        ("GLOBAL_DB_NAME", "select global_name from global_name"),
        ("NLS_CHARACTERSET", "select regexp_substr(userenv('language'), '[^.]+$') from dual"),
        ("DEFAULT_EDITION", "select sys_context('userenv', 'current_edition_name') from dual"),
    ] {
        let effective = rows(&mut admin, sql).remove(0).remove(0);
        assert_eq!(value(&mut admin, name), effective, "{name}");
    }
    // A new session has the parameters of the database.
    let differ = "select count(*) from nls_database_parameters d, nls_session_parameters s \
                  where s.parameter = d.parameter and s.value <> d.value";
    assert_eq!(numbers(&mut admin, differ), [0]);
    // Names and times that the database's formats give.
    assert_eq!(rows(&mut admin, "select to_char(date '2024-02-29') from dual"), [[Value::text("29-FEB-24")]]);
    assert_eq!(value(&mut admin, "MAX_STRING_SIZE"), Value::text("STANDARD"));
    assert_eq!(code(&mut admin, "create table too_long (t varchar2(4001))"), 910);
    run(&mut admin, "create tablespace ts_one datafile 'ts_one.dbf' size 2m");
    run(&mut admin, "create temporary tablespace ts_temp tempfile 'ts_temp.dbf' size 2m");
    run(&mut admin, "alter database default tablespace ts_one");
    run(&mut admin, "alter database default temporary tablespace ts_temp");
    run(&mut admin, "create user by_default identified by by_default");
    let of_user = "select default_tablespace, temporary_tablespace from dba_users where username = 'BY_DEFAULT'";
    let now = ["DEFAULT_PERMANENT_TABLESPACE", "DEFAULT_TEMP_TABLESPACE"].map(|name| value(&mut admin, name));
    assert_eq!(now, [Value::text("TS_ONE"), Value::text("TS_TEMP")]);
    assert_eq!(rows(&mut admin, of_user), [now]);
}

#[test]
fn a_tablespace_has_the_type_that_the_database_has_by_default() {
    let instance = instance("latchwork");
    let mut admin = admin(&instance);
    let bigfile = "select name, bigfile from v$tablespace where name like 'T\\_%' escape '\\' order by name";
    run(&mut admin, "create tablespace t_1 datafile 't_1.dbf' size 2m");
    run(&mut admin, "alter database set default bigfile tablespace");
    let read = "select property_value from database_properties where property_name = 'DEFAULT_TBS_TYPE'";
    assert_eq!(rows(&mut admin, read), [[Value::text("BIGFILE")]]);
    run(&mut admin, "create tablespace t_2 datafile 't_2.dbf' size 2m");
    run(&mut admin, "create smallfile tablespace t_3 datafile 't_3.dbf' size 2m");
    let two = "create tablespace t_4 datafile 't_4.dbf' size 2m, 't_5.dbf' size 2m";
    assert_eq!(code(&mut admin, two), 32774);
    run(&mut admin, "alter database set default smallfile tablespace");
    run(&mut admin, two);
    let seen: Vec<String> = rows(&mut admin, bigfile).iter().map(|row| format!("{:?}", row[1])).collect();
    let want: Vec<String> = ["NO", "YES", "NO", "NO"].iter().map(|word| format!("{:?}", Value::text(*word))).collect();
    assert_eq!(seen, want);
    assert_eq!(code(&mut admin, "alter database set default tablespace"), 2231);
    run(&mut admin, "grant create session to low identified by low");
    let mut low = instance.connect(&Credentials::password("low", "low")).expect("low connects");
    assert_eq!(code(&mut low, "alter database set default bigfile tablespace"), 1031);
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
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let running = "select count(*) from dba_jobs_running d, v$session s where s.sid = d.sid";
    while numbers(&mut admin, running) != [2] {
        assert!(std::time::Instant::now() < deadline, "the jobs run");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    // Some executions are complete and counted.
    let executions =
        "select nvl(max(executions), 0) from v$sql where sql_text like 'SELECT VALUE FROM NLS_DATABASE_PARAMETERS%'";
    while numbers(&mut admin, executions)[0] <= 100 {
        assert!(std::time::Instant::now() < deadline, "the jobs read");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    // Removing a running job lets it continue; killing it ends it.
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
    // The second snapshot has the statement's work, and every execution made a get for each property.
    let gets = "select r.gets - r.usage * q.executions_total, q.executions_total - q.executions_delta, r.usage \
                from dba_hist_sqlstat q, dba_hist_rowcache_summary r, dba_hist_sqltext t \
                where q.snap_id = 2 and r.snap_id = 2 and r.parameter = 'dc_props' and t.sql_id = q.sql_id \
                and t.sql_text like 'SELECT VALUE FROM NLS_DATABASE_PARAMETERS%'";
    let seen = numbers(&mut admin, gets);
    assert_eq!(seen.len(), 3, "one statement");
    // The two that were killed had begun one execution each that was not finished.
    assert!(seen[0] <= 0 && seen[0] >= -2 * seen[2] && seen[1] == 0 && seen[2] > 0, "{seen:?}");
    let timed = "select count(*) from dba_hist_sqlstat where snap_id = 2 and elapsed_time_delta > 0 and cpu_time_delta > 0 \
                 and executions_delta > 100";
    assert_eq!(numbers(&mut admin, timed), [1]);
}

/// GETS and GETMISSES of a cache.
fn cache(session: &mut Client, id: i64) -> (i64, i64) {
    let sql = format!("select sum(gets), sum(getmisses) from v$rowcache where cache# = {id} and type = 'PARENT'");
    let row = numbers(session, &sql);
    (row[0], row[1])
}

fn code(session: &mut Client, sql: &str) -> u32 {
    match session.query(sql, &[]).and_then(|q| q.all()) {
        Ok(rows) => panic!("{sql}: {rows:?}"),
        Err(e) => e.code(),
    }
}

#[test]
fn names_are_looked_up_in_the_cache_and_what_one_session_found_is_there_for_the_next() {
    for generation in ["12.1", "12.2", "latchwork"] {
        // Without the look-ups of CJQ0.
        let instance = instance_with(generation, &[("job_queue_processes", "0")]);
        let mut admin = admin(&instance);
        run(&mut admin, "create user u identified by u default tablespace users quota unlimited on users");
        run(&mut admin, "grant connect, resource to u");
        let mut first = instance.connect(&Credentials::password("u", "u")).expect("u connects");
        run(&mut first, "create table t (n number)");
        run(&mut first, "create sequence q");
        let statement = "select n, 1 from t where n = 5";
        assert_eq!(rows(&mut first, statement).len(), 0);
        // Another session parses the same: it finds every name in the cache.
        let mut second = instance.connect(&Credentials::password("u", "u")).expect("u connects");
        rows(&mut second, "select n, 2 from t where n = 5");
        let ids = [2, 8, 10, 11];
        let before: Vec<_> = ids.iter().map(|id| cache(&mut admin, *id)).collect();
        let mut third = instance.connect(&Credentials::password("u", "u")).expect("u connects");
        rows(&mut third, "select n, 3 from t where n = 5");
        let after: Vec<_> = ids.iter().map(|id| cache(&mut admin, *id)).collect();
        for ((id, before), after) in ids.iter().zip(before).zip(after) {
            assert!(after.0 > before.0, "{generation}: cache {id} was asked: {before:?} {after:?}");
            assert_eq!(after.1, before.1, "{generation}: cache {id} had everything");
        }
        rows(&mut third, "select q.nextval from dual");
        assert!(cache(&mut admin, 13).0 > 0, "{generation}");
        let key = "select count(*) from v$rowcache_parent where cache_name = 'dc_objects' and existent = 'Y' and lock_mode = 0 \
                   and cache# = 8 and utl_raw.cast_to_varchar2(utl_raw.substr(key, 9)) = 'T'";
        assert_eq!(numbers(&mut admin, key), [1], "{generation}");
    }
}

#[test]
fn what_the_cache_remembers_ends_with_the_ddl_that_changes_it() {
    for generation in ["12.1", "12.2", "12.2-hot-copies", "latchwork"] {
        let instance = instance(generation);
        let (mut admin, mut other) = (admin(&instance), admin(&instance));
        for user in ["u", "v"] {
            run(
                &mut admin,
                &format!("create user {user} identified by {user} default tablespace users quota unlimited on users"),
            );
            run(&mut admin, &format!("grant connect, resource to {user}"));
        }
        let mut v = instance.connect(&Credentials::password("v", "v")).expect("v connects");
        for round in 0..3 {
            // A missing object is remembered as missing, until it is created.
            let read = format!("select n from u.t{} where n = 1", round % 2);
            for _ in 0..2 {
                assert_eq!(code(&mut other, &read), 942, "{generation}");
                assert_eq!(code(&mut v, &read), 942, "{generation}");
            }
            run(&mut admin, &format!("create table u.t{} (n number)", round % 2));
            assert_eq!(rows(&mut other, &read).len(), 0, "{generation}");
            assert_eq!(code(&mut v, &read), 942, "{generation}");
            run(&mut admin, &format!("grant select on u.t{} to v", round % 2));
            assert_eq!(rows(&mut v, &read).len(), 0, "{generation}");
            run(&mut admin, &format!("revoke select on u.t{} from v", round % 2));
            assert_eq!(code(&mut v, &read), 942, "{generation}");
            run(&mut admin, "grant select any table to v");
            assert_eq!(rows(&mut v, &read).len(), 0, "{generation}");
            run(&mut admin, "revoke select any table from v");
            assert_eq!(code(&mut v, &read), 942, "{generation}");
            run(&mut admin, &format!("create public synonym s for u.t{}", round % 2));
            assert_eq!(rows(&mut other, "select n from s").len(), 0, "{generation}");
            run(&mut admin, "drop public synonym s");
            assert_eq!(code(&mut other, "select n from s"), 942, "{generation}");
            run(&mut admin, &format!("drop table u.t{}", round % 2));
        }
        run(&mut admin, "drop user u cascade");
        assert_eq!(code(&mut other, "select n from u.t0"), 942, "{generation}");
        let flushed = numbers(&mut admin, "select flushes from v$rowcache where cache# = 8 and type = 'PARENT'");
        assert!(flushed[0] > 10, "{generation}: {flushed:?}");
    }
}

/// The query of published scripts for a name in the keys.
fn keys_with(name: &str) -> String {
    format!(
        "select count(*) from v$rowcache_parent where rawtohex(key) like (select '%' || upper(replace(substr(dump(upper('{name}'), 16), \
         instr(dump(upper('{name}'), 16), ': ') + 2), ',', '')) || '%' from dual) and existent = 'Y'"
    )
}

#[test]
fn names_are_found_in_the_keys_of_what_was_looked_up() {
    for generation in ["12.1", "latchwork"] {
        let instance = instance(generation);
        let mut admin = admin(&instance);
        // The logon looked its user up.
        assert!(numbers(&mut admin, &keys_with("sys"))[0] >= 1, "{generation}");
        assert_eq!(numbers(&mut admin, &keys_with("no_table_yet")), [0], "{generation}");
        run(&mut admin, "create table no_table_yet (n number)");
        assert_eq!(numbers(&mut admin, "select count(*) from no_table_yet"), [0]);
        assert!(numbers(&mut admin, &keys_with("no_table_yet"))[0] >= 1, "{generation}");
    }
}
