//! Index-organised tables against a model: own changes, older snapshots, rollbacks, splits, merges.

mod common;
use btree::{Inserted, RowAction, RowOutcome, RowScan, RowTable};
use common::*;
use process::Process;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Bound::Unbounded;
use txn::{LockWait, NoHook, Snapshot, Txn};
use types::{ObjectId, RowReader, RowWriter, Scn};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn table(db: &Db, p: &Process) -> RowTable {
    RowTable { tree: index(db, p, true), object: ObjectId(50) }
}

/// A row of one column.
fn bytes(fill: u8, len: usize) -> Vec<u8> {
    let mut row = Vec::new();
    RowWriter::new(&mut row, 1).bytes(&vec![fill; len.max(1)]);
    assert!(RowReader::length(&row).is_some());
    row
}

fn rows(db: &Db, p: &Process, t: &RowTable, s: &Snapshot, down: bool) -> Vec<(Vec<u8>, Vec<u8>)> {
    try_rows(db, p, t, s, down).unwrap()
}

fn try_rows(db: &Db, p: &Process, t: &RowTable, s: &Snapshot, down: bool) -> types::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut scan = RowScan::new();
    scan.start(&t.tree, s, Unbounded, Unbounded, down);
    let mut all = Vec::new();
    while let Some((key, row)) = scan.next(&db.tree, p)? {
        all.push((key.to_vec(), row.to_vec()));
    }
    if down {
        all.reverse();
    }
    Ok(all)
}

/// An unregistered moment, as in a flashback query.
fn past(scn: Scn) -> Snapshot {
    Snapshot { scn, xid: None, own: None, serializable: false }
}

fn as_list(model: &Model) -> Vec<(Vec<u8>, Vec<u8>)> {
    model.iter().map(|(k, v)| (k.clone(), v.clone())).collect()
}

#[derive(Clone, Debug)]
enum Op {
    Insert(u64, u8, usize),
    Update(usize, u8, usize),
    Delete(usize),
    Lock(usize),
    Commit,
    Rollback,
    Savepoint,
    RollbackTo,
    /// Opens a snapshot that is read again at the end.
    Look,
    /// Notes the moment, which is read by a flashback query at the end.
    Remember,
    Coalesce,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        12 => (0u64..200, any::<u8>(), 0usize..300).prop_map(|(k, f, l)| Op::Insert(k, f, l)),
        8 => (any::<usize>(), any::<u8>(), 0usize..600).prop_map(|(n, f, l)| Op::Update(n, f, l)),
        6 => any::<usize>().prop_map(Op::Delete),
        2 => any::<usize>().prop_map(Op::Lock),
        2 => Just(Op::Commit),
        1 => Just(Op::Rollback),
        1 => Just(Op::Savepoint),
        1 => Just(Op::RollbackTo),
        1 => Just(Op::Look),
        3 => Just(Op::Remember),
        1 => Just(Op::Coalesce),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn rows_against_a_map(ops in prop::collection::vec(op(), 200..500)) {
        let db = database(400);
        let (p, reader) = (testing::attach(db.all, "t"), testing::attach(db.all, "r"));
        let table = table(&db, &p);
        let (mut t, quiet) = (Txn::new(), Txn::new());
        let (mut now, mut committed) = (Model::new(), Model::new());
        let mut saved = None;
        let mut looks: Vec<(Snapshot, Model)> = Vec::new();
        let mut moments: Vec<(Snapshot, Model)> = Vec::new();
        for op in ops {
            let picked = |n: usize, now: &Model| now.keys().nth(n % now.len().max(1)).cloned();
            match op {
                Op::Insert(k, fill, len) => {
                    let (key, row) = (key(k), bytes(fill, len));
                    let done = db.tree.insert_row(&p, &mut t, &table, &key, &row, LockWait::NoWait).unwrap();
                    prop_assert_eq!(done == Inserted::Done, !now.contains_key(&key));
                    now.entry(key).or_insert(row);
                }
                Op::Update(n, fill, len) => {
                    let Some(key) = picked(n, &now) else { continue };
                    let row = bytes(fill, len);
                    let s = db.txns.snapshot(&p, &t);
                    let done = db.tree.change_row(&p, &mut t, &table, &key, RowAction::Update(&row), &s, LockWait::NoWait);
                    prop_assert_eq!(done.unwrap(), RowOutcome::Done);
                    db.txns.release(&p, &s);
                    now.insert(key, row);
                }
                Op::Delete(n) => {
                    let Some(key) = picked(n, &now) else { continue };
                    let s = db.txns.snapshot(&p, &t);
                    let done = db.tree.change_row(&p, &mut t, &table, &key, RowAction::Delete, &s, LockWait::NoWait);
                    prop_assert_eq!(done.unwrap(), RowOutcome::Done);
                    db.txns.release(&p, &s);
                    now.remove(&key);
                }
                Op::Lock(n) => {
                    let Some(key) = picked(n, &now) else { continue };
                    let s = db.txns.snapshot(&p, &t);
                    let done = db.tree.change_row(&p, &mut t, &table, &key, RowAction::Lock, &s, LockWait::NoWait);
                    prop_assert_eq!(done.unwrap(), RowOutcome::Done);
                    db.txns.release(&p, &s);
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
                Op::Look => {
                    if looks.len() < 4 {
                        looks.push((db.txns.snapshot(&reader, &quiet), committed.clone()));
                    }
                }
                Op::Remember => moments.push((past(db.txns.current_scn()), committed.clone())),
                Op::Coalesce => {
                    db.tree.coalesce(&p, &table.tree).unwrap();
                }
            }
        }
        db.tree.verify(&p, &table.tree).unwrap();
        let mine = db.txns.snapshot(&p, &t);
        prop_assert_eq!(rows(&db, &p, &table, &mine, false), as_list(&now));
        prop_assert_eq!(rows(&db, &p, &table, &mine, true), as_list(&now));
        looks.push((db.txns.snapshot(&reader, &quiet), committed.clone()));
        for (s, model) in &looks {
            prop_assert_eq!(&rows(&db, &reader, &table, s, false), &as_list(model));
            let mut row = Vec::new();
            for k in (0..200).map(key) {
                let found = db.tree.fetch_row(&reader, &table.tree, &k, s, &mut row).unwrap();
                prop_assert_eq!(found.then(|| row.clone()), model.get(&k).cloned());
            }
        }
        looks.iter().for_each(|(s, _)| db.txns.release(&reader, s));
        // A moment has all its rows, or reading it returns ORA-01555.
        for (s, model) in &moments {
            for down in [false, true] {
                match try_rows(&db, &reader, &table, s, down) {
                    Ok(found) => prop_assert_eq!(found, as_list(model)),
                    Err(e) => prop_assert!(e.is(1555), "{}", e),
                }
            }
            let mut row = Vec::new();
            for k in (0..200).map(key) {
                match db.tree.fetch_row(&reader, &table.tree, &k, s, &mut row) {
                    Ok(found) => prop_assert_eq!(found.then(|| row.clone()), model.get(&k).cloned()),
                    Err(e) => prop_assert!(e.is(1555), "{}", e),
                }
            }
        }
        db.txns.rollback(&p, &mut t).unwrap();
        let last = db.txns.snapshot(&p, &t);
        prop_assert_eq!(rows(&db, &p, &table, &last, false), as_list(&committed));
        db.txns.release(&p, &last);
        db.cache.assert_invariants().unwrap();
    }
}

#[test]
fn a_row_of_another_session_is_locked_and_then_changed() {
    let db = database(200);
    let (p, q) = (testing::attach(db.all, "p"), testing::attach(db.all, "q"));
    let table = table(&db, &p);
    let (mut t, mut u) = (Txn::new(), Txn::new());
    let insert =
        |p: &Process, t: &mut Txn, n: u64| db.tree.insert_row(p, t, &table, &key(n), &bytes(1, 9), LockWait::NoWait);
    insert(&p, &mut t, 1).unwrap();
    insert(&p, &mut t, 2).unwrap();
    assert!(insert(&q, &mut u, 1).unwrap_err().is(54));
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    assert!(matches!(insert(&q, &mut u, 1).unwrap(), Inserted::Duplicate(_)));
    let before = db.txns.snapshot(&q, &u);
    let change = |p: &Process, t: &mut Txn, n: u64, action: RowAction<'_>, s: &Snapshot, wait| {
        db.tree.change_row(p, t, &table, &key(n), action, s, wait)
    };
    let s = db.txns.snapshot(&p, &t);
    // A lock alone does not count as a change.
    change(&p, &mut t, 1, RowAction::Lock, &s, LockWait::NoWait).unwrap();
    change(&p, &mut t, 2, RowAction::Update(&bytes(2, 30)), &s, LockWait::NoWait).unwrap();
    assert!(change(&q, &mut u, 1, RowAction::Delete, &before, LockWait::NoWait).unwrap_err().is(54));
    let skipped = change(&q, &mut u, 2, RowAction::Lock, &before, LockWait::SkipLocked).unwrap();
    assert_eq!(skipped, RowOutcome::Skipped);
    db.txns.release(&p, &s);
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    assert_eq!(change(&q, &mut u, 2, RowAction::Delete, &before, LockWait::NoWait).unwrap(), RowOutcome::Changed);
    assert_eq!(change(&q, &mut u, 1, RowAction::Delete, &before, LockWait::NoWait).unwrap(), RowOutcome::Done);
    assert_eq!(rows(&db, &q, &table, &before, false), vec![(key(1), bytes(1, 9)), (key(2), bytes(1, 9))]);
    db.txns.release(&q, &before);
    db.txns.rollback(&q, &mut u).unwrap();
    let long = bytes(1, 1500);
    assert!(db.tree.insert_row(&p, &mut t, &table, &key(9), &long, LockWait::NoWait).unwrap_err().is(1429));
}

/// Deleted rows stay for flashback queries until they are purged; from then on the purge SCN of the leaf, and of the
/// leaves that take over its range, refuses older moments.
#[test]
fn a_moment_before_a_purge_is_too_old_and_one_behind_it_is_not() {
    let db = database(400);
    let p = testing::attach(db.all, "p");
    let table = table(&db, &p);
    assert!(table.tree.notes_purges);
    let mut t = Txn::new();
    let change = |t: &mut Txn, n: u64, delete: bool| {
        if !delete {
            db.tree.insert_row(&p, t, &table, &key(n), &bytes(1, 30), LockWait::NoWait).unwrap();
            return;
        }
        let s = db.txns.snapshot(&p, t);
        db.tree.change_row(&p, t, &table, &key(n), RowAction::Delete, &s, LockWait::NoWait).unwrap();
        db.txns.release(&p, &s);
    };
    (0..400).for_each(|n| change(&mut t, n, false));
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    let full = past(db.txns.current_scn());
    // From here on the retention keeps nothing.
    db.txns.times().retain(u64::MAX, u64::MAX);
    (100..300).for_each(|n| change(&mut t, n, true));
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    let less = past(db.txns.current_scn());
    assert_eq!(rows(&db, &p, &table, &full, false).len(), 400);
    (0..20).for_each(|n| change(&mut t, n, true));
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    assert_eq!(rows(&db, &p, &table, &full, true).len(), 400, "the leaves were not given back");
    assert_eq!(rows(&db, &p, &table, &less, true).len(), 200);
    assert!(db.tree.coalesce(&p, &table.tree).unwrap() > 0);
    db.tree.verify(&p, &table.tree).unwrap();
    for down in [false, true] {
        assert!(try_rows(&db, &p, &table, &full, down).unwrap_err().is(1555));
        assert!(try_rows(&db, &p, &table, &less, down).unwrap_err().is(1555));
        assert_eq!(rows(&db, &p, &table, &past(db.txns.current_scn()), down).len(), 180);
    }
    let mut row = Vec::new();
    assert!(db.tree.fetch_row(&p, &table.tree, &key(150), &full, &mut row).unwrap_err().is(1555));
    // Rows that were not purged are found as of any moment; a split hands the purge SCN on.
    assert!(db.tree.fetch_row(&p, &table.tree, &key(350), &full, &mut row).unwrap());
    (1000..1400).for_each(|n| change(&mut t, n, false));
    (100..300).for_each(|n| change(&mut t, n, false));
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    for n in 100..300 {
        let found = db.tree.fetch_row(&p, &table.tree, &key(n), &full, &mut row);
        assert!(found.as_ref().is_err_and(|e| e.is(1555)), "row {n} was there: {found:?}");
    }
}

/// Keys that grow and are deleted in ascending order: the tree stays small, and its readers see the right rows.
#[test]
fn a_queue_does_not_grow() {
    let db = database(400);
    let p = testing::attach(db.all, "p");
    let (plain, table) = (
        index(&db, &p, false),
        RowTable {
            tree: {
                let segment = db.tree.create(&p, datafile::tablespace::USERS, ObjectId(101)).unwrap();
                db.tree.open(&p, segment, ObjectId(51), true).unwrap()
            },
            object: ObjectId(51),
        },
    );
    let mut t = Txn::new();
    let mut most = 0;
    for n in 0..12_000u64 {
        db.tree.insert(&p, &mut t, &plain, &key(n), row(n as u32), LockWait::NoWait).unwrap();
        db.tree.insert_row(&p, &mut t, &table, &key(n), &bytes(3, 20), LockWait::NoWait).unwrap();
        if n >= 100 {
            let old = n - 100;
            db.tree.delete(&p, &mut t, &plain, &key(old), row(old as u32)).unwrap();
            let s = db.txns.snapshot(&p, &t);
            let done = db.tree.change_row(&p, &mut t, &table, &key(old), RowAction::Delete, &s, LockWait::NoWait);
            assert_eq!(done.unwrap(), RowOutcome::Done);
            db.txns.release(&p, &s);
        }
        db.txns.commit(&p, &mut t, &NoHook).unwrap();
        if n % 1000 == 999 {
            let (a, b) = (db.tree.verify(&p, &plain).unwrap(), db.tree.verify(&p, &table.tree).unwrap());
            assert_eq!((a.live, b.live), (100, 100));
            most = most.max(a.leaves + a.branches + b.leaves + b.branches);
            let blocks = |i: &btree::Index| -> u32 {
                db.txns.space().extents(&p, i.segment).unwrap().iter().map(|e| e.blocks).sum()
            };
            assert!(
                blocks(&plain) + blocks(&table.tree) <= 64,
                "the segments grow: {} {}",
                blocks(&plain),
                blocks(&table.tree)
            );
        }
    }
    assert!(most < 40, "{most} blocks for a hundred rows");
    db.cache.assert_invariants().unwrap();
}

#[test]
fn coalescing_gives_back_sparse_leaves_under_an_open_scan() {
    let db = database(400);
    let p = testing::attach(db.all, "p");
    let plain = index(&db, &p, false);
    let mut t = Txn::new();
    for n in 0..3000u64 {
        db.tree.insert(&p, &mut t, &plain, &key(n), row(n as u32), LockWait::NoWait).unwrap();
    }
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    for n in (0..3000u64).filter(|n| n % 10 != 0) {
        db.tree.delete(&p, &mut t, &plain, &key(n), row(n as u32)).unwrap();
    }
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    let before = db.tree.verify(&p, &plain).unwrap();
    let mut scan = btree::RangeScan::new();
    scan.start(&plain, Unbounded, Unbounded, false);
    let mut seen = Vec::new();
    for _ in 0..100 {
        seen.push(scan.next(&db.tree, &p).unwrap().unwrap().0.to_vec());
    }
    let merged = db.tree.coalesce(&p, &plain).unwrap();
    let after = db.tree.verify(&p, &plain).unwrap();
    assert!(
        after.leaves * 4 < before.leaves && merged as usize == before.leaves - after.leaves,
        "{before:?} {after:?}"
    );
    // Blocks given back are reused, and a scan that holds the address of one loses nothing.
    for n in 5000..8000u64 {
        db.tree.insert(&p, &mut t, &plain, &key(n), row(n as u32), LockWait::NoWait).unwrap();
    }
    while let Some((key, _)) = scan.next(&db.tree, &p).unwrap() {
        seen.push(key.to_vec());
    }
    assert!(seen.is_sorted());
    for n in (0..3000u64).step_by(10).chain(5000..8000) {
        assert!(seen.binary_search(&key(n)).is_ok(), "{n}");
    }
    seen.dedup();
    assert_eq!(seen.iter().filter(|k| **k >= key(5000)).count(), 3000);
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    db.tree.verify(&p, &plain).unwrap();
}

/// Versions of rows whose makers' commit SCNs are known only as upper bounds, since their slots were reused: the undo
/// has the exact SCN.
#[test]
fn old_versions_are_seen_however_often_the_slots_of_their_makers_were_used_since() {
    let db = database(400);
    let (p, q) = (testing::attach(db.all, "p"), testing::attach(db.all, "q"));
    let table = table(&db, &p);
    db.txns.times().retain(1, 1);
    let mut t = Txn::new();
    let mut now = Model::new();
    for n in 0..60 {
        db.tree.insert_row(&p, &mut t, &table, &key(n), &bytes(0, 60), LockWait::NoWait).unwrap();
        now.insert(key(n), bytes(0, 60));
    }
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    let mut moments = Vec::new();
    for n in 0..1500u64 {
        if n % 150 == 0 {
            moments.push((db.txns.snapshot(&q, &Txn::new()), now.clone()));
        }
        let (k, fill) = (n * 7 % 13 * 4, (n % 250) as u8);
        let s = db.txns.snapshot(&p, &t);
        let row = bytes(fill, 60);
        let done = db.tree.change_row(&p, &mut t, &table, &key(k), RowAction::Update(&row), &s, LockWait::NoWait);
        assert_eq!(done.unwrap(), RowOutcome::Done);
        db.txns.release(&p, &s);
        db.txns.commit(&p, &mut t, &NoHook).unwrap();
        now.insert(key(k), row);
        if n % 300 == 299 {
            for (s, model) in &moments {
                assert_eq!(rows(&db, &q, &table, s, false), as_list(model), "as of {} behind {n} changes", s.scn);
                assert_eq!(rows(&db, &q, &table, s, true), as_list(model), "as of {} behind {n} changes", s.scn);
            }
        }
    }
}
