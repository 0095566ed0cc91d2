//! The heap of a process, counted.
//!
//! [`CountedHeap`] is the system's allocator with a count of the bytes in use beside it. A program that wants its
//! memory limited makes it its global allocator. The count is one word of the thread. Whenever it has moved by
//! [`TOLD_BYTES`], it is told to the [`HeapWatch`] of the thread, in words that others may read, and a bit of the watch
//! is set for each [`HeapWatch::step`] of growth. The allocator decides nothing: it cannot return an error to the code
//! that asked for memory. The owner of the bit looks at the figures where an error can be returned.
//!
//! Rejected: counting where collections, strings and sort areas grow, since one forgotten place has no limit at all;
//! reading `/proc` now and then, since it costs microseconds and memory grows by gigabytes in between; RLIMIT_DATA,
//! since an allocation that fails ends the process.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// How far the count of a thread may be from what its watch shows.
pub const TOLD_BYTES: usize = 64 << 10;

/// The words that a thread's count goes to. Only the thread itself writes `used` and `most`.
#[derive(Clone, Copy, Debug)]
pub struct HeapWatch {
    /// Bytes in use.
    pub used: &'static AtomicU64,
    /// The most there were.
    pub most: &'static AtomicU64,
    /// The word in which `bit` is set when the count has grown by `step`.
    pub flags: &'static AtomicU32,
    pub bit: u32,
    pub step: usize,
}

struct Heap {
    /// Bytes in use since the watch began; below zero when memory of before has been freed.
    live: Cell<isize>,
    /// The count lies in `low ..= low + 2 * TOLD_BYTES`, or is to be told.
    low: Cell<isize>,
    /// The count from which on the bit is set.
    mark: Cell<isize>,
    watch: Cell<Option<HeapWatch>>,
}

thread_local! {
    // Neither made nor dropped at run time, so an allocator may use it at any time.
    static HEAP: Heap = const {
        Heap { live: Cell::new(0), low: Cell::new(0), mark: Cell::new(isize::MAX), watch: Cell::new(None) }
    };
}

/// The system's allocator, counting.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountedHeap;

/// Bytes that the C library takes for an allocation: a word beside it, in steps of two words, four at least.
#[inline(always)]
fn taken(size: usize) -> isize {
    (size.wrapping_add(23) & !15).max(32) as isize
}

#[inline(always)]
fn note(bytes: isize) {
    // The error, of a thread that has ended, does not occur: nothing is dropped.
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
        // What was freed counts as growth when it is taken again: others may have grown meanwhile.
        heap.mark.set(next);
    }
}

/// Takes the count back when there was no memory.
#[inline(always)]
fn noted(at: *mut u8, bytes: isize) -> *mut u8 {
    if at.is_null() {
        note(-bytes);
    }
    at
}

// SAFETY: every call goes to the system's allocator with its own arguments; the count has no part in what it returns.
unsafe impl GlobalAlloc for CountedHeap {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let bytes = taken(layout.size());
        note(bytes);
        // SAFETY: the caller's promises are those of the system's allocator.
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

/// Counts the calling thread's heap from zero on, into these words. Memory of before that is freed later is not counted
/// below zero.
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

/// Ends the watch of the calling thread whose words these are; another one goes on.
pub fn end_watch(used: &AtomicU64) {
    HEAP.with(|heap| {
        if heap.watch.get().is_some_and(|watch| std::ptr::eq(watch.used, used)) {
            heap.watch.set(None);
        }
    });
}

/// Bytes in use by the calling thread since its watch began, which are told at the same time. 0 where nobody counts.
pub fn tell_used() -> u64 {
    HEAP.with(|heap| {
        tell(heap, heap.live.get());
        heap.live.get().max(0) as u64
    })
}

/// Gives free memory at the end of the heap and between its parts back to the operating system. Takes as long as the
/// heap is large.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: takes a number; the C library's allocator locks itself.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Ends the watch that a forked child has inherited: the words are its parent's.
pub(crate) fn forget_in_child() {
    HEAP.with(|heap| heap.watch.set(None));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Told into words of its own, in a thread of its own, by calls of the allocator itself.
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
        // SAFETY: `take` made it so.
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
