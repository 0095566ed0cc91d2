//! Text, names and bytes in words of shared memory.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::NAME_BYTES_MAX;

pub(crate) fn get(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}

pub(crate) fn set(word: &AtomicU64, value: u64) {
    word.store(value, Ordering::Relaxed);
}

/// The words of a name, padded with zeros, cut at [`NAME_BYTES_MAX`].
pub(crate) fn name_words(name: &str) -> [u64; NAME_BYTES_MAX / 8] {
    let mut bytes = [0; NAME_BYTES_MAX];
    let len = name.len().min(NAME_BYTES_MAX);
    bytes[..len].copy_from_slice(&name.as_bytes()[..len]);
    std::array::from_fn(|n| u64::from_le_bytes(bytes[n * 8..n * 8 + 8].try_into().expect("eight bytes")))
}

pub(crate) fn store_name(words: &[AtomicU64; NAME_BYTES_MAX / 8], name: &str) {
    for (word, value) in words.iter().zip(name_words(name)) {
        word.store(value, Ordering::Relaxed);
    }
}

pub(crate) fn now_s() -> u64 {
    os::clock::wall_ns() / 1_000_000_000
}

pub(crate) fn store_bytes(words: &[AtomicU64], bytes: &[u8]) {
    let (whole, rest) = bytes.as_chunks::<8>();
    for (word, bytes) in words.iter().zip(whole) {
        word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
    }
    if let Some(word) = words.get(whole.len()).filter(|_| !rest.is_empty()) {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        word.store(u64::from_le_bytes(last), Ordering::Relaxed);
    }
}

pub(crate) fn load_bytes(words: &[AtomicU64], len: usize) -> Vec<u8> {
    let len = len.min(words.len() * 8);
    let used = &words[..len.div_ceil(8)];
    let mut bytes: Vec<u8> = used.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect();
    bytes.truncate(len);
    bytes
}

/// Stores as many whole characters of a text as fit; returns the bytes stored.
pub(crate) fn store_text(words: &[AtomicU64], text: &str) -> usize {
    let mut cut = text.len().min(words.len() * 8);
    while !text.is_char_boundary(cut) {
        cut -= 1;
    }
    store_bytes(words, &text.as_bytes()[..cut]);
    cut
}

pub(crate) fn load_text(words: &[AtomicU64], len: usize) -> String {
    String::from_utf8_lossy(&load_bytes(words, len)).into_owned()
}
