//! Pins: the right to use a buffer, and their cleaning when the holder dies.
//!
//! Every process has a pin table in the SGA. An entry is written in the same latch section as the header's state word,
//! so both change or neither does. Cleaning up after a dead process walks its table.
//!
//! A shared pin keeps a buffer from being replaced. It does not keep its frame from being changed, because every reader
//! checks the version afterwards in any design (R5). An exclusive pin is the right to publish a new version, or to fill
//! a claimed buffer.

use crate::area::{PIN_SHARED, buffer_of};
use crate::header::*;
use crate::{BufferCache, GROUP_BLOCKS_MAX};
use latch::Where;
use process::{Process, Section};
use std::sync::atomic::Ordering;
use types::Rdba;

impl BufferCache {
    /// An unused entry for a shared pin or a claim.
    pub(crate) fn free_entry(&self, p: &Process) -> usize {
        let area = self.area(p);
        (GROUP_BLOCKS_MAX..area.pins.len())
            .find(|i| area.pins[*i].load(Ordering::Relaxed) == 0)
            .expect("a process nests at most 16 reads, and makes one multiblock read")
    }

    /// Takes a shared pin; the chain's latch is held by `s`.
    pub(crate) fn add_shared(&self, p: &Process, s: &Section, buffer: usize) -> usize {
        let (entry, h) = (self.free_entry(p), &self.headers[buffer]);
        s.set(&self.area(p).pins[entry], PIN_SHARED | (buffer as u64 + 1));
        s.set(&h.state, h.state().0 + SHARED_ONE);
        entry
    }

    /// Ends a shared pin. Latches: the chain's, taken and released.
    pub(crate) fn drop_shared(&self, p: &Process, slot: usize, entry: usize, buffer: usize) {
        let h = &self.headers[buffer];
        let s = self.lock_buffer(p, buffer, h.block(), Where::KcbRelease);
        s.set(&h.state, h.state().0 - SHARED_ONE);
        s.set(&self.areas[slot].pins[entry], 0);
    }

    /// Ends an exclusive pin and wakes its waiters. Latches: the chain's.
    pub(crate) fn drop_exclusive(&self, p: &Process, slot: usize, entry: usize, buffer: usize) {
        self.give_up(p, slot, entry, buffer, None);
    }

    /// Ends an exclusive pin after a change whose redo begins at `low_rba`, 0 without redo: the buffer is dirty.
    /// Latches: the chain's, and for the first change that of the checkpoint queue.
    pub(crate) fn drop_changed(&self, p: &Process, slot: usize, entry: usize, buffer: usize, low_rba: u64) {
        self.give_up(p, slot, entry, buffer, Some(low_rba));
    }

    fn give_up(&self, p: &Process, slot: usize, entry: usize, buffer: usize, changed: Option<u64>) {
        let h = &self.headers[buffer];
        let s = self.lock_buffer(p, buffer, h.block(), Where::KcbReleaseSlow);
        let state = h.state().without_owner().clear(READING);
        s.set(&self.areas[slot].pins[entry], 0);
        match changed.filter(|_| !state.is(DIRTY)) {
            Some(low_rba) => {
                let queue = self.lock_queue_of(p, buffer, Where::KcbCheckpointLink);
                self.link_queue(&queue, buffer, low_rba);
                s.set(&h.state, state.set(DIRTY).0);
                queue.end_with(s);
            }
            None => {
                s.set(&h.state, state.0);
                drop(s);
            }
        }
        self.wake(h);
    }

    /// Takes a buffer whose frame was never filled out of its chain and frees it. Latches: the chain's.
    pub(crate) fn abandon(&self, p: &Process, slot: usize, entry: usize, buffer: usize) {
        let h = &self.headers[buffer];
        let s = self.lock_buffer(p, buffer, h.block(), Where::KcbUnlinkBuffer);
        if h.identity.load(Ordering::Relaxed) != 0 {
            self.unlink_chain(&s, buffer);
        }
        s.set(&h.state, 0);
        s.set(&self.areas[slot].pins[entry], 0);
        drop(s);
        self.wake(h);
    }

    /// Blocks that process `number` has pinned, for tests and views.
    pub fn pins_of(&self, number: u32) -> Vec<Rdba> {
        let pins = self.areas[number as usize - 1].pins().filter_map(|w| buffer_of(w.load(Ordering::Acquire)));
        pins.map(|b| self.headers[b].block()).collect()
    }
}
