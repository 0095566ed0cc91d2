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

/// Units of a call that are noted by their numbers.
pub(crate) const RUNNING_MOST: usize = 63;
/// Words of the bits by which further ones are noted.
pub(crate) const MORE_WORDS: usize = 32;
/// Units that one statement claims. It does not wait for calls that run others.
pub(crate) const CLAIMED_MOST: usize = 63;

/// In [`Line::awaited`], above the unit's number: somebody wants to run it, or to define it.
const AS_CALLER: u64 = 1 << 32;
const AS_DEFINER: u64 = 2 << 32;

/// Longest sleep before the other side's words are looked at again, and a circle is looked for again.
const LOOK: Duration = Duration::from_secs(1);
/// Time between two looks at what may be a circle: a note that is about to be taken back makes none.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

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
    listed(list).any(|number| number == unit)
}

fn listed(list: &[AtomicU64]) -> impl Iterator<Item = u32> {
    let count = list.first().map_or(0, |count| count.load(Ordering::Acquire));
    list.iter().skip(1).take(count as usize).map(|word| word.load(Ordering::Relaxed) as u32)
}

/// The bit of a unit among those of a line: its word, and the bit in that.
fn bit_of(unit: u32) -> (usize, u64) {
    let bit = unit.wrapping_mul(0x9e37_79b1) as usize >> 16 & (MORE_WORDS * 64 - 1);
    (bit / 64, 1 << (bit % 64))
}

impl Line {
    fn has_list_full(&self) -> bool {
        self.running[0].load(Ordering::Acquire) == RUNNING_MOST as u64
    }

    /// Whether the call runs the unit, or has more units than are listed and one of them has the same bit.
    fn runs(&self, unit: u32) -> bool {
        let (word, bit) = bit_of(unit);
        contains(&self.running, unit) || self.has_list_full() && self.more[word].load(Ordering::Relaxed) & bit != 0
    }

    /// Notes a unit that [`Line::runs`] does not have, or takes that note back. By the process itself.
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
            // A claim that is seen at once leaves no note that others might take for a run.
            if is_claimed() {
                self.await_unit(p, unit, Wanted::ToRun, patience)?;
            }
            line.note(unit, true);
            // Pairs with the fence in `claim_unit`: this sees the claim, or the claimer sees the note.
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

    /// Says that the call in progress runs no unit any more.
    #[inline]
    pub fn end_running(&self, p: &Process) {
        let line = self.line(p);
        if line.running[0].load(Ordering::Relaxed) == 0 {
            return;
        }
        line.forget_notes();
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
        line.forget_notes();
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
            () if awaited & AS_DEFINER != 0 => line.runs(unit),
            () => false,
        };
        others.filter(|(line, _)| has(line)).map(|(_, other)| other).collect()
    }

    /// The number of processes that are counted as having claims, and of those that have some.
    pub(crate) fn claimers(&self) -> (u64, u64) {
        let have = self.lines.iter().filter(|line| line.claimed[0].load(Ordering::Relaxed) > 0).count();
        (self.control.claimers.load(Ordering::Relaxed), have as u64)
    }

    fn other_with(&self, p: &Process, has: impl Fn(&Line) -> bool) -> Option<u32> {
        let mut others = self.lines.iter().zip(1..).filter(|(_, number)| *number != p.number());
        others.find(|(line, _)| has(line)).map(|(_, number)| number)
    }

    /// Another process that has claimed a unit which this one does not run yet; `by_bit`, behind a full list, any unit
    /// with the same bit: the bit says of all of them that they run.
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
            // Pairs with the fences of who ends a note or a claim, and of others that look for a circle.
            fence(Ordering::SeqCst);
            let Some(blocker) = blocker() else { break Ok(()) };
            p.session().blocking_session.store(u64::from(blocker), Ordering::Relaxed);
            if let Err(ora) = p.check_cancel() {
                break Err(Refused::Cancelled(ora));
            }
            // Several may see the circle: the last of those that define gives up.
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
