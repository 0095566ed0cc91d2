//! The tree against a map, through splits, rollbacks, savepoints and purges.

mod common;
use btree::{Batch, Index, Inserted};
use buffer_cache::ChainDesign;
use common::*;
use process::Process;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Included, Unbounded};
use testing::Random;
use txn::{LockWait, NoHook, Txn};

#[derive(Clone, Debug)]
enum Op {
    Insert(u64, u32, usize),
    /// InsertMany: the number of rows, beginning with this row; their keys differ by this step and wrap around.
    InsertMany(u64, u32, usize, u64, u32),
    Delete(usize),
    DeleteMany(usize, usize),
    Commit,
    Rollback,
    Savepoint,
    RollbackTo,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        12 => (0u64..60, 0u32..40, 0usize..90).prop_map(|(k, r, l)| Op::Insert(k, r, l)),
        4 => (0u64..60, 0u32..40, 0usize..90, 0u64..7, 1u32..60).prop_map(|(k, r, l, step, n)| Op::InsertMany(k, r, l, step, n)),
        6 => any::<usize>().prop_map(Op::Delete),
        2 => any::<(usize, usize)>().prop_map(|(from, n)| Op::DeleteMany(from, n)),
        1 => Just(Op::Commit),
        1 => Just(Op::Rollback),
        1 => Just(Op::Savepoint),
        1 => Just(Op::RollbackTo),
    ]
}

type Model = BTreeMap<(Vec<u8>, u32), bool>;

fn live(model: &Model) -> Vec<(Vec<u8>, types::Rowid)> {
    model.iter().filter(|(_, l)| **l).map(|((k, r), _)| (k.clone(), row(*r))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn entries_against_a_map(ops in prop::collection::vec(op(), 200..500)) {
        let db = database(300);
        let p = testing::attach(db.all, "t");
        let index = index(&db, &p, false);
        let mut t = Txn::new();
        let (mut now, mut committed) = (Model::new(), Model::new());
        let mut saved = None;
        for op in ops {
            match op {
                Op::Insert(k, r, len) => {
                    let at = (long_key(k, len), r);
                    if now.get(&at) != Some(&true) {
                        let done = db.tree.insert(&p, &mut t, &index, &at.0, row(r), LockWait::NoWait);
                        prop_assert_eq!(done.unwrap(), Inserted::Done);
                        now.insert(at, true);
                    }
                }
                Op::InsertMany(k, r, len, step, n) => {
                    let mut batch = Batch::new();
                    for i in 0..n {
                        let at = (long_key((k + step * u64::from(i)) % 60, len), (r + i) % 40);
                        if now.get(&at) != Some(&true) {
                            batch.push(&at.0, row(at.1));
                            now.insert(at, true);
                        }
                    }
                    let done = db.tree.insert_many(&p, &mut t, &index, &mut batch, LockWait::NoWait);
                    prop_assert_eq!(done.unwrap(), Inserted::Done);
                }
                Op::Delete(n) => {
                    let all: Vec<_> = now.iter().filter(|(_, l)| **l).map(|(at, _)| at.clone()).collect();
                    if let Some(at) = all.get(n % all.len().max(1)) {
                        db.tree.delete(&p, &mut t, &index, &at.0, row(at.1)).unwrap();
                        now.remove(at);
                    }
                }
                Op::DeleteMany(from, n) => {
                    let all: Vec<_> = now.keys().cloned().collect();
                    let mut batch = Batch::new();
                    for at in all.iter().skip(from % all.len().max(1)).take(n % 60) {
                        batch.push(&at.0, row(at.1));
                        now.remove(at);
                    }
                    db.tree.delete_many(&p, &mut t, &index, &mut batch).unwrap();
                }
                Op::Commit => {
                    db.txns.commit(&p, &mut t, &NoHook).unwrap();
                    (committed, saved) = (now.clone(), None);
                }
                Op::Rollback => {
                    db.txns.rollback(&p, &mut t).unwrap();
                    (now, saved) = (committed.clone(), None);
                }
                Op::Savepoint => saved = Some((db.txns.savepoint(&t), now.clone())),
                Op::RollbackTo => {
                    if let Some((to, model)) = &saved {
                        db.txns.rollback_to(&p, &mut t, to).unwrap();
                        now = model.clone();
                    }
                }
            }
        }
        let report = db.tree.verify(&p, &index).unwrap();
        prop_assert_eq!(report.live, now.len());
        // Candidates are all live entries, and perhaps some that are marked deleted.
        let all = scan(&db, &p, &index, Unbounded, Unbounded, false);
        let found: BTreeSet<_> = all.iter().cloned().collect();
        prop_assert_eq!(found.len(), all.len(), "no entry twice");
        prop_assert!(live(&now).iter().all(|e| found.contains(e)));
        prop_assert!(all.is_sorted());
        let mut down = scan(&db, &p, &index, Unbounded, Unbounded, true);
        down.reverse();
        prop_assert_eq!(&down, &all);
        prop_assert_eq!(all.len(), report.live + report.deleted);
        // Ranges are subsets of the full scan.
        for (low, high) in [(5, 30), (0, 0), (30, 31), (59, 70), (40, 20)] {
            let (l, h) = (long_key(low, 0), long_key(high, 20));
            for (a, b) in [(Included(&l[..]), Excluded(&h[..])), (Excluded(&l[..]), Included(&h[..])), (Unbounded, Included(&h[..]))] {
                let inside = |k: &[u8]| {
                    let above = match a { Included(l) => k >= l, Excluded(l) => k > l && !k.starts_with(l), Unbounded => true };
                    above && match b { Included(h) => k < h || k.starts_with(h), Excluded(h) => k < h, Unbounded => true }
                };
                let want: Vec<_> = all.iter().filter(|(k, _)| inside(k)).cloned().collect();
                prop_assert_eq!(&scan(&db, &p, &index, a, b, false), &want);
                let mut down = scan(&db, &p, &index, a, b, true);
                down.reverse();
                prop_assert_eq!(&down, &want);
            }
        }
        for (k, r) in now.keys() {
            let mut rows = Vec::new();
            db.tree.probe(&p, &index, k, &mut rows).unwrap();
            prop_assert!(rows.contains(&row(*r)));
        }
        db.txns.commit(&p, &mut t, &NoHook).unwrap();
        db.cache.assert_invariants().unwrap();
    }
}

#[test]
fn a_unique_index_refuses_a_second_row_until_the_first_is_gone() {
    let db = database(200);
    let p = testing::attach(db.all, "t");
    let index = index(&db, &p, true);
    let mut t = Txn::new();
    let insert =
        |t: &mut Txn, n: u64, r: u32| db.tree.insert(&p, t, &index, &key(n), row(r), LockWait::NoWait).unwrap();
    for n in 0..400 {
        assert_eq!(insert(&mut t, n, n as u32), Inserted::Done);
    }
    assert_eq!(insert(&mut t, 7, 900), Inserted::Duplicate(row(7)));
    db.tree.delete(&p, &mut t, &index, &key(7), row(7)).unwrap();
    assert_eq!(insert(&mut t, 7, 900), Inserted::Done);
    db.txns.rollback(&p, &mut t).unwrap();
    assert_eq!(db.tree.verify(&p, &index).unwrap().live, 0);
    assert_eq!(insert(&mut t, 7, 900), Inserted::Done);
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    assert_eq!(insert(&mut t, 7, 901), Inserted::Duplicate(row(900)));
    assert!(db.tree.delete(&p, &mut t, &index, &key(8), row(8)).unwrap_err().is(8102));
    let long = vec![1; 2000];
    assert!(db.tree.insert(&p, &mut t, &index, &long, row(1), LockWait::NoWait).unwrap_err().is(1450));
    db.txns.rollback(&p, &mut t).unwrap();
}

#[test]
fn many_entries_of_a_unique_index_go_in_together_unless_one_is_refused() {
    let db = database(300);
    let p = testing::attach(db.all, "t");
    let index = index(&db, &p, true);
    let mut t = Txn::new();
    let batch_of = |numbers: &[u64]| {
        let mut batch = Batch::new();
        numbers.iter().for_each(|n| batch.push(&key(*n), row(*n as u32)));
        batch
    };
    let insert = |t: &mut Txn, batch: &mut Batch| db.tree.insert_many(&p, t, &index, batch, LockWait::NoWait).unwrap();
    // Out of order, and more than a leaf holds; a rollback removes them all although splits have moved them.
    let scattered: Vec<u64> = (0..1500).map(|n| n * 7919 % 1500).collect();
    assert_eq!(insert(&mut t, &mut batch_of(&scattered)), Inserted::Done);
    let half = db.txns.savepoint(&t);
    assert_eq!(insert(&mut t, &mut batch_of(&[1503, 1501, 1502])), Inserted::Done);
    for n in 2000..2400 {
        db.tree.insert(&p, &mut t, &index, &key(n), row(n as u32), LockWait::NoWait).unwrap();
    }
    db.txns.rollback_to(&p, &mut t, &half).unwrap();
    assert_eq!(db.tree.verify(&p, &index).unwrap().live, 1500);
    db.txns.rollback(&p, &mut t).unwrap();
    assert_eq!(db.tree.verify(&p, &index).unwrap().live, 0);
    // A key that exists already, and one that the batch has twice.
    assert_eq!(insert(&mut t, &mut batch_of(&scattered)), Inserted::Done);
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    let mut again = batch_of(&[1600, 1601]);
    again.push(&key(700), row(9000));
    assert_eq!(insert(&mut t, &mut again), Inserted::Duplicate(row(700)));
    db.txns.rollback(&p, &mut t).unwrap();
    let mut twice = batch_of(&[1600, 1601, 1602]);
    twice.push(&key(1601), row(9000));
    assert!(matches!(insert(&mut t, &mut twice), Inserted::Duplicate(_)));
    db.txns.rollback(&p, &mut t).unwrap();
    let report = db.tree.verify(&p, &index).unwrap();
    assert_eq!((report.live, report.deleted), (1500, 0));
    let rows = scan(&db, &p, &index, Unbounded, Unbounded, false);
    assert!(rows.iter().map(|(_, r)| *r).eq((0..1500).map(row)));
    drop(p);
    db.cache.assert_invariants().unwrap();
}

#[test]
fn an_uncommitted_key_of_another_session_is_waited_for() {
    let db = database(200);
    let (p, q) = (testing::attach(db.all, "p"), testing::attach(db.all, "q"));
    let index = index(&db, &p, true);
    let (mut t, mut u) = (Txn::new(), Txn::new());
    assert_eq!(db.tree.insert(&p, &mut t, &index, &key(1), row(1), LockWait::NoWait).unwrap(), Inserted::Done);
    let busy = db.tree.insert(&q, &mut u, &index, &key(1), row(2), LockWait::NoWait).unwrap_err();
    assert!(busy.is(54), "{busy}");
    db.txns.rollback(&p, &mut t).unwrap();
    assert_eq!(db.tree.insert(&q, &mut u, &index, &key(1), row(2), LockWait::NoWait).unwrap(), Inserted::Done);
    db.txns.commit(&q, &mut u, &NoHook).unwrap();
    // An uncommitted delete is waited for too; once it has committed the key is free.
    db.tree.delete(&p, &mut t, &index, &key(1), row(2)).unwrap();
    assert!(db.tree.insert(&q, &mut u, &index, &key(1), row(3), LockWait::NoWait).unwrap_err().is(54));
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    assert_eq!(db.tree.insert(&q, &mut u, &index, &key(1), row(3), LockWait::NoWait).unwrap(), Inserted::Done);
    db.txns.commit(&q, &mut u, &NoHook).unwrap();
}

#[test]
fn deleted_entries_stay_for_old_snapshots_and_are_purged_after_them() {
    let db = database(300);
    let (p, old) = (testing::attach(db.all, "p"), testing::attach(db.all, "old"));
    let index = index(&db, &p, false);
    let (mut t, reader) = (Txn::new(), Txn::new());
    let fill = |t: &mut Txn, from: u32| {
        for n in from..from + 300 {
            db.tree.insert(&p, t, &index, &key(u64::from(n % 100)), row(n), LockWait::NoWait).unwrap();
        }
    };
    fill(&mut t, 0);
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    let snapshot = db.txns.snapshot(&old, &reader);
    for n in 0..300 {
        db.tree.delete(&p, &mut t, &index, &key(u64::from(n % 100)), row(n)).unwrap();
    }
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    fill(&mut t, 300);
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    assert_eq!(db.tree.verify(&p, &index).unwrap().deleted, 300, "the old snapshot needs them");
    db.txns.release(&old, &snapshot);
    let leaves = db.tree.verify(&p, &index).unwrap().leaves;
    fill(&mut t, 600);
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    let report = db.tree.verify(&p, &index).unwrap();
    assert_eq!(report.live, 600);
    assert!(report.deleted < 150, "{report:?}");
    assert!(report.leaves <= leaves + 4, "their room is used again: {report:?}");
}

/// A unique index of 3,000 keys in ascending order.
fn ascending(db: &Db, p: &Process) -> Index {
    let index = index(db, p, true);
    for n in 0..3000 {
        assert_eq!(db.tree.load(p, &index, &key(n), row(n as u32)).unwrap(), Inserted::Done);
    }
    index
}

#[test]
fn ascending_keys_fill_their_blocks() {
    let db = database(300);
    let p = testing::attach(db.all, "t");
    let index = ascending(&db, &p);
    assert_eq!(db.tree.load(&p, &index, &key(17), row(9999)).unwrap(), Inserted::Duplicate(row(17)));
    let report = db.tree.verify(&p, &index).unwrap();
    assert!(report.height >= 3, "{report:?}");
    let bytes_each = 8 + 6 + 8 + 3 + 8 + 3;
    assert!(report.leaves * (1968 / bytes_each) < 3000 * 23 / 20, "{report:?}");
    let mut rows = Vec::new();
    for n in 0..3000 {
        rows.clear();
        db.tree.probe(&p, &index, &key(n), &mut rows).unwrap();
        assert!(rows.contains(&row(n as u32)) && rows.len() <= 2);
    }
}

#[test]
fn a_scan_gets_each_block_on_its_way_once() {
    let db = database(300);
    let p = testing::attach(db.all, "t");
    let index = ascending(&db, &p);
    let height = db.tree.verify(&p, &index).unwrap().height as u64;
    assert!(height >= 3);
    let gets = || p.stats().get(wait::Stat::ConsistentGets);
    for n in [0, 1, 1700, 2999] {
        let before = gets();
        let found = scan(&db, &p, &index, Included(&key(n)), Included(&key(n)), false);
        assert_eq!((found.len(), gets() - before), (1, height), "key {n}");
    }
}

/// A change of an entry examines each branch on its path once, and pins the leaf without examining it first.
#[test]
fn a_change_examines_branches_and_takes_the_leaf() {
    let db = database(300);
    let p = testing::attach(db.all, "t");
    let index = ascending(&db, &p);
    let branches = db.tree.verify(&p, &index).unwrap().height as u64 - 1;
    assert!(branches >= 2);
    let examined = || p.stats().get(wait::Stat::ConsistentGetsExamination);
    let mut t = Txn::new();
    let mut count = |what: &str, expected: u64, change: &mut dyn FnMut(&mut Txn)| {
        let before = examined();
        change(&mut t);
        assert_eq!(examined() - before, expected, "{what}");
    };
    count("delete", branches, &mut |t| db.tree.delete(&p, t, &index, &key(1), row(1)).unwrap());
    count("delete", branches, &mut |t| db.tree.delete(&p, t, &index, &key(1700), row(1700)).unwrap());
    count("insert", branches, &mut |t| {
        let done = db.tree.insert(&p, t, &index, &key(1700), row(1700), LockWait::NoWait);
        assert_eq!(done.unwrap(), Inserted::Done);
    });
    // Rolling back examines the block of each undo record too.
    count("rolling back three changes", 3 * (branches + 1), &mut |t| db.txns.rollback(&p, t).unwrap());
}

#[test]
fn a_scan_that_is_started_again_sees_what_a_new_one_sees() {
    let db = database(200);
    let p = testing::attach(db.all, "t");
    let trees = [index(&db, &p, false), {
        let segment = db.tree.create(&p, datafile::tablespace::USERS, types::ObjectId(101)).unwrap();
        db.tree.open(&p, segment, types::ObjectId(50), false).unwrap()
    }];
    let mut numbers = Random::new(1);
    let mut random = |n: u64| numbers.below(n);
    let (mut again, mut t) = (btree::RangeScan::new(), Txn::new());
    for step in 0..4000u64 {
        // The tree grows to one small leaf, then to a larger one, then to several.
        let tree = &trees[random(2) as usize];
        if random(4) == 0 {
            let (n, r) = (random(1 + step / 20), random(3) as u32);
            match random(3) {
                0 => drop(db.tree.delete(&p, &mut t, tree, &key(n), row(r))),
                _ => drop(db.tree.insert(&p, &mut t, tree, &key(n), row(r), LockWait::NoWait)),
            }
            match random(6) {
                0 => db.txns.rollback(&p, &mut t).unwrap(),
                1 | 2 => drop(db.txns.commit(&p, &mut t, &NoHook).unwrap()),
                _ => {}
            }
        }
        let (a, b) = (key(random(1 + step / 20)), key(random(1 + step / 20)));
        // A bound may be a prefix of keys.
        let (a, b) = (&a[..a.len() - 3 * random(2) as usize], &b[..b.len() - 3 * random(2) as usize]);
        let kind = |bound, kind| match kind {
            0 => Unbounded,
            1 => Included(bound),
            _ => Excluded(bound),
        };
        let (low, high, down) = (kind(a, random(3)), kind(b, random(3)), random(8) == 0);
        let new = scan(&db, &p, tree, low, high, down);
        again.start(tree, low, high, down);
        let most = if random(5) == 0 { random(4) as usize } else { usize::MAX };
        let mut seen = Vec::new();
        while seen.len() < most
            && let Some((key, row)) = again.next(&db.tree, &p).unwrap()
        {
            seen.push((key.to_vec(), row));
        }
        assert_eq!(seen, new[..new.len().min(most)], "step {step}: {low:?} {high:?} {down}");
    }
    assert!(db.tree.verify(&p, &trees[0]).unwrap().leaves > 1);
}

/// A scan that keeps a small leaf reads it by the design in force after a switch of the buffer cache.
#[test]
fn a_kept_leaf_is_not_reused_in_a_historical_design() {
    let db = database(200);
    let p = testing::attach(db.all, "t");
    let (index, mut t) = (index(&db, &p, false), Txn::new());
    assert_eq!(db.tree.insert(&p, &mut t, &index, &key(1), row(1), LockWait::NoWait).unwrap(), Inserted::Done);
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    let mut again = btree::RangeScan::new();
    // The exclusive design gets the latch twice for a read with a pin: before it and after it.
    let latch_gets = || -> u64 {
        let all = db.all.children(latch::LatchName::CacheBuffersChains);
        all.iter().flat_map(|set| set.iter()).map(|latch| latch.counts().gets).sum()
    };
    let gets = || p.stats().get(wait::Stat::ConsistentGets);
    for (design, each) in [(ChainDesign::Versioned, 0), (ChainDesign::Exclusive, 2), (ChainDesign::Versioned, 0)] {
        db.cache.switch(&p, design).unwrap();
        let mut look = || {
            again.start(&index, Included(&key(1)), Included(&key(1)), false);
            assert_eq!(again.next(&db.tree, &p).unwrap().map(|(_, row)| row), Some(row(1)));
        };
        look(); // the first look at a tree descends
        let before = [latch_gets(), gets()];
        (0..100).for_each(|_| look());
        assert_eq!([latch_gets() - before[0], gets() - before[1]], [each * 100, 100], "{design:?}");
        db.cache.end_call(&p);
    }
}

#[test]
fn truncated_and_dropped_indexes_are_gone() {
    let db = database(200);
    let p = testing::attach(db.all, "t");
    let first = index(&db, &p, false);
    for n in 0..500 {
        db.tree.load(&p, &first, &key(n), row(n as u32)).unwrap();
    }
    db.tree.truncate(&p, first.segment, types::ObjectId(101)).unwrap();
    let again = db.tree.open(&p, first.segment, first.table, false).unwrap();
    assert!(scan(&db, &p, &again, Unbounded, Unbounded, false).is_empty());
    let mut rows = Vec::new();
    assert!(db.tree.probe(&p, &first, &key(1), &mut rows).unwrap_err().is(8103), "the old object number is refused");
    db.tree.drop_index(&p, first.segment).unwrap();
    assert!(db.tree.open(&p, first.segment, first.table, false).unwrap_err().is(8103));
}
