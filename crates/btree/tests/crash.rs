//! The redo of trees that grow, shrink and are rolled back by several sessions at once: for every prefix of the redo
//! the recovered trees are whole, and after the open transactions are rolled back they hold what was committed.

mod common;
use btree::{Inserted, RowAction, RowOutcome, RowScan, RowTable};
use common::*;
use datafile::{CreateDatabase, DataFiles, tablespace};
use process::Process;
use redo::{ApplyTable, ChangeVector, NoRedo, Rba, RecordReader, RedoSink};
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound::Unbounded;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use testing::{Folder, Random};
use txn::{LockWait, NoHook, Txn};
use types::{ObjectId, Rdba, Result, RowWriter, Scn};

/// Keeps every record, by its address.
#[derive(Clone, Default)]
struct Journal(Arc<(AtomicU64, Records)>);

type Records = Mutex<BTreeMap<u64, Vec<u8>>>;

impl Journal {
    fn end(&self) -> u64 {
        self.0.0.load(Ordering::SeqCst) + 4096
    }
}

impl RedoSink for Journal {
    fn wanted(&self) -> bool {
        true
    }
    fn image_before(&self) -> Rba {
        Rba(0)
    }
    fn announce(&self, _: &Process) -> Rba {
        Rba(0)
    }
    fn reserve(&self, _: &Process, len: usize, _: Rba, note: &AtomicU64) -> Result<Option<redo::Place>> {
        let at = self.0.0.fetch_add(len as u64, Ordering::SeqCst) + 4096;
        note.store(at, Ordering::SeqCst);
        Ok(Some(redo::Place::new(Rba(at), redo::LogId::default())))
    }
    fn put(&self, _: &Process, at: Rba, record: &[u8]) {
        self.0.1.lock().unwrap().insert(at.0, record.to_vec());
    }
    fn settle(&self, _: &Process) {}
    fn settle_dead(&self, _: &Process, _: u32, _: bool) {}
    fn on_disk(&self) -> Rba {
        Rba(u64::MAX)
    }
    fn force(&self, _: &Process, _: Rba) -> Result<()> {
        Ok(())
    }
}

fn apply_table() -> ApplyTable {
    let mut apply = ApplyTable::new();
    testing::storage::register_layers(&mut apply);
    btree::Btree::register_apply(&mut apply);
    apply
}

type Model = BTreeMap<u64, u8>;

/// The commits of a session: the ends of the redo before and after each commit, and the contents from then on.
type History = Vec<(u64, u64, Model)>;

fn row_of(fill: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    RowWriter::new(&mut bytes, 1).bytes(&vec![fill; 20 + usize::from(fill)]);
    bytes
}

/// One session: it owns the keys whose remainder by three is its number. Every key has a row in `table` and an entry in
/// `plain`.
fn work(db: &Db, journal: &Journal, me: u64, table: &RowTable, plain: &btree::Index) -> History {
    let p = testing::attach(db.all, "worker");
    let mut t = Txn::new();
    let (mut now, mut committed) = (Model::new(), Model::new());
    let mut history = vec![(0, 0, Model::new())];
    let mut numbers = Random::new(me + 11);
    let mut random = |n: u64| numbers.below(n);
    let mut next = me;
    for step in 0..500u64 {
        let s = db.txns.snapshot(&p, &t);
        let old = now.keys().nth(random(now.len().max(1) as u64) as usize).copied();
        let change = |t: &mut Txn, k: u64, action: RowAction<'_>| {
            let done = db.tree.change_row(&p, t, table, &key(k), action, &s, LockWait::Forever);
            assert_eq!(done.unwrap(), RowOutcome::Done);
        };
        match random(10) {
            0..=4 => {
                // Usually ascending, as in a queue, and sometimes in between.
                let k = if random(4) == 0 { random(300) * 3 + me } else { next };
                next = next.max(k) + 3;
                let fill = random(200) as u8;
                if let std::collections::btree_map::Entry::Vacant(free) = now.entry(k) {
                    let done = db.tree.insert_row(&p, &mut t, table, &key(k), &row_of(fill), LockWait::Forever);
                    assert_eq!(done.unwrap(), Inserted::Done);
                    db.tree.insert(&p, &mut t, plain, &key(k), row(k as u32), LockWait::Forever).unwrap();
                    free.insert(fill);
                }
            }
            5 => {
                if let Some(k) = old {
                    let fill = random(200) as u8;
                    change(&mut t, k, RowAction::Update(&row_of(fill)));
                    now.insert(k, fill);
                }
            }
            6 | 7 => {
                let first = now.keys().next().copied();
                if let Some(k) = if step % 2 == 0 { first } else { old } {
                    change(&mut t, k, RowAction::Delete);
                    db.tree.delete(&p, &mut t, plain, &key(k), row(k as u32)).unwrap();
                    now.remove(&k);
                }
            }
            8 => {
                let before = journal.end();
                db.txns.commit(&p, &mut t, &NoHook).unwrap();
                committed = now.clone();
                history.push((before, journal.end(), now.clone()));
            }
            _ if random(3) == 0 => {
                db.txns.rollback(&p, &mut t).unwrap();
                now = committed.clone();
            }
            _ => {
                db.tree.coalesce(&p, plain).unwrap();
            }
        }
        db.txns.release(&p, &s);
    }
    db.txns.rollback(&p, &mut t).unwrap();
    history
}

/// The possible contents of a session's keys when the redo ends at `end`.
fn possible(history: &History, end: u64) -> Vec<&Model> {
    let sure = history.iter().rposition(|(_, after, _)| *after <= end).unwrap_or(0);
    let later = history[sure + 1..].iter().take_while(|(before, ..)| *before < end);
    std::iter::once(&history[sure]).chain(later).map(|(.., m)| m).collect()
}

fn check(db: &Db, end: u64, histories: &[History], segments: (Rdba, Rdba)) {
    let p = testing::attach(db.all, "checker");
    db.txns.open(&p).unwrap();
    db.txns.recover(&p).unwrap();
    let table = db.tree.open(&p, segments.0, ObjectId(50), true).unwrap();
    let plain = db.tree.open(&p, segments.1, ObjectId(50), false).unwrap();
    for index in [&table, &plain] {
        db.tree.verify(&p, index).unwrap_or_else(|what| panic!("redo up to {end}: {what}"));
    }
    let t = Txn::new();
    let s = db.txns.snapshot(&p, &t);
    let mut scan = RowScan::new();
    scan.start(&table, &s, Unbounded, Unbounded, false);
    let mut found: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    while let Some((key, row)) = scan.next(&db.tree, &p).unwrap() {
        found.insert(key.to_vec(), row.to_vec());
    }
    let mut entries = Vec::new();
    let mut range = btree::RangeScan::new();
    range.start(&plain, Unbounded, Unbounded, false);
    while let Some(entry) = range.next_entry(&db.tree, &p).unwrap() {
        if !entry.deleted {
            entries.push(entry.key.to_vec());
        }
    }
    assert_eq!(entries, found.keys().cloned().collect::<Vec<_>>(), "redo up to {end}: table and index disagree");
    let owner: HashMap<Vec<u8>, usize> = (0..20_000u64).map(|n| (key(n), n as usize % 3)).collect();
    for (me, history) in histories.iter().enumerate() {
        let mine: Vec<_> = found.iter().filter(|(k, _)| owner.get(*k) == Some(&me)).collect();
        let fits = |m: &&Model| {
            mine.len() == m.len() && m.iter().zip(&mine).all(|((k, f), (a, b))| key(*k) == **a && row_of(*f) == **b)
        };
        let models = possible(history, end);
        assert!(
            models.iter().any(fits),
            "redo up to {end}: session {me} has {} rows, none of {}",
            mine.len(),
            models.len()
        );
    }
    db.txns.release(&p, &s);
}

#[test]
fn every_prefix_of_the_redo_makes_whole_trees() {
    let directory = Folder::new("btree-run");
    let files = DataFiles::create(&directory, &CreateDatabase::usual("TEST", 3, BLOCK)).unwrap();
    let base = directory.copy("btree-base");
    let journal = Journal::default();
    let db = over(directory, files, 800, Box::new(journal.clone()));
    let p = testing::attach(db.all, "setup");
    db.txns.create_undo_segments(&p).unwrap();
    db.txns.open(&p).unwrap();
    let rows = db.tree.create(&p, tablespace::USERS, ObjectId(100)).unwrap();
    let entries = db.tree.create(&p, tablespace::USERS, ObjectId(101)).unwrap();
    let table = RowTable { tree: db.tree.open(&p, rows, ObjectId(50), true).unwrap(), object: ObjectId(50) };
    let plain = db.tree.open(&p, entries, ObjectId(50), false).unwrap();
    let from = journal.end();
    let histories: Vec<History> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..3)
            .map(|me| {
                scope.spawn({
                    let (db, journal, table, plain) = (&db, &journal, &table, &plain);
                    move || work(db, journal, me, table, plain)
                })
            })
            .collect();
        workers.into_iter().map(|w| w.join().unwrap()).collect()
    });
    let records = journal.0.1.lock().unwrap().clone();
    let apply = apply_table();
    let mut images: HashMap<Rdba, block::Image> = HashMap::new();
    let (started, _) = DataFiles::open(&base).unwrap();
    let every = records.len() / 24;
    let mut last = Scn::ZERO;
    for (n, (at, record)) in records.iter().enumerate() {
        let reader = RecordReader::new(record, Rba(*at), redo::LogId::default()).unwrap();
        last = last.max(reader.scn);
        for cv in reader.vectors() {
            let cv: ChangeVector = cv;
            let image = images.entry(cv.rdba).or_insert_with(|| {
                let mut image = block::Image::new(BLOCK);
                let _ = started.read_block(cv.rdba, image.bytes_mut());
                image
            });
            apply.apply(image.bytes_mut(), &cv).unwrap();
        }
        let end = at + record.len() as u64;
        if end <= from || (n % every != 0 && n + 1 != records.len()) {
            continue;
        }
        let copy = base.copy("btree-copy");
        let (files, _) = DataFiles::open(&copy).unwrap();
        for (rdba, image) in &images {
            let mut bytes = image.bytes().to_vec();
            block::stamp(&mut bytes, end);
            block::seal(&mut bytes);
            if files.write_block(*rdba, &bytes).is_err() {
                let blocks = (rdba.block() + 64).next_multiple_of(64);
                files.extend(rdba.file(), blocks).unwrap();
                files.write_block(*rdba, &bytes).unwrap();
            }
        }
        let again = over(copy, files, 800, Box::new(NoRedo));
        again.txns.advance_scn(last);
        check(&again, end, &histories, (rows, entries));
    }
}
