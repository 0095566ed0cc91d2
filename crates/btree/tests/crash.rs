//! The redo of trees that grow, shrink and are rolled back by several sessions at once: for every prefix of the redo
//! the recovered trees are whole, and after the open transactions are rolled back they hold what was committed.

mod common;
use btree::{Inserted, RowAction, RowOutcome, RowScan, RowTable};
use buffer_cache::{BufferCache, CacheConfig, CacheLayout};
use common::*;
use datafile::{CreateDatabase, DataFiles, tablespace};
use enqueue::{EnqueueConfig, EnqueueLayout, Enqueues};
use process::{Process, Processes};
use redo::{ApplyTable, ChangeVector, NoRedo, Rba, RecordReader, RedoSink};
use space::{Space, SpaceLayout};
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound::Unbounded;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use txn::{LockWait, NoHook, Transactions, Txn, TxnConfig, TxnLayout};
use types::{ObjectId, Rdba, Result, RowWriter, Scn};

const BLOCK: usize = 2048;
const PROCESSES: u32 = 12;

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
    buffer_cache::register(&mut apply);
    Space::register_apply(&mut apply);
    Transactions::register_apply(&mut apply);
    btree::Btree::register_apply(&mut apply);
    apply
}

fn stack(directory: PathBuf, files: DataFiles, sink: Box<dyn RedoSink>) -> Db {
    let config = CacheConfig::new(800, BLOCK, PROCESSES as usize);
    let enqueues = EnqueueConfig::for_processes(PROCESSES);
    let txn_config = TxnConfig { undo_segments: 3, slots_per_segment: 20, ..TxnConfig::new(PROCESSES) };
    let (all, (cache_at, space, enqueues_at, txns_at)): (&'static Processes, _) = testing::instance(PROCESSES, |b| {
        (
            CacheLayout::reserve(b, &config),
            SpaceLayout::reserve(b, PROCESSES as usize),
            EnqueueLayout::reserve(b, &enqueues),
            TxnLayout::reserve(b, &txn_config),
        )
    });
    let cache = BufferCache::create(all.sga(), &cache_at, &config, Arc::new(files), apply_table(), sink);
    let cache = Arc::new(cache);
    cache.register_with(all);
    let enqueues = Enqueues::create(all, &enqueues_at);
    let space = Space::create(all.sga(), &space, &cache);
    space.register_with(all);
    let txns = Transactions::create(all.sga(), &txns_at, &txn_config, &space, &enqueues);
    txns.register_with(all);
    let tree = btree::Btree::new(&txns);
    Db { all, cache, txns, tree, directory }
}

fn folder(name: &str) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("latchwork-btree-crash-{}-{name}-{n}", os::process::own_id()))
}

fn copy_all(from: &Path, to: &Path) {
    let _ = std::fs::remove_dir_all(to);
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
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
    let mut seed = me.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 11;
    let mut random = |n: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % n
    };
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
    let (directory, base) = (folder("run"), folder("base"));
    std::fs::create_dir_all(&directory).unwrap();
    let files = DataFiles::create(&directory, &CreateDatabase::usual("TEST", 3, BLOCK)).unwrap();
    copy_all(&directory, &base);
    let journal = Journal::default();
    let db = stack(directory, files, Box::new(journal.clone()));
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
        let copy = folder("copy");
        copy_all(&base, &copy);
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
        let again = stack(copy, files, Box::new(NoRedo));
        again.txns.advance_scn(last);
        check(&again, end, &histories, (rows, entries));
    }
    let _ = std::fs::remove_dir_all(&base);
}
