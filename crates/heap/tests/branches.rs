//! Branches of global transactions: transactions without a session, prepared branches that survive the instance, and
//! processes killed at any step of an operation on a branch.

mod common;

use common::{Db, Shape, database, over, row};
use enqueue::{EnqueueType, LockMode};
use heap::{HeapTable, RowOutcome};
use process::Process;
use std::time::Duration;
use testing::Random;
use txn::{Asked, BranchState, BranchTerms, GlobalId, Isolation, LockWait, NoHook, Txn, Vote};
use types::{Result, Rowid, Scn};

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

/// Makes a branch that has inserted these rows and is detached.
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
    // No reader sees the branch's rows, its locks keep other sessions out, and the session keeps no trace of it.
    assert_eq!(ids(&db, &q, &table), []);
    assert!(db.enqueues.locks().iter().all(|l| l.sid == 0), "{:?}", db.enqueues.locks());
    assert!(lock(&db, &q, &table, first).unwrap_err().is(54));
    assert!(db.txns.start_branch(&q, &id(1), &TERMS).unwrap_err().is(24757));
    assert!(db.txns.resume_branch(&q, &mut Txn::new(), &id(2), NOW).unwrap_err().is(24756));
    // Another session resumes the branch, and holds it alone for a while.
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

/// Makes a serializable branch that has inserted these rows and is detached. Returns the SCN that it reads as of.
fn serializable(db: &Db, p: &Process, table: &HeapTable, n: u32, rows: std::ops::Range<u32>) -> Scn {
    let mut t = Txn::new();
    let branch = db.txns.start_branch(p, &id(n), &TERMS).unwrap();
    t.set(Some(Isolation::Serializable));
    let scn = db.txns.hold_snapshot(p, &t);
    for n in rows {
        insert(db, p, &mut t, table, n);
    }
    db.txns.detach_branch(p, &mut t, branch);
    scn
}

/// Commits so many changes of a row.
fn change(db: &Db, p: &Process, table: &HeapTable, at: Rowid, changes: u32) {
    let mut t = Txn::new();
    for n in 0..changes {
        let (seen, new) = (db.now(p, &t), row(1, &[n as u8; 300]));
        db.heap.update(p, &mut t, table, at, &new, &seen, LockWait::Forever).unwrap();
        db.txns.commit(p, &mut t, &NoHook).unwrap();
    }
}

#[test]
fn a_serializable_branch_reads_as_of_its_beginning_however_long_it_had_no_session() {
    let db = database(&Shape::default());
    let (p, q, writer) = (db.attach(), db.attach(), db.attach());
    let (table, other) = (db.table(&p, 50), db.table(&p, 51));
    let mut t = Txn::new();
    let at = insert(&db, &p, &mut t, &table, 1);
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    let scn = serializable(&db, &p, &other, 1, 0..3);
    for session in [&q, &p] {
        change(&db, &writer, &table, at, 300);
        assert_eq!(db.txns.oldest_snapshot(), scn, "without a session");
        let branch = db.txns.resume_branch(session, &mut t, &id(1), NOW).unwrap();
        change(&db, &writer, &table, at, 300);
        assert_eq!(db.txns.oldest_snapshot(), scn, "with one");
        let own = db.txns.snapshot(session, &t);
        assert_eq!((own.scn, db.contents(session, &own, &table).unwrap()[&1].1.clone()), (scn, vec![7; 300]));
        db.txns.release(session, &own);
        db.txns.detach_branch(session, &mut t, branch);
    }
    db.txns.commit_branch(&q, &id(1), true, NOW, &NoHook).unwrap();
    assert_eq!(db.txns.oldest_snapshot(), db.txns.current_scn());
}

#[test]
fn a_branch_that_reads_no_more_keeps_no_undo() {
    let db = database(&Shape::default());
    let p = db.attach();
    let (table, other) = (db.table(&p, 50), db.table(&p, 51));
    let mut t = Txn::new();
    let at = insert(&db, &p, &mut t, &other, 1);
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    let xid = |n| db.txns.branch_row(&id(n)).unwrap().xid.unwrap();
    let prepared = |n| assert_eq!(db.txns.prepare_branch(&p, &id(n), NOW).unwrap(), Vote::Prepared);
    type End<'a> = (&'a str, &'a dyn Fn(u32));
    let ends: [End<'_>; 7] = [
        ("prepared", &prepared),
        ("forced", &|n| {
            prepared(n);
            db.txns.force_branch(&p, xid(n), true, &NoHook).unwrap();
        }),
        ("committed", &|n| db.txns.commit_branch(&p, &id(n), true, NOW, &NoHook).unwrap()),
        ("rolled back", &|n| db.txns.rollback_branch(&p, &id(n), NOW).unwrap()),
        ("timed out", &|_| db.txns.end_idle_branches(&p, true)),
        ("ended by a session", &|n| {
            let mut t = Txn::new();
            let branch = db.txns.resume_branch(&p, &mut t, &id(n), NOW).unwrap();
            db.txns.rollback(&p, &mut t).unwrap();
            db.txns.drop_branch(&p, branch);
        }),
        ("only read", &|n| {
            db.txns.rollback_branch(&p, &id(n), NOW).unwrap();
            serializable(&db, &p, &table, n, 0..0);
            change(&db, &p, &other, at, 20);
            assert!(db.txns.oldest_snapshot() < db.txns.current_scn());
            assert_eq!(db.txns.prepare_branch(&p, &id(n), NOW).unwrap(), Vote::ReadOnly);
        }),
    ];
    for (n, (what, end)) in (1..).zip(ends) {
        let scn = serializable(&db, &p, &table, n, 10 * n..10 * n + 2);
        change(&db, &p, &other, at, 20);
        assert_eq!(db.txns.oldest_snapshot(), scn, "before it is {what}");
        end(n);
        assert_eq!(db.txns.oldest_snapshot(), db.txns.current_scn(), "{what}");
    }
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
    // Resuming while the session has a transaction of its own, with a lock on the same table.
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
    // One-phase commit of a prepared branch: it is committed, with the error that it was prepared.
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

/// Begins a branch of a user and detaches it; ORA-02042 at the user's limit.
fn begun(db: &Db, p: &Process, n: u32, user: u32, timeout_s: u32) -> Result<()> {
    let branch = db.txns.start_branch(p, &id(n), &BranchTerms { timeout_s, user })?;
    db.txns.detach_branch(p, &mut Txn::new(), branch);
    Ok(())
}

#[test]
fn a_user_who_takes_all_branches_that_can_be_had_leaves_others_theirs() {
    let db = database(&Shape::default());
    let p = db.attach();
    // Detached branches may use half of the transactions that undo has room for, which is 3 times 12 here.
    for n in 0..18 {
        begun(&db, &p, n, 5, u32::MAX).unwrap();
    }
    assert!(begun(&db, &p, 18, 5, 60).unwrap_err().is(2042));
    assert!(db.txns.branch_rows().iter().all(|b| b.timeout_s == 86_400), "for ever is a day");
    for user in 6..9 {
        begun(&db, &p, user * 100, user, 60).unwrap();
    }
    // A branch that has timed out or ended does not count.
    db.txns.rollback_branch(&p, &id(0), NOW).unwrap();
    begun(&db, &p, 18, 5, 0).unwrap();
    db.txns.end_idle_branches(&p, false);
    begun(&db, &p, 19, 5, 60).unwrap();
    assert!(begun(&db, &p, 20, 5, 60).unwrap_err().is(2042));
    // Attached branches, too, leave half of the free entries to others.
    let mut attached = Vec::new();
    let more = loop {
        match db.txns.start_branch(&p, &id(1000 + attached.len() as u32), &BranchTerms { timeout_s: 60, user: 50 }) {
            Ok(branch) => attached.push(branch),
            Err(e) => break e,
        }
    };
    assert!(more.is(2042), "{more}");
    assert!(attached.len() > 200, "{}", attached.len());
    for n in 0..100 {
        let terms = BranchTerms { timeout_s: 60, user: 51 };
        attached.push(db.txns.start_branch(&p, &id(2000 + n), &terms).unwrap());
    }
    attached.into_iter().for_each(|branch| db.txns.drop_branch(&p, branch));
    db.txns.end_idle_branches(&p, true);
    assert_eq!(locks(&db), 0);
}

#[test]
fn entries_of_timed_out_branches_are_used_when_no_other_is_left() {
    let db = database(&Shape::default());
    let p = db.attach();
    let all = enqueue::holders_for(common::PROCESSES);
    for n in 0..all {
        begun(&db, &p, n, n, 0).unwrap();
    }
    db.txns.end_idle_branches(&p, false);
    assert_eq!(db.txns.branch_rows().len(), all as usize);
    // A session that asks for the branch at that moment keeps its entry.
    let asked = db.enqueues.locks().len();
    assert_eq!(asked, 0);
    for n in 0..10 {
        begun(&db, &p, 1000 + n, 7, 60).unwrap();
        assert_eq!(db.txns.branch_row(&id(1000 + n)).unwrap().state, BranchState::Idle);
    }
    assert_eq!(db.txns.branch_rows().len(), all as usize);
    let told = |n| db.txns.prepare_branch(&p, &id(n), NOW).unwrap_err().code();
    assert_eq!((told(0), told(20), told(20)), (24756, 24761, 24756));
}

#[test]
fn a_branch_of_another_user_is_refused_whoever_had_the_identifier_before() {
    let db = database(&Shape::default());
    let p = db.attach();
    let table = db.table(&p, 50);
    detached(&db, &p, &table, 1, 0..5);
    let (own, anothers) = (Asked { wait: NOW, of: Some(5) }, Asked { wait: NOW, of: Some(6) });
    assert!(db.txns.resume_branch(&p, &mut Txn::new(), &id(1), anothers).unwrap_err().is(1031));
    assert!(db.txns.prepare_branch(&p, &id(1), anothers).unwrap_err().is(1031));
    assert!(db.txns.commit_branch(&p, &id(1), true, anothers, &NoHook).unwrap_err().is(1031));
    assert!(db.txns.rollback_branch(&p, &id(1), anothers).unwrap_err().is(1031));
    assert!(db.txns.forget_branch(&p, &id(1), anothers).unwrap_err().is(1031));
    db.txns.rollback_branch(&p, &id(1), own).unwrap();
    assert_eq!((locks(&db), db.txns.branch_rows().len()), (0, 0));
}

#[test]
fn a_session_in_a_branch_waits_for_locks_as_long_as_the_limit_and_never_for_its_own_global_transaction() {
    let mut shape = Shape::default();
    shape.txn.distributed_lock_timeout_s = 1;
    let db = database(&shape);
    let (p, q) = (db.attach(), db.attach());
    let table = db.table(&p, 50);
    let at = detached(&db, &p, &table, 1, 0..5);
    db.txns.prepare_branch(&p, &id(1), NOW).unwrap();
    let wait = |id: &GlobalId, how| {
        let mut t = Txn::new();
        let branch = db.txns.start_branch(&q, id, &TERMS).unwrap();
        let seen = db.now(&q, &t);
        let done = db.heap.lock_row(&q, &mut t, &table, at, &seen, how).unwrap_err().code();
        let whole = db.txns.lock_table(&q, &mut t, table.object, LockMode::Exclusive, how).unwrap_err().code();
        db.txns.rollback(&q, &mut t).unwrap();
        db.txns.drop_branch(&q, branch);
        (done, whole)
    };
    assert_eq!(wait(&id(2), LockWait::Forever), (2049, 2049));
    assert_eq!(wait(&id(2), LockWait::Seconds(100)), (2049, 2049));
    assert_eq!(wait(&id(2), LockWait::Millis(10)), (30006, 30006));
    assert_eq!(wait(&id(2), LockWait::NoWait), (54, 54));
    // The sibling branch ends after this branch's vote.
    let sibling = GlobalId::new(1, b"global", b"another").unwrap();
    assert_eq!(wait(&sibling, LockWait::Forever), (60, 2049));
    // The same while its session works in it, but not for work outside the branch.
    let mut other = Txn::new();
    let attached = db.txns.start_branch(&p, &GlobalId::new(1, b"global", b"third").unwrap(), &TERMS).unwrap();
    let third = insert(&db, &p, &mut other, &table, 91);
    let mut beside = Txn::inside(&other);
    let apart = insert(&db, &p, &mut beside, &table, 90);
    let branch = db.txns.start_branch(&q, &sibling, &TERMS).unwrap();
    for (row, told) in [(third, 60), (apart, 30006)] {
        let mut t = Txn::new();
        let seen = db.now(&q, &t);
        let done = db.heap.lock_row(&q, &mut t, &table, row, &seen, LockWait::Millis(10)).unwrap_err();
        assert_eq!(done.code(), told);
        db.txns.rollback(&q, &mut t).unwrap();
    }
    db.txns.drop_branch(&q, branch);
    db.txns.rollback(&p, &mut beside).unwrap();
    db.txns.rollback(&p, &mut other).unwrap();
    db.txns.drop_branch(&p, attached);
    // A transaction without a coordinator waits like any other, and so does the session behind its branch.
    let sessionless = GlobalId::new(txn::SESSIONLESS, b"global", b"").unwrap();
    assert_eq!(wait(&sessionless, LockWait::Millis(1500)), (30006, 30006));
    let mut t = Txn::new();
    let seen = db.now(&q, &t);
    let done = db.heap.lock_row(&q, &mut t, &table, at, &seen, LockWait::Millis(1500)).unwrap_err();
    assert!(done.is(30006), "{done}");
    db.txns.rollback(&q, &mut t).unwrap();
    // After the restart an exclusive table lock reports the branch.
    let next = next_instance(&db, &p);
    assert!(next.txns.refuse_table_in_doubt(table.object).unwrap_err().is(1591));
    next.txns.refuse_table_in_doubt(types::ObjectId(51)).unwrap();
    next.txns.rollback_branch(&next.attach(), &id(1), NOW).unwrap();
    next.txns.refuse_table_in_doubt(table.object).unwrap();
}

#[test]
fn a_prepared_branch_survives_its_instance_with_its_locks_and_ends_in_a_later_one() {
    // Several undo blocks each; what is not prepared is rolled back.
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
        // Nothing ends the branch automatically.
        again.txns.end_idle_branches(&q, true);
        again.txns.recover(&q).unwrap();
        // Other transactions work beside it, and its undo is kept.
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
        // It survives another restart.
        let last = next_instance(&again, &q);
        let mut found = ids(&last, &last.attach(), &table);
        found.retain(|n| *n < 1000);
        assert_eq!(found, expected);
        assert!(last.txns.branch_rows().is_empty());
    }
}

/// Deletes these rows, the only ones of the table.
fn empty(db: &Db, p: &Process, table: &HeapTable, rows: &[u32]) {
    assert_eq!(ids(db, p, table), rows);
    let mut t = Txn::new();
    let now = db.now(p, &t);
    for (at, _) in db.contents(p, &now, table).unwrap().into_values() {
        db.heap.delete(p, &mut t, table, at, &now, LockWait::NoWait).unwrap();
    }
    db.txns.commit(p, &mut t, &NoHook).unwrap();
}

/// A process is killed at every step that makes, ends or reuses an entry; words and identifiers of the entries stay
/// whole.
#[test]
fn a_process_killed_while_it_begins_or_forgets_a_branch_leaves_no_entry_behind() {
    let db = database(&Shape::default());
    let pmon = db.attach();
    let table = db.table(&pmon, 50);
    let forced = |commits| {
        detached(&db, &pmon, &table, 1, 1..4);
        db.txns.prepare_branch(&pmon, &id(1), NOW).unwrap();
        if commits {
            let xid = db.txns.branch_row(&id(1)).unwrap().xid.unwrap();
            db.txns.force_branch(&pmon, xid, true, &NoHook).unwrap();
        }
    };
    let force = |p: &Process, commits| {
        let xid = db.txns.branch_row(&id(1)).unwrap().xid.unwrap();
        db.txns.force_branch(p, xid, commits, &NoHook).unwrap();
    };
    type Body<'a> = (&'a str, &'a dyn Fn(), &'a dyn Fn(&Process));
    let bodies: [Body<'_>; 5] = [
        ("begin", &|| (), &|p| {
            detached(&db, p, &table, 1, 1..4);
        }),
        ("drop", &|| (), &|p| {
            let branch = db.txns.start_branch(p, &id(1), &TERMS).unwrap();
            db.txns.drop_branch(p, branch);
        }),
        ("forget", &|| forced(true), &|p| db.txns.forget_branch(p, &id(1), NOW).unwrap()),
        ("commit force", &|| forced(false), &|p| force(p, true)),
        ("rollback force", &|| forced(false), &|p| force(p, false)),
    ];
    for (what, before, body) in bodies {
        let check = || {
            db.txns.recover(&pmon).unwrap();
            let seen = ids(&db, &pmon, &table);
            match db.txns.branch_row(&id(1)).map(|b| b.state) {
                Some(BranchState::Idle) => db.txns.rollback_branch(&pmon, &id(1), NOW).unwrap(),
                Some(BranchState::Prepared) => {
                    assert_eq!(seen, [], "{what}");
                    db.txns.rollback_branch(&pmon, &id(1), NOW).unwrap();
                }
                Some(BranchState::ForcedCommit) => {
                    assert_eq!(seen, [1, 2, 3], "{what}");
                    db.txns.forget_branch(&pmon, &id(1), NOW).unwrap();
                }
                Some(BranchState::ForcedRollback) => db.txns.forget_branch(&pmon, &id(1), NOW).unwrap(),
                None => {}
                state => panic!("{what}: {state:?}"),
            }
            if ids(&db, &pmon, &table) == [1, 2, 3] {
                empty(&db, &pmon, &table, &[1, 2, 3]);
            }
            assert_eq!((locks(&db), db.txns.transactions().len(), db.txns.branch_rows().len()), (0, 0, 0), "{what}");
            begun(&db, &pmon, 1, 5, 60).unwrap();
            db.txns.rollback_branch(&pmon, &id(1), NOW).unwrap();
            db.txns.assert_invariants();
        };
        let body = |p: &Process, arm: &dyn Fn()| {
            arm();
            body(p);
        };
        assert!(testing::kill_at_every_step(&pmon, "branch-*", before, body, check) > 0, "{what}");
    }
}

#[test]
fn a_process_killed_while_it_uses_the_entry_of_a_timed_out_branch_again_leaves_that_or_nothing() {
    let db = database(&Shape::default());
    let pmon = db.attach();
    let all = enqueue::holders_for(common::PROCESSES) as usize;
    let next = std::cell::Cell::new(10);
    let before = || {
        // After each kill a free entry remains.
        while db.txns.branch_rows().len() < all {
            begun(&db, &pmon, next.get(), next.get(), 0).unwrap();
            next.set(next.get() + 1);
        }
        db.txns.end_idle_branches(&pmon, false);
    };
    let check = || {
        let rows = db.txns.branch_rows();
        assert!(rows.len() + 1 >= all, "{}", rows.len());
        for row in rows {
            match row.state {
                BranchState::Idle => db.txns.rollback_branch(&pmon, &row.id, NOW).unwrap(),
                state => assert_eq!(state, BranchState::TimedOut),
            }
        }
        assert_eq!(locks(&db), 0);
    };
    let body = |p: &Process, arm: &dyn Fn()| {
        arm();
        begun(&db, p, 1, 5, 60).unwrap();
    };
    assert!(testing::kill_at_every_step(&pmon, "branch-*", before, body, check) > 3);
}

/// A process is killed at every step of an operation on a branch: afterwards the branch is gone with all its rows,
/// unchanged, or in its target state.
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
            let held = std::cell::Cell::new(Scn::ZERO);
            let before = || {
                held.set(serializable(&db, &pmon, &table, 1, 1..4));
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
                        assert_eq!(db.txns.oldest_snapshot(), held.get(), "{what}");
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
                assert_eq!(db.txns.oldest_snapshot(), db.txns.current_scn(), "{what}");
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

/// A random next step of a session with one of a few branches that other sessions use, too.
fn anything(db: &Db, p: &Process, table: &HeapTable, random: &mut Random, count: &mut u32) -> Result<()> {
    let which = id(random.below(5) as u32);
    let soon = Duration::from_millis(random.below(30) as u64);
    let mut t = Txn::new();
    match random.below(10) {
        0..3 => {
            let branch =
                db.txns.start_branch(p, &which, &BranchTerms { timeout_s: random.below(2) as u32, user: 5 })?;
            pair(db, p, &mut t, table, count);
            db.txns.detach_branch(p, &mut t, branch);
        }
        3 | 4 => {
            let branch = db.txns.resume_branch(p, &mut t, &which, soon)?;
            pair(db, p, &mut t, table, count);
            if random.below(4) == 0 {
                db.txns.rollback(p, &mut t).unwrap();
                db.txns.drop_branch(p, branch);
            } else {
                db.txns.detach_branch(p, &mut t, branch);
            }
        }
        5 => drop(db.txns.prepare_branch(p, &which, soon)?),
        6 => db.txns.commit_branch(p, &which, random.below(2) == 0, soon, &NoHook)?,
        7 => db.txns.rollback_branch(p, &which, soon)?,
        8 => match db.txns.branch_row(&which).and_then(|row| row.xid) {
            Some(xid) => db.txns.force_branch(p, xid, random.below(2) == 0, &NoHook)?,
            None => db.txns.end_idle_branches(p, false),
        },
        _ => db.txns.forget_branch(p, &which, soon)?,
    }
    Ok(())
}

/// Inserts two rows that must be visible together or not at all; their numbers belong to this process alone.
fn pair(db: &Db, p: &Process, t: &mut Txn, table: &HeapTable, count: &mut u32) {
    let n = (p.serial() as u32 & 0x7FF) << 21 | p.number() << 16 | (*count & 0x7FFF) << 1;
    *count += 1;
    insert(db, p, t, table, n);
    insert(db, p, t, table, n + 1);
}

#[test]
fn branches_that_many_sessions_are_after_stay_whole_in_a_storm_of_kills() {
    let db = database(&Shape { undo_blocks: 4000, ..Shape::default() });
    let p = db.attach();
    let table = db.table(&p, 50);
    let storm = |p: &Process, seed: u64| {
        let (mut random, mut count) = (Random::new(seed), 0);
        loop {
            if let Err(e) = anything(&db, p, &table, &mut random, &mut count) {
                let said = [2049, 2053, 2058, 24756, 24757, 24761, 24764, 24765, 24768, 24769, 24770, 24774];
                assert!(said.contains(&e.code()), "{e}");
            }
        }
    };
    let mut killed = 0;
    for round in 0.. {
        killed += testing::kill_children(&p, 5, Duration::from_millis(1000), 0xB4A7C4 + 2 * round, storm).killed;
        if killed > 120 {
            break;
        }
    }
    db.txns.recover(&p).unwrap();
    for row in db.txns.branch_rows() {
        match row.state {
            BranchState::Idle | BranchState::Prepared => db.txns.rollback_branch(&p, &row.id, NOW).unwrap(),
            BranchState::TimedOut => assert!(db.txns.prepare_branch(&p, &row.id, NOW).unwrap_err().is(24761)),
            BranchState::ForcedCommit | BranchState::ForcedRollback => {
                db.txns.forget_branch(&p, &row.id, NOW).unwrap();
            }
            state => panic!("{state:?} without a process"),
        }
    }
    assert_eq!((locks(&db), db.txns.transactions().len(), db.txns.branch_rows().len()), (0, 0, 0));
    db.txns.assert_invariants();
    let seen = ids(&db, &p, &table);
    let torn: Vec<_> = seen.iter().filter(|n| seen.binary_search(&(**n ^ 1)).is_err()).collect();
    assert!(torn.is_empty(), "{torn:?}");
    assert!(!seen.is_empty(), "nothing was committed");
    db.cache.end_call(&p);
    drop(p);
    db.cache.assert_invariants().unwrap();
}
