//! Latches without a database: threads, then forked processes, on one latch, and the statistics of their gets.
//!
//! `cargo run --release -p latch --example contention [processes] [milliseconds]`

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use latch::{Client, Domain, Generation, Latch, LatchCounts, LatchName, SleepAlgorithm, Versioned, Where};
use os::process::{Ended, Fork, exit_now, fork, wait};
use wait::Waiter;

/// How the two words of the data are read; one get in sixteen writes them.
#[derive(Clone, Copy)]
enum Design {
    Exclusive,
    Shared,
    Versioned,
}

#[derive(Clone, Copy)]
struct Table {
    domain: Domain,
    latch: &'static Latch,
    versioned: &'static Versioned,
    data: &'static [AtomicU64],
    done: &'static AtomicU64,
}

impl Table {
    fn new(algorithm: SleepAlgorithm) -> os::OsResult<Self> {
        let domain = Domain::anonymous(64, Generation::default())?;
        domain.tunables().set_sleep_algorithm(algorithm);
        let latches: &'static [Latch] = os::memory::shared_slice(1)?;
        let versioned: &'static [Versioned] = os::memory::shared_slice(1)?;
        let words: &'static [AtomicU64] = os::memory::shared_slice(3)?;
        latches[0].format(LatchName::TestShared, 1, Generation::default());
        versioned[0].format(LatchName::TestShared, 2, Generation::default());
        Ok(Self { domain, latch: &latches[0], versioned: &versioned[0], data: &words[..2], done: &words[2] })
    }

    fn look(&self) -> [u64; 2] {
        [self.data[0].load(Ordering::Relaxed), self.data[1].load(Ordering::Relaxed)]
    }

    fn change(&self) {
        for word in self.data {
            word.store(word.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    fn work(&self, design: Design, time: Duration) {
        let client = Client::join_any(self.domain, Waiter::private()).expect("a slot");
        let end = Instant::now() + time;
        let mut rounds = 0;
        while Instant::now() < end {
            for n in 0..256 {
                let seen = match design {
                    _ if n % 16 == 0 => {
                        match design {
                            Design::Versioned => {
                                let _held = client.write(self.versioned, Where::TestVersioned, 0);
                                self.change();
                            }
                            _ => {
                                let _held = client.get(self.latch, Where::TestExclusive, 0);
                                self.change();
                            }
                        }
                        continue;
                    }
                    Design::Exclusive => {
                        let _held = client.get(self.latch, Where::TestExclusive, 0);
                        self.look()
                    }
                    Design::Shared => {
                        let _held = client.get_shared(self.latch, Where::TestShare, 0);
                        self.look()
                    }
                    Design::Versioned => client.read(self.versioned, Where::TestVersioned, || self.look()),
                };
                assert_eq!(seen[0], seen[1]);
            }
            rounds += 256;
        }
        self.done.fetch_add(rounds, Ordering::Relaxed);
    }

    fn print(&self, what: &str, time: Duration) {
        let LatchCounts { gets, misses, sleeps, spin_gets, wait_ns, .. } =
            self.domain.counts(LatchName::TestShared, [self.latch, self.versioned.latch()]);
        let rate = self.done.load(Ordering::Relaxed) as f64 / time.as_secs_f64() / 1e6;
        println!("{what:<34} {rate:>8.2} {gets:>12} {misses:>10} {spin_gets:>10} {sleeps:>8} {:>12}", wait_ns / 1000);
        assert_eq!(gets, self.done.load(Ordering::Relaxed), "every get is counted once");
    }
}

fn in_threads(table: Table, design: Design, count: usize, time: Duration) {
    std::thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(move || table.work(design, time));
        }
    });
}

fn in_processes(table: Table, design: Design, count: usize, time: Duration) -> os::OsResult<()> {
    let mut children = Vec::new();
    for _ in 0..count {
        match fork()? {
            Fork::Parent(child) => children.push(child),
            Fork::Child => {
                table.work(design, time);
                exit_now(0);
            }
        }
    }
    for child in children {
        assert_eq!(wait(child), Some(Ended::Exited(0)));
    }
    Ok(())
}

fn main() -> os::OsResult<()> {
    let mut arguments = std::env::args().skip(1).filter_map(|a| a.parse::<u64>().ok());
    let count = arguments.next().unwrap_or(4).clamp(1, 60) as usize;
    let time = Duration::from_millis(arguments.next().unwrap_or(500));
    let title = format!("{count} at once, 1 write in 16");
    println!(
        "{title:<34} {:>8} {:>12} {:>10} {:>10} {:>8} {:>12}",
        "M/s", "GETS", "MISSES", "SPIN_GETS", "SLEEPS", "WAIT_TIME us"
    );
    let designs = [(Design::Exclusive, "exclusive"), (Design::Shared, "shared"), (Design::Versioned, "versioned")];
    for (algorithm, sleeping) in
        [(SleepAlgorithm::WaitList, "wait list"), (SleepAlgorithm::ExponentialBackOff, "back-off")]
    {
        for (design, name) in designs {
            let table = Table::new(algorithm)?;
            in_threads(table, design, count, time);
            table.print(&format!("threads, {name}, {sleeping}"), time);
            let table = Table::new(algorithm)?;
            in_processes(table, design, count, time)?;
            table.print(&format!("processes, {name}, {sleeping}"), time);
        }
    }
    Ok(())
}
