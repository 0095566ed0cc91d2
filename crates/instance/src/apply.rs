//! The functions of all layers that apply change vectors.

use btree::Btree;
use cluster::Clusters;
use heap::Heap;
use redo::ApplyTable;
use space::Space;
use txn::Transactions;

/// The functions that apply the change vectors of every layer.
pub fn apply_table() -> ApplyTable {
    let mut apply = ApplyTable::new();
    buffer_cache::register(&mut apply);
    Space::register_apply(&mut apply);
    Transactions::register_apply(&mut apply);
    Heap::register_apply(&mut apply);
    Clusters::register_apply(&mut apply);
    Btree::register_apply(&mut apply);
    apply
}
