//! Processes killed with `kill -9` at random instants, while they move elements between lists under latches.
//!
//! Each list is a chain in the SGA with its own latch (or version) and a count that must agree. After a death at any
//! instruction every element is in exactly one list, the counts are right, no latch stays held, and no process hangs.
//! The short form takes seconds; `LATCHWORK_KILL_SECONDS=600` runs the long one.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use latch::{Latch, LatchName, Mutex, MutexKind, SleepAlgorithm, Versioned, Where};
use process::{CleanupOrder, LatchSet, Process, Processes};
use sga::{SgaSlice, sga_struct};
use testing::{Random, attach, instance, kill_children};

sga_struct! {
    /// A list of elements, as numbers + 1.
    struct Chain {
        first: AtomicU32,
        count: AtomicU32,
        pad: AtomicU64,
    }
    /// An element.
    struct Element {
        next: AtomicU32,
        moves: AtomicU32,
    }
}

const LISTS: usize = 4;
const ELEMENTS: usize = 40;

struct Layout {
    chains: SgaSlice<Chain>,
    elements: SgaSlice<Element>,
    latches: SgaSlice<Latch>,
    versioned: SgaSlice<Versioned>,
    mutexes: SgaSlice<Mutex>,
    shared: SgaSlice<AtomicU64>,
}

#[derive(Clone, Copy)]
struct Lists {
    chains: &'static [Chain],
    elements: &'static [Element],
    latches: &'static [Latch],
    versioned: &'static [Versioned],
    mutexes: &'static [Mutex],
    /// Two words that are equal whenever no process writes them: under `versioned[LISTS]`.
    pair: &'static [AtomicU64],
}

fn setup(processes: u32) -> (&'static Processes, Lists) {
    let (all, layout) = instance(processes, |b| Layout {
        chains: b.reserve("chains", LISTS),
        elements: b.reserve("elements", ELEMENTS),
        latches: b.reserve("latches", LISTS),
        versioned: b.reserve("versioned", LISTS + 1),
        mutexes: b.reserve("mutexes", LISTS),
        shared: b.reserve("pair", 2),
    });
    let sga = all.sga();
    let lists = Lists {
        chains: sga.slice(layout.chains),
        elements: sga.slice(layout.elements),
        latches: sga.slice(layout.latches),
        versioned: sga.slice(layout.versioned),
        mutexes: sga.slice(layout.mutexes),
        pair: sga.slice(layout.shared),
    };
    let generation = all.domain().tunables().generation();
    for (n, latch) in lists.latches.iter().enumerate() {
        latch.format(LatchName::TestUnit, n as u32 + 1, generation);
    }
    for (n, versioned) in lists.versioned.iter().enumerate() {
        versioned.format(LatchName::TestShared, n as u32 + 1, generation);
    }
    all.register_children(LatchName::TestUnit, LatchSet::Plain(lists.latches));
    all.register_children(LatchName::TestShared, LatchSet::Versioned(lists.versioned));
    for (n, element) in lists.elements.iter().enumerate() {
        let chain = &lists.chains[n % LISTS];
        element.next.store(chain.first.swap(n as u32 + 1, Ordering::Relaxed), Ordering::Relaxed);
        chain.count.fetch_add(1, Ordering::Relaxed);
    }
    (all, lists)
}

impl Lists {
    /// Moves the first element of one list to the front of another, under both latches.
    fn take_and_put(&self, p: &Process, from: usize, to: usize) {
        let (low, high) = (from.min(to), from.max(to));
        let first = p.lock(&self.latches[low], Where::TestExclusive, low as u64);
        let second = p.lock(&self.latches[high], Where::TestSecond, high as u64);
        let (a, b) = if from == low { (&first, &second) } else { (&second, &first) };
        let number = self.chains[from].first.load(Ordering::Relaxed);
        if number != 0 {
            let element = &self.elements[number as usize - 1];
            a.set32(&self.chains[from].first, element.next.load(Ordering::Relaxed));
            a.set32(&self.chains[from].count, self.chains[from].count.load(Ordering::Relaxed) - 1);
            b.set32(&element.next, self.chains[to].first.load(Ordering::Relaxed));
            b.set32(&element.moves, element.moves.load(Ordering::Relaxed) + 1);
            b.set32(&self.chains[to].first, number);
            b.set32(&self.chains[to].count, self.chains[to].count.load(Ordering::Relaxed) + 1);
        }
        first.end_with(second);
    }

    fn write_pair(&self, p: &Process) {
        let section = p.write_versioned(&self.versioned[LISTS], Where::TestVersioned, 1);
        let next = section.add(&self.pair[0], 1);
        section.set(&self.pair[1], next);
    }

    fn read_pair(&self, p: &Process) {
        let pair = p.read_versioned(&self.versioned[LISTS], Where::TestVersioned, || {
            [self.pair[0].load(Ordering::Relaxed), self.pair[1].load(Ordering::Relaxed)]
        });
        assert_eq!(pair[0], pair[1], "a versioned reader sees whole data");
    }

    /// Counts the elements of a list under its latch, shared.
    fn count_shared(&self, p: &Process, list: usize) {
        let _hold = p.lock_shared(self.versioned[list].latch(), Where::TestShare, list as u64);
        std::hint::black_box(self.chains[list].count.load(Ordering::Relaxed));
    }

    fn step(&self, p: &Process, random: u64) {
        let (from, to) = (random as usize >> 8 & 3, random as usize >> 10 & 3);
        match random >> 20 & 7 {
            0..=2 if from != to => self.take_and_put(p, from, to),
            3 => self.write_pair(p),
            4 => self.count_shared(p, from),
            5 => drop(p.write_versioned(&self.versioned[from], Where::TestVersioned, 0)),
            6 => drop(p.mutex(&self.mutexes[from], MutexKind::RowCache, Where::KqrMutexFind, 1)),
            7 => drop(p.mutex_shared(&self.mutexes[from], MutexKind::RowCache, Where::KqrMutexFind, 1)),
            _ => self.read_pair(p),
        }
    }

    fn assert_invariants(&self) {
        let mut seen = [false; ELEMENTS];
        for (n, chain) in self.chains.iter().enumerate() {
            let mut count = 0;
            let mut at = chain.first.load(Ordering::Relaxed);
            while at != 0 {
                assert!(!std::mem::replace(&mut seen[at as usize - 1], true), "element {at} is in two places");
                count += 1;
                at = self.elements[at as usize - 1].next.load(Ordering::Relaxed);
            }
            assert_eq!(count, chain.count.load(Ordering::Relaxed), "the count of list {n}");
        }
        assert!(seen.iter().all(|s| *s), "an element is lost");
        assert_eq!(self.pair[0].load(Ordering::Relaxed), self.pair[1].load(Ordering::Relaxed));
        for latch in self.latches.iter().chain(self.versioned.iter().map(Versioned::latch)) {
            assert!(!latch.is_held(), "{latch:?}");
        }
        assert!(self.versioned.iter().all(|v| !v.version().is_odd()));
        assert!(self.mutexes.iter().all(|m| m.value() == 0), "{:?}", self.mutexes);
    }
}

fn kill_time() -> Duration {
    let seconds = std::env::var("LATCHWORK_KILL_SECONDS").ok().and_then(|s| s.parse().ok());
    seconds.map_or(Duration::from_millis(2500), Duration::from_secs)
}

fn torture(algorithm: SleepAlgorithm, seed: u64) {
    let (all, lists) = setup(12);
    all.domain().tunables().set_sleep_algorithm(algorithm);
    // A hook that needs latches which other dead processes may hold.
    all.on_death(CleanupOrder::Session, "look", move |by, _| {
        (0..LISTS).for_each(|n| drop(by.lock(&lists.latches[n], Where::TestExclusive, 0)));
        lists.write_pair(by);
        lists.read_pair(by);
        drop(by.mutex(&lists.mutexes[0], MutexKind::RowCache, Where::KqrMutexFind, 1));
    });
    let pmon = attach(all, "pmon");
    let kills = kill_children(&pmon, 4, kill_time(), seed, |p, seed| {
        let mut numbers = Random::new(seed);
        loop {
            let random = numbers.next();
            lists.step(p, random >> 16);
        }
    });
    lists.assert_invariants();
    assert!(kills.killed > 40, "{kills:?}");
    assert!(kills.holding > 0, "{kills:?}: some died with a latch in their hands");
    let moves: u64 = lists.elements.iter().map(|e| u64::from(e.moves.load(Ordering::Relaxed))).sum();
    assert!(moves > 1000, "{moves} moves: the survivors went on");
    assert_eq!(all.live().count(), 1, "only the cleaner is left");
}

#[test]
fn killed_processes_leave_whole_lists_with_wait_lists() {
    torture(SleepAlgorithm::WaitList, 3);
}

#[test]
fn killed_processes_leave_whole_lists_with_back_off() {
    torture(SleepAlgorithm::ExponentialBackOff, 5);
}
