//! Pins of cursors that are being executed.
//!
//! Every process has a row of words for its cursors: the child, and whether the cursor is open or being executed.
//! `v$open_cursor` and USERS_EXECUTING read them. In the designs with pins a child counts its pins as well, under a
//! latch or in its mutex, and is not loaded again or removed while it has any. After the death of a process the words
//! say what it had pinned (L7).
//!
//! Layout of a word: the child plus one in 24 bits, its life in 34, the kind of the pin in two, bit 60 for a cursor
//! that the session keeps closed, and the stage of the reference ([`latch::reference`]) in the two highest bits. The
//! kind says by which design the pin began: it ends by the same one when another design is in force by then. It means
//! nothing while the stage is 0.
//!
//! A PL/SQL block is a cursor, too, pinned while it runs. The session's current cursor is the statement inside the
//! block, or the block itself: a query that PL/SQL has open but does not fetch from is paused (bit 61, in the session's
//! own word only).

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use latch::reference::{HELD, STAGE};
use latch::{MutexKind, Where};
use process::{CleanupOrder, Process, ProcessSlot};

use crate::figures::count;
use crate::key::Key;
use crate::layout::{Child, state};
use crate::switch::design_of;
use crate::{Design, Handle, LibraryCache, Namespace};

const CHILD: u64 = (1 << 24) - 1;
const LIFE: u64 = (1 << 34) - 1;
/// The child counts the pin in `references`, under its pin latch.
pub(crate) const BY_LATCH: u64 = 1 << 58;
/// The child counts the pin in its mutex.
pub(crate) const BY_MUTEX: u64 = 2 << 58;
const KIND: u64 = 3 << 58;
/// The parts of a word besides child and life.
pub(crate) const MARKS: u64 = STAGE | KEPT | KIND;
/// A closed cursor, kept for `session_cached_cursors`.
pub(crate) const KEPT: u64 = 1 << 60;
/// In the word for the current cursor: PL/SQL has the query open and does something else.
pub(crate) const PAUSED: u64 = 1 << 61;

/// SQL_EXEC_ID has the instance number in its highest byte.
const FIRST_EXECUTION: u64 = 1 << 24;

#[inline]
fn store(words: &[AtomicU64; 2], values: [u64; 2]) {
    for (word, value) in words.iter().zip(values) {
        word.store(value, Ordering::Relaxed);
    }
}

/// The entry of a session's cursor in its row of words; removed on drop. A process may have more cursors than words:
/// the others are neither shown nor pinned.
#[derive(Debug, Default)]
pub struct CursorSlot {
    word: Option<&'static AtomicU64>,
    idn: u64,
    /// The current cursor of the session when this one was pinned, with the number and start of its execution.
    outer: Cell<[u64; 3]>,
    /// The number and start of the execution that it is pinned for.
    execution: Cell<[u64; 2]>,
}

/// The content of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub child: usize,
    /// The low bits of the child's life.
    life: u64,
    pub kept: bool,
    pub stage: u64,
    /// [`BY_LATCH`], [`BY_MUTEX`], or 0 for a pin that the child does not count.
    pub kind: u64,
}

impl Seen {
    pub(crate) fn of(word: u64) -> Option<Seen> {
        let child = (word & CHILD).checked_sub(1)? as usize;
        let (life, kept) = (word >> 24 & LIFE, word & KEPT != 0);
        Some(Seen { child, life, kept, stage: word & STAGE, kind: word & KIND })
    }

    pub(crate) fn is_life(&self, life: u64) -> bool {
        life & LIFE == self.life
    }
}

/// The current block of a session before an inner one began: the word, and the number and start of the execution.
#[derive(Clone, Copy, Debug, Default)]
pub struct OuterBlock([u64; 3]);

fn word_of(handle: Handle) -> u64 {
    (u64::from(handle.child) + 1) | (handle.life & LIFE) << 24
}

impl CursorSlot {
    /// Marks the cursor as closed and kept, or as in use again. Not allowed while it is pinned.
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

    /// The pinned child in the format of the session's word for its current cursor.
    #[inline]
    fn pinned(&self) -> Option<u64> {
        let word = self.word?.load(Ordering::Relaxed);
        (word & STAGE != 0).then_some(word & !MARKS)
    }
}

impl Drop for CursorSlot {
    fn drop(&mut self) {
        // A pinned word stays: the end of the execution or of the session clears it.
        if let Some(word) = self.word.filter(|_| !self.is_pinned()) {
            word.store(0, Ordering::Release);
        }
    }
}

impl LibraryCache {
    /// Enters a cursor of the session on a child.
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

    /// Pins a child for an execution; [`Self::unpin`] ends the pin. In the versioned design nothing shared is written.
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
        // A pin that the child does not count needs no entry: no design relies on it.
        let counted = self.design() != Design::Versioned;
        let inside = counted.then(|| self.enter(p));
        match inside.as_ref().map_or(Design::Versioned, design_of) {
            Design::Versioned => word.store(what | HELD, Ordering::Relaxed),
            Design::Latch => {
                let section = p.lock(self.pin_latch(slot.idn), Where::KglPinExecution, slot.idn);
                if life() == handle.life {
                    section.set(&child.references, child.references.load(Ordering::Relaxed) + 1);
                    section.set(word, what | BY_LATCH | HELD);
                }
            }
            Design::Pins | Design::Mutex => {
                let noted = what | BY_MUTEX;
                p.latches().refer(&child.pin, MutexKind::CursorPin, Where::KksExecute, slot.idn, word, noted);
                // The child may be gone, or the slot reused: then the pin ends at once.
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
            let (session, what) = (p.session(), was & !MARKS);
            session.previous_cursor.store(what, Ordering::Relaxed);
            store(&session.previous_execution, slot.execution.get());
            if session.cursor.load(Ordering::Relaxed) & !PAUSED == what {
                let [outer, number, began_ns] = slot.outer.get();
                session.cursor.store(outer, Ordering::Relaxed);
                store(&session.execution, [number, began_ns]);
            }
        }
    }

    /// Marks the beginning of a session's call: a query that the client has left open is not current until it is
    /// fetched from.
    pub fn begin_call(&self, p: &Process) {
        let session = p.session();
        session.top.store(0, Ordering::Relaxed);
        let open = session.cursor.load(Ordering::Relaxed);
        if open != 0 {
            session.cursor.store(open | PAUSED, Ordering::Relaxed);
        }
    }

    /// Like [`Self::pin`], for a PL/SQL block (L10); [`Self::unpin_block`] ends the pin and takes the value returned
    /// here.
    pub fn pin_block(&self, p: &Process, slot: &CursorSlot, handle: Handle) -> OuterBlock {
        let session = p.session();
        let [number, began_ns] = &session.block_execution;
        let outer = OuterBlock([&session.block, number, began_ns].map(|word| word.load(Ordering::Relaxed)));
        self.pin(p, slot, handle);
        // A block without a pin is not shown; the session's words then keep showing the outer block.
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

    /// Marks an open query as paused by PL/SQL: the block is current until [`Self::resume`].
    #[inline]
    pub fn pause(&self, p: &Process, slot: &CursorSlot) {
        let word = &p.session().cursor;
        if let Some(what) = slot.pinned()
            && word.load(Ordering::Relaxed) == what
        {
            word.store(what | PAUSED, Ordering::Relaxed);
        }
    }

    /// Makes an open query current because it is fetched from.
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

    /// Publishes the new current cursor in the session's own words, and numbers the execution.
    #[inline]
    fn show_execution(&self, p: &Process, slot: &CursorSlot, what: u64) {
        let session = p.session();
        let [number, began_ns] = &session.execution;
        slot.outer.set([&session.cursor, number, began_ns].map(|word| word.load(Ordering::Relaxed)));
        count(&session.executions);
        // The numbers of sessions interleave, so two sessions never have the same one. A number repeats after 2^24
        // executions.
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
        let what = word.load(Ordering::Relaxed) & !(STAGE | KIND);
        match seen.kind {
            BY_LATCH => {
                let section = p.lock(self.pin_latch(idn), Where::KglUnpinExecution, idn);
                section.set(&child.references, child.references.load(Ordering::Relaxed).saturating_sub(1));
                section.set(word, what);
            }
            BY_MUTEX => child.pin.end_reference(word),
            _ => word.store(what, Ordering::Relaxed),
        }
    }

    /// Clears what is left of a session's cursors and of the units that it ran.
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

    /// Registers the clean-up of dead processes.
    pub fn register(&'static self) {
        self.all.on_death(CleanupOrder::Pins, "library cache pins", move |p, dead| self.clean_up(p, dead));
    }

    /// Ends the pins of a dead process.
    pub(crate) fn clean_up(&self, p: &Process, dead: u32) {
        self.forget_running(p, dead);
        self.settle_ledger(dead);
        for word in self.cursors_of(dead) {
            let Some(seen) = Seen::of(word.load(Ordering::Acquire)) else { continue };
            let Some(child) = self.children.get(seen.child).filter(|_| seen.stage != 0) else {
                word.store(0, Ordering::Release);
                continue;
            };
            match seen.kind {
                BY_LATCH => {
                    let idn = self.idn_of(seen.child);
                    let section = p.lock(self.pin_latch(idn), Where::KglUnpinExecution, idn);
                    section.set(&child.references, child.references.load(Ordering::Relaxed).saturating_sub(1));
                    section.set(word, 0);
                }
                BY_MUTEX if seen.stage == HELD => child.pin.end_dead_reference(),
                BY_MUTEX => child.pin.settle_references(|| self.certain_pins(child, seen.child)),
                _ => {}
            }
            word.store(0, Ordering::Release);
        }
    }

    /// The number of held pins that a child counts in its mutex, of living and dead processes; `None` while a living
    /// process is between its note and the count.
    fn certain_pins(&self, _child: &Child, at: usize) -> Option<u32> {
        let mut held = 0;
        for number in 1..=self.all.capacity() {
            let doubt = || self.all.slot(number).is_some_and(ProcessSlot::is_alive);
            for word in self.cursors_of(number) {
                match Seen::of(word.load(Ordering::Acquire))
                    .filter(|seen| seen.child == at && seen.kind == BY_MUTEX)
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
