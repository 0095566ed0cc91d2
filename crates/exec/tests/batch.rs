//! Batches return the rows of registers, equal to the digit, and the same errors.

mod common;

use common::{Instance, Names, Session};
use std::rc::Rc;
use testing::Random;

fn digits(random: &mut Random, most: u64) -> String {
    let len = 1 + random.below(most);
    (0..len).map(|_| char::from(b'0' + random.below(10) as u8)).collect()
}

/// A literal for a column.
fn literal(random: &mut Random, column: &str) -> String {
    if random.below(9) == 0 {
        return "null".into();
    }
    let sign = random.of(&["", "-"]);
    match column {
        "i" => format!("{sign}{}", random.below(40)),
        "d" => format!("{sign}{}.{:02}", random.below(1000), random.below(100)),
        "e" => format!("{sign}{}000", random.below(90)),
        "n" => match random.below(8) {
            0 => format!("{sign}{}", digits(random, 38)),
            1 => format!("{sign}{}.{}", digits(random, 19), digits(random, 19)),
            2 => format!("{sign}{}e{}", digits(random, 5), random.below(200) as i64 - 100),
            3 => format!("{sign}.{}", digits(random, 6)),
            _ => format!("{sign}{}", random.below(30)),
        },
        "w" => format!("{sign}{}", digits(random, 18)),
        "c" => format!("'{}'", random.of(&["a", "b", "ab", "R", "N"])),
        "v" => {
            let text = random.of(&["x", "special requests", "ä", "PROMO BRUSHED", "a%b_c", "déjà vu", "x  "]);
            format!("'{text}{}'", random.below(12))
        }
        "t" => format!("date '{}-{:02}-{:02}'", 1970 + random.below(40), 1 + random.below(12), 1 + random.below(28)),
        "f" => format!("{sign}{}.5d", random.below(9)),
        "g" => format!("{sign}{}.25f", random.below(9)),
        "s" => format!("timestamp '2001-0{}-01 10:00:00.{}'", 1 + random.below(9), random.below(9)),
        "y" => format!("interval '{}' month", random.below(30)),
        "r" => format!("hextoraw('{:02x}{:06x}')", random.below(4), random.below(3)),
        _ => unreachable!("{column} is no column"),
    }
}

const COLUMNS: [&str; 13] = ["i", "d", "c", "v", "t", "n", "w", "e", "f", "g", "s", "y", "r"];
const TABLE: &str = "(i number(9), d number(15,2), c char(3), v varchar2(60), t date, n number, w number(18), \
    e number(7,-3), f binary_double, g binary_float, s timestamp, y interval year to month, r raw(9), l varchar2(3000))";

fn fill(s: &mut Session<'_>, table: &str, rows: u64, random: &mut Random) {
    s.run(&format!("create table {table} {TABLE}")).expect("a table");
    for row in 0..rows {
        // Trailing NULLs are not stored; some rows have several pieces.
        let columns = match random.below(6) {
            0 => random.below(13) as usize,
            _ => 13,
        };
        let mut values: Vec<String> = COLUMNS[..columns].iter().map(|c| literal(random, c)).collect();
        values.resize(13, "null".into());
        let long = if random.below(5) == 0 {
            format!("rpad('{row}', {}, 'x')", 1 + random.below(3000))
        } else {
            "null".into()
        };
        s.run(&format!("insert into {table} values ({}, {long})", values.join(", "))).expect("a row");
    }
}

fn number(random: &mut Random) -> String {
    match random.below(12) {
        0 => "(i + d)".into(),
        1 => "(d * (1 - d))".into(),
        2 => "(i * w * 3)".into(),
        3 => "(-n)".into(),
        4 => "(n - i * 2.5)".into(),
        5 => "case when i > 3 then d when c = 'R' then n else 0 end".into(),
        6 => "extract(year from t)".into(),
        7 => "length(v)".into(),
        8 => "case when v like '%requests%' then 1 end".into(),
        9 => "(d / 7)".into(),
        _ => random.of(&["i", "d", "n", "w", "e"]).into(),
    }
}

fn condition(random: &mut Random, depth: u32) -> String {
    if depth > 0 && random.below(3) == 0 {
        let (a, b) = (condition(random, depth - 1), condition(random, depth - 1));
        return match random.below(3) {
            0 => format!("({a} and {b})"),
            1 => format!("({a} or {b})"),
            _ => format!("not ({a} or {b})"),
        };
    }
    let op = random.of(&["=", "<>", "<", "<=", ">", ">="]);
    match random.below(12) {
        0 => format!("{} {op} {}", number(random), number(random)),
        1 => {
            let column = COLUMNS[random.below(13) as usize];
            format!("{column} {op} {}", literal(random, column))
        }
        2 => format!("{} is {}null", random.of(&COLUMNS), random.of(&["", "not "])),
        3 => {
            let pattern =
                random.of(&["%special%requests%", "PROMO%", "%1", "%ä%", "x_", "%", "a!%b!_c%", "ä3", "%é%u1"]);
            let escape = if pattern.contains('!') { " escape '!'" } else { "" };
            format!("v {}like '{pattern}'{escape}", random.of(&["", "not "]))
        }
        4 => {
            let column = random.of(&["i", "d", "c", "v", "t", "n"]);
            let list: Vec<String> = (0..1 + random.below(12)).map(|_| literal(random, column)).collect();
            format!("{column} {}in ({})", random.of(&["", "not "]), list.join(", "))
        }
        5 => format!("{} between {} and {}", number(random), literal(random, "d"), literal(random, "i")),
        6 => format!(
            "substr(v, {}, {}) {op} '{}'",
            random.below(4),
            random.below(4),
            random.of(&["s", "sp", "PRO", "ä"])
        ),
        7 => format!("t {op} date '1990-01-01' + i"),
        8 => format!("upper(v) {op} 'X' || c"),
        _ => {
            let column = random.of(&["i", "d", "c", "v", "t"]);
            format!("{column} {op} {}", literal(random, column))
        }
    }
}

fn aggregate(random: &mut Random) -> String {
    let distinct = if random.below(6) == 0 { "distinct " } else { "" };
    match random.below(12) {
        0 => "count(*)".into(),
        1 => format!("count({distinct}{})", random.of(&COLUMNS)),
        2 | 3 => format!("{}({})", random.of(&["min", "max"]), random.of(&COLUMNS)),
        4 => format!("avg({distinct}{})", number(random)),
        5 => random.of(&["sum(f)", "avg(g)", "stddev(i)", "max(d) keep (dense_rank first order by t, v)"]).into(),
        6 => "listagg(c, ',') within group (order by v, i)".into(),
        _ => format!("{}({distinct}{})", random.of(&["sum", "min", "max"]), number(random)),
    }
}

fn query(random: &mut Random) -> String {
    let condition = condition(random, 3);
    let aggregates: Vec<String> = (0..1 + random.below(5)).map(|_| aggregate(random)).collect();
    let aggregates = aggregates.join(", ");
    let table = random.of(&["a", "b", "nothing"]);
    match random.below(5) {
        0 => format!("select {aggregates} from {table} where {condition}"),
        1 => {
            let key = number(random);
            format!("select k, {aggregates} from (select {key} k, {table}.* from {table}) where {condition} group by k")
        }
        _ => {
            let keys: Vec<&str> = (0..1 + random.below(3)).map(|_| random.of(&COLUMNS)).collect();
            let keys = keys.join(", ");
            let having = random.of(&["", " having count(*) > 1"]);
            format!("select {keys}, {aggregates} from {table} where {condition} group by {keys}{having}")
        }
    }
}

/// A join of two or three tables: equalities over one or two columns, some of them computed, and other conditions.
fn join(random: &mut Random) -> String {
    let equality = |x: &str, y: &str, random: &mut Random| {
        let both = random.of(&["i", "i", "i", "t", "c", "v", "w", "d"]);
        match random.below(8) {
            0 => format!("{x}.i + 1 = {y}.i"),
            1 => format!("{x}.d = {y}.n"),
            2 => format!("{x}.i = {y}.n"),
            3 => format!("substr({x}.v, 1, 3) = substr({y}.v, 1, 3)"),
            4 => format!("{x}.c = {y}.c and {x}.i = {y}.i"),
            5 => format!("{x}.i = {y}.i and {x}.t = {y}.t"),
            _ => format!("{x}.{both} = {y}.{both}"),
        }
    };
    let more = |x: &str, y: &str, random: &mut Random| match random.below(7) {
        0 => format!(" and {x}.d < {y}.d"),
        1 => format!(" and {x}.v <> {y}.v"),
        2 => format!(" and ({x}.i > 5 or {y}.c = 'ab')"),
        3 => format!(" and 100 / ({x}.i - {y}.n - 3) < 50"),
        _ => String::new(),
    };
    let tables = [random.of(&["a", "b", "nothing"]), random.of(&["a", "b", "b", "nothing"]), random.of(&["a", "b"])];
    let on = equality("x", "y", random) + &more("x", "y", random);
    let filter = if random.below(3) == 0 { String::new() } else { format!(" where x.i < {}", random.below(40)) };
    let and = if filter.is_empty() { " where" } else { " and" };
    let aggregates = "count(*), sum(x.d), min(x.v), max(x.t)";
    let of_both = "count(*), sum(x.d * y.i), min(y.v), max(x.t), count(y.c), sum(y.w)";
    let hint = random.of(&["", "/*+ use_hash(x y) */", "/*+ leading(y x) use_hash(x y) */", "/*+ use_nl(y) */"]);
    let [one, two, three] = tables;
    match random.below(8) {
        0 => format!("select {hint} {aggregates} from {one} x{filter}{and} exists (select 1 from {two} y where {on})"),
        1 => format!(
            "select {hint} {aggregates} from {one} x{filter}{and} not exists (select 1 from {two} y where {on})"
        ),
        2 => format!("select {hint} {of_both} from {one} x full join {two} y on {on}"),
        3 => format!("select {hint} x.i, x.v, y.i, y.v, y.t from {one} x left join {two} y on {on}{filter}"),
        4 => format!("select {hint} x.c, {of_both} from {one} x right join {two} y on {on}{filter} group by x.c"),
        5 => {
            let next = equality("y", "z", random) + &more("x", "z", random);
            format!(
                "select {hint} x.c, {of_both}, sum(z.i) from {one} x join {two} y on {on} join {three} z on {next}{filter} \
                 group by x.c"
            )
        }
        6 => format!("select {hint} distinct x.c, y.v from {one} x join {two} y on {on}{filter}"),
        _ => format!("select {hint} x.i, y.v, x.t, y.r from {one} x join {two} y on {on}{filter}"),
    }
}

/// The rows of a query, sorted, or its error.
fn answer(s: &mut Session<'_>, batches: bool, query: &str) -> Vec<String> {
    s.state.options.batches = batches;
    match s.run(query) {
        Ok(rows) => {
            let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
            rows.sort();
            rows
        }
        Err(e) => vec![e.to_string()],
    }
}

fn setup<'i>(instance: &'i Instance, random: &mut Random) -> Session<'i> {
    let names = Rc::new(Names::default());
    let mut s = Session::new(instance, &names);
    fill(&mut s, "nothing", 0, random);
    fill(&mut s, "a", 400, random);
    fill(&mut s, "b", 1500, random);
    for text in
        ["update b set v = v || v, l = rpad('y', 2500, 'y') where mod(i, 7) = 3", "delete b where i = 5", "commit"]
    {
        s.run(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    }
    s
}

#[test]
fn generated_queries_have_the_rows_of_registers() {
    let instance = Instance::new();
    let mut random = Random::new(0x2545_F491_4F6C_DD1D);
    let mut s = setup(&instance, &mut random);
    let (mut rows, mut errors) = (0, 0);
    for n in 0..300 {
        let query = query(&mut random);
        let expected = answer(&mut s, false, &query);
        s.state.options.spill_bytes = if n % 10 == 9 { 2_000 } else { 64 << 20 };
        let found = answer(&mut s, true, &query);
        s.state.options.spill_bytes = 64 << 20;
        assert_eq!(found, expected, "{query}");
        rows += expected.len();
        errors += usize::from(expected.first().is_some_and(|row| row.starts_with("ORA-")));
    }
    assert!(rows > 2_000, "{rows} rows");
    assert!(errors < 30, "{errors} errors");
}

#[test]
fn generated_joins_have_the_rows_of_registers() {
    let instance = Instance::new();
    let mut random = Random::new(0x9E37_79B9_7F4A_7C15);
    let mut s = setup(&instance, &mut random);
    // From here on, joins return more pairs than a batch has rows; the chain of one key is longer than a batch.
    for text in ["delete b where mod(i, 3) <> 0 and i > 9", "update a set i = 9 where mod(n, 4) = 1", "commit"] {
        s.run(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    }
    let (mut rows, mut errors) = (0, 0);
    for n in 0..120 {
        let query = join(&mut random);
        let expected = answer(&mut s, false, &query);
        s.state.options.spill_bytes = if n % 4 == 3 { 20_000 } else { 64 << 20 };
        let found = answer(&mut s, true, &query);
        s.state.options.spill_bytes = 64 << 20;
        if expected.first().is_some_and(|row| row.starts_with("ORA-")) {
            // The first failing row depends on the order of the rows; that some row fails does not, if all rows are
            // read.
            assert!(found.first().is_some_and(|row| row.starts_with("ORA-")), "{query}: {found:?}");
            errors += 1;
            continue;
        }
        assert_eq!(found, expected, "{query}");
        rows += expected.len();
    }
    assert!(rows > 3_000, "{rows} rows");
    assert!(errors < 60, "{errors} errors");
}

/// A loop keeps its current row in registers, and evaluations over the batches above overwrite them.
#[test]
fn a_loop_below_a_join_goes_on_where_it_was() {
    let instance = Instance::new();
    let names = Rc::new(Names::default());
    let mut s = Session::new(&instance, &names);
    for text in [
        "create table t (n number, k number)",
        "create table u (n number, m number)",
        "create table w (m number)",
        "insert into t select level, mod(level, 10) from dual connect by level <= 2000",
        "insert into u select trunc((level + 2) / 3), mod(level, 7) from dual connect by level <= 6000",
        "insert into w select level - 1 from dual connect by level <= 100",
        "create index ui on u (n)",
        "commit",
    ] {
        s.run(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    }
    for query in [
        "select /*+ leading(t u w) use_nl(u) index(u ui) use_hash(w) */ t.k, count(*), sum(u.m), count(distinct t.n), \
         listagg(case when t.n <> u.n then u.n end) within group (order by u.n) from t, u, w \
         where t.n = u.n and u.m = w.m group by t.k",
        "select /*+ leading(t u w) use_nl(u) index(u ui) use_hash(w) */ distinct t.n, u.n, u.m + w.m from t, u, w \
         where t.n = u.n and u.m = w.m and 10 / (t.n + w.m) < 1000",
    ] {
        let expected = answer(&mut s, false, query);
        assert!(expected.len() > 9, "{expected:?}");
        assert_eq!(answer(&mut s, true, query), expected, "{query}");
    }
}

#[test]
fn blocks_without_a_living_row_do_not_end_a_scan() {
    let instance = Instance::new();
    let mut s = Session::new(&instance, &Rc::new(Names::default()));
    s.run("create table dead (n number(9), v varchar2(2000))").unwrap();
    // More bytes of deleted rows than a batch may hold.
    for n in 0..13 {
        let fill = "insert into dead select level, rpad('x', 1900, 'x') from dual connect by level <= 200";
        s.run(fill).unwrap_or_else(|e| panic!("{n}: {e}"));
    }
    s.run("delete from dead").unwrap();
    s.run("insert into dead select -level, 'alive' from dual connect by level <= 9").unwrap();
    for batches in [true, false] {
        s.state.options.batches = batches;
        assert_eq!(s.text("select count(*) from dead"), "9");
        assert_eq!(s.text("select sum(n) from dead where v = 'alive'"), "-45");
    }
}

#[test]
fn another_sessions_changes_are_not_seen() {
    let instance = Instance::new();
    let mut random = Random::new(77);
    let names = Rc::new(Names::default());
    let mut s = Session::new(&instance, &names);
    fill(&mut s, "a", 700, &mut random);
    s.run("commit").expect("a commit");
    let mut other = Session::new(&instance, &names);
    let queries = [
        "select count(*), sum(d), max(v), sum(length(l)) from a",
        "select c, count(*), sum(n), min(t) from a where i > 3 group by c",
        "select i, c, count(distinct v) from a group by i, c",
    ];
    let before: Vec<_> = queries.iter().map(|q| answer(&mut s, true, q)).collect();
    for text in ["update a set d = d + 1, l = rpad('z', 2000, 'z') where i > 0", "delete a where c = 'ab'"] {
        other.run(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    }
    for (query, before) in queries.iter().zip(&before) {
        assert_eq!(answer(&mut s, true, query), *before, "{query}");
        assert_ne!(answer(&mut other, true, query), *before, "{query}");
        assert_eq!(answer(&mut other, true, query), answer(&mut other, false, query), "{query}");
    }
}

#[test]
fn the_error_of_the_first_failing_row_is_raised() {
    let instance = Instance::new();
    let names = Rc::new(Names::default());
    let mut s = Session::new(&instance, &names);
    for text in [
        "create table t (n number, v varchar2(20))",
        "insert into t select level, to_char(level) from dual connect by level <= 900",
        "update t set v = 'none' where n = 700",
        "update t set n = 0 where n = 500",
        "commit",
    ] {
        s.run(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    }
    for (query, expected) in [
        ("select sum(to_number(v)) from t", "ORA-01722"),
        ("select sum(1 / n), sum(to_number(v)) from t", "ORA-01476"),
        ("select sum(to_number(v)), sum(1 / n) from t", "ORA-01476"),
        ("select count(*) from t where to_number(v) > 0 and 1 / n > 0", "ORA-01476"),
        ("select count(*) from t where n <> 0 and to_number(v) > 0 and 1 / n > 0", "ORA-01722"),
        ("select count(*) from t where n <> 0 and v <> 'none' and to_number(v) > 0 and 1 / n > 0", "898"),
        ("select count(case when n <> 0 then 1 / n end) from t", "899"),
    ] {
        for batches in [true, false] {
            s.state.options.batches = batches;
            let found = s.text(query);
            assert!(found.starts_with(expected), "{query}: {found}");
        }
    }
}
