//! `--parse`: what it takes to parse and plan a statement, without running it.
//!
//! A hard parse is of a text that no one has sent before: a comment with a number makes it so. Latchwork describes it,
//! PostgreSQL and DuckDB explain it, SQLite prepares it. Times are of the processor of the process that parses; an
//! empty round trip is taken off where the engine is reached through a socket.

use crate::engine::Engine;
use crate::median;
use crate::peer::cpu_seconds;
use std::time::Duration;

const ONE_TABLE: &str = "select l_quantity, l_extendedprice from lineitem where l_orderkey = 1 and l_linenumber = 2";
const SIX_TABLES: &str = "select n_name, sum(l_extendedprice * (1 - l_discount)) revenue from customer, orders, \
     lineitem, supplier, nation, region where c_custkey = o_custkey and l_orderkey = o_orderkey and \
     l_suppkey = s_suppkey and c_nationkey = s_nationkey and s_nationkey = n_nationkey and \
     n_regionkey = r_regionkey and r_name = 'ASIA' and o_orderdate >= date '1994-01-01' and \
     o_orderdate < date '1995-01-01' group by n_name order by revenue desc";

/// What is parsed, whether the text is new each time, and the goal in microseconds.
const KINDS: [(&str, &str, bool, f64); 4] = [
    ("soft parse, one table", ONE_TABLE, false, 5.0),
    ("hard parse, one table", ONE_TABLE, true, 60.0),
    ("soft parse, six tables", SIX_TABLES, false, 5.0),
    ("hard parse, six tables", SIX_TABLES, true, 2000.0),
];
/// Parses of one sample.
const PARSES: usize = 200;
const LONG: Duration = Duration::from_secs(60);

struct Texts(u64);

impl Texts {
    fn next(&mut self, sql: &str, is_new: bool) -> String {
        if !is_new {
            return sql.to_string();
        }
        self.0 += 1;
        format!("select /* {} */{}", self.0, &sql["select".len()..])
    }
}

/// Prints medians of microseconds of the processor, and what misses its goal.
pub fn run(engines: &mut [Box<dyn Engine>], rounds: usize) {
    println!("\nparsing, microseconds of the processor, medians of {rounds} rounds of {PARSES}\n");
    print!("{:<26}", "");
    engines.iter().for_each(|e| print!("{:>13}", e.name()));
    println!("{:>9}", "goal");
    let mut texts = Texts(0);
    for (what, sql, is_new, goal) in KINDS {
        let mut samples = vec![Vec::new(); engines.len()];
        for _ in 0..rounds + 1 {
            for (engine, samples) in engines.iter_mut().zip(&mut samples) {
                if !is_new && !engine.keeps_plans() {
                    continue;
                }
                let of = engine.process().map_or("thread-self".to_string(), |pid| pid.to_string());
                let before = cpu_seconds(&of);
                (0..PARSES).for_each(|_| engine.round_trip());
                let between = cpu_seconds(&of);
                let counted = engine.hard_parses();
                let start = cpu_seconds(&of);
                for _ in 0..PARSES {
                    let text = texts.next(sql, is_new);
                    engine.parse(&text, LONG).unwrap_or_else(|e| panic!("{}: {e:?}\n{text}", engine.name()));
                }
                let parsed = cpu_seconds(&of) - start;
                if let (Some(before), Some(after)) = (counted, engine.hard_parses()) {
                    // The statement that counts is itself parsed once.
                    let hard = after - before;
                    let wanted = if is_new { PARSES as u64 } else { 0 };
                    assert!(hard >= wanted && hard <= wanted + 3, "{what}: {hard} hard parses of {PARSES}");
                }
                samples.push((parsed - (between - before)) / PARSES as f64 * 1e6);
            }
        }
        print!("{what:<26}");
        for (engine, samples) in engines.iter().zip(&mut samples) {
            if samples.is_empty() {
                print!("{:>13}", "-");
                continue;
            }
            // The first warms up.
            samples.remove(0);
            let middle = median(samples);
            let missed = if engine.name() == "Latchwork" && middle > goal { "*" } else { "" };
            print!("{:>13}", format!("{middle:.1}{missed}"));
        }
        println!("{goal:>9.0}");
    }
    println!("\n* misses the goal");
}
