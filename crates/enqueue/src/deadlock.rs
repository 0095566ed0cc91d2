//! Finding deadlocks: circles of processes that wait for one another.
//!
//! A walk through the queues takes no latches, so what one walk sees may never have been true at one moment. But a process
//! that waits releases nothing: if the same waits (by serial number) form a circle in two walks one after the other, all of
//! them were going on between the walks, and the circle is real. One process at a time looks, under the parent latch, and
//! takes its request back before the next one looks: so one of the circle fails, not all.

use std::sync::atomic::Ordering;

use latch::{LatchName, Where};
use process::Process;
use wait::Stat;

use crate::{Enqueues, LockMode};

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
        let resource = self.resource(self.lock(lock).resource.load(Ordering::Relaxed));
        let withdrawn = self.withdraw(p, resource, lock);
        if withdrawn {
            p.count(Stat::EnqueueDeadlocks, 1);
        }
        withdrawn
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

    /// The processes that keep a request from being granted: owners in modes that do not go with it, and, because requests
    /// are granted in order, everybody before it in the queue whose mode does not go with it either.
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
