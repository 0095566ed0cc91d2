//! Nanoseconds of a lookup that hits, by design, and of the same lookup in a locked `HashMap`.
//!
//!     cargo bench -p row_cache
//!
//! The bench reads seventy rows of one cache in turn, as a query on `nls_database_parameters` does. Rounds are
//! interleaved; medians are printed, for one and for two threads.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::RwLock;
use std::time::Instant;

use latch::Generation;
use process::{Process, Processes};
use row_cache::{Cache, Config, Design, Found, Key, Layout, RowCache, RowValue};

const ROWS: usize = 70;
const ROUNDS: usize = 9;
const PASSES: usize = 5_000;

struct Fixture {
    name: &'static str,
    all: &'static Processes,
    cache: &'static RowCache,
    keys: Vec<(Vec<u8>, u64)>,
}

fn fixture(name: &'static str, design: Design, hot_copy_sleep_limit: u64) -> Fixture {
    let config = Config {
        objects: 4096,
        design,
        processes: 8,
        hot_copy_sleep_limit,
        hot_copies: 4,
        generation: Generation::default(),
    };
    let (all, layout) = testing::instance(8, |b| Layout::reserve(b, &config));
    let cache = Box::leak(Box::new(RowCache::create(all, &layout, &config)));
    let keys = (0..ROWS).map(|n| {
        let key = format!("NLS_PARAMETER_{n}").into_bytes();
        let hash = Key::new(Cache::Props, &key).hash();
        (key, hash)
    });
    Fixture { name, all, cache, keys: keys.collect() }
}

impl Fixture {
    fn read(&self, p: &Process, value: &mut RowValue) {
        for (key, hash) in &self.keys {
            match self.cache.get(p, &Key::hashed(Cache::Props, key, *hash), value) {
                Found::Hit => {
                    black_box(value.bytes().len());
                }
                Found::Miss(load) => assert!(load.store(Some(b"DD-MON-RR HH.MI.SSXFF AM"))),
                Found::Bypass => panic!("the cache is large enough"),
            }
        }
    }

    fn time(&self, threads: usize) -> f64 {
        let times = testing::run_threads(self.all, threads, |p, _| {
            let mut value = RowValue::new();
            self.read(p, &mut value);
            let started = Instant::now();
            (0..PASSES).for_each(|_| self.read(p, &mut value));
            started.elapsed().as_nanos() as f64 / (PASSES * ROWS) as f64
        });
        times.iter().sum::<f64>() / times.len() as f64
    }
}

fn time_map(threads: usize) -> f64 {
    let map: RwLock<HashMap<Vec<u8>, Vec<u8>>> =
        RwLock::new((0..ROWS).map(|n| (format!("NLS_PARAMETER_{n}").into_bytes(), vec![7; 24])).collect());
    let keys: Vec<Vec<u8>> = map.read().unwrap().keys().cloned().collect();
    let one = || {
        let mut buffer = Vec::new();
        let started = Instant::now();
        for _ in 0..PASSES {
            for key in &keys {
                buffer.clear();
                buffer.extend_from_slice(&map.read().unwrap()[key]);
                black_box(buffer.len());
            }
        }
        started.elapsed().as_nanos() as f64 / (PASSES * ROWS) as f64
    };
    let times: Vec<f64> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        running.into_iter().map(|t| t.join().unwrap()).collect()
    });
    times.iter().sum::<f64>() / times.len() as f64
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let fixtures = [
        fixture("latch", Design::Latch, u64::MAX),
        fixture("mutex", Design::Mutex, u64::MAX),
        fixture("hot copies", Design::HotCopies, 0),
        fixture("versioned", Design::Versioned, u64::MAX),
    ];
    println!("{:24} {:>10} {:>10}", "ns a lookup", "1 thread", "2 threads");
    let mut times = vec![[Vec::new(), Vec::new()]; fixtures.len() + 1];
    for _ in 0..ROUNDS {
        for (n, by_threads) in times.iter_mut().enumerate() {
            for (threads, list) in by_threads.iter_mut().enumerate() {
                list.push(fixtures.get(n).map_or_else(|| time_map(threads + 1), |f| f.time(threads + 1)));
            }
        }
    }
    for (n, [one, two]) in times.into_iter().enumerate() {
        let name = fixtures.get(n).map_or("RwLock<HashMap>", |f| f.name);
        println!("{name:24} {:10.1} {:10.1}", median(one), median(two));
    }
}
