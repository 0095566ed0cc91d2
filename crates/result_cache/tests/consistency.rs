//! Readers and writers at once must never see a stale or a future row; a model that keeps every version checks them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use enqueue::{EnqueueConfig, EnqueueLayout, Enqueues};
use process::{CleanupOrder, Process};
use result_cache::{Config, Description, Design, Key, Layout, Namespace, Opened, ResultBuffer, ResultCache, Statistic};
use testing::Random;
use types::{ObjectId, Scn};

const OBJECTS: u32 = 3;
const ABOUT: Description<'static> =
    Description { name: "select v from t", namespace: Namespace::Sql, creator: 0, column_count: 1 };

/// Largest number of commits in a model.
const COMMITS_MAX: usize = 1 << 18;

/// Tables of one value each; every version is kept with the SCN of its commit. The model lies in memory shared with
/// child processes, and stays consistent when one of them dies.
#[derive(Clone, Copy)]
struct Model {
    scn: &'static AtomicU64,
    /// By SCN: the changed table, plus one. The first SCN created all.
    changed: &'static [AtomicU64],
}

impl Model {
    fn new() -> Model {
        let words: &'static [AtomicU64] = os::memory::shared_slice(COMMITS_MAX).unwrap();
        let (scn, changed) = words.split_first().unwrap();
        scn.store(1, Ordering::Relaxed);
        Model { scn, changed }
    }

    fn now(&self) -> u64 {
        self.scn.load(Ordering::Acquire)
    }

    fn value(&self, object: u32, scn: u64) -> u64 {
        let is_its = |at: &u64| self.changed[*at as usize].load(Ordering::Relaxed) == u64::from(object) + 1;
        let at = (2..=scn).rev().find(is_its).unwrap_or(1);
        (at * 31 + u64::from(object)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44
    }

    /// A commit, visible at once to readers that load the SCN afterwards. Completes the commit of a process that died
    /// before the SCN was raised.
    fn commit(&self, object: u32) -> u64 {
        loop {
            let scn = self.now();
            let next = &self.changed[scn as usize + 1];
            let ours = next.compare_exchange(0, u64::from(object) + 1, Ordering::AcqRel, Ordering::Relaxed).is_ok();
            let _ = self.scn.compare_exchange(scn, scn + 1, Ordering::AcqRel, Ordering::Relaxed);
            if ours {
                return scn + 1;
            }
        }
    }
}

/// Reads the sum of two objects through the cache and checks it against the model. Returns whether it was a hit.
fn read(cache: &ResultCache, enqueues: &Enqueues, model: &Model, p: &Process, random: &mut Random) -> bool {
    let (a, b) = (random.below(OBJECTS), random.below(OBJECTS));
    let depends = [ObjectId(100 + a), ObjectId(100 + b)];
    cache.track(p, &depends, || Scn(model.now()));
    let now = model.now();
    // Now and then an older snapshot, as a long query has.
    let snapshot = now.saturating_sub(if random.below(4) == 0 { random.below(3) } else { 0 }).max(1);
    let expected = model.value(a, snapshot) + model.value(b, snapshot);
    // The same rows under several keys, so that not all results fit.
    let key = [a as u8, b as u8, random.below(5) as u8];
    let mut buffer = ResultBuffer::new();
    match cache.open(p, enqueues, Key::new(&key), ABOUT, &depends, Scn(snapshot), &mut buffer).unwrap() {
        Opened::Hit => {
            let row = buffer.next_row().expect("one row");
            assert_eq!(u64::from_le_bytes(row[..8].try_into().unwrap()), expected, "as of {snapshot}");
            assert_eq!(row.len(), 8 + (expected % 3000) as usize);
            assert!(buffer.next_row().is_none());
            true
        }
        Opened::Build(mut build) => {
            let mut row = expected.to_le_bytes().to_vec();
            row.resize(8 + (expected % 3000) as usize, 1);
            cache.push(&mut build, &row);
            if random.below(10) == 0 {
                cache.abandon(p, enqueues, build);
            } else {
                cache.publish(p, enqueues, build);
            }
            false
        }
        Opened::Bypass => false,
    }
}

fn write(cache: &ResultCache, model: &Model, p: &Process, random: &mut Random) {
    let object = random.below(OBJECTS);
    let touched = [ObjectId(100 + object)];
    cache.before_visible(p, &touched);
    let scn = model.commit(object);
    cache.after(p, Scn(scn), &touched);
}

fn storm(design: Design, blocks: u64, time: Duration) {
    let config =
        Config { max_size_bytes: blocks * 1024, max_result_percent: 100, timeout_ms: 1000, design, processes: 8 };
    let (all, (enqueues, layout)) = testing::instance(8, |b| {
        (EnqueueLayout::reserve(b, &EnqueueConfig::for_processes(8)), Layout::reserve(b, &config))
    });
    let enqueues = Enqueues::create(all, &enqueues);
    let cache = ResultCache::create(all, &layout, &config);
    let model = Model::new();
    let end = Instant::now() + time;
    let hits = testing::run_threads(all, 5, |p, n| {
        let mut random = Random::new(0x1234_5678 + n as u64);
        let mut hits = 0u64;
        while Instant::now() < end {
            if n == 0 {
                write(&cache, &model, p, &mut random);
                std::thread::sleep(Duration::from_micros(random.below(300)));
            } else {
                hits += u64::from(read(&cache, &enqueues, &model, p, &mut random));
            }
        }
        hits
    });
    assert!(hits.iter().sum::<u64>() > 0, "nothing was ever read from the cache");
    cache.assert_invariants().unwrap();
    assert!(cache.object_rows().iter().all(|object| object.pin_count == 0), "no pin is left");
}

#[test]
fn exclusive_designs_return_only_rows_as_of_the_snapshot() {
    storm(Design::ExclusiveLong, 64, Duration::from_millis(700));
    storm(Design::ExclusiveShort, 32, Duration::from_millis(700));
}

#[test]
fn the_shared_design_returns_only_rows_as_of_the_snapshot() {
    storm(Design::Shared, 64, Duration::from_millis(700));
}

#[test]
fn the_versioned_design_returns_only_rows_as_of_the_snapshot() {
    storm(Design::Versioned, 32, Duration::from_millis(700));
    storm(Design::Versioned, 256, Duration::from_millis(700));
}

#[test]
fn killed_processes_leave_the_cache_whole_and_nobody_waiting() {
    for design in [Design::ExclusiveLong, Design::ExclusiveShort, Design::Shared, Design::Versioned] {
        let config =
            Config { max_size_bytes: 64 * 1024, max_result_percent: 100, timeout_ms: 2000, design, processes: 8 };
        let (all, (enqueue_layout, layout)) = testing::instance(8, |b| {
            (EnqueueLayout::reserve(b, &EnqueueConfig::for_processes(8)), Layout::reserve(b, &config))
        });
        let enqueues = Enqueues::create(all, &enqueue_layout);
        let cache: &'static ResultCache = Box::leak(Box::new(ResultCache::create(all, &layout, &config)));
        let model = Model::new();
        all.on_death(CleanupOrder::Builds, "result cache", move |by, dead| cache.cleanup(by, dead, Scn(model.now())));
        let pmon = testing::attach(all, "PMON");
        let seen: &'static [AtomicU64] = os::memory::shared_slice(2).unwrap();
        let kills = testing::kill_children(&pmon, 3, Duration::from_millis(900), 11, |p, seed| {
            let mut random = Random::new(seed);
            loop {
                let hit = read(cache, &enqueues, &model, p, &mut random);
                seen[usize::from(hit)].fetch_add(1, Ordering::Relaxed);
                if random.below(20) == 0 && model.now() < COMMITS_MAX as u64 - 100 {
                    write(cache, &model, p, &mut random);
                }
            }
        });
        assert!(kills.killed > 50, "{design:?}: {kills:?}");
        cache.assert_invariants().unwrap();
        assert!(cache.object_rows().iter().all(|object| object.pin_count == 0), "no pin is left");
        let [missed, hits] = [0, 1].map(|n| seen[n].load(Ordering::Relaxed));
        assert!(hits > 100 && missed > 100, "{design:?}: {hits} hits and {missed} misses");
        let evicted = cache.statistic(Statistic::DeleteCountValid);
        let stale = cache.statistic(Statistic::DeleteCountInvalid);
        assert!(evicted > 0 && stale > 0 && model.now() > 100, "{design:?}: {evicted} evicted, {stale} stale");
        // The cache is undamaged: about half of the results fit.
        let mut random = Random::new(5);
        let hits = (0..300).filter(|_| read(cache, &enqueues, &model, &pmon, &mut random)).count();
        assert!(hits > 20, "{design:?}: {hits} hits afterwards");
    }
}

/// All designs side by side: a switch waits for nobody.
#[test]
fn only_rows_as_of_the_snapshot_are_returned_while_designs_are_switched() {
    const SWITCHES: usize = 20_000;
    let config = Config {
        max_size_bytes: 48 * 1024,
        max_result_percent: 100,
        timeout_ms: 1000,
        design: Design::Versioned,
        processes: 8,
    };
    let (all, (enqueues, layout)) = testing::instance(8, |b| {
        (EnqueueLayout::reserve(b, &EnqueueConfig::for_processes(8)), Layout::reserve(b, &config))
    });
    let enqueues = Enqueues::create(all, &enqueues);
    let cache = ResultCache::create(all, &layout, &config);
    let model = Model::new();
    let over = AtomicU64::new(0);
    let hits = testing::run_threads(all, 5, |p, n| {
        let mut random = Random::new(0x77 + n as u64);
        let mut hits = 0u64;
        if n == 0 {
            for turn in 0..SWITCHES {
                cache.switch(Design::ALL[random.below(Design::ALL.len())]);
                if turn % 64 == 0 {
                    write(&cache, &model, p, &mut random);
                    std::thread::yield_now();
                }
            }
            over.store(1, Ordering::Release);
        } else {
            let mut turns = 0;
            while over.load(Ordering::Acquire) == 0 || turns < 2_000 {
                hits += u64::from(read(&cache, &enqueues, &model, p, &mut random));
                turns += 1;
            }
        }
        hits
    });
    assert!(hits.iter().sum::<u64>() > 100, "{hits:?}");
    cache.assert_invariants().unwrap();
    assert!(cache.object_rows().iter().all(|object| object.pin_count == 0), "no pin is left");
}
