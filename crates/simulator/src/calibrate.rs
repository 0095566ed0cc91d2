//! Measures the machine that it runs on, by threads that are pinned to processors.
//!
//! Needs no privilege and takes a few seconds. Foreign load makes times longer and never shorter: each figure is the
//! lower quartile of several short runs, so that runs in which a foreign thread interfered are left out. The spread of
//! the transfers goes into the file, so that forecasts from a busy machine have wide bands. Only as many spinners are
//! measured as there are other processors; for more, forecasts need a file from a larger machine of the kind.

use std::hint::{black_box, spin_loop};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity, sched_yield};

use crate::error::Error;
use crate::machine::{Distance, Machine, Scheduler};

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Time of a short run.
    pub run: Duration,
    /// Short runs of a figure.
    pub runs: u32,
    /// Pairs of processors of a distance, at most.
    pub pairs: usize,
}

impl Default for Effort {
    fn default() -> Self {
        Self { run: Duration::from_millis(20), runs: 9, pairs: 8 }
    }
}

/// Measures this machine.
///
/// # Errors
/// Threads cannot be pinned to the processors that this process may use.
pub fn machine(name: &str, effort: Effort) -> Result<Machine, Error> {
    let allowed = sched_getaffinity(None).map_err(|e| Error::new(format!("the affinity cannot be read: {e}")))?;
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
    let places: Vec<Site> = cpus.iter().map(|cpu| Site::of(*cpu)).collect();
    let mut machine = shape(name, &places);
    machine.own_ns = own(cpus[0], effort)?;
    machine.spin_ns = look(cpus[0], effort)?;
    let mut spreads = vec![0.02];
    for distance in Distance::BETWEEN {
        let mut times = Vec::new();
        for (a, b) in pairs(&places, distance, effort.pairs) {
            times.extend(ping_pong(a, b, effort)?);
        }
        if !times.is_empty() {
            let middle = lower(&mut times);
            let inner = (times[times.len() * 3 / 4] - times[times.len() / 4]) / 1.35 / middle;
            spreads.push(inner);
            machine.transfer_ns[distance as usize - 1] = Some(middle);
        }
    }
    machine.spread = spreads.into_iter().fold(0.0, f64::max).min(1.0);
    if let Some((a, b)) = pairs(&places, Distance::Smt, 1).first() {
        machine.smt_throughput = vec![1.0, both_threads(*a, *b, effort)?];
    }
    machine.scheduler = scheduler(&cpus, effort)?;
    for (curve, kind) in [("exclusive", Lock::Latch), ("shared", Lock::Latch), ("mutex", Lock::Mutex)] {
        let mut times = Vec::new();
        for spinners in 0..cpus.len() {
            times.push(handover(kind, &cpus[..=spinners], effort)?);
        }
        machine.handover_ns.insert(curve.to_owned(), times);
    }
    Ok(machine)
}

/// Where a processor is, as the kernel says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Site {
    cpu: usize,
    socket: String,
    core: String,
    /// The processors that share the last cache.
    cache: String,
}

impl Site {
    fn of(cpu: usize) -> Self {
        let read = |path: String| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let at = format!("/sys/devices/system/cpu/cpu{cpu}");
        Self {
            cpu,
            socket: read(format!("{at}/topology/physical_package_id")),
            core: read(format!("{at}/topology/thread_siblings_list")),
            cache: read(format!("{at}/cache/index3/shared_cpu_list")),
        }
    }

    fn distance(&self, other: &Self) -> Distance {
        match () {
            () if self.cpu == other.cpu => Distance::Own,
            () if self.socket != other.socket => Distance::Other,
            () if self.core == other.core && !self.core.is_empty() => Distance::Smt,
            () if self.cache == other.cache => Distance::Die,
            () => Distance::Socket,
        }
    }
}

/// The shape that the processors in use have, without times.
fn shape(name: &str, places: &[Site]) -> Machine {
    let number = |of: &dyn Fn(&Site) -> String| {
        let mut all: Vec<String> = places.iter().map(of).collect();
        all.sort();
        all.dedup();
        all.len().max(1) as u32
    };
    let sockets = number(&|s| s.socket.clone());
    let dies = number(&|s| format!("{} {}", s.socket, s.cache)).div_ceil(sockets);
    let cores = number(&|s| format!("{} {}", s.socket, s.core)).div_ceil(sockets * dies);
    let threads = (places.len() as u32).div_ceil(sockets * dies * cores);
    let mut machine = Machine::ideal(1);
    machine.name = name.to_owned();
    machine.source = "measured by latch-simulator".to_owned();
    (machine.sockets, machine.dies, machine.cores, machine.threads) = (sockets, dies, cores, threads.max(1));
    machine.transfer_ns = [None; 4];
    machine.handover_ns.clear();
    machine
}

fn pairs(places: &[Site], distance: Distance, most: usize) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    for (n, a) in places.iter().enumerate() {
        out.extend(places[n + 1..].iter().filter(|b| a.distance(b) == distance).map(|b| (a.cpu, b.cpu)));
    }
    // Spread over all of them.
    let step = out.len().div_ceil(most.max(1)).max(1);
    out.into_iter().step_by(step).collect()
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}

/// The lower quartile, for times that foreign load can only make longer.
fn lower(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 4).copied().unwrap_or(0.0)
}

fn pin(cpu: usize) -> Result<(), Error> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|e| Error::new(format!("a thread cannot be pinned to processor {cpu}: {e}")))
}

/// One turn of a loop that waits for another thread. After many turns the other cannot be running: it gets this
/// processor's time, so that a measurement on a busy machine ends.
fn turn(turns: &mut u32) {
    *turns = turns.wrapping_add(1);
    if turns.is_multiple_of(1 << 14) {
        sched_yield();
    }
}

/// Runs `work` on a pinned thread of its own, so that the caller's affinity stays.
fn on<T: Send>(cpu: usize, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
    thread::scope(|scope| {
        let pinned = scope.spawn(move || pin(cpu).map(|()| work()));
        pinned.join().unwrap_or_else(|_| Err(Error::new("a measuring thread ended early")))
    })
}

/// The lower quartile over short runs of the time of one operation.
fn each(effort: Effort, mut operation: impl FnMut()) -> f64 {
    const BATCH: u32 = 500;
    let mut times = Vec::new();
    for _ in 0..effort.runs.max(1) {
        let (began, mut done) = (Instant::now(), 0u64);
        while began.elapsed() < effort.run || done == 0 {
            (0..BATCH).for_each(|_| operation());
            done += u64::from(BATCH);
        }
        times.push(began.elapsed().as_nanos() as f64 / done as f64);
    }
    lower(&mut times)
}

/// An atomic operation on a line that no one else has.
fn own(cpu: usize, effort: Effort) -> Result<f64, Error> {
    let word = AtomicU64::new(0);
    on(cpu, || {
        each(effort, || {
            black_box(word.fetch_add(1, Ordering::AcqRel));
        })
    })
}

/// One look of a spin: a load, and a hint to the processor every fourth time.
fn look(cpu: usize, effort: Effort) -> Result<f64, Error> {
    let word = AtomicU32::new(1);
    let mut n = 0u32;
    on(cpu, move || {
        each(effort, || {
            black_box(word.load(Ordering::Relaxed));
            n = n.wrapping_add(1);
            if n.is_multiple_of(4) {
                spin_loop();
            }
        })
    })
}

/// One-way transfers: two threads move a word to and fro by compare and exchange.
fn ping_pong(a: usize, b: usize, effort: Effort) -> Result<Vec<f64>, Error> {
    const OVER: u64 = u64::MAX;
    let mut times = Vec::new();
    for _ in 0..effort.runs.max(1) {
        let (word, start) = (AtomicU64::new(0), Barrier::new(2));
        let answer = || {
            // Odd numbers are this thread's.
            let (mut next, mut turns) = (1, 0);
            while word.load(Ordering::Relaxed) != OVER {
                turn(&mut turns);
                if word.compare_exchange(next, next + 1, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                    next += 2;
                }
            }
        };
        let ask = || {
            let (began, mut next, mut turns) = (Instant::now(), 0, 0);
            while began.elapsed() < effort.run || next == 0 {
                for _ in 0..32 {
                    while word.compare_exchange(next, next + 1, Ordering::AcqRel, Ordering::Relaxed).is_err() {
                        turn(&mut turns);
                    }
                    next += 2;
                }
            }
            let time = began.elapsed().as_nanos() as f64 / next as f64;
            while word.compare_exchange(next, OVER, Ordering::AcqRel, Ordering::Relaxed).is_err() {
                turn(&mut turns);
            }
            time
        };
        // Both are pinned before either begins: alone, one would wait for the other forever.
        let failed = AtomicBool::new(false);
        let begin = |cpu: usize| {
            let pinned = pin(cpu);
            failed.fetch_or(pinned.is_err(), Ordering::AcqRel);
            start.wait();
            match failed.load(Ordering::Acquire) {
                true => Err(pinned.err().unwrap_or_else(|| Error::new("the other thread of a pair cannot be pinned"))),
                false => Ok(()),
            }
        };
        let time = thread::scope(|scope| {
            let other = scope.spawn(|| begin(b).map(|()| answer()));
            let this = scope.spawn(|| begin(a).map(|()| ask()));
            let ended = |_| Err(Error::new("a measuring thread ended early"));
            let time = this.join().unwrap_or_else(ended)?;
            other.join().unwrap_or(Ok(())).map(|()| time)
        })?;
        times.push(time);
    }
    Ok(times)
}

/// The work of a core with two busy threads, as a multiple of that with one.
fn both_threads(a: usize, b: usize, effort: Effort) -> Result<f64, Error> {
    let work = || {
        let mut sum = 1u64;
        each(effort, || sum = black_box(sum.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1)))
    };
    let alone = on(a, work)?;
    let stop = AtomicBool::new(false);
    let together = thread::scope(|scope| {
        let other = scope.spawn(|| {
            let pinned = pin(b);
            let mut sum = 1u64;
            while !stop.load(Ordering::Relaxed) {
                sum = black_box(sum.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
            }
            pinned
        });
        let together = on(a, work);
        stop.store(true, Ordering::Relaxed);
        let _ = other.join();
        together
    })?;
    Ok((2.0 * alone / together).clamp(1.0, 2.0))
}

fn scheduler(cpus: &[usize], effort: Effort) -> Result<Scheduler, Error> {
    let (first, last) = (cpus[0], cpus[cpus.len() - 1]);
    let late = |sleep: Duration| {
        on(last, move || {
            let times = (0..30 * effort.runs.max(1) / 9 + 3).map(|_| {
                let began = Instant::now();
                thread::sleep(sleep);
                began.elapsed().saturating_sub(sleep).as_nanos() as f64 / 1e3
            });
            lower(&mut times.collect::<Vec<_>>())
        })
    };
    let (post, wake) = woken(first, last, false, effort)?;
    let preempt = match cpus.len() {
        1 => None,
        _ => Some(woken(first, last, true, effort)?),
    };
    let yielded = on(first, || each(Effort { run: effort.run / 4, ..effort }, sched_yield))? / 1e3;
    Ok(Scheduler {
        slice_us: Some(slice(first, effort)?),
        wake_idle_us: (cpus.len() > 1).then_some((wake - post).max(0.0)),
        wake_busy_us: Some(post),
        wake_preempt_us: preempt.map(|(post, wake)| (wake - post).max(0.0)),
        late_50us_us: Some(late(Duration::from_micros(50))?),
        late_1ms_us: Some(late(Duration::from_millis(1))?),
        switch_us: switch(first, effort)?,
        yield_us: yielded,
        post_us: post,
    })
}

/// The time of a post, and the time from its begin to the run of the thread that it wakes, in microseconds. Another
/// thread computes on that processor if it is `busy`.
fn woken(from: usize, to: usize, busy: bool, effort: Effort) -> Result<(f64, f64), Error> {
    let epoch = Instant::now();
    let (posted, ready) = (AtomicU64::new(0), AtomicBool::new(false));
    let times = 20 * u64::from(effort.runs.max(1));
    let now = || epoch.elapsed().as_nanos() as u64;
    let over = AtomicBool::new(!busy);
    let (posted, ready, now, over) = (&posted, &ready, &now, &over);
    thread::scope(|scope| {
        scope.spawn(move || {
            let pinned = pin(to);
            while pinned.is_ok() && !over.load(Ordering::Relaxed) {
                spin_loop();
            }
        });
        let sleeper = scope.spawn(move || {
            let pinned = pin(to);
            let mut waits = Vec::new();
            for n in 1..=times {
                ready.store(true, Ordering::Release);
                // The upper part is the number of the post, so that a spurious wake-up is noticed.
                while posted.load(Ordering::Acquire) >> 44 != n {
                    thread::park();
                }
                waits.push((now() - (posted.load(Ordering::Acquire) & ((1 << 44) - 1))) as f64 / 1e3);
            }
            pinned.map(|()| lower(&mut waits))
        });
        let thread_of_sleeper = sleeper.thread().clone();
        let poster = scope.spawn(move || {
            let pinned = pin(from);
            let mut posts = Vec::new();
            for n in 1..=times {
                while !ready.swap(false, Ordering::AcqRel) {
                    sched_yield();
                }
                // Until the sleeper is asleep.
                thread::sleep(Duration::from_micros(100));
                let began = now();
                posted.store(n << 44 | began, Ordering::Release);
                thread_of_sleeper.unpark();
                posts.push((now() - began) as f64 / 1e3);
            }
            pinned.map(|()| lower(&mut posts))
        });
        let ended = |_| Err(Error::new("a measuring thread ended early"));
        let (post, wake) = (poster.join().unwrap_or_else(ended), sleeper.join().unwrap_or_else(ended));
        over.store(true, Ordering::Relaxed);
        Ok((post?, wake?))
    })
}

/// Two threads on a processor that yield to each other: the time of a switch, in microseconds.
fn switch(cpu: usize, effort: Effort) -> Result<f64, Error> {
    let (stop, turns) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let turn = || {
            let pinned = pin(cpu);
            while !stop.load(Ordering::Relaxed) {
                turns.fetch_add(1, Ordering::Relaxed);
                sched_yield();
            }
            pinned
        };
        let both = [scope.spawn(turn), scope.spawn(turn)];
        thread::sleep(effort.run);
        let (began, before) = (Instant::now(), turns.load(Ordering::Relaxed));
        thread::sleep(effort.run * 3);
        let (time, made) = (began.elapsed(), turns.load(Ordering::Relaxed) - before);
        stop.store(true, Ordering::Relaxed);
        for thread in both {
            thread.join().unwrap_or_else(|_| Err(Error::new("a measuring thread ended early")))?;
        }
        Ok(time.as_nanos() as f64 / 1e3 / made.max(1) as f64)
    })
}

/// Two threads on a processor that never give it away: the median time of a run between two pauses, in microseconds.
fn slice(cpu: usize, effort: Effort) -> Result<f64, Error> {
    // A pause is longer than any interrupt, and shorter than any slice.
    const PAUSE: Duration = Duration::from_micros(300);
    let time = effort.run * effort.runs.max(2);
    thread::scope(|scope| {
        let turn = || {
            pin(cpu)?;
            let (began, mut runs) = (Instant::now(), Vec::new());
            let (mut last, mut run) = (began, began);
            while began.elapsed() < time {
                let now = Instant::now();
                if now - last > PAUSE {
                    runs.push((last - run).as_nanos() as f64 / 1e3);
                    run = now;
                }
                last = now;
            }
            Ok(runs)
        };
        let both = [scope.spawn(turn), scope.spawn(turn)];
        let mut runs = Vec::new();
        for thread in both {
            // The first run of a thread began before both were there.
            let of: Vec<f64> = thread.join().unwrap_or_else(|_| Err(Error::new("a measuring thread ended early")))?;
            runs.extend(of.into_iter().skip(1));
        }
        Ok(if runs.is_empty() { time.as_micros() as f64 } else { median(&mut runs).max(1.0) })
    })
}

/// The kind of lock whose hand-over is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lock {
    /// Looks until it is free, then exchanges.
    Latch,
    /// Exchanges at every turn.
    Mutex,
}

/// A lock with its counters on the same line.
#[derive(Default)]
#[repr(align(64))]
struct Measured {
    word: AtomicU32,
    /// Gets so far; a release waits until the next get is seen.
    gets: AtomicU64,
    misses: AtomicU64,
}

impl Measured {
    fn get(&self, kind: Lock) {
        let (mut n, mut turns) = (0u32, 0);
        while self.word.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            loop {
                n += 1;
                turn(&mut turns);
                if kind == Lock::Mutex || n.is_multiple_of(4) {
                    spin_loop();
                }
                if kind == Lock::Mutex || self.word.load(Ordering::Relaxed) == 0 {
                    break;
                }
            }
        }
        // Under the lock, so a plain load and store lose nothing.
        self.gets.store(self.gets.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.misses.store(self.misses.load(Ordering::Relaxed) + u64::from(n > 0), Ordering::Relaxed);
    }
}

/// Work of some hundred nanoseconds that touches no shared memory.
fn hold() {
    for n in 0..60 {
        black_box(n);
    }
}

/// H(k): the time from the begin of a release to the end of the next get, with a spinner on each processor but the
/// first. After a release a thread waits until another one has got the lock, so there are always k spinners.
fn handover(kind: Lock, cpus: &[usize], effort: Effort) -> Result<f64, Error> {
    let alone = on(cpus[0], || each(effort, hold))?;
    let mut times = Vec::new();
    for _ in 0..effort.runs.max(1) {
        let (lock, start, stop) = (Measured::default(), Barrier::new(cpus.len()), AtomicBool::new(false));
        let turns = |cpu: usize, is_first: bool| {
            let pinned = pin(cpu);
            start.wait();
            let (began, mut own, mut waited) = (Instant::now(), 0u64, 0);
            while !stop.load(Ordering::Relaxed) {
                lock.get(kind);
                let mine = lock.gets.load(Ordering::Relaxed);
                hold();
                lock.word.store(0, Ordering::Release);
                own += 1;
                if is_first && own % 16 == 0 && began.elapsed() > effort.run {
                    stop.store(true, Ordering::Relaxed);
                }
                while cpus.len() > 1 && lock.gets.load(Ordering::Relaxed) == mine && !stop.load(Ordering::Relaxed) {
                    turn(&mut waited);
                    spin_loop();
                }
            }
            pinned.map(|()| began.elapsed().as_nanos() as f64)
        };
        let time = thread::scope(|scope| {
            let turns = &turns;
            let all: Vec<_> =
                cpus.iter().enumerate().map(|(n, cpu)| scope.spawn(move || turns(*cpu, n == 0))).collect();
            let ended = |_| Err(Error::new("a measuring thread ended early"));
            let all: Result<Vec<f64>, Error> = all.into_iter().map(|t| t.join().unwrap_or_else(ended)).collect();
            all.map(|all| all.into_iter().fold(0.0, f64::max))
        })?;
        times.push(time / lock.gets.load(Ordering::Relaxed).max(1) as f64);
    }
    Ok((lower(&mut times) - alone).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No time is asserted: what is measured must only be a machine that can be written, read and simulated.
    #[test]
    fn this_machine_is_measured_and_its_file_is_read_back() {
        let effort = Effort { run: Duration::from_millis(1), runs: 1, pairs: 1 };
        let machine = machine("a test", effort).unwrap();
        let allowed = sched_getaffinity(None).unwrap().count() as usize;
        assert!(machine.cpus() as usize >= allowed, "{} {allowed}", machine.cpus());
        for curve in crate::machine::CURVES {
            let times = &machine.handover_ns[curve];
            assert!(times.len() == allowed && times.iter().all(|t| t.is_finite() && *t >= 0.0), "{curve}: {times:?}");
        }
        assert!(machine.own_ns > 0.0 && machine.spin_ns > 0.0);
        assert_eq!(
            machine.distances(machine.cpus().min(2)).iter().filter(|d| machine.transfer(**d).is_none()).count(),
            0
        );
        assert_eq!(Machine::parse(&machine.to_text()).unwrap(), machine);
    }

    #[test]
    fn distances_follow_sockets_cores_and_caches() {
        let site = |cpu, socket: &str, core: &str, cache: &str| Site {
            cpu,
            socket: socket.into(),
            core: core.into(),
            cache: cache.into(),
        };
        let all = [
            site(0, "0", "0,4", "0-1,4"),
            site(4, "0", "0,4", "0-1,4"),
            site(1, "0", "1", "0-1,4"),
            site(2, "0", "2", "2"),
            site(3, "1", "3", "3"),
        ];
        let from_first: Vec<Distance> = all.iter().map(|other| all[0].distance(other)).collect();
        use Distance::{Die, Other, Own, Smt, Socket};
        assert_eq!(from_first, [Own, Smt, Die, Socket, Other]);
        assert_eq!(pairs(&all, Other, 8).len(), 4);
        assert_eq!(pairs(&all, Other, 2).len(), 2);
    }
}
