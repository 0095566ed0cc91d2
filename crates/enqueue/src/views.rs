//! What `v$lock` shows.

use std::sync::atomic::Ordering;

use crate::{EnqueueType, Enqueues, LockMode};

/// A row of `v$lock`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockView {
    /// ADDR.
    pub address: u64,
    /// SID.
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
            sid,
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
