//! Snapshots that outlive the slots of transaction tables: commit SCNs are found in undo when a slot has been reused,
//! even many times, as long as the undo is there.

mod common;

use buffer_cache::GetKind;
use common::{Db, Shape, database, over, row};
use heap::{HeapTable, RowOutcome};
use process::Process;
use std::collections::BTreeMap;
use testing::Random;
use txn::{LockWait, NoHook, Snapshot, Txn};
use types::{Rdba, Rowid, Scn};

const WAIT: LockWait = LockWait::NoWait;
const ROWS: u32 = 60;
/// Slots of the undo segments of [`Shape::default`].
const SLOTS: u32 = 3 * 12;

type Model = BTreeMap<u32, Vec<u8>>;

/// A configuration in which commits clean out no block.
fn uncleaned() -> Shape {
    let mut shape = Shape::default();
    shape.txn.commit_cleanout_blocks = 0;
    shape
}

/// A table of many blocks, filled by one transaction: most of them are not cleaned out when it commits.
fn filled(db: &Db, p: &Process) -> (HeapTable, Vec<Rowid>) {
    // Undo is kept although no snapshot needs it.
    db.txns.times().retain(1, 1);
    let table = db.table(p, 50);
    let mut t = Txn::new();
    let rowids = (0..ROWS).map(|id| db.heap.insert(p, &mut t, &table, &row(id, &[0; 500])).unwrap()).collect();
    db.txns.commit(p, &mut t, &NoHook).unwrap();
    (table, rowids)
}

fn update(db: &Db, p: &Process, table: &HeapTable, rowid: Rowid, id: u32, fill: u8) {
    let mut t = Txn::new();
    let seen = db.now(p, &t);
    let new = row(id, &[fill; 500]);
    assert_eq!(db.heap.update(p, &mut t, table, rowid, &new, &seen, WAIT).unwrap(), RowOutcome::Done);
    db.txns.commit(p, &mut t, &NoHook).unwrap();
}

/// The next instance over the files of an instance that ended while a transaction with a change of this row was open.
fn ended_in_a_transaction(db: &Db, p: &Process, shape: &Shape, table: &HeapTable, rowid: Rowid) -> (Txn, Db) {
    let mut open = Txn::new();
    let seen = db.now(p, &open);
    db.heap.update(p, &mut open, table, rowid, &row(0, b"open"), &seen, WAIT).unwrap();
    db.cache.flush(p).unwrap();
    let (files, _) = datafile::DataFiles::open(&db.directory).unwrap();
    (open, over(db.directory.clone(), files, shape))
}

fn values(db: &Db, p: &Process, s: &Snapshot, table: &HeapTable) -> types::Result<Model> {
    Ok(db.contents(p, s, table)?.into_iter().map(|(id, (_, value))| (id, value)).collect())
}

fn as_of(scn: Scn) -> Snapshot {
    Snapshot { scn, xid: None, own: None, serializable: false }
}

#[test]
fn what_was_committed_before_a_snapshot_is_seen_however_often_its_slot_was_used_since() {
    let db = database(&Shape::default());
    let (p, q) = (db.attach(), db.attach());
    let (table, _) = filled(&db, &p);
    let s = db.txns.snapshot(&q, &Txn::new());
    let other = db.table(&p, 51);
    for round in 1..=6u32 {
        for n in 0..2 * SLOTS {
            let mut t = Txn::new();
            db.heap.insert(&p, &mut t, &other, &row(round * 1000 + n, b"-")).unwrap();
            db.txns.commit(&p, &mut t, &NoHook).unwrap();
        }
        // The first round meets blocks without any cleanout, each later one those that earlier readers left.
        let rows = values(&db, &q, &s, &table).unwrap();
        assert!(rows.len() == ROWS as usize && rows.values().all(|v| v == &[0; 500]), "round {round}");
        assert_eq!(values(&db, &q, &s, &other).unwrap(), Model::new(), "round {round}");
    }
}

/// Rows that change all the time: an entry of a block leads from owner to owner, and the slots of all of them were
/// reused.
#[test]
fn every_moment_of_rows_in_constant_change_is_seen_whole() {
    for (seed, cleanout) in [(1, 0), (2, 0), (3, 4), (4, 64)] {
        let mut shape = Shape::default();
        shape.txn.commit_cleanout_blocks = cleanout;
        let db = database(&shape);
        let (p, q) = (db.attach(), db.attach());
        let (table, rowids) = filled(&db, &p);
        let mut random = Random::new(seed);
        let mut now: Model = (0..ROWS).map(|id| (id, vec![0; 500])).collect();
        let mut moments = Vec::new();
        for n in 0..16 * SLOTS {
            if n % 50 == 0 {
                moments.push((db.txns.snapshot(&q, &Txn::new()), now.clone()));
            }
            let (id, fill) = (random.below(12) as u32 * 5, random.below(250) as u8);
            update(&db, &p, &table, rowids[id as usize], id, fill);
            now.insert(id, vec![fill; 500]);
            if n % 200 == 199 {
                // A rollback, so that images of before are made again.
                let mut w = Txn::new();
                db.heap.insert(&q, &mut w, &table, &row(ROWS, b"w")).unwrap();
                db.txns.rollback(&q, &mut w).unwrap();
                for (s, model) in &moments {
                    assert_eq!(&values(&db, &q, s, &table).unwrap(), model, "seed {seed}, as of {}", s.scn);
                }
            }
        }
        db.txns.assert_invariants();
    }
}

/// Savepoints, rollbacks and transactions with the longest records leave the chain of undo intact, too.
#[test]
fn rolled_back_transactions_and_long_records_are_on_the_way_back_as_well() {
    let db = database(&uncleaned());
    let (p, q) = (db.attach(), db.attach());
    let (table, rowids) = filled(&db, &p);
    let s = db.txns.snapshot(&q, &Txn::new());
    for n in 0..8 * SLOTS {
        let mut t = Txn::new();
        let id = n % ROWS;
        let start = db.txns.savepoint(&t);
        let seen = db.now(&p, &t);
        let rowid = rowids[id as usize];
        db.heap.update(&p, &mut t, &table, rowid, &row(id, &[1; 700]), &seen, WAIT).unwrap();
        match n % 4 {
            0 => db.txns.rollback(&p, &mut t).unwrap(),
            1 => {
                db.txns.rollback_to(&p, &mut t, &start).unwrap();
                let seen = db.now(&p, &t);
                db.heap.update(&p, &mut t, &table, rowid, &row(id, &[2; 600]), &seen, WAIT).unwrap();
                db.txns.commit(&p, &mut t, &NoHook).unwrap();
            }
            2 => {
                let seen = db.now(&p, &t);
                db.heap.delete(&p, &mut t, &table, rowid, &seen, WAIT).unwrap();
                db.txns.rollback_to(&p, &mut t, &start).unwrap();
                db.txns.commit(&p, &mut t, &NoHook).unwrap();
            }
            _ => {
                db.txns.commit(&p, &mut t, &NoHook).unwrap();
            }
        }
    }
    let rows = values(&db, &q, &s, &table).unwrap();
    assert!(rows.len() == ROWS as usize && rows.values().all(|v| v == &[0; 500]));
}

#[test]
fn a_moment_before_a_restart_is_seen_when_all_slots_were_used_again() {
    let shape = uncleaned();
    let db = database(&shape);
    let p = db.attach();
    let (table, rowids) = filled(&db, &p);
    let mut now: Model = (0..ROWS).map(|id| (id, vec![0; 500])).collect();
    let mut moments = Vec::new();
    for n in 0..9 * SLOTS {
        if n % SLOTS == 0 {
            moments.push((as_of(db.txns.current_scn()), now.clone()));
        }
        update(&db, &p, &table, rowids[(n % 7) as usize], n % 7, n as u8);
        now.insert(n % 7, vec![n as u8; 500]);
    }
    let (open, again) = ended_in_a_transaction(&db, &p, &shape, &table, rowids[0]);
    let q = again.attach();
    again.txns.open(&q).unwrap();
    assert_eq!(again.txns.recover(&q).unwrap(), 1);
    again.txns.times().retain(1, 1);
    for round in 0..2 {
        for (s, model) in &moments {
            assert_eq!(&values(&again, &q, s, &table).unwrap(), model, "round {round}, as of {}", s.scn);
        }
        for n in 0..3 * SLOTS {
            update(&again, &q, &table, rowids[(n % 7) as usize], n % 7, n as u8);
        }
    }
    std::mem::forget((open, again));
}

/// WAIT n also ends while the holder of a row is dead and not yet rolled back.
#[test]
fn a_limited_wait_for_a_dead_transaction_ends() {
    let shape = Shape::default();
    let db = database(&shape);
    let p = db.attach();
    let (table, rowids) = filled(&db, &p);
    let (open, again) = ended_in_a_transaction(&db, &p, &shape, &table, rowids[0]);
    let q = again.attach();
    again.txns.open(&q).unwrap();
    let mut t = Txn::new();
    let seen = again.now(&q, &t);
    for (wait, refused) in [(LockWait::NoWait, 54), (LockWait::Seconds(0), 30006), (LockWait::Millis(120), 30006)] {
        let error = again.heap.update(&q, &mut t, &table, rowids[0], &row(0, b"new"), &seen, wait).unwrap_err();
        assert!(error.is(refused), "{wait:?}: {error}");
    }
    assert_eq!(again.txns.recover(&q).unwrap(), 1);
    let done = again.heap.update(&q, &mut t, &table, rowids[0], &row(0, b"new"), &seen, LockWait::Millis(120)).unwrap();
    assert_eq!(done, RowOutcome::Done);
    again.txns.rollback(&q, &mut t).unwrap();
    std::mem::forget((open, again));
}

/// When the undo was really reused, a read returns ORA-01555 or the right row, never a wrong one.
#[test]
fn with_the_undo_gone_a_moment_is_too_old_or_right() {
    let db = database(&Shape { undo_blocks: 160, ..uncleaned() });
    let (p, q) = (db.attach(), db.attach());
    let (table, rowids) = filled(&db, &p);
    let mut random = Random::new(9);
    let mut now: Model = (0..ROWS).map(|id| (id, vec![0; 500])).collect();
    let mut moments = Vec::new();
    let (mut seen, mut too_old) = (0, 0);
    for n in 0..40 * SLOTS {
        if n % 100 == 0 {
            moments.push((as_of(db.txns.current_scn()), now.clone()));
            for (s, model) in &moments {
                match values(&db, &q, s, &table) {
                    Ok(rows) => {
                        assert_eq!(&rows, model, "as of {}", s.scn);
                        seen += 1;
                    }
                    Err(e) => {
                        assert!(e.is(1555), "{e}");
                        too_old += 1;
                    }
                }
            }
        }
        let (id, fill) = (random.below(20) as u32 * 3, random.below(250) as u8);
        update(&db, &p, &table, rowids[id as usize], id, fill);
        now.insert(id, vec![fill; 500]);
    }
    assert!(seen > 15 && too_old > 15, "{seen} moments seen, {too_old} too old");
}

/// A transaction that needs more blocks than its segment has takes those of other segments, whose numbers may be
/// higher. The number of a block rises with each use all the same, so a uba never means two records.
#[test]
fn the_number_of_an_undo_block_rises_with_each_use_in_whatever_segment() {
    let db = database(&Shape { undo_blocks: 200, ..uncleaned() });
    let p = db.attach();
    let (table, rowids) = filled(&db, &p);
    let mut random = Random::new(1);
    let mut uses: BTreeMap<Rdba, (u16, u32, u16)> = BTreeMap::new();
    let mut taken = 0;
    for n in 0..8 * SLOTS {
        let mut t = Txn::new();
        let changes = if random.below(12) == 0 { 250 } else { 1 + random.below(3) };
        for change in 0..changes {
            let id = random.below(ROWS as usize);
            let (seen, new) = (db.now(&p, &t), row(id as u32, &[(n as usize * 7 + change) as u8; 500]));
            db.heap.update(&p, &mut t, &table, rowids[id], &new, &seen, WAIT).unwrap();
        }
        db.txns.commit(&p, &mut t, &NoHook).unwrap();
        let extents = |s: txn::UndoSegment| db.txns.space().extents(&p, s.header).unwrap();
        for e in db.txns.undo_segments().into_iter().flat_map(extents) {
            for at in (0..e.blocks).map(|n| Rdba::new(e.start.file(), e.start.block() + n)) {
                let mut look = |v: &block::BlockView<'_>| {
                    let u = block::undo::UndoView::new(*v);
                    (v.kind() == Some(block::BlockKind::Undo)).then(|| (u.xid().usn, u.seq(), u16::from(u.records())))
                };
                let Some(now) = db.cache.read(&p, at, GetKind::Current, &mut look).unwrap() else { continue };
                if let Some(before) = uses.insert(at, now) {
                    taken += u32::from(before.0 != now.0);
                    assert!(
                        now.1 > before.1 || now.1 == before.1 && now.2 >= before.2,
                        "{at}: {before:?}, then {now:?}"
                    );
                }
            }
        }
    }
    assert!(taken > 20, "segments took {taken} blocks from one another");
}

/// Expired undo is reused although the slots of its transactions were reused before; unexpired undo is kept.
#[test]
fn expired_undo_is_used_again_and_no_other() {
    const KEPT: u64 = 300;
    let db = database(&Shape::default());
    let p = db.attach();
    let table = db.table(&p, 50);
    let mut t = Txn::new();
    let rowid = db.heap.insert(&p, &mut t, &table, &row(1, &[0; 500])).unwrap();
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    let blocks = || -> u32 {
        let extents = |s: &txn::UndoSegment| db.txns.space().extents(&p, s.header).unwrap();
        db.txns.undo_segments().iter().flat_map(extents).map(|extent| extent.blocks).sum()
    };
    let (mut moments, mut early) = (Vec::new(), 0);
    for n in 1..=20 * KEPT {
        update(&db, &p, &table, rowid, 1, n as u8);
        if n % 1000 == 0 {
            // A transaction with many blocks of undo.
            let mut t = Txn::new();
            for fill in (0..60).chain([n as u8]) {
                let seen = db.now(&p, &t);
                db.heap.update(&p, &mut t, &table, rowid, &row(1, &[fill; 500]), &seen, WAIT).unwrap();
            }
            db.txns.commit(&p, &mut t, &NoHook).unwrap();
        }
        // One transaction a second; undo is kept for this many seconds.
        db.txns.times().note(txn::Moment { time_us: n * 1_000_000, scn: db.txns.current_scn() });
        db.txns.times().retain(n * 1_000_000, KEPT);
        moments.push((as_of(db.txns.current_scn()), n as u8));
        if n % 97 == 0 {
            for ago in [1, KEPT / 2, KEPT - 1] {
                let Some((s, fill)) = (moments.len() as u64).checked_sub(ago + 1).map(|i| &moments[i as usize]) else {
                    continue;
                };
                assert_eq!(values(&db, &p, s, &table).unwrap()[&1], [*fill; 500], "{ago} seconds ago, behind {n}");
            }
        }
        if n == 10 * KEPT {
            early = blocks();
        }
    }
    let late = blocks();
    assert!(late <= early + early / 4, "the undo grows: {early} blocks, {late} later");
}
