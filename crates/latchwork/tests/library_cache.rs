//! The library cache through SQL: children and the reasons for several of them, and counts that do not depend on the
//! machine, in every design.

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

/// The rows of a query; columns are joined by blanks, rows by semicolons.
fn rows(session: &mut Client, sql: &str) -> String {
    let rows = session.query(sql, &[]).and_then(|q| q.all()).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let text = |v: &Value| match v {
        Value::Null => "-".to_string(),
        Value::Text(s) => s.clone(),
        Value::Number(n) => n.to_string(),
        other => format!("{other:?}"),
    };
    let row = |row: &Vec<Value>| row.iter().map(text).collect::<Vec<_>>().join(" ");
    rows.iter().map(row).collect::<Vec<_>>().join(";")
}

fn statistic(session: &mut Client, name: &str) -> i64 {
    let sql =
        format!("select s.value from v$mystat s, v$statname n where n.statistic# = s.statistic# and n.name = '{name}'");
    rows(session, &sql).parse().expect("a number")
}

const DESIGNS: [&str; 4] = ["latch", "pins", "mutex", "versioned"];

#[test]
fn children_invalidations_and_reasons_are_shown_in_every_design() {
    for design in DESIGNS {
        let instance = instance(design);
        let mut a = instance.connect(&Credentials::Sysdba).expect("the owner connects");
        let mut b = instance.connect(&Credentials::Sysdba).expect("the owner connects");
        run(&mut a, "create table lc (n number, v varchar2(10))");
        let text = "select /* lc */ count(*) from lc";
        run(&mut a, "begin dbms_application_info.set_module('loader', 'first'); end;");
        for _ in 0..3 {
            rows(&mut a, text);
            rows(&mut b, text);
        }
        let children = "select child_number, executions, loads, invalidations, module, object_status from v$sql \
                        where sql_text like 'select /* lc */%' order by child_number";
        assert_eq!(rows(&mut a, children), "0 6 1 0 loader VALID", "{design}");
        run(&mut b, "alter session set optimizer_mode = first_rows_10");
        rows(&mut b, text);
        assert_eq!(rows(&mut a, children), "0 6 1 0 loader VALID;1 1 1 0 - VALID", "{design}");
        let why = "select child_number, optimizer_mismatch, bind_mismatch, language_mismatch, reason from v$sql_shared_cursor \
                   where sql_id = (select max(sql_id) from v$sql where sql_text like 'select /* lc */%') order by 1";
        assert_eq!(rows(&mut a, why), "0 N N N -;1 Y N N Optimizer mismatch", "{design}");
        let area = "select version_count, executions, loads from v$sqlarea where sql_text like 'select /* lc */%'";
        assert_eq!(rows(&mut a, area), "2 7 2", "{design}");
        run(&mut a, "alter table lc add (w number)");
        rows(&mut a, text);
        rows(&mut b, text);
        assert_eq!(rows(&mut a, children), "0 7 2 1 loader VALID;1 2 2 1 - VALID", "{design}");
        let kept = "select cursor_type from v$open_cursor where sql_text like 'select /* lc */%' group by cursor_type";
        assert_eq!(rows(&mut a, kept), "SESSION CURSOR CACHED", "{design}");
        run(&mut a, "alter system flush shared_pool");
        assert_eq!(rows(&mut a, children), "", "{design}");
        rows(&mut a, text);
        assert_eq!(rows(&mut a, children), "0 1 1 0 loader VALID", "{design}");
    }
}

#[test]
fn a_cursor_whose_image_is_too_long_is_not_loaded_again_and_again() {
    for design in ["mutex", "versioned"] {
        let instance = instance(design);
        let mut dba = instance.connect(&Credentials::Sysdba).expect("the owner connects");
        run(&mut dba, "create table long_lists (v varchar2(200))");
        let list = |n: usize| (0..900).map(|m| format!("'{:060}{m}'", n)).collect::<Vec<_>>().join(", ");
        let lists = (0..3).map(|n| format!("v in ({})", list(n))).collect::<Vec<_>>().join(" or ");
        let text = format!("select /* long */ count(*) from long_lists where {lists}");
        let block = format!(
            "declare /* long block */ n number; begin {} end;",
            (0..2000).map(|m| format!("n := length('{m:060}');")).collect::<String>()
        );
        for _ in 0..3 {
            let mut session = instance.connect(&Credentials::Sysdba).expect("the owner connects");
            assert_eq!(rows(&mut session, &text), "0", "{design}");
            run(&mut session, &block);
        }
        let seen = "select s.executions, s.loads, s.invalidations, c.reason from v$sql s, v$sql_shared_cursor c \
                    where s.sql_text like '%/* long%' and s.sql_text not like '%v$sql%' and c.sql_id = s.sql_id \
                    order by s.command_type";
        let once = "3 1 0 Cursor image too long to share";
        assert_eq!(rows(&mut dba, seen), format!("{once};{once}"), "{design}");
        // Each session compiles it, and counts it.
        let mut session = instance.connect(&Credentials::Sysdba).expect("the owner connects");
        let before = statistic(&mut session, "parse count (hard)");
        assert_eq!(rows(&mut session, &text), "0", "{design}");
        assert!(statistic(&mut session, "parse count (hard)") > before, "{design}");
    }
}

#[test]
fn parse_counts_and_the_cache_of_cursors_are_as_they_are() {
    let instance = instance("versioned");
    let mut s = instance.connect(&Credentials::Sysdba).expect("the owner connects");
    let mut other = instance.connect(&Credentials::Sysdba).expect("the owner connects");
    let names = ["parse count (total)", "parse count (hard)", "parse count (failures)", "session cursor cache hits"];
    // The queries for the figures are parsed, too: three times before, and then they are kept.
    let figures = |s: &mut Client| names.map(|name| statistic(s, name));
    for _ in 0..3 {
        figures(&mut s);
    }
    rows(&mut other, "select 47 from dual");
    let before = figures(&mut s);
    for _ in 0..4 {
        rows(&mut s, "select 47 from dual");
    }
    rows(&mut s, "select 48 from dual");
    assert!(s.execute("select from from", &[]).is_err());
    assert!(s.execute("select x from no_such_table", &[]).is_err());
    let after = figures(&mut s);
    let own = 4;
    // A statement loaded by another session is parsed softly.
    assert_eq!(after[0] - before[0], 7 + own);
    assert_eq!(after[1] - before[1], 1);
    assert_eq!(after[2] - before[2], 2);
    assert_eq!(after[3] - before[3], 1 + own);
}

#[test]
fn plans_are_kept_with_their_cursors_and_printed() {
    let instance = instance("versioned");
    let mut s = instance.connect(&Credentials::Sysdba).expect("the owner connects");
    let mut other = instance.connect(&Credentials::Sysdba).expect("the owner connects");
    run(&mut s, "create table lcp (n number primary key, v varchar2(10))");
    let text = "select v from lcp where n = 3 and v like 'a%'";
    rows(&mut s, text);
    let shown = rows(&mut s, "select plan_table_output from table(dbms_xplan.display_cursor)");
    assert!(shown.contains("child number 0") && shown.contains("TABLE ACCESS BY INDEX ROWID"), "{shown}");
    assert!(shown.contains("access(\"LCP\".\"N\"=3)") && shown.contains("LIKE 'a%'"), "{shown}");
    let id = rows(&mut other, "select sql_id from v$sql where sql_text like 'select v from lcp%'");
    let plan =
        format!("select id, parent_id, depth, operation, options from v$sql_plan where sql_id = '{id}' order by id");
    let expected = "0 - 0 SELECT STATEMENT -;1 0 1 TABLE ACCESS BY INDEX ROWID;2 1 2 INDEX UNIQUE SCAN";
    assert_eq!(rows(&mut other, &plan), expected);
    // Another session sees the same plan, with the number in v$sql.
    let basic = format!(
        "select count(*) from table(dbms_xplan.display_cursor('{id}', 0, 'basic')) where plan_table_output like '%INDEX%'"
    );
    assert_eq!(rows(&mut other, &basic), "2");
    let missing = "select * from table(dbms_xplan.display_cursor('0000000000000'))";
    assert_eq!(rows(&mut other, missing), "SQL_ID: 0000000000000, child number: 0 cannot be found");
    assert!(other.execute("select * from table('x')", &[]).is_err());
    // The text and plan of a statement, which may be another user's, require the privilege to read the views.
    run(&mut s, "create user lcp_u identified by p");
    run(&mut s, "grant create session to lcp_u");
    let password = Credentials::Password { user: "lcp_u".into(), password: "p".into() };
    let mut stranger = instance.connect(&password).expect("the user connects");
    let named = format!("select plan_table_output from table(dbms_xplan.display_cursor('{id}'))");
    assert_eq!(rows(&mut stranger, &named), "User has no SELECT privilege on V$SQL");
    run(&mut s, "grant select on v_$sql to lcp_u");
    run(&mut s, "grant select on v_$sql_plan to lcp_u");
    assert!(rows(&mut stranger, &named).contains("INDEX UNIQUE SCAN"));
}

#[test]
fn what_operations_did_is_kept_with_the_cursor() {
    for design in DESIGNS {
        let instance = instance(design);
        let mut s = instance.connect(&Credentials::Sysdba).expect("the owner connects");
        run(&mut s, "create table lcs (n number primary key, v varchar2(10))");
        run(&mut s, "insert into lcs select level, 'v' || mod(level, 3) from dual connect by level <= 300");
        run(&mut s, "commit");
        let text = "select /*+ gather_plan_statistics */ v, count(*) from lcs where n <= :most group by v order by v";
        for (most, groups) in [(300, 3), (2, 2)] {
            let bind = Bind::input(DataType::NUMBER, Value::Number(Number::from_i64(most)));
            let found = s.query(text, &[bind]).and_then(|q| q.all()).expect("it runs");
            assert_eq!(found.len(), groups);
        }
        let id = rows(&mut s, "select sql_id from v$sql where sql_text like 'select /*+ gather_plan%from lcs where%'");
        let of = |columns: &str, view: &str| format!("select {columns} from {view} where sql_id = '{id}' order by 1");
        let counts = "id, executions, last_starts, starts, last_output_rows, output_rows";
        let found = rows(&mut s, &of(counts, "v$sql_plan_statistics_all"));
        let lines: Vec<&str> = found.split(';').collect();
        assert_eq!(lines[0], "0 2 1 2 2 5", "{design:?}");
        assert!(lines[1..].iter().all(|line| line[1..].starts_with(" 2 1 2 2 ")), "{design:?}: {found}");
        assert!(lines.last().is_some_and(|line| line.ends_with(" 302")), "{design:?}: {found}");
        // The same figures without the plan; the statement itself is not an operation.
        let plain = rows(&mut s, &of("operation_id, executions, last_starts", "v$sql_plan_statistics"));
        assert_eq!(plain.split(';').count(), lines.len() - 1);
        // An operation that sorts or groups has a work area and its memory; one that reads blocks has its reads.
        let areas = format!(
            "select count(*), min(total_executions), min(case when last_memory_used > 0 then 1 else 0 end), \
             min(last_execution) from v$sql_plan_statistics_all where sql_id = '{id}' and total_executions > 0"
        );
        assert_eq!(rows(&mut s, &areas), "2 2 1 OPTIMAL", "{design:?}");
        // A hash join builds its table before it reads the other side, which has no work area.
        rows(&mut s, "select /*+ gather_plan_statistics use_hash(a b) */ count(a.v) from lcs a, lcs b where a.v = b.v");
        let joins = "select listagg(p.operation || ' ' || sign(p.last_memory_used), ', ') within group (order by p.id) \
                     from v$sql_plan_statistics_all p, v$sql s where p.sql_id = s.sql_id and p.operation <> 'SORT' \
                     and p.id > 0 and s.sql_text like 'select /*+ gather_plan_statistics use_hash%'";
        assert_eq!(rows(&mut s, joins), "HASH JOIN 1, TABLE ACCESS , TABLE ACCESS ", "{design:?}");
        let read = format!(
            "select count(*) from v$sql_plan_statistics_all where sql_id = '{id}' and cr_buffer_gets > 0 and \
             last_cr_buffer_gets < cr_buffer_gets and elapsed_time > 0"
        );
        assert_eq!(rows(&mut s, &read), lines.len().to_string(), "{design:?}: everything is above the scan");
        // A fetch that is not completed still counts.
        run(&mut s, "begin for r in (select /*+ gather_plan_statistics first */ n from lcs) loop exit; end loop; end;");
        let first = "select last_output_rows from v$sql_plan_statistics_all p, v$sql s where p.sql_id = s.sql_id \
                     and s.sql_text like 'SELECT /*+ gather_plan_statistics first%' and p.id = 0";
        assert_eq!(rows(&mut s, first), "1", "{design:?}");
        // Executions of other statements are not counted.
        rows(&mut s, "select count(*) from lcs");
        let others = "select count(*) from v$sql_plan_statistics_all p, v$sql s where p.sql_id = s.sql_id \
                      and s.sql_text = 'select count(*) from lcs' and p.starts is not null";
        assert_eq!(rows(&mut s, others), "0");
        // Reading them by SQL_ID requires the view's privilege.
        run(&mut s, "create user lcs_u identified by p");
        run(&mut s, "grant create session to lcs_u");
        run(&mut s, "grant select on v_$sql to lcs_u");
        run(&mut s, "grant select on v_$sql_plan to lcs_u");
        let password = Credentials::Password { user: "lcs_u".into(), password: "p".into() };
        let mut stranger = instance.connect(&password).expect("the user connects");
        let named = format!("select plan_table_output from table(dbms_xplan.display_cursor('{id}', 0, 'allstats'))");
        assert_eq!(rows(&mut stranger, &named), "User has no SELECT privilege on V$SQL_PLAN_STATISTICS_ALL");
        // The figures are dropped with the plan when it is loaded again.
        run(&mut s, "alter table lcs add w number");
        let bind = Bind::input(DataType::NUMBER, Value::Number(Number::from_i64(300)));
        s.query(text, &[bind]).and_then(|q| q.all()).expect("it runs");
        let again = of("max(executions), max(starts)", "v$sql_plan_statistics_all");
        assert_eq!(rows(&mut s, &again), "1 1", "{design:?}");
    }
}

#[test]
fn statements_are_marked_hot_kept_and_purged() {
    for design in DESIGNS {
        let instance = instance(design);
        let mut s = instance.connect(&Credentials::Sysdba).expect("the owner connects");
        let text = "select 4711 from dual";
        rows(&mut s, text);
        let where_it_is = "from v$db_object_cache where name = 'select 4711 from dual'";
        let hash = rows(&mut s, &format!("select full_hash_value {where_it_is}"));
        run(&mut s, &format!("begin dbms_shared_pool.markhot(hash => '{hash}', namespace => 0); end;"));
        // A cursor kept by the session is not parsed, so a new session is used.
        let mut t = instance.connect(&Credentials::Sysdba).expect("the owner connects");
        rows(&mut t, text);
        let hot = format!("select count(*), sum(case when property like 'HOTCOPY%' then 1 else 0 end) {where_it_is}");
        assert_eq!(rows(&mut s, &hot), "2 1", "{design}");
        run(&mut s, &format!("begin dbms_shared_pool.unmarkhot('{hash}', 0); end;"));
        assert_eq!(rows(&mut s, &format!("select count(*) {where_it_is}")), "0", "{design}");
        let mut u = instance.connect(&Credentials::Sysdba).expect("the owner connects");
        rows(&mut u, text);
        let name =
            rows(&mut s, "select address || ',' || hash_value from v$sqlarea where sql_text = 'select 4711 from dual'");
        run(&mut s, &format!("begin dbms_shared_pool.keep('{name}', 'C'); end;"));
        run(&mut s, "alter system flush shared_pool");
        assert_eq!(rows(&mut s, &format!("select kept {where_it_is}")), "YES", "{design}");
        run(&mut s, &format!("begin dbms_shared_pool.purge('{name}', 'C'); end;"));
        assert_eq!(rows(&mut s, &format!("select count(*) {where_it_is}")), "0", "{design}");
        let gone = s.execute("begin dbms_shared_pool.purge('00,1', 'C'); end;", &[]);
        assert!(gone.is_err_and(|e| e.to_string().contains("ORA-06570")), "{design}");
    }
}

#[test]
fn what_statements_and_units_name_is_got_pinned_and_loaded_again_in_every_design() {
    for design in DESIGNS {
        let instance = instance(design);
        let mut s = instance.connect(&Credentials::Sysdba).expect("the owner connects");
        let mut t = instance.connect(&Credentials::Sysdba).expect("the owner connects");
        for sql in [
            "create table lco (n number primary key)",
            "create table lca (n number)",
            "create cluster lcc (n number) hashkeys 10 single table",
            "create table lcct (n number, v varchar2(10)) cluster lcc (n)",
            "create view lcv as select n from lco",
            "create synonym lcs for lcv",
            "create sequence lcq",
            "create package lcp as function f return number; end;",
            "create package body lcp as function f return number is begin return 1; end; end;",
        ] {
            run(&mut s, sql);
        }
        let kept = "select name || ' ' || namespace || ' ' || type || ' ' || loads || ' ' || invalidations || ' ' || status \
                    from v$db_object_cache where owner = 'SYS' and name like 'LC%' order by namespace, name";
        run(&mut s, "alter system flush shared_pool");
        assert_eq!(rows(&mut s, kept), "", "{design}");
        let text = "select lcq.nextval, n from lcs";
        rows(&mut s, text);
        let expected = "LCO TABLE/PROCEDURE TABLE 1 0 VALID;LCQ TABLE/PROCEDURE SEQUENCE 1 0 VALID;\
                        LCS TABLE/PROCEDURE SYNONYM 1 0 VALID;LCV TABLE/PROCEDURE VIEW 1 0 VALID";
        assert_eq!(rows(&mut s, kept), expected, "{design}");
        // Neither a soft parse nor an execution resolves names again.
        let figures = "select namespace, gets, gethits, pins, pinhits, reloads from v$librarycache \
                       where namespace in ('TABLE/PROCEDURE', 'BODY', 'CLUSTER', 'INDEX') order by namespace";
        rows(&mut s, figures);
        // A background process may meanwhile parse a statement that the flush has removed, but not each time.
        let (mut before, mut after) = (String::new(), String::new());
        for _ in 0..20 {
            before = rows(&mut s, figures);
            rows(&mut t, text);
            rows(&mut s, text);
            after = rows(&mut s, figures);
            if after == before {
                break;
            }
        }
        assert_eq!(after, before, "{design}");
        // A changed table is loaded again by the next statement that names it.
        rows(&mut s, "select n from lca");
        run(&mut s, "alter table lca add (v number)");
        let table = |s: &mut Client, n: usize| rows(s, kept).split(';').nth(n).map(str::to_string).unwrap_or_default();
        assert_eq!(table(&mut s, 0), "LCA TABLE/PROCEDURE TABLE 1 1 INVALID", "{design}");
        rows(&mut s, "select n from lca");
        assert_eq!(table(&mut s, 0), "LCA TABLE/PROCEDURE TABLE 2 1 VALID", "{design}");
        // A new column does not invalidate a view over the table, which is not compiled again.
        run(&mut s, "alter table lco add (v number)");
        assert_eq!(table(&mut s, 1), "LCO TABLE/PROCEDURE TABLE 1 1 INVALID", "{design}");
        rows(&mut s, text);
        assert_eq!(table(&mut s, 1), "LCO TABLE/PROCEDURE TABLE 2 1 VALID", "{design}");
        // Units: compiling a call gets the specification, running it the body; and a table with its cluster.
        rows(&mut s, "select count(*) from lcct where n = 1");
        rows(&mut s, "select lcp.f from dual");
        let others = "select name || ' ' || namespace || ' ' || type from v$db_object_cache \
                      where owner = 'SYS' and name in ('LCC', 'LCCT', 'LCP') order by namespace, name";
        let expected =
            "LCP BODY PACKAGE BODY;LCC CLUSTER CLUSTER;LCCT TABLE/PROCEDURE TABLE;LCP TABLE/PROCEDURE PACKAGE";
        assert_eq!(rows(&mut s, others), expected, "{design}");
        let whole = "select count(*) from v$librarycache where gets < gethits or pins < pinhits or namespace is null";
        assert_eq!(rows(&mut s, whole), "0", "{design}");
        // Kept objects stay; purged ones are removed.
        let kept = "select name || ' ' || namespace from v$db_object_cache where owner = 'SYS' and name like 'LC%' and kept = 'YES' \
                    order by namespace, name";
        run(&mut s, "begin dbms_shared_pool.keep('sys.lcp'); dbms_shared_pool.keep('LCQ', 'Q'); end;");
        run(&mut s, "alter system flush shared_pool");
        assert_eq!(rows(&mut s, kept), "LCP BODY;LCP TABLE/PROCEDURE;LCQ TABLE/PROCEDURE", "{design}");
        run(&mut s, "begin dbms_shared_pool.unkeep('LCP'); dbms_shared_pool.purge('LCQ', 'Q'); end;");
        assert_eq!(rows(&mut s, kept), "", "{design}");
        assert_eq!(rows(&mut s, others), "LCP BODY PACKAGE BODY;LCP TABLE/PROCEDURE PACKAGE", "{design}");
        let gone = s.execute("begin dbms_shared_pool.keep('sys.nothing_there'); end;", &[]);
        assert!(gone.is_err_and(|e| e.to_string().contains("ORA-06564")), "{design}");
        // The index of the key was created with its table; DDL gets the objects that it changes.
        let index = "select gets from v$librarycache where namespace = 'INDEX'";
        let before: u64 = rows(&mut s, index).parse().expect("a number");
        run(&mut s, "create index lci on lco (v)");
        assert!(rows(&mut s, index).parse::<u64>().expect("a number") > before, "{design}");
    }
}

#[test]
fn binds_are_numbered_as_they_stand_and_cost_no_second_parse() {
    let instance = instance("versioned");
    let mut s = instance.connect(&Credentials::Sysdba).expect("the owner connects");
    run(&mut s, "create table bo (n number, v varchar2(10))");
    run(&mut s, "insert into bo values (5, 'five')");
    let number = |n: i64| Bind::input(DataType::NUMBER, Value::Number(Number::from_i64(n)));
    let ten = DataType::Varchar2 { len: 10, unit: types::LenUnit::Byte };
    let string = |t: &str| Bind::input(ten, Value::text(t));
    // In each text the part that is planned first stands last: the select list before FROM, FROM before WHERE, a WITH
    // query that is not used.
    let texts = [
        "select :1 || '-' || q.v from (select v from bo where n = :2) q where :3 = 'x' order by nvl(:4, 1)",
        "with unused as (select :1 u from dual) select v || '-' || v from bo where n = :2 and 'x' = :3 group by v having max(n) > :4",
    ];
    let names = ["parse count (total)", "parse count (hard)"];
    for (text, expected) in texts.iter().zip(["a-five", "five-five"]) {
        for name in names {
            statistic(&mut s, name);
        }
        let before = names.map(|name| statistic(&mut s, name));
        for _ in 0..3 {
            let got = s.query(text, &[string("a"), number(5), string("x"), number(3)]).and_then(|q| q.all());
            assert_eq!(got.expect("rows"), [[Value::text(expected)]], "{text}");
        }
        let after = names.map(|name| statistic(&mut s, name));
        // Three calls of the statement and two for the figures, the first of them a hard parse.
        assert_eq!([after[0] - before[0], after[1] - before[1]], [5, 1], "{text}");
        let children =
            format!("select version_count, loads, executions from v$sqlarea where sql_text like '{}%'", &text[..10]);
        assert_eq!(rows(&mut s, &children), "1 1 3", "{text}");
        // Another type makes another child, and the first child remains for the next execution.
        let other = s.query(text, &[string("a"), string("5"), string("x"), number(3)]).and_then(|q| q.all());
        assert_eq!(other.expect("rows").len(), 1);
        assert_eq!(rows(&mut s, &children), "2 2 4", "{text}");
    }
    let returned = "update bo set v = :1 where n = :2 returning v into :3";
    let outcome =
        s.execute(returned, &[string("six"), number(5), Bind::named("3", ten, Value::Null)]).expect("an update");
    assert_eq!((outcome.done.rows, outcome.done.out), (1, vec![(2, Value::text("six"))]));
}

#[test]
fn rows_of_the_result_cache_and_blocks_of_a_statement_that_fails_are_counted() {
    let options = EphemeralOptions {
        executable: Some(env!("CARGO_BIN_EXE_latchwork").into()),
        params: vec![("result_cache_max_size".into(), "8M".into())],
    };
    let instance = Ephemeral::start_with(&options).expect("an instance starts");
    let mut s = instance.connect(&Credentials::Sysdba).expect("the owner connects");
    run(&mut s, "create table rc (id number, v varchar2(10))");
    run(&mut s, "insert into rc select mod(level, 10), 'v' || level from dual connect by level <= 20");
    run(&mut s, "commit");
    // Two rows each time, from the cache after the third execution with ten keys; one loop stops at its first row.
    run(
        &mut s,
        "declare k number; begin for i in 1 .. 100 loop k := mod(i, 10); \
         for r in (select /*+ result_cache counted */ v from rc where id = k) loop exit when i = 100; end loop; end loop; end;",
    );
    let counted =
        "select executions, rows_processed, fetches from v$sql where sql_text like 'SELECT /*+ result_cache counted%'";
    assert_eq!(rows(&mut s, counted), "100 199 100");
    assert_eq!(rows(&mut s, "select value from v$result_cache_statistics where name = 'Find Count'"), "90");

    for sql in ["select /* failing */ sum(1 / (id - 5)) from rc", "delete /* failing */ from rc where 1 / (id - 5) = 1"]
    {
        assert!(s.execute(sql, &[]).and_then(|_| s.query(sql, &[])?.all()).is_err(), "{sql}");
    }
    let failed =
        "select count(*) from v$sql where sql_text like '% /* failing */%' and buffer_gets > 0 and rows_processed = 0";
    assert_eq!(rows(&mut s, failed), "2");
}

#[test]
fn a_flush_leaves_what_runs() {
    for design in DESIGNS {
        let instance = instance(design);
        let mut s = instance.connect(&Credentials::Sysdba).expect("the owner connects");
        run(&mut s, "create table flushed (n number)");
        rows(&mut s, "select /* goes */ 1 from dual");
        run(
            &mut s,
            "declare /* stays */ n number; begin execute immediate 'alter system flush shared_pool'; \
             select count(*) into n from v$sql where sql_text like 'declare /* stays%'; insert into flushed values (n); \
             select count(*) into n from v$sql where sql_text like 'select /* goes%'; insert into flushed values (n); end;",
        );
        assert_eq!(rows(&mut s, "select n from flushed"), "1;0", "{design}");
        let block = "select executions from v$sql where sql_text like 'declare /* stays%'";
        assert_eq!(rows(&mut s, block), "1", "{design}: what it did is counted");
        run(&mut s, "alter system flush shared_pool");
        assert_eq!(rows(&mut s, block), "", "{design}: it goes once it has ended");
    }
}
