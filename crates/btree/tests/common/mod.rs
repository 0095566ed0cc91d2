//! A database with one index in a temporary directory.
#![allow(dead_code)]

use btree::{Btree, Index, RangeScan};
use buffer_cache::BufferCache;
use datafile::{CreateDatabase, DataFiles, tablespace};
use process::{Process, Processes};
use redo::{NoRedo, RedoSink};
use std::ops::Bound;
use std::sync::Arc;
use testing::Folder;
use testing::storage::{Storage, StorageSpec};
use txn::Transactions;
use types::{ObjectId, Rdba, Rowid};

pub struct Db {
    pub all: &'static Processes,
    pub cache: Arc<BufferCache>,
    pub txns: Transactions,
    pub tree: Btree,
    pub directory: Folder,
}

pub const BLOCK: usize = 2048;
const PROCESSES: u32 = 12;

pub fn database(buffers: usize) -> Db {
    let directory = Folder::new("btree");
    let files = DataFiles::create(&directory, &CreateDatabase::usual("TEST", 3, BLOCK)).unwrap();
    let db = over(directory, files, buffers, Box::new(NoRedo));
    db.txns.create_undo_segments(&testing::attach(db.all, "setup")).unwrap();
    db
}

/// An instance over existing files, whose undo segments are neither made nor opened.
pub fn over(directory: Folder, files: DataFiles, buffers: usize, redo: Box<dyn RedoSink>) -> Db {
    let mut spec = StorageSpec::new(PROCESSES, buffers, BLOCK, &[Btree::register_apply]);
    (spec.txn.undo_segments, spec.txn.slots_per_segment, spec.redo) = (3, 20, redo);
    let (Storage { all, cache, txns, .. }, ()) = Storage::over(files, spec, |_| ());
    let tree = Btree::new(&txns);
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
