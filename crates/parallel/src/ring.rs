//! A ring of bytes in shared memory, with one writer and one reader.
//!
//! A message is sent in chunks: a word with the length and a flag for the last chunk, then the bytes, eight to a word.
//! A chunk becomes visible when its end is published by one store, so a killed writer leaves no partial chunk. A reader
//! checks each length before using it (X5).

use std::sync::atomic::{AtomicU64, Ordering};
use types::{Ora, Result};

/// Most bytes of a message.
pub const MESSAGE_MAX: usize = 1 << 30;

/// Flag in the first word of a chunk: last of its message.
const LAST: u64 = 1 << 32;
const LENGTH: u64 = LAST - 1;

/// One end of a ring.
#[derive(Clone, Copy)]
pub struct Ring {
    pub words: &'static [AtomicU64],
    /// Words read and written since the ring was last emptied.
    pub read: &'static AtomicU64,
    pub written: &'static AtomicU64,
}

impl Ring {
    /// Empties the ring. Neither end may be in use.
    pub fn empty(&self) {
        self.read.store(0, Ordering::Relaxed);
        self.written.store(0, Ordering::Release);
    }

    fn word(&self, at: u64) -> &'static AtomicU64 {
        &self.words[(at % self.words.len() as u64) as usize]
    }

    /// Whether there is something to read.
    pub fn has_some(&self) -> bool {
        self.written.load(Ordering::SeqCst) != self.read.load(Ordering::Relaxed)
    }

    /// Whether there is room to write.
    pub fn has_room(&self) -> bool {
        let used = self.written.load(Ordering::Relaxed).wrapping_sub(self.read.load(Ordering::SeqCst));
        used.saturating_add(2) <= self.words.len() as u64
    }

    /// Writes as much of the rest of a message as fits and returns the number of bytes; `None` if there is no room.
    pub fn put(&self, rest: &[u8]) -> Option<usize> {
        // Pairs with the Release in `take`: the words are free after they have been read.
        let read = self.read.load(Ordering::Acquire);
        let written = self.written.load(Ordering::Relaxed);
        let used = written.wrapping_sub(read).min(self.words.len() as u64);
        let free = self.words.len() as u64 - used;
        if free < 2 {
            return None;
        }
        let len = rest.len().min((free as usize - 1) * 8);
        let last = if len == rest.len() { LAST } else { 0 };
        self.word(written).store(len as u64 | last, Ordering::Relaxed);
        let mut at = written + 1;
        for bytes in rest[..len].chunks(8) {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            self.word(at).store(u64::from_le_bytes(word), Ordering::Relaxed);
            at += 1;
        }
        // Pairs with the Acquire in `take`: the reader sees the complete chunk.
        self.written.store(at, Ordering::SeqCst);
        Some(len)
    }

    /// Appends the next chunk to `out` and returns whether it ends its message; `None` if there is no chunk.
    ///
    /// # Errors
    /// ORA-00600 for impossible lengths.
    pub fn take(&self, out: &mut Vec<u8>) -> Result<Option<bool>> {
        let written = self.written.load(Ordering::Acquire);
        let read = self.read.load(Ordering::Relaxed);
        let there = written.wrapping_sub(read);
        if there == 0 {
            return Ok(None);
        }
        let damaged = || Ora::internal("message of a parallel query server is damaged");
        let head = self.word(read).load(Ordering::Relaxed);
        let len = (head & LENGTH) as usize;
        let words = len.div_ceil(8) as u64;
        if there > self.words.len() as u64 || head > LAST | LENGTH || words >= there {
            return Err(damaged());
        }
        if out.len() + len > MESSAGE_MAX {
            return Err(damaged());
        }
        out.reserve(words as usize * 8);
        let end = out.len() + len;
        for at in 0..words {
            out.extend_from_slice(&self.word(read + 1 + at).load(Ordering::Relaxed).to_le_bytes());
        }
        out.truncate(end);
        // Pairs with the Acquire in `put`.
        self.read.store(read + 1 + words, Ordering::SeqCst);
        Ok(Some(head & LAST != 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(words: usize) -> Ring {
        let word = || Box::leak(Box::new(AtomicU64::new(0)));
        let words: Vec<AtomicU64> = (0..words).map(|_| AtomicU64::new(0)).collect();
        Ring { words: Vec::leak(words), read: word(), written: word() }
    }

    fn message(n: usize) -> Vec<u8> {
        (0..n).map(|i| (i * 7 + n) as u8).collect()
    }

    #[test]
    fn messages_come_whole_and_in_order() {
        let ring = ring(16);
        let sent: Vec<Vec<u8>> = (0..200).map(|n| message(n * 3 % 257)).collect();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for message in &sent {
                    let mut rest = &message[..];
                    loop {
                        match ring.put(rest) {
                            Some(len) if len == rest.len() => break,
                            Some(len) => rest = &rest[len..],
                            None => std::thread::yield_now(),
                        }
                    }
                }
            });
            for message in &sent {
                let mut out = Vec::new();
                while ring.take(&mut out).unwrap() != Some(true) {
                    std::thread::yield_now();
                }
                assert_eq!(&out, message);
            }
        });
    }

    #[test]
    fn a_length_that_cannot_be_is_an_error() {
        let ring = ring(8);
        assert_eq!(ring.put(b"abcdefghi"), Some(9));
        ring.words[0].store(LAST | 1000, Ordering::Relaxed);
        assert!(ring.take(&mut Vec::new()).is_err());
        ring.words[0].store(LAST << 4 | 9, Ordering::Relaxed);
        assert!(ring.take(&mut Vec::new()).is_err());
        ring.words[0].store(LAST | 9, Ordering::Relaxed);
        let mut out = Vec::new();
        assert_eq!(ring.take(&mut out).unwrap(), Some(true));
        assert_eq!(out, b"abcdefghi");
        assert_eq!(ring.take(&mut out).unwrap(), None);
    }

    #[test]
    fn a_full_ring_takes_nothing() {
        let ring = ring(4);
        assert_eq!(ring.put(&message(100)), Some(24));
        assert!(!ring.has_room());
        assert_eq!(ring.put(b"x"), None);
        let mut out = Vec::new();
        assert_eq!(ring.take(&mut out).unwrap(), Some(false));
        assert_eq!(out, message(100)[..24]);
        assert!(ring.has_room());
    }
}
