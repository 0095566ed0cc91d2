//! Undo segments by load: made for transactions that find all of them busy, there after a start, whole when the process
//! that makes one is killed.

mod common;

use common::{Db, Shape, database, over, row};
use datafile::DataFiles;
use process::Process;
use std::collections::BTreeSet;
use txn::{NoHook, Txn, UndoRounds};

/// Undo segments that a database of these tests is made with.
const MADE: usize = 3;

fn segments(db: &Db) -> usize {
    db.txns.undo_segments().len()
}

fn online(db: &Db) -> usize {
    db.txns.undo_segments().iter().filter(|s| s.status() == "ONLINE").count()
}

/// Opens a transaction of each process, with a row of its own, and lets `by` tend the segments behind each.
fn open_all(db: &Db, by: &Process, all: &[Process], table: &heap::HeapTable, first: u32) -> Vec<Txn> {
    let begin = |(p, id): (&Process, u32)| {
        let mut t = Txn::new();
        db.heap.insert(p, &mut t, table, &row(id, &[id as u8; 100])).unwrap();
        db.txns.tend_undo_segments(by, &mut UndoRounds::default()).unwrap();
        t
    };
    all.iter().zip(first..).map(begin).collect()
}

#[test]
fn segments_are_made_for_load_and_are_there_after_a_start() {
    let db = database(&Shape::default());
    let smon = db.attach();
    let table = db.table(&smon, 50);
    let all: Vec<Process> = (0..12).map(|_| db.attach()).collect();
    assert_eq!((segments(&db), online(&db)), (MADE, MADE));
    let mut txns = open_all(&db, &smon, &all, &table, 100);
    let made = segments(&db);
    assert!(made > MADE + 2, "{made} segments");
    assert!(online(&db) > MADE + 2 && online(&db) <= made);
    let used: BTreeSet<u16> = txns.iter().map(|t| t.xid().unwrap().usn).collect();
    assert!(used.iter().any(|usn| usize::from(*usn) > MADE) && used.len() > 6, "{used:?}");
    for (p, t) in all.iter().zip(&mut txns).skip(1) {
        db.txns.commit(p, t, &NoHook).unwrap();
    }
    let seen = db.now(&smon, &Txn::new());
    let rows = db.contents(&smon, &seen, &table).unwrap();
    assert_eq!(rows.keys().copied().collect::<Vec<_>>(), (101..112).collect::<Vec<_>>());
    // Another instance over the files as they are, with one transaction that has not ended.
    db.cache.flush(&smon).unwrap();
    let next = over(db.directory.clone(), DataFiles::open(&db.directory).unwrap().0, &Shape::default());
    let q = next.attach();
    next.txns.open(&q).unwrap();
    assert_eq!((segments(&next), online(&next)), (made, MADE), "all are known, and those of before are online");
    assert_eq!(next.txns.recover(&q).unwrap(), 1);
    let seen = next.now(&q, &Txn::new());
    assert_eq!(next.contents(&q, &seen, &table).unwrap(), rows);
    assert_eq!(next.txns.transactions().len(), 0);
    next.txns.assert_invariants();
}

#[test]
fn a_segment_for_which_there_is_no_room_is_tried_again_after_some_minutes() {
    let db = database(&Shape { undo_blocks: 100, ..Shape::default() });
    let smon = db.attach();
    let table = db.table(&smon, 50);
    let all: Vec<Process> = (0..20).map(|_| db.attach()).collect();
    let begin = |p: &Process, id: u32| {
        let mut t = Txn::new();
        db.heap.insert(p, &mut t, &table, &row(id, &[7; 100])).unwrap();
        t
    };
    let mut rounds = UndoRounds::default();
    let (mut open, mut failed) = (Vec::new(), Vec::new());
    // One transaction more stays open in each round, until there is no room.
    for round in 0..20 {
        open.push(begin(&all[round as usize], round));
        match db.txns.tend_undo_segments(&smon, &mut rounds) {
            Err(e) if e.is(30036) => failed.push(round),
            made => drop(made.unwrap()),
        }
        if !failed.is_empty() {
            break;
        }
    }
    let made = segments(&db);
    assert!(made > MADE && made < open.len(), "{made} segments");
    for round in failed[0] + 1..200 {
        // It finds all segments busy, and wants another one.
        let mut t = begin(&smon, round);
        match db.txns.tend_undo_segments(&smon, &mut rounds) {
            Err(e) if e.is(30036) => failed.push(round),
            made => assert_eq!(made.unwrap(), 0),
        }
        db.txns.commit(&smon, &mut t, &NoHook).unwrap();
    }
    assert!(failed.len() > 2 && failed.windows(2).all(|w| w[1] - w[0] == 61), "{failed:?}");
}

#[test]
fn a_process_killed_while_it_makes_a_segment_leaves_that_or_none() {
    let db = database(&Shape { buffers: 1000, ..Shape::default() });
    let pmon = db.attach();
    let table = db.table(&pmon, 50);
    let all: Vec<Process> = (0..12).map(|_| db.attach()).collect();
    let id = std::cell::Cell::new(1000);
    let open = std::cell::RefCell::new(Vec::new());
    let before = || {
        // Nobody tends the segments meanwhile, so that one is wanted.
        let begin = |p: &Process| {
            let mut t = Txn::new();
            id.set(id.get() + 1);
            db.heap.insert(p, &mut t, &table, &row(id.get(), &[7; 100])).unwrap();
            t
        };
        open.replace(all.iter().map(begin).collect::<Vec<Txn>>());
    };
    let known = std::cell::Cell::new(segments(&db));
    let body = |p: &Process, arm: &dyn Fn()| {
        arm();
        db.txns.tend_undo_segments(p, &mut UndoRounds::default()).unwrap();
    };
    let check = || {
        for (p, t) in all.iter().zip(open.borrow_mut().iter_mut()) {
            db.txns.commit(p, t, &NoHook).unwrap();
        }
        let now = segments(&db);
        assert!(now >= known.get(), "no segment is lost");
        known.set(now);
        // The count in memory agrees with the count of a start.
        db.cache.flush(&pmon).unwrap();
        let next = over(db.directory.clone(), DataFiles::open(&db.directory).unwrap().0, &Shape::default());
        let q = next.attach();
        next.txns.open(&q).unwrap();
        let named = segments(&next);
        assert!(named == now || named == now + 1, "{named} are named, {now} are known");
        std::mem::forget(next);
    };
    let killed = testing::kill_at_every_step(&pmon, "undo-segment-*", before, body, check);
    assert!(killed >= 2, "{killed}");
}

#[test]
fn the_first_change_of_a_transaction_may_come_in_a_group_with_many_blocks() {
    let db = database(&Shape::default());
    let (p, mut t) = (db.attach(), Txn::new());
    let table = db.table(&p, 50);
    let mut rows = Vec::new();
    for id in 0.. {
        let rowid = db.heap.insert(&p, &mut t, &table, &row(id, &[1; 1500])).unwrap();
        if rows.last().is_none_or(|last: &types::Rowid| last.rdba != rowid.rdba) {
            rows.push(rowid);
        }
        if rows.len() == 15 {
            break;
        }
    }
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    for blocks in 1..=15 {
        // The undo block is the sixteenth block.
        let mut change = || {
            let mut c = db.txns.change(&p, &mut t, 1, 64)?;
            let pinned = rows[..blocks].iter().map(|rowid| c.current(rowid.rdba)).collect::<types::Result<Vec<_>>>()?;
            let txn::ItlGet::Got(itl) = c.itl(pinned[0])? else { panic!("no entry is free") };
            let mark = heap::ops::mark(rows[0].slot, heap::ops::flags::WHOLE, itl);
            let back = heap::ops::mark(rows[0].slot, heap::ops::flags::WHOLE, 0);
            let (redo, undo) = ((heap::ops::MARK, &mark[..]), (heap::ops::MARK, &back[..]));
            c.change(pinned[0], itl, table.object, redo::Layer::Heap, redo, undo)?;
            c.commit()
        };
        db.txns.retrying(&p, &mut change).unwrap();
        assert!(db.heap.is_locked_by(&p, &t, rows[0]).unwrap(), "{blocks} blocks");
        db.txns.rollback(&p, &mut t).unwrap();
        assert!(!db.heap.is_locked_by(&p, &t, rows[0]).unwrap());
    }
    db.txns.assert_invariants();
}
