//! Creation of the transaction system, and its registration with the layers below.

use crate::branch_table::Branches;
use crate::scn_time::ScnTimes;
use crate::space::SpaceUndo;
use crate::table::Table;
use crate::transactions::{Inner, Transactions};
use crate::undo::{apply_itl, apply_undo};
use crate::undo_intervals::UndoIntervals;
use crate::{TxnConfig, TxnLayout};
use enqueue::Enqueues;
use process::{CleanupOrder, Processes};
use redo::{ApplyTable, Layer};
use sga::Sga;
use space::Space;
use std::sync::{Arc, Mutex};

impl Transactions {
    /// Registers the crate's change vectors: undo blocks, undo headers, interested-transaction entries.
    pub fn register_apply(table: &mut ApplyTable) {
        table.register(Layer::Undo, apply_undo).register(Layer::Transaction, apply_itl);
    }

    /// Finds the areas in the SGA. Run once by the supervisor.
    pub fn create(
        sga: &'static Sga,
        layout: &TxnLayout,
        config: &TxnConfig,
        space: &Space,
        enqueues: &Enqueues,
    ) -> Transactions {
        let inner = Inner {
            table: Table::new(sga, &layout.table),
            branches: Branches::new(sga, &layout.branches),
            times: ScnTimes::new(sga, &layout.times),
            undo_intervals: UndoIntervals::new(sga, &layout.undo_intervals),
            space: space.clone(),
            enqueues: *enqueues,
            config: config.clone(),
            layers: Default::default(),
            scratch: Mutex::new(Vec::new()),
            known: Mutex::default(),
            waiting: Mutex::new(Vec::new()),
        };
        let txns = Transactions { inner: Arc::new(inner) };
        txns.register_undo(Layer::Space, Arc::new(SpaceUndo));
        txns
    }

    /// Registers the hook for dead processes: PMON rolls back their transaction, or completes its commit.
    pub fn register_with(&self, all: &Processes) {
        let txns = self.clone();
        all.on_death(CleanupOrder::Transaction, "transaction", move |by, dead| {
            // A transaction that cannot be rolled back now, because of a missing block, stays DEAD and is left to SMON.
            let _ = txns.rollback_dead(by, dead);
        });
    }
}
