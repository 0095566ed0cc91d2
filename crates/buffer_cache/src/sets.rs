//! Working sets: each is a part of the buffers with an LRU list, a write list and a checkpoint queue.
//!
//! A buffer belongs to one set for ever. A set has neighbouring buffers, so its headers and frames lie together. The
//! latches of a set are taken by processes that look for a free buffer in it or dirty one of its buffers, and by the
//! DBWn that writes for it. With as many sets as processors two processes rarely need the same latch.
//!
//! A process begins its search for a free buffer in a set that follows from its process number and moves on to the next
//! set after some claims, so that the sets fill evenly and a single process uses the whole cache. When a set has no
//! free buffer the search continues in the others; the process waits only when none has one.
//!
//! A buffer that was never used is on no list. A set hands such buffers out in order of their numbers, before it
//! replaces any; no other page of the headers and frames is touched, so that a large cache costs nothing at start.
//! Loops over buffers visit only used ones ([`BufferCache::used`]).

use crate::BufferCache;
use crate::cache::slot_of;
use crate::header::BufferHeader;
use crate::set::load;
use latch::Where;
use process::{Process, Section};
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Claims that a process makes in one set before it goes to the next.
const CLAIMS_IN_A_SET: u64 = 32;

/// The working sets that a process writes for: every `of`-th from `first` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The first set.
    pub first: usize,
    /// The number of processes that share the sets.
    pub of: usize,
}

impl Share {
    /// All sets.
    pub const ALL: Share = Share { first: 0, of: 1 };
}

/// A working set for `x$kcbwds`: read without latches, so the parts may be of different moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetInfo {
    /// Its number, from 0.
    pub number: usize,
    /// Its first buffer.
    pub first_buffer: usize,
    /// Buffers, and those of them that were used.
    pub buffers: u64,
    /// Buffers that were used.
    pub used: u64,
    /// Buffers on the LRU list, and in its hot half.
    pub listed: u64,
    /// Buffers in the hot half.
    pub hot: u64,
    /// Buffers on the write list.
    pub to_be_written: u64,
    /// Dirty buffers: those on the checkpoint queue.
    pub dirty: u64,
    /// The redo address of the oldest change in a dirty buffer; 0 without one.
    pub low_rba: u64,
    /// Buffers that searches inspected and did not take, dirty ones included.
    pub inspected: u64,
    /// Dirty buffers that searches found.
    pub dirty_inspected: u64,
    /// Buffers that searches took.
    pub replaced: u64,
    /// Waits for a free buffer by processes that had begun their search here.
    pub free_waits: u64,
    /// Blocks written.
    pub written: u64,
    /// Address of its `cache buffers lru chain` latch.
    pub lru_latch: u64,
    /// Address of its `checkpoint queue latch`.
    pub queue_latch: u64,
}

impl BufferCache {
    /// Divides the buffers among the sets; run once, before any other process exists. Touches no header.
    pub(crate) fn format_sets(&self) {
        for (n, set) in self.sets.iter().enumerate() {
            let size = self.range_of(n).len() as u64;
            set.size.store(size, Ordering::Relaxed);
            set.hot_target.store(size / 2, Ordering::Relaxed);
        }
    }

    /// Working sets.
    pub fn working_sets(&self) -> usize {
        self.sets.len()
    }

    /// The set of a buffer.
    pub(crate) fn set_of(&self, buffer: usize) -> usize {
        buffer / self.set_size
    }

    /// The buffers of set `n`.
    pub(crate) fn range_of(&self, n: usize) -> Range<usize> {
        let end = ((n + 1) * self.set_size).min(self.headers.len());
        n * self.set_size..end
    }

    /// The sets of a share, beginning with its `turn`-th.
    pub(crate) fn sets_of(&self, share: Share, turn: usize) -> impl Iterator<Item = usize> + use<> {
        let mine = self.sets.len().saturating_sub(share.first).div_ceil(share.of.max(1));
        (0..mine).map(move |i| share.first + (turn + i) % mine * share.of.max(1))
    }

    /// The sets of a share.
    pub fn sets_of_share(&self, share: Share) -> Vec<usize> {
        self.sets_of(share, 0).collect()
    }

    /// Whether a buffer has ever been used.
    pub(crate) fn is_used(&self, buffer: usize) -> bool {
        let n = self.set_of(buffer);
        ((buffer - n * self.set_size) as u64) < self.sets[n].used.load(Ordering::Acquire)
    }

    /// All buffers that were ever used. Others hold no block, are clean and unpinned, and on no list.
    pub(crate) fn used(&self) -> impl Iterator<Item = usize> {
        (0..self.sets.len()).flat_map(|n| {
            let range = self.range_of(n);
            let used = (self.sets[n].used.load(Ordering::Acquire) as usize).min(range.len());
            range.start..range.start + used
        })
    }

    /// Whether set `n` has a buffer that was never used.
    pub(crate) fn has_unused(&self, n: usize) -> bool {
        load(&self.sets[n].used) < load(&self.sets[n].size)
    }

    /// The set in which a process begins its search for a free buffer.
    pub(crate) fn next_set(&self, p: &Process) -> usize {
        let claims = &self.area(p).claims;
        let before = load(claims);
        claims.store(before.wrapping_add(1), Ordering::Relaxed);
        ((slot_of(p) as u64 + before / CLAIMS_IN_A_SET) % self.sets.len() as u64) as usize
    }

    pub(crate) fn lock_lru<'p>(&self, p: &'p Process, n: usize, place: Where) -> Section<'p> {
        p.lock(&self.set_latches[n], place, n as u64 + 1)
    }

    pub(crate) fn lock_queue<'p>(&self, p: &'p Process, n: usize, place: Where) -> Section<'p> {
        p.lock(&self.set_latches[self.sets.len() + n], place, n as u64 + 1)
    }

    /// Gets the latch of the checkpoint queue that a buffer belongs to.
    pub(crate) fn lock_queue_of<'p>(&self, p: &'p Process, buffer: usize, place: Where) -> Section<'p> {
        self.lock_queue(p, self.set_of(buffer), place)
    }

    pub(crate) fn link(&self, index_plus_one: u64) -> Option<&BufferHeader> {
        index_plus_one.checked_sub(1).and_then(|i| self.headers.get(i as usize))
    }

    /// Working set `n` as it is now.
    pub fn set_info(&self, n: usize) -> Option<SetInfo> {
        let set = self.sets.get(n)?;
        Some(SetInfo {
            number: n,
            first_buffer: self.range_of(n).start,
            buffers: load(&set.size),
            used: load(&set.used),
            listed: load(&set.count),
            hot: load(&set.hot_count),
            to_be_written: load(&set.write_length),
            dirty: load(&set.queue_length),
            low_rba: self.link(load(&set.queue_first)).map_or(0, |h| load(&h.low_rba)),
            inspected: load(&set.inspected),
            dirty_inspected: load(&set.dirty_inspected),
            replaced: load(&set.replaced),
            free_waits: load(&set.free_waits),
            written: load(&set.written),
            lru_latch: self.set_latches[n].address(),
            queue_latch: self.set_latches[self.sets.len() + n].address(),
        })
    }
}
