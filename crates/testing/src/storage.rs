//! The storage of an instance in this process: buffer cache, space, enqueues and transactions over data files.

use std::sync::Arc;

use buffer_cache::{BufferCache, CacheConfig, CacheLayout};
use datafile::DataFiles;
use enqueue::{EnqueueConfig, EnqueueLayout, Enqueues};
use process::Processes;
use redo::{ApplyTable, NoRedo, RedoSink};
use sga::SgaBuilder;
use space::{Space, SpaceLayout};
use txn::{Transactions, TxnConfig, TxnLayout};

/// What a test's storage is made of.
pub struct StorageSpec {
    /// The number of process slots.
    pub processes: u32,
    pub cache: CacheConfig,
    pub txn: TxnConfig,
    /// Registers the layers above the transactions.
    pub layers: Vec<fn(&mut ApplyTable)>,
    /// What gets the redo.
    pub redo: Box<dyn RedoSink>,
}

impl StorageSpec {
    /// Storage for `processes` processes with a cache of `buffers` blocks, without redo.
    #[must_use]
    pub fn new(processes: u32, buffers: usize, block_bytes: usize, layers: &[fn(&mut ApplyTable)]) -> StorageSpec {
        StorageSpec {
            processes,
            cache: CacheConfig::new(buffers, block_bytes, processes as usize),
            txn: TxnConfig { undo_segments: 2, ..TxnConfig::new(processes) },
            layers: layers.to_vec(),
            redo: Box::new(NoRedo),
        }
    }
}

/// A test's storage. Nothing of it has to be dropped: it lasts until the test process ends.
pub struct Storage {
    pub all: &'static Processes,
    pub cache: Arc<BufferCache>,
    pub enqueues: Enqueues,
    pub txns: Transactions,
}

impl Storage {
    /// Makes the storage over `files`, and the areas of `reserve` with it. Undo segments are not made, nor opened.
    ///
    /// # Panics
    /// The memory cannot be allocated.
    pub fn over<L>(files: DataFiles, spec: StorageSpec, reserve: impl FnOnce(&mut SgaBuilder) -> L) -> (Storage, L) {
        let StorageSpec { processes, cache: config, txn, layers, redo } = spec;
        let (all, (at, more)) = crate::instance(processes, |b| {
            let at = (
                CacheLayout::reserve(b, &config),
                SpaceLayout::reserve(b, processes as usize),
                EnqueueLayout::reserve(b, &EnqueueConfig::for_processes(processes)),
                TxnLayout::reserve(b, &txn),
            );
            (at, reserve(b))
        });
        let mut apply = ApplyTable::new();
        register_layers(&mut apply);
        layers.iter().for_each(|register| register(&mut apply));
        let cache = Arc::new(BufferCache::create(all.sga(), &at.0, &config, Arc::new(files), apply, redo));
        cache.register_with(all);
        let enqueues = Enqueues::create(all, &at.2);
        let space = Space::create(all.sga(), &at.1, &cache);
        space.register_with(all);
        let txns = Transactions::create(all.sga(), &at.3, &txn, &space, &enqueues);
        txns.register_with(all);
        (Storage { all, cache, enqueues, txns }, more)
    }

    /// As [`Storage::over`] for files that were just created: with undo segments.
    ///
    /// # Panics
    /// The memory cannot be allocated, or the undo tablespace has no room.
    pub fn create<L>(files: DataFiles, spec: StorageSpec, reserve: impl FnOnce(&mut SgaBuilder) -> L) -> (Storage, L) {
        let (storage, more) = Storage::over(files, spec, reserve);
        storage.txns.create_undo_segments(&crate::attach(storage.all, "creator")).expect("undo segments");
        (storage, more)
    }
}

/// Registers how the redo of the layers of a [`Storage`] is applied.
pub fn register_layers(apply: &mut ApplyTable) {
    buffer_cache::register(apply);
    Space::register_apply(apply);
    Transactions::register_apply(apply);
}
