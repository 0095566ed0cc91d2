//! Bind peeking and adaptive cursor sharing: the plans chosen for bind values, and the views about them.

use client::{Bind, Client, Credentials, Ephemeral, EphemeralOptions};
use types::{DataType, Number, Value};

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

fn text(rows: &[Vec<Value>]) -> String {
    let text = |v: &Value| match v {
        Value::Null => "-".to_string(),
        Value::Text(s) => s.clone(),
        Value::Number(n) => n.to_string(),
        other => format!("{other:?}"),
    };
    let row = |row: &Vec<Value>| row.iter().map(text).collect::<Vec<_>>().join(" ");
    rows.iter().map(row).collect::<Vec<_>>().join(";")
}

/// The rows of a query; columns are joined by blanks, rows by semicolons.
fn rows(session: &mut Client, sql: &str) -> String {
    text(&session.query(sql, &[]).and_then(|q| q.all()).unwrap_or_else(|e| panic!("{sql}: {e}")))
}

/// The same of a query with one number as its bind.
fn with(session: &mut Client, sql: &str, bind: i64) -> String {
    let bind = Bind::input(DataType::NUMBER, Value::Number(Number::from_i64(bind)));
    text(&session.query(sql, &[bind]).and_then(|q| q.all()).unwrap_or_else(|e| panic!("{sql}: {e}")))
}

/// Columns of a view for the children of the statement with this text, in order.
fn children(session: &mut Client, columns: &str, view: &str, like: &str) -> String {
    let sql = format!(
        "select {columns} from {view} v, v$sql s where s.sql_id = v.sql_id and s.child_number = v.child_number \
         and s.sql_text like '{like}%' and s.sql_text not like '%v$sql%' order by v.child_number, 1, 2"
    );
    rows(session, &sql)
}

/// The access path to the table in the plan of a child.
fn access(session: &mut Client, child: u32, like: &str) -> String {
    let columns = "v.operation || ' ' || replace(v.options, ' BATCHED') a, v.cardinality";
    let view = "(select * from v$sql_plan where object_name is not null)";
    let all = children(session, &format!("v.child_number, {columns}"), view, like);
    let mut own = all.split(';').filter_map(|row| row.strip_prefix(&format!("{child} ")));
    own.next_back().unwrap_or_default().to_string()
}

fn fill(dba: &mut Client) {
    for sql in [
        "create table acs (id number primary key, kind number not null, pad varchar2(100))",
        "insert into acs select level, case when level <= 10 then level else 100 end, rpad('x', 100, 'x') \
         from dual connect by level <= 5000",
        "create index acs_kind on acs (kind)",
        "commit",
        "begin dbms_stats.gather_table_stats(user, 'ACS', method_opt => 'for all columns size 254'); end;",
        "create procedure acs_run (p_kind number, p_rows number) as n number; begin \
         select count(pad) into n from acs where kind = p_kind; \
         if n <> p_rows then raise_application_error(-20000, 'found ' || n); end if; end;",
    ] {
        run(dba, sql);
    }
}

const STATIC: &str = "SELECT COUNT(PAD) FROM ACS WHERE KIND =";

#[test]
fn a_cursor_becomes_bind_aware_and_each_range_of_selectivities_has_its_child() {
    for design in ["latch", "mutex", "versioned"] {
        let instance = instance(design);
        let mut dba = instance.connect(&Credentials::Sysdba).expect("the owner connects");
        fill(&mut dba);
        let state = "v.child_number, v.is_bind_sensitive, v.is_bind_aware, v.is_shareable, v.executions, v.loads, \
                     v.invalidations";
        // The variable of a static statement is peeked: one row of 5,000 is read through the index.
        run(&mut dba, "begin acs_run(3, 1); end;");
        assert_eq!(children(&mut dba, state, "v$sql", STATIC), "0 Y N Y 1 1 0", "{design}");
        assert_eq!(access(&mut dba, 0, STATIC), "TABLE ACCESS BY INDEX ROWID 1", "{design}");
        // Many rows with the same child, which is being watched.
        run(&mut dba, "begin acs_run(100, 4990); end;");
        assert_eq!(children(&mut dba, state, "v$sql", STATIC), "0 Y N Y 2 1 0", "{design}");
        let histogram = "v.bucket_id, v.count";
        assert_eq!(children(&mut dba, histogram, "v$sql_cs_histogram", STATIC), "0 1;1 1;2 0", "{design}");
        // The next execution makes a child for its values.
        run(&mut dba, "begin acs_run(100, 4990); end;");
        assert_eq!(children(&mut dba, state, "v$sql", STATIC), "0 Y N N 2 1 0;1 Y Y Y 1 1 0", "{design}");
        assert_eq!(access(&mut dba, 1, STATIC), "TABLE ACCESS FULL 4990", "{design}");
        // Other values: another child; from then on each execution uses the child for its values.
        run(&mut dba, "begin acs_run(3, 1); end;");
        let mut other = instance.connect(&Credentials::Sysdba).expect("the owner connects");
        run(&mut other, "begin acs_run(100, 4990); acs_run(3, 1); acs_run(4, 1); end;");
        let expected = "0 Y N N 2 1 0;1 Y Y Y 2 1 0;2 Y Y Y 3 1 0";
        assert_eq!(children(&mut dba, state, "v$sql", STATIC), expected, "{design}");
        let why = "v.child_number, v.bind_equiv_failure, v.load_optimizer_stats, v.bind_mismatch";
        let found = children(&mut dba, why, "v$sql_shared_cursor", STATIC);
        assert_eq!(found, "0 N N N;1 N Y N;2 Y N N", "{design}");
        // A tenth around 4990 and 1 of 5000.
        let ranges = "v.child_number, substr(v.predicate, 1, 1), v.low, v.high";
        let found = children(&mut dba, ranges, "v$sql_cs_selectivity", STATIC);
        assert_eq!(found, "1 = 0.898200 1.000000;2 = 0.000180 0.000220", "{design}");
        let first = "v.child_number, v.peeked, v.executions, v.rows_processed";
        let found = children(&mut dba, first, "v$sql_cs_statistics", STATIC);
        assert_eq!(found, "0 Y 1 1;1 Y 1 4990;2 Y 1 1", "{design}");
        // New statistics make all children invalid; values are peeked again.
        run(
            &mut dba,
            "begin dbms_stats.gather_table_stats(user, 'ACS', method_opt => 'for all columns size 1', \
                       no_invalidate => false); end;",
        );
        run(&mut dba, "begin acs_run(100, 4990); end;");
        let state = "v.is_bind_sensitive, v.is_bind_aware, v.is_shareable";
        let found = children(&mut dba, state, "(select * from v$sql where is_shareable = 'Y')", STATIC);
        assert_eq!(found, "N N Y", "{design}: an equality without a histogram asks no value");
    }
}

#[test]
fn hints_and_parameters_decide_whether_values_matter() {
    let instance = instance("versioned");
    let mut dba = instance.connect(&Credentials::Sysdba).expect("the owner connects");
    fill(&mut dba);
    let state = "v.child_number, v.is_bind_sensitive, v.is_bind_aware, v.is_shareable, v.executions";
    // Children with equal plans are merged into one with both ranges.
    let aware = "select /*+ bind_aware full(acs) */ count(pad) from acs where id > :x";
    assert_eq!(with(&mut dba, aware, 4000), "1000");
    assert_eq!(with(&mut dba, aware, 3000), "2000");
    assert_eq!(with(&mut dba, aware, 3500), "1500");
    assert_eq!(children(&mut dba, state, "v$sql", aware), "0 Y Y N 1;1 Y Y Y 2");
    let found = children(&mut dba, "v.predicate, v.low, v.high", "v$sql_cs_selectivity", aware);
    assert_eq!(found.split(';').next_back(), Some(">X 0.180066 0.440209"), "{found}");
    // Peeked but not watched.
    let plain = "select /*+ no_bind_aware */ count(pad) from acs where kind = :x";
    assert_eq!(with(&mut dba, plain, 3), "1");
    assert_eq!(with(&mut dba, plain, 100), "4990");
    assert_eq!(with(&mut dba, plain, 100), "4990");
    assert_eq!(children(&mut dba, state, "v$sql", plain), "0 N N Y 3");
    assert_eq!(access(&mut dba, 0, plain), "TABLE ACCESS BY INDEX ROWID 1");
    // Without peeking a range is estimated as one in twenty.
    let range = "select count(pad) from acs b where id > :x";
    run(&mut dba, "alter session set \"_optim_peek_user_binds\" = false");
    assert_eq!(with(&mut dba, range, 4990), "10");
    assert_eq!(access(&mut dba, 0, range), "TABLE ACCESS BY INDEX ROWID 250");
    run(&mut dba, "alter session set \"_optim_peek_user_binds\" = true");
    assert_eq!(with(&mut dba, range, 4990), "10");
    assert_eq!(access(&mut dba, 1, range), "TABLE ACCESS BY INDEX ROWID 10");
    assert_eq!(children(&mut dba, state, "v$sql", range), "0 N N Y 1;1 Y N Y 1");
    run(&mut dba, "alter session set \"_optimizer_adaptive_cursor_sharing\" = false");
    assert_eq!(with(&mut dba, range, 0), "5000");
    assert_eq!(children(&mut dba, state, "v$sql", range), "0 N N Y 1;1 Y N Y 1;2 N N Y 1");
    // DML counts the rows that it changes.
    run(&mut dba, "alter session set \"_optimizer_adaptive_cursor_sharing\" = true");
    let change = "update acs set pad = upper(pad) where kind = :x";
    for kind in [1, 100, 100] {
        let bind = Bind::input(DataType::NUMBER, Value::Number(Number::from_i64(kind)));
        dba.execute(change, &[bind]).expect("rows are changed");
    }
    run(&mut dba, "rollback");
    assert_eq!(children(&mut dba, state, "v$sql", change), "0 Y N N 2;1 Y Y Y 1");
}

#[test]
fn values_that_a_plan_does_not_depend_on_cost_no_second_plan() {
    let instance = instance("versioned");
    let mut dba = instance.connect(&Credentials::Sysdba).expect("the owner connects");
    fill(&mut dba);
    let count = "select s.value from v$mystat s, v$statname n where n.statistic# = s.statistic# \
                 and n.name = 'parse count (hard)'";
    rows(&mut dba, count);
    let hard = |dba: &mut Client, sql: &str| {
        let before: u64 = rows(dba, count).parse().expect("a number");
        with(dba, sql, 3);
        rows(dba, count).parse::<u64>().expect("a number") - before
    };
    assert_eq!(hard(&mut dba, "select pad from acs where id = :x"), 1);
    // The parse and the plan for its first values are one hard parse.
    assert_eq!(hard(&mut dba, "select count(*) from acs where id < :x"), 1);
    assert_eq!(hard(&mut dba, "select count(*) from acs where id < :x"), 0);
}

#[test]
fn an_execution_that_finds_other_rows_than_expected_corrects_the_next_plan() {
    for design in ["pins", "versioned"] {
        let instance = instance(design);
        let mut dba = instance.connect(&Credentials::Sysdba).expect("the owner connects");
        for sql in [
            "create table wide (id number primary key, a number, b number, c number)",
            "insert into wide select level, mod(level, 10), mod(level, 10), mod(level, 10) from dual connect by level <= 5000",
            "create table narrow (id number primary key, w number)",
            "insert into narrow select level, level from dual connect by level <= 5000",
            "commit",
            "begin dbms_stats.gather_table_stats(user, 'WIDE', method_opt => 'for all columns size 1'); \
             dbms_stats.gather_table_stats(user, 'NARROW', method_opt => 'for all columns size 1'); end;",
        ] {
            run(&mut dba, sql);
        }
        let state = "v.child_number, v.is_reoptimizable, v.is_shareable, v.executions";
        let rows_of = |dba: &mut Client, child: u32, like: &str| {
            let view = "(select * from v$sql_plan where object_name = 'WIDE')";
            let all = children(dba, "v.child_number, v.cardinality", view, like);
            all.split(';').find_map(|row| row.strip_prefix(&format!("{child} ")).map(str::to_owned)).unwrap_or_default()
        };
        // Three columns with equal content: 5 rows are expected instead of 500.
        let text = "select count(*) from wide w, narrow n where w.a = 3 and w.b = 3 and w.c = 3 and n.w = w.id";
        assert_eq!(rows(&mut dba, text), "500", "{design}");
        assert_eq!(children(&mut dba, state, "v$sql", text), "0 Y N 1", "{design}");
        assert_eq!(rows_of(&mut dba, 0, text), "5", "{design}");
        let mut other = instance.connect(&Credentials::Sysdba).expect("the owner connects");
        assert_eq!(rows(&mut other, text), "500", "{design}");
        assert_eq!(rows(&mut dba, text), "500", "{design}");
        assert_eq!(children(&mut dba, state, "v$sql", text), "0 Y N 1;1 N Y 2", "{design}");
        assert_eq!(rows_of(&mut dba, 1, text), "500", "{design}");
        let id = rows(&mut dba, &format!("select distinct sql_id from v$sql where sql_text = '{text}'"));
        let notes = format!(
            "select plan_table_output from table(dbms_xplan.display_cursor('{id}', 1)) where plan_table_output like '%used%'"
        );
        assert_eq!(rows(&mut dba, &notes), "   - statistics feedback used for this statement", "{design}");
        let why = children(&mut dba, "v.child_number, v.use_feedback_stats", "v$sql_shared_cursor", text);
        assert_eq!(why, "0 N;1 Y", "{design}");
        // A correct estimate changes nothing.
        let text = "select count(*) from wide w, narrow n where w.a = 3 and w.id > 0 and n.w = w.id";
        for _ in 0..3 {
            assert_eq!(rows(&mut dba, text), "500", "{design}");
        }
        assert_eq!(children(&mut dba, state, "v$sql", text), "0 N Y 3", "{design}");
        // Rows not fetched to the end give no feedback; neither does an execution with the parameter set to FALSE.
        let text = "select w.id from wide w, narrow n where w.a = 4 and w.b = 4 and w.c = 4 and n.w = w.id";
        {
            let mut query = dba.query(text, &[]).expect("rows");
            assert!(query.next_row().expect("a row").is_some());
        }
        assert_eq!(children(&mut dba, state, "v$sql", text), "0 N Y 1", "{design}");
        run(&mut dba, "alter session set \"_optimizer_use_feedback\" = false");
        let text = "select count(*) from wide w, narrow n where w.a = 5 and w.b = 5 and w.c = 5 and n.w = w.id";
        assert_eq!(rows(&mut dba, text), "500", "{design}");
        assert_eq!(rows(&mut dba, text), "500", "{design}");
        assert_eq!(children(&mut dba, state, "v$sql", text), "0 N Y 2", "{design}");
        // New statistics: feedback on the old ones is forgotten.
        run(&mut dba, "alter session set \"_optimizer_use_feedback\" = true");
        let text = "select count(*) from wide w, narrow n where w.a = 6 and w.b = 6 and w.c = 6 and n.w = w.id";
        assert_eq!(rows(&mut dba, text), "500", "{design}");
        assert_eq!(children(&mut dba, state, "v$sql", text), "0 Y N 1", "{design}");
        run(
            &mut dba,
            "declare s varchar2(100); begin s := dbms_stats.create_extended_stats(user, 'WIDE', '(a,b,c)'); \
                       dbms_stats.gather_table_stats(user, 'WIDE', method_opt => 'for all columns size 1 for columns size 1 (a,b,c)'); end;",
        );
        for _ in 0..2 {
            assert_eq!(rows(&mut dba, text), "500", "{design}");
        }
        let left = children(&mut dba, "v.is_reoptimizable, v.is_shareable", "v$sql", text);
        assert_eq!(left, "N Y", "{design}");
    }
}

#[test]
fn the_dictionary_shows_how_predicates_have_used_columns() {
    let instance = instance("versioned");
    let mut dba = instance.connect(&Credentials::Sysdba).expect("the owner connects");
    fill(&mut dba);
    for kind in [3, 100] {
        // A single hard parse, for any values and executions.
        with(&mut dba, "select count(pad) from acs where kind = :x", kind);
    }
    rows(&mut dba, "select count(*) from acs where id between 3 and 7");
    rows(&mut dba, "select count(*) from acs where id > 3 or pad is null");
    rows(&mut dba, "select count(*) from acs where pad like 'x%' and upper(pad) = 'X' and kind <> 3");
    rows(&mut dba, "select count(*) from acs a, acs b where a.id = b.id and a.kind <= b.kind");
    let uses = "select c.name, u.equality_preds, u.equijoin_preds, u.nonequijoin_preds, u.range_preds, u.like_preds, \
                u.null_preds from sys.col_usage$ u, sys.col$ c, sys.obj$ o where o.name = 'ACS' and c.obj# = o.obj# \
                and u.obj# = o.obj# and u.intcol# = c.col# order by 1";
    assert_eq!(rows(&mut dba, uses), "", "they are added up when that is asked for");
    run(&mut dba, "begin dbms_stats.flush_database_monitoring_info; end;");
    assert_eq!(rows(&mut dba, uses), "ID 0 1 0 2 0 0;KIND 1 0 1 0 0 0;PAD 0 0 0 0 1 1");
    // Gathering with SIZE AUTO adds the counts up, too.
    rows(&mut dba, "select count(*) from acs where id < 9");
    run(&mut dba, "begin dbms_stats.gather_table_stats(user, 'ACS'); end;");
    assert_eq!(rows(&mut dba, uses), "ID 0 1 0 3 0 0;KIND 1 0 1 0 0 0;PAD 0 0 0 0 1 1");
    // Uses and changes counted in memory but not yet added up leave no rows of a dropped table.
    rows(&mut dba, "select count(*) from acs where id < 9");
    run(&mut dba, "begin insert into acs (id, kind) values (-1, 0); commit; end;");
    run(&mut dba, "drop table acs purge");
    run(&mut dba, "begin dbms_stats.flush_database_monitoring_info; end;");
    assert_eq!(rows(&mut dba, "select count(*) from sys.col_usage$"), "0");
    let changes = "select count(*) from sys.mon_mods_all$ where obj# not in (select obj# from sys.obj$)";
    assert_eq!(rows(&mut dba, changes), "0");
}

#[test]
fn system_statistics_weigh_scans_against_single_reads() {
    let instance = instance("versioned");
    let mut dba = instance.connect(&Credentials::Sysdba).expect("the owner connects");
    fill(&mut dba);
    let cost = |dba: &mut Client| {
        run(dba, "delete from plan_table");
        run(dba, "explain plan for select /*+ full(acs) */ max(pad) from acs");
        rows(dba, "select io_cost from plan_table where operation = 'TABLE ACCESS'").parse::<u64>().expect("a cost")
    };
    let blocks: f64 =
        rows(&mut dba, "select blocks from user_tables where table_name = 'ACS'").parse().expect("blocks");
    let before = cost(&mut dba);
    assert_eq!(before, (1.0 + blocks * 0.27).ceil() as u64);
    // A multiblock read takes as long as 32 single reads.
    run(
        &mut dba,
        "begin dbms_stats.set_system_stats('sreadtim', 1); dbms_stats.set_system_stats('mreadtim', 32); \
         dbms_stats.set_system_stats('mbrc', 16); end;",
    );
    assert_eq!(cost(&mut dba), (1.0 + blocks * 2.0).ceil() as u64);
    let kept = "select pname, pval1, pval2 from sys.aux_stats$ where pname not like 'DST%' order by sname, pname";
    assert_eq!(rows(&mut dba, kept), "STATUS - COMPLETED;MBRC 16 -;MREADTIM 32 -;SREADTIM 1 -");
    run(
        &mut dba,
        "declare s varchar2(30); b date; e date; v number; begin dbms_stats.get_system_stats(s, b, e, 'MBRC', v); \
         if s <> 'COMPLETED' or v <> 16 or b is null or e < b then \
         raise_application_error(-20000, s || v); end if; end;",
    );
    run(&mut dba, "begin dbms_stats.delete_system_stats; end;");
    assert_eq!(cost(&mut dba), before);
    for (text, error) in [
        ("begin dbms_stats.set_system_stats('SPEED', 1); end;", "ORA-20003"),
        ("begin dbms_stats.set_system_stats('MBRC', -1); end;", "ORA-20001"),
        ("begin dbms_stats.gather_system_stats('STOP'); end;", "ORA-20003"),
    ] {
        let refused = dba.execute(text, &[]).expect_err(text).to_string();
        assert!(refused.starts_with(error), "{text}: {refused}");
    }
    // A workload is measured by the reads of the data files between its start and its end.
    run(&mut dba, "begin dbms_stats.gather_system_stats('START'); end;");
    assert_eq!(rows(&mut dba, "select pval2 from sys.aux_stats$ where pname = 'STATUS'"), "MANUALGATHERING");
    for _ in 0..2 {
        run(&mut dba, "alter system flush buffer_cache");
        rows(&mut dba, "select /*+ full(acs) */ max(pad) from acs");
        rows(&mut dba, "select pad from acs where id = 77");
    }
    run(&mut dba, "begin dbms_stats.gather_system_stats('STOP'); end;");
    let gathered =
        "select pname, sign(pval1), pval2 from sys.aux_stats$ where pname not like 'DST%' order by sname, pname";
    assert_eq!(rows(&mut dba, gathered), "STATUS - COMPLETED;MBRC 1 -;MREADTIM 1 -;SREADTIM 1 -");
}

#[test]
fn system_statistics_without_a_workload_are_of_the_device() {
    let instance = instance("versioned");
    let mut dba = instance.connect(&Credentials::Sysdba).expect("the owner connects");
    fill(&mut dba);
    // A megabyte of written blocks in one stretch is the least that is measured. They are read from the files again.
    run(&mut dba, "create table wide as select rpad('x', 1000, 'x') pad from dual connect by level <= 3000");
    run(&mut dba, "alter system checkpoint");
    run(&mut dba, "begin dbms_stats.gather_system_stats; end;");
    let gathered = "select pname, sign(pval1) from sys.aux_stats$ where sname = 'SYSSTATS_MAIN' order by pname";
    assert_eq!(rows(&mut dba, gathered), "CPUSPEEDNW 1;IOSEEKTIM 1;IOTFRSPEED 1");
    assert_eq!(rows(&mut dba, "select pval2 from sys.aux_stats$ where pname = 'STATUS'"), "COMPLETED");
    let value = |dba: &mut Client, name: &str| {
        rows(dba, &format!("select pval1 from sys.aux_stats$ where pname = '{name}'")).parse::<f64>().expect("a number")
    };
    let (seek, speed) = (value(&mut dba, "IOSEEKTIM"), value(&mut dba, "IOTFRSPEED"));
    let time = |blocks: f64| seek + blocks * 8192.0 / speed;
    run(&mut dba, "explain plan for select /*+ full(acs) */ max(pad) from acs");
    let cost = rows(&mut dba, "select io_cost from plan_table where operation = 'TABLE ACCESS'");
    let blocks: f64 =
        rows(&mut dba, "select blocks from user_tables where table_name = 'ACS'").parse().expect("blocks");
    assert_eq!(cost, (1.0 + blocks * time(8.0) / time(1.0) / 8.0).ceil().to_string());
}

/// The estimated rows of the query's operations of this kind, in order.
fn estimates(dba: &mut Client, query: &str, operation: &str) -> String {
    run(dba, "delete from plan_table");
    run(dba, &format!("explain plan for {query}"));
    rows(dba, &format!("select cardinality from plan_table where operation = '{operation}' order by id"))
}

#[test]
fn statistics_of_dictionary_and_fixed_tables_decide_estimates() {
    let instance = instance("versioned");
    let mut dba = instance.connect(&Credentials::Sysdba).expect("the owner connects");
    let parameters = rows(&mut dba, "select count(*) from v$parameter");
    let objects = rows(&mut dba, "select count(*) from sys.obj$");
    let (fixed, one) = ("select name from v$parameter", "select value from v$parameter where name = 'processes'");
    // Without statistics a fixed table counts as 100 rows.
    assert_eq!(estimates(&mut dba, fixed, "FIXED TABLE"), "100");
    run(&mut dba, "begin dbms_stats.gather_fixed_objects_stats; end;");
    for query in [fixed, "select name from v_$parameter", "select name from gv$parameter"] {
        assert_eq!(estimates(&mut dba, query, "FIXED TABLE"), parameters, "{query}");
    }
    assert_eq!(estimates(&mut dba, one, "FIXED TABLE"), "1");
    assert_eq!(estimates(&mut dba, "select * from gv$parameter where name = 'processes'", "FIXED TABLE"), "1");
    let stored = "select num_rows, object_type, stattype_locked from dba_tab_statistics where owner = 'SYS' and \
                  table_name = 'V$PARAMETER'";
    assert_eq!(rows(&mut dba, stored), format!("{parameters} FIXED TABLE -"));
    // Gathered again, they are replaced.
    run(&mut dba, "begin dbms_stats.gather_fixed_objects_stats; end;");
    assert_eq!(rows(&mut dba, "select count(*) from sys.tab_stats$ where name = 'V$PARAMETER'"), "1");
    run(&mut dba, "begin dbms_stats.delete_fixed_objects_stats; end;");
    assert_eq!(estimates(&mut dba, fixed, "FIXED TABLE"), "100");
    assert_eq!(rows(&mut dba, "select count(*) from sys.tab_stats$"), "0");

    let (all, by_name) = ("select * from sys.obj$", "select * from sys.obj$ where obj# = 18");
    run(&mut dba, "begin dbms_stats.gather_dictionary_stats(options => 'GATHER'); end;");
    // Gathering has created no objects.
    assert_eq!(estimates(&mut dba, all, "TABLE ACCESS"), objects);
    assert_eq!(estimates(&mut dba, by_name, "TABLE ACCESS"), "1");
    assert_eq!(rows(&mut dba, "select sign(num_rows) from dba_tab_statistics where table_name = 'OBJ$'"), "1");
    // Histograms where METHOD_OPT asks for them.
    run(&mut dba, "begin dbms_stats.gather_dictionary_stats(method_opt => 'for all columns size skewonly'); end;");
    let views = rows(&mut dba, "select count(*) from sys.obj$ where type# = 4");
    assert_eq!(estimates(&mut dba, "select * from sys.obj$ where type# = 4", "TABLE ACCESS"), views);
    // A view on the dictionary is planned with them and returns the same rows.
    let before = rows(&mut dba, "select count(*), min(object_name) from dba_objects where owner = 'SYS'");
    run(&mut dba, "begin dbms_stats.delete_dictionary_stats; end;");
    assert_eq!(rows(&mut dba, "select count(*), min(object_name) from dba_objects where owner = 'SYS'"), before);
    assert_eq!(rows(&mut dba, "select count(*) from sys.tab_stats$"), "0");
    for (text, error) in [
        ("begin dbms_stats.gather_dictionary_stats('RDBMS'); end;", "ORA-03001"),
        ("begin dbms_stats.gather_dictionary_stats(options => 'ALL'); end;", "ORA-20001"),
        ("begin dbms_stats.gather_fixed_objects_stats(stattab => 'T'); end;", "ORA-03001"),
    ] {
        let refused = dba.execute(text, &[]).expect_err(text).to_string();
        assert!(refused.starts_with(error), "{text}: {refused}");
    }
}

#[test]
fn system_statistics_need_the_role_gather_system_statistics() {
    let instance = instance("versioned");
    let mut dba = instance.connect(&Credentials::Sysdba).expect("the owner connects");
    for sql in [
        "create user g identified by g",
        "create user a identified by a",
        "grant create session, gather_system_statistics to g",
        "grant create session, analyze any to a",
    ] {
        run(&mut dba, sql);
    }
    let all = [
        "begin dbms_stats.set_system_stats('MBRC', 9); end;",
        "declare s varchar2(30); b date; e date; v number; begin dbms_stats.get_system_stats(s, b, e, 'MBRC', v); end;",
        "begin dbms_stats.gather_system_stats; end;",
        "begin dbms_stats.gather_system_stats('START'); end;",
        "begin dbms_stats.gather_system_stats('STOP'); end;",
        "begin dbms_stats.delete_system_stats; end;",
    ];
    for (name, may) in [("g", true), ("a", false)] {
        let who = Credentials::Password { user: name.into(), password: name.into() };
        let mut session = instance.connect(&who).expect("the user connects");
        for sql in all {
            match session.execute(sql, &[]) {
                Ok(_) => assert!(may, "{name}: {sql}"),
                Err(e) => assert!(!may && e.to_string().starts_with("ORA-20000"), "{name}: {sql}: {e}"),
            }
        }
    }
}

#[test]
fn no_invalidate_says_when_cursors_end() {
    for design in ["latch", "mutex", "versioned"] {
        let instance = instance(design);
        let mut dba = instance.connect(&Credentials::Sysdba).expect("the owner connects");
        for sql in [
            "create table ni (id number primary key, v number)",
            "create table other_ni (id number)",
            "insert into ni select level, mod(level, 7) from dual connect by level <= 100",
            "commit",
        ] {
            run(&mut dba, sql);
        }
        let (one, two, three) =
            ("select count(*) from ni where v > 0", "select count(*) from other_ni", "select /* 3 */ count(*) from ni");
        let state = |dba: &mut Client, text: &str| {
            rows(
                dba,
                &format!("select loads, invalidations, child_number from v$sql where sql_text = '{text}' order by 3"),
            )
        };
        let gather = |dba: &mut Client, more: &str| {
            run(dba, &format!("begin dbms_stats.gather_table_stats(user, 'NI'{more}); end;"));
        };
        assert_eq!((rows(&mut dba, one), rows(&mut dba, two)), ("86".into(), "0".into()), "{design}");
        gather(&mut dba, ", no_invalidate => true");
        rows(&mut dba, one);
        assert_eq!(state(&mut dba, one), "1 0 0", "{design}");
        gather(&mut dba, ", no_invalidate => false");
        assert_eq!(state(&mut dba, one), "1 1 0", "{design}");
        assert_eq!(rows(&mut dba, one), "86", "{design}");
        rows(&mut dba, two);
        assert_eq!((state(&mut dba, one), state(&mut dba, two)), ("2 1 0".into(), "1 0 0".into()), "{design}");
        // Within weeks: the chance that the invalidation happens during the test is one in some millions.
        run(&mut dba, "alter session set \"_optimizer_invalidation_period\" = 4000000");
        gather(&mut dba, "");
        rows(&mut dba, one);
        assert_eq!(state(&mut dba, one), "2 1 0", "{design}");
        rows(&mut dba, three);
        run(&mut dba, "alter session set \"_optimizer_invalidation_period\" = 0");
        // A setting that does not affect plans: the next parse still finds the cursor.
        rows(&mut dba, three);
        run(&mut dba, "begin dbms_stats.set_table_stats(user, 'NI', numrows => 1000); end;");
        assert_eq!(rows(&mut dba, three), "100", "{design}");
        assert_eq!(state(&mut dba, three), "1 0 0;1 0 1", "{design}");
        let why = "v.child_number, s.is_shareable, v.roll_invalid_mismatch";
        assert_eq!(children(&mut dba, why, "v$sql_shared_cursor", "select /* 3 */"), "0 N N;1 Y Y", "{design}");
        rows(&mut dba, three);
        assert_eq!(state(&mut dba, three), "1 0 0;1 0 1", "{design}");
        // A cursor marked before keeps its time of invalidation.
        rows(&mut dba, one);
        assert_eq!(state(&mut dba, one), "2 1 0", "{design}");
        run(
            &mut dba,
            "begin dbms_stats.set_table_prefs(user, 'NI', 'NO_INVALIDATE', 'true'); \
             dbms_stats.delete_table_stats(user, 'NI'); end;",
        );
        rows(&mut dba, three);
        assert_eq!(state(&mut dba, three), "1 0 0;1 0 1", "{design}");
        let prefs =
            "select dbms_stats.get_prefs('NO_INVALIDATE', user, 'NI'), dbms_stats.get_prefs('NO_INVALIDATE') from dual";
        assert_eq!(rows(&mut dba, prefs), "TRUE DBMS_STATS.AUTO_INVALIDATE", "{design}");
        let odd = "begin dbms_stats.set_table_prefs(user, 'NI', 'NO_INVALIDATE', 'DBMS_STATS.AUTO_CASCADE'); end;";
        let refused = dba.execute(odd, &[]).expect_err("no value of it").to_string();
        assert!(refused.starts_with("ORA-20001"), "{design}: {refused}");
        // ANALYZE invalidates cursors at once, including unused ones.
        run(&mut dba, "analyze table ni compute statistics");
        assert_eq!(state(&mut dba, three), "1 1 0;1 1 1", "{design}");
    }
}

#[test]
fn plans_are_printed_with_the_values_that_they_were_made_with() {
    let instance = instance("versioned");
    let mut dba = instance.connect(&Credentials::Sysdba).expect("the owner connects");
    for sql in [
        "create table pb (id number, name varchar2(30), born date)",
        "insert into pb select level, 'n' || level, date '2020-01-01' + level from dual connect by level <= 100",
        "begin dbms_stats.gather_table_stats(user, 'PB'); end;",
        "declare low number := 95; named varchar2(10) := 'n'; since date := date '2020-02-03'; n number; begin \
         for i in 1 .. 2 loop \
         select /*+ full(pb) */ count(*) into n from pb where id > low and name > named and born > since; \
         low := 3; end loop; end;",
    ] {
        run(&mut dba, sql);
    }
    let printed = |dba: &mut Client, format: &str| {
        let sql = format!(
            "select p.plan_table_output from v$sql s, table(dbms_xplan.display_cursor(s.sql_id, s.child_number, \
             '{format}')) p where upper(s.sql_text) like 'SELECT /*+ FULL(PB) */%'"
        );
        let lines = rows(dba, &sql);
        let from = lines.find("Peeked Binds").map_or("", |at| &lines[at..]);
        from.split(';').take(6).collect::<Vec<_>>().join(";")
    };
    let expected = [
        "Peeked Binds (identified by position):",
        "--------------------------------------",
        "-",
        "   1 - :B3 (NUMBER): 95",
        "   2 - :B2 (VARCHAR2(32), CSID=873): 'n'",
        "   3 - :B1 (DATE): 02/03/2020 00:00:00",
    ]
    .join(";");
    assert_eq!(printed(&mut dba, "BASIC +PEEKED_BINDS"), expected);
    assert_eq!(printed(&mut dba, "ADVANCED"), expected);
    assert_eq!(printed(&mut dba, "TYPICAL"), "");
    let noted = "select count(*) from v$sql_plan \
                 where other_xml like '%<bind nam=\":B3\" pos=\"1\" dty=\"2\" mxl=\"22\">c160</bind>%'";
    assert_eq!(rows(&mut dba, noted), "1");
}
