//! Hash chains: from a block's address to its buffer.
//!
//! There are twice as many chains as buffers, rounded up to a power of two, and one `cache buffers chains` child latch
//! for every 32 chains. Links change only under the latch. A versioned read walks without it: every link is an index
//! that is checked, the walk is bounded, and a walk that enters another chain because a buffer was moved finds nothing,
//! or finds a header whose identity is checked between two loads of its version.

use crate::BufferCache;
use crate::header::*;
use latch::{Latch, LatchName, Where};
use process::{Process, Section, SegmentStat, SharedHold};
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::Duration;
use types::Rdba;
use wait::Event;

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
    pub(crate) fn count_chain_get(&self, p: &Process, at: Rdba, missed: bool) {
        let child = || self.latch_number(at) as u32 + 1;
        p.latches().count_read(LatchName::CacheBuffersChains, missed, child);
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
    pub(crate) fn link_chain(&self, s: &Section, buffer: usize, at: Rdba) {
        let (h, head) = (&self.headers[buffer], &self.chains[self.chain(at)]);
        s.set(&h.next, head.load(Ordering::Relaxed));
        h.whole_rba.store(0, Ordering::Relaxed);
        s.set(&h.identity, at.0.into());
        fence(Ordering::Release); // before the link: a process that follows it sees both stores
        s.set(head, buffer as u64 + 1);
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
