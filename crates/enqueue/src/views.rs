//! The rows of `v$lock` and the other enqueue views.

use crate::config::COUNTS;
use std::collections::HashMap;
use std::sync::atomic::Ordering;

use crate::slots::Pool;
use crate::{EnqueueType, Enqueues, LockMode};

/// A row of `v$lock`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockView {
    /// ADDR.
    pub address: u64,
    /// SID; 0 for a lock of a transaction without a session.
    pub sid: u32,
    /// TYPE.
    pub kind: EnqueueType,
    /// ID1.
    pub id1: u64,
    /// ID2.
    pub id2: u64,
    /// LMODE.
    pub held: LockMode,
    /// REQUEST.
    pub requested: LockMode,
    /// Monotonic nanoseconds when the mode was granted or requested, by the coarse clock: CTIME is the seconds since.
    pub since_ns: u64,
    /// BLOCK: it blocks a request.
    pub blocks: bool,
}

impl Enqueues {
    /// All locks and requests. Takes no latch: a row may be a moment old, and no row mixes two locks.
    #[must_use]
    pub fn locks(&self) -> Vec<LockView> {
        (1..=self.locks.used()).filter_map(|n| self.view(n)).collect()
    }

    /// Whether a process or a holder owns a resource. Takes no latch and counts no request: the answer may be a moment
    /// old.
    #[must_use]
    pub fn is_owned(&self, kind: EnqueueType, id1: u64, id2: u64) -> bool {
        let mut locks = (1..=self.locks.used()).filter_map(|n| self.view(n));
        locks.any(|lock| (lock.kind, lock.id1, lock.id2) == (kind, id1, id2) && lock.held != LockMode::None)
    }

    fn view(&self, n: u32) -> Option<LockView> {
        let lock = self.lock(n);
        let serial = lock.serial.load(Ordering::Acquire);
        let sid = lock.process.load(Ordering::Acquire); // pairs with the Release that fills the lock in
        let number = lock.resource.load(Ordering::Relaxed);
        if sid == 0 || number == 0 || number as usize > self.resources.all.len() {
            return None;
        }
        let resource = self.resource(number);
        let (held, requested) = (lock.held(), lock.requested());
        let in_queue = |list| self.walk(list).any(|w| !self.lock(w).requested().goes_with(held));
        let seen = LockView {
            address: std::ptr::from_ref(lock) as u64,
            sid: if self.is_holder(sid) { 0 } else { sid },
            kind: resource.kind(),
            id1: resource.id1(),
            id2: resource.id2(),
            held,
            requested,
            since_ns: lock.since_ns.load(Ordering::Relaxed),
            blocks: held != LockMode::None && (in_queue(&resource.waiters) || in_queue(&resource.converters)),
        };
        std::sync::atomic::fence(Ordering::Acquire);
        (lock.serial.load(Ordering::Relaxed) == serial && lock.process.load(Ordering::Relaxed) == sid).then_some(seen)
    }
}

/// A row of `v$enqueue_statistics`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TypeFigures {
    /// TOTAL_REQ#.
    pub requests: u64,
    /// TOTAL_WAIT#.
    pub waits: u64,
    /// FAILED_REQ#.
    pub failures: u64,
    /// CUM_WAIT_TIME, in nanoseconds.
    pub waited_ns: u64,
}

impl Enqueues {
    /// The requests for a type since the instance started.
    #[must_use]
    pub fn figures(&self, kind: EnqueueType) -> TypeFigures {
        let mut sum = TypeFigures::default();
        for c in self.counts.iter().skip(kind as usize).step_by(COUNTS) {
            sum.requests += c.requests.load(Ordering::Relaxed);
            sum.waits += c.waits.load(Ordering::Relaxed);
            sum.failures += c.failures.load(Ordering::Relaxed);
            sum.waited_ns += c.waited_ns.load(Ordering::Relaxed);
        }
        sum
    }

    /// All waits: the request, and a lock that blocks it.
    #[must_use]
    pub fn waits(&self) -> Vec<(LockView, LockView)> {
        let all = self.locks();
        let mut held: HashMap<(EnqueueType, u64, u64), Vec<&LockView>> = HashMap::new();
        for lock in all.iter().filter(|l| l.held != LockMode::None) {
            held.entry((lock.kind, lock.id1, lock.id2)).or_default().push(lock);
        }
        let mut waits = Vec::new();
        for w in all.iter().filter(|l| l.requested != LockMode::None) {
            let owners = held.get(&(w.kind, w.id1, w.id2)).into_iter().flatten();
            let keeps_out = owners.filter(|h| h.sid != w.sid && !h.held.goes_with(w.requested));
            waits.extend(keeps_out.map(|h| (*w, **h)));
        }
        waits
    }
}

/// Numbers of locks or resources: in use, the most in use so far, and the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub now: u64,
    /// The larger of the present number and the most that [`Enqueues::note_usage`] has seen.
    pub most: u64,
    pub limit: u64,
}

impl Enqueues {
    /// Locks and resources in use, for `v$resource_limit`. Takes no latch: the present numbers may be a moment old.
    #[must_use]
    pub fn usage(&self) -> (Usage, Usage) {
        let locks = (1..=self.locks.used()).filter(|n| self.lock(*n).process.load(Ordering::Relaxed) != 0).count();
        let resources =
            (1..=self.resources.used()).filter(|n| self.resource(*n).kind.load(Ordering::Relaxed) != 0).count();
        let usage = |now: usize, pool: &Pool, limit: usize| {
            let now = now as u64;
            Usage { now, most: pool.most.load(Ordering::Relaxed).max(now), limit: limit as u64 }
        };
        (
            usage(locks, self.locks.pool, self.locks.all.len()),
            usage(resources, self.resources.pool, self.resources.all.len()),
        )
    }

    /// Notes how many locks and resources are in use. A background process calls this every few seconds.
    pub fn note_usage(&self) {
        let (locks, resources) = self.usage();
        self.locks.pool.most.fetch_max(locks.now, Ordering::Relaxed);
        self.resources.pool.most.fetch_max(resources.now, Ordering::Relaxed);
    }
}
