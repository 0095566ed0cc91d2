//! Answers of sessions: a query returns the same rows with any plan, and a session gets an error when its state is
//! lost.
//!
//! Random queries over three tables are run unchanged and in equivalent forms: over tables with indexes, over tables
//! with statistics, through mergeable and unmergeable views, under hints, with the WHERE condition split into its three
//! truth values, and during a transaction of another session that is rolled back. All forms must return the same rows.
//!
//! `LATCHWORK_ANSWERS=n` runs n queries, and `LATCHWORK_SEED` selects others. A failure prints both forms.

use client::{Client, Credentials, Ephemeral, EphemeralOptions};
use std::fmt::Write;
use testing::Random;
use types::{Nls, Value};

/// Number of queries of the short form.
const QUERIES: u64 = 150;

/// Families of comparable columns.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Number,
    Text,
    Char,
    Date,
}

const COLUMNS: [(&str, Kind); 7] = [
    ("id", Kind::Number),
    ("n", Kind::Number),
    ("m", Kind::Number),
    ("s", Kind::Text),
    ("c", Kind::Char),
    ("v", Kind::Text),
    ("d", Kind::Date),
];

/// The tables of a query: the replacements for `@a`, `@b` and `@c`.
const SOURCES: [(&str, &str); 7] = [
    ("plain", "p_$"),
    ("indexed", "i_$"),
    ("with statistics", "s_$"),
    ("views", "w_$"),
    ("inline views", "(select * from i_$)"),
    ("views of their own", "(select /*+ no_merge */ * from s_$)"),
    ("index-organized", "o_$"),
];

const HINTS: [&str; 16] = [
    "full(a) full(b) full(c)",
    "index(a) index(b) index(c)",
    "index_desc(a) index_desc(b)",
    "use_hash(a b c)",
    "use_nl(a b c)",
    "use_merge(a b c)",
    "leading(b a)",
    "leading(c a b)",
    "leading(c b a)",
    "ordered",
    "ordered use_nl(a b c)",
    "first_rows(1)",
    "all_rows",
    "no_merge(a) no_merge(b)",
    "use_hash(b) use_nl(c)",
    "rule",
];

struct Maker {
    r: Random,
    aliases: Vec<&'static str>,
    depth: u32,
}

impl Maker {
    fn column(&mut self, kind: Option<Kind>) -> (String, Kind) {
        let alias = self.aliases[self.r.below(self.aliases.len() as u64) as usize];
        self.column_of(alias, kind)
    }

    fn column_of(&mut self, alias: &str, kind: Option<Kind>) -> (String, Kind) {
        let fit: Vec<_> = COLUMNS.iter().filter(|(_, k)| kind.is_none_or(|kind| kind == *k)).collect();
        let (name, kind) = fit[self.r.below(fit.len() as u64) as usize];
        (format!("{alias}.{name}"), *kind)
    }

    fn constant(&mut self, kind: Kind) -> String {
        if self.r.one_in(12) {
            return "null".into();
        }
        match kind {
            Kind::Number => self.r.of(&["0", "1", "2", "3", "-1", "1.5", "7", "'2'", "12"]).into(),
            Kind::Text => self.r.of(&["'a'", "'b'", "'b '", "'ab'", "'1'", "''", "'zz'"]).into(),
            Kind::Char => self.r.of(&["'a'", "'b'", "'b '", "'ab '", "'1'", "'zz'"]).into(),
            Kind::Date => format!("date '2024-01-0{}'", 1 + self.r.below(6)),
        }
    }

    /// A value of a kind: a column, a constant or an expression of them.
    fn value(&mut self, kind: Kind) -> String {
        match self.r.below(8) {
            0 => self.constant(kind),
            1 if kind == Kind::Number => {
                let (a, b) = (self.column(Some(kind)).0, self.constant(Kind::Number));
                format!("({a} {} {b})", self.r.of(&["+", "-", "*"]))
            }
            2 if kind != Kind::Char => {
                let (a, b) = (self.column(Some(kind)).0, self.constant(kind));
                format!("nvl({a}, {b})")
            }
            3 if kind == Kind::Number => {
                let (a, b, c) = (self.column(Some(kind)).0, self.constant(kind), self.column(Some(kind)).0);
                format!("decode({a}, {b}, 1, {c}, 2, 3)")
            }
            4 if kind == Kind::Text => format!("upper({})", self.column(Some(kind)).0),
            4 if kind == Kind::Number => format!("mod({}, 3)", self.column(Some(kind)).0),
            4 if kind == Kind::Date => format!("trunc({}, 'MM')", self.column(Some(kind)).0),
            5 => {
                let when = self.simple_condition();
                let (a, b) = (self.column(Some(kind)).0, self.column(Some(kind)).0);
                format!("case when {when} then {a} else {b} end")
            }
            _ => self.column(Some(kind)).0,
        }
    }

    fn simple_condition(&mut self) -> String {
        let (column, kind) = self.column(None);
        match self.r.below(9) {
            0 => format!("{column} is null"),
            1 => format!("{column} is not null"),
            2 => {
                let list: Vec<String> = (0..1 + self.r.below(4)).map(|_| self.constant(kind)).collect();
                format!("{column} {}in ({})", self.r.of(&["", "not "]), list.join(", "))
            }
            3 => format!("{column} between {} and {}", self.constant(kind), self.constant(kind)),
            4 if matches!(kind, Kind::Text | Kind::Char) => {
                format!(
                    "{column} {}like {}",
                    self.r.of(&["", "not "]),
                    self.r.of(&["'a%'", "'%b'", "'_b%'", "'%'", "'b'"])
                )
            }
            5 => {
                let other = self.column(Some(kind)).0;
                format!("{column} {} {other}", self.r.of(&["=", "<>", "<", ">="]))
            }
            _ => format!("{column} {} {}", self.r.of(&["=", "<>", "<", ">", "<=", ">="]), self.constant(kind)),
        }
    }

    fn condition(&mut self) -> String {
        match self.r.below(12) {
            0 => format!("({} and {})", self.condition(), self.condition()),
            1 => format!("({} or {})", self.condition(), self.condition()),
            2 => format!("not ({})", self.condition()),
            3 | 4 if self.depth == 0 => self.subquery_condition(),
            5 => {
                let kind = [Kind::Number, Kind::Text, Kind::Date][self.r.below(3) as usize];
                let (a, b) = (self.value(kind), self.value(kind));
                format!("{a} {} {b}", self.r.of(&["=", "<>", "<", ">="]))
            }
            _ => self.simple_condition(),
        }
    }

    fn subquery_condition(&mut self) -> String {
        self.depth += 1;
        let (outer, kind) = self.column(None);
        let table = self.r.of(&["@a", "@b", "@c"]);
        let inner = self.column_of("q", Some(kind)).0;
        let before = self.aliases.clone();
        if self.r.one_in(2) {
            self.aliases.push("q");
        } else {
            self.aliases = vec!["q"];
        }
        let filter = self.condition();
        self.aliases = before;
        let correlated = format!("q.n = {}", self.column(Some(Kind::Number)).0);
        let text = match self.r.below(6) {
            0 => format!("exists (select null from {table} q where {correlated} and {filter})"),
            1 => format!("not exists (select null from {table} q where {correlated} and {filter})"),
            2 => format!("{outer} in (select {inner} from {table} q where {filter})"),
            3 => format!("{outer} not in (select {inner} from {table} q where {filter})"),
            4 => format!("{outer} = (select max({inner}) from {table} q where {filter})"),
            _ => format!(
                "{outer} {} (select {inner} from {table} q where {filter})",
                self.r.of(&["> any", "<= all", "= any"])
            ),
        };
        self.depth -= 1;
        text
    }

    /// FROM with its joins, and their conditions for WHERE.
    fn from(&mut self) -> (String, Option<String>) {
        let count = 1 + self.r.below(3) as usize;
        let all = ["a", "b", "c"];
        self.aliases = vec!["a"];
        let mut from = String::from("@a a");
        let mut joins = Vec::new();
        let commas = self.r.one_in(3);
        for alias in &all[1..count] {
            let kind = [Kind::Number, Kind::Number, Kind::Text, Kind::Char, Kind::Date][self.r.below(5) as usize];
            let left = self.column(Some(kind)).0;
            let right = self.column_of(alias, Some(kind)).0;
            if commas {
                write!(from, ", @{alias} {alias}").expect("a string takes every text");
                let marks = if self.r.one_in(3) { "(+)" } else { "" };
                joins.push(format!("{left} = {right}{marks}"));
            } else {
                let join = self.r.of(&["join", "left join", "left join", "right join", "full join"]);
                self.aliases.push(alias);
                let more = if self.r.one_in(2) { format!(" and {}", self.simple_condition()) } else { String::new() };
                self.aliases.pop();
                write!(from, " {join} @{alias} {alias} on {left} = {right}{more}").expect("a string takes every text");
            }
            self.aliases.push(alias);
        }
        (from, (!joins.is_empty()).then(|| joins.join(" and ")))
    }
}

/// The parts of a query, to be assembled in several ways.
struct Query {
    select: String,
    from: String,
    joins: Option<String>,
    filter: Option<String>,
    tail: String,
    /// Each row of FROM gives one row, so that the rows for the three truth values of the condition add up.
    plain: bool,
}

impl Query {
    fn new(m: &mut Maker) -> Query {
        let (from, joins) = m.from();
        let filter = (!m.r.one_in(6)).then(|| m.condition());
        let shape = m.r.below(7);
        let (a, kind) = m.column(None);
        let (b, _) = m.column(None);
        let number = m.column(Some(Kind::Number)).0;
        let (select, tail, plain) = match shape {
            0 => (format!("distinct {a} x, {b} y"), String::new(), false),
            1 => {
                let having = if m.r.one_in(2) { " having count(*) > 1" } else { "" };
                (
                    format!("{a} x, count(*) k, sum({number}) t, max({b}) y, count(distinct {number}) e"),
                    format!(" group by {a}{having}"),
                    false,
                )
            }
            2 => (
                format!("{a} x, {b} y, grouping({a}) g, count({number}) k"),
                format!(" group by {}({a}, {b})", m.r.of(&["rollup", "cube"])),
                false,
            ),
            3 => (format!("count(*) k, min({a}) x, sum({number}) t"), String::new(), false),
            4 => (
                format!("{a} x, count(*) over (partition by {b}) k, sum({number}) over (order by {a}, {b}) t"),
                String::new(),
                false,
            ),
            5 => {
                let value = m.value(kind);
                (format!("{a} x, {value} y, (select count(*) from @b q where q.n = {number}) k"), String::new(), true)
            }
            _ => {
                let list: Vec<String> = m.aliases.clone().iter().map(|x| format!("{x}.id i{x}, {x}.s s{x}")).collect();
                (format!("{}, {a} x", list.join(", ")), String::new(), true)
            }
        };
        Query { select, from, joins, filter, tail, plain }
    }

    /// The text over tables from `source`, under `hint`, with `filter` as an additional condition.
    fn text(&self, source: &str, hint: &str, filter: Option<&str>) -> String {
        let mut text = String::from("select ");
        if !hint.is_empty() {
            write!(text, "/*+ {hint} */ ").expect("a string takes every text");
        }
        write!(text, "{} from {}", self.select, self.from).expect("a string takes every text");
        let conditions: Vec<&str> = self.joins.as_deref().into_iter().chain(filter).collect();
        if !conditions.is_empty() {
            write!(text, " where {}", conditions.join(" and ")).expect("a string takes every text");
        }
        text.push_str(&self.tail);
        for table in ["a", "b", "c"] {
            text = text.replace(&format!("@{table}"), &source.replace('$', table));
        }
        text
    }
}

fn rows(client: &mut Client, sql: &str) -> Result<Vec<String>, String> {
    let nls = Nls::default();
    let mut out = Vec::new();
    let mut query = client.query(sql, &[]).map_err(|e| e.to_string())?;
    while let Some(row) = query.next_row().map_err(|e| e.to_string())? {
        let shown = |v: &Value| v.to_text(&nls).expect("a value has a text").map_or("NULL".into(), |t| t.into_owned());
        out.push(row.iter().map(shown).collect::<Vec<_>>().join("|"));
    }
    out.sort();
    Ok(out)
}

fn run(client: &mut Client, sql: &str) {
    client.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
}

fn tables(client: &mut Client, r: &mut Random) {
    let columns = "id number, n number, m number(6,2), s varchar2(5), c char(3), v varchar2(10), d date";
    for table in ["a", "b", "c"] {
        run(client, &format!("create table p_{table} ({columns})"));
        for n in 1..=25 {
            let mut or_null = |text: String| if r.one_in(5) { "null".into() } else { text };
            let (x, y) = (or_null("7".into()), or_null("1".into()));
            let number = if x == "null" { x } else { r.below(6).to_string() };
            let decimal = if y == "null" { y } else { format!("{}.{}", r.below(4), r.of(&["00", "50", "25"])) };
            let s = r.of(&["'a'", "'b'", "'b '", "'ab'", "null", "'zz'", "'1'"]);
            let c = r.of(&["'a'", "'b'", "'ab'", "null", "'1'"]);
            let v = r.of(&["'a'", "'1'", "'b '", "null", "'xyz'"]);
            let d = match r.below(6) {
                0 => "null".into(),
                day => format!("date '2024-01-0{day}'"),
            };
            run(client, &format!("insert into p_{table} values ({n}, {number}, {decimal}, {s}, {c}, {v}, {d})"));
        }
        for kind in ["i", "s"] {
            run(client, &format!("create table {kind}_{table} as select * from p_{table}"));
            run(client, &format!("alter table {kind}_{table} add primary key (id)"));
            for (at, key) in ["n", "s, n", "c", "d", "n, m", "v"].into_iter().enumerate() {
                run(client, &format!("create index {kind}_{table}_{at} on {kind}_{table} ({key})"));
            }
        }
        run(client, &format!("create index s_{table}_f on s_{table} (upper(s))"));
        run(client, &format!("create index s_{table}_g on s_{table} (n desc, d)"));
        run(
            client,
            &format!(
                "begin dbms_stats.gather_table_stats(user, 'S_{}', method_opt => 'for all columns size skewonly'); \
                 end;",
                table.to_uppercase()
            ),
        );
        run(client, &format!("create table o_{table} ({columns}, primary key (id)) organization index"));
        run(client, &format!("insert into o_{table} select * from p_{table}"));
        run(client, &format!("create view w_{table} as select * from i_{table}"));
    }
    client.commit().expect("the rows are committed");
}

/// Changes rows, never committed.
fn disturb(client: &mut Client) {
    for table in ["i_a", "s_a", "i_b", "p_c"] {
        run(client, &format!("update {table} set n = n + 1, s = 'q', d = d + 1"));
        run(client, &format!("delete from {table} where mod(id, 3) = 0"));
        run(client, &format!("insert into {table} (id, n, s) values (99, 2, 'b')"));
    }
}

fn of_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn forms_of_a_query_give_the_same_rows() {
    let options =
        EphemeralOptions { executable: Some(env!("CARGO_BIN_EXE_latchwork").into()), ..EphemeralOptions::default() };
    let instance = Ephemeral::start_with(&options).expect("an instance starts");
    let mut admin = instance.connect(&Credentials::Sysdba).expect("the owner connects");
    run(&mut admin, "create user u identified by u default tablespace users quota unlimited on users");
    run(&mut admin, "grant connect, resource, create view to u");
    let connect = || instance.connect(&Credentials::password("u", "u")).expect("the user connects");
    let (mut client, mut other) = (connect(), connect());
    let seed = of_environment("LATCHWORK_SEED").unwrap_or(1);
    let queries = of_environment("LATCHWORK_ANSWERS").unwrap_or(QUERIES);
    tables(&mut client, &mut Random::new(seed));
    let (mut compared, mut found, mut wrong) = (0, 0, Vec::new());
    for n in 0..queries {
        let mut m =
            Maker { r: Random::new(seed.wrapping_mul(1_000_003).wrapping_add(n)), aliases: Vec::new(), depth: 0 };
        let query = Query::new(&mut m);
        let filter = query.filter.as_deref();
        let first = query.text(SOURCES[0].1, "", filter);
        let expected = match rows(&mut client, &first) {
            Ok(rows) => rows,
            Err(e) => {
                wrong.push(format!("query {n}: {first}\n    {e}"));
                continue;
            }
        };
        found += expected.len();
        let mut forms: Vec<(String, Vec<String>)> = Vec::new();
        for (what, source) in &SOURCES[1..] {
            forms.push(((*what).to_owned(), vec![query.text(source, "", filter)]));
        }
        for _ in 0..4 {
            let (hint, source) = (m.r.of(&HINTS), SOURCES[1 + m.r.below(6) as usize].1);
            forms.push((format!("hint {hint}"), vec![query.text(source, hint, filter)]));
        }
        let whole = query.text(SOURCES[2].1, "", filter);
        forms.push(("inline".into(), vec![format!("select * from ({whole})")]));
        forms.push((
            "WITH".into(),
            vec![format!("with w as (select /*+ materialize */ * from ({whole})) select * from w")],
        ));
        if query.plain
            && let Some(p) = filter
        {
            let source = SOURCES[1 + m.r.below(3) as usize].1;
            let by_case = format!("case when {p} then 1 else 0 end = 1");
            forms.push(("CASE".into(), vec![query.text(source, "", Some(&by_case))]));
            let truths = [
                format!("({p})"),
                format!("not ({p})"),
                format!("case when {p} then 1 when not ({p}) then 0 end is null"),
            ];
            let all = rows(&mut client, &query.text(source, "", None));
            let mut parts = Vec::new();
            for truth in &truths {
                parts.extend(rows(&mut client, &query.text(source, "", Some(truth))).unwrap_or_else(|e| vec![e]));
            }
            parts.sort();
            compared += 1;
            if all.as_ref() != Ok(&parts) {
                let text = query.text(source, "", filter);
                wrong.push(format!("query {n}: the three truths of {text}\n    {all:?}\n    {parts:?}"));
            }
        }
        let disturbed = n % 10 == 0;
        if disturbed {
            disturb(&mut other);
        }
        for (what, texts) in forms {
            for text in texts {
                compared += 1;
                let got = rows(&mut client, &text);
                if got.as_ref() != Ok(&expected) {
                    wrong.push(format!("query {n}, {what}: {text}\n    {got:?}\ninstead of {first}\n    {expected:?}"));
                }
            }
        }
        if disturbed {
            other.rollback().expect("the changes are taken back");
        }
        if wrong.len() > 20 {
            break;
        }
    }
    assert!(wrong.is_empty(), "seed {seed}: {} wrong\n{}", wrong.len(), wrong.join("\n\n"));
    println!("{queries} queries, {compared} comparisons, {found} rows");
    assert!(found as u64 > queries, "only {found} rows in {queries} queries");
}

/// The lines of an error.
fn error(client: &mut Client, sql: &str) -> String {
    client.execute(sql, &[]).map(drop).expect_err(sql).to_string()
}

#[test]
fn a_package_that_another_session_replaces_loses_its_state_with_an_error() {
    let options =
        EphemeralOptions { executable: Some(env!("CARGO_BIN_EXE_latchwork").into()), ..EphemeralOptions::default() };
    let instance = Ephemeral::start_with(&options).expect("an instance starts");
    let connect = || instance.connect(&Credentials::Sysdba).expect("the owner connects");
    let (mut a, mut b) = (connect(), connect());
    a.set_want_output(true);
    run(&mut a, "begin dbms_output.enable(null); end;");
    run(&mut b, "create package pk is n number := 1; end;");
    run(&mut a, "begin pk.n := 5; end;");
    run(&mut b, "create or replace package pk is n number := 2; m number; end;");
    let told = error(&mut a, "begin dbms_output.put_line(pk.n); end;");
    for line in ["ORA-04068", "ORA-04061", "ORA-04065", "ORA-06508"] {
        assert!(told.contains(line), "{line} in {told}");
    }
    run(&mut a, "begin dbms_output.put_line(pk.n); end;");
    assert_eq!(a.take_output(), [Some("2".to_owned())]);
    // A session's own changes raise no error, nor does a package that it has not used.
    run(&mut a, "begin pk.n := 7; end;");
    run(&mut a, "create or replace package pk is n number := 3; end;");
    run(&mut a, "begin dbms_output.put_line(pk.n); end;");
    assert_eq!(a.take_output(), [Some("3".to_owned())]);
    run(&mut b, "begin pk.n := pk.n; end;");
}
