//! Hash joins of whole numbers: rows a second, and instructions for each row under callgrind.
//!
//! `cargo bench -p exec --bench joins -- [PROBE ROWS] [BUILD ROWS] [ROUNDS]`

#[path = "../tests/common/mod.rs"]
mod common;

use common::{Instance, Names, Session};
use std::rc::Rc;
use std::time::Instant;

fn main() {
    let args: Vec<u64> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let of = |n: usize, default: u64| args.get(n).copied().unwrap_or(default);
    let (probe, build, rounds) = (of(0, 200_000), of(1, 10_000), of(2, 5));
    let instance = Instance::new();
    let names = Rc::new(Names::default());
    let mut s = Session::new(&instance, &names);
    s.run("create table p (id number, k number)").expect("p");
    s.run("create table b (id number, v number)").expect("b");
    for (table, rows, domain) in [("p", probe, build), ("b", build, build)] {
        let text = format!(
            "insert into {table} select level, mod(level * 7919, {domain}) + 1 from dual connect by level <= {rows}"
        );
        s.run(&text).expect("rows");
    }
    s.run("commit").expect("commit");
    let queries = [
        ("scan of the probe", "select count(k) from p where k >= 0".to_owned()),
        ("join", "select /*+ ordered use_hash(b) */ count(b.v) from p, b where b.id = p.k and p.id >= 0".to_owned()),
    ];
    for (what, text) in queries {
        let mut best = f64::MAX;
        for _ in 0..rounds {
            let begin = Instant::now();
            let rows = s.run(&text).expect("a query");
            best = best.min(begin.elapsed().as_secs_f64());
            assert_eq!(rows[0][0], types::Value::Number(probe.into()), "{what}");
        }
        println!("{what}: {:.1} ns a probe row", best * 1e9 / probe as f64);
    }
}
