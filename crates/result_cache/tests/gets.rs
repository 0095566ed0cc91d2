//! Gets of each design, blocks of each size, limits: figures that do not depend on the machine.

use enqueue::{EnqueueConfig, EnqueueLayout, Enqueues};
use latch::{Generation, LatchName};
use process::{Process, Processes};
use result_cache::{Config, Description, Design, Key, Layout, Namespace, Opened, ResultBuffer, ResultCache, Statistic};
use types::{ObjectId, Scn};

struct Fixture {
    all: &'static Processes,
    enqueues: Enqueues,
    cache: ResultCache,
}

fn fixture(design: Design, blocks: u64) -> Fixture {
    let config =
        Config { max_size_bytes: blocks * 1024, max_result_percent: 100, timeout_ms: 1000, design, processes: 8 };
    let (all, (enqueues, layout)) = testing::instance_of(8, Generation::default(), |b| {
        (EnqueueLayout::reserve(b, &EnqueueConfig::for_processes(8)), Layout::reserve(b, &config))
    });
    let enqueues = Enqueues::create(all, &enqueues);
    Fixture { all, enqueues, cache: ResultCache::create(all, &layout, &config) }
}

const ABOUT: Description<'static> =
    Description { name: "select 1", namespace: Namespace::Sql, creator: 0, column_count: 1 };

impl Fixture {
    fn gets(&self) -> u64 {
        self.all.latch_counts(LatchName::ResultCache).gets
    }

    /// Reads `key` at `scn`; on a miss stores `rows` rows of `size` bytes. Returns the rows read on a hit.
    fn access(&self, p: &Process, key: &[u8], scn: u64, rows: usize, size: usize) -> Option<usize> {
        let depends = [ObjectId(7)];
        self.cache.track(p, &depends, || Scn(5));
        let mut buffer = ResultBuffer::new();
        let opened = self.cache.open(p, &self.enqueues, Key::new(key), ABOUT, &depends, Scn(scn), &mut buffer).unwrap();
        match opened {
            Opened::Hit => {
                let mut count = 0;
                while let Some(row) = buffer.next_row() {
                    assert_eq!(row.len(), size);
                    assert!(row.iter().all(|byte| *byte == count as u8));
                    count += 1;
                }
                Some(count)
            }
            Opened::Build(mut build) => {
                for row in 0..rows {
                    self.cache.push(&mut build, &vec![row as u8; size]);
                }
                self.cache.publish(p, &self.enqueues, build);
                None
            }
            Opened::Bypass => None,
        }
    }
}

#[test]
fn a_hundred_rows_of_two_kilobytes_are_the_published_two_hundred_blocks_and_204_gets() {
    for design in [Design::ExclusiveLong, Design::ExclusiveShort] {
        let f = fixture(design, 512);
        let p = testing::attach(f.all, "test");
        assert_eq!(f.cache.memory_rows().len(), 0);
        assert_eq!(f.access(&p, b"key", 10, 100, 2007), None);
        assert_eq!(f.gets(), 204, "{design:?}");
        let rows = f.cache.memory_rows();
        assert_eq!((rows.len(), rows.iter().filter(|row| !row.free).count()), (224, 200));
        assert_eq!(f.access(&p, b"key", 10, 0, 2007), Some(100));
        assert_eq!(f.gets(), 206);
        f.cache.end_session(&p);
        assert_eq!(f.gets(), 207, "a session that used the cache says goodbye once");
        f.cache.end_session(&p);
        assert_eq!(f.gets(), 207);
        f.cache.assert_invariants().unwrap();
    }
}

#[test]
fn a_small_result_takes_two_gets_more_than_an_access_and_its_dependency_two_more_once() {
    let f = fixture(Design::ExclusiveLong, 512);
    let p = testing::attach(f.all, "test");
    f.access(&p, b"one", 10, 1, 210);
    assert_eq!(f.gets(), 2 + 2 + 2);
    f.access(&p, b"two", 10, 1, 210);
    assert_eq!(f.gets(), 6 + 4);
    for _ in 0..5 {
        assert_eq!(f.access(&p, b"two", 10, 1, 210), Some(1));
    }
    assert_eq!(f.gets(), 10 + 5 * 2);
    let objects = f.cache.object_rows();
    assert_eq!(objects.len(), 3);
    assert!(objects.iter().all(|object| object.block_count == 1));
    assert_eq!(f.cache.dependency_rows().len(), 2);
}

#[test]
fn later_designs_take_one_get_and_the_versioned_one_writes_nothing() {
    for (design, gets) in [(Design::Shared, 1), (Design::Versioned, 1)] {
        let f = fixture(design, 512);
        let p = testing::attach(f.all, "test");
        f.access(&p, b"key", 10, 3, 100);
        let before = f.gets();
        let marked = f.all.latch(LatchName::ResultCache).counts().gets;
        for _ in 0..10 {
            assert_eq!(f.access(&p, b"key", 10, 0, 100), Some(3));
        }
        assert_eq!(f.gets() - before, 10 * gets, "{design:?}");
        assert_eq!(f.all.latch(LatchName::ResultCache).counts().gets, marked, "no get leaves a mark in the latch");
    }
}

#[test]
fn a_commit_on_the_dependency_ends_the_result_and_an_older_snapshot_never_gets_a_newer_one() {
    for design in [Design::ExclusiveLong, Design::ExclusiveShort, Design::Shared, Design::Versioned] {
        let f = fixture(design, 512);
        let p = testing::attach(f.all, "test");
        f.access(&p, b"key", 10, 2, 50);
        assert_eq!(f.access(&p, b"key", 9, 0, 50), None, "a snapshot before the build");
        assert_eq!(f.access(&p, b"key", 11, 0, 50), Some(2));
        f.cache.before_visible(&p, &[ObjectId(7)]);
        assert_eq!(f.access(&p, b"key", 11, 9, 50), None, "a commit is on its way");
        f.cache.after(&p, Scn(12), &[ObjectId(7)]);
        assert_eq!(f.access(&p, b"key", 11, 9, 50), None, "an older snapshot neither reads nor builds");
        assert_eq!(f.access(&p, b"key", 12, 3, 50), None);
        assert_eq!(f.access(&p, b"key", 12, 0, 50), Some(3), "{design:?}");
        f.cache.invalidate(&p, ObjectId(8), Scn(13));
        assert_eq!(f.access(&p, b"key", 14, 0, 50), Some(3), "another object's change is none of ours");
        assert_eq!(f.cache.statistic(Statistic::InvalidationCount), 1);
        f.cache.assert_invariants().unwrap();
    }
}

#[test]
fn memory_is_limited_and_the_least_recently_used_go_first() {
    let f = fixture(Design::ExclusiveShort, 64);
    let p = testing::attach(f.all, "test");
    for key in 0..500u32 {
        f.access(&p, &key.to_le_bytes(), 10, 1, 700);
    }
    f.cache.assert_invariants().unwrap();
    let rows = f.cache.memory_rows();
    assert_eq!(rows.len(), 64);
    assert!(f.cache.statistic(Statistic::DeleteCountValid) > 400);
    assert_eq!(f.access(&p, &499u32.to_le_bytes(), 10, 0, 700), Some(1), "the newest is there");
    // A result larger than the cache is refused, and the cache still works.
    assert_eq!(f.access(&p, b"huge", 10, 100, 1000), None);
    assert_eq!(f.access(&p, b"huge", 10, 100, 1000), None);
    assert!(f.cache.statistic(Statistic::CreateCountFailure) >= 1);
    f.cache.assert_invariants().unwrap();
    f.cache.flush(&p);
    assert!(f.cache.memory_rows().iter().all(|row| row.free));
    f.cache.assert_invariants().unwrap();
}

#[test]
fn a_disabled_or_bypassed_cache_is_not_used() {
    let f = fixture(Design::Versioned, 0);
    let p = testing::attach(f.all, "test");
    assert_eq!(f.cache.status(), "DISABLED");
    assert_eq!(f.access(&p, b"key", 10, 1, 10), None);
    let f = fixture(Design::Versioned, 64);
    let p = testing::attach(f.all, "test");
    f.access(&p, b"key", 10, 1, 10);
    f.cache.set_bypass(true);
    assert_eq!((f.cache.status(), f.access(&p, b"key", 10, 1, 10)), ("BYPASS", None));
    f.cache.set_bypass(false);
    assert_eq!(f.access(&p, b"key", 10, 1, 10), Some(1));
    assert_eq!(f.access(&p, &[0; 300], 10, 1, 10), None, "a key too long to keep");
    assert_eq!(f.access(&p, &[0; 300], 10, 1, 10), None);
}
