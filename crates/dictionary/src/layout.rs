//! The words of the dictionary in the SGA: the positions of the epoch, the next numbers, the places of the base tables,
//! the counts by table and column, and the sequence cache.

use std::sync::atomic::AtomicU64;

use sga::{SgaBuilder, SgaSlice};

pub(crate) const EPOCH: usize = 0;
pub(crate) const NEXT_OBJECT: usize = 1;
pub(crate) const NEXT_USER: usize = 2;
pub(crate) const NEXT_CONSTRAINT: usize = 3;
pub(crate) const HEADERS: usize = 4;
pub(crate) const HEADERS_MAX: usize = 128;
pub(crate) const TREES: usize = HEADERS + HEADERS_MAX;
pub(crate) const TREES_MAX: usize = 128;
/// Of each tree: its segment, its root, the SCN of its creation.
pub(crate) const TREE_WORDS: usize = 3;
pub(crate) const MONITORING: usize = TREES + TREES_MAX * TREE_WORDS;
pub(crate) const COLUMN_USES: usize = MONITORING + TALLY_ENTRIES * MONITORING_ENTRY_WORDS;
pub(crate) const SEQUENCES: usize = COLUMN_USES + TALLY_ENTRIES * COLUMN_USE_ENTRY_WORDS;
/// The bits of the epoch word with the number of the process whose DDL is being committed.
pub(crate) const CHANGING: u64 = 0xFFFF;

/// Number of entries of one kind of counts.
pub(crate) const TALLY_ENTRIES: usize = 2048;
/// Words of an entry of [`crate::monitoring`]: object number, inserted, updated, deleted rows, truncations.
pub(crate) const MONITORING_ENTRY_WORDS: usize = 5;
/// Words of an entry of [`crate::column_use`]: the column, and two 32-bit counts in each of the other words.
pub(crate) const COLUMN_USE_ENTRY_WORDS: usize = 4;
/// Words of a cached sequence: object number, next number (low and high half), numbers left, increment (low and high
/// half).
pub(crate) const SEQUENCE_ENTRY_WORDS: usize = 6;

/// The size of the shared part.
#[derive(Clone, Copy, Debug)]
pub struct DictionaryConfig {
    /// Number of sequences with cached numbers (`_sequence_cache_entries`). A sequence that does not fit loses its
    /// cached numbers, as at a shutdown.
    pub sequences: usize,
}

impl Default for DictionaryConfig {
    fn default() -> Self {
        DictionaryConfig { sequences: 512 }
    }
}

/// The place of the dictionary's words in the SGA.
#[derive(Clone, Copy, Debug)]
pub struct DictionaryLayout {
    pub(crate) words: SgaSlice<AtomicU64>,
}

impl DictionaryLayout {
    /// Reserves the words.
    pub fn reserve(sga: &mut SgaBuilder, config: &DictionaryConfig) -> DictionaryLayout {
        DictionaryLayout { words: sga.reserve("row cache", SEQUENCES + config.sequences.max(8) * SEQUENCE_ENTRY_WORDS) }
    }
}
