//! A database with one index in a temporary directory.
#![allow(dead_code)]

use btree::{Btree, Index, RangeScan};
use buffer_cache::{BufferCache, CacheConfig, CacheLayout};
use datafile::{CreateDatabase, DataFiles, tablespace};
use enqueue::{EnqueueConfig, EnqueueLayout, Enqueues};
use process::{Process, Processes};
use redo::{ApplyTable, NoRedo};
use space::{Space, SpaceLayout};
use std::ops::Bound;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use txn::{Transactions, TxnConfig, TxnLayout};
use types::{ObjectId, Rdba, Rowid};

pub struct Db {
    pub all: &'static Processes,
    pub cache: Arc<BufferCache>,
    pub txns: Transactions,
    pub tree: Btree,
    pub directory: PathBuf,
}

impl Drop for Db {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

const BLOCK: usize = 2048;
const PROCESSES: u32 = 12;

pub fn database(buffers: usize) -> Db {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = format!("latchwork-btree-{}-{}", os::process::own_id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let directory = std::env::temp_dir().join(name);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).unwrap();
    let files = DataFiles::create(&directory, &CreateDatabase::usual("TEST", 3, BLOCK)).unwrap();
    let config = CacheConfig::new(buffers, BLOCK, PROCESSES as usize);
    let enqueues = EnqueueConfig::for_processes(PROCESSES);
    let txn_config = TxnConfig { undo_segments: 3, slots_per_segment: 20, ..TxnConfig::new(PROCESSES) };
    let (all, (cache_at, space, enqueues_at, txns_at)) = testing::instance(PROCESSES, |b| {
        (
            CacheLayout::reserve(b, &config),
            SpaceLayout::reserve(b, PROCESSES as usize),
            EnqueueLayout::reserve(b, &enqueues),
            TxnLayout::reserve(b, &txn_config),
        )
    });
    let mut apply = ApplyTable::new();
    buffer_cache::register(&mut apply);
    Space::register_apply(&mut apply);
    Transactions::register_apply(&mut apply);
    Btree::register_apply(&mut apply);
    let cache = BufferCache::create(all.sga(), &cache_at, &config, Arc::new(files), apply, Box::new(NoRedo));
    let cache = Arc::new(cache);
    cache.register_with(all);
    let enqueues = Enqueues::create(all, &enqueues_at);
    let space = Space::create(all.sga(), &space, &cache);
    space.register_with(all);
    let txns = Transactions::create(all.sga(), &txns_at, &txn_config, &space, &enqueues);
    txns.register_with(all);
    let tree = Btree::new(&txns);
    let p = testing::attach(all, "setup");
    txns.create_undo_segments(&p).unwrap();
    txns.open(&p).unwrap();
    Db { all, cache, txns, tree, directory }
}

pub fn index(db: &Db, p: &Process, unique: bool) -> Index {
    let segment = db.tree.create(p, tablespace::USERS, ObjectId(100)).unwrap();
    db.tree.open(p, segment, ObjectId(50), unique).unwrap()
}

pub fn row(n: u32) -> Rowid {
    Rowid { obj: ObjectId(50), rdba: Rdba::new(3, 1000 + n / 100), slot: (n % 100) as u16 }
}

pub fn key(n: u64) -> Vec<u8> {
    let mut key = Vec::new();
    types::codec::push_key_part(Some(&n.to_be_bytes()), false, &mut key);
    key
}

/// A key of about `len` bytes.
pub fn long_key(n: u64, len: usize) -> Vec<u8> {
    let mut key = Vec::new();
    let text = format!("{n:09}{}", "x".repeat(len));
    types::codec::push_key_part(Some(text.as_bytes()), false, &mut key);
    key
}

pub fn scan(
    db: &Db,
    p: &Process,
    index: &Index,
    low: Bound<&[u8]>,
    high: Bound<&[u8]>,
    down: bool,
) -> Vec<(Vec<u8>, Rowid)> {
    let mut scan = RangeScan::new();
    scan.start(index, low, high, down);
    let mut all = Vec::new();
    while let Some((key, row)) = scan.next(&db.tree, p).unwrap() {
        all.push((key.to_vec(), row));
    }
    all
}
