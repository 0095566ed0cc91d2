//! The cost of snapshots of the workload repository to other sessions: operations of one session with a snapshot each
//! second and without.
//!
//!     cargo build --release && cargo bench -p lab --bench snapshots [-- --pairs 20 --seconds 2 --only row-cache]
//!
//! A session runs a loop in portions of some milliseconds for each half of a pair; in one half another session takes a
//! snapshot each second. The order of the halves changes from pair to pair. Two figures a pair: operations a second by
//! the clock, and CPU time of an operation in the session's own process, which other programs on the machine do not
//! change. Medians are printed with their 95 % intervals. The longest portion bounds the time that the session was
//! blocked. `LATCHWORK_EXE` names another program than the release build.

mod common;

use common::{argument, connect, cpu_ns, interval, run, server_pid, start, text_argument};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use client::Client;

const SETUP: &[&str] = &[
    include_str!("../../../experiments/row-cache/setup.sql"),
    "create table slept (n number primary key, v varchar2(100))\n/\n",
];

/// Name, and a block that performs `:n` operations.
const LOOPS: &[(&str, &str)] = &[
    ("row-cache", "begin read_character_set(:n); end;"),
    (
        "commits",
        "declare k number; begin select nvl(max(n), 0) into k from slept; for i in 1 .. :n loop insert into slept values (k + i, 'x'); commit; \
         end loop; delete from slept; commit; end;",
    ),
    (
        "queries",
        "declare k number; begin for i in 1 .. :n loop select count(*) into k from user_objects where rownum <= 5; end loop; end;",
    ),
];

/// Operations a second, CPU nanoseconds an operation, and the longest portion in milliseconds.
fn half(session: &mut Client, pid: u32, block: &str, portion: u64, seconds: f64) -> (f64, f64, f64) {
    let block = block.replace(":n", &portion.to_string());
    let (began, cpu) = (Instant::now(), cpu_ns(pid));
    let (mut operations, mut longest) = (0u64, 0f64);
    while began.elapsed().as_secs_f64() < seconds {
        let before = Instant::now();
        run(session, &block);
        operations += portion;
        longest = longest.max(before.elapsed().as_secs_f64() * 1e3);
    }
    let n = operations as f64;
    (n / began.elapsed().as_secs_f64(), (cpu_ns(pid) - cpu) / n, longest)
}

/// Takes a snapshot each second while `on` is set.
fn take(mut session: Client, on: &AtomicBool, end: &AtomicBool, taken: &AtomicU64, cpu_us: &AtomicU64) {
    let pid = server_pid(&mut session);
    let mut next = Instant::now();
    while !end.load(Ordering::Relaxed) {
        if on.load(Ordering::Relaxed) && Instant::now() >= next {
            next = Instant::now() + Duration::from_secs(1);
            let before = cpu_ns(pid);
            run(&mut session, "begin dbms_workload_repository.create_snapshot; end;");
            cpu_us.fetch_add(((cpu_ns(pid) - before) / 1e3) as u64, Ordering::Relaxed);
            taken.fetch_add(1, Ordering::Relaxed);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn main() {
    let pairs: usize = argument("--pairs", 20.0) as usize;
    let seconds: f64 = argument("--seconds", 2.0);
    let instance = start(&[("db_cache_size", "128M"), ("job_queue_processes", "0")]);
    let connect = || connect(&instance);
    let mut session = connect();
    for statement in SETUP.iter().flat_map(|script| shell::split_script(script)) {
        run(&mut session, &statement);
    }
    let pid = server_pid(&mut session);
    let (on, end) = (AtomicBool::new(false), AtomicBool::new(false));
    let (taken, cpu_us) = (AtomicU64::new(0), AtomicU64::new(0));
    println!("with a snapshot each second against without; {pairs} pairs of {seconds} s\n");
    println!("{:<12}{:>12}{:>28}{:>28}{:>20}", "loop", "ops/s", "ops/s, %", "CPU of an operation, %", "longest, ms");
    std::thread::scope(|scope| {
        let other = connect();
        let (on_ref, end_ref, taken_ref, cpu_ref) = (&on, &end, &taken, &cpu_us);
        scope.spawn(move || take(other, on_ref, end_ref, taken_ref, cpu_ref));
        for (name, block) in LOOPS {
            if text_argument("--only").is_some_and(|only| only != *name) {
                continue;
            }
            let portion = (half(&mut session, pid, block, 20, 0.3).0 * 0.005).max(1.0) as u64;
            half(&mut session, pid, block, portion, 0.3);
            let (mut rates, mut costs, mut plain) = (Vec::new(), Vec::new(), Vec::new());
            let mut longest = [0f64; 2];
            for pair in 0..pairs {
                let mut one = |with: bool| {
                    on.store(with, Ordering::Relaxed);
                    let found = half(&mut session, pid, block, portion, seconds);
                    longest[usize::from(with)] = longest[usize::from(with)].max(found.2);
                    found
                };
                let (without, with) = if pair % 2 == 0 {
                    let without = one(false);
                    (without, one(true))
                } else {
                    let with = one(true);
                    (one(false), with)
                };
                on.store(false, Ordering::Relaxed);
                rates.push(100.0 * (with.0 / without.0 - 1.0));
                costs.push(100.0 * (with.1 / without.1 - 1.0));
                plain.push(without.0);
            }
            let shown = |all: &mut Vec<f64>| {
                let (middle, low, high) = interval(all);
                format!("{middle:+.2} ({low:+.2} to {high:+.2})")
            };
            plain.sort_by(f64::total_cmp);
            print!("{name:<12}{:>12.0}{:>28}{:>28}", plain[plain.len() / 2], shown(&mut rates), shown(&mut costs));
            println!("{:>20}", format!("{:.1} / {:.1}", longest[0], longest[1]));
        }
        end.store(true, Ordering::Relaxed);
    });
    let n = taken.load(Ordering::Relaxed).max(1);
    println!(
        "\n{n} snapshots, {:.1} ms of processor time each",
        cpu_us.load(Ordering::Relaxed) as f64 / 1e3 / n as f64
    );
}
