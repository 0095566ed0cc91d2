//! Measures this machine, runs real threads with a real latch on 1 to all of its processors, and prints their rates
//! beside those of the simulator: `cargo run --release -p latch-simulator --example held_against_truth`.
//!
//! The latch spins without a limit. Gaps are exponential, holds constant; both are loops that were timed alone. The
//! best of several runs counts, since foreign load can only make a rate lower.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use latch_simulator::calibrate::{Effort, machine as measure};
use latch_simulator::{Bound, Cell, Closed, Design, Error, Machine, Sleep, Time, Workload};

#[repr(align(64))]
#[derive(Default)]
struct Latch {
    word: AtomicU32,
    gets: AtomicU64,
    misses: AtomicU64,
}

fn work(turns: u64) {
    for n in 0..turns {
        black_box(n);
    }
}

/// Gets a second of all threads, and misses a get.
fn real(threads: usize, gap_turns: f64, hold_turns: u64, time: Duration) -> (f64, f64) {
    let (latch, stop) = (Latch::default(), AtomicBool::new(false));
    let began = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..threads as u64 {
            let (latch, stop) = (&latch, &stop);
            scope.spawn(move || {
                let mut state = thread.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
                while !stop.load(Ordering::Relaxed) {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    let unit = ((state >> 11) + 1) as f64 / (1u64 << 53) as f64;
                    work((-gap_turns * unit.ln()) as u64);
                    let mut missed = false;
                    while latch.word.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
                        missed = true;
                        while latch.word.load(Ordering::Relaxed) != 0 {
                            spin_loop();
                        }
                    }
                    latch.gets.store(latch.gets.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                    latch.misses.store(latch.misses.load(Ordering::Relaxed) + u64::from(missed), Ordering::Relaxed);
                    work(hold_turns);
                    latch.word.store(0, Ordering::Release);
                }
            });
        }
        std::thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
    });
    let (gets, misses) = (latch.gets.load(Ordering::Relaxed) as f64, latch.misses.load(Ordering::Relaxed) as f64);
    (gets / began.elapsed().as_secs_f64(), misses / gets.max(1.0))
}

fn best(all: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    all.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_default()
}

fn simulated(machine: &Machine, gap: f64, hold: f64, sessions: u32) -> Result<(f64, f64), Error> {
    let (gap, hold) = (Time::Exponential(gap), Time::Constant(hold));
    let workload = Workload::closed(Closed { gets: 1, gap, hold, latches: 1, writes: 1.0, lines: 0.0 })?;
    let designs = [Design::Exclusive { spins: 1_000_000_000, sleep: Sleep::Post }];
    let (cpus, calls, bound) = (machine.cpus(), 50_000, Bound::Lower);
    let cell =
        Cell { machine, workload: &workload, designs: &designs, cpus, sessions, seed: 1, calls, slowdown: 1.0, bound };
    let figures = cell.run()?;
    Ok((figures.rate(), figures.miss_rate()))
}

fn main() -> Result<(), Error> {
    let machine = measure("this machine", Effort::default())?;
    println!("{}", machine.to_text());
    println!("gap ns  hold ns  threads  real/s  simulated/s  error %  misses real, simulated %");
    let time = Duration::from_millis(40);
    let turn = |_| {
        let began = Instant::now();
        work(1_000_000);
        began.elapsed().as_nanos() as f64 / 1e6
    };
    let turn_ns = (0..100).map(turn).fold(f64::INFINITY, f64::min);
    for (gap, hold) in [(5_000.0, 100.0), (2_000.0, 200.0), (1_000.0, 100.0), (500.0, 100.0)] {
        let (gap_turns, hold_turns) = (gap / turn_ns, (hold / turn_ns) as u64);
        let of = |threads| best((0..25).map(|_| real(threads, gap_turns, hold_turns, time)));
        let one = of(1);
        // The time of a get of one thread, without wait, is known: what the loop itself adds belongs to the gap.
        let model = simulated(&machine, gap, hold, 1)?;
        let gap_in_use = (gap + 1e9 / one.0 - 1e9 / model.0).max(1.0);
        for threads in 1..=machine.cpus() {
            let ((rate, misses), (model, expected)) =
                (of(threads as usize), simulated(&machine, gap_in_use, hold, threads)?);
            println!(
                "{gap:6} {hold:8} {threads:8} {rate:9.0} {model:11.0} {:8.1} {:12.1} {:9.1}",
                (model / rate - 1.0) * 100.0,
                misses * 100.0,
                expected * 100.0
            );
        }
    }
    Ok(())
}
