//! Lock events a second on one core, and cells on several threads: `cargo bench -p latch-simulator`.

use std::time::Instant;

use latch_simulator::{Bound, Cell, Closed, Design, Machine, Time, Workload, in_parallel};

/// Calls of a session in a cell.
const CALLS: u64 = 100_000;

fn main() {
    let Some((_, text)) = latch_simulator::SHIPPED.iter().find(|(name, _)| *name == "cascade-lake-6242") else {
        return;
    };
    let machine = match Machine::parse(text) {
        Ok(machine) => machine,
        Err(e) => return eprintln!("{e}"),
    };
    println!("lock events a second on one core, in millions");
    for (name, design, gap, writes) in [
        ("exclusive, idle", Design::EXCLUSIVE, 20_000.0, 1.0),
        ("exclusive, contended", Design::EXCLUSIVE, 1_000.0, 1.0),
        ("shared", Design::SHARED, 1_000.0, 0.01),
        ("mutex, scheme 2", Design::MUTEX, 1_000.0, 1.0),
        ("versioned", Design::VERSIONED, 1_000.0, 0.01),
    ] {
        let form = Closed {
            gets: 2,
            gap: Time::Exponential(gap),
            hold: Time::Exponential(50.0),
            latches: 1,
            writes,
            lines: 1.0,
        };
        let Ok(workload) = Workload::closed(form) else { return };
        for sessions in [2, 12, 64] {
            let cell = |seed| Cell {
                machine: &machine,
                workload: &workload,
                designs: std::slice::from_ref(&design),
                cpus: sessions.min(32),
                sessions,
                seed,
                calls: CALLS / u64::from(sessions),
                slowdown: 1.0,
                bound: Bound::Lower,
            };
            let rate = |threads: usize| {
                let began = Instant::now();
                let run = |n: usize| cell(n as u64).run().map_or(0, |figures| figures.events);
                let events: u64 = in_parallel(4 * threads, threads, run).into_iter().sum();
                events as f64 / began.elapsed().as_secs_f64() / 1e6
            };
            let one = rate(1);
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            println!("{name:22} {sessions:3} sessions {one:7.1}   {:7.1} on {threads} threads", rate(threads));
        }
    }
}
