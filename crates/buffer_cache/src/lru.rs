//! Working sets: which buffer is replaced next, and which are to be written.
//!
//! The list of a working set has a hot and a cold half. A block that is read in starts in the middle, at the hot end of
//! the cold half, so that a scan of many blocks passes through the cold half only. Reads do not move a buffer: they
//! raise its touch count, at most once in three seconds. A search for a free buffer walks from the cold end; a buffer
//! that was touched twice or more moves to the hot end and starts counting anew, a dirty one moves to the write list,
//! others are taken. This is Oracle's touch-count algorithm. So a search looks at each buffer once, however many are
//! dirty; DBWR puts what it has written from the write list at the cold end, where the next search finds it.
//!
//! Rejected: moving a buffer on each read (a latch and six shared writes a read), a clock, whose state no view could
//! show, and leaving dirty buffers at the cold end, where every search walks over all of them.
//!
//! Buffers that are newer than the disk are also on the set's checkpoint queue, in the order of their first change.

use crate::BufferCache;
use crate::header::{BufferHeader, DIRTY, WRITING};
use latch::Where;
use process::{Process, Section};
use sga::SgaLayout;
use std::sync::atomic::{AtomicU64, Ordering};

/// One LRU list and one checkpoint queue.
#[repr(C, align(64))]
pub(crate) struct WorkingSet {
    /// Ends of the list, as index + 1.
    hottest: AtomicU64,
    coldest: AtomicU64,
    /// First buffer of the cold half, as index + 1; 0 when that half is empty.
    middle: AtomicU64,
    hot_count: AtomicU64,
    hot_target: AtomicU64,
    /// Buffers on the LRU list.
    count: AtomicU64,
    pad: [AtomicU64; 2],
    /// Ends of the checkpoint queue, as index + 1.
    queue_first: AtomicU64,
    queue_last: AtomicU64,
    queue_length: AtomicU64,
    /// Ends of the write list, as index + 1; its neighbours are linked like those of the LRU list.
    write_first: AtomicU64,
    write_last: AtomicU64,
    write_length: AtomicU64,
    pad2: [AtomicU64; 2],
}

// SAFETY: `repr(C)`, atomics only, every bit pattern is valid.
#[allow(unsafe_code)]
unsafe impl SgaLayout for WorkingSet {}

/// Touch count from which a buffer goes to the hot end instead of being replaced.
const HOT_TOUCHES: u64 = 2;
/// Buffers moved under one hold of the latch, as others wait.
const MOVES_MAX: usize = 32;
/// DBWR is asked whenever the write list has grown by this many.
const WRITE_LIST_STEP: u64 = 32;
/// Values of a header's `hot`: where the buffer is linked.
const COLD: u64 = 0;
pub(crate) const HOT: u64 = 1;
pub(crate) const WRITE_LIST: u64 = 2;

/// Where a buffer is linked.
pub(crate) fn place_of(h: &BufferHeader) -> u64 {
    load(&h.hot)
}
/// Seconds between two touches that count.
const TOUCH_SECONDS: u64 = 3;

fn load(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}

/// What a walk from the cold end found.
pub(crate) enum Candidate {
    /// This buffer may be claimed: it was neither pinned nor dirty a moment ago.
    Buffer(usize),
    /// Hot and dirty buffers were moved away: look again.
    Again,
    /// Nothing but pinned and dirty buffers.
    None,
}

impl BufferCache {
    /// Puts all buffers on the cold halves of their sets; run once, before any other process exists.
    pub(crate) fn format_sets(&self) {
        let sets = self.sets.len();
        for (n, set) in self.sets.iter().enumerate() {
            let mine: Vec<u64> = (0..self.headers.len()).filter(|b| b % sets == n).map(|b| b as u64 + 1).collect();
            for (i, b) in mine.iter().enumerate() {
                let h = &self.headers[*b as usize - 1];
                h.hotter.store(if i == 0 { 0 } else { mine[i - 1] }, Ordering::Relaxed);
                h.colder.store(mine.get(i + 1).copied().unwrap_or(0), Ordering::Relaxed);
            }
            let ends = [(&set.hottest, mine.first()), (&set.middle, mine.first()), (&set.coldest, mine.last())];
            for (word, end) in ends {
                word.store(end.copied().unwrap_or(0), Ordering::Relaxed);
            }
            set.count.store(mine.len() as u64, Ordering::Relaxed);
            set.hot_target.store(mine.len() as u64 / 2, Ordering::Relaxed);
        }
    }

    pub(crate) fn set_of(&self, buffer: usize) -> usize {
        buffer % self.sets.len()
    }

    fn lock_lru<'p>(&self, p: &'p Process, n: usize, place: Where) -> Section<'p> {
        p.lock(&self.set_latches[n], place, n as u64 + 1)
    }

    fn lock_queue<'p>(&self, p: &'p Process, n: usize, place: Where) -> Section<'p> {
        p.lock(&self.set_latches[self.sets.len() + n], place, n as u64 + 1)
    }

    fn link(&self, index_plus_one: u64) -> Option<&BufferHeader> {
        index_plus_one.checked_sub(1).and_then(|i| self.headers.get(i as usize))
    }

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
        let (h, me) = (&self.headers[buffer], buffer as u64 + 1);
        self.unlink_lru(s, set, h, me);
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

    /// Walks from the cold end of set `n` to a buffer that may be replaced, and moves it to the middle so that the next
    /// search finds another one. Asks DBWR to write when the write list has grown.
    ///
    /// Latches: `cache buffers lru chain`, taken and released.
    pub(crate) fn search_free(&self, p: &Process, n: usize) -> Candidate {
        use wait::Stat;
        let set = &self.sets[n];
        let s = self.lock_lru(p, n, Where::KcbLruAllocate);
        let (mut at, mut hot, mut dirty, mut pinned, mut inspected) = (load(&set.coldest), 0, 0, 0, 0u64);
        let (mut found, before) = (Candidate::None, load(&set.write_length) / WRITE_LIST_STEP);
        while let Some(h) = self.link(at) {
            let buffer = at as usize - 1;
            let hotter = load(&h.hotter);
            inspected += 1;
            let state = h.state();
            if state.is_pinned() || self.is_held(buffer) {
                pinned += 1;
            } else if state.is(DIRTY) {
                self.move_to_write_list(&s, set, buffer);
                dirty += 1;
            } else if h.touch.load(Ordering::Relaxed) & 0xFFFF_FFFF >= HOT_TOUCHES {
                h.touch.store(0, Ordering::Relaxed);
                self.move_to_hot(&s, set, buffer);
                hot += 1;
            } else {
                self.move_to_middle(&s, set, buffer);
                found = Candidate::Buffer(buffer);
                break;
            }
            s.checkpoint(); // the lists are whole after each move
            if hot + dirty == MOVES_MAX {
                found = Candidate::Again;
                break;
            }
            at = hotter;
            if inspected > self.headers.len() as u64 {
                break;
            }
        }
        let grown = load(&set.write_length) / WRITE_LIST_STEP > before;
        drop(s);
        p.count(Stat::FreeBufferInspected, inspected.saturating_sub(1));
        p.count(Stat::DirtyBuffersInspected, dirty as u64);
        p.count(Stat::PinnedBuffersInspected, pinned);
        p.count(Stat::HotBuffersMovedToHeadOfLru, hot as u64);
        if grown {
            p.count(Stat::DbwrMakeFreeRequests, 1);
            self.post_writer(p);
        }
        if hot + dirty > 0 && matches!(found, Candidate::None) { Candidate::Again } else { found }
    }

    /// Appends up to `max` dirty buffers of the write list of set `n`: those that were to be replaced first. What is
    /// clean there goes back to the cold end.
    ///
    /// Latches: `cache buffers lru chain`, taken and released.
    pub(crate) fn write_list_head(&self, p: &Process, n: usize, max: usize, to: &mut Vec<usize>) {
        let set = &self.sets[n];
        if load(&set.write_length) == 0 {
            return;
        }
        let s = self.lock_lru(p, n, Where::KcbLruWrite);
        let (mut at, mut steps, end) = (load(&set.write_first), self.headers.len(), to.len() + max);
        while let Some(h) = self.link(at).filter(|_| to.len() < end && steps > 0) {
            let (buffer, after) = (at as usize - 1, load(&h.colder));
            match h.state() {
                state if state.is(DIRTY) => to.push(buffer),
                state if state.is(WRITING) => {}
                _ => self.move_to_cold(&s, set, buffer),
            }
            s.checkpoint();
            (at, steps) = (after, steps - 1);
        }
    }

    /// Puts those of these buffers that are on a write list back at the cold end: they were written.
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

    /// Puts a buffer at the end of its set's checkpoint queue, if it is not there. The caller owns it exclusively.
    ///
    /// Latches: `checkpoint queue latch`, taken and released.
    pub(crate) fn enqueue_dirty(&self, p: &Process, buffer: usize) {
        let h = &self.headers[buffer];
        if load(&h.queued) == 1 && h.state().is(DIRTY) {
            return; // DBWR takes only clean buffers, and buffers nobody owns, off the queue.
        }
        let set = &self.sets[self.set_of(buffer)];
        let s = self.lock_queue(p, self.set_of(buffer), Where::KcbCheckpointLink);
        if load(&h.queued) == 1 {
            return;
        }
        let last = load(&set.queue_last);
        s.set(&h.queue_before, last);
        s.set(&h.queue_after, 0);
        match self.link(last) {
            Some(l) => s.set(&l.queue_after, buffer as u64 + 1),
            None => s.set(&set.queue_first, buffer as u64 + 1),
        }
        s.set(&set.queue_last, buffer as u64 + 1);
        s.set(&set.queue_length, load(&set.queue_length) + 1);
        s.set(&h.queued, 1);
    }

    fn dequeue(&self, s: &Section, set: &WorkingSet, h: &BufferHeader) {
        let (before, after) = (load(&h.queue_before), load(&h.queue_after));
        match self.link(before) {
            Some(n) => s.set(&n.queue_after, after),
            None => s.set(&set.queue_first, after),
        }
        match self.link(after) {
            Some(n) => s.set(&n.queue_before, before),
            None => s.set(&set.queue_last, before),
        }
        s.set(&set.queue_length, load(&set.queue_length) - 1);
        s.set(&h.queued, 0);
    }

    /// Takes those of these buffers off their queues that are clean now. An owner may be about to make one dirty, a
    /// writer to make one dirty again: they stay.
    ///
    /// Latches: `checkpoint queue latch`, taken and released.
    pub(crate) fn dequeue_clean(&self, p: &Process, buffers: &[usize]) {
        for n in 0..self.sets.len() {
            let s = self.lock_queue(p, n, Where::KcbCheckpointUnlink);
            for buffer in buffers.iter().copied().filter(|b| self.set_of(*b) == n) {
                let h = &self.headers[buffer];
                let state = h.state();
                if load(&h.queued) == 1 && state.owner().is_none() && state.0 & (DIRTY | WRITING) == 0 {
                    self.dequeue(&s, &self.sets[n], h);
                    s.checkpoint();
                }
            }
        }
    }

    /// Appends up to `max` dirty buffers from the head of the checkpoint queue of set `n`, and takes clean ones off the
    /// queue on the way.
    pub(crate) fn queue_head(&self, p: &Process, n: usize, max: usize, to: &mut Vec<usize>) {
        let set = &self.sets[n];
        if max == 0 || load(&set.queue_length) == 0 {
            return;
        }
        let s = self.lock_queue(p, n, Where::KcbCheckpointScan);
        let (mut at, end) = (load(&set.queue_first), to.len() + max);
        let mut steps = self.headers.len();
        while let Some(h) = self.link(at) {
            let after = load(&h.queue_after);
            let state = h.state();
            if state.is(DIRTY) {
                to.push(at as usize - 1);
            } else if state.owner().is_none() && !state.is(WRITING) {
                // An owner may be about to make it dirty, a writer to make it dirty again: they stay.
                self.dequeue(&s, set, h);
                s.checkpoint();
            }
            at = after;
            steps = steps.saturating_sub(1);
            if to.len() >= end || steps == 0 {
                break;
            }
        }
    }

    /// Buffers on all write lists.
    pub fn write_list_length(&self) -> u64 {
        self.sets.iter().map(|s| load(&s.write_length)).sum()
    }

    /// Buffers on all checkpoint queues.
    pub fn queue_length(&self) -> u64 {
        self.sets.iter().map(|s| load(&s.queue_length)).sum()
    }

    /// Checks both lists of every set; only valid while nobody else uses the cache.
    pub(crate) fn check_sets(&self) -> Result<(), String> {
        for (n, set) in self.sets.iter().enumerate() {
            self.check_lru(n, set)?;
            self.check_write_list(n, set)?;
            self.check_queue(n, set)?;
        }
        Ok(())
    }

    fn check_lru(&self, n: usize, set: &WorkingSet) -> Result<(), String> {
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

    fn check_write_list(&self, n: usize, set: &WorkingSet) -> Result<(), String> {
        let (mut at, mut before, mut count) = (load(&set.write_first), 0, 0);
        while let Some(h) = self.link(at) {
            count += 1;
            if load(&h.hot) != WRITE_LIST || load(&h.hotter) != before || count > self.headers.len() as u64 {
                return Err(format!("buffer {} is wrongly linked on write list {n}", at - 1));
            }
            (before, at) = (at, load(&h.colder));
        }
        let mine = (0..self.headers.len()).filter(|b| self.set_of(*b) == n).count() as u64;
        let want = (load(&set.write_length), load(&set.write_last), mine);
        if (count, before, count + load(&set.count)) != want {
            return Err(format!("write list {n}: {count} buffers, the last {before}, set says {want:?}"));
        }
        Ok(())
    }

    fn check_queue(&self, n: usize, set: &WorkingSet) -> Result<(), String> {
        let (mut at, mut before, mut count) = (load(&set.queue_first), 0, 0);
        while let Some(h) = self.link(at) {
            if load(&h.queued) != 1 || load(&h.queue_before) != before {
                return Err(format!("buffer {} is wrongly linked on checkpoint queue {n}", at - 1));
            }
            count += 1;
            if count > self.headers.len() as u64 {
                return Err(format!("checkpoint queue {n} has a circle"));
            }
            (before, at) = (at, load(&h.queue_after));
        }
        if (count, before) != (load(&set.queue_length), load(&set.queue_last)) {
            return Err(format!("checkpoint queue {n} has {count} buffers, set says {}", load(&set.queue_length)));
        }
        let lost = (0..self.headers.len())
            .filter(|b| self.set_of(*b) == n)
            .find(|b| self.headers[*b].state().is(DIRTY) && load(&self.headers[*b].queued) == 0);
        lost.map_or(Ok(()), |b| Err(format!("dirty buffer {b} is not on checkpoint queue {n}")))
    }
}
