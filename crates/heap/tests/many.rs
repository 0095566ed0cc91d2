//! Rows changed together: a holder of their locks that commits meanwhile, and rows longer than 64 KB.

mod common;

use common::{Db, Shape, database, row, split};
use heap::{Changes, HeapTable, RowOutcome};
use os::process::Fork;
use os::signal;
use process::Process;
use txn::{LockWait, NoHook, Txn};
use types::Rowid;

const WAIT: LockWait = LockWait::NoWait;

/// The way in which the stopped process changes the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Splice,
    Update,
    Delete,
}

/// Changes all of `rows`, whose values are `old`, to `new`, or deletes them.
fn change_all(db: &Db, p: &Process, table: &HeapTable, rows: &[Rowid], old: &[u8], new: &[u8], way: Way) -> RowOutcome {
    let (mut changes, mut seen, t) = (Changes::default(), Vec::new(), &mut Txn::new());
    for (id, rowid) in (0..).zip(rows) {
        let (before, after) = (row(id, old), row(id, new));
        let begin = seen.len() as u32;
        seen.extend_from_slice(&before);
        match way {
            Way::Splice => changes
                .splice(*rowid, begin..seen.len() as u32, 6, &before[6..], |to| {
                    to.extend_from_slice(&after[6..]);
                    Ok(())
                })
                .unwrap(),
            Way::Update => changes.update(*rowid, &after, 20),
            Way::Delete => changes.delete(*rowid),
        }
    }
    let s = db.now(p, t);
    let done = db.heap.change_many(p, t, table, &changes, &seen, &s, WAIT).unwrap();
    match done {
        RowOutcome::Done => drop(db.txns.commit(p, t, &NoHook).unwrap()),
        _ => db.txns.rollback(p, t).unwrap(),
    }
    db.cache.end_call(p);
    done
}

/// Runs `body` in a child that stops at the first pass of the point; `meanwhile` runs while it is stopped. Returns the
/// child's exit status.
fn stopped_at(db: &Db, by: &Process, point: &str, body: impl Fn(&Process) -> i32, meanwhile: impl FnOnce()) -> i32 {
    let (parent, stop) = (os::process::own_id(), db.directory.join(faults::STOP_FILE));
    std::fs::write(&stop, "").unwrap();
    let child = match os::process::fork().unwrap() {
        Fork::Parent(child) => child,
        Fork::Child => {
            if !os::process::die_with_parent(parent, signal::SIGKILL) {
                os::process::exit_now(100);
            }
            let run = std::panic::AssertUnwindSafe(|| {
                let p = std::mem::ManuallyDrop::new(testing::attach(db.all, "child"));
                faults::arm_points_quietly(&format!("{point}:1:stop"), &db.directory).unwrap();
                body(&p)
            });
            // A panic in here must not run the parent's test harness.
            os::process::exit_now(std::panic::catch_unwind(run).unwrap_or(101));
        }
    };
    while os::process::run_state(child) != Some('T') {
        assert!(os::process::is_running(child), "the child ended before it passed {point}");
        os::clock::sleep(std::time::Duration::from_millis(1));
    }
    assert!(!stop.exists());
    meanwhile();
    os::process::kill(child, signal::SIGCONT).unwrap();
    let how = os::process::wait(child);
    let owner = db.all.owner_by_os_pid(child).expect("the child's slot is its own");
    assert!(db.all.cleanup(by, owner).is_some());
    match how {
        Some(os::process::Ended::Exited(status)) => status,
        how => panic!("{how:?}"),
    }
}

#[test]
fn a_change_committed_between_the_look_at_the_block_and_at_its_locks_is_not_lost() {
    for way in [Way::Splice, Way::Update, Way::Delete] {
        let mut shape = Shape::default();
        // The commit needs no block that the stopped process has.
        shape.txn.commit_cleanout_blocks = 0;
        let db = database(&shape);
        let (p, mut t) = (db.attach(), Txn::new());
        let table = db.table(&p, 50);
        let rows: Vec<Rowid> =
            (0..9).map(|id| db.heap.insert(&p, &mut t, &table, &row(id, b"first value")).unwrap()).collect();
        assert!(rows.iter().all(|r| r.rdba == rows[0].rdba), "rows of one block");
        db.txns.commit(&p, &mut t, &NoHook).unwrap();
        let s = db.now(&p, &t);
        let done = db.heap.update(&p, &mut t, &table, rows[4], &row(4, b"other value"), &s, WAIT).unwrap();
        assert_eq!(done, RowOutcome::Done);
        let child = |p: &Process| match change_all(&db, p, &table, &rows, b"first value", b"first valve", way) {
            RowOutcome::Changed => 0,
            RowOutcome::Done => 1,
            _ => 2,
        };
        let status = stopped_at(&db, &p, "heap-block-looked-at", child, || {
            db.txns.commit(&p, &mut t, &NoHook).unwrap();
        });
        let found = db.contents(&p, &db.now(&p, &t), &table).unwrap();
        for id in 0..9 {
            let want: &[u8] = if id == 4 { b"other value" } else { b"first value" };
            assert_eq!(found.get(&id).map(|(_, value)| value.as_slice()), Some(want), "{way:?}, row {id}");
        }
        assert_eq!(status, 0, "{way:?}: the statement is told that a row has changed");
        db.txns.assert_invariants();
    }
}

#[test]
fn bytes_behind_the_first_64_kb_of_a_row_are_replaced_at_their_place() {
    let db = database(&Shape::default());
    let (p, mut t) = (db.attach(), Txn::new());
    let table = db.table(&p, 50);
    let mut value: Vec<u8> = (0..70_000u32).map(|n| (n % 251) as u8).collect();
    let rowid = db.heap.insert(&p, &mut t, &table, &row(1, &value)).unwrap();
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    // (from, cut, new bytes): of the same length, longer and shorter, and more than 64 KB at once.
    let longer = vec![7; 68_000];
    let splices: [(usize, usize, &[u8]); 5] = [
        (69_000, 4, b"same"),
        (69_500, 2, b"longer"),
        (66_000, 900, b"shorter"),
        (40, 68_500, &longer),
        (9, 67_000, b""),
    ];
    for (from, cut, new) in splices {
        let before = row(1, &value);
        let head = before.len() - value.len();
        let (mut changes, mut after) = (Changes::default(), value.clone());
        after.splice(from..from + cut, new.iter().copied());
        // The length of the value is among the bytes before it: the splice begins there when the length changes.
        let whole = row(1, &after);
        let begin = if after.len() == value.len() { head + from } else { 0 };
        let gone = if begin == 0 { &before[..head + from + cut] } else { &before[begin..begin + cut] };
        let end = before.len() - begin - gone.len();
        let come = &whole[begin..whole.len() - end];
        let put = |to: &mut Vec<u8>| {
            to.extend_from_slice(come);
            Ok(())
        };
        changes.splice(rowid, 0..before.len() as u32, begin, gone, put).unwrap();
        let s = db.now(&p, &t);
        let done = db.heap.change_many(&p, &mut t, &table, &changes, &before, &s, WAIT).unwrap();
        assert_eq!(done, RowOutcome::Done);
        let mut got = Vec::new();
        assert!(db.heap.fetch_by_rowid(&p, &db.now(&p, &t), &table, rowid, &mut got).unwrap());
        assert!(split(&got) == (1, after.clone()), "{cut} bytes at {from} replaced by {}", new.len());
        value = after;
    }
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
}

#[test]
fn a_process_killed_while_it_changes_rows_together_has_changed_none() {
    for way in [Way::Splice, Way::Update, Way::Delete] {
        let db = database(&Shape::default());
        let (p, mut t) = (db.attach(), Txn::new());
        let table = db.table(&p, 50);
        // Rows of several blocks, so that the process is also killed between two groups.
        let rows: Vec<Rowid> =
            (0..60).map(|id| db.heap.insert(&p, &mut t, &table, &row(id, &[b'a'; 60])).unwrap()).collect();
        assert!(rows[0].rdba != rows[59].rdba);
        db.txns.commit(&p, &mut t, &NoHook).unwrap();
        let values = |id: u8| vec![b'a' + id; 60];
        let body = |p: &Process, arm: &dyn Fn()| {
            arm();
            let (mut changes, mut seen, mut t) = (Changes::default(), Vec::new(), Txn::new());
            for (id, rowid) in (0..).zip(&rows) {
                let (before, after) = (row(id, &values(0)), row(id, &values(1)));
                let begin = seen.len() as u32;
                seen.extend_from_slice(&before);
                let put = |to: &mut Vec<u8>| {
                    to.extend_from_slice(&after[7..]);
                    Ok(())
                };
                match way {
                    Way::Splice => changes.splice(*rowid, begin..seen.len() as u32, 7, &before[7..], put).unwrap(),
                    Way::Update => changes.update(*rowid, &after, 60),
                    Way::Delete => changes.delete(*rowid),
                }
            }
            let s = db.now(p, &t);
            let done = db.heap.change_many(p, &mut t, &table, &changes, &seen, &s, WAIT).unwrap();
            assert_eq!(done, RowOutcome::Done);
        };
        let check = || {
            let found = db.contents(&p, &db.now(&p, &Txn::new()), &table).unwrap();
            assert!(found.len() == 60 && found.values().all(|(_, value)| *value == values(0)), "{way:?}");
            assert!(db.txns.transactions().is_empty());
        };
        let steps = testing::kill_at_every_step(&p, "*", || {}, body, check);
        assert!(steps > 10, "{way:?}: {steps} steps");
        db.cache.end_call(&p);
        db.cache.assert_invariants().unwrap();
    }
}

#[test]
fn rows_of_a_block_that_change_at_both_ends_are_changed_by_one_record_of_these_bytes() {
    let db = database(&Shape::default());
    let (p, q) = (db.attach(), db.attach());
    let table = db.table(&p, 50);
    let mut t = Txn::new();
    let wide = |id: u32, ends: u8| row(id, &[&[ends][..], &[7; 300], &[ends]].concat());
    let insert = |id: u32, t: &mut Txn| db.heap.insert(&p, t, &table, &wide(id, 1)).unwrap();
    let rows: Vec<Rowid> = (0..4).map(|id| insert(id, &mut t)).collect();
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    assert!(rows.iter().all(|rowid| rowid.rdba == rows[0].rdba), "one block");

    let old = db.now(&q, &Txn::new());
    let (mut changes, undo) = (Changes::default(), || p.stats().get(wait::Stat::UndoChangeVectorSize));
    (0..).zip(&rows).for_each(|(id, rowid)| changes.update(*rowid, &wide(id, 2), 20));
    let (before, seen) = (undo(), db.now(&p, &t));
    assert_eq!(db.heap.change_many(&p, &mut t, &table, &changes, &[], &seen, WAIT).unwrap(), RowOutcome::Done);
    let bytes = undo() - before;
    assert!(bytes < 200, "{bytes} bytes of undo");
    let is = |by: &Process, as_of: &txn::Snapshot, ends: u8| {
        let mut got = Vec::new();
        for (id, rowid) in (0..).zip(&rows) {
            assert!(db.heap.fetch_by_rowid(by, as_of, &table, *rowid, &mut got).unwrap());
            assert_eq!(got, wide(id, ends));
        }
    };
    is(&p, &db.now(&p, &t), 2);
    is(&q, &old, 1);
    db.txns.rollback(&p, &mut t).unwrap();
    is(&p, &db.now(&p, &t), 1);
    db.txns.assert_invariants();
}
