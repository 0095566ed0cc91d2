//! A database in a temporary directory with everything up to heap tables over it.
#![allow(dead_code)]

use block::SegmentKind;
use buffer_cache::{BufferCache, CacheConfig, CacheLayout, ChainDesign};
use datafile::{CreateDatabase, DataFiles, tablespace};
use enqueue::{EnqueueConfig, EnqueueLayout, Enqueues};
use heap::{Heap, HeapTable, Scan};
use process::{Process, Processes};
use redo::{ApplyTable, NoRedo};
use space::{Space, SpaceLayout};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use txn::{Snapshot, Transactions, Txn, TxnConfig, TxnLayout};
use types::row::{RowReader, RowWriter};
use types::{ObjectId, Rowid};

pub const BLOCK: usize = 2048;
pub const PROCESSES: u32 = 24;

pub struct Db {
    pub all: &'static Processes,
    pub cache: Arc<BufferCache>,
    pub txns: Transactions,
    pub enqueues: Enqueues,
    pub heap: Heap,
    pub directory: PathBuf,
}

impl Drop for Db {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

pub struct Shape {
    pub design: ChainDesign,
    pub buffers: usize,
    pub undo_blocks: u64,
    pub txn: TxnConfig,
    /// Registers layers above the heap.
    pub more_layers: fn(&mut ApplyTable),
}

impl Default for Shape {
    fn default() -> Shape {
        let mut txn = TxnConfig::new(PROCESSES);
        (txn.undo_segments, txn.slots_per_segment, txn.commit_cleanout_blocks, txn.itl_max) = (3, 12, 4, 8);
        Shape { design: ChainDesign::Versioned, buffers: 400, undo_blocks: 0, txn, more_layers: |_| {} }
    }
}

pub fn database(shape: &Shape) -> Db {
    database_of(shape, BLOCK)
}

pub fn database_of(shape: &Shape, block_size: usize) -> Db {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = format!("latchwork-heap-{}-{}", os::process::own_id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let directory = std::env::temp_dir().join(name);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).unwrap();
    let mut spec = CreateDatabase::usual("TEST", 7, block_size);
    for t in &mut spec.tablespaces {
        (t.bytes, t.step_bytes) = (200 * block_size as u64, 64 * block_size as u64);
        if t.number == tablespace::UNDO && shape.undo_blocks > 0 {
            (t.bytes, t.bytes_max) = (shape.undo_blocks * block_size as u64, 0);
        }
    }
    let files = DataFiles::create(&directory, &spec).unwrap();
    let db = over(directory, files, shape);
    let p = testing::attach(db.all, "creator");
    db.txns.create_undo_segments(&p).unwrap();
    drop(p);
    db
}

/// An instance over existing files.
pub fn over(directory: PathBuf, files: DataFiles, shape: &Shape) -> Db {
    let mut config = CacheConfig::new(shape.buffers, files.block_size(), PROCESSES as usize);
    config.design = shape.design;
    let (all, (cache_layout, space, txn_layout, enqueue_layout)) = testing::instance(PROCESSES, |b| {
        let cache = CacheLayout::reserve(b, &config);
        let txn = TxnLayout::reserve(b, &shape.txn);
        (
            cache,
            SpaceLayout::reserve(b, PROCESSES as usize),
            txn,
            EnqueueLayout::reserve(b, &EnqueueConfig::for_processes(PROCESSES)),
        )
    });
    let mut table = ApplyTable::new();
    buffer_cache::register(&mut table);
    Space::register_apply(&mut table);
    Transactions::register_apply(&mut table);
    Heap::register_apply(&mut table);
    (shape.more_layers)(&mut table);
    let cache = BufferCache::create(all.sga(), &cache_layout, &config, Arc::new(files), table, Box::new(NoRedo));
    let cache = Arc::new(cache);
    cache.register_with(all);
    let enqueues = Enqueues::create(all, &enqueue_layout);
    let space = Space::create(all.sga(), &space, &cache);
    space.register_with(all);
    let txns = Transactions::create(all.sga(), &txn_layout, &shape.txn, &space, &enqueues);
    txns.register_with(all);
    let heap = Heap::new(&txns);
    Db { all, cache, txns, enqueues, heap, directory }
}

impl Db {
    pub fn attach(&self) -> Process {
        testing::attach(self.all, "test")
    }

    pub fn table(&self, p: &Process, object: u32) -> HeapTable {
        let scn = || self.txns.current_scn();
        let header = self.txns.space().create_segment(p, tablespace::USERS, SegmentKind::Table, ObjectId(object), &scn);
        HeapTable {
            object: ObjectId(object),
            data_object: ObjectId(object),
            header: header.unwrap(),
            pctfree: 10,
            initrans: 1,
        }
    }

    pub fn now(&self, p: &Process, t: &Txn) -> Snapshot {
        let s = self.txns.snapshot(p, t);
        self.txns.release(p, &s);
        s
    }

    /// Every row of the table as of `s`.
    pub fn contents(
        &self,
        p: &Process,
        s: &Snapshot,
        table: &HeapTable,
    ) -> types::Result<BTreeMap<u32, (Rowid, Vec<u8>)>> {
        let mut scan = Scan::new();
        scan.start(&self.heap, p, s, table)?;
        let mut rows = BTreeMap::new();
        while let Some((rowid, bytes)) = scan.next(&self.heap, p)? {
            let (id, value) = split(bytes);
            assert!(rows.insert(id, (rowid, value)).is_none(), "row {id} twice");
        }
        Ok(rows)
    }
}

pub fn row(id: u32, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = RowWriter::new(&mut out, 2);
    w.bytes(&id.to_be_bytes());
    w.bytes(value);
    out
}

pub fn split(bytes: &[u8]) -> (u32, Vec<u8>) {
    let r = RowReader::new(bytes).expect("a sound row");
    let id = r.column(0).unwrap().bytes().unwrap().try_into().unwrap();
    (u32::from_be_bytes(id), r.column(1).unwrap().bytes().unwrap_or_default().to_vec())
}

/// xorshift: the same numbers for the same seed.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() >> 11) as usize % n.max(1)
    }
    pub fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.next() as u8).collect()
    }
}
