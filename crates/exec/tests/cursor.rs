//! Cursors: binds, re-execution, snapshots, the result cache, rows that change during a statement.

mod common;

use common::{Instance, Names, Session};
use exec::Cursor;
use result_cache::Status;
use std::rc::Rc;
use testing::Random;
use types::row::RowReader;
use types::{Number, Value, codec};

fn number(n: i64) -> Value {
    Value::Number(Number::from(n))
}

fn setup(instance: &Instance) -> (Rc<Names>, Session<'_>) {
    let names = Rc::new(Names::default());
    let mut s = Session::new(instance, &names);
    for text in [
        "create cluster hc (n number(*,0)) single table hashkeys 100 size 100",
        "create table hc_t (n number(*,0), v varchar2(20)) cluster hc (n)",
        "insert into hc_t select level, 'v' || level from dual connect by level <= 100",
        "create table t (n number, v varchar2(20))",
        "insert into t select level, 'x' from dual connect by level <= 10",
        "commit",
    ] {
        s.run(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    }
    (names, s)
}

/// All rows of an executed cursor.
fn rows(c: &mut Cursor, s: &mut Session<'_>) -> Vec<Vec<Value>> {
    let mut cx = s.cx();
    let (mut all, mut row) = (Vec::new(), Vec::new());
    while c.fetch(&mut cx, &mut row).expect("a row") {
        all.push(row.clone());
    }
    c.close(&mut cx);
    all
}

#[test]
fn a_cursor_is_executed_again_with_other_binds() {
    let instance = Instance::new();
    let (_, mut s) = setup(&instance);
    let types = [Some(types::DataType::NUMBER)];
    let mut c = Cursor::compile(&mut s.cx(), "select * from hc_t where n = :b1", &types).expect("a cursor");
    for n in [1, 50, 100] {
        c.bind(&[number(n)]).expect("one bind");
        c.execute(&mut s.cx()).expect("executed");
        assert_eq!(rows(&mut c, &mut s), [[number(n), Value::text(format!("v{n}"))]]);
        assert_eq!(c.rows_processed(), 1);
    }
    for absent in [number(101), Value::Null] {
        c.bind(&[absent]).expect("one bind");
        c.execute(&mut s.cx()).expect("executed");
        assert!(rows(&mut c, &mut s).is_empty());
    }
    assert_eq!(c.bind(&[]).unwrap_err().code(), 1008);
    assert_eq!(c.bind(&[number(1), number(2)]).unwrap_err().code(), 1036);
    assert_eq!(c.columns().iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["N", "V"]);
}

#[test]
fn a_bind_of_unknown_type_takes_the_type_of_its_value() {
    let instance = Instance::new();
    let (_, mut s) = setup(&instance);
    let mut c = Cursor::compile(&mut s.cx(), "select v from t where n = :a and v = :b", &[]).expect("a cursor");
    for a in [number(3), Value::text("3")] {
        c.bind(&[a, Value::text("x")]).expect("two binds");
        c.execute(&mut s.cx()).expect("executed");
        assert_eq!(rows(&mut c, &mut s), [[Value::text("x")]]);
    }
    c.bind(&[Value::text("three"), Value::text("x")]).expect("two binds");
    assert_eq!(c.execute(&mut s.cx()).and_then(|()| c.fetch(&mut s.cx(), &mut Vec::new())).unwrap_err().code(), 1722);
    c.close(&mut s.cx());
}

#[test]
fn a_query_sees_the_table_as_of_its_start() {
    let instance = Instance::new();
    let (names, mut reader) = setup(&instance);
    let mut writer = Session::new(&instance, &names);
    let mut c = Cursor::compile(&mut reader.cx(), "select sum(n) from t", &[]).expect("a cursor");
    c.execute(&mut reader.cx()).expect("executed");
    writer.run("update t set n = n * 2").expect("updated");
    assert_eq!(reader.text("select sum(n) from t"), "55", "what is not committed is not seen");
    writer.run("commit").expect("committed");
    assert_eq!(rows(&mut c, &mut reader), [[number(55)]]);
    assert_eq!(reader.text("select sum(n) from t"), "110");
}

#[test]
fn a_changed_table_is_noticed() {
    let instance = Instance::new();
    let (_, mut s) = setup(&instance);
    let mut c = Cursor::compile(&mut s.cx(), "select * from t where n = 1", &[]).expect("a cursor");
    c.execute(&mut s.cx()).expect("executed");
    assert_eq!(rows(&mut c, &mut s).len(), 1);
    s.run("drop table t").expect("dropped");
    assert_eq!(c.execute(&mut s.cx()).unwrap_err().code(), 942);
    s.run("create table t (a number, b number, n number)").expect("created");
    c.execute(&mut s.cx()).expect("executed");
    assert!(rows(&mut c, &mut s).is_empty());
    assert_eq!(c.columns().len(), 3);
}

#[test]
fn results_are_cached_until_what_they_depend_on_changes() {
    let instance = Instance::new();
    let (names, mut s) = setup(&instance);
    let mut other = Session::new(&instance, &names);
    let text = "select /*+ result_cache */ sum(n) from t where n > :b1";
    let mut c = Cursor::compile(&mut s.cx(), text, &[Some(types::DataType::NUMBER)]).expect("a cursor");
    let read = |c: &mut Cursor, s: &mut Session<'_>, n: i64| {
        c.bind(&[number(n)]).expect("one bind");
        c.execute(&mut s.cx()).expect("executed");
        rows(c, s).remove(0).remove(0)
    };
    let objects = || instance.shared.results.object_rows().len();
    assert_eq!(read(&mut c, &mut s, 5), number(40));
    assert_eq!(objects(), 2, "a result and a dependency");
    assert_eq!(read(&mut c, &mut s, 5), number(40));
    assert_eq!(read(&mut c, &mut s, 9), number(10));
    assert_eq!(objects(), 3);
    // Uncommitted changes of other sessions are not seen, own changes are seen at once.
    other.run("insert into t values (100, 'y')").expect("inserted");
    assert_eq!(read(&mut c, &mut s, 9), number(10));
    assert_eq!(other.text("select /*+ result_cache */ sum(n) from t where n > 9"), "110");
    other.run("commit").expect("committed");
    assert_eq!(read(&mut c, &mut s, 9), number(110));
    assert_eq!(read(&mut c, &mut s, 9), number(110));
}

#[test]
fn a_result_that_was_not_read_to_its_end_is_not_kept() {
    let instance = Instance::new();
    let (_, mut s) = setup(&instance);
    let mut c = Cursor::compile(&mut s.cx(), "select /*+ result_cache */ n from t order by n", &[]).expect("a cursor");
    c.execute(&mut s.cx()).expect("executed");
    assert!(c.fetch(&mut s.cx(), &mut Vec::new()).expect("a row"));
    c.close(&mut s.cx());
    let published = || instance.shared.results.object_rows().iter().filter(|o| o.status == Status::Published).count();
    assert!(published() <= 1, "a dependency at most");
    c.execute(&mut s.cx()).expect("executed");
    assert_eq!(rows(&mut c, &mut s).len(), 10);
    c.execute(&mut s.cx()).expect("executed");
    assert_eq!(rows(&mut c, &mut s).len(), 10);
}

#[test]
fn statements_that_change_by_themselves_are_never_cached() {
    let instance = Instance::new();
    let (_, mut s) = setup(&instance);
    s.add_fixed();
    for text in [
        "select /*+ result_cache */ n from v$tick",
        "select /*+ result_cache */ n, sysdate from t",
        "select /*+ result_cache */ twice(n) from t",
        "select /*+ result_cache */ sys_context('userenv', 'sid') from t",
    ] {
        s.run(text).expect("rows");
    }
    assert!(instance.shared.results.object_rows().is_empty());
}

#[test]
fn an_update_waits_for_the_row_and_starts_again() {
    let instance = Instance::new();
    let (names, mut first) = setup(&instance);
    let (object, segment) = names.heap_of("T");
    first.run("update t set n = n + 100 where n = 1").expect("updated");
    std::thread::scope(|scope| {
        let second = scope.spawn(|| {
            let names = Rc::new(Names::default());
            names.add_heap("T", object, segment);
            let mut s = Session::new(&instance, &names);
            // The update finds the old version of row 1, waits for it, and must then not change it: its key is 101 by
            // now.
            let (_, changed) = s.run_with("update t set v = 'second' where n <= 3", &[]).expect("updated");
            s.run("commit").expect("committed");
            changed
        });
        std::thread::sleep(std::time::Duration::from_millis(100));
        first.run("commit").expect("committed");
        assert_eq!(second.join().expect("the second session"), 2);
    });
    assert_eq!(first.text("select n from t where v = 'second' order by n"), "2\n3");
}

#[test]
fn executions_are_counted_in_the_library_cache() {
    let instance = Instance::new();
    let (_, mut s) = setup(&instance);
    let text = "select count(*) from t where n = 3";
    let mut c = Cursor::compile(&mut s.cx(), text, &[]).expect("a cursor");
    for _ in 0..5 {
        c.execute(&mut s.cx()).expect("executed");
        rows(&mut c, &mut s);
    }
    s.state.figures.flush(&s.p, instance.shared.library);
    let row = instance.shared.library.statement(exec::digest(text)).expect("an entry");
    let figures = row.figures();
    assert_eq!((figures.executions, figures.parse_calls, figures.rows_processed), (5, 1, 5));
    assert_eq!(row.digest.sql_id(), sql::sql_id(text));
}

#[test]
fn a_statement_may_hold_only_so_much_memory() {
    let instance = Instance::new();
    let (_, mut s) = setup(&instance);
    s.state.options.work_area_limit_bytes = 10_000;
    assert_eq!(
        s.text("select count(*) from (select level l from dual connect by level <= 10000 order by 1)"),
        "ORA-04030"
    );
    assert_eq!(s.text("select count(*) from (select level l from dual connect by level <= 10 order by 1)"), "10");
}

/// Keys of IN in temporary space need some memory for look-ups, which is charged.
#[test]
fn memory_of_look_ups_is_held_to_the_limit_and_given_back() {
    let instance = Instance::new();
    let (_, mut s) = setup(&instance);
    s.state.options.spill_bytes = 1_000_000;
    s.state.options.work_area_limit_bytes = 1_100_000;
    // Because of OR the conditions stay subqueries.
    let keys = "select rpad(level, 200, 'x') from dual connect by level <= 12000";
    let one = format!(
        "select count(*) from (select rpad(level, 200, 'x') v from dual connect by level <= 12000) \
         where (v in ({keys}) or v is null)"
    );
    let two = format!("{one} and (v in ({keys} and level > 0) or v is null)");
    assert_eq!(s.text(&one), "12000");
    assert_eq!(s.text(&two), "ORA-04030");
    assert_eq!(s.text(&one), "12000", "nothing is left of it");
}

#[test]
fn plans_choose_the_cluster_key_and_the_rowid() {
    let instance = Instance::new();
    let (_, mut s) = setup(&instance);
    let mut plan = |text: &str| {
        let statement = sql::parse_statement(text).expect("SQL");
        Cursor::explain(&mut s.cx(), &statement).expect("a plan")
    };
    assert_eq!(plan("select * from hc_t where n = 3"), "SELECT STATEMENT\n TABLE ACCESS HASH HC_T\n");
    assert_eq!(plan("select * from hc_t where n > 3"), "SELECT STATEMENT\n TABLE ACCESS FULL HC_T [1 filters]\n");
    assert!(plan("update t set n = 1 where rowid = 'x'").contains("BY USER ROWID T"));
    assert_eq!(
        plan("select * from t, hc_t where t.n = hc_t.n"),
        "SELECT STATEMENT\n NESTED LOOPS\n  TABLE ACCESS FULL T\n  TABLE ACCESS HASH HC_T\n"
    );
    assert!(plan("select * from t a, t b where a.n = b.n").contains("HASH JOIN"));
    assert!(plan("select /*+ use_nl(b) */ * from t a, t b where a.n = b.n").contains("NESTED LOOPS"));
    assert!(plan("select * from (select n from t order by n) where rownum < 3").contains("SORT ORDER BY STOPKEY"));
}

/// Random rows with NULLs and many equal keys, joined, grouped, sorted and made distinct, with little and with much
/// memory.
#[test]
fn rows_from_temporary_space_are_unchanged() {
    let instance = Instance::new();
    let (_, mut s) = setup(&instance);
    s.text("create table a (k number, v varchar2(40))");
    s.text("create table b (k number, w varchar2(40))");
    let mut random = Random::new(12_345);
    let mut next = |n: u64| random.below(n);
    for table in ["a", "b"] {
        for i in 0..250 {
            let key = if next(10) == 0 { "null".into() } else { next(90).to_string() };
            s.text(&format!("insert into {table} values ({key}, 'row {i} {}')", "x".repeat(next(20) as usize)));
        }
    }
    let queries = [
        "select k, v from a order by k desc nulls last, v",
        "select a.k, v, w from a, b where a.k = b.k order by 1, 2, 3",
        "select a.k, v, w from a left join b on a.k = b.k and w > v order by 1, 2, 3",
        "select a.k, v, w from a full join b on a.k = b.k order by 1, 2, 3",
        "select v, w from a full join b on a.k = b.k and b.k > 150 and a.k < 200 order by 1, 2",
        "select k, count(*), min(v), max(v), sum(length(v)), count(distinct v) from a group by k order by k",
        "select mod(k, 7), k, count(*), grouping(k) from a group by rollup (mod(k, 7), k) order by 1, 2, 4",
        "select k, count(*) from a group by k order by 2, 1",
        "select distinct mod(k, 100), substr(v, 1, 6) from a order by 1, 2",
        "select k from a union select k + 100 from b order by 1",
        "select count(*), sum(c) from (select a.k, count(*) c from a, b where a.k = b.k group by a.k having count(*) > 3)",
        "select k, v from (select k, v from a order by v) where rownum <= 900",
        "select v from a where k in (select k + 3 from b) or v like '%xx' order by 1",
        "select v from a where k not in (select k + 3 from b) or v like '%xx' order by 1",
        "select v from a where k not in (select k from b where k > 40) or v like '%xx' order by 1",
        "select v from a where (k, length(v)) in (select k, length(w) from b) or v like '%xx' order by 1",
        "select v from a where (k, length(v)) not in (select k, length(w) from b where k > 30) or k = 1 order by 1",
        "select k, case when k > all (select k - 80 from b where k > 10) then 1 end, \
         case when k <= any (select k from b where k < 70) then 1 end, \
         case when k <> all (select k from b where k < 70) then 1 end from a order by v",
        "select v, level from a start with k < 10 connect by prior k = k - 10 and level < 5 order by 1, 2",
        "select v, level from a connect by prior k = k - 40 order by 1, 2",
        "select v, level from a start with k < 10 connect by prior k = k - 7 and v > prior v order siblings by v desc",
        "select v from a where level = 2 connect by prior k = k - 40 order siblings by v desc",
        "select count(*), max(sys_connect_by_path(k, '/')) from a start with k < 3 \
         connect by nocycle k = mod(prior k, 9)",
        "select sum(connect_by_iscycle), sum(connect_by_isleaf), count(*) from a start with k < 9 \
         connect by nocycle k = mod(prior k * 7, 11) and level < 4",
        "select count(*), sum(level) from (select k from a where k < 4) connect by level <= 3",
        "select v from a order by v fetch first 30 percent rows only",
        "select v from a order by v offset 9 rows fetch first 3.5 percent rows with ties",
    ];
    let much: Vec<String> = queries.iter().map(|q| s.text(q)).collect();
    for spill_bytes in [150, 9_000] {
        s.state.options.spill_bytes = spill_bytes;
        for (query, expected) in queries.iter().zip(&much) {
            assert!(!expected.starts_with("ORA"), "{query}: {expected}");
            assert!(s.text(query) == *expected, "{query} with {spill_bytes} bytes");
        }
    }
    assert!(s.p.stats().get(wait::Stat::SortsDisk) > 0);
    assert!(instance.shared.txns.space().temp().usage().is_empty(), "everything was given back");
}

/// Runs `f` with half of the stack used, where deep nesting ends.
fn at_half(f: &mut dyn FnMut()) {
    let frame = std::hint::black_box([0u8; 1024]);
    if os::stack::is_short() {
        f()
    } else {
        at_half(f)
    }
    assert_eq!(std::hint::black_box(frame)[0], 0);
}

#[test]
fn a_plan_compiled_on_the_whole_stack_runs_and_closes_on_half_of_it() {
    os::stack::run(os::stack::SIZE, || {
        let instance = Instance::new();
        let (_, mut s) = setup(&instance);
        let nested =
            |n: usize, open: &str, middle: &str, close: &str| format!("{}{middle}{}", open.repeat(n), close.repeat(n));
        let texts = [
            format!("select n{} from t where n = 1", " + 1".repeat(30_000)),
            format!("select length(n{}) from t where n = 1", " || ''".repeat(30_000)),
            format!("select {} from t where n = 1", nested(1000, "nvl(", "n", ", 0)")),
            nested(500, "select 1 from dual where 1 in (", "select n from t where n = 1", ")"),
            nested(500, "select distinct n from (", "select n from t where n = 1", ")"),
            format!("select n from t where n = 3 - 2{}", " or n = 1".repeat(60_000)),
            format!("select sum(n){} from t where n = 1 group by v", " + 1".repeat(30_000)),
            format!("select 1 from dual{}", " intersect select 1 from dual".repeat(1_000)),
        ];
        for (text, wanted) in texts.iter().zip([30_001, 1, 1, 1, 1, 1, 30_001, 1]) {
            let what = &text[..40];
            let compiled = Cursor::compile(&mut s.cx(), text, &[]).unwrap_or_else(|e| panic!("{what}: {e}"));
            let mut cursor = Some(compiled);
            at_half(&mut || {
                let mut c = cursor.take().expect("a cursor");
                c.execute(&mut s.cx()).unwrap_or_else(|e| panic!("{what}: {e}"));
                assert_eq!(rows(&mut c, &mut s), [[number(wanted)]], "{what}");
                c.close(&mut s.cx());
                drop(c);
            });
        }
    });
}

/// The function TWICE counts its calls and simulates a break at a given call. The statement must then stop: row sources
/// check every 4,096 rows while they produce rows, operations over rows in memory check at each row.
#[test]
fn a_break_is_seen_within_a_bounded_number_of_rows() {
    let over_rows_made = [
        "select count(*) from (select twice(level) from dual connect by level <= 20000 order by twice(level))",
        "select max(sum(twice(level))) from dual connect by level <= 20000 group by mod(level, 7)",
        "select median(twice(level)) from dual connect by level <= 20000",
        "select count(*) from dual connect by level <= 1e9 and twice(level) > 0",
        "select count(distinct twice(level)) from dual connect by level <= 20000",
        "select count(*) from (select level l from dual connect by level <= 300) a, (select level l from dual connect by level <= 300) b where twice(a.l) > b.l",
        "select count(*) from (select level l from dual connect by level <= 300) a, (select level l from dual connect by level <= 20000) b where a.l = twice(b.l)",
        "select count(*) from (select level l from dual connect by level <= 20000) a \
         full join (select level l from dual connect by level <= 20000) b on twice(a.l + b.l) < 0",
    ];
    let over_rows_in_memory = [
        "select count(s) from (select sum(twice(level)) over (order by level rows between unbounded preceding and unbounded following) s from dual connect by level <= 9000)",
        "select count(s) from (select sum(twice(level)) over (order by level range between 100 preceding and 100 following) s from dual connect by level <= 9000)",
        "select count(s) from (select sum(twice(level)) over (order by level) s from dual connect by level <= 9000)",
        "select count(s) from (select last_value(twice(level) ignore nulls) over (order by level rows between current row and unbounded following) s from dual connect by level <= 9000)",
        "select count(s) from (select ratio_to_report(twice(level)) over () s from dual connect by level <= 9000)",
        "select count(s) from (select row_number() over (order by twice(level)) s from dual connect by level <= 9000)",
    ];
    let instance = Instance::new();
    let (_, mut s) = setup(&instance);
    let all = over_rows_made.iter().map(|text| (text, 4096)).chain(over_rows_in_memory.iter().map(|text| (text, 2)));
    for (text, most) in all {
        for at in [1, 2, 5000] {
            s.host.calls.set(0);
            s.host.breaks_at.set(at);
            assert_eq!(s.text(text), "ORA-01013", "{text}");
            let more = s.host.calls.get() - at;
            assert!(more <= most, "{more} calls behind the break: {text}");
        }
        s.host.breaks_at.set(0);
        assert!(s.p.check_cancel().is_ok(), "a break is taken once");
    }
}

#[test]
fn rows_of_a_scan_are_given_as_they_are_stored() {
    let instance = Instance::new();
    let (_, mut s) = setup(&instance);
    s.run("create index t_n on t (n)").expect("an index");
    for (sql, is_stored) in [
        ("select v, n from t", true),
        ("select v from t where n between 3 and 7", true),
        ("select v from hc_t where v > 'v5'", true),
        ("select n from t where n between 3 and 7", false),
        ("select v || 'y' from t", false),
        ("select v from t order by n desc, v", false),
        ("select v from t for update", false),
        ("select rownum, v from t", false),
    ] {
        let mut c = Cursor::compile(&mut s.cx(), sql, &[]).expect("a cursor");
        c.execute(&mut s.cx()).expect("executed");
        let mut first = Vec::new();
        assert!(c.fetch(&mut s.cx(), &mut first).expect("a row"));
        assert_eq!(c.stored_columns().is_some(), is_stored, "{sql}");
        let mut all = rows(&mut c, &mut s);
        if !is_stored {
            continue;
        }
        all.insert(0, first.clone());
        c.execute(&mut s.cx()).expect("executed");
        assert!(c.fetch(&mut s.cx(), &mut first).expect("a row"));
        let (mut stored, mut value) = (vec![first], Value::Null);
        // Two rows at a time.
        let mut more = true;
        while more {
            let mut left = 2;
            let mut take = |row: &[u8], columns: &[(u16, types::DataType)]| {
                let reader = RowReader::new(row).expect("a row");
                let mut values = Vec::new();
                for (column, data_type) in columns {
                    let stored = reader.column((*column).into()).expect("a column").bytes().expect("no NULL");
                    codec::decode_into(stored, data_type, &mut value)?;
                    values.push(value.clone());
                }
                stored.push(values);
                left -= 1;
                Ok(left > 0)
            };
            more = c.fetch_stored(&mut s.cx(), &mut take).expect("rows");
        }
        assert_eq!(stored, all, "{sql}");
        assert_eq!(c.rows_processed() as usize, all.len());
    }
}
