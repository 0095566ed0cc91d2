//! Claiming free buffers: for a block to be read or formatted, and to empty the cache.

use crate::BufferCache;
use crate::area::PIN_CLAIM;
use crate::cache::slot_of;
use crate::header::*;
use crate::lru::Candidate;
use latch::Where;
use process::Process;
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;
use types::{Ora, Rdba, Result};
use wait::{Event, Stat};

/// Buffers found in a set but lost to other processes before a search goes on to the next set.
const REFUSED_MAX: usize = 64;

impl BufferCache {
    /// Gets a buffer for `at`, linked into the chain and owned by this process, which fills its frame.
    ///
    /// `None` when the block got a buffer in the meantime. Entry `entry` of the pin table then holds `pin`.
    /// Waits: `free buffer waits`. Latches: `cache buffers lru chain`, `cache buffers chains`; none on return.
    /// # Errors
    /// ORA-00379 when every buffer stays pinned.
    pub(crate) fn claim(&self, p: &Process, at: Rdba, entry: usize, pin: u64) -> Result<Option<usize>> {
        p.count(Stat::FreeBufferRequested, 1);
        let buffer = self.claim_free(p, at, entry, pin)?;
        Ok(self.link_claimed(p, at, entry, buffer).then_some(buffer))
    }

    /// As [`BufferCache::claim`], but only if a buffer is free at once.
    pub(crate) fn try_claim(&self, p: &Process, at: Rdba, entry: usize, pin: u64) -> Option<usize> {
        p.count(Stat::FreeBufferRequested, 1);
        let buffer = self.claim_at_once(p, self.next_set(p), entry, pin)?;
        self.link_claimed(p, at, entry, buffer).then_some(buffer)
    }

    /// Links a claimed buffer for `at`, or frees it when the block has another buffer by now.
    fn link_claimed(&self, p: &Process, at: Rdba, entry: usize, buffer: usize) -> bool {
        let s = self.lock_chain(p, at, Where::KcbLinkBuffer);
        if self.find_latched(at).is_none() {
            self.link_chain(&s, buffer, at);
            return true;
        }
        drop(s);
        self.abandon(p, slot_of(p), entry, buffer);
        false
    }

    fn claim_free(&self, p: &Process, at: Rdba, entry: usize, pin: u64) -> Result<usize> {
        let first = self.next_set(p);
        for failures in 1..=20_000 {
            if let Some(buffer) = self.claim_at_once(p, first, entry, pin) {
                return Ok(buffer);
            }
            self.wait_for_free(p, at, first, failures)?;
        }
        Err(Ora::with(379, &[&"DEFAULT", &format_args!("{}K", self.block_size / 1024)]))
    }

    /// Claims a free buffer of set `first`, otherwise of another set; never-used buffers before used ones.
    fn claim_at_once(&self, p: &Process, first: usize, entry: usize, pin: u64) -> Option<usize> {
        let sets = self.sets.len();
        let all = || (0..sets).map(|i| (first + i) % sets);
        if self.figures.all_used.load(Ordering::Relaxed) == 0 {
            let mut unused = all().filter(|n| self.has_unused(*n));
            if let Some(buffer) = unused.find_map(|n| self.claim_in(p, n, entry, pin)) {
                return Some(buffer);
            }
            if !all().any(|n| self.has_unused(n)) {
                self.figures.all_used.store(1, Ordering::Relaxed);
            }
        }
        all().find_map(|n| self.claim_in(p, n, entry, pin))
    }

    /// Claims a free buffer of set `n`.
    fn claim_in(&self, p: &Process, n: usize, entry: usize, pin: u64) -> Option<usize> {
        let mut refused = 0;
        loop {
            match self.search_free(p, n) {
                Candidate::Buffer(buffer) if self.claim_buffer(p, buffer, entry, pin) => return Some(buffer),
                // Another process has taken it, or holds a pin of it.
                Candidate::Buffer(_) if refused < REFUSED_MAX => refused += 1,
                Candidate::Again => {}
                Candidate::Buffer(_) | Candidate::None => return None,
            }
        }
    }

    /// Takes buffer `buffer` from its block, if it is still unpinned and clean (R8).
    fn claim_buffer(&self, p: &Process, buffer: usize, entry: usize, pin: u64) -> bool {
        let h = &self.headers[buffer];
        let old = h.block();
        let s = self.lock_buffer(p, buffer, old, Where::KcbFindVictim);
        let state = h.state();
        if h.block() != old || state.is_pinned() || state.is(DIRTY) {
            return false;
        }
        if self.is_held(buffer) {
            p.count(Stat::PinnedBuffersInspected, 1);
            return false;
        }
        s.set(&self.area(p).pins[entry], pin | (buffer as u64 + 1));
        s.set(&h.state, State(0).with_owner(slot_of(p)).set(READING).0);
        s.set(&h.version, h.version.load(Ordering::Relaxed) | 1);
        fence(Ordering::Release); // a reader that sees the new identity sees the odd version
        if !old.is_none() {
            self.unlink_chain(&s, buffer);
        }
        h.touch.store(0, Ordering::Relaxed);
        true
    }

    /// Makes a checkpoint, then takes every unpinned clean buffer from its block, for ALTER SYSTEM FLUSH BUFFER_CACHE.
    /// Returns the number of freed buffers.
    ///
    /// # Errors
    /// As [`BufferCache::checkpoint`].
    pub fn empty(&self, p: &Process) -> Result<usize> {
        self.checkpoint(p)?;
        let (entry, mut freed) = (self.free_entry(p), 0);
        for buffer in self.used() {
            if !self.headers[buffer].block().is_none() && self.claim_buffer(p, buffer, entry, PIN_CLAIM) {
                self.abandon(p, slot_of(p), entry, buffer);
                freed += 1;
            }
        }
        Ok(freed)
    }

    /// No set has a free buffer: asks all DBWn to write, or writes itself, and waits.
    fn wait_for_free(&self, p: &Process, at: Rdba, set: usize, failures: usize) -> Result<()> {
        let asked = self.post_writer(p, None);
        if !asked || failures > 200 {
            let written = self.write_batch(p, 64)?;
            if written > 0 {
                return Ok(());
            }
        }
        self.sets[set].free_waits.fetch_add(1, Ordering::Relaxed);
        let (file, block) = self.files.shown(at);
        let _w = p.wait(Event::FreeBufferWaits, file.into(), block.into(), set as u64 + 1);
        os::clock::sleep(Duration::from_micros(if failures < 50 { 200 } else { 2000 }));
        Ok(())
    }
}
