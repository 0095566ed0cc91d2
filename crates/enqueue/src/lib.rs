//! Queued locks with modes and deadlock detection.
//!
//! A resource is a type and two numbers; a session owns it in a mode, waits for it, or owns it and waits for a stronger
//! mode. Requests are granted first come, first served, converters before waiters. A waiter sleeps until its process is
//! posted. All queues are linked lists in the SGA, changed under the `enqueue hash chains` latch of the resource
//! through micro-undo. A process that dies at any instruction leaves them whole; PMON then releases its locks.
//!
//! A releaser grants a lock inside its section and posts after it. A waiter that finds its request granted gets the
//! latch once before it relies on the grant (invariant 5): the releaser may have died before its section ended, and the
//! grant may be rolled back.

#![deny(unsafe_code)] // Needed by the code that `sga_struct!` generates.

mod deadlock;
mod free;
mod holders;
mod kinds;
mod modes;
mod queue;
mod slots;
#[cfg(test)]
mod tests;
mod views;

use std::time::{Duration, Instant};

use latch::{Latch, LatchName, Where};
use process::{CleanupOrder, LatchSet, Process, Processes, Section};
use sga::{SgaBuilder, SgaSlice};
use std::sync::atomic::{AtomicU64, Ordering};
use types::Ora;
use wait::{Event, Stat};

pub use deadlock::DeadlockWait;
use free::Slots;
pub use holders::OwnedLock;
pub use kinds::{EnqueueType, LockMode};
use slots::{Chain, Graph, Lock, Owner, Pools, Resource, TypeCount};
pub use views::{LockView, TypeFigures, Usage};

/// How long a request may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeout {
    /// NOWAIT: ORA-00054 at once.
    NoWait,
    /// WAIT: ORA-30006 after this time.
    After(Duration),
    /// Without limit.
    Never,
}

/// The reason why a lock was not obtained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnqueueError {
    /// ORA-00054: another session owns it, and the request was NOWAIT.
    Busy,
    /// ORA-30006: another session owned it for the whole time.
    TimedOut,
    /// ORA-00060: the wait would never end.
    Deadlock,
    /// ORA-00052: none of this many resources is free.
    OutOfResources(u32),
    /// ORA-00053: no lock is free.
    OutOfLocks,
    /// ORA-00028 or ORA-01013 while waiting.
    Cancelled(Ora),
}

impl From<EnqueueError> for Ora {
    fn from(error: EnqueueError) -> Self {
        match error {
            EnqueueError::Busy => Ora::new(54),
            EnqueueError::TimedOut => Ora::new(30006),
            EnqueueError::Deadlock => Ora::new(60),
            EnqueueError::OutOfResources(most) => Ora::with(52, &[&most]),
            EnqueueError::OutOfLocks => Ora::new(53),
            EnqueueError::Cancelled(ora) => ora,
        }
    }
}

/// A lock that a process owns. It is not released by dropping this: locks outlive calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "the lock is kept until it is released"]
pub struct LockId(u32);

/// The sizes of the arrays in the SGA.
#[derive(Clone, Copy, Debug)]
pub struct EnqueueConfig {
    /// `processes`.
    pub processes: u32,
    /// `_enqueue_resources`.
    pub resources: u32,
    /// `_enqueue_locks`.
    pub locks: u32,
    /// `_enqueue_hash_chain_latches`.
    pub chains: u32,
    /// Number of owners that are not processes: see [`Enqueues::holder`].
    pub holders: u32,
}

/// The default number of owners that are not processes: one for each process, and some for transactions without a
/// session.
#[must_use]
pub const fn holders_for(processes: u32) -> u32 {
    512 + processes
}

impl EnqueueConfig {
    /// The configuration for this number of processes, on this machine.
    #[must_use]
    pub fn for_processes(processes: u32) -> Self {
        let (locks, chains) = (1000 + processes * 40, chains_for(processes, os::cpu::count() as u32));
        Self { processes, resources: locks, locks, chains, holders: holders_for(processes) }.with_stock()
    }

    /// Raises resources and locks so that each chain may have free ones in batches of eight.
    #[must_use]
    pub fn with_stock(self) -> Self {
        let least = self.chains * 2 * free::HELD_BACK * 8;
        Self { resources: self.resources.max(least), locks: self.locks.max(least), ..self }
    }
}

/// The number of hash chains and their latches for `processes` on `processors`: processors seldom meet in one chain,
/// and a chain is short while each process has some locks.
const fn chains_for(processes: u32, processors: u32) -> u32 {
    let by_processors = if processors > CHAINS_MOST / 16 { CHAINS_MOST } else { processors * 16 };
    let chains = if processes > by_processors { processes } else { by_processors };
    if chains < CHAINS_LEAST {
        CHAINS_LEAST
    } else if chains > CHAINS_MOST {
        CHAINS_MOST
    } else {
        chains.next_power_of_two()
    }
}

const CHAINS_LEAST: u32 = 64;
const CHAINS_MOST: u32 = 1 << 14;

/// The places of the enqueue areas.
#[derive(Clone, Copy, Debug)]
pub struct EnqueueLayout {
    resources: SgaSlice<Resource>,
    locks: SgaSlice<Lock>,
    chains: SgaSlice<Chain>,
    latches: SgaSlice<Latch>,
    owners: SgaSlice<Owner>,
    holders: u32,
    pools: SgaSlice<Pools>,
    counts: SgaSlice<TypeCount>,
    graphs: SgaSlice<Graph>,
}

impl EnqueueLayout {
    /// Reserves the areas of enqueues.
    #[must_use]
    pub fn reserve(b: &mut SgaBuilder, config: &EnqueueConfig) -> Self {
        let chains = config.chains.clamp(1, CHAINS_MOST).next_power_of_two() as usize;
        let processes = config.processes.max(2);
        Self {
            resources: b.reserve("enqueue resources", config.resources.max(16) as usize),
            locks: b.reserve("enqueue", config.locks.max(16) as usize),
            chains: b.reserve("enqueue hash", chains),
            latches: b.reserve("enqueue hash", chains),
            owners: b.reserve("enqueue", (processes + config.holders) as usize),
            holders: config.holders,
            pools: b.reserve("enqueue", 1),
            counts: b.reserve("enqueue", processes as usize * COUNTS),
            graphs: b.reserve("enqueue", GRAPHS),
        }
    }
}

/// Counts of one process: one for each type, on cache lines that only this process writes (invariant 15).
const COUNTS: usize = EnqueueType::COUNT.next_multiple_of(2);

/// The enqueues of an instance.
#[derive(Clone, Copy, Debug)]
pub struct Enqueues {
    all: &'static Processes,
    resources: Slots<Resource>,
    locks: Slots<Lock>,
    chains: &'static [Chain],
    /// By chain.
    latches: &'static [Latch],
    /// By process; the holders follow the processes.
    owners: &'static [Owner],
    /// The index of the first holder in `owners`.
    first_holder: u32,
    /// By process and type.
    counts: &'static [TypeCount],
    /// The last deadlocks, each kept for the process that found it (invariant 10).
    graphs: &'static [Graph],
}

/// Number of deadlocks kept until their finders have taken them.
const GRAPHS: usize = 16;

/// The schedule of deadlock searches of a waiter. It searches at once, since the last wait of a circle closes it, and
/// after sleeps of a second without a post: the first, the second, the fourth, the eighth, and so on, at least once in
/// [`LOOKS_APART`]. The later searches find circles that an earlier one missed because queues changed during it.
#[derive(Default)]
struct Looks {
    sleeps: u32,
    next: u32,
}

/// Sleeps between two searches of a waiter that has waited for long.
const LOOKS_APART: u32 = 64;

impl Looks {
    fn is_due(&mut self) -> bool {
        if self.sleeps < self.next {
            return false;
        }
        self.next = self.sleeps + self.sleeps.clamp(1, LOOKS_APART);
        true
    }

    fn slept(&mut self) {
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

    fn resource_of_own(&self, p: &Process, lock: LockId) -> &'static Resource {
        let slot = self.lock(lock.0);
        assert_eq!(slot.process.load(Ordering::Relaxed), p.number(), "a lock is released and converted by its owner");
        self.resource(slot.resource.load(Ordering::Relaxed))
    }

    fn lock_chain<'a>(&self, p: &'a Process, resource: &Resource, at: Where) -> Section<'a> {
        let chain = self.chain_of(resource.kind(), resource.id1(), resource.id2());
        p.lock(&self.latches[chain], at, resource.id1())
    }

    fn chain_of(&self, kind: EnqueueType, id1: u64, id2: u64) -> usize {
        let mixed = (u64::from(kind.code()) << 32 ^ id1 ^ id2.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 40) as usize & (self.chains.len() - 1)
    }

    fn post(&self, numbers: &[u32]) {
        numbers.iter().for_each(|n| self.all.post(*n));
    }

    /// The resource of a lock that is owned or requested.
    fn resource_of(&self, lock: u32) -> &'static Resource {
        self.resource(self.lock(lock).resource.load(Ordering::Relaxed))
    }
}

/// Adds to a count of the calling process.
fn count(word: &AtomicU64, n: u64) {
    word.store(word.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
}
