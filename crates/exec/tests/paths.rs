//! Access paths over indexes, compared with conditions on a full scan: IN lists, skip scans, prefixes of LIKE patterns,
//! padded values of CHAR columns, whole indexes. The rows come in index order.

mod common;

use common::{Instance, Names, Session};
use plan::{Access, Expr, IndexRange, JoinKey, JoinKind, Key, KeyPart, LikeRange, Node, Plan, PlanBody, Side, Source};
use std::cell::RefCell;
use std::rc::Rc;
use testing::Random;
use types::{DataType, LenUnit, Number, Value};

fn number(n: i64) -> Expr {
    Expr::new(Node::Const(Value::Number(Number::from(n))), DataType::NUMBER)
}

fn null() -> Expr {
    Expr::new(Node::Const(Value::Null), DataType::NUMBER)
}

fn text(s: &str) -> Expr {
    Expr::new(Node::Const(Value::text(s)), DataType::Char { len: s.len() as u32, unit: LenUnit::Byte })
}

fn is(n: i64) -> KeyPart {
    number(n).into()
}

fn list(values: Vec<Expr>) -> KeyPart {
    KeyPart::In(values.into_iter().map(Key::from).collect())
}

/// The rows of a query whose scan uses an index.
fn by_index(s: &mut Session<'_>, query: &str, index: &str, change: &dyn Fn(IndexRange) -> IndexRange) -> Vec<String> {
    let seen = RefCell::new(String::new());
    let rows = s.run_altered(query, &|plan: &mut Plan| {
        let PlanBody::Query(q) = &mut plan.body else { return };
        fn scan(source: &mut Source, index: &str, change: &dyn Fn(IndexRange) -> IndexRange) {
            if let Source::Scan(scan) = source {
                let def = scan.table.indexes.iter().find(|def| def.name == index).expect("the index").clone();
                scan.access = Access::IndexRange(Box::new(change(IndexRange::whole(def))));
            }
            source.for_each_child_mut(&mut |child| scan(child, index, change));
        }
        scan(&mut q.source, index, change);
        *seen.borrow_mut() = plan.to_string();
    });
    let rows = rows.unwrap_or_else(|e| panic!("{query}: {e}\n{}", seen.borrow()));
    lines(&rows)
}

fn lines(rows: &[Vec<Value>]) -> Vec<String> {
    let nls = types::Nls::default();
    let value = |v: &Value| v.to_text(&nls).expect("text").map_or("NULL".into(), |s| s.into_owned());
    rows.iter().map(|row| row.iter().map(value).collect::<Vec<_>>().join("|")).collect()
}

fn rows(s: &mut Session<'_>, query: &str) -> Vec<String> {
    let rows = s.run(query).unwrap_or_else(|e| panic!("{query}: {e}"));
    lines(&rows)
}

/// `t (a, b, c)` with NULLs and repeated keys.
fn numbers(s: &mut Session<'_>) {
    s.run("create table t (a number, b number, c number)").unwrap();
    let mut numbers = Random::new(17);
    for c in 0..400 {
        let n = numbers.next();
        let (a, b) = (n >> 33 & 7, n >> 40 & 15);
        let or_null = |v: u64| if v == 3 { "null".to_owned() } else { v.to_string() };
        s.run(&format!("insert into t values ({}, {}, {c})", or_null(a), or_null(b))).unwrap();
    }
    s.run("commit").unwrap();
    s.run("create index t_ab on t (a, b, c)").unwrap();
    s.run("create index t_down on t (a desc, b, c)").unwrap();
    // Entries whose rows must be checked, because the rows change: some after the index was created, some in an open
    // transaction.
    s.run("update t set b = 5 where c in (10, 11, 12)").unwrap();
    s.run("delete from t where c between 20 and 25").unwrap();
    s.run("commit").unwrap();
    s.run("update t set a = 2 where c in (30, 31)").unwrap();
}

#[test]
fn lists_of_values_follow_the_index() {
    let instance = Instance::new();
    let names = Rc::new(Names::default());
    let mut s = Session::new(&instance, &names);
    numbers(&mut s);
    type Change = fn(IndexRange) -> IndexRange;
    let cases: [(&str, &str, Change); 6] = [
        ("a in (5, 1, 2)", "a, b, c", |r| IndexRange {
            prefix: vec![list(vec![number(5), number(1), null(), number(2), number(5)])],
            ..r
        }),
        ("a in (6, 2) and b in (4, 9, 5)", "a, b, c", |r| IndexRange {
            prefix: vec![list(vec![number(6), number(2)]), list(vec![number(4), number(9), number(5)])],
            ..r
        }),
        ("a in (6, 2) and b = 5", "a, b, c", |r| IndexRange {
            prefix: vec![list(vec![number(6), number(2)]), is(5)],
            ..r
        }),
        ("a in (6, 2) and b > 5 and b <= 12", "a, b, c", |r| IndexRange {
            prefix: vec![list(vec![number(6), number(2)])],
            low: Some((number(5).into(), false)),
            high: Some((number(12).into(), true)),
            ..r
        }),
        ("a = 1 and b in (77, 88)", "a, b, c", |r| IndexRange {
            prefix: vec![is(1), list(vec![number(77), number(88)])],
            ..r
        }),
        ("a = 1 and b in (null)", "a, b, c", |r| IndexRange { prefix: vec![is(1), list(vec![null()])], ..r }),
    ];
    for (condition, order, change) in cases {
        for (table, index) in [("t", "T_AB"), ("t", "T_DOWN")] {
            for only in [false, true] {
                let down = index == "T_DOWN";
                let order = if down { order.replacen("a,", "a desc,", 1) } else { order.to_owned() };
                let wanted =
                    rows(&mut s, &format!("select /*+ full(x) */ * from {table} x where {condition} order by {order}"));
                let found = by_index(&mut s, &format!("select * from {table}"), index, &|r| IndexRange {
                    index_only: only,
                    ..change(r)
                });
                assert_eq!(found, wanted, "{condition} by {index}");
                let found = by_index(&mut s, &format!("select * from {table}"), index, &|r| IndexRange {
                    descending: true,
                    index_only: only,
                    ..change(r)
                });
                assert_eq!(found, wanted.into_iter().rev().collect::<Vec<_>>(), "{condition} by {index} backwards");
            }
        }
        let counted = by_index(&mut s, "select count(*), sum(c) from t", "T_AB", &change);
        let wanted = rows(&mut s, &format!("select /*+ full(t) */ count(*), sum(c) from t where {condition}"));
        assert_eq!(counted, wanted, "{condition}");
    }
}

#[test]
fn leading_columns_are_skipped() {
    let instance = Instance::new();
    let names = Rc::new(Names::default());
    let mut s = Session::new(&instance, &names);
    numbers(&mut s);
    type Change = fn(IndexRange) -> IndexRange;
    let cases: [(&str, Change); 5] = [
        ("b = 5", |r| IndexRange { skip: 1, prefix: vec![is(5)], ..r }),
        ("b in (9, 4, 5)", |r| IndexRange { skip: 1, prefix: vec![list(vec![number(9), number(4), number(5)])], ..r }),
        ("b >= 13", |r| IndexRange { skip: 1, low: Some((number(13).into(), true)), ..r }),
        ("c = 33", |r| IndexRange { skip: 2, prefix: vec![is(33)], ..r }),
        ("b = 99", |r| IndexRange { skip: 1, prefix: vec![is(99)], ..r }),
    ];
    for (condition, change) in cases {
        for (table, index) in [("t", "T_AB"), ("t", "T_DOWN")] {
            let order = if index == "T_DOWN" { "a desc, b, c" } else { "a, b, c" };
            let wanted =
                rows(&mut s, &format!("select /*+ full(x) */ * from {table} x where {condition} order by {order}"));
            let found = by_index(&mut s, &format!("select * from {table}"), index, &change);
            assert_eq!(found, wanted, "{condition} by {index}");
            let found = by_index(&mut s, &format!("select * from {table}"), index, &|r| IndexRange {
                descending: true,
                ..change(r)
            });
            assert_eq!(found, wanted.into_iter().rev().collect::<Vec<_>>(), "{condition} by {index} backwards");
        }
    }
}

#[test]
fn patterns_bound_a_range_by_their_beginning() {
    let instance = Instance::new();
    let names = Rc::new(Names::default());
    let mut s = Session::new(&instance, &names);
    s.run("create table w (k number, v varchar2(20))").unwrap();
    s.run("create table f (k number, v char(8))").unwrap();
    for (n, word) in
        ["a", "ab", "abc", "abcd", "ab_c", "ab%", "abé", "ac", "aa", "b", "Ab", "ab\u{10FFFF}x", "%ab", "ab "]
            .iter()
            .enumerate()
    {
        for table in ["w", "f"] {
            s.run(&format!("insert into {table} values ({}, '{word}')", n % 2)).unwrap();
        }
    }
    s.run("insert into w values (0, null)").unwrap();
    s.run("create index w_i on w (k, v)").unwrap();
    s.run("create index f_i on f (k, v)").unwrap();
    for pattern in ["ab%", "ab", "ab_%", "abc%", "a%", "%", "%b", "ab!%", "ab!_c", "x%", "_b", "ab%c", "ab!%%"] {
        for escape in [None, Some("!")] {
            if escape.is_none() && pattern.contains('!') {
                continue;
            }
            for table in ["w", "f"] {
                let tail = escape.map_or(String::new(), |e| format!(" escape '{e}'"));
                let condition = format!("k = 1 and v like '{pattern}'{tail}");
                let wanted =
                    rows(&mut s, &format!("select /*+ full({table}) */ v from {table} where {condition} order by v"));
                let query = format!("select /*+ full({table}) */ v from {table} where {condition}");
                let found = by_index(&mut s, &query, if table == "w" { "W_I" } else { "F_I" }, &|r| IndexRange {
                    prefix: vec![is(1)],
                    like: Some(LikeRange { pattern: text(pattern), escape: escape.map(text) }),
                    ..r
                });
                assert_eq!(found, wanted, "{table} {condition}");
            }
        }
    }
    // A single range: without the condition it returns the rows with this prefix and no others.
    let found = by_index(&mut s, "select v from w", "W_I", &|r| IndexRange {
        prefix: vec![is(1)],
        like: Some(LikeRange { pattern: text("ab_d"), escape: None }),
        ..r
    });
    assert_eq!(
        found,
        ["ab", "ab%", "ab ", "abcd", "ab\u{10FFFF}x"]
            .map(String::from)
            .into_iter()
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>()
    );
}

#[test]
fn padded_values_find_equal_rows() {
    let instance = Instance::new();
    let names = Rc::new(Names::default());
    let mut s = Session::new(&instance, &names);
    s.run("create table f (id number, v char(4))").unwrap();
    for (n, word) in ["a", "ab", "abc", "abcd", "ab\t", "abcz", "b", "", "ab"].iter().enumerate() {
        s.run(&format!("insert into f values ({n}, '{word}')")).unwrap();
    }
    s.run("create index f_i on f (v, id)").unwrap();
    let padded = |s: &str| Key { value: text(s), padded: true };
    for value in ["ab", "ab  ", "abcd", "abcd  ", "abcde", "abcd\tx", "abc  x", "a", "", "zz", "ab\t", "ab    x"] {
        if value.is_empty() {
            continue;
        }
        for (op, change) in [
            (
                "=",
                &(|r: IndexRange| IndexRange { prefix: vec![KeyPart::Is(padded(value))], ..r })
                    as &dyn Fn(IndexRange) -> IndexRange,
            ),
            (">", &|r| IndexRange { low: Some((padded(value), false)), ..r }),
            (">=", &|r| IndexRange { low: Some((padded(value), true)), ..r }),
            ("<", &|r| IndexRange { high: Some((padded(value), false)), ..r }),
            ("<=", &|r| IndexRange { high: Some((padded(value), true)), ..r }),
        ] {
            let condition = format!("v {op} '{value}'");
            let mut wanted = rows(&mut s, &format!("select /*+ full(f) */ id from f where {condition}"));
            let mut found = by_index(&mut s, "select id from f", "F_I", change);
            wanted.sort();
            found.sort();
            assert_eq!(found, wanted, "{condition:?}");
        }
    }
    let mut found = by_index(&mut s, "select id from f", "F_I", &|r| IndexRange {
        prefix: vec![KeyPart::In(vec![padded("ab   "), padded("abcde"), padded("b"), padded("ab")])],
        ..r
    });
    found.sort();
    assert_eq!(found, ["1", "6", "8"]);
}

#[test]
fn a_whole_index_stands_for_the_table() {
    let instance = Instance::new();
    let names = Rc::new(Names::default());
    let mut s = Session::new(&instance, &names);
    s.run("create table t (a number not null, b varchar2(30))").unwrap();
    for n in 0..900 {
        s.run(&format!("insert into t values ({}, 'row {n}')", n * 7 % 900)).unwrap();
    }
    s.run("commit").unwrap();
    s.run("create index t_i on t (a, b)").unwrap();
    s.run("delete from t where a between 100 and 200").unwrap();
    s.run("update t set b = 'other' where a = 300").unwrap();
    let mut wanted = rows(&mut s, "select /*+ full(t) */ a, b from t");
    let found = s.run_altered("select /*+ full(t) */ a, b from t", &|plan: &mut Plan| {
        let PlanBody::Query(q) = &mut plan.body else { return };
        let Source::Scan(scan) = &mut q.source else { panic!("{:?}", q.source) };
        scan.access = Access::IndexFast { index: scan.table.indexes[0].clone() };
    });
    let mut found = lines(&found.unwrap());
    wanted.sort();
    found.sort();
    assert_eq!(found.len(), 799);
    assert_eq!(found, wanted);
}

/// A join of two indexes by rowid has the columns that neither index has alone.
#[test]
fn indexes_are_joined() {
    let instance = Instance::new();
    let names = Rc::new(Names::default());
    let mut s = Session::new(&instance, &names);
    s.run("create table t (a number not null, b number not null, c number)").unwrap();
    for n in 0..300 {
        s.run(&format!("insert into t values ({}, {}, 0)", n % 50, n * 3 % 70)).unwrap();
    }
    s.run("commit").unwrap();
    s.run("create index t_a on t (a)").unwrap();
    s.run("create index t_b on t (b)").unwrap();
    s.run("update t set b = 1000 where a = 7").unwrap();
    s.run("delete from t where a = 8 and b > 30").unwrap();
    for build in [Side::Left, Side::Right] {
        let found = s.run_altered("select /*+ full(t) */ a, b from t", &|plan: &mut Plan| {
            let rowids = [plan.regs, plan.regs + 1];
            plan.regs += 2;
            let PlanBody::Query(q) = &mut plan.body else { return };
            let Source::Scan(scan) = &q.source else { panic!("{:?}", q.source) };
            let side = |name: &str, column: u16, rowid: u32| {
                let mut side = scan.clone();
                let index = side.table.indexes.iter().find(|i| i.name == name).unwrap().clone();
                let mut range = IndexRange { index_only: true, ..IndexRange::whole(index) };
                if name == "T_A" {
                    range.high = Some((number(20).into(), true));
                }
                side.access = Access::IndexRange(Box::new(range));
                side.columns.retain(|(at, _)| *at == column);
                side.rowid = Some(rowid);
                Source::Scan(side)
            };
            let (left, right) = (side("T_A", 0, rowids[0]), side("T_B", 1, rowids[1]));
            let rowid = |n: usize| Expr::new(Node::Reg(rowids[n]), DataType::Rowid);
            let (left_regs, right_regs) = (plan::produced(&left), plan::produced(&right));
            q.source = Source::HashJoin {
                left: Box::new(left),
                right: Box::new(right),
                kind: JoinKind::Inner,
                build,
                keys: vec![JoinKey::equal(rowid(0), rowid(1))],
                residual: Vec::new(),
                left_regs,
                right_regs,
                filters: Vec::new(),
                rows: plan::UNKNOWN_ROWS,
            };
        });
        let mut found = lines(&found.unwrap());
        let mut wanted = rows(&mut s, "select /*+ full(t) */ a, b from t where a <= 20");
        wanted.sort();
        found.sort();
        assert!(wanted.len() > 100);
        assert_eq!(found, wanted, "{build:?}");
    }
}

#[test]
fn plans_name_the_path() {
    let instance = Instance::new();
    let names = Rc::new(Names::default());
    let mut s = Session::new(&instance, &names);
    numbers(&mut s);
    type Change = fn(IndexRange) -> IndexRange;
    let cases: [(Change, &[&str], &str); 4] = [
        (
            |r| IndexRange { prefix: vec![list(vec![number(2), number(1)])], ..r },
            &["INLIST ITERATOR ", "TABLE ACCESS BY INDEX ROWID", "INDEX RANGE SCAN"],
            "(\"T\".\"A\"=2 OR \"T\".\"A\"=1)",
        ),
        (
            |r| IndexRange { skip: 1, prefix: vec![is(5)], ..r },
            &["TABLE ACCESS BY INDEX ROWID", "INDEX SKIP SCAN"],
            "\"T\".\"B\"=5",
        ),
        (
            |r| IndexRange { prefix: vec![is(1)], low: Some((number(4).into(), false)), index_only: true, ..r },
            &["INDEX RANGE SCAN"],
            "\"T\".\"A\"=1 AND \"T\".\"B\">4",
        ),
        (|r| IndexRange { index_only: true, descending: true, ..r }, &["INDEX FULL SCAN DESCENDING"], ""),
    ];
    for (change, operations, access) in cases {
        let shown = RefCell::new(Vec::new());
        s.run_altered("select * from t", &|plan: &mut Plan| {
            let PlanBody::Query(q) = &mut plan.body else { return };
            let Source::Scan(scan) = &mut q.source else { panic!("{:?}", q.source) };
            let index = scan.table.indexes.iter().find(|i| i.name == "T_AB").unwrap().clone();
            scan.access = Access::IndexRange(Box::new(change(IndexRange::whole(index))));
            *shown.borrow_mut() = plan.rows();
        })
        .unwrap();
        let rows = shown.into_inner();
        let lines: Vec<String> = rows[1..].iter().map(|row| format!("{} {}", row.operation, row.options)).collect();
        assert_eq!(lines, operations);
        assert_eq!(rows.last().unwrap().access, access);
    }
}
