//! The part of the SGA that belongs to one process slot: its pins, its change group and its writes.

use crate::config::HELD_MAX;
use crate::{GROUP_BLOCKS_MAX, MULTIBLOCK_MAX};
use sga::SgaLayout;
use std::sync::atomic::AtomicU64;

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
pub(crate) const PIN_KIND: u64 = 0xF << 32;
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
    /// Index in `held` for the next held pin; 0 while the process has held none in its call.
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
