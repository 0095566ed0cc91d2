//! What `v$lock` shows.

use std::sync::atomic::Ordering;

use crate::{EnqueueType, Enqueues, LockMode};

/// A row of `v$lock`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockView {
    /// ADDR.
    pub address: u64,
    /// SID; 0 for a lock that no process has, but a transaction without a session.
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
    /// Monotonic nanoseconds when the mode was granted or asked for: CTIME is the seconds since.
    pub since_ns: u64,
    /// BLOCK: it keeps a request from being granted.
    pub blocks: bool,
}

impl Enqueues {
    /// All locks and requests. Takes no latch: a row may be a moment old, and no row mixes two locks.
    #[must_use]
    pub fn locks(&self) -> Vec<LockView> {
        let used = (self.free.locks_used.load(Ordering::Acquire) as usize).min(self.locks.len());
        (1..=used as u32).filter_map(|n| self.view(n)).collect()
    }

    fn view(&self, n: u32) -> Option<LockView> {
        let lock = self.lock(n);
        let serial = lock.serial.load(Ordering::Acquire);
        let sid = lock.process.load(Ordering::Relaxed);
        let number = lock.resource.load(Ordering::Relaxed);
        if sid == 0 || number == 0 || number as usize > self.resources.len() {
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
    /// What was asked of a type since the instance started.
    #[must_use]
    pub fn figures(&self, kind: EnqueueType) -> TypeFigures {
        let types = EnqueueType::all().len();
        let mut sum = TypeFigures::default();
        for c in self.counts.iter().skip(kind as usize).step_by(types) {
            sum.requests += c.requests.load(Ordering::Relaxed);
            sum.waits += c.waits.load(Ordering::Relaxed);
            sum.failures += c.failures.load(Ordering::Relaxed);
            sum.waited_ns += c.waited_ns.load(Ordering::Relaxed);
        }
        sum
    }

    /// Who waits for whom: the request, and a lock that keeps it from being granted.
    #[must_use]
    pub fn waits(&self) -> Vec<(LockView, LockView)> {
        let all = self.locks();
        let same = |a: &LockView, b: &LockView| (a.kind, a.id1, a.id2) == (b.kind, b.id1, b.id2) && a.sid != b.sid;
        let waiters = all.iter().filter(|w| w.requested != LockMode::None);
        waiters
            .flat_map(|w| {
                let holds = |h: &&LockView| same(w, h) && !h.held.goes_with(w.requested);
                all.iter().filter(holds).map(|h| (*w, *h))
            })
            .collect()
    }
}

/// How many there are of something: now, at most so far, and room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub now: u64,
    /// The most there ever were: a number that was never used is taken only where none is free.
    pub most: u64,
    pub limit: u64,
}

impl Enqueues {
    /// Locks and resources in use, for `v$resource_limit`. Takes no latch: the numbers of now may be a moment old.
    #[must_use]
    pub fn usage(&self) -> (Usage, Usage) {
        let used =
            |word: &std::sync::atomic::AtomicU32, limit: usize| (word.load(Ordering::Acquire) as usize).min(limit);
        let locks = used(&self.free.locks_used, self.locks.len());
        let resources = used(&self.free.resources_used, self.resources.len());
        let taken = (1..=locks as u32).filter(|n| self.lock(*n).process.load(Ordering::Relaxed) != 0).count();
        let known = (1..=resources as u32).filter(|n| self.resource(*n).kind.load(Ordering::Relaxed) != 0).count();
        let usage =
            |now: usize, most: usize, limit: usize| Usage { now: now as u64, most: most as u64, limit: limit as u64 };
        (usage(taken, locks, self.locks.len()), usage(known, resources, self.resources.len()))
    }
}
