//! The cost of PL/SQL itself: nanoseconds per iteration of small loops, over a world without a database.
//!
//! `cargo bench -p plsql`

#[path = "../tests/units/mock.rs"]
mod mock;

use mock::Session;
use std::time::Instant;
use types::{DataType, Number, Value};

const CASES: &[(&str, &str, &str, u32)] = &[
    ("empty loop", "", "null;", 20_000_000),
    ("pls_integer addition", "k pls_integer := 0;", "k := k + 1;", 10_000_000),
    ("number arithmetic", "x number := 0;", "x := x + i * 2;", 10_000_000),
    ("condition", "k pls_integer := 0;", "if i > 5 and k = 0 then k := 1; end if;", 10_000_000),
    ("dbms_random.value(1, 10000)", "x number;", "x := dbms_random.value(1, 10000);", 5_000_000),
    ("trunc(dbms_random.value(1, 10000))", "x number;", "x := trunc(dbms_random.value(1, 10000));", 5_000_000),
    ("local procedure call", "procedure p(n number) is begin null; end;", "p(i);", 5_000_000),
    ("associative array element", "type t is table of number index by pls_integer; a t;", "a(5) := i;", 5_000_000),
    (
        "cursor loop of one row",
        "l number;",
        "l := 2; for c in (select * from t where n = l) loop null; end loop;",
        500_000,
    ),
];

fn main() {
    for (name, declarations, body, n) in CASES {
        let mut s = Session::new();
        let rows = (1..=3).map(|i| vec![Value::Number(Number::from_i64(i)), Value::text("x")]).collect();
        s.world.table("T", &[("N", DataType::NUMBER), ("V", DataType::TEXT)], rows);
        let text = format!("declare {declarations} begin for i in 1..{n} loop {body} end loop; end;");
        let started = Instant::now();
        let out = s.run(&text);
        let ns = started.elapsed().as_nanos() as f64 / f64::from(*n);
        println!("{name:<40} {ns:>8.1} ns  {out}");
    }
}
