//! Branches of global transactions: transactions without a session, prepared ones that survive their instance, and
//! processes that die at any step of what they do with one.

mod common;

use common::{Db, Shape, database, over, row};
use enqueue::EnqueueType;
use heap::{HeapTable, RowOutcome};
use process::{Process, testing};
use std::time::Duration;
use txn::{BranchState, BranchTerms, GlobalId, LockWait, NoHook, Txn, Vote};
use types::{Result, Rowid};

const NOW: Duration = Duration::ZERO;
const TERMS: BranchTerms = BranchTerms { timeout_s: 60, user: 5 };

fn id(n: u32) -> GlobalId {
    GlobalId::new(n, b"global", &n.to_be_bytes()).unwrap()
}

fn ids(db: &Db, p: &Process, table: &HeapTable) -> Vec<u32> {
    db.contents(p, &db.now(p, &Txn::new()), table).unwrap().into_keys().collect()
}

fn insert(db: &Db, p: &Process, t: &mut Txn, table: &HeapTable, id: u32) -> Rowid {
    db.heap.insert(p, t, table, &row(id, &[7; 300])).unwrap()
}

/// A branch that has inserted these rows, and that no session is attached to.
fn detached(db: &Db, p: &Process, table: &HeapTable, n: u32, rows: std::ops::Range<u32>) -> Rowid {
    let mut t = Txn::new();
    let branch = db.txns.start_branch(p, &id(n), &TERMS).unwrap();
    let rowids: Vec<_> = rows.map(|n| insert(db, p, &mut t, table, n)).collect();
    db.txns.detach_branch(p, &mut t, branch);
    assert!(!t.is_active());
    rowids[0]
}

fn lock(db: &Db, p: &Process, table: &HeapTable, at: Rowid) -> Result<RowOutcome> {
    let mut t = Txn::new();
    let seen = db.now(p, &t);
    let done = db.heap.lock_row(p, &mut t, table, at, &seen, LockWait::NoWait);
    db.txns.rollback(p, &mut t).unwrap();
    done
}

fn locks(db: &Db) -> usize {
    db.enqueues.locks().len()
}

fn next_instance(db: &Db, p: &Process) -> Db {
    db.cache.flush(p).unwrap();
    let (files, _) = datafile::DataFiles::open(&db.directory).unwrap();
    let next = over(db.directory.clone(), files, &Shape::default());
    let q = next.attach();
    next.txns.open(&q).unwrap();
    next.txns.recover(&q).unwrap();
    next
}

#[test]
fn a_branch_lives_without_a_session_and_another_one_goes_on_with_it() {
    let db = database(&Shape::default());
    let (p, q) = (db.attach(), db.attach());
    let table = db.table(&p, 50);
    let first = detached(&db, &p, &table, 1, 0..40);
    // Its rows are seen by nobody, its locks keep others out, and a session has no trace of it.
    assert_eq!(ids(&db, &q, &table), []);
    assert!(db.enqueues.locks().iter().all(|l| l.sid == 0), "{:?}", db.enqueues.locks());
    assert!(lock(&db, &q, &table, first).unwrap_err().is(54));
    assert!(db.txns.start_branch(&q, &id(1), &TERMS).unwrap_err().is(24757));
    assert!(db.txns.resume_branch(&q, &mut Txn::new(), &id(2), NOW).unwrap_err().is(24756));
    // Another session goes on with it, and it is that one's alone for so long.
    let mut t = Txn::new();
    let branch = db.txns.resume_branch(&q, &mut t, &id(1), NOW).unwrap();
    assert!(db.txns.resume_branch(&p, &mut Txn::new(), &id(1), NOW).unwrap_err().is(2049));
    assert!(db.txns.commit_branch(&p, &id(1), true, NOW, &NoHook).unwrap_err().is(2049));
    let own = db.txns.snapshot(&q, &t);
    assert_eq!(db.contents(&q, &own, &table).unwrap().len(), 40);
    db.txns.release(&q, &own);
    insert(&db, &q, &mut t, &table, 99);
    db.txns.detach_branch(&q, &mut t, branch);
    assert!(db.txns.commit_branch(&p, &id(1), false, NOW, &NoHook).unwrap_err().is(24768));
    db.txns.commit_branch(&p, &id(1), true, NOW, &NoHook).unwrap();
    assert_eq!(ids(&db, &p, &table).len(), 41);
    assert!(db.txns.rollback_branch(&p, &id(1), NOW).unwrap_err().is(24756));
    assert_eq!((locks(&db), db.txns.transactions().len(), db.txns.branch_rows().len()), (0, 0, 0));
}

#[test]
fn two_branches_of_one_session_end_each_for_itself() {
    let db = database(&Shape::default());
    let p = db.attach();
    let table = db.table(&p, 50);
    detached(&db, &p, &table, 1, 0..5);
    detached(&db, &p, &table, 2, 10..15);
    assert_eq!(db.txns.prepare_branch(&p, &id(1), NOW).unwrap(), Vote::Prepared);
    assert_eq!(db.txns.prepare_branch(&p, &id(2), NOW).unwrap(), Vote::Prepared);
    assert!(db.txns.prepare_branch(&p, &id(2), NOW).unwrap_err().is(24768));
    assert!(db.txns.resume_branch(&p, &mut Txn::new(), &id(2), NOW).unwrap_err().is(24774));
    assert!(db.txns.forget_branch(&p, &id(2), NOW).unwrap_err().is(24770));
    // While the session has a transaction of its own, with a lock of the same table.
    let mut t = Txn::new();
    insert(&db, &p, &mut t, &table, 77);
    db.txns.rollback_branch(&p, &id(1), NOW).unwrap();
    db.txns.commit_branch(&p, &id(2), false, NOW, &NoHook).unwrap();
    assert_eq!(ids(&db, &p, &table), [10, 11, 12, 13, 14]);
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    assert_eq!(ids(&db, &p, &table), [10, 11, 12, 13, 14, 77]);
    assert_eq!((locks(&db), db.txns.branch_rows().len()), (0, 0));
    db.txns.assert_invariants();
}

#[test]
fn what_has_changed_nothing_is_read_only_and_what_was_forced_is_remembered() {
    let db = database(&Shape::default());
    let p = db.attach();
    let table = db.table(&p, 50);
    let branch = db.txns.start_branch(&p, &id(1), &TERMS).unwrap();
    db.txns.detach_branch(&p, &mut Txn::new(), branch);
    assert_eq!(db.txns.prepare_branch(&p, &id(1), NOW).unwrap(), Vote::ReadOnly);
    assert!(db.txns.commit_branch(&p, &id(1), false, NOW, &NoHook).unwrap_err().is(24756));
    for (n, commits, told) in [(2, true, 24764), (3, false, 24765)] {
        detached(&db, &p, &table, n, n..n + 1);
        let xid = db.txns.branch_row(&id(n)).unwrap().xid.unwrap();
        assert!(db.txns.force_branch(&p, xid, commits, &NoHook).unwrap_err().is(2058), "not prepared");
        db.txns.prepare_branch(&p, &id(n), NOW).unwrap();
        db.txns.force_branch(&p, xid, commits, &NoHook).unwrap();
        assert!(db.txns.commit_branch(&p, &id(n), false, NOW, &NoHook).unwrap_err().is(told));
        db.txns.forget_branch(&p, &id(n), NOW).unwrap();
        assert!(db.txns.forget_branch(&p, &id(n), NOW).unwrap_err().is(24756));
    }
    assert_eq!(ids(&db, &p, &table), [2]);
    // One-phase of what was prepared: it is committed, and told that it should not have been.
    detached(&db, &p, &table, 4, 4..5);
    db.txns.prepare_branch(&p, &id(4), NOW).unwrap();
    assert!(db.txns.commit_branch(&p, &id(4), true, NOW, &NoHook).unwrap_err().is(2053));
    assert_eq!(ids(&db, &p, &table), [2, 4]);
    assert_eq!(locks(&db), 0);
}

#[test]
fn a_branch_that_no_session_came_back_to_is_rolled_back_when_its_time_is_over() {
    let db = database(&Shape::default());
    let p = db.attach();
    let table = db.table(&p, 50);
    let mut t = Txn::new();
    let branch = db.txns.start_branch(&p, &id(1), &BranchTerms { timeout_s: 0, user: 5 }).unwrap();
    insert(&db, &p, &mut t, &table, 1);
    db.txns.end_idle_branches(&p, true); // it is attached
    db.txns.detach_branch(&p, &mut t, branch);
    detached(&db, &p, &table, 2, 2..3);
    db.txns.end_idle_branches(&p, false);
    let states: Vec<_> = db.txns.branch_rows().iter().map(|b| b.state).collect();
    assert_eq!(states, [BranchState::TimedOut, BranchState::Idle]);
    assert!(db.txns.prepare_branch(&p, &id(1), NOW).unwrap_err().is(24761));
    assert!(db.txns.prepare_branch(&p, &id(1), NOW).unwrap_err().is(24756), "it has been said");
    db.txns.end_idle_branches(&p, true);
    assert_eq!((locks(&db), db.txns.transactions().len()), (0, 0));
    assert_eq!(ids(&db, &p, &table), []);
}

#[test]
fn a_prepared_branch_survives_its_instance_with_its_locks_and_ends_in_a_later_one() {
    // Several undo blocks each; what is not prepared is gone.
    for commits in [true, false] {
        let db = database(&Shape::default());
        let p = db.attach();
        let table = db.table(&p, 50);
        let mut t = Txn::new();
        let old = insert(&db, &p, &mut t, &table, 500);
        db.txns.commit(&p, &mut t, &NoHook).unwrap();
        let branch = db.txns.start_branch(&p, &id(1), &TERMS).unwrap();
        let seen = db.now(&p, &t);
        db.heap.delete(&p, &mut t, &table, old, &seen, LockWait::NoWait).unwrap();
        for n in 0..200 {
            insert(&db, &p, &mut t, &table, n);
        }
        db.txns.detach_branch(&p, &mut t, branch);
        detached(&db, &p, &table, 2, 300..310);
        assert_eq!(db.txns.prepare_branch(&p, &id(1), NOW).unwrap(), Vote::Prepared);
        let next = next_instance(&db, &p);
        let again = next_instance(&next, &next.attach());
        let q = again.attach();
        let rows = again.txns.branch_rows();
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].id, rows[0].state, rows[0].user), (id(1), BranchState::Prepared, 5));
        assert!(rows[0].in_doubt);
        assert_eq!(ids(&again, &q, &table), [500], "readers see what was before");
        assert!(lock(&again, &q, &table, old).unwrap_err().is(1591));
        let tm: Vec<_> = again.enqueues.locks().iter().filter(|l| l.kind == EnqueueType::Tm).map(|l| l.id1).collect();
        assert_eq!(tm, [50]);
        // Nothing that runs by itself ends it.
        again.txns.end_idle_branches(&q, true);
        again.txns.recover(&q).unwrap();
        // Others work beside it, and its undo is kept.
        for n in 0..300 {
            insert(&again, &q, &mut t, &table, 1000 + n);
            again.txns.commit(&q, &mut t, &NoHook).unwrap();
        }
        if commits {
            again.txns.commit_branch(&q, &id(1), false, NOW, &NoHook).unwrap();
        } else {
            again.txns.rollback_branch(&q, &id(1), NOW).unwrap();
        }
        let expected: Vec<u32> = if commits { (0..200).collect() } else { vec![500] };
        let mut found = ids(&again, &q, &table);
        found.retain(|n| *n < 1000);
        assert_eq!(found, expected);
        assert_eq!((locks(&again), again.txns.transactions().len(), again.txns.branch_rows().len()), (0, 0, 0));
        again.txns.assert_invariants();
        // And so it stays.
        let last = next_instance(&again, &q);
        let mut found = ids(&last, &last.attach(), &table);
        found.retain(|n| *n < 1000);
        assert_eq!(found, expected);
        assert!(last.txns.branch_rows().is_empty());
    }
}

/// Takes these rows out of the table, which has no others.
fn empty(db: &Db, p: &Process, table: &HeapTable, rows: &[u32]) {
    assert_eq!(ids(db, p, table), rows);
    let mut t = Txn::new();
    let now = db.now(p, &t);
    for (at, _) in db.contents(p, &now, table).unwrap().into_values() {
        db.heap.delete(p, &mut t, table, at, &now, LockWait::NoWait).unwrap();
    }
    db.txns.commit(p, &mut t, &NoHook).unwrap();
}

/// What a process does with a branch, killed at every step: the branch is gone with all its rows, or as it was, or as
/// it was to become.
#[test]
fn a_process_killed_at_any_step_leaves_a_branch_whole() {
    let db = database(&Shape::default());
    let pmon = db.attach();
    let table = db.table(&pmon, 50);
    type Body<'a> = &'a dyn Fn(&Process);
    let bodies: [(&str, bool, Body<'_>); 5] = [
        ("resume and detach", false, &|p| {
            let mut t = Txn::new();
            let branch = db.txns.resume_branch(p, &mut t, &id(1), NOW).unwrap();
            insert(&db, p, &mut t, &table, 9);
            db.txns.detach_branch(p, &mut t, branch);
        }),
        ("prepare", false, &|p| {
            db.txns.prepare_branch(p, &id(1), NOW).unwrap();
        }),
        ("commit of one phase", false, &|p| db.txns.commit_branch(p, &id(1), true, NOW, &NoHook).unwrap()),
        ("commit", true, &|p| db.txns.commit_branch(p, &id(1), false, NOW, &NoHook).unwrap()),
        ("rollback", true, &|p| db.txns.rollback_branch(p, &id(1), NOW).unwrap()),
    ];
    for places in ["branch-*", "txn-*", testing::EVERY_STEP] {
        for (what, prepared, body) in bodies {
            let before = || {
                detached(&db, &pmon, &table, 1, 1..4);
                if prepared {
                    db.txns.prepare_branch(&pmon, &id(1), NOW).unwrap();
                }
            };
            let check = || {
                db.txns.recover(&pmon).unwrap();
                let rows = db.txns.branch_rows();
                let state = rows.first().map(|b| b.state);
                let seen = ids(&db, &pmon, &table);
                match state {
                    Some(BranchState::Idle) => {
                        assert_eq!((seen, prepared), (vec![], false), "{what}");
                        db.txns.rollback_branch(&pmon, &id(1), NOW).unwrap();
                    }
                    // It is whole: it can be committed.
                    Some(BranchState::Prepared) => {
                        assert_eq!((seen, prepared || what == "prepare"), (vec![], true), "{what}");
                        db.txns.commit_branch(&pmon, &id(1), false, NOW, &NoHook).unwrap();
                        empty(&db, &pmon, &table, &[1, 2, 3]);
                    }
                    None if what.starts_with("commit") && !seen.is_empty() => empty(&db, &pmon, &table, &[1, 2, 3]),
                    None => {
                        assert_eq!(seen, [], "{what}");
                        assert!(!prepared || what == "rollback", "{what}: a promise was broken");
                    }
                    state => panic!("{what}: {state:?}"),
                }
                assert!(db.txns.branch_rows().is_empty(), "{what}");
                assert_eq!((locks(&db), db.txns.transactions().len()), (0, 0), "{what}");
                db.txns.assert_invariants();
            };
            let body = |p: &Process, arm: &dyn Fn()| {
                arm();
                body(p);
            };
            let killed = testing::kill_at_every_step(&pmon, places, before, body, check);
            assert!(killed > 0 || places == "txn-*", "{what} passes no {places}");
        }
    }
}
