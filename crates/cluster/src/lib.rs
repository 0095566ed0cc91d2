//! Single-table hash clusters of Latchwork.
//!
//! The rows of a key lie in the block that its hash selects, the home block, so a lookup reads one block and no index.
//! Home blocks are allocated when the cluster is created. Rows that do not fit there go to overflow blocks, chained
//! from the home block. A row too long for a block keeps its head in the cluster and has its other pieces in heap
//! blocks of the same segment.
#![forbid(unsafe_code)]

mod dml;
mod geometry;
mod lookup;
pub mod tags;

pub use geometry::{Geometry, hash, tag};
pub use lookup::{ClusterScan, RowSet};

use block::data::{ITL_BEGIN, ITL_BYTES};
use block::{BlockKind, SegmentKind};
use buffer_cache::{BufferCache, GetKind};
use heap::{Heap, HeapTable, RowSegment};
use process::Process;
use redo::{ApplyTable, Layer};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use txn::{Transactions, Txn};
use types::row::RowReader;
use types::{ObjectId, Ora, Rdba, Result};

/// A single-table hash cluster, ready for use. Clones share the table of home blocks.
#[derive(Debug, Clone)]
pub struct HashCluster {
    /// The table's object number: TM enqueue, touched objects.
    pub object: ObjectId,
    /// The segment's object number: rowids.
    pub data_object: ObjectId,
    /// Segment header block of the cluster.
    pub header: Rdba,
    /// The layout by HASHKEYS and SIZE.
    pub geometry: Geometry,
    /// Positions of the cluster key's columns in the table's rows, in the order of the key.
    pub key_columns: Vec<u16>,
    pub initrans: u8,
    homes: Arc<[Home]>,
}

/// A home block, with hints of this process for prefetching; a hint may be wrong (C7).
#[derive(Debug)]
struct Home {
    at: Rdba,
    /// The buffer that held the block at the last lookup.
    buffer: AtomicU32,
    /// Offset of the tags at the last lookup.
    tags: AtomicU32,
}

impl Home {
    #[inline]
    fn remember_tags(&self, at: usize) {
        if self.tags.load(Ordering::Relaxed) != at as u32 {
            self.tags.store(at as u32, Ordering::Relaxed);
        }
    }
}

impl HashCluster {
    /// The home block of a key with this hash.
    #[inline]
    fn home(&self, hash: u64) -> &Home {
        &self.homes[self.geometry.home(hash) as usize]
    }

    /// Prefetches the header, the row directory and the tags of a home block together; without the hints each address
    /// would be known only after the read before it.
    #[inline]
    fn prefetch(&self, home: &Home, cache: &BufferCache) {
        let directory = ITL_BEGIN + usize::from(self.initrans) * ITL_BYTES;
        let tags = home.tags.load(Ordering::Relaxed) as usize;
        let line = block::LINE_BYTES;
        cache.prefetch(home.at, &home.buffer, &[0, line, directory, directory + line, tags, tags + line]);
    }

    fn as_table(&self) -> HeapTable {
        HeapTable {
            object: self.object,
            data_object: self.data_object,
            header: self.header,
            pctfree: 0,
            initrans: self.initrans,
        }
    }

    /// True when the key is the row's first columns, so that its bytes follow the row's column count.
    #[inline]
    fn key_leads(&self) -> bool {
        self.key_columns.iter().enumerate().all(|(i, c)| usize::from(*c) == i)
    }

    /// Writes the key of a row (`types::row` bytes) into `key` (cleared first): a row of the key's columns.
    ///
    /// # Errors
    /// ORA-00600 for a damaged row.
    pub fn key_of(&self, row: &[u8], key: &mut Vec<u8>) -> Result<()> {
        key.clear();
        let reader = RowReader::new(row).ok_or_else(|| Ora::internal("a damaged row"))?;
        let mut out = types::row::RowWriter::new(key, self.key_columns.len());
        for c in &self.key_columns {
            match reader.column((*c).into()).ok_or_else(|| Ora::internal("a damaged row"))?.bytes() {
                Some(bytes) => out.bytes(bytes),
                None => out.null(),
            }
        }
        Ok(())
    }
}

fn rows_of(table: &HeapTable) -> RowSegment<'_> {
    RowSegment { table, kind: BlockKind::Cluster, layer: Layer::Cluster }
}

/// The hash cluster access method of an instance. All clones share one state.
#[derive(Clone)]
pub struct Clusters {
    heap: Heap,
    txns: Transactions,
}

impl Clusters {
    /// Registers the change vectors of hash clusters.
    pub fn register_apply(table: &mut ApplyTable) {
        table.register(Layer::Cluster, tags::apply);
    }

    /// Makes the access method over a transaction system.
    pub fn new(heap: &Heap) -> Clusters {
        Clusters { heap: heap.clone(), txns: heap.transactions().clone() }
    }

    /// Creates the segment of a cluster, with all its home blocks, and returns its header block.
    ///
    /// # Errors
    /// ORA-01655 when the tablespace has no room; blocks already allocated are given back.
    pub fn create_segment(
        &self,
        p: &Process,
        tablespace: u32,
        data_object: ObjectId,
        geometry: &Geometry,
        initrans: u8,
    ) -> Result<Rdba> {
        let (segments, scn) = (self.txns.space(), || self.txns.current_scn());
        let header = segments.create_segment(p, tablespace, SegmentKind::Cluster, data_object, &scn)?;
        match self.lay_out(p, header, geometry, initrans) {
            Ok(()) => Ok(header),
            Err(e) => {
                segments.drop_segment(p, header, &scn)?;
                Err(e)
            }
        }
    }

    /// As [`Clusters::create_segment`], in a transaction: a rollback drops the segment again.
    ///
    /// # Errors
    /// ORA-01655 when the tablespace has no room: the caller rolls back.
    pub fn create_segment_in(
        &self,
        p: &Process,
        t: &mut Txn,
        tablespace: u32,
        data_object: ObjectId,
        geometry: &Geometry,
        initrans: u8,
    ) -> Result<Rdba> {
        let header = self.txns.create_segment(p, t, tablespace, SegmentKind::Cluster, data_object)?;
        self.lay_out(p, header, geometry, initrans)?;
        Ok(header)
    }

    /// Formats the home blocks of a new segment and stores its geometry.
    fn lay_out(&self, p: &Process, header: Rdba, geometry: &Geometry, initrans: u8) -> Result<()> {
        let (cache, scn) = (self.txns.cache(), || self.txns.current_scn());
        let segments = self.txns.space();
        segments.preallocate(p, header, geometry.home_blocks, BlockKind::Cluster, initrans.max(1), &scn).and_then(
            |()| {
                let packed = u64::from(geometry.home_blocks) << 8 | u64::from(initrans.max(1));
                let Geometry { hash_buckets, buckets_per_block, .. } = *geometry;
                cache.in_group(p, &scn, &mut |g| segments.set_aux(g, header, hash_buckets, buckets_per_block, packed))
            },
        )
    }

    /// The cluster whose segment begins at `header`, as its segment header describes it.
    ///
    /// # Errors
    /// ORA-08103 when there is no cluster.
    pub fn describe(
        &self,
        p: &Process,
        object: ObjectId,
        data_object: ObjectId,
        header: Rdba,
        key_columns: &[u16],
    ) -> Result<HashCluster> {
        let segments = self.txns.space();
        let (hash_buckets, buckets_per_block, packed) = segments.aux(p, header, GetKind::Current)?;
        let (home_blocks, initrans) = ((packed >> 8) as u32, packed as u8);
        if hash_buckets == 0 || buckets_per_block == 0 || home_blocks != hash_buckets.div_ceil(buckets_per_block) {
            return Err(Ora::new(8103));
        }
        let extents = segments.extents_of(p, header, data_object)?;
        let home = |at| Home { at, buffer: AtomicU32::new(0), tags: AtomicU32::new(0) };
        let homes: Option<Arc<[Home]>> = (0..home_blocks).map(|n| segments.nth_block(&extents, n).map(home)).collect();
        Ok(HashCluster {
            object,
            data_object,
            header,
            geometry: Geometry { hash_buckets, buckets_per_block, home_blocks },
            key_columns: key_columns.to_vec(),
            initrans,
            homes: homes.ok_or_else(|| Ora::new(8103))?,
        })
    }
}
