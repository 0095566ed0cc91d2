//! The cost of gathering the statistics of a table, compared with reading the table: CPU time of the session's process.
//!
//!     cargo build --release && cargo bench -p lab --bench gather [-- --rows 500000 --pairs 9]
//!
//! Each portion runs one statement of each kind in turn, in an order that rotates; a figure is the median of the ratios
//! to the full scan of the same turn. `LATCHWORK_EXE` names another program than the release build.

mod common;

use common::{argument, connect, median, run, server_pid, start};

use client::Client;

/// The full scan of all rows and columns.
const SCAN: &str =
    "select count(*), max(id), max(few), max(many), max(price), max(day), max(kind), max(name), max(pad) from g";

/// The statements that are compared with the scan.
const KINDS: &[(&str, &str)] = &[
    ("full scan of all columns", SCAN),
    ("count(*)", "select count(*) from g where pad is not null"),
    (
        "no histograms, no indexes",
        "begin dbms_stats.gather_table_stats(user, 'G', method_opt => 'for all columns size 1', cascade => false); end;",
    ),
    ("size auto, no indexes", "begin dbms_stats.gather_table_stats(user, 'G', cascade => false); end;"),
    ("size auto, two indexes", "begin dbms_stats.gather_table_stats(user, 'G'); end;"),
    (
        "10 % of the blocks, no indexes",
        "begin dbms_stats.gather_table_stats(user, 'G', estimate_percent => 10, block_sample => true, method_opt => 'for all columns size 1', cascade => false); end;",
    ),
];

/// Runs a statement, and fetches the rows of a query.
fn run_all(session: &mut Client, statement: &str) {
    if statement.starts_with("select") {
        session.query(statement, &[]).and_then(|q| q.all()).map(drop).unwrap_or_else(|e| panic!("{e}\n{statement}"));
    } else {
        run(session, statement);
    }
}

fn main() {
    let (rows, pairs) = (argument("--rows", 500_000.0) as u64, argument("--pairs", 9.0) as usize);
    let instance = start(&[("db_cache_size", "512M"), ("job_queue_processes", "0"), ("_ash_enable", "false")]);
    let mut session = connect(&instance);
    run(
        &mut session,
        "create table g (id number, few number, many number, price number, day date, kind varchar2(10), name varchar2(30), pad varchar2(60))",
    );
    let mut made = 0;
    while made < rows {
        let more = (rows - made).min(100_000);
        run(
            &mut session,
            &format!(
                "insert into g select {made} + level, mod(level, 7), mod(level * 7919, 50000), mod(level, 9999) / 100, \
                 date '2020-01-01' + mod(level, 2000), 'kind' || mod(level, 5), 'name' || mod(level * 31, 20000), \
                 rpad('x', 20 + mod(level, 40), 'x') from dual connect by level <= {more}"
            ),
        );
        run(&mut session, "commit");
        made += more;
    }
    run(&mut session, "create index g_id on g (id)");
    run(&mut session, "create index g_many on g (many, few)");
    let pid = i32::try_from(server_pid(&mut session)).expect("a process number");
    let mut time = |statement: &str| {
        let before = os::clock::process_cpu_ns(pid).expect("alive");
        run_all(&mut session, statement);
        (os::clock::process_cpu_ns(pid).expect("alive") - before) as f64
    };
    for (_, statement) in KINDS {
        time(statement);
    }
    let mut ratios = vec![Vec::new(); KINDS.len()];
    let mut scans = Vec::new();
    for turn in 0..pairs {
        let mut times = vec![0.0; KINDS.len()];
        for n in 0..KINDS.len() {
            let at = (n + turn) % KINDS.len();
            times[at] = time(KINDS[at].1);
        }
        scans.push(times[0]);
        times.iter().enumerate().for_each(|(at, time)| ratios[at].push(time / times[0]));
    }
    println!("{rows} rows; a full scan of all columns takes {:.0} ns a row", median(&mut scans) / rows as f64);
    for ((name, _), mut ratios) in KINDS.iter().zip(ratios) {
        println!("{name:32} {:6.2}", median(&mut ratios));
    }
}
