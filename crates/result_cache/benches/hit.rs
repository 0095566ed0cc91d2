//! Nanoseconds of a hit of one 210-byte row, by design, and of the same copy out of a locked `HashMap`.
//!
//!     cargo bench -p result_cache
//!
//! Rounds are interleaved and medians are printed, for one and for two threads.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::RwLock;
use std::time::Instant;

use enqueue::{EnqueueConfig, EnqueueLayout, Enqueues};
use process::{Process, Processes};
use result_cache::{Config, Description, Design, Key, Layout, Namespace, Opened, ResultBuffer, ResultCache};
use types::{ObjectId, Scn};

const KEYS: u32 = 10_000;
const ROUNDS: usize = 9;
const READS: u32 = 400_000;
const ABOUT: Description<'static> =
    Description { name: "bench", namespace: Namespace::Sql, creator: 0, column_count: 2 };

struct Fixture {
    name: &'static str,
    all: &'static Processes,
    enqueues: Enqueues,
    cache: ResultCache,
}

fn fixture(name: &'static str, design: Design) -> Fixture {
    let config = Config { max_size_bytes: 32 << 20, max_result_percent: 5, timeout_ms: 1000, design, processes: 8 };
    let (all, (enqueues, layout)) = testing::instance(8, |b| {
        (EnqueueLayout::reserve(b, &EnqueueConfig::for_processes(8)), Layout::reserve(b, &config))
    });
    let enqueues = Enqueues::create(all, &enqueues);
    let fixture = Fixture { name, all, enqueues, cache: ResultCache::create(all, &layout, &config) };
    let p = testing::attach(all, "bench");
    fixture.cache.track(&p, &[ObjectId(1)], || Scn(1));
    for key in 0..KEYS {
        assert!(!fixture.read(&p, key, &mut ResultBuffer::new()));
    }
    fixture
}

impl Fixture {
    fn read(&self, p: &Process, key: u32, buffer: &mut ResultBuffer) -> bool {
        let mut bytes = [7u8; 24];
        bytes[20..].copy_from_slice(&key.to_le_bytes());
        let depends = [ObjectId(1)];
        match self.cache.open(p, &self.enqueues, Key::new(&bytes), ABOUT, &depends, Scn(5), buffer).expect("no error") {
            Opened::Hit => true,
            Opened::Build(mut build) => {
                self.cache.push(&mut build, &[key as u8; 210]);
                self.cache.publish(p, &self.enqueues, build);
                false
            }
            Opened::Bypass => panic!("the cache is large enough"),
        }
    }

    fn time(&self, threads: usize) -> f64 {
        let times = testing::run_threads(self.all, threads, |p, n| {
            let mut buffer = ResultBuffer::new();
            let mut key = n as u32 * 77;
            let started = Instant::now();
            for _ in 0..READS {
                key = key.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                assert!(self.read(p, (key >> 8) % KEYS, &mut buffer));
                black_box(buffer.next_row().expect("a row").len());
            }
            started.elapsed().as_nanos() as f64 / f64::from(READS)
        });
        times.iter().sum::<f64>() / times.len() as f64
    }
}

fn time_map(map: &RwLock<HashMap<u32, Vec<u8>>>, threads: usize) -> f64 {
    let times: Vec<f64> = std::thread::scope(|scope| {
        let one = |n: usize| {
            let mut buffer = Vec::new();
            let mut key = n as u32 * 77;
            let started = Instant::now();
            for _ in 0..READS {
                key = key.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                buffer.clear();
                buffer.extend_from_slice(&map.read().expect("no panic")[&((key >> 8) % KEYS)]);
                black_box(buffer.len());
            }
            started.elapsed().as_nanos() as f64 / f64::from(READS)
        };
        let running: Vec<_> = (0..threads).map(|n| scope.spawn(move || one(n))).collect();
        running.into_iter().map(|t| t.join().expect("no panic")).collect()
    });
    times.iter().sum::<f64>() / times.len() as f64
}

fn main() {
    let fixtures = [
        fixture("exclusive, long hold (11.1)", Design::ExclusiveLong),
        fixture("exclusive, short hold (11.2.0.1)", Design::ExclusiveShort),
        fixture("shared (11.2.0.3)", Design::Shared),
        fixture("versioned", Design::Versioned),
    ];
    let map = RwLock::new((0..KEYS).map(|key| (key, vec![key as u8; 210])).collect());
    println!("{:<36} {:>12} {:>12}", "ns a hit, 210 bytes of 10,000", "1 thread", "2 threads");
    let mut figures = vec![[Vec::new(), Vec::new()]; fixtures.len() + 1];
    for _ in 0..ROUNDS {
        for threads in [1, 2] {
            for (at, fixture) in fixtures.iter().enumerate() {
                figures[at][threads - 1].push(fixture.time(threads));
            }
            figures[fixtures.len()][threads - 1].push(time_map(&map, threads));
        }
    }
    let names = fixtures.iter().map(|f| f.name).chain(["RwLock<HashMap> of std"]);
    for (name, figures) in names.zip(&mut figures) {
        let [one, two] = figures.each_mut().map(|all| {
            all.sort_by(f64::total_cmp);
            all[all.len() / 2]
        });
        println!("{name:<36} {one:>12.1} {two:>12.1}");
    }
}
