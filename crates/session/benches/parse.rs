//! The server's part of a parse call: processor time of its thread, without a socket and without a client.
//!
//!     cargo bench -p session --bench parse [-- rounds [words of a measurement's name]]
//!
//! A measured call describes a statement and does not run it, unless its name says otherwise.
//!
//! - Hard parse: a new text each time, by a comment with a number.
//! - Soft parse: the shared cursor exists and the session keeps no cursor (`session_cached_cursors` is 0). The call
//!   searches the library cache and makes a cursor from the image.
//! - Hit: the session keeps the cursor (`session_cached_cursors` is 50).
//!
//! The cost of an empty call is printed and not subtracted. The session's statistics prove that each call was of its
//! kind. The table has the median and the minimum of the rounds.

use instance::InProcess;
use net::local::{Execute, FrameBuffer, Reply, Request};
use session::Session;
use wait::Stat;

const SCHEMA: [&str; 7] = [
    "create table region (r_regionkey number primary key, r_name varchar2(25), r_comment varchar2(152))",
    "create table nation (n_nationkey number primary key, n_name varchar2(25), n_regionkey number, \
     n_comment varchar2(152))",
    "create table supplier (s_suppkey number primary key, s_name varchar2(25), s_address varchar2(40), \
     s_nationkey number, s_phone varchar2(15), s_acctbal number(15,2), s_comment varchar2(101))",
    "create table customer (c_custkey number primary key, c_name varchar2(25), c_address varchar2(40), \
     c_nationkey number, c_phone varchar2(15), c_acctbal number(15,2), c_mktsegment varchar2(10), \
     c_comment varchar2(117))",
    "create table orders (o_orderkey number primary key, o_custkey number, o_orderstatus varchar2(1), \
     o_totalprice number(15,2), o_orderdate date, o_orderpriority varchar2(15), o_clerk varchar2(15), \
     o_shippriority number, o_comment varchar2(79))",
    "create table lineitem (l_orderkey number, l_partkey number, l_suppkey number, l_linenumber number, \
     l_quantity number(15,2), l_extendedprice number(15,2), l_discount number(15,2), l_tax number(15,2), \
     l_returnflag varchar2(1), l_linestatus varchar2(1), l_shipdate date, l_commitdate date, l_receiptdate date, \
     l_shipinstruct varchar2(25), l_shipmode varchar2(10), l_comment varchar2(44), \
     primary key (l_orderkey, l_linenumber))",
    "create table dual2 (dummy varchar2(1))",
];

const ROWS: [&str; 6] = [
    "insert into region select level, 'REGION ' || level, 'r' from dual connect by level <= 5",
    "insert into nation select level, 'NATION ' || level, mod(level, 5) + 1, 'n' from dual connect by level <= 25",
    "insert into supplier select level, 'S' || level, 'a', mod(level, 25) + 1, '1', level, 's' from dual \
     connect by level <= 100",
    "insert into customer select level, 'C' || level, 'a', mod(level, 25) + 1, '1', level, 'BUILDING', 'c' from dual \
     connect by level <= 1500",
    "insert into orders select level, mod(level * 7, 1500) + 1, 'O', level, date '1992-01-01' + mod(level, 2400), \
     '1-URGENT', 'Clerk', 0, 'o' from dual connect by level <= 3000",
    "insert into lineitem select trunc(level / 4) + 1, mod(level, 200) + 1, mod(level, 100) + 1, mod(level, 4), \
     mod(level, 50) + 1, level, 0.05, 0.02, 'N', 'O', date '1992-01-01' + mod(level, 2500), \
     date '1992-01-31' + mod(level, 2500), date '1992-02-02' + mod(level, 2500), 'NONE', 'RAIL', 'l' \
     from dual connect by level <= 12000",
];

const ONE_TABLE: &str = "select l_quantity, l_extendedprice from lineitem where l_orderkey = 1 and l_linenumber = 2";
const SIX_TABLES: &str = "select n_name, sum(l_extendedprice * (1 - l_discount)) revenue from customer, orders, \
     lineitem, supplier, nation, region where c_custkey = o_custkey and l_orderkey = o_orderkey and \
     l_suppkey = s_suppkey and c_nationkey = s_nationkey and s_nationkey = n_nationkey and \
     n_regionkey = r_regionkey and r_name = 'ASIA' and o_orderdate >= date '1994-01-01' and \
     o_orderdate < date '1995-01-01' group by n_name order by revenue desc";

/// A join of twelve tables with a chain of equalities, so that every table can be joined with every other one.
const CHAIN: &str = "select count(*) from orders t1, orders t2, orders t3, orders t4, orders t5, orders t6, orders t7, \
     orders t8, orders t9, orders t10, orders t11, orders t12 where t1.o_orderkey = t2.o_orderkey and \
     t2.o_orderkey = t3.o_orderkey and t3.o_orderkey = t4.o_orderkey and t4.o_orderkey = t5.o_orderkey \
     and t5.o_orderkey = t6.o_orderkey and t6.o_orderkey = t7.o_orderkey and t7.o_orderkey = \
     t8.o_orderkey and t8.o_orderkey = t9.o_orderkey and t9.o_orderkey = t10.o_orderkey and \
     t10.o_orderkey = t11.o_orderkey and t11.o_orderkey = t12.o_orderkey";

/// The kind of a parse call in the session's statistics.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parse {
    Hard,
    Soft,
    /// A hit of the session cursor cache.
    Hit,
    /// A call that parses nothing.
    None,
}

struct Measured {
    name: &'static str,
    sql: &'static str,
    parse: Parse,
    executes: bool,
    goal_us: Option<f64>,
}

const fn measured(
    name: &'static str,
    sql: &'static str,
    parse: Parse,
    executes: bool,
    goal_us: Option<f64>,
) -> Measured {
    Measured { name, sql, parse, executes, goal_us }
}

const ALL: [Measured; 10] = [
    measured("empty call", "", Parse::None, false, None),
    measured("hit, one table", ONE_TABLE, Parse::Hit, false, None),
    measured("soft parse, one table", ONE_TABLE, Parse::Soft, false, Some(5.0)),
    measured("hard parse, one table", ONE_TABLE, Parse::Hard, false, Some(60.0)),
    measured("hit, one table, with its execution", ONE_TABLE, Parse::Hit, true, None),
    measured("soft parse, one table, with its execution", ONE_TABLE, Parse::Soft, true, None),
    measured("hit, six tables", SIX_TABLES, Parse::Hit, false, None),
    measured("soft parse, six tables", SIX_TABLES, Parse::Soft, false, Some(5.0)),
    measured("hard parse, six tables", SIX_TABLES, Parse::Hard, false, Some(2000.0)),
    measured("hard parse, chain of twelve tables", CHAIN, Parse::Hard, false, Some(200_000.0)),
];

impl Measured {
    /// The number of calls in a round.
    fn calls(&self) -> usize {
        if self.sql == CHAIN { 2 } else { 200 }
    }
}

fn answer(session: &mut Session, request: &Request, out: &mut Vec<u8>) {
    out.clear();
    let _ = session.call(request, out);
}

/// # Panics
/// When the answer is an error.
fn check(out: &[u8]) {
    let mut frames = FrameBuffer::new(usize::MAX);
    frames.extend(out);
    while let Some(frame) = frames.next_frame().expect("a frame") {
        if let Reply::Error(failure) = Reply::decode(frame).expect("a reply") {
            panic!("{}", failure.text);
        }
    }
}

fn request(m: &Measured, number: u64) -> Request {
    let sql = match m.parse {
        Parse::None => return Request::CloseCursor { cursor: u32::MAX },
        Parse::Hard => format!("select /* {number} */{}", &m.sql["select".len()..]),
        Parse::Soft | Parse::Hit => m.sql.to_string(),
    };
    if !m.executes {
        return Request::Describe { sql };
    }
    let (binds, tables) = (Vec::new(), Vec::new());
    Request::Execute(Box::new(Execute { sql, binds, prefetch: 10, want_output: false, tables }))
}

/// Runs a round; returns the microseconds of one call.
///
/// # Panics
/// When a call fails, or is not of the measured kind.
fn round(session: &mut Session, m: &Measured, number: &mut u64) -> f64 {
    let requests: Vec<Request> = (0..m.calls())
        .map(|_| {
            *number += 1;
            request(m, *number)
        })
        .collect();
    let counts = |session: &Session| {
        let stats = session.process().stats();
        [Stat::ParseCountHard, Stat::SessionCursorCacheHits, Stat::ParseCountTotal].map(|stat| stats.get(stat))
    };
    let mut out = Vec::new();
    let before = counts(session);
    let began = os::clock::thread_cpu_ns();
    for request in &requests {
        answer(session, request, &mut out);
    }
    let took = os::clock::thread_cpu_ns() - began;
    check(&out);
    let after = counts(session);
    let [hard, hits, all] = std::array::from_fn(|n| after[n] - before[n]);
    let calls = m.calls() as u64;
    let expected = match m.parse {
        Parse::Hard => [calls, 0, calls],
        Parse::Soft => [0, 0, calls],
        Parse::Hit => [0, calls, calls],
        Parse::None => [0, 0, 0],
    };
    assert_eq!([hard, hits, all], expected, "hard parses, hits, parse calls of {}", m.name);
    took as f64 / m.calls() as f64 / 1000.0
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let rounds = arguments.first().and_then(|a| a.parse().ok()).unwrap_or(20usize);
    let words = arguments.get(1..).unwrap_or_default().join(" ");
    let home = InProcess::start(&[("db_cache_size", "64M"), ("shared_pool_size", "64M")]).expect("an instance");
    let mut session = Session::in_process(home.instance()).expect("a session");
    for sql in SCHEMA.iter().chain(&ROWS) {
        session.run(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    session.run("commit").expect("commits");
    for table in ["region", "nation", "supplier", "customer", "orders", "lineitem"] {
        let gather = format!("begin dbms_stats.gather_table_stats(user, '{table}'); end;");
        session.run(&gather).unwrap_or_else(|e| panic!("{gather}: {e}"));
    }
    let mut number = 0;
    let mut out = Vec::new();
    println!("microseconds of the processor, {rounds} rounds\n");
    println!("{:<44}{:>10}{:>10}{:>8}", "", "median", "least", "goal");
    for m in ALL.iter().filter(|m| m.name.contains(&words)) {
        let kept = if m.parse == Parse::Hit { 50 } else { 0 };
        session.run(&format!("alter session set session_cached_cursors = {kept}")).expect("sets it");
        for _ in 0..4 {
            number += 1;
            answer(&mut session, &request(m, number), &mut out);
            check(&out);
        }
        let mut times: Vec<f64> = (0..rounds).map(|_| round(&mut session, m, &mut number)).collect();
        times.sort_by(f64::total_cmp);
        let (median, least) = (times[times.len() / 2], times[0]);
        let goal =
            m.goal_us.map_or(String::new(), |goal| format!("{goal:.0}{}", if median > goal { "*" } else { " " }));
        println!("{:<44}{median:>10.2}{least:>10.2}{goal:>8}", m.name);
    }
    println!("\n* misses the goal");
    session.end();
    home.instance().close().expect("closes");
}
