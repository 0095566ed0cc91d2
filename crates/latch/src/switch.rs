//! Entering a structure under the design in force, and switching that design while processes are inside.
//!
//! A process that uses a design which others must not use at the same time marks that it is inside: it stores the word
//! of the design in its own line, and looks at the word again. A switch changes the word, runs a barrier on all
//! processors, and waits until no mark of the former word is left. A process that was taken off its processor between
//! reading the word and storing the mark finds another word when it looks again; one that looked before the barrier has
//! its mark seen. So entering writes nothing shared and runs no fence, and the cost is on the side of the switch.
//!
//! A get that begins inside another one runs by the design that the outer one began with.
//!
//! A **closed** word keeps new entries out while the processes inside leave, because what they use is not compatible
//! with the next design. A process that dies inside is taken out by its recovery, after its changes were rolled back
//! and its latches freed. When the switching process dies, its recovery opens the word with the former design. When it
//! is stopped by a signal, a process that has waited for [`CLOSED_NS_MAX`] does so. Every change of such a word is a
//! compare-exchange, so a switching process that goes on later finds that its switch has been given up.
//!
//! Rejected: counting the processes inside in the structure, a shared write on each side of every get; waiting for the
//! end of the calls in progress, which may last for hours; a look at the holds of latches instead of marks, because a
//! process that goes from one mutex to the next moves between its holds while they are read.

use std::time::Duration;

use wait::Event;

use crate::Client;
use crate::designs::{DesignWord, InForce, Structure};
use crate::domain::{Domain, LatchSlot};
use crate::word::Mark;

/// Looks at a closed word before the process that wants to enter sleeps between them.
const LOOKS: u32 = 200;
const SLEEP: Duration = Duration::from_micros(50);
/// The longest time for which a process finds a structure closed by one switch. Longer than a switch waits for the
/// processes inside, so that the switching process gives up first unless it is stopped.
const CLOSED_NS_MAX: u64 = 12_000_000_000;

/// A process inside a structure; it leaves when this is dropped.
#[derive(Debug)]
#[must_use = "the process leaves at once when this is dropped"]
pub struct Inside<'a> {
    /// `None` for an entry within another one.
    mark: Option<&'a Mark>,
    in_force: InForce,
}

impl Inside<'_> {
    /// The design that the outermost entry began with.
    #[inline]
    #[must_use]
    pub fn code(&self) -> u8 {
        self.in_force.code()
    }
}

impl Drop for Inside<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(mark) = self.mark {
            mark.leave();
        }
    }
}

impl Client {
    /// Enters a structure by the design in force. Waits, where the word is closed, as `latch free` with the address of
    /// the word; the caller then must not hold anything that a process inside may want. After [`CLOSED_NS_MAX`] it ends
    /// the switch.
    #[inline]
    pub fn enter<'a>(&'a self, structure: Structure, word: &DesignWord) -> Inside<'a> {
        let mark = &self.slot.inside[structure as usize];
        let outer = mark.own();
        if outer != 0 {
            return Inside { mark: None, in_force: InForce(outer) };
        }
        match self.try_enter(mark, word) {
            Some(inside) => inside,
            None => self.enter_slowly(mark, word),
        }
    }

    #[inline]
    fn try_enter<'a>(&'a self, mark: &'a Mark, word: &DesignWord) -> Option<Inside<'a>> {
        let seen = word.now();
        if seen.is_closed() {
            return None;
        }
        mark.note(seen.0);
        crate::primitive::light_barrier(); // pairs with the barrier that a switch runs after its store
        if word.now() == seen {
            return Some(Inside { mark: Some(mark), in_force: seen });
        }
        mark.leave();
        None
    }

    #[cold]
    #[inline(never)]
    fn enter_slowly<'a>(&'a self, mark: &'a Mark, word: &DesignWord) -> Inside<'a> {
        for _ in 0..LOOKS {
            if let Some(inside) = self.try_enter(mark, word) {
                return inside;
            }
            os::cpu::relax();
        }
        let address = std::ptr::from_ref(word) as u64;
        let started = self.waiter.begin(Event::LatchFree, [address, 0, 0]);
        let (mut closed, mut since_ns) = (word.now(), os::clock::now_ns());
        let inside = loop {
            os::clock::sleep(SLEEP);
            self.run_watch();
            if let Some(inside) = self.try_enter(mark, word) {
                break inside;
            }
            let (now, now_ns) = (word.now(), os::clock::now_ns());
            if now != closed {
                (closed, since_ns) = (now, now_ns);
            } else if now.is_closed() && now_ns - since_ns > CLOSED_NS_MAX {
                word.reopen(closed);
            }
        };
        self.waiter.end(Event::LatchFree, started, false);
        inside
    }

    /// Closes a structure for a switch to design `next`. `None` while another process switches it, and where the kernel
    /// cannot run the barrier that entries rely on.
    #[must_use]
    pub fn close(&self, structure: Structure, next: u8) -> Option<Closed> {
        let word = self.domain().design(structure);
        let former = word.now();
        if former.is_closed() {
            return None;
        }
        let closed = former.closed(next, self.number());
        if !word.change(former, closed) {
            return None;
        }
        let closed = Closed { domain: self.domain(), structure, closed, next, is_over: false };
        os::cpu::barrier_in_all().then_some(closed) // pairs with the light barrier in `try_enter`
    }
}

/// A structure that is closed for a switch. Dropping it opens the structure with the former design.
#[derive(Debug)]
#[must_use = "the former design stays in force when this is dropped"]
pub struct Closed {
    domain: Domain,
    structure: Structure,
    closed: InForce,
    next: u8,
    is_over: bool,
}

impl Closed {
    /// Whether all processes have left; the caller asks again until they have, or gives the switch up.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.domain.has_left(self.structure, None)
    }

    /// Opens the structure with the next design. Every process must have left. `None` when another process has opened
    /// it with the former design, because this one was late.
    #[must_use]
    pub fn open(mut self) -> Option<InForce> {
        self.is_over = true;
        let new = self.closed.followed_by(self.next);
        self.domain.design(self.structure).change(self.closed, new).then_some(new)
    }
}

impl Drop for Closed {
    fn drop(&mut self) {
        if !self.is_over {
            self.domain.design(self.structure).reopen(self.closed);
        }
    }
}

impl Domain {
    /// The word of a structure that can be closed.
    ///
    /// # Panics
    /// The structure keeps its word itself.
    #[must_use]
    pub fn design(&self, structure: Structure) -> &'static DesignWord {
        &self.shared.designs[structure as usize]
    }

    /// Whether no process is inside a structure by another design than `now`; `None`: whether none is inside at all.
    /// The caller has changed the word and then run a barrier on all processors ([`os::cpu::barrier_in_all`]).
    #[must_use]
    pub fn has_left(&self, structure: Structure, now: Option<InForce>) -> bool {
        let of = |slot: &LatchSlot| slot.inside[structure as usize].seen();
        self.used().iter().map(of).all(|mark| mark == 0 || now.is_some_and(|now| mark == now.0))
    }

    /// Takes a dead process out of all structures, and opens those that it had closed.
    pub(crate) fn recover_inside(&self, number: u32) {
        for structure in Structure::CLOSED {
            let word = self.design(structure);
            let now = word.now();
            if now.owner() == number {
                word.reopen(now);
            }
        }
        self.slots[number as usize - 1].inside.iter().for_each(Mark::leave);
    }
}
