//! Requests, grants and releases: what changes the queues.

use std::sync::atomic::{AtomicU32, Ordering};

use latch::{LatchName, Where};
use process::{Process, Section};

use crate::slots::{List, Lock, Resource};
use crate::{EnqueueError, EnqueueType, Enqueues, LockMode, Timeout};

impl Enqueues {
    /// Grants a request or queues it; the lock, and whether it is granted.
    pub(crate) fn request(
        &self,
        p: &Process,
        kind: EnqueueType,
        id1: u64,
        id2: u64,
        mode: LockMode,
        timeout: Timeout,
    ) -> Result<(u32, bool), EnqueueError> {
        let chain = self.chain_of(kind, id1, id2);
        let section = p.lock(&self.latches[chain], Where::KsqGetEnqueue, id1);
        // Counted under the latch, so that no other processor writes the line at the same time.
        let requests = &self.count_of(kind, id1, id2).requests;
        requests.store(requests.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        let known = self.find(chain, kind, id1, id2);
        if let Some(lock) = known.and_then(|n| self.lock_of(self.resource(n), p.number())) {
            let union = self.lock(lock).held().union(mode);
            let granted = self.convert_in(&section, lock, union, timeout == Timeout::NoWait)?;
            return Ok((lock, granted));
        }
        let at_once = known.is_none_or(|n| self.may_have(self.resource(n), mode));
        if !at_once && timeout == Timeout::NoWait {
            return Err(EnqueueError::Busy);
        }
        let free = p.lock(self.all.latch(LatchName::Enqueues), Where::KsqAllocateResource, id1);
        let lock = self.take_free_lock(&free).ok_or(EnqueueError::OutOfLocks)?;
        let number = match known {
            Some(n) => n,
            None => match self.take_free_resource(&free) {
                Some(n) => self.link_resource(&section, n, chain, kind, id1, id2),
                None => {
                    self.give_back_lock(&free, lock);
                    return Err(EnqueueError::OutOfResources(self.resources.len() as u32));
                }
            },
        };
        self.fill(&section, lock, number, p.number(), mode, at_once);
        section.end_with(free);
        Ok((lock, at_once))
    }

    /// Fills a new lock in and puts it into its two lists.
    fn fill(&self, section: &Section<'_>, lock: u32, resource: u32, process: u32, mode: LockMode, granted: bool) {
        let slot = self.lock(lock);
        let (held, requested) = if granted { (mode, LockMode::None) } else { (LockMode::None, mode) };
        section.set32(&slot.resource, resource);
        section.set32(&slot.process, process);
        section.set32(&slot.held, held as u32);
        section.set32(&slot.requested, requested as u32);
        section.set(&slot.since_ns, os::clock::now_ns());
        section.add(&slot.serial, 1);
        let to = self.resource(resource);
        self.append(section, if granted { &to.owners } else { &to.waiters }, lock);
        self.link_own(section, lock, process);
    }

    /// Asks for another mode of a lock that is owned; true when it is granted at once.
    pub(crate) fn convert_in(
        &self,
        section: &Section<'_>,
        lock: u32,
        mode: LockMode,
        no_wait: bool,
    ) -> Result<bool, EnqueueError> {
        let slot = self.lock(lock);
        if slot.held() == mode {
            return Ok(true);
        }
        let resource = self.resource(slot.resource.load(Ordering::Relaxed));
        let down = slot.held().union(mode) == slot.held();
        if down || (resource.converters.is_empty() && self.goes_with_others(resource, lock, mode)) {
            section.set32(&slot.held, mode as u32);
            section.set(&slot.since_ns, os::clock::now_ns());
            return Ok(true);
        }
        if no_wait {
            return Err(EnqueueError::Busy);
        }
        section.set32(&slot.requested, mode as u32);
        section.set(&slot.since_ns, os::clock::now_ns());
        section.add(&slot.serial, 1);
        self.unlink(section, &resource.owners, lock);
        self.append(section, &resource.converters, lock);
        Ok(false)
    }

    /// Grants what can be granted now, converters first, each queue in order; the processes to post after the section.
    ///
    /// Each grant is final by itself, and so is what the section changed before: a queue has any length, and the log of
    /// a section has not. Should the caller die between two grants, its own lock is still in its list, and whoever
    /// takes that out for it grants the rest.
    pub(crate) fn grant(&self, section: &Section<'_>, resource: &Resource) -> Vec<u32> {
        let mut posts = Vec::new();
        if resource.has_no_queue() {
            return posts;
        }
        section.checkpoint();
        let mut owned = self.owned_modes(resource);
        for queue in [&resource.converters, &resource.waiters] {
            loop {
                let lock = queue.first.load(Ordering::Relaxed);
                if lock == 0 {
                    break;
                }
                let slot = self.lock(lock);
                owned.leave(slot.held());
                if !owned.go_with(slot.requested()) {
                    return posts;
                }
                owned.join(slot.requested());
                section.set32(&slot.held, slot.requested() as u32);
                section.set(&slot.since_ns, os::clock::now_ns());
                self.unlink(section, queue, lock);
                self.append(section, &resource.owners, lock);
                section.set32(&slot.requested, 0);
                section.checkpoint();
                posts.push(slot.process.load(Ordering::Relaxed));
            }
        }
        posts
    }

    /// Takes a lock off its resource, whatever its state, and frees it; grants and posts what this makes possible.
    pub(crate) fn take_out(&self, p: &Process, resource: &'static Resource, lock: u32, at: Where) {
        let section = self.lock_chain(p, resource, at);
        let posts = self.take_out_in(p, section, resource, lock);
        self.post(&posts);
    }

    fn take_out_in(&self, p: &Process, section: Section<'_>, resource: &'static Resource, lock: u32) -> Vec<u32> {
        let slot = self.lock(lock);
        let posts = if resource.has_no_queue() {
            Vec::new()
        } else {
            // First the lock keeps nobody out; it leaves its lists when all that this makes possible is granted.
            self.to_owners(&section, resource, lock);
            section.set32(&slot.held, 0);
            self.grant(&section, resource)
        };
        self.unlink(&section, self.list_of(resource, slot), lock);
        self.unlink_own(&section, lock);
        let unused = resource.is_unused();
        let number = slot.resource.load(Ordering::Relaxed);
        section.set32(&slot.process, 0);
        section.set32(&slot.held, 0);
        section.set32(&slot.requested, 0);
        let free = p.lock(self.all.latch(LatchName::Enqueues), Where::KsqFreeResource, resource.id1());
        if unused {
            self.unlink_resource(&section, number);
            free.set32(&resource.next, self.free.resource.load(Ordering::Relaxed));
            free.set32(&self.free.resource, number);
        }
        self.give_back_lock(&free, lock);
        section.end_with(free);
        posts
    }

    /// Takes a request back; false when it was granted meanwhile. A converter keeps its old mode.
    pub(crate) fn withdraw(&self, p: &Process, resource: &'static Resource, lock: u32) -> bool {
        let section = self.lock_chain(p, resource, Where::KsqReleaseEnqueue);
        let slot = self.lock(lock);
        if slot.requested() == LockMode::None {
            return false;
        }
        let posts = if slot.held() == LockMode::None {
            self.take_out_in(p, section, resource, lock)
        } else {
            self.to_owners(&section, resource, lock);
            let posts = self.grant(&section, resource);
            drop(section);
            posts
        };
        self.post(&posts);
        true
    }

    /// Takes the request of a lock back, which stays in the mode it has.
    fn to_owners(&self, section: &Section<'_>, resource: &Resource, lock: u32) {
        let slot = self.lock(lock);
        if slot.requested() != LockMode::None {
            self.unlink(section, self.list_of(resource, slot), lock);
            self.append(section, &resource.owners, lock);
            section.set32(&slot.requested, 0);
        }
    }

    fn list_of<'r>(&self, resource: &'r Resource, slot: &Lock) -> &'r List {
        match (slot.held(), slot.requested()) {
            (_, LockMode::None) => &resource.owners,
            (LockMode::None, _) => &resource.waiters,
            _ => &resource.converters,
        }
    }

    /// True when a new request may be granted: it goes with every owner, and nobody is before it.
    fn may_have(&self, resource: &Resource, mode: LockMode) -> bool {
        resource.converters.is_empty() && resource.waiters.is_empty() && self.goes_with_others(resource, 0, mode)
    }

    fn goes_with_others(&self, resource: &Resource, own: u32, mode: LockMode) -> bool {
        [&resource.owners, &resource.converters]
            .into_iter()
            .flat_map(|list| self.walk(list))
            .all(|n| n == own || self.lock(n).held().goes_with(mode))
    }

    fn owned_modes(&self, resource: &Resource) -> Modes {
        let mut modes = Modes::default();
        for list in [&resource.owners, &resource.converters] {
            self.walk(list).for_each(|n| modes.join(self.lock(n).held()));
        }
        modes
    }

    /// The locks of a list, first to last. Bounded: a reader without the latch may meet a list in change.
    pub(crate) fn walk(&self, list: &List) -> impl Iterator<Item = u32> {
        let valid = |n: u32| (n != 0 && n as usize <= self.locks.len()).then_some(n);
        let first = valid(list.first.load(Ordering::Relaxed));
        std::iter::successors(first, move |n| valid(self.lock(*n).next.load(Ordering::Relaxed))).take(self.locks.len())
    }

    pub(crate) fn own_locks(&self, process: u32) -> impl Iterator<Item = &'static Lock> {
        let valid = |n: u32| (n != 0 && n as usize <= self.locks.len()).then(|| self.lock(n));
        let first = self.owners.get((process as usize).wrapping_sub(1)).and_then(|h| valid(h.load(Ordering::Relaxed)));
        std::iter::successors(first, move |lock| valid(lock.own_next.load(Ordering::Relaxed))).take(self.locks.len())
    }

    fn find(&self, chain: usize, kind: EnqueueType, id1: u64, id2: u64) -> Option<u32> {
        let mut n = self.chains[chain].load(Ordering::Relaxed);
        while n != 0 && !self.resource(n).is(kind, id1, id2) {
            n = self.resource(n).next.load(Ordering::Relaxed);
        }
        (n != 0).then_some(n)
    }

    fn lock_of(&self, resource: &Resource, process: u32) -> Option<u32> {
        self.walk(&resource.owners).find(|n| self.lock(*n).process.load(Ordering::Relaxed) == process)
    }

    fn link_resource(&self, s: &Section<'_>, n: u32, chain: usize, kind: EnqueueType, id1: u64, id2: u64) -> u32 {
        let resource = self.resource(n);
        s.set32(&resource.kind, kind as u32 + 1);
        s.set(&resource.id1, id1);
        s.set(&resource.id2, id2);
        s.set32(&resource.next, self.chains[chain].load(Ordering::Relaxed));
        s.set32(&self.chains[chain], n);
        n
    }

    fn unlink_resource(&self, section: &Section<'_>, number: u32) {
        let resource = self.resource(number);
        let chain = self.chain_of(resource.kind(), resource.id1(), resource.id2());
        let mut at: &AtomicU32 = &self.chains[chain];
        while at.load(Ordering::Relaxed) != number {
            at = &self.resource(at.load(Ordering::Relaxed)).next;
        }
        section.set32(at, resource.next.load(Ordering::Relaxed));
        section.set32(&resource.kind, 0);
    }

    fn append(&self, section: &Section<'_>, list: &List, lock: u32) {
        let last = list.last.load(Ordering::Relaxed);
        let slot = self.lock(lock);
        section.set32(&slot.next, 0);
        section.set32(&slot.previous, last);
        section.set32(if last == 0 { &list.first } else { &self.lock(last).next }, lock);
        section.set32(&list.last, lock);
    }

    fn unlink(&self, section: &Section<'_>, list: &List, lock: u32) {
        let slot = self.lock(lock);
        let (previous, next) = (slot.previous.load(Ordering::Relaxed), slot.next.load(Ordering::Relaxed));
        section.set32(if previous == 0 { &list.first } else { &self.lock(previous).next }, next);
        section.set32(if next == 0 { &list.last } else { &self.lock(next).previous }, previous);
    }

    pub(crate) fn link_own(&self, section: &Section<'_>, lock: u32, process: u32) {
        let head = &self.owners[process as usize - 1];
        let first = head.load(Ordering::Relaxed);
        let slot = self.lock(lock);
        section.set32(&slot.own_next, first);
        section.set32(&slot.own_previous, 0);
        if first != 0 {
            section.set32(&self.lock(first).own_previous, lock);
        }
        section.set32(head, lock);
    }

    pub(crate) fn unlink_own(&self, section: &Section<'_>, lock: u32) {
        let slot = self.lock(lock);
        let (previous, next) = (slot.own_previous.load(Ordering::Relaxed), slot.own_next.load(Ordering::Relaxed));
        let head = &self.owners[slot.process.load(Ordering::Relaxed) as usize - 1];
        section.set32(if previous == 0 { head } else { &self.lock(previous).own_next }, next);
        if next != 0 {
            section.set32(&self.lock(next).own_previous, previous);
        }
    }

    fn take_free_lock(&self, free: &Section<'_>) -> Option<u32> {
        let first = self.free.lock.load(Ordering::Relaxed);
        if first != 0 {
            free.set32(&self.free.lock, self.lock(first).next.load(Ordering::Relaxed));
            return Some(first);
        }
        take_unused(free, &self.free.locks_used, self.locks.len())
    }

    fn take_free_resource(&self, free: &Section<'_>) -> Option<u32> {
        let first = self.free.resource.load(Ordering::Relaxed);
        if first != 0 {
            free.set32(&self.free.resource, self.resource(first).next.load(Ordering::Relaxed));
            return Some(first);
        }
        take_unused(free, &self.free.resources_used, self.resources.len())
    }

    fn give_back_lock(&self, free: &Section<'_>, lock: u32) {
        free.set32(&self.lock(lock).next, self.free.lock.load(Ordering::Relaxed));
        free.set32(&self.free.lock, lock);
    }
}

/// In how many locks each mode is owned, of one resource.
#[derive(Debug, Default)]
struct Modes([u32; LockMode::ALL.len()]);

impl Modes {
    fn join(&mut self, mode: LockMode) {
        self.0[mode as usize] += 1;
    }

    /// Takes away a lock in this mode; one that is not owned has none, and is not counted.
    fn leave(&mut self, mode: LockMode) {
        if mode != LockMode::None {
            self.0[mode as usize] -= 1;
        }
    }

    /// Whether `mode` goes with all of them.
    fn go_with(&self, mode: LockMode) -> bool {
        LockMode::ALL.into_iter().all(|m| self.0[m as usize] == 0 || m.goes_with(mode))
    }
}

fn take_unused(free: &Section<'_>, used: &AtomicU32, all: usize) -> Option<u32> {
    let n = used.load(Ordering::Relaxed);
    if n as usize >= all {
        return None;
    }
    free.set32(used, n + 1);
    Some(n + 1)
}
