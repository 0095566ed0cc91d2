//! Hints never change an answer: random joins return the same rows under every order that LEADING can name.

mod common;

use common::{Instance, Names, Session};
use std::rc::Rc;
use testing::Random;

/// A condition between row source `at` and one before it.
fn condition(r: &mut Random, at: u64) -> String {
    let before = r.below(at);
    let (a, b) = (r.of(&["id", "n", "k"]), r.of(&["id", "n", "k"]));
    match r.below(6) {
        0 => format!("x{before}.{a} = x{at}.{b} and x{at}.n > {}", r.below(3)),
        1 => format!("x{before}.{a} < x{at}.{b}"),
        2 => format!("x{at}.{b} = {}", r.below(4)),
        3 => format!("x{before}.{a} = x{at}.{b} or x{before}.n = {}", r.below(3)),
        _ => format!("x{before}.{a} = x{at}.{b}"),
    }
}

/// A query over `count` row sources, with `#` in the place of a hint.
fn query(r: &mut Random, count: u64) -> String {
    let mut from = "t0 x0".to_owned();
    // A full or right join takes everything to its left as one side, so no later row source may refer laterally to a
    // part of that side.
    for at in 1..count {
        let table = format!("t{}", r.below(4));
        let before = r.below(at);
        let inside = format!("(select * from {table} where {table}.{} = x{before}.k)", r.of(&["id", "n"]));
        let on = condition(r, at);
        from = match r.below(9) {
            0 => format!("{from} join {table} x{at} on {on}"),
            1 | 2 => format!("{from} left join {table} x{at} on {on}"),
            3 => format!("{from} right join {table} x{at} on {on}"),
            4 => format!("{from} full join {table} x{at} on {on}"),
            5 => format!("{from} cross join {table} x{at}"),
            6 => format!("{from} cross apply {inside} x{at}"),
            7 => format!("{from} outer apply {inside} x{at}"),
            _ => format!("{from} left join (select distinct id, n, k from {table}) x{at} on {on}"),
        };
    }
    let last = count - 1;
    let filter = match r.below(6) {
        0 => format!(" where x0.n <= x{last}.n or x{last}.n is null"),
        1 => format!(" where exists (select 1 from t1 s where s.id = x0.n and (s.n = x{last}.k or x{last}.k is null))"),
        2 => format!(" where x{last}.id in (select s.n from t2 s where s.k = x0.k)"),
        3 => format!(" where x{last}.id is null"),
        _ => String::new(),
    };
    let columns: Vec<String> = (0..count).map(|at| format!("x{at}.id, x{at}.n, x{at}.k")).collect();
    format!("select # {} from {from}{filter}", columns.join(", "))
}

/// A query whose outer joins are written with `(+)`, with its row sources in any order.
fn query_with_marks(r: &mut Random, count: u64) -> String {
    let mut from: Vec<String> = (0..count).map(|at| format!("t{at} x{at}")).collect();
    let turn = r.below(count) as usize;
    from.rotate_left(turn);
    let mut conds = Vec::new();
    for at in 1..count {
        let before = r.below(at);
        let mark = r.of(&["", "(+)", "(+)"]);
        let (a, b) = (r.of(&["id", "n", "k"]), r.of(&["id", "n", "k"]));
        conds.push(format!("x{before}.{a} = x{at}.{b}{mark}"));
        if r.below(3) == 0 {
            conds.push(format!("x{at}.n{mark} > {}", r.below(2)));
        }
    }
    let columns: Vec<String> = (0..count).map(|at| format!("x{at}.id, x{at}.n, x{at}.k")).collect();
    format!("select # {} from {} where {}", columns.join(", "), from.join(", "), conds.join(" and "))
}

fn permutations(of: &[u64]) -> Vec<Vec<u64>> {
    if of.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, &first) in of.iter().enumerate() {
        let mut rest = of.to_vec();
        rest.remove(at);
        for mut tail in permutations(&rest) {
            tail.insert(0, first);
            all.push(tail);
        }
    }
    all
}

fn sorted(s: &mut Session<'_>, text: &str) -> Vec<String> {
    let answer = s.text(text);
    assert!(!answer.starts_with("ORA-"), "{text}\n{answer}");
    let mut rows: Vec<String> = answer.lines().map(str::to_owned).collect();
    rows.sort();
    rows
}

#[test]
fn every_leading_order_gives_the_same_rows() {
    let instance = Instance::new();
    let names = Rc::new(Names::default());
    let mut s = Session::new(&instance, &names);
    let mut r = Random::new(12);
    for table in 0..4 {
        s.run(&format!("create table t{table} (id number, n number, k number)")).expect("a table");
        s.run(&format!("create index i{table} on t{table} (n)")).expect("an index");
        for _ in 0..2 + table {
            let value = |r: &mut Random| match r.below(5) {
                4 => "null".to_owned(),
                n => n.to_string(),
            };
            let row = format!("{}, {}, {}", value(&mut r), value(&mut r), value(&mut r));
            s.run(&format!("insert into t{table} values ({row})")).expect("a row");
        }
    }
    let mut compared = 0;
    for round in 0..150 {
        let count = 2 + r.below(3);
        let query = if round % 3 == 0 { query_with_marks(&mut r, count) } else { query(&mut r, count) };
        let plain = sorted(&mut s, &query.replace('#', ""));
        let all: Vec<u64> = (0..count).collect();
        let mut hints = vec!["/*+ ordered */".to_owned()];
        for order in permutations(&all) {
            let taken = 1 + r.below(count) as usize;
            let names = |list: &[u64]| list.iter().map(|n| format!("x{n}")).collect::<Vec<_>>().join(" ");
            let method = match r.below(3) {
                0 => format!(" use_nl({})", names(&order)),
                1 => format!(" use_hash({})", names(&order)),
                _ => String::new(),
            };
            hints.push(format!("/*+ leading({}){method} */", names(&order)));
            hints.push(format!("/*+ leading({}){method} */", names(&order[..taken])));
        }
        for hint in hints {
            let hinted = query.replace('#', &hint);
            assert_eq!(sorted(&mut s, &hinted), plain, "{hinted}");
            compared += 1;
        }
    }
    assert!(compared > 1000, "only {compared} comparisons");
}

/// The operations of a statement's plan, and its outline as a hint.
fn plan_and_outline(s: &mut Session<'_>, text: &str) -> (String, String) {
    let statement = sql::parse_statement(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    let rows = exec::Cursor::plan_rows(&mut s.cx(), &statement).unwrap_or_else(|e| panic!("{text}: {e}"));
    let line = |row: &exec::plan_rows::PlanRow| {
        let indent = " ".repeat(row.depth as usize);
        format!("{indent}{} {} {}\n", row.operation, row.options, row.object)
    };
    let outline: Vec<String> = rows.iter().flat_map(|row| exec::plan_rows::outline_of(&row.other)).collect();
    let hint = format!("/*+ BEGIN_OUTLINE_DATA {} END_OUTLINE_DATA */", outline.join(" "));
    (rows.iter().map(line).collect(), hint)
}

/// The outline of a plan chosen by hints gives the same plan when it replaces the hints.
#[test]
fn the_outline_of_a_plan_reproduces_it() {
    let instance = Instance::new();
    let names = Rc::new(Names::default());
    let mut s = Session::new(&instance, &names);
    for table in 0..3 {
        s.run(&format!("create table t{table} (id number, n number, k number)")).expect("a table");
        s.run(&format!("create index i{table} on t{table} (n)")).expect("an index");
        s.run(&format!("create index j{table} on t{table} (k, id)")).expect("an index");
    }
    let queries = [
        "select # a.id, b.id from t0 a, t1 b where a.n = b.n",
        "select # a.id, b.id from t0 a left join t1 b on a.n = b.n and b.k > 3",
        "select # a.id, b.id, c.id from t0 a, t1 b, t2 c where a.n = b.n and b.k = c.k and c.id > 4",
        "select # a.k, count(*) from t0 a, t1 b, t2 c where a.n = b.n and a.k = c.k group by a.k order by 1",
        "select # a.id from t0 a where a.n in (select b.n from t1 b where b.k = a.k)",
        "select # a.id from t0 a where not exists (select 1 from t1 b where b.k = a.k) and a.n > 3",
        "select # v.id, c.id from (select x.id, x.n from t0 x where x.k = 3) v, t2 c where v.n = c.n",
        "select # v.n, c.id from (select n, max(b.id) m from t1 b group by n) v, t2 c where v.n = c.n and c.k = 2",
        "select # a.id from t0 a where a.id > (select max(b.id) from t1 b where b.n = 4)",
        "select # a.id from t0 a where a.n = 3 and a.k between 2 and 4",
    ];
    let wishes = [
        "",
        "full(a) full(b) full(c)",
        "index(a) index(b) index(c)",
        "index(a i0) index(b j1) index(c j2)",
        "leading(b a) use_nl(a)",
        "leading(b a) use_hash(a) swap_join_inputs(a)",
        "leading(a b c) use_hash(b) no_swap_join_inputs(b) use_nl(c)",
        "leading(c b a) use_merge(b) use_nl(a)",
        "leading(a c b) use_nl(c) use_hash(b)",
    ];
    let mut changed = 0;
    for query in queries {
        let (plain, _) = plan_and_outline(&mut s, &query.replace('#', ""));
        for wish in wishes {
            let (wanted, outline) = plan_and_outline(&mut s, &query.replace('#', &format!("/*+ {wish} */")));
            let (made, again) = plan_and_outline(&mut s, &query.replace('#', &outline));
            assert_eq!(made, wanted, "{query}\n{wish}\n{outline}");
            assert_eq!(again, outline, "{query}\n{wish}");
            changed += usize::from(wanted != plain);
        }
    }
    assert!(changed > 25, "the hints have changed only {changed} plans");
}
