//! Types for memory that several processes share.

use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64};

/// A type that may be placed in shared memory and used there by several processes at once (invariant 3).
///
/// # Safety
/// The type is `repr(C)`, holds no pointers, references, vtables or handles, is valid for every bit pattern
/// (so zero-filled memory is a valid value), needs no destructor, and is changed through `&` by atomics only.
pub unsafe trait SharedLayout: Sync + 'static {}

macro_rules! atoms {
    ($($t:ty),*) => { $(
        // SAFETY: an atomic integer is a plain word; every bit pattern is a value of it.
        unsafe impl SharedLayout for $t {}
    )* };
}
atoms!(AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicI32, AtomicI64);

// SAFETY: an array of such values, stored consecutively, adds no other content.
unsafe impl<T: SharedLayout, const N: usize> SharedLayout for [T; N] {}
