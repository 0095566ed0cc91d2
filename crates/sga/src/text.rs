//! Short texts in the SGA, written by one process and read by any.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use crate::SgaLayout;

/// A text of at most `8 * WORDS` bytes. It has one writer at a time; readers never wait and never see half a text
/// (invariant 6).
#[derive(Debug)]
#[repr(C)]
pub struct SgaText<const WORDS: usize> {
    /// Even while the text is whole, odd while it is being written. The upper 63 bits count changes.
    version: AtomicU64,
    len: AtomicU64,
    words: [AtomicU64; WORDS],
}

// SAFETY: `repr(C)`, atomic words only; every bit pattern is accepted, since `get` clamps the length and checks UTF-8.
#[allow(unsafe_code)]
unsafe impl<const WORDS: usize> SgaLayout for SgaText<WORDS> {}

impl<const WORDS: usize> SgaText<WORDS> {
    /// The longest text that fits, in bytes.
    pub const LEN_MAX: usize = 8 * WORDS;

    /// Replaces the text. A text that is too long is cut off at a character boundary.
    ///
    /// A writer that dies during the change leaves the version odd: readers get an empty text until the next `set`.
    pub fn set(&self, text: &str) {
        let mut len = text.len().min(Self::LEN_MAX);
        while !text.is_char_boundary(len) {
            len -= 1;
        }
        let odd = self.version.load(Ordering::Relaxed) | 1;
        self.version.store(odd, Ordering::Relaxed);
        fence(Ordering::Release); // pairs with the Acquire fence in `get`: a new word implies the odd version
        self.len.store(len as u64, Ordering::Relaxed);
        for (word, bytes) in self.words.iter().zip(text.as_bytes()[..len].chunks(8)) {
            let mut eight = [0; 8];
            eight[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_le_bytes(eight), Ordering::Relaxed);
        }
        // Pairs with the first Acquire load in `get`: a reader that sees this version sees the new words.
        self.version.store(odd.wrapping_add(1), Ordering::Release);
    }

    /// Returns the text; an empty one when its writer died while writing it.
    #[must_use]
    pub fn get(&self) -> String {
        let mut bytes = Vec::with_capacity(Self::LEN_MAX);
        for _ in 0..1000 {
            let before = self.version.load(Ordering::Acquire); // pairs with the last store in `set`
            let len = (self.len.load(Ordering::Relaxed) as usize).min(Self::LEN_MAX);
            bytes.clear();
            bytes.extend(self.words.iter().take(len.div_ceil(8)).flat_map(|w| w.load(Ordering::Relaxed).to_le_bytes()));
            fence(Ordering::Acquire); // pairs with the Release fence in `set`
            if before.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == before {
                bytes.truncate(len);
                return String::from_utf8(bytes).unwrap_or_default();
            }
            os::cpu::relax();
        }
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty<const N: usize>() -> SgaText<N> {
        SgaText { version: AtomicU64::new(0), len: AtomicU64::new(0), words: [const { AtomicU64::new(0) }; N] }
    }

    #[test]
    fn a_text_is_kept_and_cut_at_a_character() {
        let t = empty::<2>();
        assert_eq!(t.get(), "");
        t.set("sixteen bytes ab");
        assert_eq!(t.get(), "sixteen bytes ab");
        t.set("fifteen bytes aé");
        assert_eq!(t.get(), "fifteen bytes a");
        t.set("x");
        assert_eq!(t.get(), "x");
    }

    #[test]
    fn garbage_is_an_empty_text() {
        let t = empty::<1>();
        t.len.store(u64::MAX, Ordering::Relaxed);
        t.words[0].store(u64::MAX, Ordering::Relaxed);
        assert_eq!(t.get(), "");
    }
}
