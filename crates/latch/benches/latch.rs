//! Nanoseconds for each operation, one thread at first, then two: `cargo bench -p latch`.
//!
//! `cargo bench -p latch -- N` makes N exclusive gets and releases and nothing else. The difference of the instruction
//! counts of two such runs is that of the additional gets.
//!
//! Prints plain figures, the baselines of the standard library beside them. Every figure is the best of several runs,
//! because other load on the machine only makes a run slower.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex as StdMutex, RwLock};
use std::time::Instant;

use latch::{Client, Domain, Generation, Latch, LatchName, Mutex, MutexKind, Versioned, Where};
use wait::Waiter;

const ROUNDS: u64 = 2_000_000;
const RUNS: usize = 7;

fn ns_each(mut operation: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..RUNS {
        let start = Instant::now();
        for _ in 0..ROUNDS {
            operation();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / ROUNDS as f64);
    }
    best
}

fn show(what: &str, ns: f64) {
    println!("{what:<58} {ns:>8.2} ns");
}

fn client(domain: Domain) -> Client {
    Client::join_any(domain, Waiter::private()).expect("a slot")
}

/// Runs `body` in two threads for a while; returns the nanoseconds one operation of one thread took.
fn two_threads(body: impl Fn(&AtomicBool) -> u64 + Sync) -> f64 {
    let stop = AtomicBool::new(false);
    let start = Instant::now();
    let done: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(|| body(&stop))).collect();
        std::thread::sleep(std::time::Duration::from_millis(300));
        stop.store(true, Ordering::Relaxed);
        threads.into_iter().map(|t| t.join().expect("no panic")).sum()
    });
    start.elapsed().as_nanos() as f64 * 2.0 / done as f64
}

fn count(stop: &AtomicBool, mut operation: impl FnMut()) -> u64 {
    let mut done = 0;
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..64 {
            operation();
        }
        done += 64;
    }
    done
}

fn main() {
    let domain = Domain::anonymous(16, Generation::default()).expect("memory");
    let c = client(domain);
    let exclusive = Latch::new(LatchName::TestUnit, 1);
    if let Some(gets) = std::env::args().find_map(|a| a.parse().ok()) {
        return (0..gets).for_each(|_: u64| drop(c.get(&exclusive, Where::TestExclusive, 1)));
    }
    let shared = Latch::new(LatchName::TestShared, 1);
    let versioned = Versioned::new(LatchName::TestShared, 2);
    let mutex = Mutex::default();
    let data = [const { AtomicU64::new(1) }; 4];
    let look = || data.iter().map(|w| w.load(Ordering::Relaxed)).sum::<u64>();

    println!("one thread");
    show("exclusive get and release", ns_each(|| drop(c.get(&exclusive, Where::TestExclusive, 1))));
    show("exclusive no-wait get and release", ns_each(|| drop(c.try_get(&exclusive, Where::TestExclusive, 1))));
    show("shared get and release", ns_each(|| drop(c.get_shared(&shared, Where::TestShare, 1))));
    show("write of a versioned structure", ns_each(|| drop(c.write(&versioned, Where::TestVersioned, 1))));
    show("mutex get and release", ns_each(|| drop(c.mutex(&mutex, MutexKind::RowCache, Where::KqrMutexFind, 1))));
    let bare = ns_each(|| {
        black_box(look());
    });
    show("four words, nothing else", bare);
    let read = ns_each(|| {
        black_box(c.read(&versioned, Where::TestVersioned, look));
    });
    show("versioned read of four words", read);
    show("  of it, over the data read", read - bare);
    let std_mutex = StdMutex::new(0u64);
    show("std::sync::Mutex", ns_each(|| *std_mutex.lock().expect("no panic") += 1));
    let std_lock = RwLock::new(0u64);
    show("std::sync::RwLock, read", ns_each(|| drop(black_box(std_lock.read()))));
    show("std::sync::RwLock, write", ns_each(|| *std_lock.write().expect("no panic") += 1));

    let slept_on = Latch::new(LatchName::TestUnit, 2);
    std::thread::scope(|scope| {
        let held = c.get(&slept_on, Where::TestExclusive, 1);
        let waiter = scope.spawn(|| drop(client(domain).get(&slept_on, Where::TestExclusive, 1)));
        while domain.latch_waits().next().is_none() {
            std::thread::yield_now();
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
        drop(held);
        waiter.join().expect("no panic");
    });
    drop(c.get(&slept_on, Where::TestExclusive, 1));
    show(
        "exclusive get and release of a latch that was slept on",
        ns_each(|| drop(c.get(&slept_on, Where::TestExclusive, 1))),
    );

    println!("two threads at once, per operation of one thread");
    show("exclusive get and release of one latch", {
        two_threads(|stop| {
            let c = client(domain);
            count(stop, || drop(c.get(&exclusive, Where::TestExclusive, 1)))
        })
    });
    show("shared get and release of one latch", {
        two_threads(|stop| {
            let c = client(domain);
            count(stop, || drop(c.get_shared(&shared, Where::TestShare, 1)))
        })
    });
    show("versioned read of four words", {
        two_threads(|stop| {
            let c = client(domain);
            count(stop, || {
                black_box(c.read(&versioned, Where::TestVersioned, look));
            })
        })
    });
    show("std::sync::Mutex", two_threads(|stop| count(stop, || *std_mutex.lock().expect("no panic") += 1)));
    show("std::sync::RwLock, read", two_threads(|stop| count(stop, || drop(black_box(std_lock.read())))));
}
