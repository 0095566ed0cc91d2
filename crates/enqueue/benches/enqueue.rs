//! The cost of enqueues: TM and TX of a transaction, a table with many owners, a hot row, a release that grants many.
//!
//!     cargo bench -p enqueue
//!     cargo bench -p enqueue -- --only row --milliseconds 500
//!
//! Prints one line for each measure: its name and the time of one operation, elapsed or as processor time of the whole
//! program. To compare two builds, run their programs in turn and divide the results.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use enqueue::{EnqueueConfig, EnqueueLayout, EnqueueType, Enqueues, LockMode, Timeout};
use process::{Process, Processes};

const SESSIONS: [usize; 5] = [1, 2, 8, 64, 500];
const TABLE: u64 = 77;

fn instance(sessions: usize) -> (&'static Processes, Enqueues) {
    let processes = sessions as u32 + 4;
    let (all, layout) =
        testing::instance(processes, |b| EnqueueLayout::reserve(b, &EnqueueConfig::for_processes(processes)));
    (all, Enqueues::create(all, &layout))
}

/// The locks of a transaction that changes one table: gets and releases them.
fn transaction(e: &Enqueues, p: &Process, id: u64) {
    let tm = e.get(p, EnqueueType::Tm, TABLE, 0, LockMode::SubExclusive, Timeout::Never).expect("a shared mode");
    let tx = e.get(p, EnqueueType::Tx, id, 1, LockMode::Exclusive, Timeout::Never).expect("its own name");
    e.release(p, tx);
    e.release(p, tm);
}

/// The lock of a row that every session wants: waits for it and releases it.
fn row(e: &Enqueues, p: &Process) {
    let tx = e.get(p, EnqueueType::Tx, 1, 1, LockMode::Exclusive, Timeout::Never).expect("its turn");
    e.release(p, tx);
}

fn wait_for_waiters(e: &Enqueues, waiters: usize) {
    while e.locks().iter().filter(|l| l.requested != LockMode::None).count() < waiters {
        os::clock::sleep(Duration::from_millis(20));
    }
}

/// Operations of one session, on separate cache lines.
#[repr(align(128))]
#[derive(Default)]
struct Count(AtomicU64);

/// Runs `body` in `sessions` sessions at once for `time`, after a warm-up of a fifth of it; returns the nanoseconds of
/// an operation, elapsed and as processor time of all sessions. With `queued` the row is held until all sessions wait
/// for it.
fn run(sessions: usize, queued: bool, time: Duration, body: impl Fn(&Enqueues, &Process, u64) + Sync) -> (f64, f64) {
    let (all, e) = instance(sessions);
    let holder = testing::attach(all, "holder");
    let get = || e.get(&holder, EnqueueType::Tx, 1, 1, LockMode::Exclusive, Timeout::NoWait).expect("free");
    let held = queued.then(get);
    let (stop, start) = (AtomicBool::new(false), Barrier::new(sessions + 1));
    let counts: Vec<Count> = (0..sessions).map(|_| Count::default()).collect();
    let look = || {
        let done: u64 = counts.iter().map(|c| c.0.load(Ordering::Relaxed)).sum();
        (done as f64, Instant::now(), os::clock::own_cpu_ns() as f64)
    };
    let mut looks = None;
    std::thread::scope(|scope| {
        for (n, count) in counts.iter().enumerate() {
            let (e, stop, start, body) = (&e, &stop, &start, &body);
            scope.spawn(move || {
                let p = testing::attach(all, "bench");
                start.wait();
                let mut done = 0;
                while !stop.load(Ordering::Relaxed) {
                    body(e, &p, (n as u64) << 32 | done);
                    done += 1;
                    count.0.store(done, Ordering::Relaxed);
                }
            });
        }
        start.wait();
        if let Some(lock) = held {
            wait_for_waiters(&e, sessions);
            e.release(&holder, lock);
        }
        os::clock::sleep(time / 5);
        let first = look();
        os::clock::sleep(time);
        looks = Some((first, look()));
        stop.store(true, Ordering::Relaxed);
    });
    let (first, last) = looks.expect("both looks");
    let done = (last.0 - first.0).max(1.0);
    ((last.1 - first.1).as_nanos() as f64 / done, (last.2 - first.2) / done)
}

/// The transactions of one session while `owners` other sessions own the table.
fn owned(owners: usize, time: Duration) -> f64 {
    let (all, e) = instance(owners + 1);
    let others: Vec<Process> = (0..owners).map(|_| testing::attach(all, "owner")).collect();
    for p in &others {
        let _ = e.get(p, EnqueueType::Tm, TABLE, 0, LockMode::SubExclusive, Timeout::NoWait).expect("a shared mode");
    }
    let p = testing::attach(all, "bench");
    let (begun, mut count) = (Instant::now(), 0);
    while begun.elapsed() < time {
        (0..100).for_each(|n| transaction(&e, &p, count + n));
        count += 100;
    }
    begun.elapsed().as_nanos() as f64 / count as f64
}

/// Processor time of a release that grants `waiters` requests and posts as many sessions: the fastest of some rounds.
fn grants(waiters: usize, rounds: usize) -> f64 {
    let (all, e) = instance(waiters);
    let holder = testing::attach(all, "holder");
    let (start, end) = (Barrier::new(waiters + 1), Barrier::new(waiters + 1));
    let mut best = f64::MAX;
    std::thread::scope(|scope| {
        for _ in 0..waiters {
            let (e, start, end) = (&e, &start, &end);
            scope.spawn(move || {
                let p = testing::attach(all, "bench");
                for _ in 0..rounds {
                    start.wait();
                    let lock = e.get(&p, EnqueueType::Tx, 1, 1, LockMode::Share, Timeout::Never).expect("its turn");
                    e.release(&p, lock);
                    end.wait();
                }
            });
        }
        for _ in 0..rounds {
            let lock = e.get(&holder, EnqueueType::Tx, 1, 1, LockMode::Exclusive, Timeout::Never).expect("free");
            start.wait();
            wait_for_waiters(&e, waiters);
            os::clock::sleep(Duration::from_millis(50)); // until all of them sleep
            let begun = os::clock::thread_cpu_ns();
            e.release(&holder, lock);
            best = best.min((os::clock::thread_cpu_ns() - begun) as f64);
            end.wait();
        }
    });
    best / waiters as f64
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let value = |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).cloned();
    let only = value("--only").unwrap_or_default();
    let time = Duration::from_millis(value("--milliseconds").and_then(|v| v.parse().ok()).unwrap_or(1000));
    let wanted = |name: &str| name.contains(&only);
    if wanted("transaction") {
        for n in SESSIONS {
            let (clock, cpu) = run(n, false, time, transaction);
            println!("transaction, {n:>3} sessions{clock:>24.1} ns by the clock{cpu:>12.1} ns of processor time");
        }
    }
    if wanted("owners") {
        for n in [0, 64, 500] {
            println!("transaction, {n:>3} other owners of the table{:>8.1} ns by the clock", owned(n, time));
        }
    }
    if wanted("row") {
        for n in SESSIONS {
            let (clock, cpu) = run(n, true, time, |e, p, _| row(e, p));
            println!("hot row, {n:>3} sessions{clock:>28.1} ns by the clock{cpu:>12.1} ns of processor time");
        }
    }
    if wanted("grants") {
        for n in [8, 64, 500] {
            println!("release that grants {n:>3} requests{:>19.1} ns of processor time for each", grants(n, 5));
        }
    }
}
