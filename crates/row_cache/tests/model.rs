//! The cache against a dictionary that changes: sessions that read, sessions that commit, and sessions that die at any
//! point.
//!
//! The dictionary is an array of words in the same shared memory, changed only between the two halves of a commit. A
//! reader that sees the state of the cache unchanged before and after its read knows the correct value.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use latch::Generation;
use process::{Process, Processes};
use row_cache::{Cache, CacheSet, Changed, Config, Design, Found, Key, Layout, RowCache, RowValue};
use sga::SgaSlice;
use testing::Random;

const DESIGNS: [Design; 4] = [Design::Latch, Design::Mutex, Design::HotCopies, Design::Versioned];
const CACHES: [Cache; 3] = [Cache::Props, Cache::Users, Cache::Objects];
const ROWS: u64 = 24;
/// Fewer objects than rows, so that evictions happen all the time.
const OBJECTS: usize = 50;

struct Fixture {
    all: &'static Processes,
    cache: &'static RowCache,
    rows: &'static [AtomicU64],
    /// The number of the committing process, which holds this as it would hold the DD enqueue.
    turn: &'static AtomicU64,
}

fn fixture(design: Design) -> Fixture {
    let config = Config {
        objects: OBJECTS,
        design,
        processes: 16,
        hot_copy_sleep_limit: 0,
        hot_copies: 3,
        generation: Generation::default(),
    };
    let (all, (layout, rows)) = testing::instance_of(16, config.generation, |b| {
        let rows: SgaSlice<AtomicU64> = b.reserve("rows", 1 + CACHES.len() * ROWS as usize);
        (Layout::reserve(b, &config), rows)
    });
    let cache: &'static RowCache = Box::leak(Box::new(RowCache::create(all, &layout, &config)));
    cache.register_with(all);
    let words = all.sga().slice(rows);
    let turn = &words[0];
    all.on_death(process::CleanupOrder::Session, "turn", move |_, dead| {
        let _ = turn.compare_exchange(dead.into(), 0, Ordering::AcqRel, Ordering::Relaxed);
    });
    Fixture { all, cache, rows: &words[1..], turn }
}

/// A key of a length that depends on the row, and the row's value spread over several words; odd values mean that the
/// row does not exist.
fn key(row: u64) -> Vec<u8> {
    let mut key = vec![b'k'; (row % 20) as usize];
    key.extend_from_slice(&row.to_be_bytes());
    key
}

fn value(word: u64) -> Option<Vec<u8>> {
    (word % 5 != 4).then(|| (0..1 + word % 20).flat_map(|n| (word * 1000 + n).to_be_bytes()).collect())
}

impl Fixture {
    fn word(&self, cache: usize, row: u64) -> &AtomicU64 {
        &self.rows[cache * ROWS as usize + row as usize]
    }

    /// Reads a row through the cache and checks it where possible; true for a checked hit.
    fn read(&self, p: &Process, at: usize, row: u64, out: &mut RowValue) -> bool {
        let (cache, key) = (CACHES[at], key(row));
        let key = Key::new(cache, &key);
        let before = self.cache.key_state(&key);
        match self.cache.get(p, &key, out) {
            Found::Hit => {
                let word = self.word(at, row).load(Ordering::Acquire);
                let is_settled = RowCache::is_settled(before.0) && RowCache::is_settled(before.1);
                let unchanged = self.cache.key_state(&key) == before && is_settled;
                if unchanged {
                    let wanted = value(word);
                    assert_eq!(out.is_existent(), wanted.is_some());
                    assert_eq!(out.bytes(), wanted.as_deref().unwrap_or_default(), "row {row} of {}", cache.name());
                }
                unchanged
            }
            Found::Miss(load) => {
                // Read after the load began, since a snapshot is taken after it.
                let word = self.word(at, row).load(Ordering::Acquire);
                if row % 7 != 6 || !word.is_multiple_of(3) {
                    load.store(value(word).as_deref());
                }
                false
            }
            Found::Bypass => false,
        }
    }

    /// Changes a row, either by its key or by closing the cache.
    fn commit(&self, p: &Process, at: usize, row: u64, word: u64, by_key: bool) {
        if self.turn.compare_exchange(0, p.number().into(), Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return;
        }
        if by_key {
            let mut changed = Changed::default();
            changed.add(CACHES[at], &key(row));
            changed.add(Cache::Segments, &key(row + 1));
            self.cache.announce(p, &changed);
        }
        self.cache.before_visible(p, CacheSet::of(&[CACHES[at], Cache::Segments]));
        self.word(at, row).store(word, Ordering::Release);
        self.cache.after(p);
        self.turn.store(0, Ordering::Release);
    }

    fn step(&self, p: &Process, n: u64, out: &mut RowValue) -> bool {
        let (at, row) = ((n >> 8) as usize % CACHES.len(), (n >> 16) % ROWS);
        match n % 64 {
            0 => {
                self.commit(p, at, row, n >> 24 & 0xffff, n >> 40 & 1 != 0);
                false
            }
            1 if n.is_multiple_of(5) => {
                self.cache.flush(p);
                false
            }
            _ => self.read(p, at, row, out),
        }
    }
}

#[test]
fn one_session_sees_what_the_dictionary_says() {
    for design in DESIGNS {
        let f = fixture(design);
        let p = testing::attach(f.all, "test");
        let (mut random, mut out, mut hits) = (Random::new(7), RowValue::new(), 0);
        for n in 0..20_000 {
            hits += u64::from(f.step(&p, random.next(), &mut out));
            if n % 1000 == 0 {
                f.cache.assert_invariants().unwrap();
            }
        }
        assert!(hits > 2_000, "{design:?}: {hits} hits");
        let (gets, misses) = f.cache.gets(Cache::Props);
        assert!(misses < gets);
    }
}

#[test]
fn sessions_at_once_see_what_the_dictionary_says_and_lose_no_count() {
    for design in DESIGNS {
        let f = fixture(design);
        let counts = testing::run_threads(f.all, 4, |p, n| {
            let (mut random, mut out, mut hits) = (Random::new(n as u64 + 1), RowValue::new(), 0u64);
            for _ in 0..15_000 {
                hits += u64::from(f.step(p, random.next(), &mut out));
            }
            // Gets of a known number.
            for _ in 0..5_000 {
                f.read(p, 0, random.below(ROWS), &mut out);
            }
            hits
        });
        assert!(counts.iter().sum::<u64>() > 4_000, "{design:?}: {counts:?}");
        let before = f.cache.gets(Cache::Users).0;
        let each = 3_000u64;
        testing::run_threads(f.all, 4, |p, n| {
            let (mut random, mut out) = (Random::new(n as u64 + 1), RowValue::new());
            for _ in 0..each {
                f.read(p, 1, random.below(ROWS), &mut out);
            }
        });
        assert_eq!(f.cache.gets(Cache::Users).0 - before, 4 * each, "{design:?}");
        f.cache.assert_invariants().unwrap();
    }
}

#[test]
fn sessions_that_are_killed_anywhere_leave_a_whole_cache() {
    let seconds = std::env::var("LATCHWORK_KILL_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(2);
    for (seed, design) in DESIGNS.into_iter().enumerate() {
        let f = fixture(design);
        let by = testing::attach(f.all, "PMON");
        let time = Duration::from_secs(seconds) / DESIGNS.len() as u32;
        let kills = testing::kill_children(&by, 4, time, seed as u64 * 77 + 5, |p, seed| {
            let (mut random, mut out) = (Random::new(seed), RowValue::new());
            loop {
                f.step(p, random.next(), &mut out);
            }
        });
        assert!(kills.killed > 5, "{kills:?}");
        f.cache.assert_invariants().unwrap_or_else(|e| panic!("{design:?}: {e}; {kills:?}"));
        assert_eq!(f.cache.object_rows().iter().filter(|row| row.owner.is_some()).count(), 0);
        // Nothing stays closed, and every row is correct.
        let mut out = RowValue::new();
        for (at, cache) in CACHES.into_iter().enumerate() {
            assert!(RowCache::is_settled(f.cache.state(cache)));
            for row in (0..ROWS).filter(|row| row % 7 != 6) {
                // The first read loads; a copy of another row may replace the object once or twice.
                assert!((0..6).any(|_| f.read(&by, at, row, &mut out)), "{design:?}: row {row}");
            }
        }
    }
}

/// One operation of a process on the cache. The cleaner has read the rows into the cache before.
type Operation = (&'static str, fn(&Fixture, &Process, &dyn Fn()));

const OPERATIONS: &[Operation] = &[
    ("a row that is there", |f, p, arm| {
        arm();
        f.read(p, 0, 1, &mut RowValue::new());
    }),
    ("rows that are not", |f, p, arm| {
        arm();
        // The sixth and the thirteenth load may be given up.
        for row in [9, 6, 13] {
            f.read(p, 2, row, &mut RowValue::new());
        }
    }),
    ("rows that others have to go for", |f, p, arm| {
        let mut out = RowValue::new();
        (0..ROWS).for_each(|row| _ = f.read(p, 0, row, &mut out));
        (0..ROWS).for_each(|row| _ = f.read(p, 1, row, &mut out));
        arm();
        (0..8).for_each(|row| _ = f.read(p, 2, row, &mut out));
    }),
    ("a commit, and rows that it has made stale", |f, p, arm| {
        arm();
        f.commit(p, 0, 1, 6, false);
        (0..4).for_each(|row| _ = f.read(p, 0, row, &mut RowValue::new()));
    }),
    ("a commit that tells its key, and the rows around", |f, p, arm| {
        arm();
        f.commit(p, 0, 1, 6, true);
        (0..4).for_each(|row| _ = f.read(p, 0, row, &mut RowValue::new()));
    }),
    ("a value in pieces, stored twice", |f, p, arm| {
        arm();
        for bytes in [&[7; 500][..], &[8; 400]] {
            let key = Key::new(Cache::HistogramData, b"long");
            if let Found::Miss(load) = f.cache.get_long(p, &key, &mut Vec::new()) {
                load.store_long(&key, Some(bytes));
            }
            let mut changed = Changed::default();
            changed.add(Cache::HistogramData, b"long");
            f.cache.announce(p, &changed);
            f.cache.after(p);
        }
    }),
];

#[test]
fn a_process_killed_at_any_step_leaves_a_whole_cache() {
    for design in DESIGNS {
        for (what, operation) in OPERATIONS {
            let f = fixture(design);
            let by = testing::attach(f.all, "PMON");
            let mut out = RowValue::new();
            let fill = || (0..6).for_each(|row| _ = f.read(&by, 0, row, &mut RowValue::new()));
            let body = |p: &Process, arm: &dyn Fn()| operation(&f, p, arm);
            let check = || {
                f.cache.assert_invariants().unwrap_or_else(|e| panic!("{design:?}, {what}: {e}"));
                assert_eq!(f.cache.object_rows().iter().filter(|row| row.owner.is_some()).count(), 0);
                for (at, cache) in CACHES.into_iter().enumerate() {
                    assert!(RowCache::is_settled(f.cache.state(cache)), "{design:?}, {what}");
                    // The first read loads; a copy of another row may replace the object once or twice.
                    for row in 0..4 {
                        assert!((0..6).any(|_| f.read(&by, at, row, &mut out)), "{design:?}, {what}: row {row}");
                    }
                }
            };
            testing::kill_at_every_step(&by, testing::EVERY_STEP, fill, body, check);
        }
    }
}

/// The least number of switches of a test.
const SWITCHES: u64 = 3_000;

impl Fixture {
    /// Switches the design unless another process holds the turn.
    fn switch(&self, p: &Process, design: Design) {
        if self.turn.compare_exchange(0, p.number().into(), Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            self.cache.switch(p, design).unwrap();
            self.turn.store(0, Ordering::Release);
        }
    }

    fn check(&self, by: &Process, what: &str) {
        self.cache.assert_invariants().unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(self.cache.object_rows().iter().filter(|row| row.owner.is_some()).count(), 0, "{what}");
        let mut out = RowValue::new();
        for (at, cache) in CACHES.into_iter().enumerate() {
            assert!(RowCache::is_settled(self.cache.state(cache)), "{what}");
            for row in 0..4 {
                assert!((0..6).any(|_| self.read(by, at, row, &mut out)), "{what}: row {row}");
            }
        }
    }
}

/// Without the mutexes of changers, or with readers by mutex that a switch does not wait for, a row of another key is
/// returned or a chain breaks.
#[test]
fn sessions_see_what_the_dictionary_says_while_designs_are_switched() {
    let f = fixture(Design::Latch);
    let over = AtomicU64::new(0);
    let hits = testing::run_threads(f.all, 4, |p, n| {
        let (mut random, mut out, mut hits, mut turns) = (Random::new(n as u64 + 11), RowValue::new(), 0u64, 0u64);
        while if n == 0 { turns < SWITCHES } else { over.load(Ordering::Acquire) == 0 || turns < 5_000 } {
            turns += 1;
            match n {
                0 => f.switch(p, DESIGNS[random.below(DESIGNS.len())]),
                _ => hits += u64::from(f.step(p, random.next(), &mut out)),
            }
        }
        over.fetch_add(u64::from(n == 0), Ordering::Release);
        hits
    });
    assert!(hits.iter().sum::<u64>() > 1_000, "{hits:?}");
    for design in DESIGNS {
        let p = testing::attach(f.all, "test");
        f.cache.switch(&p, design).unwrap();
        assert_eq!(f.cache.design(), design);
        f.check(&p, &format!("{design:?}"));
    }
}

/// A copy of a hot object outlasts the design that made it. A change of its row in another design removes it.
#[test]
fn copies_of_hot_objects_are_not_read_after_a_change_in_another_design() {
    let f = fixture(Design::HotCopies);
    let p = testing::attach(f.all, "test");
    let mut out = RowValue::new();
    (0..4).for_each(|_| _ = f.read(&p, 0, 1, &mut out));
    f.cache.switch(&p, Design::Versioned).unwrap();
    f.commit(&p, 0, 1, 7, true);
    f.cache.switch(&p, Design::HotCopies).unwrap();
    for _ in 0..6 {
        let hit = f.read(&p, 0, 1, &mut out);
        assert!(!hit || out.bytes() == value(7).unwrap());
    }
}

#[test]
fn sessions_that_are_killed_while_designs_are_switched_leave_a_whole_cache() {
    let f = fixture(Design::Mutex);
    let by = testing::attach(f.all, "PMON");
    let kills = testing::kill_children(&by, 4, Duration::from_millis(700), 4711, |p, seed| {
        let (mut random, mut out) = (Random::new(seed), RowValue::new());
        loop {
            match random.one_in(32) {
                true => f.switch(p, DESIGNS[random.below(DESIGNS.len())]),
                false => _ = f.step(p, random.next(), &mut out),
            }
        }
    });
    assert!(kills.killed > 5, "{kills:?}");
    f.check(&by, "after kills");
}

#[test]
fn a_process_killed_at_any_step_of_a_switch_leaves_one_design_or_the_other() {
    for from in DESIGNS {
        for to in DESIGNS {
            let f = fixture(from);
            let (by, what) = (testing::attach(f.all, "PMON"), format!("{from:?} to {to:?}"));
            let before = || f.switch(&by, from);
            let body = |p: &Process, arm: &dyn Fn()| {
                arm();
                f.switch(p, to);
                (0..4).for_each(|row| _ = f.read(p, 0, row, &mut RowValue::new()));
            };
            let check = || {
                assert!([from, to].contains(&f.cache.design()), "{what}");
                f.check(&by, &what);
            };
            assert!(testing::kill_at_every_step(&by, "switch-*", before, body, check) >= 3, "{what}");
        }
    }
}
