//! Writing dirty buffers: the work of DBWR, and what a checkpoint does.
//!
//! A buffer is written from a private copy, taken by a versioned read while the buffer is marked WRITING, so that others go on
//! reading and changing it. DIRTY is cleared before the copy is taken: a change made after that sets it again and the buffer is
//! written once more later. The buffer stays on the checkpoint queue until it is found clean there.

use crate::header::*;
use crate::pins::WRITES_MAX;
use crate::{BufferCache, slot_of};
use block::Image;
use latch::Where;
use process::Process;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use types::{Ora, Result};
use wait::{Event, Stat};

impl BufferCache {
    /// Writes up to `max` dirty buffers: those at the cold ends first, then the oldest of the checkpoint queues. Returns how
    /// many were written; 0 means that there was nothing to write that could be written now.
    ///
    /// Waits: `db file parallel write`. Latches: none on entry or return.
    ///
    /// # Errors
    /// ORA-01114 when the device fails; the buffers stay dirty.
    pub fn write_batch(&self, p: &Process, max: usize) -> Result<usize> {
        let max = max.min(WRITES_MAX);
        let mut list = Vec::with_capacity(max);
        for n in 0..self.sets.len() {
            self.cold_dirty(p, n, max - list.len(), &mut list);
        }
        let cold = list.len();
        for n in 0..self.sets.len() {
            self.queue_head(p, n, max.saturating_sub(list.len()), &mut list);
        }
        p.count(Stat::DbwrLruScans, 1);
        p.count(Stat::PhysicalWritesNonCheckpoint, cold as u64);
        self.write_list(p, &list)
    }

    /// Writes everything that was dirty when this was called and waits until it is on the device.
    ///
    /// # Errors
    /// ORA-01114 when the device fails.
    pub fn flush(&self, p: &Process) -> Result<()> {
        p.count(Stat::DbwrCheckpoints, 1);
        for n in 0..self.sets.len() {
            let mut list = Vec::new();
            self.queue_head(p, n, usize::MAX / 2, &mut list);
            for chunk in list.chunks(WRITES_MAX) {
                self.write_surely(p, chunk)?;
            }
        }
        self.files.sync()
    }

    /// Writes these buffers, waiting for publications in progress and for other writers.
    fn write_surely(&self, p: &Process, buffers: &[usize]) -> Result<()> {
        for attempt in 0u64.. {
            let written = self.write_list(p, buffers)?;
            p.count(Stat::DbwrCheckpointBuffersWritten, written as u64);
            let left = buffers.iter().any(|b| {
                let state = self.headers[*b].state();
                state.is(WRITING) || (state.is(DIRTY) && attempt < 3)
            });
            if !left {
                break;
            }
            os::clock::sleep(std::time::Duration::from_micros(200));
        }
        Ok(())
    }

    fn write_list(&self, p: &Process, buffers: &[usize]) -> Result<usize> {
        let area = self.area(p);
        let mut image = Image::new(self.block_size);
        let (mut written, mut failed) = (0, None);
        for (word, buffer) in area.writes.iter().zip(buffers.iter().copied()) {
            if !self.begin_write(p, word, buffer) {
                continue;
            }
            let done = self.copy_for_write(buffer, &mut image);
            let done = match done {
                false => None,
                true => Some(self.write_image(p, &mut image)),
            };
            self.end_write(p, slot_of(p), word, buffer, matches!(done, Some(Ok(()))));
            match done {
                Some(Ok(())) => written += 1,
                Some(Err(e)) => failed = Some(e),
                None => {}
            }
        }
        failed.map_or(Ok(written), Err)
    }

    fn write_image(&self, p: &Process, image: &mut Image) -> Result<()> {
        let at = image.view().rdba();
        block::seal(image.bytes_mut());
        let w = p.wait(Event::DbFileParallelWrite, 1, 0, 0);
        self.files.write_block(at, image.bytes())?;
        drop(w);
        p.count(Stat::PhysicalWrites, 1);
        p.count(Stat::PhysicalWritesFromCache, 1);
        p.count(Stat::PhysicalWriteIoRequests, 1);
        p.count(Stat::PhysicalWriteTotalIoRequests, 1);
        p.count(Stat::PhysicalWriteBytes, self.block_size as u64);
        p.count(Stat::PhysicalWriteTotalBytes, self.block_size as u64);
        Ok(())
    }

    /// Marks a dirty buffer as being written by this process; false when it is clean, being written or not yet published.
    fn begin_write(&self, p: &Process, word: &AtomicU64, buffer: usize) -> bool {
        let h = &self.headers[buffer];
        let at = h.block();
        let s = self.lock_chain(p, at, Where::KcbWriteBegin);
        let state = h.state();
        if h.block() != at || !state.is(DIRTY) || state.is(WRITING) || state.is(READING) {
            return false;
        }
        s.set(word, buffer as u64 + 1);
        s.set(&h.write_rba, h.low_rba.load(Ordering::Relaxed));
        s.set(&h.state, state.clear(DIRTY).set(WRITING).0);
        true
    }

    /// Takes a consistent copy of the frame; false when it keeps changing.
    fn copy_for_write(&self, buffer: usize, image: &mut Image) -> bool {
        let h = &self.headers[buffer];
        for _ in 0..1000 {
            let version = h.version.load(Ordering::Acquire); // pairs with the last store of `publish`
            if version & 1 == 0 {
                block::BlockView::of_frame(self.frame(buffer)).copy_block(image.bytes_mut());
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
        let s = self.lock_chain(p, h.block(), Where::KcbWriteDone);
        let state = h.state().clear(WRITING);
        if !written {
            s.set(&h.low_rba, h.write_rba.load(Ordering::Relaxed));
        }
        s.set(&h.state, if written { state.0 } else { state.set(DIRTY).0 });
        s.set(word, 0);
        drop(s);
        self.wake(h);
    }

    /// Writes everything and notes a clean shutdown at `scn` in the control file.
    ///
    /// # Errors
    /// ORA-01114, ORA-00200. ORA-00600 when a buffer is still dirty: somebody still changes blocks.
    pub fn shut_down(&self, p: &Process, scn: types::Scn) -> Result<()> {
        self.flush(p)?;
        let dirty = self.headers.iter().filter(|h| h.state().is(DIRTY)).count();
        if dirty > 0 {
            return Err(Ora::internal(format_args!("{dirty} buffers are dirty at shutdown")));
        }
        self.files.set_clean(true, scn)
    }
}
