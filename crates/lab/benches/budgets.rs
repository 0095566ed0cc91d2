//! The budgets of the whole instance: start, connect, the published loops, PL/SQL, bulk SQL, and scaling with sessions.
//!
//!     cargo build --release && cargo bench -p lab --bench budgets [-- --rounds 5 --seconds 0.5 --only scaling]
//!
//! Everything goes through the wire, like the work of a user. Rounds are interleaved; medians and, for times, the
//! smallest are printed. Loops are measured in CPU time of the server process, which other work on the machine affects
//! less. The scaling is given both by the clock, which is right on an idle machine, and by the CPU time of a lookup,
//! which grows when sessions disturb each other and not when other programs run. `LATCHWORK_EXE` names another program
//! than the release build. Latches, result-cache hits, cluster lookups and logical reads below SQL are measured by the
//! benches of their crates.

mod common;

use common::{argument, connect, cpu_seconds, median, run, server_pid, start, text_argument};
use std::sync::{Arc, Barrier};
use std::time::Instant;

use client::{Client, Ephemeral};

const LOOKUPS: &str = include_str!("../../../experiments/result-cache/setup.sql");
const LOOPS: &str = include_str!("budgets.sql");

/// PL/SQL loops: name to print, procedure, and budget in ns an iteration.
const PROCEDURES: &[(&str, &str, Option<f64>)] = &[
    ("empty loop", "empty_loop", None),
    ("dbms_random.value", "random_loop", Some(30.0)),
    ("trunc(dbms_random.value(1, 10000))", "bounded_random_loop", None),
    ("whole numbers: mod(n * 3 + i, 1000003)", "integer_loop", None),
    ("decimals: n + i * 1.25 / 3", "decimal_loop", None),
    ("lookup in the hash cluster", "look_up_in_cluster", Some(600.0)),
    ("lookup in the result cache", "look_up_in_result_cache", Some(500.0)),
    ("select into by primary key", "primary_key_loop", None),
];

/// Statements over many rows: name to print, statement, and number of rows.
const STATEMENTS: &[(&str, &str, u64)] = &[
    ("insert … select, no index", "insert into copied select id, grp, amount, text from source", 100_000),
    ("insert … select, primary key", "insert into keyed select id, grp, text from source", 100_000),
    ("full scan, count", "select count(amount) from source", 100_000),
    ("full scan, filter and sum", "select sum(amount) from source where grp < 50", 100_000),
    ("group by, 100 groups", "select count(*) from (select grp, sum(amount) from source group by grp)", 100_000),
    ("sort", "select max(id) from (select id, rownum from (select id from source order by amount))", 100_000),
    ("hash join", "select count(b.text) from source a, source b where a.id = b.id", 100_000),
    ("update", "update source set grp = grp + 0", 100_000),
];

const PARAMS: [(&str, &str); 2] = [("db_cache_size", "64M"), ("result_cache_max_size", "32M")];

fn wanted(part: &str) -> bool {
    text_argument("--only").is_none_or(|only| only == part)
}

fn first_row(session: &mut Client) {
    let rows = session.query("select 1 from dual", &[]).and_then(|q| q.all()).expect("answers");
    assert_eq!(rows.len(), 1);
}

/// Runs `work` and returns its seconds.
fn timed(work: impl FnOnce()) -> f64 {
    let started = Instant::now();
    work();
    started.elapsed().as_secs_f64()
}

fn print_time(what: &str, seconds: &mut [f64], unit: (&str, f64), budget: Option<f64>) {
    let middle = median(seconds) * unit.1;
    let least = seconds[0] * unit.1;
    let budget =
        budget.map_or(String::new(), |b| format!("   budget {b:>6.0}{}", if middle > b { "  MISSED" } else { "" }));
    println!("{what:<42} {middle:>10.1} {} (least {least:.1}){budget}", unit.0);
}

fn starting(rounds: usize) {
    let (mut starts, mut connects) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let began = Instant::now();
        let instance = start(&PARAMS);
        let mut session = connect(&instance);
        first_row(&mut session);
        starts.push(began.elapsed().as_secs_f64());
        for _ in 0..20 {
            connects.push(timed(|| first_row(&mut connect(&instance))));
        }
    }
    print_time("ephemeral instance, start to first row", &mut starts, ("ms", 1e3), Some(100.0));
    print_time("local connect to first row", &mut connects, ("ms", 1e3), Some(1.0));
}

/// The number of iterations of a procedure that takes about `seconds`.
fn calibrated(session: &mut Client, procedure: &str, seconds: f64) -> u64 {
    let few = 5_000;
    run(session, &format!("begin {procedure}({few}); end;"));
    let took = timed(|| run(session, &format!("begin {procedure}({few}); end;")));
    (seconds / took.max(1e-6) * few as f64) as u64 + 1
}

fn loops(instance: &Ephemeral, rounds: usize, seconds: f64) {
    let mut session = connect(instance);
    let pid = server_pid(&mut session);
    let counts: Vec<u64> = PROCEDURES.iter().map(|p| calibrated(&mut session, p.1, seconds)).collect();
    let mut times = vec![Vec::new(); PROCEDURES.len()];
    for _ in 0..rounds {
        for (i, (_, procedure, _)) in PROCEDURES.iter().enumerate() {
            let before = cpu_seconds(pid);
            run(&mut session, &format!("begin {procedure}({}); end;", counts[i]));
            times[i].push((cpu_seconds(pid) - before) / counts[i] as f64);
        }
    }
    for ((what, _, budget), times) in PROCEDURES.iter().zip(&mut times) {
        print_time(what, times, ("ns", 1e9), *budget);
    }
}

fn bulk(instance: &Ephemeral, rounds: usize) {
    let mut session = connect(instance);
    let mut rates = vec![Vec::new(); STATEMENTS.len()];
    let mut commits = (Vec::new(), Vec::new());
    const COMMITS: u32 = 2000;
    for _ in 0..rounds {
        for (i, (_, statement, rows)) in STATEMENTS.iter().enumerate() {
            rates[i].push(*rows as f64 / timed(|| run_all(&mut session, statement)));
            session.rollback().expect("rolls back");
        }
        let inside = format!("begin commits({COMMITS}); end;");
        commits.0.push(f64::from(COMMITS) / timed(|| run(&mut session, &inside)));
        commits.1.push(
            f64::from(COMMITS)
                / timed(|| {
                    for _ in 0..COMMITS {
                        run(&mut session, "insert into copied (id) values (0)");
                        session.commit().expect("commits");
                    }
                }),
        );
    }
    for ((what, ..), rates) in STATEMENTS.iter().zip(&mut rates) {
        println!("{what:<42} {:>10.0} rows/s", median(rates));
    }
    println!("{:<42} {:>10.0} commits/s", "insert a row and commit, in PL/SQL", median(&mut commits.0));
    println!("{:<42} {:>10.0} commits/s", "insert a row and commit, from a client", median(&mut commits.1));
}

fn run_all(session: &mut Client, statement: &str) {
    if statement.starts_with("select") {
        session.query(statement, &[]).and_then(|q| q.all()).expect("answers");
    } else {
        run(session, statement);
    }
}

/// Lookups a second of this many concurrent sessions, and the CPU nanoseconds of one lookup.
fn together(instance: &Ephemeral, sessions: u32, procedure: &str, lookups: u64) -> (f64, f64) {
    let mut all: Vec<Client> = (0..sessions).map(|_| connect(instance)).collect();
    let pids: Vec<u32> = all.iter_mut().map(server_pid).collect();
    all.iter_mut().for_each(|session| run(session, &format!("begin {procedure}(1000); end;")));
    let cpu = || pids.iter().map(|pid| cpu_seconds(*pid)).sum::<f64>();
    let before = cpu();
    let barrier = Arc::new(Barrier::new(all.len() + 1));
    let (elapsed, after) = std::thread::scope(|scope| {
        for mut session in all {
            let barrier = Arc::clone(&barrier);
            scope.spawn(move || {
                barrier.wait();
                run(&mut session, &format!("begin {procedure}({lookups}); end;"));
                barrier.wait();
                // Keeps the server processes alive until their CPU time has been read.
                barrier.wait();
            });
        }
        barrier.wait();
        let elapsed = timed(|| {
            barrier.wait();
        });
        let after = cpu();
        barrier.wait();
        (elapsed, after)
    });
    let done = f64::from(sessions) * lookups as f64;
    (done / elapsed, (after - before) / done * 1e9)
}

fn scaling(instance: &Ephemeral, rounds: usize, seconds: f64) {
    const SESSIONS: [u32; 3] = [1, 2, 12];
    println!(
        "\n{:<16}{:>34}{:>20}{:>24}",
        "", "lookups a second, by the clock", "% linear % of peak", "CPU ns a lookup"
    );
    print!("{:<16}{:>12}{:>11}{:>11}{:>10}{:>10}", "sessions", 1, 2, 12, 2, 12);
    println!("{:>8}{:>8}{:>8}  % linear by CPU", 1, 2, 12);
    for (what, procedure) in [
        ("hash cluster", "look_up_in_cluster"),
        ("result cache", "look_up_in_result_cache"),
        ("PL/SQL alone", "integer_loop"),
    ] {
        let lookups = calibrated(&mut connect(instance), procedure, seconds);
        let (mut rates, mut costs) = (vec![Vec::new(); 3], vec![Vec::new(); 3]);
        for _ in 0..rounds {
            for (i, sessions) in SESSIONS.iter().enumerate() {
                // The same total work for any number of sessions beyond the cores, so that all cells take about as
                // long.
                let each = if *sessions > 2 { lookups * 2 / u64::from(*sessions) } else { lookups };
                let (rate, cost) = together(instance, *sessions, procedure, each.max(1));
                rates[i].push(rate);
                costs[i].push(cost);
            }
        }
        let rate: Vec<f64> = rates.iter_mut().map(|r| median(r)).collect();
        let cost: Vec<f64> = costs.iter_mut().map(|c| median(c)).collect();
        print!("{what:<16}{:>12.0}{:>11.0}{:>11.0}", rate[0], rate[1], rate[2]);
        print!("{:>10.1}{:>10.1}", 50.0 * rate[1] / rate[0], 100.0 * rate[2] / rate[1].max(rate[2]));
        println!("{:>8.0}{:>8.0}{:>8.0}{:>10.1}", cost[0], cost[1], cost[2], 100.0 * cost[0] / cost[1]);
    }
}

fn main() {
    let rounds = argument("--rounds", 5.0) as usize;
    let seconds = argument("--seconds", 0.3);
    if wanted("start") {
        starting(rounds);
    }
    let instance = start(&PARAMS);
    let mut session = connect(&instance);
    for statement in [LOOKUPS, LOOPS].iter().flat_map(|script| shell::split_script(script)) {
        run(&mut session, &statement);
    }
    run(&mut session, "begin warm_up; end;");
    if wanted("loops") {
        loops(&instance, rounds, seconds);
    }
    if wanted("bulk") {
        bulk(&instance, rounds);
    }
    if wanted("scaling") {
        scaling(&instance, rounds.max(7), seconds);
    }
}
