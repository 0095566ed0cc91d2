//! The checkpoint queue of a working set: its dirty buffers in the order of their first changes.
//!
//! A buffer is on the queue of its set exactly while it is DIRTY (R7). The queue is ordered by `low_rba`, the redo
//! address of the first change that is in no written copy, so the head of the queue is the address from which a
//! recovery would need redo for the buffers of this set. State and queue change together, under the latch of the
//! buffer's chain and that of the queue:
//!
//! | step | state | queue |
//! |---|---|---|
//! | a change is published | DIRTY, unless it is already | in at its place, which is near the end |
//! | a write begins | DIRTY off, WRITING on | out; before that, `writing_rba` of the writer covers it |
//! | a write ends | WRITING off | |
//! | a write fails | WRITING off, DIRTY on | in with its old `low_rba`, which is near the head |
//! | the block is discarded | DIRTY off | out |
//!
//! **The oldest change that is not in the files** ([`BufferCache::oldest_change`]) is the minimum over the groups that
//! have their place in the redo and have not marked their blocks, the heads of the queues, and the writes in progress,
//! read in this order. A change goes from a group to a queue and from there to a write, so none is missed. Only a
//! failed write goes back, and a count of failed writes shows that.
//!
//! A change of a temporary file has no redo. It is queued at the end with the address of the buffer before it, or that
//! of the newest announced checkpoint if it is higher, so such changes do not keep a checkpoint from completing.
//!
//! Rejected: a queue that a buffer joins before it is DIRTY and leaves some time after it was written, because its
//! order is not that of the changes and the oldest change has to be searched in all headers; one queue for the whole
//! instance, because each first change of a block takes its latch.

use crate::BufferCache;
use crate::header::{BufferHeader, DIRTY, WRITING};
use crate::set::{WorkingSet, load};
use latch::Where;
use process::{Process, Section};
use redo::Rba;
use std::sync::atomic::Ordering;

impl BufferCache {
    /// Puts a buffer that becomes dirty on its set's queue. `low_rba` is the redo address of the change; 0 for a change
    /// without redo. The latch of the buffer's chain is held; `s` is the section of its queue, which ends together with
    /// that of the chain.
    pub(crate) fn link_queue(&self, s: &Section, buffer: usize, low_rba: u64) {
        let (set, h, me) = (&self.sets[self.set_of(buffer)], &self.headers[buffer], buffer as u64 + 1);
        let low_rba = match low_rba {
            0 => self.link(load(&set.queue_last)).map_or(0, |h| load(&h.low_rba)).max(self.redo.image_before().0),
            rba => rba,
        };
        let (before, after) = self.place_in_queue(set, low_rba);
        s.set(&h.low_rba, low_rba);
        s.set(&h.queue_before, before);
        s.set(&h.queue_after, after);
        match self.link(before) {
            Some(b) => s.set(&b.queue_after, me),
            None => s.set(&set.queue_first, me),
        }
        match self.link(after) {
            Some(a) => s.set(&a.queue_before, me),
            None => s.set(&set.queue_last, me),
        }
        s.set(&set.queue_length, load(&set.queue_length) + 1);
    }

    /// The neighbours between which `low_rba` belongs, after equal values. New changes belong near the end: only
    /// changes with a later place in the redo that were published faster are behind them. A failed write belongs near
    /// the head. So the search proceeds from both ends.
    fn place_in_queue(&self, set: &WorkingSet, low_rba: u64) -> (u64, u64) {
        let (mut low, mut high) = (load(&set.queue_first), load(&set.queue_last));
        loop {
            match self.link(high) {
                Some(h) if load(&h.low_rba) > low_rba => high = load(&h.queue_before),
                Some(h) => return (high, load(&h.queue_after)),
                None => return (0, load(&set.queue_first)),
            }
            match self.link(low) {
                Some(l) if load(&l.low_rba) <= low_rba => low = load(&l.queue_after),
                Some(l) => return (load(&l.queue_before), low),
                None => return (load(&set.queue_last), 0),
            }
        }
    }

    /// Takes a dirty buffer off its set's queue; latches as for [`BufferCache::link_queue`].
    pub(crate) fn unlink_queue(&self, s: &Section, buffer: usize) {
        let (set, h) = (&self.sets[self.set_of(buffer)], &self.headers[buffer]);
        let (before, after) = (load(&h.queue_before), load(&h.queue_after));
        match self.link(before) {
            Some(b) => s.set(&b.queue_after, after),
            None => s.set(&set.queue_first, after),
        }
        match self.link(after) {
            Some(a) => s.set(&a.queue_before, before),
            None => s.set(&set.queue_last, before),
        }
        s.set(&set.queue_length, load(&set.queue_length) - 1);
    }

    /// Appends up to `max` buffers from the head of the queue of set `n` whose first change is before `before`. Skips
    /// buffers whose last write is still in progress, because they cannot be written now.
    ///
    /// Latches: `checkpoint queue latch`, taken and released.
    pub(crate) fn queue_head(&self, p: &Process, n: usize, before: Rba, max: usize, to: &mut Vec<usize>) {
        let set = &self.sets[n];
        if max == 0 || load(&set.queue_length) == 0 {
            return;
        }
        let _s = self.lock_queue(p, n, Where::KcbCheckpointScan);
        let (mut at, end) = (load(&set.queue_first), to.len() + max);
        while let Some(h) = self.link(at).filter(|h| to.len() < end && load(&h.low_rba) < before.0) {
            if !h.state().is(WRITING) {
                to.push(at as usize - 1);
            }
            at = load(&h.queue_after);
        }
    }

    /// The redo address of the oldest change that may not be in the files; `None` when all changes published before the
    /// call are. Writes made by then need a sync to be on the device.
    ///
    /// Latches: `checkpoint queue latch` of each set, one at a time; none on entry or return.
    pub fn oldest_change(&self, p: &Process) -> Option<Rba> {
        loop {
            let failed = self.figures.failed_writes.load(Ordering::SeqCst);
            // Acquire pairs with the Release that ends a group: its blocks are on the queues.
            let groups = self.areas.iter().map(|a| a.group_rba.load(Ordering::Acquire)).filter(|rba| *rba > 0).min();
            let queues = (0..self.sets.len()).filter_map(|n| self.queue_low(p, n)).min();
            let writes = self.areas.iter().filter_map(|a| a.writing_rba.load(Ordering::SeqCst).checked_sub(1)).min();
            if self.figures.failed_writes.load(Ordering::SeqCst) == failed {
                return [groups, queues, writes].into_iter().flatten().min().map(Rba);
            }
        }
    }

    /// The oldest change in the queue of set `n`.
    fn queue_low(&self, p: &Process, n: usize) -> Option<u64> {
        let _s = self.lock_queue(p, n, Where::KcbCheckpointScan);
        self.link(load(&self.sets[n].queue_first)).map(|h| load(&h.low_rba))
    }

    /// Dirty buffers: those on all checkpoint queues.
    pub fn queue_length(&self) -> u64 {
        self.sets.iter().map(|s| load(&s.queue_length)).sum()
    }

    /// Dirty buffers for which `which` is true.
    ///
    /// Latches: `checkpoint queue latch` of each set, one at a time; none on entry or return.
    pub(crate) fn count_dirty(&self, p: &Process, which: &dyn Fn(&BufferHeader) -> bool) -> usize {
        let in_set = |n: usize| {
            let _s = self.lock_queue(p, n, Where::KcbCheckpointScan);
            let first = self.link(load(&self.sets[n].queue_first));
            let queue = std::iter::successors(first, |h| self.link(load(&h.queue_after)));
            queue.filter(|h| which(h)).count()
        };
        (0..self.sets.len()).map(in_set).sum()
    }

    pub(crate) fn check_queue(&self, n: usize, set: &WorkingSet) -> Result<(), String> {
        let (mut at, mut before, mut count, mut low) = (load(&set.queue_first), 0, 0, 0);
        while let Some(h) = self.link(at) {
            let is_here = self.set_of(at as usize - 1) == n && h.state().is(DIRTY);
            if !is_here || load(&h.queue_before) != before || load(&h.low_rba) < low {
                return Err(format!("buffer {} is wrongly linked on checkpoint queue {n}", at - 1));
            }
            count += 1;
            if count > load(&set.queue_length) {
                return Err(format!("checkpoint queue {n} has a circle"));
            }
            (before, low, at) = (at, load(&h.low_rba), load(&h.queue_after));
        }
        let dirty = self.used().filter(|b| self.set_of(*b) == n && self.headers[*b].state().is(DIRTY)).count() as u64;
        if (count, before, count) != (load(&set.queue_length), load(&set.queue_last), dirty) {
            let says = load(&set.queue_length);
            return Err(format!("checkpoint queue {n} has {count} of {dirty} dirty buffers, set says {says}"));
        }
        Ok(())
    }
}
