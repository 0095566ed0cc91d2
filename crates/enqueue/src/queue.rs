//! Requests, grants and releases: all changes of the queues.

use crate::stock::GATHERINGS;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use latch::Where;
use process::{Process, Section};

use crate::slots::{Chain, List, Lock, Owner, Resource};
use crate::{EnqueueError, EnqueueType, Enqueues, LockMode, Timeout};

impl Enqueues {
    /// Grants a request or queues it; returns the lock, and whether it was granted. When no lock or resource is free,
    /// the chains give their free slots back to the pool, and the request is tried again.
    pub(crate) fn request(
        &self,
        p: &Process,
        kind: EnqueueType,
        id1: u64,
        id2: u64,
        mode: LockMode,
        timeout: Timeout,
    ) -> Result<(u32, bool), EnqueueError> {
        let mut gatherings = 0;
        loop {
            let requested = self.try_request(p, kind, id1, id2, mode, timeout);
            let is_out = matches!(requested, Err(EnqueueError::OutOfLocks | EnqueueError::OutOfResources(_)));
            if !is_out || gatherings == GATHERINGS {
                return requested;
            }
            gatherings += 1;
            let (locks, resources) = self.gather(p);
            let found = if requested == Err(EnqueueError::OutOfLocks) { locks } else { resources };
            if found == 0 {
                return requested;
            }
        }
    }

    fn try_request(
        &self,
        p: &Process,
        kind: EnqueueType,
        id1: u64,
        id2: u64,
        mode: LockMode,
        timeout: Timeout,
    ) -> Result<(u32, bool), EnqueueError> {
        let now_ns = os::clock::coarse_ns();
        let at = self.chain_of(kind, id1, id2);
        let chain = &self.chains[at];
        let section = p.lock(&self.latches[at], Where::KsqGetEnqueue, id1);
        let known = self.find(chain, kind, id1, id2);
        if let Some(lock) = known.and_then(|n| self.owned_by(n, p.number())) {
            let union = self.lock(lock).held().union(mode);
            let granted = self.convert_in(&section, lock, union, timeout == Timeout::NoWait)?;
            return Ok((lock, granted));
        }
        let at_once = known.is_none_or(|n| self.may_have(self.resource(n), mode));
        if !at_once && timeout == Timeout::NoWait {
            return Err(EnqueueError::Busy);
        }
        self.stock_up(p, &section, chain, id1, known.is_none())?;
        let lock = self.locks.take(&section, &chain.locks);
        let number = known.unwrap_or_else(|| {
            let free = self.resources.take(&section, &chain.resources);
            self.link_resource(&section, chain, free, kind, id1, id2)
        });
        self.fill(&section, lock, number, p.number(), mode, at_once, now_ns);
        Ok((lock, at_once))
    }

    /// Fills in a new lock and puts it into its two lists.
    #[allow(clippy::too_many_arguments)]
    fn fill(
        &self,
        section: &Section<'_>,
        lock: u32,
        resource: u32,
        process: u32,
        mode: LockMode,
        granted: bool,
        now_ns: u64,
    ) {
        let slot = self.lock(lock);
        let (held, requested) = if granted { (mode, LockMode::None) } else { (LockMode::None, mode) };
        // No undo is written: these words have no meaning in a free lock, and a rollback frees the lock again
        // (invariant 13).
        put64(&slot.serial, slot.serial.load(Ordering::Relaxed).wrapping_add(1));
        put(&slot.resource, resource);
        put(&slot.held, held as u32);
        put(&slot.requested, requested as u32);
        put64(&slot.since_ns, now_ns);
        section.set32(&slot.process, process);
        let to = self.resource(resource);
        if granted {
            self.append(section, &to.owners, lock);
            section.set(&to.modes, to.modes().with(mode).0);
        } else {
            self.append(section, &to.waiters, lock);
            section.set32(&self.owner(process).request, lock);
        }
        self.link_own(section, lock, process);
    }

    /// Requests another mode of a lock that is owned; true when it is granted at once.
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
        let others = resource.modes().without(slot.held());
        if down || (resource.converters.is_empty() && others.go_with(mode)) {
            section.set32(&slot.held, mode as u32);
            section.set(&resource.modes, others.with(mode).0);
            section.set(&slot.since_ns, os::clock::coarse_ns());
            return Ok(true);
        }
        if no_wait {
            return Err(EnqueueError::Busy);
        }
        section.set32(&slot.requested, mode as u32);
        section.set(&slot.since_ns, os::clock::coarse_ns());
        section.add(&slot.serial, 1);
        section.set32(&self.owner(slot.process.load(Ordering::Relaxed)).request, lock);
        self.unlink(section, &resource.owners, lock);
        self.append(section, &resource.converters, lock);
        Ok(false)
    }

    /// Grants every request that can be granted now, converters first, each queue in order; returns the processes to
    /// post after the section.
    ///
    /// Each grant is final by itself (invariant 7), and so are the earlier changes of the section: a queue has any
    /// length, but the log of a section is limited. If the caller dies between two grants, its own lock is still in its
    /// list, and taking it out grants the rest.
    pub(crate) fn grant(&self, section: &Section<'_>, resource: &Resource) -> Vec<u32> {
        let mut posts = Vec::new();
        if resource.has_no_queue() {
            return posts;
        }
        section.checkpoint();
        let now_ns = os::clock::coarse_ns();
        for queue in [&resource.converters, &resource.waiters] {
            loop {
                let lock = queue.first.load(Ordering::Relaxed);
                if lock == 0 {
                    break;
                }
                let slot = self.lock(lock);
                let (others, mode) = (resource.modes().without(slot.held()), slot.requested());
                if !others.go_with(mode) {
                    return posts;
                }
                let process = slot.process.load(Ordering::Relaxed);
                section.set32(&slot.held, mode as u32);
                section.set(&slot.since_ns, now_ns);
                section.set(&resource.modes, others.with(mode).0);
                self.unlink(section, queue, lock);
                self.append(section, &resource.owners, lock);
                section.set32(&self.owner(process).request, 0);
                section.set32(&slot.requested, 0);
                section.checkpoint();
                posts.push(process);
            }
        }
        posts
    }

    /// Removes a lock from its resource, whatever its state, and frees it; grants and posts the requests that this
    /// allows.
    pub(crate) fn take_out(&self, p: &Process, resource: &'static Resource, lock: u32, at: Where) {
        let section = self.lock_chain(p, resource, at);
        let posts = self.take_out_in(p, section, resource, lock);
        self.post(&posts);
    }

    fn take_out_in(&self, p: &Process, section: Section<'_>, resource: &'static Resource, lock: u32) -> Vec<u32> {
        let slot = self.lock(lock);
        let id1 = resource.id1();
        let chain = &self.chains[self.chain_of(resource.kind(), id1, resource.id2())];
        let posts = if resource.has_no_queue() {
            Vec::new()
        } else {
            // First the lock blocks nobody any more; it leaves its lists after all requests that this allows are
            // granted.
            self.to_owners(&section, resource, lock);
            section.set(&resource.modes, resource.modes().without(slot.held()).0);
            section.set32(&slot.held, 0);
            self.grant(&section, resource)
        };
        self.make_room(p, &section, chain, id1);
        if slot.held() != LockMode::None {
            section.set(&resource.modes, resource.modes().without(slot.held()).0);
        }
        self.unlink(&section, self.list_of(resource, slot), lock);
        self.unlink_own(&section, lock);
        section.set32(&slot.process, 0);
        self.locks.put(&section, &chain.locks, lock);
        if resource.is_unused() {
            let number = slot.resource.load(Ordering::Relaxed);
            self.unlink_resource(&section, chain, number);
            self.resources.put(&section, &chain.resources, number);
        }
        drop(section);
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

    /// Takes back the request of a lock, which keeps its mode.
    fn to_owners(&self, section: &Section<'_>, resource: &Resource, lock: u32) {
        let slot = self.lock(lock);
        if slot.requested() != LockMode::None {
            self.unlink(section, self.list_of(resource, slot), lock);
            self.append(section, &resource.owners, lock);
            section.set32(&self.owner(slot.process.load(Ordering::Relaxed)).request, 0);
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

    /// True when a new request may be granted: it is compatible with every owner, and no request is queued before it
    /// (invariants 3 and 4).
    fn may_have(&self, resource: &Resource, mode: LockMode) -> bool {
        resource.has_no_queue() && resource.modes().go_with(mode)
    }

    /// The locks of a list in order. Bounded, because a reader without the latch may follow a list that is changing.
    pub(crate) fn walk(&self, list: &List) -> impl Iterator<Item = u32> {
        let first = self.valid_lock(&list.first);
        std::iter::successors(first, |n| self.valid_lock(&self.lock(*n).next)).take(self.locks.all.len())
    }

    /// The locks of an owner, the newest first.
    pub(crate) fn own(&self, owner: u32) -> impl Iterator<Item = u32> {
        let first = self.owners.get((owner as usize).wrapping_sub(1)).and_then(|o| self.valid_lock(&o.first));
        std::iter::successors(first, |n| self.valid_lock(&self.lock(*n).own_next)).take(self.locks.all.len())
    }

    pub(crate) fn owner(&self, number: u32) -> &'static Owner {
        &self.owners[number as usize - 1]
    }

    fn find(&self, chain: &Chain, kind: EnqueueType, id1: u64, id2: u64) -> Option<u32> {
        let mut n = chain.first.load(Ordering::Relaxed);
        while n != 0 && !self.resource(n).is(kind, id1, id2) {
            n = self.resource(n).next.load(Ordering::Relaxed);
        }
        (n != 0).then_some(n)
    }

    /// The lock that a process owns on a resource (invariant 6). Walks the owners of the resource and the locks of the
    /// process in step, so the shorter list determines the cost.
    fn owned_by(&self, resource: u32, process: u32) -> Option<u32> {
        let mut own = self.own(process);
        for owner in self.walk(&self.resource(resource).owners) {
            if self.lock(owner).process.load(Ordering::Relaxed) == process {
                return Some(owner);
            }
            let lock = own.next()?;
            let slot = self.lock(lock);
            if slot.resource.load(Ordering::Relaxed) == resource && slot.requested() == LockMode::None {
                return Some(lock);
            }
        }
        None
    }

    fn link_resource(&self, s: &Section<'_>, chain: &Chain, n: u32, kind: EnqueueType, id1: u64, id2: u64) -> u32 {
        let resource = self.resource(n);
        // As in `fill`, for a free resource.
        put64(&resource.id1, id1);
        put64(&resource.id2, id2);
        s.set32(&resource.kind, kind as u32 + 1);
        s.set32(&resource.next, chain.first.load(Ordering::Relaxed));
        s.set32(&chain.first, n);
        n
    }

    fn unlink_resource(&self, section: &Section<'_>, chain: &Chain, number: u32) {
        let resource = self.resource(number);
        let mut at: &AtomicU32 = &chain.first;
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
        let owner = self.owner(process);
        let first = owner.first.load(Ordering::Relaxed);
        let slot = self.lock(lock);
        section.set32(&slot.own_next, first);
        section.set32(&slot.own_previous, 0);
        if first != 0 {
            section.set32(&self.lock(first).own_previous, lock);
        }
        section.set32(&owner.first, lock);
    }

    pub(crate) fn unlink_own(&self, section: &Section<'_>, lock: u32) {
        let slot = self.lock(lock);
        let (previous, next) = (slot.own_previous.load(Ordering::Relaxed), slot.own_next.load(Ordering::Relaxed));
        let first = &self.owner(slot.process.load(Ordering::Relaxed)).first;
        section.set32(if previous == 0 { first } else { &self.lock(previous).own_next }, next);
        if next != 0 {
            section.set32(&self.lock(next).own_previous, previous);
        }
    }
}

/// Changes a word of a slot that is free until the section ends. A later Release store publishes the slot.
fn put(word: &AtomicU32, new: u32) {
    word.store(new, Ordering::Relaxed); // published by a later Release store
}

/// As [`put`].
fn put64(word: &AtomicU64, new: u64) {
    word.store(new, Ordering::Relaxed); // published by a later Release store
}
