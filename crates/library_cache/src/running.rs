//! Stored units that calls run, and DDL that waits for these calls: the event `library cache pin`.
//!
//! A call notes each unit that it runs in its process's line, from the first use of the unit until the call ends. DDL
//! that replaces or drops a unit claims the unit in the line of its own process, and waits until no other process has
//! noted it. A call that wants to run a claimed unit waits until the claim ends. So a unit does not change while a call
//! runs it, and a call writes nothing shared: it stores one word in its own line, and loads one word that only DDL
//! changes.
//!
//! Both sides write their own words first and read the other side's afterwards, with a sequentially consistent fence
//! between, so at least one of them sees the other (L21). A call that finds a claim removes its note before it waits,
//! so that nobody waits for a call that has not begun to run the unit.
//!
//! DDL ignores the notes of its own process. Oracle's would wait for itself.

use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::{Duration, Instant};

use latch::Where;
use process::Process;
use types::Ora;
use wait::Event;

use crate::LibraryCache;
use crate::layout::{Line, MORE_WORDS, RUNNING_MOST};

/// In [`Line::awaited`], above the unit's number: the process waits to run it, or to define it.
const AS_CALLER: u64 = 1 << 32;
const AS_DEFINER: u64 = 2 << 32;

/// Longest sleep before the other side's words are read again and deadlocks are searched again.
const LOOK: Duration = Duration::from_secs(1);
/// Time between two searches that must both find the cycle: a note that is about to be removed makes no deadlock.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// P3 of the event: the mode times 100, for share and exclusive.
const MODE_SHARED: u64 = 200;
const MODE_EXCLUSIVE: u64 = 300;

/// Why a wait for a unit ended without it.
#[derive(Clone, Debug, PartialEq)]
pub enum Refused {
    /// The time limit has passed.
    TimedOut,
    /// The processes that have the unit wait for this one, directly or through others.
    Deadlock,
    /// The session was killed or interrupted: ORA-00028, ORA-01013 and the like.
    Cancelled(Ora),
}

/// Whether a list in a line (a count, then the numbers) contains a unit.
fn contains(list: &[AtomicU64], unit: u32) -> bool {
    listed(list).any(|number| number == unit)
}

fn listed(list: &[AtomicU64]) -> impl Iterator<Item = u32> {
    let count = list.first().map_or(0, |count| count.load(Ordering::Acquire));
    list.iter().skip(1).take(count as usize).map(|word| word.load(Ordering::Relaxed) as u32)
}

/// The word and the bit that stand for a unit beyond the list.
fn bit_of(unit: u32) -> (usize, u64) {
    let bit = unit.wrapping_mul(0x9e37_79b1) as usize >> 16 & (MORE_WORDS * 64 - 1);
    (bit / 64, 1 << (bit % 64))
}

impl Line {
    fn has_list_full(&self) -> bool {
        self.running[0].load(Ordering::Acquire) == RUNNING_MOST as u64
    }

    /// Whether the call runs the unit. A call with a full list may also seem to run other units with the same bit.
    fn runs(&self, unit: u32) -> bool {
        let (word, bit) = bit_of(unit);
        contains(&self.running, unit) || self.has_list_full() && self.more[word].load(Ordering::Relaxed) & bit != 0
    }

    /// Adds a note for a unit that [`Line::runs`] does not contain, or removes that note. Called by the process itself
    /// only.
    fn note(&self, unit: u32, is_on: bool) {
        let (word, bit) = bit_of(unit);
        let [count, words @ ..] = &self.running;
        let at = count.load(Ordering::Relaxed);
        let more = self.more[word].load(Ordering::Relaxed);
        match (is_on, at as usize) {
            (true, RUNNING_MOST) => self.more[word].store(more | bit, Ordering::Release),
            (false, RUNNING_MOST) if more & bit != 0 => self.more[word].store(more & !bit, Ordering::Release),
            (true, _) => {
                words[at as usize].store(u64::from(unit), Ordering::Relaxed);
                count.store(at + 1, Ordering::Release);
            }
            (false, _) => count.store(at - 1, Ordering::Release),
        }
    }

    fn forget_notes(&self) {
        let was_full = self.has_list_full();
        self.running[0].store(0, Ordering::Release);
        if was_full {
            self.more.iter().for_each(|word| word.store(0, Ordering::Release));
        }
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
        if line.runs(unit) {
            return Ok(());
        }
        let by_bit = line.has_list_full();
        let any = || self.control.claimers.load(Ordering::Relaxed) != 0;
        let is_claimed = || any() && self.claimer_of(p, unit, by_bit).is_some();
        loop {
            // A wait before the note is written leaves no note that others could take for a running call.
            if is_claimed() {
                self.await_unit(p, unit, Wanted::ToRun, patience)?;
            }
            line.note(unit, true);
            // Pairs with the fence in `claim_unit`: either this process sees the claim, or the claimer sees the note.
            fence(Ordering::SeqCst);
            if !is_claimed() {
                return Ok(());
            }
            line.note(unit, false);
            // Pairs with the fence in `await_unit`.
            fence(Ordering::SeqCst);
            self.post_definers(p);
        }
    }

    /// Ends the notes of the call in progress.
    #[inline]
    pub fn end_running(&self, p: &Process) {
        let line = self.line(p);
        if line.running[0].load(Ordering::Relaxed) == 0 {
            return;
        }
        line.forget_notes();
        // Pairs with the fence in `await_unit`: either this process sees the waiter, or the waiter sees that the note
        // is gone.
        fence(Ordering::SeqCst);
        if self.control.claimers.load(Ordering::Relaxed) != 0 {
            self.post_definers(p);
        }
    }

    /// Claims a unit for a statement that defines it, until [`Self::end_claims`]: no other process begins to run the
    /// unit. False while another process runs it. A statement with [`crate::layout::CLAIMED_MOST`] claims makes no more
    /// and waits for no calls that run further units: such calls find out about the change when they next check the
    /// unit.
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
            faults::point("library-cache-claim");
        }
        // Pairs with the fence in `run_unit`.
        fence(Ordering::SeqCst);
        self.runner_of(p, unit).is_none()
    }

    /// Waits until no other process runs a unit that this one has claimed. The caller must not hold any lock that a
    /// call may need.
    ///
    /// Waits: `library cache pin`.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn await_claimed(&self, p: &Process, unit: u32, patience: Duration) -> Result<(), Refused> {
        self.await_unit(p, unit, Wanted::ToDefine, patience)
    }

    /// Ends all claims of the process.
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

    /// Removes the notes of a dead process, or of one whose session ends.
    pub(crate) fn forget_running(&self, p: &Process, of: u32) {
        let line = &self.lines[of as usize - 1];
        line.awaited.store(0, Ordering::Relaxed);
        line.forget_notes();
        fence(Ordering::SeqCst);
        self.post_definers(p);
    }

    /// Removes the claims of a dead process. PMON calls it after the end of the dead process's transaction.
    pub fn forget_claims(&self, p: &Process, dead: u32) {
        self.end_claims_of(p, dead);
    }

    /// The processes that a process waits for: those that run, or define, the unit it waits for.
    pub fn pin_blockers(&self, number: u32) -> Vec<u32> {
        let Some(line) = self.lines.get((number as usize).wrapping_sub(1)) else { return Vec::new() };
        let awaited = line.awaited.load(Ordering::Relaxed);
        let unit = awaited as u32;
        let others = self.lines.iter().zip(1..).filter(|(_, other)| *other != number);
        let has = |line: &Line| match () {
            () if awaited & AS_CALLER != 0 => contains(&line.claimed, unit),
            () if awaited & AS_DEFINER != 0 => line.runs(unit),
            () => false,
        };
        others.filter(|(line, _)| has(line)).map(|(_, other)| other).collect()
    }

    /// The counter of processes with claims, and their actual number; the invariant check compares them.
    pub(crate) fn claimers(&self) -> (u64, u64) {
        let have = self.lines.iter().filter(|line| line.claimed[0].load(Ordering::Relaxed) > 0).count();
        (self.control.claimers.load(Ordering::Relaxed), have as u64)
    }

    fn other_with(&self, p: &Process, has: impl Fn(&Line) -> bool) -> Option<u32> {
        let mut others = self.lines.iter().zip(1..).filter(|(_, number)| *number != p.number());
        others.find(|(line, _)| has(line)).map(|(_, number)| number)
    }

    /// Another process that has claimed a unit which this one does not run yet. `by_bit`, for a full list: any unit
    /// with the same bit, because the bit marks all of them as running.
    fn claimer_of(&self, p: &Process, unit: u32, by_bit: bool) -> Option<u32> {
        let own = self.line(p);
        let is_meant = |claimed: u32| match by_bit {
            true => bit_of(claimed) == bit_of(unit) && !contains(&own.running, claimed),
            false => claimed == unit,
        };
        self.other_with(p, |line| listed(&line.claimed).any(is_meant))
    }

    fn runner_of(&self, p: &Process, unit: u32) -> Option<u32> {
        self.other_with(p, |line| line.runs(unit))
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
            Wanted::ToRun => self.claimer_of(p, unit, self.line(p).has_list_full()),
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
        let mut seen_victim = None;
        let done = loop {
            let seen = p.posts();
            // Pairs with the fences of processes that end a note or a claim, and of others that search for a cycle.
            fence(Ordering::SeqCst);
            let Some(blocker) = blocker() else { break Ok(()) };
            p.session().blocking_session.store(u64::from(blocker), Ordering::Relaxed);
            if let Err(ora) = p.check_cancel() {
                break Err(Refused::Cancelled(ora));
            }
            // Several processes may find the cycle: the highest-numbered one that defines a unit gives up.
            let victim = self.circle(p.number()).and_then(|circle| {
                let defines = |n: &u32| self.lines[*n as usize - 1].awaited.load(Ordering::Relaxed) & AS_DEFINER != 0;
                circle.into_iter().filter(defines).max()
            });
            if victim == Some(p.number()) && seen_victim == victim {
                break Err(Refused::Deadlock);
            }
            if let Some(other) = victim.filter(|victim| *victim != p.number()) {
                self.all.post(other);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                guard.timed_out();
                break Err(Refused::TimedOut);
            }
            let look = if victim.is_some() { LOOK_AGAIN } else { LOOK };
            p.sleep(seen, Some(left.min(look)));
            seen_victim = victim;
        };
        awaited.store(0, Ordering::Relaxed);
        drop(guard);
        p.session().blocking_session.store(0, Ordering::Relaxed);
        done
    }

    /// A cycle of processes that wait for units of one another, containing `from`.
    fn circle(&self, from: u32) -> Option<Vec<u32>> {
        // Each process that is waited for, and its waiter.
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

/// The purpose of a wait for a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    ToRun,
    ToDefine,
}

/// The namespace TABLE/PROCEDURE in P3 of the event.
const OF_UNITS: u64 = 1;

impl Refused {
    /// ORA-04021 or ORA-04020 for the unit of that name, or the error that ends the session's call.
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
