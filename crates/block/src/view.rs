//! Reading a block that another process may be changing.
//!
//! A frame of the buffer cache is an array of 64-bit atomic words. A versioned read loads them without a latch, so it
//! may see words of two versions of the block, and the caller learns only from the later version check whether the
//! result is valid. [`BlockView`] is therefore the only reader of blocks: it loads whole words with relaxed atomics,
//! clamps every offset and length to the block, and returns zero for bytes outside. It cannot panic and cannot loop,
//! whatever the bytes are (R1, R2).
//!
//! Rejected: plain byte slices with a later check. A racing plain read is undefined behaviour even when its result is
//! thrown away.

use std::cmp::Ordering as KeyOrder;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a line of the processor's cache: the unit of [`BlockView::prefetch`].
pub const LINE_BYTES: usize = 64;

/// A bounded, never panicking reader over the words of one block.
#[derive(Clone, Copy)]
pub struct BlockView<'a> {
    base: *const AtomicU64,
    words: usize,
    owner: PhantomData<&'a [AtomicU64]>,
}

impl<'a> BlockView<'a> {
    /// Views a frame in the SGA, which other processes may be changing.
    #[inline]
    pub fn of_frame(frame: &'a [AtomicU64]) -> Self {
        BlockView { base: frame.as_ptr(), words: frame.len(), owner: PhantomData }
    }

    /// Views a private image, which does not change while the view lives.
    ///
    /// The image must start at a multiple of 8 bytes and be a whole number of words, as [`crate::Image`] and the images
    /// of a change group do.
    #[inline]
    pub fn of_bytes(image: &'a [u8]) -> Self {
        assert!(
            image.as_ptr().addr().is_multiple_of(8) && image.len().is_multiple_of(8),
            "a block image is made of words"
        );
        BlockView { base: image.as_ptr().cast::<AtomicU64>(), words: image.len() / 8, owner: PhantomData }
    }

    /// The block's size in bytes.
    #[inline]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.words * 8
    }

    /// The word with index `i`, little-endian on disk; zero outside the block.
    #[inline]
    pub fn word(&self, i: usize) -> u64 {
        if i >= self.words {
            return 0;
        }
        // SAFETY: `i` is inside the slice that the view was made from and that lives for 'a; the only access ever made
        // through `base` is this relaxed load, which is allowed on memory that is read-only for us.
        u64::from_le(unsafe { (*self.base.add(i)).load(Ordering::Relaxed) })
    }

    /// The 64 bits at byte offset `at`, aligned or not.
    #[inline]
    pub fn u64(&self, at: usize) -> u64 {
        let (i, shift) = (at >> 3, (at & 7) * 8);
        if shift == 0 { self.word(i) } else { self.word(i) >> shift | self.word(i + 1) << (64 - shift) }
    }

    /// The byte at offset `at`.
    #[inline]
    pub fn u8(&self, at: usize) -> u8 {
        (self.word(at >> 3) >> ((at & 7) * 8)) as u8
    }

    /// The 16 bits at byte offset `at`.
    #[inline]
    pub fn u16(&self, at: usize) -> u16 {
        if at & 7 <= 6 { (self.word(at >> 3) >> ((at & 7) * 8)) as u16 } else { self.u64(at) as u16 }
    }

    /// The 32 bits at byte offset `at`.
    #[inline]
    pub fn u32(&self, at: usize) -> u32 {
        if at & 7 <= 4 { (self.word(at >> 3) >> ((at & 7) * 8)) as u32 } else { self.u64(at) as u32 }
    }

    /// Prefetches the cache line of byte `at`. Reads nothing, and does nothing outside the block.
    #[inline]
    pub fn prefetch(&self, at: usize) {
        #[cfg(target_arch = "x86_64")]
        if at < self.len() {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: the byte is inside the slice that the view was made from, and a prefetch changes nothing but the
            // processor's caches.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(self.base.cast::<i8>().add(at)) }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = at;
    }

    /// Copies the bytes from `at` on into `to`; returns how many were inside the block (the rest of `to` is left
    /// alone).
    #[inline]
    pub fn copy_into(&self, at: usize, to: &mut [u8]) -> usize {
        let n = to.len().min(self.len().saturating_sub(at));
        let (mut i, shift) = (at >> 3, (at & 7) * 8);
        let mut chunks = to[..n].chunks_exact_mut(8);
        let mut low = self.word(i);
        if shift == 0 {
            // SAFETY: `n` bytes from `at` on lie inside the slice that the view was made from; the loads are relaxed,
            // as in `word`.
            let words = unsafe { std::slice::from_raw_parts(self.base.add(i.min(self.words)), n / 8) };
            for (chunk, word) in (&mut chunks).zip(words) {
                chunk.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
            }
            i += n / 8;
        } else {
            for chunk in &mut chunks {
                let high = self.word(i + 1);
                chunk.copy_from_slice(&(low >> shift | high << (64 - shift)).to_le_bytes());
                i += 1;
                low = high;
            }
        }
        let rest = chunks.into_remainder();
        if !rest.is_empty() {
            let last = self.u64(i * 8 + shift / 8).to_le_bytes();
            let len = rest.len();
            rest.copy_from_slice(&last[..len]);
        }
        n
    }

    /// Appends `len` bytes from `at` on to `to`, fewer when the block ends before; allocates only when `to` must grow.
    #[inline]
    pub fn append_to(&self, at: usize, len: usize, to: &mut Vec<u8>) {
        let n = len.min(self.len().saturating_sub(at));
        if n == 0 {
            return;
        }
        let (first, shift) = (at / 8, (at % 8) * 8);
        // Whole words are written, so the last one may extend beyond `n` bytes.
        to.reserve(n + 7);
        let out = to.spare_capacity_mut()[..n.next_multiple_of(8)].as_mut_ptr().cast::<u64>();
        // SAFETY: the words of the `n` bytes lie inside the slice that the view was made from; the loads are relaxed,
        // as in `word`.
        let words = unsafe { std::slice::from_raw_parts(self.base.add(first), (at + n).div_ceil(8) - first) };
        // SAFETY: word `i` of at most `n.div_ceil(8)` lies inside the spare bytes reserved above, aligned or not.
        let put = |i: usize, word: u64| unsafe { out.add(i).write_unaligned(word) };
        let get = |word: &AtomicU64| word.load(Ordering::Relaxed);
        if shift == 0 {
            let (lines, rest) = words.as_chunks::<8>();
            for (i, line) in lines.iter().enumerate() {
                line.iter().enumerate().for_each(|(k, word)| put(i * 8 + k, get(word)));
            }
            rest.iter().enumerate().for_each(|(k, word)| put(lines.len() * 8 + k, get(word)));
        } else {
            let mut low = u64::from_le(get(&words[0]));
            for i in 0..n.div_ceil(8) {
                let high = words.get(i + 1).map_or(0, |word| u64::from_le(get(word)));
                put(i, (low >> shift | high << (64 - shift)).to_le());
                low = high;
            }
        }
        // SAFETY: all of them have been written.
        unsafe { to.set_len(to.len() + n) };
    }

    /// Copies the words that contain the bytes `from` to `to` to the front of `out`, which grows when it is too short
    /// and never shrinks; returns the offset of the first of these words.
    #[inline]
    pub fn copy_words(&self, from: usize, to: usize, out: &mut Vec<u8>) -> usize {
        let last = to.min(self.len()).div_ceil(8);
        let first = (from / 8).min(last);
        let bytes = (last - first) * 8;
        if out.len() < bytes {
            out.resize(bytes, 0);
        }
        // SAFETY: `first..last` lies inside the slice that the view was made from; the loads below are relaxed, as in
        // `word`.
        let words = unsafe { std::slice::from_raw_parts(self.base.add(first), last - first) };
        for (word, chunk) in words.iter().zip(out.chunks_exact_mut(8)) {
            chunk.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
        }
        first * 8
    }

    /// Copies the whole block.
    pub fn copy_block(&self, to: &mut [u8]) {
        for (i, chunk) in to.chunks_exact_mut(8).enumerate().take(self.words) {
            chunk.copy_from_slice(&self.word(i).to_le_bytes());
        }
    }

    /// Compares `len` bytes from `at` on with `key`, as `memcmp` and then by length.
    #[inline]
    pub fn compare(&self, at: usize, len: usize, key: &[u8]) -> KeyOrder {
        let len = len.min(self.len().saturating_sub(at));
        let both = len.min(key.len());
        let mut done = 0;
        while done < both {
            let n = (both - done).min(8);
            let mine = self.u64(at + done).swap_bytes();
            let theirs = match key[done..].first_chunk() {
                Some(eight) => u64::from_be_bytes(*eight),
                None => {
                    key[done..].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)) << (64 - 8 * (key.len() - done))
                }
            };
            let keep = u64::MAX << (64 - 8 * n);
            match (mine & keep).cmp(&(theirs & keep)) {
                KeyOrder::Equal => done += n,
                other => return other,
            }
        }
        len.cmp(&key.len())
    }
}

/// A private copy of one block, aligned to words.
#[derive(Clone)]
pub struct Image {
    words: Box<[u64]>,
}

impl Image {
    /// A block of zeros of `size` bytes; the size must be a whole number of words.
    pub fn new(size: usize) -> Image {
        assert!(size.is_multiple_of(8), "a block image is made of words");
        Image { words: vec![0; size / 8].into_boxed_slice() }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the words are initialised and every byte pattern is a valid `u8`.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.words.len() * 8) }
    }

    /// The bytes, for the mutators.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.words.len() * 8) }
    }

    /// A reader over the image.
    pub fn view(&self) -> BlockView<'_> {
        BlockView::of_bytes(self.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(n: usize) -> Image {
        let mut image = Image::new(n);
        for (i, b) in image.bytes_mut().iter_mut().enumerate() {
            *b = (i * 37 + 11) as u8;
        }
        image
    }

    #[test]
    fn every_width_reads_what_the_bytes_say_at_every_offset() {
        let image = image(64);
        let (v, b) = (image.view(), image.bytes());
        let get = |at: usize, n: usize| (0..n).map(|i| u64::from(*b.get(at + i).unwrap_or(&0)) << (8 * i)).sum::<u64>();
        for at in 0..80 {
            assert_eq!(u64::from(v.u8(at)), get(at, 1));
            assert_eq!(u64::from(v.u16(at)), get(at, 2));
            assert_eq!(u64::from(v.u32(at)), get(at, 4));
            assert_eq!(v.u64(at), get(at, 8));
        }
        assert_eq!(v.u64(usize::MAX - 20), 0);
    }

    #[test]
    fn copies_and_comparisons_agree_with_slices() {
        let image = image(64);
        let (v, b) = (image.view(), image.bytes());
        for at in 0..70 {
            for len in 0..70 {
                let want = &b[at.min(64)..(at + len).min(64)];
                let mut out = vec![0xEE];
                v.append_to(at, len, &mut out);
                assert_eq!(&out[1..], want);
                for key in [want.to_vec(), [want, &[0]].concat(), want[..want.len() / 2].to_vec(), vec![0x80; 9]] {
                    assert_eq!(v.compare(at, len, &key), want.cmp(&key[..]), "{at} {len}");
                }
            }
        }
        for from in 0..70usize {
            for to in from..70 {
                let mut out = vec![0xEE; 3];
                let begin = v.copy_words(from, to, &mut out);
                let end = to.min(64);
                if from < end {
                    assert_eq!(&out[from - begin..end - begin], &b[from..end], "{from}..{to}");
                }
            }
        }
        let mut whole = vec![0; 64];
        v.copy_block(&mut whole);
        assert_eq!(whole, b);
    }
}
