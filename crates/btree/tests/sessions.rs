//! Several sessions in one tree: scans miss nothing while blocks split, and sessions that are killed leave whole
//! transactions.

mod common;
use btree::{Inserted, RangeScan};
use common::*;
use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use testing::Random;
use txn::{LockWait, NoHook, Txn};

#[test]
fn scans_see_all_old_entries_while_others_insert_and_roll_back() {
    let db = database(120);
    let setup = testing::attach(db.all, "setup2");
    let index = index(&db, &setup, false);
    let fixed: Vec<u64> = (0..300).map(|n| n * 1000).collect();
    for n in &fixed {
        db.tree.load(&setup, &index, &key(*n), row(1)).unwrap();
    }
    let done = AtomicBool::new(false);
    let counts = testing::run_threads(db.all, 5, |p, n| {
        let mut random = Random::new(n as u64 + 17);
        if n < 2 {
            let mut scans = 0;
            while !done.load(Ordering::Relaxed) || scans == 0 {
                let (from, down) = (random.next() % 300_000, n == 1);
                let (low, high) = (key(from), key(from + 60_000));
                let mut scan = RangeScan::new();
                scan.start(&index, Included(&low), Excluded(&high), down);
                let mut seen = Vec::new();
                while let Some((k, r)) = scan.next(&db.tree, p).unwrap() {
                    seen.push((k.to_vec(), r));
                }
                if down {
                    seen.reverse();
                }
                assert!(seen.is_sorted() && seen.windows(2).all(|w| w[0] != w[1]), "in order and once");
                let seen: BTreeSet<_> = seen.into_iter().map(|(k, _)| k).collect();
                for want in fixed.iter().filter(|k| (from..from + 60_000).contains(*k)) {
                    assert!(seen.contains(&key(*want)), "{want} is missing");
                }
                scans += 1;
            }
            return 0;
        }
        let (mut t, mut live) = (Txn::new(), 0);
        for round in 0..40 {
            for i in 0..12 {
                let k = key(random.next() % 300_000);
                let r = row(1000 * n as u32 + round * 12 + i);
                assert_eq!(db.tree.insert(p, &mut t, &index, &k, r, LockWait::Forever).unwrap(), Inserted::Done);
                if i % 4 == 3 {
                    db.tree.delete(p, &mut t, &index, &k, r).unwrap();
                }
            }
            if round % 3 == 0 {
                db.txns.rollback(p, &mut t).unwrap();
            } else {
                db.txns.commit(p, &mut t, &NoHook).unwrap();
                live += 9;
            }
        }
        if n == 4 {
            done.store(true, Ordering::Relaxed);
        }
        live
    });
    let report = db.tree.verify(&setup, &index).unwrap();
    assert_eq!(report.live, 300 + counts.iter().sum::<usize>());
    db.cache.assert_invariants().unwrap();
}

#[test]
fn only_one_session_gets_a_unique_key() {
    let db = database(120);
    let setup = testing::attach(db.all, "setup2");
    let index = index(&db, &setup, true);
    let won = testing::run_threads(db.all, 4, |p, n| {
        let mut t = Txn::new();
        let mut won = 0;
        for k in 0..150 {
            // Each session inserts the keys in an order of its own; they are long enough to split often.
            let k = (k * [1, 7, 11, 13][n]) % 150;
            let r = row(1000 * n as u32 + k);
            let done = db.tree.insert(p, &mut t, &index, &long_key(k.into(), 60), r, LockWait::Forever);
            won += usize::from(done.unwrap() == Inserted::Done);
            db.txns.commit(p, &mut t, &NoHook).unwrap();
        }
        won
    });
    assert_eq!(won.iter().sum::<usize>(), 150, "{won:?}");
    assert_eq!(db.tree.verify(&setup, &index).unwrap().live, 150);
}

#[test]
fn killed_sessions_leave_whole_transactions_and_a_sound_tree() {
    let db = database(150);
    let pmon = testing::attach(db.all, "pmon");
    let index = index(&db, &pmon, false);
    let kills = testing::kill_children(&pmon, 3, Duration::from_millis(1800), 11, |p, seed| {
        let (mut t, mut random) = (Txn::new(), Random::new(seed));
        loop {
            // One transaction inserts three entries of one row at distant places, or deletes three of its own.
            let (k, r, how) = (random.below(100_000), row(random.below(50_000)), random.below(8));
            // Deleted keys are longer, so that they can be purged independently.
            let take_away = how == 1;
            let keys = [k, k + 1_000_000, k + 2_000_000].map(|k| long_key(k, 30 + usize::from(take_away)));
            for k in &keys {
                db.tree.insert(p, &mut t, &index, k, r, LockWait::Forever).expect("an insert");
            }
            match how {
                0 => db.txns.rollback(p, &mut t).expect("a rollback"),
                1 => {
                    keys.iter().for_each(|k| db.tree.delete(p, &mut t, &index, k, r).expect("a delete"));
                    db.txns.commit(p, &mut t, &NoHook).map(|_| ()).expect("a commit");
                }
                _ => db.txns.commit(p, &mut t, &NoHook).map(|_| ()).expect("a commit"),
            }
        }
    });
    assert!(kills.killed > 10, "{kills:?}");
    let report = db.tree.verify(&pmon, &index).unwrap();
    assert_eq!(report.live % 3, 0, "{report:?}");
    let parts: Vec<BTreeSet<_>> = (0..3u64)
        .map(|n| {
            let (low, high) = (long_key(n * 1_000_000, 0), long_key((n + 1) * 1_000_000, 0));
            let entries = scan(&db, &pmon, &index, Included(&low), Excluded(&high), false);
            let number = |k: &[u8]| std::str::from_utf8(&k[1..10]).unwrap().parse::<u64>().unwrap() % 1_000_000;
            let kept = entries.iter().filter(|(k, _)| k.len() == long_key(0, 30).len());
            kept.map(|(k, r)| (number(k), r.rdba, r.slot)).collect()
        })
        .collect();
    assert!(parts[0].len() > 50, "{report:?}");
    let odd = parts[0].symmetric_difference(&parts[1]).count() + parts[1].symmetric_difference(&parts[2]).count();
    assert_eq!(odd, 0, "{kills:?} {report:?}");
    assert_eq!(scan(&db, &pmon, &index, Unbounded, Unbounded, true).len(), report.live + report.deleted);
    db.cache.assert_invariants().unwrap();
}

#[test]
fn a_tree_that_grows_under_four_sessions_takes_every_entry() {
    let db = database(150);
    let setup = testing::attach(db.all, "setup2");
    let index = index(&db, &setup, false);
    testing::run_threads(db.all, 4, |p, n| {
        let (mut t, mut random) = (Txn::new(), Random::new(n as u64 + 5));
        for i in 0..1000u32 {
            let k = long_key(random.next() % 1_000_000, 30);
            db.tree.insert(p, &mut t, &index, &k, row(n as u32 * 10_000 + i), LockWait::Forever).unwrap();
            if i % 3 == 0 {
                db.txns.commit(p, &mut t, &NoHook).unwrap();
            }
        }
        db.txns.commit(p, &mut t, &NoHook).unwrap();
    });
    assert_eq!(db.tree.verify(&setup, &index).unwrap().live, 4000);
    db.cache.assert_invariants().unwrap();
}
