//! Buffer headers.
//!
//! | state of a buffer | identity | state word                   | version | may be trusted | leaves it by |
//! |-------------------|----------|------------------------------|---------|----------------|--------------|
//! | free              | none     | no pins                      | any     | nothing        | `claim` |
//! | claimed           | none     | X owner, READING             | odd     | nothing        | `link_claimed` |
//! | being read        | block    | X owner, READING             | odd     | nothing        | `fill`, `abandon` |
//! | being formatted   | block    | X owner, READING             | odd     | nothing        | `publish`, `abandon` |
//! | current           | block    | any pins but no READING      | even    | the frame      | `publish`, `claim` |
//! | publishing        | block    | X owner                      | odd     | the owner's image | `publish` |
//! | being written     | block    | WRITING                      | even    | the frame      | `end_write` |
//!
//! The state word and the identity change only under the latch of the identity's chain; those of a buffer without
//! identity under the latch that follows from its number (R3). Only the X owner changes the frame and the version (R4).

use sga::SgaLayout;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use types::Rdba;

/// A versioned read loads only the first cache line.
#[repr(C, align(64))]
pub(crate) struct BufferHeader {
    /// Even: the frame holds the block `identity`. Odd: the X owner is changing it.
    pub version: AtomicU64,
    /// The block's address; 0 for none.
    pub identity: AtomicU64,
    /// Next buffer of the chain, as index + 1; 0 ends it.
    pub next: AtomicU64,
    /// Touch count, and the time of the last touch in seconds in the upper half.
    pub touch: AtomicU64,
    /// While DIRTY: the redo address of the first change that is in no written copy. Changes under the latch of the
    /// checkpoint queue.
    pub low_rba: AtomicU64,
    /// While WRITING: the `low_rba` of the copy that is being written.
    pub write_rba: AtomicU64,
    /// The address of the last redo record that made the whole block while it was in this buffer; 0: none.
    pub whole_rba: AtomicU64,
    pub line: AtomicU64,
    /// See the constants below.
    pub state: AtomicU64,
    /// Neighbours on the LRU list, as index + 1: hotter and colder.
    pub hotter: AtomicU64,
    pub colder: AtomicU64,
    /// 1 while in the hot half.
    pub hot: AtomicU64,
    /// Neighbours on the checkpoint queue, as index + 1, while DIRTY.
    pub queue_before: AtomicU64,
    pub queue_after: AtomicU64,
    pub pad: AtomicU64,
    /// Futex word: counts the changes of the state; the other half counts the sleepers.
    pub changes: AtomicU32,
    pub sleepers: AtomicU32,
}

// SAFETY: `repr(C)`, atomics only, every bit pattern is valid.
#[allow(unsafe_code)]
unsafe impl SgaLayout for BufferHeader {}
const _: () = assert!(size_of::<BufferHeader>() == 128, "two cache lines");

/// Bits 0-15: number of shared pins.
pub(crate) const SHARED_ONE: u64 = 1;
pub(crate) const SHARED_MASK: u64 = 0xFFFF;
/// Bits 16-31: process slot + 1 of the exclusive owner.
pub(crate) const OWNER_SHIFT: u32 = 16;
pub(crate) const OWNER_MASK: u64 = 0xFFFF << OWNER_SHIFT;
/// The frame is newer than the disk; the buffer is on the checkpoint queue.
pub(crate) const DIRTY: u64 = 1 << 32;
/// A copy of the frame is being written: it may be read and changed but not replaced.
pub(crate) const WRITING: u64 = 1 << 33;
/// The frame does not hold its block yet.
pub(crate) const READING: u64 = 1 << 34;

impl BufferHeader {
    #[inline]
    pub fn block(&self) -> Rdba {
        Rdba(self.identity.load(Ordering::Relaxed) as u32)
    }
    #[inline]
    pub fn state(&self) -> State {
        State(self.state.load(Ordering::Acquire))
    }
}

/// A state word that was read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct State(pub u64);

impl State {
    pub fn shared(self) -> u64 {
        self.0 & SHARED_MASK
    }
    /// Process slot of the exclusive owner.
    pub fn owner(self) -> Option<usize> {
        ((self.0 & OWNER_MASK) >> OWNER_SHIFT).checked_sub(1).map(|slot| slot as usize)
    }
    pub fn with_owner(self, slot: usize) -> State {
        State(self.0 & !OWNER_MASK | (slot as u64 + 1) << OWNER_SHIFT)
    }
    pub fn without_owner(self) -> State {
        State(self.0 & !OWNER_MASK)
    }
    pub fn is(self, flag: u64) -> bool {
        self.0 & flag != 0
    }
    pub fn set(self, flag: u64) -> State {
        State(self.0 | flag)
    }
    pub fn clear(self, flag: u64) -> State {
        State(self.0 & !flag)
    }
    pub fn is_pinned(self) -> bool {
        self.0 & (SHARED_MASK | OWNER_MASK | READING | WRITING) != 0
    }
}

/// State of a buffer for `v$bh`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferInfo {
    /// The buffer's number.
    pub number: usize,
    /// The block; `None` for a free buffer.
    pub block: Option<Rdba>,
    /// Data object of the block.
    pub obj: types::ObjectId,
    /// Kind of block.
    pub kind: Option<block::BlockKind>,
    /// `free`, `read` (being read in) or `xcur`.
    pub status: &'static str,
    /// Newer than the disk.
    pub dirty: bool,
    /// Shared pins, and process slot of the exclusive owner.
    pub shared_pins: u64,
    /// Process slot of the exclusive owner.
    pub owner: Option<usize>,
    /// Touch count.
    pub touches: u64,
    /// Time of the last touch, in seconds of the machine's monotonic clock.
    pub touched_s: u64,
    /// In the hot half of its LRU list.
    pub hot: bool,
    /// On the write list: a search found it dirty.
    pub to_be_written: bool,
    /// On the checkpoint queue.
    pub queued: bool,
    /// Its working set, from 0.
    pub set: usize,
    /// Class of the block, as wait events number it.
    pub class: u64,
    /// Address of the header.
    pub address: u64,
    /// Address of the frame.
    pub frame_address: u64,
    /// Address of the child latch of its chain.
    pub latch_address: u64,
}
