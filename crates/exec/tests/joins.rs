//! Every join method and kind, with either side built, in memory and spilled, compared with a naive model over small
//! random tables.
//!
//! The planner chooses few of these, so the tests change the plan of a plain join.

mod common;

use common::{Instance, Names, Session};
use plan::{
    BuiltFilter, CmpOp, Expr, JoinKey, JoinKind, Key, KeyNulls, MergeRange, Node, Plan, PlanBody, Side, SortKey, Source,
};
use std::cell::Cell;
use std::rc::Rc;
use testing::Random;
use types::Value;

/// A row: id, a whole number, a text, a decimal and a number for the residual.
#[derive(Clone, Debug)]
struct Row {
    id: i64,
    a: Option<i64>,
    b: Option<String>,
    c: Option<i64>,
    v: Option<i64>,
}

const COLUMNS: [&str; 3] = ["a", "b", "c"];

impl Row {
    fn key(&self, column: usize) -> Option<String> {
        match column {
            0 => self.a.map(|n| n.to_string()),
            1 => self.b.clone(),
            _ => self.c.map(|n| n.to_string()),
        }
    }
}

/// A table of `rows` rows; `nulls` of ten values are NULL.
fn fill(s: &mut Session<'_>, r: &mut Random, name: &str, rows: u64, domain: u64, nulls: u64) -> Vec<Row> {
    s.run(&format!("create table {name} (id number, a number, b varchar2(40), c number, v number)")).unwrap();
    let mut all = Vec::new();
    for id in 0..rows {
        let mut some = |n: u64| (r.below(10) >= nulls).then(|| r.below(n) as i64);
        let (a, c, v) = (some(domain), some(domain), some(10));
        let b = some(domain).map(|n| format!("{}{n}", "text ".repeat(n as usize % 7)));
        let text = |n: Option<i64>| n.map_or("null".to_owned(), |n| n.to_string());
        let quoted = b.as_ref().map_or("null".to_owned(), |b| format!("'{b}'"));
        // Half of the decimals are whole.
        let tenth = c.map_or("null".to_owned(), |n| format!("{} / 2", n));
        s.run(&format!("insert into {name} values ({id}, {}, {quoted}, {tenth}, {})", text(a), text(v))).unwrap();
        all.push(Row { id: id as i64, a, b, c, v });
    }
    all
}

/// A join to test: columns that must be equal, and the meaning of NULL in each.
#[derive(Clone, Debug)]
struct Case {
    kind: JoinKind,
    keys: Vec<(usize, KeyNulls)>,
    residual: bool,
}

impl Case {
    /// Whether two rows match; for NOT IN, whether they may match.
    fn pairs(&self, l: &Row, r: &Row) -> bool {
        let equal = |(column, nulls): &(usize, KeyNulls)| match (l.key(*column), r.key(*column), nulls) {
            (Some(x), Some(y), _) => x == y,
            (None, None, KeyNulls::Equal) => true,
            (.., KeyNulls::Unknown) => true,
            _ => false,
        };
        let residual = !self.residual || l.v.zip(r.v).is_some_and(|(x, y)| x < y);
        residual && self.keys.iter().all(equal)
    }

    /// The expected rows as left and right ids. `None`: ORA-01427.
    fn expected(&self, left: &[Row], right: &[Row]) -> Option<Vec<(Option<i64>, Option<i64>)>> {
        let mut rows = Vec::new();
        for l in left {
            let found: Vec<i64> = right.iter().filter(|r| self.pairs(l, r)).map(|r| r.id).collect();
            match self.kind {
                JoinKind::Semi if !found.is_empty() => rows.push((Some(l.id), None)),
                JoinKind::Anti | JoinKind::AntiNullAware if found.is_empty() => rows.push((Some(l.id), None)),
                JoinKind::Semi | JoinKind::Anti | JoinKind::AntiNullAware => {}
                JoinKind::Single if found.len() > 1 => return None,
                kind => {
                    rows.extend(found.iter().map(|r| (Some(l.id), Some(*r))));
                    if found.is_empty() && kind.keeps_all_left() {
                        rows.push((Some(l.id), None));
                    }
                }
            }
        }
        if self.kind == JoinKind::Full {
            let alone = right.iter().filter(|r| !left.iter().any(|l| self.pairs(l, r)));
            rows.extend(alone.map(|r| (None, Some(r.id))));
        }
        rows.sort();
        Some(rows)
    }

    /// A plain join with these columns and this residual.
    fn text(&self) -> String {
        let mut on: Vec<String> = self.keys.iter().map(|(n, _)| format!("l.{0} = r.{0}", COLUMNS[*n])).collect();
        if self.residual {
            on.push("l.v < r.v".into());
        }
        let right = if self.kind.keeps_right() { "r.id" } else { "null" };
        let on = if on.is_empty() { "1 = 1".to_owned() } else { on.join(" and ") };
        match on.contains(" = r.") {
            true => format!("select /*+ use_hash(r) */ l.id, {right} from l left join r on {on}"),
            // Without an equality, only a full join is a hash join.
            false => format!("select l.id, {right} from l full join r on {on}"),
        }
    }
}

fn source_of(plan: &mut Plan) -> &mut Source {
    let PlanBody::Query(query) = &mut plan.body else { panic!("a query") };
    &mut query.source
}

/// Calls `f` on the first hash join, which must exist.
fn with_join(source: &mut Source, f: &mut dyn FnMut(&mut Source)) {
    fn find(source: &mut Source, f: &mut dyn FnMut(&mut Source), done: &mut bool) {
        if matches!(source, Source::HashJoin { .. }) && !*done {
            *done = true;
            f(source);
        } else if !*done {
            source.for_each_child_mut(&mut |child| find(child, f, done));
        }
    }
    let mut done = false;
    find(source, f, &mut done);
    assert!(done, "no hash join in {source:?}");
}

fn set_keys(case: &Case, keys: &mut [JoinKey]) {
    assert_eq!(keys.len(), case.keys.len(), "all equalities are keys");
    for (key, (_, nulls)) in keys.iter_mut().zip(&case.keys) {
        key.nulls = *nulls;
    }
}

/// The ids, or `None` for ORA-01427.
fn ids(rows: types::Result<Vec<Vec<Value>>>, what: &str) -> Option<Vec<(Option<i64>, Option<i64>)>> {
    let rows = match rows {
        Err(e) if e.code() == 1427 => return None,
        rows => rows.unwrap_or_else(|e| panic!("{what}: {e}")),
    };
    let number = |v: &Value| match v {
        Value::Number(n) => n.as_i64(),
        _ => None,
    };
    let mut ids: Vec<_> = rows.iter().map(|row| (number(&row[0]), number(&row[1]))).collect();
    ids.sort();
    Some(ids)
}

fn check_hash(s: &mut Session<'_>, case: &Case, build: Side, spill: usize, left: &[Row], right: &[Row]) {
    s.state.options.spill_bytes = spill;
    let what = format!("{case:?} build {build:?} spill {spill} of {} and {} rows", left.len(), right.len());
    let rows = s.run_altered(&case.text(), &|plan| {
        with_join(source_of(plan), &mut |join| {
            let Source::HashJoin { kind, build: side, keys, .. } = join else { return };
            (*kind, *side) = (case.kind, build);
            set_keys(case, keys);
        });
    });
    assert_eq!(ids(rows, &what), case.expected(left, right), "{what}");
}

const KINDS: [JoinKind; 7] = [
    JoinKind::Inner,
    JoinKind::Left,
    JoinKind::Full,
    JoinKind::Semi,
    JoinKind::Anti,
    JoinKind::AntiNullAware,
    JoinKind::Single,
];

/// Sets of key columns for a kind of join, with the meaning of NULL.
fn key_sets(kind: JoinKind) -> Vec<Vec<(usize, KeyNulls)>> {
    use KeyNulls::{Equal, Never, Unknown};
    if kind == JoinKind::AntiNullAware {
        return vec![
            vec![(0, Unknown)],
            vec![(1, Unknown), (0, Unknown)],
            vec![(0, Unknown), (2, Never)],
            vec![(0, Never), (2, Unknown), (1, Unknown)],
            vec![(1, Equal), (0, Unknown)],
        ];
    }
    vec![
        vec![(0, Never)],
        vec![(2, Never)],
        vec![(0, Never), (1, Never)],
        vec![(0, Equal)],
        vec![(0, Equal), (1, Never)],
        vec![],
    ]
}

/// Tests all hash joins over tables `l` and `r` with these numbers of rows.
fn hash_joins(seed: u64, rows: (u64, u64), domain: u64, nulls: (u64, u64), spills: &[usize]) {
    let instance = Instance::new();
    let names = Rc::new(Names::default());
    let mut s = Session::new(&instance, &names);
    let mut r = Random::new(seed);
    let left = fill(&mut s, &mut r, "l", rows.0, domain, nulls.0);
    let right = fill(&mut s, &mut r, "r", rows.1, domain, nulls.1);
    for kind in KINDS {
        for keys in key_sets(kind) {
            for residual in [false, true] {
                let case = Case { kind, keys: keys.clone(), residual };
                for build in [Side::Left, Side::Right] {
                    for &spill in spills {
                        check_hash(&mut s, &case, build, spill, &left, &right);
                    }
                }
            }
        }
    }
}

const ROOMY: usize = 64 << 20;

#[test]
fn hash_joins_of_nothing() {
    hash_joins(1, (0, 0), 3, (0, 0), &[ROOMY]);
    hash_joins(2, (5, 0), 3, (2, 2), &[ROOMY, 1]);
    hash_joins(3, (0, 5), 3, (2, 2), &[ROOMY, 1]);
}

#[test]
fn hash_joins_without_null() {
    hash_joins(4, (25, 30), 12, (0, 0), &[ROOMY, 1000]);
    hash_joins(5, (20, 8), 60, (0, 0), &[ROOMY]);
}

#[test]
fn hash_joins_with_null() {
    hash_joins(6, (25, 30), 8, (3, 2), &[ROOMY, 1500]);
    hash_joins(7, (8, 7), 3, (6, 6), &[ROOMY, 1]);
    // NOT IN with NULL on one side only.
    hash_joins(8, (20, 20), 9, (0, 1), &[ROOMY]);
    hash_joins(9, (20, 20), 9, (2, 0), &[ROOMY]);
}

/// Partitions that are divided again, and rows of one key that no division can separate.
#[test]
fn hash_joins_of_large_parts() {
    let instance = Instance::new();
    let names = Rc::new(Names::default());
    let mut s = Session::new(&instance, &names);
    let mut r = Random::new(10);
    let mut left = fill(&mut s, &mut r, "l", 700, 3000, 1);
    let mut right = fill(&mut s, &mut r, "r", 500, 3000, 1);
    for n in 0..90 {
        s.run(&format!("insert into r values ({}, 7, 'x', 7, 5)", 1000 + n)).unwrap();
        right.push(Row { id: 1000 + n, a: Some(7), b: Some("x".into()), c: Some(14), v: Some(5) });
    }
    s.run("insert into l values (2000, 7, 'x', 7, 4)").unwrap();
    left.push(Row { id: 2000, a: Some(7), b: Some("x".into()), c: Some(14), v: Some(4) });
    for kind in KINDS {
        let nulls = if kind == JoinKind::AntiNullAware { KeyNulls::Unknown } else { KeyNulls::Never };
        for keys in [vec![(0, nulls)], vec![(0, KeyNulls::Never), (1, nulls)]] {
            for build in [Side::Left, Side::Right] {
                for residual in [false, true] {
                    check_hash(&mut s, &Case { kind, keys: keys.clone(), residual }, build, 4000, &left, &right);
                }
            }
        }
    }
}

/// A hash join on the right side of nested loops is started again and keeps its table.
#[test]
fn hash_joins_are_started_again() {
    let instance = Instance::new();
    let names = Rc::new(Names::default());
    let mut s = Session::new(&instance, &names);
    let mut r = Random::new(11);
    let left = fill(&mut s, &mut r, "l", 20, 6, 1);
    let right = fill(&mut s, &mut r, "r", 20, 6, 1);
    for kind in KINDS {
        let nulls = if kind == JoinKind::AntiNullAware { KeyNulls::Unknown } else { KeyNulls::Never };
        let case = Case { kind, keys: vec![(0, nulls)], residual: true };
        for build in [Side::Left, Side::Right] {
            for spill in [ROOMY, 500] {
                s.state.options.spill_bytes = spill;
                let twice = |rows: Vec<Vec<Value>>| rows;
                let rows = s.run_altered(&case.text(), &|plan| {
                    with_join(source_of(plan), &mut |join| {
                        let Source::HashJoin { kind: k, build: side, keys, .. } = &mut *join else { return };
                        (*k, *side) = (kind, build);
                        set_keys(&case, keys);
                        let inner = std::mem::replace(join, Source::Empty);
                        // Two rows on its left side.
                        let two = Source::Set {
                            kind: plan::SetKind::UnionAll,
                            recursion: None,
                            inputs: vec![(Source::Dual, Vec::new()), (Source::Dual, Vec::new())],
                            out: Vec::new(),
                            rows: plan::UNKNOWN_ROWS,
                        };
                        *join = Source::NestedLoops {
                            left: Box::new(two),
                            right: Box::new(inner),
                            kind: JoinKind::Inner,
                            right_regs: Vec::new(),
                            lateral: false,
                            rows: plan::UNKNOWN_ROWS,
                        };
                    });
                });
                let what = format!("{case:?} {build:?} {spill}");
                let expected = case.expected(&left, &right).map(|rows| {
                    let mut twice: Vec<_> = rows.iter().chain(&rows).copied().collect();
                    twice.sort();
                    twice
                });
                assert_eq!(ids(rows.map(twice), &what), expected, "{what}");
            }
        }
    }
}

/// All kinds of nested loops; the right side returns only matching rows.
#[test]
fn nested_loops_of_every_kind() {
    let instance = Instance::new();
    let names = Rc::new(Names::default());
    let mut s = Session::new(&instance, &names);
    let mut r = Random::new(12);
    let left = fill(&mut s, &mut r, "l", 25, 9, 2);
    let right = fill(&mut s, &mut r, "r", 15, 9, 2);
    for kind in [JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti, JoinKind::Single] {
        let case = Case { kind, keys: vec![(0, KeyNulls::Never)], residual: true };
        let text = case.text().replace("use_hash", "use_nl");
        let changed = Cell::new(false);
        let rows = s.run_altered(&text, &|plan| {
            fn find(source: &mut Source, to: JoinKind, changed: &Cell<bool>) {
                if let Source::NestedLoops { kind, .. } = source {
                    *kind = to;
                    changed.set(true);
                }
                source.for_each_child_mut(&mut |child| find(child, to, changed));
            }
            find(source_of(plan), kind, &changed);
        });
        assert!(changed.get());
        assert_eq!(ids(rows, &text), case.expected(&left, &right), "{kind:?}");
    }
}

fn sorted(input: Box<Source>, keys: impl Iterator<Item = Expr>, regs: &[u32]) -> Box<Source> {
    let keys = keys.map(|expr| SortKey { expr, desc: false, nulls_first: false }).collect();
    Box::new(Source::Sort { input, keys, regs: regs.to_vec(), top: None, rows: plan::UNKNOWN_ROWS })
}

#[test]
fn merge_joins() {
    for (seed, rows, domain, nulls) in
        [(20, (0, 5), 3, 0), (21, (5, 0), 3, 0), (22, (25, 30), 9, 2), (23, (20, 20), 100, 0), (24, (9, 12), 2, 1)]
    {
        let instance = Instance::new();
        let names = Rc::new(Names::default());
        let mut s = Session::new(&instance, &names);
        let mut r = Random::new(seed);
        let left = fill(&mut s, &mut r, "l", rows.0, domain, nulls);
        let right = fill(&mut s, &mut r, "r", rows.1, domain, nulls);
        for kind in [JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti] {
            for columns in [vec![0], vec![1, 2], vec![]] {
                // The residual as a condition on each pair, and as a range.
                for (residual, op) in [(false, None), (true, None), (true, Some(CmpOp::Lt)), (true, Some(CmpOp::Gt))] {
                    // Every written group takes a chunk of temporary space, so only small tables are used.
                    for spill in if rows.0 < 10 { vec![ROOMY, 1] } else { vec![ROOMY] } {
                        s.state.options.spill_bytes = spill;
                        let keys = columns.iter().map(|n| (*n, KeyNulls::Never)).collect();
                        let case = Case { kind, keys, residual };
                        let rows = s.run_altered(&case.text(), &|plan| {
                            with_join(source_of(plan), &mut |join| to_merge(join, kind, op));
                        });
                        let what = format!("{case:?} {op:?} spill {spill} seed {seed}");
                        assert_eq!(ids(rows, &what), case.expected(&left, &right), "{what}");
                    }
                }
            }
        }
    }
}

/// Replaces a hash join by a merge join. `op`: the residual becomes its range, with swapped sides for `>`.
fn to_merge(join: &mut Source, kind: JoinKind, op: Option<CmpOp>) {
    let Source::HashJoin { left, right, keys, mut residual, left_regs, right_regs, .. } =
        std::mem::replace(join, Source::Empty)
    else {
        return;
    };
    let mut ranges = Vec::new();
    if let Some(op) = op {
        let Node::Cmp(CmpOp::Lt, _, a, b) = residual.remove(0).node else { panic!("l.v < r.v") };
        let negative = |e: Box<Expr>| Expr::new(Node::Neg(e.clone()), e.ty);
        ranges.push(match op {
            CmpOp::Lt => MergeRange { op, left: *a, right: *b },
            // x < y where -x > -y.
            op => MergeRange { op, left: negative(a), right: negative(b) },
        });
    }
    let edge = ranges.first().map(|r| r.right.clone());
    let left = sorted(left, keys.iter().map(|k| k.left.clone()), &left_regs);
    let right = sorted(right, keys.iter().map(|k| k.right.clone()).chain(edge), &right_regs);
    *join = Source::MergeJoin {
        left,
        right,
        kind,
        keys,
        ranges,
        residual,
        left_regs,
        right_regs,
        rows: plan::UNKNOWN_ROWS,
    };
}

/// Filters do not change an answer where they are allowed. Where they are not, rows are missing, which shows that the
/// filters work.
#[test]
fn join_filters() {
    let instance = Instance::new();
    let names = Rc::new(Names::default());
    let mut s = Session::new(&instance, &names);
    let mut r = Random::new(30);
    let left = fill(&mut s, &mut r, "l", 300, 2000, 1);
    let right = fill(&mut s, &mut r, "r", 40, 2000, 1);
    for columns in [vec![0], vec![1], vec![0, 1], vec![2]] {
        for (kind, build) in [
            (JoinKind::Inner, Side::Right),
            (JoinKind::Inner, Side::Left),
            (JoinKind::Semi, Side::Right),
            (JoinKind::Left, Side::Left),
            // The left side is kept, so it must not be filtered.
            (JoinKind::Left, Side::Right),
        ] {
            for spill in [ROOMY, 1000] {
                for filtered in [vec![0], (0..columns.len()).collect::<Vec<_>>()] {
                    s.state.options.spill_bytes = spill;
                    let keys = columns.iter().map(|n| (*n, KeyNulls::Never)).collect();
                    let case = Case { kind, keys, residual: false };
                    let rows = s.run_altered(&case.text(), &|plan| {
                        with_join(source_of(plan), &mut |join| filter(join, kind, build, &filtered));
                    });
                    let what = format!("{case:?} build {build:?} spill {spill} by {filtered:?}");
                    let (found, expected) = (ids(rows, &what).unwrap(), case.expected(&left, &right).unwrap());
                    if (kind, build) != (JoinKind::Left, Side::Right) {
                        assert_eq!(found, expected, "{what}");
                        continue;
                    }
                    let matched = |rows: &[(Option<i64>, Option<i64>)]| rows.iter().filter(|r| r.1.is_some()).count();
                    assert_eq!(matched(&found), matched(&expected), "{what}");
                    assert!(found.len() < expected.len() / 4, "{what}: {} of {}", found.len(), expected.len());
                }
            }
        }
    }
}

fn filter(join: &mut Source, to: JoinKind, side: Side, by: &[usize]) {
    let Source::HashJoin { left, right, kind, build, keys, filters, .. } = join else { return };
    (*kind, *build) = (to, side);
    filters.push(BuiltFilter { id: 3, keys: by.to_vec() });
    let (probe, of): (&mut Box<Source>, fn(&JoinKey) -> &Expr) = match side {
        Side::Left => (right, |key| &key.right),
        Side::Right => (left, |key| &key.left),
    };
    let keys = by.iter().map(|n| Key::from(of(&keys[*n]).clone())).collect();
    let input = std::mem::replace(&mut **probe, Source::Empty);
    **probe = Source::JoinFilter { input: Box::new(input), id: 3, keys, rows: plan::UNKNOWN_ROWS };
}

/// CHAR columns of different lengths compared with padding.
#[test]
fn padded_keys() {
    let instance = Instance::new();
    let names = Rc::new(Names::default());
    let mut s = Session::new(&instance, &names);
    s.run("create table l (id number, a char(5), v number)").unwrap();
    s.run("create table r (id number, a char(9), v number)").unwrap();
    for (table, id, a) in
        [("l", 1, "ab"), ("l", 2, "b"), ("r", 10, "ab"), ("r", 11, "abc"), ("r", 12, "b"), ("r", 13, "b")]
    {
        s.run(&format!("insert into {table} values ({id}, '{a}', 0)")).unwrap();
    }
    let text = "select /*+ use_hash(r) */ l.id, r.id from l join r on substr(l.a, 1) = substr(r.a, 1)";
    for (padded, expected) in [(false, vec![]), (true, vec![(1, 10), (2, 12), (2, 13)])] {
        let rows = s.run_altered(text, &|plan| {
            with_join(source_of(plan), &mut |join| {
                let Source::HashJoin { keys, .. } = join else { return };
                keys[0].padded = padded;
            });
        });
        let expected: Vec<_> = expected.iter().map(|(l, r)| (Some(*l), Some(*r))).collect();
        assert_eq!(ids(rows, "padded").unwrap(), expected, "{padded}");
    }
}

/// The names of methods in plans: RIGHT if the side that is not kept is built, and a filter above the side that makes
/// it.
#[test]
fn plans_name_the_method() {
    let instance = Instance::new();
    let names = Rc::new(Names::default());
    let mut s = Session::new(&instance, &names);
    let mut r = Random::new(40);
    fill(&mut s, &mut r, "l", 3, 3, 1);
    fill(&mut s, &mut r, "r", 3, 3, 1);
    let tables = |build: Side| if build == Side::Left { ["L", "R"] } else { ["R", "L"] };
    for (kind, left_built, right_built) in [
        (JoinKind::Inner, "", ""),
        (JoinKind::Left, "OUTER", "RIGHT OUTER"),
        (JoinKind::Full, "FULL OUTER", "FULL OUTER"),
        (JoinKind::Semi, "SEMI", "RIGHT SEMI"),
        (JoinKind::Anti, "ANTI", "RIGHT ANTI"),
        (JoinKind::AntiNullAware, "ANTI NA", "RIGHT ANTI NA"),
        (JoinKind::Single, "OUTER", "RIGHT OUTER"),
    ] {
        for (build, options) in [(Side::Left, left_built), (Side::Right, right_built)] {
            let nulls = if kind == JoinKind::AntiNullAware { KeyNulls::Unknown } else { KeyNulls::Never };
            let case = Case { kind, keys: vec![(0, nulls)], residual: false };
            let shown = std::cell::RefCell::new(Vec::new());
            let _ = s.run_altered(&case.text(), &|plan| {
                with_join(source_of(plan), &mut |join| {
                    filter(join, kind, build, &[0]);
                    let Source::HashJoin { keys, .. } = join else { return };
                    set_keys(&case, keys);
                });
                *shown.borrow_mut() = plan.rows();
            });
            let rows = shown.into_inner();
            let at = rows.iter().position(|row| row.operation == "HASH JOIN").unwrap();
            let line = |row: &plan::rows::PlanRow| {
                format!("{} {} {} {}", row.depth - rows[at].depth, row.operation, row.options, row.object)
            };
            let [built, probing] = tables(build);
            let expected = [
                format!("0 HASH JOIN {options} "),
                "1 JOIN FILTER CREATE :BF0003".to_owned(),
                format!("2 TABLE ACCESS FULL {built}"),
                "1 JOIN FILTER USE :BF0003".to_owned(),
                format!("2 TABLE ACCESS FULL {probing}"),
            ];
            let lines: Vec<String> = rows[at..].iter().map(line).collect();
            assert_eq!(lines, expected, "{kind:?} {build:?}");
            assert_eq!(rows[at].access, "\"L\".\"A\"=\"R\".\"A\"");
            let probed = format!("SYS_OP_BLOOM_FILTER(:BF0003,\"{probing}\".\"A\")");
            assert_eq!(rows[at + 3].filter, probed);
        }
    }
    let case = Case { kind: JoinKind::Inner, keys: vec![(0, KeyNulls::Never)], residual: true };
    let shown = std::cell::RefCell::new(Vec::new());
    s.run_altered(&case.text(), &|plan| {
        with_join(source_of(plan), &mut |join| to_merge(join, JoinKind::Inner, Some(CmpOp::Lt)));
        *shown.borrow_mut() = plan.rows();
    })
    .unwrap();
    let rows = shown.into_inner();
    let merge = rows.iter().find(|row| row.operation == "MERGE JOIN").unwrap();
    assert_eq!(merge.access, "\"L\".\"A\"=\"R\".\"A\" AND \"L\".\"V\"<\"R\".\"V\"");
    assert_eq!(rows.iter().filter(|row| row.operation == "SORT").count(), 2);
}
