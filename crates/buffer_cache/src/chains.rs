//! Hash chains: from a block's address to its buffer.
//!
//! There are twice as many chains as buffers, rounded up to a power of two, and one `cache buffers chains` child latch
//! for every 32 chains. Links change only under the latch. A versioned read walks without it: every link is an index
//! that is checked, the walk is bounded, and a walk that enters another chain because a buffer was moved finds nothing,
//! or finds a header whose identity is checked between two loads of its version.

use crate::BufferCache;
use crate::area::PIN_CLAIM;
use crate::cache::slot_of;
use crate::header::*;
use crate::lru::Candidate;
use latch::{Latch, LatchName, Where};
use process::{Process, Section, SegmentStat, SharedHold};
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::Duration;
use types::{Ora, Rdba, Result};
use wait::{Event, Stat};

/// Buffers found in a set but lost to other processes before a search goes on to the next set.
const REFUSED_MAX: usize = 64;

/// Longest chain that a walk without the latch follows; longer ones are walked under the latch.
const WALK_MAX: usize = 64;

impl BufferCache {
    /// Chain of a block.
    #[inline]
    pub(crate) fn chain(&self, at: Rdba) -> usize {
        (u64::from(at.0).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.chain_shift) as usize
    }

    /// Number of the child latch of a block's chain.
    #[inline]
    pub fn latch_number(&self, at: Rdba) -> usize {
        self.chain(at) >> self.latch_shift
    }

    fn latch(&self, at: Rdba) -> &'static Latch {
        &self.latches[self.latch_number(at)]
    }

    /// Gets the latch of a block's chain exclusively.
    pub(crate) fn lock_chain<'p>(&self, p: &'p Process, at: Rdba, place: Where) -> Section<'p> {
        p.lock(self.latch(at), place, at.0.into())
    }

    /// The latch for the state of a buffer while it holds block `at`. Without a block it follows from the number of the
    /// buffer, so that processes that fill an empty cache use different latches.
    pub(crate) fn latch_of(&self, buffer: usize, at: Rdba) -> &'static Latch {
        if at.is_none() { &self.latches[buffer % self.latches.len()] } else { self.latch(at) }
    }

    /// Gets that latch exclusively.
    pub(crate) fn lock_buffer<'p>(&self, p: &'p Process, buffer: usize, at: Rdba, place: Where) -> Section<'p> {
        p.lock(self.latch_of(buffer, at), place, at.0.into())
    }

    /// Gets the latch of a block's chain in shared mode.
    pub(crate) fn lock_chain_shared<'p>(&self, p: &'p Process, at: Rdba, place: Where) -> SharedHold<'p> {
        p.lock_shared(self.latch(at), place, at.0.into())
    }

    /// Counts the get of the chain's latch that a versioned read avoided: as a get, and as a miss when a check failed
    /// before.
    #[inline]
    pub(crate) fn count_chain_get(&self, p: &Process, missed: bool) {
        p.latches().count_read(LatchName::CacheBuffersChains, missed);
    }

    /// Finds a block's buffer without a latch. `None` may also mean that the chain changed during the walk. The caller
    /// reads the buffer under a check of its version, or pins it (R1).
    #[inline]
    pub(crate) fn find(&self, at: Rdba) -> Option<usize> {
        let mut link = self.chains[self.chain(at)].load(Ordering::Relaxed);
        for _ in 0..WALK_MAX {
            let buffer = (link as usize).wrapping_sub(1);
            let h = self.headers.get(buffer)?;
            if h.identity.load(Ordering::Relaxed) == u64::from(at.0) {
                return Some(buffer);
            }
            link = h.next.load(Ordering::Relaxed);
        }
        None
    }

    /// Finds a block's buffer under its chain's latch.
    pub(crate) fn find_latched(&self, at: Rdba) -> Option<usize> {
        let mut link = self.chains[self.chain(at)].load(Ordering::Relaxed);
        for _ in 0..=self.headers.len() {
            let buffer = (link as usize).checked_sub(1)?;
            let h = &self.headers[buffer];
            if h.identity.load(Ordering::Relaxed) == u64::from(at.0) {
                return Some(buffer);
            }
            link = h.next.load(Ordering::Relaxed);
        }
        panic!("the chain of block {at} has a circle");
    }

    /// Takes a buffer out of its chain. The chain's latch is held, and the caller is the only owner.
    pub(crate) fn unlink_chain(&self, s: &Section, buffer: usize) {
        let h = &self.headers[buffer];
        let mut link: &AtomicU64 = &self.chains[self.chain(h.block())];
        for _ in 0..=self.headers.len() {
            let at = link.load(Ordering::Relaxed);
            if at == buffer as u64 + 1 {
                s.set(link, h.next.load(Ordering::Relaxed));
                s.set(&h.identity, 0);
                return;
            }
            let next = (at as usize).checked_sub(1).expect("a buffer is in the chain of its block");
            link = &self.headers[next].next;
        }
        panic!("the chain of buffer {buffer} has a circle");
    }

    /// Puts a claimed buffer into the chain of `at`, whose latch is held.
    fn link_chain(&self, s: &Section, buffer: usize, at: Rdba) {
        let (h, head) = (&self.headers[buffer], &self.chains[self.chain(at)]);
        s.set(&h.next, head.load(Ordering::Relaxed));
        h.whole_rba.store(0, Ordering::Relaxed);
        s.set(&h.identity, at.0.into());
        fence(Ordering::Release); // before the link: a process that follows it sees both stores
        s.set(head, buffer as u64 + 1);
    }

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

    /// Sleeps until the buffer's state changes or some milliseconds have passed. Latches: none held (R2).
    pub(crate) fn sleep_on(&self, p: &Process, h: &BufferHeader, event: Event, unless: impl Fn() -> bool) {
        let (at, class, began) = (h.block(), self.class_number(h), os::clock::now_ns());
        let (file, block) = self.files.shown(at);
        let _w = p.wait(event, file.into(), block.into(), class);
        h.sleepers.fetch_add(1, Ordering::SeqCst);
        let seen = h.changes.load(Ordering::SeqCst);
        if !unless() {
            os::futex::wait(&h.changes, seen, Some(Duration::from_millis(10)));
        }
        h.sleepers.fetch_sub(1, Ordering::SeqCst);
        self.note_wait(class, os::clock::now_ns() - began);
        if event == Event::BufferBusyWaits {
            let object = block::BlockView::of_frame(self.frame_of(h)).obj();
            self.segment_statistics.note(p, object, SegmentStat::BufferBusyWaits, 1);
        }
        p.help_the_dead();
    }

    /// The class of the buffer's block; unknown for a block that has not been read.
    pub(crate) fn class_number(&self, h: &BufferHeader) -> u64 {
        let kind = block::BlockView::of_frame(self.frame_of(h)).kind();
        kind.filter(|_| !h.state().is(READING)).map_or(1, block::BlockKind::class_number)
    }

    /// Wakes all sleepers on a buffer.
    pub(crate) fn wake(&self, h: &BufferHeader) {
        fence(Ordering::SeqCst); // the state change before, the sleepers' count after
        if h.sleepers.load(Ordering::SeqCst) > 0 {
            h.changes.fetch_add(1, Ordering::SeqCst);
            os::futex::wake(&h.changes, u32::MAX);
        }
    }

    /// Checks the chains. Only valid while no other process uses the cache.
    pub(crate) fn check_chains(&self) -> std::result::Result<(), String> {
        let mut linked = vec![false; self.headers.len()];
        for (n, head) in self.chains.iter().enumerate() {
            let mut link = head.load(Ordering::Relaxed);
            while let Some(buffer) = (link as usize).checked_sub(1) {
                let h = self.headers.get(buffer).ok_or(format!("chain {n} leads to buffer {buffer}"))?;
                if std::mem::replace(&mut linked[buffer], true) || h.block().is_none() || self.chain(h.block()) != n {
                    return Err(format!("buffer {buffer} with block {} is wrongly in chain {n}", h.block()));
                }
                link = h.next.load(Ordering::Relaxed);
            }
        }
        match self.used().find(|b| linked[*b] == self.headers[*b].block().is_none()) {
            None => Ok(()),
            Some(b) => {
                Err(format!("buffer {b} with block {} is in {} chain", self.headers[b].block(), linked[b] as u8))
            }
        }
    }
}
