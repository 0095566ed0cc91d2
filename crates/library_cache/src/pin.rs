//! Pins: a cursor is being executed.
//!
//! Every process has a row of words for its cursors: which child, and whether it is only open or being executed. They
//! are what `v$open_cursor` and USERS_EXECUTING show. In the designs before Latchwork's a child counts its pins too,
//! under a latch or in its mutex, and is not loaded again or thrown out while it has any. The words say what a dead
//! process pinned.
//!
//! A word: the child plus one in 24 bits, its life in 36, bit 60 for a cursor that the session keeps closed, and the
//! stage of the reference ([`latch::reference`]) in the two highest bits.
//!
//! A block of PL/SQL is a cursor, too, pinned while it runs. What runs at a moment is the statement inside it, or the
//! block itself: a query that PL/SQL has open and does not fetch from is paused (bit 61, in the session's own word
//! only).

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use latch::reference::{HELD, STAGE};
use latch::{Latch, MutexKind, Where};
use process::{Process, ProcessSlot};

use crate::find::Key;
use crate::layout::{Child, state};
use crate::{Design, Handle, LibraryCache, Namespace, count};

const CHILD: u64 = (1 << 24) - 1;
const LIFE: u64 = (1 << 36) - 1;
/// A closed cursor, kept for `session_cached_cursors`.
pub(crate) const KEPT: u64 = 1 << 60;
/// In the word of what a session executes: PL/SQL has the query open and does something else.
pub(crate) const PAUSED: u64 = 1 << 61;

/// SQL_EXEC_ID begins with the instance's number in its highest byte.
const FIRST_EXECUTION: u64 = 1 << 24;

#[inline]
fn store(words: &[AtomicU64; 2], values: [u64; 2]) {
    for (word, value) in words.iter().zip(values) {
        word.store(value, Ordering::Relaxed);
    }
}

/// A session's cursor as others see it; forgotten when dropped. A process may have more cursors than words: the others
/// are neither shown nor pinned.
#[derive(Debug, Default)]
pub struct CursorSlot {
    word: Option<&'static AtomicU64>,
    idn: u64,
    /// What the session was executing when this one was pinned, with the execution's number and beginning.
    outer: Cell<[u64; 3]>,
    /// The number and the beginning of the execution it is pinned for.
    execution: Cell<[u64; 2]>,
}

/// What a word says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub child: usize,
    /// The low bits of the child's life.
    life: u64,
    pub kept: bool,
    pub stage: u64,
}

impl Seen {
    pub(crate) fn of(word: u64) -> Option<Seen> {
        let child = (word & CHILD).checked_sub(1)? as usize;
        Some(Seen { child, life: word >> 24 & LIFE, kept: word & KEPT != 0, stage: word & STAGE })
    }

    pub(crate) fn is_life(&self, life: u64) -> bool {
        life & LIFE == self.life
    }
}

/// What a session showed as its block before another began inside of it: the word, the number and the beginning of the
/// execution.
#[derive(Clone, Copy, Debug, Default)]
pub struct OuterBlock([u64; 3]);

fn word_of(handle: Handle) -> u64 {
    (u64::from(handle.child) + 1) | (handle.life & LIFE) << 24
}

impl CursorSlot {
    /// Says that the cursor is closed and kept, or in use again. Not while it is pinned.
    pub fn keep(&self, kept: bool) {
        if let Some(word) = self.word {
            let seen = word.load(Ordering::Relaxed);
            word.store(if kept { seen | KEPT } else { seen & !KEPT }, Ordering::Relaxed);
        }
    }

    #[inline]
    fn is_pinned(&self) -> bool {
        self.word.is_some_and(|word| word.load(Ordering::Relaxed) & STAGE != 0)
    }

    /// What is pinned, as the session's word for what it executes has it.
    #[inline]
    fn pinned(&self) -> Option<u64> {
        let word = self.word?.load(Ordering::Relaxed);
        (word & STAGE != 0).then_some(word & !STAGE & !KEPT)
    }
}

impl Drop for CursorSlot {
    fn drop(&mut self) {
        // A pin is ended by who ends the execution, or with the session.
        if let Some(word) = self.word.filter(|_| !self.is_pinned()) {
            word.store(0, Ordering::Release);
        }
    }
}

impl LibraryCache {
    /// Notes that a session has a cursor on a child.
    pub fn open(&self, p: &Process, handle: Handle) -> CursorSlot {
        let Some(child) = self.children.get(handle.child as usize) else { return CursorSlot::default() };
        let own = self.cursors_of(p.number());
        let word = own.iter().find(|word| word.load(Ordering::Relaxed) == 0);
        if let Some(word) = word {
            word.store(word_of(handle), Ordering::Relaxed);
        }
        let parent = self.parents.get(child.parent.load(Ordering::Relaxed) as usize);
        let idn = parent.map_or(0, |parent| Key::of(parent).idn());
        CursorSlot { word, idn, outer: Cell::default(), execution: Cell::default() }
    }

    /// Pins a child for an execution; ended by [`Self::unpin`]. Nothing that is shared is written in the versioned
    /// design.
    ///
    /// Latches: none held on entry or return; one get of a child of `library cache pin`, or a reference of the mutex
    /// `Cursor Pin`. Waits: `latch: library cache pin`, `cursor: pin S`, `cursor: pin S wait on X`.
    #[inline]
    pub fn pin(&self, p: &Process, slot: &CursorSlot, handle: Handle) {
        let (Some(word), Some(child)) = (slot.word, self.children.get(handle.child as usize)) else { return };
        if slot.is_pinned() {
            self.unpin(p, slot);
        }
        let line = self.line(p);
        count(&line.pins[Namespace::SqlArea as usize]);
        let what = word_of(handle);
        self.show_execution(p, slot, what);
        let life = || child.life.load(Ordering::Relaxed);
        match self.design {
            Design::Versioned => word.store(what | HELD, Ordering::Relaxed),
            Design::Latch => {
                let section = p.lock(self.pin_latch(slot.idn), Where::KglPinExecution, slot.idn);
                if life() == handle.life {
                    section.set(&child.references, child.references.load(Ordering::Relaxed) + 1);
                    section.set(word, what | HELD);
                }
            }
            Design::Pins | Design::Mutex => {
                p.latches().refer(&child.pin, MutexKind::CursorPin, Where::KksExecute, slot.idn, word, what);
                // It may have gone, or be another's by now: then there is nothing to keep.
                if life() != handle.life {
                    child.pin.end_reference(word);
                }
            }
        }
        if life() == handle.life && child.state.load(Ordering::Relaxed) == state::VALID {
            count(&line.pin_hits[Namespace::SqlArea as usize]);
        }
    }

    /// Ends a pin, if there is one.
    #[inline]
    pub fn unpin(&self, p: &Process, slot: &CursorSlot) {
        let Some(word) = slot.word else { return };
        let was = word.load(Ordering::Relaxed);
        if let Some(seen) = Seen::of(was).filter(|seen| seen.stage != 0) {
            self.end_pin(p, word, &seen, slot.idn);
            let (session, what) = (p.session(), was & !STAGE & !KEPT);
            session.previous_cursor.store(what, Ordering::Relaxed);
            store(&session.previous_execution, slot.execution.get());
            if session.cursor.load(Ordering::Relaxed) & !PAUSED == what {
                let [outer, number, began_ns] = slot.outer.get();
                session.cursor.store(outer, Ordering::Relaxed);
                store(&session.execution, [number, began_ns]);
            }
        }
    }

    /// Says that a call of a session begins: a query that its client has left open is not what runs until it is fetched
    /// from.
    pub fn begin_call(&self, p: &Process) {
        let session = p.session();
        session.top.store(0, Ordering::Relaxed);
        let open = session.cursor.load(Ordering::Relaxed);
        if open != 0 {
            session.cursor.store(open | PAUSED, Ordering::Relaxed);
        }
    }

    /// As [`Self::pin`], of a block of PL/SQL; ended by [`Self::unpin_block`] with what this gives.
    pub fn pin_block(&self, p: &Process, slot: &CursorSlot, handle: Handle) -> OuterBlock {
        let session = p.session();
        let [number, began_ns] = &session.block_execution;
        let outer = OuterBlock([&session.block, number, began_ns].map(|word| word.load(Ordering::Relaxed)));
        self.pin(p, slot, handle);
        // One that cannot be shown hides those around it no more than it hides itself.
        if slot.is_pinned() {
            store(&session.block_execution, slot.execution.get());
            session.block.store(word_of(handle), Ordering::Relaxed);
        }
        outer
    }

    /// Ends the pin of a block.
    pub fn unpin_block(&self, p: &Process, slot: &CursorSlot, outer: OuterBlock) {
        self.unpin(p, slot);
        let session = p.session();
        let OuterBlock([block, number, began_ns]) = outer;
        session.block.store(block, Ordering::Relaxed);
        store(&session.block_execution, [number, began_ns]);
    }

    /// Says that PL/SQL leaves an open query alone: what runs is the block, until [`Self::resume`].
    #[inline]
    pub fn pause(&self, p: &Process, slot: &CursorSlot) {
        let word = &p.session().cursor;
        if let Some(what) = slot.pinned()
            && word.load(Ordering::Relaxed) == what
        {
            word.store(what | PAUSED, Ordering::Relaxed);
        }
    }

    /// Says that an open query is fetched from: it is what runs.
    #[inline]
    pub fn resume(&self, p: &Process, slot: &CursorSlot) {
        let Some(what) = slot.pinned() else { return };
        let session = p.session();
        if session.cursor.load(Ordering::Relaxed) & !PAUSED != what {
            store(&session.execution, slot.execution.get());
        }
        session.cursor.store(what, Ordering::Relaxed);
        if session.top.load(Ordering::Relaxed) == 0 {
            session.top.store(what, Ordering::Relaxed);
        }
    }

    /// Tells others, in the session's own words, what it executes from now on, and numbers the execution.
    #[inline]
    fn show_execution(&self, p: &Process, slot: &CursorSlot, what: u64) {
        let session = p.session();
        let [number, began_ns] = &session.execution;
        slot.outer.set([&session.cursor, number, began_ns].map(|word| word.load(Ordering::Relaxed)));
        count(&session.executions);
        // Sessions take turns, so that no two have the same number: it comes again after 2^24 executions and gaps.
        let turn =
            session.executions.load(Ordering::Relaxed) * u64::from(self.all.capacity()) + u64::from(p.number() - 1);
        let execution = [FIRST_EXECUTION | turn & (FIRST_EXECUTION - 1), os::clock::coarse_ns()];
        slot.execution.set(execution);
        store(&session.execution, execution);
        session.cursor.store(what, Ordering::Relaxed);
        if session.top.load(Ordering::Relaxed) == 0 {
            session.top.store(what, Ordering::Relaxed);
        }
    }

    fn end_pin(&self, p: &Process, word: &AtomicU64, seen: &Seen, idn: u64) {
        let Some(child) = self.children.get(seen.child) else { return };
        let what = word.load(Ordering::Relaxed) & !STAGE;
        match self.design {
            Design::Versioned => word.store(what, Ordering::Relaxed),
            Design::Latch => {
                let section = p.lock(self.pin_latch(idn), Where::KglUnpinExecution, idn);
                section.set(&child.references, child.references.load(Ordering::Relaxed).saturating_sub(1));
                section.set(word, what);
            }
            Design::Pins | Design::Mutex => child.pin.end_reference(word),
        }
    }

    /// Ends what is left of a session's cursors, and of what it ran.
    pub fn end_session(&self, p: &Process) {
        self.forget_running(p, p.number());
        self.end_claims(p);
        for word in self.cursors_of(p.number()) {
            if let Some(seen) = Seen::of(word.load(Ordering::Relaxed)) {
                if seen.stage != 0 {
                    self.end_pin(p, word, &seen, self.idn_of(seen.child));
                }
                word.store(0, Ordering::Release);
            }
        }
    }

    /// P1 of waits for a child.
    fn idn_of(&self, child: usize) -> u64 {
        let parent = self.children.get(child).map(|child| child.parent.load(Ordering::Relaxed));
        parent.and_then(|at| self.parents.get(at as usize)).map_or(0, |parent| Key::of(parent).idn())
    }

    pub(crate) fn pin_latch(&self, idn: u64) -> &'static Latch {
        &self.pin_latches[idn as usize % self.pin_latches.len()]
    }

    /// Takes away what a dead process had pinned.
    pub(crate) fn clean_up(&self, p: &Process, dead: u32) {
        self.forget_running(p, dead);
        for word in self.cursors_of(dead) {
            let Some(seen) = Seen::of(word.load(Ordering::Acquire)) else { continue };
            let Some(child) = self.children.get(seen.child).filter(|_| seen.stage != 0) else {
                word.store(0, Ordering::Release);
                continue;
            };
            match self.design {
                Design::Versioned => {}
                Design::Latch => {
                    let idn = self.idn_of(seen.child);
                    let section = p.lock(self.pin_latch(idn), Where::KglUnpinExecution, idn);
                    section.set(&child.references, child.references.load(Ordering::Relaxed).saturating_sub(1));
                    section.set(word, 0);
                }
                Design::Pins | Design::Mutex if seen.stage == HELD => child.pin.end_dead_reference(),
                Design::Pins | Design::Mutex => child.pin.settle_references(|| self.certain_pins(child, seen.child)),
            }
            word.store(0, Ordering::Release);
        }
    }

    /// Pins of a child that processes have noted as held, living or dead; `None` while a living one is on its way.
    fn certain_pins(&self, _child: &Child, at: usize) -> Option<u32> {
        let mut held = 0;
        for number in 1..=self.all.capacity() {
            let doubt = || self.all.slot(number).is_some_and(ProcessSlot::is_alive);
            for word in self.cursors_of(number) {
                match Seen::of(word.load(Ordering::Acquire))
                    .filter(|seen| seen.child == at)
                    .map_or(0, |seen| seen.stage)
                {
                    0 => {}
                    HELD => held += 1,
                    _ if doubt() => return None,
                    _ => {}
                }
            }
        }
        Some(held)
    }
}
