//! The free slots of chains: filled before a request, and given back after a release.

use crate::slots::Chain;
use crate::{EnqueueError, Enqueues};
use latch::{LatchName, Where};
use process::{Process, Section};

/// Attempts of a request to gather free slots from all chains: other processes may take them first.
pub(crate) const GATHERINGS: u32 = 32;

impl Enqueues {
    /// Ensures that the chain has a free lock, and a free resource if one is wanted. The section has no changes yet.
    ///
    /// # Errors
    /// The pool is empty.
    pub(crate) fn stock_up(
        &self,
        p: &Process,
        section: &Section<'_>,
        chain: &Chain,
        why: u64,
        resource_too: bool,
    ) -> Result<(), EnqueueError> {
        let no_lock = self.locks.has_none(&chain.locks);
        let no_resource = resource_too && self.resources.has_none(&chain.resources);
        if !no_lock && !no_resource {
            return Ok(());
        }
        let pool = p.lock(self.all.latch(LatchName::Enqueues), Where::KsqAllocateResource, why);
        let lock = !no_lock || self.locks.fetch(section, &pool, &chain.locks);
        let resource = !no_resource || self.resources.fetch(section, &pool, &chain.resources);
        section.checkpoint_with(pool);
        match (lock, resource) {
            (false, _) => Err(EnqueueError::OutOfLocks),
            (_, false) => Err(EnqueueError::OutOfResources(self.resources.all.len() as u32)),
            _ => Ok(()),
        }
    }

    /// Ensures that the chain can take one more free lock and resource. The changes made by the section so far are
    /// complete.
    pub(crate) fn make_room(&self, p: &Process, section: &Section<'_>, chain: &Chain, why: u64) {
        let locks = self.locks.has_no_room(&chain.locks);
        let resources = self.resources.has_no_room(&chain.resources);
        if !locks && !resources {
            return;
        }
        let pool = p.lock(self.all.latch(LatchName::Enqueues), Where::KsqFreeResource, why);
        if locks {
            self.locks.give_back(section, &pool, &chain.locks);
        }
        if resources {
            self.resources.give_back(section, &pool, &chain.resources);
        }
        section.checkpoint_with(pool);
    }

    /// Moves the free locks and resources of all chains to the pool; returns their numbers. A chain with free slots has
    /// got them since the last gathering, so the cost is at most that of those gets.
    pub(crate) fn gather(&self, p: &Process) -> (u32, u32) {
        let (mut locks, mut resources) = (0, 0);
        for (n, chain) in self.chains.iter().enumerate() {
            if self.locks.has_none(&chain.locks) && self.resources.has_none(&chain.resources) {
                continue;
            }
            let section = p.lock(&self.latches[n], Where::KsqScan, n as u64);
            let pool = p.lock(self.all.latch(LatchName::Enqueues), Where::KsqFreeResource, n as u64);
            locks += self.locks.give_all_back(&section, &pool, &chain.locks);
            resources += self.resources.give_all_back(&section, &pool, &chain.resources);
            section.end_with(pool);
        }
        (locks, resources)
    }
}
