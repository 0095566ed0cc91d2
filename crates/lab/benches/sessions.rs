//! One instance with 1 to 1,000 sessions on the processors of this machine: throughput, memory, logons, and the effect
//! of another session's DDL.
//!
//!     cargo build --release && cargo bench -p lab --bench sessions
//!         [-- --sessions 1,2,8,64,500,1000 --tables 10000 --seconds 4 --rounds 3 --pauses 250,50,20 --pairs 9
//!         --param NAME=VALUE,NAME=VALUE]
//!
//! All sessions run the same PL/SQL loop at once: three look-ups by primary key in a shared table of 10,000 rows and,
//! every tenth time, an update of a row of its own with a commit. A round takes every number of sessions once; the
//! table gives medians of the rounds. The percentages are of the largest throughput of the table.
//!
//! Before the loops the dictionary gets `--tables` tables. Private memory is that of a session's server process without
//! the SGA. The last lines compare the throughput of eight sessions alone and beside a session that creates and drops
//! a table and pauses for one of `--pauses` milliseconds, in turn (ABBA): the median of `--pairs` pairs with its 95 %
//! interval, and the processor time of the session with the DDL, which is a loss even where nobody waits for it.
//! `--sessions 0` leaves the first part out. `LATCHWORK_EXE` names another program than the release build.

mod common;

use client::{Bind, Client, Ephemeral, EphemeralOptions};
use common::{
    argument, connect, cpu_seconds, interval, latchwork_program, median, private_kb, run, server_pid, text_argument,
    together,
};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use types::{DataType, Number, Value};

const LOOP: &str = "declare
  l_end number := dbms_utility.get_time + :seconds * 100; l_n number := 0; l_key pls_integer; l_found number;
begin
  while dbms_utility.get_time < l_end loop
    for i in 1 .. 3 loop
      l_key := trunc(dbms_random.value(1, 10001));
      select amount into l_found from shared_rows where id = l_key;
    end loop;
    l_n := l_n + 1;
    if mod(l_n, 10) = 0 then
      update own_rows set amount = amount + 1 where id = :own;
      commit;
    end if;
  end loop;
  :executions := l_n;
end;";

/// Executions a second of all sessions.
fn throughput(sessions: &mut [Client], seconds: f64) -> f64 {
    let sum = Mutex::new(0.0);
    let took = together(sessions.iter_mut().enumerate().collect(), |(n, session)| {
        let bind = |name: &str, v: f64| {
            Bind::named(name, DataType::NUMBER, Value::Number(Number::from_f64(v).expect("a number")))
        };
        let binds = [bind("seconds", seconds), bind("own", n as f64 + 1.0), bind("executions", 0.0)];
        let ended = session.execute(LOOP, &binds).unwrap_or_else(|e| panic!("{e}"));
        let Some((_, Value::Number(n))) = ended.done.out.iter().find(|(at, _)| *at == 2) else { panic!("a count") };
        *sum.lock().expect("no panic") += n.to_f64();
    });
    sum.into_inner().expect("no panic") / took
}

/// The figures of one round with a number of sessions.
struct Sample {
    throughput: f64,
    connect_ms: f64,
    private_kb: f64,
}

fn sample(instance: &Ephemeral, sessions: usize, seconds: f64) -> Sample {
    let began = Instant::now();
    let mut all: Vec<Client> = (0..sessions)
        .map(|_| {
            let mut session = connect(instance);
            run(&mut session, "select 1 from dual");
            session
        })
        .collect();
    let connect_ms = began.elapsed().as_secs_f64() * 1e3 / sessions as f64;
    let throughput = throughput(&mut all, seconds);
    let mut memory: Vec<f64> = all.iter().map(|s| private_kb(s.welcome().server_process)).collect();
    Sample { throughput, connect_ms, private_kb: median(&mut memory) }
}

/// The effect of DDL at one rate.
struct Beside {
    /// The throughput of eight sessions beside the DDL by that of the eight alone: median, and its interval.
    ratio: f64,
    interval: (f64, f64),
    /// DDL statements a second, and the part of all processors that their session took.
    statements: f64,
    processors: f64,
}

/// Pairs in the order ABBA; the session with the DDL pauses for `pause_ms` after a CREATE and a DROP.
fn beside_ddl(instance: &Ephemeral, seconds: f64, pairs: usize, pause_ms: u64) -> Beside {
    let mut all: Vec<Client> = (0..8).map(|_| connect(instance)).collect();
    let (mut ratios, mut statements, mut cpu, mut time) = (Vec::new(), 0.0, 0.0, 0.0);
    for _ in 0..pairs {
        let (mut alone, mut beside) = (0.0, 0.0);
        for with_ddl in [false, true, true, false] {
            if !with_ddl {
                alone += throughput(&mut all, seconds);
                continue;
            }
            let stop = AtomicBool::new(false);
            std::thread::scope(|scope| {
                let ddl = scope.spawn(|| {
                    let mut session = connect(instance);
                    let server = server_pid(&mut session);
                    let (before, mut n) = (cpu_seconds(server), 0.0);
                    while !stop.load(Ordering::Relaxed) {
                        run(&mut session, "create table passing (n number primary key)");
                        run(&mut session, "drop table passing");
                        n += 2.0;
                        std::thread::sleep(std::time::Duration::from_millis(pause_ms));
                    }
                    (n, cpu_seconds(server) - before)
                });
                beside += throughput(&mut all, seconds);
                stop.store(true, Ordering::Relaxed);
                let (n, used) = ddl.join().expect("no panic");
                statements += n;
                cpu += used;
                time += seconds;
            });
        }
        ratios.push(beside / alone);
    }
    let (ratio, least, most) = interval(&mut ratios);
    let processors = std::thread::available_parallelism().map_or(1, |n| n.get()) as f64;
    Beside { ratio, interval: (least, most), statements: statements / time, processors: cpu / time / processors }
}

fn main() {
    // `cargo test --benches` runs a short form.
    let is_test = std::env::args().any(|a| a == "--test");
    let list = text_argument("--sessions").unwrap_or_else(|| if is_test { "1,4" } else { "1,2,8,64,500,1000" }.into());
    let list: Vec<usize> = list.split(',').map(|n| n.parse().expect("a number of sessions")).collect();
    let most = list.iter().copied().max().unwrap_or(1);
    let tables = argument("--tables", if is_test { 20.0 } else { 10_000.0 }) as u64;
    let seconds = argument("--seconds", if is_test { 0.2 } else { 4.0 });
    let rounds = argument("--rounds", if is_test { 1.0 } else { 3.0 }) as usize;

    let mut params: Vec<(String, String)> = [
        ("db_cache_size", "512M".to_string()),
        ("shared_pool_size", "256M".to_string()),
        ("processes", (most + 100).to_string()),
        ("job_queue_processes", "0".to_string()),
    ]
    .map(|(n, v)| (n.to_string(), v))
    .to_vec();
    let more = text_argument("--param").unwrap_or_default();
    params.extend(more.split(',').filter_map(|p| p.split_once('=')).map(|(n, v)| (n.to_string(), v.to_string())));
    let options = EphemeralOptions { params, executable: Some(latchwork_program()) };
    let instance = Ephemeral::start_with(&options).expect("starts");
    let mut dba = connect(&instance);
    run(
        &mut dba,
        &format!(
            "begin for i in 1 .. {tables} loop execute immediate 'create table t' || i || \
             '(id number primary key, name varchar2(20) not null, d date, x number)'; end loop; end;"
        ),
    );
    run(&mut dba, "create table shared_rows (id number primary key, amount number, text varchar2(40))");
    run(
        &mut dba,
        "insert into shared_rows select level, level * 7, 'row ' || level from dual connect by level <= 10000",
    );
    run(&mut dba, "create table own_rows (id number primary key, amount number, text varchar2(2000)) pctfree 50");
    let own_rows = most.max(8);
    let text = "select level, 0, rpad('x', 2000, 'x') from dual connect by level <=";
    run(&mut dba, &format!("insert into own_rows {text} {own_rows}"));
    run(&mut dba, "commit");

    let mut found: Vec<Vec<Sample>> = list.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for (n, sessions) in list.iter().enumerate().filter(|(_, sessions)| **sessions > 0) {
            found[n].push(sample(&instance, *sessions, seconds));
        }
    }
    println!("{tables} tables, {} processors", std::thread::available_parallelism().map_or(1, |n| n.get()));
    if found.iter().any(|samples| !samples.is_empty()) {
        println!(
            "{:>9} {:>16} {:>10} {:>18} {:>20}",
            "sessions", "executions a s", "% of peak", "ms a connection", "private kB a session"
        );
    }
    let of =
        |samples: &[Sample], figure: fn(&Sample) -> f64| median(&mut samples.iter().map(figure).collect::<Vec<_>>());
    let peak = found.iter().filter(|s| !s.is_empty()).map(|s| of(s, |s| s.throughput)).fold(0.0, f64::max);
    for (sessions, samples) in list.iter().zip(&found).filter(|(_, samples)| !samples.is_empty()) {
        let through = of(samples, |s| s.throughput);
        println!(
            "{sessions:>9} {through:>16.0} {:>10.1} {:>18.2} {:>20.0}",
            through / peak * 100.0,
            of(samples, |s| s.connect_ms),
            of(samples, |s| s.private_kb)
        );
    }
    let pauses = text_argument("--pauses").unwrap_or_else(|| if is_test { "20" } else { "250,50,20" }.into());
    let pairs = argument("--pairs", if is_test { 1.0 } else { 9.0 }) as usize;
    for pause in pauses.split(',').map(|n| n.parse().expect("a pause in milliseconds")) {
        let Beside { ratio, interval, statements, processors } = beside_ddl(&instance, seconds.min(2.0), pairs, pause);
        println!(
            "eight sessions beside {statements:.0} DDL statements a second: {:.1} % of the throughput alone \
             ({:.1} to {:.1}), {:.1} % of the processors for the DDL",
            ratio * 100.0,
            interval.0 * 100.0,
            interval.1 * 100.0,
            processors * 100.0
        );
    }
}
