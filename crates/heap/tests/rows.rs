//! Rows one at a time: the changes of a session, and what another session sees of them.

mod common;

use buffer_cache::ChainDesign;
use common::{BLOCK, Shape, database, over, row};
use heap::RowOutcome;
use testing::Random;
use txn::{CommitHook, LockWait, NoHook, Txn};
use types::{ObjectId, Result, Rowid, Scn};

const WAIT: LockWait = LockWait::NoWait;

#[test]
fn others_see_a_row_only_after_commit() {
    for design in [ChainDesign::Versioned, ChainDesign::FastPath, ChainDesign::Shared, ChainDesign::Exclusive] {
        let db = database(&Shape { design, ..Shape::default() });
        let (p, q) = (db.attach(), db.attach());
        let table = db.table(&p, 50);
        let (mut t, u) = (Txn::new(), Txn::new());
        let rowid = db.heap.insert(&p, &mut t, &table, &row(1, b"one")).unwrap();
        let early = db.now(&q, &u);
        let mut got = Vec::new();
        assert!(!db.heap.fetch_by_rowid(&q, &early, &table, rowid, &mut got).unwrap());
        assert!(db.heap.fetch_by_rowid(&p, &db.now(&p, &t), &table, rowid, &mut got).unwrap());
        assert_eq!(got, row(1, b"one"));
        let scn = db.txns.commit(&p, &mut t, &NoHook).unwrap();
        assert!(scn > early.scn);
        assert!(!db.heap.fetch_by_rowid(&q, &early, &table, rowid, &mut got).unwrap());
        assert!(db.heap.fetch_by_rowid(&q, &db.now(&q, &u), &table, rowid, &mut got).unwrap());
        db.txns.assert_invariants();
    }
}

#[test]
fn an_old_snapshot_sees_old_rows_through_many_changes() {
    let db = database(&Shape::default());
    let (p, q) = (db.attach(), db.attach());
    let table = db.table(&p, 50);
    let (mut t, u) = (Txn::new(), Txn::new());
    let rowid = db.heap.insert(&p, &mut t, &table, &row(1, b"0")).unwrap();
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    let mut snapshots = Vec::new();
    for n in 1..40u32 {
        snapshots.push((n - 1, db.txns.snapshot(&q, &u)));
        let seen = db.now(&p, &t);
        let new = row(1, n.to_string().as_bytes());
        assert_eq!(db.heap.update(&p, &mut t, &table, rowid, &new, &seen, WAIT).unwrap(), RowOutcome::Done);
        if n % 5 == 0 {
            let at = db.txns.savepoint(&t);
            let seen = db.now(&p, &t);
            db.heap.delete(&p, &mut t, &table, rowid, &seen, WAIT).unwrap();
            db.txns.rollback_to(&p, &mut t, &at).unwrap();
        }
        db.txns.commit(&p, &mut t, &NoHook).unwrap();
    }
    let mut got = Vec::new();
    for (n, s) in snapshots {
        assert!(db.heap.fetch_by_rowid(&q, &s, &table, rowid, &mut got).unwrap());
        let want = if n == 0 { row(1, b"0") } else { row(1, n.to_string().as_bytes()) };
        assert_eq!(common::split(&got), common::split(&want), "as of {n}");
    }
}

#[test]
fn a_block_that_is_changed_row_by_row_is_rebuilt_once_for_a_snapshot() {
    use wait::Stat;
    let db = database(&Shape::default());
    let (p, q) = (db.attach(), db.attach());
    let table = db.table(&p, 50);
    let mut t = Txn::new();
    let rows: Vec<Rowid> = (0..20).map(|id| db.heap.insert(&p, &mut t, &table, &row(id, b"old")).unwrap()).collect();
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    let blocks: std::collections::HashSet<_> = rows.iter().map(|r| r.rdba).collect();
    let read = |s: &txn::Snapshot, id: usize, want: &[u8]| {
        let mut got = Vec::new();
        assert!(db.heap.fetch_by_rowid(&p, s, &table, rows[id], &mut got).unwrap());
        assert_eq!(common::split(&got), (id as u32, want.to_vec()));
    };
    // One statement: it reads each row as of its start and changes it.
    let pass = |t: &mut Txn, before: &[u8], after: &[u8]| {
        let s = db.now(&p, t);
        let built = p.stats().get(Stat::CrBlocksCreated);
        for (id, rowid) in rows.iter().enumerate() {
            read(&s, id, before);
            let done = db.heap.update(&p, t, &table, *rowid, &row(id as u32, after), &s, WAIT).unwrap();
            assert_eq!(done, RowOutcome::Done);
            read(&s, id, before);
        }
        p.stats().get(Stat::CrBlocksCreated) - built
    };
    let built = pass(&mut t, b"old", b"new");
    assert_eq!(built, blocks.len() as u64, "an image a block");
    assert!(pass(&mut t, b"new", b"newer") <= blocks.len() as u64, "the next statement sees the changes");
    // Undone changes are gone for the snapshots of the transaction, too.
    let at = db.txns.savepoint(&t);
    pass(&mut t, b"newer", b"wrong");
    db.txns.rollback_to(&p, &mut t, &at).unwrap();
    pass(&mut t, b"newer", b"last");
    // Another session, before and after the commit, with a snapshot of each.
    let u = Txn::new();
    let early = db.now(&q, &u);
    read(&early, 3, b"old");
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    read(&early, 3, b"old");
    read(&db.now(&q, &u), 3, b"last");
}

#[test]
fn a_cursor_does_not_see_what_its_own_transaction_does_later() {
    let db = database(&Shape::default());
    let p = db.attach();
    let table = db.table(&p, 50);
    let mut t = Txn::new();
    for id in 0..10 {
        db.heap.insert(&p, &mut t, &table, &row(id, b"before")).unwrap();
    }
    let cursor = db.txns.snapshot(&p, &t);
    for id in 10..20 {
        db.heap.insert(&p, &mut t, &table, &row(id, b"after")).unwrap();
    }
    assert_eq!(db.contents(&p, &cursor, &table).unwrap().len(), 10);
    assert_eq!(db.contents(&p, &db.now(&p, &t), &table).unwrap().len(), 20);
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    assert_eq!(db.contents(&p, &cursor, &table).unwrap().len(), 10, "a fetch across a commit");
}

#[test]
fn rollback_puts_everything_back_and_a_savepoint_what_came_after_it() {
    let db = database(&Shape::default());
    let p = db.attach();
    let table = db.table(&p, 50);
    let mut t = Txn::new();
    let mut random = Random::new(99);
    let rowids: Vec<Rowid> =
        (0..60).map(|id| db.heap.insert(&p, &mut t, &table, &row(id, &random.bytes(40))).unwrap()).collect();
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    let before = db.contents(&p, &db.now(&p, &t), &table).unwrap();
    let mut scramble = |t: &mut Txn, from: u32| {
        for n in 0..60usize {
            let seen = db.now(&p, t);
            let rowid = rowids[random.below(60)];
            match n % 3 {
                0 => drop(db.heap.delete(&p, t, &table, rowid, &seen, WAIT).unwrap()),
                1 => {
                    let value = random.bytes([3, 90, 700, 5000][n % 4]);
                    let id = rowids.iter().position(|r| *r == rowid).unwrap() as u32;
                    db.heap.update(&p, t, &table, rowid, &row(id, &value), &seen, WAIT).unwrap();
                }
                _ => drop(db.heap.insert(&p, t, &table, &row(from + n as u32, &random.bytes(300))).unwrap()),
            }
        }
    };
    scramble(&mut t, 100);
    let half = db.txns.savepoint(&t);
    let then = db.contents(&p, &db.now(&p, &t), &table).unwrap();
    assert_ne!(then, before);
    scramble(&mut t, 200);
    db.txns.rollback_to(&p, &mut t, &half).unwrap();
    assert_eq!(db.contents(&p, &db.now(&p, &t), &table).unwrap(), then);
    scramble(&mut t, 300);
    db.txns.rollback(&p, &mut t).unwrap();
    assert_eq!(db.contents(&p, &db.now(&p, &t), &table).unwrap(), before);
    drop(p);
    db.cache.assert_invariants().unwrap();
}

#[test]
fn rows_of_every_size_come_back_as_they_went_in() {
    let db = database(&Shape::default());
    let p = db.attach();
    let table = db.table(&p, 50);
    let (mut t, mut random, mut got) = (Txn::new(), Random::new(5), Vec::new());
    let sizes = [0, 1, 2, 5, 100, BLOCK - 300, BLOCK - 200, BLOCK - 100, BLOCK, 2 * BLOCK, 3 * BLOCK + 7, 40_000];
    let rows: Vec<(Rowid, Vec<u8>)> = sizes
        .iter()
        .enumerate()
        .map(|(id, n)| {
            let bytes = row(id as u32, &random.bytes(*n));
            (db.heap.insert(&p, &mut t, &table, &bytes).unwrap(), bytes)
        })
        .collect();
    for (turn, pause) in sizes.iter().rev().enumerate() {
        let s = db.now(&p, &t);
        for (rowid, bytes) in &rows {
            assert!(db.heap.fetch_by_rowid(&p, &s, &table, *rowid, &mut got).unwrap());
            assert_eq!(common::split(&got).1.len(), common::split(bytes).1.len());
            assert!(got.starts_with(bytes), "turn {turn}, {pause}");
        }
        let _ = turn;
    }
    // Each row takes every size, forwards and backwards, and stays at its rowid.
    for step in 0..sizes.len() * 2 {
        for (id, (rowid, _)) in rows.iter().enumerate() {
            let bytes = row(id as u32, &random.bytes(sizes[(id * 5 + step * 7) % sizes.len()]));
            let seen = db.now(&p, &t);
            assert_eq!(db.heap.update(&p, &mut t, &table, *rowid, &bytes, &seen, WAIT).unwrap(), RowOutcome::Done);
            assert!(db.heap.fetch_by_rowid(&p, &db.now(&p, &t), &table, *rowid, &mut got).unwrap());
            assert!(got.starts_with(&bytes), "row {id} in step {step}");
        }
        if step % 4 == 3 {
            db.txns.commit(&p, &mut t, &NoHook).unwrap();
        }
    }
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    assert_eq!(db.contents(&p, &db.now(&p, &t), &table).unwrap().len(), sizes.len());
    drop(p);
    db.cache.assert_invariants().unwrap();
}

#[test]
fn many_rows_go_in_at_once_and_come_out_in_order() {
    let db = database(&Shape::default());
    let p = db.attach();
    let table = db.table(&p, 50);
    let (mut t, mut random) = (Txn::new(), Random::new(17));
    let (mut bytes, mut ends, mut rowids) = (Vec::new(), Vec::new(), Vec::new());
    let mut all = Vec::new();
    for id in 0..700 {
        let n = if id % 97 == 0 { 6000 } else { random.below(120) };
        let r = row(id, &random.bytes(n));
        bytes.extend_from_slice(&r);
        ends.push(bytes.len() as u32);
        all.push(r);
    }
    db.heap.insert_many(&p, &mut t, &table, &bytes, &ends, &mut rowids).unwrap();
    assert_eq!(rowids.len(), 700);
    let records = t.undo_records();
    assert!(records < 200, "{records} undo records for 700 rows");
    let (s, mut got) = (db.now(&p, &t), Vec::new());
    for (r, rowid) in all.iter().zip(&rowids) {
        assert!(db.heap.fetch_by_rowid(&p, &s, &table, *rowid, &mut got).unwrap());
        assert!(got.starts_with(r));
    }
    db.txns.rollback(&p, &mut t).unwrap();
    assert!(db.contents(&p, &db.now(&p, &t), &table).unwrap().is_empty());
}

#[test]
fn a_changed_row_is_noticed_and_a_neighbour_is_not() {
    let db = database(&Shape::default());
    let (p, q) = (db.attach(), db.attach());
    let table = db.table(&p, 50);
    let (mut t, mut u) = (Txn::new(), Txn::new());
    let a = db.heap.insert(&p, &mut t, &table, &row(1, b"a")).unwrap();
    let b = db.heap.insert(&p, &mut t, &table, &row(2, b"b")).unwrap();
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    let seen = db.now(&q, &u);
    let now = db.now(&p, &t);
    db.heap.update(&p, &mut t, &table, a, &row(1, b"x"), &now, WAIT).unwrap();
    // The other row of the block can be changed beside it; this one is locked.
    assert_eq!(db.heap.update(&q, &mut u, &table, b, &row(2, b"y"), &seen, WAIT).unwrap(), RowOutcome::Done);
    assert!(db.heap.update(&q, &mut u, &table, a, &row(1, b"z"), &seen, WAIT).unwrap_err().is(54));
    assert_eq!(db.heap.lock_row(&q, &mut u, &table, a, &seen, LockWait::SkipLocked).unwrap(), RowOutcome::Skipped);
    assert!(db.heap.update(&q, &mut u, &table, a, &row(1, b"z"), &seen, LockWait::Seconds(0)).unwrap_err().is(30006));
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    assert_eq!(db.heap.update(&q, &mut u, &table, a, &row(1, b"z"), &seen, WAIT).unwrap(), RowOutcome::Changed);
    assert_eq!(db.heap.delete(&q, &mut u, &table, a, &seen, WAIT).unwrap(), RowOutcome::Changed);
    let seen = db.now(&q, &u);
    assert_eq!(db.heap.update(&q, &mut u, &table, a, &row(1, b"z"), &seen, WAIT).unwrap(), RowOutcome::Done);
    db.txns.commit(&q, &mut u, &NoHook).unwrap();
    // A change that was rolled back is no change.
    let seen = db.now(&q, &u);
    let now = db.now(&p, &t);
    db.heap.update(&p, &mut t, &table, a, &row(1, b"never"), &now, WAIT).unwrap();
    db.txns.rollback(&p, &mut t).unwrap();
    assert_eq!(db.heap.update(&q, &mut u, &table, a, &row(1, b"w"), &seen, WAIT).unwrap(), RowOutcome::Done);
}

#[test]
fn two_sessions_that_wait_for_each_other_are_told() {
    let db = database(&Shape::default());
    let p = db.attach();
    let table = db.table(&p, 50);
    let mut t = Txn::new();
    let rowids = [1, 2].map(|id| db.heap.insert(&p, &mut t, &table, &row(id, b"-")).unwrap());
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    let both_hold_one = std::sync::Barrier::new(2);
    let ends = testing::run_threads(db.all, 2, |p, n| {
        let mut t = Txn::new();
        let s = db.now(p, &t);
        db.heap.lock_row(p, &mut t, &table, rowids[n], &s, LockWait::Forever).unwrap();
        both_hold_one.wait();
        let end = db.heap.lock_row(p, &mut t, &table, rowids[1 - n], &s, LockWait::Forever);
        db.txns.rollback(p, &mut t).unwrap();
        end.map_err(|e| e.code())
    });
    assert!(ends.contains(&Err(60)), "{ends:?}");
    assert!(ends.contains(&Ok(RowOutcome::Done)), "{ends:?}");
}

#[test]
fn more_transactions_than_a_block_has_room_for_wait_for_an_entry() {
    let db = database(&Shape {
        txn: {
            let mut c = Shape::default().txn;
            c.itl_max = 2;
            c
        },
        ..Shape::default()
    });
    let p = db.attach();
    let table = db.table(&p, 50);
    let mut t = Txn::new();
    let rowids: Vec<Rowid> = (0..6).map(|id| db.heap.insert(&p, &mut t, &table, &row(id, b"-")).unwrap()).collect();
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    testing::run_threads(db.all, 6, |p, n| {
        for turn in 0..20u8 {
            let mut t = Txn::new();
            let s = db.txns.snapshot(p, &t);
            let new = row(n as u32, &[turn]);
            let done = db.heap.update(p, &mut t, &table, rowids[n], &new, &s, LockWait::Forever).unwrap();
            assert_eq!(done, RowOutcome::Done);
            db.txns.release(p, &s);
            db.txns.commit(p, &mut t, &NoHook).unwrap();
        }
    });
    let rows = db.contents(&p, &db.now(&p, &t), &table).unwrap();
    assert!(rows.values().all(|(_, v)| v == &[19]), "{rows:?}");
}

#[test]
fn undo_that_was_used_again_is_an_error_and_never_a_wrong_row() {
    let db = database(&Shape { undo_blocks: 120, ..Shape::default() });
    let (p, q) = (db.attach(), db.attach());
    let table = db.table(&p, 50);
    let (mut t, u) = (Txn::new(), Txn::new());
    let other = db.table(&p, 51);
    let rowid = db.heap.insert(&p, &mut t, &table, &row(1, &[7; 300])).unwrap();
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    let old = db.txns.snapshot(&q, &u);
    let mut got = Vec::new();
    let mut too_old = None;
    for n in 0..3000u32 {
        let seen = db.now(&p, &t);
        db.heap.update(&p, &mut t, &table, rowid, &row(1, &[n as u8; 300]), &seen, WAIT).unwrap();
        db.txns.commit(&p, &mut t, &NoHook).unwrap();
        if n % 50 == 0 {
            // A rollback invalidates the images kept from the previous read.
            let mut w = Txn::new();
            db.heap.insert(&q, &mut w, &other, &row(1, b"w")).unwrap();
            db.txns.rollback(&q, &mut w).unwrap();
            match db.heap.fetch_by_rowid(&q, &old, &table, rowid, &mut got) {
                Ok(found) => assert!(found && common::split(&got).1 == [7; 300], "after {n} changes"),
                Err(e) => {
                    assert!(e.is(1555), "{e}");
                    too_old = Some(n);
                    break;
                }
            }
        }
    }
    assert!(too_old.is_some_and(|n| n > 50), "{too_old:?}");
    // Without old snapshots, any number of transactions needs only the same few blocks.
    db.txns.release(&q, &old);
    for n in 0..500u32 {
        let seen = db.now(&p, &t);
        db.heap.update(&p, &mut t, &table, rowid, &row(1, &[n as u8; 300]), &seen, WAIT).unwrap();
        db.txns.commit(&p, &mut t, &NoHook).unwrap();
    }
}

#[test]
fn a_transaction_too_large_for_the_undo_tablespace_fails_and_can_be_rolled_back() {
    let db = database(&Shape { undo_blocks: 100, ..Shape::default() });
    let p = db.attach();
    let table = db.table(&p, 50);
    let mut t = Txn::new();
    let rowid = db.heap.insert(&p, &mut t, &table, &row(1, &[1; 1000])).unwrap();
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    let error = (0..1000u32).find_map(|n| {
        let seen = db.now(&p, &t);
        db.heap.update(&p, &mut t, &table, rowid, &row(1, &[n as u8; 1000]), &seen, WAIT).err()
    });
    assert!(error.as_ref().is_some_and(|e| e.is(30036)), "{error:?}");
    db.txns.rollback(&p, &mut t).unwrap();
    let rows = db.contents(&p, &db.now(&p, &t), &table).unwrap();
    assert_eq!(rows[&1].1, [1; 1000]);
}

#[test]
fn a_commit_hook_hears_of_locked_and_changed_objects_and_may_refuse() {
    struct Hook(std::cell::RefCell<Vec<(bool, Vec<ObjectId>)>>, bool);
    impl CommitHook for Hook {
        fn before_visible(&self, _: &process::Process, objects: &[ObjectId]) -> Result<()> {
            self.0.borrow_mut().push((false, objects.to_vec()));
            if self.1 { Err(types::Ora::new(4031)) } else { Ok(()) }
        }
        fn after(&self, _: &process::Process, _: Scn, objects: &[ObjectId]) {
            self.0.borrow_mut().push((true, objects.to_vec()));
        }
    }
    let db = database(&Shape::default());
    let p = db.attach();
    let (x, y) = (db.table(&p, 50), db.table(&p, 51));
    let mut t = Txn::new();
    let rowid = db.heap.insert(&p, &mut t, &x, &row(1, b"1")).unwrap();
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    let s = db.now(&p, &t);
    db.heap.lock_row(&p, &mut t, &x, rowid, &s, WAIT).unwrap();
    db.heap.insert(&p, &mut t, &y, &row(1, b"1")).unwrap();
    let refusing = Hook(Default::default(), true);
    assert!(db.txns.commit(&p, &mut t, &refusing).unwrap_err().is(4031));
    assert!(t.is_active() && t.has_touched(x.object));
    let hook = Hook(Default::default(), false);
    db.txns.commit(&p, &mut t, &hook).unwrap();
    let both = vec![ObjectId(50), ObjectId(51)];
    assert_eq!(*hook.0.borrow(), [(false, both.clone()), (true, both)]);
    assert!(!t.is_active());
}

#[test]
fn transactions_left_by_an_instance_that_stopped_are_rolled_back() {
    let shape = Shape::default();
    let db = database(&shape);
    let p = db.attach();
    let table = db.table(&p, 50);
    let (mut t, mut u) = (Txn::new(), Txn::new());
    let rowid = db.heap.insert(&p, &mut t, &table, &row(1, b"kept")).unwrap();
    let scn = db.txns.commit(&p, &mut t, &NoHook).unwrap();
    let s = db.now(&p, &t);
    db.heap.update(&p, &mut t, &table, rowid, &row(1, b"lost"), &s, WAIT).unwrap();
    db.heap.insert(&p, &mut u, &table, &row(2, b"lost too")).unwrap();
    db.cache.flush(&p).unwrap();
    let (files, _) = datafile::DataFiles::open(&db.directory).unwrap();
    let again = over(db.directory.clone(), files, &shape);
    let q = again.attach();
    again.txns.open(&q).unwrap();
    assert!(again.txns.current_scn() >= scn);
    // Rolled back or not, the rows are invisible to others.
    let none = Txn::new();
    let rows = again.contents(&q, &again.now(&q, &none), &table).unwrap();
    assert_eq!(rows.values().map(|r| &r.1[..]).collect::<Vec<_>>(), [b"kept"]);
    assert_eq!(again.txns.recover(&q).unwrap(), 2);
    assert_eq!(again.contents(&q, &again.now(&q, &none), &table).unwrap(), rows);
    let mut v = Txn::new();
    let s = again.now(&q, &v);
    assert_eq!(again.heap.update(&q, &mut v, &table, rowid, &row(1, b"new"), &s, WAIT).unwrap(), RowOutcome::Done);
    again.txns.commit(&q, &mut v, &NoHook).unwrap();
    std::mem::forget(again);
}

#[test]
fn a_bulk_change_that_was_never_cleaned_out_is_undone_after_its_slot_was_used_again() {
    let db = database(&Shape::default());
    let (p, q) = (db.attach(), db.attach());
    let (table, other) = (db.table(&p, 50), db.table(&p, 51));
    let (mut t, u) = (Txn::new(), Txn::new());
    let rowids: Vec<Rowid> =
        (0..200).map(|id| db.heap.insert(&p, &mut t, &table, &row(id, &[1; 300])).unwrap()).collect();
    let small = db.heap.insert(&p, &mut t, &other, &row(1, b"-")).unwrap();
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    // All blocks are clean before the bulk change.
    let before = db.contents(&p, &db.now(&p, &t), &table).unwrap();
    let old = db.txns.snapshot(&q, &u);
    let seen = db.now(&p, &t);
    for (id, rowid) in rowids.iter().enumerate() {
        db.heap.update(&p, &mut t, &table, *rowid, &row(id as u32, &[2; 300]), &seen, WAIT).unwrap();
    }
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    for n in 0..200u32 {
        let seen = db.now(&p, &t);
        db.heap.update(&p, &mut t, &other, small, &row(1, &[n as u8]), &seen, WAIT).unwrap();
        if n % 3 == 0 {
            // Later changes of some of the same rows, in the same blocks.
            let at = (n as usize * 7) % rowids.len();
            db.heap.update(&p, &mut t, &table, rowids[at], &row(at as u32, &[3; 300]), &seen, WAIT).unwrap();
        }
        db.txns.commit(&p, &mut t, &NoHook).unwrap();
    }
    assert_eq!(db.contents(&q, &old, &table).unwrap(), before);
    db.txns.release(&q, &old);
}

#[test]
fn an_update_of_a_few_bytes_of_a_wide_row_makes_undo_of_these_bytes() {
    let db = database(&Shape::default());
    let p = db.attach();
    let table = db.table(&p, 50);
    let mut t = Txn::new();
    let wide = |first: u8, last: u8| row(1, &[&[first][..], &[7; 600], &[last]].concat());
    let rowid = db.heap.insert(&p, &mut t, &table, &wide(1, 1)).unwrap();
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    let undo = || p.stats().get(wait::Stat::UndoChangeVectorSize);
    let q = db.attach();
    let old = db.now(&q, &Txn::new());
    let changes =
        [(wide(1, 2), 100), (wide(3, 2), 100), (wide(4, 4), 110), (row(1, &[9; 650]), 900), (wide(5, 6), 900)];
    for (new, most) in changes {
        let (before, seen) = (undo(), db.now(&p, &t));
        assert_eq!(db.heap.update(&p, &mut t, &table, rowid, &new, &seen, WAIT).unwrap(), RowOutcome::Done);
        let bytes = undo() - before;
        assert!(bytes < most, "{bytes} bytes of undo");
        let mut got = Vec::new();
        assert!(db.heap.fetch_by_rowid(&p, &db.now(&p, &t), &table, rowid, &mut got).unwrap());
        assert_eq!(got, new);
        assert!(db.heap.fetch_by_rowid(&q, &old, &table, rowid, &mut got).unwrap());
        assert_eq!(got, wide(1, 1));
    }
    db.txns.rollback(&p, &mut t).unwrap();
    let mut got = Vec::new();
    assert!(db.heap.fetch_by_rowid(&p, &db.now(&p, &t), &table, rowid, &mut got).unwrap());
    assert_eq!(got, wide(1, 1));
    db.txns.assert_invariants();
}
