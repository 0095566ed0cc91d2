//! The LRU list of a working set: the buffers to be replaced next, and those to be written.
//!
//! The list of a working set has a hot and a cold half. A block that is read in starts in the middle, at the hot end of
//! the cold half, so that a scan of many blocks passes through the cold half only. Reads do not move a buffer: they
//! raise its touch count, at most once in three seconds. A search for a free buffer walks from the cold end; a buffer
//! that was touched twice or more moves to the hot end and starts counting anew, a dirty one moves to the write list,
//! others are taken. This is Oracle's touch-count algorithm. So a search looks at each buffer once, however many are
//! dirty; DBWn puts what it has written from the write list at the cold end, where the next search finds it.
//!
//! Buffers that were never used are on neither list. A search takes the next one of its set before it walks.
//!
//! Rejected: moving a buffer on each read (a latch and six shared writes a read); a clock, whose state no view could
//! show; leaving dirty buffers at the cold end, where every search walks over all of them.

use crate::BufferCache;
use crate::header::{BufferHeader, DIRTY, WRITING};
use crate::set::{WorkingSet, load};
use latch::Where;
use process::{Process, Section};
use std::sync::atomic::Ordering;
use wait::Stat;

/// Touch count from which a buffer goes to the hot end instead of being replaced.
const HOT_TOUCHES: u64 = 2;
/// The most buffers moved under one hold of the latch, because other processes wait for it.
const MOVES_MAX: usize = 32;
/// DBWn is asked whenever the write list has grown by this many, or by an eighth of the set if that is less.
const WRITE_LIST_STEP: u64 = 32;
/// Values of a header's `hot`: the list that the buffer is linked in.
const COLD: u64 = 0;
pub(crate) const HOT: u64 = 1;
pub(crate) const WRITE_LIST: u64 = 2;

/// The list of a buffer.
pub(crate) fn place_of(h: &BufferHeader) -> u64 {
    load(&h.hot)
}
/// Seconds between two touches that count.
const TOUCH_SECONDS: u64 = 3;

/// The result of a walk from the cold end.
pub(crate) enum Candidate {
    /// This buffer may be claimed: it was neither pinned nor dirty during the walk.
    Buffer(usize),
    /// Hot and dirty buffers were moved: search again.
    Again,
    /// Only pinned and dirty buffers.
    None,
}

impl BufferCache {
    /// Takes a buffer out of its list.
    fn unlink_lru(&self, s: &Section, set: &WorkingSet, h: &BufferHeader, me: u64) {
        let (hotter, colder) = (load(&h.hotter), load(&h.colder));
        match self.link(hotter) {
            Some(n) => s.set(&n.colder, colder),
            None => s.set(&set.hottest, colder),
        }
        match self.link(colder) {
            Some(n) => s.set(&n.hotter, hotter),
            None => s.set(&set.coldest, hotter),
        }
        if load(&set.middle) == me {
            s.set(&set.middle, colder);
        }
        if load(&h.hot) == HOT {
            s.set(&set.hot_count, load(&set.hot_count) - 1);
        }
    }

    /// Moves a buffer from the LRU list to the end of the write list.
    fn move_to_write_list(&self, s: &Section, set: &WorkingSet, buffer: usize) {
        let (h, me) = (&self.headers[buffer], buffer as u64 + 1);
        self.unlink_lru(s, set, h, me);
        let last = load(&set.write_last);
        s.set(&h.hotter, last);
        s.set(&h.colder, 0);
        match self.link(last) {
            Some(l) => s.set(&l.colder, me),
            None => s.set(&set.write_first, me),
        }
        s.set(&set.write_last, me);
        s.set(&h.hot, WRITE_LIST);
        s.set(&set.write_length, load(&set.write_length) + 1);
        s.set(&set.count, load(&set.count) - 1);
    }

    /// Moves a buffer from the write list to the cold end of the LRU list, to be taken next.
    fn move_to_cold(&self, s: &Section, set: &WorkingSet, buffer: usize) {
        let (h, me) = (&self.headers[buffer], buffer as u64 + 1);
        let (before, after) = (load(&h.hotter), load(&h.colder));
        match self.link(before) {
            Some(n) => s.set(&n.colder, after),
            None => s.set(&set.write_first, after),
        }
        match self.link(after) {
            Some(n) => s.set(&n.hotter, before),
            None => s.set(&set.write_last, before),
        }
        s.set(&set.write_length, load(&set.write_length) - 1);
        self.insert_lru(s, set, me, load(&set.coldest), 0);
        s.set(&h.hot, COLD);
        if load(&set.middle) == 0 {
            s.set(&set.middle, me);
        }
        s.set(&set.count, load(&set.count) + 1);
    }

    /// Puts an unlinked buffer between `hotter` and `colder`.
    fn insert_lru(&self, s: &Section, set: &WorkingSet, me: u64, hotter: u64, colder: u64) {
        let h = self.link(me).expect("a buffer of this cache");
        s.set(&h.hotter, hotter);
        s.set(&h.colder, colder);
        match self.link(hotter) {
            Some(n) => s.set(&n.colder, me),
            None => s.set(&set.hottest, me),
        }
        match self.link(colder) {
            Some(n) => s.set(&n.hotter, me),
            None => s.set(&set.coldest, me),
        }
    }

    /// Moves a buffer to the hot end of the cold half.
    fn move_to_middle(&self, s: &Section, set: &WorkingSet, buffer: usize) {
        self.unlink_lru(s, set, &self.headers[buffer], buffer as u64 + 1);
        self.insert_in_middle(s, set, buffer);
    }

    /// Puts an unlinked buffer at the hot end of the cold half.
    fn insert_in_middle(&self, s: &Section, set: &WorkingSet, buffer: usize) {
        let (h, me) = (&self.headers[buffer], buffer as u64 + 1);
        let middle = load(&set.middle);
        let hotter = self.link(middle).map_or_else(|| load(&set.coldest), |m| load(&m.hotter));
        self.insert_lru(s, set, me, hotter, middle);
        s.set(&h.hot, COLD);
        s.set(&set.middle, me);
    }

    /// Moves a buffer to the hot end; the last of the hot half becomes cold when that half is full.
    fn move_to_hot(&self, s: &Section, set: &WorkingSet, buffer: usize) {
        let (h, me) = (&self.headers[buffer], buffer as u64 + 1);
        self.unlink_lru(s, set, h, me);
        self.insert_lru(s, set, me, 0, load(&set.hottest));
        s.set(&h.hot, HOT);
        let hot = load(&set.hot_count) + 1;
        if hot <= load(&set.hot_target) {
            s.set(&set.hot_count, hot);
            return;
        }
        let middle = load(&set.middle);
        let last = self.link(middle).map_or_else(|| load(&set.coldest), |m| load(&m.hotter));
        if let Some(l) = self.link(last) {
            s.set(&l.hot, COLD);
            s.set(&set.middle, last);
            s.set(&set.hot_count, hot - 1);
        }
    }

    /// Takes the next buffer of set `n` that was never used, or walks from the cold end to one that may be replaced,
    /// and puts it in the middle so that the next search finds another one. Asks DBWn to write when the write list has
    /// grown.
    ///
    /// The walk ignores held pins: `claim_buffer` checks them, for the one buffer that the walk ends with.
    ///
    /// Latches: `cache buffers lru chain`, taken and released.
    pub(crate) fn search_free(&self, p: &Process, n: usize) -> Candidate {
        let set = &self.sets[n];
        let s = self.lock_lru(p, n, Where::KcbLruAllocate);
        let used = load(&set.used);
        if used < load(&set.size) {
            let buffer = self.range_of(n).start + used as usize;
            self.insert_in_middle(&s, set, buffer);
            s.set(&set.count, load(&set.count) + 1);
            s.set(&set.used, used + 1);
            return Candidate::Buffer(buffer);
        }
        let (mut at, mut hot, mut dirty, mut pinned, mut inspected) = (load(&set.coldest), 0, 0, 0, 0u64);
        let step = (load(&set.size) / 8).clamp(1, WRITE_LIST_STEP);
        let (mut found, before) = (Candidate::None, load(&set.write_length) / step);
        while let Some(h) = self.link(at) {
            let buffer = at as usize - 1;
            let hotter = load(&h.hotter);
            inspected += 1;
            let state = h.state();
            if state.is_pinned() {
                pinned += 1;
            } else if state.is(DIRTY) {
                self.move_to_write_list(&s, set, buffer);
                dirty += 1;
            } else if load(&h.touch) & 0xFFFF_FFFF >= HOT_TOUCHES {
                h.touch.store(0, Ordering::Relaxed);
                self.move_to_hot(&s, set, buffer);
                hot += 1;
            } else {
                self.move_to_middle(&s, set, buffer);
                found = Candidate::Buffer(buffer);
                break;
            }
            s.checkpoint(); // the lists are consistent after each move
            if hot + dirty == MOVES_MAX {
                found = Candidate::Again;
                break;
            }
            at = hotter;
            if inspected > load(&set.size) {
                break;
            }
        }
        let grown = load(&set.write_length) / step > before;
        let (passed, taken) = match found {
            Candidate::Buffer(_) => (inspected - 1, 1),
            _ => (inspected, 0),
        };
        for (word, count) in [(&set.inspected, passed), (&set.dirty_inspected, dirty as u64), (&set.replaced, taken)] {
            word.store(load(word) + count, Ordering::Relaxed);
        }
        drop(s);
        p.count(Stat::FreeBufferInspected, inspected.saturating_sub(1));
        p.count(Stat::DirtyBuffersInspected, dirty as u64);
        p.count(Stat::PinnedBuffersInspected, pinned);
        p.count(Stat::HotBuffersMovedToHeadOfLru, hot as u64);
        if grown {
            p.count(Stat::DbwrMakeFreeRequests, 1);
            self.post_writer(p, Some(n));
        }
        if hot + dirty > 0 && matches!(found, Candidate::None) { Candidate::Again } else { found }
    }

    /// Appends up to `max` dirty buffers of the write list of set `n`, in the order in which searches found them. Clean
    /// ones go back to the cold end.
    ///
    /// Latches: `cache buffers lru chain`, taken and released.
    pub(crate) fn write_list_head(&self, p: &Process, n: usize, max: usize, to: &mut Vec<usize>) {
        let set = &self.sets[n];
        if load(&set.write_length) == 0 {
            return;
        }
        let s = self.lock_lru(p, n, Where::KcbLruWrite);
        let (mut at, mut steps, end) = (load(&set.write_first), load(&set.size), to.len() + max);
        while let Some(h) = self.link(at).filter(|_| to.len() < end && steps > 0) {
            let (buffer, after) = (at as usize - 1, load(&h.colder));
            match h.state() {
                // A second write cannot begin before the present one has ended.
                state if state.is(WRITING) => {}
                state if state.is(DIRTY) => to.push(buffer),
                _ => self.move_to_cold(&s, set, buffer),
            }
            s.checkpoint();
            (at, steps) = (after, steps - 1);
        }
    }

    /// Moves the written buffers among these from the write list to the cold end.
    ///
    /// Latches: `cache buffers lru chain`, taken and released.
    pub(crate) fn give_back_written(&self, p: &Process, buffers: &[usize]) {
        for n in 0..self.sets.len() {
            let listed = |b: &usize| self.set_of(*b) == n && load(&self.headers[*b].hot) == WRITE_LIST;
            if !buffers.iter().any(listed) {
                continue;
            }
            let s = self.lock_lru(p, n, Where::KcbLruFree);
            for buffer in buffers.iter().copied().filter(listed) {
                if self.headers[buffer].state().0 & (DIRTY | WRITING) == 0 {
                    self.move_to_cold(&s, &self.sets[n], buffer);
                    s.checkpoint();
                }
            }
        }
    }

    /// Counts a touch, at most one in three seconds.
    #[inline]
    pub(crate) fn touch(&self, h: &BufferHeader) {
        let now = (os::clock::coarse_ns() / 1_000_000_000) & 0xFFFF_FFFF;
        let old = h.touch.load(Ordering::Relaxed);
        if now.wrapping_sub(old >> 32) >= TOUCH_SECONDS {
            // A lost update loses a touch: nothing depends on the exact count.
            h.touch.store(now << 32 | ((old & 0xFFFF_FFFF) + 1).min(0xFFFF), Ordering::Relaxed);
        }
    }

    /// Buffers on all write lists.
    pub fn write_list_length(&self) -> u64 {
        self.sets.iter().map(|s| load(&s.write_length)).sum()
    }

    pub(crate) fn check_lru(&self, n: usize, set: &WorkingSet) -> Result<(), String> {
        let (mut at, mut before, mut count, mut hot) = (load(&set.hottest), 0, 0, 0);
        let mut cold_seen = load(&set.middle) == 0 && load(&set.hottest) == 0;
        while let Some(h) = self.link(at) {
            cold_seen |= at == load(&set.middle);
            if load(&h.hotter) != before || self.set_of(at as usize - 1) != n || load(&h.hot) != u64::from(!cold_seen) {
                return Err(format!("buffer {} is wrongly linked on LRU list {n}", at - 1));
            }
            (hot, count) = (hot + load(&h.hot), count + 1);
            if count > load(&set.count) {
                return Err(format!("LRU list {n} has a circle"));
            }
            (before, at) = (at, load(&h.colder));
        }
        let want = (load(&set.count), load(&set.hot_count), load(&set.coldest));
        if (count, hot, before) != want {
            return Err(format!("LRU list {n}: count, hot, last are {:?}, set says {want:?}", (count, hot, before)));
        }
        Ok(())
    }

    pub(crate) fn check_write_list(&self, n: usize, set: &WorkingSet) -> Result<(), String> {
        let (mut at, mut before, mut count) = (load(&set.write_first), 0, 0);
        while let Some(h) = self.link(at) {
            count += 1;
            if load(&h.hot) != WRITE_LIST || load(&h.hotter) != before || count > self.headers.len() as u64 {
                return Err(format!("buffer {} is wrongly linked on write list {n}", at - 1));
            }
            (before, at) = (at, load(&h.colder));
        }
        let want = (load(&set.write_length), load(&set.write_last), load(&set.used));
        if (count, before, count + load(&set.count)) != want {
            return Err(format!("write list {n}: {count} buffers, the last {before}, set says {want:?}"));
        }
        Ok(())
    }
}
