//! Nanoseconds for sections and statistics of one process: `cargo bench -p process`.

use std::hint::black_box;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use latch::{LatchName, Where};
use testing::{attach, instance};
use wait::Stat;

fn show(what: &str, mut operation: impl FnMut()) {
    const ROUNDS: u64 = 2_000_000;
    let mut best = f64::MAX;
    for _ in 0..7 {
        let start = Instant::now();
        (0..ROUNDS).for_each(|_| operation());
        best = best.min(start.elapsed().as_nanos() as f64 / ROUNDS as f64);
    }
    println!("{what:<58} {best:>8.2} ns");
}

fn main() {
    let (all, words) = instance(4, |b| b.reserve::<AtomicU64>("words", 8));
    let words = all.sga().slice(words);
    let p = attach(all, "bench");
    let latch = all.latch(LatchName::TestUnit);
    let versioned = all.versioned_latch(LatchName::TestShared);
    show("section without a change", || drop(p.lock(latch, Where::TestExclusive, 0)));
    show("section that changes one word", || {
        p.lock(latch, Where::TestExclusive, 0).set(&words[0], 1);
    });
    show("section that changes eight words", || {
        let s = p.lock(latch, Where::TestExclusive, 0);
        words.iter().for_each(|w| s.set(w, 1));
    });
    show("versioned write of two words", || {
        let s = p.write_versioned(versioned, Where::TestVersioned, 0);
        s.set(&words[0], 1);
        s.set(&words[1], 1);
    });
    show("shared hold", || drop(p.lock_shared(versioned.latch(), Where::TestShare, 0)));
    show("versioned read", || {
        black_box(
            p.read_versioned(versioned, Where::TestVersioned, || words[0].load(std::sync::atomic::Ordering::Relaxed)),
        );
    });
    show("counting a statistic", || p.count(Stat::UserCalls, 1));
    show("check_cancel", || {
        black_box(p.check_cancel().is_ok());
    });
    show("a wait that ends at once", || drop(p.wait(wait::Event::PlSqlLockTimer, 0, 0, 0)));
}
