//! Batches compared with registers on a table like TPC-H's LINEITEM, alternately in one process: CPU time of a thread.
//!
//! `cargo bench -p exec --bench batches [-- rows [words of a query's name]]`; the default is 600,000 rows.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{Instance, Names, Session};
use std::rc::Rc;

const COLUMNS: &str = "l_orderkey number(10), l_partkey number(10), l_suppkey number(10), l_linenumber number(2), \
    l_quantity number(15,2), l_extendedprice number(15,2), l_discount number(15,2), l_tax number(15,2), \
    l_returnflag char(1), l_linestatus char(1), l_shipdate date, l_commitdate date, l_receiptdate date, \
    l_shipinstruct char(25), l_shipmode char(10), l_comment varchar2(44)";

/// Row `n`, computed from its number alone.
const ROW: &str = "trunc(n / 4) + 1, mod(n * 7919, 20000) + 1, mod(n * 31, 1000) + 1, mod(n, 4) + 1, mod(n * 37, 50) + 1, \
    (mod(n * 104729, 9500000) + 90000) / 100, mod(n * 7, 11) / 100, mod(n * 5, 9) / 100, \
    substr('RAN', mod(n * 13, 3) + 1, 1), substr('OF', mod(n * 11, 2) + 1, 1), \
    date '1992-01-02' + mod(n * 911, 2526), date '1992-01-31' + mod(n * 577, 2466), date '1992-01-04' + mod(n * 911, 2554), \
    'DELIVER IN PERSON', decode(mod(n, 7), 0, 'MAIL', 1, 'SHIP', 2, 'AIR', 3, 'RAIL', 4, 'TRUCK', 5, 'FOB', 'REG AIR'), \
    'comment ' || mod(n * 17, 1000) || decode(mod(n, 40), 0, ' special requests', ' of nobody')";

const QUERIES: [(&str, &str); 10] = [
    ("count", "select count(*) from lineitem where l_comment is not null"),
    (
        "filter and sum (Q6)",
        "select sum(l_extendedprice * l_discount) from lineitem where l_shipdate >= date '1994-01-01' and \
         l_shipdate < date '1995-01-01' and l_discount between 0.05 and 0.07 and l_quantity < 24",
    ),
    (
        "two keys, eight aggregates (Q1)",
        "select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), \
         sum(l_extendedprice * (1 - l_discount)), sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), \
         avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*) from lineitem \
         where l_shipdate <= date '1998-09-02' group by l_returnflag, l_linestatus order by 1, 2",
    ),
    ("plain sum", "select sum(l_quantity), count(*) from lineitem where l_orderkey > 1000"),
    ("sum of whole numbers", "select sum(l_orderkey), count(*) from lineitem where l_linenumber > 1"),
    (
        "many groups",
        "select count(*), max(q) from (select l_orderkey, sum(l_quantity) q from lineitem group by l_orderkey)",
    ),
    ("distinct", "select count(*) from (select distinct l_partkey, l_suppkey from lineitem)"),
    (
        "case and in (Q12)",
        "select l_shipmode, sum(case when l_comment like '%special%requests%' then 1 else 0 end), count(distinct l_suppkey) \
         from lineitem where l_shipmode in ('MAIL', 'SHIP') and l_commitdate < l_receiptdate group by l_shipmode",
    ),
    (
        "first ten",
        "select * from (select l_orderkey, l_extendedprice from lineitem order by l_extendedprice desc, l_orderkey) where rownum <= 10",
    ),
    (
        "sort",
        "select count(*) from (select l_extendedprice, l_comment, rownum r from (select * from lineitem order by l_extendedprice, l_comment))",
    ),
];

fn time(s: &mut Session<'_>, batches: bool, query: &str) -> (f64, String) {
    s.state.options.batches = batches;
    let start = os::clock::thread_cpu_ns();
    let rows = s.text(query);
    ((os::clock::thread_cpu_ns() - start) as f64 / 1e6, rows)
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let rows: u64 = args.first().and_then(|n| n.parse().ok()).unwrap_or(600_000);
    let wanted = args.get(1).map_or("", String::as_str);
    let instance = Instance::with_blocks(rows as usize / 40 + 4000);
    let names = Rc::new(Names::default());
    let mut s = Session::new(&instance, &names);
    s.run(&format!("create table lineitem ({COLUMNS})")).expect("a table");
    let mut done = 0;
    while done < rows {
        let some = (rows - done).min(50_000);
        let text = format!(
            "insert into lineitem select {ROW} from (select level - 1 + {done} n from dual connect by level <= {some})"
        );
        s.run(&text).expect("rows");
        s.run("commit").expect("a commit");
        done += some;
    }
    println!(
        "{rows} rows; CPU milliseconds, medians of five, in turn\n{:34}{:>10}{:>10}{:>8}",
        "", "registers", "batches", "ratio"
    );
    for (name, query) in QUERIES.iter().filter(|(name, _)| name.contains(wanted)) {
        let mut times = [Vec::new(), Vec::new()];
        let mut answers = Vec::new();
        for _ in 0..5 {
            for (way, batches) in [false, true].into_iter().enumerate() {
                let (ms, answer) = time(&mut s, batches, query);
                times[way].push(ms);
                answers.push(answer);
            }
        }
        assert!(answers.iter().all(|a| *a == answers[0]), "{name}: {answers:?}");
        let (registers, batches) = (median(&mut times[0]), median(&mut times[1]));
        println!("{name:34}{registers:10.2}{batches:10.2}{:8.3}", batches / registers);
    }
}
