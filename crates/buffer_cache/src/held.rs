//! The fast path of 11.1: a consistent get with one shared get of the chain's latch, and pins that are kept.
//!
//! The process notes the buffer in a word in its own cache line while it has the latch, and clears it with a plain
//! store: neither the pin nor its end writes the header, and ending the pin needs no latch. A process that replaces a
//! buffer holds its chain's latch exclusively and reads these words, so a buffer is not replaced while a process may
//! return to it (R8). A held pin only prevents replacement: every visit checks identity and version (R5), so a block
//! can be discarded with its file in spite of it.
//!
//! A pin is held until the end of the call, until its place is needed, or until the scan for which it was taken has
//! found nothing ([`BufferCache::let_go`]). A switch to another design ends all pins that are held
//! ([`BufferCache::switch`]). Rejected: counting pins in the header, as the older designs do, because
//! that is a second get for each read.

use crate::area::{ProcessArea, buffer_of};
use crate::cache::slot_of;
use crate::{BufferCache, ChainDesign, GetKind};
use block::BlockView;
use latch::{Structure, Where};
use process::Process;
use std::sync::atomic::Ordering;
use types::{Rdba, Result};
use wait::Stat;

/// The word of a held pin: the block in the upper half, the buffer's index + 1 in the lower.
fn word_of(at: Rdba, buffer: usize) -> u64 {
    u64::from(at.0) << 32 | (buffer as u64 + 1)
}

impl BufferCache {
    /// A consistent get on the fast path.
    #[cold]
    #[inline(never)]
    pub(crate) fn read_fast<R>(&self, p: &Process, at: Rdba, f: &mut dyn FnMut(&BlockView) -> R) -> Result<R> {
        if let Some(r) = self.revisit(p, at, f) {
            p.count(Stat::BufferIsPinnedCount, 1);
            return Ok(r);
        }
        self.count_get(p, GetKind::Consistent);
        self.advice.note(p, at.0);
        p.count(Stat::BufferIsNotPinnedCount, 1);
        let mut fast = true;
        loop {
            // A pin is noted only while the fast path is in force, so a switch knows when no more are coming.
            let inside = p.latches().enter(Structure::BufferChains, self.design);
            if ChainDesign::of_code(inside.code()) != ChainDesign::FastPath {
                drop(inside);
                return self.read_uncounted(p, at, GetKind::Consistent, f);
            }
            let s = self.lock_chain_shared(p, at, Where::KcbGetConsistentShared);
            let Some(buffer) = self.find_latched(at) else {
                drop(s);
                drop(inside);
                self.read_in(p, at)?;
                fast = false;
                continue;
            };
            self.hold(p, at, buffer);
            drop(s);
            drop(inside);
            self.touch(&self.headers[buffer]);
            if let Some(r) = self.read_busy(p, buffer, at, f) {
                p.count(Stat::ConsistentGetsFromCacheFastpath, u64::from(fast));
                self.sample_read(p, buffer);
                return Ok(r);
            }
            fast = false;
        }
    }

    /// Reads a buffer that this process holds a pin of, without a latch.
    fn revisit<R>(&self, p: &Process, at: Rdba, f: &mut dyn FnMut(&BlockView) -> R) -> Option<R> {
        let held = self.held_word(p, at)?;
        let r = buffer_of(held.load(Ordering::Relaxed)).and_then(|buffer| self.read_busy(p, buffer, at, f));
        if r.is_none() {
            held.store(0, Ordering::Release);
        }
        r
    }

    /// Reads the frame of `at`, repeating while it is busy; `None` when the buffer belongs to another block now.
    fn read_busy<R>(&self, p: &Process, buffer: usize, at: Rdba, f: &mut dyn FnMut(&BlockView) -> R) -> Option<R> {
        let h = self.headers.get(buffer)?;
        while h.block() == at {
            if let Some(r) = self.read_frame_once(buffer, at, f) {
                return Some(r);
            }
            self.wait_while_busy(p, buffer, at);
        }
        None
    }

    #[inline]
    fn held_word(&self, p: &Process, at: Rdba) -> Option<&'static std::sync::atomic::AtomicU64> {
        let held = &self.area(p).held[..self.held_pins];
        held.iter().find(|w| w.load(Ordering::Relaxed) >> 32 == u64::from(at.0) && !at.is_none())
    }

    /// Notes a pin. The chain's latch is held, so that a process that replaces the buffer sees the note.
    fn hold(&self, p: &Process, at: Rdba, buffer: usize) {
        if self.held_pins == 0 {
            return;
        }
        let (area, slots) = (self.area(p), slot_of(p) as u64 + 1);
        if self.figures.held_slots.load(Ordering::Relaxed) < slots {
            self.figures.held_slots.fetch_max(slots, Ordering::Relaxed);
        }
        let next = area.held_next.load(Ordering::Relaxed) as usize % self.held_pins;
        area.held_next.store(next as u64 + 1, Ordering::Relaxed);
        area.held[next].store(word_of(at, buffer), Ordering::Relaxed); // ordered by the latch
    }

    /// True when some process holds a pin of the buffer. Certain only while its chain's latch is held exclusively. In
    /// the other designs no slot is looked at: [`BufferCache::switch`] sees to it.
    pub(crate) fn is_held(&self, buffer: usize) -> bool {
        let slots = (self.figures.held_slots.load(Ordering::Relaxed) as usize).min(self.areas.len());
        // Acquire pairs with the Release that ends a pin: its reads are over.
        let names = |area: &ProcessArea| area.held.iter().any(|w| buffer_of(w.load(Ordering::Acquire)) == Some(buffer));
        self.areas[..slots].iter().any(names)
    }

    /// Ends the held pin of a block, if this process has one, because its scan has found nothing. Latches: none.
    #[inline]
    pub fn let_go(&self, p: &Process, at: Rdba) {
        if self.design() == ChainDesign::FastPath
            && let Some(held) = self.held_word(p, at)
        {
            held.store(0, Ordering::Release);
        }
    }

    /// Ends a call: ends all held pins of the process. Latches: none.
    #[inline]
    pub fn end_call(&self, p: &Process) {
        let area = self.area(p);
        // Not the design: a pin outlasts a switch that failed.
        if area.held_next.load(Ordering::Relaxed) != 0 {
            area.held_next.store(0, Ordering::Relaxed);
            self.let_go_of(area);
        }
    }

    /// Puts another design into force. Reads in progress end by the design that they began with; pins that readers on
    /// the fast path hold are ended here, since a revisit does not rely on its pin (R5). The caller keeps other
    /// switches out.
    ///
    /// # Errors
    /// ORA-00051, ORA-00028 and ORA-01013 while readers are on the fast path. The new design is in force, and processes
    /// that replace buffers still look for held pins.
    pub fn switch(&self, p: &Process, design: ChainDesign) -> Result<()> {
        p.replace_design(Structure::BufferChains, self.design, design as u8)?;
        if design != ChainDesign::FastPath {
            // No process notes a pin any more: those on the fast path have left.
            self.areas.iter().for_each(|area| self.let_go_of(area));
            self.figures.held_slots.store(0, Ordering::Relaxed);
        }
        Ok(())
    }

    pub(crate) fn let_go_of(&self, area: &ProcessArea) {
        area.held.iter().for_each(|w| w.store(0, Ordering::Release));
    }
}
