//! Requests of locks: get, convert, wait, release.

use crate::EnqueueType;
use crate::config::{COUNTS, EnqueueLayout};
use crate::enqueues::{Enqueues, LockId, Timeout};
use crate::error::EnqueueError;
use crate::free::Slots;
use crate::kinds::LockMode;
use latch::{LatchName, Where};
use process::{CleanupOrder, LatchSet, Process, Processes};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use wait::{Event, Stat};
/// The schedule of deadlock searches of a waiter. It searches at once, since the last wait of a circle closes it, and
/// after sleeps of a second without a post: the first, the second, the fourth, the eighth, and so on, at least once in
/// [`LOOKS_APART`]. The later searches find circles that an earlier one missed because queues changed during it.
#[derive(Default)]
pub(crate) struct Looks {
    sleeps: u32,
    next: u32,
}

/// Sleeps between two searches of a waiter that has waited for long.
const LOOKS_APART: u32 = 64;

impl Looks {
    pub(crate) fn is_due(&mut self) -> bool {
        if self.sleeps < self.next {
            return false;
        }
        self.next = self.sleeps + self.sleeps.clamp(1, LOOKS_APART);
        true
    }

    pub(crate) fn slept(&mut self) {
        self.sleeps += 1;
    }
}

/// The length of the sleeps between searches for a deadlock that did not exist when the wait began.
const DEADLOCK_CHECK: Duration = Duration::from_secs(1);

impl Enqueues {
    /// Formats the areas and registers the clean-up hook for dead processes. Called once, by the supervisor.
    #[must_use]
    pub fn create(all: &'static Processes, layout: &EnqueueLayout) -> Self {
        let sga = all.sga();
        let (chains, pools) = (sga.slice(layout.chains), &sga.slice(layout.pools)[0]);
        let enqueues = Self {
            all,
            resources: Slots::new(sga.slice(layout.resources), &pools.resources, chains.len()),
            locks: Slots::new(sga.slice(layout.locks), &pools.locks, chains.len()),
            chains,
            latches: sga.slice(layout.latches),
            owners: sga.slice(layout.owners),
            first_holder: sga.slice(layout.owners).len() as u32 - layout.holders,
            counts: sga.slice(layout.counts),
            graphs: sga.slice(layout.graphs),
        };
        let generation = all.domain().tunables().generation();
        for (n, latch) in enqueues.latches.iter().enumerate() {
            latch.format(LatchName::EnqueueHashChains, n as u32 + 1, generation);
        }
        all.register_children(LatchName::EnqueueHashChains, LatchSet::Plain(enqueues.latches));
        all.on_death(CleanupOrder::Enqueues, "enqueues", move |by, dead| enqueues.release_all(by, dead));
        enqueues
    }

    /// Gets a lock. If the process already owns the resource, its lock is converted to the weakest mode as strong as
    /// both (invariant 6).
    ///
    /// Latches: none held on entry or return; gets `enqueue hash chains`, and `enqueues` where the chain has no free
    /// lock. Waits: the event of the type.
    /// # Errors
    /// [`EnqueueError`]: busy, timed out, deadlock, no room, cancelled.
    pub fn get(
        &self,
        p: &Process,
        kind: EnqueueType,
        id1: u64,
        id2: u64,
        mode: LockMode,
        timeout: Timeout,
    ) -> Result<LockId, EnqueueError> {
        self.get_as(p, kind, id1, id2, mode, timeout, kind.event(mode))
    }

    /// As [`Self::get`], with another event to wait on: `enq: TX - allocate ITL entry`.
    ///
    /// # Errors
    /// As [`Self::get`].
    #[allow(clippy::too_many_arguments)]
    pub fn get_as(
        &self,
        p: &Process,
        kind: EnqueueType,
        id1: u64,
        id2: u64,
        mode: LockMode,
        timeout: Timeout,
        event: Event,
    ) -> Result<LockId, EnqueueError> {
        p.count(Stat::EnqueueRequests, 1);
        let counts = &self.counts[(p.number() as usize - 1) * COUNTS + kind as usize];
        count(&counts.requests, 1);
        let requested = self.request(p, kind, id1, id2, mode, timeout);
        let done = requested.and_then(|(lock, granted)| {
            if !granted {
                let begin = Instant::now();
                count(&counts.waits, 1);
                let waited = self.wait(p, lock, timeout, event);
                count(&counts.waited_ns, begin.elapsed().as_nanos() as u64);
                waited?;
            }
            Ok(LockId(lock))
        });
        if done == Err(EnqueueError::Busy) {
            p.count(Stat::EnqueueTimeouts, 1);
        }
        if done.is_err() {
            count(&counts.failures, 1);
        }
        done
    }

    /// Changes the mode of a lock, up or down.
    ///
    /// # Errors
    /// As [`Self::get`]; the lock stays in its old mode.
    ///
    /// # Panics
    /// The lock is not the process's own.
    pub fn convert(&self, p: &Process, lock: LockId, mode: LockMode, timeout: Timeout) -> Result<(), EnqueueError> {
        p.count(Stat::EnqueueConversions, 1);
        let (kind, granted, posts) = {
            let resource = self.resource_of_own(p, lock);
            let section = self.lock_chain(p, resource, Where::KsqConvertEnqueue);
            let kind = resource.kind();
            let granted = self
                .convert_in(&section, lock.0, mode, timeout == Timeout::NoWait)
                .inspect_err(|_| p.count(Stat::EnqueueTimeouts, 1))?;
            (kind, granted, if granted { self.grant(&section, resource) } else { Vec::new() })
        };
        self.post(&posts);
        if granted { Ok(()) } else { self.wait(p, lock.0, timeout, kind.event(mode)) }
    }

    /// Releases a lock, and posts the sessions whose requests this grants.
    ///
    /// # Panics
    /// The lock is not the process's own.
    pub fn release(&self, p: &Process, lock: LockId) {
        let resource = self.resource_of_own(p, lock);
        p.count(Stat::EnqueueReleases, 1);
        self.take_out(p, resource, lock.0, Where::KsqReleaseEnqueue);
    }

    /// The mode in which the process owns a resource; [`LockMode::None`] when it does not.
    #[must_use]
    pub fn held(&self, p: &Process, kind: EnqueueType, id1: u64, id2: u64) -> LockMode {
        let own = self.own(p.number()).find(|n| self.resource_of(*n).is(kind, id1, id2));
        own.map_or(LockMode::None, |n| self.lock(n).held())
    }

    /// True when process `of`, alive or dead, owns any resource of a type in `mode` or a stronger one.
    #[must_use]
    pub fn owns_any(&self, of: u32, kind: EnqueueType, mode: LockMode) -> bool {
        self.own(of).any(|n| self.resource_of(n).kind() == kind && self.lock(n).held() >= mode)
    }

    /// Releases every lock of process `of`: at the end of its session, or after its death.
    pub fn release_all(&self, p: &Process, of: u32) {
        while let Some(lock) = self.own(of).next() {
            self.take_out(p, self.resource_of(lock), lock, Where::KsqCleanup);
        }
    }

    /// Releases the locks of one type of a dead process before its other locks.
    pub fn release_kind(&self, p: &Process, of: u32, kind: EnqueueType) {
        while let Some(lock) = self.own(of).find(|n| self.resource_of(*n).kind() == kind) {
            self.take_out(p, self.resource_of(lock), lock, Where::KsqCleanup);
        }
    }

    /// Sleeps until the request of `lock` is granted, or takes it out of the queue.
    fn wait(&self, p: &Process, lock: u32, timeout: Timeout, event: Event) -> Result<(), EnqueueError> {
        let (resource, requested) = (self.resource_of(lock), self.lock(lock).requested());
        p.count(Stat::EnqueueWaits, 1);
        let blocker = Some(self.blocker_of(lock)).filter(|owner| !self.is_holder(*owner)).unwrap_or(0);
        p.session().blocking_session.store(u64::from(blocker), Ordering::Relaxed);
        let p1 = u64::from(resource.kind().code()) << 16 | requested as u64;
        let guard = p.wait(event, p1, resource.id1(), resource.id2());
        let outcome = self.wait_in(p, lock, timeout);
        if outcome == Err(EnqueueError::TimedOut) {
            guard.timed_out();
            p.count(Stat::EnqueueTimeouts, 1);
        }
        drop(guard);
        p.session().blocking_session.store(0, Ordering::Relaxed);
        outcome
    }

    fn wait_in(&self, p: &Process, lock: u32, timeout: Timeout) -> Result<(), EnqueueError> {
        let deadline = match timeout {
            Timeout::After(time) => Some(Instant::now() + time),
            Timeout::Never => None,
            Timeout::NoWait => Some(Instant::now()),
        };
        let mut looks = Looks::default();
        loop {
            let seen = p.posts();
            if self.lock(lock).requested.load(Ordering::Acquire) == 0 {
                if self.confirm(p, lock) {
                    return Ok(());
                }
                continue;
            }
            if let Err(ora) = p.check_cancel() {
                return self.give_up(p, lock, EnqueueError::Cancelled(ora));
            }
            if looks.is_due() && self.is_deadlocked(p, lock) {
                return Err(EnqueueError::Deadlock);
            }
            let left = deadline.map(|d| d.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return self.give_up(p, lock, EnqueueError::TimedOut);
            }
            if !p.sleep(seen, Some(left.unwrap_or(DEADLOCK_CHECK).min(DEADLOCK_CHECK))) {
                looks.slept();
            }
        }
    }

    /// Reads the request under the latch (invariant 5): a releaser that died in its section has granted nothing.
    fn confirm(&self, p: &Process, lock: u32) -> bool {
        let _section = self.lock_chain(p, self.resource_of(lock), Where::KsqGetEnqueue);
        self.lock(lock).requested() == LockMode::None
    }

    /// Takes a request back, unless it was granted at the last moment.
    fn give_up(&self, p: &Process, lock: u32, error: EnqueueError) -> Result<(), EnqueueError> {
        if self.withdraw(p, self.resource_of(lock), lock) { Err(error) } else { Ok(()) }
    }
}

/// Adds to a count of the calling process.
fn count(word: &AtomicU64, n: u64) {
    word.store(word.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
}
