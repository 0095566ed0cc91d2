//! The structures of the result cache in the SGA.
//!
//! Memory is an array of 1 KB blocks; 32 blocks make a chunk, and chunks come into use one after another as blocks are
//! needed. An object (a result or a dependency) is a chain of blocks; the identifier of its first block is the object's
//! identifier. Every block starts with a link word, which leaves 1016 bytes. A result whose rows fit beside its header
//! takes one block; a larger one keeps its first block for the header alone (metadata) and its rows in the others.
//! Words that must keep their meaning in every use of a block are kept outside the blocks, in [`RcLife`], because rows
//! may fill all of a block but the link word.
//!
//! All words are atomics: a versioned reader copies them while a writer may be changing them.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use latch::word::LifeWord;

/// Bytes of one block.
pub const BLOCK_SIZE_BYTES: usize = 1024;
/// Blocks of one chunk.
pub const BLOCKS_PER_CHUNK: u64 = 32;
/// Bytes of a block that carry data: all but the link word.
pub const PAYLOAD_BYTES: usize = BLOCK_SIZE_BYTES - 8;
/// Words of a block.
pub(crate) const BLOCK_WORDS: usize = BLOCK_SIZE_BYTES / 8;
/// Dependencies recorded for one result; a result with more is not cached.
pub const DEPENDENCIES_MAX: usize = 8;
/// Longest name (statement text) kept with an object, in bytes.
pub const NAME_BYTES_MAX: usize = 128;
/// Longest key: the statement's digest and the bind values. A result with a longer key is not cached.
pub const KEY_BYTES_MAX: usize = 256;
/// Slots of the dependency table; object numbers that are equal modulo this share a slot, which only costs rebuilds.
pub(crate) const DEPEND_SLOTS: usize = 16384;
/// Objects that one committing transaction can hold pending; a longer list closes the whole cache until the commit
/// ends.
pub(crate) const PENDING_MAX: usize = 32;

/// One block.
#[repr(C, align(64))]
pub struct RcBlock {
    pub(crate) words: [AtomicU64; BLOCK_WORDS],
}
const _: () = assert!(size_of::<RcBlock>() == BLOCK_SIZE_BYTES);

/// The life of a block, and whether an object begins in it; outside the blocks, since rows overwrite a block.
///
/// The life changes with every change of the mark and does not return to a former value while a reader may remember it:
/// a reader without a latch that finds the same word after copying has read one life. The rollback of a dead process's
/// section restores the word. That is harmless: an object that such a section had linked was not published, and one
/// that it had retired has kept its words, since its blocks may be written only after the retirement is final.
#[repr(C, align(16))]
pub struct RcLife {
    /// Whether an object begins in this block.
    pub(crate) word: LifeWord,
    /// Time of the last use in centiseconds of the instance's clock (coarse in the designs without shared writes on a
    /// hit). A reader without a latch may note a use just after the block went to another object, which then stays a
    /// little longer.
    pub(crate) last_used: AtomicU64,
}

/// Words of an object's first block. A link is a block identifier plus one; zero is the end of a chain.
pub(crate) mod word {
    /// Next block of the object, or of the free list.
    pub const NEXT: usize = 0;
    pub const HASH: usize = 1;
    /// `status | kind << 8 | namespace << 16 | dependencies << 24 | key_len << 32 | name_len << 48`.
    pub const STATE: usize = 2;
    /// Result: the SCN it was built at. Dependency: the SCN of its last invalidation.
    pub const SCN: usize = 3;
    /// Next object of the hash chain.
    pub const CHAIN: usize = 4;
    pub const PINS: usize = 5;
    /// The slot of the building process, plus one.
    pub const OWNER: usize = 6;
    /// Bytes of row data.
    pub const DATA_LEN: usize = 7;
    pub const ROW_COUNT: usize = 8;
    pub const BLOCK_COUNT: usize = 9;
    /// Last block of the object, as a link.
    pub const LAST: usize = 10;
    pub const CREATED: usize = 11;
    pub const BUILD_TIME_CS: usize = 12;
    pub const CREATOR: usize = 13;
    /// Smallest row in the low half, largest in the high half; bytes.
    pub const ROW_SIZE: usize = 14;
    /// Hits counted under the latch (the exclusive designs only).
    pub const SCANS: usize = 15;
    /// A dependency's object number; in the high half the number of its invalidations.
    pub const OBJECT_NO: usize = 16;
    pub const COLUMN_COUNT: usize = 17;
    /// Four words: eight object numbers of 32 bits.
    pub const DEPENDS: usize = 18;
    /// Key, name, then rows at the next whole word if they fit.
    pub const BODY: usize = 22;
}
const _: () = assert!(word::BODY * 8 + KEY_BYTES_MAX + NAME_BYTES_MAX < BLOCK_SIZE_BYTES);

types::numbered! {
    /// Status of an object, as `v$result_cache_objects` prints it.
    ///
    /// | status | may be read | next |
    /// |---|---|---|
    /// | New | by nobody; others wait for the RC enqueue | Published (publish), freed (abandon, death of the builder) |
    /// | Published | while no dependency changed after its SCN | Invalid (commit on a dependency), freed (memory wanted) |
    /// | Bypass | by nobody: too large or refused | freed |
    /// | Invalid | by nobody | freed (rebuilt, memory wanted) |
    #[derive(Debug, PartialEq, Eq)]
    pub enum Status: u8 {
        New = 1,
        Published = 2,
        Bypass = 3,
        Invalid = 4,
    }
}

impl Status {
    /// The name Oracle's view shows.
    pub fn name(self) -> &'static str {
        match self {
            Status::New => "New",
            Status::Published => "Published",
            Status::Bypass => "Bypass",
            Status::Invalid => "Invalid",
        }
    }

    pub(crate) fn of(state: u64) -> Option<Status> {
        Status::from_code(state as u8)
    }
}

/// The kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Result = 1,
    Dependency = 2,
}

/// The creator of the result: a SQL statement or a PL/SQL function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Namespace {
    Sql = 1,
    PlSql = 2,
}

/// The state word, unpacked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    pub status: Option<Status>,
    pub kind: u8,
    pub namespace: u8,
    pub depends: usize,
    pub key_len: usize,
    pub name_len: usize,
}

impl State {
    pub fn pack(
        status: Status,
        kind: Kind,
        namespace: Namespace,
        depends: usize,
        key_len: usize,
        name_len: usize,
    ) -> u64 {
        debug_assert!(depends <= DEPENDENCIES_MAX && key_len <= KEY_BYTES_MAX && name_len <= NAME_BYTES_MAX);
        status as u64
            | (kind as u64) << 8
            | (namespace as u64) << 16
            | (depends as u64) << 24
            | (key_len as u64) << 32
            | (name_len as u64) << 48
    }

    /// Unpacks a word that may be garbage: every length is clamped.
    pub fn unpack(state: u64) -> State {
        State {
            status: Status::of(state),
            kind: (state >> 8) as u8,
            namespace: (state >> 16) as u8,
            depends: ((state >> 24) as u8 as usize).min(DEPENDENCIES_MAX),
            key_len: ((state >> 32) as u16 as usize).min(KEY_BYTES_MAX),
            name_len: ((state >> 48) as usize).min(NAME_BYTES_MAX),
        }
    }

    /// Start of an object's rows in its first block: after key and name, at a whole word.
    pub fn body(&self) -> usize {
        (word::BODY * 8 + self.key_len + self.name_len).next_multiple_of(8)
    }

    pub fn with_status(state: u64, status: Status) -> u64 {
        state & !0xff | status as u64
    }
}

/// One slot of the dependency table, by object number.
#[repr(C, align(32))]
pub struct DependSlot {
    /// Not zero once a statement has declared that it depends on the object.
    pub(crate) tracked: AtomicU64,
    /// Committing transactions that changed the object and have not stored their SCN here yet. Changed under the SO
    /// latch.
    pub(crate) pending: AtomicU64,
    /// SCN of the last commit that changed the object. Changed under the SO latch.
    pub(crate) last_change: AtomicU64,
    /// The dependency object, as a link, and the number of valid results that depend on it in the high half.
    pub(crate) object: AtomicU64,
}

/// Figures of `v$result_cache_statistics`, counted in each process's own line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Statistic {
    CreateCountSuccess,
    CreateCountFailure,
    FindCount,
    InvalidationCount,
    DeleteCountInvalid,
    DeleteCountValid,
}

impl Statistic {
    /// The number of these figures.
    pub const COUNT: usize = 6;
}

/// The words of one process in the result cache; written by that process alone, or by its clean-up.
#[repr(C, align(128))]
pub struct RcProcess {
    /// Not zero between `before_visible` and `after` of a commit.
    pub(crate) committing: AtomicU64,
    /// Commits so far: the next value of `committing`.
    pub(crate) commits: AtomicU64,
    /// The session has used the cache and must detach.
    pub(crate) attached: AtomicU64,
    /// The pinned object, as a link. A pin lasts for one access, so there is at most one besides those being built.
    pub(crate) pinned: AtomicU64,
    /// The objects that it builds, as links (a query inside a cached function may build a second one, and so on).
    pub(crate) building: [AtomicU64; 8],
    /// The numbers plus one of the objects that it holds pending.
    pub(crate) pending: [AtomicU64; PENDING_MAX],
    /// Not zero while it holds the whole cache closed because `pending` was too short.
    pub(crate) pending_all: AtomicU64,
    pub(crate) statistics: [AtomicU64; Statistic::COUNT],
}

/// The fixed part.
#[repr(C, align(64))]
pub struct RcControl {
    /// First free block, as a link.
    pub(crate) free: AtomicU64,
    /// Blocks from this number to the end of the last chunk have never been used.
    pub(crate) fresh: AtomicU64,
    /// Chunks in use.
    pub(crate) chunks: AtomicU64,
    pub(crate) used_blocks: AtomicU64,
    /// Where the next search for a victim begins.
    pub(crate) hand: AtomicU64,
    /// Transactions that hold the whole cache closed.
    pub(crate) closed: AtomicU64,
    /// DBMS_RESULT_CACHE.BYPASS(TRUE) is in force.
    pub(crate) bypass: AtomicU32,
    pad: AtomicU32,
    /// Longest result, in blocks.
    pub(crate) result_blocks_max: AtomicU64,
    pub(crate) timeout_ms: AtomicU64,
}

#[allow(unsafe_code)]
mod shared {
    use sga::SgaLayout;

    use super::{DependSlot, RcBlock, RcControl, RcLife, RcProcess};

    // SAFETY: `repr(C)`, atomics only, valid for every bit pattern.
    unsafe impl SgaLayout for RcBlock {}
    // SAFETY: `repr(C)`, atomics only, valid for every bit pattern.
    unsafe impl SgaLayout for RcLife {}
    // SAFETY: `repr(C)`, atomics only, valid for every bit pattern.
    unsafe impl SgaLayout for DependSlot {}
    // SAFETY: `repr(C)`, atomics only, valid for every bit pattern.
    unsafe impl SgaLayout for RcProcess {}
    // SAFETY: `repr(C)`, atomics only, valid for every bit pattern.
    unsafe impl SgaLayout for RcControl {}
}

impl RcBlock {
    pub(crate) fn get(&self, at: usize) -> u64 {
        self.words[at].load(Ordering::Relaxed)
    }

    /// Prefetches the lines that a hit on a small result reads: header, key and name, and the first rows.
    #[inline]
    pub(crate) fn prefetch(&self) {
        for line in self.words.chunks(8).take(8) {
            os::cpu::prefetch(&line[0]);
        }
    }

    /// Appends `len` bytes from byte `from` (a multiple of eight) to `out`. Clamped to the block.
    ///
    /// Copies word by word into allocated memory, which compiles to a plain loop.
    #[inline]
    pub(crate) fn copy_out(&self, from: usize, len: usize, out: &mut Vec<u8>) {
        debug_assert_eq!(from % 8, 0);
        let first = (from / 8).min(BLOCK_WORDS);
        let words = &self.words[first..];
        let len = len.min(words.len() * 8);
        let start = out.len();
        out.resize(start + len.next_multiple_of(8), 0);
        for (place, word) in out[start..].chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
        }
        out.truncate(start + len);
    }

    /// Whether the bytes from byte `from` (a multiple of eight) equal `wanted`.
    #[inline]
    pub(crate) fn equals(&self, from: usize, wanted: &[u8]) -> bool {
        debug_assert_eq!(from % 8, 0);
        let Some(words) = self.words.get(from / 8..(from + wanted.len()).div_ceil(8)) else {
            return false;
        };
        let whole = wanted.chunks_exact(8);
        let rest = whole.remainder();
        let mut words = words.iter().map(|word| word.load(Ordering::Relaxed).to_le_bytes());
        whole.into_iter().all(|part| words.next().is_some_and(|bytes| bytes == part))
            && (rest.is_empty() || words.next().is_some_and(|bytes| bytes[..rest.len()] == *rest))
    }

    /// Stores bytes from byte `from` on. The caller owns the block: nobody else writes it; a reader of the block's
    /// former life may still be reading, and will find the life changed.
    pub(crate) fn copy_in(&self, from: usize, data: &[u8]) {
        assert!(from + data.len() <= BLOCK_SIZE_BYTES);
        let mut at = from;
        let mut rest = data;
        while !rest.is_empty() {
            let skip = at % 8;
            let take = (8 - skip).min(rest.len());
            let mut bytes = self.words[at / 8].load(Ordering::Relaxed).to_le_bytes();
            bytes[skip..skip + take].copy_from_slice(&rest[..take]);
            self.words[at / 8].store(u64::from_le_bytes(bytes), Ordering::Relaxed);
            rest = &rest[take..];
            at += take;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block() -> RcBlock {
        RcBlock { words: [const { AtomicU64::new(0) }; BLOCK_WORDS] }
    }

    #[test]
    fn bytes_are_stored_and_read_at_any_offset() {
        for from in [8, 16, 200, 1008, 1016] {
            for len in [0, 1, 7, 8, 9, 100] {
                let block = block();
                let len = len.min(BLOCK_SIZE_BYTES - from);
                let data: Vec<u8> = (0..len).map(|i| (i * 7 + from) as u8).collect();
                block.copy_in(from, &data);
                let mut out = vec![1];
                block.copy_out(from, len, &mut out);
                assert_eq!(out[1..], data);
                assert!(block.equals(from, &data));
                if len > 0 {
                    let mut other = data.clone();
                    other[len - 1] ^= 1;
                    assert!(!block.equals(from, &other));
                }
            }
        }
    }

    #[test]
    fn a_copy_is_clamped_to_the_block() {
        let mut out = Vec::new();
        block().copy_out(1000, usize::MAX, &mut out);
        assert_eq!(out.len(), 24);
        assert!(!block().equals(1016, &[0; 10]));
    }

    #[test]
    fn a_state_word_unpacks_to_what_was_packed() {
        let packed = State::pack(Status::Published, Kind::Result, Namespace::PlSql, 3, 200, 128);
        let state = State::unpack(packed);
        assert_eq!(state.status, Some(Status::Published));
        assert_eq!((state.kind, state.namespace, state.depends), (Kind::Result as u8, Namespace::PlSql as u8, 3));
        assert_eq!((state.key_len, state.name_len), (200, 128));
        let invalid = State::unpack(State::with_status(packed, Status::Invalid));
        assert_eq!(invalid.status, Some(Status::Invalid));
        assert_eq!(invalid.key_len, 200);
        let garbage = State::unpack(u64::MAX);
        assert!(garbage.key_len <= KEY_BYTES_MAX && garbage.depends <= DEPENDENCIES_MAX);
    }
}
