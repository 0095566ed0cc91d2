//! Writing dirty buffers: the work of DBWn, and checkpoints.
//!
//! Each DBWn writes for a share of the working sets ([`Share`]): first buffers that are to be replaced, then those from
//! the heads of the checkpoint queues. A process that makes a checkpoint writes from the heads of all queues up to its
//! announced position, asks all DBWn to do the same for theirs, and is done when the oldest change that is not in the
//! files is after that position. Neither needs a scan over all buffers.
//!
//! A buffer is written from a private copy, taken by a versioned read while the buffer is marked WRITING, so that other
//! processes continue to read and change it. DIRTY is cleared before the copy is taken: a later change sets it again,
//! and the buffer is written once more later (R9). The redo address of the first change that is not on disk moves with
//! the two marks: `low_rba` belongs to DIRTY, `write_rba` to WRITING.
//!
//! A list is written in five steps: all copies are taken; the writer waits until the redo of the newest one is on disk;
//! the copies go to the double-write area; neighbouring blocks go to the file in one write each, one after the other or
//! all at the same time ([`BufferCache::write_asynchronously`]); the marks are cleared.
//!
//! A block that redo after the newest announced checkpoint makes whole needs no copy in the area: recovery makes it
//! without reading it. A checkpoint that is announced later waits until the block is in place.

use crate::area::{ProcessArea, WRITES_MAX};
use crate::cache::slot_of;
use crate::header::*;
use crate::set::load;
use crate::{BufferCache, Share};
use block::{BlockKind, BlockView};
use datafile::AsyncWriter;
use latch::Where;
use os::blocks::Blocks;
use process::{Process, SegmentStat};
use redo::Rba;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::Duration;
use types::{Ora, Rdba, Result};
use wait::{Event, Stat};

/// Buffers from the heads of the queues that a checkpoint sorts at a time.
const WINDOW_MAX: usize = 16 * WRITES_MAX;

/// The result of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Recovery needs no redo before this address.
    pub rba: Rba,
    /// Buffers that were written for it.
    pub buffers: u64,
}

/// A copy of a buffer to be written to the file.
struct Copy<'a> {
    word: &'a AtomicU64,
    buffer: usize,
    at: Rdba,
    /// The header's `whole_rba` from before the copy was taken.
    whole_rba: u64,
    written: bool,
}

/// Gives up the unwritten buffers when a wait or a write fails: they are dirty again.
struct Writes<'a> {
    cache: &'a BufferCache,
    p: &'a Process,
    copies: Vec<Copy<'a>>,
}

impl Drop for Writes<'_> {
    fn drop(&mut self) {
        for copy in &self.copies {
            self.cache.end_write(self.p, slot_of(self.p), copy.word, copy.buffer, copy.written);
        }
        self.cache.area(self.p).writing_rba.store(0, Ordering::SeqCst); // nothing is being written
    }
}

impl BufferCache {
    /// Writes up to `max` dirty buffers: those of the write lists first, then the oldest of the checkpoint queues.
    /// Returns the number written; 0 means that no buffer could be written now.
    ///
    /// Waits: `db file parallel write`, those of forcing redo. Latches: none on entry or return.
    ///
    /// # Errors
    /// ORA-01114 when the device fails; the buffers stay dirty. Those of forcing redo.
    pub fn write_batch(&self, p: &Process, max: usize) -> Result<usize> {
        let written = self.write_replaced(p, Share::ALL, max)?;
        let left = max.min(WRITES_MAX).saturating_sub(written);
        Ok(written + if left > 0 { self.write_older(p, Share::ALL, Rba(u64::MAX), left)? } else { 0 })
    }

    /// Writes up to `max` dirty buffers of the write lists of these sets, which keep processes from finding free ones.
    ///
    /// # Errors
    /// As [`BufferCache::write_batch`].
    pub fn write_replaced(&self, p: &Process, share: Share, max: usize) -> Result<usize> {
        let mut list =
            self.collect(p, share, max.min(WRITES_MAX), &|n, max, list| self.write_list_head(p, n, max, list));
        p.count(Stat::DbwrLruScans, 1);
        let written = self.write_list(p, &mut list)?;
        p.count(Stat::PhysicalWritesNonCheckpoint, written as u64);
        Ok(written)
    }

    /// Writes up to `max` dirty buffers of these sets whose first change is before `before`, the oldest first: a coming
    /// checkpoint would have to write them.
    ///
    /// # Errors
    /// As [`BufferCache::write_batch`].
    pub fn write_older(&self, p: &Process, share: Share, before: Rba, max: usize) -> Result<usize> {
        let max = max.min(WRITES_MAX);
        let mut list = self.collect(p, share, max, &|n, max, list| self.queue_head(p, n, before, max, list));
        self.write_list(p, &mut list)
    }

    /// Up to `max` buffers that `take` finds in the sets of a share. Each call begins with another set, so that none is
    /// always last.
    fn collect(
        &self,
        p: &Process,
        share: Share,
        max: usize,
        take: &dyn Fn(usize, usize, &mut Vec<usize>),
    ) -> Vec<usize> {
        let turn = &self.area(p).write_turn;
        let before = turn.load(Ordering::Relaxed);
        turn.store(before.wrapping_add(1), Ordering::Relaxed);
        let mut list = Vec::with_capacity(max);
        for n in self.sets_of(share, before as usize) {
            take(n, max - list.len(), &mut list);
        }
        list
    }

    /// The address before which DBWn should write all changes, for checkpoints in progress.
    pub fn write_before_rba(&self) -> Rba {
        Rba(self.figures.write_before.load(Ordering::Acquire))
    }

    /// Writes everything that was dirty when this was called and waits until it is on the device.
    ///
    /// # Errors
    /// As [`BufferCache::checkpoint`].
    pub fn flush(&self, p: &Process) -> Result<()> {
        self.checkpoint(p).map(drop)
    }

    /// Announces a checkpoint and writes every change before it: on return all of them are on the device. The caller
    /// stores the checkpoint in the control file.
    ///
    /// Waits: `db file parallel write`, `write complete waits`, those of forcing redo. Latches: none on entry or
    /// return.
    ///
    /// # Errors
    /// ORA-01114 when the device fails, those of forcing redo: there is no checkpoint then.
    pub fn checkpoint(&self, p: &Process) -> Result<Checkpoint> {
        p.count(Stat::DbwrCheckpoints, 1);
        let kept = self.files.covers_kept();
        let rba = self.redo.announce(p);
        self.wait_for_groups(p, rba);
        let buffers = self.write_before(p, rba)?;
        // Also redo that changes no block: nothing may be missing after the position where a recovery begins.
        self.redo.force(p, rba)?;
        faults::point("checkpoint-written");
        // The sync puts the written blocks on the device, so its time is part of the write.
        let wait = p.wait(Event::DbFileParallelWrite, 0, 0, u64::from(u32::MAX));
        self.files.sync()?;
        drop(wait);
        self.files.settle_covers(kept);
        Ok(Checkpoint { rba, buffers })
    }

    /// Waits until every group whose record begins before `rba` has marked its blocks dirty.
    fn wait_for_groups(&self, p: &Process, rba: Rba) {
        for area in self.areas {
            // A group does not wait once it has its place in the redo; PMON finishes a dead one.
            while (1..rba.0).contains(&area.group_rba.load(Ordering::Acquire)) {
                os::clock::sleep(Duration::from_micros(50));
                p.help_the_dead();
            }
        }
    }

    /// Writes every buffer with a change before `rba`; returns the number that this process wrote. Also asks all DBWn
    /// to write theirs, but does not depend on them.
    fn write_before(&self, p: &Process, rba: Rba) -> Result<u64> {
        if !self.redo.wanted() {
            return self.write_present(p);
        }
        self.figures.write_before.fetch_max(rba.0, Ordering::AcqRel);
        self.post_writer(p, None);
        let mut written = 0;
        while self.oldest_change(p).is_some_and(|oldest| oldest < rba) {
            let before = written;
            written += self.write_window(p, rba, usize::MAX)?;
            if written == before {
                // The rest is being published, or written by another process.
                self.wait_for_write(p);
            }
        }
        Ok(written)
    }

    /// For a cache without redo: changes have no addresses, and the queues are in order of time. Writes their contents.
    fn write_present(&self, p: &Process) -> Result<u64> {
        // By set: new changes of one set must not count for earlier ones of another.
        let present: Vec<u64> = self.sets.iter().map(|set| load(&set.queue_length)).collect();
        let mut written = 0;
        for (n, mut left) in present.into_iter().enumerate() {
            while left > 0 && load(&self.sets[n].queue_length) > 0 {
                let mut list = Vec::new();
                self.queue_head(p, n, Rba(u64::MAX), (left as usize).min(WINDOW_MAX), &mut list);
                let done = self.write_in_order(p, &mut list)?;
                (written, left) = (written + done, left.saturating_sub(done));
                if done == 0 {
                    self.wait_for_write(p);
                }
            }
        }
        for area in self.areas {
            while area.writing_rba.load(Ordering::SeqCst) != 0 {
                self.wait_for_write(p);
            }
        }
        Ok(written)
    }

    /// Writes up to `max` buffers with a change before `rba` from the heads of all queues: many at a time, so that
    /// neighbouring blocks are written together.
    fn write_window(&self, p: &Process, rba: Rba, max: usize) -> Result<u64> {
        let max = max.min(WINDOW_MAX);
        let mut list = self.collect(p, Share::ALL, max, &|n, max, list| self.queue_head(p, n, rba, max, list));
        self.write_in_order(p, &mut list)
    }

    /// Writes these buffers in order of their addresses, as far as they can be written now; returns how many.
    fn write_in_order(&self, p: &Process, list: &mut [usize]) -> Result<u64> {
        list.sort_by_cached_key(|b| self.headers[*b].block()); // read once each: a buffer may get another block
        let mut written = 0;
        for chunk in list.chunks_mut(WRITES_MAX) {
            written += self.write_list(p, chunk)? as u64;
        }
        p.count(Stat::DbwrCheckpointBuffersWritten, written);
        Ok(written)
    }

    fn wait_for_write(&self, p: &Process) {
        let oldest = (0..self.sets.len()).find_map(|n| self.link(load(&self.sets[n].queue_first)));
        let at = oldest.map_or(Rdba(0), BufferHeader::block);
        let (file, block) = self.files.shown(at);
        let _w = p.wait(Event::WriteCompleteWaits, file.into(), block.into(), 0);
        os::clock::sleep(Duration::from_micros(200));
        p.help_the_dead();
    }

    /// Writes these buffers, at most [`WRITES_MAX`], as far as they can be written now; returns how many.
    fn write_list(&self, p: &Process, buffers: &mut [usize]) -> Result<usize> {
        if buffers.is_empty() {
            return Ok(0);
        }
        buffers.sort_by_cached_key(|b| self.headers[*b].block());
        let mut images = self.take_images(buffers.len());
        let (writes, newest) = self.copy_all(p, buffers, &mut images);
        let written = self.write_copies(p, writes, newest, &mut images);
        self.give_images(images);
        self.give_back_written(p, buffers);
        written
    }

    /// Marks the buffers and takes their copies, one behind the other; also the address of the newest change among
    /// them.
    fn copy_all<'a>(&'a self, p: &'a Process, buffers: &[usize], images: &mut Blocks) -> (Writes<'a>, Rba) {
        let area: &'static ProcessArea = self.area(p);
        let mut writes = Writes { cache: self, p, copies: Vec::with_capacity(buffers.len()) };
        let mut newest = Rba(0);
        for (word, buffer) in area.writes.iter().zip(buffers.iter().copied()) {
            if !self.begin_write(p, word, buffer) {
                continue;
            }
            let n = writes.copies.len();
            let image = &mut images.bytes_mut()[n * self.block_size..(n + 1) * self.block_size];
            let whole_rba = self.headers[buffer].whole_rba.load(Ordering::Acquire); // pairs with the store of `release`
            if self.copy_for_write(buffer, image) {
                let at = self.headers[buffer].block();
                newest = newest.max(Rba(block::BlockView::of_bytes(image).rba()));
                writes.copies.push(Copy { word, buffer, at, whole_rba, written: false });
            } else {
                self.end_write(p, slot_of(p), word, buffer, false);
            }
        }
        (writes, newest)
    }

    fn write_copies(&self, p: &Process, mut writes: Writes, newest: Rba, images: &mut Blocks) -> Result<usize> {
        faults::point("cache-copies-taken");
        if newest > self.redo.on_disk() {
            self.redo.force(p, newest)?;
        }
        let size = self.block_size;
        let images = &mut images.bytes_mut()[..writes.copies.len() * size];
        images.chunks_mut(size).for_each(block::seal);
        let runs = runs(&writes.copies);
        let wait = p.wait(Event::DbFileParallelWrite, runs.len() as u64, 0, u64::from(u32::MAX));
        let cover = self.cover(p, &writes.copies, images)?;
        match self.async_writer.lock().ok().as_mut().and_then(|writer| writer.as_mut()) {
            Some(writer) => {
                drop(wait);
                self.write_together(p, writer, &mut writes, &runs, images)?;
            }
            None => {
                self.write_in_turn(p, &mut writes, &runs, images)?;
                drop(wait);
            }
        }
        cover.done();
        Ok(writes.copies.len())
    }

    /// Writes the runs one after the other, up to the first that fails.
    fn write_in_turn(&self, p: &Process, writes: &mut Writes, runs: &[Range<usize>], images: &[u8]) -> Result<()> {
        for run in runs {
            let (bytes, began) = (self.images_of(run, images), os::clock::now_ns());
            let done = self.files.write_blocks(writes.copies[run.start].at, bytes);
            self.note_run(p, writes, run, bytes, done, os::clock::now_ns() - began)?;
        }
        Ok(())
    }

    /// Writes all runs at the same time. When some fail the error is that of the first.
    fn write_together(
        &self,
        p: &Process,
        writer: &mut AsyncWriter,
        writes: &mut Writes,
        runs: &[Range<usize>],
        images: &[u8],
    ) -> Result<()> {
        let list: Vec<(Rdba, &[u8])> =
            runs.iter().map(|run| (writes.copies[run.start].at, self.images_of(run, images))).collect();
        let (count, began) = (runs.len() as u64, os::clock::now_ns());
        let mut wait = Some(p.wait(Event::DbFileAsyncIoSubmit, count, 0, 0));
        let results = self.files.write_runs(writer, &list, &mut || {
            wait = None;
            faults::point("cache-writes-submitted");
            wait = Some(p.wait(Event::DbFileParallelWrite, count, 0, u64::from(u32::MAX)));
        });
        drop(wait);
        let each_ns = (os::clock::now_ns() - began) / count.max(1);
        let mut outcome = Ok(());
        for ((run, (_, bytes)), done) in runs.iter().zip(list).zip(results) {
            outcome = outcome.and(self.note_run(p, writes, run, bytes, done, each_ns));
        }
        outcome
    }

    /// The copies of a run.
    fn images_of<'a>(&self, run: &Range<usize>, images: &'a [u8]) -> &'a [u8] {
        &images[run.start * self.block_size..run.end * self.block_size]
    }

    /// Counts the write of a run and notes that its buffers are written.
    fn note_run(
        &self,
        p: &Process,
        writes: &mut Writes,
        run: &Range<usize>,
        bytes: &[u8],
        done: Result<()>,
        ns: u64,
    ) -> Result<()> {
        match done {
            // The file went offline after an error: changes that are not in the file are in the redo.
            Err(e) if e.is(376) => {}
            done => done?,
        }
        faults::point("cache-some-blocks");
        self.note_write(self.files.shown_file(writes.copies[run.start].at.file()), run.len() as u64, ns);
        self.count_writes(p, bytes);
        for copy in &mut writes.copies[run.clone()] {
            copy.written = true;
            self.sets[self.set_of(copy.buffer)].written.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// From now on this process begins the writes of a list together and then waits for all of them. Its children must
    /// not write.
    ///
    /// # Errors
    /// The system has no asynchronous writes: they go on one after the other.
    pub fn write_asynchronously(&self, p: &Process) -> os::OsResult<()> {
        let writer = AsyncWriter::new(slot_of(p))?;
        if let Ok(mut own) = self.async_writer.lock() {
            *own = Some(writer);
        }
        Ok(())
    }

    /// Puts copies of the blocks that need it into the double-write area.
    fn cover(&self, p: &Process, copies: &[Copy], images: &[u8]) -> Result<datafile::Cover<'_>> {
        if !self.redo.wanted() {
            return self.files.cover(slot_of(p), 0, &[], &mut || Ok(()));
        }
        // Read behind the marks of all buffers: a checkpoint that is announced later waits for them.
        let announced = self.redo.image_before().0;
        let needs = |c: &Copy| !self.files.is_temporary(c.at.file()) && (c.whole_rba == 0 || c.whole_rba < announced);
        let blocks = copies.iter().zip(images.chunks(self.block_size)).filter(|(c, _)| needs(c));
        let blocks: Vec<&[u8]> = blocks.map(|(_, image)| image).collect();
        self.files.cover(slot_of(p), announced, &blocks, &mut || {
            os::clock::sleep(Duration::from_micros(200));
            p.help_the_dead();
            Ok(())
        })
    }

    fn count_writes(&self, p: &Process, bytes: &[u8]) {
        let blocks = (bytes.len() / self.block_size) as u64;
        for stat in [Stat::PhysicalWrites, Stat::PhysicalWritesFromCache] {
            p.count(stat, blocks);
        }
        for stat in [Stat::PhysicalWriteIoRequests, Stat::PhysicalWriteTotalIoRequests] {
            p.count(stat, 1);
        }
        for stat in [Stat::PhysicalWriteBytes, Stat::PhysicalWriteTotalBytes] {
            p.count(stat, bytes.len() as u64);
        }
        for (n, block) in bytes.chunks(self.block_size).enumerate() {
            let object = BlockView::of_bytes(block).obj();
            self.segment_statistics.note(p, object, SegmentStat::PhysicalWrites, 1);
            self.segment_statistics.note(p, object, SegmentStat::PhysicalWriteRequests, u64::from(n == 0));
        }
        let kinds = || bytes.chunks(self.block_size).map(|b| BlockKind::from_code(b[0]));
        p.count(Stat::DbwrUndoBlockWrites, kinds().filter(|k| *k == Some(BlockKind::Undo)).count() as u64);
        let headers = kinds().filter(|k| *k == Some(BlockKind::UndoHeader)).count();
        p.count(Stat::DbwrTransactionTableWrites, headers as u64);
    }

    /// Marks a dirty buffer as being written by this process and takes it off the checkpoint queue; false when it is
    /// clean, being written or not yet published.
    ///
    /// Latches: `cache buffers chains`, and `checkpoint queue latch` in it; none on return.
    fn begin_write(&self, p: &Process, word: &AtomicU64, buffer: usize) -> bool {
        let h = &self.headers[buffer];
        let at = h.block();
        let s = self.lock_buffer(p, buffer, at, Where::KcbWriteBegin);
        let state = h.state();
        if h.block() != at || !state.is(DIRTY) || state.is(WRITING) || state.is(READING) {
            return false;
        }
        let queue = self.lock_queue_of(p, buffer, Where::KcbCheckpointUnlink);
        let low = load(&h.low_rba);
        // A look for the oldest change goes through the queues first: it finds this one there or here.
        let (writing, bound) = (&self.area(p).writing_rba, low.saturating_add(1));
        if !(1..=bound).contains(&load(writing)) {
            writing.store(bound, Ordering::SeqCst);
        }
        self.unlink_queue(&queue, buffer);
        s.set(word, buffer as u64 + 1);
        s.set(&h.write_rba, low);
        s.set(&h.state, state.clear(DIRTY).set(WRITING).0);
        queue.end_with(s);
        true
    }

    /// Takes a consistent copy of the frame; false when it keeps changing.
    fn copy_for_write(&self, buffer: usize, image: &mut [u8]) -> bool {
        let h = &self.headers[buffer];
        for _ in 0..1000 {
            let version = h.version.load(Ordering::Acquire); // pairs with the last store of `publish`
            if version & 1 == 0 {
                block::BlockView::of_frame(self.frame(buffer)).copy_block(image);
                fence(Ordering::Acquire); // pairs with the Release fence of `publish`
                if h.version.load(Ordering::Relaxed) == version {
                    return true;
                }
            }
            os::cpu::relax();
        }
        false
    }

    /// Ends the write that process slot `slot` noted in `word`; a buffer whose write failed is dirty again.
    pub(crate) fn end_write(&self, p: &Process, slot: usize, word: &AtomicU64, buffer: usize, written: bool) {
        debug_assert!(self.areas[slot].writes.iter().any(|w| std::ptr::eq(w, word)), "a note of that process");
        let h = &self.headers[buffer];
        let s = self.lock_buffer(p, buffer, h.block(), Where::KcbWriteDone);
        let state = h.state().clear(WRITING);
        s.set(word, 0);
        if written {
            s.set(&h.state, state.0);
            drop(s);
        } else {
            let queue = self.lock_queue_of(p, buffer, Where::KcbCheckpointLink);
            if state.is(DIRTY) {
                self.unlink_queue(&queue, buffer);
            }
            self.link_queue(&queue, buffer, load(&h.write_rba));
            s.set(&h.state, state.set(DIRTY).0);
            queue.end_with(s);
            self.figures.failed_writes.fetch_add(1, Ordering::SeqCst); // before `writing_rba` goes
        }
        self.wake(h);
    }

    /// Room for copies of `n` blocks, whole pages, which the process keeps from one list to the next.
    pub(crate) fn take_images(&self, n: usize) -> Blocks {
        let kept = self.write_images.lock().ok().and_then(|mut kept| kept.take());
        let mut images = kept.unwrap_or_default();
        images.grow(n * self.block_size);
        images
    }

    pub(crate) fn give_images(&self, images: Blocks) {
        if let Ok(mut kept) = self.write_images.lock() {
            *kept = Some(images);
        }
    }

    /// Writes everything and notes a clean shutdown at `scn` in the control file.
    ///
    /// # Errors
    /// ORA-01114, ORA-00200. ORA-00600 when a buffer is still dirty: another process still changes blocks.
    pub fn shut_down(&self, p: &Process, scn: types::Scn) -> Result<()> {
        self.flush(p)?;
        // Blocks of temporary tables need not be written.
        let dirty = self.count_dirty(p, &|h| !self.files.is_temporary(h.block().file()));
        if dirty > 0 {
            return Err(Ora::internal(format_args!("{dirty} buffers are dirty at shutdown")));
        }
        self.files.set_clean(true, scn)
    }
}

/// Runs of neighbouring blocks.
fn runs(copies: &[Copy]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (n, copy) in copies.iter().enumerate() {
        let next = |r: &Range<usize>| {
            let last = copies[r.end - 1].at;
            last.file() == copy.at.file() && last.block() + 1 == copy.at.block()
        };
        match runs.last_mut().filter(|r| next(r)) {
            Some(run) => run.end = n + 1,
            None => runs.push(n..n + 1),
        }
    }
    runs
}
