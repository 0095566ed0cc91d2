//! Memory that begins at a page: direct reads and writes need it to lie at a device's blocks.

use std::ptr::NonNull;

use rustix::mm::{MapFlags, ProtFlags};

/// The largest block: a writer that keeps this many bytes before the place of a write can always begin it at a block.
pub const BLOCK_MAX: usize = 4096;

/// From this size on memory is aligned so that the system can back it with large pages.
const LARGE: usize = 2 << 20;

/// Memory that blocks can be written from: whole pages, zero when first used.
#[derive(Debug)]
pub struct Blocks {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the memory is owned as a vector's is.
unsafe impl Send for Blocks {}
// SAFETY: as above; it is only read through shared references.
unsafe impl Sync for Blocks {}

impl Default for Blocks {
    /// No memory yet. A later allocation begins at a page.
    fn default() -> Blocks {
        Blocks { base: NonNull::new(std::ptr::without_provenance_mut(BLOCK_MAX)).expect("not zero"), len: 0 }
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: exactly the range that was mapped; no borrow outlives the value.
            let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.len) };
        }
    }
}

impl Blocks {
    /// Zeros of `len` bytes, whole pages.
    ///
    /// # Panics
    /// When there is no memory, as for a vector.
    fn of_zeros(len: usize) -> Blocks {
        // Large memory begins at a multiple of [`LARGE`]: map more, and unmap the parts before and after.
        let spare = if len >= LARGE { LARGE } else { 0 };
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new private mapping at an address of the kernel's choice.
        let got =
            unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), len + spare, protection, MapFlags::PRIVATE) };
        let got = got.unwrap_or_else(|e| panic!("no memory for {len} bytes: {e}"));
        let before = if spare > 0 { (got as usize).next_multiple_of(LARGE) - got as usize } else { 0 };
        for (at, part) in [(0, before), (before + len, spare - before)] {
            if part > 0 {
                // SAFETY: whole pages of the mapping made above, to which no reference exists yet.
                let _ = unsafe { rustix::mm::munmap(got.byte_add(at), part) };
            }
        }
        // SAFETY: inside the mapping, with `len` bytes left from there.
        let base = NonNull::new(unsafe { got.byte_add(before) }.cast::<u8>()).expect("a mapping is never at zero");
        let mut blocks = Blocks { base, len };
        if len >= LARGE {
            crate::memory::prefer_huge(blocks.bytes_mut());
        }
        blocks
    }

    /// Room for at least `bytes`, as words in the byte order of the file (little-endian). The contents are left from
    /// earlier use.
    pub fn words_mut(&mut self, bytes: usize) -> &mut [u64] {
        self.grow(bytes);
        let words = bytes.div_ceil(BLOCK_MAX) * (BLOCK_MAX / 8);
        // SAFETY: aligned to a page and as long as was requested; any bytes make words; the mutable borrow is passed
        // on.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr().cast(), words) }
    }

    /// All bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: mapped, initialized with zeros, and unchanged while the borrow lasts.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.len) }
    }

    /// As [`Blocks::bytes`], mutable.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`; the mutable borrow is passed on.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.len) }
    }

    /// Makes room for at least `bytes`. The contents stay; new bytes are zero.
    pub fn grow(&mut self, bytes: usize) {
        if self.len < bytes {
            let mut longer = Blocks::of_zeros(bytes.next_multiple_of(BLOCK_MAX));
            longer.bytes_mut()[..self.len].copy_from_slice(self.bytes());
            *self = longer;
        }
    }
}
