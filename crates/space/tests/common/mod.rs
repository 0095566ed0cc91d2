//! A database in a temporary directory with a small cache and space management over it.
#![allow(dead_code)]

use buffer_cache::{BufferCache, CacheConfig, CacheLayout, ChainDesign};
use datafile::{CreateDatabase, DataFiles, TablespaceSpec};
use enqueue::{EnqueueConfig, EnqueueLayout, Enqueues};
use process::Processes;
use redo::{ApplyTable, NoRedo, RedoSink};
use space::{Space, SpaceLayout};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use testing::Folder;
use types::Scn;

pub struct Db {
    pub all: &'static Processes,
    pub cache: Arc<BufferCache>,
    pub enqueues: Enqueues,
    pub space: Space,
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

pub fn database_of(spec: &CreateDatabase, design: ChainDesign, buffers: usize) -> Db {
    database_with_stretches(spec, design, buffers, 1024)
}

/// A database with words for so many stretches of temporary extents.
pub fn database_with_stretches(spec: &CreateDatabase, design: ChainDesign, buffers: usize, stretches: usize) -> Db {
    database_with_redo(spec, design, buffers, stretches, Box::new(NoRedo))
}

/// As [`database_with_stretches`], with this redo.
pub fn database_with_redo(
    spec: &CreateDatabase,
    design: ChainDesign,
    buffers: usize,
    stretches: usize,
    redo: Box<dyn RedoSink>,
) -> Db {
    let directory = Folder::new("space");
    let files = DataFiles::create(&directory, spec).unwrap();
    let mut config = CacheConfig::new(buffers, BLOCK, 24);
    config.design = design;
    config.working_sets = 1 + buffers % 2;
    let (all, (cache, space, enqueues)) = testing::instance(24, |b| {
        let enqueues = EnqueueLayout::reserve(b, &EnqueueConfig::for_processes(24));
        (CacheLayout::reserve(b, &config), SpaceLayout::reserve_with(b, 24, stretches), enqueues)
    });
    let (files, enqueues) = (Arc::new(files), Enqueues::create(all, &enqueues));
    DataFiles::register_with(&files, all, &enqueues);
    let mut table = ApplyTable::new();
    buffer_cache::register(&mut table);
    Space::register_apply(&mut table);
    let cache = BufferCache::create(all.sga(), &cache, &config, files, table, redo);
    let cache = Arc::new(cache);
    cache.register_with(all);
    let space = Space::create(all.sga(), &space, &cache);
    space.register_with(all);
    Db { all, cache, enqueues, space, directory }
}

pub fn database(design: ChainDesign, buffers: usize) -> Db {
    database_of(&small_database(), design, buffers)
}

pub fn scn() -> Scn {
    static NEXT: AtomicU64 = AtomicU64::new(10);
    Scn(NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Changes the control file of a database that nobody else uses.
pub fn change_control(db: &Db, f: impl FnOnce(&mut datafile::ControlFile)) {
    let mut control = db.cache.files().control().unwrap();
    f(&mut control);
    control.write(&db.directory).unwrap();
}
