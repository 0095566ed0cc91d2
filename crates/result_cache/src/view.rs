//! The data of the `v$result_cache_` views. Read without latches: a row may be slightly out of date, never out of
//! bounds.

use std::sync::atomic::Ordering;

use latch::word::LifeWord;
use types::ObjectId;

use crate::layout::*;
use crate::{ResultCache, Statistic};

/// A row of `v$result_cache_memory`: one block of a chunk in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryRow {
    pub id: u64,
    pub chunk: u64,
    pub offset: u64,
    pub free: bool,
    /// The object of the block and the block's index in it, unless it is free.
    pub object: Option<(u64, u64)>,
}

/// A row of `v$result_cache_objects`.
#[derive(Clone, Debug)]
pub struct ObjectRow {
    pub id: u64,
    pub kind: Kind,
    pub status: Status,
    pub bucket: u64,
    pub hash: u64,
    /// The first 128 bytes of the statement's text; empty for a dependency.
    pub name: String,
    pub namespace: Namespace,
    /// Seconds since 1970.
    pub created_s: u64,
    pub creator: u32,
    /// Result: the number of its dependencies. Dependency: the number of valid results that depend on it.
    pub depend_count: u64,
    pub block_count: u64,
    pub scn: u64,
    pub column_count: u64,
    pub pin_count: u64,
    /// Hits, in the designs that count them in the object (the exclusive ones).
    pub scan_count: Option<u64>,
    pub row_count: u64,
    pub row_size_min: u64,
    pub row_size_max: u64,
    pub data_bytes: u64,
    pub build_time_cs: u64,
    pub lru_number: u64,
    pub object_no: ObjectId,
    pub invalidations: u64,
    /// Bytes of the object's blocks for links, header, key and name.
    pub space_overhead: u64,
    pub space_unused: u64,
    /// The key's digest in hexadecimal.
    pub cache_id: String,
}

/// A row of `v$result_cache_dependency`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DependencyRow {
    pub result_id: u64,
    pub depend_id: u64,
    pub object_no: ObjectId,
}

impl ResultCache {
    fn heads_in_use(&self) -> impl Iterator<Item = u64> + '_ {
        let fresh = self.control.fresh.load(Ordering::Acquire).min(self.lives.len() as u64);
        (0..fresh).filter(|id| self.lives[*id as usize].word.mark() == LifeWord::LINKED)
    }

    /// The rows of `v$result_cache_memory`: every block of every chunk in use.
    pub fn memory_rows(&self) -> Vec<MemoryRow> {
        let blocks = self.control.chunks.load(Ordering::Acquire) * BLOCKS_PER_CHUNK;
        let blocks = blocks.min(self.blocks.len() as u64);
        let mut rows: Vec<MemoryRow> = (0..blocks)
            .map(|id| MemoryRow {
                id,
                chunk: id / BLOCKS_PER_CHUNK,
                offset: id % BLOCKS_PER_CHUNK,
                free: true,
                object: None,
            })
            .collect();
        for id in self.heads_in_use() {
            let count = self.blocks[id as usize].get(word::BLOCK_COUNT).min(blocks);
            let mut link = id + 1;
            for position in 0..count {
                let Some(row) = link.checked_sub(1).and_then(|at| rows.get_mut(at as usize)) else {
                    break;
                };
                row.free = false;
                row.object = Some((id, position));
                link = self.blocks[row.id as usize].get(word::NEXT);
            }
        }
        rows
    }

    /// The rows of `v$result_cache_objects`.
    pub fn object_rows(&self) -> Vec<ObjectRow> {
        self.heads_in_use().filter_map(|id| self.object_row(id)).collect()
    }

    fn object_row(&self, id: u64) -> Option<ObjectRow> {
        let head = &self.blocks[id as usize];
        let state = State::unpack(head.get(word::STATE));
        let mut status = state.status?;
        let kind = if state.kind == Kind::Dependency as u8 { Kind::Dependency } else { Kind::Result };
        if kind == Kind::Result && status == Status::Published && !self.depends_unchanged(head) {
            // A commit marks only the dependency; each result is compared with it here.
            status = Status::Invalid;
        }
        let number = head.get(word::OBJECT_NO);
        let object_no = ObjectId(number as u32);
        let mut key = Vec::new();
        head.copy_out(word::BODY * 8, state.key_len + state.name_len, &mut key);
        let name = key.split_off(state.key_len.min(key.len()));
        key.truncate(16);
        let block_count = head.get(word::BLOCK_COUNT);
        let data_bytes = head.get(word::DATA_LEN);
        let body = state.body() as u64;
        let overhead = body + (block_count.saturating_sub(1)) * 8;
        let all = block_count * BLOCK_SIZE_BYTES as u64;
        let row_size = head.get(word::ROW_SIZE);
        Some(ObjectRow {
            id,
            kind,
            status,
            bucket: head.get(word::HASH) & (self.buckets.len() as u64 - 1),
            hash: head.get(word::HASH),
            name: String::from_utf8_lossy(&name).into_owned(),
            namespace: if state.namespace == Namespace::PlSql as u8 { Namespace::PlSql } else { Namespace::Sql },
            created_s: head.get(word::CREATED),
            creator: head.get(word::CREATOR) as u32,
            depend_count: match kind {
                Kind::Result => state.depends as u64,
                Kind::Dependency => self.slot(object_no).object.load(Ordering::Relaxed) >> 32,
            },
            block_count,
            scn: head.get(word::SCN),
            column_count: head.get(word::COLUMN_COUNT),
            pin_count: head.get(word::PINS),
            scan_count: (kind == Kind::Result && (self.design() as u32) < crate::Design::Shared as u32)
                .then(|| head.get(word::SCANS)),
            row_count: head.get(word::ROW_COUNT),
            row_size_min: row_size & 0xffff_ffff,
            row_size_max: row_size >> 32,
            data_bytes,
            build_time_cs: head.get(word::BUILD_TIME_CS),
            lru_number: self.lives[id as usize].last_used.load(Ordering::Relaxed),
            object_no,
            invalidations: number >> 32,
            space_overhead: overhead,
            space_unused: all.saturating_sub(overhead + data_bytes),
            cache_id: key.iter().map(|byte| format!("{byte:02x}")).collect(),
        })
    }

    /// The rows of `v$result_cache_dependency`.
    pub fn dependency_rows(&self) -> Vec<DependencyRow> {
        let mut rows = Vec::new();
        for id in self.heads_in_use() {
            let head = &self.blocks[id as usize];
            for object_no in self.depends_of(head) {
                let link = self.slot(object_no).object.load(Ordering::Relaxed) & 0xffff_ffff;
                if let Some(depend_id) = link.checked_sub(1) {
                    rows.push(DependencyRow { result_id: id, depend_id, object_no });
                }
            }
        }
        rows
    }

    /// A figure, summed over all processes since start-up.
    pub fn statistic(&self, what: Statistic) -> u64 {
        self.processes.iter().map(|line| line.statistics[what as usize].load(Ordering::Relaxed)).sum()
    }

    /// The rows of `v$result_cache_statistics`, in order: name and value.
    pub fn statistics(&self) -> Vec<(&'static str, String)> {
        let number = |what| self.statistic(what).to_string();
        vec![
            ("Block Size (Bytes)", BLOCK_SIZE_BYTES.to_string()),
            ("Block Count Maximum", self.blocks.len().to_string()),
            (
                "Block Count Current",
                (self.control.chunks.load(Ordering::Relaxed) * BLOCKS_PER_CHUNK)
                    .min(self.blocks.len() as u64)
                    .to_string(),
            ),
            ("Result Size Maximum (Blocks)", self.control.result_blocks_max.load(Ordering::Relaxed).to_string()),
            ("Create Count Success", number(Statistic::CreateCountSuccess)),
            ("Create Count Failure", number(Statistic::CreateCountFailure)),
            ("Find Count", number(Statistic::FindCount)),
            ("Invalidation Count", number(Statistic::InvalidationCount)),
            ("Delete Count Invalid", number(Statistic::DeleteCountInvalid)),
            ("Delete Count Valid", number(Statistic::DeleteCountValid)),
            ("Hash Chain Length", self.hash_chain_length()),
        ]
    }

    /// The average length of non-empty chains, as a range between powers of two like `0-1`.
    fn hash_chain_length(&self) -> String {
        let linked = self.heads_in_use().count();
        let used = self.buckets.iter().filter(|bucket| bucket.load(Ordering::Relaxed) != 0).count();
        let length = linked.checked_div(used).unwrap_or(0);
        if length <= 1 { "0-1".into() } else { format!("1-{}", length.next_power_of_two()) }
    }
}
