//! Deadlock detection: circles of processes that wait for one another.
//!
//! The last wait of a circle closes it, and the process that adds it searches. Before that it did not wait, so other
//! processes can only wait for locks that it owns: when nobody waits for its locks, no search is needed
//! (`is_waited_for`). With hundreds of sessions in the queue of one row this is the common case.
//!
//! A search is breadth first, so the circle that it finds is a shortest one. It reads each request once, and the owners
//! of a resource once for each requested mode. A request waits for all requests before it in its queue. A search that
//! has reached one request of a queue has therefore reached all before it, and walks back only to the first one already
//! seen.
//!
//! A search takes no latches, so the circle that it finds may never have existed at one moment. But a process that
//! waits releases nothing (invariant 9). If each wait (by serial number) and each hold of a circle is found again after
//! the search, all of them existed at the moment between search and check, and the circle is real. One process at a
//! time does this, under the parent latch, and takes its request back before the next one searches: one process of the
//! circle gets the error, not all.

use std::collections::HashMap;
use std::sync::atomic::{Ordering, fence};

use latch::{LatchName, Where};
use process::Process;
use wait::Stat;

use crate::slots::{Graph, GraphWait, Lock, Resource};
use crate::{EnqueueType, Enqueues, LockMode};

/// The most waits kept for a deadlock.
const GRAPH_WAITS: usize = 8;

/// One wait of a deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadlockWait {
    /// Number of the process.
    pub process: u32,
    /// The type of the resource that it waits for.
    pub kind: EnqueueType,
    /// ID1.
    pub id1: u64,
    /// ID2.
    pub id2: u64,
    /// The mode in which it owns the resource.
    pub held: LockMode,
    /// The requested mode.
    pub requested: LockMode,
}

/// One wait of a circle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    /// The request.
    pub(crate) lock: u32,
    /// The serial number of the request.
    serial: u64,
    pub(crate) process: u32,
    /// A lock of the next process in the circle that blocks the request: owned, or queued before it.
    pub(crate) by: u32,
}

impl Enqueues {
    /// True when `lock` waits in a circle; its request is then taken back.
    pub(crate) fn is_deadlocked(&self, p: &Process, lock: u32) -> bool {
        // When two processes close a circle with two waits at the same time, one of them sees the wait of the other.
        fence(Ordering::SeqCst);
        if !self.is_waited_for(p.number()) || self.circle(lock).is_none() {
            return false;
        }
        let _one_at_a_time = p.lock(self.all.latch(LatchName::EnqueueHashChains), Where::KsqDeadlock, u64::from(lock));
        let Some(circle) = self.circle(lock) else { return false };
        if !self.is_real(&circle) {
            return false;
        }
        let graph: Vec<DeadlockWait> = circle.iter().take(GRAPH_WAITS).map(|w| self.wait_of(w.lock)).collect();
        let withdrawn = self.withdraw(p, self.resource_of(lock), lock);
        if withdrawn {
            p.count(Stat::EnqueueDeadlocks, 1);
            self.keep_graph(p, &graph);
        }
        withdrawn
    }

    /// True when any request waits for a lock that the process owns.
    pub(crate) fn is_waited_for(&self, process: u32) -> bool {
        self.own(process).filter(|n| self.lock(*n).held() != LockMode::None).any(|n| {
            let resource = self.resource_of(n);
            let (first, last) = (&resource.converters.first, &resource.converters.last);
            let is_alone = first.load(Ordering::Relaxed) == n && last.load(Ordering::Relaxed) == n;
            !resource.waiters.is_empty() || !(resource.converters.is_empty() || is_alone)
        })
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

    /// Keeps a deadlock for the process that found it, in a free slot or in the place of another deadlock.
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

    /// Returns the deadlocks that this process has found since its last call: each wait is blocked by the process of
    /// the next wait, and the last one by the process of the first.
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

    /// Returns a shortest circle of waits from `lock` back to its process.
    pub(crate) fn circle(&self, lock: u32) -> Option<Vec<Wait>> {
        Search::new(self, lock).circle()
    }

    /// As [`Self::circle`], with the number of locks that the search has read.
    #[cfg(test)]
    pub(crate) fn circle_and_looks(&self, lock: u32) -> (Option<Vec<Wait>>, usize) {
        let mut search = Search::new(self, lock);
        (search.circle(), search.looks)
    }

    /// True when every wait of a circle is still blocked and still the same wait.
    pub(crate) fn is_real(&self, circle: &[Wait]) -> bool {
        let next = circle.iter().skip(1).chain(circle.first());
        circle.iter().zip(next).all(|(wait, next)| {
            let is_kept = self.is_kept_by(wait.lock, wait.by, next.process);
            fence(Ordering::Acquire); // read the serial number after the state checked above
            let slot = self.lock(wait.lock);
            is_kept
                && slot.serial.load(Ordering::Acquire) == wait.serial
                && slot.process.load(Ordering::Relaxed) == wait.process
                && slot.requested() != LockMode::None
        })
    }

    /// True when lock `by` of `process` blocks the request of `lock`.
    fn is_kept_by(&self, lock: u32, by: u32, process: u32) -> bool {
        let (slot, other) = (self.lock(lock), self.lock(by));
        let Some(resource) = self.valid_resource(slot) else { return false };
        other.resource.load(Ordering::Relaxed) == slot.resource.load(Ordering::Relaxed)
            && other.process.load(Ordering::Relaxed) == process
            && (!other.held().goes_with(slot.requested()) || self.before(resource, lock).any(|n| n == by))
    }

    /// The resource of a lock that was read without a latch.
    fn valid_resource(&self, slot: &Lock) -> Option<&'static Resource> {
        let n = slot.resource.load(Ordering::Relaxed);
        (n != 0 && n as usize <= self.resources.all.len()).then(|| self.resource(n))
    }

    /// The requests queued before that of `lock` on its resource, the nearest first: converters for a converter,
    /// waiters and then all converters for a waiter.
    fn before(&self, resource: &'static Resource, lock: u32) -> impl Iterator<Item = u32> {
        let back = |n: &u32| self.valid_lock(&self.lock(*n).previous);
        let converters = (self.lock(lock).held() == LockMode::None).then(|| self.valid_lock(&resource.converters.last));
        let near = std::iter::successors(back(&lock), back);
        near.chain(std::iter::successors(converters.flatten(), back)).take(self.locks.all.len())
    }

    /// The first session that blocks a request, 0 for none.
    pub(crate) fn blocker_of(&self, lock: u32) -> u32 {
        let slot = self.lock(lock);
        let Some(resource) = self.valid_resource(slot) else { return 0 };
        let (held, mode) = (slot.held(), slot.requested());
        let owned = || self.walk(&resource.owners).chain(self.walk(&resource.converters));
        let keeps_out = |n: &u32| *n != lock && !self.lock(*n).held().goes_with(mode);
        let owner = if resource.modes().without(held).go_with(mode) { None } else { owned().find(keeps_out) };
        let queues = [&resource.converters, &resource.waiters];
        let queued = || {
            let queues = &queues[..if held == LockMode::None { 2 } else { 1 }];
            queues.iter().find_map(|queue| self.valid_lock(&queue.first)).filter(|n| *n != lock)
        };
        owner.or_else(queued).map_or(0, |n| self.lock(n).process.load(Ordering::Relaxed))
    }
}

/// One wait reached by a search.
struct Step {
    wait: Wait,
    /// The step from which this one was reached; `wait.by` blocks the request of that step. The first step has none.
    from: usize,
}

/// A breadth-first search for a circle.
struct Search<'a> {
    enqueues: &'a Enqueues,
    /// The process at which the circle must close.
    start: u32,
    steps: Vec<Step>,
    /// By owner: already reached.
    seen: Vec<bool>,
    /// By resource and requested mode: the owners were read, except the lock of this converter (0 for none), because a
    /// process does not wait for its own lock.
    passed: HashMap<(u32, LockMode), u32>,
    /// Number of locks read.
    looks: usize,
}

impl<'a> Search<'a> {
    fn new(enqueues: &'a Enqueues, lock: u32) -> Self {
        let start = enqueues.lock(lock).process.load(Ordering::Relaxed);
        let seen = vec![false; enqueues.owners.len() + 1];
        let mut search = Self { enqueues, start, steps: Vec::new(), seen, passed: HashMap::new(), looks: 0 };
        search.step_to(lock, start, 0, 0);
        search
    }

    fn circle(&mut self) -> Option<Vec<Wait>> {
        let mut at = 0;
        while at < self.steps.len() {
            if let Some(by) = self.look_behind(at) {
                return Some(self.way_to(at, by));
            }
            at += 1;
        }
        None
    }

    /// The waits from the first step to step `at`, whose request is blocked by `by`. In a step, `wait.by` is a lock of
    /// the step's own process; in the circle it is a lock of the next process.
    fn way_to(&self, mut at: usize, mut by: u32) -> Vec<Wait> {
        let mut way = Vec::new();
        loop {
            let step = &self.steps[at];
            way.push(Wait { by, ..step.wait });
            if at == 0 {
                way.reverse();
                return way;
            }
            (at, by) = (step.from, step.wait.by);
        }
    }

    /// Reaches every process that blocks the request of step `at`; returns a lock of the first process when it is one
    /// of them.
    fn look_behind(&mut self, at: usize) -> Option<u32> {
        let (e, lock) = (self.enqueues, self.steps[at].wait.lock);
        let slot = e.lock(lock);
        let resource = e.valid_resource(slot)?;
        let (held, mode) = (slot.held(), slot.requested());
        let name = (slot.resource.load(Ordering::Relaxed), mode);
        let keeps_out = |n: u32| !e.lock(n).held().goes_with(mode);
        match self.passed.get(&name).copied() {
            None => {
                self.passed.insert(name, if held == LockMode::None { 0 } else { lock });
                if !resource.modes().without(held).go_with(mode) {
                    for other in e.walk(&resource.owners).chain(e.walk(&resource.converters)) {
                        self.looks += 1;
                        if other != lock && keeps_out(other) && self.come_to(other, at) {
                            return Some(other);
                        }
                    }
                }
            }
            Some(left_out) if left_out != 0 && left_out != lock => {
                self.passed.insert(name, 0);
                if keeps_out(left_out) && self.come_to(left_out, at) {
                    return Some(left_out);
                }
            }
            Some(_) => {}
        }
        for other in e.before(resource, lock) {
            self.looks += 1;
            let process = e.lock(other).process.load(Ordering::Relaxed);
            if self.seen.get(process as usize).is_none_or(|seen| *seen) && process != self.start {
                break; // earlier requests were seen, or will be reached from there
            }
            if self.come_to(other, at) {
                return Some(other);
            }
        }
        None
    }

    /// Reaches the process of a lock, and its wait; true when it is the first process.
    fn come_to(&mut self, by: u32, from: usize) -> bool {
        let process = self.enqueues.lock(by).process.load(Ordering::Relaxed);
        if process == self.start {
            return true;
        }
        if let Some(seen) = self.seen.get_mut(process as usize)
            && !std::mem::replace(seen, true)
            && let Some(owner) = self.enqueues.owners.get((process as usize).wrapping_sub(1))
            && let Some(request) = self.enqueues.valid_lock(&owner.request)
        {
            self.step_to(request, process, by, from);
        }
        false
    }

    fn step_to(&mut self, lock: u32, process: u32, by: u32, from: usize) {
        let serial = self.enqueues.lock(lock).serial.load(Ordering::Acquire);
        self.steps.push(Step { wait: Wait { lock, serial, process, by }, from });
    }
}
