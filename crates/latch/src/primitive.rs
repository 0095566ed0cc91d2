//! The atomics and orderings of the lock words. The model tests replace this module below [`crate::word`] by one with
//! loom's atomics and one ordering weakened at a time.

pub use std::sync::atomic::{AtomicU32, AtomicU64, fence};

/// The orderings of the lock words. Each says what it pairs with; each has a model that fails without it.
pub mod order {
    use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

    /// An exclusive get that succeeds. Acquire pairs with [`FREE_EXCLUSIVE`] and [`FREE_SHARED`]: the holder sees the
    /// writes of earlier holders. Release keeps the note of intent before the get; recovery after `kill -9` depends on
    /// it.
    pub const GET_EXCLUSIVE: Ordering = AcqRel;
    /// Freeing an exclusive hold. Pairs with [`GET_EXCLUSIVE`] and [`GET_SHARED`].
    pub const FREE_EXCLUSIVE: Ordering = Release;
    /// A shared get that succeeds. Acquire pairs with [`FREE_EXCLUSIVE`]; Release as in [`GET_EXCLUSIVE`].
    pub const GET_SHARED: Ordering = AcqRel;
    /// Freeing a shared hold. Release pairs with [`GET_EXCLUSIVE`]: the next writer comes after this reader's last
    /// read. Acquire keeps the end of the note of intent behind it.
    pub const FREE_SHARED: Ordering = AcqRel;
    /// The fence after a version became odd. Pairs with [`READ_CHECK`]: a reader that sees one of the writes sees the
    /// odd version.
    pub const VERSION_ODD: Ordering = Release;
    /// A version becoming even. Pairs with [`READ_BEGIN`]: a reader that sees the version sees the writes.
    pub const VERSION_EVEN: Ordering = Release;
    /// Reading the version before the data. Pairs with [`VERSION_EVEN`].
    pub const READ_BEGIN: Ordering = Acquire;
    /// The fence between the data and the second look at the version. Pairs with [`VERSION_ODD`].
    pub const READ_CHECK: Ordering = Acquire;
    /// Reading the life of an object before its words. Pairs with [`LIFE_LINKED`].
    pub const LIFE_BEGIN: Ordering = Acquire;
    /// The beginning of a life: a reader that sees it sees the words of the object. Pairs with [`LIFE_BEGIN`].
    pub const LIFE_LINKED: Ordering = Release;
    /// The fence after the end of a life, before the words of the next. Pairs with [`LIFE_CHECK`].
    pub const LIFE_ENDED: Ordering = Release;
    /// The fence between the words and the second look at the life. Pairs with [`LIFE_ENDED`].
    pub const LIFE_CHECK: Ordering = Acquire;
    /// The note that the count includes a reference, or no longer does. Not visible before the change of the count.
    pub const NOTED: Ordering = Release;
    /// Getting a mutex, shared or exclusive. Pairs with [`MUTEX_FREE`].
    pub const MUTEX_GET: Ordering = AcqRel;
    /// Freeing an exclusive hold of a mutex. Pairs with [`MUTEX_GET`].
    pub const MUTEX_FREE_EXCLUSIVE: Ordering = Release;
    /// Freeing a shared hold of a mutex. Pairs with [`MUTEX_GET`].
    pub const MUTEX_FREE: Ordering = AcqRel;
    /// The fence between freeing a latch that was slept on and looking for waiters. Pairs with [`JOINED`].
    pub const FREED: Ordering = SeqCst;
    /// The fence between a waiter's mark and its last look at the word. Pairs with [`FREED`].
    pub const JOINED: Ordering = SeqCst;
    /// A switch of a design. Pairs with [`DESIGN_SEEN`]: a process that enters by the design sees what the switch
    /// prepared.
    pub const DESIGN_PUT: Ordering = Release;
    /// Reading the design in force. Pairs with [`DESIGN_PUT`].
    pub const DESIGN_SEEN: Ordering = Acquire;
    /// Leaving a structure. Pairs with [`LEFT_SEEN`]: the next design begins behind everything done inside.
    pub const LEFT: Ordering = Release;
    /// Reading the mark of another process. Pairs with [`LEFT`].
    pub const LEFT_SEEN: Ordering = Acquire;
    /// A failed try. The caller relies on nothing it read.
    pub const FAILED: Ordering = Relaxed;
}

/// The releaser's side of the asymmetric fence between freeing a latch and reading its marks: it only keeps the
/// compiler from exchanging the two. The other side is the barrier that the first waiter of a latch runs on all
/// processors.
#[inline]
pub fn light_barrier() {
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
}
