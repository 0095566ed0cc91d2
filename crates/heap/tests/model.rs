//! Random DML by several sessions against a model: a read as of an SCN returns exactly the changes committed at or
//! below it, and the reader's own changes.

mod common;

use buffer_cache::ChainDesign;
use common::{Db, Shape, database, row_in_parts as row};
use heap::{HeapTable, RowOutcome};
use process::Process;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use testing::Random;
use txn::{LockWait, NoHook, Savepoint, Snapshot, Txn};
use types::{Ora, Rowid, Scn};

/// The value of each row; `None` for one that was deleted.
type Changes = BTreeMap<u32, Option<Vec<u8>>>;

/// The result of a scan, compared with the model at the end.
struct Reading {
    snapshot: Snapshot,
    own: Changes,
    rows: BTreeMap<u32, Vec<u8>>,
}

#[derive(Default)]
struct Model {
    commits: Vec<(Scn, Changes)>,
    readings: Vec<Reading>,
    /// The rowid of each row; rows never move.
    places: BTreeMap<u32, Rowid>,
    too_old: u32,
    restarts: u32,
    deadlocks: u32,
}

struct Session<'a> {
    db: &'a Db,
    p: &'a Process,
    table: HeapTable,
    model: &'a Mutex<Model>,
    ids: &'a AtomicU32,
    t: Txn,
    pending: Changes,
    savepoints: Vec<(Savepoint, Changes)>,
    random: Random,
}

impl Session<'_> {
    fn value(&mut self) -> Vec<u8> {
        let n = match self.random.below(40) {
            0 => 4500,
            1 | 2 => 1500,
            3..10 => 300,
            _ => 30,
        };
        let n = self.random.below(n) + 1;
        self.random.bytes(n)
    }

    fn step(&mut self) {
        let done = match self.random.below(20) {
            0..5 => self.insert(),
            5..10 => self.change(false),
            10..13 => self.change(true),
            13 => self.insert_many(),
            14 => self.set_savepoint(),
            15 => self.roll_back_to(),
            16 => self.read(),
            17 => self.read_one(),
            18 => self.commit(),
            _ => {
                if self.random.below(3) == 0 {
                    self.roll_back()
                } else {
                    self.commit()
                }
            }
        };
        match done {
            Ok(()) => {}
            Err(e) if e.is(60) || e.is(54) || e.is(30006) => {
                self.model.lock().unwrap().deadlocks += 1;
                self.roll_back().unwrap();
            }
            Err(e) if e.is(1555) => {
                self.model.lock().unwrap().too_old += 1;
                self.roll_back().unwrap();
            }
            Err(e) => panic!("{e}"),
        }
    }

    fn insert(&mut self) -> types::Result<()> {
        let (id, value) = (self.ids.fetch_add(1, Ordering::Relaxed), self.value());
        let rowid = self.db.heap.insert(self.p, &mut self.t, &self.table, &row(id, &value))?;
        self.model.lock().unwrap().places.insert(id, rowid);
        self.pending.insert(id, Some(value));
        Ok(())
    }

    fn insert_many(&mut self) -> types::Result<()> {
        let (mut bytes, mut ends, mut rowids, mut new) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.random.below(40) {
            let (id, value) = (self.ids.fetch_add(1, Ordering::Relaxed), self.value());
            bytes.extend(row(id, &value));
            ends.push(bytes.len() as u32);
            new.push((id, value));
        }
        self.db.heap.insert_many(self.p, &mut self.t, &self.table, &bytes, &ends, &mut rowids)?;
        let mut model = self.model.lock().unwrap();
        for ((id, value), rowid) in new.into_iter().zip(rowids) {
            model.places.insert(id, rowid);
            self.pending.insert(id, Some(value));
        }
        Ok(())
    }

    /// Updates or deletes a few rows of one snapshot as a statement does: all or nothing, restarted when a row has
    /// changed.
    fn change(&mut self, delete: bool) -> types::Result<()> {
        for _ in 0..20 {
            let s = self.db.txns.snapshot(self.p, &self.t);
            let many = self.random.below(3) == 0;
            let outcome = if many { self.statement_many(&s, delete) } else { self.statement(&s, delete) };
            self.db.txns.release(self.p, &s);
            if outcome? {
                return Ok(());
            }
            self.model.lock().unwrap().restarts += 1;
        }
        Ok(())
    }

    fn statement(&mut self, s: &Snapshot, delete: bool) -> types::Result<bool> {
        let begin = self.db.txns.savepoint(&self.t);
        let before = self.pending.clone();
        let rows = self.db.contents(self.p, s, &self.table)?;
        let ids: Vec<u32> = rows.keys().copied().collect();
        for _ in 0..self.random.below(4) {
            if ids.is_empty() {
                break;
            }
            let id = ids[self.random.below(ids.len())];
            if self.pending.get(&id).is_some_and(Option::is_none) {
                continue;
            }
            let wait = if self.random.below(3) == 0 { LockWait::Seconds(1) } else { LockWait::NoWait };
            let rowid = rows[&id].0;
            let value = self.value();
            let (heap, t) = (&self.db.heap, &mut self.t);
            let outcome = if delete {
                heap.delete(self.p, t, &self.table, rowid, s, wait)?
            } else if self.random.below(6) == 0 {
                heap.lock_row(self.p, t, &self.table, rowid, s, wait)?
            } else {
                let outcome = heap.update(self.p, t, &self.table, rowid, &row(id, &value), s, wait)?;
                if outcome == RowOutcome::Done {
                    self.pending.insert(id, Some(value));
                }
                outcome
            };
            match outcome {
                RowOutcome::Done if delete => drop(self.pending.insert(id, None)),
                RowOutcome::Done => {}
                _ => {
                    self.db.txns.rollback_to(self.p, &mut self.t, &begin)?;
                    self.pending = before;
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// As [`Self::statement`], with many rows in the order of a scan, deleted or updated together.
    fn statement_many(&mut self, s: &Snapshot, delete: bool) -> types::Result<bool> {
        let begin = self.db.txns.savepoint(&self.t);
        let mut rows: Vec<(Rowid, u32, Vec<u8>)> = self
            .db
            .contents(self.p, s, &self.table)?
            .into_iter()
            .map(|(id, (rowid, value))| (rowid, id, row(id, &value)))
            .collect();
        rows.sort_by_key(|(rowid, ..)| (rowid.rdba, rowid.slot));
        let (from, most) = (self.random.below(rows.len() + 1), self.random.below(30));
        let (mut changes, mut new, mut seen) = (heap::Changes::default(), Vec::new(), Vec::new());
        for (rowid, id, before) in rows.into_iter().skip(from).take(most) {
            let value = self.value();
            let begin = seen.len() as u32;
            seen.extend_from_slice(&before);
            match (delete && self.random.below(2) == 0, self.random.below(2) == 0) {
                (true, known) => {
                    if known {
                        changes.delete_bytes(rowid, before.len());
                    } else {
                        changes.delete(rowid);
                    }
                    new.push((id, None));
                }
                (false, true) => {
                    changes.update(rowid, &row(id, &value), 40);
                    new.push((id, Some(value)));
                }
                (false, false) => {
                    // Everything behind the first bytes is replaced.
                    let (from, after) = (self.random.below(2), row(id, &value));
                    let come = |to: &mut Vec<u8>| {
                        to.extend_from_slice(&after[from..]);
                        Ok(())
                    };
                    changes.splice(rowid, begin..seen.len() as u32, from, &before[from..], come)?;
                    new.push((id, Some(value)));
                }
            }
        }
        let wait = if self.random.below(3) == 0 { LockWait::Seconds(1) } else { LockWait::NoWait };
        let done = self.db.heap.change_many(self.p, &mut self.t, &self.table, &changes, &seen, s, wait)?;
        if done == RowOutcome::Done {
            self.pending.extend(new);
        } else {
            self.db.txns.rollback_to(self.p, &mut self.t, &begin)?;
        }
        Ok(done == RowOutcome::Done)
    }

    fn set_savepoint(&mut self) -> types::Result<()> {
        self.savepoints.push((self.db.txns.savepoint(&self.t), self.pending.clone()));
        Ok(())
    }

    fn roll_back_to(&mut self) -> types::Result<()> {
        if self.savepoints.is_empty() {
            return Ok(());
        }
        let n = self.random.below(self.savepoints.len());
        let (at, pending) = self.savepoints[n].clone();
        self.savepoints.truncate(n + 1);
        self.pending = pending;
        self.db.txns.rollback_to(self.p, &mut self.t, &at)
    }

    fn read(&mut self) -> types::Result<()> {
        let snapshot = self.db.txns.snapshot(self.p, &self.t);
        // A pause in which other sessions go on, so that the scan meets blocks that are newer than its snapshot.
        os::clock::sleep(std::time::Duration::from_micros(self.random.next() % 3000));
        let rows = self.db.contents(self.p, &snapshot, &self.table);
        self.db.txns.release(self.p, &snapshot);
        let rows = rows?.into_iter().map(|(id, (_, value))| (id, value)).collect();
        let reading = Reading { snapshot, own: self.pending.clone(), rows };
        self.model.lock().unwrap().readings.push(reading);
        Ok(())
    }

    fn read_one(&mut self) -> types::Result<()> {
        let place = {
            let model = self.model.lock().unwrap();
            let n = self.random.below(model.places.len());
            model.places.iter().nth(n).map(|(id, rowid)| (*id, *rowid))
        };
        let Some((_, rowid)) = place else { return Ok(()) };
        let snapshot = self.db.txns.snapshot(self.p, &self.t);
        let (mut a, mut b) = (Vec::new(), Vec::new());
        let first = self.db.heap.fetch_by_rowid(self.p, &snapshot, &self.table, rowid, &mut a);
        os::clock::sleep(std::time::Duration::from_micros(self.random.next() % 500));
        let second = self.db.heap.fetch_by_rowid(self.p, &snapshot, &self.table, rowid, &mut b);
        self.db.txns.release(self.p, &snapshot);
        assert_eq!((first?, a), (second?, b), "one snapshot, one row, two answers");
        Ok(())
    }

    fn commit(&mut self) -> types::Result<()> {
        let changed = self.t.xid().is_some();
        let scn = self.db.txns.commit(self.p, &mut self.t, &NoHook)?;
        let pending = std::mem::take(&mut self.pending);
        self.savepoints.clear();
        if changed {
            self.model.lock().unwrap().commits.push((scn, pending));
        }
        Ok(())
    }

    fn roll_back(&mut self) -> types::Result<()> {
        self.pending.clear();
        self.savepoints.clear();
        self.db.txns.rollback(self.p, &mut self.t)
    }
}

fn check(model: &mut Model) {
    model.commits.sort_by_key(|(scn, _)| *scn);
    model.readings.sort_by_key(|r| r.snapshot.scn);
    assert!(model.commits.windows(2).all(|w| w[0].0 < w[1].0), "every commit has its own SCN");
    let mut state: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
    let apply = |state: &mut BTreeMap<u32, Vec<u8>>, changes: &Changes| {
        for (id, value) in changes {
            match value {
                Some(value) => drop(state.insert(*id, value.clone())),
                None => drop(state.remove(id)),
            }
        }
    };
    let mut commits = model.commits.iter().peekable();
    for reading in &model.readings {
        while let Some((_, changes)) = commits.next_if(|(scn, _)| *scn <= reading.snapshot.scn) {
            apply(&mut state, changes);
        }
        let mut want = state.clone();
        apply(&mut want, &reading.own);
        let scn = reading.snapshot.scn;
        assert_eq!(want.keys().collect::<Vec<_>>(), reading.rows.keys().collect::<Vec<_>>(), "rows as of {scn:?}");
        assert_eq!(want, reading.rows, "values as of {scn:?}");
    }
}

fn run(shape: &Shape, sessions: usize, steps: usize, seed: u64) {
    // LATCHWORK_SEED replays a run or tries another one.
    let seed = seed + std::env::var("LATCHWORK_SEED").ok().and_then(|s| s.parse::<u64>().ok()).unwrap_or(0);
    let db = database(shape);
    let p = db.attach();
    let table = db.table(&p, 77);
    let (model, ids) = (Mutex::new(Model::default()), AtomicU32::new(0));
    testing::run_threads(db.all, sessions, |p, n| {
        let random = Random::new(seed.wrapping_mul(2 * n as u64 + 1));
        let mut s = Session {
            db: &db,
            p,
            table,
            model: &model,
            ids: &ids,
            t: Txn::new(),
            pending: Changes::new(),
            savepoints: Vec::new(),
            random,
        };
        for _ in 0..steps {
            s.step();
        }
        s.commit().unwrap();
        let last = s.read();
        db.cache.end_call(p);
        assert!(last.is_ok() || shape.undo_blocks > 0, "the last reading: {last:?}");
    });
    let mut model = model.into_inner().unwrap();
    check(&mut model);
    assert!(model.readings.len() > sessions * steps / 60, "{} readings", model.readings.len());
    let none = Txn::new();
    let s = db.now(&p, &none);
    let rows: Result<_, Ora> = db.contents(&p, &s, &table);
    let rows = rows.unwrap().into_iter().map(|(id, (_, v))| (id, v)).collect();
    model.readings = vec![Reading { snapshot: s, own: Changes::new(), rows }];
    check(&mut model);
    db.cache.end_call(&p);
    drop(p);
    db.txns.assert_invariants();
    assert!(db.txns.transactions().is_empty());
    db.cache.assert_invariants().unwrap();
    let Model { too_old, restarts, deadlocks, commits, .. } = model;
    println!("seed {seed}: {} commits, {restarts} restarts, {deadlocks} lock errors, {too_old} too old", commits.len());
}

#[test]
fn one_session_agrees_with_the_model() {
    for seed in 1..5 {
        run(&Shape::default(), 1, 300, seed);
    }
}

#[test]
fn several_sessions_agree_with_the_model() {
    for seed in 11..14 {
        run(&Shape::default(), 4, 120, seed);
    }
}

#[test]
fn the_historical_designs_agree_with_the_model() {
    run(&Shape { design: ChainDesign::Shared, ..Shape::default() }, 3, 100, 21);
    run(&Shape { design: ChainDesign::Exclusive, ..Shape::default() }, 3, 100, 22);
    run(&Shape { design: ChainDesign::FastPath, ..Shape::default() }, 3, 100, 23);
}

#[test]
fn a_small_cache_and_little_undo_change_nothing_but_errors() {
    let mut shape = Shape { buffers: 90, undo_blocks: 160, ..Shape::default() };
    shape.txn.commit_cleanout_blocks = 1;
    run(&shape, 3, 120, 31);
}
