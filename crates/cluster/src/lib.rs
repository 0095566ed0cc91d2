//! Single-table hash clusters of Latchwork.
//!
//! The rows of a key lie in the block its hash value names, so a lookup reads one block.
#![forbid(unsafe_code)]

use buffer_cache::BufferCache;
use heap::RowOutcome;
use process::Process;
use redo::ApplyTable;
use txn::{LockWait, Snapshot, Transactions, Txn};
use types::{ObjectId, Rdba, Result, Rowid};

/// A single-table hash cluster, as the dictionary describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HashCluster {
    /// The table's object number: TM enqueue, touched objects.
    pub object: ObjectId,
    /// The segment's object number: rowids.
    pub data_object: ObjectId,
    /// Segment header block of the cluster.
    pub header: Rdba,
    /// First of the preallocated home blocks' map: see [`Geometry`].
    pub geometry: Geometry,
    pub initrans: u8,
}

/// How HASHKEYS and SIZE lay the cluster out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// HASHKEYS rounded up to a prime: the number of hash values.
    pub hash_buckets: u32,
    /// Hash values that share a block: usable bytes / SIZE.
    pub buckets_per_block: u32,
    /// Home blocks, allocated when the cluster is created.
    pub home_blocks: u32,
}

impl Geometry {
    /// The layout for HASHKEYS `hashkeys`, SIZE `size_bytes` in blocks of `block_size_bytes`.
    pub fn new(_hashkeys: u64, _size_bytes: u32, _block_size_bytes: u32) -> Result<Geometry> {
        todo!()
    }
}

/// Rows copied out of a lookup: bytes one after another. Its buffers are kept between lookups.
#[derive(Debug, Default, Clone)]
pub struct RowSet {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    rowids: Vec<Rowid>,
}

impl RowSet {
    pub fn new() -> RowSet {
        RowSet::default()
    }
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.rowids.clear();
    }
    pub fn len(&self) -> usize {
        self.ends.len()
    }
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
    /// Row `i`: its rowid and bytes (`types::row`).
    pub fn get(&self, i: usize) -> (Rowid, &[u8]) {
        let from = if i == 0 { 0 } else { self.ends[i - 1] as usize };
        (self.rowids[i], &self.bytes[from..self.ends[i] as usize])
    }
}

/// The hash cluster access method of an instance.
#[derive(Clone)]
pub struct Clusters {
    _p: (),
}

impl Clusters {
    /// Registers the change vectors of hash clusters.
    pub fn register_apply(_table: &mut ApplyTable) {
        todo!()
    }
    pub fn new(_cache: &BufferCache, _txns: &Transactions, _heap: &heap::Heap) -> Clusters {
        todo!()
    }
    /// Allocates and formats the home blocks of a new cluster whose segment has just been created.
    pub fn format(&self, _p: &Process, _cluster: &HashCluster) -> Result<()> {
        todo!()
    }
    /// The hash value of a key: the encodings (`types::codec`) of the cluster columns, one after another.
    pub fn hash(_cluster: &HashCluster, _key: &[u8]) -> u32 {
        todo!()
    }
    /// Inserts a row whose cluster key is `key`.
    pub fn insert(&self, _p: &Process, _t: &mut Txn, _cluster: &HashCluster, _key: &[u8], _row: &[u8]) -> Result<Rowid> {
        todo!()
    }
    /// Replaces a row found through `seen`; its key stays (a changed key is a delete and an insert, by the caller).
    #[allow(clippy::too_many_arguments)]
    pub fn update(
        &self,
        _p: &Process,
        _t: &mut Txn,
        _cluster: &HashCluster,
        _rowid: Rowid,
        _row: &[u8],
        _seen: &Snapshot,
        _wait: LockWait,
    ) -> Result<RowOutcome> {
        todo!()
    }
    pub fn delete(
        &self,
        _p: &Process,
        _t: &mut Txn,
        _cluster: &HashCluster,
        _rowid: Rowid,
        _seen: &Snapshot,
        _wait: LockWait,
    ) -> Result<RowOutcome> {
        todo!()
    }
    pub fn lock_row(
        &self,
        _p: &Process,
        _t: &mut Txn,
        _cluster: &HashCluster,
        _rowid: Rowid,
        _seen: &Snapshot,
        _wait: LockWait,
    ) -> Result<RowOutcome> {
        todo!()
    }
    /// Copies the rows whose key is `key` into `rows` (cleared first), as of `s`: one consistent get - examination a block.
    pub fn lookup(
        &self,
        _p: &Process,
        _s: &Snapshot,
        _cluster: &HashCluster,
        _key: &[u8],
        _rows: &mut RowSet,
    ) -> Result<()> {
        todo!()
    }
    /// Copies the row into `row` (cleared first). False when there is no such row as of `s`.
    pub fn fetch_by_rowid(
        &self,
        _p: &Process,
        _s: &Snapshot,
        _cluster: &HashCluster,
        _rowid: Rowid,
        _row: &mut Vec<u8>,
    ) -> Result<bool> {
        todo!()
    }
}

/// A full scan of a cluster. Holds nothing in the SGA between calls.
#[derive(Default)]
pub struct ClusterScan {
    _p: (),
}

impl ClusterScan {
    pub fn new() -> ClusterScan {
        ClusterScan::default()
    }
    /// Starts (again) from the first block.
    pub fn start(&mut self, _clusters: &Clusters, _p: &Process, _s: &Snapshot, _cluster: &HashCluster) -> Result<()> {
        todo!()
    }
    /// The next row: its rowid and its bytes, valid until the next call.
    pub fn next(&mut self, _clusters: &Clusters, _p: &Process) -> Result<Option<(Rowid, &[u8])>> {
        todo!()
    }
}
