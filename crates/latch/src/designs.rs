//! The design in force of a structure: a word that all processes read and that only a switch writes.
//!
//! The word lies on a line of its own, so that reading it costs a load from the reader's cache. It also has the number
//! of the switch that put the design into force (its epoch), so a word that is unchanged means that no switch came
//! between, not even one there and back.

use crate::word::ForceWord;

/// A structure that processes enter with a mark; see [`crate::Inside`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Structure {
    /// The row cache: readers by mutex need writers that get the same mutexes.
    RowCache,
    /// The library cache: its designs protect the same lists by different locks.
    LibraryCache,
    /// The cache buffers chains: a pin of the fast path is noted where only that design's readers look.
    BufferChains,
}

impl Structure {
    /// The number of structures.
    pub const COUNT: usize = 3;
    /// Those whose word lies in the domain. Only these are ever closed.
    pub(crate) const CLOSED: [Self; 2] = [Self::RowCache, Self::LibraryCache];
}

/// Bits of a word: 0–7 the design in force, 8–15 the next one, 16–31 the process that switches (0: none), 32–63 the
/// epoch, never 0.
const NEXT_SHIFT: u32 = 8;
const OWNER_SHIFT: u32 = 16;
const EPOCH_SHIFT: u32 = 32;

/// A design in force, as a process has read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InForce(pub(crate) u64);

impl InForce {
    fn new(code: u8, epoch: u32) -> Self {
        Self(u64::from(code) | u64::from(epoch.max(1)) << EPOCH_SHIFT)
    }

    /// The design, by the number that its crate gives it.
    #[inline]
    #[must_use]
    pub fn code(self) -> u8 {
        self.0 as u8
    }

    /// The number of the switch that put the design into force, from 1; it begins again after 2^32 switches.
    #[inline]
    #[must_use]
    pub fn epoch(self) -> u32 {
        (self.0 >> EPOCH_SHIFT) as u32
    }

    /// The process that switches the structure to another design; 0 while none does.
    #[inline]
    pub(crate) fn owner(self) -> u32 {
        u32::from((self.0 >> OWNER_SHIFT) as u16)
    }

    /// Whether new entries wait until the processes inside have left.
    #[inline]
    #[must_use]
    pub fn is_closed(self) -> bool {
        self.owner() != 0
    }

    /// The same design, closed by process `owner` for a switch to `next`.
    pub(crate) fn closed(self, next: u8, owner: u32) -> Self {
        let open = self.0 & !(0xffff_ff00);
        Self(open | u64::from(next) << NEXT_SHIFT | u64::from(owner as u16) << OWNER_SHIFT)
    }

    /// The design after a switch to `code`, and after one that was given up when `code` is the same.
    pub(crate) fn followed_by(self, code: u8) -> Self {
        Self::new(code, self.epoch().wrapping_add(1))
    }
}

/// The word of a structure. Zero-filled memory is not a word yet: [`Self::format`] makes it one.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct DesignWord(ForceWord);

// SAFETY: `repr(C)`, an atomic word, no pointers.
#[allow(unsafe_code)]
unsafe impl os::SharedLayout for DesignWord {}

impl DesignWord {
    /// Sets the design before any process reads it.
    pub fn format(&self, code: u8) {
        self.0.put(InForce::new(code, 1).0);
    }

    /// The design in force.
    #[inline]
    #[must_use]
    pub fn now(&self) -> InForce {
        InForce(self.0.now())
    }

    /// Puts a design into force at once, for structures whose designs may run side by side. The caller keeps other
    /// switches out.
    pub fn put(&self, code: u8) -> InForce {
        let new = self.now().followed_by(code);
        self.0.put(new.0);
        new
    }

    /// Changes the word from `seen`; false when another process has changed it meanwhile. No word occurs twice, because
    /// the epoch grows.
    pub(crate) fn change(&self, seen: InForce, new: InForce) -> bool {
        self.0.change(seen.0, new.0)
    }

    /// Opens a word that was seen closed, with the former design; false when another process has opened it meanwhile.
    pub(crate) fn reopen(&self, closed: InForce) -> bool {
        self.change(closed, closed.followed_by(closed.code()))
    }
}
