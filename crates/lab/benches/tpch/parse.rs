//! `--parse`: the cost of parsing and planning a statement, without running it.
//!
//! A hard parse is of a text that was never sent before: a comment with a number makes it unique. A soft parse is of a
//! text whose shared cursor exists; a hit is of a cursor kept by the session. Latchwork describes a statement,
//! PostgreSQL and DuckDB explain it, SQLite prepares it.
//!
//! Two figures are given: the CPU time of the process that parses, less that of an empty round trip where the engine is
//! reached through a socket; and, in brackets, the elapsed time of the client, round trip included. The bench `parse`
//! of the crate `session` measures the server's part without a socket.

use crate::common::cpu_seconds;
use crate::engine::Engine;
use crate::median;
use std::time::{Duration, Instant};

const ONE_TABLE: &str = "select l_quantity, l_extendedprice from lineitem where l_orderkey = 1 and l_linenumber = 2";
const SIX_TABLES: &str = "select n_name, sum(l_extendedprice * (1 - l_discount)) revenue from customer, orders, \
     lineitem, supplier, nation, region where c_custkey = o_custkey and l_orderkey = o_orderkey and \
     l_suppkey = s_suppkey and c_nationkey = s_nationkey and s_nationkey = n_nationkey and \
     n_regionkey = r_regionkey and r_name = 'ASIA' and o_orderdate >= date '1994-01-01' and \
     o_orderdate < date '1995-01-01' group by n_name order by revenue desc";

/// The kind of parse.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Parse {
    Hit,
    Soft,
    Hard,
}

/// The text, the kind of parse, and the goal in microseconds of CPU time.
const KINDS: [(&str, &str, Parse, f64); 6] = [
    ("hit, one table", ONE_TABLE, Parse::Hit, 5.0),
    ("soft parse, one table", ONE_TABLE, Parse::Soft, 5.0),
    ("hard parse, one table", ONE_TABLE, Parse::Hard, 60.0),
    ("hit, six tables", SIX_TABLES, Parse::Hit, 5.0),
    ("soft parse, six tables", SIX_TABLES, Parse::Soft, 5.0),
    ("hard parse, six tables", SIX_TABLES, Parse::Hard, 2000.0),
];
/// Parses of one sample.
const PARSES: usize = 200;
const LONG: Duration = Duration::from_secs(60);

struct Texts(u64);

impl Texts {
    fn next(&mut self, sql: &str, parse: Parse) -> String {
        if parse != Parse::Hard {
            return sql.to_string();
        }
        self.0 += 1;
        format!("select /* {} */{}", self.0, &sql["select".len()..])
    }
}

/// Microseconds of a parse: CPU time, and by the clock.
type Sample = (f64, f64);

fn sample(engine: &mut dyn Engine, texts: &mut Texts, (what, sql, parse): (&str, &str, Parse)) -> Sample {
    let of = engine.process().map_or("thread-self".to_string(), |pid| pid.to_string());
    let before = cpu_seconds(&of);
    (0..PARSES).for_each(|_| engine.round_trip());
    let empty = cpu_seconds(&of) - before;
    let counted = engine.hard_parses();
    let (cpu, clock) = (cpu_seconds(&of), Instant::now());
    for _ in 0..PARSES {
        let text = texts.next(sql, parse);
        engine.parse(&text, LONG).unwrap_or_else(|e| panic!("{}: {e:?}\n{text}", engine.name()));
    }
    let (clock, cpu) = (clock.elapsed().as_secs_f64(), cpu_seconds(&of) - cpu);
    if let (Some(before), Some(after)) = (counted, engine.hard_parses()) {
        // The statement that reads the count is itself parsed once.
        let hard = after - before;
        let wanted = if parse == Parse::Hard { PARSES as u64 } else { 0 };
        assert!(hard >= wanted && hard <= wanted + 3, "{what}: {hard} hard parses of {PARSES}");
    }
    let each = |seconds: f64| seconds / PARSES as f64 * 1e6;
    (each(cpu - empty), each(clock))
}

/// Prints medians in microseconds, and the missed goals.
pub fn run(engines: &mut [Box<dyn Engine>], rounds: usize) {
    println!("\nparsing, microseconds of the processor (by the clock), medians of {rounds} rounds of {PARSES}\n");
    print!("{:<26}", "");
    engines.iter().for_each(|e| print!("{:>22}", e.name()));
    println!("{:>9}", "goal");
    let mut texts = Texts(0);
    for (what, sql, parse, goal) in KINDS {
        let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); engines.len()];
        for round in 0..rounds + 1 {
            for (engine, samples) in engines.iter_mut().zip(&mut samples) {
                if engine.is_to_parse(parse) {
                    let taken = sample(&mut **engine, &mut texts, (what, sql, parse));
                    // The first warms up.
                    samples.extend((round > 0).then_some(taken));
                }
            }
        }
        print!("{what:<26}");
        for (engine, samples) in engines.iter().zip(&samples) {
            if samples.is_empty() {
                print!("{:>22}", "-");
                continue;
            }
            let middle = |of: fn(&Sample) -> f64| median(&mut samples.iter().map(of).collect::<Vec<f64>>());
            let (cpu, clock) = (middle(|s| s.0), middle(|s| s.1));
            let missed = if engine.name() == "Latchwork" && cpu > goal { "*" } else { "" };
            print!("{:>22}", format!("{cpu:.1}{missed} ({clock:.1})"));
        }
        println!("{goal:>9.0}");
    }
    println!("\n* misses the goal");
}
