//! Blocks through the cache: every design reads the committed blocks, also in a cache far smaller than the data.

mod common;
use buffer_cache::{ChainDesign, GetKind, is_retry};
use common::*;
use datafile::DataFiles;
use latch::LatchName;
use std::io::{Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use testing::Random;
use types::Scn;
use wait::Stat;

#[test]
fn committed_changes_are_seen_and_dropped_groups_leave_nothing() {
    for design in DESIGNS {
        let db = database(design, 32);
        let p = testing::attach(db.all, "t");
        let at = loose_blocks(2);
        db.cache.in_group(&p, &scn, &mut |g| at.iter().try_for_each(|a| make_block(g, *a, 5))).unwrap();
        let mut g = db.cache.group(&p);
        set_value(&mut g, at[0], 6).unwrap();
        assert_eq!(value_in(&mut g, at[0]).unwrap(), 6, "the group sees its own change");
        assert_eq!(value(&db, &p, at[0], GetKind::Consistent), 5, "readers do not");
        drop(g);
        assert_eq!(value(&db, &p, at[0], GetKind::Current), 5);
        // A block that was only formatted in a dropped group is read from disk again.
        let mut g = db.cache.group(&p);
        let third = loose_blocks(3)[2];
        make_block(&mut g, third, 9).unwrap();
        drop(g);
        assert_eq!(value(&db, &p, third, GetKind::Current), 0);
        assert!(db.cache.pins_of(p.number()).is_empty());
        db.cache.assert_invariants().unwrap();
    }
}

#[test]
fn data_larger_than_the_cache_survives_in_the_files() {
    for design in DESIGNS {
        let db = database(design, 33);
        let p = testing::attach(db.all, "t");
        let at = loose_blocks(150);
        for (i, a) in at.iter().enumerate() {
            db.cache.in_group(&p, &scn, &mut |g| make_block(g, *a, i as u64)).unwrap();
        }
        for round in 0..3 {
            for (i, a) in at.iter().enumerate().skip(round) {
                assert_eq!(value(&db, &p, *a, GetKind::Consistent), i as u64);
            }
        }
        assert!(p.stats().get(Stat::PhysicalReads) > 150);
        assert!(p.stats().get(Stat::DirtyBuffersInspected) + p.stats().get(Stat::PhysicalWrites) > 100);
        db.cache.assert_invariants().unwrap();
        db.cache.shut_down(&p, Scn(99)).unwrap();
        let (files, control) = DataFiles::open(&db.directory).unwrap();
        assert_eq!((control.clean, control.scn), (true, Scn(99)));
        let again = over(Folder::new("cache"), files, design, 40);
        let q = testing::attach(again.all, "t");
        for (i, a) in at.iter().enumerate() {
            assert_eq!(value(&again, &q, *a, GetKind::Consistent), i as u64);
        }
    }
}

#[test]
fn every_design_counts_its_latch_gets() {
    let designs = [ChainDesign::Exclusive, ChainDesign::Shared, ChainDesign::FastPath, ChainDesign::Versioned];
    for (design, pinned, examined) in designs.into_iter().zip([2, 2, 1, 1]).map(|(design, n)| (design, n, 1)) {
        let db = database(design, 64);
        let p = testing::attach(db.all, "t");
        let at = loose_blocks(1)[0];
        db.cache.in_group(&p, &scn, &mut |g| make_block(g, at, 1)).unwrap();
        let gets = || db.all.latch_counts(LatchName::CacheBuffersChains).gets;
        for (kind, want, stat) in [
            (GetKind::Consistent, pinned, Stat::ConsistentGets),
            (GetKind::Examination, examined, Stat::ConsistentGetsExamination),
            (GetKind::Current, if design == ChainDesign::Versioned { 1 } else { 2 }, Stat::DbBlockGets),
        ] {
            let (before, counted) = (gets(), p.stats().get(stat));
            for _ in 0..100 {
                value(&db, &p, at, kind);
            }
            assert_eq!(gets() - before, 100 * want, "{design:?} {kind:?}");
            assert_eq!(p.stats().get(stat) - counted, 100);
        }
    }
}

#[test]
fn a_held_pin_saves_the_latch_until_the_call_ends() {
    let db = database(ChainDesign::FastPath, 800);
    let p = testing::attach(db.all, "t");
    let at = loose_blocks(12);
    db.cache.in_group(&p, &scn, &mut |g| at.iter().try_for_each(|a| make_block(g, *a, 1))).unwrap();
    let figures = || {
        let stat = |s| p.stats().get(s);
        let latch = db.all.latch_counts(LatchName::CacheBuffersChains).gets;
        [
            latch,
            stat(Stat::SessionLogicalReads),
            stat(Stat::ConsistentGetsFromCacheFastpath),
            stat(Stat::BufferIsPinnedCount),
        ]
    };
    let spent = |f: &dyn Fn()| {
        let before = figures();
        f();
        std::array::from_fn::<u64, 4, _>(|n| figures()[n] - before[n])
    };
    let look = |n: usize| assert_eq!(value(&db, &p, at[n], GetKind::Consistent), 1);
    assert_eq!(spent(&|| (0..10).for_each(|_| look(0))), [1, 1, 1, 9], "one get, then the pin leads there");
    assert_eq!(spent(&|| (0..10).for_each(|n| look(n % 2))), [1, 1, 1, 9], "so does that of another block");
    db.cache.let_go(&p, at[0]);
    assert_eq!(db.cache.pins_of(p.number()), [at[1]]);
    assert_eq!(spent(&|| look(0)), [1, 1, 1, 0], "given back, it has to be got again");
    let q = testing::attach(db.all, "u");
    db.cache.in_group(&q, &scn, &mut |g| set_value(g, at[0], 1)).unwrap();
    assert_eq!(spent(&|| look(0)), [0, 0, 0, 1], "a pin keeps nobody from publishing");
    let child = |n: usize| {
        let info = (0..db.cache.buffers()).filter_map(|b| db.cache.info(b)).find(|b| b.block == Some(at[n])).unwrap();
        let all = db.all.children(LatchName::CacheBuffersChains);
        let of = all.iter().flat_map(|set| set.iter()).find(|latch| latch.address() == info.latch_address);
        of.unwrap().counts().gets
    };
    let before = child(0);
    db.cache.end_call(&p);
    assert!(db.cache.pins_of(p.number()).is_empty());
    look(0);
    assert_eq!(child(0) - before, 1, "the child counts its shared gets");
    (0..at.len()).for_each(look);
    assert_eq!(db.cache.pins_of(p.number()).len(), 8, "the oldest goes when the places are used up");
    assert!(db.cache.assert_invariants().is_err(), "a call has not ended");
    db.cache.end_call(&p);
    db.cache.assert_invariants().unwrap();
    // A process that leaves during a call, as a background process may, leaves no pins to the next owner of its slot.
    look(3);
    let number = p.number();
    assert_eq!(db.cache.pins_of(number), [at[3]]);
    drop(p);
    let next = testing::attach(db.all, "next");
    assert_eq!(next.number(), number);
    assert!(db.cache.pins_of(number).is_empty());
}

#[test]
fn a_held_pin_keeps_its_buffer_and_a_dead_process_keeps_none() {
    let db = database(ChainDesign::FastPath, 800);
    let (p, q) = (testing::attach(db.all, "t"), testing::attach(db.all, "u"));
    let at = loose_blocks(2);
    db.cache.in_group(&p, &scn, &mut |g| at.iter().try_for_each(|a| make_block(g, *a, 1))).unwrap();
    at.iter().for_each(|a| assert_eq!(value(&db, &p, *a, GetKind::Consistent), 1));
    db.cache.empty(&q).unwrap();
    assert!(at.iter().all(|a| db.cache.is_cached(*a)), "held");
    db.cache.discard(&q, &|b| b == at[1]).unwrap();
    assert!(!db.cache.is_cached(at[1]), "a block that goes with its file asks nobody");
    assert_eq!(value(&db, &p, at[1], GetKind::Consistent), 1, "and is read again by who comes back to it");
    db.cache.clean_up(&q, p.number());
    assert!(db.cache.pins_of(p.number()).is_empty());
    db.cache.empty(&q).unwrap();
    assert!(at.iter().all(|a| !db.cache.is_cached(*a)));
    db.cache.assert_invariants().unwrap();
}

#[test]
fn a_damaged_block_is_an_error_and_harms_nothing_else() {
    let db = database(ChainDesign::Versioned, 32);
    let p = testing::attach(db.all, "t");
    let at = loose_blocks(40);
    for a in &at {
        db.cache.in_group(&p, &scn, &mut |g| make_block(g, *a, 4)).unwrap();
    }
    db.cache.empty(&p).unwrap();
    let mut file = std::fs::OpenOptions::new().write(true).open(db.directory.join("users01.dbf")).unwrap();
    file.seek(SeekFrom::Start(u64::from(at[0].block()) * BLOCK as u64 + 700)).unwrap();
    file.write_all(b"x").unwrap();
    let e = db.cache.read(&p, at[0], GetKind::Consistent, &mut |v| v.u64(0)).unwrap_err();
    assert!(e.is(1578), "{e}");
    assert!(
        e.to_string().contains(&format!("block # {}", at[0].block())) && e.to_string().contains("users01.dbf"),
        "{e}"
    );
    let beyond = types::Rdba::new(3, 4_000_000);
    assert!(db.cache.read(&p, beyond, GetKind::Consistent, &mut |_| ()).unwrap_err().is(1115));
    let unknown = types::Rdba::new(77, 1);
    assert!(db.cache.read(&p, unknown, GetKind::Consistent, &mut |_| ()).unwrap_err().is(1157));
    assert_eq!(value(&db, &p, at[1], GetKind::Current), 4);
    db.cache.assert_invariants().unwrap();
}

#[test]
fn an_emptied_cache_reads_everything_again() {
    for design in DESIGNS {
        let db = database(design, 60);
        let p = testing::attach(db.all, "t");
        let at = loose_blocks(50);
        for a in &at {
            db.cache.in_group(&p, &scn, &mut |g| make_block(g, *a, 8)).unwrap();
        }
        let pinned = at[7];
        let q = testing::attach(db.all, "q");
        let mut g = db.cache.group(&q);
        g.current(pinned).unwrap();
        assert_eq!(db.cache.empty(&p).unwrap(), 49, "all but the one in use");
        drop(g);
        let held: Vec<_> = (0..db.cache.buffers()).filter_map(|n| db.cache.info(n)?.block).collect();
        assert_eq!(held, [pinned]);
        db.cache.assert_invariants().unwrap();
        let before = p.stats().get(Stat::PhysicalReads);
        at.iter().for_each(|a| assert_eq!(value(&db, &p, *a, GetKind::Current), 8));
        assert_eq!(p.stats().get(Stat::PhysicalReads) - before, 49);
        db.cache.assert_invariants().unwrap();
    }
}

#[test]
fn a_search_looks_at_a_dirty_buffer_once() {
    let db = database(ChainDesign::Versioned, 100);
    let p = testing::attach(db.all, "t");
    let at = loose_blocks(70);
    for a in &at {
        db.cache.in_group(&p, &scn, &mut |g| make_block(g, *a, 8)).unwrap();
    }
    // No process writes, and nearly every buffer is dirty: each search must cost the same.
    let before = p.stats().get(Stat::FreeBufferInspected);
    let empty = loose_blocks(130).split_off(70);
    for round in 0..4 {
        for a in &empty[..] {
            db.cache.read(&p, *a, GetKind::Consistent, &mut |v| v.u64(64 + round)).unwrap();
        }
    }
    let (inspected, requested) =
        (p.stats().get(Stat::FreeBufferInspected) - before, p.stats().get(Stat::FreeBufferRequested));
    assert!(inspected < 2 * requested, "{inspected} buffers inspected for {requested}");
    db.cache.assert_invariants().unwrap();
    assert!(p.stats().get(Stat::DirtyBuffersInspected) <= 70);
}

#[test]
fn a_scan_reads_neighbours_at_once() {
    for design in DESIGNS {
        let db = database(design, 128);
        let p = testing::attach(db.all, "t");
        let at = loose_blocks(40);
        for (n, a) in at.iter().enumerate() {
            db.cache.in_group(&p, &scn, &mut |g| make_block(g, *a, n as u64)).unwrap();
        }
        db.cache.empty(&p).unwrap();
        assert_eq!(value(&db, &p, at[9], GetKind::Current), 9);
        let stat = |s| p.stats().get(s);
        let before = (stat(Stat::PhysicalReads), stat(Stat::PhysicalReadIoRequests));
        let io = db.cache.file_io(3);
        // 0 to 8: the tenth is there. Then 16 at once: an eighth of the cache.
        db.cache.read_ahead(&p, &at).unwrap();
        db.cache.read_ahead(&p, &at[10..]).unwrap();
        let after = (stat(Stat::PhysicalReads), stat(Stat::PhysicalReadIoRequests));
        assert_eq!((after.0 - before.0, after.1 - before.1), (9 + 16, 2));
        assert_eq!(stat(Stat::PrefetchedBlocks), 8 + 15);
        let now = db.cache.file_io(3);
        assert_eq!(
            (now.reads - io.reads, now.read_blocks - io.read_blocks, now.single_reads),
            (2, 25, io.single_reads)
        );
        db.cache.set_multiblock(&p, 4);
        db.cache.read_ahead(&p, &at[26..]).unwrap();
        let cached: Vec<bool> = at.iter().map(|a| db.cache.is_cached(*a)).collect();
        assert_eq!(cached, (0..40).map(|n| n < 30).collect::<Vec<_>>());
        at.iter().enumerate().for_each(|(n, a)| assert_eq!(value(&db, &p, *a, GetKind::Current), n as u64));
        assert_eq!(stat(Stat::PhysicalReads) - before.0, 9 + 16 + 4 + 10);
        db.cache.assert_invariants().unwrap();
    }
}

#[test]
fn a_damaged_block_in_a_scan_spares_its_neighbours() {
    let db = database(ChainDesign::Versioned, 128);
    let p = testing::attach(db.all, "t");
    let at = loose_blocks(12);
    for a in &at {
        db.cache.in_group(&p, &scn, &mut |g| make_block(g, *a, 3)).unwrap();
    }
    db.cache.empty(&p).unwrap();
    let mut file = std::fs::OpenOptions::new().write(true).open(db.directory.join("users01.dbf")).unwrap();
    file.seek(SeekFrom::Start(u64::from(at[5].block()) * BLOCK as u64 + 700)).unwrap();
    file.write_all(b"x").unwrap();
    db.cache.read_ahead(&p, &at).unwrap();
    for (n, a) in at.iter().enumerate() {
        assert_eq!(db.cache.is_cached(*a), n != 5);
        let read = db.cache.read(&p, *a, GetKind::Consistent, &mut |v| v.u64(VALUE_AT));
        assert!(if n == 5 { read.is_err_and(|e| e.is(1578)) } else { read.unwrap() == 3 });
    }
    // Behind the end of the file nothing is read, and no claim remains.
    let end = db.cache.files().blocks(3).unwrap();
    let over: Vec<types::Rdba> = (end - 3..end + 3).map(|n| types::Rdba::new(3, n)).collect();
    db.cache.read_ahead(&p, &over).unwrap();
    assert!(over.iter().all(|a| !db.cache.is_cached(*a)));
    db.cache.assert_invariants().unwrap();
}

#[test]
fn scans_and_changes_in_a_cache_too_small_for_them_agree() {
    for design in DESIGNS {
        let db = database(design, 64);
        let p = testing::attach(db.all, "t");
        let at = loose_blocks(120);
        for a in &at {
            db.cache.in_group(&p, &scn, &mut |g| make_block(g, *a, 0)).unwrap();
        }
        testing::run_threads(db.all, 4, |p, n| {
            for round in 1..20 {
                for i in 0..at.len() {
                    if n == 0 {
                        db.cache.in_group(p, &scn, &mut |g| set_value(g, at[i], round)).unwrap();
                        continue;
                    }
                    if !db.cache.is_cached(at[i]) {
                        db.cache.read_ahead(p, &at[i..]).unwrap();
                    }
                    value(&db, p, at[i], GetKind::Consistent);
                }
            }
        });
        at.iter().for_each(|a| assert_eq!(value(&db, &p, *a, GetKind::Current), 19));
        db.cache.assert_invariants().unwrap();
        let waits = db.cache.waits_by_class();
        assert_eq!((waits.len(), waits[0].0), (18, "data block"));
    }
}

#[test]
fn money_moves_between_blocks_and_none_is_lost() {
    for design in DESIGNS {
        let db = database(design, 37);
        let p = testing::attach(db.all, "t");
        let at = loose_blocks(60);
        for a in &at {
            db.cache.in_group(&p, &scn, &mut |g| make_block(g, *a, 1000)).unwrap();
        }
        let total = AtomicU64::new(0);
        testing::run_threads(db.all, 4, |p, n| {
            let mut numbers = Random::new(n as u64);
            for _ in 0..400 {
                let random = numbers.next();
                let (from, to) = (at[(random >> 33) as usize % 60], at[(random >> 40) as usize % 60]);
                if from == to {
                    continue;
                }
                let moved = db.cache.in_group(p, &scn, &mut |g| {
                    let (a, b) = (value_in(g, from)?, value_in(g, to)?);
                    let amount = a.min(random >> 58);
                    set_value(g, from, a - amount)?;
                    set_value(g, to, b + amount)?;
                    Ok(amount)
                });
                total.fetch_add(moved.unwrap(), Ordering::Relaxed);
                value(&db, p, from, GetKind::Consistent);
                value(&db, p, to, GetKind::Examination);
            }
        });
        assert!(total.load(Ordering::Relaxed) > 0);
        assert_eq!(at.iter().map(|a| value(&db, &p, *a, GetKind::Current)).sum::<u64>(), 60_000, "{design:?}");
        db.cache.assert_invariants().unwrap();
    }
}

#[test]
fn groups_that_wait_for_one_another_give_way() {
    let db = database(ChainDesign::Versioned, 64);
    let p = testing::attach(db.all, "p");
    let q = testing::attach(db.all, "q");
    let at = loose_blocks(2);
    db.cache.in_group(&p, &scn, &mut |g| at.iter().try_for_each(|a| make_block(g, *a, 1))).unwrap();
    let mut g = db.cache.group(&p);
    g.current(at[0]).unwrap();
    let mut h = db.cache.group(&q);
    h.current(at[1]).unwrap();
    // The second group wants a lower address than it holds, so its wait is limited.
    assert!(is_retry(&h.current(at[0]).unwrap_err()));
    drop(h);
    g.current(at[1]).unwrap();
    g.commit(scn()).unwrap();
    db.cache.assert_invariants().unwrap();
}

#[test]
fn pmon_drops_pins_and_finishes_publications_of_the_dead() {
    for design in DESIGNS {
        kill_in_groups(design);
    }
}

fn kill_in_groups(design: ChainDesign) {
    let db = database(design, 48);
    let pmon = testing::attach(db.all, "pmon");
    let at = loose_blocks(6);
    for a in &at {
        db.cache.in_group(&pmon, &scn, &mut |g| make_block(g, *a, 0)).unwrap();
    }
    let done = loose_blocks(7)[6];
    db.cache.in_group(&pmon, &scn, &mut |g| make_block(g, done, 0)).unwrap();
    // Each child adds 1 to a triple of blocks at a time: after any kill the three agree.
    let time = std::time::Duration::from_millis(700);
    let kills = testing::kill_children(&pmon, 2, time, 42, |p, seed| {
        let mut numbers = Random::new(seed);
        loop {
            let n = numbers.next();
            let three = if n >> 63 == 0 { [at[0], at[1], at[2]] } else { [at[3], at[4], at[5]] };
            let added = db.cache.in_group(p, &scn, &mut |g| {
                for a in three {
                    let v = value_in(g, a)?;
                    set_value(g, a, v + 1)?;
                }
                Ok(())
            });
            added.expect("a change");
            value(&db, p, three[1], GetKind::Consistent);
            if n >> 60 == 3 {
                db.cache.write_batch(p, 8).expect("a write");
            }
        }
    });
    assert!(kills.killed > 20, "{design:?}: {kills:?}");
    for three in [&at[..3], &at[3..]] {
        let values: Vec<u64> = three.iter().map(|a| value(&db, &pmon, *a, GetKind::Current)).collect();
        assert!(values[0] > 0 && values.iter().all(|v| *v == values[0]), "{values:?}");
    }
    db.cache.assert_invariants().unwrap();
    db.cache.shut_down(&pmon, Scn(5)).unwrap();
}
