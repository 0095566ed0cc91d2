//! The shared structures that statements work on.

use crate::work_area::WorkAreas;
use btree::Btree;
use cluster::Clusters;
use enqueue::Enqueues;
use heap::Heap;
use library_cache::LibraryCache;
use parallel::Servers;
use result_cache::ResultCache;
use txn::Transactions;

/// Handles to the shared structures, the same in every process.
#[derive(Clone, Copy)]
pub struct Shared {
    pub txns: &'static Transactions,
    pub heap: &'static Heap,
    pub clusters: &'static Clusters,
    pub btree: &'static Btree,
    pub enqueues: &'static Enqueues,
    pub library: &'static LibraryCache,
    pub results: &'static ResultCache,
    pub areas: &'static WorkAreas,
    pub servers: &'static Servers,
}
