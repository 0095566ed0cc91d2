//! Pins: the right to use a buffer, and their cleaning when the holder dies.
//!
//! Every process has a pin table in the SGA. An entry is written in the same latch section as the header's state word,
//! so both change or neither does. Cleaning up after a dead process walks its table.
//!
//! A shared pin keeps a buffer from being replaced. It does not keep its frame from being changed, because every reader
//! checks the version afterwards in any design (R5). An exclusive pin is the right to publish a new version, or to fill
//! a claimed buffer.

use crate::header::*;
use crate::held::HELD_MAX;
use crate::{BufferCache, GROUP_BLOCKS_MAX, MULTIBLOCK_MAX, slot_of};
use latch::Where;
use process::{Process, Section};
use sga::SgaLayout;
use std::sync::atomic::{AtomicU64, Ordering};
use types::Rdba;

/// Shared pins and claims that a process may hold in addition to those of its change group.
pub(crate) const OTHER_PINS: usize = 16 + MULTIBLOCK_MAX;
/// The most buffers that one process writes at once.
pub const WRITES_MAX: usize = datafile::COVER_MAX;

/// The kinds of pin table entries, in the upper half. The lower half is the buffer's index + 1.
pub(crate) const PIN_SHARED: u64 = 1 << 32;
/// Exclusive, by the process's change group.
pub(crate) const PIN_GROUP: u64 = 2 << 32;
/// Exclusive, to fill the buffer from disk.
pub(crate) const PIN_CLAIM: u64 = 3 << 32;
const PIN_KIND: u64 = 0xF << 32;
/// Set with [`PIN_GROUP`]: the image differs from the frame.
pub(crate) const PIN_CHANGED: u64 = 1 << 40;

/// States of a process's change group.
pub(crate) const GROUP_IDLE: u64 = 0;
pub(crate) const GROUP_OPEN: u64 = 1;
/// From here on the group is finished, by its process or by PMON.
pub(crate) const GROUP_PUBLISHING: u64 = 2;

/// The part of the SGA that belongs to one process slot.
#[repr(C, align(64))]
pub(crate) struct ProcessArea {
    pub group: AtomicU64,
    /// The address of the group's redo record, from the reservation until all its blocks are marked dirty; else 0.
    pub group_rba: AtomicU64,
    /// Blocks of a multiblock read of this process; 0: the instance's value.
    pub multiblock: AtomicU64,
    /// Index in `held` for the next held pin.
    pub held_next: AtomicU64,
    /// The number of buffers that the process has claimed.
    pub claims: AtomicU64,
    /// While the process writes a list of buffers: 1 + an address at or before their first changes; else 0.
    pub writing_rba: AtomicU64,
    /// The number of lists that the process has written.
    pub write_turn: AtomicU64,
    pub pad: [AtomicU64; 1],
    /// Buffers that the process may return to without a latch; see [`crate::held`].
    pub held: [AtomicU64; HELD_MAX],
    /// The first [`GROUP_BLOCKS_MAX`] entries belong to the change group; the image has the same index.
    pub pins: [AtomicU64; GROUP_BLOCKS_MAX + OTHER_PINS],
    /// For each image the buffer (index + 1) and version that it is a copy of.
    pub image_of: [AtomicU64; GROUP_BLOCKS_MAX],
    pub image_version: [AtomicU64; GROUP_BLOCKS_MAX],
    /// Buffers (index + 1) whose copies this process is writing.
    pub writes: [AtomicU64; WRITES_MAX],
}

// SAFETY: `repr(C)`, atomics only, every bit pattern is valid.
#[allow(unsafe_code)]
unsafe impl SgaLayout for ProcessArea {}

impl ProcessArea {
    /// All words that name pinned buffers.
    pub fn pins(&self) -> impl Iterator<Item = &AtomicU64> {
        self.pins.iter().chain(&self.held)
    }
}

pub(crate) fn buffer_of(entry: u64) -> Option<usize> {
    ((entry & 0xFFFF_FFFF) as usize).checked_sub(1)
}

impl BufferCache {
    pub(crate) fn area(&self, p: &Process) -> &'static ProcessArea {
        &self.areas[slot_of(p)]
    }

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

    /// Releases everything that a dead process had in the cache: finishes its publication, or drops its pins.
    ///
    /// Called after the dead process's micro-undo was rolled back and its latches were freed; `number` is the dead
    /// process. Latches: `cache buffers chains` and `checkpoint queue latch`; none on return.
    pub fn clean_up(&self, p: &Process, number: u32) {
        let dead = number as usize - 1;
        let area = &self.areas[dead];
        self.let_go_of(area);
        let publishing = area.group.load(Ordering::Acquire) == GROUP_PUBLISHING;
        self.redo.settle_dead(p, number, publishing);
        let low_rba = area.group_rba.load(Ordering::Acquire);
        if publishing {
            self.publish(dead);
        }
        for (entry, word) in area.pins.iter().enumerate() {
            let pin = word.load(Ordering::Acquire);
            let Some(buffer) = buffer_of(pin).filter(|b| *b < self.headers.len()) else { continue };
            match pin & PIN_KIND {
                PIN_SHARED => self.drop_shared(p, dead, entry, buffer),
                PIN_GROUP if publishing && pin & PIN_CHANGED != 0 => {
                    self.drop_changed(p, dead, entry, buffer, low_rba);
                }
                _ if self.headers[buffer].state().is(READING) => self.abandon(p, dead, entry, buffer),
                _ => self.drop_exclusive(p, dead, entry, buffer),
            }
        }
        let is_written = |at: Rdba| {
            let mut buffers = area.writes.iter().filter_map(|w| buffer_of(w.load(Ordering::Acquire)));
            buffers.any(|b| self.headers.get(b).is_some_and(|h| h.block() == at))
        };
        // The buffers are still marked, so no other process writes their blocks.
        self.files.finish_cover(dead, &mut |at| is_written(at));
        for word in &area.writes {
            if let Some(buffer) = buffer_of(word.load(Ordering::Acquire)).filter(|b| *b < self.headers.len()) {
                self.end_write(p, dead, word, buffer, false);
            }
        }
        area.writing_rba.store(0, Ordering::SeqCst);
        for word in &area.image_of {
            word.store(0, Ordering::Relaxed);
        }
        area.group_rba.store(0, Ordering::Release); // everything is marked dirty
        area.group.store(GROUP_IDLE, Ordering::Release);
        self.segment_statistics.leave(dead as u32 + 1);
    }

    /// Blocks that process `number` has pinned, for tests and views.
    pub fn pins_of(&self, number: u32) -> Vec<Rdba> {
        let pins = self.areas[number as usize - 1].pins().filter_map(|w| buffer_of(w.load(Ordering::Acquire)));
        pins.map(|b| self.headers[b].block()).collect()
    }
}
