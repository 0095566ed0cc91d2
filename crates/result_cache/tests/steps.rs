//! A process is killed at every step of every operation: the cache stays consistent, nobody waits for the dead process,
//! and no old row is returned.

use std::sync::atomic::{AtomicU64, Ordering};

use enqueue::{EnqueueConfig, EnqueueLayout, Enqueues};
use process::{CleanupOrder, Process};
use result_cache::{
    Config, Description, Design, Key, Kind, Layout, Namespace, Opened, ResultBuffer, ResultCache, Status,
};
use testing::EVERY_STEP;
use types::{ObjectId, Scn};

const ABOUT: Description<'static> =
    Description { name: "select v from t", namespace: Namespace::Sql, creator: 0, column_count: 1 };
const BLOCKS: u64 = 32;
/// The keys that the check reads.
const KEYS: u64 = 6;

/// The cache, and a table whose value is the SCN of its last change.
struct Bench {
    cache: &'static ResultCache,
    enqueues: Enqueues,
    pmon: Process,
    /// The SCN, and the SCN of the last change of the table; both are shared with child processes.
    scn: &'static [AtomicU64],
}

/// The result of a read.
#[derive(Debug, PartialEq)]
enum Read {
    Hit,
    Built,
    Bypass,
}

impl Bench {
    fn new(design: Design) -> Bench {
        let config =
            Config { max_size_bytes: BLOCKS * 1024, max_result_percent: 100, timeout_ms: 300, design, processes: 4 };
        let (all, (enqueue_layout, layout)) = testing::instance(4, |b| {
            (EnqueueLayout::reserve(b, &EnqueueConfig::for_processes(4)), Layout::reserve(b, &config))
        });
        let enqueues = Enqueues::create(all, &enqueue_layout);
        let cache: &'static ResultCache = Box::leak(Box::new(ResultCache::create(all, &layout, &config)));
        let scn: &'static [AtomicU64] = os::memory::shared_slice(2).unwrap();
        scn.iter().for_each(|word| word.store(1, Ordering::Relaxed));
        let now = move || Scn(scn[0].load(Ordering::Relaxed));
        all.on_death(CleanupOrder::Builds, "result cache", move |by, dead| cache.cleanup(by, dead, now()));
        Bench { cache, enqueues, pmon: testing::attach(all, "PMON"), scn }
    }

    fn now(&self) -> Scn {
        Scn(self.scn[0].load(Ordering::Relaxed))
    }

    /// The current row of a key, `blocks` blocks long.
    fn row(&self, key: u64, blocks: u64) -> Vec<u8> {
        let mut row = (self.scn[1].load(Ordering::Relaxed) << 8 | key).to_le_bytes().to_vec();
        row.resize(if blocks == 1 { 40 } else { (blocks as usize - 1) * 1000 }, 0xee);
        row
    }

    fn objects(&self) -> [ObjectId; 2] {
        [ObjectId(100), ObjectId(101)]
    }

    fn read(&self, p: &Process, key: u64, blocks: u64) -> Read {
        let depends = self.objects();
        self.cache.track(p, &depends, || self.now());
        let bytes = key.to_le_bytes();
        let mut buffer = ResultBuffer::new();
        let (cache, key_of) = (self.cache, Key::new(&bytes));
        match cache.open(p, &self.enqueues, key_of, ABOUT, &depends, self.now(), &mut buffer).unwrap() {
            Opened::Hit => {
                let row = buffer.next_row().expect("one row");
                assert_eq!(row[..8], self.row(key, blocks)[..8], "key {key}: as the table is now");
                assert!(row[8..].iter().all(|byte| *byte == 0xee), "key {key}");
                Read::Hit
            }
            Opened::Build(mut build) => {
                cache.push(&mut build, &self.row(key, blocks));
                if cache.publish(p, &self.enqueues, build) { Read::Built } else { Read::Bypass }
            }
            Opened::Bypass => Read::Bypass,
        }
    }

    /// Commits a change of the table.
    fn change(&self, p: &Process, objects: &[ObjectId]) {
        self.cache.before_visible(p, objects);
        let scn = self.scn[0].fetch_add(1, Ordering::Relaxed) + 1;
        self.scn[1].store(scn, Ordering::Relaxed);
        self.cache.after(p, Scn(scn), objects);
    }

    /// Fills the cache for the next child: some small results, some large ones.
    fn fill(&self) {
        for key in 0..KEYS {
            assert_ne!(self.read(&self.pmon, key, 1 + key % 3), Read::Bypass);
        }
    }

    fn check(&self, what: &str) {
        self.cache.assert_invariants().unwrap_or_else(|e| panic!("{what}: {e}"));
        assert!(self.cache.object_rows().iter().all(|object| object.pin_count == 0), "{what}: no pin is left");
        assert!(self.cache.object_rows().iter().all(|object| object.status != Status::New), "{what}: nobody builds");
        // Later than any commit that was in progress.
        self.scn[0].fetch_add(1, Ordering::Relaxed);
        for key in 0..KEYS + 2 {
            let read = self.read(&self.pmon, key, 1 + key % 3);
            assert_ne!(read, Read::Bypass, "{what}: key {key} can be had");
        }
        let objects = self.cache.object_rows();
        let mut dependencies = objects.iter().filter(|object| object.kind == Kind::Dependency);
        assert!(dependencies.all(|object| object.status == Status::Published), "{what}: no dependency is half-made");
        self.cache.assert_invariants().unwrap_or_else(|e| panic!("{what}: {e}"));
    }
}

/// One operation of a process on the cache.
type Operation = (&'static str, fn(&Bench, &Process, &dyn Fn()));

const OPERATIONS: &[Operation] = &[
    ("a hit", |bench, p, arm| {
        arm();
        bench.read(p, 1, 2);
    }),
    ("a new result", |bench, p, arm| {
        arm();
        bench.read(p, KEYS, 1);
    }),
    ("a new result in place of a stale one", |bench, p, arm| {
        bench.change(p, &bench.objects());
        arm();
        bench.read(p, 0, 1);
    }),
    ("a new large result in place of a stale one", |bench, p, arm| {
        bench.change(p, &bench.objects());
        arm();
        bench.read(p, 2, 5);
    }),
    ("a result that others have to go for", |bench, p, arm| {
        // Small results fill the cache.
        for key in 50..50 + BLOCKS {
            bench.read(p, key, 1);
        }
        arm();
        bench.read(p, 10, 12);
    }),
    ("a small result that a large one goes for", |bench, p, arm| {
        for key in 60..64 {
            bench.read(p, key, 9);
        }
        arm();
        bench.read(p, 11, 1);
    }),
    ("a result that is given up", |bench, p, arm| {
        let (bytes, mut buffer) = (77u64.to_le_bytes(), ResultBuffer::new());
        arm();
        let (cache, depends) = (bench.cache, bench.objects());
        let opened = cache.open(p, &bench.enqueues, Key::new(&bytes), ABOUT, &depends, bench.now(), &mut buffer);
        if let Opened::Build(build) = opened.unwrap() {
            cache.abandon(p, &bench.enqueues, build);
        }
    }),
    ("a commit", |bench, p, arm| {
        arm();
        bench.change(p, &bench.objects());
    }),
    ("a commit of more objects than are kept apart", |bench, p, arm| {
        let many: Vec<ObjectId> = (100..138).map(ObjectId).collect();
        bench.cache.track(p, &many, || bench.now());
        arm();
        bench.change(p, &many);
    }),
    ("a flush", |bench, p, arm| {
        arm();
        bench.cache.flush(p);
    }),
    ("new dependencies", |bench, p, arm| {
        bench.cache.flush(p);
        arm();
        bench.read(p, 3, 1);
    }),
];

fn sweep(design: Design) {
    for (what, operation) in OPERATIONS {
        let bench = Bench::new(design);
        let what = format!("{design:?}, {what}");
        let body = |p: &Process, arm: &dyn Fn()| operation(&bench, p, arm);
        let killed = testing::kill_at_every_step(&bench.pmon, EVERY_STEP, || bench.fill(), body, || bench.check(&what));
        assert!(killed > 0 || what.ends_with("a hit"), "{what}");
    }
}

#[test]
fn a_transaction_may_change_any_number_of_objects() {
    let bench = Bench::new(Design::Versioned);
    bench.fill();
    let many: Vec<ObjectId> = (100..5000).map(ObjectId).collect();
    bench.cache.track(&bench.pmon, &many, || bench.now());
    bench.change(&bench.pmon, &many);
    bench.check("4,900 objects");
}

#[test]
fn a_process_killed_at_any_step_leaves_the_cache_whole_in_the_exclusive_designs() {
    sweep(Design::ExclusiveLong);
    sweep(Design::ExclusiveShort);
}

#[test]
fn a_process_killed_at_any_step_leaves_the_cache_whole_in_the_shared_design() {
    sweep(Design::Shared);
}

#[test]
fn a_process_killed_at_any_step_leaves_the_cache_whole_in_the_versioned_design() {
    sweep(Design::Versioned);
}
