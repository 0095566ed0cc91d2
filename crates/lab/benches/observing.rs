//! The cost of observation: CPU time of an operation at each `statistics_level`, and while another session samples
//! latch holders.
//!
//!     cargo build --release && cargo bench -p lab --bench observing [-- --pairs 60 --seconds 0.03 --only row-cache]
//!
//! One session runs a short piece of work twice in a row, once at BASIC and once in the measured condition, in an order
//! that changes from pair to pair; the ratio of the two is one figure. Drift affects both halves alike. Medians are
//! printed with the 95 % interval of the median by binomial order statistics; a pair of BASIC and BASIC shows the error
//! of the method. CPU time is that of the session's own process: the CPU time of other programs does not count, and
//! their effect on the caches is the same for both halves. `LATCHWORK_EXE` names another program than the release
//! build.

mod common;

use common::{argument, connect, cpu_ns, interval, run, server_pid, start, text_argument};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use client::Client;

const RESULT_CACHE: &str = include_str!("../../../experiments/result-cache/setup.sql");
const KILL_CPU: &str = include_str!("../../../experiments/kill-cpu/setup.sql");
const ROW_CACHE: &str = include_str!("../../../experiments/row-cache/setup.sql");

/// The loops of the experiments: name, statement without the number of operations, operations a portion.
const LOOPS: &[(&str, &str, u64)] = &[
    ("result-cache", "look_up_in_result_cache(", 1),
    ("kill-cpu", "walk('one', 'TRUE', ", 32768),
    ("row-cache", "read_character_set(", 1),
];

/// The conditions compared with BASIC: name, level, whether latch holders are sampled, milliseconds between samples of
/// the active session history.
const CONDITIONS: &[(&str, &str, bool, Option<u32>)] = &[
    ("BASIC again", "BASIC", false, None),
    ("TYPICAL", "TYPICAL", false, None),
    ("ALL", "ALL", false, None),
    ("TYPICAL, sampled", "TYPICAL", true, None),
    ("BASIC, ASH 1 s", "BASIC", false, Some(1000)),
    ("BASIC, ASH 10 ms", "BASIC", false, Some(10)),
];

/// Samples latch holders as fast as possible, a thousand samples a query.
const SAMPLE: &str = "select /*+ ordered use_nl(l) */ count(*), count(l.ksuprpid) from \
                      (select rownum s from dual connect by level <= 1000) g, x$ksuprlat l";

struct Bench {
    session: Client,
    pid: u32,
}

impl Bench {
    /// CPU nanoseconds of an operation at a level.
    fn measure(&mut self, level: &str, call: &str, operations: u64, portion: u64) -> f64 {
        run(&mut self.session, &format!("alter session set statistics_level = {level}"));
        // Opens the cursor of this level before anything is measured.
        run(&mut self.session, &format!("begin {call}{}); end;", 40 * portion.min(1000)));
        let before = cpu_ns(self.pid);
        run(&mut self.session, &format!("begin {call}{operations}); end;"));
        (cpu_ns(self.pid) - before) / operations as f64
    }
}

/// Samples until `end` is set, and counts the samples.
fn sample(mut session: Client, on: &AtomicBool, end: &AtomicBool, samples: &AtomicU64) {
    while !end.load(Ordering::Relaxed) {
        if on.load(Ordering::Relaxed) {
            session.query(SAMPLE, &[]).and_then(|q| q.all()).expect("answers");
            samples.fetch_add(1000, Ordering::Relaxed);
        } else {
            std::thread::sleep(std::time::Duration::from_micros(200));
        }
    }
}

fn main() {
    let pairs: usize = argument("--pairs", 60.0) as usize;
    let seconds: f64 = argument("--seconds", 0.03);
    let instance = start(&[
        ("db_cache_size", "64M"),
        ("result_cache_max_size", "32M"),
        ("job_queue_processes", "0"),
        ("_ash_enable", "false"),
    ]);
    let connect = || connect(&instance);
    let mut session = connect();
    for statement in [RESULT_CACHE, KILL_CPU, ROW_CACHE].iter().flat_map(|script| shell::split_script(script)) {
        run(&mut session, &statement);
    }
    run(&mut session, "begin warm_up; end;");
    let pid = server_pid(&mut session);
    let mut bench = Bench { session, pid };
    let (on, end, samples) = (AtomicBool::new(false), AtomicBool::new(false), AtomicU64::new(0));
    println!("processor time of an operation, against BASIC; {pairs} pairs of {seconds} s\n");
    println!("{:<14}{:<20}{:>12}{:>10}{:>22}", "loop", "condition", "ns BASIC", "median %", "95 % interval");
    std::thread::scope(|scope| {
        let sampler = connect();
        let (on_ref, end_ref, samples_ref) = (&on, &end, &samples);
        scope.spawn(move || sample(sampler, on_ref, end_ref, samples_ref));
        for (name, call, portion) in LOOPS {
            if text_argument("--only").is_some_and(|only| only != *name) {
                continue;
            }
            let few = 200 * portion.min(&1000);
            let rate = bench.measure("BASIC", call, few, *portion);
            let operations = ((seconds * 1e9 / rate) as u64).next_multiple_of(*portion);
            for (condition, level, sampled, ash_ms) in CONDITIONS {
                run(
                    &mut bench.session,
                    &format!("alter system set \"_ash_sampling_interval\" = {}", ash_ms.unwrap_or(1000)),
                );
                let (mut differences, mut basics) = (Vec::new(), Vec::new());
                let before = (samples.load(Ordering::Relaxed), std::time::Instant::now());
                on.store(*sampled, Ordering::Relaxed);
                for pair in 0..pairs {
                    let mut half = |level: &str, sampled: bool, seen: bool| {
                        on.store(sampled, Ordering::Relaxed);
                        if ash_ms.is_some() {
                            run(&mut bench.session, &format!("alter system set \"_ash_enable\" = {seen}"));
                        }
                        bench.measure(level, call, operations, *portion)
                    };
                    let (basic, other) = if pair % 2 == 0 {
                        let basic = half("BASIC", false, false);
                        (basic, half(level, *sampled, true))
                    } else {
                        let other = half(level, *sampled, true);
                        (half("BASIC", false, false), other)
                    };
                    differences.push(100.0 * (other / basic - 1.0));
                    basics.push(basic);
                }
                on.store(false, Ordering::Relaxed);
                run(&mut bench.session, "alter system set \"_ash_enable\" = false");
                basics.sort_by(f64::total_cmp);
                let (middle, low, high) = interval(&mut differences);
                print!("{name:<14}{condition:<20}{:>12.1}{middle:>+10.2}", basics[pairs / 2]);
                print!("{:>22}", format!("{low:+.2} to {high:+.2}"));
                if *sampled {
                    let taken = (samples.load(Ordering::Relaxed) - before.0) as f64;
                    print!("   {:.0} samples a second over all", taken / before.1.elapsed().as_secs_f64());
                }
                println!();
            }
        }
        end.store(true, Ordering::Relaxed);
    });
}
