//! Working sets: their use by processes, and the cost of a large cache before it is used.

mod common;

use buffer_cache::{CacheConfig, CacheLayout, ChainDesign, GetKind, Share, Stamp};
use common::*;
use datafile::DataFiles;
use process::Process;
use std::sync::atomic::Ordering;
use types::Rdba;
use wait::Stat;

/// A cache with these numbers of buffers and working sets.
fn of_sets(buffers: usize, sets: usize, design: ChainDesign) -> Db {
    let directory = Folder::new("cache");
    let files = DataFiles::create(&directory, &small_database()).unwrap();
    let mut config = CacheConfig::new(buffers, BLOCK, 24);
    (config.design, config.working_sets) = (design, sets);
    over_config(directory, files, &config)
}

fn make(db: &Db, p: &Process, at: &[Rdba]) {
    at.iter().for_each(|a| db.cache.in_group(p, &scn, &mut |g| make_block(g, *a, 7)).unwrap());
}

fn used(db: &Db) -> Vec<u64> {
    (0..db.cache.working_sets()).map(|n| db.cache.set_info(n).unwrap().used).collect()
}

#[test]
fn a_cache_has_as_many_sets_as_asked_for_and_none_is_too_small() {
    for (buffers, asked, sets) in [(32, 64, 2), (1024, 64, 64), (1000, 7, 7), (100, 0, 1), (65, 4, 4)] {
        let db = of_sets(buffers, asked, ChainDesign::Versioned);
        assert_eq!(db.cache.working_sets(), sets);
        let infos: Vec<_> = (0..sets).map(|n| db.cache.set_info(n).unwrap()).collect();
        assert_eq!(infos.iter().map(|i| i.buffers).sum::<u64>(), buffers as u64);
        assert!(infos.iter().all(|i| i.buffers >= 14 && i.used == 0), "{infos:?}");
        let starts: Vec<usize> = infos.iter().map(|i| i.first_buffer).collect();
        assert!(starts.is_sorted() && db.cache.set_info(sets).is_none());
        let shares: Vec<Vec<usize>> = (0..3).map(|n| db.cache.sets_of_share(Share { first: n, of: 3 })).collect();
        let mut all: Vec<usize> = shares.concat();
        all.sort_unstable();
        assert_eq!(all, (0..sets).collect::<Vec<_>>(), "each set has one writer");
    }
}

#[test]
fn one_process_uses_every_set_before_it_replaces_anything() {
    let db = of_sets(128, 8, ChainDesign::Versioned);
    let p = testing::attach(db.all, "t");
    let at = loose_blocks(140);
    // Clean ones could be replaced.
    let make = |at: &[Rdba]| {
        for a in at {
            make(&db, &p, &[*a]);
            db.cache.write_batch(&p, 1).unwrap();
        }
    };
    make(&at[..70]);
    let used_by_then = used(&db);
    assert_eq!(used_by_then.iter().sum::<u64>(), 70);
    make(&at[70..128]);
    assert!(at[..128].iter().all(|a| db.cache.is_cached(*a)), "a buffer that was never used comes first");
    assert_eq!(used(&db), [16; 8]);
    make(&at[128..]);
    let replaced: u64 = (0..8).map(|n| db.cache.set_info(n).unwrap().replaced).sum();
    assert!(replaced >= 12, "{replaced}");
    at.iter().for_each(|a| assert_eq!(value(&db, &p, *a, GetKind::Consistent), 7));
    db.cache.assert_invariants().unwrap();
}

#[test]
fn a_search_goes_on_in_other_sets_and_buffers_stay_in_theirs() {
    let db = of_sets(32, 2, ChainDesign::Versioned);
    let (p, q) = (testing::attach(db.all, "p"), testing::attach(db.all, "q"));
    let at = loose_blocks(40);
    make(&db, &p, &at);
    // Two groups keep all buffers but one.
    let (mut g, mut h) = (db.cache.group(&p), db.cache.group(&q));
    at[..16].iter().for_each(|a| assert!(g.current(*a).is_ok()));
    at[16..31].iter().for_each(|a| assert!(h.current(*a).is_ok()));
    for _ in 0..4 {
        // Processes with other numbers begin in other sets.
        let r = testing::attach(db.all, "r");
        let s = testing::attach(db.all, "s");
        for (process, a) in [(&r, at[31]), (&s, at[32])] {
            assert_eq!(value(&db, process, a, GetKind::Consistent), 7);
        }
    }
    let homes = || (0..32).map(|n| db.cache.info(n).unwrap().set).collect::<Vec<_>>();
    assert_eq!(homes(), [vec![0; 16], vec![1; 16]].concat());
    drop((g, h));
    db.cache.assert_invariants().unwrap();
}

#[test]
fn many_sets_agree_with_few() {
    for (design, sets) in [(ChainDesign::Versioned, 64), (ChainDesign::FastPath, 13), (ChainDesign::Exclusive, 1)] {
        let db = of_sets(16 * sets.max(3), sets, design);
        let p = testing::attach(db.all, "t");
        let at = loose_blocks(150);
        make(&db, &p, &at);
        testing::run_threads(db.all, 4, |p, n| {
            for round in 1..8 {
                for (i, a) in at.iter().enumerate() {
                    match n {
                        0 => db.cache.in_group(p, &scn, &mut |g| set_value(g, *a, round)).unwrap(),
                        1 if i % 16 == 0 => {
                            let share = Share { first: i / 16 % 3, of: 3 };
                            db.cache.write_older(p, share, redo::Rba(u64::MAX), 20).unwrap();
                            db.cache.write_replaced(p, share, 20).unwrap();
                        }
                        _ => drop(value(&db, p, *a, GetKind::Consistent)),
                    }
                    db.cache.end_call(p);
                }
            }
        });
        at.iter().for_each(|a| assert_eq!(value(&db, &p, *a, GetKind::Current), 7));
        db.cache.end_call(&p);
        db.cache.assert_invariants().unwrap();
        db.cache.checkpoint(&p).unwrap();
        assert_eq!((db.cache.queue_length(), db.cache.oldest_change(&p)), (0, None));
        let written: u64 = (0..db.cache.working_sets()).map(|n| db.cache.set_info(n).unwrap().written).sum();
        assert!(written >= 150, "{written}");
        db.cache.assert_invariants().unwrap();
    }
}

#[test]
fn a_process_killed_while_it_throws_blocks_away_leaves_whole_lists() {
    let db = of_sets(64, 3, ChainDesign::Versioned);
    let p = testing::attach(db.all, "t");
    let at = loose_blocks(6);
    let body = |child: &Process, arm: &dyn Fn()| {
        arm();
        db.cache.discard(child, &|a| at.contains(&a)).unwrap();
    };
    let check = || {
        db.cache.assert_invariants().unwrap();
        db.cache.discard(&p, &|a| at.contains(&a)).unwrap();
        assert!(at.iter().all(|a| !db.cache.is_cached(*a)));
        assert_eq!(db.cache.queue_length(), 0);
    };
    let killed = testing::kill_at_every_step(&p, testing::EVERY_STEP, || make(&db, &p, &at), body, check);
    assert!(killed > 50, "{killed}");
}

/// Kilobytes of the mapping at `address` that are resident.
fn resident_kb(address: usize) -> u64 {
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let own = format!("{address:x}-");
    let mut lines = maps.lines().skip_while(|line| !line.starts_with(&own));
    let line = lines.find_map(|line| line.strip_prefix("Rss:")).expect("the mapping is there");
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}

#[test]
fn a_large_cache_takes_no_memory_before_it_is_used() {
    let (directory, mut spec) = (Folder::new("cache"), small_database());
    spec.block_size = 8192;
    for t in &mut spec.tablespaces {
        (t.bytes, t.step_bytes) = (200 * 8192, 64 * 8192);
    }
    let files = DataFiles::create(&directory, &spec).unwrap();
    let buffers = (os::proc::memory_limit_bytes() / 2 / 8192).min(1 << 20) as usize;
    let mut config = CacheConfig::new(buffers, 8192, 24);
    config.working_sets = 16;
    let (all, layout) = testing::instance(24, |b| CacheLayout::reserve(b, &config));
    let before = resident_kb(all.sga().base_address());
    let db = over_layout(directory, files, &config, all, &layout);
    let made = resident_kb(all.sga().base_address()) - before;
    // The latches of the chains: a line each. The headers alone would be 128 bytes for each buffer.
    let latches_kb = config.latches() as u64 * 64 / 1024;
    assert!(made < latches_kb + 256, "{made} KB for {buffers} buffers, {latches_kb} of them latches");
    let p = testing::attach(db.all, "t");
    assert!((0..buffers).step_by(9973).all(|n| db.cache.info(n).unwrap().block.is_none()));
    db.cache.checkpoint(&p).unwrap();
    db.cache.empty(&p).unwrap();
    db.cache.assert_sets().unwrap();
    let looked = resident_kb(all.sga().base_address()) - before;
    assert!(looked < made + 256, "looks at unused buffers took {} KB", looked - made);
    let at = loose_blocks(100);
    for a in &at {
        db.cache
            .in_group(&p, &scn, &mut |g| g.format(*a, block::BlockKind::Temporary, types::ObjectId(1), Rdba(0), 0))
            .unwrap();
    }
    let worked = resident_kb(all.sga().base_address()) - looked - before;
    assert!((800..4096).contains(&worked), "{worked} KB for 100 blocks of 8 KB");
}

#[test]
fn a_small_set_asks_for_writes_when_an_eighth_of_it_waits_for_them() {
    let db = of_sets(32, 2, ChainDesign::Versioned);
    let p = testing::attach(db.all, "t");
    let at = loose_blocks(120);
    make(&db, &p, &at[..8]);
    for a in &at[8..] {
        db.cache.read(&p, *a, GetKind::Consistent, &mut |v| v.u64(64)).unwrap();
    }
    assert_eq!(db.cache.write_list_length(), 8);
    let requests = p.stats().get(Stat::DbwrMakeFreeRequests);
    assert!((1..=4).contains(&requests), "{requests} requests for 8 buffers in sets of 16");
    db.cache.assert_invariants().unwrap();
}

/// Readers, writers and replacement in a small cache, while designs are switched: no read is torn or lost, and no pin
/// of the fast path outlasts the fast path.
#[test]
fn blocks_are_whole_while_designs_are_switched() {
    const SWITCHES: usize = 2_000;
    let db = of_sets(512, 3, ChainDesign::Versioned);
    let p = testing::attach(db.all, "t");
    let at = loose_blocks(150);
    make(&db, &p, &at);
    let over = std::sync::atomic::AtomicBool::new(false);
    testing::run_threads(db.all, 4, |p, n| {
        let mut random = testing::Random::new(n as u64 + 3);
        let mut turns = 0;
        while if n == 0 { turns < SWITCHES } else { !over.load(Ordering::Acquire) || turns < 2_000 } {
            turns += 1;
            let a = at[random.below(at.len())];
            match n {
                0 => db.cache.switch(p, DESIGNS[random.below(DESIGNS.len())]).unwrap(),
                1 => db.cache.in_group(p, &scn, &mut |g| set_value(g, a, turns as u64)).unwrap(),
                2 if turns % 64 == 0 => _ = db.cache.empty(p).unwrap(),
                _ => {
                    let kind = [GetKind::Consistent, GetKind::Examination, GetKind::Current][random.below(3)];
                    value(&db, p, a, kind);
                    if random.one_in(16) {
                        db.cache.end_call(p);
                    }
                }
            }
        }
        db.cache.end_call(p);
        over.fetch_or(n == 0, Ordering::Release);
    });
    db.cache.switch(&p, ChainDesign::FastPath).unwrap();
    value(&db, &p, at[0], GetKind::Consistent);
    assert!(db.cache.pins_of(p.number()).contains(&at[0]), "held for the rest of the call");
    db.cache.switch(&p, ChainDesign::Versioned).unwrap();
    assert!(db.cache.pins_of(p.number()).is_empty(), "the switch ended the pin");
    db.cache.assert_invariants().unwrap();
}

/// The historical designs read the block each time, also with a stamp from before the switch.
#[test]
fn a_stamp_ends_with_the_design_that_made_it() {
    let db = of_sets(64, 2, ChainDesign::Versioned);
    let p = testing::attach(db.all, "t");
    let at = loose_blocks(1)[0];
    make(&db, &p, &[at]);
    let (mut stamp, mut reads) = (None, 0);
    let mut read = |stamp: &mut Option<Stamp>| {
        db.cache.read_changed(&p, at, GetKind::Consistent, stamp, &mut |_| reads += 1).unwrap();
        reads
    };
    read(&mut stamp);
    assert!(stamp.is_some());
    assert_eq!(read(&mut stamp), 1, "the versioned design reads an unchanged block once");
    db.cache.switch(&p, ChainDesign::Exclusive).unwrap();
    (0..100).for_each(|_| _ = read(&mut stamp));
    assert_eq!(reads, 101);
    db.cache.end_call(&p);
}

#[test]
fn a_process_killed_at_any_step_of_a_switch_leaves_one_design_or_the_other() {
    for from in DESIGNS {
        for to in DESIGNS {
            let db = of_sets(64, 2, from);
            let p = testing::attach(db.all, "t");
            let at = loose_blocks(6);
            make(&db, &p, &at);
            let body = |child: &Process, arm: &dyn Fn()| {
                value(&db, child, at[1], GetKind::Consistent);
                arm();
                db.cache.switch(child, to).unwrap();
                value(&db, child, at[1], GetKind::Consistent);
            };
            let check = || {
                assert!([from, to].contains(&db.cache.design()));
                at.iter().for_each(|a| assert_eq!(value(&db, &p, *a, GetKind::Consistent), 7));
                db.cache.end_call(&p);
                db.cache.assert_invariants().unwrap();
            };
            let before = || db.cache.switch(&p, from).unwrap();
            assert!(testing::kill_at_every_step(&p, "switch-*", before, body, check) >= 2);
        }
    }
}
