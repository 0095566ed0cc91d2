//! Generated joins: with any plan the rows equal those of a naive interpreter.
//!
//! Queries over 1 to 10 row sources with inner, outer (ANSI and `(+)`), full and cross joins, inline, named and WITH
//! views, correlated EXISTS, IN, ANY, ALL and scalar subqueries, GROUP BY, DISTINCT, set operators, ORDER BY and FETCH
//! FIRST, joined by equalities, inequalities and bands, over small and empty tables with NULLs, duplicates, CHAR, short
//! and long VARCHAR2, NUMBER, BINARY_DOUBLE, DATE and TIMESTAMP columns, with and without indexes and statistics. Each
//! is run unchanged and under random settings: hints in every query block, rewrites switched off, small work areas,
//! parallel servers. `reference` computes the same rows from the tree by nested loops. At its end the test prints the
//! numbers of queries, settings, rows, plans and kinds of row sources.
//!
//! The long form: `LATCHWORK_JOINS=2000 LATCHWORK_JOIN_SETTINGS=10 LATCHWORK_SEED=1 cargo test --release -p latchwork
//! --test joins`. `LATCHWORK_JOIN_FROM` begins at another query of the seed, `LATCHWORK_JOIN_SHOW` prints every
//! statement. A failure prints the number of its query, the statement reduced as far as possible, the rows of its
//! tables and the difference of the answers.

#[path = "joins/generate.rs"]
mod generate;
#[path = "joins/reference.rs"]
mod reference;
#[path = "joins/shrink.rs"]
mod shrink;
mod support;
#[path = "joins/tree.rs"]
mod tree;

use client::Client;
use generate::{Generator, TABLES, World, world};
use plan::Rewrite;
use reference::{Reference, Row, ordered};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::time::Duration;
use testing::Random;
use tree::{Datum, INFINITY, NAN, ONE, Printer, Query, Statement};
use types::Value;

/// Numbers of queries and settings of the short form.
const QUERIES: usize = 150;
const SETTINGS: usize = 4;
/// Queries between two sets of tables.
const QUERIES_OF_A_WORLD: usize = 50;
/// Conditions that the reference evaluates before it skips a query as too long.
const STEPS: u64 = 150_000;
const ROWS_MAX: usize = 3_000;
/// Row sources that must occur in the plans of a complete short form.
const JOINS: &[&str] = &[
    "HASH JOIN",
    "HASH JOIN OUTER",
    "HASH JOIN SEMI",
    "HASH JOIN ANTI",
    "MERGE JOIN",
    "MERGE JOIN OUTER",
    "NESTED LOOPS",
    "NESTED LOOPS OUTER",
    "NESTED LOOPS SEMI",
    "NESTED LOOPS ANTI",
];
/// Time limit of a statement under a setting: a hint may request a product of many row sources.
const LIMIT: Duration = Duration::from_secs(20);
const BROKEN: u32 = 1013;
/// 31 December 2023, in days after 1 January 1970.
const LAST_OF_2023: i64 = 19_722;

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

/// The settings for planning and running a statement.
#[derive(Clone, Debug)]
struct Setting {
    /// Seed of the hints; `None` for no hints.
    hints: Option<u64>,
    off: Vec<&'static str>,
    /// Bytes of a work area; `None` for the size by the target.
    area: Option<u64>,
    optimizer_mode: &'static str,
}

impl Setting {
    const PLAIN: Setting = Setting { hints: None, off: Vec::new(), area: None, optimizer_mode: "all_rows" };

    fn random(r: &mut Random) -> Setting {
        let mut off: Vec<&'static str> = Vec::new();
        if r.percent(70) {
            let share = r.of(&[15, 40, 100]);
            off = Rewrite::ALL.iter().filter(|_| r.percent(share)).map(|(_, name)| *name).collect();
        }
        Setting {
            hints: r.percent(85).then(|| r.next()),
            off,
            area: r.percent(20).then_some(0),
            optimizer_mode: r.of(&["all_rows", "all_rows", "first_rows_1", "first_rows_10"]),
        }
    }

    fn statements(&self) -> Vec<String> {
        let mut all = vec![format!("alter session set optimizer_mode = {}", self.optimizer_mode)];
        all.push(format!("alter session set \"_rewrite_off\" = '{}'", self.off.join(",")));
        match self.area {
            Some(bytes) => {
                all.push("alter session set workarea_size_policy = manual".to_string());
                all.push(format!("alter session set sort_area_size = {bytes}"));
                all.push(format!("alter session set hash_area_size = {bytes}"));
            }
            None => all.push("alter session set workarea_size_policy = auto".to_string()),
        }
        all
    }
}

/// A hint for a query block with these row sources.
fn hint(r: &mut Random, aliases: &[usize]) -> String {
    if aliases.is_empty() || r.percent(30) {
        return String::new();
    }
    let one = |r: &mut Random| format!("a{}", r.of(aliases));
    let some = |r: &mut Random, most: usize| {
        let mut left = aliases.to_vec();
        let count = (1 + r.below(most)).min(left.len());
        let taken: Vec<String> = (0..count).map(|_| format!("a{}", left.swap_remove(r.below(left.len())))).collect();
        taken.join(" ")
    };
    let mut all = Vec::new();
    for _ in 0..1 + r.below(3) {
        all.push(match r.below(29) {
            0..=2 => format!("leading({})", some(r, 3)),
            // A product of many row sources would take too long.
            3 if aliases.len() < 5 => "ordered".to_string(),
            4 | 5 => format!("use_hash({})", some(r, 4)),
            6 | 7 => format!("use_nl({})", some(r, 4)),
            8 | 9 => format!("use_merge({})", some(r, 4)),
            10 => format!("full({})", one(r)),
            11 => format!("index({})", one(r)),
            12 => format!("no_index({})", one(r)),
            13 => format!("swap_join_inputs({})", one(r)),
            14 => format!("no_swap_join_inputs({})", one(r)),
            15 => r.of(&["no_unnest", "unnest"]).to_string(),
            16 => r.of(&["no_merge", "merge"]).to_string(),
            17 => format!("{}({})", r.of(&["no_merge", "merge", "push_pred", "no_push_pred"]), one(r)),
            18 => r.of(&["hash_sj", "nl_sj", "merge_sj", "hash_aj", "nl_aj", "merge_aj"]).to_string(),
            19 => r.of(&["use_concat", "no_expand"]).to_string(),
            20 => "no_query_transformation".to_string(),
            21 => r.of(&["use_hash_aggregation", "no_use_hash_aggregation"]).to_string(),
            22 => format!("{}({})", r.of(&["index_ffs", "index_ss", "index_join", "no_index_ffs"]), one(r)),
            23 => format!("cardinality({} {})", one(r), r.of(&[1, 1000, 1_000_000])),
            24 => format!("parallel({})", r.of(&["2", "4"])),
            25 => format!("parallel({} {})", one(r), r.of(&[2, 3])),
            26 => format!("{}({})", r.of(&["index_desc", "index_asc", "no_parallel"]), one(r)),
            27 => format!("{}({})", r.of(&["no_use_hash", "no_use_nl", "no_use_merge"]), some(r, 3)),
            _ => r.of(&["materialize", "inline", "push_subq", "no_push_subq", "no_eliminate_join"]).to_string(),
        });
    }
    format!("/*+ {} */ ", all.join(" "))
}

/// The outcome of a statement in the engine.
enum Came {
    Rows(Vec<Row>),
    Late,
    Error(String),
}

struct Harness {
    session: Client,
    world: World,
    seen: Seen,
}

/// Totals of a run.
#[derive(Default)]
struct Seen {
    executions: usize,
    rows: usize,
    /// Statements that were cancelled because a setting made them too slow.
    late: usize,
    cursors: usize,
    plans: BTreeSet<String>,
    /// Row sources of the plans.
    sources: BTreeMap<String, usize>,
}

impl Harness {
    /// Makes new tables; the shared pool is emptied for them.
    fn turn(&mut self, r: &mut Random) {
        self.look();
        support::run(&mut self.session, "alter system flush shared_pool");
        for table in 0..self.world.tables.len() {
            support::run(&mut self.session, &format!("drop table t{table} purge"));
        }
        self.world = world(r);
        for statement in &self.world.statements {
            support::run(&mut self.session, statement);
        }
    }

    /// Counts the plans in the shared pool.
    fn look(&mut self) {
        // Columns of the workload's queries are named x1, x2 and so on.
        let cursors = "select sql_id, to_char(plan_hash_value) from v$sql \
                       where sql_text like '% x1%' and sql_text not like '%v$sql%'";
        let mut own = BTreeSet::new();
        for row in support::words(&mut self.session, cursors) {
            let [id, plan] = <[String; 2]>::try_from(row).expect("two columns");
            self.seen.cursors += 1;
            self.seen.plans.insert(plan);
            own.insert(id);
        }
        let sources = "select sql_id, trim(operation || ' ' || options) from v$sql_plan";
        for row in support::words(&mut self.session, sources) {
            let [id, name] = <[String; 2]>::try_from(row).expect("two columns");
            if own.contains(&id) {
                *self.seen.sources.entry(name).or_default() += 1;
            }
        }
    }

    fn text(statement: &Statement, setting: &Setting) -> (Vec<String>, String) {
        let mut r = Random::new(setting.hints.unwrap_or(0));
        let mut hints = |aliases: &[usize]| match setting.hints {
            Some(_) => hint(&mut r, aliases),
            None => String::new(),
        };
        let mut printer = Printer::new(&mut hints);
        let text = printer.statement(statement);
        (printer.views, text)
    }

    fn answer(&mut self, statement: &Statement, setting: &Setting) -> Came {
        let (views, text) = Harness::text(statement, setting);
        for sql in setting.statements().iter().chain(&views) {
            if let Err(e) = self.session.execute(sql, &[]) {
                return Came::Error(format!("{sql}: {e}"));
            }
        }
        let breaker = self.session.break_handle();
        let (done, ended) = std::sync::mpsc::channel::<()>();
        let watch = std::thread::spawn(move || {
            if ended.recv_timeout(LIMIT) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                let _ = breaker.send();
            }
        });
        let result = self.session.query(&text, &[]).and_then(|q| q.all());
        drop(done);
        watch.join().expect("no panic");
        self.seen.executions += 1;
        match result {
            Ok(rows) => Came::Rows(rows.iter().map(|row| row.iter().map(datum).collect()).collect()),
            Err(e) if e.code() == BROKEN => Came::Late,
            Err(e) => Came::Error(e.to_string()),
        }
    }

    /// The fault of an answer, if any.
    fn fault(&mut self, statement: &Statement, setting: &Setting, expected: &[Row]) -> Option<String> {
        let rows = match self.answer(statement, setting) {
            Came::Rows(rows) => rows,
            Came::Late => {
                self.seen.late += 1;
                return None;
            }
            Came::Error(e) => return Some(e),
        };
        self.seen.rows += rows.len();
        if let Some(pair) = rows.windows(2).find(|pair| ordered(&pair[0], &pair[1], &statement.order).is_gt()) {
            return Some(format!("rows are not ordered: {pair:?}"));
        }
        let sorted = |rows: &[Row]| {
            let mut rows: Vec<Row> = rows.iter().map(|row| row.iter().map(plain).collect()).collect();
            rows.sort();
            rows
        };
        let (mut theirs, mut ours) = (sorted(expected), sorted(&rows));
        if ours == theirs {
            return None;
        }
        // Rows that only one of the answers has.
        let all = ours.clone();
        for row in &all {
            if let Some(at) = theirs.iter().position(|other| other == row) {
                theirs.remove(at);
                ours.remove(ours.iter().position(|mine| mine == row).expect("it is there"));
            }
        }
        let few = |rows: &[Row]| rows.iter().take(10).map(|row| format!("\n    {row:?}")).collect::<String>();
        Some(format!(
            "{} rows instead of {}\n  too many: {}{}\n  missing: {}{}",
            rows.len(),
            expected.len(),
            ours.len(),
            few(&ours),
            theirs.len(),
            few(&theirs)
        ))
    }

    /// The statement, its tables and the fault, reduced as far as possible.
    fn report(&mut self, seed: u64, statement: &Statement, setting: &Setting, fault: &str) -> String {
        let expected = |me: &Harness, s: &Statement| Reference::new(&me.world.tables, STEPS).statement(s).ok();
        let is_error = fault.starts_with("ORA-");
        let code = |fault: &str| fault.get(..9).map(str::to_string);
        let small = shrink::shrink(statement, 400, |smaller| {
            let Some(rows) = expected(self, smaller) else { return false };
            // The same kind of failure: another error, of a statement that is no longer valid, does not count.
            self.fault(smaller, setting, &rows)
                .is_some_and(|f| f.starts_with("ORA-") == is_error && (!is_error || code(&f) == code(fault)))
        });
        let rows = expected(self, &small).unwrap_or_default();
        let fault = self.fault(&small, setting, &rows).unwrap_or_else(|| fault.to_string());
        let (views, text) = Harness::text(&small, setting);
        let mut out = format!("-- seed {seed}, setting {setting:?}\n");
        for view in views {
            let _ = writeln!(out, "{view};");
        }
        let _ = writeln!(out, "{text};\n  {fault}");
        for table in tables(&small.query) {
            let begins = [format!("create table t{table} "), format!("insert into t{table} "), format!("on t{table} ")];
            let of_table =
                |s: &&String| begins.iter().any(|b| s.contains(b.as_str())) || s.contains(&format!("'T{table}'"));
            for statement in self.world.statements.iter().filter(of_table) {
                let _ = writeln!(out, "  {statement};");
            }
        }
        out
    }
}

/// Tables that a query reads.
fn tables(query: &Query) -> BTreeSet<usize> {
    let text = Harness::text(&Statement { query: query.clone(), order: Vec::new(), first: None }, &Setting::PLAIN);
    let all = format!("{} {}", text.0.join(" "), text.1);
    (0..TABLES).filter(|table| all.contains(&format!(" t{table} a"))).collect()
}

fn datum(value: &Value) -> Datum {
    match value {
        Value::Null => Datum::Null,
        Value::Number(n) => Datum::Number(hundredths(&n.to_string())),
        Value::Text(text) => Datum::Text(text.clone()),
        Value::Date(d) => Datum::Date(day(d.to_unix())),
        Value::Timestamp(t) => Datum::Timestamp(day(t.instant())),
        Value::Double(x) if x.is_nan() => Datum::Double(NAN),
        Value::Double(x) if x.is_infinite() => Datum::Double(if *x > 0.0 { INFINITY } else { -INFINITY }),
        Value::Double(x) => Datum::Double((x * ONE as f64).round() as i64),
        other => panic!("no value of the workload: {other:?}"),
    }
}

/// A decimal number with at most two digits behind the point.
fn hundredths(text: &str) -> i64 {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    assert!(part.len() <= 2, "more digits than the workload has: {text}");
    format!("{whole}{part:0<2}").parse().unwrap_or_else(|_| panic!("no number of the workload: {text}"))
}

/// Hundredths of days after 31 December 2023, from seconds since 1970.
fn day(seconds: i64) -> i64 {
    let hundredths = (seconds - LAST_OF_2023 * 86_400) * ONE;
    assert_eq!(hundredths % 86_400, 0, "more digits than the workload has");
    hundredths / 86_400
}

/// The value without the difference between texts of columns and of literals.
fn plain(datum: &Datum) -> Datum {
    match datum {
        Datum::Char(text) => Datum::Text(text.clone()),
        other => other.clone(),
    }
}

/// A statement that the reference can answer, and its answer.
fn draw(r: &mut Random, world: &World) -> (Statement, Vec<Row>) {
    loop {
        let statement = Generator::new(r, &world.keyed).statement();
        match Reference::new(&world.tables, STEPS).statement(&statement) {
            // Random conditions together usually select no rows.
            Ok(rows) if rows.is_empty() && !r.percent(15) => {}
            Ok(rows) if rows.len() <= ROWS_MAX => return (statement, rows),
            _ => {}
        }
    }
}

#[test]
fn every_plan_gives_the_rows_of_the_reference() {
    let (queries, settings) = (number("LATCHWORK_JOINS", QUERIES), number("LATCHWORK_JOIN_SETTINGS", SETTINGS));
    let seed = number("LATCHWORK_SEED", 14) as u64;
    // A single query of a seed can be requested.
    let from = number("LATCHWORK_JOIN_FROM", 0);
    let instance = support::start(&[]);
    let session = support::connect(&instance);
    let world = World { statements: Vec::new(), tables: Vec::new(), keyed: Vec::new() };
    let mut harness = Harness { session, world, seen: Seen::default() };
    let (mut failures, mut rows, mut empty) = (Vec::new(), 0, 0);
    let mut kinds = BTreeSet::new();
    for at in from..from + queries {
        if at == from || at.is_multiple_of(QUERIES_OF_A_WORLD) {
            harness.turn(&mut Random::new(seed ^ ((at / QUERIES_OF_A_WORLD) as u64 * 0x1234_5678_9ABC)));
        }
        let mut r = Random::new(seed.wrapping_mul(0x1_0000_0001).wrapping_add(at as u64));
        let (statement, expected) = draw(&mut r, &harness.world);
        rows += expected.len();
        empty += usize::from(expected.is_empty());
        let all = std::iter::once(Setting::PLAIN).chain((1..settings).map(|_| Setting::random(&mut r)));
        for setting in all.collect::<Vec<Setting>>() {
            kinds.insert(format!("{setting:?}"));
            if std::env::var_os("LATCHWORK_JOIN_SHOW").is_some() {
                println!("-- {at}: {} rows\n{};", expected.len(), Harness::text(&statement, &setting).1);
            }
            if let Some(fault) = harness.fault(&statement, &setting, &expected) {
                failures.push(harness.report(at as u64, &statement, &setting, &fault));
                println!("{}", failures.last().expect("just pushed"));
                break;
            }
        }
        if (at + 1 - from).is_multiple_of(QUERIES) {
            let seen = &harness.seen;
            println!("{} of {queries} queries, {} executions, {} late", at + 1 - from, seen.executions, seen.late);
        }
        assert!(failures.len() < number("LATCHWORK_JOIN_FAILURES", 5), "too many failures, given above");
    }
    harness.look();
    let seen = &harness.seen;
    println!("{queries} queries with {rows} rows, {empty} without any; {} settings", kinds.len());
    println!("{} executions gave {} rows, {} were stopped for their time", seen.executions, seen.rows, seen.late);
    println!("{} plans of {} cursors, of these row sources:", seen.plans.len(), seen.cursors);
    seen.sources.iter().for_each(|(name, count)| println!("{count:9} {name}"));
    // A single requested query has only one form of join.
    for join in JOINS.iter().filter(|_| queries >= QUERIES) {
        assert!(seen.sources.contains_key(*join), "no plan has {join}");
    }
    assert!(rows > queries, "the workload finds rows");
    assert!(failures.is_empty(), "{} of {queries} queries from {from} of seed {seed} fail", failures.len());
}
