//! The sizes and the places of the areas.

use crate::slots::{Chain, Graph, Lock, Owner, Pools, Resource, TypeCount};
use crate::{EnqueueType, free};
use latch::Latch;
use sga::{SgaBuilder, SgaSlice};
/// The sizes of the arrays in the SGA.
#[derive(Clone, Copy, Debug)]
pub struct EnqueueConfig {
    /// `processes`.
    pub processes: u32,
    /// `_enqueue_resources`.
    pub resources: u32,
    /// `_enqueue_locks`.
    pub locks: u32,
    /// `_enqueue_hash_chain_latches`.
    pub chains: u32,
    /// Number of owners that are not processes: see [`Enqueues::holder`].
    pub holders: u32,
}

/// The default number of owners that are not processes: one for each process, and some for transactions without a
/// session.
#[must_use]
pub const fn holders_for(processes: u32) -> u32 {
    512 + processes
}

impl EnqueueConfig {
    /// The configuration for this number of processes, on this machine.
    #[must_use]
    pub fn for_processes(processes: u32) -> Self {
        let (locks, chains) = (1000 + processes * 40, chains_for(processes, os::cpu::count() as u32));
        Self { processes, resources: locks, locks, chains, holders: holders_for(processes) }.with_stock()
    }

    /// Raises resources and locks so that each chain may have free ones in batches of eight.
    #[must_use]
    pub fn with_stock(self) -> Self {
        let least = self.chains * 2 * free::HELD_BACK * 8;
        Self { resources: self.resources.max(least), locks: self.locks.max(least), ..self }
    }
}

/// The number of hash chains and their latches for `processes` on `processors`: processors seldom meet in one chain,
/// and a chain is short while each process has some locks.
pub(crate) const fn chains_for(processes: u32, processors: u32) -> u32 {
    let by_processors = if processors > CHAINS_MOST / 16 { CHAINS_MOST } else { processors * 16 };
    let chains = if processes > by_processors { processes } else { by_processors };
    if chains < CHAINS_LEAST {
        CHAINS_LEAST
    } else if chains > CHAINS_MOST {
        CHAINS_MOST
    } else {
        chains.next_power_of_two()
    }
}

const CHAINS_LEAST: u32 = 64;

pub(crate) const CHAINS_MOST: u32 = 1 << 14;

/// The places of the enqueue areas.
#[derive(Clone, Copy, Debug)]
pub struct EnqueueLayout {
    pub(crate) resources: SgaSlice<Resource>,
    pub(crate) locks: SgaSlice<Lock>,
    pub(crate) chains: SgaSlice<Chain>,
    pub(crate) latches: SgaSlice<Latch>,
    pub(crate) owners: SgaSlice<Owner>,
    pub(crate) holders: u32,
    pub(crate) pools: SgaSlice<Pools>,
    pub(crate) counts: SgaSlice<TypeCount>,
    pub(crate) graphs: SgaSlice<Graph>,
}

impl EnqueueLayout {
    /// Reserves the areas of enqueues.
    #[must_use]
    pub fn reserve(b: &mut SgaBuilder, config: &EnqueueConfig) -> Self {
        let chains = config.chains.clamp(1, CHAINS_MOST).next_power_of_two() as usize;
        let processes = config.processes.max(2);
        Self {
            resources: b.reserve("enqueue resources", config.resources.max(16) as usize),
            locks: b.reserve("enqueue", config.locks.max(16) as usize),
            chains: b.reserve("enqueue hash", chains),
            latches: b.reserve("enqueue hash", chains),
            owners: b.reserve("enqueue", (processes + config.holders) as usize),
            holders: config.holders,
            pools: b.reserve("enqueue", 1),
            counts: b.reserve("enqueue", processes as usize * COUNTS),
            graphs: b.reserve("enqueue", GRAPHS),
        }
    }
}

/// Counts of one process: one for each type, on cache lines that only this process writes (invariant 15).
pub(crate) const COUNTS: usize = EnqueueType::COUNT.next_multiple_of(2);

/// Number of deadlocks kept until their finders have taken them.
const GRAPHS: usize = 16;
