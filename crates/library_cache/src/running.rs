//! Stored units that calls run, and DDL that waits for them: the event `library cache pin`.
//!
//! A call notes each unit that it runs in its process's own line, from the first use of the unit until the call ends.
//! DDL that defines a unit anew, or drops it, claims the unit in the line of its own process, and waits until no other
//! process has a note of it; who wants to run a claimed unit waits until the claim is gone. So a unit is the same as
//! long as a call runs it, and a call writes nothing shared: one store in its own line, and one load of a word that
//! only DDL changes.
//!
//! Both sides write first and look at the other side's words afterwards, with a sequentially consistent fence between:
//! one of the two sees the other. A call that finds a claim takes its note back and waits, so that nobody waits for
//! somebody who has not begun.
//!
//! A process's own notes are not in the way of its own DDL. Oracle's would wait for itself.

use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::{Duration, Instant};

use latch::Where;
use process::Process;
use types::Ora;
use wait::Event;

use crate::LibraryCache;
use crate::layout::Line;

/// Units of a call that are noted one by one.
pub(crate) const RUNNING_MOST: usize = 63;
/// Units that one statement claims. It does not wait for calls that run others.
pub(crate) const CLAIMED_MOST: usize = 63;
/// Stands for the number of units of a call where they are more: all units.
const ALL: u64 = u64::MAX;

/// In [`Line::awaited`], above the unit's number: somebody wants to run it, or to define it.
const AS_CALLER: u64 = 1 << 32;
const AS_DEFINER: u64 = 2 << 32;

/// Longest sleep before the other side's words are looked at again, and a circle is looked for again.
const LOOK: Duration = Duration::from_secs(1);

/// Modes of P3 of the event, times 100: share and exclusive.
const MODE_SHARED: u64 = 200;
const MODE_EXCLUSIVE: u64 = 300;

/// The way a wait for a unit ended without it.
#[derive(Clone, Debug, PartialEq)]
pub enum Refused {
    /// The time was over.
    TimedOut,
    /// The processes that have the unit wait for this one, directly or by others.
    Deadlock,
    /// ORA-00028, ORA-01013 and their like.
    Cancelled(Ora),
}

/// A list of numbers in a process's own line: how many, and each.
fn contains(list: &[AtomicU64], unit: u32) -> bool {
    let [count, words @ ..] = list else { return false };
    match count.load(Ordering::Acquire) {
        ALL => true,
        count => words.iter().take(count as usize).any(|word| word.load(Ordering::Relaxed) == u64::from(unit)),
    }
}

/// Adds a number to a list that only this process writes.
fn add(list: &[AtomicU64], unit: u32) {
    let [count, words @ ..] = list else { return };
    let at = count.load(Ordering::Relaxed);
    match words.get(at as usize) {
        Some(word) => {
            word.store(u64::from(unit), Ordering::Relaxed);
            count.store(at + 1, Ordering::Release);
        }
        None => count.store(ALL, Ordering::Release),
    }
}

impl LibraryCache {
    /// Notes that the call in progress runs a stored unit, until [`Self::end_running`].
    ///
    /// Writes the process's own line only. Waits: `library cache pin`, while another process defines the unit.
    ///
    /// # Errors
    /// [`Refused`]; the unit is not noted.
    pub fn run_unit(&self, p: &Process, unit: u32, patience: Duration) -> Result<(), Refused> {
        let line = self.line(p);
        if contains(&line.running, unit) {
            return Ok(());
        }
        let before = line.running[0].load(Ordering::Relaxed);
        loop {
            add(&line.running, unit);
            // Pairs with the fence in `claim_unit`: this sees the claim, or the claimer sees the note.
            fence(Ordering::SeqCst);
            if self.control.claimers.load(Ordering::Relaxed) == 0 || self.claimer_of(p, unit).is_none() {
                return Ok(());
            }
            line.running[0].store(before, Ordering::Release);
            self.post_definers(p);
            self.await_unit(p, unit, Wanted::ToRun, patience)?;
        }
    }

    /// Says that the call in progress runs no unit any more.
    #[inline]
    pub fn end_running(&self, p: &Process) {
        let count = &self.line(p).running[0];
        if count.load(Ordering::Relaxed) == 0 {
            return;
        }
        count.store(0, Ordering::Release);
        // Pairs with the fence in `await_unit`: this sees that somebody waits, or they see that the note is gone.
        fence(Ordering::SeqCst);
        if self.control.claimers.load(Ordering::Relaxed) != 0 {
            self.post_definers(p);
        }
    }

    /// Claims a unit for a statement that defines it, until [`Self::end_claims`]: nobody else begins to run it. False
    /// while another process runs it. A statement that has claimed [`CLAIMED_MOST`] units claims no more, and waits for
    /// no calls that run the others: these find what has changed by themselves.
    ///
    /// Latches: `shared pool`.
    pub fn claim_unit(&self, p: &Process, unit: u32) -> bool {
        let line = self.line(p);
        if !contains(&line.claimed, unit) {
            let [count, words @ ..] = &line.claimed;
            let at = count.load(Ordering::Relaxed);
            let Some(word) = words.get(at as usize) else { return true };
            let section = p.lock(self.pool, Where::KghAllocate, u64::from(unit));
            if at == 0 {
                section.set(&self.control.claimers, self.control.claimers.load(Ordering::Relaxed) + 1);
            }
            section.set(word, u64::from(unit));
            section.set(count, at + 1);
            os::crash::point("library-cache-claim");
        }
        // Pairs with the fence in `run_unit`.
        fence(Ordering::SeqCst);
        self.runner_of(p, unit).is_none()
    }

    /// Waits until no other process runs a unit that this one has claimed. No lock that a call may need is held
    /// meanwhile.
    ///
    /// Waits: `library cache pin`.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn await_claimed(&self, p: &Process, unit: u32, patience: Duration) -> Result<(), Refused> {
        self.await_unit(p, unit, Wanted::ToDefine, patience)
    }

    /// Gives back all claims of the process.
    ///
    /// Latches: `shared pool`, if there are any.
    pub fn end_claims(&self, p: &Process) {
        self.end_claims_of(p, p.number());
    }

    fn end_claims_of(&self, p: &Process, of: u32) {
        let count = &self.lines[of as usize - 1].claimed[0];
        if count.load(Ordering::Relaxed) == 0 {
            return;
        }
        {
            let section = p.lock(self.pool, Where::KghFree, 0);
            section.set(count, 0);
            let claimers = &self.control.claimers;
            section.set(claimers, claimers.load(Ordering::Relaxed).saturating_sub(1));
        }
        // Pairs with the fence in `await_unit`.
        fence(Ordering::SeqCst);
        self.post_those(p, |awaited| awaited & AS_CALLER != 0);
    }

    /// Takes away what a dead process ran, or one whose session ends.
    pub(crate) fn forget_running(&self, p: &Process, of: u32) {
        let line = &self.lines[of as usize - 1];
        line.awaited.store(0, Ordering::Relaxed);
        line.running[0].store(0, Ordering::Release);
        fence(Ordering::SeqCst);
        self.post_definers(p);
    }

    /// Takes away what a dead process had claimed, for PMON: behind the end of its transaction.
    pub fn forget_claims(&self, p: &Process, dead: u32) {
        self.end_claims_of(p, dead);
    }

    /// The processes that one waits for a unit for: those that run it, or define it.
    pub fn pin_blockers(&self, number: u32) -> Vec<u32> {
        let Some(line) = self.lines.get((number as usize).wrapping_sub(1)) else { return Vec::new() };
        let awaited = line.awaited.load(Ordering::Relaxed);
        let unit = awaited as u32;
        let others = self.lines.iter().zip(1..).filter(|(_, other)| *other != number);
        let has = |line: &Line| match () {
            () if awaited & AS_CALLER != 0 => contains(&line.claimed, unit),
            () if awaited & AS_DEFINER != 0 => contains(&line.running, unit),
            () => false,
        };
        others.filter(|(line, _)| has(line)).map(|(_, other)| other).collect()
    }

    /// How many processes are counted as having claims, and how many have some.
    pub(crate) fn claimers(&self) -> (u64, u64) {
        let have = self.lines.iter().filter(|line| line.claimed[0].load(Ordering::Relaxed) > 0).count();
        (self.control.claimers.load(Ordering::Relaxed), have as u64)
    }

    fn other_with(&self, p: &Process, has: impl Fn(&Line) -> bool) -> Option<u32> {
        let mut others = self.lines.iter().zip(1..).filter(|(_, number)| *number != p.number());
        others.find(|(line, _)| has(line)).map(|(_, number)| number)
    }

    fn claimer_of(&self, p: &Process, unit: u32) -> Option<u32> {
        self.other_with(p, |line| contains(&line.claimed, unit))
    }

    fn runner_of(&self, p: &Process, unit: u32) -> Option<u32> {
        self.other_with(p, |line| contains(&line.running, unit))
    }

    fn post_definers(&self, p: &Process) {
        self.post_those(p, |awaited| awaited & AS_DEFINER != 0);
    }

    fn post_those(&self, p: &Process, are_meant: impl Fn(u64) -> bool) {
        for (line, number) in self.lines.iter().zip(1..) {
            if number != p.number() && are_meant(line.awaited.load(Ordering::Relaxed)) {
                self.all.post(number);
            }
        }
    }

    fn await_unit(&self, p: &Process, unit: u32, wanted: Wanted, patience: Duration) -> Result<(), Refused> {
        let blocker = || match wanted {
            Wanted::ToRun => self.claimer_of(p, unit),
            Wanted::ToDefine => self.runner_of(p, unit),
        };
        let (how, mode) = match wanted {
            Wanted::ToRun => (AS_CALLER, MODE_SHARED),
            Wanted::ToDefine => (AS_DEFINER, MODE_EXCLUSIVE),
        };
        let Some(first) = blocker() else { return Ok(()) };
        let awaited = &self.line(p).awaited;
        awaited.store(how | u64::from(unit), Ordering::Relaxed);
        p.session().blocking_session.store(u64::from(first), Ordering::Relaxed);
        let guard = p.wait(Event::LibraryCachePin, u64::from(unit), u64::from(first), mode + OF_UNITS);
        let until = Instant::now() + patience;
        let done = loop {
            let seen = p.posts();
            // Pairs with the fences of who ends a note or a claim, and of others that look for a circle.
            fence(Ordering::SeqCst);
            let Some(blocker) = blocker() else { break Ok(()) };
            p.session().blocking_session.store(u64::from(blocker), Ordering::Relaxed);
            if let Err(ora) = p.check_cancel() {
                break Err(Refused::Cancelled(ora));
            }
            // Several may see the circle: one of them gives up.
            if let Some(victim) = self.circle(p.number()).and_then(|circle| circle.into_iter().max()) {
                if victim == p.number() {
                    break Err(Refused::Deadlock);
                }
                self.all.post(victim);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                guard.timed_out();
                break Err(Refused::TimedOut);
            }
            p.sleep(seen, Some(left.min(LOOK)));
        };
        awaited.store(0, Ordering::Relaxed);
        drop(guard);
        p.session().blocking_session.store(0, Ordering::Relaxed);
        done
    }

    /// A circle of processes that wait for units of one another, with `from` in it.
    fn circle(&self, from: u32) -> Option<Vec<u32>> {
        // Each process that is waited for, and who waits for it.
        let mut found = vec![(from, from)];
        let mut at = 0;
        while let Some((waiter, _)) = found.get(at).copied() {
            for blocker in self.pin_blockers(waiter) {
                if blocker == from {
                    let waiter_of = |number| found.iter().find(|(n, _)| *n == number).map(|(_, waiter)| *waiter);
                    let path = std::iter::successors(Some(waiter), |n| waiter_of(*n).filter(|_| *n != from));
                    return Some(path.collect());
                }
                if found.iter().all(|(number, _)| *number != blocker) {
                    found.push((blocker, waiter));
                }
            }
            at += 1;
        }
        None
    }
}

/// The purpose that a unit is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    ToRun,
    ToDefine,
}

/// The namespace TABLE/PROCEDURE in P3 of the event.
const OF_UNITS: u64 = 1;

impl Refused {
    /// ORA-04021 or ORA-04020 for the unit of that name, or why the session is to stop.
    #[must_use]
    pub fn into_ora(self, owner: &str, name: &str) -> Ora {
        let number = match self {
            Refused::Cancelled(ora) => return ora,
            Refused::TimedOut => 4021,
            Refused::Deadlock => 4020,
        };
        Ora::with(number, &[&owner, &".", &name, &"", &""])
    }
}

/// How long a request for a unit waits, as the parameter `_kgl_time_to_wait_for_locks` says it: minutes.
#[must_use]
pub fn patience(minutes: i64) -> Duration {
    Duration::from_secs(u64::try_from(minutes).unwrap_or(0) * 60)
}
