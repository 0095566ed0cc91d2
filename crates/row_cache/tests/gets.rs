//! Gets of each design, hot copies, eviction, negative entries: figures that do not depend on the machine.

use latch::{Generation, LatchName, Owner};
use process::{Process, Processes};
use row_cache::{Cache, CacheSet, Changed, Config, Design, Found, Key, LONG_BYTES_MAX, Layout, RowCache, RowValue};

const DESIGNS: [Design; 4] = [Design::Latch, Design::Mutex, Design::HotCopies, Design::Versioned];

struct Fixture {
    all: &'static Processes,
    cache: &'static RowCache,
}

fn config(design: Design, objects: usize) -> Config {
    Config {
        objects,
        design,
        processes: 8,
        hot_copy_sleep_limit: u64::MAX,
        hot_copies: 4,
        generation: Generation::default(),
    }
}

fn fixture(config: Config) -> Fixture {
    let (all, layout) = testing::instance_of(8, config.generation, |b| Layout::reserve(b, &config));
    let cache = Box::leak(Box::new(RowCache::create(all, &layout, &config)));
    cache.register_with(all);
    Fixture { all, cache }
}

impl Fixture {
    /// Looks up a row; a miss stores `value`. Returns whether it was a hit.
    fn access(&self, p: &Process, key: &[u8], value: Option<&[u8]>, out: &mut RowValue) -> bool {
        match self.cache.get(p, &Key::new(Cache::Props, key), out) {
            Found::Hit => true,
            Found::Miss(load) => {
                assert!(load.store(value));
                false
            }
            Found::Bypass => panic!("there is room"),
        }
    }

    fn latch_gets(&self) -> u64 {
        self.cache.latch(Cache::Props).counts().gets
    }

    /// Mutex gets: of all buckets and objects.
    fn mutex_gets(&self) -> u64 {
        self.cache.mutex_gets()
    }
}

#[test]
fn a_hit_of_the_latched_design_makes_three_gets_of_the_caches_own_child() {
    let f = fixture(config(Design::Latch, 256));
    let p = testing::attach(f.all, "test");
    let mut out = RowValue::new();
    assert!(!f.access(&p, b"NLS_SORT", Some(b"BINARY"), &mut out));
    let before = (f.latch_gets(), f.all.latch_counts(LatchName::RowCacheObjects).gets);
    for _ in 0..60 {
        assert!(f.access(&p, b"NLS_SORT", None, &mut out));
        assert_eq!(out.bytes(), b"BINARY");
    }
    assert_eq!(f.latch_gets() - before.0, 180);
    assert_eq!(f.all.latch_counts(LatchName::RowCacheObjects).gets - before.1, 180);
    assert_eq!((f.cache.gets(Cache::Props), f.mutex_gets()), ((61, 1), 0));
    assert_eq!(f.cache.latch(Cache::Props).child(), 18);
}

#[test]
fn a_hit_of_the_mutex_designs_makes_two_gets_hot_or_not() {
    for (design, limit) in [(Design::Mutex, 0), (Design::HotCopies, u64::MAX), (Design::HotCopies, 0)] {
        let f = fixture(Config { hot_copy_sleep_limit: limit, ..config(design, 256) });
        let p = testing::attach(f.all, "test");
        let mut out = RowValue::new();
        for _ in 0..3 {
            f.access(&p, b"NLS_SORT", Some(b"BINARY"), &mut out);
        }
        let before = (f.mutex_gets(), f.all.latch_counts(LatchName::RowCacheObjects).gets);
        for _ in 0..70 {
            assert!(f.access(&p, b"NLS_SORT", None, &mut out));
            assert_eq!(out.bytes(), b"BINARY");
        }
        assert_eq!(f.mutex_gets() - before.0, 140, "{design:?} {limit}");
        assert_eq!(f.all.latch_counts(LatchName::RowCacheObjects).gets, before.1);
        let copies = f.cache.object_rows().iter().filter(|row| row.copy > 0).count();
        assert_eq!(copies, usize::from(design == Design::HotCopies && limit == 0));
        f.cache.assert_invariants().unwrap();
    }
}

#[test]
fn a_versioned_hit_counts_one_get_and_takes_no_latch() {
    let f = fixture(config(Design::Versioned, 256));
    let p = testing::attach(f.all, "test");
    let mut out = RowValue::new();
    assert!(!f.access(&p, b"NLS_SORT", Some(b"BINARY"), &mut out));
    let (latched, all) = (f.latch_gets(), f.all.latch_counts(LatchName::RowCacheObjects).gets);
    for _ in 0..70 {
        assert!(f.access(&p, b"NLS_SORT", None, &mut out));
    }
    assert_eq!((f.latch_gets(), f.mutex_gets()), (latched, 0));
    assert_eq!(f.all.latch_counts(LatchName::RowCacheObjects).gets - all, 70);
}

/// A few rows are read again and again, while many others are read once each.
#[test]
fn rows_that_are_used_again_and_again_stay_while_many_others_pass() {
    for design in DESIGNS {
        let f = fixture(config(design, 64));
        let p = testing::attach(f.all, "test");
        let mut out = RowValue::new();
        let hot: Vec<[u8; 2]> = (0..32).map(|n| [b'h', n]).collect();
        let mut missed = 0;
        for cold in 0..2000u32 {
            for key in &hot {
                missed += u32::from(!f.access(&p, key, Some(key), &mut out));
            }
            assert!(!f.access(&p, &cold.to_le_bytes(), Some(b"cold"), &mut out));
        }
        assert_eq!(missed, 32, "{design:?}: each is loaded once");
        // Rows that are not used any more make room for others.
        let other: Vec<[u8; 2]> = (0..48).map(|n| [b'o', n]).collect();
        let mut read_all =
            || -> u32 { other.iter().map(|key| u32::from(!f.access(&p, key, Some(key), &mut out))).sum() };
        (0..5).for_each(|_| {
            read_all();
        });
        assert_eq!(read_all(), 0, "{design:?}");
        f.cache.assert_invariants().unwrap();
    }
}

#[test]
fn every_session_group_has_its_own_copy_and_a_change_makes_all_stale() {
    let f = fixture(Config { hot_copy_sleep_limit: 0, ..config(Design::HotCopies, 256) });
    let sessions: Vec<Process> = (0..6).map(|_| testing::attach(f.all, "test")).collect();
    let mut out = RowValue::new();
    for round in 0..3 {
        for p in &sessions {
            for _ in 0..3 {
                f.access(p, b"K", Some(&[round]), &mut out);
                if f.access(p, b"K", Some(&[round]), &mut out) {
                    assert_eq!(out.bytes(), [round]);
                }
            }
        }
        let copies: Vec<u8> = f.cache.object_rows().iter().filter(|row| row.copy > 0).map(|row| row.copy).collect();
        assert_eq!(copies.len(), 4, "{copies:?}");
        f.cache.before_visible(&sessions[0], CacheSet::of(&[Cache::Props]));
        f.cache.after(&sessions[0]);
        f.cache.assert_invariants().unwrap();
    }
    // Four hot objects more than can be marked: the oldest marks are replaced.
    for n in 0..20u8 {
        for _ in 0..3 {
            f.access(&sessions[0], &[n, 1], Some(&[n]), &mut out);
            assert!(f.access(&sessions[0], &[n, 1], Some(&[n]), &mut out));
            assert_eq!(out.bytes(), [n]);
        }
    }
    f.cache.assert_invariants().unwrap();
}

#[test]
fn missing_rows_are_cached_and_too_long_ones_are_not() {
    for design in DESIGNS {
        let f = fixture(config(design, 256));
        let p = testing::attach(f.all, "test");
        let mut out = RowValue::new();
        assert!(!f.access(&p, b"GONE", None, &mut out));
        assert!(f.access(&p, b"GONE", None, &mut out));
        assert!(!out.is_existent() && out.bytes().is_empty());
        let Found::Miss(load) = f.cache.get(&p, &Key::new(Cache::Props, b"LONG"), &mut out) else { panic!() };
        assert!(!load.store(Some(&[1; 400])));
        assert!(matches!(f.cache.get(&p, &Key::new(Cache::Props, &[1; 161]), &mut out), Found::Bypass));
        let rows = f.cache.object_rows();
        assert_eq!((rows.len(), rows[0].existent, rows[0].key.as_slice()), (1, false, b"GONE".as_slice()));
        f.cache.assert_invariants().unwrap();
    }
}

#[test]
fn a_full_cache_evicts_and_a_cache_full_of_loads_is_bypassed() {
    for design in DESIGNS {
        let f = fixture(config(design, 5));
        let p = testing::attach(f.all, "test");
        let mut out = RowValue::new();
        for n in 0..200u32 {
            f.access(&p, &(n % 17).to_be_bytes(), Some(&n.to_be_bytes()), &mut out);
            f.cache.assert_invariants().unwrap();
        }
        assert_eq!(f.cache.object_rows().len(), 5);
        let mut loads = Vec::new();
        for n in 0..5u32 {
            match f.cache.get(&p, &Key::new(Cache::Users, &n.to_be_bytes()), &mut out) {
                Found::Miss(load) => loads.push(load),
                _ => panic!("room for load {n}"),
            }
        }
        assert!(matches!(f.cache.get(&p, &Key::new(Cache::Users, b"more"), &mut out), Found::Bypass));
        // A session does not wait for its own load.
        assert!(matches!(f.cache.get(&p, &Key::new(Cache::Users, &0u32.to_be_bytes()), &mut out), Found::Bypass));
        drop(loads);
        assert_eq!(f.cache.object_rows().len(), 0);
        f.cache.assert_invariants().unwrap();
    }
}

#[test]
fn nothing_is_used_or_stored_while_a_commit_is_in_progress() {
    for design in DESIGNS {
        let f = fixture(config(design, 256));
        let (p, q) = (testing::attach(f.all, "test"), testing::attach(f.all, "test"));
        let (props, mut out) = (CacheSet::of(&[Cache::Props]), RowValue::new());
        assert!(!f.access(&p, b"K", Some(b"old"), &mut out));
        let Found::Miss(load) = f.cache.get(&p, &Key::new(Cache::Props, b"L"), &mut out) else { panic!() };
        f.cache.before_visible(&q, props);
        assert!(!load.store(Some(b"old")), "read before the change");
        assert!(matches!(f.cache.get(&p, &Key::new(Cache::Props, b"K"), &mut out), Found::Bypass));
        f.cache.after(&q);
        assert!(!f.access(&p, b"K", Some(b"new"), &mut out));
        assert!(f.access(&p, b"K", None, &mut out));
        assert_eq!(out.bytes(), b"new");
        let row = f.cache.cache_rows()[Cache::Props as usize];
        assert_eq!((row.modifications, row.flushes, row.usage), (1, 1, 1));
        // Another cache is not affected.
        assert_eq!(f.cache.cache_rows()[Cache::Users as usize].flushes, 0);
    }
}

#[test]
fn a_session_waits_for_a_row_that_another_loads() {
    let f = fixture(config(Design::Versioned, 256));
    let p = testing::attach(f.all, "test");
    let mut out = RowValue::new();
    let Found::Miss(load) = f.cache.get(&p, &Key::new(Cache::Props, b"K"), &mut out) else { panic!() };
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let q = testing::attach(f.all, "test");
            let mut out = RowValue::new();
            let hit = matches!(f.cache.get(&q, &Key::new(Cache::Props, b"K"), &mut out), Found::Hit);
            let totals = f.all.event_totals(q.number()).unwrap();
            (hit, out.bytes().to_vec(), totals.of(wait::Event::RowCacheLock).waits())
        });
        let waits = || {
            f.all.live().any(|(n, _)| {
                f.all.wait_slot(n).and_then(|s| s.view(0)).is_some_and(|w| w.event == wait::Event::RowCacheLock)
            })
        };
        while !waits() && !waiter.is_finished() {
            std::thread::yield_now();
        }
        assert!(load.store(Some(b"there")));
        assert_eq!(waiter.join().unwrap(), (true, b"there".to_vec(), 1));
    });
}

#[test]
fn the_places_of_mutexes_have_their_published_numbers() {
    let rows = latch::Where::all().filter(|at| at.owner() == Owner::Mutex(latch::MutexKind::RowCache));
    let names: Vec<_> = rows.map(latch::Where::name).collect();
    assert!(names.contains(&"[19] kqrpre: find obj") && names.contains(&"[13] kqreqd: reget"));
}

#[test]
fn a_commit_that_tells_its_keys_leaves_all_other_rows_where_they_are() {
    for design in DESIGNS {
        let f = fixture(config(design, 400));
        let (p, q) = (testing::attach(f.all, "reader"), testing::attach(f.all, "committer"));
        let mut out = RowValue::new();
        let keys: Vec<Vec<u8>> = (0..200u32).map(|n| n.to_be_bytes().to_vec()).collect();
        for key in &keys {
            f.access(&p, key, Some(b"old"), &mut out);
            // The second access makes a copy, in the design with copies.
            assert!(f.access(&p, key, None, &mut out));
        }
        let mut changed = Changed::default();
        changed.add(Cache::Props, &keys[7]);
        changed.add(Cache::Props, &keys[8]);
        f.cache.announce(&q, &changed);
        f.cache.before_visible(&q, CacheSet::of(&[Cache::Props]));
        // While the commit is in progress, the changed row bypasses the cache and is not stored; all others are there.
        for (n, key) in keys.iter().enumerate() {
            match f.cache.get(&p, &Key::new(Cache::Props, key), &mut out) {
                Found::Hit => assert!(n != 7 && n != 8, "{design:?}: {n}"),
                Found::Bypass => assert!(n == 7 || n == 8, "{design:?}: {n}"),
                Found::Miss(_) => panic!("{design:?}: {n} may be loaded"),
            }
        }
        f.cache.after(&q);
        for (n, key) in keys.iter().enumerate() {
            let is_there = f.access(&p, key, Some(b"new"), &mut out);
            assert_eq!(is_there, n != 7 && n != 8, "{design:?}: {n}");
        }
        f.cache.assert_invariants().unwrap();
    }
}

#[test]
fn a_row_that_is_read_while_its_key_changes_is_not_stored() {
    let f = fixture(config(Design::Versioned, 50));
    let (p, q) = (testing::attach(f.all, "reader"), testing::attach(f.all, "committer"));
    let mut out = RowValue::new();
    let key = Key::new(Cache::Props, b"key");
    let Found::Miss(load) = f.cache.get(&p, &key, &mut out) else { panic!("it is not there") };
    let mut changed = Changed::default();
    changed.add(Cache::Props, b"key");
    f.cache.announce(&q, &changed);
    f.cache.after(&q);
    assert!(!load.store(Some(b"of before")));
    assert!(matches!(f.cache.get(&p, &key, &mut out), Found::Miss(_)));
}

#[test]
fn a_long_value_is_kept_in_pieces_and_never_mixed() {
    for design in DESIGNS {
        let f = fixture(config(design, 200));
        let p = testing::attach(f.all, "session");
        let mut out = Vec::new();
        let key = Key::new(Cache::HistogramData, b"a key of some length");
        for (n, len) in [0, 1, 339, 340, 341, 5_000, LONG_BYTES_MAX].into_iter().enumerate() {
            let value: Vec<u8> = (0..len).map(|at| (at * 7 + n) as u8).collect();
            let Found::Miss(load) = f.cache.get_long(&p, &key, &mut out) else {
                panic!("{design:?}: {len}: not there")
            };
            assert!(load.store_long(&key, Some(&value)), "{design:?}: {len}");
            for _ in 0..2 {
                assert!(matches!(f.cache.get_long(&p, &key, &mut out), Found::Hit), "{design:?}: {len}");
                assert!(out == value, "{design:?}: {len}");
            }
            let mut changed = Changed::default();
            changed.add(Cache::HistogramData, b"a key of some length");
            f.cache.announce(&p, &changed);
            f.cache.after(&p);
        }
        let Found::Miss(load) = f.cache.get_long(&p, &key, &mut out) else { panic!("not there") };
        assert!(!load.store_long(&key, Some(&vec![0; LONG_BYTES_MAX + 1])));
        // A session does not wait for another that reads a value too long for the cache.
        assert!(matches!(f.cache.get_long(&p, &key, &mut out), Found::Bypass));
        let mut changed = Changed::default();
        changed.add(Cache::HistogramData, b"a key of some length");
        f.cache.announce(&p, &changed);
        f.cache.after(&p);
        let Found::Miss(load) = f.cache.get_long(&p, &key, &mut out) else { panic!("not there") };
        assert!(load.store_long(&key, None));
        out.push(1);
        assert!(matches!(f.cache.get_long(&p, &key, &mut out), Found::Hit) && out.is_empty());
        // Whichever pieces are evicted, the result is correct or a miss.
        let value = vec![9; 2_000];
        let mut random = 77u32;
        for n in 0..400u32 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f.access(&p, &(random >> 20).to_be_bytes(), Some(b"other"), &mut RowValue::new());
            if n % 10 == 0 {
                let own = Key::new(Cache::HistogramDefs, b"long");
                match f.cache.get_long(&p, &own, &mut out) {
                    Found::Hit => assert!(out == value),
                    Found::Miss(load) => _ = load.store_long(&own, Some(&value)),
                    Found::Bypass => {}
                }
            }
        }
        f.cache.assert_invariants().unwrap();
    }
}
