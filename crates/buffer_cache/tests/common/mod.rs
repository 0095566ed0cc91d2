//! A database in a temporary directory with a small cache over it.
#![allow(dead_code)]

use block::BlockKind;
use buffer_cache::{BufferCache, CacheConfig, CacheLayout, ChainDesign, ChangeGroup, GetKind, op};
use datafile::{CreateDatabase, DataFiles, TablespaceSpec};
use process::{Process, Processes};
use redo::{ApplyTable, Layer, NoRedo};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
pub use testing::Folder;
use types::{ObjectId, Rdba, Result, Scn};

pub struct Db {
    pub all: &'static Processes,
    pub cache: Arc<BufferCache>,
    pub directory: Folder,
}

pub const BLOCK: usize = 2048;

pub fn small_database() -> CreateDatabase {
    let mut spec = CreateDatabase::usual("TEST", 7, BLOCK);
    for t in &mut spec.tablespaces {
        (t.bytes, t.step_bytes) = (200 * BLOCK as u64, 64 * BLOCK as u64);
    }
    spec
}

pub fn tablespace(spec: &mut CreateDatabase, number: u32) -> &mut TablespaceSpec {
    spec.tablespaces.iter_mut().find(|t| t.number == number).unwrap()
}

pub fn over(directory: Folder, files: DataFiles, design: ChainDesign, buffers: usize) -> Db {
    let mut config = CacheConfig::new(buffers, BLOCK, 24);
    config.design = design;
    config.working_sets = 1 + buffers % 4;
    over_config(directory, files, &config)
}

pub fn over_config(directory: Folder, files: DataFiles, config: &CacheConfig) -> Db {
    let (all, layout) = testing::instance(24, |b| CacheLayout::reserve(b, config));
    over_layout(directory, files, config, all, &layout)
}

pub fn over_layout(
    directory: Folder,
    files: DataFiles,
    config: &CacheConfig,
    all: &'static Processes,
    layout: &CacheLayout,
) -> Db {
    let mut table = ApplyTable::new();
    buffer_cache::register(&mut table);
    let cache = BufferCache::create(all.sga(), layout, config, Arc::new(files), table, Box::new(NoRedo));
    let cache = Arc::new(cache);
    cache.register_with(all);
    Db { all, cache, directory }
}

pub fn database_of(spec: &CreateDatabase, design: ChainDesign, buffers: usize) -> Db {
    let directory = Folder::new("cache");
    let files = DataFiles::create(&directory, spec).unwrap();
    over(directory, files, design, buffers)
}

pub fn database(design: ChainDesign, buffers: usize) -> Db {
    database_of(&small_database(), design, buffers)
}

pub const DESIGNS: [ChainDesign; 4] =
    [ChainDesign::Exclusive, ChainDesign::Shared, ChainDesign::FastPath, ChainDesign::Versioned];

pub fn scn() -> Scn {
    static NEXT: AtomicU64 = AtomicU64::new(10);
    Scn(NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The place of the tests' number in a block.
pub const VALUE_AT: usize = 64;
pub const TAIL_AT: usize = BLOCK - 8;

pub fn make_block(g: &mut ChangeGroup, at: Rdba, value: u64) -> Result<()> {
    g.format(at, BlockKind::Temporary, ObjectId(1), Rdba(0), 0)?;
    set_value(g, at, value)
}

/// Writes the number at the start and at the end of the block.
pub fn set_value(g: &mut ChangeGroup, at: Rdba, value: u64) -> Result<()> {
    let b = g.current(at)?;
    for place in [VALUE_AT, TAIL_AT] {
        let mut data = (place as u16).to_le_bytes().to_vec();
        data.extend_from_slice(&value.to_le_bytes());
        g.change(b, Layer::Block, op::PATCH, &data)?;
    }
    Ok(())
}

pub fn value_in(g: &mut ChangeGroup, at: Rdba) -> Result<u64> {
    let b = g.current(at)?;
    Ok(g.block(b).u64(VALUE_AT))
}

pub fn value(db: &Db, p: &Process, at: Rdba, kind: GetKind) -> u64 {
    let (head, tail) = db.cache.read(p, at, kind, &mut |v| (v.u64(VALUE_AT), v.u64(TAIL_AT))).unwrap();
    assert_eq!(head, tail, "a torn block {at}");
    head
}

/// Blocks of the USERS file that no segment uses.
pub fn loose_blocks(n: u32) -> Vec<Rdba> {
    let first = DataFiles::first_data_block_of(BLOCK);
    (0..n).map(|i| Rdba::new(3, first + i)).collect()
}
