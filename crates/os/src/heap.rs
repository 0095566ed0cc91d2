//! The heap of a process, counted.
//!
//! [`CountedHeap`] is the system's allocator with a count of the bytes in use. A program that limits its memory makes
//! it its global allocator. The count is one word of the thread. Whenever it has changed by [`TOLD_BYTES`], it is
//! published through the [`HeapWatch`] of the thread, in words that other processes may read, and a bit of the watch is
//! set for each [`HeapWatch::step`] of growth. The allocator enforces no limit: it cannot return an error to the code
//! that allocates. The owner of the bit checks the figures where an error can be returned.
//!
//! Rejected: counting where collections, strings and sort areas grow, since a forgotten place would have no limit;
//! reading `/proc` at intervals, since it costs microseconds and memory can grow by gigabytes in between; RLIMIT_DATA,
//! since a failed allocation ends the process.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The largest difference between a thread's count and the published one.
pub const TOLD_BYTES: usize = 64 << 10;

/// The words in which a thread's count is published. Only the thread itself writes `used` and `most`.
#[derive(Clone, Copy, Debug)]
pub struct HeapWatch {
    /// Bytes in use.
    pub used: &'static AtomicU64,
    /// The largest value of `used`.
    pub most: &'static AtomicU64,
    /// The word in which `bit` is set when the count has grown by `step`.
    pub flags: &'static AtomicU32,
    pub bit: u32,
    pub step: usize,
}

struct Heap {
    /// Bytes in use since the watch began; below zero when memory from before has been freed.
    live: Cell<isize>,
    /// The count is published when it leaves `low ..= low + 2 * TOLD_BYTES`.
    low: Cell<isize>,
    /// The count from which on the bit is set.
    mark: Cell<isize>,
    watch: Cell<Option<HeapWatch>>,
}

thread_local! {
    // Constant initializer and no destructor, so an allocator may use it at any time.
    static HEAP: Heap = const {
        Heap { live: Cell::new(0), low: Cell::new(0), mark: Cell::new(isize::MAX), watch: Cell::new(None) }
    };
}

/// The system's allocator with a count.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountedHeap;

/// Bytes that the C library uses for an allocation: one more word, in steps of two words, four at least.
#[inline(always)]
fn taken(size: usize) -> isize {
    (size.wrapping_add(23) & !15).max(32) as isize
}

#[inline(always)]
fn note(bytes: isize) {
    // The error, for a thread that has ended, cannot occur: there is no destructor.
    let _ = HEAP.try_with(|heap| {
        let live = heap.live.get().wrapping_add(bytes);
        heap.live.set(live);
        if live.wrapping_sub(heap.low.get()) as usize > 2 * TOLD_BYTES {
            tell(heap, live);
        }
    });
}

#[cold]
#[inline(never)]
fn tell(heap: &Heap, live: isize) {
    heap.low.set(live.wrapping_sub(TOLD_BYTES as isize));
    let Some(watch) = heap.watch.get() else { return };
    let used = live.max(0) as u64;
    watch.used.store(used, Ordering::Relaxed);
    if used > watch.most.load(Ordering::Relaxed) {
        watch.most.store(used, Ordering::Relaxed);
    }
    let next = live.saturating_add(watch.step as isize);
    if live >= heap.mark.get() {
        heap.mark.set(next);
        watch.flags.fetch_or(watch.bit, Ordering::Relaxed);
    } else if next < heap.mark.get() {
        // Freed memory counts as growth when it is allocated again: other processes may have grown since.
        heap.mark.set(next);
    }
}

/// Takes the count back when the allocation failed.
#[inline(always)]
fn noted(at: *mut u8, bytes: isize) -> *mut u8 {
    if at.is_null() {
        note(-bytes);
    }
    at
}

// SAFETY: every call goes to the system's allocator with its own arguments; the count does not affect the results.
unsafe impl GlobalAlloc for CountedHeap {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let bytes = taken(layout.size());
        note(bytes);
        // SAFETY: the caller's contract is that of the system's allocator.
        noted(unsafe { System.alloc(layout) }, bytes)
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let bytes = taken(layout.size());
        note(bytes);
        // SAFETY: as above.
        noted(unsafe { System.alloc_zeroed(layout) }, bytes)
    }

    #[inline]
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        note(-taken(layout.size()));
        // SAFETY: as above.
        unsafe { System.dealloc(ptr, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let bytes = taken(new_size) - taken(layout.size());
        note(bytes);
        // SAFETY: as above.
        noted(unsafe { System.realloc(ptr, layout, new_size) }, bytes)
    }
}

/// Counts the calling thread's heap from zero on, into these words. Freeing memory allocated before does not take the
/// published count below zero.
pub fn watch(watch: HeapWatch) {
    watch.used.store(0, Ordering::Relaxed);
    watch.most.store(0, Ordering::Relaxed);
    HEAP.with(|heap| {
        heap.live.set(0);
        heap.low.set(-(TOLD_BYTES as isize));
        heap.mark.set(watch.step as isize);
        heap.watch.set(Some(watch));
    });
}

/// Ends the watch of the calling thread if it publishes in `used`; another watch continues.
pub fn end_watch(used: &AtomicU64) {
    HEAP.with(|heap| {
        if heap.watch.get().is_some_and(|watch| std::ptr::eq(watch.used, used)) {
            heap.watch.set(None);
        }
    });
}

/// Bytes in use by the calling thread since its watch began; also publishes them. 0 without a watch.
pub fn tell_used() -> u64 {
    HEAP.with(|heap| {
        tell(heap, heap.live.get());
        heap.live.get().max(0) as u64
    })
}

/// Returns free memory at the end of the heap and within it to the operating system. The time grows with the size of
/// the heap.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: takes a number; the C library's allocator locks itself.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Ends the watch that a forked child has inherited: its words belong to the parent.
pub(crate) fn forget_in_child() {
    HEAP.with(|heap| heap.watch.set(None));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `body` in a new thread with its own watch, with direct calls of the allocator.
    fn watched(step: usize, body: impl FnOnce(HeapWatch) + Send + 'static) {
        std::thread::spawn(move || {
            let word = || &*Box::leak(Box::new(AtomicU64::new(7)));
            let flags = &*Box::leak(Box::new(AtomicU32::new(0)));
            let own = HeapWatch { used: word(), most: word(), flags, bit: 4, step };
            watch(own);
            body(own);
            end_watch(own.used);
        })
        .join()
        .unwrap();
    }

    fn take(bytes: usize) -> (*mut u8, Layout) {
        let layout = Layout::from_size_align(bytes, 8).unwrap();
        // SAFETY: the size is not zero.
        (unsafe { CountedHeap.alloc(layout) }, layout)
    }

    fn free((at, layout): (*mut u8, Layout)) {
        // SAFETY: `take` allocated it with this layout.
        unsafe { CountedHeap.dealloc(at, layout) }
    }

    const MB: usize = 1 << 20;

    #[test]
    fn what_is_in_use_is_told() {
        watched(MB, |w| {
            let used = || w.used.load(Ordering::Relaxed) as usize;
            assert_eq!((used(), tell_used()), (0, 0));
            let kept: Vec<_> = (0..100).map(|_| take(10_000)).collect();
            assert!((1_000_000 - 2 * TOLD_BYTES..1_010_000).contains(&used()), "{}", used());
            assert_eq!(tell_used() as usize, 100 * 10_016);
            assert_eq!(used(), 100 * 10_016);
            let (at, layout) = take(100);
            // SAFETY: it comes from this allocator with this layout.
            let grown = unsafe { CountedHeap.realloc(at, layout, 5 * MB) };
            assert!(used() > 5 * MB);
            free((grown, Layout::from_size_align(5 * MB, 8).unwrap()));
            kept.into_iter().for_each(free);
            assert_eq!(tell_used(), 0);
            assert!(w.most.load(Ordering::Relaxed) > 6_000_000);
        });
    }

    #[test]
    fn every_step_of_growth_sets_the_bit() {
        watched(MB, |w| {
            let grown = || w.flags.swap(0, Ordering::Relaxed) == 4;
            let first = take(MB - 4 * TOLD_BYTES);
            assert!(!grown());
            let second = take(8 * TOLD_BYTES);
            assert!(grown());
            free(take(MB / 2));
            assert!(!grown(), "less than a step beyond");
            let third = take(3 * MB);
            assert!(grown());
            free(third);
            assert!(!grown());
            let third = take(3 * MB);
            assert!(grown(), "memory that was freed is taken again");
            [first, second, third].into_iter().for_each(free);
        });
    }

    #[test]
    fn memory_of_before_is_not_counted_below_zero() {
        std::thread::spawn(|| {
            let before = take(10 * MB);
            watched(MB, |_| ());
            let word = || &*Box::leak(Box::new(AtomicU64::new(7)));
            let flags = &*Box::leak(Box::new(AtomicU32::new(0)));
            watch(HeapWatch { used: word(), most: word(), flags, bit: 4, step: MB });
            free(before);
            assert_eq!(tell_used(), 0);
            forget_in_child();
        })
        .join()
        .unwrap();
    }
}
