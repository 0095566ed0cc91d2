//! Discarding buffers: of files that are dropped or go offline, and of temporary extents that are given back.
//!
//! A buffer is taken like one that is replaced, but also when it is dirty, and freed without being written.

use crate::BufferCache;
use crate::area::PIN_CLAIM;
use crate::cache::slot_of;
use crate::header::{DIRTY, READING, State};
use latch::Where;
use process::Process;
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;
use types::{Ora, Rdba, Result};

/// The most tries for a pinned buffer, a millisecond apart: pins are short.
const TRIES: usize = 20_000;

impl BufferCache {
    /// Discards the buffers of all blocks for which `which` is true, written or not. No process changes these blocks
    /// any more.
    ///
    /// Waits for pins and writes in progress. Latches: `cache buffers chains`, one at a time; none on entry or return.
    ///
    /// # Errors
    /// ORA-00379 when a buffer stays pinned.
    pub fn discard(&self, p: &Process, which: &dyn Fn(Rdba) -> bool) -> Result<()> {
        // A reader claims a buffer before it checks that the file may be used, so either the reader sees that the file
        // is away, or this search sees the claim.
        fence(Ordering::SeqCst);
        for buffer in self.used() {
            let at = self.headers[buffer].block();
            if !at.is_none() && which(at) {
                self.discard_buffer(p, buffer, at)?;
            }
        }
        Ok(())
    }

    /// Discards the buffers of the `blocks` blocks from `start` on.
    ///
    /// # Errors
    /// As [`BufferCache::discard`].
    pub fn discard_range(&self, p: &Process, start: Rdba, blocks: u32) -> Result<()> {
        for at in (0..blocks).map(|i| Rdba(start.0 + i)) {
            let found = {
                let _s = self.lock_chain(p, at, Where::KcbFindVictim);
                self.find_latched(at)
            };
            if let Some(buffer) = found {
                self.discard_buffer(p, buffer, at)?;
            }
        }
        Ok(())
    }

    /// Discards a buffer while it holds block `at`.
    fn discard_buffer(&self, p: &Process, buffer: usize, at: Rdba) -> Result<()> {
        for _ in 0..TRIES {
            if self.headers[buffer].block() != at {
                return Ok(());
            }
            if let Some(entry) = self.take_away(p, buffer, at) {
                self.abandon(p, slot_of(p), entry, buffer);
                return Ok(());
            }
            p.help_the_dead();
            os::clock::sleep(Duration::from_millis(1));
        }
        Err(Ora::with(379, &[&"DEFAULT", &format_args!("{}K", self.block_size / 1024)]))
    }

    /// Takes an unpinned buffer from its block.
    fn take_away(&self, p: &Process, buffer: usize, at: Rdba) -> Option<usize> {
        let (h, entry) = (&self.headers[buffer], self.free_entry(p));
        let s = self.lock_chain(p, at, Where::KcbFindVictim);
        let state = h.state();
        if h.block() != at || state.is_pinned() {
            return None;
        }
        let queue = state.is(DIRTY).then(|| self.lock_queue_of(p, buffer, Where::KcbCheckpointUnlink));
        if let Some(queue) = &queue {
            self.unlink_queue(queue, buffer);
        }
        s.set(&self.area(p).pins[entry], PIN_CLAIM | (buffer as u64 + 1));
        s.set(&h.state, State(0).with_owner(slot_of(p)).set(READING).clear(DIRTY).0);
        s.set(&h.version, h.version.load(Ordering::Relaxed) | 1);
        fence(Ordering::Release); // a reader that sees the new identity sees the odd version
        self.unlink_chain(&s, buffer);
        h.touch.store(0, Ordering::Relaxed);
        match queue {
            Some(queue) => queue.end_with(s),
            None => drop(s),
        }
        Some(entry)
    }
}
