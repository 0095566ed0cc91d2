//! The structures of the row cache in the SGA.
//!
//! An object has 512 bytes: a line of words, the object's mutex on a line of its own (a get writes it, and versioned
//! readers read only the others), and the body: the key, then the value at the next whole word. The objects of one
//! cache hang in buckets of that cache, so one child latch protects them all.
//!
//! All words are atomics: a versioned reader copies them while a writer may be changing them.

use std::sync::atomic::{AtomicU64, Ordering};

use latch::Mutex;
use latch::word::LifeWord;

use crate::Cache;

/// Longest key, in bytes: two numbers and a name.
pub const KEY_BYTES_MAX: usize = 160;
/// Words of an object's body.
const BODY_WORDS: usize = 48;
/// Bytes of key and value together; module `long` stores a longer value in pieces.
pub const BODY_BYTES: usize = BODY_WORDS * 8;
/// Hashes of hot objects noted for a cache.
pub(crate) const HOT_SLOTS: usize = 16;
/// Rows that one session can load at a time: a load may need another row.
pub(crate) const LOADING_MAX: usize = 8;

/// One object.
#[repr(C, align(64))]
pub struct RowObject {
    /// Changes with every change of the mark.
    pub(crate) life: LifeWord,
    pub(crate) hash: AtomicU64,
    /// [`State`].
    pub(crate) state: AtomicU64,
    /// The state word of the cache at which the value was current.
    pub(crate) stamp: AtomicU64,
    /// Next object of the chain, or of the free list, as a link.
    pub(crate) chain: AtomicU64,
    /// Readers of the latched design between their first and third get.
    pub(crate) pins: AtomicU64,
    /// The process that loads the row and holds its row cache lock exclusively; 0 for none.
    pub(crate) owner: AtomicU64,
    /// The mark of use (R9): 1 when the object was read since the eviction passed it, else 0.
    used: AtomicU64,
    pub(crate) mutex: Mutex,
    pad_more: [AtomicU64; 5],
    body: [AtomicU64; BODY_WORDS],
}
const _: () = assert!(size_of::<RowObject>() == 512);

/// The status of an object.
///
/// | status | may be read | next |
/// |---|---|---|
/// | Loading | by nobody; others wait for the row cache lock | Ready (stored), freed (abandoned, the loader died) |
/// | Ready | while its stamp is its cache's state | freed (found stale, memory wanted) |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Status {
    Loading = 1,
    Ready = 2,
}

/// The state word, unpacked:
/// `status | existent << 8 | cache << 16 | copy << 24 | key length << 32 | value length << 48`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub is_ready: bool,
    pub existent: bool,
    pub cache: u8,
    /// 0 for the object itself, else the number of the copy for a group of sessions.
    pub copy: u8,
    pub key_len: usize,
    pub value_len: usize,
}

impl State {
    pub fn pack(self) -> u64 {
        let status = if self.is_ready { Status::Ready } else { Status::Loading };
        status as u64
            | u64::from(self.existent) << 8
            | u64::from(self.cache) << 16
            | u64::from(self.copy) << 24
            | (self.key_len as u64) << 32
            | (self.value_len as u64) << 48
    }

    /// Unpacks a word that may be garbage: every length is clamped.
    #[inline]
    pub fn unpack(word: u64) -> State {
        let key_len = ((word >> 32) as u16 as usize).min(KEY_BYTES_MAX);
        State {
            is_ready: word as u8 == Status::Ready as u8,
            existent: (word >> 8) as u8 != 0,
            cache: (word >> 16) as u8,
            copy: (word >> 24) as u8,
            key_len,
            value_len: ((word >> 48) as usize).min(BODY_BYTES - key_len.next_multiple_of(8)),
        }
    }
}

/// The head of a chain, on one line with the bucket's mutex.
#[repr(C, align(64))]
pub struct RowBucket {
    pub(crate) head: AtomicU64,
    pub(crate) mutex: Mutex,
    /// Like the state of a cache, for the keys of this bucket: changes above, commits in progress below. Only loads
    /// read it; see module `commit`.
    pub(crate) state: AtomicU64,
    pad: [AtomicU64; 3],
}
const _: () = assert!(size_of::<RowBucket>() == 64);

/// The words that all readers of one cache read. Written when the dictionary changes, or an object becomes hot.
#[repr(C, align(64))]
pub struct CacheLine {
    /// Changes so far in the upper bits, commits in progress in the low 16; see module `commit`.
    pub(crate) state: AtomicU64,
    /// Slots of `hot` in use.
    pub(crate) hot_count: AtomicU64,
    /// 1 while changes of the chains keep readers by mutex out. Changed under the cache's child latch; see module
    /// `switch`.
    pub(crate) shuts: AtomicU64,
    pad: [AtomicU64; 5],
    /// Hashes of objects with copies; 0 is none.
    pub(crate) hot: [AtomicU64; HOT_SLOTS],
}

/// Buckets that one transaction can close; a transaction with more closes whole caches.
pub(crate) const BUCKETS_MAX: usize = 115;

/// The commits in progress in the state word of a cache or a bucket.
pub(crate) const PENDING: u64 = 0xffff;

/// The fixed part.
#[repr(C, align(64))]
pub struct RowControl {
    /// First free object, as a link. Changed under the pool latch, like `fresh`.
    pub(crate) free: AtomicU64,
    /// Objects from this number on have never been used.
    pub(crate) fresh: AtomicU64,
    /// Where the next search for a victim begins.
    pub(crate) hand: AtomicU64,
    /// The numbers given to stores of long values, which tell their pieces apart.
    pub(crate) editions: AtomicU64,
    /// Changes when a cache is closed as a whole, and again when it opens.
    pub(crate) closings: AtomicU64,
    /// 1 once there may be copies of hot objects.
    pub(crate) copied: AtomicU64,
    pad: [AtomicU64; 2],
}

/// The counts of one process for one cache.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Figures {
    pub gets: AtomicU64,
    pub misses: AtomicU64,
    pub scans: AtomicU64,
    pub scan_misses: AtomicU64,
    pub scan_completes: AtomicU64,
    pub modifications: AtomicU64,
    pub flushes: AtomicU64,
    pad: AtomicU64,
}

/// The words of one process in the row cache; written by that process alone, or by its clean-up. The counts continue
/// when another process takes the slot.
#[repr(C, align(128))]
pub struct RowProcess {
    /// The pinned object, as a link: one at a time.
    pub(crate) pinned: AtomicU64,
    /// Caches that it holds pending, a bit each.
    pub(crate) pending: [AtomicU64; 2],
    /// Objects that it loads, as links.
    pub(crate) loading: [AtomicU64; LOADING_MAX],
    /// Caches whose changed keys it has announced, a bit each: they are not closed as a whole.
    pub(crate) keyed: [AtomicU64; 2],
    /// Buckets that it holds pending: the cache's index in the upper half, the bucket's number plus 1 below.
    pub(crate) buckets: [AtomicU64; BUCKETS_MAX],
    pub(crate) figures: [Figures; Cache::COUNT],
}

#[allow(unsafe_code)]
mod shared {
    use sga::SgaLayout;

    use super::{CacheLine, RowBucket, RowControl, RowObject, RowProcess};

    // SAFETY: `repr(C)`, atomics and a mutex that is one, valid for every bit pattern.
    unsafe impl SgaLayout for RowObject {}
    // SAFETY: as above.
    unsafe impl SgaLayout for RowBucket {}
    // SAFETY: `repr(C)`, atomics only, valid for every bit pattern.
    unsafe impl SgaLayout for CacheLine {}
    // SAFETY: as above.
    unsafe impl SgaLayout for RowControl {}
    // SAFETY: as above.
    unsafe impl SgaLayout for RowProcess {}
}

impl RowObject {
    /// Marks the object as used (R9). A reader of a former life may mark another row: that row stays a round longer.
    #[inline]
    pub(crate) fn mark_used(&self) {
        // The line is in the reader's cache already; it is written only where the mark is missing.
        if self.used.load(Ordering::Relaxed) == 0 {
            self.used.store(1, Ordering::Relaxed);
        }
    }

    /// Removes the mark of use; true if there was one.
    pub(crate) fn take_mark(&self) -> bool {
        let is_used = self.used.load(Ordering::Relaxed) != 0;
        if is_used {
            self.used.store(0, Ordering::Relaxed);
        }
        is_used
    }

    /// Whether the object has this key.
    #[inline]
    pub(crate) fn has_key(&self, state: &State, key: &[u8]) -> bool {
        if state.key_len != key.len() {
            return false;
        }
        let (whole, rest) = key.as_chunks::<8>();
        let mut words = self.body.iter().map(|word| word.load(Ordering::Relaxed));
        whole.iter().all(|part| words.next() == Some(u64::from_le_bytes(*part)))
            && (rest.is_empty() || words.next().is_some_and(|word| word.to_le_bytes()[..rest.len()] == *rest))
    }

    /// The bytes of the key.
    pub(crate) fn key(&self, state: &State) -> Vec<u8> {
        let words = self.body.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes());
        words.take(state.key_len).collect()
    }

    /// Copies the value into the reader's memory.
    #[inline]
    pub(crate) fn copy_value(&self, state: &State, value: &mut RowValue) {
        let from = state.key_len.div_ceil(8).min(BODY_WORDS);
        let words = &self.body[from..];
        let count = state.value_len.div_ceil(8).min(words.len());
        for (place, word) in value.bytes.chunks_exact_mut(8).zip(&words[..count]) {
            place.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
        }
        value.len = state.value_len.min(count * 8);
        value.existent = state.existent;
    }

    /// Writes key and value. The caller owns the body: nobody else writes it, and readers of a former life will find
    /// the life changed.
    pub(crate) fn fill(&self, key: &[u8], value: &[u8]) {
        let from = key.len().div_ceil(8);
        assert!(key.len() <= KEY_BYTES_MAX && from * 8 + value.len() <= BODY_BYTES, "key and value fit an object");
        for (words, bytes) in [(&self.body[..from], key), (&self.body[from..], value)] {
            for (word, part) in words.iter().zip(bytes.chunks(8)) {
                let mut whole = [0; 8];
                whole[..part.len()].copy_from_slice(part);
                word.store(u64::from_le_bytes(whole), Ordering::Relaxed);
            }
        }
    }
}

/// Whether a row with a key and value of these lengths can be cached.
pub(crate) fn fits(key: usize, value: usize) -> bool {
    key <= KEY_BYTES_MAX && key.next_multiple_of(8) + value <= BODY_BYTES
}

/// The value of a row, copied into the reader's own memory. Kept and used again.
#[derive(Clone, Debug)]
pub struct RowValue {
    bytes: [u8; BODY_BYTES],
    len: usize,
    existent: bool,
}

impl Default for RowValue {
    fn default() -> Self {
        RowValue::new()
    }
}

impl RowValue {
    /// A value with these bytes; the caller has checked that they fit.
    pub(crate) fn of(bytes: &[u8]) -> RowValue {
        let mut value = RowValue { len: bytes.len(), existent: true, ..RowValue::new() };
        value.bytes[..bytes.len()].copy_from_slice(bytes);
        value
    }

    /// An empty value.
    pub fn new() -> RowValue {
        RowValue { bytes: [0; BODY_BYTES], len: 0, existent: false }
    }

    /// The bytes; empty for a row that does not exist.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Whether the row exists: the cache also keeps that a row does not exist.
    #[inline]
    pub fn is_existent(&self) -> bool {
        self.existent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_survives_packing_and_garbage_is_clamped() {
        let state = State { is_ready: true, existent: true, cache: 70, copy: 3, key_len: 160, value_len: 200 };
        assert_eq!(State::unpack(state.pack()), state);
        let garbage = State::unpack(u64::MAX);
        assert!(garbage.key_len <= KEY_BYTES_MAX && garbage.key_len + garbage.value_len <= BODY_BYTES);
        assert!(!garbage.is_ready);
    }

    #[test]
    fn keys_and_values_of_every_length_come_back() {
        let mut builder = sga::SgaBuilder::new();
        let place = builder.reserve::<RowObject>("test", 1);
        let sga = builder.create(sga::LargePages::False).unwrap();
        let object = &sga.slice(place)[0];
        for (key_len, value_len) in [(0, 0), (1, 7), (8, 8), (16, 9), (160, 224), (13, 368)] {
            let key: Vec<u8> = (0..key_len).map(|n| n as u8 + 1).collect();
            let value: Vec<u8> = (0..value_len).map(|n| 255 - n as u8).collect();
            assert!(fits(key_len, value_len));
            object.fill(&key, &value);
            let state = State { is_ready: true, existent: true, cache: 1, copy: 0, key_len, value_len };
            let mut out = RowValue::new();
            object.copy_value(&state, &mut out);
            assert_eq!((out.bytes(), object.key(&state)), (value.as_slice(), key.clone()));
            assert!(object.has_key(&state, &key));
            if key_len > 0 {
                let mut other = key.clone();
                other[key_len - 1] ^= 1;
                assert!(!object.has_key(&state, &other));
            }
        }
        assert!(!fits(161, 0) && !fits(160, 225));
    }
}
