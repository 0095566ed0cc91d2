//! One latch: a cache line.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::word::{IdentityWord, LatchWord};
use crate::{Generation, LatchName};

/// A latch: exclusive, or shared-capable. Zero-filled memory is a free latch of the first name until it is formatted.
///
/// The counters of exclusive gets change under the latch, so they are exact. A shared get of a child also counts here,
/// by an atomic addition while it is held: the line is in the getter's cache at that moment, and the counts by child
/// show the hot one. Other shared gets and versioned reads count in the line of their process, because a counter here
/// would be a shared write.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Latch {
    pub(crate) word: LatchWord,
    /// Name, child number (0: the parent), whether it can be shared, and the marks of waiters.
    pub(crate) identity: IdentityWord,
    pub(crate) gets: AtomicU64,
    pub(crate) misses: AtomicU64,
    pub(crate) sleeps: AtomicU64,
    pub(crate) spin_gets: AtomicU64,
    pub(crate) wait_ns: AtomicU64,
    pub(crate) immediate_gets: AtomicU64,
    pub(crate) immediate_misses: AtomicU64,
}

const _: () = assert!(size_of::<Latch>() == 64, "one latch, one cache line");

// SAFETY: `repr(C)`, atomic words only, no pointers.
#[allow(unsafe_code)]
unsafe impl os::SharedLayout for Latch {}

const SHARED_CAPABLE: u32 = 1 << 30;
const CHILD_MAX: u32 = (1 << 21) - 1;

/// Whether the latch of an identity counts all its gets itself: shared gets of a latch without children are counted in
/// the lines of their processes.
pub(crate) fn counts_all(identity: u32) -> bool {
    child_of(identity) != 0 || identity & SHARED_CAPABLE == 0
}

/// The child number in an identity.
pub(crate) fn child_of(identity: u32) -> u32 {
    identity >> 8 & CHILD_MAX
}

#[inline]
pub(crate) fn add(word: &AtomicU64, n: u64) {
    // Under the latch, or in a line of this process: no other writer, so a plain load and store lose nothing.
    word.store(word.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
}

impl Latch {
    /// A free latch outside shared memory, for programs that need no formatting step.
    #[must_use]
    pub fn new(name: LatchName, child: u32) -> Self {
        let zero = || AtomicU64::new(0);
        let latch = Self {
            word: LatchWord(AtomicU32::new(0)),
            identity: IdentityWord(AtomicU32::new(0)),
            gets: zero(),
            misses: zero(),
            sleeps: zero(),
            spin_gets: zero(),
            wait_ns: zero(),
            immediate_gets: zero(),
            immediate_misses: zero(),
        };
        latch.format(name, child, Generation::default());
        latch
    }

    /// Gives the latch its name and child number (from 1; 0 is the parent or a latch without children).
    ///
    /// # Panics
    /// There are at most 2,097,151 children.
    pub fn format(&self, name: LatchName, child: u32, generation: Generation) {
        assert!(child <= CHILD_MAX, "child number {child} of {}", name.name());
        let shared = if name.shared_capable(generation) { SHARED_CAPABLE } else { 0 };
        self.identity.0.store(name as u32 | child << 8 | shared, Ordering::Relaxed);
    }

    /// Its name.
    #[inline]
    #[must_use]
    pub fn name(&self) -> LatchName {
        LatchName::of_identity(self.identity())
    }

    #[inline]
    pub(crate) fn identity(&self) -> u32 {
        self.identity.0.load(Ordering::Relaxed)
    }

    /// Its child number: CHILD#; 0 for a parent.
    #[must_use]
    pub fn child(&self) -> u32 {
        child_of(self.identity())
    }

    /// True when shared gets of this latch are shared.
    #[inline]
    #[must_use]
    pub fn is_shared_capable(&self) -> bool {
        self.identity.0.load(Ordering::Relaxed) & SHARED_CAPABLE != 0
    }

    /// True for a child: one of many latches of its name.
    #[inline]
    pub(crate) fn is_child(&self) -> bool {
        self.child() > 0
    }

    /// Its address: ADDR, and P1 of waits for it.
    #[inline]
    #[must_use]
    pub fn address(&self) -> u64 {
        std::ptr::from_ref(self) as u64
    }

    /// True while it is held, exclusively or shared; the answer may be outdated at once.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.word.peek() & !crate::word::BLOCKING != 0
    }

    /// Whether any process waits; for the caller that has just freed the latch.
    pub(crate) fn has_waiters(&self) -> bool {
        self.identity.may_have_waiters() && self.identity.has_waiters()
    }
}
