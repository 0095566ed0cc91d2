//! The memory of frames and private images: the only unsafe code of the crate.

use crate::header::BufferHeader;
use crate::{BufferCache, GROUP_BLOCKS_MAX};
use std::sync::atomic::{AtomicU64, Ordering};

impl BufferCache {
    /// Words of a block.
    fn words(&self) -> usize {
        self.block_size / 8
    }

    /// The frame of a buffer.
    #[inline]
    pub(crate) fn frame(&self, buffer: usize) -> &'static [AtomicU64] {
        let words = self.words();
        &self.frames[buffer * words..(buffer + 1) * words]
    }

    /// The frame of a header of this cache.
    pub(crate) fn frame_of(&self, h: &BufferHeader) -> &'static [AtomicU64] {
        let first = self.headers.as_ptr().addr();
        self.frame((std::ptr::from_ref(h).addr() - first) / size_of::<BufferHeader>())
    }

    /// Private image number `entry` of process slot `slot`.
    pub(crate) fn image(&self, slot: usize, entry: usize) -> &'static [AtomicU64] {
        let n = slot * GROUP_BLOCKS_MAX + entry;
        &self.images[n * self.words()..(n + 1) * self.words()]
    }

    /// The image's bytes. The process must own the slot and have its change group open.
    pub(crate) fn image_bytes(&self, slot: usize, entry: usize) -> &[u8] {
        let words = self.image(slot, entry);
        // SAFETY: the words are plain memory of the SGA. Only the slot's process changes its images, through
        // `image_bytes_mut` and only from its open `ChangeGroup`, from whose borrow this one is derived. PMON touches
        // them only after the death of that process.
        unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), self.block_size) }
    }

    /// The image's bytes, mutable. The caller is the one open `ChangeGroup` of the slot's process and passes the slice
    /// on under its own exclusive borrow.
    #[allow(clippy::mut_from_ref)]
    pub(crate) fn image_bytes_mut(&self, slot: usize, entry: usize) -> &mut [u8] {
        let words = self.image(slot, entry);
        // SAFETY: as in `image_bytes`; a process has one change group at a time (asserted when it is opened), and that
        // group lends the image out under `&mut self`. The atomics are interior mutable, so writing through them is
        // allowed.
        unsafe { std::slice::from_raw_parts_mut(words.as_ptr().cast_mut().cast(), self.block_size) }
    }

    /// Copies an image into the frame of a buffer that its process owns exclusively, storing only the words that
    /// differ: a change is small, and readers keep their cache lines of the rest.
    ///
    /// Finding the words that differ is most of the work, so stretches are compared as memory first.
    pub(crate) fn copy_changes(&self, slot: usize, entry: usize, buffer: usize) {
        const STRETCH_WORDS: usize = 64;
        let images = self.image(slot, entry).chunks(STRETCH_WORDS);
        for (image, frame) in images.zip(self.frame(buffer).chunks(STRETCH_WORDS)) {
            if same_bytes(image, frame) {
                continue;
            }
            for (new, word) in image.iter().zip(frame) {
                let new = new.load(Ordering::Relaxed);
                if word.load(Ordering::Relaxed) != new {
                    word.store(new, Ordering::Relaxed);
                }
            }
        }
    }

    /// Makes an image a copy of a buffer that this process owns exclusively, unless it is a copy already.
    pub(crate) fn refresh_image(&self, slot: usize, entry: usize, buffer: usize) {
        let (area, version) = (&self.areas[slot], self.headers[buffer].version.load(Ordering::Relaxed));
        let (of, at) = (&area.image_of[entry], &area.image_version[entry]);
        if of.load(Ordering::Relaxed) == buffer as u64 + 1 && at.load(Ordering::Relaxed) == version {
            return;
        }
        let (image, frame) = (self.image(slot, entry), self.frame(buffer));
        // SAFETY: both are `words` words of the SGA and do not overlap. No other process stores to the frame, since the
        // caller owns the buffer exclusively, and only the caller reads the image, which belongs to its process.
        unsafe {
            std::ptr::copy_nonoverlapping(
                frame.as_ptr().cast::<u64>(),
                image.as_ptr().cast_mut().cast::<u64>(),
                image.len(),
            )
        };
        of.store(buffer as u64 + 1, Ordering::Relaxed);
        at.store(version, Ordering::Relaxed);
    }
}

/// Whether a part of an image equals a part of a frame. Called only by the process that may store to either: the one
/// that owns the buffer exclusively and has the change group, or PMON when that process is dead.
fn same_bytes(image: &[AtomicU64], frame: &[AtomicU64]) -> bool {
    let bytes = |words: &[AtomicU64]| std::ptr::slice_from_raw_parts(words.as_ptr().cast::<u8>(), size_of_val(words));
    // SAFETY: both are words of the SGA without a concurrent store, by the function's contract; readers of the frame
    // only load. The slices end with the comparison, before anything is stored.
    unsafe { *bytes(image) == *bytes(frame) }
}
