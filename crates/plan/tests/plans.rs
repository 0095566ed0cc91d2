//! Plans and errors over a catalog of a few tables: access paths, join methods, positions of errors.

mod common;

use common::Tables;
use plan::{NoFunctions, compile};

fn plan(text: &str) -> String {
    let statement = sql::parse_statement(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    compile(&statement, &Tables, &NoFunctions, &[]).unwrap_or_else(|e| panic!("{text}: {e}")).to_string()
}

#[test]
fn access_paths() {
    let cases = [
        ("select * from big where id = 5", "INDEX UNIQUE SCAN BIG_PK"),
        ("select * from big where id = '5'", "INDEX UNIQUE SCAN BIG_PK"),
        ("select * from big where id = :b", "INDEX UNIQUE SCAN BIG_PK"),
        ("select * from big where k = 5", "INDEX RANGE SCAN BIG_IX"),
        ("select * from big where k = 5 and d > sysdate", "INDEX RANGE SCAN BIG_IX"),
        ("select * from big where id between 5 and 10", "INDEX RANGE SCAN BIG_PK"),
        ("select * from big where id > :b - 256 and id < :b", "INDEX RANGE SCAN BIG_PK"),
        ("select /*+ full(big) */ * from big where id = 5", "TABLE ACCESS FULL BIG"),
        ("select /*+ index(b big_ix) */ * from big b where id = 5 and k = 3", "INDEX RANGE SCAN BIG_IX"),
        ("select * from big where name = 'x'", "TABLE ACCESS FULL BIG"),
        ("select * from big where id + 0 = 5", "TABLE ACCESS FULL BIG"),
        ("select * from big where rowid = 'AAAAAAAAAAAAAAAAAA'", "BY USER ROWID BIG"),
        ("select * from v where id = 7", "INDEX UNIQUE SCAN BIG_PK"),
        ("update big set name = 'x' where id = 1", "INDEX UNIQUE SCAN BIG_PK"),
        ("delete from big where k = 1", "INDEX RANGE SCAN BIG_IX"),
    ];
    for (text, expected) in cases {
        let plan = plan(text);
        assert!(plan.contains(expected), "{text}\n{plan}");
    }
}

#[test]
fn an_index_is_used_where_it_pays() {
    let cases = [
        ("select * from seen where id > 50000", "TABLE ACCESS FULL SEEN"),
        ("select * from seen where id > 99900", "INDEX RANGE SCAN SEEN_PK"),
        ("select * from seen where id < 101", "INDEX RANGE SCAN SEEN_PK"),
        ("select * from seen where id between 1000 and 90000", "TABLE ACCESS FULL SEEN"),
        ("select * from seen where id between 1000 and 1100", "INDEX RANGE SCAN SEEN_PK"),
        ("select * from seen where id > :b", "INDEX RANGE SCAN SEEN_PK"),
        ("select * from seen where id > :b and id < :c", "INDEX RANGE SCAN SEEN_PK"),
        ("select /*+ index(seen) */ * from seen where id > 50000", "INDEX RANGE SCAN SEEN_PK"),
        ("select /*+ no_index(seen seen_pk) */ * from seen where id = 5", "TABLE ACCESS FULL SEEN"),
        ("select /*+ no_index(seen seen_ix) */ * from seen where id = 5", "INDEX UNIQUE SCAN SEEN_PK"),
        ("select id from seen where id > 50000", "INDEX RANGE SCAN SEEN_PK"),
        ("select count(*) from seen", "INDEX FAST FULL SCAN SEEN_PK"),
        ("select /*+ full(seen) */ count(*) from seen", "TABLE ACCESS FULL SEEN"),
        ("select /*+ no_index(seen) */ count(*) from seen", "TABLE ACCESS FULL SEEN"),
        ("select count(k) from seen", "TABLE ACCESS FULL SEEN"),
        ("select sum(id) from seen where mod(id, 3) = 0", "INDEX FAST FULL SCAN SEEN_PK [1 filters]"),
        ("select count(*), max(name) from seen", "TABLE ACCESS FULL SEEN"),
        ("select rowid from seen", "TABLE ACCESS FULL SEEN"),
    ];
    for (text, expected) in cases {
        let plan = plan(text);
        assert!(plan.contains(expected), "{text}\n{plan}");
    }
}

#[test]
fn an_index_gives_an_order() {
    let has = [
        ("select min(id) from big", " FIRST ROW\n   TABLE ACCESS"),
        ("select max(id) from big", "INDEX FULL SCAN (MIN/MAX) BIG_PK"),
        ("select max(k) from big", "INDEX FULL SCAN (MIN/MAX) BIG_IX"),
        ("select min(d) from big where k = 5", "INDEX RANGE SCAN (MIN/MAX) BIG_IX"),
        ("select max(id) from big where id < 500", "INDEX RANGE SCAN (MIN/MAX) BIG_PK"),
        ("select (select max(id) from big) from small", "INDEX FULL SCAN (MIN/MAX) BIG_PK"),
        ("select /*+ full(big) */ max(id) from big", "TABLE ACCESS FULL BIG"),
        ("select max(id), min(id) from big", "INDEX FAST FULL SCAN BIG_PK"),
        ("select max(id) from big where name = 'x'", "TABLE ACCESS FULL BIG"),
        ("select max(id + 1) from big", "INDEX FAST FULL SCAN BIG_PK"),
        ("select k, max(id) from big group by k", "TABLE ACCESS FULL BIG"),
        ("select * from big where id between 5 and 10 order by id desc", "INDEX RANGE SCAN DESCENDING BIG_PK"),
        ("select * from big order by id fetch first 10 rows only", "INDEX FULL SCAN BIG_PK"),
        ("select * from (select * from big order by id) where rownum <= 10", "INDEX FULL SCAN BIG_PK"),
        ("select id from big order by id", "INDEX FULL SCAN BIG_PK"),
        ("select * from big where k = 3 order by d", "INDEX RANGE SCAN BIG_IX"),
    ];
    for (text, expected) in has {
        let plan = plan(text);
        assert!(
            plan.contains(expected) || expected.starts_with(" FIRST") && plan.contains("FIRST ROW"),
            "{text}\n{plan}"
        );
        if text.contains("order by") {
            assert!(!plan.contains("SORT"), "{text}\n{plan}");
        }
    }
    let sorted = [
        "select * from big order by id",
        "select * from big order by id, name",
        "select * from big where k = 3 order by d nulls first",
        "select k, d from big order by k, d",
        "select * from big where id between 5 and 10 order by id desc, name",
        "select * from big where k = 3 order by k desc, d",
        "select /*+ full(big) */ id from big order by id",
        "select * from big order by name fetch first 10 rows only",
    ];
    for text in sorted {
        let plan = plan(text);
        assert!(plan.contains("SORT ORDER BY"), "{text}\n{plan}");
    }
}

#[test]
fn joins() {
    let text = "select * from big, small where big.id = small.k";
    let expected = "SELECT STATEMENT\n NESTED LOOPS\n  TABLE ACCESS FULL SMALL\n  TABLE ACCESS BY INDEX ROWID BIG\n   INDEX UNIQUE SCAN BIG_PK\n";
    assert_eq!(plan(text), expected);
    assert!(plan("select /*+ use_hash(big) */ * from big, small where big.id = small.k").contains("HASH JOIN"));
    let ordered = plan("select /*+ ordered */ * from big, small where big.id = small.k");
    // The build side is listed first, as in Oracle's plans.
    assert!(ordered.find("SMALL").unwrap() < ordered.find("BIG").unwrap(), "{ordered}");
    let leading = plan("select /*+ leading(b s) */ * from small s, big b where b.id = s.k");
    assert!(leading.find("SMALL").unwrap() < leading.find("BIG").unwrap(), "{leading}");
    assert!(plan("select * from small s left join big b on b.name = s.name").contains("HASH JOIN OUTER"));
    assert!(plan("select * from small s full join big b on b.name = s.name").contains("HASH JOIN FULL OUTER"));
    // A view on the preserved side of an outer join is merged; one on the optional side is not.
    let kept = plan("select * from v, small s where s.k (+) = v.id and v.id = 7");
    assert!(kept.contains("INDEX UNIQUE SCAN BIG_PK") && !kept.contains("VIEW"), "{kept}");
    let optional = plan("select * from v, small s where v.id (+) = s.k and s.id = 7");
    assert!(optional.contains("VIEW") && optional.contains("OUTER"), "{optional}");
    let unnamed = plan("select * from v, small s where k (+) = v.id and v.id = 7");
    assert!(unnamed.contains("VIEW"), "{unnamed}");
    // A subquery reads the outer row's columns through its own index.
    let text = "select (select name from big where big.id = small.k) from small";
    assert!(plan(text).contains("INDEX UNIQUE SCAN BIG_PK"));
}

/// Without an equality, an inequality leads to a merge join: comparing all pairs of large inputs would be too
/// expensive.
#[test]
fn joins_by_inequalities() {
    let merged = [
        "select /*+ no_index(a) */ count(*) from seen a, big b where a.id between b.id and b.id + 3",
        "select count(*) from seen a, big b where a.d >= b.d and a.d < b.d + 1 / 24",
        "select count(*) from seen a, big b where b.name < a.name",
        "select count(*) from seen a left join big b on a.name > b.name and a.k <> b.k",
        "select /*+ use_merge(b) */ count(*) from small a, small b where a.id < b.id",
    ];
    for text in merged {
        let plan = plan(text);
        assert!(plan.contains("MERGE JOIN") && !plan.contains("LOOPS") && !plan.contains("BUFFER"), "{text}\n{plan}");
    }
    let others = [
        // Few rows are compared rather than sorted.
        "select count(*) from small a, small b where a.id < b.id",
        // `<>` is not an order comparison.
        "select count(*) from seen a, big b where a.name <> b.name",
        "select count(*) from seen a, big b where a.name like b.name",
        "select count(*) from seen a, big b where a.id + b.id > 10",
        "select /*+ no_index(a) no_index(b) */ count(*) from seen a, big b where a.k = b.k and a.id < b.id",
    ];
    for text in others {
        let plan = plan(text);
        assert!(!plan.contains("MERGE JOIN"), "{text}\n{plan}");
    }
}

#[test]
fn errors_have_oracles_number_and_place() {
    let cases = [
        ("select nosuch from big", 904, "nosuch"),
        ("select b.nosuch from big b", 904, "b.nosuch"),
        ("select 1 from nowhere", 942, "nowhere"),
        ("select id from big, small", 918, "id"),
        ("select id, name from big group by id", 979, "name"),
        ("select id, count(*) from big", 937, "id"),
        ("select 1 from big where max(id) = 1", 934, "max"),
        ("select max(sum(id)) from big", 978, "sum"),
        ("select id from big order by 2", 1785, "2"),
        ("select id from big union select id, name from big", 1789, "id"),
        ("insert into big (id, nosuch) values (1, 2)", 904, "nosuch"),
        ("insert into big (id, id) values (1, 2)", 957, "id)"),
        ("update big set nosuch = 1", 904, "nosuch"),
        ("select id from big where level = 1", 1788, "level"),
        ("select nofunction(id) from big", 904, "nofunction"),
        ("select id from big where id in (select id, name from big)", 913, ""),
        ("insert into v values (1)", 947, "v"),
        ("update v set name = 1", 904, "name"),
        ("select distinct id, to_clob(name) from big", 932, "to_clob"),
        ("select count(*) from big group by id, to_clob(name)", 932, "to_clob"),
        ("select count(*) from big group by rollup (id, (k, to_clob(name)))", 932, "to_clob"),
        ("select id from big order by id, to_clob(name)", 932, "to_clob"),
        ("select id, to_clob(name) from big order by 2", 932, "2"),
        ("select id, to_clob(name) c from big union select id, null from big", 932, "to_clob"),
        ("select id, null from big minus select id, to_clob(name) from big", 932, "null"),
        ("select to_blob('00') from big intersect select to_blob('00') from big", 932, "to_blob"),
        ("select id from big union all select id from big order by to_clob(id)", 932, "to_clob"),
        ("select id from big where to_clob(name) in ('a', 'b')", 932, ""),
        ("select id from big where to_clob(name) in (select name from big)", 932, ""),
        ("select count(distinct to_clob(name)) from big", 932, "to_clob"),
        ("select max(id) over (partition by k, to_clob(name)) from big", 932, "to_clob"),
        ("select row_number() over (order by to_clob(name)) from big", 932, "to_clob"),
        ("select max(id) keep (dense_rank last order by to_clob(name)) from big", 932, "to_clob"),
    ];
    for (text, code, place) in cases {
        let statement = sql::parse_statement(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        let error = match compile(&statement, &Tables, &NoFunctions, &[]) {
            Ok(plan) => panic!("{text}: {plan}"),
            Err(e) => e,
        };
        assert_eq!(error.code(), code, "{text}: {error}");
        if !place.is_empty() {
            let at = error.position().unwrap_or_else(|| panic!("{text}: {error} has no position")) as usize;
            assert!(text[at..].starts_with(place), "{text}: {error} at {at}");
        }
    }
}

#[test]
fn with_queries_on_one_another_without_end_are_an_error() {
    let chain = |n: usize| {
        let more: String = (1..n).map(|i| format!(", a{i} as (select distinct x from a{})", i - 1)).collect();
        format!("with a0 as (select 1 x from dual){more} select * from a{}", n - 1)
    };
    let wide = |n: usize| {
        let (open, close) = ("nvl(1, ".repeat(30), ")".repeat(30));
        let more: String =
            (1..n).map(|i| format!(", a{i} as (select {open}(select x from a{}){close} x from dual)", i - 1)).collect();
        format!("with a0 as (select 1 x from dual){more} select * from a{}", n - 1)
    };
    let compiled = |text: String| {
        let statement = sql::parse_statement(&text).unwrap();
        compile(&statement, &Tables, &NoFunctions, &[]).map(|_| ())
    };
    os::stack::run(os::stack::SIZE, || {
        compiled(chain(1000)).unwrap();
        compiled(wide(30)).unwrap();
    });
    // A smaller stack ends it earlier.
    os::stack::run(4 << 20, || {
        compiled(chain(20)).unwrap();
        assert!(compiled(chain(3000)).unwrap_err().is(4030));
        assert!(compiled(wide(99)).unwrap_err().is(4030));
    });
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
fn expressions_and_queries_nest_deep_on_the_stack_of_a_session() {
    let planned = |text: &str| {
        let statement = sql::parse_statement(text).unwrap_or_else(|e| panic!("{}: {e}", &text[..60]));
        let plan = compile(&statement, &Tables, &NoFunctions, &[]).unwrap_or_else(|e| panic!("{}: {e}", &text[..60]));
        drop(plan);
    };
    let around =
        |n: usize, open: &str, middle: &str, close: &str| format!("{}{middle}{}", open.repeat(n), close.repeat(n));
    os::stack::run(os::stack::SIZE, || {
        for (open, close) in [("(", ")"), ("nvl(", ", 0)"), ("-(", ")"), ("case when 1 = ", " then 1 end")] {
            planned(&format!("select {} from dual", around(1500, open, "1", close)));
        }
        planned(&format!("select * from big where {}", around(1500, "not (", "id = 1", ")")));
        planned(&around(300, "select id from big where id in (", "select 1 from dual", ")"));
        planned(&around(300, "select (", "select 1 from dual", ") c from dual"));
        planned(&around(300, "select * from (", "select distinct id from big", ")"));
        planned(&around(300, "select id + id id from (", "select id from big", ")"));
        planned(&around(300, "select distinct id from (", "select id from big", ")"));
        planned(&format!("select 1 from dual{}", " union all select 1 from dual".repeat(3000)));
        planned(&format!("select 1 from dual{}", " minus select 1 from dual".repeat(1000)));
        for operator in ["+", "||", "*"] {
            planned(&format!("select id{} from big", format!(" {operator} id").repeat(20_000)));
        }
        let links = " + id".repeat(30_000);
        for long in [
            format!("select id{links} from big"),
            format!("select max(id){links} from big group by id order by 1"),
            format!("select x from (select id{links} x from big) where x = 1 and x{} > 2", " + x".repeat(3_000)),
            format!("select level from dual connect by level < 1{}", " + level".repeat(30_000)),
            format!("select id from big where 1 = 2 or id = 1{links}"),
        ] {
            let plan = compile(&sql::parse_statement(&long).unwrap(), &Tables, &NoFunctions, &[]).unwrap();
            at_half(&mut || drop(plan.clone()));
        }
        for operator in ["and", "or"] {
            planned(&format!("select id from big where id = 1{}", format!(" {operator} id = 2").repeat(20_000)));
        }
    });
}

#[test]
fn exponential_resolution_is_limited() {
    let text = format!("select {}1{} from dual", "case when ".repeat(60), " between 1 and 2 then 1 end".repeat(60));
    let statement = sql::parse_statement(&text).unwrap();
    os::stack::run(os::stack::SIZE, || {
        assert!(compile(&statement, &Tables, &NoFunctions, &[]).err().unwrap().is(4030));
    });
}

#[test]
fn what_may_be_cached() {
    let cacheable = |text: &str| {
        let statement = sql::parse_statement(text).expect("SQL");
        compile(&statement, &Tables, &NoFunctions, &[]).expect("a plan").cacheable.map(|d| d.len())
    };
    assert_eq!(cacheable("select * from big where id = :b"), Some(1));
    assert_eq!(cacheable("select * from v"), Some(2), "the view and its table");
    assert_eq!(cacheable("select sysdate from big"), None);
    assert_eq!(cacheable("select * from big for update"), None);
    assert_eq!(cacheable("delete from big"), None);
}

#[test]
fn the_order_that_a_hint_asks_for_is_the_order_of_the_plan() {
    let order = |text: &str| {
        let plan = plan(text);
        let at = |name: &str| plan.find(name).unwrap_or_else(|| panic!("{name}: {plan}"));
        at("FULL BIG") < at("FULL SMALL")
    };
    // Nested loops list the outer side first; without a condition only the hint decides.
    assert!(order("select /*+ ordered use_nl(small) */ * from big, small where big.k > small.k"));
    assert!(!order("select /*+ ordered use_nl(big) */ * from small, big where big.k > small.k"));
    assert!(order("select /*+ leading(big small) use_nl(small) */ * from small, big where big.k > small.k"));
}
