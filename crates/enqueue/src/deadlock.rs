//! Finding deadlocks: circles of processes that wait for one another.
//!
//! A walk through the queues takes no latches, so what one walk sees may never have been true at one moment. But a
//! process that waits releases nothing: if the same waits (by serial number) form a circle in two walks one after the
//! other, all of them were going on between the walks, and the circle is real. One process at a time looks, under the
//! parent latch, and takes its request back before the next one looks: so one of the circle fails, not all.

use std::sync::atomic::Ordering;

use latch::{LatchName, Where};
use process::Process;
use wait::Stat;

use crate::slots::{Graph, GraphWait};
use crate::{EnqueueType, Enqueues, LockMode};

/// Waits of a deadlock that are kept.
const GRAPH_WAITS: usize = 8;

/// One wait of a deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadlockWait {
    /// Number of the process.
    pub process: u32,
    /// What it waits for.
    pub kind: EnqueueType,
    /// ID1.
    pub id1: u64,
    /// ID2.
    pub id2: u64,
    /// The mode it has already.
    pub held: LockMode,
    /// The mode it wants.
    pub requested: LockMode,
}

/// One wait: the lock slot, and which of its requests.
type Wait = (u32, u64);

impl Enqueues {
    /// True when `lock` waits in a circle; its request is taken back then.
    pub(crate) fn is_deadlocked(&self, p: &Process, lock: u32) -> bool {
        if self.circle(lock).is_none() {
            return false;
        }
        let _one_at_a_time = p.lock(self.all.latch(LatchName::EnqueueHashChains), Where::KsqDeadlock, u64::from(lock));
        let Some(first) = self.circle(lock) else { return false };
        if self.circle(lock).as_ref() != Some(&first) {
            return false;
        }
        let graph: Vec<DeadlockWait> = first.iter().take(GRAPH_WAITS).map(|(n, _)| self.wait_of(*n)).collect();
        let resource = self.resource(self.lock(lock).resource.load(Ordering::Relaxed));
        let withdrawn = self.withdraw(p, resource, lock);
        if withdrawn {
            p.count(Stat::EnqueueDeadlocks, 1);
            self.keep_graph(p, &graph);
        }
        withdrawn
    }

    fn wait_of(&self, lock: u32) -> DeadlockWait {
        let slot = self.lock(lock);
        let resource = self.resource(slot.resource.load(Ordering::Relaxed));
        DeadlockWait {
            process: slot.process.load(Ordering::Relaxed),
            kind: resource.kind(),
            id1: resource.id1(),
            id2: resource.id2(),
            held: slot.held(),
            requested: slot.requested(),
        }
    }

    /// Keeps a deadlock for the process that found it, in a free place or in the place of another one.
    fn keep_graph(&self, p: &Process, waits: &[DeadlockWait]) {
        let free = self.graphs.iter().find(|g| g.finder.load(Ordering::Relaxed) == 0);
        let graph = free.unwrap_or(&self.graphs[p.number() as usize % self.graphs.len()]);
        for (slot, w) in graph.waits.iter().zip(waits) {
            slot.process.store(w.process, Ordering::Relaxed);
            slot.kind.store(w.kind as u32, Ordering::Relaxed);
            slot.id1.store(w.id1, Ordering::Relaxed);
            slot.id2.store(w.id2, Ordering::Relaxed);
            slot.held.store(w.held as u32, Ordering::Relaxed);
            slot.requested.store(w.requested as u32, Ordering::Relaxed);
        }
        graph.count.store(waits.len() as u32, Ordering::Relaxed);
        graph.finder.store(p.number(), Ordering::Release);
    }

    /// The deadlocks that this process has found since it last asked: each wait is for what the next one's process has,
    /// and the last one's for what the first one's has.
    #[must_use]
    pub fn take_graphs(&self, p: &Process) -> Vec<Vec<DeadlockWait>> {
        let mine = self.graphs.iter().filter(|g| g.finder.load(Ordering::Acquire) == p.number());
        let read = |g: &Graph| {
            let count = (g.count.load(Ordering::Relaxed) as usize).min(GRAPH_WAITS);
            let wait = |w: &GraphWait| DeadlockWait {
                process: w.process.load(Ordering::Relaxed),
                kind: EnqueueType::from_number(w.kind.load(Ordering::Relaxed)),
                id1: w.id1.load(Ordering::Relaxed),
                id2: w.id2.load(Ordering::Relaxed),
                held: LockMode::from_number(w.held.load(Ordering::Relaxed)),
                requested: LockMode::from_number(w.requested.load(Ordering::Relaxed)),
            };
            let waits = g.waits[..count].iter().map(wait).collect();
            g.finder.store(0, Ordering::Release);
            waits
        };
        mine.map(read).collect()
    }

    /// A circle of waits that leads back to the process of `lock`, by depth-first search.
    fn circle(&self, lock: u32) -> Option<Vec<Wait>> {
        let start = self.lock(lock).process.load(Ordering::Relaxed);
        let mut path = Vec::new();
        let mut visited = vec![false; self.owners.len() + 1];
        self.search(lock, start, &mut path, &mut visited).then_some(path)
    }

    fn search(&self, lock: u32, start: u32, path: &mut Vec<Wait>, visited: &mut [bool]) -> bool {
        path.push((lock, self.lock(lock).serial.load(Ordering::Acquire)));
        for process in self.blockers(lock) {
            if process == start {
                return true;
            }
            match visited.get_mut(process as usize) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            let waits: Vec<u32> = self.requests_of(process).collect();
            if waits.into_iter().any(|next| self.search(next, start, path, visited)) {
                return true;
            }
        }
        path.pop();
        false
    }

    /// The requests that a process waits for: one at most, since it sleeps.
    fn requests_of(&self, process: u32) -> impl Iterator<Item = u32> {
        self.own_locks(process).filter(|lock| lock.requested() != LockMode::None).map(|lock| {
            (std::ptr::from_ref(lock) as usize - self.locks.as_ptr() as usize) as u32 / size_of_val(lock) as u32 + 1
        })
    }

    /// The processes that keep a request from being granted: owners in modes that do not go with it, and, because
    /// requests are granted in order, everybody before it in the queue whose mode does not go with it either.
    fn blockers(&self, lock: u32) -> Vec<u32> {
        let slot = self.lock(lock);
        let n = slot.resource.load(Ordering::Relaxed);
        if n == 0 || n as usize > self.resources.len() {
            return Vec::new();
        }
        let resource = self.resource(n);
        let mode = slot.requested();
        let converting = slot.held() != LockMode::None;
        let mut found = Vec::new();
        for other in self.walk(&resource.owners).chain(self.walk(&resource.converters)) {
            let other_slot = self.lock(other);
            if other != lock && !other_slot.held().goes_with(mode) {
                found.push(other_slot.process.load(Ordering::Relaxed));
            }
        }
        let before = |n: &u32| *n != lock;
        let queue: Vec<u32> = if converting {
            self.walk(&resource.converters).take_while(before).collect()
        } else {
            self.walk(&resource.converters).chain(self.walk(&resource.waiters).take_while(before)).collect()
        };
        found.extend(queue.into_iter().map(|n| self.lock(n).process.load(Ordering::Relaxed)));
        found
    }

    /// The first session that keeps a request from being granted, 0 for none.
    pub(crate) fn blocker_of(&self, lock: u32) -> u32 {
        self.blockers(lock).first().copied().unwrap_or(0)
    }
}
