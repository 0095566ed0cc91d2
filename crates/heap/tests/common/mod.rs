//! A database in a temporary directory with everything up to heap tables over it.
#![allow(dead_code)]

use block::SegmentKind;
use buffer_cache::{BufferCache, ChainDesign};
use datafile::{CreateDatabase, DataFiles, tablespace};
use enqueue::Enqueues;
use heap::{Heap, HeapTable, Scan};
use process::{Process, Processes};
use redo::ApplyTable;
use std::collections::BTreeMap;
use std::sync::Arc;
use testing::Folder;
use testing::storage::{Storage, StorageSpec};
use txn::{Snapshot, Transactions, Txn, TxnConfig};
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
    pub directory: Folder,
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
    let directory = Folder::new("heap");
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
pub fn over(directory: Folder, files: DataFiles, shape: &Shape) -> Db {
    let layers = [Heap::register_apply, shape.more_layers];
    let mut spec = StorageSpec::new(PROCESSES, shape.buffers, files.block_size(), &layers);
    (spec.cache.design, spec.txn) = (shape.design, shape.txn.clone());
    let (Storage { all, cache, enqueues, txns }, ()) = Storage::over(files, spec, |_| ());
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

/// As [`row`], with the value in two columns and a text that never changes between them, so that an update changes
/// two places and their lengths.
#[allow(dead_code, reason = "only the model needs it")]
pub fn row_in_parts(id: u32, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let (begin, end) = value.split_at(value.len() / 3);
    let mut w = RowWriter::new(&mut out, 4);
    w.bytes(&id.to_be_bytes());
    w.bytes(begin);
    w.bytes(format!("the text of row {id:04}").as_bytes());
    w.bytes(end);
    out
}

/// The number and the value of a [`row`] or [`row_in_parts`].
pub fn split(bytes: &[u8]) -> (u32, Vec<u8>) {
    let r = RowReader::new(bytes).expect("a sound row");
    let part = |n| r.column(n).unwrap().bytes().unwrap_or_default();
    let id = part(0).try_into().unwrap();
    (u32::from_be_bytes(id), [part(1), part(3)].concat())
}
